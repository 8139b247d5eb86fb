"""What every command that reads annotations shares: which columns, whose rows, which classes, how long, what examined.

One parser for all of them: a command takes the options below and hands them to :func:`reading`, whose result goes to
``formats.read`` or ``formats.read_answers``; :func:`events` reads, selects, says what was taken as what.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer

from ..base.errors import InvalidInput

FORMAT = typer.Option(None, "--format", help="Format of the files; left out, it is found by looking into each.")
COLUMNS = typer.Option(
    None,
    "--columns",
    help="Which column is which: onset=start, offset=end (or length=dur), recording=site+night, label=species, "
    "joined by commas; annotator=@file where each file is an annotator's.",
)
LABEL = typer.Option(None, "--label", help="Only this class; or the class of files that name none.")
WHERE = typer.Option(None, "--where", help="Only rows with this value in a column: split=train; may be repeated.")
ANNOTATOR = typer.Option(None, "--annotator", help="Only the rows of this annotator; may be repeated.")
MERGE = typer.Option(None, "--merge", help="Join classes before anything else: 'bird=robin,wren'; may be repeated.")
ON_ERROR = typer.Option(
    "raise",
    "--on-error",
    help="Broken rows: raise, or skip and count; clip cuts events at the recording's end; skip,clip does both.",
)
RECORDING_LENGTH = typer.Option(
    None, "--recording-length", help="Seconds, or a file with the columns filename and duration."
)
SAMPLE = typer.Option(
    None, "--sample", min=1, metavar="N", help="Only N recordings, whole, chosen by a hash of their names."
)
EXAMINED = typer.Option(
    None,
    "--examined",
    metavar="FILE",
    help="What was annotated: a UEM file or a table of recordings, times, annotators.",
)


def pairs(texts: Sequence[str] | str | None, *, name: str, example: str) -> dict[str, str]:
    """``a=b`` texts (or one text with commas between) as a dictionary.

    >>> pairs("onset=start, label=Species", name="--columns", example="onset=start")
    {'onset': 'start', 'label': 'Species'}
    """
    found = {}
    for text in texts.split(",") if isinstance(texts, str) else texts or ():
        key, sign, value = text.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise InvalidInput(f"{name} must be like {example}, got {text.strip()!r}")
        found[key.strip()] = value.strip()
    return found


def reading(
    *,
    format: str | None = None,
    columns: str | None = None,
    where: Sequence[str] | None = None,
    annotator: Sequence[str] | None = None,
    merge: Sequence[str] | None = None,
    on_error: str = "raise",
    recording_length: str | float | None = None,
    sample: int | str | None = None,
) -> dict[str, Any]:
    """The options as ``formats.read`` takes them."""
    into = pairs(merge, name="--merge", example="'bird=robin,wren'")
    return {
        "format": format,
        "columns": pairs(columns, name="--columns", example="onset=start,offset=end,label=species") or None,
        "where": pairs(where, name="--where", example="split=train") or None,
        "annotator": list(annotator) if annotator else None,
        "merge": {new: [part.strip() for part in old.split(",")] for new, old in into.items()} or None,
        "on_error": on_error,
        "recording_length": recording_length,
        "sample": sample,
    }


def say(found: Any, *, quiet: bool = False) -> Any:
    """Tell on stderr what was taken as what, and what became of the rows where they did not all become events."""
    from ..base.results import printable

    if not quiet:
        for line in found.reading.splitlines():
            print(f"weakly: read: {printable(line)}", file=sys.stderr)
        sums = found.account
        if found.reading and sums["rows"] != sums["events"]:
            told = ", ".join(f"{sums[name]} {name}" for name in ("events", "empty", "skipped", "merged") if sums[name])
            print(f"weakly: read: {sums['rows']} rows = {told}", file=sys.stderr)
    return found


def events(files: Sequence[str], how: dict[str, Any], *, label: str | None = None, examined: str | None = None) -> Any:
    """The events of files under these options; where some was examined, each stretch is a recording of its own."""
    from ..io.reading import read

    found = say(read(files, label=label, examined=examined, progress=True, **how))
    return found.within() if examined is not None else found


def pilot(files: Sequence[str], how: dict[str, Any], *, examined: str | None = None) -> tuple[Any, float | None]:
    """The events of a pilot, and the length of recordings to plan for if the option gives seconds.

    Seconds are the plan's; the pilot's own lengths are its own, but where they are unknown and events are to be left
    out or cut, the seconds count for them too.
    """
    from ..io.reading import read

    length = how["recording_length"]
    given = None if length is None else seconds_of(length)
    if given is None:
        return events(files, how, examined=examined), None
    found = read(files, examined=examined, **{**how, "recording_length": None})
    unknown = found.recordings.index[found.recordings["length"].isna()]
    if how["on_error"] != "raise" and (found.extents[unknown] > given).any():
        lengths = dict.fromkeys(unknown, given)
        found = read(files, examined=examined, **{**how, "recording_length": lengths})
    say(found)
    return found.within() if examined is not None else found, given


def seconds_of(text: str | float) -> float | None:
    """The number that an option gives; None if it names a file."""
    try:
        return float(text)
    except ValueError:
        return None
