"""Tables of particular data sets: laughter (wide rows), SALAMI (boundaries), STEAD (samples), Charades (lists)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .output import count
from .registry import Format
from .source import Source, quoted
from .table import ColumnTable, TextRows, lengths_agree
from .times import is_number, numbers

_PAIR = re.compile(r"^start(\.\d+)?$")


def sniff_wide(source: Source) -> bool:
    """Columns Start, End, Start.1, End.1, ..."""
    return {"start", "end", "start.1", "end.1"} <= source.names


def read_wide(source: Source) -> TextRows:
    """Several events per row; ``0 0`` or nothing at all is a recording without events.

    Recordings that a spreadsheet has called ``#NAME?`` cannot be told apart by name, so each is called by its line.
    """
    table = ColumnTable.read(source)
    file = table.need("FileID", "file", "filename", "recording")
    damaged = [i for i, name in enumerate(table.columns[file]) if name.startswith("#")]
    recording = list(table.columns[file])
    for i in damaged:
        recording[i] = f"{recording[i]} (line {table.lines[i]})"
    if damaged:
        told, line = quoted(table.columns[file][damaged[0]]), table.lines[damaged[0]]
        lost = f"{count(len(damaged), 'recording')} lost their names to a spreadsheet"
        source.note(f"{source.name}: {lost} ({told}, first in line {line}); each is called by its line")
    starts = [name for name in table.names if _PAIR.match(name.lower())]
    ends = [table.need("end" + name[len("start") :]) for name in starts]
    onset = np.column_stack([table.numbers(name) for name in starts])
    offset = np.column_stack([table.numbers(name) for name in ends])
    used = ~(np.isnan(onset) & np.isnan(offset)) & ~((onset == 0) & (offset == 0))
    row, column = np.nonzero(used)
    person = table.find("annotator")
    data: dict[str, Any] = {
        "recording": [recording[i] for i in row],
        "onset": onset[row, column],
        "offset": offset[row, column],
        "label": [source.label or "event"] * len(row),
    }
    if person:
        data["annotator"] = [table.columns[person][i] for i in row]
    rows = TextRows(source, data, [table.lines[i] for i in row.tolist()])
    none = ~used.any(axis=1)
    rows.empty = [recording[i] for i in np.flatnonzero(none).tolist()]
    rows.blank = {table.lines[i] for i in np.flatnonzero(none).tolist()}
    rows.checked().say(
        f"recording = {file} ({len(set(recording))}), no column names a label, time = {starts[0]} to {ends[0]}, ..."
    )
    length = table.find("audio_length", "duration", "recording_length")
    if length:
        known = table.numbers(length)
        lengths_agree(rows, {n: float(v) for n, v in zip(recording, known) if np.isfinite(v)})
    return rows


def sniff_boundaries(source: Source) -> bool:
    """A song, an annotator, a time and a label, and no end."""
    return {"song_id", "time", "label"} <= source.names and "end" not in source.names


def read_boundaries(source: Source) -> TextRows:
    """Each boundary opens a segment that the next one of the same song and annotator closes.

    A boundary at the same time as the next has no length of its own and is passed over, with a note.
    """
    table = ColumnTable.read(source)
    song, label, person = table.need("song_id"), table.need("label"), table.find("annotator")
    time = table.numbers(table.need("time"))
    annotator = table.columns[person] if person else [""] * len(table)
    level = table.columns["level"] if "level" in table.columns else [""] * len(table)
    keys = list(zip(table.columns[song], annotator, level))
    codes = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    group = np.array([codes[key] for key in keys], dtype=np.int64)
    order = np.lexsort((np.arange(len(time)), group))
    here, after = order[:-1], order[1:]
    inside = group[here] == group[after]
    here, after = here[inside], after[inside]
    repeated = time[here] == time[after]
    if repeated.any():
        n = int(repeated.sum())
        source.note(
            f"{source.name}: {n} boundaries are repeated at the same time; their labels have no length of their own"
        )
    here, after = here[~repeated], after[~repeated]
    closing = set(range(len(time))) - set(here.tolist())
    data: dict[str, Any] = {
        "recording": [table.columns[song][i] for i in here],
        "onset": time[here],
        "offset": time[after],
        "label": [table.columns[label][i] for i in here],
        "annotator": [annotator[i] for i in here],
    }
    rows = TextRows(source, data, [table.lines[i] for i in here])
    rows.empty = list(dict.fromkeys(table.columns[song]))
    rows.merged["boundaries that only close a segment"] = {table.lines[i] for i in closing}
    n, k = len(set(table.columns[song])), len(set(data["label"]))
    return rows.checked().say(f"recording = {song} ({n}), label = {label} ({k}), time = from boundary to boundary")


_STEAD_RATE, _STEAD_LENGTH = 100.0, 60.0  # samples per second and seconds, the same for every trace of the data set


def sniff_stead(source: Source) -> bool:
    """The names of STEAD's columns."""
    return {"p_arrival_sample", "coda_end_sample", "trace_name"} <= source.names


