"""Which process is taken for the likeliest."""

from types import SimpleNamespace

import pytest

from weakly.posterior.class_answers import ClassAnswers


@pytest.mark.parametrize(("bouts", "chosen"), [(None, 0), (False, 0), (True, 1)])
def test_events_that_are_said_to_come_in_bouts_do_whatever_the_score(bouts, chosen):
    modes = [SimpleNamespace(score=2.0), SimpleNamespace(score=1.0)]  # gaps of one kind fit better
    asked = ClassAnswers("owl", [], {}, 0.1, None, bouts=bouts)
    assert asked._likeliest(modes) is modes[chosen]
