"""The presence criterion from shares of present labels or from event lengths, where the answers are not at hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import InvalidInput
from ...base.symbols import check
from ...model.annotator import TIE
from ...model.lengths import Lengths
from ...posterior.criterion import CriterionEstimate, unknown
from ...theory.core import present_share

_NAN = (math.nan, math.nan)


def criterion_from_share(
    share: float, *, event_length: Any, segment_length: float, n_segments: int | None = None
) -> CriterionEstimate:
    r"""The presence criterion at which this share of the overlapping segments is labelled present.

    If :math:`d_q \ge \gamma \max d_e` it is :math:`\gamma = (1 - \text{share})(\bar d_e + d_q)/(2 \bar d_e)`; in
    general the falling function :func:`weakly.theory.present_share` is inverted.

    Parameters
    ----------
    share : of the segments that meet an event, the share labelled present, in [0, 1].
    event_length : the law of event lengths: numbers or a :class:`weakly.Lengths`.
    segment_length : d_q in seconds, > 0.
    n_segments : how many segments the share was counted on; with it there is an interval (Wilson's for the share, which
        is cautious: the segments that meet one event differ more evenly than independent ones).

    Notes
    -----
    Needs events at least a segment apart and no guesses or lapses. Short segments tell more. Where a whole range of
    criteria gives this share (segments that no event fits into enough), there is none to name, and ``reason`` says the
    range.

    Examples
    --------
    >>> round(criterion_from_share(0.5, event_length=1.0, segment_length=1.0).presence_criterion, 6)
    0.5
    >>> criterion_from_share(0.0, event_length=1, segment_length=0.4, n_segments=500).reason
    'any presence criterion above 0.4 gives this share'
    """
    share = float(check("recall", share, called="share"))
    q = float(check("segment_length", segment_length))
    lengths = Lengths.of(event_length)
    n = 0 if n_segments is None else int(n_segments)
    if n_segments is not None and n < 1:
        raise InvalidInput(f"n_segments must be at least 1, got {n_segments}")

    def given(g: float) -> float:
        return float(present_share(event_length=lengths, segment_length=q, presence_criterion=g))

    def invert(target: float, *, highest: bool) -> float:
        """The largest criterion whose share is at least the target, or the smallest whose share is at most that."""
        low, high = 1e-9, 1.0
        if given(low) < target:
            return 0.0
        if given(high) > target or (highest and given(high) >= target):
            return 1.0
        for _ in range(60):  # bisection: the share of a sample falls in jumps
            middle = (low + high) / 2
            above = given(middle) >= target if highest else given(middle) > target
            low, high = (middle, high) if above else (low, middle)
        return (low + high) / 2

    least = given(1.0)
    low, high = wilson(share, n) if n else (share, share)
    # Wilson's ends never reach 0 or 1 exactly, but a count of none does not exclude a share of none.
    ends = invert(high, highest=False) if high < 1 else 0.0, invert(low if share > 0 else 0.0, highest=True)
    interval = ends if n else _NAN
    first, last = invert(share, highest=False), invert(share, highest=True)
    if share >= 1:
        return unknown("every overlapping segment is labelled present", method="share", n=n)
    if share < least - 1e-12:
        if n and ends[0] < 1.0:
            return CriterionEstimate(1.0, (ends[0], 1.0), math.nan, math.nan, "share", n, True)
        return unknown(
            f"a share of {share:.3g} is below {least:.3g}, the least that any criterion can give: some events are not "
            "noticed at all, or the law of event lengths is another",
            method="share",
            n=n,
        )
    if last - first > 1e-6:
        fits = f"above {first:.3g}" if last >= 1 else f"from {first:.3g} to {last:.3g}"
        return unknown(f"any presence criterion {fits} gives this share", method="share", n=n)
    return CriterionEstimate(first, interval, math.nan, math.nan, "share", n, True)


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
    interval = _NAN
    if n_segments is not None:
        counts = np.asarray(n_segments, dtype=np.float64)
        variance = p * (1 - p) / counts
        # d offset / d p1 = -p2 (d1 - d2) / (p1 - p2)^2, d offset / d p2 = p1 (d1 - d2) / (p1 - p2)^2
        slope = np.array([-p[1], p[0]]) * (d[0] - d[1]) / (p[0] - p[1]) ** 2
        spread = 1.959963984540054 * math.sqrt(float((slope**2 * variance).sum())) / (2 * mean)
        interval = max(0.0, estimate - spread), min(1.0, estimate + spread)
    return CriterionEstimate(estimate, interval, math.nan, math.nan, "two shares", total, True)


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of n."""
    z2 = 3.841458820694124
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def paper_recipe_criterion(
    lengths: ArrayLike, *, segment_length: float, recordings: ArrayLike | None = None, n_boot: int = 0, rng: Any = None
) -> CriterionEstimate:
    r"""The number that the paper's AudioSet appendix calls the empirical presence criterion.

    It is the :math:`\gamma` at which the mean of Theorem 1 over the event lengths meets the mean of :math:`d_e / d_q`:
    the smaller root of :math:`2B\gamma^2 - 2A\gamma + U - A = 0` with
    :math:`A = \overline{d_e/(d_e+d_q)}`, :math:`B = \overline{d_e^2/(d_q(d_e+d_q))}`, :math:`U = \overline{d_e/d_q}`.

    Parameters
    ----------
    lengths : d_e in seconds, as far as it lies in its clip; in (0, segment_length].
    segment_length : d_q in seconds, > 0: 10 for AudioSet.
    recordings : the clip of every event; with it the bootstrap draws clips, else events.
    n_boot : bootstrap draws for the interval; 0 for none.

    Notes
    -----
    Circular (E21): both sides are functions of the same event lengths, no annotator's answer enters, so it says nothing
    about annotators. ``identifiable`` is therefore False even where a root exists. For one length
    :math:`u = d_e/d_q` it is :math:`(1 - \sqrt{1 - 2u^2})/(2u)`, about u/2.

    Examples
    --------
    >>> round(paper_recipe_criterion([4.5], segment_length=10).presence_criterion, 3)
    0.254
    """
    d = np.atleast_1d(check("event_length", lengths, called="lengths")).ravel()
    q = float(check("segment_length", segment_length))
    if len(d) == 0:
        return unknown("there are no events", method="paper recipe", n=0)
    if d.max() > q * (1 + TIE):
        raise InvalidInput(f"lengths must be at most segment_length {q:g}: the recipe takes the part inside a clip")
    terms = np.column_stack((d / (d + q), d**2 / (q * (d + q)), d / q, np.ones_like(d)))
    estimate = float(_recipe_root(terms.sum(axis=0)))
    if math.isnan(estimate):
        return unknown("the recipe has no solution: the events are too long", method="paper recipe", n=len(d))
    interval = _NAN
    if n_boot:
        if recordings is not None:
            _, code = np.unique(np.asarray(recordings), return_inverse=True)
            terms = np.column_stack([np.bincount(code, weights=column) for column in terms.T])
        rng = np.random.default_rng(rng)
        draws = [_recipe_root(terms[rng.integers(len(terms), size=len(terms))].sum(axis=0)) for _ in range(n_boot)]
        low, high = np.nanquantile(draws, [0.025, 0.975])
        interval = float(low), float(high)
    reason = "circular (E21): a function of the event lengths alone, no answer of an annotator enters"
    return CriterionEstimate(estimate, interval, math.nan, math.nan, "paper recipe", len(d), False, reason)


def _recipe_root(sums: NDArray[np.float64]) -> float:
    a, b, u = sums[:3] / sums[3]
    inside = a * a - 2 * b * (u - a)
    root = (a - math.sqrt(inside)) / (2 * b) if inside >= 0 else math.nan
    return root if 0 < root <= 1 else math.nan
