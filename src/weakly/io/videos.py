"""ActivityNet JSON and its cousins: THUMOS, MultiTHUMOS, Charades, captions, detections, BatDetect2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InvalidInput
from ..model.events import Events
from .documents import Pairs, ParsedRows, by_recording, guarded, number, object_of, save_json
from .output import count, losses
from .registry import Format
from .source import Source, quoted
from .table import TextRows

_SEGMENT = ("segment", "timestamp", "interval", "segments", "time")
_START, _END = ("start", "onset", "start_time", "t_start", "begin"), ("end", "offset", "end_time", "t_end", "stop")
_LABEL = ("label", "class", "category", "action", "sentence", "name", "label_name", "description")
_LISTS = ("annotations", "actions", "segments", "events", "timestamps", "annotation")


def sniff_videos(source: Source) -> bool:
    """A JSON object of videos with annotations, actions or timestamps."""
    text = source.text
    return text.lstrip()[:1] == "{" and any(f'"{key}"' in text for key in (*_LISTS[:3], *_LISTS[4:], "segment"))


def _first(item: dict[str, Any], names: Iterable[str]) -> Any:
    return next((item[name] for name in names if name in item), None)


def _videos(source: Source) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """Each video with what is said of it and the list of its events."""
    document = object_of(source, "videos")
    listed = next((document[key] for key in ("annotation", *_LISTS) if isinstance(document.get(key), list)), None)
    if listed is not None and (
        document.keys() & {"id", "duration", "file", "filename", "path"}
    ):  # one sound's own file
        name = str(_first(document, ("id", "filename", "file", "path")) or source.stem(r"\.json$"))
        yield name, document, listed
        return
    for key in ("database", "results", "annotations", "videos"):
        if isinstance(document.get(key), dict):
            document = document[key]
            break
    for name, about in document.items():
        if isinstance(about, list):
            yield str(name), {}, about
        elif isinstance(about, dict):
            inner = next((about[key] for key in _LISTS if isinstance(about.get(key), list)), None)
            words = _first(about, ("labels", "sentences"))
            if isinstance(inner, list) and isinstance(words, list) and all(isinstance(x, list) for x in inner):
                if len(words) != len(inner):
                    source.fail(f"video {name}", "labels", f"{len(words)} labels for {len(inner)} segments")
                    continue
                inner = [{"segment": span, "label": word} for span, word in zip(inner, words)]
            if inner is None and not (about.keys() & {"duration", "subset", "duration_second"}):
                if about:
                    raise InvalidInput(f"{source.name}: JSON of no known kind: {name!r} holds no list of annotations")
                inner = []
            yield str(name), about, inner or []


def _segment(item: Any) -> tuple[Any, Any, Any]:
    """The start, the end and the label of an annotation, an object or a list of three; None what is not there."""
    if isinstance(item, dict):
        span = next((item[key] for key in _SEGMENT if isinstance(item.get(key), list)), None)
        if span is None:
            span = [_first(item, _START), _first(item, _END)]
        label = _first(item, _LABEL)
        return (*span, label) if len(span) == 2 else (None, None, label)
    if isinstance(item, list) and len(item) == 3:  # [class, start, end] or [start, end, class]
        first, second, third = item
        named = isinstance(third, str) and not isinstance(first, str)
        return (first, second, third) if named else (second, third, first)
    return None, None, None


def read_videos(source: Source) -> TextRows:
    """The segments of every video, with its duration and subset; a video without one is empty.

    A subset in which no video has a segment, where others have some, was not annotated (or its labels are kept back).
    """
    found, lengths, empty = ParsedRows(source), {}, {}
    subsets: dict[str, bool] = {}
    for name, about, items in _videos(source):
        lengths[name] = number(_first(about, ("duration", "duration_second", "length")))
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
            more: dict[str, Any] = {"subset": subset}
            if isinstance(item, dict):
                score, low, high = (number(_first(item, (key, other))) for key, other in
                                    (("score", "det_prob"), ("low_freq", "low"), ("high_freq", "high")))  # fmt: skip
                more |= {"confidence": score if np.isfinite(score) else np.nan, "low_frequency": low,
                         "high_frequency": high}  # fmt: skip
            found.add(place, name, number(start), number(end), "event" if label is None else label, **more)
    if not lengths:
        raise InvalidInput(f"{source.name}: JSON of no known kind: no videos with annotations")
    if not any(found.extra.get("subset", ())):
        found.extra.pop("subset", None)
    held = {name for name, some in subsets.items() if name and not some} if any(subsets.values()) else set()
    idle = [name for name, subset in empty.items() if subset in held]
    if idle:
        which = ", ".join(sorted(quoted(name) for name in held))
        source.note(f"{source.name}: none of the {count(len(idle), 'recording')} of the subset {which} has a segment; "
                    "taken as not annotated", kind="not annotated")  # fmt: skip
    rows = found.done(lengths, [name for name in empty if name not in set(idle)], idle)
    told = f"recording = the videos' names ({len(lengths)}), label = label ({len(set(rows.data['label']))})"
    known = sum(value == value for value in lengths.values())
    return rows.say(f"{told}, time = segment in seconds, recording_length = duration ({known})")


def write_videos(events: Events, path: Path) -> list[str]:
    """One entry per recording with its duration and its segments, as ActivityNet has them."""
    frame, listing = events.to_frame(), events.recordings
    found = losses(events, empty=True, lengths=True, extra=("confidence", "subset"))
    mine, columns = by_recording(frame, "onset", "offset", "label", "subset", "confidence")

    def entries() -> Iterator[tuple[str, Any]]:
        for name, length, done in zip(listing.index, listing["length"].tolist(), listing["annotated"]):
            if not done:
                continue
            onset, offset, label, subset, score = (column[mine.get(name, slice(0))] for column in columns)
            entry: dict[str, Any] = {} if length != length else {"duration": length}
            entry["subset"] = subset[0] if subset else ""
            items = [{"segment": [a, b], "label": c} for a, b, c in zip(onset, offset, label)]
            for item, s in zip(items, score) if "confidence" in frame else ():
                item |= {} if s != s else {"score": s}
            yield name, entry | {"annotations": items}

    save_json({"version": "weakly", "database": Pairs(entries())}, path)
    return found


READERS = (
    Format("activitynet", "ActivityNet JSON and its cousins (THUMOS, MultiTHUMOS, Charades): videos with segments",
           sniff_videos, guarded("a list of videos", read_videos), write_videos),
)  # fmt: skip
