r"""Events -> expected accuracy over a uniformly random phase of the grid, without a single random number.

For a grid with uniform phase the expected sum of X over segments is :math:`\frac{1}{d_q} \int X(s) ds` over window
starts s, and every X is linear between a few events' ends, so sums replace integrals and the result is exact.

Edge rules: ``truncate`` cuts windows at the recording's ends (they stay and count with the time that is left);
``infinite`` counts them at full length, as the paper's theory does; ``inside`` keeps only whole windows; ``circular``
joins the recording's end to its start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import PresenceRule
from ..errors import InvalidInput
from ..events import Timelines
from ..tally import BASE, RAW
from . import means as folding
from . import sweep
from .chance import Chance
from .columns import Columns, tied
from .noticed import noticed, noticed_at, starts_of

Array = NDArray[np.float64]
EDGES = ("infinite", "truncate", "inside", "circular")


def measure(
    timelines: Timelines, segment_length: float, columns: Columns, *, edge: str = "truncate", means: bool = True
) -> tuple[Array, Array]:
    """The expected measures of every recording (R, columns, RAW) and (R, BASE) over a random phase.

    ``means``: also the mean accuracy per recording and per segment, which costs more than all else together; else NaN.
    """
    n, w, mode = len(timelines), float(segment_length), EDGES.index(edge)
    if mode == sweep.CIRCULAR and (timelines.lengths < w * (1 - 1e-9)).any():
        r = int(np.flatnonzero(timelines.lengths < w)[0])
        raise InvalidInput(
            f"segment_length must be at most the recording's length where edge is 'circular', got {w:g} s "
            f"for recording {r} of {timelines.lengths[r]:g} s"
        )
    raw, base = np.zeros((n, len(columns), len(RAW))), _ground(timelines, w, mode)
    rows, first = sweep.pieces(timelines.bounds, timelines.starts, timelines.lengths, w, mode)
    sweep.totals(rows, first, w, base)
    mean = Means(timelines, w, mode, rows, first, base) if means else None
    if columns.criteria is not None:
        limits, table, order = tied(columns.criteria)
        ordered = np.zeros_like(raw)
        gammas = columns.criteria[order]
        sweep.at_criteria(rows, first, w, limits, table, gammas, ordered)
        noticed_at(timelines.bounds, timelines.starts, timelines.lengths, w, mode, gammas, limits, ordered)
        raw[:, order] = ordered
        if mean is not None:
            for c, criterion in enumerate(columns.criteria):
                mean.fill(raw[:, c], starts_of(timelines, w, PresenceRule.fraction(criterion), mode))
    for c, rule in enumerate(columns.rules):
        spans = starts_of(timelines, w, rule, mode)
        sweep.over_intervals(rows, first, w, *spans, raw[:, c])
        raw[:, c, 4] = noticed(timelines, w, rule, mode)
        if mean is not None:
            mean.fill(raw[:, c], spans)
    for c, annotator in enumerate(columns.annotators):
        chance = Chance.of(annotator)
        _expected(raw[:, c], base, timelines, w, mode, rows, first, chance)
        if mean is not None:
            mean.mix(raw[:, c], chance)
    if mean is None:
        raw[..., 5:7] = np.nan
    return raw, base


def _expected(
    raw: Array, base: Array, timelines: Timelines, w: float, mode: int, rows: Array, first: Any, chance: Chance
) -> None:
    """Fill the times of one random annotator: integrals of P(event fraction) over the pieces."""
    span, c0, c1, w0, w1, h0, h1 = rows.T[1:]
    down = h0 > h1
    c0, c1, w0, w1 = np.where(down, c1, c0), np.where(down, c0, c1), np.where(down, w1, w0), np.where(down, w0, w1)
    h0, h1 = np.minimum(h0, h1), np.maximum(h0, h1)
    flat = h1 <= h0
    height = np.where(flat, 1.0, h1 - h0)
    area, moment = chance.moments(h0, h1)
    level = chance.probability(h1)
    p = np.where(flat, level, area / height)  # mean of P, and of P times the way along the piece
    q = np.where(flat, level / 2, moment / height**2)
    recording = np.repeat(np.arange(len(base)), np.diff(first))

    def total(values: Array) -> Array:
        return np.bincount(recording, weights=span * values, minlength=len(base)) / w

    cover, width = total(p * c0 + q * (c1 - c0)), total(p * w0 + q * (w1 - w0))
    # Over a random phase, this much time is heard, in this many segments.
    extra = {sweep.TRUNCATE: (0.0, w), sweep.INSIDE: (-w, -w), sweep.CIRCULAR: (0.0, 0.0), sweep.INFINITE: (w, w)}[mode]
    heard, count = (np.maximum(0.0, base[:, 1] + more) for more in extra)
    raw[:, 0], raw[:, 1] = cover, width - cover
    raw[:, 2] = chance.low * (heard - base[:, 4])
    raw[:, 3] = total(p) + chance.low * (count / w - base[:, 6])
    a, b = timelines.bounds[:, 0], timelines.bounds[:, 1]
    owner = timelines.owner
    low, high = np.full(len(a), -np.inf), np.full(len(a), np.inf)
    if mode == sweep.INSIDE:
        low, high = np.zeros(len(a)), timelines.lengths[owner] - w
    raw[:, 4] = np.bincount(owner, weights=chance.noticed_at_random(a, b, w, low, high), minlength=len(base))


class Means:
    """The mean accuracy per recording and the sum per segment, which need the phase as well as the window's start."""

    def __init__(self, timelines: Timelines, w: float, mode: int, rows: Array, first: Any, base: Array) -> None:
        self.timelines, self.w, self.mode, self.rows, self.first = timelines, w, mode, rows, first
        n = len(base)
        flat = np.tile([0.0, 1.0, 0.0, 0.0], (n, 1)), np.arange(n + 1)  # every segment weighs 1
        self.weights = {5: folding.folded(rows, first, w), 6: flat}
        self.ground, self.before = {}, {}
        for field, (steps, at) in self.weights.items():
            self.ground[field], self.before[field] = np.zeros((n, 3)), np.zeros((len(rows), 2))
            folding.grounds(rows, first, w, steps, at, self.ground[field], self.before[field])
        base[:, 9] = self.ground[5][:, 2]

    def _gain(self, field: int, spans: tuple[Array, Any], *, plateaus: bool = True) -> Array:
        gain = np.zeros(len(self.first) - 1)
        where = self.rows, self.first, self.w, *self.weights[field], self.before[field]
        folding.gains(*where, *spans, plateaus, gain)
        return gain

    def fill(self, raw: Array, spans: tuple[Array, Any]) -> None:
        """Both means where windows that start within the spans are present."""
        for field in (5, 6):
            raw[:, field] = self.ground[field][:, 0] + self._gain(field, spans)

    def mix(self, raw: Array, chance: Chance) -> None:
        """Both means of a random annotator: linear in P, hence a mixture over criteria (256 where they have a law).

        Plateaus make the mean jump with the criterion, so they are taken out of the mixture and kept exact.
        """
        criteria, weights = chance.criteria()
        spans = [starts_of(self.timelines, self.w, PresenceRule.fraction(g), self.mode) for g in criteria]
        met = chance.met(self.rows[:, 6])
        for field in (5, 6):
            absent, present, _ = self.ground[field].T
            gain = np.zeros(len(absent))
            folding.plateau_gains(self.rows, self.first, self.w, *self.weights[field], met, gain)
            for weight, span in zip(weights, spans):
                gain += weight * self._gain(field, span, plateaus=False)
            raw[:, field] = absent + chance.low * (present - absent) + (chance.high - chance.low) * gain


def _ground(timelines: Timelines, w: float, mode: int) -> Array:
    """What is known of every recording before the sweep; the count of segments is that of a grid from 0."""
    base = np.zeros((len(timelines), len(BASE)))
    length = timelines.bounds[:, 1] - timelines.bounds[:, 0]
    recording = timelines.owner
    base[:, 0], base[:, 1] = 1.0, timelines.lengths
    base[:, 2] = np.bincount(recording, weights=length, minlength=len(timelines))
    base[:, 3] = timelines.counts
    if mode == sweep.INSIDE:
        base[:, 7] = np.floor(timelines.lengths / w + 1e-9)
        base[:, 8] = base[:, 7] * w
    else:
        base[:, 7] = np.maximum(1.0, np.ceil(timelines.lengths / w - 1e-9))
        base[:, 8] = timelines.lengths
    return base
