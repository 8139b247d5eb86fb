"""Labels in time: of a plan's choices, of one simulated recording, around events that segments lose; all questions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...base.results import seconds, to_jsonable
from ...methods import Fixed, SimulatedAnnotator
from ...methods.base import Recording, Session
from ...model.annotator import PresenceRule
from ...model.answer_model import UNKNOWN, AnswerModels
from ...model.intervals import complement, intersect, merge
from . import calls

MOST = 2000  # segments that a strip can show
FEW = 10  # lost events that are shown


def labels(question: calls.LabelsQuestion, state: calls.PageState) -> Any:
    """What the plan's choices and fixed segments of one length make of its events: labels on a timeline, and words."""
    plan, width = state.plan(question), question.segment_length
    example = plan.example
    total, events = example["recording_length"], np.asarray(example["events"], dtype=np.float64).reshape(-1, 2)
    rule = plan.task.criteria.rule or PresenceRule.fraction(example["presence_criterion"])
    recording, commonest = Recording("example", total, events=events), plan.task.labels[0]
    # The plan's own row of that length, with its name, where there is one.
    tried = next((row for row in plan.pool if row.design == Fixed(width)), None) or Fixed(width).expected(plan.task)
    rows = []
    for choice in plan.choices:
        design = choice.row.design.of_class(commonest)
        if choice.row.name == tried.name:
            continue  # it is the one tried
        if design.is_strong:
            rows.append(_marked(choice.row.name, events, total))
        elif (choice.row.hop or choice.row.segment_length or 0.0) * MOST >= total:
            rows.append(_asked(choice.row.name, Session(design, recording), rule))
    if total <= MOST * width:
        rows.append(_asked(tried.name, Session(Fixed(width), recording), rule))
    strip = {"recording_length": total, "events": events, "rows": rows}
    return dict(to_jsonable({"segment_length": width, "row": tried, "timeline": strip}))


def _asked(name: str, session: Session, rule: PresenceRule) -> dict[str, Any]:
    """The labels that answers make, what is asked in each round, and the events that no answer noticed."""
    annotator, total = SimulatedAnnotator(rule=rule), session.recording.length
    events: Any = session.recording.events
    rounds: list[dict[str, Any]] = []
    while len(segments := session.next()) and len(rounds) < 12:
        answers = annotator(events, segments)
        session.answer(answers, segments=segments)
        rounds.append({"segments": segments, "present": answers == 1})
    made, asked = session.labels, session.asked
    heard = asked.segments[asked.present == 1]
    noticed = rule.is_present(event=events[:, None, :], segment=heard[None, :, :]).any(axis=1)
    row = strip(name, made.segments, made.present == 1, events, total)
    return row | {"rounds": rounds, "lost": events[~noticed]}


def _marked(name: str, events: Any, total: float) -> dict[str, Any]:
    """Events as somebody marks them by hand, each edge a little off."""
    spread = np.minimum(0.1, 0.2 * (events[:, 1] - events[:, 0]))
    off = np.random.default_rng(0).normal(0.0, 1.0, events.shape) * spread[:, None]
    marks = merge(np.sort(np.clip(events + off, 0.0, total), axis=1))
    whole = {"segments": [[0.0, total]], "present": [len(events) > 0]}
    made = strip(name, marks, np.ones(len(marks)), events, total)
    return made | {"rounds": [whole, {"segments": marks, "present": np.ones(len(marks), dtype=bool)}], "lost": []}


def strip(name: str, segments: Any, present: Any, events: Any, total: float) -> dict[str, Any]:
    """The labels of segments in time, and where they are wrong."""
    pieces, flags = np.asarray(segments, dtype=np.float64).reshape(-1, 2), np.asarray(present, dtype=bool)
    labelled = merge(pieces[flags])
    missed = intersect(complement(labelled, 0.0, total), events)
    phantom = intersect(labelled, complement(events, 0.0, total))
    wrong = np.concatenate((missed, phantom))
    return {"name": name, "segments": pieces, "present": flags, "wrong": wrong[np.argsort(wrong[:, 0])]}


