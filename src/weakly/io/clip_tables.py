"""Tables of answers: a row an answer, a column a class, a count of votes, or a citizen scientist's record.

Long (``file, start_time, end_time, annotation``: yes, no, unsure), wide (a column per class with 0/1, POS/NEG/UNK or
``..._presence``), vote counts (``n_yes, n_no``), and Zooniverse's classification export. The words of answers are those
of ``vocabulary``; a cell that is none of them is a broken row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InvalidInput
from ..model.answers import Answers
from ..model.events import Events
from .columns import is_person, roles_of
from .output import answer_losses, by_answers, columns_of, count, delimited, exact, losses, save, texts_of
from .plain import recordings_of, rows_of, sentence
from .registry import Format
from .source import Source, column_of, quoted
from .table import ColumnTable, TextRows
from .times import times_of
from .vocabulary import UNREADABLE, answer_of, is_number, is_vocabulary, normal, person_of, suited

_TIMES = ("file", "start_time", "end_time")
_FEWSHOT = ("Audiofilename", "Starttime", "Endtime")


def sniff_clips(source: Source) -> bool:
    """The names of a clip table, and nothing but answers and empty fields under ``annotation``."""
    if not {*_TIMES, "annotation"} <= source.names:
        return False
    at = [name.lower() for name in source.header].index("annotation")
    rows, _ = source.rows(source.delimiter)
    said = [row[at].strip() for row in rows[1:] if len(row) > at]
    return not any(said) or is_vocabulary(said)


def read_clips(source: Source) -> TextRows:
    """The answers; a clip without an annotation has not been answered yet and is passed over."""
    label = {"label": "label"} if "label" in source.names else {}  # ours, even where all labels are empty
    source.columns = {"present": "annotation", **label, **source.columns}
    return rows_of(ColumnTable.read(source), exact=True)


def write_clips(answers: Answers, path: Path) -> list[str]:
    """Everything that the answers hold."""
    frame, listing = answers.to_frame(), answers.recordings
    silent = answers.silent
    said = ["yes" if v == 1 else "no" if v == 0 else "uncertain" for v in frame["present"].tolist()]
    more = [str(name) for name in frame.columns[8:]]
    names = [*_TIMES, "annotation", "label", "annotator", "seconds", "query", *more]
    shown = ("recording", "onset", "offset", "label", "annotator", "seconds", "query", *more)
    columns = columns_of(frame, *shown, silent=silent)
    columns.insert(3, said + [""] * len(silent))
    if listing["length"].notna().any():
        names.append("recording_length")
        columns.append(exact(listing["length"].reindex(columns[0])))
    save(path, delimited(columns, delimiter=",", names=names))
    other = [name for name in more if frame[name].dtype.kind in "fiub"]
    return [f"that the columns {', '.join(other)} hold numbers: they read back as text"] if other else []


_QUERY, _SAID = ("query", "query_id"), ("answer", "annotation", "present", "choice")


def sniff_by_query(source: Source) -> bool:
    """Answers by the ids of queries, without a recording."""
    named = source.names
    return bool(named & set(_QUERY) and named & set(_SAID)) and not suited(source.header, "recording")


def read_by_query(source: Source) -> TextRows:
    """The answers to queries that a campaign knows; the query stands for the recording."""
    table = ColumnTable.read(source)
    query, said = column_of(table.names, *_QUERY), column_of(table.names, *_SAID)
    if query is None or said is None:
        raise InvalidInput(f"{source.name}: answers by query need the columns query and answer")
    words = table.columns[said]
    known = [answer_of(word) for word in words]
    present = np.array([np.nan if value is None else value for value in known], dtype=np.float64)
    for i in np.flatnonzero(np.isinf(present)).tolist():
        source.fail(table.lines[i], said, f"{quoted(words[i])} must be yes, no, unsure or empty")
    ids = [value.strip() for value in table.columns[query]]
    none = np.full(len(table), np.nan)
    data: dict[str, Any] = {"recording": ids, "onset": none, "offset": none.copy(), "label": [""] * len(table),
                            "present": present, "query": list(ids)}  # fmt: skip
    for role, names in (("label", ("label",)), ("annotator", ("annotator", "completed_by"))):
        column = next((column_of(table.names, name) for name in names if column_of(table.names, name)), None)
        default = (source.label or "event") if role == "label" else ""
        data[role] = list(table.columns[column]) if column else [default] * len(table)
    seconds = column_of(table.names, "seconds") or column_of(table.names, "lead_time")
    data["seconds"] = table.numbers(seconds) if seconds else none.copy()
    more = [name for name in table.names if name not in (*data, query, said)]
    data.update({name: list(table.columns[name]) for name in more})
    rows = TextRows(source, data, table.lines)
    blank = np.array([value is None for value in known], dtype=bool)
    rows.keep(~np.isinf(present) & ~blank, why="not answered yet")
    return rows.checked().say(f"query = {query} ({len(set(ids))}), answer = {said}")


def _bits(values: Sequence[str]) -> bool:
    return {value.strip().lower() for value in set(values)} <= {"0", "1", "0.0", "1.0", "false", "true", ""}


def _wide(
    table: ColumnTable, classes: list[str], *, blank: float, why: str, said: Callable[[str], float | None] = answer_of
) -> TextRows:
    """One answer per row and class; a cell that is no answer is a broken row, an empty one is ``blank``."""
    source = table.source
    if not classes and len(table):
        raise InvalidInput(f"{source.name}: no column of answers among {', '.join(table.names[:12])}")
    twice = [name for name in table.twice if name in classes]
    if twice:
        raise InvalidInput(f"{source.name}: two columns are called {quoted(twice[0])}; which of them is the class?")
    others = [name for name in table.names if name not in classes]
    roles = roles_of(ColumnTable(source, others, [table.columns[name] for name in others], table.lines))
    names = recordings_of(table, roles, source.stem())
    onset, offset, unit = times_of(table, roles, names)
    n, k = len(table), len(classes)
    present = np.full((n, k), np.inf)
    for j, name in enumerate(classes):
        known = {value: said(value) for value in set(table.columns[name])}
        values = [known[value] for value in table.columns[name]]
        present[:, j] = [blank if value is None else value for value in values]
        for i in np.flatnonzero(np.isposinf(present[:, j])).tolist():
            source.fail(table.lines[i], name, f"{quoted(table.columns[name][i])} {why}")
    cells = present.ravel()
    row = np.repeat(np.arange(n), k)
    place = row.tolist()
    lines, recording = [table.lines[i] for i in place], [names[i] for i in place]
    rows = TextRows.of(source, lines, recording, onset[row], offset[row], classes * n, present=cells)
    people = [table.columns[roles.names["annotator"]][i] for i in place] if "annotator" in roles.names else []
    rows.data |= {"annotator": people} if "annotator" in roles.names else {}
    rows.empty = list(dict.fromkeys(names))
    rows.keep(~np.isposinf(cells))
    silent = np.isneginf(rows.data["present"])
    rows.keep(~silent, why="no answer")
    rows.checked()
    told = sentence(roles, recordings=len(set(names)), labels=k, annotators=len(set(people)), unit=unit)
    return rows.say(told.replace("no column names a label", f"a column a label ({k})"))


def sniff_wide(source: Source) -> bool:
    """File and times, and behind them only columns of 0, 1 and empty."""
    names = [name.lower() for name in source.header]
    if names[:3] != list(_TIMES) or len(names) < 4 or len(source.head) < 2 or all(map(is_person, names[3:])):
        return False
    rows = [line.split(source.delimiter) for line in source.head[1:]]
    return all(len(row) == len(names) and _bits(row[3:]) for row in rows)


def read_wide(source: Source) -> TextRows:
    """The answers of a table with one column of 0 and 1 per class; an empty cell is unsure."""
    table = ColumnTable.read(source)
    classes = [name for name in table.names if name.lower() not in _TIMES]
    return _wide(table, classes, blank=np.nan, why="must be 0, 1 or empty", said=lambda text: _bit(text))


def _bit(text: str) -> float | None:
    word = text.strip().lower()
    return None if not word else answer_of(word) if _bits([word]) else UNREADABLE


_FIRST = re.compile(r'"?audiofilename"?([,;\t])"?starttime"?\1"?endtime"?\1', re.IGNORECASE)


def sniff_fewshot(source: Source) -> bool:
    """The three names that every such table has; the classes are names of columns and may hold any character."""
    named = {"audiofilename", "starttime", "endtime"} <= source.names and len(source.header) > 3
    return named or bool(source.head and _FIRST.match(source.head[0]))


def read_fewshot(source: Source) -> TextRows:
    """One answer per row and class: POS present, NEG absent, UNK unsure; reading events keeps the POS."""
    first = _FIRST.match(source.head[0]) if source.head else None
    table = ColumnTable.read(source, delimiter=first[1] if first else None)
    known = [column_of(table.names, name) for name in _FEWSHOT]
    words = {"POS": 1.0, "NEG": 0.0, "UNK": np.nan}
    classes = [
        name for name in table.names
        if name not in known and (not len(table) or any(v.strip().upper() in words for v in table.columns[name]))
    ]  # fmt: skip
    rows = _wide(table, classes, blank=UNREADABLE, why="must be POS, NEG or UNK",
                 said=lambda text: words.get(text.strip().upper(), UNREADABLE))  # fmt: skip
    rows.bounds = True
    return rows


def _grid(answers: Answers, names: Sequence[str], path: Path, words: tuple[str, str, str, str]) -> list[str]:
    """One row per segment, one column per class, in the words for present, absent, unsure and not asked."""
    frame = answers.to_frame()
    labels = [str(label) for label in frame["label"].drop_duplicates()]
    said: dict[tuple[str, str, str], dict[str, str]] = {}
    keys = zip(texts_of(frame, "recording"), texts_of(frame, "onset"), texts_of(frame, "offset"))
    twice = 0
    for key, label, value in zip(keys, frame["label"].tolist(), frame["present"].tolist()):
        row = said.setdefault(key, {})
        twice += label in row
        row[label] = words[0] if value == 1 else words[1] if value == 0 else words[2]
    columns = [list(column) for column in zip(*said)] if said else [[], [], []]
    columns += [[row.get(label, words[3]) for row in said.values()] for label in labels]
    save(path, delimited(columns, delimiter=",", names=[*names, *labels]))
    found = answer_losses(answers)
    if twice:
        found.insert(0, f"{count(twice, 'answer')} about a segment and label that another annotator also answered")
    return found


def write_wide(answers: Answers, path: Path) -> list[str]:
    """One row per segment, one column of 0 and 1 per class."""
    return _grid(answers, _TIMES, path, ("1", "0", "", ""))


def write_fewshot_answers(answers: Answers, path: Path) -> list[str]:
    """Each segment is a row; POS present, NEG absent, UNK unsure or not asked."""
    return _grid(answers, _FEWSHOT, path, ("POS", "NEG", "UNK", "UNK"))


def write_fewshot(events: Events, path: Path) -> list[str]:
    """Each event is a row, POS for its class and NEG for the others."""
    frame = events.to_frame()
    labels = [str(label) for label in frame["label"].drop_duplicates()]
    columns = columns_of(frame, "recording", "onset", "offset")
    columns += [["POS" if value == label else "NEG" for value in frame["label"]] for label in labels]
    save(path, delimited(columns, delimiter=",", names=[*_FEWSHOT, *labels]))
    found = losses(events, empty=False)
    if any(label != label.strip() or label in _FEWSHOT for label in labels):
        found.append("labels that begin or end with a space, or are called like a column")
    return found


def sniff_sonyc(source: Source) -> bool:
    """Columns ``..._presence`` beside an audio file and an annotator."""
    return bool(suited(source.header, "recording")) and sum(n.endswith("_presence") for n in source.names) > 0


def read_sonyc(source: Source) -> TextRows:
    """One answer per row and ``_presence`` column; -1 is no answer and is passed over."""
    table = ColumnTable.read(source)
    asked = [name for name in table.names if name.lower().endswith("_presence")]

    def said(text: str) -> float | None:
        return -np.inf if is_number(text) and float(text) == -1 else answer_of(text)

    rows = _wide(table, asked, blank=-np.inf, why="must be 1, 0 or -1", said=said)
    rows.data["label"] = [label[: -len("_presence")] for label in rows.data["label"]]
    line: dict[int | str, int] = {place: i for i, place in enumerate(table.lines)}
    for name in ("split", "sensor_id"):
        if name in table.columns:
            rows.data[name] = [table.columns[name][line[place]] for place in rows.places]
    out = len(table) * len(asked) - len(rows)
    if out:
        source.note(f"{source.name}: {count(out, 'field')} -1 hold no answer")
    return rows


_YES = ("n_yes", "yes", "yes_votes", "votes_yes", "n_present", "positive", "n_positive", "votes_for", "data_yes",
        "present_votes", "n_pos", "upvotes", "count_yes", "yes_count")  # fmt: skip
_NO = ("n_no", "no", "no_votes", "votes_no", "n_absent", "negative", "n_negative", "votes_against", "data_no",
       "absent_votes", "n_neg", "downvotes", "count_no", "no_count")  # fmt: skip
_ALL = ("n_votes", "votes", "total", "total_votes", "n_total", "n_annotators", "classification_count", "n_raters")


def _vote_columns(names: Sequence[str]) -> tuple[str, str, bool] | None:
    """The columns of votes for and against (or of all votes), if there are both."""
    known = {re.sub(r"[^\w]+", "_", name).lower(): name for name in names}
    yes = next((known[name] for name in _YES if name in known), None)
    no = next((known[name] for name in _NO if name in known), None)
    total = next((known[name] for name in _ALL if name in known and known[name] != yes), None)
    if yes is None and "votes" in known:  # of a choice, beside those of all choices
        yes, total = known["votes"], next((known[name] for name in _ALL if name in known and name != "votes"), None)
    if yes is None or (no is None and total is None):
        return None
    return (yes, no, False) if no is not None else (yes, total, True)  # type: ignore[return-value]


def sniff_votes(source: Source) -> bool:
    """Counts of votes for and against beside a recording."""
    found = _vote_columns(source.header)
    if found is None or not suited([n for n in source.header if n not in found], "recording"):
        return False
    rows = [line.split(source.delimiter) for line in source.head[1:]]
    at = [source.header.index(name) for name in found[:2]]
    whole = bool(rows) and all(len(row) == len(source.header) for row in rows)
    return whole and all(is_number(row[i]) or not row[i].strip() for row in rows for i in at)


def read_votes(source: Source) -> TextRows:
    """One answer per vote; who voted is not known, so voters are numbered within each row."""
    table = ColumnTable.read(source)
    found = _vote_columns(table.names)
    if found is None:
        raise InvalidInput(f"{source.name}: no columns with votes for and against among {', '.join(table.names[:12])}")
    yes, other, whole = found
    rest = [name for name in table.names if name not in (yes, other)]
    roles = roles_of(ColumnTable(source, rest, [table.columns[name] for name in rest], table.lines))
    names = recordings_of(table, roles, source.stem())
    onset, offset, unit = times_of(table, roles, names)
    label = table.columns[roles.names["label"]] if "label" in roles.names else [source.label or "event"] * len(table)
    first, second = np.nan_to_num(table.numbers(yes)), np.nan_to_num(table.numbers(other))
    second = second - first if whole else second
    wrong = (first < 0) | (second < 0) | (first % 1 != 0) | (second % 1 != 0) | ~np.isfinite(first + second)
    for i in np.flatnonzero(wrong).tolist():
        source.fail(table.lines[i], yes, "votes must be whole numbers, no fewer than 0 and no more than all votes")
    first, second = np.where(wrong, 0, first), np.where(wrong, 0, second)
    times = (first + second).astype(np.int64)
    row = np.repeat(np.arange(len(table)), times)
    turn = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    data = {"recording": [names[i] for i in row], "onset": onset[row], "offset": offset[row],
            "label": [label[i] for i in row], "present": (turn < first[row]).astype(np.float64),
            "annotator": [f"vote {k + 1}" for k in turn]}  # fmt: skip
    rows = TextRows(source, data, [table.lines[i] for i in row.tolist()])
    none = (times == 0) & ~wrong
    rows.empty = [names[i] for i in np.flatnonzero(none).tolist()]
    rows.blank = {table.lines[i] for i in np.flatnonzero(none).tolist()}
    source.note(f"{source.name}: counts of votes do not say who voted; voters are numbered within each row")
    told = sentence(roles, recordings=len(set(names)), labels=len(set(label)), unit=unit)
    return rows.checked().say(f"{told}, votes = {yes} of {other}" if whole else f"{told}, votes = {yes} to {other}")


def read_zooniverse(source: Source) -> TextRows:
    """One answer per classification and label: yes or no questions, or choices, of which those not made are absent."""
    table = ColumnTable.read(source)
    user, data, said = table.find("user_name", "user_id"), table.need("subject_data"), table.need("annotations")
    number = table.find("subject_ids", "subject_id")
    rows = TextRows.start(source, "present", "annotator", "seconds", "query")
    offered: dict[str, dict[str, None]] = {}
    taken: list[tuple[int, str, dict[str, list[str]]]] = []
    for i, (about, text) in enumerate(zip(table.columns[data], table.columns[said])):
        try:
            subject, tasks = json.loads(about), json.loads(text)
            name = _subject(subject) or (table.columns[number][i] if number else "")
            picked = {str(t.get("task_label") or t.get("task", "")): _chosen(t.get("value")) for t in tasks}
        except (ValueError, AttributeError, TypeError, RecursionError):
            source.fail(table.lines[i], said, "is not the JSON of a Zooniverse export")
            continue
        for task, words in picked.items():
            offered.setdefault(task, {}).update(dict.fromkeys(words))
        taken.append((i, name, picked))
    plain = {task for task, words in offered.items() if words and is_vocabulary(list(words))}
    for i, name, picked in taken:
        who = person_of(table.columns[user][i]) if user else ""
        query = table.columns[number][i] if number else ""
        said_of: dict[str, float] = {}
        for task, words in picked.items():
            if task in plain:
                if words:
                    said_of[task if len(plain) > 1 else source.label or task] = answer_of(words[-1]) or 0.0
            else:
                said_of |= {word: float(word in words) for word in offered[task]}
        if not said_of:
            rows.empty.append(name)
            rows.blank.add(table.lines[i])
        for label, present in said_of.items():
            rows.add(table.lines[i], name, np.nan, np.nan, label, present, who, np.nan, query)
    rows.finish()
    n, k = len({*rows.data["recording"], *rows.empty}), len(set(rows.data["label"]))
    return rows.checked().say(f"recording = {data} ({n}), label = {said} ({k}), annotator = {user}")


def _subject(subject: Any) -> str:
    """The file's name among what Zooniverse knows of a subject."""
    inner = next(iter(subject.values())) if isinstance(subject, dict) and subject else {}
    told = {normal(str(key).lstrip("#!/"))[0]: value for key, value in inner.items()} if isinstance(inner, dict) else {}
    name = suited(list(told), "recording")
    return str(told[name[0]]) if name else ""


