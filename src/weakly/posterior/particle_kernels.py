r"""Whole timelines as particles, compiled: their weights, their moves, and what an answer would tell of them.

A particle is a set of events, disjoint and in order, and the numbers that nobody knows beforehand (:data:`NAMES`). The
stretch from ``low`` to ``high`` is a window into a renewal process that has gone on for long, the one of
:mod:`.renewal`: gaps are exponential, and an event may begin before the window or end after it. Lengths :math:`d_j`
follow a lognormal law but for a share of them that may have any length (log-uniform from 0.05 s to twice the window):
however many short events were found, the next may be a long one. The mean of both is :math:`\mu`. With :math:`g` the
seconds of the window without an event, a timeline weighs

.. math:: \frac{1}{1 + \lambda\mu}\,\lambda^M e^{-\lambda g} \prod_j f(d_j),

times what the signal says (:class:`~.particles.SignalPrior`). Events are kept uncut; what can be heard of one ends
with the recording, from 0 to ``length``, and an event is as long as it is heard. A segment is satisfied if it holds
enough of one event: the share of it that is the criterion, which differs from event to event, or so many seconds, what
is less. The answer is present with probability :math:`1 - l` if it is, :math:`g_0` if not. Each answer reweights the
particles, which are then drawn anew and moved (:mod:`.particle_moves`).
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
    "seconds", "edge_weight", "level_weight",
)  # fmt: skip
MOST = 64  # events of one particle
FIRST = 0.125  # seconds
LEAST = 0.05  # seconds of an event whose length may be any
LEAST_CRITERION = 0.02  # of any event
_UNSEEN = 0.02  # of the events are where the signal shows nothing
_ROOT_TAU = 2.5066282746310002
LOG_TWO = 0.6931471805599453


@leaf
def logistic(x: float) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


@leaf
def _entropy(p: float) -> Any:
    if p <= 0 or p >= 1:
        return 0.0
    return -(p * np.log(p) + (1 - p) * np.log(1 - p)) / LOG_TWO


@leaf
def expected_numbers(x: Any, prior: Prior, longest: float) -> Any:
    """The logarithm of the weight of these numbers before any answer, with the window's own factor."""
    a, b = _normal(x, prior, 0), _normal(x, prior, 1)
    return max(a, b) + np.log1p(np.exp(-abs(a - b))) - np.log1p(busy(x, prior.doubt, longest))


@leaf
def busy(x: Any, doubt: float, longest: float) -> Any:
    """Rate times mean length: the odds that an event is under way at any time."""
    sigma = np.exp(x[6])
    mean = (1 - doubt) * np.exp(x[5] + 0.5 * sigma * sigma) + doubt * (longest - LEAST) / np.log(longest / LEAST)
    return np.exp(x[4]) * mean


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
def length_law(d: float, mu: float, sigma: float, doubt: float, longest: float) -> Any:
    """The logarithm of the density of an event's length."""
    log = np.log(d)
    z = (log - mu) / sigma
    density = (1 - doubt) * np.exp(-0.5 * z * z) / (sigma * _ROOT_TAU)
    if LEAST <= d <= longest:
        density += doubt / np.log(longest / LEAST)
    return np.log(max(density, 1e-300)) - log


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
    n, weight = len(signal.edge), min(signal.weights[-1], np.exp(x[8]))
    first, last = max(a, 0.0), min(b, (n - 1) * signal.step)
    i, j = int(first / signal.step + 0.5), int(last / signal.step + 0.5)
    told, mean = 0.0, _at(weight, signal, signal.edge_mean)
    told += weight * signal.edge[i] - mean if first == a else 0.0  # of an edge outside it says nothing
    told += weight * signal.edge[j] - mean if last == b else 0.0
    if len(signal.level):
        j = min(n - 1, max(j, i + 1))
        i = min(i, j - 1)
        loud = (signal.level[j] - signal.level[i]) / (j - i)
        weight = min(signal.weights[-1], np.exp(x[9]))
        row = min(len(signal.level_mean) - 1, max(0, int(np.log((last - first) / FIRST) / LOG_TWO + 0.5)))
        told += weight * loud - _at(weight, signal, signal.level_mean[row])
    return np.log(_UNSEEN + (1 - _UNSEEN) * np.exp(told))


