"""JSON documents: JAMS, ActivityNet and its cousins (THUMOS, MultiTHUMOS, Charades), AOEF, lists of records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InvalidInput
from ..events import Events
from .output import count, inexact, losses, per_recording, save, texts_of
from .registry import Format
from .source import Source
from .table import Rows, Table, lengths_agree
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


class _Found:
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

    def done(self, lengths: dict[str, float], empty: Iterable[str], idle: Iterable[str] = ()) -> Rows:
        data: dict[str, Any] = {name: [row[k] for row in self.rows] for k, name in enumerate(_COLUMNS)}
        for name in ("onset", "offset", "confidence", "low_frequency", "high_frequency"):
            data[name] = np.array(data[name], dtype=np.float64)
            if name not in ("onset", "offset") and not np.isfinite(data[name]).any():
                del data[name]
        if not any(data["annotator"]):
            del data["annotator"]
        self.source.n_rows = len(self.places) + len({place for place, _, _ in self.source.problems})
        rows = Rows(self.source, data | self.extra, self.places, empty=list(empty), unannotated=list(idle))
        rows.checked()
        lengths_agree(rows, {name: v for name, v in lengths.items() if np.isfinite(v) and v > 0})
        return rows


def _guarded(kind: str, reader: Callable[[Source], Rows]) -> Callable[[Source], Rows]:
    """The reader, for which a list where it expects a name (and the like) is an error of the file."""

    def read(source: Source) -> Rows:
        try:
            return reader(source)
        except (TypeError, AttributeError, KeyError) as error:
            words = " ".join(str(error).split())[:120]
            raise InvalidInput(f"{source.name}: is not {kind} as it should be: {words}") from error

    return read


def _object(source: Source, kind: str) -> dict[str, Any]:
    document = source.json()
    if not isinstance(document, dict):
        raise InvalidInput(f"{source.name}: a file of {kind} is a JSON object")
    return document


def sniff_jams(source: Source) -> bool:
    """A JSON object with annotations and file_metadata."""
    return source.is_json and '"annotations"' in source.text and '"file_metadata"' in source.text


def read_jams(source: Source) -> Rows:
    """The observations of every annotation; one without a duration is a point, and so a broken row."""
    document = _object(source, "JAMS")
    annotations = document.get("annotations")
    if not isinstance(annotations, list):
        raise InvalidInput(f"{source.name}: a JAMS file has a list of annotations")
    meta = document.get("file_metadata")
    meta = meta if isinstance(meta, dict) else {}
    name = str(meta.get("title") or source.stem(r"\.jams$"))
    found = _Found(source)
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
        _save({"annotations": annotations, "file_metadata": meta, "sandbox": {}}, target)
        return []

    kept = [w for w in per_recording(events, path, ending=".jams", one=one, kind="JAMS") if "recording name" not in w]
    return found + kept  # the title holds the name


def _save(document: Any, path: Path) -> None:
    save(path, [json.dumps(document, ensure_ascii=False, allow_nan=False), "\n"])


_SEGMENT = ("segment", "timestamp", "interval", "segments", "time")
_LABEL = ("label", "class", "category", "action", "sentence", "name", "label_name", "description")
_LISTS = ("annotations", "actions", "segments", "events")


def sniff_videos(source: Source) -> bool:
    """A JSON object of videos with annotations, actions or timestamps."""
    text = source.text
    return text.lstrip()[:1] == "{" and any(
        f'"{key}"' in text for key in ("segment", "actions", "timestamps", "annotations")
    )


def _videos(source: Source) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """Each video with what is said of it and the list of its events."""
    document = _object(source, "videos")
    for key in ("database", "results", "annotations", "videos"):
        if isinstance(document.get(key), dict):
            document = document[key]
            break
    for name, about in document.items():
        if isinstance(about, list):
            yield str(name), {}, about
        elif isinstance(about, dict):
            inner = next((about[key] for key in _LISTS if isinstance(about.get(key), list)), None)
            if inner is None and isinstance(about.get("timestamps"), list):
                words = about.get("sentences") or about.get("labels") or []
                if len(words) != len(about["timestamps"]):
                    source.fail(f"video {name}", "timestamps", "are not as many as sentences or labels")
                    continue
                inner = [{"segment": span, "label": word} for span, word in zip(about["timestamps"], words)]
            if inner is None and not (about.keys() & {"duration", "subset", "duration_second"}):
                if about:
                    raise InvalidInput(f"{source.name}: JSON of no known kind: {name!r} holds no list of annotations")
                inner = []
            yield str(name), about, inner or []


def read_videos(source: Source) -> Rows:
    """The segments of every video, with its duration and subset; a video without one is empty."""
    found, lengths, empty, seen = _Found(source), {}, [], 0
    for name, about, items in _videos(source):
        seen += 1
        lengths[name] = next(
            (number(about[k]) for k in ("duration", "duration_second", "length") if k in about), np.nan
        )
        if not items:
            empty.append(name)
        for k, item in enumerate(items):
            place = f"video {name}, annotation {k + 1}"
            more: dict[str, Any] = {"subset": about.get("subset", "")}
            span: Any = None
            label: Any = None
            if isinstance(item, dict):
                span = next((item[key] for key in _SEGMENT if isinstance(item.get(key), (list, tuple))), None)
                if span is None:
                    first = next(
                        (item[key] for key in ("start", "onset", "start_time", "t_start") if key in item), None
                    )
                    last = next((item[key] for key in ("end", "offset", "end_time", "t_end") if key in item), None)
                    span = [first, last]
                label = next((item[key] for key in _LABEL if key in item), None)
                score = number(item.get("score"))
                more["confidence"] = score if np.isfinite(score) else np.nan
            elif isinstance(item, list) and len(item) == 3:  # [class, start, end] or [start, end, class]
                text = [isinstance(value, str) for value in item]
                span, label = (item[:2], item[2]) if text[2] and not text[0] else (item[1:], item[0])
            if not isinstance(span, (list, tuple)) or len(span) != 2:
                source.fail(place, "segment", "has no start and end")
                continue
            found.add(place, name, number(span[0]), number(span[1]), "event" if label is None else label, **more)
    if not seen:
        raise InvalidInput(f"{source.name}: JSON of no known kind: no videos with annotations")
    if not any(found.extra.get("subset", ())):
        found.extra.pop("subset", None)
    rows = found.done(lengths, empty)
    told = f"recording = the videos' names ({seen}), label = label ({len(set(rows.data['label']))})"
    known = sum(value == value for value in lengths.values())
    return rows.say(f"{told}, time = segment in seconds, recording_length = duration ({known})")


def write_videos(events: Events, path: Path) -> list[str]:
    """One entry per recording with its duration and its segments, as ActivityNet has them."""
    frame, listing = events.to_frame(), events.recordings
    found = losses(events, empty=True, lengths=True, extra=("confidence", "subset"))
    groups = frame.groupby("recording", sort=False).indices
    database: dict[str, Any] = {}
    onset, offset, label, subset = (frame[c].tolist() if c in frame else [""] * len(frame)
                                    for c in ("onset", "offset", "label", "subset"))  # fmt: skip
    score = frame["confidence"].tolist() if "confidence" in frame else [np.nan] * len(frame)
    for name, length, done in zip(listing.index, listing["length"], listing["annotated"]):
        if not done:
            continue
        mine = [int(i) for i in groups.get(name, [])]
        entry: dict[str, Any] = {} if length != length else {"duration": length}
        entry["subset"] = subset[mine[0]] if mine else ""
        entry["annotations"] = [
            {"segment": [onset[i], offset[i]], "label": label[i]}
            | ({} if score[i] != score[i] else {"score": score[i]})
            for i in mine
        ]
        database[name] = entry
    _save({"version": "weakly", "database": database}, path)
    return found


def sniff_records(source: Source) -> bool:
    """A JSON list of flat objects."""
    return source.text.lstrip()[:1] == "[" and '"annotations"' not in source.text and '"result"' not in source.text


def read_records(source: Source) -> Rows:
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
    return rows_of(Table(source, names, columns, range(1, len(document) + 1)))


_KEYS = ("species", "event", "class", "label", "sound_event", "name", "dwc:scientificname", "soundevent:species")


def sniff_aoef(source: Source) -> bool:
    """A JSON object with recordings and sound events."""
    return source.is_json and '"recordings"' in source.text and (
        '"sound_events"' in source.text or '"clip_annotations"' in source.text)  # fmt: skip


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


def read_aoef(source: Source) -> Rows:
    """The annotated sound events with their recordings; clips that were annotated and hold nothing are empty."""
    document = _object(source, "AOEF")
    data = document["data"] if isinstance(document.get("data"), dict) else document

    def table(key: str, by: str = "uuid") -> dict[Any, dict[str, Any]]:
        items = data.get(key)
        return {item[by]: item for item in items or () if isinstance(item, dict) and by in item}

    recordings, clips, sounds = table("recordings"), table("clips"), table("sound_events")
    tags, users = table("tags", "id"), table("users")
    names = {key: str(item.get("path") or key) for key, item in recordings.items()}
    lengths = {names[key]: number(item.get("duration")) for key, item in recordings.items()}
    found, untagged = _Found(source), 0
    for key, item in table("sound_event_annotations").items():
        place = f"annotation {key}"
        sound = sounds.get(item.get("sound_event"))
        if sound is None or sound.get("recording") not in names:
            source.fail(place, "sound_event", "its sound event or recording is not in the file")
            continue
        own = [tags[tag] for tag in item.get("tags") or () if tag in tags]
        own.sort(key=lambda tag: _KEYS.index(k) if (k := str(tag.get("key", "")).lower()) in _KEYS else len(_KEYS))
        untagged += not own
        onset, offset, low, high = _span(sound.get("geometry"))
        who = person_of(users.get(item.get("created_by"), item.get("created_by") and {"id": item.get("created_by")}))
        found.add(place, names[sound["recording"]], onset, offset, own[0].get("value") if own else "event",
                  annotator=who, low_frequency=low, high_frequency=high)  # fmt: skip
    done = {
        names.get(clips.get(item.get("clip"), {}).get("recording"), "") for item in table("clip_annotations").values()
    }
    heard = (done - {""}) or set(names.values())
    rows = found.done(lengths, [n for n in names.values() if n in heard], [n for n in names.values() if n not in heard])
    if untagged:
        source.note(f"{source.name}: {count(untagged, 'sound event')} without a tag are called 'event'")
    k = len(set(rows.data["label"]))
    return rows.say(f"recording = path ({len(names)}), label = the first tag ({k}), recording_length = duration")


def write_aoef(events: Events, path: Path) -> list[str]:
    """An annotation set: recordings, one clip each, sound events with a box or an interval, the label as a tag."""
    frame, listing = events.to_frame(), events.recordings
    found = losses(events, empty=True, lengths=True, extra=("annotator", "low_frequency", "high_frequency"))
    found = [words for words in found if "were not annotated" not in words]
    if listing["length"].isna().any():
        n = count(int(listing["length"].isna().sum()), "recording")
        found.append(f"that the lengths of {n} are unknown: AOEF wants one, so it is the last offset")

    numbers: dict[tuple[str, object], int] = {}

    def key(kind: str, item: object) -> str:
        """An identifier for each thing of a kind, the same in every writing of the same events."""
        number_ = numbers.setdefault((kind, item), len(numbers))
        return f"77656b6c-7900-4000-8000-{number_:012x}"

    extents = events.extents
    people = [person for person in dict.fromkeys(texts_of(frame, "annotator")) if person]
    labels = {label: i for i, label in enumerate(dict.fromkeys(frame["label"]))}
    low, high = ([float(text or "nan") for text in texts_of(frame, n)] for n in ("low_frequency", "high_frequency"))
    sounds, notes, inside = [], [], {name: [] for name in listing.index}  # type: ignore[var-annotated]
    rows = zip(frame["recording"], frame["onset"].tolist(), frame["offset"].tolist(), frame["label"],
               texts_of(frame, "annotator"), low, high)  # fmt: skip
    for i, (name, a, b, label, who, f, g) in enumerate(rows):
        box = f == f and g == g
        geometry = {"type": "BoundingBox", "coordinates": [a, f, b, g]} if box else (
            {"type": "TimeInterval", "coordinates": [a, b]})  # fmt: skip
        sounds.append({"uuid": key("sound", i), "recording": key("recording", name), "geometry": geometry})
        note = {"uuid": key("annotation", i), "sound_event": key("sound", i), "tags": [labels[label]]}
        notes.append(note | ({"created_by": key("user", who)} if who else {}))
        inside[name].append(note["uuid"])
    data = {
        "uuid": key("set", path.name),
        "collection_type": "annotation_set",
        "users": [{"uuid": key("user", person), "name": person} for person in people],
        "tags": [{"id": i, "key": "event", "value": label} for label, i in labels.items()],
        "recordings": [
            {"uuid": key("recording", n), "path": n, "duration": float(extents[n]), "channels": 1, "samplerate": 48000}
            for n in listing.index
        ],
        "clips": [
            {"uuid": key("clip", n), "recording": key("recording", n), "start_time": 0.0, "end_time": float(extents[n])}
            for n, done in zip(listing.index, listing["annotated"]) if done
        ],
        "sound_events": sounds,
        "sound_event_annotations": notes,
        "clip_annotations": [
            {"uuid": key("clip annotation", n), "clip": key("clip", n), "sound_events": inside[n]}
            for n, done in zip(listing.index, listing["annotated"]) if done
        ],
    }  # fmt: skip
    _save({"version": "1.1.0", "created_on": "1970-01-01T00:00:00", "data": data}, path)
    return [*found, "sample rates and channels, which AOEF wants: written as 48000 Hz and 1"]


DOCUMENTS = (
    Format("jams", "JAMS (segment_open)", sniff_jams, read_jams, write_jams, endings=(".jams",)),
    Format("aoef", "AOEF, the exchange format of whombat and soundevent", sniff_aoef, _guarded("AOEF", read_aoef),
           write_aoef, endings=(".aoef", ".aoef.json")),
)  # fmt: skip
READERS = (
    Format("activitynet", "ActivityNet JSON and its cousins (THUMOS, MultiTHUMOS, Charades): videos with segments",
           sniff_videos, _guarded("a list of videos", read_videos), write_videos),
    Format("records", "JSON list of objects, a row each", sniff_records, read_records),
)  # fmt: skip
