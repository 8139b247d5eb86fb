"""`weakly plan`: how long a segment should be, how good the labels will be, what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from . import app, selection
from .common import JSON, OUT, REPORT, command_line, numbers, print_json, print_rows, wrote

_HELP = """Plan labeling: segment length, accuracy, events found, queries, hours, cost; fixed segments and better ways.

Give an event length (or a law of lengths), or pilot annotations in any format that weakly reads.

Examples:

  weakly plan --event-length 1 --presence-criterion 0.5 --recording-length 100 --events 1

  weakly plan --event-length 0.5,1,4 --presence-criterion 0.3,0.5 --recording-length 600 --budget 900 --report plan.html
"""
_PILOT = typer.Argument(None, metavar="[PILOT]...", help="Pilot annotations: files, folders or patterns.")

_SHOWN = (
    "name",
    "overlap_accuracy",
    "event_recall",
    "precision",
    "recall",
    "wrong_time",
    "n_queries",
    "listened",
    "cost",
)


@app.command("plan", help=_HELP)
def plan(
    pilot: list[Path] = _PILOT,
    event_length: str = typer.Option(
        None, "--event-length", help="Seconds; several (0.5,1,4); or a law (gamma:0.8,loc=0.5)."
    ),
    presence_criterion: str = typer.Option(
        ..., "--presence-criterion", help="Share of an event that is noticed: 0.5; several 0.3,0.5; a law beta:2,3."
    ),
    recording_length: str = selection.RECORDING_LENGTH,
    events: float = typer.Option(None, "--events", help="Events per recording (1 unless told)."),
    event_rate: float = typer.Option(None, "--event-rate", help="Events per second, instead of --events."),
    total_hours: float = typer.Option(None, "--total-hours", help="All recordings together, hours."),
    label: str = typer.Option(None, "--label", help="One class of the pilot; left out, all in one pass."),
    format: str = selection.FORMAT,
    columns: str = selection.COLUMNS,
    where: list[str] = selection.WHERE,
    annotator: list[str] = selection.ANNOTATOR,
    merge: list[str] = selection.MERGE,
    examined: str = selection.EXAMINED,
    on_error: str = selection.ON_ERROR,
    family: str = typer.Option(
        None, "--family", help="Fit this law to the pilot's event lengths (lognorm, gamma, best)."
    ),
    budget: float = typer.Option(None, "--budget", help="The most that the whole work may cost."),
    target: str = typer.Option(None, "--target", help="Such as 'overlap_accuracy>=0.7,event_recall>=0.9'."),
    objective: str = typer.Option(
        "overlap", "--objective", help="overlap (near events) or recording (least wrong time)."
    ),
    methods: str = typer.Option(None, "--methods", help="Some of fixed,windows,bisection,change-point,oracle."),
    query_cost_share: float = typer.Option(
        None, "--query-cost-share", help="The paper's r: a query costs r, a second 1-r."
    ),
    per_second: float = typer.Option(None, "--per-second", help="Price of a second heard, instead."),
    per_query: float = typer.Option(None, "--per-query", help="Price of a query, instead."),
    currency: str = typer.Option("EUR", "--currency", help="Of these prices; s for seconds of work."),
    annotators: int = typer.Option(1, "--annotators", help="People who label every segment."),
    seed: int = typer.Option(0, "--seed", min=0, help="For the bootstrap and drawn recordings."),
    json: bool = JSON,
    out: Path = OUT,
    report: Path = REPORT,
) -> None:
    """Make a plan and print it."""
    from ..cost import Cost
    from ..errors import InvalidInput
    from ..planning import plan as make

    if bool(pilot) == (event_length is not None):
        raise InvalidInput("give pilot annotations or --event-length" + (", not both" if pilot else ""))
    given: Any = event_length
    seconds = numbers(recording_length, name="--recording-length")[0] if recording_length and not pilot else None
    if pilot:
        how = selection.reading(
            format=format, columns=columns, where=where, annotator=annotator, merge=merge, on_error=on_error,
            recording_length=recording_length,
        )  # fmt: skip
        given, seconds = selection.pilot([str(path) for path in pilot], how, examined=examined)
    made = make(
        given,
        presence_criterion=_criterion(presence_criterion),
        recording_length=seconds,
        n_events=events,
        event_rate=event_rate,
        total_hours=total_hours,
        cost=Cost(
            query_cost_share=query_cost_share,
            per_second=per_second,
            per_query=per_query,
            currency=currency,
            annotators=annotators,
        ),
        budget=budget,
        target=target,
        methods=methods,
        objective=objective,
        label=label,
        family=family,
        rng=seed,
    )
    deliver(made, json=json, out=out, report=report, command=command_line())


def _criterion(text: str) -> Any:
    law, colon, _ = text.strip().partition(":")
    if colon and law.isidentifier():
        from ..planning.criteria import Criteria

        return Criteria.parse(text)
    return numbers(text, name="--presence-criterion")


def deliver(made: Any, *, json: bool, out: Path | None, report: Path | None, command: str) -> None:
    """Print the plan, or its JSON, and write what was asked for."""
    if json:
        print_json(made)
    else:
        show(made)
    if out is not None:
        from .. import plot
        from ..files import atomic_write
        from ..results import to_json

        paths = [path for name, figure in made.figures().items() for path in plot.save(figure, out / name)]
        for name, table in (("methods", made.to_frame()), ("frontier", made.frontier())):
            with atomic_write(out / f"{name}.csv") as file:
                file.write(table.to_csv(index=False))
            paths.append(out / f"{name}.csv")
        with atomic_write(out / "plan.json") as file:
            file.write(to_json(made) + "\n")
        wrote(*paths, out / "plan.json")
    if report is not None:
        wrote(made.report(report, command=command))


def show(made: Any) -> None:
    """The plan as text: the answer, the table, notes, what it rests on."""
    from ..planning.words import notes

    typer.echo(made.answer)
    typer.echo()
    print_rows(list(_SHOWN), [tuple(row[name] for name in _SHOWN) for row in made.rows])
    for heading, lines in (
        ("Mind", made.warnings),
        ("Where a method stops making sense", notes(made.rows)),
        ("This rests on", made.assumptions),
    ):
        if lines:
            typer.echo(f"\n{heading}:")
            for line in lines:
                typer.echo(f"  - {line}")
