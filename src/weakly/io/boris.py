"""BORIS: exported events, a row for each START and each STOP, and project files (JSON); states become events.

A state of one subject, behaviour and modifiers begins with its START and ends with the next STOP; in a project the two
take turns. Point events have no length and are left out, with a note. The aggregated export, a row a state, is a table
like others (``plain``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.errors import InvalidInput
from .documents import guarded, number, object_of
from .plain import pass_points
from .registry import Format
from .source import Source, column_of
from .table import ColumnTable, TextRows, lengths_agree

_STATUS = ("Status", "Behavior type", "Type")
_LENGTHS = ("Media duration (s)", "Total length", "Observation duration")


def _names_at(rows: Sequence[Sequence[str]]) -> int | None:
    """Which row names the columns: a time, a behaviour and whether it starts or stops; others may stand before it."""
    for k, row in enumerate(rows):
        names = [name.strip() for name in row]
        if column_of(names, "Time") and column_of(names, "Behavior") and column_of(names, *_STATUS):
            return k
    return None


def sniff(source: Source) -> bool:
    """Rows of START, STOP and POINT below the names Time, Behavior and Status."""
    first = source.head[0].lower() if source.head else ""
    if "observation" not in first and "behavior" not in first:
        return False
    return _names_at([line.split(source.delimiter) for line in source.head]) is not None and any(
        word in source.text for word in ("START", "STOP", "POINT")
    )


def read(source: Source) -> TextRows:
    """The states of one or many observations, each row with its line."""
    rows, lines = source.rows(source.delimiter)
    at = _names_at(rows)
    if at is None:
        raise InvalidInput(f"{source.name}: no row names the columns Time, Behavior and Status")
    told = {row[0].strip().lower(): row[1].strip() for row in rows[:at] if len(row) > 1}
    names = [name.strip() for name in rows[at]]
    table = ColumnTable.of(source, names, [(rows[at + 1 :], lines[at + 1 :])])
    observation, status = table.find("Observation id"), table.need(*_STATUS)
    own = told.get("observation id") or source.stem()
    recording = [value.strip() for value in table.columns[observation]] if observation else [own] * len(table)
    modifiers = [table.columns[name] for name in table.names if name.lower().startswith("modifier")]
    subject = table.columns[column_of(names, "Subject") or table.need("Behavior")]
    data: dict[str, Any] = {"recording": recording, "onset": table.numbers(table.need("Time")),
                            "label": table.columns[table.need("Behavior")], "subject": subject}  # fmt: skip
    found = _paired(source, data, [value.strip().upper() for value in table.columns[status]], modifiers, table.lines)
    length = table.find(*_LENGTHS)
    if length and not any(";" in value for value in table.columns[length]):
        known = table.numbers(length)
        lengths_agree(found, {n: float(v) for n, v in zip(recording, known) if np.isfinite(v) and v > 0})
    n, k = len(set(recording)) or 1, len(set(found.data["label"]))
    which = observation or ("Observation id above the table" if "observation id" in told else "the file's name")
    words = f"recording = {which} ({n}), label = Behavior ({k}), time = Time of START to STOP in seconds"
    return found.say(words + (f", recording_length = {length}" if found.lengths else ""))


def _paired(
    source: Source, data: dict[str, Any], status: Sequence[str], modifiers: Sequence[Any], places: Sequence[int | str]
) -> TextRows:
    """The states that START and STOP rows make; a START without a STOP, or the reverse, is a broken row."""
    keys = list(zip(data["recording"], data["subject"], data["label"], *modifiers))
    rows = TextRows(source, data, places, empty=list(dict.fromkeys(data["recording"])))
    order = np.lexsort((np.arange(len(keys)), data["onset"])).tolist()
    opened: dict[Any, int] = {}
    offset, use = np.full(len(keys), np.nan), np.zeros(len(keys), dtype=bool)
    stops = set()
    points = np.array([word.startswith("POINT") for word in status], dtype=bool)
    for i in order:
        key, word = keys[i], status[i]
        if word == "START" and key not in opened:
            opened[key] = i
        elif word == "STOP" and key in opened:
            first = opened.pop(key)
            offset[first], use[first] = data["onset"][i], True
            stops.add(places[i])
        elif not points[i]:
            source.fail(places[i], "", f"{word or 'nothing'} of {key[2]!r} where the other of START and STOP should be")
    for key, i in opened.items():
        source.fail(places[i], "", f"START of {key[2]!r} without a STOP")
    rows.data["offset"] = offset
    rows.merged["stops"] = stops
    if points.any():
        pass_points(rows, points)
        use = use[~points]
    rows.keep(use)
    return rows.checked()


def sniff_project(source: Source) -> bool:
    """A JSON object with an ethogram and observations."""
    return source.is_json and '"behaviors_conf"' in source.text and '"observations"' in source.text


def read_project(source: Source) -> TextRows:
    """The states of all observations of a project; one without events is empty."""
    document = object_of(source, "BORIS")
    points = {each["code"] for each in document["behaviors_conf"].values() if "point" in str(each.get("type")).lower()}
    if not document["observations"]:
        raise InvalidInput(f"{source.name}: is a BORIS project without observations")
    lengths: dict[str, float] = {}
    columns: dict[str, list[Any]] = {name: [] for name in ("recording", "onset", "label", "subject")}
    status: list[str] = []
    modifiers: list[str] = []
    places: list[int | str] = []
    for name, about in document["observations"].items():
        players = (about.get("media_info") or {}).get("length") or {}
        first = (about.get("file") or {}).get("1") or []
        known = [number(players.get(media)) for media in first]
        lengths[name] = float(sum(known)) if known else np.nan
        running: set[Any] = set()
        for k, event in sorted(enumerate(about.get("events") or ()), key=lambda pair: number(pair[1][0])):
            key = (event[1], event[2], str(event[3]))
            status.append("POINT" if event[2] in points else "STOP" if key in running else "START")
            running ^= {key}
            values = (name, number(event[0]), str(event[2]), str(event[1]))
            for column, value in zip(columns.values(), values):
                column.append(value)
            modifiers.append(key[2])
            places.append(f"observation {name}, event {k + 1}")
    data: dict[str, Any] = {**columns, "onset": np.array(columns["onset"], dtype=np.float64)}
    source.n_rows = len(places)
    rows = _paired(source, data, status, [modifiers], places)
    rows.empty = list(dict.fromkeys([*rows.empty, *lengths]))
    lengths_agree(rows, {name: value for name, value in lengths.items() if np.isfinite(value) and value > 0})
    k = len(set(rows.data["label"]))
    return rows.say(f"recording = observations ({len(lengths)}), label = behaviors ({k}), time = from press to press")


PROJECTS = (
    Format("boris-project", "BORIS project (JSON with an ethogram and observations)", sniff_project,
           guarded("a BORIS project", read_project)),
)  # fmt: skip
READERS = (Format("boris-events", "BORIS events (Time, Behavior, Status: START, STOP, POINT)", sniff, read),)
