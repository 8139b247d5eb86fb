"""A window slides over the events: pieces of time on which its cover and its largest event fraction are linear.

An event wholly inside the window has event fraction 1, so at most two events, cut by the window's ends, decide the
rest: at most five pieces per event.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import TIE
from ..compiled import count_up_to, kernel
from ..events import Timelines
from ..observer import Observer
from ..panels import value
from ..tally import (
    BOUND_TIME,
    COVER_TIME,
    FP,
    FP_ELSEWHERE,
    N_FOUND,
    N_OVERLAPPING,
    N_PRESENT,
    OVERLAP_TIME,
    TP,
)
from ..windows import Edge

Array = NDArray[np.float64]
TRUNCATE, INSIDE, CIRCULAR = int(Edge.TRUNCATE), int(Edge.INSIDE), int(Edge.CIRCULAR)
#: The columns of a piece: where the window starts and for how long, then its cover, counted width (both in seconds) and
#: largest event fraction at both ends of the piece.
START, SPAN, COVER0, COVER1, WIDTH0, WIDTH1, FRACTION0, FRACTION1 = range(8)


def tied(criteria: Array) -> tuple[Array, Array, NDArray[np.int64]]:
    """Sorted criteria lowered by the tolerance for ties, their first index per 1/1024, and their order.

    The table makes "how many criteria does this event fraction satisfy" a step or two, however many criteria there are.
    """
    order = np.argsort(criteria, kind="stable")
    limits = criteria[order] * (1 - TIE)
    table = np.searchsorted(limits, np.arange(1025) / 1024, side="right").astype(np.float64)
    return limits, table, order


@kernel
def satisfied(h: float, limits: Any, table: Any) -> int:
    """How many of the sorted criteria the event fraction h satisfies; arguments as from :func:`tied`."""
    j = int(table[min(int(h * 1024), 1024)])
    while j < limits.shape[0] and limits[j] <= h:
        j += 1
    return j


@kernel
def _counted(s: float, w: float, length: float, mode: int) -> float:
    """The seconds of the window (s, s + w) that count."""
    if mode != TRUNCATE:
        return w
    return max(0.0, min(s + w, length) - max(s, 0.0))


@kernel
def _emit(
    out: Any, g: int, s: float, t: float, c0: float, c1: float, h0: float, h1: float, w0: float, w1: float
) -> int:
    if t > s:
        out[g, START], out[g, SPAN], out[g, COVER0], out[g, COVER1] = s, t - s, c0, c1
        out[g, WIDTH0], out[g, WIDTH1], out[g, FRACTION0], out[g, FRACTION1] = w0, w1, h0, h1
        g += 1
    return g


@kernel
def pieces(bounds: Any, starts: Any, lengths: Any, w: float, mode: int) -> tuple[Any, Any]:
    """The pieces of all recordings (columns as named above), and where each recording's begin."""
    per_event = 24 if mode == CIRCULAR else 12
    out = np.empty((per_event * bounds.shape[0] + 8 * lengths.shape[0], 8))
    first = np.zeros(lengths.shape[0] + 1, np.int64)
    g = 0
    for r in range(lengths.shape[0]):
        length = lengths[r]
        low, high = -np.inf, np.inf
        cut0, cut1 = np.inf, np.inf
        if mode == INSIDE:
            low, high = 0.0, length - w
            cut0, cut1 = low, high
        elif mode == CIRCULAR:
            low, high = 0.0, length
            cut0, cut1 = low, high
        elif mode == TRUNCATE:
            cut0, cut1 = min(0.0, length - w), max(0.0, length - w)
        m = starts[r + 1] - starts[r]
        turns = 2 if mode == CIRCULAR else 1
        x = np.empty(2 * m * turns)
        for turn in range(turns):
            for e in range(m):
                x[2 * (turn * m + e)] = bounds[starts[r] + e, 0] + turn * length
                x[2 * (turn * m + e) + 1] = bounds[starts[r] + e, 1] + turn * length
        n = x.shape[0]
        if n > 0 and high > low:
            i, j, s, cover = 0, 0, x[0] - w, 0.0
            while i < n and s < high:
                t = x[i]
                if j < n:
                    t = min(t, x[j] - w)
                if cut0 > s:
                    t = min(t, cut0)
                if cut1 > s:
                    t = min(t, cut1)
                span = max(0.0, t - s)
                in_left, in_right = i % 2 == 1, j % 2 == 1
                cover1 = cover + span * (j % 2 - i % 2)
                if i == j and in_left:
                    cover = cover1 = w  # no rounding inside a long event
                elif i == j:
                    cover = cover1 = 0.0
                if span > 0.0 and (i < j or in_left):
                    mid = 0.5 * (s + t)
                    if low <= mid <= high:
                        w0, w1 = _counted(s, w, length, mode), _counted(t, w, length, mode)
                        if (i + 1) // 2 <= j // 2 - 1:
                            g = _emit(out, g, s, t, cover, cover1, 1.0, 1.0, w0, w1)
                        elif i == j:
                            h = w / (x[i] - x[i - 1])
                            g = _emit(out, g, s, t, cover, cover1, h, h, w0, w1)
                        else:
                            left, right = 1.0, 1.0
                            l0, l1, r0, r1 = 0.0, 0.0, 0.0, 0.0
                            if in_left:
                                left = x[i] - x[i - 1]
                                l0, l1 = (x[i] - s) / left, (x[i] - t) / left
                            if in_right:
                                right = x[j] - x[j - 1]
                                r0, r1 = (s + w - x[j - 1]) / right, (t + w - x[j - 1]) / right
                            if in_left and in_right and (l0 - r0) * (l1 - r1) < 0.0:
                                u = (l0 - r0) / ((l0 - r0) - (l1 - r1))
                                z = s + u * span
                                cz, wz = cover + u * (cover1 - cover), w0 + u * (w1 - w0)
                                hz = l0 + u * (l1 - l0)
                                g = _emit(out, g, s, z, cover, cz, max(l0, r0), hz, w0, wz)
                                g = _emit(out, g, z, t, cz, cover1, hz, max(l1, r1), wz, w1)
                            else:
                                g = _emit(out, g, s, t, cover, cover1, max(l0, r0), max(l1, r1), w0, w1)
                while i < n and x[i] <= t:
                    i += 1
                while j < n and x[j] - w <= t:
                    j += 1
                s, cover = t, cover1
        first[r + 1] = g
    return out[:g], first


