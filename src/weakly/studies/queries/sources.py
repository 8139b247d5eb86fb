"""Recordings from whatever names them: folders, files, tables of lengths, events; with what a method listens to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import InvalidInput
from ...base.symbols import check
from ...io.feature_files import load_features, log_mel
from ...io.signals import RECORDINGS, VIDEOS, durations
from ...methods.base import Recording
from ...model.events import Events
from ...model.features import Features
from ...model.intervals import merge


def recordings_of(recordings: Any, *, sample_rate: float | None = None) -> tuple[dict[str, Recording], dict[str, str]]:
    """Recordings by name from whatever names them, and those that cannot be used."""
    if isinstance(recordings, Events):
        extents = recordings.extents
        unknown = [str(name) for name in extents.index if not extents[name] > 0]
        if unknown:
            raise InvalidInput(f"recording {unknown[0]!r} has no known length; give recording_length when reading")
        return {str(name): Recording(str(name), float(extents[name])) for name in extents.index}, {}
    if isinstance(recordings, Mapping):
        if not recordings:
            raise InvalidInput("there are no recordings")
        return {
            str(name): value
            if isinstance(value, Recording)
            else Recording(str(name), float(check("recording_length", value)))
            for name, value in recordings.items()
        }, {}
    given = [recordings] if isinstance(recordings, (str, os.PathLike)) else list(recordings)
    paths: list[Path] = []
    for path in map(Path, given):
        inside = sorted(p for p in path.rglob("*") if p.suffix.lower() in RECORDINGS) if path.is_dir() else [path]
        paths += [p for p in inside if p not in paths]
    if not paths:
        raise InvalidInput("there are no recordings" + (f" in {given[0]}" if given else ""))
    listing = durations(paths, sample_rate=sample_rate)
    if not listing.seconds:
        path, reason = next(iter(listing.skipped.items()))
        raise InvalidInput(f"none of the {len(paths)} recordings can be read; {path}: {reason}")
    found = {name: Recording(name, listing.seconds[path], path=path) for name, path in listing.names().items()}
    return found, {str(path): reason for path, reason in listing.skipped.items()}


def with_features(one: Recording, features: Any, hop: float | None, sample_rate: float | None) -> Recording:
    """The recording with its features: the given ones, or log-mel of its audio."""
    if one.features is not None:
        return one
    if features is None:
        path = one.path
        if path is None:
            raise InvalidInput(
                f"recording {one.name!r}: change points need audio, or features; only its length is known"
            )
        return replace(one, features=partial(log_mel, path, sample_rate=sample_rate))
    if isinstance(features, (str, os.PathLike)):
        stem = Path(one.name).stem
        for ending in (".npz", ".npy", ".parquet", ".pq"):
            place = Path(features) / f"{stem}{ending}"
            if place.is_file():
                return replace(one, features=partial(load_features, place, hop=hop))
        raise InvalidInput(f"{features}: no features of recording {one.name!r} ({stem}.npz, .npy or .parquet)")
    value = features.get(one.name)
    if value is None:
        raise InvalidInput(f"features must hold every recording, {one.name!r} is missing")
    return replace(one, features=value if isinstance(value, Features) else partial(load_features, value, hop=hop))


def with_signal(
    method: str, known: Mapping[str, Recording], features: Any, hop: float | None, sample_rate: float | None
) -> dict[str, Recording]:
    """The recordings with what the method listens to; information does without where there is neither audio nor any."""
    return {
        name: one
        if method == "information" and features is None and (one.path is None or one.path.suffix.lower() in VIDEOS)
        else with_features(one, features, hop, sample_rate)
        for name, one in known.items()
    }


def with_events(known: dict[str, Recording], events: Events, label: str | None) -> dict[str, Recording]:
    """The recordings with their true events of one label, or of all labels as one."""
    frame = events.to_frame()
    if label is not None:
        frame = frame[frame["label"] == label]
    stems = {Path(str(name)).stem: str(name) for name in events.recordings.index}
    result = {}
    for name, one in known.items():
        theirs = name if name in events.recordings.index else stems.get(Path(name).stem)
        rows = frame[frame["recording"] == theirs][["onset", "offset"]].to_numpy(float)
        result[name] = one if theirs is None else replace(one, events=merge(np.clip(rows, 0, one.length)))
    return result
