"""Parquet: the plain table with its types, compressed; holds everything, through the extra formats (pyarrow)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InvalidInput, optional
from ..events import Answers, Events
from ..files import atomic_write
from .output import silent_recordings
from .plain import LABEL, LENGTH, OFFSET, ONSET, RECORDING
from .registry import Format
from .source import PARQUET, Source, column_of
from .table import Rows, ending, lengths_agree


def sniff(source: Source) -> bool:
    """The four letters that Parquet begins with."""
    return source.data.startswith(PARQUET)


def read(source: Source) -> Rows:
    """The table, whatever its columns are called; a column ``present`` makes it answers."""
    optional("pyarrow", extra="formats")
    try:
        frame = pd.read_parquet(io.BytesIO(source.data))
    except Exception as error:  # pyarrow raises its own kinds of error on broken files
        words = " ".join(str(error).split())[:200]
        raise InvalidInput(f"{source.name}: is not a readable Parquet file: {words}") from error
    names = [str(name) for name in frame.columns]
    frame.columns = pd.Index(names)
    given = source.columns
    wanted = (("recording", RECORDING), ("onset", ONSET), ("offset", OFFSET), ("length", LENGTH), ("label", LABEL))
    found = {key: column_of(names, given[key]) if key in given else column_of(names, *words) for key, words in wanted}
    if found["onset"] is None or (found["offset"] is None and found["length"] is None):
        raise InvalidInput(f"{source.name}: no columns with onsets and offsets; there are {', '.join(names[:30])}")
    n = len(frame)
    onset = _floats(source, frame, found["onset"])
    offset = (
        _floats(source, frame, found["offset"])
        if found["offset"]
        else ending(onset, _floats(source, frame, found["length"]))
    )
    label = frame[found["label"]] if found["label"] else pd.Series([source.label or "event"] * n)
    recording = frame[found["recording"]] if found["recording"] else pd.Series([source.stem()] * n)
    names_ = _texts(recording)
    data: dict[str, Any] = {"recording": names_, "onset": onset, "offset": offset, "label": _texts(label)}
    used = {
        found["recording"],
        found["onset"],
        found["label"],
        found["offset"] or found["length"],
        "recording_length",
        "annotated",
    }
    for name in names:
        if name not in used:
            column = frame[name]
            numeric = column.dtype.kind in "fiub"
            data[name] = column.to_numpy() if numeric else _texts(column)
    rows = Rows(source, data, list(range(1, n + 1)))
    lengths = {}
    if "recording_length" in frame:
        lengths = {k: float(v) for k, v in zip(names_, _floats(source, frame, "recording_length")) if v == v}
    blank = np.isnan(onset) & np.isnan(offset) & label.isna().to_numpy()
    idle = np.zeros(n, dtype=bool)
    if "annotated" in frame:
        idle = blank & ~frame["annotated"].astype(bool).to_numpy()
    rows.unannotated = [name for name, yes in zip(names_, idle) if yes]
    rows.empty = [name for name, yes in zip(names_, blank & ~idle) if yes]
    rows.keep(~blank)
    if rows.weak:
        try:
            data["present"] = np.array([v if v != "" else np.nan for v in data["present"]], dtype=np.float64)
        except ValueError as error:
            raise InvalidInput(f"{source.name}, column 'present': must hold 1, 0 or nothing: {error}") from error
    rows.checked()
    lengths_agree(rows, lengths)
    return rows


def _texts(column: pd.Series) -> list[str]:
    return ["" if value is None or value != value else str(value) for value in column.tolist()]


def _floats(source: Source, frame: pd.DataFrame, name: str | None) -> Any:
    try:
        return frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{source.name}, column {name!r}: must hold seconds: {error}") from error


def _save(frame: pd.DataFrame, path: Path) -> None:
    optional("pyarrow", extra="formats")
    try:
        with atomic_write(path, "wb") as file:
            frame.to_parquet(file, index=False)
    except FileNotFoundError as error:
        raise InvalidInput(f"{path}: there is no folder {path.parent}") from error
    except (ValueError, TypeError, UnicodeError) as error:
        raise InvalidInput(f"{path}: Parquet cannot hold a column: {error}") from error


def _with_others(frame: pd.DataFrame, listing: pd.DataFrame, silent: list[str]) -> pd.DataFrame:
    idle = [name for name, yes in zip(listing.index, listing["annotated"]) if not yes]
    table = frame.copy()
    if silent or idle:
        more = pd.DataFrame({"recording": silent + idle})
        table = pd.concat([table, more], ignore_index=True) if len(table) else more.reindex(columns=frame.columns)
        for name in ("onset", "offset"):
            table[name] = table[name].astype(np.float64)
    if listing["length"].notna().any():
        table["recording_length"] = listing["length"].reindex(table["recording"]).to_numpy()
    if idle:
        table["annotated"] = [True] * (len(table) - len(idle)) + [False] * len(idle)
    return table


def write(events: Events, path: Path) -> list[str]:
    """Everything."""
    _save(_with_others(events.to_frame(), events.recordings, silent_recordings(events)), path)
    return []


def write_answers(answers: Answers, path: Path) -> list[str]:
    """Everything."""
    frame = answers.to_frame()
    silent = [name for name in answers.recordings.index if name not in set(frame["recording"])]
    _save(_with_others(frame, answers.recordings, silent), path)
    return []


HERE = (
    Format("parquet", "Parquet table (needs the extra formats); holds everything", sniff, read, write, write_answers,
           endings=(".parquet", ".pq"), binary=True),
)  # fmt: skip
