r"""The presence criterion from counts alone: how many of the segments that meet an event were labelled present.

Where single answers are not kept but their shares are, the share still falls as the criterion rises, and can be
inverted under a law of event lengths.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..lengths import Lengths
from ..symbols import check
from .criterion import CriterionEstimate, unknown


def present_share(presence_criterion: float, *, event_length: Any, segment_length: float) -> float:
    r"""The share of the segments that meet an event which an annotator calls present.

    .. math:: \text{share}(\gamma) = \frac{E[(d_e + d_q - 2\gamma d_e)\,1\{\gamma d_e \le d_q\}]}{E[d_e + d_q]}

    Parameters
    ----------
    presence_criterion : gamma, in (0, 1].
    event_length : d_e in seconds, > 0: numbers or a :class:`weakly.Lengths`.
    segment_length : d_q in seconds, > 0.

    Notes
    -----
    From the overlap measure in the proof of Theorem 1: events at least a segment apart, uniform offset.

    Examples
    --------
    >>> present_share(0.5, event_length=1.0, segment_length=1.0)
    0.5
    """
    criterion = float(check("presence_criterion", presence_criterion))
    q = float(check("segment_length", segment_length))
    lengths = Lengths.of(event_length)
    p0, m1, _ = lengths.partial_moments(q / criterion)
    return float((q * p0 + (1 - 2 * criterion) * m1) / (lengths.mean + q))


def criterion_from_share(
    share: float, *, event_length: Any, segment_length: float, n_segments: int | None = None
) -> CriterionEstimate:
    r"""The presence criterion at which this share of the overlapping segments is labelled present.

    If :math:`d_q \ge \gamma \max d_e` it is :math:`\gamma = (1 - \text{share})(\bar d_e + d_q)/(2 \bar d_e)`; in
    general the falling function :func:`present_share` is inverted.

    Parameters
    ----------
    share : of the segments that meet an event, the share labelled present, in [0, 1].
    event_length : the law of event lengths: numbers or a :class:`weakly.Lengths`.
    segment_length : d_q in seconds, > 0.
    n_segments : how many segments the share was counted on; with it there is an interval (Wilson's for the share, which
        is cautious: the segments that meet one event differ more evenly than independent ones).

    Notes
    -----
    Needs events at least a segment apart and no guesses or lapses. Short segments tell more.

    Examples
    --------
    >>> round(criterion_from_share(0.5, event_length=1.0, segment_length=1.0).presence_criterion, 6)
    0.5
    """
    share = float(check("recall", share, called="share"))
    q = float(check("segment_length", segment_length))
    lengths = Lengths.of(event_length)
    n = 0 if n_segments is None else int(n_segments)
    if n_segments is not None and n < 1:
        raise InvalidInput(f"n_segments must be at least 1, got {n_segments}")

    def invert(target: float) -> float:
        from scipy.optimize import brentq

        def excess(g: float) -> float:
            return present_share(g, event_length=lengths, segment_length=q) - target

        if excess(1.0) >= 0:
            return 1.0
        low = 1e-9
        return low if excess(low) <= 0 else float(brentq(excess, low, 1.0, xtol=1e-12))

    least = present_share(1.0, event_length=lengths, segment_length=q)
    interval = (math.nan, math.nan)
    if n:
        low, high = _wilson(share, n)
        interval = (invert(high) if high < 1 else 0.0, invert(low))
    if share < least:
        if n and interval[0] < 1.0:
            return CriterionEstimate(1.0, (interval[0], 1.0), math.nan, math.nan, "share", n, True)
        return unknown(
            f"a share of {share:.3g} is below {least:.3g}, the least that any criterion can give: some events are not "
            "noticed at all, or the law of event lengths is another",
            method="share",
            n=n,
        )
    if share >= 1:
        return unknown("every overlapping segment is labelled present", method="share", n=n)
    return CriterionEstimate(invert(share), interval, math.nan, math.nan, "share", n, True)


def criterion_from_two_shares(
    shares: tuple[float, float],
    *,
    segment_lengths: tuple[float, float],
    event_length: Any,
    n_segments: tuple[int, int] | None = None,
) -> CriterionEstimate:
    r"""The presence criterion from the shares of *all* segments labelled present at two segment lengths.

    With :math:`p_i = \lambda (d_i + (1 - 2\gamma) \bar d_e)`, the event rate is
    :math:`\lambda = (p_1 - p_2)/(d_1 - d_2)` and :math:`(1 - 2\gamma) \bar d_e = (p_2 d_1 - p_1 d_2)/(p_1 - p_2)`.

    Parameters
    ----------
    shares : of all segments, those labelled present, at each length; in [0, 1].
    segment_lengths : the two lengths in seconds, different, each at least the longest event times the criterion.
    event_length : the mean event length in seconds, or lengths that have one: without it gamma is not identified.
    n_segments : how many segments each share was counted on; with it there is an interval (delta method).

    Examples
    --------
    >>> rate, mean, gamma = 0.02, 1.0, 0.3
    >>> shares = tuple(rate * (d + (1 - 2 * gamma) * mean) for d in (2.0, 5.0))
    >>> two = criterion_from_two_shares(shares, segment_lengths=(2.0, 5.0), event_length=mean)
    >>> round(two.presence_criterion, 9)
    0.3
    """
    p = np.asarray(check("recall", shares, called="shares"), dtype=np.float64)
    d = np.asarray(check("segment_length", segment_lengths, called="segment_lengths"), dtype=np.float64)
    if p.shape != (2,) or d.shape != (2,) or d[0] == d[1]:
        raise InvalidInput(f"shares and segment_lengths must be two, the lengths different, got {shares!r}")
    mean = Lengths.of(event_length).mean
    total = 0 if n_segments is None else int(sum(n_segments))
    rise = (p[0] - p[1]) / (d[0] - d[1])
    if rise <= 0:
        return unknown("longer segments are not present more often", method="two shares", n=total)
    offset = (p[1] * d[0] - p[0] * d[1]) / (p[0] - p[1])
    estimate = float((1 - offset / mean) / 2)
    if not 0 < estimate <= 1:
        return unknown(
            f"the two shares give {estimate:.3g}, outside (0, 1]: events too dense, or too few segments",
            method="two shares",
            n=total,
        )
    interval = (math.nan, math.nan)
    if n_segments is not None:
        counts = np.asarray(n_segments, dtype=np.float64)
        variance = p * (1 - p) / counts
        # d offset / d p1 = -p2 (d1 - d2) / (p1 - p2)^2, d offset / d p2 = p1 (d1 - d2) / (p1 - p2)^2
        slope = np.array([-p[1], p[0]]) * (d[0] - d[1]) / (p[0] - p[1]) ** 2
        spread = 1.959963984540054 * math.sqrt(float((slope**2 * variance).sum())) / (2 * mean)
        interval = max(0.0, estimate - spread), min(1.0, estimate + spread)
    return CriterionEstimate(estimate, interval, math.nan, math.nan, "two shares", total, True)


def _wilson(share: float, n: int) -> tuple[float, float]:
    z2 = 3.841458820694124
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)
