"""The door of planning: arguments in, a :class:`Plan` out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..cost import Cost
from ..errors import InvalidInput
from ..lengths import Lengths
from ..symbols import check, choice
from . import uncertainty, words
from .criteria import Criteria
from .methods import METHODS, bisection, compare, fixed, percent, seconds, windows
from .pilot import Pilot
from .result import Plan
from .sparse import Sparse
from .stretch import example
from .targets import choose, targets
from .task import Row, Task

#: Above this share of events with another one within a segment's reach, the closed forms for single events are not used.
DENSE = 0.01
_DRAFT = 20_000  # events on which a large pilot is searched; what is shown is computed on all of it


def plan(
    lengths_or_events: Any,
    *,
    presence_criterion: Any,
    recording_length: float | None = None,
    n_events: float | None = None,
    event_rate: float | None = None,
    total_hours: float | None = None,
    cost: Cost | None = None,
    budget: float | None = None,
    target: Any = None,
    methods: Any = None,
    objective: str = "overlap",
    label: str | None = None,
    family: str | None = None,
    rng: Any = None,
) -> Plan:
    r"""How to label, how good the labels will be and what they cost: a :class:`Plan`, whose ``answer`` says it in words.

    Parameters
    ----------
    lengths_or_events : an event length in seconds, several, a :class:`Lengths` or text such as ``gamma:0.8,loc=0.5``; or
        pilot annotations (:class:`Events`), of which recording lengths and event counts are taken as well.
    presence_criterion : :math:`\gamma` in (0, 1]; several plausible values; a frozen scipy law; or an :class:`Annotator`.
    recording_length : T in seconds. With a pilot, the length of the recordings whose length it does not say; if it says
        all, the length of other recordings to plan for.
    n_events, event_rate : events per recording (1 if neither is given), or event starts per second.
    total_hours : the whole work in hours; left out, one recording, or the pilot's own recordings.
    cost : a :class:`Cost`; left out, the paper's with :math:`r = 0.5`.
    budget : the most that the whole work may cost.
    target : such as ``"overlap_accuracy>=0.7"``, ``"event_recall>=0.9,wrong_time<=2"``; wrong_time in s per recording.
    methods : some of fixed, windows, bisection, change-point, oracle; left out, all.
    objective : ``overlap`` for the best accuracy near events (Theorem 2), ``recording`` for the least wrong time (E7).
    label : one class of the pilot; left out, all of them in one pass.
    family : a scipy family to fit to the pilot's event lengths, ``lognorm`` for example; left out, as observed.
    rng : seed or generator for the bootstrap and for drawn recordings; left out, 0, so that a plan is repeatable.

    Notes
    -----
    One event per recording, or events far apart: Theorems 1 to 5 of the paper, corrected (E6, E7), for any law of
    lengths. A pilot is scored exactly on its own events, over every phase of the grid. Where events come close to each
    other (E24), recordings are drawn with that density and scored exactly. Accuracy near events is pooled over all
    segments that meet an event and never stands without the share of events found (E32).

    Examples
    --------
    >>> made = plan(1.0, presence_criterion=0.5, recording_length=100, n_events=1)
    >>> round(made.segment_length, 4), round(made.overlap_accuracy, 4), made.n_queries
    (0.809, 0.7639, 124.0)
    >>> made.answer[:23]
    'Label 0.81 s segments: '
    """
    criteria = Criteria.of(presence_criterion)
    objective = choice("objective", objective, ("overlap", "recording"))
    used = _methods(methods)
    wanted = targets(target)
    limit = None if budget is None else float(check("cost", budget, called="budget"))
    generator = np.random.default_rng(0 if rng is None else rng)
    price = cost or Cost()
    if not isinstance(price, Cost):
        raise InvalidInput(f"cost must be a Cost, such as Cost(per_second=0.01, per_query=0.05), got {cost!r}")
    density = _density(recording_length, n_events, event_rate, total_hours)
    warned: list[str] = []
    full = None
    pilot = None
    if hasattr(lengths_or_events, "timelines"):
        unknown = bool(lengths_or_events.recordings["length"].isna().any())
        pilot = Pilot.of(lengths_or_events, label, density["recording_length"])
        if unknown:  # then the length given is that of the pilot's own recordings
            density["recording_length"] = None
        task, full, models = _from_pilot(
            pilot, density, criteria, price, objective, family, total_hours, generator, warned
        )
    else:
        if label is not None:
            raise InvalidInput("label needs pilot annotations with classes, got event lengths")
        if family is not None:
            raise InvalidInput("family needs pilot annotations to fit, got event lengths; give Lengths.fit(values)")
        lengths = (
            Lengths.parse(lengths_or_events) if isinstance(lengths_or_events, str) else Lengths.of(lengths_or_events)
        )
        task = _from_lengths(lengths, density, criteria, price, objective, total_hours, generator)
        models = {}
    rows = compare(task, used)
    chosen = choose(task, rows, methods=used, wanted=wanted, budget=limit)
    if full is not None:
        rows = [_again(full, made) for made in rows]
        chosen = replace(chosen, row=_again(full, chosen.row))
        task = replace(full)
    inputs = _inputs(task, lengths_or_events, pilot, label, criteria, limit, wanted, total_hours, used)
    width = chosen.row["segment_length"] or task.optimum
    sure = _how_sure(task, pilot, lengths_or_events, models, generator, width)
    several = _classes(task, models) if len(models) > 1 else None
    _warn(task, chosen.row, warned)
    stretch = None if pilot is None else max(pilot.timelines.values(), key=lambda each: len(each.bounds))
    return Plan(
        answer=words.answer(task, chosen, rows, wanted=wanted, budget=limit, advice=_advice(sure, several)),
        recommended=chosen.row,
        reachable=chosen.reachable,
        rows=tuple(rows),
        objective=objective,
        assumptions=tuple(words.assumptions(task, inputs=inputs, wanted=wanted)),
        warnings=tuple(warned),
        inputs=inputs,
        curve=tuple(_curve(task)),
        sensitivity=tuple(uncertainty.sensitivity(task, width)),
        uncertainty=sure,
        classes=several,
        example=example(task, rows, chosen.row, stretch, generator),
        task=task,
        pool=tuple(chosen.pool),
    )


def _methods(methods: Any) -> tuple[str, ...]:
    if methods is None:
        return METHODS
    given = methods.split(",") if isinstance(methods, str) else list(methods)
    used = tuple(choice("methods", str(each).strip(), METHODS) for each in given)
    if not set(used) & {"fixed", "windows", "bisection"}:
        raise InvalidInput(f"methods must hold one of fixed, windows or bisection, got {', '.join(used) or 'none'}")
    return used


def _density(length: Any, count: Any, rate: Any, hours: Any) -> dict[str, float | None]:
    if count is not None and rate is not None:
        raise InvalidInput("give n_events (per recording) or event_rate (per second), not both")
    made = {
        "recording_length": None if length is None else float(check("recording_length", length)),
        "n_events": None if count is None else float(check("n_events", count)),
        "event_rate": None if rate is None else float(check("event_rate", rate)),
        "total_hours": None if hours is None else float(check("recording_length", hours, called="total_hours")),
    }
    for name, value in made.items():
        if value is not None and not np.isfinite(value):
            raise InvalidInput(f"{name} must be finite, got {value}")
    if made["n_events"] == 0 or made["event_rate"] == 0:
        raise InvalidInput("n_events must be > 0: without events there is nothing to find")
    return made


def _from_lengths(
    lengths: Lengths,
    density: dict[str, float | None],
    criteria: Criteria,
    price: Cost,
    objective: str,
    total_hours: float | None,
    rng: np.random.Generator,
) -> Task:
    """The task of events with these lengths that fall anywhere in a recording."""
    total = density["recording_length"]
    if total is None:
        if total_hours is None:
            raise InvalidInput("recording_length must be given in seconds (or total_hours, or pilot annotations)")
        total = total_hours * 3600.0
    rate = density["event_rate"]
    count = rate * total if rate is not None else density["n_events"] or 1.0
    recordings = 1.0 if total_hours is None else max(total_hours * 3600.0 / total, 1e-9)
    if lengths.mean > total:
        raise InvalidInput(
            f"recording_length must be longer than an event, got {total:g} s for events of {lengths.mean:g} s on average"
        )
    task = Task(
        model=Sparse(lengths, recording_length=total, n_events=count),
        lengths=lengths,
        criteria=criteria,
        cost=price,
        objective=objective,
        recordings=np.array([total]),
        counts=np.array([recordings]),
        n_events=count,
        labels=(),
    )
    reach = lengths.mean + max(min(10.0, total), task.optimum)
    neighbours = count if rate is not None else max(count - 1, 0.0)
    if neighbours * reach / total <= DENSE:
        return task
    from .dense import Exact, drawn

    timelines = drawn(lengths, recording_length=total, n_events=count, rng=rng)
    described = (
        f"{len(timelines):,} recordings were drawn with {count:.3g} events placed anywhere (those that overlap are one) "
        "and scored exactly over every phase of the grid, as events come closer to each other than a segment is long"
    )
    joined = Lengths.sample(timelines.bounds[:, 1] - timelines.bounds[:, 0], name=lengths.name)
    return replace(
        task, model=Exact(timelines, described), lengths=joined, n_events=len(timelines.bounds) / len(timelines)
    )


def _from_pilot(
    pilot: Pilot,
    density: dict[str, float | None],
    criteria: Criteria,
    price: Cost,
    objective: str,
    family: str | None,
    total_hours: float | None,
    rng: np.random.Generator,
    warned: list[str],
) -> tuple[Task, Task | None, dict[str, Any]]:
    """The task of more work like the pilot's; for a large one also the task to show, and the models of the classes."""
    lengths = pilot.lengths(family)
    cut = float(pilot.censored.mean())
    if cut > 0.05:
        warned.append(
            f"{percent(cut)} of the pilot's events are cut by the ends of their recordings; their true lengths are longer."
        )
    if pilot.n_unknown:
        warned.append(
            f"The length of {pilot.n_unknown:,} recordings is unknown; each is taken to end with its last event, "
            "which leaves out the silence after it."
        )
    extents = pilot.extents
    if family is not None or any(density[name] is not None for name in ("recording_length", "n_events", "event_rate")):
        mean = float(extents.mean())
        total = density["recording_length"] or mean
        made = dict(density, recording_length=total)
        if made["n_events"] is None and made["event_rate"] is None:
            made["event_rate"] = pilot.n_events / float(extents.sum())
        return _from_lengths(lengths, made, criteria, price, objective, total_hours, rng), None, {}
    from .dense import Exact, Pooled

    described = f"the exact expectation on the pilot's own {pilot.n_events:,} events, over every phase of the grid"
    scale = 1.0 if total_hours is None else total_hours * 3600.0 / float(extents.sum())
    recordings, counts = np.unique(extents, return_counts=True)
    if recordings.size > 2000:  # so many different lengths are kept to a thousandth
        recordings, counts = np.unique(np.round(extents, 1 - int(np.log10(extents.max()))), return_counts=True)

    def task(timelines: dict[str, Any]) -> tuple[Task, dict[str, Any]]:
        models = {name: Exact(each, described) for name, each in timelines.items()}
        made = Task(
            model=Pooled(models) if len(models) > 1 else next(iter(models.values())),
            lengths=lengths,
            criteria=criteria,
            cost=price,
            objective=objective,
            recordings=recordings,
            counts=counts * scale,
            n_events=pilot.n_events / len(extents),
            labels=tuple(models),
        )
        return made, models

    full, models = task(pilot.timelines)
    part = pilot.part(_DRAFT, rng)
    if part is None:
        return full, None, models
    draft, _ = task(part)
    # The optimum and the curve are searched on the draft; both tasks share them.
    object.__setattr__(full, "grid", draft.grid)
    object.__setattr__(full, "on_grid", draft.on_grid)
    object.__setattr__(full, "optimum", draft.optimum)
    return draft, full, models


