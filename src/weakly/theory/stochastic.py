r"""Theorem 1 over a law of lengths, and over a sample for every criterion at once.

With :math:`\kappa = 1 + 2\gamma + 2\gamma^2` Theorem 1 reads :math:`f = \kappa - 2\gamma^2 d/q - \kappa q/(d+q)` for
:math:`d \le q/\gamma`, else :math:`q/(d+q)`. The criterion only sets the limit and the factors of three sums over the
lengths up to the limit: of 1, of d and of 1/(d+q). So the lengths are sorted once, and a hundred criteria cost as much
as one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..lengths import Lengths
from ..symbols import check, choice
from .core import Floats, Who, expected, noticeable


def event_weighted(lengths: Lengths, q: Floats, g: Floats) -> Floats:
    """E f over the law, for every segment length and criterion of the broadcast table."""
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
    lengths: Any, *, segment_length: ArrayLike, presence_criterion: ArrayLike, weighting: str = "segment"
) -> Floats:
    r"""The table of accuracies given overlap, one row per segment length and one column per presence criterion.

    The same numbers as :func:`overlap_accuracy` with a law of lengths; the cost does not grow with the number of
    criteria, and the memory is that of two copies of the lengths.

    Parameters
    ----------
    lengths : a law, numbers (a sample) or events.
    segment_length : Q lengths in seconds.
    presence_criterion : C criteria in (0, 1].
    weighting : ``event`` (eq. 13 of the paper) or ``segment`` (E20).

    Notes
    -----
    Theorem 1 and eq. 13 of the paper.

    Examples
    --------
    >>> overlap_accuracy_profile([0.5, 1, 4], segment_length=[0.9, 2], presence_criterion=[0.5]).round(4).tolist()
    [[0.5197], [0.5417]]
    """
    law = Lengths.of(lengths)
    q = np.atleast_1d(np.asarray(check("segment_length", segment_length), dtype=np.float64)).ravel()[:, None]
    g = np.atleast_1d(np.asarray(check("presence_criterion", presence_criterion), dtype=np.float64)).ravel()[None, :]
    if choice("weighting", weighting, ("event", "segment")) == "event":
        return event_weighted(law, q, g)
    found = expected(law, q, Who(criterion=g))
    return np.asarray(1 - found.wrong / (found.event + found.segment), dtype=np.float64)
