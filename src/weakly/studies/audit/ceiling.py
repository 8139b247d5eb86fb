r"""What score a perfect model can reach on weak labels, and what the model that copies their errors reaches.

A model is scored against the labels that there are. If these are weak, a model that finds every event exactly is marked
down wherever a label says present beside an event or absent on one, and the model that repeats the labels' errors is
not. The metrics are those of the field: segment-based and event-based F1 as sed_eval defines them, and shares of time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base.errors import InvalidInput
from ...base.results import to_jsonable
from ...base.symbols import check

#: Events of one recording and class as an (n, 2) array; recordings by name.
Marks = Mapping[str, NDArray[np.float64]]

_EMPTY = np.empty((0, 2))


@dataclass(frozen=True)
class ConfusionCounts:
    """How often prediction and reference agree: true and false presents, misses, true absents (NaN for events)."""

    tp: float = 0.0
    fp: float = 0.0
    fn: float = 0.0
    tn: float = 0.0

    def __add__(self, other: ConfusionCounts) -> ConfusionCounts:
        return ConfusionCounts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn)

    @property
    def f1(self) -> float:
        """2 tp / (2 tp + fp + fn); NaN where there is nothing to find and nothing was predicted."""
        below = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / below if below > 0 else math.nan

    @property
    def accuracy(self) -> float:
        """(tp + tn) / all."""
        below = self.tp + self.fp + self.fn + self.tn
        return (self.tp + self.tn) / below if below > 0 else math.nan


def segment_counts(
    reference: Marks, predicted: Marks, *, resolution: float, recording_length: Mapping[str, float] | None = None
) -> ConfusionCounts:
    """Segment-based counts of one class, as sed_eval makes them.

    A segment of ``resolution`` seconds is active if an event touches it. Recordings end at ``recording_length``, or at
    the last offset in either list.

    Examples
    --------
    >>> segment_counts({"a": np.array([[0.0, 2.0]])}, {"a": np.array([[0.5, 0.9]])}, resolution=1.0)
    ConfusionCounts(tp=1.0, fp=0.0, fn=1.0, tn=0.0)
    """
    width = float(check("segment_length", resolution, called="resolution"))
    lengths = recording_length or {}
    marked = {name for marks in (reference, predicted) for name, rows in marks.items() if len(rows)}
    silent = sum(math.ceil(length * 1 / width) for name, length in lengths.items() if name not in marked)
    total = ConfusionCounts(tn=float(silent))
    for name in marked:
        ours, theirs = reference.get(name, _EMPTY), predicted.get(name, _EMPTY)
        known = lengths.get(name)
        last = max((float(m[:, 1].max()) for m in (ours, theirs) if len(m)), default=0.0)
        n = math.ceil((last if known is None else known) * 1 / width)
        truth, guess = _roll(ours, width, n), _roll(theirs, width, n)
        both = float((truth & guess).sum())
        total += ConfusionCounts(
            both, float(guess.sum()) - both, float(truth.sum()) - both, float((~(truth | guess)).sum())
        )
    return total


def _roll(marks: NDArray[np.float64], width: float, n: int) -> NDArray[np.bool_]:
    """Which of n segments an event touches, by floor and ceiling, rounding errors included: as sed_eval does."""
    first = np.clip(np.floor(marks[:, 0] * 1 / width).astype(np.int64), 0, n)
    last = np.clip(np.ceil(marks[:, 1] * 1 / width).astype(np.int64), 0, n)
    change = np.bincount(first, minlength=n + 1) - np.bincount(last, minlength=n + 1)
    return np.cumsum(change)[:n] > 0


def event_counts(
    reference: Marks, predicted: Marks, *, collar: float = 0.2, share_of_length: float = 0.2, offset: bool = True
) -> ConfusionCounts:
    """Event-based counts of one class: events match if onset and offset lie within a collar; as many pairs as can be.

    Parameters
    ----------
    collar : seconds, > 0.
    share_of_length : the offset may be off by this share of the reference event if that is more than the collar.
    offset : whether offsets must match too.

    Notes
    -----
    sed_eval's optimal matching (there the share is 0.5 unless told; DCASE asks for 0.2). There are no true absents.

    Examples
    --------
    >>> counts = event_counts({"a": np.array([[0.0, 2.0]])}, {"a": np.array([[0.1, 2.1]])})
    >>> counts.tp, counts.f1
    (1.0, 1.0)
    """
    limit = float(check("segment_length", collar, called="collar"))
    share = float(check("recall", share_of_length, called="share_of_length"))
    total = ConfusionCounts()
    for name in dict.fromkeys((*reference, *predicted)):
        ours, theirs = reference.get(name, _EMPTY), predicted.get(name, _EMPTY)
        found = _matching(ours, theirs, limit, share, offset) if len(ours) and len(theirs) else 0
        total += ConfusionCounts(found, len(theirs) - found, len(ours) - found, math.nan)
    return total


def _matching(ours: NDArray[np.float64], theirs: NDArray[np.float64], collar: float, share: float, offset: bool) -> int:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    order = np.argsort(theirs[:, 0], kind="stable")
    theirs = theirs[order]
    low = np.searchsorted(theirs[:, 0], ours[:, 0] - collar * (1 + 1e-9))
    high = np.searchsorted(theirs[:, 0], ours[:, 0] + collar * (1 + 1e-9), side="right")
    row = np.repeat(np.arange(len(ours)), high - low)
    column = np.concatenate([np.arange(a, b) for a, b in zip(low, high)]) if len(row) else np.empty(0, np.int64)
    good = np.abs(ours[row, 0] - theirs[column, 0]) <= collar
    if offset:
        most = np.maximum(collar, share * (ours[row, 1] - ours[row, 0]))
        good &= np.abs(ours[row, 1] - theirs[column, 1]) <= most
    row, column = row[good], column[good]
    if len(np.unique(row)) == len(row) == len(np.unique(column)):  # nobody competes
        return len(row)
    row, column = row.astype(np.int32), column.astype(np.int32)  # what the matching of older scipy takes
    graph = csr_array((np.ones(len(row)), (row, column)), shape=(len(ours), len(theirs)))
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


def time_counts(reference: Marks, predicted: Marks, *, recording_length: Mapping[str, float]) -> ConfusionCounts:
    """Seconds of agreement of one class: the segment-based counts as the resolution goes to zero.

    Examples
    --------
    >>> time_counts({"a": np.array([[0.0, 2.0]])}, {"a": np.array([[1.0, 4.0]])}, recording_length={"a": 10.0})
    ConfusionCounts(tp=1.0, fp=2.0, fn=1.0, tn=6.0)
    """
    from ...model.intervals import clip, covered, merge

    marked = {name for marks in (reference, predicted) for name, rows in marks.items() if len(rows)}
    total = ConfusionCounts(tn=float(sum(length for name, length in recording_length.items() if name not in marked)))
    for name in sorted(marked & recording_length.keys()):  # sums in one order, on every run
        length = recording_length[name]
        ours = merge(clip(reference.get(name, _EMPTY), 0.0, length))
        theirs = merge(clip(predicted.get(name, _EMPTY), 0.0, length))
        truth, guess = float((ours[:, 1] - ours[:, 0]).sum()), float((theirs[:, 1] - theirs[:, 0]).sum())
        both = float((covered(ours, theirs[:, 1]) - covered(ours, theirs[:, 0])).sum()) if len(theirs) else 0.0
        total += ConfusionCounts(both, guess - both, truth - both, length - truth - guess + both)
    return total


@dataclass(frozen=True)
class Ceiling:
    """The scores of the perfect model, which predicts the true events, and of the mimic, which predicts the labels.

    ``table`` has one row per class and metric, with ``perfect``: the perfect model scored against the weak labels (what
    a leaderboard on these labels would show); ``mimic``: the mimic scored against them (1 by definition);
    ``mimic_true``: the mimic scored against the true events. The class "all" pools every class (micro average), "mean"
    is the mean over classes (macro average).
    """

    table: pd.DataFrame
    collar: float
    share_of_length: float

    def to_frame(self) -> pd.DataFrame:
        """One row per class and metric."""
        return self.table.copy()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {"collar": self.collar, "share_of_length": self.share_of_length, "scores": to_jsonable(self.table)}

    def score(self, metric: str, *, label: str = "all", model: str = "perfect") -> float:
        """One number of the table."""
        found = self.table[(self.table["metric"] == metric) & (self.table["label"] == label)]
        if found.empty:
            raise InvalidInput(f"metric must be one of {', '.join(self.table['metric'].unique())}, got {metric!r}")
        return float(found[model].iloc[0])


def ceiling(
    truth: Mapping[str, Marks],
    labels: Mapping[str, Marks],
    *,
    recording_length: Mapping[str, float],
    resolutions: Sequence[float] = (1.0,),
    collar: float = 0.2,
    share_of_length: float = 0.2,
) -> Ceiling:
    """The best scores that weak labels allow.

    Parameters
    ----------
    truth, labels : the true events and the weak labels as events, by class and recording.
    recording_length : seconds of every recording that is scored.
    resolutions : segment lengths of the segment-based F1, in seconds.
    collar, share_of_length : of the event-based F1.

    Examples
    --------
    >>> truth = {"dog": {"a": np.array([[1.0, 2.0]])}}
    >>> labels = {"dog": {"a": np.array([[0.0, 10.0]])}}
    >>> best = ceiling(truth, labels, recording_length={"a": 10.0})
    >>> round(best.score("segment_f1_1s"), 4), best.score("event_f1"), best.score("accuracy")
    (0.1818, 0.0, 0.1)
    """
    metrics: dict[str, Any] = {
        f"segment_f1_{width:g}s": lambda a, b, w=width: segment_counts(
            a, b, resolution=w, recording_length=recording_length
        )
        for width in resolutions
    }
    metrics["event_f1"] = lambda a, b: event_counts(a, b, collar=collar, share_of_length=share_of_length)
    metrics["time_f1"] = lambda a, b: time_counts(a, b, recording_length=recording_length)
    rows = []
    names = sorted({*truth, *labels})
    for metric, count in metrics.items():
        seen: list[tuple[str, ConfusionCounts, ConfusionCounts]] = []
        for name in names:
            true, weak = truth.get(name, {}), labels.get(name, {})
            found = count(weak, true)
            # Only the collar of an event's offset knows which side is the reference.
            turned = (
                count(true, weak) if metric == "event_f1" else ConfusionCounts(found.tp, found.fn, found.fp, found.tn)
            )
            seen.append((name, found, turned))
        rows += _rows(metric, "f1", seen)
        if metric == "time_f1":
            rows += _rows("accuracy", "accuracy", seen)
    return Ceiling(
        pd.DataFrame(rows, columns=["label", "metric", "perfect", "mimic", "mimic_true"]), collar, share_of_length
    )


def _rows(
    metric: str, attribute: str, seen: list[tuple[str, ConfusionCounts, ConfusionCounts]]
) -> list[dict[str, Any]]:
    rows = []
    for name, *counts in seen:
        rows.append({"label": name, "metric": metric, **_named(getattr(c, attribute) for c in counts)})
    if seen:
        pooled = [sum((counts[k] for _, *counts in seen), ConfusionCounts()) for k in (0, 1)]
        rows.append({"label": "all", "metric": metric, **_named(getattr(c, attribute) for c in pooled)})
        scores = np.array([[getattr(c, attribute) for c in counts] for _, *counts in seen], dtype=np.float64)
        known = ~np.isnan(scores)
        mean = np.where(known, scores, 0).sum(axis=0) / np.where(known.sum(axis=0) > 0, known.sum(axis=0), np.nan)
        rows.append({"label": "mean", "metric": metric, **_named(mean)})
    return rows


def _named(values: Iterable[float]) -> dict[str, float]:
    perfect, true = (float(value) for value in values)
    # Whoever repeats the labels is always right about them.
    return {"perfect": perfect, "mimic": 1.0, "mimic_true": true}
