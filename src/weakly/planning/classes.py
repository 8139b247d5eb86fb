"""Several classes: one segment length for all of them in one pass, or some passes with a length each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .model import Floats
from .rows import Design, Row, percent
from .task import Task

_PASSES = 12  # passes that are compared at most


@dataclass(frozen=True)
class ClassRow:
    """The best length of one class on its own, and what the common length does to it; wrong time per recording."""

    label: str
    n_events: float
    segment_length: float
    wrong_time: float
    event_recall: float
    overlap_accuracy: float
    wrong_time_common: float
    event_recall_common: float
    overlap_accuracy_common: float


@dataclass(frozen=True)
class PassRow:
    """Classes in so many passes, each with its own segment length."""

    n_passes: int
    segment_lengths: list[float]
    labels: list[list[str]]
    wrong_time: float
    n_queries: float
    listened: float
    cost: float


@dataclass(frozen=True)
class Classes:
    """The table per class, the passes, and what they come to in words."""

    per_class: list[ClassRow]
    passes: list[PassRow]
    words: str


def classes(task: Task, common: float) -> Classes:
    """Fixed segments of one common length against a length for each class or group of classes."""
    near = np.unique([*task.grid[(task.grid >= common / 12) & (task.grid <= common * 12)][::2], common])
    rows = {label: task.only(label).rows([Design("fixed", float(width)) for width in near]) for label in task.models}
    at = int(np.flatnonzero(near == common)[0])
    table = [_per_class(label, each, at, task.only(label).n_events) for label, each in rows.items()]
    labels = sorted(rows, key=lambda label: (float(near[_best(rows[label])]), label))
    loss = np.array([[row.wrong_time for row in rows[label]] for label in labels])
    queries = np.array([row.n_queries for row in rows[labels[0]]])
    grouped = []
    for n in range(1, min(len(labels), _PASSES) + 1):
        picks, cuts = group(loss, n)
        grouped.append(_pass(task, labels, near, loss, queries, picks, cuts))
    return Classes(table, grouped, _words(grouped, len(labels)))


def _best(rows: list[Row]) -> int:
    """The number of the row with the least wrong time among those that find 90 % of events, or among all."""
    wrong = np.array([row.wrong_time for row in rows])
    found = np.array([row.event_recall >= 0.9 for row in rows])
    return int(np.where(found, wrong, np.inf).argmin() if found.any() else wrong.argmin())


def _per_class(label: str, rows: list[Row], at: int, n_events: float) -> ClassRow:
    own, common = rows[_best(rows)], rows[at]
    return ClassRow(
        label, n_events, float(own.segment_length or 0.0), own.wrong_time, own.event_recall, own.overlap_accuracy,
        common.wrong_time, common.event_recall, common.overlap_accuracy,
    )  # fmt: skip


def group(loss: Floats, n: int) -> tuple[list[int], tuple[int, ...]]:
    """The cuts of the rows into n stretches, and one column for each, that make the least sum.

    >>> group(np.array([[0.0, 5.0], [1.0, 4.0], [5.0, 0.0]]), 2)
    ([0, 1], (0, 2, 3))
    """
    count = loss.shape[0]
    sums = np.concatenate((np.zeros((1, loss.shape[1])), np.cumsum(loss, axis=0)))
    least = np.full((count + 1, count + 1), np.inf)
    column = np.zeros((count + 1, count + 1), dtype=int)
    for i in range(count):
        blocks = sums[i + 1 :] - sums[i]
        column[i, i + 1 :] = np.argmin(blocks, axis=1)
        least[i, i + 1 :] = np.min(blocks, axis=1)
    value = np.full(count + 1, np.inf)
    value[0] = 0.0
    back = []
    for _ in range(n):
        total = value[:, None] + least  # ends in j with the last stretch from i
        back.append(np.argmin(total, axis=0))
        value = np.min(total, axis=0)
    cuts = [count]
    for origin in reversed(back):
        cuts.append(int(origin[cuts[-1]]))
    cuts.reverse()
    return [int(column[i, j]) for i, j in pairwise(cuts)], tuple(cuts)


def _pass(
    task: Task, labels: list[str], widths: Floats, loss: Floats, queries: Floats, picks: list[int], cuts: Any
) -> PassRow:
    asked = sum(queries[k] * (j - i) for k, (i, j) in zip(picks, pairwise(cuts)))
    heard = task.total * len(picks)
    return PassRow(
        n_passes=len(picks),
        segment_lengths=[float(widths[k]) for k in picks],
        labels=[labels[i:j] for i, j in pairwise(cuts)],
        wrong_time=float(sum(loss[i:j, k].sum() for k, (i, j) in zip(picks, pairwise(cuts)))),
        n_queries=float(asked),
        listened=heard,
        cost=float(task.cost.of(listened=heard, n_queries=asked)),
    )


def _words(grouped: list[PassRow], n: int) -> str:
    one, each = grouped[0], grouped[-1]
    saved = 1 - each.wrong_time / one.wrong_time if one.wrong_time > 0 else 0.0
    if saved < 0.05:
        return "One segment length serves all classes in one pass: lengths of their own would save less than 5 %."
    kind = "class" if each.n_passes == n else "group of classes"
    return (
        f"Fixed segments with a length for each {kind} ({each.n_passes} passes) would cut the wrong time by "
        f"{percent(saved)} for {each.cost / one.cost:.1f} times the cost of one pass with one length for all."
    )
