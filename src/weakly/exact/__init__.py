r"""Events -> expected accuracy over a uniformly random phase of the grid, without a single random number.

For a grid with uniform phase the expected sum of X over segments is :math:`\frac{1}{d_q} \int X(s) ds` over window
starts s, and every X is linear between a few events' ends, so sums replace integrals and the result is exact.

Edge rules: ``truncate`` cuts windows at the recording's ends (they stay and count with the time that is left);
``infinite`` counts them at full length, as the paper's theory does; ``inside`` keeps only whole windows; ``circular``
joins the recording's end to its start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..events import Timelines
from ..tally import BASE, RAW
from . import sweep
from .chance import Chance
from .columns import Columns, tied
from .noticed import noticed, noticed_at, starts_of

Array = NDArray[np.float64]
EDGES = ("infinite", "truncate", "inside", "circular")


def measure(
    timelines: Timelines, segment_length: float, columns: Columns, *, edge: str = "truncate", means: bool = True
) -> tuple[Array, Array]:
    """The expected measures of every recording (R, columns, RAW) and (R, BASE) over a random phase.

    ``means``: also the mean accuracy per recording and per segment, which costs more than all else together.
    """
    n, w, mode = len(timelines), float(segment_length), EDGES.index(edge)
    if mode == sweep.CIRCULAR and (timelines.lengths < w * (1 - 1e-9)).any():
        r = int(np.flatnonzero(timelines.lengths < w)[0])
        raise InvalidInput(
            f"segment_length must be at most the recording's length where edge is 'circular', got {w:g} s "
            f"for recording {r} of {timelines.lengths[r]:g} s"
        )
    raw, base = np.zeros((n, len(columns), len(RAW))), _ground(timelines, w, mode)
    rows, first = sweep.pieces(timelines.bounds, timelines.starts, timelines.lengths, w, mode)
    sweep.totals(rows, first, w, base)
    if columns.criteria is not None:
        limits, table, order = tied(columns.criteria)
        ordered = np.zeros_like(raw)
        gammas = columns.criteria[order]
        sweep.at_criteria(rows, first, w, limits, table, gammas, ordered)
        noticed_at(timelines.bounds, timelines.starts, timelines.lengths, w, mode, gammas, limits, ordered)
        raw[:, order] = ordered
    for c, rule in enumerate(columns.rules):
        spans, at = starts_of(timelines, w, rule, mode)
        sweep.over_intervals(rows, first, w, spans, at, raw[:, c])
        raw[:, c, 4] = noticed(timelines, w, rule, mode, base)
    for c, annotator in enumerate(columns.annotators):
        Chance.of(annotator)
    return raw, base


def _ground(timelines: Timelines, w: float, mode: int) -> Array:
    """What is known of every recording before the sweep; the count of segments is that of a grid from 0."""
    base = np.zeros((len(timelines), len(BASE)))
    length = timelines.bounds[:, 1] - timelines.bounds[:, 0]
    recording = np.repeat(np.arange(len(timelines)), np.diff(timelines.starts))
    base[:, 0], base[:, 1] = 1.0, timelines.lengths
    base[:, 2] = np.bincount(recording, weights=length, minlength=len(timelines))
    base[:, 3] = np.diff(timelines.starts)
    if mode == sweep.INSIDE:
        base[:, 7] = np.floor(timelines.lengths / w + 1e-9)
        base[:, 8] = base[:, 7] * w
    else:
        base[:, 7] = np.maximum(1.0, np.ceil(timelines.lengths / w - 1e-9))
        base[:, 8] = timelines.lengths
    return base
