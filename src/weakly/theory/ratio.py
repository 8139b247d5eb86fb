r"""The theory without seconds, in :math:`\delta = d_q / d_e`; and the mean over recordings that simulations report.

The paper's accuracy given overlap depends on the two lengths only through their ratio. Its simulations average the
overlapping segments of each recording first and then the recordings; this *mean of ratios* is another quantity than
Theorem 1, the ratio of means, however many recordings there are (E12).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..annotator import TIE
from ..lengths import Lengths
from ..symbols import check
from .core import Floats, Who, cells, lengths_or_numbers, out
from .single import best_ratio, overlap_accuracy, recording_accuracy


def overlap_accuracy_at_ratio(*, length_ratio: Any, presence_criterion: Any) -> Any:
    r"""Expected accuracy of a segment that meets an event, from the ratio of the lengths alone.

    .. math:: f(\delta) = \frac{(2\gamma + 1)\delta - 2\gamma^2}{\delta(1 + \delta)}

    when :math:`\delta \ge \gamma`, else :math:`\delta/(1+\delta)`.

    Notes
    -----
    Section "when d_q = delta d_e" of the paper with the denominator that belongs there (E1).

    Examples
    --------
    >>> round(overlap_accuracy_at_ratio(length_ratio=0.8, presence_criterion=0.5), 6)
    0.763889
    """
    ratio = check("length_ratio", length_ratio)
    return overlap_accuracy(event_length=1.0, segment_length=ratio, presence_criterion=presence_criterion)


def optimal_length_ratio(*, presence_criterion: Any) -> Any:
    r"""The ratio of segment to event length that maximises the accuracy given overlap.

    .. math:: \delta^* = \gamma\frac{2\gamma + \sqrt{4\gamma^2 + 4\gamma + 2}}{2\gamma + 1}

    Notes
    -----
    Theorem 2 of the paper; the section in delta prints another root (E2).

    Examples
    --------
    >>> round(optimal_length_ratio(presence_criterion=0.5), 6)
    0.809017
    """
    return out(best_ratio(np.asarray(check("presence_criterion", presence_criterion), dtype=np.float64)))


def recording_accuracy_at_ratio(
    *,
    length_ratio: Any,
    segment_length: Any,
    presence_criterion: Any,
    n_events: Any,
    recording_length: Any,
    flip_rate: Any = 0.0,
) -> Any:
    r"""Expected share of a recording that is labelled right, from the ratio of the lengths.

    .. math:: 1 - \frac{M}{T} E\left[\frac{d_q}{\delta}\left(\delta - 2\gamma + \frac{2\gamma^2}{\delta}\right)\right]

    (where :math:`\delta < \gamma` the bracket is 1). With a fixed segment length the event length
    :math:`d_q / \delta` varies with the ratio, so it stands inside the expectation (E3).

    Parameters
    ----------
    length_ratio : :math:`\delta` > 0: numbers, or a sample of ratios as a :class:`~weakly.Lengths`.

    Notes
    -----
    Theorem 5 of the paper in delta.

    Examples
    --------
    >>> round(recording_accuracy_at_ratio(length_ratio=0.8, segment_length=0.8, presence_criterion=0.5, n_events=10,
    ...     recording_length=100), 6)
    0.9575
    """
    if isinstance(length_ratio, Lengths) and length_ratio.values is not None:
        width = float(check("segment_length", segment_length))
        event: Any = Lengths.sample(width / length_ratio.values, weights=length_ratio.weights)
    else:
        event = np.asarray(check("segment_length", segment_length)) / check("length_ratio", length_ratio)
    return recording_accuracy(
        event_length=event,
        segment_length=segment_length,
        presence_criterion=presence_criterion,
        n_events=n_events,
        recording_length=recording_length,
        flip_rate=flip_rate,
    )


def overlap_accuracy_per_recording(*, event_length: Any, segment_length: Any, presence_criterion: Any) -> Any:
    r"""Expected mean accuracy of the segments that meet the event, for recordings with one event each.

    For :math:`\delta = d_q/d_e \ge 1`

    .. math:: \frac{1 + \gamma}{\delta} - \frac{1/2 + \gamma^2}{\delta^2}.

    For :math:`\delta < 1` let :math:`1 = k\delta + R` with whole k and :math:`0 \le R < \delta`. The event meets k+2
    segments with chance :math:`R/\delta` and k+1 otherwise; with :math:`\Phi(x) = \int_0^x \phi`, where
    :math:`\phi(x) = x/\delta` for :math:`x \ge \gamma` and :math:`1 - x/\delta` below, and with
    :math:`I = 1\{\delta \ge \gamma\}`,

    .. math:: \frac{1}{\delta}\left[\frac{k R I + 2\Phi(R)}{k+2}
        + \frac{(k-1)(\delta-R) I + 2\Phi(\delta) - 2\Phi(R)}{k+1}\right].

    Parameters
    ----------
    event_length : :math:`d_e` in seconds, or a law of lengths (one event per recording, lengths from the law).
    segment_length, presence_criterion : as in :func:`overlap_accuracy`.

    Notes
    -----
    The statistic of the paper's simulations with one event (E12); the grid has a uniform phase and no edges.

    Examples
    --------
    >>> round(overlap_accuracy_per_recording(event_length=1, segment_length=1.3, presence_criterion=0.7), 6)
    0.721893
    """
    who = Who.of(presence_criterion, None, None)
    d, q = lengths_or_numbers(event_length), np.asarray(check("segment_length", segment_length), dtype=np.float64)
    if isinstance(d, Lengths):
        return out(cells(d, q, who, _per_recording, bends=_multiples))
    return out(_per_recording(d, q, who))


def _multiples(width: float, longest: float) -> list[float]:
    return list(width * np.arange(1, min(longest / width, 400) + 1))


def _per_recording(d: Floats, q: Floats, who: Who) -> Floats:
    assert who.criterion is not None
    g, ratio = who.criterion, np.asarray(q / d, dtype=np.float64)
    whole = np.floor(1 / ratio * (1 + 1e-15))
    rest = np.clip(1 - whole * ratio, 0.0, None)
    noticed = ratio >= g * (1 - TIE)

    def area(x: Floats) -> Floats:
        low = x - x * x / (2 * ratio)
        high = g + (x * x - 2 * g * g) / (2 * ratio)
        return np.where((x >= g) & noticed, high, low)

    many = (whole * rest * noticed + 2 * area(rest)) / (whole + 2)
    few = ((whole - 1) * (ratio - rest) * noticed + 2 * (area(ratio) - area(rest))) / (whole + 1)
    long = (1 + g) / ratio - (0.5 + g * g) / ratio**2
    return np.where(ratio >= 1, long, (many + few) / ratio)
