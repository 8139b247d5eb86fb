"""Recordings so dense that events merge: the exact optimum of the Boolean model, for M = 10, 30 and 50."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..theory import optimal_segment_length
from ..theory.dense import Dense, dense_recordings
from .estimators import peak
from .scenarios import RECORDING_LENGTH

EVENT_LENGTH = 1.0


@dataclass(frozen=True)
class DenseOptimum:
    """For every criterion the best segment length of a dense recording, and what it and the rule d_q* give."""

    segment_length: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    event_recall: NDArray[np.float64]
    rule_accuracy: NDArray[np.float64]


def dense_model(*, n_events: int, segment_length: ArrayLike, presence_criterion: ArrayLike) -> Dense:
    """The Boolean model at the density of n uniformly placed 1 s events in a recording of the paper."""
    return dense_recordings(
        event_length=EVENT_LENGTH,
        event_rate=n_events / (RECORDING_LENGTH - EVENT_LENGTH),
        segment_length=segment_length,
        presence_criterion=presence_criterion,
    )


def dense_optimum(*, n_events: int, criteria: ArrayLike) -> DenseOptimum:
    """The exact optimum for each presence criterion; at these densities it lies within a few d_q*."""
    g = np.atleast_1d(np.asarray(criteria, dtype=np.float64))
    rule: Any = optimal_segment_length(event_length=EVENT_LENGTH, presence_criterion=g)
    steps = np.geomspace(0.7, 5.0, 66)
    best = np.empty_like(g)
    for k, (criterion, length) in enumerate(zip(g, rule)):
        grid = length * steps
        found = dense_model(n_events=n_events, segment_length=grid, presence_criterion=criterion)
        smooth = peak(grid, np.asarray(found.overlap_accuracy)[:, None])[0]
        bends = criterion * EVENT_LENGTH * np.arange(1, 7)  # where one more whole event fits, the accuracy has a kink
        tried = np.concatenate((smooth, bends))
        again = dense_model(n_events=n_events, segment_length=tried, presence_criterion=criterion)
        best[k] = tried[int(np.argmax(again.overlap_accuracy))]
    at_best = dense_model(n_events=n_events, segment_length=best, presence_criterion=g)
    at_rule = dense_model(n_events=n_events, segment_length=rule, presence_criterion=g)
    return DenseOptimum(
        best,
        np.atleast_1d(at_best.overlap_accuracy),
        np.atleast_1d(at_best.event_recall),
        np.atleast_1d(at_rule.overlap_accuracy),
    )
