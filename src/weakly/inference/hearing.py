"""How people answer, as the posterior takes it: a few equally likely rules, and P(present) with and without."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..annotator import Annotator, PresenceRule
from .renewal import Array

_NODES = 9  # criteria that stand for a law of criteria
_JOINT = 64  # sets of criteria that stand for several annotators, each with a law


@dataclass(frozen=True)
class Hearing:
    """How somebody answers: the rules they may go by, as likely as their weights, and P(present) without and with."""

    rules: tuple[PresenceRule, ...]
    low: float
    high: float

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
