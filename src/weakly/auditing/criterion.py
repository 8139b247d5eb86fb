r"""How sensitive the annotators were: the presence criterion, with an interval, or why it cannot be known.

An annotator who hears the share h of an event says present with probability
:math:`g_0 + (1 - g_0 - \ell)\,1\{h \ge \gamma\}`. What identifies :math:`\gamma` is *answers*, both present and absent,
on segments that cut events at different shares. Event lengths alone do not (E21).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..annotator import TIE
from ..errors import InvalidInput
from ..results import plain
from ..symbols import check, choice

#: Twice the drop in log likelihood that bounds the interval of a hard threshold. The likelihood of a change point is
#: not chi-squared: 3.84 covers 87-93 %, 6 covers 95-96 %.
CUTOFF = 6.0
#: Up to this many answers the logistic curve is fitted with Firth's penalty, which survives separated data.
FIRTH_UP_TO = 200

METHODS = ("threshold", "logistic")


@dataclass(frozen=True)
class CriterionEstimate:
    """A presence criterion with its 95 % interval; both NaN where the data cannot identify it, and ``reason`` says why.

    ``scale`` is ``event`` where the criterion is a share of the event (the paper's gamma) and ``segment`` where it is a
    share of the segment.
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

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}

    @property
    def width(self) -> float:
        """How wide the interval is."""
        low, high = self.presence_criterion_ci
        return high - low

    def __str__(self) -> str:
        if not self.identifiable:
            return f"not identifiable from {self.n} answers: {self.reason}"
        low, high = self.presence_criterion_ci
        return f"{self.presence_criterion:.3f} ({low:.3f} to {high:.3f}, {self.n} answers)"


def unknown(reason: str, *, method: str, n: int, scale: str = "event") -> CriterionEstimate:
    """The estimate that says why there is none."""
    nan = math.nan
    return CriterionEstimate(nan, (nan, nan), nan, nan, method, n, False, reason, scale)


def estimate_criterion(
    event_fraction: ArrayLike, *, present: ArrayLike, method: str = "threshold", scale: str = "event"
) -> CriterionEstimate:
    r"""The presence criterion of whoever gave these answers, with a 95 % interval.

    Parameters
    ----------
    event_fraction : h, the largest share of an event that each segment holds, in [0, 1]; 0 where it meets none.
    present : the answers, 1 or 0; NaN (unsure) is left out.
    method : ``threshold``: a hard criterion with a guess and a lapse rate, by profile likelihood in O(n log n); the
        interval is :math:`\{\gamma: 2(\ell_{max} - \ell(\gamma)) \le 6\}`. ``logistic``: the event fraction at which
        a logistic curve crosses one half, with Fieller's interval; Firth's penalty up to 200 answers.
    scale : what the shares are shares of; only carried along.

    Notes
    -----
    Identified only by answers of both kinds at event fractions on both sides of the criterion: labels that list
    presences alone say nothing about it (E21).

    Examples
    --------
    >>> h = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> estimate = estimate_criterion(h, present=[0, 0, 0, 0, 1, 1, 1, 1])
    >>> round(estimate.presence_criterion, 6), estimate.identifiable
    (0.5, True)
    """
    choice("method", method, METHODS)
    h = np.atleast_1d(check("event_fraction", event_fraction)).ravel()
    y = np.asarray(present, dtype=np.float64).ravel()
    if h.shape != y.shape:
        raise InvalidInput(f"present must have one answer for each of the {len(h)} event fractions, got {len(y)}")
    known = ~np.isnan(y)
    h, y = h[known], y[known]
    if not np.isin(y, (0.0, 1.0)).all():
        raise InvalidInput(f"present must be 1, 0 or NaN, got {y[~np.isin(y, (0.0, 1.0))][0]:g}")
    reason = _silent(h, y)
    if reason:
        return unknown(reason, method=method, n=len(h), scale=scale)
    fit = _threshold if method == "threshold" else _logistic
    return fit(h, y, scale)


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


