"""The work that is planned, from event lengths or pilot annotations: timelines, lengths, how often events begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import InvalidInput
from ...base.results import percent
from ...base.symbols import check
from ...io.reading import read_answers
from ...methods.base import Recording, SimulatedAnnotator, run
from ...methods.model import Model, RecordingModel, SingleEventModel
from ...methods.problem import LabelingProblem, MethodOutcome
from ...model.annotator import PresenceRule
from ...model.answer_model import AnswerModels
from ...model.cost import Cost
from ...model.events import Events
from ...model.intervals import Bools, EventArrays, Floats, Intervals, as_intervals, clip, merge, oracle_segments
from ...model.lengths import Lengths
from ...posterior.renewal import lengths_of_truncated_events
from ..audit.responses import effort
from ..simulate import World

_NEARLY_ALL = 0.9
_MOST = 2000  # segments that a picture can show
_DRAWN = 6_000  # events in drawn recordings
_MOST_DRAWN = 10_000_000  # in one recording: more take too long and too much memory
_LEAST_SECONDS, _MOST_SECONDS = 1e-6, 1e12  # of events and of recordings: beyond them digits are lost


@dataclass(frozen=True)
class Pilot:
    """The timelines of every class in the same recordings."""

    timelines: dict[str, EventArrays]
    ends_known: Bools  # whether the annotations say how long each recording is
    n_unknown: int  # recordings whose length they do not say, those without events too, which no timeline holds
    n_joined: int  # events that touch or overlap one of their class, and became one with it
    n_touching: int  # of these, those that begin where another ends

    @classmethod
    def of(cls, events: Events, label: str | None, recording_length: float | None = None) -> Pilot:
        """The pilot from Events, of one class or of all; ``recording_length`` where they do not say it."""
        if recording_length is not None and unknown_lengths(events):
            events = _with_length(events, recording_length)
        chosen = events.select(label)
        if len(chosen) == 0:
            raise InvalidInput("the pilot must hold at least one event, got none")
        timelines = events.by_label(label)  # of all events: other classes tell how long a recording is at least
        known = events.recordings["length"][events.known_extents.index].notna().to_numpy(bool)
        joined = len(chosen) - sum(len(each.bounds) for each in timelines.values())
        return cls(timelines, known, unknown_lengths(events), joined, _touching(chosen) if joined else 0)

    @property
    def extents(self) -> Floats:
        """The length of every recording."""
        return np.asarray(next(iter(self.timelines.values())).lengths)

    @cached_property
    def lines(self) -> EventArrays:
        """The recordings of every class, one class after another."""
        parts = list(self.timelines.values())
        counts = np.concatenate([each.counts for each in parts])
        bounds, lengths = (np.concatenate([getattr(each, x) for each in parts]) for x in ("bounds", "lengths"))
        return EventArrays(bounds, np.concatenate(([0], np.cumsum(counts))), lengths)

    @cached_property
    def cut_sides(self) -> tuple[Bools, Bools]:
        """Which events begin with their recording, and which end with one whose length is known."""
        return self.lines.cut_sides(ends_known=np.tile(self.ends_known, len(self.timelines)))

    @property
    def n_events(self) -> int:
        """Events, all classes together, what touches or overlaps as one."""
        return len(self.lines.bounds)

    @property
    def n_cut(self) -> int:
        """Events that an end of their recording cuts."""
        return int((self.cut_sides[0] | self.cut_sides[1]).sum())

    @property
    def event_rate(self) -> float:
        """Events that begin per second. Those that begin before their recording are not counted, unless all do."""
        begun = int((~self.cut_sides[0]).sum())
        return (begun or self.n_events) / float(self.extents.sum())

    @cached_property
    def in_place(self) -> float:
        """The share of events that begin at one and the same time or end their recording; 0 if it is not nearly all.
        Such a pilot does not tell where in a recording events lie."""
        bounds, ends = self.lines.bounds, self.lines.lengths[self.lines.owner]
        _, place, times = np.unique(bounds[:, 0].round(3), return_inverse=True, return_counts=True)
        same = (place.ravel() == times.argmax()) & (times.max() > 1)
        share = float((same | (bounds[:, 1] >= ends - 1e-6)).mean())
        return share if share >= _NEARLY_ALL else 0.0

    @property
    def frames(self) -> bool:
        """Whether so many events touch that they look like frames of a fixed length."""
        return self.n_touching > 0.2 * (self.n_joined + self.n_events)

    @property
    def warnings(self) -> list[str]:
        """What its owner should think of."""
        said = []
        cut = self.n_cut / self.n_events
        if cut > 0.05:
            said.append(
                f"{percent(cut)} of the pilot's events begin or end with their recording: they may last longer "
                "than was seen."
            )
        if self.n_joined:
            every = self.n_joined + self.n_events
            touch = f" ({self.n_touching:,} begin where another ends)" if self.n_touching else ""
            said.append(
                f"{self.n_joined:,} of {every:,} events overlap or touch another of their class and were joined{touch}."
            )
            if self.frames:
                said.append(
                    "So many touching events look like frames of a fixed length: a share of a joined event is hardly "
                    "what annotators go by; consider --rule seconds:1."
                )
        return said

    def lengths(self, family: str | None) -> Lengths:
        """The law of event lengths, of a family or of any form, with what the ends of recordings cut made good."""
        found = lengths_of_truncated_events(
            self.lines, ends_known=np.tile(self.ends_known, len(self.timelines)), family=family
        )
        if family is not None:
            return found
        noun = "pilot event" if self.n_events == 1 else f"{self.n_events:,} pilot events"
        name = noun + (f" ({self.n_cut:,} cut by an edge)" if self.n_cut else "")
        return replace(found, name=name, notes={"n": self.n_events})


def measured_work(path: Path) -> dict[str, float]:
    """The seconds per answer and the speed of those who answered a campaign (its folder, or a file of answers)."""
    answers = path / "answers.csv" if path.is_dir() else path
    spent = effort(read_answers(answers))
    if not np.isfinite(spent.query_seconds):
        raise InvalidInput(f"{answers}: {spent.note}")
    return {"seconds_per_answer": spent.query_seconds, "speed": 1 / spent.seconds_per_second}


def unknown_lengths(events: Events) -> int:
    """How many annotated recordings do not say how long they are."""
    return int((events.recordings["length"].isna() & events.recordings["annotated"]).sum())


def _touching(events: Events) -> int:
    """How many events begin exactly where another of their class and recording ends."""
    frame = events.to_frame()
    group = frame.groupby(["recording", "label"], sort=False, observed=True).ngroup().to_numpy()
    # Microseconds in one whole number with the group: 2^40 of them are 12 days.
    ends, begins = (
        group * 2**40 + (frame[name].to_numpy() * 1e6).round().astype(np.int64) for name in ("offset", "onset")
    )
    return len(np.intersect1d(ends, begins))


def _with_length(events: Events, recording_length: float) -> Events:
    last = events.extents[events.recordings["length"].isna() & events.recordings["annotated"]]
    if (last > recording_length * (1 + 1e-9)).any():
        name = last.idxmax()
        raise InvalidInput(
            f"recording_length must reach the last event, got {recording_length:g} s for {name!r} with an event that "
            f"ends at {last.max():g} s; give a longer one, or read with on_error='clip' to cut events at the end, or "
            "'skip' to leave them out (--on-error clip, --on-error skip)"
        )
    known = events.recordings.assign(length=events.recordings["length"].fillna(recording_length))
    return Events(events.to_frame(), known)


def within(events: Events, examined: Any) -> Events:
    """The events of the examined stretches alone, each a recording of its own: {recording: intervals}, or a table with
    the columns recording, onset, offset; left out, what the events themselves say was examined.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"recording": ["a"], "onset": [4.0], "offset": [8.0], "label": ["x"]})
    >>> cut = within(Events.from_frame(frame, recording_length=100.0), {"a": [(5.0, 15.0)]})
    >>> cut.to_frame()[["onset", "offset"]].values.tolist(), cut.recordings["length"].tolist()
    ([[0.0, 3.0]], [10.0])
    """
    if not isinstance(examined, Mapping):
        return events.within(examined)
    import pandas as pd

    rows = [
        (str(name), *stretch)
        for name, stretches in examined.items()
        for stretch in as_intervals(stretches, name=f"examined of {name!r}").tolist()
    ]
    if not rows:
        raise InvalidInput("examined must hold at least one stretch of time, got none")
    return events.within(pd.DataFrame(rows, columns=["recording", "onset", "offset"]))


@dataclass(frozen=True)
class WorkSpec:
    """What is known of the work besides event lengths, checked."""

    recording_length: float | None
    n_events: float | None
    event_rate: float | None
    total_hours: float | None

    @classmethod
    def of(cls, **given: Any) -> WorkSpec:
        """The brief from the arguments of a public function."""
        if given["n_events"] is not None and given["event_rate"] is not None:
            raise InvalidInput("give n_events (per recording) or event_rate (per second), not both")
        made: dict[str, Any] = {}
        for name, value in given.items():
            symbol = "recording_length" if name == "total_hours" else name
            made[name] = None if value is None else float(check(symbol, value, called=name))
            if value is not None and not np.isfinite(made[name]):
                raise InvalidInput(f"{name} must be finite, got {value}")
        if made["n_events"] == 0 or made["event_rate"] == 0:
            raise InvalidInput("n_events must be > 0: without events there is nothing to find")
        return cls(**made)


def work(
    given: Any, brief: WorkSpec, criteria: AnswerModels, cost: Cost, *, label: str | None, family: str | None,
    examined: Any,
) -> tuple[LabelingProblem, Pilot | None]:  # fmt: skip
    """The work, from pilot annotations or from event lengths."""
    if isinstance(given, Events):
        events = within(given, examined)
        known = not unknown_lengths(events)
        pilot = Pilot.of(events, label, brief.recording_length)
        same = brief.recording_length is not None and np.allclose(pilot.extents, brief.recording_length, rtol=1e-9)
        if same or not known:  # then the length given is that of the pilot's own recordings
            brief = replace(brief, recording_length=None)
        return _of_pilot(pilot, brief, criteria, cost, family), pilot
    for name, value in (("label", label), ("family", family), ("examined", examined)):
        if value is not None:
            raise InvalidInput(f"{name} needs pilot annotations, got event lengths")
    return _of_lengths(Lengths.of(given), brief, criteria, cost), None


def _of_lengths(lengths: Lengths, brief: WorkSpec, criteria: AnswerModels, cost: Cost) -> LabelingProblem:
    """Events with these lengths that fall anywhere in recordings of one length."""
    total = brief.recording_length
    if total is None:
        if brief.total_hours is None:
            raise InvalidInput("recording_length must be given in seconds (or total_hours, or pilot annotations)")
        total = brief.total_hours * 3600.0
    count = brief.event_rate * total if brief.event_rate is not None else brief.n_events or 1.0
    recordings = 1.0 if brief.total_hours is None else brief.total_hours * 3600.0 / total
    if total > _MOST_SECONDS:
        raise InvalidInput(f"recording_length must be at most {_MOST_SECONDS:g} s, got {total:g} s")
    if lengths.mean < _LEAST_SECONDS:
        raise InvalidInput(
            f"event_length must be at least {_LEAST_SECONDS:g} s on average, got {lengths.mean:g} s ({lengths.name})"
        )
    if lengths.mean > total:
        raise InvalidInput(
            f"recording_length must be longer than an event, got {total:g} s for events of {lengths.mean:g} s on "
            f"average ({lengths.name})"
        )
    if count <= 1 and brief.event_rate is None:
        model: Model = SingleEventModel(lengths, total, share=count)
    else:
        model = _drawn(lengths, total, count, poisson=brief.event_rate is not None)
    return LabelingProblem(model, criteria, cost, lengths, scale=recordings / model.count)


class _SomeEvents:
    """A Poisson law of counts, given that there is an event."""

    def __init__(self, mean: float) -> None:
        self.mean = mean

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        from scipy.stats import poisson

        low = np.exp(-self.mean)
        drawn = poisson.ppf(low + (1 - low) * random_state.random(size), self.mean)
        return np.maximum(drawn, 1).astype(np.int64)


def _drawn(lengths: Lengths, total: float, count: float, *, poisson: bool) -> RecordingModel:
    """Recordings with events placed anywhere; what overlaps is one event. A count that is not whole is Poisson's."""
    steady = float(count).is_integer() and not poisson
    some = 1.0 if steady else 1 - np.exp(-count)
    if count > _MOST_DRAWN:
        raise InvalidInput(
            f"n_events must be at most {_MOST_DRAWN:,} in one recording, got {count:.3g}; describe shorter recordings, "
            "with total_hours for all of them"
        )
    least = np.clip(1e6 / count, 2, 100)  # of crowded recordings a few tell as much
    n = int(np.clip(_DRAWN * some / count, least, 8_000))
    world = World(lengths, int(count) if steady else _SomeEvents(count), total, "uniform", 0.0)
    timelines, _ = world.draw(n, np.random.default_rng(0))
    described = (
        f"{n:,} drawn recordings with {count:.3g} events anywhere in each (those that overlap are one), scored with "
        "segments from 0 to the end"
    )
    return RecordingModel.of({"event": timelines}, described, drawn=True, silent=n / some - n)


