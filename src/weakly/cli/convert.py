"""`weakly convert`: annotations from one format to another, with what is lost said aloud."""

from __future__ import annotations

from pathlib import Path

import typer

from . import app
from .common import JSON, print_json, wrote

_HELP = """Convert annotations between formats; recordings without events are kept, what a format cannot hold is said.

IN is a file, a folder or a quoted pattern; OUT is a file, or a folder for formats with one file per recording.

Examples:

  weakly convert validation.tsv tables/ --to raven

  weakly convert detections.csv out.tsv --columns onset=begin,length=dur,label=species --on-error skip
"""


def columns_of(text: str | None) -> dict[str, str] | None:
    """``onset=start,label=Species`` as a dictionary."""
    from ..errors import InvalidInput

    if text is None:
        return None
    found = {}
    for part in text.split(","):
        key, sign, name = part.partition("=")
        if not sign or not key.strip() or not name.strip():
            raise InvalidInput(f"--columns must be like onset=start,offset=end,label=species, got {text!r}")
        found[key.strip()] = name.strip()
    return found


_TARGET = typer.Argument(..., metavar="OUT", help="File or folder to write.")


@app.command("convert", help=_HELP)
def convert(
    source: str = typer.Argument(..., metavar="IN", help="File, folder or pattern to read."),
    target: Path = _TARGET,
    read_as: str = typer.Option(None, "--from", help="Format of IN; left out, it is found by looking into the file."),
    write_as: str = typer.Option(None, "--to", help="Format of OUT; left out, its name tells it."),
    label: str = typer.Option(None, "--label", help="Only this class; or the class of files that name none."),
    columns: str = typer.Option(
        None, "--columns", help="Which column is which: onset=start,offset=end (or length=dur)."
    ),
    recording_length: str = typer.Option(
        None, "--recording-length", help="Seconds, or a file with the columns filename and duration."
    ),
    on_error: str = typer.Option("raise", "--on-error", help="Broken rows: raise, or skip and count."),
    answers: bool = typer.Option(False, "--answers", help="Read answers about segments (present, absent, unsure)."),
    json: bool = JSON,
) -> None:
    from .. import formats
    from ..results import counted

    read = formats.read_answers if answers else formats.read
    found = read(
        source,
        read_as,
        label,
        columns=columns_of(columns),
        recording_length=recording_length,
        on_error=on_error,
        progress=not json,
    )
    lost = formats.write(found, target, write_as)
    if json:
        document = {
            "read": source,
            "written": str(target),
            "n_rows": len(found),
            "n_recordings": len(found.recordings),
            "skipped": found.skipped,
            "notes": list(found.notes),
            "lost": lost,
        }
        print_json(document)
        return
    kind = "answer" if answers else "event"
    typer.echo(
        f"{counted(len(found), kind)}, {counted(len(found.recordings), 'recording')}"
        + (f", {counted(found.skipped, 'row')} skipped" if found.skipped else "")
    )
    wrote(target)
