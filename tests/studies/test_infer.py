"""`wk.infer` and `weakly infer`: worlds that are not ours back from their answers, and everything that is refused."""

from __future__ import annotations

import json
import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks.inference_worlds import bunched_set
from scipy import stats
from scipy.integrate import trapezoid
from typer.testing import CliRunner

import weakly as wk
from weakly import AssumptionWarning, InvalidInput
from weakly.cli import app
from weakly.io.gather import scores_of
from weakly.io.soundscape import read_scores
from weakly.model.answer_model import AnswerModels
from weakly.model.intervals import EventArrays
from weakly.model.lengths import Lengths
from weakly.posterior.chain import prepare
from weakly.posterior.class_answers import _asked_again
from weakly.posterior.detector import compare_detectors, frames_by_class
from weakly.posterior.fitting import AnswerPattern, Family, Sheets, explore, fit
from weakly.posterior.rates import Differing, differing
from weakly.posterior.renewal import length_variation, lengths_of_truncated_events
from weakly.studies.infer.training import forward_corrected_loss

LAW = stats.lognorm(0.6, scale=math.exp(-0.18))  # mean 1 s
# what answers cannot tell is a warning; the tests that are about one ask for it
pytestmark = pytest.mark.filterwarnings("default::weakly.base.errors.AssumptionWarning")


def recordings(rng, *, rate, length, n, law=LAW):
    """An alternating renewal process in continuous time, begun long before each recording, event by event."""
    made = []
    for _ in range(n):
        at, events = -100.0, []
        while at < length:
            at += rng.exponential(1 / rate - law.mean())
            d = float(law.rvs(random_state=rng))
            if at + d > 0 and at < length:
                events.append((max(at, 0.0), min(at + d, length)))
            at += d
        made.append(np.array(events).reshape(-1, 2))
    return made


def answers(rng, made, *, widths, length, criterion=0.5, noise=0.0, people=("",)):
    rows = []
    for r, events in enumerate(made):
        width = widths[r % len(widths)]
        for start in np.arange(0, length - 1e-9, width):
            end = min(start + width, length)
            met = any(
                min(b, end) - max(a, start) > 0 and min(b, end) - max(a, start) >= criterion * (b - a) - 1e-9
                for a, b in events
            )
            for who in people:
                said = met != (rng.random() < noise)
                rows.append((f"r{r}", start, end, "owl", float(said), who))
    return pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "present", "annotator"])


@pytest.fixture
def world():
    """The same events, and the same chance, for every test, whichever ran before it."""
    rng = np.random.default_rng(5)
    made = recordings(rng, rate=0.1, length=60.0, n=40)
    return rng, made


def test_long_clips_give_the_event_time_back(world):
    """10 s clips paint many times the true presence; the inferred seconds and counts hold the truth."""
    rng, made = world
    said = answers(rng, made, widths=(10.0,), length=60.0)
    found = wk.infer(said, event_length=LAW, presence_criterion=0.5, rng=0)
    row = found.overall.iloc[0]
    true = sum(map(len, made)), sum(np.ptp(e, axis=1).sum() for e in made)
    assert row["painted_seconds"] > 4 * true[1]
    assert row["n_events_ci"][0] < true[0] < row["n_events_ci"][1]
    assert row["event_seconds_ci"][0] < true[1] < row["event_seconds_ci"][1]
    assert row["event_seconds"] == pytest.approx(true[1], rel=0.25)
    assert "The 10 s clips add up to" in found.sentences()[0]
    # told that calls do not bunch, the interval is narrower
    plain = wk.infer(said, event_length=LAW, presence_criterion=0.5, bouts=False, rng=0)
    low, high = plain.overall.iloc[0]["n_events_ci"]
    assert low < true[0] < high < 1.4 * low
    assert high - low < np.ptp(row["n_events_ci"])
    assert plain.parts["owl"].identified
    assert plain.estimates.set_index("quantity").loc["event_rate", "value"] == pytest.approx(0.1, rel=0.15)


def test_two_lengths_identify_the_law_and_one_does_not():
    rng = np.random.default_rng(101)
    made = recordings(rng, rate=0.1, length=60.0, n=40)
    both = wk.infer(
        answers(rng, made, widths=(0.5, 5.0), length=60.0),
        presence_criterion=0.5,
        step=0.1,
        rng=0,
        draws=50,
        bouts=False,
    )
    table = both.estimates.set_index("quantity")
    assert table.loc["mean_length", "ci"][0] < 1.0 < table.loc["mean_length", "ci"][1]
    assert table.loc["mean_length", "value"] == pytest.approx(1.0, rel=0.4)
    assert bool(table.loc["mean_length", "identified"])
    with pytest.warns(AssumptionWarning, match="depend on the lengths that are assumed"):
        one = wk.infer(answers(rng, made[:12], widths=(5.0,), length=60.0), presence_criterion=0.5, rng=0, draws=50)
    table = one.estimates.set_index("quantity")
    assert not bool(table.loc["mean_length", "identified"])
    assert not bool(table.loc["event_rate", "identified"])
    assert any("say little about it" in text for text in one.sentences())


def test_an_unknown_criterion_widens_the_intervals(world):
    rng, made = world
    said = answers(rng, made[:5], widths=(3.0,), length=60.0)
    known = wk.infer(said, event_length=LAW, presence_criterion=0.5, rng=0, draws=50, step=0.25)
    unknown = wk.infer(said, event_length="lognorm:s=0.6,scale=0.8352702", rng=0, draws=50, step=0.25)
    before = unknown.caveats()  # nothing else was read yet
    a, b = known.overall.iloc[0]["n_events_ci"], unknown.overall.iloc[0]["n_events_ci"]
    assert b[1] - b[0] > 1.2 * (a[1] - a[0])
    assert not unknown.criterion_known
    assert any("presence criterion was left out" in text for text in unknown.sentences())
    assert unknown.caveats() == before
    rows = unknown.summary.sort_values("event_seconds")
    assert [tick.get_text() for tick in unknown.strips(most=3).get_yticklabels()] == rows["recording"].tolist()[-3:]
    assert set(unknown.figures()) == {"timeline", "strips"}
    assert unknown.parts["owl"].overall["n_events_ci"] != b
    rate = [made.estimates.set_index("quantity").loc["event_rate"] for made in (known, unknown)]
    assert rate[1]["ci"][0] < rate[0]["ci"][0]
    assert rate[0]["ci"][1] < rate[1]["ci"][1]
    assert rate[1]["identified"] == (rate[1]["ci"][1] < 2.5 * rate[1]["ci"][0])


def test_the_same_numbers_on_any_executor(world):
    rng, made = world
    said = answers(rng, made[:8], widths=(3.0,), length=60.0, noise=0.05)
    who = wk.Annotator(guess_rate=0.05, lapse_rate=0.05)
    alone = wk.infer(said, event_length=1.0, annotator=who, rng=3)
    with ThreadPoolExecutor(3) as pool:
        several = wk.infer(said, event_length=1.0, annotator=who, rng=3, executor=pool)
    pd.testing.assert_frame_equal(alone.summary, several.summary)
    assert alone.log_likelihood == several.log_likelihood