def _of_pilot(pilot: Pilot, brief: WorkSpec, criteria: AnswerModels, cost: Cost, family: str | None) -> LabelingProblem:
    """More work like the pilot's, scored on the pilot's own events unless another work is described."""
    lengths, extents = pilot.lengths(family), pilot.extents
    if any(value is not None for value in (family, brief.recording_length, brief.n_events, brief.event_rate)):
        density = brief.n_events is not None or brief.event_rate is not None
        rate = brief.event_rate if density else pilot.event_rate
        other = replace(brief, recording_length=brief.recording_length or float(extents.mean()), event_rate=rate)
        return _of_lengths(lengths, other, criteria, cost)
    described = (
        f"all {pilot.n_events:,} events of the pilot, scored as weakly evaluate does with segments from 0 to the end "
        "of every recording"
    )
    scale = 1.0 if brief.total_hours is None else brief.total_hours * 3600.0 / float(extents.sum())
    return LabelingProblem(RecordingModel.of(pilot.timelines, described), criteria, cost, lengths, scale=scale)


def _stretch(task: LabelingProblem, pilot: Pilot | None) -> tuple[Intervals, float]:
    """Events of one stretch of time and its length: from the pilot, or three of low, middle and high length."""
    length = float(min(task.model.longest, 16 * task.lengths.mean))
    if pilot is not None:
        full = (one for one in pilot.timelines[_commonest(pilot)] if len(one[0]))
        events, total = min(full, key=lambda one: abs(len(one[0]) - 3))
        span = min(total, max(length, 1.5 * float(events[0, 1] - events[0, 0])))
        start = float(np.clip(events[0, 0] - 0.08 * span, 0, total - span))
        return clip(events - start, 0.0, span), span
    drawn = np.asarray(task.lengths.quantile(np.array([0.5, 0.25, 0.75])), dtype=np.float64)
    room = max(length - drawn.sum(), 0.0)
    if room == 0:
        return np.array([[0.25 * length, 0.25 * length + min(drawn[0], 0.5 * length)]]), length
    gaps = np.array([0.21, 0.34, 0.26]) * room
    onsets = np.cumsum(gaps) + np.concatenate(([0.0], np.cumsum(drawn[:2])))
    return merge(np.column_stack((onsets, onsets + drawn))), length


