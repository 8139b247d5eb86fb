"""Strong annotations and a segment length -> what weak labels would make of them; in memory, or file by file."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import exact, grid
from .. import tally as t
from ..errors import AssumptionWarning, InvalidInput
from ..events import Events, Timelines
from ..formats import read
from ..grid import windows
from ..observer import Observers
from ..parallel import Progress, in_order, threads
from ..symbols import check
from ..tally import Tally
from ..windows import Placement, segment_lengths
from .result import Evaluation

#: Events times segment lengths times criteria up to which the means per recording are worked out unasked.
MANY = 20_000_000
#: What classes of one recording have in common; the rest adds up.
_SHARED = [t.N_RECORDINGS, t.TIME, t.N_SEGMENTS, t.LISTENED]


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
        them at full length, ``"circular"`` (random phase) joins the recording's ends.
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
    classes = _classes(events, label, recording_length)
    found = _scored(
        classes,
        segment_length=segment_length,
        presence_criterion=presence_criterion,
        rule=rule,
        annotator=annotator,
        phase=phase,
        edge=edge,
        hop=hop,
        votes=votes,
        per_recording=per_recording,
        executor=executor,
        progress=progress,
    )
    return replace(found, inferred=_inferred(classes, found)) if posterior else found


def _inferred(classes: dict[str, Timelines], found: Evaluation) -> pd.DataFrame:
    """What a posterior makes of the answers of every row, in the order of the rows."""
    from ..inference.outlook import outlook, windows

    how, rows = found.settings, []
    if how["edge"] not in ("truncate", "inside"):
        raise InvalidInput(f"posterior needs edge truncate or inside, got {how['edge']}: nobody hears beyond the ends")
    for timelines in classes.values():
        for width in how["segment_length"]:
            for one in found.who:
                phase = None if how["phase"] == "random" else float(how["phase"])
                asking = windows(segment_length=width, hop=how["hop"], phase=phase, edge=how["edge"])
                rows.append(asdict(outlook(timelines, asking, who=one.hearing, shortest=float(width), rng=0)))
    return pd.DataFrame(rows)


def _scored(
    classes: dict[str, Timelines],
    *,
    segment_length: Any,
    presence_criterion: Any = None,
    rule: Any = None,
    annotator: Any = None,
    phase: Any = "random",
    edge: str = "truncate",
    hop: float | None = None,
    votes: int | None = None,
    per_recording: bool | None = None,
    executor: Executor | None = None,
    progress: Progress = False,
) -> Evaluation:
    """The evaluation of classes of the same recordings, in chunks on the executor."""
    who = Observers.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator)
    lengths = segment_lengths(segment_length)
    how = Placement.of(phase=phase, edge=edge, hop=hop, votes=votes, segment_length=lengths)
    means = _affordable(classes, lengths, who, how) if per_recording is None else bool(per_recording)
    how = replace(how, means=means)
    parts = list(classes.values())
    chunks = _chunks(parts, lengths)
    tallies = [Tally.empty(lengths, who.labels) for _ in parts]
    pooled = Tally.empty(lengths, who.labels, n_classes=len(parts))
    with threads(executor) as workers:
        found = in_order(
            score_classes,
            [([each.part(i, j) for each in parts], lengths[k:m], who, how) for i, j, k, m in chunks],
            executor=workers,
            progress=progress,
            label="evaluating",
        )
        for (_, _, k, m), scored in zip(chunks, found):
            for mine, theirs in zip((*tallies, pooled), scored):
                mine.add(slice(k, m), theirs)
    settings = {
        "segment_length": lengths,
        **who.frame(),
        "phase": phase,
        "edge": edge,
        "hop": hop,
        "votes": how.votes,
        "labels": list(classes),
    }
    return Evaluation(who, dict(zip(classes, tallies)), pooled, settings)


def measure(part: Timelines, width: float, who: Observers, how: Placement) -> tuple[Any, Any]:
    """The measures of some recordings for one segment length."""
    if how.hop is not None:
        return windows.measure(part, width, who, how)
    return exact.measure(part, width, who, how) if how.phase is None else grid.measure(part, width, who, how)


def score(timelines: Timelines, lengths: Any, who: Observers, how: Placement) -> Tally:
    """The tally of some recordings."""
    return score_classes([timelines], lengths, who, how)[0]


def score_classes(classes: Sequence[Timelines], lengths: Any, who: Observers, how: Placement) -> list[Tally]:
    """The tallies of each class of the same recordings and of all classes together, whose measures are added per
    recording before anything is squared; measured in blocks that fit into the processor's cache."""
    tallies = [Tally.empty(lengths, who.labels) for _ in classes]
    pooled = Tally.empty(lengths, who.labels, n_classes=len(classes))
    step = max(64, 16_384 // len(who))
    for first in range(0, len(classes[0]), step):
        blocks = [each.part(first, min(first + step, len(each))) for each in classes]
        for k, width in enumerate(lengths):
            raw, base = measure(blocks[0], width, who, how)
            tallies[0].fold(k, raw, base)
            shared = base[:, _SHARED].copy()
            for tally, block in zip(tallies[1:], blocks[1:]):
                more, ground = measure(block, width, who, how)
                tally.fold(k, more, ground)
                raw, base = raw + more, base + ground
            if len(classes) > 1:
                base[:, _SHARED] = shared
                pooled.fold(k, raw, base)
    return [*tallies, pooled if len(classes) > 1 else tallies[0]]


def _chunks(classes: Sequence[Timelines], lengths: Any) -> list[tuple[int, int, int, int]]:
    """Blocks of recordings times blocks of segment lengths; they depend on the data alone, never on the workers."""
    starts: NDArray[np.int64] = np.sum([each.starts for each in classes], axis=0)
    blocks, first = [], 0
    for r in range(len(starts) - 1):
        if starts[r + 1] - starts[first] >= 20_000 or r + 1 - first >= 2_000:
            blocks.append((first, r + 1))
            first = r + 1
    if first < len(starts) - 1:
        blocks.append((first, len(starts) - 1))
    step = 16
    return [(i, j, k, min(k + step, len(lengths))) for i, j in blocks for k in range(0, len(lengths), step)]


def _affordable(classes: dict[str, Timelines], lengths: Any, who: Observers, how: Placement) -> bool:
    """Whether the means per recording are worked out though nobody asked."""
    n_events = sum(len(timelines.bounds) for timelines in classes.values())
    few = n_events * len(lengths) * len(who) <= MANY
    if not few and how.hop is None and how.phase is None:
        warnings.warn(
            f"overlap_accuracy_per_recording is left empty: under a random phase {n_events:,} events x {len(lengths)} "
            f"lengths x {len(who)} criteria would take long; per_recording=True, or a fixed phase, gives it",
            AssumptionWarning,
            stacklevel=4,
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


def evaluate_files(
    files: Sequence[str | Path],
    *,
    reading: dict[str, Any] | None = None,
    label: str | None = None,
    executor: Executor | None = None,
    progress: bool = False,
    **asked: Any,
) -> Evaluation:
    """The evaluation of many files, each read and scored by itself, as if they had been read together.

    Parameters
    ----------
    files : annotation files, such as the parts of a Parquet data set; every recording lies in one of them.
    reading : what :func:`weakly.read` is told: format, columns, recording_length, on_error.
    label : one class; left out, every class.
    executor : any ``concurrent.futures.Executor``; also that of a Dask cluster whose workers see the files.
    asked : what :func:`weakly.evaluate` is told.

    Notes
    -----
    A class that does not occur in a file counts there as absent from its recordings, as it would in one big file; where
    annotators guess, this takes a second look at the files once all classes are known.
    """
    if not files:
        raise InvalidInput("no files were given")
    labels = None if label is None else [label]
    who = Observers.of(**{name: asked.get(name) for name in ("presence_criterion", "rule", "annotator")})
    looks = 2 if label is None and any(one.low > 0 for one in who) else 1
    for _look in range(looks):
        chunks = [(str(file), reading or {}, labels, asked) for file in files]
        results = in_order(_part, chunks, executor=executor, progress=progress, label="evaluating files")
        found = list(zip(files, results))
        labels = sorted({name for _, (part, *_) in found for name in part.tallies if name})
    seen: dict[str, str] = {}
    for file, (_, _, names, notes) in found:
        for name in names:
            if name in seen:
                raise InvalidInput(
                    f"recording {name!r} is in {seen[name]} and in {file}; a recording must lie in one part"
                )
            seen[name] = str(file)
        for note in notes:
            warnings.warn(note[0], note[1], stacklevel=2)
    if not labels:
        raise InvalidInput("the files hold no event" + (f" of {label!r}" if label else ""))
    joined = {name: reduce(add, (part.tallies.get(name, rest) for _, (part, rest, *_) in found)) for name in labels}
    pooled = replace(reduce(add, (part.pooled for _, (part, *_) in found)), n_classes=len(labels))
    first = found[0][1][0]
    return Evaluation(first.who, joined, pooled, {**first.settings, "labels": labels, "files": len(files)})


def _part(
    file: str, reading: dict[str, Any], labels: list[str] | None, asked: dict[str, Any]
) -> tuple[Evaluation, Tally, list[str], list[tuple[str, type[Warning]]]]:
    """The sums of one file, those of its recordings without any event, its recordings, and what was noted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        events = read(file, **reading)
        kept = events.known_extents.to_numpy(np.float64)
        empty = Timelines(np.empty((0, 2)), np.zeros(len(kept) + 1, np.int64), kept)
        rest = _scored({"": empty}, **asked)
        classes = _classes(events, None, None) if len(events) else {}
        here = list(classes) if labels is None else labels if set(labels) & set(classes) else []
        found = (
            _scored({name: classes.get(name, empty) for name in here}, **asked) if here else replace(rest, tallies={})
        )
    notes = list(dict.fromkeys((str(note.message), note.category) for note in caught))
    return found, rest.pooled, [str(name) for name in events.recordings.index], notes
