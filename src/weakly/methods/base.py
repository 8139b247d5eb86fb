"""The one contract of every query method: a recording and the answers so far in, the next segments out; and the run of
any method against a simulated annotator.

A method holds no state. What it asks next is a function of the recording and of what was answered, so a simulated
annotator, a person in front of a tool, and a campaign that is resumed after a crash are all served by the same lines.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..base.errors import InvalidInput
from ..base.results import seconds
from ..engine.tally import largest, meetings
from ..model.annotator import TIE, Annotator, PresenceRule
from ..model.answer_model import AnswerModels
from ..model.intervals import EventArrays, Features, Floats, Intervals, as_intervals, duration, merge

if TYPE_CHECKING:
    from .model import Sums
    from .problem import LabelingProblem, MethodOutcome

_NONE = np.empty((0, 2))


@dataclass(frozen=True)
class Recording:
    """One recording: its name, its length in seconds, and what else is known of it."""

    name: str
    length: float
    path: Path | None = None
    events: Intervals | None = None  # true events, where strong labels exist
    features: Callable[[], Features] | Features | None = None

    def known_features(self) -> Features:
        """The features over time; computed when first asked for."""
        if self.features is None:
            raise InvalidInput(f"recording {self.name!r}: this method needs audio or features, and there are none")
        return self.features() if callable(self.features) else self.features


@dataclass(frozen=True)
class AnswerHistory:
    """The segments that were asked so far, in order, and the answers: 1 present, 0 absent, NaN unsure or not yet."""

    segments: Intervals = field(default_factory=lambda: _NONE)
    present: Floats = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.present)

    def add(self, segments: Any, present: Any) -> AnswerHistory:
        """These and further answers."""
        more = as_intervals(segments, name="segments")
        given = np.asarray(present, dtype=np.float64)
        if given.shape != (len(more),):
            raise InvalidInput(f"there must be one answer per segment, got {given.shape} for {len(more)} segments")
        wrong = ~(np.isnan(given) | (given == 0) | (given == 1))
        if wrong.any():
            raise InvalidInput(f"an answer must be 1 (present), 0 (absent) or NaN, got {given[wrong][0]:g}")
        return AnswerHistory(np.concatenate((self.segments, more)), np.concatenate((self.present, given)))

    @property
    def listened(self) -> float:
        """Seconds heard: every asked segment counts, as often as it was asked."""
        return float((self.segments[:, 1] - self.segments[:, 0]).sum())


@dataclass(frozen=True)
class Labels:
    """Disjoint segments in order, and whether each is present (NaN where nothing is known)."""

    segments: Intervals
    present: Floats
    noticed: Intervals | None = None  # the present segments that were heard, where the labels are cut more finely

    @property
    def events(self) -> Intervals:
        """The present time; segments that touch become one event."""
        return merge(self.segments[self.present == 1])

    @property
    def unknown(self) -> float:
        """Seconds without an answer."""
        return duration(self.segments[np.isnan(self.present)])


class Words(NamedTuple):
    """How people say it: a name among others of its kind, what to do, the kind, and what its lengths are lengths of."""

    name: str
    instruction: str
    kind: str
    noun: str = "segments"


def size(length: float | None) -> str:
    """A length as it stands before a noun.

    >>> size(0.8), size(14400.0)
    ('0.8 s', '4 hour')
    """
    return seconds(length or 0.0).removesuffix("s") if (length or 0.0) >= 3600 else seconds(length or 0.0)


class Method(ABC):
    """A way to label: subclass it, and give the object to :func:`weakly.queries` and :func:`weakly.plan`.

    Only :meth:`next` must be written. ``name`` stands in the tables; ``follows_answers`` says whether what is asked
    depends on what was answered, so that there is a next round. Plans run a method that has no :meth:`sums` of its own
    on some of their recordings; they compare methods, so an object must be hashable (``@dataclass(frozen=True)``).

    Examples
    --------
    The second half of a recording is asked only where the first half is absent:

    >>> import numpy as np
    >>> import weakly as wk
    >>> from weakly.methods.base import Method, Recording, SimulatedAnnotator, run
    >>> class SecondHalfLater(Method):
    ...     name, follows_answers = "second-half-later", True
    ...     def next(self, recording, asked):
    ...         half = recording.length / 2
    ...         if len(asked) == 0:
    ...             return np.array([[0.0, half]])
    ...         again = len(asked) == 1 and asked.present[0] == 0
    ...         return np.array([[half, recording.length]]) if again else np.empty((0, 2))
    >>> wk.queries({"a.wav": 10.0}, method=SecondHalfLater()).to_frame()[["onset", "offset"]].values.tolist()
    [[0.0, 5.0]]
    >>> known = Recording("a.wav", 10.0, events=np.array([[7.0, 8.0]]))
    >>> run(SecondHalfLater(), known, SimulatedAnnotator(0.5)).labels.events.tolist()
    [[5.0, 10.0]]
    """

    name: ClassVar[str] = "method"
    follows_answers: ClassVar[bool] = False
    learns: ClassVar[bool] = False  # from the answers about other recordings, through :meth:`among`
    needs_signal: ClassVar[bool] = False  # audio or features of every recording
    uses_signal: ClassVar[bool] = False  # where there is one
    by_name: ClassVar[bool] = True  # queries make it from its name and parameters
    planned: ClassVar[str] = "named"  # when plans compare it: "always", where it is "named", or "never"
    is_trivial: ClassVar[bool] = False  # asks nobody: what every way of asking must beat
    is_attainable: ClassVar[bool] = True  # people can do it
    is_plain: ClassVar[bool] = False  # segments of one length side by side, with which others are compared
    is_strong: ClassVar[bool] = False  # people mark where events begin and end
    tools: ClassVar[tuple[str, ...]] = ()  # others' annotation tools that serve for it
    colour: ClassVar[int] = 6  # in figures

    @classmethod
    def of(cls, settings: Mapping[str, Any], recordings: Sequence[Recording]) -> Method:
        """The method from those parameters of :func:`weakly.queries` that are its own; all were checked."""
        own: tuple[Any, ...] = fields(cls) if is_dataclass(cls) else ()
        for one in own:
            if one.default is MISSING and one.name not in settings:
                raise InvalidInput(f"method {cls.name!r} needs {one.name}")
        return cls(**{one.name: settings[one.name] for one in own if one.name in settings})

    @abstractmethod
    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """The segments to ask now; none when the answers suffice."""

    def among(self, campaign: Mapping[str, tuple[Recording, AnswerHistory]]) -> Method:
        """The method within a campaign, whose other recordings and their answers may teach it something."""
        return self

    def queue(
        self, campaign: Mapping[str, tuple[Recording, AnswerHistory]], n: int
    ) -> Iterator[tuple[Recording, Intervals]]:
        """What to ask now in a campaign: of every recording in turn, unless a method compares them and asks n times."""
        for recording, asked in campaign.values():
            yield recording, self.next(recording, asked)

    def outlook(self, recording: Recording, asked: AnswerHistory) -> dict[str, float] | None:
        """What is left to do, where the method can tell: wrong_time, n_events, answers_left."""
        return None

    def labels(self, recording: Recording, asked: AnswerHistory) -> Labels:
        """The labels that the answers make: each asked segment has its own, the time between them is unknown."""
        segments = np.unique(asked.segments, axis=0)
        edges = np.concatenate(([0.0], segments.ravel(), [recording.length])).reshape(-1, 2)
        gaps = edges[edges[:, 1] - edges[:, 0] > 1e-9]
        both = np.concatenate((segments, gaps))
        present = np.concatenate((lookup(asked, segments), np.full(len(gaps), np.nan)))
        order = np.argsort(both[:, 0], kind="stable")
        return Labels(both[order], present[order])

    def rounds(self, recording: Recording, asked: AnswerHistory) -> int:
        """How many rounds these answers took: the method is asked again, round by round."""
        if not self.follows_answers:
            return min(1, len(asked))
        rounds, so_far = 0, AnswerHistory()
        known = dict(zip(key(asked.segments), asked.present.tolist()))
        while len(segments := self.next(recording, so_far)):
            answers = [known.get(segment) for segment in key(segments)]
            if any(answer is None for answer in answers):
                break
            rounds, so_far = rounds + 1, so_far.add(segments, np.array(answers, dtype=float))
        return rounds

    @property
    def parameters(self) -> dict[str, Any]:
        """What the method was made with, by name."""
        if not is_dataclass(self):
            return {}
        return {one.name: getattr(self, one.name) for one in fields(self) if one.compare}

    @property
    def is_placed(self) -> bool:
        """Whether its segments lie alike in all recordings, so that plans know each recording's part of the sums."""
        return False

    @property
    def is_simulated(self) -> bool:
        """Whether plans must run it to know what it gives."""
        return type(self).sums is Method.sums

    def of_class(self, label: str) -> Method:
        """What is asked about one class."""
        return self

    # --- as it is planned and written about ---------------------------------------------------------------------------

    @property
    def command(self) -> str:
        """The options of ``weakly queries`` that make it."""
        usual: dict[str, Any] = {one.name: one.default for one in fields(self)} if is_dataclass(self) else {}
        numbers = [(name, value) for name, value in self.parameters.items() if value != usual.get(name)]
        if (length := getattr(self, "segment_length", None)) is not None:
            numbers = [("segment_length", length), *(each for each in numbers if each[0] != "segment_length")]
        told = " ".join(f"--{name.replace('_', '-')} {value:.12g}" for name, value in numbers)
        return f"--method {self.name} {told}".strip()

    def words(self) -> Words:
        """How people say it."""
        length = getattr(self, "segment_length", None)
        name = self.name if length is None else f"{self.name}, {size(length)} segments"
        return Words(name, f"Label by {name}", self.name)

    @property
    def same_labels(self) -> Method:
        """What gives the same labels at once where answers are certain."""
        return self

    def is_like(self, other: Method) -> bool:
        """Whether only lengths tell it from the other."""
        return self.name == other.name

    def notes(self, heard: float) -> list[str]:
        """What a table says beside its numbers; ``heard`` is how often a moment is heard."""
        return []

    def sums(self, problem: LabelingProblem) -> Sums:
        """What it makes of the recordings of a plan: by simulation, unless a class knows better."""
        return problem.simulated_sums(self)

    def expected(self, problem: LabelingProblem) -> MethodOutcome:
        """How good its labels become and how much work they are."""
        return problem.rows([self])[0]

    @classmethod
    def candidates(cls, problem: LabelingProblem) -> list[MethodOutcome]:
        """What is worth a look where a plan is told its name alone."""
        return [cls().expected(problem)]

    @classmethod
    def at_lengths(cls, problem: LabelingProblem, lengths: Sequence[float]) -> list[MethodOutcome]:
        """The rows of these segment lengths, for a way that is told by its length."""
        return []


