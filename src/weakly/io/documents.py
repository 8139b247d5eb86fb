"""JSON documents: JAMS, AOEF, videos with segments (ActivityNet and its cousins), lists of records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..base.errors import InvalidInput
from ..base.results import counted
from .formats import JSON, Format
from .plain import rows_of
from .source import Source, quoted
from .table import NUMBERS, ColumnTable, TextRows
from .times import ending
from .vocabulary import person_of

COLUMNS = ("annotator", "confidence", "low_frequency", "high_frequency")


def number(value: Any) -> float:
    """A number of a JSON document; NaN where there is none, infinite where it is something else."""
    if isinstance(value, bool) or value is None:
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.inf


def ended(rows: TextRows, lengths: Mapping[str, float]) -> TextRows:
    """The rows with usable times, without columns in which nothing stands, and the lengths that agree with them."""
    rows.finish()
    for name, values in list(rows.data.items())[4:]:
        blank = not np.isfinite(values).any() if name in NUMBERS else name in COLUMNS and not any(values)
        if blank or not len(rows):
            del rows.data[name]
    return rows.checked(lengths)


def guarded(kind: str, reader: Callable[[Source], TextRows]) -> Callable[[Source], TextRows]:
    """The reader, for which a list where it expects a name (and the like) is an error of the file."""

    def read(source: Source) -> TextRows:
        try:
            return reader(source)
        except InvalidInput:
            raise
        except (TypeError, AttributeError, LookupError, ValueError) as error:
            words = " ".join(str(error).split())[:120]
            raise source.error(f"is not {kind} as it should be: {words}") from error

    return read


def object_of(source: Source, kind: str) -> dict[str, Any]:
    document = source.json()
    if not isinstance(document, dict):
        raise source.error(f"a file of {kind} is a JSON object")
    return document


def _observations(source: Source, data: Any) -> list[dict[str, Any]]:
    """The observations of an annotation, also of the dense layout, a list per field."""
    if not isinstance(data, dict):
        return data or []
    lists = {key: data[key] for key in ("time", "duration", "value", "confidence")}
    if len(set(map(len, lists.values()))) > 1:
        raise source.error("its lists of times, durations, values are not equally long")
    return [dict(zip(lists, row)) for row in zip(*lists.values())]


def read_jams(source: Source) -> TextRows:
    """The observations of every annotation; one without a duration is a point, and so a broken row."""
    document = object_of(source, "JAMS")
    meta, own = document.get("file_metadata") or {}, source.stem(r"\.jams$")
    name = str((source.columns.get("recording") == "title" and meta.get("title")) or own)
    held = [(str(each.get("namespace", "")), each, _observations(source, each.get("data")))
            for each in document["annotations"]]  # fmt: skip
    kinds: dict[str, bool] = {}  # namespace: whether some of it lasts
    for kind, _, items in held:
        if items:
            kinds[kind] = kinds.get(kind, False) or any(number(item.get("duration")) > 0 for item in items)
    wanted = source.layer.get("namespace", "*" if len(kinds) < 2 or source.on_error == "collect" else None)
    if wanted is None:
        ways = " or ".join(f"--where namespace={kind}" for kind, lasts in kinds.items() if lasts or source.point_length)
        raise source.error(f"holds annotations of {', '.join(kinds)}, which are not one set of classes: "
                           f"{ways or '--point-length 0.2, for they are points'}")  # fmt: skip
    rows = TextRows.start(source, *COLUMNS, "namespace")
    for a, (kind, about, items) in enumerate(held):
        who = ((about.get("annotation_metadata") or {}).get("annotator") or {}).get("name") or ""
        for k, item in enumerate(items if wanted in ("*", kind) else ()):
            value = item.get("value")
            label = value.get("label", "") if isinstance(value, dict) else value
            onset, span, score = (number(item.get(key)) for key in ("time", "duration", "confidence"))
            more = {"annotator": str(who), "confidence": score if np.isfinite(score) else np.nan, "namespace": kind}
            rows.add(f"annotation {a}, observation {k}", name, onset, float(ending(onset, span)), label, **more)
    rows.empty += [] if len(rows) else [name]
    told = "the file's name" if name == own else "title"
    return ended(rows, {name: number(meta.get("duration"))}).say(told, "value", "time = time + duration")


def sniff_records(source: Source) -> bool:
    """A JSON list of flat objects, or such an object in each line."""
    if len(source.head) > 1 and all(line[:1] == "{" and line.rstrip()[-1:] == "}" for line in source.head):
        return True
    return source.text.lstrip()[:1] == "[" and '"annotations"' not in source.text and '"result"' not in source.text


def read_records(source: Source) -> TextRows:
    """The rows of a list of objects, as of a table with their keys as names."""
    single = source.text.lstrip()[:1] == "{"  # an object in each line
    document = json.loads(f"[{','.join(text for _, text in source.lines())}]") if single else source.json()
    if not isinstance(document, list) or not document or not all(isinstance(item, dict) for item in document):
        raise source.error("is JSON of no known kind; a list of objects with onsets and offsets would do")
    names = list(dict.fromkeys(str(key) for item in document for key in item))
    columns = [["" if item.get(n) is None else str(item[n]) for item in document] for n in names]
    source.n_rows = len(document)
    return rows_of(ColumnTable(source, names, columns, range(1, len(document) + 1)))


_KEYS = ("species", "event", "class", "label", "sound_event", "name", "dwc:scientificname", "soundevent:species")


def _span(geometry: Any) -> tuple[float, float, float, float]:
    """Start, end, low and high frequency of a geometry."""
    known = geometry if isinstance(geometry, dict) else {}
    kind, at = known.get("type"), known.get("coordinates", ())
    try:
        if kind == "BoundingBox":
            return float(at[0]), float(at[2]), float(at[1]), float(at[3])
        if kind == "TimeInterval":
            return float(at[0]), float(at[1]), np.nan, np.nan
        flat = np.array([at] if np.isscalar(at) else _flat(at), dtype=np.float64)
        if kind in ("TimeStamp", "Point", "MultiPoint") and flat.ndim < 2:
            return float(flat.ravel()[0]), float(flat.ravel()[0]), np.nan, np.nan
        (start, low), (end, high) = flat[:, :2].min(axis=0).tolist(), flat[:, :2].max(axis=0).tolist()
        return start, end, low, high
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
    rows, untagged = TextRows.start(source, *COLUMNS), 0
    said = {**table("sound_event_annotations"), **table("sound_event_predictions")}
    looked = [*table("clip_annotations").values(), *table("clip_predictions").values()]
    if not (said or looked):
        raise source.error(f"is AOEF that lists {counted(len(names), 'recording')} and no annotations")
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
        more = {"confidence": number(item.get("score")), "low_frequency": low, "high_frequency": high}
        label = own[0].get("value") if own else "event"
        rows.add(place, names[sound["recording"]], onset, offset, label, annotator=who, **more)
    done = {names.get(clips.get(item.get("clip"), {}).get("recording"), "") for item in looked}
    heard = (done - {""}) or set(names.values())
    rows.empty = [n for n in names.values() if n in heard]
    rows.unannotated = [n for n in names.values() if n not in heard]
    if untagged:
        source.note(f"{counted(untagged, 'sound event')} without a tag are called 'event'")
    return ended(rows, lengths).say("path", "the first tag", "recording_length = duration")


_SEGMENT = ("segment", "timestamp", "interval", "segments", "time")
_START, _END = ("start", "onset", "start_time", "t_start", "begin"), ("end", "offset", "end_time", "t_end", "stop")
_LABEL = ("label", "class", "category", "action", "sentence", "name", "label_name", "description")
_NUMBERS = {"confidence": ("score", "det_prob"), "low_frequency": ("low_freq", "low"),
            "high_frequency": ("high_freq", "high")}  # fmt: skip
_LISTS = ("annotations", "actions", "segments", "events", "timestamps", "annotation")


def first_of(item: dict[str, Any], names: Iterable[str]) -> Any:
    return next((item[name] for name in names if name in item), None)


def _videos(source: Source) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """Each video with what is said of it and the list of its events."""
    document = object_of(source, "videos")
    listed = next((document[key] for key in ("annotation", *_LISTS) if isinstance(document.get(key), list)), None)
    if listed is not None and document.keys() & {"id", "duration", "file", "filename", "path"}:  # one sound's own file
        name = str(first_of(document, ("id", "filename", "file", "path")) or source.stem(r"\.json$"))
        yield name, document, listed
        return
    inside = (document[key] for key in ("database", "results", "annotations", "videos") if key in document)
    for name, about in next((each for each in inside if isinstance(each, dict)), document).items():
        if isinstance(about, list):
            yield str(name), {}, about
        elif isinstance(about, dict):
            inner = next((about[key] for key in _LISTS if isinstance(about.get(key), list)), None)
            words = first_of(about, ("labels", "sentences"))
            if isinstance(inner, list) and isinstance(words, list) and all(isinstance(x, list) for x in inner):
                if len(words) != len(inner):
                    source.fail(f"video {name}", "labels", f"{len(words)} labels for {len(inner)} segments")
                    continue
                inner = [{"segment": span, "label": word} for span, word in zip(inner, words)]
            if inner is None and about and not (about.keys() & {"duration", "subset", "duration_second"}):
                raise source.error(f"JSON of no known kind: {name!r} holds no list of annotations")
            yield str(name), about, inner or []


def _segment(item: Any) -> tuple[Any, Any, Any]:
    """The start, the end and the label of an annotation, an object or a list of three; None what is not there."""
    if isinstance(item, dict):
        ends = [first_of(item, _START), first_of(item, _END)]
        span = next((item[key] for key in _SEGMENT if isinstance(item.get(key), list)), ends)
        label = first_of(item, _LABEL)
        return (*span, label) if len(span) == 2 else (None, None, label)
    if isinstance(item, list) and len(item) == 3:  # [class, start, end] or [start, end, class]
        first, second, third = item
        named = isinstance(third, str) and not isinstance(first, str)
        return (first, second, third) if named else (second, third, first)
    return None, None, None


def read_videos(source: Source) -> TextRows:
    """The segments of every video, with its duration and subset; a video without one is empty, or not annotated."""
    rows, lengths, empty = TextRows.start(source, *COLUMNS, "subset"), {}, {}
    subsets: dict[str, bool] = {}
    for name, about, items in _videos(source):
        lengths[name] = number(first_of(about, ("duration", "duration_second", "length")))
        subset = str(about.get("subset", ""))
        subsets[subset] = subsets.get(subset, False) or bool(items)
        if not items:
            empty[name] = subset
        for k, item in enumerate(items):
            place = f"video {name}, annotation {k + 1}"
            start, end, label = _segment(item)
            if start is None and end is None:
                source.fail(place, "segment", "has no start and end")
                continue
            about = item if isinstance(item, dict) else {}
            more = {name: number(first_of(about, keys)) for name, keys in _NUMBERS.items()}
            more["confidence"] = more["confidence"] if np.isfinite(more["confidence"]) else np.nan
            label = "event" if label is None else label
            rows.add(place, name, number(start), number(end), label, subset=subset, **more)
    if not lengths:
        raise source.error("JSON of no known kind: no videos with annotations")
    if not any(rows.data["subset"]):
        del rows.data["subset"]
    held = {name for name, some in subsets.items() if name and not some} if any(subsets.values()) else set()
    rows.unannotated = [name for name, subset in empty.items() if subset in held]
    rows.empty = [name for name, subset in empty.items() if subset not in held]
    if rows.unannotated:
        which = ", ".join(sorted(quoted(name) for name in held))
        words = f"none of the {counted(len(rows.unannotated), 'recording')} of the subset {which} has a segment"
        source.note(f"{words}; taken as not annotated", kind="not annotated")
    told = f"recording_length = duration ({sum(value == value for value in lengths.values())})"
    return ended(rows, lengths).say("the videos' names", "label", "time = segment in seconds", told)


DOCUMENTS = (
    Format("jams", "JAMS (segment_open)", ('"annotations"', '"file_metadata"'), guarded("JAMS", read_jams), mark=JSON),
    Format("aoef", "AOEF, the exchange format of whombat and soundevent",
           lambda s: '"recordings"' in s.text and ('"sound_events"' in s.text or '"collection_type"' in s.text),
           guarded("AOEF", read_aoef), mark=JSON),
)  # fmt: skip
READERS = (
    Format("activitynet", "ActivityNet JSON and its cousins (THUMOS, MultiTHUMOS, Charades): videos with segments",
           lambda s: any(f'"{key}"' in s.text for key in (*_LISTS[:3], *_LISTS[4:], "segment")),
           guarded("a list of videos", read_videos), mark=r"^\s*\{"),
    Format("records", "JSON list of objects, or one in each line, a row each", sniff_records,
           guarded("a list of objects", read_records), mark=JSON),
)  # fmt: skip
