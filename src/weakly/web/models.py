"""What may be asked: every field is a word of the house, and its domain comes from the table of symbols."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ..errors import InvalidInput
from ..symbols import SYMBOLS, check

#: The laws that a question may name: those whose integrals take milliseconds.
LAWS = tuple(
    "beta chi2 erlang expon exponweib fisk gamma halfnorm invgauss loguniform lognorm lomax norm pareto rayleigh "
    "triang truncexpon truncnorm uniform weibull_min".split()
)


def _bounds(name: str, most: float) -> dict[str, Any]:
    symbol = SYMBOLS[name]
    low = {"exclusiveMinimum" if symbol.domain[0] == "(" else "minimum": symbol.low}
    return {**low, "maximum": min(symbol.high, most)}


def _checked(name: str, called: str, most: float) -> Callable[[float], float]:
    def validate(value: float) -> float:
        number = float(check(name, value, called=called))
        if number > most:
            raise InvalidInput(f"{called} must be at most {most:g} here, got {number:g}")
        return number

    return validate


def quantity(name: str, *, called: str | None = None, most: float = math.inf, unit: str | None = None) -> Any:
    """The type of a number in the domain of a symbol, at most ``most`` on this server."""
    symbol = SYMBOLS[name]
    words = f"{symbol.meaning}{f' ({unit or symbol.unit})' if unit or symbol.unit else ''}"
    return Annotated[
        float,
        AfterValidator(_checked(name, called or name, most)),
        Field(allow_inf_nan=False, description=words, json_schema_extra=_bounds(name, most)),
    ]


def _law(text: str) -> str:
    kind = text.partition(":")[0].strip()
    if ":" in text and kind not in LAWS:
        raise InvalidInput(f"event_length must be seconds, several like 0.5,1,4, or one of the laws {', '.join(LAWS)}")
    return text


EventLength = Annotated[
    str,
    AfterValidator(_law),
    Field(
        min_length=1,
        max_length=2000,
        description="length of an event (s): a number, several like 0.5,1,4, or a law like lognorm:s=0.5,scale=1",
        examples=["1", "0.5,1,4", "gamma:0.8,loc=0.5"],
    ),
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
]
Count = Annotated[int, Field(ge=1, le=100)]
Seed = Annotated[int, Field(ge=0, lt=2**63, description="start of the random numbers; the same gives the same answer")]
Gamma = quantity("presence_criterion")
RecordingLength = quantity("recording_length", most=1e6)


class Question(BaseModel):
    """A question to the house; a field that does not exist is an error."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


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
