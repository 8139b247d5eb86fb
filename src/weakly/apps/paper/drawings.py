"""What explains the paper: FIX and ORC on three events, the idea of the proof, its states, and both tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import trapezoid

from ...base import plot
from ...base.results import percent
from ...model.annotator import PresenceRule, segment_accuracy
from ...model.intervals import as_intervals, fixed_segments, oracle_segments
from ...theory.optimum import optimal_segment_length
from .figures import PaperTable, Picture, panels, picture, table

#: Three events in half a minute, chosen so that 60 segments are too short for two of them.
RECORDING_LENGTH = 30.0
EVENTS = as_intervals([(4.2, 5.1), (12.3, 14.2), (21.7, 23.2)])
CRITERION = 0.5


def scores(segments: NDArray[np.float64], events: NDArray[np.float64], criterion: float) -> dict[str, Any]:
    """Labels, accuracy of each segment, accuracy given overlap, and the share of events that were noticed."""
    rule = PresenceRule.fraction(criterion)
    noticed = rule.is_present(event=events[None, :, :], segment=segments[:, None, :])
    present = noticed.any(axis=1)
    width = segments[:, 1] - segments[:, 0]
    shared = np.minimum(events[:, 1], segments[:, 1:]) - np.maximum(events[:, 0], segments[:, :1])
    inside = np.maximum(shared, 0.0).sum(axis=1)
    right = np.where(present, inside, width - inside)
    meets = inside > 0
    return {
        "present": present,
        "meets": meets,
        "segment_accuracy": right / width,
        "n_queries": len(segments),
        "overlap_accuracy": float(right[meets].sum() / width[meets].sum()),
        "recording_accuracy": float(right.sum() / width.sum()),
        "event_recall": float(noticed.any(axis=0).mean()),
    }


def _methods() -> dict[str, NDArray[np.float64]]:
    fixed = {
        f"FIX, B = {count}": fixed_segments(recording_length=RECORDING_LENGTH, segment_length=RECORDING_LENGTH / count)
        for count in (7, 30, 60)
    }
    return {"ORC, B = 7": oracle_segments(EVENTS, recording_length=RECORDING_LENGTH), **fixed}


def weak_labeling() -> Picture:
    """Figure 1: the labels of ORC and of FIX with 7, 30 and 60 segments."""
    figure, ax = panels(size=(8.6, 3.4))
    rows: dict[str, Any] = {"events": (EVENTS, plot.EVENT)}
    values: dict[str, Any] = {}
    for name, segments in _methods().items():
        found = scores(segments, EVENTS, CRITERION)
        rows[name] = (segments, [plot.PRESENT if yes else "white" for yes in found["present"]])
        values[name] = {key: found[key] for key in ("n_queries", "overlap_accuracy", "event_recall")}
    plot.timeline(rows, recording_length=RECORDING_LENGTH, ax=ax)
    for k, found in enumerate(reversed(values.values())):
        words = f"{found['overlap_accuracy']:.2f}\n{percent(found['event_recall'])}"
        ax.annotate(words, (1.01, k), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    head = "accuracy\ngiven overlap,\nevents noticed"
    ax.annotate(head, (1.01, 4), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    return picture("weak_labeling", figure, values=values, criterion=CRITERION)


def _named(ax: Any, segments: NDArray[np.float64], more: str = "", values: Any = None) -> None:
    for i, (start, end) in enumerate(segments):
        told = more.format(values[i]) if more else ""
        ax.text((start + end) / 2, 0.0, f"$q_{i}$" + told, ha="center", va="center", fontsize=9)


def one_method(name: str) -> Picture:
    """Figure 2: ORC segments are the events and the gaps. Figure 3: seven FIX segments, how much of each is right."""
    segments = _methods()[f"{name.upper()}, B = 7"]
    found = scores(segments, EVENTS, CRITERION)
    figure, ax = panels(size=(8.0, 2.0 if name == "orc" else 2.3))
    colours = [plot.PRESENT if yes else "white" for yes in found["present"]]
    rows = {"events": (EVENTS, plot.EVENT), f"{name.upper()} labels": (segments, colours)}
    plot.timeline(rows, recording_length=RECORDING_LENGTH, ax=ax)
    _named(ax, segments, "" if name == "orc" else "\n$F$ = {:.2f}", found["segment_accuracy"])
    keys = ("n_queries", "overlap_accuracy", "recording_accuracy", "event_recall")[: 2 if name == "orc" else 4]
    return picture(name, figure, values={key: found[key] for key in keys}, criterion=CRITERION)


def accuracy_of_end(t: ArrayLike, d: float, q: float, g: float, *, start: float = 0.0) -> NDArray[np.float64]:
    """F of an event of length d that ends at t, in a segment of length q from ``start`` on, under the criterion g."""
    end = np.asarray(t, dtype=np.float64)
    event = np.stack((end - d, end), axis=-1)
    return np.asarray(segment_accuracy(event=event, segment=np.array([start, start + q]), presence_criterion=g))


def _areas(ax: Any, t: NDArray[np.float64], accuracy: Any, overlap: Any, named: list[tuple[float, float]]) -> None:
    """The accuracy over the time t, hatched where segment and event meet, with an A at these places."""
    ax.fill_between(t, accuracy, where=overlap, color=plot.PRESENT, alpha=0.35, hatch="///", lw=0)
    ax.fill_between(t, accuracy, where=~overlap, color=plot.EVENT, alpha=0.25, hatch="...", lw=0)
    ax.plot(t, accuracy, color="black", lw=1.2)
    for x, y in named:
        ax.text(x, y, "$A$", ha="center", fontsize=13, bbox={"fc": "white", "ec": "none", "pad": 1.5})


def proof_idea() -> Picture:
    """Figure 4: the accuracy of one segment's label over the end time of the event."""
    d_e, d_q, total, criterion = 1.0, 1.0, 5.0, 0.5
    segments = fixed_segments(recording_length=total, segment_length=d_q)
    figure, (top, bottom) = panels(2, 1, size=(7.6, 4.4), sharex=True, height_ratios=(1, 2))
    t = np.linspace(0.0, total, 5001)
    accuracy = accuracy_of_end(t, d_e, d_q, criterion, start=2.0)
    overlap = (t >= 2.0) & (t <= 2.0 + d_e + d_q)
    event = as_intervals([(0.35, 0.35 + d_e)])
    rows = {"event $e_t$": (event, plot.EVENT), "segments": (segments, "white")}
    plot.timeline(rows, recording_length=total, ax=top)
    top.set(xlabel="")
    _named(top, segments)
    top.annotate("", (2.4, 1.0), (1.45, 1.0), arrowprops={"arrowstyle": "->", "lw": 1.5})
    top.text(2.45, 1.0, "$t$ moves", va="center", fontsize=9)
    _areas(bottom, t, accuracy, overlap, [(3.0, 0.22)])
    for x in (1.0, 4.5):
        bottom.text(x, 0.5, "no overlap:\nalways right", ha="center", va="center", fontsize=9)
    bottom.set_xticks(range(6), ["0", "1", "$a_2$", "3", "$a_2{+}d_e{+}d_q$", "$T$"])
    bottom.set(ylim=(0, 1.08), xlabel="end time $t$ of the event (s)", ylabel="accuracy $F(e_t, q_2, \\gamma)$")
    area = float(trapezoid(accuracy[overlap], t[overlap]))
    return picture("proof_idea", figure, values={"area": area}, criterion=criterion)


