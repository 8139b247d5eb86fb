"""Events -> the accuracy of one concrete grid of segments, every criterion at once.

Segment k is ``(phase + k d_q, phase + (k + 1) d_q)``, cut at the recording's ends. A rule other than the paper's is
judged as if silence filled a cut segment up to its full length, as tools do that pad the last clip. An overlap shorter
than 1e-9 of a segment is none. The cost per segment length grows with the number of events, not with the number of
segments: segments inside a long event are counted in closed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..events import Timelines
from ..exact.chance import Chance
from ..exact.columns import Columns, tied
from ..tally import BASE, RAW
from . import kernels

Array = NDArray[np.float64]
EDGES = ("truncate", "inside", "infinite")


def measure(
    timelines: Timelines, segment_length: float, columns: Columns, *, phase: float = 0.0, edge: str = "truncate"
) -> tuple[Array, Array]:
    """The measures of every recording (R, columns, RAW) and (R, BASE) on the grid that starts at ``phase``.

    ``edge``: ``truncate`` cuts the first and last segment at the recording's ends, ``inside`` leaves cut segments out,
    ``infinite`` counts them at full length.
    """
    n, w, mode = len(timelines), float(segment_length), EDGES.index(edge)
    start = phase % w
    start = 0.0 if min(start, w - start) <= 1e-9 * w else start - w
    raw, base = np.empty((n, len(columns), len(RAW))), np.empty((n, len(BASE)))
    where: tuple[Any, ...] = (timelines.bounds, timelines.starts, timelines.lengths, w, start, mode)
    if columns.criteria is not None:
        limits, table, order = tied(columns.criteria)
        kernels.criteria(*where, limits, table, raw, base)
        return (raw if (np.diff(order) > 0).all() else raw[:, np.argsort(order)]), base
    d = timelines.bounds[:, 1] - timelines.bounds[:, 0]
    for c, rule in enumerate(columns.rules):
        need = rule.required_overlap(event_length=d, segment_length=w)
        _expected(raw[:, c], base, where, need, Chance.certain())
    nobody = np.full(len(d), -1.0)
    for c, annotator in enumerate(columns.annotators):
        _expected(raw[:, c], base, where, nobody, Chance.of(annotator))
    return raw, base


def _expected(raw: Array, base: Array, where: tuple[Any, ...], need: Array, chance: Chance) -> None:
    """Fill one column: what each segment and each event are expected to contribute."""
    groups, events = kernels.collect(*where, need, base)
    rec = groups[:, 0].astype(np.int64)
    count, cover, width = groups[:, 1], groups[:, 3], groups[:, 4]
    p, share = chance.probability(groups[:, 2]), cover / width

    def per_recording(values: Array) -> Array:
        return np.asarray(np.bincount(rec, weights=count * values, minlength=len(base)), dtype=np.float64)

    tp = per_recording(p * cover)
    raw[:, 0] = tp
    raw[:, 1] = per_recording(p * width) - tp
    raw[:, 2] = chance.low * (base[:, 8] - base[:, 4])
    raw[:, 3] = per_recording(p) + chance.low * (base[:, 7] - base[:, 6])
    recording = np.repeat(np.arange(len(base)), np.diff(where[1]))
    raw[:, 4] = np.bincount(recording, weights=chance.noticed(events), minlength=len(base))
    raw[:, 6] = per_recording(p * share + (1 - p) * (1 - share))
    raw[:, 5] = np.divide(raw[:, 6], base[:, 6], out=np.zeros(len(base)), where=base[:, 6] > 0)
