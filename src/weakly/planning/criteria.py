"""What is known of the annotators' criterion: one value, several that are plausible, or a law; as weights on values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import Annotator
from ..errors import InvalidInput
from ..results import law_name
from ..symbols import check

_CELLS = 1000  # cells of equal probability into which a continuous law of criteria is cut


def probes(criteria: Criteria) -> NDArray[np.float64]:
    """The criteria at which a plan is tried: all over the range, the plausible ends and the middle."""
    low, high = criteria.plausible
    usual = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    return np.unique(np.round([*usual, low, criteria.middle, high], 9))


@dataclass(frozen=True)
class Criteria:
    """A mixture of presence criteria: expected times are linear in the answers, so they are weighted sums over it.

    ``always`` and ``never`` are the shares of segments answered without regard to the event: guesses and lapses.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    name: str
    kind: str  # "known", "several" or "law"
    always: float = 0.0
    never: float = 0.0

    @property
    def single(self) -> float | None:
        """The criterion, if one is known and answers hold no noise."""
        return float(self.values[0]) if self.values.size == 1 and not (self.always or self.never) else None

    @property
    def middle(self) -> float:
        """The mean criterion, for drawings and rules of thumb."""
        return float(self.values @ self.weights / self.weights.sum())

    @property
    def plausible(self) -> tuple[float, float]:
        """The range that matters: all of several values, the central 90 % of a law."""
        if self.kind != "law":
            return float(self.values.min()), float(self.values.max())
        share = np.cumsum(self.weights) / self.weights.sum()
        low, high = np.searchsorted(share, (0.05, 0.95))
        return float(self.values[low]), float(self.values[min(high, self.values.size - 1)])

    def only(self, value: float) -> Criteria:
        """The same noise with one known criterion."""
        rest = 1 - self.always - self.never
        return Criteria(np.array([value]), np.array([rest]), f"{value:g}", "known", self.always, self.never)

    def few(self, most: int = 12) -> Criteria:
        """The same with at most so many values: neighbours joined at their mean."""
        if self.values.size <= most:
            return self
        parts = np.array_split(np.arange(self.values.size), most)
        weights = np.array([self.weights[part].sum() for part in parts])
        values = np.array([np.average(self.values[part], weights=self.weights[part]) for part in parts])
        return Criteria(values, weights, self.name, self.kind, self.always, self.never)

    @classmethod
    def of(cls, value: Any) -> Criteria:
        """Criteria from a number, several numbers, a frozen law or an Annotator."""
        if isinstance(value, Criteria):
            return value
        if isinstance(value, Annotator):
            return cls._of_annotator(value)
        if hasattr(value, "cdf") and hasattr(value, "ppf"):
            return cls._of_annotator(Annotator(presence_criterion=value))
        values = np.unique(np.atleast_1d(check("presence_criterion", value)).astype(np.float64))
        if values.size == 0:
            raise InvalidInput("presence_criterion must hold at least one number in (0, 1], got none")
        name = ", ".join(f"{each:g}" for each in values)
        kind = "known" if values.size == 1 else "several"
        return cls(values, np.full(values.size, 1 / values.size), name, kind)

    @classmethod
    def parse(cls, text: str) -> Criteria:
        """Criteria from the text of a law, ``beta:2,3`` or ``norm:0.4,scale=0.05``; numbers are read elsewhere.

        >>> round(Criteria.parse("beta:2,3").middle, 3)
        0.4
        """
        from ..lengths import Lengths

        try:
            law = Lengths.parse(text).frozen
        except InvalidInput as error:
            raise InvalidInput(str(error).replace("event_length", "presence_criterion")) from error
        return cls.of(law)

    @classmethod
    def _of_annotator(cls, annotator: Annotator) -> Criteria:
        law = annotator.presence_criterion
        always, certain = (float(annotator.probability(h)) for h in (0.0, 1.0))
        noise = "" if always == 0 and certain == 1 else ", with noise"
        if isinstance(law, float):
            return cls(np.array([law]), np.array([certain - always]), f"{law:g}{noise}", "known", always, 1 - certain)
        start, end = float(law.cdf(0.0)), float(law.cdf(1.0))
        edges = np.linspace(start, end, _CELLS + 1)
        middles = np.clip(np.asarray(law.ppf((edges[1:] + edges[:-1]) / 2), dtype=np.float64), 1e-9, 1.0)
        ends = np.clip(np.asarray(law.ppf(edges), dtype=np.float64), 0.0, 1.0)
        weights = np.diff(np.asarray(annotator.probability(ends), dtype=np.float64))
        kept = weights > 0
        return cls(middles[kept], weights[kept], law_name(law) + noise, "law", always, 1 - certain)
