"""The reference table: numbers computed elsewhere, to ten digits, for every closed form."""

import numpy as np
import pytest
from scipy import stats

from weakly import Annotator, Lengths
from weakly import theory as th

THREE = Lengths.sample([0.5, 1, 4])


def f(d, q, g):
    return th.overlap_accuracy(event_length=d, segment_length=q, presence_criterion=g, weighting="event")


def best(d, g, **more):
    return th.optimal_segment_length(event_length=d, presence_criterion=g, **more)


def whole(m, t, d, q, g, **more):
    return th.recording_accuracy(
        event_length=d, segment_length=q, presence_criterion=g, n_events=m, recording_length=t, **more
    )


def random_annotator(delta, **who):
    return th.overlap_accuracy(event_length=1, segment_length=delta, annotator=Annotator(**who))


def windows(d, count, hop, g, k):
    return th.overlapping_wrong_time(event_length=d, segment_length=count * hop, hop=hop, votes=k, presence_criterion=g)


def dense(rate, w, g):
    return th.dense_recordings(event_length=1, event_rate=rate, segment_length=w, presence_criterion=g).overlap_accuracy


def crowded(m, t, b, g):
    return th.crowded_recordings(event_length=1, n_events=m, recording_length=t, n_queries=b, presence_criterion=g)


def box(ratios, g):
    return th.box_overlap_accuracy(length_ratios=ratios, presence_criterion=g)


def per_recording(delta, g):
    return th.overlap_accuracy_per_recording(event_length=1, segment_length=delta, presence_criterion=g)


BETA = stats.beta(2, 3)

TABLE = {
    "1": (lambda: f(1, 0.8, 0.5), 0.7638888889),
    "2": (lambda: f(1, 0.3, 0.5), 0.2307692308),
    "4": (lambda: f(0.5, 3, 0.7), 0.3195238095),
    "5": (lambda: f(3, 3, 1), 0.5),
    "7": (lambda: best(1, 0.01), 0.0142002520),
    "8": (lambda: best(1, 0.1), 0.1468374946),
    "10": (lambda: best(1, 0.5), 0.8090169944),
    "11": (lambda: best(1, 0.75), 1.2577747211),
    "13": (lambda: best(2.5, 0.3), 1.1656857311),
    "14": (lambda: th.best_overlap_accuracy(presence_criterion=0.01), 0.9918314859),
    "16": (lambda: th.best_overlap_accuracy(presence_criterion=0.26), 0.8442857574),
    "17": (lambda: th.best_overlap_accuracy(presence_criterion=0.5), 0.7639320225),
    "19": (lambda: th.best_overlap_accuracy(presence_criterion=1), 0.6754446797),
    "20": (lambda: th.optimal_query_count(recording_length=100, event_length=1, presence_criterion=0.5), 123.60679775),
    "22": (
        lambda: th.optimal_query_count(recording_length=60, event_length=0.33, presence_criterion=0.9),
        118.5064393398,
    ),
    "23": (lambda: whole(10, 100, 1, 0.8, 0.5), 0.9575),
    "25": (lambda: whole(10, 100, 1, 0.5, 0.9), 0.9),
    "26": (lambda: whole(4, 50, THREE, 0.9, 0.5), 0.8668148148),
    "28": (lambda: best(1, 0.5, objective="recording"), 0.7071067812),
    "29": (lambda: whole(1, 100, 1, best(1, 0.5, objective="recording"), 0.5), 0.9958578644),
    "31": (lambda: th.recall(event_length=1, segment_length=0.8, presence_criterion=0.5), 0.6875),
    "32": (lambda: 1 - th.event_recall(event_length=1, segment_length=1.534247, presence_criterion=0.9), 0.5214284271),
    "34": (lambda: per_recording(0.35, 0.1), 0.8503401361),
    "35": (lambda: per_recording(1.3, 0.7), 0.7218934911),
    "37": (lambda: random_annotator(0.8, presence_criterion=0.5, flip_rate=0.1), 0.7111111111),
    "38": (lambda: f(THREE, 0.9, 0.5), 0.5196622509),
    "40": (lambda: f(Lengths.law(stats.expon()), 0.7, 0.5), 0.48501912),
    "41": (lambda: f(Lengths.law(stats.uniform(0.5, 2)), 0.7, 0.5), 0.4774037555),
    "44": (lambda: best(THREE, 0.5), 2.2166754803),
    "43": (
        lambda: th.wrong_time(
            event_length=THREE, segment_length=best(THREE, 0.5, objective="recording"), presence_criterion=0.5
        ),
        1.5786893258,
    ),
    "113": (lambda: dense(0.3, 1.13, 0.5), 0.7102944720),
    "115": (lambda: dense(0.5, 0.4, 0.1), 0.8570438218),
    "116": (lambda: dense(1, 1.2, 0.2), 0.7632854592),
    "119": (lambda: crowded(3, 10, 8, 0.7).right, 2.8055836618),
    "121": (lambda: crowded(2, 4, 5, 0.6).right, 1.8604938272),
    "122": (lambda: th.clump_cdf(2.3, event_length=1, event_rate=0.7), 0.8912551048),
    "124": (lambda: random_annotator(1.3, presence_criterion=BETA), 0.6488294314),
    "125": (lambda: random_annotator(0.5, presence_criterion=stats.beta(5, 5)), 0.5517282197),
    "127": (lambda: random_annotator(1.3, presence_criterion=stats.logistic(0.3, 0.05)), 0.6300659406),
    "128": (lambda: random_annotator(0.8, presence_criterion=BETA, guess_rate=0.05, lapse_rate=0.1), 0.685008),
    "130": (lambda: random_annotator(0.8, presence_criterion=BETA, votes=(1, 3)), 0.7166704723),
    "131": (lambda: random_annotator(1, presence_criterion=stats.uniform()), 0.6666666667),
    "134": (lambda: windows(1, 4, 0.3, 0.5, 1), 1.1),
    "136": (lambda: windows(2.3, 10, 0.2, 0.4, 5), 0.36),
    "137": (lambda: windows(1, 3, 0.5, 0.95, 1), 0.6),
    "139": (
        lambda: th.overlapping_wrong_time(
            event_length=1, segment_length=0.75, hop=0.5, votes=1, presence_criterion=0.5
        ),
        0.25,
    ),
    "140": (
        lambda: th.soft_wrong_time(event_length=1, segment_length=1.2, hop=0.3, presence_criterion=0.5),
        0.6166666667,
    ),
    "142": (lambda: box([1.3, 0.7], 0.3), 0.7613274435),
    "143": (lambda: box([0.9, 0.9, 0.9], 0.5), 0.8635546923),
    "145": (lambda: th.box_wrong_volume(length_ratios=[1, 1], presence_criterion=0.5), 0.8068528194),
    "146": (lambda: th.box_wrong_volume(length_ratios=[0.9, 0.9, 0.9], presence_criterion=0.5), 0.9358783656),
    "148": (
        lambda: box([th.optimal_box_ratio(n_dimensions=3, presence_criterion=0.5, objective="overlap")] * 3, 0.5),
        0.8904632274,
    ),
    "149": (
        lambda: th.bisection_queries(recording_length=102.4, levels=7, event_length=1, presence_criterion=0.3),
        15.9467455621,
    ),
}


