r"""Boundary search on known events: what it asks, hears and labels, for every stretch of every recording at once.

The steps are those of :class:`~weakly.methods.boundary.Boundary`: fixed segments first, then in every run of present
ones, with its absent neighbours, three searches by halving (the shortest prefix, the shortest suffix and the narrowest
window that are present). Where answers hold noise, the method itself is run on some of the recordings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.compiled import kernel
from ..engine.tally import BASE, RAW
from ..model.annotator import TIE, Annotator, PresenceRule
from ..model.event_arrays import EventArrays
from ..model.intervals import covered

Floats = NDArray[np.float64]
R = {name: k for k, name in enumerate(RAW)}
B = {name: k for k, name in enumerate(BASE)}
_NEAR = 1e-9
_PREFIX, _SUFFIX, _WINDOW = range(3)


def searched(line: EventArrays, width: float, tolerance: float, rule: PresenceRule) -> tuple[Floats, Floats]:
    """The measures of every recording (R, RAW) and (R, BASE); n_segments counts all queries, listened all seconds."""
    raw, base = np.zeros((len(line), len(RAW))), np.zeros((len(line), len(BASE)))
    counts = np.maximum(1, np.ceil(line.lengths / width * (1 - _NEAR))).astype(np.int64)
    onset, offset, owner, asked, heard = _search(line, width, tolerance, rule, counts)
    n = len(line)
    base[:, B["n_segments"]] = counts + np.bincount(owner, weights=asked, minlength=n)
    base[:, B["listened"]] = line.lengths + np.bincount(owner, weights=heard, minlength=n)
    _score(line, onset, offset, owner, tolerance, rule, raw, base)
    return raw, base


def _pairs(first: Any, count: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every (row, value) with the values first, first + 1, ... of each row, so many of them."""
    rows = np.repeat(np.arange(len(first)), count)
    return rows, np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)


def _stretches(line: EventArrays, width: float, rule: PresenceRule, counts: Any) -> tuple[Floats, Floats, Any]:
    """Runs of present segments with their neighbours: starts, ends, recordings."""
    a, b, owner = line.bounds[:, 0], line.bounds[:, 1], line.owner
    first = np.minimum((a / width + _NEAR).astype(np.int64), counts[owner] - 1)
    last = np.clip(np.ceil(b / width - _NEAR).astype(np.int64) - 1, first, counts[owner] - 1)
    event, segment = _pairs(first, last - first + 1)
    total = line.lengths[owner[event]]
    bounds = np.column_stack((segment * width, np.minimum((segment + 1) * width, total)))
    met = rule.is_present(event=line.bounds[event], segment=bounds)
    base = np.concatenate(([0], np.cumsum(counts + 2)))  # a gap of two keeps recordings apart
    code = base[owner[event[met]]] + segment[met]  # in order, as events are
    code = code[np.append(np.ones(min(len(code), 1), dtype=bool), code[1:] != code[:-1])]
    breaks = np.flatnonzero(np.diff(code) > 1)
    begins = code[np.concatenate(([0], breaks + 1))[: len(code)]]
    ends = code[np.append(breaks, len(code) - 1)[: len(code)]]
    which = np.searchsorted(base, begins, side="right") - 1
    low = np.maximum(begins - base[which] - 1, 0) * width
    high = np.minimum((ends - base[which] + 2) * width, line.lengths[which])
    return low, high, which


def _search(line: EventArrays, width: float, tolerance: float, rule: PresenceRule, counts: Any) -> Any:
    """Onset, offset, recording, queries and seconds heard of every stretch."""
    low, high, owner = _stretches(line, width, rule, counts)
    if len(low) == 0:
        return low, high, owner, low, low
    place = 2.0 * float(line.lengths.max()) * np.arange(len(line))  # recordings on one axis, far apart
    a, b = (line.bounds + place[line.owner][:, None]).T
    first = np.searchsorted(b, low + place[owner], side="right")
    last = np.searchsorted(a, high + place[owner], side="left")
    forms = np.array([(f.event_share, f.segment_share, f.seconds, f.margin) for f in rule.forms], dtype=np.float64)
    asked, heard = np.zeros(len(low)), np.zeros(len(low))
    where = (line.bounds, first, last, forms, low, high, low, tolerance, asked, heard)
    p0, p1 = _find(_PREFIX, low, high, *where)
    s0, s1 = _find(_SUFFIX, low, high, *where)
    left, right = (p0 + p1) / 2, low + high - (s0 + s1) / 2
    middle = np.clip((left + right) / 2, low, high)
    room = np.maximum(tolerance, 2 * np.minimum(middle - low, high - middle))
    most = np.minimum(p0 + 0.995 * (p1 - p0), s0 + 0.995 * (s1 - s0)) - low
    most = np.maximum(tolerance, np.minimum(room, most))
    w0, w1 = _find(_WINDOW, np.zeros(len(low)), most, *where[:6], middle, *where[7:])
    w, least = (w0 + w1) / 2, left - right
    hidden = least + (p1 - p0 + s1 - s0) / 2 >= w  # the middle may be off: a criterion near 1 hides the width
    w = np.where(hidden, least + np.maximum(w - least, 0.0) / 2, w)
    onset = left - w
    return onset, np.maximum(right + w, onset + 1e-9), owner, asked, heard


