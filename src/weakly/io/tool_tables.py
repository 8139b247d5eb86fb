"""Tables of tools: DCASE and sed_eval, AudioSet, Raven and Kaleidoscope.

DCASE and sed_eval lists are strong or weak, with or without a line of names. A row with empty fields is a clip that was
annotated and holds nothing; ``0 0 label`` in a list without names (DCASE 2017) says that the label was looked for and
not found. AudioSet's weak clips are called like their strong counterparts, ``YTID_milliseconds``, so that the two can
be joined. Of Raven, a table with a line of names and nothing else was annotated and is empty; ``Begin Time (s)`` counts
over a whole sequence of files, so ``File Offset (s)`` is used where it is there; there are no quotes in these tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
import pandas as pd

from ..base.results import counted
from ..model.answers import Answers
from ..model.events import Events
from . import formats
from .formats import EMPTY, LENGTHS, Format, delimited, losses, plain_fields, save, texts_of
from .plain import Dialect, rows_of
from .source import Source, column_of
from .table import ColumnTable, TextRows
from .tracks import first_is_label
from .vocabulary import TIER, is_answers, is_number, is_vocabulary, normal, numbers, suited

CLIP = re.compile(r"_(\d+(?:\.\d+)?)_(\d+(?:\.\d+)?)(?:\.\w+)?$")
_FILE, _ONSET, _OFFSET = ("filename", "file"), ("onset", "event_onset"), ("offset", "event_offset")
_LABEL = ("event_label",)
_NAMES, _ROW = ("filename", "onset", "offset", "event_label"), ("recording", "onset", "offset", "label")


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
    if any(line.startswith("\\\t") for line in source.head):
        return ""  # an Audacity track with lines of frequencies
    rows = [list(map(str.strip, line.split(source.delimiter))) for line in source.head]
    shapes = {"".join("n" if is_number(field) else "t" if field else "-" for field in row) for row in rows} - {"t---"}
    if len(shapes) > 1:  # an event label may look like a number
        alike = len(set(map(len, shapes))) == 1
        shapes = {"".join("t" if "t" in column else "n" for column in zip(*shapes)) if alike else ""}
    return shapes.pop() if shapes else ""


def _strong_names(source: Source) -> bool:
    names = source.header
    return all(column_of(names, *words) for words in (_FILE, _ONSET, _OFFSET, _LABEL)) and len(names) <= 6


def sniff_clips(source: Source) -> bool:
    """Rows whose two numbers are those in the clip's own name."""
    if _shape(source) != "tnnt":
        return False
    rows = [[field.strip() for field in line.split(source.delimiter)] for line in source.head]
    told = [(CLIP.search(name), times) for name, *times, _ in rows if all(map(is_number, times))]
    same = [m is not None and [*map(float, m.groups())] == [*map(float, times)] for m, times in told]
    return len(same) == len(rows) and all(same)


def read_strong(source: Source) -> TextRows:
    """The events of a strong list."""
    width = len(source.header)
    names = ["filename", "scene", *_NAMES[1:]] if width == 5 else list(_NAMES[: max(width, 3)])
    table = ColumnTable.read(source, names=None if _strong_names(source) else names)
    if "event_label" not in table.columns and first_is_label(source, table.columns[table.names[0]], told=False):
        table.columns["event_label"] = table.columns.pop("filename")
        table.names = list(table.columns)
    known = {column_of(table.names, *words) for words in (_FILE, _ONSET, _OFFSET, _LABEL)}
    more = any(is_answers(table.columns[name]) for name in table.names if name not in known)  # a rater's, perhaps
    return rows_of(table, Dialect(exact=not more, sought=True))


def write_strong(events: Events, path: Path) -> list[str]:
    """The events under the names filename, onset, offset, event_label; empty recordings as rows of empty fields."""
    found = formats.table_writer(dict(zip(_NAMES, _ROW)), delimiter="\t", empty=True)(events, path)
    return [*found, "that no event had a class name"] if events.labels == [""] else found  # an empty column is read so


