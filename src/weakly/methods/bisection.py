r"""Bisection: long segments first, of which only the present ones are split.

A shorter segment inside a longer one holds at most the same share of every event, so a present leaf has only present
ancestors: whatever lies in an absent segment is absent. Splitting down to ``segment_length`` therefore returns exactly
the labels of FIX with that length, for a fraction of the queries when events are few. It never improves on FIX; it
saves queries, and pays with seconds heard more than once. With wrong answers it loses events: an absent by mistake near
the root hides all that is below (at 5 % wrong answers 30 s with 3 events keep half of them); told how often answers are
wrong, it asks again until it is sure.

Plans know what to expect for every starting length at once. A node is asked if its parent was answered present, so with
p the chance of a present answer at a node (high where an event satisfies the rule in it, low where none does)

.. math:: Q = 1 + p (Q_l + Q_r), \qquad H = w + p (H_l + H_r), \qquad TP = p (TP_l + TP_r),

and an event is missed below a node with chance :math:`1 - p + p N_l N_r`. The recursion runs from the leaves upwards;
at every level the sums are those of a bisection that starts there. Only nodes that meet an event, and the last one,
are visited: all others of a level are alike. Where answers are certain and a segment around a present one is present,
the labels are those of the leaves, and a node is asked if its parent notices an event: such parents are only counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base.compiled import count_up_to, kernel
from ..base.errors import InvalidInput
from ..base.results import seconds
from ..base.symbols import check
from ..engine.grid import reaching
from ..engine.scoring import measure
from ..model.annotator import PresenceRule
from ..model.answer_model import AnswerModels
from ..model.intervals import Edge, EventArrays, Floats, Intervals, Ints, Placement
from ..theory.costs import optimal_start_level
from .base import AnswerHistory, Labels, Method, Recording, Words, answers_by_segment, size
from .fixed import Fixed
from .model import B, Model, R, SingleEventModel, Sums

if TYPE_CHECKING:
    from .problem import LabelingProblem, MethodOutcome

NEAR = 1e-9
_TOUCHED = 5e6  # leaves that events may meet in a plan
_LEAVES = 100_000  # leaves that drawn events may meet; with more, fewer recordings tell what halving asks
#: What is expected per recording and starting level; the labels come first.
FIELDS = ("tp", "fp", "fp_outside", "n_found", "n_queries", "listened")
_TP, _FP, _ELSEWHERE, _FOUND, _QUERIES, _LISTENED = range(6)
_LABELS = [R[name] for name in FIELDS[:4]]


@dataclass(frozen=True)
class Bisection(Method):
    r"""Ask long segments, split the present ones, down to ``segment_length``.

    Parameters
    ----------
    segment_length : length of the leaves, seconds.
    start : how many segments the first round has at least, a power of two; 1 is the whole recording. Left out, the one
        nearest to the cheapest for ``n_events`` and ``query_cost_share``, :math:`\sqrt{2 M T (1 - r) / r}`.
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
            if self.start < 1 or self.start & (self.start - 1):
                raise InvalidInput(f"start must be a power of two (segments to start from), got {self.start}")

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

    def _tree(self, recording: Recording) -> _Tree:
        n_leaves = max(1, math.ceil(recording.length / self.segment_length * (1 - 1e-9)))
        depth = math.ceil(math.log2(n_leaves)) if n_leaves > 1 else 0
        level = self.halvings
        if level is None:
            level = depth - (self.start.bit_length() - 1 if self.start else optimal_start_level(
                recording_length=recording.length, n_events=self.n_events, query_cost_share=self.query_cost_share,
                levels=24,
            ))  # fmt: skip
        return _Tree(recording.length, self.segment_length, n_leaves, 1 << min(depth, max(0, level)))

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """The children of present segments that were not asked yet, or the first segments."""
        tree = self._tree(recording)
        return tree.bounds(tree.walk(answers_by_segment(asked, self.lead))[0])

    def labels(self, recording: Recording, asked: AnswerHistory) -> Labels:
        """The leaves: those below an absent segment are absent, what :meth:`next` does not call settled is unknown."""
        return self._tree(recording).labels(answers_by_segment(asked, self.lead))

    def words(self) -> Words:
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
        leaves = sorted({row.length for row in near} | set(wide.tolist()))
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
    line, errors = _from_every_level(problem.model, leaf, depth, problem.slipping, alone)
    listened, n_queries = line[:, :, _LISTENED], line[:, :, _QUERIES]
    if level is None:
        cost = problem.cost.of(listened=listened.sum(axis=0), n_queries=n_queries.sum(axis=0))
        level = 1 + int(np.argmin(cost[1:]))
    level = min(depth, max(1, level))
    raw, base = alone.raw.copy(), alone.base.copy()
    raw[:, _LABELS] = line[:, level, : len(_LABELS)]
    base[:, B["n_segments"]] = n_queries[:, level]
    design = Bisection(leaf, start_length=min(leaf * 2.0**level, problem.model.longest))
    heard, answers = (float(each[:, level].sum()) for each in (listened, n_queries))
    return design, Sums(raw, base, heard, float(errors[level]), answers=answers)


