"""Strong annotations and a segment length -> what weak labels would make of them; in memory, or file by file."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

from ...base.errors import AssumptionWarning, InvalidInput
from ...base.parallel import Progress, in_order, threads
from ...base.symbols import check
from ...engine.scoring import ClassRecordings, ClassTallies, add_silent, score_units, units_of
from ...engine.tally import Tally
from ...model.answer_model import AnswerModels
from ...model.event_arrays import EventArrays
from ...model.events import Events
from ...model.placement import Placement, segment_lengths
from .evaluation import Evaluation

#: Events times segment lengths times criteria up to which the means per recording are worked out unasked.
MANY = 1_000_000_000


def evaluate(
    events: Any,
    *,
    segment_length: Any,
    presence_criterion: Any = None,
    rule: Any = None,
    annotator: Any = None,
    phase: Any = "random",
    edge: str = "truncate",
    hop: float | None = None,
    votes: int | None = None,
    label: str | None = None,
    recording_length: Any = None,
    per_recording: bool | None = None,
    posterior: bool = False,
    executor: Executor | None = None,
    progress: Progress = False,
) -> Evaluation:
    r"""What labels of fixed segments make of strong annotations: an :class:`Evaluation`.

    Parameters
    ----------
    events : an :class:`Events`, or one list of (onset, offset) per recording with ``recording_length``. Events of one
        class that overlap or touch are one event.
    segment_length : :math:`d_q` in seconds, > 0; one or several.
    presence_criterion, rule, annotator : exactly one of them: :math:`\gamma` in (0, 1], a :class:`PresenceRule`, an
        :class:`Annotator`; one or several.
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
    posterior : whether to add what :func:`weakly.infer` makes of the same answers, in seconds per recording:
        ``posterior_wrong_time`` (each moment gets its likelier label), ``posterior_seconds`` (of event, as expected)
        beside ``painted_wrong_time``, ``painted_seconds`` and the true ``event_seconds`` of the same recordings (1,000
        of them if there are more; a random phase and noisy answers are drawn).
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
    who = AnswerModels.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator)
    lengths = segment_lengths(segment_length)
    how = Placement.of(phase=phase, edge=edge, hop=hop, votes=votes, segment_length=lengths)
    units = _units(events, label, recording_length, every=any(one.low > 0 for one in who))
    few = per_recording is None and _affordable(len(units.lines.bounds), lengths, who, how)
    how = replace(how, means=few if per_recording is None else bool(per_recording))
    tallies = {name: Tally.empty(lengths, who.labels) for name in units.labels}
    pooled = Tally.empty(lengths, who.labels, n_classes=len(units.labels))
    with threads(executor) as workers:
        for at, found in scored(units, lengths, who, how, executor=workers, progress=progress):
            pooled.add(at, found.pooled)
            for name, part in zip(found.labels, found.tallies):
                tallies[name].add(at, part)
    for tally in tallies.values():
        add_silent(tally, pooled)
    settings = {"segment_length": lengths, **who.frame(), "phase": phase, "edge": edge, "hop": hop, "votes": how.votes}
    made = Evaluation(who, tallies, pooled, {**settings, "labels": list(units.labels)})
    return replace(made, inferred=_inferred(events, label, recording_length, made)) if posterior else made


def _inferred(events: Any, label: str | None, recording_length: Any, found: Evaluation) -> pd.DataFrame:
    """What a posterior makes of the answers of every row, in the order of the rows."""
    from ..infer.outlook import outlook, windows

    how, rows = found.settings, []
    if how["edge"] not in ("truncate", "inside"):
        raise InvalidInput(f"posterior needs edge truncate or inside, got {how['edge']}: nobody hears beyond the ends")
    if isinstance(events, Events):
        classes = events.by_label(label)
    else:
        lines = events if isinstance(events, EventArrays) else EventArrays.of(events, recording_length)
        classes = dict.fromkeys(found.tallies, lines)
    for timelines in (classes[name] for name in found.tallies):
        for width in how["segment_length"]:
            for one in found.who:
                phase = None if how["phase"] == "random" else float(how["phase"])
                asking = windows(segment_length=width, hop=how["hop"], phase=phase, edge=how["edge"])
                rows.append(asdict(outlook(timelines, asking, who=one.hearing, shortest=float(width), rng=0)))
    return pd.DataFrame(rows)


def scored(
    units: ClassRecordings,
    lengths: Any,
    who: AnswerModels,
    how: Placement,
    *,
    executor: Executor | None,
    progress: Progress,
) -> Iterator[tuple[slice, ClassTallies]]:
    """The sums of fixed chunks of units and segment lengths, in order: which segment lengths, and their sums."""
    cuts, step = units.cuts(events=20_000, units=2_000).tolist(), 16
    chunks = [(i, j, k) for i, j in itertools.pairwise(cuts) for k in range(0, len(lengths), step)]
    work = ((units.part(i, j), lengths[k : k + step], who, how) for i, j, k in chunks)
    found = in_order(score_units, work, total=len(chunks), executor=executor, progress=progress, label="evaluating")
    for (_, _, k), sums in zip(chunks, found):
        yield slice(k, min(k + step, len(lengths))), sums


def _affordable(n_events: int, lengths: Any, who: AnswerModels, how: Placement) -> bool:
    """Whether the means per recording are worked out though nobody asked."""
    few = n_events * len(lengths) * len(who) <= MANY
    if not few and how.hop is None and how.phase is None:
        warnings.warn(
            f"overlap_accuracy_per_recording is left empty: under a random phase {n_events:,} events x {len(lengths)} "
            f"lengths x {len(who)} criteria would take long; per_recording=True, or a fixed phase, gives it",
            AssumptionWarning,
            stacklevel=3,
        )
    return few


def _units(events: Any, label: str | None, recording_length: Any, *, every: bool) -> ClassRecordings:
    if isinstance(events, Events):
        if recording_length is not None:
            raise InvalidInput("recording_length is known to the events; give it to Events.from_frame")
        unknown = int(events.recordings["length"].isna().sum())
        if unknown:
            warnings.warn(
                f"the length of {unknown} of {len(events.recordings)} recordings is unknown; they end at their last "
                "event here, which leaves out what follows it",
                AssumptionWarning,
                stacklevel=3,
            )
        if not len(events):
            raise InvalidInput("events must hold at least one event, got none")
        return units_of(events, label, every=every)
    if not isinstance(events, EventArrays):
        if recording_length is None:
            raise InvalidInput("recording_length must be given in seconds where events are plain lists")
        events = EventArrays.of(events, check("recording_length", recording_length))
    _check(events)
    return ClassRecordings.from_classes({label or "event": events})


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