@kernel
def _sizes(row: Any) -> tuple[float, float, float, float, float]:
    return row[SPAN], row[COVER0], row[COVER1], row[WIDTH0], row[WIDTH1]


@kernel
def totals(rows: Any, first: Any, w: float, base: Any) -> None:
    """What does not depend on the criterion: overlap, cover and best time, expected number of overlapping segments."""
    for r in range(first.shape[0] - 1):
        for i in range(first[r], first[r + 1]):
            span, c0, c1, w0, w1 = _sizes(rows[i])
            base[r, OVERLAP_TIME] += span * (w0 + w1) / 2 / w
            base[r, COVER_TIME] += span * (c0 + c1) / 2 / w
            base[r, N_OVERLAPPING] += span / w
            f0, f1 = 2 * c0 - w0, 2 * c1 - w1  # max(c, w - c) = (w + |2 c - w|) / 2
            if f0 * f1 < 0:
                area = (f0 * f0 + f1 * f1) / (2 * (abs(f0) + abs(f1)))
            else:
                area = (abs(f0) + abs(f1)) / 2
            base[r, BOUND_TIME] += span * ((w0 + w1) / 2 + area) / 2 / w


@kernel
def at_criteria(rows: Any, first: Any, w: float, limits: Any, table: Any, gammas: Any, raw: Any) -> None:
    """Present time and cover for sorted criteria, from the time on which the event fraction is below each.

    A piece adds a polynomial in the criterion between its two event fractions and a constant above. Where many criteria
    lie between, the polynomial goes into a difference array; else, and where its coefficients would swamp the result
    (events far longer than the window), it is evaluated.
    """
    n_criteria = limits.shape[0]
    steps = np.zeros((n_criteria + 1, 3))  # absent length, cover, width from this criterion on
    curves = np.zeros((n_criteria + 1, 8))
    points = np.zeros((n_criteria, 3))
    for r in range(first.shape[0] - 1):
        steps[:, :], curves[:, :], points[:, :] = 0.0, 0.0, 0.0
        length, cover, width = 0.0, 0.0, 0.0
        for i in range(first[r], first[r + 1]):
            span, c0, c1, w0, w1 = _sizes(rows[i])
            h0, h1 = rows[i, FRACTION0], rows[i, FRACTION1]
            area_c, area_w = span * (c0 + c1) / 2, span * (w0 + w1) / 2
            length += span
            cover += area_c
            width += area_w
            if h0 > h1:
                h0, h1, c0, c1, w0, w1 = h1, h0, c1, c0, w1, w0
            top = satisfied(h1, limits, table)
            if top < n_criteria:
                steps[top, 0] += span
                steps[top, 1] += area_c
                steps[top, 2] += area_w
            if h1 <= h0:
                continue
            low = satisfied(h0, limits, table)
            if low >= top:
                continue
            rate = span / (h1 - h0)
            bend_c, bend_w = (c1 - c0) / span / 2, (w1 - w0) / span / 2
            if top - low <= 8 or rate > 32 * w:
                for k in range(low, top):
                    x = min(max(rate * (gammas[k] - h0), 0.0), span)
                    points[k, 0] += x
                    points[k, 1] += x * (c0 + bend_c * x)
                    points[k, 2] += x * (w0 + bend_w * x)
            else:
                z = -rate * h0
                for sign, k in ((1.0, low), (-1.0, top)):
                    curves[k, 0] += sign * z
                    curves[k, 1] += sign * rate
                    curves[k, 2] += sign * z * (c0 + bend_c * z)
                    curves[k, 3] += sign * rate * (c0 + 2 * bend_c * z)
                    curves[k, 4] += sign * rate * rate * bend_c
                    curves[k, 5] += sign * z * (w0 + bend_w * z)
                    curves[k, 6] += sign * rate * (w0 + 2 * bend_w * z)
                    curves[k, 7] += sign * rate * rate * bend_w
        for k in range(n_criteria):
            if k > 0:
                for q in range(3):
                    steps[k, q] += steps[k - 1, q]
                for q in range(8):
                    curves[k, q] += curves[k - 1, q]
            x = gammas[k]
            absent = steps[k, 0] + points[k, 0] + curves[k, 0] + x * curves[k, 1]
            absent_c = steps[k, 1] + points[k, 1] + curves[k, 2] + x * (curves[k, 3] + x * curves[k, 4])
            absent_w = steps[k, 2] + points[k, 2] + curves[k, 5] + x * (curves[k, 6] + x * curves[k, 7])
            raw[r, k, TP] = (cover - absent_c) / w
            raw[r, k, FP] = ((width - absent_w) - (cover - absent_c)) / w
            raw[r, k, FP_ELSEWHERE] = 0.0
            raw[r, k, N_PRESENT] = (length - absent) / w


