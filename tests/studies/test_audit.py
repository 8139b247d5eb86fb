"""Audits: recovery of simulated annotators, quality by definition, facts of real data sets, words and checks."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import weakly as wk
from weakly.base.results import to_json
from weakly.model.intervals import EventArrays
from weakly.posterior.criterion import estimate_criterion
from weakly.studies.audit.auditor import _marks
from weakly.studies.audit.observations import fractions, pair
from weakly.studies.audit.quality import quality
from weakly.studies.audit.responses import detection_curve


def data_set(seed=0, *, recordings=60, length=30.0, criteria=(("anna", 0.3),), width=1.5, lapse=0.05, label="dog"):
    """Strong events, and what annotators with their own criteria say of every segment."""
    rng = np.random.default_rng(seed)
    events, rows = [], []
    for r in range(recordings):
        name, start = f"r{r}", rng.uniform(0, 3)
        bounds = []
        while start + 0.5 < length - 1:
            end = min(start + rng.uniform(0.5, 2.0), length)
            bounds.append((start, end))
            start = end + rng.uniform(0.5, 6)
        events += [(name, a, b, label) for a, b in bounds]
        for k in range(int(np.ceil(length / width))):
            s, e = k * width, min((k + 1) * width, length)
            h = max((max(0.0, min(b, e) - max(a, s)) / (b - a) for a, b in bounds), default=0.0)
            for annotator, criterion in criteria:
                said = (h >= criterion) != (rng.random() < lapse)
                rows.append((name, s, e, label, float(said), annotator, 4.0 + rng.exponential(1.0)))
    strong = pd.DataFrame(events, columns=["recording", "onset", "offset", "label"])
    answers = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "present", "annotator", "seconds"])
    return wk.Events.from_frame(strong, recording_length=length), wk.Answers.from_frame(answers)


def test_the_criterion_of_every_annotator_is_found():
    strong, answers = data_set(1, recordings=90, criteria=(("anna", 0.15), ("ben", 0.7)))
    found = wk.audit(strong=strong, answers=answers)
    table = found.criteria[(found.criteria["method"] == "law") & (found.criteria["annotator"] != "")]
    for name, criterion in (("anna", 0.15), ("ben", 0.7)):
        row = table[table["annotator"] == name].iloc[0]
        assert row["presence_criterion_low"] <= criterion <= row["presence_criterion_high"]
        assert row["presence_criterion"] == pytest.approx(criterion, abs=0.05)
        assert row["lapse_rate"] == pytest.approx(0.05, abs=0.05)
    assert any("annotators differ in sensitivity" in finding.text for finding in found.findings)


def test_event_fractions_are_those_of_the_definition():
    rng = np.random.default_rng(5)
    rows = [np.sort(rng.uniform(0, 10, 2 * rng.integers(0, 6))).reshape(-1, 2) for _ in range(20)]
    timelines = EventArrays.of(rows, 10.0)
    recording = rng.integers(0, 20, 300)
    bounds = np.sort(rng.uniform(0, 10, (300, 2)), axis=1)
    h, c = fractions(timelines, recording, bounds)
    for k, (r, (s, e)) in enumerate(zip(recording, bounds)):
        shared = [max(0.0, min(b, e) - max(a, s)) for a, b in rows[r]]
        assert h[k] == pytest.approx(max((x / (b - a) for x, (a, b) in zip(shared, rows[r])), default=0.0), abs=1e-12)
        assert c[k] == pytest.approx(sum(shared) / (e - s), abs=1e-12)


def test_quality_is_that_of_the_definition():
    strong, answers = data_set(2, recordings=12)
    pairing = pair(strong, answers)
    observed = {label: pairing.observed(label, unlisted="unknown") for label in pairing.labels}
    table = quality(pairing, observed, unlisted="unknown").table.set_index("label")
    right = wrong = tp = said = truth = 0.0
    events = strong.to_frame()
    found, total, phantom, missed = 0, 0, 0, 0
    frame = answers.to_frame()
    for name in strong.recordings.index:
        bounds = events.loc[events["recording"] == name, ["onset", "offset"]].to_numpy()
        mine = frame[frame["recording"] == name]
        hit = np.zeros(len(bounds), dtype=bool)
        for s, e, present in zip(mine["onset"], mine["offset"], mine["present"]):
            overlap = np.maximum(0.0, np.minimum(bounds[:, 1], e) - np.maximum(bounds[:, 0], s))
            cover = overlap.sum()
            good = cover if present else e - s - cover
            wrong += e - s - good
            tp += cover * present
            said += (e - s) * present
            phantom += present and cover == 0
            missed += not present and cover > 0
            if cover > 0:
                right += good / (e - s)
                total += 1
            if present:
                hit |= overlap > 0
        found += hit.sum()
        truth += (bounds[:, 1] - bounds[:, 0]).sum()
    row = table.loc["dog"]
    assert row["precision"] == pytest.approx(tp / said, abs=1e-9)
    assert row["recall"] == pytest.approx(tp / truth, abs=1e-9)
    assert row["event_recall"] == pytest.approx(found / len(events), abs=1e-12)
    assert row["wrong_time"] == pytest.approx(wrong / 12, abs=1e-9)
    assert row["overlap_accuracy"] == pytest.approx(right / total, abs=1e-9)
    assert (row["n_phantom"], row["n_missed"]) == (phantom, missed)
    assert table.loc["all", "precision"] == row["precision"]


def test_phantom_and_missed_labels_are_listed():
    frame = pd.DataFrame({"recording": ["a", "b"], "onset": [1.0, 2.0], "offset": [2.0, 8.0], "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length={"a": 10.0, "b": 10.0, "c": 10.0})
    said = pd.DataFrame({"recording": ["a", "b", "c"], "label": "dog", "present": [0, 0, 1]})
    found = wk.audit(strong=strong, weak=wk.Answers.from_frame(said)).quality
    assert found.missed["recording"].tolist() == ["b", "a"]  # the longest first
    assert found.missed["event_seconds"].tolist() == pytest.approx([6.0, 1.0])
    assert found.phantom["recording"].tolist() == ["c"]


def test_presence_only_labels_give_no_criterion_unless_silence_means_absence():
    strong, answers = data_set(3)
    frame = answers.to_frame()
    only = wk.Answers.from_frame(
        frame[frame["present"] == 1], recordings=[str(name) for name in strong.recordings.index]
    )
    found = wk.audit(strong=strong, weak=only)
    assert not found.criteria["identifiable"].any()
    assert found.criteria["presence_criterion"].isna().all()
    assert any("presences only" in finding.text and "unlisted" in finding.text for finding in found.findings)
    assert found.quality.unlisted == "absent"


def test_labels_of_whole_clips_are_silent_about_parts_of_events():
    """Strong events are cut to their clip, so a clip label never asks about a part (E22)."""
    frame = pd.DataFrame({"recording": [f"r{i}" for i in range(40)], "onset": 1.0, "offset": 2.0, "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length={f"r{i}": 10.0 for i in range(80)})
    said = pd.DataFrame({"recording": [f"r{i}" for i in range(80)], "label": "dog", "present": [1.0] * 38 + [0.0] * 42})
    found = wk.audit(strong=strong, weak=wk.Answers.from_frame(said))
    row = found.criteria.iloc[0]
    assert (row["scale"], row["method"]) == ("event", "law")
    assert not row["identifiable"]
    assert "wholly inside" in row["reason"]


def test_unlisted_classes_of_listed_clips_are_absent_if_one_says_so():
    frame = pd.DataFrame({"recording": ["a", "b"], "onset": [1.0, 1.0], "offset": [2.0, 3.0], "label": ["dog", "cat"]})
    strong = wk.Events.from_frame(frame, recording_length=10.0)
    said = pd.DataFrame({"recording": ["a", "b"], "label": ["cat", "dog"], "present": [1, 1]})
    absent = wk.audit(strong=strong, weak=wk.Answers.from_frame(said), unlisted="absent").metrics
    assert absent["cat"]["n_missed"] == absent["dog"]["n_missed"] == 1
    unknown = wk.audit(strong=strong, weak=wk.Answers.from_frame(said), unlisted="unknown").metrics
    assert unknown["cat"]["n_missed"] == unknown["dog"]["n_missed"] == 0


def test_a_perfect_set_of_labels_has_nothing_wrong():
    frame = pd.DataFrame({"recording": ["a", "a"], "onset": [0.0, 6.0], "offset": [3.0, 9.0], "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length=12.0)
    said = [("a", 3.0 * k, 3.0 * k + 3, "dog", float(k in (0, 2))) for k in range(4)]
    weak = wk.Answers.from_frame(pd.DataFrame(said, columns=["recording", "onset", "offset", "label", "present"]))
    found = wk.audit(strong=strong, weak=weak)
    numbers = found.metrics["all"]
    for name in ("precision", "recall", "event_recall", "recording_accuracy", "ceiling_event_f1", "ceiling_accuracy"):
        assert numbers[name] == pytest.approx(1.0)
    assert not found.holds("precision<0.999")


def test_overlapping_windows_count_time_once():
    frame = pd.DataFrame({"recording": ["a"], "onset": [2.0], "offset": [4.0], "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length={"a": 10.0, "silent": 10.0})
    said = [("a", float(k), k + 2.0, "dog", float(k in (2, 3))) for k in range(9)]
    said += [("silent", float(k), k + 2.0, "dog", 0.0) for k in range(9)]
    weak = wk.Answers.from_frame(pd.DataFrame(said, columns=["recording", "onset", "offset", "label", "present"]))
    row = wk.audit(strong=strong, weak=weak).metrics["dog"]
    assert (row["n_queries"], row["listened"]) == (18, 20.0)
    assert row["insertion_rate"] == pytest.approx(1 / 18)
    assert row["precision"] == pytest.approx(2 / 3)  # (2, 5) is labelled present
    assert row["recall"] == 1


def test_segments_become_events_where_most_annotators_agree():
    rows = [(0, 0, 1, (1, 1)), (0, 1, 2, (1, 0, 1)), (0, 2, 3, (1, 0)), (0, 5, 6, (1,)), (1, 0, 1, (0,))]
    seen = pd.DataFrame(
        [(place, s, e, True, float(said)) for place, s, e, votes in rows for said in votes],
        columns=["place", "onset", "offset", "listed", "present"],
    )
    marks = _marks(seen, np.array([10.0, 10.0]))
    assert (marks.bounds.tolist(), marks.counts.tolist()) == ([[0, 2], [5, 6]], [2, 0])


def test_recordings_match_by_stem_where_no_name_is_the_same():
    frame = pd.DataFrame({"recording": ["a.wav"], "onset": [2.0], "offset": [4.0], "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length=10.0)
    weak = wk.Answers.from_frame(pd.DataFrame({"recording": ["clips/a.flac"], "label": ["dog"], "present": [1]}))
    found = wk.audit(strong=strong, weak=weak)
    assert found.metrics["dog"]["coverage"] == pytest.approx(0.2)
    assert any("matched by file name" in note for note in found.notes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"recording": ["zzz"]}, "no recording is in both files"),
        ({"label": ["bird"]}, "no class is in both files"),
        ({"onset": [5.0], "offset": [25.0]}, "ends after the recording's 10 s"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, words):
    frame = pd.DataFrame({"recording": ["a"], "onset": [2.0], "offset": [4.0], "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length=10.0)
    said = {"recording": ["a"], "label": ["dog"], "present": [1], **change}
    with pytest.raises(wk.InvalidInput, match=words):
        wk.audit(strong=strong, weak=wk.Answers.from_frame(pd.DataFrame(said)))


def named(strong, weak):
    """One event of 2 s in each strong recording, a present label of each weak one."""
    events = pd.DataFrame({"recording": strong, "onset": 2.0, "offset": 4.0, "label": "dog"})
    said = pd.DataFrame({"recording": weak, "label": "dog", "present": 1.0})
    truth = wk.Events.from_frame(events, recording_length=dict.fromkeys(strong, 10.0))
    return {"strong": truth, "weak": wk.Answers.from_frame(said)}


@pytest.mark.parametrize("examined", [None, "all", ["day/a", "B.WAV", "c.wav"]])
def test_recordings_are_matched_name_by_name(examined):
    """One name that is the same does not hide that the others are the same without folder and ending."""
    given = named(["x/a_30.000_40.000.wav", "b.wav", "c.wav"], ["a_30.000_40.000", "B.flac", "c.wav"])
    found = wk.audit(**given, examined=examined)
    assert found.settings["n_paired"] >= 3
    assert (found.metrics["all"]["n_phantom"], found.metrics["all"]["event_recall"]) == (0.0, 1.0)
    assert any("2 recordings were matched by file name without folder and ending" in x.text for x in found.findings)


def test_names_that_match_nothing_are_said():
    given = named(["a.wav", "b.wav", "x/c.wav", "y/c.wav"], ["a.wav", "q1", "q2", "c"])  # c may be either
    texts = " ".join(finding.text for finding in wk.audit(**given).findings)
    assert "3 recordings of the weak labels have no strong annotation, such as 'c', 'q1', 'q2'" in texts
    assert "3 recordings of the strong annotations have no weak label, such as 'b.wav', 'x/c.wav', 'y/c.wav'" in texts
    texts = " ".join(finding.text for finding in wk.audit(**given, examined="all").findings)
    assert "3 recordings that the strong annotations do not name count as examined, without an event" in texts
    assert "3 recordings that the weak labels do not name count as examined, without a label" in texts


@pytest.mark.parametrize("examined", [None, "all", ["a.wav", "p"]])
def test_an_audit_of_no_shared_recording_is_an_error(examined):
    with pytest.raises(wk.InvalidInput, match=r"no recording is in both files: strong has \['a.wav'\], weak has"):
        wk.audit(**named(["a.wav", "b.wav"], ["p", "q"]), examined=examined)


def test_audit_needs_something():
    with pytest.raises(wk.InvalidInput, match="got none"):
        wk.audit()
    with pytest.raises(wk.InvalidInput, match="not both"):
        wk.audit(weak="a", answers="b")
    with pytest.raises(wk.InvalidInput, match="strong must be Events or a path, got int"):
        wk.audit(strong=3)
    with pytest.raises(wk.InvalidInput, match="unlisted must be one of 'absent', 'unknown'"):
        wk.audit(strong="a", unlisted="missing")


def test_conditions_are_parsed_and_checked():
    strong, answers = data_set(4, recordings=8, label="big dog: v1.5")
    found = wk.audit(strong=strong, answers=answers)
    recall = found.metrics["all"]["event_recall"]
    assert found.holds(f"event_recall<{recall + 0.01}")
    assert not found.holds(f"event_recall < {recall - 0.01}")
    assert found.holds(f"big dog: v1.5.event_recall>={recall}")
    with pytest.raises(wk.InvalidInput, match="did you mean 'event_recall'"):
        found.holds("event_recal<0.9")
    with pytest.raises(wk.InvalidInput, match="must look like"):
        found.holds("event_recall")
    with pytest.raises(wk.InvalidInput, match="the class of a condition"):
        found.holds("cat.precision<0.9")


def test_an_unknown_number_cannot_be_checked():
    frame = pd.DataFrame({"recording": ["a"], "onset": [2.0], "offset": [4.0], "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length=10.0)
    weak = wk.Answers.from_frame(pd.DataFrame({"recording": ["a"], "label": ["dog"], "present": [1]}))
    with pytest.raises(wk.InvalidInput, match="not known from these labels"):
        wk.audit(strong=strong, weak=weak).holds("dog.presence_criterion>0.5")


def test_everything_can_be_written_down(tmp_path):
    label = "<b>dog</b> [red]$x_1$"
    strong, answers = data_set(6, recordings=10, criteria=(("anna", 0.3), ("<i>ben</i>", 0.5)), label=label)
    found = wk.audit(strong=strong, answers=answers)
    document = json.loads(to_json(found))
    assert document["quality"]["scores"][0]["label"] == label
    assert document["effort"]["seconds_per_query"] == pytest.approx(5.0, abs=0.5)
    page = found.report(tmp_path / "audit.html").read_text()
    assert "<b>dog</b>" not in page
    assert "<i>ben</i>" not in page
    assert "&lt;b&gt;dog" in page
    for kind in ("quality", "detection", "criterion", "agreement", "votes"):
        assert found.plot(kind=kind).get_xlabel()
    assert {"audit", "criteria", "missed", "phantom", "ceiling", "agreement", "annotators"} <= set(found.tables())
    assert {"curves", "rules", "votes"} <= set(found.tables())
    card = found.write_card(tmp_path / "card.md").read_text()
    assert "<b>dog" not in card
    assert "## Presence criterion" in card
    assert json.loads(found.write_card(tmp_path / "card.json").read_text())["events"]["event_recall"] <= 1
    assert "<b>dog</b>" not in found.write_card(tmp_path / "card.html").read_text()
    with pytest.raises(wk.InvalidInput, match="a card is a file"):
        found.write_card(tmp_path / "card.pdf")
    weights = [finding.weight for finding in found.findings]
    assert weights == sorted(weights, reverse=True)


def test_answers_alone_are_judged_by_each_other():
    _, answers = data_set(7, recordings=10, criteria=(("anna", 0.3), ("ben", 0.3), ("cleo", 0.9)))
    found = wk.audit(answers=answers)
    assert found.quality is None
    assert found.agreement.by_label["n_annotators"][0] == 3
    assert found.aggregated.annotators.set_index("annotator").loc["cleo", "sensitivity"] < 0.8
    assert len(found.aggregated.labels) == 10 * 20


# Who was asked what --------------------------------------------------------------------------------------------------


def clips(rows):
    """Answers from (recording, onset, offset, present, annotator)."""
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "present", "annotator"])
    return wk.Answers.from_frame(frame.assign(label="dog"))


def test_a_tie_is_neither_found_nor_missed():
    frame = pd.DataFrame({"recording": ["a", "b", "c"], "onset": 1.0, "offset": 2.0, "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length=10.0)
    votes = {"a": (1.0, 0.0), "b": (1.0, 1.0), "c": (0.0, 0.0)}
    rows = [(name, 0.0, 10.0, said, who) for name, pair_ in votes.items() for said, who in zip(pair_, "xy")]
    found = wk.audit(strong=strong, answers=clips(rows))
    numbers = found.metrics["dog"]
    assert (numbers["n_tied"], numbers["n_missed"], numbers["n_overlapping"]) == (1, 1, 3)
    assert found.quality.missed["recording"].tolist() == ["c"]
    assert any("1 of 3 segments that hold an event (33 %) has as many votes" in f.text for f in found.findings)
    assert any("1 of 3 segments that hold an event (33 %) is labelled absent" in f.text for f in found.findings)


def test_unsure_answers_are_counted_apart():
    frame = pd.DataFrame({"recording": ["a", "b"], "onset": 1.0, "offset": 2.0, "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length=10.0)
    found = wk.audit(strong=strong, answers=clips([("a", 0.0, 10.0, np.nan, "x"), ("b", 0.0, 10.0, 0.0, "x")]))
    numbers = found.metrics["dog"]
    assert (numbers["n_unsure"], numbers["n_missed"], numbers["n_tied"]) == (1, 1, 0)
    assert any("got only unsure answers" in finding.text for finding in found.findings)


def test_events_that_were_never_asked_about_are_charged_to_nobody():
    frame = pd.DataFrame({"recording": "a", "onset": [2.0, 50.0, 70.0], "offset": [3.0, 51.0, 71.0], "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length=100.0)
    found = wk.audit(strong=strong, answers=clips([("a", 0.0, 10.0, 1.0, "x"), ("a", 20.0, 30.0, 0.0, "x")]))
    numbers = found.metrics["dog"]
    assert (numbers["event_recall"], numbers["n_events"]) == (1.0, 1)
    assert numbers["asked_share"] == pytest.approx(1 / 3)
    assert numbers["recall"] == 1.0
    assert numbers["deletion_rate"] == 0.0
    assert numbers["insertion_rate"] == pytest.approx(9 / 19)
    assert any("asked about (33 % of all)" in finding.text for finding in found.findings)


def test_unlisted_classes_are_counted_by_their_own_word():
    frame = pd.DataFrame({"recording": ["a", "b"], "onset": 1.0, "offset": 2.0, "label": ["dog", "cat"]})
    strong = wk.Events.from_frame(frame, recording_length=10.0)
    said = wk.Answers.from_frame(pd.DataFrame({"recording": ["a", "b"], "label": ["dog", "cat"], "present": 1}))
    found = wk.audit(strong=strong, weak=said, unlisted="absent").metrics
    assert (found["dog"]["n_unlisted"], found["cat"]["n_unlisted"], found["all"]["n_missed"]) == (1, 1, 0)


def test_recordings_in_which_the_strong_annotator_found_nothing_hold_phantoms():
    frame = pd.DataFrame({"recording": ["a", "b"], "onset": 1.0, "offset": 2.0, "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length=10.0)
    weak = clips([(name, 0.0, 10.0, 1.0, "") for name in "abcd"])
    quiet = wk.audit(strong=strong, weak=weak)
    assert quiet.metrics["dog"]["n_phantom"] == 0
    assert any("If those were examined and found empty, 50 % of the present labels" in f.text for f in quiet.findings)
    for examined in (
        "all",
        ["a", "b", "c", "d"],
        dict.fromkeys("abcd"),
        {name: [(0, 10)] for name in "abcd"},
    ):
        told = wk.audit(strong=strong, weak=weak, examined=examined, recording_length=10.0)
        assert (told.metrics["dog"]["n_phantom"], told.metrics["dog"]["n_present"]) == (2, 4)


def test_segments_outside_the_examined_stretches_are_not_judged():
    frame = pd.DataFrame({"recording": ["a"], "onset": 1.0, "offset": 2.0, "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length=100.0)
    weak = clips([("a", 0.0, 10.0, 1.0, ""), ("a", 10.0, 20.0, 0.0, ""), ("a", 60.0, 70.0, 1.0, "")])
    found = wk.audit(strong=strong, weak=weak, examined={"a": [(0.0, 20.0)]})
    assert (found.metrics["dog"]["n_phantom"], found.metrics["dog"]["n_present"]) == (0, 1)
    assert any("outside the examined stretches" in note for note in found.notes)
    table = pd.DataFrame({"recording": ["a"], "onset": [0.0], "offset": [20.0]})
    assert wk.audit(strong=strong, weak=weak, examined=table).metrics["dog"]["n_present"] == 1


def test_answers_of_somebody_who_found_nothing_enter_the_table():
    """Presences only: ann found a dog in four clips, ben in one of them and in none of the others."""
    krippendorff = pytest.importorskip("krippendorff")
    rows = [(f"r{k}", 0.0, 10.0, 1.0, "ann") for k in range(4)] + [("r0", 0.0, 10.0, 1.0, "ben")]
    said = wk.Answers.from_frame(
        pd.DataFrame(rows, columns=["recording", "onset", "offset", "present", "annotator"]).assign(label="dog"),
        recordings=[f"r{k}" for k in range(8)],
    )
    found = wk.audit(answers=said, examined="all")
    table = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]])
    theirs = krippendorff.alpha(reliability_data=table, level_of_measurement="nominal")
    assert found.agreement.by_label["alpha"][0] == pytest.approx(theirs, abs=1e-12)
    assert len(found.aggregated.labels) == 8


def test_a_law_that_varies_is_not_taken_for_lapses():
    """Criteria that differ from event to event: neither lapses nor guesses, and the mean is inside the interval."""
    rng = np.random.default_rng(11)
    h = np.where(rng.random(3000) < 0.3, 0.0, rng.uniform(0.01, 1, 3000))
    y = (h >= rng.beta(3, 3, 3000)).astype(float) * (h > 0)
    found = estimate_criterion(h, present=y, clusters=[np.arange(3000) // 5])
    low, high = found.presence_criterion_ci
    assert low <= 0.5 <= high
    assert high - low < 0.06
    assert found.lapse_rate < 0.03
    assert found.spread == pytest.approx(np.sqrt(0.25 / 7), abs=0.03)
    assert all(found.identified.values())
    who = found.annotator
    assert isinstance(who, wk.Annotator)
    assert float(who.probability(0.5)) == pytest.approx(0.5, abs=0.05)


def test_few_answers_are_drawn_to_the_others():
    strong, answers = data_set(9, recordings=40, criteria=tuple((f"p{k}", 0.4) for k in range(12)), lapse=0.0)
    frame = answers.to_frame()
    few = frame[(frame["annotator"] != "p0") | frame["recording"].isin(["r0"])]
    found = wk.audit(strong=strong, answers=wk.Answers.from_frame(few)).criteria.set_index("annotator")
    row = found.loc["p0"]
    assert row["method"] == "law, drawn to the others"
    assert row["presence_criterion"] == pytest.approx(0.4, abs=0.1)
    assert row["presence_criterion_low"] <= 0.4 <= row["presence_criterion_high"]


@pytest.mark.filterwarnings("ignore:these answers do not agree with the fitted model")  # they go by seconds
def test_the_rule_that_made_the_labels_is_found():
    strong, _ = data_set(12, recordings=30)
    rows = []
    for name in strong.recordings.index:
        bounds = strong.to_frame().query("recording == @name")[["onset", "offset"]].to_numpy()
        for k in range(20):
            said = wk.PresenceRule.seconds(0.25).is_present(event=bounds, segment=(1.5 * k, 1.5 * k + 1.5)).any()
            rows.append((name, 1.5 * k, 1.5 * k + 1.5, float(said), ""))
    found = wk.audit(strong=strong, answers=clips(rows))
    best = found.rules.iloc[0]
    assert best["agreement"] == 1.0
    assert "opensoundscape" in best["rule"] or best["rule"].startswith("seconds:0.2")


@pytest.mark.parametrize(
    ("rule", "words", "scale"),
    [
        (wk.PresenceRule.seconds(0.25), "once it holds 0.2", "event_seconds"),
        (wk.PresenceRule.coverage(0.2), "once ", "event_seconds"),  # with one length of segments the same as 0.3 s
        (wk.PresenceRule.fraction(0.25), None, "event_fraction"),
    ],
)
@pytest.mark.filterwarnings("ignore:these answers do not agree with the fitted model")
def test_the_sentence_follows_the_rule_that_decides(rule, words, scale):
    """Answers that follow seconds have a best share of the event too; it must not be told as what decided."""
    strong, _ = data_set(12, recordings=30)
    rng = np.random.default_rng(1)
    rows = []
    for name in strong.recordings.index:
        bounds = strong.to_frame().query("recording == @name")[["onset", "offset"]].to_numpy()
        for k in range(20):
            said = rule.is_present(event=bounds, segment=(1.5 * k, 1.5 * k + 1.5)).any() != (rng.random() < 0.03)
            rows.append((name, 1.5 * k, 1.5 * k + 1.5, float(said), ""))
    found = wk.audit(strong=strong, answers=clips(rows))
    texts = [finding.text for finding in found.findings if finding.topic == "criterion"]
    instead = [text for text in texts if "better than any share of an event" in text]
    assert found.to_dict()["detection"]["scale"] == scale
    assert found.plot().get_xlabel() == {
        "event_seconds": "seconds of event in the segment",
        "event_fraction": "event fraction $h$",
    }.get(scale)
    if words is None:
        assert not instead
        assert any(text.startswith("dog: an event is called present once 25 %") for text in texts)
        assert "but" not in found.card()["presence_criterion"]
    else:
        assert words in instead[0]
        assert texts[0] == instead[0]  # and the share comes later, as what fits worse
        assert all("it fits worse" in text for text in texts[1:])
        assert "explains the labels better" in found.card()["presence_criterion"]["but"]


def test_a_value_that_is_often_had_is_a_bin_of_its_own():
    x = np.concatenate((np.linspace(0.01, 0.99, 20), np.ones(180)))
    rows = detection_curve(x, (x == 1).astype(float), np.arange(200))
    assert rows["n"].tolist()[-1] == 180
    assert rows["present"].tolist() == [0.0] * (len(rows) - 1) + [1.0]


def test_detection_curves_are_shares_of_their_bins():
    rng = np.random.default_rng(3)
    x = np.where(rng.random(4000) < 0.25, 0.0, rng.uniform(0, 4, 4000))
    y = (rng.random(4000) < 0.1 + 0.8 * (x > 2)).astype(float)
    rows = detection_curve(x, y, np.arange(4000))
    assert rows["n"].sum() == 4000
    for row in rows.itertuples():
        inside = (x >= row.low) & (x <= row.high)
        assert row.present == pytest.approx(y[inside].mean())
        assert row.present_low <= row.present <= row.present_high
    assert rows["present"].iloc[-1] == pytest.approx(0.9, abs=0.05)
    wide = detection_curve(x, np.repeat(y[::20], 20), np.arange(4000) // 20)  # twenty answers alike in each recording
    narrow = detection_curve(x, np.repeat(y[::20], 20), np.arange(4000))
    assert (wide["present_high"] - wide["present_low"]).mean() > (narrow["present_high"] - narrow["present_low"]).mean()


# Real data -----------------------------------------------------------------------------------------------------------


def quietly(function, *args, **kwargs):
    """Readers tell what they understood in warnings; here only the numbers matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.AssumptionWarning)
        return function(*args, **kwargs)


