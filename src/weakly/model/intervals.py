"""Sets of time as sorted (n, 2) arrays of seconds: merge, clip, complement, overlap; FIX and ORC segments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.symbols import check

Intervals = NDArray[np.float64]
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
