"""The events of one class in many recordings as flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput


@dataclass(frozen=True)
class EventArrays:
    """The events of one class in many recordings as flat arrays, ready for compiled code.

    Events of recording i are ``bounds[starts[i]:starts[i + 1]]``: sorted, disjoint, inside (0, lengths[i]).
    """

    bounds: NDArray[np.float64]  # (n, 2)
    starts: NDArray[np.int64]  # (recordings + 1,)
    lengths: NDArray[np.float64]  # (recordings,)

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[tuple[NDArray[np.float64], float]]:
        for i, length in enumerate(self.lengths):
            yield self.bounds[self.starts[i] : self.starts[i + 1]], float(length)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many events each recording holds."""
        return np.diff(self.starts)

    @property
    def owner(self) -> NDArray[np.int64]:
        """The recording of each event, by its position."""
        return np.repeat(np.arange(len(self)), self.counts)

    def cut_sides(self, *, ends_known: Any = True) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which events begin with their recording, and which end with it, to a microsecond: their true length is not
        known. ``ends_known``, one for all or one for each recording: where the end is not known, a recording ends with
        its last event by convention, which does not cut it."""
        known = np.broadcast_to(ends_known, (len(self),))[self.owner]
        return self.bounds[:, 0] <= 1e-6, known & (self.bounds[:, 1] >= self.lengths[self.owner] - 1e-6)

    def cut(self, *, ends_known: Any = True) -> NDArray[np.bool_]:
        """Which events an end of their recording cuts."""
        early, late = self.cut_sides(ends_known=ends_known)
        return early | late

    def part(self, first: int, last: int) -> EventArrays:
        """Recordings first to last (exclusive), as a view."""
        lo, hi = self.starts[first], self.starts[last]
        return EventArrays(self.bounds[lo:hi], self.starts[first : last + 1] - lo, self.lengths[first:last])

    @classmethod
    def of(cls, recordings: Iterable[Any], recording_length: Any) -> EventArrays:
        """Timelines from one list of (onset, offset) per recording; what overlaps or touches is merged.

        >>> EventArrays.of([[(1, 2), (1.5, 3)], []], 10).bounds.tolist()
        [[1.0, 3.0]]
        """
        from .intervals import as_intervals, merge

        rows = [merge(as_intervals(row, name=f"events of recording {i}")) for i, row in enumerate(recordings)]
        lengths = np.broadcast_to(np.asarray(recording_length, dtype=np.float64), (len(rows),)).copy()
        for i, (row, length) in enumerate(zip(rows, lengths)):
            _inside(row[:, 0], row[:, 1], length, recording=i)
        starts = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
        bounds = np.concatenate([*rows, np.empty((0, 2))])
        return cls(bounds, starts, lengths)


def _inside(onset: Any, offset: Any, length: Any, *, recording: Any) -> None:
    bad = (onset < 0) | (offset > length * (1 + 1e-12))
    if np.any(bad):
        k = int(np.flatnonzero(bad)[0])
        event = f"event {k} ({onset[k]:g}, {offset[k]:g})"
        raise InvalidInput(f"recording {recording!r}: {event} must lie inside (0, {float(length):g})")
