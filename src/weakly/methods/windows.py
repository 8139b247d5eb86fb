"""Windows of one length that overlap: each moment is decided by a vote of the windows over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base.results import seconds
from ..model.intervals import Intervals, fixed_segments
from ..model.placement import Edge, Placement, cell_labels, checked_votes, window_starts, windows_per_cell
from .base import AnswerHistory, Labels, Method, Placed, Recording, Words, lookup, required, size

if TYPE_CHECKING:
    from .problem import LabelingProblem, MethodOutcome

PER_CELL = (2, 4)  # windows over each moment that plans look at
_HOPS = 12  # hops that plans look at
_FULL = 8  # windows that are then worked out on all events
_CELLS = 2e6  # hops that events may last, all together: finer windows would take long
_MANY_CLASSES = 30  # with more of them fewer windows are looked at


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
    def of(cls, settings: Mapping[str, Any], recordings: Sequence[Recording]) -> Windows:
        """From segment_length, hop (half of it unless told) and votes."""
        length = required(settings, "segment_length", cls.name)
        return cls(segment_length=length, hop=float(settings.get("hop", length / 2)), votes=settings.get("votes"))

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
        """How people say it."""
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
        return [f"hears everything {word}"]

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
    cells = min(_CELLS, max(1e4, 40 * problem.ground("n_events")))
    slow = problem.criteria.is_continuous or problem.n_classes > _MANY_CLASSES
    most, designs = _HOPS // 3 if slow else _HOPS, list[Method]()
    for per_cell in PER_CELL:
        hops = round_lengths(max(0.12 * centre, 2e-6), 1.5 * centre, 10_000)
        hops = hops[(hops * per_cell <= problem.model.longest) & (hops >= problem.ground("event_time") / cells)]
        if hops.size > most:
            hops = hops[np.unique(np.linspace(0, hops.size - 1, most).round().astype(int))]
        designs += [
            Windows(float(hop * per_cell), float(hop), votes) for hop in hops for votes in range(1, per_cell + 1)
        ]
    return designs
