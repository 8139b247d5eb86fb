r"""How good labels become: the engine of evaluations on known or drawn recordings, or on one event anywhere; and the
tally of labels that were made.

Segments start at 0 in every recording and the last is cut, as they will be asked. For one event of length d whose start
is uniform in [0, T - d], every sum is linear in the start between a few kinks (where an edge of the event, or an
overlap at which the answer changes, passes an edge of a segment): midpoints between the kinks are exact.
Far from the recording's ends the kinks repeat with the hop: the recording is shortened by whole hops, and what was
taken out is put back with its weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..base.compiled import kernel, sort_together
from ..engine.scoring import measure
from ..engine.tally import EXPOSURE, SCORES, Tally, of_labels
from ..model.annotator import PresenceRule
from ..model.answer_model import AnswerModels
from ..model.intervals import Bools, EventArrays, Floats, Ints, Placement
from ..model.lengths import Lengths, gauss, panel_nodes
from .base import Labels
from .fixed import Placed

R = {name: k for k, name in enumerate(SCORES)}
B = {name: k for k, name in enumerate(EXPOSURE)}
_KEPT = 4  # hops that stay of a recording's middle, besides those that the windows at its ends reach
_FEW = 12  # lengths that stand for all where ways are tried
_MOST = 1000  # lengths that stand for a longer sample
_DRAFT = 4_000  # events on which windows are searched where there are many more


class Sums(NamedTuple):
    """Measures per class (classes, SCORES) and (classes, EXPOSURE), seconds heard, standard error of the mean wrong
    time of a recording, what is to be said of them, and the work: answers, ticks of classes, seconds that are reviewed
    to mark events by hand, and marks."""

    raw: Floats
    base: Floats
    heard: float
    error: float
    note: str = ""
    answers: float = 0.0
    ticks: float = 0.0
    reviewed: float = 0.0
    marks: float = 0.0


@dataclass(frozen=True)
class Measured:
    """The measures of units (recordings, or event lengths) on one design, and how often each unit counts."""

    raw: Floats  # (units, SCORES)
    base: Floats  # (units, EXPOSURE)
    weight: Floats  # (units,)


def _mixed(timelines: EventArrays, design: Placed, criteria: AnswerModels, phase: float = 0.0) -> tuple[Floats, Floats]:
    """The measures of every recording, averaged over the columns of the criteria."""
    length, placement = _placed(design, phase)
    raw, base = measure(timelines, length, criteria, placement)
    return np.einsum("rck,c->rk", raw, criteria.weights), base


def _placed(design: Placed, phase: float = 0.0) -> tuple[float, Placement]:
    placed = design.placement(phase)
    assert placed is not None  # else it is simulated
    return placed


def _silent(lengths: Any) -> EventArrays:
    """Recordings without events."""
    return EventArrays(np.empty((0, 2)), np.zeros(len(lengths) + 1, dtype=np.int64), np.asarray(lengths))


def _hop_worth(design: Placed, criteria: AnswerModels) -> tuple[Floats, Floats]:
    """What one more hop without events adds to the measures of a recording."""
    hop, few = design.step, _KEPT * (1 + design.windows_per_cell)
    if criteria.is_noiseless:  # nobody says present where nothing is
        worth = np.zeros(len(EXPOSURE))
        worth[[B["time"], B["n_segments"], B["listened"]]] = hop, 1.0, _placed(design)[0]
        return np.zeros(len(SCORES)), worth
    raw, base = _mixed(_silent([hop * few, hop * (few + 1.0)]), design, criteria)
    more = np.nan_to_num(raw[1] - raw[0]), base[1] - base[0]
    more[1][B["time"]] = hop
    return more


def _shortened(timelines: EventArrays, hop: float, reach: int) -> tuple[EventArrays, Floats]:
    """The recordings without most of the whole hops between events, and how many were taken out of each."""
    a, b, owner = timelines.bounds[:, 0], timelines.bounds[:, 1], timelines.owner
    first, last = timelines.starts[:-1], timelines.starts[1:] - 1  # every recording here has an event
    before = np.concatenate(([0.0], b[:-1]))
    before[first] = 0.0
    keep = _KEPT * (1 + reach) * hop
    out = np.maximum(0.0, np.floor((a - before - keep) / hop))
    tail = np.maximum(0.0, np.floor((timelines.lengths - b[last] - keep) / hop))
    total = np.cumsum(out)
    gone = total - (total - out)[first][owner]
    bounds = timelines.bounds - (gone * hop)[:, None]
    removed = gone[last] + tail
    return EventArrays(bounds, timelines.starts, timelines.lengths - removed * hop), removed


@dataclass(frozen=True)
class RecordingModel:
    """Recordings whose events are known, a pilot's or drawn ones, one class after another: every way is measured once
    for all classes. Recordings without events of a class count by their lengths."""

    full: EventArrays  # recordings with events, class by class
    silent: EventArrays  # one for each length of recordings without
    weight: Floats  # of both
    has_events: Bools  # (classes, recordings)
    quiet: Floats  # (classes, lengths): how many recordings without events of the class are so long
    lengths: Floats  # of every recording
    labels: tuple[str, ...]
    described: str
    drawn: bool = False

    @classmethod
    def of(
        cls, timelines: Mapping[str, EventArrays], described: str, *, drawn: bool = False, silent: float = 0.0
    ) -> RecordingModel:
        """From the timelines of every class; ``silent`` more recordings, as long as the first, hold no event."""
        every = list(timelines.values())
        some, lengths = np.array([each.counts > 0 for each in every]), every[0].lengths
        widths, kind = np.unique(lengths, return_inverse=True)
        quiet = np.array([np.bincount(kind.ravel()[~there], minlength=len(widths)) for there in some], dtype=float)
        widths, quiet = widths[quiet.any(axis=0)], quiet[:, quiet.any(axis=0)]
        if silent > 0:
            widths, quiet = np.append(widths, lengths[0]), np.append(quiet, [[silent]], axis=1)
        full = EventArrays(
            np.concatenate([each.bounds for each in every]),
            np.concatenate(([0], np.cumsum(np.concatenate([each.counts[there] for each, there in zip(every, some)])))),
            np.concatenate([lengths[there] for there in some]),
        )
        weight = np.concatenate((np.ones(len(full)), quiet.sum(axis=0)))
        return cls(full, _silent(widths), weight, some, quiet, lengths, tuple(timelines), described, drawn)

    @cached_property
    def first(self) -> Ints:
        """Where each class begins among the recordings with events, and the end."""
        return np.concatenate(([0], np.cumsum(self.has_events.sum(axis=1))))

    def only(self, *labels: str) -> RecordingModel:
        """The same recordings for some of the classes."""
        if labels == self.labels:
            return self
        rows = [self.labels.index(label) for label in labels]
        kept = np.concatenate([np.arange(self.first[c], self.first[c + 1]) for c in rows])
        quiet = self.quiet[rows]
        asked = quiet.any(axis=0)
        weight = np.concatenate((self.weight[kept], quiet[:, asked].sum(axis=0)))
        return replace(
            self, full=_some(self.full, kept), silent=_silent(self.silent.lengths[asked]), weight=weight,
            has_events=self.has_events[rows], quiet=quiet[:, asked], labels=labels,
        )  # fmt: skip

    @cached_property
    def _once(self) -> tuple[Floats, Floats]:
        """The lengths of all recordings, as the first class has them, and how often each counts."""
        n, asked = self.first[1], self.quiet[0] > 0
        lengths = np.concatenate((self.full.lengths[:n], self.silent.lengths[asked]))
        return lengths, np.concatenate((self.weight[:n], self.quiet[0][asked]))

    @property
    def count(self) -> float:
        """Recordings."""
        return float(self._once[1].sum())

    @property
    def time(self) -> float:
        """Their seconds."""
        return float((self._once[0] * self._once[1]).sum())

    @property
    def longest(self) -> float:
        """The longest recording."""
        return float(max(self.full.lengths.max(initial=0.0), self.silent.lengths.max(initial=0.0)))

    def measure(self, design: Placed, criteria: AnswerModels, phase: float = 0.0) -> Measured:
        """Fixed segments or windows, from 0 unless told otherwise."""
        parts = []
        if _placed(design)[1].hop is not None and len(self.full):  # the kernel of windows visits every cell
            short, removed = _shortened(self.full, design.step, design.windows_per_cell)
            both = zip(_mixed(short, design, criteria, phase), _hop_worth(design, criteria))
            parts.append(tuple(part + removed[:, None] * more for part, more in both))
        elif len(self.full):
            parts.append(_mixed(self.full, design, criteria, phase))
        if len(self.silent):
            parts.append(_mixed(self.silent, design, criteria, phase))
        raw, base = (np.concatenate(each) for each in zip(*parts))
        return Measured(raw, base, self.weight)

    def per_event(self, design: Placed, criteria: AnswerModels) -> tuple[Measured, Ints]:
        """The same with every event alone in its recording, and where the events of each class begin and end."""
        owner = self.full.owner
        alone = EventArrays(self.full.bounds, np.arange(len(owner) + 1), self.full.lengths[owner])
        return Measured(*_mixed(alone, design, criteria), self.weight[owner]), self.full.starts[self.first]

    def placed(self, width: float, rule: PresenceRule) -> tuple[EventArrays, Ints, Floats, Floats, Any]:
        """Where events lie on segments of this width: timelines, the recording of each, the lengths of all recordings,
        how often each counts, and how many segments far from events were left out of it."""
        if len(self.labels) == 1:
            lengths = np.concatenate((self.full.lengths, self.silent.lengths))
            return self.full, np.arange(len(self.full)), lengths, self.weight, 0.0
        return self.full, np.nonzero(self.has_events)[1], self.lengths, np.ones(len(self.lengths)), 0.0

    def draft(self, events: float) -> RecordingModel:
        """Itself, or, of so many events in all classes, so few that many ways can be tried on them."""
        step = int(events // _DRAFT)
        return self.part(step) if step > 1 else self

    def part(self, step: int) -> RecordingModel:
        """A regular subsample of the recordings with events: enough to find the ways that deserve all of them."""
        ends = list(pairwise(self.first))
        kept = np.concatenate([np.arange(a, b, step) for a, b in ends])
        times = [np.full(-(-(b - a) // step), (b - a) / max(1, -(-(b - a) // step))) for a, b in ends]
        weight = np.concatenate((*times, self.weight[len(self.full) :]))
        there = np.isin(np.arange(len(self.full)), kept)
        has_events = self.has_events.copy()
        has_events[self.has_events] = there
        return replace(self, full=_some(self.full, kept), weight=weight, has_events=has_events)

    def sums(self, part: Measured) -> tuple[Floats, Floats]:
        """Over the recordings of each class."""
        return self.per_class(part.raw), self.per_class(part.base)

    def per_class(self, values: Floats) -> Floats:
        """The sums of something measured over the recordings of each class."""
        n, shape = len(self.full), (-1, *(1,) * (values.ndim - 1))
        full, quiet = self.weight[:n].reshape(shape) * values[:n], values[n:]
        made = []
        for (first, last), times in zip(pairwise(self.first), self.quiet):
            rows = np.concatenate((full[first:last], times.reshape(shape) * quiet))
            made.append(np.cumsum(rows, axis=0)[-1])  # one after the other, where sum() would add in pairs
        return np.array(made)

    def in_recordings(self, values: Floats) -> Floats:
        """The sums over the classes of each recording."""
        n, silent = len(self.full), (~self.has_events).sum(axis=0)
        place = np.nonzero(self.has_events)[1]
        kind = np.where(silent > 0, np.searchsorted(self.silent.lengths, self.lengths), -1)
        made = [np.bincount(place, weights=each, minlength=len(silent)) for each in values[:n].T]
        silence = np.vstack((values[n:], np.zeros(values.shape[1])))[kind]
        return np.asarray(np.column_stack(made) + silent[:, None] * silence)


def _some(timelines: EventArrays, kept: Ints) -> EventArrays:
    """Some of the recordings, in order."""
    counts = timelines.counts[kept]
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    rows = np.repeat(timelines.starts[kept] - starts[:-1], counts) + np.arange(starts[-1])
    return EventArrays(timelines.bounds[rows], starts, timelines.lengths[kept])


@dataclass(frozen=True)
class SingleEventModel:
    """Recordings of one length with one event of a law of lengths, its start uniform; a share of them is silent."""

    lengths: Lengths
    longest: float
    share: float = 1.0  # of recordings with the event
    described: str = field(
        default="the exact expectation over where the one event of a recording lies, with segments from 0 to its end"
    )
    count: float = 1.0
    labels: tuple[str, ...] = ("event",)
    drawn: bool = False

    def only(self, *labels: str) -> SingleEventModel:
        """Itself: there is one class."""
        return self

    def sums(self, part: Measured) -> tuple[Floats, Floats]:
        """Over the recordings of the one class."""
        raw, base = (np.einsum("u,uk->k", part.weight, each)[None] for each in (part.raw, part.base))
        return raw, base

    @property
    def time(self) -> float:
        """Seconds of one recording."""
        return self.longest

    def nodes(self, splits: Any = (), *, smooth: bool = False) -> tuple[Floats, Floats]:
        """Event lengths, at most the recording's, and their shares; a law is cut into panels at the splits, into fewer
        where laws of criteria smooth the rest."""
        law = self.lengths
        if law.values is not None and law.weights is not None:
            values, shares = binned(law.values, law.weights, _MOST)
        else:
            below = law.notes.get("below", 0.0)
            cuts = (np.asarray(law.frozen.cdf(splits), dtype=np.float64) - below) / (1 - below)
            tails, n = 10.0 ** -np.arange(2.0, 7.0, 2.0 if smooth else 1.0), 8 if smooth else 32
            edges = np.unique(np.clip([0.0, *tails, *np.arange(1, n) / n, *(1 - tails), 1.0, *cuts], 0.0, 1.0))
            x, w = panel_nodes(edges, 4 if smooth else 6)
            values, shares = np.asarray(law.quantile(x.ravel()), dtype=np.float64), w.ravel()
        return np.minimum(values, self.longest), shares

    def measure(self, design: Placed, criteria: AnswerModels) -> Measured:
        """Fixed segments or windows."""
        line, shares, first, weight, removed = _placed_events(self, _placed(design)[0], design.step, criteria)
        raw, base = _mixed(line, design, criteria)
        if removed.any():
            raw_hop, base_hop = _hop_worth(design, criteria)
            base[:, base_hop != 0] += removed * base_hop[base_hop != 0]
            raw[:, raw_hop != 0] += removed * raw_hop[raw_hop != 0]
        raw[np.isnan(raw)] = 0.0
        raw, base = (np.add.reduceat(weight * one, first) for one in (raw, base))
        if self.share < 1:
            none = _mixed(_silent([self.longest]), design, criteria)
            raw, base = np.vstack((raw, np.nan_to_num(none[0]))), np.vstack((base, none[1]))
            shares = np.append(self.share * shares, 1 - self.share)
        return Measured(raw, base, shares)

    def per_event(self, design: Placed, criteria: AnswerModels) -> tuple[Measured, Ints]:
        """The same: every event is alone, and of one class."""
        made = self.measure(design, criteria)
        return made, np.array([0, len(made.weight)])

    def placed(self, width: float, rule: PresenceRule) -> tuple[EventArrays, Ints, Floats, Floats, Any]:
        """The same of the one event, whose recordings are shortened."""
        line, shares, first, weight, removed = _placed_events(self, width, width, AnswerModels.of(rule=rule))
        times = self.share * np.repeat(shares, np.diff(first, append=len(line))) * weight[:, 0]
        lengths, times = np.append(line.lengths, self.longest), np.append(times, 1 - self.share)
        return line, np.arange(len(line)), lengths, times, np.append(removed[:, 0], 0.0)

    def draft(self, events: float) -> SingleEventModel:
        """Itself, or with so few lengths that many ways can be tried on them."""
        if self.lengths.values is not None and self.lengths.values.size <= _FEW:
            return self
        few = np.asarray(self.lengths.quantile((np.arange(_FEW) + 0.5) / _FEW), dtype=np.float64)
        return replace(self, lengths=Lengths.sample(few))

    @cached_property
    def drawn_recordings(self) -> RecordingModel:
        """Recordings whose event lengths and starts are spread evenly: no seed, and little noise."""
        n = 800
        rng = np.random.default_rng(0)
        u = (np.arange(n) + rng.random(n)) / n
        d = np.minimum(self.lengths.quantile(rng.permutation(u)), self.longest)
        start = u * (self.longest - d)
        bounds = np.column_stack((start, np.minimum(start + d, self.longest)))
        timelines = EventArrays(bounds, np.arange(n + 1), np.full(n, self.longest))
        return RecordingModel.of({"event": timelines}, "", silent=n * (1 - self.share) / self.share)


def binned(values: Floats, shares: Floats, most: int) -> tuple[Floats, Floats]:
    """Lengths and their shares; a long sample is cut into bins of equal share with their means."""
    if values.size <= most:
        return values, shares
    total = np.concatenate(([0.0], np.cumsum(shares)))
    cuts = np.unique(np.searchsorted(total, np.linspace(0, 1, most + 1)[:-1]).clip(0, values.size - 1))
    mass = np.add.reduceat(shares, cuts)
    return np.add.reduceat(shares * values, cuts) / mass, mass


@lru_cache(maxsize=1)  # windows that differ in their votes come one after the other
def _placed_events(
    model: SingleEventModel, width: float, hop: float, criteria: AnswerModels
) -> tuple[EventArrays, Floats, Ints, Floats, Floats]:
    """The one event wherever its measures differ: recordings, the share of each event length, the first recording of
    each, and per recording (in a column) its weight and how many hops were taken out of it."""
    splits = [width] if criteria.is_continuous else [width, *(width / np.clip(criteria.range, 1e-9, 1.0))]
    d, shares = model.nodes(splits, smooth=criteria.is_continuous)
    kinks = criteria.kinks(d, width)
    kinks[~np.isfinite(kinks)] = 0.0
    nodes = gauss(3 if criteria.is_continuous else 1)
    first, *rest = _starts(d, model.longest, hop, width, _KEPT * (1 + round(width / hop)), kinks, *nodes)
    bounds, length, weight, removed = rest
    return EventArrays(bounds, np.arange(len(length) + 1), length), shares, first, weight[:, None], removed[:, None]


@kernel
def _starts(
    d: Any, total: float, hop: float, width: float, keep: int, kinks: Any, nodes: Any, masses: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """Points between kinks for each event length: (where those of each begin, event, recording length, weight, hops
    removed). Of the recording's middle only a few hops are kept; one of them stands for all that were removed."""
    offsets, carried = np.empty(4 + 4 * kinks.shape[1]), np.empty(4 + 4 * kinks.shape[1])
    most = d.shape[0] * offsets.shape[0] * (keep + 2) * nodes.shape[0]
    first, bounds = np.empty(d.shape[0], np.int64), np.empty((most, 2))
    lengths, weights, out = np.empty(most), np.empty(most), np.empty(most)
    g = 0
    for i in range(d.shape[0]):
        removed = max(0.0, np.floor((total - d[i]) / hop + 1e-9) - keep)
        room, length = total - d[i] - removed * hop, total - removed * hop
        offsets[0], offsets[1], offsets[2], offsets[3] = 0.0, -d[i] % hop, total % hop, (total - d[i]) % hop
        for k in range(kinks.shape[1]):
            x = kinks[i, k]
            offsets[4 + 4 * k], offsets[5 + 4 * k] = (x - d[i]) % hop, -x % hop
            offsets[6 + 4 * k], offsets[7 + 4 * k] = (width - x) % hop, (total - x) % hop
        sort_together(offsets, carried)
        first[i], low, norm = g, 0.0, 0.0
        still = room <= 1e-12 * total
        for p in range(1 if still else keep + 2):
            for x in offsets[: 1 if still else offsets.shape[0]]:
                high = min(x + p * hop, room)
                span, middle = high - low, (low + high) / 2
                # The removed hops are like the period in the middle, which lies clear of both ends.
                share = span * (1 + removed if np.floor(middle / hop) == keep // 2 else 1.0)
                if still:
                    share, span, middle = 1.0, 0.0, 0.0
                low = high
                if share <= 1e-15 * hop:
                    continue
                for q in range(nodes.shape[0]):
                    start = max(min(middle + span * nodes[q] / 2, length - d[i]), 0.0)
                    bounds[g, 0], bounds[g, 1] = start, min(start + d[i], length)
                    lengths[g], weights[g], out[g] = length, share * masses[q] / 2, removed
                    norm += weights[g]
                    g += 1
        for j in range(first[i], g):
            weights[j] /= norm
    return first, bounds[:g], lengths[:g], weights[:g], out[:g]


#: Recordings of one class, as a plan has them.
Model = RecordingModel | SingleEventModel


def some_recordings(model: Model, n: int) -> EventArrays:
    """So many recordings as the model has them, of a fixed seed; of known ones all, where these are fewer."""
    rng = np.random.default_rng(0)
    if isinstance(model, SingleEventModel):
        d = np.minimum(model.lengths.draw(n, rng), model.longest)
        some = rng.random(n) < model.share
        start = rng.uniform(0.0, 1.0, n) * (model.longest - d)
        return EventArrays.of(
            [[(a, a + b)] if is_there else [] for a, b, is_there in zip(start, d, some)], model.longest
        )
    units = np.arange(len(model.full) + len(model.silent))
    if model.drawn:
        picked = rng.choice(units, n, p=model.weight / model.weight.sum())
    else:
        picked = np.repeat(units, model.weight.astype(np.int64))
        picked = picked if len(picked) <= n else rng.choice(picked, n, replace=False)
    events = [each for each, _ in model.full] + [np.empty((0, 2))] * len(model.silent)
    lengths = np.concatenate((model.full.lengths, model.silent.lengths))
    return EventArrays.of([events[k] for k in picked], lengths[picked])


def tally(labels: Sequence[Labels], timelines: EventArrays, *, rule: PresenceRule | None = None) -> Tally:
    """The tally of labels against the true events; time without an answer counts as absent.

    An event is found if a present segment *that was heard* satisfies the rule on it, also where the labels are cut
    more finely than the segments (overlapping windows).
    """
    sure = [~np.isnan(one.present) for one in labels]
    result = of_labels(
        timelines,
        [one.segments[known] for one, known in zip(labels, sure)],
        [one.present[known] for one, known in zip(labels, sure)],
        rule=rule,
    )
    if all(one.noticed is None for one in labels):
        return result
    heard = [one.segments[one.present == 1] if one.noticed is None else one.noticed for one in labels]
    found = of_labels(timelines, heard, [np.ones(len(one)) for one in heard], rule=rule)
    result.sums[..., R["n_found"]] = found.sums[..., R["n_found"]]
    result.products[..., -2:] = found.products[..., -2:]  # the squares that go with it
    return result
