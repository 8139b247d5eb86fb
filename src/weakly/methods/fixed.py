"""Segments of one length: side by side, FIX, or windows that overlap, where each moment is decided by a vote of those
over it; the limits beside them: the oracle's segments, ORC, and asking nobody."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base.errors import InvalidInput
from ..base.results import seconds
from ..model.intervals import (
    Edge,
    Intervals,
    Placement,
    cell_labels,
    checked_votes,
    fixed_segments,
    oracle_segments,
    window_starts,
    windows_per_cell,
)
from .base import AnswerHistory, Labels, Method, Recording, Words, enough, lookup, size, unasked

if TYPE_CHECKING:
    from .model import Sums
    from .problem import LabelingProblem, MethodOutcome


PER_CELL = (2, 4)  # windows over each moment that plans look at
_HOPS = 12  # hops that plans look at
_FULL = 8  # windows that are then worked out on all events
_CELLS = 2e6  # hops that events may last, all together: finer windows would take long
_MANY_CLASSES = 30  # with more of them fewer windows are looked at


class AtOnce(Method):
    """A method that knows all its segments from the start, and labels each with its own answer."""

    @abstractmethod
    def segments(self, recording: Recording) -> Intervals:
        """All segments of the recording."""

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """The segments not asked yet."""
        return unasked(asked, self.segments(recording))


class Placed(AtOnce):
    """Segments that repeat from 0 to the end of every recording: worked out exactly by the engine."""

    @abstractmethod
    def placement(self, phase: float = 0.0) -> tuple[float, Placement] | None:
        """The segments' length and where they lie, from this phase on; None where recordings differ in them."""

    @property
    def is_placed(self) -> bool:
        """Unless recordings differ in them."""
        return self.placement() is not None

    @property
    def is_simulated(self) -> bool:
        """Only where recordings differ in their segments."""
        return not self.is_placed

    @property
    def step(self) -> float:
        """Seconds from one segment to the next."""
        length, placement = self.placement() or (0.0, None)
        return length if placement is None or placement.hop is None else placement.hop

    @property
    def windows_per_cell(self) -> int:
        """How many segments cover a moment."""
        return 1

    def sums(self, problem: LabelingProblem) -> Sums:
        """Exact, where segments lie alike in all recordings."""
        return problem.placed_sums(self) if self.is_placed else super().sums(problem)


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
        if self.segment_length is None:
            edges = np.linspace(0.0, recording.length, (self.n_queries or 1) + 1)
            return np.column_stack((edges[:-1], edges[1:]))
        return fixed_segments(recording_length=recording.length, segment_length=self.segment_length)

    def words(self) -> Words:
        length = f"{self.n_queries} equal" if self.segment_length is None else size(self.segment_length)
        return Words(f"{length} segments", f"Label {length} segments", "segments")

    @property
    def command(self) -> str:
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
class Windows(Placed):
    r"""Windows of one length every ``hop`` seconds; a cell of one hop is present if enough of its windows are.

    Parameters
    ----------
    segment_length, hop : seconds; the length is a whole number K of hops.
    votes : how many of the K windows that cover a cell must be present; left out, the majority. Cells near an end are
        covered by fewer windows and need the same share of them.

    Notes
    -----
    With :math:`k = K + 1/2 - \gamma d_e / \eta` votes, rounded, the expected error is half a hop per event, for every
    segment length; the majority is right only where the segment is twice as long as the required overlap.
    """

    segment_length: float
    hop: float
    votes: int | None = None
    name: ClassVar[str] = "windows"
    planned: ClassVar[str] = "always"
    tools: ClassVar[tuple[str, ...]] = ("audacity", "raven", "labelstudio")
    colour: ClassVar[int] = 2

    @classmethod
    def of(cls, settings: Mapping[str, Any], recordings: Sequence[Recording]) -> Method:
        """From segment_length, hop (half of it unless told) and votes."""
        half = {"hop": settings["segment_length"] / 2} if "segment_length" in settings else {}
        return super().of({**half, **settings}, recordings)

    def __post_init__(self) -> None:
        windows = self.windows_per_cell
        if self.votes is not None:
            checked_votes(self.votes, windows=windows)

    @property
    def windows_per_cell(self) -> int:
        """K."""
        return windows_per_cell(segment_length=self.segment_length, hop=self.hop)

    @property
    def threshold(self) -> int:
        """k: how many of the K windows must be present."""
        return self.windows_per_cell // 2 + 1 if self.votes is None else self.votes

    def segments(self, recording: Recording) -> Intervals:
        """All windows of the recording; the first that reaches its end is the last."""
        starts = window_starts(recording.length, segment_length=self.segment_length, hop=self.hop)
        return np.column_stack((starts, np.minimum(starts + self.segment_length, recording.length)))

    def labels(self, recording: Recording, asked: AnswerHistory) -> Labels:
        """The cells, each present if enough of the windows that cover it are."""
        windows = self.segments(recording)
        cells = fixed_segments(recording_length=recording.length, segment_length=self.hop)
        given = lookup(asked, windows)
        labels = cell_labels(given, cells=len(cells), windows=self.windows_per_cell, votes=self.threshold)
        return Labels(cells, labels, windows[given == 1])

    def words(self) -> Words:
        width, step, (k, of) = size(self.segment_length), seconds(self.hop), (self.threshold, self.windows_per_cell)
        votes = f"{k} of the {of} windows over it {'is' if k == 1 else 'are'}"
        return Words(
            f"{width} windows every {step} ({k} of {of})",
            f"Label {width} windows, one every {step}, and call a moment present if {votes}",
            "windows",
            "windows",
        )

    def notes(self, heard: float) -> list[str]:
        """How often everything is heard."""
        times = round(heard, 1)
        word = {1.0: "once", 2.0: "twice", 4.0: "four times"}.get(times, f"{times:g} times")
        return [f"reviews everything {word}"]

    def is_like(self, other: Method) -> bool:
        """Whether as many windows cover a moment."""
        return isinstance(other, Windows) and self.windows_per_cell == other.windows_per_cell

    def placement(self, phase: float = 0.0) -> tuple[float, Placement]:
        """One every hop, each moment by the votes of those over it."""
        how = Placement(phase=phase, edge=Edge.TRUNCATE, hop=self.hop, votes=self.threshold, means=False)
        return self.segment_length, how

    @classmethod
    def candidates(cls, problem: LabelingProblem) -> list[MethodOutcome]:
        """Windows with the votes that serve them best. Of many events, a part tells which are worth a look; what is
        shown is worked out on all of them."""
        best: dict[Any, MethodOutcome] = {}
        for row in problem.few.rows(_worth_a_look(problem)):
            key = row.segment_length, row.hop
            if key not in best or row.rank < best[key].rank:
                best[key] = row
        draft = list(best.values())
        if problem.few is problem:
            return draft
        draft.sort(key=lambda row: row.rank)
        slow = problem.is_busy + problem.criteria.is_continuous + (problem.lengths.values is None)
        return problem.rows([row.design for row in draft[: _FULL >> slow]])


