r"""Dense recordings: events of one length that start at random and merge where they overlap (the Boolean model).

Starts are a Poisson process of rate :math:`\lambda`; merged events (clumps) are independent, gaps exponential. The
survival function S of a clump's length obeys :math:`S'(x) = -\nu S(x - d)` with :math:`\nu = \lambda e^{-\lambda d}`,
S = 1 before d and a drop of :math:`e^{-\lambda d}` at d, so it is a polynomial on each stretch of length d; so is its
self-convolution C, :math:`C'(x) = S(x) - e^{-\lambda d} S(x-d) - \nu C(x-d)`. A clump that lies inside a segment is
always noticed, so an absent segment that meets one has a clump cut by its left edge, by its right edge, by both, or
around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..results import plain
from ..symbols import check
from .core import Floats, out
from .search import maximise

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def _terms(size: Any) -> int:
    """How many terms size^k / k! are worth adding."""
    most = math.log(max(1.0, float(np.max(np.abs(size)))))
    return next(k for k in range(8, 1_000_000) if k * most - math.lgamma(k + 1) < -44)


class Clumps:
    """Length law of merged events: survival function S and its companions, as power series per stretch of length d.

    The rate may be an array, also of complex numbers; its axes come first in every answer.
    """

    def __init__(self, rate: Any, d: float, reach: float) -> None:
        self.rate, self.d = np.asarray(rate), d
        self.rest = np.exp(-self.rate * d)  # chance that an event is alone
        self.nu = self.rate * self.rest
        n = int(np.floor(reach / d)) + 3
        kind = np.result_type(self.rate, np.float64)
        # S and C have a finite degree on each stretch; U does not.
        terms = max(_terms(d * self.rate), min(n + 2, _terms(3 * d * self.nu)))
        s, c = (np.zeros((*self.rate.shape, n, terms), kind) for _ in range(2))
        s[..., 0, 0] = 1.0
        c[..., 0, 1] = d
        k, nu, rest = np.arange(1, terms), self.nu[..., None], self.rest[..., None]
        for j in range(1, n):
            before = s[..., j - 1, :]
            # The only jump of S is at d, where single events end.
            s[..., j, 0] = before.sum(-1) - (self.rest if j == 1 else 0.0)
            s[..., j, 1:] = -nu * d / k * before[..., :-1]
            c[..., j, 0] = c[..., j - 1, :].sum(-1)
            c[..., j, 1:] = d / k * (s[..., j, :-1] - rest * before[..., :-1] - nu * c[..., j - 1, :-1])
        self._s, self._c = s, c

    @cached_property
    def _u(self) -> Any:
        """The series of U, U' = rate (S - U), U(0) = 1."""
        u = np.zeros_like(self._s)
        u[..., 0, 0] = 1.0
        for j in range(u.shape[-2]):
            if j > 0:
                u[..., j, 0] = u[..., j - 1, :].sum(-1)
            for k in range(1, u.shape[-1]):
                u[..., j, k] = self.rate * self.d / k * (self._s[..., j, k - 1] - u[..., j, k - 1])
        return u

    def _at(self, table: Any, x: Floats) -> Any:
        x = np.asarray(x, dtype=np.float64)
        panel = np.clip(np.floor(x / self.d).astype(int), 0, table.shape[-2] - 1)
        t = x / self.d - panel
        terms = np.arange(table.shape[-1])
        # Nodes that repeat from stretch to stretch, up to rounding, share one product of matrices.
        distinct, where = np.unique(np.round(t * 2.0**42), return_inverse=True)
        if 4 * distinct.size < t.size:
            powers = (distinct * 2.0**-42) ** terms[:, None]
            return (table @ powers)[..., panel, where.reshape(t.shape)]
        rows = table[..., panel, :]
        value = rows[..., -1]
        for k in terms[-2::-1]:
            value = value * t + rows[..., k]
        return value

    def survival(self, x: Floats) -> Any:
        """P(length > x)."""
        return self._at(self._s, x)

    def convolution(self, x: Floats) -> Any:
        """The integral of S(t) S(x - t) for t from 0 to x."""
        return self._at(self._c, x)

    def last_start(self, x: Floats) -> Any:
        """The integral of e^(-rate (x - t)) over the clump's starts t up to x, the first one at 0 included."""
        return self._at(self._u, x)

    def tail(self, x: float) -> Any:
        """The integral of S from x on: S(x + d) / nu, by the delay equation."""
        return self.survival(np.asarray(x + self.d)) / self.nu


def clump_cdf(length: Any, *, event_length: Any, event_rate: Any) -> Any:
    r"""The chance that a merged event is at most this long, in seconds.

    .. math:: G(d+y) = e^{-\lambda d}\sum_j (-1)^j e^{-\lambda j d}
        \left[\frac{(\lambda y_j)^{j+1}}{(j+1)!} + \frac{(\lambda y_j)^j}{j!}\right], \quad y_j = (y - jd)_+

    evaluated through the delay equation of its survival function, which does not cancel.

    Examples
    --------
    >>> round(clump_cdf(2.3, event_length=1, event_rate=0.7), 6)
    0.891255
    """
    x = np.asarray(check("listened", length, called="length"), dtype=np.float64)
    d, rate = float(check("event_length", event_length)), float(check("event_rate", event_rate))
    if rate == 0:
        return out((x >= d).astype(float))
    clumps = Clumps(rate, d, float(np.max(x)) + d)
    return out(np.where(x >= d, 1 - clumps.survival(x), 0.0))


