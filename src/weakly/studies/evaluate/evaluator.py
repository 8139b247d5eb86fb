"""Strong annotations and a segment length -> what weak labels would make of them; in memory, or file by file.

And whether they satisfy what the closed forms assume: events a segment apart, uniform offsets, whole events.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...base.errors import AssumptionWarning, InvalidInput
from ...base.parallel import Progress, in_order, threads
from ...base.results import counted
from ...base.symbols import check
from ...engine.scoring import ClassRecordings, ClassTallies, add_silent, score_units, units_of
from ...model.answer_model import UNKNOWN, AnswerLike, AnswerModels
from ...model.events import Events
from ...model.intervals import EdgeName, EventArrays, Floats, Ints, Placement, segment_lengths
from .evaluation import LAST_EVENT, Assumption, Evaluation

#: Events times segment lengths times criteria up to which the means per recording are worked out unasked.
MANY = 1_000_000_000
#: Events by class and recording, or one list of (onset, offset) per recording.
EventsLike = Events | EventArrays | Sequence[ArrayLike]


def evaluate(
    events: EventsLike,
    *,
    segment_length: ArrayLike,
    presence_criterion: AnswerLike | None = None,
    rule: AnswerLike | None = None,
    annotator: AnswerLike | None = None,
    phase: float | Literal["random"] = "random",
    edge: EdgeName = "truncate",
    hop: float | None = None,
    votes: int | None = None,
    label: str | None = None,
    recording_length: ArrayLike | None = None,
    per_recording: bool | None = None,
    executor: Executor | None = None,
    progress: Progress = False,
) -> Evaluation:
    r"""What labels of fixed segments make of strong annotations: an :class:`Evaluation`.

    Parameters
    ----------
    events : an :class:`Events`, or one list of (onset, offset) per recording with ``recording_length``. Events of one
        class that overlap or touch are one event.
    segment_length : :math:`d_q` in seconds, > 0; one or several.
    presence_criterion, rule, annotator : at most one of them, each in any of these ways: :math:`\gamma` in (0, 1]; a
        frozen scipy law of it; a :class:`PresenceRule`; an :class:`Annotator` or a card of one; text such as ``0.5``,
        ``seconds:1|fraction:0.5`` or ``beta:2,3``; a list of any of these, or texts with commas between them.
        Left out, half of an event or a second of it is noticed, whichever comes first, as in :func:`plan`.
    phase : ``"random"`` for the expectation over where the grid starts, or the seconds at which it starts.
    edge : ``"truncate"`` cuts segments at the recording's ends, ``"inside"`` leaves cut ones out, ``"infinite"`` counts
        them at full length, beyond the recording's ends, ``"circular"`` (random phase) joins these.
    hop, votes : windows that start every ``hop`` seconds; a cell of one hop is present if at least ``votes`` of the
        windows that cover it are (1 if left out; the same share of fewer near the ends). ``segment_length`` must be a
        whole number of hops.
    label : one class only; left out, every class gets its rows.
    recording_length : seconds, for lists of events.
    per_recording : whether to work out ``overlap_accuracy_per_recording`` under a random phase, which costs more than
        all else; left out, up to :data:`MANY` events times lengths times criteria, and a warning says so beyond.
    executor : any ``concurrent.futures.Executor``; left out, one thread per processor. The numbers do not depend on it.
    progress : whether to show a bar, or a function that is told (done, total).

    Notes
    -----
    Definitions 1 to 3 of the paper, for any number of events: a segment is present if at least one event satisfies the
    rule in it. ``overlap_accuracy`` pools all segments, ``overlap_accuracy_per_recording`` averages per recording first
    as the paper's simulation does. ``n_queries`` and ``listened`` are of the same grid as the rest: expectations over
    the phase where it is random. An event is found, for ``event_recall``, if at least one segment in which the rule is
    satisfied on it is labelled present. Answers of random annotators are averaged exactly, not drawn. Standard errors
    treat recordings as a sample.

    Examples
    --------
    >>> found = evaluate([[(1.0, 2.2), (2.9, 3.3), (7.0, 9.5)]], recording_length=10, segment_length=1.3,
    ...                  presence_criterion=0.45)
    >>> round(found.precision, 10), round(found.recall, 10), found.event_recall
    (0.6836293057, 0.7186444653, 1.0)
    """
    told = {"presence_criterion": presence_criterion, "rule": rule, "annotator": annotator}
    who = AnswerModels.of(**told, unknown=UNKNOWN[1])
    lengths = segment_lengths(segment_length)
    how = Placement.of(phase=phase, edge=edge, hop=hop, votes=votes, segment_length=lengths)
    units = _units(events, label, recording_length, every=any(model.low > 0 for model in who))
    few = per_recording is None and _affordable(len(units.lines.bounds), lengths, who, how)
    how = replace(how, means=few if per_recording is None else bool(per_recording))
    total, cuts = ClassTallies.empty(lengths, who, units.labels), units.cuts(events=20_000, units=2_000).tolist()
    chunks = [(i, j, slice(k, k + 16)) for i, j in itertools.pairwise(cuts) for k in range(0, len(lengths), 16)]
    work = ((units.part(i, j), lengths[at], who, how) for i, j, at in chunks)
    with threads(executor) as workers:
        scored = in_order(score_units, work, total=len(chunks), executor=workers, progress=progress, label="evaluating")
        for (_, _, at), sums in zip(chunks, scored):
            total.add(at, sums)
    return evaluation_of(total, who, {"phase": phase, "edge": edge, "hop": hop, "votes": how.votes})


def evaluation_of(
    total: ClassTallies, who: AnswerModels, settings: dict[str, Any], assumptions: Sequence[Assumption] = ()
) -> Evaluation:
    """The result of the sums of all recordings."""
    pooled, tallies = replace(total.pooled, n_classes=len(total.tallies)), dict(sorted(total.tallies.items()))
    for tally in tallies.values():
        add_silent(tally, pooled)
    settings = {"segment_length": pooled.segment_length, **who.frame(), **settings, "labels": list(tallies)}
    return Evaluation(who, tallies, pooled, settings, tuple(assumptions))


def _affordable(n_events: int, lengths: Any, who: AnswerModels, how: Placement) -> bool:
    """Whether the means per recording are worked out though nobody asked."""
    few = n_events * len(lengths) * len(who) <= MANY
    if not few and how.hop is None and how.phase is None:
        work = f"{n_events:,} events x {len(lengths)} lengths x {len(who)} criteria"
        text = f"overlap_accuracy_per_recording is left empty: under a random phase {work} would take long; "
        warnings.warn(text + "per_recording=True, or a fixed phase, gives it", AssumptionWarning, stacklevel=3)
    return few


def _units(events: Any, label: str | None, recording_length: Any, *, every: bool) -> ClassRecordings:
    if isinstance(events, Events):
        if recording_length is not None:
            raise InvalidInput("recording_length is known to the events; give it to Events.from_frame")
        unknown = int(events.recordings["length"].isna().sum())
        if unknown:
            text = f"the length of {unknown:,} of {counted(len(events.recordings), 'recording')} is unknown: "
            warnings.warn(text + LAST_EVENT, AssumptionWarning, stacklevel=3)
        if not len(events):
            raise InvalidInput("events must hold at least one event, got none")
        return units_of(events, label, every=every)
    if not isinstance(events, EventArrays):
        if recording_length is None:
            raise InvalidInput("recording_length must be given in seconds where events are plain lists")
        events = EventArrays.of(events, check("recording_length", recording_length))
    _check(events)
    return ClassRecordings.of_one(label or "event", events)


def _check(timelines: EventArrays) -> None:
    """Timelines may be made by hand: refuse what is not sorted, disjoint and inside its recording."""
    a, b = timelines.bounds[:, 0], timelines.bounds[:, 1]
    recording = timelines.owner
    bad = ~(b > a) | ~np.isfinite(b) | (a < 0) | (b > timelines.lengths[recording] * (1 + 1e-9))
    bad[1:] |= (recording[1:] == recording[:-1]) & ~(a[1:] >= b[:-1])
    if bad.any():
        e = int(np.flatnonzero(bad)[0])
        r = int(recording[e])
        raise InvalidInput(
            f"recording {r}: event {e - int(timelines.starts[r])} ({a[e]:g}, {b[e]:g}) must end after it starts, "
            f"follow the event before it and lie inside (0, {timelines.lengths[r]:g}); Timelines.of merges and sorts"
        )


_FEW = 0.05  # a share of events below this is not worth a warning
_ALPHA = 0.01
_TESTED = 12  # segment lengths at which offsets are tested: neighbours tell nothing new


def kuiper(values: ArrayLike) -> tuple[float, float]:
    r"""Kuiper's statistic V of values in [0, 1) against the uniform law on the circle, and its p-value.

    .. math:: V = D^+ + D^-, \quad p = 2 \sum_j (4 j^2 \lambda^2 - 1) e^{-2 j^2 \lambda^2}, \quad
              \lambda = (\sqrt n + 0.155 + 0.24/\sqrt n) V

    It does not depend on where the circle is cut, as it must not: a grid has no first offset.

    >>> round(kuiper([0.0, 0.25, 0.5, 0.75])[0], 6)
    0.25
    """
    x = np.asarray(values, dtype=np.float64)
    n = len(x)
    if n == 0:
        return math.nan, math.nan
    if not (x.min() >= 0 and x.max() <= 1):
        raise InvalidInput(f"values must each be a number in [0, 1], got {x.min():g} to {x.max():g}")
    statistic = float(_kuipers(x, np.zeros(n, np.int64), np.array([n]))[0])
    return statistic, kuiper_p(statistic, n)


def kuiper_p(statistic: float, n: int) -> float:
    """The chance of a Kuiper statistic at least this large if the n values are uniform."""
    scaled = (math.sqrt(n) + 0.155 + 0.24 / math.sqrt(n)) * statistic
    if scaled < 0.4:  # the series needs many terms here, and its sum is 1 to six digits
        return 1.0
    j = np.arange(1, 101)
    terms = 2 * (4 * j**2 * scaled**2 - 1) * np.exp(-2 * j**2 * scaled**2)
    return float(np.clip(terms.sum(), 0.0, 1.0))


def check_assumptions(events: Events, *, segment_length: Any, label: str | None = None) -> list[Assumption]:
    """How far every class keeps the assumptions of the closed forms, at the given segment lengths.

    ``close``: events with less than a segment between them (Theorem 1 sees one event at a time). ``offsets``: onsets
    modulo the segment length are not uniform (Kuiper's test, level 0.01 over all tests); without the events that a
    recording's start cuts, and at twelve of the lengths if there are more.
    ``censored``: events cut by a recording's start or end, whose length is not known.

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


def _kuipers(values: Floats, group: Ints, n: Ints) -> Floats:
    """Kuiper's statistic of each group, of n values; NaN for those of none."""
    x = values[np.lexsort((values, group))]
    first = np.cumsum(n) - n
    rank, size = np.arange(len(x)) - np.repeat(first, n), np.repeat(n, n)
    statistics, some = np.full(len(n), np.nan), n > 0
    if some.any():
        above, below = (np.maximum.reduceat(far, first[some]) for far in ((rank + 1) / size - x, x - rank / size))
        statistics[some] = above + below
    return statistics


@dataclass(frozen=True)
class AssumptionCounts:
    """What the checks count, per class: numbers that add up over recordings.

    ``histogram`` holds the onsets modulo the tested segment lengths, in bins: Kuiper's statistic from it is too small
    by 2 / 256 at most.
    """

    labels: tuple[str, ...]
    widths: Floats
    n: Ints  # (classes,): events
    started: Ints  # cut by the recording's start
    cut: Ints  # cut by its start or end
    free: Ints  # not cut at 0
    close: Ints  # (classes, widths): less than this from the next one
    histogram: Ints  # (classes, tested widths, bins)

    @classmethod
    def of(cls, units: ClassRecordings, lengths: Any, *, bins: int = 256) -> AssumptionCounts:
        """The counts of some units; without bins, no histogram."""
        widths = np.unique(np.asarray(lengths, dtype=np.float64))
        lines, n = units.lines, len(units.labels)
        onset, offset, owner = lines.bounds[:, 0], lines.bounds[:, 1], lines.owner
        group, silence = units.group[owner], np.where(owner[1:] == owner[:-1], onset[1:] - offset[:-1], np.inf)
        gaps = np.minimum(np.append(silence, np.inf), np.append(np.inf, silence))[: len(onset)]  # to the nearest event

        def count(which: Any) -> Ints:
            return np.bincount(group[which], minlength=n)

        every, close = np.ones(len(group), dtype=bool), np.array([count(gaps < width) for width in widths]).T
        cuts = count(lines.cut(ends_known=False)), count(lines.cut()), count(onset > 0)
        some = cls(units.labels, widths, count(every), *cuts, close, np.empty((n, 0, bins), np.int64))
        if not bins:
            return some
        histograms = []
        free, owner = onset[onset > 0], group[onset > 0]
        for width in widths[some.tested]:
            place = np.minimum(((free % width) / width * bins).astype(np.int64), bins - 1)
            histograms.append(np.bincount(owner * bins + place, minlength=n * bins).reshape(n, bins))
        return replace(some, histogram=np.stack(histograms, axis=1))

    @property
    def tested(self) -> Ints:
        """At which of the widths offsets are tested."""
        return np.unique(np.linspace(0, len(self.widths) - 1, _TESTED).astype(int))

    def __add__(self, other: AssumptionCounts) -> AssumptionCounts:
        labels = tuple(sorted({*self.labels, *other.labels}))
        place = {label: k for k, label in enumerate(labels)}
        sums: dict[str, Any] = {}
        for name in ("n", "started", "cut", "free", "close", "histogram"):
            mine = getattr(self, name)
            sums[name] = np.zeros((len(labels), *mine.shape[1:]), np.int64)
            for counts in (self, other):
                sums[name][[place[label] for label in counts.labels]] += getattr(counts, name)
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
        checked = []
        for i, label in enumerate(self.labels):
            n, free = int(self.n[i]), int(self.free[i])
            if n == 0:
                continue
            of = dict(zip(self.tested.tolist(), far[i].tolist()))
            for k, width in enumerate(self.widths.tolist()):
                close = int(self.close[i, k]) / n
                checked.append(Assumption("close", label, width, n, close, math.nan, close > _FEW))
                if k in of:
                    v, p = (of[k], kuiper_p(of[k], free)) if free >= 5 else (math.nan, math.nan)
                    # Times rounded to a millisecond are never uniform to a million events; what matters is by how much.
                    checked.append(Assumption("offsets", label, width, free, v, p, p < _ALPHA / tests and v > _FEW))
            lost = int(cut[i]) / n
            checked.append(Assumption("censored", label, math.nan, n, lost, math.nan, lost > _FEW))
        return checked
