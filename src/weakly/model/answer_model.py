r"""Who answers: the one type behind ``presence_criterion``, ``rule`` and ``annotator``, in theory, engine and plans.

An :class:`AnswerModel` is one column of results (or, in theory, a whole array of criteria); :class:`AnswerModels` are
the columns that a public function was asked for. Both are made once, at the door, by ``of``; past it nobody asks again
what the arguments were. What the rooms read:

* ``required_overlap(d, q)``: seconds of an event that make a segment present (criteria and rules);
* ``probability(h)``: P(present | largest event fraction) of an annotator, ``low`` where no event is;
* ``nodes()``: a law of criteria as values and weights, for what is linear in the answers;
* ``found_on_grid`` and ``found_at_random``: the chance that an event is found, **by the one definition of event
  recall**: at least one segment in which the rule is satisfied on the event (for at least one voter of a panel) is
  labelled present. Answers of different segments are independent given the annotators' criteria, which each keeps over
  all segments; see :mod:`weakly.model.crowd`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.results import law_name
from ..base.symbols import check
from .annotator import TIE, Annotator, PresenceRule

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AnswerModel:
    """Who answers: presence criteria (numbers of any shape), a presence rule, or a random annotator; one of them.

    Examples
    --------
    >>> AnswerModel.of(presence_criterion=0.5).required_overlap(event_length=2.0, segment_length=3.0).item()
    1.0
    >>> panel = AnswerModel.of(annotator=Annotator.beta(1, 9, lapse_rate=0.4, votes=(2, 5)))
    >>> round(panel.found_at_random(event_length=5.0, segment_length=0.5).item(), 3)
    0.919
    """

    criterion: Floats | None = None
    rule: PresenceRule | None = None
    annotator: Annotator | None = None

    @classmethod
    def of(cls, *, presence_criterion: Any = None, rule: Any = None, annotator: Any = None) -> AnswerModel:
        """The observer from the arguments of a public function; exactly one of them must be given.

        A fraction rule and an annotator without noise and with one criterion are that criterion.
        """
        name = _given(presence_criterion, rule, annotator)
        if name == "rule":
            (rule,) = _each("rule", rule, PresenceRule)
            return cls(rule=rule) if rule.criterion is None else cls(criterion=np.asarray(rule.criterion))
        if name == "annotator":
            (annotator,) = _each("annotator", annotator, Annotator)
            return cls(annotator=annotator) if not annotator.is_certain else cls(criterion=np.asarray(annotator.mean))
        return cls(criterion=np.asarray(check("presence_criterion", presence_criterion), dtype=np.float64))

    @property
    def hearing(self) -> Annotator | PresenceRule:
        """The same as an annotator or a rule, of one criterion."""
        if self.criterion is not None:
            return PresenceRule.fraction(float(self.criterion))
        made = self.annotator if self.rule is None else self.rule
        assert made is not None
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the criteria; empty for rules and annotators."""
        return () if self.criterion is None else self.criterion.shape

    def at(self, index: tuple[int, ...], shape: tuple[int, ...]) -> AnswerModel:
        """The one who answers in this cell of a broadcast table."""
        return self if self.criterion is None else AnswerModel(criterion=np.broadcast_to(self.criterion, shape)[index])

    @property
    def single(self) -> float | None:
        """The one criterion, if there is one, noise or not; else None (rules, laws, several criteria)."""
        if self.annotator is not None:
            law = self.annotator.presence_criterion
            return law if isinstance(law, float) else None
        return float(self.criterion) if self.criterion is not None and self.criterion.ndim == 0 else None

    @cached_property
    def low(self) -> float:
        """The chance of a present label where no event is."""
        return 0.0 if self.annotator is None else float(self.annotator.probability(0.0))

    @cached_property
    def high(self) -> float:
        """The chance of a present label where a whole event is."""
        return 1.0 if self.annotator is None else float(self.annotator.probability(1.0))

    def required_overlap(self, event_length: Any, segment_length: Any) -> Floats:
        """x_0 in seconds, infinite where no segment can be present; of a noisy annotator with one criterion, that of
        the criterion. Arrays broadcast, with the criteria too."""
        d, q = np.asarray(event_length, dtype=np.float64), np.asarray(segment_length, dtype=np.float64)
        if self.rule is not None:
            return self.rule.required_overlap(event_length=d, segment_length=q)
        criterion: Any = self.single if self.criterion is None else self.criterion
        need = np.asarray(criterion * d, dtype=np.float64)
        return np.where(need <= np.minimum(d, q) * (1 + TIE), need, np.inf)

    def probability(self, event_fraction: Any) -> Floats:
        """P(present | largest event fraction); not for rules, which ask for seconds."""
        h = np.asarray(event_fraction, dtype=np.float64)
        if self.annotator is not None:
            return self.annotator.probability(h)
        assert self.criterion is not None
        return (h >= self.criterion * (1 - TIE)).astype(np.float64)

    def nodes(self, n: int = 1000) -> tuple[Floats, Floats]:
        """Criteria and weights that stand for the law of the criterion in whatever is linear in the answers:
        P(present | h) is ``low`` plus the weights of the criteria up to h. One criterion stays one.

        >>> values, weights = AnswerModel.of(annotator=Annotator.beta(2, 2, guess_rate=0.1)).nodes(4)
        >>> round(float(weights.sum()), 6), bool((np.diff(values) > 0).all())
        (0.9, True)
        """
        if self.single is not None:
            return np.array([self.single]), np.array([self.high - self.low])
        assert self.annotator is not None
        law = self.annotator.presence_criterion
        edges = np.linspace(float(law.cdf(0.0)), float(law.cdf(1.0)), n + 1)
        middles = np.clip(np.asarray(law.ppf((edges[1:] + edges[:-1]) / 2), dtype=np.float64), 1e-9, 1.0)
        ends = np.clip(np.asarray(law.ppf(edges), dtype=np.float64), 0.0, 1.0)
        weights = np.diff(self.annotator.probability(ends))
        return middles[weights > 0], weights[weights > 0]

    @cached_property
    def _chances(self) -> Floats:
        return np.array([0.0, 1.0]) if self.annotator is None else self.annotator.label_chances

    def found_on_grid(self, own: Any, best: Any, count: Any) -> Floats:
        """The chance that each event is found, from the segments that meet it: per event (rows) and kind of segment
        (columns) the event's fraction in it, the largest fraction in it, and how many such segments there are."""
        from .crowd import found_each

        met = self.probability if self.annotator is None else self.annotator.criterion_cdf
        own, best, count = (np.asarray(x, dtype=np.float64) for x in (own, best, count))
        law = np.where(count > 0, met(np.minimum(1.0, own)), 0.0)
        largest, more = law.copy(), (count > 0) & (best != own)  # an event that is alone is the largest
        largest[more] = met(np.minimum(1.0, best[more]))
        return np.asarray(found_each(law, largest, count, self._chances))

    def found_at_random(
        self, *, event_length: Any, segment_length: Any, onset: Any = 0.0, starts: Any = None, largest: Any = None
    ) -> Floats:
        r"""The chance that an event is found on a grid of segments with a uniform phase. Arrays broadcast.

        Where n segments or one more satisfy the rule on the event, each present with chance p, it is
        :math:`1 - (1-p)^n (1 - rp)`; linear in the criterion between a few bends, so that a law of criteria integrates
        by parts. Panels of voters with their own criteria go through :func:`weakly.model.crowd.found_at_random`.

        Parameters
        ----------
        onset : where events begin, if ``starts`` matters.
        starts : (low, high), the first and last start that a segment may have; left out, any.
        largest : the largest event fractions of windows, (rows, first, owner, circle) of
            :func:`weakly.model.crowd.found_at_random`; left out, each event is alone.
        """
        d, q, a = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (event_length, segment_length, onset)))
        low, high = (np.broadcast_to(x, d.shape) for x in ((-np.inf, np.inf) if starts is None else starts))
        if self.rule is not None or self.criterion is not None or self.single is not None:
            need = self.required_overlap(event_length=d, segment_length=q)
            finite = np.where(np.isfinite(need), need, 0.0)
            span = np.minimum(a + d - finite, high) - np.maximum(a - q + finite, low)
            return np.where(np.isfinite(need), _some(span / q, self._chances[-1]), 0.0)
        assert self.annotator is not None
        if self.annotator.votes is not None:
            return self._panel_at_random(a, d, q, low, high, largest)
        return _integrated(self.annotator, a, d, q, low, high)

    def _panel_at_random(self, a: Floats, d: Floats, q: Floats, low: Floats, high: Floats, largest: Any) -> Floats:
        from .crowd import found_at_random

        assert self.annotator is not None
        nodes, weights = np.polynomial.legendre.leggauss(10)
        panels = self.annotator.panels
        law = (panels.edges, panels.table(self.annotator.criterion_cdf), self._chances, (1 + nodes) / 2, weights / 2)
        rows, first, owner, circle = largest or (np.empty((0, 4)), np.zeros(2, np.int64), np.zeros(d.size, np.int64), 0)
        circle = np.broadcast_to(np.asarray(circle, dtype=np.float64), d.shape)
        events = np.column_stack((a.ravel(), (a + d).ravel()))
        bounds = np.column_stack((low.ravel(), high.ravel(), circle.ravel()))
        out, widths = np.empty(d.size), q.ravel()
        for width in np.unique(widths):
            at = widths == width
            out[at] = found_at_random(events[at], float(width), bounds[at], rows, first, owner[at], *law)
        return out.reshape(d.shape)


