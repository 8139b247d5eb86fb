"""BirdNET's results: the CSV table, and the one in the style of Kaleidoscope. (Its Raven tables are Raven's.)"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..events import Events
from .output import delimited, duration, exact, inexact, losses, save, texts_of
from .registry import Format
from .source import Source
from .table import Rows, Table, ending

_NAMES = ("Start (s)", "End (s)", "Scientific name", "Common name", "Confidence", "File")
_ENDING = (r"\.BirdNET\.results(\.\w+)?\.csv$", r"\.csv$")


def sniff(source: Source) -> bool:
    """The names of BirdNET's columns."""
    return {"start (s)", "end (s)", "common name", "confidence"} <= source.names


def read(source: Source) -> Rows:
    """The detections; the label is the common name."""
    table = Table.read(source)
    start, end, common = table.need("Start (s)"), table.need("End (s)"), table.need("Common name")
    latin, score, file = table.find("Scientific name"), table.need("Confidence"), table.find("File")
    own = source.stem(*_ENDING)
    data = {
        "recording": [name or own for name in table.columns[file]] if file else [own] * len(table),
        "onset": table.numbers(start),
        "offset": table.numbers(end),
        "label": table.columns[common],
        "confidence": table.numbers(score),
    }
    if latin:
        data["scientific_name"] = table.columns[latin]
    data.update(table.others(start, end, common, latin, score, file))
    rows = Rows(source, data, table.lines)
    if not len(table):
        rows.empty.append(own)
    return rows.checked()


def write(events: Events, path: Path) -> list[str]:
    """The detections as BirdNET writes them."""
    frame = events.to_frame()
    texts = [texts_of(frame, name) for name in ("scientific_name", "label", "confidence", "recording")]
    columns = [exact(frame["onset"]), exact(frame["offset"]), *texts]
    save(path, delimited(columns, delimiter=",", names=_NAMES))
    return losses(events, empty=False, extra=("confidence", "scientific_name"))


_KALEIDOSCOPE = ("INDIR", "FOLDER", "IN FILE", "OFFSET", "DURATION", "TOP1MATCH")


def sniff_kaleidoscope(source: Source) -> bool:
    """The names of Kaleidoscope's columns."""
    return {"in file", "offset", "duration"} <= source.names and bool(
        {"top1match", "manual id", "auto id"} & source.names
    )


def read_kaleidoscope(source: Source) -> Rows:
    """The detections; what a person typed (MANUAL ID) goes before the match."""
    table = Table.read(source)
    file, start, length = table.need("IN FILE"), table.need("OFFSET"), table.need("DURATION")
    names = [name for name in (table.find("MANUAL ID"), table.find("TOP1MATCH", "AUTO ID")) if name]
    columns = [table.columns[name] for name in names]
    label = [next((value for value in row if value.strip()), "") for row in zip(*columns)]
    onset = table.numbers(start)
    data = {
        "recording": table.columns[file],
        "onset": onset,
        "offset": ending(onset, table.numbers(length)),
        "label": label,
    }
    score = table.find("TOP1DIST", "TOP1MATCHDIST")
    if score:
        data["confidence"] = table.numbers(score)
    data.update(table.others(file, start, length, score, *names, "INDIR", "FOLDER"))
    none = np.array([not value for value in label], dtype=bool)
    rows = Rows(source, data, table.lines)
    rows.empty = [name for name, out in zip(table.columns[file], none) if out]
    if none.any():
        source.note(f"{source.name}: {int(none.sum())} rows name no species and are read as nothing found")
    rows.keep(~none)
    return rows.checked()


def write_kaleidoscope(events: Events, path: Path) -> list[str]:
    """Offsets, durations and matches."""
    frame = events.to_frame()
    none = [""] * len(frame)
    lengths = exact(duration(frame["onset"], frame["offset"]))
    columns = [none, none, texts_of(frame, "recording"), exact(frame["onset"]), lengths, texts_of(frame, "label")]
    save(path, delimited(columns, delimiter=",", names=_KALEIDOSCOPE))
    found = losses(events, empty=False) + inexact(frame["onset"], frame["offset"])
    if "" in events.labels:
        found.append("events with an empty label")
    return found


HERE = (
    Format("birdnet", "BirdNET CSV (Start (s), End (s), Scientific name, Common name, Confidence, File)", sniff, read,
           write),
    Format("kaleidoscope", "Kaleidoscope CSV (IN FILE, OFFSET, DURATION, TOP1MATCH)", sniff_kaleidoscope,
           read_kaleidoscope, write_kaleidoscope),
)  # fmt: skip
