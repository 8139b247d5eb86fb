"""The two sweeps with nothing around them, as measures of what the engine adds: a grid from 0 and a random phase.

They give the mean accuracy per recording and the expected seconds of right and wrong label in one recording that never
ends: no truncated ends, no found events, no best label, no checks.
"""

import numba
import numpy as np

_bare = numba.njit(nogil=True, error_model="numpy")


@_bare
def _count(h, criteria):
    low, high = 0, len(criteria)
    while low < high:
        middle = (low + high) >> 1
        if criteria[middle] <= h:
            low = middle + 1
        else:
            high = middle
    return low


@_bare
def _flush(bucket, h, cover, criteria, many):
    j = _count(h, criteria)
    bucket[j, 0] += many
    bucket[j, 1] += many * cover


@_bare
def grid(bounds, starts, w, criteria, out):
    """Fill ``out`` (recordings, criteria) with the mean accuracy of overlapping segments, sorted criteria at once."""
    bucket = np.zeros((len(criteria) + 1, 2))
    for r in range(len(starts) - 1):
        current, h, cover = -1, 0.0, 0.0
        bucket[:] = 0
        for e in range(starts[r], starts[r + 1]):
            a, b = bounds[e]
            k1, k2 = int(np.floor(a / w)), int(np.ceil(b / w)) - 1
            if k1 != current:
                if current >= 0:
                    _flush(bucket, h, cover / w, criteria, 1.0)
                current, h, cover = k1, 0.0, 0.0
            if k1 == k2:
                h, cover = 1.0, cover + b - a
                continue
            part = (k1 + 1) * w - a
            _flush(bucket, max(h, part / (b - a)), (cover + part) / w, criteria, 1.0)
            if k2 - k1 > 1:
                _flush(bucket, w / (b - a), 1.0, criteria, float(k2 - k1 - 1))
            current, cover = k2, b - k2 * w
            h = cover / (b - a)
        if current >= 0:
            _flush(bucket, h, cover / w, criteria, 1.0)
        n, right = 0.0, 0.0
        for j in range(len(bucket)):
            n += bucket[j, 0]
            right += bucket[j, 0] - bucket[j, 1]
        for i in range(len(criteria) - 1, -1, -1):
            right += 2 * bucket[i + 1, 1] - bucket[i + 1, 0]
            out[r, i] = right / n if n > 0 else np.nan


@_bare
def _piece(curves, span, c0, c1, h0, h1, criteria):
    """Where the label is absent over one piece of time, as polynomials of the criterion from one index on."""
    low, high = min(h0, h1), max(h0, h1)
    at_low, at_high = (c0, c1) if h1 >= h0 else (c1, c0)
    k0, k1 = _count(low, criteria), _count(high, criteria)
    curves[k1, 0] += span
    curves[k1, 2] += span * (c0 + c1) / 2
    if k1 > k0:
        q = 1 / (high - low)
        p, bend = -low * q, (at_high - at_low) / 2
        a0, a1 = span * p, span * q
        b0, b1, b2 = a0 * (at_low + bend * p), a1 * (at_low + 2 * bend * p), a1 * bend * q
        for k, sign in ((k0, 1.0), (k1, -1.0)):
            curves[k, 0] += sign * a0
            curves[k, 1] += sign * a1
            curves[k, 2] += sign * b0
            curves[k, 3] += sign * b1
            curves[k, 4] += sign * b2


@_bare
def random_phase(bounds, starts, w, criteria, out):
    """Fill ``out`` (recordings, criteria, 3) with the expected seconds of TP, FP and FN under a random phase."""
    curves = np.zeros((len(criteria) + 1, 5))
    for r in range(len(starts) - 1):
        x = bounds[starts[r] : starts[r + 1]].reshape(-1)
        n, i, j, cover, total, covered = len(x), 0, 1, 0.0, 0.0, 0.0
        curves[:] = 0
        s = x[0] - w if n else 0.0
        while i < n:
            t = min(x[i], x[j] - w) if j < n else x[i]
            span, left, right = t - s, i & 1, j & 1
            after = cover + (right - left) * span
            if span > 0 and (i < j or left):
                c0, c1 = cover / w, after / w
                total += span
                covered += span * (c0 + c1) / 2
                if (i + 1) // 2 > j // 2 - 1:  # else a whole event is inside
                    if i == j:
                        _piece(curves, span, c0, c1, w / (x[i] - x[i - 1]), w / (x[i] - x[i - 1]), criteria)
                    else:
                        l0, l1, r0, r1 = 0.0, 0.0, 0.0, 0.0
                        if left:
                            d = x[i] - x[i - 1]
                            l0, l1 = (x[i] - s) / d, (x[i] - t) / d
                        if right:
                            d = x[j] - x[j - 1]
                            r0, r1 = (s + w - x[j - 1]) / d, (t + w - x[j - 1]) / d
                        if left and right and (l0 - r0) * (l1 - r1) < 0:
                            u = (l0 - r0) / ((l0 - r0) - (l1 - r1))
                            h, c = l0 + u * (l1 - l0), c0 + u * (c1 - c0)
                            _piece(curves, u * span, c0, c, max(l0, r0), h, criteria)
                            _piece(curves, (1 - u) * span, c, c1, h, max(l1, r1), criteria)
                        else:
                            _piece(curves, span, c0, c1, max(l0, r0), max(l1, r1), criteria)
            while i < n and x[i] <= t:
                i += 1
            while j < n and x[j] - w <= t:
                j += 1
            s, cover = t, after
        b0, b1, b2, b3, b4 = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(len(criteria)):
            b0, b1, b2 = b0 + curves[k, 0], b1 + curves[k, 1], b2 + curves[k, 2]
            b3, b4, y = b3 + curves[k, 3], b4 + curves[k, 4], criteria[k]
            absent, missed = b0 + y * b1, b2 + y * (b3 + y * b4)
            out[r, k, 0] = covered - missed
            out[r, k, 1] = total - absent - (covered - missed)
            out[r, k, 2] = missed
