"""Raven selection tables, also those that BirdNET writes; Kaleidoscope's detections, with what a person made of them.

``Begin Time (s)`` counts over a whole sequence of files, so ``File Offset (s)`` is used where it is there. A table with
a line of names and nothing else was annotated and is empty. The recording is called as ``Begin File`` says, else by the
name of the table (``a.Table.1.selections.txt`` is a); there are no quotes in these tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
import pandas as pd

from ..base.results import counted
from ..model.events import Events
from . import formats
from .formats import Format
from .plain import Dialect, rows_of
from .source import Source, column_of
from .table import ColumnTable, TextRows
from .vocabulary import TIER, is_vocabulary, normal, numbers, suited

BEGIN, END, INTO = "Begin Time (s)", "End Time (s)", "File Offset (s)"
_OWN = {
    "selection", "view", "channel", "begin time (s)", "end time (s)", "low freq (hz)", "high freq (hz)",
    "file offset (s)",
    "begin file", "begin path", "end file", "end path", "delta time (s)", "delta freq (hz)", "confidence", "score",
    "begin sample (samples)", "end sample (samples)", "file duration (s)", "begin clock time", "end clock time",
    "begin date", "begin hour", "annotator", "notes", "comments", "species code", "begin date time", "center freq (hz)",
}  # fmt: skip
_LABELS = ("species", "common name", "annotation", "annotations", "tags", "label", "class", "event_label",
           "species code")  # fmt: skip
_ENDING = (r"\.Table\.\d+\.selections\.txt$", r"\.BirdNET\.selection\.table\.txt$", r"\.selection\.table\.txt$",
           r"\.selections\.txt$", r"\.selections\.tsv$")  # fmt: skip


def sniff(source: Source) -> bool:
    """The two columns of times, separated by tabs; beside a recording under another's name it is another's table."""
    if not {"begin time (s)", "end time (s)"} <= source.names or source.delimiter != "\t":
        return False
    named = [n for n in suited(source.header, "recording") if n.lower() not in _OWN and TIER[normal(n)[0]] < 2]
    return "selection" in source.names or not named


def label_column(table: ColumnTable, said: str | None = None) -> str | None:
    """The column that holds the labels: as told, else by its name, else the only one that Raven did not make."""
    if "label" in table.source.columns:
        return table.need(table.source.columns["label"])
    found = column_of([name for name in table.names if name != said], *_LABELS)
    if found is not None:
        return found
    free = [name for name in table.names if name and name != said and name.lower() not in {*_OWN, "query"}]
    if len(free) > 1:
        raise table.source.error(
            f"the label could be any of the columns {', '.join(free[:12])}; "
            "say which with columns, for example label=" + free[0]
        )
    return free[0] if free else None


def read(source: Source) -> TextRows:
    """The selections of one table."""
    quotes = bool(source.head) and source.head[0].lstrip().startswith('"')  # a spreadsheet put them around everything
    table = ColumnTable.read(source, delimiter="\t", quotes=quotes)
    own, begin, end = source.stem(*_ENDING), table.need(BEGIN), table.need(END)
    file, path, into = table.find("Begin File"), table.find("Begin Path"), table.find(INTO)
    recording = [own] * len(table)
    if file or path:
        names = table.columns[file] if file else [PureWindowsPath(name).name for name in table.columns[path or ""]]
        table.columns[file or path or ""] = recording = [name.strip() or own for name in names]
    start = _into_files(table, begin, end, into, recording)
    said, other = table.find("Answer", "Present", "Response"), table.find("Annotation", "Annotations")
    said = said or (other if other and is_vocabulary(table.columns[other]) else None)
    label = label_column(table, said)
    if label:
        table.columns[label] = [text.strip() for text in table.columns[label]]
    low, high = table.find("Low Freq (Hz)"), table.find("High Freq (Hz)")
    renamed: dict[Any, str] = {low: "low_frequency", high: "high_frequency"} if low and high else {}
    fixed = {"recording": file or path, "onset": start, "offset": end, "label": label, "present": said,
             "query": table.find("Query", "Query ID") if said else None}  # fmt: skip
    if not (file or path):
        source.columns = {"recording": "@file", **source.columns}
    if not label:
        source.columns = {"label": "@none", **source.columns}
    renamed |= {table.find("Channel"): "channel"}
    columns: dict[str, tuple[str, ...]] = {role: (name,) for role, name in fixed.items() if name}
    rows = rows_of(table, Dialect("raven", "", frozenset(), columns, endings=_ENDING, renamed=renamed))
    for name in {"low_frequency", "high_frequency"} & rows.data.keys():
        rows.data[name] = numbers(source, rows.data[name], rows.places, name)
    # A selection stands in the table once per view (waveform, spectrogram).
    views = [view.strip().split(" ")[0].lower() for view in rows.data.pop("View", ())]
    for used in ("Selection", begin, path if file else ""):
        rows.data.pop(used or "", None)
    if {"waveform", "spectrogram"} <= set(views):
        source.note("the rows of the waveform view repeat those of the spectrogram and are left out")
        rows.keep(np.array([view != "waveform" for view in views]), why="the waveform view repeats the spectrogram's")
    return rows


def _into_files(table: ColumnTable, begin: str, end: str, into: str | None, recording: Sequence[str]) -> str:
    """The column of starts; times that run on over a sequence of files are counted from each file's own start."""
    source, first, last = table.source, table.numbers(begin), table.numbers(end)
    if into:
        shift = table.numbers(into)
        moved = np.isfinite(shift) & (shift != first)
        table.columns[into] = np.where(moved, shift, first)
        table.columns[end] = np.where(moved, np.round(shift + (last - first), 9), last)
        if moved.any():
            words = f"Begin Time runs on over a sequence of files in {int(moved.sum())} rows; File Offset is used"
            source.note(words, kind="cumulative times")
    elif cumulative(list(recording), first, last):
        source.note(
            "Begin Time seems to run on over a sequence of files and there is no File Offset: "
            "the times are right for the first recording only",
            kind="cumulative times",
        )
    return into or begin


