"""How much recordings differ in the lengths of their events, against an analysis of variance by SciPy."""

import numpy as np
import pytest
from scipy.stats import f_oneway

from weakly.model.intervals import EventArrays
from weakly.posterior.renewal import length_variation


def lines(groups):
    """Events of these lengths, recording by recording, a second apart."""
    onsets = [np.cumsum([0.0, *(length + 1 for length in each[:-1])]) if each else np.zeros(0) for each in groups]
    bounds = [np.column_stack([a, a + each]) for a, each in zip(onsets, groups)]
    starts = np.cumsum([0, *map(len, groups)])
    return EventArrays(np.concatenate(bounds), starts, np.full(len(groups), 1000.0))


def test_the_variation_between_recordings_is_that_of_an_analysis_of_variance():
    """Recordings of one to nine events, so that the mean of events is not that of recordings; one holds none."""
    groups = [[1.0, 1.2, 0.9], [], [2.0, 2.4], [3.1, 2.7, 3.3, 2.9, 3.0, 3.2, 2.8, 3.4, 2.6], [1.5]]
    heard = [each for each in groups if each]
    flat, n = np.concatenate(heard), np.array([len(each) for each in heard])
    within = sum(((np.array(each) - np.mean(each)) ** 2).sum() for each in heard) / (len(flat) - len(heard))
    usual = (n.sum() - (n**2).sum() / n.sum()) / (len(heard) - 1)
    expected = np.sqrt((f_oneway(*heard).statistic - 1) * within / usual) / flat.mean()
    assert length_variation(lines(groups)) == pytest.approx(expected, rel=1e-9)
    assert expected > 0.3


def test_one_law_or_too_few_recordings_vary_by_nothing():
    assert length_variation(lines([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])) == 0
    assert length_variation(lines([[1.0, 1.0], [9.0, 9.0], [5.0]])) == 0
