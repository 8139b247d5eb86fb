r"""The chance that an event is found, **by the one definition of event recall**: at least one segment in which the rule
is satisfied on the event (for at least one voter of a panel) is labelled present.

Every voter keeps one criterion, drawn from the law G, over all segments; given the criteria, answers of different
segments are independent. In a segment with largest event fraction H each voter's criterion is met with chance G(H), and
the label is present with chance ``chances[m]`` where m criteria are met (:attr:`weakly.Annotator.label_chances`). One
annotator is a panel of one. Expectations over the criteria go through the sorted fractions once: m is a pure-birth
chain in the level G, so nothing is drawn and nothing is approximated.

Guesses on segments that meet the event without satisfying the rule do not find it. Where a cell needs several
overlapping windows, so many of the windows that satisfy the rule on the event must be present.
"""

from __future__ import annotations

from math import pow
from typing import Any

import numpy as np

from ..base.compiled import count_up_to, kernel, sort_together
from .annotator import Annotator
from .answer_model import AnswerModel, Floats
from .criterion_law import law_integrals


@kernel
def _order(values: Any) -> Any:
    """Positions of the values from the smallest to the largest."""
    order = np.empty(values.shape[0], np.int64)
    for k in range(values.shape[0]):
        order[k] = k
    sort_together(values.copy(), order)
    return order


@kernel
def _power(x: float, n: int) -> float:
    """x to the n-th, n whole and not negative: by products, so that Python gives the same bits."""
    product = 1.0
    while n > 0:
        if n % 2 == 1:
            product *= x
        n, x = n // 2, x * x
    return product


@kernel
def _rise(state: Any, before: float, after: float) -> None:
    """Move the chances over m (first axis of ``state``) from one level of the law of criteria to a higher one."""
    k = state.shape[0] - 1
    if after <= before:
        return
    rate = min(1.0, (after - before) / (1 - before)) if before < 1 else 1.0
    if k == 1:  # what follows, without its powers
        for v in range(state.shape[1]):
            state[1, v] += state[0, v] * rate
            state[0, v] *= 1 - rate
        return
    for m in range(k, -1, -1):  # from above: state[m] gathers from those below, which are still as they were
        stay, ways = _power(1 - rate, k - m), 1.0
        for v in range(state.shape[1]):
            state[m, v] *= stay
        for up in range(1, m + 1):  # `up` of the k - m + up voters that were not met rise
            ways, rise = ways * (k - m + up) / up, _power(rate, up)
            for v in range(state.shape[1]):
                state[m, v] += state[m - up, v] * ways * rise * stay


@kernel
def _answer(state: Any, chances: Any, count: float) -> None:
    """``count`` segments at the present level answer: the second axis is the number of present labels, up to full."""
    full = state.shape[1]
    for m in range(state.shape[0]):
        p = chances[m]
        if full == 1:
            state[m, 0] *= 1 - p if count == 1.0 else pow(1 - p, count)
            continue
        for v in range(full - 1, -1, -1):
            total, law = 0.0, pow(1 - p, count)
            for up in range(min(v, int(count)) + 1):
                total += state[m, v - up] * law
                law = law * (count - up) / (up + 1) * p / (1 - p) if p < 1 else (1.0 if up + 1 == count else 0.0)
            state[m, v] = total


