r"""The answers about many recordings of one class, and what is made of them.

:meth:`ClassAnswers.posterior` prepares the answers, estimates the process where it is not given (:mod:`.fitting`), in
turn with how often people guess and lapse where that is asked for, and draws timelines of every recording. The process
is looked for in steps twice as long where they still resolve segments and events; timelines are in steps as asked.
Of very many recordings, some drawn at random tell the process (:data:`MOST_FITTED`). The others are seen under the
middle process of each family, and their sums are scaled as those of the first go with the process.

:func:`check` tells whether the answers look like those that the fitted process would bring (a posterior predictive
check). Timelines are drawn from the process, without the answers, and asked about in the same segments by the same
people. Each statistic of the true answers is held against those of the drawn ones:

``neighbours``
    neighbouring segments that are both present, over what their share would bring: events that bunch.
``recordings``
    the variance of present answers per recording over its binomial value: recordings that differ.
``order``
    the difference of shares between the first and the second half of the recordings, as they are given: times that
    differ.

A p-value is the share of drawn data sets whose statistic is at least as large. Few answers, and segments that are much
longer than gaps, tell little: no alarm proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.parallel import Progress, in_order
from ..model.answer_model import NODES, AnswerModels
from ..model.intervals import merge
from ..model.lengths import Lengths
from . import fitting
from .chain import Contradiction, Posterior, Prepared, prepare
from .class_posterior import (
    EXCLUDED,
    WORDS,
    ClassPosterior,
    RecordingPosterior,
    envelope,
    kept_of,
    shares_of,
    split,
    strata_of,
)
from .detector import Calibration, calibrate, explained
from .fitting import AnswerPattern, Family, FittedFamily, Sheets
from .rates import differing
from .renewal import Array, Renewal, Uncertain

_MOST_STEPS = 4000  # of an event whose law is left out
_NODES = (32, 64)  # drawn at a time, for one parameter (16 leave the ends of its interval out) and for several
_TURNS = 5  # of estimates of slips and of the process in turn
CHECKS = ("neighbours", "recordings", "order")
#: So many recordings that share their answers draw from a pool of timelines, and are seen to at a time.
_APART, _POOL, _TOGETHER = 4, 64, 1000
#: Data sets that are drawn.
DRAWS = 200
_SOME_RECORDINGS = 5  # of which rates may be seen to differ
_MOST_RECORDINGS = 400  # that are asked again
#: Steps of the recordings that tell the process: their answers take half a kilobyte of memory each.
MOST_FITTED = 400_000


@dataclass(frozen=True, eq=False)
class ClassAnswers:
    """The answers about one class, and what is known of it beforehand."""

    label: str
    patterns: Sequence[AnswerPattern]
    order: Mapping[str, int]  # the place of each recording
    step: float
    executor: Executor
    law: Lengths | None = None
    event_rate: float | None = None
    bouts: bool | None = None  # whether events come in bouts; None: by the evidence
    length_variation: float = 0.0  # the coefficient of variation of mean lengths between recordings
    calibration: Calibration | None = None  # of scores; None: by the answers
    process: Uncertain | None = None  # the one that other recordings told
    progress: Progress = False

    @cached_property
    def _widths(self) -> Array:
        return np.concatenate([p.segments[:, 1] - p.segments[:, 0] for p in self.patterns])

    @cached_property
    def _middle(self) -> float:
        """Half of a typical segment."""
        return float(np.exp(np.log(self._widths).mean())) / 2 if len(self._widths) else 1.0

    @cached_property
    def _longest(self) -> float:
        """Seconds that an event may last whose law is left out."""
        painted = max(float(np.ptp(merge(p.segments[p.present == 1]), axis=1).max(initial=0.0)) for p in self.patterns)
        top = max(4 * float(self._widths.max(initial=0.0)), 20 * self._middle, 2 * painted)
        return min(max(p.length for p in self.patterns), top)

    @cached_property
    def _fitted(self) -> Sequence[AnswerPattern]:
        """Answers that tell the process: those of all recordings, or of some drawn at random."""
        if (n_steps := sum(p.length for p in self.patterns) / self.step) <= MOST_FITTED:
            return self.patterns
        names = sorted((name for p in self.patterns for name in p.recordings), key=self.order.__getitem__)
        chosen = np.random.default_rng(0).random(len(names)) < MOST_FITTED / n_steps
        kept = {name for name, is_kept in zip(names, chosen) if is_kept} or {names[0]}
        some = (replace(p, recordings=tuple(name for name in p.recordings if name in kept)) for p in self.patterns)
        return [p for p in some if p.recordings]

    def _family(self, step: float, stages: int = 0) -> Family:
        longest = min(_MOST_STEPS, math.ceil(self._longest / step))
        if self.law is not None:
            longest = len(Renewal(self.law, 0.0, step).steps)
        return Family(step, longest, self.law, self._middle, stages)

    def _base(self, step: float) -> Renewal:
        """A process with the steps and the longest event of all that are tried."""
        if self.process is not None:
            return self.process.members[0]
        longest = self._family(step).longest
        lengths = Lengths.sample(step * np.arange(1, longest + 1)) if self.law is None else self.law
        return Renewal.from_gaps(lengths, gap=100 * step, step=step, longest=longest)

    def _sheets(self, who: Any, step: float) -> Sheets:
        """The answers ready for processes in these steps."""
        work = [(p, self._base(step), who, self.label) for p in self._fitted]
        words = f"{self.label}: answers"
        ready = list(in_order(_prepared, work, executor=self.executor, progress=self.progress, label=words))
        return Sheets(ready, np.array([len(p.recordings) for p in self._fitted], dtype=np.float64), self.executor)

    @property
    def _stages(self) -> tuple[int, ...]:
        return () if self.bouts is False else fitting.STAGES if self.law is not None else fitting.STAGES[::2]

    def _modes(self, sheets: Sheets, last: Sequence[FittedFamily]) -> list[FittedFamily]:
        """The likeliest process with gaps of one kind, and of two; ``last``: from where to search."""
        step = sheets.ready[0].grid.step
        plain = self._family(step)
        modes = [fitting.fit(sheets, plain, last[0].modes if last else plain.starts())]
        for many in self._stages[:1]:
            family = self._family(step, many)
            modes.append(fitting.fit(sheets, family, last[1].modes if last else family.starts(modes[0].theta)))
        return modes

    def _likeliest(self, modes: Sequence[FittedFamily]) -> FittedFamily:
        return max(modes[1 if self.bouts else 0 :], key=lambda one: one.score)

    @property
    def _given(self) -> Renewal | None:
        """The process, where it is known."""
        if self.process is not None:
            return self.process.members[int(self.process.weights.argmax())]
        if self.event_rate is None or self.law is None:
            return None
        return Renewal(self.law, self.event_rate, self.step, longest=self._family(self.step).longest)

    def posterior(
        self, who: Any, *, draws: int, rng: np.random.Generator, slips: bool = False, integrated: bool = True
    ) -> ClassPosterior:
        """The process estimated, timelines drawn; ``slips``: guesses and lapses of all as well; ``integrated``: over
        what is uncertain of the process, or at its likeliest alone."""
        given, step = self._given, self.step
        shortest = float(np.quantile(self._widths, 0.05)) if len(self._widths) else 0.0
        typical = self._middle if self.law is None else float(self.law.quantile(0.5))
        fine_enough = 2 * step <= min(shortest / 4, typical / 4 * (1 + 1e-9))
        rough = step if given is not None or not fine_enough else 2 * step
        counts: dict[str, Array] = {}
        who = {name: who for p in self.patterns for name in p.annotators} if slips else who
        modes: list[FittedFamily] = []
        for turn in range(_TURNS if slips else 1):
            try:
                sheets = self._sheets(who, rough)
            except Contradiction:  # of long steps, perhaps
                if rough == step:
                    raise
                rough = step
                sheets = self._sheets(who, rough)
            modes = [] if given is not None else self._modes(sheets, modes)
            if not slips or turn == _TURNS - 1:
                break
            counts = self._slips(sheets, given or self._likeliest(modes).renewal)
            after = {name: fitting.slip_rates(one, counts[name]) for name, one in who.items()}
            if all(abs(one.low - after[k].low) + abs(one.high - after[k].high) < 2e-3 for k, one in who.items()):
                break
            who = after
        families = () if given is not None else self._explored(sheets, modes, rng, integrated)
        best = max(families, key=lambda one: one.score, default=None)
        likeliest = given or best.renewal  # type: ignore[union-attr]
        tops = [each.score - each.family.log_prior(each.theta) for each in families]  # without the prior
        log_likelihood = max(tops) if given is None else sheets.log_likelihood(given)
        calibration = self.calibration
        if self.process is None and any(p.frames is not None for p in self._fitted):
            calibration = self._calibrated(sheets.ready, likeliest, who)
        beliefs = [None] if calibration is None else calibration.beliefs
        slipping = fitting.slip_points(who, counts) if slips and families and integrated else [(who, 0.0)]
        views = [(others, belief) for belief in beliefs for others, _ in slipping]
        moved, upto = [], np.ones(1)
        if len(slipping) > 1 and best is not None:
            logs = []
            for others, chance in slipping:
                again = fitting.fit(self._sheets(others, rough), best.family, best.theta[None])
                logs.append(chance + again.score)
                moved.append(again.theta - best.theta)
            upto = np.cumsum(np.exp(np.array(logs) - max(logs)))
        process = self.process or Uncertain.of(likeliest)
        nodes = [] if families else [[(node, 0, float(w)) for node, w in zip(process.members, process.weights)]]
        for each in families:
            thetas, parts = each.strata(strata_of(draws))
            # the node of each share of a family meets one of the slips, in no order
            which = np.searchsorted(upto, np.arange(1, len(thetas) + 1) * 0.6180339887 % 1 * upto[-1])
            if moved:
                same = slice(None) if each.family.names == best.family.names else slice(1)  # type: ignore[union-attr]
                thetas[:, same] += np.array(moved)[which][:, same]
            family = replace(each.family, step=step, longest=self._family(step).longest)
            nodes.append([(family.renewal(theta), int(k), part) for theta, k, part in zip(thetas, which, parts)])
        # every node meets every belief in the scores, each as likely
        nodes = [
            [(node, k + j * len(slipping), part / len(beliefs)) for node, k, part in each for j in range(len(beliefs))]
            for each in nodes
        ]
        shares = shares_of(families)
        recordings, totals = self._recordings(views, nodes, shares, kept_of(families), draws, rng)
        every = [(Uncertain.of(node), share * part) for each, share in zip(nodes, shares) for node, _, part in each]
        p_values: dict[str, float] = {}
        if families and integrated:
            chosen = families[int(shares.argmax())]
            processes = [chosen.family.renewal(theta) for theta in chosen.strata(5)[0]]
            p_values = check(self.patterns, who, processes, self.order, rng)
        process = Uncertain.mixed(*zip(*every))
        return ClassPosterior(
            self.label, process, who, families, recordings, totals, log_likelihood, counts, p_values, calibration
        )

    def _explored(
        self, sheets: Sheets, modes: Sequence[FittedFamily], rng: np.random.Generator, integrated: bool
    ) -> tuple[FittedFamily, ...]:
        """The families after the answers, or the likeliest process of all."""
        if not integrated:
            return (self._likeliest(modes),)
        found = [fitting.explore(sheets, one, nodes=_NODES[len(one.theta) > 1], rng=rng) for one in modes]
        shapes = [self._family(sheets.ready[0].grid.step, many) for many in self._stages[1:]]
        if found[1:] and (self.bouts or found[1].log_evidence > found[0].log_evidence + EXCLUDED):
            shapes.append(replace(found[1].family, at_once=fitting.AT_ONCE))
        for family in shapes:  # their likely processes are near those of one stage
            one = replace(found[1], family=family, score=-math.inf)
            found.append(fitting.explore(sheets, one, nodes=_NODES[1], near=found[1], rng=rng))
        if self.bouts:
            return tuple(found[1:])
        if sheets.times.sum() >= _SOME_RECORDINGS:
            found.append(differing(sheets, found[0]))
            if self.bouts is None and found[-1].log_evidence > found[0].log_evidence + EXCLUDED:
                found.append(differing(sheets, found[0], short_gaps=True))
        return tuple(one for one, is_kept in zip(found, kept_of(found)) if is_kept or not one.family.differs)

    def _calibrated(self, ready: Sequence[Prepared], process: Renewal, who: Any) -> Calibration:
        scored = [(one, p.frames, p.length) for one, p in zip(ready, self._fitted) if p.frames is not None]
        ones, frames, lengths = zip(*scored)
        none = [prepare(np.empty((0, 2)), [], renewal=process, recording_length=x, annotator=who) for x in lengths]
        if self.calibration is not None:
            return explained(self.calibration, ones, none, frames, process, self.executor)
        return calibrate(ones, none, frames, process, executor=self.executor)

    def _slips(self, sheets: Sheets, renewal: Renewal) -> dict[str, Array]:
        """Of everybody: expected guesses, answers where the rule is not satisfied, lapses, answers where it is (EM)."""
        work = [(one, renewal, p.segments) for one, p in zip(sheets.ready, self._fitted)]
        counts: dict[str, Array] = {}
        for p, many, met in zip(self._fitted, sheets.times, in_order(_satisfied, work, executor=self.executor)):
            yes = p.present == 1
            table = np.stack(((1 - met) * yes, 1 - met, met * ~yes, met), axis=1) * many
            for name, row in zip(p.annotators, table):
                counts[name] = counts.get(name, 0.0) + row
        return counts

    def _recordings(
        self, views: Sequence[Any], nodes: Sequence[Any], shares: Array, kept: NDArray[np.bool_], draws: int, rng: Any
    ) -> tuple[tuple[RecordingPosterior, ...], dict[str, Array]]:
        """Each recording, with intervals from timelines drawn from the nodes of every family; and what was drawn of all
        together, (families, draws) by word. ``views``: who answered, and the belief in the scores."""
        fitted = {name for p in self._fitted for name in p.recordings}
        told = [not fitted.isdisjoint(p.recordings) for p in self.patterns]
        tops = [max(each, key=lambda node: node[2])[0] for each in nodes]  # strata are the widest in the middle
        middle = [[node for node in each if node[0] is top] for each, top in zip(nodes, tops)]  # with every belief
        middle = [[(node, which, 1 / len(each)) for node, which, _ in each] for each in middle]
        parts = [(replace(p, recordings=p.recordings[k : k + _TOGETHER]), of_all)
                 for p, of_all in zip(self.patterns, told) for k in range(0, len(p.recordings), _TOGETHER)]  # fmt: skip
        jobs = (
            (p, self._base(self.step), views, nodes if of_all else middle, shares, self.label, draws, seed)
            for (p, of_all), seed in zip(parts, rng.spawn(len(parts)))
        )
        sums = np.zeros((2, len(WORDS[:2]), len(nodes), draws))  # of those that did not tell the process, and did
        words, posteriors = f"{self.label}: timelines", []
        drawn = in_order(_drawn, jobs, total=len(parts), executor=self.executor, progress=self.progress, label=words)
        for (p, of_all), (active, expected, n_events, event_seconds, missed) in zip(parts, drawn):
            sums[int(of_all)] += missed
            ends: Any = None
            for name, events, seconds in zip(p.recordings, n_events, event_seconds):
                if self.length_variation:  # lengths that are alike within a recording leave no trace in the answers
                    spread = math.sqrt(math.log1p(self.length_variation**2))
                    seconds = seconds * np.exp(spread * rng.normal(size=draws) - spread**2 / 2)
                    seconds = np.minimum(seconds, p.length)
                sums[int(of_all)] += events, seconds
                if ends is None or len(p.recordings) <= _APART:
                    ends = [envelope(each[kept], value) for each, value in zip((events, seconds), expected)]
                asked: Any = (p.segments, p.present, p.annotators, p.length, (name,))
                made: Any = (self.step, active, *expected, *ends)
                posteriors.append(RecordingPosterior(*asked, *made, frames=p.frames))
        if not all(told):
            for f, each in enumerate(nodes):
                weights = np.array([part for _, _, part in each])
                which = np.repeat(np.arange(len(each)), split(draws, weights))
                for total, more in zip(sums[1, :, f], sums[0, :, f]):
                    counts = np.maximum(np.bincount(which, minlength=len(each)), 1)
                    means = np.bincount(which, total, len(each)) / counts
                    more *= (means / means[int(weights.argmax())])[which]
        totals = dict(zip(WORDS, np.maximum(sums.sum(axis=0), 0.0)))
        return tuple(sorted(posteriors, key=lambda one: self.order[one.recording])), totals


def _satisfied(ready: Prepared, renewal: Renewal, segments: Array) -> Array:
    """P(the rule is satisfied) of the segments that were asked, given all answers."""
    return ready.posterior(renewal).satisfied(segments)


def _prepared(pattern: AnswerPattern, base: Renewal, who: Any, label: str) -> Prepared:
    try:
        ready = pattern.prepared(base, who)
        if not math.isfinite(ready.log_likelihood(base)):
            ready.posterior(base)  # answers that no timeline explains are told by the recording's name
    except Contradiction as error:
        raise error.of(f"{label}, recording {pattern.recordings[0]!r}") from error
    return ready


def _drawn(
    pattern: AnswerPattern, base: Renewal, views: Sequence[tuple[Any, Calibration | None]],
    families: Sequence[Sequence[tuple[Renewal | Uncertain, int, float]]],
    shares: Array, label: str, draws: int, rng: Any,
) -> tuple[Array, tuple[float, float], Array, Array, Array]:  # fmt: skip
    """P(active), expected events and seconds; and of timelines drawn for each recording that shares the answers, the
    numbers and seconds of events, (recordings, families, draws). A node is a process, which of the views it meets, and
    the share that it stands for. Many recordings share some timelines; last, what their sums are short of then."""
    met = sorted({which for nodes in families for _, which, _ in nodes})
    bare = {id(who): pattern.prepared(base, who) for who in {id(views[k][0]): views[k][0] for k in met}.values()}
    readies = {which: pattern.scored(bare[id(views[which][0])], views[which][1]) for which in met}
    seen: dict[int, Any] = {which: {} for which in met}  # under processes that several nodes share
    ready, many = next(iter(readies.values())), len(pattern.recordings)
    active, n_events = np.zeros(ready.grid.n), 0.0
    events, seconds = np.zeros((2, many, len(families), draws))
    missed = np.zeros((2, len(families), draws))
    for f, (nodes, share) in enumerate(zip(families, shares)):
        first = 0
        for (node, which, part), size in zip(nodes, split(draws, np.array([each[2] for each in nodes]))):
            try:
                known = readies[which].posterior(node, seen[which])
            except Contradiction as error:
                raise error.of(f"{label}, recording {pattern.recordings[0]!r}") from error
            active += share * part * known.active
            n_events += share * part * known.n_events
            mine = slice(first, first := first + int(size))
            for r in range(many if size and many <= _APART else 0):
                events[r, f, mine], seconds[r, f, mine] = _totals(known, int(size), rng)
            if size and many > _APART:
                pool = _totals(known, _POOL, rng)
                events[:, f, mine], seconds[:, f, mine] = pool[:, rng.integers(_POOL, size=(many, int(size)))]
                exact = np.array([known.n_events, known.event_seconds])
                missed[:, f, mine] = many * (exact - pool.mean(axis=1))[:, None]
    width = np.diff(np.minimum(ready.grid.step * np.arange(ready.grid.n + 1), ready.recording_length))
    return active, (n_events, float(active @ width)), events, seconds, missed


def _totals(known: Posterior, many: int, rng: np.random.Generator) -> Array:
    """Numbers and seconds of events in timelines that are drawn."""
    sample, onset, offset = known.draw(many, rng)
    return np.stack([np.bincount(sample, weights=each, minlength=many) for each in (1.0 + 0 * onset, offset - onset)])


def check(
    patterns: Sequence[AnswerPattern], annotator: Any, processes: Sequence[Renewal], order: Mapping[str, int], rng: Any
) -> dict[str, float]:
    """The p-value of each statistic; fewer where the answers do not tell it."""
    every = sorted(((name, p) for p in patterns for name in p.recordings), key=lambda pair: order[pair[0]])
    every = [every[k] for k in np.unique(np.linspace(0, len(every) - 1, _MOST_RECORDINGS).astype(int))]
    priors: dict[float, list[Posterior]] = {}
    seen, drawn = [], []
    for _, pattern in every:
        if pattern.length not in priors:
            blank: Any = {"renewal": processes[0], "recording_length": pattern.length}
            ready = prepare(np.empty((0, 2)), [], **blank)
            priors[pattern.length] = [ready.posterior(process) for process in processes]
        said = _asked_again(pattern, annotator, priors[pattern.length], rng)
        side_by_side = np.abs(pattern.segments[1:, 0] - pattern.segments[:-1, 1]) < 1e-6
        seen.append(_counts(pattern.present[None] == 1, side_by_side))
        drawn.append(_counts(said, side_by_side))
    true, others = _statistics(np.array(seen))[:, 0], _statistics(np.array(drawn))
    told = {"neighbours": sum(row[0, 1] for row in seen) > 0, "recordings": len(every) > 1, "order": len(every) > 1}
    return {
        name: float((1 + (other >= value * (1 - 1e-9)).sum()) / (1 + DRAWS))
        for name, value, other in zip(CHECKS, true, others)
        if told[name] and np.isfinite(value)
    }


def _asked_again(
    pattern: AnswerPattern, annotator: Any, priors: Sequence[Posterior], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """(draws, segments): answers about timelines that are drawn from the processes in turn."""
    met = np.zeros((DRAWS, len(pattern.segments)), np.bool_)
    chance = np.zeros((2, len(pattern.segments)))
    people = dict.fromkeys(pattern.annotators)
    rules: dict[str, Any] = {}  # and which of them each answer goes by
    for name in people:
        models = AnswerModels.of(annotator=annotator[name] if isinstance(annotator, Mapping) else annotator)
        parts = models.parts(NODES)
        drawn = rng.integers(len(parts), size=met.shape if models.per_answer else (DRAWS, 1))
        rules[name] = [part.rule for part in parts], np.broadcast_to(drawn, met.shape)
        chance[:, [k for k, each in enumerate(pattern.annotators) if each == name]] = [[parts[0].low], [parts[0].high]]
    starts, widest = pattern.segments[:, 0], float(np.diff(pattern.segments, axis=1).max())
    sizes = np.diff(np.linspace(0, DRAWS, len(priors) + 1).astype(int))
    first = 0
    for prior, size in zip(priors, sizes.tolist()):
        sample, onset, offset = prior.draw(size, rng)
        there = offset > onset  # one that begins with the last part of a step may have no length
        sample, onset, offset = sample[there], onset[there], offset[there]
        low, high = np.searchsorted(starts, onset - widest), np.searchsorted(starts, offset)
        event = np.repeat(np.arange(len(onset)), high - low)
        segment = np.arange(len(event)) - np.repeat(np.cumsum(high - low) - (high - low), high - low) + low[event]
        for name, (every, drawn) in rules.items():
            mine = np.array([each == name for each in pattern.annotators])[segment]
            by = np.where(mine, drawn[first + sample[event], segment], -1)
            for k in np.unique(by[mine]).tolist():
                e, q = event[by == k], segment[by == k]
                hit = every[k].is_present(event=np.column_stack((onset[e], offset[e])), segment=pattern.segments[q])
                met[first + sample[e[hit]], q[hit]] = True
        first += size
    return np.asarray(rng.random(met.shape) < np.where(met, chance[1], chance[0]))


def _counts(said: NDArray[np.bool_], side_by_side: NDArray[np.bool_]) -> Array:
    """(data sets, 4): pairs that are both present, pairs, present answers, answers."""
    both = (said[:, 1:] & said[:, :-1] & side_by_side).sum(axis=1)
    whole = np.ones(len(said))
    return np.column_stack((both, whole * side_by_side.sum(), said.sum(axis=1), whole * said.shape[1]))


def _statistics(counts: Array) -> Array:
    """(statistics, data sets) from (recordings, data sets, 4)."""
    both, pairs, present, asked = np.moveaxis(counts, 2, 0)
    share = present.sum(axis=0) / asked.sum(axis=0)
    half = len(counts) // 2
    with np.errstate(divide="ignore", invalid="ignore"):
        neighbours = both.sum(axis=0) / (pairs.sum(axis=0) * share**2)
        spread = ((present - asked * share) ** 2).sum(axis=0) / (asked.sum(axis=0) * share * (1 - share))
        sides = [part[0].sum(axis=0) / part[1].sum(axis=0) for part in
                 ((present[:half], asked[:half]), (present[half:], asked[half:]))]  # fmt: skip
    return np.stack((neighbours, spread, np.abs(sides[0] - sides[1])))
