"""DCASE and sed_eval lists, strong (filename, onset, offset, event_label) and weak (filename, event_labels); AudioSet.

With or without a line of names, tabs or commas. A row with empty fields is a clip that was annotated and holds nothing;
``0 0 label`` in a list without names (DCASE 2017) says that the label was looked for and not found. Weak lists whose
times are those of the clip in its video (``abc_30.000_40.000.wav 30.000 40.000 label``) are recognised by their names.

AudioSet: a strong table (segment_id = id_milliseconds, times within the clip), the same with explicit negatives, and a
weak CSV, whose clips are called like their strong counterparts, ``YTID_milliseconds``, so that the two can be joined.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..base.results import counted
from ..model.answers import Answers
from ..model.events import Events
from . import formats
from .formats import Format
from .plain import rows_of
from .source import Source, column_of, quoted
from .table import ColumnTable, TextRows
from .tracks import first_is_label
from .vocabulary import is_answers, is_number, suited

CLIP = re.compile(r"_(\d+(?:\.\d+)?)_(\d+(?:\.\d+)?)(?:\.\w+)?$")
_FILE, _ONSET, _OFFSET = ("filename", "file"), ("onset", "event_onset"), ("offset", "event_offset")
_LABEL = ("event_label",)


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


def sniff_clips(source: Source) -> bool:
    """Rows whose two numbers are those in the clip's own name."""
    if _shape(source) != "tnnt":
        return False
    rows = [[field.strip() for field in line.split(source.delimiter)] for line in source.head]
    told = [(CLIP.search(row[0]), row[1:3]) for row in rows]
    return all(
        m and all(map(is_number, times)) and [*map(float, m.groups())] == [*map(float, times)] for m, times in told
    )


def read_strong(source: Source) -> TextRows:
    """The events of a strong list."""
    names, width = ["filename", "onset", "offset", "event_label"], len(source.header)
    names = ["filename", "scene", *names[1:]] if width == 5 else names[: max(width, 3)]
    table = ColumnTable.read(source, names=None if _strong_names(source) else names)
    if "event_label" not in table.columns and first_is_label(source, table.columns[table.names[0]], told=False):
        table.columns["event_label"] = table.columns.pop("filename")
        table.names = list(table.columns)
    known = {column_of(table.names, *words) for words in (_FILE, _ONSET, _OFFSET, _LABEL)}
    more = any(is_answers(table.columns[name]) for name in table.names if name not in known)  # a rater's, perhaps
    return rows_of(table, exact=not more, sought=True)


def write_strong(events: Events, path: Path) -> list[str]:
    """The events under the names filename, onset, offset, event_label; empty recordings as rows of empty fields."""
    titles = {"filename": "recording", "onset": "onset", "offset": "offset", "event_label": "label"}
    found = formats.table_writer(titles, delimiter="\t", empty=True)(events, path)
    return [*found, "that no event had a class name"] if events.labels == [""] else found  # an empty column is read so


def write_list(events: Events, path: Path) -> list[str]:
    """The list that sed_eval reads: no line of names, no empty recordings."""
    frame = events.to_frame()
    found = formats.losses(events, empty=False)
    names = formats.plain_fields(formats.texts_of(frame, "recording"), found, "recording names")
    labels = formats.plain_fields(formats.texts_of(frame, "label"), found, "labels")
    formats.save(
        path,
        formats.delimited(
            [names, formats.exact(frame["onset"]), formats.exact(frame["offset"]), labels], delimiter="\t"
        ),
    )
    return found


def sniff_weak(source: Source) -> bool:
    """The names filename and event_labels (or event_label), and no times."""
    names = source.header
    return (
        bool(column_of(names, *_FILE))
        and bool(column_of(names, "event_labels", "event_label"))
        and not any(suited(names, role) for role in ("onset", "offset", "present"))
    )


def read_weak(source: Source) -> TextRows:
    """The labels of clips: each listed label is present; of others nothing is said."""
    table = ColumnTable.read(source)
    file, label = table.need(*_FILE), table.need("event_labels", "event_label")
    if label.lower() == "event_labels":
        table = _listed(table, label)
    names = [name.strip() for name in table.columns[file]]
    return _of_clips(source, names, table.columns[label], table.lines)


def _listed(table: ColumnTable, name: str) -> ColumnTable:
    """The table with a row for each label that a cell lists by commas; one that lists none stays as it is."""
    listed = [[part.strip() for part in text.split(",") if part.strip()] or [""] for text in table.columns[name]]
    held = table.taken(np.repeat(np.arange(len(table)), list(map(len, listed))))
    held.columns[name] = [label for some in listed for label in some]
    return held


