r"""Events and cells that are boxes: time by frequency, image by image, any number of dimensions.

Along each axis the share of the event in the cell is :math:`m_i w_i`, :math:`m_i = \min(1, \delta_i)`, where
:math:`w_i = 1` with chance :math:`p_i = |1-\delta_i|/(1+\delta_i)` and is uniform otherwise. With J axes in motion
:math:`-\ln\prod w_i` is a Gamma(J) variable, hence a closed form for any number of axes and any aspect.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.errors import InvalidInput
from ..base.symbols import check, choice, whole
from .core import FloatOrArray, Floats, out
from .optimum import maximise


def _shares(length_ratios: Any, presence_criterion: Any) -> tuple[Floats, Floats, Floats, Floats]:
    """Chance of present, share of event volume in present cells, volume of a cell, volume of overlapping phases."""
    from scipy.special import gammainc

    ratios = np.asarray(check("length_ratio", length_ratios, called="length_ratios"), dtype=np.float64)
    if ratios.ndim == 0:
        raise InvalidInput("length_ratios must hold one ratio per axis in its last dimension, got one number")
    g = np.asarray(check("presence_criterion", presence_criterion), dtype=np.float64)
    still = np.abs(1 - ratios) / (1 + ratios)
    moving = np.ones((*ratios.shape[:-1], 1))
    for axis in range(ratios.shape[-1]):  # the law of the number of axes in motion, one axis at a time
        p = still[..., axis, None]
        moving = np.concatenate((moving * p, np.zeros_like(p)), -1) + np.concatenate(
            (np.zeros_like(p), moving * (1 - p)), -1
        )
    most, cell = np.prod(np.minimum(1, ratios), -1), np.prod(ratios, -1)
    room = np.log(np.maximum(most, g) / g)
    present, share = np.zeros(np.shape(room)), np.zeros(np.shape(room))
    for j in range(ratios.shape[-1] + 1):
        first = gammainc(j, room) if j else np.ones_like(room)
        second = gammainc(j, 2 * room) if j else np.ones_like(room)
        present = present + moving[..., j] * first
        share = share + moving[..., j] * second * 0.5**j
    seen = most >= g * (1 - 1e-9)
    phases = np.prod(1 + ratios, -1)
    return np.where(seen, present, 0.0), np.where(seen, share * most / cell, 0.0), cell, phases


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
    present, share, _, phases = _shares(length_ratios, presence_criterion)
    return out(1 - 1 / phases + 2 * share - present)


def box_wrong_volume(*, length_ratios: ArrayLike, presence_criterion: ArrayLike) -> FloatOrArray:
    """Expected wrongly labelled volume per event, in volumes of the event; labelling nothing makes 1.

    Examples
    --------
    >>> round(box_wrong_volume(length_ratios=[1, 1], presence_criterion=0.5), 6)
    0.806853
    """
    present, share, _, phases = _shares(length_ratios, presence_criterion)
    return out((1 / phases - 2 * share + present) * phases)


def box_recall(*, length_ratios: ArrayLike, presence_criterion: ArrayLike) -> FloatOrArray:
    """Share of the event's volume that is labelled present.

    Examples
    --------
    >>> round(box_recall(length_ratios=[0.8], presence_criterion=0.5), 6)
    0.6875
    """
    _, share, _, phases = _shares(length_ratios, presence_criterion)
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
    low = g ** (1 / int(n_dimensions))
    return maximise(score, low, 4.0)[0]
