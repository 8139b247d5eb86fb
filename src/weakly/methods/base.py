"""The one contract of every query method: a recording and the answers so far in, the next segments out.

A method holds no state. What it asks next is a function of the recording and of what was answered, so a simulated
annotator, a person in front of a tool, and a campaign that is resumed after a crash are all served by the same lines.
(Boundary search remembers the searches that it replayed last; that saves time and changes no result.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..model.features import Features
from ..model.intervals import Intervals, as_intervals, duration, merge

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
    present: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

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
    present: NDArray[np.float64]
    noticed: Intervals | None = None  # the present segments that were heard, where the labels are cut more finely

    @property
    def events(self) -> Intervals:
        """The present time; segments that touch become one event."""
        return merge(self.segments[self.present == 1])

    @property
    def unknown(self) -> float:
        """Seconds without an answer."""
        return duration(self.segments[np.isnan(self.present)])


class Method(ABC):
    """A way to choose segments: subclass it, and give the object to :func:`weakly.queries`.

    Only :meth:`next` must be written. ``name`` stands in the tables; ``follows_answers`` says whether what is asked
    depends on what was answered, so that there is a next round.

    Examples
    --------
    The second half of a recording is asked only where the first half is absent:

    >>> import numpy as np
    >>> import weakly as wk
    >>> from weakly.methods.base import Method, Recording
    >>> from weakly.methods.simulated import SimulatedAnnotator, run
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

    @abstractmethod
    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """The segments to ask now; none when the answers suffice."""

    def among(self, campaign: Mapping[str, tuple[Recording, AnswerHistory]]) -> Method:
        """The method within a campaign, whose other recordings and their answers may teach it something."""
        return self

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
        return {one.name: getattr(self, one.name) for one in fields(self)}


class AtOnce(Method):
    """A method that knows all its segments from the start, and labels each with its own answer."""

    @abstractmethod
    def segments(self, recording: Recording) -> Intervals:
        """All segments of the recording."""

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """The segments not asked yet."""
        return unasked(asked, self.segments(recording))


class Counted:
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
class Session(Counted):
    """One recording on its way through a method: ``next()`` gives segments, ``answer()`` takes what was said.

    Examples
    --------
    >>> from weakly.methods.segments import Bisection
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


def answers_by_segment(asked: AnswerHistory) -> dict[tuple[int, int], float]:
    """The answer to each segment: the majority of its answers, NaN where they tie or none is sure."""
    given: dict[tuple[int, int], list[float]] = {}
    for segment, present in zip(key(asked.segments), asked.present.tolist()):
        given.setdefault(segment, []).append(present)
    return {segment: values[0] if len(values) == 1 else verdict(values) for segment, values in given.items()}


def verdict(values: Any) -> float:
    """The majority of answers; NaN where they tie or none is sure.

    >>> verdict([1, 1, 0]), verdict([1, 0])
    (1.0, nan)
    """
    ayes, noes = sum(value == 1 for value in values), sum(value == 0 for value in values)
    return float("nan") if ayes == noes else float(ayes > noes)


def lookup(asked: AnswerHistory, segments: Intervals) -> NDArray[np.float64]:
    """The answers to these segments; NaN where they were not asked."""
    known = answers_by_segment(asked)
    return np.array([known.get(segment, np.nan) for segment in key(segments)], dtype=np.float64)


def unasked(asked: AnswerHistory, segments: Intervals) -> Intervals:
    """Those of the segments that were not asked yet."""
    known = set(key(asked.segments))
    found: Intervals = segments[np.array([segment not in known for segment in key(segments)], dtype=bool)]
    return found
