"""Overlapping windows with votes: what a hop shorter than the window buys, and where to put the threshold.

Which windows there are, how cells are labelled and the seconds of one event are those of :mod:`weakly.model.placement`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.errors import InvalidInput
from ..base.symbols import check
from ..model.answer_model import AnswerLike, AnswerModel
from ..model.lengths import LengthLike, Lengths
from ..model.placement import checked_votes, window_times, windows_per_cell
from .core import FloatOrArray, Floats, cells, lengths_or_numbers, out
from .single import wrong_time


def _pieces(d: Floats, who: AnswerModel, width: Floats, step: float, k: int, *, inside: bool) -> Floats:
    """Expected wrong seconds per event; ``inside`` only those in cells that meet the event."""
    x0 = who.required_overlap(d, width)
    _, fp, fn, near = window_times(d, x0, segment_length=width, hop=np.asarray(step), votes=k)
    return fn + (near if inside else fp)


def _expect(event_length: Any, who: AnswerModel, width: float, step: float, k: int, *, inside: bool) -> Any:
    count = width / step
    d = lengths_or_numbers(event_length)
    if not isinstance(d, Lengths):
        return _pieces(d, who, np.asarray(width), step, k, inside=inside)

    def bends(q: float, _: float) -> list[float]:
        if who.criterion is None:
            return []
        g = float(who.criterion)
        found = [(count - k + 1) * step / g, (count - k) * step / g]
        if g != 0.5:
            found += [(n * step - width) / (1 - 2 * g) for n in (k - 1, k)]
        return [value for value in found if value > 0]

    def wrong(each: Floats, q: Floats, one: AnswerModel) -> Floats:
        return _pieces(each, one, q, step, k, inside=inside)

    return cells(d, np.asarray(width), who, wrong, bends=bends)


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
    who = _one(presence_criterion, rule)
    width, step = float(check("segment_length", segment_length)), float(check("hop", hop))
    if votes == 1 and step <= width:
        k = 1
    else:
        k = checked_votes(votes, windows=windows_per_cell(segment_length=width, hop=step))
    return out(_expect(event_length, who, width, step, k, inside=False))


def _one(presence_criterion: AnswerLike | None, rule: AnswerLike | None) -> AnswerModel:
    """The one criterion or rule."""
    who = AnswerModel.of(presence_criterion=presence_criterion, rule=rule)
    if who.annotator is not None or who.shape:
        raise InvalidInput(f"overlapping windows take one criterion or rule without noise, got {who.name}")
    return who


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
    who = _one(presence_criterion, rule)
    width, step = float(check("segment_length", segment_length)), float(check("hop", hop))
    count = windows_per_cell(segment_length=width, hop=step)
    law = Lengths.of(event_length)
    found = [float(_expect(law, who, width, step, k, inside=False)) for k in range(1, count + 1)]
    return int(np.argmin(np.round(found, 12))) + 1


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
    who = _one(presence_criterion, rule)
    width, step = float(check("segment_length", segment_length)), float(check("hop", hop))
    k = checked_votes(votes, windows=windows_per_cell(segment_length=width, hop=step))
    d = lengths_or_numbers(event_length)
    wrong = _expect(event_length, who, width, step, k, inside=True)
    mean = d.mean if isinstance(d, Lengths) else d
    return out(1 - wrong / (mean + step))


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
