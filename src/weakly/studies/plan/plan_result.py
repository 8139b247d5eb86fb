"""The plan: the answer in words, the comparison behind it, and how both leave the house."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import plot
from ...base.report import Number, Report, Result
from ...base.results import Finding, counted, percent, seconds, to_jsonable
from ...base.symbols import plain_name
from ...methods.fixed import Fixed
from ...methods.problem import COLUMNS, COMMON, FOUND, PAPER, LabelingProblem, MethodOutcome
from .summary import notes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class RowNumbers:
    """The numbers of a row of the comparison, as attributes."""

    method, segment_length = Number[str](), Number[float | None]()
    overlap_accuracy, event_recall, precision = Number[float](), Number[float](), Number[float]()
    recall, recording_accuracy, wrong_time = Number[float](), Number[float](), Number[float]()
    n_queries, listened, cost, hours = Number[float](), Number[float](), Number[float](), Number[float]()


@dataclass(frozen=True)
class PlanChoice(RowNumbers):
    """A way that a lab may take: its role ("plain", "by_hand", "best", "yours"), its row, its verdict, and the command
    that makes its segments."""

    role: str
    row: MethodOutcome
    verdict: str
    command: str

    def number(self, name: str) -> Any:
        """A number of its row."""
        return getattr(self.row, name)

    def to_dict(self) -> dict[str, Any]:
        """Its row and what makes it: ``weakly queries --plan`` reads these."""
        told = {"role": self.role, "verdict": self.verdict, "command": self.command}
        return {**told, **self.row.to_dict(), "parameters": to_jsonable(self.row.design.parameters)}


@dataclass(frozen=True, repr=False)
class Plan(RowNumbers, Result):
    """How to label, how good the labels will be and what they cost; made by :func:`weakly.plan`.

    ``answer`` are at most three lines, a choice each, after a ``verdict`` on the first (good, fair, poor, worse than
    nothing); ``choices`` the same as :class:`PlanChoice`; ``assumed`` what nobody said, ``details`` the recommended
    choice in sentences. ``recommended`` is its :class:`MethodOutcome`, ``equal_range`` the segment lengths that are
    practically as good, ``rows`` the comparison, ``reachable`` whether budget and targets can be met. ``uncertainty``
    says what new recordings will give, ``by_criterion`` what other criteria would change where none was given. The
    words of ``recommended`` are attributes of the plan too.
    """

    answer: str
    verdict: str
    choices: tuple[PlanChoice, ...]
    assumed: str
    details: str
    recommended: MethodOutcome
    reachable: bool
    equal_range: tuple[float, float] | None
    rows: tuple[MethodOutcome, ...]
    objective: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    settings: dict[str, Any]
    by_criterion: tuple[dict[str, Any], ...]
    other_rule: dict[str, Any] | None
    uncertainty: dict[str, Any] | None
    classes: dict[str, Any] | None
    paper_length: float  # seconds of the segments with the best accuracy near events (Theorem 2)
    example: dict[str, Any]
    task: LabelingProblem = field(repr=False, compare=False)
    pool: tuple[MethodOutcome, ...] = field(repr=False, compare=False)

    def sentences(self) -> list[str]:
        """The lines of the answer."""
        return self.answer.splitlines()

    def number(self, name: str) -> Any:
        """A number of the recommended way."""
        return getattr(self.recommended, name)

    @cached_property
    def curve(self) -> list[MethodOutcome]:
        """Fixed segments over their length, from the same rows as the comparison."""
        centre = self.segment_length or self.paper_length
        near = [row for row in self.task.fixed_rows if centre / 30 <= row.length <= 30 * centre]
        return near or self.task.fixed_rows

    @cached_property
    def sensitivity(self) -> list[dict[str, Any]]:
        """What the recommended way gives if the criterion is another one, and the fixed segments best for that one."""
        task, picked = self.task, self.recommended
        if task.criteria.kind == "rule" or not picked.asks or picked.design.is_simulated:
            return []
        low, high = task.criteria.range
        widths = task.grid[:: max(1, task.grid.size // 30)]
        made = []
        for value in np.unique(np.round([0.1, 0.3, 0.5, 0.7, 0.9, low, high], 9)):
            own = replace(task, criteria=task.criteria.only(float(value)))
            here = picked.design.expected(own)
            tried = Fixed.at_lengths(own.few, widths.tolist())
            best = min(tried, key=lambda row: (row.event_recall < FOUND, row.wrong_time)).design.expected(own)
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

    @property
    def few(self) -> list[MethodOutcome]:
        """The rows that matter, by wrong time: the choices, the best of every method, the paper's optimum, nothing."""
        rows, chosen = [self.recommended], {each.row.design for each in self.choices}
        for row in self.rows:
            fresh = row.method not in {each.method for each in rows} or PAPER in row.note or row.design in chosen
            if fresh and row.design not in {each.design for each in rows} and (row.asks or row.event_recall == 0):
                rows.append(row)
        return sorted(rows, key=lambda row: row.wrong_time)

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
            "answer", "verdict", "choices", "assumed", "details", "recommended", "reachable", "equal_range",
            "objective", "rows", "curve", "sensitivity",
            "by_criterion", "other_rule", "uncertainty", "classes", "example", "assumptions", "warnings",
            "settings",
        )  # fmt: skip
        return dict(to_jsonable({**{name: getattr(self, name) for name in names}, "frontier": self._frontier()}))

    def to_frame(self) -> pd.DataFrame:
        """One row per way of the comparison, in the words of results."""
        import pandas as pd

        return pd.DataFrame(
            [{name: getattr(row, name) for name in COLUMNS} for row in self.rows], columns=list(COLUMNS)
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Accuracy near events and events found over the segment length, with the pick and the lengths people use."""
        ax = plot.axes(ax)
        rows = self.curve
        x = np.array([row.segment_length for row in rows], dtype=float)
        near = np.array([row.overlap_accuracy for row in rows])
        ax.plot(x, near, color=plot.COLOURS[0], label=plain_name("overlap_accuracy"))
        found = [row.event_recall for row in rows]
        ax.plot(x, found, color=plot.COLOURS[2], linestyle="--", label=plain_name("event_recall"))
        usual = [k for k, width in enumerate(x) if width in COMMON]
        ax.plot(x[usual], near[usual], "o", color=plot.COLOURS[0], markersize=5)
        k = int(np.nanargmax(near)) if np.isfinite(near).any() else 0
        ax.plot(x[k], near[k], "*", color=plot.COLOURS[0], markersize=13)
        _beside(ax, f"{seconds(x[k])}, {percent(near[k])}", (x[k], near[k]), xytext=(0, 8), ha="center")
        if self.equal_range is not None and self.recommended.design.is_plain:
            ax.axvspan(*self.equal_range, color=plot.COLOURS[0], alpha=0.12, linewidth=0)
        if self.recommended.design.is_plain and self.segment_length is not None:
            ax.axvline(self.segment_length, color="#444444", linestyle="--", linewidth=1)
            _beside(ax, seconds(self.segment_length), (self.segment_length, 0.0))
        ax.set(xscale="log", ylim=(0, 1.03), xlabel=plot.label("segment_length"), ylabel="share")
        plot.shares(ax.yaxis)
        ax.xaxis.set_major_formatter(plot.tick)
        ax.legend(loc="best")
        return ax

    def figures(self) -> dict[str, Figure]:
        """The figures of the report by name: timeline, lengths, frontier."""
        with plot.style():
            lengths = self.plot().figure
            return {"timeline": _timeline(self), "lengths": lengths, "frontier": _frontier_figure(self)}  # type: ignore[dict-item]

    def page(self) -> Report:
        """The report with answer, figures, tables and assumptions."""
        import pandas as pd

        figures = self.figures()
        label = self.settings["label"]
        report = Report("Labeling plan" + (f": {label}" if label else ""))
        report.sentences(self.sentences(), mark=self.verdict.split()[0])
        report.text(self.assumed, small=True)
        if self.warnings:
            report.items(list(self.warnings))
        for name, title in (
            ("lengths", "How long a segment should be"),
            ("frontier", "What more cost buys"),
            ("timeline", "What the labels look like"),
        ):
            report.figure(figures[name], CAPTIONS[name], name=name, title=title, wide=name == "timeline")
        report.heading("The ways to label on the same work")
        unit = self.task.cost.currency
        report.table(self.brief(), heads={"cost": f"cost ({unit})" if unit else "cost"}, chosen=0)
        report.text("Wrong time is per recording; clips, reviewed time and cost are for the whole work.", small=True)
        if said := notes(self.rows):
            report.heading("Where a way stops making sense").items(said)
        if self.uncertainty and self.uncertainty["words"] not in self.details:
            report.heading("What new recordings will give").text(self.uncertainty["words"])
        if self.by_criterion:
            kept = pd.DataFrame(self.by_criterion)[["rule", "name", "wrong_time", "event_recall", "n_queries", "hours"]]
            report.heading("If people follow another rule").table(kept, heads={"name": "best plain segments"})
        if self.classes:
            per_class = pd.DataFrame(self.classes["per_class"]).rename(
                columns=lambda name: name.replace("_common", "_one_length")
            )
            report.heading("Several classes").text(self.classes["words"]).table(per_class)
        if self.sensitivity:
            heads = {"best_segment_length": "best length (s)", "best_wrong_time": "best wrong time (s)"}
            report.heading("If the presence criterion is another").table(pd.DataFrame(self.sensitivity), heads=heads)
        report.heading("The recommendation in detail").text(self.details)
        return report.heading("What this rests on").items(list(self.assumptions))

    def brief(self) -> pd.DataFrame:
        """The columns that people read; the rest is in the JSON. Where work costs hours, they stand once."""
        names = [name for name in SHOWN if name != "cost" or self.task.cost.currency != "h"]
        return self.to_frame()[names].rename(columns={"name": "way to label"})

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to mind, where a way stops making sense, and what the plan rests on."""
        told = (("warning", 0.5, self.warnings), ("note", 0.2, notes(self.rows)), ("assumption", 0.1, self.assumptions))
        return tuple(Finding(weight, topic, text) for topic, weight, texts in told for text in texts)

    def tables(self) -> dict[str, pd.DataFrame]:
        """The comparison of the ways, and every way that was looked at by its cost."""
        return {"methods": self.to_frame(), "frontier": self.frontier()}


CAPTIONS = {
    "frontier": "Every dot is a way to label. A line joins those that nothing cheaper matches, if there are several.",
    "lengths": "Fixed segments. Star: the best accuracy near events; dots: the lengths that people use.",
    "timeline": "Events (green) and what each way labels present (orange) in the same stretch of time.",
}


def _beside(ax: Axes, text: str, at: tuple[float, float], **how: Any) -> None:
    ax.annotate(text, at, **{"xytext": (4, 3), "textcoords": "offset points", "fontsize": 8, "color": "#444444", **how})


def _named(plan: Plan) -> dict[str, MethodOutcome]:
    """The few rows that a picture names, the recommended one first."""
    made = {}
    for row in sorted((row for row in plan.few if row.asks), key=lambda row: row.design != plan.recommended.design):
        names = ["recommended"] if row.design == plan.recommended.design else []
        made[": ".join([*names, row.name])] = row
    return made


def _frontier_figure(plan: Plan) -> Figure:
    ax = plot.axes(size=(6.4, 5.4))
    named = {name: row for name, row in _named(plan).items() if np.isfinite(row.cost)}
    nothing = plan.task.event_time  # what labelling nothing gets wrong
    top = 1.6 * max(nothing, plan.recommended.wrong_time)
    asked = [row for row in plan.pool if row.asks and row.wrong_time < top] or [plan.recommended]
    costs = [row.cost for row in (*asked, *named.values()) if row.cost > 0] or [1.0]
    for kind, own in {row.design.words().kind: row for row in asked}.items():
        for loses in (True, False):
            part = [row for row in asked if row.method == own.method and row.finds != loses]
            ax.plot(
                [row.cost for row in part], [row.wrong_time for row in part], "o",
                color=plot.COLOURS[own.design.colour], markersize=3.5, label="_" if loses else kind, alpha=0.9,
                fillstyle="none" if loses else "full", markeredgewidth=0.8,
            )  # fmt: skip
    if any(not row.finds for row in asked):
        hollow: Any = {"color": "#666666", "markersize": 3.5, "fillstyle": "none"}
        ax.plot([], [], "o", label=f"finds less than {percent(FOUND)}", **hollow)
    trivial = {row.method for row in plan.pool if row.design.is_trivial}
    front = [row for row in plan._frontier() if row["on_frontier"] and row["method"] not in trivial]
    ax.plot(
        [row["cost"] for row in front], [row["wrong_time"] for row in front], color="#bbbbbb", linewidth=1, zorder=0
    )
    ax.axhline(nothing, color="#888888", linewidth=1, linestyle=":")
    _beside(ax, "label nothing", (1.0, nothing), xycoords=("axes fraction", "data"), ha="right", xytext=(-4, 3))
    unit = plan.task.cost.currency
    left, right = 0.8 * min(costs), 1.6 * max(costs)
    ax.set(xlim=(left, right), ylim=(-0.03 * top, top), xscale="log")
    ax.set(xlabel=f"cost{f' ({unit})' if unit else ''}", ylabel="wrong time per recording (s)")
    between = "25" if right / left < 300 else ""  # the marks that have a number beside the powers of ten
    ax.xaxis.set_major_formatter(plot.tick)
    ax.xaxis.set_minor_formatter(lambda value, _: plot.tick(value) if f"{value:e}"[0] in between else "")
    for k, (name, row) in enumerate((name, row) for name, row in named.items() if row.wrong_time <= top):
        mark = "*" if k == 0 else "D" if "optimum" in name else "o"
        size, colour = 13 if k == 0 else 7, plot.COLOURS[row.design.colour]
        ax.plot(row.cost, row.wrong_time, mark, color=colour, label=name, markersize=size, markeredgecolor="black")
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.16), ncols=2, fontsize=8)
    return ax.figure  # type: ignore[return-value]


def _timeline(plan: Plan) -> Figure:
    shown = plan.example
    rows: dict[str, Any] = {"events": (np.array(shown["events"]).reshape(-1, 2), plot.EVENT)}
    if any(choice.role == "by_hand" for choice in plan.choices):  # a tenth of a second off, which nobody would see here
        rows["marked by hand"] = (np.array(shown["events"]).reshape(-1, 2), plot.PRESENT)
    for each in shown["rows"][1:]:  # the first is the truth again
        colours = [plot.PRESENT if flag else plot.ABSENT for flag in each["present"]]
        rows[f"{each['name']}, {counted(each['n_queries'], 'clip')}"] = (np.array(each["segments"]), colours)
    return plot.timeline(rows, recording_length=shown["recording_length"]).figure  # type: ignore[return-value]


#: The columns that people read; the rest is in the JSON.
SHOWN = (
    *("name", "wrong_time", "event_recall", "overlap_accuracy", "precision", "recall"),
    *("n_queries", "listened", "hours", "cost"),
)
