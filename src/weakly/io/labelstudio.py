"""Label Studio exports: regions with labels become events, choices about a whole task become answers.

``lead_time`` is the wall clock from load to submit, idle time included, and stands on each row of an annotation.
Cancelled annotations say nothing; a task that has no other was not annotated; one with an empty result is empty.
Where choices are yes, no or unsure, the question's name is the label; else every choice is a label, and a choice that
others picked in this file and this annotator did not is an absence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count, groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import quoteattr

import numpy as np

from ..base.results import counted
from ..model.answers import Answers
from ..model.events import Events
from .documents import number
from .formats import EMPTY, IDLE, JSON, LENGTHS, Format, losses, save_json, texts_of
from .source import Source
from .table import TextRows
from .vocabulary import answer_of, is_vocabulary, opposites, person_of

CHOICES = ("present", "absent", "unsure")  # of a query
REGION = "segment"  # what the marked segment is called
_REGIONS = "\0regions"
_ID = ("query", "query_id", "segment_id")
_PLAIN = ("answer", "choice")  # questions whose answer is a word, in the minimal export
_SOUNDS = ("audio", "file", "filename", "sound", "wav", "video", "url")
_START, _END = ("onset", "start", "start_time", "segment_start"), ("offset", "end", "end_time", "segment_end")


def sniff(source: Source) -> bool:
    """A list of tasks (or one) with data and annotations or completions."""
    text = source.text
    if '"namespace"' in text:
        return False
    return ('"annotations"' in text and '"data"' in text) or ('"annotation_id"' in text and '"lead_time"' in text)


def _first(data: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((data[name] for name in names if data.get(name) not in (None, "")), None)


def _sound(value: str) -> str:
    """The file's name in an address: the last part, or what ``?d=`` says."""
    if "://" not in value and not value.startswith("/data/"):
        return value
    try:
        parts = urlsplit(value)
        inner = parse_qs(parts.query).get("d") or [unquote(parts.path)]
    except ValueError:  # an address that is none, such as http://[::1/x
        inner = [value]
    return PurePosixPath(inner[0]).name or value


def _names(tasks: list[dict[str, Any]]) -> list[str]:
    """The recording of each task; the eight letters that uploads are given are left off if names stay distinct."""
    names, plain = list[str](), set[str]()
    for data, task in ((task["data"], task) for task in tasks):
        told, own = _first(data, _SOUNDS), data.get("recording")
        if told is None:
            told = next((v for v in data.values() if isinstance(v, str) and "." in v), None)
        names.append(_sound(str(told)) if told is not None else f"task {task.get('id', len(names) + 1)}")
        if isinstance(own, str):
            names[-1] = own
            plain.add(own)
    bare = {name: name if name in plain else re.sub(r"^[0-9a-f]{8}-(?=.)", "", name) for name in names}
    return names if len(set(bare.values())) < len(bare) else [bare[name] for name in names]


def _tasks(source: Source) -> list[dict[str, Any]]:
    found, good = source.json(), []
    if not isinstance(found, (dict, list)):
        raise source.error("a Label Studio export is a list of tasks")
    for i, task in enumerate([found] if isinstance(found, dict) else found, 1):
        about = task if isinstance(task, dict) else {}
        about = _full(about) if "data" not in about and "annotation_id" in about else about
        if isinstance(about.get("data"), dict) and isinstance(about.get("annotations", []), list):
            good.append(about)
        else:
            source.fail(f"task {i}", "", "has no data and annotations; is this an export of Label Studio?")
    return good


def _full(task: dict[str, Any]) -> dict[str, Any]:
    """A task of the minimal export (JSON-MIN), in which everything stands on one level, in its full form."""
    result: list[dict[str, Any]] = []
    for name, value in task.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) and "start" in item for item in value):
            result += [{"id": f"{name} {k}", "from_name": name, "type": "labels", "value": item,
                        "original_length": item.get("original_length")} for k, item in enumerate(value)]  # fmt: skip
        elif (isinstance(value, dict) and "choices" in value) or (isinstance(value, str) and name in _PLAIN):
            said = value if isinstance(value, dict) else {"choices": [value]}
            result.append({"from_name": name, "type": "choices", "value": said})
    about = {"id": "annotation_id", "completed_by": "annotator", "lead_time": "lead_time"}
    note = {key: task.get(name) for key, name in about.items()} | {"result": result}
    return {"id": task.get("id"), "data": task, "annotations": [note]}


