"""temporary"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..formats.vocabulary import answer_of

_ID = re.compile(r"\b[0-9a-f]{12}\b")


@dataclass(frozen=True)
class Returned:
    query: str
    word: str
    annotator: str = ""
    seconds: float = np.nan
    answered: str = ""
    place: str = ""
    segment: Any = None
    file: str = ""

    @property
    def present(self):
        v = answer_of(self.word)
        return np.nan if v is None else v

    @property
    def recording(self):
        return self.segment[0] if self.segment else ""

    @property
    def onset(self):
        return self.segment[1] if self.segment else np.nan

    @property
    def offset(self):
        return self.segment[2] if self.segment else np.nan

    @property
    def label(self):
        return self.segment[3] if self.segment else ""


def read_returned(paths):
    from dataclasses import replace

    out = []
    for p in map(Path, paths):
        got = _rr([p])
        out += [replace(o, file=o.place.rpartition(": ")[0] or str(p)) for o in got]
    return out


def _rr(paths: Iterable[str | Path]) -> list[Returned]:
    """The answers in the files of any tool: Label Studio (JSON, minimal JSON, CSV), clip tables, Raven, Audacity."""
    found: list[Returned] = []
    for path in map(Path, paths):
        if path.is_dir():
            found += _rr(sorted(p for p in path.rglob("*") if p.suffix.lower() in (".json", ".csv", ".txt")))
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


def _json(path: Path, text: str) -> list[Returned]:
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
            found.append(Returned(str(task.get("query", "")), word, _person(task.get("annotator")),
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
            found.append(Returned(query, words[0] if words else "", who, _number(one.get("lead_time")), when, place))
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


def _audacity(path: Path, text: str) -> list[Returned]:
    found = []
    for n, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("\\"):
            continue
        words = line.split("\t")[2] if line.count("\t") >= 2 else ""
        match = _ID.search(words)
        answer = words.rpartition("?")[2].strip() if "?" in words else (words[match.end() :].strip() if match else "")
        found.append(Returned(match.group() if match else "", answer, place=f"{path}: line {n}"))
    return found


def _table(path: Path, text: str) -> list[Returned]:
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
    who, seconds, when = (
        column("annotator", "completed_by"),
        column("lead_time", "seconds"),
        column("updated_at", "answered", "when"),
    )
    found = []
    for n, row in enumerate(rows, 2):
        name = (row.get(query) or "").strip() if query else ""
        clip = _ID.search(row.get(file) or "") if file else None
        name = name or (clip.group() if clip else "")
        segment = None
        if not name and file and onset and offset:
            times = _number(row.get(onset)), _number(row.get(offset))
            segment = (Path(row.get(file) or "").name, *times, (row.get(label) or "") if label else "")
        found.append(Returned(name, (row.get(said) or "").strip(), (row.get(who) or "") if who else "",
                          _number(row.get(seconds)) if seconds else np.nan,
                          (row.get(when) or "") if when else "", f"{path}: line {n}", segment))  # fmt: skip
    return found
