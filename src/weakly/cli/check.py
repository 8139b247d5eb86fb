"""`weakly check`: what is probably wrong with annotation files."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from ..base.results import counted
from .common import Outlet, ReadingOptions, command, failing_if, fresh, option, print_json, say, tell_reading, wrote

_HELP = """Look for trouble in annotation files: swapped, cumulative or millisecond times, points, duplicates, ...

Each finding names file and line, what it probably is and how many there are. A file that lists the lengths of
recordings may stand among the others and is used for what goes past the end. A file that cannot be read ends with 1.

Examples:

  weakly check strong.tsv durations.csv

  weakly check tables/ --format raven --strict --json

  weakly check *.tsv --fail-on "end_before_start>0" --fail-on "skipped>10"
"""


@command("check", _HELP, reading="label recording_length format columns where annotator merge examined", leaving="json")
def check(
    files: list[str] = typer.Argument(..., metavar="FILE", help="Files, folders, patterns or addresses."),
    recordings: Path = option("Folder with the sounds, to compare names.", metavar="DIR"),
    strict: bool = option("Exit with 1 if anything is found.", False, "--strict"),
    fail_on: list[str] = option("Exit 1 if this holds: 'findings>0', 'past_the_end>10', 'skipped>0'."),
    *,
    reading: ReadingOptions,
    outlet: Outlet,
) -> None:
    """Look for trouble."""
    from .. import io
    from ..io.source import grouped

    result = io.check(files, recordings=recordings, progress=not outlet.json, **reading.arguments())
    with failing_if(result, fail_on):
        if outlet.json:
            print_json(result)
        else:
            verdict = "nothing found" if result.clean else counted(len(result.findings), "finding")
            events, recordings_ = counted(result.n_events, result.what), counted(result.n_recordings, "recording")
            say(f"{events} in {recordings_}, {counted(len(result.files), 'file')}: {verdict}")
            if result.sample is not None:
                sizes = ", ".join(f"{name} {n:,}" for name, n in result.sample.items())
                say(f"A table this large is checked by a sample of whole recordings: {sizes}", indent="  ")
            for finding in result.findings:
                say(str(finding), indent="  ")
            for line, many in grouped((re.sub(r" \(\d+\)", "", each[1]), each) for each in result.readings).items():
                first = many[0] if len(many) == 1 else (f"{len(many):,} files, first {many[0][0]}", line)
                say(": ".join(first), indent="  ")
            sums = result.account
            others = " + ".join(f"{sums[name]:,} {name}" for name in ("empty", "skipped", "merged"))
            why = ", ".join(f"{n:,} {reason}" for reason, n in result.merged.items())
            others += f" ({why})" if why else ""
            say(f"{counted(sums['rows'], 'row')} = {sums['events']:,} with {result.what}s + {others}")
    unread = any(item.kind == "unreadable" for item in result.findings)
    if unread or (strict and not result.clean):
        raise typer.Exit(1)


_CONVERT_HELP = """Convert annotations between formats; empty recordings are kept, losses are reported.

IN is a file, a folder, a quoted pattern or an address; OUT is a file, or a folder for formats with one file per
recording; - is stdin or stdout (as CSV unless --to says otherwise).

Examples:

  weakly convert validation.tsv tables/ --to raven

  weakly convert detections.csv out.tsv --columns onset=begin,length=dur,label=species --on-error skip
"""


@command(
    "convert",
    _CONVERT_HELP,
    reading="label columns where annotator merge recording_length sample on_error",
    leaving="json force",
)
def convert(
    source: str = typer.Argument(..., metavar="IN", help="File, folder, pattern or address to read."),
    target: Path = typer.Argument(..., metavar="OUT", callback=fresh, help="File or folder to write."),
    read_as: str = option("Format of IN; left out, it is found by looking into the file.", None, "--from"),
    write_as: str = option("Format of OUT; left out, its name tells it.", None, "--to"),
    answers: bool = option("Read answers about segments (present, absent, unsure).", False, "--answers"),
    *,
    reading: ReadingOptions,
    outlet: Outlet,
) -> None:
    """Convert."""
    from .. import io

    read = io.read_answers if answers else io.read
    how = reading.arguments() | {"format": read_as, "progress": not outlet.json}
    rows = tell_reading(read(source, **how), quiet=outlet.json)
    if str(target) == "-":
        with TemporaryDirectory() as folder:
            io.write(rows, Path(folder) / "stdout", write_as or "csv")
            typer.echo((Path(folder) / "stdout").read_text(encoding="utf-8"), nl=False)
        return
    lost = io.write(rows, target, write_as)
    if outlet.json:
        counts = {"n_rows": len(rows), "n_recordings": len(rows.recordings), "skipped": rows.skipped}
        told = {"reading": rows.reading, "account": rows.account, "notes": list(rows.notes), "lost": lost}
        print_json({"read": source, "written": str(target), **counts, **told})
        return
    kind = "answer" if answers else "event"
    say(
        f"{counted(len(rows), kind)}, {counted(len(rows.recordings), 'recording')}"
        + (f", {counted(rows.skipped, 'row')} skipped" if rows.skipped else "")
    )
    wrote(target)
