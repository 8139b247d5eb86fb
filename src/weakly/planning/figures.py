"""The pictures of a plan: the frontier, accuracy over segment length, the cost of each method, a labelled timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plot
from .methods import COMMON, percent, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .result import Plan

CAPTIONS = {
    "frontier": "What more cost buys. Every dot is a way to work; the large one is recommended.",
    "lengths": "Accuracy near events and the share of events found over the segment length. The line marks the "
    "recommended length, dots the lengths that people use.",
    "cost": "What each method costs for the same work, and the wrong time that it leaves.",
    "timeline": "Events (green) and the segments that each method labels present (orange): the first row is the truth.",
}
_METHOD = {"fixed": 0, "windows": 2, "bisection": 1, "change-point": 3, "oracle": 6}


def _colour(method: str) -> str:
    return plot.COLOURS[_METHOD[method]]


def over_lengths(plan: Plan, ax: Axes | None = None) -> Axes:
    """Accuracy and event recall over segment length."""
    ax = plot.axes(ax)
    x = np.array([each["segment_length"] for each in plan.curve])
    for word, colour, name in (
        ("overlap_accuracy", plot.COLOURS[0], "accuracy near events"),
        ("event_recall", plot.COLOURS[2], "events found"),
    ):
        y = np.array([each[word] for each in plan.curve], dtype=float)
        ax.plot(x, y, color=colour, label=name)
        if f"{word}_low" in plan.curve[0]:
            low, high = (
                np.array([each[f"{word}_{end}"] for each in plan.curve], dtype=float) for end in ("low", "high")
            )
            ax.fill_between(x, np.minimum(low, high), np.maximum(low, high), color=colour, alpha=0.15, linewidth=0)
        for usual in COMMON:
            if x[0] <= usual <= x[-1]:
                ax.plot(usual, np.interp(usual, x, y), "o", color=colour, markersize=5)
    width = plan.segment_length
    if width is not None:
        ax.axvline(width, color="#444444", linestyle="--", linewidth=1)
        ax.annotate(seconds(width), (width, 0.02), xytext=(4, 0), textcoords="offset points", fontsize=9)
    ax.set(xscale="log", ylim=(0, 1.03), xlabel=plot.label("segment_length"), ylabel="share")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.legend(loc="best")
    return ax


def _frontier(plan: Plan) -> Figure:
    ax = plot.axes()
    for method in ("fixed", "windows", "bisection"):
        part = [each for each in plan.pool if each["method"] == method and each["event_recall"] > 0]
        if part:
            x, y = (np.array([each[word] for each in part]) for word in ("cost", "wrong_time"))
            order = np.argsort(x)
            ax.plot(x[order], y[order], ".", color=_colour(method), markersize=4, label=method, alpha=0.8)
    for each in plan.rows:
        if each["method"] in ("change-point", "oracle"):
            ax.plot(each["cost"], each["wrong_time"], "^", color=_colour(each["method"]), markersize=5)
    oracle = any(each["method"] == "oracle" for each in plan.rows)
    if oracle:
        ax.plot([], [], "^", color=_colour("oracle"), markersize=5, label="oracle (limit)")
    chosen = plan.recommended
    ax.plot(
        chosen["cost"],
        chosen["wrong_time"],
        "o",
        color=_colour(chosen["method"]),
        markersize=10,
        markeredgecolor="black",
    )
    ax.annotate(
        "recommended", (chosen["cost"], chosen["wrong_time"]), xytext=(10, 8), textcoords="offset points", fontsize=9
    )
    # What is far worse than labelling nothing would only squeeze the rest.
    top = 1.6 * max(plan.task.event_time, chosen["wrong_time"])
    right = 4 * max([chosen["cost"], *(each["cost"] for each in plan.rows if each["method"] == "windows")])
    left = 0.9 * min(each["cost"] for each in (*plan.pool, *plan.rows))
    ax.axhline(plan.task.event_time, color="#888888", linewidth=1, linestyle=":")
    ax.annotate(
        "nothing labelled present", (1, plan.task.event_time), xycoords=("axes fraction", "data"), xytext=(-4, 3),
        textcoords="offset points", ha="right", fontsize=8, color="#666666",
    )  # fmt: skip
    ax.set(xlim=(left, right), ylim=(-0.03 * top, top), xscale="log")
    unit = plan.task.cost.currency
    ax.set(xlabel=f"cost{f' ({unit})' if unit else ''}", ylabel="wrong time per recording (s)")
    from matplotlib.ticker import NullFormatter

    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if right / left < 30:
        ax.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    else:
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.legend(loc="upper right")
    return ax.figure  # type: ignore[return-value]


def _cost(plan: Plan) -> Figure:
    rows = list(reversed(plan.rows))
    from matplotlib.figure import Figure

    with plot.style():
        figure = Figure(figsize=(8.0, 0.9 + 0.34 * len(rows)))
        left, right = figure.subplots(1, 2, sharey=True)
    names = [each["name"] for each in rows]
    for ax, word, text in (
        (left, "cost", f"cost ({plan.task.cost.currency})" if plan.task.cost.currency else "cost"),
        (right, "wrong_time", "wrong time per recording (s)"),
    ):
        values = np.array([each[word] for each in rows], dtype=float)
        ax.barh(range(len(rows)), values, color=[_colour(each["method"]) for each in rows], height=0.7)
        for k, value in enumerate(values):
            label = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
            ax.annotate(label, (value, k), xytext=(3, 0), textcoords="offset points", va="center", fontsize=8)
        ax.set(xlabel=text, xlim=(0, 1.2 * max(values.max(), 1e-9)))
        ax.grid(visible=False, axis="y")
    left.set_yticks(range(len(rows)), names, fontsize=9)
    for tick, each in zip(left.get_yticklabels(), rows):
        if each["name"] == plan.recommended["name"]:
            tick.set_fontweight("bold")
    return figure


def _timeline(plan: Plan) -> Figure:
    shown = plan.example
    rows: dict[str, Any] = {"events": (np.array(shown["events"]).reshape(-1, 2), plot.EVENT)}
    for each in shown["rows"]:
        colours = [plot.PRESENT if flag else plot.ABSENT for flag in each["present"]]
        rows[f"{each['name']} ({each['n_queries']})"] = (np.array(each["segments"]), colours)
    return plot.timeline(rows, recording_length=shown["recording_length"]).figure  # type: ignore[return-value]


def draw(plan: Plan) -> dict[str, Any]:
    """Every figure by name."""
    with plot.style():
        return {
            "timeline": _timeline(plan),
            "lengths": over_lengths(plan).figure,
            "frontier": _frontier(plan),
            "cost": _cost(plan),
        }


def caption(plan: Plan, name: str) -> str:
    """The caption of a figure, with what it shows in this plan."""
    if name == "lengths" and plan.segment_length is not None:
        best = plan.recommended
        return (
            f"{CAPTIONS[name]} Here: {seconds(plan.segment_length)}, {percent(best['overlap_accuracy'])} accuracy near "
            f"events with {percent(best['event_recall'])} of events found."
        )
    return CAPTIONS[name]
