"""Audacity label tracks: start, end, label, separated by tabs; a line ``\\ low high`` adds frequencies to the last.

NIGENS text files are the same without the label: two numbers per line, and the class is the name of the folder.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ..events import Events
from .output import count, exact, losses, per_recording, plain_fields, save, texts_of
from .registry import Format, is_number
from .source import Source
from .table import Rows, numbers

_ENDING = (r"\.BirdNET\.results\.txt$", r"\.audacity\.txt$", r"\.labels\.txt$", r"\.txt$")


def sniff(source: Source) -> bool:
    """Rows of two numbers and a text, separated by tabs."""
    rows = [line.split("\t") for line in source.head if not line.startswith("\\\t")]
    return bool(rows) and all(len(row) in (3, 4) and is_number(row[0]) and is_number(row[1]) for row in rows)


def read(source: Source) -> Rows:
    """The labels of one track; the file's name stands for the recording."""
    start: list[str] = []
    end: list[str] = []
    label: list[str] = []
    score: list[str] = []
    places: list[int | str] = []
    bands: dict[int, tuple[str, str]] = {}
    for line, text in source.lines():
        fields = text.split("\t")
        if fields[0] == "\\":
            if len(fields) != 3 or not places or len(places) - 1 in bands:
                source.fail(line, "", "a line of frequencies needs two numbers and stands below its label")
            else:
                bands[len(places) - 1] = (fields[1], fields[2])
            continue
        if len(fields) < 2 or len(fields) > 4:
            source.fail(line, "", f"has {len(fields)} fields; a label is start, end and text, separated by tabs")
            continue
        start.append(fields[0])
        end.append(fields[1])
        label.append(fields[2] if len(fields) > 2 else source.label or "event")
        score.append(fields[3] if len(fields) > 3 else "")
        places.append(line)
    recording = source.stem(*_ENDING)
    data = {
        "recording": [recording] * len(places),
        "onset": numbers(source, start, places, "start"),
        "offset": numbers(source, end, places, "end"),
        "label": label,
    }
    if any(score):
        data["confidence"] = numbers(source, score, places, "confidence")
    if bands:
        for name, k in (("low_frequency", 0), ("high_frequency", 1)):
            data[name] = numbers(source, [bands.get(i, ("", ""))[k] for i in range(len(places))], places, name)
    rows = Rows(source, data, places)
    if not places:
        rows.empty.append(recording)
    return rows.checked()


def _one(frame: pd.DataFrame, name: str, path: Path) -> list[str]:
    found: list[str] = []
    labels = plain_fields(texts_of(frame, "label"), found, "labels")
    low, high = texts_of(frame, "low_frequency"), texts_of(frame, "high_frequency")
    lines = []
    for row in zip(exact(frame["onset"]), exact(frame["offset"]), labels, low, high):
        lines.append("\t".join(row[:3]) + "\n")
        if row[3] and row[4]:
            lines.append(f"\\\t{row[3]}\t{row[4]}\n")
    save(path, lines)
    return found


def write(events: Events, path: Path) -> list[str]:
    """One track per recording; an empty file is an empty recording."""
    found = losses(events, empty=True, extra=("low_frequency", "high_frequency"))
    return found + per_recording(events, path, ending=".txt", one=_one, kind="Audacity")


def sniff_pairs(source: Source) -> bool:
    """Rows of two numbers."""
    rows = [line.split() for line in source.head]
    return bool(rows) and all(len(row) == 2 and is_number(row[0]) and is_number(row[1]) for row in rows)


def read_pairs(source: Source) -> Rows:
    """The events of one NIGENS file: its class is the folder's name."""
    kept = []
    for line, text in source.lines():
        fields = text.split()
        if len(fields) != 2:
            source.fail(line, "", f"has {len(fields)} fields; a NIGENS line is start and end")
        else:
            kept.append((line, fields))
    places: list[int | str] = [line for line, _ in kept]
    recording = source.stem(r"\.txt$")
    data = {
        "recording": [recording] * len(kept),
        "onset": numbers(source, [fields[0] for _, fields in kept], places, "start"),
        "offset": numbers(source, [fields[1] for _, fields in kept], places, "end"),
        "label": [source.label or source.path.resolve().parent.name or "event"] * len(kept),
    }
    rows = Rows(source, data, places)
    if not kept:
        rows.empty.append(recording)
    return rows.checked()


def write_pairs(events: Events, path: Path) -> list[str]:
    """One file of starts and ends per recording."""

    def one(frame: pd.DataFrame, name: str, target: Path) -> list[str]:
        save(target, [f"{a} {b}\n" for a, b in zip(exact(frame["onset"]), exact(frame["offset"]))])
        return []

    found = losses(events, empty=True, label=False)
    folder = path if path.is_dir() or not path.suffix else path.parent
    if events.labels == [folder.resolve().name]:
        found = [words.replace("the column label", "") for words in found if words != "the column label"]
    elif len(events.labels) > 1:
        found.append(f"which of {count(len(events.labels), 'label')} an event has")
    return found + per_recording(events, path, ending=".txt", one=one, kind="NIGENS")


HERE = (
    Format("audacity", "Audacity label track (start, end, label)", sniff, read, write, endings=(".txt",)),
    Format("nigens", "NIGENS text (start end; the class is the folder)", sniff_pairs, read_pairs, write_pairs),
)
