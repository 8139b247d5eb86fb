r"""Events -> expected accuracy over a uniformly random phase of the grid, without a single random number.

For a grid with uniform phase the expected sum of X over segments is :math:`\frac{1}{d_q} \int X(s) ds` over window
starts s, and every X is linear between a few events' ends, so sums replace integrals and the result is exact; a law of
criteria is integrated on its panels (:class:`~weakly.model.criterion_law.LawTable`), to about 1e-12. The number of
segments and the seconds heard are the expectations of the same random phase (:mod:`~weakly.model.intervals`, which
also names the edge rules).

In the mean accuracy per recording each segment weighs 1 / (number of overlapping segments), which depends on the phase
alone. Folded modulo the segment length, its reciprocal v is a step function with two steps per stretch of overlap, and
:math:`\int F(s)\, v(s \bmod d_q)\, ds / d_q` is a sum over pieces of the sweep.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from ..base.compiled import count_up_to, kernel, sort_together
from ..base.errors import InvalidInput
from ..model.answer_model import AnswerModel, AnswerModels
from ..model.detection import detection_at_random
from ..model.detection import value as chance_at
from ..model.intervals import Edge, EventArrays, Floats, Placement
from . import sweep
from . import tally as col
from .sweep import COVER0, COVER1, FRACTION0, FRACTION1, SPAN, START, WIDTH0, WIDTH1, satisfied


def measure(timelines: EventArrays, segment_length: float, who: AnswerModels, how: Placement) -> tuple[Floats, Floats]:
    """The expected measures of every recording (R, columns, SCORES) and (R, EXPOSURE) over a random phase.

    ``how.means``: also the mean accuracy per recording and per segment, which costs more than all else together; else
    these are NaN.
    """
    n, w, mode = len(timelines), float(segment_length), int(how.edge)
    if mode == Edge.CIRCULAR and (timelines.lengths < w * (1 - 1e-9)).any():
        r = int(np.flatnonzero(timelines.lengths < w)[0])
        raise InvalidInput(
            f"segment_length must be at most the recording's length where edge is 'circular', got {w:g} s "
            f"for recording {r} of {timelines.lengths[r]:g} s"
        )
    raw, base = np.zeros((n, len(who), len(col.SCORES))), np.zeros((n, len(col.EXPOSURE)))
    where = (np.ascontiguousarray(timelines.bounds), timelines.starts, timelines.lengths)
    most = (24 if mode == Edge.CIRCULAR else 12) * len(timelines.bounds) + 8 * n + 1  # of pieces of the sweep
    rows = np.empty((most if how.means or who.criteria is None else 0, 8))
    if who.criteria is not None:
        criteria, place = who.sorted
        at_criteria(*where, w, mode, criteria, raw, base, rows, how.means)
        return raw[:, place], base
    ends = np.array([0.0, 2.0] if how.means else [])  # any overlap satisfies the first criterion, none the second
    ground, criteria = np.full((n, 2, len(col.SCORES)), np.nan), (ends, np.full(1025, len(ends) // 2), ends)
    first, weights = at_criteria(*where, w, mode, criteria, ground[:, : len(ends)], base, rows, how.means)
    for c, model in enumerate(who):
        _column(raw[:, c], base, timelines, model, (w, mode, rows[: first[-1]], first, weights, ground))
    return raw, base


def _column(raw: Floats, base: Floats, timelines: EventArrays, who: AnswerModel, at: Any) -> None:
    """Fill the column of one observer; ``ground`` are the measures where all labels are present, and all absent."""
    w, mode, rows, first, weights, ground = at
    if who.single is None and who.rule is None:
        assert who.annotator is not None
        panels, (nodes, masses) = who.annotator.panels, np.polynomial.legendre.leggauss(8)
        law = (panels.edges, panels.table(who.annotator.probability), (1 + nodes) / 2, masses / 2)
        with_law(rows, first, w, weights, law, raw)
        low, rise = 0.0, 1.0
    else:
        with_spans(rows, first, w, weights, *sweep.present_starts(timelines, w, who, mode), raw)
        low, rise = who.low, who.high - who.low  # a guess answers anywhere, the criterion decides the rest
    cover, overlap = base[:, col.EVENT_TIME_SEEN], base[:, col.OVERLAP_TIME]
    raw[:, col.TP] = low * cover + rise * raw[:, col.TP]
    raw[:, col.FP] = low * (overlap - cover) + rise * raw[:, col.FP]
    raw[:, col.N_PRESENT] = low * base[:, col.N_OVERLAPPING] + rise * raw[:, col.N_PRESENT]
    for mean in (col.MEAN, col.FIT):
        present, absent = ground[:, :, mean].T
        raw[:, mean] = absent + low * (present - absent) + rise * raw[:, mean]
    raw[:, col.FP_OUTSIDE] = who.low * (base[:, col.LISTENED] - base[:, col.OVERLAP_TIME])
    raw[:, col.N_PRESENT] += who.low * (base[:, col.N_SEGMENTS] - base[:, col.N_OVERLAPPING])
    a, owner = timelines.bounds[:, 0], timelines.owner
    starts = (0.0, timelines.lengths[owner] - w) if mode == Edge.INSIDE else None
    circle = timelines.lengths[owner] if mode == Edge.CIRCULAR else 0.0
    largest = (np.ascontiguousarray(rows[:, [sweep.START, sweep.SPAN, sweep.FRACTION0, sweep.FRACTION1]]), first)
    chance = detection_at_random(
        who, timelines.bounds[:, 1] - a, w, onset=a, starts=starts, largest=(*largest, owner, circle)
    )
    raw[:, col.N_FOUND] = np.bincount(owner, weights=chance, minlength=len(base))


@kernel
def folded(rows: Any, first: Any, w: float) -> tuple[Any, Any, Any, Any]:
    """Per recording the steps of v as rows (phase, v, integral of v, integral of phase * v), and where they begin; and
    for each of 2^k equal parts of the segment the step in which it begins, and where these begin."""
    n = first.shape[0] - 1
    out = np.zeros((2 * rows.shape[0] + 2 * n, 4))
    places = np.empty(8 * rows.shape[0] + 10 * n, np.int64)
    at, where = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    g, p = 0, 0
    for r in range(n):
        ends = np.empty((first[r + 1] - first[r], 2))  # stretches of overlap
        m = 0
        for i in range(first[r], first[r + 1]):
            s, t = rows[i, START], rows[i, START] + rows[i, SPAN]
            if m > 0 and s - ends[m - 1, 1] <= 1e-12 * (abs(s) + w):
                ends[m - 1, 1] = t
            else:
                ends[m, 0], ends[m, 1] = s, t
                m += 1
        knots = np.empty(2 * m)
        change = np.empty(2 * m)
        count = 0.0  # before the first knot; from the same turns as the knots, so that no rounding comes between
        for k in range(m):
            for side in range(2):
                turns = np.floor(ends[k, side] / w)
                sign = 1.0 - 2.0 * side
                knots[2 * k + side] = min(max(ends[k, side] - turns * w, 0.0), w)
                change[2 * k + side] = sign
                count -= sign * turns
        sort_together(knots, change)
        value = 1.0 / count if count > 0.5 else 0.0
        out[g, 1] = value
        g += 1
        for k in range(2 * m):
            knot = knots[k]
            step = knot - out[g - 1, 0]
            total = out[g - 1, 2] + step * value
            moment = out[g - 1, 3] + step * value * (knot + out[g - 1, 0]) / 2
            if step > 0.0:
                g += 1
            count += change[k]
            value = 1.0 / count if count > 0.5 else 0.0
            out[g - 1, 0], out[g - 1, 1], out[g - 1, 2], out[g - 1, 3] = knot, value, total, moment
        at[r + 1] = g
        parts, k = 2, at[r]
        while parts < 2 * (g - at[r]):
            parts *= 2
        for q in range(parts + 1):
            while k + 1 < g and out[k + 1, 0] * parts <= q * w:
                k += 1
            places[p] = k - at[r]
            p += 1
        where[r + 1] = p
    return out[:g], at, places[:p], where


@kernel
def _own(weights: Any, r: int) -> tuple[Any, Any]:
    """The steps and places of one recording."""
    steps, at, places, where = weights
    return steps[at[r] : at[r + 1]], places[where[r] : where[r + 1]]


@kernel
def _step(steps: Any, places: Any, w: float, phase: float) -> Any:
    """The last step that begins at this phase or before."""
    parts = places.shape[0] - 1
    part = min(int(phase / w * parts), parts - 1)
    low, high = places[part], places[part + 1] + 1
    return low + max(count_up_to(steps[low:high, 0], phase) - 1, 0)


@kernel
def _upto(steps: Any, places: Any, w: float, phase: float) -> tuple[float, float]:
    """The integrals of v and of phase * v from 0 to this phase."""
    k = _step(steps, places, w, phase)
    x, v = steps[k, 0], steps[k, 1]
    return steps[k, 2] + v * (phase - x), steps[k, 3] + v * (phase - x) * (phase + x) / 2


@kernel
def _phase(s: float, w: float) -> Any:
    return min(max(s - np.floor(s / w) * w, 0.0), w)


@kernel
def _along(steps: Any, places: Any, w: float, phase: float, before: Any, turn: Any, u: float) -> tuple[float, float]:
    """The integrals of v and of the way times v over the u seconds, at most w, from a phase on; ``before`` is
    :func:`_upto` of that phase and ``turn`` that of w."""
    end, around = phase + u, 0.0
    if end >= w:
        end, around = min(end - w, w), 1.0
    v1, m1 = _upto(steps, places, w, end)
    v = v1 - before[0] + around * turn[0]
    return v, m1 - before[1] + around * (turn[1] + w * v1) - phase * v


@kernel
def _linear(steps: Any, places: Any, w: float, s: float, t: float, f0: float, slope: float) -> Any:
    """The integral of (f0 + slope * (x - s)) v(x mod w) over (s, t)."""
    left = t - s
    if steps.shape[0] == 1:  # v has no steps
        return (f0 + slope * left / 2) * left * steps[0, 1]
    phase, turn = _phase(s, w), _upto(steps, places, w, w)
    total = 0.0
    if slope == 0.0 and left > w:
        whole = np.floor(left / w)
        total += f0 * whole * turn[0]
        left -= whole * w
    f, x = f0, phase
    while left > 0.0:
        step = min(left, w)
        v, m = _along(steps, places, w, x, _upto(steps, places, w, x), turn, step)
        total += f * v + slope * m
        f += slope * step
        left -= step
    return total


@kernel
def _ratio(row: Any, u0: float, u1: float) -> Any:
    """The integral of cover / width over the part (u0, u1) of a piece."""
    span = row[SPAN]
    c1, w1 = (row[COVER1] - row[COVER0]) / span, (row[WIDTH1] - row[WIDTH0]) / span
    c0, w0 = row[COVER0] + c1 * u0, row[WIDTH0] + w1 * u0
    way = u1 - u0
    if way <= 0.0:
        return 0.0
    if abs(w1) * way <= 1e-3 * w0:  # a series, where the logarithm would leave rounding; x^6 is below that
        x = w1 * way / w0
        log1 = 1 - x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x / 6))))
        log2 = 1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x / 6)))
        return way / w0 * (c0 * log1 + c1 * way * log2)
    slope, end = c1 / w1, w0 + w1 * way
    rest = c0 - slope * w0
    if w0 <= 0.0 or end <= 0.0 or abs(rest) <= 1e-15 * c0:  # an event from the recording's very end: a constant share
        return slope * way
    return slope * way + rest / w1 * log(end / w0)


@kernel
def _share(steps: Any, places: Any, w: float, row: Any, u0: float, u1: float) -> Any:
    """The integral of cover / width times v over the part (u0, u1) of a piece: a logarithm between steps of v."""
    total, u = 0.0, u0
    while u < u1:
        phase = _phase(row[START] + u, w)
        k = _step(steps, places, w, phase)
        stop = steps[k + 1, 0] if k + 1 < steps.shape[0] else w
        to = min(u1, u + (stop - phase))
        if to <= u:
            to = min(u1, u + 1e-15 * (w + abs(row[START]) + u))
        total += steps[k, 1] * _ratio(row, u, to)
        u = to
    return total


@kernel
def _gain(steps: Any, places: Any, w: float, row: Any, u0: float, u1: float) -> Any:
    """The integral of (2 cover / width - 1) times v over the part (u0, u1) of a piece: what present labels add."""
    if row[WIDTH0] == row[WIDTH1]:
        slope = 2 * (row[COVER1] - row[COVER0]) / row[SPAN] / row[WIDTH0]
        start = 2 * row[COVER0] / row[WIDTH0] - 1
        return _linear(steps, places, w, row[START] + u0, row[START] + u1, start + slope * u0, slope)
    whole = _linear(steps, places, w, row[START] + u0, row[START] + u1, 1.0, 0.0)
    return 2 * _share(steps, places, w, row, u0, u1) - whole


@kernel
def _meeting(steps: Any, w: float) -> Any:
    """The chance that any segment overlaps an event."""
    total = 0.0
    for k in range(steps.shape[0]):
        end = steps[k + 1, 0] if k + 1 < steps.shape[0] else w
        if steps[k, 1] > 0.0:
            total += end - steps[k, 0]
    return total / w


@kernel
def at_criteria(
    bounds: Any, starts: Any, lengths: Any, w: float, mode: int, criteria: Any, raw: Any, base: Any, rows: Any,
    means: bool,
) -> Any:  # fmt: skip
    """The measures of every recording for sorted criteria, with means if they are asked for; back come where each
    recording's pieces begin in ``rows``, and the weights of :func:`folded`, of no recording without means."""
    first = sweep.sweep(bounds, starts, lengths, w, mode, criteria, raw, base, rows)
    if not means:
        return first, folded(rows[:0], first[:1], w)
    weights = folded(rows[: first[-1]], first, w)
    _means(rows[: first[-1]], first, w, weights, criteria, raw, base)
    return first, weights