def _again(task: Task, made: Row) -> Row:
    """The same way to work, computed on all of the pilot."""
    if made["method"] == "fixed":
        return fixed(task, [made["segment_length"]], [made["name"]])[0]
    if made["method"] == "windows":
        return windows(task, made["settings"]["windows_per_cell"], [made["settings"]["hop"]])[0]
    if made["method"] == "bisection":
        return bisection(task, [made["segment_length"]])[0]
    return made


def _inputs(
    task: Task,
    given: Any,
    pilot: Pilot | None,
    label: str | None,
    criteria: Criteria,
    budget: float | None,
    wanted: tuple[Any, ...],
    total_hours: float | None,
    used: tuple[str, ...],
) -> dict[str, Any]:
    low, high = criteria.plausible
    return {
        "lengths": task.lengths.name,
        "event_length_mean": task.lengths.mean,
        "event_length_std": task.lengths.std,
        "event_length_quartiles": [task.lengths.quantile(p) for p in (0.25, 0.5, 0.75)],
        "presence_criterion": criteria.values.tolist() if criteria.kind != "law" else criteria.middle,
        "presence_criterion_name": criteria.name,
        "presence_criterion_plausible": [low, high],
        "recording_length": task.recording_length,
        "n_recordings": task.n_recordings,
        "n_events": task.n_events,
        "total_seconds": task.total,
        "total_hours": total_hours,
        "pilot": None
        if pilot is None
        else {
            "n_events": pilot.n_events,
            "n_recordings": len(pilot.extents),
            "n_censored": int(pilot.censored.sum()),
            "n_unknown_lengths": pilot.n_unknown,
        },
        "label": label,
        "labels": list(task.labels),
        "cost": {
            "query_cost_share": task.cost.query_cost_share,
            "per_second": task.cost.per_second,
            "per_query": task.cost.per_query,
            "currency": task.cost.currency,
            "annotators": task.cost.annotators,
        },
        "budget": budget,
        "target": [each.text for each in wanted],
        "methods": list(used),
        "model": task.model.name,
    }


