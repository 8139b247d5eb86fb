"""From an event fraction to the chance of a present label, and to the chance that an event is noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..annotator import Annotator

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Chance:
    """P(present | score) for scores in [0, 1], with its value ``low`` where no event is and ``high`` at 1.

    The rise from low to high is the law of the criterion; ``high`` is the chance of a present answer where the
    criterion is met.
    """

    probability: Callable[[Array], Array]
    low: float
    high: float

    @classmethod
    def certain(cls) -> Chance:
        """The score is the answer: 1 present, 0 absent."""
        return cls(lambda score: score, 0.0, 1.0)

    @classmethod
    def of(cls, annotator: Annotator) -> Chance:
        """The chance that this annotator, or this group of annotators, says present."""
        low, high = (float(value) for value in annotator.probability(np.array([0.0, 1.0])))
        return cls(annotator.probability, low, high)

    def met(self, score: Array) -> Array:
        """The chance that the criterion is met at this score."""
        if self.high <= self.low:
            return np.zeros_like(score)
        return np.clip((self.probability(score) - self.low) / (self.high - self.low), 0.0, 1.0)

    def noticed(self, events: Array) -> Array:
        """The chance that at least one segment in which the criterion is met is answered present, per event.

        Rows of ``events``: score in the first and in the last segment, number of segments between, their score. One
        criterion serves all segments of an event; answers beyond it are independent between segments.
        """
        first, last, between, middle = events.T
        counts = np.column_stack((np.ones_like(first), np.ones_like(first), between))
        scores = np.column_stack((first, last, middle))
        order = np.argsort(-scores, axis=1)
        counts, scores = np.take_along_axis(counts, order, 1), np.take_along_axis(scores, order, 1)
        met = self.met(scores)
        missed = 1 - (1 - self.high) ** np.cumsum(counts, axis=1)
        steps = met - np.column_stack((met[:, 1:], np.zeros(len(met))))
        return np.asarray((steps * missed).sum(axis=1), dtype=np.float64)