def enough(budget: int, recordings: Sequence[Recording]) -> None:
    """Raise where a budget of queries does not reach every recording."""
    if budget < len(recordings):
        raise InvalidInput(f"budget must be at least one query per recording ({len(recordings)}), got {budget}")


class _Counted:
    """What was asked so far, in numbers."""

    asked: AnswerHistory

    @property
    def n_queries(self) -> int:
        """How many segments were asked."""
        return len(self.asked)

    @property
    def listened(self) -> float:
        """How many seconds were heard."""
        return self.asked.listened


@dataclass
class Session(_Counted):
    """One recording on its way through a method: ``next()`` gives segments, ``answer()`` takes what was said.

    >>> from weakly.methods.bisection import Bisection
    >>> from weakly.methods.base import Recording, Session
    >>> session = Session(Bisection(segment_length=1.0, start=1), Recording("a", 4.0))
    >>> session.next().tolist()
    [[0.0, 4.0]]
    >>> session.answer([1])
    >>> session.next().tolist()
    [[0.0, 2.0], [2.0, 4.0]]
    """

    method: Method
    recording: Recording
    asked: AnswerHistory = field(default_factory=AnswerHistory)

    def next(self) -> Intervals:
        """The segments to ask now; none when the session is over."""
        return self.method.next(self.recording, self.asked)

    def answer(self, present: Any, *, segments: Any = None) -> None:
        """Take the answers to the segments of :meth:`next` (or to these), in their order: 1, 0, or NaN for unsure."""
        self.asked = self.asked.add(self.next() if segments is None else segments, present)

    @property
    def labels(self) -> Labels:
        """The labels that the answers so far make."""
        return self.method.labels(self.recording, self.asked)


