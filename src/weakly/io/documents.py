"""JSON documents: JAMS, AOEF, lists of records; and what their readers share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..model.events import Events
from .output import count, inexact, losses, per_recording, save, texts_of
from .registry import Format
from .source import Source
from .table import ColumnTable, TextRows, lengths_agree
from .times import duration, ending
from .vocabulary import person_of

_COLUMNS = ("recording", "onset", "offset", "label", "annotator", "confidence", "low_frequency", "high_frequency")


def number(value: Any) -> float:
    """A number of a JSON document; NaN where there is none, infinite where it is something else."""
    if isinstance(value, bool) or value is None:
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.inf


class ParsedRows:
    """The events of a document as they are met, with their places; columns in which nothing stands are left out."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.rows: list[tuple[Any, ...]] = []
        self.places: list[int | str] = []
        self.extra: dict[str, list[str]] = {}

    def add(self, place: str, recording: str, onset: float, offset: float, label: Any, **more: Any) -> None:
        values = {"annotator": "", "confidence": np.nan, "low_frequency": np.nan, "high_frequency": np.nan, **more}
        told = "" if label is None else str(label)
        self.rows.append((recording, onset, offset, told, *(values[name] for name in _COLUMNS[4:])))
        self.places.append(place)
        for name in more.keys() - set(_COLUMNS):
            self.extra.setdefault(name, []).append(str(more[name]))

    def done(self, lengths: dict[str, float], empty: Iterable[str], idle: Iterable[str] = ()) -> TextRows:
        data: dict[str, Any] = {name: [row[k] for row in self.rows] for k, name in enumerate(_COLUMNS)}
        for name in ("onset", "offset", "confidence", "low_frequency", "high_frequency"):
            data[name] = np.array(data[name], dtype=np.float64)
            if name not in ("onset", "offset") and not np.isfinite(data[name]).any():
                del data[name]
        if not any(data["annotator"]):
            del data["annotator"]
        self.source.n_rows = len(self.places) + len({place for place, _, _ in self.source.problems})
        rows = TextRows(self.source, data | self.extra, self.places, empty=list(empty), unannotated=list(idle))
        rows.checked()
        lengths_agree(rows, {name: v for name, v in lengths.items() if np.isfinite(v) and v > 0})
        return rows


def guarded(kind: str, reader: Callable[[Source], TextRows]) -> Callable[[Source], TextRows]:
    """The reader, for which a list where it expects a name (and the like) is an error of the file."""

    def read(source: Source) -> TextRows:
        try:
            return reader(source)
        except InvalidInput:
            raise
        except (TypeError, AttributeError, LookupError, ValueError) as error:
            words = " ".join(str(error).split())[:120]
            raise InvalidInput(f"{source.name}: is not {kind} as it should be: {words}") from error

    return read


def object_of(source: Source, kind: str) -> dict[str, Any]:
    document = source.json()
    if not isinstance(document, dict):
        raise InvalidInput(f"{source.name}: a file of {kind} is a JSON object")
    return document


def sniff_jams(source: Source) -> bool:
    """A JSON object with annotations and file_metadata."""
    return source.is_json and '"annotations"' in source.text and '"file_metadata"' in source.text


def read_jams(source: Source) -> TextRows:
    """The observations of every annotation; one without a duration is a point, and so a broken row."""
    document = object_of(source, "JAMS")
    annotations = document.get("annotations")
    if not isinstance(annotations, list):
        raise InvalidInput(f"{source.name}: a JAMS file has a list of annotations")
    meta = document.get("file_metadata")
    meta = meta if isinstance(meta, dict) else {}
    name = str(meta.get("title") or source.stem(r"\.jams$"))
    found = ParsedRows(source)
    for a, annotation in enumerate(annotations):
        if not isinstance(annotation, dict):
            source.fail(f"annotation {a}", "", "is not an object")
            continue
        observations = annotation.get("data")
        if isinstance(observations, dict):  # the dense layout: one list per field
            lists = [observations.get(key) for key in ("time", "duration", "value", "confidence")]
            if not all(isinstance(items, list) for items in lists) or len({len(items) for items in lists}) > 1:  # type: ignore[arg-type]
                source.fail(f"annotation {a}", "data", "its lists of times, durations, values are not equally long")
                continue
            observations = [dict(zip(("time", "duration", "value", "confidence"), row)) for row in zip(*lists)]
        about = annotation.get("annotation_metadata")
        person = about.get("annotator") if isinstance(about, dict) else None
        who = str(person.get("name", "")) if isinstance(person, dict) else ""
        for k, item in enumerate(observations if isinstance(observations, list) else ()):
            where = f"annotation {a}, observation {k}"
            if not isinstance(item, dict):
                source.fail(where, "", "is not an object")
                continue
            value = item.get("value")
            label = value.get("label", "") if isinstance(value, dict) else value
            onset, span, score = (number(item.get(key)) for key in ("time", "duration", "confidence"))
            found.add(where, name, onset, float(ending(onset, span)), label, annotator=who,
                      confidence=score if np.isfinite(score) else np.nan,
                      namespace=annotation.get("namespace", ""))  # fmt: skip
    rows = found.done({name: number(meta.get("duration"))}, [] if found.places else [name])
    return rows.say(f"recording = title ({1}), label = value ({len(set(rows.data['label']))}), time = time + duration")


