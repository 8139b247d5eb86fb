"""Windows that overlap: a cell of one hop is present if enough of the windows that cover it are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..symbols import check


def checked(lengths: Any, hop: Any, votes: Any) -> tuple[float, int]:
    """Hop and votes, if every segment length is a whole number of hops and no cell has fewer windows than votes."""
    hop = float(check("hop", hop))
    counts = np.round(lengths / hop)
    bad = (np.abs(counts * hop - lengths) > 1e-9 * lengths) | (counts < 1)
    if bad.any():
        raise InvalidInput(f"segment_length must be a whole number of hops of {hop:g} s, got {lengths[bad][0]:g}")
    votes = 1 if votes is None else votes
    if isinstance(votes, bool) or int(votes) != votes or not 1 <= votes <= counts.min():
        raise InvalidInput(
            f"votes must be a whole number from 1 to {int(counts.min())}, the windows that cover a cell, got {votes!r}"
        )
    return hop, int(votes)


def measure(part: Any, width: float, columns: Any, **how: Any) -> Any:
    raise NotImplementedError