@kernel
def over_intervals(rows: Any, first: Any, w: float, spans: Any, at: Any, raw: Any) -> None:
    """Present time and cover where the present window starts are given: sorted disjoint ``spans`` per recording."""
    for r in range(first.shape[0] - 1):
        k = at[r]
        length, cover, width = 0.0, 0.0, 0.0
        for i in range(first[r], first[r + 1]):
            s = rows[i, START]
            span, c0, c1, w0, w1 = _sizes(rows[i])
            t = s + span
            while k < at[r + 1] and spans[k, 1] <= s:
                k += 1
            m = k
            while m < at[r + 1] and spans[m, 0] < t:
                u, v = max(s, spans[m, 0]) - s, min(t, spans[m, 1]) - s
                if v > u:
                    middle = (u + v) / 2 / span
                    length += v - u
                    cover += (v - u) * (c0 + middle * (c1 - c0))
                    width += (v - u) * (w0 + middle * (w1 - w0))
                m += 1
        raw[r, TP] = cover / w
        raw[r, FP] = (width - cover) / w
        raw[r, FP_ELSEWHERE] = 0.0
        raw[r, N_PRESENT] = length / w


@kernel
def with_law(rows: Any, first: Any, w: float, law: Any, raw: Any) -> None:
    """Expected present time and cover where P(present | largest event fraction) is given as polynomials on panels:
    ``law`` is (edges, table, nodes and weights on (0, 1))."""
    edges, table, nodes, weights = law
    for r in range(first.shape[0] - 1):
        length, cover, width = 0.0, 0.0, 0.0
        for i in range(first[r], first[r + 1]):
            span, c0, c1, w0, w1 = _sizes(rows[i])
            h0, h1 = rows[i, FRACTION0], rows[i, FRACTION1]
            at, p, q = 0.0, 0.0, 0.0  # the means of P, and of P times the way along the piece
            while at < 1.0:
                to = panel_end(at, h0, h1, edges)
                for k in range(nodes.shape[0]):
                    x = at + (to - at) * nodes[k]
                    chance = (to - at) * weights[k] * value(h0 + x * (h1 - h0), edges, table)
                    p += chance
                    q += chance * x
                at = to
            length += span * p
            cover += span * (p * c0 + q * (c1 - c0))
            width += span * (p * w0 + q * (w1 - w0))
        raw[r, TP] = cover / w
        raw[r, FP] = (width - cover) / w
        raw[r, N_PRESENT] = length / w


