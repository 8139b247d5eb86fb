"""Several classes: one segment length for all of them in one pass, or some passes with a length each."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .methods import percent
from .sums import Sums
from .task import Model, Row, Task


def per_class(task: Task, models: dict[str, Model]) -> list[Row]:
    """The best length of every class on its own, and what the common length does to it."""
    from dataclasses import replace

    rows = []
    common = task.optimum
    for label, model in models.items():
        own = replace(task, model=model, labels=(label,))
        best = own.best_length(task.criteria) if len(models) <= 40 else own.quick_length(task.criteria)
        words = model.fixed([best, common], task.criteria).words()
        rows.append(
            {
                "label": label,
                "segment_length": best,
                **{word: float(words[word][0]) for word in ("overlap_accuracy", "event_recall", "wrong_time")},
                **{
                    f"{word}_common": float(words[word][1])
                    for word in ("overlap_accuracy", "event_recall", "wrong_time")
                },
                "n_queries": float(task.segments(best)[0]),
            }
        )
    return rows


def passes(task: Task, models: dict[str, Model], most: int = 12) -> list[Row]:
    """The best grouping of the classes into one, two, ... passes: classes of a pass share a segment length.

    Every pass hears everything once and asks each of its classes about every segment. Classes are sorted by their own
    best length, and groups of neighbours are compared: there the best grouping lies if wrong time has one valley.
    """
    grid = np.unique(
        np.append(task.grid[(task.grid >= task.optimum / 30) & (task.grid <= task.optimum * 30)], task.optimum)
    )
    sums = {label: model.fixed(grid, task.criteria) for label, model in models.items()}
    labels = sorted(models, key=lambda label: float(grid[int(np.nanargmax(task.score(sums[label])))]))
    wrong = np.array([sums[label].fn + sums[label].overlap_fp for label in labels])
    near = np.array([sums[label].overlap for label in labels])
    every = np.array([sums[label].wrong for label in labels])
    rows = []
    share = 0.5
    for n in range(1, min(len(labels), most) + 1):
        for _ in range(8):
            # A ratio of sums is least where wrong - share * near is, if share is that least ratio (Dinkelbach).
            loss = every if task.objective == "recording" else wrong - share * near
            picks, cuts = _group(loss, n)
            taken = [(c, k) for k, (i, j) in zip(picks, pairwise(cuts)) for c in range(i, j)]
            last, share = share, sum(wrong[c, k] for c, k in taken) / sum(near[c, k] for c, k in taken)
            if abs(share - last) < 1e-12:
                break
        rows.append(_passes_row(task, labels, sums, grid, picks, cuts))
    return rows


def _group(loss: Any, n: int) -> tuple[list[int], tuple[int, ...]]:
    """The cuts of the rows into n stretches, and one column for each, that make the least sum."""
    count = loss.shape[0]
    sums = np.concatenate((np.zeros((1, loss.shape[1])), np.cumsum(loss, axis=0)))
    least = np.full((count + 1, count + 1), np.inf)
    column = np.zeros((count + 1, count + 1), dtype=int)
    for i in range(count):
        blocks = sums[i + 1 :] - sums[i]
        column[i, i + 1 :] = np.argmin(blocks, axis=1)
        least[i, i + 1 :] = np.min(blocks, axis=1)
    best: list[dict[int, tuple[float, tuple[int, ...]]]] = [{0: (0.0, (0,))}]
    for _ in range(n):
        best.append(
            {
                j: min((value + least[i, j], (*cut, j)) for i, (value, cut) in best[-1].items() if i < j)
                for j in range(1, count + 1)
                if any(i < j for i in best[-1])
            }
        )
    cuts = best[-1][count][1]
    return [int(column[i, j]) for i, j in pairwise(cuts)], cuts


def _passes_row(
    task: Task, labels: list[str], sums: dict[str, Sums], grid: Any, picks: list[int], cuts: tuple[int, ...]
) -> Row:
    picked, members, widths, queries = [], [], [], 0.0
    for k, (i, j) in zip(picks, pairwise(cuts)):
        widths.append(float(grid[k]))
        members.append(labels[i:j])
        queries += float(task.segments(grid[k])[0]) * (j - i)
        picked += [sums[label].at(k) for label in labels[i:j]]
    words = Sums.pool(picked).words()
    listened = task.total * len(widths)
    return {
        "n_passes": len(widths),
        "segment_lengths": widths,
        "labels": members,
        **{word: float(words[word][0]) for word in ("overlap_accuracy", "event_recall", "wrong_time")},
        "n_queries": queries,
        "listened": listened,
        "cost": float(task.cost.of(listened=listened, n_queries=queries)),
    }


def classes(task: Task, models: dict[str, Any]) -> dict[str, Any]:
    """The table per class, the passes, and what they come to in words."""
    table = per_class(task, models)
    grouped = passes(task, models) if len(models) <= 40 else []
    if len(grouped) < 2:
        return {"per_class": table, "passes": grouped, "words": "One segment length serves all classes in one pass."}
    one, each = grouped[0], grouped[-1]
    saved = 1 - each["wrong_time"] / one["wrong_time"] if one["wrong_time"] > 0 else 0.0
    gain = each["overlap_accuracy"] - one["overlap_accuracy"]
    worth = (
        f"{'raise' if gain >= 0 else 'lower'} accuracy near events by {abs(100 * gain):.1f} points and "
        f"{'cut' if saved >= 0 else 'raise'} the wrong time by {percent(abs(saved))}"
    )
    said = (
        f"A segment length for each {'group of classes' if each['n_passes'] < len(models) else 'class'} "
        f"({each['n_passes']} passes) would {worth} for {each['cost'] / one['cost']:.1f} times the cost of one length "
        "for all."
    )
    return {"per_class": table, "passes": grouped, "words": said}
