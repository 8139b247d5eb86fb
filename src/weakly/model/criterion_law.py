r"""Laws of the presence criterion: the logistic curve, integrals of distribution functions, their one discretisation.

Expected times need :math:`\int_0^h G` and :math:`\int_0^h u G(u)\,du` of the law G of a criterion; compiled sums need
G as polynomials (:class:`LawTable`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Law(Protocol):
    """A law of numbers as scipy freezes it, ``scipy.stats.beta(2, 3)``."""

    def cdf(self, x: Any, /) -> Any:
        """P(at most x)."""

    def ppf(self, q: Any, /) -> Any:
        """The quantile of q."""

    def rvs(self, *, size: Any, random_state: Any) -> Any:
        """Random numbers."""


def logistic_cdf(event_fraction: ArrayLike, middle: ArrayLike, spread: ArrayLike) -> NDArray[np.float64]:
    r"""The logistic curve from 0 where nothing of an event is heard to 1 where all of it is; arrays broadcast.

    .. math:: G(h) = \frac{F(h) - F(0)}{F(1) - F(0)}
        = \frac{F(h)}{F(1)} \cdot \frac{1 - e^{-h/s}}{1 - e^{-1/s}}, \qquad F(h) = \frac{1}{1 + e^{-(h - x_0)/s}}
    """
    from scipy.special import expit

    h, x0, s = (np.asarray(x, dtype=np.float64) for x in (event_fraction, middle, spread))
    return np.asarray(expit((h - x0) / s) / expit((1 - x0) / s) * np.expm1(-h / s) / np.expm1(-1 / s))


@dataclass(frozen=True)
class Logistic:
    """The law of criteria on [0, 1] whose distribution function is :func:`logistic_cdf`: middle and spread."""

    middle: float
    spread: float

    @property
    def args(self) -> tuple[float, float]:
        """The numbers, as a law of scipy has them."""
        return self.middle, self.spread

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """What the curve without ends has below 0 and above 1."""
        from scipy.special import expit

        return float(expit(-self.middle / self.spread)), float(expit((self.middle - 1) / self.spread))

    def cdf(self, event_fraction: ArrayLike) -> NDArray[np.float64]:
        """The chance of a criterion up to here."""
        return logistic_cdf(np.clip(event_fraction, 0.0, 1.0), self.middle, self.spread)

    def ppf(self, level: ArrayLike) -> NDArray[np.float64]:
        """The criterion up to which this share of them lies."""
        (below, above), q = self._ends, np.asarray(level, dtype=np.float64)
        width = 1 - below - above
        with np.errstate(divide="ignore"):
            odds = np.log(below + q * width) - np.log(above + (1 - q) * width)
        return np.asarray(np.clip(self.middle + self.spread * odds, 0.0, 1.0))

    def mean(self) -> float:
        """The mean criterion."""
        return 1.0 - float(law_integrals(self, np.asarray(1.0))[0])


def law_integrals(law: Any, h: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r""":math:`\int_0^h G` and :math:`\int_0^h u G(u)\,du` of a law of criteria or one criterion.

    A fixed criterion, Beta and logistic laws in closed form, every other law by Gauss-Legendre quadrature.
    """
    if isinstance(law, float):
        rest = np.maximum(h - law, 0.0)
        return rest, rest * (h + law) / 2
    if isinstance(law, Logistic) and law.spread < 2:  # wider, the closed form loses digits
        (below, above), (area, moment) = law._ends, _logistic_integrals(h, law.middle, law.spread)
        width = 1 - below - above
        return (area - below * h) / width, (moment - below * h * h / 2) / width
    kind, shapes, loc, scale = law_parameters(law)
    if kind == "beta" and loc == 0 and scale == 1:
        from scipy.special import betainc

        a, b = shapes
        share = betainc(a, b, h)
        first = a / (a + b) * betainc(a + 1, b, h)
        second = a * (a + 1) / ((a + b) * (a + b + 1)) * betainc(a + 2, b, h)
        return h * share - first, (h * h * share - second) / 2
    if kind == "logistic":
        return _logistic_integrals(h, loc, scale)
    return LawTable.of(law).integrals(lambda u: np.asarray(law.cdf(u), dtype=np.float64), h)


def law_parameters(law: Any) -> tuple[str, tuple[float, ...], float, float]:
    """Name, shapes, location and scale of a frozen scipy law; an empty name for anything else."""
    maker = getattr(law, "dist", None)
    if maker is None or not hasattr(maker, "_parse_args"):
        return "", (), 0.0, 1.0
    parsed = maker._parse_args(*law.args, **law.kwds)
    shapes, loc = parsed[0], parsed[1]
    return maker.name, tuple(float(v) for v in shapes), float(loc), float(parsed[2]) if len(parsed) > 2 else 1.0


def _logistic_integrals(h: NDArray[np.float64], x0: float, s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    upper, lower = (h - x0) / s, -x0 / s
    area = s * (np.logaddexp(0, upper) - np.logaddexp(0, lower))
    inner = s * (s * (_dilog_of_minus_exp(np.asarray(lower)) - _dilog_of_minus_exp(upper)) - h * np.logaddexp(0, lower))
    return area, h * area - inner


def _dilog_of_minus_exp(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Li2(-e^x), by inversion where e^x would overflow."""
    from scipy.special import spence

    small = spence(1 + np.exp(-np.abs(x)))
    return np.where(x > 0, -(np.pi**2) / 6 - x * x / 2 - small, small)


