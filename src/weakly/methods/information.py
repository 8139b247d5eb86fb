r"""Ask what tells most: the segment whose answer is expected to settle most of every moment's label for its cost.

Nothing needs to be known beforehand. The posterior of the events, of how the annotator hears (criterion, guesses,
lapses) and of the events' rate and lengths follows from the answers so far (:mod:`..posterior.particles`); what any
recording taught is expected of all others. Asked is the segment with the largest expected fall of
:math:`\sum_t P_t (1 - P_t)`, :math:`P_t` the chance that an event is under way at t, over :math:`(1-r)\,d_q + r`, until
the expected wrong time, :math:`\sum_t \min(P_t, 1 - P_t)`, meets the target. With r = .75, the usual one, that is work:
the seconds of a segment and 3 s for an answer.

A long recording is asked in stretches of a minute; each knows the answers a little beyond its ends. All stretches of
all recordings wait in one queue, those first whose wrong time an answer is expected to lower most. One answer in ten
audits the belief: all of the longest time where nothing is expected. Where stretches that are said to be empty make up
a longer segment that is not, they are asked again as one: an event may last for minutes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..base.errors import InvalidInput
from ..base.symbols import check, positive, whole
from ..model.intervals import Intervals, unlike
from ..model.lengths import Lengths
from ..posterior.expected import ParameterPrior, logit
from ..posterior.particles import EXPECTED, NO_SIGNAL, ParticlePosterior, SignalPrior, is_audit, particle_posterior
from ..posterior.renewal import Array
from .base import AnswerHistory, Labels, Method, Recording, Words
from .change_point import signal_of

_lock = threading.Lock()
_summaries: OrderedDict[Any, Any] = OrderedDict()
_NONE = np.empty((0, 2))
MOST = 1000  # queries of one minute
_STRETCH = 60.0  # seconds that are asked together, or so many
_LENGTHS = 10.0  # of the length of events, where that is given
_BEYOND = 1 / 6  # of a stretch on either side, whose answers count
_TWICE = 2  # all of a stretch is asked so often where nothing is expected
_BLOCK = 5  # stretches that are audited together
_TEACHERS, _LESSONS = 8, (16, 4)  # stretches that teach the others, and the answers after which they do
_TOGETHER = 200  # segments of a stretch that are compared for several classes
_FEW = 500  # particles, where stretches are compared
_QUIET = 0.2  # the chance of an event at a moment below which none is expected
_SUMMARIES = 20_000  # stretches of which numbers are kept in memory
#: Of the expected event seconds, and of all seconds at most and at least: the expected wrong time at which to stop.
_SHARE, _CEILING, _FLOOR = 0.1, 0.03, 0.002
_SURE = 1.28  # standard deviations above what is expected at which a given target is met: nine times in ten


@dataclass(frozen=True)
class Stretch:
    """A part of a recording that is asked by itself: its ends, and how far answers around it count."""

    start: float
    end: float
    low: float
    high: float

    def asked(self, asked: AnswerHistory) -> AnswerHistory:
        """The answers that lie within, the unsure ones too; and that all of it and more is absent."""
        onset, offset = asked.segments[:, 0], asked.segments[:, 1]
        within = (onset >= self.low - 2e-3) & (offset <= self.high + 2e-3)
        within |= (onset <= self.low) & (offset >= self.high) & (asked.present == 0)
        return AnswerHistory(asked.segments[within], asked.present[within])


def _remembered(mark: Any, made: Callable[[], Any]) -> Any:
    """What follows from the answers alone, worked out once."""
    with _lock:
        if mark in _summaries:
            _summaries.move_to_end(mark)
            return _summaries[mark]
    found = made()
    with _lock:
        _summaries[mark] = found
        while len(_summaries) > _SUMMARIES:
            _summaries.popitem(last=False)
    return found


def _alike(part: Stretch) -> tuple[Recording, Stretch]:
    """A recording that stands for all stretches of about this length that nothing was asked of."""
    length = float(f"{part.end - part.start:.2g}")
    return Recording("", length), Stretch(0.0, length, 0.0, length)


@cache
def _stretches(length: float, span: float) -> tuple[Stretch, ...]:
    n = 1 if length <= 1.5 * span else int(np.ceil(length / span))
    ends, more = np.linspace(0.0, length, n + 1), _BEYOND * span
    return tuple(Stretch(a, b, max(0.0, a - more), min(length, b + more)) for a, b in pairwise(ends.tolist()))


@dataclass(frozen=True)
class Information(Method):
    """The segments that tell most about where events are.

    Parameters
    ----------
    wrong_time : seconds of expected wrong label in a recording at which to stop; left out, a tenth of the expected
        event seconds, or 0.2 % of the recording where that is more.
    event_length : the law of lengths as text: ``1``, ``0.5,1,4``, ``lognorm:s=0.5,scale=1``; event_rate : events that
        start per second; presence_criterion, guess_rate, lapse_rate : how the annotator answers. All of them are
        learned from the answers; what is given is where learning begins, and what the answers contradict is given up.
    query_cost_share : r, the cost of a query that does not grow with its length; 0.75: as much as 3 s of listening.
    shortest : seconds of the shortest segment that is asked.
    batch : segments of a recording that are asked in one round, for tools that cannot ask one at a time.
    signal : whether the features of a recording say where events may be; how far they are trusted is learned too.

    Examples
    --------
    >>> Information().next(Recording("a.wav", 16.0), AnswerHistory()).shape
    (1, 2)
    """

    wrong_time: float | None = None
    event_length: str | None = None
    event_rate: float | None = None
    presence_criterion: float | None = None
    guess_rate: float | None = None
    lapse_rate: float | None = None
    query_cost_share: float = 0.75
    shortest: float = 0.3
    batch: int = 1
    signal: bool = True
    #: What was asked of the other recordings, in the campaign's order.
    campaign: Mapping[str, tuple[Recording, AnswerHistory]] = field(default_factory=dict, compare=False)

    name: ClassVar[str] = "information"
    follows_answers: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    colour: ClassVar[int] = 4
    uses_signal: ClassVar[bool] = True

    @classmethod
    def of(cls, settings: Mapping[str, Any], recordings: Sequence[Recording]) -> Information:
        """From what is known beforehand; queries_per_recording are those of a round, a rate of 0 is not known."""
        names = ("event_length", "event_rate", "wrong_time", "presence_criterion", "query_cost_share", "signal")
        given = {name: settings[name] for name in names if name in settings}
        given |= {name: settings[name] for name in ("guess_rate", "lapse_rate", "shortest") if settings.get(name)}
        return cls(**given, batch=int(settings.get("batch", settings.get("queries_per_recording", 1))))

    def __post_init__(self) -> None:
        for name in ("event_rate", "presence_criterion", "guess_rate", "lapse_rate"):
            if getattr(self, name) is not None:
                check(name, getattr(self, name))
        if self.wrong_time is not None:
            positive("wrong_time", self.wrong_time)
        positive("shortest", self.shortest)
        if not 0 <= self.query_cost_share <= 1:
            raise InvalidInput(f"query_cost_share must be in [0, 1], got {self.query_cost_share:g}")
        whole("batch", self.batch)
        _ = self.base_prior

    @cached_property
    def base_prior(self) -> ParameterPrior:
        """What is expected before any answer."""
        given: dict[str, tuple[float, float]] = {}
        law = None if self.event_length is None else Lengths.parse(self.event_length)
        if law is not None:
            middle = float(law.quantile(0.5))
            width = np.log(float(law.quantile(0.84)) / middle)
            given["event_length"] = (float(np.log(middle)), 0.3)
            given["event_rate"] = (float(np.log(0.1 / middle)), 1.5)  # ten lengths from one to the next, or so
            given["length_spread"] = (float(np.log(np.clip(width, 0.1, 2.0))), 0.3)
        if self.event_rate is not None:
            busy = 0.0 if law is None else min(0.9, self.event_rate * law.mean)
            free = max(self.event_rate / (1 - busy), 1e-6)  # while none is under way
            given["event_rate"] = (float(np.log(free)), 0.5)
        if self.presence_criterion is not None:
            given["presence_criterion"] = (logit(min(0.99, self.presence_criterion)), 0.3)
        for name in ("guess_rate", "lapse_rate"):
            if getattr(self, name) is not None:  # people slip: none at all is not believed
                given[name] = (logit(float(np.clip(2 * getattr(self, name), 0.01, 0.98))), 0.5)
        return ParameterPrior.broad(given)

    def words(self) -> Words:
        """How people say it."""
        return Words("what tells most (information)", "Ask what tells most, by weakly label", "what tells most")

    def among(self, campaign: Mapping[str, tuple[Recording, AnswerHistory]]) -> Information:
        """The method with what the answers about other recordings taught."""
        return replace(self, campaign=campaign)

    def _cut(self, recording: Recording) -> tuple[Stretch, ...]:
        given = 0.0 if self.event_length is None else float(Lengths.parse(self.event_length).quantile(0.5))
        return _stretches(recording.length, max(_STRETCH, _LENGTHS * given))

    def stretches(self, recording: Recording, asked: AnswerHistory | None = None) -> tuple[Stretch, ...]:
        """The parts that a recording is asked in: those that lie in a present segment which none of them explains are
        one."""
        parts = self._cut(recording)
        if asked is None or len(parts) == 1:
            return parts
        for segment in asked.segments[asked.present == 1]:
            inside = [k for k, part in enumerate(parts) if part.start < segment[1] and part.end > segment[0]]
            is_explained = any(parts[k].low <= segment[0] and segment[1] <= parts[k].high for k in inside)
            if not is_explained and all(self._is_silent(recording, asked, parts[k]) for k in inside):
                first, last = parts[inside[0]], parts[inside[-1]]
                one = Stretch(first.start, last.end, first.low, last.high)
                parts = (*parts[: inside[0]], one, *parts[inside[-1] + 1 :])
        return parts

    def _is_silent(self, recording: Recording, asked: AnswerHistory, part: Stretch) -> bool:
        """Whether a stretch by itself labels no moment present."""
        return bool((self._alone(recording, asked, part, None).active <= 0.5).all())

    def prior(self, recording: Recording, start: float, asked: AnswerHistory) -> ParameterPrior:
        """What the others teach a stretch: the first of them that know something, and of the rate of events all."""
        if recording.name and recording.name not in self.campaign:
            return self.among({recording.name: (recording, asked), **self.campaign}).prior(recording, start, asked)
        own = recording.name, start
        lessons = [lesson for place, lesson in self._lessons if place != own][:_TEACHERS]
        return self.base_prior.taught(lessons, [law for place, law in self._laws.items() if place != own])

    @cached_property
    def _heard(self) -> list[tuple[Recording, AnswerHistory, Stretch, int]]:
        """The stretches of the campaign that were asked about, and how many answers each has."""
        every = ((*each, part) for each in self.campaign.values() if len(each[1]) for part in self._cut(each[0]))
        said = ((one, asked, part, part.asked(asked).present) for one, asked, part in every)
        return [(one, asked, part, int((~np.isnan(x)).sum())) for one, asked, part, x in said if len(x)]

    @cached_property
    def _laws(self) -> dict[tuple[str, float], Array]:
        """How likely the answers about each stretch are under every law of rates."""
        return {(one.name, part.start): self._summary(one, asked, part)[1] for one, asked, part, _ in self._heard}

    @cached_property
    def _lessons(self) -> list[tuple[tuple[str, float], tuple[Array, Array]]]:
        """What the first stretches of the campaign teach, one more than are listened to: none teaches itself. After 4
        and after 16 answers: the others need not follow every one."""
        first = [each for each in self._heard if each[-1] >= _LESSONS[-1]][: _TEACHERS + 1]
        return [((one.name, part.start), self._summary(one, asked, part, next(n for n in _LESSONS if many >= n))[2])
                for one, asked, part, many in first]  # fmt: skip

    def _summary(self, recording: Recording, asked: AnswerHistory, part: Stretch, n: int | None = None) -> Any:
        """How much the next answer is expected to tell for its cost, how likely the answers are under every law of
        rates, and what they teach the others; n: of the first n answers, without the former. What a stretch says by
        itself does not change with what others teach, so that it is kept."""
        mine = part.asked(asked)
        mark = (self.base_prior.digest, self._mark(recording), part, n, mine.segments[:n].tobytes(),
                mine.present[:n].tobytes())  # fmt: skip

        def made() -> Any:
            known = self._alone(recording, asked, part, n)
            refused = mine.segments[np.isnan(mine.present)]
            need = 0.0 if n else self._best(known, part, 1, refused)[1]
            return need, known.likely_laws(), known.learned()

        return _remembered(mark, made)

    def _alone(self, recording: Recording, asked: AnswerHistory, part: Stretch, n: int | None) -> ParticlePosterior:
        """What the first n answers of a stretch say by themselves."""
        return self._posterior(recording, asked, part, self.base_prior, n, _FEW)

    def _signal(self, recording: Recording) -> SignalPrior:
        return signal_of(recording) if self.signal else NO_SIGNAL

    def _mark(self, recording: Recording) -> Any:
        """What tells recordings apart: the same one may come with another signal, such as a detector's scores."""
        signal = self._signal(recording)
        return recording.name, recording.length, float(signal.edge.sum()), float(signal.level.sum())

    def posterior(self, recording: Recording, asked: AnswerHistory, part: Stretch | None = None) -> ParticlePosterior:
        """What the answers say of a stretch of the recording (the first one, unless told)."""
        part = part or self.stretches(recording, asked)[0]
        return self._posterior(recording, asked, part, self.prior(recording, part.start, asked))

    def _posterior(
        self, recording: Recording, asked: AnswerHistory, part: Stretch, expected: ParameterPrior, n: int | None = None,
        particles: int | None = None,
    ) -> ParticlePosterior:  # fmt: skip
        mine = part.asked(asked)
        sure = np.flatnonzero(~np.isnan(mine.present))[:n]
        return particle_posterior(mine.segments[sure], mine.present[sure], recording_length=recording.length,
                                  expected=expected, signal=self._signal(recording), low=part.low, high=part.high,
                                  particles=particles)  # fmt: skip

    def within(self, known: ParticlePosterior, part: Stretch) -> tuple[Array, Array]:
        """The edges of the steps of a stretch, and P(active) in each."""
        active, edges = known.active, known.edges
        inside = (edges[1:] > part.start + 1e-9) & (edges[:-1] < part.end - 1e-9)
        first, last = np.flatnonzero(inside)[[0, -1]]
        return np.clip(edges[first : last + 2], part.start, part.end), active[inside]

    def state(self, recording: Recording, asked: AnswerHistory, part: Stretch | None = None) -> dict[str, float]:
        """Expected wrong time and target of a stretch, its events and seconds, and how many answers may be left.

        The answers that are left: each halves what is unknown of one of two edges per event, as far as answers can be
        trusted; where that takes longer than drawing, draw.
        """
        part = part or self.stretches(recording, asked)[0]
        known, length = self.posterior(recording, asked, part), part.end - part.start
        edges, active = self.within(known, part)
        step = np.diff(edges)
        wrong, seconds = known.wrong_factor * float(np.minimum(active, 1 - active) @ step), float(active @ step)
        target = max(min(_SHARE * seconds, _CEILING * min(length, _STRETCH)), _FLOOR * length)
        target = target if self.wrong_time is None else self.wrong_time * length / recording.length
        n_events = known.n_events * length / (known.high - known.low)
        slip = float((known.value("guess_rate") + known.value("lapse_rate")).mean()) / 2
        told = 1 + slip * np.log2(slip) + (1 - slip) * np.log2(1 - slip)
        left = max(0.0, 2 * max(1.0, n_events) * np.log2(max(wrong, 1e-9) / target) / told)
        spread = known.wrong_factor * float(known.wrong_seconds(part.start, part.end).std())
        likely = wrong + _SURE * spread * np.sqrt((part.end - part.start) / recording.length)  # stretches add up
        return {"wrong_time": wrong, "likely": likely, "target": target, "event_seconds": seconds, "n_events": n_events,
                "answers_left": left}  # fmt: skip

    def outlook(self, recording: Recording, asked: AnswerHistory) -> dict[str, float]:
        """Expected wrong time, events and answers that are left, over all stretches of a recording."""
        parts, names = self.stretches(recording, asked), ("wrong_time", "n_events", "answers_left")
        if len(asked) == 0:  # alike, and the same in all recordings of this length
            one, alike = _alike(parts[0])
            now = self.state(one, asked, alike)
            return {name: float(len(parts) * now[name]) for name in names}
        states = [self.state(recording, asked, part) for part in parts]
        return {name: float(sum(one[name] for one in states)) for name in names}

    def stretch_of(self, recording: Recording, at: float, asked: AnswerHistory | None = None) -> Stretch:
        """The stretch that holds a time."""
        return next(part for part in reversed(self.stretches(recording, asked)) if part.start <= at)

    def proposed(self, recording: Recording, asked: AnswerHistory, at: float, n: int) -> Intervals:
        """About n segments of the stretch that holds a time, of which an answer tells much."""
        known = self.posterior(recording, asked, self.stretch_of(recording, at, asked))
        segments = known.candidates(self.query_cost_share, self.shortest)
        return segments[:: max(1, len(segments) // n)]

    def gain(self, recording: Recording, asked: AnswerHistory, at: float, segments: Intervals) -> Array:
        """How much an answer to each segment is expected to lower the uncertainty of the stretch that holds a time."""
        part = self.stretch_of(recording, at, asked)
        known = self.posterior(recording, asked, part)
        return known.gain(segments, start=part.start, end=part.end, share=self.query_cost_share)

    def is_content(self, now: dict[str, float], part: Stretch) -> bool:
        """Whether a stretch in this state needs no more: its target is met (one that was given with a chance of 90 %),
        and half of what is expected is right, or a quarter of the target is expected to be wrong. A generous one would
        else be met by having found nothing, a strict one never where little is there."""
        least = max(0.5 * now["event_seconds"], _FLOOR * (part.end - part.start), 0.25 * now["target"])
        given = self.wrong_time is not None
        return now["likely" if given else "wrong_time"] <= now["target"] and now["wrong_time"] <= least

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """What tells most for its cost in the stretch that needs it most; nothing when all targets are met."""
        return next((segments for _, segments in self.queue({recording.name: (recording, asked)}, 1)), _NONE)

    def queue(
        self, campaign: Mapping[str, tuple[Recording, AnswerHistory]], n: int
    ) -> Iterator[tuple[Recording, Intervals]]:
        """What to ask in the n stretches of all recordings that need it most, one after the other."""
        waiting: list[tuple[float, int, float, Recording, AnswerHistory, Stretch]] = []
        for place, (recording, asked) in enumerate(campaign.values()):
            if len(asked) >= MOST * max(1.0, recording.length / _STRETCH):
                continue
            one, alike = _alike(self._cut(recording)[0])
            fresh = float(self._summary(one, AnswerHistory(), alike)[0])  # of any stretch of such a recording
            for part in self.stretches(recording, asked):
                mine = part.asked(asked)
                need = fresh if len(mine) == 0 else self._summary(recording, asked, part)[0]
                waiting.append((-need, place, part.start, recording, asked, part))
                if len(asked) == 0 and len(waiting) > n:
                    break
        waiting.sort(key=lambda one: one[:3])
        for *_, recording, asked, part in waiting:
            if n <= 0:
                return
            if len(part.asked(asked)) == 0:  # all of this length are alike, and nobody looks at their signals yet
                one, alike = _alike(part)
                times = (part.end - part.start) / alike.end
                segments = np.minimum(part.start + times * self._segments(one, AnswerHistory(), alike), part.end)
            else:
                segments = self._segments(recording, asked, part)
            if len(segments):
                n -= 1
                yield recording, segments
        for recording, asked in campaign.values():
            segments = self._audit(recording, asked) if n > 0 and len(asked) else _NONE
            if len(segments):
                n -= 1
                yield recording, segments

    def _segments(self, recording: Recording, asked: AnswerHistory, part: Stretch) -> Intervals:
        """What to ask in a stretch: nothing, if it is content; an audit, if it is time; else what tells most."""
        mine, expected = part.asked(asked), self.prior(recording, part.start, asked)
        mark = (self, expected.digest, self._mark(recording), part, mine.segments.tobytes(), mine.present.tobytes())
        return np.asarray(_remembered(mark, lambda: self._choose(recording, asked, part)))

    def _choose(self, recording: Recording, asked: AnswerHistory, part: Stretch) -> Intervals:
        now = self.state(recording, asked, part)
        if self.is_content(now, part):
            return _NONE
        mine, known = part.asked(asked), self.posterior(recording, asked, part)
        gap, is_empty = self._gap(known, part, mine)
        whole = (mine.segments[:, 0] <= part.start + 1e-3) & (mine.segments[:, 1] >= part.end - 1e-3)
        if is_empty and whole.sum() >= _TWICE:  # by itself it cannot tell more: an event may be longer than all of it
            longest = np.ptp(mine.segments[whole], axis=1).max()
            if len(self._cut(recording)) > 1 and longest < part.end - part.start + 1e-2:
                return _NONE
            gap = None
        n, first = self.batch, _NONE
        due = any(is_audit(len(known.present) + k) for k in range(n))
        if gap is not None and (due or is_empty):
            n, first = n - 1, gap[None]
        if n == 0:
            return first
        refused = np.concatenate((mine.segments[np.isnan(mine.present)], first))
        rest, _ = self._best(known, part, n, refused)
        return np.concatenate((first, rest))

    def _best(self, known: ParticlePosterior, part: Stretch, n: int, refused: Intervals) -> tuple[Intervals, float]:
        return known.best(n, start=part.start, end=part.end, share=self.query_cost_share, shortest=self.shortest,
                          refused=refused)  # fmt: skip

    def _gap(self, known: ParticlePosterior, part: Stretch, asked: AnswerHistory) -> tuple[Array | None, bool]:
        """The longest time where nothing is expected and that no absent answer covers; and whether that is all."""
        edges, active = self.within(known, part)
        everything = np.array([part.start, part.end])
        if (active <= 0.5).all() and known.chance(everything) < EXPECTED:
            return everything, True
        turns = np.flatnonzero(np.diff(np.concatenate(([False], active < _QUIET, [False])))).reshape(-1, 2)
        gaps = edges[turns]
        silent = asked.segments[asked.present == 0]
        heard = np.minimum(gaps[:, None, 1], silent[:, 1]) - np.maximum(gaps[:, None, 0], silent[:, 0])
        length = gaps[:, 1] - gaps[:, 0]
        length = np.where(heard.max(axis=1, initial=0.0) > 0.9 * length, 0.0, length)
        if length.max(initial=0.0) < max(self.shortest, 1.0):
            return None, False
        return np.round(gaps[int(np.argmax(length))], 3), False

    def _audit(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """All of some stretches that are said to be empty and that nobody was asked about at once."""
        parts = self.stretches(recording, asked)
        for k in range(0, len(parts), _BLOCK):
            block = parts[k : k + _BLOCK]
            segment = np.array([block[0].start, block[-1].end])
            both = np.minimum(asked.segments[:, 1], segment[1]) - np.maximum(asked.segments[:, 0], segment[0])
            enough = min(9, 2 * len(block))
            if len(block) == 1 or (both > 0).sum() < enough or (both > 0.9 * (segment[1] - segment[0])).any():
                continue
            if all(self._is_silent(recording, asked, part) for part in block):
                return segment[None]
        return _NONE

    def labels(self, recording: Recording, asked: AnswerHistory) -> Labels:
        """The likelier label of every moment."""
        edges, present = [np.zeros(1)], []
        for part in self.stretches(recording, asked):
            ends, active = self.within(self.posterior(recording, asked, part), part)
            edges.append(ends[1:])
            present.append(active > 0.5)
        at, said = np.concatenate(edges), np.concatenate(present)
        turns = np.flatnonzero(np.diff(said)) + 1
        cuts = np.concatenate(([at[0]], at[turns], [recording.length]))
        return Labels(np.column_stack((cuts[:-1], cuts[1:])), said[np.concatenate(([0], turns))].astype(np.float64))

    def rounds(self, recording: Recording, asked: AnswerHistory) -> int:
        """One round of questions at a time."""
        return -(-len(asked) // self.batch)


def asked_together(
    methods: Mapping[Any, Information], campaigns: Mapping[Any, Mapping[str, tuple[Recording, AnswerHistory]]], n: int
) -> list[tuple[str, float, float]]:
    """The n segments to ask about several classes at once, as recording, onset and offset: those that tell most for
    their cost, summed over the classes.

    Compared are segments that any class proposes where one of them would ask next: what is best for one class often
    tells nothing of the others, a segment that is good for most is nobody's best.
    """
    wanted: dict[tuple[str, float], list[Intervals]] = {}
    for label, campaign in campaigns.items():
        for recording, segments in methods[label].queue(campaign, n):
            at = methods[label].stretch_of(recording, segments[0].mean())
            wanted.setdefault((recording.name, at.start), []).append(segments)
    if len(campaigns) == 1:
        return [(name, a, b) for (name, _), each in wanted.items() for a, b in np.vstack(each).tolist()]
    told: list[tuple[float, str, list[float]]] = []
    for (name, start), each in wanted.items():
        ways = [(methods[label], *campaign[name]) for label, campaign in campaigns.items()]
        each += [how.proposed(one, asked, start, _TOGETHER // len(ways)) for how, one, asked in ways]
        refused = [asked.segments[np.isnan(asked.present)] for *_, asked in ways]
        pool = unlike(np.vstack(each), np.vstack(refused))
        gain = sum(how.gain(one, asked, start, pool) for how, one, asked in ways)
        told += [(-float(x), name, segment) for x, segment in zip(np.asarray(gain), pool.tolist())]
    chosen: dict[str, Intervals] = {}
    places: list[tuple[str, float, float]] = []
    for _, name, segment in sorted(told):
        others = chosen.get(name, _NONE)
        if len(places) < n and len(unlike(np.array([segment]), others)):
            chosen[name] = np.vstack((others, segment))
            places.append((name, segment[0], segment[1]))
    return places