def write_jams(events: Events, path: Path) -> list[str]:
    """One JAMS file per recording, in the namespace segment_open, one annotation per annotator."""
    lengths = events.recordings["length"]
    found = losses(events, empty=True, lengths=True, extra=("annotator", "confidence", "namespace"))
    found += inexact(events.to_frame()["onset"], events.to_frame()["offset"])
    if lengths.isna().any():
        n = count(int(lengths.isna().sum()), "recording")
        found.append(f"that the lengths of {n} are unknown: JAMS wants one, so it is the last offset")

    def one(frame: pd.DataFrame, name: str, target: Path) -> list[str]:
        who = texts_of(frame, "annotator")
        length = float(lengths[name])
        length = length if length == length else float(frame["offset"].max()) if len(frame) else 0.0
        annotations = []
        for person in dict.fromkeys(who) or [""]:
            rows = frame[[own == person for own in who]] if len(frame) else frame
            spans = duration(rows["onset"], rows["offset"]).tolist()
            score = rows["confidence"].tolist() if "confidence" in rows else [None] * len(rows)
            data = [
                {"time": a, "duration": d, "value": label, "confidence": None if c is None or c != c else c}
                for a, d, label, c in zip(rows["onset"].tolist(), spans, texts_of(rows, "label"), score)
            ]
            about = {"annotator": {"name": person} if person else {}, "curator": {"name": "", "email": ""}}
            annotations.append({"namespace": "segment_open", "annotation_metadata": about, "data": data, "sandbox": {},
                                "time": 0, "duration": length})  # fmt: skip
        meta = {"title": name, "artist": "", "release": "", "duration": length, "identifiers": {},
                "jams_version": "0.3.5"}  # fmt: skip
        save_json({"annotations": annotations, "file_metadata": meta, "sandbox": {}}, target)
        return []

    kept = [w for w in per_recording(events, path, ending=".jams", one=one, kind="JAMS") if "recording name" not in w]
    return found + kept  # the title holds the name


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def save_json(document: Any, path: Path) -> None:
    """Write a document; what an iterator in it yields (items of a list, pairs of an object) is never held at once."""
    save(path, chain(_json(document), "\n"))


class Pairs(NamedTuple):
    """Keys and values of an object of JSON that are made one by one."""

    items: Iterator[tuple[str, Any]]


def _json(value: Any) -> Iterator[str]:
    if isinstance(value, Pairs):
        items: Iterator[str] = (f"{_encode(key)}: {_encode(item)}" for key, item in value.items)
    elif isinstance(value, Iterator):
        items = map(_encode, value)
    elif isinstance(value, dict) and any(isinstance(item, (Pairs, Iterator, dict)) for item in value.values()):
        for k, (key, item) in enumerate(value.items()):
            yield f"{', ' if k else '{'}{_encode(key)}: "
            yield from _json(item)
        yield "}"
        return
    else:
        yield _encode(value)
        return
    yield "{" if isinstance(value, Pairs) else "["
    for k, text in enumerate(items):
        yield f",\n{text}" if k else text
    yield "}" if isinstance(value, Pairs) else "]"


def by_recording(frame: pd.DataFrame, *names: str) -> tuple[dict[str, slice], list[list[Any]]]:
    """Which rows of the columns are each recording's, and the columns with its rows side by side; "" what is not."""
    code, known = pd.factorize(frame["recording"])
    order = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=len(known))).tolist()
    columns = [frame[name].to_numpy()[order].tolist() if name in frame else [""] * len(frame) for name in names]
    return {str(name): slice(a, b) for name, a, b in zip(known, [0, *ends], ends)}, columns


def sniff_records(source: Source) -> bool:
    """A JSON list of flat objects."""
    return source.text.lstrip()[:1] == "[" and '"annotations"' not in source.text and '"result"' not in source.text


