"""`weakly check`: what is probably wrong with annotation files."""

from __future__ import annotations

from pathlib import Path

import typer

from . import app
from .common import JSON, print_json
from .convert import columns_of

_HELP = """Look for trouble in annotation files: swapped, cumulative or millisecond times, points, duplicates, ...

Each finding names file and line, what it probably is and how many there are. A file that lists the lengths of
recordings may stand among the others and is used for what goes past the end.

Examples:

  weakly check strong.tsv durations.csv

  weakly check tables/ --format raven --strict --json
"""


_FILES = typer.Argument(..., metavar="FILE...", help="Files, folders or patterns.")
_RECORDINGS = typer.Option(None, "--recordings", metavar="DIR", help="Folder with the sounds, to compare names.")


@app.command("check", help=_HELP)
def check(
    files: list[str] = _FILES,
    format: str = typer.Option(
        None, "--format", help="Format of the files; left out, it is found by looking into each."
    ),
    columns: str = typer.Option(
        None, "--columns", help="Which column is which: onset=start,offset=end (or length=dur)."
    ),
    recording_length: str = typer.Option(
        None, "--recording-length", help="Seconds, or a file with the columns filename and duration."
    ),
    recordings: Path = _RECORDINGS,
    strict: bool = typer.Option(False, "--strict", help="Exit with 1 if anything is found."),
    json: bool = JSON,
) -> None:
    from .. import formats
    from ..results import counted

    result = formats.check(
        files,
        format=format,
        columns=columns_of(columns),
        recording_length=recording_length,
        recordings=recordings,
        progress=not json,
    )
    if json:
        print_json(result)
    else:
        for item in result.findings:
            where = "" if item.line is None else f":{item.line}"
            times = "" if item.n == 1 else f" [{item.n} times]"
            typer.echo(f"{item.file}{where}: {item.kind}{times}: {' '.join(item.message.split())}")
        n = len(result.findings)
        verdict = "nothing found" if result.clean else f"{n} finding{'' if n == 1 else 's'}"
        events, recordings_ = counted(result.n_events, "event"), counted(result.n_recordings, "recording")
        typer.echo(f"{events} in {recordings_}, {counted(len(result.files), 'file')}: {verdict}")
    if strict and not result.clean:
        raise typer.Exit(1)
