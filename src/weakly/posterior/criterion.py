r"""How sensitive people are: the posterior of their presence criterion, or why it cannot be known.

An annotator who hears the share h of an event says present with probability :math:`g_0 + (1 - g_0 - \ell)\,G(h)`, where
G is the law of their criterion (:mod:`weakly.posterior.law`). :class:`CriterionPosterior` is what answers say of the
law's mean and spread and of both rates; audits, the experiment of ``weakly label --measure`` and the labeling page all
ask it. What identifies it is *answers*, both present and absent, on segments that cut events at different shares. Event
lengths alone do not (E21).

Somebody may also need so many *seconds* of an event, or notice it by *either*, whichever comes first. The prior of a
person who is being measured holds the three laws alike; the answers say which of them fits (``laws``), and whether any
of them does better than answers that depend on no sound (``log_evidence`` against :func:`weakly.posterior.law.coin`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..base.errors import InvalidInput
from ..base.results import with_ends
from ..base.symbols import check, choice
from ..model.annotator import TIE, Annotator
from ..model.intervals import Bools, Floats, Ints
from . import law

#: Twice the drop in log likelihood that bounds the interval of a hard threshold. The likelihood of a change point is
#: not chi-squared: 3.84 covers 87-93 %, 6 covers 95-96 %, if there is one hard criterion.
CUTOFF = 6.0
#: How to fit: a law of criteria (the headline), one hard threshold, a logistic curve; all with guesses and lapses.
METHODS = ("law", "threshold", "logistic")
#: Event fractions that an item of an experiment can have: none of the event, in steps of a fiftieth, all of it.
FRACTIONS = np.linspace(0.0, 1.0, 51)
#: What a person's criterion is about: a share of the event, seconds of it, or whichever of both comes first.
LAWS = ("share", "seconds", "either")
NUMBERS = ("presence_criterion", "spread", "guess_rate", "lapse_rate")
ONLY_PRESENT = "the labels list presences only, and without an absent answer nothing shows where presence ends"
_SURE = 0.65  # posterior chance from which one hard criterion is taken to serve for all
_NAN = (math.nan, math.nan)
_TAILS = (1 - 0.95) / 2, (1 + 0.95) / 2  # of an interval
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

    def flat(self) -> dict[str, Any]:
        """Each of :data:`NUMBERS` with the ends of its interval, by the names of a table's columns."""
        return with_ends({name: (getattr(self, name), *getattr(self, f"{name}_ci")) for name in NUMBERS})

    @property
    def annotator(self) -> Annotator:
        """The annotator that was found, for plan, evaluate, simulate and infer."""
        if not self.identifiable:
            raise InvalidInput(f"there is no annotator to take: {self.reason}")
        numbers = {name: 0.0 if math.isnan(value := getattr(self, name)) else value for name in NUMBERS}
        return annotator_of(**numbers, family="logistic" if self.method == "logistic" else "beta")

    def __str__(self) -> str:
        if not self.identifiable:
            return f"not identifiable from {self.n} answers: {self.reason}"
        low, high = self.presence_criterion_ci
        return f"{self.presence_criterion:.3f} ({low:.3f} to {high:.3f}, {self.n} answers)"


def annotator_of(
    *, presence_criterion: float, spread: float, guess_rate: float, lapse_rate: float, family: str = "beta"
) -> Annotator:
    """Who answers like that: a law of criteria with this mean and standard deviation, or (below 0.001) a hard one."""
    mean = float(check("presence_criterion", presence_criterion))
    rates: dict[str, Any] = {"guess_rate": guess_rate, "lapse_rate": lapse_rate}
    if 0 <= spread < 1e-3:
        return Annotator(presence_criterion=mean, **rates)
    if family == "logistic":
        return Annotator.logistic(mean, spread * math.sqrt(3) / math.pi, **rates)
    if not 0 < spread**2 < mean * (1 - mean):
        raise InvalidInput(f"spread must be between 0 and {np.sqrt(mean * (1 - mean)):.3g}, got {spread!r}")
    total = mean * (1 - mean) / spread**2 - 1
    return Annotator.beta(mean * total, (1 - mean) * total, **rates)


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
    family = "beta" if method == "law" else method
    return CriterionPosterior.fit(h, y, clusters=codes, family=family).estimate(method=method, scale=scale)