def _commonest(pilot: Pilot) -> str:
    """The class with most events."""
    return max(pilot.timelines, key=lambda name: len(pilot.timelines[name].bounds))


def example(task: LabelingProblem, rows: list[MethodOutcome], pilot: Pilot | None) -> dict[str, Any]:
    """Events and, for each of these ways, segments with their labels, in seconds."""
    events, length = _stretch(task, pilot)
    rule = task.criteria.rule or PresenceRule.fraction(task.criteria.middle)
    shown: list[dict[str, Any]] = []

    def show(name: str, segments: Intervals, present: Any) -> None:
        spans, flags = segments.tolist(), np.asarray(present, dtype=bool).tolist()
        if len(spans) <= _MOST and (spans, flags) not in [(each["segments"], each["present"]) for each in shown]:
            shown.append({"name": name, "segments": spans, "present": flags, "n_queries": len(spans)})

    truth = oracle_segments(events, recording_length=length)
    show("oracle", truth, SimulatedAnnotator(rule=PresenceRule.fraction(1.0))(events, truth))
    for made in rows:
        about = f" (the pass of {_commonest(pilot)})" if pilot is not None and made.passes else ""
        design = (made.design.of_class(_commonest(pilot)) if pilot is not None else made.design).same_labels
        width = getattr(design, "segment_length", None)
        if width is None or width >= length or length > _MOST * (made.hop or width):
            continue
        done = run(design, Recording("example", length, events=events), SimulatedAnnotator(rule=rule)).labels
        show(design.words().name + about, done.segments, done.present == 1)
    return {
        "recording_length": length,
        "presence_criterion": task.criteria.middle,
        "rule": rule.name,
        "events": events.tolist(),
        "rows": shown,
    }