@pytest.mark.parametrize(
    ("part", "pairs", "empty", "coverage"), [("testing", 606, 35, 0.687), ("evaluation", 1350, 150, 0.620)]
)
def test_dcase_2017(real_data, part, pairs, empty, coverage):
    folder = real_data / "dcase2017_task4"
    found = quietly(
        wk.audit,
        strong=folder / f"groundtruth_strong_label_{part}_set.csv",
        weak=folder / f"groundtruth_weak_label_{part}_set.csv",
    )
    numbers = found.metrics["all"]
    assert numbers["n_present"] == pairs
    assert numbers["n_phantom"] == len(found.quality.phantom) == empty
    # Published as seconds over 10; some clips are shorter, so that a clip is covered a little more than that.
    assert numbers["event_seconds"] / 10 == pytest.approx(coverage, abs=5e-4)
    assert coverage < numbers["coverage"] < coverage + 0.01
    assert numbers["event_recall"] == 1
    assert not found.criteria["identifiable"].any()


def test_audioset_animal_from_the_command_line_of_python(real_data):
    path = real_data / "audioset_strong" / "audioset_strong_eval_top110classes_downloaded.tsv"
    found = quietly(wk.audit, strong=path, label="/m/0jbk", recording_length=10.0)
    row = found.strong.iloc[0]
    assert (row["n_events"], row["n_recordings"]) == (1539, 526)
    assert row["length_share"] == pytest.approx(0.1620, abs=5e-5)
    assert row["coverage"] == pytest.approx(0.472, abs=5e-4)


