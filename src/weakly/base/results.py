"""How results leave: plain numbers for JSON, the same words everywhere, and files that are there whole or not at all.

What is written appears when it is complete, and never over an input.
"""

from __future__ import annotations

import dataclasses
import json
import math
import operator
import os
import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from statistics import median
from typing import IO, Any

import numpy as np

from .errors import InvalidInput
from .symbols import HEADS, SYMBOLS, check, choice, headed

#: The words of results, in the order of tables; each has a standard error column with the suffix _se.
METRICS = (
    *("overlap_accuracy", "overlap_accuracy_per_recording", "recording_accuracy"),
    *("precision", "recall", "event_recall", "wrong_time"),
)
#: Those that closed forms give too, as people read them: event recall beside accuracy.
WORDS = ("overlap_accuracy", "event_recall", "precision", "recall", "recording_accuracy", "wrong_time")


def to_jsonable(value: Any) -> Any:
    """The value as JSON can hold it: lists, dicts, strings, numbers; what is not finite becomes None.

    >>> to_jsonable({"a": np.float64(0.5), "b": np.array([1, 2]), "c": float("nan")})
    {'a': 0.5, 'b': [1, 2], 'c': None}
    """
    if isinstance(value, float):  # the usual kinds first: results hold thousands of them
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return to_jsonable(value.tolist())
    if hasattr(value, "iloc") and hasattr(value, "columns"):  # a data frame: one dict per row
        return [to_jsonable(row) for row in value.to_dict(orient="records")]
    if hasattr(value, "to_dict") and not hasattr(value, "iloc"):
        return to_jsonable(value.to_dict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): to_jsonable(item) for key, item in value.items()}
    return [to_jsonable(item) for item in value] if isinstance(value, list | tuple | set) else str(value)


def to_json(value: Any) -> str:
    """The value as one JSON document."""
    text = json.dumps(to_jsonable(value), indent=2, allow_nan=False, ensure_ascii=False)
    return _CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", text)


_CONTROLS = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")  # orders to a terminal


_SHARES = (
    *("accuracy", "precision", "recall", "bound", "share", "coverage", "agreement", "present_if"),
    *("flip_rate", "guess_rate", "lapse_rate"),
)
_SCORES = ("f1", "kappa", "perfect", "mimic")
_COUNTS = ("n_", "rows", "count")


