r"""Gamma as a law: how the chance of "present" rises with the share of the event that was heard.

.. math:: P(\text{present} \mid h) = g_0 + (1 - g_0 - \ell)\, G(h), \qquad P(\text{present} \mid 0) = g_0

G is the law of the presence criterion over answers: a Beta law with a mean and a spread (its limit is one hard criterion
for all), or a logistic curve. A segment without an event informs the guess rate and nothing else.

The interval of the mean is the middle 95 % of its posterior: flat in the mean and the spread, with guesses and lapses
at their best for each pair. Two things keep it honest. Answers of one recording or annotator are alike, which a
likelihood of independent answers does not know: it is taken to the power of one over the design effect, the ratio of
the clustered to the plain variance of the mean's influence (a sandwich), with Student's t for few clusters. And answers
that a single criterion explains without one error leave a gap between the last absent and the first present, in which
every criterion is as good as another: its middle 95 % is the interval, as in a law whose spread is nil.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..parallel import kernel

Array = NDArray[np.float64]

FAMILIES = ("beta", "logistic")
WIDEST = 1 / 3  # of the share of the largest variance that a law on (0, 1) with this mean can have: 1/3 is uniform
_PRIOR = 4.0  # as if so many answers without a guess, and without a lapse, had been seen before
_SCALE = 0.3  # of the half-normal prior of the spread, as a share of the largest
_NEAR = 32  # distinct shares on either side of the hard criterion that are kept apart
_MANY = 64  # groups of the others
_FEWEST_CLUSTERS = 5


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


def cdf(family: str, h: Array, mean: Array, spread: Array) -> Array:
    """G(h) for every pair of mean and spread (one row each); 0 where there is no event.

    ``spread`` is the standard deviation over the largest that a Beta law of this mean has, or s of a logistic curve;
    at 0 the criterion is hard.
    """
    from scipy.special import betainc, expit

    m, s, x = mean[:, None], spread[:, None], h[None, :]
    hard = (x >= m * (1 - 1e-9)).astype(np.float64)
    with np.errstate(all="ignore"):
        if family == "logistic":
            soft = expit((x - m) / np.maximum(s, 1e-12))
        else:
            total = 1 / np.maximum(s, 1e-6) ** 2 - 1
            soft = betainc(m * total, (1 - m) * total, x)
    return np.where(x > 0, np.where(s < 1e-5, hard, soft), 0.0)


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
    return Groups(np.bincount(of, weights=h) / n, n, np.bincount(of, weights=y), of)


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
    """A law with some spread: first everywhere, then twice where the posterior's mass lies."""
    scale, most = (_SCALE, np.sqrt(WIDEST)) if family == "beta" else (_SCALE / 4, 0.3)
    mean, spread = np.linspace(0.02, 0.98, 25), np.geomspace(3e-3, most, 12)
    for stage in range(3):
        m, s = (v.ravel() for v in np.meshgrid(mean, spread, indexing="ij"))
        prior = np.outer(np.gradient(mean), np.gradient(spread)).ravel() * np.exp(-((s / scale) ** 2) / 2) / scale / 1.2
        found = _surface(family, groups, m, s, prior)
        if stage == 2:
            break
        share = found.mass(power, float(found.value.max())).reshape(len(mean), len(spread))
        ends = []
        for axis, x in ((1, mean), (0, spread)):
            mass = np.cumsum(share.sum(axis=axis)) / share.sum()
            low = max(int(np.searchsorted(mass, 2e-4)) - 1, 0)
            ends.append((low, x[low], x[min(int(np.searchsorted(mass, 1 - 2e-4)) + 1, len(x) - 1)]))
        mean = np.linspace(*ends[0][1:], 33)
        low, least, most = ends[1]
        spread = np.geomspace(most / 100, most, 12) if low == 0 else np.linspace(least, most, 12)
    return found


def influence(found: Surface, groups: Groups) -> tuple[Array, Array]:
    """What an absent and a present answer of each group add to the estimate of the mean, to first order."""
    best = int(np.argmax(found.value))
    least = 0.15 if found.family == "beta" else 0.04  # a step has no slope
    at = np.array([found.mean[best], max(found.spread[best], least), found.guess[best], found.hit[best]])
    at[2], at[3] = max(at[2], 0.01), min(at[3], 0.99)

    def chance(v: Array) -> Array:
        law = cdf(found.family, groups.h, v[:1], v[1:2])[0]
        return np.asarray(v[2] + (v[3] - v[2]) * law)

    p = chance(at)
    slope = np.empty((4, len(p)))
    for k, step in enumerate((1e-4, 1e-4, 1e-5, 1e-5)):
        up, down = at.copy(), at.copy()
        up[k], down[k] = at[k] + step, at[k] - step
        slope[k] = (chance(up) - chance(down)) / (2 * step)
    variance = np.maximum(p * (1 - p), 1e-4)
    information = (slope * (groups.answers / variance)) @ slope.T + np.diag([1e-6, 100.0, _PRIOR, _PRIOR])
    direction = np.linalg.solve(information, np.eye(4)[0]) @ (slope / variance)
    return -direction * p, direction * (1 - p)


def design_effect(absent: Array, present: Array, groups: Groups, y: Array, clusters: list[Any]) -> tuple[float, float]:
    """How much wider clusters make the variance of the mean, and the degrees of freedom that are left for it."""
    psi = np.where(y > 0.5, present[groups.of], absent[groups.of])
    plain = float((psi**2).sum())
    extra, freedom = 0.0, np.inf
    for code in clusters:
        count = int(code.max()) + 1
        if count < _FEWEST_CLUSTERS or count == len(y) or plain <= 0:
            continue
        sums = np.bincount(code, weights=psi)
        extra += max(float((sums**2).sum()) * count / (count - 1) / plain - 1, 0.0)
        freedom = min(freedom, count - 1)
    return 1 + extra, freedom
