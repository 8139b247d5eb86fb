r"""Beyond the theorems: other statistics of fixed segments, overlapping windows with votes, events that are boxes.

What a hop shorter than the window buys, and where to put the threshold: which windows there are, how cells are labelled
and the seconds of one event are those of :mod:`weakly.model.intervals`.

Boxes, time by frequency, image by image, any number of dimensions: along each axis the share of the event in the cell
is :math:`m_i w_i`, :math:`m_i = \min(1, \delta_i)`, where :math:`w_i = 1` with chance
:math:`p_i = |1-\delta_i|/(1+\delta_i)` and is uniform otherwise. With J axes in motion :math:`-\ln\prod w_i` is a
Gamma(J) variable, hence a closed form for any number of axes and any aspect.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.errors import InvalidInput
from ..base.symbols import check, choice, whole
from ..model.annotator import TIE
from ..model.answer_model import AnswerLike, AnswerModel
from ..model.intervals import Floats, checked_votes, window_times, windows_per_cell
from ..model.lengths import LengthLike, Lengths
from .optimum import maximise
from .single import FloatOrArray, asked, cells, expected, lengths_or_numbers, out, overlap_accuracy, wrong_time


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
    _, q, who = asked(1.0, segment_length, presence_criterion)
    per_event = expected(Lengths.of(event_length), q, who)
    return out(per_event.present / (per_event.event + per_event.segment))


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
    d, q, who = asked(event_length, segment_length, presence_criterion)
    if not isinstance(d, Lengths):
        return out(_per_recording(d, q, who))

    def multiples(width: float, longest: float) -> list[float]:
        return list(width * np.arange(1, min(longest / width, 400) + 1))

    return out(cells(d, q, who, _per_recording, bends=multiples))


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
    q, g = np.ravel(check("segment_length", segment_length)), np.ravel(check("presence_criterion", presence_criterion))
    table = overlap_accuracy(
        event_length=Lengths.of(lengths), segment_length=q[:, None], presence_criterion=g[None, :], weighting=weighting
    )
    return np.asarray(table)


def _wrong(d: Lengths | Floats, who: AnswerModel, width: float, step: float, k: int, *, inside: bool = False) -> Floats:
    """Expected wrong seconds per event; ``inside`` only those in cells that meet the event."""
    count = width / step

    def wrong(each: Floats, q: Floats, one: AnswerModel) -> Floats:
        x0 = one.required_overlap(each, q)
        _, fp, fn, near = window_times(each, x0, segment_length=q, hop=np.asarray(step), votes=k)
        return fn + (near if inside else fp)

    def bends(q: float, _: float) -> list[float]:
        if who.criterion is None:
            return []
        g = float(who.criterion)
        lengths = [(count - k + 1) * step / g, (count - k) * step / g]
        if g != 0.5:
            lengths += [(n * step - width) / (1 - 2 * g) for n in (k - 1, k)]
        return [length for length in lengths if length > 0]

    q = np.asarray(width)
    return cells(d, q, who, wrong, bends=bends) if isinstance(d, Lengths) else wrong(d, q, who)


def _asked(
    event_length: Any, segment_length: Any, hop: Any, presence_criterion: Any, rule: Any
) -> tuple[Lengths | Floats, AnswerModel, float, float]:
    """Event lengths, the one criterion or rule, the length of a window and the hop, checked."""
    who = AnswerModel.of(presence_criterion=presence_criterion, rule=rule)
    if who.annotator is not None or who.shape:
        raise InvalidInput(f"overlapping windows take one criterion or rule without noise, got {who.name}")
    width, step = float(check("segment_length", segment_length)), float(check("hop", hop))
    return lengths_or_numbers(event_length), who, width, step


def overlapping_wrong_time(
    *, event_length: LengthLike, segment_length: ArrayLike, hop: ArrayLike, votes: int,
    presence_criterion: AnswerLike | None = None, rule: AnswerLike | None = None,
) -> FloatOrArray:  # fmt: skip
    r"""Expected seconds per event with the wrong label, with overlapping windows and k-of-K votes per cell.

    .. math:: \frac{x^2 + (\eta - x)^2}{\eta} \text{ if } 0 \le x \le \eta, \text{ else } 2|x - \eta/2|,
        \qquad x = (K - k + 1)\eta - \gamma d_e

    where the present stretch :math:`\Lambda` always holds k windows; where it does so for some phases only, the mixture
    with a lost event, and :math:`d_e` where it never does.

    Parameters
    ----------
    event_length : :math:`d_e` in seconds: numbers or a law of lengths.
    segment_length : :math:`d_q = K \eta`, the length of a window in seconds; for one vote, where the label is the union
        of the present windows, K need not be whole.
    hop : :math:`\eta`, from one window's start to the next.
    votes : k, the windows that must be present, 1 to K.
    presence_criterion, rule : who answers, one of them; one criterion at a time.

    Notes
    -----
    One window per cell (hop = segment length) is the wrong time of Theorem 5 of the paper.

    Examples
    --------
    >>> wrong = overlapping_wrong_time(event_length=1, segment_length=1.5, hop=0.75, votes=2, presence_criterion=0.5)
    >>> round(wrong, 10)
    0.4166666667
    """
    d, who, width, step = _asked(event_length, segment_length, hop, presence_criterion, rule)
    if votes != 1 or step > width:
        votes = checked_votes(votes, windows=windows_per_cell(segment_length=width, hop=step))
    return out(_wrong(d, who, width, step, votes))


def optimal_votes(
    *, event_length: LengthLike, segment_length: ArrayLike, hop: ArrayLike,
    presence_criterion: AnswerLike | None = None, rule: AnswerLike | None = None,
) -> int:  # fmt: skip
    r"""The number of present windows per cell, k of K, that makes the least wrong time.

    Near :math:`K + 1/2 - \gamma d_e / \eta`: threshold the mean label at :math:`1 - \gamma d_e/d_q`, not at one half.

    Examples
    --------
    >>> optimal_votes(event_length=5, segment_length=10, hop=1, presence_criterion=0.5)
    8
    """
    _, who, width, step = _asked(1.0, segment_length, hop, presence_criterion, rule)
    count, law = windows_per_cell(segment_length=width, hop=step), Lengths.of(event_length)
    wrong = [float(_wrong(law, who, width, step, k)) for k in range(1, count + 1)]
    return int(np.argmin(np.round(wrong, 12))) + 1


def overlapping_cell_accuracy(
    *, event_length: LengthLike, segment_length: ArrayLike, hop: ArrayLike, votes: int,
    presence_criterion: AnswerLike | None = None, rule: AnswerLike | None = None,
) -> FloatOrArray:  # fmt: skip
    r"""Expected accuracy of the cells that meet an event, with overlapping windows and votes.

    .. math:: 1 - \epsilon / (d_e + \eta), \quad \epsilon \text{ the wrong seconds in these cells}

    Blind to false presence outside these cells: read it together with :func:`overlapping_wrong_time`.

    Examples
    --------
    >>> overlapping_cell_accuracy(event_length=2, segment_length=1, hop=0.5, votes=1, presence_criterion=0.25)
    0.8
    """
    d, who, width, step = _asked(event_length, segment_length, hop, presence_criterion, rule)
    k = checked_votes(votes, windows=windows_per_cell(segment_length=width, hop=step))
    return out(1 - _wrong(d, who, width, step, k, inside=True) / ((d.mean if isinstance(d, Lengths) else d) + step))


def soft_wrong_time(
    *, event_length: LengthLike, segment_length: ArrayLike, hop: ArrayLike,
    presence_criterion: AnswerLike | None = None, rule: AnswerLike | None = None,
) -> FloatOrArray:  # fmt: skip
    """Expected seconds of wrong label per event, if a cell's label is the mean of the windows over it.

    The error |label - truth| is linear in the label, so it is that of windows which do not overlap: soft labels alone
    gain nothing, thresholds do.

    Examples
    --------
    >>> round(soft_wrong_time(event_length=1, segment_length=1.2, hop=0.3, presence_criterion=0.5), 6)
    0.616667
    """
    windows_per_cell(segment_length=segment_length, hop=hop)
    return wrong_time(
        event_length=event_length, segment_length=segment_length, presence_criterion=presence_criterion, rule=rule
    )


def _shares(length_ratios: Any, presence_criterion: Any) -> tuple[Floats, Floats, Floats]:
    """Chance of present, share of event volume in present cells, volume of overlapping phases."""
    from scipy.special import gammainc

    ratios = np.asarray(check("length_ratio", length_ratios, called="length_ratios"), dtype=np.float64)
    if ratios.ndim == 0:
        raise InvalidInput("length_ratios must hold one ratio per axis in its last dimension, got one number")
    g = np.asarray(check("presence_criterion", presence_criterion), dtype=np.float64)
    still = np.abs(1 - ratios) / (1 + ratios)
    moving = np.ones((*ratios.shape[:-1], 1))
    for axis in range(ratios.shape[-1]):  # the law of the number of axes in motion, one axis at a time
        p = still[..., axis, None]
        none = np.zeros_like(p)
        moving = np.concatenate((moving * p, none), -1) + np.concatenate((none, moving * (1 - p)), -1)
    most, cell = np.prod(np.minimum(1, ratios), -1), np.prod(ratios, -1)
    room = np.log(np.maximum(most, g) / g)
    present, share = np.zeros(np.shape(room)), np.zeros(np.shape(room))
    for j in range(ratios.shape[-1] + 1):
        first = gammainc(j, room) if j else np.ones_like(room)
        second = gammainc(j, 2 * room) if j else np.ones_like(room)
        present = present + moving[..., j] * first
        share = share + moving[..., j] * second * 0.5**j
    seen = most >= g * (1 - 1e-9)
    return np.where(seen, present, 0.0), np.where(seen, share * most / cell, 0.0), np.prod(1 + ratios, -1)


def box_overlap_accuracy(*, length_ratios: ArrayLike, presence_criterion: ArrayLike) -> FloatOrArray:
    r"""Expected accuracy of a cell that meets an event, for boxes with the ratios :math:`\delta_i` of cell to event.

    .. math:: f = 1 - \prod_i\frac{1}{1+\delta_i}
        + \sum_j \pi_j\left[\frac{2\bar m}{\Delta} 2^{-j} P(j, 2L) - P(j, L)\right]

    with :math:`\bar m = \prod m_i`, :math:`\Delta = \prod\delta_i`, :math:`L = \ln(\bar m/\gamma)`, :math:`\pi_j` the
    Poisson-binomial law of the number of axes in motion and P the regularised incomplete gamma function.

    Parameters
    ----------
    length_ratios : cell over event, one per axis, in the last dimension; the other dimensions broadcast.
    presence_criterion : share of the event's volume that must lie in the cell.

    Notes
    -----
    One axis is Theorem 1 of the paper. From two axes on this number misleads: cells that never show an event come close
    to one. Use :func:`box_wrong_volume`.

    Examples
    --------
    >>> round(box_overlap_accuracy(length_ratios=[1.3, 0.7], presence_criterion=0.3), 6)
    0.761327
    """
    present, share, phases = _shares(length_ratios, presence_criterion)
    return out(1 - 1 / phases + 2 * share - present)


def box_wrong_volume(*, length_ratios: ArrayLike, presence_criterion: ArrayLike) -> FloatOrArray:
    """Expected wrongly labelled volume per event, in volumes of the event; labelling nothing makes 1.

    Examples
    --------
    >>> round(box_wrong_volume(length_ratios=[1, 1], presence_criterion=0.5), 6)
    0.806853
    """
    present, share, phases = _shares(length_ratios, presence_criterion)
    return out((1 / phases - 2 * share + present) * phases)


def box_recall(*, length_ratios: ArrayLike, presence_criterion: ArrayLike) -> FloatOrArray:
    """Share of the event's volume that is labelled present.

    Examples
    --------
    >>> round(box_recall(length_ratios=[0.8], presence_criterion=0.5), 6)
    0.6875
    """
    _, share, phases = _shares(length_ratios, presence_criterion)
    return out(share * phases)


def optimal_box_ratio(*, n_dimensions: int, presence_criterion: ArrayLike, objective: str = "volume") -> float:
    """The ratio of cell to event, the same along each axis, that is best for boxes.

    Parameters
    ----------
    n_dimensions : number of axes, 1 or more.
    objective : ``volume`` makes the least wrong volume, ``overlap`` the largest accuracy given overlap.

    Examples
    --------
    >>> round(optimal_box_ratio(n_dimensions=2, presence_criterion=0.5), 4)
    0.8932
    """
    n = whole("n_dimensions", n_dimensions)
    g = float(check("presence_criterion", presence_criterion))
    aim = choice("objective", objective, ("volume", "overlap"))

    def score(ratio: Floats) -> Floats:
        same = np.repeat(np.asarray(ratio)[:, None], n, axis=1)
        if aim == "overlap":
            return np.asarray(box_overlap_accuracy(length_ratios=same, presence_criterion=g))
        return -np.asarray(box_wrong_volume(length_ratios=same, presence_criterion=g))

    # Below g^(1/D) nothing is ever present; far above the event, accuracy given overlap tends to one by missing all.
    return maximise(score, g ** (1 / n), 4.0)[0]