@dataclass(frozen=True)
class Dense:
    """What fixed segments make of a dense recording; shares of time or of merged events, per segment length."""

    event_length: float
    event_rate: float
    segment_length: Any
    presence_criterion: Any
    overlap_accuracy: Any
    recording_accuracy: Any
    precision: Any
    recall: Any
    event_recall: Any
    event_share: float  # of time that events cover

    def to_dict(self) -> dict[str, Any]:
        """The same numbers, plain."""
        return {name: plain(value) for name, value in self.__dict__.items()}


def dense_recordings(*, event_length: Any, event_rate: Any, segment_length: Any, presence_criterion: Any) -> Dense:
    r"""Accuracies of fixed segments where events of one length start at random, overlap and merge.

    Parameters
    ----------
    event_length : :math:`d_e` in seconds, one number.
    event_rate : :math:`\lambda`, starts per second, > 0; M events in a recording of length T are about
        :math:`M/(T - d_e)`.
    segment_length, presence_criterion : numbers or arrays, which broadcast.

    Notes
    -----
    ``overlap_accuracy`` is the ratio of means over segments. ``event_recall`` counts merged events. As the rate goes to
    zero this becomes Theorem 1 of the paper; at the paper's densities its rule for the segment length loses much (E24).

    Examples
    --------
    >>> found = dense_recordings(event_length=1, event_rate=0.3, segment_length=1.13, presence_criterion=0.5)
    >>> round(found.overlap_accuracy, 6)
    0.710294
    """
    d, rate = float(check("event_length", event_length)), float(check("event_rate", event_rate))
    if rate == 0:
        raise InvalidInput("event_rate must be > 0, got 0: a recording without events has nothing to label")
    q = np.asarray(check("segment_length", segment_length), dtype=np.float64)
    g = np.asarray(check("presence_criterion", presence_criterion), dtype=np.float64)
    widths, criteria = np.broadcast_arrays(q, g)
    clumps = Clumps(rate, d, float(np.max(widths / criteria)) + 2 * d)
    table = np.array([_stationary(clumps, float(w), float(c)) for w, c in zip(widths.ravel(), criteria.ravel())])
    absent, missed, met, noticed = table.T.reshape(4, *widths.shape)
    covered = -np.expm1(-rate * d)
    present, true = met - absent, covered - missed
    some = present > 1e-15
    return Dense(
        event_length=d,
        event_rate=rate,
        segment_length=out(q),
        presence_criterion=out(g),
        overlap_accuracy=out((covered + absent - 2 * missed) / met),
        recording_accuracy=out(1 - (present - true + missed)),
        precision=out(np.where(some, true / np.where(some, present, 1.0), np.nan)),
        recall=out(true / covered),
        event_recall=out(noticed),
        event_share=float(covered),
    )


def _stationary(clumps: Clumps, w: float, g: float) -> tuple[float, float, float, float]:
    """Shares of segments absent though they meet an event, of event time in them, of meeting; of clumps noticed."""
    rate, d, nu = clumps.rate, clumps.d, clumps.nu
    edges = np.unique(np.append(np.arange(0.0, w, g * d), w))
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (1 + _NODES)
    weight = half * _WEIGHTS * np.exp(-rate * (w - x))
    one = 2 * nu * clumps.survival(x / g)  # cut by one edge, empty up to the other
    both = nu * rate * g * clumps.convolution(x / g)  # cut by both edges, x seconds of cover in all
    cut = weight * (one + both)
    long = w / g
    around = nu * ((long - w) * clumps.survival(np.asarray(long)) + clumps.tail(long))
    absent = float(np.sum(cut) + around)
    missed = float(np.sum(cut * x) / w + around)
    met = -float(np.expm1(-rate * (d + w)))
    alive = float(clumps.survival(np.asarray(long)))
    seen = 1 - alive  # clumps up to w / g, and their mean length
    short = float(np.expm1(rate * d) / rate - clumps.tail(long) - long * alive)
    noticed = seen - max(0.0, 2 * g - 1) * short / w
    return absent, missed, met, float(np.clip(noticed, 0.0, 1.0))


def optimal_dense_segment_length(
    *, event_length: Any, event_rate: Any, presence_criterion: Any, longest: float | None = None
) -> float:
    """The segment length, in seconds, that maximises the accuracy given overlap in dense recordings.

    Parameters
    ----------
    event_length, event_rate, presence_criterion : as in :func:`dense_recordings`, one number each.
    longest : the longest segment to consider; 20 event lengths if None. Where events cover most of the time there is
        no best length: the longer, the better, and the answer is this limit.

    Examples
    --------
    >>> round(optimal_dense_segment_length(event_length=1, event_rate=0.303, presence_criterion=0.5), 3)
    1.093
    """
    d, g = float(check("event_length", event_length)), float(check("presence_criterion", presence_criterion))
    top = 20 * d if longest is None else float(check("segment_length", longest, called="longest"))

    def score(q: Floats) -> Floats:
        found = dense_recordings(event_length=d, event_rate=event_rate, segment_length=q, presence_criterion=g)
        return np.asarray(found.overlap_accuracy)

    return maximise(score, 0.05 * g * d, top, extra=[g * d * k for k in range(1, 8)])[0]
