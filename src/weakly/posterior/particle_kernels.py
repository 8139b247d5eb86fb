r"""Whole timelines as particles, compiled: their weights, their moves, and what an answer would tell of them.

A particle is a set of events, disjoint and in order, and the numbers that nobody knows beforehand (:data:`NAMES`). The
stretch from ``low`` to ``high`` is a window into a renewal process that has gone on for long, the one of
:mod:`.renewal`: gaps are exponential, lengths :math:`d_j` lognormal with mean :math:`\mu`, and an event may begin
before the window or end after it. With :math:`g` the seconds of the window without an event, a timeline weighs

.. math:: \frac{1}{1 + \lambda\mu}\,\lambda^M e^{-\lambda g} \prod_j f(d_j),

times what the signal says (:class:`~.particles.SignalPrior`). Events are kept uncut; what can be heard of one ends
with the recording, from 0 to ``length``, and an event is as long as it is heard. The answer to a segment is present
with probability :math:`g_0 + (1 - g_0 - l)\,F(h)`, h the largest share of one event in it, F a logistic function around
the criterion whose spread is one of the unknown numbers. Each answer reweights the particles, which are then drawn anew
and moved by reversible jumps (births, deaths, shifts of edges, splits, mergers, other numbers) that leave the posterior
as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.compiled import kernel, leaf

if TYPE_CHECKING:
    from .particles import Prior, SignalPrior

#: The unknown numbers of a particle, each on a scale without bounds (logit, logit of twice the rate, logarithm).
NAMES = (
    "presence_criterion", "spread", "guess_rate", "lapse_rate", "event_rate", "event_length", "length_spread",
    "edge_weight", "level_weight",
)  # fmt: skip
MOST = 64  # events of one particle
FIRST = 0.125  # seconds
_SHORTEST = 1e-3  # seconds of an event
_NUMBER = 16  # of 20 kinds of moves, the first of those that change a number
_UNSEEN = 0.02  # of the events are where the signal shows nothing
_HALF_LOG_TAU = 0.9189385332046727
LOG_TWO = 0.6931471805599453


@leaf
def _logistic(x: float) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


@leaf
def _entropy(p: float) -> Any:
    if p <= 0 or p >= 1:
        return 0.0
    return -(p * np.log(p) + (1 - p) * np.log(1 - p)) / LOG_TWO


@leaf
def _prior(x: Any, prior: Prior) -> Any:
    a, b = _normal(x, prior, 0), _normal(x, prior, 1)
    return max(a, b) + np.log1p(np.exp(-abs(a - b)))


@leaf
def _busy(x: Any) -> Any:
    """Rate times mean length: the odds that an event is under way at any time."""
    sigma = np.exp(x[6])
    return np.exp(x[4] + x[5] + 0.5 * sigma * sigma)


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
    first, last = max(a, 0.0), min(b, (n - 1) * signal.step)
    i, j = int(first / signal.step + 0.5), int(last / signal.step + 0.5)
    told, mean = 0.0, _at(weight, signal, signal.edge_mean)
    told += weight * signal.edge[i] - mean if first == a else 0.0  # of an edge outside it says nothing
    told += weight * signal.edge[j] - mean if last == b else 0.0
    if len(signal.level):
        j = min(n - 1, max(j, i + 1))
        i = min(i, j - 1)
        loud = (signal.level[j] - signal.level[i]) / (j - i)
        weight = min(signal.weights[-1], np.exp(x[8]))
        row = min(len(signal.level_mean) - 1, max(0, int(np.log((last - first) / FIRST) / LOG_TWO + 0.5)))
        told += weight * loud - _at(weight, signal, signal.level_mean[row])
    return np.log(_UNSEEN + (1 - _UNSEEN) * np.exp(told))


@leaf
def _timeline(
    starts: Any, ends: Any, many: int, x: Any, signal: SignalPrior, left: float, right: float, low: float, high: float
) -> Any:
    """The logarithm of the weight of a timeline before any answer, as far as it depends on what meets left to right."""
    rate, mu, sigma = np.exp(x[4]), x[5], np.exp(x[6])
    total = rate * (max(left, low) - min(right, high))
    for k in range(many):
        if ends[k] < left or starts[k] > right:
            continue
        within = min(ends[k], high) - max(starts[k], low)
        total += x[4] + rate * within + _length(ends[k] - starts[k], mu, sigma) + _says(starts[k], ends[k], x, signal)
    return total


@leaf
def fraction(starts: Any, ends: Any, many: int, s: float, e: float, length: float) -> Any:
    """The largest share of one event, as far as it is heard, in a segment."""
    most = 0.0
    for k in range(many):
        if ends[k] <= s:
            continue
        if starts[k] >= e:
            break
        a, b = max(starts[k], 0.0), min(ends[k], length)
        most = max(most, (min(b, e) - max(a, s)) / (b - a))
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
def likelihood(starts: Any, ends: Any, count: Any, x: Any, s: float, e: float, present: float, length: float) -> Any:
    """The logarithm of the chance of one answer under each particle."""
    log = np.empty(len(count))
    for i in range(len(count)):
        log[i] = _answer(fraction(starts[i], ends[i], count[i], s, e, length), present, hearing(x[i]))
    return log


@kernel
def begin(rng: Any, x: Any, starts: Any, ends: Any, count: Any, low: float, high: float) -> None:
    """Timelines of the window, one for each particle. An event that is under way at its beginning has a length in
    proportion to which it is met, and began anywhere within it."""
    for i in range(len(count)):
        at, many, mu, sigma = low, 0, x[i, 5], np.exp(x[i, 6])
        if rng.random() * (1 + _busy(x[i])) > 1:
            d = np.exp(mu + sigma * sigma + sigma * rng.normal())
            starts[i, 0] = low - d * rng.random()
            ends[i, 0] = at = starts[i, 0] + d
            many = 1
        while many < starts.shape[1]:
            at += rng.exponential(1.0) * np.exp(-x[i, 4])
            if at >= high:
                break
            starts[i, many] = at
            at += max(_SHORTEST, np.exp(mu + sigma * rng.normal()))
            ends[i, many] = at
            many += 1
        count[i] = many


@leaf
def _place(a: float, b: float, segments: Any, yes: Any, low: float, high: float) -> Any:
    """The logarithm of how likely an event of this length is proposed here: anywhere in the window, or with its middle
    in a present segment."""
    inside, middle = 0.0, (a + b) / 2
    for j in yes:
        if segments[j, 0] <= middle <= segments[j, 1]:
            inside += 1 / (segments[j, 1] - segments[j, 0])
    anywhere = 1 / (high - low + b - a)
    if len(yes) == 0:
        return np.log(anywhere)
    return np.log(0.5 * anywhere + 0.5 * inside / len(yes))


@leaf
def _propose(rng: Any, segments: Any, yes: Any, low: float, high: float, mu: float, sigma: float) -> Any:
    d = max(_SHORTEST, np.exp(mu + sigma * rng.normal()))
    if len(yes) == 0 or rng.random() < 0.5:
        middle = low - d / 2 + (high - low + d) * rng.random()
    else:
        j = yes[int(rng.random() * len(yes))]
        middle = segments[j, 0] + (segments[j, 1] - segments[j, 0]) * rng.random()
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
    low: float, high: float, length: float, prior: Prior, signal: SignalPrior, scale: Any, effort: float,
) -> None:  # fmt: skip
    """Move every particle by reversible jumps that leave the posterior as it is."""
    room, n_asked = starts.shape[1], len(present)
    tried = np.empty(room + 1), np.empty(room + 1), np.empty(x.shape[1])
    old = np.empty(n_asked), np.empty(n_asked)
    new = np.empty(n_asked), np.empty(n_asked), np.empty(n_asked, np.int64)
    _move(rng, starts, ends, count, x, segments, present, power, yes, low, high, length, prior, signal, scale, effort,
          tried, old, new)  # fmt: skip


@leaf
def _move(
    rng: Any, starts: Any, ends: Any, count: Any, x: Any, segments: Any, present: Any, power: Any, yes: Any,
    low: float, high: float, length: float, prior: Prior, signal: SignalPrior, scale: Any, effort: float,
    tried: Any, old: Any, fresh: Any,
) -> None:  # fmt: skip
    room, n_asked, numbers = starts.shape[1], len(present), x.shape[1]
    ta, tb, tx = tried  # a particle as it may become
    share, held = old  # of each answer: the largest share of one event, the logarithm of its chance
    new_share, new, touched = fresh  # and of those that change
    free = numbers if len(signal.edge) else 7
    n_events = 0
    for i in range(len(count)):
        n_events += count[i]
    # As many for all: more where there are more events would favour few.
    moves = int(effort * (8 + 4 * n_events / len(count)))
    for i in range(len(count)):
        a_i, b_i, x_i = starts[i], ends[i], x[i]
        many, heard = count[i], hearing(x_i)
        for q in range(n_asked):
            share[q] = fraction(a_i, b_i, many, segments[q, 0], segments[q, 1], length)
            held[q] = power[q] * _answer(share[q], present[q], heard)
        chance = _prior(x_i, prior) - np.log1p(_busy(x_i))
        for _ in range(moves):
            for k in range(many):
                ta[k], tb[k] = a_i[k], b_i[k]
            for k in range(numbers):
                tx[k] = x_i[k]
            mu, sigma = x_i[5], np.exp(x_i[6])
            now, ratio, kind = many, 0.0, int(rng.random() * 20)
            left, right = low, high  # the stretch whose answers change
            if kind < 3:  # birth
                a, b = _propose(rng, segments, yes, low, high, mu, sigma)
                if many >= room or a >= high or b <= low:
                    continue
                now = _insert(ta, tb, many, a, b)
                left, right = a, b
                ratio = -np.log(many + 1.0) - _place(a, b, segments, yes, low, high) - _length(b - a, mu, sigma)
            elif kind < 6:  # death
                if many == 0:
                    continue
                k = int(rng.random() * many)
                left, right = ta[k], tb[k]
                ratio = np.log(1.0 * many) + _length(right - left, mu, sigma)
                ratio += _place(left, right, segments, yes, low, high)
                _remove(ta, tb, many, k)
                now = many - 1
            elif kind < 7:  # another place
                if many == 0:
                    continue
                k = int(rng.random() * many)
                a, b = _propose(rng, segments, yes, low, high, mu, sigma)
                if a >= high or b <= low:
                    continue
                ratio = _place(ta[k], tb[k], segments, yes, low, high) + _length(tb[k] - ta[k], mu, sigma)
                ratio -= _place(a, b, segments, yes, low, high) + _length(b - a, mu, sigma)
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
                    ta[k], tb[k] = a + by, b + by
                elif kind < 12:
                    ta[k] = a + by
                else:
                    tb[k] = b + by
                left, right = min(a, ta[k]), max(b, tb[k])
                if tb[k] <= low or ta[k] >= high or tb[k] - ta[k] < _SHORTEST:
                    continue
                if (k > 0 and tb[k - 1] > ta[k]) or (k + 1 < many and ta[k + 1] < tb[k]):
                    continue
            elif kind < _NUMBER:  # split in two, or merge neighbours
                if rng.random() < 0.5:
                    if many == 0 or many >= room:
                        continue
                    k = int(rng.random() * many)
                    left, right = ta[k], tb[k]
                    u, v = left + (right - left) * rng.random(), left + (right - left) * rng.random()
                    u, v = min(u, v), max(u, v)
                    if u - left < _SHORTEST or right - v < _SHORTEST or u <= low or v >= high:
                        continue
                    tb[k] = u
                    now = _insert(ta, tb, many, v, right)
                    ratio = 2 * np.log(right - left) - np.log(2.0)  # one of `many` either way
                else:
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
                kind = _NUMBER
                if k == 0 and rng.random() < 0.5:  # and events that need as many seconds as before
                    kind = _NUMBER + 1
                    factor = _logistic(x_i[0]) / _logistic(tx[0])
                    for j in range(many):
                        middle, half = (ta[j] + tb[j]) / 2, (tb[j] - ta[j]) / 2 * factor
                        ta[j], tb[j] = middle - half, middle + half
                        if tb[j] <= low or ta[j] >= high or 2 * half < _SHORTEST or (j > 0 and tb[j - 1] > ta[j]):
                            now = -1
                    tx[5] += np.log(factor)
                    ratio = many * np.log(factor)
            if now < 0:
                continue
            ratio += _timeline(ta, tb, now, tx, signal, left, right, low, high)
            ratio -= _timeline(a_i, b_i, many, x_i, signal, left, right, low, high)
            believed = chance
            if kind >= _NUMBER:
                believed = _prior(tx, prior) - np.log1p(_busy(tx))
                heard = hearing(tx)
                ratio += believed - chance
            changed = 0
            if kind != _NUMBER or k < 4:
                for q in range(n_asked):
                    if segments[q, 1] > left and segments[q, 0] < right:
                        h = (
                            share[q]
                            if kind == _NUMBER
                            else fraction(ta, tb, now, segments[q, 0], segments[q, 1], length)
                        )
                        new_share[changed] = h
                        new[changed] = power[q] * _answer(h, present[q], heard)
                        touched[changed] = q
                        ratio += new[changed] - held[q]
                        changed += 1
            if np.log(max(1e-300, rng.random())) < ratio:
                for j in range(changed):
                    share[touched[j]], held[touched[j]] = new_share[j], new[j]
                for j in range(now):
                    a_i[j], b_i[j] = ta[j], tb[j]
                many, chance = now, believed
                for j in range(numbers):
                    x_i[j] = tx[j]
            elif kind >= _NUMBER:
                heard = hearing(x_i)
        count[i] = many


@kernel
def bits(starts: Any, ends: Any, count: Any, x: Any, weight: Any, onsets: Any, offsets: Any, length: float) -> Any:
    """Bits that the answer to the segment of each onset and offset tells about the particles; (onsets, offsets).

    For one particle and onset the segments that satisfy the rule are those from a first offset on.
    """
    n, m = len(onsets), len(offsets)
    said, noise = np.zeros((n, m + 1)), np.zeros((n, m + 1))
    base, quiet = 0.0, 0.0
    for i in range(len(count)):
        gamma, _, guess, lapse, _, _ = hearing(x[i])
        w = weight[i]
        base += w * guess
        quiet += w * _entropy(guess)
        gain, louder = w * (1 - guess - lapse), w * (_entropy(lapse) - _entropy(guess))
        for j in range(n):
            s, first = onsets[j], np.inf
            for k in range(count[i]):
                a, b = max(starts[i, k], 0.0), min(ends[i, k], length)
                need = gamma * (b - a)
                if b - s < need:
                    continue
                if a > first:
                    break
                first = min(first, max(a, s) + need)
            if first <= offsets[m - 1]:
                below, at = 0, m - 1
                while below < at:
                    middle = (below + at) // 2
                    if offsets[middle] >= first:
                        at = middle
                    else:
                        below = middle + 1
                said[j, at] += gain
                noise[j, at] += louder
    told = np.zeros((n, m))
    for j in range(n):
        p, h = base, quiet
        for k in range(m):
            p += said[j, k]
            h += noise[j, k]
            told[j, k] = max(0.0, _entropy(p) - h)
    return told


@leaf
def _cover(starts: Any, ends: Any, count: Any, weight: Any, low: float, step: float, active: Any) -> None:
    """Add the weight of every particle to the steps in which an event is under way."""
    n = len(active) - 1
    for i in range(len(count)):
        for k in range(count[i]):
            active[min(n, max(0, int((starts[i, k] - low) / step + 0.5)))] += weight[i]
            active[min(n, max(0, int((ends[i, k] - low) / step + 0.5)))] -= weight[i]
    for t in range(1, n + 1):
        active[t] += active[t - 1]


@kernel
def cover(starts: Any, ends: Any, count: Any, weight: Any, low: float, step: float, n: int) -> Any:
    """P(an event is under way), for each of n steps."""
    active = np.zeros(n + 1)
    _cover(starts, ends, count, weight, low, step, active)
    return active[:n]


@kernel
def gains(
    starts: Any, ends: Any, count: Any, x: Any, weight: Any, segments: Any, low: float, step: float, n: int,
    length: float,
) -> Any:  # fmt: skip
    r"""How much the answer to each segment is expected to lower the variance of every moment's label, over seconds.

    .. math:: \sum_t P(1-P)\,(P(\text{active}_t \mid \text{present}) - P(\text{active}_t \mid \text{absent}))^2
    """
    gain, every = np.empty(len(segments)), cover(starts, ends, count, weight, low, step, n)
    present, with_yes = np.empty((len(segments), len(count))), np.empty(n + 1)
    for i in range(len(count)):
        a, b, heard = starts[i], ends[i], hearing(x[i])
        for j in range(len(segments)):
            present[j, i] = weight[i] * chance_of(
                fraction(a, b, count[i], segments[j, 0], segments[j, 1], length), heard
            )
    for j in range(len(segments)):
        p = 0.0
        for i in range(len(count)):
            p += present[j, i]
        with_yes[:] = 0.0
        _cover(starts, ends, count, present[j], low, step, with_yes)
        total = 0.0
        for t in range(n):
            apart = with_yes[t] / p - (every[t] - with_yes[t]) / (1 - p)
            total += apart * apart
        gain[j] = total * step * p * (1 - p)
    return gain