def format_value(name: str, value: Any) -> str:
    """The value as people read it: shares in percent, whole counts from 10 on, else three significant digits.

    >>> format_value("event_recall", 0.98765), format_value("n_queries", 2140.0), format_value("cost", 4894.3)
    ('99 %', '2,140', '4,894')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if not isinstance(value, (int, float, np.number)):
        return safe_label(value, most=300)
    number = float(value)
    if any(word in str(name) for word in _SHARES):
        return percent(number)
    if any(word in str(name) for word in _SCORES):
        return f"{number:.{_decimals(number, 3)}f}".replace("-0.000", "0.000")  # what is left of a sum has no sign
    is_whole = number == round(number) and abs(number) < 1e15
    is_count = str(name).startswith(_COUNTS) and abs(number) >= 10  # a few are expected numbers: 0.3 events
    return f"{number:,.0f}" if is_whole or is_count or abs(number) >= 100 else f"{number:.3g}"


def format_length(value: float) -> str:
    """A number as people write a length: two digits that tell, three from 10 on.

    >>> format_length(0.80901), format_length(12.34), format_length(3.0), format_length(0.0123), format_length(0.00002)
    ('0.81', '12.3', '3', '0.012', '0.00002')
    """
    if value <= 0 or not math.isfinite(value):
        return f"{value:g}"
    size = math.floor(math.log10(value))
    return _without_zeros(value, 2 if size == 0 else min(12, max(0, 2 - size - (size < 0))))


def _without_zeros(value: float, places: int) -> str:
    """The number with at most so many decimals."""
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def seconds(value: float) -> str:
    """A length as people say it.

    >>> seconds(0.80901), seconds(695.2), seconds(4000)
    ('0.81 s', '695 s', '1.1 hours')
    """
    return f"{format_length(value)} s" if value < 3600 else hours(value)


def _decimals(value: float, least: int, whole: float = 1.0) -> int:
    """How many decimals, at least so many, keep what is not none and not the whole from being rounded to it."""
    left = min(abs(value), abs(whole - value))
    return -math.floor(math.log10(left) + 1e-9) if 1e-9 * whole < left <= 0.5 * 10**-least else least


def percent(value: float, *, exact: bool = False) -> str:
    """A share as people say it; what is not all is not called 100 %, what is not nothing not 0 %.

    ``exact`` is for a share that somebody gave, such as a criterion: no digit of it is lost.

    >>> percent(0.7639), percent(0.9996), percent(1.0), percent(0.0234), percent(0.0004), percent(0.125, exact=True)
    ('76 %', '99.96 %', '100 %', '2.3 %', '0.04 %', '12.5 %')
    """
    share = 100 * float(value)
    if not math.isfinite(share):
        return "–"
    share = share if abs(share) > 1e-7 else 0.0  # what is left of a sum
    return f"{_without_zeros(share, 10 if exact else _decimals(share, 1 if abs(share) < 10 else 0, 100.0))} %"


def points(value: float) -> str:
    """A difference of shares as people say it.

    >>> points(0.0061), points(0.0004)
    ('0.6 percentage points', '0.04 percentage points')
    """
    told = percent(value)
    return told.replace("%", "percentage point" if told == "1 %" else "percentage points")


def hours(seconds: float) -> str:
    """A time as people say it.

    >>> hours(13000), hours(130), hours(60), hours(13), hours(359000)
    ('3.6 hours', '2.2 minutes', '1 minute', '13 seconds', '100 hours')
    """
    size, word = next((pair for pair in ((3600.0, "hour"), (60.0, "minute")) if seconds >= pair[0]), (1.0, "second"))
    value = seconds / size
    number = f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
    return f"{number} {word}{'' if number == '1' else 's'}"


def counted(number: int, noun: str) -> str:
    """How many there are, as people say it.

    >>> counted(1, "event"), counted(1168, "recording"), counted(2, "query"), counted(2, "class")
    ('1 event', '1,168 recordings', '2 queries', '2 classes')
    """
    many = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}es" if noun.endswith("ss") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


def with_ends(rows: Mapping[str, Iterable[Any]]) -> dict[str, Any]:
    """Numbers with their intervals (middle, low, high) as columns: x, x_low, x_high."""
    return {f"{name}{end}": x for name, row in rows.items() for end, x in zip(("", "_low", "_high"), row)}


def law_name(law: Any) -> str:
    """A frozen law of scipy as people write it.

    >>> from scipy.stats import gamma
    >>> law_name(gamma(0.8, loc=0.5))
    'gamma(0.8, loc=0.5)'
    """
    inside = [f"{value:g}" for value in getattr(law, "args", ())]
    inside += [f"{key}={value:g}" for key, value in getattr(law, "kwds", {}).items()]
    return f"{getattr(getattr(law, 'dist', None), 'name', None) or type(law).__name__}({', '.join(inside)})"


def printable(text: Any) -> str:
    r"""The text as a terminal may show it, line by line: names can hold orders to it, which become ?.

    >>> printable("dog\x1b[31m\ncat")
    'dog?[31m\ncat'
    """
    text = str(text)
    return text if text.isprintable() else "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)


def safe_label(text: Any, *, most: int = 60) -> str:
    """A label fit for a sentence: what does not print becomes ?, what is long is cut.

    >>> safe_label("dog\\x1b[31m"), safe_label("x" * 100, most=8)
    ('dog?[31m', 'xxxxx...')
    """
    clean = printable(str(text)[: 4 * most]).replace("\n", "?")
    return clean if len(clean) <= most else clean[: most - 3] + "..."


def _joined(name: str, names: list[str]) -> bool:
    """Whether a column is shown within another: the error or the ends of the interval of its value."""
    value = name.removesuffix("_se").removesuffix("_low").removesuffix("_high")
    ends = name.endswith("_se") or (f"{value}_low" in names and f"{value}_high" in names)
    return name != value and value in names and ends


_CLASSES = {"all": "all classes", "mean": "mean of classes"}
_GIVEN = ("segment_length", "presence_criterion", "hop")  # no digit of what somebody asked for is left out


def _places(name: str, values: list[float]) -> int | None:
    """The decimals that all numbers of a column share; None if they are counts, or words."""
    if not values or name in _GIVEN:
        return None
    needed = max(len(format_value(name, value).partition(".")[2]) for value in values)
    return min(needed, 2 if median(map(abs, values)) >= 1 else 3) or None


class Column:
    """One column of a table for people: its name, its head, its cells as text; times of hours in hours."""

    def __init__(self, name: str, rows: list[dict[str, Any]], head: str | None) -> None:
        values = [row[name] for row in rows]
        numbers = [float(each) for each in values if isinstance(each, (int, float)) and not isinstance(each, bool)]
        numbers = [each for each in numbers if math.isfinite(each)]
        self.name = name
        self.scale = 3600.0 if name == "listened" and max(numbers, default=0) >= 3600 else 1.0
        self.places = _places(name, [each / self.scale for each in numbers])
        ends = [(row.get(f"{name}_low"), row.get(f"{name}_high")) for row in rows]
        widths = [
            (high - low) / self.scale for low, high in ends if low is not None and high is not None and low < high
        ]
        if self.places is not None and widths and min(widths) < math.inf:  # two digits of the narrowest interval
            self.places = min(self.places, max(0, 1 - math.floor(math.log10(min(widths)))))
        self.is_words = bool(values) and not numbers and any(isinstance(each, str) for each in values)
        self.head = head or HEADS.get(name) or headed(name).replace("(s)", "(h)" if self.scale != 1 else "(s)")
        self.cells = [self._cell(row) for row in rows]

    @classmethod
    def of(cls, frame: Any, heads: dict[str, str] | None = None) -> list[Column]:
        """The columns of a table that say something.

        A standard error stands behind its value, an interval too; a column that says nothing, or of all classes in
        every row, is left out.

        >>> import pandas as pd
        >>> table = pd.DataFrame({"seconds": [10.284], "seconds_low": [8.001], "seconds_high": [15.002]})
        >>> Column.of(table)[0].cells
        ['10.3 (8.0 to 15.0)']
        """
        names = [str(name) for name in frame.columns]
        rows = [dict(zip(names, row)) for row in frame.itertuples(index=False, name=None)]
        texts = {name: {format_value(name, row[name]) for row in rows} for name in names}
        kept = [name for name in names if not _joined(name, names) and not (rows and texts[name] <= {"–", ""})]
        if len(rows) > 1 and "label" in kept and all(row["label"] == "all" for row in rows):
            kept.remove("label")
        return [cls(name, rows, (heads or {}).get(name)) for name in kept]

    def _number(self, value: Any) -> str:
        plain = format_value(self.name, value)
        if plain in ("–", "yes", "no") or plain.endswith("%") or not isinstance(value, (int, float)):
            return _CLASSES.get(plain, plain) if self.name == "label" else plain
        value = value / self.scale
        plain = format_value(self.name, value)
        if self.places is None:
            return plain
        short = f"{round(value, self.places) + 0.0:,.{self.places}f}"
        exact, rounded = (float(text.replace(",", "")) for text in (plain, short))
        # What is not nothing is not 0.00, what is not all of it not 1.00.
        if rounded in (0.0, 1.0) and abs(value - rounded) > 1e-9 and exact != rounded:
            return plain if rounded or value < 0 else f"< {10**-self.places:g}"
        return short

    def _cell(self, row: dict[str, Any]) -> str:
        value = self._number(row[self.name])
        error, low, high = (row.get(f"{self.name}_{end}") for end in ("se", "low", "high"))
        if error is not None and error > 0:
            return f"{value} ± {self._number(error)}"
        low, high = self._number(low), self._number(high)
        return f"{value} ({low} to {high})" if "–" not in (low, high) else value


@dataclasses.dataclass(frozen=True)
class Finding:
    """One sentence that a result has to say: a finding, a warning, a caveat or a note.

    ``weight`` in [0, 1] ranks it: about the share of the labels, of the score or of the answer that it concerns.
    ``topic`` is one word or two by which programs tell findings apart.
    """

    weight: float
    topic: str
    text: str

    def __str__(self) -> str:
        return self.text


_TESTS = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_CONDITION = re.compile(
    r"\s*(?:(?P<label>.+)[.:])?(?P<word>[\w-]+)\s*(?P<sense><=|>=|==|!=|<|>|=)\s*(?P<value>[-+.\deE]+)\s*(?P<percent>%?)\s*",
    re.S,
)


@dataclasses.dataclass(frozen=True)
class Condition:
    """A word of results beside a limit: a target to reach, a budget to keep, a check that a build asks for.

    >>> Condition.parse("Dog.precision <= 50%").text, Condition.parse("event_recall>=0.9").met(0.95)
    ('Dog.precision<=0.5', True)
    """

    word: str
    sense: str
    value: float
    label: str | None = None  # the class that it is about; left out, all of them

    @classmethod
    def parse(cls, text: object, *, called: str = "a condition") -> Condition:
        """The condition of a text such as ``event_recall<0.9``, ``Dog.precision<=50%``."""
        match = _CONDITION.fullmatch(str(text))
        try:
            value = float(match["value"] if match else "") / (100 if match and match["percent"] else 1)
        except ValueError as error:
            words = f"{called} must look like event_recall>=0.9 or wrong_time<=2, got {str(text)!r}"
            raise InvalidInput(words) from error
        assert match is not None
        sense = "==" if match["sense"] == "=" else match["sense"]
        return cls(match["word"].replace("-", "_"), sense, value, match["label"])

    @classmethod
    def targets(
        cls, given: str | Iterable[str | Condition] | Mapping[str, float] | None, senses: Mapping[str, str]
    ) -> tuple[Condition, ...]:
        """What must be reached, from text with commas, a list or a dictionary; each word has one sense, <= or >=.

        >>> [each.text for each in Condition.targets("overlap_accuracy>70%", {"overlap_accuracy": ">="})]
        ['overlap_accuracy>=0.7']
        """
        if isinstance(given, Mapping):
            given = [f"{word}{senses.get(word, '=')}{value}" for word, value in given.items()]
        conditions = []
        for text in given.split(",") if isinstance(given, str) else given or ():
            each = text if isinstance(text, Condition) else cls.parse(text, called="target")
            sense = senses[choice("target", each.word, tuple(senses))]
            if each.label is not None or each.sense not in (sense, sense[0], "=="):
                words = {"<=": "at most (<=)", ">=": "at least (>=)"}[sense]
                raise InvalidInput(f"target {each.word} must be {words} a number, got {str(text).strip()!r}")
            symbol = each.word if each.word in SYMBOLS else "wrong_time"  # any other number is at least 0
            value = float(check(symbol, each.value, called=f"target {each.word}"))
            conditions.append(cls(each.word, sense, value))
        return tuple(conditions)

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{f'{self.label}.' if self.label is not None else ''}{self.word}{self.sense}{self.value:g}"

    def shortfall(self, of: object) -> float:
        """How much a number, or the number of this name of a row, misses a target (<= or >=); at most 0 where met."""
        number = float(of if isinstance(of, (int, float)) else getattr(of, self.word))
        sign = 1 if self.sense[0] == "<" else -1
        return sign * (number - self.value) if math.isfinite(number) else math.inf

    def met(self, of: object) -> bool:
        """Whether a target is met: by the number that is shown, no other."""
        return self.shortfall(of) <= 1e-12

    def holds(self, numbers: Mapping[str, Mapping[str, float]]) -> bool:
        """Whether it holds of these numbers, by class; without a class, of "all", or of the only one there is.

        A condition that cannot be checked (unknown words, a number that is not known) is an InvalidInput.

        >>> Condition.parse("Dog.precision<=0.5").holds({"all": {}, "Dog": {"precision": 0.4}})
        True
        """
        label = self.label
        if label is None:
            others = [key for key in numbers if key != "all"]
            label = "all" if self.word in numbers.get("all", {}) or len(others) != 1 else others[0]
        choice("the class of a condition", label, tuple(numbers))
        if not numbers[label]:
            raise InvalidInput(f"{self.text!r} needs strong annotations and weak labels, or answers, to be checked on")
        value = numbers[label][choice("the number of a condition", self.word, tuple(numbers[label]))]
        if math.isnan(value):
            raise InvalidInput(f"{self.word} of {label} is not known from these labels: {self.text!r} is not checked")
        return bool(_TESTS[self.sense](value, self.value))


_inputs: ContextVar[set[str] | None] = ContextVar("inputs", default=None)
_private = threading.RLock()


@contextmanager
def private_files() -> Iterator[None]:
    """Files and folders that are made within this block are their owner's alone; one thread at a time is in it."""
    with _private:
        mask = os.umask(0o077)  # of the whole process, hence the lock
        try:
            yield
        finally:
            os.umask(mask)


