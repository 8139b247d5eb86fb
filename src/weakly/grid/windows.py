r"""Windows that overlap: a cell of one hop is present if enough of the windows that cover it are.

Windows start every ``hop`` seconds and are K hops long. With the edge rule ``truncate`` every window that meets the
recording is asked, cut at its ends, so each cell is covered by K windows; with ``inside`` only whole windows are, and
cells near the ends are covered by fewer. Accuracy given overlap is that of the cells that meet an event; presence that
spills into other cells shows in precision, recording accuracy and wrong time. An event is found if at least ``votes``
windows notice it.

Under a random phase all is linear in the phase between the phases at which a window begins or stops to notice an event
or a cell's edge passes an event's, so a few points per interval integrate exactly (the mean per recording, which
divides by the width of cells cut at the recording's ends, to about 1e-6).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import TIE, PresenceRule
from ..compiled import kernel, sort_together
from ..events import Timelines
from ..exact import sweep
from ..exact.chance import Chance
from ..exact.columns import Columns
from ..tally import BASE, RAW
from ..theory.windows import checked_votes, windows_per_cell

Array = NDArray[np.float64]
EDGES = ("truncate", "inside")
NEAR = 1e-9
_POINTS, _WEIGHTS = (np.polynomial.legendre.leggauss(4)[0] + 1) / 2, np.polynomial.legendre.leggauss(4)[1] / 2


def checked(lengths: Any, hop: Any, votes: Any) -> tuple[float, int]:
    """Hop and votes, if every segment length is a whole number of hops and no cell has fewer windows than votes."""
    fewest = min(windows_per_cell(segment_length=width, hop=hop) for width in lengths)
    return float(hop), checked_votes(1 if votes is None else votes, windows=fewest)


def measure(
    timelines: Timelines,
    segment_length: float,
    columns: Columns,
    *,
    hop: float,
    votes: int,
    phase: float | None,
    edge: str,
) -> tuple[Array, Array]:
    """The measures of every recording (R, columns, RAW) and (R, BASE), at one phase or over a random one (None)."""
    w, n = float(segment_length), len(timelines)
    k = round(w / hop)
    raw, base = np.zeros((n, len(columns), len(RAW))), np.zeros((n, len(BASE)))
    d = timelines.bounds[:, 1] - timelines.bounds[:, 0]
    where, mode = (timelines.bounds, timelines.starts, timelines.lengths), EDGES.index(edge)
    for c, parts in enumerate(_mixtures(columns, d, w)):
        base[:] = 0.0
        for weight, need, low, high in parts:
            start = -1.0 if phase is None else phase % hop
            how = (k, hop, mode, *_tables(k, votes, low, high), low, high)
            _windows(*where, need, start, weight, how, raw[:, c], base)
    if phase is None:  # queries are counted on the grid from 0; the best labels' time bends more often than the rest
        zero = np.zeros_like(base)
        how = (k, hop, mode, *_tables(k, votes, 0.0, 1.0), 0.0, 1.0)
        _windows(*where, np.full(len(d), np.inf), 0.0, 1.0, how, np.zeros((n, len(RAW))), zero)
        base[:, 7:9] = zero[:, 7:9]
        rows, first = sweep.pieces(*where, hop, sweep.TRUNCATE)
        best = np.zeros_like(base)
        sweep.totals(rows, first, hop, best)
        base[:, 10] = best[:, 10]
    return raw, base


def _mixtures(columns: Columns, d: Array, w: float) -> list[list[tuple[float, Array, float, float]]]:
    """Per column, weighted deterministic rules: (weight, required overlaps, chance of present if unmet and if met)."""

    def share(criterion: float) -> Array:
        return PresenceRule.fraction(criterion).required_overlap(event_length=d, segment_length=w)

    if columns.criteria is not None:
        return [[(1.0, share(criterion), 0.0, 1.0)] for criterion in columns.criteria]
    found = [[(1.0, rule.required_overlap(event_length=d, segment_length=w), 0.0, 1.0)] for rule in columns.rules]
    for annotator in columns.annotators:
        chance = Chance.of(annotator)
        criteria, weights = chance.criteria(64)
        found.append([(float(p), share(g), chance.low, chance.high) for g, p in zip(criteria, weights)])
    return found


@lru_cache(maxsize=256)
def _tables(k: int, votes: int, low: float, high: float) -> tuple[Array, Array]:
    """P(at least ``votes`` present) for cells covered by i windows of which j meet the criterion, and for j windows
    that notice an event (64 k and more count as 64 k)."""
    from scipy.stats import binom

    table = np.zeros((k + 1, k + 1))
    for i in range(k + 1):
        for j in range(i + 1):
            met, unmet = binom.pmf(np.arange(j + 1), j, high), binom.pmf(np.arange(i - j + 1), i - j, low)
            table[i, j] = np.convolve(met, unmet)[votes:].sum()
    return table, np.asarray(binom.sf(votes - 1, np.arange(64 * k + 1), high), dtype=np.float64)


@kernel
def _phases(a: Any, b: Any, need: Any, length: float, hop: float, w: float) -> Any:
    """The phases in (0, hop) at which something changes, sorted, with both ends."""
    out = np.empty(4 * a.shape[0] + 3)
    g = 0
    for i in range(a.shape[0]):
        for x in (a[i], b[i], a[i] - w + need[i], b[i] - need[i]):
            if np.isfinite(x):
                out[g] = x - np.floor(x / hop) * hop
                g += 1
    out[g] = length - np.floor(length / hop) * hop
    out[g + 1], out[g + 2] = 0.0, hop
    sort_together(out[: g + 3], np.zeros(g + 3))
    return out[: g + 3]


@kernel
def _windows(
    bounds: Any, starts: Any, lengths: Any, need: Any, phase: float, weight: float, how: Any, raw: Any, base: Any
) -> None:
    """Add every recording at one phase, or over all phases where it is negative."""
    k, hop = how[0], how[1]
    w = k * hop
    for r in range(lengths.shape[0]):
        a, b = bounds[starts[r] : starts[r + 1], 0], bounds[starts[r] : starts[r + 1], 1]
        x0 = need[starts[r] : starts[r + 1]]
        if phase >= 0.0:
            _at(r, a, b, x0, lengths[r], phase, weight, how, raw, base)
            continue
        cuts = _phases(a, b, x0, lengths[r], hop, w)
        for i in range(cuts.shape[0] - 1):
            step = cuts[i + 1] - cuts[i]
            if step > 1e-12 * hop:
                for q in range(4):
                    at = cuts[i] + _POINTS[q] * step
                    share = weight * step / hop * _WEIGHTS[q]
                    _at(r, a, b, x0, lengths[r], at, share, how, raw, base)


@kernel
def _at(
    r: int, a: Any, b: Any, need: Any, length: float, phase: float, weight: float, how: Any, raw: Any, base: Any
) -> None:
    """Add one recording at one phase, with a weight. Window and cell j start at ``start + j hop``."""
    k, hop, mode, table, noticed, low, high = how
    w = k * hop
    start = phase if phase < NEAR * hop or phase > hop * (1 - NEAR) else phase - hop
    start = 0.0 if abs(start) < NEAR * hop or phase > hop * (1 - NEAR) else start
    cells = max(1, int(np.ceil((length - start) / hop - NEAR)))
    shift = k - 1  # window j is kept at j + shift, cell i is covered by windows i - k + 1 to i
    asked = np.zeros(cells + shift)
    met = np.zeros(cells + shift + 1)
    n_windows, heard = 0, 0.0
    for j in range(-shift, cells):
        left = start + j * hop
        if mode == 0 or (left >= -NEAR * w and left + w <= length + NEAR * w):
            asked[j + shift] = 1.0
            n_windows += 1
            heard += min(left + w, length) - max(left, 0.0)
    cover, event_time, found = np.zeros(cells), 0.0, 0.0
    for e in range(a.shape[0]):
        d = b[e] - a[e]
        event_time += d
        first = min(int(np.floor((a[e] - start) / hop + NEAR)), cells - 1)
        last = max(first, min(int(np.ceil((b[e] - start) / hop - NEAR)) - 1, cells - 1))
        for i in range(first, last + 1):
            left = start + i * hop
            cover[i] += d if first == last else min(b[e], left + hop) - max(a[e], left)
        if not np.isfinite(need[e]):
            continue
        count, least = 0, max(need[e] * (1 - TIE), NEAR * hop if need[e] <= NEAR * hop else 0.0)
        low_j = max(-shift, int(np.floor((a[e] - w + need[e] - start) / hop)) - 1)
        high_j = min(cells - 1, int(np.ceil((b[e] - need[e] - start) / hop)) + 1)
        while low_j <= high_j and start + low_j * hop + w - a[e] < least:
            low_j += 1
        while high_j >= low_j and b[e] - (start + high_j * hop) < least:
            high_j -= 1
        for j in range(low_j, high_j + 1):
            if asked[j + shift] > 0.0:
                met[j + shift] = 1.0
                count += 1
        found += noticed[min(count, noticed.shape[0] - 1)]
    n_asked, n_met, present = 0, 0, 0.0
    for j in range(shift):
        n_asked += int(asked[j])
        n_met += int(met[j])
    tp, fp, elsewhere, overlap, covered, n_overlap, fit, bound = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(cells):
        n_asked += int(asked[i + shift])
        n_met += int(met[i + shift])
        left = start + i * hop
        width = min(left + hop, length) - max(left, 0.0)
        p = table[n_asked, n_met]
        if cover[i] > 0.0:
            tp += p * cover[i]
            fp += p * (width - cover[i])
            overlap += width
            covered += cover[i]
            n_overlap += 1.0
            fit += p * cover[i] / width + (1 - p) * (1 - cover[i] / width)
            bound += max(cover[i], width - cover[i])
        else:
            elsewhere += p * width
        n_asked -= int(asked[i])
        n_met -= int(met[i])
    for j in range(cells + shift):
        present += asked[j] * (high if met[j] > 0.0 else low)
    raw[r, 0] += weight * tp
    raw[r, 1] += weight * fp
    raw[r, 2] += weight * elsewhere
    raw[r, 3] += weight * present
    raw[r, 4] += weight * found
    raw[r, 5] += weight * (fit / n_overlap if n_overlap > 0 else 0.0)
    raw[r, 6] += weight * fit
    base[r, 0] += weight
    base[r, 1] += weight * length
    base[r, 2] += weight * event_time
    base[r, 3] += weight * a.shape[0]
    base[r, 4] += weight * overlap
    base[r, 5] += weight * covered
    base[r, 6] += weight * n_overlap
    base[r, 7] += weight * n_windows
    base[r, 8] += weight * heard
    base[r, 9] += weight * (1.0 if n_overlap > 0 else 0.0)
    base[r, 10] += weight * bound