def levels(longest: float, leaf: float) -> int:
    """How often the longest recording can be halved until leaves are left."""
    return int(np.ceil(np.log2(max(1.0, np.ceil(longest / leaf * (1 - NEAR))))))


def _from_every_level(
    model: Model, leaf: float, depth: int, criteria: AnswerModels, alone: Sums
) -> tuple[Floats, Floats]:
    """The expected sums (classes, levels, FIELDS), and the standard error of the wrong time where recordings are drawn.

    Where only some recordings are looked at, labels without wrong answers are those of the leaves, known exactly.
    """
    if isinstance(model, SingleEventModel):
        few, step = model.drawn_recordings, 1
    else:
        leaves = float(np.diff(model.full.bounds).sum()) / leaf + 2 * len(model.full.bounds)
        step = int(leaves // _LEAVES) + 1
        few = model.part(step) if model.drawn and 1 < step <= len(model.full) else model
    # Of few leaves each is visited: rounding then tells ways from their leaves, always in the same order.
    counts = criteria.is_monotone and (few is not model or few.drawn or step > 1)
    way = partial(expected_queries, labels=few.drawn or few is model) if counts else expected_bisection
    each = np.concatenate([way(part, leaf, depth, criteria) for part in (few.full, few.silent) if len(part)])
    errors = np.zeros(depth + 1)
    if few.drawn or not (criteria.is_monotone or few is model):  # else it is exact
        event = np.bincount(few.full.owner, np.diff(few.full.bounds).ravel(), minlength=len(few.weight))
        wrong = each[:, :, _FP] + each[:, :, _ELSEWHERE] + event[:, None] - each[:, :, _TP]
        share = (few.weight / few.count)[:, None]
        errors = np.sqrt(np.sum(share * (wrong - np.sum(share * wrong, axis=0)) ** 2, axis=0) / few.count)
    if few is model:
        return few.per_class(each), errors
    raw, base = alone.raw[0], alone.base[0]
    times = base[B["n_recordings"]] / few.count
    line = np.einsum("u,u...->...", few.weight, each) * times
    if len(few.full):  # of the events that are known exactly as large a share as of the drawn ones
        weight = few.weight[few.full.owner] * times
        line[:, _TP] *= base[B["event_time"]] / np.sum(weight * np.diff(few.full.bounds).ravel())
        line[:, _FOUND] *= base[B["n_events"]] / weight.sum()
    if criteria.is_monotone:
        line[:, : len(_LABELS)] = raw[_LABELS]
    return line[None], errors


def expected_bisection(timelines: EventArrays, leaf: float, depth: int, criteria: AnswerModels) -> Floats:
    """Expected sums (recordings, starting levels, fields): level j starts from segments of ``leaf * 2**j`` seconds."""
    bounds, d = timelines.bounds, np.diff(timelines.bounds)
    out = np.zeros((len(timelines), depth + 1, len(FIELDS)))
    per_event = np.ceil(d[:, 0] / leaf) + 2
    most = int(np.bincount(timelines.owner, weights=per_event, minlength=1).max(initial=0.0)) + 3
    for weight, rule, low, high in criteria.parts():
        need = rule.required_overlap(event_length=d, segment_length=leaf * 2.0 ** np.arange(depth + 1))
        _halve(bounds, timelines.starts, timelines.lengths, leaf, need, low, high, weight, most, out)
    return out


def expected_queries(
    timelines: EventArrays, leaf: float, depth: int, criteria: AnswerModels, *, labels: bool = True
) -> Floats:
    """The same, faster, for monotone answers: the labels of the leaves, if asked for, and what is asked by counting."""
    parts, lengths = criteria.parts(), timelines.lengths
    out = np.zeros((len(timelines), depth + 1, len(FIELDS)))
    if labels:
        rules = [rule for _, rule, _, _ in parts]
        shares = [rule.criterion for rule in rules]
        who = AnswerModels.of(rule=rules) if None in shares else AnswerModels.of(presence_criterion=shares)
        raw, _ = measure(timelines, leaf, who, Placement(0.0, Edge.TRUNCATE, None, None))
        mixed = np.einsum("rck,c->rk", raw[:, :, _LABELS], [weight for weight, *_ in parts])
        out[:, :, : len(_LABELS)] = mixed[:, None]
    for weight, rule, _, _ in parts:
        nodes = np.maximum(1, np.ceil(lengths / leaf * (1 - NEAR))).astype(np.int64)
        asked, heard, whole = np.zeros(len(nodes)), np.zeros(len(nodes)), np.minimum(nodes * leaf, lengths)
        for j in range(depth + 1):
            if j > 0:  # the children of those that notice an event; of an only child nobody is asked twice
                width, most, nodes = leaf * 2.0**j, nodes // 2 - 1, (nodes + 1) // 2
                first, last, line = noticing(timelines, rule, width, nodes)
                last = np.minimum(last, most[line])
                first, last, line = (each[first <= last] for each in (first, last, line))
                seconds = np.minimum((last + 1) * width, lengths[line]) - first * width
                asked += np.bincount(line, 2.0 * (last - first + 1), len(nodes))
                heard += np.bincount(line, seconds, len(nodes))
            out[:, j, _QUERIES] += weight * (nodes + asked)
            out[:, j, _LISTENED] += weight * (whole + heard)
    return out


def noticing(timelines: EventArrays, rule: PresenceRule, width: float, nodes: Ints) -> tuple[Ints, Ints, Ints]:
    """The first and last of every stretch of segments in which an event satisfies the rule, and its recording."""
    line = timelines.owner
    need = rule.required_overlap(event_length=np.diff(timelines.bounds)[:, 0], segment_length=width)
    first, last = _ranges(timelines.bounds, need, width, nodes[line])
    some = first <= last
    first, last, line = first[some], last[some], line[some]
    first[1:] += (line[1:] == line[:-1]) & (first[1:] == last[:-1])  # events are in order, and may share a segment
    some = first <= last
    return first[some], last[some], line[some]


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

    def walk(self, known: dict[tuple[int, int], float]) -> tuple[list[_Node], list[_Node], list[_Node]]:
        """The nodes to ask now, the present leaves, and the leaves that nobody is sure of."""
        wanted, present, unsure = list[_Node](), list[_Node](), list[_Node]()
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

    def labels(self, known: dict[tuple[int, int], float]) -> Labels:
        """All leaves."""
        value = np.zeros(self.n_leaves)
        for nodes, mark in zip(self.walk(known), (np.nan, 1.0, np.nan)):
            for first, count in nodes:
                value[first : first + count] = mark
        return Labels(self.bounds([(first, 1) for first in range(self.n_leaves)]), value)


@kernel
def _halve(
    bounds: Any, starts: Any, lengths: Any, leaf: float, need: Any, low: float, high: float, weight: float, most: int,
    out: Any,
) -> None:  # fmt: skip
    depth = out.shape[1] - 1
    index, above = np.zeros(most, np.int64), np.zeros(most, np.int64)
    met = np.zeros(most, np.bool_)
    value, parent = np.zeros((most, 5)), np.zeros((most, 5))  # tp, fp, elsewhere, queries, listened of a node asked
    missed, fewer, line, alone = np.zeros(most), np.zeros(most), np.zeros(6), np.zeros(5)
    for r in range(lengths.shape[0]):
        length, e0, e1 = lengths[r], starts[r], starts[r + 1]
        nodes = max(1, int(np.ceil(length / leaf * (1 - NEAR))))
        n = _leaves(bounds, e0, e1, length, leaf, nodes, need, low, high, index, met, value)
        first, count = np.zeros(e1 - e0, np.int64), np.zeros(e1 - e0, np.int64)  # of the leaves that notice an event
        offset, place = np.zeros(e1 - e0, np.int64), 0
        for e in range(e1 - e0):
            lo, hi = _range(bounds[e0 + e, 0], bounds[e0 + e, 1], need[e0 + e, 0], leaf, nodes)
            first[e], count[e], offset[e] = lo, max(0, hi - lo + 1), place
            for i in range(count[e]):
                missed[place + i] = 1 - high
            place += count[e]
        alone[0], alone[1], alone[2], alone[3], alone[4] = 0.0, 0.0, low * leaf, 1.0, leaf  # a node far from events
        width = leaf
        for j in range(depth + 1):
            for k in range(5):
                total = (nodes - n) * alone[k]
                for i in range(n):
                    total += value[i, k]
                line[k if k < 3 else k + 1] = total
            line[3] = 0.0
            for e in range(e1 - e0):
                none = 1.0
                for i in range(count[e]):
                    none *= missed[offset[e] + i]
                line[3] += 1 - none
            for up in range(j, depth + 1 if nodes == 1 else j + 1):  # one node left: starting higher is the same
                for k in range(6):
                    out[r, up, k] += weight * line[k]
            if nodes == 1 or j == depth:
                break
            before = nodes
            nodes, width, m = (nodes + 1) // 2, 2 * width, 0
            for i in range(n):
                q = index[i] >> 1
                if m == 0 or above[m - 1] != q:
                    above[m] = q
                    met[m] = False
                    for k in range(5):
                        parent[m, k] = 2 * alone[k] if 2 * q + 1 < before else alone[k]
                    m += 1
                for k in range(5):
                    parent[m - 1, k] += value[i, k] - alone[k]
            for e in range(e0, e1):
                lo, hi = _range(bounds[e, 0], bounds[e, 1], need[e, j + 1], width, nodes)
                if hi >= lo:
                    i = count_up_to(above[:m], lo - 1)
                    for k in range(hi - lo + 1):
                        met[i + k] = True
            for i in range(m):
                index[i] = above[i]
                if 2 * above[i] + 1 >= before:  # it is its only child, cut by the end: nobody is asked twice
                    for k in range(5):
                        value[i, k] = parent[i, k]
                    continue
                p = high if met[i] else low
                for k in range(5):
                    value[i, k] = p * parent[i, k]
                value[i, 3] += 1.0
                value[i, 4] += min((above[i] + 1) * width, length) - above[i] * width
            n = m
            place = 0
            for e in range(e1 - e0):
                if count[e] == 0:
                    offset[e] = place
                    continue
                lo, hi = first[e] >> 1, (first[e] + count[e] - 1) >> 1
                i = count_up_to(above[:m], lo - 1)
                for k in range(hi - lo + 1):
                    none = 1.0
                    for child in (2 * (lo + k), 2 * (lo + k) + 1):
                        if first[e] <= child < first[e] + count[e]:
                            none *= missed[offset[e] + child - first[e]]
                    p = 1.0 if 2 * (lo + k) + 1 >= before else high if met[i + k] else low
                    fewer[place + k] = 1 - p + p * none
                first[e], count[e] = lo, hi - lo + 1
                offset[e] = place
                place += count[e]
            for i in range(place):
                missed[i] = fewer[i]
            for k in range(3):
                alone[k] = low * 2 * alone[k]
            alone[3], alone[4] = 1 + low * 2 * alone[3], width + low * 2 * alone[4]


@kernel
def _leaves(
    bounds: Any, e0: int, e1: int, length: float, leaf: float, nodes: int, need: Any, low: float, high: float,
    index: Any, met: Any, value: Any,
) -> int:  # fmt: skip
    """The number of leaves that are filled: those that meet an event, and the last one."""
    n = 0
    cover = np.zeros(index.shape[0])
    for e in range(e0, e1):
        a, b = bounds[e, 0], bounds[e, 1]
        k1 = min(int(np.floor(a / leaf + NEAR)), nodes - 1)
        k2 = max(k1, min(int(np.ceil(b / leaf - NEAR)) - 1, nodes - 1))
        for k in range(k1, k2 + 1):
            if n == 0 or index[n - 1] != k:
                index[n], met[n], cover[n] = k, False, 0.0
                n += 1
            cover[n - 1] += b - a if k1 == k2 else min(b, (k + 1) * leaf) - max(a, k * leaf)
    if n == 0 or index[n - 1] != nodes - 1:
        index[n], met[n], cover[n] = nodes - 1, False, 0.0
        n += 1
    for e in range(e0, e1):
        lo, hi = _range(bounds[e, 0], bounds[e, 1], need[e, 0], leaf, nodes)
        if hi >= lo:
            i = count_up_to(index[:n], lo - 1)
            for k in range(hi - lo + 1):
                met[i + k] = True
    for i in range(n):
        width = min((index[i] + 1) * leaf, length) - index[i] * leaf
        p, near = high if met[i] else low, cover[i] > 0.0
        value[i, 0] = p * cover[i]
        value[i, 1] = p * (width - cover[i]) if near else 0.0
        value[i, 2] = 0.0 if near else p * width
        value[i, 3], value[i, 4] = 1.0, width
    return n


@kernel
def _ranges(bounds: Any, need: Any, width: float, nodes: Any) -> tuple[Any, Any]:
    first, last = np.empty(nodes.shape[0], np.int64), np.empty(nodes.shape[0], np.int64)
    for e in range(nodes.shape[0]):
        first[e], last[e] = _range(bounds[e, 0], bounds[e, 1], need[e], width, nodes[e])
    return first, last


@kernel
def _range(a: float, b: float, need: float, width: float, nodes: int) -> Any:
    """The first and last node of this width that notice the event (a, b); last < first where none does."""
    first = min(int(np.floor(a / width + NEAR)), nodes - 1)
    last = min(max(first, int(np.ceil(b / width - NEAR)) - 1), nodes - 1)
    found: tuple[int, int] = reaching(first, last, a, b, width, 0.0, need)
    return found