def test_very_many_recordings_are_told_by_some(world, monkeypatch):
    """The process of a third of the recordings decodes the others: near what all of them tell, on any executor."""
    from weakly.posterior import class_answers

    rng, made = world
    said, true = answers(rng, made, widths=(3.0,), length=60.0, noise=0.02), sum(map(len, made))
    who = wk.Annotator(guess_rate=0.02, lapse_rate=0.02)
    how = {"event_length": LAW, "annotator": who, "bouts": False, "step": 0.25, "rng": 0}
    every = wk.infer(said, **how).overall.iloc[0]
    monkeypatch.setattr(class_answers, "MOST_FITTED", len(made) * 300 // 3)
    some = wk.infer(said, **how)
    with ThreadPoolExecutor(3) as pool:
        again = wk.infer(said, **how, executor=pool)
    pd.testing.assert_frame_equal(some.summary, again.summary, check_exact=True)
    pd.testing.assert_frame_equal(some.active, again.active, check_exact=True)
    row = some.overall.iloc[0]
    assert row.to_dict() == again.overall.iloc[0].to_dict()
    assert row["n_recordings"] == len(made)
    low, high = row["n_events_ci"]
    assert low <= true <= high
    assert row["n_events"] == pytest.approx(every["n_events"], rel=0.1)
    assert np.ptp(every["n_events_ci"]) < high - low < 3 * np.ptp(every["n_events_ci"])  # of the process of a third
    assert some.log_likelihood == pytest.approx(every["log_likelihood"] / 3, rel=0.3)


def test_recordings_with_the_same_answers_share_one_posterior_and_differ_in_nothing(world):
    """Forty copies of one recording: forty times its expected numbers, and the interval of a sum."""
    rng, made = world
    one = answers(rng, made[:1], widths=(3.0,), length=60.0)
    copies = pd.concat([one.assign(recording=f"c{k}") for k in range(40)])
    single = wk.infer(one, event_length=1.0, presence_criterion=0.5, event_rate=0.1, rng=0)
    many = wk.infer(copies, event_length=1.0, presence_criterion=0.5, event_rate=0.1, rng=0)
    assert many.overall["n_events"][0] == pytest.approx(40 * single.overall["n_events"][0])
    assert many.log_likelihood == pytest.approx(40 * single.log_likelihood)
    widths = [float(np.ptp(f.overall["event_seconds_ci"][0])) for f in (single, many)]
    assert 3.5 * widths[0] < widths[1] < 11 * widths[0]  # sqrt(40) = 6.3


def test_recordings_keep_their_order(world):
    """Recordings with the same answers are worked on together; the tables name them as the answers do."""
    rng, made = world
    said = answers(rng, made, widths=(20.0,), length=60.0)
    found = wk.infer(said, event_length=1.0, presence_criterion=0.5, event_rate=0.1, rng=0, draws=10)
    assert found.summary["recording"].tolist() == said["recording"].unique().tolist()
    frames = found.training().frames
    painted = said.set_index(["recording", "onset"])["present"]
    for recording, part in frames.groupby("recording"):
        starts = part["onset"].to_numpy() // 20 * 20
        assert part["hard"].tolist() == painted[recording][starts].tolist()


def test_events_frames_and_samples_agree(world):
    rng, made = world
    said = answers(rng, made[:6], widths=(0.5,), length=60.0)
    found = wk.infer(said, event_length=LAW, presence_criterion=0.5, rng=0)
    active = found.active
    seconds = ((active["offset"] - active["onset"]) * active["active"]).groupby(active["recording"]).sum()
    np.testing.assert_allclose(seconds[found.summary["recording"]], found.summary["event_seconds"], rtol=1e-9)
    events = found.events()
    frame = events.to_frame()
    assert len(frame) > 3
    assert (frame["confidence"] > 0.5).all()
    assert (frame["onset_low"] <= frame["onset_high"]).all()
    assert (frame["offset_low"] <= frame["offset_high"]).all()
    assert len(events.recordings) == 6
    drawn = found.sample(400, rng=1)
    assert len(drawn) / 400 == pytest.approx(found.summary["n_events"].sum(), rel=0.05)
    assert json.loads(json.dumps(found.to_dict()))["overall"][0]["n_recordings"] == 6


def test_ends_of_posterior_events_hold_the_true_ones(world):
    """The event under way at the peak: its true onset and offset lie in their intervals as often as they should."""
    _, made = world
    said = answers(np.random.default_rng(8), made, widths=(0.5,), length=60.0, criterion=0.2, noise=0.03)
    who = wk.Annotator(presence_criterion=0.2, guess_rate=0.03, lapse_rate=0.03)
    found = wk.infer(said, event_length=LAW, annotator=who, recording_length=60.0, rng=0, draws=10, bouts=False)
    inside, widths = [], []
    frame = found.events(rng=1).to_frame()
    for row in frame.itertuples():
        middle = (row.onset_high + row.offset_low) / 2 if row.onset_high < row.offset_low else row.onset
        for a, b in made[int(row.recording[1:])]:
            if a <= middle < b:
                inside.append([row.onset_low - 0.05 <= a <= row.onset_high + 0.05,
                               row.offset_low - 0.05 <= b <= row.offset_high + 0.05])  # fmt: skip
                widths.append(row.onset_high - row.onset_low)
    assert len(inside) > 80
    assert np.mean(inside) > 0.91
    assert np.median(widths) < 1.5  # and they tell something


def test_a_pilot_takes_lengths_of_recordings_from_the_answers():
    """Events that end with a recording of 6 s are cut, though the pilot does not say that it ends there."""
    rows = [("a", 1.0, 2.0), ("a", 4.5, 6.0), ("b", 3.0, 5.5)]
    pilot = pd.DataFrame(rows, columns=["recording", "onset", "offset"]).assign(label="owl")
    two = pd.concat([BASE, BASE.assign(recording="b")])
    how = {"presence_criterion": 0.5, "event_rate": 0.05, "rng": 0, "draws": 10}
    told = wk.infer(two, event_length=wk.Events.from_frame(pilot, recording_length=6.0), **how)
    untold = wk.infer(two, event_length=wk.Events.from_frame(pilot), recording_length=6.0, **how)
    guessed = wk.infer(
        two, event_length=wk.Events.from_frame(pilot), **how
    )  # 6 s is where the last segment ends, no more
    whole = wk.infer(two, event_length=wk.Lengths.sample([1.0, 1.5, 2.5]), **how)
    pd.testing.assert_frame_equal(told.summary, untold.summary)
    assert told.parts["owl"].renewal.lengths.mean > whole.parts["owl"].renewal.lengths.mean + 0.05
    assert guessed.parts["owl"].renewal.lengths.mean == pytest.approx(whole.parts["owl"].renewal.lengths.mean)


def test_an_estimate_lies_in_its_interval():
    """Recordings in which hardly anything can be: all drawn timelines are empty, and the expected time is not none."""
    quiet = answers(np.random.default_rng(0), [np.empty((0, 2))] * 3, widths=(3.0,), length=60.0)
    found = wk.infer(quiet, event_length=1.0, presence_criterion=0.5, event_rate=0.001, rng=0).summary
    for word in ("n_events", "event_seconds", "event_rate"):
        low, high = zip(*found[f"{word}_ci"])
        assert (np.array(low) <= found[word]).all()
        assert (found[word] <= np.array(high)).all()


def test_clips_to_pool_over(world):
    """First and last frame of every clip, what most answers say, and by how much; clips that are nearly all present."""
    rng, made = world
    said = answers(rng, made[:3], widths=(3.0,), length=60.0)
    other = said.assign(present=1 - said["present"], annotator="b")
    both = pd.concat([said, said.assign(annotator="a"), other])
    who = wk.Annotator(guess_rate=0.1, lapse_rate=0.1)
    found = wk.infer(both, event_length=LAW, annotator=who, event_rate=0.1, step=0.2, rng=0, draws=5)
    kit = found.training()
    assert len(kit.clips) == len(said)
    assert kit.clips["present"].tolist() == said["present"].astype(int).tolist()
    np.testing.assert_allclose(kit.clips["weight"], 1 / 3)
    frames = kit.frames[kit.frames["recording"] == "r1"]
    for row in kit.clips[kit.clips["recording"] == "r1"].itertuples():
        mine = frames.iloc[row.first : row.last]
        assert mine["onset"].min() == pytest.approx(row.onset)
        assert mine["offset"].max() == pytest.approx(row.offset)
    full = said.assign(present=[0.0, *[1.0] * (len(said) - 1)])
    always = wk.infer(full, event_length=LAW, annotator=who, event_rate=0.3, step=0.5, rng=0, draws=5)
    with pytest.warns(AssumptionWarning, match="98 % of the clips are present.*ask shorter ones"):
        always.training()


def test_training_rates_match_the_truth(world, tmp_path):
    rng, made = world
    said = answers(rng, made, widths=(2.0,), length=60.0)
    kit = wk.infer(said, event_length=LAW, presence_criterion=0.5, rng=0, draws=10, bouts=False).training()
    active = idle = missed = added = 0.0
    for row in said.itertuples():
        events = made[int(row.recording[1:])]
        over = np.clip(np.minimum(events[:, 1], row.offset) - np.maximum(events[:, 0], row.onset), 0, None).sum()
        active, idle = active + over, idle + 2.0 - over
        missed, added = missed + over * (1 - row.present), added + (2.0 - over) * row.present
    assert kit.rates["deletion_rate"][0] == pytest.approx(missed / active, abs=0.04)
    assert kit.rates["insertion_rate"][0] == pytest.approx(added / idle, abs=0.02)
    np.testing.assert_allclose(kit.noise_matrix("owl", 2.0).sum(axis=0), 1.0)
    kit.write(tmp_path)
    frames = pd.read_parquet(tmp_path / "frames.parquet")
    assert set(frames["hard"].unique()) == {0.0, 1.0}
    odds = np.log(frames["posterior"] / (1 - frames["posterior"]))
    kept = np.isfinite(odds) & (odds.abs() < 20)
    assert np.ptp((odds - frames["log_likelihood_ratio"])[kept]) < 1e-6  # the prior's odds, everywhere the same
    assert (tmp_path / "events.tsv").read_text().startswith("filename\tonset\toffset\tevent_label\tconfidence\n")
    assert wk.read(tmp_path / "events.tsv").to_frame()["confidence"].between(0, 1).all()


def test_the_corrected_loss_is_least_at_the_truth():
    """Expected over noisy labels, the loss of a constant guess is least at the true share of active frames."""
    share, inserted, deleted = 0.3, 0.25, 0.1
    noisy = share * (1 - deleted) + (1 - share) * inserted
    grid = np.linspace(0.01, 0.99, 99)
    rates = {"insertion_rate": inserted, "deletion_rate": deleted}
    loss = noisy * forward_corrected_loss(grid, 1.0, **rates) + (1 - noisy) * forward_corrected_loss(grid, 0.0, **rates)
    assert grid[np.argmin(loss)] == pytest.approx(share)


BASE = pd.DataFrame(
    {"recording": "a", "onset": [0.0, 3.0], "offset": [3.0, 6.0], "label": "owl", "present": [1.0, 0.0]}
)


@pytest.mark.parametrize(
    ("change", "how", "message"),
    [
        ({"present": [np.nan, np.nan]}, {}, "all are unsure"),
        ({}, {"recording_length": 5.0}, r"answer \(3, 6\) lies outside recording 'a' of 5 s"),
        ({"onset": [np.nan] * 2, "offset": [np.nan] * 2}, {}, "give recording_length"),
        ({}, {"event_rate": 0.1, "event_length": None}, "give the law of event lengths"),
        ({}, {"event_rate": 6.0}, "events per minute"),
        (
            {},
            {"rule": "seconds:1", "presence_criterion": 0.5},
            "one of presence_criterion, rule and annotator, got presence_criterion and rule",
        ),
        (
            {"onset": [0.0, 0.0], "offset": [3.0, 3.0]},
            {"annotator": wk.Annotator()},
            r"owl, recording 'a': no timeline .* give the annotator a guess_rate and a lapse_rate; left out, both",
        ),
        ({}, {"step": -1.0}, "step must be > 0"),
        ({}, {"step": 100.0}, "step must be at most the shortest segment, 3 s"),
        ({}, {"unlisted": "no"}, "unlisted must be one of"),
        ({}, {"presence_criterion": "beta:2,3", "criterion_per": "person"}, "criterion_per must be one of 'recording'"),
        (
            {},
            {"rule": ["seconds:1", "seconds:2"], "criterion_per": "answer"},
            "only shares of the event can be drawn for every answer, not rules, got seconds:1, seconds:2",
        ),
        ({}, {"label": "dog"}, "label must be one of 'owl'"),
    ],
)
def test_what_is_refused(change, how, message):
    with pytest.raises(InvalidInput, match=message):
        wk.infer(BASE.assign(**change), **{"event_length": 1.0, "recording_length": None, **how})


@pytest.mark.filterwarnings("ignore")
def test_slips_are_counted_in_every_recording_with_the_same_answers():
    frame = pd.DataFrame(
        {"onset": 0.0, "offset": [16.0, 8.0, 4.0, 4.0], "label": "owl", "present": [1.0, 0.0, 1.0, 0.0]}
    )
    said = pd.concat([frame.assign(recording=name) for name in ("a", "b", "c")])
    how = {"event_length": 1.0, "event_rate": 0.1, "presence_criterion": 0.5, "rng": 0, "draws": 20}
    (counts,) = wk.infer(said, **how).parts["owl"].slips.values()
    assert counts[1] + counts[3] == pytest.approx(12)  # answers where nothing, and something, was to be heard


@pytest.mark.parametrize(
    ("lengths", "how"), [(1.0, {"presence_criterion": 0.5}), (1.0, {"rule": "seconds:0.5"}), (1.0, {}), (None, {})]
)
def test_answers_that_contradict_each_other_are_slips(how, lengths):
    """Nested and repeated queries of which one answer is wrong, as every long session has them; and two people."""
    spans = [(0, 16), (0, 8), (8, 16), (0, 4), (4, 8), (4, 6), (6, 8), (5, 7), (4, 8), (8, 12)]
    said = [1, 1, 0, 0, 1, 0, 0, 1, 0, 1]
    frame = pd.DataFrame(spans, columns=["onset", "offset"], dtype=float).assign(
        recording="a", label="owl", present=said
    )
    people = pd.concat([frame.assign(annotator="x"), frame.assign(annotator="y", present=[1, *said[1:9], 0])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        for given, n in ((frame, 1), (people, 2)):
            found = wk.infer(given, event_length=lengths, rng=0, draws=50, bouts=None if n == 1 else False, **how)
            assert 0.5 < found.overall["n_events"][0] < 4
            rates = found.estimates[found.estimates["quantity"].str.contains("guess_rate|lapse_rate")]
            assert len(rates) == 2 * n
            assert ((rates["value"] > 0) & (rates["value"] <= 0.4)).all()
            assert any("slips" in text and "estimated" in text for text in found.sentences())
            assert any("contradict each other" in note for note in found.notes) == bool(how)
            assert len(found.sample(3, rng=0)) > 0


def seizures(people, *, rng, length=1500.0, width=10.0):
    """Three long events; what people with their own criteria, of the shorter of event and segment, say, with slips."""
    events = [(200.0, 260.0), (700.0, 745.0), (1200.0, 1290.0)]
    rows = []
    for name, (criterion, slip) in people.items():
        for onset in np.arange(0.0, length, width):
            shared = max(min(b, onset + width) - max(a, onset) for a, b in events)
            rows.append((onset, onset + width, float((shared >= criterion * width) != (rng.random() < slip)), name))
    frame = pd.DataFrame(rows, columns=["onset", "offset", "present", "annotator"])
    return frame.assign(recording="eeg", label="seizure")


@pytest.mark.parametrize("people", [{"a": (0.5, 0.0)}, {"a": (0.3, 0.02), "b": (0.5, 0.02), "c": (0.8, 0.02)}])
def test_long_events_are_not_many_short_ones(people):
    """Nothing told: three seizures of 195 s are about three, whoever answers, and intervals are no wider than that."""
    said = seizures(people, rng=np.random.default_rng(1))
    with pytest.warns(AssumptionWarning, match="one segment length"):
        found = wk.infer(said, rng=0, draws=100, bouts=None if len(people) == 1 else False)
    row = found.overall.iloc[0]
    assert row["n_events"] == pytest.approx(3, abs=0.6)
    assert row["n_events_ci"][1] <= 6
    assert row["event_seconds"] == pytest.approx(195, abs=30)
    assert found.of_shorter
    assert any("of the shorter of event and segment" in text for text in found.sentences())


@pytest.mark.parametrize(
    ("width", "how"),
    [
        (0.5, {}), (1.0, {"event_length": 1.0}), (1.0, {"rule": "any"}),
        (0.5, {"event_length": 0.5, "presence_criterion": 0.5}),
    ],
)  # fmt: skip
def test_a_class_that_is_always_there(how, width):
    onset = np.arange(30) * width
    frame = pd.DataFrame({"recording": "a", "onset": onset, "offset": onset + width, "label": "rain", "present": 1.0})
    with pytest.warns(AssumptionWarning):
        found = wk.infer(frame, rng=0, draws=20, **how)
    assert 0.3 * 30 * width < found.overall["event_seconds"][0] <= 30 * width


def test_answers_about_segments_of_many_lengths_are_said_as_such():
    """Adaptive queries hardly ever have the same length twice; two that do are not the length of all."""
    widths = np.append(np.linspace(0.5, 4.9, 40), [2.0, 2.0])
    onset = np.arange(42) * 5.0
    frame = pd.DataFrame({"recording": "a", "onset": onset, "offset": onset + widths, "label": "owl"})
    found = wk.infer(frame.assign(present=[0, 1] * 21), event_length=1.0, presence_criterion=0.5, rng=0, draws=10)
    low, high = found.parts["owl"].segment_lengths[[0, -1]]
    assert (low, high) == (pytest.approx(0.5, abs=0.3), pytest.approx(4.9, abs=0.3))


def test_a_sliver_at_the_end_does_not_set_the_step():
    """A recording of 6.01 s in clips of 3 s: the last one of 10 ms asks for no steps of 2 ms."""
    sliver = BASE.iloc[:1].assign(onset=6.0, offset=6.01, present=0.0)
    how = {"event_length": 1.0, "presence_criterion": 0.5, "event_rate": 0.1, "rng": 0}
    found = wk.infer(pd.concat([BASE, sliver]), **how)
    plain = wk.infer(BASE, **how)
    assert found.settings["step"] == plain.settings["step"]
    assert found.overall["event_seconds"][0] == pytest.approx(plain.overall["event_seconds"][0], abs=0.05)


def test_no_answers_at_all():
    with pytest.raises(InvalidInput, match="no answer"):
        wk.infer(BASE.iloc[:0], event_length=1.0)


def test_coarse_steps_and_lists_of_present_labels_warn():
    with pytest.warns(AssumptionWarning, match="step of 2 s is coarse"):
        wk.infer(BASE, event_length=1.0, presence_criterion=0.5, step=2.0)
    only = BASE.iloc[:1]
    with pytest.warns(AssumptionWarning, match="every answer is present"):
        wk.infer(only, event_length=1.0, presence_criterion=0.5, recording_length=6.0)
    both = pd.concat([only, BASE.iloc[1:].assign(label="dog", present=1.0)])
    with pytest.warns(AssumptionWarning, match="every answer"):
        plain = wk.infer(both, event_length=1.0, presence_criterion=0.5, event_rate=0.1)
    filled = wk.infer(both, event_length=1.0, presence_criterion=0.5, event_rate=0.1, unlisted="absent")
    assert (
        filled.overall.set_index("label").loc["owl", "n_events"]
        < plain.overall.set_index("label").loc["owl", "n_events"]
    )


def test_each_class_has_its_own_law(world):
    rng, made = world
    said = answers(rng, made[:4], widths=(3.0,), length=60.0)
    both = pd.concat([said, said.assign(label="dog")])
    rows = [("a", 0.0, 0.5, "owl"), ("a", 2.0, 5.0, "dog"), ("a", 4.0, 6.0, "dog")]
    pilot = wk.Events.from_frame(pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"]))
    how = {"presence_criterion": 0.5, "event_rate": 0.05, "rng": 0, "draws": 10}
    found = wk.infer(both, event_length=pilot, **how)
    assert found.parts["owl"].renewal.lengths.mean == 0.5
    assert found.parts["dog"].renewal.lengths.mean == 4.0  # events that overlap are one
    same = wk.infer(both, event_length={"owl": 0.5, "dog": 4.0}, **how)
    pd.testing.assert_frame_equal(found.summary, same.summary)
    with pytest.raises(InvalidInput, match="no entry for 'owl'"):
        wk.infer(both, event_length={"dog": 4.0}, **how)


def test_several_annotators_by_name():
    """A careful and a careless person: the careful one's absence weighs more than the careless one's presence."""
    frame = pd.DataFrame(
        {"recording": "a", "onset": 0.0, "offset": 3.0, "label": "owl", "present": [1.0, 0.0], "annotator": ["x", "y"]}
    )
    careful = wk.Annotator(guess_rate=0.01, lapse_rate=0.01)
    careless = wk.Annotator(guess_rate=0.3, lapse_rate=0.3)
    how = {"event_length": 1.0, "event_rate": 0.1, "recording_length": 6.0}
    first = wk.infer(frame, annotator={"x": careful, "y": careless}, **how)
    second = wk.infer(frame, annotator={"x": careless, "y": careful}, **how)
    assert first.overall["n_events"][0] > 1 > second.overall["n_events"][0]


def test_a_criterion_is_kept_for_a_recording_or_drawn_for_every_answer(tmp_path):
    """Somebody contradicts themselves about one clip: an accident of two slips, or two criteria."""
    frame = pd.DataFrame({"recording": "a", "onset": 0.0, "offset": 3.0, "label": "owl", "present": [1.0, 0.0]})
    law = [wk.Annotator(presence_criterion=each, guess_rate=0.01, lapse_rate=0.01) for each in (0.2, 0.8)]
    how = {"event_length": 2.0, "event_rate": 0.1, "recording_length": 6.0, "annotator": law, "rng": 0}
    kept, drawn = (wk.infer(frame, criterion_per=each, **how) for each in ("recording", "answer"))
    part = drawn.parts["owl"]
    who = replace(AnswerModels.of(annotator=law), per_answer=True)
    wanted = prepare([(0, 3), (0, 3)], [1, 0], renewal=part.renewal, recording_length=6.0, annotator=who)
    wanted = wanted.posterior(part.renewal)
    assert drawn.log_likelihood == pytest.approx(wanted.log_likelihood, abs=1e-12)
    assert drawn.log_likelihood > kept.log_likelihood + 1
    assert drawn.settings["criterion_per"] == "answer"
    rng, clips = np.random.default_rng(0), np.tile([0.0, 1.5], (9, 1))
    (pattern,) = AnswerPattern.grouped([("a", clips, np.ones(9), ("",) * 9, 6.0)])
    prior = prepare(np.empty((0, 2)), [], renewal=part.renewal, recording_length=6.0).posterior(part.renewal)
    noiseless = AnswerModels.of(presence_criterion=[0.2, 0.8])
    for models, is_alike in ((noiseless, True), (replace(noiseless, per_answer=True), False)):
        said = _asked_again(pattern, models, [prior], rng)
        assert (said == said[:, :1]).all() == is_alike
    # every data set draws its own: shares of present answers differ by chance alone (.03), not by the criterion (.06)
    many = [_asked_again(pattern, noiseless, [prior], np.random.default_rng(seed)).mean() for seed in range(30)]
    assert np.std(many) < 0.045
    path = tmp_path / "clips.csv"
    frame.to_csv(path, index=False)
    words = "--event-length 2 --event-rate 0.1 --recording-length 6 --presence-criterion beta:2,3 --guess-rate 0.1"
    run = CliRunner().invoke(app, ["infer", str(path), *words.split(), "--criterion-per", "answer", "--json"])
    assert json.loads(run.stdout)["settings"]["criterion_per"] == "answer"
    nested = frame.assign(offset=[3.0, 6.0])  # no slips are estimated beside criteria that may differ anyway
    with pytest.raises(InvalidInput, match="left out, both are estimated"):
        wk.infer(nested, criterion_per="answer", **how | {"annotator": None, "presence_criterion": 0.5})


def test_settings_and_headline_are_words():
    said = answers(np.random.default_rng(4), [[(2.0, 4.0)]] * 6, widths=[5.0], length=30.0, people=["ann"])
    law = wk.Annotator(presence_criterion=stats.beta(2, 3), guess_rate=0.1)
    how = {"event_length": 2.0, "recording_length": 30.0, "bouts": False, "draws": 5, "rng": 0}
    found = wk.infer(said, annotator=law, **how)
    assert found.to_dict()["settings"]["annotator"] == "criterion beta(2, 3), guess_rate 0.1"
    by_name = wk.infer(said, annotator={"ann": law}, **how).to_dict()["settings"]["annotator"]
    assert by_name == {"ann": "criterion beta(2, 3), guess_rate 0.1"}
    for page in (found.page().html(), found._repr_html_()):  # what the clips say is not the answer
        assert "events take" in page.split('<p class="answer">')[1].split("</p>")[0]


def test_command(tmp_path, world):
    rng, made = world
    path = tmp_path / "clips.csv"
    said = answers(rng, made[:6], widths=(3.0,), length=60.0)
    words = np.where(said["present"] == 1, "yes", "no")
    table = pd.DataFrame(
        {"file": said["recording"], "start_time": said["onset"], "end_time": said["offset"], "annotation": words}
    )
    table.to_csv(path, index=False)
    law = ["--event-length", "lognorm:s=0.6,scale=0.835", "--presence-criterion", "0.5"]
    run = CliRunner().invoke(app, ["infer", str(path), *law, "--json"])
    assert run.exit_code == 0, run.output
    document = json.loads(run.stdout)
    assert document["overall"][0]["n_recordings"] == 6
    out, page, kit = tmp_path / "out", tmp_path / "page.html", tmp_path / "kit"
    run = CliRunner().invoke(
        app, ["infer", str(path), *law, "--out", str(out), "--report", str(page), "--training", str(kit)]
    )
    assert run.exit_code == 0, run.output
    assert "3 s clips add up to" in run.stdout
    assert "3 s clips add up to" in page.read_text()
    assert {p.name for p in out.iterdir()} >= {"timeline.png", "recordings.csv", "events.csv", "infer.json"}
    active = pd.read_csv(out / "active.csv")  # written recording by recording
    assert active.groupby("recording")["offset"].max().tolist() == [60.0] * 6
    assert active["active"].between(0, 1).all()
    assert {p.name for p in kit.iterdir()} == {"clips.csv", "rates.csv", "noise.json", "events.tsv", "frames.parquet"}
    wrong = CliRunner().invoke(app, ["infer", str(path), "--guess-rate", "0.1"])
    assert isinstance(wrong.exception, InvalidInput)


def test_many_recordings_with_the_same_answers_share_timelines():
    """Their totals have the mean and the spread of sums of independent recordings, however many there are."""
    one = pd.DataFrame({"recording": "r", "onset": np.arange(0, 30, 3.0), "offset": np.arange(3, 33, 3.0),
                        "label": "owl", "present": [0, 0, 1, 1, 0, 0, 0, 1, 0, 0]})  # fmt: skip
    how = {"event_length": LAW, "event_rate": 0.1, "presence_criterion": 0.5, "step": 0.25, "rng": 0, "draws": 400}
    alone = wk.infer(one, **how)
    many = wk.infer(pd.concat([one.assign(recording=f"r{k}") for k in range(1100)]), **how)
    assert many.overall["n_events"][0] == pytest.approx(1100 * alone.overall["n_events"][0])
    assert many.summary["n_events_ci"].nunique() <= 2  # a thousand at a time
    for word in ("n_events", "event_seconds"):
        (few,), (most,) = alone.parts["owl"].totals[word], many.parts["owl"].totals[word]
        assert most.mean() == pytest.approx(1100 * alone.overall[word][0], abs=4 * most.std() / 20)
        assert most.std() == pytest.approx(few.std() * math.sqrt(1100), rel=0.2)


def test_recordings_that_differ_in_their_rate():
    """Most recordings are silent and some are busy: one rate for all would find half of the time or less."""
    rng = np.random.default_rng(21)
    made = recordings(rng, rate=0.01, length=30.0, n=90) + recordings(rng, rate=0.4, length=30.0, n=30)
    said = answers(rng, made, widths=(3.0,), length=30.0)
    found = wk.infer(said, event_length=LAW, presence_criterion=0.5, rng=0, step=0.25)
    true = sum(map(len, made)), sum(np.ptp(e, axis=1).sum() for e in made)
    row, part = found.overall.iloc[0], found.parts["owl"]
    assert row["n_events_ci"][0] <= true[0] <= row["n_events_ci"][1] < 1.6 * row["n_events_ci"][0]
    assert row["event_seconds_ci"][0] <= true[1] <= row["event_seconds_ci"][1]
    assert part.rates_differ > 20
    assert not part.kept[0]
    assert any("recordings differ in their rate of events" in text for text in found.sentences())
    busy = found.summary.set_index("recording")["event_rate"]
    assert busy[[f"r{k}" for k in range(90, 120)]].mean() > 10 * busy[[f"r{k}" for k in range(90)]].mean()
    assert part.family_interval("n_events", 0)[1] < 0.8 * true[0]


def test_the_gradient_of_the_search_is_that_of_its_objective():
    """Gaps of one kind and of two, the law of lengths left out: expected counts against differences."""
    said = answers(np.random.default_rng(3), recordings(np.random.default_rng(2), rate=0.1, length=30.0, n=4),
                   widths=(3.0,), length=30.0)  # fmt: skip
    who = wk.Annotator(guess_rate=0.03, lapse_rate=0.05)
    for stages, theta in ((0, [2.0, 0.1, -0.5]), (1, [2.0, 0.3, 0.4, 0.1, -0.5]), (3, [1.5, 0.1, -0.4, 0.2, -0.7])):
        family, theta = Family(0.25, 40, None, 1.5, stages), np.array(theta)
        ready = [
            prepare(rows[["onset", "offset"]].to_numpy(), rows["present"], renewal=family.renewal(theta),
                    recording_length=30.0, annotator=who)
            for _, rows in said.groupby("recording")
        ]  # fmt: skip
        sheets = Sheets(ready, np.ones(len(ready)))
        slopes = sheets.gradient(family, theta)[1]
        for k, move in enumerate(1e-4 * np.eye(len(theta))):
            up, down = (sheets.log_likelihood(family.renewal(theta + s * move)) for s in (1, -1))
            np.testing.assert_allclose(slopes[k], (up - down) / 2e-4, atol=2e-4 * len(ready))


def test_rates_by_a_gamma_law():
    """Few processes stand for all rates: their chances have its mean, and rare recordings more of the rare ones."""
    law = Lengths.of(LAW)
    family = Differing(0.25, 40, law, 1.5, around=math.log(10.0))
    for variation in (0.3, 0.6, 1.0):
        theta = np.array([math.log(9.0), math.log(variation), 0.0])
        found = family.renewal(theta)
        assert found.weights.sum() == pytest.approx(1.0)
        assert found.event_rate == pytest.approx(0.1, rel=0.05)
        spread = math.sqrt(found.weights @ (np.array([one.event_rate for one in found.members]) - 0.1) ** 2) / 0.1
        assert spread == pytest.approx(variation, rel=0.2)


def test_the_evidence_of_rates_that_differ_is_an_integral():
    """With a given law: over the mean gap, the variation and, by itself for each recording, the rate."""
    rng = np.random.default_rng(4)
    frame = answers(rng, recordings(rng, rate=0.15, length=60.0, n=10), widths=(3.0,), length=60.0, noise=0.02)
    rows = [
        (name, each[["onset", "offset"]].to_numpy(), each["present"].to_numpy(), ("",) * len(each), 60.0)
        for name, each in frame.groupby("recording")
    ]
    law, who = Lengths.of(LAW), AnswerModels.of(presence_criterion=0.5).with_noise(0.02, 0.02)
    patterns = AnswerPattern.grouped(rows)
    family = Family(0.5, 20, law, 1.5)
    ready = [p.prepared(family.renewal(np.array([math.log(6.0)])), who) for p in patterns]
    sheets = Sheets(ready, np.array([len(p.recordings) for p in patterns], dtype=float))
    mode = fit(sheets, family, family.starts())
    found = differing(sheets, explore(sheets, mode, nodes=64, rng=rng))

    gaps = np.exp(np.linspace(-1.5, 6.0, 60))
    rates = 1 / (gaps + law.mean)
    logs = np.stack([sheets.logs(family.renewal(np.array([math.log(gap)]))) for gap in gaps], axis=1)
    means, variations = np.linspace(0.0, 5.0, 51), np.log(np.geomspace(0.25, 2.0, 15))
    total = []
    for mean in means:
        for variation in variations:
            shape, rate = math.exp(-2 * variation), 1 / (math.exp(mean) + law.mean)
            density = stats.gamma(shape, scale=rate / shape).pdf(rates)
            chances = -trapezoid(density * np.exp(logs - logs.max(axis=1, keepdims=True)), rates, axis=1)
            value = sheets.times @ (np.log(chances) + logs.max(axis=1))
            total.append(value + family.log_prior(np.array([mean])) + stats.norm(math.log(0.6), 0.6).logpdf(variation))
    width = math.log((means[1] - means[0]) * (variations[1] - variations[0]))
    assert found.log_evidence == pytest.approx(np.logaddexp.reduce(total) + width, abs=0.4)


def bouts(rng, *, n, length):
    """Bouts of one and Poisson(3) more calls, gaps of 1.5 s on average, one bout in 45 s; calls do not overlap."""
    made = []
    for _ in range(n):
        starts = []
        for at in rng.uniform(-60, length, rng.poisson((length + 60) / 45)):
            for _ in range(1 + rng.poisson(3)):
                starts.append(at)
                at += 1 + rng.exponential(1.5)
        events, end = [], -np.inf
        for at in sorted(starts):
            at = max(at, end)
            end = at + float(LAW.rvs(random_state=rng))
            if end > 0 and at < length:
                events.append((max(at, 0.0), min(end, length)))
        made.append(np.array(events).reshape(-1, 2))
    return made


def test_calls_in_bouts():
    """Gaps of one kind are sure and wrong; both kinds hold the truth, and 10 s clips do not tell it."""
    rng = np.random.default_rng(11)
    made = bouts(rng, n=24, length=60.0)
    true = sum(map(len, made)), sum(np.ptp(e, axis=1).sum() for e in made)
    who = wk.Annotator(guess_rate=0.03, lapse_rate=0.05)
    how = {"event_length": LAW, "annotator": who, "step": 0.2, "rng": 0}
    short = wk.infer(answers(rng, made, widths=(3.0,), length=60.0, noise=0.03), **how)
    row, part = short.overall.iloc[0], short.parts["owl"]
    assert part.bayes_factor > 10
    assert not part.kept[0]
    assert part.family_interval("n_events", 0)[1] < true[0]
    assert row["n_events_ci"][0] <= true[0] <= row["n_events_ci"][1]
    assert row["event_seconds_ci"][0] <= true[1] <= row["event_seconds_ci"][1]
    table = short.estimates.set_index("quantity")
    assert table.loc["bout_share", "value"] == pytest.approx(0.7, abs=0.15)
    assert any("events come in bouts" in text for text in short.remarks())
    told = "cannot be told from 10 s clips.*in clips of about 1 to 1.5 s, or mark the events of a tenth"
    with pytest.warns(AssumptionWarning, match=told):
        long = wk.infer(answers(rng, made, widths=(10.0,), length=60.0, noise=0.03), **how)
    few, many = long.overall.iloc[0]["n_events_ci"]
    assert few <= true[0] <= many
    assert many > 1.5 * few
    assert not long.parts["owl"].identified
    assert not long.estimates.set_index("quantity").loc["event_rate", "identified"]
    least, most = long.parts["owl"].bounds
    assert least < few < many < most


def test_events_within_bouts_that_follow_at_once():
    """Calls that call others forth: gaps are more uneven than exponential, which 3 s clips do not tell."""
    made, said, how = bunched_set("hawkes", (3.0,), 5026)
    found = wk.infer(said, recording_length=60.0, step=0.2, rng=0, **how)
    few, many = found.overall.iloc[0]["n_events_ci"]
    assert few <= sum(map(len, made)) <= many
    assert not found.parts["event"].identified
    staged = [found.parts["event"].family_interval("n_events", k)[1] for k in (1, 2, 3)]
    assert max(staged) < sum(map(len, made))


def test_bouts_of_short_events_are_not_only_a_few_long_ones():
    """Nothing given, long clips of one length: both readings fit, and the intervals hold the true one."""
    rng = np.random.default_rng(2)
    made = bouts(rng, n=24, length=60.0)
    true = sum(map(len, made)), sum(np.ptp(e, axis=1).sum() for e in made)
    result = wk.infer(answers(rng, made, widths=(10.0,), length=60.0, noise=0.03), rng=0, draws=100)
    row, part = result.overall.iloc[0], result.parts["owl"]
    assert row["n_events_ci"][0] <= true[0] <= row["n_events_ci"][1]
    assert row["event_seconds_ci"][0] <= true[1] <= row["event_seconds_ci"][1]
    assert not part.identified
    assert part.mean_lengths[0] < 2.0 < 10.0 < part.mean_lengths[1]
    assert part.bounds[0] < row["n_events_ci"][0]
    assert part.bounds[1] > row["n_events_ci"][1]


def test_told_that_events_do_not_bunch_the_check_speaks():
    rng = np.random.default_rng(11)
    said = answers(rng, bouts(rng, n=24, length=60.0), widths=(3.0,), length=60.0)
    how = {"event_length": LAW, "presence_criterion": 0.5, "step": 0.2, "draws": 20, "rng": 0}
    with pytest.warns(AssumptionWarning, match="neighbouring segments are present together more often"):
        found = wk.infer(said, bouts=False, **how)
    assert found.fit.p_values["owl"]["neighbours"] < 0.02
    assert found.parts["owl"].bayes_factor is None
    assert found.to_dict()["fit"]["p_values"]["owl"] == found.fit.p_values["owl"]
    only = wk.infer(said, bouts=True, **how)
    shapes = [(each.family.stages, each.family.at_once) for each in only.parts["owl"].families]
    assert shapes == [(1, 0.0), (3, 0.0), (8, 0.0), (1, 0.5)]
    assert only.fit.sentence.startswith("the answers look as")


def test_time_without_answers_is_bounded(world):
    """Half of the absent clips unanswered: as it is far too many, and between the bounds the truth."""
    rng, made = world
    said = answers(rng, made[:20], widths=(3.0,), length=60.0)
    gone = (said["present"] == 0) & (np.random.default_rng(1).random(len(said)) < 0.5)
    how = {"event_length": LAW, "presence_criterion": 0.5, "bouts": False, "step": 0.2, "rng": 0}
    with pytest.warns(AssumptionWarning, match=r"of the time has no answer .* whatever is there"):
        found = wk.infer(said.assign(present=said["present"].mask(gone)), **how)
    true, here = sum(map(len, made[:20])), found.unasked["owl"]
    assert here.share == pytest.approx(gone.mean(), abs=0.01)
    assert found.overall["n_events"][0] > 1.3 * true
    assert here.absent["n_events_ci"][0] <= true <= here.absent["n_events_ci"][1] < here.present["n_events_ci"][1]
    assert not wk.infer(said, **how).unasked


def test_unanswered_beside_present_is_said(world):
    rng, made = world
    said = answers(rng, made[:20], widths=(3.0,), length=60.0)
    near = said.groupby("recording")["present"].shift(1).fillna(0) == 1
    gone = near & (np.random.default_rng(1).random(len(said)) < 0.8)
    how = {"event_length": LAW, "presence_criterion": 0.5, "bouts": False, "step": 0.5, "rng": 0, "draws": 50}
    found = wk.infer(said.assign(present=said["present"].mask(gone)), **how)
    assert any("not at random" in text for text in found.caveats())


def test_one_clip_per_recording_tells_one_bit():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"recording": [f"r{k}" for k in range(40)], "onset": 0.0, "offset": 10.0, "label": "owl"})
    said = frame.assign(present=(rng.random(40) < 0.4).astype(float))
    with pytest.warns(AssumptionWarning, match=r"one segment per recording tells whether it holds an event \("):
        found = wk.infer(said, event_length=LAW, presence_criterion=0.5, rng=0, draws=50, step=0.5)
    part = found.parts["owl"]
    assert not part.identified
    assert not found.estimates.set_index("quantity").loc["event_rate", "identified"]
    assert part.bayes_factor == pytest.approx(0.0, abs=0.7)


def test_events_in_recordings_whose_every_segment_is_present_are_not_counted():
    """Nothing limits how many there are; where other recordings hold most of them, the number is known as before."""
    onset = np.tile(np.arange(0, 12, 3.0), 20)
    frame = pd.DataFrame({"recording": np.repeat([f"r{k}" for k in range(20)], 4), "label": "owl",
                          "onset": onset, "offset": onset + 3})  # fmt: skip
    how = {"event_length": LAW, "presence_criterion": 0.5, "bouts": False, "step": 0.25, "draws": 50, "rng": 0}
    alone = (np.arange(80) % 4 == 1) * (np.arange(80) < 60.0)
    full = np.where(np.arange(80) < 36, 1.0, alone)
    text = r"9\d % of the events are in recordings whose every segment is present: nothing there limits"
    with pytest.warns(AssumptionWarning, match=text):
        found = wk.infer(frame.assign(present=full), **how)
    assert not found.parts["owl"].identified
    assert not found.estimates.set_index("quantity").loc["event_rate", "identified"]
    known = wk.infer(frame.assign(present=np.where(np.arange(80) < 4, 1.0, alone)), **how)
    assert known.parts["owl"].identified
    assert 0 < known.parts["owl"].full < 0.5


def test_bounds_hold_for_everybody_in_any_order():
    """The least that anybody needs counts, whoever is named first."""
    onset = np.arange(0, 30, 3.0)
    said = pd.DataFrame({"recording": "a", "onset": onset, "offset": onset + 3, "label": "owl",
                         "present": [0, 1] * 5, "annotator": ["ana", "ben"] * 5})  # fmt: skip
    ana, ben = (
        wk.Annotator(presence_criterion=0.9, lapse_rate=0.1),
        wk.Annotator(presence_criterion=0.2, guess_rate=0.1),
    )
    how = {"event_length": 4.0, "event_rate": 0.1, "step": 0.5, "draws": 2, "rng": 0}
    parts = [wk.infer(said, annotator=who, **how).parts["owl"]
             for who in ({"ana": ana, "ben": ben}, {"ben": ben, "ana": ana})]  # fmt: skip
    assert parts[0].bounds == parts[1].bounds
    assert not parts[0].too_long
    assert not parts[1].too_long


def test_events_that_are_too_long_for_every_segment_are_not_counted():
    """What a hard rule never finds in short segments, present answers cannot tell; a rule for the shorter can."""
    said = pd.DataFrame({"recording": np.repeat(["a", "b", "c"], 10), "onset": np.tile(np.arange(0, 30, 3.0), 3),
                         "offset": np.tile(np.arange(3, 33, 3.0), 3), "label": "owl",
                         "present": [0, 0, 1, 1, 0, 0, 0, 1, 0, 0] * 3})  # fmt: skip
    how = {"event_length": 20.0, "step": 1.0, "bouts": False, "rng": 0}
    with pytest.warns(AssumptionWarning, match="half of the events last 20 s or longer, and no 3 s segment holds as"):
        found = wk.infer(said, annotator=wk.Annotator(guess_rate=0.1, lapse_rate=0.1), **how)
    assert not found.parts["owl"].identified
    who = AnswerModels.of(rule="shorter:0.5").with_noise(0.1, 0.1)
    assert not any("no 3 s segment" in text for text in wk.infer(said, annotator=who, **how).sentences())


def test_lengths_that_go_with_recordings_widen_event_seconds(world):
    """Calls that are alike within a recording leave no trace in the answers; the pilot tells how much they vary."""
    rng, made = world
    rows = [(f"p{k}", 5.0 * j, 5.0 * j + d, "owl") for k, d in enumerate((0.4, 0.6, 1.0, 1.6, 2.4)) for j in range(6)]
    alike = wk.Events.from_frame(
        pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"]), recording_length=60.0
    )
    mixed = [(f"p{k % 5}", *row[1:]) for k, row in enumerate(rows)]
    mixed = [(name, 5.0 * k, 5.0 * k + (b - a), label) for k, (name, a, b, label) in enumerate(mixed)]
    mixed = wk.Events.from_frame(
        pd.DataFrame(mixed, columns=["recording", "onset", "offset", "label"]), recording_length=200.0
    )
    assert length_variation(alike.timelines("owl")) == pytest.approx(0.67, abs=0.1)
    assert length_variation(mixed.timelines("owl")) == 0.0
    said = answers(rng, made[:6], widths=(3.0,), length=60.0)
    how = {"presence_criterion": 0.5, "event_rate": 0.1, "step": 0.2, "rng": 0}
    wide, narrow = (
        float(np.ptp(wk.infer(said, event_length=e, **how).overall["event_seconds_ci"][0])) for e in (alike, mixed)
    )
    assert wide > 1.5 * narrow


def test_nested_queries_tell_the_criterion():
    """Halved clips of events of one length tell the share that was noticed; contradictory criteria are left out."""
    rng = np.random.default_rng(6)
    made = recordings(rng, rate=0.1, length=30.0, n=40, law=stats.uniform(1.0, 0.2))
    tables = [answers(rng, made, widths=(w,), length=30.0, criterion=0.8) for w in (5.0, 2.5, 1.25)]
    said = pd.concat(tables, ignore_index=True)
    found = wk.infer(said, event_length=[1.0, 1.1, 1.2], rng=0, draws=10, bouts=False)
    low, high = found.criterion_ci
    assert low <= 0.8 <= high
    assert found.presence_criterion == pytest.approx(0.8, abs=0.1)
    assert found.criterion_known
    assert any("estimated: 0." in text for text in found.sentences())


def test_lengths_that_ends_cut_are_censored():
    """The law of windows of 8 s against that of long recordings: cut events alone are too short."""
    law = stats.expon(scale=3.0)
    made = recordings(np.random.default_rng(4), rate=0.1, length=8.0, n=1500, law=law)
    found = lengths_of_truncated_events(EventArrays.of(made, 8.0))
    assert np.mean([d for e in made for d in np.ptp(e, axis=1)]) < 2.4
    assert float(found.partial_moments(2.0)[0]) == pytest.approx(law.cdf(2.0), abs=0.03)
    assert float(found.partial_moments(6.0)[0]) == pytest.approx(law.cdf(6.0), abs=0.04)
    assert found.mean == pytest.approx(3.0, rel=0.08)


def test_lengths_that_ends_cut_have_the_greatest_likelihood():
    """No other law on the same lengths explains what is heard better: tried by moving weight between any two."""
    rng = np.random.default_rng(9)
    law = stats.lognorm(0.8, scale=2.0)
    lines = EventArrays.of(recordings(rng, rate=0.15, length=8.0, n=15, law=law), 8.0)
    found = lengths_of_truncated_events(lines)
    x, p = found.values, found.weights
    cut = [(a <= 1e-6, b >= 8 - 1e-6, b - a) for a, b in lines.bounds]
    assert {kind[:2] for kind in cut} == {(False, False), (False, True), (True, False), (True, True)}

    def likelihood(p):
        total = 0.0
        for early, late, l in cut:
            if early and late:
                chance = p @ np.maximum(x - l, 0) / (p @ x)
            else:
                chance = p[x >= l - 1e-9].sum() if late or early else p[np.isclose(x, l)].sum()
                chance /= (p @ x) if early else 1.0
            total += math.log(chance)
        return total

    best = likelihood(p)
    for i in range(len(x)):
        for k in rng.choice(len(x), 6, replace=False):
            moved = p.copy()
            moved[i], moved[k] = 0.9 * p[i], p[k] + 0.1 * p[i]
            if k != i:
                assert likelihood(moved) < best + 1e-6


def detected(rng, made, *, length, noise=2.0, together=0.0):
    """Scores of a detector, ten a second: 3 in events, -3 elsewhere, with noise that may go on for frames."""
    tables = []
    for r, events in enumerate(made):
        onset = np.arange(round(10 * length)) / 10
        white = rng.normal(size=len(onset))
        for k in range(1, len(white)):
            white[k] = together * white[k - 1] + math.sqrt(1 - together**2) * white[k]
        active = ((onset[:, None] + 0.05 > events[:, 0]) & (onset[:, None] + 0.05 < events[:, 1])).any(axis=1)
        score = np.where(active, 3.0, -3.0) + noise * white
        tables.append(pd.DataFrame({"recording": f"r{r}", "onset": onset, "offset": onset + 0.1, "score": score}))
    return pd.concat(tables, ignore_index=True)


def wrong_seconds(found, made):
    """True and stated seconds of wrong label per recording."""
    true = stated = 0.0
    for (_, rows), events in zip(found.active.groupby("recording", sort=False), made):
        middle, p = (rows["onset"] + rows["offset"]).to_numpy() / 2, rows["active"].to_numpy()
        active = ((middle[:, None] > events[:, 0]) & (middle[:, None] < events[:, 1])).any(axis=1)
        true += 0.1 * ((p > 0.5) != active).sum() / len(made)
        stated += 0.1 * np.minimum(p, 1 - p).sum() / len(made)
    return true, stated


def test_scores_of_a_detector_are_evidence():
    """A detector alone is wrong for two seconds, answers alone for nearly three; together for a small part of it, on
    any scale of the scores; and what was learned decodes recordings that nobody answered for."""
    rng = np.random.default_rng(4)
    made = recordings(rng, rate=0.1, length=30.0, n=24)
    scores, said = detected(rng, made, length=30.0), answers(rng, made[:12], widths=(3.0,), length=30.0)
    mine = scores["recording"].isin(said["recording"])
    how = {"event_length": LAW, "presence_criterion": 0.5, "bouts": False, "step": 0.1, "draws": 10, "rng": 0}
    alone = 0.1 * np.mean([
        ((rows["score"] > 0).to_numpy() != ((rows["onset"].to_numpy()[:, None] + 0.05 > e[:, 0])
                                            & (rows["onset"].to_numpy()[:, None] + 0.05 < e[:, 1])).any(axis=1)).sum()
        for (_, rows), e in zip(scores[mine].groupby("recording", sort=False), made)
    ])  # fmt: skip
    both = wk.infer(said, scores=scores[mine], **how)
    true, stated = wrong_seconds(both, made[:12])
    assert true < 0.25 * alone
    assert true < 0.15 * wrong_seconds(wk.infer(said, **how), made[:12])[0]
    assert 0.5 < stated / true < 2
    table = both.estimates.set_index("quantity")
    assert table.loc["score_scale", "ci"][0] < table.loc["score_scale", "value"] < 2.5
    assert table.loc["log_answers_given_scores", "value"] > table.loc["log_answers_without_scores", "value"] + 20
    odds = scores.assign(score=1 / (1 + np.exp(-scores["score"] / 2 - 1)))
    again = wk.infer(said, scores=odds[mine], **how)
    np.testing.assert_allclose(again.active["active"], both.active["active"], atol=0.03)
    right = wk.infer(said, scores=scores[mine].assign(score=1.5 * scores["score"]), calibrate=False, **how)
    assert right.estimates.set_index("quantity").loc["score_scale", "how"] == "given"
    assert wrong_seconds(right, made[:12])[0] < 1.5 * true
    new = wk.infer(None, scores=scores[~mine], like=both, draws=10, rng=0)
    assert new.summary["recording"].tolist() == [f"r{k}" for k in range(12, 24)]
    assert wrong_seconds(new, made[12:])[0] < 0.3 * alone
    assert "clips" not in new.sentences()[0]
    assert len(new.events().to_frame()) > 10


def test_a_detector_whose_errors_go_on_is_believed_for_what_it_is_worth():
    """Few long clips and slips: the likelihood of the slope has several modes, and the search begins near a bad one."""
    rng = np.random.default_rng(6)
    made = recordings(rng, rate=0.1, length=30.0, n=60)
    scores = detected(rng, made, length=30.0, together=0.9)
    said = answers(rng, made, widths=(10.0,), length=30.0, noise=0.05)
    who = wk.Annotator(guess_rate=0.05, lapse_rate=0.05)
    found = wk.infer(said, scores=scores, event_length=LAW, annotator=who, bouts=False, step=0.1, draws=2, rng=0)
    true, stated = wrong_seconds(found, made)
    assert true < 1.1  # 1.5 at the mode near by
    assert 0.7 < stated / true < 1.4
    assert found.estimates.set_index("quantity").loc["score_temper", "value"] < 0.6


@pytest.fixture(scope="module")
def two_detectors():
    """Answers, and scores of a detector and of a worse one."""
    rng = np.random.default_rng(5)
    made = recordings(rng, rate=0.1, length=30.0, n=8)
    said = answers(rng, made, widths=(3.0,), length=30.0)
    return said, {name: detected(rng, made, length=30.0, noise=noise) for name, noise in (("bad", 6.0), ("good", 2.0))}


def test_detectors_are_compared_by_the_answers(two_detectors):
    """The better one is named; bits are those of `infer` with the scores of each; equal ones are not told apart."""
    said, scores = two_detectors
    how = {"event_length": LAW, "presence_criterion": 0.5, "event_rate": 0.1, "step": 0.2, "draws": 2, "rng": 0}
    part = wk.infer(said, **how).parts["owl"]
    frames = {name: frames_by_class(table)[None] for name, table in scores.items()}
    rows = compare_detectors(part, frames)
    assert [(row["detector"], row["better"]) for row in rows] == [("good", True), ("bad", False)]
    for row in rows:
        told = wk.infer(said, scores=scores[row["detector"]], **how).estimates.set_index("quantity")["value"]
        bits = (told["log_answers_given_scores"] - told["log_answers_without_scores"]) / math.log(2)
        assert row["bits_per_clip"] * row["n_clips"] == pytest.approx(bits, rel=1e-9)
        assert row["bits_per_clip_low"] < row["bits_per_clip"] < row["bits_per_clip_high"]
    assert rows[0]["behind"] == 0 < rows[1]["behind_low"] < rows[1]["behind"] < rows[1]["behind_high"]
    assert rows[1]["behind"] == pytest.approx(rows[0]["bits_per_clip"] - rows[1]["bits_per_clip"])
    assert rows[0]["wrong_per_minute"] < 0.5 * rows[1]["wrong_per_minute"]
    same = compare_detectors(part, {"a": frames["good"], "b": frames["good"]})
    assert [(row["better"], row["behind"]) for row in same] == [(False, 0.0), (False, 0.0)]
    first = {name: {"r0": each["r0"]} for name, each in frames.items()}
    alone = compare_detectors(part, first)  # one recording tells nothing of others
    assert [(row["n_recordings"], row["n_clips"], row["better"]) for row in alone] == [(1, 10, False)] * 2
    assert np.isnan([row["behind_low"] for row in alone]).all()
    two = {name: {key: each[key] for key in ("r0", "r1")} for name, each in frames.items()}
    few = compare_detectors(part, two)[1]  # two recordings leave their difference open by far more than it is
    assert few["behind_high"] - few["behind"] == pytest.approx(few["behind"] - few["behind_low"])
    assert few["behind_high"] - few["behind_low"] > 2 * (rows[1]["behind_high"] - rows[1]["behind_low"])


def test_scores_of_a_class_join_those_of_any():
    """Frames without a label are of every class; a table without frames is refused."""
    table = pd.DataFrame(
        {"recording": ["a", "b"], "onset": 0.0, "offset": 1.0, "score": [0.2, 0.4], "label": ["owl", None]}
    )
    kept = scores_of(frames_by_class(table), "owl", ["a", "b"])
    assert {name: float(each.values[0]) for name, each in kept.items()} == {"a": 0.2, "b": 0.4}
    with pytest.raises(InvalidInput, match="scores: there is no frame in them"):
        frames_by_class(table.iloc[:0])


@pytest.mark.parametrize(
    ("name", "content"), [("a.npy", b""), ("a.npz", b"PK"), ("a.csv", b""), ("a.csv", b"a,b\n1\n1,2,3\n")]
)
def test_score_files_that_are_broken_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=rf"{name}: cannot be read"):
        read_scores(tmp_path / name, hop=0.1)


def test_lengths_of_new_recordings_are_told_with_or_without_an_ending(two_detectors):
    said, scores = two_detectors
    how = {"event_length": LAW, "presence_criterion": 0.5, "step": 0.2, "draws": 2, "rng": 0, "bouts": False}
    known = wk.infer(said, scores=scores["good"], **how)
    for ending in ("", ".wav"):
        lengths = {f"r{k}{ending}": 45.0 for k in range(8)}
        new = wk.infer(None, scores=scores["good"], like=known, recording_length=lengths)
        assert new.overall["recording_seconds"].iloc[0] == 8 * 45.0


def test_audit_compares_detectors(two_detectors, tmp_path):
    said, scores = two_detectors
    said[said["recording"] < "r4"].to_csv(tmp_path / "answers.csv", index=False)
    for name, table in scores.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    files = f"{tmp_path / 'bad.csv'},{tmp_path / 'good.csv'}"
    card = tmp_path / "card.md"
    how = ["audit", "--answers", str(tmp_path / "answers.csv"), "--scores", files, "--card", str(card)]
    run = CliRunner().invoke(app, how)
    assert run.exit_code == 0, run.output
    assert "owl: good explains the answers better than bad, by" in run.stdout
    assert "expected wrong seconds per minute: good" in card.read_text()
    with pytest.raises(InvalidInput, match="scores need weak labels or answers"):
        wk.audit(strong=wk.Events.from_frame(said.iloc[:2][["recording", "onset", "offset", "label"]]), scores=scores)


@pytest.mark.parametrize(
    ("change", "how", "message"),
    [
        ({"recording": "z"}, {}, "no recording with answers has any; answers are of 'a', scores of 'z'"),
        ({"score": np.nan}, {}, "scores, row 1: .* is no frame"),
        ({"score": "high"}, {}, r"scores, row 1: \(0.0, 1.0, high\) is no frame"),
        ({"label": "jay"}, {}, "there are none of 'owl', only of jay; name the classes alike"),
        ({"recording": ["x/a.wav", "y/a.wav"]}, {}, "no recording with answers has any; answers are of 'a'"),
        ({"offset": 0.0}, {}, "scores, row 1: .* is no frame"),
        (None, {"scores": pd.DataFrame({"recording": ["a"]})}, "'onset' is missing"),
        (None, {"answers": None}, "without answers give scores= and like="),
    ],
)
def test_scores_that_are_refused(change, how, message):
    frame = pd.DataFrame({"recording": "a", "onset": [0.0, 1.0], "offset": [1.0, 2.0], "score": [0.1, 0.9]})
    given = {"answers": BASE, "scores": frame.assign(**change or {}), "event_length": 1.0, **how}
    with pytest.raises(InvalidInput, match=message):
        wk.infer(given.pop("answers"), presence_criterion=0.5, **given)


def test_scores_are_doubted_in_words():
    """What a stranger's scores lack is said, and scores that tell nothing change nothing."""
    rng = np.random.default_rng(4)
    made = recordings(rng, rate=0.1, length=30.0, n=8)
    scores, said = detected(rng, made, length=30.0), answers(rng, made, widths=(3.0,), length=30.0)
    how = {"event_length": LAW, "presence_criterion": 0.5, "bouts": False, "step": 0.2, "draws": 2, "rng": 0}
    odds = scores.assign(score=1 / (1 + np.exp(-scores["score"])))
    plain, good = wk.infer(said, **how), wk.infer(said, scores=scores, **how)
    assert good.caveats() == []
    named = scores.assign(recording=["r0" if name == "r0" else f"in/{name}.WAV" for name in scores["recording"]])
    same = wk.infer(said, scores=named, **how)
    np.testing.assert_array_equal(same.active["active"], good.active["active"])
    wide = scores[scores.index % 30 == 0].assign(offset=lambda rows: rows["onset"] + 3)
    for table, more, words in (
        (scores[scores["score"] > 1], {}, r"scores cover [\d.]+ % of the time; the rest has no evidence either way"),
        (wide, {}, r"frames of 3 s are long for events of 1 s, .* Give frames of at most 0.5 s"),
        (scores.assign(score=rng.normal(size=len(scores))), {}, "the scores explain the answers no better than chance"),
        (scores.assign(score=-scores["score"]), {}, r"the higher the score, the less likely an event"),
        (odds, {"calibrate": False}, "all scores are from 0 to 1 but are not taken as probabilities"),
    ):
        with pytest.warns(AssumptionWarning, match=words):
            found = wk.infer(said, scores=table, **how, **more)
        if "chance" in words:  # a search that goes astray finds events everywhere
            assert found.summary["event_seconds"].sum() == pytest.approx(plain.summary["event_seconds"].sum(), rel=0.1)
    with pytest.warns(AssumptionWarning, match="not taken as probabilities"):
        wk.infer(None, scores=odds, like=good, draws=2, rng=0)
    with pytest.raises(InvalidInput, match=r"scores must be probabilities as those of like, got .*; logits"):
        wk.infer(None, scores=scores, like=wk.infer(said, scores=odds, **how), draws=2, rng=0)
    two = pd.concat([said, said.assign(label="jay")])
    notes = wk.infer(two, scores=scores.assign(label="owl"), **how).notes
    assert "scores: there are none of jay; these are inferred from the answers alone" in notes


def test_files_of_scores(tmp_path):
    """A table of frames, BirdNET's results and arrays with a hop, by the command and by the reader."""
    onset = np.arange(0.0, 6.0, 0.5)
    frame = pd.DataFrame({"Start (s)": onset, "End (s)": onset + 0.5, "Confidence": np.linspace(0.1, 0.9, 12)})
    frame.assign(File="clips/a.wav", **{"Common name": "owl"}).to_csv(tmp_path / "birdnet.csv", index=False)
    table = read_scores(tmp_path / "birdnet.csv")
    assert table.columns.tolist() == ["recording", "onset", "offset", "score", "label"]
    frame.to_csv(tmp_path / "a.BirdNET.results.csv", index=False)
    assert set(read_scores(tmp_path / "a.BirdNET.results.csv")["recording"]) == {"a"}
    raven = {"Begin Time (s)": [3.0, 63.0], "End Time (s)": [6.0, 66.0], "File Offset (s)": [3.0, 3.0]}
    raven |= {"Begin Path": ["x/a.wav", "x/b.wav"], "Confidence": [0.5, 0.7], "Common Name": "owl"}
    pd.DataFrame(raven).to_csv(tmp_path / "raven.txt", sep="\t", index=False)
    assert read_scores(tmp_path / "raven.txt")[["onset", "offset"]].to_numpy().tolist() == [[3, 6], [3, 6]]
    (tmp_path / "arrays").mkdir()
    np.save(tmp_path / "arrays/a.npy", np.linspace(0.1, 0.9, 12))
    pd.testing.assert_frame_equal(
        read_scores(tmp_path / "arrays", hop=0.5)[["onset", "score"]], table[["onset", "score"]]
    )
    with pytest.raises(InvalidInput, match="give the seconds from one frame to the next"):
        read_scores(tmp_path / "arrays")
    frame.drop(columns="Confidence").to_csv(tmp_path / "none.csv", index=False)
    with pytest.raises(InvalidInput, match="no column says the score"):
        read_scores(tmp_path / "none.csv")
    BASE.to_csv(tmp_path / "clips.csv", index=False)
    law = ["--event-length", "1", "--presence-criterion", "0.5", "--event-rate", "0.1", "--json"]
    run = CliRunner().invoke(
        app, ["infer", str(tmp_path / "clips.csv"), *law, "--scores", str(tmp_path / "birdnet.csv")]
    )
    assert run.exit_code == 0, run.output
    assert "score_scale" in [row["quantity"] for row in json.loads(run.stdout)["estimates"]]
