"""`weakly plan`: how long a segment should be, how good the labels will be, what they cost."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import typer

from ..base.errors import InvalidInput
from ..base.results import format_length, percent
from .common import Outlet, ReadingOptions, chosen, columns, command, deliver, numbers, option, wrapped

_HELP = """Plan labeling: three choices with their hours of work, wrong time, events found and command.

A verdict and the recommended choice come first, then plain segments, marking by hand and what beats both. Work is hours
of hearing or viewing, answering and marking; --per-hour makes money of it. With --out DIR, DIR/plan.json serves weakly
queries --plan and weakly label --plan.

Give an event length (or a law of lengths), or pilot annotations in any format that weakly reads. Of tables (Parquet,
CSV; files or addresses) with more than 5 million rows a sample of recordings is read; the work is that of all.

Examples:

  weakly plan --event-length 1 --presence-criterion 0.5 --recording-length 100 --events 1

  weakly plan --event-length 2-20 --recording-length 60 --total-hours 200 --per-hour 20 --segment-length 10

  weakly plan pilot.tsv --label Dog --per-hour 20 --report plan.html --out plan/

  weakly plan --event-length 30-120 --recording-length 86400 --events 3 --speed 8

  weakly plan s3://bucket/detections/ --recording-length 3600 --sample 500
