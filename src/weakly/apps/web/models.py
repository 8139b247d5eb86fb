"""What may be asked: every field is a word of the house, and its domain comes from the table of symbols."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from ...base.errors import InvalidInput
from ...base.symbols import SYMBOLS, check
from ...model.annotator import is_law, items
from ...model.answer_model import parse

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
    if len(parse(text)) > 50:
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
Rule = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="presence rule instead of a criterion",
        examples=["seconds:0.25", "any", "birdnet"],
    ),
    AfterValidator(_answering),
]
Count = Annotated[int, Field(ge=1, le=100)]
Seed = Annotated[int, Field(ge=0, lt=2**63, description="start of the random numbers; the same gives the same answer")]
Gamma = Annotated[float, Quantity("presence_criterion", least=1e-4)]
CriterionLaw = Annotated[
    str,
    Field(min_length=1, max_length=200, description="criteria as text: numbers, laws", examples=["beta:2,3"]),
    AfterValidator(_answering),
]
Criteria = Gamma | Annotated[list[Gamma], Field(min_length=1, max_length=50)] | CriterionLaw
RecordingLength = Annotated[float, Quantity("recording_length", least=1e-3, most=1e6)]
Hours = Annotated[float, Quantity("recording_length", called="total_hours", least=1e-6, most=1e7, unit="h")]
SegmentLength = Annotated[float, Quantity("segment_length", least=1e-3, most=1e6)]
SegmentLengths = SegmentLength | Annotated[list[SegmentLength], Field(min_length=1, max_length=200)]


def column_names(text: str | None) -> dict[str, str] | None:
    """Which column is which, from text.

    >>> column_names("onset=start, label=Species")
    {'onset': 'start', 'label': 'Species'}
    """
    if text is None or not text.strip():
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(sign and name.strip() and column.strip() for name, sign, column in pairs):
        raise InvalidInput(f"columns must look like onset=start,offset=end, got {text!r}")
    return {name.strip(): column.strip() for name, _, column in pairs}


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
    objective: Literal["wrong_time", "overlap", "recording"] = "wrong_time"


#: The fields of a plan's question that say what work costs.
PRICES = (
    *("per_hour", "per_hour_marking", "seconds_per_answer", "seconds_per_tick", "seconds_per_event", "speed"),
    *("query_cost_share", "per_second", "per_query", "currency", "annotators"),
)


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