def multiple_events() -> Picture:
    """Figure 5: two events and a segment that may lie anywhere."""
    d_e, d_q, total, criterion = 1.0, 0.8, 8.0, 0.5
    events = as_intervals([(1.5, 2.5), (5.0, 6.0)])
    t = np.linspace(d_q, total, 7201)
    segments = np.stack((t - d_q, t), axis=-1)
    found = scores(segments, events, criterion)
    accuracy = found["segment_accuracy"]
    overlap = found["meets"]
    figure, (top, bottom) = panels(2, 1, size=(7.6, 4.2), sharex=True, height_ratios=(1, 2))
    rows = {"events": (events, plot.EVENT), "segment $q_t$": (as_intervals([(0.2, 0.2 + d_q)]), "white")}
    plot.timeline(rows, recording_length=total, ax=top)
    top.set(xlabel="")
    for i, (start, end) in enumerate(events, 1):
        top.text((start + end) / 2, 1.0, f"$e_{i}$", ha="center", va="center", color="white")
    top.text(0.2 + d_q / 2, 0.0, "$q_t$", ha="center", va="center", fontsize=9)
    top.annotate("", (1.9, 0.0), (1.1, 0.0), arrowprops={"arrowstyle": "->", "lw": 1.5})
    top.text(1.95, 0.0, "$t$ moves", va="center", fontsize=9)
    _areas(bottom, t, accuracy, overlap, [(start + (d_e + d_q) / 2, 0.2) for start, _ in events])
    bottom.set_xticks([d_q, 2, 4, 6, total], ["$d_q$", "2", "4", "6", "$T$"])
    bottom.set(xlim=(0, total), ylim=(0, 1.08), xlabel="end time $t$ of the segment (s)")
    bottom.set_ylabel("accuracy of $q_t$")
    return picture("multiple_events", figure, values={"events": 2})


