r"""How sensitive the annotators were: the presence criterion, with an interval, or why it cannot be known.

An annotator who hears the share h of an event says present with probability :math:`g_0 + (1 - g_0 - \ell)\,G(h)`, where
G is the law of their criterion (:mod:`weakly.posterior.law`). What identifies it is *answers*, both present and absent,
on segments that cut events at different shares. Event lengths alone do not (E21).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import InvalidInput
from ..base.results import plain
from ..base.symbols import check, choice
from ..model.annotator import TIE, Annotator
from . import law

#: Twice the drop in log likelihood that bounds the interval of a hard threshold. The likelihood of a change point is
#: not chi-squared: 3.84 covers 87-93 %, 6 covers 95-96 %, if there is one hard criterion.
CUTOFF = 6.0
#: How to fit: a law of criteria (the headline), one hard threshold, a logistic curve; all with guesses and lapses.
METHODS = ("law", "threshold", "logistic")
_NAN = (math.nan, math.nan)
_TELLS = {"presence_criterion": 0.7, "spread": 0.25, "guess_rate": 0.25, "lapse_rate": 0.25}  # widest known interval


@dataclass(frozen=True)
class CriterionEstimate:
    """A presence criterion with its 95 % interval; both NaN where the data cannot identify it, and ``reason`` says why.

    ``presence_criterion`` is the mean of the law of criteria, ``spread`` its standard deviation (0: a hard criterion);
    of a logistic curve the middle, and the standard deviation without the ends at 0 and 1;
    ``identified`` says of each number whether the answers can tell it. ``scale`` is ``event`` where the criterion is a
    share of the event (the paper's gamma) and ``segment`` where it is a share of the segment. ``aic`` compares fits of
    the same answers (smaller is better); ``design_effect`` is how much clusters widen the variance.
    """

    presence_criterion: float
    presence_criterion_ci: tuple[float, float]
    guess_rate: float
    lapse_rate: float
    method: str
    n: int
    identifiable: bool
    reason: str = ""
    scale: str = "event"
    spread: float = math.nan
    spread_ci: tuple[float, float] = _NAN
    guess_rate_ci: tuple[float, float] = _NAN
    lapse_rate_ci: tuple[float, float] = _NAN
    aic: float = math.nan
    design_effect: float = math.nan
    identified: dict[str, bool] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}

    @property
    def width(self) -> float:
        """How wide the interval is."""
        low, high = self.presence_criterion_ci
        return high - low

    @property
    def annotator(self) -> Annotator:
        """The annotator that was found, for plan, evaluate, simulate and infer."""
        if not self.identifiable:
            raise InvalidInput(f"there is no annotator to take: {self.reason}")
        rates: dict[str, Any] = {"guess_rate": self.guess_rate, "lapse_rate": self.lapse_rate}
        rates = {name: 0.0 if math.isnan(rate) else rate for name, rate in rates.items()}
        mean, spread = self.presence_criterion, 0.0 if math.isnan(self.spread) else self.spread
        if spread < 1e-3:
            return Annotator(presence_criterion=mean, **rates)
        if self.method == "logistic":
            return Annotator.logistic(mean, spread * math.sqrt(3) / math.pi, **rates)
        total = mean * (1 - mean) / spread**2 - 1
        return Annotator.beta(mean * total, (1 - mean) * total, **rates)

    def __str__(self) -> str:
        if not self.identifiable:
            return f"not identifiable from {self.n} answers: {self.reason}"
        low, high = self.presence_criterion_ci
        return f"{self.presence_criterion:.3f} ({low:.3f} to {high:.3f}, {self.n} answers)"


def unknown(reason: str, *, method: str, n: int, scale: str = "event") -> CriterionEstimate:
    """The estimate that says why there is none."""
    nan = math.nan
    return CriterionEstimate(nan, _NAN, nan, nan, method, n, False, reason, scale)


def estimate_criterion(
    event_fraction: ArrayLike,
    *,
    present: ArrayLike,
    method: str = "law",
    scale: str = "event",
    clusters: Sequence[ArrayLike] = (),
) -> CriterionEstimate:
    r"""The presence criterion of whoever gave these answers, with a 95 % interval.

    Parameters
    ----------
    event_fraction : h, the largest share of an event that each segment holds, in [0, 1]; 0 where it meets none.
    present : the answers, 1 or 0; NaN (unsure) is left out.
    method : ``law``: criteria follow a Beta law with a mean and a spread, of which a hard criterion is the limit.
        ``threshold``: one hard criterion, by profile likelihood; the interval
        :math:`\{\gamma: 2(\ell_{max} - \ell(\gamma)) \le 6\}` holds only if there is one. ``logistic``: a logistic
        curve from 0 where nothing is heard to 1 where all is. All have a guess and a lapse rate.
    scale : what the shares are shares of; only carried along.
    clusters : for every answer its recording, its annotator: groups of answers that may be alike, each as one array.
        They widen the intervals of ``law`` and ``logistic``.

    Notes
    -----
    Identified only by answers of both kinds at event fractions on both sides of the criterion: labels that list
    presences alone say nothing about it (E21).

    Examples
    --------
    >>> h = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9] * 4
    >>> estimate = estimate_criterion(h, present=[0, 0, 0, 0, 1, 1, 1, 1] * 4)
    >>> round(estimate.presence_criterion, 6), estimate.identifiable
    (0.5, True)
    """
    choice("method", method, METHODS)
    h = np.atleast_1d(check("event_fraction", event_fraction)).ravel()
    y = np.asarray(present, dtype=np.float64).ravel()
    if h.shape != y.shape:
        raise InvalidInput(f"present must have one answer for each of the {len(h)} event fractions, got {len(y)}")
    known = ~np.isnan(y)
    for group in clusters:
        if len(np.asarray(group)) != len(y):
            raise InvalidInput(f"clusters must name a group for each of the {len(y)} answers")
    codes = [codes_of(np.asarray(group)[known]) for group in clusters]
    h, y = h[known], y[known]
    if not np.isin(y, (0.0, 1.0)).all():
        raise InvalidInput(f"present must be 1, 0 or NaN, got {y[~np.isin(y, (0.0, 1.0))][0]:g}")
    reason = _silent(h, y)
    if reason:
        return unknown(reason, method=method, n=len(h), scale=scale)
    if method == "threshold":
        return _threshold(h, y, scale)
    return of_fit(law.fit(h, y, clusters=codes, family="beta" if method == "law" else method), method, len(h), scale)


def codes_of(names: Any) -> NDArray[np.int64]:
    """A number from 0 for every distinct name."""
    import pandas as pd

    return np.asarray(pd.factorize(np.asarray(names))[0], dtype=np.int64)


def of_fit(found: law.LawFit, method: str, n: int, scale: str) -> CriterionEstimate:
    """The estimate that a fitted law gives, or why it gives none."""
    if 2 * found.gain <= 4:
        return unknown(
            "the answers do not depend on how much of an event was heard clearly enough to place a criterion",
            method=method,
            n=n,
            scale=scale,
        )
    numbers = dict(zip(_TELLS, (found.mean, found.spread, found.guess, found.lapse)))
    told = {name: high - low <= _TELLS[name] for name, (_, low, high) in numbers.items()}
    if not told["presence_criterion"]:
        low, high = found.mean[1:]
        return unknown(
            f"too few answers to tell: any mean criterion from {low:.2f} to {high:.2f} fits",
            method=method,
            n=n,
            scale=scale,
        )
    return CriterionEstimate(
        found.mean[0],
        found.mean[1:],
        found.guess[0],
        found.lapse[0],
        method,
        n,
        True,
        "",
        scale,
        found.spread[0],
        found.spread[1:],
        found.guess[1:],
        found.lapse[1:],
        2 * (4 if found.spread[0] > 0 else 3) - 2 * found.log_likelihood,
        found.design_effect,
        told,
    )


def _silent(h: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Why these answers say nothing about a criterion; empty if they may."""
    if len(y) == 0:
        return "there are no answers"
    met = h > 0
    if not met.any():
        return "no segment meets an event"
    if y.all():
        least = h[met].min()
        return (
            "the labels list presences only, and without an absent answer nothing shows where presence ends"
            f" (if nobody guesses, the criterion is at most {least:.3g})"
        )
    if not y.any():
        return "every answer is absent"
    if y[met].all() and not y[~met].any() and (h[met] > 1 - TIE).all():
        return "every event lies wholly inside its segment, so that nobody was asked about a part of one"
    if len(np.unique(h)) == 1:
        return f"every segment holds the same share of its event ({h[0]:.3g})"
    if (h[met] > 1 - TIE).all():
        return "every event lies wholly inside its segment, so that nobody was asked about a part of one"
    return ""


