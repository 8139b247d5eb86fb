r"""What labeling costs: hours of work, their wage, or a price per second heard and per answer.

Work takes

.. math:: W = \frac{\text{heard}}{v} + t_a \, \text{answers} + t_t \, \text{ticks} + t_e \, \text{marks}

seconds: everything is heard (or viewed) at the speed v, an answer takes :math:`t_a` seconds besides, a class that is
ticked :math:`t_t`, an event that is marked by hand :math:`t_e`. The paper's model charges :math:`1 - r` for every
second heard and :math:`r` for every answer. What a target or a budget makes of it, in closed form, is in
:mod:`weakly.theory`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import InvalidInput
from ..base.results import format_length
from ..base.results import hours as hours
from ..base.symbols import check, whole


@dataclass(frozen=True, init=False)
class Cost:
    r"""The price of labeling: hours of work unless told otherwise.

    Parameters
    ----------
    per_hour : the wage of an hour; left out, the cost is in hours. per_hour_marking : of those who mark events by hand,
        if it is another.
    currency : what prices are in: "EUR" unless told, "USD", ...; "s" of per_second for seconds of work.
    seconds_per_answer, seconds_per_tick, seconds_per_event : for a present or absent, for each class that is ticked
        where several are asked for at once, and for marking where one event begins and ends.
    speed : seconds of a recording that are heard or viewed in a second (1 for sound; experts page through EEG at about
        8). speed_marking : of those who mark, if it is another.
    query_cost_share : r in [0, 1], the paper's model instead: a second costs 1 - r, a query r. No unit.
    per_second, per_query : instead, the price of a second heard and of a query, each >= 0; a second of marking costs as
        much as one heard, a mark as much as a query.
    annotators : how many people label every segment.

    Examples
    --------
    >>> Cost(per_hour=20).of(listened=3600, n_queries=1200)
    40.0
    >>> Cost().hours(listened=3600, n_queries=1200), Cost().hours(reviewed=3600, n_marks=40)
    (2.0, 1.1666666666666667)
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
    per_hour: float | None
    per_hour_marking: float | None
    seconds_per_answer: float
    seconds_per_tick: float
    seconds_per_event: float
    speed: float
    speed_marking: float

    def __init__(
        self,
        *,
        per_hour: float | None = None,
        currency: str | None = None,
        seconds_per_answer: float | None = None,
        seconds_per_tick: float | None = None,
        seconds_per_event: float | None = None,
        speed: float | None = None,
        per_hour_marking: float | None = None,
        speed_marking: float | None = None,
        query_cost_share: float | None = None,
        per_second: float | None = None,
        per_query: float | None = None,
        annotators: int = 1,
    ) -> None:
        priced = per_second is not None or per_query is not None
        waged = per_hour is not None or per_hour_marking is not None
        if priced + waged + (query_cost_share is not None) > 1:
            raise InvalidInput("give per_hour, or query_cost_share, or per_second and per_query, not several of them")

        def keep(name: str, value: Any, default: Any = None, symbol: str = "cost") -> Any:
            number = default if value is None else float(check(symbol, value, called=name))
            object.__setattr__(self, name, number)
            return number

        answer = keep("seconds_per_answer", seconds_per_answer, 3.0)
        keep("seconds_per_tick", seconds_per_tick, 1.0)
        keep("seconds_per_event", seconds_per_event, 15.0)
        speed = keep("speed", speed, 1.0, "hop")
        keep("speed_marking", speed_marking, speed, "hop")
        wage = keep("per_hour", per_hour)
        marking = keep("per_hour_marking", per_hour_marking, wage)
        if waged and wage is None:
            raise InvalidInput("per_hour_marking needs per_hour, the wage of those who answer (0 for volunteers)")
        if waged and not (wage or marking):
            raise InvalidInput("per_hour must not be 0 for everybody: everything would be free")
        share = keep("query_cost_share", query_cost_share, None, "query_cost_share")
        hour = (1.0 if wage is None else wage) / 3600.0
        usual = (0.0, 0.0) if priced else (hour / speed, hour * answer) if share is None else (1 - share, share)
        second, query = keep("per_second", per_second, usual[0]), keep("per_query", per_query, usual[1])
        if priced and second == query == 0:
            raise InvalidInput("per_second and per_query must not both be 0: everything would be free")
        unit = "" if share is not None else "h" if not priced and wage is None else str(currency or "EUR")
        object.__setattr__(self, "currency", unit)
        object.__setattr__(self, "annotators", whole("annotators", annotators))

    @property
    def is_work(self) -> bool:
        """Whether it follows the hours of work, paid or not."""
        return self.currency == "h" or self.per_hour is not None

    def _seconds(self, listened: Any, n_queries: Any, n_ticks: Any, reviewed: Any, n_marks: Any) -> tuple[Any, Any]:
        """Seconds of answering and of marking, of one person."""
        answering = listened / self.speed + self.seconds_per_answer * n_queries + self.seconds_per_tick * n_ticks
        return answering, reviewed / self.speed_marking + self.seconds_per_event * n_marks

    def hours(
        self, *, listened: Any = 0.0, n_queries: Any = 0.0, n_ticks: Any = 0.0, reviewed: Any = 0.0, n_marks: Any = 0.0
    ) -> Any:
        """Hours of work: so many seconds heard and queries answered with so many ticks; so many seconds reviewed to
        mark so many events by hand."""
        return self.annotators * sum(self._seconds(listened, n_queries, n_ticks, reviewed, n_marks)) / 3600.0

    def of(
        self, *, listened: Any = 0.0, n_queries: Any = 0.0, n_ticks: Any = 0.0, reviewed: Any = 0.0, n_marks: Any = 0.0
    ) -> Any:
        """The cost of the work that :meth:`hours` takes; numbers or arrays."""
        if not self.is_work:
            marking = self.per_second * (reviewed + self.seconds_per_event * n_marks) + self.per_query * n_marks
            return self.annotators * (self.per_second * listened + self.per_query * n_queries + marking)
        answering, marking = self._seconds(listened, n_queries, n_ticks, reviewed, n_marks)
        if self.per_hour is None:
            return self.annotators * (answering + marking) / 3600.0
        return self.annotators * (self.per_hour * answering + (self.per_hour_marking or 0.0) * marking) / 3600.0

    def queries(self, *, budget: Any, listened: Any) -> Any:
        """The queries that the budget leaves after the listening is paid; infinite where a query is free."""
        left = np.asarray(budget, dtype=np.float64) / self.annotators - self.per_second * np.asarray(listened)
        if self.per_query == 0:
            return np.where(left >= 0, np.inf, 0.0)[()]
        return (np.maximum(left, 0.0) / self.per_query)[()]

    def words(self, amount: float) -> str:
        """The amount as people say it.

        >>> Cost().words(1.5), Cost(per_hour=20).words(5000), Cost(query_cost_share=0.5).words(111.8)
        ('1.5 hours of work', '5,000 EUR', '112 cost units')
        """
        if self.currency in ("h", "s"):
            return f"{hours(amount * (3600.0 if self.currency == 'h' else 1.0))} of work"
        number = f"{amount:,.0f}" if amount >= 100 else format_length(amount)
        return f"{number} {self.currency or 'cost units'}"

    @property
    def work(self) -> str:
        """What the hours of work rest on, in words."""
        pace = "" if self.speed == 1 else f", everything heard or viewed at {self.speed:g} times its speed"
        marking = "" if self.speed_marking == self.speed else f" ({self.speed_marking:g} times by those who mark)"
        return (
            f"{self.seconds_per_answer:g} s per answer, {self.seconds_per_tick:g} s per class ticked, "
            f"{self.seconds_per_event:g} s per event marked{pace}{marking}"
        )

    @property
    def description(self) -> str:
        """The model in words."""
        unit = f" {self.currency}"
        if self.query_cost_share is not None:
            price = f"a second reviewed costs {self.per_second:g}, a query {self.per_query:g} (the paper's units)"
        elif not self.is_work:
            price = f"a second reviewed costs {self.per_second:g}{unit}, a query {self.per_query:g}{unit}"
        elif self.per_hour is None:
            price = f"hours of work ({self.work})"
        else:
            own = f", of marking by hand {self.per_hour_marking:g}{unit}"
            price = f"an hour of work costs {self.per_hour:g}{unit}"
            price += f"{'' if self.per_hour_marking == self.per_hour else own} ({self.work})"
        return price + (f"; {self.annotators} annotators label every segment" if self.annotators > 1 else "")