def read_stead(source: Source) -> TextRows:
    """Each trace's earthquake, from the P arrival to the end of the coda; noise traces are empty."""
    table = ColumnTable.read(source)
    trace, kind = table.need("trace_name"), table.find("trace_category")
    first = table.numbers(table.need("p_arrival_sample")) / _STEAD_RATE
    coda = table.need("coda_end_sample")
    last = numbers(source, [value.strip("[] ") for value in table.columns[coda]], table.lines, coda) / _STEAD_RATE
    recording = table.columns[trace]
    data: dict[str, Any] = {
        "recording": list(recording),
        "onset": first,
        "offset": last,
        "label": list(table.columns[kind]) if kind else ["earthquake"] * len(table),
    }
    rows = TextRows(source, data, table.lines)
    none = np.isnan(first) & np.isnan(last)
    rows.empty = [name for name, out in zip(recording, none) if out]
    rows.blank = {table.lines[i] for i in np.flatnonzero(none).tolist()}
    rows.keep(~none)
    rows.checked().say(
        f"recording = {trace} ({len(set(recording))}), label = {kind}, time = samples at {_STEAD_RATE:g} Hz"
    )
    lengths_agree(rows, dict.fromkeys(recording, _STEAD_LENGTH))
    return rows


_ACTION = re.compile(r"^\s*(\S+)\s+([\d.]+)\s+([\d.]+)\s*$")


def sniff_charades(source: Source) -> bool:
    """An id, a length, and a column of actions."""
    return {"id", "actions", "length"} <= source.names


def read_charades(source: Source) -> TextRows:
    """The actions of each video, ``c092 11.90 21.20;c147 0.00 12.60`` in one cell; an empty cell is an empty video."""
    table = ColumnTable.read(source)
    video, actions, length = table.need("id"), table.need("actions"), table.need("length")
    found: list[tuple[str, float, float, str]] = []
    places: list[int | str] = []
    rows = TextRows(source, {}, places)
    for name, text, line in zip(table.columns[video], table.columns[actions], table.lines):
        if not text.strip():
            rows.empty.append(name)
            rows.blank.add(line)
        for part in filter(str.strip, text.split(";")):
            match = _ACTION.match(part)
            if match is None or not (is_number(match[2]) and is_number(match[3])):
                source.fail(line, actions, f"{quoted(part)} is not a class, a start and an end")
                continue
            found.append((name, float(match[2]), float(match[3]), match[1]))
            places.append(line)
    columns = list(zip(*found)) if found else [(), (), (), ()]
    rows.data = {"recording": list(columns[0]), "label": list(columns[3]), "onset": np.array(columns[1], np.float64),
                 "offset": np.array(columns[2], np.float64)}  # fmt: skip
    rows.checked()
    known = {n: float(v) for n, v in zip(table.columns[video], table.numbers(length)) if np.isfinite(v) and v > 0}
    rows.lengths = known
    n, k = len(set(table.columns[video])), len(set(rows.data["label"]))
    return rows.say(f"recording = {video} ({n}), label = {actions} ({k}), recording_length = {length}")


READERS = (
    Format("charades", "Charades CSV (id, actions, length)", sniff_charades, read_charades),
    Format("wide", "wide rows (FileID, Start, End, Start.1, End.1, ...)", sniff_wide, read_wide),
    Format("boundaries", "SALAMI boundaries (song_id, annotator, time, label)", sniff_boundaries, read_boundaries),
    Format("stead", "STEAD metadata (p_arrival_sample, coda_end_sample, trace_name)", sniff_stead, read_stead),
)
