"""Tallies add, and what they say of a sample is what the sample says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
import weakly as wk
from grids import EV3, on_grid, recordings
from weakly.base.errors import InvalidInput
from weakly.base.results import METRICS
from weakly.engine.tally import Tally, of_labels
from weakly.model.annotator import PresenceRule
from weakly.model.answer_model import AnswerModels
from weakly.model.intervals import EventArrays, fixed_segments


def tally_of(timelines, width=0.7, criteria=(0.3, 0.9)):
    tally = Tally.empty(np.array([width]), criteria)
    tally.accumulate(0, *on_grid(timelines, width, AnswerModels.of(presence_criterion=list(criteria))))
    return tally


def many(n=40, seed=0):
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.random(2 * rng.integers(0, 6))) * 10 for _ in range(n)]
    return EventArrays.of([list(zip(row[::2], row[1::2])) for row in rows], 10)


@given(st.integers(0, 40))
def test_adding_parts_is_scoring_the_whole(cut):
    timelines = many()
    whole, parts = tally_of(timelines), tally_of(timelines.part(0, cut)) + tally_of(timelines.part(cut, 40))
    for name in ("sums", "products", "base_sums", "base_products"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-12)


def test_tallies_of_other_questions_do_not_add():
    with pytest.raises(InvalidInput, match="same segment lengths"):
        tally_of(many()) + tally_of(many(), width=0.8)
    with pytest.raises(InvalidInput, match="criteria"):
        tally_of(many()) + tally_of(many(), criteria=(0.3, 0.8))


def test_metrics_are_the_definitions():
    timelines = many()
    metrics = tally_of(timelines).metrics()
    scores = [reference.score([tuple(event) for event in bounds], length, 0.7, 0.3) for bounds, length in timelines]

    def total(name):
        return sum(score[name] for score in scores)

    right = total("tp") + total("overlap_time") - total("event_time_seen") - total("fp")
    wrong = total("fp") + total("event_time") - total("tp")
    wanted = {
        "overlap_accuracy": right / total("overlap_time"),
        "overlap_accuracy_per_recording": total("mean") / total("n_meeting"),
        "recording_accuracy": 1 - wrong / total("time"),
        "precision": total("tp") / (total("tp") + total("fp")),
        "recall": total("tp") / total("event_time"),
        "event_recall": total("n_found") / total("n_events"),
        "wrong_time": wrong / len(scores),
    }
    assert set(wanted) == set(METRICS)
    for name, value in wanted.items():
        assert metrics[name][0, 0] == pytest.approx(value, abs=1e-9), name


def test_standard_errors_cover_the_spread_of_repeated_samples():
    found = {name: [] for name in METRICS}
    errors = {name: [] for name in METRICS}
    for seed in range(200):
        metrics = tally_of(many(60, seed)).metrics()
        for name in METRICS:
            found[name].append(metrics[name][0, 0])
            errors[name].append(metrics[f"{name}_se"][0, 0])
    for name in METRICS:
        assert np.mean(errors[name]) == pytest.approx(np.std(found[name]), rel=0.2), name


def test_one_recording_has_no_standard_error_and_no_event_no_recall():
    metrics = tally_of(EventArrays.of([EV3], 10)).metrics()
    assert np.isnan(metrics["overlap_accuracy_se"]).all()
    empty = tally_of(EventArrays.of([[], []], 10)).metrics()
    assert np.isnan(empty["event_recall"]).all()
    assert np.isnan(empty["overlap_accuracy"]).all()
    assert (empty["recording_accuracy"] == 1).all()


@given(recordings(), st.sampled_from([0.25, 0.7, 3.0]), st.sampled_from([0.2, 0.5, 1.0]))
def test_explicit_labels_of_a_grid_score_like_the_grid(recording, width, criterion):
    events, length = recording
    timelines = EventArrays.of([events], length)
    segments = fixed_segments(recording_length=length, segment_length=width)
    labels = [
        any(reference.satisfies(tuple(event), tuple(segment), criterion) for event in timelines.bounds)
        for segment in segments
    ]
    tally = of_labels(timelines, [segments], [labels], rule=PresenceRule.fraction(criterion))
    other = tally_of(timelines, width, (criterion,))
    assert tally.sums == pytest.approx(other.sums, abs=1e-9)
    assert tally.base_sums == pytest.approx(other.base_sums, abs=1e-9)


def test_time_outside_the_segments_is_absent_and_not_heard():
    tally = of_labels(EventArrays.of([[(1, 3), (8, 9)]], 10), [[(2, 4)]], [[True]])
    metrics = tally.metrics()
    assert tally.listened.item() == 2
    assert metrics["recall"].item() == pytest.approx(1 / 3)
    assert metrics["wrong_time"].item() == pytest.approx(3)
    assert metrics["event_recall"].item() == pytest.approx(0.5)


def test_bad_labels_are_refused():
    timelines = EventArrays.of([[(1, 3)]], 10)
    with pytest.raises(InvalidInput, match="one entry per recording"):
        of_labels(timelines, [], [])
    with pytest.raises(InvalidInput, match="present of recording 0 must have 1 labels"):
        of_labels(timelines, [[(0, 2)]], [[True, False]])


def test_second_class_results_pool():
    import pandas as pd

    frame = pd.DataFrame(
        {"recording": ["a", "a", "b"], "onset": [1, 2, 3], "offset": [2, 4, 4.5], "label": ["x", "y", "x"]}
    )
    events = wk.Events.from_frame(frame, recording_length=10)
    found = wk.evaluate(events, segment_length=[1, 2], presence_criterion=[0.3, 0.9])
    overall = found.overall.to_frame()
    assert overall["n_events"].tolist() == [3] * 4
    assert overall["n_recordings"].tolist() == [2] * 4
    each = found.to_frame().groupby(["segment_length", "presence_criterion"])
    assert overall["n_overlapping"].to_numpy() == pytest.approx(each["n_overlapping"].sum().to_numpy())
    assert overall["wrong_time"].to_numpy() == pytest.approx(each["wrong_time"].sum().to_numpy())
    assert overall["recording_accuracy"].to_numpy() == pytest.approx(each["recording_accuracy"].mean().to_numpy())
    assert overall["listened"].to_numpy() == pytest.approx(each["listened"].first().to_numpy())
    assert overall["n_queries"].to_numpy() == pytest.approx(each["n_queries"].first().to_numpy())


def test_the_same_class_twice_tells_nothing_new():
    import pandas as pd

    rng = np.random.default_rng(5)
    onset = rng.random(40) * 8
    frame = pd.DataFrame(
        {"recording": [f"r{i}" for i in range(40)], "onset": onset, "offset": onset + 1 + rng.random(40)}
    )
    events = wk.Events.from_frame(pd.concat([frame.assign(label="x"), frame.assign(label="y")]), recording_length=12)
    found = wk.evaluate(events, segment_length=1.3, presence_criterion=0.6)
    one, both = found.to_frame().iloc[0], found.overall.to_frame().iloc[0]
    for name in METRICS:
        times = 2 if name == "wrong_time" else 1
        assert both[name] == pytest.approx(times * one[name]), name
        assert both[f"{name}_se"] == pytest.approx(times * one[f"{name}_se"]), name
