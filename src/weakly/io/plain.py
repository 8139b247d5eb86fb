"""Tables with a line of names, CSV or TSV: ours, which hold everything, and those of many tools, told by their columns.

A dialect is a line of a table: the names that give it away, and the columns that it fixes; everything else is found by
``columns``. Our own table holds empty recordings as rows without times, lengths, and what was not annotated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InvalidInput
from ..model.events import Events
from .columns import roles_of, sentence
from .output import count, delimited, exact, extras, losses, save, silent_recordings, texts_of
from .recordings import Roles, alone, overlooked
from .registry import Format
from .source import Source, quoted
from .table import ColumnTable, TextRows, lengths_agree
from .times import MISSING, UNITS, date_in, dates, ending, kind_of
from .vocabulary import answers_of, is_events, is_vocabulary, normal, suited

_TIMES = ("onset", "offset", "length", "recording_length", "rate", "origin", "seconds")


@dataclass(frozen=True)
class Dialect:
    """The table of one tool: what gives it away, what its columns are, which labels say that nothing is there."""

    name: str
    words: str
    needs: frozenset[str]
    fixed: dict[str, tuple[str, ...]] = field(default_factory=dict)  # role: columns, the first that is there
    nothing: tuple[str, ...] = ()  # labels of rows that say "empty"
    endings: tuple[str, ...] = ()  # of the file's name, beyond the recording's
    points: tuple[str, str] = ("", "")  # a column, and what it says of events without a length
    renamed: dict[str, str] = field(default_factory=dict)


DIALECTS = (
    Dialect("birdnet", "BirdNET CSV (Start (s), End (s), Scientific name, Common name, Confidence, File)",
            frozenset(("start (s)", "end (s)", "common name", "confidence")),
            {"recording": ("File",), "onset": ("Start (s)",), "offset": ("End (s)",), "label": ("Common name",),
             "confidence": ("Confidence",)}, endings=(r"\.BirdNET\.results(\.\w+)?\.csv$",),
            renamed={"Scientific name": "scientific_name"}),
    Dialect("szcore", "SzCORE seizure annotations (onset, duration, eventType, ..., recordingDuration)",
            frozenset(("onset", "duration", "eventtype")),
            {"recording": ("filepath", "file"), "label": ("eventType",), "recording_length": ("recordingDuration",)},
            nothing=("bckg", "background", "bkgd"), endings=(r"_events\.[tc]sv$", r"_(annotations|seizures)\.[tc]sv$")),
    Dialect("boris", "BORIS aggregated events (Observation id, Behavior, Start (s), Stop (s))",
            frozenset(("observation id", "behavior", "start (s)", "stop (s)")),
            {"recording": ("Observation id",), "label": ("Behavior",), "onset": ("Start (s)",),
             "offset": ("Stop (s)",), "recording_length": ("Media duration (s)", "Total length")},
            points=("Behavior type", "POINT")),
    Dialect("aplose", "APLOSE results (filename, start_time, end_time, annotation, annotator, is_box)",
            frozenset(("filename", "start_time", "end_time", "annotation", "annotator", "is_box")),
            {"recording": ("filename",), "onset": ("start_time",), "offset": ("end_time",), "label": ("annotation",),
             "annotator": ("annotator",)}),
    Dialect("mne-csv", "MNE annotations as CSV (onset, duration, description; onsets are dates)",
            frozenset(("onset", "duration", "description")), {"label": ("description",)},
            endings=(r"[-_.]annot(ations)?\.csv$", r"[-_]annot\.csv$")),
)  # fmt: skip


def dialect_of(source: Source) -> Dialect | None:
    """The dialect of a table, from its names."""
    return next((dialect for dialect in DIALECTS if dialect.needs <= source.names), None)


def is_bids(source: Source) -> bool:
    """Whether a table is a BIDS events file: so called, or with the two columns that BIDS puts first."""
    first = [name.lower() for name in source.header[:2]]
    return source.path.name.lower().endswith("_events.tsv") or (
        first == ["onset", "duration"] and source.delimiter == "\t"
    )


def sniff(source: Source) -> bool:
    """A line of names with an onset and an end, or with answers, or the columns that the caller named."""
    names = source.header
    if len(names) < 2 or sum(kind_of([name]) in ("number", "clock") for name in names) > 1:
        return False
    if source.columns:
        return all(part.strip().lower() in source.names for name in source.columns.values() for part in name.split("+")
                   if name.lower() not in source.names and not part.strip().replace(".", "").isdigit()
                   and part != "@file")  # fmt: skip
    return is_events(names) or _answers(source)


def _answers(source: Source) -> bool:
    """A column of answers beside a recording."""
    names = source.header
    if not suited(names, "recording"):
        return False
    for name in suited(names, "present"):
        if normal(name)[0] in ("present", "answer", "is_present"):
            return True
        at = names.index(name)
        rows = [line.split(source.delimiter) for line in source.head[1:]]
        if is_vocabulary([row[at].strip().strip('"') for row in rows if len(row) == len(names)], words=True):
            return True
    return False


def read(source: Source) -> TextRows:
    """The events or the answers of a table with named columns."""
    return rows_of(ColumnTable.read(source), dialect_of(source))


def rows_of(table: ColumnTable, dialect: Dialect | None = None, *, sought: bool = False) -> TextRows:
    """The rows of a table; a row without times and label is an empty recording, and so is ``0 0`` if it was sought."""
    source = table.source
    for key, value in source.partitions.items():  # a class, a place, an annotator; times are in the rows
        if table.find(key) is None and not any(suited([key], role) for role in _TIMES):
            table.columns[key] = [value] * len(table)
            table.names.append(key)
    fixed = {}
    for role, names in (dialect.fixed if dialect else {}).items():
        name = table.find(*names)
        if name is not None:
            fixed[role] = name
    bids = is_bids(source) and "recording" not in fixed
    if bids:
        source.columns = {"recording": "@file", **source.columns}
    roles = roles_of(table, fixed=fixed)
    for key in ("onset", "offset"):
        if (
            key not in roles.names
            and not (key == "offset" and "length" in roles.names)
            and "present" not in roles.names
        ):
            there = ", ".join(f"{word}={name}" for word, name in roles.names.items())
            raise InvalidInput(f"{source.name}: no column for {key} among {', '.join(table.names[:30])} ({there})")
    own = source.stem(*(dialect.endings if dialect else ()), *((r"_events\.tsv$",) if bids else ()))
    recording = recordings_of(table, roles, own)
    onset, offset, unit = times_of(table, roles, recording, dialect)
    label_name = roles.get("label")
    label = shared(_texts(table.columns[label_name])) if label_name else [source.label or "event"] * len(table)
    asked = "present" in roles.names
    blank = np.zeros(len(table), dtype=bool) if asked else table.nothing(onset, offset, label_name)
    if "recording" not in roles.names and not roles.parts:
        for i in np.flatnonzero(blank).tolist():  # without a recording of its own, a row that tells of something
            if any(str(values[i]).strip().lower() not in MISSING for values in table.columns.values()):
                onset[i], blank[i] = np.inf, False  # is one without times
    if sought and ((onset == 0) & (offset == 0)).any():
        zero = (onset == 0) & (offset == 0)
        source.note(f"{source.name}: {int(zero.sum())} rows '0 0' say that a label was looked for and not found")
        blank |= zero
    if dialect and dialect.nothing:
        blank |= np.array([value.strip().lower() in dialect.nothing for value in label], dtype=bool)
    said = table.find(dialect.points[0]) if dialect else None
    points = np.array([value == dialect.points[1] for value in table.columns[said]], bool) if dialect and said else None
    data: dict[str, Any] = {"recording": recording, "onset": onset, "offset": offset, "label": label}
    if "annotator" in roles.names:
        data["annotator"] = _texts(table.columns[roles.names["annotator"]])
    if "confidence" in roles.names:
        data["confidence"] = table.numbers(roles.names["confidence"])
    used = [name for role, name in roles.names.items() if role not in ("rate", "origin")] + roles.parts
    others = {name: values for name, values in table.others(*used).items() if name not in data}
    data.update({(dialect.renamed if dialect else {}).get(name, name): values for name, values in others.items()})
    if "weak_column" in data and set(data["weak_column"]) <= {"True", "False", ""}:
        data["weak"] = np.array([value == "True" for value in data.pop("weak_column")], dtype=bool)
    rows = TextRows(
        source, data, table.lines, aliases={name: role for role, name in roles.names.items() if role in data}
    )
    _lengths_and_idle(table, roles, rows, blank)
    waiting = _answered(table, roles, rows) if asked else np.zeros(len(table), dtype=bool)
    rows.blank |= {table.lines[i] for i in np.flatnonzero(blank & ~np.isinf(onset)).tolist()}
    rows.empty += [n for n, none in zip(recording, blank) if none and n and n not in rows.unannotated]
    if not len(table) and "recording" not in roles.names:
        rows.empty.append(own)
    lengths = rows.lengths
    rows.lengths = {}
    boxes = table.find("is_box")
    if points is not None and points.any():
        pass_points(rows, points)
        blank, waiting = blank[~points], waiting[~points]
    rows.keep(~blank & ~waiting, why="not answered yet" if waiting.any() else "")
    if dialect and dialect.name == "aplose" and boxes:
        whole = np.array([value.strip().lower() in ("0", "false", "0.0") for value in rows.data[boxes]], dtype=bool)
        if whole.any():
            rows.data["weak"] = whole
            lengths |= {
                n: float(b) for n, b, w in zip(rows.data["recording"], rows.data["offset"], whole) if w and b > 0
            }
    rows.checked()
    lengths_agree(rows, lengths)
    _say_overlooked(roles)
    people = len(set(data.get("annotator", ()))) if "annotator" in data else 0
    n = len({*rows.data["recording"], *rows.empty, *rows.unannotated})
    rows.say(sentence(roles, recordings=n, labels=len(set(rows.data["label"])), annotators=people, unit=unit))
    return rows


def _say_overlooked(roles: Roles) -> None:
    """Name the unused columns that may tell recordings apart; aloud where the whole table became one recording."""
    source, names, label = roles.table.source, overlooked(roles), roles.get("label")
    if label and alone(roles) and "label" not in source.columns and not suited([label], "label"):
        source.note(
            f"{source.name}: no column is known to name the recordings or the labels; {quoted(label)} is taken as the "
            f"label and the file as one recording: --columns recording={label} if it tells recordings apart, "
            f"label={label} if not",
            kind="unknown columns",
        )
    if names and alone(roles):
        several = f"{quoted(names[0])} is" if len(names) == 1 else f"{', '.join(map(quoted, names[:4]))} are"
        source.note(
            f"{source.name}: no column names the recordings, so the file is one; {several} not used and may tell "
            f"several apart: --columns recording={names[0]}, or recording=@file if it is one",
            kind="unused column",
        )
        return
    for name in names:
        many = len(set(roles.table.columns[name]))
        words = f"{quoted(name)} ({many} values) is not used; --columns recording={name} if it is the recording"
        source.signs.append(("unused column", f"{source.name}: {words}"))


def pass_points(rows: TextRows, points: Any) -> None:
    """Leave out the rows that are points by their own words, and say so; their recordings were looked at."""
    rows.empty += dict.fromkeys(name for name, out in zip(rows.data["recording"], points) if out)
    rows.source.note(f"{rows.source.name}: {count(int(points.sum()), 'point')} left out: they have no length",
                     kind="points")  # fmt: skip
    rows.keep(~points, why="points")


def _texts(values: Any) -> list[str]:
    if isinstance(values, np.ndarray):
        return ["" if value is None or value != value else str(value) for value in values.tolist()]
    return list(values)


def shared(values: list[str]) -> list[str]:
    """The same texts, equal ones as one object: every later look into a set or a dictionary is the faster for it."""
    known: dict[str, str] = {}
    return list(map(known.setdefault, values, values))


def recordings_of(table: ColumnTable, roles: Roles, own: str) -> list[str]:
    """The recording of every row: a column, several together, or the file's own name."""
    if roles.parts:
        return ["/".join(part.strip() for part in row) for row in zip(*(_texts(table.columns[n]) for n in roles.parts))]
    name = roles.get("recording")
    if name is None:
        return [own] * len(table)
    values = shared(_texts(table.columns[name]))
    spaced = all(value[:1] == " " for value in values)  # ", " between the fields
    return [value.strip() for value in values] if spaced else values


