"""What is scored: the events of one class in one recording each; and how any number of classes is scored at once.

Classes share recordings, so a *unit* is a class in a recording. Only units with events are kept (ten thousand species
in ten thousand recordings are mostly silence), unless annotators guess where nothing is. Units are measured in blocks
that fit into the processor's cache, all criteria at once; sums over a recording's classes are made before anything is
squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.compiled import kernel
from ..model.answer_model import AnswerModels
from ..model.events import Events
from ..model.intervals import EventArrays, Ints, Placement, first_start
from . import exact, grid, voting
from . import tally as col
from .tally import Tally, accumulate

#: What classes of one recording have in common; the rest adds up.
SHARED = [col.N_RECORDINGS, col.TIME, col.N_SEGMENTS, col.LISTENED]
_ADDED = np.array([0.0 if k in SHARED else 1.0 for k in range(len(col.EXPOSURE))])


@dataclass(frozen=True)
class ClassRecordings:
    """Classes in recordings, ordered by recording: the events of unit i are those of ``lines`` i.

    >>> at = {"onset": np.array([1.0, 5.0]), "offset": np.array([2.0, 6.0])}
    >>> at["lengths"] = np.array([9.0, 9.0])
    >>> units = ClassRecordings.of(("cat", "dog"), np.array([0, 0]), np.array([1, 1]), **at)
    >>> units.group.tolist(), units.owner.tolist(), units.lines.counts.tolist()
    ([1, -1], [0, 1], [2, 0])
    """

    labels: tuple[str, ...]
    lines: EventArrays
    group: Ints  # which class; -1: a recording without any event
    owner: Ints  # which recording

    def __len__(self) -> int:
        return len(self.group)

    @classmethod
    def of(
        cls, labels: Sequence[str], recording: Any, label: Any, onset: Any, offset: Any, *, lengths: Any,
        every: bool = False,
    ) -> ClassRecordings:  # fmt: skip
        """The units of rows, given as positions of their recording and label; rows of a unit that overlap are joined.

        ``every``: also the classes that do not occur in a recording; so it is where there is but one.
        """
        n = len(labels) + 1  # label -1 is no label
        if every or len(labels) == 1:
            keys = (np.arange(len(lengths))[:, None] * n + np.arange(1, n)).ravel()
        else:
            silent = np.setdiff1d(np.arange(len(lengths)), recording) * n
            keys = np.unique(np.concatenate((recording * n + label + 1, silent)))
        unit, owner = np.searchsorted(keys, recording * n + label + 1), keys // n
        return cls(tuple(labels), EventArrays.of_rows(unit, onset, offset, lengths[owner]), keys % n - 1, owner)

    @classmethod
    def of_one(cls, label: str, lines: EventArrays) -> ClassRecordings:
        """The units of one class."""
        return cls((label,), lines, np.zeros(len(lines), np.int64), np.arange(len(lines)))

    def part(self, first: int, last: int) -> ClassRecordings:
        """Units first to last (exclusive), as a view."""
        at = slice(first, last)
        return ClassRecordings(self.labels, self.lines.part(first, last), self.group[at], self.owner[at])

    def cuts(self, *, events: int, units: int) -> Ints:
        """Where to cut the units, always between recordings, so that no part holds many more events or units; they
        depend on the data alone, never on the workers."""
        return np.asarray(_cuts(self.lines.starts, self.owner, events, units))


def units_of(events: Events, label: str | None = None, *, every: bool = False) -> ClassRecordings:
    """The units of all classes of the events, or of one; recordings that were not annotated are left out."""
    recording, code, onset, offset, lengths = events._rows_of(label)
    labels, code = (events.labels, code) if label is None else ([label], np.zeros_like(code))
    return ClassRecordings.of(labels, recording, code, onset, offset, lengths=lengths, every=every)


@kernel
def _cuts(starts: Any, owner: Any, events: int, units: int) -> Any:
    out = np.empty(owner.shape[0] + 1, np.int64)
    out[0], n = 0, 1
    for u in range(1, owner.shape[0]):
        first = out[n - 1]
        if owner[u] != owner[u - 1] and (starts[u] - starts[first] >= events or u - first >= units):
            out[n] = u
            n += 1
    if owner.shape[0] > 0:
        out[n] = owner.shape[0]
        n += 1
    return out[:n]


@dataclass(frozen=True)
class ClassTallies:
    """The sums of some units: one tally per class that occurs among them, and that of all classes together."""

    tallies: dict[str, Tally]
    pooled: Tally

    @classmethod
    def empty(cls, lengths: Any, who: AnswerModels, labels: Sequence[str] = ()) -> ClassTallies:
        """The sums of no unit."""
        return cls({name: Tally.empty(lengths, who.labels) for name in labels}, Tally.empty(lengths, who.labels))

    def add(self, at: slice, part: ClassTallies) -> None:
        """Take in the sums of some of the segment lengths."""
        self.pooled.add(at, part.pooled)
        for name, tally in part.tallies.items():
            if name not in self.tallies:
                self.tallies[name] = Tally.empty(self.pooled.segment_length, self.pooled.columns)
            self.tallies[name].add(at, tally)


def score(timelines: EventArrays, lengths: Any, who: AnswerModels, how: Placement) -> Tally:
    """The tally of some recordings of one class."""
    return score_units(ClassRecordings.of_one("", timelines), lengths, who, how).pooled


def score_units(units: ClassRecordings, lengths: Any, who: AnswerModels, how: Placement) -> ClassTallies:
    """The sums of some units at some segment lengths.

    Those of a class leave out the recordings in which it does not occur; :func:`add_silent` puts in what they add.
    """
    here = np.unique(units.group[units.group >= 0])
    is_one = len(units.labels) == 1
    group = np.zeros(len(units), np.int64) if is_one else np.searchsorted(here, units.group)
    group[units.group < 0] = -1
    n = 1 if is_one else len(here) + 1
    widths = np.asarray(lengths, dtype=np.float64)
    empty = Tally.empty(widths, who.labels)
    sums = tuple(np.zeros((n, *arrays.shape)) for arrays in empty.parts)
    blocks = units.cuts(events=4096, units=max(8, 2048 // len(who)))
    if who.criteria is not None and how.hop is None and how.phase is not None:
        among, place = who.sorted
        most = int(np.diff(blocks).max(initial=0))
        room = np.empty((most, len(who), len(col.SCORES))), np.empty((most, len(col.EXPOSURE)))
        where = (np.ascontiguousarray(units.lines.bounds), units.lines.starts, units.lines.lengths)
        phases = first_start(how.phase, widths)
        _on_grid(where, blocks, widths, phases, int(how.edge), among, (group, units.owner), room, sums)
        sums = (sums[0][:, :, place], sums[1][:, :, place], *sums[2:])
    else:
        for first, last in zip(blocks[:-1].tolist(), blocks[1:].tolist()):
            block = units.lines.part(first, last)
            for k, width in enumerate(widths.tolist()):
                raw, base = measure(block, width, who, how)
                _accumulate(raw, base, group[first:last], units.owner[first:last], k, sums)
    tallies = [Tally(widths, who.labels, *(arrays[i] for arrays in sums)) for i in range(n)]
    pooled = replace(tallies[-1], n_classes=len(units.labels))
    return ClassTallies({units.labels[i]: tally for i, tally in zip(here, tallies)}, pooled)


def add_silent(tally: Tally, pooled: Tally) -> None:
    """Let a class's tally count every recording: those in which it does not occur add nothing but themselves."""
    tally.base_sums[:, SHARED] = pooled.base_sums[:, SHARED]
    tally.base_products[:, 0] = pooled.base_products[:, 0]  # of their time