def _some(n: Floats, p: float) -> Floats:
    """The chance that one of n segments is present, where n is a whole number or one more in the mean."""
    n = np.maximum(0.0, n)
    whole = np.floor(n)
    return np.asarray(1 - (1 - p) ** whole * (1 - (n - whole) * p), dtype=np.float64)


def _integrated(annotator: Annotator, a: Floats, d: Floats, q: Floats, low: Floats, high: Floats) -> Floats:
    """The same for one annotator whose criterion has a law: by parts over the criteria between bends."""
    p = float(annotator.label_chances[-1])
    shape, (a, d, q, low, high) = d.shape, (x.reshape(-1, 1) for x in (a, d, q, low, high))
    b, cap = a + d, np.minimum(1.0, q / d)

    def span(g: Floats) -> Floats:
        return np.asarray((np.minimum(b - g * d, high) - np.maximum(a - q + g * d, low)) / q)

    bends = np.column_stack((np.zeros_like(d), (low - a + q) / d, (b - high) / d, cap))
    bends = np.sort(np.clip(bends, 0.0, cap), axis=1)
    most = int(min(60, np.ceil(span(np.zeros_like(d)).max(initial=1.0)) + 1))
    points = [bends]
    for k in range(3):  # windows fall out one by one as the criterion rises; beyond the first few nothing changes
        g0, g1 = bends[:, k : k + 1], bends[:, k + 1 : k + 2]
        s0, s1 = span(g0), span(g1)
        levels = np.floor(s0) - np.arange(most) if p >= 1 else np.maximum(np.ceil(s1), 1) + np.arange(-1, most)
        inside = (levels > s1) & (levels < s0)
        points.append(np.where(inside, g0 + (s0 - levels) / np.where(s0 > s1, s0 - s1, 1.0) * (g1 - g0), g0))
    g = np.sort(np.concatenate(points, axis=1), axis=1)
    g0, g1 = g[:, :-1], g[:, 1:]
    whole = np.floor(np.maximum(0.0, span((g0 + g1) / 2)))

    def answered(at: Floats) -> Floats:
        part = np.clip(span(at) - whole, 0.0, 1.0)
        return np.asarray(1 - (1 - p) ** whole * (1 - part * p))

    f0, f1 = answered(g0), answered(g1)
    slope = np.divide(f1 - f0, g1 - g0, out=np.zeros_like(g0), where=g1 > g0)
    met, area = annotator.criterion_cdf(g), annotator.criterion_integrals(g)[0]
    parts = f1 * met[:, 1:] - f0 * met[:, :-1] - slope * np.diff(area, axis=1)
    total = np.where(g1 > g0, parts, 0.0).sum(axis=1) + met[:, 0] * f0[:, 0]
    return np.asarray(total, dtype=np.float64).reshape(shape)


