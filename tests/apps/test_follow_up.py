"""What a campaign learns of whoever answers, stretch by stretch."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta

from weakly.apps.label.follow_up import BeliefSummary
from weakly.posterior.particle_kernels import NAMES


def belief(*values, variance, mean):
    """A stretch whose particles are these, in every number, and what was expected of it."""
    expected = SimpleNamespace(covariance=variance * np.eye(len(NAMES)), mean=np.full(len(NAMES), mean))
    known = SimpleNamespace(numbers=np.tile(values, (len(NAMES), 1)).T, expected=expected)
    counts = np.array([[9.0], [30.0], [0.0], [50.0]])  # lapses, satisfied segments, guesses, others
    return SimpleNamespace(known=known, slips=np.repeat(counts, 2000, axis=1))


def test_only_stretches_that_tell_more_than_was_expected_count():
    """Three stretches: answers narrow the belief of one, widen that of another, and only move the third."""
    narrows = belief(0.5, 1.5, variance=1.0, mean=0.0)  # variance .25
    widens = belief(-3.0, 5.0, variance=1.0, mean=0.0)  # variance 16
    moves = belief(-1.0, 3.0, variance=4.0, mean=0.0)  # variance 4
    prior = SimpleNamespace(covariance=2.0 * np.eye(len(NAMES)), mean=np.full(len(NAMES), -1.0))
    summary = BeliefSummary.__new__(BeliefSummary)
    summary._method = SimpleNamespace(base_prior=prior)
    summary._look = lambda _: dict(enumerate((narrows, widens, moves)))
    found = summary.hears(SimpleNamespace(items={}))
    precision = 1 / 2 + (4 - 1)
    middle = (-1 / 2 + 4 * 1.0) / precision
    ends = middle + np.array([0, -1.96, 1.96]) / np.sqrt(precision)
    assert [found[f"presence_criterion{end}"] for end in ("", "_low", "_high")] == pytest.approx(expit(ends))
    for name, law in {"lapse_rate": beta(1 + 27, 5 + 63), "guess_rate": beta(1, 5 + 150)}.items():  # of all three
        assert found[name] == pytest.approx(law.mean(), rel=0.1)
        assert found[f"{name}_low"] == pytest.approx(law.ppf(0.025), rel=0.1, abs=3e-4)
        assert found[f"{name}_high"] == pytest.approx(law.ppf(0.975), rel=0.1)
    assert found["spread"] == pytest.approx(np.exp(middle))
    assert found["n_items"] == 0
