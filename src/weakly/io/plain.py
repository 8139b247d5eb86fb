"""Tables with a line of names, CSV or TSV: ours, which hold everything, and those of many tools, told by their columns.

A dialect is a line of a table: the names that give it away, and the columns that it fixes; everything else is found by
``columns``. Our own table holds empty recordings as rows without times, lengths, and what was not annotated.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np

from ..base.results import counted
from ..model.answers import Answers
from ..model.events import Events
from . import times
from . import vocabulary as terms
from .columns import _decides, _goes_with, alone, roles_of
from .formats import Format, delimited, everything_of, save, table_writer
from .source import Source, quoted
from .table import ColumnTable, TextRows, several_labels
from .times import Roles

CLIP_TIMES = ("file", "start_time", "end_time")
_TIMES = ("onset", "offset", "length", "recording_length", "rate", "origin", "seconds")


@dataclass(frozen=True)
class Dialect:
    """The table of one tool: what gives it away, what its columns are, which labels say that nothing is there."""

    name: str = ""
    words: str = ""
    needs: frozenset[str] = frozenset()
    told: dict[str, str] = field(default_factory=dict)  # role: columns (a|b), the first that is there, or @next, a rate
    nothing: tuple[str, ...] = ()  # labels of rows that say "empty"
    endings: tuple[str, ...] = ()  # of the file's name, beyond the recording's
    points: tuple[str, ...] = ("\0", "")  # a column, what it says of events without a length, and of mere ends
    renamed: dict[str, str] = field(default_factory=dict)
    length: float = np.nan  # seconds of every recording
    only: bool = False  # whether other columns are left out
    sought: bool = False  # whether ``0 0`` says that the label was looked for
    exact: bool = True  # what stands in a cell is meant so


EXACT, LOOSE = Dialect(), Dialect(exact=False)  # of no tool that we know


DIALECTS = (
    Dialect("birdnet", "BirdNET CSV (Start (s), End (s), Scientific name, Common name, Confidence, File)",
            frozenset(("start (s)", "end (s)", "common name", "confidence")),
            {"label": "Common name", "confidence": "Confidence"},
            endings=(r"\.BirdNET\.results(\.\w+)?\.csv$",), renamed={"Scientific name": "scientific_name"}),
    Dialect("szcore", "SzCORE seizure annotations (onset, duration, eventType, ..., recordingDuration)",
            frozenset(("onset", "duration", "eventtype")),
            {"label": "eventType", "recording_length": "recordingDuration"},
            nothing=("bckg", "background", "bkgd"), endings=(r"_events\.[tc]sv$", r"_(annotations|seizures)\.[tc]sv$")),
    Dialect("boris", "BORIS aggregated events (Observation id, Behavior, Start (s), Stop (s))",
            frozenset(("observation id", "behavior", "start (s)", "stop (s)")),
            {"recording": "Observation id", "label": "Behavior", "recording_length": "Media duration (s)|Total length"},
            points=("Behavior type", "POINT")),
    Dialect("noldus", "Noldus Observer's event log (Observation, Behavior, Time_Relative_sf, Duration_sf, Event_Type)",
            frozenset(("behavior", "time_relative_sf", "duration_sf", "event_type")),
            {"recording": "Observation", "onset": "Time_Relative_sf", "length": "Duration_sf", "label": "Behavior"},
            points=("Event_Type", "Point", "State stop")),
    Dialect("arbimon", "Arbimon pattern matching (recording, species, x1, x2, y1, y2, validated)",
            frozenset(("recording", "species", "x1", "x2", "y1", "y2")),
            {"recording": "recording", "onset": "x1", "offset": "x2", "label": "species", "confidence": "score",
             "present": "validated"}),
    Dialect("birdclef", "BirdCLEF soundscapes (row_id, audio_id, seconds, birds): windows of 5 s that end there",
            frozenset(("row_id", "seconds", "birds")), {"recording": "audio_id|filename", "offset": "seconds",
            "label": "birds", "length": "5s"}, nothing=("nocall",), exact=False),
    Dialect("aplose", "APLOSE results (filename, start_time, end_time, annotation, annotator, is_box)",
            frozenset(("filename", "start_time", "end_time", "annotation", "annotator", "is_box")),
            {"label": "annotation"}),
    Dialect("mne-csv", "MNE annotations as CSV (onset, duration, description; onsets are dates)",
            frozenset(("onset", "duration", "description")), {"label": "description"},
            endings=(r"[-_.]annot(ations)?\.csv$", r"[-_]annot\.csv$")),
    Dialect("audioset", "AudioSet strong table (segment_id, start_time_seconds, end_time_seconds, label[, present])",
            frozenset(("segment_id", "start_time_seconds", "end_time_seconds", "label"))),
    Dialect("boundaries", "SALAMI boundaries (song_id, annotator, time, label): each lasts until the next",
            frozenset(("song_id", "time", "label")), {"offset": times.NEXT}),
    Dialect("stead", "STEAD metadata (p_arrival_sample, coda_end_sample, trace_name): 60 s of 100 samples a second",
            frozenset(("p_arrival_sample", "coda_end_sample", "trace_name")), {"recording": "trace_name", "rate": "100",
            "onset": "p_arrival_sample", "offset": "coda_end_sample", "label": "trace_category"},
            nothing=("noise",), length=60.0, only=True),
)  # fmt: skip


def dialect_of(source: Source) -> Dialect | None:
    """The dialect of a table, from its names; one that says where events end is not told so."""
    known = (each for each in DIALECTS if each.needs <= source.names)
    return next((each for each in known if each.told.get("offset") != times.NEXT or "end" not in source.names), None)


def is_bids(source: Source) -> bool:
    """Whether a table is a BIDS events file: so called, or with the two columns that BIDS puts first."""
    first = source.delimiter == "\t" and [name.lower() for name in source.header[:2]]
    return source.path.name.lower().endswith("_events.tsv") or first == ["onset", "duration"]


def sniff(source: Source) -> bool:
    """A line of names that tells of times, answers or labels of recordings, or the columns that the caller named."""
    names = source.header
    if len(names) < 2 or sum(terms.kind_of([name]) in ("number", "clock") for name in names) > 1:
        return False
    told = {role: name for role, name in source.columns.items() if not times.special(role, name)}
    if told:
        return all(part.strip().lower() in source.names for name in told.values() for part in name.split("+")
                   if name.lower() not in source.names)  # fmt: skip
    if sum(bool(terms.suited(names, role)) for role in ("onset", "offset", "length")) > 1:
        return True
    known = {role: terms.suited(names, role) for role in ("recording", "onset", "label", "annotator", "epoch")}
    rows = [line.split(source.delimiter) for line in source.head[1:]]
    rows = [[field.strip().strip('"') for field in row] for row in rows if len(row) == len(names)]
    answers = any(terms.is_answers(column) for column in zip(*rows)) if rows else False
    if known["onset"] and (known["recording"] or known["label"] or answers):
        return True
    named = [terms.TIER[terms.normal(name)[0]] for name in known["recording"]]
    if (not any(tier < 3 for tier in named) and not known["epoch"]) or terms.is_lengths(source):
        return False
    other = [name for name in names if name not in known["recording"][:1]]
    words = len(rows) > 1 and (len(names) == 2 or 0 in named)  # a recording and a word for each
    return bool(known["epoch"] or answers or terms.suited(names, "present") or terms.suited(other, "label") or words)


def read(source: Source) -> TextRows:
    """The events or the answers of a table with named columns."""
    return rows_of(ColumnTable.read(source), dialect_of(source) or LOOSE)


def rows_of(table: ColumnTable, dialect: Dialect = LOOSE, classes: Sequence[str] = ()) -> TextRows:
    """The rows of a table; a row without times and label is an empty recording.

    ``classes`` are columns of answers, each about the class of its name.
    """
    source = table.source
    for key, value in source.partitions.items():  # a class, a place, an annotator; times are in the rows
        if table.find(key) is None and not any(terms.suited([key], role) for role in _TIMES):
            table.columns[key] = [value] * len(table)
            table.names.append(key)
    known = {role: name if times.special(role, name) else table.find(name, *name.split("|"))
             for role, name in dialect.told.items()}  # fmt: skip
    told = {role: name for role, name in known.items() if name is not None}
    if dialect.name == "arbimon" and "present" in told and terms.answers_of(table.columns[told["present"]])[1].all():
        del told["present"]  # nobody has looked at the matches
    bids = is_bids(source) and "recording" not in told
    source.columns = {**({"recording": "@file"} if bids else {}), **told, **source.columns}
    roles = roles_of(table, exact=dialect.exact, classes=classes)
    if dialect.name and "present" not in {*roles.names, *source.columns}:  # what somebody made of a tool's rows
        free = [n for n in table.names if n not in roles.names.values() and terms.normal(n)[0] not in terms.ASIDE]
        roles.asked = [n for n in free if terms.is_answers(table.columns[n]) and len({*table.columns[n]}) > 1]
        roles.sided = True
    table = _spread(table, roles)
    own = source.stem(*dialect.endings, *((r"_events\.tsv$",) if bids else ()))
    recording = recordings_of(table, roles, own)
    whole = times.whole_recordings(table, roles)
    onset, offset, unit = times.times_of(table, roles, recording, mne=dialect.name == "mne-csv")
    asked = "present" in roles.names
    if asked and not unit:
        named = times.clip_times(recording)
        if named is not None:
            recording, onset, offset = named
            unit = "the clips' names"
    label_name = roles.names["label"] if roles.names.get("label") in table.columns else None
    unnamed = source.label or roles.named or "event"
    # Equal texts are one object: every later look into a set or a dictionary is the faster for it.
    label = list(map(intern, terms.texts(table.columns[label_name]))) if label_name else [unnamed] * len(table)
    ended = bool({"offset", "length"} & roles.names.keys())
    if source.point_length is not None and not asked and "onset" in roles.names and not ended:
        offset = onset.copy()
    blank = np.zeros(len(table), dtype=bool) if asked else table.nothing(onset, offset, label_name)
    if "recording" not in roles.names and not roles.parts:
        for i in np.flatnonzero(blank).tolist():  # without a recording of its own, a row that tells of something
            if any(str(values[i]).strip().lower() not in terms.MISSING for values in table.columns.values()):
                onset[i], blank[i] = np.inf, False  # is one without times
    zero = (onset == 0) & (offset == 0)
    if dialect.sought and zero.any():
        source.note(f"{counted(int(zero.sum()), 'row')} '0 0': a label was looked for and not found")
        blank |= zero
    if dialect.nothing:
        blank |= np.array([value.strip().lower() in dialect.nothing for value in label], dtype=bool)
    kind = table.columns.get(dialect.points[0], ())
    points = np.array([value == dialect.points[1] for value in kind], bool)
    data: dict[str, Any] = {"recording": recording, "onset": onset, "offset": offset, "label": label}
    if "annotator" in roles.names:
        data["annotator"] = terms.texts(table.columns[roles.names["annotator"]])
    if "confidence" in roles.names:
        data["confidence"] = table.numbers(roles.names["confidence"])
    used = [name for role, name in roles.names.items() if role not in ("rate", "origin")] + roles.parts
    others = {} if dialect.only else table.others(*used)
    data |= {dialect.renamed.get(name, name): values for name, values in others.items() if name not in data}
    if "weak_column" in data and set(data["weak_column"]) <= {"True", "False", ""}:
        data["weak"] = np.array([value == "True" for value in data.pop("weak_column")], dtype=bool)
    aliases = {name: role for role, name in roles.names.items() if role in data}
    rows = TextRows(source, data, table.lines, aliases=aliases)
    lengths = _lengths_and_idle(table, roles, rows, blank)
    lengths |= dict.fromkeys(recording, dialect.length) if dialect.length == dialect.length else {}
    rows.lengths = lengths  # starts alone ask for them
    waiting = _answered(table, roles, rows) if asked else _unlabelled(rows, blank | roles.exact)
    if roles.names.get("offset") == times.NEXT:
        waiting |= times.only_end(rows, blank)
    if len(kind):
        waiting |= np.array([value in dialect.points[2:] for value in kind], bool)
    rows.blank |= {table.lines[i] for i in np.flatnonzero(blank & ~np.isinf(onset)).tolist()}
    rows.empty += [n for n, none in zip(recording, blank) if none and n and n not in rows.unannotated]
    if not len(table) and ("recording" not in roles.names or dialect.name == "raven"):
        rows.empty.append(own)
    boxes = table.find("is_box")
    if points.any():
        points = times.pass_points(rows, points)
        blank, waiting = blank[~points], waiting[~points]
    if whole and "recording_length" in roles.names:
        rows.data["onset"], rows.data["offset"] = np.zeros(len(table)), table.numbers(roles.names["recording_length"])
    rows.keep(~blank & ~waiting, why=("not answered yet" if asked else "ends only") if waiting.any() else "")
    if dialect.name == "aplose" and boxes:
        weak = np.array([value.strip().lower() in ("0", "false", "0.0") for value in rows.data[boxes]], dtype=bool)
        ends = zip(rows.data["recording"], rows.data["offset"].tolist(), weak)
        rows.data |= {"weak": weak} if weak.any() else {}
        lengths |= {name: end for name, end, whole in ends if whole and end > 0}
    rows.bounds = dialect.name == "arbimon"
    rows.checked(lengths)
    _say_overlooked(roles)
    _say_asked(roles, rows)
    rows.reading = sentence(roles, rows, unit)
    return rows


def sentence(roles: Roles, rows: TextRows, unit: str) -> str:
    """One line that says what was taken as what."""
    names, labels, annotators = roles.names, len(set(rows.data["label"])), len(set(rows.data.get("annotator", ())))
    told = " + ".join(roles.parts) if roles.parts else names.get("recording", "the file's name")
    parts = [f"recording = {told} ({rows.n_recordings})"]
    unnamed = f"label = {roles.named!r}, the column's name" if roles.named else "no column names a label"
    by_class = roles.exact and roles.melted
    label = f"a column a label ({labels})" if by_class else f"label = {names.get('label')} ({labels})"
    parts.append(label if names.get("label", times.NONE) != times.NONE else unnamed)
    if "onset" in names:
        joined = f"{names['onset']} to {names['offset']}" if "offset" in names else names["onset"]
        joined += "" if "offset" in names or "length" not in names else f" + {names['length']}"
        parts.append(f"time = {joined} in {unit}")
    elif unit:
        parts.append(f"time = {unit}")
    elif names.get("present") == "@present":
        parts.append("labels of whole recordings, all present")
    for role, word in (("present", "answer"), ("annotator", "annotator"), ("recording_length", "recording_length")):
        if role in names and not names[role].startswith("@") and not (by_class and role == "present"):
            parts.append(f"{word} = {names[role]}" + (f" ({annotators})" if role == "annotator" else ""))
    left = [name for name in roles.unused if terms.normal(name)[0] not in terms.ASIDE]
    return ", ".join(parts) + (f"; not used: {', '.join(left[:8])}" if left else "")


def _spread(table: ColumnTable, roles: Roles) -> ColumnTable:
    """The table with a row for each class or person that has a column, and for each of several classes in one cell."""
    names, melted, label = roles.names, roles.melted, roles.names.get("label", "")
    if melted:
        several = "+".join(melted if len(melted) < 4 else [melted[0], "...", melted[-1]])
        answers = roles.exact or all(terms.is_answers(table.columns[name]) for name in melted)
        called = str if roles.exact else terms.without_presence
        table = table.melted(melted, (several, f"{several} say"), called=called)
        names[roles.into] = several
        names["present" if answers else "label"] = f"{several} say"
        if not answers and roles.into == "label":  # each cell that says something is a class of the row
            said = np.array([bool(value.strip()) for value in table.columns[names["label"]]]).reshape(-1, len(melted))
            said[:, 0] |= ~said.any(axis=1)
            table = table.taken(np.flatnonzero(said.ravel()))
    elif not roles.exact and isinstance(table.columns.get(label), list):
        found = several_labels(table.columns[label], label)
        many = [k for k, parts in enumerate(found or ()) if len(parts) > 1]
        if many:
            first = quoted(table.columns[label][many[0]])
            words = f"{counted(len(many), 'row')} with several classes (first {first}), each taken for itself"
            table.source.note(words)
        table = table if found is None else table.listed(label, found)
    roles.table = table
    return table


def _unlabelled(rows: TextRows, blank: Any) -> Any:
    """Which rows have times and no label where others have one: they are broken, and said."""
    label = rows.data["label"]
    if "" not in label or not any(label):
        return np.zeros(len(rows), dtype=bool)
    none = np.array([not value.strip() for value in label], dtype=bool) & ~blank & np.isfinite(rows.data["onset"])
    places = list(compress(rows.places, none))
    rows.source.problems += [(place, "label", "the event has no label") for place in places]
    rows.empty += compress(rows.data["recording"], none)
    if places:
        rows.source.note(f"{counted(len(places), 'event')} without a label left out (first in line {places[0]})")
    return none


def _say_asked(roles: Roles, rows: TextRows) -> None:
    """Ask about columns that may be answers: a note beside events of their own lengths, else a refusal."""
    source, names = roles.table.source, roles.asked
    if not names or "present" in source.columns:
        return
    some, several = ", ".join(map(quoted, names[:4])), len(names) > 1
    told = shlex.quote(f"annotator={'+'.join(names)}" if several else f"answer={names[0]}")
    ways = f"--columns {told} if {'each is a person' if several else 'it is the answer'}"
    words = f"{some} hold nothing but yes and no (0 and 1), perhaps answers: {ways}, --columns answer=@none if not"
    length = rows.data["offset"] - rows.data["onset"]
    if not roles.sided and (rows.weak or not len(length) or times.are_even(length)):
        raise source.error(f"{words}")
    source.asked = ways
    source.note(words, kind="unused column")


def _say_overlooked(roles: Roles) -> None:
    """Name the unused columns that may tell recordings apart; aloud where the whole table became one recording.

    These are ids finer than the recording and coarser than a row; where no column names it, anything repeated.
    """
    source, label, columns = roles.table.source, roles.names.get("label"), roles.table.columns
    single, recording, names = alone(roles), roles.names.get("recording"), dict[str, int]()
    for name in (each for each in roles.unused if terms.normal(each)[0] not in terms.ASIDE):
        many, rows = len(set(columns[name])), len(columns[name])
        ids = terms.IDLIKE.search(terms.normal(name)[0]) and not many == rows > 9  # one for each row
        known = recording in columns and _decides(columns[recording], columns[name])
        if (ids or (single and many < rows)) and not (known or _goes_with(roles, name)):
            names[name] = many
    if single and label and "label" not in source.columns and not terms.suited([label], "label"):
        words = "no column is known to name the recordings or the labels; "
        words += f"{quoted(label)} is taken as the label and the file as one recording: "
        way = f"--columns recording={label} if it tells recordings apart, label={label} if not"
        source.note(words + way, kind="unknown columns")
    if single and names:
        first, several = next(iter(names)), ", ".join(map(quoted, [*names][:4]))
        words = f"no column names the recordings, so the file is one; {several} {'is' if len(names) == 1 else 'are'} "
        way = f"--columns recording={first}, or recording=@file if it is one"
        source.note(f"{words}not used and may tell several apart: {way}", kind="unused column")
    for name, many in names.items() if not single else ():
        words = f"{quoted(name)} ({many} values) is not used; --columns recording={name} if it is the recording"
        source.signs.append(("unused column", f"{source.name}: {words}"))


def recordings_of(table: ColumnTable, roles: Roles, own: str) -> list[str]:
    """The recording of every row: a column, several together, or the file's own name."""
    if roles.parts:
        parts = zip(*(map(str.strip, terms.texts(table.columns[name])) for name in roles.parts))
        return list(map("/".join, parts))
    name = roles.names.get("recording")
    if name is None:
        return [own] * len(table)
    values = list(map(intern, terms.texts(table.columns[name])))
    spaced = all(value[:1] == " " for value in values)  # ", " between the fields
    return [value.strip() for value in values] if spaced else values


