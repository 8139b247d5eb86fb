"""Tables of answers of other tools: wide (a column a class, or ``..._presence``), few-shot, SONYC, Zooniverse.

The words of answers are those of ``vocabulary``; a cell that is none of them is a broken row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .formats import Format
from .plain import CLIP_TIMES, CLIPS, EXACT, read_told, rows_of
from .source import Source, column_of, quoted
from .table import ColumnTable, TextRows
from .vocabulary import answer_of, is_person, is_vocabulary, normal, suited, without_presence

_FEWSHOT = ("Audiofilename", "Starttime", "Endtime")


_QUERY, _SAID = ("query", "query_id"), ("answer", "annotation", "present", "choice")


def read_by_query(source: Source) -> TextRows:
    """The answers to queries that a campaign knows; the query stands for the recording."""
    rows = read_told(source, recording=_QUERY, present=_SAID)
    rows.data["query"] = rows.data["recording"] = [name.strip() for name in rows.data["recording"]]
    return rows


def _by_class(table: ColumnTable, classes: list[str], said: Callable[[str], str]) -> TextRows:
    """The rows of a table with a column of answers for each class, which ``said`` puts into words; others into <>."""
    source = table.source
    if not classes and len(table):
        raise source.error(f"no column of answers among {', '.join(table.names[:12])}")
    for name in classes:
        if name in table.twice:
            raise source.error(f"two columns are called {quoted(name)}; which of them is the class?")
        known = {value: said(value.strip()) for value in set(table.columns[name])}
        table.columns[name] = [known[value] for value in table.columns[name]]
    return rows_of(table, EXACT, classes)


_BITS = {"0", "1", "0.0", "1.0", "false", "true", ""}


def sniff_wide(source: Source) -> bool:
    """File and times, and behind them only columns of 0, 1 and empty."""
    names = [name.lower() for name in source.header]
    if names[:3] != list(CLIP_TIMES) or len(names) < 4 or len(source.head) < 2 or all(map(is_person, names[3:])):
        return False
    rows = [line.split(source.delimiter) for line in source.head[1:]]
    return all(len(row) == len(names) and {value.strip().lower() for value in row[3:]} <= _BITS for row in rows)


def read_wide(source: Source) -> TextRows:
    """The answers of a table with one column of 0 and 1 per class; an empty cell is unsure."""
    table = ColumnTable.read(source)
    classes = [name for name in table.names if name.lower() not in CLIP_TIMES]
    return _by_class(table, classes, lambda text: text or "?" if text.lower() in _BITS else f"<{text}>")


_FIRST = re.compile(r'"?audiofilename"?([,;\t])"?starttime"?\1"?endtime"?\1', re.IGNORECASE)


def read_fewshot(source: Source) -> TextRows:
    """One answer per row and class: POS present, NEG absent, UNK unsure; reading events keeps the POS."""
    first = _FIRST.match(source.head[0]) if source.head else None
    table = ColumnTable.read(source, delimiter=first[1] if first else None)
    known = [column_of(table.names, name) for name in _FEWSHOT]
    words = {"POS": "yes", "NEG": "no", "UNK": "?"}
    classes = [
        name for name in table.names
        if name not in known and (not len(table) or any(v.strip().upper() in words for v in table.columns[name]))
    ]  # fmt: skip
    rows = _by_class(table, classes, lambda text: words.get(text.upper(), f"<{text}>"))
    rows.bounds = True  # events, of which nobody needs to know how fast and what for
    for name in ("seconds", "query", *(() if any(rows.data.get("annotator", ())) else ("annotator",))):
        rows.data.pop(name, None)
    return rows


def read_sonyc(source: Source) -> TextRows:
    """One answer per row and ``_presence`` column; -1 is no answer and is passed over."""
    table = ColumnTable.read(source)
    held = {name: without_presence(name) for name in table.names if not name.lower().endswith("_proximity")}
    columns = [table.columns[name] for name in held]
    classes = [called for name, called in held.items() if called != name]
    table = ColumnTable(source, list(held.values()), columns, table.lines)
    return _by_class(table, classes, lambda text: "" if text in ("-1", "-1.0") else text)


def read_zooniverse(source: Source) -> TextRows:
    """One answer per classification and label: yes or no questions, or choices, of which those not made are absent."""
    table = ColumnTable.read(source)
    user, data, said = table.find("user_name", "user_id"), table.need("subject_data"), table.need("annotations")
    number = table.find("subject_ids", "subject_id")
    numbers, people = (list(table.columns[name]) if name else [""] * len(table) for name in (number, user))
    rows = TextRows.start(source, "present", "annotator", "seconds", "query")
    offered: dict[str, dict[str, None]] = {}
    taken: list[tuple[int, str, dict[str, list[str]]]] = []
    for i, (about, text) in enumerate(zip(table.columns[data], table.columns[said])):
        try:
            subject, tasks = json.loads(about), json.loads(text)
            inner: Any = next(iter(subject.values()), {}) if isinstance(subject, dict) else {}
            keys = {normal(str(k).lstrip("#!/"))[0]: str(inner[k]) for k in inner} if isinstance(inner, dict) else {}
            name = next((keys[key] for key in suited(list(keys), "recording")), numbers[i])
            picked = {str(t.get("task_label") or t.get("task", "")): _chosen(t.get("value")) for t in tasks}
        except (ValueError, AttributeError, TypeError, RecursionError):
            source.fail(table.lines[i], said, "is not the JSON of a Zooniverse export")
            continue
        for task, words in picked.items():
            offered.setdefault(task, {}).update(dict.fromkeys(words))
        numbers[i] = keys.get("query", numbers[i])
        taken.append((i, name, picked))
    plain = {task for task, words in offered.items() if words and is_vocabulary(list(words))}
    for i, name, picked in taken:
        said_of: dict[str, float] = {}
        for task, words in picked.items():
            if task not in plain:
                said_of |= {word: float(word in words) for word in offered[task]}
            elif words:
                said_of[task if len(plain) > 1 else source.label or task] = answer_of(words[-1]) or 0.0
        if not said_of:
            rows.empty.append(name)
            rows.blank.add(table.lines[i])
        for label, present in said_of.items():
            rows.add(table.lines[i], name, np.nan, np.nan, label, present, people[i], np.nan, numbers[i])
    return rows.finish().checked().say(data, said, f"annotator = {user}")


def _chosen(value: Any) -> list[str]:
    if isinstance(value, dict):
        return _chosen(value.get("choice", value.get("label", value.get("value"))))
    if isinstance(value, list):
        return [word for item in value for word in _chosen(item)]
    return [] if value in (None, "") else [str(value)]


READERS = (
    Format("fewshot", "few-shot bioacoustics table (Audiofilename, Starttime, Endtime, classes with POS/NEG/UNK)",
           lambda s: ({*map(str.lower, _FEWSHOT)} <= s.names and len(s.header) > 3) or bool(_FIRST.match(s.head[0])),
           read_fewshot, mark="audiofilename"),
    Format("zooniverse", "Zooniverse classification export (annotations, subject_data)",
           frozenset(("classification_id", "annotations", "subject_data")), read_zooniverse),
    Format("sonyc", "SONYC-UST annotations (audio_filename, annotator_id, ..._presence)",
           lambda s: bool(suited(s.header, "recording")) and any(name.endswith("_presence") for name in s.names),
           read_sonyc, mark="_presence"),
    CLIPS,
    Format("query-answers", "answers by the id of a campaign's query (query, answer)",
           lambda s: bool(s.names & {*_QUERY} and s.names & {*_SAID}) and not suited(s.header, "recording"),
           read_by_query, mark="query"),
    Format("clips-wide", "clip table with one column of 0/1 per class (file, start_time, end_time, classes)",
           sniff_wide, read_wide, mark="start_time"),
)  # fmt: skip
