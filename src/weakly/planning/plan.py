"""The door of planning: arguments in, a :class:`Plan` out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..cost import Cost
from ..errors import InvalidInput
from ..lengths import Lengths
from ..symbols import check, choice
from . import words
from .classes import classes
from .criteria import Criteria
from .methods import METHODS, compare, percent
from .pilot import Pilot
from .result import Plan
from .start import Brief, Start, again, drawn_if_dense, from_lengths, from_pilot
from .stretch import example
from .targets import choose, targets
from .task import Row, Task
from .uncertainty import advice, how_sure, sensitivity


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
    r"""How to label, how good the labels will be and what they cost: a :class:`Plan`; its ``answer`` says it in words.

    Parameters
    ----------
    lengths_or_events : an event length in seconds, several, a :class:`Lengths` or text such as ``gamma:0.8,loc=0.5``;
        or pilot annotations (:class:`Events`), of which recording lengths and event counts are taken as well.
    presence_criterion : :math:`\gamma` in (0, 1]; several plausible values; a frozen scipy law; an :class:`Annotator`.
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
    brief = Brief.of(
        recording_length=recording_length,
        n_events=n_events,
        event_rate=event_rate,
        total_hours=total_hours,
        criteria=criteria,
        cost=price,
        objective=objective,
    )
    warned: list[str] = []
    start = _start(lengths_or_events, brief, label=label, family=family, rng=generator, warned=warned)
    task, pilot = start.task, start.pilot
    rows = compare(task, used)
    chosen = choose(task, rows, methods=used, wanted=wanted, budget=limit)
    if start.shown is not task:
        rows = [again(start.shown, made) for made in rows]
        chosen = replace(chosen, row=again(start.shown, chosen.row))
    inputs = _inputs(task, pilot, label, criteria, limit, wanted, total_hours, used)
    width = chosen.row["segment_length"] or task.optimum
    sure = how_sure(start, lengths_or_events, generator, width)
    several = classes(task, start.models) if len(start.models) > 1 else None
    _warn(task, chosen.row, warned)
    stretch = None if pilot is None else max(pilot.timelines.values(), key=lambda each: len(each.bounds))
    return Plan(
        answer=words.answer(task, chosen, rows, wanted=wanted, budget=limit, advice=advice(sure, several)),
        recommended=chosen.row,
        reachable=chosen.reachable,
        rows=tuple(rows),
        objective=objective,
        assumptions=tuple(words.assumptions(task, inputs=inputs, wanted=wanted)),
        warnings=tuple(warned),
        inputs=inputs,
        curve=tuple(_curve(task)),
        sensitivity=tuple(sensitivity(task, width)),
        uncertainty=sure,
        classes=several,
        example=example(task, rows, chosen.row, stretch, generator),
        task=task,
        pool=tuple(chosen.pool),
    )


def _start(
    given: Any, brief: Brief, *, label: str | None, family: str | None, rng: np.random.Generator, warned: list[str]
) -> Start:
    """The work, from pilot annotations or from event lengths."""
    if hasattr(given, "timelines"):
        pilot = Pilot.of(given, label, brief.recording_length)
        if given.recordings["length"].isna().any():  # then the length given is that of the pilot's own recordings
            brief = replace(brief, recording_length=None)
        return from_pilot(pilot, brief, family=family, rng=rng, warned=warned)
    if label is not None:
        raise InvalidInput("label needs pilot annotations with classes, got event lengths")
    if family is not None:
        raise InvalidInput("family needs pilot annotations to fit, got event lengths; give Lengths.fit(values)")
    lengths = Lengths.parse(given) if isinstance(given, str) else Lengths.of(given)
    return drawn_if_dense(from_lengths(lengths, brief), poisson=brief.event_rate is not None, rng=rng)


def _methods(methods: Any) -> tuple[str, ...]:
    if methods is None:
        return METHODS
    given = methods.split(",") if isinstance(methods, str) else list(methods)
    used = tuple(choice("methods", str(each).strip(), METHODS) for each in given)
    if not set(used) & {"fixed", "windows", "bisection"}:
        raise InvalidInput(f"methods must hold one of fixed, windows or bisection, got {', '.join(used) or 'none'}")
    return used


def _inputs(
    task: Task,
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
        "n_events_placed": task.n_placed,
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


def _warn(task: Task, chosen: Row, warned: list[str]) -> None:
    if chosen["event_recall"] < 0.9:
        warned.append(
            f"Accuracy near events hides lost events: {percent(1 - chosen['event_recall'])} of events are never "
            "labelled present."
        )
    if chosen["wrong_time"] >= task.event_time * (1 - 1e-9):
        warned.append("These labels hold as much wrong time as labelling nothing present would.")
    top = float(task.recordings.max())
    if chosen["method"] == "fixed" and chosen["segment_length"] >= 0.5 * top:
        warned.append("The segment is about as long as a recording: events fill most of it, and little else matters.")
