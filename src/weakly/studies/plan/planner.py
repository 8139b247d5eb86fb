"""Lengths or a pilot, who answers and a price in; a :class:`Plan` out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from ...base.errors import InvalidInput
from ...base.results import percent, seconds
from ...base.symbols import check, choice
from ...methods.criteria import UNKNOWN, Criteria
from ...methods.model import Model, RecordingModel, SingleEventModel
from ...methods.outcome import METHODS, UNASKED, WAYS, LabelingDesign, MethodOutcome
from ...methods.problem import COMMON, LabelingProblem
from ...model.annotator import PresenceRule
from ...model.cost import Cost
from ...model.events import Events
from ...model.lengths import Lengths
from ...theory.costs import break_even_events, break_even_overestimation
from ..simulate.simulation import World
from . import summary
from .classes import classes, pass_rows
from .decision import FOUND, Choice, Target, choose, on_the_edge, targets
from .inverse import posterior_rows
from .pilot import Pilot, unknown_lengths, within
from .plan_result import Plan
from .timeline import example
from .uncertainty import Spread, how_sure

OBJECTIVES = ("wrong_time", "overlap", "recording")
_DRAWN = 6_000  # events in drawn recordings
_MOST_DRAWN = 10_000_000  # in one recording: more take too long and too much memory
_LEAST_SECONDS, _MOST_SECONDS = 1e-6, 1e12  # of events and of recordings: beyond them digits are lost
_LONG = 10.0  # seconds: of longer events nobody waits for a share


def plan(
    lengths_or_events: Any,
    *,
    presence_criterion: Any = None,
    rule: Any = None,
    annotator: Any = None,
    recording_length: float | None = None,
    n_events: float | None = None,
    event_rate: float | None = None,
    total_hours: float | None = None,
    examined: Any = None,
    cost: Cost | None = None,
    budget: float | None = None,
    target: Any = None,
    methods: Any = None,
    objective: str = "wrong_time",
    label: str | None = None,
    family: str | None = None,
    posterior: bool = False,
    rng: Any = None,
) -> Plan:
    r"""How to label, how good the labels will be and what they cost: a :class:`Plan`; its ``answer`` says it in words.

    Parameters
    ----------
    lengths_or_events : an event length in seconds, several, a :class:`Lengths` or text such as ``gamma:0.8,loc=0.5``;
        or pilot annotations (:class:`Events`), of which recording lengths and event counts are taken as well.
    presence_criterion, rule, annotator : at most one of them: :math:`\gamma` in (0, 1], several plausible values or a
        frozen scipy law; a :class:`PresenceRule` or its text (``seconds:1``); an :class:`Annotator`. Left out,
        :math:`\gamma` is taken to be 0.3, 0.5 or 0.7, and the plan shows what each would change.
    recording_length : T in seconds. With a pilot, the length of the recordings whose length it does not say; if it says
        all, the length of other recordings to plan for.
    n_events, event_rate : events per recording (1 if neither is given), or event starts per second.
    total_hours : the whole work in hours; left out, one recording, or the pilot's own recordings.
    examined : which parts of a pilot were annotated, {recording: intervals in seconds} or a table; the rest is not.
    cost : a :class:`Cost`; left out, the paper's with :math:`r = 0.5`.
    budget : the most that the whole work may cost.
    target : such as ``"overlap_accuracy>=0.7"``, ``"event_recall>=0.9,wrong_time<=2"``; wrong_time in s per recording.
        Whatever the objective, the cheapest way that meets it and leaves less wrong time than asking nobody.
    methods : some of fixed, windows, bisection, boundary, passes, oracle; left out, all, but boundary only where
        answers hold no noise (with noise it is simulated on a few recordings, if named).
    objective : ``wrong_time``: the least wrong time among ways that find 90 % of events, and the cheapest of those that
        are practically as good (nobody hears everything more than 5 times); ``overlap``: the best accuracy near events
        (Theorem 2); ``recording``: the least wrong time whatever it finds or costs (E7).
    label : one class of the pilot; left out, all of them in one pass.
    family : a scipy family to fit to the pilot's event lengths, ``lognorm`` for example; left out, as observed.
    posterior : whether to work out, for some seconds per row, what :func:`weakly.infer` makes of the same answers:
        ``plan.posterior`` holds wrong time and event time of posterior and painted labels side by side.
    rng : accepted for old scripts; nothing here is left to chance, and the answer does not depend on it.

    Notes
    -----
    Every row is exact on what will be asked: segments start at 0 and the last one is cut, on all events of a pilot, or
    over all places of one event in a recording of the given length. Several events in a recording are drawn (with a
    fixed seed, those that overlap become one), and the row says its standard error.

    Accuracy near events (``overlap_accuracy``) pools the finest pieces of a way that meet an event: fixed segments,
    hops of windows, the shortest segments of halving, steps of the tolerance of a boundary search. Silence further away
    never counts.

    Examples
    --------
    >>> made = plan(1.0, presence_criterion=0.5, recording_length=100, n_events=1, methods="fixed")
    >>> made.recommended.segment_length, made.n_queries, made.equal_range
    (0.8, 125.0, (0.6, 0.8))
    >>> round(plan(1.0, presence_criterion=0.5, recording_length=100, objective="overlap").segment_length, 4)
    0.809
    """
    criteria = Criteria.of(presence_criterion, rule, annotator)
    objective = choice("objective", objective, OBJECTIVES)
    used, wanted = _methods(methods), targets(target)
    if methods is None and not criteria.certain:  # a search with wrong answers is simulated, slowly: only if named
        used = tuple(each for each in used if each != "boundary")
    limit = None if budget is None else float(check("cost", budget, called="budget"))
    price = cost or Cost()
    if not isinstance(price, Cost):
        raise InvalidInput(f"cost must be a Cost, such as Cost(per_second=0.01, per_query=0.05), got {cost!r}")
    brief = WorkSpec.of(
        recording_length=recording_length, n_events=n_events, event_rate=event_rate, total_hours=total_hours
    )
    warned: list[str] = []
    task, pilot = _task(lengths_or_events, brief, criteria, price, label, family, examined, warned)
    asked: dict[str, Any] = {"objective": objective, "wanted": wanted, "budget": limit}
    pool, best = _candidates(task, used, wanted, limit)
    if not any(row.asks for row in pool):
        raise InvalidInput(f"methods {', '.join(used)} leave no way that can be worked out here; allow fixed as well")
    spread = Spread.of(task, pool) if pilot is not None or np.ndim(lengths_or_events) == 1 else None
    picked = choose(pool, noise=None if spread is None or pilot is None else spread.margin, spare=best, **asked)
    sure = None
    if spread is not None and not (pilot is not None and pilot.in_place):
        count = pilot.n_events if pilot is not None else int(np.size(lengths_or_events))
        ruled = objective == "wrong_time" and not wanted
        limits = _limits(objective, wanted)
        sure = how_sure(task, spread, picked.row, n_events=count, limits=limits, ruled=ruled)
    several = None
    if task.n_classes > 1:
        several = classes(task, _common(task, picked.row, pool), pool if "passes" in used else pass_rows(task, used))
    other = _other_rule(task, used, asked, pilot)
    by_criterion = _by_criterion(task, used, asked) if criteria.kind == "unknown" else ()
    settings = _settings(task, brief, pilot, label, wanted, limit, used, objective)
    rows = _shown(task, pool, picked, best, used)
    made = Plan(
        answer="",
        recommended=picked.row,
        reachable=picked.reachable,
        equal_range=_range(picked, pool, best),
        rows=tuple(rows),
        objective=objective,
        assumptions=tuple(summary.assumptions(task, picked, objective=objective, wanted=wanted)),
        warnings=(),
        settings=settings,
        by_criterion=tuple(by_criterion),
        other_rule=other,
        uncertainty=sure,
        classes=several,
        break_even=_break_even(task, float(best.segment_length or 0.0)),
        example=example(task, rows, picked.row, pilot),
        task=task,
        pool=tuple(pool),
        posterior=posterior_rows(task, rows) if posterior else (),
    )
    warned += summary.warnings(task, picked.row)
    return replace(
        made, answer=summary.answer(made, picked, wanted=wanted, budget=limit, pilot=pilot), warnings=tuple(warned)
    )


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


def _methods(methods: Any) -> tuple[str, ...]:
    if methods is None:
        return METHODS
    given = methods.split(",") if isinstance(methods, str) else list(methods)
    used = tuple(choice("methods", str(each).strip(), METHODS) for each in given)
    if not set(used) & set(METHODS[:4]):
        raise InvalidInput(f"methods must hold one of {', '.join(METHODS[:4])}, got {', '.join(used) or 'none'}")
    return used


def _task(
    given: Any, brief: WorkSpec, criteria: Criteria, cost: Cost, label: str | None, family: str | None, examined: Any,
    warned: list[str],
) -> tuple[LabelingProblem, Pilot | None]:  # fmt: skip
    """The work, from pilot annotations or from event lengths."""
    if isinstance(given, Events):
        events = within(given, examined)
        known = not unknown_lengths(events)
        pilot = Pilot.of(events, label, brief.recording_length)
        same = brief.recording_length is not None and np.allclose(pilot.extents, brief.recording_length, rtol=1e-9)
        if same or not known:  # then the length given is that of the pilot's own recordings
            brief = replace(brief, recording_length=None)
        warned += summary.pilot_warnings(pilot)
        return _of_pilot(pilot, brief, criteria, cost, family), pilot
    for name, value in (("label", label), ("family", family), ("examined", examined)):
        if value is not None:
            raise InvalidInput(f"{name} needs pilot annotations, got event lengths")
    lengths = Lengths.parse(given) if isinstance(given, str) else Lengths.of(given)
    return _of_lengths(lengths, brief, criteria, cost), None


def _of_lengths(lengths: Lengths, brief: WorkSpec, criteria: Criteria, cost: Cost) -> LabelingProblem:
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
    return LabelingProblem({"event": model}, criteria, cost, lengths, scale=recordings / model.count)


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
    return RecordingModel.of(timelines, described, drawn=True, silent=n / some - n)


def _of_pilot(pilot: Pilot, brief: WorkSpec, criteria: Criteria, cost: Cost, family: str | None) -> LabelingProblem:
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
    models: dict[str, Model] = {name: RecordingModel.of(each, described) for name, each in pilot.timelines.items()}
    return LabelingProblem(models, criteria, cost, lengths, scale=scale)


def _pool(task: LabelingProblem, used: tuple[str, ...]) -> list[MethodOutcome]:
    """Every way to label that is compared."""
    passes = pass_rows(task, used) if task.n_classes > 1 and "passes" in used else []
    return [*task.candidates(used), *passes, *(task.row(LabelingDesign(each)) for each in UNASKED)]


def _limits(objective: str, wanted: tuple[Target, ...]) -> tuple[Target, ...]:
    """What the choice is held to."""
    told = objective != "wrong_time" or any(each.word == "event_recall" for each in wanted)
    return wanted if told else (*wanted, Target("event_recall", FOUND))


def _candidates(
    task: LabelingProblem, used: tuple[str, ...], wanted: tuple[Target, ...], budget: float | None
) -> tuple[list[MethodOutcome], MethodOutcome]:
    """Every way that can be chosen, and among them the paper's optimum, whose length is not round."""
    best = task.row(LabelingDesign("fixed", task.best_overlap()), note="best accuracy near events (Theorem 2)")
    pool = [best if row.design == best.design else row for row in _pool(task, used)]
    if "fixed" in used and best not in pool:
        pool.append(best)
    return pool + on_the_edge(task, pool, wanted=wanted, budget=budget, methods=used), best


