"""A short stretch of events with the labels that each method gives: the paper's first figure, for one's own events."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..annotator import PresenceRule
from ..intervals import Intervals, clip, fixed_segments, merge, oracle_segments
from .methods import seconds
from .task import Row, Task


def stretch(task: Task, timelines: Any, rng: np.random.Generator) -> tuple[Intervals, float]:
    """Events of one stretch of time and its length: from the pilot, or drawn; a few events long."""
    length = float(min(task.recordings.max(), 16 * task.lengths.mean))
    if timelines is not None and len(timelines.bounds):
        counts = timelines.counts
        full = np.flatnonzero(counts > 0)
        picked = int(full[np.argsort(np.abs(counts[full] - 3), kind="stable")[0]])
        events = timelines.bounds[timelines.starts[picked] : timelines.starts[picked + 1]]
        total = float(timelines.lengths[picked])
        span = min(total, max(length, 1.5 * float(events[0, 1] - events[0, 0])))
        start = float(np.clip(events[0, 0] - 0.08 * span, 0, total - span))
        return clip(events - start, 0.0, span), span
    # Three events of low, middle and high length, spread out as an example; where they fall is drawn.
    drawn = np.asarray(task.lengths.quantile(np.array([0.5, 0.25, 0.75])), dtype=np.float64)
    room = max(length - drawn.sum(), 0.0)
    if room == 0:
        return np.array([[0.25 * length, 0.25 * length + min(drawn[0], 0.5 * length)]]), length
    gaps = rng.dirichlet(np.full(4, 4.0)) * room
    onsets = np.cumsum(gaps[:3]) + np.concatenate(([0.0], np.cumsum(drawn[:2])))
    return merge(np.column_stack((onsets, onsets + drawn))), length


def labels(segments: Intervals, events: Intervals, criterion: float) -> np.ndarray:
    """Whether each segment is present."""
    if len(events) == 0:
        return np.zeros(len(segments), dtype=bool)
    rule = PresenceRule.fraction(criterion)
    return np.asarray(rule.is_present(event=events[None, :, :], segment=segments[:, None, :]).any(axis=1))


def _cells(made: Row, events: Intervals, length: float, criterion: float) -> tuple[Intervals, np.ndarray]:
    hop, k = made["settings"]["hop"], made["settings"]["windows_per_cell"]
    cells = fixed_segments(recording_length=length, segment_length=hop)
    starts = hop * np.arange(-(k - 1), len(cells))
    windows = labels(np.column_stack((starts, starts + k * hop)), events, criterion)
    votes = np.array([windows[i : i + k].sum() for i in range(len(cells))])
    return cells, votes >= made["settings"]["votes_needed"]


def example(task: Task, rows: list[Row], chosen: Row, timelines: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Events and, for each method, segments with their labels, in seconds."""
    events, length = stretch(task, timelines, rng)
    criterion = task.criteria.middle
    shown: list[dict[str, Any]] = []

    def show(name: str, segments: Intervals, present: Any) -> None:
        if len(segments) <= 2000 and name not in {each["name"] for each in shown}:
            flags = np.asarray(present, dtype=bool).tolist()
            shown.append({"name": name, "segments": segments.tolist(), "present": flags, "n_queries": len(segments)})

    truth = oracle_segments(events, recording_length=length)
    show("oracle", truth, labels(truth, events, 1.0))
    windows = [made for made in rows if made["method"] == "windows"][:1]
    for made in [chosen, *(each for each in rows if each["method"] == "fixed"), *windows]:
        width = made["segment_length"]
        if made["method"] == "windows":
            cells, present = _cells(made, events, length, criterion)
            show(f"windows every {seconds(made['settings']['hop'])}", cells, present)
        elif width is not None and width < length:
            segments = fixed_segments(recording_length=length, segment_length=width)
            show(f"fixed {seconds(width)}", segments, labels(segments, events, criterion))
    return {"recording_length": length, "presence_criterion": criterion, "events": events.tolist(), "rows": shown}
