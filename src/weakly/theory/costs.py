r"""What labeling costs, in closed form: targets, budgets, break-even with the oracle, and recursive bisection.

The answers are for one event length; the number of queries of fixed segments is :math:`T / d_q`, which need not be
whole, as in the paper. Bisection: a part of a segment holds no more of the event than the segment does, so a present
leaf has only present ancestors; halving every present segment returns exactly the labels of the finest fixed grid, and
asks only where an event is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.errors import InvalidInput
from ..base.symbols import check, whole
from ..model.annotator import TIE
from ..model.answer_model import AnswerLike
from ..model.cost import Cost
from ..model.lengths import LengthLike
from .optimum import optimal_segment_length
from .single import FloatOrArray, out
from .single import overlap_accuracy as accuracy_given_overlap


def longest_segment_length(
    *, event_length: LengthLike, presence_criterion: ArrayLike, overlap_accuracy: ArrayLike | None = None,
    wrong_time: ArrayLike | None = None,
) -> FloatOrArray:  # fmt: skip
    r"""The longest, hence cheapest, segment length that still meets a target; NaN where no length does.

    .. math::
        \delta_{max}(\alpha) =
        \frac{1 + 2\gamma - \alpha + \sqrt{(1 + 2\gamma - \alpha)^2 - 8 \alpha \gamma^2}}{2 \alpha}, \qquad
        \delta_{max}(\epsilon) = \frac{2\gamma + \epsilon + \sqrt{(2\gamma + \epsilon)^2 - 8\gamma^2}}{2}

    for an accuracy given overlap of at least :math:`\alpha`, or at most :math:`\epsilon d_e` seconds of wrong label per
    event; :math:`d_q = \delta_{max} d_e`.

    Parameters
    ----------
    event_length : d_e, s, > 0.
    presence_criterion : gamma in (0, 1].
    overlap_accuracy : the target alpha in (0, 1]; or
    wrong_time : the target in seconds per event, > 0.

    Notes
    -----
    From Theorems 1 and 3 of the paper, solved for the segment length. One event, uniform offset.

    Examples
    --------
    >>> float(longest_segment_length(event_length=1, presence_criterion=0.5, wrong_time=0.5))
    1.0
    """
    d, g = check("event_length", event_length), check("presence_criterion", presence_criterion)
    if (overlap_accuracy is None) == (wrong_time is None):
        raise InvalidInput("give one target: overlap_accuracy or wrong_time")
    if overlap_accuracy is not None:
        target = check("presence_criterion", overlap_accuracy, called="overlap_accuracy")
        sums, product = (1 + 2 * g - target) / target, 2 * g**2 / target
    else:
        sums, product = 2 * g + check("wrong_time", wrong_time) / d, 2 * g**2
    # The two lengths that meet the target exactly have this sum and product (in event lengths); the longer one is ours.
    square = sums**2 - 4 * product
    square = np.where(np.abs(square) <= 1e-14 * sums**2, 0.0, square)
    with np.errstate(invalid="ignore"):
        ratio = (sums + np.sqrt(square)) / 2
    return np.where((square >= 0) & (ratio >= g), ratio * d, np.nan)[()]


def minimal_cost(
    *, event_length: LengthLike, presence_criterion: ArrayLike, recording_length: ArrayLike,
    overlap_accuracy: ArrayLike | None = None, wrong_time: ArrayLike | None = None, cost: Cost | None = None,
) -> FloatOrArray:  # fmt: skip
    r"""The least cost of fixed segments that meet a target; infinite where none do.

    .. math:: C_{min} = (1 - r) T + r T / (\delta_{max} d_e)

    Parameters are those of :func:`longest_segment_length`, with the recording length T (s) and a :class:`Cost`.

    Examples
    --------
    >>> work = {"event_length": 1, "presence_criterion": 0.5, "recording_length": 100}
    >>> round(float(minimal_cost(overlap_accuracy=0.7, **work)), 4)
    88.0742
    """
    total = check("recording_length", recording_length)
    longest = longest_segment_length(
        event_length=event_length, presence_criterion=presence_criterion,
        overlap_accuracy=overlap_accuracy, wrong_time=wrong_time,
    )  # fmt: skip
    price = (cost or Cost(query_cost_share=0.5)).of(listened=total, n_queries=total / longest)
    return np.where(np.isnan(price), np.inf, price)[()]


def affordable_segment_length(
    *, event_length: LengthLike, presence_criterion: AnswerLike, recording_length: ArrayLike, budget: ArrayLike,
    cost: Cost | None = None,
) -> FloatOrArray:  # fmt: skip
    r"""The segment length with the best accuracy given overlap that the budget allows; NaN if it allows no query.

    .. math:: d_q = \max(d_q^*, T / B), \qquad B = (C - (1 - r) T) / r

    Longer than :math:`d_q^*` is cheaper and worse; shorter is dearer and worse.

    Examples
    --------
    >>> work = {"event_length": 1, "presence_criterion": 0.5, "recording_length": 100}
    >>> affordable_segment_length(budget=[80, 500], **work).round(4).tolist()
    [1.6667, 0.809]
    """
    total = check("recording_length", recording_length)
    best = optimal_segment_length(event_length=event_length, presence_criterion=presence_criterion)
    price = cost or Cost(query_cost_share=0.5)
    affordable = np.asarray(price.queries(budget=check("cost", budget, called="budget"), listened=total))
    with np.errstate(divide="ignore"):
        length = np.maximum(best, total / affordable)
    return np.where(affordable > 0, length, np.nan)[()]


def affordable_accuracy(
    *, event_length: LengthLike, presence_criterion: AnswerLike, recording_length: ArrayLike, budget: ArrayLike,
    cost: Cost | None = None,
) -> FloatOrArray:  # fmt: skip
    """The best accuracy given overlap that fixed segments reach within the budget; NaN if it allows no query.

    Parameters are those of :func:`affordable_segment_length`.

    Examples
    --------
    >>> work = {"event_length": 1, "presence_criterion": 0.5, "recording_length": 100}
    >>> round(float(affordable_accuracy(budget=80, **work)), 6)
    0.6375
    """
    events: Any = {"event_length": event_length, "presence_criterion": presence_criterion}
    length = affordable_segment_length(recording_length=recording_length, budget=budget, cost=cost, **events)
    value = accuracy_given_overlap(segment_length=np.where(np.isnan(length), 1.0, length), **events)
    return np.where(np.isnan(length), np.nan, value)[()]


def cost_ratio(
    *, recording_length: ArrayLike, n_events: ArrayLike, event_length: LengthLike = 1.0,
    presence_criterion: AnswerLike = 0.5, segment_length: ArrayLike | None = None, overestimation: ArrayLike = 1.0,
    query_cost_share: ArrayLike = 0.5,
) -> FloatOrArray:  # fmt: skip
    r"""The cost of fixed segments over the cost of the oracle, :math:`C_{FIX} / C_{ORC}`.

    .. math:: \frac{(1 - r) T + r T / d_q}{(1 - r) T + r s (2 M + 1)}

    with :math:`d_q = d_q^*` unless given. Above 1 the oracle is cheaper. Numbers or arrays, which broadcast.

    Notes
    -----
    The cost model of the paper with :math:`B_{ORC} = s (2 M + 1)`, as its text defines it (the code of the paper has
    :math:`2 s M + 1`, E16).

    Examples
    --------
    >>> round(float(cost_ratio(recording_length=100, n_events=1)), 4)
    2.1709
    """
    total, share = check("recording_length", recording_length), check("query_cost_share", query_cost_share)
    if segment_length is None:
        segment_length = optimal_segment_length(event_length=event_length, presence_criterion=presence_criterion)
    width = check("segment_length", segment_length)
    oracle = check("overestimation", overestimation) * (2 * check("n_events", n_events) + 1)
    return out(((1 - share) * total + share * total / width) / ((1 - share) * total + share * oracle))


def break_even_events(
    *, recording_length: ArrayLike, segment_length: ArrayLike, overestimation: ArrayLike = 1.0
) -> FloatOrArray:
    r"""The number of events at which fixed segments and the oracle cost the same; with fewer the oracle is cheaper.

    .. math:: M^* = (T / (s d_q) - 1) / 2

    Negative where the oracle is dearer even without events. The price of a query does not matter, as both methods hear
    the whole recording (E17, E18).

    Examples
    --------
    >>> from weakly import optimal_segment_length
    >>> best = optimal_segment_length(event_length=1, presence_criterion=0.5)
    >>> round(float(break_even_events(recording_length=100, segment_length=best, overestimation=8)), 4)
    7.2254
    """
    total, width = check("recording_length", recording_length), check("segment_length", segment_length)
    return out((total / (check("overestimation", overestimation) * width) - 1) / 2)


def break_even_overestimation(
    *, recording_length: ArrayLike, segment_length: ArrayLike, n_events: ArrayLike
) -> FloatOrArray:
    r"""The overestimation at which fixed segments and the oracle cost the same; with less the oracle is cheaper.

    .. math:: s^* = T / (d_q (2 M + 1))

    Examples
    --------
    >>> float(break_even_overestimation(recording_length=90, segment_length=1, n_events=1))
    30.0
    """
    total, width = check("recording_length", recording_length), check("segment_length", segment_length)
    return out(total / (width * (2 * check("n_events", n_events) + 1)))


def break_even_recording_length(
    *, segment_length: ArrayLike, n_events: ArrayLike, overestimation: ArrayLike = 1.0
) -> FloatOrArray:
    r"""The recording length at which fixed segments and the oracle cost the same; in longer ones the oracle is cheaper.

    .. math:: T^* = s (2 M + 1) d_q

    Examples
    --------
    >>> float(break_even_recording_length(segment_length=2, n_events=1, overestimation=8))
    48.0
    """
    width, count = check("segment_length", segment_length), check("n_events", n_events)
    return out(check("overestimation", overestimation) * (2 * count + 1) * width)


def _present_per_level(
    levels: Any, start_level: Any, recording_length: Any, event_length: Any, criterion: Any
) -> tuple[int, float, list[float]]:
    """The first level, T, and per level the expected number of present segments of length T / 2^j for one event placed
    uniformly in the recording; 0 before the first level."""
    depth, first = whole("levels", levels, least=0, most=24), whole("start_level", start_level, least=0)
    if first > depth:
        raise InvalidInput(f"start_level must be at most levels = {depth}, got {first}")
    total, d = float(check("recording_length", recording_length)), float(check("event_length", event_length))
    need = float(check("presence_criterion", criterion)) * d
    if d > total:
        raise InvalidInput(f"event_length must be at most recording_length {total:g}, got {d:g}")
    counts = [0.0] * first
    for level in range(first, depth):
        width = total / 2**level
        if need > width * (1 + TIE):
            counts.append(0.0)
        elif d == total:
            counts.append(float(2**level))
        else:
            start = width * np.arange(2**level)
            low, high = np.maximum(start - d + need, 0.0), np.minimum(start + width - need, total - d)
            counts.append(float(np.maximum(high - low, 0.0).sum() / (total - d)))
    return first, total, counts


def bisection_queries(
    *, recording_length: ArrayLike, levels: int, event_length: LengthLike, presence_criterion: ArrayLike,
    start_level: int = 0,
) -> float:  # fmt: skip
    r"""Expected number of queries of recursive bisection in a recording with one event.

    .. math:: 2^{j_0} + 2\sum_{j=j_0}^{J-1} E N_j

    where :math:`N_j` counts the present segments of length :math:`T/2^j`; without edges, from the whole recording on,
    about :math:`1 + 2J + 2(1-2\gamma)(d_e/l)(1-2^{-J})` with :math:`l = T/2^J`.

    Parameters
    ----------
    recording_length : T in seconds; the event lies in it uniformly.
    levels : J; the finest segments have the length :math:`T/2^J`.
    start_level : :math:`j_0`; the first queries are the :math:`2^{j_0}` segments of that level.

    Examples
    --------
    >>> round(bisection_queries(recording_length=102.4, levels=7, event_length=1, presence_criterion=0.3), 4)
    15.9467
    """
    first, _, present = _present_per_level(levels, start_level, recording_length, event_length, presence_criterion)
    return 2.0**first + 2 * sum(present)


def bisection_listened(
    *, recording_length: ArrayLike, levels: int, event_length: LengthLike, presence_criterion: ArrayLike,
    start_level: int = 0,
) -> float:  # fmt: skip
    r"""Expected seconds heard in recursive bisection with one event: :math:`T + \sum_{j \ge j_0} E N_j\, T/2^j`.

    Examples
    --------
    >>> round(bisection_listened(recording_length=102.4, levels=7, event_length=1, presence_criterion=0.5) / 102.4, 2)
    2.98
    """
    _, total, present = _present_per_level(levels, start_level, recording_length, event_length, presence_criterion)
    return total + sum(count * total / 2.0**level for level, count in enumerate(present))


def optimal_start_level(
    *, recording_length: ArrayLike, n_events: ArrayLike, query_cost_share: ArrayLike, levels: int
) -> int:
    r"""The level at which bisection should start, from :math:`2^{j_0} \approx \sqrt{2MT(1-r)/r}`, at most ``levels``.

    Starting too high re-listens, starting too low asks needless queries.

    Examples
    --------
    >>> optimal_start_level(recording_length=102.4, n_events=1, query_cost_share=0.5, levels=7)
    4
    """
    depth = whole("levels", levels, least=0, most=24)
    total, count = float(check("recording_length", recording_length)), float(check("n_events", n_events))
    share = float(check("query_cost_share", query_cost_share))
    if share == 0:
        return depth
    wished = np.sqrt(2 * count * total * (1 - share) / share)
    return int(np.clip(round(np.log2(max(wished, 1.0))), 0, depth))
