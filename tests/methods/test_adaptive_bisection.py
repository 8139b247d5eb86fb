"""Bisection: exactly the labels of FIX, and the numbers of queries, seconds and errors that the theory gives."""

import numpy as np
import pytest
from benchmarks.outcomes import score
from hypothesis import given
from hypothesis import strategies as st

from weakly.base.errors import InvalidInput
from weakly.methods import AnswerHistory, Bisection, Fixed, Recording, SimulatedAnnotator, run
from weakly.model.annotator import Annotator
from weakly.model.intervals import duration, intersect, merge
from weakly.theory import bisection_listened, bisection_queries


def wrong(outcome):
    """Seconds with the wrong label, from the definition."""
    truth, said = outcome.recording.events, outcome.labels.events
    return duration(truth) + duration(said) - 2 * duration(intersect(truth, said))


def simulated(method, *, length, event_length, criterion, n, n_events=1, seed=0):
    rng = np.random.default_rng(seed)
    outcomes = []
    for _ in range(n):
        onset = rng.uniform(0, length - event_length, n_events)
        events = merge(np.column_stack((onset, onset + event_length)))
        outcomes.append(run(method, Recording("a", length, events=events), SimulatedAnnotator(criterion)))
    return outcomes


def means(outcomes):
    return tuple(float(np.mean(x)) for x in zip(*((o.n_queries, o.listened, wrong(o)) for o in outcomes)))


events = st.lists(st.tuples(st.floats(0, 49), st.floats(0.05, 8)), max_size=8)


@given(
    events,
    st.floats(0.05, 1.0),
    st.floats(0.3, 7.0),
    st.floats(8.0, 60.0),
    st.sampled_from([1, 2, 8]),
)
def test_the_labels_are_exactly_those_of_fix(events, criterion, leaf, length, start):
    truth = merge(np.array([(a, min(a + d, length)) for a, d in events if a < length - 0.01]).reshape(-1, 2))
    recording = Recording("a", length, events=truth)
    fixed = run(Fixed(segment_length=leaf), recording, SimulatedAnnotator(criterion))
    split = run(Bisection(segment_length=leaf, start=start), recording, SimulatedAnnotator(criterion))
    assert np.array_equal(split.labels.present, fixed.labels.present)
    assert np.allclose(split.labels.segments, fixed.labels.segments, atol=1e-9)
    assert split.n_queries <= 2 * fixed.n_queries


@pytest.mark.parametrize(("criterion", "queries"), [(0.3, 15.95), (0.5, 15.0), (0.8, 13.58)])
def test_one_event_takes_15_queries_where_fix_takes_128(criterion, queries):
    options = {"recording_length": 102.4, "levels": 7, "event_length": 1, "presence_criterion": criterion}
    assert bisection_queries(**options) == pytest.approx(queries, abs=0.005)
    outcomes = simulated(
        Bisection(segment_length=0.8, start=1), length=102.4, event_length=1, criterion=criterion, n=200
    )
    counts = np.array([o.n_queries for o in outcomes])
    spread = counts.std() / np.sqrt(len(counts))
    assert counts.mean() == pytest.approx(queries, abs=4 * spread + 1e-9)
    heard = np.array([o.listened for o in outcomes])
    expected = bisection_listened(**options)
    assert heard.mean() == pytest.approx(expected, abs=4 * heard.std() / np.sqrt(len(heard)) + 1e-6)
    assert len(Fixed(segment_length=0.8).segments(outcomes[0].recording)) == 128


