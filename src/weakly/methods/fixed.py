"""Segments side by side, FIX; the limits beside them: the oracle's segments, ORC, and asking nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base.errors import InvalidInput
from ..model.intervals import Intervals, fixed_segments, oracle_segments
from ..model.placement import Edge, Placement
from .base import AnswerHistory, AtOnce, Labels, Method, Placed, Recording, Words, enough, size

if TYPE_CHECKING:
    from .problem import LabelingProblem, MethodOutcome


@dataclass(frozen=True)
class Fixed(Placed):
    """FIX: segments of one length from 0 to the end, or this many equally long ones in each recording.

    Examples
    --------
    >>> from weakly.methods.base import AnswerHistory, Recording
    >>> from weakly.methods.fixed import Fixed
    >>> Fixed(segment_length=2.0).next(Recording("a", 5.0), AnswerHistory()).tolist()
    [[0.0, 2.0], [2.0, 4.0], [4.0, 5.0]]
    """

    segment_length: float | None = None
    n_queries: int | None = None
    name: ClassVar[str] = "fixed"
    planned: ClassVar[str] = "always"
    is_plain: ClassVar[bool] = True
    tools: ClassVar[tuple[str, ...]] = ("audacity", "raven", "labelstudio", "birdnet")
    colour: ClassVar[int] = 0

    @classmethod
    def of(cls, settings: Mapping[str, Any], recordings: Sequence[Recording]) -> Fixed:
        """From segment_length, queries_per_recording, or a budget that all recordings share."""
        length, count = settings.get("segment_length"), settings.get("queries_per_recording")
        if length is None and count is None:
            if "budget" not in settings:
                raise InvalidInput("method 'fixed' needs segment_length, queries_per_recording or budget")
            length = _shared_length(recordings, settings["budget"])
        return cls(segment_length=length, n_queries=count)

    def segments(self, recording: Recording) -> Intervals:
        """All segments of the recording."""
        if self.segment_length is None:
            edges = np.linspace(0.0, recording.length, (self.n_queries or 1) + 1)
            return np.column_stack((edges[:-1], edges[1:]))
        return fixed_segments(recording_length=recording.length, segment_length=self.segment_length)

    def words(self) -> Words:
        """How people say it."""
        length = f"{self.n_queries} equal" if self.segment_length is None else size(self.segment_length)
        return Words(f"{length} segments", f"Label {length} segments", "segments")

    @property
    def command(self) -> str:
        """The options of ``weakly queries`` that make it."""
        return super().command.removeprefix("--method fixed ").replace("--n-queries", "--queries-per-recording")

    def placement(self, phase: float = 0.0) -> tuple[float, Placement] | None:
        """Side by side, the last one cut."""
        if self.segment_length is None:
            return None
        return self.segment_length, Placement(phase=phase, edge=Edge.TRUNCATE, hop=None, votes=None, means=False)

    @classmethod
    def candidates(cls, problem: LabelingProblem) -> list[MethodOutcome]:
        """Every length of the problem's grid."""
        return list(problem.fixed_rows)

    @classmethod
    def at_lengths(cls, problem: LabelingProblem, lengths: Sequence[float]) -> list[MethodOutcome]:
        """Segments of these lengths."""
        return problem.rows([cls(float(length)) for length in lengths])


def _shared_length(recordings: Sequence[Recording], budget: int) -> float:
    """The shortest segment length whose fixed segments of all recordings fit the budget."""
    enough(budget, recordings)
    lengths = np.array([one.length for one in recordings])
    low, high = float(lengths.sum()) / budget, float(lengths.max())
    for _ in range(60):
        middle = (low + high) / 2
        fits = np.ceil(lengths / middle).sum() <= budget
        low, high = (low, middle) if fits else (middle, high)
    return high


@dataclass(frozen=True)
class Oracle(AtOnce):
    """ORC: the true events and the gaps between them; needs strong labels, so it serves as the bound."""

    name: ClassVar[str] = "oracle"
    planned: ClassVar[str] = "always"
    is_attainable: ClassVar[bool] = False

    @classmethod
    def of(cls, settings: Mapping[str, Any], recordings: Sequence[Recording]) -> Oracle:
        """Nothing needs to be told."""
        return cls()

    def segments(self, recording: Recording) -> Intervals:
        """All segments of the recording."""
        if recording.events is None:
            raise InvalidInput(f"recording {recording.name!r}: the oracle needs strong labels; give events")
        return oracle_segments(recording.events, recording_length=recording.length)

    def words(self) -> Words:
        """How people say it."""
        return Words("oracle (a limit)", "Label the true events", self.name)

    def expected(self, problem: LabelingProblem) -> MethodOutcome:
        """Every event and every gap is asked once, and right."""
        segments = 2 * problem.ground("n_events") + problem.model.count * problem.n_classes
        return problem.limit(
            self, positive=problem.ground("event_time"), n_queries=segments * problem.scale, listened=problem.total,
            overlap_accuracy=1.0, event_recall=1.0, note="needs the true boundaries: a limit, not a way to work",
        )  # fmt: skip


class _Unasked(Method):
    """The same label everywhere."""

    by_name: ClassVar[bool] = False
    planned: ClassVar[str] = "always"
    is_trivial: ClassVar[bool] = True
    present: ClassVar[float]

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """Nothing."""
        return np.empty((0, 2))

    def labels(self, recording: Recording, asked: AnswerHistory) -> Labels:
        """One segment."""
        return Labels(np.array([[0.0, recording.length]]), np.array([self.present]))

    def words(self) -> Words:
        """How people say it."""
        return Words(f"label {self.name}", f"Call {self.name} present and ask nobody", self.name)

    def expected(self, problem: LabelingProblem) -> MethodOutcome:
        """What any labels must beat."""
        positive = self.present * problem.model.time * problem.n_classes
        note = "nobody is asked: what any labels must beat"
        return problem.limit(self, positive=positive, event_recall=self.present, note=note)


@dataclass(frozen=True)
class Nothing(_Unasked):
    """Nothing is labelled present."""

    name: ClassVar[str] = "nothing"
    present: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Everything(_Unasked):
    """Everything is labelled present."""

    name: ClassVar[str] = "everything"
    present: ClassVar[float] = 1.0
