"""Events -> the accuracy of one concrete grid of segments, every criterion at once.

Segment k is ``(phase + k d_q, phase + (k + 1) d_q)``, cut at the recording's ends. A rule other than the paper's is
judged as if silence filled a cut segment up to its full length, as tools do that pad the last clip. An overlap shorter
than 1e-9 of a segment is none. One compiled pass over the events per segment length, all criteria at once: segments
inside a long event are counted in closed form, so the cost grows with the number of events, not of segments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.compiled import kernel
from ..model.annotator import TIE
from ..model.answer_model import AnswerModel, AnswerModels
from ..model.detection import detection_on_grid
from ..model.intervals import NEAR, Edge, EventArrays, Floats, Placement, first_start
from . import tally as col
from .sweep import satisfied

INFINITE, TRUNCATE, INSIDE = int(Edge.INFINITE), int(Edge.TRUNCATE), int(Edge.INSIDE)
COUNT, COVER, FOUND = range(3)  # what a bucket adds up: segments, their event time; events
MISSING, MORE = range(2)  # and of segments that are cut: what they lack, what their cover is worth more
RECORDING, ALIKE, SCORE, COVERED, COUNTED = range(5)  # of a group of segments: how many are alike, seconds of each


def measure(timelines: EventArrays, segment_length: float, who: AnswerModels, how: Placement) -> tuple[Floats, Floats]:
    """The measures of every recording (R, columns, SCORES) and (R, EXPOSURE) on the grid from ``how.phase`` on."""
    assert how.phase is not None
    n, w = len(timelines), float(segment_length)
    raw, base = np.empty((n, len(who), len(col.SCORES))), np.empty((n, len(col.EXPOSURE)))
    where = (timelines.bounds, timelines.starts, timelines.lengths, w, first_start(how.phase, w), int(how.edge))
    if who.criteria is not None:
        among, place = who.sorted
        criteria(*where, among, raw, base)
        return raw[:, place], base
    for c, model in enumerate(who):
        _expected(raw[:, c], base, where, model)
    return raw, base


def _expected(raw: Floats, base: Floats, where: tuple[Any, ...], who: AnswerModel) -> None:
    """Fill one column: what each segment and each event are expected to contribute."""
    d, w = where[0][:, 1] - where[0][:, 0], where[3]
    need = np.full(len(d), -1.0) if who.rule is None else who.required_overlap(d, w)
    groups, events = collect(*where, need, base)
    rec = groups[:, RECORDING].astype(np.int64)
    count, cover, width = groups[:, ALIKE], groups[:, COVERED], groups[:, COUNTED]
    score, share = groups[:, SCORE], cover / width
    p = who.probability(score) if who.rule is None else who.low + (who.high - who.low) * score

    def per_recording(values: Floats) -> Floats:
        return np.asarray(np.bincount(rec, weights=count * values, minlength=len(base)), dtype=np.float64)

    tp = per_recording(p * cover)
    raw[:, col.TP], raw[:, col.FP] = tp, per_recording(p * width) - tp
    raw[:, col.FP_OUTSIDE] = who.low * (base[:, col.LISTENED] - base[:, col.OVERLAP_TIME])
    raw[:, col.N_PRESENT] = per_recording(p) + who.low * (base[:, col.N_SEGMENTS] - base[:, col.N_OVERLAPPING])
    own, alike = events[:, :, 0], events[:, :, 1]  # (events, first, last and between)
    chance = 1 - (1 - who.high) ** ((own > 0) * alike).sum(axis=1)
    if who.rule is None and len(groups):
        best = np.where(alike > 0, groups[np.minimum(events[:, :, 2].astype(np.int64), len(groups) - 1), SCORE], own)
        chance = detection_on_grid(who, own, np.maximum(own, best), alike)
    recording = np.repeat(np.arange(len(base)), np.diff(where[1]))
    raw[:, col.N_FOUND] = np.bincount(recording, weights=chance, minlength=len(base))
    raw[:, col.FIT] = per_recording(p * share + (1 - p) * (1 - share))
    overlapping = base[:, col.N_OVERLAPPING]
    raw[:, col.MEAN] = np.divide(raw[:, col.FIT], overlapping, out=np.zeros(len(base)), where=overlapping > 0)


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
def _exposure(r: int, length: float, w: float, start: float, mode: int, n: int, base: Any) -> tuple[float, float]:
    """What is known of a recording before its events are seen; back come the widths of its first and last segment."""
    base[r, :] = 0.0
    base[r, col.N_RECORDINGS] = 1.0
    first, last = _width(0, n, length, w, start, mode), _width(n - 1, n, length, w, start, mode)
    inner = max(0, n - 2)
    base[r, col.N_SEGMENTS] = inner + (1 if first > 0 else 0) + (1 if last > 0 and n > 1 else 0)
    base[r, col.LISTENED] = length if mode == TRUNCATE else inner * w + first + (last if n > 1 else 0.0)
    base[r, col.TIME] = base[r, col.LISTENED] if mode == INFINITE else length  # labels beyond the ends are counted
    return first, last


@kernel
def _drop(bucket: Any, j: int, cover: float, w: float) -> float:
    """The time that the best label of a segment gets right, which falls into bucket j."""
    bucket[j, COUNT] += 1.0
    bucket[j, COVER] += cover
    return max(cover, w - cover)


@kernel
def _trim(cut: Any, j: int, cover: float, width: float, w: float) -> float:
    """The time that the best label gets right less where :func:`_drop` took a cut segment as a whole one."""
    if j < 0 or width == w:
        return 0.0
    cut[j, MISSING] += w - width
    cut[j, MORE] += cover / width - cover / w
    return max(cover, w - cover) - max(cover, width - cover)


@kernel
def criteria(
    bounds: Any, starts: Any, lengths: Any, w: float, start: float, mode: int, among: Any, raw: Any, base: Any
) -> None:
    """Measures of every recording for sorted criteria, (limits, table, values): segments and events fall into buckets
    by how many criteria they satisfy; sums from the last bucket down do the rest. The first and last segment are
    trimmed at the end of the recording if they are cut: asking in the loop would double its time."""
    limits, table, _ = among
    bucket, cut = np.zeros((limits.shape[0] + 1, 3)), np.zeros((limits.shape[0] + 1, 2))
    per_w = 1.0 / w
    for r in range(lengths.shape[0]):
        length = lengths[r]
        n = _segment_count(length, w, start)
        first, last = _exposure(r, length, w, start, mode, n, base)
        low, high = 0 if first > 0.0 else 1, n - 1 if last > 0.0 else n - 2  # the segments that count
        open_k, open_h, open_c = -1, 0.0, 0.0
        event_time, bound = 0.0, 0.0
        first_j, first_c = -1, 0.0
        for e in range(starts[r], starts[r + 1]):
            a, b = bounds[e, 0], bounds[e, 1]
            d = b - a
            event_time += d
            k1 = min(int((a - start) * per_w + NEAR), n - 1)  # nothing is negative here
            k2 = max(k1, min(int(np.ceil((b - start) * per_w - NEAR)) - 1, n - 1))
            if k1 != open_k:
                if low <= open_k <= high:
                    j = satisfied(open_h, limits, table)
                    bound += _drop(bucket, j, open_c, w)
                    if open_k == 0:
                        first_j, first_c = j, open_c
                open_k, open_h, open_c = k1, 0.0, 0.0
            if k1 == k2:
                open_c += d
                open_h = 1.0
                best = 1.0 if low <= k1 <= high else 0.0
            else:
                per_d = 1.0 / d
                part = start + (k1 + 1) * w - a
                best = 0.0
                if k1 >= low:
                    best = part * per_d
                    j = satisfied(max(open_h, best), limits, table)
                    bound += _drop(bucket, j, open_c + part, w)
                    if k1 == 0:
                        first_j, first_c = j, open_c + part
                if k2 - k1 > 1:
                    inner = float(k2 - k1 - 1)
                    j = satisfied(w * per_d, limits, table)
                    bucket[j, COUNT] += inner
                    bucket[j, COVER] += inner * w
                    bound += inner * w
                    best = max(best, w * per_d)
                open_k = k2
                open_c = b - (start + k2 * w)
                open_h = open_c * per_d
                if k2 <= high:
                    best = max(best, open_h)
            bucket[satisfied(best, limits, table), FOUND] += 1.0
        if low <= open_k <= high:
            j = satisfied(open_h, limits, table)
            bound += _drop(bucket, j, open_c, w)
            if open_k == 0:
                first_j, first_c = j, open_c
            elif open_k == n - 1:
                bound -= _trim(cut, j, open_c, last, w)
        bound -= _trim(cut, first_j, first_c, first, w)
        base[r, col.EVENT_TIME], base[r, col.N_EVENTS] = event_time, starts[r + 1] - starts[r]
        base[r, col.BOUND_TIME] = bound
        _sum_up(bucket, cut, w, raw[r], base[r])


@kernel
def _sum_up(bucket: Any, cut: Any, w: float, raw: Any, base: Any) -> None:
    """From buckets to measures: criterion i is satisfied by all that fell into buckets above i; the buckets are empty
    then."""
    n_criteria = bucket.shape[0] - 1
    count, cover, missing, more = 0.0, 0.0, 0.0, 0.0
    for j in range(n_criteria + 1):
        count += bucket[j, COUNT]
        cover += bucket[j, COVER]
        missing += cut[j, MISSING]
        more += cut[j, MORE]
    base[col.OVERLAP_TIME], base[col.EVENT_TIME_SEEN] = count * w - missing, cover
    base[col.N_OVERLAPPING], base[col.N_MEETING] = count, 1.0 if count > 0 else 0.0
    per_w = 1.0 / w
    absent = count - cover * per_w - more
    per_count = 1.0 / count if count > 0 else 0.0
    count, cover, missing, more, n_found = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n_criteria - 1, -1, -1):
        count += bucket[i + 1, COUNT]
        cover += bucket[i + 1, COVER]
        missing += cut[i + 1, MISSING]
        more += cut[i + 1, MORE]
        n_found += bucket[i + 1, FOUND]
        fit = absent + 2 * (cover * per_w + more) - count
        raw[i, col.TP] = cover
        raw[i, col.FP] = count * w - missing - cover
        raw[i, col.FP_OUTSIDE] = 0.0
        raw[i, col.N_PRESENT] = count
        raw[i, col.N_FOUND] = n_found
        raw[i, col.MEAN] = fit * per_count
        raw[i, col.FIT] = fit
    bucket[:, :] = 0.0
    cut[:, :] = 0.0


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
        _exposure(r, length, w, start, mode, n, base)
        g0, open_k = g, -1
        for e in range(starts[r], starts[r + 1]):
            a, b = bounds[e, 0], bounds[e, 1]
            d = b - a
            base[r, col.EVENT_TIME] += d
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
                        low, high = reaching(k1 + 1, k2 - 1, a, b, w, start, need[e])
                        score, some = 1.0, float(max(0, high - low + 1))
                    events[e, 2, 0], events[e, 2, 1], events[e, 2, 2] = score, some, g
                    if some > 0:
                        g = _group(groups, g, r, some, score, w, w)
                    if total > some:
                        g = _group(groups, g, r, total - some, 0.0, w, w)
        base[r, col.N_EVENTS] = starts[r + 1] - starts[r]
        for i in range(g0, g):
            m, c, width = groups[i, ALIKE], groups[i, COVERED], groups[i, COUNTED]
            base[r, col.OVERLAP_TIME] += m * width
            base[r, col.EVENT_TIME_SEEN] += m * c
            base[r, col.N_OVERLAPPING] += m
            base[r, col.BOUND_TIME] += m * max(c, width - c)
        base[r, col.N_MEETING] = 1.0 if base[r, col.N_OVERLAPPING] > 0 else 0.0
    return groups[:g], events


@kernel
def _group(groups: Any, g: int, r: int, alike: float, score: float, cover: float, width: float) -> int:
    groups[g, RECORDING], groups[g, ALIKE], groups[g, SCORE], groups[g, COVERED] = r, alike, score, cover
    groups[g, COUNTED] = width
    return g + 1


@kernel
def reaching(first: int, last: int, a: float, b: float, w: float, start: float, need: float) -> tuple[int, int]:
    """The first and the last of these segments that reach the required overlap with (a, b): they start in
    (a - w + need, b - need). The last comes before the first where none does."""
    if not np.isfinite(need):
        return 0, -1
    need = need * (1 - TIE)
    low = max(first, int(np.floor((a - w + need - start) / w)))
    while low <= last and start + (low + 1) * w - a < need:
        low += 1
    high = min(last, int(np.ceil((b - need - start) / w)))
    while high >= low and b - (start + high * w) < need:
        high -= 1
    return low, high
