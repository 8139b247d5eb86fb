"""`weakly plan`: how long a segment should be, how good the labels will be, what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from . import app, selection
from .common import (
    FORCE,
    JSON,
    OUT,
    REPORT,
    columns,
    command_line,
    numbers,
    print_json,
    print_table,
    save,
    wrapped,
    wrote,
)

_HELP = """Plan labeling: segment length, wrong time, events found, queries, cost; fixed segments and better ways.

Give an event length (or a law of lengths), or pilot annotations in any format that weakly reads. Of tables (Parquet,
CSV; files or addresses) with more than 5 million rows a sample of recordings is read; the work is that of all.

Examples:

  weakly plan --event-length 1 --presence-criterion 0.5 --recording-length 100 --events 1

  weakly plan --event-length 0.5,1,4 --recording-length 600 --budget 900 --report plan.html

  weakly plan --event-length 30 --rule seconds:1 --recording-length 600

  weakly plan s3://bucket/detections/ --recording-length 3600 --sample 500
"""
_ANNOTATOR = typer.Option(
    None, "--annotator", help="card.json of weakly label --measure: how somebody hears. A name: only their pilot rows."
)
_PILOT = typer.Argument(None, metavar="[PILOT]...", help="Pilot annotations: files, folders, patterns or addresses.")


@app.command("plan", help=_HELP)
def plan(
    pilot: list[str] = _PILOT,
    event_length: str = typer.Option(
        None, "--event-length", help="Seconds; several (0.5,1,4); or a law (gamma:0.8,loc=0.5)."
    ),
    presence_criterion: str = typer.Option(
        None,
        "--presence-criterion",
        help="Share of an event that is noticed: 0.5; several 0.3,0.5; a law beta:2,3. Left out: 0.3, 0.5 and 0.7.",
    ),
    rule: str = typer.Option(None, "--rule", help="A presence rule instead: seconds:1, coverage:0.5, any, birdnet."),
    recording_length: str = selection.RECORDING_LENGTH,
    events: float = typer.Option(None, "--events", help="Events per recording (1 unless told)."),
    event_rate: float = typer.Option(None, "--event-rate", help="Events per second, instead of --events."),
    total_hours: float = typer.Option(None, "--total-hours", help="All recordings together, hours."),
    label: str = typer.Option(None, "--label", help="One class of the pilot; left out, all in one pass."),
    format: str = selection.FORMAT,
    columns: str = selection.COLUMNS,
    where: list[str] = selection.WHERE,
    annotator: list[str] = _ANNOTATOR,
    merge: list[str] = selection.MERGE,
    examined: str = selection.EXAMINED,
    sample: int = selection.SAMPLE,
    on_error: str = selection.ON_ERROR,
    family: str = typer.Option(
        None, "--family", help="Fit this law to the pilot's event lengths (lognorm, gamma, best)."
    ),
    budget: float = typer.Option(None, "--budget", help="The most that the whole work may cost."),
    target: str = typer.Option(None, "--target", help="Such as event_recall>=0.9; several with commas."),
    objective: str = typer.Option(
        "wrong_time",
        "--objective",
        help="wrong_time (least, finding 90 % of events), overlap (accuracy near events, Theorem 2), recording.",
    ),
    methods: str = typer.Option(None, "--methods", help="Some of fixed, windows, bisection, boundary, passes, oracle."),
    query_cost_share: float = typer.Option(
        None, "--query-cost-share", help="The paper's r: a query costs r, a second 1-r."
    ),
    per_second: float = typer.Option(None, "--per-second", help="Price of a second heard, instead."),
    per_query: float = typer.Option(None, "--per-query", help="Price of a query, instead."),
    currency: str = typer.Option("EUR", "--currency", help="Of these prices; s for seconds of work."),
    annotators: int = typer.Option(1, "--annotators", help="People who label every segment."),
    posterior: bool = typer.Option(
        False, "--posterior", help="Also what weakly infer makes of the same answers, beside painted labels."
    ),
    seed: int = typer.Option(0, "--seed", min=0, help="Kept for old scripts: the answer does not depend on it."),
    verbose: bool = typer.Option(False, "--verbose", help="Every row, every note, what it rests on, break-evens."),
    json: bool = JSON,
    out: Path = OUT,
    report: Path = REPORT,
    force: bool = FORCE,
) -> None:
    """Make a plan and print it."""
    from ..base.errors import InvalidInput
    from ..io.dataset import hours_of_all
    from ..model.cost import Cost
    from ..studies.plan.planner import plan as make

    if bool(pilot) == (event_length is not None):
        raise InvalidInput("give pilot annotations or --event-length" + (", not both" if pilot else ""))
    if sample is not None and not pilot:
        raise InvalidInput("--sample needs pilot annotations")
    card, annotator = _card(annotator or [])
    given: Any = event_length
    seconds = numbers(recording_length, name="--recording-length")[0] if recording_length and not pilot else None
    if pilot:
        how = selection.reading(
            format=format, columns=columns, where=where, annotator=annotator, merge=merge, on_error=on_error,
            recording_length=recording_length, sample=sample or "auto",
        )  # fmt: skip
        given, seconds = selection.pilot(pilot, how, examined=examined)
        described = total_hours is not None or any(each is not None for each in (events, event_rate, family))
        total_hours = total_hours if described else hours_of_all(given, seconds)  # type: ignore[assignment]
    made = make(
        given,
        presence_criterion=None if presence_criterion is None else _criterion(presence_criterion),
        rule=rule,
        annotator=card,
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
        posterior=posterior,
        rng=seed,
    )
    if pilot and given.source.sample is not None:
        made = _of_sample(made, given.source.sample, scaled=not described and total_hours is not None)
    deliver(made, json=json, out=out, report=report, command=command_line(), verbose=verbose)


def _of_sample(made: Any, counts: dict[str, int], *, scaled: bool) -> Any:
    """The plan, which says what it rests on."""
    from dataclasses import replace

    from ..io.dataset import worded

    whose = "all of them, each as long as one of the sample on average" if scaled else "what the options describe"
    words = f"Known from {worded(counts)}. Queries, hours and cost are for {whose}."
    return replace(
        made, assumptions=(*made.assumptions, words), settings={**made.settings, "sample": {**counts, "scaled": scaled}}
    )


def _card(given: list[str]) -> tuple[Any, list[str]]:
    """Who is planned for, if one of these is a card, and the names."""
    cards = [value for value in given if value.lower().endswith(".json")]
    if not cards:
        return None, given
    from ..apps.label.profile import AnnotatorProfile

    return AnnotatorProfile.read(cards[0]).as_annotator(), [value for value in given if value not in cards]


def _criterion(text: str) -> Any:
    law, colon, _ = text.strip().partition(":")
    if colon and law.isidentifier():
        from ..methods.criteria import Criteria

        return Criteria.parse(text)
    return numbers(text, name="--presence-criterion")


def deliver(
    made: Any, *, json: bool, out: Path | None, report: Path | None, command: str, verbose: bool = False
) -> None:
    """Print the plan, or its JSON, and write what was asked for."""
    if json:
        print_json(made)
    else:
        show(made, verbose=verbose)
    if out is not None:
        from ..base import plot

        paths = [path for name, figure in made.figures().items() for path in plot.save(figure, out / name)]
        save(out, "plan", made, {"methods": made.to_frame(), "frontier": made.frontier()}, paths)
    if report is not None:
        wrote(made.report(report, command=command))


def show(made: Any, *, verbose: bool = False) -> None:
    """The plan as text: the answer, the rows that matter with the pick in bold, and with ``verbose`` all the rest."""
    from rich.console import Console
    from rich.text import Text

    width = columns() or 10_000
    screen = Console(highlight=False, width=width)
    screen.print(Text(wrapped(made.answer, width)), soft_wrap=True)
    screen.print()
    rows = list(made.rows) if verbose else _few(made)
    screen.print(_table(made, rows, width))
    if made.recommended.passes:
        screen.print(Text("\nThe passes:"))
    for labels, own in made.recommended.passes:
        screen.print(Text(wrapped(f"  - {own.name}: {', '.join(labels)}", width, "    ")), soft_wrap=True)
    if made.posterior:
        from ..studies.plan.inverse import table

        print_table(table(made), title="\nWhat inference makes of the same answers, in seconds per recording")
    if not verbose:
        for line in made.warnings:
            screen.print(Text("\n" + wrapped(f"Mind: {line}", width)), soft_wrap=True)
        screen.print(Text("\nMore with --verbose: every way, notes, what it rests on, break-evens."))
        return
    from ..studies.plan.plan_result import break_even_words
    from ..studies.plan.summary import notes

    for heading, lines in (
        ("Mind", made.warnings),
        ("Where a way stops making sense", notes(made.rows)),
        ("Following the events instead", break_even_words(made)),
        ("This rests on", made.assumptions),
    ):
        if lines:
            screen.print(Text(f"\n{heading}:"))
            for line in lines:
                screen.print(Text(wrapped(f"  - {line}", width, indent="    ")), soft_wrap=True)


def _few(made: Any) -> list[Any]:
    """The rows that matter: the pick, the best of the other methods, the paper's optimum, labelling nothing."""
    rows = [made.recommended]
    for row in made.rows:
        fresh = row.method not in {each.method for each in rows} or "Theorem 2" in row.note
        if fresh and row.design not in {each.design for each in rows} and row.method not in ("oracle", "everything"):
            rows.append(row)
    return sorted(rows, key=lambda row: row.wrong_time)


