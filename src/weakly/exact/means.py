r"""The mean accuracy per recording under a random phase: each segment weighs 1 / (number of overlapping segments).

That number depends on the phase alone. Folded modulo the segment length, its reciprocal v is a step function with two
steps per stretch of overlap, and :math:`\int F(s)\, v(s \bmod d_q)\, ds / d_q` is a sum over pieces of the sweep.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import kernel, sort_together
from ..panels import value as chance_at
from .sweep import COVER0, COVER1, FRACTION0, FRACTION1, SPAN, START, WIDTH0, WIDTH1, panel_end


@kernel
def folded(rows: Any, first: Any, w: float) -> tuple[Any, Any]:
    """Per recording the steps of v as rows (phase, v, integral of v, integral of phase * v), and where they begin."""
    n = first.shape[0] - 1
    out = np.zeros((2 * rows.shape[0] + 2 * n, 4))
    at = np.zeros(n + 1, np.int64)
    g = 0
    for r in range(n):
        ends = np.empty((first[r + 1] - first[r], 2))  # stretches of overlap
        m = 0
        for i in range(first[r], first[r + 1]):
            s, t = rows[i, START], rows[i, START] + rows[i, SPAN]
            if m > 0 and s - ends[m - 1, 1] <= 1e-12 * (abs(s) + w):
                ends[m - 1, 1] = t
            else:
                ends[m, 0], ends[m, 1] = s, t
                m += 1
        knots = np.empty(2 * m)
        change = np.empty(2 * m)
        count = 0.0  # before the first knot; from the same turns as the knots, so that no rounding comes between
        for k in range(m):
            for side in range(2):
                turns = np.floor(ends[k, side] / w)
                sign = 1.0 - 2.0 * side
                knots[2 * k + side] = min(max(ends[k, side] - turns * w, 0.0), w)
                change[2 * k + side] = sign
                count -= sign * turns
        sort_together(knots, change)
        value = 1.0 / count if count > 0.5 else 0.0
        out[g, 1] = value
        g += 1
        for k in range(2 * m):
            knot = knots[k]
            step = knot - out[g - 1, 0]
            total = out[g - 1, 2] + step * value
            moment = out[g - 1, 3] + step * value * (knot + out[g - 1, 0]) / 2
            if step > 0.0:
                g += 1
            count += change[k]
            value = 1.0 / count if count > 0.5 else 0.0
            out[g - 1, 0], out[g - 1, 1], out[g - 1, 2], out[g - 1, 3] = knot, value, total, moment
        at[r + 1] = g
    return out[:g], at


@kernel
def _upto(steps: Any, low: int, high: int, phase: float) -> tuple[float, float]:
    """The integrals of v and of phase * v from 0 to this phase."""
    while high - low > 1:
        middle = (low + high) // 2
        if steps[middle, 0] <= phase:
            low = middle
        else:
            high = middle
    x, v = steps[low, 0], steps[low, 1]
    return steps[low, 2] + v * (phase - x), steps[low, 3] + v * (phase - x) * (phase + x) / 2


@kernel
def _linear(steps: Any, low: int, high: int, w: float, s: float, t: float, f0: float, slope: float) -> Any:
    """The integral of (f0 + slope * (x - s)) v(x mod w) over (s, t)."""
    if high - low == 1:  # v has no steps
        return (f0 + slope * (t - s) / 2) * (t - s) * steps[low, 1]
    turns = np.floor(s / w)
    phase = min(max(s - turns * w, 0.0), w)
    total = 0.0
    left = t - s
    if slope == 0.0 and left > w:
        whole = np.floor(left / w)
        total += f0 * whole * _upto(steps, low, high, w)[0]
        left -= whole * w
    f = f0
    while left > 0.0:
        step = min(left, w - phase)
        v0, m0 = _upto(steps, low, high, phase)
        v1, m1 = _upto(steps, low, high, phase + step)
        total += (f - slope * phase) * (v1 - v0) + slope * (m1 - m0)
        f += slope * step
        left -= step
        phase = 0.0
    return total


@kernel
def _share(steps: Any, low: int, high: int, w: float, row: Any, u0: float, u1: float) -> Any:
    """The integral of cover / width times v over the part (u0, u1) of a piece."""
    span = row[SPAN]
    c1, w1 = (row[COVER1] - row[COVER0]) / span, (row[WIDTH1] - row[WIDTH0]) / span
    c0, w0 = row[COVER0] + c1 * u0, row[WIDTH0] + w1 * u0
    s, t = row[START] + u0, row[START] + u1
    if abs(w1) * span <= 1e-12 * w or abs(c0 * w1 - c1 * w0) <= 1e-12 * w:  # the width, or the share, is constant
        if abs(w1) * span > 1e-12 * w:
            middle = (u1 - u0) / 2
            return _linear(steps, low, high, w, s, t, (c0 + c1 * middle) / (w0 + w1 * middle), 0.0)
        return _linear(steps, low, high, w, s, t, c0 / w0, c1 / w0)
    total, x = 0.0, s
    slope, rest = c1 / w1, (c0 - c1 * w0 / w1) / w1
    while x < t:  # cut at every step of v: the integral of a ratio of linear functions is a logarithm
        phase = x - np.floor(x / w) * w
        a, b = low, high
        while b - a > 1:
            middle_k = (a + b) // 2
            if steps[middle_k, 0] <= phase:
                a = middle_k
            else:
                b = middle_k
        stop = steps[a + 1, 0] if a + 1 < high else w
        y = min(t, x + (stop - phase))
        if y <= x:
            y = min(t, np.nextafter(x, np.inf) + 1e-15 * w)
        total += steps[a, 1] * (slope * (y - x) + rest * np.log((w0 + w1 * (y - s)) / (w0 + w1 * (x - s))))
        x = y
    return total


@kernel
def _gain(steps: Any, low: int, high: int, w: float, row: Any, u: float) -> Any:
    """The integral of (2 cover / width - 1) times v over the first u seconds of a piece: what present labels add."""
    if row[WIDTH0] == row[WIDTH1]:
        slope = 2 * (row[COVER1] - row[COVER0]) / row[SPAN] / row[WIDTH0]
        start = 2 * row[COVER0] / row[WIDTH0] - 1
        return _linear(steps, low, high, w, row[START], row[START] + u, start, slope)
    whole = _linear(steps, low, high, w, row[START], row[START] + u, 1.0, 0.0)
    return 2 * _share(steps, low, high, w, row, 0.0, u) - whole


@kernel
def grounds(rows: Any, first: Any, w: float, steps: Any, at: Any, out: Any, before: Any) -> None:
    """Per recording (all absent, all present, chance of any overlap): weighted accuracies over the random phase.

    ``before`` gets, per piece, the gain of present labels on all earlier pieces.
    """
    for r in range(first.shape[0] - 1):
        absent, gained = 0.0, 0.0
        for i in range(first[r], first[r + 1]):
            before[i] = gained
            start = rows[i, START]
            whole = _linear(steps, at[r], at[r + 1], w, start, start + rows[i, SPAN], 1.0, 0.0)
            gain = _gain(steps, at[r], at[r + 1], w, rows[i], rows[i, SPAN])
            absent += (whole - gain) / 2
            gained += gain
        meeting = 0.0
        if first[r + 1] > first[r]:
            for k in range(at[r], at[r + 1]):
                end = steps[k + 1, 0] if k + 1 < at[r + 1] else w
                if steps[k, 1] > 0.0:
                    meeting += end - steps[k, 0]
        out[r, 0], out[r, 1], out[r, 2] = absent / w, (absent + gained) / w, meeting / w


@kernel
def gains(rows: Any, first: Any, w: float, steps: Any, at: Any, before: Any, spans: Any, where: Any, out: Any) -> None:
    """Per recording, what present labels on the given window starts add to the accuracy of all absent labels."""
    for r in range(first.shape[0] - 1):
        i, total = first[r], 0.0
        for k in range(where[r], where[r + 1]):
            for side in range(2):
                x = spans[k, side]
                while i < first[r + 1] - 1 and rows[i, START] + rows[i, SPAN] <= x:
                    i += 1
                if i >= first[r + 1]:
                    continue
                total_before = before[i]
                u = min(max(x - rows[i, START], 0.0), rows[i, SPAN])
                if u > 0.0:
                    total_before += _gain(steps, at[r], at[r + 1], w, rows[i], u)
                total += total_before if side == 1 else -total_before
        out[r] = total / w


@kernel
def law_gains(rows: Any, first: Any, w: float, steps: Any, at: Any, law: Any, out: Any) -> None:
    """The same where a window is present with a chance that its largest event fraction gives; ``law`` as in
    :func:`weakly.exact.sweep.with_law`. Between the steps of v and the edges of panels everything is smooth."""
    edges, table, nodes, weights = law
    for r in range(first.shape[0] - 1):
        total = 0.0
        for i in range(first[r], first[r + 1]):
            row = rows[i]
            h0, h1, span = row[FRACTION0], row[FRACTION1], row[SPAN]
            if h0 == h1:  # also the long ones: an event that fills the window
                total += chance_at(h0, edges, table) * _gain(steps, at[r], at[r + 1], w, row, span)
                continue
            s, x = row[START], 0.0
            while x < span:
                phase = s + x - np.floor((s + x) / w) * w
                k, high = at[r], at[r + 1]
                while high - k > 1:
                    middle = (k + high) // 2
                    if steps[middle, 0] <= phase:
                        k = middle
                    else:
                        high = middle
                stop = steps[k + 1, 0] if k + 1 < at[r + 1] else w
                y = min(span, x + stop - phase, span * panel_end(x / span, h0, h1, edges))
                if y <= x:
                    y = min(span, x + 1e-12 * w)
                for q in range(nodes.shape[0]):
                    t = (x + (y - x) * nodes[q]) / span
                    cover = row[COVER0] + t * (row[COVER1] - row[COVER0])
                    width = row[WIDTH0] + t * (row[WIDTH1] - row[WIDTH0])
                    chance = chance_at(h0 + t * (h1 - h0), edges, table)
                    total += (y - x) * weights[q] * steps[k, 1] * chance * (2 * cover / width - 1)
                x = y
        out[r] = total / w
