"""The ways to label, each as rows of a comparison: fixed segments, overlapping windows, bisection, the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..results import WORDS
from .sums import Sums
from .task import Floats, Row, Task

METHODS = ("fixed", "windows", "bisection", "change-point", "oracle")
COMMON = (1.0, 3.0, 5.0, 10.0)  # the segment lengths that people use, in seconds
OVERESTIMATION = (1, 2, 4, 8)  # queries of the oracle over the queries that it needs, as in the paper
PER_CELL = (2, 4)  # windows over each cell


def seconds(value: float) -> str:
    """A length as people say it.

    >>> seconds(0.80901), seconds(12.34), seconds(3.0), seconds(0.0123)
    ('0.81 s', '12.3 s', '3 s', '0.012 s')
    """
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 3
    text = f"{value:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + " s"


def percent(value: float) -> str:
    """A share as people say it; what is not all is not called 100 %, what is not nothing not 0 %.

    >>> percent(0.7639), percent(0.9996), percent(1.0), percent(0.0004)
    ('76 %', '99.9 %', '100 %', '0.1 %')
    """
    if 0.995 <= value < 1 - 1e-9:
        return f"{min(100 * value, 99.9):.1f} %"
    if 1e-9 < value < 0.005:
        return f"{max(100 * value, 0.1):.1f} %"
    return f"{100 * value:.0f} %"


def row(task: Task, sums: Sums, k: int, *, n_queries: float, listened: float, **what: Any) -> Row:
    """One line of the comparison."""
    words = sums.words()
    made: Row = {
        "method": what.pop("method"),
        "name": what.pop("name"),
        "segment_length": what.pop("segment_length"),
        **{word: float(words[word][k]) for word in WORDS},
        "n_queries": float(n_queries),
        "listened": float(listened),
        "cost": float(task.cost.of(listened=listened, n_queries=n_queries)),
        "attainable": what.pop("attainable", True),
        "settings": what.pop("settings", {}),
    }
    made["note"] = "; ".join([*what.pop("notes", []), *_notes(task, made)])
    return made


def _notes(task: Task, made: Row) -> list[str]:
    notes = []
    width, method = made["segment_length"], made["method"]
    if width is not None and method in ("fixed", "windows", "bisection"):
        gamma = task.criteria.plausible[1]
        out_of_reach = 1 - float(task.lengths.partial_moments(width / gamma * (1 + 1e-9))[0])
        if out_of_reach > 0.005:
            notes.append(
                f"{percent(out_of_reach)} of events are longer than {seconds(width / gamma)}: no segment holds enough"
            )
    if made["event_recall"] < 0.9:
        notes.append(f"misses {percent(1 - made['event_recall'])} of events")
    if made["wrong_time"] >= task.event_time * (1 - 1e-9):
        notes.append("as much wrong time as if nothing were labelled present, or more")
    return notes


def fixed(task: Task, widths: Any, names: Any = None) -> list[Row]:
    """Fixed segments of each of these lengths."""
    widths = np.atleast_1d(np.asarray(widths, dtype=np.float64))
    sums = task.model.fixed(widths, task.criteria)
    counts = task.segments(widths) * task.n_classes
    names = names or [f"fixed {seconds(width)}" for width in widths]
    return [
        row(
            task,
            sums,
            k,
            method="fixed",
            name=names[k],
            segment_length=float(width),
            n_queries=counts[k],
            listened=task.total,
        )
        for k, width in enumerate(widths)
    ]


def windows(task: Task, per_cell: int, hops: Any = None) -> list[Row]:
    """Overlapping windows at each of these hops, with the vote threshold that leaves the least wrong time there.

    Without hops, the one hop with the least wrong time; no row if windows that long do not fit into a recording.
    """
    centre = task.criteria.middle * task.lengths.mean / (per_cell - 0.5)
    search = hops is None
    # The label's edges fall on the event's, on average, where hop = gamma d / (K - k + 1/2).
    tried = centre * np.geomspace(0.4, 2.5 * (2 * per_cell - 1), 25) if hops is None else np.atleast_1d(hops)
    tried = tried[tried * per_cell <= task.recordings.max()]
    if tried.size == 0:
        return []
    votes = range(1, per_cell + 1)
    sums = [task.model.windows(tried, per_cell, needed, task.criteria) for needed in votes]
    wrong = np.array([each.wrong for each in sums])
    if search:
        needed, middle = divmod(int(np.argmin(wrong)), tried.size)
        tried = tried[middle] * np.geomspace(0.9, 1.11, 17)
        tried = tried[tried * per_cell <= task.recordings.max()]
        sums = [task.model.windows(tried, per_cell, needed + 1, task.criteria)]
        chosen = [(sums[0], int(np.argmin(sums[0].wrong)), needed + 1)]
    else:
        best = np.argmin(wrong, axis=0).tolist()
        chosen = [(sums[needed], k, needed + 1) for k, needed in enumerate(best)]
    return [window(task, each, k, float(tried[k]), per_cell, needed) for each, k, needed in chosen]


def window(task: Task, sums: Sums, k: int, hop: float, per_cell: int, needed: int) -> Row:
    """One row of overlapping windows."""
    each = np.maximum(1.0, np.ceil(task.recordings / hop * (1 - 1e-12) - 1e-9) - per_cell + 1)
    heard = np.minimum(each * hop * per_cell, per_cell * task.recordings) @ task.counts
    return row(
        task,
        sums,
        k,
        method="windows",
        name=f"windows {seconds(hop * per_cell)} every {seconds(hop)}, {needed} of {per_cell}",
        segment_length=hop * per_cell,
        n_queries=float(each @ task.counts) * task.n_classes,
        listened=float(heard),
        settings={"hop": hop, "windows_per_cell": per_cell, "votes_needed": needed},
        notes=["hears everything " + {2: "twice", 4: "four times"}.get(per_cell, f"{per_cell} times")],
    )


def bisection(task: Task, leaves: Any) -> list[Row]:
    """Halving from the cheapest starting length: the labels of fixed segments of the leaf's length, for less."""
    leaves = np.atleast_1d(np.asarray(leaves, dtype=np.float64))
    sums = task.model.fixed(leaves, task.criteria)
    longest = float(task.recordings.max())
    ladders = [leaf * 2.0 ** np.arange(int(np.log2(max(longest / leaf, 1.0)) + 1e-9) + 1) for leaf in leaves]
    every, where = np.unique(np.round(np.log2(np.concatenate(ladders)), 9), return_inverse=True)
    present = task.model.split(2.0**every, task.criteria)[where] * task.n_recordings
    rows, start = [], 0
    for k, widths in enumerate(ladders):
        tops = task.segments(widths) * task.n_classes
        met = np.minimum(present[start : start + widths.size], tops)
        start += widths.size
        met[0] = 0.0  # the leaves are not split
        queries = tops + 2 * np.cumsum(met)
        heard = task.total * task.n_classes + np.cumsum(met * widths)
        heard[0] = task.total  # without halving, one pass serves all classes
        level = int(np.argmin(task.cost.of(listened=heard, n_queries=queries)))
        rows.append(halving(task, sums, k, widths, level, queries[level], heard[level]))
    return rows