@kernel
def _means(rows: Any, first: Any, w: float, weights: Any, criteria: Any, raw: Any, base: Any) -> None:
    """The means of every recording for sorted criteria, and the chance of any overlap, into ``raw`` and ``base``.

    A piece adds its whole gain below its event fractions; between them, that of its part up to where its fraction
    passes the criterion.
    """
    limits, table, gammas = criteria
    n_criteria = limits.shape[0]
    wholes, parts = np.zeros((n_criteria + 1, 2)), np.zeros((n_criteria + 1, 2))
    for r in range(first.shape[0] - 1):
        steps, places = _own(weights, r)
        turn = _upto(steps, places, w, w)
        absent, absent_flat = 0.0, 0.0
        for i in range(first[r], first[r + 1]):
            row = rows[i]
            span, h0, h1, w0 = row[SPAN], row[FRACTION0], row[FRACTION1], row[WIDTH0]
            straight = w0 == row[WIDTH1]
            start, slope = 2 * row[COVER0] / w0 - 1, 2 * (row[COVER1] - row[COVER0]) / span / w0
            phase = _phase(row[START], w)
            before = _upto(steps, places, w, phase)
            if span > w and slope == 0.0:  # one event fills the window
                v, m = _linear(steps, places, w, row[START], row[START] + span, 1.0, 0.0), 0.0
            else:
                v, m = _along(steps, places, w, phase, before, turn, span)
            gain, flat = start * v + slope * m, (start + slope * span / 2) * span
            if not straight:
                gain = 2 * _share(steps, places, w, row, 0.0, span) - v
                flat = 2 * _ratio(row, 0.0, span) - span
            absent += (v - gain) / 2
            absent_flat += (span - flat) / 2
            up = h1 > h0
            low, top = satisfied(min(h0, h1), limits, table), satisfied(max(h0, h1), limits, table)
            wholes[low, 0] += gain
            wholes[low, 1] += flat
            rate = span / (h1 - h0) if h1 != h0 else 0.0
            share, ratio, done = 0.0, 0.0, 0.0
            for q in range(top - low):
                k = low + q if up else top - 1 - q  # in the order of time
                u = min(max(rate * (gammas[k] - h0), 0.0), span)
                v, m = _along(steps, places, w, phase, before, turn, u)
                part, flat_part = start * v + slope * m, (start + slope * u / 2) * u
                if not straight:
                    share += _share(steps, places, w, row, done, u)
                    ratio += _ratio(row, done, u)
                    done = u
                    part, flat_part = 2 * share - v, 2 * ratio - u
                parts[k, 0] += gain - part if up else part
                parts[k, 1] += flat - flat_part if up else flat_part
        base[r, col.N_MEETING] = _meeting(steps, w) if first[r + 1] > first[r] else 0.0
        gain, flat = 0.0, 0.0
        for k in range(n_criteria - 1, -1, -1):
            gain += wholes[k + 1, 0]
            flat += wholes[k + 1, 1]
            raw[r, k, col.MEAN] = (absent + gain + parts[k, 0]) / w
            raw[r, k, col.FIT] = (absent_flat + flat + parts[k, 1]) / w
        wholes[:, :] = 0.0
        parts[:, :] = 0.0