def _elsewhere(task: LabelingProblem, used: tuple[str, ...], asked: dict[str, Any]) -> dict[str, Any] | None:
    """What would be recommended if people answered as this task has it; None where nothing can be worked out."""
    pool, best = _candidates(task, used, asked["wanted"], asked["budget"])
    return choose(pool, spare=best, **asked).row.to_dict() if any(row.asks for row in pool) else None


def _common(task: LabelingProblem, picked: MethodOutcome, pool: list[MethodOutcome]) -> MethodOutcome:
    """Fixed segments of one length for all classes: the recommended ones, or the best of them."""
    if picked.method == "fixed":
        return picked
    fixed = [row for row in (*task.fixed_rows, *pool) if row.method in ("fixed", *UNASKED)]
    best = choose(fixed, objective="wrong_time", wanted=(), budget=None).row
    return best if best.asks else min(task.fixed_rows, key=lambda row: row.wrong_time)


def _range(picked: Choice, pool: list[MethodOutcome], spare: MethodOutcome) -> tuple[float, float] | None:
    """From the shortest to the longest segment around the recommended one with nothing between that is not as good."""
    row = picked.row
    if row.segment_length is None:
        return None
    equal = {each.design for each in picked.equal if each.votes == row.votes} | {row.design}
    same = sorted((each for each in pool if each.alike(row)), key=lambda each: each.segment_length or 0.0)
    made = [row.segment_length]
    for side in (same, same[::-1]):
        here = next(k for k, each in enumerate(side) if each.design == row.design)
        run = takewhile(lambda each: each.design in equal, side[here + 1 :])
        made += [float(each.segment_length or 0.0) for each in run if each is not spare]
    return min(made), max(made)


