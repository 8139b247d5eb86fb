r"""Methods that need no signal: fixed segments, the oracle's, overlapping windows, and bisection.

Bisection asks long segments first and splits only those that are present. A shorter segment inside a longer one holds
at most the same share of every event, so a present leaf has only present ancestors: whatever lies in an absent segment
is absent. Splitting down to ``segment_length`` therefore returns exactly the labels of FIX with that length, for a
fraction of the queries when events are few. It never improves on FIX; it saves queries, and pays with seconds heard
more than once. With wrong answers it loses events: an absent by mistake near the root hides all that is below (at 5 %
wrong answers 30 s with 3 events keep half of them); told how often answers are wrong, it asks again until it is sure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..base.errors import InvalidInput
from ..base.symbols import check, choice
from ..model.intervals import Intervals, fixed_segments, oracle_segments
from ..model.placement import cell_labels, checked_votes, window_starts, windows_per_cell
from ..theory.costs import optimal_start_level
from .base import AnswerHistory, AtOnce, Labels, Method, Recording, answers_by_segment, key, lookup

CHILDREN = ("halves", "overlapping", "rescue")


@dataclass(frozen=True)
class Fixed(AtOnce):
    """FIX: segments of one length from 0 to the end, or this many equally long ones in each recording.

    Examples
    --------
    >>> from weakly.methods.base import AnswerHistory, Recording
    >>> from weakly.methods.segments import Fixed
    >>> Fixed(segment_length=2.0).next(Recording("a", 5.0), AnswerHistory()).tolist()
    [[0.0, 2.0], [2.0, 4.0], [4.0, 5.0]]
    """

    segment_length: float | None = None
    n_queries: int | None = None
    name: ClassVar[str] = "fixed"

    def segments(self, recording: Recording) -> Intervals:
        """All segments of the recording."""
        if self.segment_length is None:
            edges = np.linspace(0.0, recording.length, (self.n_queries or 1) + 1)
            return np.column_stack((edges[:-1], edges[1:]))
        return fixed_segments(recording_length=recording.length, segment_length=self.segment_length)


@dataclass(frozen=True)
class Oracle(AtOnce):
    """ORC: the true events and the gaps between them; needs strong labels, so it serves as the bound."""

    name: ClassVar[str] = "oracle"

    def segments(self, recording: Recording) -> Intervals:
        """All segments of the recording."""
        if recording.events is None:
            raise InvalidInput(f"recording {recording.name!r}: the oracle needs strong labels; give events")
        return oracle_segments(recording.events, recording_length=recording.length)


@dataclass(frozen=True)
class Overlapping(AtOnce):
    r"""Windows of one length every ``hop`` seconds; a cell of one hop is present if enough of its windows are.

    Parameters
    ----------
    segment_length, hop : seconds; the length is a whole number K of hops.
    votes : how many of the K windows that cover a cell must be present. Left out, the threshold is
        :math:`k = K + 1/2 - x / \eta` rounded, if ``required_overlap`` x (the seconds of an event that are noticed,
        :math:`\gamma d_e`) is given, else the majority. Cells near an end are covered by fewer windows and need the
        same share of them.

    Notes
    -----
    With the right threshold the expected error is half a hop per event, for every segment length; the majority is
    right only where the segment is twice as long as the required overlap.
    """

    segment_length: float
    hop: float
    votes: int | None = None
    required_overlap: float | None = None
    name: ClassVar[str] = "windows"

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
        k = self.windows_per_cell
        if self.votes is not None:
            return self.votes
        if self.required_overlap is None:
            return k // 2 + 1
        return min(k, max(1, math.floor(k + 1 - self.required_overlap / self.hop)))

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
    children : "halves"; "overlapping" asks left, middle and right half, so that the labels are those of windows with a
        hop of half a segment; "rescue" asks the middle half only when both halves are absent although their parent is
        present, and keeps the parent as present if that is absent too. For criteria above 1/2, where an event can be
        lost on a split.
    n_events, query_cost_share : what the start is chosen for.
    guess_rate, lapse_rate : how often an answer is a wrong "present" or a wrong "absent". Then a segment is asked until
        one answer leads by so many that it is wrong in less than 0.3 % of the cases (at 5 %, by two).
    """

    segment_length: float
    start: int | None = None
    children: str = "halves"
    n_events: float = 1.0
    query_cost_share: float = 0.5
    guess_rate: float = 0.0
    lapse_rate: float = 0.0
    name: ClassVar[str] = "bisection"
    follows_answers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check("segment_length", self.segment_length)
        choice("children", self.children, CHILDREN)
        check("guess_rate", self.guess_rate)
        check("lapse_rate", self.lapse_rate)
        if max(self.guess_rate, self.lapse_rate) >= 0.4:
            raise InvalidInput(
                "guess_rate and lapse_rate must be below 0.4: answers that are hardly better than chance"
            )
        if self.start is not None:
            _level(self.start)

    @property
    def lead(self) -> int:
        """By how many answers one must lead before a segment is settled."""
        rate = max(self.guess_rate, self.lapse_rate)
        return 1 if rate == 0 else max(1, math.ceil(math.log(0.003) / math.log(rate / (1 - rate))))

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
        start = self.start
        if start is None:
            start = best_start(
                recording_length=recording.length, n_events=self.n_events, query_cost_share=self.query_cost_share
            )
        return _Tree(recording.length, self.segment_length, start)

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """The children of present segments that were not asked yet, or the first segments."""
        tree, asked = self._tree(recording), self._settled(asked)
        wanted = tree.overlapping(asked)[0] if self.children == "overlapping" else tree.walk(asked, self._rescue)[0]
        return tree.bounds(wanted) if wanted else np.empty((0, 2))

    def labels(self, recording: Recording, asked: AnswerHistory) -> Labels:
        """The leaves: those below an absent segment are absent, what :meth:`next` does not call settled is unknown."""
        tree, asked = self._tree(recording), self._settled(asked)
        if self.children == "overlapping":
            return tree.window_labels(asked)
        return tree.leaf_labels(*tree.walk(asked, self._rescue))

    @property
    def _rescue(self) -> bool:
        return self.children == "rescue"


