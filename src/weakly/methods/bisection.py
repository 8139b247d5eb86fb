r"""Bisection: long segments first, of which only the present ones are split.

A shorter segment inside a longer one holds at most the same share of every event, so a present leaf has only present
ancestors: whatever lies in an absent segment is absent. Splitting down to ``segment_length`` therefore returns exactly
the labels of FIX with that length, for a fraction of the queries when events are few. It never improves on FIX; it
saves queries, and pays with seconds heard more than once. With wrong answers it loses events: an absent by mistake near
the root hides all that is below (at 5 % wrong answers 30 s with 3 events keep half of them); told how often answers are
wrong, it asks again until it is sure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base.errors import InvalidInput
from ..base.results import seconds
from ..base.symbols import check
from ..model.intervals import Intervals
from ..theory.costs import optimal_start_level
from .base import AnswerHistory, Labels, Method, Recording, Words, answers_by_segment, key, required, size
from .fixed import Fixed
from .halving import FIELDS, levels
from .model import B, R, Sums

if TYPE_CHECKING:
    from .problem import LabelingProblem, MethodOutcome

_TOUCHED = 5e6  # leaves that events may meet in a plan


def best_start(*, recording_length: float, n_events: float = 1.0, query_cost_share: float = 0.5) -> int:
    r"""How many segments to start from: the power of two nearest to :math:`\sqrt{2 M T (1 - r) / r}`.

    Starting from one segment hears the recording several times; starting from all leaves is FIX.

    Examples
    --------
    >>> best_start(recording_length=102.4, n_events=1, query_cost_share=0.5)
    16
    """
    level = optimal_start_level(
        recording_length=recording_length, n_events=n_events, query_cost_share=query_cost_share, levels=24
    )
    return 1 << level


def _level(start: int) -> int:
    if start < 1 or start & (start - 1):
        raise InvalidInput(f"start must be a power of two (segments to start from), got {start}")
    return start.bit_length() - 1


@dataclass(frozen=True)
class Bisection(Method):
    """Ask long segments, split the present ones, down to ``segment_length``.

    Parameters
    ----------
    segment_length : length of the leaves, seconds.
    start : how many segments the first round has at least, a power of two; 1 is the whole recording. Left out, it is
        :func:`best_start` for ``n_events`` and ``query_cost_share``.
    n_events, query_cost_share : what the start is chosen for.
    guess_rate, lapse_rate : how often an answer is a wrong "present" or a wrong "absent". Then a segment is asked until
        one answer leads by so many that it is wrong in less than 0.3 % of the cases (at 5 %, by two).
    start_length : seconds of the first segments, instead of ``start``: the leaves' length, doubled until it is reached.
    """

    segment_length: float
    start: int | None = None
    n_events: float = 1.0
    query_cost_share: float = 0.5
    guess_rate: float = 0.0
    lapse_rate: float = 0.0
    start_length: float | None = None
    name: ClassVar[str] = "bisection"
    follows_answers: ClassVar[bool] = True
    planned: ClassVar[str] = "always"
    tools: ClassVar[tuple[str, ...]] = ("audacity", "raven", "labelstudio")
    colour: ClassVar[int] = 1

    @classmethod
    def of(cls, settings: Mapping[str, Any], recordings: Sequence[Recording]) -> Bisection:
        """From segment_length, start or start_length, n_events, query_cost_share, guess_rate and lapse_rate."""
        given = ("n_events", "query_cost_share", "guess_rate", "lapse_rate")
        return cls(
            segment_length=required(settings, "segment_length", cls.name),
            start=settings.get("start"),
            start_length=settings.get("start_length"),
            **{name: float(settings[name]) for name in given if name in settings},
        )

    def __post_init__(self) -> None:
        check("segment_length", self.segment_length)
        check("guess_rate", self.guess_rate)
        check("lapse_rate", self.lapse_rate)
        if max(self.guess_rate, self.lapse_rate) >= 0.4:
            raise InvalidInput(
                "guess_rate and lapse_rate must be below 0.4: answers that are hardly better than chance"
            )
        if self.start is not None:
            if self.start_length is not None:
                raise InvalidInput("give start (segments) or start_length (seconds), not both")
            _level(self.start)

    @property
    def lead(self) -> int:
        """By how many answers one must lead before a segment is settled."""
        rate = max(self.guess_rate, self.lapse_rate)
        return 1 if rate == 0 else max(1, math.ceil(math.log(0.003) / math.log(rate / (1 - rate))))

    @property
    def halvings(self) -> int | None:
        """How often the first segments are halved at most, if ``start_length`` says it."""
        if self.start_length is None:
            return None
        return math.ceil(math.log2(self.start_length / self.segment_length) - 1e-6)

    def _settled(self, asked: AnswerHistory) -> AnswerHistory:
        """One answer for each segment that one answer leads in; so many unsure ones settle it too, as unsure."""
        if self.lead == 1:
            return asked
        given: dict[tuple[int, int], list[float]] = {}
        for segment, present in zip(key(asked.segments), asked.present.tolist()):
            given.setdefault(segment, []).append(present)
        rows = []
        for (a, b), said in given.items():
            ahead = sum(1 if x == 1 else -1 if x == 0 else 0 for x in said)
            unsure = sum(math.isnan(x) for x in said)
            if abs(ahead) >= self.lead or unsure >= self.lead:
                rows.append((a / 1e6, b / 1e6, float(ahead > 0) if abs(ahead) >= self.lead else math.nan))
        table = np.array(rows).reshape(-1, 3)
        return AnswerHistory(table[:, :2], table[:, 2])

    def _tree(self, recording: Recording) -> _Tree:
        n_leaves = max(1, math.ceil(recording.length / self.segment_length * (1 - 1e-9)))
        depth = math.ceil(math.log2(n_leaves)) if n_leaves > 1 else 0
        level = self.halvings
        if level is None:
            start = self.start or best_start(
                recording_length=recording.length, n_events=self.n_events, query_cost_share=self.query_cost_share
            )
            level = depth - _level(start)
        return _Tree(recording.length, self.segment_length, n_leaves, 1 << min(depth, max(0, level)))

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """The children of present segments that were not asked yet, or the first segments."""
        tree = self._tree(recording)
        return tree.bounds(tree.walk(self._settled(asked))[0])

    def labels(self, recording: Recording, asked: AnswerHistory) -> Labels:
        """The leaves: those below an absent segment are absent, what :meth:`next` does not call settled is unknown."""
        return self._tree(recording).labels(self._settled(asked))

    def words(self) -> Words:
        """How people say it."""
        width = size(self.segment_length)
        start = "long" if self.start_length is None else size(self.start_length)
        return Words(
            f"halving {'' if self.start_length is None else seconds(self.start_length) + ' '}to {width}",
            f"Ask {start} segments and halve those that are present, down to {width}",
            "halving",
            "shortest segments",
        )

    @property
    def same_labels(self) -> Fixed:
        """The leaves."""
        return Fixed(self.segment_length)

    @property
    def is_simulated(self) -> bool:
        """Unless its first segments are equally long and each is asked once."""
        return self.halvings is None or self.lead > 1

    def sums(self, problem: LabelingProblem) -> Sums:
        """Node by node, unless it must be simulated."""
        return super().sums(problem) if self.is_simulated else halved(problem, self.segment_length, self.halvings)[1]

    @classmethod
    def candidates(cls, problem: LabelingProblem) -> list[MethodOutcome]:
        """Leaves near the best fixed segments, and a few others for small budgets."""
        ordered = sorted(problem.fixed_rows, key=lambda row: row.rank)
        near = [row for row in ordered if row.wrong_time <= 1.2 * ordered[0].wrong_time]
        few = 2 if problem.is_busy or problem.criteria.is_continuous else 6
        near = near[:: max(1, len(near) // few)]
        wide = problem.grid[:: max(1, problem.grid.size // few)]
        leaves = sorted({float(row.segment_length or 0.0) for row in near} | set(wide.tolist()))
        least = problem.ground("event_time") / _TOUCHED  # finer leaves would take long
        return cls.at_lengths(problem, [leaf for leaf in leaves if leaf >= least] or leaves[-1:])

    @classmethod
    def at_lengths(cls, problem: LabelingProblem, lengths: Sequence[float]) -> list[MethodOutcome]:
        """Halving down to each length that something can be halved to, from where it is cheapest."""
        known = dict(zip(problem.grid.tolist(), problem.fixed_sums))
        leaves = [float(leaf) for leaf in lengths if levels(problem.model.longest, leaf) > 0]
        both = problem.each(lambda leaf: halved(problem, leaf, alone=known.get(leaf)), leaves)
        return problem.rows_of([design for design, _ in both], [sums for _, sums in both])


def halved(
    problem: LabelingProblem, leaf: float, level: int | None = None, alone: Sums | None = None
) -> tuple[Bisection, Sums]:
    """The design and the sums of halving to a leaf, from so many levels above it or from where it is cheapest;
    ``alone`` are the sums of fixed segments as long as the leaf, where they are known."""
    alone, depth = alone or Fixed(leaf).sums(problem), levels(problem.model.longest, leaf)
    line, errors = problem.all.halved(leaf, depth, problem.slipping, alone)
    listened, n_queries = (line[:, :, FIELDS.index(word)] for word in ("listened", "n_queries"))
    if level is None:
        cost = problem.cost.of(listened=listened.sum(axis=0), n_queries=n_queries.sum(axis=0))
        level = 1 + int(np.argmin(cost[1:]))
    level = min(depth, max(1, level))
    raw, base = alone.raw.copy(), alone.base.copy()
    for name in ("tp", "fp", "fp_outside", "n_found"):
        raw[:, R[name]] = line[:, level, FIELDS.index(name)]
    base[:, B["n_segments"]] = n_queries[:, level]
    design = Bisection(leaf, start_length=min(leaf * 2.0**level, problem.model.longest))
    heard, answers = (float(each[:, level].sum()) for each in (listened, n_queries))
    return design, Sums(raw, base, heard, float(errors[level]), answers=answers)


#: The first leaf of a segment, and how many leaves it holds.
_Node = tuple[int, int]


@dataclass(frozen=True)
class _Tree:
    """Segments as whole numbers of leaves; the last ones are cut at the end of the recording."""

    length: float
    leaf: float
    n_leaves: int
    top: int  # leaves of a first segment

    def bounds(self, nodes: list[_Node]) -> Intervals:
        """The nodes in seconds."""
        first, count = np.array(nodes, dtype=np.float64).reshape(-1, 2).T
        return np.column_stack((first * self.leaf, np.minimum((first + count) * self.leaf, self.length)))

    def walk(self, asked: AnswerHistory) -> tuple[list[_Node], list[_Node], list[_Node]]:
        """The nodes to ask now, the present leaves, and the leaves that nobody is sure of."""
        known = answers_by_segment(asked)
        wanted: list[_Node] = []
        present: list[_Node] = []
        unsure: list[_Node] = []
        stack = [(first, self.top) for first in range(0, self.n_leaves, self.top)][::-1]
        while stack:
            node = first, count = stack.pop()
            ends = first * self.leaf, min((first + count) * self.leaf, self.length)
            answer = known.get((round(ends[0] * 1e6), round(ends[1] * 1e6)))  # as key() has it
            if answer is None:
                wanted.append(node)
            elif answer == 0:
                continue
            elif count > 1:  # present, or unsure: then the parts may tell
                half = count // 2
                stack += [(a, half) for a in (first + half, first) if a < self.n_leaves]
            else:
                (present if answer == 1 else unsure).append(node)
        return wanted, present, unsure

    def labels(self, asked: AnswerHistory) -> Labels:
        """All leaves."""
        value = np.zeros(self.n_leaves)
        for nodes, mark in zip(self.walk(asked), (np.nan, 1.0, np.nan)):
            for first, count in nodes:
                value[first : first + count] = mark
        return Labels(self.bounds([(first, 1) for first in range(self.n_leaves)]), value)