@kernel
def with_spans(rows: Any, first: Any, w: float, weights: Any, spans: Any, at: Any, raw: Any) -> None:
    """What labels add to all absent ones where the present window starts are given: sorted disjoint ``spans`` per
    recording, which begin at ``at``."""
    means = weights[1].shape[0] > 1
    for r in range(first.shape[0] - 1):
        k = at[r]
        length, cover, width, mean, fit = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(first[r], first[r + 1]):
            s, span = rows[i, START], rows[i, SPAN]
            c0, c1, w0, w1 = rows[i, COVER0], rows[i, COVER1], rows[i, WIDTH0], rows[i, WIDTH1]
            while k < at[r + 1] and spans[k, 1] <= s:
                k += 1
            m = k
            while m < at[r + 1] and spans[m, 0] < s + span:
                u, v = max(s, spans[m, 0]) - s, min(s + span, spans[m, 1]) - s
                if v > u:
                    middle = (u + v) / 2 / span
                    length += v - u
                    cover += (v - u) * (c0 + middle * (c1 - c0))
                    width += (v - u) * (w0 + middle * (w1 - w0))
                    if means:
                        steps, places = _own(weights, r)
                        mean += _gain(steps, places, w, rows[i], u, v)
                        fit += 2 * _ratio(rows[i], u, v) - (v - u)
                m += 1
        _keep(raw[r], w, length, cover, width, mean, fit)