@pytest.mark.parametrize("number", TABLE)
def test_reference_number(number):
    compute, value = TABLE[number]
    assert compute() == pytest.approx(value, abs=6e-11 * max(1, abs(value)))


def test_exact_values():
    root = np.sqrt
    assert th.best_overlap_accuracy(presence_criterion=0.5) == pytest.approx(3 - root(5), abs=1e-15)
    assert th.best_overlap_accuracy(presence_criterion=1) == pytest.approx(7 - 2 * root(10), abs=1e-15)
    assert th.best_overlap_accuracy(presence_criterion=0.7) == pytest.approx(0.72, abs=1e-15)
    assert th.optimal_segment_length(event_length=1, presence_criterion=0.5) == pytest.approx(
        (1 + root(5)) / 4, abs=1e-15
    )


@pytest.mark.parametrize(
    ("rate", "g", "length", "value"),
    [
        (10 / 99, 0.5, 1.0, 0.7422),
        (30 / 99, 0.5, 1.093, 0.7102),
        (50 / 99, 0.9, 2.326, 0.5867),
    ],
)
def test_reference_optimum_of_dense_recordings(rate, g, length, value):
    found = th.optimal_dense_segment_length(event_length=1, event_rate=rate, presence_criterion=g)
    assert found == pytest.approx(length, abs=6e-4)
    assert dense(rate, found, g) == pytest.approx(value, abs=6e-5)


@pytest.mark.parametrize(
    ("votes", "length", "value"), [((1, 5), 0.389, 0.8135), ((3, 5), 0.681, 0.7679), ((5, 5), 1.099, 0.7149)]
)
def test_reference_optimum_of_votes(votes, length, value):
    who = Annotator.beta(2, 3, votes=votes)
    found = th.optimal_segment_length(event_length=1, annotator=who)
    assert found == pytest.approx(length, abs=6e-4)
    assert th.overlap_accuracy(event_length=1, segment_length=found, annotator=who) == pytest.approx(value, abs=6e-5)


def test_reference_optimum_of_random_annotators():
    uniform = Annotator(presence_criterion=stats.uniform())
    assert th.optimal_segment_length(event_length=3, annotator=uniform) == pytest.approx(3, abs=1e-9)
    wide = Annotator.beta(2, 2)
    found = th.optimal_segment_length(event_length=1, annotator=wide)
    assert found == pytest.approx(0.9321, abs=6e-5)
    assert th.overlap_accuracy(event_length=1, segment_length=found, annotator=wide) == pytest.approx(0.7018, abs=6e-5)


@pytest.mark.parametrize(
    ("g", "dims", "overlap", "volume"),
    [(0.1, 2, 0.4306, 0.4040), (0.25, 3, 0.8516, 0.7536), (0.5, 1, 0.8090, 0.7071), (0.9, 2, 1.5623, 1.1853)],
)
def test_reference_optimum_of_boxes(g, dims, overlap, volume):
    for objective, value in (("overlap", overlap), ("volume", volume)):
        found = th.optimal_box_ratio(n_dimensions=dims, presence_criterion=g, objective=objective)
        assert found == pytest.approx(value, abs=6e-5)


def test_reference_optimum_of_real_lengths(real_data):
    dog, baby = (
        Lengths.sample(np.load(real_data / "nigens" / f"{name}_event_lengths.npy")) for name in ("dog", "baby")
    )
    for g, one, other in ((0.1, 0.1193, 0.3032), (0.5, 0.2222, 0.8027), (0.9, 0.3041, 0.3694)):
        assert best(dog, g, objective="recording") == pytest.approx(one, abs=6e-5)
        assert best(baby, g, objective="recording") == pytest.approx(other, abs=6e-5)
    assert whole(10, 100, dog, 0.05, 0.9) == pytest.approx(0.9668, abs=6e-5)
    assert whole(10, 100, dog, 0.2, 0.5) == pytest.approx(0.97603, abs=6e-6)