def read_weak(source: Source, titles: Sequence[str] | None = None) -> TextRows:
    """The labels of clips, which are as long as their names tell: each listed label is present; of others nothing is
    said; a clip without a label is empty."""
    table = ColumnTable.read(source, names=None if titles is None else list(titles))
    for time in {"onset", "offset"} & table.columns.keys():  # in the video, as the clips' names say
        table.numbers(time)
    file, label = table.need(*_FILE), table.need("event_labels", "event_label")
    table = table.listed(label, _lists(table.columns[label])) if label.lower() == "event_labels" else table
    names, labels = [name.strip() for name in table.columns[file]], table.columns[label]
    known = {name: clip_length(name) for name in dict.fromkeys(names)}
    offset = np.array([known[name] for name in names], dtype=np.float64)
    onset = np.where(np.isnan(offset), np.nan, 0.0)
    rows = TextRows.of(source, table.lines, names, onset, offset, labels, present=np.ones(len(labels)))
    rows.lengths = {name: length for name, length in known.items() if length == length}
    rows.nothing_in(np.array([not label for label in labels], dtype=bool))
    if rows.lengths:
        source.note(f"the lengths of {counted(len(rows.lengths), 'clip')} are taken from their names")
    return rows.say("filename", "listed labels", "time = all of the clip")


def _lists(cells: Sequence[str]) -> list[list[str]]:
    """The labels that each cell lists by commas, or an empty one."""
    return [[label.strip() for label in text.split(",") if label.strip()] or [""] for text in cells]


def write_weak(answers: Answers, path: Path) -> list[str]:
    """Clips and their present labels; one label per row where a label holds a comma."""
    frame, listing = answers.to_frame(), answers.recordings
    found = formats.unheld(frame, "'absent', which is left to be understood")
    segments = frame[["recording", "onset", "offset"]].drop_duplicates()
    if segments["recording"].duplicated().any():
        spans = zip(frame["recording"], texts_of(frame, "onset"), texts_of(frame, "offset"))
        names = [re.sub(r"(\.[^\W_]{1,5})?$", rf"_{a}_{b}\1", name, count=1) for name, a, b in spans]
        found.append("the names of recordings with several segments: each segment is written as a clip of its own")
    else:
        names = frame["recording"].tolist()
        untold = [n for n, v in listing["length"].items() if v == v and clip_length(str(n)) != v]
        if untold:
            found.append(f"the {'length' if len(untold) == 1 else 'lengths'} of {counted(len(untold), 'recording')}")
    found += losses(answers, EMPTY, LENGTHS)
    present: dict[str, list[str]] = {name: [] for name in (*names, *answers.silent)}
    for name, label, value in zip(names, frame["label"].tolist(), frame["present"].tolist()):
        present[name] += [label] if value == 1 and label not in present[name] else []
    awkward = any("," in label or label != label.strip() for labels in present.values() for label in labels)
    title, joined = ("event_label", None) if awkward else ("event_labels", ",".join)
    cells = {name: [joined(labels)] if joined else labels or [""] for name, labels in present.items()}
    columns = [[name for name, some in cells.items() for _ in some], [cell for some in cells.values() for cell in some]]
    save(path, delimited(columns, delimiter="\t", names=["filename", title]))
    return found


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
    held = table.listed("positive_labels", _lists(table.columns["positive_labels"]))
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


