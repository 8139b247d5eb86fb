r"""What one event does to fixed segments of random phase: seconds labelled present, and how many of them are right.

While a segment slides past an event, the overlap x takes every value in (0, m) twice, m = min(d_e, d_q), and stays at m
for :math:`|d_e - d_q|` seconds. Every closed form of the theory is an integral against this measure. If a segment is
present from an overlap :math:`x_0` on, then per event

.. math:: \text{present} = d_e + d_q - 2 x_0, \qquad \text{true} = d_e - x_0^2 / d_q,

and wrong time = present + d_e - 2 true. The paper's rule is :math:`x_0 = \gamma d_e`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import TIE, Annotator, PresenceRule
from ..errors import InvalidInput
from ..lengths import Lengths
from ..symbols import check

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Seconds:
    """Seconds per event, expected over the phase of the grid (and over the law of lengths, if there is one)."""

    event: Floats  # of event: d_e
    segment: Floats  # of one segment: d_q
    present: Floats  # in present segments that meet the event
    true: Floats  # of the event in present segments

    @property
    def wrong(self) -> Floats:
        """Present where there is no event, or absent where there is."""
        return self.present + self.event - 2 * self.true


@dataclass(frozen=True)
class Who:
    """Who answers: a presence criterion (numbers), a presence rule, or a random annotator; exactly one of them."""

    criterion: Floats | None = None
    rule: PresenceRule | None = None
    annotator: Annotator | None = None

    @classmethod
    def of(cls, presence_criterion: Any, rule: Any, annotator: Any) -> Who:
        given = [value for value in (presence_criterion, rule, annotator) if value is not None]
        if len(given) != 1:
            raise InvalidInput(f"give one of presence_criterion, rule or annotator, got {len(given)} of them")
        if rule is not None:
            if not isinstance(rule, PresenceRule):
                raise InvalidInput(f"rule must be a PresenceRule such as PresenceRule.seconds(0.25), got {rule!r}")
            return cls(rule=rule) if rule.criterion is None else cls(criterion=np.asarray(rule.criterion))
        if annotator is not None:
            if not isinstance(annotator, Annotator):
                raise InvalidInput(f"annotator must be an Annotator, got {annotator!r}")
            if annotator.is_certain:
                return cls(criterion=np.asarray(annotator.presence_criterion))
            return cls(annotator=annotator)
        return cls(criterion=np.asarray(check("presence_criterion", presence_criterion)))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the criteria; empty for rules and annotators."""
        return () if self.criterion is None else self.criterion.shape

    def at(self, index: tuple[int, ...], shape: tuple[int, ...]) -> Who:
        """The one who answers in this cell of a broadcast table."""
        if self.criterion is None:
            return self
        return Who(criterion=np.broadcast_to(self.criterion, shape)[index])

    def seconds(self, d: Floats, q: Floats) -> Seconds:
        """The seconds for events of length d in segments of length q; arrays broadcast."""
        if self.annotator is not None:
            present, true = annotator_seconds(d, q, self.annotator)
        else:
            present, true = rule_seconds(d, q, self.required_overlap(d, q))
        zero = np.zeros(np.broadcast_shapes(np.shape(present), np.shape(d), np.shape(q)))
        return Seconds(d + zero, q + zero, present + zero, true + zero)

    def required_overlap(self, d: Floats, q: Floats) -> Floats:
        """x_0 in seconds, infinite where no segment can be present."""
        if self.criterion is not None:
            need = self.criterion * d
            return np.where(need <= np.minimum(d, q) * (1 + TIE), need, np.inf)
        assert self.rule is not None
        return self.rule.required_overlap(event_length=d, segment_length=q)

    def recall(self, d: Floats, q: Floats) -> Floats:
        """The chance that an event has a present segment that satisfies the rule on it."""
        if self.annotator is not None:
            return annotator_event_recall(d, q, self.annotator)
        x = self.required_overlap(d, q)
        return np.where(np.isfinite(x), np.clip((d + q - 2 * np.where(np.isfinite(x), x, 0.0)) / q, 0.0, 1.0), 0.0)

    def splits(self, q: float) -> list[float]:
        """The event lengths at which the seconds jump or bend, for one segment length."""
        if self.criterion is not None:
            return [q / float(self.criterion), q]
        if self.annotator is not None:
            found = [q]
            if isinstance(self.annotator.presence_criterion, float):
                found.append(q / self.annotator.presence_criterion)
            return found
        assert self.rule is not None
        return _rule_splits(self.rule, q)


def _rule_splits(rule: PresenceRule, q: float) -> list[float]:
    # Each piece is a line a * d + b; the seconds can only bend where two of these lines cross.
    lines = [(form.event_share, form.segment_share * q + form.seconds) for form in rule.forms]
    lines += [(0.0, q), (1.0, 0.0), (0.5, q / 2)]
    found = [q]
    for i, (a, b) in enumerate(lines):
        for c, e in lines[:i]:
            if a != c:
                found.append((e - b) / (a - c))
    # present + event recall also bend where the present stretch is one segment long: d = 2 x_0
    found += [2 * b / (1 - 2 * a) for a, b in lines if a != 0.5]
    return [value for value in found if value > 0]


def rule_seconds(d: Floats, q: Floats, x0: Floats) -> tuple[Floats, Floats]:
    """Seconds present and truly present per event, if overlap from x0 on makes a segment present."""
    possible = np.isfinite(x0)
    x = np.where(possible, x0, 0.0)
    least = np.minimum(d, q)
    present = np.where(possible, d + q - 2 * x, 0.0)
    # A margin can ask for more than the overlap can be; then every present segment has all of the overlap.
    true = np.where(x <= least * (1 + TIE), d - x * x / q, present * least / q)
    return present, np.where(possible, true, 0.0)


