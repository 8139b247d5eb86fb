"""The figures that hold results: simulations as small multiples, what the protocol does, costs."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...base import plot
from ...base.symbols import SYMBOLS
from ...model.lengths import Lengths
from ...theory import best_overlap_accuracy, overlap_accuracy, overlap_accuracy_per_recording
from ...theory.costs import break_even_events, break_even_recording_length, cost_ratio
from ...theory.optimum import optimal_segment_length
from . import simulations
from .simulations import COST_DEFAULTS, OVERESTIMATION, PAPER, Case, Floats, Protocol, Run, Scenario

COMPUTED = "formulas and simulation alone"


@dataclass(frozen=True)
class Picture:
    """One drawn figure: its number in the paper, the finding as its title, what to see in it, and its numbers."""

    name: str
    number: str
    title: str
    caption: str
    figure: Figure
    data: str = COMPUTED
    values: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the drawing."""
        return {name: value for name, value in vars(self).items() if name != "figure"}


@dataclass(frozen=True)
class PaperTable:
    """One table with its caption."""

    name: str
    number: str
    title: str
    caption: str
    frame: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """The table's rows with its caption."""
        heads = {name: value for name, value in vars(self).items() if name != "frame"}
        return heads | {"rows": self.frame.to_dict(orient="records")}


@cache
def _words() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("figures.toml").read_text(encoding="utf-8"))


def table(name: str, frame: pd.DataFrame) -> PaperTable:
    """The table with its words from ``figures.toml``."""
    return PaperTable(name, **_words()[name], frame=frame)


def picture(
    name: str, figure: Figure, *, data: str = COMPUTED, values: Any = None, more: str = "", **filled: Any
) -> Picture:
    """The figure with its words from ``figures.toml``, their {names} filled in."""
    words = _words()[name]
    words = words | {"caption": words["caption"].format(**filled) + more}
    return Picture(name, **words, figure=figure, data=data, values=values or {})


def panels(rows: int = 1, columns: int = 1, *, size: tuple[float, float], **how: Any) -> tuple[Figure, Any]:
    """A new figure and its axes, drawn without a window system."""
    figure = Figure(figsize=size)
    figure.set_layout_engine("constrained", w_pad=0.07)
    return figure, figure.subplots(rows, columns, **how)


_THEORY: dict[str, Any] = {"color": "#BBBBBB", "lw": 5, "solid_capstyle": "butt", "zorder": 1}
_EQ13: dict[str, Any] = {"color": plot.COLOURS[0], "lw": 1.5}
_MEAN: dict[str, Any] = {"color": plot.COLOURS[1], "lw": 1.5}
_POINTS: dict[str, Any] = {"color": plot.COLOURS[1], "ls": "none", "marker": "o", "mfc": "none", "ms": 5}
_EXACT: dict[str, Any] = {"color": plot.COLOURS[2], "lw": 2}
_FOUND: dict[str, Any] = {"color": "black", "lw": 1, "ls": ":"}
_SWAPPED: dict[str, Any] = {"color": "black", "lw": 0.8, "ls": "-."}


def simulation_figure(scenario: Scenario, runs: list[Run], protocol: Protocol) -> Picture:
    """A row for each law of event lengths, in the paper's order: accuracy (as compared, exact), segment length, law."""
    figure, axes = panels(len(runs), 4, size=(12.0, 1.5 + 2.3 * len(runs)), squeeze=False, sharex="col")
    fine = np.linspace(0.005, 1.0, 200)
    for row, found in zip(axes, runs):
        _row(row, found, fine)
    heads = "best accuracy, as the paper compares", "best accuracy, exact", "segment length (s)", "event lengths"
    for ax, title in zip(axes[0], heads):
        ax.set_title(title, fontsize=10)
    for ax in axes[-1][:3]:
        ax.set_xlabel(r"presence criterion $\gamma$")
    axes[-1][3].set_xlabel(f"length{' after merging' if scenario.n_events > 1 else ''} (s)")
    _legend(figure)
    data = "; ".join(dict.fromkeys(case.data for case in scenario.cases if case.data)) or COMPUTED
    values = {found["label"]: {name: each for name, each in found.items() if name != "lengths"} for found in runs}
    return picture(scenario.name, figure, data=data, values=values, more=f" {_difference(runs)}{_quick(protocol)}")


