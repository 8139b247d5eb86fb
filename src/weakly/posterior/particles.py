r"""Whole timelines as particles: what the answers say of the events, of how somebody hears, and of their rates.

A particle is a set of events, disjoint and in order, and the numbers that nobody knows beforehand (:data:`NAMES`). Its
weight before any answer is that of a renewal process: gaps are exponential, lengths are lognormal,

.. math:: \lambda^M e^{-\lambda\,(T - \sum d_j)} \prod_j f(d_j),

times what the signal says (:class:`SignalPrior`). The answer to a segment is present with probability
:math:`g + (1 - g - l)\,F(h)`, h the largest share of one event in it, F a logistic function around the criterion whose
spread is one of the unknown numbers. Each answer reweights the particles, which are then drawn anew and moved by
reversible jumps (births, deaths, shifts of edges, splits, mergers, other numbers) that leave the posterior as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.compiled import kernel, leaf

#: The unknown numbers of a particle, each on a scale without bounds (logit, logit of twice the rate, logarithm).
NAMES = (
    "presence_criterion", "spread", "guess_rate", "lapse_rate", "event_rate", "event_length", "length_spread",
    "edge_weight", "level_weight",
)  # fmt: skip
MOST = 64  # events of one particle
FIRST = 0.125  # seconds
_SHORTEST = 1e-3  # seconds of an event
_UNSEEN = 0.02  # of the events are where the signal shows nothing
_HALF_LOG_TAU = 0.9189385332046727
LOG_TWO = 0.6931471805599453


class Prior(NamedTuple):
    """A mixture of two normal laws of the unknown numbers: what is expected, and what is possible after all."""

    mean: Any  # (2, n)
    precision: Any  # (2, n, n)
    log_weight: Any  # (2,): of the mixture, with the normal laws' own constants


class SignalPrior(NamedTuple):
    """What the signal says on steps of ``step`` seconds from 0: empty arrays where there is none.

    ``edge`` holds the logarithm of how likely a change is; an edge there weighs as much to the power of a weight, over
    its mean over time, whose logarithm is ``edge_mean`` at ``weights``. ``level`` sums up over time how loud it is; an
    event weighs the exponential of its mean to the power of another weight, over what an event of its length weighs on
    average: ``level_mean``, one row per doubling of :data:`FIRST` seconds. A few events may be anywhere, whatever the
    signal says: else a signal that was right about all others would hide them for ever. So weights are learned from
    answers alone: no timeline gains from a larger weight unless its events lie where the signal says.
    """

    step: float
    edge: Any
    weights: Any
    edge_mean: Any
    level: Any
    level_mean: Any


@leaf
def _logistic(x: float) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


@leaf
def _prior(x: Any, prior: Prior) -> Any:
    a, b = _normal(x, prior, 0), _normal(x, prior, 1)
    return max(a, b) + np.log1p(np.exp(-abs(a - b)))


@leaf
def _normal(x: Any, prior: Prior, c: int) -> Any:
    value = prior.log_weight[c]
    for i in range(len(x)):
        u, other = x[i] - prior.mean[c, i], 0.0
        for j in range(i):
            other += prior.precision[c, i, j] * (x[j] - prior.mean[c, j])
        value -= u * (other + 0.5 * u * prior.precision[c, i, i])
    return value


@leaf
def _length(d: float, mu: float, sigma: float) -> Any:
    log = np.log(d)
    z = (log - mu) / sigma
    return -0.5 * z * z - log - np.log(sigma) - _HALF_LOG_TAU


@leaf
def _at(weight: float, signal: SignalPrior, means: Any) -> Any:
    place = weight / signal.weights[-1] * (len(signal.weights) - 1)
    k = min(len(signal.weights) - 2, int(place))
    part = min(1.0, place - k)
    return (1 - part) * means[k] + part * means[k + 1]


@leaf
def _says(a: float, b: float, x: Any, signal: SignalPrior) -> Any:
    """What the signal makes of one event."""
    if len(signal.edge) == 0:
        return 0.0
    n, weight = len(signal.edge), min(signal.weights[-1], np.exp(x[7]))
    i, j = min(n - 1, int(a / signal.step + 0.5)), min(n - 1, int(b / signal.step + 0.5))
    found = weight * (signal.edge[i] + signal.edge[j]) - 2 * _at(weight, signal, signal.edge_mean)
    if len(signal.level):
        j = min(n - 1, max(j, i + 1))
        i = min(i, j - 1)
        loud = (signal.level[j] - signal.level[i]) / (j - i)
        weight = min(signal.weights[-1], np.exp(x[8]))
        row = min(len(signal.level_mean) - 1, max(0, int(np.log((b - a) / FIRST) / LOG_TWO + 0.5)))
        found += weight * loud - _at(weight, signal, signal.level_mean[row])
    return np.log(_UNSEEN + (1 - _UNSEEN) * np.exp(found))


@leaf
def _timeline(starts: Any, ends: Any, many: int, x: Any, signal: SignalPrior, left: float, right: float) -> Any:
    """The logarithm of the weight of a timeline before any answer, as far as it depends on what meets left to right."""
    rate, mu, sigma = np.exp(x[4]), x[5], np.exp(x[6])
    total = rate * (left - right)
    for k in range(many):
        if ends[k] < left or starts[k] > right:
            continue
        d = ends[k] - starts[k]
        total += x[4] + rate * d + _length(d, mu, sigma) + _says(starts[k], ends[k], x, signal)
    return total


@leaf
def fraction(starts: Any, ends: Any, many: int, s: float, e: float) -> Any:
    """The largest share of one event in a segment."""
    most = 0.0
    for k in range(many):
        if ends[k] <= s:
            continue
        if starts[k] >= e:
            break
        share = (min(ends[k], e) - max(starts[k], s)) / (ends[k] - starts[k])
        most = max(most, share)
    return most


@leaf
def chance_of(h: float, heard: Any) -> Any:
    """P(present) of a segment that holds this share of an event: ``Annotator.logistic``, compiled."""
    gamma, spread, guess, lapse, low, high = heard
    if h <= 0:
        return guess
    if h >= 1 - 1e-9:
        return 1 - lapse
    z = (h - gamma) / spread
    if z > 37:  # as near to 1 as doubles are
        return 1 - lapse
    return guess + (1 - guess - lapse) * max(0.0, (_logistic(z) - low) / (high - low))


@leaf
def hearing(x: Any) -> Any:
    """How somebody answers: criterion, spread, guesses, lapses, and the logistic function where h is 0 and 1."""
    gamma, spread = _logistic(x[0]), np.exp(x[1])
    ends = _logistic(-gamma / spread), _logistic((1 - gamma) / spread)
    return gamma, spread, 0.5 * _logistic(x[2]), 0.5 * _logistic(x[3]), ends[0], ends[1]


@leaf
def _answer(h: float, present: float, heard: Any) -> Any:
    p = chance_of(h, heard)
    return np.log(max(1e-300, p if present > 0.5 else 1 - p))


@kernel
def likelihood(starts: Any, ends: Any, count: Any, x: Any, s: float, e: float, present: float) -> Any:
    """The logarithm of the chance of one answer under each particle."""
    found = np.empty(len(count))
    for i in range(len(count)):
        found[i] = _answer(fraction(starts[i], ends[i], count[i], s, e), present, hearing(x[i]))
    return found


@kernel
def begin(rng: Any, x: Any, starts: Any, ends: Any, count: Any, low: float, high: float) -> None:
    """Timelines of the renewal process in which no event is under way at the end, one for each particle."""
    for i in range(len(count)):
        for _ in range(50):  # then, where events are as long as all of it, without the last one
            at, many, fits = low, 0, True
            while many < starts.shape[1]:
                at += rng.exponential(1.0) * np.exp(-x[i, 4])
                if at >= high:
                    break
                end = at + max(_SHORTEST, np.exp(x[i, 5] + np.exp(x[i, 6]) * rng.normal()))
                if end > high:
                    fits = False
                    break
                starts[i, many], ends[i, many] = at, end
                many += 1
                at = end
            if fits:
                break
        count[i] = many


@leaf
def _place(middle: float, segments: Any, yes: Any, low: float, high: float) -> Any:
    """The logarithm of how likely a new event is proposed around a middle: anywhere, or in a present segment."""
    inside = 0.0
    for j in yes:
        if segments[j, 0] <= middle <= segments[j, 1]:
            inside += 1 / (segments[j, 1] - segments[j, 0])
    if len(yes) == 0:
        return -np.log(high - low)
    return np.log(0.5 / (high - low) + 0.5 * inside / len(yes))


@leaf
def _propose(rng: Any, segments: Any, yes: Any, low: float, high: float, mu: float, sigma: float) -> Any:
    if len(yes) == 0 or rng.random() < 0.5:
        middle = low + (high - low) * rng.random()
    else:
        j = yes[int(rng.random() * len(yes))]
        middle = segments[j, 0] + (segments[j, 1] - segments[j, 0]) * rng.random()
    d = max(_SHORTEST, np.exp(mu + sigma * rng.normal()))
    return middle - d / 2, middle + d / 2


@leaf
def _insert(starts: Any, ends: Any, many: int, a: float, b: float) -> int:
    """Put an event in its place; -1 if it meets another."""
    k = many
    while k > 0 and starts[k - 1] > a:
        starts[k], ends[k] = starts[k - 1], ends[k - 1]
        k -= 1
    starts[k], ends[k] = a, b
    if (k > 0 and ends[k - 1] > a) or (k < many and starts[k + 1] < b):
        return -1
    return many + 1


@leaf
def _remove(starts: Any, ends: Any, many: int, k: int) -> None:
    for j in range(k, many - 1):
        starts[j], ends[j] = starts[j + 1], ends[j + 1]


@kernel
def move(
    rng: Any, starts: Any, ends: Any, count: Any, x: Any, segments: Any, present: Any, power: Any, yes: Any,
    low: float, high: float, prior: Prior, signal: SignalPrior, scale: Any, effort: float,
) -> Any:  # fmt: skip
    """Move every particle by reversible jumps that leave the posterior as it is; tried and accepted moves by kind."""
    room, n_asked, tally = starts.shape[1], len(present), np.zeros((10, 2))
    tried = np.empty(room + 1), np.empty(room + 1), np.empty(x.shape[1])
    old = np.empty(n_asked), np.empty(n_asked)
    new = np.empty(n_asked), np.empty(n_asked), np.empty(n_asked, np.int64)
    _move(rng, starts, ends, count, x, segments, present, power, yes, low, high, prior, signal, scale, effort, tally,
          tried, old, new)  # fmt: skip
    return tally


@leaf
def _move(
    rng: Any, starts: Any, ends: Any, count: Any, x: Any, segments: Any, present: Any, power: Any, yes: Any,
    low: float, high: float, prior: Prior, signal: SignalPrior, scale: Any, effort: float, tally: Any, tried: Any,
    old: Any, fresh: Any,
) -> None:  # fmt: skip
    room, n_asked, numbers = starts.shape[1], len(present), x.shape[1]
    ta, tb, tx = tried  # a particle as it may become
    share, held = old  # of each answer: the largest share of one event, the logarithm of its chance
    new_share, new, touched = fresh  # and of those that change
    free = numbers if len(signal.edge) else 7
    for i in range(len(count)):
        a_i, b_i, x_i = starts[i], ends[i], x[i]
        many, heard = count[i], hearing(x_i)
        for q in range(n_asked):
            share[q] = fraction(a_i, b_i, many, segments[q, 0], segments[q, 1])
            held[q] = power[q] * _answer(share[q], present[q], heard)
        chance = _prior(x_i, prior)
        for _ in range(int(effort * (8 + 4 * many))):
            for k in range(many):
                ta[k], tb[k] = a_i[k], b_i[k]
            for k in range(numbers):
                tx[k] = x_i[k]
            mu, sigma = x_i[5], np.exp(x_i[6])
            now, ratio, kind = many, 0.0, int(rng.random() * 20)
            left, right = low, high  # the stretch whose answers change
            if kind < 3:  # birth
                kind = 0
                a, b = _propose(rng, segments, yes, low, high, mu, sigma)
                if many >= room or a < low or b > high:
                    continue
                now = _insert(ta, tb, many, a, b)
                left, right = a, b
                ratio = -np.log(many + 1.0) - _place((a + b) / 2, segments, yes, low, high) - _length(b - a, mu, sigma)
            elif kind < 6:  # death
                kind = 1
                if many == 0:
                    continue
                k = int(rng.random() * many)
                left, right = ta[k], tb[k]
                ratio = np.log(1.0 * many) + _length(right - left, mu, sigma)
                ratio += _place((left + right) / 2, segments, yes, low, high)
                _remove(ta, tb, many, k)
                now = many - 1
            elif kind < 7:  # another place
                kind = 2
                if many == 0:
                    continue
                k = int(rng.random() * many)
                a, b = _propose(rng, segments, yes, low, high, mu, sigma)
                if a < low or b > high:
                    continue
                ratio = _place((ta[k] + tb[k]) / 2, segments, yes, low, high) + _length(tb[k] - ta[k], mu, sigma)
                ratio -= _place((a + b) / 2, segments, yes, low, high) + _length(b - a, mu, sigma)
                left, right = min(a, ta[k]), max(b, tb[k])
                _remove(ta, tb, many, k)
                now = _insert(ta, tb, many - 1, a, b)
            elif kind < 15:  # shift, or one edge
                if many == 0:
                    continue
                k = int(rng.random() * many)
                by = rng.normal() * np.exp(mu - 6.0 * rng.random())  # from a length to a 400th of it
                a, b = ta[k], tb[k]
                if kind < 9:
                    kind, ta[k], tb[k] = 3, a + by, b + by
                elif kind < 12:
                    kind, ta[k] = 4, a + by
                else:
                    kind, tb[k] = 5, b + by
                left, right = min(a, ta[k]), max(b, tb[k])
                if left < low or right > high or tb[k] - ta[k] < _SHORTEST:
                    continue
                if (k > 0 and tb[k - 1] > ta[k]) or (k + 1 < many and ta[k + 1] < tb[k]):
                    continue
            elif kind < 16:  # split in two, or merge neighbours
                if rng.random() < 0.5:
                    kind = 6
                    if many == 0 or many >= room:
                        continue
                    k = int(rng.random() * many)
                    left, right = ta[k], tb[k]
                    u, v = left + (right - left) * rng.random(), left + (right - left) * rng.random()
                    u, v = min(u, v), max(u, v)
                    if u - left < _SHORTEST or right - v < _SHORTEST:
                        continue
                    tb[k] = u
                    now = _insert(ta, tb, many, v, right)
                    ratio = 2 * np.log(right - left) - np.log(2.0)  # one of `many` either way
                else:
                    kind = 7
                    if many < 2:
                        continue
                    k = int(rng.random() * (many - 1))
                    left, right = ta[k], tb[k + 1]
                    tb[k] = right
                    _remove(ta, tb, many, k + 1)
                    now = many - 1
                    ratio = np.log(2.0) - 2 * np.log(right - left)
            else:
                k = int(rng.random() * free)
                tx[k] += scale[k] * rng.normal()
                kind = 8
                if k == 0 and rng.random() < 0.5:  # and events that need as many seconds as before
                    kind = 9
                    factor = _logistic(x_i[0]) / _logistic(tx[0])
                    for j in range(many):
                        middle, half = (ta[j] + tb[j]) / 2, (tb[j] - ta[j]) / 2 * factor
                        ta[j], tb[j] = middle - half, middle + half
                        if ta[j] < low or tb[j] > high or 2 * half < _SHORTEST or (j > 0 and tb[j - 1] > ta[j]):
                            now = -1
                    tx[5] += np.log(factor)
                    ratio = many * np.log(factor)
            if now < 0:
                continue
            tally[kind, 0] += 1
            ratio += _timeline(ta, tb, now, tx, signal, left, right)
            ratio -= _timeline(a_i, b_i, many, x_i, signal, left, right)
            believed = chance
            if kind >= 8:
                believed = _prior(tx, prior)
                heard = hearing(tx)
                ratio += believed - chance
            changed = 0
            if kind != 8 or k < 4:
                for q in range(n_asked):
                    if segments[q, 1] > left and segments[q, 0] < right:
                        h = share[q] if kind == 8 else fraction(ta, tb, now, segments[q, 0], segments[q, 1])
                        new_share[changed] = h
                        new[changed] = power[q] * _answer(h, present[q], heard)
                        touched[changed] = q
                        ratio += new[changed] - held[q]
                        changed += 1
            if np.log(max(1e-300, rng.random())) < ratio:
                tally[kind, 1] += 1
                for j in range(changed):
                    share[touched[j]], held[touched[j]] = new_share[j], new[j]
                for j in range(now):
                    a_i[j], b_i[j] = ta[j], tb[j]
                many, chance = now, believed
                for j in range(numbers):
                    x_i[j] = tx[j]
            elif kind >= 8:
                heard = hearing(x_i)
        count[i] = many