def _lengths_and_idle(table: ColumnTable, roles: Roles, rows: TextRows, blank: Any) -> dict[str, float]:
    """The lengths that a table states; the recordings that it says were not annotated are put into the rows."""
    recording = rows.data["recording"]
    if "annotated" in roles.names:
        said = zip(recording, terms.texts(table.columns[roles.names["annotated"]]), blank)
        rows.unannotated = sorted({n for n, yes, none in said if none and yes.lower() in ("false", "no", "0")})
    name = roles.names.get("recording_length")
    if name is None:
        return {}
    values = table.columns[name]
    if not isinstance(values, np.ndarray):
        several = [bool(re.search(r";|,.*,|,.*\.|\..*,", value)) for value in values]  # a comma alone may be decimal
        if any(several):  # several media have a length each
            words = f"{counted(sum(several), 'row')} with several lengths in {quoted(name)}, which are taken as unknown"
            table.source.note(words)
            table.columns[name] = ["" if yes else value for yes, value in zip(several, values)]
    return {n: float(v) for n, v in zip(recording, table.numbers(name)) if np.isfinite(v)}


def _answered(table: ColumnTable, roles: Roles, rows: TextRows) -> Any:
    """Add the answers to the rows; what cannot be read as one is a broken row; which rows wait for theirs."""
    source, name = table.source, roles.names["present"]
    values = table.columns.get(name, ["yes"] * len(table))  # @present
    if isinstance(values, np.ndarray):  # of numbers, one that is missing is unsure, unless nothing was asked
        cells = zip(values.astype(np.float64).tolist(), rows.data["label"], np.isfinite(rows.data["onset"]))
        values = [f"{value:g}" if value == value else "?" if label or timed else "" for value, label, timed in cells]
    if name == source.columns.get("present") and name in table.columns and terms.kind_of(values) == "number":
        numbers = table.numbers(name)  # told: counts, or shares
        if (numbers[np.isfinite(numbers)] >= 0).all() and not terms.is_answers(values):
            source.note(f"{quoted(name)} holds numbers: more than 0 is taken as present")
            values = ["" if v != v else "1" if v > 0 else "0" for v in numbers.tolist()]
    said, none = terms.answers_of(values)
    for i in np.flatnonzero(np.isinf(said)).tolist():
        words = "cannot be read as an answer; yes, no, unsure (present, absent, uncertain, 1, 0, ?) can"
        source.fail(table.lines[i], rows.data["label"][i] if roles.melted else name, f"{quoted(values[i])} {words}")
        rows.data["onset"][i] = np.inf
    rows.data["present"] = said
    rows.data.setdefault("annotator", [""] * len(table))
    seconds, query = roles.names.get("seconds"), roles.names.get("query")
    rows.data["seconds"] = table.numbers(seconds) if seconds else np.full(len(table), np.nan)
    rows.data["query"] = terms.texts(table.columns[query]) if query else [""] * len(table)
    if "comments" in rows.data and not any(rows.data["comments"]):
        del rows.data["comments"]
    # A row without a segment names a recording that was looked at; one with a segment waits for its answer.
    timed = ~np.isnan(rows.data["onset"]) if "onset" in roles.names else np.ones(len(table), dtype=bool)
    named = none & ~timed
    rows.empty += [n for n, yes in zip(rows.data["recording"], named) if yes or roles.melted]
    rows.blank |= {table.lines[i] for i in np.flatnonzero(named).tolist()}
    waiting = none & timed & ~np.isinf(rows.data["onset"])
    if waiting.any():
        left = f"{counted(int(waiting.sum()), 'clip')} not answered yet and left out"
        source.note("no clip is answered yet" if none.all() else left)
    return waiting | named