def test_only_some_animal_clips_carry_the_weak_label(real_data):
    folder = real_data / "audioset_strong"
    strong = quietly(wk.read, folder / "audioset_strong_eval_top110classes_downloaded.tsv", label="/m/0jbk")
    weak = quietly(wk.read_answers, folder / "eval_segments.csv")
    found = quietly(wk.audit, strong=strong, weak=weak, label="/m/0jbk", recording_length=10.0)
    numbers = found.metrics["/m/0jbk"]
    assert numbers["n_overlapping"] == 526
    assert numbers["n_overlapping"] - numbers["n_missed"] == 198


def test_desed_keeps_its_empty_clips(real_data):
    found = quietly(wk.audit, strong=real_data / "desed" / "validation.tsv")
    assert found.settings["n_recordings"] == 1168
    assert found.settings["n_empty"] == 15
    assert found.strong["n_events"].sum() == 4224


def test_sonyc_engines_are_disputed(real_data):
    answers = quietly(wk.read_answers, real_data / "sonyc_ust_v1" / "annotations.csv", label="1_engine")
    found = wk.audit(answers=answers, where={"split": "train"})
    row = found.agreement.by_label.iloc[0]
    assert row["units"] == 2351
    assert row["unanimous_present"] == 149
    assert row["split"] == 1120
    with pytest.raises(wk.InvalidInput, match="no row has 'nothing'"):
        wk.audit(answers=answers, where={"split": "nothing"})