def times_of(
    table: ColumnTable, roles: Roles, recording: list[str], dialect: Dialect | None = None
) -> tuple[Any, Any, str]:
    """Onsets and offsets in seconds, and the word for what they were written in."""
    source, names = table.source, roles.names
    if "onset" not in names or not ("offset" in names or "length" in names):
        nothing = np.full(len(table), np.nan)
        return nothing, nothing.copy(), ""
    end = "offset" if "offset" in names else "length"
    kinds = {role: kind_of(table.columns[names[role]]) for role in ("onset", end)}
    units = {role: roles.unit(role) for role in ("onset", end)}
    if "date" in kinds.values():
        onset, offset = _dated(table, roles, recording, end, kinds, dialect)
        return onset, offset, "dates"
    scales: dict[str, Any] = {role: UNITS.get(unit, 1.0) for role, unit in units.items()}
    if "rate" in source.columns:  # told, whatever the names say
        scales = dict.fromkeys(scales, np.nan)
    if any(scale != scale for scale in scales.values()):
        rate = _rate(table, roles)
        scales = {role: 1 / rate if scale != scale else scale for role, scale in scales.items()}
    onset, offset = (table.numbers(names[role]) for role in ("onset", end))
    onset, offset = (_scaled(values, scales[role]) for values, role in ((onset, "onset"), (offset, end)))
    if end == "length":
        offset = ending(onset, offset)
    if "rate" in source.columns:
        return onset, offset, f"1/{names['rate']} s" if names["rate"] not in table.columns else "samples"
    unit = next((units[role] for role in ("onset", end) if units[role] and UNITS[units[role]] != 1.0), "seconds")
    if unit in ("ms", "msec", "millis", "millisecond", "milliseconds"):
        source.note(f"{source.name}: {quoted(names['onset'])} says milliseconds; read as such")
    return onset, offset, "hh:mm:ss" if source.clocks & {names["onset"], names[end]} else unit


