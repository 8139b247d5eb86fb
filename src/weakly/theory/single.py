r"""Theorems 1, 3, 4 and 5 of the paper and the closed forms per event: precision, recall, lost events, wrong time.

Each function takes numbers or arrays (which broadcast) or a law of lengths as ``event_length``, and one of
``presence_criterion``, ``rule`` or ``annotator``. The assumptions are the paper's: the phase of the segments is
uniform, and events lie at least one segment length apart. Only the ratio :math:`\delta = d_q/d_e` of the lengths
matters to a share of time: for the theory without seconds give ``event_length=1`` and the ratio as ``segment_length``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.errors import AssumptionWarning, InvalidInput
from ..base.symbols import check, choice
from ..model.annotator import TIE
from ..model.answer_model import AnswerLike, AnswerModel
from ..model.lengths import LengthLike, Lengths
from .core import FloatOrArray, Floats, Seconds, cells, expected, lengths_or_numbers, noticeable, out, seconds
from .core import recall as chance_found


def _ask(event_length: Any, segment_length: Any, who: AnswerModel) -> Seconds:
    d, q = lengths_or_numbers(event_length), np.asarray(check("segment_length", segment_length), dtype=np.float64)
    return expected(d, q, who) if isinstance(d, Lengths) else seconds(who, d, q)


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
    who = AnswerModel.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator)
    weighting = choice("weighting", weighting, ("event", "segment"))
    d, q = lengths_or_numbers(event_length), np.asarray(check("segment_length", segment_length), dtype=np.float64)
    if isinstance(d, Lengths) and weighting == "event":
        if who.criterion is not None:
            return out(event_weighted(d, q, who.criterion))
        return out(cells(d, q, who, right_share))
    found = expected(d, q, who) if isinstance(d, Lengths) else seconds(who, d, q)
    return out(1 - found.wrong / (found.event + found.segment))


def right_share(d: Floats, q: Floats, who: AnswerModel) -> Floats:
    """Theorem 1 for one who answers, whoever it is."""
    found = seconds(who, d, q)
    return 1 - found.wrong / (found.event + found.segment)


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
    who = AnswerModel.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator)
    count = np.asarray(check("n_events", n_events), dtype=np.float64)
    total = np.asarray(check("recording_length", recording_length), dtype=np.float64)
    rho = np.asarray(check("flip_rate", flip_rate), dtype=np.float64)
    found = _ask(event_length, segment_length, who)
    if (count * found.event > total * (1 + 1e-12)).any():
        raise InvalidInput("n_events * event_length must be at most recording_length: the events do not fit")
    if (found.segment > total * (1 + 1e-12)).any():
        most, least = float(np.max(found.segment)), float(np.min(total))
        raise InvalidInput(f"segment_length must be at most recording_length {least:g} s, got {most:g} s")
    crowded = count * found.event + np.maximum(count - 1, 0) * found.segment > total * (1 + 1e-12)
    if crowded.any():
        warnings.warn(
            "the events cannot lie one segment length apart in this recording; Theorem 5 assumes that they do",
            AssumptionWarning,
            stacklevel=2,
        )
    wrong = count * found.wrong
    if who.annotator is not None:
        wrong = wrong + float(who.annotator.probability(0.0)) * (total - count * (found.event + found.segment))
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
    return out(
        _ask(
            event_length,
            segment_length,
            AnswerModel.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator),
        ).wrong
    )


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
    found = _ask(
        event_length,
        segment_length,
        AnswerModel.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator),
    )
    some = found.present > 0
    return out(np.where(some, found.true / np.where(some, found.present, 1.0), np.nan))


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
    found = _ask(
        event_length,
        segment_length,
        AnswerModel.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator),
    )
    return out(found.true / found.event)


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
    who = AnswerModel.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator)
    d, q = lengths_or_numbers(event_length), np.asarray(check("segment_length", segment_length), dtype=np.float64)
    if not isinstance(d, Lengths):
        return out(chance_found(who, d, q) + 0.0 * (d + q))
    if who.criterion is None:
        return out(cells(d, q, who, lambda each, width, one: chance_found(one, each, width)))
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
    found = _ask(
        event_length,
        segment_length,
        AnswerModel.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator),
    )
    return out(found.present / found.segment)


def overlap_accuracy_per_recording(
    *, event_length: LengthLike, segment_length: ArrayLike, presence_criterion: ArrayLike
) -> FloatOrArray:
    r"""Expected mean accuracy of the segments that meet the event, for recordings with one event each.

    For :math:`\delta = d_q/d_e \ge 1`

    .. math:: \frac{1 + \gamma}{\delta} - \frac{1/2 + \gamma^2}{\delta^2}.

    For :math:`\delta < 1` let :math:`1 = k\delta + R` with whole k and :math:`0 \le R < \delta`. The event meets k+2
    segments with chance :math:`R/\delta` and k+1 otherwise; with :math:`\Phi(x) = \int_0^x \phi`, where
    :math:`\phi(x) = x/\delta` for :math:`x \ge \gamma` and :math:`1 - x/\delta` below, and with
    :math:`I = 1\{\delta \ge \gamma\}`,

    .. math:: \frac{1}{\delta}\left[\frac{k R I + 2\Phi(R)}{k+2}
        + \frac{(k-1)(\delta-R) I + 2\Phi(\delta) - 2\Phi(R)}{k+1}\right].

    Parameters
    ----------
    event_length : :math:`d_e` in seconds, or a law of lengths (one event per recording, lengths from the law).
    segment_length, presence_criterion : as in :func:`overlap_accuracy`.

    Notes
    -----
    The statistic of the paper's simulations with one event (E12); the grid has a uniform phase and no edges.

    Examples
    --------
    >>> round(overlap_accuracy_per_recording(event_length=1, segment_length=1.3, presence_criterion=0.7), 6)
    0.721893
    """
    who = AnswerModel.of(presence_criterion=presence_criterion)
    d, q = lengths_or_numbers(event_length), np.asarray(check("segment_length", segment_length), dtype=np.float64)
    if isinstance(d, Lengths):
        return out(cells(d, q, who, _per_recording, bends=_multiples))
    return out(_per_recording(d, q, who))


def _multiples(width: float, longest: float) -> list[float]:
    return list(width * np.arange(1, min(longest / width, 400) + 1))


def _per_recording(d: Floats, q: Floats, who: AnswerModel) -> Floats:
    assert who.criterion is not None
    g, ratio = who.criterion, np.asarray(q / d, dtype=np.float64)
    whole = np.floor(1 / ratio * (1 + 1e-15))
    rest = np.clip(1 - whole * ratio, 0.0, None)
    noticed = ratio >= g * (1 - TIE)

    def area(x: Floats) -> Floats:
        low = x - x * x / (2 * ratio)
        high = g + (x * x - 2 * g * g) / (2 * ratio)
        return np.where((x >= g) & noticed, high, low)

    many = (whole * rest * noticed + 2 * area(rest)) / (whole + 2)
    few = ((whole - 1) * (ratio - rest) * noticed + 2 * (area(ratio) - area(rest))) / (whole + 1)
    long = (1 + g) / ratio - (0.5 + g * g) / ratio**2
    return np.where(ratio >= 1, long, (many + few) / ratio)


def event_weighted(lengths: Lengths, q: Floats, g: Floats) -> Floats:
    r"""E f over the law, for every segment length and criterion of the broadcast table.

    With :math:`\kappa = 1 + 2\gamma + 2\gamma^2` Theorem 1 reads :math:`\kappa - 2\gamma^2 d/q - \kappa q/(d+q)` for
    :math:`d \le q/\gamma`, else :math:`q/(d+q)`: the criterion only sets the limit and the factors of three sums over
    the lengths up to the limit. So the lengths are sorted once, and a hundred criteria cost as much as one.
    """
    shape = np.broadcast_shapes(q.shape, g.shape)
    widths, criteria = np.broadcast_to(q, shape).ravel(), np.broadcast_to(g, shape).ravel()
    limits = noticeable(lengths, widths, criteria)
    p0, m1, _ = lengths.partial_moments(limits)
    near, whole = np.empty(limits.shape), np.empty(limits.shape)
    distinct, where = np.unique(widths, return_inverse=True)
    for k, width in enumerate(distinct):
        cell = np.flatnonzero(where == k)
        sums = lengths.partial(lambda d, width=width: 1 / (d + width), np.append(limits[cell], np.inf))  # type: ignore[misc]
        near[cell], whole[cell] = sums[:-1], sums[-1]
    kappa = 1 + 2 * criteria + 2 * criteria * criteria
    found = kappa * p0 - 2 * criteria * criteria * m1 / widths - kappa * widths * near + widths * (whole - near)
    return np.asarray(found.reshape(shape), dtype=np.float64)


def overlap_accuracy_profile(
    lengths: LengthLike, *, segment_length: ArrayLike, presence_criterion: ArrayLike, weighting: str = "segment"
) -> Floats:
    r"""The table of accuracies given overlap, one row per segment length and one column per presence criterion.

    The same numbers as :func:`overlap_accuracy` with a law of lengths; the cost does not grow with the number of
    criteria, and the memory is that of two copies of the lengths.

    Parameters
    ----------
    lengths : a law, numbers (a sample) or events.
    segment_length : Q lengths in seconds.
    presence_criterion : C criteria in (0, 1].
    weighting : ``segment`` or ``event`` (eq. 13 of the paper, E20).

    Notes
    -----
    Theorem 1 and eq. 13 of the paper.

    Examples
    --------
    >>> overlap_accuracy_profile([0.5, 1, 4], segment_length=[0.9, 2], presence_criterion=[0.5]).round(4).tolist()
    [[0.3909], [0.5815]]
    """
    law = Lengths.of(lengths)
    q = np.atleast_1d(np.asarray(check("segment_length", segment_length), dtype=np.float64)).ravel()[:, None]
    g = np.atleast_1d(np.asarray(check("presence_criterion", presence_criterion), dtype=np.float64)).ravel()[None, :]
    if choice("weighting", weighting, ("event", "segment")) == "event":
        return event_weighted(law, q, g)
    found = expected(law, q, AnswerModel(criterion=g))
    return np.asarray(1 - found.wrong / (found.event + found.segment), dtype=np.float64)
