"""Numbers in words, findings and conditions: the same grammar at every door."""

import pandas as pd
import pytest

from weakly import InvalidInput
from weakly.apps.label.live import targets
from weakly.base.results import Column, Condition, format_value
from weakly.studies.plan.decision import SENSES


@pytest.mark.parametrize(
    "text", ["event_recall>=90%", "event_recall >= 0.9", "event-recall>=.9", " event_recall>=9e1% "]
)
def test_a_share_and_a_percentage_are_one_condition_at_every_door(text):
    wanted = Condition("event_recall", ">=", 0.9)
    assert Condition.parse(text) == wanted  # audit and check --fail-on
    assert Condition.targets(text, SENSES) == (wanted,)  # plan
    assert targets(text) == (wanted,)  # label
    assert Condition.parse(text).holds({"all": {"event_recall": 0.9}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("event_recall>=90", "percentage"),
        ("event_recall<=0.9", "at least"),
        ("wrong_time>1", "at most"),
        ("Dog.event_recall>=0.9", "event_recall must be at least"),
        ("speed<=1", "must be one of"),
        ("wrong_time<=1e", "must look like"),
        ("", "must look like"),
    ],
)
def test_targets_are_refused_alike(text, message):
    for door in (targets, lambda given: Condition.targets(given, SENSES)):
        with pytest.raises(InvalidInput, match=message):
            door(text)


def test_a_class_may_hold_signs_of_a_condition():
    found = Condition.parse("big dog: v1.5.event_recall<50%")
    assert (found.label, found.word, found.sense, found.value) == ("big dog: v1.5", "event_recall", "<", 0.5)
    assert found.holds({"big dog: v1.5": {"event_recall": 0.4}, "all": {}})
    assert found.text == "big dog: v1.5.event_recall<0.5"


def test_expected_numbers_below_ten_keep_their_digits_and_larger_counts_are_whole():
    shown = [format_value("n_events", value) for value in (0.345, 9.96, 10.4, 34.5, 2140.2)]
    assert shown == ["0.345", "9.96", "10", "34", "2,140"]
    assert format_value("cost", 34.56) == "34.6"  # no count


def test_what_rounds_to_nothing_is_said_to_be_below_it_and_a_loss_keeps_its_sign():
    """A column shares its decimals; no number that is not 0 reads as 0, and none below it as one above."""
    for value, shown in ((0.0004, "< 0.01"), (-0.0004, "-0.0004"), (0.0, "0.0")):
        assert Column.of(pd.DataFrame({"gain": [value, 12.3]}))[0].cells[0] == shown
