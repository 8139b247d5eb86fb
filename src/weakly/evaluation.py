"""Strong annotations and a segment length -> what weak labels would make of them."""

from __future__ import annotations

import warnings
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from . import exact, grid
from .errors import AssumptionWarning, InvalidInput
from .events import Events, Timelines
from .exact.columns import Columns
from .grid import windows
from .results import plain
from .symbols import check, choice
from .tally import METRICS, Tally
from .work import Progress, in_order, threads

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Events times segment lengths times criteria up to which the means per recording are worked out unasked.
MANY = 20_000_000

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
    from . import plot

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


def evaluate(
    events: Any,
    *,
    segment_length: Any,
    presence_criterion: Any = None,
    rule: Any = None,
    annotator: Any = None,
    phase: Any = "random",
    edge: str = "truncate",
    hop: float | None = None,
    votes: int | None = None,
    label: str | None = None,
    recording_length: Any = None,
    per_recording: bool | None = None,
    executor: Executor | None = None,
    progress: Progress = False,
) -> Evaluation:
    r"""What labels of fixed segments make of strong annotations: an :class:`Evaluation`.

    Parameters
    ----------
    events : an :class:`Events`, or one list of (onset, offset) per recording with ``recording_length``. Events of one
        class that overlap or touch are one event.
    segment_length : :math:`d_q` in seconds, > 0; one or several.
    presence_criterion, rule, annotator : exactly one of them: :math:`\gamma` in (0, 1], a :class:`PresenceRule`, an
        :class:`Annotator`; one or several.
    phase : ``"random"`` for the expectation over where the grid starts, or the seconds at which it starts.
    edge : ``"truncate"`` cuts segments at the recording's ends, ``"inside"`` leaves cut ones out, ``"infinite"`` counts
        them at full length, ``"circular"`` (random phase) joins the recording's ends.
    hop, votes : windows that start every ``hop`` seconds; a cell of one hop is present if at least ``votes`` of the
        windows that cover it are (1 if left out). ``segment_length`` must be a whole number of hops.
    label : one class only; left out, every class gets its rows.
    recording_length : seconds, for lists of events.
    per_recording : whether to work out ``overlap_accuracy_per_recording`` under a random phase, which costs more than
        all else; left out, up to :data:`MANY` events times lengths times criteria, and a warning says so beyond.
    executor : any ``concurrent.futures.Executor``; left out, one thread per processor. The numbers do not depend on it.
    progress : whether to show a bar, or a function that is told (done, total).

    Notes
    -----
    Definitions 1 to 3 of the paper, for any number of events: a segment is present if at least one event satisfies the
    rule in it. ``overlap_accuracy`` pools all segments, ``overlap_accuracy_per_recording`` averages per recording first
    as the paper's simulation does. With a random phase ``n_queries`` is that of the grid from 0. Answers of random
    annotators are averaged exactly, not drawn. Standard errors treat recordings as a sample.

    Examples
    --------
    >>> found = evaluate([[(1.0, 2.2), (2.9, 3.3), (7.0, 9.5)]], recording_length=10, segment_length=1.3,
    ...                  presence_criterion=0.45)
    >>> round(found.precision, 10), round(found.recall, 10), found.event_recall
    (0.6836293057, 0.7186444653, 1.0)
    """
    columns = Columns.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator)
    lengths = segment_lengths(segment_length)
    how = placement(phase=phase, edge=edge, hop=hop, votes=votes, lengths=lengths)
    classes = _classes(events, label, recording_length)
    how["means"] = _affordable(classes, lengths, columns, how) if per_recording is None else bool(per_recording)
    tallies = {}
    with threads(executor) as workers:
        for name, timelines in classes.items():
            chunks = chunked(timelines, lengths)
            parts = in_order(
                score,
                [(timelines.part(i, j), lengths[k:m], columns, how) for i, j, k, m in chunks],
                executor=workers,
                progress=progress,
                label=f"evaluating {name}",
            )
            tallies[name] = _joined(lengths, columns, chunks, parts)
    settings = {
        "segment_length": lengths,
        **columns.frame(),
        "phase": phase,
        "edge": edge,
        "hop": hop,
        "votes": how["votes"],
        "labels": list(classes),
    }
    return Evaluation(columns, tallies, settings)


def _affordable(classes: dict[str, Timelines], lengths: Any, columns: Columns, how: dict[str, Any]) -> bool:
    """Whether the means per recording are worked out though nobody asked."""
    n_events = sum(len(timelines.bounds) for timelines in classes.values())
    few = n_events * len(lengths) * len(columns) <= MANY
    if not few and how["hop"] is None and how["phase"] is None:
        warnings.warn(
            f"overlap_accuracy_per_recording is left empty: under a random phase {n_events:,} events x {len(lengths)} "
            f"lengths x {len(columns)} criteria would take long; per_recording=True, or a fixed phase, gives it",
            AssumptionWarning,
            stacklevel=3,
        )
    return few


