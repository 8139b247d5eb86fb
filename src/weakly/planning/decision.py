"""Which row answers: the least wrong time among ways that find nearly all events, and the cheapest that is as good.

Targets such as ``overlap_accuracy>=0.7`` and a budget restrict the rows; the objective says what is best among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..results import WORDS
from ..symbols import check, choice
from .rows import Design, Row
from .task import Task

FOUND = 0.9  # the share of events that a way must find unless told otherwise
EQUAL = 0.05  # wrong times that differ by less are practically the same
#: Words that bound how wrong labels are: the cheapest way that meets such a target is wanted, not the best.
_BOUNDS = ("wrong_time", "recording_accuracy", "overlap_accuracy")
Noise = Callable[[list[Row], Row], np.ndarray]


@dataclass(frozen=True)
class Target:
    """A word of results and the value that it must reach; wrong time must stay below, all others above."""

    word: str
    value: float

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.word}{'<=' if self.word == 'wrong_time' else '>='}{self.value:g}"

    def shortfall(self, made: Row) -> float:
        """How much is missing; at most 0 where the target is met."""
        sign = 1 if self.word == "wrong_time" else -1
        value = float(getattr(made, self.word))
        return sign * (value - self.value) if np.isfinite(value) else np.inf

    def met(self, made: Row) -> bool:
        """Whether the row meets the target: the number that is shown, no other."""
        return self.shortfall(made) <= 1e-12


def targets(value: Any) -> tuple[Target, ...]:
    """The targets from text ``overlap_accuracy>=0.7,event_recall>=0.9``, a list of such, or a dictionary.

    >>> [each.text for each in targets("overlap_accuracy>=70%, wrong_time<=2")]
    ['overlap_accuracy>=0.7', 'wrong_time<=2']
    """
    if value is None:
        return ()
    if isinstance(value, Mapping):
        value = [f"{word}{'<=' if word == 'wrong_time' else '>='}{number}" for word, number in value.items()]
    parts = value.split(",") if isinstance(value, str) else list(value)
    made = []
    for part in parts:
        if isinstance(part, Target):
            made.append(part)
            continue
        found = re.fullmatch(r"\s*([\w-]+)\s*(>=|<=|>|<|=)\s*([-+.\deE]+)\s*(%?)\s*", str(part))
        if not found:
            raise InvalidInput(f"target must look like overlap_accuracy>=0.7 or wrong_time<=2, got {part!r}")
        word = choice("target", found[1].replace("-", "_"), WORDS)
        upward = word != "wrong_time"
        if found[2] in ((">=", ">") if not upward else ("<=", "<")):
            raise InvalidInput(f"target {word} must be {'at least (>=)' if upward else 'at most (<=)'}, got {part!r}")
        try:
            number = float(found[3]) / (100 if found[4] else 1)
        except ValueError as error:
            raise InvalidInput(f"target must look like overlap_accuracy>=0.7, got {part!r}") from error
        made.append(Target(word, float(check(word, number, called=f"target {word}"))))
    return tuple(made)


@dataclass(frozen=True)
class Choice:
    """The recommended row, those practically equal to it, whether all that was asked for is met, and what limits it.

    ``limit``: "" if nothing does; "budget" or "target" if it cannot be met; "found" if no way finds 90 % of events;
    "nothing" or "everything" if no way of asking beats labelling nothing or everything.
    """

    row: Row
    equal: tuple[Row, ...]
    reachable: bool
    limit: str = ""


def choose(
    rows: list[Row], *, objective: str, wanted: tuple[Target, ...], budget: float | None, noise: Noise | None = None
) -> Choice:
    """The row to recommend among all that can be carried out."""
    asking = [row for row in rows if row.asks]
    affordable = [row for row in asking if budget is None or row.cost <= budget * (1 + 1e-12)]
    if not affordable:
        return Choice(min(asking, key=lambda row: (row.cost, row.wrong_time)), (), False, "budget")
    meeting = [row for row in affordable if all(each.met(row) for each in wanted)]
    if not meeting:
        scale = {each: max(abs(each.value), 1e-9) for each in wanted}

        def missing(row: Row) -> tuple[float, float]:
            return max(max(each.shortfall(row), 0.0) / scale[each] for each in wanted), row.cost

        return Choice(undominated(min(affordable, key=missing), affordable), (), False, "target")
    if objective == "overlap":
        # Moments of overlapping windows and events found by their edges are other segments: they do not compare.
        same = [row for row in meeting if row.method not in ("windows", "boundary")] or meeting
        if any(each.word in _BOUNDS for each in wanted):
            return Choice(min(same, key=lambda row: (row.cost, row.wrong_time)), (), True)
        top = max(row.overlap_accuracy for row in same)
        best = [row for row in same if row.overlap_accuracy >= top - 1e-12]
        return Choice(min(best, key=lambda row: (row.method != "fixed", row.cost)), (), True)
    if objective == "recording":
        least = min(meeting, key=lambda row: (row.wrong_time, row.cost))
        if any(each.word in _BOUNDS for each in wanted):
            least = min(meeting, key=lambda row: (row.cost, row.wrong_time))
        return Choice(undominated(least, meeting), (least,), True, _limit(least, rows))
    return _decide(rows, meeting, wanted, noise)


def _decide(rows: list[Row], meeting: list[Row], wanted: tuple[Target, ...], noise: Noise | None) -> Choice:
    """The rule of the house: find 90 % of events, bear to do it, least wrong time, the cheapest of what is as good."""
    told = any(each.word == "event_recall" for each in wanted)
    finding = meeting if told else [row for row in meeting if row.event_recall >= FOUND - 1e-9]
    limit = ""
    if not finding:
        most = max(row.event_recall for row in meeting)
        finding, limit = [row for row in meeting if row.event_recall >= 0.95 * most], "found"
    hard = [row for row in meeting if not row.doable]  # what these dominate is not recommended either
    finding = [row for row in finding if row.doable and not any(each.dominates(row) for each in hard)] or finding
    nothing = next(row for row in rows if row.method == "nothing")
    worth = [row for row in finding if row.wrong_time < nothing.wrong_time * (1 - 1e-9)]
    if any(each.word in _BOUNDS for each in wanted):
        pool = worth or finding
        picked = undominated(min(pool, key=lambda row: (row.cost, row.wrong_time)), meeting)
        return Choice(picked, (picked,), True, limit or _limit(picked, rows))
    least = min(finding, key=lambda row: (row.wrong_time, row.cost))
    near = np.array([row.wrong_time - least.wrong_time for row in finding])
    margin = np.full(len(finding), EQUAL * least.wrong_time)
    if noise is not None:
        margin = np.maximum(margin, noise(finding, least))
    equal = [row for row, gap, most in zip(finding, near, margin) if gap <= most + 1e-12]
    if worth and least in worth:
        equal = [row for row in equal if row in worth]
    picked = undominated(min(equal, key=lambda row: (row.cost, row.wrong_time)), meeting)
    limit = limit or _limit(picked, rows)
    if limit == "everything":
        return Choice(next(row for row in rows if row.method == "everything"), (), True, limit)
    return Choice(picked, tuple(equal), True, limit)


def _limit(picked: Row, rows: list[Row]) -> str:
    """Which way of asking nobody is at least as good, if one is."""
    unasked = {row.method: row for row in rows if row.method in ("nothing", "everything")}
    if "everything" in unasked and unasked["everything"].dominates(picked):
        return "everything"
    if "nothing" in unasked and picked.wrong_time >= unasked["nothing"].wrong_time * (1 - 1e-9):
        return "nothing"
    return ""


def undominated(picked: Row, rows: list[Row]) -> Row:
    """The row itself, or one that is at least as good in wrong time, events found and cost, and better in one."""
    while better := [row for row in rows if row.asks and row.dominates(picked)]:
        picked = min(better, key=lambda row: (row.wrong_time, row.cost))
    return picked


def on_the_edge(
    task: Task, rows: list[Row], *, wanted: tuple[Target, ...], budget: float | None, methods: tuple[str, ...]
) -> list[Row]:
    """Rows at the lengths where a target is just met or the budget just lasts, which the grid only brackets."""
    tests: list[Callable[[Row], bool]] = [each.met for each in wanted]
    if budget is not None:
        tests.append(lambda row: row.cost <= budget * (1 + 1e-12))
    extra: list[Row] = []
    for method in ("fixed", "bisection"):
        ladder = sorted((row for row in rows if row.method == method), key=lambda row: row.segment_length or 0.0)
        if method not in methods or len(ladder) < 2:
            continue
        for test in tests:
            flags = np.array([test(row) for row in ladder])
            for k in np.flatnonzero(flags[1:] != flags[:-1])[:6]:
                extra += _zoom(task, method, ladder[k], ladder[k + 1], test)
    return extra


def _zoom(task: Task, method: str, below: Row, above: Row, test: Callable[[Row], bool]) -> list[Row]:
    low, high = float(below.segment_length or 0.0), float(above.segment_length or 0.0)
    passed: list[Row] = []
    for _ in range(3):
        widths = np.geomspace(low, high, 8)[1:-1]
        if method == "fixed":
            made = task.rows([Design("fixed", float(width)) for width in widths])
        else:
            made = task.halvings(widths.tolist())
        passed += [row for row in made if test(row)]
        flags = [test(below), *(test(row) for row in made), test(above)]
        turn = next((k for k in range(len(flags) - 1) if flags[k] != flags[k + 1]), None)
        if turn is None:
            break
        every = [below, *made, above]
        below, above = every[turn], every[turn + 1]
        low, high = float(below.segment_length or 0.0), float(above.segment_length or 0.0)
    return passed