def read_records(source: Source) -> TextRows:
    """The rows of a list of objects, as of a table with their keys as names."""
    from .plain import rows_of

    document = source.json()
    if not isinstance(document, list) or not document or not all(isinstance(item, dict) for item in document):
        raise InvalidInput(
            f"{source.name}: is JSON of no known kind; a list of objects with onsets and offsets would do"
        )
    names = list(dict.fromkeys(str(key) for item in document for key in item))
    columns = [["" if item.get(n) is None else str(item[n]) for item in document] for n in names]
    source.n_rows = len(document)
    return rows_of(ColumnTable(source, names, columns, range(1, len(document) + 1)))


_KEYS = ("species", "event", "class", "label", "sound_event", "name", "dwc:scientificname", "soundevent:species")


def sniff_aoef(source: Source) -> bool:
    """A JSON object with recordings and sound events."""
    return source.is_json and '"recordings"' in source.text and (
        '"sound_events"' in source.text or '"collection_type"' in source.text)  # fmt: skip


def _span(geometry: Any) -> tuple[float, float, float, float]:
    """Start, end, low and high frequency of a geometry."""
    kind: Any = geometry.get("type") if isinstance(geometry, dict) else None
    at: Any = geometry.get("coordinates") if isinstance(geometry, dict) else None
    try:
        if kind == "BoundingBox":
            return float(at[0]), float(at[2]), float(at[1]), float(at[3])
        if kind == "TimeInterval":
            return float(at[0]), float(at[1]), np.nan, np.nan
        flat = np.array([at] if np.isscalar(at) else _flat(at), dtype=np.float64)
        if kind in ("TimeStamp", "Point", "MultiPoint") and flat.ndim < 2:
            return float(flat.ravel()[0]), float(flat.ravel()[0]), np.nan, np.nan
        return float(flat[:, 0].min()), float(flat[:, 0].max()), float(flat[:, 1].min()), float(flat[:, 1].max())
    except (TypeError, ValueError, IndexError):
        return np.inf, np.inf, np.nan, np.nan


