"""The plan: the answer in words, the comparison behind it, and how both leave the house."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..report import Report, Result
from ..results import WORDS, plain
from .classes import Classes
from .decision import FOUND
from .rows import COLUMNS, Design, Row
from .task import Task

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plan(Result):
    """How to label, how good the labels will be and what they cost; made by :func:`weakly.plan`.

    ``answer`` is the plan in words, ``recommended`` the :class:`Row` it speaks of, ``equal_range`` the segment lengths
    that are practically as good, ``rows`` the comparison, ``reachable`` whether budget and targets can be met.
    ``uncertainty`` says what new recordings will give, ``break_even`` up to how many events it would pay to follow
    them, ``by_criterion`` what other criteria would change where none was given, ``posterior`` (where it was asked for)
    what :func:`weakly.infer` makes of the answers of each row, in seconds per recording. The words of ``recommended``
    are attributes of the plan too.
    """

    answer: str
    recommended: Row
    reachable: bool
    equal_range: tuple[float, float] | None
    rows: tuple[Row, ...]
    objective: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    settings: dict[str, Any]
    by_criterion: tuple[dict[str, Any], ...]
    other_rule: dict[str, Any] | None
    uncertainty: dict[str, Any] | None
    classes: Classes | None
    break_even: dict[str, Any]
    example: dict[str, Any]
    task: Task = field(repr=False, compare=False)
    pool: tuple[Row, ...] = field(repr=False, compare=False)
    posterior: tuple[dict[str, Any], ...] = ()

    @property
    def segment_length(self) -> float | None:
        """The recommended segment length in seconds; None for a way without one."""
        return self.recommended.segment_length

    def __getattr__(self, name: str) -> Any:
        if name in (*WORDS, "n_queries", "listened", "cost", "method"):
            return getattr(self.recommended, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @cached_property
    def curve(self) -> list[Row]:
        """Fixed segments over their length, from the same rows as the comparison."""
        centre = self.segment_length or self.break_even["segment_length"]
        near = [row for row in self.task.fixed_rows if centre / 30 <= (row.segment_length or 0.0) <= 30 * centre]
        return near or self.task.fixed_rows

    @cached_property
    def sensitivity(self) -> list[dict[str, Any]]:
        """What the recommended way gives if the criterion is another one, and the fixed segments best for that one."""
        task, picked = self.task, self.recommended
        if task.criteria.kind == "rule" or not picked.asks:
            return []
        low, high = task.criteria.plausible
        widths = task.grid[:: max(1, task.grid.size // 30)]
        made = []
        for value in np.unique(np.round([0.1, 0.3, 0.5, 0.7, 0.9, low, high], 9)):
            own = replace(task, criteria=task.criteria.only(float(value)))
            here = own.row(picked.design)
            tried = own.few.rows([Design("fixed", float(width)) for width in widths])
            best = own.row(min(tried, key=lambda row: (row.event_recall < FOUND, row.wrong_time)).design)
            words = ("wrong_time", "event_recall", "overlap_accuracy")
            made.append(
                {
                    "presence_criterion": float(value),
                    **{word: getattr(here, word) for word in words},
                    "best_segment_length": best.segment_length,
                    **{f"best_{word}": getattr(best, word) for word in words},
                    "plausible": bool(low - 1e-9 <= value <= high + 1e-9),
                }
            )
        return made

    def _frontier(self) -> list[dict[str, Any]]:
        """Every way that was looked at, by cost, each told whether no cheaper one has as little wrong time."""
        unique = {row.design: row for row in (*self.pool, *self.rows) if row.attainable}
        made, best = [], float("inf")
        for row in sorted(unique.values(), key=lambda each: (each.cost, each.wrong_time)):
            made.append({**row.to_dict(), "on_frontier": row.wrong_time < best - 1e-12})
            best = min(best, row.wrong_time)
        return made

    def frontier(self) -> pd.DataFrame:
        """Every way that was looked at, by cost; ``on_frontier`` where no cheaper way has as little wrong time."""
        import pandas as pd

        return pd.DataFrame(self._frontier()).drop(columns=["note"])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and words; the same for the CLI, the report and the page."""
        names = (
            "answer", "recommended", "reachable", "equal_range", "objective", "rows", "curve", "sensitivity",
            "by_criterion", "other_rule", "uncertainty", "classes", "break_even", "example", "assumptions", "warnings",
            "settings", "posterior",
        )  # fmt: skip
        return dict(plain({**{name: getattr(self, name) for name in names}, "frontier": self._frontier()}))

    def to_frame(self) -> pd.DataFrame:
        """One row per way of the comparison, in the words of results."""
        import pandas as pd

        return pd.DataFrame(
            [{name: getattr(row, name) for name in COLUMNS} for row in self.rows], columns=list(COLUMNS)
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Wrong time and events found over the segment length, with the pick and the lengths people use."""
        from .figures import over_lengths

        return over_lengths(self, ax)

    def figures(self) -> dict[str, Figure]:
        """The figures of the report by name: frontier, lengths, cost, timeline."""
        from .figures import draw

        return draw(self)

    def page(self) -> Report:
        """The report with answer, figures, tables and assumptions."""
        from .figures import page

        return page(self)

    def brief(self) -> pd.DataFrame:
        """The columns that people read; the rest is in the JSON."""
        from .figures import SHOWN

        return self.to_frame()[list(SHOWN)]

    def __repr__(self) -> str:
        return f"<Plan: {self.answer}>"
