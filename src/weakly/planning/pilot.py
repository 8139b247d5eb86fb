"""Pilot annotations as a plan needs them: timelines per class, event lengths with cut ones as lower limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..events import Events, Timelines
from ..intervals import as_intervals
from ..lengths import Lengths

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pilot:
    """The timelines of every class, and the lengths of all their events."""

    timelines: dict[str, Timelines]
    values: Floats
    censored: NDArray[np.bool_]
    n_unknown: int  # recordings whose length the annotations do not say
    n_joined: int  # events that touch or overlap one of their class, and became one with it
    n_touching: int  # of these, those that begin where another ends

    @classmethod
    def of(cls, events: Events, label: str | None, recording_length: float | None = None) -> Pilot:
        """The pilot from Events, of one class or of all; ``recording_length`` where they do not say it."""
        if recording_length is not None and unknown_lengths(events):
            events = _with_length(events, recording_length)
        chosen = events.select(label)
        if len(chosen) == 0:
            raise InvalidInput("the pilot must hold at least one event, got none")
        timelines = events.by_label(label)  # of all events: other classes tell how long a recording is at least
        unknown = unknown_lengths(events)
        values = np.concatenate([each.bounds[:, 1] - each.bounds[:, 0] for each in timelines.values()])
        censored = np.concatenate([each.cut(ends_known=not unknown) for each in timelines.values()])
        joined = len(chosen) - len(values)
        return cls(timelines, values, censored, unknown, joined, _touching(chosen) if joined else 0)

    @property
    def extents(self) -> Floats:
        """The length of every recording."""
        return np.asarray(next(iter(self.timelines.values())).lengths)

    @property
    def n_events(self) -> int:
        """Events, all classes together, what touches or overlaps as one."""
        return int(self.values.size)

    @property
    def frames(self) -> bool:
        """Whether so many events touch that they look like frames of a fixed length."""
        return self.n_touching > 0.2 * (self.n_joined + self.n_events)

    def lengths(self, family: str | None) -> Lengths:
        """The law of event lengths: fitted to a family, or as observed; cut events count as at least that long."""
        cut = int(self.censored.sum())
        if family is not None:
            return Lengths.fit(self.values, family=family, censored=self.censored if cut else None)
        weights = kaplan_meier(self.values, self.censored) if 0 < cut < self.n_events else None
        noun = "pilot event" if self.n_events == 1 else f"{self.n_events:,} pilot events"
        return Lengths.sample(self.values, weights=weights, name=noun + (f" ({cut:,} cut by an edge)" if cut else ""))


def unknown_lengths(events: Events) -> int:
    """How many annotated recordings do not say how long they are."""
    return int((events.recordings["length"].isna() & events.recordings["annotated"]).sum())


def _touching(events: Events) -> int:
    """How many events begin exactly where another of their class and recording ends."""
    frame = events.to_frame()
    group = frame.groupby(["recording", "label"], sort=False, observed=True).ngroup().to_numpy()
    # Microseconds in one whole number with the group: 2^40 of them are 12 days.
    ends, begins = (
        group * 2**40 + (frame[name].to_numpy() * 1e6).round().astype(np.int64) for name in ("offset", "onset")
    )
    return len(np.intersect1d(ends, begins))


def _with_length(events: Events, recording_length: float) -> Events:
    last = events.extents[events.recordings["length"].isna() & events.recordings["annotated"]]
    if (last > recording_length * (1 + 1e-9)).any():
        name = last.idxmax()
        raise InvalidInput(
            f"recording_length must reach the last event, got {recording_length:g} s for {name!r} with an event that "
            f"ends at {last.max():g} s; give a longer one, or read with on_error='clip' to cut events at the end, or "
            "'skip' to leave them out (--on-error clip, --on-error skip)"
        )
    known = events.recordings.assign(length=events.recordings["length"].fillna(recording_length))
    return Events(events.to_frame(), known)


def within(events: Events, examined: Any) -> Events:
    """The events of the examined stretches alone, each a recording of its own: {recording: intervals}, or a table with
    the columns recording, onset, offset; left out, what the events themselves say was examined.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"recording": ["a"], "onset": [4.0], "offset": [8.0], "label": ["x"]})
    >>> cut = within(Events.from_frame(frame, recording_length=100.0), {"a": [(5.0, 15.0)]})
    >>> cut.to_frame()[["onset", "offset"]].values.tolist(), cut.recordings["length"].tolist()
    ([[0.0, 3.0]], [10.0])
    """
    if not isinstance(examined, Mapping):
        return events.within(examined)
    import pandas as pd

    rows = [
        (str(name), *stretch)
        for name, stretches in examined.items()
        for stretch in as_intervals(stretches, name=f"examined of {name!r}").tolist()
    ]
    if not rows:
        raise InvalidInput("examined must hold at least one stretch of time, got none")
    return events.within(pd.DataFrame(rows, columns=["recording", "onset", "offset"]))


def kaplan_meier(values: Floats, censored: NDArray[np.bool_]) -> Floats:
    """The weight of every length in the product-limit estimate; what stays beyond the last length is given to it.

    >>> kaplan_meier(np.array([1.0, 2.0, 3.0]), np.array([False, True, False])).round(4).tolist()
    [0.3333, 0.0, 0.6667]
    """
    # Ends before cuts at the same length: a cut event was still going on.
    order = np.lexsort((censored, values))
    n = values.size
    at_risk = n - np.arange(n)
    step = np.where(censored[order], 1.0, 1 - 1 / at_risk)
    survival = np.concatenate(([1.0], np.cumprod(step)))
    weights = np.empty(n)
    weights[order] = survival[:-1] - survival[1:]
    weights[order[-1]] += survival[-1]
    return weights