def _flat(value: Any) -> list[Any]:
    """The points of lines, polygons and groups of these."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [point for part in value for point in (_flat(part) if isinstance(part[0], list) else [part])]
    return [value]


def read_aoef(source: Source) -> TextRows:
    """The annotated sound events with their recordings; clips that were annotated and hold nothing are empty."""
    document = object_of(source, "AOEF")
    data = document["data"] if isinstance(document.get("data"), dict) else document

    def table(key: str, by: str = "uuid") -> dict[Any, dict[str, Any]]:
        items = data.get(key)
        return {item[by]: item for item in items or () if isinstance(item, dict) and by in item}

    recordings, clips, sounds = table("recordings"), table("clips"), table("sound_events")
    tags, users = table("tags", "id"), table("users")
    names = {key: str(item.get("path") or key) for key, item in recordings.items()}
    lengths = {names[key]: number(item.get("duration")) for key, item in recordings.items()}
    found, untagged = ParsedRows(source), 0
    said = {**table("sound_event_annotations"), **table("sound_event_predictions")}
    looked = [*table("clip_annotations").values(), *table("clip_predictions").values()]
    if not (said or looked):
        raise InvalidInput(f"{source.name}: is AOEF that lists {count(len(names), 'recording')} and no annotations")
    for key, item in said.items():
        place = f"annotation {key}"
        sound = sounds.get(item.get("sound_event"))
        if sound is None or sound.get("recording") not in names:
            source.fail(place, "sound_event", "its sound event or recording is not in the file")
            continue
        scored = [tag if isinstance(tag, list) else [tag, 1.0] for tag in item.get("tags") or ()]
        scored.sort(key=lambda pair: -number(pair[1]))  # of a prediction's tags the likeliest
        own = [tags[tag] for tag, _ in scored if tag in tags]
        own.sort(key=lambda tag: _KEYS.index(k) if (k := str(tag.get("key", "")).lower()) in _KEYS else len(_KEYS))
        untagged += not own
        onset, offset, low, high = _span(sound.get("geometry"))
        who = person_of(users.get(item.get("created_by"), item.get("created_by") and {"id": item.get("created_by")}))
        found.add(place, names[sound["recording"]], onset, offset, own[0].get("value") if own else "event",
                  annotator=who, confidence=number(item.get("score")), low_frequency=low,
                  high_frequency=high)  # fmt: skip
    done = {names.get(clips.get(item.get("clip"), {}).get("recording"), "") for item in looked}
    heard = (done - {""}) or set(names.values())
    rows = found.done(lengths, [n for n in names.values() if n in heard], [n for n in names.values() if n not in heard])
    if untagged:
        source.note(f"{source.name}: {count(untagged, 'sound event')} without a tag are called 'event'")
    k = len(set(rows.data["label"]))
    return rows.say(f"recording = path ({len(names)}), label = the first tag ({k}), recording_length = duration")


_SET, _USER, _RECORDING, _CLIP, _CLIP_NOTE, _SOUND, _NOTE = range(7)  # kinds of things with an identifier


def write_aoef(events: Events, path: Path) -> list[str]:
    """An annotation set: recordings, one clip each, sound events with a box or an interval, the label as a tag."""
    frame, listing = events.to_frame(), events.recordings
    found = losses(events, empty=True, lengths=True, extra=("annotator", "low_frequency", "high_frequency"))
    found = [words for words in found if "were not annotated" not in words]
    if listing["length"].isna().any():
        n = count(int(listing["length"].isna().sum()), "recording")
        found.append(f"that the lengths of {n} are unknown: AOEF wants one, so it is the last offset")

    def key(kind: int, number_: int) -> str:
        """An identifier for each thing of a kind, the same in every writing of the same events."""
        return f"77656b6c-7900-4{kind:03x}-8000-{number_:012x}"

    extents = events.extents
    people = {person: i for i, person in enumerate(p for p in dict.fromkeys(texts_of(frame, "annotator")) if p)}
    labels = {label: i for i, label in enumerate(dict.fromkeys(frame["label"]))}
    place = {name: i for i, name in enumerate(listing.index)}
    annotated = [name for name, done in zip(listing.index, listing["annotated"]) if done]
    low, high = ([float(text or "nan") for text in texts_of(frame, n)] for n in ("low_frequency", "high_frequency"))
    mine, (rows,) = by_recording(frame.assign(row=np.arange(len(frame))), "row")

    def sounds() -> Iterator[dict[str, Any]]:
        spans = zip(frame["recording"], frame["onset"].tolist(), frame["offset"].tolist(), low, high)
        for i, (name, a, b, f, g) in enumerate(spans):
            geometry = {"type": "BoundingBox", "coordinates": [a, f, b, g]} if f == f and g == g else (
                {"type": "TimeInterval", "coordinates": [a, b]})  # fmt: skip
            yield {"uuid": key(_SOUND, i), "recording": key(_RECORDING, place[name]), "geometry": geometry}

    def notes() -> Iterator[dict[str, Any]]:
        for i, (label, who) in enumerate(zip(frame["label"], texts_of(frame, "annotator"))):
            note = {"uuid": key(_NOTE, i), "sound_event": key(_SOUND, i), "tags": [labels[label]]}
            yield note | {"created_by": key(_USER, people[who])} if who else note

    data = {
        "uuid": key(_SET, 0),
        "collection_type": "annotation_set",
        "users": [{"uuid": key(_USER, i), "name": person} for person, i in people.items()],
        "tags": [{"id": i, "key": "event", "value": label} for label, i in labels.items()],
        "recordings": (
            {"uuid": key(_RECORDING, i), "path": n, "duration": float(extents[n]), "channels": 1, "samplerate": 48000}
            for n, i in place.items()
        ),
        "clips": (
            {"uuid": key(_CLIP, place[n]), "recording": key(_RECORDING, place[n]), "start_time": 0.0,
             "end_time": float(extents[n])} for n in annotated
        ),
        "sound_events": sounds(),
        "sound_event_annotations": notes(),
        "clip_annotations": (
            {"uuid": key(_CLIP_NOTE, place[n]), "clip": key(_CLIP, place[n]),
             "sound_events": [key(_NOTE, i) for i in rows[mine.get(n, slice(0))]]} for n in annotated
        ),
    }  # fmt: skip
    save_json({"version": "1.1.0", "created_on": "1970-01-01T00:00:00", "data": data}, path)
    return [*found, "sample rates and channels, which AOEF wants: written as 48000 Hz and 1"]


DOCUMENTS = (
    Format("jams", "JAMS (segment_open)", sniff_jams, read_jams, write_jams, endings=(".jams",)),
    Format("aoef", "AOEF, the exchange format of whombat and soundevent", sniff_aoef, guarded("AOEF", read_aoef),
           write_aoef, endings=(".aoef", ".aoef.json")),
)  # fmt: skip
READERS = (Format("records", "JSON list of objects, a row each", sniff_records, read_records),)
