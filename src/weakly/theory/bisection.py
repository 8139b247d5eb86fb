r"""Recursive bisection for one event: how many queries it asks, how long it listens.

A part of a segment holds no more of the event than the segment does, so a present leaf has only present ancestors:
halving every present segment returns exactly the labels of the finest fixed grid, and asks only where an event is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..annotator import TIE
from ..errors import InvalidInput
from ..symbols import check, whole


def _present_per_level(recording_length: Any, event_length: Any, criterion: Any, depth: int) -> list[float]:
    """Expected number of present segments of length T / 2^j for one event placed uniformly in the recording."""
    total, d = float(check("recording_length", recording_length)), float(check("event_length", event_length))
    need = float(check("presence_criterion", criterion)) * d
    if d > total:
        raise InvalidInput(f"event_length must be at most recording_length {total:g}, got {d:g}")
    found = []
    for level in range(depth):
        width = total / 2**level
        if need > width * (1 + TIE):
            found.append(0.0)
            continue
        if d == total:
            found.append(float(2**level))
            continue
        start = width * np.arange(2**level)
        low, high = np.maximum(start - d + need, 0.0), np.minimum(start + width - need, total - d)
        found.append(float(np.maximum(high - low, 0.0).sum() / (total - d)))
    return found


def _depth(levels: Any, start_level: Any) -> tuple[int, int]:
    depth = whole("levels", levels, least=0, most=24)
    first = whole("start_level", start_level, least=0)
    if first > depth:
        raise InvalidInput(f"start_level must be at most levels = {depth}, got {first}")
    return depth, first


def bisection_queries(
    *, recording_length: Any, levels: int, event_length: Any, presence_criterion: Any, start_level: int = 0
) -> float:
    r"""Expected number of queries of recursive bisection in a recording with one event.

    .. math:: 2^{j_0} + 2\sum_{j=j_0}^{J-1} E N_j

    where :math:`N_j` counts the present segments of length :math:`T/2^j`; without edges, from the whole recording on,
    about :math:`1 + 2J + 2(1-2\gamma)(d_e/l)(1-2^{-J})` with :math:`l = T/2^J`.

    Parameters
    ----------
    recording_length : T in seconds; the event lies in it uniformly.
    levels : J; the finest segments have the length :math:`T/2^J`.
    start_level : :math:`j_0`; the first queries are the :math:`2^{j_0}` segments of that level.

    Examples
    --------
    >>> round(bisection_queries(recording_length=102.4, levels=7, event_length=1, presence_criterion=0.3), 4)
    15.9467
    """
    depth, first = _depth(levels, start_level)
    present = _present_per_level(recording_length, event_length, presence_criterion, depth)
    return 2.0**first + 2 * sum(present[first:])


def bisection_listened(
    *, recording_length: Any, levels: int, event_length: Any, presence_criterion: Any, start_level: int = 0
) -> float:
    r"""Expected seconds heard in recursive bisection with one event: :math:`T + \sum_{j \ge j_0} E N_j\, T/2^j`.

    Examples
    --------
    >>> round(bisection_listened(recording_length=102.4, levels=7, event_length=1, presence_criterion=0.5) / 102.4, 2)
    2.98
    """
    depth, first = _depth(levels, start_level)
    total = float(check("recording_length", recording_length))
    present = _present_per_level(recording_length, event_length, presence_criterion, depth)
    return total + sum(count * total / 2**level for level, count in enumerate(present) if level >= first)


def optimal_start_level(*, recording_length: Any, n_events: Any, query_cost_share: Any, levels: int) -> int:
    r"""The level at which bisection should start, from :math:`2^{j_0} \approx \sqrt{2MT(1-r)/r}`, at most ``levels``.

    Starting too high re-listens, starting too low asks needless queries.

    Examples
    --------
    >>> optimal_start_level(recording_length=102.4, n_events=1, query_cost_share=0.5, levels=7)
    4
    """
    depth, _ = _depth(levels, 0)
    total, count = float(check("recording_length", recording_length)), float(check("n_events", n_events))
    share = float(check("query_cost_share", query_cost_share))
    if share == 0:
        return depth
    wished = np.sqrt(2 * count * total * (1 - share) / share)
    return int(np.clip(round(np.log2(max(wished, 1.0))), 0, depth))