def _annotations(source: Source) -> Iterator[tuple[dict[str, Any], str, dict[str, Any], list[dict[str, Any]], str]]:
    """Each task with its recording, each of its annotations, the results, and where that is in the file."""
    tasks = _tasks(source)
    for task, name in zip(tasks, _names(tasks)):
        where = f"task {task.get('id', '?')}"
        whole = [a for a in task.get("annotations", []) if isinstance(a, dict) and not a.get("was_cancelled")]
        if not whole:
            yield task, name, {}, [], where
        for item in whole:
            place = f"{where}, annotation {item.get('id', '?')}"
            results = item.get("result") or []
            kept = []
            for k, result in enumerate(results if isinstance(results, list) else [results]):
                if isinstance(result, dict) and isinstance(result.get("value"), dict):
                    kept.append(result)
                elif not (isinstance(result, dict) and result.get("type") == "relation"):
                    source.fail(f"{place}, result {k + 1}", "value", "has no value")
            yield task, name, item, kept, place


def _lengths(results: list[dict[str, Any]]) -> list[float]:
    """The lengths of the recording that results tell."""
    told = (number(result.get("original_length")) for result in results)
    return [total for total in told if 0 < total < np.inf]


def _labels(value: dict[str, Any]) -> list[str]:
    lists = (value.get(key) for key in ("labels", "timeserieslabels", "hypertextlabels"))
    return next(([str(label) for label in each] for each in lists if isinstance(each, list)), [])


def read(source: Source) -> TextRows:
    """Events if the file has regions, answers if it has choices only."""
    found = list(_annotations(source))
    spans = {("start" in r["value"], r.get("type") == "choices") for _, _, _, results, _ in found for r in results}
    choices, regions = (False, True) in spans, any(region for region, _ in spans)
    if choices and regions:
        source.note("has regions and choices; the regions are read as events, the choices as answers")
    return _regions(source, found) if regions or not choices else answers(source)


def _regions(source: Source, found: list[Any], timed: bool = False) -> TextRows:
    """A row per region and label; ``timed`` with the seconds that it took: an equal part of its annotation's."""
    rows = TextRows.start(source, "annotator", "channel", "query", *(["seconds"] if timed else []))
    lengths: dict[str, float] = {}
    for task, name, item, results, where in found:
        if not item:
            rows.unannotated.append(name)
            continue
        marked: list[tuple[Any, ...]] = []
        for total in _lengths(results):
            lengths[name] = total
        for result in (result for result in results if "start" in result["value"]):
            value, place = result["value"], f"{where}, region {result.get('id', '?')}"
            labels = _labels(value)
            if not labels:
                source.fail(place, "labels", "the region has no label")
            who, channel, asked = person_of(item.get("completed_by")), value.get("channel"), str(task.get("id", ""))
            span = name, number(value["start"]), number(value.get("end"))
            marked += [(place, *span, label, who, "" if channel is None else str(channel), asked) for label in labels]
        took = number(item.get("lead_time"))
        each = [took / max(len(marked), 1) if np.isfinite(took) else np.nan] if timed else []
        for region in marked:
            rows.add(*region, *each)
        if not marked:
            rows.empty.append(name)
    return _told(rows.finish().checked(lengths), "labels of regions")


def _told(rows: TextRows, label: str) -> TextRows:
    people = len(set(rows.data["annotator"]))
    return rows.say("the tasks' sound", label, f"annotator = completed_by ({people})")


