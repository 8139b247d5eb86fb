"""`weakly check`: what is probably wrong with annotation files."""

from __future__ import annotations

from pathlib import Path

import typer

from . import app, selection
from .common import FORCE, JSON, fresh, print_json, say, wrote

_HELP = """Look for trouble in annotation files: swapped, cumulative or millisecond times, points, duplicates, ...

Each finding names file and line, what it probably is and how many there are. A file that lists the lengths of
recordings may stand among the others and is used for what goes past the end. A file that cannot be read ends with 1.

Examples:

  weakly check strong.tsv durations.csv

  weakly check tables/ --format raven --strict --json

  weakly check *.tsv --fail-on "end_before_start>0" --fail-on "skipped>10"
"""


_FILES = typer.Argument(..., metavar="FILE...", help="Files, folders, patterns or addresses.")
_FAIL_ON = typer.Option(None, "--fail-on", help="Exit 1 if this holds: 'findings>0', 'past_the_end>10', 'skipped>0'.")
_RECORDINGS = typer.Option(None, "--recordings", metavar="DIR", help="Folder with the sounds, to compare names.")


@app.command("check", help=_HELP)
def check(
    files: list[str] = _FILES,
    format: str = selection.FORMAT,
    columns: str = selection.COLUMNS,
    label: str = selection.LABEL,
    where: list[str] = selection.WHERE,
    annotator: list[str] = selection.ANNOTATOR,
    merge: list[str] = selection.MERGE,
    recording_length: str = selection.RECORDING_LENGTH,
    examined: str = selection.EXAMINED,
    recordings: Path = _RECORDINGS,
    strict: bool = typer.Option(False, "--strict", help="Exit with 1 if anything is found."),
    fail_on: list[str] = _FAIL_ON,
    json: bool = JSON,
) -> None:
    from .. import io
    from ..base.results import counted

    how = selection.reading(
        format=format, columns=columns, where=where, annotator=annotator, merge=merge, on_error="skip",
        recording_length=recording_length,
    )  # fmt: skip
    del how["on_error"], how["sample"]
    result = io.check(
        files, label=label, examined=examined, recordings=recordings, progress=not json, **how
    )  # fmt: skip
    failed = [condition for condition in fail_on or [] if result.holds(condition)]
    if json:
        print_json(result)
    else:
        n = len(result.findings)
        verdict = "nothing found" if result.clean else f"{n} finding{'' if n == 1 else 's'}"
        events, recordings_ = counted(result.n_events, result.what), counted(result.n_recordings, "recording")
        say(f"{events} in {recordings_}, {counted(len(result.files), 'file')}: {verdict}")
        for item in result.findings:
            at = "" if item.line is None else f":{item.line}"
            times = "" if item.n == 1 else f" [{item.n} times]"
            say(f"{item.file}{at}: {item.kind}{times}: {' '.join(item.message.split())}", indent="  ")
        for file, line in result.readings:
            say(f"{file}: {line}", indent="  ")
        sums = result.account
        told = " + ".join(f"{sums[name]:,} {name}" for name in ("empty", "skipped", "merged"))
        say(f"{counted(sums['rows'], 'row')} = {sums['events']:,} with {result.what}s + {told}")
    for condition in failed:
        typer.echo(f"weakly: {condition} holds", err=True)
    unread = any(item.kind == "unreadable" for item in result.findings)
    if failed or unread or (strict and not result.clean):
        raise typer.Exit(1)


_CONVERT_HELP = """Convert annotations between formats; empty recordings are kept, what a format cannot hold is said.

IN is a file, a folder, a quoted pattern or an address; OUT is a file, or a folder for formats with one file per
recording.

Examples:

  weakly convert validation.tsv tables/ --to raven

  weakly convert detections.csv out.tsv --columns onset=begin,length=dur,label=species --on-error skip
"""


_TARGET = typer.Argument(..., metavar="OUT", callback=fresh, help="File or folder to write.")


@app.command("convert", help=_CONVERT_HELP)
def convert(
    source: str = typer.Argument(..., metavar="IN", help="File, folder, pattern or address to read."),
    target: Path = _TARGET,
    read_as: str = typer.Option(None, "--from", help="Format of IN; left out, it is found by looking into the file."),
    write_as: str = typer.Option(None, "--to", help="Format of OUT; left out, its name tells it."),
    label: str = selection.LABEL,
    columns: str = selection.COLUMNS,
    where: list[str] = selection.WHERE,
    annotator: list[str] = selection.ANNOTATOR,
    merge: list[str] = selection.MERGE,
    recording_length: str = selection.RECORDING_LENGTH,
    sample: int = selection.SAMPLE,
    on_error: str = selection.ON_ERROR,
    answers: bool = typer.Option(False, "--answers", help="Read answers about segments (present, absent, unsure)."),
    force: bool = FORCE,
    json: bool = JSON,
) -> None:
    from .. import io
    from ..base.results import counted

    read = io.read_answers if answers else io.read
    how = selection.reading(
        format=read_as, columns=columns, where=where, annotator=annotator, merge=merge, on_error=on_error,
        recording_length=recording_length, sample=sample,
    )  # fmt: skip
    found = selection.say(read(source, label=label, progress=not json, **how), quiet=json)
    lost = io.write(found, target, write_as)
    if json:
        document = {
            "read": source,
            "written": str(target),
            "n_rows": len(found),
            "n_recordings": len(found.recordings),
            "skipped": found.skipped,
            "reading": found.reading,
            "account": found.account,
            "notes": list(found.notes),
            "lost": lost,
        }
        print_json(document)
        return
    kind = "answer" if answers else "event"
    say(
        f"{counted(len(found), kind)}, {counted(len(found.recordings), 'recording')}"
        + (f", {counted(found.skipped, 'row')} skipped" if found.skipped else "")
    )
    wrote(target)
