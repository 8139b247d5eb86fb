r"""What labeling costs, and what a target or a budget makes of it, in closed form.

The paper's model charges :math:`1 - r` for every second heard and :math:`r` for every answer:

.. math:: C(T, B) = (1 - r) T + r B

:class:`Cost` holds it, or the same model in money or seconds of work. The functions below it answer for one event
length: the cheapest segment length that meets a target, the best accuracy that a budget buys, and where fixed segments
and the oracle cost the same. They take the number of queries as :math:`T / d_q`, which need not be whole, as the paper
does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import InvalidInput
from .symbols import check, whole
from .theory import optimal_segment_length, overlap_accuracy


@dataclass(frozen=True, init=False)
class Cost:
    r"""The price of labeling: per second heard and per query answered, for each of the annotators.

    Parameters
    ----------
    query_cost_share : r in [0, 1], the paper's model: a second costs 1 - r, a query r (0.5 unless told). No unit.
    per_second, per_query : instead, the price of a second heard and of a query, each >= 0.
    currency : what the prices are in: "EUR", "USD", ..., or "s" for seconds of work.
    annotators : how many people label every segment.

    Examples
    --------
    >>> Cost(query_cost_share=0.5).of(listened=100, n_queries=124)
    112.0
    >>> Cost(per_second=0.01, per_query=0.05, currency="EUR", annotators=3).of(listened=100, n_queries=124)
    21.6
    """

    per_second: float
    per_query: float
    currency: str
    annotators: int
    query_cost_share: float | None

    def __init__(
        self,
        *,
        query_cost_share: float | None = None,
        per_second: float | None = None,
        per_query: float | None = None,
        currency: str = "EUR",
        annotators: int = 1,
    ) -> None:
        priced = per_second is not None or per_query is not None
        if priced and query_cost_share is not None:
            raise InvalidInput("give query_cost_share, or per_second and per_query, not both")
        share = None
        if priced:
            second = float(check("cost", 0.0 if per_second is None else per_second, called="per_second"))
            query = float(check("cost", 0.0 if per_query is None else per_query, called="per_query"))
            if second == query == 0:
                raise InvalidInput("per_second and per_query must not both be 0: everything would be free")
        else:
            share = float(check("query_cost_share", 0.5 if query_cost_share is None else query_cost_share))
            second, query, currency = 1 - share, share, ""
        for name, value in (
            ("per_second", second),
            ("per_query", query),
            ("currency", str(currency)),
            ("annotators", whole("annotators", annotators)),
            ("query_cost_share", share),
        ):
            object.__setattr__(self, name, value)

    def of(self, *, listened: Any, n_queries: Any) -> Any:
        """The cost of hearing so many seconds and answering so many queries; numbers or arrays."""
        return self.annotators * (self.per_second * listened + self.per_query * n_queries)

    def queries(self, *, budget: Any, listened: Any) -> Any:
        """The queries that the budget leaves after the listening is paid; infinite where a query is free."""
        left = np.asarray(budget, dtype=np.float64) / self.annotators - self.per_second * np.asarray(listened)
        if self.per_query == 0:
            return np.where(left >= 0, np.inf, 0.0)[()]
        return (np.maximum(left, 0.0) / self.per_query)[()]

    def words(self, amount: float) -> str:
        """The amount as people say it.

        >>> Cost(per_second=1, per_query=2, currency="s").words(5400), Cost().words(111.8)
        ('1.5 hours of work', '112 cost units')
        """
        if self.currency == "s":
            return f"{hours(amount)} of work"
        number = f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}"
        return f"{number} {self.currency or 'cost units'}"

    @property
    def description(self) -> str:
        """The model in words."""
        if self.query_cost_share is not None:
            price = f"a second heard costs {self.per_second:g}, a query {self.per_query:g} (the paper's units)"
        else:
            price = (
                f"a second heard costs {self.per_second:g} {self.currency}, a query {self.per_query:g} {self.currency}"
            )
        return price + (f"; {self.annotators} annotators label every segment" if self.annotators > 1 else "")


def hours(seconds: float) -> str:
    """A time as people say it.

    >>> hours(13000), hours(130), hours(60), hours(13)
    ('3.6 hours', '2.2 minutes', '1 minute', '13 seconds')
    """
    size, word = next((pair for pair in ((3600.0, "hour"), (60.0, "minute")) if seconds >= pair[0]), (1.0, "second"))
    value = seconds / size
    said = f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
    return f"{said} {word}{'' if said == '1' else 's'}"


def longest_segment_length(
    *, event_length: Any, presence_criterion: Any, overlap_accuracy: Any = None, wrong_time: Any = None
) -> Any:
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
        sums, product, scale = (1 + 2 * g - target) / target, 2 * g**2 / target, d
    else:
        target = check("wrong_time", wrong_time) / d
        sums, product, scale = 2 * g + target, 2 * g**2, d
    # The two lengths that meet the target exactly have this sum and product (in event lengths); the longer one is ours.
    square = sums**2 - 4 * product
    square = np.where(np.abs(square) <= 1e-14 * sums**2, 0.0, square)
    with np.errstate(invalid="ignore"):
        ratio = (sums + np.sqrt(square)) / 2
    return np.where((square >= 0) & (ratio >= g), ratio * scale, np.nan)[()]


def minimal_cost(
    *,
    event_length: Any,
    presence_criterion: Any,
    recording_length: Any,
    overlap_accuracy: Any = None,
    wrong_time: Any = None,
    cost: Cost | None = None,
) -> Any:
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
        event_length=event_length,
        presence_criterion=presence_criterion,
        overlap_accuracy=overlap_accuracy,
        wrong_time=wrong_time,
    )
    price = (cost or Cost()).of(listened=total, n_queries=total / longest)
    return np.where(np.isnan(price), np.inf, price)[()]


def affordable_segment_length(
    *, event_length: Any, presence_criterion: Any, recording_length: Any, budget: Any, cost: Cost | None = None
) -> Any:
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
    affordable = np.asarray((cost or Cost()).queries(budget=check("cost", budget, called="budget"), listened=total))
    with np.errstate(divide="ignore"):
        length = np.maximum(best, total / affordable)
    return np.where(affordable > 0, length, np.nan)[()]


def affordable_accuracy(
    *, event_length: Any, presence_criterion: Any, recording_length: Any, budget: Any, cost: Cost | None = None
) -> Any:
    """The best accuracy given overlap that fixed segments reach within the budget; NaN if it allows no query.

    Parameters are those of :func:`affordable_segment_length`.

    Examples
    --------
    >>> work = {"event_length": 1, "presence_criterion": 0.5, "recording_length": 100}
    >>> round(float(affordable_accuracy(budget=80, **work)), 6)
    0.6375
    """
    length = np.asarray(
        affordable_segment_length(
            event_length=event_length,
            presence_criterion=presence_criterion,
            recording_length=recording_length,
            budget=budget,
            cost=cost,
        )
    )
    known = np.where(np.isnan(length), 1.0, length)
    value = overlap_accuracy(event_length=event_length, segment_length=known, presence_criterion=presence_criterion)
    return np.where(np.isnan(length), np.nan, value)[()]


def cost_ratio(
    *,
    recording_length: Any,
    n_events: Any,
    event_length: Any = 1.0,
    presence_criterion: Any = 0.5,
    segment_length: Any = None,
    overestimation: Any = 1.0,
    query_cost_share: Any = 0.5,
) -> Any:
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
        width = optimal_segment_length(event_length=event_length, presence_criterion=presence_criterion)
    else:
        width = check("segment_length", segment_length)
    oracle = check("overestimation", overestimation) * (2 * check("n_events", n_events) + 1)
    return ((1 - share) * total + share * total / width) / ((1 - share) * total + share * oracle)


def break_even_events(*, recording_length: Any, segment_length: Any, overestimation: Any = 1.0) -> Any:
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
    return (total / (check("overestimation", overestimation) * width) - 1) / 2


def break_even_overestimation(*, recording_length: Any, segment_length: Any, n_events: Any) -> Any:
    r"""The overestimation at which fixed segments and the oracle cost the same; with less the oracle is cheaper.

    .. math:: s^* = T / (d_q (2 M + 1))

    Examples
    --------
    >>> float(break_even_overestimation(recording_length=90, segment_length=1, n_events=1))
    30.0
    """
    total, width = check("recording_length", recording_length), check("segment_length", segment_length)
    return total / (width * (2 * check("n_events", n_events) + 1))


def break_even_recording_length(*, segment_length: Any, n_events: Any, overestimation: Any = 1.0) -> Any:
    r"""The recording length at which fixed segments and the oracle cost the same; in longer ones the oracle is cheaper.

    .. math:: T^* = s (2 M + 1) d_q

    Examples
    --------
    >>> float(break_even_recording_length(segment_length=2, n_events=1, overestimation=8))
    48.0
    """
    width, count = check("segment_length", segment_length), check("n_events", n_events)
    return check("overestimation", overestimation) * (2 * count + 1) * width
