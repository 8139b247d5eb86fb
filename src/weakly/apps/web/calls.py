"""From a question to the object of the house, by the same call that the command line makes."""

from __future__ import annotations

import io
import json
import shlex
import tempfile
import zipfile
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...base.errors import InvalidInput
from ..limits import Limits
from . import models
from .uploads import EXAMPLE, Files, Sent, Upload, parse

if TYPE_CHECKING:
    from .worker import Progress


def to_bytes(value: Any) -> bytes:
    """The object's dictionary, or a dictionary of plain values, as JSON."""
    found = value if isinstance(value, dict) else value.to_dict()
    return json.dumps(found, allow_nan=False, ensure_ascii=False).encode()


def received(sent: Sent, state: PageState, job: Progress) -> dict[str, Any]:
    """What the sender of a file hears back, once it is read and kept."""
    if sent.name == EXAMPLE:
        upload = _example(sent.kind)
    else:
        data = (state.shelf.folder / sent.key).read_bytes()
        upload = parse(data, name=sent.name, kind=sent.kind, limits=state.limits, options=sent.options)
    state.shelf.put(sent.key, upload)
    content, events = upload.content, upload.kind == "events"
    return models.Received(
        key=sent.key,
        kind=upload.kind,  # type: ignore[arg-type]
        name=upload.name,
        n_events=len(content),
        n_recordings=len(content.recordings),
        labels=[label[:200] for label in content.labels[:2000]],
        event_length=float(content.lengths.mean()) if events and len(content) else None,
        notes=[note[:500] for note in upload.notes[:20]],
        reading=content.reading[:1000],
        findings=[text[:500] for text in upload.findings[:20]],
    ).model_dump()


def plan_key(question: Any) -> str:
    """What tells the plan of a question from others; of other questions, what tells them from others."""
    asked = set(models.PlanQuestion.model_fields) & set(type(question).model_fields)
    return str(question.model_dump_json(include=asked))


def _example(kind: str) -> Upload:
    """The bundled example as if somebody had sent it: annotated recordings, or what was said of their clips."""
    from ...studies.example import clips, pilot

    content: Any = pilot() if kind == "events" else clips()
    return Upload(kind, "the example", content)


class Plans:
    """The last few plans, for the labels of other segment lengths on the same events."""

    def __init__(self, most: int = 8) -> None:
        self._most, self._kept = most, OrderedDict[str, Any]()

    def get(self, question: models.PlanQuestion, shelf: Files) -> Any:
        """The plan that answers the question."""
        key = plan_key(question)
        if key not in self._kept:
            self._kept[key] = _plan(question, shelf)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


@dataclass(frozen=True)
class PageState:
    """All that the server remembers between two requests; each part has its limits."""

    limits: Limits
    shelf: Files
    plans: Plans = field(default_factory=Plans)


def _plan(question: models.PlanQuestion, shelf: Files) -> Any:
    from ...methods.criteria import Criteria
    from ...model.cost import Cost
    from ...studies.plan.planner import plan

    asked = question
    if (asked.pilot is None) == (asked.event_length is None):
        raise InvalidInput("event_length or pilot must be given, and not both")
    source = asked.event_length if asked.pilot is None else shelf.get(asked.pilot, kind="events", field="pilot")
    criteria: Any = asked.presence_criterion
    if isinstance(criteria, str):
        criteria = Criteria.parse(criteria)
    priced = asked.per_second is not None or asked.per_query is not None
    cost = Cost(
        query_cost_share=asked.query_cost_share,
        per_second=asked.per_second,
        per_query=asked.per_query,
        currency=asked.currency if priced else "",
        annotators=asked.annotators,
    )
    return plan(
        source,
        presence_criterion=criteria,
        rule=asked.rule,
        recording_length=asked.recording_length,
        n_events=asked.n_events,
        total_hours=asked.total_hours,
        cost=cost,
        budget=asked.budget,
        target=asked.target,
        objective=asked.objective,
        label=asked.label,
        family=asked.family,
    )


def plan(question: models.PlanQuestion, state: PageState, job: Progress) -> Any:
    """How to label, how good the labels will be and what they cost."""
    return state.plans.get(question, state.shelf)


def labels(question: models.LabelsQuestion, state: PageState, job: Progress) -> Any:
    """What fixed segments of one length make of the plan's events: labels on a timeline, and all the words."""
    from .strip import at_length

    return at_length(state.plans.get(question, state.shelf), question.segment_length)


def evaluate(question: models.EvaluateQuestion, state: PageState, job: Progress) -> Any:
    """What labels of fixed segments make of real annotations."""
    from ...model.annotator import PresenceRule
    from ...studies.evaluate.evaluator import evaluate as call

    if (question.presence_criterion is None) == (question.rule is None):
        raise InvalidInput("presence_criterion or rule must be given, and not both")
    events = state.shelf.get(question.file, kind="events", field="file")
    return call(
        events,
        segment_length=question.segment_length,
        presence_criterion=question.presence_criterion,
        rule=None if question.rule is None else PresenceRule.parse(question.rule),
        phase=question.phase,
        label=question.label,
        progress=job.advance,
    )


