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
from numpy.typing import ArrayLike, NDArray

from ..base.symbols import check
from ..model.annotator import TIE, Annotator, PresenceRule
from ..model.answer_model import AnswerModel
from ..model.detection import detection_at_random
from ..model.lengths import LengthLike, Lengths

Floats = NDArray[np.float64]
#: What closed forms give: a float for numbers, an array for arrays.
FloatOrArray = float | Floats


def present_share(
    *, event_length: LengthLike, segment_length: ArrayLike, presence_criterion: ArrayLike
) -> FloatOrArray:
    r"""Share of the segments that meet an event which are labelled present.

    .. math:: \frac{E[(d_e + d_q - 2\gamma d_e)\, 1\{\gamma d_e \le d_q\}]}{E[d_e + d_q]}

    Examples
    --------
    >>> present_share(event_length=1, segment_length=1, presence_criterion=0.25)
    0.75
    """
    law = Lengths.of(event_length)
    q = np.asarray(check("segment_length", segment_length), dtype=np.float64)
    found = expected(law, q, AnswerModel.of(presence_criterion=presence_criterion))
    return out(found.present / (found.event + found.segment))


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


def seconds(who: AnswerModel, d: Floats, q: Floats) -> Seconds:
    """The seconds for events of length d in segments of length q; arrays broadcast."""
    if who.annotator is not None:
        present, true = annotator_seconds(d, q, who.annotator)
    else:
        present, true = rule_seconds(d, q, who.required_overlap(d, q))
    zero = np.zeros(np.broadcast_shapes(np.shape(present), np.shape(d), np.shape(q)))
    return Seconds(d + zero, q + zero, present + zero, true + zero)


def recall(who: AnswerModel, d: Floats, q: Floats) -> Floats:
    """The chance that an event is found: see :mod:`weakly.model.detection` for what that means."""
    someone = who.annotator
    if someone is not None and not someone.is_noisy and someone.votes is not None and who.single is None:
        return _voted_recall(someone, d, q)  # hard votes: the j-th smallest criterion decides alone
    d, q = np.broadcast_arrays(d, q)
    return detection_at_random(who, event_length=d, segment_length=q)


def _voted_recall(annotator: Annotator, d: Floats, q: Floats) -> Floats:
    r"""The chance that n >= 1 segments meet the j-th smallest of k criteria, by parts: linear in it between bends."""
    ratio = q / d
    limit = np.minimum(1.0, ratio)
    half = np.minimum(0.5, limit)  # up to one half of the event a segment always holds it; then min(1, span / q)
    at_limit = np.clip((1 + ratio - 2 * limit) / ratio, 0.0, 1.0)
    lost = 2 / ratio * (annotator.voted_area(limit) - annotator.voted_area(half))
    return np.asarray(at_limit * annotator.voted_cdf(limit) + lost, dtype=np.float64)


def splits(who: AnswerModel, q: float) -> list[float]:
    """The event lengths at which the seconds jump or bend, for one segment length."""
    if who.rule is not None:
        return _rule_splits(who.rule, q)
    return [q] if who.single is None else [q / who.single, q]


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


def expected(lengths: Lengths, q: Floats, who: AnswerModel) -> Seconds:
    """The seconds per event, expected over a law of lengths, for every segment length and criterion."""
    if who.criterion is not None:
        g = who.criterion
        p0, m1, m2 = lengths.partial_moments(noticeable(lengths, q, g))
        zero = 0.0 * p0
        return Seconds(lengths.mean + zero, q + zero, (1 - 2 * g) * m1 + q * p0, m1 - g * g * m2 / q)
    present = cells(lengths, q, who, lambda d, width, one: seconds(one, d, width).present)
    true = cells(lengths, q, who, lambda d, width, one: seconds(one, d, width).true)
    return Seconds(np.full(q.shape, lengths.mean), q, present, true)


def noticeable(lengths: Lengths, q: Floats, g: Floats) -> Floats:
    """The longest event that a segment can make noticed; in a sample a tie counts, in a law it has no weight."""
    return q / g * (1 + TIE if lengths.is_sample else 1.0)


#: Cells of a table times lengths of a sample that are held at once: 8 MB a copy.
_AT_ONCE = 1_000_000


def cells(
    lengths: Lengths,
    q: Floats,
    who: AnswerModel,
    function: Callable[[Floats, Floats, AnswerModel], Floats],
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
            found[start : start + step] = np.einsum("qi,i->q", function(lengths.values, part, who), lengths.weights)
        return table
    longest = lengths.quantile(1 - 1e-9)
    for index, width in np.ndenumerate(widths):
        one = who.at(index, shape)

        def inner(d: Floats, width: float = width, one: AnswerModel = one) -> Floats:
            return function(d, np.asarray(width), one)

        more = [] if bends is None else bends(float(width), longest)
        table[index] = lengths.expect(inner, splits(one, float(width)) + more)
    return table


def lengths_or_numbers(event_length: LengthLike) -> Lengths | Floats:
    """The argument as a law of lengths, if it is one, else as checked numbers."""
    if isinstance(event_length, Lengths) or hasattr(event_length, "lengths") or hasattr(event_length, "ppf"):
        return Lengths.of(event_length)
    return np.asarray(check("event_length", event_length), dtype=np.float64)


def out(value: Any) -> FloatOrArray:
    """A float if the inputs were numbers, an array if they were arrays."""
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array
