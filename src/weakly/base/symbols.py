r"""Every symbol of the paper, declared once: name, LaTeX, unit, domain, typical range.

Validation, axis labels, the glossary and property tests all read this table, so a symbol cannot mean two things.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import InvalidInput

#: What random numbers begin with: whatever numpy's ``default_rng`` takes.
Seed = int | Sequence[int] | np.random.SeedSequence | np.random.Generator | None


@dataclass(frozen=True)
class Symbol:
    """One quantity: what it is called in the paper and at our door, and which values it can take."""

    name: str
    latex: str
    unit: str
    domain: str  # an interval such as "(0, 1]"
    typical: tuple[float, float]
    meaning: str
    plain: str = ""  # what people call it in tables, pictures and answers

    @property
    def low(self) -> float:
        """The lower end of the domain."""
        return float(self.domain[1:].partition(",")[0])

    @property
    def high(self) -> float:
        """The upper end of the domain."""
        return float(self.domain[:-1].partition(",")[2])

    @property
    def allowed(self) -> str:
        """The domain in words, for example ``in (0, 1]`` or ``> 0``."""
        if math.isfinite(self.high):
            return f"in {self.domain}"
        return f"{'>' if self.domain[0] == '(' else '>='} {self.low:g}"

    @property
    def label(self) -> str:
        """An axis label with symbol and unit, for example ``segment length $d_q$ (s)``."""
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.plain or self.name.replace('_', ' ')} ${self.latex}${unit}"

    def excludes(self, array: Any) -> Any:
        """Which values lie outside the domain; NaN does."""
        low = array <= self.low if self.domain[0] == "(" else array < self.low
        high = array >= self.high if self.domain[-1] == ")" else array > self.high
        return low | high | np.isnan(array)


SYMBOLS = {
    symbol.name: symbol
    for symbol in (
        Symbol("event_length", "d_e", "s", "(0, inf)", (0.05, 60), "length of an event", "event length"),
        Symbol("segment_length", "d_q", "s", "(0, inf)", (0.1, 60), "length of a query segment", "segment length"),
        Symbol("presence_criterion", r"\gamma", "", "(0, 1]", (0.05, 1),
               "least share of an event that is noticed", "presence criterion"),
        Symbol("event_fraction", "h", "", "[0, 1]", (0, 1), "share of an event that lies in a segment"),
        Symbol("segment_accuracy", "F", "", "[0, 1]", (0, 1), "share of a segment's time that its label gets right"),
        Symbol("overlap_accuracy", "f", "", "[0, 1]", (0, 1),
               "accuracy of the segments that meet an event", "accuracy near events"),
        Symbol("recording_accuracy", "f_T", "", "[0, 1]", (0, 1),
               "share of a recording that is labelled right", "time labelled right"),
        Symbol("length_ratio", r"\delta", "", "(0, inf)", (0.05, 20), "segment length over event length"),
        Symbol("recording_length", "T", "s", "(0, inf)", (1, 86400), "length of a recording", "recording length"),
        Symbol("n_events", "M", "", "[0, inf)", (0, 1000), "events per recording", "events per recording"),
        Symbol("n_queries", "B", "", "[0, inf)", (1, 1e6), "segments that an annotator answers", "clips to play"),
        Symbol("query_cost_share", "r", "", "[0, 1]", (0, 1), "cost of one query, if one second reviewed costs 1 - r"),
        Symbol("flip_rate", r"\rho", "", "[0, 1]", (0, 0.3), "chance that a label is flipped"),
        Symbol("guess_rate", "g_0", "", "[0, 1]", (0, 0.3), "chance of a present where the rule says absent"),
        Symbol("lapse_rate", r"\ell", "", "[0, 1]", (0, 0.3), "chance of an absent where the rule says present"),
        Symbol("overestimation", "s", "", "[1, inf)", (1, 8), "queries asked over queries needed"),
        Symbol("hop", r"\eta", "s", "(0, inf)", (0.1, 10), "time from one window's start to the next"),
        Symbol("event_rate", r"\lambda", "1/s", "[0, inf)", (0, 2), "event starts per second"),
        Symbol("precision", "P", "", "[0, 1]", (0, 1),
               "share of the time labelled present that is event time", "labelled time that is right"),
        Symbol("recall", "R", "", "[0, 1]", (0, 1),
               "share of event time that is labelled present", "event time labelled"),
        Symbol("event_recall", "R_e", "", "[0, 1]", (0, 1),
               "share of events noticed in at least one segment", "events found"),
        Symbol("wrong_time", r"\epsilon", "s", "[0, inf)", (0, 100),
               "seconds with the wrong label", "wrong time per recording"),
        Symbol("listened", "L", "s", "[0, inf)", (0, 1e6), "seconds that an annotator hears or views", "reviewed time"),
        Symbol("cost", "C", "", "[0, inf)", (0, 1e6), "cost of labeling", "cost"),
    )
}  # fmt: skip


def plain_name(word: str) -> str:
    """A word of results as people say it; code names stay in JSON, Python and CSV.

    >>> plain_name("overlap_accuracy"), plain_name("best_event_recall"), plain_name("name")
    ('accuracy near events', 'best events found', 'name')
    """
    if word == "label":
        return "class"
    if word in SYMBOLS:
        return SYMBOLS[word].plain or word.replace("_", " ")
    known = next((name for name in SYMBOLS if word.startswith(f"{name}_")), None)
    if known is not None:
        return f"{plain_name(known)}, {word[len(known) + 1 :].replace('_', ' ')}"
    after = max((name for name in SYMBOLS if word.endswith(f"_{name}") and SYMBOLS[name].plain), key=len, default="")
    if after:
        return f"{word[: -len(after) - 1].replace('_', ' ')} {plain_name(after)}"
    return word.replace("_", " ")


#: Heads of columns that are shorter than their names.
HEADS = {
    "wrong_time": "wrong time (s)",
    "painted_seconds": "seconds labelled present",
    "onset": "onset (s)",
    "offset": "offset (s)",
    "n_phantom": "present, no event",
    "n_missed": "absent on an event",
}


def headed(word: str) -> str:
    """The same with its unit, over a column.

    >>> headed("wrong_time"), headed("label"), headed("n_rows")
    ('wrong time per recording (s)', 'class', 'rows')
    """
    unit = SYMBOLS[word].unit if word in SYMBOLS else ""
    return plain_name(word).removeprefix("n ") + (f" ({unit})" if unit else "")


def definition(word: str) -> str:
    """What a word of results means, for a glossary or a hover; empty for other words.

    >>> definition("event_recall")
    'share of events noticed in at least one segment'
    """
    return SYMBOLS[word].meaning if word in SYMBOLS else ""


def _slip(symbol: Symbol, value: float) -> str:
    if symbol.high == 1 and 1 < value <= 100:
        return "; a percentage?"
    if symbol.unit == "s" and value < 0:
        return "; an offset before its onset?"
    return ""


def check(name: str, value: Any, *, called: str | None = None) -> Any:
    """The value as float64 (scalar or array), or an InvalidInput that names argument, value and range.

    Parameters
    ----------
    name : a symbol of :data:`SYMBOLS`, whose domain the value must respect.
    called : the name of the argument at the door, where it differs from the symbol.

    Examples
    --------
    >>> float(check("presence_criterion", 0.5))
    0.5
    """
    symbol, called = SYMBOLS[name], called or name
    try:
        if isinstance(value, str | bytes) or value is None:
            raise TypeError
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{called} must be a number {symbol.allowed}, got {value!r}") from error
    bad = symbol.excludes(array)
    if bad.any():
        first = float(array[bad].flat[0])
        where = "" if array.size == 1 else f" at position {int(np.flatnonzero(bad.ravel())[0])}"
        raise InvalidInput(f"{called} must be {symbol.allowed}, got {first:g}{where}{_slip(symbol, first)}")
    return array[()]


LONGEST = 1e9  # seconds (31 years) of one recording


def plausible_length(what: str, seconds: float) -> float:
    """The seconds of a recording as a file tells them, if they are no damage.

    >>> plausible_length("a.edf", 60.0)
    60.0
    """
    if not seconds <= LONGEST:
        raise InvalidInput(f"{what}: is said to last {seconds:g} s, more than {LONGEST:g} s (31 years): damaged?")
    return seconds


def positive(name: str, value: Any, *, zero: bool = False) -> float:
    """The value as a float, if it is one finite number above zero (or at least zero); else an InvalidInput.

    For arguments that are no symbol of the paper.

    >>> positive("spread", 2)
    2.0
    """
    number = _number(value)
    if number > 0 or (zero and number == 0):
        return number
    raise InvalidInput(f"{name} must be a number {'>= 0' if zero else '> 0'}, got {value!r}")


def _number(value: Any) -> float:
    """The value, if it is one finite number; else NaN."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else math.nan