def read_clips(source: Source) -> TextRows:
    """The labels of clips that are listed with their times in the video."""
    table = ColumnTable.read(source, names=["filename", "onset", "offset", "event_label"])
    for name in ("onset", "offset"):
        table.numbers(name)
    names = [name.strip() for name in table.columns["filename"]]
    return _of_clips(source, names, table.columns["event_label"], table.lines)


def _of_clips(source: Source, names: list[str], labels: list[str], lines: Sequence[int]) -> TextRows:
    """Labels of whole clips, which are as long as their names tell; a clip without a label is empty."""
    known = {name: clip_length(name) for name in dict.fromkeys(names)}
    offset = np.array([known[name] for name in names], dtype=np.float64)
    onset = np.where(np.isnan(offset), np.nan, 0.0)
    rows = TextRows.of(source, lines, names, onset, offset, labels, present=np.ones(len(labels)))
    rows.lengths = {name: length for name, length in known.items() if length == length}
    rows.nothing_in(np.array([not label for label in labels], dtype=bool))
    if rows.lengths:
        words = f"the lengths of {counted(len(rows.lengths), 'clip')} are taken from their names"
        source.note(words)
    return rows.say("filename", "listed labels", "time = all of the clip")


def write_weak(answers: Answers, path: Path) -> list[str]:
    """Clips and their present labels; one label per row where a label holds a comma."""
    frame, listing = answers.to_frame(), answers.recordings
    found = formats.unheld(frame, "'absent', which is left to be understood")
    segments = frame[["recording", "onset", "offset"]].drop_duplicates()
    if segments["recording"].duplicated().any():
        spans = zip(frame["recording"], formats.texts_of(frame, "onset"), formats.texts_of(frame, "offset"))
        names = [re.sub(r"(\.[^\W_]{1,5})?$", rf"_{a}_{b}\1", name, count=1) for name, a, b in spans]
        found.append("the names of recordings with several segments: each segment is written as a clip of its own")
    else:
        names = frame["recording"].tolist()
        untold = [n for n, v in listing["length"].items() if v == v and clip_length(str(n)) != v]
        if untold:
            found.append(f"the {'length' if len(untold) == 1 else 'lengths'} of {counted(len(untold), 'recording')}")
    found += [words for words in formats.answer_losses(answers) if "without answers" not in words]
    present = _present(frame, names, answers.silent)
    awkward = any("," in label or label != label.strip() for labels in present.values() for label in labels)
    if awkward:
        rows = [(name, label) for name, labels in present.items() for label in labels or [""]]
    else:
        rows = [(name, ",".join(labels)) for name, labels in present.items()]
    columns = list(zip(*rows)) if rows else [(), ()]
    formats.save(
        path,
        formats.delimited(columns, delimiter="\t", names=["filename", "event_label" if awkward else "event_labels"]),
    )
    return found


def _present(frame: pd.DataFrame, names: Sequence[str], more: Sequence[str]) -> dict[str, list[str]]:
    """The labels that are present in each clip, and clips without one."""
    found: dict[str, list[str]] = {name: [] for name in (*names, *more)}
    for name, label, value in zip(names, frame["label"].tolist(), frame["present"].tolist()):
        found[name] += [label] if value == 1 and label not in found[name] else []
    return found


_SEGMENT = re.compile(r"^(.*)_(\d+)$", re.DOTALL)
_STRONG = ("segment_id", "start_time_seconds", "end_time_seconds", "label")


def write_framed(answers: Answers, path: Path) -> list[str]:
    """The official table with the column present."""
    frame = answers.to_frame()
    if frame["onset"].isna().any():
        raise InvalidInput("audioset: the answers do not say where their segments are")
    said = ["PRESENT" if v == 1 else "NOT_PRESENT" if v == 0 else "UNSURE" for v in frame["present"]]
    columns = [*formats.columns_of(frame, "recording", "onset", "offset", "label"), said]
    formats.save(path, formats.delimited(columns, delimiter="\t", names=[*_STRONG, "present"]))
    return formats.answer_losses(answers)


def sniff_videos(source: Source) -> bool:
    """Comment lines, of which one names the columns."""
    first = [line for line in source.head[:10] if line.startswith("#")]
    return any("YTID" in line and "positive_labels" in line for line in first)