@contextmanager
def inputs_kept() -> Iterator[None]:
    """Within this block, a file that was given to be read is never written over: commands run in one."""
    token = _inputs.set(set())
    try:
        yield
    finally:
        _inputs.reset(token)


def is_input(*paths: str | os.PathLike[str]) -> None:
    """Remember that these files are read."""
    known = _inputs.get()
    if known is not None:
        known.update(os.path.realpath(path) for path in paths)


def refuse_input(path: str | os.PathLike[str]) -> None:
    """Raise if this file, under any name, was given to be read."""
    known = _inputs.get() or ()
    target = os.path.realpath(path)
    there = filter(os.path.exists, known) if os.path.exists(target) else ()  # other names of one file
    if target in known or any(os.path.samefile(target, each) for each in there):
        raise InvalidInput(f"{path}: this file is read here, so it is not written over; give another name")


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """A file open for writing that takes the place of ``path`` when the block ends, and leaves nothing if it fails.

    The text goes to a temporary file in the same folder, is flushed to the disk and then renamed, so that a reader
    sees the old file or the new one and never half of either. Line ends are written as given.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "a.txt") as file:
    ...         _ = file.write("whole")
    ...     (Path(folder) / "a.txt").read_text(), len(os.listdir(folder))
    ('whole', 1)
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode must be 'w' or 'wb', got {mode!r}")
    refuse_input(path)
    # A link keeps being a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
    text = {} if mode == "wb" else {"encoding": "utf-8", "newline": ""}
    try:
        with open(temporary, mode.replace("w", "x"), **text) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(temporary, target.stat().st_mode & 0o7777)
        os.replace(temporary, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def write_file(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """The path of a file that holds this alone, written whole or not at all; its folder is made if need be."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb" if isinstance(content, bytes) else "w") as file:
        file.write(content)
    return Path(path)
