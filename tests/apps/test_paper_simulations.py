"""The simulation figures: the protocol as the paper describes it, and the exact values beside it."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from weakly.apps.paper import reproduce
from weakly.apps.paper.facts import gather
from weakly.apps.paper.simulations import (
    PAPER,
    QUICK,
    SCENARIOS,
    Case,
    Protocol,
    best_numerical,
    dense_optimum,
    deviation,
    follow_protocol,
    peak,
    per_recording_profile,
    scenario,
    selection_bias,
    swapped_length,
)
from weakly.model.lengths import Lengths
from weakly.studies.simulate import simulate
from weakly.theory import optimal_segment_length, overlap_accuracy, overlap_accuracy_per_recording

ONE = Case("1 s", Lengths.fixed(1.0))


def test_the_protocol_is_the_papers():
    assert (PAPER.n_recordings, PAPER.n_criteria, PAPER.n_segment_lengths) == (1000, 11, 200)
    assert PAPER.criteria[[0, 5, -1]] == pytest.approx([0.01, 0.5, 0.99])
    lengths = PAPER.segment_lengths(shortest=0.5, longest=2.0)
    assert (len(lengths), lengths[0], lengths[-1]) == (200, 0.001, 10.0)
    # 7.3 s asked, 100 / 13 = 7.69 s used (E11).
    assert PAPER.cut(np.array([7.3, 21.0])) == pytest.approx([100 / 13, 25.0])


def test_every_scenario_names_its_law_by_its_values():
    data = gather()
    labels = {name: [case.label for case in scenario(name, data).cases] for name in SCENARIOS}
    assert labels["normal_variance"] == ["normal(3, 0.1)", "normal(3, 1)", "normal(3, 0.5)"]
    assert [case.origin for case in scenario("normal_mean", data).cases] == ["text and code", "text", "scripts"]
    assert [scenario(name, data).n_events for name in ("uniform_10", "uniform_30", "uniform_50")] == [10, 30, 50]
    for case in scenario("normal_mean", data).cases:
        assert case.label == f"normal({case.lengths.mean:.2g}, {case.lengths.std:.1g})"


def test_the_protocol_estimates_the_mean_per_recording():
    small = Protocol(n_recordings=4000, n_criteria=3, n_segment_lengths=4)
    widths = np.array([0.5, 0.8, 1.25, 2.0])  # whole numbers of segments, so nothing is stretched
    mean, error = follow_protocol(ONE, n_events=1, widths=widths, protocol=small, rng=3)
    exact = overlap_accuracy_per_recording(
        event_length=1.0, segment_length=widths[:, None], presence_criterion=small.criteria
    )
    assert (np.abs(mean - exact) < 5 * error + 1e-3).all()
    pooled = overlap_accuracy(event_length=1.0, segment_length=0.8, presence_criterion=0.5)
    assert pooled - mean[1, 1] > 5 * error[1, 1]  # and not Theorem 1 (E12)


def test_the_swapped_line_is_straight_for_one_second():
    g = PAPER.criteria
    assert swapped_length(mean=1.0, criteria=g) == pytest.approx(1.7207592 * g, abs=1e-6)
    assert swapped_length(mean=3.0, criteria=np.array([0.5]))[0] == pytest.approx(2.801, abs=5e-4)


@pytest.mark.parametrize(
    ("n_events", "criterion", "length", "accuracy", "at_rule"),
    [  # reference table for uniformly placed 1 s events in 100 s
        (10, 0.1, 0.200, 0.9091, 0.8537),
        (10, 0.5, 1.000, 0.7422, 0.7316),
        (30, 0.1, 0.278, 0.8816, 0.7157),
        (30, 0.5, 1.093, 0.7102, 0.6615),
        (30, 0.9, 1.927, 0.6236, 0.6057),
        (50, 0.1, 0.338, 0.8647, 0.5931),
        (50, 0.5, 1.372, 0.6827, 0.5878),
        (50, 0.9, 2.326, 0.5867, 0.5438),
    ],
)
def test_dense_recordings_have_the_optimum_of_the_reference_table(n_events, criterion, length, accuracy, at_rule):
    best, rule = dense_optimum(n_events=n_events, criteria=criterion)
    assert best.segment_length[0] == pytest.approx(length, abs=2e-3)
    assert best.overlap_accuracy[0] == pytest.approx(accuracy, abs=6e-5)
    assert rule.overlap_accuracy[0] == pytest.approx(at_rule, abs=6e-5)


@pytest.mark.parametrize(("n_events", "grid", "pooled"), [(30, 88, 0.711772268117), (50, 71, 0.684264106327)])
def test_simulated_dense_recordings_meet_the_exact_finite_value(n_events, grid, pooled):
    """Segments per recording at which the accuracy with so many events is known exactly, at gamma = 0.5."""
    asked = {"recording_length": 100, "segment_length": 100 / grid, "presence_criterion": 0.5}
    found = simulate(1.0, n_events=n_events, n_recordings=3000, rng=4, **asked)
    assert found.n_queries == 3000 * grid
    assert abs(found.overlap_accuracy - pooled) < 4 * found.overlap_accuracy_se
    assert found.overlap_accuracy_se < 1e-3


def test_equation_13_and_its_maximum():
    law = Lengths.sample([0.5, 1.0, 4.0])
    grid, criteria = np.linspace(0.05, 9.0, 3000), np.array([0.2, 0.5, 0.9])
    slow = np.array(
        [
            [
                np.mean([overlap_accuracy(event_length=d, segment_length=q, presence_criterion=g) for d in (0.5, 1, 4)])
                for g in criteria
            ]
            for q in grid[::30]
        ]
    )
    length, accuracy = best_numerical(law, criteria, n=2000)
    assert (accuracy >= slow.max(axis=0) - 1e-6).all()
    here = overlap_accuracy(event_length=law, segment_length=length, presence_criterion=criteria, weighting="event")
    assert accuracy == pytest.approx(here, abs=2e-3)


def test_best_numerical_of_one_length_is_theorem_2():
    g = np.array([0.1, 0.5, 0.9])
    length, accuracy = best_numerical(Lengths.fixed(2.0), g)
    best = optimal_segment_length(event_length=2.0, presence_criterion=g)
    assert length == pytest.approx(best, rel=2e-3)
    assert accuracy == pytest.approx(
        overlap_accuracy(event_length=2.0, segment_length=best, presence_criterion=g), abs=5e-6
    )


def test_per_recording_profile_of_a_sample_is_the_mean_over_its_values():
    q, g = np.array([0.3, 1.0]), np.array([0.2, 0.8])
    table = per_recording_profile(Lengths.sample([0.5, 2.0]), segment_length=q, presence_criterion=g)
    for i, width in enumerate(q):
        for j, criterion in enumerate(g):
            each = overlap_accuracy_per_recording(
                event_length=np.array([0.5, 2.0]), segment_length=width, presence_criterion=criterion
            )
            assert table[i, j] == pytest.approx(each.mean(), abs=1e-12)


def test_a_peak_at_the_end_of_the_grid_is_the_end():
    grid = np.geomspace(1, 10, 20)
    where, height = peak(grid, np.log(grid)[:, None])
    assert where[0] == grid[-1]
    assert height[0] == pytest.approx(math.log(10))


def test_the_spread_of_one_recording_is_that_of_the_simulation():
    q = np.array([0.4, 0.8, 1.6])
    found = simulate(
        1.0, n_events=1, recording_length=1600, segment_length=q, presence_criterion=0.3, n_recordings=20_000, rng=1
    )
    assert deviation(q, 0.3) == pytest.approx(found.overlap_accuracy_per_recording_se * math.sqrt(20_000), rel=0.03)


def test_the_maximum_of_noisy_means_is_too_high():
    bias = [selection_bias(n_recordings=n, n_draws=500) for n in (10, 100, 1000)]
    assert bias[0] > bias[1] > bias[2] > 0
    assert bias[0] == pytest.approx(0.827 - 0.75, abs=0.005)  # reference table: 0.827 with 10 recordings
    assert bias[2] == pytest.approx(0.7561 - 0.7502, abs=0.001)


def test_one_stream_per_figure_whoever_computes_it():
    alone = reproduce(only=["single_event"], quick=True, seed=5)
    with ThreadPoolExecutor(2) as pool:
        among = reproduce(only=["tables", "single_event"], quick=True, seed=5, executor=pool)
    other = reproduce(only=["single_event"], quick=True, seed=6)
    values = [found.to_dict()["figures"][0]["values"]["1 s"]["protocol"] for found in (alone, among, other)]
    assert values[0] == values[1]
    assert values[0] != values[2]
    assert QUICK.n_recordings < PAPER.n_recordings
