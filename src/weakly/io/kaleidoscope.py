"""Kaleidoscope: detections of bats and birds, with what a person made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..model.events import Events
from .output import delimited, exact, inexact, losses, save, texts_of
from .registry import Format
from .source import Source
from .table import ColumnTable, TextRows
from .times import duration, ending


def sniff(source: Source) -> bool:
    """The names of Kaleidoscope's columns."""
    return {"in file", "offset", "duration"} <= source.names and bool(
        {"top1match", "auto id", "manual id"} & source.names
    )


def read(source: Source) -> TextRows:
    """The detections; what a person typed (MANUAL ID) goes before the match; rows without a species are empty."""
    table = ColumnTable.read(source)
    names = [name for name in (table.find("MANUAL ID"), table.find("TOP1MATCH", "AUTO ID")) if name]
    label = [next((v for v in row if v.strip()), "") for row in zip(*(table.columns[name] for name in names))]
    score = table.find("TOP1DIST", "TOP1MATCHDIST")
    file, start, length = table.need("IN FILE"), table.need("OFFSET"), table.need("DURATION")
    onset = table.numbers(start)
    data: dict[str, Any] = {"recording": table.columns[file], "onset": onset,
                            "offset": ending(onset, table.numbers(length)), "label": label}  # fmt: skip
    if score:
        data["confidence"] = table.numbers(score)
    data.update(table.others(file, start, length, score, *names, "INDIR", "FOLDER"))
    rows = TextRows(source, data, table.lines)
    none = np.array([not value for value in label], dtype=bool)
    rows.empty = [name for name, out in zip(table.columns[file], none) if out]
    rows.blank = {table.lines[i] for i in np.flatnonzero(none).tolist()}
    if none.any():
        source.note(f"{source.name}: {int(none.sum())} rows name no species and are read as nothing found")
    rows.keep(~none)
    told = (
        f"recording = {file} ({len(set(table.columns[file]))}), label = {' or '.join(names)} ({len(set(label) - {''})})"
    )
    return rows.checked().say(f"{told}, time = {start} + {length} in seconds")


def write(events: Events, path: Path) -> list[str]:
    """Offsets, durations and matches."""
    frame = events.to_frame()
    none = [""] * len(frame)
    lengths = exact(duration(frame["onset"], frame["offset"]))
    columns = [none, none, texts_of(frame, "recording"), exact(frame["onset"]), lengths, texts_of(frame, "label")]
    save(
        path, delimited(columns, delimiter=",", names=("INDIR", "FOLDER", "IN FILE", "OFFSET", "DURATION", "TOP1MATCH"))
    )
    found = losses(events, empty=False) + inexact(frame["onset"], frame["offset"])
    return [*found, "events with an empty label"] if "" in events.labels else found


READERS = (Format("kaleidoscope", "Kaleidoscope CSV (IN FILE, OFFSET, DURATION, TOP1MATCH)", sniff, read, write),)
