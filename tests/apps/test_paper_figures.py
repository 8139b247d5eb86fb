"""The drawings: the numbers they carry follow from the definitions."""

import numpy as np
import pytest

from weakly.apps.paper import drawings, figures
from weakly.model.annotator import PresenceRule, segment_accuracy
from weakly.theory import overlap_accuracy


def test_the_first_figure_tells_its_story():
    values = drawings.weak_labeling().values
    assert [row["n_queries"] for row in values.values()] == [7, 7, 30, 60]
    assert values["ORC, B = 7"]["overlap_accuracy"] == 1.0
    found = [values[f"FIX, B = {count}"] for count in (7, 30, 60)]
    assert [row["event_recall"] for row in found] == pytest.approx([1, 1, 1 / 3])
    assert found[1]["overlap_accuracy"] > found[0]["overlap_accuracy"] > found[2]["overlap_accuracy"]


def test_scores_follow_the_definition():
    import reference
    from weakly.model.intervals import fixed_segments

    events = [tuple(event) for event in drawings.EVENTS.tolist()]
    for count in (7, 30, 60):
        width = drawings.RECORDING_LENGTH / count
        segments = fixed_segments(recording_length=drawings.RECORDING_LENGTH, segment_length=width)
        found = drawings.scores(segments, drawings.EVENTS, 0.5)
        slow = reference.score(events, drawings.RECORDING_LENGTH, width, 0.5)
        assert found["overlap_accuracy"] == pytest.approx(slow["fit"] / slow["n_overlapping"], abs=1e-9)
        assert found["event_recall"] == pytest.approx(slow["n_found"] / 3)
        assert found["present"].sum() == slow["n_present"]


def test_the_area_of_the_proof_is_theorem_1():
    area = drawings.proof_idea().values["area"]
    assert area / 2 == pytest.approx(
        overlap_accuracy(event_length=1, segment_length=1, presence_criterion=0.5), abs=1e-6
    )


@pytest.mark.parametrize("case", ["i", "ii"])
def test_states_are_where_the_accuracy_bends(case):
    d, q, g = drawings.CASES[case]
    assert (d >= q) == (case == "i")
    rows = drawings.states(event_length=d, segment_length=q, presence_criterion=g)
    for k in range(5):
        (start, _, left), (end, right, _) = rows[k], rows[k + 1]
        t = np.linspace(start, end, 7)[1:-1]
        f = segment_accuracy(event=np.stack((t - d, t), axis=-1), segment=(0.0, q), presence_criterion=g)
        assert f == pytest.approx(np.interp(t, [start, end], [left, right]), abs=1e-9)


def test_where_the_criterion_is_out_of_reach_nothing_is_ever_present():
    d, q, g = drawings.INFEASIBLE
    t = np.linspace(0, d + q, 4001)
    event = np.stack((t - d, t), axis=-1)
    assert not PresenceRule.fraction(g).is_present(event=event, segment=np.array([0.0, q])).any()
    assert PresenceRule.fraction(q / d).is_present(event=event, segment=np.array([0.0, q])).any()  # just within reach
    assert drawings.infeasible().values["t"] == [0.0, q, d, d + q]


def test_costs_in_text_and_code_differ_where_events_are_overestimated():
    assert figures.relative_cost(as_code=True, overestimation=1) == pytest.approx(
        figures.relative_cost(as_code=False, overestimation=1)
    )
    text, code = (figures.relative_cost(as_code=flag, overestimation=8, n_events=10) for flag in (False, True))
    fix = 50 + 50 / 0.8090169944
    assert text == pytest.approx(fix / (50 + 0.5 * 168), rel=1e-9)
    assert code == pytest.approx(fix / (50 + 0.5 * 161), rel=1e-9)


def test_break_evens_are_on_the_figure():
    found = figures.cost_figure("cost_events").values["break_even_n_events"]
    assert list(found.values()) == pytest.approx([61.3033988750, 30.4016994375, 14.9508497187, 7.2254248594], abs=1e-9)


def test_the_tables():
    one, two = drawings.datasets().frame, drawings.expressions().frame
    assert one["segment_length (s)"].tolist() == [4.0, 10.0, 10.0, 10.0]
    assert one["best for events of (s)"].iloc[1] == pytest.approx(10 / 0.8090169944)
    assert len(two) == 8
    for formula, direct in zip(two["F, example"], two["F from the definition"]):
        assert formula == direct
