"""Agreement and aggregation, against krippendorff, scikit-learn and crowd-kit."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weakly as wk
from weakly.studies.audit.agreement import (
    annotation_agreement,
    answer_agreement,
    cohen_kappa,
    dawid_skene,
    krippendorff_alpha,
    votes_needed,
)
from weakly.studies.audit.responses import effort


def crowd(seed, *, tasks=120, workers=7, per_task=3, prevalence=0.4):
    """Answers of annotators with their own error rates."""
    rng = np.random.default_rng(seed)
    truth = rng.random(tasks) < prevalence
    sensitivity, specificity = rng.uniform(0.55, 0.98, workers), rng.uniform(0.55, 0.98, workers)
    rows = []
    for task in range(tasks):
        for w in rng.choice(workers, per_task, replace=False):
            right = rng.random() < (sensitivity[w] if truth[task] else specificity[w])
            rows.append((f"clip{task}", f"w{w}", float(truth[task] == right)))
    frame = pd.DataFrame(rows, columns=["recording", "annotator", "present"]).assign(label="dog")
    return frame, truth


def crowd_kit(frame):
    """The answers as crowd-kit wants them."""
    return pd.DataFrame({"task": frame["recording"], "worker": frame["annotator"], "label": frame["present"]})


def table_of(frame):
    """Annotators by clips, NaN where nobody answered."""
    return frame.pivot(index="annotator", columns="recording", values="present")


@pytest.mark.parametrize("seed", range(4))
def test_alpha_of_answers_is_krippendorffs(seed):
    import krippendorff

    frame, _ = crowd(seed)
    row = answer_agreement(wk.Answers.from_frame(frame)).by_label.iloc[0]
    expected = krippendorff.alpha(table_of(frame).to_numpy(), level_of_measurement="nominal")
    assert row["alpha"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_kappa_of_answers_is_scikit_learns(seed):
    from sklearn.metrics import cohen_kappa_score

    frame, _ = crowd(seed)
    table = table_of(frame)
    pairs = answer_agreement(wk.Answers.from_frame(frame)).by_pair
    assert len(pairs) == 21
    for pair in pairs.itertuples():
        both = table.loc[[pair.first, pair.second]].dropna(axis=1).to_numpy()
        assert pair.kappa == pytest.approx(cohen_kappa_score(both[0], both[1], labels=[0, 1]), abs=1e-12)
        assert pair.units == both.shape[1]


def marks(seed, *, step):
    """Three annotators' events in three recordings, on multiples of a step."""
    rng = np.random.default_rng(seed)
    rows = []
    for recording in "xyz":
        for annotator in "abc":
            for _ in range(4):
                start = rng.integers(0, 90)
                rows.append((recording, start * step, (start + rng.integers(1, 15)) * step, annotator))
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "annotator"])
    return wk.Events.from_frame(frame, recording_length=105 * step)


def binned(events, *, step, times):
    """Annotators by bins: what each says in every bin of length step, each bin repeated."""
    frame, rows = events.to_frame(), []
    for annotator in "abc":
        said = []
        for recording in "xyz":
            bins = np.zeros(105)
            part = frame[(frame["recording"] == recording) & (frame["annotator"] == annotator)]
            for on, off in zip(part["onset"], part["offset"]):
                bins[round(on / step) : round(off / step)] = 1
            said.append(bins)
        rows.append(np.repeat(np.concatenate(said), times))
    return np.array(rows)


@pytest.mark.parametrize("step", [0.1, 0.37])
def test_time_based_agreement_is_the_limit_of_small_bins(step):
    import krippendorff
    from sklearn.metrics import cohen_kappa_score

    events = marks(5, step=step)
    result = annotation_agreement(events)
    fine = binned(events, step=step, times=200)
    assert result.by_label["alpha"][0] == pytest.approx(
        krippendorff.alpha(fine, level_of_measurement="nominal"), abs=3e-5
    )
    for pair in result.by_pair.itertuples():
        i, j = "abc".index(pair.first), "abc".index(pair.second)
        # kappa has no small-sample term: one bin per step is already exact
        assert pair.kappa == pytest.approx(cohen_kappa_score(fine[i, ::200], fine[j, ::200]), abs=1e-9)
        assert pair.units == pytest.approx(3 * 105 * step)


def test_agreement_does_not_depend_on_the_bin_because_there_is_none():
    one, ten = annotation_agreement(marks(5, step=0.1)), annotation_agreement(marks(5, step=1.0))
    assert one.by_label["alpha"][0] == pytest.approx(ten.by_label["alpha"][0], abs=1e-9)
    np.testing.assert_allclose(one.by_pair["kappa"], ten.by_pair["kappa"], atol=1e-9)