def test_the_best_start_and_its_cost():
    first = [Bisection(0.1, n_events=m).next(Recording("a", 102.4), AnswerHistory()) for m in (1, 5, 15)]
    assert [len(segments) for segments in first] == [16, 32, 64]
    queries, heard, _ = means(
        simulated(Bisection(segment_length=0.8, start=16), length=102.4, event_length=1, criterion=0.5, n=100)
    )
    assert queries == pytest.approx(22, abs=0.01)
    assert heard / 102.4 == pytest.approx(1.11, abs=0.005)
    assert 0.5 * heard + 0.5 * queries == pytest.approx(67.8, abs=0.1)
    assert len(Bisection(segment_length=0.8).next(Recording("a", 102.4), AnswerHistory())) == 16
    with pytest.raises(InvalidInput, match="power of two"):
        Bisection(segment_length=1, start=3)
    everything = Bisection(segment_length=0.8, query_cost_share=0.0).next(Recording("a", 102.4), AnswerHistory())
    assert len(everything) == 128  # queries that cost nothing: ask all leaves


@pytest.mark.parametrize(("n_events", "queries", "cost"), [(5, 48, 88.7), (15, 98, 109.7)])
def test_many_events(n_events, queries, cost):
    options = {"length": 102.4, "event_length": 1.0, "criterion": 0.5, "n_events": n_events}
    counts = [o.n_queries for o in simulated(Bisection(segment_length=0.8, start=1), n=60, **options)]
    assert np.mean(counts) == pytest.approx(queries, abs=4 * np.std(counts) / 60**0.5 + 0.5)
    from_best = Bisection(segment_length=0.8, n_events=n_events)
    outcomes = simulated(from_best, n=60, **options)
    spent = [0.5 * o.listened + 0.5 * o.n_queries for o in outcomes]
    # The reference counts every event by itself; events that share a segment make it a little cheaper.
    assert 0.96 * cost < np.mean(spent) < cost + 4 * np.std(spent) / 60**0.5


@pytest.mark.parametrize(
    ("criterion", "leaf", "queries", "error"),
    [(0.5, 0.5 * 2**0.5, 15.0, 0.4142), (0.8, 0.8 * 2**0.5, 14.0, 0.6627)],
)
def test_what_criteria_above_one_half_cost(criterion, leaf, queries, error):
    method = Bisection(segment_length=leaf, start=1)
    outcomes = simulated(method, length=128 * leaf, event_length=1, criterion=criterion, n=150, seed=1)
    errors = np.array([wrong(o) for o in outcomes])
    assert errors.mean() == pytest.approx(error, abs=4 * errors.std() / len(errors) ** 0.5)
    assert np.mean([o.n_queries for o in outcomes]) == pytest.approx(queries, abs=0.3)