def answers(source: Source) -> TextRows:
    """One row per annotation and label: present, absent or unsure in the task's segment, or in the whole recording."""
    found = list(_annotations(source))
    offered: dict[str, dict[str, None]] = {}
    for key, said in (_question(result) for _, _, _, results, _ in found for result in results):
        offered.setdefault(key, {}).update(dict.fromkeys(said))
    if len(offered) > 1:
        offered.pop(_REGIONS, None)  # beside a question, regions only show where to listen; alone, they are present
    elif opposites(offered.get(_REGIONS, ())):
        return _regions(source, found, timed=True)  # each region is an answer about itself
    plain = {key for key, said in offered.items() if said and is_vocabulary(list(said))}
    rows = TextRows.start(source, "present", "annotator", "seconds", "query", "annotation", "answered")
    for task, name, item, results, where in found:
        if not item:
            rows.unannotated.append(name)
            continue
        told = task["data"]
        start, end = number(_first(told, _START)), number(_first(told, _END))
        totals = _lengths(results[:1])
        if np.isnan(end) and np.isnan(start) and totals:
            start, end = 0.0, totals[0]
            rows.lengths.setdefault(name, totals[0])
        picked: dict[str, list[str]] = {}
        for key, said in map(_question, results):
            picked.setdefault(key, []).extend(said)
        said_of: dict[str, float] = {}
        for key, options in offered.items():
            for label in options if key not in plain else ():
                said_of[label] = max(said_of.get(label, 0.0), float(label in picked.get(key, [])))
            if key in plain and picked.get(key):
                label = str(told.get("label") or key) if len(offered) == 1 else key
                said_of[label] = float(answer_of(picked[key][-1]) or 0.0)
        if not said_of:
            rows.empty.append(name)
        query = told["query"] if told.get("query") is not None else _first(told, _ID)
        about = (person_of(item.get("completed_by")), number(item.get("lead_time")),
                 str(task.get("id", "") if query is None else query), str(item.get("id", "")),
                 str(item.get("updated_at") or item.get("created_at") or ""))  # fmt: skip
        for label, present in said_of.items():
            rows.add(where, name, start, end, label, present, *about)
    if not any(rows.data["answered"]):
        del rows.data["answered"]
    rows.finish().data["seconds"][np.isinf(rows.data["seconds"])] = np.nan
    if offered.keys() - plain:
        source.note("a label that others chose in this file and an annotator did not is read as absent")
    return _told(rows.checked(), "choices")


def _question(result: dict[str, Any]) -> tuple[str, list[str]]:
    """The question's name and what was chosen."""
    value = result["value"]
    said = [value["choices"]] if isinstance(value.get("choices"), str) else value.get("choices")
    if isinstance(said, list) and "start" not in value:
        return str(result.get("from_name", "choice")), list(map(str, said))
    return _REGIONS, _labels(value) if "start" in value else []


def write(events: Events, path: Path) -> list[str]:
    """One task per recording, one annotation per annotator, one region per event."""
    frame, listing = events.to_frame(), events.recordings
    found = losses(events, "label", EMPTY, LENGTHS, IDLE, "annotator", "channel")
    filled = set(frame["recording"])
    unknown = [n for n, v in listing["length"].items() if v == v and n not in filled]
    if unknown:
        found.append(f"the lengths of {counted(len(unknown), 'recording')} without events")
    people = frame.assign(**{name: texts_of(frame, name) for name in ("annotator", "channel")})
    mine = people.groupby("recording", sort=False).indices
    columns = [people[name].to_numpy() for name in ("onset", "offset", "label", "annotator", "channel")]

    def tasks() -> Iterator[dict[str, Any]]:
        numbers = count(1)
        for i, (name, length, done) in enumerate(listing[["length", "annotated"]].itertuples(), 1):
            by: dict[str, list[dict[str, Any]]] = {}
            total = {} if length != length else {"original_length": length}
            rows = mine.get(name, np.empty(0, dtype=np.int64))
            for onset, offset, label, who, channel in zip(*(column[rows].tolist() for column in columns)):
                value = {"start": onset, "end": offset, "labels": [label]} | ({"channel": channel} if channel else {})
                region = {**total, "id": "", "from_name": "label", "to_name": "audio", "type": "labels", "value": value}
                by.setdefault(who, []).append(region)
            notes = [_note(next(numbers), person, result) for person, result in (by or {"": []}).items() if done]
            for note in notes:
                for k, region in enumerate(note["result"]):
                    region["id"] = f"r{note['id']}_{k}"
            yield _task(i, {"recording": name, "audio": name}, notes)

    save_json(tasks(), path)
    return found


def _note(number_: int, person: str, result: list[dict[str, Any]]) -> dict[str, Any]:
    """An annotation; a person that is a number is one by number, any other by e-mail."""
    numbered = person.isascii() and person.isdigit() and str(int(person)) == person
    who = int(person) if numbered else {"email": person} if person else None
    return {"id": number_, "completed_by": who, "was_cancelled": False, "result": result}


