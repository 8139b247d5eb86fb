"""AudioSet: strong TSV (segment_id = id_milliseconds, times within the clip), framed with explicit negatives, weak CSV.

A clip of the weak CSV is called like its strong counterpart, ``YTID_milliseconds``, so that the two can be joined.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ..base.errors import InvalidInput
from ..model.answers import Answers
from ..model.events import Events
from .output import answer_losses, as_answers, count, delimited, exact, losses, save, texts_of
from .plain import rows_of
from .registry import Format
from .source import Source, quoted
from .table import ColumnTable, TextRows
from .times import numbers

_SEGMENT = re.compile(r"^(.*)_(\d+)$", re.DOTALL)
_STRONG = ("segment_id", "start_time_seconds", "end_time_seconds", "label")


def sniff_strong(source: Source) -> bool:
    """The official names."""
    return {"segment_id", "start_time_seconds", "end_time_seconds", "label"} <= source.names


def read_strong(source: Source) -> TextRows:
    """The events, in any order of the columns; a column ``present`` makes them answers."""
    return rows_of(ColumnTable.read(source))


def write_strong(events: Events, path: Path) -> list[str]:
    """The official table."""
    frame = events.to_frame()
    columns = [texts_of(frame, "recording"), exact(frame["onset"]), exact(frame["offset"]), texts_of(frame, "label")]
    save(path, delimited(columns, delimiter="\t", names=_STRONG))
    return losses(events, empty=False)


def write_framed(answers: Answers, path: Path) -> list[str]:
    """The official table with the column present."""
    frame = answers.to_frame()
    if frame["onset"].isna().any():
        raise InvalidInput("audioset: the answers do not say where their segments are")
    said = ["PRESENT" if v == 1 else "NOT_PRESENT" if v == 0 else "UNSURE" for v in frame["present"]]
    columns = [
        texts_of(frame, "recording"),
        exact(frame["onset"]),
        exact(frame["offset"]),
        texts_of(frame, "label"),
        said,
    ]
    save(path, delimited(columns, delimiter="\t", names=[*_STRONG, "present"]))
    return answer_losses(answers)


def sniff_weak(source: Source) -> bool:
    """Comment lines, of which one names the columns."""
    first = [line for line in source.head[:10] if line.startswith("#")]
    return any("YTID" in line and "positive_labels" in line for line in first)


def read_weak(source: Source) -> TextRows:
    """The labels of clips: each listed label is present; of others nothing is said."""
    found, lines = source.rows(",", skipspace=True)
    table = [(row, line) for row, line in zip(found, lines) if not row[0].startswith("#")]
    ids, begins, finishes, kept = [], [], [], []
    for row, line in table:
        if len(row) < 4:  # a clip without labels has an empty field
            source.fail(line, "positive_labels", f"has {len(row)} fields where YTID, start, end and labels are needed")
            continue
        ids.append(row[0].strip())
        begins.append(row[1])
        finishes.append(row[2])
        kept.append((line, [part.strip() for field in row[3:] for part in field.split(",") if part.strip()]))
    where = [line for line, _ in kept]
    start = numbers(source, begins, where, "start_seconds")
    end = numbers(source, finishes, where, "end_seconds")
    length = np.round(end - start, 9)
    names = [f"{name}_{round(at * 1000)}" if np.isfinite(at) else name for name, at in zip(ids, start.tolist())]
    times = [len(parts) for _, parts in kept]
    labels = [part for _, parts in kept for part in parts]
    places = [line for (line, parts) in kept for _ in parts]
    recording = [name for name, n in zip(names, times) for _ in range(n)]
    offset = np.repeat(length, times)
    data = {
        "recording": recording,
        "onset": np.where(np.isfinite(offset), 0.0, np.inf),
        "offset": offset,
        "label": labels,
        "present": np.ones(len(labels)),
    }
    rows = TextRows(source, data, places)
    good = np.isfinite(length) & (length > 0)
    rows.lengths = {name: float(v) for name, v, yes in zip(names, length, good) if yes}
    rows.empty = [name for name, n in zip(names, times) if not n]
    rows.blank = {line for (line, parts) in kept if not parts}
    source.n_rows = len(table)
    due = re.search(r"^#.*\bnum_segs=(\d+)", source.text, flags=re.MULTILINE)
    if due and int(due[1]) != len(table):
        words = f"says num_segs={due[1]} and holds {count(len(table), 'segment')}; is it whole?"
        source.note(f"{source.name}: {words}", kind="cut short")
    told = f"recording = YTID_milliseconds ({len(set(names))}), label = positive_labels ({len(set(labels))})"
    return rows.checked().say(f"{told}, time = all of the clip")


def write_weak(answers: Answers, path: Path) -> list[str]:
    """The clips with their times in the video and their labels."""
    frame, listing = answers.to_frame(), answers.recordings
    found = answer_losses(answers)
    found = [words for words in found if "without answers" not in words]
    absent = int((frame["present"] != 1).sum())
    if absent:
        found.append(f"{count(absent, 'answer')} 'absent' or 'unsure'")
    names = list(dict.fromkeys([*frame["recording"], *listing.index]))
    ends = dict(zip(frame["recording"], frame["offset"]))
    starts = dict(zip(frame["recording"], frame["onset"]))
    if frame[["recording", "onset", "offset"]].drop_duplicates()["recording"].duplicated().any():
        raise InvalidInput("audioset-weak: holds one segment per clip; there are recordings with several")
    labels: dict[str, list[str]] = {name: [] for name in names}
    for name, label, value in zip(frame["recording"], frame["label"], frame["present"]):
        if value == 1 and label not in labels[name]:
            labels[name].append(label)
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
    save(path, lines)
    return list(dict.fromkeys(found))


def _weak_events(events: Events, path: Path) -> list[str]:
    answers, found = as_answers(events)
    return found + write_weak(answers, path)


READERS = (
    Format("audioset", "AudioSet strong table (segment_id, start_time_seconds, end_time_seconds, label[, present])",
           sniff_strong, read_strong, write_strong, write_framed),
    Format("audioset-weak", "AudioSet weak CSV (YTID, start_seconds, end_seconds, positive_labels)", sniff_weak,
           read_weak, _weak_events, write_weak),
)  # fmt: skip
