r"""Gamma as a law: how the chance of "present" rises with the share of the event that was heard.

.. math:: P(\text{present} \mid h) = g_0 + (1 - g_0 - \ell)\, G(h), \qquad P(\text{present} \mid 0) = g_0

G is the law of the presence criterion over answers: a Beta law with mean and spread (its limit is one hard criterion
for all), or a logistic curve. A segment without an event informs the guess rate and nothing else.

The prior is one for all who ask: flat in the mean, :data:`HARD` that one criterion serves for all, else a half-normal
spread; guesses and lapses as if :data:`SLIPS` (or :data:`ATTENTIVE`) answers without any had been seen. Here the
likelihood is looked at on grids that close in on it, with guesses and lapses at their best for each law: what many
answers need. Few answers, which hardly tell the rates, are served by the whole grid of
:class:`~weakly.posterior.criterion.CriterionPosterior`.

Answers of one recording or annotator are alike, which a likelihood of independent answers does not know: it is taken to
the power of one over the design effect, the ratio of the clustered to the plain variance of the mean's influence (a
sandwich), with Student's t for few clusters. A bootstrap of clusters would ignore how a hard criterion is known, to
1/n, and is slower. Where a hard criterion is likely, the posterior is that of a hard one alone. Coverage:
``benchmarks/bench_audit.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..base.compiled import kernel
from ..model.annotator import TIE
from ..model.criterion_law import logistic_cdf
from ..model.intervals import Floats, Ints

WIDEST = 1 / 3  # of the share of the largest variance that a law on (0, 1) with this mean can have: 1/3 is uniform
#: The prior. With 50 answers its intervals cover 93 to 98 %; half of it on a hard criterion would cover 88 to 96 %.
HARD = 0.15  # that one criterion serves for all
SPREAD = 0.3  # of the half-normal spread, as a share of the largest
SLIPS = 4.0  # answers without a guess, and without a lapse, as if seen before: labels of unknown origin
ATTENTIVE = 9.0  # the same of somebody who is being measured
#: The grid of the prior; the means lie between the fractions of its items, so that no answer at one is a toss.
MEANS = np.linspace(0.0225, 0.9775, 96)
SPREADS = np.array([0.0, 0.04, 0.1, 0.2, 0.3, 0.4, 0.54])  # as shares of the largest; 0: one hard criterion
RATES = np.array([0.005, 0.02, 0.06, 0.13, 0.25, 0.42])  # of guesses, and of lapses
_NEAR = 32  # distinct shares on either side of the hard criterion that are kept apart
_MANY = 64  # groups of the others
FEWEST_CLUSTERS = 3  # below which nothing can be said about how clusters differ


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


def cdf(family: str, h: Floats, mean: Floats, spread: Floats) -> Floats:
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

    h: Floats
    answers: Floats
    presents: Floats
    of: Ints


def grouped(h: Floats, y: Floats, middle: float | None = None) -> Groups:
    """Distinct event fractions in order (ties within TIE are one); those far from ``middle``, where that is told,
    gathered in groups of equal size."""
    order = np.argsort(h, kind="stable")
    x = h[order]
    new = np.concatenate(([False], x[1:] > x[:-1] * (1 + 2 * TIE) + 1e-300))
    code = np.cumsum(new)
    count = int(code[-1]) + 1
    if middle is not None and count > _MANY + 2 * _NEAR:
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
    n = np.bincount(code).astype(np.float64)  # sums in the order of the shares, whatever the order of the answers
    presents = np.bincount(code, weights=y[order]).astype(np.float64)
    return Groups(np.bincount(code, weights=x) / n, n, presents, of)


@dataclass(frozen=True)
class Surface:
    """The log posterior over pairs of mean and spread, the best rates of each pair, the prior weight of each, and the
    means (low, high) that each stands for."""

    family: str
    mean: Floats
    spread: Floats
    value: Floats
    guess: Floats
    hit: Floats
    prior: Floats
    ends: Floats

    def mass(self, power: float, top: float) -> Floats:
        """The posterior weight of every pair, the likelihood taken to this power; ``top`` is its largest value."""
        return np.asarray(np.exp(power * (self.value - top)) * self.prior)


def _surface(
    family: str, groups: Groups, mean: Floats, spread: Floats, prior: Floats, ends: Floats | None = None
) -> Surface:
    law = cdf(family, groups.h, mean, spread)
    guess, hit, value = np.empty(len(mean)), np.empty(len(mean)), np.empty(len(mean))
    _rates(law, groups.answers, groups.presents, SLIPS, guess, hit, value)
    return Surface(family, mean, spread, value, guess, hit, prior, np.empty((0, 2)) if ends is None else ends)


def hard(groups: Groups) -> Surface:
    """One criterion for all: between two shares that were asked about every criterion is the same, so this is exact."""
    edges = np.concatenate(([0.0], groups.h[groups.h > 0], [1.0]))
    ends = np.column_stack((edges[:-1], edges[1:]))[np.diff(edges) > 0]
    mean = ends.mean(axis=1)
    return _surface("beta", groups, mean, np.zeros(len(mean)), HARD * (ends[:, 1] - ends[:, 0]), ends)


def soft(family: str, groups: Groups, *, power: float = 1.0) -> Surface:
    """A law with some spread: first everywhere, then where the posterior's mass lies, until that is seen well."""
    scale, most = (SPREAD, np.sqrt(WIDEST)) if family == "beta" else (SPREAD / 4, 0.3)
    mean, spread, even = np.linspace(0.02, 0.98, 21), np.geomspace(3e-3, most, 8), False
    for stage in range(6):
        m, s = (v.ravel() for v in np.meshgrid(mean, spread, indexing="ij"))
        prior = np.outer(np.gradient(mean), np.gradient(spread)).ravel() * np.exp(-((s / scale) ** 2) / 2) / scale / 1.2
        surface = _surface(family, groups, m, s, (1 - HARD) * prior, np.repeat(cells(mean), len(spread), axis=0))
        share = surface.mass(power, float(surface.value.max())).reshape(len(mean), len(spread))
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
    return surface