def simulate(question: models.SimulateQuestion, state: PageState, job: Progress) -> Any:
    """What labels of fixed segments make of random recordings, with standard errors."""
    from ...model.annotator import Annotator
    from ...model.lengths import Lengths
    from ...studies.simulate.simulation import simulate as call

    if question.n_recordings * question.n_events > state.limits.events:
        raise InvalidInput(f"n_recordings times n_events must be at most {state.limits.events:,} here")
    criteria = question.presence_criterion
    values = criteria if isinstance(criteria, list) else [criteria]
    noise = {name: getattr(question, name) for name in ("guess_rate", "lapse_rate", "flip_rate")}
    noisy = any(noise.values())
    return call(
        Lengths.parse(question.event_length),
        n_events=question.n_events,
        recording_length=question.recording_length,
        segment_length=question.segment_length,
        presence_criterion=None if noisy else criteria,
        annotator=[Annotator(presence_criterion=value, **noise) for value in values] if noisy else None,
        n_recordings=question.n_recordings,
        placement=question.placement,
        rng=question.seed,
        progress=job.advance,
    )


def audit(question: models.AuditQuestion, state: PageState, job: Progress) -> Any:
    """How sensitive the annotators were, how wrong the labels are, what a perfect model can reach on them."""
    from ...studies.audit.auditor import audit as call

    get, asked = state.shelf.get, question
    if asked.strong is None and asked.weak is None:
        raise InvalidInput("strong or weak must be given: a file that was sent")
    return call(
        strong=None if asked.strong is None else get(asked.strong, kind="events", field="strong"),
        weak=None if asked.weak is None else get(asked.weak, kind="answers", field="weak"),
        label=asked.label,
        unlisted=asked.unlisted,
        recording_length=asked.recording_length,
        rng=0,
    )


def plan_report(question: models.PlanQuestion, state: PageState, job: Progress) -> bytes:
    """The report of a plan: one HTML file for a colleague or a grant."""
    return _written(state.plans.get(question, state.shelf), command=_command(question))


def evaluate_report(question: models.EvaluateQuestion, state: PageState, job: Progress) -> bytes:
    """The report of an evaluation: one HTML file."""
    return _written(evaluate(question, state, job))


def simulate_report(question: models.SimulateQuestion, state: PageState, job: Progress) -> bytes:
    """The report of a simulation: one HTML file."""
    return _written(simulate(question, state, job))


def audit_report(question: models.AuditQuestion, state: PageState, job: Progress) -> bytes:
    """The report of an audit: one HTML file."""
    return _written(audit(question, state, job))


def query_files(question: models.QueriesQuestion, state: PageState, job: Progress) -> bytes:
    """The segments to ask, as an archive with the files of the annotator's tool."""
    from ...studies.queries.query_set import queries

    plan = state.plans.get(question, state.shelf)
    count, most = labels(question, state, job)["row"]["n_queries"], state.limits.queries
    if count > most:
        raise InvalidInput(f"segment_length gives {count:,.0f} queries; at most {most:,} here")
    names = range(1, 1 + round(plan.settings["n_recordings"]))
    recordings: Any = {f"recording {k}": plan.settings["recording_length"] for k in names}
    if question.pilot is not None:
        recordings = state.shelf.get(question.pilot, kind="events", field="pilot")
    asked = [question.label] if question.label is not None else plan.settings["labels"] or ["event"]
    made = queries(recordings, method="fixed", segment_length=question.segment_length, label=asked)
    archive = io.BytesIO()
    # Only formats whose file names do not come from the recordings' names are written here.
    with tempfile.TemporaryDirectory(prefix="weakly-") as folder:
        paths = made.write(Path(folder) / "queries", to=question.to)
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in paths:
                packed.write(path, path.relative_to(folder))
    return archive.getvalue()


def _written(result: Any, command: str | None = None) -> bytes:
    with tempfile.TemporaryDirectory(prefix="weakly-") as folder:
        path: Path = result.report(Path(folder) / "report.html", command=command)
        return path.read_bytes()


def _command(question: models.PlanQuestion) -> str:
    """The command line that asks the same; a file that was sent is called PILOT there."""
    words = ["weakly", "plan"]
    for name, value in question.model_dump(exclude_none=True).items():
        if name == "pilot":
            words.append("PILOT")
        elif name not in ("currency", "objective", "annotators") or value != type(question).model_fields[name].default:
            option = {"n_events": "events"}.get(name, name).replace("_", "-")
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words += [f"--{option}", text]
    return shlex.join(words)


def warm_up() -> None:
    """Compile and load what the first questions need."""
    from ...studies.evaluate.evaluator import evaluate as score
    from ...studies.plan.planner import plan as make

    make(1.0, presence_criterion=0.5, recording_length=100.0, n_events=1).to_dict()
    score([[(1.0, 2.0)]], recording_length=10.0, segment_length=1.0, presence_criterion=0.5)
    make(1.0, presence_criterion=0.5, recording_length=100.0, n_events=20)


QUESTIONS: tuple[Any, ...] = (
    ("plan", models.PlanQuestion, plan),
    ("labels", models.LabelsQuestion, labels),
    ("evaluate", models.EvaluateQuestion, evaluate),
    ("simulate", models.SimulateQuestion, simulate),
    ("audit", models.AuditQuestion, audit),
)
FILES: tuple[Any, ...] = (
    ("report/plan", models.PlanQuestion, plan_report, "plan.html", "text/html"),
    ("queries", models.QueriesQuestion, query_files, "queries.zip", "application/zip"),
    ("report/evaluate", models.EvaluateQuestion, evaluate_report, "evaluate.html", "text/html"),
    ("report/simulate", models.SimulateQuestion, simulate_report, "simulate.html", "text/html"),
    ("report/audit", models.AuditQuestion, audit_report, "audit.html", "text/html"),
)
