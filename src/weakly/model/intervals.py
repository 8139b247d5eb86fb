r"""Sets of time as sorted (n, 2) arrays of seconds; events and features of many recordings; where segments lie.

The one convention by which every public function counts, scores and asks:

**Which windows exist.** Windows of length :math:`d_q = K\eta` start every hop :math:`\eta`, the first at 0. The first
that reaches the recording's end is the last; it is cut there. If the grid starts at a phase other than 0, one window
begins before the recording and is cut at 0. So a recording of length T gets
:math:`\max(1, \lceil (T - d_q)/\eta \rceil + 1)` windows from 0. Fixed segments are windows whose hop is their length
(K = 1). Edge rules: ``truncate`` keeps the cut ones with the time that is left, ``inside`` leaves them out; for fixed
segments also ``infinite``, which counts them at full length, and, under a random phase, ``circular``, which joins the
recording's end to its start.

**How cells are labelled.** A cell is one hop long and starts where a window may start. It is present if at least k of
the K windows over it are; near the ends, where only n < K windows cover it, if at least the same share of them is:
:math:`\lceil k n / K \rceil`. A cell that no window covers is absent.

**One event in closed form.** Windows that start in :math:`[a - d_q + x_0, b - x_0]` are present, a stretch of length
:math:`\Lambda = d_e + d_q - 2x_0`, so the label runs from :math:`a + U - x` to :math:`b + x - V` with
:math:`x = (K-k+1)\eta - x_0` and U, V uniform on :math:`(0, \eta)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.compiled import kernel
from ..base.errors import InvalidInput
from ..base.symbols import check, choice, positive, whole

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
    return np.asarray((index >= 0) & (times < intervals[np.maximum(index, 0), 1]))


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
        cut = f"segment_length {width:g} s cuts a recording of {total:g} s into {total / width:.3g} segments"
        raise InvalidInput(f"{cut}, more than {_MOST:,}; give a longer one")
    starts = np.maximum(window_starts(total, segment_length=width, phase=phase), 0.0)
    return np.column_stack((starts, np.r_[starts[1:], total]))


def oracle_segments(events: Any, *, recording_length: float) -> Intervals:
    r"""The ORC segments: the events and the gaps between them, in order; :math:`B_{ORC} \in \{2M-1, 2M, 2M+1\}`.

    >>> oracle_segments([(1, 2)], recording_length=3).tolist()
    [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]
    """
    total = float(check("recording_length", recording_length))
    present = merge(clip(as_intervals(events, name="events"), 0.0, total))
    segments = np.concatenate((present, complement(present, 0.0, total)))
    return segments[np.argsort(segments[:, 0])]


@kernel
def merged(spans: Any, recording: Any, n: int) -> tuple[Any, Any]:
    """Spans of n recordings, sorted, without overlap: those that overlap or touch are one; and where each recording
    that has one ends among them, after a 0 (0 for the others)."""
    out, at, g = np.empty_like(spans), np.zeros(n + 1, np.int64), 0
    previous = -1
    for i in range(spans.shape[0]):
        if recording[i] == previous and spans[i, 0] <= out[g - 1, 1]:
            out[g - 1, 1] = max(out[g - 1, 1], spans[i, 1])
        else:
            out[g, 0], out[g, 1] = spans[i, 0], spans[i, 1]
            g += 1
        previous = recording[i]
        at[recording[i] + 1] = g
    return out[:g], at


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
            bad = (row[:, 0] < 0) | (row[:, 1] > length * (1 + 1e-12))
            if np.any(bad):
                k = int(np.flatnonzero(bad)[0])
                event = f"event {k} ({row[k, 0]:g}, {row[k, 1]:g})"
                raise InvalidInput(f"recording {i!r}: {event} must lie inside (0, {float(length):g})")
        starts = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
        return cls(np.concatenate([*rows, np.empty((0, 2))]), starts, lengths)

    @classmethod
    def of_rows(cls, recording: Any, onset: Any, offset: Any, lengths: Any) -> EventArrays:
        """Timelines from rows in any order, which say by position whose they are; what overlaps or touches is merged,
        and cut at the end of its recording."""
        order = np.lexsort((onset, recording))
        ends = np.minimum(offset[order], lengths[recording[order]])
        bounds, starts = merged(np.column_stack((onset[order], ends)), recording[order], len(lengths))
        return cls(bounds, np.maximum.accumulate(starts), lengths)


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


EdgeName = Literal["truncate", "inside", "infinite", "circular"]
NEAR = 1e-9  # an edge this close to a boundary, in segment lengths, lies on it


class Edge(IntEnum):
    """What becomes of segments at a recording's ends."""

    INFINITE = 0
    TRUNCATE = 1
    INSIDE = 2
    CIRCULAR = 3

    @classmethod
    def of(cls, name: str, allowed: tuple[str, ...] = ("infinite", "truncate", "inside", "circular")) -> Edge:
        """The edge rule by its name."""
        return cls[choice("edge", name, allowed).upper()]


