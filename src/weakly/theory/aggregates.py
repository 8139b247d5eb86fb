r"""The presence criterion from a share: how many of the segments that meet an event were labelled present."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..lengths import Lengths
from ..symbols import check
from .core import Who, expected, out


def present_share(*, event_length: Any, segment_length: Any, presence_criterion: Any) -> Any:
    r"""Share of the segments that meet an event which are labelled present.

    .. math:: \frac{E[(d_e + d_q - 2\gamma d_e)\, 1\{\gamma d_e \le d_q\}]}{E[d_e + d_q]}

    Examples
    --------
    >>> present_share(event_length=1, segment_length=1, presence_criterion=0.25)
    0.75
    """
    law = Lengths.of(event_length)
    q = np.asarray(check("segment_length", segment_length), dtype=np.float64)
    found = expected(law, q, Who.of(presence_criterion, None, None))
    return out(found.present / (found.event + found.segment))


def criterion_from_present_share(share: Any, *, event_length: Any, segment_length: Any) -> float:
    r"""The presence criterion at which this share of the segments that meet an event is labelled present.

    .. math:: \gamma = (1 - \text{share})\frac{\mu + d_q}{2\mu} \text{ if } d_q \ge \gamma \max d_e

    and otherwise the root of :func:`present_share`, which falls as the criterion rises. A share that only a criterion
    outside (0, 1] could give is an InvalidInput.

    Examples
    --------
    >>> criterion_from_present_share(0.75, event_length=1, segment_length=1)
    0.25
    """
    wanted = float(check("event_fraction", share, called="share"))
    law, q = Lengths.of(event_length), float(check("segment_length", segment_length))
    simple = (1 - wanted) * (law.mean + q) / (2 * law.mean)
    if 0 < simple <= 1 and simple * law.longest <= q * (1 + 1e-9):
        return simple

    def given(g: float) -> float:
        return float(present_share(event_length=law, segment_length=q, presence_criterion=g))

    least, most = given(1.0), given(1e-9)
    if not least <= wanted <= most or simple <= 0:
        raise InvalidInput(f"share must be in [{least:.4g}, 1) for these lengths, got {wanted:g}")
    low, high = 1e-9, 1.0
    while high - low > 1e-15 + 4e-16 * high:  # bisection: a sample's share falls in jumps
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if given(middle) > wanted else (low, middle)
    return high