def _table(made: Any, rows: list[Any], width: int) -> Any:
    """A table that fits the terminal: short headings on two lines, numbers as people say them, names wrapped."""
    from rich.table import Table
    from rich.text import Text

    from ..base.results import digits, percent

    heads = {
        "name": "way to label",
        "wrong_time": "wrong time\n(s per rec.)",
        "event_recall": "events\nfound",
        "overlap_accuracy": "accuracy\nnear events",
        "n_queries": "queries",
        "cost": f"cost\n({made.task.cost.currency or 'units'})",
    }
    cells = [
        [
            digits(row.wrong_time),
            percent(row.event_recall),
            percent(row.overlap_accuracy),
            f"{row.n_queries:,.0f}",
            f"{row.cost:,.0f}" if row.cost >= 100 else digits(row.cost),
        ]
        for row in rows
    ]
    used = [max(map(len, [*head.split("\n"), *column])) for head, column in zip(list(heads.values())[1:], zip(*cells))]
    left = max(16, width - sum(used) - 2 * len(used))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for word, head in heads.items():
        table.add_column(Text(head), justify="left" if word == "name" else "right", no_wrap=True, overflow="fold")
    for row, said in zip(rows, cells):
        name = wrapped(row.name + (" (paper)" if "Theorem 2" in row.note else ""), left, "  ")
        style = "bold" if row.design == made.recommended.design else ""
        table.add_row(*(Text(cell, style=style) for cell in (name, *said)))
    return table
