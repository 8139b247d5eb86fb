"""`wk.infer` and `weakly infer`: worlds that are not ours back from their answers, and everything that is refused."""

from __future__ import annotations

import json
import math
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

import weakly as wk
from weakly import AssumptionWarning, InvalidInput
from weakly.cli import app
from weakly.model.intervals import EventArrays
from weakly.posterior.chain import prepare
from weakly.posterior.renewal import lengths_of_truncated_events
from weakly.studies.infer.training import forward_corrected_loss

LAW = stats.lognorm(0.6, scale=math.exp(-0.18))  # mean 1 s


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


@pytest.fixture(scope="module")
def world():
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
    assert row["event_seconds"] == pytest.approx(true[1], rel=0.15)
    assert found.estimates.set_index("quantity").loc["event_rate", "value"] == pytest.approx(0.1, rel=0.15)
    assert "10 s clips say" in found.sentences()[0]


def test_two_lengths_identify_the_law_and_one_does_not():
    rng = np.random.default_rng(101)
    made = recordings(rng, rate=0.1, length=60.0, n=40)
    both = wk.infer(
        answers(rng, made, widths=(0.5, 5.0), length=60.0), presence_criterion=0.5, step=0.1, rng=0, draws=50
    )
    table = both.estimates.set_index("quantity")
    assert table.loc["mean_length", "ci"][0] < 1.0 < table.loc["mean_length", "ci"][1]
    assert table.loc["mean_length", "value"] == pytest.approx(1.0, rel=0.4)
    assert bool(table.loc["mean_length", "identified"])
    with pytest.warns(AssumptionWarning, match="hangs on a guess"):
        one = wk.infer(answers(rng, made, widths=(5.0,), length=60.0), presence_criterion=0.5, rng=0, draws=50)
    table = one.estimates.set_index("quantity")
    assert not bool(table.loc["mean_length", "identified"])
    assert not bool(table.loc["event_rate", "identified"])
    assert any("hardly tell" in text for text in one.sentences())


def test_an_unknown_criterion_widens_the_intervals(world):
    rng, made = world
    said = answers(rng, made, widths=(3.0,), length=60.0)
    known = wk.infer(said, event_length=LAW, presence_criterion=0.5, rng=0, draws=50)
    unknown = wk.infer(said, event_length=LAW, rng=0, draws=50)
    a, b = known.overall.iloc[0]["n_events_ci"], unknown.overall.iloc[0]["n_events_ci"]
    assert b[1] - b[0] > 1.5 * (a[1] - a[0])
    assert not unknown.criterion_known
    assert any("presence criterion was left out" in text for text in unknown.sentences())


def test_the_same_numbers_on_any_executor(world):
    rng, made = world
    said = answers(rng, made[:8], widths=(3.0,), length=60.0, noise=0.05)
    who = wk.Annotator(guess_rate=0.05, lapse_rate=0.05)
    alone = wk.infer(said, event_length=1.0, annotator=who, rng=3)
    with ThreadPoolExecutor(3) as pool:
        several = wk.infer(said, event_length=1.0, annotator=who, rng=3, executor=pool)
    pd.testing.assert_frame_equal(alone.summary, several.summary)
    assert alone.log_likelihood == several.log_likelihood


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
    found = wk.infer(said, event_length=LAW, annotator=who, recording_length=60.0, rng=0, draws=10)
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
    assert np.mean(inside) == pytest.approx(0.95, abs=0.04)
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


def test_training_rates_match_the_truth(world, tmp_path):
    rng, made = world
    said = answers(rng, made, widths=(2.0,), length=60.0)
    kit = wk.infer(said, event_length=LAW, presence_criterion=0.5, rng=0, draws=10).training()
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
        ({}, {"label": "dog"}, "label must be one of 'owl'"),
    ],
)
def test_what_is_refused(change, how, message):
    with pytest.raises(InvalidInput, match=message):
        wk.infer(BASE.assign(**change), **{"event_length": 1.0, "recording_length": None, **how})


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
            found = wk.infer(given, event_length=lengths, rng=0, draws=50, **how)
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
        found = wk.infer(said, rng=0, draws=100)
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
    onset = np.arange(60) * width
    frame = pd.DataFrame({"recording": "a", "onset": onset, "offset": onset + width, "label": "rain", "present": 1.0})
    with pytest.warns(AssumptionWarning):
        found = wk.infer(frame, rng=0, draws=20, **how)
    assert 0.3 * 60 * width < found.overall["event_seconds"][0] <= 60 * width


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
    assert "3 s clips say" in run.stdout
    assert "3 s clips say" in page.read_text()
    assert {p.name for p in out.iterdir()} >= {"timeline.png", "recordings.csv", "events.csv", "infer.json"}
    assert {p.name for p in kit.iterdir()} == {"rates.csv", "noise.json", "events.tsv", "frames.parquet"}
    wrong = CliRunner().invoke(app, ["infer", str(path), "--guess-rate", "0.1"])
    assert isinstance(wrong.exception, InvalidInput)


def test_recordings_that_differ_in_their_rate():
    """Most recordings are silent and some are busy: one rate for all would find half of the time or less."""
    rng = np.random.default_rng(21)
    made = recordings(rng, rate=0.01, length=30.0, n=90) + recordings(rng, rate=0.4, length=30.0, n=30)
    said = answers(rng, made, widths=(3.0,), length=30.0)
    found = wk.infer(said, event_length=LAW, presence_criterion=0.5, rng=0, draws=50)
    true = sum(map(len, made)), sum(np.ptp(e, axis=1).sum() for e in made)
    row, fit = found.overall.iloc[0], found.parts["owl"].fit
    assert row["n_events"] == pytest.approx(true[0], rel=0.12)
    assert row["event_seconds"] == pytest.approx(true[1], rel=0.12)
    table = found.estimates.set_index("quantity")
    assert table.loc["rate_variation", "value"] > 1
    assert any("differ in their rate" in text for text in found.sentences())
    busy = found.summary.set_index("recording")["event_rate"]
    assert busy[[f"r{k}" for k in range(90, 120)]].mean() > 10 * busy[[f"r{k}" for k in range(90)]].mean()
    # the gradient that the search goes by is that of its objective
    part = found.parts["owl"]
    how = {"renewal": part.renewal, "recording_length": 30.0, "annotator": part.annotator}
    look = fit.family.search([prepare(one.segments, one.present, **how) for one in part.recordings[80:100]], None)
    for k in range(2):
        move = 1e-4 * np.eye(2)[k]
        slope = (look(fit.theta + move).log_likelihood - look(fit.theta - move).log_likelihood) / 2e-4
        np.testing.assert_allclose(look(fit.theta).scores[:, k], slope, atol=1e-5)


def test_one_rate_for_all_stays_one(world):
    rng, made = world
    said = answers(rng, made, widths=(3.0,), length=60.0)
    found = wk.infer(said, event_length=LAW, presence_criterion=0.5, rng=0, draws=10)
    assert found.parts["owl"].fit.family.names == ("hazard",)


def test_nested_queries_tell_the_criterion():
    """Halved clips of events of one length tell the share that was noticed; contradictory criteria are left out."""
    rng = np.random.default_rng(6)
    made = recordings(rng, rate=0.1, length=30.0, n=40, law=stats.uniform(1.0, 0.2))
    tables = [answers(rng, made, widths=(w,), length=30.0, criterion=0.8) for w in (5.0, 2.5, 1.25)]
    said = pd.concat(tables, ignore_index=True)
    found = wk.infer(said, event_length=[1.0, 1.1, 1.2], rng=0, draws=10)
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
