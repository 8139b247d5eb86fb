"""Raven selection tables, also those that BirdNET writes; Kaleidoscope's detections, with what a person made of them.

``Begin Time (s)`` counts over a whole sequence of files, so ``File Offset (s)`` is used where it is there. A table with
a line of names and nothing else was annotated and is empty. The recording is called as ``Begin File`` says, else by the
name of the table (``a.Table.1.selections.txt`` is a); there are no quotes in these tables.
"""

from __future__ import annotations

import re
from pathlib import Path, PureWindowsPath

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..model.events import Events
from .output import (
    columns_of,
    count,
    delimited,
    exact,
    file_name,
    inexact,
    losses,
    per_recording,
    plain_fields,
    save,
    texts_of,
)  # fmt: skip
from .registry import Format
from .source import Source, column_of, quoted
from .table import ColumnTable, TextRows
from .vocabulary import TIER, answers_of, duration, ending, is_vocabulary, normal, suited

BEGIN, END, INTO = "Begin Time (s)", "End Time (s)", "File Offset (s)"
_OWN = {
    "selection", "view", "channel", "begin time (s)", "end time (s)", "low freq (hz)", "high freq (hz)",
    "file offset (s)",
    "begin file", "begin path", "end file", "end path", "delta time (s)", "delta freq (hz)", "confidence", "score",
    "begin sample (samples)", "end sample (samples)", "file duration (s)", "begin clock time", "end clock time",
    "begin date", "begin hour", "annotator", "notes", "comments", "species code", "begin date time", "center freq (hz)",
}  # fmt: skip
_LABELS = (
    "species",
    "common name",
    "annotation",
    "annotations",
    "tags",
    "label",
    "class",
    "event_label",
    "species code",
)
_ENDING = (r"\.Table\.\d+\.selections\.txt$", r"\.BirdNET\.selection\.table\.txt$", r"\.selection\.table\.txt$",
           r"\.selections\.txt$", r"\.selections\.tsv$")  # fmt: skip


def sniff(source: Source) -> bool:
    """The two columns of times, separated by tabs; beside a recording under another's name it is another's table."""
    if not {"begin time (s)", "end time (s)"} <= source.names or source.delimiter != "\t":
        return False
    named = [n for n in suited(source.header, "recording") if n.lower() not in _OWN and TIER[normal(n)[0]] < 2]
    return "selection" in source.names or not named


def _answer_column(table: ColumnTable) -> str | None:
    """The column of answers: one that is called so, or an annotation that holds nothing but answers."""
    sure = table.find("Answer", "Present", "Response")
    other = table.find("Annotation", "Annotations")
    return sure or (other if other and is_vocabulary(table.columns[other]) else None)


def _answered(rows: TextRows, table: ColumnTable, said: str) -> None:
    """Add answers; a selection whose answer is empty waits for it, and one that cannot be read is a broken row."""
    source = rows.source
    present, none = answers_of(table.columns[said])
    for i in np.flatnonzero(np.isinf(present)).tolist():
        words = "cannot be read as an answer; yes, no or unsure can"
        source.fail(table.lines[i], said, f"{quoted(table.columns[said][i])} {words}")
    query = table.find("Query", "Query ID")
    rows.data |= {
        "present": present,
        "query": list(table.columns[query]) if query else [""] * len(table),
        "seconds": np.full(len(table), np.nan),
    }
    rows.data.setdefault("annotator", [""] * len(table))
    for name in filter(None, (said, query)):
        rows.data.pop(name, None)
    if none.any():
        source.note(f"{source.name}: {count(int(none.sum()), 'selection')} not answered yet and left out")
    rows.keep(~np.isinf(present))
    rows.keep(~none[~np.isinf(present)], why="not answered yet")


def label_column(table: ColumnTable, said: str | None = None) -> str | None:
    """The column that holds the labels: as told, else by its name, else the only one that Raven did not make."""
    if "label" in table.source.columns:
        return table.need(table.source.columns["label"])
    found = column_of([name for name in table.names if name != said], *_LABELS)
    if found is not None:
        return found
    free = [name for name in table.names if name and name != said and name.lower() not in {*_OWN, "query"}]
    if len(free) > 1:
        raise InvalidInput(
            f"{table.source.name}: the label could be any of the columns {', '.join(free[:12])}; "
            "say which with columns, for example label=" + free[0]
        )
    return free[0] if free else None


