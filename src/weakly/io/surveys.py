"""Files in which a row is not an event: several per row (laughter), starts alone, lists of sounds, seizures as text,
VIA's cells of JSON, and BORIS, with a row for each START and each STOP.

A state of BORIS, of one subject, behaviour and modifiers, begins with its START and ends with the next STOP; in a
project (JSON) the two take turns. The aggregated export, a row a state, is a table like others (``plain``).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..base.results import counted
from .documents import guarded, number, object_of
from .formats import JSON, Format
from .plain import Dialect, rows_of
from .source import Source, column_of, quoted
from .table import ColumnTable, TextRows
from .times import NEXT, POINTS_OR_NEXT, next_starts, pass_points
from .tracks import OWN, is_beats, lines_of
from .vocabulary import MEDIA, MISSING, is_number

_PAIR = re.compile(r"^start(\.\d+)?$")


def read_wide(source: Source) -> TextRows:
    """Several events per row; ``0 0`` or nothing at all is a recording without events.

    Recordings that a spreadsheet has called ``#NAME?`` cannot be told apart by name, so each is called by its line.
    """
    table = ColumnTable.read(source)
    file = table.need("FileID", "file", "filename", "recording")
    damaged = {line: name for name, line in zip(table.columns[file], table.lines) if name.startswith("#")}
    for line, name in [*damaged.items()][:1]:
        lost = f"{counted(len(damaged), 'recording')} lost their names to a spreadsheet"
        source.note(f"{lost} ({quoted(name)}, first in line {line}); each is called by its line")
    called = zip(table.columns[file], table.lines)
    table.columns[file] = [f"{name} (line {line})" if line in damaged else name for name, line in called]
    starts = [name for name in table.names if _PAIR.match(name.lower())] or [table.need("start")]
    ends = [table.need("end" + name[len("start") :]) for name in starts]
    onset, offset = (np.column_stack([table.numbers(name) for name in each]) for each in (starts, ends))
    used = ~(np.isnan(onset) & np.isnan(offset)) & ~((onset == 0) & (offset == 0))
    onset[~used] = offset[~used] = np.nan
    used[:, 0] |= ~used.any(axis=1)  # nothing there, which a row says
    row, column = np.nonzero(used)
    person, length = table.find("annotator"), table.find("audio_length", "duration", "recording_length")
    held, both = table.taken(row), (f"{starts[0]}, ...", f"{ends[0]}, ...")
    roles = {"recording": file, "annotator": person, "recording_length": length, "onset": both[0], "offset": both[1]}
    held.columns |= dict(zip(both, (onset[row, column], offset[row, column])))
    return _by_role(source, {role: name for role, name in roles.items() if name}, held.columns, held.lines)


def _by_role(source: Source, roles: dict[str, str], columns: dict[str, Any], lines: Sequence[int]) -> TextRows:
    """The rows of the columns that play these roles."""
    names = list(roles.values())
    return rows_of(ColumnTable(source, names, [columns[name] for name in names], lines), Dialect(told=roles))


_STATUS = ("Status", "Behavior type", "Type")
_LENGTHS = ("Media duration (s)", "Total length", "Observation duration")


def _names_at(rows: Sequence[Sequence[str]]) -> int | None:
    """Which row names the columns: a time, a behaviour and whether it starts or stops; others may stand before it."""
    wanted = (("Time",), ("Behavior",), _STATUS)
    return next((k for k, row in enumerate(rows) if all(column_of(row, *names) for names in wanted)), None)


def sniff_states(source: Source) -> bool:
    """Rows of START, STOP and POINT below the names Time, Behavior and Status."""
    at = _names_at([line.split(source.delimiter) for line in source.head])
    return at is not None and any(word in source.text for word in ("START", "STOP", "POINT"))


def read_states(source: Source) -> TextRows:
    """The states of one or many observations, each row with its line."""
    rows, lines = source.rows(source.delimiter)
    at = _names_at(rows)
    if at is None:
        raise source.error("no row names the columns Time, Behavior and Status")
    told = {row[0].strip().lower(): row[1].strip() for row in rows[:at] if len(row) > 1}
    names = [name.strip() for name in rows[at]]
    table = ColumnTable.of(source, names, [(rows[at + 1 :], lines[at + 1 :])])
    observation, status = table.find("Observation id"), table.need(*_STATUS)
    own = told.get("observation id") or source.stem()
    recording = [value.strip() for value in table.columns[observation]] if observation else [own] * len(table)
    modifiers = [table.columns[name] for name in table.names if name.lower().startswith("modifier")]
    subject = table.columns[column_of(names, "Subject") or table.need("Behavior")]
    onset, label = table.numbers(table.need("Time")), table.columns[table.need("Behavior")]
    data = {"recording": recording, "onset": onset, "label": label, "subject": subject}
    length = table.find(*_LENGTHS)
    stated = table.numbers(length) if length and not any(";" in text for text in table.columns[length]) else onset[:0]
    known = {name: float(value) for name, value in zip(recording, stated) if np.isfinite(value) and value > 0}
    turns = [value.strip().upper() for value in table.columns[status]]
    found = _paired(source, data, turns, modifiers, table.lines, known)
    which = observation or ("Observation id above the table" if "observation id" in told else OWN)
    lasting = f"recording_length = {length}" if found.lengths else ""
    return found.say(which, "Behavior", "time = Time of START to STOP in seconds", lasting)


def _paired(
    source: Source,
    data: dict[str, Any],
    status: Sequence[str],
    modifiers: Sequence[Any],
    places: Sequence[int | str],
    lengths: dict[str, float],
) -> TextRows:
    """The states that START and STOP rows make; a START without a STOP, or the reverse, is a broken row."""
    keys = list(zip(data["recording"], data["subject"], data["label"], *modifiers))
    rows = TextRows(source, data, places, empty=list(dict.fromkeys(data["recording"])), lengths=dict(lengths))
    offset, use = np.full(len(keys), np.nan), np.zeros(len(keys), dtype=bool)
    points = np.array([word.startswith("POINT") for word in status], dtype=bool)
    opened: dict[Any, int] = {}
    stops = rows.merged["stops"] = set()
    for i in np.argsort(data["onset"], kind="stable").tolist():
        key, word = keys[i], status[i]
        if word == "START" and key not in opened:
            opened[key] = i
        elif word == "STOP" and key in opened:
            first = opened.pop(key)
            offset[first], use[first] = data["onset"][i], True
            stops.add(places[i])
        elif not points[i]:
            told = f"{word or 'nothing'} of {key[2]!r} where the other of START and STOP should be"
            source.fail(places[i], "", f"{told}; --on-error skip leaves it out")
    for key, i in opened.items():
        length = rows.length_of(data["recording"][i])
        if source.open_end == "recording" and length > data["onset"][i]:
            offset[i], use[i] = length, True
            source.note(f"START of {key[2]!r} without a STOP lasts as long as its recording", line=places[i])
            continue
        way = "; --open-end recording lets it last as long as its recording" if length > data["onset"][i] else ""
        source.fail(places[i], "", f"START of {key[2]!r} without a STOP{way}; --on-error skip leaves it out")
    rows.data["offset"] = offset
    if points.any():
        use = (use | points)[~pass_points(rows, points)]
    rows.keep(use)
    return rows.checked(lengths)


def read_project(source: Source) -> TextRows:
    """The states of all observations of a project; one without events is empty."""
    document = object_of(source, "BORIS")
    points = {each["code"] for each in document["behaviors_conf"].values() if "point" in str(each.get("type")).lower()}
    if not document["observations"]:
        raise source.error("is a BORIS project without observations")
    lengths: dict[str, float] = {}
    events: list[tuple[Any, ...]] = []  # recording, onset, label, subject, status, modifiers, place
    for name, about in document["observations"].items():
        players = (about.get("media_info") or {}).get("length") or {}
        first = (about.get("file") or {}).get("1") or []
        known = [number(players.get(media)) for media in first]
        lengths[name] = float(sum(known)) if known else np.nan
        running: set[Any] = set()
        for k, event in sorted(enumerate(about.get("events") or ()), key=lambda pair: number(pair[1][0])):
            key = (event[1], event[2], str(event[3]))
            status = "POINT" if event[2] in points else "STOP" if key in running else "START"
            running ^= {key}
            about = (name, number(event[0]), str(event[2]), str(event[1]))
            events.append((*about, status, key[2], f"observation {name}, event {k + 1}"))
    name, onset, label, subject, turns, modifiers, places = ([each[k] for each in events] for k in range(7))
    data = {"recording": name, "onset": np.array(onset, dtype=np.float64), "label": label, "subject": subject}
    source.n_rows = len(places)
    rows = _paired(source, data, turns, [modifiers], places, lengths)
    rows.empty = list(dict.fromkeys([*rows.empty, *lengths]))
    return rows.say("observations", "behaviors", "time = from press to press")


_FILE = re.compile(r"^file name:\s*(\S+)", re.IGNORECASE)
_SUMMARY = re.compile(r"(?im)^(seizure[ \d]*)?(start time|number of seizures)")
_MOMENT = re.compile(
    r"^(file|registration|seizure|clinical seizure)?\s*(?:n?\s*\d+)?\s*(start|end) time\s*:\s*(.+)$", re.IGNORECASE
)


def read_seizures(source: Source) -> TextRows:
    """The seizures of CHB-MIT's summaries (seconds) and Siena's lists (times of day); files without one are empty."""
    rows, name, begun, start = TextRows.start(source), "", 0, np.nan
    lengths: dict[str, float] = {}
    clock: dict[str, float] = {}
    for line, text in source.lines():
        words = text.strip()
        if match := _FILE.match(words):
            name, start = match[1], np.nan
            rows.empty.append(name)
        if not (match := _MOMENT.match(words)) or not name:
            continue
        own, which, told = (match[1] or "").lower() in ("file", "registration"), match[2].lower(), match[3].strip()
        seconds = re.match(r"^(\d+(?:\.\d+)?)\s*(?:s|sec|seconds)\b", told)
        parts = re.search(r"(\d{1,2})[.:](\d{2})[.:](\d{2})", told)
        day = int(parts[1]) * 3600 + int(parts[2]) * 60 + float(parts[3]) if parts else np.nan
        at = float(seconds[1]) if seconds else (day - clock.get(name, day)) % 86400
        if own and which == "start":
            clock[name] = day
        elif own:
            lengths |= {name: at} if at > 0 else {}
        elif at != at and told.lower() not in MISSING:
            source.fail(line, f"{which} time", f"{quoted(told)} is no time")
        if not own and which == "start":
            start, begun = at, line
        elif not own:
            rows.add(begun, name, start, at, source.label or "seizure")
    source.unit_known, rows.empty = True, list(dict.fromkeys(rows.empty))
    return rows.finish().checked(lengths).say("File name", "'seizure'", "time = start to end")


_APART = re.compile(r"[,;\t]|\s+")


def sniff_starts(source: Source) -> bool:
    """Rows of a time that does not go back, alone or with a word or a number behind it."""
    rows = [_APART.split(line.strip(), maxsplit=1) for line in source.head]
    if len(rows) < 2 or not all(is_number(row[0]) for row in rows) or len({len(row) for row in rows}) > 1:
        return False
    times = [float(row[0]) for row in rows]
    words = len(rows[0]) == 1 or is_beats(rows) or not any(re.match(r"[-+.\d]", row[1].strip()) for row in rows)
    rising = all(a <= b for a, b in pairwise(times)) and len(set(times)) > 0.5 * len(times)
    return words and rising and times[0] >= 0


def read_starts(source: Source) -> TextRows:
    """Times without ends: points, or segments that last until the next time; the last time only ends."""
    table = lines_of(source, ("time", "label"), lambda text: [*_APART.split(text.strip(), maxsplit=1), ""][:2])
    onset = table.numbers("time")
    following = source.columns.get("offset") == NEXT
    if not following and source.point_length is None and source.on_error != "collect":
        raise source.error(f"its lines are times without ends: {POINTS_OR_NEXT}")
    offset = next_starts(onset, [0] * len(onset)) if following else onset.copy()
    label = [text.strip() or source.label or "event" for text in table.columns["label"]]
    rows = TextRows.of(source, table.lines, source.stem(r"\.txt$", r"\.lab$", r"\.beats$"), onset, offset, label)
    if following:
        rows.keep(np.isfinite(offset) | np.isinf(onset), why="ends only")
    return rows.checked().say(OWN, "the words", "time in seconds", "until the next" if following else "points")


_PATH = re.compile(r"(?:[^,;\t]*[/\\])?([^,;\t/\\]+)[/\\][^,;\t/\\]+")


def read_paths(source: Source) -> TextRows:
    """The sounds of a list, below its name, labelled as a whole by their folders, if that is what folders are."""
    if source.columns.get("label") != "@folder":
        told = "lists sounds in folders and no labels: --columns label=@folder if the folders' names are the classes"
        if source.on_error != "collect":
            raise source.error(told)
        source.note(told, kind="unknown columns")
    found = [(line, match) for line, text in source.lines() if (match := _PATH.fullmatch(text))]
    nothing, label = np.full(len(found), np.nan), [match[1] for _, match in found]
    places, names = [line for line, _ in found], [match[0] for _, match in found]
    rows = TextRows.of(source, places, names, nothing, nothing, label, present=np.ones(len(found)))
    return rows.checked().say("the paths", "the folders")


_VIA = re.compile(r"^# ?(CSV_HEADER|ATTRIBUTE)S? = (.*?)[,\s]*$", re.MULTILINE)


def read_via(source: Source) -> TextRows:
    """The segments, with their times in two columns or one cell, called by their only attribute or the one told."""
    told = dict(_VIA.findall(source.text))
    source.text = re.sub(r"(?m)^#.*$", "", source.text)
    names = [name.strip() for name in told["CSV_HEADER"].split(",")]
    table = ColumnTable.read(source, names=names, delimiter=",")
    about, known = list(map(json.loads, table.columns["metadata"])), json.loads(told.get("ATTRIBUTE", "{}"))
    attributes = []
    for key in dict.fromkeys(key for each in about for key in each):
        own = known.get(key, key)
        name, options = (own["aname"], own.get("options", {})) if isinstance(own, dict) else (own, {})
        table.columns[name] = [str(options.get(each.get(key), each.get(key, ""))) for each in about]
        attributes.append(name)
    label = source.columns.get("label", attributes[0] if len(attributes) == 1 else "")
    if label not in attributes:
        ways = " or ".join(f"--columns {shlex.quote(f'label={name}')}" for name in attributes)
        raise source.error(f"its segments have {len(attributes)} attributes; call them by one: {ways}")
    for k, time in ((0, "start"), (-1, "end")):
        spans = map(json.loads, table.columns.get("temporal_coordinates", ()))
        table.columns[time] = [str(span[k]) for span in spans] or table.columns[f"temporal_segment_{time}"]
    table.columns["file_list"] = [json.loads(text)[0] for text in table.columns["file_list"]]
    roles = {"recording": "file_list", "onset": "start", "offset": "end", "label": label}
    return _by_role(source, roles, table.columns, table.lines)


PROJECTS = (
    Format("via", "VIA's temporal segments (CSV_HEADER = metadata_id, file_list, ..., metadata)",
           ("# CSV_HEADER = ", "temporal_", "file_list"), guarded("a CSV of VIA", read_via), mark="^# ?"),
    Format("boris-project", "BORIS project (JSON with an ethogram and observations)",
           ('"behaviors_conf"', '"observations"'), guarded("a BORIS project", read_project), mark=JSON),
)  # fmt: skip


STATES = (
    Format("seizures", "summaries of seizures as text (CHB-MIT, Siena)",
           lambda s: any(map(_FILE.match, s.head)) and "seizure" in s.text.lower() and bool(_SUMMARY.search(s.text)),
           read_seizures),
    Format("boris-events", "BORIS events (Time, Behavior, Status: START, STOP, POINT)", sniff_states, read_states,
           mark="observation|behavior"),
)  # fmt: skip
BARE = (
    Format("paths", "list of sounds in folders that are their classes", lambda s: len(s.head) > 1 and all(
           _PATH.fullmatch(text) and MEDIA.search(text) for text in s.head[1:]), read_paths, mark=r"^[^,;\t]+$"),
    Format("starts", "times without ends: points, or segments until the next (SALAMI, beats)", sniff_starts,
           read_starts),
)  # fmt: skip


def read_charades(source: Source) -> TextRows:
    """Refused: nothing else lists actions with their times in one cell."""
    raise source.error(
        "is Charades' table, with all actions of a video in a cell; make a row of each (id,start,end,class)"
    )


READERS = (
    Format("charades", "Charades CSV (id, actions, length), which is refused", frozenset(("id", "actions", "length")),
           read_charades),
    Format("wide", "wide rows (FileID, Start, End, Start.1, End.1, ...)",
           frozenset(("start", "end", "start.1", "end.1")), read_wide),
)  # fmt: skip