def test_an_empty_recording_counts_once_somebody_says_it_was_heard():
    frame = pd.DataFrame({"recording": ["x", "x"], "onset": 0.0, "offset": 5.0, "annotator": ["a", "b"]})
    events = wk.Events.from_frame(frame, recording_length={"x": 10.0, "y": 10.0})
    only = annotation_agreement(events, examined=[("a", "x"), ("b", "x"), ("b", "y")])
    assert only.by_pair["units"][0] == 10
    heard = annotation_agreement(events, examined="all")
    assert heard.by_pair["units"][0] == 20
    assert heard.by_pair["kappa"][0] == pytest.approx(1)
    assert heard.assumed == ""


def test_alpha_where_one_annotator_found_nothing_is_krippendorffs_on_the_full_table():
    """Ann marks in four recordings, ben in two of them: his empty ones are dissent, and silent ones agreement."""
    krippendorff = pytest.importorskip("krippendorff")
    marks = [("ann", "r0", 1.0, 3.0), ("ann", "r1", 2.0, 4.0), ("ann", "r2", 0.0, 5.0), ("ann", "r3", 6.0, 7.0),
             ("ben", "r0", 2.0, 4.0), ("ben", "r1", 2.0, 4.0)]  # fmt: skip
    frame = pd.DataFrame(marks, columns=["annotator", "recording", "onset", "offset"])
    events = wk.Events.from_frame(frame, recording_length={f"r{k}": 10.0 for k in range(6)})
    full = np.zeros((2, 6 * 1000))  # bins of 10 ms: every mark begins and ends on one
    for who, name, start, end in marks:
        at = 1000 * int(name[1:])
        full[int(who == "ben"), at + round(100 * start) : at + round(100 * end)] = 1
    theirs = krippendorff.alpha(reliability_data=full, level_of_measurement="nominal")
    told = annotation_agreement(events, examined="all").by_label.iloc[0]
    assert told["alpha"] == pytest.approx(theirs, abs=2e-4)  # a continuum has no n - 1
    assert told["units"] == 60
    untold = annotation_agreement(events)
    row = untold.by_label.iloc[0]
    assert row["alpha"] == row["alpha_if_all"] == pytest.approx(told["alpha"])
    assert row["alpha_if_marked"] > row["alpha"] + 0.1
    assert untold.assumed == "everybody examined every recording"
    part = annotation_agreement(events, examined={f"r{k}": [(0.0, 5.0)] for k in range(3)}).by_label.iloc[0]
    cut = np.concatenate([full[:, 1000 * k : 1000 * k + 500] for k in range(3)], axis=1)
    assert part["units"] == 15
    assert part["alpha"] == pytest.approx(
        krippendorff.alpha(reliability_data=cut, level_of_measurement="nominal"), abs=1e-3
    )


def test_annotators_who_divide_the_work_are_not_set_against_each_other():
    frame = pd.DataFrame({"recording": ["x", "y", "z", "z"], "onset": 0.0, "offset": [5.0, 5.0, 4.0, 5.0],
                          "annotator": ["a", "b", "a", "b"]})  # fmt: skip
    more = frame.assign(recording=frame["recording"] + "2").query("recording != 'z2'")
    events = wk.Events.from_frame(pd.concat([frame, more], ignore_index=True), recording_length=10.0)
    found = annotation_agreement(events)
    assert found.assumed.startswith("only recordings with their mark")
    assert found.by_label["units"][0] == 10


def test_more_votes_make_labels_more_right_as_the_binomial_says():
    """Annotators who are right with 0.8: three votes make 0.896, five 0.942."""
    rng = np.random.default_rng(0)
    truth = rng.random(1500) < 0.5
    rows = [
        (f"r{k}", float(truth[k] if rng.random() < 0.8 else not truth[k]), f"p{j}")
        for k in range(1500) for j in rng.choice(8, 3, replace=False)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["recording", "present", "annotator"]).assign(label="dog")
    found = votes_needed(dawid_skene(wk.Answers.from_frame(frame)), seconds=10.0).set_index("votes")
    for votes, share in ((1, 0.8), (3, 0.896), (5, 0.94208)):
        assert found.loc[votes, "majority_accuracy"] == pytest.approx(share, abs=0.03)
    assert found.loc[2, "majority_accuracy"] == pytest.approx(found.loc[1, "majority_accuracy"], abs=0.01)
    row = found.loc[3]
    assert row["seconds_per_gain"] == pytest.approx(10 / row["gain"])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_alpha_is_at_most_one_and_one_only_without_dissent(counts):
    present = np.array([float(min(k, m)) for k, m in counts])
    answers = np.array([float(m) for _, m in counts])
    alpha = krippendorff_alpha(present, answers)
    assert np.isnan(alpha) or alpha <= 1
    dissent = ((present > 0) & (present < answers) & (answers >= 2)).any()
    assert not (alpha == 1 and dissent)


