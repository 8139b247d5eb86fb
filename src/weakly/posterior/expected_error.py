"""What a posterior will make of answers that nobody has given yet: for plans and evaluations.

Known events are asked about as a plan would ask; the answers go to :func:`~.class_posterior.class_posterior` with the
law of the events' lengths, who answers and nothing else; and what it says is held against the events. So a row of a
plan is what ``weakly infer`` reaches on such answers, in the real world or a simulated one, and no promise of a model
of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.parallel import threads
from ..model.answer_model import NODES, AnswerModels
from ..model.intervals import EventArrays
from ..model.lengths import Lengths
from ..model.placement import window_starts
from .class_fitting import class_posterior
from .class_posterior import AnswerPattern
from .fitting import choose_step
from .renewal import Array, lengths_of_truncated_events

#: Steps of all recordings together, and recordings, that are worked out at most.
_STEPS, _RECORDINGS = 100_000, 1_000
_SLIP = 1e-3  # of answers that steps of time make look wrong
Said = Callable[[Array], NDArray[np.bool_]]
#: The segments that one recording is asked about, given its length, whose answers may tell which come next.
Asking = Callable[[float, Said, np.random.Generator], tuple[Array, NDArray[np.bool_]]]


@dataclass(frozen=True)
class PosteriorError:
    """Seconds per recording of one class: wrong label if each moment gets its likelier one, and if present answers are
    painted; what is event, what the posterior expects of it, and what is painted; and how many recordings were tried.
    """

    posterior_wrong_time: float
    painted_wrong_time: float
    posterior_seconds: float
    painted_seconds: float
    event_seconds: float
    posterior_wrong_time_se: float
    posterior_seconds_se: float
    n_tried: int


def windows(
    *, segment_length: float, hop: float | None = None, phase: float | None = 0.0, edge: str = "truncate"
) -> Asking:
    """Ask about fixed segments, or windows every ``hop`` seconds; a phase of None is drawn for each recording."""

    def ask(length: float, said: Said, rng: np.random.Generator) -> tuple[Array, NDArray[np.bool_]]:
        begin = rng.uniform(0.0, hop or segment_length) if phase is None else phase
        starts = window_starts(length, segment_length=segment_length, hop=hop, phase=begin, edge=edge)
        spans = np.column_stack((np.maximum(starts, 0.0), np.minimum(starts + segment_length, length)))
        return spans, said(spans)

    return ask


def halving(*, segment_length: float, start_length: float) -> Asking:
    """Ask about segments of the starting length and halve what is present, down to leaves of ``segment_length``."""

    def ask(length: float, said: Said, rng: np.random.Generator) -> tuple[Array, NDArray[np.bool_]]:
        width, every, answers = start_length, [], []
        starts = np.arange(math.ceil(length / width * (1 - 1e-9))) * width
        while len(starts):
            spans = np.column_stack((starts, np.minimum(starts + width, length)))
            found = said(spans)
            every.append(spans)
            answers.append(found)
            if width < 1.5 * segment_length:
                break
            width /= 2
            starts = (starts[found, None] + [0.0, width]).ravel()
            starts = starts[starts < length * (1 - 1e-9)]
        return np.concatenate(every), np.concatenate(answers)

    return ask


def expected_posterior_error(
    timelines: EventArrays,
    asking: Asking,
    *,
    who: Any,
    lengths: Lengths | None = None,
    shortest: float,
    rng: Any = None,
) -> PosteriorError:
    """What ``infer`` makes of the answers about these recordings (1,000 of them if there are more).

    Parameters
    ----------
    asking : the segments of a recording.
    who : who answers.
    lengths : the law of event lengths that is known; left out, that of the events, those that ends cut as censored.
    shortest : seconds of the shortest segment, for the step.

    Notes
    -----
    Where recordings are so long that all together would take more than 100,000 steps, their beginnings stand for them.
    """
    generator = np.random.default_rng(rng)
    who = AnswerModels.of(annotator=who)
    parts = who.parts(NODES)
    if len(timelines.bounds) == 0:
        none = math.nan
        return PosteriorError(none, none, none, none, none, none, none, 0)
    law = lengths_of_truncated_events(timelines) if lengths is None else lengths
    step = choose_step(np.array([[0.0, shortest]]), law, who.seconds)
    most = _RECORDINGS if len(timelines) > _RECORDINGS else len(timelines)
    chosen = np.sort(generator.choice(len(timelines), most, replace=False))
    room = _STEPS * step / most
    asked, truths = [], []
    for r in chosen.tolist():
        events, length = timelines.bounds[timelines.starts[r] : timelines.starts[r + 1]], float(timelines.lengths[r])
        heard = min(length, max(room, 3 * shortest))
        events = np.clip(events[events[:, 0] < heard], 0.0, heard)
        _, rule, low, high = parts[generator.integers(len(parts))]

        def said(
            spans: Array, events: Array = events, rule: Any = rule, low: float = low, high: float = high
        ) -> NDArray[np.bool_]:
            met = np.zeros(len(spans), np.bool_)
            if len(events):
                met[:] = rule.is_present(event=events[None, :], segment=spans[:, None]).any(axis=1)
            return np.asarray(generator.random(len(spans)) < np.where(met, high, low))

        spans, present = asking(heard, said, generator)
        order = np.lexsort((spans[:, 1], spans[:, 0]))
        asked.append((f"{r}", spans[order], present[order].astype(np.float64), ("",) * len(spans), heard))
        truths.append((events, length / heard))
    with threads(None) as pool:
        known = class_posterior(
            "event", AnswerPattern.grouped(asked), who.with_noise(max(who.low, _SLIP), max(1 - who.high, _SLIP)),
            slips=False, law=law, event_rate=None, step=step, draws=2, rng=generator, executor=pool, progress=False,
            order={name: k for k, (name, *_) in enumerate(asked)}, integrated=False,
        )  # fmt: skip
    rows = []
    for one, (events, scale) in zip(known.recordings, truths):
        edges = one.edges
        held = _covered(edges, events)
        width, paint = np.diff(edges), _painted(edges, one.segments, one.present)
        wrongs = [np.where(said, width - held, held).sum() for said in (one.active > 0.5, paint)]
        rows.append(scale * np.array([*wrongs, one.event_seconds, width @ paint, held.sum()]))
    table = np.array(rows)
    error = table.std(axis=0, ddof=min(1, most - 1)) / math.sqrt(most)
    wrong, painted, expected, seconds, true = table.mean(axis=0).tolist()
    return PosteriorError(wrong, painted, expected, seconds, true, float(error[0]), float(error[2]), most)


def _painted(edges: Array, segments: Array, present: Array) -> NDArray[np.bool_]:
    """Which steps are painted: those in a present segment, of the shortest that were asked there."""
    middles = (edges[1:] + edges[:-1]) / 2
    label = np.zeros(len(middles), np.bool_)
    widths = np.round(segments[:, 1] - segments[:, 0], 9)
    for width in sorted(set(widths.tolist()), reverse=True):
        inside = {}
        for answer in (0.0, 1.0):
            spans = segments[(widths == width) & (present == answer)]
            change = np.zeros(len(middles) + 1)
            np.add.at(change, np.searchsorted(middles, spans[:, 0]), 1)
            np.add.at(change, np.searchsorted(middles, spans[:, 1]), -1)
            inside[answer] = np.cumsum(change)[:-1] > 0
        label = inside[1.0] | (label & ~inside[0.0])
    return label


def _covered(edges: Array, events: Array) -> Array:
    """Seconds of event in each step; events do not overlap."""
    ended = np.searchsorted(events[:, 1], edges)
    whole = np.concatenate(([0.0], np.cumsum(events[:, 1] - events[:, 0])))
    under_way = np.maximum(edges - np.append(events[:, 0], np.inf)[ended], 0.0)
    return np.asarray(np.diff(whole[ended] + under_way), dtype=np.float64)
