"""Several classes: one segment length for all of them in one pass, or some passes with a length each."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sums import Sums
from .task import Model, Row, Task


def per_class(task: Task, models: dict[str, Model]) -> list[Row]:
    """The best length of every class on its own, and what the common length does to it."""
    from dataclasses import replace

    rows = []
    common = task.optimum
    for label, model in models.items():
        own = replace(task, model=model, labels=(label,))
        best = own.best_length(task.criteria)
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


def passes(task: Task, models: dict[str, Model], most: int = 4) -> list[Row]:
    """The best grouping of the classes into one, two, ... passes: classes of a pass share a segment length.

    Every pass hears everything once and asks each of its classes about every segment. Classes are sorted by their own
    best length; groups of neighbours are compared, which is where the best grouping lies when wrong time has one valley.
    """
    labels = list(models)
    grid = task.grid[(task.grid >= task.optimum / 12) & (task.grid <= task.optimum * 12)]
    sums = {label: models[label].fixed(grid, task.criteria) for label in labels}
    score = {label: _loss(task, each) for label, each in sums.items()}
    labels.sort(key=lambda label: float(grid[int(np.nanargmin(score[label]))]))
    table = np.array([np.nan_to_num(score[label], nan=0.0) for label in labels])
    cumulative = np.concatenate((np.zeros((1, grid.size)), np.cumsum(table, axis=0)))
    n = len(labels)
    groups: dict[tuple[int, int], tuple[float, int]] = {}
    for i in range(n):
        for j in range(i + 1, n + 1):
            block = cumulative[j] - cumulative[i]
            k = int(np.argmin(block))
            groups[i, j] = (float(block[k]), k)
    best: list[dict[int, tuple[float, tuple[int, ...]]]] = [{0: (0.0, (0,))}]
    rows: list[Row] = []
    for _ in range(min(n, max(most, 1)) if n > most else n):
        layer: dict[int, tuple[float, tuple[int, ...]]] = {}
        for j in range(1, n + 1):
            options = [(value + groups[i, j][0], (*cut, j)) for i, (value, cut) in best[-1].items() if i < j]
            if options:
                layer[j] = min(options)
        best.append(layer)
        if n in layer:
            rows.append(_passes_row(task, labels, sums, grid, groups, layer[n][1]))
    return rows


def _loss(task: Task, sums: Sums) -> Any:
    # Given overlap, the wrong share of the time near events, each class weighted by its number of events.
    return sums.wrong if task.objective == "recording" else sums.n_events * (sums.fn + sums.overlap_fp) / sums.overlap


def _passes_row(
    task: Task, labels: list[str], sums: dict[str, Sums], grid: Any, groups: Any, cuts: tuple[int, ...]
) -> Row:
    picked, members, widths, queries = [], [], [], 0.0
    for i, j in zip(cuts, cuts[1:]):
        k = groups[i, j][1]
        widths.append(float(grid[k]))
        members.append(labels[i:j])
        queries += float(task.segments(grid[k])[0]) * (j - i)
        for label in labels[i:j]:
            each = sums[label]
            picked.append(
                Sums(
                    *(np.asarray(getattr(each, name))[[k]] for name in Sums.ARRAYS),
                    each.n_events,
                    each.recording_length,
                )
            )
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