def _scaled(values: Any, scale: Any) -> Any:
    if isinstance(scale, float) and scale == 1.0:
        return values
    scaled = values * scale
    with np.errstate(invalid="ignore"):
        return np.where(
            np.isfinite(scaled) & (np.abs(scaled) < 1e6), np.round(np.where(np.isfinite(scaled), scaled, 0), 9), scaled
        )


def _rate(table: ColumnTable, roles: Roles) -> Any:
    """Samples (or frames) per second, of every row."""
    name = roles.names.get("rate")
    if name is None:
        raise InvalidInput(
            f"{table.source.name}: {quoted(roles.names['onset'])} counts samples or frames; say how many a second has: "
            "--columns rate=NAME of a column, or rate=16000"
        )
    if name not in table.columns:
        return float(name)
    rate = table.numbers(name)
    if not (rate > 0).all():
        i = int(np.flatnonzero(~(rate > 0))[0])
        raise InvalidInput(f"{table.source.at(table.lines[i])}, column {quoted(name)}: a rate must be > 0")
    return rate


def _dated(
    table: ColumnTable, roles: Roles, recording: list[str], end: str, kinds: Any, dialect: Dialect | None
) -> Any:
    """Seconds into the recording of dates: from a column with its start, its name, or (MNE) the first onset."""
    source, names = table.source, roles.names
    origin_name = roles.get("origin")
    moment = dates(_texts(table.columns[names["onset"]])) if kinds["onset"] == "date" else table.numbers(names["onset"])
    if origin_name is not None:
        origin = dates(_texts(table.columns[origin_name]))
    elif dialect is not None and dialect.name == "mne-csv":
        first = float(np.nanmin(moment)) if len(moment) and np.isfinite(moment).any() else 0.0
        epoch = first < 366 * 86400  # without a date of its own, MNE counts from 1970
        if not epoch:
            source.note(f"{source.name}: does not say when the recording began; times count from its first event")
        origin = np.full(len(moment), 0.0 if epoch else first)
    else:
        known = {name: date_in(name) for name in set(recording)}
        origin = np.array([known[name] for name in recording])
        if np.isnan(origin).any():
            raise InvalidInput(
                f"{source.name}: {quoted(names['onset'])} holds dates and nothing says when the recordings began; name "
                "the column that does (--columns origin=NAME), or give times in seconds"
            )
    onset = np.round(moment - origin, 6)
    if kinds[end] == "date":
        return onset, np.round(dates(_texts(table.columns[names[end]])) - origin, 6)
    return onset, ending(onset, table.numbers(names[end]))


