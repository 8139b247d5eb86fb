"""The compiled sweeps over events: one pass per segment length, all criteria at once, no loop over segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..annotator import TIE
from ..compiled import kernel
from ..exact.columns import satisfied

NEAR = 1e-9  # an edge this close to a boundary, in segment lengths, lies on it
TRUNCATE, INSIDE, INFINITE = 0, 1, 2


@kernel
def _segment_count(length: float, w: float, start: float) -> int:
    """The number of segments from ``start`` on that meet (0, length)."""
    return max(1, int(np.ceil((length - start) / w - NEAR)))


@kernel
def _width(k: int, n: int, length: float, w: float, start: float, mode: int) -> float:
    """The seconds of segment k that count; 0 for a cut one that is left out."""
    left = start + k * w
    cut = (k == 0 and start < 0.0) or (k == n - 1 and left + w > length * (1 + 1e-12))
    if not cut or mode == INFINITE:
        return w
    width = min(left + w, length) - max(left, 0.0)
    if mode == INSIDE and width < w * (1 - NEAR):
        return 0.0
    return width


@kernel
def _ground(r: int, length: float, w: float, start: float, mode: int, n: int, base: Any) -> None:
    """What is known of a recording before its events are seen."""
    base[r, :] = 0.0
    base[r, 0] = 1.0
    base[r, 1] = length
    first, last = _width(0, n, length, w, start, mode), _width(n - 1, n, length, w, start, mode)
    inner = max(0, n - 2)
    base[r, 7] = inner + (1 if first > 0 else 0) + (1 if last > 0 and n > 1 else 0)
    base[r, 8] = length if mode == TRUNCATE else inner * w + first + (last if n > 1 else 0.0)


@kernel
def _drop(bucket: Any, j: int, cover: float, width: float, w: float, per_w: float) -> float:
    """One segment falls into bucket j; back comes the time that its best label gets right."""
    bucket[j, 0] += 1.0
    bucket[j, 1] += cover
    bucket[j, 2] += width
    bucket[j, 3] += cover * per_w if width == w else cover / width
    return max(cover, width - cover)


@kernel
def criteria(
    bounds: Any,
    starts: Any,
    lengths: Any,
    w: float,
    start: float,
    mode: int,
    limits: Any,
    table: Any,
    raw: Any,
    base: Any,
) -> None:
    """Measures of every recording for sorted criteria: events drop into buckets by what they satisfy; suffix sums do
    the rest."""
    n_criteria = limits.shape[0]
    bucket = np.zeros((n_criteria + 1, 5))  # count, cover, width, share, found
    per_w = 1.0 / w
    for r in range(lengths.shape[0]):
        length = lengths[r]
        n = _segment_count(length, w, start)
        _ground(r, length, w, start, mode, n, base)
        bucket[:, :] = 0.0
        open_k, open_h, open_c = -1, 0.0, 0.0
        event_time, bound = 0.0, 0.0
        for e in range(starts[r], starts[r + 1] + 1):
            last_one = e == starts[r + 1]
            if last_one:
                k1, k2, a, b, d, per_d = -2, -2, 0.0, 0.0, 1.0, 1.0
            else:
                a, b = bounds[e, 0], bounds[e, 1]
                d = b - a
                event_time += d
                per_d = 1.0 / d
                k1 = min(int(np.floor((a - start) * per_w + NEAR)), n - 1)
                k2 = max(k1, min(int(np.ceil((b - start) * per_w - NEAR)) - 1, n - 1))
            if open_k >= 0 and k1 != open_k:
                width = w
                if open_k == 0 or open_k == n - 1:
                    width = _width(open_k, n, length, w, start, mode)
                if width > 0.0:
                    bound += _drop(bucket, satisfied(open_h, limits, table), open_c, width, w, per_w)
                open_k = -1
            if last_one:
                break
            if open_k < 0:
                open_k, open_h, open_c = k1, 0.0, 0.0
            if k1 == k2:
                open_c += d
                open_h = 1.0
                best = 1.0 if _counts(k1, n, length, w, start, mode) else 0.0
            else:
                edge = start + (k1 + 1) * w
                part = edge - a
                open_c += part
                open_h = max(open_h, part * per_d)
                best = 0.0
                width = w if k1 > 0 else _width(0, n, length, w, start, mode)
                if width > 0.0:
                    best = part * per_d
                    bound += _drop(bucket, satisfied(open_h, limits, table), open_c, width, w, per_w)
                if k2 - k1 > 1:
                    inner = float(k2 - k1 - 1)
                    j = satisfied(w * per_d, limits, table)
                    bucket[j, 0] += inner
                    bucket[j, 1] += inner * w
                    bucket[j, 2] += inner * w
                    bucket[j, 3] += inner
                    bound += inner * w
                    best = max(best, w * per_d)
                open_k = k2
                open_c = b - (start + k2 * w)
                open_h = open_c * per_d
                if _counts(k2, n, length, w, start, mode):
                    best = max(best, open_h)
            bucket[satisfied(best, limits, table), 4] += 1.0
        _suffix(r, bucket, event_time, float(starts[r + 1] - starts[r]), bound, raw, base)


@kernel
def _counts(k: int, n: int, length: float, w: float, start: float, mode: int) -> bool:
    return mode != INSIDE or _width(k, n, length, w, start, mode) > 0.0


@kernel
def _suffix(r: int, bucket: Any, event_time: float, n_events: float, bound: float, raw: Any, base: Any) -> None:
    """From buckets to measures: criterion i is satisfied by all that fell into buckets above i."""
    n_criteria = bucket.shape[0] - 1
    count, cover, width, share = 0.0, 0.0, 0.0, 0.0
    for j in range(n_criteria + 1):
        count += bucket[j, 0]
        cover += bucket[j, 1]
        width += bucket[j, 2]
        share += bucket[j, 3]
    base[r, 2], base[r, 3], base[r, 4], base[r, 5] = event_time, n_events, width, cover
    base[r, 6], base[r, 9], base[r, 10] = count, 1.0 if count > 0 else 0.0, bound
    p_count, p_cover, p_width, p_share, found = 0.0, 0.0, 0.0, 0.0, 0.0
    per_count = 1.0 / count if count > 0 else 0.0
    for i in range(n_criteria - 1, -1, -1):
        p_count += bucket[i + 1, 0]
        p_cover += bucket[i + 1, 1]
        p_width += bucket[i + 1, 2]
        p_share += bucket[i + 1, 3]
        found += bucket[i + 1, 4]
        fit = 2 * p_share - share + count - p_count
        raw[r, i, 0] = p_cover
        raw[r, i, 1] = p_width - p_cover
        raw[r, i, 2] = 0.0
        raw[r, i, 3] = p_count
        raw[r, i, 4] = found
        raw[r, i, 5] = fit * per_count
        raw[r, i, 6] = fit


@kernel
def collect(
    bounds: Any, starts: Any, lengths: Any, w: float, start: float, mode: int, need: Any, base: Any
) -> tuple[Any, Any]:
    """Overlapping segments as rows (recording, count, score, cover, width), and per event the scores of the segments
    that meet it: (first, last, number between, score between).

    The score is the largest event fraction where ``need`` is negative; else 1 if one event's required overlap ``need``
    is reached, and 0 if not.
    """
    groups = np.empty((4 * bounds.shape[0], 5))
    events = np.zeros((bounds.shape[0], 4))
    g = 0
    for r in range(lengths.shape[0]):
        length = lengths[r]
        n = _segment_count(length, w, start)
        _ground(r, length, w, start, mode, n, base)
        g0, open_k = g, -1
        for e in range(starts[r], starts[r + 1]):
            a, b = bounds[e, 0], bounds[e, 1]
            d = b - a
            base[r, 2] += d
            k1 = min(int(np.floor((a - start) / w + NEAR)), n - 1)
            k2 = max(k1, min(int(np.ceil((b - start) / w - NEAR)) - 1, n - 1))
            for k in (k1, k2):
                left = start + k * w
                cover = min(b, left + w) - max(a, left) if k1 != k2 else d
                width = _width(k, n, length, w, start, mode)
                score = 1.0 if k1 == k2 else cover / d
                if need[e] >= 0:
                    score = 1.0 if min(b - left, left + w - a) >= need[e] * (1 - TIE) else 0.0
                if width > 0.0:
                    if open_k == k:
                        groups[g - 1, 2] = max(groups[g - 1, 2], score)
                        groups[g - 1, 3] += cover
                    else:
                        groups[g, 0], groups[g, 1], groups[g, 2], groups[g, 3], groups[g, 4] = (
                            r,
                            1.0,
                            score,
                            cover,
                            width,
                        )
                        g += 1
                        open_k = k
                    events[e, 0 if k == k1 else 1] = score
                if k1 == k2:
                    break
                if k == k1 and k2 - k1 > 1:
                    total = float(k2 - k1 - 1)
                    score, some = w / d, total
                    if need[e] >= 0:
                        score, some = 1.0, _between(k1, k2, a, b, w, start, need[e])
                    events[e, 2], events[e, 3] = some, score
                    for m, value in ((some, score), (total - some, 0.0)):
                        if m > 0:
                            groups[g, 0], groups[g, 1], groups[g, 2], groups[g, 3], groups[g, 4] = r, m, value, w, w
                            g += 1
        base[r, 3] = starts[r + 1] - starts[r]
        for i in range(g0, g):
            m, c, width = groups[i, 1], groups[i, 3], groups[i, 4]
            base[r, 4] += m * width
            base[r, 5] += m * c
            base[r, 6] += m
            base[r, 10] += m * max(c, width - c)
        base[r, 9] = 1.0 if base[r, 6] > 0 else 0.0
    return groups[:g], events


@kernel
def _between(k1: int, k2: int, a: float, b: float, w: float, start: float, need: float) -> float:
    """How many segments strictly between k1 and k2 reach the required overlap: start in (a - w + need, b - need)."""
    need = need * (1 - TIE)
    if not np.isfinite(need):
        return 0.0
    low = max(k1 + 1, int(np.floor((a - w + need - start) / w)))
    while low < k2 and start + (low + 1) * w - a < need:
        low += 1
    high = min(k2 - 1, int(np.ceil((b - need - start) / w)))
    while high > k1 and b - (start + high * w) < need:
        high -= 1
    return float(max(0, high - low + 1))
