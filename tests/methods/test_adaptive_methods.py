"""Fixed, oracle, overlapping and change-point segments, simulated annotators, learning, scores."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.adaptive_study import real_recordings, study
from benchmarks.outcomes import score
from scipy import stats

from weakly.base.errors import InvalidInput
from weakly.io.soundscape import log_mel, soundscape
from weakly.methods import (
    AnswerHistory,
    Bisection,
    Fixed,
    Labels,
    Method,
    Oracle,
    Recording,
    Session,
    SimulatedAnnotator,
    Windows,
    run,
)
from weakly.methods.change_point import ChangePoint, apart, change_score
from weakly.model.annotator import Annotator, PresenceRule
from weakly.model.events import Events
from weakly.model.intervals import Features, duration
from weakly.studies.evaluate.evaluator import evaluate
from weakly.studies.queries.query_set import queries


def made(folder, *, n=3, snr=10, n_events=6, length=40, seed=0, kinds=("chirp", "pulse", "noise")):
    found = []
    for k in range(n):
        scene = soundscape(length, n_events=n_events, snr=snr, kinds=kinds, rng=[seed, k])
        path = scene.write(folder / f"{seed}_{k}.wav")
        found.append(Recording(path.name, float(length), path=path, events=scene.events, features=log_mel(path)))
    return found


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    return made(tmp_path_factory.mktemp("scenes"))


def test_fix_scores_like_evaluate():
    import pandas as pd

    frame = pd.DataFrame({"recording": ["a", "a", "b"], "onset": [1.0, 6.2, 3.3], "offset": [2.2, 7.0, 5.9]})
    events = Events.from_frame(frame, recording_length=10.0)
    theirs = evaluate(events, segment_length=1.3, presence_criterion=0.45, phase=0.0)
    mine = score(
        [
            run(Fixed(segment_length=1.3), Recording(name, 10.0, events=rows), SimulatedAnnotator(0.45))
            for name, rows in (("a", np.array([[1.0, 2.2], [6.2, 7.0]])), ("b", np.array([[3.3, 5.9]])))
        ],
        presence_criterion=0.45,
    )
    for name in ("overlap_accuracy", "event_recall", "wrong_time", "precision", "recall", "recording_accuracy"):
        assert mine[name] == pytest.approx(float(getattr(theirs, name)), abs=1e-9)
    assert mine["n_queries"] == theirs.n_queries


def test_the_oracle_makes_no_error():
    events = np.array([[0.0, 1.0], [2.0, 2.5], [9.0, 10.0]])
    outcome = run(Oracle(), Recording("a", 10.0, events=events), SimulatedAnnotator(1.0))
    assert outcome.n_queries == 5
    assert np.array_equal(outcome.labels.events, events)
    with pytest.raises(InvalidInput, match="strong labels"):
        Oracle().next(Recording("a", 10.0), AnswerHistory())


def test_overlapping_windows_err_by_half_a_hop():
    """Section F: with the right threshold the expected error is half a hop, whatever the window."""
    rng = np.random.default_rng(0)
    for per_window in (2, 4):
        hop, event, criterion = 0.5, 1.5, 0.5
        votes = min(per_window, max(1, int(per_window + 1 - criterion * event / hop)))
        method = Windows(segment_length=per_window * hop, hop=hop, votes=votes)
        errors = []
        for _ in range(60):
            onset = rng.uniform(5, 13)
            one = Recording("a", 20.0, events=np.array([[onset, onset + event]]))
            row = score([run(method, one, SimulatedAnnotator(criterion))], presence_criterion=criterion)
            errors.append(row["wrong_time"])
        assert np.mean(errors) == pytest.approx(hop / 2, abs=4 * np.std(errors) / 60**0.5 + 1e-9)


def test_overlapping_windows_count_votes_near_the_ends():
    method = Windows(segment_length=2.0, hop=1.0, votes=2)
    session = Session(method, Recording("a", 5.0))
    assert session.next().tolist() == [[0, 2], [1, 3], [2, 4], [3, 5]]
    session.answer([1, 1, 0, 1])
    assert session.labels.present.tolist() == [1, 1, 0, 0, 1]
    unsure = Session(method, Recording("a", 5.0))
    unsure.next()
    unsure.answer([1, np.nan, 0, 1])  # the second cell waits for the second window; the third is lost without it
    assert np.nan_to_num(unsure.labels.present, nan=-1).tolist() == [1, -1, 0, 0, 1]
    with pytest.raises(InvalidInput, match="whole number of hops"):
        Windows(segment_length=1.0, hop=0.3)
    with pytest.raises(InvalidInput, match="votes"):
        Windows(segment_length=1.0, hop=0.5, votes=3)


def test_the_change_score_is_the_distance_of_means():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((60, 3))
    score_ = change_score(rows, step=0.1, windows=(0.5,))
    raw = []
    for t in range(60):  # the definition, as a slow loop
        past, future = rows[max(0, t - 5) : t], rows[t : t + 5]
        weight = np.sqrt(min(len(past), len(future)) / 5)
        raw.append(0.0 if len(past) == 0 else weight * np.sqrt(((past.mean(0) - future.mean(0)) ** 2).mean()))
    assert np.allclose(score_, np.array(raw) / np.std(raw), atol=1e-9)


def test_change_points_find_a_step():
    values = np.zeros((400, 2), np.float32)
    values[130:270] = 5
    values += np.random.default_rng(0).normal(0, 0.1, values.shape).astype(np.float32)
    features = Features(np.arange(400) * 0.02, values)
    recording = Recording("a", 8.0, features=features)
    cuts = ChangePoint(n_queries=3).segments(recording)
    assert np.allclose(cuts[1:, 0], [2.59, 5.39], atol=0.06)


def test_change_points_beat_fixed_segments_at_the_same_budget(recordings):
    count = 2 * 6 + 1
    fixed, cut = (
        score([run(method, one, SimulatedAnnotator(0.5)) for one in recordings], presence_criterion=0.5)
        for method in (Fixed(n_queries=count), ChangePoint(n_queries=count))
    )
    assert cut["n_queries"] == fixed["n_queries"] == count * len(recordings)
    assert cut["wrong_time"] < 0.25 * fixed["wrong_time"]
    assert cut["overlap_accuracy"] > fixed["overlap_accuracy"] + 0.2
    assert cut["event_recall"] > 0.8


def test_the_number_of_change_points_can_be_left_open(recordings):
    counts = [len(ChangePoint().segments(one)) for one in recordings]
    assert all(11 <= n <= 17 for n in counts)  # six events make thirteen


def test_a_budget_goes_where_the_changes_are(tmp_path):
    busy, quiet = made(tmp_path, n=1, n_events=10, seed=1)[0], made(tmp_path, n=1, n_events=1, seed=2)[0]
    chosen = ChangePoint(threshold=0.0, budget=24, recordings=(busy, quiet))
    sizes = {one.name: len(chosen.segments(one)) for one in (busy, quiet)}
    assert sum(sizes.values()) == 24
    assert sizes[busy.name] > 2 * sizes[quiet.name]
    found = queries({one.name: one for one in (busy, quiet)}, method="change-point", budget=24)
    assert found.n_queries == 24
    with pytest.raises(InvalidInput, match="at least one query per recording"):
        queries({one.name: one for one in (busy, quiet)}, method="change-point", budget=1)
    assert queries({"a": 10.0, "b": 31.0}, method="fixed", budget=9).n_queries <= 9


def test_no_segment_is_shorter_than_a_person_can_hear(recordings):
    known = {one.name: one for one in recordings}
    for options in ({"queries_per_recording": 30}, {"budget": 90}):
        asked = queries(known, method="change-point", **options).to_frame()
        assert (asked["offset"] - asked["onset"]).min() >= 0.3 - 1e-6
        free = queries(known, method="change-point", shortest=0.0, **options).to_frame()
        assert len(free) >= len(asked)
    assert (free["offset"] - free["onset"]).min() < 0.3
    kept = apart(np.array([5.0, 5.2, 0.1, 9.95, 7.0]), 10.0, 0.3)  # best first
    assert kept.tolist() == [True, False, False, False, True]


def test_windows_as_long_as_the_events_find_bouts():
    """A day of movement: bouts of half a minute, seen by windows of seconds and missed by the default."""
    rng = np.random.default_rng(3)
    values = rng.normal(0, 1, (3000, 3)).astype(np.float32)  # five per second
    truth = np.array([[100.0, 130.0], [250.0, 290.0], [420.0, 450.0]])
    for a, b in truth:
        values[int(a * 5) : int(b * 5)] += 1.2
    known = {"a": Recording("a", 600.0, features=Features((np.arange(3000) + 0.5) / 5, values))}
    found = queries(known, method="change-point", queries_per_recording=7, windows=(5, 10, 20)).to_frame()
    assert np.allclose(found["onset"][1:].to_numpy(), truth.ravel(), atol=2)
    short = queries(known, method="change-point", queries_per_recording=7).to_frame()
    assert not np.allclose(short["onset"][1:].to_numpy(), truth.ravel(), atol=2)


class Halves(Method):
    """Asks the first half, and the second only if the first is absent."""

    name, follows_answers = "halves", True

    def next(self, recording, asked):
        half = recording.length / 2
        if len(asked) == 0:
            return np.array([[0.0, half]])
        again = len(asked) == 1 and asked.present[0] == 0
        return np.array([[half, recording.length]]) if again else np.empty((0, 2))


def test_a_method_of_ones_own_asks_and_follows():
    from weakly.model.answers import Answers

    first = queries({"a": 10.0, "b": 4.0}, method=Halves(), label="dog")
    assert first.follows_answers
    assert set(first.to_frame()["method"]) == {"halves"}
    said = first.to_frame().assign(present=[0, 1])
    second = queries({"a": 10.0, "b": 4.0}, method=Halves(), label="dog", answers=Answers.from_frame(said)).to_frame()
    assert second[["recording", "onset", "offset", "round"]].values.tolist() == [["a", 5.0, 10.0, 2]]
    done = run(Halves(), Recording("a", 10.0, events=np.array([[7.0, 8.0]])), SimulatedAnnotator(0.5))
    assert done.labels.events.tolist() == [[5.0, 10.0]]
    part = Halves().labels(Recording("a", 10.0), AnswerHistory().add([[0, 5]], [1]))
    assert part.unknown == 5
    with pytest.raises(InvalidInput, match=r"or a weakly.methods.Method, got <class"):
        queries({"a": 10.0}, method=Halves)
    assert [m.follows_answers for m in (Fixed(1.0), Bisection(1.0), ChangePoint())] == [0, 1, 0]


def test_a_batch_is_a_round_of_information_alone():
    known = {"a": 20.0}
    rounds = [queries(known, method="information", **{word: 3}) for word in ("batch", "queries_per_recording")]
    assert len(rounds[0].frame) == 3
    assert rounds[0].frame["onset"].tolist() == rounds[1].frame["onset"].tolist()
    with pytest.raises(InvalidInput, match="change-point asks all at once: leave batch out"):
        queries(known, method="change-point", queries_per_recording=3, batch=2)
    with pytest.raises(InvalidInput, match="bisection asks its own rounds: leave batch out"):
        queries(known, method="bisection", segment_length=1.0, batch=2)
    with pytest.raises(InvalidInput, match="queries_per_recording says the same"):
        queries(known, method="information", queries_per_recording=3, batch=2)


def test_simulated_annotators_answer_with_their_probability():
    rng = np.random.default_rng(2)
    events, segments = np.array([[0.0, 1.0]]), np.tile([[0.0, 0.6], [5.0, 6.0]], (4000, 1))
    who = Annotator(presence_criterion=0.5, guess_rate=0.1, lapse_rate=0.2, flip_rate=0.05)
    said = SimulatedAnnotator(who, rng=rng)(events, segments).reshape(-1, 2).mean(axis=0)
    assert np.allclose(said, who.probability([0.6, 0.0]), atol=0.025)
    voting = Annotator(presence_criterion=0.5, flip_rate=0.2, votes=(2, 3))
    said = SimulatedAnnotator(voting, rng=rng)(events, segments).reshape(-1, 2).mean(axis=0)
    assert np.allclose(said, voting.probability([0.6, 0.0]), atol=0.025)
    # A criterion belongs to a person: one draw for all segments.
    drawn = [SimulatedAnnotator(Annotator(presence_criterion=stats.beta(2, 2)), rng=k) for k in range(400)]
    shares = [one(events, segments[:6])[::2].mean() for one in drawn]
    assert set(shares) == {0.0, 1.0}
    assert np.mean(shares) == pytest.approx(stats.beta(2, 2).cdf(0.6), abs=0.08)
    by_rule = SimulatedAnnotator(rule=PresenceRule.seconds(0.7))
    assert by_rule(events, np.array([[0.0, 0.6], [0.0, 0.8]])).tolist() == [0.0, 1.0]


def test_wrong_answers_are_refused():
    with pytest.raises(InvalidInput, match="one answer per segment"):
        AnswerHistory().add([[0, 1]], [1, 0])
    with pytest.raises(InvalidInput, match="an answer must be 1"):
        AnswerHistory().add([[0, 1]], [2])


def test_the_study_is_whole(tmp_path):
    result = study(quick=True, snrs=(20.0,), densities=(4,), n_recordings=2, recording_length=20.0, seed=1)
    frame = result.to_frame()
    assert set(frame["method"]) == {"fixed", "windows", "change-point", "bisection", "oracle"}
    oracle = frame[frame["method"] == "oracle"].iloc[0]
    assert oracle["wrong_time"] == pytest.approx(0, abs=1e-9)
    assert oracle["event_recall"] == 1
    ratio = result.compare()
    assert ratio[ratio["method"] == "change-point"]["ratio"].min() < 0.5
    assert len(result.figure().axes) == 3
    assert result.to_dict()["rows"][0]["condition"] == "20 dB, 4 events"


def test_real_recordings(real_data):
    """Change points beat fixed segments on wrong time: the spinetail at 12 to 30 queries, the finch throughout."""
    for folder, counts in (("audio_spinetail", (12, 20, 30)), ("audio_finch", (12, 20, 30))):
        found = real_recordings(real_data / folder)
        assert sum(duration(one.events) for one in found) > 5
        for count in counts:
            fixed, cut = (
                score([run(method, one, SimulatedAnnotator(0.5)) for one in found], presence_criterion=0.5)
                for method in (Fixed(n_queries=count), ChangePoint(n_queries=count))
            )
            assert cut["n_queries"] <= fixed["n_queries"]
            assert cut["wrong_time"] < 0.75 * fixed["wrong_time"], (folder, count)


def test_windows_end_with_the_recording_and_only_present_ones_are_kept():
    windows, recording = Windows(3.0, 1.5, 1), Recording("a", 10.0)
    spans = windows.segments(recording)
    assert spans[-1].tolist() == [7.5, 10.0]
    present = np.arange(len(spans)) == 1
    found = windows.labels(recording, AnswerHistory(spans, present.astype(float)))
    assert found.noticed.tolist() == [[1.5, 4.5]]


def test_event_recall_and_its_spread_are_those_of_the_windows_that_were_heard():
    """No piece between two starts is as long as most of an event, so the pieces alone would find none."""
    windows, rng = Windows(3.0, 1.5, 2), np.random.default_rng(3)
    outcomes = []
    for k in range(6):
        starts = np.arange(1 + k % 3) * 8 + rng.uniform(0, 5)
        recording = Recording(str(k), 30.0, events=np.column_stack((starts, starts + 2.6)))
        outcomes.append(run(windows, recording, SimulatedAnnotator(0.9)))
    heard = [replace(one, labels=Labels(one.labels.noticed, np.ones(len(one.labels.noticed)))) for one in outcomes]
    own, expected = (score(each, presence_criterion=0.9) for each in (outcomes, heard))
    assert 0 < own["event_recall"] < 1
    for word in ("event_recall", "event_recall_se"):
        assert own[word] == pytest.approx(expected[word], rel=1e-12)