def _row(row: Any, found: Run, fine: Floats) -> None:
    paper, true, length, law = row
    _histogram(law, found)
    origin = "" if found["origin"] == "text and code" else f"\n(the paper's {found['origin']})"
    paper.set_ylabel(f"{found['label']}{origin}", fontsize=9)
    for ax in (paper, true):
        ax.plot(fine, best_overlap_accuracy(presence_criterion=fine), **_THEORY)
        ax.set_ylim(0, 1.03)
    paper.plot(found["criteria"], found["numerical"]["accuracy"], **_EQ13)
    paper.plot(found["criteria"], found["per_recording"]["accuracy"], **_MEAN)
    paper.plot(found["criteria"], found["protocol"]["accuracy"], **_POINTS)
    true.plot(found["criteria"], found["exact"]["accuracy"], **_EXACT)
    true.plot(found["criteria"], found["event_recall"], **_FOUND)
    rule = optimal_segment_length(event_length=found["rule_length"], presence_criterion=fine)
    length.plot(fine, rule, **_THEORY)
    length.plot(found["criteria"], found["swapped"], **_SWAPPED)
    length.plot(found["criteria"], found["exact"]["segment_length"], **_EXACT)
    length.plot(found["criteria"], found["protocol"]["segment_length"], **_POINTS)
    length.set_ylim(bottom=0)


def _histogram(ax: Any, found: Run) -> None:
    ax.set_yticks([])
    if np.ptp(found["lengths"]) == 0:
        ax.axvline(found["lengths"][0], color=plot.EVENT, lw=3)
        ax.set(xlim=(0, 2), ylim=(0, 1))
        return
    high = np.quantile(found["lengths"], 0.999)
    ax.hist(found["lengths"], bins=np.linspace(0, high, 60), density=True, color=plot.EVENT, alpha=0.8)
    if found["n_events"] > 1:
        ax.set_yscale("log")


def _legend(figure: Any) -> None:
    entries = (
        ("theory: $f^*$, $d_q^*$ of the mean length", _THEORY),
        ("numerical expectation (eq. 13)", _EQ13),
        ("what the protocol estimates, without noise or grid", _MEAN),
        ("the paper's protocol", _POINTS),
        ("exact (right time / all time)", _EXACT),
        ("events found at that optimum", _FOUND),
        ("$d_q^*$ as the scripts draw it (E9)", _SWAPPED),
    )
    handles = [Line2D([], [], label=name, **style) for name, style in entries]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8.5)


def _quick(protocol: Protocol) -> str:
    if protocol == PAPER:
        return ""
    return (
        f" A quick run: {protocol.n_recordings} recordings and {protocol.n_segment_lengths} segment lengths for the "
        f"protocol instead of {PAPER.n_recordings} and {PAPER.n_segment_lengths}, which moves its points."
    )


def _difference(runs: list[Run]) -> str:
    """At γ near 0.5, the law for which theory and truth differ most."""
    k = int(np.argmin(np.abs(runs[0]["criteria"] - 0.5)))
    found = max(runs, key=lambda each: abs(each["theory"]["accuracy"][k] - each["exact"]["accuracy"][k]))
    name = f" for {found['label']}" if len(runs) > 1 else ""
    (q, f), (exact_q, exact_f) = ([column[k] for column in found[way].values()] for way in ("theory", "exact"))
    return (
        f"At γ = {found['criteria'][k]:.2g}{name}: theory {f:.3f} at {q:.2f} s, exact {exact_f:.3f} at {exact_q:.2f} s"
        f", and the theory's segment length gives {found['rule_accuracy'][k]:.3f}."
    )


