"""How good weak labels are against strong ones, and what the strong ones hold, class by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base.results import METRICS, plain
from ...engine.tally import BASE, RAW, Tally, of_labels
from ...model.event_arrays import EventArrays
from ...model.events import Events
from ...model.intervals import complement, intersect, merge
from ...posterior.criterion import CriterionEstimate, unknown
from .observations import Pairing, meetings
from .shares import paper_recipe_criterion

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

    def to_frame(self) -> pd.DataFrame:
        """One row per class, and one for all."""
        return self.table.copy()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "unlisted": self.unlisted,
            "scores": plain(self.table),
            "missed": plain(self.missed),
            "phantom": plain(self.phantom),
        }


def quality(
    pairing: Pairing, *, unlisted: str, labels: list[str] | None = None, observed: dict[str, Any] | None = None
) -> Quality:
    """The quality of weak labels, class by class.

    Parameters
    ----------
    unlisted : ``absent``: a segment that does not mention a class is absent; ``unknown``: it is left out.
    labels : the classes to score; left out, those that either side knows.
    observed : what :meth:`Pairing.observed` gave for each class, if it is at hand.

    Notes
    -----
    Several annotators' answers about one segment are first reduced to their majority; ties count as half a label.
    """
    rows, missed, phantom, total = [], [], [], None
    counts: list[dict[str, float]] = []
    finds: list[NDArray[np.float64]] = []
    for label in pairing.labels if labels is None else labels:
        seen = pairing.observed(label, unlisted=unlisted) if observed is None else observed[label]
        every = _reduced(seen)
        one = every[every["present"].notna()].reset_index(drop=True)
        timelines = pairing.timelines(label)
        unsure = int((every["present"].isna() & (every["coverage"] > _TOUCH)).sum())
        if len(one) == 0:
            continue
        found, tally = _found(pairing, timelines, one), _tally(pairing, timelines, one)
        finds.append(found)
        total = tally if total is None else total + tally
        present, tied = one["present"] > 0.5, one["present"] == 0.5
        meets = one["coverage"] > _TOUCH
        count = {
            "n_present": int(present.sum()),
            "n_phantom": int((present & ~meets).sum()),
            "n_overlapping": int(meets.sum()) + unsure,
            "n_missed": int((meets & ~present & ~tied).sum()),
            "n_tied": int((meets & tied).sum()),
            "n_unsure": unsure,
            "n_unlisted": int((~seen["listed"].to_numpy(bool)).sum()),
            "n_all_events": len(timelines.bounds),
            "coverage": float(one.loc[present, "coverage"].sum()),
            "event_seconds": float((one["coverage"] * (one["offset"] - one["onset"]))[present].sum()),
        }
        counts.append(count)
        rows.append({"label": label, **_row(tally, found), **_counted(count, found)})
        missed.append(one[meets & ~present & ~tied])
        phantom.append(one[present & ~meets])
    if total is not None:
        summed = {name: sum(count[name] for count in counts) for name in counts[0]}
        found = np.sum(finds, axis=0)
        rows.append({"label": "all", **_row(total, found), **_counted(summed, found)})
    return Quality(pd.DataFrame(rows), _listed(missed), _listed(phantom), unlisted)


def _counted(count: dict[str, float], found: NDArray[np.float64]) -> dict[str, float]:
    said, events = count["n_present"], count["n_all_events"]
    means = {name: count[name] / said if said else float("nan") for name in ("coverage", "event_seconds")}
    return {**count, **means, "asked_share": float(found[:, 1].sum()) / events if events else float("nan")}


def _row(tally: Tally, found: NDArray[np.float64]) -> dict[str, float]:
    metrics = tally.metrics()
    row: dict[str, float] = {}
    for name in METRICS:
        row[name] = float(metrics[name].item())
        row[f"{name}_se"] = float(metrics[f"{name}_se"].item())
    row["event_recall"], row["event_recall_se"] = _share(found[found[:, 1] > 0])
    row["n_recordings"] = int(tally.n_recordings.item())
    row["n_events"] = int(found[:, 1].sum())
    row["n_queries"] = int(tally.n_segments.item())
    row["listened"] = float(tally.listened.item())
    event, tp, said = (float(v.item()) for v in (tally.event_time, tally.tp, tally.said_time))
    quiet = row["listened"] - event
    row["insertion_rate"] = (said - tp) / quiet if quiet > 0 else float("nan")
    row["deletion_rate"] = 1 - tp / event if event > 0 else float("nan")
    return row


def _share(found: NDArray[np.float64]) -> tuple[float, float]:
    """The sum of the first column over that of the second, and its standard error over rows."""
    n, below = len(found), float(found[:, 1].sum())
    if below <= 0:
        return float("nan"), float("nan")
    share = float(found[:, 0].sum()) / below
    rest = float(((found[:, 0] - share * found[:, 1]) ** 2).sum())
    return share, float(np.sqrt(n / (n - 1) * rest) / below) if n > 1 else float("nan")


def _found(pairing: Pairing, timelines: EventArrays, one: pd.DataFrame) -> NDArray[np.float64]:
    """Per recording the events that were found (a present segment meets them) and those asked about (any segment does).

    A tie finds an event with a chance of one half; segments are independent.
    """
    recording = pairing.code.reindex(one["recording"]).to_numpy().astype(np.int64)
    onset, offset = one["onset"].to_numpy(np.float64), one["offset"].to_numpy(np.float64)
    segment, event, shared = meetings(timelines, recording, onset, offset)
    touch = shared > _TOUCH * (offset - onset)[segment]
    segment, event = segment[touch], event[touch]
    lost = np.ones(len(timelines.bounds))
    np.multiply.at(lost, event, 1 - one["present"].to_numpy(np.float64)[segment])
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
    how = {"label": "first", "present": "mean", "event_fraction": "first", "coverage": "first"}
    one = seen.groupby(key, sort=False).agg(how).reset_index()
    share = one["present"].to_numpy(np.float64)
    one["present"] = np.where((share == 0.5) | np.isnan(share), share, (share > 0.5).astype(np.float64))
    return one


def _tally(pairing: Pairing, timelines: EventArrays, one: pd.DataFrame) -> Tally:
    """Recordings with an event or a present label are scored one by one; the silent rest only counts.

    Events count as far as a segment was asked about them: time that nobody was asked about is nobody's error.
    """
    recording = pairing.code.reindex(one["recording"]).to_numpy().astype(np.int64)
    order = np.lexsort((one["onset"].to_numpy(), recording))
    recording = recording[order]
    bounds = one[["onset", "offset"]].to_numpy(np.float64)[order]
    present = one["present"].to_numpy(np.float64)[order]
    first = np.searchsorted(recording, np.arange(len(timelines) + 1))
    said = np.bincount(recording, weights=present, minlength=len(timelines)) > 0
    asked = np.diff(first) > 0
    busy = asked & (said | (timelines.counts > 0))
    chosen = np.flatnonzero(busy)
    scored = [_disjoint(bounds[first[r] : first[r + 1]], present[first[r] : first[r + 1]]) for r in chosen]
    starts = timelines.starts
    heard = [
        intersect(timelines.bounds[starts[r] : starts[r + 1]], merge(cuts)) for r, (cuts, _) in zip(chosen, scored)
    ]
    part = EventArrays(
        np.concatenate([*heard, np.empty((0, 2))]),
        np.concatenate(([0], np.cumsum([len(rows) for rows in heard]))).astype(np.int64),
        timelines.lengths[chosen],
    )
    result = of_labels(part, [cuts for cuts, _ in scored], [labels for _, labels in scored])
    quiet = np.flatnonzero(asked & ~busy)
    if len(quiet):
        base = np.zeros((len(quiet), len(BASE)))
        base[:, BASE.index("n_recordings")] = 1
        base[:, BASE.index("time")] = timelines.lengths[quiet]
        base[:, BASE.index("n_segments")] = np.diff(first)[quiet]
        width = np.bincount(recording, weights=bounds[:, 1] - bounds[:, 0], minlength=len(timelines))
        base[:, BASE.index("listened")] = width[quiet]
        result.fold(0, np.zeros((len(quiet), 1, len(RAW))), base)
    return result


def _disjoint(
    bounds: NDArray[np.float64], present: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Segments that overlap become present time and the rest: an instant is present if any segment over it is."""
    if len(bounds) < 2 or (bounds[1:, 0] >= bounds[:-1, 1] - 1e-9).all():
        bounds = bounds.copy()
        bounds[1:, 0] = np.maximum(bounds[1:, 0], bounds[:-1, 1])
        return bounds, present
    yes = merge(bounds[present > 0.5])
    heard = merge(bounds)
    pieces, labels = [], []
    for start, end in heard:
        inside = yes[(yes[:, 0] >= start) & (yes[:, 1] <= end)]
        gaps = complement(inside, start, end)
        pieces += [inside, gaps]
        labels += [np.ones(len(inside)), np.zeros(len(gaps))]
    return np.concatenate(pieces), np.concatenate(labels)


