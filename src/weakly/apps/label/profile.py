r"""How one person hears: the law of their presence criterion, guesses, lapses and seconds per query, as a card.

A person says present with chance :math:`P(h) = g + (1 - g - l)\,G(h)` where a share h of the event is heard; G is a
Beta law of the criterion with mean m and spread (standard deviation) s. The posterior of (m, s, g, l) is kept on a
grid, so it is exact up to the grid, and the next event fraction is the one whose answer tells most about m:

.. math:: I(h) = H_2(\bar P(h)) - \sum_m w_m H_2(\bar P_m(h))
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, xlogy

from ...base.errors import InvalidInput
from ...base.files import is_input
from ...base.results import percent
from ...base.symbols import check
from ...model.annotator import Annotator

Array = NDArray[np.float64]

#: Event fractions that an item can have: none of the event, in steps of a fiftieth, all of it.
FRACTIONS = np.linspace(0.0, 1.0, 51)
MEANS = np.linspace(0.0225, 0.9775, 192)  # between the fractions: no mean is at one, where its answer is a toss
SPREADS = np.array([0.001, 0.02, 0.05, 0.1, 0.15, 0.2, 0.27])  # of the criterion where its mean is one half
_SPREAD_PRIOR = np.array([0.15, 0.17, 0.2, 0.2, 0.15, 0.09, 0.04])
RATES = np.array([0.005, 0.02, 0.05, 0.1, 0.2])  # of guesses, and of lapses
_RATE_PRIOR = np.array([0.3, 0.3, 0.25, 0.12, 0.03])


@cache
def _law() -> Array:
    """G(h) by event fraction, mean and spread."""
    total, mean = 0.25 / SPREADS**2 - 1, MEANS[:, None]
    return np.asarray(betainc(mean * total, (1 - mean) * total, FRACTIONS[:, None, None]))


@cache
def _table() -> Array:
    """P(present) by event fraction, mean, spread, guess rate and lapse rate."""
    guess, lapse = RATES[:, None], RATES[None, :]
    return np.asarray(guess + (1 - guess - lapse) * _law()[..., None, None])


def _entropy(p: Array) -> Array:
    return np.asarray(-xlogy(p, p) - xlogy(1 - p, 1 - p))


@dataclass(frozen=True)
class CriterionPosterior:
    """What the answers so far say of one person: the weights of the grid (mean, spread, guess rate, lapse rate)."""

    weights: Array
    n_items: int = 0

    @classmethod
    def prior(cls) -> CriterionPosterior:
        """Every mean criterion alike; small spreads and rates of guesses and lapses more likely than large ones."""
        return cls(
            np.einsum("m,s,g,l->msgl", np.full(len(MEANS), 1 / len(MEANS)), _SPREAD_PRIOR, _RATE_PRIOR, _RATE_PRIOR)
        )

    @classmethod
    def of(cls, answers: Iterable[tuple[float, float]]) -> CriterionPosterior:
        """After answers to items of known event fraction: pairs (event_fraction, present); unsure ones say nothing.

        >>> 0.4 < CriterionPosterior.of([(h / 20, float(h >= 10)) for h in range(21)]).mean < 0.6
        True
        """
        found = cls.prior()
        log, count = np.log(found.weights), 0
        for fraction, present in answers:
            if np.isnan(present):
                continue
            k = _place(fraction)
            log = log + np.log(_table()[k] if present == 1 else 1 - _table()[k])
            count += 1
        weights = np.exp(log - log.max())
        return cls(weights / weights.sum(), count)

    def information(self) -> Array:
        """The expected information of an answer at each of :data:`FRACTIONS` about the mean criterion, in nats."""
        mean = self.weights.sum(axis=(1, 2, 3))
        given = np.einsum("hmsgl,msgl->hm", _table(), self.weights) / np.maximum(mean, 1e-300)
        return np.asarray(_entropy(given @ mean) - _entropy(given) @ mean)

    def next_fraction(self) -> float:
        """The event fraction to ask next."""
        return float(FRACTIONS[int(np.argmax(self.information()))])

    @property
    def mean(self) -> float:
        """The posterior mean of the mean criterion."""
        return float(MEANS @ self.weights.sum(axis=(1, 2, 3)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval of the mean criterion with equal tails."""
        return interval(MEANS, self.weights.sum(axis=(1, 2, 3)), level)

    @property
    def spread(self) -> float:
        """The posterior mean of the standard deviation of the criterion, at the mean of the law."""
        return float(self._spreads() @ self.weights.sum(axis=(0, 2, 3)))

    def _spreads(self) -> Array:
        return np.asarray(SPREADS * np.sqrt(self.mean * (1 - self.mean)) * 2)

    def to_dict(self) -> dict[str, float]:
        """Each parameter with its 95 % interval, by the names of a card."""
        guess, lapse = (self.weights.sum(axis=axes) for axes in ((0, 1, 3), (0, 1, 2)))
        spreads, spread_weights = self._spreads(), self.weights.sum(axis=(0, 2, 3))
        found: dict[str, float] = {}
        for name, grid, weights, at in (
            ("presence_criterion", MEANS, self.weights.sum(axis=(1, 2, 3)), self.mean),
            ("spread", spreads, spread_weights, self.spread),
            ("guess_rate", RATES, guess, float(RATES @ guess)),
            ("lapse_rate", RATES, lapse, float(RATES @ lapse)),
        ):
            low, high = self.interval() if grid is MEANS else interval(grid, weights, 0.95)
            found |= {name: at, f"{name}_low": low, f"{name}_high": high}
        return found