def instants(frame, lengths, people, *, step=0.001):
    """The full table: what each annotator says of every millisecond of every recording."""
    table = []
    for who in people:
        mine = frame[frame["annotator"] == who]
        parts = []
        for name, length in lengths.items():
            t = (np.arange(round(length / step)) + 0.5) * step
            marks = mine.loc[mine["recording"] == name, ["onset", "offset"]].to_numpy()
            parts.append(((t[:, None] >= marks[:, 0]) & (t[:, None] < marks[:, 1])).any(axis=1))
        table.append(np.concatenate(parts))
    return np.array(table, dtype=float)


def test_two_annotators_of_whom_one_found_nothing_have_the_alpha_of_the_full_table():
    """Three classes; ben hears nothing in every third recording: those recordings count, and so do the phantoms."""
    krippendorff = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(2)
    rows = []
    for r in range(24):
        for label, shift in (("dog", 0.1), ("cat", 0.4), ("car", 0.2)):
            onset = rng.uniform(0.5, 6)
            length = rng.uniform(0.5, 3)
            rows.append((f"r{r}", onset, onset + length, label, "ann"))
            if r % 3:
                moved = onset + rng.uniform(-shift, shift)
                rows.append((f"r{r}", moved, moved + length, label, "ben"))
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "annotator"]).round(3)
    lengths = {f"r{r}": 10.0 for r in range(24)}
    both = wk.Events.from_frame(frame, recording_length=lengths)
    told = wk.audit(strong=both, examined="all").annotation_agreement.by_label.set_index("label")["alpha"]
    silent = wk.audit(strong=both).annotation_agreement
    for label, part in frame.groupby("label"):
        theirs = krippendorff.alpha(
            reliability_data=instants(part, lengths, ("ann", "ben")), level_of_measurement="nominal"
        )
        assert told[label] == pytest.approx(theirs, abs=1e-4)  # the package counts n - 1 of 240,000 instants
        row = silent.by_label.set_index("label").loc[label]
        assert row["alpha"] == row["alpha_if_all"] == pytest.approx(told[label])
        assert row["alpha_if_marked"] > told[label] + 0.1  # what leaving those recordings out would have said
    assert silent.assumed == "everybody examined every recording"
    # ben's events as the truth, ann's as labels of whole clips: a third of the labels have no event under them
    truth = frame[frame["annotator"] == "ben"].drop(columns="annotator")
    said = frame[frame["annotator"] == "ann"][["recording", "label"]].assign(onset=0.0, offset=10.0, present=1)
    heard = {name: 10.0 for name in lengths if int(name[1:]) % 3}
    strong, weak = wk.Events.from_frame(truth, recording_length=heard), wk.Answers.from_frame(said)
    found = wk.audit(strong=strong, weak=weak, examined="all", recording_length=10.0)
    assert (found.metrics["all"]["n_phantom"], found.metrics["all"]["n_present"]) == (24, 72)