@leaf
def timeline(
    starts: Any, ends: Any, many: int, x: Any, doubt: float, signal: SignalPrior, left: float, right: float,
    low: float, high: float,
) -> Any:  # fmt: skip
    """The logarithm of the weight of a timeline before any answer, as far as it depends on what meets left to right."""
    rate, mu, sigma, longest = np.exp(x[4]), x[5], np.exp(x[6]), 2 * (high - low)
    total = rate * (max(left, low) - min(right, high))
    for k in range(many):
        if ends[k] < left or starts[k] > right:
            continue
        within = min(ends[k], high) - max(starts[k], low)
        total += x[4] + rate * within + length_law(ends[k] - starts[k], mu, sigma, doubt, longest)
        total += _says(starts[k], ends[k], x, signal)
    return total


@leaf
def enough(d: float, own: float, who: Any) -> Any:
    """Seconds of an event of this length that are noticed; ``own`` says how its criterion differs from the others'."""
    return min(min(1.0, max(LEAST_CRITERION, who[0] + who[1] * own)) * d, who[2]) * (1 - 1e-9)


@leaf
def satisfied(starts: Any, ends: Any, own: Any, many: int, s: float, e: float, length: float, who: Any) -> Any:
    """Whether a segment holds enough of one event, as far as that is heard."""
    for k in range(many):
        if ends[k] <= s:
            continue
        if starts[k] >= e:
            break
        a, b = max(starts[k], 0.0), min(ends[k], length)
        both = min(b, e) - max(a, s)
        if both > 0 and both >= enough(b - a, own[k], who):
            return True
    return False


@leaf
def hearing(x: Any) -> Any:
    """How somebody answers: criterion, its spread over events, seconds that are enough, guesses, lapses."""
    return logistic(x[0]), np.exp(x[1]), np.exp(x[7]), 0.5 * logistic(x[2]), 0.5 * logistic(x[3])


@leaf
def answer(is_met: bool, present: float, who: Any) -> Any:
    """The logarithm of the chance of an answer."""
    p = 1 - who[4] if is_met else who[3]
    return np.log(max(1e-300, p if present > 0.5 else 1 - p))


@kernel
def likelihood(
    starts: Any, ends: Any, own: Any, count: Any, x: Any, s: float, e: float, present: float, length: float
) -> Any:
    """The logarithm of the chance of one answer under each particle."""
    log = np.empty(len(count))
    for i in range(len(count)):
        who = hearing(x[i])
        log[i] = answer(satisfied(starts[i], ends[i], own[i], count[i], s, e, length, who), present, who)
    return log


@kernel
def bits(
    starts: Any, ends: Any, own: Any, count: Any, x: Any, weight: Any, onsets: Any, offsets: Any, length: float
) -> Any:
    """Bits that the answer to the segment of each onset and offset tells about the particles; (onsets, offsets).

    For one particle and onset the segments that satisfy the rule are those from a first offset on.
    """
    n, m = len(onsets), len(offsets)
    said, noise = np.zeros((n, m + 1)), np.zeros((n, m + 1))
    base, quiet = 0.0, 0.0
    for i in range(len(count)):
        who, w = hearing(x[i]), weight[i]
        guess, lapse = who[3], who[4]
        base += w * guess
        quiet += w * _entropy(guess)
        gain, louder = w * (1 - guess - lapse), w * (_entropy(lapse) - _entropy(guess))
        for j in range(n):
            s, first = onsets[j], np.inf
            for k in range(count[i]):
                a, b = max(starts[i, k], 0.0), min(ends[i, k], length)
                need = enough(b - a, own[i, k], who)
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
    starts: Any, ends: Any, own: Any, count: Any, x: Any, weight: Any, segments: Any, low: float, step: float, n: int,
    length: float,
) -> Any:  # fmt: skip
    r"""How much the answer to each segment is expected to lower the variance of every moment's label, over seconds.

    .. math:: \sum_t P(1-P)\,(P(\text{active}_t \mid \text{present}) - P(\text{active}_t \mid \text{absent}))^2
    """
    gain, every = np.empty(len(segments)), cover(starts, ends, count, weight, low, step, n)
    present, with_yes = np.empty((len(segments), len(count))), np.empty(n + 1)
    for i in range(len(count)):
        a, b, c, who = starts[i], ends[i], own[i], hearing(x[i])
        for j in range(len(segments)):
            is_met = satisfied(a, b, c, count[i], segments[j, 0], segments[j, 1], length, who)
            present[j, i] = weight[i] * (1 - who[4] if is_met else who[3])
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