def _lengths_and_idle(table: ColumnTable, roles: Roles, rows: TextRows, blank: Any) -> None:
    recording = rows.data["recording"]
    if "annotated" in roles.names:
        yes = [str(value).lower() for value in _texts(table.columns[roles.names["annotated"]])]
        idle = {n for n, value, none in zip(recording, yes, blank) if none and value in ("false", "no", "0")}
        rows.unannotated = sorted(idle)
    if "recording_length" in roles.names:
        name = roles.names["recording_length"]
        values = table.columns[name]
        if not isinstance(values, np.ndarray):
            # Several media have a length each; a comma alone may be decimal.
            several = [";" in value or value.count(",") > 1 or ("," in value and "." in value) for value in values]
            if any(several):
                table.source.note(f"{table.source.name}: {count(sum(several), 'row')} with several lengths in "
                                  f"{quoted(name)}, which are taken as unknown")  # fmt: skip
                table.columns[name] = ["" if yes else value for yes, value in zip(several, values)]
        known = table.numbers(name)
        rows.lengths = {n: float(v) for n, v in zip(recording, known) if v == v and np.isfinite(v)}


def _answered(table: ColumnTable, roles: Roles, rows: TextRows) -> Any:
    """Add the answers to the rows; what cannot be read as one is a broken row; which rows wait for theirs."""
    source, name = table.source, roles.names["present"]
    values = table.columns[name]
    if isinstance(values, np.ndarray):  # of numbers, one that is missing is unsure, unless nothing was asked
        told = rows.data["label"]
        numbers_ = values.astype(np.float64).tolist()
        timed = np.isfinite(rows.data["onset"]).tolist()
        values = [f"{v:g}" if v == v else "?" if c or at else "" for v, c, at in zip(numbers_, told, timed)]
    said, none = answers_of(values)
    for i in np.flatnonzero(np.isinf(said)).tolist():
        words = "cannot be read as an answer; yes, no, unsure (present, absent, uncertain, 1, 0, ?) can"
        source.fail(table.lines[i], name, f"{quoted(values[i])} {words}")
        rows.data["onset"][i] = np.inf
    rows.data["present"] = said
    rows.data.setdefault("annotator", [""] * len(table))
    seconds, query = roles.get("seconds"), roles.get("query")
    rows.data["seconds"] = table.numbers(seconds) if seconds else np.full(len(table), np.nan)
    rows.data["query"] = _texts(table.columns[query]) if query else [""] * len(table)
    if "comments" in rows.data and not any(rows.data["comments"]):
        del rows.data["comments"]
    # A row without a segment names a recording that was looked at; one with a segment waits for its answer.
    timed = ~np.isnan(rows.data["onset"]) if "onset" in roles.names else np.ones(len(table), dtype=bool)
    named = none & ~timed
    rows.empty += [n for n, yes in zip(rows.data["recording"], named) if yes]
    rows.blank |= {table.lines[i] for i in np.flatnonzero(named).tolist()}
    waiting = none & timed & ~np.isinf(rows.data["onset"])
    if waiting.any() and not ((~none).any()):
        source.note(f"{source.name}: no clip is answered yet")
    elif waiting.any():
        source.note(f"{source.name}: {count(int(waiting.sum()), 'clip')} not answered yet and left out")
    return waiting | named