def key(segments: Intervals) -> list[tuple[int, int]]:
    """Segments as pairs of whole microseconds, so that equal ones are found whatever their last bit says."""
    return [(round(a * 1e6), round(b * 1e6)) for a, b in segments.tolist()]


def answers_by_segment(asked: AnswerHistory, lead: int = 1) -> dict[tuple[int, int], float]:
    """The answer to each segment that is settled: the one that leads by so many; NaN where so many are unsure, or, if
    one is enough, where they tie."""
    given: dict[tuple[int, int], list[float]] = {}
    for segment, present in zip(key(asked.segments), asked.present.tolist()):
        given.setdefault(segment, []).append(present)
    if lead == 1:
        return {segment: values[0] if len(values) == 1 else verdict(values) for segment, values in given.items()}
    known = {segment: verdict(values, lead) for segment, values in given.items()}
    unsure = {segment for segment, values in given.items() if sum(map(math.isnan, values)) >= lead}
    return {segment: value for segment, value in known.items() if not math.isnan(value) or segment in unsure}


def verdict(values: Any, lead: int = 1) -> float:
    """The answer that leads by so many; NaN where none does.

    >>> verdict([1, 1, 0]), verdict([1, 0])
    (1.0, nan)
    """
    ahead = sum(value == 1 for value in values) - sum(value == 0 for value in values)
    return float(ahead > 0) if abs(ahead) >= lead else float("nan")