@kernel
def found(own: Any, best: Any, count: Any, chances: Any, votes: Any) -> float:
    """The chance that an event is found. Per kind of segment: G of the event's fraction in it and of the largest
    fraction in it, how many such segments there are, and how many present labels are needed of those in which the
    fraction is at least as large (0: they do not suffice)."""
    k = chances.shape[0] - 1
    by_own, by_best = _order(own), _order(best)
    total, below = 0.0, 0.0
    for i in by_own:  # the smallest criterion lies between the fraction before and this one
        level = own[i]
        if level <= below or votes[i] == 0:
            below = max(below, level)
            continue
        state = np.zeros((k + 1, votes[i]))
        state[0, 0] = _power(1 - below, k)
        _rise(state, below, level)
        state[0, 0] = 0.0
        reached = 0.0
        for m in range(1, k + 1):
            reached += state[m, 0]
        at = level
        for j in by_best:
            if own[j] >= level and count[j] > 0:
                _rise(state, at, best[j])
                at = max(at, best[j])
                _answer(state, chances, count[j])
        missed = 0.0
        for m in range(1, k + 1):
            for v in range(votes[i]):
                missed += state[m, v]
        total += reached - missed
        below = level
    return total


@kernel
def found_each(own: Any, best: Any, count: Any, chances: Any) -> Any:
    """:func:`found` for each row, where one present label is enough."""
    out, ones = np.empty(own.shape[0]), np.empty(own.shape[1], np.int64)
    ones[:] = 1
    for e in range(own.shape[0]):
        same = e > 0  # as the row before, which is common where one criterion is met or not
        for k in range(own.shape[1]):
            same = (
                same and own[e, k] == own[e - 1, k] and best[e, k] == best[e - 1, k] and count[e, k] == count[e - 1, k]
            )
        out[e] = out[e - 1] if same else found(own[e], best[e], count[e], chances, ones)
    return out


@kernel
def cell(best: Any, chances: Any, need: int) -> float:
    """The chance that at least ``need`` of the windows over a cell are labelled present, from G of their largest event
    fractions in rising order."""
    if need <= 0:
        return 1.0
    state = np.zeros((chances.shape[0], need))
    state[0, 0] = 1.0
    at = 0.0
    for j in range(best.shape[0]):
        _rise(state, at, best[j])
        at = max(at, best[j])
        _answer(state, chances, 1.0)
    absent = 0.0
    for m in range(state.shape[0]):
        for v in range(need):
            absent += state[m, v]
    return 1.0 - absent


@kernel
def value(h: float, edges: Any, table: Any) -> float:
    """The law at event fraction h, from its polynomials (:meth:`weakly.model.criterion_law.LawTable.table`)."""
    low = count_up_to(edges[1:-1], h)  # of the inner edges
    u = 2 * (min(max(h, 0.0), 1.0) - edges[low]) / (edges[low + 1] - edges[low]) - 1
    total = 0.0
    for i in range(table.shape[1] - 1, -1, -1):
        total = total * u + table[low, i]
    return min(max(total, 0.0), 1.0)


@kernel
def _piece(s: float, rows: Any) -> Any:
    """The last of the sorted pieces that begins at s or before; the first if none does."""
    return max(count_up_to(rows[:, 0], s) - 1, 0)


@kernel
def _largest(s: float, rows: Any) -> float:
    """The largest event fraction of the window that starts at s, from the pieces of a sweep; 0 where none meets it."""
    i = _piece(s, rows)
    if s < rows[i, 0] or s > rows[i, 0] + rows[i, 1]:
        return 0.0
    along = (s - rows[i, 0]) / rows[i, 1]
    return float(rows[i, 2] + along * (rows[i, 3] - rows[i, 2]))


@kernel
def _segments(s: float, a: float, b: float, w: float, bounds: Any, rows: Any, out: Any) -> None:
    """Windows s, s + w, ... that meet the event (a, b): rows (own, best, count) of the first, the last, those between;
    only windows that start within ``bounds`` count."""
    d = b - a
    n = max(1, int(np.ceil((b - s) / w - 1e-12)))
    end = s + (n - 1) * w
    out[0, 0] = min(1.0, (min(b, s + w) - a) / d)
    out[0, 2] = 1.0 if bounds[0] <= s <= bounds[1] else 0.0
    out[1, 0] = min(1.0, max(0.0, (b - end) / d)) if n > 1 else 0.0
    out[1, 2] = 1.0 if n > 1 and bounds[0] <= end <= bounds[1] else 0.0
    out[2, 0], out[2, 2] = min(1.0, w / d), max(0.0, n - 2.0)
    for i in range(3):
        out[i, 0] = 0.0 if out[i, 2] == 0.0 else out[i, 0]
        out[i, 1] = out[i, 0]
    if rows.shape[0] > 0:
        circle = bounds[2]  # its pieces lie within one turn
        for i, x in ((0, s), (1, end)):
            at = x if circle == 0.0 else x - np.floor(x / circle) * circle
            if out[i, 2] > 0.0:
                out[i, 1] = max(out[i, 0], min(1.0, _largest(at, rows)))


