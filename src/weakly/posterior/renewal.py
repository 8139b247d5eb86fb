r"""The world that answers come from: events that follow each other in time, as an alternating renewal process.

While no event is under way, one begins at a constant rate; it lasts for a length drawn from any law; events of one
class do not overlap. On steps of ``step`` seconds: from a boundary where nothing is under way an event starts with
probability :math:`\lambda`, lasts l steps with probability :math:`p_l`, and the next may start where it ends.

A recording is a window into such a process that has gone on for long. With :math:`\mu` the mean length in steps and
:math:`S_l = P(\text{length} \ge l)`, nothing is under way at its beginning with probability
:math:`\pi = 1 / (1 - \lambda + \lambda\mu)`; an event that is heard from the beginning for l steps weighs
:math:`\pi\lambda S_l`, whether it began just then or before; one that the end cuts after l steps :math:`\lambda S_l`;
one that fills all n steps :math:`\pi\lambda\sum_{l \ge n} S_l`. An event is as long as it is heard, as in every other
room. Lengths between two whole numbers of steps are shared among both so that the mean is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.symbols import check
from ..model.lengths import Lengths
from .kernels import Chain

Array = NDArray[np.float64]

#: Events longer than all but this share of the law are taken to end there.
_TAIL = 1e-4
_MOST_STEPS = 1_000_000  # of an event: more would fill the memory
#: Where in its step an event begins. Two places, so that an overlap that is just enough counts at one end of a segment
#: and not at the other, as in continuous time: on whole steps it would count at both, half a step too much.
JITTER = np.array([-0.25, 0.25])


@dataclass(frozen=True)
class Renewal:
    """Events in time: their law of lengths, how many start per second, and the step in seconds.

    ``cut`` tells whether the ends of a recording may cut events; without it no timeline crosses them (and the weights
    of those that are left do not add up to one).

    Examples
    --------
    >>> calls = Renewal(Lengths.fixed(1.0), event_rate=0.1, step=0.1)
    >>> round(calls.density, 6), round(calls.chance, 6)
    (0.1, 0.010989)
    """

    lengths: Lengths
    event_rate: float
    step: float
    cut: bool = True
    jitter: bool = True
    longest: int | None = None  # steps of the longest event; left out, all but a ten-thousandth of the law

    def __post_init__(self) -> None:
        check("event_rate", self.event_rate)
        check("event_length", self.step, called="step")
        if not self.event_rate * self.mean_steps * self.step < 1:
            raise InvalidInput(
                f"event_rate must be below one event per mean length ({1 / (self.mean_steps * self.step):.4g} per "
                f"second, where events fill all time), got {self.event_rate:g} per second; events per minute?"
            )

    @classmethod
    def from_hazard(cls, lengths: Lengths, *, hazard: float, step: float, longest: int | None = None) -> Renewal:
        """The process whose events start at this rate per second in which none is under way."""
        chance = -math.expm1(-hazard * step)
        p = steps_of(lengths, step, longest)
        mean = float(np.arange(1, len(p) + 1) @ p)
        return cls(lengths, chance / (1 - chance + chance * mean) / step, step, longest=longest)

    @cached_property
    def steps(self) -> Array:
        """p_1 .. p_L."""
        return steps_of(self.lengths, self.step, self.longest)

    @property
    def shifts(self) -> Array:
        """Where in its step an event begins, in steps."""
        return JITTER if self.jitter else np.zeros(1)

    @property
    def hazard(self) -> float:
        """Events that start per second in which none is under way."""
        return -math.log1p(-self.chance) / self.step

    @cached_property
    def mean_steps(self) -> float:
        """The mean length in steps."""
        return float(np.arange(1, len(self.steps) + 1) @ self.steps)

    @property
    def density(self) -> float:
        """The share of time in which an event is under way."""
        return self.event_rate * self.mean_steps * self.step

    @property
    def chance(self) -> float:
        """The chance that an event starts at a boundary where none is under way."""
        rho = self.event_rate * self.step
        return rho / (1 + rho - rho * self.mean_steps)

    def chain(self, n: int) -> Chain:
        """The weights of the timelines of a recording of n steps."""
        p, chance = self.steps, self.chance
        tail = np.cumsum(p[::-1])[::-1]  # S_1 .. S_L
        longest = min(len(p), n)
        pad = np.zeros(1)
        inner = np.concatenate((pad, chance * p[:longest]))
        if not self.cut:
            whole = float(inner[n]) if n <= longest else 0.0
            return Chain(n, 1.0, 1 - chance, inner, inner, inner, whole, self.shifts)
        ends = np.concatenate((pad, chance * tail[:longest]))
        begin = 1 / (1 - chance + chance * self.mean_steps)
        return Chain(n, begin, 1 - chance, inner, ends, ends, float(chance * tail[n - 1 :].sum()), self.shifts)


@dataclass(frozen=True)
class Mixed:
    """Recordings that differ in their rate: each follows one of several processes with the same law of lengths, with
    these chances. The rate and the density are means over recordings.

    Examples
    --------
    >>> rare, busy = (Renewal(Lengths.fixed(1.0), event_rate=rate, step=0.1) for rate in (0.01, 0.2))
    >>> round(Mixed((rare, busy), np.array([0.8, 0.2])).event_rate, 3)
    0.048
    """

    members: tuple[Renewal, ...]
    weights: Array

    @property
    def lengths(self) -> Lengths:
        """The law of lengths that all recordings share."""
        return self.members[0].lengths

    @property
    def step(self) -> float:
        """Seconds."""
        return self.members[0].step

    @property
    def event_rate(self) -> float:
        """Events that start per second, over all recordings."""
        return float(self.weights @ [one.event_rate for one in self.members])

    @property
    def density(self) -> float:
        """The share of time in which an event is under way, over all recordings."""
        return float(self.weights @ [one.density for one in self.members])


def steps_of(lengths: Lengths, step: float, longest: int | None = None) -> Array:
    """p_1 .. p_L: the law on whole steps; a length between two of them is shared so that its mean is kept."""
    if longest is None:
        most = lengths.longest if lengths.is_sample else min(lengths.longest, float(lengths.quantile(1 - _TAIL)))
        if most > _MOST_STEPS * step:
            raise InvalidInput(
                f"event_length must be at most {_MOST_STEPS:,} steps of {step:g} s, got events of up to {most:g} s"
            )
        count = max(1, math.ceil(most / step - 1e-9))
    else:
        count = longest
    ends = step * np.arange(count + 1)
    if lengths.values is not None and lengths.weights is not None:
        place = np.clip(lengths.values / step, 1.0, count)
        low = np.minimum(np.floor(place + 1e-9), count).astype(np.int64)
        part = np.clip(place - low, 0.0, 1.0)
        p = np.bincount(low, weights=lengths.weights * (1 - part), minlength=count + 2)
        p += np.bincount(low + 1, weights=lengths.weights * part, minlength=count + 2)
        return np.asarray(p[1 : count + 1] / p[1 : count + 1].sum())
    mass, first, _ = lengths.partial_moments(ends)
    area = ends * mass - first  # of the distribution function
    slope = np.diff(area) / step
    p = np.diff(np.append(slope, 1.0))
    p[0] += slope[0]  # lengths below one step last one
    found: Array = np.maximum(p, 0.0) / np.maximum(p, 0.0).sum()
    return found
