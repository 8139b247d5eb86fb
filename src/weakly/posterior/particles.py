"""Posterior of one stretch of a recording as particles that take in answers, one by one, and learn who answers.

It is the posterior of :mod:`.chain` where everything but the timeline is known, and serves where nothing is: ten
numbers are learned with the timeline. It is a function of the prior, the signal and the answers in their order: chance
comes from a generator whose seed is the number of answers. Posteriors are kept, so that one more answer costs one step;
without them the same steps are made again, and give the same.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from ..model.intervals import Intervals, unlike
from . import particle_kernels as kernels
from .expected import RATES, SPREAD, ParameterPrior, scaled
from .hearing import ANY, LEAST_CRITERION
from .particle_kernels import MOST, NAMES
from .renewal import Array, TimelinePosterior

PARTICLES = 2500
_EFFORT = 2.0  # moves of each particle after an answer, over 8 and 4 per event
_MORE = 1.5  # times as many, after an answer that was hardly expected
_STEPS = 3000  # of a stretch, for P(active)
_COARSE = 1500  # and where segments are compared: finer than edges are found
_CUTS = 48  # onsets and offsets that the particles propose
_COMPARED = 200  # segments
_KEPT = 256_000_000  # bytes of beliefs in memory
MARK = 16  # answers after which a belief is kept, also when it is gone on from
EXPECTED = 0.25  # the chance of a present answer below which nothing is expected
_EVENTS = 14.0  # of a particle, beyond which there are no more moves
_LEAST = 0.4  # of the particles must carry weight after a part of an answer


class SignalPrior(NamedTuple):
    """What the signal says on steps of ``step`` seconds from 0: empty arrays where there is none.

    ``edge`` holds the logarithm of how likely a change is; an edge there weighs as much to the power of a weight, over
    its mean over time, whose logarithm is ``edge_mean`` at ``weights``. ``level`` sums up over time how loud it is; an
    event weighs the exponential of its mean to the power of another weight, over what an event of its length weighs on
    average: ``level_mean``, one row per doubling of :data:`FIRST` seconds. A few events may be anywhere, whatever the
    signal says: else a signal that was right about all others would hide them for ever. So weights are learned from
    answers alone: no timeline gains from a larger weight unless its events lie where the signal says.
    """

    step: float
    edge: Any
    weights: Any
    edge_mean: Any
    level: Any
    level_mean: Any


NO_SIGNAL = SignalPrior(1.0, np.empty(0), np.array([0.0, 1.0]), np.zeros(2), np.empty(0), np.zeros((1, 2)))


def is_audit(n: int) -> bool:
    """Whether the answer after so many others checks the belief: one in ten."""
    return n % 10 == 9


@dataclass(frozen=True, eq=False)
class ParticlePosterior(TimelinePosterior):
    """Particles of the stretch from ``low`` to ``high`` of a recording, all of the same weight, after some answers.

    Events are kept uncut; :attr:`heard` is what the recording holds of them.
    """

    low: float
    high: float
    recording_length: float
    expected: ParameterPrior
    signal: SignalPrior
    segments: Intervals
    present: Array
    starts: Array
    ends: Array
    own: Array  # of each event: by how many spreads its criterion differs
    count: NDArray[np.int64]
    numbers: Array  # (particles, NAMES)
    foreseen: float = 0.0  # present answers that were expected of audits, where hardly any was
    found: int = 0  # and those that came

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return int(sum(x.nbytes for x in self._arrays))

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.starts, self.ends, self.own, self.count, self.numbers

    @cached_property
    def heard(self) -> tuple[Array, Array]:
        """Onsets and offsets of every particle's events as far as they are heard; ``count`` tells how many."""
        return np.clip(self.starts, 0.0, self.recording_length), np.clip(self.ends, 0.0, self.recording_length)

    @cached_property
    def enough(self) -> Array:
        """Seconds of every particle's events that are noticed."""
        starts, ends = self.heard
        criterion = self.value("presence_criterion")[:, None] + self.value("spread")[:, None] * self.own
        need = np.clip(criterion, LEAST_CRITERION, 1.0) * (ends - starts)
        own = np.maximum(self.own - ANY, LEAST_CRITERION) * (ends - starts)
        need = np.where(self.own >= ANY, own, np.minimum(need, self.value("seconds")[:, None]))
        return np.asarray(need, dtype=np.float64)

    @cached_property
    def edges(self) -> Array:
        """The ends of many equal steps of the stretch, in seconds."""
        return np.linspace(self.low, self.high, _STEPS + 1)

    @cached_property
    def active(self) -> Array:
        """P(an event is under way), per step."""
        step = (self.high - self.low) / _STEPS
        alike = np.full((1, len(self.count)), 1 / len(self.count))
        share = kernels.cover(self.starts, self.ends, self.count, alike, self.low, step, _STEPS)[0]
        return np.asarray(np.clip(share, 0.0, 1.0))

    def wrong_seconds(self, start: float, end: float) -> Array:
        """Seconds from start to end that are wrong in each particle, if every step gets its more likely label."""
        labelled = np.append(0.0, np.cumsum((self.active > 0.5) * np.diff(self.edges)))
        spans = np.clip(np.stack((self.starts, self.ends)), start, end)
        spans[:, np.arange(spans.shape[2]) >= self.count[:, None]] = start
        first, last = np.interp([start, end], self.edges, labelled)
        shared = np.diff(np.interp(spans, self.edges, labelled), axis=0)[0].sum(axis=1)
        return np.asarray(last - first + np.diff(spans, axis=0)[0].sum(axis=1) - 2 * shared, dtype=np.float64)

    @property
    def n_events(self) -> float:
        """The expected number of events."""
        return float(self.count.mean())

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], Array, Array]:
        """Sample number, onset and offset of every event of n particles, drawn with replacement."""
        chosen = rng.integers(0, len(self.count), n)
        onset, offset = (ends[chosen] for ends in self.heard)
        sample, k = np.nonzero(np.arange(onset.shape[1]) < self.count[chosen, None])
        return sample, onset[sample, k], offset[sample, k]

    def chance(self, segment: Any) -> float:
        """The chance that this segment is called present."""
        return float(self.chances(np.asarray(segment)[None]).mean())

    def chances(self, segments: Intervals) -> Array:
        """The chance of each segment in each particle, (segments, particles); above one half if it is satisfied."""
        return np.asarray(kernels.chances(*self._arrays, segments, self.recording_length))

    def value(self, name: str) -> Array:
        """One of the unknown numbers in every particle, on its own scale: rates and shares, seconds."""
        return np.asarray(scaled(name, self.numbers[:, NAMES.index(name)]), dtype=np.float64)

    def learned(self) -> tuple[Array, Array]:
        """Means and variances of the numbers: what these answers teach the others (:meth:`ParameterPrior.taught`)."""
        return self.numbers.mean(axis=0), self.numbers.var(axis=0)

    def likely_laws(self) -> Array:
        """How likely these answers are under every law of rates: of each particle's timeline, whose mean over what was
        expected it is."""
        spans = np.diff(np.clip(np.stack((self.starts, self.ends)), self.low, self.high), axis=0)[0]
        silent = self.high - self.low - np.where(np.arange(spans.shape[1]) < self.count[:, None], spans, 0).sum(axis=1)
        longest, rate = 2 * (self.high - self.low), np.exp(RATES)
        busy = np.array([kernels.busy(x, self.expected.doubt, longest) for x in self.numbers])
        log = self.count[:, None] * RATES - np.outer(silent, rate)
        log -= np.log1p(np.outer(busy / self.value("event_rate"), rate))
        log -= scipy.special.logsumexp(log + self.expected.expected_rate, axis=1)[:, None]
        return self.expected.likely_laws(scipy.special.logsumexp(log, axis=0) - np.log(len(log)))

    @property
    def wrong_factor(self) -> float:
        """By how much more the audits found than was expected of them, at least 1: the stated error grows by it."""
        return max(1.0, (1 + self.found) / (1 + self.foreseen))

    def update(self, segment: Any, present: float) -> ParticlePosterior:
        """The posterior after one more answer."""
        rng = np.random.default_rng(len(self.present) + 1)
        segments, given = np.vstack((self.segments, segment)), np.append(self.present, present)
        more = min(MOST, self.starts.shape[1] + 12) - self.starts.shape[1]
        arrays = *(np.pad(x, ((0, 0), (0, more))) for x in self._arrays[:3]), self.count, self.numbers
        yes, prior, left, n = np.flatnonzero(given == 1), self.expected.prior, 1.0, len(self.count)
        log = _logarithm(self._arrays, segment, present, self.recording_length)
        said = float(np.exp(log).mean())
        foreseen, found = self.foreseen, self.found
        if is_audit(len(self.present)):
            chance = said if present > 0.5 else 1 - said
            if chance < EXPECTED:
                foreseen, found = foreseen + chance, found + int(present > 0.5)
        while left > 1e-9:
            # An answer that few particles expect is taken in by parts, so that more than these few go on.
            part = left
            while True:
                weight = np.exp(part * (log - log.max()))
                weight /= weight.sum()
                if 1 / float(weight @ weight) >= _LEAST * n or part < 0.02:
                    break
                part *= 0.7
            total = np.cumsum(weight)
            total[-1] = 1.0
            chosen = np.searchsorted(total, (np.arange(n) + rng.random()) / n)
            arrays = tuple(x[chosen] for x in arrays)
            left -= part
            power = np.append(np.ones(len(given) - 1), 1 - left)
            scale = np.maximum(0.02 * SPREAD, arrays[-1].std(axis=0))
            effort = _EFFORT if part == 1.0 or left > 1e-9 else _MORE * _EFFORT  # few particles became many
            moved(rng, *arrays, segments, given, power, yes, self.low, self.high, self.recording_length, prior,
                  self.signal, scale, effort)  # fmt: skip
            log = _logarithm(arrays, segment, present, self.recording_length) if left > 1e-9 else log
        *events, count, numbers = arrays
        starts, ends, own = (x[:, : max(1, int(count.max()))].copy() for x in events)
        return replace(self, segments=segments, present=given, starts=starts, ends=ends, own=own, count=count,
                       numbers=numbers, foreseen=foreseen, found=found)  # fmt: skip

    def best(
        self, n: int, *, start: float, end: float, share: float, shortest: float, refused: Intervals
    ) -> tuple[Intervals, float]:
        """The n segments that tell most together about every label from start to end for their cost; fewer if none.

        And how much the first of them is expected to tell for its cost.
        """
        segments = unlike(self.candidates(share, shortest), refused)  # what could not be told is not asked again
        if len(segments) == 0:
            return np.empty((0, 2)), 0.0
        chances, variance, shared = self._told(segments, start, end)
        together = np.cov(chances, bias=True) if n > 1 else np.empty((0, 0))
        cost = (1 - share) * np.ptp(segments, axis=1) + share
        chosen: list[int] = []
        most = 0.0
        for _ in range(min(n, len(segments))):
            gain = (shared**2).sum(axis=1) / (variance * cost)
            gain[chosen] = 0.0
            best = int(np.argmax(gain))
            if not gain[best] > 1e-9:
                break
            chosen.append(best)
            most = max(most, float(gain[best]))
            if len(chosen) < n:  # what is left of all others, given this answer, as far as a line predicts it
                given = together[best] / variance[best]
                shared = shared - given[:, None] * shared[best]
                variance = np.maximum(variance - given * together[best], 1e-9)
                together = together - given[:, None] * together[best]
        return segments[chosen], most

    def gain(self, segments: Intervals, *, start: float, end: float, share: float) -> Array:
        """How much each segment is expected to tell about every label from start to end for its cost."""
        _, variance, shared = self._told(segments, start, end)
        return np.asarray((shared**2).sum(axis=1) / (variance * ((1 - share) * np.ptp(segments, axis=1) + share)))

    def _told(self, segments: Intervals, start: float, end: float) -> tuple[Array, Array, Array]:
        r"""Of the answers to each segment: chances in every particle, variance, and covariance with every label.

        An answer lowers the variance of the labels by the square of the latter over the former,

        .. math:: \sum_t P(1-P)\,(P(\text{active}_t \mid \text{present}) - P(\text{active}_t \mid \text{absent}))^2
        """
        step, chances = (end - start) / _COARSE, self.chances(segments)
        weights = np.vstack((np.ones(len(self.count)), chances)) / len(self.count)
        active = kernels.cover(self.starts, self.ends, self.count, weights, start, step, _COARSE)
        present = chances.mean(axis=1)
        shared = (active[1:] - present[:, None] * active[0]) * np.sqrt(step)
        return chances, np.maximum(present * (1 - present), 1e-9), shared

    def candidates(self, share: float, shortest: float) -> Intervals:
        """Segments between points where an answer can turn: where a growing segment holds enough of an event."""
        low, high = self.low, self.high
        starts, ends = self.heard
        within = np.arange(starts.shape[1])[None] < self.count[:, None]
        need = self.enough
        even, q = np.linspace(low, high, _CUTS // 2 + 1), (np.arange(_CUTS) + 0.5) / _CUTS
        middle = (starts + ends) / 2  # a segment around it is the shortest that holds enough
        cuts: list[Array] = []
        for plain, turns in (
            (even[:-1], (ends - need, middle - need / 2)),
            (even[1:], (starts + need, middle + need / 2)),
        ):
            proposed = [plain, *(np.quantile(x[within], q) for x in turns)] if within.any() else [plain]
            cuts.append(np.unique(np.clip(np.round(np.concatenate(proposed), 3), low, high)))
        onsets, offsets = cuts
        told = kernels.bits(*self._arrays, onsets, offsets, self.recording_length)
        length = offsets[None] - onsets[:, None]
        long_enough = length >= min(shortest, high - low) - 1e-3
        worth = np.where(long_enough, told / np.maximum((1 - share) * length + share, 1e-9), 0.0).ravel()
        order = np.argsort(-worth, kind="stable")
        order = order[(worth[order] > 0.2 * worth.max()) & (worth[order] > 0)]
        if len(order) > _COMPARED:
            order = order[np.linspace(0, len(order) - 1, _COMPARED).astype(np.int64)]
        return np.column_stack((onsets[order // len(offsets)], offsets[order % len(offsets)]))


def _logarithm(arrays: tuple[Any, ...], segment: Any, present: float, length: float) -> Array:
    """The logarithm of the chance of one answer under each particle."""
    chance = kernels.chances(*arrays, np.asarray(segment)[None], length)[0]
    return np.asarray(np.log(np.maximum(1e-300, chance if present > 0.5 else 1 - chance)))


_kept: OrderedDict[bytes, ParticlePosterior] = OrderedDict()
_lock = threading.Lock()


def moved(rng: Any, starts: Array, ends: Array, own: Array, count: Any, numbers: Array, *how: Any) -> None:
    """Move all particles, in place: see :func:`.particle_kernels.move`."""
    (*given, effort), asked, room = how, len(how[1]), starts.shape[1] + 1
    # As many for all: more where there are more events would favour few.
    moves = int(effort * (8 + 4 * min(count.sum() / len(count), _EVENTS)))
    tried = (*np.empty((3, room)), np.empty(numbers.shape[1]))
    old, fresh = (np.empty(asked, np.bool_), np.empty(asked)), (np.empty(asked, np.bool_), np.empty(asked))
    kernels.move(rng, starts, ends, own, count, numbers, *given, moves, tried, old, (*fresh, np.empty(asked, np.int64)))


def _first(
    low: float, high: float, recording_length: float, expected: ParameterPrior, signal: SignalPrior, n: int
) -> ParticlePosterior:
    rng = np.random.default_rng(0)
    numbers = expected.draw(n, rng)
    starts, ends, own = np.zeros((3, n, MOST))
    count = np.zeros(n, np.int64)
    kernels.begin(rng, numbers, starts, ends, own, count, expected.doubt, low, high)
    blank = np.empty((0, 2)), np.empty(0)
    if len(signal.edge):
        moved(rng, starts, ends, own, count, numbers, *blank, np.empty(0), np.empty(0, np.int64), low, high,
              recording_length, expected.prior, signal, SPREAD, 5 * _EFFORT)  # fmt: skip
    return ParticlePosterior(low, high, recording_length, expected, signal, *blank, starts, ends, own, count, numbers)


def particle_posterior(
    segments: Intervals,
    present: Array,
    *,
    recording_length: float,
    expected: ParameterPrior,
    signal: SignalPrior = NO_SIGNAL,
    low: float = 0.0,
    high: float | None = None,
    particles: int | None = None,
) -> ParticlePosterior:
    """The posterior of the stretch from low to high of a recording (all of it, unless told) after these answers, in
    their order; of so many particles, where fewer than usual do.

    Examples
    --------
    >>> known = particle_posterior(np.array([[0.0, 4.0]]), np.zeros(1), recording_length=8.0,
    ...                            expected=ParameterPrior.broad())
    >>> bool(known.active[:1500].mean() < known.active[1500:].mean())
    True
    """
    high = recording_length if high is None else high
    n = PARTICLES if particles is None else min(particles, PARTICLES)
    mark = hashlib.sha256(expected.digest + np.array([low, high, recording_length, signal.step, n]).tobytes())
    for values in (signal.edge, signal.level):
        mark.update(np.ascontiguousarray(values).tobytes())
    marks = [mark.digest()]
    for (a, b), answer in zip(segments.tolist(), present.tolist()):
        mark.update(np.array([a, b, answer]).tobytes())
        marks.append(mark.digest())
    known = ((k, _kept.get(marks[k])) for k in range(len(marks) - 1, -1, -1))
    k, now = next(((k, one) for k, one in known if one is not None), (0, None))
    now = _first(low, high, recording_length, expected, signal, n) if now is None else now
    for j in range(k, len(present)):
        now = now.update(segments[j], float(present[j]))
        if (j + 1) % MARK == 0:
            _kept[marks[j + 1]] = now
    if 0 < k < len(present) and k % MARK:
        _kept.pop(marks[k], None)
    with _lock:
        _kept[marks[-1]] = now
        _kept.move_to_end(marks[-1])
        while len(_kept) > 1 and sum(one.nbytes for one in _kept.values()) > _KEPT:
            _kept.popitem(last=False)
    return now