def test_two_annotators_of_laughter(real_data):
    """The second annotator heard 101 clips and found nothing in some: alpha is krippendorff's on the full table."""
    krippendorff = pytest.importorskip("krippendorff")
    names = ("clean_laughter_annotations", "clean_2nd_annotator_annotations")
    paths = [real_data / "laughter_audioset" / f"{name}.csv" for name in names]
    both = quietly(wk.read, paths, columns={"annotator": "@file"}, on_error="clip")
    row = wk.audit(strong=both).annotation_agreement.by_label.iloc[0]  # each heard what their file lists
    heard = both.examined.groupby("recording")["annotator"].nunique()
    shared = sorted(heard[heard == 2].index)
    frame = both.to_frame()
    frame = frame[frame["recording"].isin(shared)]
    lengths = both.recordings["length"].reindex(shared).to_dict()
    table = instants(frame, lengths, names, step=0.005)
    theirs = krippendorff.alpha(reliability_data=table, level_of_measurement="nominal")
    assert len(shared) == 101
    assert row["alpha"] == pytest.approx(theirs, abs=5e-4)
    assert row["alpha"] == pytest.approx(0.896, abs=1e-3)


def test_windows_of_coffee_follow_how_much_of_them_is_event(real_data):
    """Windows labelled first_crack or not, beside one region per roast: a share of that long region means nothing."""
    folder = real_data / "labelstudio_coffee"
    strong = quietly(wk.read, folder / "project-1-at-2026-04-12-19-41-e5863e6e.json")
    earlier = ("project-1-at-2025-10-19-19-05-dcfa78d3.json", "project-1-at-2025-10-18-20-44-9bc9cd1d.json")
    said = quietly(wk.read_answers, [folder / name for name in earlier])  # first_crack or no_first_crack
    assert (said.labels, len(said)) == (["first_crack"], 385)
    found = wk.audit(strong=strong, answers=said)
    assert found.rules["rule"].iloc[0].startswith("coverage:0.")
    assert found.rules["agreement"].iloc[0] > 0.9
    assert any("one event fills" in f.text and "better than any share" in f.text for f in found.findings)
    assert wk.audit(strong=strong).findings[0].text.startswith("Several annotators are named, but no two")


