"""The list of formats: how each is recognised, read and written; and what writers share: exact numbers, one file per
recording, lists of losses."""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..base.errors import AssumptionWarning, InvalidInput
from ..base.results import atomic_write, counted
from ..base.symbols import choice
from ..model.answers import Answers
from ..model.events import Events
from .source import COMMENT, KINDS, Source, column_of, quoted
from .table import TextRows
from .times import duration, ending, special
from .vocabulary import is_lengths, is_number, texts


@dataclass(frozen=True)
class Format:
    """One kind of file; formats are asked in the order of their registration.

    ``sniff`` looks at the content; or it is the set of names, in lower case, that the columns of such a table have; or
    the texts that all stand in such a file; or a pattern that each of its first lines matches. It is asked of files
    that show the ``mark``, a pattern: in the first line, in lower case; of a binary file, in its first 256 and last two
    bytes.
    """

    name: str
    words: str
    sniff: Callable[[Source], bool] | frozenset[str] | tuple[str, ...] | re.Pattern[str]
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
        if isinstance(self.sniff, frozenset):
            return self.sniff <= source.names
        if isinstance(self.sniff, tuple):
            return all(text in source.text for text in self.sniff)
        if isinstance(self.sniff, re.Pattern):
            return bool(source.head) and all(map(self.sniff.fullmatch, source.head))
        return self.sniff(source)


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
    texty = data[:256].isascii() and b"\0" not in data[:256]  # begins with the letters of another kind: ID3,1,2
    for magic, words in KINDS:
        if data.startswith(magic) and not (len(magic) < 4 and texty):
            raise source.error(f"is {words}")
    if not source.text.strip():  # or a byte order mark alone
        raise source.error("is empty; if nothing was present, say the format, such as audacity (--format)")
    item = _sniffed(source)
    if item is None:
        reason = _reason(source)
        commented = source.head and COMMENT.match(source.head[0])
        passed = source.uncomment() if commented else source.untitle()
        item = _sniffed(source) if passed else None
        if item is None:
            raise source.error(f"{reason}")
    return _by_columns(item, source)


def _sniffed(source: Source, *, binary: bool = False) -> Format | None:
    return next((item for item in FORMATS.values() if item.binary == binary and item.fits(source)), None)


def _by_columns(item: Format, source: Source) -> Format:
    """The plain table instead of a format with fixed columns, where the caller says which column is which."""
    own = {"jams": "recording", "textgrid": "label", "elan": "label", "via": "label"}.get(item.name)  # no column
    given = {role: name for role, name in source.columns.items() if not (special(role, name) or role == own)}
    plain = item.name in ("csv", "tsv", "records", "parquet")
    if not source.columns or plain or item.name == "sed_eval" or (item.name == "raven" and set(given) == {"label"}):
        return item
    other = (part.strip() for name in given.values() if name.lower() not in source.names for part in name.split("+"))
    missing = [name for name in other if column_of(source.header, name) is None]
    if missing:
        names = ", ".join(name[:40] for name in source.header[:12])
        raise source.error(f"is {item.name} and has no column {quoted(missing[0])}; there are {names}")
    as_table = FORMATS["tsv" if source.delimiter == "\t" else "csv"]
    return as_table if as_table.fits(source) else item


def _reason(source: Source) -> str:
    """Why a text file is none of the formats, as far as one can tell."""
    first = source.head[0] if source.head else ""
    if first.lstrip().startswith(("{", "[")):
        source.json()
        return "is JSON of no known kind (Label Studio, JAMS, AOEF, ActivityNet, a list of records)"
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


_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*%]')


@contextmanager
def saving(path: Path, mode: str = "w") -> Iterator[Any]:
    """A file to write, whole or not at all."""
    try:
        with atomic_write(path, mode) as file:
            yield file
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{path}: a name or label holds half a character ({error.object[error.start]!r})") from error
    except FileNotFoundError as error:
        raise InvalidInput(f"{path}: there is no folder {path.parent}") from error
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from error


