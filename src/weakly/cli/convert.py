"""`weakly convert`: annotations from one format to another, with what is lost said aloud."""

from __future__ import annotations

from pathlib import Path

import typer

from . import app, selection
from .common import FORCE, JSON, fresh, print_json, say, wrote

_HELP = """Convert annotations between formats; recordings without events are kept, what a format cannot hold is said.

IN is a file, a folder, a quoted pattern or an address; OUT is a file, or a folder for formats with one file per
recording.

Examples:

  weakly convert validation.tsv tables/ --to raven

  weakly convert detections.csv out.tsv --columns onset=begin,length=dur,label=species --on-error skip
"""


_TARGET = typer.Argument(..., metavar="OUT", callback=fresh, help="File or folder to write.")


@app.command("convert", help=_HELP)
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
    from .. import formats
    from ..results import counted

    read = formats.read_answers if answers else formats.read
    how = selection.reading(
        format=read_as, columns=columns, where=where, annotator=annotator, merge=merge, on_error=on_error,
        recording_length=recording_length, sample=sample,
    )  # fmt: skip
    found = selection.say(read(source, label=label, progress=not json, **how), quiet=json)
    lost = formats.write(found, target, write_as)
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
