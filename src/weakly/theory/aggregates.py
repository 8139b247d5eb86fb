r"""What counts show: the share of the segments that meet an event which are labelled present.

Its inverse, the criterion from a share, is :func:`weakly.auditing.criterion_from_share`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