@kernel
def with_law(rows: Any, first: Any, w: float, weights: Any, law: Any, raw: Any) -> None:
    """The same where P(present | largest event fraction) is given as polynomials on panels: ``law`` is (edges, table,
    nodes and weights on (0, 1)). Between the steps of v and the edges of panels everything is smooth."""
    edges, table, nodes, masses = law
    means = weights[1].shape[0] > 1
    for r in range(first.shape[0] - 1):
        length, cover, width, mean, fit = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(first[r], first[r + 1]):
            row = rows[i]
            h0, h1, span, x = row[FRACTION0], row[FRACTION1], row[SPAN], 0.0
            if h0 == h1:  # also the long ones: an event that fills the window
                chance, x = chance_at(h0, edges, table), span
                length += chance * span
                cover += chance * span * (row[COVER0] + row[COVER1]) / 2
                width += chance * span * (row[WIDTH0] + row[WIDTH1]) / 2
                if means:
                    steps, places = _own(weights, r)
                    mean += chance * _gain(steps, places, w, row, 0.0, span)
                    fit += chance * (2 * _ratio(row, 0.0, span) - span)
            p, q = 0.0, 0.0  # the integrals of P, and of P times the way along the piece
            while x < span:
                y, v = min(span, span * panel_end(x / span, h0, h1, edges)), 0.0
                if means:
                    steps, places = _own(weights, r)
                    phase = _phase(row[START] + x, w)
                    k = _step(steps, places, w, phase)
                    stop, v = steps[k + 1, 0] if k + 1 < steps.shape[0] else w, steps[k, 1]
                    y = min(y, x + stop - phase)
                if y <= x:
                    y = min(span, x + 1e-12 * w)
                for j in range(nodes.shape[0]):
                    t = (x + (y - x) * nodes[j]) / span
                    chance = (y - x) * masses[j] * chance_at(h0 + t * (h1 - h0), edges, table)
                    p += chance
                    q += chance * t
                    counted = row[WIDTH0] + t * (row[WIDTH1] - row[WIDTH0])
                    if means and counted > 0.0:  # a piece that ends with the recording may round to no width
                        share = 2 * (row[COVER0] + t * (row[COVER1] - row[COVER0])) / counted - 1
                        mean += v * chance * share
                        fit += chance * share
                x = y
            length += p
            cover += p * row[COVER0] + q * (row[COVER1] - row[COVER0])
            width += p * row[WIDTH0] + q * (row[WIDTH1] - row[WIDTH0])
        _keep(raw[r], w, length, cover, width, mean, fit)


@kernel
def _keep(raw: Any, w: float, length: float, cover: float, width: float, mean: float, fit: float) -> None:
    """The integrals over window starts of a recording as its measures."""
    raw[col.TP], raw[col.FP], raw[col.N_PRESENT] = cover / w, (width - cover) / w, length / w
    raw[col.MEAN], raw[col.FIT] = mean / w, fit / w


@kernel
def panel_end(at: float, h0: float, h1: float, edges: Any) -> float:
    """How far along (0, 1) from h0 to h1 the panel that holds the point ``at`` reaches."""
    h = h0 + at * (h1 - h0)
    if h1 > h0:
        k = count_up_to(edges, h + 1e-12)
        to = (edges[k] - h0) / (h1 - h0) if k < edges.shape[0] else 1.0
    else:
        k = count_up_to(edges, h - 1e-12) - 1
        to = (edges[k] - h0) / (h1 - h0) if k >= 0 else 1.0
    return 1.0 if to >= 1.0 - 1e-12 or to <= at else to
