"""Sets of time as sorted (n, 2) arrays of seconds: merge, clip, complement, overlap; FIX and ORC segments.

And what is held of many recordings at once: the events of one class, features over time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.symbols import check

Intervals = NDArray[np.float64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_MOST = 50_000_000  # segments of one recording: more do not fit into the memory


def as_intervals(value: Any, *, name: str = "intervals") -> Intervals:
    """The value as a float64 array of shape (n, 2), every row a start before its end.

    >>> as_intervals([(1, 2)]).shape
    (1, 2)
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must be pairs of numbers (start, end) in seconds, got {value!r}") from error
    if array.size == 0:
        return np.empty((0, 2))
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInput(f"{name} must have the shape (n, 2), got {array.shape}")
    bad = ~(array[:, 1] > array[:, 0]) | ~np.isfinite(array).all(axis=1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        start, end = array[row]
        raise InvalidInput(f"{name} must end after they start, got ({start:g}, {end:g}) at position {row}")
    return array


def merge(intervals: Intervals) -> Intervals:
    """The union as sorted, disjoint intervals; intervals that touch become one.

    >>> merge(np.array([[2.0, 3.0], [0.0, 1.0], [0.5, 2.0]])).tolist()
    [[0.0, 3.0]]
    """
    if len(intervals) < 2:
        return intervals
    ordered = intervals[np.argsort(intervals[:, 0], kind="stable")]
    reach = np.maximum.accumulate(ordered[:, 1])
    first = np.concatenate(([True], ordered[1:, 0] > reach[:-1]))
    last = np.concatenate((first[1:], [True]))
    return np.column_stack((ordered[first, 0], reach[last]))


def clip(intervals: Intervals, start: float, end: float) -> Intervals:
    """The parts of the intervals inside (start, end)."""
    cut = np.clip(intervals, start, end)
    return cut[cut[:, 1] > cut[:, 0]]


def complement(intervals: Intervals, start: float, end: float) -> Intervals:
    """The gaps between the intervals within (start, end).

    >>> complement(np.array([[1.0, 2.0]]), 0, 3).tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """
    inside = merge(clip(intervals, start, end))
    gaps = np.column_stack((np.r_[start, inside[:, 1]], np.r_[inside[:, 0], end]))
    return gaps[gaps[:, 1] > gaps[:, 0]]


def duration(intervals: Intervals) -> float:
    """The seconds that the intervals cover together; what two of them share counts once."""
    merged = merge(intervals)
    return float((merged[:, 1] - merged[:, 0]).sum())


def covered(intervals: Intervals, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """The seconds of sorted, disjoint intervals that lie before each of the times.

    The overlap with any segment (a, b) is ``covered(b) - covered(a)``: one sorted search, no loop.

    >>> covered(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([0.0, 1.5, 4.0])).tolist()
    [0.0, 0.5, 2.0]
    """
    if len(intervals) == 0:
        return np.zeros_like(times, dtype=np.float64)
    before = np.concatenate(([0.0], np.cumsum(intervals[:, 1] - intervals[:, 0])))
    index = np.searchsorted(intervals[:, 0], times, side="right")
    last = np.maximum(index - 1, 0)
    excess = np.maximum(0.0, intervals[last, 1] - times)
    return np.where(index > 0, before[index] - excess, 0.0)


def intersect(left: Intervals, right: Intervals) -> Intervals:
    """The time that both sets of sorted, disjoint intervals cover."""
    if len(left) == 0 or len(right) == 0:
        return np.empty((0, 2))
    points = np.unique(np.concatenate((left.ravel(), right.ravel())))
    middle = (points[1:] + points[:-1]) / 2
    both = contains(left, middle) & contains(right, middle)
    return merge(np.column_stack((points[:-1], points[1:]))[both])


def contains(intervals: Intervals, times: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each time lies inside one of the sorted, disjoint intervals."""
    if len(intervals) == 0:
        return np.zeros(np.shape(times), dtype=bool)
    index = np.searchsorted(intervals[:, 0], times, side="right") - 1
    found: NDArray[np.bool_] = (index >= 0) & (times < intervals[np.maximum(index, 0), 1])
    return found


def fixed_segments(*, recording_length: float, segment_length: float, phase: float = 0.0) -> Intervals:
    r"""The FIX segments: every one ``segment_length`` long, from ``phase`` on; only the first and last can be shorter.

    .. math:: Q_{FIX} = \{(i d_q, (i+1) d_q)\}, \quad B_{FIX} = \lceil T / d_q \rceil

    A segment is never stretched to divide the recording evenly.

    >>> fixed_segments(recording_length=1.0, segment_length=0.4).tolist()
    [[0.0, 0.4], [0.4, 0.8], [0.8, 1.0]]
    """
    total = float(check("recording_length", recording_length))
    width = float(check("segment_length", segment_length))
    if total / width > _MOST:
        raise InvalidInput(
            f"segment_length {width:g} s cuts a recording of {total:g} s into {total / width:.3g} segments, more than "
            f"{_MOST:,}; give a longer one"
        )
    edges = phase % width + width * np.arange(-1, np.ceil(total / width) + 1)
    # An edge within a rounding error of the end is the end: 1.0 / 0.1 makes ten segments, not eleven.
    inner = edges[(edges > 1e-9 * width) & (edges < total - 1e-9 * width)]
    return np.column_stack((np.r_[0.0, inner], np.r_[inner, total]))


def oracle_segments(events: Any, *, recording_length: float) -> Intervals:
    r"""The ORC segments: the events and the gaps between them, in order; :math:`B_{ORC} \in \{2M-1, 2M, 2M+1\}`.

    >>> oracle_segments([(1, 2)], recording_length=3).tolist()
    [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]
    """
    total = float(check("recording_length", recording_length))
    present = merge(clip(as_intervals(events, name="events"), 0.0, total))
    segments = np.concatenate((present, complement(present, 0.0, total)))
    return segments[np.argsort(segments[:, 0])]


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


@dataclass(frozen=True)
class Features:
    """A matrix of features over time: row i describes the recording around ``times[i]`` seconds."""

    times: NDArray[np.float64]  # (n,), increasing, seconds, the middle of each frame
    values: NDArray[np.float32]  # (n, dimensions)
    kind: str = "embedding"  # or "log-mel", how loud each band is; or "scores", one column

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != len(self.times):
            raise InvalidInput(
                f"features must be a matrix with one row per time, got {self.values.shape} for {len(self.times)} times"
            )
        if len(self.times) < 2 or not (np.diff(self.times) > 0).all():
            raise InvalidInput("feature times must be at least two increasing numbers of seconds")
        if not np.isfinite(self.values).all():
            raise InvalidInput("features must be finite numbers")

    def __len__(self) -> int:
        return len(self.times)

    @property
    def step(self) -> float:
        """The usual time from one row to the next, in seconds."""
        return float(np.median(np.diff(self.times)))