def read(source: Source) -> TextRows:
    """The selections of one table."""
    quotes = bool(source.head) and source.head[0].lstrip().startswith(
        '"'
    )  # a spreadsheet may have put quotes around everything
    table = ColumnTable.read(source, delimiter="\t", quotes=quotes)
    begin, end = table.need(BEGIN), table.need(END)
    first, last = table.numbers(begin), table.numbers(end)
    into, file, whole = table.find(INTO), table.find("Begin File"), table.find("Begin Path")
    own = source.stem(*_ENDING)
    if file:
        recording = [name.strip() or own for name in table.columns[file]]
    elif whole:
        recording = [PureWindowsPath(name.strip()).name or own for name in table.columns[whole]]
    else:
        recording = [own] * len(table)
    onset, offset = first, last
    if into:
        shift = table.numbers(into)
        moved = np.isfinite(shift) & (shift != first)
        onset = np.where(moved, shift, first)
        offset = np.where(moved, np.round(shift + (last - first), 9), last)
        if moved.any():
            source.note(
                f"{source.name}: Begin Time runs on over a sequence of files in {int(moved.sum())} rows; "
                "File Offset is used",
                kind="cumulative times",
            )
    elif cumulative(recording, first, last):
        source.note(
            f"{source.name}: Begin Time seems to run on over a sequence of files and there is no File Offset: "
            "the times are right for the first recording only",
            kind="cumulative times",
        )
    said = _answer_column(table)
    label = label_column(table, said)
    labels = [text.strip() for text in table.columns[label]] if label else source.label or "event"
    rows = TextRows.of(source, table.lines, recording, onset, offset, labels)
    data = rows.data
    confidence, annotator = table.find("Confidence", "Score"), table.find("Annotator")
    if confidence:
        data["confidence"] = table.numbers(confidence)
    if annotator:
        data["annotator"] = table.columns[annotator]
    channel, low, high = table.find("Channel"), table.find("Low Freq (Hz)"), table.find("High Freq (Hz)")
    data["view"] = table.columns["View"] if "View" in table.columns else [""] * len(table)
    if low and high:
        data["low_frequency"], data["high_frequency"] = table.numbers(low), table.numbers(high)
    used = ("Selection", "View", begin, end, into, file, whole, label, confidence, annotator, low, high)
    data.update({"channel" if name == channel else name: values for name, values in table.others(*used).items()})
    # A selection stands in the table once per view (waveform, spectrogram).
    views = [view.strip().split(" ")[0].lower() for view in data.pop("view")]
    if not len(table):
        rows.empty.append(own)
    if len({view for view in views if view in ("waveform", "spectrogram")}) == 2:
        twice = np.array([view != "waveform" for view in views])
        source.note(f"{source.name}: the rows of the waveform view repeat those of the spectrogram and are left out")
        rows.keep(twice, why="the waveform view repeats the spectrogram's")
    elif said:
        _answered(rows, table, said)
    rows.checked()
    told = f"recording = {file or whole or 'the file' + chr(39) + 's name'} ({len({*recording} or {own})})"
    told += f", label = {label} ({len(set(rows.data['label']))})" if label else ", no column names a label"
    return rows.say(told + f", time = {into or begin} to {end} in seconds" + (f", answer = {said}" if said else ""))


def cumulative(recording: list[str], first: object, last: object) -> bool:
    """Whether the times of each recording begin after those of the one before: they run on over a sequence."""
    if len(set(recording)) < 2:
        return False
    frame = pd.DataFrame({"recording": recording, "first": first, "last": last})
    spans = (
        frame.groupby("recording", sort=False).agg(first=("first", "min"), last=("last", "max")).sort_values("first")
    )
    return bool((spans["first"].to_numpy()[1:] >= spans["last"].to_numpy()[:-1]).all())


def _table(frame: pd.DataFrame, path: Path, found: list[str], *, file: bool) -> None:
    names = ["Selection", "View", "Channel", BEGIN, END, "Low Freq (Hz)", "High Freq (Hz)"]
    n = len(frame)
    times = exact(frame["onset"]), exact(frame["offset"])
    channel = [text or "1" for text in texts_of(frame, "channel", default="1")]
    columns = [[str(i + 1) for i in range(n)], ["Spectrogram 1"] * n, channel, *times,
               texts_of(frame, "low_frequency"), texts_of(frame, "high_frequency")]  # fmt: skip
    if file:
        names += ["Begin File", INTO]
        columns += [plain_fields(texts_of(frame, "recording"), found, "recording names"), times[0]]
    for name, title in (("annotator", "Annotator"), ("confidence", "Confidence")):
        if name in frame:
            names.append(title)
            columns.append(plain_fields(texts_of(frame, name), found, f"values of {name}"))
    names.append("Species")
    columns.append(plain_fields(texts_of(frame, "label"), found, "labels"))
    save(path, ["\t".join(names) + "\n", *("\t".join(row) + "\n" for row in zip(*columns))])


