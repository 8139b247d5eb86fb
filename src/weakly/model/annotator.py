r"""The one place where overlap becomes "present": presence rules, random annotators, flipped labels.

A presence rule says how many seconds of an event must lie in a segment before the annotator notices it, its *required
overlap* :math:`x_0(d_e, d_q)`. The paper's rule is :math:`x_0 = \gamma d_e`. Every rule in use is the smallest of a few
linear forms :math:`a d_e + b d_q + c`, which is how it is kept here: theory, grid, sweep and simulation all read the
same few numbers. In time this means: segments that start in :math:`[a_e - d_q + x_0,\; b_e - x_0]` are present.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import InvalidInput
from ..base.results import law_name
from ..base.symbols import check, choice, positive
from .criterion_law import LawTable, Logistic, law_integrals

#: Two overlaps that differ by less than this share of the required overlap are equal. Event (0.1, 0.4) in segment
#: (0.1, 0.25) at criterion 0.5 is present although 0.25 - 0.1 < 0.5 * (0.4 - 0.1) in floating point.
TIE = 1e-9


@dataclass(frozen=True)
class Form:
    """One linear form of a presence rule: ``event_share * d_e + segment_share * d_q + seconds``."""

    event_share: float = 0.0
    segment_share: float = 0.0
    seconds: float = 0.0
    margin: bool = False  # counts from the segment's edges inwards, so it asks no length of the event


@dataclass(frozen=True)
class PresenceRule:
    r"""When a segment counts as present, given one event; with several events, one that satisfies the rule is enough.

    A segment is present if it starts in :math:`[a_e - d_q + x_0,\; b_e - x_0]` and meets the event, where
    :math:`x_0 = \min_k (a_k d_e + b_k d_q + c_k)` is the required overlap in seconds.

    Examples
    --------
    >>> rule = PresenceRule.either(PresenceRule.seconds(0.25), PresenceRule.fraction(0.5))
    >>> rule.required_overlap(event_length=[0.1, 2.0], segment_length=3).tolist()
    [0.05, 0.25]
    """

    forms: tuple[Form, ...]
    name: str

    @classmethod
    def fraction(cls, share: float) -> PresenceRule:
        """At least this share of the event lies in the segment: the paper's presence criterion."""
        share = float(check("presence_criterion", share))
        return cls((Form(event_share=share),), f"fraction:{share:g}")

    @classmethod
    def seconds(cls, length: float) -> PresenceRule:
        """At least this many seconds of the event lie in the segment; shorter events are never noticed."""
        length = positive("seconds", length)
        return cls((Form(seconds=length),), f"seconds:{length:g}")

    @classmethod
    def any(cls) -> PresenceRule:
        """Any overlap at all."""
        return cls((Form(),), "any")

    @classmethod
    def coverage(cls, share: float) -> PresenceRule:
        """At least this share of the segment is filled by one event."""
        share = float(check("presence_criterion", share, called="coverage"))
        return cls((Form(segment_share=share),), f"coverage:{share:g}")

    @classmethod
    def shorter(cls, share: float) -> PresenceRule:
        """At least this share of the shorter of event and segment."""
        share = float(check("presence_criterion", share, called="shorter"))
        return cls((Form(event_share=share), Form(segment_share=share)), f"shorter:{share:g}")

    @classmethod
    def margin(cls, length: float) -> PresenceRule:
        """The event reaches at least this many seconds into the segment from either side, or lies further inside.

        Unlike :meth:`seconds` it can notice an event shorter than that, if the event is far enough from the edges.
        """
        length = positive("margin", length)
        return cls((Form(seconds=length, margin=True),), f"margin:{length:g}")

    @classmethod
    def either(cls, *rules: PresenceRule) -> PresenceRule:
        """Present as soon as one of the rules is satisfied."""
        if len(rules) < 2:
            raise InvalidInput(f"either needs two rules or more, got {len(rules)}")
        return cls(tuple(form for rule in rules for form in rule.forms), "|".join(rule.name for rule in rules))

    @classmethod
    def preset(cls, tool: str) -> PresenceRule:
        """The rule of a tool by name; :data:`PRESETS` lists them."""
        return PRESETS[choice("preset", tool, tuple(PRESETS))]

    @classmethod
    def parse(cls, text: str) -> PresenceRule:
        """The rule written as text: ``0.5``, ``seconds:0.25``, ``any``, ``birdnet``, or several joined by ``|``.

        >>> PresenceRule.parse("seconds:0.25|fraction:0.5").name
        'seconds:0.25|fraction:0.5'
        """
        if "|" in text:
            return cls.either(*(cls.parse(rule) for rule in text.split("|")))
        kind, _, value = text.strip().partition(":")
        if not (kind in _MAKERS and value) and (value or cls.is_kind(kind)):
            return cls.any() if kind == "any" else cls.preset(kind)
        maker, number = (kind, value) if value else ("fraction", kind)
        try:
            share = float(number)
        except ValueError as error:
            words = ", ".join([*(f"{maker}:NUMBER" for maker in _MAKERS), "any", *PRESETS])
            raise InvalidInput(f"rule must be a number or one of {words}, got {text!r}") from error
        rule: PresenceRule = getattr(cls, maker)(share)
        return rule

    @staticmethod
    def is_kind(text: str) -> bool:
        """Whether text of this name, before any colon, is a rule."""
        return text in _MAKERS or text in PRESETS or text == "any"

    @property
    def criterion(self) -> float | None:
        """The presence criterion, if the rule is the paper's; else None."""
        share = self.forms[0].event_share
        return share if share and self.forms == (Form(event_share=share),) else None

    def required_overlap(self, *, event_length: ArrayLike, segment_length: ArrayLike) -> NDArray[np.float64]:
        """The seconds of overlap with an event that make a segment present; infinite where no segment can be.

        Arrays broadcast.
        """
        d, q = np.asarray(event_length, float), np.asarray(segment_length, float)
        needs = []
        for form in self.forms:
            need = form.event_share * d + form.segment_share * q + form.seconds
            most = (d + q) / 2 if form.margin else np.minimum(d, q)
            needs.append(np.where(need <= most * (1 + TIE), need, np.inf))
        return np.asarray(np.minimum.reduce(needs))

    def is_present(self, *, event: ArrayLike, segment: ArrayLike) -> NDArray[np.bool_]:
        """Whether the segment is present because of this event; ties within :data:`TIE` count as present.

        >>> bool(PresenceRule.fraction(0.5).is_present(event=(0.1, 0.4), segment=(0.1, 0.25)))
        True
        """
        e, q = _pairs("event", event), _pairs("segment", segment)
        d, width = e[..., 1] - e[..., 0], q[..., 1] - q[..., 0]
        need = self.required_overlap(event_length=d, segment_length=width)
        reach = np.minimum(e[..., 1] - q[..., 0], q[..., 1] - e[..., 0])
        return (reach > 0) & (reach >= need * (1 - TIE))


