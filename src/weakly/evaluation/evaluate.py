"""Strong annotations and a segment length -> what weak labels would make of them."""

from __future__ import annotations

import warnings
from concurrent.futures import Executor
from typing import Any

import numpy as np

from ..errors import AssumptionWarning, InvalidInput
from ..events import Events, Timelines
from ..exact.columns import Columns
from ..parallel import Progress, in_order, threads
from ..symbols import check
from .result import Evaluation
from .scoring import chunked, joined, placement, score, segment_lengths

#: Events times segment lengths times criteria up to which the means per recording are worked out unasked.
MANY = 20_000_000


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
        them at full length, ``"circular"`` (random phase) joins the recording's ends.
    hop, votes : windows that start every ``hop`` seconds; a cell of one hop is present if at least ``votes`` of the
        windows that cover it are (1 if left out). ``segment_length`` must be a whole number of hops.
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
    as the paper's simulation does. With a random phase ``n_queries`` is that of the grid from 0. Answers of random
    annotators are averaged exactly, not drawn. Standard errors treat recordings as a sample.

    Examples
    --------
    >>> found = evaluate([[(1.0, 2.2), (2.9, 3.3), (7.0, 9.5)]], recording_length=10, segment_length=1.3,
    ...                  presence_criterion=0.45)
    >>> round(found.precision, 10), round(found.recall, 10), found.event_recall
    (0.6836293057, 0.7186444653, 1.0)
    """
    columns = Columns.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator)
    lengths = segment_lengths(segment_length)
    how = placement(phase=phase, edge=edge, hop=hop, votes=votes, lengths=lengths)
    classes = _classes(events, label, recording_length)
    how["means"] = _affordable(classes, lengths, columns, how) if per_recording is None else bool(per_recording)
    tallies = {}
    with threads(executor) as workers:
        for name, timelines in classes.items():
            chunks = chunked(timelines, lengths)
            parts = in_order(
                score,
                [(timelines.part(i, j), lengths[k:m], columns, how) for i, j, k, m in chunks],
                executor=workers,
                progress=progress,
                label=f"evaluating {name}",
            )
            tallies[name] = joined(lengths, columns, chunks, parts)
    settings = {
        "segment_length": lengths,
        **columns.frame(),
        "phase": phase,
        "edge": edge,
        "hop": hop,
        "votes": how["votes"],
        "labels": list(classes),
    }
    return Evaluation(columns, tallies, settings)


def _affordable(classes: dict[str, Timelines], lengths: Any, columns: Columns, how: dict[str, Any]) -> bool:
    """Whether the means per recording are worked out though nobody asked."""
    n_events = sum(len(timelines.bounds) for timelines in classes.values())
    few = n_events * len(lengths) * len(columns) <= MANY
    if not few and how["hop"] is None and how["phase"] is None:
        warnings.warn(
            f"overlap_accuracy_per_recording is left empty: under a random phase {n_events:,} events x {len(lengths)} "
            f"lengths x {len(columns)} criteria would take long; per_recording=True, or a fixed phase, gives it",
            AssumptionWarning,
            stacklevel=3,
        )
    return few


def _classes(events: Any, label: str | None, recording_length: Any) -> dict[str, Timelines]:
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
        return events.by_label(label)
    if not isinstance(events, Timelines):
        if recording_length is None:
            raise InvalidInput("recording_length must be given in seconds where events are plain lists")
        events = Timelines.of(events, check("recording_length", recording_length))
    _check(events)
    return {label or "event": events}


def _check(timelines: Timelines) -> None:
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
