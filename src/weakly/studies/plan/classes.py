"""Several classes: one segment length for all of them in one pass, or some passes with a length each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...base.results import percent, seconds
from ...methods.model import B, Floats, R, Sums, depth_of
from ...methods.outcome import PATIENCE, LabelingDesign, MethodOutcome
from ...methods.problem import LabelingProblem, in_passes, wrong_seconds
from .decision import FOUND

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


def pass_rows(task: LabelingProblem, used: tuple[str, ...]) -> list[MethodOutcome]:
    """Fixed segments, and halving, in 2, 3, ... passes, each with a length of its own for some of the classes."""
    table = _table(task.fixed_sums, task)
    usable = table["event_recall"] >= np.minimum(FOUND, 0.95 * table["event_recall"].max(axis=1, keepdims=True))
    loss = table["wrong_time"] + np.where(usable, 0.0, task.recording_length)
    order = np.lexsort((np.arange(task.n_classes), task.grid[loss.argmin(axis=1)]))
    labels = list(task.models)
    designs, sums = [], []
    for n in range(2, min(len(labels), _PASSES) + 1):
        picks, cuts = group(loss[order], n)
        if len(set(picks)) < n:
            continue
        parts = [(order[i:j], float(task.grid[k]), task.fixed_sums[k]) for k, (i, j) in zip(picks, pairwise(cuts))]
        names = [tuple(labels[c] for c in some) for some, _, _ in parts]
        fixed = [(LabelingDesign("fixed", width), _only(each, some)) for some, width, each in parts]
        ways = [fixed] if "bisection" not in used or "fixed" in used else []
        if "bisection" in used and n <= PATIENCE:
            ways.append([
                task.only(*each).halved(width, alone=own[1]) if depth_of(task.model, width) > 0 else own
                for each, (_, width, _), own in zip(names, parts, fixed)
            ])  # fmt: skip
        for way in ways:
            designs.append(LabelingDesign("passes", passes=tuple(zip(names, (design for design, _ in way)))))
            sums.append(in_passes([each for _, each in way]))
    return task.rows_of(designs, sums)


def _only(sums: Sums, some: NDArray[np.int64]) -> Sums:
    """The sums of fixed segments for some of the classes; the recordings are heard once for all of them."""
    return sums[0][some], sums[1][some], sums[2], sums[3]


def _table(sums: list[Sums], task: LabelingProblem) -> dict[str, Floats]:
    """The words (classes, lengths) from sums per class."""
    raw, base = (np.stack([each[k] for each in sums], axis=1) for k in (0, 1))
    right = raw[..., R["tp"]] + base[..., B["overlap_time"]] - base[..., B["cover_time"]] - raw[..., R["fp"]]
    wrong = wrong_seconds(raw.reshape(-1, raw.shape[-1]), base.reshape(-1, base.shape[-1])).reshape(raw.shape[:2])
    events = base[..., B["n_events"]]
    return {
        "wrong_time": wrong / task.model.count,
        "event_recall": raw[..., R["n_found"]] / np.maximum(events, 1e-300),
        "overlap_accuracy": right / np.maximum(base[..., B["overlap_time"]], 1e-300),
        "n_events": events / task.model.count,
    }


def classes(task: LabelingProblem, common: MethodOutcome, rows: list[MethodOutcome]) -> Classes:
    """What one common length does to every class, against the best length of each and against several passes."""
    own, shared = _table(task.fixed_sums, task), _table([task.sums(common.design)], task)
    found = own["event_recall"] >= FOUND
    wrong = np.where(found | ~found.any(axis=1, keepdims=True), own["wrong_time"], np.inf)
    words = ("wrong_time", "event_recall", "overlap_accuracy")
    table = [
        ClassRow(
            label,
            float(own["n_events"][c, k]),
            float(task.grid[k]),
            *(float(own[word][c, k]) for word in words),
            *(float(shared[word][c, 0]) for word in words),
        )
        for c, (label, k) in enumerate(zip(task.models, wrong.argmin(axis=1)))
    ]
    one = PassRow(1, [float(common.segment_length or 0.0)], [list(task.models)], *_totals(common))
    several = [
        PassRow(len(row.passes), [float(own.segment_length or 0.0) for _, own in row.passes],
                [list(each) for each, _ in row.passes], *_totals(row))
        for row in rows if row.passes and row.passes[0][1].method == "fixed"
    ]  # fmt: skip
    return Classes(table, [one, *several], _words([one, *several], task.n_classes))


def _totals(row: MethodOutcome) -> tuple[float, float, float, float]:
    return row.wrong_time, row.n_queries, row.listened, row.cost


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


def _words(grouped: list[PassRow], n: int) -> str:
    one, each = grouped[0], min(grouped, key=lambda row: row.wrong_time)
    saved = 1 - each.wrong_time / one.wrong_time if one.wrong_time > 0 else 0.0
    if saved < 0.05:
        return "One segment length serves all classes in one pass: lengths of their own would save less than 5 %."
    kind = "class" if each.n_passes == n else "group of classes"
    return (
        f"Fixed segments with a length for each {kind} ({each.n_passes} passes) cut the wrong time of one pass with "
        f"{seconds(one.segment_lengths[0])} for all by {percent(saved)}, for {each.cost / one.cost:.1f} times its cost."
    )
