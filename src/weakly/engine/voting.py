r"""Events -> the accuracy of overlapping windows with votes, at one phase or over a random one.

Which windows there are and when a cell is present says :mod:`~weakly.model.intervals`. Accuracy given overlap is that
of the cells that meet an event; presence that spills into other cells shows in precision, recording accuracy and wrong
time. An event is found if as many windows that satisfy the rule on it are answered present as a cell under them needs.

Under a random phase all is linear in the phase between the phases at which a window begins or stops to notice an event
or a cell's edge passes an event's, so a few points per interval integrate exactly (the mean per recording, which
divides by the width of cells cut at the recording's ends, and laws of criteria to about 1e-6).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..base.compiled import count_up_to, kernel, sort_together
from ..model import detection
from ..model.annotator import TIE, binomial
from ..model.answer_model import AnswerModel, AnswerModels
from ..model.intervals import NEAR, Edge, EventArrays, Floats, Ints, Placement, first_start, votes_needed, window_counts
from . import sweep
from . import tally as col

INSIDE = int(Edge.INSIDE)
_NODES = tuple(np.polynomial.legendre.leggauss(n) for n in (4, 8))  # of known criteria, and of laws


def measure(timelines: EventArrays, segment_length: float, who: AnswerModels, how: Placement) -> tuple[Floats, Floats]:
    """The measures of every recording (R, columns, SCORES) and (R, EXPOSURE)."""
    assert how.hop is not None
    assert how.votes is not None
    w, n, hop = float(segment_length), len(timelines), how.hop
    each, base = np.zeros((len(who), n, len(col.SCORES))), np.zeros((n, len(col.EXPOSURE)))
    d = timelines.bounds[:, 1] - timelines.bounds[:, 0]
    start = np.inf if how.phase is None else first_start(how.phase, hop)
    grid = (round(w / hop), hop, int(how.edge), how.votes, start)
    where = (np.ascontiguousarray(timelines.bounds), timelines.starts, timelines.lengths)
    for c, model in enumerate(who):
        base[:] = 0.0
        need, answers, law = _answers(model, d, w, grid)
        points, weights = _NODES[len(law[0]) > 0]
        nodes = ((1 + points) / 2, weights / 2)
        _measure(where, need, grid, answers, law, nodes, each[c], base)
    raw = np.ascontiguousarray(each.transpose(1, 0, 2))
    counted = window_counts(timelines.lengths, segment_length=w, hop=hop, phase=how.phase, edge=how.edge.name.lower())
    base[:, col.N_SEGMENTS], base[:, col.LISTENED] = counted
    if how.phase is None:  # the best labels' time bends more often than the rest
        best, none = np.zeros_like(base), (np.empty(0), np.zeros(1025, np.int64), np.empty(0))
        sweep.sweep(*where, hop, int(Edge.TRUNCATE), none, raw[:, :0], best, np.empty((0, 8)))
        base[:, col.BOUND_TIME] = best[:, col.BOUND_TIME]
    return raw, base


def _answers(who: AnswerModel, d: Floats, w: float, grid: Any) -> tuple[Floats, Any, Any]:
    """What the kernel reads of an observer: required overlaps; (votes needed, chances of a present cell, chance of a
    present window where the rule is met and where not); and, empty unless criteria have a law, its polynomials."""
    if who.rule is not None or who.single is not None:
        answers = (*_vote_tables(grid[0], grid[3], who.low, who.high), who.low, who.high)
        return who.required_overlap(d, w), answers, (np.empty(0), np.empty((0, 0)), np.empty(0))
    assert who.annotator is not None
    panels = who.annotator.panels
    law = (panels.edges, panels.table(who.annotator.criterion_cdf), who.annotator.label_chances)
    return np.zeros(len(d)), (*_vote_tables(grid[0], grid[3], 0.0, 1.0), 0.0, 1.0), law  # it needs the votes alone


@lru_cache(maxsize=256)
def _vote_tables(k: int, votes: int, low: float, high: float) -> tuple[Ints, Floats, Floats]:
    """Votes needed by the windows over a cell; P(present) for i windows of which j are met; tails of who notices."""
    needed = votes_needed(np.arange(k + 1), votes=votes, windows=k)
    if (low, high) == (0.0, 1.0):  # each window that meets the criterion is present, and no other
        met = np.arange(k + 1.0)
        return needed, (met >= needed[:, None]).astype(float), (met >= met[:, None]).astype(float)
    from scipy.stats import binom

    table, (yes, no) = np.zeros((k + 1, k + 1)), ([binomial(j, p) for j in range(k + 1)] for p in (high, low))
    # of i windows over the cell j meet the criterion: all i at once, from the chances that so many others are present
    others = np.array([np.append(np.cumsum(pmf[::-1])[::-1], np.zeros(k + 1 - m)) for m, pmf in enumerate(no)])
    for j in range(k + 1):
        left = np.maximum(0, needed[j:, None] - np.arange(j + 1))
        table[j:, j] = (yes[j] * others[np.arange(k + 1 - j)[:, None], left]).sum(axis=1)
    tails = np.ones((votes + 1, 64 * k + 1))  # of windows that notice an event; no cell needs other numbers of votes
    for votes in np.unique(needed):
        most = int((votes + 45 + np.sqrt(2025 + 90 * votes)) / max(high, 1e-9))  # by Chernoff's bound, 1 from here on
        few = np.arange(min(most, 64 * k) + 1)
        tails[votes, : len(few)] = binom.sf(votes - 1, few, high)
    return needed, table, tails


@kernel
def _measure(where: Any, need: Any, grid: Any, answers: Any, law: Any, nodes: Any, raw: Any, base: Any) -> None:
    """Add every recording at the start of the grid, or over all phases where that is infinite."""
    (bounds, starts, lengths), (k, hop, _, _, start) = where, grid
    longest = 0.0
    for length in lengths:
        longest = max(longest, length)
    most = 2 + int(np.ceil(longest / hop))
    room = (np.empty(most), np.empty(most), np.empty(most), np.empty(k), np.empty(k + 1))
    room[4][:] = -1.0
    for r in range(lengths.shape[0]):
        events, x0 = bounds[starts[r] : starts[r + 1]], need[starts[r] : starts[r + 1]]
        line = (events, x0, lengths[r])
        if np.isfinite(start):
            _at(line, start, 1.0, grid, answers, law, room, raw[r], base[r])
            continue
        cuts = _phases(events, x0, lengths[r], hop, k * hop, law[0].shape[0] > 0)
        for i in range(cuts.shape[0] - 1):
            step = cuts[i + 1] - cuts[i]
            if step > 1e-12 * hop:
                for q in range(nodes[0].shape[0]):
                    at, share = cuts[i] + nodes[0][q] * step, step / hop * nodes[1][q]
                    _at(line, at - hop, share, grid, answers, law, room, raw[r], base[r])


@kernel
def _phases(events: Any, need: Any, length: float, hop: float, w: float, smooth: bool) -> Any:
    """The phases in (0, hop) at which something changes, sorted, with both ends."""
    out = np.empty(6 * events.shape[0] + 3)
    g = 0
    for i in range(events.shape[0]):
        a, b = events[i, 0], events[i, 1]
        middle = (a + b - w) / 2 if smooth else np.inf  # two windows hold equal parts of the event
        for x in (a, b, a - w + need[i], b - need[i], middle, middle + hop / 2):
            if np.isfinite(x):
                out[g] = x - np.floor(x / hop) * hop
                g += 1
    out[g], out[g + 1], out[g + 2] = length - np.floor(length / hop) * hop, 0.0, hop
    sort_together(out[: g + 3], np.empty(g + 3))
    return out[: g + 3]


@kernel
def _asked(length: float, start: float, grid: Any) -> tuple[int, int, int]:
    """The number of cells, and the first and last window that is asked; window and cell j start at start + j hop."""
    k, hop, mode, _, _ = grid
    w = k * hop
    cells = max(1, int(np.ceil((length - start) / hop - NEAR)))
    first, last = 0, max(0, int(np.ceil((length - w - start) / hop - NEAR)))
    if mode == INSIDE and start < -NEAR * w:
        first = 1
    if mode == INSIDE and start + last * hop + w > length + NEAR * w:
        last -= 1
    return cells, first, last


@kernel
def _noticing(a: float, b: float, need: float, start: float, first: int, last: int, grid: Any) -> tuple[int, int]:
    """The first and last asked window that reaches the required overlap with (a, b); last < first if none does."""
    k, hop = grid[0], grid[1]
    w = k * hop
    least = max(need * (1 - TIE), NEAR * hop if need <= NEAR * hop else 0.0)
    low = max(first, int(np.floor((a - w + need - start) / hop)) - 1)
    high = min(last, int(np.ceil((b - need - start) / hop)) + 1)
    while low <= high and start + low * hop + w - a < least:
        low += 1
    while high >= low and b - (start + high * hop) < least:
        high -= 1
    return low, high


@kernel
def _least_votes(low: int, high: int, cells: int, first: int, last: int, k: int, needed: Any) -> int:
    """The fewest present windows among low to high that make some cell present; 0 if they are too few for any."""
    if low >= first + k - 1 and high <= last - k + 1:  # away from the ends all cells need the same
        return needed[k] if min(k, high - low + 1) >= needed[k] else 0
    least = 0
    for i in range(low, min(cells, high + k)):
        covering = min(last, i) - max(first, i - k + 1) + 1
        mine = min(high, i) - max(low, i - k + 1) + 1
        if mine >= needed[covering] and (least == 0 or needed[covering] < least):
            least = needed[covering]
    return least


@kernel
def _found_by_law(
    a: float, b: float, low: int, high: int, start: float, asked: Any, grid: Any, needed: Any, law: Any, best: Any
) -> float:
    """The chance that the event is found by windows low to high, if criteria have a law; ``best`` are the largest event
    fractions of all windows."""
    k, hop, (cells, first, last) = grid[0], grid[1], asked
    n = max(0, high - low + 1)
    own, most, count, least = np.empty(n), np.empty(n), np.empty(n), np.zeros(n, np.int64)
    count[:] = 1.0
    for j in range(n):
        left = start + (low + j) * hop
        own[j] = detection.value((min(b, left + k * hop) - max(a, left)) / (b - a), law[0], law[1])
        most[j] = max(own[j], detection.value(best[low + j], law[0], law[1]))
    for j in range(n):  # the windows in which the event's fraction is at least as large are neighbours
        j0, j1 = 0, n - 1
        while own[j0] < own[j]:
            j0 += 1
        while own[j1] < own[j]:
            j1 -= 1
        least[j] = _least_votes(low + j0, low + j1, cells, first, last, k, needed)
    return float(detection.found(own, most, count, law[2], least))


@kernel
def _at(
    line: Any, start: float, weight: float, grid: Any, answers: Any, law: Any, room: Any, raw: Any, base: Any
) -> None:
    """Add one recording, (events, required overlaps, length), on the grid that begins at ``start`` in (-hop, 0], with a
    weight."""
    (events, need, length), (k, hop, _, _, _) = line, grid
    needed, table, tails, low, high = answers
    w, smooth = k * hop, law[0].shape[0] > 0
    cells, first, last = _asked(length, start, grid)
    met, best, cover, some, silent = room  # the last: chances of cells with so many windows, where no event is
    event_time, n_found = 0.0, 0.0
    near, far, top = 0, cells - 1, last  # the cells and the last window that can be present, or meet an event
    if low == 0.0 and not smooth:
        near, far, top = cells, -1, -1
    for i in range(max(cells, last + 1)):
        met[i], best[i], cover[i] = 0.0, 0.0, 0.0
    for e in range(events.shape[0]):
        a, b = events[e, 0], events[e, 1]
        d = b - a
        event_time += d
        c0 = min(int(np.floor((a - start) / hop + NEAR)), cells - 1)
        c1 = max(c0, min(int(np.ceil((b - start) / hop - NEAR)) - 1, cells - 1))
        near, far = min(near, c0), max(far, c1)
        for i in range(c0, c1 + 1):
            left = start + i * hop
            cover[i] += d if c0 == c1 else min(b, left + hop) - max(a, left)
        if np.isfinite(need[e]):
            j0, j1 = _noticing(a, b, need[e], start, first, last, grid)
            if j1 >= j0:
                near, far, top = min(near, j0), max(far, min(j1 + k, cells) - 1), max(top, j1)
            for j in range(j0, j1 + 1):
                met[j] = 1.0
                if smooth:
                    left = start + j * hop
                    best[j] = max(best[j], min(1.0, (min(b, left + w) - max(a, left)) / d))
            if not smooth and j1 >= j0:
                votes = _least_votes(j0, j1, cells, first, last, k, needed)
                n_found += tails[votes, min(j1 - j0 + 1, tails.shape[1] - 1)] if votes > 0 else 0.0
    if smooth:
        for e in range(events.shape[0]):
            a, b = events[e, 0], events[e, 1]
            j0, j1 = _noticing(a, b, need[e], start, first, last, grid)
            n_found += _found_by_law(a, b, j0, j1, start, (cells, first, last), grid, needed, law, best)
    present, quiet = 0.0, low
    if smooth:
        for j in range(last + 1):  # from here on the law's values
            best[j] = detection.value(best[j], law[0], law[1])
        some[0] = detection.value(0.0, law[0], law[1])
        quiet = detection.cell(some[:1], law[2], 1)
    for j in range(max(first, near), top + 1):
        present += quiet if met[j] == 0.0 else detection.cell(best[j : j + 1], law[2], 1) if smooth else high
    tp, fp, elsewhere, overlap, covered, n_overlap, fit, bound = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    n_met = 0
    gone = come = max(first, near - k + 1)  # `some` has the windows over a cell in order, from `gone` to before `come`
    for i in range(near, far + 1):
        left = start + i * hop
        width = min(left + hop, length) - max(left, 0.0)
        j0, j1 = max(first, i - k + 1), min(last, i)
        n = max(0, j1 - j0 + 1)
        n_met += int(met[i])
        p = table[n, n_met]
        if smooth:
            while gone < min(j0, come):
                for j in range(count_up_to(some[: come - gone], best[gone]), come - gone):
                    some[j - 1] = some[j]
                gone += 1
            while come <= j1:
                j = come - gone
                while j > 0 and some[j - 1] > best[come]:
                    some[j] = some[j - 1]
                    j -= 1
                some[j] = best[come]
                come += 1
            p = silent[n]
            if n_met > 0 or p < 0.0:
                p = detection.cell(some[:n], law[2], needed[n])
                if n_met == 0:
                    silent[n] = p
        if i - k + 1 >= 0:
            n_met -= int(met[i - k + 1])
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
    mean = fit / n_overlap if n_overlap > 0 else 0.0
    for column, value in enumerate((tp, fp, elsewhere, present, n_found, mean, fit)):  # in the order of SCORES
        raw[column] += weight * value
    count = float(events.shape[0])
    for column, value in enumerate((1.0, length, event_time, count, overlap, covered, n_overlap)):  # of EXPOSURE
        base[column] += weight * value
    base[col.N_MEETING] += weight * (1.0 if n_overlap > 0 else 0.0)
    base[col.BOUND_TIME] += weight * bound