def protocol_figure(protocol: Protocol, rng: Any) -> Picture:
    """Three panels: another quantity, a maximum of noisy means, a coarse grid."""
    figure, (left, middle, right) = panels(1, 3, size=(11.4, 4.0))
    values: dict[str, Any] = {}
    values |= _estimator(left, protocol, rng)
    values |= _selection(middle)
    values |= _grid(right)
    for ax, title in zip((left, middle, right), ("another quantity", "a maximum of noisy means", "a coarse grid")):
        ax.set_title(title, fontsize=10)
    return picture("protocol", figure, values=values)


def _estimator(ax: Any, protocol: Protocol, rng: Any) -> dict[str, Any]:
    q = np.linspace(0.3, 2.5, 800)
    setting: dict[str, Any] = {"event_length": 1.0, "segment_length": q, "presence_criterion": 0.5}
    pooled, mean = overlap_accuracy(**setting), overlap_accuracy_per_recording(**setting)
    nominal = protocol.segment_lengths(shortest=1.0, longest=1.0)
    nominal = nominal[(nominal > q[0]) & (nominal < q[-1])]
    half = Protocol(protocol.n_recordings, 3, len(nominal), protocol.n_drawn)  # criteria 0.01, 0.5, 0.99
    points, _ = simulations.follow_protocol(
        Case("1 s", Lengths.fixed(1.0)), n_events=1, widths=nominal, protocol=half, rng=rng
    )
    ax.plot(q, pooled, **_THEORY, label="Theorem 1")
    ax.plot(q, mean, **_MEAN, label="mean per recording")
    ax.plot(nominal, points[:, 1], **_POINTS, label="the paper's protocol")
    tops = {}
    for name, curve in (("theorem_1", pooled), ("mean_per_recording", mean)):
        k, top = int(np.argmax(curve)), float(np.max(curve))
        tops[name] = {"segment_length": float(q[k]), "accuracy": top}
        ax.plot([q[k]], [top], "k*", ms=9)
    ax.set(xlabel=SYMBOLS["segment_length"].label, ylabel="accuracy near events", ylim=(0.2, 0.85))
    ax.legend(loc="lower right", fontsize=9)
    return {"maxima": tops}


def _selection(ax: Any) -> dict[str, Any]:
    counts = [10, 30, 100, 300, 1000, 3000, 10_000]
    bias = [simulations.selection_bias(n_recordings=count) for count in counts]
    ax.plot(counts, bias, "o-", color=plot.COLOURS[1])
    ax.annotate(
        f"1000 recordings: +{bias[4]:.4f}", (1000, bias[4]), (60, bias[4] + 0.03), arrowprops={"arrowstyle": "->"}
    )
    ax.set(xscale="log", xlabel="recordings per segment length", ylabel=r"bias of the maximum, $\gamma$ = 0.5")
    ax.set_ylim(bottom=0)
    return {"selection_bias": dict(zip(map(str, counts), bias))}


def _grid(ax: Any) -> dict[str, Any]:
    fine = np.geomspace(0.01, 1.3, 150)
    grid = PAPER.segment_lengths(shortest=1.0, longest=7.5)[:8]
    curve = simulations.dense_model(n_events=50, segment_length=fine, presence_criterion=0.01).overlap_accuracy
    seen = simulations.dense_model(n_events=50, segment_length=grid, presence_criterion=0.01).overlap_accuracy
    best: Any = simulations.dense_optimum(n_events=50, criteria=0.01)[0]
    ax.plot(fine, curve, **_EXACT, label="exact")
    ax.plot(grid, seen, **_POINTS, label="the paper's segment lengths")
    ax.plot(best.segment_length, best.overlap_accuracy, "k*", ms=9, label=f"maximum {best.overlap_accuracy[0]:.3f}")
    ax.set(xlabel=SYMBOLS["segment_length"].label, ylabel="accuracy near events", xlim=(-0.03, 1.35))
    ax.legend(loc="lower center", fontsize=9)
    return {"grid": {"maximum": float(best.overlap_accuracy[0]), "maximum_on_grid": float(np.max(seen))}}