def _rule(question: calls.EvaluateQuestion | calls.SimulateQuestion) -> PresenceRule:
    """The rule of the first who answer; where nobody said it, the one that is assumed of the whole question."""
    asked = question.model_dump(include={"presence_criterion", "rule"})
    unknown = UNKNOWN[1] if isinstance(question, calls.EvaluateQuestion) else 0.5
    first = next(iter(AnswerModels.of(**asked, unknown=unknown)))
    return first.rule or PresenceRule.fraction(first.middle)


def recording(question: calls.SimulateQuestion, state: calls.PageState) -> Any:
    """One recording of the simulation, with the labels that segments of the first length give it."""
    from ...model.lengths import Lengths
    from ...studies.simulate import World

    total, rule, width = question.recording_length, _rule(question), float(np.atleast_1d(question.segment_length)[0])
    world = World(Lengths.parse(question.event_length), question.n_events, total, question.placement, 0.0)
    events = world.draw(1, np.random.default_rng(question.seed))[0].bounds
    rows = []
    if total <= MOST * width:
        session = Session(Fixed(width), Recording("one", total, events=events))
        rows.append(_asked(f"{seconds(width)} segments", session, rule))
    return dict(to_jsonable({"timeline": {"recording_length": total, "events": events, "rows": rows}}))


def lost(question: calls.EvaluateQuestion, state: calls.PageState) -> Any:
    """The events that segments of the first length lose: how many, and the longest few with the segments around."""
    rule, width = _rule(question), float(np.atleast_1d(question.segment_length)[0])
    phase = 0.0 if question.phase == "random" else float(question.phase) % width
    events = state.shelf.get(question.file, kind="events", field="file")
    lines = events.by_label(question.label)
    spans = np.concatenate([each.bounds for each in lines.values()])
    owner = np.concatenate([each.owner for each in lines.values()])
    label = np.repeat(list(lines), [len(each.bounds) for each in lines.values()])
    names, end = events.known_extents.index, events.known_extents.to_numpy()[owner][:, None]
    first = np.floor((spans[:, 0] - phase) / width)
    last = np.maximum(first, np.ceil((spans[:, 1] - phase) / width - 1e-9) - 1)
    # Segments that lie wholly in an event are alike: the two at either end tell of all.
    at = np.stack([first, np.minimum(first + 1, last), np.maximum(last - 1, first), last], axis=1)
    segments = np.stack([np.maximum(at * width + phase, 0.0), np.minimum((at + 1) * width + phase, end)], axis=-1)
    found = rule.is_present(event=spans[:, None, :], segment=segments).any(axis=1)
    order = np.flatnonzero(~found)
    order = order[np.argsort(spans[order, 0] - spans[order, 1], kind="stable")][:FEW]
    shown = []
    for k in order:
        edges = np.arange(first[k] - 1, min(last[k], first[k] + MOST) + 3) * width + phase
        around = np.unique(np.clip(edges, 0.0, end[k, 0]))
        told = {"recording": str(names[owner[k]])[:80], "label": str(label[k])[:80]}
        shown.append(told | {"event": spans[k], "segments": np.stack([around[:-1], around[1:]], axis=1)})
    counts = {"n_lost": int((~found).sum()), "n_events": len(spans)}
    return dict(to_jsonable({"segment_length": width, **counts, "rows": shown}))


QUESTIONS: tuple[Any, ...] = (
    ("plan", calls.PlanQuestion, calls.plan),
    ("evaluate", calls.EvaluateQuestion, calls.evaluate),
    ("simulate", calls.SimulateQuestion, calls.simulate),
    ("audit", calls.AuditQuestion, calls.audit),
    ("labels", calls.LabelsQuestion, labels),
    ("recording", calls.SimulateQuestion, recording),
    ("lost", calls.EvaluateQuestion, lost),
)
FILES: tuple[Any, ...] = (
    ("queries", calls.QueriesQuestion, calls.query_files, "queries.zip", "application/zip"),
    *((f"report/{name}", question, partial(calls.report, work), f"{name}.html", "text/html")
      for name, question, work in QUESTIONS[:4]),
)  # fmt: skip