@dataclass(frozen=True)
class Placement:
    """Where the segments of every recording lie; made and checked by :meth:`of`."""

    phase: float | None  # seconds; None: uniformly random
    edge: Edge
    hop: float | None  # None: fixed segments
    votes: int | None  # of overlapping windows
    means: bool = True  # whether means per recording are worked out under a random phase

    @classmethod
    def of(cls, *, phase: Any, edge: str, hop: Any, votes: Any, segment_length: Any) -> Placement:
        """The placement from the arguments of a public function."""
        is_random = isinstance(phase, str) and choice("phase", phase, ("random",)) == "random"
        start = None if is_random else positive("phase", phase, zero=True)
        if hop is not None:
            fewest = min(windows_per_cell(segment_length=width, hop=hop) for width in segment_length)
            rule = Edge.of(edge, ("truncate", "inside"))
            return cls(start, rule, float(hop), checked_votes(1 if votes is None else votes, windows=fewest))
        if votes is not None:
            raise InvalidInput(f"votes needs a hop: windows that overlap, got votes {votes!r} without one")
        names = ("truncate", "inside", "infinite", "circular") if start is None else ("truncate", "inside", "infinite")
        return cls(start, Edge.of(edge, names), None, None)


def segment_lengths(value: Any) -> Floats:
    """The segment lengths as a float64 array with one axis, in the order given."""
    lengths = np.atleast_1d(check("segment_length", value))
    if lengths.ndim != 1 or len(lengths) == 0:
        raise InvalidInput(f"segment_length must be one number or a list, got shape {lengths.shape}")
    if lengths.min() < 1e-6:  # as fine as times are told apart
        raise InvalidInput(f"segment_length must be at least 1e-6 s, got {lengths.min():g}")
    return np.asarray(lengths, dtype=np.float64)


def windows_per_cell(*, segment_length: ArrayLike, hop: ArrayLike) -> int:
    """K, the number of windows over each cell; the segment length must be a whole multiple of the hop.

    >>> windows_per_cell(segment_length=10, hop=1)
    10
    """
    width, step = (float(check(name, value)) for name, value in (("segment_length", segment_length), ("hop", hop)))
    count = round(width / step)
    if count < 1 or abs(width / step - count) > 1e-9 * count:
        raise InvalidInput(f"segment_length must be a whole number of hops of {step:g} s, got {width:g} s")
    return count


def checked_votes(votes: Any, *, windows: int) -> int:
    """k, a whole number from 1 to the number of windows over a cell."""
    return whole("votes", votes, most=windows, meaning="the windows over a cell")


def votes_needed(covering: Any, *, votes: int, windows: int) -> NDArray[np.int64]:
    """How many present windows make a cell present, if this many cover it: the same share as k of K; one more than
    there are where there are none.

    >>> votes_needed([0, 1, 2, 3, 4], votes=3, windows=4).tolist()
    [1, 1, 2, 3, 3]
    """
    return np.maximum(1, np.ceil(votes * np.asarray(covering) / windows - NEAR)).astype(np.int64)


def first_start(phase: float, hop: Any) -> Any:
    """Where window 0 and cell 0 of a grid begin: at 0, or less than a hop before."""
    start = phase % hop
    return np.where(np.minimum(start, hop - start) <= NEAR * hop, 0.0, start - hop)[()]


def window_starts(
    recording_length: float, *, segment_length: float, hop: float | None = None, phase: float = 0.0
) -> Floats:
    """The starts of all windows that one recording gets, in seconds; see the module for which these are.

    >>> window_starts(10.0, segment_length=4.0, hop=2.0).tolist()
    [0.0, 2.0, 4.0, 6.0]
    >>> window_starts(5.0, segment_length=2.0).tolist()
    [0.0, 2.0, 4.0]
    """
    step = segment_length if hop is None else hop
    start = first_start(phase, step)
    n = max(1, int(np.ceil((recording_length - segment_length - start) / step - NEAR)) + 1)
    return np.asarray(start + step * np.arange(n), dtype=np.float64)


