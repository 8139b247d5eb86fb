r"""Do these annotations satisfy what the closed forms assume? Events a segment apart, uniform offsets, whole events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import InvalidInput
from ...base.results import percent, plain, word
from ...base.symbols import check
from ...engine.scoring import ClassRecordings, units_of
from ...model.event_arrays import EventArrays
from ...model.events import Events

_FEW = 0.05  # a share of events below this is not worth a warning
_ALPHA = 0.01
_TESTED = 12  # segment lengths at which offsets are tested: neighbours tell nothing new


@dataclass(frozen=True)
class Assumption:
    """One assumption on one class: ``share`` of its events break it; for offsets Kuiper's V and its ``p_value``."""

    name: str
    label: str
    segment_length: float
    n_events: int
    share: float
    p_value: float
    broken: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


def kuiper(values: ArrayLike) -> tuple[float, float]:
    r"""Kuiper's statistic V of values in [0, 1) against the uniform law on the circle, and its p-value.

    .. math:: V = D^+ + D^-, \quad p = 2 \sum_j (4 j^2 \lambda^2 - 1) e^{-2 j^2 \lambda^2}, \quad
              \lambda = (\sqrt n + 0.155 + 0.24/\sqrt n) V

    It does not depend on where the circle is cut, as it must not: a grid has no first offset.

    >>> round(kuiper([0.0, 0.25, 0.5, 0.75])[0], 6)
    0.25
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    n = len(x)
    if n == 0:
        return math.nan, math.nan
    if not (x[0] >= 0 and x[-1] <= 1):
        raise InvalidInput(f"values must each be a number in [0, 1], got {x[0]:g} to {x[-1]:g}")
    rank = np.arange(1, n + 1)
    statistic = float((rank / n - x).max() + (x - (rank - 1) / n).max())
    return statistic, kuiper_p(statistic, n)


def kuiper_p(statistic: float, n: int) -> float:
    """The chance of a Kuiper statistic at least this large if the n values are uniform."""
    scaled = (math.sqrt(n) + 0.155 + 0.24 / math.sqrt(n)) * statistic
    if scaled < 0.4:  # the series needs many terms here, and its sum is 1 to six digits
        return 1.0
    j = np.arange(1, 101)
    terms = 2 * (4 * j**2 * scaled**2 - 1) * np.exp(-2 * j**2 * scaled**2)
    return float(np.clip(terms.sum(), 0.0, 1.0))


def _gaps(timelines: EventArrays) -> NDArray[np.float64]:
    """The silence before and after each event within its recording, the shorter of the two; infinite if it is alone."""
    a, b = timelines.bounds[:, 0], timelines.bounds[:, 1]
    owner = timelines.owner
    gap = np.where(owner[1:] == owner[:-1], a[1:] - b[:-1], np.inf)
    return np.minimum(np.append(gap, np.inf), np.append(np.inf, gap)) if len(a) else np.empty(0)


def check_assumptions(events: Events, *, segment_length: Any, label: str | None = None) -> list[Assumption]:
    """How far every class keeps the assumptions of the closed forms, at the given segment lengths.

    ``close``: events with less than a segment between them (Theorem 1 sees one event at a time). ``offsets``: onsets
    modulo the segment length are not uniform (Kuiper's test, level 0.01 over all tests); without the events that a
    recording's start cuts, and at twelve of the lengths if there are more.
    ``censored``: events cut by a recording's start or end, whose length is not known.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"recording": "a", "onset": [0.0, 3.0], "offset": [2.5, 4.0], "label": "dog"})
    >>> events = Events.from_frame(frame, recording_length=10.0)
    >>> [(one.name, one.share) for one in check_assumptions(events, segment_length=1.0) if one.broken]
    [('close', 1.0), ('censored', 0.5)]
    """
    units = units_of(events, label)
    counts = AssumptionCounts.of(units, np.atleast_1d(check("segment_length", segment_length)), bins=0)
    known = bool(events.recordings["length"].notna().all())
    onset, group = units.lines.bounds[:, 0], units.group[units.lines.owner]
    onset, group = onset[onset > 0], group[onset > 0]
    far = np.array([_kuipers((onset % width) / width, group, counts.free) for width in counts.widths[counts.tested]])
    return counts.assumptions(known=known, far=far.T)


def _kuipers(values: NDArray[np.float64], group: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Kuiper's statistic of each group, of n values; NaN for those of none."""
    x = values[np.lexsort((values, group))]
    first = np.cumsum(n) - n
    rank, size = np.arange(len(x)) - np.repeat(first, n), np.repeat(n, n)
    found, some = np.full(len(n), np.nan), n > 0
    if some.any():
        above, below = (np.maximum.reduceat(far, first[some]) for far in ((rank + 1) / size - x, x - rank / size))
        found[some] = above + below
    return found


@dataclass(frozen=True)
class AssumptionCounts:
    """What the checks count, per class: numbers that add up over recordings.

    ``histogram`` holds the onsets modulo the tested segment lengths, in bins: Kuiper's statistic from it is too small
    by 2 / 256 at most.
    """

    labels: tuple[str, ...]
    widths: NDArray[np.float64]
    n: NDArray[np.int64]  # (classes,): events
    started: NDArray[np.int64]  # cut by the recording's start
    cut: NDArray[np.int64]  # cut by its start or end
    free: NDArray[np.int64]  # not cut at 0
    close: NDArray[np.int64]  # (classes, widths): less than this from the next one
    histogram: NDArray[np.int64]  # (classes, tested widths, bins)

    @classmethod
    def of(cls, units: ClassRecordings, lengths: Any, *, bins: int = 256) -> AssumptionCounts:
        """The counts of some units; without bins, no histogram."""
        widths = np.unique(np.asarray(lengths, dtype=np.float64))
        lines, n = units.lines, len(units.labels)
        group, gaps, onset = units.group[lines.owner], _gaps(lines), lines.bounds[:, 0]

        def count(which: Any) -> NDArray[np.int64]:
            return np.bincount(group[which], minlength=n)

        some = cls(
            units.labels,
            widths,
            count(np.ones(len(group), dtype=bool)),
            count(lines.cut(ends_known=False)),
            count(lines.cut()),
            count(onset > 0),
            np.array([count(gaps < width) for width in widths]).T,
            np.empty((n, 0, bins), np.int64),
        )
        if not bins:
            return some
        found = []
        free, owner = onset[onset > 0], group[onset > 0]
        for width in widths[some.tested]:
            part = np.minimum(((free % width) / width * bins).astype(np.int64), bins - 1)
            found.append(np.bincount(owner * bins + part, minlength=n * bins).reshape(n, bins))
        return replace(some, histogram=np.stack(found, axis=1))

    @property
    def tested(self) -> NDArray[np.int64]:
        """At which of the widths offsets are tested."""
        return np.unique(np.linspace(0, len(self.widths) - 1, _TESTED).astype(int))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the labels, by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "labels"}

    def __add__(self, other: AssumptionCounts) -> AssumptionCounts:
        labels = tuple(sorted({*self.labels, *other.labels}))
        place = {label: k for k, label in enumerate(labels)}
        sums: dict[str, Any] = {}
        for name in ("n", "started", "cut", "free", "close", "histogram"):
            mine = getattr(self, name)
            sums[name] = np.zeros((len(labels), *mine.shape[1:]), np.int64)
            for one in (self, other):
                sums[name][[place[label] for label in one.labels]] += getattr(one, name)
        return AssumptionCounts(labels, self.widths, **sums)

    def assumptions(self, *, known: bool, far: Any = None) -> list[Assumption]:
        """What they say; ``known``: whether the ends of recordings are. ``far``: Kuiper's statistics, if not those of
        the histogram."""
        if far is None:
            bins = self.histogram.shape[2]
            share = np.cumsum(self.histogram, axis=2) / np.maximum(1, self.free)[:, None, None]
            off = share - np.arange(1, bins + 1) / bins
            far = np.maximum(0.0, off.max(axis=2)) - np.minimum(0.0, off.min(axis=2))
        cut = self.cut if known else self.started
        tests = max(1, len(self.labels) * len(self.tested))
        found = []
        for i, label in enumerate(self.labels):
            n, free = int(self.n[i]), int(self.free[i])
            if n == 0:
                continue
            of = dict(zip(self.tested.tolist(), far[i].tolist()))
            for k, width in enumerate(self.widths.tolist()):
                close = int(self.close[i, k]) / n
                found.append(Assumption("close", label, width, n, close, math.nan, close > _FEW))
                if k in of:
                    v, p = (of[k], kuiper_p(of[k], free)) if free >= 5 else (math.nan, math.nan)
                    # Times rounded to a millisecond are never uniform to a million events; what matters is by how much.
                    found.append(Assumption("offsets", label, width, free, v, p, p < _ALPHA / tests and v > _FEW))
            lost = int(cut[i]) / n
            found.append(Assumption("censored", label, math.nan, n, lost, math.nan, lost > _FEW))
        return found


def sentences(found: Sequence[Assumption]) -> list[str]:
    """One sentence per assumption that is broken, with the class that breaks it most."""
    said = []
    words = {
        "close": "events of {classes} are closer together than a segment ({share} of {label} at {width:g} s): formulas "
        "for one event at a time do not hold; the numbers of an evaluation do",
        "offsets": "onsets of {classes} are not spread evenly over the segments ({label} at {width:g} s: Kuiper's "
        "p = {p:.2g}): where the grid starts matters, formulas assume that it does not",
        "censored": "events of {classes} are cut by the start or end of a recording ({share} of {label}): their "
        "lengths are censored",
    }
    for name, text in words.items():
        broken = [one for one in found if one.name == name and one.broken]
        if not broken:
            continue
        worst = (
            min(broken, key=lambda one: one.p_value) if name == "offsets" else max(broken, key=lambda one: one.share)
        )
        labels = sorted({one.label for one in broken})
        total = len({one.label for one in found if one.name == name})
        classes = word(labels[0]) if total == 1 else f"{len(labels)} of {total} classes"
        told = {"classes": classes, "share": percent(worst.share), "label": word(worst.label)}
        said.append(text.format(**told, width=worst.segment_length, p=worst.p_value))
    return said
