"""The rule by which a plan chooses, on rows whose numbers are made up."""

import pytest

from weakly.methods import ByHand, Everything, Fixed, Nothing
from weakly.methods.problem import MethodOutcome
from weakly.studies.plan.decision import choose, decide

HOW = {"objective": "wrong_time", "wanted": (), "budget": None}


def row(length, *, found, wrong, cost=100.0):
    """Segments of this length, with this share of events found and this wrong time."""
    return MethodOutcome(Fixed(length), 0.8, found, 0.8, 0.8, 0.9, wrong, 10.0, 60.0, cost)


def test_where_no_way_finds_nine_of_ten_events_hardly_fewer_than_the_most_are_found():
    most, near, few = row(1.0, found=0.8, wrong=5.0), row(2.0, found=0.77, wrong=4.0), row(3.0, found=0.6, wrong=1.0)
    choice = choose([most, near, few], **HOW)
    assert choice.row is near  # as good as the most within a twentieth, and less wrong; the least wrong finds too few
    assert choice.limit == "found"
    enough = row(4.0, found=0.9, wrong=8.0)
    assert choose([most, near, few, enough], **HOW).row is enough


def test_of_ways_that_are_as_good_the_cheapest_is_chosen():
    best, cheap, worse = (
        row(1.0, found=0.95, wrong=1.0, cost=90.0),
        row(2.0, found=0.95, wrong=1.02, cost=50.0),
        row(3.0, found=0.95, wrong=2.0, cost=10.0),
    )
    assert choose([best, cheap, worse], **HOW).row is cheap


@pytest.mark.parametrize(("cost", "chosen"), [(29.0, "by_hand"), (31.0, "fixed")])
def test_a_better_verdict_is_worth_three_times_the_cost_of_the_cheapest(cost, chosen):
    """Fair segments, and marks that are good: 20 s of events per recording."""
    plain = row(2.0, found=0.95, wrong=8.0, cost=10.0)
    marks = MethodOutcome(ByHand(), 0.99, 0.99, 0.99, 0.99, 0.99, 1.0, 10.0, 60.0, cost)
    nothing = MethodOutcome(Nothing(), 0.5, 0.0, 0.5, 0.5, 0.8, 20.0, 0, 0, 0.0)
    everything = MethodOutcome(Everything(), 0.5, 1.0, 0.2, 1.0, 0.2, 80.0, 0, 0, 0.0)
    taken, _ = decide([plain, marks, nothing, everything], **HOW)
    assert taken.row.method == chosen


def test_labels_that_are_no_use_are_not_bought_in_part():
    """A budget pays for no way, and no way is better than asking nobody, which costs nothing."""
    useless = row(2.0, found=0.95, wrong=30.0, cost=100.0)
    nothing = MethodOutcome(Nothing(), 0.5, 0.0, 0.5, 0.5, 0.8, 20.0, 0, 0, 0.0)
    everything = MethodOutcome(Everything(), 0.5, 1.0, 0.2, 1.0, 0.2, 80.0, 0, 0, 0.0)
    choice = choose([useless, nothing, everything], **{**HOW, "budget": 50.0})
    assert (choice.row, choice.limit) == (nothing, "nothing")
    assert choice.reachable
