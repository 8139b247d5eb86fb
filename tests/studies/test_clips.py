"""Strong annotations to clip labels: against the definition, against the evaluation, and across rules."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weakly as wk
from weakly.model.annotator import PRESETS
from weakly.studies.evaluate.clips import clip_labels, vanished_events
from weakly.studies.evaluate.evaluation import broken
from weakly.studies.evaluate.evaluator import check_assumptions, kuiper

RULES = {**PRESETS, "half": wk.PresenceRule.fraction(0.5), "whole": wk.PresenceRule.fraction(1.0)}


def random_events(seed, *, recordings=3, length=20.0, labels=("cat", "dog"), step=None):
    rng = np.random.default_rng(seed)
    rows = []
    for r in range(recordings):
        for label in labels:
            cuts = np.sort(rng.uniform(0, length, 2 * rng.integers(0, 5))).reshape(-1, 2)
            if step is not None:
                cuts = np.round(cuts / step) * step
            rows += [(f"r{r}", a, b, label) for a, b in cuts if b > a]
    rows.append(("r0", 1.0, 2.0, labels[0]))
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    return wk.Events.from_frame(frame, recording_length={f"r{r}": length for r in range(recordings)})


def labels_by_definition(events, label, *, width, rule, phase=0.0, hop=None):
    """Clip by clip and event by event; a clip that is cut counts at its full length."""
    step = width if hop is None else hop
    rows = []
    timelines = events.timelines(label)
    for name, (bounds, length) in zip(events.recordings.index, timelines):
        start = phase % step
        start = start - step if start > 0 else start
        k, s = 0, -math.inf
        while s + width < length - 1e-9 * step:  # the first that reaches the end is the last
            s = start + k * step
            meets = [e for e in bounds if min(e[1], s + width) - max(e[0], s) > 1e-9 * width]
            present = any(bool(rule.is_present(event=e, segment=(s, s + width))) for e in meets)
            rows.append((name, max(s, 0.0), min(s + width, length), float(present)))
            k += 1
    return rows


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    ("width", "phase", "hop"), [(3.0, 0.0, None), (1.7, 0.4, None), (3.0, 0.0, 1.0), (0.5, 0.0, None)]
)
def test_clip_labels_are_the_definition(name, width, phase, hop):
    events = random_events(len(name), step=0.05)
    ours = clip_labels(events, segment_length=width, rule=RULES[name], phase=phase, hop=hop, label="dog").to_frame()
    theirs = labels_by_definition(events, "dog", width=width, rule=RULES[name], phase=phase, hop=hop)
    assert ours["recording"].tolist() == [row[0] for row in theirs]
    np.testing.assert_allclose(ours[["onset", "offset"]], [row[1:3] for row in theirs], atol=1e-12)
    assert ours["present"].tolist() == [row[3] for row in theirs]


@given(st.integers(0, 10_000), st.sampled_from(sorted(RULES)), st.floats(0.3, 6.0), st.floats(0.0, 5.0))
def test_clip_labels_are_what_the_evaluation_counts(seed, name, width, phase):
    events = random_events(seed)
    found = wk.evaluate(events, segment_length=width, rule=RULES[name], phase=phase, label="dog") if "dog" in (
        events.labels) else None  # fmt: skip
    if found is None:
        return
    labels = clip_labels(events, segment_length=width, rule=RULES[name], phase=phase, label="dog").to_frame()
    assert labels["present"].sum() == found.n_present
    assert len(labels) == found.n_queries
    lost = vanished_events(events, segment_length=width, rules=[RULES[name]], phase=phase, label="dog")
    assert found.n_events - len(lost) == pytest.approx(found.event_recall * found.n_events)


def test_every_clip_says_of_every_class():
    events = random_events(4)
    labels = clip_labels(events, segment_length=4.0, presence_criterion=0.5).to_frame()
    assert len(labels) == 3 * 5 * 2
    assert set(labels["present"]) == {0.0, 1.0}


def test_clips_inside_leave_the_rest_out():
    events = random_events(4)
    labels = clip_labels(events, segment_length=3.0, presence_criterion=0.5, edge="inside", label="dog").to_frame()
    assert len(labels) == 3 * 6
    assert ((labels["offset"] - labels["onset"]).round(9) == 3.0).all()
    later = clip_labels(events, segment_length=3.0, presence_criterion=0.5, edge="inside", phase=1.0, label="dog")
    assert later.to_frame()["onset"].min() == 1.0


def test_recordings_without_events_get_absent_clips():
    frame = pd.DataFrame({"recording": ["a"], "onset": [1.0], "offset": [2.0], "label": ["dog"]})
    events = wk.Events.from_frame(frame, recording_length={"a": 6.0, "b": 6.0})
    labels = clip_labels(events, segment_length=3.0, rule="any").to_frame()
    assert labels[labels["recording"] == "b"]["present"].tolist() == [0.0, 0.0]


def test_tools_disagree_about_a_call_on_an_edge():
    """A 0.4 s call over the edge of two clips: the case that users of clip tools ask about."""
    frame = pd.DataFrame({"recording": ["a"], "onset": [2.9], "offset": [3.3], "label": ["bird"]})
    events = wk.Events.from_frame(frame, recording_length=9.0)
    rules = list(dict.fromkeys(PRESETS.values()))
    found = wk.evaluate(events, segment_length=3.0, rule=rules, phase=0.0)
    present = dict(zip(found.rule, found.n_present))
    assert [present[PRESETS[tool].name] for tool in ("hoplite", "opensoundscape", "birdnet")] == [2, 1, 0]
    lost = vanished_events(events, segment_length=3.0, rules=rules)
    assert lost[["onset", "offset", "label"]].values.tolist() == [[2.9, 3.3, "bird"]]
    names = lost["lost_by"][0].split("; ")
    assert names == [rule for rule, recall in zip(found.rule, found.event_recall) if recall == 0]
    assert {PRESETS["birdnet"].name, PRESETS["koogu"].name} <= set(names)


def test_events_vanish_where_no_clip_is_present_by_the_definition():
    events = random_events(11)
    rules = [wk.PresenceRule.any(), RULES["half"], RULES["whole"]]
    lost = vanished_events(events, segment_length=[1.5, 4.0], rules=rules)
    told = []
    for width in (1.5, 4.0):
        for label in events.labels:
            for name, (bounds, length) in zip(events.recordings.index, events.timelines(label)):
                starts = [k * width for k in range(math.ceil(length / width))]
                for a, b in bounds:
                    missed = [r.name for r in rules if not any(
                        r.is_present(event=(a, b), segment=(s, s + width)) for s in starts)]  # fmt: skip
                    told += [[name, a, b, label, "; ".join(missed), width]] if missed else []
    assert lost.values.tolist() == told
    many = {width: sum(row[-1] == width for row in told) for width in (1.5, 4.0)}
    most = max(many, key=many.get)
    assert many[1.5] != many[4.0]
    whole = replace(wk.evaluate(events, segment_length=[1.5, 4.0], rule=rules, phase=0.0), vanished=lost)
    assert f"At {most:g} s the rule decides whether {many[most]} events are found at all." in whole.sentences()
    assert 0 < len(told) < 2 * len(events)


def test_one_of_rule_and_criterion_is_asked_for():
    events = random_events(1)
    with pytest.raises(wk.InvalidInput, match="exactly one of presence_criterion, rule and annotator"):
        clip_labels(events, segment_length=1.0)
    with pytest.raises(wk.InvalidInput, match="edge must be one of"):
        clip_labels(events, segment_length=1.0, rule="any", edge="circular")
    with pytest.raises(wk.InvalidInput, match="segment_length must be > 0"):
        clip_labels(events, segment_length=0.0, rule="any")


def test_kuiper_has_its_level_and_does_not_see_where_the_circle_is_cut():
    rng = np.random.default_rng(0)
    values = rng.random((2000, 40))
    p = np.array([kuiper(row)[1] for row in values])
    assert 0.035 < (p < 0.05).mean() < 0.065
    assert 0.005 < (p < 0.01).mean() < 0.016
    turned = kuiper((values[0] + 0.37) % 1)[0]
    assert turned == pytest.approx(kuiper(values[0])[0], abs=1e-12)
    assert kuiper(rng.beta(5, 5, 200))[1] < 1e-6
    assert math.isnan(kuiper([])[1])


def test_assumptions_are_seen_and_said():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"recording": [f"r{i}" for i in range(200)], "onset": 3.0 * rng.integers(1, 25, 200) + 0.1})
    frame["offset"] = frame["onset"] + 0.5
    gridded = wk.Events.from_frame(frame.assign(label="clock"), recording_length=100.0)
    found = {one.name: one for one in check_assumptions(gridded, segment_length=3.0)}
    assert found["offsets"].broken
    assert not found["close"].broken
    assert not found["censored"].broken
    assert len(broken(list(found.values()))) == 1
    assert "clock" in broken(list(found.values()))[0].text
    frame["onset"] = rng.uniform(0.5, 90, 200)
    frame["offset"] = frame["onset"] + 0.5
    free = check_assumptions(wk.Events.from_frame(frame.assign(label="x"), recording_length=100.0), segment_length=3.0)
    assert not any(one.broken for one in free)


def test_audioset_events_are_cut_by_their_clips(real_data):
    """A fifth of all offsets in this file lie exactly at the end of the clip."""
    path = real_data / "audioset_strong" / "audioset_strong_eval_top110classes_downloaded.tsv"
    table = pd.read_csv(path, sep="\t").rename(columns={"filename": "recording", "event_label": "label"})
    table = table[table["label"] == "/m/04rlf"]
    events = wk.Events.from_frame(table, recording_length=10.0)
    found = {one.name: one for one in check_assumptions(events, segment_length=10.0)}
    assert found["censored"].broken
    assert found["censored"].share > 0.5


def test_rounded_times_are_no_alarm():
    """A hundred thousand onsets in whole milliseconds are not uniform modulo 0.1 s, and it does not matter."""
    onset = np.random.default_rng(1).uniform(0.5, 3500, 100_000).round(3)
    frame = pd.DataFrame({"recording": np.arange(100_000).astype(str), "onset": onset, "offset": onset + 0.01})
    events = wk.Events.from_frame(frame.assign(label="x"), recording_length=3600.0)
    offsets = next(one for one in check_assumptions(events, segment_length=0.1) if one.name == "offsets")
    assert offsets.p_value < 0.01
    assert not offsets.broken
