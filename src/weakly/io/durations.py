"""How long recordings are and what of them was examined: as files and the caller say, by almost the same names."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..base.errors import AssumptionWarning, InvalidInput
from ..base.results import counted
from ..base.symbols import LONGEST, check, plausible_length
from .addresses import at_hand
from .columns import roles_of
from .source import Source, quoted
from .table import ColumnTable
from .times import times_of
from .vocabulary import UNITS, is_number, normal, numbers, suited

_ENDINGS = "wav|flac|mp3|ogg|opus|aiff?|m4a|mp4|mkv|avi|mov|webm|edf|bdf|mseed|csv|tsv|txt|json|jams|textgrid"


def read_lengths(path: str | Path, *, on_error: str = "raise") -> dict[str, float]:
    """The lengths in seconds of the recordings that a table lists: two columns, or a table with such columns.

    With or without a line of names; tabs, commas or semicolons; a name may be a number. A length that is none is an
    error; with ``on_error="skip"`` its recording is left out.
    """
    with at_hand(path) as (file, address):
        return lengths_in(Source(file, on_error=on_error, called=address))


def lengths_in(source: Source) -> dict[str, float]:
    """The lengths in an open table."""
    table, names, lengths = _length_table(source)
    found: dict[str, float] = {}
    values = numbers(Source(source.path, on_error="collect"), lengths[1], table.lines, lengths[0])
    for name, value, text, line in zip(names, values.tolist(), lengths[1], table.lines):
        if not 0 < value <= LONGEST:
            source.fail(line, "duration", f"{quoted(text)} is not a length in seconds")
            continue
        if name in found and abs(found[name] - value) > 1e-6 * value:
            source.fail(line, "duration", f"{quoted(name)} has another length than before")
            continue
        found[name] = value
    source.ended(table.lines)
    if source.problems:
        source.note(f"{counted(len(source.problems), 'length')} left out")
    for note in source.notes:
        warnings.warn(note, AssumptionWarning, stacklevel=2)
    return found


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


def _length_table(source: Source) -> tuple[ColumnTable, list[str], tuple[str, list[str]]]:
    rows = source.head
    bare = bool(rows) and is_number(re.split(r"[\t,;]", rows[0])[-1]) and len(re.split(r"[\t,;]", rows[0])) == 2
    if bare:
        table = ColumnTable.read(source, names=["filename", "duration"])
        return table, [name.strip() for name in table.columns["filename"]], ("duration", table.columns["duration"])
    if len(source.header) > 1 and not suited(source.header, "onset"):
        table = ColumnTable.read(source)
        name, length = length_columns(table.names)
        if name and length:
            return table, [value.strip() for value in table.columns[name]], (length, table.columns[length])
    raise source.error("recording_length must be seconds, or a file with the columns filename and duration (seconds)")


def read_examined(path: str | Path, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The stretches that were examined: recording, onset, offset (NaN: all of it) and annotator ("": everybody).

    A UEM file, or a table with recording and, if you like, onset and offset and annotator; or with a column for each
    annotator that says which recordings are FINISHED (APLOSE's status table).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.uem"
    ...     _ = path.write_text("a 1 0 10\\na 1 30 40\\n")
    ...     read_examined(path)[["onset", "offset"]].to_numpy().tolist()
    [[0.0, 10.0], [30.0, 40.0]]
    """
    with at_hand(path) as (file, address):
        source = Source(file, columns=dict(columns or {}), called=address)
        found = _examined_in(source)
        for note in source.notes:
            warnings.warn(note, AssumptionWarning, stacklevel=2)
        return found


