"""Interval algebra against a fine raster; FIX and ORC segments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weakly import InvalidInput
from weakly.model.intervals import (
    as_intervals,
    clip,
    complement,
    contains,
    duration,
    fixed_segments,
    intersect,
    merge,
    oracle_segments,
)

#: Pairs of whole numbers, so that a raster of unit cells holds them exactly.
PAIRS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=8
).map(lambda pairs: np.array(pairs, dtype=float).reshape(-1, 2))


def raster(intervals):
    cells = np.zeros(40, bool)
    for start, end in intervals:
        cells[int(start) : int(end)] = True
    return cells


@given(pairs=PAIRS)
def test_merge_is_the_union(pairs):
    merged = merge(pairs)
    assert (raster(merged) == raster(pairs)).all()
    assert merge(merged).tolist() == merged.tolist()
    assert (merged[1:, 0] > merged[:-1, 1]).all()
    assert duration(pairs) == raster(pairs).sum()
    assert merge(pairs[::-1]).tolist() == merged.tolist()


@given(left=PAIRS, right=PAIRS)
def test_intersection_complement_and_clip(left, right):
    a, b = merge(left), merge(right)
    assert (raster(intersect(a, b)) == (raster(a) & raster(b))).all()
    assert (raster(complement(a, 0, 40)) == ~raster(a)).all()
    inside = np.arange(40)
    assert (raster(clip(a, 5, 20)) == (raster(a) & (inside >= 5) & (inside < 20))).all()
    assert complement(complement(a, 0, 40), 0, 40).tolist() == a.tolist()


@given(pairs=PAIRS, times=st.lists(st.integers(0, 40), min_size=1, max_size=5))
def test_contains_knows_what_lies_inside(pairs, times):
    merged, cells = merge(pairs), raster(pairs)
    points = np.array(times, dtype=float)
    assert contains(merged, points + 0.5).tolist() == [bool(t < 40 and cells[t]) for t in times]


@given(total=st.floats(0.5, 50), width=st.floats(0.2, 60), phase=st.floats(-5, 5))
def test_fixed_segments_tile_and_are_never_stretched(total, width, phase):
    segments = fixed_segments(recording_length=total, segment_length=width, phase=phase)
    assert segments[0, 0] == 0.0
    assert segments[-1, 1] == total
    assert (segments[1:, 0] == segments[:-1, 1]).all()
    lengths = np.diff(segments, axis=1).ravel()
    assert lengths[1:-1] == pytest.approx(np.full(max(0, lengths.size - 2), width))
    assert (lengths <= width * (1 + 1e-9)).all()


def test_a_recording_divides_into_whole_segments():
    assert len(fixed_segments(recording_length=1.0, segment_length=0.1)) == 10
    assert len(fixed_segments(recording_length=100, segment_length=7.3)) == 14
    assert 3 * 0.6 < 1.8  # in floating point; the third edge is the end all the same
    assert fixed_segments(recording_length=1.8, segment_length=0.6)[-1].tolist() == [1.2, 1.8]


@pytest.mark.parametrize(
    ("events", "count"),
    [([(1, 2), (4, 5)], 5), ([(0, 2), (4, 5)], 4), ([(0, 2), (4, 9)], 3), ([], 1), ([(0, 9)], 1)],
)
def test_oracle_segments_are_2m_minus_1_to_2m_plus_1(events, count):
    segments = oracle_segments(events, recording_length=9)
    assert len(segments) == count
    assert duration(segments) == 9


def test_bad_intervals():
    with pytest.raises(InvalidInput, match=r"events must end after they start, got \(2, 1\) at position 1"):
        as_intervals([(0, 1), (2, 1)], name="events")
    with pytest.raises(InvalidInput, match=r"shape \(n, 2\)"):
        as_intervals([1, 2, 3])
    with pytest.raises(InvalidInput, match="pairs of numbers"):
        as_intervals([("a", "b")])
