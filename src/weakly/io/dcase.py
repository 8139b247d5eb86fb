"""DCASE and sed_eval lists: strong (filename, onset, offset, event_label) and weak (filename, event_labels).

With or without a line of names, tabs or commas. A row with empty fields is a clip that was annotated and holds nothing;
``0 0 label`` in a list without names (DCASE 2017) says that the label was looked for and not found. Weak lists whose
times are those of the clip in its video (``abc_30.000_40.000.wav 30.000 40.000 label``) are recognised by their names.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ..model.answers import Answers
from ..model.events import Events
from .output import (
    answer_losses,
    as_answers,
    count,
    delimited,
    exact,
    losses,
    plain_fields,
    save,
    silent_recordings,
    texts_of,
)
from .plain import rows_of
from .registry import Format
from .source import Source, column_of
from .table import ColumnTable, TextRows
from .times import is_number

CLIP = re.compile(r"_(\d+(?:\.\d+)?)_(\d+(?:\.\d+)?)(?:\.\w+)?$")
_FILE, _ONSET, _OFFSET, _LABEL = (
    ("filename", "file"),
    ("onset", "event_onset"),
    ("offset", "event_offset"),
    ("event_label",),
)


def clip_length(recording: str) -> float:
    """The length that a clip's name tells (``abc_30.000_40.000.wav`` is 10 s), or NaN.

    >>> clip_length("abc_30.000_40.000.wav")
    10.0
    """
    match = CLIP.search(recording)
    if match is None:
        return np.nan
    start, end = float(match[1]), float(match[2])
    return round(end - start, 9) if 0 < end - start <= 3600 else np.nan


def _shape(source: Source) -> str:
    """What the columns of a list without names are: letters for text (t) and numbers (n); "" if it is no such list."""
    shapes = set()
    if any(line.startswith("\\\t") for line in source.head):
        return ""  # an Audacity track with lines of frequencies
    for line in source.head:
        fields = [field.strip() for field in line.split(source.delimiter)]
        shapes.add("".join("n" if is_number(field) else "-" if not field else "t" for field in fields))
    shapes.discard("t---")
    if len(shapes) > 1:  # an event label may look like a number
        widths = {len(shape) for shape in shapes}
        merged = "".join("t" if "t" in column else "n" for column in zip(*shapes)) if len(widths) == 1 else ""
        shapes = {merged}
    return shapes.pop() if shapes else ""


def _strong_names(source: Source) -> bool:
    names = source.header
    return all(column_of(names, *words) for words in (_FILE, _ONSET, _OFFSET, _LABEL)) and len(names) <= 6


def sniff_strong(source: Source) -> bool:
    """Names of DCASE or sed_eval, or rows of a file, two numbers and a label."""
    return _strong_names(source) or _shape(source) in ("tnnt", "tnnn", "ttnnt", "ttnnn", "tnn")


def sniff_clips(source: Source) -> bool:
    """Rows whose two numbers are those in the clip's own name."""
    if _shape(source) != "tnnt":
        return False
    for line in source.head:
        fields = [field.strip() for field in line.split(source.delimiter)]
        match = CLIP.search(fields[0])
        if match is None or not (is_number(fields[1]) and is_number(fields[2])):
            return False
        if (float(match[1]), float(match[2])) != (float(fields[1]), float(fields[2])):
            return False
    return True


def _headerless(source: Source) -> ColumnTable:
    width = len(source.first_row(source.delimiter))
    if width == 5:
        names = ["filename", "scene", "onset", "offset", "event_label"]
    elif width == 3:
        names = ["filename", "onset", "offset"]
    else:
        names = ["filename", "onset", "offset", "event_label"]
    return ColumnTable.read(source, names=names)


def read_strong(source: Source) -> TextRows:
    """The events of a strong list."""
    named = _strong_names(source)
    return rows_of(ColumnTable.read(source) if named else _headerless(source), sought=True)


def write_strong(events: Events, path: Path) -> list[str]:
    """The events under the names filename, onset, offset, event_label; empty recordings as rows of empty fields."""
    frame, silent = events.to_frame(), silent_recordings(events)
    none = [""] * len(silent)
    labels = texts_of(frame, "label")
    columns = [
        texts_of(frame, "recording") + silent,
        exact(frame["onset"]) + none,
        exact(frame["offset"]) + none,
        labels + none,
    ]
    save(path, delimited(columns, delimiter="\t", names=["filename", "onset", "offset", "event_label"]))
    unnamed = ["that no event had a class name"] if labels and not any(labels) else []  # an empty column is read so
    return losses(events, empty=True) + unnamed


def write_list(events: Events, path: Path) -> list[str]:
    """The list that sed_eval reads: no line of names, no empty recordings."""
    frame = events.to_frame()
    found = losses(events, empty=False)
    names = plain_fields(texts_of(frame, "recording"), found, "recording names")
    labels = plain_fields(texts_of(frame, "label"), found, "labels")
    save(path, delimited([names, exact(frame["onset"]), exact(frame["offset"]), labels], delimiter="\t"))
    return found


def sniff_weak(source: Source) -> bool:
    """The names filename and event_labels (or event_label), and no times."""
    names = source.header
    return (
        bool(column_of(names, *_FILE))
        and bool(column_of(names, "event_labels", "event_label"))
        and not column_of(names, *_ONSET, "start", "start_time")
    )