def write(events: Events, path: Path) -> list[str]:
    """One table of all recordings; or, where the path is a folder, one per recording, the empty ones too."""
    held = ("annotator", "confidence", "channel", "low_frequency", "high_frequency")
    found: list[str] = []
    frame = events.to_frame()
    spaced = sum(label != label.strip() for label in events.labels)
    if spaced:
        found.append(f"spaces around {count(spaced, 'label')}")
    spaced = sum(name != name.strip() for name in events.recordings.index)
    if spaced:
        found.append(f"spaces around the names of {count(spaced, 'recording')}")
    if path.is_dir() or (not path.suffix and not path.exists()):

        def one(rows: pd.DataFrame, name: str, target: Path) -> list[str]:
            _table(rows, target, found, file=False)
            return []

        found += losses(events, empty=True, extra=held)
        found += per_recording(events, path, ending=".selections.txt", one=one, kind="Raven")
        return found
    silent = events.silent
    alone = (
        len(frame) == 0 and len(silent) == 1 and re.match(re.escape(file_name(silent[0], "", [])) + r"\.", path.name)
    )
    _table(frame, path, found, file=len(frame) > 0)
    return found + losses(events, empty=bool(alone), extra=held)


def sniff_detections(source: Source) -> bool:
    """The names of Kaleidoscope's columns."""
    return {"in file", "offset", "duration"} <= source.names and bool(
        {"top1match", "auto id", "manual id"} & source.names
    )


def read_detections(source: Source) -> TextRows:
    """The detections; what a person typed (MANUAL ID) goes before the match; rows without a species are empty."""
    table = ColumnTable.read(source)
    names = [name for name in (table.find("MANUAL ID"), table.find("TOP1MATCH", "AUTO ID")) if name]
    label = [next((v for v in row if v.strip()), "") for row in zip(*(table.columns[name] for name in names))]
    score = table.find("TOP1DIST", "TOP1MATCHDIST")
    file, start, length = table.need("IN FILE"), table.need("OFFSET"), table.need("DURATION")
    onset = table.numbers(start)
    offset = ending(onset, table.numbers(length))
    rows = TextRows.of(source, table.lines, table.columns[file], onset, offset, label)
    if score:
        rows.data["confidence"] = table.numbers(score)
    rows.data.update(table.others(file, start, length, score, *names, "INDIR", "FOLDER"))
    none = np.array([not value for value in label], dtype=bool)
    if none.any():
        source.note(f"{source.name}: {int(none.sum())} rows name no species and are read as nothing found")
    rows.nothing_in(none)
    told = (
        f"recording = {file} ({len(set(table.columns[file]))}), label = {' or '.join(names)} ({len(set(label) - {''})})"
    )
    return rows.checked().say(f"{told}, time = {start} + {length} in seconds")


def write_detections(events: Events, path: Path) -> list[str]:
    """Offsets, durations and matches."""
    frame = events.to_frame()
    frame = frame.assign(length=duration(frame["onset"], frame["offset"]))
    columns = columns_of(frame, "", "", "recording", "onset", "length", "label")
    save(
        path, delimited(columns, delimiter=",", names=("INDIR", "FOLDER", "IN FILE", "OFFSET", "DURATION", "TOP1MATCH"))
    )
    found = losses(events, empty=False) + inexact(frame["onset"], frame["offset"])
    return [*found, "events with an empty label"] if "" in events.labels else found


READERS = (
    Format("raven", "Raven selection table, also BirdNET's", sniff, read, write,
           endings=(".selections.txt", ".selection.table.txt")),
)  # fmt: skip
DETECTIONS = (
    Format("kaleidoscope", "Kaleidoscope CSV (IN FILE, OFFSET, DURATION, TOP1MATCH)", sniff_detections,
           read_detections, write_detections),
)  # fmt: skip