def _task(number_: int, data: dict[str, Any], notes: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": number_, "data": data, "annotations": notes, "predictions": []}


def write_answers(answers: Answers, path: Path) -> list[str]:
    """One task per segment, one annotation per annotator, one yes/no/unsure question per label."""
    frame = answers.to_frame()
    names = ["recording", "onset", "offset", "query", "annotator", "seconds", "label", "present"]
    task = frame.groupby(names[:4], sort=False, dropna=False).ngroup().to_numpy()
    order = np.argsort(task, kind="stable")
    columns = [frame[name].to_numpy()[order].tolist() for name in names]
    noted = [frame["annotation"].to_numpy()[order].tolist()] if "annotation" in frame else []

    def tasks() -> Iterator[dict[str, Any]]:
        words, n_notes, numbers = {1.0: "yes", 0.0: "no"}, count(1), count(1)
        for _, rows in groupby(zip(task[order].tolist(), *noted, *columns), key=itemgetter(0)):
            notes: dict[tuple[Any, ...], dict[str, Any]] = {}
            for row in rows:
                *own, who, seconds, label, present = row[1:]
                timed = seconds == seconds
                key = (who, seconds if timed else None, *own)
                if key not in notes:
                    notes[key] = _note(next(n_notes), who, []) | ({"lead_time": seconds} if timed else {})
                value = {"choices": [words.get(present, "unsure")]}
                notes[key]["result"].append({"from_name": label, "to_name": "audio", "type": "choices", "value": value})
            name, onset, offset, query = own[-4:]
            data = {"recording": name, "audio": name, "query": query}
            data |= {"onset": onset, "offset": offset} if onset == onset else {}
            yield _task(next(numbers), data, list(notes.values()))
        for name in answers.silent:
            note = {"id": next(n_notes), "was_cancelled": False, "result": []}
            yield _task(next(numbers), {"recording": name, "audio": name}, [note])

    save_json(tasks(), path)
    return losses(answers, EMPTY, "annotator", "seconds", "query", "annotation")


def query_task(row: dict[Any, Any], clip: Path | None, path: Path | None, prefix: str) -> dict[str, Any]:
    """The task of a query, which plays its clip, or the recording with the segment marked."""
    source = clip if clip is not None else path
    place = row["recording"] if source is None else str(source.resolve())  # the server has a folder of its own
    onset, offset = round(row["onset"], 6), round(row["offset"], 6)
    where = "" if clip is not None else f" between {onset:.2f} s and {offset:.2f} s"
    data = {
        "audio": prefix + quote(place.lstrip("/")) if prefix else place,
        **{name: row[name] for name in ("query", "recording")},
        "onset": onset,
        "offset": offset,
        "label": row["label"],
        "question": f"Is there {row['label']}{where}?",
    }
    task: dict[str, Any] = {"data": data}
    if clip is None:
        # Label Studio cannot play a part of a file, so the part is marked: a click on the region plays it.
        region = {
            "id": row["query"], "from_name": "segment", "to_name": "audio", "type": "labels", "readonly": True,
            "original_length": round(row["recording_length"], 6),
            "value": {"start": onset, "end": offset, "channel": 0, "labels": [REGION]},
        }  # fmt: skip
        task["predictions"] = [{"model_version": "weakly", "result": [region]}]
    return task


def labeling_config(*, whole: bool) -> str:
    """The labelling configuration: hear the segment, answer present, absent or unsure (keys 1, 2, 3)."""
    choices = "\n".join(
        f"    <Choice value={quoteattr(word)} hotkey={quoteattr(str(k + 1))}/>" for k, word in enumerate(CHOICES)
    )
    marks = """  <Labels name="segment" toName="audio"><Label value="segment" background="#D55E00"/></Labels>
""" if whole else ""  # fmt: skip
    return f"""<View>
  <Header value="$question"/>
{marks}  <Audio name="audio" value="$audio" hotkey="space"/>
  <Choices name="answer" toName="audio" choice="single-radio" required="true" showInline="true">
{choices}
  </Choices>
</View>
"""


READERS = (
    Format("labelstudio", "Label Studio export (regions and choices, lead_time, completed_by)", sniff, read, write,
           write_answers, endings=(".json",), mark=JSON, read_answers=answers),
)  # fmt: skip
