"""What may be asked, every field a word of the house with its domain, and how it is answered: by the calls of the
command line."""

from __future__ import annotations

import io
import math
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from ...base.errors import InvalidInput
from ...base.symbols import SYMBOLS, check
from ...model.annotator import is_law, items
from ...model.answer_model import AnswerModels
from ...model.answer_model import parse as parse_answering
from ...model.cost import Cost
from ..serving import Limits, Recent
from .uploads import EXAMPLE, Files, Sent, Upload, parse

if TYPE_CHECKING:
    from ...studies.plan.plan_result import Plan

#: The laws that a question may name: those whose integrals take milliseconds.
LAWS = (
    *("beta", "chi2", "erlang", "expon", "fisk", "gamma", "halfnorm", "invgauss", "loguniform", "lognorm", "lomax"),
    *("norm", "pareto", "rayleigh", "triang", "truncexpon", "truncnorm", "uniform", "weibull_min"),
)


@dataclass(frozen=True)
class Quantity:
    """Marks a number as one of a symbol: in its domain, and between ``least`` and ``most`` on this server."""

    symbol: str
    called: str | None = None
    least: float = -math.inf
    most: float = math.inf
    unit: str | None = None

    def check(self, value: float) -> float:
        """The value, or an InvalidInput that says what is allowed."""
        called = self.called or self.symbol
        number = float(check(self.symbol, value, called=called))
        if number > self.most:
            raise InvalidInput(f"{called} must be at most {self.most:g} here, got {number:.12g}")
        if number < self.least:
            raise InvalidInput(f"{called} must be at least {self.least:g} here, got {number:g}")
        return number

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        symbol = SYMBOLS[self.symbol]
        unit = self.unit or symbol.unit
        open_end = symbol.domain[0] == "(" and self.least <= symbol.low
        return {
            **handler(schema),
            "description": f"{symbol.meaning}{f' ({unit})' if unit else ''}",
            "exclusiveMinimum" if open_end else "minimum": max(symbol.low, self.least),
            "maximum": min(symbol.high, self.most),
        }


def _law(text: str) -> str:
    kind = text.partition(":")[0].strip()
    if ":" in text and kind not in LAWS:
        raise InvalidInput(f"the law {kind[:40]!r} is not known here; there are {', '.join(LAWS)}")
    return text


def _answering(text: str) -> str:
    """Who answers, as text: laws that are known here, and not too many columns."""
    for item in items(text):
        if is_law(item):
            _law(item)
    if len(parse_answering(text)) > 50:
        raise InvalidInput("presence_criterion and rule may hold at most 50 items here")
    return text


EventLength = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2000,
        description="length of an event (s): a number, several like 0.5,1,4, or a law like lognorm:s=0.5,scale=1",
        examples=["1", "0.5,1,4", "gamma:0.8,loc=0.5"],
    ),
    AfterValidator(_law),
]
Key = Annotated[str, Field(max_length=64, description="key of a file that was sent to /api/upload")]
Label = Annotated[str, Field(max_length=10_000, description="class of events; all of them as one if left out")]
Answering = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_answering)]
_RULES = ["seconds:0.25", "any", "birdnet"]
Rule = Annotated[Answering, Field(description="presence rule instead of a criterion", examples=_RULES)]
Count = Annotated[int, Field(ge=1, le=100)]
Seed = Annotated[int, Field(ge=0, lt=2**63, description="start of the random numbers; the same gives the same answer")]
Gamma = Annotated[float, Quantity("presence_criterion", least=1e-4)]
CriterionLaw = Annotated[Answering, Field(description="criteria as text: numbers, laws", examples=["beta:2,3"])]
Criteria = Gamma | Annotated[list[Gamma], Field(min_length=1, max_length=50)] | CriterionLaw
RecordingLength = Annotated[float, Quantity("recording_length", least=1e-3, most=1e6)]
Hours = Annotated[float, Quantity("recording_length", called="total_hours", least=1e-6, most=1e7, unit="h")]
SegmentLength = Annotated[float, Quantity("segment_length", least=1e-3, most=1e6)]
SegmentLengths = SegmentLength | Annotated[list[SegmentLength], Field(min_length=1, max_length=200)]


