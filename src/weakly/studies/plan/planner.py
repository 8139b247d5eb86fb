"""Lengths or a pilot, who answers and a price in; a :class:`Plan` out."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...base.errors import InvalidInput
from ...base.results import Condition
from ...base.symbols import check, choice
from ...methods import METHODS
from ...methods.base import Method
from ...methods.by_hand import Screening
from ...methods.fixed import Fixed, Oracle
from ...methods.model import RecordingModel, SingleEventModel
from ...methods.passes import Passes, classes
from ...methods.problem import COMMON, FOUND, PAPER, LabelingProblem, MethodOutcome
from ...model.answer_model import UNKNOWN, AnswerLike, AnswerModels
from ...model.cost import Cost
from ...model.intervals import Floats
from ...model.lengths import LengthLike
from . import summary
from .decision import ROLES, SENSES, Choice, PilotVariation, choose, decide, how_sure, verdict
from .pilot import Pilot, WorkSpec, example, work
from .plan_result import Plan, PlanChoice

if TYPE_CHECKING:
    import pandas as pd

OBJECTIVES = ("wrong_time", "overlap")
_LONG = 5.0  # seconds: of longer events nobody waits for a share
SLIPS = 0.03  # guesses, and lapses, of people of whom nothing is known
TOOLS = ("audacity", "raven", "labelstudio", "birdnet", "any")


def plan(
    event_length: LengthLike,
    *,
    presence_criterion: AnswerLike | None = None,
    rule: AnswerLike | None = None,
    annotator: AnswerLike | None = None,
    recording_length: float | None = None,
    n_events: float | None = None,
    event_rate: float | None = None,
    total_hours: float | None = None,
    examined: Mapping[str, Sequence[Sequence[float]] | Floats] | pd.DataFrame | None = None,
    cost: Cost | None = None,
    budget: float | None = None,
    target: str | Sequence[str | Condition] | Mapping[str, float] | None = None,
    methods: str | Method | Sequence[str | Method] | None = None,
    objective: str = "wrong_time",
    label: str | None = None,
    family: str | None = None,
    segment_length: float | Sequence[float] | None = None,
    tools: str | Sequence[str] | None = None,
) -> Plan:
    r"""How to label, how good the labels will be and what they cost: a :class:`Plan`; its ``answer`` says it in words.

    Parameters
    ----------
    event_length : an event length in seconds, several, a :class:`Lengths` or text such as ``gamma:0.8,loc=0.5``;
        or pilot annotations (:class:`Events`), of which recording lengths and event counts are taken as well.
    presence_criterion, rule, annotator : at most one of them, as in :func:`evaluate`; of several, each is as likely as
        the others. Left out, a second or half of an event is noticed, whichever comes first
        (``"seconds:1|fraction:0.5"``), 3 % of answers are slips where a label rests on several of them, and the plan
        says what others would change.
    recording_length : T in seconds. With a pilot, the length of the recordings whose length it does not say; if it says
        all, the length of other recordings to plan for.
    n_events, event_rate : events per recording (1 if neither is given), or event starts per second.
    total_hours : the whole work in hours; left out, one recording, or the pilot's own recordings.
    examined : which parts of a pilot were annotated, {recording: intervals in seconds} or a table; the rest is not.
    cost : a :class:`Cost`; left out, hours of work.
    budget : the most that the whole work may cost.
    target : such as ``"overlap_accuracy>=0.7"``, ``"event_recall>=0.9,wrong_time<=2"``; wrong_time in s per recording.
        Whatever the objective, the cheapest way that meets it and leaves less wrong time than asking nobody.
    methods : some of fixed, windows, bisection, by_hand, screening, information, passes, oracle, or objects of a
        :class:`~weakly.methods.Method` of your own; left out, all but information, and screening only where those who
        mark have another wage or speed. What has no formula is run on some recordings (of a fixed seed), and its row
        says so, with its standard error.
    objective : ``wrong_time``: for each role the least wrong time among ways that find 90 % of events, and the cheapest
        of those that are practically as good (nobody hears everything more than 5 times); of these choices the best
        verdict for at most three times the cost of the cheapest, and of those with it the least wrong time for at most
        half as much again. ``overlap``: the best accuracy near events (Theorem 2).
    segment_length : your own segment lengths in seconds, shown beside the others as choices of the role "yours".
    tools : what is recommended must be possible in one of these: audacity, raven, labelstudio, birdnet, any.
    label : one class of the pilot; left out, all of them in one pass.
    family : a scipy family to fit to the pilot's event lengths, ``lognorm`` for example; left out, as observed.

    Notes
    -----
    Every row is exact on what will be asked: segments start at 0 and the last one is cut (a rule about a share of the
    segment judges it as if silence filled it up), on all events of a pilot, or over all places of one event in a
    recording of the given length. Several events in a recording are drawn (with a
    fixed seed, those that overlap become one), and the row says its standard error.

    Accuracy near events (``overlap_accuracy``) pools the finest pieces of a way that meet an event: fixed segments,
    hops of windows, the shortest segments of halving. Silence further away never counts.

    Examples
    --------
    >>> made = plan(1.0, presence_criterion=0.5, recording_length=100, n_events=1, methods="fixed")
    >>> made.recommended.segment_length, made.n_queries, made.equal_range
    (0.8, 125.0, (0.6, 0.8))
    >>> made = plan("2-20", recording_length=60, total_hours=200, cost=Cost(per_hour=20))
    >>> made.verdict, [choice.role for choice in made.choices]
    ('good', ['by_hand', 'plain'])
    >>> round(plan(1.0, presence_criterion=0.5, recording_length=100, objective="overlap").segment_length, 4)
    0.809
    """
    unknown = presence_criterion is None and rule is None and annotator is None
    told = {"rule": UNKNOWN[1]} if unknown else {
        "presence_criterion": presence_criterion, "rule": rule, "annotator": annotator
    }  # fmt: skip
    criteria = AnswerModels.of(**told).distinct
    objective = choice("objective", objective, OBJECTIVES)
    wanted = Condition.targets(target, SENSES)
    limit = None if budget is None else float(check("cost", budget, called="budget"))
    price = cost or Cost()
    if not isinstance(price, Cost):
        raise InvalidInput(f"cost must be a Cost, such as Cost(per_hour=20, currency='EUR'), got {cost!r}")
    named = tools.split(",") if isinstance(tools, str) else tools or ()
    usable = tuple(choice("tools", str(each).strip(), TOOLS) for each in named)
    ways, usable = _ways(methods, price), () if "any" in usable else usable
    brief = WorkSpec.of(
        recording_length=recording_length, n_events=n_events, event_rate=event_rate, total_hours=total_hours
    )
    task, pilot = work(event_length, brief, criteria, price, label=label, family=family, examined=examined)
    task = replace(task, methods=tuple(way.name for way in ways), slips=SLIPS if unknown else 0.0)
    own = _own(task, segment_length)
    asked: dict[str, Any] = {"objective": objective, "wanted": wanted, "budget": limit}
    pool, best = _candidates(task, ways, wanted, limit)
    pool += [row for row in own if row.design not in {each.design for each in pool}]
    if not any(row.asks for row in pool):
        raise InvalidInput(
            f"methods {', '.join(task.methods)} leave no way that can be worked out here; allow fixed as well"
        )
    is_sample = pilot is None and np.ndim(cast(Any, event_length)) == 1
    spread = PilotVariation.of(task, pool) if pilot is not None or is_sample else None
    noise = None if spread is None or pilot is None else spread.margin
    picked, picks = decide(pool, noise=noise, spare=best, tools=usable, **asked)
    sure = None
    if spread is not None and not (pilot is not None and pilot.in_place):
        count = pilot.n_events if pilot is not None else int(np.size(np.asarray(event_length)))
        held = objective != "wrong_time" or any(each.word == "event_recall" for each in wanted)
        limits = wanted if held else (*wanted, Condition("event_recall", ">=", FOUND))
        ruled = objective == "wrong_time" and not wanted and picked.limit in ("", "found")
        sure = how_sure(task, spread, picked.row, n_events=count, limits=limits, ruled=ruled)
    several = classes(task, _common(task, picked.row, pool), pool) if task.n_classes > 1 else None
    other = _other_rule(task, ways, asked, pilot)
    ends = (UNKNOWN[0], UNKNOWN[-1]) if unknown else ()
    by_criterion = [row for rule in ends for row in _elsewhere(task, rule, ways, asked)]
    settings = _settings(task, brief, pilot, label, wanted, limit, objective)
    ordered = sorted(
        ((role, picks[role].row) for role in ROLES if role in picks), key=lambda each: each[1] != picked.row
    )
    choices = [
        PlanChoice(role, row, verdict(row, pool), _command(row.design, label))
        for role, row in [*ordered, *(("yours", row) for row in own)]
    ]
    rows = _shown(task, ways, pool, picked, best, [each.row for each in choices])
    made = Plan(
        answer="",
        verdict=verdict(picked.row, pool),
        choices=tuple(choices),
        assumed=summary.assumed(
            task, pilot, one_event=pilot is None and n_events is None and event_rate is None, unknown=unknown
        ),
        details="",
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
        paper_length=best.length,
        example=example(task, [picked.row, *(each.row for each in choices)], pilot),
        task=task,
        pool=tuple(pool),
    )
    warned = [*(pilot.warnings if pilot is not None else ()), *summary.warnings(task, picked.row)]
    return replace(
        made,
        answer="\n".join(summary.lines(made, summary.conditions(task, pilot))),
        details=summary.details(made, picked, wanted=wanted, budget=limit, pilot=pilot),
        warnings=tuple(warned),
    )


Ways = tuple[type[Method] | Method, ...]


def _own(task: LabelingProblem, segment_length: float | Sequence[float] | None) -> list[MethodOutcome]:
    """Fixed segments of the lengths that the user asks about."""
    if segment_length is None:
        return []
    lengths = np.atleast_1d(np.asarray(check("segment_length", segment_length)))
    if (lengths > task.model.longest * (1 + 1e-9)).any():
        raise InvalidInput(
            f"segment_length must be at most the longest recording, {task.model.longest:g} s, got {lengths.max():g} s"
        )
    return Fixed.at_lengths(task, [float(each) for each in lengths])


def _command(design: Method, label: str | None) -> str:
    """What makes its segments, pass by pass."""
    if METHODS.get(design.name) is not type(design):  # a way of the user's own has no name at the command line
        return f"wk.queries('recordings/', method={design!r})"
    passes = design.passes if isinstance(design, Passes) else (((label,) if label is not None else (), design),)
    return " && ".join(
        f"weakly queries recordings/ {own.command}"
        + (f" --label {shlex.quote(','.join(labels))}" if labels else "")
        + f" --out tasks{k if len(passes) > 1 else ''}/"
        for k, (labels, own) in enumerate(passes, 1)
    )


def _ways(methods: str | Method | Sequence[str | Method] | None, cost: Cost) -> Ways:
    """The ways to compare: kinds of which a plan chooses the lengths, and objects as they are."""
    known = {name: kind for name, kind in METHODS.items() if kind.planned != "never" and not kind.is_trivial}
    if methods is None:
        others = (cost.per_hour, cost.speed) != (cost.per_hour_marking, cost.speed_marking)
        return tuple(kind for kind in known.values() if kind.planned == "always" or (others and kind is Screening))
    given = methods.split(",") if isinstance(methods, str) else [methods] if isinstance(methods, Method) else methods
    ways: list[type[Method] | Method] = []
    for each in given:
        if not isinstance(each, Method):
            ways.append(known[choice("methods", str(each).strip(), tuple(known))])
            continue
        try:
            hash(each)
        except TypeError as error:
            text = f"methods: {type(each).__name__} must be hashable; declare it @dataclass(frozen=True)"
            raise InvalidInput(text) from error
        ways.append(each)
    asking = [name for name, kind in known.items() if kind.is_attainable and kind is not Passes]
    if not any(way.name in asking or isinstance(way, Method) for way in ways):
        told = ", ".join(way.name for way in ways) or "none"
        raise InvalidInput(f"methods must hold one of {', '.join(asking)}, got {told}")
    return tuple(ways)


def _pool(task: LabelingProblem, ways: Ways) -> list[MethodOutcome]:
    """Every way to label that is compared, in the order of the register, those of the user's own last."""
    order = list(METHODS)
    trivial = [kind for kind in METHODS.values() if kind.is_trivial]
    kinds = sorted({way for way in ways if isinstance(way, type)}, key=lambda kind: order.index(kind.name))
    rows = [row for kind in kinds if kind.is_attainable for row in kind.candidates(task)]
    rows += [way.expected(task) for way in ways if isinstance(way, Method)]
    return [*rows, *(row for kind in trivial for row in kind.candidates(task))]


