"""Tables of clips: one answer a row (file, start_time, end_time, annotation yes/no/uncertain) or a column a class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..events import Answers, Events
from .vocabulary import WORDS
from .output import as_answers, count, delimited, exact, save, texts_of
from .registry import Format
from .source import Source, quoted
from .table import Rows, Table, lengths_agree

_TIMES = ("file", "start_time", "end_time")


def sniff(source: Source) -> bool:
    """The names of a clip table, and nothing but yes, no, uncertain and empty under ``annotation``."""
    return {"file", "annotation"} <= source.names and {"start_time", "end_time"} <= source.names and _words_only(source)


def _words_only(source: Source) -> bool:
    names = [name.lower() for name in source.header]
    at = names.index("annotation")
    rows, _ = source.rows(source.delimiter)
    said = {row[at].strip().lower() for row in rows[1:] if len(row) > at}
    return said <= {"", *WORDS}


def read(source: Source) -> Rows:
    """The answers; a clip without an annotation has not been answered yet and is passed over."""
    table = Table.read(source)
    file, start, end, said = (table.need(name) for name in (*_TIMES, "annotation"))
    label, person = table.find("label"), table.find("annotator")
    seconds, query = table.find("seconds", "lead_time"), table.find("query", "query_id")
    values = [value.strip().lower() for value in table.columns[said]]
    known = np.array([WORDS.get(value, np.inf) for value in values], dtype=np.float64)
    todo = np.array([not value for value in values], dtype=bool)
    for i in np.flatnonzero(np.isinf(known) & ~todo).tolist():
        source.fail(table.lines[i], said, f"{quoted(values[i])} must be yes, no, uncertain or empty")
    data: dict[str, Any] = {
        "recording": table.columns[file],
        "onset": table.numbers(start),
        "offset": table.numbers(end),
        "label": table.columns[label] if label else [source.label or "event"] * len(table),
        "present": known,
        "annotator": table.columns[person] if person else [""] * len(table),
        "seconds": table.numbers(seconds) if seconds else np.full(len(table), np.nan),
        "query": table.columns[query] if query else [""] * len(table),
    }
    length = table.find("recording_length")
    data.update(table.others(file, start, end, said, label, person, seconds, query, length))
    if "comments" in data and not any(data["comments"]):
        del data["comments"]
    rows = Rows(source, data, table.lines)
    # A row without a segment names a recording that was looked at; one with a segment waits for its answer.
    named = np.isnan(data["onset"]) & np.isnan(data["offset"]) & todo
    rows.empty = [name for name, yes in zip(table.columns[file], named) if yes]
    waiting = int((todo & ~named).sum())
    if waiting:
        source.note(f"{source.name}: {waiting} clips are not answered yet and are left out")
    lengths = {}
    if length:
        lengths = {n: float(v) for n, v in zip(table.columns[file], table.numbers(length)) if np.isfinite(v)}
    rows.keep(~np.isinf(known))
    rows.checked()
    lengths_agree(rows, lengths)
    return rows


def write_answers(answers: Answers, path: Path) -> list[str]:
    """Everything that the answers hold."""
    frame, listing = answers.to_frame(), answers.recordings
    silent = [name for name in listing.index if name not in set(frame["recording"])]
    none = [""] * len(silent)
    said = ["yes" if v == 1 else "no" if v == 0 else "uncertain" for v in frame["present"]]
    names = [
        "file",
        "start_time",
        "end_time",
        "annotation",
        "label",
        "annotator",
        "seconds",
        "query",
        *map(str, frame.columns[8:]),
    ]
    columns = [
        texts_of(frame, "recording") + silent,
        exact(frame["onset"]) + none,
        exact(frame["offset"]) + none,
        said + none,
        *(texts_of(frame, name) + none for name in ("label", "annotator", "seconds", "query", *frame.columns[8:])),
    ]
    if listing["length"].notna().any():
        names.append("recording_length")
        columns.append(exact(listing["length"].reindex(columns[0])))
    save(path, delimited(columns, delimiter=",", names=names))
    other = [str(name) for name in frame.columns[8:] if frame[name].dtype.kind in "fiub"]
    return [f"that the columns {', '.join(other)} hold numbers: they read back as text"] if other else []


def write(events: Events, path: Path) -> list[str]:
    """The labels of whole recordings."""
    answers, found = as_answers(events)
    return found + write_answers(answers, path)


_BITS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "false": 0.0, "true": 1.0, "": np.nan}


def sniff_wide(source: Source) -> bool:
    """File and times, and behind them only columns of 0, 1 and empty."""
    names = [name.lower() for name in source.header]
    if names[:3] != list(_TIMES) or len(names) < 4 or len(source.head) < 2:
        return False
    rows = [line.split(source.delimiter) for line in source.head[1:]]
    return all(len(row) == len(names) and all(field.strip().lower() in _BITS for field in row[3:]) for row in rows)


def read_wide(source: Source) -> Rows:
    """The answers of a table with one column per class."""
    table = Table.read(source)
    classes = [name for name in table.names if name.lower() not in _TIMES]
    file, start, end = (table.need(name) for name in _TIMES)
    n, k = len(table), len(classes)
    present = np.full((n, k), np.inf)
    for j, name in enumerate(classes):
        for i, value in enumerate(table.columns[name]):
            known = _BITS.get(value.strip().lower())
            if known is None:
                source.fail(table.lines[i], name, f"{quoted(value)} must be 0, 1 or empty")
            else:
                present[i, j] = known
    row = np.repeat(np.arange(n), k)
    data = {
        "recording": [table.columns[file][i] for i in row],
        "onset": table.numbers(start)[row],
        "offset": table.numbers(end)[row],
        "label": classes * n,
        "present": present.ravel(),
    }
    rows = Rows(source, data, [table.lines[i] for i in row.tolist()])
    rows.keep(~np.isinf(present.ravel()))
    return rows.checked()


def write_wide(answers: Answers, path: Path) -> list[str]:
    """One row per segment, one column per class."""
    frame = answers.to_frame()
    labels = [str(label) for label in frame["label"].drop_duplicates()]
    said: dict[tuple[str, str, str], dict[str, str]] = {}
    twice = 0
    for *key, label, value in zip(
        texts_of(frame, "recording"),
        texts_of(frame, "onset"),
        texts_of(frame, "offset"),
        frame["label"],
        frame["present"],
    ):
        row = said.setdefault((key[0], key[1], key[2]), {})
        twice += label in row
        row[label] = "1" if value == 1 else "0" if value == 0 else ""
    columns = [list(column) for column in zip(*said)] if said else [[], [], []]
    columns += [[row.get(label, "") for row in said.values()] for label in labels]
    save(path, delimited(columns, delimiter=",", names=[*_TIMES, *labels]))
    gone = [str(name) for name in ("annotator", "seconds", "query", *frame.columns[8:]) if any(texts_of(frame, name))]
    found = [f"the columns {', '.join(gone)}"] if gone else []
    if twice:
        found.append(f"{count(twice, 'answer')} about a segment and label that another annotator also answered")
    silent = len(answers.recordings) - frame["recording"].nunique()
    return [*found, f"{count(silent, 'recording')} without answers"] if silent else found


HERE = (
    Format("clips", "clip table (file, start_time, end_time, annotation yes/no/uncertain)", sniff, read, write,
           write_answers, endings=(".csv",)),
    Format("clips-wide", "clip table with one column of 0/1 per class (file, start_time, end_time, classes)",
           sniff_wide, read_wide, None, write_wide),
)  # fmt: skip