def _place(fraction: float) -> int:
    return round(float(check("event_fraction", fraction)) * (len(FRACTIONS) - 1))


def interval(grid: Array, weights: Array, level: float) -> tuple[float, float]:
    """Where the posterior, spread evenly between the middles of the grid's steps, has these tails."""
    middles = (grid[1:] + grid[:-1]) / 2
    edges = np.concatenate(([grid[0]], middles, [grid[-1]]))
    below = np.concatenate(([0.0], np.cumsum(weights)))
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], below, edges)
    return float(low), float(high)


@dataclass(frozen=True)
class AnnotatorProfile:
    """How one person hears, for plans and for people."""

    annotator: str
    label: str
    n_items: int
    presence_criterion: float
    presence_criterion_low: float
    presence_criterion_high: float
    spread: float
    spread_low: float
    spread_high: float
    guess_rate: float
    guess_rate_low: float
    guess_rate_high: float
    lapse_rate: float
    lapse_rate_low: float
    lapse_rate_high: float
    seconds_per_query: float | None
    version: int = 1

    @classmethod
    def of(
        cls, posterior: CriterionPosterior, *, annotator: str, label: str, seconds: Iterable[float] = ()
    ) -> AnnotatorProfile:
        """The card of a posterior, with the median of the seconds that the answers took."""
        took = [value for value in seconds if value >= 0]
        pace = float(np.median(took)) if took else None
        found: dict[str, Any] = posterior.to_dict()
        return cls(annotator, label, posterior.n_items, seconds_per_query=pace, **found)

    @classmethod
    def read(cls, path: str | Path) -> AnnotatorProfile:
        """The card of a file that ``weakly label`` wrote."""
        is_input(path)
        try:
            held = json.loads(Path(path).read_text(encoding="utf-8"))
            card = cls(**{name: held[name] for name in cls.__dataclass_fields__})
        except FileNotFoundError as error:
            raise InvalidInput(f"{path}: no such file") from error
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidInput(f"{path}: is not a card of an annotator, as weakly label --measure writes it") from error
        if card.version != 1:
            raise InvalidInput(f"{path}: a card of version {card.version}, and this weakly knows version 1")
        card.as_annotator()
        return card

    def as_annotator(self) -> Annotator:
        """The annotator for plans and simulations: a Beta law of criteria with this mean and spread, and the rates."""
        mean = float(check("presence_criterion", self.presence_criterion))
        if not 0 < mean < 1 or not 0 < self.spread**2 < mean * (1 - mean):
            raise InvalidInput(f"spread must be between 0 and {np.sqrt(mean * (1 - mean)):.3g}, got {self.spread!r}")
        total = mean * (1 - mean) / self.spread**2 - 1
        return Annotator.beta(mean * total, (1 - mean) * total, guess_rate=self.guess_rate, lapse_rate=self.lapse_rate)

    def __str__(self) -> str:
        low, high = self.presence_criterion_low, self.presence_criterion_high
        pace = "" if self.seconds_per_query is None else f"; you answer in {self.seconds_per_query:.1f} s"
        return (
            f"you notice an event once {percent(self.presence_criterion)} ({percent(low)} to {percent(high)}) of it "
            f"is heard{pace}; you say present without cause in {percent(self.guess_rate)} and miss what you would "
            f"notice in {percent(self.lapse_rate)} of the answers"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it, as the file holds it."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"summary": str(self)}