def lookup(asked: AnswerHistory, segments: Intervals) -> Floats:
    """The answers to these segments; NaN where they were not asked."""
    known = answers_by_segment(asked)
    return np.array([known.get(segment, np.nan) for segment in key(segments)], dtype=np.float64)


def unasked(asked: AnswerHistory, segments: Intervals) -> Intervals:
    """Those of the segments that were not asked yet."""
    known = set(key(asked.segments))
    return np.asarray(segments[[segment not in known for segment in key(segments)]]).reshape(-1, 2)


def event_fractions(events: Intervals, segments: Intervals) -> Floats:
    """The largest share of one event in each segment; events are sorted and disjoint.

    >>> event_fractions(np.array([[1.0, 3.0]]), np.array([[0.0, 2.0], [3.0, 4.0]])).tolist()
    [0.5, 0.0]
    """
    line = EventArrays(events, np.array([0, len(events)]), np.array([np.inf]))
    segment, event, shared = meetings(line, np.zeros(len(segments), np.int64), segments)
    return largest(segment, shared / np.diff(events)[event, 0], len(segments))


class SimulatedAnnotator:
    """Somebody who answers segments by the true events: a criterion, guesses, lapses, flips, votes; or a rule.

    Parameters
    ----------
    annotator : an :class:`~weakly.Annotator`, a criterion, a law, or text of one. A law of criteria is drawn from once
        for each voter: a criterion belongs to a person, guesses and lapses to a segment.
    rule : a presence rule, or its text, instead of the annotator's criterion.
    rng : seed or generator.

    Examples
    --------
    >>> SimulatedAnnotator(0.5)(np.array([[1.0, 3.0]]), np.array([[0.0, 2.0], [2.5, 4.0]])).tolist()
    [1.0, 0.0]
    """

    def __init__(self, annotator: Any = 0.5, *, rule: PresenceRule | str | None = None, rng: Any = None) -> None:
        models = AnswerModels.of(annotator=annotator)
        if len(models) != 1:
            raise InvalidInput(f"annotator must be one person here, got {models.name}")
        self.annotator = models.members[0].annotator or Annotator()
        self.rule = models.rule if rule is None else AnswerModels.of(rule=rule).as_rule
        self._rng = np.random.default_rng(rng)
        voters = self.annotator.votes[1] if self.annotator.votes else 1
        law = self.annotator.presence_criterion
        self.criteria = (
            np.full(voters, law) if isinstance(law, float) else np.asarray(law.ppf(self._rng.random(voters)))
        )

    def __call__(self, events: Intervals, segments: Intervals) -> Floats:
        """The answers to the segments of a recording with these events: 1 present, 0 absent."""
        if len(segments) == 0:
            return np.empty(0)
        who = self.annotator
        if self.rule is not None:
            each = self.rule.is_present(event=events[None], segment=segments[:, None])
            met = np.repeat(np.any(each, axis=1)[:, None], len(self.criteria), axis=1)
        else:
            h = event_fractions(events, segments)
            met = (h[:, None] > 0) & (h[:, None] >= self.criteria * (1 - TIE))
        chance = who.guess_rate + (1 - who.guess_rate - who.lapse_rate) * met
        chance = chance + who.flip_rate * (1 - 2 * chance)
        said = self._rng.random(met.shape) < chance if who.is_noisy else met
        need = who.votes[0] if who.votes else 1
        return np.asarray(said.sum(axis=1) >= need, dtype=np.float64)


@dataclass(frozen=True)
class Outcome(_Counted):
    """What came of one recording: the labels, what was asked, and what was answered."""

    recording: Recording
    labels: Labels
    asked: AnswerHistory


def run(
    method: Method, recording: Recording, annotator: Callable[[Intervals, Intervals], Floats], *,
    most_queries: int | None = None, earlier: Sequence[Outcome] = (),
) -> Outcome:  # fmt: skip
    """The outcome of a method on a recording whose events are known, with a simulated annotator.

    ``earlier`` are the outcomes of the campaign so far, from which the method may have learned.

    >>> from weakly.methods.bisection import Bisection
    >>> one = Recording("a", 8.0, events=np.array([[2.2, 3.0]]))
    >>> outcome = run(Bisection(segment_length=1.0, start=1), one, SimulatedAnnotator(0.5))
    >>> outcome.n_queries, outcome.labels.events.tolist()
    (7, [[2.0, 3.0]])
    """
    if recording.events is None:
        raise InvalidInput(f"recording {recording.name!r}: a simulated annotator needs the true events")
    session = Session(method.among({one.recording.name: (one.recording, one.asked) for one in earlier}), recording)
    while len(segments := session.next()):
        if most_queries is not None and session.n_queries + len(segments) > most_queries:
            break
        session.answer(annotator(recording.events, segments), segments=segments)
    return Outcome(recording, session.labels, session.asked)