@dataclass(frozen=True)
class AnswerModels:
    """The columns of a table of results: criteria, which are computed all at once, or single observers."""

    criteria: Floats | None
    members: tuple[AnswerModel, ...]

    @classmethod
    def of(cls, *, presence_criterion: Any = None, rule: Any = None, annotator: Any = None) -> AnswerModels:
        """The columns from the arguments of a public function; exactly one of them must be given, one or several."""
        name = _given(presence_criterion, rule, annotator)
        if name == "rule":
            return cls(None, tuple(AnswerModel(rule=each) for each in _each("rule", rule, PresenceRule)))
        if name == "annotator":
            return cls(None, tuple(AnswerModel(annotator=each) for each in _each("annotator", annotator, Annotator)))
        criteria = np.atleast_1d(check("presence_criterion", presence_criterion))
        if criteria.ndim != 1 or len(criteria) == 0:
            raise InvalidInput(f"presence_criterion must be one number or a list, got shape {criteria.shape}")
        return cls(criteria, ())

    def __len__(self) -> int:
        return len(self.members) if self.criteria is None else len(self.criteria)

    def __iter__(self) -> Iterator[AnswerModel]:
        if self.criteria is None:
            return iter(self.members)
        return (AnswerModel(criterion=np.asarray(criterion)) for criterion in self.criteria)

    @cached_property
    def sorted(self) -> tuple[tuple[Floats, NDArray[np.int64], Floats], NDArray[np.int64] | slice]:
        """What kernels read of criteria, none where there are none: (sorted and lowered by the tolerance for ties, how
        many of these are at most k / 1024, sorted); and where each criterion stands among the sorted ones.

        The table makes "how many criteria does this event fraction satisfy" a step or two, however many there are.
        """
        criteria = np.empty(0) if self.criteria is None else self.criteria
        order = np.argsort(criteria, kind="stable")
        limits = criteria[order] * (1 - TIE)
        table = np.searchsorted(limits, np.arange(1025) / 1024, side="right")
        place = slice(None) if (order[1:] > order[:-1]).all() else np.argsort(order)  # of a slice nothing is copied
        return (limits, table, criteria[order]), place

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """What tells the columns apart."""
        return tuple(list(self.frame().values())[-1])

    def frame(self) -> dict[str, list[Any]]:
        """The columns of a table that say what each result column is."""
        if self.criteria is not None:
            return {"presence_criterion": self.criteria.tolist()}
        rules = [who.rule for who in self.members if who.rule is not None]
        if rules:
            criteria = [np.nan if rule.criterion is None else rule.criterion for rule in rules]
            return {"presence_criterion": criteria, "rule": [rule.name for rule in rules]}
        people = [who.annotator for who in self.members if who.annotator is not None]
        return {"presence_criterion": [one.mean for one in people], "annotator": [describe(one) for one in people]}


