"""Which row answers: the least wrong time among ways that find nearly all events, and the cheapest that is as good.

Under a target such as ``overlap_accuracy>=0.7`` it is the cheapest way that meets it and is better than asking nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...base.errors import InvalidInput
from ...base.results import WORDS
from ...base.symbols import check, choice
from ...methods.outcome import UNASKED, LabelingDesign, MethodOutcome
from ...methods.problem import LabelingProblem

FOUND = 0.9  # the share of events that a way must find unless told otherwise
EQUAL = 0.05  # wrong times that differ by less are practically the same
Noise = Callable[[list[MethodOutcome], MethodOutcome], np.ndarray]


@dataclass(frozen=True)
class Target:
    """A word of results and the value that it must reach; wrong time must stay below, all others above."""

    word: str
    value: float

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.word}{'<=' if self.word == 'wrong_time' else '>='}{self.value:g}"

    def shortfall(self, made: MethodOutcome) -> float:
        """How much is missing; at most 0 where the target is met."""
        sign = 1 if self.word == "wrong_time" else -1
        value = float(getattr(made, self.word))
        return sign * (value - self.value) if np.isfinite(value) else np.inf

    def met(self, made: MethodOutcome) -> bool:
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
    "nothing" or "everything" if that is the row, because no way of asking is better. ``beaten``: the way of asking
    nobody that leaves no more wrong time than the row, if one does.
    """

    row: MethodOutcome
    equal: tuple[MethodOutcome, ...]
    reachable: bool
    limit: str = ""
    beaten: MethodOutcome | None = None


def choose(
    rows: list[MethodOutcome], *, objective: str, wanted: tuple[Target, ...], budget: float | None,
    noise: Noise | None = None, spare: MethodOutcome | None = None,
) -> Choice:  # fmt: skip
    """The row to recommend among all that can be carried out; of those that are as good, the spare one last."""
    free = min((row for row in rows if row.method in UNASKED), key=lambda row: row.wrong_time, default=None)
    made = _choose([row for row in rows if row.asks], free, objective, wanted, budget, noise, spare)
    return replace(made, beaten=free if made.row.asks and free is not None and not beats(made.row, free) else None)


def _choose(
    asking: list[MethodOutcome], free: MethodOutcome | None, objective: str, wanted: tuple[Target, ...],
    budget: float | None, noise: Noise | None, spare: MethodOutcome | None,
) -> Choice:  # fmt: skip
    affordable = [row for row in asking if budget is None or row.cost <= budget * (1 + 1e-12)]
    if not affordable:
        return Choice(min(asking, key=_price), (), False, "budget")
    if not wanted:
        return (
            _decide(affordable, free, noise, spare) if objective == "wrong_time" else _foremost(affordable, objective)
        )
    meeting = [row for row in affordable if all(each.met(row) for each in wanted)]
    worth = [row for row in meeting if free is None or beats(row, free)]
    if not worth and free is not None and all(each.met(free) for each in wanted):
        return Choice(free, (), True, free.method)
    if not meeting:
        return Choice(_nearest(affordable, wanted), (), False, "target")
    pool = [row for row in worth if row.doable] or worth or [row for row in meeting if row.doable] or meeting
    return Choice(undominated(min(pool, key=_price), pool), (), True)


def beats(row: MethodOutcome, free: MethodOutcome) -> bool:
    """Whether it leaves less wrong time than a way of asking nobody."""
    return row.wrong_time < free.wrong_time * (1 - 1e-9)


def _price(row: MethodOutcome) -> tuple[float, float]:
    return row.cost, row.wrong_time


def _nearest(rows: list[MethodOutcome], wanted: tuple[Target, ...]) -> MethodOutcome:
    """The row that misses the targets by the smallest share of them; of those as near, one that is doable and cheap."""

    def missing(row: MethodOutcome) -> float:
        return max(max(each.shortfall(row), 0.0) / max(abs(each.value), 1e-9) for each in wanted)

    least = min(map(missing, rows))
    near = [row for row in rows if missing(row) <= least + 1e-12]
    near = [row for row in near if row.doable] or near
    return undominated(min(near, key=_price), near)