def _log_likelihood(k: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """The binomial log likelihood at its maximum, k of n."""
    from scipy.special import xlogy

    safe = np.maximum(n, 1.0)
    return np.asarray(xlogy(k, k / safe) + xlogy(n - k, (n - k) / safe), dtype=np.float64)


def _threshold(h: NDArray[np.float64], y: NDArray[np.float64], scale: str) -> CriterionEstimate:
    value, count, presents = _groups(h, y)
    # Cut i puts the first i distinct fractions below the criterion, which then lies in (value[i - 1], value[i]].
    n0 = np.concatenate(([0.0], np.cumsum(count)))
    k0 = np.concatenate(([0.0], np.cumsum(presents)))
    n1, k1 = n0[-1] - n0, k0[-1] - k0
    low = np.concatenate(([0.0], value))
    high = np.concatenate((value, [1.0]))
    p0, p1 = k0 / np.maximum(n0, 1), k1 / np.maximum(n1, 1)
    pooled = float(_log_likelihood(k0[-1:], n0[-1:])[0])
    rises = (n0 > 0) & (n1 > 0) & (p1 > p0)
    # An annotator who says present less often where more is heard is no threshold: the best is then no change at all.
    profile = np.where(rises, _log_likelihood(k0, n0) + _log_likelihood(k1, n1), pooled)
    possible = high > low
    profile = np.where(possible, profile, -np.inf)
    best = profile.max()
    n = int(n0[-1])
    if 2 * (best - pooled) <= CUTOFF:
        return unknown(
            "the answers do not depend on how much of an event was heard clearly enough to place a threshold",
            method="threshold",
            n=n,
            scale=scale,
        )
    inside = 2 * (best - profile) <= CUTOFF
    interval = float(low[inside].min()), float(high[inside].max())
    if interval[0] <= 0 and interval[1] >= 1:
        return unknown(
            "the answers fit any threshold between 0 and 1: no part of an event was asked about",
            method="threshold",
            n=n,
            scale=scale,
        )
    top = profile >= best - 1e-9
    estimate = (float(low[top].min()) + float(high[top].max())) / 2
    at = int(np.argmax(profile))
    return CriterionEstimate(estimate, interval, float(p0[at]), float(1 - p1[at]), "threshold", n, True, scale=scale)


def _logistic(h: NDArray[np.float64], y: NDArray[np.float64], scale: str) -> CriterionEstimate:
    met = h > 0  # a segment without the event is no stimulus; it only shows guesses
    guess = float(y[~met].mean()) if (~met).any() else math.nan
    x, y = h[met], y[met]
    n = len(x)
    reason = _silent(x, y)
    if reason:
        return unknown(reason, method="logistic", n=n, scale=scale)
    firth = n <= FIRTH_UP_TO or _separated(x, y)
    fit = fit_logistic(x, y, firth=firth)
    if fit is None:
        return unknown("the logistic curve does not settle on these answers", method="logistic", n=n, scale=scale)
    (intercept, slope), covariance = fit
    interval = _fieller(intercept, slope, covariance)
    if slope <= 0 or interval is None:
        return unknown(
            "the answers do not rise clearly with the share of the event that was heard",
            method="logistic",
            n=n,
            scale=scale,
        )
    low, high = max(interval[0], 0.0), min(interval[1], 1.0)
    estimate = -intercept / slope
    if low >= 1 or high <= 0 or (low <= 0 and high >= 1) or not 0 < estimate <= 1:
        return unknown(
            f"the curve crosses one half at {estimate:.3g}, outside (0, 1]: nearly all answers are alike",
            method="logistic",
            n=n,
            scale=scale,
        )
    method = "logistic, Firth" if firth else "logistic"
    return CriterionEstimate(estimate, (low, high), guess, math.nan, method, n, True, scale=scale)


def _separated(x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    return bool(x[y == 0].max() <= x[y == 1].min() or x[y == 1].max() <= x[y == 0].min())


def fit_logistic(
    x: NDArray[np.float64], y: NDArray[np.float64], *, firth: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Intercept and slope of a logistic curve and their covariance; None if Newton's steps do not settle.

    With ``firth`` the score is penalised by half the log determinant of the information, which keeps the estimate
    finite on separated data and removes the first-order bias.
    """
    from scipy.special import expit

    design = np.column_stack((np.ones_like(x), x))
    beta = np.zeros(2)
    penalised = _penalised(design, y, beta, firth)
    covariance: NDArray[np.float64] = np.eye(2)
    for _ in range(200):
        p = expit(design @ beta)
        weight = p * (1 - p)
        information = design.T @ (design * weight[:, None])
        try:
            covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        score = design.T @ (y - p)
        if firth:
            leverage = weight * np.einsum("ij,jk,ik->i", design, covariance, design)
            score = design.T @ (y - p + leverage * (0.5 - p))
        step = covariance @ score
        size = float(np.abs(step).max())
        step *= min(1.0, 5.0 / size) if size > 0 else 0.0
        while True:  # halve until the penalised likelihood does not fall
            candidate = _penalised(design, y, beta + step, firth)
            if candidate >= penalised - 1e-12 or np.abs(step).max() < 1e-12:
                break
            step /= 2
        beta, penalised = beta + step, candidate
        if np.abs(step).max() < 1e-9:
            return beta, covariance
    return None


def _penalised(design: NDArray[np.float64], y: NDArray[np.float64], beta: NDArray[np.float64], firth: bool) -> float:
    eta = design @ beta
    value = float(y @ eta - np.logaddexp(0.0, eta).sum())
    if not firth:
        return value
    weight = np.exp(eta - 2 * np.logaddexp(0.0, eta))
    determinant = np.linalg.det(design.T @ (design * weight[:, None]))
    return value + 0.5 * math.log(determinant) if determinant > 0 else -math.inf


def _fieller(intercept: float, slope: float, covariance: NDArray[np.float64]) -> tuple[float, float] | None:
    """Where the curve may cross one half: Fieller's interval for -intercept / slope; None if it is unbounded."""
    z2 = 3.841458820694124
    a = slope**2 - z2 * covariance[1, 1]
    b = intercept * slope - z2 * covariance[0, 1]
    c = intercept**2 - z2 * covariance[0, 0]
    root = b**2 - a * c
    if a <= 0 or root < 0:
        return None
    return (-b - math.sqrt(root)) / a, (-b + math.sqrt(root)) / a


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
    interval = (math.nan, math.nan)
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