@kernel
def _cuts(a: float, b: float, w: float, bounds: Any, rows: Any, edges: Any) -> Any:
    """The starts of the first window that meets (a, b) at which some event fraction bends or the law of criteria has a
    panel's edge, in order."""
    start, d, n = a - w, b - a, rows.shape[0]
    turns = 1 if bounds[2] > 0.0 and n > 0 else 0
    out = np.empty(2 * edges.shape[0] + 5 + 4 * n * (1 + 2 * turns))
    out[0], out[1], out[2], out[3], out[4] = start, a, b, bounds[0], bounds[1]
    g = 5
    for x in edges:
        out[g], out[g + 1] = start + x * d, b - x * d
        g += 2
    for turn in range(-turns, turns + 1):
        shift = turn * bounds[2]
        for low in (a - w, b - w):
            i = _piece(low - shift, rows) if n > 0 else 0
            while i < n and rows[i, 0] + shift < low + w:
                out[g], out[g + 1] = rows[i, 0] + shift, rows[i, 0] + rows[i, 1] + shift
                g += 2
                i += 1
    m = 2  # the first two are the ends
    for i in range(2, g):
        if np.isfinite(out[i]):
            out[m] = out[i] - np.floor((out[i] - start) / w) * w
            m += 1
    sort_together(out[:m], np.empty(m))
    return out[:m]


@kernel
def _cross(x: float, y: float, out: Any, n: int) -> int:
    """The next free place of ``out``: the zero on (0, 1) of a line from x to y, if it has one, is written at n."""
    if x * y < 0.0:
        out[n] = x / (x - y)
        n += 1
    return n


