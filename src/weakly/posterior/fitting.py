r"""The process of events from the answers of many recordings of one class: gaps, bouts and the law of lengths.

Gaps are of one kind (*plain*) or of two (*bouts*, with 1, 3 or 8 stages, or half of the short ones without length;
:mod:`.renewal`); each is a :class:`Family` of processes with a prior. The expected counts of the posterior (events by
length, empty steps and starts by kind of gap: the E step of EM) give the exact gradient of the log-likelihood,
:math:`\partial \ell = E[\partial \log P(\text{timeline})]`, so a quasi-Newton search finds a mode in a dozen passes
(:func:`fit`). Without a law of lengths there may be two: a few long events, or bouts of short ones. What is uncertain
is then integrated over: nodes are drawn around the modes by laws of Student's and weighed by likelihood and prior
(:func:`explore`), which also gives the evidence of each family; some of a family's nodes (:meth:`FittedFamily.strata`)
stand for it in the end.

**Priors.** The logarithm of the (long) gap is wide around four middle lengths (half a typical segment), with a spread
of 3; that of the short gap is around 1.5 mean lengths with a spread of 1.2; the share of short gaps is uniform; long
gaps are at least twice as long as short ones; all shapes are as likely. A law of lengths that is left out is
lognormal: its log mean around the middle length with a spread of 1.5, its log shape around .6 with a spread of .4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.parallel import in_order
from ..model.answer_model import AnswerModels
from ..model.lengths import Lengths
from .chain import Prepared, prepare
from .detector import Calibration, FrameScores
from .renewal import Array, Bouts, Renewal, Uncertain

#: Stages of short gaps that are tried.
STAGES = (1, 3, 8)
AT_ONCE = 0.5  # of uneven short gaps: how many have no length
_SHORT, _SHAPE = 1.5, 0.6
#: About the spread of each parameter before the answers.
_SPREADS = {"gap": 3.0, "short": 1.2, "share": 1.8, "mean": 1.5, "shape": 0.4}
_APART = 2.0  # long gaps over short ones, at least
#: How often people guess, or lapse, before they answer, known as if from so many answers.
SLIP, WORTH = 0.02, 50.0
_MOST_SLIPS = 0.4  # that are taken
_H = 1e-4
_FAR = 8.0  # no search beyond e^8 times the start
BUSY = 0.05  # steps of a gap, at least: of a class that is always there nothing tells the gaps
_FREE, _WIDER = 5, 1.2  # of the law that nodes are drawn from: degrees of freedom, and how much wider than the mode's
_ROUNDS, _ENOUGH = 4, 0.3  # of nodes, and their effective share that is enough
_BRIEF = 4.0  # how much shorter than usual are the short events that a search begins at
_SAME, _FAINT = 0.25, 10.0  # modes are one if closer, in spreads; and left out if this much less likely (logarithm)
NONE_LEFT = 1e-4  # of the weight: nothing is drawn around such a mode


@dataclass(frozen=True, eq=False)
class AnswerPattern:
    """Answers that one or more recordings share."""

    segments: Array
    present: Array
    annotators: tuple[str, ...]
    length: float
    recordings: tuple[str, ...]
    frames: FrameScores | None = field(default=None, kw_only=True)  # of a detector

    @classmethod
    def grouped(
        cls, answers: Iterable[tuple[str, Array, Array, Any, float]], frames: Mapping[str, FrameScores] | None = None
    ) -> list[AnswerPattern]:
        """Recordings by name with segments, answers, annotators and length; those with the same answers together, but
        for those with scores of a detector."""
        frames = frames or {}
        groups: dict[Any, tuple[Any, list[str]]] = {}
        for name, segments, present, annotators, length in answers:
            key = (segments.tobytes(), present.tobytes(), annotators, length, name if name in frames else None)
            groups.setdefault(key, ((segments, present, annotators, length), []))[1].append(name)
        return [
            cls(segments, present, people, length, tuple(names), frames=frames.get(key[-1]))
            for key, ((segments, present, people, length), names) in groups.items()
        ]

    def prepared(
        self, renewal: Renewal | Uncertain, annotator: Any, calibration: Calibration | None = None
    ) -> Prepared:
        """The answers, and scores that are calibrated, ready for any process on the steps of this one."""
        ready = prepare(self.segments, self.present, renewal=renewal, recording_length=self.length,
                        annotator=annotator, annotators=self.annotators)  # fmt: skip
        return self.scored(ready, calibration)

    def scored(self, ready: Prepared, calibration: Calibration | None) -> Prepared:
        """The same answers with scores that are calibrated."""
        if calibration is None or self.frames is None:
            return ready
        return replace(ready, evidence=calibration.evidence(self.frames, ready.grid.step, ready.grid.n))


@dataclass(frozen=True)
class Sheets:
    """The prepared answers of a class, and how many recordings share each of them."""

    ready: Sequence[Prepared]
    times: Array
    executor: Executor | None = None

    def log_likelihood(self, renewal: Renewal) -> float:
        """The logarithm of the chance of all answers."""
        return float(self.times @ self.logs(renewal))

    def logs(self, renewal: Renewal) -> Array:
        """The logarithm of the chance of each of the sheets."""
        return self._pass(renewal, None)[0]

    def gradient(self, family: Family, theta: Array) -> tuple[float, Array]:
        """The same at some parameters, and its slopes in them: what empty steps, starts and events add to it."""
        ends = [(family.renewal(theta + move), family.renewal(theta - move)) for move in _H * np.eye(len(theta))]
        slopes = {n: [_log_slopes(up, down, n) for up, down in ends] for n in {one.grid.n for one in self.ready}}
        logs, scores = self._pass(family.renewal(theta), slopes)
        return float(self.times @ logs), self.times @ scores

    def _pass(self, renewal: Renewal, slopes: Any) -> tuple[Array, Array]:
        size = max(1, min(32, len(self.ready)))
        chunks = [(self.ready[k : k + size], renewal, slopes) for k in range(0, len(self.ready), size)]
        found = [row for part in in_order(_chunk, chunks, executor=self.executor) for row in part]
        logs, scores = (np.array(each, dtype=np.float64) for each in zip(*found))
        return logs, scores


def _chunk(ready: Sequence[Prepared], renewal: Renewal, slopes: Any) -> list[tuple[float, list[float]]]:
    """Log-likelihoods and, given slopes (moves and events, by steps of a recording and parameter), gradients."""
    if slopes is None:
        return [(one.log_likelihood(renewal), []) for one in ready]
    found = []
    for one in ready:
        made = one.posterior(renewal)
        scores = [float((moves * made.moves).sum() + (events * made.counts).sum())
                  for moves, events in slopes[one.grid.n]]  # fmt: skip
        found.append((made.log_likelihood, scores))
    return found


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
    at_once: float = 0.0  # the share of short gaps that have no length
    differs = False  # whether recordings differ in their rate

    @property
    def bunches(self) -> bool:
        """Whether some gaps are short."""
        return self.stages > 0

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
            gap, bouts = gap + _APART * short, Bouts(1 / (1 + math.exp(-theta[2])), short, self.stages, self.at_once)
        law: Any = self.lengths
        if law is None:
            law = Lognormal(math.exp(theta[-2]), math.exp(theta[-1]))
        return Renewal.from_gaps(law, gap=gap, step=self.step, longest=self.longest, bouts=bouts)

    def mean_length(self, theta: Array) -> float:
        """The mean length in seconds."""
        return self.lengths.mean if self.lengths is not None else math.exp(theta[-2])

    def log_prior(self, theta: Array, *, short: float = _SHORT) -> float:
        """The logarithm of the prior; ``short``: the middle of short gaps in mean lengths."""
        gap, value = theta[0], 0.0
        if self.stages:
            far, share = float(np.logaddexp(theta[0], theta[1] + math.log(_APART))), theta[2]
            value += theta[0] - far - float(np.logaddexp(0.0, share) + np.logaddexp(0.0, -share))
            value += normal(theta[1], math.log(short * self.mean_length(theta)), _SPREADS["short"])
            gap = far
        value += normal(gap, math.log(4 * self.middle), _SPREADS["gap"])
        if self.lengths is None:
            value += normal(theta[-2], math.log(self.middle), _SPREADS["mean"])
            value += normal(theta[-1], math.log(_SHAPE), _SPREADS["shape"])
        return float(value)

    def starts(self, plain: Array | None = None) -> Array:
        """Where searches begin: at a typical process, or, in bouts, near the mode of gaps of one kind; and at short
        events if the law of lengths is left out."""
        lengths = [self.middle, self.middle / _BRIEF] if self.lengths is None else [self.middle]
        begin = np.array([[math.log(4 * self.middle), math.log(each), math.log(_SHAPE)] for each in lengths])
        begin = begin if self.lengths is None else begin[:, :1]
        if plain is None:
            return begin
        begin[0] = plain
        short = [math.log(_SHORT * self.mean_length(each)) for each in begin]
        return np.column_stack((np.maximum(begin[:, 0], short), short, np.zeros(len(begin)), begin[:, 1:]))

    def bounds(self, begin: Array) -> list[tuple[float, float]]:
        """Within which the search stays."""
        least = math.log(BUSY * self.step)
        limits = {
            "gap": (max(begin[0] - _FAR, least), begin[0] + _FAR),
            "short": (least, math.log(_SHORT * self.mean_length(begin)) + 4 * _SPREADS["short"]),
            "share": (-7.0, 7.0),
            "mean": (begin[-2 if len(begin) > 1 else 0] - _FAR, math.log(self.longest * self.step / 2)),
            "shape": (math.log(0.1), math.log(2.0)),
        }
        return [limits[name] for name in self.names]


def normal(x: float, middle: float, spread: float) -> float:
    """The logarithm of the density of a normal law."""
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


def fit(sheets: Sheets, family: Family, starts: Array) -> FittedFamily:
    """The likeliest process that searches find, with the other modes that matter. They begin at the first place, and at
    the others if that leads to events longer than half a segment, or bouts of short ones taken for such."""
    every = [_mode(sheets, family, starts[0])]
    if family.mean_length(every[0].theta) > family.middle:
        every += [_mode(sheets, family, start) for start in starts[1:]]
    every.sort(key=lambda one: -one.score)
    best, spreads = every[0], np.array([_SPREADS[name] for name in family.names])
    kept = [best.theta]
    for other in every[1:]:
        away = min(float(np.abs((other.theta - each) / spreads).max()) for each in kept)
        if away > _SAME and other.score > best.score - _FAINT:
            kept.append(other.theta)
    return replace(best, modes=np.array(sorted(kept, key=family.mean_length, reverse=True)))


def _mode(sheets: Sheets, family: Family, begin: Array) -> FittedFamily:
    """The mode that a search from here finds."""
    from scipy.optimize import minimize

    bounds = family.bounds(begin)
    scale = float(sheets.times.sum())

    def objective(theta: Array) -> tuple[float, Array]:
        log_likelihood, scores = sheets.gradient(family, theta)
        slope = np.array([family.log_prior(theta + h) - family.log_prior(theta - h) for h in _H * np.eye(len(theta))])
        return -(log_likelihood + family.log_prior(theta)) / scale, -(scores + slope / (2 * _H)) / scale

    options: Any = {"maxiter": 60, "ftol": 1e-9}
    low, high = np.transpose(bounds)
    first: Any = np.clip(begin, low, high)
    best = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    theta, score = np.asarray(best.x, dtype=np.float64), -float(best.fun) * scale
    return FittedFamily(family, theta, score, theta[None], np.ones(1), score, theta[None])


@dataclass(frozen=True)
class FittedFamily:
    """A family after the answers: the parameters of its likeliest process, and their log-likelihood with the logarithm
    of the prior; nodes (the likeliest alone, before :func:`explore`), how likely each is, the logarithm of the family's
    evidence, and its modes, that of the longest events first."""

    family: Family
    theta: Array
    score: float
    nodes: Array
    weights: Array
    log_evidence: float
    modes: Array

    @property
    def renewal(self) -> Renewal:
        """The likeliest process."""
        return self.family.renewal(self.theta)

    def _at(self, function: Any, q: Array) -> tuple[Array, NDArray[np.int64]]:
        """A function of the process at every node, and the nodes at shares q in its order."""
        values = np.array([function(self.family.renewal(theta)) for theta in self.nodes])
        order = np.argsort(values, kind="stable")
        summed = np.cumsum(self.weights[order])
        return values, order[np.searchsorted(summed, q * summed[-1])]

    def strata(self, many: int) -> tuple[Array, Array]:
        """Nodes that stand for shares in the order of the event rate, and the shares, small ones at both ends."""
        ends = np.sin(np.linspace(0.0, np.pi / 2, many + 1)) ** 2
        _, chosen = self._at(lambda process: process.event_rate, (ends[1:] + ends[:-1]) / 2)
        return self.nodes[chosen], np.diff(ends)

    def quantiles(self, function: Any) -> Array:
        """The 2.5 %, 50 % and 97.5 % quantiles of a function of the process."""
        values, chosen = self._at(function, np.array([0.025, 0.5, 0.975]))
        return np.asarray(values[chosen])


def explore(
    sheets: Sheets, mode: FittedFamily, *, nodes: int, rng: np.random.Generator, near: FittedFamily | None = None
) -> FittedFamily:
    """The posterior of a family by importance sampling from laws of Student's around its modes, with low-discrepancy
    points; where few nodes carry the weight, the laws are fitted to them and more are drawn. ``near``: a family with
    the same parameters, whose nodes tell where to begin."""
    from scipy.stats import chi2 as chi_squared
    from scipy.stats import multivariate_t, norm, qmc

    family, d = mode.family, len(mode.theta)
    if near is None:
        around = [(theta, _covariance(sheets, family, theta)) for theta in mode.modes]
    else:
        around = _around(near.nodes, near.weights, near)
    laws: list[Any] = []
    thetas, values = np.empty((0, d)), np.empty(0)
    for _ in range(_ROUNDS):
        for centre, cover in around:
            laws.append(multivariate_t(centre, cover * _WIDER**2, df=_FREE, allow_singular=True))
            points = np.clip(qmc.Sobol(d + 1, seed=rng).random(nodes), 1e-9, 1 - 1e-9)
            scale = np.sqrt(_FREE / chi_squared.ppf(points[:, -1], _FREE))
            drawn = centre + (norm.ppf(points[:, :-1]) * scale[:, None]) @ np.linalg.cholesky(cover).T * _WIDER
            scores = [_score(sheets, family, each) for each in drawn]
            thetas = np.concatenate((thetas, drawn))
            values = np.concatenate((values, np.nan_to_num(scores, nan=-np.inf)))
        density = np.mean([each.pdf(thetas) for each in laws], axis=0)
        logs = values - np.log(np.maximum(density, 1e-300))
        weights = np.exp(logs - logs.max())
        share = weights / weights.sum()
        if 1 / float(share @ share) >= _ENOUGH * nodes:
            break
        flat = share**0.5  # broader than the weights: few of them carry all
        around = _around(thetas, flat / flat.sum(), mode if near is None else near)
    best = int(values.argmax())
    theta, score = (thetas[best], values[best]) if values[best] > mode.score else (mode.theta, mode.score)
    log_evidence = float(logs.max() + math.log(weights.mean()))
    return FittedFamily(family, theta, score, thetas[share > 0], share[share > 0], log_evidence, mode.modes)


def _around(thetas: Array, weights: Array, fitted: FittedFamily) -> list[tuple[Array, Array]]:
    """Mean and covariance of the nodes nearest to each mode."""
    if len(fitted.modes) == 1:
        return [moments(thetas, weights)]
    spreads = np.array([_SPREADS[name] for name in fitted.family.names])
    away = (((thetas[:, None] - fitted.modes) / spreads) ** 2).sum(axis=2)
    sums = [weights * (away.argmin(axis=1) == k) for k in range(len(fitted.modes))]
    return [moments(thetas, each / each.sum()) for each in sums if each.sum() > NONE_LEFT]


def moments(thetas: Array, weights: Array) -> tuple[Array, Array]:
    """Mean and covariance."""
    centre = weights @ thetas
    away = thetas - centre
    return centre, away.T @ (away * weights[:, None]) + 1e-6 * np.eye(len(centre))


def _score(sheets: Sheets, family: Family, theta: Array) -> float:
    """Log-likelihood and prior at a node."""
    low, high = np.transpose(family.bounds(theta))
    if not (math.log(BUSY * family.step) <= theta[0] < 30 and bool(((theta >= low) & (theta <= high)).all())):
        return -math.inf
    return sheets.log_likelihood(family.renewal(theta)) + family.log_prior(theta)


def _covariance(sheets: Sheets, family: Family, theta: Array) -> Array:
    """The inverse of the curvature at a mode; nothing is less certain than before the answers."""
    rows = [
        (sheets.gradient(family, theta - move)[1] - sheets.gradient(family, theta + move)[1]) / 0.1
        for move in 0.05 * np.eye(len(theta))
    ]
    spreads = np.array([_SPREADS[name] for name in family.names])
    curvature = (np.array(rows) + np.array(rows).T) / 2 * np.outer(spreads, spreads)  # in spreads
    values, vectors = np.linalg.eigh(curvature)
    return np.asarray((vectors / (np.maximum(values, 0.0) + 1.0)) @ vectors.T * np.outer(spreads, spreads))


def slip_rates(who: AnswerModels, counts: Array) -> AnswerModels:
    """The same with rates from guesses, answers where one can guess, lapses and answers where one can lapse."""
    guess, lapse = (float((wrong + SLIP * WORTH) / (n + WORTH)) for wrong, n in (counts[:2], counts[2:]))
    return who.with_noise(min(guess, _MOST_SLIPS), min(lapse, _MOST_SLIPS))


def slip_interval(wrong: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a rate of slips."""
    from scipy.special import betaincinv

    low, high = betaincinv(wrong + SLIP * WORTH, n - wrong + (1 - SLIP) * WORTH, [0.025, 0.975])
    return float(low), float(high)