def save(path: Path, pieces: Iterable[str]) -> None:
    """Write the text, whole or not at all."""
    with saving(path) as file:
        rest = iter(pieces)
        while some := list(islice(rest, 200)):
            file.write("".join(some))


def inexact(onset: Any, offset: Any) -> list[str]:
    """What formats of onset and duration lose: the last digit of a few offsets."""
    n = int((ending(onset, duration(onset, offset)) != np.asarray(offset, np.float64)).sum())
    return [f"the last of 16 digits of {counted(n, 'offset')}"] if n else []


def delimited(columns: Sequence[Sequence[str]], *, delimiter: str, names: Sequence[str] | None = None) -> Iterator[str]:
    """The lines of a table; fields are put in quotes where a reader of CSV needs it."""
    special = re.compile(f'["\r\n{re.escape(delimiter)}]|^[ #\ufeff]|[ ]$')
    signs = ('"', "\r", "\n", delimiter, "\0 ", "\0#", "\0\ufeff", " \0")

    def fields(values: Sequence[str]) -> Sequence[str]:
        text = "\0".join(("", *values, ""))
        if not any(sign in text for sign in signs):  # few fields need quotes: a look at many at once is quick
            return values
        return ['"' + value.replace('"', '""') + '"' if special.search(value) else value for value in values]

    if names is not None:
        yield delimiter.join(fields(names)) + "\n"
    for first in range(0, len(columns[0]) if columns else 0, 5_000):
        rows = map(delimiter.join, zip(*(fields(column[first : first + 5_000]) for column in columns)))
        yield "\n".join(rows) + "\n"


#: What formats without quotes write for signs that they cannot hold: a pattern, its words, and what is written.
SPACES = r"[\t\r\n\x00]", "tabs and line ends", " ", "spaces"
UNDERSCORES = r"\s+", "spaces", "_", "underscores"


def plain_fields(values: Sequence[str], losses: list[str], what: str, signs: Sequence[str] = SPACES) -> list[str]:
    """Texts for formats without quotes, in which some signs are written as others, which is reported."""
    pattern, told, other, others = signs
    clean = {value: re.sub(pattern, other, value) for value in set(values)}
    changed = sorted(value for value, text in clean.items() if value != text)
    if changed:
        losses.append(f"{told} in {counted(len(changed), what)} (first {changed[0][:40]!r}), written as {others}")
    return [clean[value] for value in values]


#: What formats may hold beside columns: recordings without events, lengths, recordings that were not annotated.
EMPTY, LENGTHS, IDLE = "@empty", "@lengths", "@idle"


def losses(rows: Events | Answers, *held: str) -> list[str]:
    """What a format of these columns and recordings, and of what every format holds, does not hold, in words."""
    lost: list[str] = []
    frame, listing, silent = rows.to_frame(), rows.recordings, rows.silent
    kind, held = ("events", held) if isinstance(rows, Events) else ("answers", (*held, "label", "present"))
    idle, known = int((~listing["annotated"]).sum()), int(listing["length"].notna().sum())
    if silent and EMPTY not in held:
        lost.append(f"{counted(len(silent), 'recording')} without {kind} (first {silent[0][:60]!r})")
    if idle and IDLE not in held:
        lost.append(f"{counted(idle, 'recording')} that were not annotated")
    if known and LENGTHS not in held:
        lost.append(f"the {'length' if known == 1 else 'lengths'} of {counted(known, 'recording')}")
    others = (str(name) for name in frame.columns if name not in ("recording", "onset", "offset", *held))
    gone = [name for name in others if any(texts_of(frame, name))]
    return [*lost, f"the {'column' if len(gone) == 1 else 'columns'} {', '.join(gone)}"] if gone else lost


def texts_of(frame: pd.DataFrame, name: str, *, default: str = "") -> list[str]:
    """A column as texts; the default where there is no such column."""
    return texts(frame[name]) if name in frame else [default] * len(frame)


