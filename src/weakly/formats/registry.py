"""The list of formats: what each is called, how it is recognised, read and written."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidInput
from ..events import Answers, Events
from ..symbols import choice
from .source import KINDS, Source, column_of, quoted
from .table import Rows


@dataclass(frozen=True)
class Format:
    """One kind of file. ``sniff`` looks at the content; formats are asked in the order of their registration."""

    name: str
    words: str
    sniff: Callable[[Source], bool]
    read: Callable[[Source], Rows]
    write: Callable[[Events, Path], list[str]] | None = None
    write_answers: Callable[[Answers, Path], list[str]] | None = None
    endings: tuple[str, ...] = ()
    binary: bool = False  # the reader opens the file itself


FORMATS: dict[str, Format] = {}


def register(*formats: Format) -> None:
    """Add formats to the end of the list."""
    for item in formats:
        FORMATS[item.name] = item


def named(name: str) -> Format:
    """The format of that name."""
    return FORMATS[choice("format", name, tuple(FORMATS))]


def detect(source: Source) -> Format:
    """The format of a file, from what is in it; an InvalidInput that says what it is instead, if it is none."""
    data = source.data
    for item in FORMATS.values():
        if item.binary and item.sniff(source):
            return item
    for magic, words in KINDS:
        if data.startswith(magic):
            raise InvalidInput(f"{source.name}: is {words}")
    if not data.strip():
        raise InvalidInput(
            f"{source.name}: is empty; if that means annotated and nothing present, say the format, such as audacity"
        )
    for item in FORMATS.values():
        if not item.binary and item.sniff(source):
            return _by_columns(item, source)
    raise InvalidInput(f"{source.name}: {_reason(source)}")


def _by_columns(item: Format, source: Source) -> Format:
    """The plain table instead of a format with fixed columns, where the caller says which column is which."""
    given = source.columns
    if not given or item.name in ("csv", "tsv") or (item.name == "raven" and set(given) == {"label"}):
        return item
    missing = [name for name in given.values() if column_of(source.header, name) is None]
    if missing:
        names = ", ".join(name[:40] for name in source.header[:12])
        raise InvalidInput(f"{source.name}: is {item.name} and has no column {quoted(missing[0])}; there are {names}")
    return FORMATS["tsv" if source.delimiter == "\t" else "csv"]


def _reason(source: Source) -> str:
    """Why a text file is none of the formats, as far as one can tell."""
    first = source.head[0] if source.head else ""
    if first.lstrip().startswith(("{", "[")):
        return f"is {_json(source)}of no known kind (Label Studio export or JAMS)"
    lower = [name.lower() for name in source.header]
    if is_lengths(source):
        return "lists the lengths of recordings and no events; give it as recording_length"
    if len(source.header) > 1 and all(lower) and not any(is_number(name) for name in lower):
        names = ", ".join(name[:40] for name in source.header[:12])
        return f"no columns with onsets and offsets, nor labels of whole recordings: {names}; say which with columns"
    return f"its first line {quoted(first)} is of no known format; formats: {', '.join(FORMATS)}"


def _json(source: Source) -> str:
    try:
        json.loads(source.text)
    except ValueError as error:
        return f"broken JSON ({error}), or "
    except RecursionError:
        return "JSON nested too deep, or "
    return "JSON "


def is_number(text: str) -> bool:
    """Whether a field holds a finite number."""
    try:
        return math.isfinite(float(text)) and "_" not in text
    except ValueError:
        return False


def is_lengths(source: Source) -> bool:
    """Whether a file lists recordings and their lengths: two columns, the second a number of seconds."""
    rows = [line.replace("\t", ",").split(",") for line in source.head]
    if not rows or any(len(row) != 2 for row in rows):
        return False
    first = rows[0][1].strip().lower()
    body = rows if is_number(first) else rows[1:]
    named = is_number(first) or first in ("duration", "length", "recording_length", "duration_s", "seconds", "length_s")
    return named and bool(body) and all(is_number(row[1].strip()) and not is_number(row[0]) for row in body)
