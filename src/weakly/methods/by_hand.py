r"""Marking by hand: everything is heard once, and where an event is heard its begin and end are marked.

Edges are marked with a spread :math:`\sigma` (normal), so a found event of length d costs
:math:`2 \sigma \sqrt{2 / \pi}` seconds of wrong time (half of it too much, half too little), a missed one d. Short
events are marked more carefully: the spread is at most a fifth of the event.
Screening asks for fixed segments first and marks in the present ones alone, heard with one segment on either side: with
:math:`w_k` seconds in segment k and :math:`p_{jc}` the chance that it is called present for class c, it hears
:math:`\sum_k w_k (1 - \prod_{|j - k| \le 1} \prod_c (1 - p_{jc}))` seconds again.
At one wage and speed it never takes less work than marking everything; it pays where those who screen are cheaper or
faster than those who mark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base.symbols import check
from ..model.intervals import Floats, Intervals, Ints, fixed_segments, merge
from .base import AnswerHistory, Labels, Method, Recording, Words, size, unasked
from .bisection import NEAR, noticing
from .fixed import Fixed, Placed
from .model import B, R, Sums

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
    def of(cls, settings: Mapping[str, Any], recordings: Sequence[Recording]) -> Method:
        """Nothing needs to be told; segment_length is that of a page, or of the segments to screen by."""
        return super().of({**settings, "page": settings.get("segment_length")}, recordings)

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """The whole recording, page by page."""
        length = recording.length if self.page is None else self.page
        return unasked(asked, fixed_segments(recording_length=recording.length, segment_length=length))

    def labels(self, recording: Recording, asked: AnswerHistory) -> Labels:
        """What is absent; where events are in a present stretch, only its marks tell."""
        found = super().labels(recording, asked)
        return Labels(found.segments, np.where(found.present == 1, np.nan, found.present))

    def words(self) -> Words:
        return Words("marking by hand", "Mark by hand where events begin and end", "by hand")

    def sums(self, problem: LabelingProblem) -> Sums:
        """Exact but for events that begin or end with their recording, whose outer edges nobody can miss."""
        raw, base = self._marked(problem, Fixed(problem.model.longest), always=True)
        return Sums(raw, base, 0.0, 0.0, reviewed=problem.model.time, marks=float(raw[:, R["n_found"]].sum()))

    def _marked(self, problem: LabelingProblem, design: Placed, *, always: bool = False) -> tuple[Floats, Floats]:
        """The measures of every class if events that the design finds are marked, or all of them."""
        raw, base = np.zeros((problem.n_classes, len(R))), problem.exposure.copy()
        missed = 1 - problem.slipping.high if self.miss_rate is None else self.miss_rate
        each, edges = problem.model.per_event(design, problem.criteria)
        d, heard = each.base[:, B["event_time"]], np.minimum(each.raw[:, R["n_found"]], 1.0)
        found = each.weight * (1 - missed) * (np.where(d > 0, 1.0, 0.0) if always else heard)
        measures = found * d, found * np.minimum(self.mark_spread, _CAREFUL * d), found
        right, error, count = np.array([[np.sum(one[i:j]) for i, j in pairwise(edges)] for one in measures])
        error *= math.sqrt(2 / math.pi)
        raw[:, R["tp"]], raw[:, R["fp"]], raw[:, R["n_found"]] = right - error, error, count
        # Near events is what is an event or is marked as one.
        base[:, B["event_time_seen"]] = base[:, B["event_time"]]
        base[:, B["overlap_time"]], base[:, B["n_segments"]] = base[:, B["event_time"]] + error, 0.0
        return raw, base


@dataclass(frozen=True)
class Screening(ByHand):
    """Fixed segments first; then the present ones, with one segment on either side, are heard and marked by hand."""

    segment_length: float = field(kw_only=True)
    name: ClassVar[str] = "screening"
    planned: ClassVar[str] = "named"
    follows_answers: ClassVar[bool] = True
    colour: ClassVar[int] = 5

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
        width = size(self.segment_length)
        name = f"screening by {width} segments, then by hand"
        return Words(name, f"Label {width} segments, then mark by hand in the present ones", "screening")

    def sums(self, problem: LabelingProblem) -> Sums:
        """What nobody notices in the first round is lost, even if it lies where something else is marked."""
        problem, screen = replace(problem, criteria=problem.answers_of(self)), Fixed(self.segment_length)
        first = screen.sums(problem)
        raw, base = self._marked(problem, screen)
        return Sums(
            raw, base, first.heard, first.error, answers=first.answers, ticks=first.ticks,
            reviewed=_reviewed(problem, self.segment_length), marks=float(raw[:, R["n_found"]].sum()),
        )  # fmt: skip

    @classmethod
    def candidates(cls, problem: LabelingProblem) -> list[MethodOutcome]:
        """Some lengths of the problem's grid."""
        return cls.at_lengths(problem, problem.grid[:: max(1, problem.grid.size // _LENGTHS)].tolist())

    @classmethod
    def at_lengths(cls, problem: LabelingProblem, lengths: Sequence[float]) -> list[MethodOutcome]:
        """Screening by segments of these lengths."""
        return problem.rows([cls(segment_length=float(length)) for length in lengths])


def _reviewed(problem: LabelingProblem, width: float) -> float:
    """Expected seconds of the segments that are present or beside a present one, of any class."""
    total = 0.0
    for weight, rule, low, high in problem.criteria.parts():
        timelines, recording, lengths, times, removed = problem.model.placed(width, rule)
        count = np.maximum(1, np.ceil(lengths / width * (1 - NEAR))).astype(np.int64)
        first, last, line = noticing(timelines, rule, width, count[recording])
        none = (1 - low) ** problem.n_classes, (1 - high) / (1 - low)
        seconds = _around(first, last, recording[line], count, lengths - (count - 1) * width, width, none)
        total += weight * float(np.sum(times * (seconds + removed * width * (1 - none[0] ** 3))))
    return total


def _around(
    first: Ints, last: Ints, owner: Ints, count: Ints, end: Floats, width: float, none: tuple[float, float]
) -> Floats:
    """Expected seconds of segments that are present or beside a present one, in each recording.

    ``none`` are the chances that nobody calls a segment present in which there is nothing, and how many times less that
    is with every class that is noticed in it. In segments ``first`` to ``last`` of a recording (``owner``) a class is
    noticed; the last of its ``count`` segments has ``end`` seconds. Where the number of those that are noticed in a
    segment or beside it changes a stretch of segments begins that are all alike.
    """
    shifts, every = np.arange(-1, 2), np.arange(len(count))
    begin = np.maximum(first[:, None] + shifts, 0).ravel()
    past = np.minimum(last[:, None] + shifts + 1, count[owner][:, None]).ravel()
    where = np.concatenate((np.repeat(owner, 3), np.repeat(owner, 3), *4 * [every]))
    at = np.concatenate((begin, np.maximum(begin, past), 0 * every, 0 * every + 1, count - 1, count))
    change = np.repeat([1, -1, 0], [len(begin), len(past), 4 * len(every)])
    order = np.lexsort((at, where))
    where, at, noticed = where[order], at[order], np.cumsum(change[order])
    alike = np.maximum(np.diff(at, append=0), 0)  # below 0 where the next recording begins
    neighbours = 3 - (at == 0) - (at >= count[where] - 1)
    seconds = np.where(at >= count[where] - 1, end[where], width) * alike
    return np.asarray(np.bincount(where, seconds * (1 - none[0] ** neighbours * none[1] ** noticed), len(count)), float)
