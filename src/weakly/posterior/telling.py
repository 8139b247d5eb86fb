"""What an answer would tell: where events are under way in all particles, and how far an answer settles it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.compiled import kernel, leaf
from .particles import LOG_TWO, chance_of, fraction, hearing


@leaf
def _entropy(p: float) -> Any:
    if p <= 0 or p >= 1:
        return 0.0
    return -(p * np.log(p) + (1 - p) * np.log(1 - p)) / LOG_TWO


@kernel
def bits(starts: Any, ends: Any, count: Any, x: Any, weight: Any, onsets: Any, offsets: Any) -> Any:
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
                need = gamma * (ends[i, k] - starts[i, k])
                if ends[i, k] - s < need:
                    continue
                if starts[i, k] > first:
                    break
                first = min(first, max(starts[i, k], s) + need)
            if first <= offsets[m - 1]:
                a, b = 0, m - 1
                while a < b:
                    middle = (a + b) // 2
                    if offsets[middle] >= first:
                        b = middle
                    else:
                        a = middle + 1
                said[j, a] += gain
                noise[j, a] += louder
    found = np.zeros((n, m))
    for j in range(n):
        p, h = base, quiet
        for k in range(m):
            p += said[j, k]
            h += noise[j, k]
            found[j, k] = max(0.0, _entropy(p) - h)
    return found


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
    starts: Any, ends: Any, count: Any, x: Any, weight: Any, segments: Any, low: float, step: float, n: int
) -> Any:
    r"""How much the answer to each segment is expected to lower the variance of every moment's label, over seconds.

    .. math:: \sum_t P(1-P)\,(P(\text{active}_t \mid \text{present}) - P(\text{active}_t \mid \text{absent}))^2
    """
    found, every = np.empty(len(segments)), cover(starts, ends, count, weight, low, step, n)
    part, with_yes = np.empty((len(segments), len(count))), np.empty(n + 1)
    for i in range(len(count)):
        a, b, heard = starts[i], ends[i], hearing(x[i])
        for j in range(len(segments)):
            part[j, i] = weight[i] * chance_of(fraction(a, b, count[i], segments[j, 0], segments[j, 1]), heard)
    for j in range(len(segments)):
        p = 0.0
        for i in range(len(count)):
            p += part[j, i]
        with_yes[:] = 0.0
        _cover(starts, ends, count, part[j], low, step, with_yes)
        total = 0.0
        for t in range(n):
            apart = with_yes[t] / p - (every[t] - with_yes[t]) / (1 - p)
            total += apart * apart
        found[j] = total * step * p * (1 - p)
    return found
