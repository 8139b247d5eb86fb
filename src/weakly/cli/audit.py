"""`weakly audit`: how sensitive the annotators were, how wrong the labels are, what score they allow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ..base.errors import InvalidInput
from ..base.results import word
from . import app, selection
from .common import FORCE, JSON, OUT, REPORT, command_line, fresh, numbers, print_json, print_table, save, say, wrote

_HELP = """Audit a labelled data set: presence criterion, label quality, agreement, and the best score the labels allow.

Strong annotations (--strong) are taken as the truth; weak labels (--weak) or answers (--answers) are judged. Each is
files, folders, patterns or addresses.
A condition in --fail-on that holds makes the exit code 1. --examined tells who looked at what, so that "looked and
found nothing" is not taken for "never looked": all, or a table with the columns recording and, if need be, annotator,
onset, offset.

Examples:

  weakly audit --strong strong.tsv --weak weak.csv

  weakly audit --strong strong.tsv --answers answers.csv --fail-on 'event_recall<0.9' --report audit.html

  weakly audit --strong strong.tsv --weak weak.csv --examined all --unlisted absent --card card.md
"""
_MOST = 25  # rows on a terminal
#: Columns for a terminal of 80 signs; --json, --out and --report have them all.
_SHOWN = (
    ("n_present", "n_phantom", "n_missed", "precision", "event_recall", "presence_criterion"),
    ("alpha", "agreement", "n_annotators", "units", "unanimous", "split"),
    ("n_events", "n_recordings", "mean_length", "median_length", "coverage"),
)
_STRONG = typer.Option(None, "--strong", help="Annotations with boundaries; may be given several times.")
_WEAK = typer.Option(None, "--weak", help="Labels of clips or segments; may be given several times.")
_ANSWERS = typer.Option(None, "--answers", help="What each annotator said; may be given several times.")
_CARD = typer.Option(None, "--card", callback=fresh, help="Write the label card: a .md, .html or .json file.")
_FAIL_ON = typer.Option(None, "--fail-on", help="Exit 1 if this holds: 'event_recall<0.9', 'Dog.precision<0.5'.")


@app.command("audit", help=_HELP)
def audit(
    strong: list[str] = _STRONG,
    weak: list[str] = _WEAK,
    answers: list[str] = _ANSWERS,
    label: str = typer.Option(None, "--label", help="One class only."),
    unlisted: str = typer.Option(
        None, "--unlisted", help="A class that a segment does not list: absent (looked for, not found) or unknown."
    ),
    recording_length: str = selection.RECORDING_LENGTH,
    resolution: str = typer.Option(
        "1", "--resolution", help="Segment lengths of the segment-based F1, seconds: 0.1,1."
    ),
    collar: float = typer.Option(0.2, "--collar", help="Tolerance of the event-based F1, seconds."),
    share_of_length: float = typer.Option(0.2, "--share-of-length", help="Tolerance of offsets, share of the event."),
    where: list[str] = selection.WHERE,
    annotator: list[str] = selection.ANNOTATOR,
    merge: list[str] = selection.MERGE,
    columns: str = selection.COLUMNS,
    format: str = typer.Option(
        None, "--format", help="Format of the weak labels or answers; left out, it is found out."
    ),
    examined: str = typer.Option(None, "--examined", help="Who looked at what: all, a table of recordings, or UEM."),
    sample: int = typer.Option(
        None, "--sample", min=1, metavar="N", help="Only N recordings, whole, of --strong, --weak or --answers alone."
    ),
    on_error: str = selection.ON_ERROR,
    fail_on: list[str] = _FAIL_ON,
    card: Path = _CARD,
    seed: int = typer.Option(0, "--seed", min=0, help="For the bootstrap."),
    json: bool = JSON,
    out: Path = OUT,
    report: Path = REPORT,
    force: bool = FORCE,
) -> None:
    """Audit and print."""
    from ..io.durations import read_examined
    from ..io.reading import read, read_answers
    from ..studies.audit.auditor import audit as make

    if weak and answers:
        raise InvalidInput("give --weak or --answers, not both")
    if not strong and not weak and not answers:
        raise InvalidInput("give --strong, --weak or --answers")
    given = weak or answers
    if sample is not None and strong and given:
        raise InvalidInput("--sample needs --strong, --weak or --answers alone: two samples have other recordings")
    how = selection.reading(
        format=format, columns=columns, annotator=annotator, merge=merge, on_error=on_error, sample=sample
    )
    joined = how.pop("merge") or {}
    seconds = None if recording_length is None else selection.seconds_of(recording_length)
    if seconds is None:
        how["recording_length"] = recording_length
    alone = how if not given else {name: how[name] for name in ("on_error", "recording_length")}
    tables = [
        selection.say(take(files, progress=True, **which), quiet=json) if files else None
        for take, files, which in ((read, strong, alone), (read_answers, given, how))
    ]
    truth, said = _joined(tables, joined)
    made = make(
        strong=truth,
        weak=said,
        label=label,
        unlisted=unlisted,
        recording_length=seconds,
        resolutions=numbers(resolution, name="--resolution"),
        collar=collar,
        share_of_length=share_of_length,
        where=selection.pairs(where, name="--where", example="split=train"),
        examined=examined if examined in (None, "all") else read_examined(examined),
        rng=seed,
    )
    failed = [condition for condition in fail_on or [] if made.holds(condition)]
    if json:
        print_json(made)
    else:
        for finding in made.findings:
            say(f"- {finding.text}", indent="  ")
        table = made.to_frame()
        table = table[table["label"] != "all"] if len(table) == 2 else table  # one class is all
        names = next((list(group) for group in _SHOWN if group[0] in table), [])
        if len(table):
            shown = table[["label", *(name for name in names if name in table and table[name].notna().any())]].head(
                _MOST
            )
            typer.echo("")
            print_table(shown.assign(label=[word(name, most=24) for name in shown["label"]]))
        if len(table) > _MOST:
            typer.echo(f"... {len(table) - _MOST} more rows: --json, --out or --report hold them all")
    if card is not None:
        wrote(made.write_card(card))
    if out is not None:
        _save(made, out)
    if report is not None:
        wrote(made.report(report, command=command_line()))
    for condition in failed:
        typer.echo(f"weakly: {condition} holds", err=True)
    if failed:
        raise typer.Exit(1)


def _joined(tables: list[Any], merge: dict[str, list[str]]) -> list[Any]:
    """The strong and the weak labels with classes joined, each with those that it has."""
    known = {label for table in tables if table is not None for label in table.labels}
    gone = next((old for olds in merge.values() for old in olds if old not in known), None)
    if gone is not None:
        raise InvalidInput(f"--merge: no file has the class {gone!r}; there are {', '.join(sorted(known)[:12])}")
    mine = [{new: [o for o in old if table and o in table.labels] for new, old in merge.items()} for table in tables]
    return [
        table.select(merge={new: old for new, old in own.items() if old}) if any(own.values()) else table
        for table, own in zip(tables, mine)
    ]


def _save(made: Any, out: Path) -> None:
    from ..base import plot

    paths = [path for kind in made.kinds for path in plot.save(made.plot(kind=kind).figure, out / kind)]
    save(out, "audit", made, made.tables(), paths)
