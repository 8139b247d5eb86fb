"""From an event fraction to the chance of a present label, and to the chance that an event is noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import TIE, Annotator

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Chance:
    """P(present | score) for scores in [0, 1], with its value ``low`` where no event is and ``high`` at 1.

    The rise from low to high is the law of the criterion; ``high`` is the chance of a present answer where the
    criterion is met. ``criterion`` is the one criterion, or None if it has a law, kept as a spline.
    """

    probability: Callable[[Array], Array]
    met: Callable[[Array], Array]  # the chance that the criterion is met at this score
    low: float
    high: float
    criterion: float | None = None
    law: Any = None

    @classmethod
    def certain(cls) -> Chance:
        """The score is the answer: 1 present, 0 absent."""
        return cls(lambda score: score, lambda score: score, 0.0, 1.0)

    @classmethod
    def of(cls, annotator: Annotator) -> Chance:
        """The chance that this annotator, or this group of annotators, says present."""
        low, high = (float(value) for value in annotator.probability(np.array([0.0, 1.0])))

        def met(score: Array) -> Array:
            if abs(high - low) < 1e-9:  # the answer says nothing of the criterion
                return annotator.criterion_cdf(score)
            return np.clip((annotator.probability(score) - low) / (high - low), 0.0, 1.0)

        law = annotator.presence_criterion
        if isinstance(law, float):
            return cls(annotator.probability, met, low, high, criterion=law)
        return cls(annotator.probability, met, low, high, law=law)

    @cached_property
    def spline(self) -> Any:
        """``met`` as a cubic spline with knots where the law has its mass, so that its integrals are at hand."""
        from scipy.interpolate import CubicSpline

        shares = np.sin(np.linspace(0, np.pi / 2, 1025)) ** 2
        knots = np.concatenate((np.linspace(0, 1, 2049), np.asarray(self.law.ppf(shares[1:-1]), dtype=np.float64)))
        knots = np.unique(knots[(knots >= 0) & (knots <= 1)])
        knots = knots[np.append(np.diff(knots) > 1e-6, True)]
        return CubicSpline(knots, self.met(knots))

    def met_area(self, score: Array) -> Array:
        """The integral of ``met`` from 0 to the score."""
        if self.criterion is not None:
            return np.maximum(0.0, score - self.criterion)
        return np.asarray(self.spline.antiderivative()(score), dtype=np.float64)

    def moments(self, h0: Array, h1: Array) -> tuple[Array, Array]:
        """The integrals of P(h) and of (h - h0) P(h) over (h0, h1)."""
        step, rise = h1 - h0, self.high - self.low
        if self.criterion is not None:
            jump = np.clip(self.criterion, h0, h1)
            area, moment = h1 - jump, (step**2 - (jump - h0) ** 2) / 2
        else:
            once = self.spline.antiderivative()
            twice = once.antiderivative()
            area = once(h1) - once(h0)
            moment = step * once(h1) - (twice(h1) - twice(h0))
            short = step < 1e-3  # differences of integrals would lose digits
            nodes, weights = np.polynomial.legendre.leggauss(4)
            t = (1 + nodes) / 2
            values = self.spline(h0[short, None] + step[short, None] * t) * weights / 2
            area[short] = step[short] * values.sum(axis=1)
            moment[short] = step[short] ** 2 * (values * t).sum(axis=1)
        return self.low * step + rise * area, self.low * step**2 / 2 + rise * moment

    def criteria(self, n: int = 256) -> tuple[Array, Array]:
        """Criteria and weights whose mixture stands for the law of the criterion (one criterion stays one)."""
        if self.criterion is not None:
            return np.array([self.criterion]), np.ones(1)
        nodes, weights = 2 * (np.arange(n) + 0.5) / n - 1, np.full(n, 2 / n)
        knots = self.spline.x
        met = np.maximum.accumulate(self.met(knots))
        keep = np.concatenate(([True], np.diff(met) > 0))
        return np.clip(np.interp((1 + nodes) / 2, met[keep], knots[keep]), 1e-12, 1.0), weights / 2

    def noticed(self, events: Array) -> Array:
        """The chance that at least one segment in which the criterion is met is answered present, per event.

        Rows of ``events``: score in the first and in the last segment, number of segments between, their score. One
        criterion serves all segments of an event; answers beyond it are independent between segments.
        """
        first, last, between, middle = events.T
        counts = np.column_stack((np.ones_like(first), np.ones_like(first), between))
        scores = np.column_stack((first, last, middle))
        order = np.argsort(-scores, axis=1)
        counts, scores = np.take_along_axis(counts, order, 1), np.take_along_axis(scores, order, 1)
        met = self.met(scores)
        answered = 1 - (1 - self.high) ** np.cumsum(counts, axis=1)
        steps = met - np.column_stack((met[:, 1:], np.zeros(len(met))))
        return np.asarray((steps * answered).sum(axis=1), dtype=np.float64)

    def noticed_at_random(self, a: Array, b: Array, w: float, low: Array, high: Array) -> Array:
        """The same under a random phase, for events (a, b) and windows that must start within (low, high).

        A criterion g is met by windows that start in :math:`(a - w + g d, b - g d)`; some whole number n of them or one
        more fit, so the chance of an answer is linear in g between a few bends and integrates by parts.
        """
        d = b - a
        cap = np.minimum(1.0, w / d)
        bends = np.column_stack((np.zeros_like(d), (low - a + w) / d, (b - high) / d, cap))
        bends = np.sort(np.clip(bends, 0.0, cap[:, None]), axis=1)

        def span(g: Array) -> Array:
            upper = np.minimum(b[:, None] - g * d[:, None], high[:, None])
            return (upper - np.maximum(a[:, None] - w + g * d[:, None], low[:, None])) / w

        points = [bends]
        for k in range(3):  # windows fall out one by one as the criterion rises
            g0, g1 = bends[:, k : k + 1], bends[:, k + 1 : k + 2]
            s0, s1 = span(g0), span(g1)
            levels = np.floor(s0) - np.arange(4)
            inside = (levels > s1) & (levels < s0)
            fall = np.where(s0 > s1, s0 - s1, 1.0)
            points.append(np.where(inside, g0 + (s0 - levels) / fall * (g1 - g0), g0))
        g = np.sort(np.concatenate(points, axis=1), axis=1)
        g0, g1 = g[:, :-1], g[:, 1:]
        whole = np.floor(np.maximum(0.0, span((g0 + g1) / 2)))

        def answered(at: Array) -> Array:
            part = np.clip(span(at) - whole, 0.0, 1.0)
            return 1 - (1 - self.high) ** whole * (1 - part * self.high)

        f0, f1 = answered(g0), answered(g1)
        slope = np.divide(f1 - f0, g1 - g0, out=np.zeros_like(g0), where=g1 > g0)
        parts = f1 * self._met(g1) - f0 * self._met(g0) - slope * (self.met_area(g1) - self.met_area(g0))
        return np.asarray(np.where(g1 > g0, parts, 0.0).sum(axis=1) + self._tie(g, answered), dtype=np.float64)

    def _met(self, g: Array) -> Array:
        return (g >= self.criterion).astype(np.float64) if self.criterion is not None else self.met(g)

    def _tie(self, g: Array, answered: Callable[[Array], Array]) -> Array:
        """A criterion that the longest overlap reaches but for rounding counts as met."""
        if self.criterion is None:
            return np.zeros(len(g))
        near = (g[:, -1] < self.criterion) & (g[:, -1] >= self.criterion * (1 - TIE))
        return np.where(near, answered(g[:, 1:])[:, -1], 0.0)