def test_no_segment_is_empty():
    """Labels cut the recording into pieces that are not empty, whatever its length, and they can be scored."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        length, leaf = rng.uniform(3, 20), rng.uniform(0.4, 2)
        onset = np.sort(rng.uniform(0, length - 0.2, rng.integers(1, 4)))
        events = merge(np.column_stack((onset, np.minimum(onset + rng.uniform(0.2, 3, len(onset)), length))))
        one = Recording("a", length, events=events)
        done = run(Bisection(segment_length=leaf, start=1), one, SimulatedAnnotator(rng.uniform(0.5, 1)))
        segments = done.labels.segments
        assert (np.diff(segments) > 0).all()
        assert segments[0, 0] == 0
        assert segments[-1, 1] == pytest.approx(length)
        assert np.allclose(segments[1:, 0], segments[:-1, 1])
        assert score([done], presence_criterion=0.5)["wrong_time"] >= 0


def test_an_event_as_long_as_the_recording_is_cut_down_to_every_leaf():
    options = {"recording_length": 8, "levels": 3, "event_length": 8, "presence_criterion": 0.1}
    assert bisection_queries(**options) == 1 + 2 * (1 + 2 + 4)
    assert bisection_listened(**options) == 8 * 4


def test_the_tally_of_bisection_is_that_of_fix():
    rng = np.random.default_rng(4)
    recordings = []
    for k in range(6):
        onset = np.sort(rng.uniform(0, 28, 4))
        recordings.append(
            Recording(str(k), 30.0, events=merge(np.column_stack((onset, onset + rng.uniform(0.3, 2, 4)))))
        )
    rows = [
        score([run(method, one, SimulatedAnnotator(0.4)) for one in recordings], presence_criterion=0.4)
        for method in (Fixed(segment_length=0.7), Bisection(segment_length=0.7, start=4))
    ]
    for name in ("overlap_accuracy", "wrong_time", "event_recall", "precision", "recall", "recording_accuracy"):
        assert rows[0][name] == pytest.approx(rows[1][name], abs=1e-9)
    assert rows[1]["n_queries"] != rows[0]["n_queries"]


def test_unsure_answers_are_looked_into():
    recording = Recording("a", 4.0)
    from weakly.methods.base import Session

    session = Session(Bisection(segment_length=1.0, start=1), recording)
    session.answer([np.nan])
    assert len(session.next()) == 2
    session.answer([0, np.nan])
    session.answer([1, np.nan])
    assert session.next().size == 0
    assert session.labels.present[:3].tolist() == [0, 0, 1]
    assert np.isnan(session.labels.present[3])


def test_told_that_answers_can_be_wrong_it_asks_until_it_is_sure():
    """At 5 % flips the labels are those of flawless answers in nearly all recordings; untold, events are lost."""
    rng = np.random.default_rng(5)
    same = {0.0: 0, 0.05: 0}
    for k in range(40):
        one = Recording("a", 32.0, events=np.array([[a := rng.uniform(0, 30), a + 1.9]]))
        exact = run(Bisection(segment_length=1.0, start=1), one, SimulatedAnnotator(0.5)).labels.present
        for told in same:
            method = Bisection(segment_length=1.0, start=1, guess_rate=told, lapse_rate=told)
            noisy = SimulatedAnnotator(Annotator(presence_criterion=0.5, flip_rate=0.05), rng=k)
            same[told] += np.array_equal(run(method, one, noisy).labels.present, exact)
    assert same[0.05] >= 36
    assert same[0.0] <= 30


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.1, 0.2, 0.3])
def test_a_lead_is_the_least_that_is_hardly_ever_wrong(rate):
    odds, lead = rate / (1 - rate), Bisection(segment_length=1.0, guess_rate=rate, lapse_rate=rate / 2).lead
    assert odds**lead <= 0.003 < odds ** (lead - 1)


def test_a_segment_is_settled_by_its_lead():
    one, method = Recording("a", 8.0), Bisection(segment_length=4.0, start=1, guess_rate=0.05, lapse_rate=0.05)
    assert method.lead == 2
    whole, asked = np.array([[0.0, 8.0]]), AnswerHistory()
    for present in (1, 0, 1):
        asked = asked.add(whole, [present])
        assert method.next(one, asked).tolist() == [[0.0, 8.0]]
    asked = asked.add(whole, [1])
    assert method.next(one, asked).tolist() == [[0.0, 4.0], [4.0, 8.0]]
    assert method.next(one, AnswerHistory().add(whole, [np.nan]).add(whole, [np.nan])).tolist() == [
        [0.0, 4.0],
        [4.0, 8.0],
    ]


def test_labels_call_unknown_what_next_calls_unsure():
    one = Recording("a", 8.0)
    method = Bisection(segment_length=4.0, start=1, guess_rate=0.05, lapse_rate=0.05)
    asked = AnswerHistory()
    for part, said in (((0, 8), (1, 1)), ((0, 4), (np.nan, np.nan, 1)), ((2, 6), (1, 1)), ((4, 8), (1, 1))):
        for present in said:
            asked = asked.add(np.array([part], dtype=float), [present])
    assert method.next(one, asked).size == 0
    labels = method.labels(one, asked).present
    assert np.isnan(labels[0])
    assert labels[-1] == 1
    assert np.isnan(
        method.labels(one, AnswerHistory().add(np.array([[0.0, 8.0]]), [1])).present
    ).all()  # one of two answers