def _shown(
    task: LabelingProblem, pool: list[MethodOutcome], picked: Choice, best: MethodOutcome, used: tuple[str, ...]
) -> list[MethodOutcome]:
    """The rows of the comparison: the pick, the best of every method, what people use, and the limits."""
    asked: dict[str, Any] = {"objective": "wrong_time", "wanted": (), "budget": None, "spare": best}
    unasked = [row for row in pool if row.method in ("nothing", "everything")]
    rows = [picked.row]
    for method in WAYS:
        own = [row for row in pool if row.method == method]
        if own:  # what the rule of the house takes of it, and what has the least wrong time whatever it finds
            rows += [choose([*own, *unasked], **asked).row, min(own, key=lambda row: (row.wrong_time, row.cost))]
    if "fixed" in used:
        rows.append(best)
        usual = [row for row in task.fixed_rows if row.segment_length in COMMON]
        rows += usual
    rows += unasked
    if "oracle" in used:
        rows.append(task.row(LabelingDesign("oracle")))
    shown: dict[LabelingDesign, MethodOutcome] = {}
    for row in rows:
        shown.setdefault(row.design, row)
    return list(shown.values())


def _by_criterion(task: LabelingProblem, used: tuple[str, ...], asked: dict[str, Any]) -> list[dict[str, Any]]:
    """What would be recommended if the criterion were known to be this."""
    made = []
    for value in UNKNOWN:
        own = replace(task, criteria=Criteria.of(value))
        if row := _elsewhere(own, used, asked):
            made.append({"presence_criterion": value, **row})
    return made


