"""Timelines drawn and moved, compiled: reversible jumps that leave the posterior of :mod:`.particle_kernels` as it is.

Births, deaths, shifts of whole events and of single edges, splits, mergers, how much of one event is noticed, and other
numbers. Whatever a jump adds is drawn from its own law, so that both cancel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.compiled import kernel, leaf
from .particle_kernels import LEAST, answer, busy, expected_numbers, hearing, length_law, logistic, satisfied, timeline

if TYPE_CHECKING:
    from .particles import Prior, SignalPrior

_SHORTEST = 1e-3  # seconds of an event
_KINDS, _NUMBER = 21, 17  # kinds of moves, and the first of those that change a number
_EVENTS = 14.0  # of a particle, beyond which there are no more moves


@leaf
def _drawn_length(rng: Any, mu: float, sigma: float, doubt: float, longest: float) -> Any:
    if rng.random() < doubt:
        return LEAST * np.exp(rng.random() * np.log(longest / LEAST))
    return max(_SHORTEST, np.exp(mu + sigma * rng.normal()))


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
            own[i, k] = rng.normal()
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
def _propose(rng: Any, segments: Any, yes: Any, low: float, high: float, mu: float, sigma: float, doubt: float) -> Any:
    d = _drawn_length(rng, mu, sigma, doubt, 2 * (high - low))
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


@kernel
def move(
    rng: Any, starts: Any, ends: Any, own: Any, count: Any, x: Any, segments: Any, present: Any, power: Any, yes: Any,
    low: float, high: float, length: float, prior: Prior, signal: SignalPrior, scale: Any, effort: float,
) -> None:  # fmt: skip
    """Move every particle by reversible jumps that leave the posterior as it is."""
    room, n_asked = starts.shape[1], len(present)
    tried = np.empty(room + 1), np.empty(room + 1), np.empty(room + 1), np.empty(x.shape[1])
    old = np.empty(n_asked, np.bool_), np.empty(n_asked)
    new = np.empty(n_asked, np.bool_), np.empty(n_asked), np.empty(n_asked, np.int64)
    _move(rng, starts, ends, own, count, x, segments, present, power, yes, low, high, length, prior, signal, scale,
          effort, tried, old, new)  # fmt: skip


@leaf
def _move(
    rng: Any, starts: Any, ends: Any, own: Any, count: Any, x: Any, segments: Any, present: Any, power: Any, yes: Any,
    low: float, high: float, length: float, prior: Prior, signal: SignalPrior, scale: Any, effort: float,
    tried: Any, old: Any, fresh: Any,
) -> None:  # fmt: skip
    room, n_asked, numbers = starts.shape[1], len(present), x.shape[1]
    ta, tb, tc, tx = tried  # a particle as it may become
    met, held = old  # of each answer: whether its segment is satisfied, the logarithm of its chance
    new_met, new, touched = fresh  # and of those that change
    free = numbers if len(signal.edge) else 8
    doubt, longest = prior.doubt, 2 * (high - low)
    n_events = 0
    for i in range(len(count)):
        n_events += count[i]
    # As many for all: more where there are more events would favour few.
    moves = int(effort * (8 + 4 * min(n_events / len(count), _EVENTS)))
    for i in range(len(count)):
        a_i, b_i, c_i, x_i = starts[i], ends[i], own[i], x[i]
        many, who = count[i], hearing(x_i)
        for q in range(n_asked):
            met[q] = satisfied(a_i, b_i, c_i, many, segments[q, 0], segments[q, 1], length, who)
            held[q] = power[q] * answer(met[q], present[q], who)
        chance = expected_numbers(x_i, prior, longest)
        for _ in range(moves):
            for k in range(many):
                ta[k], tb[k], tc[k] = a_i[k], b_i[k], c_i[k]
            for k in range(numbers):
                tx[k] = x_i[k]
            mu, sigma = x_i[5], np.exp(x_i[6])
            now, ratio, kind = many, 0.0, int(rng.random() * _KINDS)
            left, right = low, high  # the stretch whose answers change
            if kind < 3:  # birth
                a, b = _propose(rng, segments, yes, low, high, mu, sigma, doubt)
                if many >= room or a >= high or b <= low:
                    continue
                now = _insert(ta, tb, tc, many, a, b, rng.normal())
                left, right = a, b
                ratio = -np.log(many + 1.0) - _place(a, b, segments, yes, low, high)
                ratio -= length_law(b - a, mu, sigma, doubt, longest)
            elif kind < 6:  # death
                if many == 0:
                    continue
                k = int(rng.random() * many)
                left, right = ta[k], tb[k]
                ratio = np.log(1.0 * many) + length_law(right - left, mu, sigma, doubt, longest)
                ratio += _place(left, right, segments, yes, low, high)
                _remove(ta, tb, tc, many, k)
                now = many - 1
            elif kind < 7:  # another place
                if many == 0:
                    continue
                k = int(rng.random() * many)
                a, b = _propose(rng, segments, yes, low, high, mu, sigma, doubt)
                if a >= high or b <= low:
                    continue
                ratio = _place(ta[k], tb[k], segments, yes, low, high) - _place(a, b, segments, yes, low, high)
                ratio += length_law(tb[k] - ta[k], mu, sigma, doubt, longest)
                ratio -= length_law(b - a, mu, sigma, doubt, longest)
                left, right = min(a, ta[k]), max(b, tb[k])
                _remove(ta, tb, tc, many, k)
                now = _insert(ta, tb, tc, many - 1, a, b, rng.normal())
            elif kind < 15:  # shift, or one edge
                if many == 0:
                    continue
                k = int(rng.random() * many)
                # From a length to a 400th of it; or, as one may be far longer than the others, of the window.
                by = rng.normal() * np.exp((mu if rng.random() < 0.7 else np.log(high - low)) - 6.0 * rng.random())
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
                    now = _insert(ta, tb, tc, many, v, right, rng.normal())
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
                if many == 0:
                    continue
                k = int(rng.random() * many)
                left, right = ta[k], tb[k]
                tc[k] = 0.8 * tc[k] + 0.6 * rng.normal()  # leaves the normal law as it is
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
            ratio += timeline(ta, tb, now, tx, doubt, signal, left, right, low, high)
            ratio -= timeline(a_i, b_i, many, x_i, doubt, signal, left, right, low, high)
            believed = chance
            if kind >= _NUMBER:
                believed = expected_numbers(tx, prior, longest)
                who = hearing(tx)
                ratio += believed - chance
            changed = 0
            if kind != _NUMBER or k < 4 or k == 7:
                keeps = kind == _NUMBER and (k == 2 or k == 3)  # slips change no segment
                for q in range(n_asked):
                    if segments[q, 1] > left and segments[q, 0] < right:
                        new_met[changed] = met[q] if keeps else satisfied(
                            ta, tb, tc, now, segments[q, 0], segments[q, 1], length, who)  # fmt: skip
                        new[changed] = power[q] * answer(new_met[changed], present[q], who)
                        touched[changed] = q
                        ratio += new[changed] - held[q]
                        changed += 1
            if np.log(max(1e-300, rng.random())) < ratio:
                for j in range(changed):
                    met[touched[j]], held[touched[j]] = new_met[j], new[j]
                for j in range(now):
                    a_i[j], b_i[j], c_i[j] = ta[j], tb[j], tc[j]
                many, chance = now, believed
                for j in range(numbers):
                    x_i[j] = tx[j]
            elif kind >= _NUMBER:
                who = hearing(x_i)
        count[i] = many
