"""What ways to label are compared on: who answers in which, and recordings that stand for others."""

import numpy as np
import pytest

from weakly import Cost, Lengths
from weakly.methods.fixed import Fixed, Windows
from weakly.methods.model import RecordingModel
from weakly.methods.problem import LabelingProblem
from weakly.model.answer_model import AnswerModels
from weakly.model.intervals import EventArrays


def test_slips_count_where_a_label_rests_on_several_answers():
    people = AnswerModels.of(presence_criterion=0.5)
    problem = LabelingProblem(None, people, Cost(), Lengths.fixed(1.0), slips=0.1)
    assert problem.answers_of(Fixed(1.0)) is people
    assert problem.answers_of(Windows(1.0, 0.5)) is problem.slipping
    assert problem.slipping is not people


def test_recordings_of_a_draft_stand_for_all_of_their_class():
    """Every third of seven and of two recordings: three that weigh 7/3 each, and one that weighs 2."""
    event = [(1.0, 2.0)]
    lines = {
        "owl": EventArrays.of([event] * 7 + [[]] * 2, 10.0),
        "fox": EventArrays.of([[]] * 7 + [event] * 2, 10.0),
    }
    model = RecordingModel.of(lines, "drawn")
    draft = model.part(3)
    n = len(draft.full)
    assert draft.weight[:n] == pytest.approx([7 / 3] * 3 + [2.0])
    assert draft.per_class(np.ones((n + len(draft.silent), 1))).ravel() == pytest.approx([9.0, 9.0])
