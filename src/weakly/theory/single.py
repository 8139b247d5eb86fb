r"""Theorems 1, 3, 4 and 5 of the paper and the closed forms per event: precision, recall, lost events, wrong time.

Each function takes numbers or arrays (which broadcast) or a law of lengths as ``event_length``, and one of
``presence_criterion``, ``rule`` or ``annotator``. The assumptions are the paper's: the phase of the segments is
uniform, and events lie at least one segment length apart. Only the ratio :math:`\delta = d_q/d_e` of the lengths
matters to a share of time: for the theory without seconds give ``event_length=1`` and the ratio as ``segment_length``.

While a segment slides past an event, the overlap x takes every value in (0, m) twice, m = min(d_e, d_q), and stays at m
for :math:`|d_e - d_q|` seconds. Every closed form is an integral against this measure. If a segment is present from an
overlap :math:`x_0` on, then per event

.. math:: \text{present} = d_e + d_q - 2 x_0, \qquad \text{true} = d_e - x_0^2 / d_q,

and wrong time = present + d_e - 2 true. The paper's rule is :math:`x_0 = \gamma d_e`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.errors import AssumptionWarning, InvalidInput
from ..base.symbols import check, choice
from ..model.annotator import TIE
from ..model.answer_model import AnswerLike, AnswerModel
from ..model.detection import detection_at_random
from ..model.intervals import Floats
from ..model.lengths import LengthLike, Lengths

#: What closed forms give: a float for numbers, an array for arrays.
FloatOrArray = float | Floats


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

    @property
    def right_share(self) -> Floats:
        """Of the time of the segments that meet an event: the accuracy given overlap."""
        return 1 - self.wrong / (self.event + self.segment)


def seconds(who: AnswerModel, d: Floats, q: Floats) -> Seconds:
    """The seconds for events of length d in segments of length q; arrays broadcast."""
    if who.annotator is not None and who.is_continuous:
        most = np.minimum(d, q)
        share = most / d
        area, moment = who.annotator.integrals(share)
        whole = np.abs(d - q) * who.probability(share)
        present, true = 2 * d * area + whole, (2 * d * d * moment + most * whole) / q
    else:
        low, rise = who.low, who.high - who.low
        present, true = rule_seconds(d, q, who.required_overlap(d, q))
        present, true = low * (d + q) + rise * present, low * d + rise * true
    zero = np.zeros(np.broadcast_shapes(np.shape(present), np.shape(d), np.shape(q)))
    return Seconds(d + zero, q + zero, present + zero, true + zero)


def splits(who: AnswerModel, q: float) -> list[float]:
    """The event lengths at which the seconds jump or bend, for one segment length."""
    if who.rule is None:
        return [q] if who.single is None else [q / who.single, q]
    # Each piece is a line a * d + b; the seconds can only bend where two of these lines cross.
    lines = [(form.event_share, form.segment_share * q + form.seconds) for form in who.rule.forms]
    lines += [(0.0, q), (1.0, 0.0), (0.5, q / 2)]
    lengths = [q, *((e - b) / (a - c) for i, (a, b) in enumerate(lines) for c, e in lines[:i] if a != c)]
    # present + event recall also bend where the present stretch is one segment long: d = 2 x_0
    lengths += [2 * b / (1 - 2 * a) for a, b in lines if a != 0.5]
    return [length for length in lengths if length > 0]


def rule_seconds(d: Floats, q: Floats, x0: Floats) -> tuple[Floats, Floats]:
    """Seconds present and truly present per event, if overlap from x0 on makes a segment present."""
    possible = np.isfinite(x0)
    x = np.where(possible, x0, 0.0)
    least = np.minimum(d, q)
    present = np.where(possible, d + q - 2 * x, 0.0)
    # A margin can ask for more than the overlap can be; then every present segment has all of the overlap.
    true = np.where(x <= least * (1 + TIE), d - x * x / q, present * least / q)
    return present, np.where(possible, true, 0.0)


def expected(lengths: Lengths | Floats, q: Floats, who: AnswerModel) -> Seconds:
    """The seconds per event, expected over a law of lengths, for every segment length and criterion; or of lengths."""
    if not isinstance(lengths, Lengths):
        return seconds(who, lengths, q)
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
        flat, means = widths.reshape(-1), table.reshape(-1)
        step = max(1, _AT_ONCE // lengths.values.size)
        for start in range(0, flat.size, step):
            at = slice(start, start + step)
            means[at] = np.einsum("qi,i->q", function(lengths.values, flat[at, None], who), lengths.weights)
        return table
    longest = lengths.quantile(1 - 1e-9)
    for index, width in np.ndenumerate(widths):
        model = who.at(index, shape)

        def inner(d: Floats, width: float = width, model: AnswerModel = model) -> Floats:
            return function(d, np.asarray(width), model)

        more = [] if bends is None else bends(float(width), longest)
        table[index] = lengths.expect(inner, splits(model, float(width)) + more)
    return table


def asked(
    event_length: Any, segment_length: Any, presence_criterion: Any = None, rule: Any = None, annotator: Any = None
) -> tuple[Lengths | Floats, Floats, AnswerModel]:
    """The arguments of a public function, checked: event lengths, segment lengths, and who answers."""
    who = AnswerModel.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator)
    return lengths_or_numbers(event_length), np.asarray(check("segment_length", segment_length)), who


def lengths_or_numbers(event_length: LengthLike) -> Lengths | Floats:
    """The argument as a law of lengths, if it is one or text, else as checked numbers."""
    if isinstance(event_length, Lengths | str) or hasattr(event_length, "lengths") or hasattr(event_length, "ppf"):
        return Lengths.of(event_length)
    return np.asarray(check("event_length", event_length), dtype=np.float64)


def out(value: Any) -> FloatOrArray:
    """A float if the inputs were numbers, an array if they were arrays."""
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array


def _ask(event_length: Any, segment_length: Any, *who: Any) -> Seconds:
    """The seconds of public arguments: lengths, and criterion, rule and annotator, of which one is given."""
    return expected(*asked(event_length, segment_length, *who))


def overlap_accuracy(
    *, event_length: LengthLike, segment_length: ArrayLike, presence_criterion: AnswerLike | None = None,
    rule: AnswerLike | None = None, annotator: AnswerLike | None = None, weighting: str = "segment",
) -> FloatOrArray:  # fmt: skip
    r"""Expected accuracy of a segment's label, given that the segment meets an event.

    .. math:: f(d_q) = \frac{d_e((2\gamma+1)d_q - 2\gamma^2 d_e)}{d_q(d_e+d_q)}

    when :math:`d_q \ge \gamma d_e`, else :math:`d_q/(d_e+d_q)`.

    Parameters
    ----------
    event_length : :math:`d_e` in seconds, > 0: numbers, or a law of lengths (:class:`~weakly.Lengths`).
    segment_length : :math:`d_q` in seconds, > 0.
    presence_criterion : :math:`\gamma` in (0, 1]; or
    rule : a :class:`~weakly.PresenceRule`, whose required overlap takes the place of :math:`\gamma d_e`; or
    annotator : an :class:`~weakly.Annotator`; a guessed present outside all events does not enter here.
    weighting : for a law of lengths: ``segment`` averages over the segments that meet an event, of which long events
        have more: what a labelled data set is; ``event`` over events (eq. 13 of the paper, E20).

    Notes
    -----
    Theorem 1 and eq. 13 of the paper. Long segments that miss every event still score high here: read it together with
    :func:`event_recall` (E32).

    Examples
    --------
    >>> overlap_accuracy(event_length=1, segment_length=1, presence_criterion=0.5)
    0.75
    >>> overlap_accuracy(event_length=1, segment_length=[0.3, 0.8], presence_criterion=0.5).round(4).tolist()
    [0.2308, 0.7639]
    """
    d, q, who = asked(event_length, segment_length, presence_criterion, rule, annotator)
    if choice("weighting", weighting, ("event", "segment")) == "event" and isinstance(d, Lengths):
        return out(event_weighted(d, q, who))
    return out(expected(d, q, who).right_share)


def best_overlap_accuracy(*, presence_criterion: ArrayLike) -> FloatOrArray:
    r"""The largest accuracy given overlap that any segment length reaches, for events of one length.

    .. math:: f^*(\gamma) = 1 + 2\gamma\left(2\gamma + 1 - \sqrt{4\gamma^2 + 4\gamma + 2}\right)

    Notes
    -----
    Theorem 3 of the paper. It bounds every law of lengths as long as events lie at least one segment length apart, and
    only then (E23).

    Examples
    --------
    >>> round(best_overlap_accuracy(presence_criterion=0.5), 6)
    0.763932
    """
    g = np.asarray(check("presence_criterion", presence_criterion), dtype=np.float64)
    # (1 + 2g) / (1 + 2 delta*): the same number without the cancellation.
    return out((1 + 2 * g) / (1 + 2 * best_ratio(g)))


def best_ratio(g: Floats) -> Floats:
    """delta* = d_q* / d_e of Theorem 2, with the root that E2 corrects."""
    return g * (2 * g + np.sqrt(4 * g * g + 4 * g + 2)) / (2 * g + 1)


def optimal_query_count(
    *, recording_length: ArrayLike, event_length: LengthLike, presence_criterion: AnswerLike
) -> FloatOrArray:
    r"""The number of segments per recording that maximises the accuracy given overlap; not rounded.

    .. math:: B^* = T / d_q^*

    Notes
    -----
    Theorem 4 of the paper; it holds for every event length, not only for one second (E29). For a law of lengths
    :math:`d_q^*` is that of :func:`optimal_segment_length`.

    Examples
    --------
    >>> round(optimal_query_count(recording_length=100, event_length=1, presence_criterion=0.5), 4)
    123.6068
    """
    from .optimum import optimal_segment_length

    total = np.asarray(check("recording_length", recording_length), dtype=np.float64)
    return out(total / optimal_segment_length(event_length=event_length, presence_criterion=presence_criterion))


def recording_accuracy(
    *, event_length: LengthLike, segment_length: ArrayLike, presence_criterion: AnswerLike | None = None,
    n_events: ArrayLike, recording_length: ArrayLike, flip_rate: ArrayLike = 0.0, rule: AnswerLike | None = None,
    annotator: AnswerLike | None = None,
) -> FloatOrArray:  # fmt: skip
    r"""Expected share of a whole recording that is labelled right.

    .. math::
        1 - \frac{M}{T} E\left[1\{\gamma d_e \le d_q\}\left(\frac{2\gamma^2 d_e^2}{d_q} - 2\gamma d_e + d_q\right)
        + 1\{\gamma d_e > d_q\}\, d_e\right]

    and, with a share :math:`\rho` of labels flipped, :math:`F + \rho(1 - 2F)`.

    Parameters
    ----------
    n_events : M, the events of a recording, >= 0.
    recording_length : T in seconds.
    flip_rate : :math:`\rho` in [0, 1], class label noise.

    Notes
    -----
    The other parameters are those of :func:`overlap_accuracy`. Theorem 5 of the paper with its missing branch (E6)
    and the right effect of flips (E8). M events at least :math:`d_q` apart; where they do not fit an
    AssumptionWarning says so. An annotator's guesses outside events count.

    Examples
    --------
    >>> round(recording_accuracy(event_length=1, segment_length=0.8, presence_criterion=0.5, n_events=10,
    ...     recording_length=100), 6)
    0.9575
    """
    d, q, who = asked(event_length, segment_length, presence_criterion, rule, annotator)
    count, total = check("n_events", n_events), np.asarray(check("recording_length", recording_length))
    rho = check("flip_rate", flip_rate)
    per_event = expected(d, q, who)
    if (count * per_event.event > total * (1 + 1e-12)).any():
        raise InvalidInput("n_events * event_length must be at most recording_length: the events do not fit")
    if (per_event.segment > total * (1 + 1e-12)).any():
        most, least = float(np.max(per_event.segment)), float(np.min(total))
        raise InvalidInput(f"segment_length must be at most recording_length {least:g} s, got {most:g} s")
    crowded = count * per_event.event + np.maximum(count - 1, 0) * per_event.segment > total * (1 + 1e-12)
    if crowded.any():
        warnings.warn(
            "the events cannot lie one segment length apart in this recording; Theorem 5 assumes that they do",
            AssumptionWarning,
            stacklevel=2,
        )
    wrong = count * per_event.wrong
    if who.annotator is not None:
        wrong = wrong + who.low * (total - count * (per_event.event + per_event.segment))
    right = 1 - wrong / total
    return out(right + rho * (1 - 2 * right))


def wrong_time(
    *, event_length: LengthLike, segment_length: ArrayLike, presence_criterion: AnswerLike | None = None,
    rule: AnswerLike | None = None, annotator: AnswerLike | None = None,
) -> FloatOrArray:  # fmt: skip
    r"""Expected seconds per event that carry the wrong label, false presence and missed presence together.

    .. math:: \epsilon = d_q - 2\gamma d_e + 2\gamma^2 d_e^2 / d_q \text{ if } d_q \ge \gamma d_e, \text{ else } d_e

    Notes
    -----
    The bracket of Theorem 5 of the paper; E6 adds the second branch.

    Examples
    --------
    >>> wrong_time(event_length=1, segment_length=1, presence_criterion=0.5)
    0.5
    """
    return out(_ask(event_length, segment_length, presence_criterion, rule, annotator).wrong)


def precision(
    *, event_length: LengthLike, segment_length: ArrayLike, presence_criterion: AnswerLike | None = None,
    rule: AnswerLike | None = None, annotator: AnswerLike | None = None,
) -> FloatOrArray:  # fmt: skip
    r"""Share of the time labelled present that is event time; NaN where nothing is ever present.

    .. math:: P = \frac{\delta - \gamma^2}{\delta(1 + \delta - 2\gamma)}, \quad \delta = d_q / d_e \ge \gamma

    Notes
    -----
    From the proof of Theorem 1 of the paper. For a law of lengths it is the ratio of the expected seconds. Of an
    annotator's guesses only those in segments that meet an event count.

    Examples
    --------
    >>> precision(event_length=1, segment_length=1, presence_criterion=0.5)
    0.75
    """
    per_event = _ask(event_length, segment_length, presence_criterion, rule, annotator)
    some = per_event.present > 0
    return out(np.where(some, per_event.true / np.where(some, per_event.present, 1.0), np.nan))


def recall(
    *, event_length: LengthLike, segment_length: ArrayLike, presence_criterion: AnswerLike | None = None,
    rule: AnswerLike | None = None, annotator: AnswerLike | None = None,
) -> FloatOrArray:  # fmt: skip
    r"""Share of event time that is labelled present.

    .. math:: R = 1 - \gamma^2 / \delta, \quad \delta = d_q / d_e \ge \gamma, \text{ else } 0

    Notes
    -----
    From the proof of Theorem 1 of the paper.

    Examples
    --------
    >>> round(recall(event_length=1, segment_length=0.8, presence_criterion=0.5), 6)
    0.6875
    """
    per_event = _ask(event_length, segment_length, presence_criterion, rule, annotator)
    return out(per_event.true / per_event.event)


def event_recall(
    *, event_length: LengthLike, segment_length: ArrayLike, presence_criterion: AnswerLike | None = None,
    rule: AnswerLike | None = None, annotator: AnswerLike | None = None,
) -> FloatOrArray:  # fmt: skip
    r"""Share of events with at least one present segment that satisfies the rule on them.

    .. math:: R_e = \min\left(1,\; 1 - \frac{2\gamma - 1}{\delta}\right), \quad \delta = d_q/d_e \ge \gamma,
        \text{ else } 0

    Notes
    -----
    What the accuracy given overlap hides (E32): at the optimal segment length and :math:`\gamma = 0.9` more than half
    of the events are never labelled.

    Examples
    --------
    >>> round(event_recall(event_length=1, segment_length=1.534247, presence_criterion=0.9), 4)
    0.4786
    """
    d, q, who = asked(event_length, segment_length, presence_criterion, rule, annotator)
    if not isinstance(d, Lengths):
        return out(detection_at_random(who, d, q) + 0.0 * (d + q))
    if who.criterion is None:
        return out(cells(d, q, who, lambda each, width, one: detection_at_random(one, each, width)))
    p0, m1, _ = d.partial_moments(noticeable(d, q, who.criterion))
    return out(np.clip(p0 - np.maximum(0.0, 2 * who.criterion - 1) * m1 / q, 0.0, 1.0))


def expected_present_segments(
    *, event_length: LengthLike, segment_length: ArrayLike, presence_criterion: AnswerLike | None = None,
    rule: AnswerLike | None = None, annotator: AnswerLike | None = None,
) -> FloatOrArray:  # fmt: skip
    r"""Expected number of present segments per event.

    .. math:: E N = 1 + (1 - 2\gamma) / \delta, \quad \delta = d_q / d_e \ge \gamma, \text{ else } 0

    Notes
    -----
    The measure of present phases over the segment length, from the proof of Theorem 1 of the paper.

    Examples
    --------
    >>> expected_present_segments(event_length=1, segment_length=2, presence_criterion=0.25)
    1.25
    """
    per_event = _ask(event_length, segment_length, presence_criterion, rule, annotator)
    return out(per_event.present / per_event.segment)


def event_weighted(lengths: Lengths, q: Floats, who: AnswerModel) -> Floats:
    r"""E f over the law, for every segment length and criterion of the broadcast table.

    With :math:`\kappa = 1 + 2\gamma + 2\gamma^2` Theorem 1 reads :math:`\kappa - 2\gamma^2 d/q - \kappa q/(d+q)` for
    :math:`d \le q/\gamma`, else :math:`q/(d+q)`: the criterion only sets the limit and the factors of three sums over
    the lengths up to the limit. So the lengths are sorted once, and a hundred criteria cost as much as one.
    """
    if who.criterion is None:
        return cells(lengths, q, who, lambda d, width, one: seconds(one, d, width).right_share)
    shape = np.broadcast_shapes(q.shape, who.shape)
    widths, criteria = np.broadcast_to(q, shape).ravel(), np.broadcast_to(who.criterion, shape).ravel()
    limits = noticeable(lengths, widths, criteria)
    p0, m1, _ = lengths.partial_moments(limits)
    near, whole = np.empty(limits.shape), np.empty(limits.shape)
    distinct, where = np.unique(widths, return_inverse=True)
    for k, width in enumerate(distinct):
        cell = np.flatnonzero(where == k)
        sums = lengths.partial(lambda d, width=width: 1 / (d + width), np.append(limits[cell], np.inf))  # type: ignore[misc]
        near[cell], whole[cell] = sums[:-1], sums[-1]
    kappa = 1 + 2 * criteria + 2 * criteria * criteria
    right = kappa * p0 - 2 * criteria * criteria * m1 / widths - kappa * widths * near + widths * (whole - near)
    return np.asarray(right.reshape(shape), dtype=np.float64)
