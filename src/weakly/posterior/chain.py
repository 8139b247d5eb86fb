"""One recording: its queries and answers in, everything that they say about its timeline out."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.symbols import check
from ..model.annotator import Annotator, PresenceRule
from ..model.answer_model import NODES, AnswerModels
from ..model.intervals import as_intervals
from . import kernels
from .kernels import Questions, Runs
from .renewal import Array, Chain, Renewal, TimelinePosterior, Uncertain

_MOST = 8192  # masks per boundary
_MOST_STEPS = 100_000_000  # of a recording: more would fill the memory
_NEAR = 1e-6  # of a step: what rounding may move
_TICK = 1e-9
_FAINT, _SLIGHT = 1e-13, 1e-4  # runs whose share is smaller are left out, of criteria and of processes in a group


@dataclass(frozen=True)
class Grid:
    """The steps of a recording: their length in seconds, their number, the longest event, and shifts within a step."""

    step: float
    n: int
    longest: int
    shifts: Array

    @classmethod
    def of(cls, renewal: Renewal | Uncertain, recording_length: float) -> Grid:
        """The steps of a recording under a process of events."""
        renewal = Uncertain.of(renewal).members[0]
        if recording_length > _MOST_STEPS * renewal.step:
            raise InvalidInput(
                f"recording_length must be at most {_MOST_STEPS:,} steps of {renewal.step:g} s, got "
                f"{recording_length:g} s"
            )
        n = max(1, math.ceil(recording_length / renewal.step - _NEAR))
        return cls(renewal.step, n, min(n, len(renewal.steps)), renewal.shifts)


def _questions(
    segments: Array, which: NDArray[np.int64], rules: Sequence[PresenceRule], yes: Array, no: Array, *, grid: Grid
) -> tuple[Questions, NDArray[np.int64]]:
    """The queries as the kernels read them, repeated ones as one; and the row of each in the order given."""
    width = np.round((segments[:, 1] - segments[:, 0]) / grid.step / _NEAR) * _NEAR
    start = np.round(segments[:, 0] / grid.step / _TICK) * _TICK
    keys, row = np.unique(np.column_stack((which, width, start)), axis=0, return_inverse=True)
    row = row.ravel()
    met, unmet = np.ones(len(keys)), np.ones(len(keys))
    np.multiply.at(met, row, yes)
    np.multiply.at(unmet, row, no)
    _, firsts, group = np.unique(keys[:, :2], axis=0, return_index=True, return_inverse=True)
    longest = grid.longest
    need, covered = np.full((len(firsts), longest + 1), np.inf), np.zeros((len(firsts), longest + 1), np.bool_)
    events = grid.step * np.arange(1, longest + 1)
    for k, first in enumerate(firsts):
        rule, seconds = rules[int(keys[first, 0])], float(keys[first, 1]) * grid.step
        if any(form.margin and form.seconds > seconds for form in rule.forms):
            raise InvalidInput(f"{rule.name}: the margin must fit into the segment, got one of {seconds:g} s")
        need[k, 1:] = rule.required_overlap(event_length=events, segment_length=seconds) / grid.step
        covered[k, 1:] = need[k, 1:] <= keys[first, 1] * (1 + 1e-9)
    start, span = (np.ascontiguousarray(keys[:, k], dtype=np.float64) for k in (2, 1))
    end = start + span
    least = need.min(axis=1, initial=np.inf)[group.ravel()] if len(keys) else np.empty(0)
    never = np.isinf(least)
    least = np.where(never, 0.0, least)
    reach = float(np.abs(grid.shifts).max())
    since = np.maximum(0, np.ceil(start + least - reach - _NEAR).astype(np.int64) - 1)
    due = np.clip(np.floor(end - least + reach + _NEAR).astype(np.int64) + 1, 1, grid.n)
    bit = _bits(since, due, needed=(met > 0) & ~never & (due - since >= 2), step=grid.step)
    stops = np.append(firsts, len(keys)).astype(np.int64)
    return Questions(stops, need, covered, start, end, since, due, bit, met, unmet), row


def _bits(since: NDArray[np.int64], due: NDArray[np.int64], *, needed: NDArray[np.bool_], step: float) -> Any:
    """One bit per query while it is open; a bit is free again when its query is settled."""
    bit = np.zeros(len(since), np.int64)
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for j in sorted(np.flatnonzero(needed).tolist(), key=since.__getitem__):
        while busy and busy[0][0] - 1 <= since[j]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        place = heapq.heappop(free) if free else len(busy)
        if place > 61:
            raise InvalidInput(f"more than 62 different queries overlap at {since[j] * step:g} s; leave some out")
        heapq.heappush(busy, (int(due[j]), place))
        bit[j] = 1 << place
    return bit


class Contradiction(InvalidInput):
    """Answers that no timeline can explain; ``at`` is the second by which they cannot all be true."""

    def __init__(self, at: float, where: str = "") -> None:
        self.at, self.where = at, where
        self.plain = f"{where}no timeline explains these answers: those up to {at:g} s contradict each other or the "
        self.plain += "law of event lengths"
        super().__init__(f"{self.plain}; give the annotator a guess_rate and a lapse_rate")

    def of(self, recording: str) -> Contradiction:
        """The same, of a recording by its name."""
        return Contradiction(self.at, f"{recording}: ")

    def __reduce__(self) -> Any:  # from another process
        return Contradiction, (self.at, self.where)


@dataclass(frozen=True)
class _Run:
    """The recursion under one set of rules and one process."""

    chain: Chain
    runs: Runs
    log_likelihood: float
    ahead: tuple[Any, ...]  # value, power
    back: tuple[Any, ...]  # value, power
    active: Array
    moves: Array
    events: Array


def _runs(grid: Grid, ask: Questions) -> Runs:
    room = 2 ** min(5, max([int(b).bit_length() for b in ask.bit], default=0))
    while room <= _MOST:
        masks, first, table, done = kernels.build(grid.n, grid.longest, grid.shifts, ask, room)
        if done == 1:
            steps = np.ascontiguousarray(table[:, :5].T, dtype=np.int32)
            return Runs._make([masks, first, *steps, table[:, 5].copy()])
        if done < 0:
            break
        room *= 4
    raise InvalidInput("so many different queries overlap that their answers cannot be kept apart; leave some out")


class _Ahead(NamedTuple):
    """The first half of the recursion, and the last boundary that a timeline reaches."""

    chain: Chain
    runs: Runs
    value: Any
    power: Any
    log_likelihood: float
    reached: int

    def completed(self) -> _Run:
        """With the way back."""
        ahead = self.value, self.power
        back, rise, active, moves, events = kernels.backward(self.chain, self.runs, *ahead, self.log_likelihood)
        return _Run(self.chain, self.runs, float(self.log_likelihood), ahead, (back, rise), active, moves, events)


class RuleChoices(NamedTuple):
    """Somebody who keeps one of several equally likely choices throughout a recording, each a rule, or rules of which
    every answer draws one; and the chance of a present answer where the rule says no, and yes."""

    choices: tuple[tuple[PresenceRule, ...], ...]
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Prepared:
    """The answers of one recording, and where they let timelines go, for every set of criteria; and per step the
    evidence of a detector, log p(what it saw | event) - log p(the same | none), where there is one."""

    recording_length: float
    grid: Grid
    people: tuple[RuleChoices, ...]
    combinations: tuple[tuple[int, ...], ...]
    runs: tuple[Runs, ...]
    evidence: Array | None = None

    def _chain(self, renewal: Renewal) -> Chain:
        if self.evidence is None:
            return renewal.chain(self.grid.n)
        # relative to the likelier of both, step by step, so that neither leaves the range of floating point
        s = self.evidence
        return renewal.chain(self.grid.n)._replace(idle=np.exp(-np.maximum(s, 0.0)), loud=np.exp(np.minimum(s, 0.0)))

    @property
    def _level(self) -> float:
        """The logarithm of what :meth:`_chain` leaves out."""
        return 0.0 if self.evidence is None else float(np.maximum(self.evidence, 0.0).sum())

    def log_likelihood(self, renewal: Renewal) -> float:
        """The logarithm of the chance of the answers (times the evidence) under a process; no more than that."""
        chain = self._chain(renewal)
        logs = np.array([kernels.forward(chain, runs)[2] for runs in self.runs])
        top = float(logs.max())
        return self._level + top + math.log(float(np.exp(logs - top).mean())) if math.isfinite(top) else -math.inf

    def posterior(self, renewal: Renewal | Uncertain, seen: dict[int, Any] | None = None) -> Posterior:
        """The posterior under a process of events on the same steps, or under several with given chances. ``seen``
        keeps what was worked out under those of a group, by identity."""
        process = Uncertain.of(renewal)
        seen = {} if seen is None or process.groups is None else seen
        for member in process.members:
            if id(member) not in seen:
                chain = self._chain(member)
                seen[id(member)] = [_Ahead(chain, runs, *kernels.forward(chain, runs)) for runs in self.runs]
        every = [seen[id(member)] for member in process.members]
        logs = np.array([[run.log_likelihood for run in found] for found in every])
        weighed: list[tuple[tuple[int, ...], Array, float, _Run]] = []  # and the logarithm of the prior
        chances = process.chances(np.logaddexp.reduce(logs, axis=1))
        for found, each, prior, share in zip(every, logs, process.weights, chances):
            shares = np.exp(each - (each.max() if share > 0 else 0.0))
            for k, part in enumerate(shares / max(float(shares.sum()), 1e-300)):
                if part > _FAINT and share > (0.0 if process.groups is None else _SLIGHT * chances.max()):
                    found[k] = run = found[k].completed() if isinstance(found[k], _Ahead) else found[k]
                    weighed.append((self.combinations[k], share * part, math.log(prior / len(self.runs)), run))
        if not weighed:
            reached = max(run.reached for found in every for run in found)
            raise Contradiction(min(self.recording_length, (1 + reached) * process.step))
        combinations, weights, log_prior, runs = zip(*weighed)
        weights = np.array(weights) / sum(weights)
        logs = np.array([prior + run.log_likelihood for prior, run in zip(log_prior, runs)])
        top = float(logs.max())
        log_likelihood = self._level + top + math.log(float(np.exp(logs - top).sum()))
        mixture = combinations, weights, self.grid, runs, log_likelihood
        return Posterior(process, self.recording_length, self.people, *mixture)


@dataclass(frozen=True, eq=False)
class Posterior(TimelinePosterior):
    """What the answers of one recording say about its timeline; made by :meth:`Prepared.posterior`."""

    renewal: Uncertain
    recording_length: float
    people: tuple[RuleChoices, ...]
    combinations: tuple[tuple[int, ...], ...]  # the choice of each person, in each run
    weights: Array  # how likely each run (criteria, and process where there are several) is, given the answers
    grid: Grid
    runs: tuple[_Run, ...]
    log_likelihood: float  # the logarithm of the chance of these answers

    def _mean(self, values: Sequence[Any]) -> Any:
        return sum(weight * value for weight, value in zip(self.weights, values))

    @cached_property
    def edges(self) -> Array:
        """The ends of the steps in seconds; the last one is the recording's."""
        ends: Array = self.renewal.step * np.arange(self.grid.n + 1, dtype=np.float64)
        ends[-1] = self.recording_length
        return ends

    @cached_property
    def active(self) -> Array:
        """P(an event is under way), per step."""
        return np.asarray(np.clip(self._mean([run.active for run in self.runs]), 0.0, 1.0))

    @cached_property
    def counts(self) -> Array:
        """Expected numbers of events by kind (no end cuts them, or one does) and steps 0 .. L."""
        return np.asarray(self._mean([run.events for run in self.runs]), dtype=np.float64)

    @cached_property
    def moves(self) -> Array:
        """Expected empty steps and starts by kind of gap, and beginnings; see :func:`.kernels.backward`."""
        return np.asarray(self._mean([run.moves for run in self.runs]), dtype=np.float64)

    @property
    def n_events(self) -> float:
        """The expected number of events."""
        return float(self.counts.sum())

    def satisfied(self, segments: Any, *, who: int = 0) -> Array:
        """P(the segment satisfies the rule), exactly, for many further segments (start, end) in seconds.

        ``who``: the person who would be asked, by position among those of this posterior.

        Examples
        --------
        >>> from weakly.model.lengths import Lengths
        >>> world = Renewal(Lengths.fixed(1.0), event_rate=0.05, step=0.1)
        >>> heard = prepare([(0, 3)], [1], renewal=world, recording_length=6).posterior(world)
        >>> heard.satisfied([(0, 3), (0, 1.5), (3, 6)]).round(3).tolist()
        [1.0, 0.584, 0.16]
        """
        spans = _inside(segments, self.recording_length)
        chances = []
        for run, combination in zip(self.runs, self.combinations):
            rules = self.people[who].choices[combination[who]]
            which = np.repeat(np.arange(len(rules)), len(spans))
            asked, blank = np.tile(spans, (len(rules), 1)), np.ones(len(which))
            further, row = _questions(asked, which, rules, 0 * blank, blank, grid=self.grid)
            none = kernels.unsatisfied(run.chain, run.runs, *run.ahead, *run.back, run.log_likelihood, further)
            chances.append(1 - none[row].reshape(len(rules), -1).mean(axis=0))
        return np.asarray(np.clip(self._mean(chances), 0.0, 1.0))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], Array, Array]:
        """Sample number, onset and offset of every event of n sampled timelines."""
        shares = rng.multinomial(n, self.weights)
        parts, first = [], 0
        for run, many in zip(self.runs, shares):
            if many:
                uniform = rng.random((many, self.grid.n + 1))
                coin = rng.integers(0, len(self.grid.shifts), (many, self.grid.n), dtype=np.int8)
                rows = kernels.draw(run.chain, run.runs, *run.back, uniform, coin)
                rows[:, 0] += first
                parts.append(rows)
                first += many
        rows = np.concatenate(parts)
        if len(self.runs) > 1:  # in random order: samples of several recordings are put together by number
            rows[:, 0] = rng.permutation(n)[rows[:, 0]]
        shift = self.grid.shifts[rows[:, 3]]
        onset = np.where(rows[:, 1] == 0, 0.0, rows[:, 1] + shift) * self.renewal.step
        offset = (rows[:, 1] + rows[:, 2] + shift) * self.renewal.step
        last = rows[:, 1] + rows[:, 2] == self.grid.n
        return rows[:, 0], onset, np.where(last, self.recording_length, np.minimum(offset, self.recording_length))