def _listed(parts: list[pd.DataFrame]) -> pd.DataFrame:
    columns = ["recording", "onset", "offset", "label", "coverage", "event_fraction"]
    table = pd.concat([part[columns] for part in parts], ignore_index=True) if parts else pd.DataFrame(columns=columns)
    seconds = table["coverage"].astype(np.float64) * (table["offset"] - table["onset"]).astype(np.float64)
    table = table.assign(event_seconds=seconds, segment_length=table["offset"] - table["onset"])
    return table.sort_values(["event_seconds", "segment_length"], ascending=False, kind="stable", ignore_index=True)


def clip_length(events: Events) -> float:
    """The one length that all recordings share, or NaN.

    >>> clip_length(Events.from_frame(pd.DataFrame({"onset": [0.0], "offset": [1.0]}), recording_length=10.0))
    10.0
    """
    lengths = events.recordings["length"].to_numpy(np.float64)
    same = len(lengths) > 0 and not np.isnan(lengths).any() and np.ptp(lengths) <= 1e-6 * lengths[0]
    return float(lengths[0]) if same else float("nan")


def summary(events: Events, *, labels: list[str] | None = None) -> pd.DataFrame:
    """One row per class: events, recordings that hold it, lengths, and the share of such a recording that they cover.

    ``length_share`` is the mean of event length over recording length, ``coverage`` the mean share of a recording that
    the union of its events covers. They differ as soon as a recording holds several events.
    """
    extents = events.extents
    rows = []
    for label in events.labels if labels is None else labels:
        part = events.select(label)
        frame = part.to_frame()
        length = part.lengths
        whole = extents.reindex(frame["recording"]).to_numpy(np.float64)
        timelines = events.timelines(label)
        covered = np.diff(
            np.concatenate(([0.0], np.cumsum(timelines.bounds[:, 1] - timelines.bounds[:, 0])))[timelines.starts]
        )
        held = timelines.counts > 0
        rows.append(
            {
                "label": label,
                "n_events": len(length),
                "n_recordings": int(frame["recording"].nunique()),
                "mean_length": float(length.mean()),
                "median_length": float(np.median(length)),
                "length_share": float((length / whole).mean()),
                "coverage": float((covered[held] / timelines.lengths[held]).mean()) if held.any() else float("nan"),
            }
        )
    columns = ("label", "n_events", "n_recordings", "mean_length", "median_length", "length_share", "coverage")
    return pd.DataFrame(rows, columns=list(columns))


def recipe(events: Events, label: str, *, n_boot: int = 500, rng: Any = None) -> CriterionEstimate:
    """The paper's recipe for one class of clips that all have one length; bootstrapped over clips."""
    clip = clip_length(events)
    if np.isnan(clip):
        return unknown("the recordings have no one length", method="paper recipe", n=0)
    part = events.select(label)
    lengths = np.minimum(part.lengths, clip)
    names = part.to_frame()["recording"]
    return paper_recipe_criterion(lengths, segment_length=clip, recordings=names, n_boot=n_boot, rng=rng)