def _chosen(value: Any) -> list[str]:
    if isinstance(value, dict):
        return _chosen(value.get("choice", value.get("label", value.get("value"))))
    if isinstance(value, list):
        return [word for item in value for word in _chosen(item)]
    return [] if value in (None, "") else [str(value)]


READERS = (
    Format("fewshot", "few-shot bioacoustics table (Audiofilename, Starttime, Endtime, classes with POS/NEG/UNK)",
           sniff_fewshot, read_fewshot, write_fewshot, write_fewshot_answers, mark="audiofilename"),
    Format("zooniverse", "Zooniverse classification export (annotations, subject_data)",
           frozenset(("classification_id", "annotations", "subject_data")), read_zooniverse),
    Format("sonyc", "SONYC-UST annotations (audio_filename, annotator_id, ..._presence)", sniff_sonyc, read_sonyc,
           mark="_presence"),
    Format("votes", "vote counts (recording, times, n_yes, n_no or votes)", sniff_votes, read_votes,
           mark="yes|present|pos|votes"),
    Format("clips", "clip table (file, start_time, end_time, annotation yes/no/uncertain)", sniff_clips, read_clips,
           by_answers(write_clips), write_clips, endings=(".csv",), mark="annotation"),
    Format("query-answers", "answers by the id of a campaign's query (query, answer)", sniff_by_query, read_by_query,
           mark="query"),
    Format("clips-wide", "clip table with one column of 0/1 per class (file, start_time, end_time, classes)",
           sniff_wide, read_wide, None, write_wide, mark="start_time"),
)  # fmt: skip
