"""evaluate: what goes in, what comes out, and what is refused."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

import weakly as wk
from grids import EV3
from weakly.base.errors import AssumptionWarning, InvalidInput
from weakly.base.results import to_json
from weakly.model.intervals import EventArrays

HOW = {"segment_length": 1.3, "presence_criterion": 0.45}


def test_one_row_gives_numbers_and_many_give_arrays():
    one = wk.evaluate([EV3], recording_length=10, **HOW)
    assert isinstance(one.overlap_accuracy, float)
    many = wk.evaluate([EV3], recording_length=10, segment_length=[1, 2, 3], presence_criterion=[0.3, 0.5])
    assert many.overlap_accuracy.shape == (6,)
    frame = many.to_frame()
    assert frame["segment_length"].tolist() == [1, 1, 2, 2, 3, 3]
    assert frame["presence_criterion"].tolist() == [0.3, 0.5] * 3
    assert (frame["overlap_accuracy"].to_numpy() == many.overlap_accuracy).all()
    with pytest.raises(AttributeError, match="acuracy"):
        _ = one.acuracy


def test_a_share_that_no_segment_holds_is_said_with_the_rule_that_would():
    """Epochs of 10 s and seizures of a minute: half of one is in no epoch, a second of it is."""
    seizures, how = [[(100.0, 160.0)]], {"recording_length": 600, "segment_length": 10}
    lost = wk.evaluate(seizures, presence_criterion=0.5, **how)
    assert "0 % of events found" in lost.answer
    assert "No segment holds 50 % of an event" in lost.answer
    assert "--rule 'seconds:1|fraction:0.5'" in lost.answer
    found = wk.evaluate(seizures, rule="seconds:1|fraction:0.5", **how)
    assert found.event_recall == 1
    assert "No segment holds" not in found.answer
    assert "No segment holds" not in wk.evaluate(seizures, presence_criterion=0.1, **how).answer
    simulated = wk.simulate(60.0, n_events=1, n_recordings=20, presence_criterion=0.5, rng=1, **how)
    assert "No segment holds 50 % of an event" in simulated.answer


def test_accuracy_never_comes_without_event_recall():
    columns = list(wk.evaluate([EV3], recording_length=10, **HOW).to_frame())
    wanted = ["overlap_accuracy", "overlap_accuracy_per_recording", "recording_accuracy", "precision", "recall"]
    assert [name for name in columns if name in wanted] == wanted
    assert {"event_recall", "wrong_time", "n_queries", "listened", "n_recordings", "n_events"} <= set(columns)


def test_results_are_json():
    found = wk.evaluate([EV3, []], recording_length=10, **HOW)
    document = json.loads(to_json(found))
    assert document["rows"][0]["presence_criterion"] == 0.45
    assert document["settings"]["phase"] == "random"
    assert set(document) == {"settings", "answer", "rows"}


def test_queries_are_those_of_the_grid_that_is_scored():
    fixed = wk.evaluate([EV3, []], recording_length=10, phase=0, **HOW)
    assert (fixed.n_queries, fixed.listened) == (16, 20)
    random = wk.evaluate([EV3, []], recording_length=10, **HOW)
    assert (random.n_queries, random.listened) == (pytest.approx(2 * (10 / 1.3 + 1)), pytest.approx(20))
    inside = wk.evaluate([EV3], recording_length=10, edge="inside", **HOW)
    assert (inside.n_queries, inside.listened) == (pytest.approx(8.7 / 1.3), pytest.approx(8.7))
    hops = {"recording_length": 10, "segment_length": 2, "hop": 0.5, "presence_criterion": 0.5}
    windows = wk.evaluate([EV3], phase=0, **hops)
    assert (windows.n_queries, windows.listened) == (17, 34)
    windows = wk.evaluate([EV3], **hops)
    assert (windows.n_queries, windows.listened) == (18, pytest.approx(35.5))


def test_a_report_is_one_file(tmp_path):
    found = wk.evaluate([EV3], recording_length=10, segment_length=[0.5, 1.3], presence_criterion=[0.3, 0.8])
    text = found.report(tmp_path / "page.html").read_text()
    assert text.count("<svg") == 2
    assert found.answer.split(". ")[0] in text
    assert "http" not in text.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"segment_length": 0, "presence_criterion": 0.5}, "segment_length must be > 0, got 0"),
        ({"segment_length": float("nan"), "presence_criterion": 0.5}, "segment_length must be > 0, got nan"),
        ({"segment_length": 1, "presence_criterion": 50}, "a percentage"),
        ({"segment_length": 1, "presence_criterion": 0.5, "rule": wk.PresenceRule.any()}, "exactly one"),
        ({"segment_length": 1, "rule": "loud"}, "rule must be a number or one of"),
        ({"segment_length": 1, "annotator": {"criterion": 0.5}}, "annotator must be a number, a law, a PresenceRule"),
        ({"segment_length": 1, "presence_criterion": 0.5, "phase": "rnadom"}, "did you mean 'random'"),
        ({"segment_length": 1, "presence_criterion": 0.5, "phase": -1}, "phase must be a number >= 0"),
        ({"segment_length": 1, "presence_criterion": 0.5, "edge": "wrap"}, "edge must be one of"),
        ({"segment_length": 1, "presence_criterion": 0.5, "edge": "circular", "phase": 0}, "edge must be one of"),
        ({"segment_length": 1, "presence_criterion": 0.5, "votes": 2}, "votes needs a hop"),
        ({"segment_length": 1, "presence_criterion": 0.5, "hop": 0.3}, "whole number of hops of 0.3 s, got 1"),
        ({"segment_length": 1, "presence_criterion": 0.5, "hop": 0.5, "votes": 3}, "from 1 to 2"),
        ({"segment_length": [], "presence_criterion": 0.5}, "segment_length must be one number or a list"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        wk.evaluate([EV3], recording_length=10, **arguments)


@pytest.mark.parametrize(
    ("recordings", "message"),
    [
        ([[(0, 1)], [(2, float("nan"))]], r"recording 1.*\(2, nan\)"),
        ([[(0, 1)], [(-1, 2)]], r"recording 1: event 0 \(-1, 2\)"),
        ([[(0, 1)], [(3, 2)]], r"recording 1.*\(3, 2\)"),
        ([[(0, 1)], [(1, 2), (9, 11)]], r"recording 1: event 1 \(9, 11\) must lie inside \(0, 10\)"),
    ],
)
def test_bad_events_are_named(recordings, message):
    with pytest.raises(InvalidInput, match=message):
        wk.evaluate(recordings, recording_length=10, **HOW)


def test_overlapping_and_unsorted_events_are_merged():
    left = wk.evaluate([[(7, 9.5), (1.5, 2.2), (2.9, 3.3), (1, 2)]], recording_length=10, **HOW)
    assert left.to_frame().equals(wk.evaluate([EV3], recording_length=10, **HOW).to_frame())


@pytest.mark.parametrize("bounds", [[[3, 4], [1, 2]], [[1, 3], [2, 4]], [[1, 1], [2, 4]], [[1, 2], [9, 12]]])
def test_timelines_made_by_hand_are_checked(bounds):
    timelines = EventArrays(np.array(bounds, dtype=float), np.array([0, 2]), np.array([10.0]))
    with pytest.raises(InvalidInput, match="recording 0: event"):
        wk.evaluate(timelines, **HOW)


def test_an_unknown_length_is_said():
    frame = pd.DataFrame({"recording": ["a"], "onset": [1.0], "offset": [2.0], "label": ["x"]})
    with pytest.warns(AssumptionWarning, match="length of 1 of 1 recording is unknown"):
        wk.evaluate(wk.Events.from_frame(frame), **HOW)
    with pytest.raises(InvalidInput, match="recording_length must be given"):
        wk.evaluate([EV3], **HOW)
    with pytest.raises(InvalidInput, match="known to the events"):
        wk.evaluate(wk.Events.from_frame(frame, recording_length=5), recording_length=5, **HOW)


def test_events_of_one_class_or_all():
    frame = pd.DataFrame({"recording": ["a", "b"], "onset": [1, 2], "offset": [2, 4], "label": ["x", "y"]})
    events = wk.Events.from_frame(frame, recording_length=10)
    assert wk.evaluate(events, **HOW).label.tolist() == ["x", "y"]
    assert wk.evaluate(events, label="x", **HOW).label == "x"
    with pytest.raises(InvalidInput, match="label must be one of"):
        wk.evaluate(events, label="z", **HOW)


def test_the_number_of_workers_changes_no_bit():
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    points = np.sort(rng.random((5000, 10)), axis=1) * 10
    timelines = EventArrays.of([list(zip(row[::2], row[1::2])) for row in points], 10)
    how = {"segment_length": np.linspace(0.2, 3, 40), "presence_criterion": [0.1, 0.5, 0.9], "phase": 0.1}
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(3) as three:
        frames = [wk.evaluate(timelines, executor=each, **how).to_frame() for each in (None, one, three)]
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])


def test_the_picture_shows_event_recall_beside_accuracy():
    ax = wk.evaluate([EV3], recording_length=10, segment_length=[1, 2, 3], presence_criterion=[0.3, 0.9]).plot()
    assert ax.get_xlabel() == "segment length $d_q$ (s)"
    assert "events found" in [text.get_text() for text in ax.get_legend().get_texts()]
    with pytest.raises(InvalidInput, match="metric must be one of"):
        wk.evaluate([EV3], recording_length=10, **HOW).plot(metric="acc")


def test_means_per_recording_are_left_out_of_large_work_aloud(monkeypatch):
    monkeypatch.setattr(sys.modules["weakly.studies.evaluate.evaluator"], "MANY", 3)
    asked = {"recording_length": 10.0, "segment_length": [1.0, 2.0], "presence_criterion": 0.5}
    with pytest.warns(AssumptionWarning, match="overlap_accuracy_per_recording is left empty"):
        large = wk.evaluate([EV3], **asked)
    assert np.isnan(large.overlap_accuracy_per_recording).all()
    whole = wk.evaluate([EV3], **asked, per_recording=True)
    assert np.isfinite(whole.overlap_accuracy_per_recording).all()
    assert whole.overlap_accuracy.tolist() == large.overlap_accuracy.tolist()
    assert np.isfinite(wk.evaluate([EV3], **asked, phase=0.0).overlap_accuracy_per_recording).all()