CASES = {"i": (1.5, 1.0, 0.4), "ii": (1.0, 1.6, 0.4)}  # d_e, d_q, criterion
INFEASIBLE = (2.0, 0.8, 0.7)


def states(
    *, event_length: float, segment_length: float, presence_criterion: float
) -> list[tuple[float, float, float]]:
    r"""Table 2 of the paper: (t, F just before t, F just after t) for the states t_0 ... t_5.

    >>> [round(t, 9) for t, _, _ in states(event_length=1.5, segment_length=1.0, presence_criterion=0.4)]
    [0.0, 0.6, 1.0, 1.5, 1.9, 2.5]
    """
    d, q, g = event_length, segment_length, presence_criterion
    low, high, top = (q - g * d) / q, g * d / q, min(d, q) / q
    t = (0.0, g * d, min(d, q), max(d, q), d + q - g * d, d + q)
    before, after = (1.0, low, top, top, high, 1.0), (1.0, high, top, top, low, 1.0)
    return list(zip(t, before, after))


def _curve(ax: Any, d: float, q: float, g: float) -> None:
    t = np.unique(
        np.concatenate([np.linspace(0, d + q, 2001), *([x - 1e-9, x + 1e-9] for x in (g * d, d + q - g * d))])
    )
    t = t[(t >= 0) & (t <= d + q)]
    accuracy = accuracy_of_end(t, d, q, g)
    ax.fill_between(t, accuracy, color=plot.PRESENT, alpha=0.25, lw=0)
    ax.plot(t, accuracy, color="black", lw=1.3)


def _setting(d: float, q: float, g: float) -> str:
    return f"$d_e$ = {d:g} s, $d_q$ = {q:g} s, $\\gamma$ = {g:g}"


def accuracy_functions() -> Picture:
    """Figure 15: the accuracy over the event's end time when the criterion can be met."""
    figure, axes = panels(1, 2, size=(9.4, 3.6), sharey=True)
    values = {}
    for ax, (case, (d, q, g)) in zip(axes, CASES.items()):
        _curve(ax, d, q, g)
        rows = states(event_length=d, segment_length=q, presence_criterion=g)
        values[f"case ({case})"] = [row[0] for row in rows]
        ax.set_xticks([row[0] for row in rows], [f"$t_{k}$" for k in range(6)])
        for k, area in enumerate(("A_1", "A_2", "A_3", "A_2", "A_1")):
            middle = (rows[k][0] + rows[k + 1][0]) / 2
            ax.text(middle, 0.12, f"${area}$", ha="center")
        relation = r"d_e \geq d_q" if d >= q else "d_e < d_q"
        ax.set_title(f"case ({case}): ${relation}$\n" + _setting(d, q, g), fontsize=10)
        ax.set(xlabel="end time $t$ of the event", ylim=(0, 1.06))
    axes[0].set_ylabel(r"accuracy $F(e_t, q, \gamma)$")
    return picture("accuracy_functions", figure, values=values)


def infeasible() -> Picture:
    """Figure 16: the accuracy over the event's end time when the criterion cannot be met."""
    d, q, g = INFEASIBLE
    figure, ax = panels(size=(5.2, 3.4))
    _curve(ax, d, q, g)
    t = [0.0, q, d, d + q]
    ax.set_xticks(t, [f"$t_{k}$" for k in range(4)])
    for k, area in ((0, "A_1"), (2, "A_1")):
        ax.text((t[k] + t[k + 1]) / 2 + (0.12 if k else -0.12), 0.15, f"${area}$", ha="center")
    ax.set(xlabel="end time $t$ of the event", ylabel=r"accuracy $F(e_t, q, \gamma)$", ylim=(0, 1.06))
    ax.set_title(_setting(d, q, g), fontsize=10)
    return picture("infeasible", figure, values={"t": t})