def test_a_rule_that_most_labels_ignore_explains_nothing():
    """Half a second suffices where there is a label, but 3 of 4 clips with an event have none: AudioSet's way."""
    rng = np.random.default_rng(5)
    length = rng.uniform(0.1, 5, 400)
    frame = pd.DataFrame(
        {"recording": [f"r{k}" for k in range(400)], "onset": 1.0, "offset": 1 + length, "label": "dog"}
    )
    strong = wk.Events.from_frame(frame, recording_length={f"r{k}": 10.0 for k in range(3000)})
    yes = np.concatenate((((length > 0.5) & (rng.random(400) < 0.25)), np.zeros(2600, bool)))
    said = clips([(f"r{k}", 0.0, 10.0, float(yes[k]), "x") for k in range(3000)])
    found = wk.audit(strong=strong, answers=said)
    best = found.rules.iloc[0]
    assert best["agreement"] > 0.85
    assert best["present_if_met"] < 0.35
    words = " ".join(finding.text for finding in found.findings)
    assert "No clip rule in use explains these labels" in words
    assert "better than any share" not in words


def test_clips_that_are_named_after_their_place_are_those_of_the_recording():
    """What ``weakly answers`` writes as weak.tsv: a clip per segment, its times in its name."""
    frame = pd.DataFrame({"recording": ["day"], "onset": [4.0], "offset": [5.0], "label": "dog"})
    strong = wk.Events.from_frame(frame, recording_length={"day": 9.0})
    said = pd.DataFrame({"recording": ["day_0.0_3.0.wav", "day_3.0_6.0.wav"], "label": "dog", "present": [0, 1]})
    found = wk.audit(strong=strong, weak=wk.Answers.from_frame(said))
    assert (found.metrics["dog"]["precision"], found.metrics["dog"]["event_recall"]) == (pytest.approx(1 / 3), 1.0)
    assert any("clips whose names tell" in note for note in found.notes)