def window_counts(
    recording_length: Any, *, segment_length: Any, hop: Any = None, phase: float | None = 0.0, edge: str = "truncate"
) -> tuple[Floats, Floats]:
    """How many windows recordings get and how many seconds are heard in them; expectations if the phase is None.

    Arrays broadcast. Every door that tells queries and seconds heard takes them from here.

    >>> [x.item() for x in window_counts(10.0, segment_length=4.0, hop=2.0)]
    [4.0, 16.0]
    >>> [x.item() for x in window_counts(10.0, segment_length=4.0, phase=None)]
    [3.5, 10.0]
    """
    given = (recording_length, segment_length, segment_length if hop is None else hop)
    total, w, step = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in given))
    rule = Edge.of(edge)
    if rule == Edge.CIRCULAR:
        return total / w, total + 0.0
    if phase is None:
        # Starts have density 1 / hop on the range of those that are asked.
        if rule == Edge.INSIDE:
            count = np.maximum(0.0, total - w) / step
            return count, count * w
        more = total - w + step
        count = np.where(more > 0, more / step + 1, 1.0)
        heard = np.where(more > 0, _heard_between(-step, more, total, w) / step, total)
        return count, count * w if rule == Edge.INFINITE else heard
    start = first_start(phase, step)
    last = np.maximum(0.0, np.ceil((total - w - start) / step - NEAR))
    cut = np.maximum(0.0, start + last * step + w - total)
    if rule == Edge.INSIDE:
        count = np.maximum(0.0, last + 1 - (start < 0) - ((cut > NEAR * w) & ((last > 0) | (start == 0))))
        return count, count * w
    count = last + 1
    if rule == Edge.INFINITE:
        return count, count * w
    # Only the first window can begin before 0; where windows overlap, only the last can reach past the end.
    return count, count * w + np.minimum(start, 0.0) - cut


def _heard_between(low: Any, high: Any, total: Floats, w: Floats) -> Floats:
    """The integral of the seconds heard in (s, s + w) within (0, total) over starts s from low to high."""
    points = np.stack([np.clip(x, low, np.maximum(low, high)) for x in (low, 0 * total, total - w, high)])
    points = np.sort(points, axis=0)
    heard = np.maximum(0.0, np.minimum(points + w, total) - np.maximum(points, 0.0))
    return np.asarray((np.diff(points, axis=0) * (heard[1:] + heard[:-1]) / 2).sum(axis=0))


def cell_labels(present: Any, *, cells: int, windows: int, votes: int) -> Floats:
    """The labels of cells from the answers (1, 0, NaN: none yet) of windows from 0: 1, 0, or NaN where it is open.

    >>> cell_labels([1, 0, 1], cells=4, windows=2, votes=2).tolist()
    [1.0, 0.0, 0.0, 1.0]
    """
    answers = np.asarray(present, dtype=np.float64)
    if len(answers) == 0:
        return np.zeros(cells)
    i = np.arange(cells)
    first, last = np.maximum(0, i - windows + 1), np.minimum(len(answers) - 1, i)
    n = np.maximum(0, last - first + 1)
    need = votes_needed(n, votes=votes, windows=windows)
    yes, no = (np.concatenate(([0], np.cumsum(answers == answer))) for answer in (1, 0))
    first = np.minimum(first, last + 1)
    ayes, noes = yes[last + 1] - yes[first], no[last + 1] - no[first]
    return np.where(ayes >= need, 1.0, np.where(noes > n - need, 0.0, np.nan))


def window_times(
    d: Floats, x0: Floats, *, segment_length: Floats, hop: Floats, votes: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """For one event: the chance that it is found, the seconds of false and of missed presence, and those of false
    presence within the cells that meet it.

    ``x0`` is the required overlap, infinite where no window can hold it. Arrays broadcast; K need not be whole.
    """
    possible = np.isfinite(x0)
    x = np.where(possible, x0, 0.0)
    stretch = d + segment_length - 2 * x
    # A stretch of exactly n hops holds n windows for almost every phase, whichever way it was rounded.
    count = np.floor(stretch / hop + 1e-9)
    rest = np.clip(stretch - (votes - 1) * hop, 0.0, hop)
    beyond = segment_length - (votes - 1) * hop - x  # how far a label reaches past the event, before U and V
    reach = np.where(possible & (count >= votes), hop, np.where(possible & (count == votes - 1), rest, 0.0))

    def ramp(y: Floats) -> Floats:
        return np.maximum(y, 0.0) ** 2 / 2

    def saw(y: Floats) -> Floats:  # the integral of y mod hop
        y = np.maximum(y, 0.0)
        return np.floor(y / hop) * hop**2 / 2 + np.mod(y, hop) ** 2 / 2

    chance = reach / hop
    fp = 2 / hop * (ramp(beyond) - ramp(beyond - reach))
    fn = 2 / hop * (ramp(reach - beyond) - ramp(-beyond)) + (1 - chance) * d
    return chance, fp, fn, 2 / hop * (saw(beyond) - saw(beyond - reach))


def unlike(segments: Intervals, others: Intervals) -> Intervals:
    """The segments that are not nearly one of the others."""
    for other in others:
        both = np.minimum(segments[:, 1], other[1]) - np.maximum(segments[:, 0], other[0])
        either = np.maximum(segments[:, 1], other[1]) - np.minimum(segments[:, 0], other[0])
        segments = segments[both < 0.7 * either]
    return segments
