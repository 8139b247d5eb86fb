"""The largest value of a function of one positive number that may have several humps, kinks and jumps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Central differences of order eight: the first derivative from four points on either side.
_OFFSETS = np.array([-4, -3, -2, -1, 1, 2, 3, 4.0])
_FACTORS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


def maximise(
    function: Callable[[Floats], Floats], low: float, high: float, *, extra: Sequence[float] | Floats = ()
) -> tuple[float, float]:
    """Where a vectorised function is largest between low and high, and its value there.

    A logarithmic grid (with the extra points, such as jumps) finds the humps; the best few are closed in on until the
    grid is finer than rounding lets a maximum be seen; a root of the derivative then gives the remaining digits.
    """
    points = np.geomspace(low, high, 385)
    more = np.asarray(extra, dtype=np.float64)
    points = np.unique(np.concatenate((points, more[(more > low) & (more < high)])))
    values = np.asarray(function(points))
    padded = np.concatenate(([-np.inf], values, [-np.inf]))
    peaks = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
    peaks = peaks[np.argsort(-values[peaks], kind="stable")][:4]
    found = [_close_in(function, points, values, int(peak)) for peak in peaks]
    return max(found, key=lambda pair: pair[1])


def _close_in(function: Callable[[Floats], Floats], points: Floats, values: Floats, peak: int) -> tuple[float, float]:
    left, right = points[max(peak - 1, 0)], points[min(peak + 1, points.size - 1)]
    best, value = float(points[peak]), float(values[peak])
    while right - left > 1e-7 * best:
        grid = np.linspace(left, right, 33)
        inside = np.asarray(function(grid))
        k = int(np.argmax(inside))
        if inside[k] > value:
            best, value = float(grid[k]), float(inside[k])
        step = (right - left) / 32
        left, right = max(left, best - step), min(right, best + step)
    return _polish(function, best, value)


def _polish(function: Callable[[Floats], Floats], best: float, value: float) -> tuple[float, float]:
    """The root of the derivative beside ``best``; ``best`` itself where the function is not smooth there."""
    step = 1e-3 * best

    def slope(x: float) -> float:
        return float(_FACTORS @ np.asarray(function(x + step * _OFFSETS)) / step)

    a, b = best * (1 - 1e-6), best * (1 + 1e-6)
    sa, sb = slope(a), slope(b)
    if not sa > 0 > sb:
        return best, value
    for _ in range(3):  # the secant of a slope that is nearly linear
        middle = a - sa * (b - a) / (sb - sa)
        sm = slope(middle)
        if sm > 0:
            a, sa = middle, sm
        elif sm < 0:
            b, sb = middle, sm
        else:
            break
    refined = float(np.asarray(function(np.array([middle])))[0])
    return (middle, refined) if refined >= value - 4e-15 else (best, value)
