r"""Dense recordings: events of one length that start at random and merge where they overlap (the Boolean model).

Starts are a Poisson process of rate :math:`\lambda`; merged events (clumps) are independent, gaps exponential. The
survival function S of a clump's length obeys :math:`S'(x) = -\nu S(x - d)` with :math:`\nu = \lambda e^{-\lambda d}`,
S = 1 before d and a drop of :math:`e^{-\lambda d}` at d, so it is a polynomial on each stretch of length d; so is its
self-convolution C, :math:`C'(x) = S(x) - e^{-\lambda d} S(x-d) - \nu C(x-d)`. A clump that lies inside a segment is
always noticed, so an absent segment that meets one has a clump cut by its left edge, by its right edge, by both, or
around it.

A finite recording with M events: these four cases become integrals with edge-corrected survival functions. All of them
are entire functions of the rate, and a Poisson mixture is a power series of the number of events:
:math:`E_M = M!\,[\mu^M]\, e^\mu E_{Poisson}(\mu)`. The coefficient comes from complex rates on a circle of radius M, to
rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike

from ..base.errors import InvalidInput
from ..base.results import to_jsonable
from ..base.symbols import check, whole
from ..model.intervals import Floats
from ..model.lengths import gauss, panel_nodes
from .optimum import maximise
from .single import FloatOrArray, out

_ORDER = 20
_NODES, _WEIGHTS = gauss(_ORDER)
_NOTHING = 1e-15  # a survival below this is rounding


def _terms(size: Any) -> int:
    """How many terms size^k / k! are worth adding."""
    most = math.log(max(1.0, float(np.max(np.abs(size)))))
    return next(k for k in range(8, 1_000_000) if k * most - math.lgamma(k + 1) < -44)


class Clumps:
    """Length law of merged events: survival function S and its companions, as power series per stretch of length d.

    The rate may be an array, also of complex numbers; its axes come first in every answer. For one rate the series end
    where both functions have vanished, at ``reach``.
    """

    def __init__(self, rate: Any, d: float, reach: float) -> None:
        self.rate, self.d = np.asarray(rate), d
        self.rest = np.exp(-self.rate * d)  # chance that an event is alone
        self.nu = self.rate * self.rest
        n = int(np.floor(reach / d)) + 3
        kind = np.result_type(self.rate, np.float64)
        # S and C have a finite degree on each stretch; U does not.
        terms = max(_terms(d * self.rate), min(n + 2, _terms(3 * d * self.nu)))
        s, c = ([np.zeros((*self.rate.shape, terms), kind)] for _ in range(2))
        s[0][..., 0] = 1.0
        c[0][..., 1] = d
        k, nu, rest = np.arange(1, terms), self.nu[..., None], self.rest[..., None]
        for j in range(1, n):
            before, both = s[-1], c[-1]
            s.append(np.empty_like(before))
            c.append(np.empty_like(both))
            # The only jump of S is at d, where single events end.
            s[j][..., 0] = before.sum(-1) - (self.rest if j == 1 else 0.0)
            s[j][..., 1:] = -nu * d / k * before[..., :-1]
            c[j][..., 0] = both.sum(-1)
            c[j][..., 1:] = d / k * (s[j][..., :-1] - rest * before[..., :-1] - nu * both[..., :-1])
            if self.rate.ndim == 0 and max(abs(s[j]).max(), abs(c[j]).max() / d) < _NOTHING:
                s[j], c[j] = np.zeros_like(before), np.zeros_like(both)
                break
        self._s, self._c, self.reach = np.stack(s, -2), np.stack(c, -2), d * len(s)

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
        return polyval(x / self.d - panel, np.moveaxis(table[..., panel, :], -1, 0), tensor=False)

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


def clump_cdf(length: ArrayLike, *, event_length: ArrayLike, event_rate: ArrayLike) -> FloatOrArray:
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


class _Numbers:
    """A result of numbers alone."""

    def to_dict(self) -> dict[str, Any]:
        """The same numbers, plain."""
        return {name: to_jsonable(value) for name, value in self.__dict__.items()}


@dataclass(frozen=True)
class Dense(_Numbers):
    """What fixed segments make of a dense recording; shares of time or of merged events, per segment length."""

    event_length: float
    event_rate: float
    segment_length: FloatOrArray
    presence_criterion: FloatOrArray
    overlap_accuracy: FloatOrArray
    recording_accuracy: FloatOrArray
    precision: FloatOrArray
    recall: FloatOrArray
    event_recall: FloatOrArray
    event_share: float  # of time that events cover


def dense_recordings(
    *, event_length: ArrayLike, event_rate: ArrayLike, segment_length: ArrayLike, presence_criterion: ArrayLike
) -> Dense:
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
    top = min(w, g * clumps.reach)
    edges = np.unique(np.append(np.arange(0.0, top, g * d), top))
    x, weights = panel_nodes(edges, _ORDER)
    weight = weights * np.exp(-rate * (w - x))
    single = 2 * nu * clumps.survival(x / g)  # cut by one edge, empty up to the other
    both = nu * rate * g * clumps.convolution(x / g)  # cut by both edges, x seconds of cover in all
    cut = weight * (single + both)
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
    *, event_length: ArrayLike, event_rate: ArrayLike, presence_criterion: ArrayLike, longest: float | None = None
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
        dense = dense_recordings(event_length=d, event_rate=event_rate, segment_length=q, presence_criterion=g)
        return np.asarray(dense.overlap_accuracy)

    return maximise(score, 0.05 * g * d, top, extra=[g * d * k for k in range(1, 8)])[0]


def _integration_matrix() -> Floats:
    """Integrals from -1 to each node, of the polynomial through the values at the nodes."""
    legendre, size = np.polynomial.legendre, _NODES.size
    integrals = [legendre.legval(_NODES, legendre.legint(row, lbnd=-1)) for row in np.eye(size)]
    return np.asarray(np.linalg.solve(legendre.legvander(_NODES, size - 1).T, np.stack(integrals)).T, dtype=np.float64)


_UP_TO = _integration_matrix()


@dataclass(frozen=True)
class Crowded(_Numbers):
    """Expected sums over the segments of a recording with M merged events."""

    event_length: float
    n_events: int
    recording_length: float
    n_queries: int
    presence_criterion: float
    overlap_accuracy: float  # ratio of the two sums below
    right: float  # expected sum of the accuracies of the segments that meet an event
    n_overlapping: float  # expected number of segments that meet an event
    event_share: float  # of time that events cover


def crowded_recordings(
    *, event_length: ArrayLike, n_events: ArrayLike, recording_length: ArrayLike, n_queries: ArrayLike,
    presence_criterion: ArrayLike,
) -> Crowded:  # fmt: skip
    r"""Exact accuracy given overlap of B equal segments on M uniformly placed, merged events.

    Parameters
    ----------
    event_length : :math:`d_e` in seconds; starts are uniform on :math:`[0, T - d_e]`.
    n_events : M, a whole number, 1 or more.
    recording_length : T in seconds.
    n_queries : B; the segments have the length T / B.

    Notes
    -----
    The paper's simulation of several events in the limit of many recordings, as ratio of means over segments.

    Examples
    --------
    >>> found = crowded_recordings(event_length=1, n_events=3, recording_length=10, n_queries=8, presence_criterion=0.7)
    >>> round(found.right, 6)
    2.805584
    """
    d, total = float(check("event_length", event_length)), float(check("recording_length", recording_length))
    g = float(check("presence_criterion", presence_criterion))
    count, queries = (whole(name, value) for name, value in (("n_events", n_events), ("n_queries", n_queries)))
    if d >= total:
        raise InvalidInput(f"event_length must be less than recording_length {total:g}, got {d:g}")
    room, w = total - d, total / queries
    start = w * np.arange(queries)
    missed = 1 - (np.minimum(start + w, room) - np.maximum(start - d, 0.0)) / room
    met = float(np.sum(1 - missed**count))
    covered = _covered(d, total, count)
    # Half of the circle is enough: conjugate rates give conjugate values.
    most, size = math.lgamma(count + 1), np.log(count)
    n = next(k for k in range(8, 100_000, 2) if k * size + most - math.lgamma(count + k + 1) < -40)
    angle = np.pi * (2 * np.arange(n // 2) + 1) / n
    mu = count * np.exp(1j * angle)
    kernel = _Kernel(mu / room, d, total, w, g)
    # The recording reads the same backwards, so segment i and segment B - 1 - i share their sums.
    sums = np.zeros(mu.shape, complex)
    for i in range((queries + 1) // 2):
        sums += (1 if 2 * i == queries - 1 else 2) * kernel.absent(w * i)
    scale = np.exp(mu - 1j * count * angle + most - count * size)
    right = covered * total / w + float(np.mean((scale * sums).real))
    return Crowded(d, count, total, queries, g, right / met, right, met, covered)


def _covered(d: float, total: float, count: int) -> float:
    """Expected share of the recording that events cover."""
    room = total - d
    edges = np.unique(np.clip([0.0, d, room, total], 0.0, total))
    x, weights = panel_nodes(edges, count // 2 + 2)  # exact: a polynomial of degree M on each piece
    meets = np.minimum(x, room) - np.maximum(x - d, 0.0)
    return float(np.sum(weights * (1 - (1 - meets / room) ** count)) / total)


class _Kernel:
    """The expected (1 - 2c) of absent segments that meet an event, for Poisson starts on [0, T - d]."""

    def __init__(self, rate: Any, d: float, total: float, w: float, g: float) -> None:
        self.rate, self.d, self.total, self.w, self.g = rate[:, None, None], d, total, w, g
        self.clumps = Clumps(rate, d, total + 2 * d)

    def survival(self, y: Floats, end: Floats) -> Any:
        """P(length > y) of a clump that ends at ``end``, with no starts before zero."""
        free = end - self.d  # the clump's first event starts at or after zero
        over = np.clip(y - free, 0.0, self.d)
        edge = self.clumps.last_start(np.maximum(free, 0.0)) - np.where(
            free + over >= self.d,
            np.exp(-self.rate * (self.d - over)) * self.clumps.last_start(np.maximum(free + over - self.d, 0.0)),
            0.0,
        )
        whole = self.clumps.survival(y)
        return np.where(free < -1e-12, 0.0, np.where(y <= free, whole, np.where(y < end, edge, 0.0)))

    def absent(self, s: float) -> Any:
        w, total, back = self.w, self.total, self.total - s - self.w
        edges = _clean([*self._breaks(s), *(w - np.asarray(self._breaks(back)))], 0.0, w)
        half, (x, weights) = np.diff(edges)[:, None] / 2, panel_nodes(edges, _ORDER)
        left = self.survival(x / self.g, s + x)
        right = self.survival((w - x) / self.g, back + w - x)  # as function of x: y = w - x seconds on the right
        last, first = min(s + w, total - self.d), min(total - s, total - self.d)
        quiet = np.exp(-self.rate * (last - s - x + self.d))
        cut = np.sum(weights * self.rate * quiet * left * (1 - 2 * x / w), axis=(1, 2))
        quiet = np.exp(-self.rate * (first - back - (w - x) + self.d))
        cut += np.sum(weights * self.rate * quiet * right * (2 * x / w - 1), axis=(1, 2))
        # Both edges: the second clump's share beyond x, with weights 1 and y, integrated from the right end.
        y = w - x
        rising = right * np.exp(self.rate * y)
        total_beyond, first_moment = (self._beyond(values, half) for values in (rising, rising * y))
        inner = (1 - 2 * x / w) * total_beyond - 2 / w * first_moment
        both = np.sum(weights * left * np.exp(self.rate * x) * inner, axis=(1, 2))
        rate = self.rate[:, 0, 0]
        return cut + rate**2 * np.exp(-rate * (w + self.d)) * both - self._around(s)

    @staticmethod
    def _beyond(values: Any, half: Floats) -> Any:
        """For each node the integral from the node to the right end of all panels."""
        panel = np.sum(values * half * _WEIGHTS, axis=-1)
        after = np.cumsum(panel[:, ::-1], axis=1)[:, ::-1]
        return after[:, :, None] - half * (values @ _UP_TO.T)

    def _around(self, s: float) -> Any:
        """Chance that a clump longer than w / g surrounds the segment."""
        w, d, total, g = self.w, self.d, self.total, self.g
        steps = d * np.arange(1, int(total / d) + 2)
        points = [*steps, *(s + steps), total - d, s + w / g, d + w / g, w / g]
        edges = _clean(points, s + w, total)
        if edges.size < 2:
            return 0.0
        end, weights = panel_nodes(edges, _ORDER)
        long = self.survival(np.maximum(end - s, w / g), end)
        quiet = np.exp(-self.rate * (np.minimum(end, total - d) - (end - d)))
        return np.sum(weights * self.rate * quiet * long, axis=(1, 2))

    def _breaks(self, s: float) -> list[float]:
        """Where the survival of a clump that ends x after s changes its formula."""
        d, g, w = self.d, self.g, self.w
        steps = np.arange(0, int(max(w / (g * d), (s + w) / d)) + 2)
        slower = [] if g == 1 else [(s - d) / (1 / g - 1), s / (1 / g - 1)]
        return [*(steps * g * d), *(steps * d - s), *slower]


def _clean(points: Any, low: float, high: float) -> Floats:
    inside = [point for point in points if low + 1e-12 < point < high - 1e-12]
    edges = np.unique(np.array([low, *inside, high]))
    keep = np.concatenate(([True], np.diff(edges) > 1e-12))
    return edges[keep] if high > low else edges[:1]