def _inside(segments: Any, recording_length: float) -> Array:
    spans = np.asarray(as_intervals(segments, name="segments"), dtype=np.float64).reshape(-1, 2)
    outside = (spans[:, 0] < 0) | (spans[:, 1] > recording_length * (1 + 1e-9) + 1e-6)
    if outside.any():
        a, b = spans[outside][0]
        raise InvalidInput(f"segment ({a:g}, {b:g}) lies outside the recording of {recording_length:g} s")
    return spans


_JOINT = 64  # sets of criteria that stand for several annotators, each with a law


def _person(who: Any) -> RuleChoices:
    """Who answers by equally likely rules, with the same noise."""
    models = AnswerModels.of(annotator=who)
    parts = models.parts(NODES)
    if len({(part.weight, part.low, part.high) for part in parts}) > 1:
        raise InvalidInput(
            "annotator must be one here, or several rules or criteria with the same guesses and lapses; "
            "give different people by name"
        )
    rules = [part.rule for part in parts]
    choices: tuple[tuple[PresenceRule, ...], ...] = tuple((rule,) for rule in rules)
    if models.per_answer and len(rules) > 1:
        if any(rule.criterion is None for rule in rules):
            raise InvalidInput(f"only shares of the event can be drawn for every answer, not rules, got {models.name}")
        choices = (tuple(sorted(rules, key=lambda rule: rule.criterion or 0.0)),)
    return RuleChoices(choices, parts[0].low, parts[0].high)


