"""The plan: the answer in words, the comparison behind it, and how both leave the house."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..results import WORDS, plain
from .methods import mark_frontier
from .task import Row, Task

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("name", "method", "segment_length", *WORDS, "n_queries", "listened", "cost", "note")


@dataclass(frozen=True)
class Plan:
    """How to label, how good the labels will be and what they cost; made by :func:`weakly.plan`.

    ``answer`` is the plan in words, ``recommended`` the row it speaks of, ``rows`` the comparison of methods,
    ``reachable`` whether budget and targets can be met. ``wrong_time`` is in seconds per recording, all classes
    together; ``n_queries``, ``listened`` and ``cost`` are for the whole work.
    """

    answer: str
    recommended: Row
    reachable: bool
    rows: tuple[Row, ...]
    objective: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    inputs: dict[str, Any]
    curve: tuple[Row, ...]
    sensitivity: tuple[Row, ...]
    uncertainty: dict[str, Any] | None
    classes: dict[str, Any] | None
    example: dict[str, Any]
    task: Task = field(repr=False, compare=False)
    pool: tuple[Row, ...] = field(repr=False, compare=False)

    @property
    def segment_length(self) -> float | None:
        """The recommended segment length in seconds; None for a method without one."""
        return self.recommended["segment_length"]  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name in (*WORDS, "n_queries", "listened", "cost", "method"):
            return self.recommended[name]
        raise AttributeError(name)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and words; the same for the CLI, the report and the page."""
        made = {
            "answer": self.answer,
            "recommended": self.recommended,
            "reachable": self.reachable,
            "objective": self.objective,
            "rows": self.rows,
            "curve": self.curve,
            "frontier": [_slim(each) for each in self._frontier_rows()],
            "sensitivity": self.sensitivity,
            "uncertainty": self.uncertainty,
            "classes": self.classes,
            "example": self.example,
            "assumptions": self.assumptions,
            "warnings": self.warnings,
            "inputs": self.inputs,
        }
        return plain(made)  # type: ignore[no-any-return]

    def to_frame(self) -> pd.DataFrame:
        """One row per method, in the words of results."""
        import pandas as pd

        return pd.DataFrame([{name: made[name] for name in COLUMNS} for made in self.rows], columns=list(COLUMNS))

    def _frontier_rows(self) -> list[Row]:
        word = "overlap_accuracy" if self.objective == "overlap" else "wrong_time"
        if word == "overlap_accuracy":  # cells of windows are other segments, so they do not compare by it
            rest = [each for each in self.pool if each["method"] == "windows"]
            same = mark_frontier([each for each in self.pool if each["method"] != "windows"], better=word)
            return same + [{**each, "on_frontier": False} for each in rest]
        return mark_frontier(list(self.pool), better=word)

    def frontier(self) -> pd.DataFrame:
        """Every way to work that was looked at, by cost; ``on_frontier`` where no cheaper way is as good."""
        import pandas as pd

        rows = [_slim(each) for each in self._frontier_rows()]
        return pd.DataFrame(rows).sort_values("cost", kind="stable", ignore_index=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Accuracy over segment length, with the optimum and the lengths people use."""
        from .figures import over_lengths

        return over_lengths(self, ax)

    def figures(self) -> dict[str, Figure]:
        """The figures of the report by name: frontier, lengths, cost, timeline."""
        from .figures import draw

        return draw(self)

    def report(self, path: str | Path, *, command: str | None = None) -> Path:
        """The path of the written report: one HTML file with answer, figures, tables and assumptions."""
        from .pages import page

        return page(self, command=command).write(path)

    def __repr__(self) -> str:
        return f"<Plan: {self.answer}>"


def _slim(made: Row) -> Row:
    kept = (*(name for name in COLUMNS if name != "note"), "on_frontier")
    return {name: made[name] for name in kept}
