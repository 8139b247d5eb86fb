r"""Events -> expected accuracy over a uniformly random phase of the grid, without a single random number.

For a grid with uniform phase the expected sum of X over segments is :math:`\frac{1}{d_q} \int X(s) ds` over window
starts s, and every X is linear between a few events' ends, so sums replace integrals and the result is exact; a law of
criteria is integrated on its panels (:class:`~weakly.model.criterion_law.LawTable`), to about 1e-12. The number of
segments and the seconds heard are the expectations of the same random phase (:mod:`~weakly.model.placement`, which
also names the edge rules).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..model.answer_model import AnswerModel, AnswerModels
from ..model.detection import detection_at_random
from ..model.intervals import EventArrays
from ..model.placement import Edge, Placement
from . import means as folding
from . import sweep
from . import tally as col

Array = NDArray[np.float64]


def measure(timelines: EventArrays, segment_length: float, who: AnswerModels, how: Placement) -> tuple[Array, Array]:
    """The expected measures of every recording (R, columns, SCORES) and (R, EXPOSURE) over a random phase.

    ``how.means``: also the mean accuracy per recording and per segment, which costs more than all else together; else
    these are NaN.
    """
    n, w, mode = len(timelines), float(segment_length), int(how.edge)
    if mode == Edge.CIRCULAR:
        check_circles(timelines, w)
    raw, base = np.zeros((n, len(who), len(col.SCORES))), np.zeros((n, len(col.EXPOSURE)))
    criteria, place = who.sorted
    where = (np.ascontiguousarray(timelines.bounds), timelines.starts, timelines.lengths, w, mode)
    kept = sweep.most_pieces(len(timelines.bounds), n, mode) if how.means or who.criteria is None else 0
    rows = np.empty((kept, 8))
    first = sweep.sweep(*where, criteria, raw[:, : len(criteria[0])], base, rows)
    rows = rows[: first[-1]]
    if who.criteria is not None:
        if how.means:
            folding.at_criteria(rows, first, w, folding.folded(rows, first, w), criteria, raw, base)
        return raw[:, place], base
    mean = Means(w, rows, first, base) if how.means else None
    for c, one in enumerate(who):
        _column(raw[:, c], base, timelines, one, (w, mode, rows, first, mean))
    if mean is None:
        raw[..., [col.MEAN, col.FIT]] = np.nan
    return raw, base


def check_circles(timelines: EventArrays, w: float) -> None:
    """Refuse recordings that are shorter than a segment, where their ends are joined."""
    if (timelines.lengths < w * (1 - 1e-9)).any():
        r = int(np.flatnonzero(timelines.lengths < w)[0])
        raise InvalidInput(
            f"segment_length must be at most the recording's length where edge is 'circular', got {w:g} s "
            f"for recording {r} of {timelines.lengths[r]:g} s"
        )


def _column(raw: Array, base: Array, timelines: EventArrays, who: AnswerModel, at: Any) -> None:
    """Fill the column of one observer."""
    w, mode, rows, first, mean = at
    if who.single is None and who.rule is None:
        assert who.annotator is not None
        panels, (nodes, weights) = who.annotator.panels, np.polynomial.legendre.leggauss(8)
        law = (panels.edges, panels.table(who.annotator.probability), (1 + nodes) / 2, weights / 2)
        sweep.with_law(rows, first, w, law, raw)
        if mean is not None:
            mean.of_law(raw, law)
        low = who.low
    else:
        spans = sweep.present_starts(timelines, w, who, mode)
        sweep.over_intervals(rows, first, w, *spans, raw)
        if mean is not None:
            mean.fill(raw, spans)
        low, rise = who.low, who.high - who.low
        if (low, rise) != (0.0, 1.0):  # a guess answers anywhere, the criterion decides the rest
            cover, overlap = base[:, col.EVENT_TIME_SEEN], base[:, col.OVERLAP_TIME]
            raw[:, col.TP] = low * cover + rise * raw[:, col.TP]
            raw[:, col.FP] = low * (overlap - cover) + rise * raw[:, col.FP]
            raw[:, col.N_PRESENT] = low * base[:, col.N_OVERLAPPING] + rise * raw[:, col.N_PRESENT]
            if mean is not None:
                mean.mix(raw, low, rise)
    raw[:, col.FP_OUTSIDE] = low * (base[:, col.LISTENED] - base[:, col.OVERLAP_TIME])
    raw[:, col.N_PRESENT] += low * (base[:, col.N_SEGMENTS] - base[:, col.N_OVERLAPPING])
    a, owner = timelines.bounds[:, 0], timelines.owner
    starts = (0.0, timelines.lengths[owner] - w) if mode == Edge.INSIDE else None
    circle = timelines.lengths[owner] if mode == Edge.CIRCULAR else 0.0
    largest = (np.ascontiguousarray(rows[:, [sweep.START, sweep.SPAN, sweep.FRACTION0, sweep.FRACTION1]]), first)
    found = detection_at_random(
        who,
        event_length=timelines.bounds[:, 1] - a,
        segment_length=w,
        onset=a,
        starts=starts,
        largest=(*largest, owner, circle),
    )
    raw[:, col.N_FOUND] = np.bincount(owner, weights=found, minlength=len(base))


class Means:
    """The mean accuracy per recording and the sum per segment, which need the phase as well as the window's start."""

    def __init__(self, w: float, rows: Array, first: Any, base: Array) -> None:
        self.w, self.rows, self.first = w, rows, first
        n = len(base)
        flat = np.tile([0.0, 1.0, 0.0, 0.0], (n, 1)), np.arange(n + 1), np.zeros(2 * n, np.int64), 2 * np.arange(n + 1)
        self.weights = {col.MEAN: folding.folded(rows, first, w), col.FIT: flat}  # flat: every segment weighs 1
        self.ground, self.before = {}, {}
        for field, weights in self.weights.items():
            self.ground[field], self.before[field] = np.zeros((n, 3)), np.zeros(len(rows))
            folding.grounds(rows, first, w, weights, self.ground[field], self.before[field])
        base[:, col.N_MEETING] = self.ground[col.MEAN][:, 2]

    def fill(self, raw: Array, spans: tuple[Array, Any]) -> None:
        """Both means where windows that start within the spans are present."""
        for field, weights in self.weights.items():
            gain = np.zeros(len(raw))
            folding.gains(self.rows, self.first, self.w, weights, self.before[field], *spans, gain)
            raw[:, field] = self.ground[field][:, 0] + gain

    def mix(self, raw: Array, low: float, rise: float) -> None:
        """Both means of one criterion with noise, from those without: linear in the chance of present."""
        for field, ground in self.ground.items():
            absent, present, _ = ground.T
            raw[:, field] = absent + low * (present - absent) + rise * (raw[:, field] - absent)

    def of_law(self, raw: Array, law: Any) -> None:
        """Both means where the largest event fraction gives the chance of present."""
        for field, weights in self.weights.items():
            gain = np.zeros(len(raw))
            folding.law_gains(self.rows, self.first, self.w, weights, law, gain)
            raw[:, field] = self.ground[field][:, 0] + gain