def _worth_a_look(problem: LabelingProblem) -> list[Method]:
    """Windows around the hops at which their edges fall on the event's."""
    from .problem import round_lengths

    centre = float(problem.best_fixed.segment_length or 1.0)
    least = problem.ground("event_time") / min(_CELLS, max(1e4, 40 * problem.ground("n_events")))
    slow = problem.criteria.is_continuous or problem.n_classes > _MANY_CLASSES
    most, designs = _HOPS // 3 if slow else _HOPS, list[Method]()
    for per_cell in PER_CELL:
        hops = round_lengths(max(0.12 * centre, 2e-6), 1.5 * centre, 10_000)
        if 1.5 * centre < least:  # of events so long the shortest windows that do not take long
            hops = round_lengths(least, 4 * least, 10_000)
        hops = hops[(hops * per_cell <= problem.model.longest) & (hops >= least)]
        if hops.size > most:
            hops = hops[np.unique(np.linspace(0, hops.size - 1, most).round().astype(int))]
        designs += [
            Windows(float(hop * per_cell), float(hop), votes) for hop in hops for votes in range(1, per_cell + 1)
        ]
    return designs


@dataclass(frozen=True)
class Oracle(AtOnce):
    """ORC: the true events and the gaps between them; needs strong labels, so it serves as the bound."""

    name: ClassVar[str] = "oracle"
    planned: ClassVar[str] = "always"
    is_attainable: ClassVar[bool] = False

    def segments(self, recording: Recording) -> Intervals:
        if recording.events is None:
            raise InvalidInput(f"recording {recording.name!r}: the oracle needs strong labels; give events")
        return oracle_segments(recording.events, recording_length=recording.length)

    def words(self) -> Words:
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
    called: ClassVar[str]

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """Nothing."""
        return np.empty((0, 2))

    def labels(self, recording: Recording, asked: AnswerHistory) -> Labels:
        """One segment."""
        return Labels(np.array([[0.0, recording.length]]), np.array([self.present]))

    def words(self) -> Words:
        return Words(f"label {self.name}", f"Call {self.name} present and ask nobody", self.called)

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
    called: ClassVar[str] = "labelling nothing"


@dataclass(frozen=True)
class Everything(_Unasked):
    """Everything is labelled present."""

    name: ClassVar[str] = "everything"
    present: ClassVar[float] = 1.0
    called: ClassVar[str] = "calling everything present"