def _examined_in(source: Source) -> pd.DataFrame:
    from .tracks import read_uem, sniff_uem

    if sniff_uem(source):
        rows = read_uem(source)
        source.ended(rows.places)
        data = rows.data
        made = {name: data[name] for name in ("recording", "onset", "offset")}
        return pd.DataFrame({**made, "annotator": ""})
    table = ColumnTable.read(source)
    source.ended(table.lines)
    named, people = suited(table.names, "recording"), [n for n in table.names if _is_status(table.columns[n])]
    if named and people:  # a column per annotator, as APLOSE tells how far each has come
        done = [(name, who) for who in people for name, word in zip(table.columns[named[0]], table.columns[who])
                if word.strip().lower() in ("finished", "done")]  # fmt: skip
        frame = pd.DataFrame(done, columns=["recording", "annotator"])
        return frame.assign(onset=np.nan, offset=np.nan)[["recording", "onset", "offset", "annotator"]]
    roles = roles_of(table)
    if "recording" not in roles.names:
        raise source.error(
            f"examined must be a UEM file or a table with a column for the recording; there are "
            f"{', '.join(table.names[:12])}"
        )
    names = [value.strip() for value in table.columns[roles.names["recording"]]]
    onset, offset, _ = times_of(table, roles, names)
    wrong = ~((np.isnan(onset) & np.isnan(offset)) | ((onset >= 0) & (offset > onset)))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise InvalidInput(
            f"{source.at(table.lines[i])}: a stretch must end after it starts: {onset[i]:g}, {offset[i]:g}"
        )
    who = table.columns[roles.names["annotator"]] if "annotator" in roles.names else [""] * len(table)
    return pd.DataFrame({"recording": names, "onset": onset, "offset": offset, "annotator": who})


def _is_status(values: Sequence[str]) -> bool:
    said = {value.strip().lower() for value in values}
    return bool(said & {"finished", "done"}) and said <= {"finished", "done", "created", "started", "in progress", ""}


def name_key(name: str) -> str:
    """What stays of a recording's name without its folder, ending and the difference of space and underscore."""
    base = re.split(r"[/\\]", name)[-1]
    return re.sub(rf"\.({_ENDINGS})$", "", base, flags=re.IGNORECASE).replace(" ", "_").strip("_")


def match_lengths(given: Mapping[str, float], names: Iterable[str], notes: list[str]) -> dict[str, float]:
    """The given lengths under the names of the recordings, also where these differ by folder, ending, space or a Y.

    Names that only the lengths know are recordings without events, which is said; if none is known, that is an error.
    """
    given = {str(name).strip(): float(length) for name, length in given.items()}
    keys: dict[str, list[str]] = {}
    for name in given:
        keys.setdefault(name_key(name), []).append(name)
    taken: dict[str, float] = {}
    used: set[str] = set()
    near: list[str] = []
    names = list(names)
    for name in names:
        if name in given:
            taken[name] = given[name]
            used.add(name)
            continue
        key = name_key(name)
        options = keys.get(key) or keys.get("Y" + key) or keys.get(key.removeprefix("Y")) or []
        if len(options) == 1 and options[0] not in used:
            taken[name] = given[options[0]]
            used.add(options[0])
            near.append(name)
    if near:
        notes.append(
            f"{counted(len(near), 'recording')} called almost as in recording_length "
            f"(first {quoted(near[0], most=60)}); taken for the same"
        )
    more = {name: length for name, length in given.items() if name not in used}
    if names and more and not used:
        raise InvalidInput(
            f"recording_length: none of its {len(given)} names is that of a recording (first "
            f"{quoted(next(iter(given)), most=60)}; the first recording is {quoted(names[0], most=60)})"
        )
    if more:
        notes.append(
            f"{counted(len(more), 'recording')} only in recording_length (first {quoted(next(iter(more)), most=60)}): "
            "taken as annotated, nothing there"
        )
    return {**taken, **more}


def asked_length(value: Any, on_error: str = "raise") -> float | Mapping[str, float] | None:
    """The length that the caller gave: seconds for all, by name, or read from a file."""
    if value is None or isinstance(value, Mapping):
        return value
    if isinstance(value, (str, os.PathLike)):
        try:
            return plausible_length("recording_length", float(check("recording_length", float(os.fspath(value)))))
        except ValueError as error:
            if isinstance(error, InvalidInput):
                raise
            return read_lengths(os.fspath(value), on_error="skip" if "skip" in on_error else "raise")
    return plausible_length("recording_length", float(check("recording_length", value)))
