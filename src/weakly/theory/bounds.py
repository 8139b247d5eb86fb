r"""What no annotator can beat, and where the paper's upper bound ends.

:math:`f^*(\gamma)` of Theorem 3 bounds the accuracy given overlap for every law of lengths, as long as events lie at
least one segment length apart: f depends on the event length through the ratio only, so every average of it, over
events or over segments, stays below its largest value. Closer events break it (E23). What always holds is
:math:`F \le \max(c, 1-c)`, c the share of the segment that events cover.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..symbols import check
from .core import out
from .single import best_overlap_accuracy


def overlap_accuracy_bound(*, event_length: Any, segment_length: Any) -> Any:
    r"""The largest accuracy given overlap that any annotator reaches on one event with this segment length.

    .. math:: E[\max(c, 1-c) \mid \text{overlap}] = \frac{2+\delta}{2(1+\delta)} \text{ if } \delta \le 2,
        \text{ else } \frac{\delta}{1+\delta}

    Notes
    -----
    The criterion :math:`\gamma = \delta/2` attains it for :math:`\delta \le 2`: :func:`ideal_criterion`.

    Examples
    --------
    >>> overlap_accuracy_bound(event_length=1, segment_length=1)
    0.75
    """
    ratio = np.asarray(check("segment_length", segment_length)) / check("event_length", event_length)
    return out(np.where(ratio <= 2, (2 + ratio) / 2, ratio) / (1 + ratio))


def ideal_criterion(*, event_length: Any, segment_length: Any) -> Any:
    r"""The presence criterion that suits a segment length best, :math:`\delta/2`; NaN beyond :math:`\delta = 2`.

    Beyond two event lengths it is best to call every segment absent, which no criterion does.

    Examples
    --------
    >>> ideal_criterion(event_length=2, segment_length=1)
    0.25
    """
    ratio = np.asarray(check("segment_length", segment_length)) / check("event_length", event_length)
    return out(np.where(ratio <= 2, ratio / 2, np.nan))


def critical_event_rate(*, event_length: Any, presence_criterion: Any) -> Any:
    r"""The rate of uniformly placed events, per second, from which :math:`f^*` is no upper bound.

    .. math:: \lambda d_e = -\ln(1 - f^*(\gamma))

    Denser recordings are covered to more than :math:`f^*`; one long segment, labelled present, beats it.

    Examples
    --------
    >>> round(critical_event_rate(event_length=1, presence_criterion=0.5), 4)
    1.4436
    """
    best = np.asarray(best_overlap_accuracy(presence_criterion=presence_criterion))
    return out(-np.log1p(-best) / check("event_length", event_length))
