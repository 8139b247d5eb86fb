"""The drawings of the appendix: the accuracy function with its states, and how event and segment lie at each state."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import plot
from ..annotator import segment_accuracy
from .picture import Picture, panels

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
    event = np.stack((t - d, t), axis=-1)
    accuracy = segment_accuracy(event=event, segment=np.array([0.0, q]), presence_criterion=g)
    ax.fill_between(t, accuracy, color=plot.PRESENT, alpha=0.25, lw=0)
    ax.plot(t, accuracy, color="black", lw=1.3)


def accuracy_functions() -> Picture:
    """Figure 15: the accuracy over the event's end time when the criterion can be met."""
    figure, axes = panels(1, 2, size=(9.4, 3.6), sharey=True)
    values = {}
    with plot.style():
        for ax, (case, (d, q, g)) in zip(axes, CASES.items()):
            _curve(ax, d, q, g)
            rows = states(event_length=d, segment_length=q, presence_criterion=g)
            values[f"case ({case})"] = [row[0] for row in rows]
            ax.set_xticks([row[0] for row in rows], [f"$t_{k}$" for k in range(6)])
            for k, area in enumerate(("A_1", "A_2", "A_3", "A_2", "A_1")):
                middle = (rows[k][0] + rows[k + 1][0]) / 2
                ax.text(middle, 0.12, f"${area}$", ha="center")
            relation = r"d_e \geq d_q" if d >= q else "d_e < d_q"
            ax.set_title(
                f"case ({case}): ${relation}$\n$d_e$ = {d:g} s, $d_q$ = {q:g} s, $\\gamma$ = {g:g}", fontsize=10
            )
            ax.set(xlabel="end time $t$ of the event", ylim=(0, 1.06))
        axes[0].set_ylabel(r"accuracy $F(e_t, q, \gamma)$")
    caption = (
        "The share of segment q = (0, d_q) that its label gets right while an event ends at t, where the criterion can "
        "be met (d_q >= gamma d_e). It falls while too little of the event is heard, jumps at t_1 when the label turns "
        "to present, rises to its ceiling at t_2, and comes back the same way. Theorem 1 is the sum of the areas "
        "2 A_1 + 2 A_2 + A_3 over d_e + d_q."
    )
    return Picture(
        "accuracy_functions", "Figure 15", "Accuracy over t, cases (i) and (ii)", caption, figure, values=values
    )


def infeasible() -> Picture:
    """Figure 16: the accuracy over the event's end time when the criterion cannot be met."""
    d, q, g = INFEASIBLE
    figure, ax = panels(size=(5.2, 3.4))
    with plot.style():
        _curve(ax, d, q, g)
        t = [0.0, q, d, d + q]
        ax.set_xticks(t, [f"$t_{k}$" for k in range(4)])
        for k, area in ((0, "A_1"), (2, "A_1")):
            ax.text((t[k] + t[k + 1]) / 2 + (0.12 if k else -0.12), 0.15, f"${area}$", ha="center")
        ax.set(xlabel="end time $t$ of the event", ylabel=r"accuracy $F(e_t, q, \gamma)$", ylim=(0, 1.06))
        ax.set_title(f"$d_e$ = {d:g} s, $d_q$ = {q:g} s, $\\gamma$ = {g:g}", fontsize=10)
    caption = (
        "When a segment is too short to hold the needed share of the event (d_q < gamma d_e) every label is "
        "absent, and a segment inside the event is wholly wrong. What remains is 2 A_1 / (d_e + d_q) = d_q / "
        "(d_e + d_q)."
    )
    return Picture(
        "infeasible", "Figure 16", "Accuracy over t, criterion out of reach", caption, figure, values={"t": t}
    )


def _case(case: str, number: str) -> Picture:
    d, q, g = CASES[case]
    rows = states(event_length=d, segment_length=q, presence_criterion=g)
    figure, axes = panels(4, 1, size=(7.0, 4.2), sharex=True)
    with plot.style():
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
    caption = (
        "Where the event e_t (green) and the segment q (orange) lie at the states t_0 to t_3 when the event is "
        f"{relation} the segment (d_e = {d:g} s, d_q = {q:g} s, gamma = {g:g}); the dotted line is t. At t_1 the "
        "label turns from absent to present and the accuracy F jumps. The way out, t_4 and t_5, is the mirror image."
    )
    values = {f"t_{k}": row[0] for k, row in enumerate(rows)}
    return Picture(f"case_{case}", number, f"The states of case ({case})", caption, figure, values=values)


def case_i() -> Picture:
    """Figure 17: the states of case (i)."""
    return _case("i", "Figure 17")


def case_ii() -> Picture:
    """Figure 18: the states of case (ii)."""
    return _case("ii", "Figure 18")