@kernel
def found_at_random(events: Any, w: float, bounds: Any, owner: Any, pieces: Any, law: Any) -> Any:
    """The chance per event that it is found on a grid of windows of length w with a uniform phase.

    ``bounds`` (n, 3): the first and last start that a window may have, and the length of the circle or 0. ``owner``:
    the recording of each event. ``pieces``: rows (start, length, largest fraction at both ends) of the windows' starts
    in every recording, and where each recording's begin; no rows for events that are alone. ``law``: (edges, table,
    label chances, nodes, weights). Between the phases at which a fraction passes a panel's edge or another fraction,
    everything is smooth: a few nodes integrate it.
    """
    (every, first), (edges, table, chances, nodes, weights) = pieces, law
    out = np.zeros(events.shape[0])
    here, left, right = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    own, best, ones = np.zeros(3), np.zeros(3), np.empty(3, np.int64)
    ones[:] = 1
    for e in range(events.shape[0]):
        a, b, rows = events[e, 0], events[e, 1], every[first[owner[e]] : first[owner[e] + 1]]
        cuts = _cuts(a, b, w, bounds[e], rows, edges)
        for i in range(cuts.shape[0] - 1):
            s, step = cuts[i], cuts[i + 1] - cuts[i]
            if step <= 1e-13 * w:
                continue
            # Fractions are linear in here: split where two of them cross, and where the largest passes a panel's edge.
            _segments(s + 1e-9 * step, a, b, w, bounds[e], rows, left)
            _segments(s + (1 - 1e-9) * step, a, b, w, bounds[e], rows, right)
            inner = np.empty(20 + 2 * edges.shape[0])
            inner[0], inner[1] = 0.0, 1.0
            n = 2
            for p in range(6):
                for q in range(p):
                    before, after = left[p // 2, p % 2], right[p // 2, p % 2]
                    n = _cross(before - left[q // 2, q % 2], after - right[q // 2, q % 2], inner, n)
            for p in range(2):
                if left[p, 1] != left[p, 0] or right[p, 1] != right[p, 0]:
                    for edge in edges:
                        n = _cross(left[p, 1] - edge, right[p, 1] - edge, inner, n)
            sort_together(inner[:n], np.empty(n))
            for c in range(n - 1):
                span = (inner[c + 1] - inner[c]) * step
                if span <= 1e-14 * w:
                    continue
                for q in range(nodes.shape[0]):
                    _segments(s + inner[c] * step + span * nodes[q], a, b, w, bounds[e], rows, here)
                    for p in range(3):
                        some = here[p, 2] > 0.0
                        own[p] = value(here[p, 0], edges, table) if some else 0.0
                        best[p] = value(here[p, 1], edges, table) if some else 0.0
                    out[e] += span / w * weights[q] * found(own, best, here[:, 2], chances, ones)
    return out


def _chances(who: AnswerModel) -> Floats:
    return np.array([0.0, 1.0]) if who.annotator is None else who.annotator.label_chances


def detection_on_grid(who: AnswerModel, own: Any, best: Any, count: Any) -> Floats:
    """The chance that each event is found, from the segments that meet it: per event (rows) and kind of segment
    (columns) the event's fraction in it, the largest fraction in it, and how many such segments there are."""
    met = who.probability if who.annotator is None else who.annotator.criterion_cdf
    own, best, count = (np.asarray(x, dtype=np.float64) for x in (own, best, count))
    law = np.where(count > 0, met(np.minimum(1.0, own)), 0.0)
    largest, more = law.copy(), (count > 0) & (best != own)  # an event that is alone is the largest
    largest[more] = met(np.minimum(1.0, best[more]))
    return np.asarray(found_each(law, largest, count, _chances(who)))


def detection_at_random(
    who: AnswerModel,
    event_length: Any,
    segment_length: Any,
    *,
    onset: Any = 0.0,
    starts: Any = None,
    largest: Any = None,
) -> Floats:
    r"""The chance that an event is found on a grid of segments with a uniform phase. Arrays broadcast.

    Where n segments or one more satisfy the rule on the event, each present with chance p, it is
    :math:`1 - (1-p)^n (1 - rp)`; linear in the criterion between a few bends, so that a law of criteria integrates
    by parts. Panels of voters with their own criteria go through :func:`found_at_random`.

    >>> panel = AnswerModel.of(annotator=Annotator.beta(1, 9, lapse_rate=0.4, votes=(2, 5)))
    >>> round(detection_at_random(panel, 5.0, 0.5).item(), 3)
    0.919

    Parameters
    ----------
    onset : where events begin, if ``starts`` matters.
    starts : (low, high), the first and last start that a segment may have; left out, any.
    largest : the largest event fractions of windows, (rows, first, owner, circle) of :func:`found_at_random`; left
        out, each event is alone.
    """
    d, q, a = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (event_length, segment_length, onset)))
    low, high = (np.broadcast_to(x, d.shape) for x in ((-np.inf, np.inf) if starts is None else starts))
    if who.rule is not None or who.criterion is not None or who.single is not None:
        need = who.required_overlap(event_length=d, segment_length=q)
        finite = np.where(np.isfinite(need), need, 0.0)
        span = np.minimum(a + d - finite, high) - np.maximum(a - q + finite, low)
        return np.where(np.isfinite(need), _some(span / q, _chances(who)[-1]), 0.0)
    assert who.annotator is not None
    if who.annotator.votes is None or (largest is None and who.is_noiseless):
        return _integrated(who.annotator, a, d, q, low, high)
    nodes, weights = np.polynomial.legendre.leggauss(10)
    panels = who.annotator.panels
    law = (panels.edges, panels.table(who.annotator.criterion_cdf), _chances(who), (1 + nodes) / 2, weights / 2)
    rows, first, owner, circle = largest or (np.empty((0, 4)), np.zeros(2, np.int64), np.zeros(d.size, np.int64), 0)
    circle = np.broadcast_to(np.asarray(circle, dtype=np.float64), d.shape)
    events = np.column_stack((a.ravel(), (a + d).ravel()))
    bounds = np.column_stack((low.ravel(), high.ravel(), circle.ravel()))
    out, widths = np.empty(d.size), q.ravel()
    for width in np.unique(widths):
        at = widths == width
        out[at] = found_at_random(events[at], float(width), bounds[at], owner[at], (rows, first), law)
    return out.reshape(d.shape)


def _some(n: Floats, p: float) -> Floats:
    """The chance that one of n segments is present, where n is a whole number or one more in the mean."""
    n = np.maximum(0.0, n)
    whole = np.floor(n)
    return np.asarray(1 - (1 - p) ** whole * (1 - (n - whole) * p), dtype=np.float64)


def _integrated(annotator: Annotator, a: Floats, d: Floats, q: Floats, low: Floats, high: Floats) -> Floats:
    """The same where one criterion with a law decides, that of one annotator or of a vote without noise about an event
    that is alone: by parts over the criteria between bends."""
    p = float(annotator.label_chances[-1])
    shape, (a, d, q, low, high) = d.shape, (x.reshape(-1, 1) for x in (a, d, q, low, high))
    b, cap = a + d, np.minimum(1.0, q / d)

    def span(g: Floats) -> Floats:
        return np.asarray((np.minimum(b - g * d, high) - np.maximum(a - q + g * d, low)) / q)

    bends = np.column_stack((np.zeros_like(d), (low - a + q) / d, (b - high) / d, cap))
    bends = np.sort(np.clip(bends, 0.0, cap), axis=1)
    most = int(min(60, np.ceil(span(np.zeros_like(d)).max(initial=1.0)) + 1))
    points = [bends]
    for k in range(3):  # windows fall out one by one as the criterion rises; beyond the first few nothing changes
        g0, g1 = bends[:, k : k + 1], bends[:, k + 1 : k + 2]
        s0, s1 = span(g0), span(g1)
        levels = np.floor(s0) - np.arange(most) if p >= 1 else np.maximum(np.ceil(s1), 1) + np.arange(-1, most)
        inside = (levels > s1) & (levels < s0)
        points.append(np.where(inside, g0 + (s0 - levels) / np.where(s0 > s1, s0 - s1, 1.0) * (g1 - g0), g0))
    g = np.sort(np.concatenate(points, axis=1), axis=1)
    g0, g1 = g[:, :-1], g[:, 1:]
    whole = np.floor(np.maximum(0.0, span((g0 + g1) / 2)))

    def answered(at: Floats) -> Floats:
        rest = np.clip(span(at) - whole, 0.0, 1.0)
        return np.asarray(1 - (1 - p) ** whole * (1 - rest * p))

    f0, f1 = answered(g0), answered(g1)
    slope = np.divide(f1 - f0, g1 - g0, out=np.zeros_like(g0), where=g1 > g0)
    met, law, is_vote = annotator.voted_cdf(g), annotator.presence_criterion, annotator.votes is not None
    area = annotator.panels.integrals(annotator.voted_cdf, g)[0] if is_vote else law_integrals(law, g)[0]
    parts = f1 * met[:, 1:] - f0 * met[:, :-1] - slope * np.diff(area, axis=1)
    total = np.where(g1 > g0, parts, 0.0).sum(axis=1) + met[:, 0] * f0[:, 0]
    return np.asarray(total, dtype=np.float64).reshape(shape)
