"""Event-length laws: one fixed length, a sample of lengths, or any scipy law; fitting, also to censored lengths.

A law answers two questions, and all of the stochastic theory is made of them: the expectation of a function of the
length, and the part of that expectation that comes from lengths up to a limit. A sample answers both with sums over its
sorted values; a continuous law with Gauss-Legendre panels whose masses are checked against its distribution function.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import AssumptionWarning, InvalidInput
from ..base.results import law_name
from ..base.symbols import check
from .criterion_law import Law, law_parameters

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]

gauss = lru_cache(np.polynomial.legendre.leggauss)
_NODES, _WEIGHTS = gauss(24)
#: Panels end at the quantiles 2^-k and 1 - 2^-k, so that they close in on singular ends and long tails.
_LEVELS = 0.5 ** np.arange(1, 50)


def panel_nodes(edges: Floats, n: int = 24) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on each panel between the edges, shape (panels, nodes)."""
    (nodes, weights), half = gauss(n), np.diff(edges)[:, None] / 2
    return edges[:-1, None] + half * (1 + nodes), half * weights


@dataclass(frozen=True, eq=False)
class Lengths:
    """A law of event lengths, in seconds. Make one with :meth:`fixed`, :meth:`sample`, :meth:`law`, :meth:`fit`,
    :meth:`of` or :meth:`parse`.

    Examples
    --------
    >>> Lengths.sample([0.5, 1, 4]).mean
    1.8333333333333333
    >>> Lengths.parse("gamma:0.8,loc=0.5").name
    'gamma(0.8, loc=0.5)'
    """

    name: str
    values: Floats | None = None  # a sample: sorted, distinct
    weights: Floats | None = None  # its shares, which add up to one
    frozen: Any = None  # a law: a frozen scipy distribution
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def fixed(cls, event_length: float) -> Lengths:
        """Every event has the same length."""
        value = np.asarray(check("event_length", event_length), dtype=np.float64)
        if value.ndim:
            raise InvalidInput(f"event_length must be one number > 0, got {value.size} of them; Lengths.sample?")
        return cls(f"{float(value):g} s", value.reshape(1), np.ones(1))

    @classmethod
    def sample(cls, values: ArrayLike, *, weights: ArrayLike | None = None, name: str | None = None) -> Lengths:
        """The lengths that were observed, each as likely as the next or with the given weights."""
        array = np.atleast_1d(np.asarray(check("event_length", values, called="values"), dtype=np.float64)).ravel()
        if array.size == 0:
            raise InvalidInput("values must hold at least one event length > 0, got none")
        if not np.isfinite(array).all():
            raise InvalidInput("values must be finite, got inf")
        told = np.ones(array.size) if weights is None else check("n_events", weights, called="weights")
        shares: Any = np.ravel(np.asarray(told, dtype=np.float64))
        if shares.shape != array.shape or not shares.sum() > 0:
            raise InvalidInput(f"weights must be {array.size} numbers >= 0, one for each value, got {weights!r}")
        distinct, where = np.unique(array, return_inverse=True)
        shares = np.bincount(where.ravel(), weights=shares, minlength=distinct.size)
        kept = shares > 0
        label = name or (f"{distinct[0]:g} s" if distinct.size == 1 else f"sample of {array.size}")
        return cls(label, distinct[kept], shares[kept] / shares.sum(), notes={"n": int(array.size)})

    @classmethod
    def law(cls, frozen: Any, *, name: str | None = None) -> Lengths:
        """Any frozen scipy law; a law that reaches below zero is taken given that the length is positive."""
        if not hasattr(frozen, "cdf") or not hasattr(frozen, "ppf"):
            raise InvalidInput(
                f"law must be a frozen scipy law such as scipy.stats.gamma(0.8, loc=0.5), got {frozen!r}"
            )
        label = name or law_name(frozen)
        if hasattr(frozen, "pmf"):
            low, high = float(frozen.ppf(1e-15)), float(frozen.ppf(1 - 1e-15))
            points = np.arange(max(1.0, low), high + 1)
            if points.size == 0:
                raise InvalidInput(f"law must give positive lengths, got {label}")
            return cls.sample(points, weights=frozen.pmf(points), name=label)
        below = float(frozen.cdf(0.0))
        if not below < 1:
            raise InvalidInput(f"law must give positive lengths, got {label} with P(length > 0) = {1 - below:g}")
        with np.errstate(over="ignore", invalid="ignore"):
            low, middle, high = (float(frozen.ppf(below + (1 - below) * p)) for p in (0.01, 0.5, 0.99))
            mean = float(frozen.mean())
        if not 1e-100 <= middle <= 1e100:
            raise InvalidInput(f"law must have a median between 1e-100 and 1e+100 s, got {label} with {middle:g} s")
        if not low < high:
            raise InvalidInput(f"law must give more than one length, got {label} with {low:g} s only; Lengths.fixed?")
        if below > 1e-6:
            words = f"{label} puts {below:.2g} of its mass below zero; taken given that the length is positive"
            warnings.warn(words, AssumptionWarning, stacklevel=2)
        if not math.isfinite(mean):
            raise InvalidInput(f"law must have a finite mean, got {label}")
        return cls(label, frozen=frozen, notes={"below": below})

    @classmethod
    def fit(cls, values: ArrayLike, *, family: str = "lognorm", censored: ArrayLike | None = None) -> Lengths:
        """The law of a scipy family that fits the values best (maximum likelihood).

        Parameters
        ----------
        values : event lengths in seconds.
        family : name of a scipy law such as ``lognorm``, ``gamma``, ``weibull_min``, ``expon``; or ``best``, the one
            of these four with the smallest AIC. Positive families keep their location at zero.
        censored : which values are only lower limits, because the recording or the clip cut the event.

        Examples
        --------
        >>> law = Lengths.fit([0.5, 1.0, 2.0, 4.0], censored=[False, False, False, True])
        >>> law.notes["n_censored"]
        1
        """
        from scipy import stats

        array = np.atleast_1d(np.asarray(check("event_length", values, called="values"), dtype=np.float64)).ravel()
        mask = np.zeros(array.size, bool) if censored is None else np.asarray(censored, dtype=bool).ravel()
        if mask.shape != array.shape:
            raise InvalidInput(f"censored must hold one flag for each of the {array.size} values, got {mask.size}")
        if np.unique(array[~mask]).size < 2:
            raise InvalidInput("values must hold at least two different uncensored lengths to fit a law")
        if family == "best":
            fits = [cls.fit(array, family=each, censored=mask) for each in ("lognorm", "gamma", "weibull_min", "expon")]
            return min(fits, key=lambda each: each.notes["aic"])
        maker = _family(family)
        data = stats.CensoredData(uncensored=array[~mask], right=array[mask]) if mask.any() else array
        fixed = {"floc": 0.0} if maker.support(*(1.0,) * maker.numargs)[0] == 0.0 else {}
        parameters = maker.fit(data, **fixed)
        frozen = maker(*parameters)
        likelihood = float(np.sum(frozen.logpdf(array[~mask])) + np.sum(frozen.logsf(array[mask])))
        law, aic = cls.law(frozen), 2 * (len(parameters) - len(fixed)) - 2 * likelihood
        counts = {"n": int(array.size), "n_censored": int(mask.sum())}
        law.notes.update(**counts, log_likelihood=likelihood, aic=aic, family=family)
        return law

    @classmethod
    def of(cls, value: Any) -> Lengths:
        """The value as a law of lengths: a law stays, a number is fixed, numbers are a sample, events give theirs, and
        text is read as :meth:`parse` does."""
        if isinstance(value, Lengths):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        if hasattr(value, "lengths"):
            return cls.sample(value.lengths)
        if hasattr(value, "cdf") and hasattr(value, "ppf"):
            return cls.law(value)
        return cls.fixed(value) if np.ndim(value) == 0 else cls.sample(value)

    @classmethod
    def parse(cls, text: str) -> Lengths:
        """The law written as text: ``1``, ``0.5,1,4``, ``2-20`` (uniform), ``3±1`` or ``3+-1`` (mean and standard
        deviation, lognormal), ``about 3`` (the same, give or take a third), ``gamma:0.8,loc=0.5``,
        ``lognorm:s=0.5,scale=1``: scipy's laws, but ``uniform:2,20`` is from 2 to 20.

        >>> Lengths.parse("0.5,1,4").longest, Lengths.parse("2-20").longest, Lengths.parse("uniform:2,20").longest
        (4.0, 20.0, 20.0)
        >>> round(Lengths.parse("3±1").mean, 6), round(Lengths.parse("about 3").std, 6)
        (3.0, 1.0)
        """
        if said := _said(text.strip()):
            return cls.law(said[0], name=said[1])
        kind, _, rest = text.strip().partition(":")
        help_text = "a length in seconds, several like 0.5,1,4, a range like 2-20, or a law like gamma:0.8,loc=0.5"
        parts = [part.strip() for part in (rest or kind).split(",")]
        try:
            if not rest:
                numbers = [float(part) for part in parts]
                return cls.fixed(numbers[0]) if len(numbers) == 1 else cls.sample(numbers)
            plain = [float(part) for part in parts if "=" not in part]
            named = {key.strip(): float(value) for key, _, value in (p.partition("=") for p in parts if "=" in p)}
        except InvalidInput:
            raise
        except ValueError as error:
            raise InvalidInput(f"event_length must be {help_text}, got {text!r}") from error
        maker = _family(kind)
        try:
            frozen = maker(*plain, **named)
            usable = math.isfinite(float(frozen.ppf(0.5)))
        except TypeError as error:
            raise InvalidInput(f"event_length has wrong parameters for the law {kind}: {rest!r} ({error})") from error
        if not usable:
            raise InvalidInput(f"event_length has parameters outside the domain of the law {kind}: {rest!r}")
        return cls.law(frozen, name=law_name(frozen))

    @property
    def is_sample(self) -> bool:
        """Whether the law is a list of values (one fixed length included)."""
        return self.values is not None

    @cached_property
    def mean(self) -> float:
        """The mean length in seconds."""
        return float(self.expect(lambda d: d))

    @cached_property
    def std(self) -> float:
        """The standard deviation of the length in seconds."""
        spread = 0.0 if self.values is not None else float(self.frozen.std())
        return math.sqrt(self.expect(lambda d: (d - self.mean) ** 2)) if math.isfinite(spread) else spread

    @property
    def shortest(self) -> float:
        """The lower end of the law."""
        return float(self.values[0]) if self.values is not None else max(0.0, float(self.frozen.support()[0]))

    @property
    def longest(self) -> float:
        """The upper end of the law; infinite if it has none."""
        return float(self.values[-1]) if self.values is not None else float(self.frozen.support()[1])

    def quantile(self, p: ArrayLike) -> Any:
        """The length that a share p of the events does not exceed."""
        share = np.asarray(check("event_fraction", p, called="p"), dtype=np.float64)
        if self.values is not None and self.weights is not None:
            index = np.searchsorted(np.cumsum(self.weights), share * (1 - 1e-12), side="left")
            length = self.values[np.minimum(index, self.values.size - 1)]
        else:
            length = np.asarray(self.frozen.ppf(self._below + share * (1 - self._below)))
        return float(length) if share.ndim == 0 else length

    def draw(self, n: int | tuple[int, ...], rng: Any = None) -> Floats:
        """n random lengths."""
        generator = np.random.default_rng(rng)
        if self.values is not None:
            return np.asarray(generator.choice(self.values, size=n, p=self.weights), dtype=np.float64)
        if self._below > 0:
            uniform = 1 - generator.random(n)  # (0, 1]: never the lower end itself
            return np.asarray(self.quantile(uniform), dtype=np.float64)
        drawn = np.asarray(self.frozen.rvs(size=n, random_state=generator), dtype=np.float64)
        return np.maximum(drawn, np.finfo(np.float64).tiny)  # a gamma draw can underflow to zero

    def expect(self, function: Function, splits: Sequence[float] | Floats = ()) -> float:
        """The expectation of a vectorised function of the length; ``splits`` are lengths where it jumps or bends."""
        if self.values is not None and self.weights is not None:
            # Not BLAS, here and elsewhere: the last digit of its sums depends on the number of its threads.
            return float((self.weights * function(self.values)).sum())
        cuts, edges = np.asarray(splits, dtype=np.float64), self._edges[0]
        inside = cuts[(cuts > edges[0]) & (cuts < edges[-1])]
        nodes, mass = self._panels if inside.size == 0 else self._masses(np.unique(np.concatenate((edges, inside))))
        return float(np.sum(mass * function(nodes)))

    def partial(self, function: Function, limit: ArrayLike) -> Floats:
        """E[function(d); d <= limit], for every limit; one sort or one set of panels serves all of them.

        >>> Lengths.sample([0.5, 1, 4]).partial(lambda d: d, [0.4, 2.0, 9.0]).tolist()
        [0.0, 0.5, 1.8333333333333333]
        """
        limits = np.asarray(limit, dtype=np.float64)
        if self.values is not None and self.weights is not None:
            terms = self.weights * np.broadcast_to(function(self.values), self.values.shape)
            return _prefix(terms, np.searchsorted(self.values, limits, side="right"))
        edges, (points, mass) = self._edges[0], self._panels
        whole = np.concatenate(([0.0], np.cumsum(np.sum(mass * function(points), axis=1))))
        clipped = np.clip(limits, edges[0], edges[-1])
        panel = np.clip(np.searchsorted(edges, clipped, side="right") - 1, 0, edges.size - 2)
        half = ((clipped - edges[panel]) / 2)[..., None]
        nodes = edges[panel][..., None] + half * (1 + _NODES)
        rest = np.sum(self._density(nodes) * half * _WEIGHTS * function(nodes), axis=-1)
        flat = ~np.isnan(self._edges[1][panel])
        if flat.any():  # a panel too narrow for its density: the law's own mass up to the limit
            mass_below = (self.frozen.cdf(clipped) - self.frozen.cdf(edges[panel])) / (1 - self._below)
            rest = np.where(flat, mass_below * function(clipped), rest)
        return np.asarray(whole[panel] + rest, dtype=np.float64)

    def partial_moments(self, limit: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """P(d <= limit), E[d; d <= limit] and E[d^2; d <= limit], for every limit.

        Examples
        --------
        >>> [float(m) for m in Lengths.sample([1, 3]).partial_moments(2)]
        [0.5, 0.5, 0.5]
        """
        limits = np.asarray(limit, dtype=np.float64)
        if self.values is not None and self.weights is not None:
            index = np.searchsorted(self.values, limits, side="right")
            return tuple(table[index] for table in self._prefix_moments)  # type: ignore[return-value]
        kind, shapes, loc, scale = law_parameters(self.frozen)
        if kind == "lognorm" and loc == 0:  # in closed form: searches ask often
            from scipy.special import ndtr

            with np.errstate(divide="ignore"):
                z = np.log(np.maximum(limits, 0.0) / scale) / shapes[0]
            return tuple(  # type: ignore[return-value]
                np.asarray(scale**k * np.exp((k * shapes[0]) ** 2 / 2) * ndtr(z - k * shapes[0])) for k in range(3)
            )
        return tuple(self.partial(power, limits) for power in (np.ones_like, lambda d: d, np.square))  # type: ignore[return-value]

    @cached_property
    def _prefix_moments(self) -> list[Floats]:
        d, weights = np.asarray(self.values), np.asarray(self.weights)
        return [np.concatenate(([0.0], np.cumsum(term))) for term in (weights, weights * d, weights * d * d)]

    @property
    def _below(self) -> float:
        """The chance that a law gives lengths below zero."""
        return float(self.notes.get("below", 0.0))

    def _density(self, d: Floats) -> Floats:
        density = np.asarray(self.frozen.pdf(d), dtype=np.float64)
        return np.asarray(np.where(np.isfinite(density), density, 0.0) / (1 - self._below))

    @cached_property
    def _edges(self) -> tuple[Floats, Floats]:
        """Panels on which the density integrates to the law's own mass, halved until it does; and flat densities.

        Where halving ends at the resolution of floating point (a gamma law with shape 0.2 from 0.5 on has 0.06 % of its
        mass within one rounding error of 0.5), the panel gets the law's mass as a flat density; elsewhere NaN.
        """
        below = self._below
        levels = below + (1 - below) * np.concatenate((_LEVELS[::-1], 1 - _LEVELS[1:26]))
        start, end = max(0.0, float(self.frozen.support()[0])), float(self.frozen.support()[1])
        # In the upper tail 1 - 2^-k rounds; the survival function keeps the digits, as far as they carry weight.
        rare = (1 - below) * 0.5 ** np.concatenate((np.arange(26, 50), np.arange(50, 1000, 2)))
        tail = np.asarray(self.frozen.isf(rare), dtype=np.float64)
        middle = float(self.frozen.ppf(levels[48]))
        times = tail / middle  # a square of seconds may overflow
        weighty = rare * times * np.maximum(times, 1.0) > 1e-18
        tail = tail[: np.argmax(~weighty) + 1] if not weighty.all() else tail
        quantiles = np.asarray(self.frozen.ppf(levels), dtype=np.float64)
        every = np.unique(np.concatenate((quantiles, tail, [start, end])))
        edges = every[np.isfinite(every) & (every >= start)]
        while True:
            nodes, weights = panel_nodes(edges)
            mass = np.sum(self._density(nodes) * weights, axis=1)
            rising, falling = np.asarray(self.frozen.cdf(edges)), np.asarray(self.frozen.sf(edges))
            # The smaller of the two keeps its digits: differences of the cdf are lost in the upper tail.
            wanted = np.where(rising[1:] < 0.5, np.diff(rising), -np.diff(falling)) / (1 - below)
            wrong = np.abs(mass - wanted) > 1e-14 + 1e-11 * wanted
            wide = np.diff(edges) > 1e-11 * edges[1:]
            if not (wrong & wide).any() or edges.size > 4000:
                break
            halves = (edges[:-1] + edges[1:])[wrong & wide] / 2
            edges = np.unique(np.concatenate((edges, halves)))
        return edges, np.where(wrong, wanted / np.diff(edges), np.nan)

    def _masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """The nodes of panels between these edges, which are those of the law or finer, and the law's mass at each."""
        nodes, weights = panel_nodes(edges)
        flat = self._edges[1][np.searchsorted(self._edges[0], edges[:-1], side="right") - 1][:, None]
        return nodes, np.where(np.isnan(flat), self._density(nodes), flat) * weights

    @cached_property
    def _panels(self) -> tuple[Floats, Floats]:
        return self._masses(self._edges[0])

    def __repr__(self) -> str:
        return f"Lengths({self.name}, mean={self.mean:.4g} s)"

    def to_dict(self) -> dict[str, Any]:
        """Name, mean, spread and quartiles, in plain numbers."""
        numbers = {"mean": self.mean, "std": self.std, "longest": self.longest}
        return {"name": self.name, **numbers, "quartiles": [self.quantile(p) for p in (0.25, 0.5, 0.75)]}


def _prefix(terms: Floats, index: Any) -> Floats:
    """The sums of the first ``index`` terms, pairwise within the stretches between the indices asked for."""
    stops, where = np.unique(index, return_inverse=True)
    starts = np.concatenate(([0], stops[:-1]))
    pieces = np.array([terms[a:b].sum() for a, b in zip(starts, stops)])
    return np.asarray(np.cumsum(pieces)[where].reshape(np.shape(index)), dtype=np.float64)


_NUMBER = r"\s*(\d+\.?\d*|\.\d+)\s*"
_RANGE = re.compile(rf"(?:uniform:{_NUMBER},{_NUMBER}|{_NUMBER}(?:-|–|to){_NUMBER}s?)", re.IGNORECASE)
_ABOUT = re.compile(rf"(?:(?:about|~){_NUMBER}s?|{_NUMBER}(?:±|\+-|\+/-){_NUMBER}s?)", re.IGNORECASE)


def _said(text: str) -> tuple[Any, str] | None:
    """A range, or a mean and its spread, as people say them: the frozen law and its name."""
    if match := _RANGE.fullmatch(text):
        low, high = (float(each) for each in match.groups() if each is not None)
        if not low < high:
            raise InvalidInput(f"event_length must be a range from a shorter to a longer length, got {text!r}")
        return _family("uniform")(low, high - low), f"uniform from {low:g} to {high:g} s"
    if match := _ABOUT.fullmatch(text):
        mean, *spread = (float(each) for each in match.groups() if each is not None)
        std = spread[0] if spread else mean / 3
        if not (mean > 0 and std > 0):
            raise InvalidInput(f"event_length must have a mean and a spread > 0, got {text!r}")
        shape = math.sqrt(math.log1p((std / mean) ** 2))
        law = _family("lognorm")(shape, scale=mean * math.exp(-(shape**2) / 2))
        return law, f"lognormal with mean {mean:g} s and standard deviation {std:.3g} s"
    return None


def _family(name: str) -> Any:
    from scipy import stats

    maker = getattr(stats, name, None)
    if not isinstance(maker, stats.rv_continuous):
        raise InvalidInput(f"family must be a continuous scipy law such as lognorm, gamma or norm, got {name!r}")
    return maker


class HasLengths(Protocol):
    """Events, or anything else that has lengths."""

    @property
    def lengths(self) -> Any:
        """The lengths of its events."""


#: What functions take as ``event_length``: numbers, a law of lengths or of scipy, or events.
LengthLike = ArrayLike | Lengths | Law | HasLengths
