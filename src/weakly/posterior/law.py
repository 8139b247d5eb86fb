r"""Gamma as a law: how the chance of "present" rises with the share of the event that was heard.

.. math:: P(\text{present} \mid h) = g_0 + (1 - g_0 - \ell)\, G(h), \qquad P(\text{present} \mid 0) = g_0

G is the law of the presence criterion over answers: a Beta law with mean and spread (its limit is one hard criterion
for all), or a logistic curve. A segment without an event informs the guess rate and nothing else.

The interval of the mean is the middle 95 % of its posterior, flat in the mean, half a hard criterion and half a spread
of half-normal size, with guesses and lapses at their best for each. Answers of one recording or annotator are alike,
which a likelihood of independent answers does not know: it is taken to the power of one over the design effect, the
ratio of the clustered to the plain variance of the mean's influence (a sandwich), with Student's t for few clusters. A
bootstrap of clusters would ignore how a hard criterion is known, to 1/n, and is slower. Where a hard criterion is
likely, the posterior is that of a hard one alone. Coverage: ``benchmarks/bench_audit.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.compiled import kernel
from ..model.annotator import logistic_cdf

Array = NDArray[np.float64]

FAMILIES = ("beta", "logistic")
WIDEST = 1 / 3  # of the share of the largest variance that a law on (0, 1) with this mean can have: 1/3 is uniform
_PRIOR = 4.0  # as if so many answers without a guess, and without a lapse, had been seen before
_SCALE = 0.3  # of the half-normal prior of the spread, as a share of the largest
_NEAR = 32  # distinct shares on either side of the hard criterion that are kept apart
_MANY = 64  # groups of the others
FEWEST_CLUSTERS = 3  # below which nothing can be said about how clusters differ
_SURE = 0.65  # posterior chance from which one hard criterion is taken to serve for all


@kernel
def _rates(cdf: Any, answers: Any, presents: Any, prior: float, guess: Any, hit: Any, value: Any) -> None:
    """For every row of the cdf the guess and hit rate that fit best, and the log likelihood there.

    The chance p = g (1 - G) + u G is linear in both rates, so the likelihood is concave: Newton's steps one by one.
    """
    g, u = 0.02, 0.98
    for j in range(len(cdf)):
        g, u = max(g, 1e-3), min(u, 1 - 1e-3)
        for _ in range(40):
            before_g, before_u = g, u
            for which in range(2):
                slope = -prior / (1 - g) if which == 0 else prior / u
                bend = prior / (1 - g) ** 2 if which == 0 else prior / u**2
                for b in range(len(answers)):
                    part = 1 - cdf[j, b] if which == 0 else cdf[j, b]
                    if part <= 0.0:
                        continue
                    p = min(max(g + (u - g) * cdf[j, b], 1e-12), 1 - 1e-12)
                    yes, no = presents[b] / p, (answers[b] - presents[b]) / (1 - p)
                    slope += part * (yes - no)
                    bend += part * part * (yes / p + no / (1 - p))
                step = slope / max(bend, 1e-300)
                if which == 0:
                    g = min(max(g + step, g / 10, 1e-7), 0.5)
                else:
                    u = 1 - min(max(1 - u - step, (1 - u) / 10, 1e-7), 0.5)
            if abs(g - before_g) < 1e-6 + 1e-3 * g and abs(u - before_u) < 1e-6 + 1e-3 * (1 - u):
                break
        total = prior * (np.log(1 - g) + np.log(u))
        for b in range(len(answers)):
            p = min(max(g + (u - g) * cdf[j, b], 1e-12), 1 - 1e-12)
            total += presents[b] * np.log(p) + (answers[b] - presents[b]) * np.log(1 - p)
        guess[j], hit[j], value[j] = g, u, total


@kernel
def _beta_cdf(mean: Any, spread: Any, h: Any, out: Any) -> None:
    """The regularised incomplete beta function by Lentz's continued fraction; a step where the spread is 0."""
    for j in range(len(mean)):
        total = 1 / max(spread[j], 1e-6) ** 2 - 1
        first, second = mean[j] * total, (1 - mean[j]) * total
        scale = math.lgamma(total) - math.lgamma(first) - math.lgamma(second)
        for k in range(len(h)):
            x, a, b = h[k], first, second
            if x <= 0 or x >= 1 or spread[j] < 1e-5:
                out[j, k] = 1.0 if x >= 1 or (x > 0 and x >= mean[j] * (1 - 1e-9)) else 0.0
                continue
            front = math.exp(scale + a * math.log(x) + b * math.log1p(-x))
            upper = x > (a + 1) / (total + 2)
            if upper:
                x, a, b = 1 - x, b, a
            c, value, step = 1.0, 1 / max(1 - total * x / (a + 1), 1e-300), 0.0
            d = value
            for m in range(1, 400 if front > 1e-14 else 1):
                odd = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
                d, c = 1 / (1 + odd * d), 1 + odd / c
                value *= d * c
                even = -(a + m) * (total + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                d, c = 1 / (1 + even * d), 1 + even / c
                step = d * c
                value *= step
                if abs(step - 1) < 1e-11:
                    break
            part = min(front * value / a, 1.0)
            out[j, k] = 1 - part if upper else part


def cdf(family: str, h: Array, mean: Array, spread: Array) -> Array:
    """G(h) for every pair of mean and spread (one row each); 0 where there is no event.

    ``mean`` and ``spread`` are those of the Beta law, the spread over the largest that a law of this mean has (at 0 the
    criterion is hard), or the middle and s of a logistic curve.
    """
    if family == "logistic":
        return logistic_cdf(h[None, :], mean[:, None], spread[:, None])
    out = np.empty((len(mean), len(h)))
    _beta_cdf(mean, spread, h, out)
    return out


@dataclass(frozen=True)
class Groups:
    """Answers by event fraction: how many and how many present; ``of`` is the group of every answer."""

    h: Array
    answers: Array
    presents: Array
    of: NDArray[np.int64]


def grouped(h: Array, y: Array, middle: float) -> Groups:
    """Distinct event fractions, those far from ``middle`` gathered in groups of equal size."""
    order = np.argsort(h, kind="stable")
    x = h[order]
    new = np.concatenate(([False], x[1:] > x[:-1] * (1 + 2e-9) + 1e-300))
    code = np.cumsum(new)
    count = int(code[-1]) + 1
    if count > _MANY + 2 * _NEAR:
        first = np.flatnonzero(np.concatenate(([True], new[1:])))
        at = int(np.searchsorted(x[first], middle))
        keep = np.zeros(count, dtype=bool)
        keep[max(at - _NEAR, 0) : at + _NEAR + 1] = True
        keep[: 1 + (x[0] <= 0)] = True  # the segments without an event stay alone
        wanted = np.searchsorted(x, np.quantile(x[x > 0], np.linspace(0, 1, _MANY)), side="left")
        keep[code[wanted]] = True
        code = (np.cumsum(keep) - 1)[code]
    of = np.empty(len(h), dtype=np.int64)
    of[order] = code
    n = np.bincount(of).astype(np.float64)
    return Groups(np.bincount(of, weights=h) / n, n, np.bincount(of, weights=y).astype(np.float64), of)


@dataclass(frozen=True)
class Surface:
    """The log posterior over pairs of mean and spread, the best rates of each pair, and the prior weight of each."""

    family: str
    mean: Array
    spread: Array
    value: Array
    guess: Array
    hit: Array
    prior: Array

    def mass(self, power: float, top: float) -> Array:
        """The posterior weight of every pair, the likelihood taken to this power; ``top`` is its largest value."""
        return np.asarray(np.exp(power * (self.value - top)) * self.prior)


def _surface(family: str, groups: Groups, mean: Array, spread: Array, prior: Array) -> Surface:
    law = cdf(family, groups.h, mean, spread)
    guess, hit, value = np.empty(len(mean)), np.empty(len(mean)), np.empty(len(mean))
    _rates(law, groups.answers, groups.presents, _PRIOR, guess, hit, value)
    return Surface(family, mean, spread, value, guess, hit, prior)


def hard(groups: Groups) -> Surface:
    """One criterion for all: between two shares that were asked about every criterion is the same, so this is exact."""
    edges = np.concatenate(([0.0], groups.h[groups.h > 0], [1.0]))
    width = np.diff(edges)
    kept = width > 0
    mean = ((edges[1:] + edges[:-1]) / 2)[kept]
    return _surface("beta", groups, mean, np.zeros(len(mean)), width[kept])


def soft(family: str, groups: Groups, *, power: float = 1.0) -> Surface:
    """A law with some spread: first everywhere, then where the posterior's mass lies, until that is seen well."""
    scale, most = (_SCALE, np.sqrt(WIDEST)) if family == "beta" else (_SCALE / 4, 0.3)
    mean, spread, even = np.linspace(0.02, 0.98, 21), np.geomspace(3e-3, most, 8), False
    for stage in range(6):
        m, s = (v.ravel() for v in np.meshgrid(mean, spread, indexing="ij"))
        prior = np.outer(np.gradient(mean), np.gradient(spread)).ravel() * np.exp(-((s / scale) ** 2) / 2) / scale / 1.2
        found = _surface(family, groups, m, s, prior)
        share = found.mass(power, float(found.value.max())).reshape(len(mean), len(spread))
        ends, shrinks = [], 1.0
        for axis, x in ((1, mean), (0, spread)):
            mass = np.cumsum(share.sum(axis=axis)) / share.sum()
            low = max(int(np.searchsorted(mass, 2e-4)) - 1, 0)
            ends.append((low, x[low], x[min(int(np.searchsorted(mass, 1 - 2e-4)) + 1, len(x) - 1)]))
            shrinks *= (ends[-1][2] - ends[-1][1]) / (x[-1] - x[0])
        low, least, most = ends[1]
        if stage and shrinks > 0.6 and even == (low > 0):  # looking closer would show the same
            break
        mean, even = np.linspace(*ends[0][1:], 25), low > 0
        spread = np.linspace(least, most, 9) if even else np.geomspace(most / 60, most, 9)
    return found


def _peak(found: Surface, groups: Groups) -> Surface:
    """A closer look around the best pair."""
    axes = []
    for values in (found.mean, found.spread):
        nodes, at = np.unique(values), values[np.argmax(found.value)]
        k = int(np.searchsorted(nodes, at))
        axes.append(np.linspace((nodes[max(k - 1, 0)] + at) / 2, (nodes[min(k + 1, len(nodes) - 1)] + at) / 2, 7))
    mean, spread = (v.ravel() for v in np.meshgrid(*axes, indexing="ij"))
    return _surface(found.family, groups, mean, spread, np.ones(len(mean)))


@dataclass(frozen=True)
class LawFit:
    """A fitted law: the middle and the ends of the posterior of each number, and how it was got.

    ``hard`` is the posterior chance that one criterion serves for all; ``gain`` how much more likely (log) the best law
    is than answers that do not depend on how much was heard; ``design_effect`` and ``freedom`` are those of the
    clusters.
    """

    mean: tuple[float, float, float]
    spread: tuple[float, float, float]
    guess: tuple[float, float, float]
    lapse: tuple[float, float, float]
    log_likelihood: float
    hard: float
    gain: float
    design_effect: float


def fit(h: Array, y: Array, *, clusters: Sequence[NDArray[np.int64]] = (), family: str = "beta") -> LawFit:
    """The law of these answers (1 or 0 at event fraction h); ``clusters``: codes of recordings, of annotators."""
    first = hard(grouped(h, y, 0.5))
    groups = grouped(h, y, float(first.mean[np.argmax(first.value)]))
    step, law = hard(groups), soft(family, groups)
    best = _peak(law, groups)
    best = best if family != "beta" or best.value.max() > step.value.max() else step
    weights, covariance = influence(best, groups)
    effect, student = design_effect(weights, groups, y, clusters)
    power = 1 / (effect * student**2)
    if power < 0.9:
        law = soft(family, groups, power=power)
    top = max(float(law.value.max()), float(step.value.max()) if family == "beta" else -np.inf)
    sure = 0.0
    if family == "beta":
        masses = [float(part.mass(1 / effect, top).sum()) for part in (step, law)]
        sure = masses[0] / sum(masses)
    parts = [] if family != "beta" else [(step, step.mass(1 / effect if sure > _SURE else power, top))]
    if sure <= _SURE:
        parts.append((law, law.mass(power, top)))
    mean = _quantiles(parts)
    flat = max(float(step.value[0]), float(step.value[-1]))  # all that meets an event is alike
    at = int(np.argmax(best.value))
    rates = [
        _rate(value, float(covariance[k, k]) * effect)
        for k, value in ((2, float(best.guess[at])), (3, 1 - float(best.hit[at])))
    ]
    width = _spread_of(law, family)
    mass = law.mass(power, top)
    zero = 0.0 if family != "beta" else float(step.mass(power, top).sum())
    order = np.argsort(width, kind="stable")
    share = (zero + np.cumsum(mass[order])) / (zero + mass.sum())
    low, middle, high = np.interp([0.025, 0.5, 0.975], np.append(0.0, share), np.append(0.0, width[order]))
    low, middle = (0.0 if zero / (zero + mass.sum()) > q else v for q, v in ((0.025, low), (0.5, middle)))
    rise = cdf(family, h, best.mean[[at]], best.spread[[at]])[0]
    p = np.clip(best.guess[at] + (best.hit[at] - best.guess[at]) * rise, 1e-12, 1 - 1e-12)
    likelihood = float(np.log(np.where(y > 0.5, p, 1 - p)).sum())
    spread = (0.0 if sure > _SURE else float(middle), float(low), float(high))
    return LawFit(mean, spread, rates[0], rates[1], likelihood, sure, float(power * (top - flat)), effect)


def _spread_of(found: Surface, family: str) -> Array:
    """The standard deviation of the criterion at every pair."""
    if family == "logistic":
        return np.asarray(found.spread * np.pi / np.sqrt(3))
    return np.asarray(found.spread * np.sqrt(found.mean * (1 - found.mean)))


def _quantiles(parts: list[tuple[Surface, Array]]) -> tuple[float, float, float]:
    """Median and 95 % interval of the mean over both kinds of posterior, each spread evenly between its nodes."""
    edges, masses = [], []
    for found, mass in parts:
        if found.spread[0] == 0:
            ends = np.concatenate(([0.0], np.cumsum(found.prior)))
        else:
            middle = np.unique(found.mean)
            mass = mass.reshape(len(middle), -1).sum(axis=1)
            ends = np.concatenate((middle[:1], (middle[1:] + middle[:-1]) / 2, middle[-1:]))
        edges.append(ends)
        masses.append(np.concatenate(([0.0], np.cumsum(mass))))
    grid = np.unique(np.concatenate(edges))
    total = sum((np.interp(grid, x, c) for x, c in zip(edges, masses)), np.zeros(len(grid)))
    low, middle, high = np.interp([0.025, 0.5, 0.975], total / total[-1], grid)
    return float(middle), float(low), float(high)


def _rate(value: float, variance: float) -> tuple[float, float, float]:
    """A rate with Jeffreys' interval for as many answers as its variance is worth."""
    from scipy.special import betaincinv

    p = min(max(value, 0.01), 0.99)
    n = max(p * (1 - p) / max(variance, 1e-12) - 1, 0.5)
    low, high = betaincinv(n * value + 0.5, n * (1 - value) + 0.5, [0.025, 0.975])
    return value if value > 1e-6 else 0.0, float(low) if n * value > 0.5 else 0.0, float(high)


def influence(found: Surface, groups: Groups) -> tuple[tuple[Array, Array], Array]:
    """What an absent and a present answer of each group add to the mean, to first order; the parameters' covariance."""
    best = int(np.argmax(found.value))
    least = 0.15 if found.family == "beta" else 0.04  # a step has no slope
    at = np.array([found.mean[best], max(found.spread[best], least), found.guess[best], found.hit[best]])
    at[2], at[3] = max(at[2], 0.01), min(at[3], 0.99)

    def chance(v: Array) -> Array:
        return np.asarray(v[2] + (v[3] - v[2]) * cdf(found.family, groups.h, v[:1], v[1:2])[0])

    p = chance(at)
    slope = np.empty((4, len(p)))
    for k, step in enumerate((1e-4, 1e-4, 1e-5, 1e-5)):
        move = step * np.eye(4)[k]
        slope[k] = (chance(at + move) - chance(at - move)) / (2 * step)
    variance = np.maximum(p * (1 - p), 1e-4)
    information = (slope * (groups.answers / variance)) @ slope.T + np.diag([1e-6, 100.0, _PRIOR, _PRIOR])
    covariance = np.linalg.inv(information)
    direction = covariance[0] @ (slope / variance)
    return (np.asarray(-direction * p), np.asarray(direction * (1 - p))), np.asarray(covariance, dtype=np.float64)


def design_effect(
    weights: tuple[Array, Array], groups: Groups, y: Array, clusters: Sequence[NDArray[np.int64]]
) -> tuple[float, float]:
    """How much larger clusters make the variance of the mean, and Student's factor for how few of them there are.

    Of two ways to cluster the variances add, less that of the clusters of both (Cameron, Gelbach and Miller): what one
    annotator says of one recording is not counted twice.
    """
    from scipy.special import stdtrit

    psi = np.where(y > 0.5, weights[1][groups.of], weights[0][groups.of])
    plain = float((psi**2).sum())
    codes = [code for code in clusters if FEWEST_CLUSTERS <= code.max() + 1 < len(y)]
    if not codes or plain <= 0:
        return 1.0, 1.0
    counts = [int(code.max()) + 1 for code in codes]
    sums = [float((np.bincount(code, weights=psi) ** 2).sum()) * n / (n - 1) for code, n in zip(codes, counts)]
    total = sum(sums)
    if len(codes) == 2:
        _, both = np.unique(codes[0] * counts[1] + codes[1], return_inverse=True)
        total -= float((np.bincount(both, weights=psi) ** 2).sum())
    effect = max(total, *sums, plain) / plain
    return effect, float(stdtrit(min(counts) - 1, 0.975)) / 1.959963984540054


def pooled(groups: Groups, y: Array, unit: NDArray[np.int64], whole: Any) -> tuple[Array, Array]:
    """The mean criterion of every unit (annotator or class) and its interval, drawn towards the others.

    Each unit has its own mean; spread, guesses and lapses are those of all together. The means follow a Beta law whose
    own mean and spread make the answers most likely (empirical Bayes), so that a unit with few answers stays near.
    ``whole`` is the estimate of all answers together.
    """
    from scipy.special import logsumexp, xlog1py, xlogy

    grid = np.linspace(0.005, 0.995, 100)
    relative = min(whole.spread / np.sqrt(whole.presence_criterion * (1 - whole.presence_criterion)), 0.55)
    law = cdf("beta", groups.h, grid, np.full(len(grid), relative))
    guess, lapse = max(whole.guess_rate, 0.005), max(whole.lapse_rate, 0.005)
    p = guess + (1 - guess - lapse) * law
    count = int(unit.max()) + 1
    size = len(groups.h)
    answers = np.bincount(unit * size + groups.of, minlength=count * size).reshape(count, size)
    presents = np.bincount(unit * size + groups.of, weights=y, minlength=count * size).reshape(count, size)
    likelihood = presents @ np.log(p).T + (answers - presents) @ np.log1p(-p).T
    best, prior = -np.inf, np.zeros(len(grid))
    for m in np.linspace(0.05, 0.95, 37):
        for sd in (0.02, 0.04, 0.07, 0.1, 0.14, 0.2, 0.27):
            total = m * (1 - m) / sd**2 - 1
            if total <= 1:
                continue
            log = xlogy(m * total - 1, grid) + xlog1py((1 - m) * total - 1, -grid)
            log -= logsumexp(log)
            value = float(logsumexp(likelihood + log, axis=1).sum())
            if value > best:
                best, prior = value, log
    mass = np.exp(likelihood + prior - (likelihood + prior).max(axis=1, keepdims=True))
    share = np.cumsum(mass, axis=1) / mass.sum(axis=1, keepdims=True)
    ends = np.array([np.interp([0.5, 0.025, 0.975], row - row[0] / 2, grid) for row in share])
    return ends[:, 0], ends[:, 1:]