AUDIOSET = (
    Format("audioset-weak", "AudioSet weak CSV (YTID, start_seconds, end_seconds, positive_labels)",
           lambda s: any(re.match(r"#.*YTID.*positive_labels", line) for line in s.head[:10]), read_videos),
)  # fmt: skip
READERS = (
    Format("dcase", "DCASE/DESED strong list (filename, onset, offset, event_label)", _strong_names, read_strong,
           write_strong, endings=(".tsv",)),
    Format("dcase-weak", "DCASE/DESED weak list (filename, event_labels)",
           lambda s: bool({*_FILE} & s.names and {"event_labels", "event_label"} & s.names)
           and not any(suited(s.header, role) for role in ("onset", "offset", "present")),
           read_weak, None, write_weak, endings=(".tsv",)),
    Format("dcase-clips", "DCASE 2017 weak list (file and times in the video, label; no names)", sniff_clips,
           partial(read_weak, titles=_NAMES)),
    Format("sed_eval", "sed_eval list without names ([file, [scene,] onset, offset, label)",
           lambda s: _shape(s) in ("tnnt", "tnnn", "ttnnt", "ttnnn", "tnn"), read_strong),
)  # fmt: skip


BEGIN, END, INTO = "Begin Time (s)", "End Time (s)", "File Offset (s)"
_RAVEN_OWN = {
    "selection", "view", "channel", "begin time (s)", "end time (s)", "low freq (hz)", "high freq (hz)",
    "file offset (s)", "begin file", "begin path", "end file", "end path", "delta time (s)", "delta freq (hz)",
    "confidence", "score", "begin sample (samples)", "end sample (samples)", "file duration (s)", "begin clock time",
    "end clock time", "begin date", "begin hour", "annotator", "notes", "comments", "species code", "begin date time",
    "center freq (hz)",
}  # fmt: skip
_RAVEN_LABELS = ("species", "common name", "annotation", "annotations", "tags", "label", "class", "event_label",
           "species code")  # fmt: skip
_RAVEN_ENDING = (r"\.Table\.\d+\.selections\.txt$", r"\.BirdNET\.selection\.table\.txt$", r"\.selection\.table\.txt$",
           r"\.selections\.txt$", r"\.selections\.tsv$")  # fmt: skip


def sniff_raven(source: Source) -> bool:
    """The two columns of times, separated by tabs; beside a recording under another's name it is another's table."""
    if not {"begin time (s)", "end time (s)"} <= source.names or source.delimiter != "\t":
        return False
    named = [n for n in suited(source.header, "recording") if n.lower() not in _RAVEN_OWN and TIER[normal(n)[0]] < 2]
    return "selection" in source.names or not named


def label_column(table: ColumnTable, said: str | None = None) -> str | None:
    """The column that holds the labels: as told, else by its name, else the only one that Raven did not make."""
    if "label" in table.source.columns:
        return table.need(table.source.columns["label"])
    named = column_of([name for name in table.names if name != said], *_RAVEN_LABELS)
    free = [name for name in table.names if name and name != said and name.lower() not in {*_RAVEN_OWN, "query"}]
    free = [named] if named is not None else free
    if len(free) > 1:
        told = f"the label could be any of the columns {', '.join(free[:12])}"
        raise table.source.error(f"{told}; say which with columns, for example label={free[0]}")
    return free[0] if free else None


def read_raven(source: Source) -> TextRows:
    """The selections of one table."""
    quotes = bool(source.head) and source.head[0].lstrip().startswith('"')  # a spreadsheet put them around everything
    table = ColumnTable.read(source, delimiter="\t", quotes=quotes)
    own, begin, end = source.stem(*_RAVEN_ENDING), table.need(BEGIN), table.need(END)
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
    known = {"recording": file or path or "@file", "onset": start, "offset": end, "label": label or "@none",
             "present": said, "query": table.find("Query", "Query ID") if said else None}  # fmt: skip
    renamed |= {table.find("Channel"): "channel"}
    told = {role: name for role, name in known.items() if name}
    rows = rows_of(table, Dialect("raven", told=told, endings=_RAVEN_ENDING, renamed=renamed))
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
        return into
    groups = pd.DataFrame({"recording": recording, "first": first, "last": last}).groupby("recording", sort=False)
    spans = groups.agg({"first": "min", "last": "max"}).sort_values("first").to_numpy()
    if len(spans) > 1 and (spans[1:, 0] >= spans[:-1, 1]).all():  # each begins after the one before
        told = "Begin Time seems to run on over a sequence of files and there is no File Offset: the times are right"
        source.note(f"{told} for the first recording only", kind="cumulative times")
    return begin