def _given(presence_criterion: Any, rule: Any, annotator: Any) -> str:
    given = {"presence_criterion": presence_criterion, "rule": rule, "annotator": annotator}
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        got = " and ".join(names) or "none"
        raise InvalidInput(f"give exactly one of presence_criterion, rule and annotator, got {got}")
    return names[0]


def _each(name: str, value: Any, kind: type) -> Sequence[Any]:
    items = [value] if isinstance(value, kind) else list(value) if isinstance(value, (list, tuple)) else []
    if not items or not all(isinstance(item, kind) for item in items):
        raise InvalidInput(f"{name} must be a {kind.__name__} or a list of them, got {value!r}")
    return items


def describe(annotator: Annotator) -> str:
    """The annotator in a few words, for tables.

    >>> describe(Annotator(presence_criterion=0.5, flip_rate=0.1))
    'criterion 0.5, flip_rate 0.1'
    """
    law = annotator.presence_criterion
    words = [f"criterion {f'{law:g}' if isinstance(law, float) else law_name(law)}"]
    for rate in ("guess_rate", "lapse_rate", "flip_rate"):
        if getattr(annotator, rate):
            words.append(f"{rate} {getattr(annotator, rate):g}")
    if annotator.votes is not None:
        words.append("votes {}/{}".format(*annotator.votes))
    return ", ".join(words)
