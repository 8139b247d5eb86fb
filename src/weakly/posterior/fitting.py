r"""The process of events from the answers of many recordings of one class: gaps, bouts and the law of lengths.

Gaps are of one kind (*plain*) or of two (*bouts*, with 1, 3 or 8 stages; :mod:`.renewal`); each is a :class:`Family`
of processes with a prior. The expected counts of the posterior (events by length, empty steps and starts by kind of
gap: the E step of EM) give the exact gradient of the log-likelihood,
:math:`\partial \ell = E[\partial \log P(\text{timeline})]`, so a quasi-Newton search finds the mode in a dozen passes
(:func:`fit`). What is uncertain is then integrated over: nodes are drawn around the mode by a law of Student's and
weighed by likelihood and prior (:func:`explore`), which also gives the evidence of each family; some of a family's
nodes (:meth:`Explored.strata`) stand for it in the end.

**Priors.** The logarithm of the (long) gap is wide around four middle lengths (half a typical segment), with a spread
of 3; that of the short gap is around 1.5 mean lengths with a spread of 1.2; the share of short gaps is uniform; long
gaps are at least twice as long as short ones; every number of stages is as likely. A law of lengths that is left out is
lognormal: its log mean around the middle length with a spread of 1.5, its log shape around .6 with a spread of .4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import InvalidInput
from ..base.parallel import in_order
from ..model.lengths import Lengths
from .chain import Prepared
from .renewal import Array, Bouts, Renewal

#: Stages of short gaps that are tried.
STAGES = (1, 3, 8)
_GAP_SPREAD, _SHORT, _SHORT_SPREAD = 3.0, 1.5, 1.2
_SHAPE, _SHAPE_SPREAD, _MEAN_SPREAD = 0.6, 0.4, 1.5
_APART = 2.0  # long gaps over short ones, at least
_H = 1e-4
_FAR = 8.0  # no search beyond e^8 times the start
_BUSY = 0.05  # steps of a gap, at least: of a class that is always there nothing tells the gaps
_FREE, _WIDER = 5, 1.2  # of the law that nodes are drawn from: degrees of freedom, and how much wider than the mode's
_ROUNDS, _ENOUGH = 4, 0.3  # of nodes, and their effective share that is enough

#: By steps of a recording, for each parameter: slopes of the logarithms of moves and of events.
Slopes = dict[int, list[tuple[Array, Array]]]


def _chunk(patterns: Sequence[Prepared], renewal: Renewal, slopes: Slopes | None) -> list[tuple[float, list[float]]]:
    found: list[tuple[float, list[float]]] = []
    for pattern in patterns:
        if slopes is None:
            found.append((pattern.log_likelihood(renewal), []))
            continue
        made = pattern.posterior(renewal)
        scores = [float((moves * made.moves).sum() + (events * made.counts).sum())
                  for moves, events in slopes[pattern.grid.n]]  # fmt: skip
        found.append((made.log_likelihood, scores))
    return found


def run_all(
    patterns: Sequence[Prepared], renewal: Renewal, *, slopes: Slopes | None = None, executor: Executor | None = None
) -> tuple[Array, Array]:
    """One pass over all patterns of answers: log-likelihoods and, given slopes, gradients (patterns, parameters)."""
    size = max(1, min(32, len(patterns)))
    chunks = [(patterns[k : k + size], renewal, slopes) for k in range(0, len(patterns), size)]
    found = [row for part in in_order(_chunk, chunks, executor=executor) for row in part]
    log_likelihood, scores = zip(*found)
    return np.array(log_likelihood, dtype=np.float64), np.array(scores, dtype=np.float64)


@dataclass(frozen=True)
class Lognormal:
    """A lognormal law by mean and shape, with what a process asks of :class:`Lengths`: to make one of those takes as
    long as a pass over some recordings, and a search makes thousands."""

    mean: float
    shape: float
    values = weights = None
    is_sample = False
    longest = math.inf

    @property
    def _scale(self) -> float:
        return math.log(self.mean) - self.shape**2 / 2

    def quantile(self, q: float) -> float:
        """The length that a share q does not exceed."""
        from scipy.special import ndtri

        return math.exp(self._scale + self.shape * float(ndtri(q)))

    def partial_moments(self, x: Array) -> tuple[Array, Array, Array]:
        """Share, and first and second moment, of the lengths up to x."""
        from scipy.special import ndtr

        with np.errstate(divide="ignore"):
            z = (np.log(x) - self._scale) / self.shape
        square = self.mean**2 * math.exp(self.shape**2)
        return ndtr(z), self.mean * ndtr(z - self.shape), square * ndtr(z - 2 * self.shape)


@dataclass(frozen=True)
class Family:
    """Processes of events by a vector of parameters: the logarithm of the (long) gap in seconds; in bouts, that of the
    short gap and the log odds of its share; log mean and log shape of the law of lengths unless it is given.

    In bouts the first is that of the long gap beyond twice the short one.
    """

    step: float
    longest: int
    lengths: Lengths | None
    middle: float  # seconds, where a law that is left out is looked for
    stages: int = 0  # of short gaps; none: gaps of one kind

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        law = () if self.lengths is not None else ("mean", "shape")
        return ("gap", *(("short", "share") if self.stages else ()), *law)

    def renewal(self, theta: Array) -> Renewal:
        """The process at these parameters."""
        gap, bouts = math.exp(theta[0]), None
        if self.stages:
            short = math.exp(theta[1])
            gap, bouts = gap + _APART * short, Bouts(1 / (1 + math.exp(-theta[2])), short, self.stages)
        return Renewal.from_gaps(self.law(theta), gap=gap, step=self.step, longest=self.longest, bouts=bouts)

    def with_rate(self, event_rate: float) -> Renewal:
        """The process with gaps of one kind, this rate and the law that was given."""
        assert self.lengths is not None
        return Renewal(self.lengths, event_rate, self.step, longest=self.longest)

    def law(self, theta: Array) -> Lengths:
        """The law of lengths at these parameters."""
        if self.lengths is not None:
            return self.lengths
        made: Any = Lognormal(math.exp(theta[-2]), math.exp(theta[-1]))
        return made  # type: ignore[no-any-return]

    def mean_length(self, theta: Array) -> float:
        """The mean length in seconds."""
        return self.lengths.mean if self.lengths is not None else math.exp(theta[-2])

    def log_prior(self, theta: Array, *, short: float = _SHORT) -> float:
        """The logarithm of the prior; ``short``: the middle of short gaps in mean lengths."""
        gap, value = theta[0], 0.0
        if self.stages:
            far, share = float(np.logaddexp(theta[0], theta[1] + math.log(_APART))), theta[2]
            value += theta[0] - far - float(np.logaddexp(0.0, share) + np.logaddexp(0.0, -share))
            value += _normal(theta[1], math.log(short * self.mean_length(theta)), _SHORT_SPREAD)
            gap = far
        value += _normal(gap, math.log(4 * self.middle), _GAP_SPREAD)
        if self.lengths is None:
            value += _normal(theta[-2], math.log(self.middle), _MEAN_SPREAD)
            value += _normal(theta[-1], math.log(_SHAPE), _SHAPE_SPREAD)
        return float(value)

    @property
    def spreads(self) -> Array:
        """About the spread of each parameter before the answers."""
        spreads = {
            "gap": _GAP_SPREAD,
            "short": _SHORT_SPREAD,
            "share": 1.8,
            "mean": _MEAN_SPREAD,
            "shape": _SHAPE_SPREAD,
        }
        return np.array([spreads[name] for name in self.names])

    def start(self, plain: Array | None) -> Array:
        """Where the search begins: at a typical process, or near the mode of gaps of one kind."""
        law = [] if self.lengths is not None else [math.log(self.middle), math.log(_SHAPE)]
        if plain is None:
            return np.array([math.log(4 * self.middle), *law])
        if not self.stages:
            return plain
        law = plain[1:].tolist()
        short = math.log(_SHORT * self.mean_length(plain))
        return np.array([max(plain[0], short), short, 0.0, *law])

    def bounds(self, begin: Array) -> list[tuple[float, float]]:
        """Within which the search stays."""
        least = math.log(_BUSY * self.step)
        limits = {
            "gap": (max(begin[0] - _FAR, least), begin[0] + _FAR),
            "short": (least, math.log(_SHORT * self.mean_length(begin)) + 4 * _SHORT_SPREAD),
            "share": (-7.0, 7.0),
            "mean": (begin[-2 if len(begin) > 1 else 0] - _FAR, math.log(self.longest * self.step / 2)),
            "shape": (math.log(0.1), math.log(2.0)),
        }
        return [limits[name] for name in self.names]

    def slopes(self, theta: Array, patterns: Sequence[Prepared]) -> Slopes:
        """What an empty step, a start and every event add to the gradient, for each number of steps of a recording."""
        ends = [(self.renewal(theta + move), self.renewal(theta - move)) for move in _H * np.eye(len(theta))]
        return {n: [_log_slopes(up, down, n) for up, down in ends] for n in {pattern.grid.n for pattern in patterns}}


def _normal(x: float, middle: float, spread: float) -> float:
    return -0.5 * ((x - middle) / spread) ** 2 - math.log(spread * math.sqrt(2 * math.pi))


def _log_slopes(up: Renewal, down: Renewal, n: int) -> tuple[Array, Array]:
    """Differences of the logarithms of all weights of a recording of n steps."""
    logs = []
    for chain in (up.chain(n), down.chain(n)):
        events = np.stack((chain.inner, chain.ends))
        if n < events.shape[1]:
            events[1, n] = chain.whole
        moves = np.column_stack((chain.go, chain.begin))
        logs.append([np.log(np.maximum(table, 1e-300)) for table in (moves, events)])
    return (logs[0][0] - logs[1][0]) / (2 * _H), (logs[0][1] - logs[1][1]) / (2 * _H)


@dataclass(frozen=True)
class Mode:
    """The likeliest process of a family: parameters, log-likelihood, and that with the logarithm of the prior."""

    family: Family
    theta: Array
    log_likelihood: float
    score: float

    @property
    def renewal(self) -> Renewal:
        """The process."""
        return self.family.renewal(self.theta)


def fit(
    patterns: Sequence[Prepared],
    times: Array,
    family: Family,
    *,
    start: Array | None = None,
    executor: Executor | None = None,
) -> Mode:
    """The likeliest process; ``times`` tells how many recordings share each pattern."""
    from scipy.optimize import minimize

    begin = family.start(None) if start is None else start
    bounds = family.bounds(begin)
    scale = float(times.sum())

    def objective(theta: Array) -> tuple[float, Array]:
        logs, scores = run_all(
            patterns, family.renewal(theta), slopes=family.slopes(theta, patterns), executor=executor
        )
        slope = np.array([family.log_prior(theta + h) - family.log_prior(theta - h) for h in _H * np.eye(len(theta))])
        total = float(times @ logs) + family.log_prior(theta)
        return -total / scale, -(times @ scores + slope / (2 * _H)) / scale

    options: Any = {"maxiter": 60, "ftol": 1e-9}
    low, high = np.transpose(bounds)
    first: Any = np.clip(begin, low, high)
    best = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    theta, score = np.asarray(best.x, dtype=np.float64), -float(best.fun) * scale
    return Mode(family, theta, score - family.log_prior(theta), score)


@dataclass(frozen=True)
class Explored:
    """A family after the answers: nodes, how likely each is, and the logarithm of the family's evidence."""

    mode: Mode
    nodes: Array
    weights: Array
    log_evidence: float

    def strata(self, many: int) -> tuple[Array, Array]:
        """Nodes that stand for shares in the order of the event rate, and the shares, small ones at both ends."""
        rates = [self.mode.family.renewal(theta).event_rate for theta in self.nodes]
        order = np.argsort(rates, kind="stable")
        summed = np.cumsum(self.weights[order])
        ends = np.sin(np.linspace(0.0, np.pi / 2, many + 1)) ** 2
        return self.nodes[order[np.searchsorted(summed, (ends[1:] + ends[:-1]) / 2 * summed[-1])]], np.diff(ends)

    def quantiles(self, function: Any) -> Array:
        """The 2.5 %, 50 % and 97.5 % quantiles of a function of the process."""
        values = np.array([function(self.mode.family.renewal(theta)) for theta in self.nodes])
        order = np.argsort(values, kind="stable")
        summed = np.cumsum(self.weights[order])
        return np.asarray(values[order[np.searchsorted(summed, np.array([0.025, 0.5, 0.975]) * summed[-1])]])


