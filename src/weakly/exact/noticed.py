r"""Under a random phase: from which starts a window notices an event, and the chance that some window does.

Windows that start in :math:`[a - d_q + x_0,\; b - x_0]` notice the event. If that interval is :math:`\Lambda` long, a
grid has :math:`\lfloor \Lambda / d_q \rfloor` starts in it, or one more, so some window notices the event with
probability :math:`\min(1, \Lambda / d_q)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import PresenceRule
from ..compiled import count_up_to, kernel
from ..events import Timelines
from .sweep import CIRCULAR, INSIDE

Array = NDArray[np.float64]


@kernel
def noticed_at(bounds: Any, starts: Any, lengths: Any, w: float, mode: int, gammas: Any, limits: Any, raw: Any) -> None:
    """The expected number of noticed events per recording for sorted criteria, into the n_found of ``raw``."""
    n_criteria = gammas.shape[0]
    feasible = np.zeros((n_criteria + 1, 2))  # events and their seconds that first fail at this criterion
    for r in range(lengths.shape[0]):
        feasible[:, :] = 0.0
        for k in range(n_criteria):
            raw[r, k, 4] = 0.0
        for e in range(starts[r], starts[r + 1]):
            a, b = bounds[e, 0], bounds[e, 1]
            d = b - a
            last = n_criteria
            if d > w:
                last = count_up_to(limits, w / d)
            if mode == INSIDE:
                for k in range(last):
                    x = gammas[k] * d
                    span = min(b - x, lengths[r] - w) - max(a - w + x, 0.0)
                    raw[r, k, 4] += min(1.0, max(0.0, span) / w)
            else:
                feasible[last, 0] += 1.0
                feasible[last, 1] += d
        if mode != INSIDE:
            count, seconds = 0.0, 0.0
            for k in range(n_criteria - 1, -1, -1):
                count += feasible[k + 1, 0]
                seconds += feasible[k + 1, 1]
                raw[r, k, 4] = count - max(0.0, 2 * gammas[k] - 1) * seconds / w


def _needs(timelines: Timelines, w: float, rule: PresenceRule) -> Array:
    length = timelines.bounds[:, 1] - timelines.bounds[:, 0]
    return rule.required_overlap(event_length=length, segment_length=w)


def starts_of(timelines: Timelines, w: float, rule: PresenceRule, mode: int) -> tuple[Array, NDArray[np.int64]]:
    """The window starts that some event makes present: sorted disjoint intervals, and where each recording's begin."""
    need = _needs(timelines, w, rule)
    turns = 1 if mode == CIRCULAR else 0
    spans, recording = _spans(timelines.bounds, timelines.starts, timelines.lengths, w, need, turns)
    if any(form.margin for form in rule.forms):  # else the events' order is that of the spans
        order = np.lexsort((spans[:, 0], recording))
        spans, recording = spans[order], recording[order]
    return merged(spans, recording, len(timelines))


@kernel
def _spans(bounds: Any, starts: Any, lengths: Any, w: float, need: Any, turns: int) -> tuple[Any, Any]:
    """Per event that can be noticed, the first and last window start that notices it, and its recording."""
    out = np.empty((bounds.shape[0] * (1 + 2 * turns), 2))
    owner = np.empty(out.shape[0], np.int64)
    g = 0
    for r in range(lengths.shape[0]):
        for turn in range(-turns, turns + 1):
            for e in range(starts[r], starts[r + 1]):
                if np.isfinite(need[e]):
                    low = bounds[e, 0] - w + need[e] + turn * lengths[r]
                    out[g, 0], out[g, 1] = low, max(low, bounds[e, 1] - need[e] + turn * lengths[r])
                    owner[g] = r
                    g += 1
    return out[:g], owner[:g]


@kernel
def merged(spans: Any, recording: Any, n: int) -> tuple[Any, Any]:
    """Spans of n recordings, sorted, without overlap: those that overlap or touch are one; and where each recording
    begins among them."""
    out, at, g = np.empty_like(spans), np.zeros(n + 1, np.int64), 0
    previous = -1
    for i in range(spans.shape[0]):
        if recording[i] == previous and spans[i, 0] <= out[g - 1, 1]:
            out[g - 1, 1] = max(out[g - 1, 1], spans[i, 1])
        else:
            out[g, 0], out[g, 1] = spans[i, 0], spans[i, 1]
            g += 1
        previous = recording[i]
        at[recording[i] + 1] = g
    for r in range(n):
        at[r + 1] = max(at[r + 1], at[r])
    return out[:g], at


def noticed(timelines: Timelines, w: float, rule: PresenceRule, mode: int) -> Array:
    """The expected number of noticed events per recording."""
    need = _needs(timelines, w, rule)
    recording = timelines.owner
    low, high = timelines.bounds[:, 0] - w + need, timelines.bounds[:, 1] - need
    if mode == INSIDE:
        low, high = np.maximum(low, 0.0), np.minimum(high, timelines.lengths[recording] - w)
    chance = np.where(np.isfinite(need), np.clip((high - low) / w, 0.0, 1.0), 0.0)
    return np.asarray(np.bincount(recording, weights=chance, minlength=len(timelines)), dtype=np.float64)
