"""How good weak labels are against strong ones: time and events per class, labels missed, labels without an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..events import Timelines
from ..intervals import complement, merge
from ..results import METRICS, plain
from ..tally import BASE, RAW, Tally, of_labels
from .observations import Pairing

#: An answer that disagrees with less than this share of a segment is a matter of rounding.
_TOUCH = 1e-9


@dataclass(frozen=True)
class Quality:
    """Weak labels against strong annotations.

    ``table``: one row per class and one for all of them pooled (label "all"), with the words of every other result
    (overlap_accuracy, precision and recall of event time, event_recall, wrong_time in seconds per recording, and their
    standard errors) and counts: n_present (segments labelled present), n_phantom (of them, those without an event),
    n_overlapping (segments that meet an event), n_missed (of them, those not labelled present), coverage (mean share of
    a present segment that events cover) and event_seconds (the same in seconds). ``missed`` and ``phantom`` list the
    segments, the worst first.
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
    for label in pairing.labels if labels is None else labels:
        seen = pairing.observed(label, unlisted=unlisted) if observed is None else observed[label]
        seen = seen[seen["present"].notna()]
        if len(seen) == 0:
            continue
        one = _reduced(seen)
        tally = _tally(pairing, label, one)
        total = tally if total is None else total + tally
        present = one["present"] > 0.5
        meets = one["coverage"] > _TOUCH
        count = {
            "n_present": int(present.sum()),
            "n_phantom": int((present & ~meets).sum()),
            "n_overlapping": int(meets.sum()),
            "n_missed": int((meets & ~present).sum()),
            "coverage": float(one.loc[present, "coverage"].sum()),
            "event_seconds": float((one["coverage"] * (one["offset"] - one["onset"]))[present].sum()),
        }
        counts.append(count)
        rows.append({"label": label, **_row(tally), **_counted(count)})
        missed.append(one[meets & ~present])
        phantom.append(one[present & ~meets])
    if total is not None:
        summed = {name: sum(count[name] for count in counts) for name in counts[0]}
        rows.append({"label": "all", **_row(total), **_counted(summed)})
    return Quality(pd.DataFrame(rows), _listed(missed), _listed(phantom), unlisted)


def _counted(count: dict[str, float]) -> dict[str, float]:
    said = count["n_present"]
    means = {name: count[name] / said if said else float("nan") for name in ("coverage", "event_seconds")}
    return {**count, **means}


def _row(tally: Tally) -> dict[str, float]:
    found = tally.metrics()
    row: dict[str, float] = {}
    for name in METRICS:
        row[name] = float(found[name].item())
        row[f"{name}_se"] = float(found[f"{name}_se"].item())
    row["n_recordings"] = int(tally.n_recordings.item())
    row["n_events"] = int(tally.n_events.item())
    row["n_queries"] = int(tally.n_segments.item())
    row["listened"] = float(tally.listened.item())
    return row


def _reduced(seen: pd.DataFrame) -> pd.DataFrame:
    """One row per segment: the majority of its answers, one half for a tie."""
    key = ["recording", "onset", "offset"]
    if not seen.duplicated(key).any():
        return seen.reset_index(drop=True)
    how = {"label": "first", "present": "mean", "event_fraction": "first", "coverage": "first"}
    one = seen.groupby(key, sort=False).agg(how).reset_index()
    one["present"] = np.where(one["present"] == 0.5, 0.5, (one["present"] > 0.5).astype(np.float64))
    return one


def _tally(pairing: Pairing, label: str, one: pd.DataFrame) -> Tally:
    """Recordings with an event or a present label are scored one by one; the silent rest only counts."""
    timelines = pairing.timelines(label)
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
    result = of_labels(_subset(timelines, chosen), [cuts for cuts, _ in scored], [labels for _, labels in scored])
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


def _subset(timelines: Timelines, chosen: NDArray[np.int64]) -> Timelines:
    count = timelines.counts[chosen]
    starts = np.concatenate(([0], np.cumsum(count))).astype(np.int64)
    at = np.repeat(timelines.starts[chosen] - starts[:-1], count) + np.arange(starts[-1])
    return Timelines(timelines.bounds[at], starts, timelines.lengths[chosen])


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
