"""Which segment lengths are worth trying on annotations, and which of them came out best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..events import Events
from ..results import METRICS
from ..symbols import choice
from .result import Evaluation

OBJECTIVES = tuple(name for name in METRICS if name != "wrong_time")


def lengths_to_try(events: Events, *, label: str | None = None, n: int = 60) -> NDArray[np.float64]:
    """Segment lengths in seconds, evenly spaced on a log scale, from a tenth of a short event to past a long one.

    They end at the longest recording: no longer segment differs from it.

    >>> frame = pd.DataFrame({"recording": "a", "onset": [1.0, 5.0], "offset": [2.0, 7.0], "label": "dog"})
    >>> tried = lengths_to_try(Events.from_frame(frame, recording_length=100.0))
    >>> len(tried), round(float(tried[0]), 1), round(float(tried[-1]), 1)
    (60, 0.1, 9.8)
    """
    lengths = events.select(label).lengths
    if len(lengths) == 0:
        raise InvalidInput("there are no events to choose segment lengths from; give segment_length")
    low, high = np.quantile(lengths, [0.05, 0.95])
    longest = float(events.extents.max())
    end = min(5 * float(high), longest)
    return np.geomspace(min(max(float(low) / 10, float(high) / 1000), end / 10), end, n)


def best(evaluation: Evaluation, *, objective: str = "overlap_accuracy") -> pd.DataFrame:
    """For each class and criterion (or rule) the row of the segment length at which the objective is largest.

    Where several do equally well, the longest: it asks for the fewest queries. ``at_edge`` tells that the best is the
    first or last length tried, so that a better one may lie beyond.

    Examples
    --------
    >>> from weakly import evaluate
    >>> found = evaluate([[(10.0, 11.0)]], recording_length=100, segment_length=[0.6, 0.8, 1.2], presence_criterion=0.5)
    >>> best(found)["segment_length"].tolist()
    [0.8]
    """
    choice("objective", objective, OBJECTIVES)
    frame = evaluation.to_frame()
    keys = ["label", *evaluation.columns.frame()]
    ends = frame["segment_length"].min(), frame["segment_length"].max()
    rows: list[Any] = []
    for _, part in frame.groupby(keys, sort=False, dropna=False):
        values = part[objective]
        if values.notna().any():
            top = part[values >= values.max() - 1e-12]
            rows.append(top.loc[top["segment_length"].idxmax()])
    table = pd.DataFrame(rows).reset_index(drop=True) if rows else frame.iloc[:0].copy()
    table["at_edge"] = table["segment_length"].isin(ends) if ends[0] < ends[1] else False
    return table