def slip_points(who: Mapping[str, AnswerModels], counts: Mapping[str, Array]) -> list[tuple[dict[str, Any], float]]:
    """Everybody with more or fewer guesses or lapses, together: five points that carry what is uncertain of them (an
    unscented transform), each with the logarithm of its weight without the likelihood."""
    sums = np.sum(list(counts.values()), axis=0)
    points = []
    for guess, lapse in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
        others, chance = {}, math.log(1 / 6) + 1.5 if guess or lapse else math.log(1 / 3)
        for name, one in who.items():
            rates = []
            for rate, side, (wrong, n) in ((one.low, guess, sums[:2]), (1 - one.high, lapse, sums[2:])):
                a, b = wrong + SLIP * WORTH, n - wrong + (1 - SLIP) * WORTH
                # half as wide again: whether an answer was a slip is itself uncertain
                odds = math.log(rate / (1 - rate)) + side * math.sqrt(3) * 1.5 * math.sqrt(1 / a + 1 / b)
                rates.append(min(1 / (1 + math.exp(-odds)), _MOST_SLIPS))
                chance += WORTH * (SLIP * math.log(rates[-1]) + (1 - SLIP) * math.log1p(-rates[-1]))
            others[name] = one.with_noise(*rates)
        points.append((others, chance))
    return points


def choose_step(segments: Array, lengths: Lengths | None, seconds: float | None) -> float:
    """A round step in seconds that resolves the shortest of segment, event and rule; below it nothing changes much.

    Without a law events may be much shorter than segments: none is shorter than a step.
    """
    shortest = float((segments[:, 1] - segments[:, 0]).min())
    wanted = shortest / 15 if lengths is None else min(shortest / 5, float(lengths.quantile(0.5)) / 8)
    if seconds is not None:
        wanted = min(wanted, seconds / 2)
    if not wanted > 0:
        raise InvalidInput("step must be given: the segments, events or rules are too short to choose one")
    power = 10.0 ** math.floor(math.log10(wanted))
    return max(f * power for f in (1.0, 2.0, 2.5, 5.0) if f * power <= wanted * (1 + 1e-9))