def measure(part: EventArrays, width: float, who: AnswerModels, how: Placement) -> tuple[Any, Any]:
    """The measures of some recordings for one segment length."""
    if how.hop is not None:
        return voting.measure(part, width, who, how)
    return exact.measure(part, width, who, how) if how.phase is None else grid.measure(part, width, who, how)


@kernel
def _accumulate(raw: Any, base: Any, group: Any, owner: Any, k: int, tallies: Any) -> None:
    """Add the measures of units to the sums of their classes, those of a recording's classes together to the last."""
    sums, products, base_sums, base_products = tallies
    last = sums.shape[0] - 1
    if last == 0:  # one class
        accumulate(raw, base, sums[0, k], products[0, k], base_sums[0, k], base_products[0, k])
        return
    all_raw, all_base = np.zeros((1, raw.shape[1], raw.shape[2])), np.zeros((1, base.shape[1]))
    for u in range(group.shape[0]):
        i = group[u]
        if i >= 0:
            accumulate(
                raw[u : u + 1], base[u : u + 1], sums[i, k], products[i, k], base_sums[i, k], base_products[i, k]
            )
        if u == 0 or owner[u] != owner[u - 1]:
            for c in range(raw.shape[1]):  # copies of slices may raise, and carry code that is not ours
                for q in range(raw.shape[2]):
                    all_raw[0, c, q] = raw[u, c, q]
            for q in range(base.shape[1]):
                all_base[0, q] = base[u, q]
        else:
            for c in range(raw.shape[1]):
                for q in range(raw.shape[2]):
                    all_raw[0, c, q] += raw[u, c, q]
            for q in range(base.shape[1]):
                all_base[0, q] += _ADDED[q] * base[u, q]
        if u == group.shape[0] - 1 or owner[u + 1] != owner[u]:
            accumulate(all_raw, all_base, sums[last, k], products[last, k], base_sums[last, k], base_products[last, k])


@kernel
def _on_grid(
    where: Any, blocks: Any, widths: Any, phases: Any, mode: int, among: Any, units: Any, room: Any, tallies: Any
) -> None:
    """Measure all blocks at all segment lengths on a grid for sorted criteria, and add up: all in one call, as one
    length takes a few microseconds."""
    (bounds, starts, lengths), (group, owner), (raw, base) = where, units, room
    for b in range(blocks.shape[0] - 1):
        i, j = blocks[b], blocks[b + 1]
        for k in range(widths.shape[0]):
            some, ground = raw[: j - i], base[: j - i]
            grid.criteria(bounds, starts[i : j + 1], lengths[i:j], widths[k], phases[k], mode, among, some, ground)
            _accumulate(some, ground, group[i:j], owner[i:j], k, tallies)