def _write(events: Events, path: Path, delimiter: str) -> list[str]:
    frame, listing = events.to_frame(), events.recordings
    lost: list[str] = []
    silent = silent_recordings(events)
    idle = [name for name, yes in zip(listing.index, listing["annotated"]) if not yes]
    more = len(silent) + len(idle)
    names = ["recording", "onset", "offset", "label"]
    columns = [
        texts_of(frame, "recording") + silent + idle,
        exact(frame["onset"]) + [""] * more,
        exact(frame["offset"]) + [""] * more,
        texts_of(frame, "label") + [""] * more,
    ]
    for name in ("annotator", "confidence", *extras(frame)):
        if name in frame:
            names.append(str(name))
            columns.append(texts_of(frame, name) + [""] * more)
            if frame[name].dtype.kind in "fiucmM" and name != "confidence":
                lost.append(f"that the column {name} holds {frame[name].dtype}: it reads back as text")
    if listing["length"].notna().any():
        names.append("recording_length")
        columns.append(exact(listing["length"].reindex(columns[0])))
    if idle:
        names.append("annotated")
        columns.append(["True"] * (len(frame) + len(silent)) + ["False"] * len(idle))
    save(path, delimited(columns, delimiter=delimiter, names=names))
    return lost


def write_csv(events: Events, path: Path) -> list[str]:
    """Everything, separated by commas."""
    return _write(events, path, ",")


