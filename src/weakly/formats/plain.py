"""Plain tables, CSV or TSV with a line of names: recording, onset, offset or length, label, and whatever else there is.

Our own table of this kind holds everything: empty recordings as rows without times, lengths, what was not annotated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..events import Events
from .output import delimited, exact, extras, save, silent_recordings, texts_of
from .registry import Format
from .source import Source, column_of, quoted
from .table import Rows, Table, ending, lengths_agree

RECORDING = (
    "recording", "filename", "file", "file_name", "audio_filename", "audiofilename", "audio_file", "notated_path",
    "wav", "path", "audio_path", "uri", "clip", "begin file", "in file", "fileid", "file_id", "id",
)  # fmt: skip
ONSET = (
    "onset", "onset_s", "start", "start_s", "start (s)", "start_time", "start_time_seconds", "starttime", "begin",
    "begin_time", "begin time (s)", "begin (s)", "event_onset", "onset_ms", "start_ms", "start (ms)",
)  # fmt: skip
OFFSET = (
    "offset", "offset_s", "end", "end_s", "end (s)", "end_time", "end_time_seconds", "endtime", "stop", "stop_s",
    "end time (s)", "event_offset", "offset_ms", "end_ms", "end (ms)",
)  # fmt: skip
LENGTH = ("length", "duration", "duration_s", "length_s", "duration (s)", "length (s)", "duration_ms", "length_ms")
LABEL = (
    "class_name",
    "event_label",
    "label",
    "class",
    "annotation",
    "species",
    "common name",
    "tag",
    "name",
    "category",
)
KNOWN = ("recording", "onset", "offset", "length", "label", "annotator", "confidence", "recording_length", "annotated")


def _mapped(source: Source, names: list[str]) -> dict[str, str]:
    """Which column is which: what the caller said, else what the names say."""
    given = source.columns
    for key, name in given.items():
        if key not in KNOWN:
            raise InvalidInput(f"columns: {quoted(key)} must be one of {', '.join(KNOWN)}")
        if column_of(names, name) is None:
            raise InvalidInput(f"{source.name}: columns: no column {quoted(name)}; there are {', '.join(names[:30])}")
    found = {key: column_of(names, name) or "" for key, name in given.items()}
    guesses = (("recording", RECORDING), ("onset", ONSET), ("offset", OFFSET), ("length", LENGTH), ("label", LABEL),
               ("annotator", ("annotator",)), ("confidence", ("confidence",)),
               ("recording_length", ("recording_length",)), ("annotated", ("annotated",)))  # fmt: skip
    for key, words in guesses:
        if key in found or (key == "offset" and "length" in given) or (key == "length" and "offset" in found):
            continue
        free = [name for name in names if name not in found.values()]
        guess = column_of(free, *words)
        if guess is not None:
            found[key] = guess
    return found


def sniff(source: Source) -> bool:
    """A line of names with an onset and an offset or length, or the columns that the caller named."""
    names = source.header
    if len(names) < 2 or (source.columns and all(column_of(names, name) for name in source.columns.values())):
        return len(names) > 1 and bool(source.columns)
    return column_of(names, *ONSET) is not None and column_of(names, *OFFSET, *LENGTH) is not None


def _scale(name: str) -> float:
    return 1e-3 if name.lower().endswith(("_ms", "(ms)")) else 1.0


def read(source: Source) -> Rows:
    """The rows of a table with named columns."""
    table = Table.read(source)
    names = _mapped(source, table.names)
    for key in ("onset", "offset"):
        if key not in names and not (key == "offset" and "length" in names):
            there = ", ".join(f"{word}={name}" for word, name in names.items())
            raise InvalidInput(f"{source.name}: no column for {key} among {', '.join(table.names[:30])} ({there})")
    return rows_of(table, names)


def rows_of(table: Table, names: dict[str, str]) -> Rows:
    """The rows of a table whose columns are known; a row without times and label is an empty recording."""
    source = table.source
    end = names.get("offset") or names["length"]
    onset = table.numbers(names["onset"], scale=_scale(names["onset"]))
    offset = table.numbers(end, scale=_scale(end))
    if _scale(end) != 1.0 or _scale(names["onset"]) != 1.0:
        source.note(f"{source.name}: {quoted(names['onset'])} says milliseconds; read as such")
    if "offset" not in names:
        offset = ending(onset, offset)
    label = table.columns[names["label"]] if "label" in names else [source.label or "event"] * len(table)
    if "recording" in names:
        recording = table.columns[names["recording"]]
    else:
        recording = [source.stem()] * len(table)
    blank = table.nothing(onset, offset, names.get("label"))
    data: dict[str, Any] = {"recording": list(recording), "onset": onset, "offset": offset, "label": list(label)}
    if "annotator" in names:
        data["annotator"] = table.columns[names["annotator"]]
    if "confidence" in names:
        data["confidence"] = table.numbers(names["confidence"])
    data.update({name: values for name, values in table.others(*names.values()).items() if name not in data})
    if "weak_column" in data and set(data["weak_column"]) <= {"True", "False", ""}:
        data["weak"] = np.array([value == "True" for value in data.pop("weak_column")], dtype=bool)
    rows = Rows(source, data, table.lines)
    idle = set()
    if "annotated" in names:
        yes = table.columns[names["annotated"]]
        idle = {n for n, value, none in zip(recording, yes, blank) if none and value.lower() in ("false", "no", "0")}
        rows.unannotated = sorted(idle)
    lengths = {}
    if "recording_length" in names:
        known = table.numbers(names["recording_length"])
        lengths = {n: float(v) for n, v in zip(recording, known) if v == v}
    rows.empty += [n for n, none in zip(recording, blank) if none and n not in idle]
    if not len(table) and "recording" not in names:
        rows.empty.append(source.stem())
    rows.keep(~blank)
    rows.checked()
    lengths_agree(rows, lengths)
    return rows


def _write(events: Events, path: Path, delimiter: str) -> list[str]:
    frame, listing = events.to_frame(), events.recordings
    lost: list[str] = []
    silent = silent_recordings(events)
    idle = [name for name, yes in zip(listing.index, listing["annotated"]) if not yes]
    more = len(silent) + len(idle)
    names = ["recording", "onset", "offset", "label"]
    columns = [
        texts_of(frame, "recording") + silent + idle,
        exact(frame["onset"]) + [""] * more,
        exact(frame["offset"]) + [""] * more,
        texts_of(frame, "label") + [""] * more,
    ]
    for name in ("annotator", "confidence", *extras(frame)):
        if name in frame:
            names.append(str(name))
            columns.append(texts_of(frame, name) + [""] * more)
            if frame[name].dtype.kind in "fiucmM" and name != "confidence":
                lost.append(f"that the column {name} holds {frame[name].dtype}: it reads back as text")
    if listing["length"].notna().any():
        names.append("recording_length")
        columns.append(exact(listing["length"].reindex(columns[0])))
    if idle:
        names.append("annotated")
        columns.append(["True"] * (len(frame) + len(silent)) + ["False"] * len(idle))
    save(path, delimited(columns, delimiter=delimiter, names=names))
    return lost


def write_csv(events: Events, path: Path) -> list[str]:
    """Everything, separated by commas."""
    return _write(events, path, ",")


def write_tsv(events: Events, path: Path) -> list[str]:
    """Everything, separated by tabs."""
    return _write(events, path, "\t")


HERE = (
    Format("csv", "plain table, comma separated, with named columns; holds everything",
           lambda s: sniff(s) and s.delimiter != "\t", read, write_csv, endings=(".csv",)),
    Format("tsv", "plain table, tab separated, with named columns; holds everything",
           lambda s: sniff(s) and s.delimiter == "\t", read, write_tsv, endings=(".tsv",)),
)  # fmt: skip
