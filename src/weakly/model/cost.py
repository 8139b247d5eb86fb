r"""What labeling costs: a price per second heard and per query answered.

The paper's model charges :math:`1 - r` for every second heard and :math:`r` for every answer:

.. math:: C(T, B) = (1 - r) T + r B

:class:`Cost` holds it, or the same model in money or seconds of work. What a target or a budget makes of it, in closed
form, is in :mod:`weakly.theory`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import InvalidInput
from ..base.results import hours as hours
from ..base.symbols import check, whole


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