_RAVEN = {BEGIN: "onset", END: "offset", "Low Freq (Hz)": "low_frequency", "High Freq (Hz)": "high_frequency",
          "Begin File": "recording", INTO: "onset", "Annotator": "annotator", "Confidence": "confidence",
          "Species": "label"}  # fmt: skip


def _selections(frame: pd.DataFrame, found: list[str], *, file: bool) -> Iterator[str]:
    first = [str(i + 1) for i in range(len(frame))], ["Spectrogram 1"] * len(frame)
    channel = [text or "1" for text in texts_of(frame, "channel", default="1")]
    columns = dict(zip(("Selection", "View", "Channel"), (*first, channel)))
    gone = {"Begin File", INTO} if not file else set()
    for title, name in _RAVEN.items():
        if title not in gone and (name in frame or title.endswith("(Hz)")):
            told = {"recording": "recording name", "label": "label"}.get(name, f"{name} value")
            columns[title] = plain_fields(texts_of(frame, name), found, told)
    yield from ("\t".join(row) + "\n" for row in (columns, *zip(*columns.values())))


def write_raven(events: Events, path: Path) -> list[str]:
    """One table of all recordings; or, where the path is a folder, one per recording, the empty ones too."""
    frame, held, found = events.to_frame(), ("channel", *_RAVEN.values()), list[str]()
    for words, names in (("", events.labels), ("the names of ", events.recordings.index)):
        spaced = sum(name != name.strip() for name in names)
        what = counted(spaced, "recording" if words else "label")
        found += [f"spaces around {words}{what}"] if spaced else []
    if formats.is_folder(path):
        found += losses(events, EMPTY, *held)
        return formats.per_recording(events, path, found, ending=".selections.txt", kind="Raven",
                             text=lambda rows, _, lost: _selections(rows, lost, file=False))  # fmt: skip
    silent = events.silent
    alone = not len(frame) and len(silent) == 1 and path.name.startswith(formats.file_name(silent[0], ".", []))
    save(path, _selections(frame, found, file=len(frame) > 0))
    return found + losses(events, *[EMPTY] * alone, *held)


def read_detections(source: Source) -> TextRows:
    """The detections; what a person typed (MANUAL ID) goes before the match; rows without a species are empty."""
    table = ColumnTable.read(source)
    names = [name for name in (table.find("MANUAL ID"), table.find("TOP1MATCH", "AUTO ID")) if name]
    names = names or [table.need("TOP1MATCH")]
    label = [next((v for v in row if v.strip()), "") for row in zip(*(table.columns[name] for name in names))]
    table.columns[names[0]] = label
    if "" in label:
        source.note(f"{label.count('')} rows name no species and are read as nothing found")
    told = {"recording": "IN FILE", "onset": "OFFSET", "length": "DURATION", "label": names[0],
            "confidence": "TOP1DIST|TOP1MATCHDIST"}  # fmt: skip
    rows = rows_of(table, Dialect("kaleidoscope", told=told, nothing=("",)))
    for name in ("INDIR", "FOLDER", *names[1:]):
        rows.data.pop(table.find(name) or "", None)
    return rows


RAVEN = (
    Format("raven", "Raven selection table, also BirdNET's", sniff_raven, read_raven, write_raven,
           endings=(".selections.txt", ".selection.table.txt")),
)  # fmt: skip
_MATCHES = {"top1match", "auto id", "manual id"}
DETECTIONS = (
    Format("kaleidoscope", "Kaleidoscope CSV (IN FILE, OFFSET, DURATION, TOP1MATCH)",
           lambda s: {"in file", "offset", "duration"} <= s.names and bool(_MATCHES & s.names), read_detections),
)  # fmt: skip
