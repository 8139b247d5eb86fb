"""Several classes: passes, each for some of them, and what one length for all of them does to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..base.errors import InvalidInput
from ..base.results import format_length, percent, seconds
from ..model.intervals import Floats, Intervals
from .base import AnswerHistory, Method, Recording, Words
from .fixed import Fixed
from .model import R, Sums
from .problem import FOUND, LabelingProblem, MethodOutcome, contributions

_MOST = 12  # passes that are compared at most


@dataclass(frozen=True)
class Passes(Method):
    """Classes in passes, each (labels, how they are asked for)."""

    passes: tuple[tuple[tuple[str, ...], Method], ...]
    name: ClassVar[str] = "passes"
    by_name: ClassVar[bool] = False
    planned: ClassVar[str] = "always"
    colour: ClassVar[int] = 3

    @property
    def is_placed(self) -> bool:
        """Whether that of every pass is."""
        return all(own.is_placed for _, own in self.passes)

    @property
    def is_simulated(self) -> bool:
        """Whether that of any pass is."""
        return any(own.is_simulated for _, own in self.passes)

    def of_class(self, label: str) -> Method:
        return next((own for labels, own in self.passes if label in labels), self)

    def next(self, recording: Recording, asked: AnswerHistory) -> Intervals:
        """Raises: what is asked depends on the class."""
        known = ", ".join(label for labels, _ in self.passes for label in labels)
        raise InvalidInput(f"passes ask about one class at a time: label must be one of {known}")

    @property
    def same_labels(self) -> Passes:
        """What gives the same labels at once, pass by pass."""
        return Passes(tuple((labels, own.same_labels) for labels, own in self.passes))

    def words(self) -> Words:
        """How people say it: what is asked about whom, for few passes; from where to where lengths go, for many."""
        lengths = [float(getattr(own, "segment_length", None) or 0.0) for _, own in self.passes]
        widths = [seconds(length) for length in lengths]
        told = ", ".join(widths) if len(widths) < 4 else f"{widths[0]} to {widths[-1]}"
        if len(widths) > 3 or any(len(labels) > 3 for labels, _ in self.passes):
            span = from_to(min(lengths), max(lengths))
            each = f"each with segments {span}, by how long the classes last"
        else:
            each = ", ".join(f"{' and '.join(labels)} with {own.words().name}" for labels, own in self.passes)
        name = f"{len(widths)} passes, {told} segments"
        return Words(name, f"Label in {len(widths)} passes, {each}", "several passes")

    def notes(self, heard: float) -> list[str]:
        """Every pass."""
        few = len(self.passes) < 13
        return ["; ".join(f"{', '.join(labels)}: {own.words().name}" for labels, own in self.passes)] if few else []

    def sums(self, problem: LabelingProblem) -> Sums:
        """Pass by pass."""
        return _together([own.sums(problem.only(*labels)) for labels, own in self.passes])

    @classmethod
    def candidates(cls, problem: LabelingProblem) -> list[MethodOutcome]:
        """Fixed segments in 2, 3, ... passes, each with a length of its own for some of the classes."""
        if problem.n_classes < 2:
            return []
        table = by_class(problem, problem.fixed_sums)
        usable = table["event_recall"] >= np.minimum(FOUND, 0.95 * table["event_recall"].max(axis=1, keepdims=True))
        loss = table["wrong_time"] + np.where(usable, 0.0, problem.recording_length)
        order = np.lexsort((np.arange(problem.n_classes), problem.grid[loss.argmin(axis=1)]))
        designs, sums = list[Method](), list[Sums]()
        for n in range(2, min(problem.n_classes, _MOST) + 1):
            picks, cuts = group(loss[order], n)
            if len(set(picks)) < n:
                continue
            passes, parts = list[tuple[tuple[str, ...], Method]](), list[Sums]()
            for k, (i, j) in zip(picks, pairwise(cuts)):
                some, known = order[i:j], problem.fixed_sums[k]
                passes.append((tuple(problem.labels[c] for c in some), Fixed(float(problem.grid[k]))))
                # The recordings are heard once for all classes of a pass; fewer are ticked.
                ticks = float(known.raw[some][:, R["n_present"]].sum()) * (len(some) > 1)
                parts.append(known._replace(raw=known.raw[some], base=known.base[some], ticks=ticks))
            designs.append(cls(tuple(passes)))
            sums.append(_together(parts))
        return problem.rows_of(designs, sums)


def from_to(low: float, high: float) -> str:
    """A range of lengths, in one unit where it can be."""
    return f"from {format_length(low) if high < 3600 else seconds(low)} to {seconds(high)}"


def _together(sums: Sequence[Sums]) -> Sums:
    """The sums of classes that are asked for in several passes."""
    raw, base = (np.concatenate([each[k] for each in sums]) for k in (0, 1))
    note = "; ".join(sorted({each.note for each in sums} - {""}))
    error = float(np.hypot.reduce([each.error for each in sums]))
    heard, answers, ticks = (sum(getattr(each, name) for each in sums) for name in ("heard", "answers", "ticks"))
    return Sums(raw, base, heard, error, note, answers, ticks)


def by_class(problem: LabelingProblem, sums: Sequence[Sums]) -> dict[str, Floats]:
    """The words (classes, lengths) from sums per class."""
    raw, base = (np.stack([each[k] for each in sums], axis=1) for k in (0, 1))
    wrong, right, near, found, events = np.moveaxis(contributions(raw, base), -1, 0)
    return {
        "wrong_time": wrong / problem.model.count,
        "event_recall": found / np.maximum(events, 1e-300),
        "overlap_accuracy": right / np.maximum(near, 1e-300),
        "n_events": events / problem.model.count,
    }


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


def classes(problem: LabelingProblem, common: MethodOutcome, rows: list[MethodOutcome]) -> dict[str, Any]:
    """What one common length does to every class, beside the best length of each (``per_class``), and what several
    passes, each with a length of its own, would change (``words``; empty where they are not compared)."""
    own, shared = by_class(problem, problem.fixed_sums), by_class(problem, [common.design.sums(problem)])
    found = own["event_recall"] >= FOUND
    wrong = np.where(found | ~found.any(axis=1, keepdims=True), own["wrong_time"], np.inf)
    words = ("wrong_time", "event_recall", "overlap_accuracy")
    table = [
        {
            "label": label,
            "n_events": float(own["n_events"][c, k]),
            "segment_length": float(problem.grid[k]),
            **{word: float(own[word][c, k]) for word in words},
            **{f"{word}_common": float(shared[word][c, 0]) for word in words},
        }
        for c, (label, k) in enumerate(zip(problem.labels, wrong.argmin(axis=1)))
    ]
    several = [row for row in rows if row.passes]
    return {"per_class": table, "words": _words(common, several, problem.n_classes) if several else ""}


def _words(one: MethodOutcome, several: list[MethodOutcome], n: int) -> str:
    each = min(several, key=lambda row: row.wrong_time)
    saved = 1 - each.wrong_time / one.wrong_time if one.wrong_time > 0 else 0.0
    if saved < 0.05:
        return "One segment length serves all classes in one pass: lengths of their own would save less than 5 %."
    kind = "class" if len(each.passes) == n else "group of classes"
    return (
        f"Fixed segments with a length for each {kind} ({len(each.passes)} passes) cut the wrong time of one pass with "
        f"{seconds(one.length)} for all by {percent(saved)}, for {each.cost / one.cost:.1f} times its cost."
    )