@kernel
def _find(
    kind: int, below: Any, above: Any, bounds: Any, first: Any, last: Any, forms: Any, low: Any, high: Any,
    centre: Any, tolerance: float, asked: Any, heard: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Between which two lengths the prefix, suffix or centred window of every stretch begins to be present."""
    below, above = below.copy(), above.copy()
    for i in range(below.shape[0]):
        going = kind != _WINDOW or above[i] > tolerance
        while going:
            x = (below[i] + above[i]) / 2
            s, t = low[i], max(x, low[i] + 1e-6)
            if kind == _SUFFIX:
                s, t = min(low[i] + high[i] - x, high[i] - 1e-6), high[i]
            elif kind == _WINDOW:
                s, t = max(low[i], centre[i] - x / 2), max(min(high[i], centre[i] + x / 2), low[i] + 1e-6)
            present = False
            for e in range(first[i], last[i]):
                present = present or _noticed(bounds[e, 0], bounds[e, 1], s, t, forms)
            asked[i] += 1
            heard[i] += t - s
            if present:
                above[i] = x
            else:
                below[i] = x
            going = above[i] - below[i] > tolerance * (1 + _NEAR)
    return below, above


@kernel
def _noticed(a: float, b: float, s: float, t: float, forms: Any) -> bool:
    """:meth:`weakly.PresenceRule.is_present` of one event and one segment."""
    d, q, reach, least = b - a, t - s, min(b - s, t - a), np.inf
    for f in range(forms.shape[0]):
        need = forms[f, 0] * d + forms[f, 1] * q + forms[f, 2]
        if need <= ((d + q) / 2 if forms[f, 3] > 0.0 else min(d, q)) * (1 + TIE):
            least = min(least, need)
    return reach > 0.0 and reach >= least * (1 - TIE)


def _score(
    line: EventArrays, onset: Any, offset: Any, owner: Any, tolerance: float, rule: PresenceRule, raw: Any, base: Any
) -> None:
    """Fill in what labels from onset to offset, cut by the recording and merged, make of the events.

    Near events are, as in every way to label, the finest pieces that meet one: here steps of the tolerance from 0 on.
    """
    start = np.concatenate(([0.0], np.cumsum(line.lengths)))[:-1]  # recordings one after another
    s, t = np.maximum(onset, 0.0) + start[owner], np.minimum(offset, line.lengths[owner]) + start[owner]
    order = np.argsort(s, kind="stable")
    s, t, owner = s[order], t[order], owner[order]
    kept = t > s
    s, t, owner = s[kept], np.maximum.accumulate(t[kept]) if kept.any() else t[kept], owner[kept]
    fresh = np.ones(len(s), dtype=bool)
    fresh[1:] = (s[1:] > t[:-1]) | (owner[1:] != owner[:-1])
    begins = np.flatnonzero(fresh)
    s, owner = s[begins], owner[begins]
    t = t[np.append(begins[1:] - 1, len(t) - 1)] if len(begins) else t
    n, place = len(line), start[line.owner]
    a, b = line.bounds.T
    low = np.minimum(a, np.floor(a / tolerance + _NEAR) * tolerance) + place
    high = np.clip(np.ceil(b / tolerance - _NEAR) * tolerance, b, line.lengths[line.owner]) + place
    low[1:] = np.maximum(low[1:], high[:-1])  # what two events share counts once
    events, near = line.bounds + place[:, None], np.column_stack((low, high))
    right, close = (covered(spans, t) - covered(spans, s) for spans in (events, near))
    for name, part in (("tp", right), ("fp", close - right), ("fp_elsewhere", t - s - close)):
        raw[:, R[name]] = np.bincount(owner, weights=part, minlength=n)
    for name, part in (("overlap_time", high - low), ("cover_time", b - a), ("event_time", b - a)):
        base[:, B[name]] = np.bincount(line.owner, weights=part, minlength=n)
    base[:, B["n_recordings"]], base[:, B["time"]], base[:, B["n_events"]] = 1.0, line.lengths, line.counts
    first = np.searchsorted(t, events[:, 0], side="right")
    event, label = _pairs(first, np.maximum(np.searchsorted(s, events[:, 1], side="left") - first, 0))
    met = rule.is_present(event=events[event], segment=np.column_stack((s, t))[label])
    found = np.bincount(event, weights=met, minlength=len(events)) > 0
    raw[:, R["n_found"]] = np.bincount(line.owner, weights=found, minlength=n)


def simulated(
    line: EventArrays, width: float, tolerance: float, who: Annotator, rule: PresenceRule
) -> tuple[Floats, Floats]:
    """The same where answers hold noise: the method itself, told the rates, asks simulated people; a fixed seed."""
    from .base import Recording
    from .boundary import Boundary
    from .simulated import SimulatedAnnotator, run

    low, *_, high = who.label_chances
    way = Boundary(tolerance=tolerance, segment_length=width, guess_rate=float(low), lapse_rate=float(1 - high))
    raw, base, rng = np.zeros((len(line), len(RAW))), np.zeros((len(line), len(BASE))), np.random.default_rng(0)
    labels = []
    for r, (events, length) in enumerate(line):
        done = run(way, Recording("planned", length, events=events), SimulatedAnnotator(who, rng=rng))
        labels.append(done.labels.segments[done.labels.present == 1])
        base[r, B["n_segments"]], base[r, B["listened"]] = done.n_queries, done.listened
    onset, offset = np.concatenate(labels).T
    _score(line, onset, offset, np.repeat(np.arange(len(line)), list(map(len, labels))), tolerance, rule, raw, base)
    return raw, base
