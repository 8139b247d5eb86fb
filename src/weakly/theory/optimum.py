r"""The best segment length and the best accuracy: closed forms, exact sweeps over samples, searches, and bounds.

Between two neighbouring products :math:`\gamma d_i` of a sorted sample the same events can be noticed, so the expected
wrong time is :math:`A/q + B + p_0 q` with constants from prefix sums, and its minimum, or that of its ratio to
:math:`\mu + q`, is the root of a quadratic. The best of n roots and n ends is the exact optimum: O(n log n).

:math:`f^*(\gamma)` of Theorem 3 bounds the accuracy given overlap for every law of lengths, as long as events lie at
least one segment length apart: f depends on the event length through the ratio only, so every average of it, over
events or over segments, stays below its largest value. Closer events break it (E23). What always holds is
:math:`F \le \max(c, 1-c)`, c the share of the segment that events cover.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..base.errors import InvalidInput
from ..base.symbols import check, choice
from ..model.answer_model import AnswerLike, AnswerModel
from ..model.intervals import Floats
from ..model.lengths import LengthLike, Lengths
from .single import FloatOrArray, asked, best_overlap_accuracy, best_ratio, event_weighted, expected, out

#: Central differences of order eight: the first derivative from four points on either side.
_OFFSETS = np.array([-4, -3, -2, -1, 1, 2, 3, 4.0])
_FACTORS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


def optimal_segment_length(
    *, event_length: LengthLike, presence_criterion: AnswerLike | None = None, objective: str = "overlap",
    rule: AnswerLike | None = None, annotator: AnswerLike | None = None, weighting: str = "segment",
) -> FloatOrArray:  # fmt: skip
    r"""The segment length, in seconds, that maximises the expected accuracy.

    .. math:: d_q^* = d_e \gamma \frac{2\gamma + \sqrt{4\gamma^2 + 4\gamma + 2}}{2\gamma + 1}
        \text{ (given overlap)}, \qquad d_q = \sqrt 2\, \gamma d_e \text{ (whole recording)}

    Parameters
    ----------
    event_length : :math:`d_e` in seconds, > 0: numbers, or a law of lengths.
    presence_criterion, rule, annotator : who answers, one of them; see :func:`overlap_accuracy`.
    objective : ``overlap`` maximises the accuracy given overlap (Theorem 2), ``recording`` that of the whole recording,
        which is to minimise the wrong time (E7).
    weighting : for a law of lengths and ``overlap``: ``segment`` maximises the accuracy of the segments that meet an
        event, exactly for a sample; ``event`` the average over events (eq. 13 of the paper, E20).

    Notes
    -----
    Theorem 2 of the paper. A rule under which shorter segments are always better, such as any overlap, has no optimum;
    that is an InvalidInput.

    Examples
    --------
    >>> round(optimal_segment_length(event_length=1, presence_criterion=0.5), 6)
    0.809017
    >>> round(optimal_segment_length(event_length=1, presence_criterion=0.5, objective="recording"), 6)
    0.707107
    """
    objective = choice("objective", objective, ("overlap", "recording"))
    weighting = choice("weighting", weighting, ("event", "segment"))
    d, _, who = asked(event_length, 1.0, presence_criterion, rule, annotator)
    if isinstance(d, Lengths) and d.values is not None and d.values.size == 1:
        d = d.values[0] + np.zeros(())
    if not isinstance(d, Lengths):
        if who.criterion is not None:
            ratio = best_ratio(who.criterion) if objective == "overlap" else np.sqrt(2.0) * who.criterion
            return out(d * ratio)
        if who.annotator is not None:  # scale-free: one search serves every length
            return out(d * _search(Lengths.fixed(1.0), who, objective, weighting))
        return out(np.vectorize(lambda each: _search(Lengths.fixed(each), who, objective, weighting))(d))
    if who.criterion is None:
        return out(_search(d, who, objective, weighting))
    exact = d.values is not None and (objective == "recording" or weighting == "segment")
    table = np.empty(who.shape)
    for index, g in np.ndenumerate(who.criterion):
        single = AnswerModel(criterion=np.asarray(g))
        table[index] = _exact(d, float(g), objective) if exact else _search(d, single, objective, weighting)
    return out(table)


def _exact(lengths: Lengths, g: float, objective: str) -> float:
    """The optimum over a sample: on each stretch between neighbouring g * d_i the root of a quadratic."""
    d = np.asarray(lengths.values)
    p0, m1, m2 = lengths.partial_moments(d)
    mean = lengths.mean
    start, end = g * d, np.append(g * d[1:], np.inf)
    a = 2 * g * g * m2
    if objective == "recording":
        root = np.sqrt(a / p0)
    else:
        slope = (1 + 2 * g) * m1 - (1 - p0) * mean
        rising = slope > 0
        safe = np.where(rising, slope, 1.0)
        # slope q^2 - 2 a q - a mean = 0; where the slope is not positive the accuracy rises up to the next stretch.
        root = np.where(rising, (a + np.sqrt(a * a + safe * a * mean)) / safe, np.inf)
    # At its end each stretch is beaten by the start of the next, where one more event is noticed.
    q = np.where((root > start) & (root < end), root, start)
    wrong = a / q + (mean - m1 - 2 * g * m1) + p0 * q
    score = wrong if objective == "recording" else wrong / (mean + q)
    return float(q[int(np.argmin(score))])


def _search(lengths: Lengths, who: AnswerModel, objective: str, weighting: str) -> float:
    """The optimum by a search over segment lengths."""

    def score(q: Floats) -> Floats:
        if objective == "overlap" and weighting == "event":
            return event_weighted(lengths, q, who)
        per_event = expected(lengths, q, who)
        return -per_event.wrong if objective == "recording" else per_event.right_share

    low, high = lengths.quantile(1e-3), lengths.quantile(1 - 1e-6)
    jumps = _jumps(lengths, who)
    bottom, top = 1e-4 * low, 50 * high
    best, value = maximise(score, bottom, top, extra=jumps)
    edge = np.asarray(score(np.array([bottom, top])))
    if edge.max() >= value - 1e-12 * abs(value):
        better = "shorter" if edge[0] >= edge[1] else "longer"
        name = who.rule.name if who.rule is not None else "this annotator"
        raise InvalidInput(f"there is no optimal segment length for {name}: {better} segments are always better")
    return best


def _jumps(lengths: Lengths, who: AnswerModel) -> Floats:
    """Segment lengths at which a length of the sample becomes noticeable; the accuracy jumps up there."""
    values = np.array([1.0]) if lengths.values is None else lengths.values
    if values.size > 2000:
        values = values[np.linspace(0, values.size - 1, 2000).astype(int)]
    lengths_at = [values]
    if who.single is not None:
        lengths_at.append(values * who.single)
    for form in who.rule.forms if who.rule is not None else ():
        need = form.event_share * values + form.seconds
        lengths_at.append(2 * need - values if form.margin else need / max(1e-9, 1 - form.segment_share))
    return np.unique(np.concatenate(lengths_at))


def overlap_accuracy_bound(*, event_length: LengthLike, segment_length: ArrayLike) -> FloatOrArray:
    r"""The largest accuracy given overlap that any annotator reaches on one event with this segment length.

    .. math:: E[\max(c, 1-c) \mid \text{overlap}] = \frac{2+\delta}{2(1+\delta)} \text{ if } \delta \le 2,
        \text{ else } \frac{\delta}{1+\delta}

    Notes
    -----
    The criterion :math:`\gamma = \delta/2` attains it for :math:`\delta \le 2`: :func:`ideal_criterion`.

    Examples
    --------
    >>> overlap_accuracy_bound(event_length=1, segment_length=1)
    0.75
    """
    ratio = np.asarray(check("segment_length", segment_length)) / check("event_length", event_length)
    return out(np.where(ratio <= 2, (2 + ratio) / 2, ratio) / (1 + ratio))


def ideal_criterion(*, event_length: LengthLike, segment_length: ArrayLike) -> FloatOrArray:
    r"""The presence criterion that suits a segment length best, :math:`\delta/2`; NaN beyond :math:`\delta = 2`.

    Beyond two event lengths it is best to call every segment absent, which no criterion does.

    Examples
    --------
    >>> ideal_criterion(event_length=2, segment_length=1)
    0.25
    """
    ratio = np.asarray(check("segment_length", segment_length)) / check("event_length", event_length)
    return out(np.where(ratio <= 2, ratio / 2, np.nan))


def critical_event_rate(*, event_length: LengthLike, presence_criterion: ArrayLike) -> FloatOrArray:
    r"""The rate of uniformly placed events, per second, from which :math:`f^*` is no upper bound.

    .. math:: \lambda d_e = -\ln(1 - f^*(\gamma))

    Denser recordings are covered to more than :math:`f^*`; one long segment, labelled present, beats it.

    Examples
    --------
    >>> round(critical_event_rate(event_length=1, presence_criterion=0.5), 4)
    1.4436
    """
    best = np.asarray(best_overlap_accuracy(presence_criterion=presence_criterion))
    return out(-np.log1p(-best) / check("event_length", event_length))


def maximise(
    function: Callable[[Floats], Floats], low: float, high: float, *, extra: Sequence[float] | Floats = ()
) -> tuple[float, float]:
    """Where a vectorised function is largest between low and high, and its value there.

    A logarithmic grid (with the extra points, such as jumps) finds the humps; the best few are closed in on until the
    grid is finer than rounding lets a maximum be seen; a root of the derivative then gives the remaining digits.
    """
    points = np.geomspace(low, high, 385)
    more = np.asarray(extra, dtype=np.float64)
    points = np.unique(np.concatenate((points, more[(more > low) & (more < high)])))
    values = np.asarray(function(points))
    padded = np.concatenate(([-np.inf], values, [-np.inf]))
    peaks = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
    peaks = peaks[np.argsort(-values[peaks], kind="stable")][:4]
    return max((_close_in(function, points, values, int(peak)) for peak in peaks), key=lambda pair: pair[1])


def _close_in(function: Callable[[Floats], Floats], points: Floats, values: Floats, peak: int) -> tuple[float, float]:
    left, right = points[max(peak - 1, 0)], points[min(peak + 1, points.size - 1)]
    best, value = float(points[peak]), float(values[peak])
    while right - left > 1e-7 * best:
        grid = np.linspace(left, right, 33)
        inside = np.asarray(function(grid))
        k = int(np.argmax(inside))
        if inside[k] > value:
            best, value = float(grid[k]), float(inside[k])
        step = (right - left) / 32
        left, right = max(left, best - step), min(right, best + step)
    return _polish(function, best, value)


def _polish(function: Callable[[Floats], Floats], best: float, value: float) -> tuple[float, float]:
    """The root of the derivative beside ``best``; ``best`` itself where the function is not smooth there."""
    step = 1e-3 * best

    def slope(x: float) -> float:
        return float(_FACTORS @ np.asarray(function(x + step * _OFFSETS)) / step)

    a, b = best * (1 - 1e-6), best * (1 + 1e-6)
    sa, sb = slope(a), slope(b)
    if not sa > 0 > sb:
        return best, value
    for _ in range(3):  # the secant of a slope that is nearly linear
        middle = a - sa * (b - a) / (sb - sa)
        sm = slope(middle)
        if sm > 0:
            a, sa = middle, sm
        elif sm < 0:
            b, sb = middle, sm
        else:
            break
    refined = float(np.asarray(function(np.array([middle])))[0])
    return (middle, refined) if refined >= value - 4e-15 else (best, value)
