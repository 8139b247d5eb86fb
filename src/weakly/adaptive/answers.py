"""What comes back from the tool: answers by query id, with everything that did not fit named and counted."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InvalidInput
from ..events import Answers, Events
from ..intervals import merge
from .base import Asked, Labels, Recording, lookup
from .queries import asked_so_far, make_method

WORDS = {
    **dict.fromkeys(("present", "yes", "y", "1", "1.0", "true", "pos", "p", "+"), 1.0),
    **dict.fromkeys(("absent", "no", "n", "0", "0.0", "false", "neg", "a", "-"), 0.0),
    **dict.fromkeys(("unsure", "uncertain", "u", "unk", "maybe", "??"), np.nan),
}
_ID = re.compile(r"\b[0-9a-f]{12}\b")


@dataclass(frozen=True)
class Said:
    """One answer as a file holds it."""

    query: str
    answer: str  # a word; "" where nothing was answered
    annotator: str = ""
    seconds: float = np.nan
    when: str = ""
    place: str = ""  # the file and the row, for messages
    segment: tuple[str, float, float, str] | None = None  # recording, onset, offset, label, where there is no id


def read_returned(paths: Iterable[str | Path]) -> list[Said]:
    """The answers in the files of any tool: Label Studio (JSON, minimal JSON, CSV), clip tables, Raven, Audacity."""
    found: list[Said] = []
    for path in map(Path, paths):
        if path.is_dir():
            found += read_returned(sorted(p for p in path.rglob("*") if p.suffix.lower() in (".json", ".csv", ".txt")))
            continue
        if not path.is_file():
            raise InvalidInput(f"{path}: no such file")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path}: not a text file: {error}") from error
        if text.lstrip()[:1] in ("[", "{"):
            found += _json(path, text)
        elif _looks_like_labels(text):
            found += _audacity(path, text)
        else:
            found += _table(path, text)
    return found


def _json(path: Path, text: str) -> list[Said]:
    try:
        tasks = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{path}: line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from error
    tasks = tasks if isinstance(tasks, list) else [tasks]
    found = []
    for k, task in enumerate(tasks):
        if not isinstance(task, dict):
            raise InvalidInput(f"{path}: task {k + 1} is not an object")
        place = f"{path}: task {task.get('id', k + 1)}"
        data = task.get("data")
        if not isinstance(data, dict):  # the minimal export: everything on one level
            word = task.get("answer", "")
            word = word.get("choices", [""])[0] if isinstance(word, dict) else str(word or "")
            found.append(Said(str(task.get("query", "")), word, _person(task.get("annotator")),
                              _number(task.get("lead_time")), str(task.get("updated_at", "")), place))  # fmt: skip
            continue
        query = str(data.get("query", ""))
        for one in task.get("annotations") or task.get("completions") or []:
            if one.get("was_cancelled"):
                continue
            words = [
                item["value"]["choices"][0]
                for item in one.get("result") or []
                if item.get("type") == "choices" and item.get("value", {}).get("choices")
            ]
            who = _person(one.get("completed_by"))
            when = str(one.get("updated_at") or one.get("created_at") or "")
            found.append(Said(query, words[0] if words else "", who, _number(one.get("lead_time")), when, place))
    return found


def _person(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("email") or value.get("username") or value.get("id")
    return "" if value is None else str(value)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _looks_like_labels(text: str) -> bool:
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("\\")), "")
    parts = first.split("\t")
    return len(parts) >= 2 and not np.isnan(_number(parts[0])) and not np.isnan(_number(parts[1]))


def _audacity(path: Path, text: str) -> list[Said]:
    found = []
    for n, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("\\"):
            continue
        words = line.split("\t")[2] if line.count("\t") >= 2 else ""
        match = _ID.search(words)
        answer = words.rpartition("?")[2].strip() if "?" in words else (words[match.end() :].strip() if match else "")
        found.append(Said(match.group() if match else "", answer, place=f"{path}: line {n}"))
    return found


def _table(path: Path, text: str) -> list[Said]:
    first = text.partition("\n")[0]
    delimiter = "\t" if "\t" in first else ";" if first.count(";") > first.count(",") else ","
    rows = csv.DictReader(text.splitlines(), delimiter=delimiter)
    names = {str(name).strip().lower(): name for name in rows.fieldnames or []}

    def column(*words: str) -> Any:
        return next((names[word] for word in words if word in names), None)

    said = column("answer", "annotation", "choice", "present")
    query, file = column("query", "query_id"), column("file", "begin file", "recording")
    label = column("label")
    onset = column("start_time", "begin time (s)", "onset")
    offset = column("end_time", "end time (s)", "offset")
    if said is None or (query is None and (file is None or onset is None)):
        raise InvalidInput(
            f"{path}: no column of answers (answer, annotation) with a query or a file and its times; "
            f"there are {', '.join(names)}"
        )
    who, seconds, when = column("annotator", "completed_by"), column("lead_time", "seconds"), column("updated_at")
    found = []
    for n, row in enumerate(rows, 2):
        name = (row.get(query) or "").strip() if query else ""
        clip = _ID.search(row.get(file) or "") if file else None
        name = name or (clip.group() if clip else "")
        segment = None
        if not name and file and onset and offset:
            times = _number(row.get(onset)), _number(row.get(offset))
            segment = (Path(row.get(file) or "").name, *times, (row.get(label) or "") if label else "")
        found.append(Said(name, (row.get(said) or "").strip(), (row.get(who) or "") if who else "",
                          _number(row.get(seconds)) if seconds else np.nan,
                          (row.get(when) or "") if when else "", f"{path}: line {n}", segment))  # fmt: skip
    return found


@dataclass(frozen=True)
class Collected:
    """The answers of a campaign so far, what they lack, and what did not fit."""

    queries: pd.DataFrame
    answers: Answers
    pending: list[str]  # queries without an answer
    duplicates: list[str]  # the same annotator gave the same answer again
    contradictions: list[str]  # answers that differ: by one annotator (the last counts), or between annotators
    unknown: list[str]  # places of answers to no query of the campaign
    unreadable: list[str]  # places of words that are no answer
    said: list[Said]  # the answers that count, in the order of the queries

    @property
    def n_answered(self) -> int:
        """How many queries have an answer."""
        return len(self.queries) - len(self.pending)

    def seconds_per_query(self) -> dict[str, float]:
        """How long an answer takes: robust against breaks, because the clock of a tool runs on through them.

        ``median``; ``winsorised``: the mean after what lies beyond the median plus five times the median absolute
        deviation is set to that; ``mean``: as the clock says; ``n_idle``: how many were set.
        """
        seconds = self.answers.to_frame()["seconds"].dropna().to_numpy(float)
        if len(seconds) == 0:
            return {"n": 0, "median": np.nan, "winsorised": np.nan, "mean": np.nan, "n_idle": 0}
        middle = float(np.median(seconds))
        limit = middle + 5 * 1.4826 * max(float(np.median(np.abs(seconds - middle))), 0.1 * middle)
        return {
            "n": len(seconds),
            "median": middle,
            "winsorised": float(np.minimum(seconds, limit).mean()),
            "mean": float(seconds.mean()),
            "n_idle": int((seconds > limit).sum()),
        }

    def to_dict(self) -> dict[str, Any]:
        """Counts, times and lists as JSON can hold them."""
        from ..results import plain

        present = self.answers.to_frame()["present"]
        return dict(plain({
            "n_queries": len(self.queries), "n_answered": self.n_answered, "n_answers": len(self.answers),
            "n_present": int((present == 1).sum()), "n_absent": int((present == 0).sum()),
            "n_unsure": int(present.isna().sum()), "n_pending": len(self.pending),
            "n_duplicates": len(self.duplicates), "n_contradictions": len(self.contradictions),
            "n_unknown": len(self.unknown), "n_unreadable": len(self.unreadable),
            "duplicates": self.duplicates, "contradictions": self.contradictions, "unknown": self.unknown,
            "unreadable": self.unreadable, "seconds_per_query": self.seconds_per_query(),
        }))  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """One row per answer."""
        return self.answers.to_frame()

    def calibration(self) -> pd.DataFrame:
        """The answered calibration items: annotator, event_fraction, present."""
        items = self.queries[self.queries["calibration"]].set_index("query")["event_fraction"]
        frame = self.answers.to_frame()
        mine = frame[frame["query"].isin(items.index) & frame["present"].notna()]
        return pd.DataFrame({
            "annotator": mine["annotator"], "event_fraction": items.reindex(mine["query"]).to_numpy(),
            "present": mine["present"],
        }).reset_index(drop=True)  # fmt: skip

    def labels(self, method: str, parameters: dict[str, Any], recordings: list[Recording] | None = None) -> Events:
        """The labels as events: each recording's answers through the method that asked for them."""
        return merged(self.queries, self.answers, method, parameters, recordings)


