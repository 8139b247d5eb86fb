r"""The rate of events and their law of lengths, from the answers of many recordings of one class.

Maximum likelihood over all recordings (empirical Bayes). The expected counts of the posterior (events by length and by
which end cuts them, empty steps: the E step of EM) give the exact gradient of the log-likelihood,
:math:`\partial \ell = E[\partial \log P(\text{timeline})]`, so a quasi-Newton search needs a dozen passes where EM
needs hundreds. Uncertainty is that of drawing other recordings: a bootstrap of their gradients through one Newton
step; with fewer than MANY recordings the curvature of the likelihood stands in.

**Recordings may differ in their rate.** If one rate served all, the squares of their gradients would add up to the
curvature (the information equality); where they add up to clearly more, the rate of a recording follows a gamma law
instead, whose mean and coefficient of variation are estimated: the likelihood of every recording at each of some twenty
fixed rates is worked out once, and the law of rates weighs them.

A law of lengths that is left out is lognormal. So that the optimum exists when the answers say little, weak priors
pull: the logarithm of the rate towards one event per four times the middle length (half a typical segment) with a
spread of 2, that of the mean length towards the middle length with a spread of 1.5, that of the shape towards .6 with a
spread of .4, that of the variation of rates towards .7 with a spread of 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.errors import InvalidInput
from ..base.parallel import in_order
from ..model.lengths import Lengths
from .chain import Prepared
from .renewal import Array, Mixed, Renewal

MANY = 20  # recordings from which on their differences tell the uncertainty, and whether their rates differ
_SHAPE, _SHAPE_SPREAD, _MEAN_SPREAD, _RATE_SPREAD = 0.6, 0.4, 1.5, 2.0
_VARIES, _VARIES_SPREAD, _VARIES_BOUNDS = 0.7, 1.0, (0.3, 8.0)
_H = 1e-4
_FAR = 6.0  # no search beyond e^6 times the start
_BUSY = 3.0  # events that start per free step, at most: of a class that is always there nothing tells the gaps
_DIFFER = 1.64  # standard errors of the excess from which on rates differ

Slopes = dict[int, list[tuple[float, float, Array]]]  # by steps of a recording: for each parameter begin, off, events


@dataclass(frozen=True)
class Pass:
    """What one pass over all patterns found: log-likelihood, events and their seconds, gradient."""

    log_likelihood: Array
    n_events: Array
    event_seconds: Array
    scores: Array  # (patterns, parameters)


def _chunk(patterns: Sequence[Prepared], renewal: Renewal | Mixed, slopes: Slopes) -> list[tuple[Any, ...]]:
    found = []
    for pattern in patterns:
        made = pattern.posterior(renewal)
        moves = [
            begin + off * made.empty + float(np.sum(weights * made.counts))
            for begin, off, weights in slopes.get(pattern.grid.n, ())
        ]
        found.append((made.log_likelihood, made.n_events, made.event_seconds, moves))
    return found


def run_all(
    patterns: Sequence[Prepared],
    renewal: Renewal | Mixed,
    *,
    slopes: Slopes | None = None,
    executor: Executor | None = None,
) -> Pass:
    """One pass over all patterns of answers."""
    size = max(1, min(32, len(patterns)))
    chunks = [(patterns[k : k + size], renewal, slopes or {}) for k in range(0, len(patterns), size)]
    found = [row for part in in_order(_chunk, chunks, executor=executor) for row in part]
    log_likelihood, n_events, seconds, scores = (np.array(column, dtype=np.float64) for column in zip(*found))
    return Pass(log_likelihood, n_events, seconds, scores)


@dataclass(frozen=True)
class Family:
    """Processes of events by a vector of parameters: log rate while nothing is under way, then log mean and log shape
    of the law of lengths unless it is given, then, where recordings differ, the log variation of their rates.
    """

    step: float
    longest: int
    lengths: Lengths | None
    middle: float  # seconds, where a law that is left out is looked for
    hazards: Array | None = None  # the rates that recordings may have, where they differ

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        law = () if self.lengths is not None else ("mean", "shape")
        return ("hazard", *law, *(() if self.hazards is None else ("varies",)))

    @property
    def one(self) -> Family:
        """The same with one rate for all recordings."""
        return replace(self, hazards=None)

    def renewal(self, theta: Array) -> Renewal | Mixed:
        """The process at these parameters, or several."""
        rates = [math.exp(theta[0])] if self.hazards is None else self.hazards.tolist()
        law = self.law(theta)
        made = [Renewal.from_hazard(law, hazard=rate, step=self.step, longest=self.longest) for rate in rates]
        return made[0] if self.hazards is None else Mixed(tuple(made), np.exp(self.log_weights(theta)))

    def law(self, theta: Array) -> Lengths:
        """The law of lengths at these parameters."""
        if self.lengths is not None:
            return self.lengths
        from scipy.stats import lognorm

        shape = math.exp(theta[2])
        return Lengths.law(lognorm(shape, scale=math.exp(theta[1] - shape**2 / 2)))

    def log_weights(self, theta: Array) -> Array:
        """The logarithms of the chances of the rates: a gamma law in cells around them."""
        from scipy.special import gammainc

        assert self.hazards is not None
        shape = math.exp(-2 * theta[-1])
        ends = np.concatenate(([0.0], np.sqrt(self.hazards[1:] * self.hazards[:-1]), [np.inf]))
        shares = np.diff(gammainc(shape, ends * shape / math.exp(theta[0])))
        return np.asarray(np.log(np.maximum(shares, 1e-300) / np.maximum(shares, 1e-300).sum()), dtype=np.float64)

    @property
    def pulls(self) -> Array:
        """Middle and spread of the weak prior of each parameter."""
        pulls = {
            "hazard": (math.log(0.25 / self.middle), _RATE_SPREAD),
            "mean": (math.log(self.middle), _MEAN_SPREAD),
            "shape": (math.log(_SHAPE), _SHAPE_SPREAD),
            "varies": (math.log(_VARIES), _VARIES_SPREAD),
        }
        return np.array([pulls[name] for name in self.names])

    def prior(self, theta: Array) -> tuple[float, Array]:
        """The logarithm of the weak prior, and its gradient."""
        middles, spreads = self.pulls.T
        away = (theta - middles) / spreads
        return -float(away @ away) / 2, -away / spreads

    def slopes(self, theta: Array, patterns: Sequence[Prepared]) -> Slopes:
        """What an empty step and every event add to the gradient, for each number of steps of a recording."""
        ends = []
        for move in _H * np.eye(len(theta)):
            ends.append((self.renewal(theta + move), self.renewal(theta - move)))
        return {n: [_log_slopes(up, down, n) for up, down in ends] for n in {pattern.grid.n for pattern in patterns}}

    def search(self, patterns: Sequence[Prepared], executor: Executor | None) -> Callable[[Array], Pass]:
        """The pass at any parameters."""
        if self.hazards is not None:
            return _Rates(self, patterns, executor)
        return lambda theta: run_all(
            patterns, self.renewal(theta), slopes=self.slopes(theta, patterns), executor=executor
        )


class _Rates:
    """The pass at any law of rates; what the patterns say at each rate is kept as long as the law of lengths stays."""

    def __init__(self, family: Family, patterns: Sequence[Prepared], executor: Executor | None) -> None:
        self.family, self.patterns, self.executor = family, patterns, executor
        self.law: Array | None = None
        self.found: list[Pass] = []

    def __call__(self, theta: Array) -> Pass:
        family, law = self.family, theta[1:-1]
        assert family.hazards is not None
        if self.law is None or not np.array_equal(self.law, law):
            at = [np.append(math.log(rate), law) for rate in family.hazards]
            self.law, self.found = law.copy(), [family.one.search(self.patterns, self.executor)(one) for one in at]
        logs = np.stack([one.log_likelihood for one in self.found], axis=1) + family.log_weights(theta)
        top = logs.max(axis=1, keepdims=True)
        shares = np.exp(logs - top)
        total = shares.sum(axis=1, keepdims=True)
        shares /= total
        scores = np.zeros((len(logs), len(theta)))
        for k in (0, len(theta) - 1):
            move = np.zeros(len(theta))
            move[k] = _H
            scores[:, k] = shares @ (family.log_weights(theta + move) - family.log_weights(theta - move)) / (2 * _H)
        scores[:, 1:-1] = np.einsum("rq,qrp->rp", shares, np.stack([one.scores[:, 1:] for one in self.found]))
        n_events, seconds = (
            (shares * np.stack([getattr(one, name) for one in self.found], axis=1)).sum(axis=1)
            for name in ("n_events", "event_seconds")
        )
        return Pass((top + np.log(total))[:, 0], n_events, seconds, scores)


def _log_slopes(up: Any, down: Any, n: int) -> tuple[float, float, Array]:
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
class ProcessFit:
    """The estimate: parameters, the process, what the last pass found, and how all of it moves with the parameters."""

    family: Family
    theta: Array
    renewal: Renewal | Mixed
    found: Pass
    moves: Array  # (draws, parameters): errors that other recordings would make
    events_slope: Array  # (patterns, parameters)
    seconds_slope: Array
    score: float  # the penalised log-likelihood of all recordings
    excess: float  # of the squares of gradients over the curvature, in standard errors
    information: Array  # what each pattern tells about the logarithm of the rate

    def interval(self, function: Any, *, level: float = 0.95) -> tuple[float, float]:
        """The interval of a positive function of the process, from its slope in the logarithm."""
        centre = math.log(function(self.renewal))
        slope = np.zeros(len(self.theta))
        for k in range(len(self.theta)):
            move = np.zeros(len(self.theta))
            move[k] = 1e-3
            ends = [math.log(function(self.family.renewal(self.theta + sign * move))) for sign in (1, -1)]
            slope[k] = (ends[0] - ends[1]) / 2e-3
        low, high = np.quantile(centre + self.moves @ slope, [(1 - level) / 2, (1 + level) / 2], method="weibull")
        return math.exp(low), math.exp(high)


def fit(
    patterns: Sequence[Prepared],
    times: Array,
    family: Family,
    *,
    start: float | Array,
    draws: int,
    rng: np.random.Generator,
    executor: Executor | None = None,
) -> ProcessFit:
    """The process under which the answers are most likely; ``times`` tells how many recordings share each pattern.
    ``start`` is a rate, or the parameters of an earlier fit."""
    guess = [*np.log(np.atleast_1d(start)), math.log(family.middle), math.log(_SHAPE)] if np.ndim(start) == 0 else start
    begin = np.asarray(guess, dtype=np.float64)[: len(family.names)]
    made = _fit(patterns, times, family, begin, draws=draws, rng=rng, executor=executor)
    if times.sum() < MANY or not made.excess > _DIFFER:
        return made
    wide = replace(family, hazards=_hazards(patterns, made))
    begin = np.append(made.theta, math.log(_VARIES))
    other = _fit(patterns, times, wide, begin, draws=draws, rng=rng, executor=executor)
    return other if other.score > made.score + 1 else made


def _hazards(patterns: Sequence[Prepared], made: ProcessFit) -> Array:
    """Rates from next to none in the longest recording to 19 of 20 segments present, above which answers do not tell
    them apart, no further from each other than recordings tell."""
    rate, longest = math.exp(made.theta[0]), max(pattern.recording_length for pattern in patterns)
    low, high = min(0.01 / longest, rate / 50), max(2 * rate, 1.5 / made.family.middle)
    told = float(np.quantile(made.information, 0.9))
    gap = float(np.clip(1.2 / math.sqrt(max(told, 1e-9)), 0.25, 0.5)) if made.family.lengths is not None else 0.9
    return np.geomspace(low, high, int(np.clip(math.ceil(math.log(high / low) / gap) + 1, 8, 40)))


def _fit(
    patterns: Sequence[Prepared],
    times: Array,
    family: Family,
    begin: Array,
    *,
    draws: int,
    rng: np.random.Generator,
    executor: Executor | None,
) -> ProcessFit:
    from scipy.optimize import minimize

    look = family.search(patterns, executor)
    last: dict[bytes, Pass] = {}

    def objective(theta: Array) -> tuple[float, Array]:
        found = look(theta)
        last.clear()
        last[theta.tobytes()] = found
        value, slope = family.prior(theta)
        total = float(times @ found.log_likelihood) + value
        return -total / times.sum(), -(times @ found.scores + slope) / times.sum()

    limits: dict[str, tuple[float, float]] = {
        "mean": (begin[min(1, len(begin) - 1)] - _FAR, math.log(family.longest * family.step / 2)),
        "shape": (math.log(0.1), math.log(2.0)),
        "varies": (math.log(_VARIES_BOUNDS[0]), math.log(_VARIES_BOUNDS[1])),
    }
    limits["hazard"] = begin[0] - _FAR, min(begin[0] + _FAR, math.log(_BUSY / family.step))
    bounds = [limits[name] for name in family.names]
    best = minimize(
        objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60, "ftol": 1e-10}
    )
    theta = np.asarray(best.x, dtype=np.float64)
    found = last.get(theta.tobytes()) or look(theta)
    curvature = np.zeros((len(theta), len(theta)))
    events_slope, seconds_slope = np.zeros_like(found.scores), np.zeros_like(found.scores)
    information = np.zeros(len(times))
    for k, move in enumerate(0.02 * np.eye(len(theta))):
        up, down = look(theta + move), look(theta - move)
        pulled = family.prior(theta + move)[1] - family.prior(theta - move)[1]
        curvature[k] = -(times @ (up.scores - down.scores) + pulled) / 0.04
        events_slope[:, k] = (up.n_events - down.n_events) / 0.04
        seconds_slope[:, k] = (up.event_seconds - down.event_seconds) / 0.04
        if k == 0:
            information = -(up.scores[:, 0] - down.scores[:, 0]) / 0.04
    moves = _moves((curvature + curvature.T) / 2, found.scores, times, family.pulls[:, 1], draws=draws, rng=rng)
    over = found.scores[:, 0] ** 2 - information
    return ProcessFit(
        family,
        theta,
        family.renewal(theta),
        found,
        moves,
        events_slope,
        seconds_slope,
        score=-float(best.fun) * float(times.sum()),
        excess=float(times @ over) / max(math.sqrt(float(times @ over**2)), 1e-12),
        information=information,
    )


def _moves(
    curvature: Array, scores: Array, times: Array, spreads: Array, *, draws: int, rng: np.random.Generator
) -> Array:
    """Errors of the estimate: recordings (and the weak prior) drawn again through one Newton step, or the curvature."""
    from scipy.stats import norm
    from scipy.stats import t as student

    values, vectors = np.linalg.eigh(curvature)
    # at a limit of the search the likelihood may bend upwards: nothing is less certain than before the answers
    inverse = (vectors / np.maximum(values, float(spreads.max()) ** -2)) @ vectors.T
    many = int(times.sum())
    if many < MANY:
        return np.asarray(rng.multivariate_normal(np.zeros(len(curvature)), inverse, draws), dtype=np.float64)
    # Few recordings scatter less around their own estimate than around the truth: Student's law widens by as much.
    free = many - len(curvature)
    wider = math.sqrt(many / free) * float(student.ppf(0.975, free) / norm.ppf(0.975))
    again = (rng.multinomial(many, times / many, size=draws) - times) @ scores * wider
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
