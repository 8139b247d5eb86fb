"""What an evaluation or a simulation found: rows by name, the inputs that made them, their picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..events import Events
from ..observer import Observers
from ..report import Report
from ..results import METRICS, WORDS, plain
from ..symbols import choice
from ..tally import Tally

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SUMS = ("n_queries", "listened", "n_recordings", "n_events")
_KEYS = ("label", "segment_length", "presence_criterion", "rule", "annotator")
#: What a posterior makes of the same answers, in seconds per recording, beside what they paint and what is true.
POSTERIOR = ("posterior_wrong_time", "painted_wrong_time", "event_seconds", "painted_seconds", "posterior_seconds")
_MORE = ("overlap_accuracy_per_segment", "overlap_accuracy_bound", "n_overlapping", "n_present")


def rows(tally: Tally, who: Observers, **first: Any) -> pd.DataFrame:
    """One row per (segment length, column) of a tally, with the house's words."""
    s, c = len(tally.segment_length), len(tally.columns)
    table: dict[str, Any] = {name: [value] * (s * c) for name, value in first.items()}
    table["segment_length"] = np.repeat(tally.segment_length, c)
    table |= {name: values * s for name, values in who.frame().items()}
    metrics = tally.metrics()
    found = {name: metrics[name] for name in METRICS}
    found |= {"n_queries": tally.n_segments, "listened": tally.listened}
    found |= {"n_recordings": tally.n_recordings, "n_events": tally.n_events}
    found |= {name: getattr(tally, name) for name in _MORE}
    found |= {f"{name}_se": metrics[f"{name}_se"] for name in METRICS}
    table |= {name: np.broadcast_to(value, (s, c)).ravel() for name, value in found.items()}
    return pd.DataFrame(table)


def brief(table: pd.DataFrame) -> pd.DataFrame:
    """The columns that people read first."""
    keys = [name for name in _KEYS if name in table and not ("rule" in table and name == "presence_criterion")]
    words = (WORDS[0], f"{WORDS[0]}_se", *WORDS[1:], *POSTERIOR, "n_queries")
    return table[[*keys, *(name for name in words if name in table)]]


class Rows:
    """Results by name: every column of the table is an attribute, an array with one value per row or one number."""

    def to_frame(self) -> pd.DataFrame:
        raise NotImplementedError

    def page(self) -> Report:
        """The report before it is written, for more to be put below."""
        raise NotImplementedError

    def report(self, path: str | Path) -> Path:
        """Write one HTML file that holds everything, pictures too; back comes its path."""
        return self.page().write(path)

    def __getattr__(self, name: str) -> Any:
        known = (*METRICS, *_SUMS, *_MORE, *_KEYS, *POSTERIOR)
        if name.removesuffix("_se") in known and name in self.to_frame():
            values = self.to_frame()[name].to_numpy()
            return values if len(values) != 1 else values[0].item() if hasattr(values[0], "item") else values[0]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@dataclass(frozen=True)
class Evaluation(Rows):
    """What weak labels make of strong annotations, per class, segment length and criterion.

    Attributes named like the columns of :meth:`to_frame` hold one value per row, or a number if there is one row.
    ``settings`` are the inputs; ``tallies`` the sums per class, ``pooled`` those of all classes.
    """

    who: Observers
    tallies: dict[str, Tally]
    pooled: Tally
    settings: dict[str, Any]
    inferred: pd.DataFrame | None = None  # what a posterior makes of the answers of each row, where it was asked for

    @cached_property
    def _frame(self) -> pd.DataFrame:
        parts = [rows(tally, self.who, label=label) for label, tally in self.tallies.items()]
        table = pd.concat(parts, ignore_index=True)
        return table if self.inferred is None else pd.concat([table, self.inferred], axis=1)

    def to_frame(self) -> pd.DataFrame:
        """One row per (label, segment_length, presence_criterion or rule), with standard errors in _se columns."""
        return self._frame.copy()

    @cached_property
    def overall(self) -> Evaluation:
        """The classes pooled, one row per (segment_length, criterion): wrong time is that of all classes of a recording
        together, recordings, queries and seconds heard count once, and standard errors come from each recording's sums
        over classes. Recording accuracy is the share of (class, second) pairs that is right."""
        return Evaluation(self.who, {"all": self.pooled}, self.pooled, {**self.settings, "label": "all"})

    def to_dict(self) -> dict[str, Any]:
        """Inputs and rows in plain numbers, for JSON."""
        return dict(plain({"settings": self.settings, "rows": self._frame}))

    def plot(self, ax: Axes | None = None, *, metric: str = "overlap_accuracy") -> Axes:
        """The metric over the segment length, one line per criterion (of the first class), event recall dashed."""
        return plot_rows(self._frame, ax=ax, metric=metric, who=self.who)

    def page(self) -> Report:
        """The answer in words, pictures over several segment lengths, and all rows."""
        whole = self if len(self.tallies) == 1 else self.overall
        table = whole.to_frame()
        row = table.iloc[int(table["overlap_accuracy"].fillna(-1.0).to_numpy().argmax())]
        page = Report("What weak labels make of these annotations").answer(
            f"Segments of {row['segment_length']:.3g} s label {row['overlap_accuracy']:.1%} of the time around events "
            f"right and find {row['event_recall']:.1%} of the events, for {row['n_queries']:,.0f} queries."
        )
        if len(self.settings["segment_length"]) > 1:
            for metric in ("overlap_accuracy", "recording_accuracy"):
                caption = f"{metric.replace('_', ' ').capitalize()} over the segment length, {row['label']}."
                page.figure(whole.plot(metric=metric).figure, caption, name=metric)
        if len(self.tallies) > 1:
            page.heading("All classes").table(brief(table))
        return page.heading("Per class").table(brief(self._frame.head(2000)))


def plot_rows(frame: pd.DataFrame, *, ax: Axes | None, metric: str, who: Observers) -> Axes:
    """Lines of a metric over the segment length, with event recall dashed beside accuracy given overlap."""
    from .. import plot

    choice("metric", metric, (*METRICS, *_MORE))
    by = next(iter(reversed(who.frame())))
    if "label" in frame:
        frame = frame[frame["label"] == frame["label"].iloc[0]]
    kept = frame.sort_values("segment_length")
    ax = plot.lines(kept, x="segment_length", y=metric, by=by, ax=ax)
    if metric.startswith("overlap_accuracy"):
        colours = [line.get_color() for line in ax.lines[-len(who) :]]
        for colour, (_, part) in zip(colours, kept.groupby(by, sort=False)):
            ax.plot(part["segment_length"], part["event_recall"], "--", color=colour, lw=1)
        ax.plot([], [], "k--", lw=1, label="event recall")
        ax.legend()
    return ax


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
    keys = ["label", *evaluation.who.frame()]
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