def test_a_crowd_has_no_table_of_pairs():
    def agreement(n):
        frame = pd.DataFrame(
            {"recording": "x", "label": "dog", "present": 1.0, "annotator": [f"a{k}" for k in range(n)]}
        )
        return answer_agreement(wk.Answers.from_frame(frame))

    assert len(agreement(50).by_pair) == 50 * 49 // 2
    assert len(agreement(51).by_pair) == 0


def test_kappa_has_no_value_where_chance_already_agrees():
    assert np.isnan(cohen_kappa(np.array([[0.0, 0.0], [0.0, 9.0]])))


@pytest.mark.parametrize("seed", [2, 3])
def test_dawid_skene_is_crowd_kits(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its imports warn
        from crowdkit.aggregation import DawidSkene as Theirs

        frame, truth = crowd(seed)
        theirs = Theirs(n_iter=100, tol=1e-5).fit(crowd_kit(frame))
    ours = dawid_skene(wk.Answers.from_frame(frame))
    probability = ours.labels.set_index("recording")["probability"]
    np.testing.assert_allclose(probability, theirs.probas_[1.0].reindex(probability.index), atol=1e-9)
    workers = ours.annotators.set_index("annotator")
    for name in workers.index:
        assert workers.loc[name, "sensitivity"] == pytest.approx(theirs.errors_.loc[(name, 1.0), 1.0], abs=1e-9)
    right = (ours.labels["present"].to_numpy() == truth[ours.labels["recording"].str[4:].astype(int)]).mean()
    assert right > 0.75


def test_seconds_per_query_survive_a_lunch_break():
    rng = np.random.default_rng(3)
    seconds = rng.lognormal(np.log(6), 0.3, 400)
    expected = seconds.mean()
    seconds[::20] += rng.uniform(600, 7200, 20)
    frame = pd.DataFrame(
        {"recording": [f"r{i}" for i in range(400)], "onset": 0.0, "offset": 3.0, "label": "dog", "present": 1.0}
    )
    spent = effort(wk.Answers.from_frame(frame.assign(seconds=seconds)))
    assert spent.seconds_per_query == pytest.approx(expected, rel=0.05)
    assert spent.idle_share == pytest.approx(0.05, abs=0.02)
    assert np.mean(seconds) > 20 * expected
    overhead = expected - 3.0
    assert spent.query_cost_share == pytest.approx(overhead / (1 + overhead), rel=0.05)


def test_several_segment_lengths_split_the_time_into_query_and_hearing():
    rng = np.random.default_rng(4)
    width = rng.choice([1.0, 2.0, 5.0, 10.0], 800)
    seconds = 4.0 + 1.5 * width + rng.normal(0, 0.3, 800)
    frame = pd.DataFrame(
        {"recording": [f"r{i}" for i in range(800)], "onset": 0.0, "offset": width, "label": "dog", "present": 1.0}
    )
    spent = effort(wk.Answers.from_frame(frame.assign(seconds=seconds)))
    assert spent.query_seconds == pytest.approx(4.0, abs=0.15)
    assert spent.seconds_per_second == pytest.approx(1.5, abs=0.03)
    assert spent.query_cost_share == pytest.approx(4 / 5.5, abs=0.01)


def test_the_length_of_recordings_stands_in_only_where_the_segment_is_unknown():
    width = np.tile([1.0, 2.0, 5.0, np.nan], 20)
    heard = np.where(np.isnan(width), 10.0, width)
    frame = pd.DataFrame(
        {
            "recording": [f"r{i}" for i in range(80)],
            "onset": np.where(np.isnan(width), np.nan, 0.0),
            "offset": width,
            "label": "dog",
            "present": 1.0,
            "seconds": 4.0 + 1.5 * heard,
        }
    )
    spent = effort(wk.Answers.from_frame(frame), recording_length=10.0)
    assert (spent.query_seconds, spent.seconds_per_second) == pytest.approx((4.0, 1.5))


def test_one_query_about_several_classes_is_paid_once():
    frame = pd.DataFrame({"recording": "x", "label": ["cat", "dog"], "present": 1.0, "seconds": 9.0, "query": "q1"})
    assert effort(wk.Answers.from_frame(frame)).n_queries == 1


def test_agreement_and_effort_need_annotators_and_clocks():
    frame = pd.DataFrame({"recording": ["x"], "label": ["dog"], "present": [1]})
    with pytest.raises(wk.InvalidInput, match="two annotators"):
        answer_agreement(wk.Answers.from_frame(frame))
    with pytest.raises(wk.InvalidInput, match="two annotators"):
        dawid_skene(wk.Answers.from_frame(frame))
    with pytest.raises(wk.InvalidInput, match="seconds"):
        effort(wk.Answers.from_frame(frame))
    events = wk.Events.from_frame(pd.DataFrame({"onset": [0.0], "offset": [1.0]}))
    with pytest.raises(wk.InvalidInput, match="annotator"):
        annotation_agreement(events)
