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
is less; of a few events any share, whatever the others need. The answer is present with probability :math:`1 - l` if it
is, :math:`g_0` if not. Each answer reweights the particles, which are then drawn anew and moved (:func:`move`) by
reversible jumps that leave the posterior as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.compiled import kernel, leaf
from .hearing import ANY, answer, enough, hearing, logistic, satisfied
from .kernels import first_after

if TYPE_CHECKING:
    from .expected import Prior
    from .particles import SignalPrior

#: The unknown numbers of a particle, each on a scale without bounds (logit, logit of twice the rate, logarithm).
NAMES = (
    "presence_criterion", "spread", "guess_rate", "lapse_rate", "event_rate", "event_length", "length_spread",
    "seconds", "edge_weight", "level_weight",
)  # fmt: skip
MOST = 64  # events of one particle
FIRST = 0.125  # seconds
LEAST = 0.05  # seconds of an event whose length may be any
_UNSEEN = 0.02  # of the events are where the signal shows nothing
_ROOT_TAU = 2.5066282746310002
LOG_TWO = 0.6931471805599453
_SHORTEST = 1e-3  # seconds of an event
_KINDS, _NUMBER = 21, 17  # kinds of moves, and the first of those that change a number


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
def _law(x: Any, doubt: float, longest: float) -> Any:
    """Of events: middle and spread of most lengths, the density of any length, the longest of these, and the rate."""
    return x[5], np.exp(x[6]), doubt, doubt / np.log(longest / LEAST), longest, np.exp(x[4])


@leaf
def length_law(d: float, law: Any) -> Any:
    """The logarithm of the density of an event's length."""
    log = np.log(d)
    mu, sigma, doubt, any_length, longest, _ = law
    z = (log - mu) / sigma
    density = (1 - doubt) * np.exp(-0.5 * z * z) / (sigma * _ROOT_TAU)
    if LEAST <= d <= longest:
        density += any_length
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
    starts: Any, ends: Any, many: int, x: Any, law: Any, signal: SignalPrior, left: float, right: float, low: float,
    high: float,
) -> Any:  # fmt: skip
    """The logarithm of the weight of a timeline before any answer, as far as it depends on what meets left to right."""
    rate = law[5]
    total = rate * (max(left, low) - min(right, high))
    for k in range(many):
        if ends[k] < left or starts[k] > right:
            continue
        within = min(ends[k], high) - max(starts[k], low)
        total += x[4] + rate * within + length_law(ends[k] - starts[k], law)
        total += _says(starts[k], ends[k], x, signal)
    return total


@kernel
def chances(starts: Any, ends: Any, own: Any, count: Any, x: Any, segments: Any, length: float) -> Any:
    """The chance of a present answer to each segment under each particle; (segments, particles)."""
    present = np.empty((len(segments), len(count)))
    for i in range(len(count)):
        a, b, c, who = starts[i], ends[i], own[i], hearing(x[i])
        for j in range(len(segments)):
            is_met = satisfied(a, b, c, count[i], segments[j, 0], segments[j, 1], length, who)
            present[j, i] = 1 - who[4] if is_met else who[3]
    return present


@kernel
def bits(starts: Any, ends: Any, own: Any, count: Any, x: Any, onsets: Any, offsets: Any, length: float) -> Any:
    """Bits that the answer to the segment of each onset and offset tells about the particles; (onsets, offsets).

    For one particle and onset the segments that satisfy the rule are those from a first offset on.
    """
    n, m = len(onsets), len(offsets)
    said, noise = np.zeros((n, m + 1)), np.zeros((n, m + 1))
    base, quiet, w = 0.0, 0.0, 1 / len(count)
    for i in range(len(count)):
        who = hearing(x[i])
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
                at = first_after(offsets, 0, m - 1, np.nextafter(first, -np.inf))
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


@kernel
def cover(starts: Any, ends: Any, count: Any, weights: Any, low: float, step: float, n: int) -> Any:
    """The weight of the particles with an event under way, in each of n steps, for every row of weights."""
    active = np.zeros((len(weights), n + 1))  # the last is scratch
    for j in range(len(weights)):
        for i in range(len(count)):
            for k in range(count[i]):
                active[j, min(n, max(0, int((starts[i, k] - low) / step + 0.5)))] += weights[j, i]
                active[j, min(n, max(0, int((ends[i, k] - low) / step + 0.5)))] -= weights[j, i]
        for t in range(1, n + 1):
            active[j, t] += active[j, t - 1]
    return active[:, :n]


@leaf
def _drawn_length(rng: Any, mu: float, sigma: float, doubt: float, longest: float) -> Any:
    if rng.random() < doubt:
        return LEAST * np.exp(rng.random() * np.log(longest / LEAST))
    return max(_SHORTEST, np.exp(mu + sigma * rng.normal()))


@leaf
def _drawn_own(rng: Any, doubt: float) -> Any:
    return ANY + rng.random() if rng.random() < 0.5 * doubt else rng.normal()