def case(which: str) -> Picture:
    """Figures 17 and 18: the first four states of an event that moves over a segment."""
    d, q, g = CASES[which]
    rows = states(event_length=d, segment_length=q, presence_criterion=g)
    figure, axes = panels(4, 1, size=(7.0, 4.2), sharex=True)
    for k, ax in enumerate(axes):
        t = rows[k][0]
        ax.broken_barh([(t - d, d)], (0.55, 0.4), facecolors=plot.EVENT, edgecolor="#444444", lw=0.6)
        ax.broken_barh([(0.0, q)], (0.05, 0.4), facecolors=plot.PRESENT, edgecolor="#444444", lw=0.6, alpha=0.8)
        ax.text(t - d / 2, 0.75, "$e_t$", ha="center", va="center", color="white")
        ax.text(q / 2, 0.25, "$q$", ha="center", va="center", color="white")
        ax.axvline(t, color="black", ls=":", lw=1)
        before, after = rows[k][1:]
        share = f"{after:.3g}" if abs(before - after) < 1e-12 else rf"{before:.3g} \to {after:.3g}"
        ax.text(1.01, 0.5, f"$t_{k}$ = {t:g} s\n$F = {share}$", transform=ax.transAxes, va="center", fontsize=9)
        ax.set(ylim=(0, 1), yticks=[], xlim=(-d - 0.1, max(d, q) + 0.35))
        ax.grid(visible=False)
    axes[-1].set_xlabel("time (s), from the start of the segment")
    relation = "at least as long as" if d >= q else "shorter than"
    values = {f"t_{k}": row[0] for k, row in enumerate(rows)}
    return picture(f"case_{which}", figure, values=values, relation=relation, d=d, q=q, g=g)


#: Table 1 of the paper: data sets with fixed segments. (name, reference, task, segment length in seconds)
DATASETS = (
    ("CHIME", "Foster et al. 2015", "one pass, all classes", 4.0),
    ("AudioSet", "Gemmeke et al. 2017", "one pass, all classes", 10.0),
    ("MAESTRO Real", "Martín-Morató and Mesaros 2023", "one pass, all classes", 10.0),
    ("OpenMIC-2018", "Humphrey et al. 2018", "one pass per class", 10.0),
)


def datasets() -> PaperTable:
    """Table 1: data sets with fixed segments, and the events that their segments suit best."""
    ratio = float(optimal_segment_length(event_length=1.0, presence_criterion=0.5))
    heads = ["data_set", "reference", "task", "segment_length (s)", "best for events of (s)"]
    return table("datasets", pd.DataFrame([(*row, row[-1] / ratio) for row in DATASETS], columns=heads))


def expressions() -> PaperTable:
    """Table 2: the states of the accuracy function, with their values in an example and from the definition."""
    times = {"i": ("0", "γ d_e", "d_q", "d_e"), "ii": ("0", "γ d_e", "d_e", "d_q")}
    rows = []
    for case, (d, q, g) in CASES.items():
        top = "1" if case == "i" else "d_e/d_q"
        values = ("1", "(d_q - γ d_e)/d_q, then γ d_e/d_q", top, top)
        for k, (t, before, after) in enumerate(states(event_length=d, segment_length=q, presence_criterion=g)[:4]):
            direct = accuracy_of_end((t - 1e-7, t + 1e-7) if k == 1 else (t + 1e-7,), d, q, g)
            formula = (before, after) if k == 1 else (after,)
            shown = [", ".join(f"{value:.4f}" for value in each) for each in (formula, direct)]
            rows.append((f"({case})", f"t_{k}", times[case][k], values[k], t, *shown))
    heads = ["case", "state", "t", "F", "t (s), example", "F, example", "F from the definition"]
    return table("expressions", pd.DataFrame(rows, columns=heads))


#: Name of the figure -> how to draw it.
DRAWINGS: dict[str, Callable[[], Picture]] = {
    "weak_labeling": weak_labeling,
    "orc": partial(one_method, "orc"),
    "fix": partial(one_method, "fix"),
    "proof_idea": proof_idea,
    "multiple_events": multiple_events,
    "accuracy_functions": accuracy_functions,
    "infeasible": infeasible,
    "case_i": partial(case, "i"),
    "case_ii": partial(case, "ii"),
}
