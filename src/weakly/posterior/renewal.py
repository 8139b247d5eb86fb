r"""The world that answers come from: events that follow each other in time, as an alternating renewal process.

An event lasts for a length drawn from any law; then comes a gap; events of one class do not overlap. On steps of
``step`` seconds: an event lasts l steps with probability :math:`p_l`, and the next may start where it ends.

Gaps of one kind are geometric: an event starts at a boundary with probability :math:`a_L` (:math:`\lambda` elsewhere).
Events that come in *bouts* have gaps of two kinds: the next gap is short with probability r, else long. Short ones have
:math:`\kappa` stages, each left at a boundary with probability :math:`a_S`, without using time; leaving the last one
starts the event (negative binomial, mean :math:`m_S = \kappa (1 - a_S) / a_S`; the more stages, the more regular).

A recording is a window into such a process that has gone on for long. With :math:`\mu` the mean length in steps,
:math:`C = r m_S + (1 - r) m_L + \mu` the steps per event and :math:`S_l = P(\text{length} \ge l)`, its beginning
without event weighs :math:`(1 - r) / (a_L C)` in a long gap, :math:`r / (a_S C)` in the first and
:math:`r (1 - a_S) / (a_S C)` in each later stage of a short one; an event that is heard from the beginning for l steps
:math:`S_l / C`, whether it began just then or before; one that the end cuts after l steps :math:`S_l`; one that fills
all n steps :math:`\sum_{l \ge n} S_l / C`. An event is as long as it is heard, as in every other room. Lengths between
two whole numbers of steps are shared among both so that the mean is kept.

:class:`TimelinePosterior` is what answers make of such a process: what every posterior of a timeline offers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..base.errors import InvalidInput
from ..base.symbols import check
from ..model.intervals import EventArrays
from ..model.lengths import Lengths

Array = NDArray[np.float64]
#: 95 % intervals of both ends of an event.
ENDS = ("onset_low", "onset_high", "offset_low", "offset_high")

#: Events longer than all but this share of the law are taken to end there.
_TAIL = 1e-4
_MOST_STEPS = 100_000  # of an event: more would take hours
#: Where in its step an event begins. Two places, so that an overlap that is just enough counts at one end of a segment
#: and not at the other, as in continuous time: on whole steps it would count at both, half a step too much.
JITTER = np.array([-0.25, 0.25])
_NONE: Array = np.zeros(0)


class Chain(NamedTuple):
    """What the timelines of a recording weigh, apart from the answers.

    Rows: one for each kind of gap, the first ones; where there are several, one more for an event that has just ended.
    """

    n: int  # steps
    begin: Any  # (rows,): weight of a beginning without event
    go: Any  # (rows, kinds + 1): chance of an empty step in each kind of gap; last, that an event starts
    after: int  # the row of an event that has just ended
    inner: Any  # (L + 1,): chance of an event of l steps that no end cuts
    ends: Any  # (L + 1,): of one that begins with the recording, or that its end cuts
    whole: float  # of one that fills the recording
    shifts: Any  # where in its step an event begins, each as likely as the next
    idle: Any  # (n,): evidence for no event in each step; none: no evidence
    loud: Any  # (n,): evidence for an event


@dataclass(frozen=True)
class Bouts:
    """Gaps within bouts: the share of all gaps that they are, their mean in seconds, their stages, and the share of
    them that have no length: the next event follows at once."""

    share: float
    gap: float
    stages: int = 1
    at_once: float = 0.0


@dataclass(frozen=True)
class Renewal:
    """Events in time: their law of lengths, how many start per second, the step in seconds, and whether in bouts.

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
    bouts: Bouts | None = None

    def __post_init__(self) -> None:
        check("event_rate", self.event_rate)
        check("event_length", self.step, called="step")
        if not self.event_rate * self.mean_steps * self.step < 1:
            raise InvalidInput(
                f"event_rate must be below one event per mean length ({1 / (self.mean_steps * self.step):.4g} per "
                f"second, where events fill all time), got {self.event_rate:g} per second; events per minute?"
            )

    @classmethod
    def from_gaps(
        cls, lengths: Lengths, *, gap: float, step: float, longest: int | None = None, bouts: Bouts | None = None
    ) -> Renewal:
        """The process with this mean of (long) gaps in seconds."""
        p = steps_of(lengths, step, longest)
        cycle = gap if bouts is None else bouts.share * bouts.gap + (1 - bouts.share) * gap
        cycle += float(np.arange(1, len(p) + 1) @ p) * step
        return cls(lengths, 1 / cycle, step, longest=longest, bouts=bouts)

    @cached_property
    def steps(self) -> Array:
        """p_1 .. p_L."""
        return steps_of(self.lengths, self.step, self.longest)

    @property
    def shifts(self) -> Array:
        """Where in its step an event begins, in steps."""
        return JITTER if self.jitter else np.zeros(1)

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
        """The chance that an event starts at a boundary of a (long) gap."""
        rho, share, short = self.event_rate * self.step, 0.0, 0.0
        if self.bouts is not None:
            share, short = self.bouts.share, self.bouts.gap / self.step
        # of (1 - a) / a = m_L = (1 / rho - mu - r m_S) / (1 - r)
        return rho * (1 - share) / (1 - rho * (self.mean_steps + share * short - 1 + share))

    @cached_property
    def _chains(self) -> dict[int, Chain]:
        return {}

    def chain(self, n: int) -> Chain:
        """The weights of the timelines of a recording of n steps, without evidence of a detector."""
        if n not in self._chains:
            self._chains[n] = self._chain(n)
        return self._chains[n]

    def _chain(self, n: int) -> Chain:
        p, chance = self.steps, self.chance
        longest = min(len(p), n)
        tail = np.cumsum(p[::-1])[::-1]  # S_1 .. S_L
        inner = np.concatenate((np.zeros(1), p[:longest]))
        ends = np.concatenate((np.zeros(1), tail[:longest])) if self.cut else inner
        whole = float(tail[n - 1 :].sum()) if self.cut else float(inner[n]) if n <= longest else 0.0
        if self.bouts is None:
            begin, go, after = np.ones(1), np.array([[1 - chance, chance]]), 0
            weights = np.array([1 / (1 - chance + chance * self.mean_steps)])
        else:
            stages, share, at_once = self.bouts.stages, self.bouts.share, self.bouts.at_once
            leave = stages / (stages + self.bouts.gap / (1 - at_once) / self.step)
            kinds = stages + 2  # the last has no length
            go = np.zeros((kinds + 1, kinds + 1))
            go[0, 0], go[0, -1] = 1 - chance, chance
            for first in range(1, stages + 1):
                go[first, first:-2] = leave ** np.arange(stages + 1 - first) * (1 - leave)
                go[first, -1] = leave ** (stages + 1 - first)
            go[-2, -1] = 1.0
            go[-1] = (1 - share) * go[0] + share * ((1 - at_once) * go[1] + at_once * go[-2])
            begin, after = np.zeros(kinds + 1), kinds
            begin[-1] = 1.0
            staged = share * (1 - at_once) / leave
            weights = np.array([(1 - share) / chance, staged, *[staged * (1 - leave)] * (stages - 1),
                                share * at_once, 0.0])  # fmt: skip
            weights = weights * self.event_rate * self.step
        begin = weights if self.cut else begin
        return Chain(n, begin, go, after, inner, ends, whole, self.shifts, _NONE, _NONE)


