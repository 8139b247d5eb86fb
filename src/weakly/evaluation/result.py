"""What an evaluation or a simulation found: rows by name, the inputs that made them, their picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..exact.columns import Columns
from ..results import METRICS, plain
from ..symbols import choice
from ..tally import Tally

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SUMS = ("n_queries", "listened", "n_recordings", "n_events")
_KEYS = ("label", "segment_length", "presence_criterion", "rule", "annotator")
_MORE = ("overlap_accuracy_per_segment", "overlap_accuracy_bound", "n_overlapping", "n_present")


def rows(tally: Tally, columns: Columns, **first: Any) -> pd.DataFrame:
    """One row per (segment length, column) of a tally, with the house's words."""
    s, c = len(tally.segment_length), len(tally.columns)
    table: dict[str, Any] = {name: [value] * (s * c) for name, value in first.items()}
    table["segment_length"] = np.repeat(tally.segment_length, c)
    table |= {name: values * s for name, values in columns.frame().items()}
    metrics = tally.metrics()
    found = {name: metrics[name] for name in METRICS}
    found |= {"n_queries": tally.n_segments, "listened": tally.listened}
    found |= {"n_recordings": tally.n_recordings, "n_events": tally.n_events}
    found |= {name: getattr(tally, name) for name in _MORE}
    found |= {f"{name}_se": metrics[f"{name}_se"] for name in METRICS}
    table |= {name: np.broadcast_to(value, (s, c)).ravel() for name, value in found.items()}
    return pd.DataFrame(table)


class Rows:
    """Results by name: every column of the table is an attribute, an array with one value per row or one number."""

    def to_frame(self) -> pd.DataFrame:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        known = (*METRICS, *_SUMS, *_MORE, *_KEYS)
        if name.removesuffix("_se") in known and name in self.to_frame():
            values = self.to_frame()[name].to_numpy()
            return values if len(values) != 1 else values[0].item() if hasattr(values[0], "item") else values[0]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@dataclass(frozen=True)
class Evaluation(Rows):
    """What weak labels make of strong annotations, per class, segment length and criterion.

    Attributes named like the columns of :meth:`to_frame` hold one value per row, or a number if there is one row.
    ``settings`` are the inputs; ``tallies`` the sums per class.
    """

    columns: Columns
    tallies: dict[str, Tally]
    settings: dict[str, Any]

    @cached_property
    def _frame(self) -> pd.DataFrame:
        parts = [rows(tally, self.columns, label=label) for label, tally in self.tallies.items()]
        return pd.concat(parts, ignore_index=True)

    def to_frame(self) -> pd.DataFrame:
        """One row per (label, segment_length, presence_criterion or rule), with standard errors in _se columns."""
        return self._frame.copy()

    @cached_property
    def overall(self) -> Evaluation:
        """The classes pooled: the sums of all of them in one row per (segment_length, criterion)."""
        first, *others = self.tallies.values()
        return Evaluation(self.columns, {"all": sum(others, start=first)}, {**self.settings, "label": "all"})

    def to_dict(self) -> dict[str, Any]:
        """Inputs and rows in plain numbers, for JSON."""
        return dict(plain({"settings": self.settings, "rows": self._frame}))

    def plot(self, ax: Axes | None = None, *, metric: str = "overlap_accuracy") -> Axes:
        """The metric over the segment length, one line per criterion (of the first class), event recall dashed."""
        return plot_rows(self._frame, ax=ax, metric=metric, columns=self.columns)


def plot_rows(frame: pd.DataFrame, *, ax: Axes | None, metric: str, columns: Columns) -> Axes:
    """Lines of a metric over the segment length, with event recall dashed beside accuracy given overlap."""
    from .. import plot

    choice("metric", metric, (*METRICS, *_MORE))
    by = next(iter(reversed(columns.frame())))
    if "label" in frame:
        frame = frame[frame["label"] == frame["label"].iloc[0]]
    kept = frame.sort_values("segment_length")
    ax = plot.lines(kept, x="segment_length", y=metric, by=by, ax=ax)
    if metric.startswith("overlap_accuracy"):
        colours = [line.get_color() for line in ax.lines[-len(columns) :]]
        for colour, (_, part) in zip(colours, kept.groupby(by, sort=False)):
            ax.plot(part["segment_length"], part["event_recall"], "--", color=colour, lw=1)
        ax.plot([], [], "k--", lw=1, label="event recall")
        ax.legend()
    return ax
