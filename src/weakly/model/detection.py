"""The chance that an event is found, **by the one definition of event recall**: at least one segment in which the rule
is satisfied on the event (for at least one voter of a panel) is labelled present.

Answers of different segments are independent given the annotators' criteria, which each keeps over all segments; panels
of voters go through :mod:`weakly.model.crowd`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .annotator import Annotator
from .answer_model import AnswerModel, Floats
from .crowd import found_at_random, found_each


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
    *,
    event_length: Any,
    segment_length: Any,
    onset: Any = 0.0,
    starts: Any = None,
    largest: Any = None,
) -> Floats:
    r"""The chance that an event is found on a grid of segments with a uniform phase. Arrays broadcast.

    Where n segments or one more satisfy the rule on the event, each present with chance p, it is
    :math:`1 - (1-p)^n (1 - rp)`; linear in the criterion between a few bends, so that a law of criteria integrates
    by parts. Panels of voters with their own criteria go through :func:`weakly.model.crowd.found_at_random`.

    >>> panel = AnswerModel.of(annotator=Annotator.beta(1, 9, lapse_rate=0.4, votes=(2, 5)))
    >>> round(detection_at_random(panel, event_length=5.0, segment_length=0.5).item(), 3)
    0.919

    Parameters
    ----------
    onset : where events begin, if ``starts`` matters.
    starts : (low, high), the first and last start that a segment may have; left out, any.
    largest : the largest event fractions of windows, (rows, first, owner, circle) of
        :func:`weakly.model.crowd.found_at_random`; left out, each event is alone.
    """
    d, q, a = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (event_length, segment_length, onset)))
    low, high = (np.broadcast_to(x, d.shape) for x in ((-np.inf, np.inf) if starts is None else starts))
    if who.rule is not None or who.criterion is not None or who.single is not None:
        need = who.required_overlap(event_length=d, segment_length=q)
        finite = np.where(np.isfinite(need), need, 0.0)
        span = np.minimum(a + d - finite, high) - np.maximum(a - q + finite, low)
        return np.where(np.isfinite(need), _some(span / q, _chances(who)[-1]), 0.0)
    assert who.annotator is not None
    if who.annotator.votes is not None:
        return _panel_at_random(who, a, d, q, low, high, largest)
    return _integrated(who.annotator, a, d, q, low, high)


def _panel_at_random(
    who: AnswerModel, a: Floats, d: Floats, q: Floats, low: Floats, high: Floats, largest: Any
) -> Floats:
    assert who.annotator is not None
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
        out[at] = found_at_random(events[at], float(width), bounds[at], rows, first, owner[at], *law)
    return out.reshape(d.shape)


def _some(n: Floats, p: float) -> Floats:
    """The chance that one of n segments is present, where n is a whole number or one more in the mean."""
    n = np.maximum(0.0, n)
    whole = np.floor(n)
    return np.asarray(1 - (1 - p) ** whole * (1 - (n - whole) * p), dtype=np.float64)


def _integrated(annotator: Annotator, a: Floats, d: Floats, q: Floats, low: Floats, high: Floats) -> Floats:
    """The same for one annotator whose criterion has a law: by parts over the criteria between bends."""
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
        part = np.clip(span(at) - whole, 0.0, 1.0)
        return np.asarray(1 - (1 - p) ** whole * (1 - part * p))

    f0, f1 = answered(g0), answered(g1)
    slope = np.divide(f1 - f0, g1 - g0, out=np.zeros_like(g0), where=g1 > g0)
    met, area = annotator.criterion_cdf(g), annotator.criterion_integrals(g)[0]
    parts = f1 * met[:, 1:] - f0 * met[:, :-1] - slope * np.diff(area, axis=1)
    total = np.where(g1 > g0, parts, 0.0).sum(axis=1) + met[:, 0] * f0[:, 0]
    return np.asarray(total, dtype=np.float64).reshape(shape)