def annotator_seconds(d: Floats, q: Floats, annotator: Annotator) -> tuple[Floats, Floats]:
    """Expected seconds present and truly present per event, for P(present | event fraction) of an annotator."""
    if isinstance(annotator.presence_criterion, float):
        low, high = (float(annotator.probability(h)) for h in (0.0, 1.0))
        need = annotator.presence_criterion * d
        x0 = np.where(need <= np.minimum(d, q) * (1 + TIE), need, np.inf)
        present, true = rule_seconds(d, q, x0)
        return low * (d + q) + (high - low) * present, low * d + (high - low) * true
    most = np.minimum(d, q)
    share = most / d
    area, moment = annotator.integrals(share)
    whole = np.abs(d - q) * annotator.probability(share)
    return 2 * d * area + whole, (2 * d * d * moment + most * whole) / q


def annotator_event_recall(d: Floats, q: Floats, annotator: Annotator) -> Floats:
    r"""The chance that some segment that meets the annotator's criterion on the event is labelled present.

    The criterion belongs to the annotator, lapses and flips to the segment. Of n segments that meet the criterion one
    is enough: :math:`1 - (1-p)^n`, p the chance of present where it is met. The number n takes the two whole values
    around :math:`(1 + \delta - 2\gamma)/\delta`, so this is linear in :math:`\gamma` between breaks, and its
    expectation is a sum of integrals of the law of :math:`\gamma`.
    """
    met = annotator.probability_if_met
    ratio = q / d
    if isinstance(annotator.presence_criterion, float):
        g = annotator.presence_criterion
        return np.where(g <= np.minimum(1.0, ratio) * (1 + TIE), _noticed(ratio, np.asarray(g), met), 0.0)
    limit = np.minimum(1.0, ratio)
    total = _noticed(ratio, limit, met) * annotator.voted_cdf(limit)
    for k in range(int(np.ceil(1 + 1 / np.min(ratio))) + 1):
        high = np.clip((1 + ratio - k * ratio) / 2, 0.0, limit)
        low = np.clip((1 + ratio - (k + 1) * ratio) / 2, 0.0, limit)
        fall = 2 / ratio * met * (1 - met) ** k
        total = total + fall * (annotator.voted_area(high) - annotator.voted_area(low))
        if (1 - met) ** (k + 1) < 1e-18:
            break
    return np.asarray(total, dtype=np.float64)


def _noticed(ratio: Floats, g: Floats, met: float) -> Floats:
    n = np.maximum(0.0, 1 + ratio - 2 * g) / ratio
    whole = np.floor(n)
    return 1 - (1 - met) ** whole * (1 - (n - whole) * met)


def expected(lengths: Lengths, q: Floats, who: Who) -> Seconds:
    """The seconds per event, expected over a law of lengths, for every segment length and criterion."""
    if who.criterion is not None:
        g = who.criterion
        p0, m1, m2 = lengths.partial_moments(noticeable(lengths, q, g))
        zero = 0.0 * p0
        return Seconds(lengths.mean + zero, q + zero, (1 - 2 * g) * m1 + q * p0, m1 - g * g * m2 / q)
    present = cells(lengths, q, who, lambda d, width, one: one.seconds(d, width).present)
    true = cells(lengths, q, who, lambda d, width, one: one.seconds(d, width).true)
    return Seconds(np.full(q.shape, lengths.mean), q, present, true)


def noticeable(lengths: Lengths, q: Floats, g: Floats) -> Floats:
    """The longest event that a segment can make noticed; in a sample a tie counts, in a law it has no weight."""
    return q / g * (1 + TIE if lengths.is_sample else 1.0)


#: Cells of a table times lengths of a sample that are held at once: 8 MB a copy.
_AT_ONCE = 1_000_000


def cells(
    lengths: Lengths,
    q: Floats,
    who: Who,
    function: Callable[[Floats, Floats, Who], Floats],
    *,
    bends: Callable[[float, float], list[float]] | None = None,
) -> Floats:
    """E[function(d, q, who)] over a law of lengths, for each cell of the broadcast table of q and criteria.

    ``bends(q, longest)`` are lengths where the function bends besides those of the presence rule.
    """
    shape = np.broadcast_shapes(q.shape, who.shape)
    widths, table = np.broadcast_to(q, shape), np.empty(shape)
    if lengths.values is not None and lengths.weights is not None and who.criterion is None:
        flat, found = widths.reshape(-1), table.reshape(-1)
        step = max(1, _AT_ONCE // lengths.values.size)
        for start in range(0, flat.size, step):
            part = flat[start : start + step, None]
            found[start : start + step] = function(lengths.values, part, who) @ lengths.weights
        return table
    longest = lengths.quantile(1 - 1e-9)
    for index, width in np.ndenumerate(widths):
        one = who.at(index, shape)

        def inner(d: Floats, width: float = width, one: Who = one) -> Floats:
            return function(d, np.asarray(width), one)

        more = [] if bends is None else bends(float(width), longest)
        table[index] = lengths.expect(inner, one.splits(float(width)) + more)
    return table


def lengths_or_numbers(event_length: Any) -> Lengths | Floats:
    """The argument as a law of lengths, if it is one, else as checked numbers."""
    if isinstance(event_length, Lengths) or hasattr(event_length, "lengths") or hasattr(event_length, "ppf"):
        return Lengths.of(event_length)
    return np.asarray(check("event_length", event_length), dtype=np.float64)


def out(value: Any) -> Any:
    """A float if the inputs were numbers, an array if they were arrays."""
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array