def _place(recording: str, onset: float, offset: float) -> tuple[str, int, int]:
    return Path(recording).name, round(onset * 1000), round(offset * 1000)


def collect(queries: pd.DataFrame, said: list[Said]) -> Collected:
    """Put answers and queries together, and say what is missing, double, contradictory or unknown."""
    rows = queries.set_index("query")
    by_time: dict[Any, list[tuple[str, str]]] = {}
    for row in queries.to_dict("records"):
        place = _place(str(row["recording"]), row["onset"], row["offset"])
        by_time.setdefault(place, []).append((row["label"], row["query"]))
    unknown: list[str] = []
    unreadable: list[str] = []
    duplicates: list[str] = []
    contradictions: list[str] = []
    latest: dict[tuple[str, str], Said] = {}
    for one in said:
        query = one.query
        if not query and one.segment is not None and not np.isnan(one.segment[1:3]).any():
            near = by_time.get(_place(*one.segment[:3]), [])
            mine = [name for label, name in near if label == one.segment[3] or len(near) == 1]
            query = mine[0] if mine else ""
        if query not in rows.index:
            if one.answer or one.query:
                unknown.append(f"{one.place}: {one.query or 'no query id'}")
            continue
        if one.answer == "":
            continue
        if one.answer.lower() not in WORDS:
            unreadable.append(f"{one.place}: {one.answer!r}")
            continue
        before = latest.get((query, one.annotator))
        if before is not None:
            same = before.answer.lower() == one.answer.lower()
            (duplicates if same else contradictions).append(query)
            if before.when > one.when:  # the later answer counts; without clocks, the later row
                continue
        latest[(query, one.annotator)] = one
    by_query: dict[str, set[float]] = {}
    for (query, _), one in latest.items():
        value = WORDS[one.answer.lower()]
        if not np.isnan(value):
            by_query.setdefault(query, set()).add(value)
    contradictions += [query for query, values in by_query.items() if len(values) > 1]
    answered = {query for query, _ in latest}
    order = {query: k for k, query in enumerate(queries["query"])}
    ordered = sorted(latest.items(), key=lambda item: (order[item[0][0]], item[0][1]))
    table = [
        (rows.at[q, "recording"], rows.at[q, "onset"], rows.at[q, "offset"], rows.at[q, "label"],
         WORDS[one.answer.lower()], who, one.seconds, q)
        for (q, who), one in ordered
    ]  # fmt: skip
    answers = Answers.from_frame(pd.DataFrame(table, columns=list(Answers.COLUMNS)))
    pending = [query for query in queries["query"] if query not in answered]
    contradictions = list(dict.fromkeys(contradictions))
    kept = [replace(one, query=q) for (q, _), one in ordered]
    return Collected(queries, answers, pending, duplicates, contradictions, unknown, unreadable, kept)


