r"""Marking by hand: everything is heard once, and where an event is heard its begin and end are marked.

Edges are marked with a spread :math:`\sigma` (normal), so a found event of length d costs
:math:`2 \sigma \sqrt{2 / \pi}` seconds of wrong time (half of it too much, half too little), a missed one d. Short
events are marked more carefully: the spread is at most a fifth of the event.
Screening asks for fixed segments first and marks in the present ones alone, heard with one segment on either side.
At one wage and speed it never takes less work than marking everything; it pays where those who screen are cheaper or
faster than those who mark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base.symbols import check
from ..model.intervals import Intervals, fixed_segments, merge
from .base import AnswerHistory, Labels, Method, Recording, Words, required, size, unasked
from .fixed import Fixed, Placed
from .model import B, Floats, R, Sums

if TYPE_CHECKING:
    from .problem import LabelingProblem, MethodOutcome

MARK_SPREAD = 0.1  # seconds
_CAREFUL = 0.2  # of an event: the spread of its marks at most
_LENGTHS = 24  # of segments to screen by that plans look at


@dataclass(frozen=True)
class ByHand(Method):
    """Everything heard once, and every event that is heard marked where it begins and ends.

    ``mark_spread`` is the standard deviation of a mark in seconds, ``miss_rate`` the share of events that are missed
    (left out, the lapse rate of those who answer); ``page`` the seconds that are marked at a time (left out, all).
    """

    mark_spread: float = MARK_SPREAD
    miss_rate: float | None = None
    page: float | None = field(default=None, compare=False)
    name: ClassVar[str] = "by_hand"
    planned: ClassVar[str] = "always"
    is_strong: ClassVar[bool] = True
    tools: ClassVar[tuple[str, ...]] = ("audacity", "raven", "labelstudio")
    colour: ClassVar[int] = 4

    def __post_init__(self) -> None:
        check("wrong_time", self.mark_spread, called="mark_spread")
        if self.miss_rate is not None:
            check("lapse_rate", self.miss_rate, called="miss_rate")

    @classmethod
    def of(cls, settings: Mapping[str, Any], recordings: Sequence[Recording]) -> ByHand:
        """Nothing needs to be told; segment_length is that of a page."""
        return cls(page=settings.get("segment_length"))

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """The whole recording, page by page."""
        length = recording.length if self.page is None else self.page
        return unasked(asked, fixed_segments(recording_length=recording.length, segment_length=length))

    def labels(self, recording: Recording, asked: AnswerHistory) -> Labels:
        """What is absent; where events are in a present stretch, only its marks tell."""
        found = super().labels(recording, asked)
        return Labels(found.segments, np.where(found.present == 1, np.nan, found.present))

    def words(self) -> Words:
        """How people say it."""
        return Words("marking by hand", "Mark by hand where events begin and end", "by hand")

    def sums(self, problem: LabelingProblem) -> Sums:
        """Exact but for events that begin or end with their recording, whose outer edges nobody can miss."""
        raw, base = self._marked(problem, Fixed(problem.model.longest), always=True)
        return Sums(raw, base, 0.0, 0.0, reviewed=problem.model.time, marks=float(raw[:, R["n_found"]].sum()))

    def _marked(self, problem: LabelingProblem, design: Placed, *, always: bool = False) -> tuple[Floats, Floats]:
        """The measures of every class if events that the design finds are marked, or all of them."""
        raws, bases = np.zeros((problem.n_classes, len(R))), problem.exposure.copy()
        missed = 1 - problem.slipping.high if self.miss_rate is None else self.miss_rate
        for label, raw, base in zip(problem.labels, raws, bases):
            each = problem.model.only(label).per_event(design, problem.criteria)
            d, heard = each.base[:, B["event_time"]], np.minimum(each.raw[:, R["n_found"]], 1.0)
            found = each.weight * (1 - missed) * (np.where(d > 0, 1.0, 0.0) if always else heard)
            error = float(np.sum(found * np.minimum(self.mark_spread, _CAREFUL * d))) * math.sqrt(2 / math.pi)
            raw[R["tp"]], raw[R["fp"]], raw[R["n_found"]] = float(np.sum(found * d)) - error, error, float(found.sum())
            # Near events is what is an event or is marked as one.
            base[B["event_time_seen"]] = base[B["event_time"]]
            base[B["overlap_time"]], base[B["n_segments"]] = base[B["event_time"]] + error, 0.0
        return raws, bases


@dataclass(frozen=True)
class Screening(ByHand):
    """Fixed segments first; then the present ones, with one segment on either side, are heard and marked by hand."""

    segment_length: float = 10.0
    name: ClassVar[str] = "screening"
    planned: ClassVar[str] = "named"
    follows_answers: ClassVar[bool] = True
    colour: ClassVar[int] = 5

    @classmethod
    def of(cls, settings: Mapping[str, Any], recordings: Sequence[Recording]) -> Screening:
        """From segment_length."""
        return cls(segment_length=required(settings, "segment_length", cls.name))

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """The segments; once they are answered, the stretches to mark."""
        segments = fixed_segments(recording_length=recording.length, segment_length=self.segment_length)
        first = unasked(asked, segments)
        if len(first):
            return first
        present = asked.segments[
            (asked.present == 1) & (np.diff(asked.segments)[:, 0] <= self.segment_length * (1 + 1e-9))
        ]
        around = present + np.array([-self.segment_length, self.segment_length])
        return unasked(asked, merge(np.clip(around, 0.0, recording.length)))

    def words(self) -> Words:
        """How people say it."""
        width = size(self.segment_length)
        name = f"screening by {width} segments, then by hand"
        return Words(name, f"Label {width} segments, then mark by hand in the present ones", "screening")

    def sums(self, problem: LabelingProblem) -> Sums:
        """What is screened out is lost; a run of present segments is taken to belong to one event."""
        screen = Fixed(self.segment_length)
        first = screen.sums(problem)
        raw, base = self._marked(problem, screen)
        runs, present = float(first.raw[:, R["n_found"]].sum()), float(first.raw[:, R["n_present"]].sum())
        reviewed = min(self.segment_length * (present + 2 * runs), problem.model.time)
        return Sums(
            raw, base, first.heard, first.error, answers=first.answers, ticks=first.ticks, reviewed=reviewed,
            marks=float(raw[:, R["n_found"]].sum()),
        )  # fmt: skip

    @classmethod
    def candidates(cls, problem: LabelingProblem) -> list[MethodOutcome]:
        """Some lengths of the problem's grid."""
        return cls.at_lengths(problem, problem.grid[:: max(1, problem.grid.size // _LENGTHS)].tolist())

    @classmethod
    def at_lengths(cls, problem: LabelingProblem, lengths: Sequence[float]) -> list[MethodOutcome]:
        """Screening by segments of these lengths."""
        return problem.rows([cls(segment_length=float(length)) for length in lengths])
