"""Uniform offsets and what identifies a presence criterion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weakly.apps.paper import appendix
from weakly.base.errors import InvalidInput

phases = st.lists(st.floats(0, 0.999), min_size=2, max_size=40)


@given(phases, st.floats(0, 1))
def test_kuiper_does_not_care_where_the_circle_is_cut(values, shift):
    u = np.asarray(values)
    assert appendix.kuiper(np.mod(u + shift, 1.0))[0] == pytest.approx(appendix.kuiper(u)[0], abs=1e-9)


def test_kuiper_p_values_are_uniform_for_uniform_phases():
    rng = np.random.default_rng(5)
    p = np.array([appendix.kuiper(rng.random(100))[1] for _ in range(1000)])
    for level in (0.05, 0.2, 0.5, 0.8):
        assert np.mean(p < level) == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 1000))


def test_kuiper_notices_what_is_not_uniform():
    rng = np.random.default_rng(6)
    assert appendix.kuiper(rng.beta(2, 2, 300))[1] < 1e-3
    with pytest.raises(InvalidInput, match=r"number in \[0, 1\]"):
        appendix.kuiper([0.5, 1.5])


def test_offsets_follow_the_definition():
    """b_q - a_e of every segment that overlaps an event, by looking at all segments."""
    rng = np.random.default_rng(7)
    onset, d = rng.uniform(1, 50, 25), 1.3
    for cell in appendix.measured_offsets("x", onset, np.full(25, d)):
        q = cell.segment_length
        slow = []
        for a in onset:
            for k in range(int(60 / q)):
                if k * q < a + d and (k + 1) * q > a:
                    slow.append(((k + 1) * q - a) / (d + q))
        assert np.sort(cell.offsets) == pytest.approx(np.sort(slow), abs=1e-6)


def test_events_cut_by_the_start_are_left_out():
    cell = appendix.measured_offsets("x", [0.0, 0.0, 1.0, 2.5], [1.0, 1.0, 1.0, 1.0])[0]
    assert cell.n == 2


def test_the_recipe_cannot_tell_criteria_apart_and_answers_can():
    found = appendix.recovery(criteria=[0.1, 0.5, 0.9], n=3000, rng=2)
    assert np.ptp(found["recipe"]) < 0.1
    assert found["consistent"] == pytest.approx([0.1, 0.5, 0.9], abs=0.01)
    assert (found["low"] <= found["true"]).all()
    assert (found["true"] <= found["high"]).all()
