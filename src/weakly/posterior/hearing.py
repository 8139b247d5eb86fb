"""How people answer, as the posterior takes it: a few equally likely rules, and P(present) with and without."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.annotator import Annotator, PresenceRule
from .renewal import Array

_NODES = 9  # criteria that stand for a law of criteria
_JOINT = 64  # sets of criteria that stand for several annotators, each with a law
_SLIP, _WORTH, _MOST_SLIPS = 0.02, 50.0, 0.4  # how often people guess, or lapse: known as if from so many answers


@dataclass(frozen=True)
class Hearing:
    """How somebody answers: the rules they may go by, as likely as their weights, and P(present) without and with."""

    rules: tuple[PresenceRule, ...]
    low: float
    high: float

    @classmethod
    def human(cls, *rules: PresenceRule) -> Hearing:
        """Somebody who goes by a rule and slips, as far as is known before they answer."""
        return cls(rules, _SLIP, 1 - _SLIP)

    def slipping(self, counts: Array) -> Hearing:
        """The same with rates from guesses, answers where one can guess, lapses and answers where one can lapse."""
        guess, lapse = (float((w + _SLIP * _WORTH) / (n + _WORTH)) for w, n in (counts[:2], counts[2:]))
        return Hearing(self.rules, min(guess, _MOST_SLIPS), 1 - min(lapse, _MOST_SLIPS))

    @property
    def seconds(self) -> list[float]:
        """The overlaps in seconds that the rules ask for."""
        return [form.seconds for rule in self.rules for form in rule.forms if form.seconds > 0]

    @classmethod
    def of(cls, who: Annotator | PresenceRule | Hearing, *, rule: PresenceRule | None = None) -> Hearing:
        """The hearing of an annotator; ``rule`` takes the place of the annotator's criterion."""
        if isinstance(who, Hearing):
            return who
        if isinstance(who, PresenceRule):
            return cls((who,), 0.0, 1.0)
        low, high = (float(p) for p in who.probability(np.array([0.0, 1.0])))
        if rule is not None:
            return cls((rule,), low, high)
        if isinstance(who.presence_criterion, float):
            return cls((PresenceRule.fraction(who.presence_criterion),), low, high)
        return cls(tuple(PresenceRule.fraction(float(g)) for g in _nodes(who, low, high)), low, high)


def slip_interval(wrong: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a rate of slips."""
    from scipy.special import betaincinv

    low, high = betaincinv(wrong + _SLIP * _WORTH, n - wrong + (1 - _SLIP) * _WORTH, [0.025, 0.975])
    return float(low), float(high)


def _nodes(who: Annotator, low: float, high: float) -> Array:
    """Equally likely criteria that stand for a law: its quantiles in the middle of equal shares."""
    h = np.linspace(0.0, 1.0, 4001)
    rise = who.probability(h) - low if abs(high - low) > 1e-9 else who.criterion_cdf(h)
    share = np.maximum.accumulate(rise) / max(float(rise[-1]), 1e-300)
    steep = np.concatenate(([True], np.diff(share) > 0))
    return np.clip(np.interp((np.arange(_NODES) + 0.5) / _NODES, share[steep], h[steep]), 1e-12, 1.0)


def joint(hearings: Sequence[Hearing]) -> list[tuple[int, ...]]:
    """Which rule each of several people goes by, in equally likely combinations (a lattice where there are many)."""
    several = [len(h.rules) > 1 for h in hearings]
    if sum(several) <= 1:
        return [tuple(k if many else 0 for many in several) for k in range(max(len(h.rules) for h in hearings))]
    k = np.arange(_JOINT)
    turns = [((k + 0.5) / _JOINT * (a == 0) + (a > 0) * k * math.sqrt(a + 1.0)) % 1 for a in range(len(hearings))]
    return list(zip(*((t * len(h.rules)).astype(int).tolist() for t, h in zip(turns, hearings))))