@kernel
def begin(
    rng: Any, x: Any, starts: Any, ends: Any, own: Any, count: Any, doubt: float, low: float, high: float
) -> None:
    """Timelines of the window, one for each particle. An event that is under way at its beginning has a length in
    proportion to which it is met, and began anywhere within it."""
    longest = 2 * (high - low)
    for i in range(len(count)):
        at, many, mu, sigma = low, 0, x[i, 5], np.exp(x[i, 6])
        odds = busy(x[i], doubt, longest)
        if rng.random() * (1 + odds) > 1:
            if rng.random() * odds < (1 - doubt) * np.exp(x[i, 4] + mu + 0.5 * sigma * sigma):
                d = np.exp(mu + sigma * sigma + sigma * rng.normal())
            else:
                d = LEAST + rng.random() * (longest - LEAST)
            starts[i, 0] = low - d * rng.random()
            ends[i, 0] = at = starts[i, 0] + d
            many = 1
        while many < starts.shape[1]:
            at += rng.exponential(1.0) * np.exp(-x[i, 4])
            if at >= high:
                break
            starts[i, many] = at
            at += _drawn_length(rng, mu, sigma, doubt, longest)
            ends[i, many] = at
            many += 1
        for k in range(many):
            own[i, k] = _drawn_own(rng, doubt)
        count[i] = many


@leaf
def _place(a: float, b: float, segments: Any, yes: Any, low: float, high: float) -> Any:
    """How likely an event of this length is proposed here, as a logarithm: anywhere, or around a present segment."""
    inside, middle = 0.0, (a + b) / 2
    for j in yes:
        if segments[j, 0] <= middle <= segments[j, 1]:
            inside += 1 / (segments[j, 1] - segments[j, 0])
    anywhere = 1 / (high - low + b - a)
    if len(yes) == 0:
        return np.log(anywhere)
    return np.log(0.5 * anywhere + 0.5 * inside / len(yes))


@leaf
def _propose(rng: Any, segments: Any, yes: Any, low: float, high: float, law: Any) -> Any:
    d = _drawn_length(rng, law[0], law[1], law[2], law[4])
    if len(yes) == 0 or rng.random() < 0.5:
        middle = low - d / 2 + (high - low + d) * rng.random()
    else:
        j = yes[int(rng.random() * len(yes))]
        middle = segments[j, 0] + (segments[j, 1] - segments[j, 0]) * rng.random()
    return middle - d / 2, middle + d / 2


@leaf
def _insert(starts: Any, ends: Any, own: Any, many: int, a: float, b: float, u: float) -> int:
    """Put an event in its place; -1 if it meets another."""
    k = many
    while k > 0 and starts[k - 1] > a:
        starts[k], ends[k], own[k] = starts[k - 1], ends[k - 1], own[k - 1]
        k -= 1
    starts[k], ends[k], own[k] = a, b, u
    if (k > 0 and ends[k - 1] > a) or (k < many and starts[k + 1] < b):
        return -1
    return many + 1


@leaf
def _remove(starts: Any, ends: Any, own: Any, many: int, k: int) -> None:
    for j in range(k, many - 1):
        starts[j], ends[j], own[j] = starts[j + 1], ends[j + 1], own[j + 1]