def _joint(people: Sequence[RuleChoices]) -> list[tuple[int, ...]]:
    """Which choice each of several people keeps, in equally likely combinations (a lattice where there are many)."""
    sizes = [len(person.choices) for person in people]
    if sum(size > 1 for size in sizes) <= 1:
        return [tuple(k if size > 1 else 0 for size in sizes) for k in range(max(sizes))]
    k = np.arange(_JOINT)
    turns = [((k + 0.5) / _JOINT * (a == 0) + (a > 0) * k * math.sqrt(a + 1.0)) % 1 for a in range(len(people))]
    return list(zip(*((turn * size).astype(int).tolist() for turn, size in zip(turns, sizes))))


def _factors(no: Array, yes: Array, many: int) -> tuple[Array, Array]:
    """(answers, rules): a factor of each of so many nested rules, the easiest first, where it is satisfied and where
    not. The chance of an answer of which k rules are satisfied, a share k / many of the way from no to yes, is their
    product: ratios of neighbouring chances, and one of them by itself, from the side on which none of them is zero."""
    share = np.arange(many + 1) / many
    level = np.outer(no, 1 - share) + np.outer(yes, share)
    below, above = level[:, :-1], level[:, 1:]
    rises, bare = (yes >= no)[:, None], np.arange(many) == np.where(yes >= no, many - 1, 0)[:, None]
    over = np.where(bare, 1.0, np.where(rises, above, below))
    over = np.where(over > 0, over, 1.0)
    return np.where(rises & ~bare, 1.0, above / over), np.where(rises | bare, below / over, 1.0)