def segment_lengths(value: Any) -> Any:
    """The segment lengths as a float64 array with one axis, in the order given."""
    lengths = np.atleast_1d(check("segment_length", value))
    if lengths.ndim != 1 or len(lengths) == 0:
        raise InvalidInput(f"segment_length must be one number or a list, got shape {lengths.shape}")
    return lengths


def placement(*, phase: Any, edge: str, hop: Any, votes: Any, lengths: Any) -> dict[str, Any]:
    """Where the segments lie, checked: the phase in seconds or None if it is random, the edge rule, hop and votes."""
    random = isinstance(phase, str)
    if random:
        choice("phase", phase, ("random",))
    else:
        phase = float(check("listened", phase, called="phase"))
    choice("edge", edge, windows.EDGES if hop is not None else exact.EDGES if random else grid.EDGES)
    if hop is None:
        if votes is not None:
            raise InvalidInput(f"votes needs a hop: windows that overlap, got votes {votes!r} without one")
    else:
        hop, votes = windows.checked(lengths, hop, votes)
    return {"phase": None if random else phase, "edge": edge, "hop": hop, "votes": votes}


def measure(part: Timelines, width: float, columns: Columns, how: dict[str, Any]) -> tuple[Any, Any]:
    """The measures of some recordings for one segment length."""
    if how["hop"] is not None:
        placed = {name: how[name] for name in ("hop", "votes", "phase", "edge")}
        return windows.measure(part, width, columns, **placed)
    if how["phase"] is None:
        return exact.measure(part, width, columns, edge=how["edge"], means=how.get("means", True))
    return grid.measure(part, width, columns, phase=how["phase"], edge=how["edge"])


def score(timelines: Timelines, lengths: Any, columns: Columns, how: dict[str, Any]) -> Tally:
    """The tally of some recordings: measured in blocks whose measures fit into the processor's cache."""
    tally = Tally.empty(lengths, columns.labels)
    step = max(64, 16_384 // len(columns))
    for first in range(0, len(timelines), step):
        block = timelines.part(first, min(first + step, len(timelines)))
        for k, width in enumerate(lengths):
            tally.fold(k, *measure(block, width, columns, how))
    return tally


def chunked(timelines: Timelines, lengths: Any) -> list[tuple[int, int, int, int]]:
    """Blocks of recordings times blocks of segment lengths; they depend on the data alone, never on the workers."""
    blocks, first = [], 0
    for r in range(len(timelines)):
        if timelines.starts[r + 1] - timelines.starts[first] >= 20_000 or r + 1 - first >= 2_000:
            blocks.append((first, r + 1))
            first = r + 1
    if first < len(timelines):
        blocks.append((first, len(timelines)))
    step = 16
    return [(i, j, k, min(k + step, len(lengths))) for i, j in blocks for k in range(0, len(lengths), step)]


def _joined(lengths: Any, columns: Columns, chunks: list[tuple[int, int, int, int]], parts: Any) -> Tally:
    total = Tally.empty(lengths, columns.labels)
    for (_, _, k, m), part in zip(chunks, parts):
        total.add(slice(k, m), part)
    return total


def _classes(events: Any, label: str | None, recording_length: Any) -> dict[str, Timelines]:
    if isinstance(events, Events):
        if recording_length is not None:
            raise InvalidInput("recording_length is known to the events; give it to Events.from_frame")
        unknown = int(events.recordings["length"].isna().sum())
        if unknown:
            warnings.warn(
                f"the length of {unknown} of {len(events.recordings)} recordings is unknown; they end at their last "
                "event here, which leaves out what follows it",
                AssumptionWarning,
                stacklevel=3,
            )
        names = events.labels if label is None else [label]
        if not names:
            raise InvalidInput("events must hold at least one event, got none")
        return {name: events.timelines(name) for name in names}
    if not isinstance(events, Timelines):
        if recording_length is None:
            raise InvalidInput("recording_length must be given in seconds where events are plain lists")
        events = Timelines.of(events, check("recording_length", recording_length))
    _check(events)
    return {label or "event": events}


def _check(timelines: Timelines) -> None:
    """Timelines may be made by hand: refuse what is not sorted, disjoint and inside its recording."""
    a, b = timelines.bounds[:, 0], timelines.bounds[:, 1]
    recording = np.repeat(np.arange(len(timelines)), np.diff(timelines.starts))
    bad = ~(b > a) | ~np.isfinite(b) | (a < 0) | (b > timelines.lengths[recording] * (1 + 1e-9))
    bad[1:] |= (recording[1:] == recording[:-1]) & ~(a[1:] >= b[:-1])
    if bad.any():
        e = int(np.flatnonzero(bad)[0])
        r = int(recording[e])
        raise InvalidInput(
            f"recording {r}: event {e - int(timelines.starts[r])} ({a[e]:g}, {b[e]:g}) must end after it starts, "
            f"follow the event before it and lie inside (0, {timelines.lengths[r]:g}); Timelines.of merges and sorts"
        )
