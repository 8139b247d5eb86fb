"""What is expected of the numbers that nobody knows: before any answer, and given answers about others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy

from .particle_kernels import NAMES
from .renewal import Array


class Prior(NamedTuple):
    """A mixture of two normal laws of the unknown numbers: what is expected, and what is possible after all."""

    mean: Any  # (2, n)
    precision: Any  # (2, n, n)
    log_weight: Any  # (2,): of the mixture, with the normal laws' own constants
    doubt: float  # the share of events that may have any length


def logit(p: float) -> float:
    """The log odds of a chance."""
    return float(np.log(p / (1 - p)))


#: What is possible before anything is known, on the scales of the particles: medians and standard deviations. Of wrong
#: answers, of how much criteria differ and of the seconds that are enough not even the order of magnitude is known:
#: between no wrong answer that is ever seen and one in three, from a limit as hard as can be told to a fifth of an
#: event, from half a second to no such limit. Who guesses seldom seldom lapses.
MEDIAN = np.array([0.0, np.log(0.01), logit(0.02), logit(0.02), np.log(0.1), 0.0, np.log(0.5), np.log(4.0),
                   np.log(0.2), np.log(0.2)])  # fmt: skip
SPREAD = np.array([1.3, 1.7, 2.5, 2.5, 1.5, 1.4, 0.5, 2.0, 1.0, 1.0])
_ALIKE = 0.9  # the correlation of guesses and lapses
_ANNOTATOR = np.isin(NAMES, ("presence_criterion", "spread", "guess_rate", "lapse_rate", "seconds"))  # not a recording
#: Of what is possible, the least that a campaign expects of its next recording: other sounds, nearly the same ears.
_FLOOR = np.where(_ANNOTATOR, 0.1, 0.35)
_RATE = NAMES.index("event_rate")
RATES = np.linspace(-9.0, 1.5, 22)  # logarithms of the rates at which it is kept how likely answers are
#: Laws of the rates of a campaign's recordings, in standard deviations of what is expected of one: where the middle of
#: most is, how far they are apart, and how many are others.
_GRID = np.meshgrid(np.linspace(-4, 4, 17), [0.35, 0.6, 1], [0.05, 0.1, 0.2, 0.4])
_MIDDLE, _APART, _OTHERS = (v.ravel() for v in _GRID)
_LAWS = -0.5 * (_MIDDLE / 1.2) ** 2
_ALMOST = 0.25  # of these, to which what is expected is rounded, so that not every answer changes it
DOUBT = 0.2  # that what is expected is wrong after all, and that an event has any length: no data take it lower


def _broad(spread: Array, alike: float = _ALIKE) -> Array:
    """The covariance of numbers that nobody knows."""
    covariance = np.diag(spread**2)
    covariance[2, 3] = covariance[3, 2] = alike * spread[2] * spread[3]
    return covariance


def _at_rates(mean: Any, spread: Any) -> Array:
    """The logarithm of the density of normal laws at :data:`RATES`, where it sums up to 1."""
    log = -0.5 * ((RATES - np.asarray(mean)[..., None]) / np.asarray(spread)[..., None]) ** 2
    return np.asarray(log - scipy.special.logsumexp(log, axis=-1, keepdims=True))


_FAR = _at_rates(MEDIAN[_RATE], SPREAD[_RATE])


@dataclass(frozen=True, eq=False)
class ParameterPrior:
    """What is expected of the unknown numbers: a normal law, and with the chance ``others`` whatever is possible.

    With the chance ``doubt`` the length of an event is any.
    """

    mean: Array
    covariance: Array
    doubt: float
    others: float

    @classmethod
    def broad(cls, given: dict[str, tuple[float, float]] | None = None, *, doubt: float = DOUBT) -> ParameterPrior:
        """Nothing known but what is given, by name: the median and the standard deviation on the particles' scale."""
        mean, spread = MEDIAN.copy(), SPREAD.copy()
        for name, (centre, width) in (given or {}).items():
            k = NAMES.index(name)
            mean[k], spread[k] = centre, width
        told = {"guess_rate", "lapse_rate"} & set(given or {})
        return cls(mean, _broad(spread, 0.0 if told else _ALIKE), doubt, doubt)

    @property
    def prior(self) -> Prior:
        """The mixture as the compiled loops read it."""
        covariances = (self.covariance, _broad(SPREAD))
        sizes = [0.5 * np.linalg.slogdet(one)[1] for one in covariances]
        weights = np.log([1 - self.others, self.others]) - sizes
        return Prior(np.stack((self.mean, MEDIAN)), np.stack([np.linalg.inv(c) for c in covariances]), weights,
                     self.doubt)  # fmt: skip

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Unknown numbers of n particles."""
        near = self.mean + rng.normal(size=(n, len(NAMES))) @ np.linalg.cholesky(self.covariance).T
        far = MEDIAN + rng.normal(size=(n, len(NAMES))) @ np.linalg.cholesky(_broad(SPREAD)).T
        return np.asarray(np.where(rng.random((n, 1)) < self.others, far, near), dtype=np.float64)

    @property
    def _rate(self) -> tuple[float, float]:
        return float(self.mean[_RATE]), float(np.sqrt(self.covariance[_RATE, _RATE]))

    @cached_property
    def expected_rate(self) -> Array:
        """The logarithm of the density of the rate at :data:`RATES`."""
        near = _at_rates(*self._rate)
        return np.asarray(np.logaddexp(np.log(1 - self.others) + near, np.log(self.others) + _FAR))

    def likely_laws(self, likely: Array) -> Array:
        """The logarithm of how likely answers are under every law of rates, from those at :data:`RATES`."""
        middle, spread = self._rate
        near = scipy.special.logsumexp(_at_rates(middle + spread * _MIDDLE, spread * _APART) + likely, axis=-1)
        far = scipy.special.logsumexp(_FAR + likely)
        return np.asarray(np.logaddexp(np.log(1 - _OTHERS) + near, np.log(_OTHERS) + far))

    def taught(self, others: Sequence[tuple[Array, Array]], laws: Sequence[Array] = ()) -> ParameterPrior:
        r"""What is expected of a stretch, given the means and variances of the numbers after the answers about others,
        each of which began with this law; and how likely the answers about each are under every law of rates.

        The answers about one add the precision :math:`g = 1/v - 1/v_0` of an observation; stretches differ by
        :math:`\tau`, so that any number of them leaves at least that open: for who answers a tenth of what is possible,
        for sounds a third and as much as the stretches were seen to differ. Of the rate every stretch tells, also one
        where a single answer found nothing: no observation with an error, for a rate has no end below.
        """
        before = np.diag(self.covariance)
        mean, spread, far = self.mean.copy(), np.sqrt(before), self.others
        if others:
            means, variances = (np.array(each) for each in zip(*others))
            gained = np.maximum(1 / np.maximum(variances, 1e-6) - 1 / before, 1e-9)
            observed = (means / np.maximum(variances, 1e-6) - self.mean / before) / gained
            observed = np.where(gained > 0.1 / before, observed, self.mean)  # what was not learned says nothing
            middle = np.average(observed, axis=0, weights=gained)
            apart = np.where(_ANNOTATOR, 0.0, np.average((observed - middle) ** 2, axis=0, weights=gained))
            between = (_FLOOR * SPREAD) ** 2 + apart
            each = 1 / (1 / gained + between)
            precision = 1 / before + each.sum(axis=0)
            mean = (self.mean / before + (observed * each).sum(axis=0)) / precision
            spread = np.sqrt(np.minimum(1 / precision + between, before))
        mean[_RATE], spread[_RATE] = self.mean[_RATE], np.sqrt(before[_RATE])
        if laws:
            weight = scipy.special.softmax(np.sum(laws, axis=0) + _LAWS)
            rate, far = weight @ _MIDDLE, 0.05 * round(float(weight @ _OTHERS) / 0.05)
            wide = np.sqrt(weight @ (_APART**2 + (_MIDDLE - rate) ** 2))
            mean[_RATE] += spread[_RATE] * _ALMOST * round(float(rate) / _ALMOST)
            spread[_RATE] *= max(_FLOOR[_RATE], _ALMOST * round(float(wide) / _ALMOST))
        scale = spread / np.sqrt(before)
        return ParameterPrior(mean, self.covariance * np.outer(scale, scale), self.doubt, far)

    @property
    def digest(self) -> bytes:
        """Equal for equal laws."""
        shares = np.array([self.doubt, self.others])
        return hashlib.sha256(self.mean.tobytes() + self.covariance.tobytes() + shares.tobytes()).digest()


def scaled(name: str, x: Any) -> Any:
    """One of the unknown numbers on its own scale: rates and shares, seconds."""
    if name == "presence_criterion":
        return scipy.special.expit(x)
    return 0.5 * scipy.special.expit(x) if name in ("guess_rate", "lapse_rate") else np.exp(x)