_X_AXES = {"query_cost_share": "share $r$ of the price that goes to a query", "n_events": "number of events $M$"}


def relative_cost(*, as_code: bool, overestimation: float, **changed: Any) -> Any:
    """The cost of FIX over the cost of ORC; the authors' code overestimates M, the text the number of queries (E16)."""
    setting = {**COST_DEFAULTS, **changed}
    if as_code:
        setting["n_events"] = overestimation * np.asarray(setting["n_events"])
        overestimation = 1.0
    return cost_ratio(event_length=1.0, overestimation=overestimation, **setting)


def break_evens(x: str) -> dict[str, float]:
    """Where FIX and ORC cost the same, over the number of events or the recording length, for each overestimation."""
    width = optimal_segment_length(event_length=1.0, presence_criterion=COST_DEFAULTS["presence_criterion"])
    how = {"segment_length": width, "overestimation": np.asarray(OVERESTIMATION)}
    if x == "n_events":
        found = break_even_events(recording_length=COST_DEFAULTS["recording_length"], **how)
    else:
        found = break_even_recording_length(n_events=COST_DEFAULTS["n_events"], **how)
    return {f"s = {s}": float(value) for s, value in zip(OVERESTIMATION, np.asarray(found))}


#: Name -> the axis and its values.
COSTS: dict[str, tuple[str, Floats]] = {
    "cost_criterion": ("presence_criterion", np.linspace(0.1, 1.0, 181)),
    "cost_share": ("query_cost_share", np.linspace(0.0, 1.0, 201)),
    "cost_events": ("n_events", np.linspace(1, 100, 397)),
    "cost_length": ("recording_length", np.linspace(2, 100, 491)),
}


def cost_figure(name: str) -> Picture:
    """One of the four cost figures."""
    x, values = COSTS[name]
    crossing = break_evens(x) if x in ("n_events", "recording_length") else {}
    figure, ax = panels(size=(6.8, 4.0))
    for colour, s in zip(plot.COLOURS, OVERESTIMATION):
        text, code = (relative_cost(as_code=flag, overestimation=s, **{x: values}) for flag in (False, True))
        ax.plot(values, text, color=colour, label=f"$s$ = {s}")
        ax.plot(values, code, color=colour, ls=(0, (2, 2)), lw=1)
    ax.axhline(1.0, color="black", ls="--", lw=1)
    for colour, at in zip(plot.COLOURS, crossing.values()):
        ax.plot([at], [1.0], "o", color=colour, ms=5)
    ax.set(xlabel=_X_AXES.get(x, plot.label(x)), ylabel="cost of FIX / cost of ORC")
    if name == "cost_share":
        ax.set_yscale("log")
        ax.set_yticks([1, 2, 5, 10, 20, 40], ["1", "2", "5", "10", "20", "40"], minor=False)
        ax.minorticks_off()
    ax.plot([], [], color="#555555", label="as in the text, $B = s(2M+1)$")
    ax.plot([], [], color="#555555", ls=(0, (2, 2)), lw=1, label="as in the scripts, $B = 2sM+1$")
    ax.legend(loc="best", fontsize=8.5)
    shown = ", ".join(f"{value:.4g} ({key})" for key, value in crossing.items())
    settings = ", ".join(f"{SYMBOLS[key].latex} = {value:g}" for key, value in COST_DEFAULTS.items() if key != x)
    numbers = {f"break_even_{x}": crossing} if crossing else {}
    return picture(name, figure, values=numbers, crossing=shown, settings=settings.replace(chr(92) + "gamma", "γ"))
