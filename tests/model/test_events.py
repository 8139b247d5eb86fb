"""Events, timelines and answers: what is kept, what is refused, and that nothing is lost between them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weakly import InvalidInput
from weakly.model.answers import Answers
from weakly.model.events import Events
from weakly.model.intervals import EventArrays, merge


def frame(*rows, columns=("recording", "onset", "offset", "label")):
    return pd.DataFrame(rows, columns=list(columns))


def test_recordings_without_events_are_kept():
    events = Events.from_frame(frame(("a", 1, 2, "x")), recording_length={"a": 10, "b": 10}, recordings=["c"])
    assert list(events.recordings.index) == ["a", "b", "c"]
    assert events.recordings["annotated"].all()
    lines = events.timelines()
    assert lines.lengths.tolist() == [10, 10]  # nothing is known of c: no length, no events
    assert lines.starts.tolist() == [0, 1, 1]


def test_rows_without_times_and_label_are_empty_recordings():
    events = Events.from_frame(frame(("a", 1, 2, "x"), ("b", None, None, None), ("c", None, None, "")))
    assert len(events) == 1
    assert list(events.recordings.index) == ["a", "b", "c"]
    with pytest.raises(InvalidInput, match="has a time that is not a number"):
        Events.from_frame(frame(("b", None, None, "x")))


def test_recordings_that_were_not_annotated_are_left_out():
    events = Events.from_frame(frame(("a", 1, 2, "x")), recording_length=10, unannotated=["b", "a"])
    assert events.recordings["annotated"].to_dict() == {"a": True, "b": False}  # an event proves that a was
    assert len(events.timelines()) == 1


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("a", 2, 1, "x"), "row 0 of recording 'a' must end after it starts: onset 2, offset 1"),
        (("a", 1, 1, "x"), "must end after it starts"),
        (("a", -1, 1, "x"), "starts before 0"),
        (("a", 1, np.inf, "x"), "not a number"),
        (("a", 1, 11, "x"), r"ends at 11 s, after the recording's 10 s \(by 1 s\)$"),
        (("a", 1, 1100, "x"), "ends at 1100 s, after the recording's 10 s; milliseconds for seconds"),
        ((None, 1, 2, "x"), "row 0 has no recording"),
        (("a", 1, 2, None), "row 0 has no label"),
        (("a", "one", 2, "x"), "column 'onset' must hold seconds"),
    ],
)
def test_rows_that_are_refused(row, words):
    with pytest.raises(InvalidInput, match=words):
        Events.from_frame(frame(row), recording_length=10)


def test_lengths_that_are_refused():
    with pytest.raises(InvalidInput, match="recording_length must be > 0, got -1"):
        Events.from_frame(frame(("a", 1, 2, "x")), recording_length={"a": 5, "b": -1})
    with pytest.raises(InvalidInput, match="recording_length must be seconds"):
        Events.from_frame(frame(("a", 1, 2, "x")), recording_length="long")
    with pytest.raises(InvalidInput, match="no column 'onset'; there are start"):
        Events.from_frame(pd.DataFrame({"start": [1]}))


def test_an_event_may_end_a_rounding_error_late_and_no_more():
    assert len(Events.from_frame(frame(("a", 0, 3 * 0.1, "x")), recording_length=0.3)) == 1
    with pytest.raises(InvalidInput, match="after the recording's 10 s"):
        Events.from_frame(frame(("a", 1, 10.005, "x")), recording_length=10)


def test_select_and_extents():
    events = Events.from_frame(frame(("a", 1, 2, "x"), ("a", 3, 4, "y"), ("b", 0, 7, "y")), recordings=["c"])
    assert events.extents.to_dict() == {"a": 4.0, "b": 7.0, "c": 0.0}
    assert events.select("x").lengths.tolist() == [1.0]
    assert len(events.select("x").recordings) == 3
    assert events.labels == ["x", "y"]
    with pytest.raises(InvalidInput, match="did you mean 'x'"):
        events.timelines("xx")
    assert repr(events) == "<Events: 3 events, 2 labels, 3 recordings>"


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 50), st.integers(1, 9), st.sampled_from("xy")), max_size=12
    )
)
def test_timelines_are_the_merged_events_of_each_recording(rows):
    table = frame(*[(r, s, s + d, c) for r, s, d, c in rows])
    events = Events.from_frame(table, recording_length=dict.fromkeys("abc", 60.0))
    for label in events.labels:
        lines = events.timelines(label)
        assert len(lines) == 3
        for name, (bounds, length) in zip(events.recordings.index, lines):
            own = [(s, s + d) for r, s, d, c in rows if r == name and c == label]
            assert length == 60
            assert bounds.tolist() == merge(np.array(own, dtype=float).reshape(-1, 2)).tolist()
    whole = events.timelines()
    part = whole.part(1, 3)
    assert part.lengths.tolist() == [60, 60]
    assert part.bounds.tolist() == whole.bounds[whole.starts[1] :].tolist()


def test_events_that_touch_are_one():
    events = Events.from_frame(frame(("a", 2, 3, "x"), ("a", 1, 2, "x"), ("a", 3.5, 4, "x")), recording_length=5)
    assert events.timelines("x").bounds.tolist() == [[1, 3], [3.5, 4]]


def test_timelines_of_lists():
    lines = EventArrays.of([[(1, 2), (2, 3)], [], [(0, 1)]], [10, 5, 5])
    assert lines.bounds.tolist() == [[1, 3], [0, 1]]
    assert lines.starts.tolist() == [0, 1, 1, 2]
    with pytest.raises(InvalidInput, match=r"recording 0: event 0 \(1, 12\) must lie inside \(0, 10\)"):
        EventArrays.of([[(1, 12)]], 10)


def test_the_frame_is_a_copy():
    events = Events.from_frame(frame(("a", 1, 2, "x")))
    table = events.to_frame()
    table.loc[0, "onset"] = 99
    assert events.to_frame()["onset"].tolist() == [1.0]


def test_numbers_as_names_become_text():
    events = Events.from_frame(frame((1, 0, 1, 5)), recording_length={1: 10})
    assert list(events.recordings.index) == ["1"]
    assert events.labels == ["5"]


def test_answers():
    table = pd.DataFrame({"recording": ["a", "a"], "label": ["x", "y"], "present": [True, None]})
    answers = Answers.from_frame(table, recordings=["b"], recording_length={"a": 10})
    assert answers.to_frame()["present"].fillna(-1).tolist() == [1, -1]
    assert answers.recordings["length"].fillna(-1).to_dict() == {"a": 10, "b": -1}
    heard = Answers.from_frame(table, recording_length={"a": 10, "c": 5})  # c was played, and nothing was said of it
    assert heard.recordings["length"].to_dict() == {"a": 10, "c": 5}
    assert len(answers.select("x")) == 1
    assert repr(answers) == "<Answers: 2 answers, 2 labels, 2 recordings>"
    for change, words in (
        ({"present": 2}, "present must be 1, 0 or empty, got 2"),
        ({"onset": 3, "offset": 2}, "must end after it starts"),
        ({"seconds": "long"}, "column 'seconds' must hold numbers"),
    ):
        with pytest.raises(InvalidInput, match=words):
            Answers.from_frame(table.assign(**change))
    with pytest.raises(InvalidInput, match="no column 'present'"):
        Answers.from_frame(table.drop(columns="present"))