def prepare(
    segments: Any,
    present: Any,
    *,
    renewal: Renewal | Uncertain,
    recording_length: float,
    annotator: Any = None,
    annotators: Sequence[str] | None = None,
    evidence: Array | None = None,
) -> Prepared:
    """The answers of one recording, ready for any rate and law of lengths on the same steps.

    Parameters
    ----------
    segments : (start, end) of each query in seconds; they may overlap, nest and repeat.
    present : 1, 0 or NaN (unsure: tells nothing) for each.
    renewal : the events: law of lengths, rate, step; or several processes of which a recording follows one.
    recording_length : seconds.
    annotator : who answered, or a dictionary of them by name. With a law of criteria, each person keeps one criterion
        throughout a recording, or draws one for every answer (:attr:`.AnswerModels.per_answer`).
    annotators : the name of each answer's annotator, where there are several.
    evidence : per step, a detector's log p(what it saw | event) - log p(the same | none).

    Examples
    --------
    >>> from weakly.model.lengths import Lengths
    >>> world = Renewal(Lengths.fixed(1.0), event_rate=0.05, step=0.1)
    >>> heard = prepare([(0, 3), (3, 6)], [1, 0], renewal=world, recording_length=6).posterior(world)
    >>> round(heard.n_events, 3), round(heard.event_seconds, 3)
    (1.048, 0.912)
    """
    length = float(check("recording_length", recording_length))
    spans = _inside(segments, length)
    said = np.asarray(present, dtype=np.float64).ravel()
    if said.shape != (len(spans),):
        raise InvalidInput(f"there must be one answer per segment, got {said.size} for {len(spans)} segments")
    names = np.asarray([""] * len(said) if annotators is None else list(annotators), dtype=object)
    who = Annotator() if annotator is None else annotator
    if isinstance(who, Mapping):
        people = dict.fromkeys(names) if len(names) else dict.fromkeys(list(who)[:1])
        unknown = [name for name in people if name not in who]
        if unknown:
            raise InvalidInput(f"annotator has no entry for {unknown[0]!r}; there are {', '.join(map(str, who))}")
        persons = {name: _person(who[name]) for name in people}
    else:
        persons = dict.fromkeys(dict.fromkeys(names) or [""], _person(who))
    grid = Grid.of(renewal, length)
    everybody = tuple(persons.values())
    answered = ~np.isnan(said)
    owner = np.array([list(persons).index(name) for name in names[answered]], dtype=np.int64)
    low, high = (np.array([person[k] for person in everybody]) for k in (1, 2))
    yes = np.where(said[answered] == 1, high[owner], 1 - high[owner])
    no = np.where(said[answered] == 1, low[owner], 1 - low[owner])
    combinations = _joint(everybody)
    runs = []
    for combination in combinations:
        choices = [person.choices[k] for person, k in zip(everybody, combination)]
        # people with the same rule share their queries' bits
        distinct = list(dict.fromkeys(rule for rules in choices for rule in rules))
        asked: list[Any] = []
        for k, rules in enumerate(choices):
            mine = np.flatnonzero(owner == k)
            for rule, *factors in zip(rules, *(each.T for each in _factors(no[mine], yes[mine], len(rules)))):
                asked.append((mine, np.full(len(mine), distinct.index(rule)), *factors))
        row, which, met, unmet = map(np.concatenate, zip(*asked))
        order = np.argsort(row, kind="stable")
        spread = spans[answered][row[order]]
        ask, _ = _questions(spread, which[order], distinct, met[order], unmet[order], grid=grid)
        runs.append(_runs(grid, ask))
    return Prepared(length, grid, everybody, tuple(combinations), tuple(runs), evidence)