def test_classes_are_joined_in_the_file_that_has_them(tmp_path, capsys):
    from weakly.cli import main

    strong, weak = tmp_path / "s.csv", tmp_path / "w.csv"
    strong.write_text("recording,onset,offset,label,recording_length\na,1,2,wren,9\na,4,5,robin,9\n")
    weak.write_text("recording,onset,offset,label,present\na,0,3,bird,1\na,3,6,bird,0\n")
    command = ["audit", "--strong", str(strong), "--weak", str(weak), "--json", "--merge"]
    with pytest.raises(SystemExit) as stop:
        main([*command, "bird=wren,robin"])
    assert stop.value.code == 0
    assert json.loads(capsys.readouterr().out)["card"]["labels"]["n_all_events"] == 2
    with pytest.raises(SystemExit) as stop:
        main([*command, "bird=wren,owl"])
    assert stop.value.code == 2
    assert "no file has the class 'owl'; there are bird, robin, wren" in capsys.readouterr().err


def test_estimates_do_not_need_an_audit():
    assert estimate_criterion([0.2, 0.4, 0.6, 0.8] * 5, present=[0, 0, 1, 1] * 5).presence_criterion == pytest.approx(
        0.5
    )


ODD = {"inaudible": "whole events", "sticky": "runs", "seconds": "event length"}


