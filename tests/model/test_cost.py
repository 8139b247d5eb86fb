"""What labeling costs: the reference table, brute force, and the paper's break-evens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weakly.base.errors import InvalidInput
from weakly.base.results import hours
from weakly.model.cost import Cost
from weakly.theory import (
    affordable_accuracy,
    affordable_segment_length,
    break_even_events,
    break_even_overestimation,
    break_even_recording_length,
    cost_ratio,
    longest_segment_length,
    minimal_cost,
)

CRITERIA = st.floats(0.05, 1.0)
EVENTS = st.floats(0.1, 20.0)


def accuracy(d, q, g):
    """Theorem 1, as printed."""
    return np.where(q >= g * d, d * ((2 * g + 1) * q - 2 * g**2 * d) / (q * (d + q)), q / (d + q))


def best_length(g):
    """Theorem 2, as printed, for a unit event."""
    return g * (2 * g + np.sqrt(4 * g**2 + 4 * g + 2)) / (1 + 2 * g)


class TestReferenceTable:
    @pytest.mark.parametrize(
        ("overestimation", "expected"), [(1, 61.3033988750), (2, 30.4016994375), (8, 7.2254248594)]
    )
    def test_break_even_events(self, overestimation, expected):
        value = break_even_events(recording_length=100, segment_length=best_length(0.5), overestimation=overestimation)
        assert value == pytest.approx(expected, abs=1e-9)

    def test_break_even_recording_length(self):
        value = break_even_recording_length(segment_length=best_length(0.5), n_events=1, overestimation=8)
        assert value == pytest.approx(19.4164078650, abs=1e-9)

    def test_minimal_cost(self):
        value = minimal_cost(event_length=1, presence_criterion=0.5, recording_length=100, overlap_accuracy=0.7)
        assert value == pytest.approx(88.0741759643, abs=1e-9)

    def test_affordable_accuracy(self):
        value = affordable_accuracy(event_length=1, presence_criterion=0.5, recording_length=100, budget=80)
        assert value == pytest.approx(0.6375, abs=1e-12)

    def test_longest_segment_for_an_error(self):
        value = longest_segment_length(event_length=1, presence_criterion=0.5, wrong_time=0.5)
        assert value == pytest.approx(1.0, abs=1e-12)

    def test_ratio_at_a_tenth(self):  # E19
        value = cost_ratio(recording_length=100, n_events=1, presence_criterion=0.1)
        assert value == pytest.approx(7.58, abs=5e-3)


class TestBruteForce:
    @given(event=EVENTS, criterion=CRITERIA, share=st.floats(0.05, 0.999))
    def test_the_longest_length_that_meets_an_accuracy(self, event, criterion, share):
        reachable = accuracy(1.0, best_length(criterion), criterion)
        target = share * reachable
        found = longest_segment_length(event_length=event, presence_criterion=criterion, overlap_accuracy=target)
        grid = event * np.geomspace(criterion, 1000, 20_001)
        meets = accuracy(event, grid, criterion) >= target
        step = grid[1] / grid[0]
        assert grid[meets].max() <= found * (1 + 1e-9) <= grid[meets].max() * step * (1 + 1e-6)
        assert accuracy(event, found, criterion) == pytest.approx(target, rel=1e-9)

    @given(event=EVENTS, criterion=CRITERIA, factor=st.floats(1.001, 5))
    def test_the_longest_length_that_meets_a_wrong_time(self, event, criterion, factor):
        target = factor * 2 * (np.sqrt(2) - 1) * criterion * event
        found = longest_segment_length(event_length=event, presence_criterion=criterion, wrong_time=target)
        wrong = found - 2 * criterion * event + 2 * criterion**2 * event**2 / found
        assert wrong == pytest.approx(target, rel=1e-9)
        assert found >= np.sqrt(2) * criterion * event * (1 - 1e-9)  # the longer of the two that do

    @given(event=EVENTS, criterion=CRITERIA, budget=st.floats(51, 500))
    def test_no_length_within_the_budget_is_better(self, event, criterion, budget):
        kw = {"event_length": event, "presence_criterion": criterion, "recording_length": 100}
        best, length = affordable_accuracy(budget=budget, **kw), affordable_segment_length(budget=budget, **kw)
        grid = np.geomspace(criterion * event, 1000 * event, 5001)
        allowed = grid[Cost(query_cost_share=0.5).of(listened=100, n_queries=100 / grid) <= budget]
        assert accuracy(event, allowed, criterion).max() <= best + 1e-12
        assert Cost(query_cost_share=0.5).of(listened=100, n_queries=100 / length) <= budget * (1 + 1e-9)

    def test_what_no_length_can_do(self):
        kw = {"event_length": 1, "presence_criterion": 0.5}
        assert np.isnan(longest_segment_length(overlap_accuracy=0.7640, **kw))
        assert np.isfinite(longest_segment_length(overlap_accuracy=0.7639, **kw))
        assert minimal_cost(overlap_accuracy=0.9, recording_length=100, **kw) == np.inf
        assert np.isnan(affordable_accuracy(budget=49, recording_length=100, **kw))

    @given(total=st.floats(10, 1000), width=st.floats(0.1, 10), count=st.integers(0, 100), over=st.floats(1, 10))
    def test_break_evens_are_where_the_ratio_is_one(self, total, width, count, over):
        kw = {"segment_length": width, "query_cost_share": 0.3}
        events = break_even_events(recording_length=total, segment_length=width, overestimation=over)
        if events >= 0:
            assert cost_ratio(recording_length=total, n_events=events, overestimation=over, **kw) == pytest.approx(1)
        factor = break_even_overestimation(recording_length=total, segment_length=width, n_events=count)
        if factor >= 1:
            ratio = cost_ratio(recording_length=total, n_events=count, overestimation=factor, **kw)
            assert ratio == pytest.approx(1)
        longest = break_even_recording_length(segment_length=width, n_events=count, overestimation=over)
        assert cost_ratio(recording_length=longest, n_events=count, overestimation=over, **kw) == pytest.approx(1)

    def test_a_query_that_costs_nothing_makes_no_difference(self):  # E18
        assert cost_ratio(recording_length=100, n_events=5, query_cost_share=0.0) == pytest.approx(1, abs=1e-15)


class TestCost:
    def test_share_and_prices(self):
        assert Cost(query_cost_share=0.25).of(listened=8, n_queries=4) == 7.0
        assert Cost(per_query=2.0, annotators=3).of(listened=8, n_queries=4) == 24.0
        assert Cost(per_second=0.5, per_query=2.0).of(listened=8, n_queries=np.array([1, 2])).tolist() == [6.0, 8.0]

    def test_queries_undo_the_cost(self):
        cost = Cost(per_second=0.5, per_query=2.0, annotators=3)
        assert cost.queries(budget=cost.of(listened=8, n_queries=4), listened=8) == pytest.approx(4)
        assert Cost(per_second=1.0).queries(budget=10, listened=5) == np.inf
        assert Cost(per_second=1.0).queries(budget=10, listened=50) == 0

    def test_words(self):
        assert Cost(per_second=1, currency="USD").words(1234.5) == "1,234 USD"
        assert "3 annotators" in Cost(annotators=3).description
        assert hours(360_000 * 2) == "200 hours"

    @pytest.mark.parametrize(
        ("kw", "message"),
        [
            ({"query_cost_share": 50}, "percentage"),
            ({"query_cost_share": 0.5, "per_query": 1}, "not several"),
            ({"per_query": -1}, "per_query must be >= 0"),
            ({"per_query": 0}, "free"),
            ({"annotators": 0}, "annotators must be a whole number"),
        ],
    )
    def test_refusals(self, kw, message):
        with pytest.raises(InvalidInput, match=message):
            Cost(**kw)

    def test_one_target(self):
        with pytest.raises(InvalidInput, match="one target"):
            longest_segment_length(event_length=1, presence_criterion=0.5)
