"""A short stretch of events with the labels that each way gives: the paper's first figure, for one's own events."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...methods.outcome import MethodOutcome, size
from ...methods.problem import LabelingProblem
from ...model.annotator import PresenceRule
from ...model.intervals import Intervals, clip, fixed_segments, merge, oracle_segments
from .pilot import Pilot

_MOST = 2000  # segments that a picture can show


def _stretch(task: LabelingProblem, pilot: Pilot | None) -> tuple[Intervals, float]:
    """Events of one stretch of time and its length: from the pilot, or three of low, middle and high length."""
    length = float(min(task.model.longest, 16 * task.lengths.mean))
    if pilot is not None:
        timelines = pilot.timelines[_common(pilot)]
        counts = timelines.counts
        full = np.flatnonzero(counts > 0)
        picked = int(full[np.argsort(np.abs(counts[full] - 3), kind="stable")[0]])
        events = timelines.bounds[timelines.starts[picked] : timelines.starts[picked + 1]]
        total = float(timelines.lengths[picked])
        span = min(total, max(length, 1.5 * float(events[0, 1] - events[0, 0])))
        start = float(np.clip(events[0, 0] - 0.08 * span, 0, total - span))
        return clip(events - start, 0.0, span), span
    drawn = np.asarray(task.lengths.quantile(np.array([0.5, 0.25, 0.75])), dtype=np.float64)
    room = max(length - drawn.sum(), 0.0)
    if room == 0:
        return np.array([[0.25 * length, 0.25 * length + min(drawn[0], 0.5 * length)]]), length
    gaps = np.array([0.21, 0.34, 0.26]) * room
    onsets = np.cumsum(gaps) + np.concatenate(([0.0], np.cumsum(drawn[:2])))
    return merge(np.column_stack((onsets, onsets + drawn))), length


def _common(pilot: Pilot) -> str:
    """The class with most events."""
    return max(pilot.timelines, key=lambda name: len(pilot.timelines[name].bounds))


def labels(segments: Intervals, events: Intervals, rule: PresenceRule) -> np.ndarray:
    """Whether each segment is present."""
    if len(events) == 0:
        return np.zeros(len(segments), dtype=bool)
    return np.asarray(rule.is_present(event=events[None, :, :], segment=segments[:, None, :]).any(axis=1))


def _cells(made: MethodOutcome, events: Intervals, length: float, rule: PresenceRule) -> tuple[Intervals, np.ndarray]:
    from ...methods.base import AnswerHistory, Recording
    from ...methods.segments import Overlapping

    way = Overlapping(segment_length=made.segment_length or 0.0, hop=made.hop or 0.0, votes=made.votes)
    recording = Recording("example", length)
    asked = way.segments(recording)
    found = way.labels(recording, AnswerHistory().add(asked, labels(asked, events, rule)))
    return found.segments, found.present == 1


def example(
    task: LabelingProblem, rows: list[MethodOutcome], chosen: MethodOutcome, pilot: Pilot | None
) -> dict[str, Any]:
    """Events and, for each way, segments with their labels, in seconds."""
    events, length = _stretch(task, pilot)
    rule = task.criteria.rule or PresenceRule.fraction(task.criteria.middle)
    shown: list[dict[str, Any]] = []

    def show(name: str, segments: Intervals, present: Any) -> None:
        spans, flags = segments.tolist(), np.asarray(present, dtype=bool).tolist()
        if len(spans) <= _MOST and (spans, flags) not in [(each["segments"], each["present"]) for each in shown]:
            shown.append({"name": name, "segments": spans, "present": flags, "n_queries": len(spans)})

    truth = oracle_segments(events, recording_length=length)
    show("oracle", truth, labels(truth, events, PresenceRule.fraction(1.0)))
    for made in [chosen, *rows]:
        about = f" (the pass of {_common(pilot)})" if pilot is not None and made.passes else ""
        width = made.design.of_class(_common(pilot)).segment_length if about and pilot else made.segment_length
        if width is None or width >= length or length > _MOST * (made.hop or width):
            continue
        if made.method == "windows":
            show(made.name, *_cells(made, events, length, rule))
        else:
            segments = fixed_segments(recording_length=length, segment_length=width)
            show(f"{size(width)} segments{about}", segments, labels(segments, events, rule))
    return {
        "recording_length": length,
        "presence_criterion": task.criteria.middle,
        "rule": rule.name,
        "events": events.tolist(),
        "rows": shown,
    }
