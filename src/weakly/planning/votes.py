"""Overlapping windows on known events, summed over all recordings and a few phases: quick enough to search with.

A cell of one hop is present if enough of the windows over it are. Only cells near events are visited, so the cost grows
with the events and not with the recordings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import PresenceRule
from ..compiled import kernel
from ..events import Timelines

Floats = NDArray[np.float64]


def voted(timelines: Timelines, *, hop: float, per_cell: int, needed: int, criterion: float, phases: Floats) -> Floats:
    """Seconds tp, fp, in cells that meet an event, fp in those; and events found: means over the phases."""
    d = timelines.bounds[:, 1] - timelines.bounds[:, 0]
    need = PresenceRule.fraction(criterion).required_overlap(event_length=d, segment_length=per_cell * hop)
    out = np.zeros(5)
    most = int(np.ceil(timelines.lengths.max(initial=0.0) / hop)) + per_cell + 4
    where = (timelines.bounds, timelines.starts, timelines.lengths, need)
    for phase in phases:
        _add(*where, hop, per_cell, needed, (float(phase) - 1.0) * hop, most, out)
    return out / len(phases)


@kernel
def _add(
    bounds: Any,
    starts: Any,
    lengths: Any,
    need: Any,
    hop: float,
    k: int,
    votes: int,
    start: float,
    most: int,
    out: Any,
) -> None:
    """Add the sums at one phase; cell i and window i begin at ``start + i hop``, start in (-hop, 0]."""
    met = np.zeros(most + k, np.bool_)  # window j is kept at j + k - 1
    seen = np.zeros(most + k, np.bool_)
    cover = np.zeros(most + k)
    for r in range(lengths.shape[0]):
        length = lengths[r]
        cells = int(np.ceil((length - start) / hop - 1e-9))
        for e in range(starts[r], starts[r + 1]):
            a, b = bounds[e, 0], bounds[e, 1]
            for i in range(_first(a, start, hop), _last(b, start, hop, cells) + 1):
                left = start + i * hop
                cover[i] += max(0.0, min(b, left + hop) - max(a, left))
            if np.isfinite(need[e]):
                low, high = _range(a, b, need[e], start, hop, k, cells)
                for j in range(low, high + 1):
                    met[j + k - 1] = True
                if high - low + 1 >= votes:
                    out[4] += 1.0
        for e in range(starts[r], starts[r + 1]):
            a, b = bounds[e, 0], bounds[e, 1]
            first, last = _first(a, start, hop), _last(b, start, hop, cells)
            if np.isfinite(need[e]):
                low, high = _range(a, b, need[e], start, hop, k, cells)
                if high >= low:
                    first, last = max(0, min(first, low)), min(cells - 1, max(last, high + k - 1))
            for i in range(first, last + 1):
                if seen[i]:
                    continue
                seen[i] = True
                left = start + i * hop
                width = min(left + hop, length) - max(left, 0.0)
                count = 0
                for j in range(i, i + k):
                    count += met[j]
                near = cover[i] > 1e-9 * hop
                if near:
                    out[2] += width
                if count >= votes:
                    out[0] += cover[i]
                    out[1] += width - cover[i]
                    if near:
                        out[3] += width - cover[i]
        for e in range(starts[r], starts[r + 1]):
            a, b = bounds[e, 0], bounds[e, 1]
            reach = int((b - a) / hop) + 2 * k + 3
            middle = _first(a, start, hop)
            low, high = max(0, middle - 2 * k - 2), min(most + k, middle + reach + k)
            met[low:high], seen[low:high], cover[low:high] = False, False, 0.0


@kernel
def _first(a: float, start: float, hop: float) -> int:
    return max(0, int(np.floor((a - start) / hop + 1e-9)))


@kernel
def _last(b: float, start: float, hop: float, cells: int) -> int:
    return min(cells - 1, int(np.ceil((b - start) / hop - 1e-9)) - 1)


@kernel
def _range(a: float, b: float, need: float, start: float, hop: float, k: int, cells: int) -> tuple[int, int]:
    """The windows that notice the event: those that start from a - K hop + need to b - need."""
    low = int(np.ceil((a - k * hop + need - start) / hop - 1e-9))
    high = int(np.floor((b - need - start) / hop + 1e-9))
    return max(low, 1 - k), min(high, cells - 1)
