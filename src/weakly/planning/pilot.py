"""Pilot annotations as a plan needs them: timelines per class, event lengths with cut ones as lower limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..lengths import Lengths

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pilot:
    """The timelines of every class, and the lengths of all their events."""

    timelines: dict[str, Any]
    values: Floats
    censored: NDArray[np.bool_]
    n_unknown: int  # recordings whose length the annotations do not say

    @classmethod
    def of(cls, events: Any, label: str | None, recording_length: float | None = None) -> Pilot:
        """The pilot from Events, of one class or of all; ``recording_length`` where they do not say it."""
        if recording_length is not None and events.recordings["length"].isna().any():
            events = _with_length(events, recording_length)
        chosen = events.select(label)
        if len(chosen) == 0:
            raise InvalidInput("the pilot must hold at least one event, got none")
        timelines = events.by_label(label)  # of all events: other classes tell how long a recording is at least
        unknown = int(events.recordings["length"].isna().sum())
        values = np.concatenate([each.bounds[:, 1] - each.bounds[:, 0] for each in timelines.values()])
        censored = np.concatenate([each.cut(ends_known=not unknown) for each in timelines.values()])
        return cls(timelines, values, censored, unknown)

    @property
    def extents(self) -> Floats:
        """The length of every recording."""
        return np.asarray(next(iter(self.timelines.values())).lengths)

    @property
    def n_events(self) -> int:
        """Events, all classes together."""
        return int(self.values.size)

    def lengths(self, family: str | None) -> Lengths:
        """The law of event lengths: fitted to a family, or as observed; cut events count as at least that long."""
        cut = int(self.censored.sum())
        if family is not None:
            return Lengths.fit(self.values, family=family, censored=self.censored if cut else None)
        weights = kaplan_meier(self.values, self.censored) if 0 < cut < self.n_events else None
        noun = "pilot event" if self.n_events == 1 else f"{self.n_events:,} pilot events"
        return Lengths.sample(self.values, weights=weights, name=noun + (f" ({cut:,} cut by an edge)" if cut else ""))

    def part(self, most: int, rng: np.random.Generator) -> dict[str, Any] | None:
        """The timelines of some recordings, drawn at random, with about so many events; None if there are not more."""
        from ..events import Timelines

        count = len(self.extents)
        if self.n_events <= most or count < 20:
            return None
        kept = np.zeros(count, dtype=bool)
        kept[rng.permutation(count)[: max(10, int(count * most / self.n_events))]] = True
        found = {}
        for name, each in self.timelines.items():
            numbers = each.counts
            starts = np.concatenate(([0], np.cumsum(numbers[kept]))).astype(np.int64)
            found[name] = Timelines(each.bounds[np.repeat(kept, numbers)], starts, each.lengths[kept])
        return found


def _with_length(events: Any, recording_length: float) -> Any:
    from ..events import Events

    last = events.extents[events.recordings["length"].isna()]
    if (last > recording_length * (1 + 1e-9)).any():
        name = last.idxmax()
        raise InvalidInput(
            f"recording_length must reach the last event, got {recording_length:g} s for {name!r} with an event that "
            f"ends at {last.max():g} s; give a longer one, or read with on_error='skip' (--on-error skip) to leave "
            "events past the end out"
        )
    known = events.recordings.assign(length=events.recordings["length"].fillna(recording_length))
    return Events(events.to_frame(), known)


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