def columns_of(frame: pd.DataFrame, *names: str, silent: Sequence[str] = ()) -> list[list[str]]:
    """Columns as texts, below them a row for each recording that is silent, in which all else is empty."""
    more = {name: [""] * len(silent) for name in names} | {"recording": list(silent)}
    return [texts_of(frame, name) + more[name] for name in names]


def everything_of(rows: Events | Answers, *, but: str = "") -> dict[str, list[str]]:
    """All columns, but one, as texts; with a row for each silent recording, lengths, and what was not annotated."""
    frame, listing = rows.to_frame(), rows.recordings
    idle = list(listing.index[~listing["annotated"]])
    names = [str(name) for name in frame.columns if name != but]
    columns = dict(zip(names, columns_of(frame, *names, silent=[*rows.silent, *idle])))
    if listing["length"].notna().any():
        columns["recording_length"] = texts(listing["length"].reindex(columns["recording"]))
    if idle:
        columns["annotated"] = ["True"] * (len(columns["recording"]) - len(idle)) + ["False"] * len(idle)
    return columns


def table_writer(
    titles: Mapping[str, str], *, delimiter: str, empty: bool = False
) -> Callable[[Events, Path], list[str]]:
    """The writer of tables with these columns, title: column."""

    def write_columns(events: Events, path: Path) -> list[str]:
        columns = columns_of(events.to_frame(), *titles.values(), silent=events.silent if empty else ())
        save(path, delimited(columns, delimiter=delimiter, names=list(titles)))
        return losses(events, *titles.values(), *[EMPTY] * empty)

    return write_columns


def file_name(recording: str, ending: str, losses: list[str]) -> str:
    """A file name for a recording that cannot leave its folder; a change of the name is reported."""
    safe = _UNSAFE.sub(lambda match: f"%{ord(match.group()):02X}", recording)
    if safe.strip(". ") == "" or safe.startswith("."):
        safe = f"%{safe}"
    if len(safe.encode("utf-8", "replace")) + len(ending) > 200:
        safe = safe[:40] + "%" + hashlib.sha256(recording.encode("utf-8", "replace")).hexdigest()[:16]
    if safe != recording:
        losses.append(f"the recording name {recording[:60]!r}, written as {safe!r}")
    return safe + ending


def is_folder(path: Path) -> bool:
    """Whether a path is a folder, or is to be one: a name without an ending that nothing has."""
    return path.is_dir() or (not path.suffix and not path.exists())


def per_recording(
    events: Events,
    path: Path,
    lost: Sequence[str],
    *,
    ending: str,
    kind: str,
    text: Callable[[pd.DataFrame, str, list[str]], Iterable[str]],
) -> list[str]:
    """Write one file per recording into a folder, or the one recording there is into a file; what is lost in all.

    ``text`` gives the pieces of a recording's file, and adds to a list what it could not put there.
    """
    frame = events.to_frame()
    names, found = list(events.recordings.index[events.recordings["annotated"]]), list[str]()
    if not is_folder(path):
        if len(names) != 1:
            raise InvalidInput(f"{path}: {kind} holds one recording per file and there are {len(names)}; give a folder")
        name = file_name(names[0], "", [])
        if not path.name.startswith(name) or path.name[len(name) : len(name) + 1] not in (".", ""):
            found.append(f"the recording name {names[0][:60]!r}: the file's own name stands for it")
        save(path, text(frame, names[0], found))
        return [*lost, *found]
    path.mkdir(parents=True, exist_ok=True)
    groups = frame.groupby("recording", sort=False).indices
    for name in names:
        rows = frame.iloc[groups.get(name, np.empty(0, dtype=np.int64))]
        save(path / file_name(name, ending, found), text(rows, name, found))
    return [*lost, *dict.fromkeys(found)]


def unheld(frame: pd.DataFrame, absent: str = "'absent'") -> list[str]:
    """How many answers a format of what is present does not hold."""
    counts = ((frame["present"] == 0).sum(), absent), (frame["present"].isna().sum(), "'unsure'")
    return [f"{counted(int(n), 'answer')} {word}" for n, word in counts if n]