def read_weak(source: Source) -> TextRows:
    """The labels of clips: each listed label is present; of others nothing is said."""
    table = ColumnTable.read(source)
    file, label = table.need(*_FILE), table.need("event_labels", "event_label")
    many = label.lower() == "event_labels"
    recording: list[str] = []
    labels: list[str] = []
    places: list[int | str] = []
    empty: list[str] = []
    blank: set[int | str] = set()
    for name, text, line in zip(table.columns[file], table.columns[label], table.lines):
        found = [part.strip() for part in text.split(",")] if many else [text]
        found = [part for part in found if part]
        if not found:
            empty.append(name.strip())
            blank.add(line)
        recording += [name.strip()] * len(found)
        labels += found
        places += [line] * len(found)
    rows = _weak(source, recording, labels, places, empty)
    rows.blank = blank
    return rows


def _weak(
    source: Source, recording: list[str], labels: list[str], places: list[int | str], empty: list[str]
) -> TextRows:
    known = {name: clip_length(name) for name in dict.fromkeys([*recording, *empty])}
    lengths = {name: length for name, length in known.items() if length == length}
    offset = np.array([known[name] for name in recording], dtype=np.float64)
    data = {
        "recording": recording,
        "onset": np.where(np.isnan(offset), np.nan, 0.0),
        "offset": offset,
        "label": labels,
        "present": np.ones(len(labels)),
    }
    rows = TextRows(source, data, places, empty=empty, lengths=lengths)
    if lengths:
        words = f"the lengths of {count(len(lengths), 'clip')} are taken from their names"
        source.note(f"{source.name}: {words}")
    n = len({*recording, *empty})
    return rows.say(f"recording = filename ({n}), label = listed labels ({len(set(labels))}), time = all of the clip")


def read_clips(source: Source) -> TextRows:
    """The labels of clips that are listed with their times in the video."""
    table = ColumnTable.read(source, names=["filename", "onset", "offset", "event_label"])
    recording = [name.strip() for name in table.columns["filename"]]
    for name in ("onset", "offset"):
        table.numbers(name)
    return _weak(source, recording, table.columns["event_label"], list(table.lines), [])


def write_weak(answers: Answers, path: Path) -> list[str]:
    """Clips and their present labels; one label per row where a label holds a comma."""
    frame, listing = answers.to_frame(), answers.recordings
    found: list[str] = []
    absent, unsure = int((frame["present"] == 0).sum()), int(frame["present"].isna().sum())
    if absent:
        found.append(f"{count(absent, 'answer')} 'absent', which is left to be understood")
    if unsure:
        found.append(f"{count(unsure, 'answer')} 'unsure'")
    segments = frame[["recording", "onset", "offset"]].drop_duplicates()
    if segments["recording"].duplicated().any():
        names = [
            _clip_name(*row) for row in zip(frame["recording"], texts_of(frame, "onset"), texts_of(frame, "offset"))
        ]
        found.append("the names of recordings with several segments: each segment is written as a clip of its own")
    else:
        names = frame["recording"].tolist()
        untold = [n for n, v in listing["length"].items() if v == v and clip_length(str(n)) != v]
        if untold:
            found.append(f"the {'length' if len(untold) == 1 else 'lengths'} of {count(len(untold), 'recording')}")
    found += [words for words in answer_losses(answers) if "without answers" not in words]
    present: dict[str, list[str]] = {name: [] for name in names}
    present.update({name: [] for name in answers.silent})
    for name, label, value in zip(names, frame["label"].tolist(), frame["present"].tolist()):
        if value == 1 and label not in present[name]:
            present[name].append(label)
    awkward = any("," in label or label != label.strip() for labels in present.values() for label in labels)
    if awkward:
        rows = [(name, label) for name, labels in present.items() for label in labels or [""]]
    else:
        rows = [(name, ",".join(labels)) for name, labels in present.items()]
    columns = list(zip(*rows)) if rows else [(), ()]
    save(path, delimited(columns, delimiter="\t", names=["filename", "event_label" if awkward else "event_labels"]))
    return found


def _clip_name(recording: str, onset: str, offset: str) -> str:
    stem, dot, ending = recording.rpartition(".")
    if not dot or not ending.isalnum() or len(ending) > 5:
        stem, ending = recording, ""
    return f"{stem}_{onset}_{offset}{dot if ending else ''}{ending}"


def _weak_events(events: Events, path: Path) -> list[str]:
    answers, found = as_answers(events)
    return found + write_weak(answers, path)


READERS = (
    Format("dcase", "DCASE/DESED strong list (filename, onset, offset, event_label)", _strong_names, read_strong,
           write_strong, endings=(".tsv",)),
    Format("dcase-weak", "DCASE/DESED weak list (filename, event_labels)", sniff_weak, read_weak, _weak_events,
           write_weak, endings=(".tsv",)),
    Format("dcase-clips", "DCASE 2017 weak list (file and times in the video, label; no names)", sniff_clips,
           read_clips),
    Format("sed_eval", "sed_eval list without names ([file, [scene,] onset, offset, label)",
           lambda s: not _strong_names(s) and sniff_strong(s), read_strong, write_list, endings=(".ann",)),
)  # fmt: skip