def codes_of(names: Any) -> Ints:
    """A number from 0 for every distinct name."""
    import pandas as pd

    return np.asarray(pd.factorize(np.asarray(names))[0], dtype=np.int64)


@dataclass(frozen=True)
class FitDetails:
    """How well the best law fits, and what a grid with each law's best rates cannot say: low, middle and high of the
    spread and of both rates.

    ``gain`` is how much more likely (log) the best law is than answers that do not depend on how much was heard.
    """

    log_likelihood: float
    gain: float
    design_effect: float
    numbers: dict[str, tuple[float, float, float]]


@dataclass(frozen=True)
class CriterionPosterior:
    """How likely each way to answer is: laws of the criterion, each with some pairs of guess and lapse rates.

    ``mean`` and ``spread`` (a share of the largest) are of the laws, ``ends`` the means that each stands for;
    ``guess`` and ``lapse`` their rates and ``weights`` how likely they are, one row per law. Of somebody who is being
    measured ``seconds`` are the means in seconds over ``longest``, the longest event, with ``seconds_ends``; a law has
    a mean of shares, of seconds, or (either) both, NaN stands for none. ``log_evidence``: of all answers, beforehand.
    """

    mean: Floats
    spread: Floats
    ends: Floats
    guess: Floats
    lapse: Floats
    weights: Floats
    n_items: int = 0
    family: str = "beta"
    details: FitDetails | None = None
    seconds: Floats | None = None
    seconds_ends: Floats | None = None
    longest: float = 1.0
    log_evidence: float = 0.0

    @classmethod
    def prior(cls, event_lengths: ArrayLike = ()) -> CriterionPosterior:
        """Before any answer of somebody who is being measured: the prior of :mod:`.law` on the grid of this module.

        Where the events that are asked about are equally long, or nobody says, seconds cannot be told from shares.
        """
        d = np.asarray(event_lengths, dtype=np.float64)
        return _prior(float(d.min()), float(d.max())) if d.size and d.max() > 1.3 * d.min() else _prior(1.0, 1.0)

    @classmethod
    def hard(cls, means: Floats, log_likelihood: Floats, *, rate: float, n_items: int = 0) -> CriterionPosterior:
        """Of one hard criterion with known rates of slips, given how likely each criterion makes the answers (log)."""
        rates = np.full((1, 1), rate)
        weights = np.exp(log_likelihood - log_likelihood.max())[:, None]
        ends = law.cells(means)
        return cls(means, np.zeros(len(means)), ends, rates, rates, weights / weights.sum(), n_items)

    @classmethod
    def fit(cls, h: Floats, y: Floats, *, clusters: Sequence[Ints] = (), family: str = "beta") -> CriterionPosterior:
        """After many answers (1 or 0 at event fraction h), on a grid that closes in on them; rates at their best.

        ``clusters``: codes of recordings, of annotators, whose answers are alike.
        """
        first = law.hard(law.grouped(h, y, 0.5))
        groups = law.grouped(h, y, float(first.mean[np.argmax(first.value)]))
        step, soft = law.hard(groups), law.soft(family, groups)
        best, is_beta = law.peak(soft, groups), family == "beta"
        best = best if not is_beta or best.value.max() > step.value.max() else step
        weights, covariance = law.influence(best, groups)
        effect, student = law.design_effect(weights, groups, y, clusters)
        power = 1 / (effect * student**2)
        if power < 0.9:
            soft = law.soft(family, groups, power=power)
        top = max(float(soft.value.max()), float(step.value.max()) if is_beta else -np.inf)
        mass, zero, sure = soft.mass(power, top), 0.0, 0.0
        if is_beta:
            masses = [float(part.mass(1 / effect, top).sum()) for part in (step, soft)]
            zero, sure = float(step.mass(power, top).sum()), masses[0] / sum(masses)
        parts = [(step, step.mass(1 / effect if sure > _SURE else power, top))] if is_beta else []
        if sure <= _SURE:
            parts.append((soft, mass))
        names = ("mean", "spread", "ends", "guess", "hit")
        mean, spread, ends, guess, hit = (np.concatenate([getattr(part, name) for part, _ in parts]) for name in names)
        total = np.concatenate([each for _, each in parts])
        low, middle, high = law.spread_quantiles(law.deviation(family, soft.mean, soft.spread), mass, zero)
        at = int(np.argmax(best.value))
        rates = [
            law.rate_interval(value, float(covariance[k, k]) * effect)
            for k, value in ((2, float(best.guess[at])), (3, 1 - float(best.hit[at])))
        ]
        rise = law.cdf(family, h, best.mean[[at]], best.spread[[at]])[0]
        p = np.clip(best.guess[at] + (best.hit[at] - best.guess[at]) * rise, 1e-12, 1 - 1e-12)
        flat = max(float(step.value[0]), float(step.value[-1]))  # all that meets an event is alike
        likelihood, gain = float(np.log(np.where(y > 0.5, p, 1 - p)).sum()), float(power * (top - flat))
        spread_numbers = low, 0.0 if sure > _SURE else middle, high
        details = FitDetails(likelihood, gain, effect, dict(zip(NUMBERS[1:], (spread_numbers, *rates))))
        columns = mean, spread, ends, guess[:, None], 1 - hit[:, None], (total / total.sum())[:, None]
        return cls(*columns, n_items=len(h), family=family, details=details)

    def update(
        self, event_fraction: ArrayLike, present: ArrayLike, event_length: ArrayLike | None = None
    ) -> CriterionPosterior:
        """After more answers, 1 or 0, at these fractions of events of this length; NaN (unsure) says nothing.

        >>> h = np.arange(21) / 20
        >>> 0.4 < CriterionPosterior.prior().update(h, h >= 0.5).estimate().presence_criterion < 0.6
        True
        """
        y = np.atleast_1d(np.asarray(present, dtype=np.float64))
        known = ~np.isnan(y)
        h = np.atleast_1d(check("event_fraction", event_fraction))
        d = np.broadcast_to(self.longest if event_length is None else np.asarray(event_length, dtype=float), h.shape)
        items, at = np.unique(np.column_stack((h, d))[known], axis=0, return_inverse=True)
        counts, presents = (np.bincount(at.ravel(), w, len(items)) for w in (None, y[known]))
        log = np.log(np.maximum(self.weights, 1e-300))
        for rise, yes, n in zip(self._rise(*items.T).T, presents, counts):
            p = self.guess + (1 - self.guess - self.lapse) * rise[:, None]
            log += (yes * np.log(p) if yes else 0.0) + ((n - yes) * np.log(1 - p) if n > yes else 0.0)
        top = float(log.max())
        weights = np.exp(log - top)
        evidence = self.log_evidence + top + math.log(weights.sum())
        n_items = self.n_items + int(known.sum())
        return replace(self, weights=weights / weights.sum(), n_items=n_items, details=None, log_evidence=evidence)

    def _rise(self, h: Floats, event_length: Floats) -> Floats:
        """How likely the criterion of every law is met at these fractions of events of this length; (laws, items)."""
        if self.seconds is None:
            return law.cdf(self.family, h, self.mean, self.spread)
        unmet = np.ones((len(self.mean), len(h)))
        for middle, reached in ((self.mean, h), (self.seconds, np.minimum(h * event_length / self.longest, 1.0))):
            has = ~np.isnan(middle)
            unmet[has] *= 1 - law.cdf(self.family, reached, middle[has], self.spread[has])
        return np.asarray(1 - unmet)

    @property
    def laws(self) -> dict[str, float]:
        """How likely each of :data:`LAWS` is."""
        return {name: float(self.weights[self._is(name)].sum()) for name in LAWS}

    def of(self, name: str) -> CriterionPosterior:
        """The same if the criterion is of this law."""
        mine = self._is(name)
        kept = {word: getattr(self, word)[mine] for word in ("mean", "spread", "ends", "weights")}
        if self.seconds is not None and self.seconds_ends is not None:
            kept |= {"seconds": self.seconds[mine], "seconds_ends": self.seconds_ends[mine]}
        return replace(self, **(kept | {"weights": kept["weights"] / kept["weights"].sum()}))

    def _is(self, name: str) -> Bools:
        share = ~np.isnan(self.mean)
        seconds = np.zeros(len(share), dtype=bool) if self.seconds is None else ~np.isnan(self.seconds)
        return {"share": share & ~seconds, "seconds": seconds & ~share, "either": share & seconds}[name]

    def information(self, event_fraction: ArrayLike, event_length: float | None = None) -> Floats:
        r"""The expected information of an answer at each event fraction about the law and its mean, in nats.

        .. math:: I(h) = H_2(\bar P(h)) - \sum_m w_m H_2(\bar P_m(h))
        """
        h = np.atleast_1d(np.asarray(event_fraction, dtype=np.float64))
        d = np.full(len(h), self.longest if event_length is None else event_length)
        base = (self.weights * self.guess).sum(axis=1)
        gain = (self.weights * (1 - self.guess - self.lapse)).sum(axis=1)
        chance = base[:, None] + gain[:, None] * self._rise(h, d)
        code = np.nan_to_num(self.mean) + (0.0 if self.seconds is None else 7 * np.nan_to_num(self.seconds))
        _, of = np.unique(code, return_inverse=True)
        mean = np.bincount(of, weights=self.weights.sum(axis=1)).astype(np.float64)
        given = np.zeros((len(mean), chance.shape[1]))
        np.add.at(given, of, chance)
        given /= np.maximum(mean, 1e-300)[:, None]
        return np.asarray(_entropy(mean @ given) - mean @ _entropy(given))

    def quantiles(self, name: str, shares: Sequence[float] = (0.025, 0.5, 0.975)) -> tuple[float, ...]:
        """Quantiles of presence_criterion (the mean of the law), seconds (the mean of a law of seconds), spread (its
        standard deviation), guess or lapse rate. Each weight is spread evenly over what it stands for.
        """
        laws = self.weights.sum(axis=1)
        if name == "spread":
            zero = float(laws[self.spread == 0].sum())
            width = law.deviation(self.family, self.mean, self.spread)
            return law.spread_quantiles(width, laws * (self.spread > 0), zero, shares)
        if name in ("presence_criterion", "seconds"):
            ends = self.ends if self.seconds_ends is None or name != "seconds" else self.longest * self.seconds_ends
            weights = laws
        else:
            rates = np.broadcast_to(getattr(self, name.removesuffix("_rate")), self.weights.shape)
            nodes, of = np.unique(rates, return_inverse=True)
            ends, weights = law.cells(nodes), np.bincount(of.ravel(), weights=self.weights.ravel())
        found, of = np.unique(ends, axis=0, return_inverse=True)
        weights = np.bincount(of.ravel(), weights=weights)
        x = np.unique(found)
        width = np.maximum(found[:, 1] - found[:, 0], 1e-300)
        below = weights @ np.clip((x - found[:, :1]) / width[:, None], 0.0, 1.0)
        return tuple(np.interp(shares, below / below[-1], x).tolist()) if len(x) > 1 else (float(x[0]),) * len(shares)

    def expected(self, name: str = "presence_criterion") -> float:
        """The mean of a number over the posterior."""
        values = {
            "presence_criterion": self.mean[:, None], "guess_rate": self.guess, "lapse_rate": self.lapse,
            "spread": law.deviation(self.family, self.mean, self.spread)[:, None],
        }  # fmt: skip
        return float((self.weights * values[name]).sum())

    def interval(self, name: str = "presence_criterion") -> tuple[float, float]:
        """The 95 % interval of a number with equal tails."""
        if self.details is not None and name in self.details.numbers:
            return self.details.numbers[name][0], self.details.numbers[name][2]
        low, high = self.quantiles(name, _TAILS)
        return low, high

    def estimate(self, *, method: str = "law", scale: str = "event") -> CriterionEstimate:
        """The numbers with their 95 % intervals, or why there are none: expected ones, and of a fit the medians."""
        fit: dict[str, Any] = {"method": method, "scale": scale, "n": self.n_items}
        details, ends = self.details, {name: self.interval(name) for name in NUMBERS}
        middles = {name: self.expected(name) for name in NUMBERS}
        if details is not None:
            middles = {name: middle for name, (_, middle, _) in details.numbers.items()}
            middles["presence_criterion"] = self.quantiles("presence_criterion", (0.5,))[0]
            n_parameters = 4 if middles["spread"] > 0 else 3
            fit |= {"aic": 2 * n_parameters - 2 * details.log_likelihood, "design_effect": details.design_effect}
        told = {name: high - low <= _TELLS[name] for name, (low, high) in ends.items()}
        reason = ""
        if details is not None and 2 * details.gain <= 4:
            reason = "the answers do not depend clearly enough on how much of an event there is to place a criterion"
        elif details is not None and not told["presence_criterion"]:
            low, high = ends["presence_criterion"]
            reason = f"too few answers to tell: any mean criterion from {low:.2f} to {high:.2f} fits"
        if reason:
            return unknown(reason, method=method, n=self.n_items, scale=scale)
        fit |= middles | {f"{name}_ci": ends[name] for name in NUMBERS}
        return CriterionEstimate(**fit, identifiable=True, identified=told)