@kernel
def panel_end(at: float, h0: float, h1: float, edges: Any) -> float:
    """How far along (0, 1) from h0 to h1 the panel that holds the point ``at`` reaches."""
    if h0 == h1:
        return 1.0
    h = h0 + at * (h1 - h0)
    if h1 > h0:
        k = count_up_to(edges, h + 1e-12)
        to = (edges[k] - h0) / (h1 - h0) if k < edges.shape[0] else 1.0
    else:
        k = count_up_to(edges, h - 1e-12) - 1
        to = (edges[k] - h0) / (h1 - h0) if k >= 0 else 1.0
    return 1.0 if to >= 1.0 - 1e-12 or to <= at else to


@kernel
def found_at(bounds: Any, starts: Any, lengths: Any, w: float, mode: int, gammas: Any, limits: Any, raw: Any) -> None:
    r"""The expected number of found events per recording for sorted criteria, into ``raw``.

    Windows that start in :math:`[a - d_q + x_0,\; b - x_0]` notice the event; if that is :math:`\Lambda` long, some
    window of a grid does so with probability :math:`\min(1, \Lambda / d_q)`.
    """
    n_criteria = gammas.shape[0]
    feasible = np.zeros((n_criteria + 1, 2))  # events and their seconds that first fail at this criterion
    for r in range(lengths.shape[0]):
        feasible[:, :] = 0.0
        for k in range(n_criteria):
            raw[r, k, N_FOUND] = 0.0
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
                    raw[r, k, N_FOUND] += min(1.0, max(0.0, span) / w)
            else:
                feasible[last, 0] += 1.0
                feasible[last, 1] += d
        if mode != INSIDE:
            count, seconds = 0.0, 0.0
            for k in range(n_criteria - 1, -1, -1):
                count += feasible[k + 1, 0]
                seconds += feasible[k + 1, 1]
                raw[r, k, N_FOUND] = count - max(0.0, 2 * gammas[k] - 1) * seconds / w


def present_starts(timelines: Timelines, w: float, who: Observer, mode: int) -> tuple[Array, NDArray[np.int64]]:
    """The window starts that some event makes present: sorted disjoint intervals, and where each recording's begin."""
    need = who.required_overlap(timelines.bounds[:, 1] - timelines.bounds[:, 0], w)
    turns = 1 if mode == CIRCULAR else 0
    spans, recording = _spans(timelines.bounds, timelines.starts, timelines.lengths, w, need, turns)
    if who.rule is not None and any(form.margin for form in who.rule.forms):  # else events are in the spans' order
        order = np.lexsort((spans[:, 0], recording))
        spans, recording = spans[order], recording[order]
    found: tuple[Array, NDArray[np.int64]] = merged(spans, recording, len(timelines))
    return found


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
