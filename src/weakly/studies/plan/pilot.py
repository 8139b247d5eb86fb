"""Pilot annotations as a plan needs them: timelines per class, the law of event lengths, how often events begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InvalidInput
from ...model.event_arrays import EventArrays
from ...model.events import Events
from ...model.intervals import as_intervals
from ...model.lengths import Lengths
from ..infer.estimation import heard_lengths

Floats = NDArray[np.float64]
_NEARLY_ALL = 0.9


@dataclass(frozen=True)
class Pilot:
    """The timelines of every class in the same recordings."""

    timelines: dict[str, EventArrays]
    ends_known: NDArray[np.bool_]  # whether the annotations say how long each recording is
    n_unknown: int  # recordings whose length they do not say, those without events too, which no timeline holds
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
        known = events.recordings["length"][events.known_extents.index].notna().to_numpy(bool)
        joined = len(chosen) - sum(len(each.bounds) for each in timelines.values())
        return cls(timelines, known, unknown_lengths(events), joined, _touching(chosen) if joined else 0)

    @property
    def extents(self) -> Floats:
        """The length of every recording."""
        return np.asarray(next(iter(self.timelines.values())).lengths)

    @cached_property
    def lines(self) -> EventArrays:
        """The recordings of every class, one class after another."""
        parts = list(self.timelines.values())
        counts = np.concatenate([each.counts for each in parts])
        bounds, lengths = (np.concatenate([getattr(each, x) for each in parts]) for x in ("bounds", "lengths"))
        return EventArrays(bounds, np.concatenate(([0], np.cumsum(counts))), lengths)

    @cached_property
    def cut_sides(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which events begin with their recording, and which end with one whose length is known."""
        return self.lines.cut_sides(ends_known=np.tile(self.ends_known, len(self.timelines)))

    @property
    def n_events(self) -> int:
        """Events, all classes together, what touches or overlaps as one."""
        return len(self.lines.bounds)

    @property
    def n_cut(self) -> int:
        """Events that an end of their recording cuts."""
        return int((self.cut_sides[0] | self.cut_sides[1]).sum())

    @property
    def event_rate(self) -> float:
        """Events that begin per second. Those that begin before their recording are not counted, unless all do."""
        begun = int((~self.cut_sides[0]).sum())
        return (begun or self.n_events) / float(self.extents.sum())

    @cached_property
    def in_place(self) -> float:
        """The share of events that begin at one and the same time or end their recording; 0 if it is not nearly all.
        Such a pilot does not tell where in a recording events lie."""
        bounds, ends = self.lines.bounds, self.lines.lengths[self.lines.owner]
        _, place, times = np.unique(bounds[:, 0].round(3), return_inverse=True, return_counts=True)
        same = (place.ravel() == times.argmax()) & (times.max() > 1)
        share = float((same | (bounds[:, 1] >= ends - 1e-6)).mean())
        return share if share >= _NEARLY_ALL else 0.0

    @property
    def frames(self) -> bool:
        """Whether so many events touch that they look like frames of a fixed length."""
        return self.n_touching > 0.2 * (self.n_joined + self.n_events)

    def lengths(self, family: str | None) -> Lengths:
        """The law of event lengths, of a family or of any form, with what the ends of recordings cut made good."""
        found = heard_lengths(self.lines, ends_known=np.tile(self.ends_known, len(self.timelines)), family=family)
        if family is not None:
            return found
        noun = "pilot event" if self.n_events == 1 else f"{self.n_events:,} pilot events"
        name = noun + (f" ({self.n_cut:,} cut by an edge)" if self.n_cut else "")
        return replace(found, name=name, notes={"n": self.n_events})


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
