r"""M events of one length placed uniformly in a finite recording, merged, labelled on a fixed grid: exact.

For a Poisson number of events the four cases of an absent segment that meets an event (:mod:`.dense`) become integrals
with edge-corrected survival functions. All of them are entire functions of the rate, and a Poisson mixture is a power
series of the number of events: :math:`E_M = M!\,[\mu^M]\, e^\mu E_{Poisson}(\mu)`. The coefficient comes from complex
rates on a circle of radius M, to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..results import plain
from ..symbols import check, whole
from .core import Floats
from .dense import Clumps

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def _integration_matrix() -> Floats:
    """Integrals from -1 to each node, of the polynomial through the values at the nodes."""
    powers = np.arange(_NODES.size)
    values = np.polynomial.legendre.legvander(_NODES, _NODES.size - 1)
    integrals = np.stack(
        [
            np.polynomial.legendre.legval(_NODES, np.polynomial.legendre.legint(row, lbnd=-1))
            for row in np.eye(powers.size)
        ]
    )
    return np.asarray(np.linalg.solve(values.T, integrals).T, dtype=np.float64)


_UP_TO = _integration_matrix()


@dataclass(frozen=True)
class Crowded:
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

    def to_dict(self) -> dict[str, Any]:
        """The same numbers, plain."""
        return {name: plain(value) for name, value in self.__dict__.items()}


def crowded_recordings(
    *, event_length: Any, n_events: Any, recording_length: Any, n_queries: Any, presence_criterion: Any
) -> Crowded:
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
    n = next(
        k for k in range(8, 100_000, 2) if k * np.log(count) + math.lgamma(count + 1) - math.lgamma(count + k + 1) < -40
    )
    angle = np.pi * (2 * np.arange(n // 2) + 1) / n
    mu = count * np.exp(1j * angle)
    kernel = _Kernel(mu / room, d, total, w, g)
    # The recording reads the same backwards, so segment i and segment B - 1 - i share their sums.
    sums = np.zeros(mu.shape, complex)
    for i in range((queries + 1) // 2):
        both = 1 if 2 * i == queries - 1 else 2
        sums += both * kernel.absent(w * i)
    scale = np.exp(mu - 1j * count * angle + math.lgamma(count + 1) - count * np.log(count))
    correction = float(np.mean((scale * sums).real))
    right = covered * total / w + correction
    return Crowded(d, count, total, queries, g, right / met, right, met, covered)


def _covered(d: float, total: float, count: int) -> float:
    """Expected share of the recording that events cover."""
    room = total - d
    edges = np.unique(np.clip([0.0, d, room, total], 0.0, total))
    half = np.diff(edges)[:, None] / 2
    nodes, weights = np.polynomial.legendre.leggauss(count // 2 + 2)  # exact: a polynomial of degree M on each piece
    x = edges[:-1, None] + half * (1 + nodes)
    meets = np.minimum(x, room) - np.maximum(x - d, 0.0)
    return float(np.sum(half * weights * (1 - (1 - meets / room) ** count)) / total)


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
        half = np.diff(edges)[:, None] / 2
        x = edges[:-1, None] + half * (1 + _NODES)
        weights = half * _WEIGHTS
        left = self.survival(x / self.g, s + x)
        right = self.survival((w - x) / self.g, back + w - x)  # as function of x: y = w - x seconds on the right
        last = min(s + w, total - self.d)
        first = min(total - s, total - self.d)
        cut = np.sum(
            weights * self.rate * np.exp(-self.rate * (last - s - x + self.d)) * left * (1 - 2 * x / w), axis=(1, 2)
        )
        cut += np.sum(
            weights * self.rate * np.exp(-self.rate * (first - back - (w - x) + self.d)) * right * (2 * x / w - 1),
            axis=(1, 2),
        )
        # Both edges: the second clump's share beyond x, with weights 1 and y, integrated from the right end.
        y = w - x
        rising = right * np.exp(self.rate * y)
        zero, one = (self._beyond(values, half) for values in (rising, rising * y))
        inner = (1 - 2 * x / w) * zero - 2 / w * one
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
        half = np.diff(edges)[:, None] / 2
        end = edges[:-1, None] + half * (1 + _NODES)
        long = self.survival(np.maximum(end - s, w / g), end)
        quiet = np.exp(-self.rate * (np.minimum(end, total - d) - (end - d)))
        return np.sum(half * _WEIGHTS * self.rate * quiet * long, axis=(1, 2))

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