def _other_rule(
    task: LabelingProblem, used: tuple[str, ...], asked: dict[str, Any], pilot: Pilot | None
) -> dict[str, Any] | None:
    """What a rule in seconds would make of the plan where nobody waits for a share of an event: of long events, or of
    frames that touch and were joined."""
    long = 1 - float(task.lengths.partial_moments(_LONG)[0])
    if task.criteria.kind == "rule":
        return None
    if pilot is not None and pilot.frames:
        why = "Frames that touch were joined"
    elif task.lengths.mean > _LONG:
        why = f"Events of {seconds(task.lengths.mean)} are long"
    elif long > 0.2:
        why = f"{percent(long)} of events last more than {seconds(_LONG)}"
    else:
        return None
    own = replace(task, criteria=Criteria.of(rule=PresenceRule.seconds(1.0)))
    row = _elsewhere(own, used, asked)
    return {"rule": "seconds:1", "why": why, **row} if row else None


def _break_even(task: LabelingProblem, segment_length: float) -> dict[str, Any]:
    """Up to how many events, and which overestimation, following the events costs less than fixed segments."""
    where: dict[str, Any] = {"recording_length": task.recording_length, "segment_length": segment_length}
    return {
        "segment_length": segment_length,
        "n_events": {s: float(break_even_events(overestimation=s, **where)) for s in (1, 2, 4, 8)},
        "overestimation": float(break_even_overestimation(n_events=task.n_events, **where)),
    }


def _settings(
    task: LabelingProblem, brief: WorkSpec, pilot: Pilot | None, label: str | None, wanted: tuple[Target, ...],
    budget: float | None, used: tuple[str, ...], objective: str,
) -> dict[str, Any]:  # fmt: skip
    low, high = task.criteria.plausible
    values = task.criteria.who.criteria
    lengths = task.lengths
    return {
        "lengths": lengths.name,
        "event_length_mean": lengths.mean,
        "event_length_std": lengths.std,
        "event_length_quartiles": [lengths.quantile(p) for p in (0.25, 0.5, 0.75)],
        "presence_criterion": task.criteria.middle if values is None else values.tolist(),
        "presence_criterion_name": task.criteria.name,
        "presence_criterion_plausible": [low, high],
        "rule": task.criteria.name if task.criteria.kind == "rule" else None,
        "recording_length": task.recording_length,
        "n_recordings": task.n_recordings,
        "n_events": task.n_events,
        "event_time": task.event_time,
        "total_seconds": task.total,
        "total_hours": brief.total_hours,
        "pilot": None
        if pilot is None
        else {
            "n_events": pilot.n_events,
            "n_recordings": len(pilot.extents),
            "n_censored": pilot.n_cut,
            "n_unknown_lengths": pilot.n_unknown,
            "n_joined": pilot.n_joined,
        },
        "label": label,
        "labels": list(task.models) if pilot is not None else [],
        "cost": {
            "query_cost_share": task.cost.query_cost_share,
            "per_second": task.cost.per_second,
            "per_query": task.cost.per_query,
            "currency": task.cost.currency,
            "annotators": task.cost.annotators,
        },
        "budget": budget,
        "target": [each.text for each in wanted],
        "objective": objective,
        "methods": list(used),
        "model": {SingleEventModel: "one event", RecordingModel: "recordings"}[type(task.model)],
    }
