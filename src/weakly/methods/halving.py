r"""Halving on known events: what a bisection is expected to ask, hear and label, for every starting length at once.

A node is asked if its parent was answered present, so with p the chance of a present answer at a node (high where an
event satisfies the rule in it, low where none does)

.. math:: Q = 1 + p (Q_l + Q_r), \qquad H = w + p (H_l + H_r), \qquad TP = p (TP_l + TP_r),

and an event is missed below a node with chance :math:`1 - p + p N_l N_r`. The recursion runs from the leaves upwards;
at every level the sums are those of a bisection that starts there. Only nodes that meet an event, and the last one,
are visited: all others of a level are alike. Where answers are certain and a segment around a present one is present,
the labels are those of the leaves, and a node is asked if its parent notices an event: such parents are only counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.compiled import kernel
from ..engine.scoring import measure
from ..engine.tally import FP, FP_OUTSIDE, N_FOUND, TP
from ..model.annotator import TIE
from ..model.answer_model import AnswerModels
from ..model.intervals import EventArrays
from ..model.placement import Edge, Placement

NEAR = 1e-9
#: What comes back per recording and starting level.
FIELDS = ("tp", "fp", "fp_outside", "n_found", "n_queries", "listened")
_TP, _FP, _ELSEWHERE, _FOUND, _QUERIES, _LISTENED = range(6)


def levels(longest: float, leaf: float) -> int:
    """How often the longest recording can be halved until leaves are left."""
    return int(np.ceil(np.log2(max(1.0, np.ceil(longest / leaf * (1 - NEAR))))))


def expected_bisection(timelines: EventArrays, leaf: float, depth: int, criteria: AnswerModels) -> NDArray[np.float64]:
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
) -> NDArray[np.float64]:
    """The same, faster, for monotone answers: the labels of the leaves, if asked for, and what is asked by counting."""
    parts, d = criteria.parts(), np.diff(timelines.bounds)
    out = np.zeros((len(timelines), depth + 1, len(FIELDS)))
    if labels:
        rules = [rule for _, rule, _, _ in parts]
        shares = [rule.criterion for rule in rules]
        who = AnswerModels.of(rule=rules) if None in shares else AnswerModels.of(presence_criterion=shares)
        raw, _ = measure(timelines, leaf, who, Placement(0.0, Edge.TRUNCATE, None, None))
        mixed = np.einsum("rck,c->rk", raw[:, :, [TP, FP, FP_OUTSIDE, N_FOUND]], [weight for weight, *_ in parts])
        out[:, :, : _FOUND + 1] = mixed[:, None]
    for weight, rule, _, _ in parts:
        need = rule.required_overlap(event_length=d, segment_length=leaf * 2.0 ** np.arange(depth + 1))
        _count(timelines.bounds, timelines.starts, timelines.lengths, leaf, need, weight, out)
    return out


@kernel
def _count(bounds: Any, starts: Any, lengths: Any, leaf: float, need: Any, weight: float, out: Any) -> None:
    """Add queries and seconds heard where answers are certain: all nodes of the starting level, and below it those
    whose parent notices an event. Events are in order, so that a node counts once if it is beyond the last."""
    for r in range(lengths.shape[0]):
        length, width = lengths[r], leaf
        nodes = max(1, int(np.ceil(length / leaf * (1 - NEAR))))
        asked, heard, whole = 0.0, 0.0, min(nodes * leaf, length)
        for j in range(out.shape[1]):
            if j > 0:
                last = nodes // 2 - 1  # the last node with two children: of an only child nobody is asked twice
                nodes, width, done = (nodes + 1) // 2, 2 * width, -1
                for e in range(starts[r], starts[r + 1]):
                    lo, hi = _range(bounds[e, 0], bounds[e, 1], need[e, j], width, nodes)
                    lo, hi = max(lo, done + 1), min(hi, last)
                    if hi >= lo:
                        asked += 2.0 * (hi - lo + 1)
                        heard += min((hi + 1) * width, length) - lo * width
                        done = hi
            out[r, j, _QUERIES] += weight * (nodes + asked)
            out[r, j, _LISTENED] += weight * (whole + heard)


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
                    i = _find(above, m, lo)
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
                i = _find(above, m, lo)
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
    """Fill the leaves that meet an event, and the last one; back comes how many they are."""
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
            i = _find(index, n, lo)
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
def _range(a: float, b: float, need: float, width: float, nodes: int) -> tuple[int, int]:
    """The first and last node of this width that notice the event (a, b); last < first where none does."""
    if not np.isfinite(need):
        return 0, -1
    least = need * (1 - TIE)
    lo = max(0, min(int(np.floor(a / width + NEAR)), nodes - 1), int(np.floor((a + need) / width - 1)))
    hi = min(nodes - 1, max(lo, int(np.ceil(b / width - NEAR)) - 1), int(np.ceil((b - need) / width)))
    while lo <= hi and (lo + 1) * width - a < least:
        lo += 1
    while hi >= lo and b - hi * width < least:
        hi -= 1
    return lo, hi


@kernel
def _find(sorted_values: Any, n: int, wanted: int) -> int:
    """Where the value stands among the first n."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if sorted_values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