def _curve(task: Task) -> list[Row]:
    """Quality and cost over segment length, for drawing; with a band where the criterion is not one known value."""
    inside = (task.grid >= task.optimum / 30) & (task.grid <= max(30 * task.optimum, 12.0))
    found = task.on_grid.words()
    queries = task.segments(task.grid) * task.n_classes
    low, high = task.criteria.plausible
    bands = {}
    if task.criteria.kind != "known":
        bands = {
            end: task.model.fixed(task.grid[inside], task.criteria.only(g)).words()
            for end, g in (("low", low), ("high", high))
        }
    rows = []
    for n, k in enumerate(np.flatnonzero(inside)):
        row: Row = {"segment_length": float(task.grid[k]), **{word: float(each[k]) for word, each in found.items()}}
        row["n_queries"] = float(queries[k])
        row["cost"] = float(task.cost.of(listened=task.total, n_queries=queries[k]))
        for end, each in bands.items():
            row |= {f"{word}_{end}": float(each[word][n]) for word in ("overlap_accuracy", "event_recall")}
        rows.append(row)
    return rows


def _how_sure(
    task: Task, pilot: Pilot | None, given: Any, models: dict[str, Any], rng: np.random.Generator, width: float
) -> dict[str, Any] | None:
    """Bands from the pilot and how many pilot events would be enough; None for one known event length."""
    if task.lengths.values is not None and task.lengths.values.size == 1 and pilot is None:
        return None
    made: dict[str, Any] = {}
    if pilot is not None and models and len(pilot.extents) >= 8:
        made = uncertainty.bands_from_recordings(
            task,
            lambda widths: task.model.per_recording(widths, task.criteria),
            pilot.n_events,
            rng,
            width,  # type: ignore[attr-defined]
        )
    elif pilot is not None or np.ndim(given) == 1:
        n = pilot.n_events if pilot is not None else int(np.size(given))
        if n > 1:
            made = uncertainty.bands_from_lengths(task, n, rng, width)
    made |= uncertainty.pilot_sizes(task, rng)
    enough = made["enough"]
    made["words"] = (
        f"{enough:,} pilot events are enough: nine of ten pilots of that size lose less than a hundredth of the score by "
        "choosing their segment length."
        if enough is not None
        else "Even 1,000 pilot events would not settle the segment length to within a hundredth of the score."
    )
    return made


