"""Events that come close to each other: the exact expectation on given recordings, a pilot's or drawn ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import exact
from ..events import Timelines
from ..exact.columns import Columns
from ..grid import windows as overlapping
from ..intervals import merge
from ..lengths import Lengths
from ..tally import BASE, RAW
from ..work import threads
from .criteria import Criteria, probes
from .sums import Sums

Floats = NDArray[np.float64]
_MOST = 24  # criteria that stand for a continuous law here
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

        def one(width: float, columns: Columns) -> tuple[Floats, Floats]:
            return exact.measure(self.timelines, width, columns, means=False)

        return self._sums(segment_lengths, criteria.few(_MOST), one, ("fixed",), self._values)

    def windows(self, hops: Any, per_cell: int, needed: int, criteria: Criteria) -> Sums:
        """Overlapping windows with each of these hops."""
        few = criteria.few(_MOST)

        def one(hop: float, columns: Columns) -> tuple[Floats, Floats]:
            how: dict[str, Any] = {"phase": None, "edge": "truncate", "hop": hop, "votes": needed}
            return overlapping.measure(self.timelines, hop * per_cell, columns, **how)

        return self._sums(hops, few, one, ("windows", per_cell, needed), few.values)

    def split(self, widths: Any, criteria: Criteria) -> Floats:
        """Present nodes of a bisection per recording."""
        return self.fixed(widths, criteria).present

    def per_recording(self, widths: Any, criteria: Criteria) -> tuple[Floats, Floats, Floats]:
        """Per recording and width: wrong seconds near events, seconds near events, all wrong seconds."""
        few = criteria.few(_MOST)
        columns = Columns.of(presence_criterion=few.values)

        def one(width: float) -> tuple[Floats, Floats, Floats]:
            raw, base = exact.measure(self.timelines, width, columns, means=False)
            sums = _mixed(raw, base, few)
            return sums[:, 2] + sums[:, 4], sums[:, 3], sums[:, 1] + sums[:, 2]

        with threads() as pool:
            found = list(pool.map(one, [float(width) for width in widths]))
        return tuple(np.stack(each, axis=1) for each in zip(*found))  # type: ignore[return-value]

    def _sums(
        self,
        sizes: Any,
        criteria: Criteria,
        one: Callable[[float, Columns], tuple[Floats, Floats]],
        key: tuple[Any, ...],
        values: Floats,
    ) -> Sums:
        if not np.isin(criteria.values, values).all():
            values = criteria.values
        wanted = [float(each) for each in np.atleast_1d(sizes)]
        about = (*key, values.tobytes())
        columns = Columns.of(presence_criterion=values)
        missing = [each for each in dict.fromkeys(wanted) if (*about, each) not in self._known]

        def work(size: float) -> tuple[Floats, Floats]:
            raw, base = one(size, columns)
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
    if float(n_events).is_integer() and not poisson:
        counts = np.full(count, int(n_events))
    else:
        counts = rng.poisson(n_events, count)
    recording = np.repeat(np.arange(count), counts)
    d = np.minimum(lengths.draw(int(counts.sum()), rng), recording_length)
    onset = rng.random(d.size) * (recording_length - d)
    # One long time axis with a gap between recordings, so that one merge serves all of them.
    shift = recording * (recording_length + 1.0)
    joined = merge(np.column_stack((onset + shift, onset + d + shift)))
    owner = np.floor(joined[:, 0] / (recording_length + 1.0) + 1e-12).astype(np.int64)
    bounds = np.clip(joined - (owner * (recording_length + 1.0))[:, None], 0.0, recording_length)
    starts = np.searchsorted(owner, np.arange(count + 1)).astype(np.int64)
    return Timelines(bounds, starts, np.full(count, float(recording_length)))


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