def write_table(events: Events, path: Path, *, delimiter: str) -> list[str]:
    """Everything; what numbers other columns hold reads back as text."""
    columns, kinds = everything_of(events), events.to_frame().dtypes
    save(path, delimited(list(columns.values()), delimiter=delimiter, names=list(columns)))
    known = ("onset", "offset", "confidence")
    typed = {str(name): kind for name, kind in kinds.items() if name not in known and kind.kind in "fiucmM"}
    return [f"that the column {name} holds {kind}: it reads back as text" for name, kind in typed.items()]


def sniff_clips(source: Source) -> bool:
    """The names of a clip table, and nothing but answers and empty fields under ``annotation``."""
    if not {*CLIP_TIMES, "annotation"} <= source.names:
        return False
    at = [name.lower() for name in source.header].index("annotation")
    rows, _ = source.rows(source.delimiter)
    said = [row[at].strip() for row in rows[1:] if len(row) > at]
    return not any(said) or terms.is_vocabulary(said)


def read_told(source: Source, **columns: Sequence[str]) -> TextRows:
    """The answers of a table of which some columns are known, by the first of their names that is there.

    A clip without an answer has not been answered yet and is passed over; all columns but that of labels must be there.
    """
    table = ColumnTable.read(source)
    told = {role: (table.find if role == "label" else table.need)(*names) for role, names in columns.items()}
    return rows_of(table, Dialect(told={role: name for role, name in told.items() if name is not None}))