def prior_grid(shortest: float, longest: float) -> dict[str, Any]:
    """The prior of somebody who is being measured, as columns of a grid: a third for each law (a share, seconds, either
    of them) of events from shortest to longest. NaN: no part of it."""
    guess, lapse = (v.reshape(1, -1) for v in np.meshgrid(RATES, RATES, indexing="ij"))
    edges = np.append(cells(SPREADS[1:])[:-1, 1], 1.0)
    soft = np.diff(scipy.special.erf(np.append(0.0, edges) / (SPREAD * math.sqrt(2))))
    spreads = np.append(HARD, (1 - HARD) * soft / soft.sum())
    rates = -np.diff((1 - np.concatenate(([0.0], cells(RATES)[1:, 0], [0.5]))) ** (ATTENTIVE + 1))
    rates /= rates.sum()
    few, some = MEANS[3::8], MEANS[::2]
    middles, ends = [(MEANS, np.nan * MEANS)], [(cells(MEANS), np.nan * cells(MEANS))]
    if longest > shortest:  # the events at which seconds and share change places are among those that are asked about
        change = np.geomspace(1.1 * shortest, longest / 1.1, 4) / longest
        gamma, at = (v.ravel() for v in np.meshgrid(few, change, indexing="ij"))
        of_gamma, of_change = np.repeat(cells(few), len(change), axis=0), np.tile(cells(change), (len(few), 1))
        middles += [(np.nan * some, some), (gamma, gamma * at)]
        ends += [(np.nan * cells(some), cells(some)), (of_gamma, of_gamma * of_change)]
    weights = np.concatenate([np.full(len(one), 1 / len(one) / len(middles)) for one, _ in middles])
    (mean, seconds), (low, high) = (map(np.concatenate, zip(*parts)) for parts in (middles, ends))
    n, k = len(SPREADS), len(mean)
    return {
        "mean": np.repeat(mean, n), "spread": np.tile(SPREADS, k), "ends": np.repeat(low, n, axis=0), "guess": guess,
        "lapse": lapse, "weights": np.outer(np.outer(weights, spreads).ravel(), np.outer(rates, rates).ravel()),
        "seconds": np.repeat(seconds, n), "seconds_ends": np.repeat(high, n, axis=0),
    }  # fmt: skip


