"""Events that come close to each other: the exact expectation on given recordings, a pilot's or drawn ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import exact
from ..events import Timelines
from ..lengths import Lengths
from ..observer import Observers
from ..parallel import threads
from ..simulation import World
from ..tally import BASE, RAW
from ..windows import Edge, Placement
from .criteria import Criteria, probes
from .sums import Sums
from .votes import voted

Floats = NDArray[np.float64]
_MOST = 24  # criteria that stand for a continuous law here
_PHASES = 24_000  # events times phases that overlapping windows are averaged over
_RANDOM = Placement(None, Edge.TRUNCATE, None, None, means=False)
_R = {name: k for k, name in enumerate(RAW)}
_B = {name: k for k, name in enumerate(BASE)}


class Exact:
    """Recordings whose events are known, scored exactly over a random phase of the grid.

    One sweep serves every criterion, so all that the plan will ask about are swept together and kept.
    """

    name = "exact"

    def __init__(self, timelines: Timelines, described: str, criteria: Criteria) -> None:
        self.timelines, self.described, self.n_recordings = timelines, described, len(timelines)
        self._values = np.unique(np.concatenate((criteria.few(_MOST).values, probes(criteria))))
        self._known: dict[tuple[Any, ...], tuple[Floats, Floats]] = {}

    def fixed(self, segment_lengths: Any, criteria: Criteria) -> Sums:
        """Fixed segments of each of these lengths."""

        def one(width: float, columns: Observers) -> tuple[Floats, Floats]:
            return exact.measure(self.timelines, width, columns, _RANDOM)

        return self._sums(segment_lengths, criteria.few(_MOST), one)

    def windows(self, hops: Any, per_cell: int, needed: int, criteria: Criteria) -> Sums:
        """Overlapping windows with each of these hops, averaged over a few phases: all of them would take long."""
        few, events = criteria.few(8), self.timelines.bounds
        count = int(np.clip(_PHASES / max(len(events), 1), 4, 48))
        phases = (np.arange(count) + 0.5) / count
        n, total = len(self.timelines), float(self.timelines.lengths.sum())
        event_time = float((events[:, 1] - events[:, 0]).sum())

        def one(hop: float) -> Floats:
            how: dict[str, Any] = {"hop": hop, "per_cell": per_cell, "needed": needed, "phases": phases}
            each = [voted(self.timelines, criterion=float(value), **how) for value in few.values]
            overlap = each[0][2]
            tp, fp, _, inside, found = few.weights @ np.array(each)
            tp, guess = tp + few.always * event_time, few.always
            outside, near = guess * (total - event_time), guess * (overlap - event_time)
            return np.array(
                [tp, fp + outside, event_time - tp, overlap, inside + near, found + guess * len(events), 0.0]
            )

        hops = [float(hop) for hop in np.atleast_1d(hops)]
        with threads() as pool:
            table = np.array(list(pool.map(one, hops))) / n
        return Sums.table(table, n_events=len(events) / n, recording_length=total / n)

    def split(self, widths: Any, criteria: Criteria) -> Floats:
        """Present nodes of a bisection per recording."""
        return self.fixed(widths, criteria).present

    def per_recording(self, widths: Any, criteria: Criteria) -> tuple[Floats, Floats, Floats]:
        """Per recording and width: wrong seconds near events, seconds near events, all wrong seconds."""
        few = criteria.few(_MOST)
        columns = Observers.of(presence_criterion=few.values)

        def one(width: float) -> tuple[Floats, Floats, Floats]:
            raw, base = exact.measure(self.timelines, width, columns, _RANDOM)
            sums = _mixed(raw, base, few)
            return sums[:, 2] + sums[:, 4], sums[:, 3], sums[:, 1] + sums[:, 2]

        with threads() as pool:
            found = list(pool.map(one, [float(width) for width in widths]))
        return tuple(np.stack(each, axis=1) for each in zip(*found))  # type: ignore[return-value]

    def _sums(self, widths: Any, criteria: Criteria, one: Callable[[float, Observers], tuple[Floats, Floats]]) -> Sums:
        values = self._values if np.isin(criteria.values, self._values).all() else criteria.values
        wanted = [float(each) for each in np.atleast_1d(widths)]
        about = (values.tobytes(),)
        columns = Observers.of(presence_criterion=values)
        missing = [each for each in dict.fromkeys(wanted) if (*about, each) not in self._known]

        def work(width: float) -> tuple[Floats, Floats]:
            raw, base = one(width, columns)
            return raw.sum(axis=0)[None], base.sum(axis=0)[None]

        if len(missing) > 1:
            with threads() as pool:
                found = list(pool.map(work, missing))
        else:
            found = [work(each) for each in missing]
        self._known |= {(*about, each): pair for each, pair in zip(missing, found)}
        where = np.searchsorted(values, criteria.values)
        n = len(self.timelines)
        pairs = [self._known[(*about, each)] for each in wanted]
        table = np.concatenate([_mixed(raw[:, where], base, criteria) for raw, base in pairs]) / n
        return Sums.table(
            table, n_events=len(self.timelines.bounds) / n, recording_length=float(self.timelines.lengths.mean())
        )


def _mixed(raw: Floats, base: Floats, criteria: Criteria) -> Floats:
    """Per recording the sums of :class:`Sums`: tp, fp, fn, overlap, overlap_fp, found, present."""
    tp, fp, elsewhere, present, found = (
        raw[:, :, _R[name]] @ criteria.weights for name in ("tp", "fp", "fp_elsewhere", "n_present", "n_found")
    )
    event, overlap, cover, time = (base[:, _B[name]] for name in ("event_time", "overlap_time", "cover_time", "time"))
    guess = criteria.always
    tp, inside = tp + guess * event, fp + guess * (overlap - cover)
    return np.column_stack(
        (
            tp,
            fp + elsewhere + guess * (time - event),
            event - tp,
            overlap,
            inside,
            found + guess * base[:, _B["n_events"]],
            present + guess * base[:, _B["n_segments"]],
        )
    )


def drawn(
    lengths: Lengths, *, recording_length: float, n_events: float, poisson: bool, rng: np.random.Generator
) -> Timelines:
    """Recordings with events placed anywhere; what overlaps is one event.

    A whole number of events is the same in every recording; another number, or a rate, is the mean of a Poisson law.
    """
    events = 30_000
    count = int(np.clip(events / max(n_events, 1e-9), 100, 20_000))
    steady = float(n_events).is_integer() and not poisson
    law: tuple[Any, str] = (int(n_events), "uniform") if steady else (n_events, "poisson")
    return World(lengths, law[0], float(recording_length), law[1], gap=0.0).draw(count, rng)[0]


class Pooled:
    """Several classes asked for at once: the sums of their models."""

    def __init__(self, models: dict[str, Any]) -> None:
        self.models = models
        first = next(iter(models.values()))
        self.name, self.described, self.n_recordings = first.name, first.described, first.n_recordings

    def fixed(self, segment_lengths: Any, criteria: Criteria) -> Sums:
        """Fixed segments of each of these lengths."""
        return Sums.pool([each.fixed(segment_lengths, criteria) for each in self.models.values()])

    def windows(self, hops: Any, per_cell: int, needed: int, criteria: Criteria) -> Sums:
        """Overlapping windows with each of these hops."""
        return Sums.pool([each.windows(hops, per_cell, needed, criteria) for each in self.models.values()])

    def split(self, widths: Any, criteria: Criteria) -> Floats:
        """Present nodes of a bisection per recording, all classes together."""
        return np.sum([each.split(widths, criteria) for each in self.models.values()], axis=0)

    def per_recording(self, widths: Any, criteria: Criteria) -> tuple[Floats, ...]:
        """The sums of every class, per recording and width."""
        parts = [each.per_recording(widths, criteria) for each in self.models.values()]
        return tuple(np.sum(each, axis=0) for each in zip(*parts))
