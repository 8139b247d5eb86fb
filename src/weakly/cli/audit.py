"""`weakly audit`: how sensitive the annotators were, how wrong the labels are, what score they allow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from ..base.errors import InvalidInput
from .common import (
    Outlet,
    ReadingOptions,
    command,
    deliver,
    failing_if,
    fresh,
    numbers,
    option,
    say,
    tell_reading,
    wrote,
)

_HELP = """Audit a labelled data set: presence criterion, label quality, agreement, and the best score the labels allow.

Strong annotations (--strong) are taken as the truth; weak labels or answers (--weak, or --answers: they are one option)
are judged. Each is files, folders, patterns or addresses.
A condition in --fail-on that holds makes the exit code 1. --examined tells who looked at what, so that "looked and
found nothing" is not taken for "never looked": all, or a table with the columns recording and, if need be, annotator,
onset, offset.

Examples:

  weakly audit --strong strong.tsv --weak weak.csv

  weakly audit --strong strong.tsv --answers answers.csv --fail-on 'event_recall<0.9' --report audit.html

  weakly audit --strong strong.tsv --weak weak.csv --examined all --unlisted absent --card card.md
"""


_FORMAT = typer.Option(None, "--format", help="Format of the weak labels or answers; left out, it is found out.")
_EXAMINED = typer.Option(None, "--examined", help="Who looked at what: all, a table of recordings, or UEM.")
_SAMPLE = typer.Option(
    None, "--sample", min=1, metavar="N", help="Only N recordings, whole, of --strong, --weak or --answers alone."
)


@command(
    "audit",
    _HELP,
    reading="label recording_length where annotator merge columns format examined sample on_error",
    label=typer.Option(None, "--label", help="One class only."),
    format=_FORMAT,
    examined=_EXAMINED,
    sample=_SAMPLE,
)
def audit(
    strong: list[str] = option("Annotations with boundaries; may be given several times."),
    weak: list[str] = option("Labels of clips or segments; may be given several times."),
    answers: list[str] = option("What each annotator said; may be given several times."),
    unlisted: str = option("A class that a segment does not list: absent (looked for, not found) or unknown."),
    resolution: str = option("Segment lengths of the segment-based F1, seconds: 0.1,1.", "1"),
    collar: float = option("Tolerance of the event-based F1, seconds.", 0.2),
    share_of_length: float = option("Tolerance of offsets, share of the event.", 0.2),
    fail_on: list[str] = option("Exit 1 if this holds: 'event_recall<0.9', 'Dog.precision<0.5'."),
    card: Path = option("Write the label card: a .md, .html or .json file.", callback=fresh),
    seed: int = option("For the bootstrap.", 0, min=0),
    *,
    reading: ReadingOptions,
    outlet: Outlet,
) -> None:
    """Audit."""
    from ..base.results import counted
    from ..io import read_examined
    from ..io.gather import LAYERS
    from ..io.reading import read, read_answers
    from ..studies.audit.auditor import audit as make

    given = [*(weak or ()), *(answers or ())]
    if not strong and not given:
        raise InvalidInput("give --strong, --weak or --answers")
    if reading.sample is not None and strong and given:
        raise InvalidInput("--sample needs --strong, --weak or --answers alone: two samples have other recordings")
    names = ("format", "columns", "annotator", "on_error", "sample", "recording_length")
    how = reading.arguments(*names) | ({} if reading.seconds is None else {"recording_length": None})
    layer = {name: value for name, value in (reading.where or {}).items() if name in LAYERS} or None
    told = reading.arguments("point_length", "open_end", "sheet") | {"where": layer}
    alone = (how if not given else {name: how[name] for name in ("on_error", "recording_length")}) | told
    alone |= {"absent": reading.absent}
    how |= told
    looked = reading.examined if reading.examined and reading.examined.startswith("label=") else None
    alone |= {"examined": looked} if looked else {}
    tables = [
        tell_reading(take(files, progress=True, **which), quiet=outlet.json) if files else None
        for take, files, which in ((read, strong, alone), (read_answers, given, how))
    ]
    truth, labels = _alike(*_joined(tables, reading.merge or {}))
    examined = reading.examined
    result = make(
        strong=truth,
        weak=labels,
        label=reading.label,
        unlisted=unlisted,  # type: ignore[arg-type]
        recording_length=reading.seconds,
        resolutions=numbers(resolution, name="--resolution"),
        collar=collar,
        share_of_length=share_of_length,
        where={name: value for name, value in (reading.where or {}).items() if name not in LAYERS} or None,
        examined=truth.examined if looked else examined if examined in (None, "all") else read_examined(examined),
        rng=seed,
    )
    with failing_if(result, fail_on):
        deliver(result, outlet, name="audit", most=25)
        if labels is not None and truth is None and not result.sentences() and not outlet.json:
            words = f"{counted(len(labels), 'label')} in {counted(len(labels.recordings), 'recording')}"
            say(f"{words}: nobody labelled anything twice, so there is nothing to compare; --strong gives the truth.")
        if card is not None:
            wrote(result.write_card(card))


def _alike(truth: Any, labels: Any) -> tuple[Any, Any]:
    """The two with one class of one name, where one side has one and the other did not name its own."""
    sides: list[Any] = [None if each is None else each.labels for each in (truth, labels)]
    if None not in sides and sides[0] != sides[1] and ["event"] in sides and len(sides[0]) == len(sides[1]) == 1:
        name = sides[1][0] if sides[0] == ["event"] else sides[0][0]
        print(f"weakly: read: the class that no file names is taken as {name!r}", file=sys.stderr)
        truth, labels = (t if t.labels == [name] else t.select(merge={name: t.labels}) for t in (truth, labels))
    return truth, labels


def _joined(tables: list[Any], merge: dict[str, list[str]]) -> list[Any]:
    """The strong and the weak labels with classes joined, each with those that it has."""
    known = {label for table in tables if table is not None for label in table.labels}
    merge = {new: sorted(known) if old == ["*"] else old for new, old in merge.items()}
    gone = next((old for olds in merge.values() for old in olds if old not in known), None)
    if gone is not None:
        raise InvalidInput(f"--merge: no file has the class {gone!r}; there are {', '.join(sorted(known)[:12])}")
    mine = [{new: [o for o in old if table and o in table.labels] for new, old in merge.items()} for table in tables]
    return [
        table.select(merge={new: old for new, old in own.items() if old}) if any(own.values()) else table
        for table, own in zip(tables, mine)
    ]