def write_clips(answers: Answers, path: Path) -> list[str]:
    """Everything that the answers hold."""
    columns, frame = everything_of(answers, but="present"), answers.to_frame()
    said = ["yes" if v == 1 else "no" if v == 0 else "uncertain" for v in frame["present"].tolist()]
    first = dict(zip(CLIP_TIMES, map(columns.pop, ("recording", "onset", "offset"))))
    first["annotation"] = said + [""] * (len(columns["label"]) - len(said))
    save(path, delimited([*first.values(), *columns.values()], delimiter=",", names=[*first, *columns]))
    other = [str(name) for name in frame.columns[8:] if frame[name].dtype.kind in "fiub"]
    return [f"that the columns {', '.join(other)} hold numbers: they read back as text"] if other else []


_BIRDNET = {"Start (s)": "onset", "End (s)": "offset", "Scientific name": "scientific_name", "Common name": "label",
            "Confidence": "confidence", "File": "recording"}  # fmt: skip
_WRITERS = {"birdnet": table_writer(_BIRDNET, delimiter=",")}


def _named(dialect: Dialect) -> Format:
    def sniffed(source: Source) -> bool:
        dates = [line.split(",")[0] for line in source.head[1:5]]  # the names are anybody's; dates as onsets are MNE's
        mne = source.delimiter == "," and len(source.header) == 3 and terms.kind_of(dates) == "date"
        return dialect_of(source) is dialect and (mne or dialect.name != "mne-csv")

    def reader(source: Source) -> TextRows:
        return rows_of(ColumnTable.read(source), dialect)

    return Format(dialect.name, dialect.words, sniffed, reader, _WRITERS.get(dialect.name))


TOOLS = (
    *map(_named, DIALECTS),
    Format("bids", "BIDS events (onset, duration, trial_type; the file's name is the recording's)",
           lambda s: is_bids(s) and {"onset", "duration"} <= s.names, read),
)  # fmt: skip
TABLES = (
    Format("csv", "plain table, comma separated, with named columns; holds everything",
           lambda s: sniff(s) and s.delimiter != "\t", read, partial(write_table, delimiter=","), endings=(".csv",)),
    Format("tsv", "plain table, tab separated, with named columns; holds everything",
           lambda s: sniff(s) and s.delimiter == "\t", read, partial(write_table, delimiter="\t"), endings=(".tsv",)),
)  # fmt: skip
CLIPS = Format("clips", "clip table (file, start_time, end_time, annotation yes/no/uncertain)", sniff_clips,
               partial(read_told, present=("annotation",), label=("label",)), None, write_clips, endings=(".csv",),
               mark="annotation")  # fmt: skip