def deviation(family: str, mean: Floats, spread: Floats) -> Floats:
    """The standard deviation of the criterion of every law."""
    return np.asarray(spread * (np.pi / np.sqrt(3) if family == "logistic" else np.sqrt(mean * (1 - mean))))


def spread_quantiles(
    width: Floats, mass: Floats, zero: float, shares: Sequence[float] = (0.025, 0.5, 0.975)
) -> tuple[float, ...]:
    """Quantiles of the spread: so much mass at exactly 0, the rest between the widths of the laws."""
    order = np.argsort(width, kind="stable")
    total = zero + mass.sum()
    share = (zero + np.cumsum(mass[order])) / total
    found = np.interp(shares, np.append(0.0, share), np.append(0.0, width[order]))
    return tuple(0.0 if zero / total > q else float(value) for q, value in zip(shares, found))


def coin(present: Floats) -> float:
    """The log evidence of answers that depend on no sound: each on the last few (none to three), in whatever way.

    The mixture of the orders alike, with the prior of Krichevsky and Trofimov for every context. It holds whoever
    tosses a coin, says always the same, alternates or goes round in a short circle.
    """
    y = present[~np.isnan(present)].astype(np.int64)
    found = []
    for order in range(4):
        seen, total = np.full((2**order, 2), 0.5), 0.0
        for k, said in enumerate(y):
            at = int("".join(map(str, y[max(0, k - order) : k])) or "0", 2)
            total += math.log(seen[at, said] / seen[at].sum())
            seen[at, said] += 1
        found.append(total)
    return float(scipy.special.logsumexp(found)) - math.log(4)


def cells(nodes: Floats) -> Floats:
    """The stretch (low, high) that each node of a grid stands for: up to the middles between them."""
    edges = np.concatenate((nodes[:1], (nodes[1:] + nodes[:-1]) / 2, nodes[-1:]))
    return np.column_stack((edges[:-1], edges[1:]))


def peak(found: Surface, groups: Groups) -> Surface:
    """A closer look around the best pair."""
    axes = []
    for values in (found.mean, found.spread):
        nodes, at = np.unique(values), values[np.argmax(found.value)]
        k = int(np.searchsorted(nodes, at))
        axes.append(np.linspace((nodes[max(k - 1, 0)] + at) / 2, (nodes[min(k + 1, len(nodes) - 1)] + at) / 2, 7))
    mean, spread = (v.ravel() for v in np.meshgrid(*axes, indexing="ij"))
    return _surface(found.family, groups, mean, spread, np.ones(len(mean)))


def rate_interval(value: float, variance: float) -> tuple[float, float, float]:
    """The rate between the ends of Jeffreys' interval for as many answers as its variance is worth."""
    p = min(max(value, 0.01), 0.99)
    n = max(p * (1 - p) / max(variance, 1e-12) - 1, 0.5)
    low, high = scipy.special.betaincinv(n * value + 0.5, n * (1 - value) + 0.5, [0.025, 0.975])
    return float(low) if n * value > 0.5 else 0.0, value if value > 1e-6 else 0.0, float(high)


def slopes(family: str, h: Floats, at: Floats) -> tuple[Floats, Floats]:
    """P(present) at every share, and how it changes with the mean, the spread, the guess and the hit rate (``at``)."""

    def chance(v: Floats) -> Floats:
        return np.asarray(v[2] + (v[3] - v[2]) * cdf(family, h, v[:1], v[1:2])[0])

    steps = 1e-5 * np.eye(4)
    return chance(at), np.array([(chance(at + step) - chance(at - step)) / 2e-5 for step in steps])


