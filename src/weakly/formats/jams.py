"""JAMS: annotations of one recording, each a list of observations with time, duration, value and confidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InvalidInput
from ..events import Events
from .labelstudio import _number, load
from .output import count, duration, inexact, losses, per_recording, save, texts_of
from .registry import Format
from .source import Source
from .table import Rows, ending, lengths_agree


def sniff(source: Source) -> bool:
    """A JSON object with annotations that have a namespace."""
    return (
        source.text[:64].lstrip().startswith("{")
        and '"annotations"' in source.text
        and '"file_metadata"' in source.text
    )


def read(source: Source) -> Rows:
    """The observations of every annotation; one without a duration is a point, and so a broken row."""
    document = load(source)
    annotations = document.get("annotations") if isinstance(document, dict) else None
    if not isinstance(annotations, list):
        raise InvalidInput(f"{source.name}: a JAMS file has a list of annotations")
    meta = document.get("file_metadata")
    meta = meta if isinstance(meta, dict) else {}
    length = _number(meta.get("duration"))
    name = str(meta.get("title") or source.stem(r"\.jams$"))
    data: dict[str, Any] = {
        n: [] for n in ("recording", "onset", "offset", "label", "annotator", "confidence", "namespace")
    }
    places: list[int | str] = []
    for a, annotation in enumerate(annotations):
        if not isinstance(annotation, dict):
            source.fail(f"annotation {a}", "", "is not an object")
            continue
        observations = annotation.get("data")
        if isinstance(observations, dict):  # the dense layout: one list per field
            lists = [observations.get(key) for key in ("time", "duration", "value", "confidence")]
            if not all(isinstance(items, list) for items in lists):
                source.fail(f"annotation {a}", "data", "is not a list of observations")
                continue
            observations = [dict(zip(("time", "duration", "value", "confidence"), row)) for row in zip(*lists)]  # type: ignore[arg-type]
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
            onset, span = _number(item.get("time")), _number(item.get("duration"))
            data["recording"].append(name)
            data["onset"].append(onset)
            data["offset"].append(span)  # the length, for now
            data["label"].append("" if label is None else str(label))
            data["annotator"].append(who)
            score = _number(item.get("confidence"))
            data["confidence"].append(score if np.isfinite(score) else np.nan)
            data["namespace"].append(str(annotation.get("namespace", "")))
            places.append(where)
    for column in ("onset", "offset", "confidence"):
        data[column] = np.array(data[column], dtype=np.float64)
    data["offset"] = ending(data["onset"], data["offset"])
    for column in ("annotator",):
        if not any(data[column]):
            del data[column]
    if np.isnan(data["confidence"]).all():
        del data["confidence"]
    rows = Rows(source, data, places)
    if not places:
        rows.empty.append(name)
    rows.checked()
    if np.isfinite(length) and length > 0:
        lengths_agree(rows, {name: length})
    return rows


def write(events: Events, path: Path) -> list[str]:
    """One JAMS file per recording, in the namespace segment_open, one annotation per annotator."""
    lengths = events.recordings["length"]
    found = losses(events, empty=True, lengths=True, extra=("annotator", "confidence", "namespace"))
    found += inexact(events.to_frame()["onset"], events.to_frame()["offset"])
    if lengths.isna().any():
        n = int(lengths.isna().sum())
        found.append(
            f"that the lengths of {count(n, 'recording')} are unknown: JAMS wants one, so it is the last offset"
        )

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
        meta = {
            "title": name,
            "artist": "",
            "release": "",
            "duration": length,
            "identifiers": {},
            "jams_version": "0.3.5",
        }
        document = {"annotations": annotations, "file_metadata": meta, "sandbox": {}}
        save(target, [json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False), "\n"])
        return []

    names_kept = [
        w for w in per_recording(events, path, ending=".jams", one=one, kind="JAMS") if "recording name" not in w
    ]
    return found + names_kept  # the title holds the name


HERE = (Format("jams", "JAMS (segment_open)", sniff, read, write, endings=(".jams",)),)