_MAKERS = ("fraction", "seconds", "coverage", "shorter", "margin")  # rules of one number

#: The rules that tools apply when they turn strong labels into clip labels, with the values that they document.
PRESETS: dict[str, PresenceRule] = {
    "opensoundscape": PresenceRule.seconds(0.25),
    "birdnet": PresenceRule.margin(0.5),
    "koogu": PresenceRule.shorter(1.0),
    "hoplite": PresenceRule.any(),
    "perch": PresenceRule.any(),
    "sed_eval": PresenceRule.any(),
    "a-cpd": PresenceRule.coverage(0.5),
    "fsd-mix-sed": PresenceRule.either(PresenceRule.seconds(0.5), PresenceRule.fraction(0.5)),
}


def items(text: str) -> list[str]:
    """The items of a text: commas separate them, but numbers and names after a law are its parameters.

    >>> items("0.3, seconds:1, norm:0.4, scale=0.05")
    ['0.3', 'seconds:1', 'norm:0.4, scale=0.05']
    """
    separate: list[str] = []
    for piece in text.split(","):
        is_parameter = not piece.strip()[:1].isalpha() or "=" in piece
        if separate and is_parameter and is_law(separate[-1]):
            separate[-1] += f",{piece}"
        else:
            separate.append(piece.strip())
    return separate


def is_law(text: str) -> bool:
    """Whether an item of text names a law, with its parameters after a colon."""
    kind, colon, _ = text.partition(":")
    return bool(colon) and kind.strip().isidentifier() and not PresenceRule.is_kind(kind.strip())