def halving(task: Task, sums: Sums, k: int, widths: Floats, level: int, queries: float, heard: float) -> Row:
    """One row of bisection from a level of the ladder of widths down to its first."""
    notes = []
    if task.criteria.plausible[1] > 0.5:
        notes.append("criterion above 1/2: a split inside an event can lose it, as fixed segments do")
    if task.criteria.always or task.criteria.never:
        notes.append("needs answers without guesses and lapses")
    if level == 0:
        notes.append("halving saves nothing here: this is fixed labeling")
    path = f"from {seconds(widths[level])} to" if level else "without halving,"
    name = f"bisection {path} {seconds(widths[0])}"
    return row(
        task,
        sums,
        k,
        method="bisection",
        name=name,
        segment_length=float(widths[0]),
        n_queries=queries,
        listened=heard,
        settings={"start_length": float(widths[level]), "levels": level},
        notes=notes,
    )


def oracle(task: Task, overestimation: float, *, method: str = "oracle") -> Row:
    """Segments that begin and end with the events: s (2 M + 1) queries in every recording, as in the paper."""
    m = task.n_events
    ones, zeros = np.ones(1), np.zeros(1)
    time = m * task.lengths.mean
    sums = Sums(time * ones, zeros, zeros, time * ones, zeros, m * ones, m * ones, m, task.recording_length)
    queries = overestimation * (2 * m + task.n_classes) * task.n_recordings
    notes = ["needs the true boundaries: a limit, not a way to work"]
    name = f"oracle, s = {overestimation:g}"
    if method == "change-point":
        name = f"change points, s = {overestimation:g}"
        notes = [
            "modelled as the oracle with twice the queries that it needs: an upper limit, "
            "real change points are misplaced and missed"
        ]
    elif overestimation > 1:
        notes.append("surplus cuts are taken to leave events whole")
    return row(
        task,
        sums,
        0,
        method=method,
        name=name,
        segment_length=None,
        n_queries=queries,
        listened=task.total,
        attainable=False,
        settings={"overestimation": overestimation},
        notes=notes,
    )


def compare(task: Task, methods: tuple[str, ...]) -> list[Row]:
    """All the methods on the same work, one row each."""
    rows: list[Row] = []
    best = task.optimum
    longest = float(task.recordings.max())
    if "fixed" in methods:
        usual = [width for width in COMMON if width <= longest]
        rows += fixed(task, [best, *usual], [f"fixed {seconds(best)} (best)", *(f"fixed {seconds(w)}" for w in usual)])
    if "windows" in methods:
        rows += [made for per_cell in PER_CELL for made in windows(task, per_cell)]
    if "bisection" in methods:
        rows += bisection(task, best)
    if "change-point" in methods:
        rows.append(oracle(task, 2, method="change-point"))
    if "oracle" in methods:
        rows += [oracle(task, s) for s in OVERESTIMATION]
    return rows


def candidates(task: Task, methods: tuple[str, ...]) -> list[Row]:
    """Every way to work that can be chosen, over a range of lengths: what a budget or a target selects from."""
    rows: list[Row] = []
    useful = task.grid[task.grid >= task.optimum / 4]
    if "fixed" in methods:
        rows += fixed(task, useful)
    if "windows" in methods:
        for per_cell in PER_CELL:
            rows += windows(task, per_cell, useful[useful <= 12 * task.optimum][::4] / per_cell)
    if "bisection" in methods:
        rows += bisection(task, useful)
    return rows


def mark_frontier(rows: list[Row], *, better: str = "wrong_time") -> list[Row]:
    """The rows by cost, each told whether no cheaper one is at least as good."""
    sign = -1 if better != "wrong_time" else 1
    ordered = sorted(rows, key=lambda each: (each["cost"], sign * each[better]))
    best, marked = np.inf, []
    for each in ordered:
        ahead = sign * each[better] < best - 1e-12
        best = min(best, sign * each[better])
        marked.append({**each, "on_frontier": bool(ahead)})
    return marked