def read_videos(source: Source) -> TextRows:
    """The labels of clips: each listed label is present; of others nothing is said."""
    found, lines = source.rows(",", skipspace=True)
    some = [(row, line) for row, line in zip(found, lines) if not row[0].startswith("#")]
    names = ["YTID", "start_seconds", "end_seconds", "positive_labels"]
    rows_ = [row[:3] + [",".join(row[3:])] * (len(row) > 3) for row, _ in some]
    table = ColumnTable.of(source, names, [(rows_, [line for _, line in some])])
    start, end = table.numbers("start_seconds"), table.numbers("end_seconds")
    length = table.columns["length"] = np.round(end - start, 9)
    ids = [name.strip() for name in table.columns["YTID"]]
    clips = [f"{name}_{round(at * 1000)}" if np.isfinite(at) else name for name, at in zip(ids, start.tolist())]
    table.columns["clip"], table.names = clips, [*table.names, "length", "clip"]
    held = _listed(table, "positive_labels")
    offset, labels = held.columns["length"], held.columns["positive_labels"]
    onset = np.where(np.isfinite(offset), 0.0, np.inf)
    rows = TextRows.of(source, held.lines, held.columns["clip"], onset, offset, labels, present=np.ones(len(held)))
    rows.lengths = {name: float(v) for name, v in zip(clips, length) if np.isfinite(v) and v > 0}
    rows.nothing_in(np.array([not label for label in labels], dtype=bool))
    due = re.search(r"^#.*\bnum_segs=(\d+)", source.text, flags=re.MULTILINE)
    if due and int(due[1]) != len(some):
        words = f"says num_segs={due[1]} and holds {counted(len(some), 'segment')}; is it whole?"
        source.note(words, kind="cut short")
    return rows.checked().say("YTID_milliseconds", "positive_labels", "time = all of the clip")


def write_videos(answers: Answers, path: Path) -> list[str]:
    """The clips with their times in the video and their labels."""
    frame, listing = answers.to_frame(), answers.recordings
    found = [words for words in formats.answer_losses(answers) if "without answers" not in words]
    absent = int((frame["present"] != 1).sum())
    if absent:
        found.append(f"{counted(absent, 'answer')} 'absent' or 'unsure'")
    names = list(dict.fromkeys([*frame["recording"], *listing.index]))
    ends = dict(zip(frame["recording"], frame["offset"]))
    starts = dict(zip(frame["recording"], frame["onset"]))
    if frame[["recording", "onset", "offset"]].drop_duplicates()["recording"].duplicated().any():
        raise InvalidInput("audioset-weak: holds one segment per clip; there are recordings with several")
    labels = _present(frame, frame["recording"].tolist(), names)
    if any("," in label or '"' in label or label != label.strip() for some in labels.values() for label in some):
        raise InvalidInput(
            "audioset-weak: separates labels by commas; there are labels that hold commas, quotes or spaces"
        )
    renamed = [
        name for name in names if not _SEGMENT.match(name) or "," in name or name != name.strip() or name[0] == "#"
    ]
    if renamed:
        raise InvalidInput(f"audioset-weak: recordings must be called id_milliseconds, got {quoted(renamed[0])}")
    lines = ["# Segments csv\n", f"# num_segs={len(names)}\n", "# YTID, start_seconds, end_seconds, positive_labels\n"]
    for name in names:
        match = _SEGMENT.match(name)
        assert match
        length = ends.get(name, np.nan)
        length = float(listing["length"].get(name, np.nan) if length != length else length)
        if length != length or starts.get(name, 0.0) > 0:
            raise InvalidInput(
                f"audioset-weak: the recording {quoted(name)} needs a segment that is all of it, and a length"
            )
        start = int(match[2]) / 1000
        end = start + length
        if round(end - start, 9) != length:
            found.append("fractions of a nanosecond")
        lines.append(f'{match[1]}, {start!r}, {end!r}, "{",".join(labels[name])}"\n')
    formats.save(path, lines)
    return list(dict.fromkeys(found))


AUDIOSET = (
    Format("audioset", "AudioSet strong table (segment_id, start_time_seconds, end_time_seconds, label[, present])",
           frozenset(_STRONG), lambda source: rows_of(ColumnTable.read(source), exact=True),
           formats.table_writer(dict(zip(_STRONG, ("recording", "onset", "offset", "label"))), delimiter="\t"),
           write_framed),
    Format("audioset-weak", "AudioSet weak CSV (YTID, start_seconds, end_seconds, positive_labels)", sniff_videos,
           read_videos, formats.by_answers(write_videos), write_videos),
)  # fmt: skip
READERS = (
    Format("dcase", "DCASE/DESED strong list (filename, onset, offset, event_label)", _strong_names, read_strong,
           write_strong, endings=(".tsv",)),
    Format("dcase-weak", "DCASE/DESED weak list (filename, event_labels)", sniff_weak, read_weak,
           formats.by_answers(write_weak), write_weak, endings=(".tsv",)),
    Format("dcase-clips", "DCASE 2017 weak list (file and times in the video, label; no names)", sniff_clips,
           read_clips),
    Format("sed_eval", "sed_eval list without names ([file, [scene,] onset, offset, label)",
           lambda s: _shape(s) in ("tnnt", "tnnn", "ttnnt", "ttnnn", "tnn"), read_strong, write_list,
           endings=(".ann",)),
)  # fmt: skip
