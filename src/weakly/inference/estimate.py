r"""The rate of events and their law of lengths, from the answers of many recordings of one class.

Maximum likelihood over all recordings (empirical Bayes). The expected counts of the posterior (events by length and by
which end cuts them, empty steps: the E step of EM) give the exact gradient of the log-likelihood,
:math:`\partial \ell = E[\partial \log P(\text{timeline})]`, so a quasi-Newton search needs a dozen passes where EM
needs hundreds. Uncertainty is that of drawing other recordings: a bootstrap of their gradients through one Newton
step; with fewer than MANY recordings the curvature of the likelihood stands in.

A law of lengths that is left out is lognormal. So that the optimum exists when the answers say little, weak priors
pull: the logarithm of the rate towards one event per four times the middle length (half a typical segment) with a
spread of 2, that of the mean length towards the middle length with a spread of 1.5, that of the shape towards .6 with a
spread of .4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..lengths import Lengths
from ..parallel import in_order
from .posterior import Prepared
from .renewal import Array, Renewal

MANY = 20  # recordings from which on their differences tell the uncertainty
_SHAPE, _SHAPE_SPREAD, _MEAN_SPREAD, _RATE_SPREAD = 0.6, 0.4, 1.5, 2.0
_H = 1e-4
_FAR = 6.0  # no search beyond e^6 times the start


@dataclass(frozen=True)
class Pass:
    """What one pass over all patterns found: log-likelihood, expected counts, events and their seconds."""

    log_likelihood: Array
    empty: Array
    counts: list[Array]
    n_events: Array
    event_seconds: Array


def _chunk(patterns: Sequence[Prepared], renewal: Renewal) -> list[tuple[float, float, Array, float, float]]:
    made = (pattern.posterior(renewal) for pattern in patterns)
    return [(p.log_likelihood, p.empty, p.counts, p.n_events, p.event_seconds) for p in made]


def run_all(patterns: Sequence[Prepared], renewal: Renewal, *, executor: Executor | None = None) -> Pass:
    """One pass over all patterns of answers."""
    size = max(1, min(32, len(patterns)))
    chunks = [(patterns[k : k + size], renewal) for k in range(0, len(patterns), size)]
    found = [row for part in in_order(_chunk, chunks, executor=executor) for row in part]
    log_likelihood, empty, counts, n_events, seconds = zip(*found)
    return Pass(np.array(log_likelihood), np.array(empty), list(counts), np.array(n_events), np.array(seconds))


@dataclass(frozen=True)
class Family:
    """Processes of events by a vector of parameters: log rate while nothing is under way, then log mean and log shape.

    A law of lengths that is given leaves the rate alone.
    """

    step: float
    longest: int
    lengths: Lengths | None
    middle: float  # seconds, where a law that is left out is looked for

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        return ("hazard",) if self.lengths is not None else ("hazard", "mean", "shape")

    def renewal(self, theta: Array) -> Renewal:
        """The process at these parameters."""
        return Renewal.from_hazard(self.law(theta), hazard=math.exp(theta[0]), step=self.step, longest=self.longest)

    def law(self, theta: Array) -> Lengths:
        """The law of lengths at these parameters."""
        if self.lengths is not None:
            return self.lengths
        from scipy.stats import lognorm

        shape = math.exp(theta[2])
        return Lengths.law(lognorm(shape, scale=math.exp(theta[1] - shape**2 / 2)))

    @property
    def pulls(self) -> Array:
        """Middle and spread of the weak prior of each parameter."""
        pulls = [(math.log(0.25 / self.middle), _RATE_SPREAD)]
        if self.lengths is None:
            pulls += [(math.log(self.middle), _MEAN_SPREAD), (math.log(_SHAPE), _SHAPE_SPREAD)]
        return np.array(pulls)

    def prior(self, theta: Array) -> tuple[float, Array]:
        """The logarithm of the weak prior, and its gradient."""
        middles, spreads = self.pulls.T
        away = (theta - middles) / spreads
        return -float(away @ away) / 2, -away / spreads

    def scores(self, theta: Array, found: Pass, patterns: Sequence[Prepared]) -> Array:
        """The gradient of each pattern's log-likelihood."""
        scores = np.zeros((len(patterns), len(theta)))
        for k in range(len(theta)):
            move = np.zeros(len(theta))
            move[k] = _H
            up, down = self.renewal(theta + move), self.renewal(theta - move)
            slopes: dict[int, Any] = {}
            for r, pattern in enumerate(patterns):
                n = pattern.grid.n
                if n not in slopes:
                    slopes[n] = _log_slopes(up, down, n)
                begin, off, weights = slopes[n]
                scores[r, k] = begin + off * found.empty[r] + float(np.sum(weights * found.counts[r]))
        return scores


def _log_slopes(up: Renewal, down: Renewal, n: int) -> tuple[float, float, Array]:
    """Differences of the logarithms of all weights of a recording of n steps."""
    a, b = up.chain(n), down.chain(n)
    logs = []
    for chain in (a, b):
        table = np.stack((chain.inner, chain.first, chain.last))
        if n < table.shape[1]:
            table[1, n] = chain.whole
        logs.append(np.log(np.maximum(table, 1e-300)))
    weights = (logs[0] - logs[1]) / (2 * _H)
    weights[:, 0] = 0
    return (math.log(a.begin) - math.log(b.begin)) / (2 * _H), (math.log(a.off) - math.log(b.off)) / (2 * _H), weights


