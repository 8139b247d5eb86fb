r"""Under a random phase: from which starts a window notices an event, and the chance that some window does.

Windows that start in :math:`[a - d_q + x_0,\; b - x_0]` notice the event. If that interval is :math:`\Lambda` long, a
grid has :math:`\lfloor \Lambda / d_q \rfloor` starts in it, or one more, so some window notices the event with
probability :math:`\min(1, \Lambda / d_q)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import TIE, PresenceRule
from ..events import Timelines
from ..work import kernel
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
                last = np.searchsorted(limits, w / d, side="right")
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


def _intervals(timelines: Timelines, w: float, rule: PresenceRule) -> Array:
    """Per event, the first and last window start that notices it; NaN where none does."""
    a, b = timelines.bounds[:, 0], timelines.bounds[:, 1]
    need = rule.required_overlap(event_length=b - a, segment_length=w)
    need = np.where(np.isfinite(need), need, np.nan)
    low, high = a - w + need, b - need
    swap = high < low * (1 - TIE) - TIE * np.abs(low)
    spans = np.column_stack((low, np.maximum(high, low)))
    spans[swap] = np.nan
    return spans


def starts_of(timelines: Timelines, w: float, rule: PresenceRule, mode: int) -> tuple[Array, NDArray[np.int64]]:
    """The window starts that some event makes present: sorted disjoint intervals, and where each recording's begin."""
    spans = _intervals(timelines, w, rule)
    recording = np.repeat(np.arange(len(timelines)), np.diff(timelines.starts))
    if mode == CIRCULAR:
        turn = timelines.lengths[recording][:, None]
        spans = np.concatenate((spans - turn, spans, spans + turn))
        recording = np.tile(recording, 3)
    keep = ~np.isnan(spans[:, 0])
    spans, recording = spans[keep], recording[keep]
    order = np.lexsort((spans[:, 0], recording))
    return _merged(spans[order], recording[order], len(timelines))


@kernel
def _merged(spans: Any, recording: Any, n: int) -> tuple[Any, Any]:
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
    spans = _intervals(timelines, w, rule)
    recording = np.repeat(np.arange(len(timelines)), np.diff(timelines.starts))
    if mode == INSIDE:
        spans = np.column_stack(
            (np.maximum(spans[:, 0], 0.0), np.minimum(spans[:, 1], timelines.lengths[recording] - w))
        )
    chance = np.nan_to_num(np.clip((spans[:, 1] - spans[:, 0]) / w, 0.0, 1.0))
    return np.asarray(np.bincount(recording, weights=chance, minlength=len(timelines)), dtype=np.float64)