def as_events(answers: Answers) -> tuple[Events, list[str]]:
    """The segments that were called present, as events; and what that leaves out."""
    frame = answers.to_frame()
    present, found = (frame["present"] == 1).to_numpy(), unheld(frame)
    if frame["onset"].isna()[present].any():
        raise InvalidInput("the answers do not say where their segments are; events need an onset and an offset")
    rows = frame[present].drop(columns=["present"]).reset_index(drop=True)
    lengths: dict[Any, float] = answers.recordings["length"].dropna().to_dict()
    return Events.from_frame(rows, recordings=list(answers.recordings.index), recording_length=lengths), found


def as_answers(events: Events) -> tuple[Answers, list[str]]:
    """The labels of whole recordings; and what that leaves out."""
    frame, listing = events.to_frame(), events.recordings
    weak = frame["weak"].astype(bool).to_numpy() if "weak" in frame else np.zeros(len(frame), dtype=bool)
    found = [f"the onsets and offsets of {counted(int((~weak).sum()), 'event')}"] if (~weak).any() else []
    if weak.all() and len(frame):
        table = frame.drop(columns=["weak"]).assign(present=1.0)
    else:
        table = frame[["recording", "label"]].drop_duplicates().assign(present=1.0)
        table["onset"] = 0.0
        table["offset"] = listing["length"].reindex(table["recording"]).to_numpy()
        table.loc[table["offset"].isna(), "onset"] = np.nan
    done = listing[listing["annotated"]]
    lengths: dict[Any, float] = done["length"].dropna().to_dict()
    return Answers.from_frame(table, recordings=list(done.index), recording_length=lengths), found


def _writer(path: Path, format: str | None, *, answers: bool) -> Format:
    """The format that was named, or that a file's name asks for."""
    able = [item for item in FORMATS.values() if (item.write_answers if answers else item.write) is not None]
    names = ", ".join(item.name for item in able)
    if format is not None:
        item = named(format)
        if item.write is None and item.write_answers is None:
            raise InvalidInput(f"format: {item.name} can be read and not written; give one of {names}")
        return item
    fits = [(len(end), item) for item in able for end in item.endings if path.name.lower().endswith(end)]
    if not fits:
        raise InvalidInput(f"{path}: the name does not tell the format; give one of {names}")
    return max(fits, key=itemgetter(0))[1]  # of several the first


def write(events: Events | Answers, path: str | os.PathLike[str], format: str | None = None) -> list[str]:
    """Write events or answers to a file, whole or not at all; what comes back is what the format could not hold.

    The same list is given as one AssumptionWarning. Formats that hold one recording per file (Audacity)
    take a folder, and Raven may. The format is told by the ending of the name (.tsv DCASE, .csv
    plain, .json Label Studio, ...) unless it is given. ``csv``, ``tsv`` and ``parquet`` hold all of any events.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> frame = pd.DataFrame({"recording": ["a"], "onset": [1.0], "offset": [2.0], "label": ["dog"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Events.from_frame(frame), f"{folder}/a.rttm")
    []
    """
    target = Path(path)
    item = _writer(target, format, answers=isinstance(events, Answers))
    found: list[str] = []
    if isinstance(events, Answers) and item.write_answers is None:
        events, found = as_events(events)
    elif isinstance(events, Events) and item.write is None:
        events, found = as_answers(events)
    writer: Any = item.write_answers if isinstance(events, Answers) else item.write
    found = found + writer(events, target)
    if found:
        warnings.warn(f"{target} ({item.name}) does not hold: {'; '.join(found)}", AssumptionWarning, stacklevel=2)
    return found


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def save_json(items: Iterable[Any], path: Path) -> None:
    """Write a list of JSON, of which no more than some items are held at once."""
    save(path, chain("[", ((",\n" if k else "") + _encode(item) for k, item in enumerate(items)), "]\n"))