@dataclass(frozen=True)
class Uncertain:
    """Processes of which all recordings follow one, with the chances that all answers give them; of those of one of the
    ``groups`` each recording follows its own.

    >>> rare, often = (Renewal(Lengths.fixed(1.0), event_rate=rate, step=0.1) for rate in (0.01, 0.2))
    >>> round(Uncertain((rare, often), np.array([0.8, 0.2])).event_rate, 3)
    0.048
    """

    members: tuple[Renewal, ...]
    weights: Array
    groups: NDArray[np.int64] | None = None  # of each member; none: everyone is alone

    def chances(self, logs: Array) -> Array:
        """How likely each is for a recording of whose answers these are the logarithms of the chances under each."""
        found = np.where(np.isfinite(logs), self.weights, 0.0)
        for group in () if self.groups is None else np.unique(self.groups[found > 0]).tolist():
            mine = (self.groups == group) & (found > 0)
            part = found[mine] * np.exp(logs[mine] - logs[mine].max())
            found[mine] = part * (self.weights[mine].sum() / part.sum())
        return found

    @classmethod
    def mixed(cls, processes: Sequence[Uncertain], weights: Sequence[float]) -> Uncertain:
        """All of several with these chances."""
        members = tuple(member for each in processes for member in each.members)
        parts = np.concatenate([weight * each.weights for each, weight in zip(processes, weights)])
        if all(each.groups is None for each in processes):
            return cls(members, parts)
        first = np.cumsum([0, *(len(each.members) for each in processes)])
        groups = [np.arange(len(each.members)) if each.groups is None else each.groups for each in processes]
        return cls(members, parts, np.concatenate([start + each for start, each in zip(first, groups)]))

    @classmethod
    def of(cls, process: Renewal | Uncertain) -> Uncertain:
        """Itself, or one process that is certain."""
        return process if isinstance(process, Uncertain) else cls((process,), np.ones(1))

    @property
    def step(self) -> float:
        """Seconds."""
        return self.members[0].step

    @property
    def event_rate(self) -> float:
        """Expected events that start per second."""
        return float(self.weights @ [one.event_rate for one in self.members])

    @property
    def density(self) -> float:
        """The expected share of time in which an event is under way."""
        return float(self.weights @ [one.density for one in self.members])

    @property
    def lengths(self) -> Lengths:
        """The law of lengths of the likeliest."""
        return self.members[int(self.weights.argmax())].lengths


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
    return np.asarray(np.maximum(p, 0.0) / np.maximum(p, 0.0).sum())


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


def length_variation(lines: EventArrays) -> float:
    """The coefficient of variation of mean lengths between recordings, beyond what chance makes of events that have one
    law (analysis of variance); 0 where fewer than three recordings have several events."""
    owner = np.repeat(np.arange(len(lines)), np.diff(lines.starts))
    lengths = np.ptp(lines.bounds, axis=1)
    n = np.bincount(owner, minlength=len(lines)).astype(np.float64)
    if (n > 1).sum() < 3 or lengths.sum() <= 0:
        return 0.0
    means = np.bincount(owner, weights=lengths, minlength=len(lines)) / np.maximum(n, 1)
    groups, mean = float((n > 0).sum()), float(lengths.mean())
    within = float(((lengths - means[owner]) ** 2).sum()) / max(len(lengths) - groups, 1.0)
    between = float((n * (means - mean) ** 2).sum()) / (groups - 1)
    usual = (n.sum() - (n**2).sum() / n.sum()) / (groups - 1)
    return math.sqrt(max(0.0, (between - within) / usual)) / mean


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