def labels_of(
    queries: pd.DataFrame, answers: Answers, method: str, parameters: dict[str, Any], recordings: list[Recording] | None
) -> dict[tuple[str, str], tuple[Labels, float]]:
    """The labels of every (recording, label) with the recording's length; calibration items make none."""
    real = queries[~queries["calibration"]]
    frame = answers.to_frame()
    said = Answers(frame[frame["query"].isin(set(real["query"]))])
    found = {}
    known = {one.name: one for one in recordings or []}
    for (name, label), part in real.groupby(["recording", "label"], sort=False):
        length = float(part["recording_length"].iloc[0])
        asked = asked_so_far(said, str(name), str(label))
        if method in ("bisection", "boundary", "overlapping"):
            one = known.get(str(name), Recording(str(name), length))
            labels = make_method(method, parameters, [one]).labels(one, asked)
        else:  # the segments of the other methods are in the table: no audio is needed to make labels
            labels = _plain(part, asked)
        found[(str(name), str(label))] = (labels, length)
    return found


def _plain(part: pd.DataFrame, asked: Asked) -> Labels:
    segments = np.unique(part[["onset", "offset"]].to_numpy(float), axis=0)
    return Labels(segments, lookup(asked, segments))


def merged(
    queries: pd.DataFrame, answers: Answers, method: str, parameters: dict[str, Any], recordings: list[Recording] | None
) -> Events:
    """Answers merged to events: present segments that touch become one; recordings without an event stay.

    A recording of which nothing was answered is kept as not annotated.
    """
    rows: list[tuple[str, float, float, str]] = []
    lengths: dict[str, float] = {}
    heard: dict[str, bool] = {}
    for (name, label), (labels, length) in labels_of(queries, answers, method, parameters, recordings).items():
        lengths[name] = length
        heard[name] = heard.get(name, False) or bool((~np.isnan(labels.present)).any())
        rows += [(name, a, b, label) for a, b in merge(labels.events).tolist()]
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    frame = frame.astype({"recording": object, "onset": float, "offset": float, "label": object})
    events = Events.from_frame(frame, recording_length=lengths)
    events.recordings["annotated"] = [heard.get(str(name), False) for name in events.recordings.index]
    return events