@leaf
def move(
    rng: Any, starts: Any, ends: Any, own: Any, count: Any, x: Any, segments: Any, present: Any, power: Any, yes: Any,
    low: float, high: float, length: float, prior: Prior, signal: SignalPrior, scale: Any, moves: int, tried: Any,
    old: Any, fresh: Any,
) -> None:  # fmt: skip
    """Move every particle: births, deaths, shifts of whole events and single edges, splits, mergers, how much of one
    event is noticed, other numbers. What a jump adds is drawn from its own law, so that both cancel. ``tried``, ``old``
    and ``fresh`` are room to work in."""
    room, n_asked, numbers = starts.shape[1], len(present), x.shape[1]
    ta, tb, tc, tx = tried  # a particle as it may become
    met, held = old  # of each answer: whether its segment is satisfied, the logarithm of its chance
    new_met, new, touched = fresh  # and of those that change
    free = numbers if len(signal.edge) else 8
    doubt, longest = prior.doubt, 2 * (high - low)
    for i in range(len(count)):
        a_i, b_i, c_i, x_i = starts[i], ends[i], own[i], x[i]
        many, who, law = count[i], hearing(x_i), _law(x_i, doubt, longest)
        for q in range(n_asked):
            met[q] = satisfied(a_i, b_i, c_i, many, segments[q, 0], segments[q, 1], length, who)
            held[q] = power[q] * answer(met[q], present[q], who)
        chance = expected_numbers(x_i, prior, longest)
        for _ in range(moves):
            for k in range(many):
                ta[k], tb[k], tc[k] = a_i[k], b_i[k], c_i[k]
            for k in range(numbers):
                tx[k] = x_i[k]
            now, ratio, kind = many, 0.0, int(rng.random() * _KINDS)
            left, right = low, high  # the stretch whose answers change
            if 3 <= kind < _NUMBER and kind != 15:  # of one event
                if many == 0:
                    continue
                k = int(rng.random() * many)
            if kind < 3:  # birth
                a, b = _propose(rng, segments, yes, low, high, law)
                if many >= room or a >= high or b <= low:
                    continue
                now = _insert(ta, tb, tc, many, a, b, _drawn_own(rng, doubt))
                left, right = a, b
                ratio = -np.log(many + 1.0) - _place(a, b, segments, yes, low, high)
                ratio -= length_law(b - a, law)
            elif kind < 6:  # death
                left, right = ta[k], tb[k]
                ratio = np.log(1.0 * many) + length_law(right - left, law)
                ratio += _place(left, right, segments, yes, low, high)
                _remove(ta, tb, tc, many, k)
                now = many - 1
            elif kind < 7:  # another place
                a, b = _propose(rng, segments, yes, low, high, law)
                if a >= high or b <= low:
                    continue
                ratio = _place(ta[k], tb[k], segments, yes, low, high) - _place(a, b, segments, yes, low, high)
                ratio += length_law(tb[k] - ta[k], law)
                ratio -= length_law(b - a, law)
                left, right = min(a, ta[k]), max(b, tb[k])
                _remove(ta, tb, tc, many, k)
                now = _insert(ta, tb, tc, many - 1, a, b, _drawn_own(rng, doubt))
            elif kind < 15:  # shift, or one edge
                # From a length to a 400th of it; or, as one may be far longer than the others, of the window.
                by = rng.normal() * np.exp((x_i[5] if rng.random() < 0.7 else np.log(high - low)) - 6.0 * rng.random())
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
            elif kind < 16:  # split in two, or merge neighbours
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
                    now = _insert(ta, tb, tc, many, v, right, _drawn_own(rng, doubt))
                    ratio = 2 * np.log(right - left) - np.log(2.0)  # one of `many` either way
                else:
                    if many < 2:
                        continue
                    k = int(rng.random() * (many - 1))
                    left, right = ta[k], tb[k + 1]
                    tb[k] = right
                    _remove(ta, tb, tc, many, k + 1)
                    now = many - 1
                    ratio = np.log(2.0) - 2 * np.log(right - left)
            elif kind < _NUMBER:  # how much of one event is noticed
                left, right = ta[k], tb[k]
                if rng.random() < 0.5:
                    tc[k] = _drawn_own(rng, doubt)
                else:  # leaves either law as it is
                    tc[k] = ANY + rng.random() if tc[k] >= ANY else 0.8 * tc[k] + 0.6 * rng.normal()
            else:
                k = int(rng.random() * free)
                tx[k] += scale[k] * rng.normal()
                kind = _NUMBER
                if k == 0 and rng.random() < 0.5:  # and events that need as many seconds as before
                    kind = _NUMBER + 1
                    factor = logistic(x_i[0]) / logistic(tx[0])
                    for j in range(many):
                        middle, half = (ta[j] + tb[j]) / 2, (tb[j] - ta[j]) / 2 * factor
                        ta[j], tb[j] = middle - half, middle + half
                        if tb[j] <= low or ta[j] >= high or 2 * half < _SHORTEST or (j > 0 and tb[j - 1] > ta[j]):
                            now = -1
                    tx[5] += np.log(factor)
                    ratio = many * np.log(factor)
            if now < 0:
                continue
            listens = kind >= _NUMBER and (k < 4 or k == 7)  # a number of who answers: no timeline weighs more or less
            believed, hears, new_law = chance, who, law
            if not listens or kind > _NUMBER:
                if kind >= _NUMBER:
                    new_law = _law(tx, doubt, longest)
                ratio += timeline(ta, tb, now, tx, new_law, signal, left, right, low, high)
                ratio -= timeline(a_i, b_i, many, x_i, law, signal, left, right, low, high)
            if kind >= _NUMBER:
                believed = expected_numbers(tx, prior, longest)
                ratio += believed - chance
                if listens:
                    hears = hearing(tx)
            changed = 0
            if kind != _NUMBER or listens:
                keeps = kind == _NUMBER and (k == 2 or k == 3)  # slips change no segment
                for q in range(n_asked):
                    if segments[q, 1] > left and segments[q, 0] < right:
                        new_met[changed] = met[q] if keeps else satisfied(
                            ta, tb, tc, now, segments[q, 0], segments[q, 1], length, hears)  # fmt: skip
                        new[changed] = power[q] * answer(new_met[changed], present[q], hears)
                        touched[changed] = q
                        ratio += new[changed] - held[q]
                        changed += 1
            u = rng.random()
            if ratio >= 0 or np.log(max(1e-300, u)) < ratio:
                for j in range(changed):
                    met[touched[j]], held[touched[j]] = new_met[j], new[j]
                for j in range(now):
                    a_i[j], b_i[j], c_i[j] = ta[j], tb[j], tc[j]
                many, chance, who, law = now, believed, hears, new_law
                for j in range(numbers):
                    x_i[j] = tx[j]
        count[i] = many