@cache
def _prior(shortest: float, longest: float) -> CriterionPosterior:
    return CriterionPosterior(**law.prior_grid(shortest, longest), longest=longest)


def _entropy(p: Floats) -> Floats:
    return np.asarray(-scipy.special.xlogy(p, p) - scipy.special.xlogy(1 - p, 1 - p))


def _silent(h: Floats, y: Floats) -> str:
    """Why these answers say nothing about a criterion; empty if they may."""
    if len(y) == 0:
        return "there are no answers"
    met = h > 0
    if not met.any():
        return "no segment meets an event"
    if y.all():
        least = h[met].min()
        return f"{ONLY_PRESENT} (if nobody guesses, the criterion is at most {least:.3g})"
    if not y.any():
        return "every answer is absent"
    if len(np.unique(h)) == 1:
        return f"every segment holds the same share of its event ({h[0]:.3g})"
    if (h[met] > 1 - TIE).all():
        return "every event lies wholly inside its segment, so that nobody was asked about a part of one"
    return ""


def _threshold(h: Floats, y: Floats, scale: str) -> CriterionEstimate:
    step, n = law.step_profile(h, y), len(h)
    best = float(step.value.max())
    inside = 2 * (best - step.value) <= CUTOFF
    interval = float(step.low[inside].min()), float(step.high[inside].max())
    reason = ""
    if 2 * (best - step.pooled) <= CUTOFF:
        reason = "the answers do not depend clearly enough on how much of an event there is to place a threshold"
    elif interval[0] <= 0 and interval[1] >= 1:
        reason = "the answers fit any threshold between 0 and 1: no part of an event was asked about"
    if reason:
        return unknown(reason, method="threshold", n=n, scale=scale)
    at = int(np.argmax(step.value))
    rates = float(step.below[at]), float(1 - step.above[at])
    aic = 2 * 3 - 2 * best
    return CriterionEstimate(step.best, interval, *rates, "threshold", n, True, scale=scale, spread=0.0, aic=aic)
