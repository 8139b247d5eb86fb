"""What strong annotations hold, class by class; and what the paper's recipe would make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..events import Events
from .criterion import CriterionEstimate, paper_recipe_criterion, unknown


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