#: Levels of a law's cdf and of its complement at which panels end: close to both tails, where a cdf bends most.
_LEVELS = 0.5 ** np.array([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 28, 33, 39])
_DEGREE = 11


@dataclass(frozen=True)
class LawTable:
    """The one discretisation of a law of criteria: panels of [0, 1] that end at its quantiles, where its cdf bends.

    On each panel a function of the event fraction is a polynomial of low degree to about 1e-12 (:meth:`table`), and
    Gauss-Legendre nodes integrate it (:meth:`integrals`).
    """

    edges: NDArray[np.float64]

    @classmethod
    def of(cls, law: Any) -> LawTable:
        levels = np.concatenate(([0.0], _LEVELS, 1 - _LEVELS, [1.0]))
        points = np.asarray(law.ppf(levels), dtype=np.float64)
        return cls(np.unique(np.concatenate(([0.0], points[(points > 0) & (points < 1)], [1.0]))))

    def table(self, function: Any) -> NDArray[np.float64]:
        """The function as polynomials, (panels, degree + 1): coefficients of powers of u in [-1, 1] on each panel."""
        from numpy.polynomial import chebyshev

        u = chebyshev.chebpts1(_DEGREE + 1)
        half = np.diff(self.edges)[:, None] / 2
        values = np.asarray(function(self.edges[:-1, None] + half * (1 + u)), dtype=np.float64)
        series = np.linalg.solve(chebyshev.chebvander(u, _DEGREE), values.T)
        powers = np.zeros((_DEGREE + 1, _DEGREE + 1))
        for i in range(_DEGREE + 1):
            powers[i, : i + 1] = chebyshev.cheb2poly(np.eye(i + 1)[i])
        return np.ascontiguousarray(series.T @ powers)

    def integrals(self, function: Any, h: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The integrals of the function, and of it times the event fraction, from zero to h."""
        nodes, weights = np.polynomial.legendre.leggauss(24)
        half = np.diff(self.edges)[:, None] / 2
        at = self.edges[:-1, None] + half * (1 + nodes)
        terms = half * weights * function(at)
        panel = np.clip(np.searchsorted(self.edges, h, side="right") - 1, 0, self.edges.size - 2)
        start = self.edges[panel]
        rest = ((h - start) / 2)[..., None]
        last = start[..., None] + rest * (1 + nodes)
        tail = rest * weights * function(last)
        sums = [np.concatenate(([0.0], np.cumsum(values.sum(axis=1)))) for values in (terms, terms * at)]
        return sums[0][panel] + tail.sum(axis=-1), sums[1][panel] + (tail * last).sum(axis=-1)