class Question(BaseModel):
    """A question to the house; a field that does not exist is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PlanQuestion(Question):
    """How long should a segment be, how good will the labels be, what will it cost, is there a better way?"""

    event_length: EventLength | None = None
    pilot: Key | None = None
    label: Label | None = None
    family: Literal["lognorm", "gamma", "weibull_min", "expon", "best"] | None = None
    presence_criterion: Criteria | None = None
    rule: Rule | None = None
    recording_length: RecordingLength | None = None
    n_events: Annotated[float, Quantity("n_events", least=1e-6, most=1e6)] | None = None
    total_hours: Hours | None = None
    own_length: SegmentLength | None = Field(None, description="your own segment length (s), as a choice beside others")
    tools: Literal["audacity", "raven", "labelstudio", "birdnet", "any"] | None = None
    per_hour: Annotated[float, Quantity("cost", called="per_hour", most=1e9)] | None = None
    per_hour_marking: Annotated[float, Quantity("cost", called="per_hour_marking", most=1e9)] | None = None
    seconds_per_answer: Annotated[float, Quantity("cost", called="seconds_per_answer", most=1e6)] = 3.0
    seconds_per_tick: Annotated[float, Quantity("cost", called="seconds_per_tick", most=1e6)] = 1.0
    seconds_per_event: Annotated[float, Quantity("cost", called="seconds_per_event", most=1e6)] = 15.0
    speed: Annotated[float, Quantity("hop", called="speed", least=1e-3, most=1e6, unit="times")] = 1.0
    query_cost_share: Annotated[float, Quantity("query_cost_share")] | None = None
    per_second: Annotated[float, Quantity("cost", called="per_second", most=1e9)] | None = None
    per_query: Annotated[float, Quantity("cost", called="per_query", most=1e9)] | None = None
    currency: Annotated[str, Field(min_length=1, max_length=8)] = "EUR"
    annotators: Count = 1
    budget: Annotated[float, Quantity("cost", called="budget", most=1e15)] | None = None
    target: Annotated[str, Field(max_length=200, examples=["overlap_accuracy>=0.7,event_recall>=0.9"])] | None = None
    objective: Literal["wrong_time", "overlap"] = "wrong_time"


#: The fields of a plan's question that say what work costs.
PRICES = [each.name for each in fields(Cost) if each.name in PlanQuestion.model_fields]


class LabelsQuestion(PlanQuestion):
    """What fixed segments of one length make of the events: their labels on a timeline, and all the words."""

    segment_length: SegmentLength


class QueriesQuestion(LabelsQuestion):
    """The fixed segments of one length as files for the annotator's tool."""

    to: Literal["csv", "labelstudio"] = "csv"


class EvaluateQuestion(Question):
    """What does a clip rule make of real events?"""

    file: Key
    label: Label | None = None
    segment_length: SegmentLengths
    presence_criterion: Criteria | None = None
    rule: Rule | None = None
    phase: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | Literal["random"] = "random"


class SimulateQuestion(Question):
    """What happens under this law of lengths, this density, these annotators?"""

    event_length: EventLength = "1"
    n_events: Annotated[int, Field(ge=0, le=10_000, description="events per recording")] = 1
    recording_length: RecordingLength = 100.0
    segment_length: SegmentLengths = 1.0
    presence_criterion: Criteria | None = None
    rule: Rule | None = None
    n_recordings: Annotated[int, Field(ge=1, le=100_000)] = 1000
    placement: Literal["uniform", "poisson", "spaced"] = "uniform"
    guess_rate: Annotated[float, Quantity("guess_rate")] = 0.0
    lapse_rate: Annotated[float, Quantity("lapse_rate")] = 0.0
    flip_rate: Annotated[float, Quantity("flip_rate")] = 0.0
    seed: Seed = 0


class AuditQuestion(Question):
    """How sensitive were the annotators, how wrong are the labels, what can a perfect model reach on them?"""

    strong: Key | None = None
    weak: Key | None = None
    label: Label | None = None
    unlisted: Literal["absent", "unknown"] | None = None
    recording_length: RecordingLength | None = None


class Problem(BaseModel):
    """What is wrong with a question, and which field it is about."""

    field: str | None = Field(description="the field that caused it, if it was one")
    message: str


class Received(BaseModel):
    """A file that was read and is kept for a while."""

    key: str
    kind: Literal["events", "answers"]
    name: str
    n_events: int
    n_recordings: int
    labels: list[str]
    event_length: float | None = Field(description="mean length of an event (s)")
    notes: list[str] = Field(description="what the reader understood that the file does not say outright")
    reading: str = Field(description="one line: what was taken as what")
    findings: list[str] = Field(description="what is probably wrong with the file, as `weakly check` says it")