def _candidates(
    task: LabelingProblem, ways: Ways, wanted: tuple[Condition, ...], budget: float | None
) -> tuple[list[MethodOutcome], MethodOutcome]:
    """Every way that can be chosen, and among them the paper's optimum, whose length is not round."""
    best = Fixed(task.best_overlap()).expected(task)
    best = replace(best, note="; ".join((PAPER, *filter(None, [best.note]))))
    pool = [best if row.design == best.design else row for row in _pool(task, ways)]
    if Fixed in ways and best not in pool:
        pool.append(best)
    return pool + _on_the_edge(task, pool, wanted=wanted, budget=budget), best


def _on_the_edge(
    task: LabelingProblem, rows: list[MethodOutcome], *, wanted: tuple[Condition, ...], budget: float | None
) -> list[MethodOutcome]:
    """Rows at the lengths where a target is just met or the budget just lasts, which the grid only brackets."""
    tests: list[Callable[[MethodOutcome], bool]] = [each.met for each in wanted]
    if budget is not None:
        tests.append(lambda row: row.cost <= budget * (1 + 1e-12))
    extra: list[MethodOutcome] = []
    for kind in dict.fromkeys(type(row.design) for row in rows):
        ladder = sorted((row for row in rows if type(row.design) is kind and row.length), key=lambda row: row.length)
        for test in tests:
            for below, above in [pair for pair in pairwise(ladder) if test(pair[0]) != test(pair[1])][:6]:
                for _ in range(3):
                    made = kind.at_lengths(task, np.geomspace(below.length, above.length, 8)[1:-1].tolist())
                    extra += [row for row in made if test(row)]
                    pairs = pairwise([below, *made, above])
                    below, above = next(pair for pair in pairs if test(pair[0]) != test(pair[1]))
    return extra


