"""The work to plan: recordings of every class, who answers, at what price; and each way to label it as a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ..base.parallel import in_order, threads
from ..base.results import WORDS, percent, seconds, to_jsonable
from ..engine.tally import EXPOSURE, SCORES, Tally
from ..model.annotator import Annotator
from ..model.answer_model import AnswerModels
from ..model.cost import Cost
from ..model.intervals import EventArrays, Floats
from ..model.lengths import Lengths
from .base import Method, Outcome, Recording, SimulatedAnnotator, run
from .fixed import Fixed, Placed
from .model import B, Model, R, RecordingModel, Sums, some_recordings, tally

T = TypeVar("T")
COMMON = (1.0, 3.0, 5.0, 10.0)  # the segment lengths that people use, in seconds
FOUND = 0.9  # the share of events that a way must find unless told otherwise
MAX_REPLAYS = 5  # times that people hear a recording
#: The columns of tables, in the order of reading.
PAPER = "best accuracy near events (Theorem 2)"  # the note of the segments of that length
COLUMNS = ("name", "method", "segment_length", *WORDS, "n_queries", "listened", "hours", "cost", "note")
#: Two digits that people like, about 7 % apart: lengths are chosen among them.
_ROUND = np.array([*range(10, 20), 20, 22, 24, 25, 26, 28, 30, 32, 35, 38, 40, 42, 45, 48, *range(50, 100, 5)])
#: Recordings on which a plan runs a method, at least and at most, and their seconds; more if it follows no answers.
_LEAST, _TRIED, _SECONDS, _MORE = 4, 12, 720.0, 16
_MOST = 120  # lengths of fixed segments that are looked at
_WORTH_THREADS = 20_000  # events from which threads pay


def round_lengths(low: float, high: float, most: int) -> Floats:
    """Lengths from low to high with two digits, thinned evenly to at most so many.

    >>> round_lengths(0.9, 1.25, 10).tolist()
    [0.9, 0.95, 1.0, 1.1, 1.2]
    """
    decades = np.arange(np.floor(np.log10(low)) - 1, np.ceil(np.log10(high)) + 1)
    # Powers of ten below one are divided by, as 9e-1 is not 0.9.
    values = np.array([mark * 10.0**k if k >= 0 else mark / 10.0**-k for k in decades for mark in _ROUND])
    values = values[(values >= low * (1 - 1e-9)) & (values <= high * (1 + 1e-9))]
    if values.size > most:
        values = values[np.unique(np.linspace(0, values.size - 1, most).round().astype(int))]
    return values


@dataclass(frozen=True)
class MethodOutcome:
    """One way to label, and what comes of it. ``design`` is the way itself, which :func:`weakly.queries` can ask.
    ``wrong_time`` is in seconds per recording, all classes together; ``n_queries`` (answers; one for all classes that
    are ticked at once), ``n_ticks``, ``n_marks`` (events marked by hand), ``listened`` (seconds), ``hours`` of work and
    ``cost`` are for the whole work; ``heard`` is how often a moment is heard on average. ``wrong_time_se`` is 0 where
    the expectation is exact."""

    design: Method
    overlap_accuracy: float
    event_recall: float
    precision: float
    recall: float
    recording_accuracy: float
    wrong_time: float
    n_queries: float
    listened: float
    cost: float
    hours: float = 0.0
    n_ticks: float = 0.0
    n_marks: float = 0.0
    wrong_time_se: float = 0.0
    note: str = ""
    heard: float = 1.0

    @property
    def name(self) -> str:
        """A few words that tell it from the others, the same wherever people read of it."""
        if PAPER in self.note:  # a length of two digits stands beside it
            digits = seconds(self.length) if self.length >= 100 else f"{self.length:.3g} s"
            return f"{digits} segments (paper's optimum)"
        return self.design.words().name

    @property
    def method(self) -> str:
        """The name of the way, whatever its lengths."""
        return self.design.name

    @property
    def segment_length(self) -> float | None:
        """Seconds of a segment; of the shortest ones that halving asks."""
        return getattr(self.design, "segment_length", None)

    @property
    def hop(self) -> float | None:
        """Seconds from window to window."""
        return getattr(self.design, "hop", None)

    @property
    def votes(self) -> int | None:
        """Windows that make a moment present."""
        return getattr(self.design, "votes", None)

    @property
    def length(self) -> float:
        """The segment length; 0 for a way without segments."""
        return self.segment_length or 0.0

    @property
    def passes(self) -> tuple[tuple[tuple[str, ...], Method], ...]:
        """The classes of each pass, and how they are asked for."""
        return getattr(self.design, "passes", ())

    @property
    def attainable(self) -> bool:
        """Whether it can be done."""
        return self.design.is_attainable

    @property
    def asks(self) -> bool:
        """Whether anybody is asked, and can be."""
        return self.attainable and not self.design.is_trivial

    @property
    def finds(self) -> bool:
        """Whether it finds as many events as a way must, unless told otherwise."""
        return self.event_recall >= FOUND - 1e-9

    @property
    def is_practical(self) -> bool:
        """Whether people bear it: who hears everything more often would mark the events by hand in less time."""
        return self.heard <= MAX_REPLAYS * (1 + 1e-9)

    @property
    def rank(self) -> tuple[bool, float]:
        """Those that find 90 % of events first, then by wrong time."""
        return not self.finds, self.wrong_time

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        names = [name for name in self.__dataclass_fields__ if name != "design"]
        numbers = {name: to_jsonable(getattr(self, name)) for name in (*names, "attainable")}
        return {"name": self.name, **_told(self.design), **numbers}

    def dominates(self, other: MethodOutcome) -> bool:
        """Whether it is at least as good in wrong time, events found and cost, and better in one of them."""
        ahead = (other.wrong_time - self.wrong_time, self.event_recall - other.event_recall, other.cost - self.cost)
        slack = 1e-9 * max(other.wrong_time, 1e-9), 1e-9, 1e-9 * max(other.cost, 1e-9)
        return all(a >= -s for a, s in zip(ahead, slack)) and any(a > s for a, s in zip(ahead, slack))


def _told(design: Method) -> dict[str, Any]:
    """What JSON says of a design."""
    lengths = {
        name: to_jsonable(getattr(design, name, None)) for name in ("segment_length", "hop", "votes", "start_length")
    }
    passes = [[list(labels), _told(own)] for labels, own in getattr(design, "passes", ())]
    return {"method": design.name, **lengths, "passes": passes}


@dataclass(frozen=True)
class LabelingProblem:
    """Everything that the ways to label are compared on."""

    model: Model
    criteria: AnswerModels
    cost: Cost
    lengths: Lengths
    scale: float = 1.0  # the whole work over what the models hold
    methods: tuple[str, ...] = ()  # that are compared
    slips: float = 0.0  # guesses and lapses of those who answer, in ways that build on several answers

    @cached_property
    def slipping(self) -> AnswerModels:
        """Who answers where a label rests on several answers: then slips add up, or are outvoted."""
        return self.criteria.with_noise(self.slips, self.slips) if self.slips else self.criteria

    def answers_of(self, design: Method) -> AnswerModels:
        """Who answers in this way to label."""
        several = design.follows_answers or getattr(design, "windows_per_cell", 1) > 1
        return self.slipping if several else self.criteria

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes that are asked for in one pass."""
        return self.model.labels

    @property
    def n_classes(self) -> int:
        """How many they are."""
        return len(self.labels)

    @property
    def n_recordings(self) -> float:
        """Recordings in the whole work."""
        return self.model.count * self.scale

    @property
    def total(self) -> float:
        """Seconds in the whole work."""
        return self.model.time * self.scale

    @property
    def recording_length(self) -> float:
        """The mean length of a recording."""
        return self.model.time / self.model.count

    @cached_property
    def exposure(self) -> Floats:
        """What no design changes of every class, such as the seconds of its events, over all recordings."""
        return self.model.sums(self.model.measure(Fixed(self.model.longest), self.criteria))[1]

    def ground(self, name: str) -> float:
        """The same of all classes together."""
        return float(self.exposure[:, B[name]].sum())

    @property
    def n_events(self) -> float:
        """Events per recording, all classes together, what overlaps as one."""
        return self.ground("n_events") / self.model.count

    @property
    def event_time(self) -> float:
        """Seconds of event per recording, all classes together."""
        return self.ground("event_time") / self.model.count

    def only(self, *labels: str) -> LabelingProblem:
        """The same work for some of the classes."""
        return replace(self, model=self.model.only(*labels))

    # --- rows ------------------------------------------------------------------------------------------------------

    def rows(self, designs: Sequence[Method]) -> list[MethodOutcome]:
        """Several ways, worked out side by side."""
        return self.rows_of(designs, self.each(lambda design: design.sums(self), designs))

    def placed_sums(self, design: Placed) -> Sums:
        """The sums of segments or windows; what is heard serves all classes."""
        part = self.model.measure(design, self.answers_of(design))
        raw, base = self.model.sums(part)
        error = 0.0
        if self.model.drawn:
            wrong, count = wrong_seconds(part.raw, part.base), part.weight.sum()
            mean = np.sum(part.weight * wrong) / count
            error = float(np.sqrt(np.sum(part.weight * (wrong - mean) ** 2)) / count)
        ticks = float(raw[:, R["n_present"]].sum()) if self.n_classes > 1 else 0.0
        heard, answers = float(base[0, B["listened"]]), float(base[0, B["n_segments"]])
        return Sums(raw, base, heard, error, answers=answers, ticks=ticks)

    def each(self, function: Callable[[Any], T], items: Iterable[Any]) -> list[T]:
        """The function of every item; on all processors where the recordings are many."""
        if self.ground("n_events") < _WORTH_THREADS:
            return [function(item) for item in items]
        with threads() as workers:
            return list(in_order(function, [(item,) for item in items], executor=workers))

    def rows_of(self, designs: Sequence[Method], sums: Sequence[Sums]) -> list[MethodOutcome]:
        """Rows from sums over the classes, by the one tally of the house."""
        lengths = [getattr(design, "segment_length", None) for design in designs]
        total = Tally.empty(np.array(lengths, dtype=np.float64), ("plan",))
        for k, each in enumerate(sums):
            raw, base = each.raw.sum(axis=0), each.base.sum(axis=0)
            total.accumulate(k, raw.reshape(1, 1, len(SCORES)), base.reshape(1, len(EXPOSURE)))
        words = total.metrics()
        widths = np.array([length or 0.0 for length in lengths])
        limits = widths / self.criteria.range[1] * (1 + 1e-9)
        beyond = 1 - self.lengths.partial_moments(limits)[0]
        rows = []
        for k, (design, each) in enumerate(zip(designs, sums)):
            values: dict[str, Any] = {word: float(words[word][k, 0]) for word in WORDS}
            values["wrong_time"] *= self.n_classes  # per recording, all classes together
            names = ("heard", "answers", "ticks", "reviewed", "marks")
            heard, answers, ticks, reviewed, marks = (_tidy(getattr(each, name) * self.scale) for name in names)
            row = MethodOutcome(
                design=design,
                **values,
                n_queries=answers,
                listened=heard + reviewed,
                **self._price(listened=heard, n_queries=answers, n_ticks=ticks, reviewed=reviewed, n_marks=marks),
                n_ticks=ticks,
                n_marks=marks,
                wrong_time_se=each.error,
                heard=(heard + reviewed) / self.total,
            )
            notes = []
            if beyond[k] > 0.005 and row.segment_length is not None and self.criteria.kind != "rule":
                longer = f"{percent(float(beyond[k]))} of events are longer than {seconds(float(limits[k]))}"
                notes.append(f"{longer}: no segment holds enough")
            if not row.is_practical:
                notes.append(f"reviews everything {row.heard:.0f} times: marking the events by hand is less work")
            notes += design.notes(row.heard)
            if row.event_recall < FOUND:
                notes.append(f"misses {percent(1 - row.event_recall)} of events")
            if row.wrong_time >= self.event_time * (1 - 1e-9):
                notes.append("as much wrong time as if nothing were labelled present, or more")
            rows.append(replace(row, note="; ".join(filter(None, [*notes, each.note]))))
        return rows

    def _price(self, **work: float) -> dict[str, Any]:
        return {"cost": float(self.cost.of(**work)), "hours": float(self.cost.hours(**work))}

    def simulated_sums(self, method: Method) -> Sums:
        """What a plan expects of a method: it is run on some of the recordings, with a fixed seed.

        Each of the criteria that the plan takes for possible answers every recording, with its weight. The standard
        error is 0 where all recordings are known and answers certain.
        """
        n = int(np.clip(_SECONDS / self.recording_length, _LEAST, _TRIED)) * (1 if method.follows_answers else _MORE)
        raws, bases, errors, tried = [], [], [], 0
        for model in (self.model.only(label) for label in self.labels):
            lines = some_recordings(model, n)
            is_whole = isinstance(model, RecordingModel) and not model.drawn and len(lines) == round(model.count)
            repeats = 1 if self.criteria.is_noiseless else -(-n // len(lines))
            raw, base = (np.concatenate(each) for each in zip(*(self._tried(method, lines) for _ in range(repeats))))
            wrong = wrong_seconds(raw, base)
            exact = is_whole and self.criteria.is_noiseless
            errors.append(0.0 if exact else float(wrong.std(ddof=1) / np.sqrt(len(wrong))))
            raws.append(raw.mean(axis=0) * model.count)
            bases.append(base.mean(axis=0) * model.count)
            tried = len(lines)
        heard, answers = (
            sum(column) if method.follows_answers else column[0]
            for column in ([float(base[B[name]]) for base in bases] for name in ("listened", "n_segments"))
        )
        note = f"simulated on {tried:,} recordings"
        return Sums(np.stack(raws), np.stack(bases), heard, float(np.hypot.reduce(errors)), note, answers)

    def _tried(self, method: Method, lines: EventArrays) -> tuple[Floats, Floats]:
        """The measures of every recording, averaged over who may answer."""
        rng, raws, bases = np.random.default_rng(0), np.zeros((len(lines), len(R))), np.zeros((len(lines), len(B)))
        for weight, rule, low, high in self.answers_of(method).parts():
            annotator = SimulatedAnnotator(Annotator(guess_rate=low, lapse_rate=1 - high), rule=rule, rng=rng)
            earlier: list[Outcome] = []
            for k, (events, length) in enumerate(lines):
                one = Recording(f"{k}", length, events=events)
                done = run(method, one, annotator, earlier=earlier if method.learns else ())
                earlier.append(done)
                scored = tally([done.labels], EventArrays.of([events], length), rule=rule)
                base = scored.base_sums[0]
                base[[B["n_segments"], B["listened"]]] = done.n_queries, done.listened
                raws[k] += weight * scored.sums[0, 0]
                bases[k] += weight * base
        return raws, bases

    def limit(
        self, design: Method, *, positive: float, event_recall: float, note: str, n_queries: float = 0.0,
        listened: float = 0.0, overlap_accuracy: float = math.nan,
    ) -> MethodOutcome:  # fmt: skip
        """The row of labels that nobody is asked for, or that nobody can ask for: so many seconds are labelled present,
        the events first."""
        time, event = self.model.time * self.n_classes, self.ground("event_time")
        true = min(positive, event)
        wrong = positive + event - 2 * true
        return MethodOutcome(
            design=design,
            overlap_accuracy=overlap_accuracy,
            event_recall=event_recall,
            precision=true / positive if positive else math.nan,
            recall=true / event if event else math.nan,
            recording_accuracy=1 - wrong / time,
            wrong_time=wrong / self.model.count,
            n_queries=n_queries,
            listened=listened,
            **self._price(listened=listened, n_queries=n_queries),
            note=note,
        )

    # --- what is worth a look --------------------------------------------------------------------------------------

    @cached_property
    def grid(self) -> Floats:
        """Segment lengths worth a look, from far too short to the longest recording."""
        high = self.model.longest
        short = max(float(self.lengths.quantile(0.02)), 1e-3 * self.lengths.mean)
        low = self.criteria.range[0]
        if self.criteria.kind == "rule":  # in seconds it can be far less than a fifth of an event
            low = min(0.2, *(float(each.required_overlap(short, high)) / short for each in self.criteria))
        shortest = 0.3 * max(low, 1e-3) * short
        low = min(max(shortest, 1e-4 * self.lengths.mean, 2e-6, 1e-7 * high), high / 2)
        usual = [each for each in COMMON if each <= high]
        even = high / np.arange(1, 7)  # a recording in whole parts
        most = _MOST // 2 if self.is_busy else _MOST
        return np.unique(np.concatenate((round_lengths(low, high, most), usual, even[even >= low])))

    @property
    def is_busy(self) -> bool:
        """Whether a look at one way takes long: for many events, many classes or laws of criteria."""
        return self.criteria.is_continuous or self.ground("n_events") + 500 * (self.n_classes - 1) >= _WORTH_THREADS

    @cached_property
    def fixed_sums(self) -> list[Sums]:
        """The sums of fixed segments at every length of the grid, per class."""
        return self.each(lambda width: Fixed(width).sums(self), self.grid.tolist())

    @cached_property
    def fixed_rows(self) -> list[MethodOutcome]:
        """Fixed segments at every length of the grid."""
        return self.rows_of([Fixed(width) for width in self.grid.tolist()], self.fixed_sums)

    @cached_property
    def best_fixed(self) -> MethodOutcome:
        """The fixed segments with the least wrong time among those that find 90 % of events, if any do."""
        finding = [row for row in self.fixed_rows if row.event_recall >= FOUND] or self.fixed_rows
        return min(finding, key=lambda row: row.wrong_time)

    def best_overlap(self) -> float:
        """The segment length with the best accuracy near events: Theorem 2 where it applies, else from the grid."""
        single = self.criteria.single
        if single is not None and self.n_classes == 1:
            from ..theory.optimum import optimal_segment_length

            best = float(optimal_segment_length(event_length=self.lengths, presence_criterion=single))
            if best <= self.model.longest and not self.model.drawn:
                return best
        values = np.array([row.overlap_accuracy for row in self.fixed_rows])
        k = int(np.nanargmax(values))
        low, high = self.grid[max(k - 1, 0)], self.grid[min(k + 1, self.grid.size - 1)]
        fine = Fixed.at_lengths(self, np.geomspace(low, high, 9).tolist())
        return float(max([*fine, self.fixed_rows[k]], key=lambda row: row.overlap_accuracy).length)

    @cached_property
    def few(self) -> LabelingProblem:
        """The same work with so few recordings or lengths that many ways can be tried; itself where there are few."""
        events = self.ground("n_events") * (4 if self.criteria.is_continuous else 1)  # laws take long
        few = self.model.draft(events)
        return self if few is self.model else replace(self, model=few)


def wrong_seconds(raw: Floats, base: Floats) -> Floats:
    """Seconds with the wrong label, per unit."""
    said = raw[..., R["tp"]] + raw[..., R["fp"]] + raw[..., R["fp_outside"]]
    return np.asarray(said + base[..., B["event_time"]] - 2 * raw[..., R["tp"]])


def _tidy(value: float) -> float:
    """The number without what rounding left of a sum of weights: whole counts stay whole."""
    return round(value) + 0.0 if abs(value - round(value)) <= 1e-9 * max(1.0, value) else value


def in_recordings(problem: LabelingProblem, design: Method, shift: float = 0.0) -> Floats:
    """Wrong seconds, right and all seconds near events, events found and events, per recording (rows) of known ones;
    on fixed segments or windows, from 0 or from a share of a hop."""
    if passes := getattr(design, "passes", ()):
        return np.asarray(sum(in_recordings(problem.only(*labels), own, shift) for labels, own in passes))
    assert isinstance(problem.model, RecordingModel)
    assert isinstance(design, Placed)
    measured = problem.model.measure(design, problem.answers_of(design), shift * design.step)
    return problem.model.in_recordings(contributions(measured.raw, measured.base))


def contributions(raw: Floats, base: Floats) -> Floats:
    """Wrong seconds, right and all seconds near events, events found and events (in a last axis), per unit."""
    near, found, events = base[..., B["overlap_time"]], raw[..., R["n_found"]], base[..., B["n_events"]]
    right = raw[..., R["tp"]] + near - base[..., B["event_time_seen"]] - raw[..., R["fp"]]
    return np.stack((wrong_seconds(raw, base), right, near, found, events), axis=-1)