def influence(found: Surface, groups: Groups) -> tuple[tuple[Floats, Floats], Floats]:
    """What an absent and a present answer of each group add to the mean, to first order; the parameters' covariance."""
    best = int(np.argmax(found.value))
    least = 0.15 if found.family == "beta" else 0.04  # a step has no slope
    rates = max(found.guess[best], 0.01), min(found.hit[best], 0.99)
    p, slope = slopes(found.family, groups.h, np.array([found.mean[best], max(found.spread[best], least), *rates]))
    variance = np.maximum(p * (1 - p), 1e-4)
    information = (slope * (groups.answers / variance)) @ slope.T + np.diag([1e-6, 100.0, SLIPS, SLIPS])
    covariance = np.linalg.inv(information)
    direction = covariance[0] @ (slope / variance)
    return (np.asarray(-direction * p), np.asarray(direction * (1 - p))), np.asarray(covariance, dtype=np.float64)


def design_effect(
    weights: tuple[Floats, Floats], groups: Groups, y: Floats, clusters: Sequence[Ints]
) -> tuple[float, float]:
    """How much larger clusters make the variance of the mean, and Student's factor for how few of them there are.

    Of two ways to cluster the variances add, less that of the clusters of both (Cameron, Gelbach and Miller): what one
    annotator says of one recording is not counted twice.
    """
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
    return effect, float(scipy.special.stdtrit(min(counts) - 1, 0.975)) / 1.959963984540054


def pooled(groups: Groups, y: Floats, unit: Ints, whole: Any) -> tuple[Floats, Floats]:
    """The mean criterion of every unit (annotator or class) and its interval, drawn towards the others.

    Each unit has its own mean; spread, guesses and lapses are those of all together. The means follow a Beta law whose
    own mean and spread make the answers most likely (empirical Bayes), so that a unit with few answers stays near.
    ``whole`` is the estimate of all answers together.
    """
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
            log = scipy.special.xlogy(m * total - 1, grid) + scipy.special.xlog1py((1 - m) * total - 1, -grid)
            log -= scipy.special.logsumexp(log)
            value = float(scipy.special.logsumexp(likelihood + log, axis=1).sum())
            if value > best:
                best, prior = value, log
    mass = np.exp(likelihood + prior - (likelihood + prior).max(axis=1, keepdims=True))
    share = np.cumsum(mass, axis=1) / mass.sum(axis=1, keepdims=True)
    ends = np.array([np.interp([0.5, 0.025, 0.975], row - row[0] / 2, grid) for row in share])
    return ends[:, 0], ends[:, 1:]


def log_likelihood(k: Floats, n: Floats) -> Floats:
    """The binomial log likelihood at its maximum, k of n."""
    safe = np.maximum(n, 1.0)
    return np.asarray(scipy.special.xlogy(k, k / safe) + scipy.special.xlogy(n - k, (n - k) / safe), dtype=np.float64)


@dataclass(frozen=True)
class Step:
    """The likelihood of every place where a hard criterion may lie: between ``low`` and ``high``, with both rates."""

    low: Floats
    high: Floats
    below: Floats
    above: Floats
    value: Floats
    pooled: float  # without any criterion

    @property
    def best(self) -> float:
        """The middle of the places that fit best."""
        top = self.value >= self.value.max() - 1e-9
        return (float(self.low[top].min()) + float(self.high[top].max())) / 2


def step_profile(h: Floats, y: Floats, *, most: float = 1.0) -> Step:
    """The profile likelihood of a hard criterion on any scale, in O(n log n)."""
    groups = grouped(h, y)
    value, count, presents = groups.h, groups.answers, groups.presents
    # Cut i puts the first i distinct fractions below the criterion, which then lies in (value[i - 1], value[i]].
    n0 = np.concatenate(([0.0], np.cumsum(count)))
    k0 = np.concatenate(([0.0], np.cumsum(presents)))
    n1, k1 = n0[-1] - n0, k0[-1] - k0
    low, high = np.concatenate(([0.0], value)), np.concatenate((value, [most]))
    p0, p1 = k0 / np.maximum(n0, 1), k1 / np.maximum(n1, 1)
    pooled = float(log_likelihood(k0[-1:], n0[-1:])[0])
    rises = (n0 > 0) & (n1 > 0) & (p1 > p0)
    # An annotator who says present less often where more is heard is no threshold: the best is then no change at all.
    profile = np.where(rises, log_likelihood(k0, n0) + log_likelihood(k1, n1), pooled)
    return Step(low, high, p0, p1, np.where(high > low, profile, -np.inf), pooled)
