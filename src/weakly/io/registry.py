"""The list of formats: what each is called, how it is recognised, read and written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import InvalidInput
from ..base.results import counted
from ..base.symbols import choice
from ..model.answers import Answers
from ..model.events import Events
from .source import COMMENT, KINDS, Source, column_of, quoted
from .table import TextRows
from .times import special
from .vocabulary import UNITS, is_number, normal, suited


@dataclass(frozen=True)
class Format:
    """One kind of file; formats are asked in the order of their registration.

    ``sniff`` looks at the content, or is the set of names, in lower case, that the columns of such a table have. It is
    asked of files that show the ``mark``, a pattern: in the first line, in lower case; of a binary file, in its first
    256 and last two bytes.
    """

    name: str
    words: str
    sniff: Callable[[Source], bool] | frozenset[str]
    read: Callable[[Source], TextRows]
    write: Callable[[Events, Path], list[str]] | None = None
    write_answers: Callable[[Answers, Path], list[str]] | None = None
    endings: tuple[str, ...] = ()
    binary: bool = False  # the reader opens the file itself
    mark: str = ""
    read_answers: Callable[[Source], TextRows] | None = None  # where answers are read otherwise than events

    def fits(self, source: Source) -> bool:
        """Whether a file is of this format."""
        if self.binary:
            first = (source.data[:256] + source.data[-2:]).decode("latin-1")
        else:
            first = source.head[0].lower() if source.head and self.mark else ""
        if not re.search(self.mark, first):
            return False
        return self.sniff(source) if callable(self.sniff) else self.sniff <= source.names


FORMATS: dict[str, Format] = {}
JSON = r"^\s*[\[{]"  # the mark of JSON documents


def register(*formats: Format, last: bool = False) -> None:
    """Add formats of your own: they are asked before all others, unless ``last``.

    A reader takes a ``Source`` (``source.lines()``, ``source.text``, ``source.fail(line, column, words)`` for a broken
    row) and returns ``TextRows``; a writer takes events and a path and returns, in words, what the format cannot hold.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from weakly.io import FORMATS, Format, read, register
    >>> from weakly.io.table import TextRows
    >>> def read_mine(source):
    ...     rows = [(line, *text[5:].split("|")) for line, text in source.lines()]
    ...     data = {"recording": [row[1] for row in rows], "label": [row[4] for row in rows],
    ...             "onset": np.array([float(row[2]) for row in rows]),
    ...             "offset": np.array([float(row[3]) for row in rows])}
    ...     return TextRows(source, data, [row[0] for row in rows]).checked()
    >>> register(Format("mine", "lines EVENT file|start|end|label",
    ...                 sniff=lambda source: source.text.startswith("EVENT"), read=read_mine))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.txt"
    ...     _ = path.write_text("EVENTa.wav|1|2|dog\\n")
    ...     read(path)
    <Events: 1 event, 1 label, 1 recording>
    >>> del FORMATS["mine"]
    """
    new = {item.name: item for item in formats}
    old = {name: item for name, item in FORMATS.items() if name not in new}
    FORMATS.clear()
    FORMATS.update({**old, **new} if last else {**new, **old})


def named(name: str) -> Format:
    """The format of that name."""
    return FORMATS[choice("format", name, tuple(FORMATS))]


def detect(source: Source) -> Format:
    """The format of a file, from what is in it; an InvalidInput that says what it is instead, if it is none."""
    data = source.data
    item = _sniffed(source, binary=True)
    if item is not None:
        return item
    for magic, words in KINDS:
        if data.startswith(magic) and not (len(magic) < 4 and _texty(data)):
            raise InvalidInput(f"{source.name}: is {words}")
    if not data.strip():
        raise InvalidInput(
            f"{source.name}: is empty; if that means annotated and nothing present, say the format, such as audacity"
        )
    item = _sniffed(source)
    if item is None:
        reason = _reason(source)
        commented = source.head and COMMENT.match(source.head[0])
        item = _sniffed(source) if commented and source.uncomment() else None
        if item is None:
            raise InvalidInput(f"{source.name}: {reason}")
    return _by_columns(item, source)


def _sniffed(source: Source, *, binary: bool = False) -> Format | None:
    return next((item for item in FORMATS.values() if item.binary == binary and item.fits(source)), None)


def own(item: Format) -> tuple[str, ...]:
    """What may be told of a format that has no columns."""
    return ("recording",) if item.name == "jams" else ("label",) if item.name in ("textgrid", "elan") else ()


def _by_columns(item: Format, source: Source) -> Format:
    """The plain table instead of a format with fixed columns, where the caller says which column is which."""
    given = {role: name for role, name in source.columns.items() if not (special(role, name) or role in own(item))}
    plain = item.name in ("csv", "tsv", "records", "parquet")
    if not source.columns or plain or item.name == "sed_eval" or (item.name == "raven" and set(given) == {"label"}):
        return item
    other = [name for name in given.values() if name.lower() not in source.names]
    parts = [part.strip() for name in other for part in name.split("+")]
    missing = [name for name in parts if column_of(source.header, name) is None]
    if missing:
        names = ", ".join(name[:40] for name in source.header[:12])
        raise InvalidInput(f"{source.name}: is {item.name} and has no column {quoted(missing[0])}; there are {names}")
    as_table = FORMATS["tsv" if source.delimiter == "\t" else "csv"]
    return as_table if as_table.fits(source) else item


def _reason(source: Source) -> str:
    """Why a text file is none of the formats, as far as one can tell."""
    first = source.head[0] if source.head else ""
    if first.lstrip().startswith(("{", "[")):
        return f"is {_json(source)}of no known kind (Label Studio, JAMS, AOEF, ActivityNet, a list of records)"
    widths = [len(line.split(source.delimiter)) for line in source.head]
    other = next((i for i, width in enumerate(widths) if width != widths[0] > 2), None)
    if other is not None and any(map(is_number, first.split(source.delimiter))):  # rows without a line of names
        told = f"its line {quoted(source.head[other])} has {counted(widths[other], 'field')}"
        return f"{told} where the first has {widths[0]}; another separator, or cut short?"
    lower = [name.lower() for name in source.header]
    if is_lengths(source):
        return "lists the lengths of recordings and no events; give it as recording_length"
    if len(source.header) > 1 and all(lower) and not any(is_number(name) for name in lower):
        names = ", ".join(name[:40] for name in source.header[:12])
        hint = "say which with columns (--columns onset=NAME,offset=NAME or length=NAME,recording=NAME,label=NAME)"
        return f"no columns with onsets and offsets, nor labels of whole recordings: {names}; {hint}"
    hint = "say it with format (--format; weakly.io.FORMATS lists them) if it is one"
    return f"its first line {quoted(first)} is of no known format; {hint}"


def _texty(data: bytes) -> bool:
    """Whether data that begins with the two or three letters of another kind is text all the same (ID3,1,2)."""
    return data[:256].isascii() and b"\0" not in data[:256]


def _json(source: Source) -> str:
    try:
        json.loads(source.text)
    except ValueError as error:
        return f"broken JSON ({error}), or "
    except RecursionError:
        return "JSON nested too deep, or "
    return "JSON "


def is_lengths(source: Source) -> bool:
    """Whether a file lists recordings and their lengths: names that say so and no events, or a name and a number."""
    rows = [line.replace("\t", ",").replace(";", ",").split(",") for line in source.head]
    if rows and len(rows[0]) == 2 and is_number(rows[0][1]):  # no names: two numbers could be anything
        return all(len(row) == 2 and is_number(row[1]) for row in rows) and not all(is_number(row[0]) for row in rows)
    name, length = length_columns([name for name in source.header if not suited([name], "rate")])
    others = [each for each in source.header if each not in (name, length)]
    if not length or not name or suited(others, "label") or "actions" in source.names:
        return False
    if any(suited([*others, name], role) for role in ("onset", "offset", "present")):
        return False
    at = source.header.index(length)
    body = [row[at].strip().strip('"') for row in rows[1:] if len(row) > at]
    return sum(map(is_number, body)) > 0.5 * len(body)


def length_columns(names: Sequence[str]) -> tuple[str, str]:
    """The columns that hold recordings and their lengths; "" where none does."""
    found = [*suited(names, "recording_length"), *suited(names, "length"), *suited(names, "seconds")]
    length = next((name for name in found if UNITS.get(normal(name)[1], 1.0) == 1.0), "")
    others = [name for name in names if name != length]
    return next(iter(suited(others, "recording") or (others if len(others) == 1 else [])), ""), length