def explore(
    patterns: Sequence[Prepared],
    times: Array,
    mode: Mode,
    *,
    nodes: int,
    rng: np.random.Generator,
    executor: Executor | None = None,
    near: Explored | None = None,
) -> Explored:
    """The posterior of a family by importance sampling from laws of Student's around its mode, with low-discrepancy
    points; where few nodes carry the weight, the law is fitted to them and more are drawn. ``near``: a family with the
    same parameters, whose nodes tell where to begin."""
    from scipy.stats import chi2 as chi_squared
    from scipy.stats import multivariate_t, norm, qmc

    family, d = mode.family, len(mode.theta)
    if near is None:
        centre, cover = mode.theta, _covariance(patterns, times, mode, executor)
    else:
        centre, cover = _moments(near.nodes, near.weights)
    laws: list[Any] = []
    thetas, values = np.empty((0, d)), np.empty(0)
    for _ in range(_ROUNDS):
        law = multivariate_t(centre, cover * _WIDER**2, df=_FREE, allow_singular=True)
        points = qmc.Sobol(d + 1, seed=rng).random(nodes)
        points = np.clip(points, 1e-9, 1 - 1e-9)
        scale = np.sqrt(_FREE / chi_squared.ppf(points[:, -1], _FREE))
        drawn = centre + (norm.ppf(points[:, :-1]) * scale[:, None]) @ np.linalg.cholesky(cover).T * _WIDER
        laws.append(law)
        thetas = np.concatenate((thetas, drawn))
        values = np.concatenate((values, _log_posterior(patterns, times, family, drawn, executor)))
        density = np.mean([each.pdf(thetas) for each in laws], axis=0)
        logs = values - np.log(np.maximum(density, 1e-300))
        weights = np.exp(logs - logs.max())
        share = weights / weights.sum()
        if 1 / float(share @ share) >= _ENOUGH * nodes:
            break
        flat = share**0.5  # broader than the weights: few of them carry all
        centre, cover = _moments(thetas, flat / flat.sum())
    best = int(values.argmax())
    if values[best] > mode.score:
        mode = Mode(family, thetas[best], values[best] - family.log_prior(thetas[best]), values[best])
    log_evidence = float(logs.max() + math.log(weights.mean()))
    return Explored(mode, thetas[share > 0], share[share > 0], log_evidence)