def write_tsv(events: Events, path: Path) -> list[str]:
    """Everything, separated by tabs."""
    return _write(events, path, "\t")


def write_birdnet(events: Events, path: Path) -> list[str]:
    """The detections as BirdNET writes them."""
    frame = events.to_frame()
    texts = [texts_of(frame, name) for name in ("scientific_name", "label", "confidence", "recording")]
    names = ("Start (s)", "End (s)", "Scientific name", "Common name", "Confidence", "File")
    save(path, delimited([exact(frame["onset"]), exact(frame["offset"]), *texts], delimiter=",", names=names))
    return losses(events, empty=False, extra=("confidence", "scientific_name"))


def _named(dialect: Dialect) -> Format:
    def sniffed(source: Source) -> bool:
        if dialect.name == "mne-csv":  # the names are anybody's; dates as onsets are MNE's
            rows = [line.split(",") for line in source.head[1:5]]
            return (
                dialect_of(source) is dialect and source.delimiter == "," and len(source.header) == 3
                and bool(rows) and kind_of([row[0] for row in rows]) == "date"
            )  # fmt: skip
        return dialect_of(source) is dialect

    def reader(source: Source) -> TextRows:
        return rows_of(ColumnTable.read(source), dialect)

    return Format(dialect.name, dialect.words, sniffed, reader, write_birdnet if dialect.name == "birdnet" else None)


TOOLS = (
    *map(_named, DIALECTS),
    Format("bids", "BIDS events (onset, duration, trial_type; the file's name is the recording's)",
           lambda s: is_bids(s) and {"onset", "duration"} <= s.names, read),
)  # fmt: skip
TABLES = (
    Format("csv", "plain table, comma separated, with named columns; holds everything",
           lambda s: sniff(s) and s.delimiter != "\t", read, write_csv, endings=(".csv",)),
    Format("tsv", "plain table, tab separated, with named columns; holds everything",
           lambda s: sniff(s) and s.delimiter == "\t", read, write_tsv, endings=(".tsv",)),
)  # fmt: skip
