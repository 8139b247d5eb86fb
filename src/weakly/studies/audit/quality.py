r"""How good weak labels are against strong ones, class by class, and what score a perfect model can reach on them.

A model is scored against the labels that there are. If these are weak, a model that finds every event exactly is marked
down wherever a label says present beside an event or absent on one, and the model that repeats the labels' errors is
not. The metrics are those of the field: segment-based and event-based F1 as sed_eval defines them, and shares of time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...base.results import METRICS, to_jsonable
from ...base.symbols import check
from ...engine.tally import Tally, meetings, of_segments
from ...model.intervals import Bools, EventArrays, Floats, Ints, clip, complement, merge
from .observations import Pairing, where

#: An answer that disagrees with less than this share of a segment is a matter of rounding.
_TOUCH = 1e-9


@dataclass(frozen=True)
class Quality:
    """Weak labels against strong annotations.

    ``table``: one row per class and one for all of them pooled (label "all"), with the words of every other result
    (overlap_accuracy, precision and recall of event time, event_recall, wrong_time in seconds per recording, and their
    standard errors) and counts: n_present (segments labelled present), n_phantom (of them, those without an event),
    n_overlapping (segments that meet an event), n_missed (of them, those labelled absent), n_tied, n_unsure (of them,
    those whose votes are split evenly, those where every answer is unsure), n_unlisted (segments that do not list the
    class), coverage (mean share of a present segment that events cover) and event_seconds (the same in seconds).
    ``event_recall`` is of the n_events that a segment was asked about; asked_share is their share of all events.
    ``insertion_rate`` and ``deletion_rate`` are P(labelled present | no event) and P(labelled absent | event) of the
    time that was asked about. ``missed`` and ``phantom`` list the segments, the worst first.
    """

    table: pd.DataFrame
    missed: pd.DataFrame
    phantom: pd.DataFrame
    unlisted: str

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        lists = {"scores": self.table, "missed": self.missed, "phantom": self.phantom}
        return {"unlisted": self.unlisted, **{name: to_jsonable(rows) for name, rows in lists.items()}}


def quality(pairing: Pairing, observed: Mapping[str, pd.DataFrame], *, unlisted: str) -> Quality:
    """The quality of weak labels, class by class, from what :meth:`Pairing.observed` gives for each.

    Several annotators' answers about one segment are first reduced to their majority; ties count as half a label.
    """
    parts: list[tuple[str, Tally, Floats, dict[str, float]]] = []
    missed, phantom = [], []
    for label, seen in observed.items():
        every = _reduced(seen)
        sure = every[every["present"].notna()].reset_index(drop=True)
        timelines = pairing.timelines(label)
        unsure = int((every["present"].isna() & (every["coverage"] > _TOUCH)).sum())
        if len(sure) == 0:
            continue
        present, tied = sure["present"] > 0.5, sure["present"] == 0.5
        meets = sure["coverage"] > _TOUCH
        count = {
            "n_queries": len(sure),
            "n_present": int(present.sum()),
            "n_phantom": int((present & ~meets).sum()),
            "n_overlapping": int(meets.sum()) + unsure,
            "n_missed": int((meets & ~present & ~tied).sum()),
            "n_tied": int((meets & tied).sum()),
            "n_unsure": unsure,
            "n_unlisted": int((~seen["listed"].to_numpy(bool)).sum()),
            "n_all_events": len(timelines.bounds),
            "coverage": float(sure.loc[present, "coverage"].sum()),
            "event_seconds": float((sure["coverage"] * (sure["offset"] - sure["onset"]))[present].sum()),
        }
        parts.append((label, _tally(timelines, sure), _found(timelines, sure), count))
        missed.append(sure[meets & ~present & ~tied])
        phantom.append(sure[present & ~meets])
    if parts:
        _, tallies, finds, counts = zip(*parts)
        summed = {name: sum(count[name] for count in counts) for name in counts[0]}
        parts.append(("all", reduce(add, tallies), np.sum(finds, axis=0), summed))
    rows = [{"label": label, **_row(tally, found, count)} for label, tally, found, count in parts]
    return Quality(pd.DataFrame(rows), _listed(missed), _listed(phantom), unlisted)


def _row(tally: Tally, found: Floats, count: dict[str, float]) -> dict[str, float]:
    metrics = tally.metrics()
    row = {f"{name}{end}": float(metrics[f"{name}{end}"].item()) for name in METRICS for end in ("", "_se")}
    row["event_recall"], row["event_recall_se"] = _share(found[found[:, 1] > 0])
    row["n_recordings"] = int(tally.n_recordings.item())
    row["n_events"] = int(found[:, 1].sum())
    row["n_queries"] = int(count["n_queries"])
    row["listened"] = float(tally.listened.item())
    event, tp, positive = (float(v.item()) for v in (tally.event_time, tally.tp, tally.positive_time))
    row["insertion_rate"] = _over(positive - tp, row["listened"] - event)
    row["deletion_rate"] = 1 - _over(tp, event)
    row |= count | {name: _over(count[name], count["n_present"]) for name in ("coverage", "event_seconds")}
    return {**row, "asked_share": _over(float(found[:, 1].sum()), count["n_all_events"])}


def _over(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")


def _share(found: Floats) -> tuple[float, float]:
    """The sum of the first column over that of the second, and its standard error over rows."""
    n, below = len(found), float(found[:, 1].sum())
    if below <= 0:
        return float("nan"), float("nan")
    share = float(found[:, 0].sum()) / below
    rest = float(((found[:, 0] - share * found[:, 1]) ** 2).sum())
    return share, float(np.sqrt(n / (n - 1) * rest) / below) if n > 1 else float("nan")


def _found(timelines: EventArrays, sure: pd.DataFrame) -> Floats:
    """Per recording the events that were found (a present segment meets them) and those asked about (any segment does).

    A tie finds an event with a chance of one half; segments are independent.
    """
    recording, segments = where(sure)
    segment, event, shared = meetings(timelines, recording, segments)
    touch = shared > _TOUCH * (segments[:, 1] - segments[:, 0])[segment]
    segment, event = segment[touch], event[touch]
    lost = np.ones(len(timelines.bounds))
    np.multiply.at(lost, event, 1 - sure["present"].to_numpy(np.float64)[segment])
    asked = np.zeros(len(lost))
    asked[event] = 1.0
    owner, n = timelines.owner, len(timelines)
    columns = [np.bincount(owner, weights=w, minlength=n) for w in ((1 - lost) * asked, asked)]
    return np.column_stack(columns).astype(np.float64)


def _reduced(seen: pd.DataFrame) -> pd.DataFrame:
    """One row per segment: the majority of its answers, one half for a tie, NaN where all are unsure."""
    key = ["recording", "onset", "offset"]
    if not seen.duplicated(key).any():
        return seen.reset_index(drop=True)
    how = {"label": "first", "place": "first", "present": "mean", "event_fraction": "first", "coverage": "first"}
    reduced = seen.groupby(key, sort=False).agg(how).reset_index()
    share = reduced["present"].to_numpy(np.float64)
    reduced["present"] = np.where((share == 0.5) | np.isnan(share), share, (share > 0.5).astype(np.float64))
    return reduced


def _tally(timelines: EventArrays, sure: pd.DataFrame) -> Tally:
    """The sums over the recordings that somebody was asked about.

    Events count as far as a segment was asked about them: time that nobody was asked about is nobody's error. Segments
    that overlap become present time and the rest: an instant is present if any segment over it is.
    """
    places, bounds = where(sure)
    order = np.lexsort((bounds[:, 0], places))
    known, recording = np.unique(places[order], return_inverse=True)
    bounds, present, lengths = bounds[order], sure["present"].to_numpy(np.float64)[order], timelines.lengths[known]
    asked = EventArrays.of_rows(recording, bounds[:, 0], bounds[:, 1], lengths)
    cut, event, _ = meetings(timelines, known[asked.owner], asked.bounds)
    inside = np.clip(timelines.bounds[event], asked.bounds[cut, :1], asked.bounds[cut, 1:])
    events = EventArrays.of_rows(asked.owner[cut], inside[:, 0], inside[:, 1], lengths)
    clash = (recording[1:] == recording[:-1]) & (bounds[1:, 0] < bounds[:-1, 1] - 1e-9)
    first = np.searchsorted(recording, np.arange(len(known) + 1))
    apart = ~np.isin(recording, recording[1:][clash])
    pieces = [(recording[apart], bounds[apart], present[apart])]
    for r in np.unique(recording[1:][clash]):
        rows = slice(first[r], first[r + 1])
        yes = merge(bounds[rows][present[rows] > 0.5])
        for start, end in asked.bounds[asked.starts[r] : asked.starts[r + 1]]:
            for cuts, label in ((clip(yes, start, end), 1.0), (complement(yes, start, end), 0.0)):
                pieces.append((np.full(len(cuts), r), cuts, np.full(len(cuts), label)))
    return of_segments(events, *(np.concatenate(columns) for columns in zip(*pieces)))


def _listed(parts: list[pd.DataFrame]) -> pd.DataFrame:
    columns = ["recording", "onset", "offset", "label", "coverage", "event_fraction"]
    table = pd.concat([rows[columns] for rows in parts], ignore_index=True) if parts else pd.DataFrame(columns=columns)
    seconds = table["coverage"].astype(np.float64) * (table["offset"] - table["onset"]).astype(np.float64)
    table = table.assign(event_seconds=seconds, segment_length=table["offset"] - table["onset"])
    return table.sort_values(["event_seconds", "segment_length"], ascending=False, kind="stable", ignore_index=True)


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


def segment_counts(reference: EventArrays, predicted: EventArrays, *, resolution: float) -> ConfusionCounts:
    """Segment-based counts of one class, as sed_eval makes them.

    A segment of ``resolution`` seconds is active if an event touches it.

    >>> reference, predicted = EventArrays.of([[(0.0, 2.0)]], 2.0), EventArrays.of([[(0.5, 0.9)]], 2.0)
    >>> segment_counts(reference, predicted, resolution=1.0)
    ConfusionCounts(tp=1.0, fp=0.0, fn=1.0, tn=0.0)
    """
    width = float(check("segment_length", resolution, called="resolution"))
    n = np.ceil(reference.lengths * 1 / width).astype(np.int64)
    some = np.where(reference.counts + predicted.counts > 0, n, 0)  # of a rare class most recordings hold no event
    truth, guess = (_roll(lines, width, some) for lines in (reference, predicted))
    both = float((truth & guess).sum())
    neither = float(n.sum() - (truth | guess).sum())
    return ConfusionCounts(both, float(guess.sum()) - both, float(truth.sum()) - both, neither)


def _roll(lines: EventArrays, width: float, n: Ints) -> Bools:
    """Which of the n segments of each recording an event touches, by floor and ceiling, rounding errors included: as
    sed_eval does."""
    behind, owner = np.cumsum(n + 1), lines.owner  # one place behind each recording, where what lasts to its end stops
    times = lines.bounds * 1 / width
    first = np.clip(np.floor(times[:, 0]).astype(np.int64), 0, n[owner])
    last = np.clip(np.ceil(times[:, 1]).astype(np.int64), 0, n[owner])
    begin, places = (behind - n - 1)[owner], int((n + 1).sum())
    change = np.bincount(begin + first, minlength=places) - np.bincount(begin + last, minlength=places)
    return np.delete(np.cumsum(change) > 0, behind - 1)


def event_counts(
    reference: EventArrays, predicted: EventArrays, *, collar: float = 0.2, share_of_length: float = 0.2
) -> ConfusionCounts:
    """Event-based counts of one class: events match if onset and offset lie within a collar; as many pairs as can be.

    The offset may be off by a share of the reference event's length if that is more than the collar. sed_eval's optimal
    matching (there the share is 0.5 unless told; DCASE asks for 0.2). There are no true absents.

    >>> counts = event_counts(EventArrays.of([[(0.0, 2.0)]], 3.0), EventArrays.of([[(0.1, 2.1)]], 3.0))
    >>> counts.tp, counts.f1
    (1.0, 1.0)
    """
    limit = float(check("segment_length", collar, called="collar"))
    share = float(check("recall", share_of_length, called="share_of_length"))
    near = reference.bounds[:, :1] + np.array([-limit, limit]) * (1 + 1e-9)
    row, column, _ = meetings(predicted, reference.owner, near)
    ours, theirs = reference.bounds[row], predicted.bounds[column]
    most = np.maximum(limit, share * (ours[:, 1] - ours[:, 0]))
    good = (np.abs(ours[:, 0] - theirs[:, 0]) <= limit) & (np.abs(ours[:, 1] - theirs[:, 1]) <= most)
    row, column = row[good].astype(np.int32), column[good].astype(np.int32)  # what the matching of older scipy takes
    pairs, shape = len(row), (len(reference.bounds), len(predicted.bounds))
    if not pairs == len(np.unique(row)) == len(np.unique(column)):  # some compete
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_bipartite_matching

        graph = csr_array((np.ones(pairs), (row, column)), shape=shape)
        pairs = int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())
    return ConfusionCounts(float(pairs), float(shape[1] - pairs), float(shape[0] - pairs), math.nan)


def time_counts(reference: EventArrays, predicted: EventArrays) -> ConfusionCounts:
    """Seconds of agreement of one class: the segment-based counts as the resolution goes to zero.

    >>> time_counts(EventArrays.of([[(0.0, 2.0)]], 10.0), EventArrays.of([[(1.0, 4.0)]], 10.0))
    ConfusionCounts(tp=1.0, fp=2.0, fn=1.0, tn=6.0)
    """
    both = float(meetings(reference, predicted.owner, predicted.bounds)[2].sum())
    truth, guess = (float((lines.bounds[:, 1] - lines.bounds[:, 0]).sum()) for lines in (reference, predicted))
    return ConfusionCounts(both, guess - both, truth - both, float(reference.lengths.sum()) - truth - guess + both)


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

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {"collar": self.collar, "share_of_length": self.share_of_length, "scores": to_jsonable(self.table)}

    def score(self, metric: str, *, label: str = "all", model: str = "perfect") -> float:
        """One number of the table."""
        rows = self.table[(self.table["metric"] == metric) & (self.table["label"] == label)]
        if rows.empty:
            raise InvalidInput(f"metric must be one of {', '.join(self.table['metric'].unique())}, got {metric!r}")
        return float(rows[model].iloc[0])


def ceiling(
    truth: Mapping[str, EventArrays],
    labels: Mapping[str, EventArrays],
    *,
    resolutions: Sequence[float] = (1.0,),
    collar: float = 0.2,
    share_of_length: float = 0.2,
) -> Ceiling:
    """The best scores that weak labels (as events, by class) allow; ``resolutions`` are those of segment-based F1.

    >>> truth, labels = ({"dog": EventArrays.of([[event]], 10.0)} for event in ((1.0, 2.0), (0.0, 10.0)))
    >>> best = ceiling(truth, labels)
    >>> round(best.score("segment_f1_1s"), 4), best.score("event_f1"), best.score("accuracy")
    (0.1818, 0.0, 0.1)
    """
    events = partial(event_counts, collar=collar, share_of_length=share_of_length)
    counters: dict[str, Any] = {f"segment_f1_{w:g}s": partial(segment_counts, resolution=w) for w in resolutions}
    counters |= {"event_f1": events, "time_f1": time_counts}
    rows: list[tuple[Any, ...]] = []
    for metric, count in counters.items():
        sides = {name: (labels[name], truth[name]) for name in sorted(truth)}
        seen = {name: [count(weak, true), count(true, weak)] for name, (weak, true) in sides.items()}
        rows += _rows(metric, "f1", seen)
        rows += _rows("accuracy", "accuracy", seen) if metric == "time_f1" else []
    table = pd.DataFrame(rows, columns=["label", "metric", "perfect", "mimic", "mimic_true"])
    return Ceiling(table, collar, share_of_length)


def _rows(metric: str, attribute: str, seen: dict[str, list[ConfusionCounts]]) -> list[tuple[Any, ...]]:
    """Label, metric, perfect, mimic (whoever repeats the labels is always right about them) and mimic_true."""
    if not seen:
        return []
    pooled = [sum((counts[k] for counts in seen.values()), ConfusionCounts()) for k in (0, 1)]
    scores = {name: [getattr(each, attribute) for each in counts] for name, counts in {**seen, "all": pooled}.items()}
    table = np.array(list(scores.values()), dtype=np.float64)[:-1]
    known = ~np.isnan(table)
    scores["mean"] = np.where(known, table, 0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    return [(name, metric, float(perfect), 1.0, float(true)) for name, (perfect, true) in scores.items()]
