"""The ceiling of scores on weak labels; F1 against sed_eval."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weakly as wk
from weakly.model.intervals import EventArrays, merge
from weakly.studies.audit.quality import ceiling, event_counts, segment_counts, time_counts

LABELS = ["car", "dog"]


def lines(recordings, names=None, length=20.0):
    """Events by recording as the arrays that are scored."""
    names = sorted(recordings) if names is None else names
    return EventArrays.of([recordings.get(name, ()) for name in names], length)


def of_classes(marks):
    return {label: lines(recordings) for label, recordings in marks.items()}


def random_marks(rng, *, recordings=4, length=20.0, events=5):
    """Disjoint events of two classes in some recordings, some of them empty."""
    marks = {label: {} for label in LABELS}
    for label in LABELS:
        for r in range(recordings):
            n = rng.integers(0, events + 1)
            cuts = np.sort(rng.uniform(0, length, 2 * n)).reshape(-1, 2).round(3)
            marks[label][f"r{r}"] = cuts[cuts[:, 1] > cuts[:, 0]]
    return marks


def near(rng, marks, *, spread):
    """The same events with shaken boundaries, some lost."""
    shaken = {}
    for label, recordings in marks.items():
        shaken[label] = {}
        for name, rows in recordings.items():
            moved = np.clip(rows + rng.normal(0, spread, rows.shape), 0, 20.0).round(3)
            moved = moved[(moved[:, 1] > moved[:, 0]) & (rng.random(len(moved)) < 0.85)]
            shaken[label][name] = merge(moved)
    return shaken


def sed_eval_lists(marks, name):
    """One recording as sed_eval's event list."""
    import dcase_util

    return dcase_util.containers.MetaDataContainer(
        [
            {"filename": name, "event_label": label, "onset": float(a), "offset": float(b)}
            for label in LABELS
            for a, b in marks[label].get(name, ())
        ]
    )


@pytest.fixture(scope="module")
def sed_eval():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import sed_eval
    return sed_eval


@pytest.mark.parametrize("resolution", [0.1, 0.5, 1.0, 2.5])
def test_segment_f1_is_sed_evals(sed_eval, resolution):
    rng = np.random.default_rng(3)
    reference = random_marks(rng)
    predicted = near(rng, reference, spread=0.6)
    lengths = {f"r{r}": 20.0 for r in range(4)}
    theirs = sed_eval.sound_event.SegmentBasedMetrics(LABELS, time_resolution=resolution)
    for name in lengths:
        theirs.evaluate(
            sed_eval_lists(reference, name), sed_eval_lists(predicted, name), evaluated_length_seconds=lengths[name]
        )
    best = ceiling(of_classes(predicted), of_classes(reference), resolutions=[resolution])
    name = f"segment_f1_{resolution:g}s"
    assert best.score(name) == pytest.approx(theirs.overall_f_measure()["f_measure"], abs=1e-12)
    for label in LABELS:
        ours = best.score(name, label=label)
        assert ours == pytest.approx(theirs.class_wise_f_measure(label)["f_measure"], abs=1e-12)
    average = theirs.results_class_wise_average_metrics()["f_measure"]["f_measure"]
    assert best.score(name, label="mean") == pytest.approx(average, abs=1e-12)
    counted = [segment_counts(lines(reference[x]), lines(predicted[x]), resolution=resolution).tn for x in LABELS]
    assert sum(counted) == theirs.overall["Ntn"]


@pytest.mark.parametrize(("collar", "share"), [(0.2, 0.2), (0.2, 0.5), (0.1, 0.0), (1.0, 0.5)])
def test_event_f1_is_sed_evals(sed_eval, collar, share):
    rng = np.random.default_rng(4)
    reference = random_marks(rng, events=8)
    predicted = near(rng, reference, spread=0.25)
    theirs = sed_eval.sound_event.EventBasedMetrics(LABELS, t_collar=collar, percentage_of_length=share)
    for r in range(4):
        theirs.evaluate(sed_eval_lists(reference, f"r{r}"), sed_eval_lists(predicted, f"r{r}"))
    for label in LABELS:
        ours = event_counts(lines(reference[label]), lines(predicted[label]), collar=collar, share_of_length=share)
        counted = theirs.class_wise[label]
        assert (ours.tp, ours.fp, ours.fn) == (counted["Ntp"], counted["Nfp"], counted["Nfn"])
        assert 0 < ours.tp < counted["Nref"]
    tolerance = {"collar": collar, "share_of_length": share}
    best = ceiling(of_classes(predicted), of_classes(reference), resolutions=[], **tolerance)
    assert best.score("event_f1") == pytest.approx(theirs.overall_f_measure()["f_measure"], abs=1e-12)