"""

#: Options that are those of :class:`Cost`, and of :func:`weakly.plan`.
_PRICES = """per_hour per_hour_marking seconds_per_tick seconds_per_event speed_marking query_cost_share per_second
per_query currency annotators"""
_SAME = "presence_criterion rule event_rate tools budget target methods objective family"


@command(
    "plan",
    _HELP,
    reading="recording_length label format columns where annotator merge examined sample on_error",
    label=option("One class of the pilot; left out, all in one pass.", None, "--label"),
    panels={
        "The work": "event_length events event_rate total_hours family",
        "Who answers": "presence_criterion rule annotators",
        "Ways to label": "segment_length tools methods objective target budget",
        "Cost": _PRICES.replace("annotators", "work seconds_per_answer speed"),
    },
)
def plan(
    pilot: list[str] = typer.Argument(
        None, metavar="PILOT", help="Pilot annotations: files, folders, patterns or addresses."
    ),
    event_length: str = option("Seconds; several (0.5,1,4); 2-20; 3±1; about 3; or a law (gamma:0.8,loc=0.5)."),
    presence_criterion: str = option(
        "Share of an event that is noticed: 0.5; several 0.3,0.5; a law beta:2,3. Left out: half of it, or a second."
    ),
    rule: str = option("A presence rule instead: seconds:1, seconds:1|fraction:0.5, coverage:0.5, any, birdnet."),
    segment_length: str = option("Your own segments, in seconds: a row of their own; several 3,10."),
    tools: str = option("Recommend what these can do: audacity, raven, labelstudio, birdnet, any."),
    events: float = option("Events per recording (1 unless told)."),
    event_rate: float = option("Events per second, instead of --events."),
    total_hours: float = option("All recordings together, hours."),
    family: str = option("Fit this law to the pilot's event lengths (lognorm, gamma, best)."),
    budget: float = option("The most that the whole work may cost."),
    target: str = option("Such as event_recall>=0.9; several with commas."),
    objective: str = option(
        "wrong_time (least, finding 90 % of events), overlap (accuracy near events, Theorem 2).", "wrong_time"
    ),
    methods: str = option("Some of fixed, windows, bisection, by_hand, screening, information, passes, oracle."),
    per_hour: float = option("Wage of an hour of work."),
    per_hour_marking: float = option("Wage of those who mark by hand, if another."),
    work: Path = option(
        "Answers with their times (a campaign's folder): seconds per answer and speed as measured there."
    ),
    seconds_per_answer: float = option("Besides hearing or viewing: 3; in weakly label, by keys, about 1."),
    seconds_per_tick: float = option("For each class ticked, where several are asked for at once.", 1.0),
    seconds_per_event: float = option("For marking one event by hand.", 15.0),
    speed: float = option("Seconds of a recording heard or viewed per second: 1 for sound, about 8 for EEG."),
    speed_marking: float = option("Of those who mark by hand, if another."),
    query_cost_share: float = option("Instead, the paper's r: a query costs r, a second 1-r."),
    per_second: float = option("Instead, the price of a second heard or viewed."),
    per_query: float = option("Instead, the price of a query."),
    currency: str = option("Of wages and prices (EUR); s for seconds of work."),
    annotators: int = option("People who label every segment.", 1),
    verbose: bool = option("Every row, every note, what it rests on.", False, "--verbose"),
    *,
    reading: ReadingOptions,
    outlet: Outlet,
) -> None:
    """Plan."""
    values = locals()
    from ..model.cost import Cost
    from ..studies.plan.pilot import measured_work
    from ..studies.plan.planner import plan as make

    if bool(pilot) == (event_length is not None):
        raise InvalidInput("give pilot annotations or --event-length" + (", not both" if pilot else ""))
    if reading.sample is not None and not pilot:
        raise InvalidInput("--sample needs pilot annotations")
    pace: dict[str, float | None] = {"seconds_per_answer": seconds_per_answer, "speed": speed}
    if work is not None:
        if seconds_per_answer is not None or speed is not None:
            raise InvalidInput("give --work, or --seconds-per-answer and --speed, not both")
        pace = {**measured_work(work)}
    card, reading = reading.card()
    given: Any = event_length
    length = reading.recording_length
    seconds = numbers(str(length), name="--recording-length")[0] if length and not pilot else None
    if pilot:
        how = replace(reading, label=None, sample=reading.sample or "auto")
        given, seconds = how.pilot(pilot)
        described = total_hours is not None or any(each is not None for each in (events, event_rate, family))
        total_hours = total_hours if described else given.hours_of_all(seconds)
    result = make(
        given,
        annotator=card,
        recording_length=seconds,
        n_events=events,
        total_hours=total_hours,
        cost=Cost(**pace, **chosen(values, _PRICES)),
        segment_length=None if segment_length is None else numbers(segment_length, name="--segment-length"),
        label=reading.label,
        **chosen(values, _SAME),
    )
    if pilot and given.source.sample is not None:
        from ..io.gather import worded

        counts, scaled = given.source.sample, not described and total_hours is not None
        whose = "all of them, each as long as one of the sample on average" if scaled else "what the options describe"
        words = f"Known from {worded(counts)}. Queries, hours and cost are for {whose}."
        settings = {**result.settings, "sample": {**counts, "scaled": scaled}}
        result = replace(result, assumptions=(*result.assumptions, words), settings=settings)
    deliver(result, outlet, name="plan", show=partial(show, verbose=verbose))


_VERDICTS = {"good": "bold green", "fair": "bold yellow", "poor": "bold red", "worse than nothing": "bold red"}


def show(made: Any, *, verbose: bool = False) -> None:
    """The plan as text: its lines, what was assumed, the rows that matter with the pick in bold; with ``verbose`` all
    the rest."""
    from rich.console import Console
    from rich.text import Text

    width = columns() or 10_000
    screen = Console(highlight=False, width=width)
    for k, line in enumerate(made.answer.splitlines()):
        text = Text(wrapped(line, width, "  "))
        if k == 0:
            text.stylize(_VERDICTS[made.verdict], 0, len(line.partition(".")[0]))
        screen.print(text, soft_wrap=True)
    screen.print(Text("\n" + wrapped(made.assumed, width)), soft_wrap=True)
    screen.print()
    rows = list(made.rows) if verbose else made.few
    screen.print(_table(made, rows, width))
    if made.recommended.passes:
        screen.print(Text("\nThe passes:"))
    for labels, own in made.recommended.passes:
        screen.print(Text(wrapped(f"  - {own.name}: {', '.join(labels)}", width, "    ")), soft_wrap=True)
    if not verbose:
        for line in made.warnings:
            screen.print(Text("\n" + wrapped(f"Note: {line}", width)), soft_wrap=True)
        screen.print(Text("\nMore with --verbose: every way, notes, what it rests on."))
        return
    from ..studies.plan.summary import notes

    for heading, lines in (
        ("The recommendation in detail", [made.details]),
        ("Notes", made.warnings),
        ("Where a way stops making sense", notes(made.rows)),
        ("This rests on", made.assumptions),
    ):
        if lines:
            screen.print(Text(f"\n{heading}:"))
            for line in lines:
                screen.print(Text(wrapped(f"  - {line}", width, indent="    ")), soft_wrap=True)


def _table(made: Any, rows: list[Any], width: int) -> Any:
    """A table that fits the terminal: short headings on two lines, numbers as people say them, names wrapped."""
    from rich.table import Table
    from rich.text import Text

    heads = {
        "name": "way to label",
        "wrong_time": "wrong time\n(s per rec.)",
        "event_recall": "events\nfound",
        "overlap_accuracy": "accuracy\nnear events",
        "n_queries": "clips\nto play",
        "hours": "work\n(hours)",
    }
    priced = made.task.cost.currency != "h"
    if priced:
        heads["cost"] = f"cost\n({made.task.cost.currency or 'units'})"
    cells = [
        [
            format_length(row.wrong_time),
            percent(row.event_recall),
            percent(row.overlap_accuracy),
            f"{row.n_queries:,.0f}",
            *(
                f"{value:,.0f}" if value >= 100 else format_length(value)
                for value in (row.hours, row.cost)[: 1 + priced]
            ),
        ]
        for row in rows
    ]
    used = [max(map(len, [*head.split("\n"), *column])) for head, column in zip(list(heads.values())[1:], zip(*cells))]
    left = max(16, width - sum(used) - 2 * len(used))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for word, head in heads.items():
        table.add_column(Text(head), justify="left" if word == "name" else "right", no_wrap=True, overflow="fold")
    for row, said in zip(rows, cells):
        own = next(
            (f" (yours: {each.verdict})" for each in made.choices if each.role == "yours" and each.row == row), ""
        )
        name = wrapped(row.name + own, left, "  ")
        style = "bold" if row.design == made.recommended.design else ""
        table.add_row(*(Text(cell, style=style) for cell in (name, *said)))
    return table