def _foremost(rows: list[MethodOutcome], objective: str) -> Choice:
    """The best accuracy near events, or the least wrong time, whatever it costs."""
    if objective == "recording":
        least = min(rows, key=lambda row: (row.wrong_time, row.cost))
        return Choice(undominated(least, rows), (least,), True)
    # Moments of overlapping windows and events found by their edges are other segments: they do not compare.
    same = [row for row in rows if row.method not in ("windows", "boundary")] or rows
    top = max(row.overlap_accuracy for row in same)
    best = [row for row in same if row.overlap_accuracy >= top - 1e-12]
    return Choice(min(best, key=lambda row: (row.method != "fixed", row.cost)), (), True)


def _decide(
    rows: list[MethodOutcome], free: MethodOutcome | None, noise: Noise | None, spare: MethodOutcome | None
) -> Choice:
    """The rule of the house: find 90 % of events, bear to do it, least wrong time, the cheapest of what is as good."""
    finding, limit = [row for row in rows if row.event_recall >= FOUND - 1e-9], ""
    if not finding:
        most = max(row.event_recall for row in rows)
        finding, limit = [row for row in rows if row.event_recall >= 0.95 * most], "found"
    finding = [row for row in finding if row.doable] or finding
    least = min(finding, key=lambda row: (row.wrong_time, row.cost))
    worth = [row for row in finding if free is None or beats(row, free)]
    if not worth and free is not None and free.method == "everything":
        return Choice(free, (), True, free.method)
    margin = np.full(len(finding), EQUAL * least.wrong_time)
    if noise is not None:
        margin = np.maximum(margin, noise(finding, least))
    equal = [row for row, most in zip(finding, margin) if row.wrong_time - least.wrong_time <= most + 1e-12]
    equal = [row for row in equal if row in worth] or equal
    first = min([row for row in equal if row is not spare] or equal, key=_price)
    return Choice(undominated(first, finding), tuple(equal), True, limit)


def undominated(picked: MethodOutcome, rows: list[MethodOutcome]) -> MethodOutcome:
    """The row itself, or one that is at least as good in wrong time, events found and cost, and better in one."""
    while better := [row for row in rows if row.asks and row.dominates(picked)]:
        picked = min(better, key=lambda row: (row.wrong_time, row.cost))
    return picked


def on_the_edge(
    task: LabelingProblem,
    rows: list[MethodOutcome],
    *,
    wanted: tuple[Target, ...],
    budget: float | None,
    methods: tuple[str, ...],
) -> list[MethodOutcome]:
    """Rows at the lengths where a target is just met or the budget just lasts, which the grid only brackets."""
    tests: list[Callable[[MethodOutcome], bool]] = [each.met for each in wanted]
    if budget is not None:
        tests.append(lambda row: row.cost <= budget * (1 + 1e-12))
    extra: list[MethodOutcome] = []
    for method in ("fixed", "bisection"):
        ladder = sorted((row for row in rows if row.method == method), key=lambda row: row.segment_length or 0.0)
        if method not in methods or len(ladder) < 2:
            continue
        for test in tests:
            flags = np.array([test(row) for row in ladder])
            for k in np.flatnonzero(flags[1:] != flags[:-1])[:6]:
                extra += _zoom(task, method, ladder[k], ladder[k + 1], test)
    return extra


def _zoom(
    task: LabelingProblem,
    method: str,
    below: MethodOutcome,
    above: MethodOutcome,
    test: Callable[[MethodOutcome], bool],
) -> list[MethodOutcome]:
    low, high = float(below.segment_length or 0.0), float(above.segment_length or 0.0)
    passed: list[MethodOutcome] = []
    for _ in range(3):
        widths = np.geomspace(low, high, 8)[1:-1]
        if method == "fixed":
            made = task.rows([LabelingDesign("fixed", float(width)) for width in widths])
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