def _groups(h: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Distinct event fractions in order (ties within TIE are one), the answers and the presents at each."""
    order = np.argsort(h, kind="stable")
    h, y = h[order], y[order]
    first = np.concatenate(([True], h[1:] > h[:-1] * (1 + 2 * TIE) + 1e-300))
    begins = np.flatnonzero(first)
    count = np.diff(np.append(begins, len(h))).astype(np.float64)
    return h[begins], count, np.add.reduceat(y, begins)


def log_likelihood(k: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """The binomial log likelihood at its maximum, k of n."""
    from scipy.special import xlogy

    safe = np.maximum(n, 1.0)
    return np.asarray(xlogy(k, k / safe) + xlogy(n - k, (n - k) / safe), dtype=np.float64)


@dataclass(frozen=True)
class Step:
    """The likelihood of every place where a hard criterion may lie: between ``low`` and ``high``, with both rates."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    below: NDArray[np.float64]
    above: NDArray[np.float64]
    value: NDArray[np.float64]
    pooled: float  # without any criterion

    @property
    def best(self) -> float:
        """The middle of the places that fit best."""
        top = self.value >= self.value.max() - 1e-9
        return (float(self.low[top].min()) + float(self.high[top].max())) / 2


def step_profile(h: NDArray[np.float64], y: NDArray[np.float64], *, most: float = 1.0) -> Step:
    """The profile likelihood of a hard criterion on any scale, in O(n log n)."""
    value, count, presents = _groups(h, y)
    # Cut i puts the first i distinct fractions below the criterion, which then lies in (value[i - 1], value[i]].
    n0 = np.concatenate(([0.0], np.cumsum(count)))
    k0 = np.concatenate(([0.0], np.cumsum(presents)))
    n1, k1 = n0[-1] - n0, k0[-1] - k0
    low, high = np.concatenate(([0.0], value)), np.concatenate((value, [most]))
    p0, p1 = k0 / np.maximum(n0, 1), k1 / np.maximum(n1, 1)
    pooled = float(log_likelihood(k0[-1:], n0[-1:])[0])
    rises = (n0 > 0) & (n1 > 0) & (p1 > p0)
    # An annotator who says present less often where more is heard is no threshold: the best is then no change at all.
    profile = np.where(rises, log_likelihood(k0, n0) + log_likelihood(k1, n1), pooled)
    return Step(low, high, p0, p1, np.where(high > low, profile, -np.inf), pooled)


def _threshold(h: NDArray[np.float64], y: NDArray[np.float64], scale: str) -> CriterionEstimate:
    step, n = step_profile(h, y), len(h)
    best = float(step.value.max())
    inside = 2 * (best - step.value) <= CUTOFF
    interval = float(step.low[inside].min()), float(step.high[inside].max())
    reason = ""
    if 2 * (best - step.pooled) <= CUTOFF:
        reason = "the answers do not depend on how much of an event was heard clearly enough to place a threshold"
    elif interval[0] <= 0 and interval[1] >= 1:
        reason = "the answers fit any threshold between 0 and 1: no part of an event was asked about"
    if reason:
        return unknown(reason, method="threshold", n=n, scale=scale)
    at = int(np.argmax(step.value))
    rates = float(step.below[at]), float(1 - step.above[at])
    aic = 2 * 3 - 2 * best
    return CriterionEstimate(step.best, interval, *rates, "threshold", n, True, scale=scale, spread=0.0, aic=aic)