def _advice(sure: dict[str, Any] | None, several: dict[str, Any] | None) -> list[str]:
    said = []
    if sure and "segment_length_ci" in sure and (sure["enough"] is None or sure["n_events"] < sure["enough"]):
        low, high = sure["segment_length_ci"]
        more = f"; {sure['enough']:,} would be enough" if sure["enough"] is not None else ""
        said.append(
            f"The {sure['n_events']:,} pilot events leave the best length between {seconds(low)} and {seconds(high)}{more}."
        )
    if several:
        said.append(several["words"])
    return said


def _classes(task: Task, models: dict[str, Any]) -> dict[str, Any]:
    from .classes import passes, per_class

    table = per_class(task, models)
    grouped = passes(task, models) if len(models) <= 40 else []
    if len(grouped) < 2:
        return {"per_class": table, "passes": grouped, "words": "One segment length serves all classes in one pass."}
    one, each = grouped[0], grouped[-1]
    saved = 1 - each["wrong_time"] / one["wrong_time"] if one["wrong_time"] > 0 else 0.0
    gain = each["overlap_accuracy"] - one["overlap_accuracy"]
    worth = (
        f"{'raise' if gain >= 0 else 'lower'} accuracy near events by {abs(100 * gain):.1f} points and "
        f"{'cut' if saved >= 0 else 'raise'} the wrong time by {percent(abs(saved))}"
    )
    said = (
        f"A segment length for each {'group of classes' if each['n_passes'] < len(models) else 'class'} "
        f"({each['n_passes']} passes) would {worth} for {each['cost'] / one['cost']:.1f} times the cost of one length for all."
    )
    return {"per_class": table, "passes": grouped, "words": said}


def _warn(task: Task, chosen: Row, warned: list[str]) -> None:
    if chosen["event_recall"] < 0.9:
        warned.append(
            f"Accuracy near events hides lost events: {percent(1 - chosen['event_recall'])} of events are never labelled present."
        )
    if chosen["wrong_time"] >= task.event_time * (1 - 1e-9):
        warned.append("These labels hold as much wrong time as labelling nothing present would.")
    top = float(task.recordings.max())
    if chosen["method"] == "fixed" and chosen["segment_length"] >= 0.5 * top:
        warned.append(
            "The best segment is about as long as a recording: events fill so much of it that where they are matters little."
        )