def cumulative(recording: list[str], first: object, last: object) -> bool:
    """Whether the times of each recording begin after those of the one before: they run on over a sequence."""
    if len(set(recording)) < 2:
        return False
    frame = pd.DataFrame({"recording": recording, "first": first, "last": last})
    spans = (
        frame.groupby("recording", sort=False).agg(first=("first", "min"), last=("last", "max")).sort_values("first")
    )
    return bool((spans["first"].to_numpy()[1:] >= spans["last"].to_numpy()[:-1]).all())


def _table(frame: pd.DataFrame, found: list[str], *, file: bool) -> Iterator[str]:
    names = ["Selection", "View", "Channel", BEGIN, END, "Low Freq (Hz)", "High Freq (Hz)"]
    n = len(frame)
    times = formats.exact(frame["onset"]), formats.exact(frame["offset"])
    channel = [text or "1" for text in formats.texts_of(frame, "channel", default="1")]
    columns = [[str(i + 1) for i in range(n)], ["Spectrogram 1"] * n, channel, *times,
               formats.texts_of(frame, "low_frequency"), formats.texts_of(frame, "high_frequency")]  # fmt: skip
    if file:
        names += ["Begin File", INTO]
        columns += [formats.plain_fields(formats.texts_of(frame, "recording"), found, "recording names"), times[0]]
    for name, title in (("annotator", "Annotator"), ("confidence", "Confidence")):
        if name in frame:
            names.append(title)
            columns.append(formats.plain_fields(formats.texts_of(frame, name), found, f"values of {name}"))
    names.append("Species")
    columns.append(formats.plain_fields(formats.texts_of(frame, "label"), found, "labels"))
    yield from ("\t".join(row) + "\n" for row in (names, *zip(*columns)))


def write(events: Events, path: Path) -> list[str]:
    """One table of all recordings; or, where the path is a folder, one per recording, the empty ones too."""
    held = ("annotator", "confidence", "channel", "low_frequency", "high_frequency")
    found: list[str] = []
    frame = events.to_frame()
    spaced = sum(label != label.strip() for label in events.labels)
    if spaced:
        found.append(f"spaces around {counted(spaced, 'label')}")
    spaced = sum(name != name.strip() for name in events.recordings.index)
    if spaced:
        found.append(f"spaces around the names of {counted(spaced, 'recording')}")
    if formats.is_folder(path):
        found += formats.losses(events, empty=True, extra=held)
        return formats.per_recording(events, path, found, ending=".selections.txt", kind="Raven",
                             text=lambda rows, _, lost: _table(rows, lost, file=False))  # fmt: skip
    alone = (
        not len(frame)
        and len(events.silent) == 1
        and path.name.startswith(formats.file_name(events.silent[0], ".", []))
    )
    formats.save(path, _table(frame, found, file=len(frame) > 0))
    return found + formats.losses(events, empty=alone, extra=held)


def read_detections(source: Source) -> TextRows:
    """The detections; what a person typed (MANUAL ID) goes before the match; rows without a species are empty."""
    table = ColumnTable.read(source)
    names = [name for name in (table.find("MANUAL ID"), table.find("TOP1MATCH", "AUTO ID")) if name]
    names = names or [table.need("TOP1MATCH")]
    label = [next((v for v in row if v.strip()), "") for row in zip(*(table.columns[name] for name in names))]
    table.columns[names[0]] = label
    if "" in label:
        source.note(f"{label.count('')} rows name no species and are read as nothing found")
    fixed = {"recording": ("IN FILE",), "onset": ("OFFSET",), "length": ("DURATION",), "label": (names[0],),
             "confidence": ("TOP1DIST", "TOP1MATCHDIST")}  # fmt: skip
    rows = rows_of(table, Dialect("kaleidoscope", "", frozenset(), fixed, nothing=("",)))
    for name in ("INDIR", "FOLDER", *names[1:]):
        rows.data.pop(table.find(name) or "", None)
    return rows


def write_detections(events: Events, path: Path) -> list[str]:
    """Offsets, durations and matches."""
    titles = {"INDIR": "", "FOLDER": "", "IN FILE": "recording", "OFFSET": "onset", "DURATION": "length",
              "TOP1MATCH": "label"}  # fmt: skip
    found = formats.table_writer(titles, delimiter=",")(events, path)
    return [*found, "events with an empty label"] if "" in events.labels else found


READERS = (
    Format("raven", "Raven selection table, also BirdNET's", sniff, read, write,
           endings=(".selections.txt", ".selection.table.txt")),
)  # fmt: skip
_MATCHES = {"top1match", "auto id", "manual id"}
DETECTIONS = (
    Format("kaleidoscope", "Kaleidoscope CSV (IN FILE, OFFSET, DURATION, TOP1MATCH)",
           lambda s: {"in file", "offset", "duration"} <= s.names and bool(_MATCHES & s.names), read_detections,
           write_detections),
)  # fmt: skip
