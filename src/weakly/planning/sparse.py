r"""The closed forms for events that stay clear of each other, for any law of lengths and any mixture of criteria.

For one event of length d, segments of length q and :math:`\gamma d \le q`, averaged over where the grid falls:
missed :math:`\gamma^2 d^2 / q`, labelled present :math:`d + q - 2 \gamma d`, met :math:`d + q`; with
:math:`\gamma d > q` the event is missed whole. A law enters through its moments up to :math:`q / \gamma`.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import TIE
from ..lengths import Lengths
from ..theory.core import Who, expected
from ..windows import window_times
from .criteria import Criteria
from .sums import Sums

Floats = NDArray[np.float64]
_NODES = 96  # lengths that stand for a continuous law where moments are not enough


def nodes(lengths: Lengths, most: int = 512) -> tuple[Floats, Floats]:
    """Lengths and their shares that stand for the law; a long sample is cut into bins of equal share."""
    if lengths.values is not None and lengths.weights is not None:
        values, weights = lengths.values, lengths.weights
        if values.size <= most:
            return values, weights
        share = np.concatenate(([0.0], np.cumsum(weights)))
        cuts = np.unique(np.searchsorted(share, np.linspace(0, 1, most + 1)[:-1]).clip(0, values.size - 1))
        mass = np.add.reduceat(weights, cuts)
        return np.add.reduceat(weights * values, cuts) / mass, mass
    x, w = _gauss()
    return np.asarray(lengths.quantile((1 + x) / 2), dtype=np.float64), w / 2


@lru_cache(maxsize=1)
def _gauss() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(_NODES)


class Sparse:
    """Events that stay clear of each other, in closed form."""

    name = "closed form"
    described = "events stay at least one segment apart and fall anywhere; the recording's edges are neglected"

    def __init__(self, lengths: Lengths, *, recording_length: float, n_events: float) -> None:
        self.lengths, self.total, self.count = lengths, float(recording_length), float(n_events)

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        return nodes(self.lengths, 256)

    def fixed(self, segment_lengths: Any, criteria: Criteria) -> Sums:
        """Fixed segments of each of these lengths."""
        if self.lengths.values is None:  # a law of lengths smooths what a fine mesh of criteria is for
            criteria = criteria.few(100)
        q = np.atleast_1d(np.asarray(segment_lengths, dtype=np.float64))[None, :]
        g, weight = criteria.values[:, None], criteria.weights[:, None]
        each = expected(self.lengths, q, Who(criterion=g))
        p0, m1, _ = self.lengths.partial_moments(q / g * (1 + TIE))
        lost = np.maximum(2 * g - 1, 0.0) * m1 / q + 1 - p0
        m, mean, width, guess = self.count, self.lengths.mean, q[0], criteria.always
        tp = (weight * each.true).sum(0) + guess * mean
        extra = (weight * (each.present - each.true)).sum(0)
        return Sums(
            tp=m * tp,
            fp=m * extra + guess * (self.total - m * mean),
            fn=m * (mean - tp),
            overlap=m * (mean + width),
            overlap_fp=m * (extra + guess * width),
            found=m * ((weight * (1 - lost)).sum(0) + guess),
            present=(m * (weight * each.present).sum(0) + guess * self.total) / width,
            n_events=m,
            recording_length=self.total,
        )

    def windows(self, hops: Any, per_cell: int, needed: int, criteria: Criteria) -> Sums:
        """Overlapping windows, ``per_cell`` of which cover every cell of one hop; present if ``needed`` of them are."""
        criteria = criteria.few(24)
        hop = np.atleast_1d(np.asarray(hops, dtype=np.float64))[:, None, None]
        d, share = self._nodes
        g = criteria.values[None, :, None]
        events, width = d[None, None, :], per_cell * hop
        need = np.where(g * events <= width * (1 + TIE), g * events, np.inf)
        found, fp, fn, inside = window_times(events, need, segment_length=width, hop=hop, votes=needed)

        def mean(each: Floats) -> Floats:
            return np.einsum("hgd,g,d->h", each, criteria.weights, share)

        m, length, h = self.count, float(share @ d), hop[:, 0, 0]
        missed = mean(fn) + criteria.never * length
        outside = criteria.always * (self.total - m * length)
        return Sums(
            tp=m * (length - missed),
            fp=m * mean(fp) + outside,
            fn=m * missed,
            overlap=m * (length + h),
            overlap_fp=m * (mean(inside) + criteria.always * h),
            found=m * (mean(found) + criteria.always),
            present=np.full(h.shape, np.nan),
            n_events=m,
            recording_length=self.total,
        )

    def split(self, widths: Any, criteria: Criteria) -> Floats:
        """How many nodes of each width a bisection finds present, per recording, with the recording's edges."""
        criteria = criteria.few(48)
        w = np.atleast_1d(np.asarray(widths, dtype=np.float64))[:, None, None]
        d, share = self._nodes
        g, d, total = criteria.values[None, :, None], d[None, None, :], self.total
        n = np.maximum(total / w, 1.0)
        room = np.maximum(total - d, 1e-12 * total)
        inner = np.maximum(n - 2, 0.0) * (w + d - 2 * g * d) + np.minimum(n, 2.0) * (w - g * d)
        expected = np.where(g * d <= w * (1 + 1e-9), np.where(n > 1, np.minimum(inner / room, n), 1.0), 0.0)
        one = np.einsum("wgd,d->wg", expected / n, share)  # the chance that one event makes a node present
        met = np.einsum("wg,g->w", 1 - (1 - np.clip(one, 0, 1)) ** self.count, criteria.weights) + criteria.always
        return met * n[:, 0, 0]