def _around(first: int, half: int) -> set[int]:
    """Where the windows of twice the length start that contain the window (first, half)."""
    nearest = first // half * half
    return {nearest, nearest - half} if nearest == first else {nearest}


#: A node is (first, count) in quarter leaves, so that middle halves of any node are nodes too.
_Node = tuple[int, int]


@dataclass(frozen=True)
class _Tree:
    """Segments as whole numbers of quarter leaves; the last ones are cut at the end of the recording."""

    length: float
    leaf: float
    start: int

    @property
    def n_leaves(self) -> int:
        return max(1, math.ceil(self.length / self.leaf * (1 - 1e-9)))

    @property
    def top(self) -> int:
        """Quarter leaves of a first segment."""
        depth = math.ceil(math.log2(self.n_leaves)) if self.n_leaves > 1 else 0
        return 4 << max(0, depth - (self.start.bit_length() - 1))

    def bounds(self, nodes: list[_Node]) -> Intervals:
        """The nodes in seconds."""
        first = np.array([a for a, _ in nodes], dtype=np.float64)
        last = np.array([a + n for a, n in nodes], dtype=np.float64)
        return np.column_stack((first * (self.leaf / 4), np.minimum(last * (self.leaf / 4), self.length)))

    def _key(self, node: _Node) -> tuple[int, int]:
        (first, count), quarter = node, self.leaf / 4
        return round(first * quarter * 1e6), round(min((first + count) * quarter, self.length) * 1e6)

    def _inside(self, first: int) -> bool:
        return first * (self.leaf / 4) < self.length * (1 - 1e-9)

    def roots(self) -> list[_Node]:
        """The first segments."""
        return [(a, self.top) for a in range(0, 4 * self.n_leaves, self.top) if self._inside(a)]

    def walk(self, asked: AnswerHistory, rescue: bool) -> tuple[list[_Node], list[_Node], list[_Node]]:
        """The nodes to ask now, the present ones at which splitting ends, and the ones that nobody is sure of."""
        known = answers_by_segment(asked)

        def said(node: _Node) -> float | None:
            return known.get(self._key(node))

        wanted: list[_Node] = []
        present: list[_Node] = []
        unsure: list[_Node] = []
        stack = self.roots()[::-1]
        while stack:
            node = stack.pop()
            answer = said(node)
            first, count = node
            if answer is None:
                wanted.append(node)
            elif answer == 1 and count <= 4:
                present.append(node)
            elif answer != 0:
                # Present, or unsure: then the parts may tell. A leaf that nobody is sure of stays unknown.
                if count <= 4:
                    unsure.append(node)
                    continue
                half = count // 2
                parts = [(a, half) for a in (first, first + half) if self._inside(a)]
                answers = [said(part) for part in parts]
                if rescue and len(parts) == 2 and all(a == 0 for a in answers):
                    middle = (first + half // 2, half)
                    third = said(middle)
                    if third == 0:
                        (present if answer == 1 else unsure).append(node)
                        continue
                    parts = [middle]
                stack.extend(reversed(parts))
        return wanted, present, unsure

    def leaf_labels(self, wanted: list[_Node], present: list[_Node], unsure: list[_Node]) -> Labels:
        """The leaves of the fixed grid; where rescue kept a parent or cut across the grid, that segment instead."""
        cuts = {4 * k for k in range(self.n_leaves + 1)}
        for first, count in present:
            cuts -= set(range(first + 1, first + count))
        for first, count in present:
            cuts |= {first, min(first + count, 4 * self.n_leaves)}
        edges = np.array(sorted(cuts))
        value = np.zeros(len(edges) - 1)
        for nodes, mark in ((wanted, np.nan), (unsure, np.nan), (present, 1.0)):
            for first, count in nodes:  # a middle half may begin within a leaf: then all of that leaf is meant
                lo = np.searchsorted(edges, first, side="right") - 1
                value[lo : np.searchsorted(edges, first + count)] = mark
        return self._labels(edges, self.leaf / 4, value)

    def _labels(self, edges: Any, unit: float, value: Any, noticed: Intervals | None = None) -> Labels:
        """The segments between the edges (in units) and their labels; what lies behind the end is left off."""
        seconds = np.minimum(edges * unit, self.length)
        kept = seconds[1:] > seconds[:-1] * (1 + 1e-12)
        return Labels(np.column_stack((seconds[:-1], seconds[1:]))[kept], value[kept], noticed)

    def _last(self, count: int) -> int:
        """Where the last window of this many quarter leaves starts, if there is one every half window."""
        width = count * self.leaf / 4
        return (len(window_starts(self.length, segment_length=width, hop=width / 2)) - 1) * (count // 2)

    def windows(self, count: int) -> list[_Node]:
        """All windows of this many quarter leaves, every half window."""
        return [(first, count) for first in range(0, self._last(count) + 1, count // 2)]

    def overlapping(self, asked: AnswerHistory) -> tuple[list[_Node], dict[_Node, float]]:
        """The windows to ask now, and what is known of the windows of one leaf."""
        known = answers_by_segment(asked)
        count, live = self.top, set(self.windows(self.top))
        while True:
            nodes = sorted(live)
            missing = [node for node in nodes if self._key(node) not in known]
            if missing:
                return missing, dict.fromkeys(missing, math.nan)
            said = {node: known[self._key(node)] for node in nodes}
            if count <= 4:
                return [], said
            # A window can be present only if every longer window around it is.
            half, last, longest = count // 2, self._last(count // 2), self._last(count)
            alive = {first for (first, _), answer in said.items() if answer != 0.0}
            parts = {first + k * half // 2 for first in alive for k in range(3)}
            live = {
                (first, half)
                for first in parts
                if first <= last and all(a in alive for a in _around(first, half) if 0 <= a <= longest)
            }
            count = half

    def window_labels(self, asked: AnswerHistory) -> Labels:
        """Half leaves: present if one of the two windows that cover them is."""
        given = np.zeros(len(self.windows(4)))  # what lies in an absent window is absent
        for (first, count), answer in self.overlapping(asked)[1].items():
            given[first // 2 : (first + count) // 2 - 1] = answer
        labels = cell_labels(given, cells=2 * self.n_leaves, windows=2, votes=1)
        yes = [(2 * k, 4) for k in np.flatnonzero(given == 1).tolist()]
        noticed = self.bounds(yes) if yes else np.empty((0, 2))
        return self._labels(np.arange(len(labels) + 1), self.leaf / 2, labels, noticed)
