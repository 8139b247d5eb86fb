"""Every criterion at once, exactly: expected times as piecewise polynomials in the presence criterion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import TIE
from ..events import Timelines
from ..symbols import check, choice
from . import EDGES, sweep

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Profile:
    """Expected times over a random phase as functions of the criterion, all recordings together, in seconds.

    Examples
    --------
    >>> found = profile(Timelines.of([[(1.0, 2.2), (2.9, 3.3), (7.0, 9.5)]], 10), segment_length=1.3)
    >>> round(float(found.tp(0.45)), 10), round(float(found.fp(0.45)), 10)
    (2.9464423077, 1.3635576923)
    """

    knots: Array  # event fractions at which a polynomial begins or ends, sorted
    curves: Array  # (knots + 1, 3, 3): absent length, cover and width after each knot, coefficients of 1, g, g^2
    overlap_time: float
    cover_time: float
    segment_length: float
    n_overlapping: float  # expected number of segments that meet an event

    def _absent(self, criterion: Any) -> Array:
        g = np.asarray(check("presence_criterion", criterion), dtype=np.float64)
        at = self.curves[np.searchsorted(self.knots, g * (1 - TIE), side="left")]
        x = g[..., None]
        return np.asarray(at[..., 0] + x * (at[..., 1] + x * at[..., 2]), dtype=np.float64)

    def n_present(self, criterion: Any) -> Array:
        """The expected number of present segments."""
        return self.n_overlapping - self._absent(criterion)[..., 0] / self.segment_length

    def tp(self, criterion: Any) -> Array:
        """Expected event time that is labelled present."""
        return self.cover_time - self._absent(criterion)[..., 1] / self.segment_length

    def fp(self, criterion: Any) -> Array:
        """Expected other time that is labelled present."""
        absent = self._absent(criterion) / self.segment_length
        return (self.overlap_time - absent[..., 2]) - (self.cover_time - absent[..., 1])

    def overlap_accuracy(self, criterion: Any) -> Array:
        """Pooled accuracy of the overlapping segments."""
        right = self.overlap_time - self.cover_time - self.fp(criterion) + self.tp(criterion)
        return np.asarray(right / self.overlap_time, dtype=np.float64)


def profile(timelines: Timelines, *, segment_length: float, edge: str = "truncate") -> Profile:
    """The exact profile over criteria for one segment length: one sweep and one sort, O(n log n)."""
    w, mode = float(check("segment_length", segment_length)), EDGES.index(choice("edge", edge, EDGES))
    rows, _ = sweep.pieces(timelines.bounds, timelines.starts, timelines.lengths, w, mode)
    span, c0, c1, w0, w1, h0, h1 = rows.T[1:]
    down = h0 > h1
    c0, c1, w0, w1 = np.where(down, c1, c0), np.where(down, c0, c1), np.where(down, w1, w0), np.where(down, w0, w1)
    h0, h1 = np.minimum(h0, h1), np.maximum(h0, h1)
    whole = np.zeros((len(span), 3, 3), np.longdouble)  # what is absent above both fractions
    whole[:, 0, 0], whole[:, 1, 0], whole[:, 2, 0] = span, span * (c0 + c1) / 2, span * (w0 + w1) / 2
    rising = h1 > h0
    rate = span[rising].astype(np.longdouble) / (h1 - h0)[rising]
    shift = -rate * h0[rising]
    curve = np.zeros((int(rising.sum()), 3, 3), np.longdouble)
    curve[:, 0, 0], curve[:, 0, 1] = shift, rate
    for row, (start, end) in ((1, (c0, c1)), (2, (w0, w1))):
        at, bend = start[rising], (end - start)[rising] / span[rising] / 2
        curve[:, row, 0] = shift * (at + bend * shift)
        curve[:, row, 1] = rate * (at + 2 * bend * shift)
        curve[:, row, 2] = rate * rate * bend
    change = whole.copy()
    change[rising] -= curve
    knots, changes = np.concatenate((h1, h0[rising])), np.concatenate((change, curve))
    order = np.argsort(knots, kind="stable")
    # Extended precision: coefficients of long events are larger than what remains when they cancel.
    curves = np.concatenate((np.zeros((1, 3, 3)), np.cumsum(changes[order], axis=0).astype(np.float64)))
    cover, overlap = float((span * (c0 + c1)).sum()) / 2 / w, float((span * (w0 + w1)).sum()) / 2 / w
    return Profile(knots[order], curves, overlap, cover, w, float(span.sum()) / w)