def whole(name: str, value: Any, *, least: int = 1, most: int | None = None, meaning: str = "") -> int:
    """The value as an int, if it is a whole number in the range; else an InvalidInput.

    >>> whole("votes", 2.0, most=3)
    2
    """
    number = _number(value)
    if least <= number <= (math.inf if most is None else most) and number == round(number):
        return int(number)
    allowed = f">= {least}" if most is None else f"from {least} to {most}"
    raise InvalidInput(f"{name} must be a whole number {allowed}{meaning and f', {meaning}'}, got {value!r}")


def choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """The value, if it is one of the allowed words; else an InvalidInput that lists them and guesses the slip."""
    if value in allowed:
        return str(value)
    import difflib

    close = difflib.get_close_matches(str(value), allowed, n=1)
    guess = f"; did you mean {close[0]!r}?" if close else ""
    raise InvalidInput(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}{guess}")


_MOST = 100_000  # values in a range: more is a slip, and would fill the memory


def numbers(text: str, *, name: str) -> list[float]:
    """The numbers of a list ``0.1,0.5`` or a range ``lo:hi:n`` (n values, both ends included).

    >>> numbers("1,3", name="x"), numbers("0:1:3", name="x")
    ([1.0, 3.0], [0.0, 0.5, 1.0])
    """
    values: list[float] = []
    for item in text.split(","):
        try:
            if ":" not in item:
                values.append(float(item))
                continue
            first, last, n = item.split(":")
            low, high, count = float(first), float(last), int(n)
            if count < 1:
                raise ValueError
        except ValueError as error:
            raise InvalidInput(f"{name} must be numbers like 0.1,0.5 or a range like 0.1:1:10, got {text!r}") from error
        if count > _MOST:
            raise InvalidInput(f"{name} must hold at most {_MOST:,} values, got {text!r}")
        step = (high - low) / (count - 1) if count > 1 else 0.0
        values += [low + step * k for k in range(count - 1)] + [high if count > 1 else low]
    return values


def pairs(texts: Sequence[str] | str | None, *, name: str, example: str) -> dict[str, str]:
    """``a=b`` texts (or one text with commas between) as a dictionary.

    >>> pairs("onset=start, label=Species", name="--columns", example="onset=start")
    {'onset': 'start', 'label': 'Species'}
    """
    values = {}
    for text in texts.split(",") if isinstance(texts, str) else texts or ():
        key, sign, value = text.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise InvalidInput(f"{name} must be like {example}, got {text.strip()!r}")
        values[key.strip()] = value.strip()
    return values