def received(sent: Sent, state: PageState) -> dict[str, Any]:
    """What the sender of a file hears back, once it is read and kept."""
    if sent.name == EXAMPLE:  # as if somebody had sent it: annotated recordings, or what was said of their clips
        from ...studies.simulate import clips, pilot

        upload = Upload(sent.kind, "the example", pilot() if sent.kind == "events" else clips())
    else:
        data = (state.shelf.folder / sent.key).read_bytes()
        upload = parse(data, name=sent.name, kind=sent.kind, limits=state.limits, options=sent.options)
    state.shelf.put(sent.key, upload)
    content, events = upload.content, upload.kind == "events"
    return Received(
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
    asked = set(PlanQuestion.model_fields) & set(type(question).model_fields)
    return str(question.model_dump_json(include=asked))


@dataclass(frozen=True)
class PageState:
    """All that the server remembers between two requests; each part has its limits."""

    limits: Limits
    shelf: Files
    advance: Callable[[int, int | None], None]  # what work calls after each chunk: done, of how many
    plans: Recent[Plan] = field(default_factory=lambda: Recent(8))

    def plan(self, question: PlanQuestion) -> Plan:
        """The plan that answers the question; the last few are kept for the labels of other segment lengths."""
        key = plan_key(question)
        return self.plans.get(key) or self.plans.put(key, _plan(question, self.shelf))


def _plan(question: PlanQuestion, shelf: Files) -> Plan:
    from ...studies.plan.planner import plan

    if (question.pilot is None) == (question.event_length is None):
        raise InvalidInput("event_length or pilot must be given, and not both")
    asked = question.model_dump(include=set(PlanQuestion.model_fields))
    length, pilot = asked.pop("event_length"), asked.pop("pilot")
    prices = {name: asked.pop(name) for name in PRICES}
    source = length if pilot is None else shelf.get(pilot, kind="events", field="pilot")
    return plan(source, cost=Cost(**prices), segment_length=asked.pop("own_length"), **asked)


def plan(question: PlanQuestion, state: PageState) -> Any:
    """How to label, how good the labels will be and what they cost."""
    return state.plan(question)


def evaluate(question: EvaluateQuestion, state: PageState) -> Any:
    """What labels of fixed segments make of real annotations."""
    from ...studies.evaluate.evaluator import evaluate as call

    asked = question.model_dump()
    events = state.shelf.get(asked.pop("file"), kind="events", field="file")
    return call(events, progress=state.advance, **asked)


def simulate(question: SimulateQuestion, state: PageState) -> Any:
    """What labels of fixed segments make of random recordings, with standard errors."""
    from ...model.lengths import Lengths
    from ...studies.simulate import simulate as call

    if question.n_recordings * question.n_events > state.limits.events:
        raise InvalidInput(f"n_recordings times n_events must be at most {state.limits.events:,} here")
    asked = question.model_dump()
    who = AnswerModels.of(presence_criterion=asked.pop("presence_criterion"), rule=asked.pop("rule"), unknown=0.5)
    lengths, seed = asked.pop("event_length"), asked.pop("seed")
    noise = {name: asked.pop(name) for name in ("guess_rate", "lapse_rate", "flip_rate")}
    return call(
        Lengths.parse(lengths), presence_criterion=who.with_rates(**noise), rng=seed, progress=state.advance, **asked
    )


def audit(question: AuditQuestion, state: PageState) -> Any:
    """How sensitive the annotators were, how wrong the labels are, what a perfect model can reach on them."""
    from ...studies.audit.auditor import audit as call

    asked = question.model_dump()
    if asked["strong"] is None and asked["weak"] is None:
        raise InvalidInput("strong or weak must be given: a file that was sent")
    for name, kind in (("strong", "events"), ("weak", "answers")):
        if asked[name] is not None:
            asked[name] = state.shelf.get(asked[name], kind=kind, field=name)
    return call(rng=0, **asked)


def report(work: Callable[..., Any], question: Question, state: PageState) -> bytes:
    """The report of what a question finds: one HTML file for a colleague or a grant."""
    with tempfile.TemporaryDirectory(prefix="weakly-") as folder:
        path: Path = work(question, state).report(Path(folder) / "report.html")
        return path.read_bytes()


def query_files(question: QueriesQuestion, state: PageState) -> bytes:
    """The segments to ask, as an archive with the files of the annotator's tool."""
    from ...methods import Fixed
    from ...studies.queries.query_set import queries

    plan = state.plan(question)
    count, most = Fixed(question.segment_length).expected(plan.task).n_queries, state.limits.queries
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


def warm_up() -> None:
    """Compile and load what the first questions need; a server answers many, so nothing is interpreted."""
    from ...base import compiled
    from ...studies.evaluate.evaluator import evaluate as score
    from ...studies.plan.planner import plan as make

    compiled.PATIENCE = (0.0, 0.0)
    make(1.0, presence_criterion=0.5, recording_length=100.0, n_events=1).to_dict()
    score([[(1.0, 2.0)]], recording_length=10.0, segment_length=1.0, presence_criterion=0.5)
    make(1.0, presence_criterion=0.5, recording_length=100.0, n_events=20)
