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

:class:`TimelinePosterior` is what answers make of such a process: what every posterior of a timeline offers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..base.errors import InvalidInput
from ..base.symbols import check
from ..model.intervals import EventArrays
from ..model.lengths import Lengths
from .kernels import Chain

Array = NDArray[np.float64]
#: 95 % intervals of both ends of an event.
ENDS = ("onset_low", "onset_high", "offset_low", "offset_high")

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
    shares: Array = np.maximum(p, 0.0) / np.maximum(p, 0.0).sum()
    return shares


def lengths_of_truncated_events(
    lines: EventArrays, *, ends_known: ArrayLike = True, family: str | None = None
) -> Lengths:
    r"""The law of lengths of annotated events of which the ends of recordings cut some, by maximum likelihood.

    A recording is a window into a process that has gone on for long: an event that began before it is met in proportion
    to its length, and its heard part has the density :math:`S(l) / \mu` (Vardi 1989); one that the end cuts,
    :math:`S(l)`; one that fills a recording of w seconds, :math:`\int_w^\infty S / \mu`. With :math:`c_j` the expected
    number of events of length :math:`x_j` (the E step), n events that begin inside and m before,
    :math:`p_j \propto c_j / (n + m x_j / \mu)`. What fills a recording is taken to last half as long again at most.

    A ``family`` of scipy is fitted to the events that begin inside: long ones are not more frequent among them.
    """
    lengths = np.ptp(lines.bounds, axis=1)
    early, late = lines.cut_sides(ends_known=ends_known)
    if family is not None:
        return Lengths.fit(lengths[~early], family=family, censored=late[~early])
    if not (early | late).any() or not (~early & ~late).any():
        return Lengths.sample(lengths)
    cut_once, through = lengths[early ^ late], lengths[early & late]
    x = np.unique(np.concatenate((lengths[~(early & late)], 1.5 * through)))
    ended = np.bincount(np.searchsorted(x, lengths[~early & ~late]), minlength=len(x))
    at, past = np.searchsorted(x, cut_once), np.searchsorted(x, through, side="right")
    p = np.full(len(x), 1 / len(x))
    for _ in range(1000):
        tail, first = (np.cumsum(values[::-1])[::-1] for values in (p, p * x))
        counts = ended + p * np.cumsum(np.bincount(at, 1 / tail[at], minlength=len(x)))
        share = 1 / (first[past] - through * tail[past])
        sums = [np.cumsum(np.bincount(past, weights, minlength=len(x))) for weights in (share, share * through)]
        counts += p * (x * sums[0] - sums[1])
        new = counts / ((~early).sum() + early.sum() * x / first[0])
        new /= new.sum()
        moved, p = float(np.abs(new - p).sum()), new
        if moved < 1e-7:
            break
    return Lengths.sample(x[p > 0], weights=p[p > 0], name=f"sample of {len(lengths)}")


def entropy(p: Array) -> Array:
    """The bits of a yes with this chance."""
    q, r = np.clip(p, 1e-300, 1.0), np.clip(1 - p, 1e-300, 1.0)
    return np.asarray(-(q * np.log2(q) + r * np.log2(r)), dtype=np.float64)


def events_above(threshold: float, active: Array, edges: Array, onset: Array, offset: Array) -> list[dict[str, float]]:
    """The time in which P(active) is above a threshold as events: onset, offset, confidence (mean P(active)) and
    :data:`ENDS`, from the drawn events (onset, offset) that are under way where P(active) is highest."""
    rows = []
    above = np.concatenate(([False], active > threshold, [False])).astype(int)
    for a, b in np.flatnonzero(np.diff(above)).reshape(-1, 2).tolist():
        peak = a + int(np.argmax(active[a:b]))
        middle = (edges[peak] + edges[peak + 1]) / 2
        there = (onset <= middle) & (offset > middle)
        ends = [np.quantile(x[there], [0.025, 0.975]) if there.any() else edges[[a, b]] for x in (onset, offset)]
        row = {"onset": edges[a], "offset": edges[b], "confidence": active[a:b].mean()}
        rows.append({name: float(x) for name, x in (row | dict(zip(ENDS, np.concatenate(ends)))).items()})
    return rows


class TimelinePosterior(ABC):
    """What answers say about when events were under way: exactly (:mod:`.chain`) or as particles (:mod:`.particles`).

    Events are those that can be heard, the ones that an end of the recording cuts included, and last as long as heard.
    """

    @property
    @abstractmethod
    def edges(self) -> Array:
        """The ends of the steps in seconds."""

    @property
    @abstractmethod
    def active(self) -> Array:
        """P(an event is under way), per step."""

    @property
    @abstractmethod
    def n_events(self) -> float:
        """The expected number of events."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], Array, Array]:
        """Sample number, onset and offset of every event of n sampled timelines."""

    @abstractmethod
    def information(self, segments: Any) -> Array:
        """Bits that the answer to each of many further segments (start, end) is expected to tell."""

    @property
    def event_seconds(self) -> float:
        """The expected seconds of events."""
        return float(self.active @ np.diff(self.edges))

    @property
    def wrong_time(self) -> float:
        """The expected seconds of wrong label, if every step gets its more likely label: the least there can be."""
        return float(np.minimum(self.active, 1 - self.active) @ np.diff(self.edges))

    def sample(self, n: int = 1, *, rng: Any = None) -> pd.DataFrame:
        """n whole timelines drawn from the posterior: sample, onset, offset in seconds, one row per event."""
        number, onset, offset = self.draw(n, np.random.default_rng(rng))
        table = pd.DataFrame({"sample": number, "onset": onset, "offset": offset})
        return table.sort_values(["sample", "onset"], ignore_index=True)

    def events(self, threshold: float = 0.5, *, draws: int = 400, rng: Any = None) -> pd.DataFrame:
        """The time above a threshold as events, with :data:`ENDS` from timelines drawn; see :func:`events_above`."""
        edges = np.append(np.round(self.edges[:-1], 9), self.edges[-1])
        _, onset, offset = self.draw(draws, np.random.default_rng(rng))
        rows = events_above(threshold, self.active, edges, onset, offset)
        return pd.DataFrame(rows, columns=["onset", "offset", "confidence", *ENDS])
