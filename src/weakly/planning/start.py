"""From arguments to the work: lengths or a pilot, a density and a price make a :class:`Task`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..cost import Cost
from ..errors import InvalidInput
from ..lengths import Lengths
from ..symbols import check
from .criteria import Criteria
from .methods import fixed, halving, percent, window
from .pilot import Pilot
from .sparse import Sparse
from .task import Row, Task

#: Above this share of events with another in a segment's reach, the closed forms for single events are not used.
DENSE = 0.01
#: Events on which the search is done; what is shown is computed on all of them.
DRAFT = 3_000


@dataclass(frozen=True)
class Brief:
    """What is known of the work besides event lengths, checked."""

    criteria: Criteria
    cost: Cost
    objective: str
    recording_length: float | None
    n_events: float | None
    event_rate: float | None
    total_hours: float | None

    @classmethod
    def of(cls, *, recording_length: Any, n_events: Any, event_rate: Any, total_hours: Any, **rest: Any) -> Brief:
        """The brief from the arguments of a public function."""
        if n_events is not None and event_rate is not None:
            raise InvalidInput("give n_events (per recording) or event_rate (per second), not both")
        given = {
            "recording_length": ("recording_length", recording_length),
            "n_events": ("n_events", n_events),
            "event_rate": ("event_rate", event_rate),
            "total_hours": ("recording_length", total_hours),
        }
        made: dict[str, Any] = {
            name: None if value is None else float(check(symbol, value, called=name))
            for name, (symbol, value) in given.items()
        }
        for name, value in made.items():
            if value is not None and not np.isfinite(value):
                raise InvalidInput(f"{name} must be finite, got {value}")
        if made["n_events"] == 0 or made["event_rate"] == 0:
            raise InvalidInput("n_events must be > 0: without events there is nothing to find")
        return cls(**made, **rest)


@dataclass(frozen=True)
class Start:
    """The task to search on, the task to show (on all recordings; the same if there are few), and what is behind it."""

    task: Task
    shown: Task
    models: dict[str, Any]  # per class, of the task to search on
    pilot: Pilot | None = None

    @property
    def shrink(self) -> float:
        """By how much bands from the searched recordings are too wide for all of them."""
        few, every = (getattr(each.model, "n_recordings", 1) for each in (self.task, self.shown))
        return float(np.sqrt(few / every))


def from_lengths(lengths: Lengths, brief: Brief) -> Task:
    """The task of events with these lengths that fall anywhere in a recording, far from each other."""
    total = brief.recording_length
    if total is None:
        if brief.total_hours is None:
            raise InvalidInput("recording_length must be given in seconds (or total_hours, or pilot annotations)")
        total = brief.total_hours * 3600.0
    count = brief.event_rate * total if brief.event_rate is not None else brief.n_events or 1.0
    recordings = 1.0 if brief.total_hours is None else brief.total_hours * 3600.0 / total
    if lengths.mean > total:
        raise InvalidInput(
            f"recording_length must be longer than an event, got {total:g} s for events of {lengths.mean:g} s"
        )
    return Task(
        model=Sparse(lengths, recording_length=total, n_events=count),
        lengths=lengths,
        criteria=brief.criteria,
        cost=brief.cost,
        objective=brief.objective,
        recordings=np.array([total]),
        counts=np.array([recordings]),
        n_events=count,
        n_placed=count,
        labels=(),
    )


def drawn_if_dense(task: Task, *, poisson: bool, rng: np.random.Generator) -> Start:
    """The same task, with drawn recordings for a model where events come closer to each other than a segment."""
    total, count = task.recording_length, task.n_events
    reach = task.lengths.mean + max(min(10.0, total), task.optimum)
    neighbours = count if poisson else max(count - 1, 0.0)
    if neighbours * reach / total <= DENSE:
        return Start(task, task, {})
    from .dense import Exact, drawn

    timelines = drawn(task.lengths, recording_length=total, n_events=count, poisson=poisson, rng=rng)
    described = (
        f"the Boolean model: {len(timelines):,} recordings drawn with {count:.3g} events anywhere in each (those that "
        "overlap are one), scored exactly over every phase of the grid, as events come closer than a segment is long"
    )
    joined = Lengths.sample(timelines.bounds[:, 1] - timelines.bounds[:, 0], name=task.lengths.name)
    few = max(20, int(len(timelines) * min(1.0, DRAFT / len(timelines.bounds))))
    each = len(timelines.bounds) / len(timelines)
    search, shown = (
        replace(task, model=Exact(part, described, task.criteria), lengths=joined, n_events=each)
        for part in (timelines.part(0, few), timelines)
    )
    return Start(search, shown, {})


def from_pilot(pilot: Pilot, brief: Brief, *, family: str | None, rng: np.random.Generator, warned: list[str]) -> Start:
    """The task of more work like the pilot's, scored on the pilot's own events unless another work is described."""
    lengths = pilot.lengths(family)
    cut = float(pilot.censored.mean())
    if cut > 0.05:
        warned.append(
            f"{percent(cut)} of the pilot's events are cut by the ends of their recordings; in truth they are longer."
        )
    if pilot.n_unknown:
        warned.append(
            f"The length of {pilot.n_unknown:,} recordings is unknown; each is taken to end with its last event, "
            "which leaves out the silence after it."
        )
    extents = pilot.extents
    if not (family is brief.recording_length is brief.n_events is brief.event_rate is None):
        density = brief.n_events is not None or brief.event_rate is not None
        rate = brief.event_rate if density else pilot.n_events / float(extents.sum())
        other = replace(brief, recording_length=brief.recording_length or float(extents.mean()), event_rate=rate)
        return replace(drawn_if_dense(from_lengths(lengths, other), poisson=rate is not None, rng=rng), pilot=pilot)
    from .dense import Exact, Pooled

    described = f"the exact expectation on the pilot's own {pilot.n_events:,} events, over every phase of the grid"
    scale = 1.0 if brief.total_hours is None else brief.total_hours * 3600.0 / float(extents.sum())
    recordings, counts = np.unique(extents, return_counts=True)

    def task(timelines: dict[str, Any]) -> tuple[Task, dict[str, Any]]:
        models = {name: Exact(each, described, brief.criteria) for name, each in timelines.items()}
        made = Task(
            model=Pooled(models) if len(models) > 1 else next(iter(models.values())),
            lengths=lengths,
            criteria=brief.criteria,
            cost=brief.cost,
            objective=brief.objective,
            recordings=recordings,
            counts=np.asarray(counts * scale, dtype=np.float64),
            n_events=pilot.n_events / len(extents),
            n_placed=pilot.n_events / len(extents),
            labels=tuple(models),
        )
        return made, models

    part = pilot.part(DRAFT, rng)
    shown, models = task(pilot.timelines)
    if part is None:
        return Start(shown, shown, models, pilot)
    search, models = task(part)
    return Start(search, shown, models, pilot)


def again(task: Task, made: Row) -> Row:
    """The same way to work, with its quality computed on all recordings instead of some of them."""
    width, settings = made["segment_length"], made["settings"]
    if made["method"] == "fixed":
        return fixed(task, [width], [made["name"]])[0]
    if made["method"] == "windows":
        hop, per_cell, needed = (settings[name] for name in ("hop", "windows_per_cell", "votes_needed"))
        return window(task, task.model.windows([hop], per_cell, needed, task.criteria), 0, hop, per_cell, needed)
    if made["method"] == "bisection":
        ladder, level = width * 2.0 ** np.arange(settings["levels"] + 1), settings["levels"]
        sums = task.model.fixed([width], task.criteria)
        return halving(task, sums, 0, ladder, level, made["n_queries"], made["listened"])
    return made