def _moments(thetas: Array, weights: Array) -> tuple[Array, Array]:
    """Mean and covariance."""
    centre = weights @ thetas
    away = thetas - centre
    return centre, away.T @ (away * weights[:, None]) + 1e-6 * np.eye(len(centre))


def _log_posterior(
    patterns: Sequence[Prepared], times: Array, family: Family, thetas: Array, executor: Executor | None
) -> Array:
    """Log-likelihood and prior at many nodes."""
    values = []
    for theta in thetas:
        low, high = np.transpose(family.bounds(theta))
        inside = math.log(_BUSY * family.step) <= theta[0] < 30 and bool(((theta >= low) & (theta <= high)).all())
        logs = (
            run_all(patterns, family.renewal(theta), executor=executor)[0] if inside else np.full(len(times), -np.inf)
        )
        values.append(float(times @ logs) + family.log_prior(theta))
    return np.asarray(np.nan_to_num(np.array(values), nan=-np.inf))


def _covariance(patterns: Sequence[Prepared], times: Array, mode: Mode, executor: Executor | None) -> Array:
    """The inverse of the curvature at the mode; nothing is less certain than before the answers."""
    family, theta = mode.family, mode.theta
    rows = []
    for move in 0.05 * np.eye(len(theta)):
        ends = []
        for at in (theta + move, theta - move):
            scores = run_all(patterns, family.renewal(at), slopes=family.slopes(at, patterns), executor=executor)[1]
            ends.append(times @ scores)
        rows.append((ends[1] - ends[0]) / 0.1)
    spreads = family.spreads
    curvature = (np.array(rows) + np.array(rows).T) / 2 * np.outer(spreads, spreads)  # in spreads
    values, vectors = np.linalg.eigh(curvature)
    return np.asarray((vectors / (np.maximum(values, 0.0) + 1.0)) @ vectors.T * np.outer(spreads, spreads))


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
