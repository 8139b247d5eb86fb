"""Writing events or answers, and what every writer shares: exact numbers, one file per recording, lists of losses."""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..base.errors import AssumptionWarning, InvalidInput
from ..base.files import atomic_write
from ..base.results import counted
from ..model.answers import Answers
from ..model.events import COLUMNS, Events
from .registry import FORMATS, Format, named
from .times import duration, ending

_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*%]')


def save(path: Path, pieces: Iterable[str]) -> None:
    """Write the text, whole or not at all."""
    try:
        with atomic_write(path) as file:
            rest = iter(pieces)
            while some := list(islice(rest, 200)):
                file.write("".join(some))
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{path}: a name or label holds half a character ({error.object[error.start]!r})") from error
    except FileNotFoundError as error:
        raise InvalidInput(f"{path}: there is no folder {path.parent}") from error
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from error


def exact(values: Any) -> list[str]:
    """Numbers as the shortest text that reads back as the same float64; NaN is empty."""
    return ["" if value != value else repr(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def inexact(onset: Any, offset: Any) -> list[str]:
    """What formats of onset and duration lose: the last digit of a few offsets."""
    onset, offset = np.asarray(onset, np.float64), np.asarray(offset, np.float64)
    n = int((ending(onset, duration(onset, offset)) != offset).sum())
    return [f"the last of 16 digits of {counted(n, 'offset')}"] if n else []


def delimited(columns: Sequence[Sequence[str]], *, delimiter: str, names: Sequence[str] | None = None) -> Iterator[str]:
    """The lines of a table; fields are put in quotes where a reader of CSV needs it."""
    special = re.compile(f'["\r\n{re.escape(delimiter)}]|^[ #]|[ ]$')
    signs = ('"', "\r", "\n", delimiter, "\0 ", "\0#", " \0")

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


def plain_fields(values: Sequence[str], losses: list[str], what: str) -> list[str]:
    """Texts for formats without quotes: tabs and line ends become spaces, which is reported."""
    clean = {value: re.sub(r"[\t\r\n\x00]", " ", value) for value in set(values)}
    changed = sorted(value for value, text in clean.items() if value != text)
    if changed:
        losses.append(f"tabs and line ends in {len(changed)} {what} (first {changed[0][:40]!r}), written as spaces")
    return [clean[value] for value in values]


def losses(
    events: Events, *, empty: bool, lengths: bool = False, extra: Sequence[str] = (), label: bool = True
) -> list[str]:
    """What a format with these abilities does not hold of the events, in words."""
    found: list[str] = []
    frame, listing = events.to_frame(), events.recordings
    silent = events.silent
    if silent and not empty:
        found.append(f"{counted(len(silent), 'recording')} without events (first {silent[0][:60]!r})")
    idle = int((~listing["annotated"]).sum())
    if idle:
        found.append(f"{counted(idle, 'recording')} that were not annotated")
    known = int(listing["length"].notna().sum())
    if known and not lengths:
        found.append(f"the {'length' if known == 1 else 'lengths'} of {counted(known, 'recording')}")
    held = {"recording", "onset", "offset", *extra, *(("label",) if label else ())}
    gone = [str(n) for n in frame.columns if n not in held and len(frame) and not _blank(frame[n])]
    if gone:
        found.append(f"the {'column' if len(gone) == 1 else 'columns'} {', '.join(gone)}")
    return found


def answer_losses(answers: Answers, held: Sequence[str] = ()) -> list[str]:
    """What a format of segments, labels and answers does not hold of the answers, in words."""
    frame = answers.to_frame()
    asked = [name for name in ("annotator", "seconds", "query", *map(str, frame.columns[8:])) if name not in held]
    gone = [name for name in asked if any(texts_of(frame, name))]
    found = [f"the {'column' if len(gone) == 1 else 'columns'} {', '.join(gone)}"] if gone else []
    silent = len(answers.silent)
    return [*found, f"{counted(silent, 'recording')} without answers"] if silent else found


def _blank(column: pd.Series) -> bool:
    return bool((column.isna() | (column.astype(object) == "")).all())


def texts_of(frame: pd.DataFrame, name: str, *, default: str = "") -> list[str]:
    """A column as texts; numbers exactly, missing values empty; the default where there is no such column."""
    if name not in frame:
        return [default] * len(frame)
    column = frame[name]
    if column.dtype.kind == "f":
        return exact(column)
    values = column.tolist()
    if set(map(type, values)) <= {str}:
        return values
    return ["" if value is None or value != value else str(value) for value in values]


def columns_of(frame: pd.DataFrame, *names: str, silent: Sequence[str] = ()) -> list[list[str]]:
    """Columns as texts, below them a row for each recording that is silent, in which all else is empty."""
    more = {name: [""] * len(silent) for name in names} | {"recording": list(silent)}
    return [texts_of(frame, name) + more[name] for name in names]


def extras(frame: pd.DataFrame) -> list[str]:
    """The columns beyond those that every table of events has."""
    return [name for name in frame.columns if name not in COLUMNS]


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


def per_recording(
    events: Events, path: Path, *, ending: str, one: Callable[[pd.DataFrame, str, Path], list[str]], kind: str
) -> list[str]:
    """Write one file per recording into a folder, or the one recording there is into a file."""
    frame = events.to_frame()
    names = [name for name, yes in zip(events.recordings.index, events.recordings["annotated"]) if yes]
    folder = path.is_dir() or (not path.suffix and not path.exists())
    found: list[str] = []
    if not folder:
        if len(names) != 1:
            raise InvalidInput(f"{path}: {kind} holds one recording per file and there are {len(names)}; give a folder")
        name = file_name(names[0], "", [])
        if not path.name.startswith(name) or path.name[len(name) : len(name) + 1] not in (".", ""):
            found.append(f"the recording name {names[0][:60]!r}: the file's own name stands for it")
        return found + one(frame, names[0], path)
    path.mkdir(parents=True, exist_ok=True)
    groups = frame.groupby("recording", sort=False).indices
    nothing = np.empty(0, dtype=np.int64)
    for name in names:
        rows = frame.iloc[groups.get(name, nothing)]
        found += one(rows, name, path / file_name(name, ending, found))
    return list(dict.fromkeys(found))


def as_events(answers: Answers) -> tuple[Events, list[str]]:
    """The segments that were called present, as events; and what that leaves out."""
    frame = answers.to_frame()
    present = (frame["present"] == 1).to_numpy()
    known = frame["onset"].notna().to_numpy()
    found = []
    if (present & ~known).any():
        raise InvalidInput("the answers do not say where their segments are; events need an onset and an offset")
    absent, unsure = int((frame["present"] == 0).sum()), int(frame["present"].isna().sum())
    if absent:
        found.append(f"{counted(absent, 'answer')} 'absent'")
    if unsure:
        found.append(f"{counted(unsure, 'answer')} 'unsure'")
    rows = frame[present].drop(columns=["present"]).reset_index(drop=True)
    lengths: dict[Any, float] = answers.recordings["length"].dropna().to_dict()
    return Events.from_frame(rows, recordings=list(answers.recordings.index), recording_length=lengths), found


def by_answers(write: Callable[[Answers, Path], list[str]]) -> Callable[[Events, Path], list[str]]:
    """The writer of events for a format of answers: labels of whole recordings."""

    def write_events(events: Events, path: Path) -> list[str]:
        answers, found = as_answers(events)
        return found + write(answers, path)

    return write_events


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
    done = [name for name, yes in zip(listing.index, listing["annotated"]) if yes]
    lengths: dict[Any, float] = listing["length"].dropna().to_dict()
    answers = Answers.from_frame(
        table, recordings=done, recording_length={n: v for n, v in lengths.items() if n in done}
    )
    return answers, found


def format_for(path: Path, *, answers: bool) -> Format:
    """The format that a file's name asks for."""
    name = path.name.lower()
    fits = [
        (len(ending), item)
        for item in FORMATS.values()
        for ending in item.endings
        if name.endswith(ending) and (item.write_answers if answers else item.write) is not None
    ]
    if not fits:
        raise InvalidInput(f"{path}: the name does not tell the format; give one of {', '.join(_writable(answers))}")
    longest = max(size for size, _ in fits)
    fits = [fit for fit in fits if fit[0] == longest]
    preferred = ("clips", "dcase-weak") if answers else ("dcase", "csv")
    return min((item for _, item in fits), key=lambda item: (item.name not in preferred, item.name.endswith("weak")))


def _writable(answers: bool) -> list[str]:
    return [item.name for item in FORMATS.values() if (item.write_answers if answers else item.write) is not None]


def write(events: Events | Answers, path: str | os.PathLike[str], format: str | None = None) -> list[str]:
    """Write events or answers to a file, whole or not at all; what comes back is what the format could not hold.

    The same list is given as one AssumptionWarning. Formats that hold one recording per file (Audacity, NIGENS,
    TextGrid, ELAN, JAMS) take a folder, and Raven may. The format is told by the ending of the name (.tsv DCASE, .csv
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
    asked = isinstance(events, Answers)
    item = named(format) if format is not None else format_for(target, answers=asked)
    if asked and item.write_answers is not None:
        found = item.write_answers(events, target)  # type: ignore[arg-type]
    elif item.write is None and item.write_answers is None:
        raise InvalidInput(
            f"format: {item.name} can be read and not written; give one of {', '.join(_writable(asked))}"
        )
    elif asked:
        turned, found = as_events(events)  # type: ignore[arg-type]
        assert item.write is not None
        found = found + item.write(turned, target)
    elif item.write is None:
        turned_answers, found = as_answers(events)  # type: ignore[arg-type]
        assert item.write_answers is not None
        found = found + item.write_answers(turned_answers, target)
    else:
        found = item.write(events, target)  # type: ignore[arg-type]
    if found:
        warnings.warn(f"{target} ({item.name}) does not hold: {'; '.join(found)}", AssumptionWarning, stacklevel=2)
    return found


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def save_json(document: Any, path: Path) -> None:
    """Write a document; what an iterator in it yields (items of a list, pairs of an object) is never held at once."""
    save(path, chain(_json(document), "\n"))


class Pairs(NamedTuple):
    """Keys and values of an object of JSON that are made one by one."""

    items: Iterator[tuple[str, Any]]


def _json(value: Any) -> Iterator[str]:
    if isinstance(value, Pairs):
        items: Iterator[str] = (f"{_encode(key)}: {_encode(item)}" for key, item in value.items)
    elif isinstance(value, Iterator):
        items = map(_encode, value)
    elif isinstance(value, dict) and any(isinstance(item, (Pairs, Iterator, dict)) for item in value.values()):
        for k, (key, item) in enumerate(value.items()):
            yield f"{', ' if k else '{'}{_encode(key)}: "
            yield from _json(item)
        yield "}"
        return
    else:
        yield _encode(value)
        return
    yield "{" if isinstance(value, Pairs) else "["
    for k, text in enumerate(items):
        yield f",\n{text}" if k else text
    yield "}" if isinstance(value, Pairs) else "]"
