"""Calibration: the design tells the criterion best, and its items hold what they say."""

import numpy as np
import pytest

from weakly.base.errors import InvalidInput
from weakly.methods.base import Recording
from weakly.model.annotator import Annotator
from weakly.studies.queries.calibration import design, information, place


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
    from weakly.methods.base import event_fractions

    rng = np.random.default_rng(1)
    onset = 5 + 10 * np.arange(20)
    known = Recording("k", 220.0, events=np.column_stack((onset, onset + rng.uniform(0.5, 2, 20))))
    items = place([known], design(30).event_fractions, lengths=[3.0, 2.5], rng=2)
    segments = items[["onset", "offset"]].to_numpy(float)
    assert len(items) == 30
    assert np.allclose(event_fractions(known.events, segments), items["event_fraction"], atol=1e-5)
    assert set(np.round(segments[:, 1] - segments[:, 0], 5)) == {3.0, 2.5}
    crowded = Recording("c", 12.0, events=np.array([[1.0, 2.0], [2.2, 3.0], [3.3, 11.0]]))
    few = place([crowded], design(30).event_fractions, lengths=[3.0], rng=2)  # only what can be had, and that is right
    assert 0 < len(few) < 30
    held = event_fractions(crowded.events, few[["onset", "offset"]].to_numpy(float))
    assert np.allclose(held, few["event_fraction"], atol=1e-5)
