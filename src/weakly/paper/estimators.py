"""Tables over segment lengths and criteria at once, for laws of event lengths: what figures look up their maxima in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..lengths import Lengths
from ..theory import overlap_accuracy_profile
from ..theory.ratio import overlap_accuracy_per_recording

Floats = NDArray[np.float64]


def per_recording_profile(
    lengths: Lengths, *, segment_length: Floats, presence_criterion: Floats, n: int = 500
) -> Floats:
    """What the paper's simulation estimates with one event per recording (E12): rows are segment lengths.

    A law is stood for by n of its quantiles.
    """
    values, weights = lengths.values, lengths.weights
    if values is None or values.size > n:
        values, weights = np.asarray(lengths.quantile((np.arange(n) + 0.5) / n)), np.full(n, 1 / n)
    table = np.empty((len(segment_length), len(presence_criterion)))
    for i, width in enumerate(segment_length):
        each = overlap_accuracy_per_recording(
            event_length=values[:, None], segment_length=width, presence_criterion=presence_criterion[None, :]
        )
        table[i] = weights @ each
    return table


def best_numerical(lengths: Lengths, criteria: Floats, *, n: int = 300) -> tuple[Floats, Floats]:
    """The maximum of equation 13 over the segment length, for every criterion: a grid of n, then a parabola."""
    grid = np.geomspace(0.003, 6.0, n) * lengths.mean
    table = overlap_accuracy_profile(lengths, segment_length=grid, presence_criterion=criteria)
    return peak(grid, table)


def peak(grid: Floats, table: Floats) -> tuple[Floats, Floats]:
    """Where each column of the table is largest, and how large, by a parabola through the three highest points.

    >>> x = np.geomspace(0.1, 10, 101)
    >>> where, height = peak(x, -(np.log(x) - 0.3)[:, None] ** 2)
    >>> bool(abs(np.log(where[0]) - 0.3) < 1e-9), bool(abs(height[0]) < 1e-9)
    (True, True)
    """
    k = table.argmax(axis=0)
    inner = np.clip(k, 1, len(grid) - 2)
    column = np.arange(table.shape[1])
    low, middle, high = (table[inner + step, column] for step in (-1, 0, 1))
    bend = low - 2 * middle + high
    step = np.where(bend < 0, np.clip((low - high) / np.where(bend < 0, 2 * bend, 1.0), -0.5, 0.5), 0.0)
    ratio = np.log(grid[1] / grid[0])
    length = grid[inner] * np.exp(step * ratio)
    height = middle - (low - high) * step / 4
    jump = (k != inner) | (np.abs(bend) > 1e-2)  # at an end, or where the accuracy jumps, the grid point itself
    return np.where(jump, grid[k], length), np.where(jump, table[k, column], height)
