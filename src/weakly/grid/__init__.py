"""Events -> the accuracy of one concrete grid of segments, every criterion at once.

Segment k is ``(phase + k d_q, phase + (k + 1) d_q)``, cut at the recording's ends. A rule other than the paper's is
judged as if silence filled a cut segment up to its full length, as tools do that pad the last clip. An overlap shorter
than 1e-9 of a segment is none. One compiled pass over the events per segment length, all criteria at once: segments
inside a long event are counted in closed form, so the cost grows with the number of events, not of segments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import tally as t
from ..annotator import TIE
from ..compiled import kernel
from ..events import Timelines
from ..exact.sweep import satisfied, tied
from ..observer import Observer, Observers
from ..tally import (
    BOUND_TIME,
    COVER_TIME,
    EVENT_TIME,
    FIT,
    FP,
    FP_ELSEWHERE,
    LISTENED,
    MEAN,
    N_EVENTS,
    N_FOUND,
    N_MEETING,
    N_OVERLAPPING,
    N_PRESENT,
    N_RECORDINGS,
    N_SEGMENTS,
    OVERLAP_TIME,
    TIME,
    TP,
)
from ..windows import NEAR, Edge, Placement, first_start

Array = NDArray[np.float64]
INFINITE, TRUNCATE, INSIDE = int(Edge.INFINITE), int(Edge.TRUNCATE), int(Edge.INSIDE)
COUNT, COVER, WIDTH, SHARE, FOUND = range(5)  # what a bucket of segments adds up
RECORDING, ALIKE, SCORE, COVERED, COUNTED = range(5)  # of a group of segments: how many are alike, seconds of each


def measure(timelines: Timelines, segment_length: float, who: Observers, how: Placement) -> tuple[Array, Array]:
    """The measures of every recording (R, columns, RAW) and (R, BASE) on the grid that starts at ``how.phase``."""
    assert how.phase is not None
    n, w = len(timelines), float(segment_length)
    raw, base = np.empty((n, len(who), len(t.RAW))), np.empty((n, len(t.BASE)))
    where = (timelines.bounds, timelines.starts, timelines.lengths, w, first_start(how.phase, w), int(how.edge))
    if who.criteria is not None:
        limits, table, order = tied(who.criteria)
        criteria(*where, limits, table, raw, base)
        return (raw if (np.diff(order) > 0).all() else raw[:, np.argsort(order)]), base
    for c, one in enumerate(who):
        _expected(raw[:, c], base, where, one)
    return raw, base


def _expected(raw: Array, base: Array, where: tuple[Any, ...], who: Observer) -> None:
    """Fill one column: what each segment and each event are expected to contribute."""
    d, w = where[0][:, 1] - where[0][:, 0], where[3]
    need = np.full(len(d), -1.0) if who.rule is None else who.required_overlap(d, w)
    groups, events = collect(*where, need, base)
    rec = groups[:, RECORDING].astype(np.int64)
    count, cover, width = groups[:, ALIKE], groups[:, COVERED], groups[:, COUNTED]
    p, share = (groups[:, SCORE] if who.rule is not None else who.probability(groups[:, SCORE])), cover / width

    def per_recording(values: Array) -> Array:
        return np.asarray(np.bincount(rec, weights=count * values, minlength=len(base)), dtype=np.float64)

    tp = per_recording(p * cover)
    raw[:, TP], raw[:, FP] = tp, per_recording(p * width) - tp
    raw[:, FP_ELSEWHERE] = who.low * (base[:, LISTENED] - base[:, OVERLAP_TIME])
    raw[:, N_PRESENT] = per_recording(p) + who.low * (base[:, N_SEGMENTS] - base[:, N_OVERLAPPING])
    own, alike = events[:, :, 0], events[:, :, 1]  # (events, first, last and between)
    found = ((own > 0) & (alike > 0)).any(axis=1).astype(np.float64)
    if who.rule is None and len(groups):
        best = np.where(alike > 0, groups[np.minimum(events[:, :, 2].astype(np.int64), len(groups) - 1), SCORE], own)
        found = who.found_on_grid(own, np.maximum(own, best), alike)
    recording = np.repeat(np.arange(len(base)), np.diff(where[1]))
    raw[:, N_FOUND] = np.bincount(recording, weights=found, minlength=len(base))
    raw[:, FIT] = per_recording(p * share + (1 - p) * (1 - share))
    overlapping = base[:, N_OVERLAPPING]
    raw[:, MEAN] = np.divide(raw[:, FIT], overlapping, out=np.zeros(len(base)), where=overlapping > 0)


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
    base[r, N_RECORDINGS], base[r, TIME] = 1.0, length
    first, last = _width(0, n, length, w, start, mode), _width(n - 1, n, length, w, start, mode)
    inner = max(0, n - 2)
    base[r, N_SEGMENTS] = inner + (1 if first > 0 else 0) + (1 if last > 0 and n > 1 else 0)
    base[r, LISTENED] = length if mode == TRUNCATE else inner * w + first + (last if n > 1 else 0.0)


@kernel
def _drop(bucket: Any, j: int, cover: float, width: float, w: float, per_w: float) -> float:
    """One segment falls into bucket j; back comes the time that its best label gets right."""
    bucket[j, COUNT] += 1.0
    bucket[j, COVER] += cover
    bucket[j, WIDTH] += width
    bucket[j, SHARE] += cover * per_w if width == w else cover / width
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
    bucket = np.zeros((n_criteria + 1, 5))
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
                    bucket[j, COUNT] += inner
                    bucket[j, COVER] += inner * w
                    bucket[j, WIDTH] += inner * w
                    bucket[j, SHARE] += inner
                    bound += inner * w
                    best = max(best, w * per_d)
                open_k = k2
                open_c = b - (start + k2 * w)
                open_h = open_c * per_d
                if _counts(k2, n, length, w, start, mode):
                    best = max(best, open_h)
            bucket[satisfied(best, limits, table), FOUND] += 1.0
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
        count += bucket[j, COUNT]
        cover += bucket[j, COVER]
        width += bucket[j, WIDTH]
        share += bucket[j, SHARE]
    base[r, EVENT_TIME], base[r, N_EVENTS], base[r, OVERLAP_TIME], base[r, COVER_TIME] = (
        event_time,
        n_events,
        width,
        cover,
    )
    base[r, N_OVERLAPPING], base[r, N_MEETING], base[r, BOUND_TIME] = count, 1.0 if count > 0 else 0.0, bound
    p_count, p_cover, p_width, p_share, found = 0.0, 0.0, 0.0, 0.0, 0.0
    per_count = 1.0 / count if count > 0 else 0.0
    for i in range(n_criteria - 1, -1, -1):
        p_count += bucket[i + 1, COUNT]
        p_cover += bucket[i + 1, COVER]
        p_width += bucket[i + 1, WIDTH]
        p_share += bucket[i + 1, SHARE]
        found += bucket[i + 1, FOUND]
        fit = 2 * p_share - share + count - p_count
        raw[r, i, TP] = p_cover
        raw[r, i, FP] = p_width - p_cover
        raw[r, i, FP_ELSEWHERE] = 0.0
        raw[r, i, N_PRESENT] = p_count
        raw[r, i, N_FOUND] = found
        raw[r, i, MEAN] = fit * per_count
        raw[r, i, FIT] = fit


@kernel
def collect(
    bounds: Any, starts: Any, lengths: Any, w: float, start: float, mode: int, need: Any, base: Any
) -> tuple[Any, Any]:
    """Overlapping segments as groups of alike ones, and per event its first and last segment and those between as
    (score of the event itself, how many, group).

    The score is the largest event fraction where ``need`` is negative; else 1 if one event's required overlap ``need``
    is reached, and 0 if not.
    """
    groups = np.empty((4 * bounds.shape[0], 5))
    events = np.zeros((bounds.shape[0], 3, 3))
    g = 0
    for r in range(lengths.shape[0]):
        length = lengths[r]
        n = _segment_count(length, w, start)
        _ground(r, length, w, start, mode, n, base)
        g0, open_k = g, -1
        for e in range(starts[r], starts[r + 1]):
            a, b = bounds[e, 0], bounds[e, 1]
            d = b - a
            base[r, EVENT_TIME] += d
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
                        groups[g - 1, SCORE] = max(groups[g - 1, SCORE], score)
                        groups[g - 1, COVERED] += cover
                    else:
                        g = _group(groups, g, r, 1.0, score, cover, width)
                        open_k = k
                    kind = 0 if k == k1 else 1
                    events[e, kind, 0], events[e, kind, 1], events[e, kind, 2] = score, 1.0, g - 1
                if k1 == k2:
                    break
                if k == k1 and k2 - k1 > 1:
                    total = float(k2 - k1 - 1)
                    score, some = w / d, total
                    if need[e] >= 0:
                        score, some = 1.0, _between(k1, k2, a, b, w, start, need[e])
                    events[e, 2, 0], events[e, 2, 1], events[e, 2, 2] = score, some, g
                    if some > 0:
                        g = _group(groups, g, r, some, score, w, w)
                    if total > some:
                        g = _group(groups, g, r, total - some, 0.0, w, w)
        base[r, N_EVENTS] = starts[r + 1] - starts[r]
        for i in range(g0, g):
            m, c, width = groups[i, ALIKE], groups[i, COVERED], groups[i, COUNTED]
            base[r, OVERLAP_TIME] += m * width
            base[r, COVER_TIME] += m * c
            base[r, N_OVERLAPPING] += m
            base[r, BOUND_TIME] += m * max(c, width - c)
        base[r, N_MEETING] = 1.0 if base[r, N_OVERLAPPING] > 0 else 0.0
    return groups[:g], events


@kernel
def _group(groups: Any, g: int, r: int, alike: float, score: float, cover: float, width: float) -> int:
    groups[g, RECORDING], groups[g, ALIKE], groups[g, SCORE], groups[g, COVERED] = r, alike, score, cover
    groups[g, COUNTED] = width
    return g + 1


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