def segment_accuracy(*, event: ArrayLike, segment: ArrayLike, presence_criterion: ArrayLike) -> NDArray[np.float64]:
    r"""The share of a segment's time that its label gets right, with one event.

    .. math:: F(e, q, \gamma) = |e \cap q| / d_q \text{ if } h(e, q) = |e \cap q| / d_e \ge \gamma,
        \text{ else } 1 - |e \cap q| / d_q

    Events and segments are (start, end) pairs in seconds in the last axis, and broadcast.

    Notes
    -----
    Definitions 1 to 3 of the paper.

    Examples
    --------
    >>> round(float(segment_accuracy(event=(0, 2), segment=(1, 4), presence_criterion=0.5)), 6)
    0.333333
    """
    e, q = _pairs("event", event), _pairs("segment", segment)
    overlap = np.maximum(0.0, np.minimum(e[..., 1], q[..., 1]) - np.maximum(e[..., 0], q[..., 0]))
    d, width = e[..., 1] - e[..., 0], q[..., 1] - q[..., 0]
    present = (overlap > 0) & (overlap >= check("presence_criterion", presence_criterion) * d * (1 - TIE))
    accuracy: NDArray[np.float64] = np.where(present, overlap, width - overlap) / width
    return accuracy


def _pairs(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(value, dtype=np.float64)
    if array.shape[-1:] != (2,) or not np.isfinite(array).all() or not (array[..., 1] > array[..., 0]).all():
        raise InvalidInput(f"{name} must be (start, end) in seconds with start < end, got {value!r}")
    return array


_RATES = ("guess_rate", "lapse_rate", "flip_rate")


@dataclass(frozen=True, kw_only=True)
class Annotator:
    r"""One or several people who answer present or absent.

    Parameters
    ----------
    presence_criterion : a number in (0, 1], or a frozen scipy law of criteria: each annotator has their own. Who has
        one of 0 or less always says present, who has one above 1 never does; :meth:`logistic` has neither.
    guess_rate : chance to answer present where the criterion is not met.
    lapse_rate : chance to answer absent where it is met.
    flip_rate : chance that an answer is recorded the wrong way round (class label noise, rho in the paper).
    votes : (j, k): a segment is present if at least j of k independent annotators say so.

    Notes
    -----
    For an event fraction h one annotator answers present with probability
    :math:`p(h) = g_0 + (1 - g_0 - \ell) G(h)`, where G is the law of the criterion; flips turn p into
    :math:`p + \rho (1 - 2p)`; votes turn it into the binomial tail :math:`I_{p}(j, k - j + 1)`.

    Examples
    --------
    >>> crowd = Annotator.beta(2, 3, votes=(1, 3))
    >>> round(float(crowd.probability(0.5)), 4)
    0.9695
    """

    presence_criterion: Any = 0.5
    guess_rate: float = 0.0
    lapse_rate: float = 0.0
    flip_rate: float = 0.0
    votes: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.presence_criterion, "cdf"):
            object.__setattr__(self, "presence_criterion", float(check("presence_criterion", self.presence_criterion)))
        for rate in _RATES:
            object.__setattr__(self, rate, float(check(rate, getattr(self, rate))))
        if self.guess_rate + self.lapse_rate > 1:
            got = f"{self.guess_rate:g} + {self.lapse_rate:g}"
            raise InvalidInput(f"guess_rate + lapse_rate must be at most 1, got {got}")
        j, k = self.votes or (1, 1)
        if not (int(j) == j and int(k) == k and 1 <= j <= k):
            raise InvalidInput(f"votes must be (j, k) with 1 <= j <= k, got {self.votes!r}")

    @classmethod
    def beta(cls, a: float, b: float, **rates: Any) -> Annotator:
        """Annotators whose criteria follow a Beta(a, b) law."""
        from scipy.stats import beta

        return cls(presence_criterion=beta(positive("a", a), positive("b", b)), **rates)

    @classmethod
    def logistic(cls, middle: float, spread: float, **rates: Any) -> Annotator:
        r"""An annotator whose chance of present rises as a logistic curve, with middle :math:`x_0` and spread s, from
        the guess rate where nothing of an event is heard to one minus the lapse rate where all of it is.

        >>> Annotator.logistic(0.3, 0.2, guess_rate=0.1, lapse_rate=0.2).probability([0.0, 1.0]).round(9).tolist()
        [0.1, 0.8]
        """
        middle = float(check("event_fraction", middle, called="middle"))
        return cls(presence_criterion=Logistic(middle, positive("spread", spread)), **rates)

    @property
    def name(self) -> str:
        """The annotator in a few words, for tables.

        >>> Annotator(presence_criterion=0.5, flip_rate=0.1).name
        'criterion 0.5, flip_rate 0.1'
        """
        law = self.presence_criterion
        words = [f"criterion {f'{law:g}' if isinstance(law, float) else law_name(law)}"]
        words += [f"{rate} {getattr(self, rate):g}" for rate in _RATES if getattr(self, rate)]
        return ", ".join([*words, *([] if self.votes is None else ["votes {}/{}".format(*self.votes)])])

    @property
    def mean(self) -> float:
        """The criterion, or the mean of its law."""
        law = self.presence_criterion
        return law if isinstance(law, float) else float(law.mean())

    def criterion_cdf(self, event_fraction: ArrayLike) -> NDArray[np.float64]:
        """G(h): the chance that one annotator's criterion is met at this event fraction."""
        h = np.asarray(event_fraction, dtype=np.float64)
        if isinstance(self.presence_criterion, float):
            return (h >= self.presence_criterion * (1 - TIE)).astype(np.float64)
        return np.asarray(self.presence_criterion.cdf(h), dtype=np.float64)

    def probability(self, event_fraction: ArrayLike) -> NDArray[np.float64]:
        """P(present | h): the chance that the segment is labelled present at this largest event fraction."""
        single = self.guess_rate + (1 - self.guess_rate - self.lapse_rate) * self.criterion_cdf(event_fraction)
        single = single + self.flip_rate * (1 - 2 * single)
        return single if self.votes is None else _at_least(self.votes, single)

    @property
    def is_noisy(self) -> bool:
        """Whether an answer can differ from what the criterion says: guesses, lapses or flips."""
        return bool(self.guess_rate or self.lapse_rate or self.flip_rate)

    @cached_property
    def label_chances(self) -> NDArray[np.float64]:
        """The chance of a present label where the criteria of m of the k voters are met, m = 0 to k (one is k = 1).

        >>> Annotator(lapse_rate=0.5, votes=(1, 2)).label_chances.round(9).tolist()
        [0.0, 0.5, 0.75]
        """
        unmet, met = (rate + self.flip_rate * (1 - 2 * rate) for rate in (self.guess_rate, 1 - self.lapse_rate))
        j, k = map(int, self.votes or (1, 1))
        chances = [np.convolve(binomial(m, met), binomial(k - m, unmet))[j:].sum() for m in range(k + 1)]
        return np.asarray(np.clip(chances, 0.0, 1.0), dtype=np.float64)

    def integrals(self, event_fraction: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r""":math:`\int_0^h P` and :math:`\int_0^h u P(u)\,du` of the chance of present: what expected times need."""
        h = np.asarray(event_fraction, dtype=np.float64)
        if self.votes is not None and not isinstance(self.presence_criterion, float):
            return self.panels.integrals(self.probability, h)
        low, rise = self.label_chances[0], self.label_chances[-1] - self.label_chances[0]
        area, moment = law_integrals(self.presence_criterion, h)
        return low * h + rise * area, low * h * h / 2 + rise * moment

    def voted_cdf(self, event_fraction: ArrayLike) -> NDArray[np.float64]:
        """The chance that the criterion of the vote, the j-th smallest of k, is met at this event fraction."""
        single = self.criterion_cdf(event_fraction)
        return single if self.votes is None else _at_least(self.votes, single)

    def criteria(self, n: int) -> NDArray[np.float64]:
        """Criteria of equal weight that stand for a law: steps at them from P(present | 0) to P(present | 1) have the
        mean :meth:`probability` as n grows, votes and noise included."""
        from scipy.special import betaincinv

        share = (np.arange(n) + 0.5) / n
        if self.votes is None:
            low, high = self.criterion_cdf([0.0, 1.0])
            level = low + (high - low) * share
        else:
            first, last = self.probability([0.0, 1.0])
            if abs(last - first) < 1e-9:  # the answer does not depend on the event: any criteria will do
                return replace(self, guess_rate=0.0, lapse_rate=0.0, flip_rate=0.0).criteria(n)
            j, k = self.votes
            single = betaincinv(j, k - j + 1, first + (last - first) * share)
            guess = self.guess_rate + self.flip_rate * (1 - 2 * self.guess_rate)
            level = (single - guess) / ((1 - self.guess_rate - self.lapse_rate) * (1 - 2 * self.flip_rate))
        return np.asarray(np.clip(np.asarray(self.presence_criterion.ppf(level), dtype=np.float64), 1e-9, 1.0))

    @cached_property
    def panels(self) -> LawTable:
        """The panels on which the law of criteria is a smooth function; the law must not be one number."""
        return LawTable.of(self.presence_criterion)


def _at_least(votes: tuple[int, int], single: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import betainc

    j, k = votes
    return np.asarray(betainc(j, k - j + 1, single), dtype=np.float64)


def binomial(n: int, p: float) -> NDArray[np.float64]:
    """The chances of 0 to n successes in n trials; without scipy's laws, which load slowly, where nothing is random."""
    if p in (0.0, 1.0):
        return np.eye(1, n + 1, n if p else 0).ravel()
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(n + 1), n, p))