def _elsewhere(task: LabelingProblem, rule: str, ways: Ways, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """What plain segments would do if people answered by this rule; nothing where it cannot be worked out."""
    task = replace(task, criteria=AnswerModels.of(rule=rule))
    few, plainly = task.few, tuple(way for way in ways if way.is_plain)
    pool = _pool(few, plainly or ways)
    pool += _on_the_edge(few, pool, wanted=asked["wanted"], budget=asked["budget"])
    asks = any(row.asks for row in pool)
    return [{"rule": rule, **choose(pool, **asked).row.design.expected(task).to_dict()}] if asks else []


def _common(task: LabelingProblem, picked: MethodOutcome, pool: list[MethodOutcome]) -> MethodOutcome:
    """Fixed segments of one length for all classes: the recommended ones, or the best of them."""
    if picked.design.is_plain:
        return picked
    fixed = [row for row in (*task.fixed_rows, *pool) if row.design.is_plain or row.design.is_trivial]
    best = choose(fixed, objective="wrong_time", wanted=(), budget=None).row
    return best if best.asks else min(task.fixed_rows, key=lambda row: row.wrong_time)


def _range(picked: Choice, pool: list[MethodOutcome], spare: MethodOutcome) -> tuple[float, float] | None:
    """From the shortest to the longest segment around the recommended one with nothing between that is not as good."""
    row = picked.row
    if row.segment_length is None:
        return None
    equal = {each.design for each in picked.equal if each.votes == row.votes} | {row.design}
    same = sorted((each for each in pool if each.design.is_like(row.design)), key=lambda each: each.length)
    made = [row.segment_length]
    for side in (same, same[::-1]):
        here = next(k for k, each in enumerate(side) if each.design == row.design)
        run = takewhile(lambda each: each.design in equal, side[here + 1 :])
        made += [each.length for each in run if each is not spare]
    return min(made), max(made)


def _shown(
    task: LabelingProblem, ways: Ways, pool: list[MethodOutcome], picked: Choice, best: MethodOutcome,
    chosen: list[MethodOutcome],
) -> list[MethodOutcome]:  # fmt: skip
    """The rows of the comparison: the pick, the best of every method, what people use, and the limits."""
    asked: dict[str, Any] = {"objective": "wrong_time", "wanted": (), "budget": None, "spare": best}
    trivial = [row for row in pool if row.design.is_trivial]
    rows = [picked.row, *chosen]
    half = [row for row in chosen if row.design.is_plain][:1]  # what half and twice the plain length would do
    widths = [row.length * times for row in half for times in (0.5, 2.0)]
    rows += [min(task.fixed_rows, key=lambda row: abs(np.log((row.segment_length or 1.0) / width))) for width in widths]
    for method in dict.fromkeys(row.method for row in pool if row.asks):
        # What the rule of the house takes of it, and what has the least wrong time whatever it finds.
        own = [row for row in pool if row.method == method]
        rows += [choose([*own, *trivial], **asked).row, min(own, key=lambda row: (row.wrong_time, row.cost))]
    rows += [row for row in pool if row.design in ways]  # what was given as an object, in any case
    if Fixed.name in task.methods:
        rows += [best, *(row for row in task.fixed_rows if row.segment_length in COMMON)]
    rows += trivial
    if Oracle.name in task.methods:
        rows.append(Oracle().expected(task))
    shown: dict[Method, MethodOutcome] = {}
    for row in rows:
        shown.setdefault(row.design, row)
    return list(shown.values())


def _other_rule(task: LabelingProblem, ways: Ways, asked: dict[str, Any], pilot: Pilot | None) -> dict[str, Any] | None:
    """What a rule in seconds would make of the plan where nobody waits for a share of an event: of long events, or of
    frames that touch and were joined."""
    long = 1 - float(task.lengths.partial_moments(_LONG)[0])
    if task.criteria.kind == "rule" or not (task.lengths.mean > _LONG or long > 0.2 or (pilot and pilot.frames)):
        return None
    return next(iter(_elsewhere(task, UNKNOWN[1], ways, asked)), None)


def _settings(
    task: LabelingProblem, brief: WorkSpec, pilot: Pilot | None, label: str | None, wanted: tuple[Condition, ...],
    budget: float | None, objective: str,
) -> dict[str, Any]:  # fmt: skip
    lengths, criteria = task.lengths, task.criteria
    known = None if pilot is None else {
        "n_events": pilot.n_events, "n_recordings": len(pilot.extents), "n_censored": pilot.n_cut,
        "n_unknown_lengths": pilot.n_unknown, "n_joined": pilot.n_joined,
    }  # fmt: skip
    return {
        "lengths": lengths.name,
        "event_length_mean": lengths.mean,
        "event_length_std": lengths.std,
        "event_length_quartiles": [lengths.quantile(p) for p in (0.25, 0.5, 0.75)],
        "presence_criterion": criteria.middle if criteria.criteria is None else criteria.criteria.tolist(),
        "presence_criterion_name": criteria.name,
        "presence_criterion_plausible": list(criteria.range),
        "rule": criteria.name if criteria.kind == "rule" else None,
        **{name: getattr(task, name) for name in ("recording_length", "n_recordings", "n_events", "event_time")},
        "total_seconds": task.total,
        "total_hours": brief.total_hours,
        "pilot": known,
        "label": label,
        "labels": list(task.labels) if pilot is not None else [],
        "cost": asdict(task.cost),
        "budget": budget,
        "target": [each.text for each in wanted],
        "objective": objective,
        "methods": list(task.methods),
        "model": {SingleEventModel: "one event", RecordingModel: "recordings"}[type(task.model)],
    }
