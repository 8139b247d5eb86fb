"""Boundary search: onset, offset and criterion without knowing the criterion; with noise, stated uncertainty."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weakly.base.errors import InvalidInput
from weakly.methods.base import Recording
from weakly.methods.boundary import Boundary
from weakly.methods.simulated import SimulatedAnnotator, run
from weakly.model.annotator import Annotator
from weakly.studies.queries.calibration import design, information, place


@settings(max_examples=25)
@given(st.floats(0.1, 1.0), st.floats(0.5, 2.0), st.floats(0.0, 1.0))
def test_onset_offset_and_criterion_are_found(criterion, length, where):
    onset = where * (102.4 - length)
    recording = Recording("a", 102.4, events=np.array([[onset, onset + length]]))
    method = Boundary(tolerance=0.02, slip_rate=0.0)
    outcome = run(method, recording, SimulatedAnnotator(criterion))
    (found,) = method.found(recording, outcome.asked)
    assert found.done
    assert outcome.n_queries <= 3 * np.ceil(np.log2(102.4 / 0.02)) + 1
    slack = 1e-9
    assert found.onset_ci[0] - slack <= onset <= found.onset_ci[1] + slack
    assert found.offset_ci[0] - slack <= onset + length <= found.offset_ci[1] + slack
    assert abs(found.onset - onset) <= 0.03
    assert abs(found.presence_criterion - criterion) <= 0.06


@pytest.mark.parametrize(("tolerance", "queries", "error"), [(0.08, 32, 0.05), (0.013, 39, 0.009)])
def test_queries_and_errors_of_the_reference(tolerance, queries, error):
    """32 queries bring the two errors to 0.05 s together, 39 to 0.009 s, from a stretch of 102.4 s."""
    rng = np.random.default_rng(0)
    counts, errors = [], []
    for _ in range(40):
        length, criterion = rng.uniform(0.5, 2), rng.uniform(0.1, 1)
        onset = rng.uniform(0, 102.4 - length)
        recording = Recording("a", 102.4, events=np.array([[onset, onset + length]]))
        method = Boundary(tolerance=tolerance)
        outcome = run(method, recording, SimulatedAnnotator(criterion))
        (found,) = method.found(recording, outcome.asked)
        counts.append(outcome.n_queries)
        errors.append(abs(found.onset - onset) + abs(found.offset - onset - length))
    assert np.mean(counts) <= queries
    assert np.mean(errors) <= error


def test_noise_is_survived_and_the_stated_intervals_hold():
    rng = np.random.default_rng(3)
    inside, errors, n = np.zeros(3), [], 40
    for _ in range(n):
        length, criterion = rng.uniform(0.5, 2), rng.uniform(0.1, 0.9)
        onset = rng.uniform(0, 20 - length)
        recording = Recording("a", 20.0, events=np.array([[onset, onset + length]]))
        method = Boundary(tolerance=0.1, guess_rate=0.1, lapse_rate=0.1)
        who = Annotator(presence_criterion=criterion, guess_rate=0.1, lapse_rate=0.1)
        outcome = run(method, recording, SimulatedAnnotator(who, rng=rng))
        found = method.found(recording, outcome.asked)
        if not found:  # a run of lapses said that there is nothing
            continue
        truth = (onset, onset + length, criterion)
        intervals = (found[0].onset_ci, found[0].offset_ci, found[0].presence_criterion_ci)
        inside += [low <= value <= high for value, (low, high) in zip(truth, intervals)]
        errors.append(abs(found[0].onset - onset))
    assert len(errors) >= 0.97 * n
    assert np.median(errors) < 0.1
    # Nominal 95 %; four standard errors below it.
    assert (inside / len(errors) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / n)).all()


def test_plain_halving_states_intervals_that_allow_for_slips():
    """The default asks as if nobody errs; with 5 % wrong answers its intervals hold, and without slip_rate do not."""
    inside = {0.0: np.zeros(3), 0.05: np.zeros(3)}
    n = 60
    for slip, count in inside.items():
        rng = np.random.default_rng(5)
        for _ in range(n):
            length, criterion = rng.uniform(0.5, 2), rng.uniform(0.1, 0.9)
            onset = rng.uniform(0, 20 - length)
            recording = Recording("a", 20.0, events=np.array([[onset, onset + length]]))
            who = Annotator(presence_criterion=criterion, guess_rate=0.05, lapse_rate=0.05)
            method = Boundary(tolerance=0.1, slip_rate=slip)
            found = method.found(recording, run(method, recording, SimulatedAnnotator(who, rng=rng)).asked)
            if found:
                stated = (found[0].onset_ci, found[0].offset_ci, found[0].presence_criterion_ci)
                truth = (onset, onset + length, criterion)
                count += [low <= value <= high for value, (low, high) in zip(truth, stated)]
    assert (inside[0.05] >= 0.8 * n).all()  # of 60 some found nothing at all
    assert (inside[0.0] <= 0.65 * n).all()


def test_an_empty_recording_takes_one_query():
    recording = Recording("a", 20.0, events=np.empty((0, 2)))
    outcome = run(Boundary(), recording, SimulatedAnnotator(0.5))
    assert outcome.n_queries == 1
    assert outcome.labels.events.size == 0


def test_several_events_with_a_coarse_round_first():
    events = np.array([[3.2, 4.0], [12.4, 14.1], [21.0, 21.7]])
    recording = Recording("a", 30.0, events=events)
    outcome = run(Boundary(tolerance=0.01, segment_length=2.0), recording, SimulatedAnnotator(0.4))
    assert np.allclose(outcome.labels.events, events, atol=0.03)
    assert outcome.n_queries < 120


def test_answers_that_tell_nothing_are_refused():
    with pytest.raises(InvalidInput, match="tell nothing"):
        Boundary(guess_rate=0.6, lapse_rate=0.5)


@pytest.mark.parametrize(("h", "criterion", "spread"), [(0.55, 0.5, 0.08), (0.02, 0.1, 0.3), (1.0, 0.9, 0.1)])
def test_information_is_the_expected_curvature(h, criterion, spread):
    """Fisher information against a finite difference of the log-likelihood, averaged over the two answers."""

    def chance(h, criterion, spread):
        return float(Annotator.logistic(criterion, spread, guess_rate=0.02, lapse_rate=0.02).probability(h))

    e = 1e-5
    gradient = np.array(
        [
            (chance(h, criterion + e, spread) - chance(h, criterion - e, spread)) / (2 * e),
            (chance(h, criterion, spread + e) - chance(h, criterion, spread - e)) / (2 * e),
        ]
    )
    p = chance(h, criterion, spread)
    expected = np.outer(gradient, gradient) / (p * (1 - p))
    assert np.allclose(information(h, presence_criterion=criterion, spread=spread)[0], expected, rtol=1e-6)


def test_the_design_is_optimal_and_beats_an_even_spread():
    plan = design(60, criteria=[0.5], spread=0.08, guess_rate=0.0, lapse_rate=0.0)
    # Two points, where the chance of present is 0.176 and 0.824, are D-optimal for a logistic curve.
    middle = np.sort(plan.event_fractions)
    assert np.allclose([middle[10], middle[-10]], [0.5 - 1.543 * 0.08, 0.5 + 1.543 * 0.08], atol=0.02)

    def determinant(fractions, criteria):
        return np.mean(
            [
                np.linalg.slogdet(information(fractions, presence_criterion=c, spread=0.08).sum(axis=0))[1]
                for c in criteria
            ]
        )

    spread_out = np.linspace(0.02, 1, 40)
    known = np.linspace(0.3, 0.7, 5)
    assert determinant(design(40, criteria=known).event_fractions, known) > determinant(spread_out, known)


def test_the_stated_interval_is_the_one_that_happens():
    """The half width of the design against the spread of maximum-likelihood estimates."""
    from weakly.posterior.criterion import estimate_criterion

    rng = np.random.default_rng(0)
    plan = design(200, criteria=np.linspace(0.3, 0.7, 9))
    h = plan.event_fractions
    found = []
    for _ in range(40):
        chance = 0.02 + 0.96 / (1 + np.exp(-(h - 0.5) / plan.spread))
        estimate = estimate_criterion(h, present=(rng.random(len(h)) < chance).astype(float), method="logistic")
        found.append(estimate.presence_criterion)
    assert np.mean(found) == pytest.approx(0.5, abs=0.02)
    assert 1.96 * np.std(found) == pytest.approx(plan.half_width(), rel=0.6)
    assert plan.half_width(800) == pytest.approx(plan.half_width(200) / 2, rel=1e-9)
    assert plan.half_width(plan.items_for(0.05)) <= 0.05 < plan.half_width(plan.items_for(0.05) - 1)
    with pytest.raises(InvalidInput, match="whole number >= 2"):
        design(1)


def test_items_hold_exactly_their_fraction():
    from weakly.methods.simulated import event_fractions

    rng = np.random.default_rng(1)
    onset = 5 + 10 * np.arange(20)
    known = Recording("k", 220.0, events=np.column_stack((onset, onset + rng.uniform(0.5, 2, 20))))
    items = place([known], design(30), lengths=[3.0, 2.5], rng=2)
    segments = items[["onset", "offset"]].to_numpy(float)
    assert len(items) == 30
    assert np.allclose(event_fractions(known.events, segments), items["event_fraction"], atol=1e-5)
    assert set(np.round(segments[:, 1] - segments[:, 0], 5)) == {3.0, 2.5}
    crowded = Recording("c", 12.0, events=np.array([[1.0, 2.0], [2.2, 3.0], [3.3, 11.0]]))
    few = place([crowded], design(30), lengths=[3.0], rng=2)  # only what can be had, and that is right
    assert 0 < len(few) < 30
    held = event_fractions(crowded.events, few[["onset", "offset"]].to_numpy(float))
    assert np.allclose(held, few["event_fraction"], atol=1e-5)
