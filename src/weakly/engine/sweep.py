"""A window slides over the events: pieces of time on which its cover and its largest event fraction are linear.

An event wholly inside the window has event fraction 1, so at most two events, cut by the window's ends, decide the
rest: at most five pieces per event. One pass adds them up for all criteria at once; whoever needs the pieces themselves
(means per recording, rules, laws of criteria) has them written down on the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.compiled import kernel
from ..model.answer_model import AnswerModel
from ..model.intervals import Edge, EventArrays, Floats, Ints, merged
from . import tally as col

INFINITE, TRUNCATE, INSIDE, CIRCULAR = (int(edge) for edge in Edge)
#: The columns of a piece: where the window starts and for how long, then its cover, counted width (both in seconds) and
#: largest event fraction at both ends of the piece.
START, SPAN, COVER0, COVER1, WIDTH0, WIDTH1, FRACTION0, FRACTION1 = range(8)


@kernel
def satisfied(h: float, limits: Any, table: Any) -> Any:
    """How many of the sorted criteria the event fraction h satisfies; arguments as from ``AnswerModels.sorted``."""
    j = table[min(int(h * 1024), 1024)]
    while j < limits.shape[0] and limits[j] <= h:
        j += 1
    return j


@kernel
def _counted(s: float, w: float, length: float) -> float:
    """The seconds of the window (s, s + w) within the recording."""
    return max(0.0, min(s + w, length) - max(s, 0.0))


@kernel
def _ends(bounds: Any, length: float, mode: int) -> Any:
    """Onsets and offsets of one recording in one row; on a circle two turns of them."""
    x = bounds.reshape(-1)
    if mode != CIRCULAR:
        return x
    n = x.shape[0]
    out = np.empty(2 * n)
    for i in range(n):
        out[i], out[n + i] = x[i], x[i] + length
    return out


@kernel
def _exposure(bounds: Any, length: float, w: float, mode: int, base: Any) -> None:
    """What is known of a recording before the sweep: segments and seconds heard are those of the random phase, as
    :func:`weakly.model.intervals.window_counts` has them."""
    base[:] = 0.0
    base[col.N_RECORDINGS], base[col.N_EVENTS] = 1.0, bounds.shape[0]
    for e in range(bounds.shape[0]):
        base[col.EVENT_TIME] += bounds[e, 1] - bounds[e, 0]
    if mode == INSIDE:
        base[col.N_SEGMENTS] = max(0.0, length - w) / w
    else:
        base[col.N_SEGMENTS] = length / w if mode == CIRCULAR else length / w + 1.0
    base[col.LISTENED] = base[col.N_SEGMENTS] * w if mode in (INSIDE, INFINITE) else length
    base[col.TIME] = base[col.LISTENED] if mode == INFINITE else length  # labels beyond the ends are counted


@kernel
def sweep(
    bounds: Any, starts: Any, lengths: Any, w: float, mode: int, criteria: Any, raw: Any, base: Any, rows: Any
) -> Any:
    """The measures of every recording for sorted criteria, (limits, table, values), into ``raw`` and ``base``, but for
    the means; the pieces go into ``rows`` unless it is empty, and what comes back is where each recording's begin.

    Between its two event fractions a piece adds a polynomial in the criterion, below a constant. Both go into an array
    of differences, which is summed up from the highest criterion down; where the polynomial's coefficients would swamp
    the result (events far longer than the window) it is evaluated instead.
    """
    limits, table, gammas = criteria
    n_criteria = limits.shape[0]
    curves = np.zeros((n_criteria + 1, 8))  # of the present length: 1, g; cover: 1, g, g^2; missing width: 1, g, g^2
    points = np.zeros((n_criteria + 1, 3))
    noticed = np.zeros((n_criteria + 1, 2))  # events, and their seconds, that satisfy so many criteria
    keep = rows.shape[0] > 0
    first = np.zeros(lengths.shape[0] + 1, np.int64)
    g = 0
    for r in range(lengths.shape[0]):
        length, own = lengths[r], bounds[starts[r] : starts[r + 1]]
        _exposure(own, length, w, mode, base[r])
        x = _ends(own, length, mode)
        low, high, cut0, cut1 = -np.inf, np.inf, np.inf, np.inf
        if mode == TRUNCATE:
            cut0, cut1 = min(0.0, length - w), max(0.0, length - w)
        elif mode != INFINITE:
            cut0, cut1 = 0.0, length if mode == CIRCULAR else length - w
            low, high = cut0, cut1
        total, total_cover, total_missing, bound = 0.0, 0.0, 0.0, 0.0
        n, i, j, cover, s = x.shape[0], 0, 0, 0.0, np.inf
        if n > 0 and high > low:
            s = x[0] - w
        while i < n and s < high:
            t = x[i]
            if j < n:
                t = min(t, x[j] - w)
            if s < cut0:
                t = min(t, cut0)
            elif s < cut1:
                t = min(t, cut1)
            span = t - s
            in_left, in_right = i & 1, j & 1
            cover1 = cover + span * (in_right - in_left)
            if i == j:  # no rounding inside a long event, none in silence
                cover = w if in_left == 1 else 0.0
                cover1 = cover
            if span > 0.0 and s >= low and (i < j or in_left == 1):
                w0, w1 = w, w
                if mode == TRUNCATE and (s < 0.0 or t > length - w):
                    w0, w1 = _counted(s, w, length), _counted(t, w, length)
                u = 1.0  # how far along the piece the largest fraction changes hands
                hz, h2 = 1.0, 1.0
                if (i + 1) >> 1 < j >> 1:
                    h0, h1 = 1.0, 1.0
                elif i == j:
                    h0 = w / (x[i] - x[i - 1])
                    h1 = h0
                elif in_right == 0:
                    d = x[i] - x[i - 1]
                    h0, h1 = (x[i] - s) / d, (x[i] - t) / d
                elif in_left == 0:
                    d = x[j] - x[j - 1]
                    h0, h1 = (s + w - x[j - 1]) / d, (t + w - x[j - 1]) / d
                else:
                    d = x[i] - x[i - 1]
                    l0, l1 = (x[i] - s) / d, (x[i] - t) / d
                    d = x[j] - x[j - 1]
                    h0, h1 = (s + w - x[j - 1]) / d, (t + w - x[j - 1]) / d
                    if (l0 - h0) * (l1 - h1) < 0.0:
                        u = (l0 - h0) / ((l0 - h0) - (l1 - h1))
                        hz = l0 + u * (l1 - l0)
                    h0, h1 = max(l0, h0), max(l1, h1)
                c0, c1, v0, v1, at, step = cover, cover1, w0, w1, s, span
                if u < 1.0:  # first the part before the change
                    step = u * span
                    h2, h1 = h1, hz
                    c1, v1 = cover + u * (cover1 - cover), w0 + u * (w1 - w0)
                while True:
                    if keep:
                        rows[g, START], rows[g, SPAN], rows[g, COVER0], rows[g, COVER1] = at, step, c0, c1
                        rows[g, WIDTH0], rows[g, WIDTH1], rows[g, FRACTION0], rows[g, FRACTION1] = v0, v1, h0, h1
                        g += 1
                    area, lack = step * (c0 + c1) / 2, step * (w - (v0 + v1) / 2)
                    f0, f1 = 2 * c0 - v0, 2 * c1 - v1  # max(c, w - c) = (w + |2 c - w|) / 2
                    a0, a1 = abs(f0), abs(f1)
                    best = (a0 + a1) / 2
                    if f0 * f1 < 0.0:
                        best -= a0 * a1 / (a0 + a1)
                    total += step
                    total_cover += area
                    total_missing += lack
                    bound += step * best
                    up = h1 > h0  # b at the bottom, t at the top
                    hb, ht = (h0, h1) if up else (h1, h0)
                    k0, k1 = satisfied(hb, limits, table), satisfied(ht, limits, table)
                    if k0 < k1:
                        ct, cb = (c1, c0) if up else (c0, c1)
                        mt, mb = (w - v1, w - v0) if up else (w - v0, w - v1)
                        rate, bend, lean = step / (ht - hb), (ct - cb) / step / 2, (mt - mb) / step / 2
                        if rate > 32 * w:
                            for k in range(k0, k1):
                                y = min(max(rate * (ht - gammas[k]), 0.0), step)
                                points[k, 0] += y
                                points[k, 1] += y * (ct - bend * y)
                                points[k, 2] += y * (mt - lean * y)
                        else:
                            z = rate * ht  # present over z - rate * g from the top
                            p0, p1, p2 = z * (ct - bend * z), rate * (2 * bend * z - ct), -bend * rate * rate
                            q0, q1, q2 = z * (mt - lean * z), rate * (2 * lean * z - mt), -lean * rate * rate
                            for power, value in enumerate((z, -rate, p0, p1, p2, q0, q1, q2)):
                                curves[k1, power] += value
                                curves[k0, power] -= value
                    curves[k0, 0] += step
                    curves[k0, 2] += area
                    curves[k0, 5] += lack
                    if u >= 1.0:
                        break
                    at, step = at + step, span - step
                    c0, c1, v0, v1, h0, h1, u = c1, cover1, v1, w1, hz, h2, 1.0
            while i < n and x[i] <= t:
                i += 1
            while j < n and x[j] - w <= t:
                j += 1
            s, cover = t, cover1
        first[r + 1] = g
        base[r, col.OVERLAP_TIME], base[r, col.EVENT_TIME_SEEN] = total - total_missing / w, total_cover / w
        base[r, col.N_OVERLAPPING] = total / w
        base[r, col.BOUND_TIME] = (total - total_missing / w + bound / w) / 2
        base[r, col.N_MEETING] = np.nan
        _noticed(own, length, w, mode, criteria, noticed, raw[r])
        for k in range(n_criteria - 1, -1, -1):
            y, above = gammas[k], curves[k + 1]
            present = above[0] + y * above[1] + points[k, 0]
            tp = above[2] + y * (above[3] + y * above[4]) + points[k, 1]
            lack = above[5] + y * (above[6] + y * above[7]) + points[k, 2]
            for power in range(8):
                curves[k, power] += above[power]
            raw[r, k, col.TP] = tp / w
            raw[r, k, col.FP] = present - (lack + tp) / w
            raw[r, k, col.FP_OUTSIDE] = 0.0
            raw[r, k, col.N_PRESENT] = present / w
            raw[r, k, col.MEAN] = np.nan
            raw[r, k, col.FIT] = np.nan
        curves[:, :] = 0.0
        points[:, :] = 0.0
    return first


@kernel
def _noticed(own: Any, length: float, w: float, mode: int, criteria: Any, noticed: Any, raw: Any) -> None:
    r"""The expected number of found events for sorted criteria, into ``raw``.

    Windows that start in :math:`[a - d_q + x_0,\; b - x_0]` notice the event; if that is :math:`\Lambda` long, some
    window of a grid does so with probability :math:`\min(1, \Lambda / d_q)`.
    """
    limits, table, gammas = criteria
    n_criteria = limits.shape[0]
    if mode == INSIDE:
        raw[:, col.N_FOUND] = 0.0
        for e in range(own.shape[0]):
            a, b = own[e, 0], own[e, 1]
            most = n_criteria if b - a <= w else satisfied(w / (b - a), limits, table)
            for k in range(most):
                y = gammas[k] * (b - a)
                span = min(b - y, length - w) - max(a - w + y, 0.0)
                raw[k, col.N_FOUND] += min(1.0, max(0.0, span) / w)
        return
    count, seconds = 0.0, 0.0
    for e in range(own.shape[0]):
        d = own[e, 1] - own[e, 0]
        if d <= w:
            count += 1.0
            seconds += d
        else:
            k = satisfied(w / d, limits, table)
            noticed[k, 0] += 1.0
            noticed[k, 1] += d
    for k in range(n_criteria - 1, -1, -1):
        count += noticed[k + 1, 0]
        seconds += noticed[k + 1, 1]
        raw[k, col.N_FOUND] = count - max(0.0, 2 * gammas[k] - 1) * seconds / w
    noticed[:, :] = 0.0


def present_starts(timelines: EventArrays, w: float, who: AnswerModel, mode: int) -> tuple[Floats, Ints]:
    """The window starts that some event makes present: sorted disjoint intervals, and where each recording's begin."""
    need = who.required_overlap(timelines.bounds[:, 1] - timelines.bounds[:, 0], w)
    turns = 1 if mode == CIRCULAR else 0
    spans, recording = _spans(timelines.bounds, timelines.starts, timelines.lengths, w, need, turns)
    if who.rule is not None and any(form.margin for form in who.rule.forms):  # else events are in the spans' order
        order = np.lexsort((spans[:, 0], recording))
        spans, recording = spans[order], recording[order]
    sorted_spans, ends = merged(spans, recording, len(timelines))
    return sorted_spans, np.maximum.accumulate(ends)


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
