"""From a question to the object of the house, by the same call that the command line makes."""

from __future__ import annotations

import io
import json
import shlex
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...base.errors import InvalidInput
from ..serving import Limits, Recent
from . import models
from .uploads import EXAMPLE, Files, Sent, Upload, parse

if TYPE_CHECKING:
    from ...studies.plan.plan_result import Plan
    from .jobs import Progress


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
    from ...studies.simulate import clips, pilot

    content: Any = pilot() if kind == "events" else clips()
    return Upload(kind, "the example", content)


@dataclass(frozen=True)
class PageState:
    """All that the server remembers between two requests; each part has its limits."""

    limits: Limits
    shelf: Files
    plans: Recent[Plan] = field(default_factory=lambda: Recent(8))

    def plan(self, question: models.PlanQuestion) -> Plan:
        """The plan that answers the question; the last few are kept for the labels of other segment lengths."""
        key = plan_key(question)
        return self.plans.get(key) or self.plans.put(key, _plan(question, self.shelf))


def _plan(question: models.PlanQuestion, shelf: Files) -> Plan:
    from ...model.cost import Cost
    from ...studies.plan.planner import plan

    if (question.pilot is None) == (question.event_length is None):
        raise InvalidInput("event_length or pilot must be given, and not both")
    asked = question.model_dump(include=set(models.PlanQuestion.model_fields))
    length, pilot = asked.pop("event_length"), asked.pop("pilot")
    prices = {name: asked.pop(name) for name in models.PRICES}
    source = length if pilot is None else shelf.get(pilot, kind="events", field="pilot")
    return plan(source, cost=Cost(**prices), segment_length=asked.pop("own_length"), **asked)


def plan(question: models.PlanQuestion, state: PageState, job: Progress) -> Any:
    """How to label, how good the labels will be and what they cost."""
    return state.plan(question)


MOST = 2000  # segments that a strip can show


def labels(question: models.LabelsQuestion, state: PageState, job: Progress) -> Any:
    """What fixed segments of one length make of the plan's events: labels on a timeline, and all the words."""
    import numpy as np

    from ...base.results import seconds, to_jsonable
    from ...methods import Fixed, SimulatedAnnotator
    from ...model.annotator import PresenceRule
    from ...model.intervals import fixed_segments

    plan, width = state.plan(question), question.segment_length
    example = plan.example
    total, events = example["recording_length"], np.asarray(example["events"], dtype=np.float64).reshape(-1, 2)
    rows = []
    if plan.recommended.hop is not None:  # beside them, what the plan's own way makes of the same events
        rows += [_strip(row["name"], row["segments"], row["present"], events, total) for row in example["rows"][1:2]]
    if total <= MOST * width:
        segments = fixed_segments(recording_length=total, segment_length=width)
        rule = plan.task.criteria.rule or PresenceRule.fraction(example["presence_criterion"])
        present = SimulatedAnnotator(rule=rule)(events, segments)
        rows.append(_strip(f"fixed {seconds(width)}", segments, present, events, total))
    strip = {"recording_length": total, "events": events, "rows": rows}
    row = Fixed(width).expected(plan.task)
    return dict(to_jsonable({"segment_length": width, "row": row, "timeline": strip}))


def _strip(name: str, segments: Any, present: Any, events: Any, total: float) -> dict[str, Any]:
    """The labels of segments in time, and where they are wrong."""
    import numpy as np

    from ...model.intervals import complement, intersect, merge

    pieces, flags = np.asarray(segments, dtype=np.float64).reshape(-1, 2), np.asarray(present, dtype=bool)
    labelled = merge(pieces[flags])
    missed = intersect(complement(labelled, 0.0, total), events)
    phantom = intersect(labelled, complement(events, 0.0, total))
    wrong = np.concatenate((missed, phantom))
    return {"name": name, "segments": pieces, "present": flags, "wrong": wrong[np.argsort(wrong[:, 0])]}


def evaluate(question: models.EvaluateQuestion, state: PageState, job: Progress) -> Any:
    """What labels of fixed segments make of real annotations."""
    from ...model.answer_model import AnswerModels
    from ...studies.evaluate.evaluator import evaluate as call

    asked = question.model_dump()
    who = AnswerModels.of(presence_criterion=asked.pop("presence_criterion"), rule=asked.pop("rule"))
    events = state.shelf.get(asked.pop("file"), kind="events", field="file")
    return call(events, presence_criterion=who, progress=job.advance, **asked)


def simulate(question: models.SimulateQuestion, state: PageState, job: Progress) -> Any:
    """What labels of fixed segments make of random recordings, with standard errors."""
    from ...model.answer_model import AnswerModels
    from ...model.lengths import Lengths
    from ...studies.simulate import simulate as call

    if question.n_recordings * question.n_events > state.limits.events:
        raise InvalidInput(f"n_recordings times n_events must be at most {state.limits.events:,} here")
    asked = question.model_dump()
    who = AnswerModels.of(presence_criterion=asked.pop("presence_criterion"), rule=asked.pop("rule"), unknown=0.5)
    lengths, seed = asked.pop("event_length"), asked.pop("seed")
    noise = {name: asked.pop(name) for name in ("guess_rate", "lapse_rate", "flip_rate")}
    return call(
        Lengths.parse(lengths), presence_criterion=who.with_rates(**noise), rng=seed, progress=job.advance, **asked
    )


def audit(question: models.AuditQuestion, state: PageState, job: Progress) -> Any:
    """How sensitive the annotators were, how wrong the labels are, what a perfect model can reach on them."""
    from ...studies.audit.auditor import audit as call

    asked = question.model_dump()
    if asked["strong"] is None and asked["weak"] is None:
        raise InvalidInput("strong or weak must be given: a file that was sent")
    for name, kind in (("strong", "events"), ("weak", "answers")):
        if asked[name] is not None:
            asked[name] = state.shelf.get(asked[name], kind=kind, field=name)
    return call(rng=0, **asked)


def report(work: Callable[..., Any], question: models.Question, state: PageState, job: Progress) -> bytes:
    """The report of what a question finds: one HTML file for a colleague or a grant."""
    command = _command(question) if isinstance(question, models.PlanQuestion) else None
    with tempfile.TemporaryDirectory(prefix="weakly-") as folder:
        path: Path = work(question, state, job).report(Path(folder) / "report.html", command=command)
        return path.read_bytes()


def query_files(question: models.QueriesQuestion, state: PageState, job: Progress) -> bytes:
    """The segments to ask, as an archive with the files of the annotator's tool."""
    from ...studies.queries.query_set import queries

    plan = state.plan(question)
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


def _command(question: models.PlanQuestion) -> str:
    """The command line that asks the same; a file that was sent is called PILOT there."""
    words = ["weakly", "plan"]
    for name, value in question.model_dump(exclude_none=True).items():
        if name == "pilot":
            words.append("PILOT")
        elif value != type(question).model_fields[name].default:
            option = {"n_events": "events", "own_length": "segment-length"}.get(name, name).replace("_", "-")
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words += [f"--{option}", text]
    return shlex.join(words)


def warm_up() -> None:
    """Compile and load what the first questions need; a server answers many, so nothing is interpreted."""
    from ...base import compiled
    from ...studies.evaluate.evaluator import evaluate as score
    from ...studies.plan.planner import plan as make

    compiled.PATIENCE = (0.0, 0.0)
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
    ("queries", models.QueriesQuestion, query_files, "queries.zip", "application/zip"),
    *((f"report/{name}", question, partial(report, work), f"{name}.html", "text/html")
      for name, question, work in QUESTIONS if name != "labels"),
)  # fmt: skip