@dataclass(frozen=True)
class Fit:
    """The estimate: parameters, the process, what the last pass found, and how all of it moves with the parameters."""

    family: Family
    theta: Array
    renewal: Renewal
    found: Pass
    moves: Array  # (draws, parameters): errors that other recordings would make
    events_slope: Array  # (patterns, parameters)
    seconds_slope: Array

    def interval(self, function: Any, *, level: float = 0.95) -> tuple[float, float]:
        """The interval of a positive function of the process, from its slope in the logarithm."""
        centre = math.log(function(self.renewal))
        slope = np.zeros(len(self.theta))
        for k in range(len(self.theta)):
            move = np.zeros(len(self.theta))
            move[k] = 1e-3
            ends = [math.log(function(self.family.renewal(self.theta + sign * move))) for sign in (1, -1)]
            slope[k] = (ends[0] - ends[1]) / 2e-3
        low, high = np.quantile(centre + self.moves @ slope, [(1 - level) / 2, (1 + level) / 2])
        return math.exp(low), math.exp(high)


def fit(
    patterns: Sequence[Prepared],
    times: Array,
    family: Family,
    *,
    start: float,
    draws: int,
    rng: np.random.Generator,
    executor: Executor | None = None,
) -> Fit:
    """The process under which the answers are most likely; ``times`` tells how many recordings share each pattern."""
    from scipy.optimize import minimize

    begin = np.array([math.log(start), math.log(family.middle), math.log(_SHAPE)])[: len(family.names)]
    last: dict[bytes, Pass] = {}

    def objective(theta: Array) -> tuple[float, Array]:
        found = run_all(patterns, family.renewal(theta), executor=executor)
        last.clear()
        last[theta.tobytes()] = found
        value, slope = family.prior(theta)
        total = float(times @ found.log_likelihood) + value
        gradient = times @ family.scores(theta, found, patterns) + slope
        return -total / times.sum(), -gradient / times.sum()

    bounds = [(b - _FAR, b + _FAR) for b in begin]
    if len(begin) == 3:
        bounds[2] = (math.log(0.1), math.log(2.0))
        bounds[1] = (bounds[1][0], math.log(family.longest * family.step / 2))
    best = minimize(
        objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60, "ftol": 1e-10}
    )
    theta = np.asarray(best.x, dtype=np.float64)
    renewal = family.renewal(theta)
    found = last.get(theta.tobytes()) or run_all(patterns, renewal, executor=executor)
    scores = family.scores(theta, found, patterns)
    curvature = np.zeros((len(theta), len(theta)))
    events_slope, seconds_slope = np.zeros_like(scores), np.zeros_like(scores)
    for k in range(len(theta)):
        move = np.zeros(len(theta))
        move[k] = 0.02
        sides = [run_all(patterns, family.renewal(theta + sign * move), executor=executor) for sign in (1, -1)]
        gradients = [
            times @ family.scores(theta + sign * move, side, patterns) + family.prior(theta + sign * move)[1]
            for sign, side in zip((1, -1), sides)
        ]
        curvature[k] = -(gradients[0] - gradients[1]) / 0.04
        events_slope[:, k] = (sides[0].n_events - sides[1].n_events) / 0.04
        seconds_slope[:, k] = (sides[0].event_seconds - sides[1].event_seconds) / 0.04
    spreads = family.pulls[:, 1]
    moves = _moves((curvature + curvature.T) / 2, scores, times, spreads, draws=draws, rng=rng)
    return Fit(family, theta, renewal, found, moves, events_slope, seconds_slope)


def _moves(
    curvature: Array, scores: Array, times: Array, spreads: Array, *, draws: int, rng: np.random.Generator
) -> Array:
    """Errors of the estimate: recordings (and the weak prior) drawn again through one Newton step, or the curvature."""
    values, vectors = np.linalg.eigh(curvature)
    inverse = (vectors / np.maximum(values, 1e-3)) @ vectors.T
    many = int(times.sum())
    if many < MANY:
        return np.asarray(rng.multivariate_normal(np.zeros(len(curvature)), inverse, draws), dtype=np.float64)
    again = (rng.multinomial(many, times / many, size=draws) - times) @ scores * math.sqrt(many / (many - 1))
    again += rng.normal(size=again.shape) / spreads
    return np.asarray(again @ inverse, dtype=np.float64)


def choose_step(segments: Array, lengths: Lengths | None, seconds: float | None) -> float:
    """A round step in seconds that resolves the shortest of segment, event and rule; below it nothing changes much."""
    shortest = float((segments[:, 1] - segments[:, 0]).min())
    wanted = shortest / 10 if lengths is None else min(shortest / 5, float(lengths.quantile(0.5)) / 8)
    if seconds is not None:
        wanted = min(wanted, seconds / 2)
    if not wanted > 0:
        raise InvalidInput("step must be given: the segments, events or rules are too short to choose one")
    power = 10.0 ** math.floor(math.log10(wanted))
    return max(f * power for f in (1.0, 2.0, 2.5, 5.0) if f * power <= wanted * (1 + 1e-9))