@pytest.mark.parametrize("kind", ["share", "event", *ODD])
def test_answers_that_do_not_look_like_the_model_say_so(kind, tmp_path):
    """A small part of ``python benchmarks/audit_fit.py``."""
    from benchmarks.audit_fit import world

    strong, answers = world(kind, 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = wk.audit(strong=strong, answers=answers)
    doubts = [str(one.message) for one in caught if "do not agree with the fitted model" in str(one.message)]
    card = found.write_card(tmp_path / "card.md").read_text().replace("\\", "")
    headline = next(finding.text for finding in found.findings if "an event is called present once" in finding.text)
    told = to_json(found.to_dict())
    if kind not in ODD:
        assert found.fit.p_value >= 0.05
        assert not doubts
        assert "these answers agree with the fitted model" in card
        assert "do not look" not in headline
        return
    assert min(found.fit.p_values, key=found.fit.p_values.get) == ODD[kind]
    assert found.fit.p_value < 0.05
    assert len(doubts) == 1
    assert all("do not agree with the fitted model" in text for text in (card, headline, told))
    if kind == "inaudible":  # is a rate of its own, and no lapses
        assert found.fit.inaudible_share == pytest.approx(0.3, abs=0.12)
        assert found.fit.lapse_rate < 0.15 < found.estimates["x", ""].lapse_rate


def test_a_statement_of_fit_names_what_is_odd():
    from weakly.studies.audit.responses import LackOfFit

    assert LackOfFit(0.05, {"runs": 0.05}, 10).is_good
    bad = LackOfFit(0.02, {"runs": 0.01, "person": 0.4}, 10)
    assert not bad.is_good
    assert "go along with the answer before" in bad.sentence
    assert "people differ" not in bad.sentence


@pytest.mark.parametrize("people", [1, 3])
def test_the_owner_reads_wrong_labels_missed_events_and_the_best_score_first(people):
    """The questions of whoever owns the labels, in their order; gamma and AIC after that; sentences of 25 words."""
    names = [(f"p{k}", 0.3 + 0.15 * k) for k in range(people)]
    strong, answers = data_set(7, recordings=12, criteria=tuple(names))
    found = wk.audit(strong=strong, answers=answers)
    topics = [finding.topic for finding in found.findings]
    asked = [topics.index(name) for name in ("wrong", "event recall", "ceiling")]
    assert asked == sorted(asked)
    assert max(asked) < min(topics.index(name) for name in ("criterion", "fit", "rule"))
    numbers = found.metrics["all"]
    wrong = int(numbers["n_phantom"] + numbers["n_missed"])
    assert f"{wrong} of {int(numbers['n_queries'])} labels (" in found.findings[0].text
    for finding in found.findings:
        for sentence in re.split(r"(?<=\.) (?=[A-Z])", finding.text):
            assert len(sentence.split()) <= 25, sentence
        assert not re.search(r"\b1 (events|labels|segments|recordings|classes) (is|are)\b", finding.text)


def test_notes_count_one_and_many():
    given = named(["a.wav", "b.wav"], ["a.wav", "q"])
    notes = wk.audit(**given).notes
    assert "1 recording of the weak labels has no strong annotation, such as 'q'" in notes
    assert "1 recording of the strong annotations has no weak label, such as 'b.wav'" in notes
