"""What was asked for: targets such as overlap_accuracy>=0.7, a budget, and the row of the comparison that answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..results import WORDS
from ..symbols import check, choice
from .methods import bisection, candidates, fixed
from .task import Row, Task


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
        return sign * (float(made[self.word]) - self.value)

    def met(self, made: Row) -> bool:
        """Whether the row meets the target."""
        return self.shortfall(made) <= 1e-9


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
    """The recommended row, whether everything asked for is met, and the rows that it was chosen from."""

    row: Row
    reachable: bool
    pool: list[Row]
    limit: str = ""


def choose(
    task: Task, rows: list[Row], *, methods: tuple[str, ...], wanted: tuple[Target, ...], budget: float | None
) -> Choice:
    """The best within the budget, the cheapest that meets the targets, or the best that there is."""
    pool = [made for made in candidates(task, methods) if made["attainable"]]
    pool += [made for made in rows if made["attainable"]]
    if not pool:
        raise InvalidInput("methods must hold one that can be carried out: fixed, windows or bisection")
    if not wanted and budget is None:
        simple = [made for made in rows if made["attainable"] and made["method"] == "fixed"] or [
            made for made in rows if made["attainable"]
        ]
        return Choice(simple[0], True, pool)
    about_overlap = any(each.word == "overlap_accuracy" for each in wanted)
    if about_overlap or (not wanted and task.objective == "overlap"):
        # Cells of overlapping windows are other segments: their accuracy given overlap does not compare.
        pool_of_choice = [made for made in pool if made["method"] != "windows"] or pool
    else:
        pool_of_choice = pool
    pool_of_choice = pool_of_choice + _on_the_edge(task, pool_of_choice, methods, wanted, budget)
    word = "overlap_accuracy" if task.objective == "overlap" else "recording_accuracy"
    affordable = [made for made in pool_of_choice if budget is None or made["cost"] <= budget * (1 + 1e-9)]
    if not affordable:
        cheapest = min(pool_of_choice, key=lambda made: made["cost"])
        return Choice(cheapest, False, pool, "budget")
    meeting = [made for made in affordable if all(each.met(made) for each in wanted)]
    if meeting and wanted:
        return Choice(min(meeting, key=lambda made: (made["cost"], -made[word])), True, pool)
    if meeting:
        return Choice(max(meeting, key=lambda made: (made[word], -made["cost"])), True, pool)
    scale = {each: max(abs(each.value), 1e-9) for each in wanted}
    nearest = min(
        affordable, key=lambda made: (max(each.shortfall(made) / scale[each] for each in wanted), made["cost"])
    )
    return Choice(nearest, False, pool, "target")


def _on_the_edge(
    task: Task, pool: list[Row], methods: tuple[str, ...], wanted: tuple[Target, ...], budget: float | None
) -> list[Row]:
    """Rows at the lengths where a target is just met or the budget just lasts, which the grid only brackets."""
    makers: dict[str, Callable[[Any], list[Row]]] = {
        "fixed": lambda q: fixed(task, q),
        "bisection": lambda q: bisection(task, q),
    }
    extra: list[Row] = []
    for method, make in makers.items():
        if method not in methods:
            continue
        ladder = sorted((made for made in pool if made["method"] == method), key=lambda made: made["segment_length"])
        for test in [*(each.met for each in wanted), *([_within(budget)] if budget is not None else [])]:
            flags = np.array([test(made) for made in ladder])
            for k in np.flatnonzero(flags[1:] != flags[:-1]):
                low, high = ladder[k]["segment_length"], ladder[k + 1]["segment_length"]
                made: list[Row] = []
                for _ in range(4):
                    made = make(np.geomspace(low, high, 9))
                    inner = np.array([test(each) for each in made])
                    turn = np.flatnonzero(inner[1:] != inner[:-1])
                    if turn.size == 0:
                        break
                    low, high = made[turn[0]]["segment_length"], made[turn[0] + 1]["segment_length"]
                extra += [each for each in made if test(each)]
    return extra


def _within(budget: float) -> Callable[[Row], bool]:
    return lambda made: bool(made["cost"] <= budget * (1 + 1e-9))