def test_real_system_output_scores_as_sed_eval_says(sed_eval, real_data):
    import pandas as pd

    folder = real_data / "sed_eval_tut"
    reference = pd.read_csv(folder / "street_fold1_reference.txt", sep="\t", header=None).iloc[:, [0, 2, 3, 4]]
    detected = pd.read_csv(folder / "street_fold1_detected.txt", sep="\t", header=None)
    tables = []
    for table in (reference, detected):
        table.columns = ["file", "onset", "offset", "label"]
        tables.append(
            {
                label: {name: merge(rows[["onset", "offset"]].to_numpy()) for name, rows in part.groupby("file")}
                for label, part in table.groupby("label")
            }
        )
    labels = sorted(reference["label"].unique())
    segment = sed_eval.sound_event.SegmentBasedMetrics(labels, time_resolution=1.0)
    event = sed_eval.sound_event.EventBasedMetrics(labels, t_collar=0.25)
    import dcase_util

    files, longest = sorted(reference["file"].unique()), max(table["offset"].max() for table in (reference, detected))
    for name in files:
        lists = [
            dcase_util.containers.MetaDataContainer(
                [
                    {"filename": name, "event_label": label, "onset": onset, "offset": offset}
                    for label, files in table.items()
                    for onset, offset in files.get(name, ())
                ]
            )
            for table in tables
        ]
        segment.evaluate(*lists)
        event.evaluate(*lists)
    for label in labels:
        mine, theirs = (lines(table.get(label, {}), files, longest) for table in tables)
        # sed_eval ends a recording at its last offset of any class; that only moves true absents
        ours = segment_counts(mine, theirs, resolution=1.0)
        assert (ours.tp, ours.fp, ours.fn) == tuple(segment.class_wise[label][k] for k in ("Ntp", "Nfp", "Nfn"))
        ours = event_counts(mine, theirs, collar=0.25, share_of_length=0.5)
        assert (ours.tp, ours.fp, ours.fn) == tuple(event.class_wise[label][k] for k in ("Ntp", "Nfp", "Nfn"))


@given(st.integers(0, 100_000))
def test_time_scores_are_the_limit_of_fine_segments(seed):
    rng = np.random.default_rng(seed)
    step = 0.25
    marks = []
    for _ in range(2):
        cuts = np.unique(rng.integers(0, 41, 6))
        cuts = cuts[: len(cuts) // 2 * 2].reshape(-1, 2) * step
        marks.append(EventArrays.of([cuts], 10.25))
    exact = time_counts(*marks)
    fine = segment_counts(*marks, resolution=step)
    for name in ("tp", "fp", "fn", "tn"):
        assert getattr(exact, name) == pytest.approx(getattr(fine, name) * step, abs=1e-9)


@given(st.integers(0, 100_000))
def test_good_labels_have_no_ceiling(seed):
    rng = np.random.default_rng(seed)
    marks = of_classes(random_marks(rng))
    best = ceiling(marks, marks, resolutions=[0.5, 1.0])
    for model in ("perfect", "mimic", "mimic_true"):
        scores = best.table[model].dropna()
        assert (scores == 1).all()


def test_a_perfect_model_loses_to_the_one_that_copies_the_labels():
    rng = np.random.default_rng(5)
    truth = random_marks(rng)
    clip = {label: {name: rows if len(rows) == 0 else np.array([[0.0, 20.0]]) for name, rows in marks.items()}
            for label, marks in truth.items()}  # fmt: skip
    best = ceiling(of_classes(truth), of_classes(clip))
    for metric in ("segment_f1_1s", "event_f1", "time_f1", "accuracy"):
        assert best.score(metric) < best.score(metric, model="mimic") == 1
    # accuracy does not care which of the two is called the reference
    assert best.score("accuracy") == pytest.approx(best.score("accuracy", model="mimic_true"))
    with pytest.raises(wk.InvalidInput, match="metric must be one of"):
        best.score("f1")
