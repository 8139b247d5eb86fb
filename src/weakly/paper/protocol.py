"""Why the paper's simulation and its theory differ: the estimator, the selection of a maximum, the grid (E12-E14)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import plot
from ..lengths import Lengths
from ..symbols import SYMBOLS
from ..theory import overlap_accuracy
from ..theory.ratio import overlap_accuracy_per_recording
from .dense import dense_model, dense_optimum
from .picture import Picture, panels
from .scenarios import PAPER, Case, Protocol
from .simulations import follow_protocol

Floats = NDArray[np.float64]


def selection_bias(*, n_recordings: int, criterion: float = 0.5, n_draws: int = 2000) -> float:
    """How much higher the largest of the protocol's noisy means is than the largest of their expectations.

    One event of 1 s. The noise of a mean over n recordings is normal with the exact deviation of one recording's mean.
    """
    q = PAPER.segment_lengths(shortest=1.0, longest=1.0)
    mean = overlap_accuracy_per_recording(event_length=1.0, segment_length=q, presence_criterion=criterion)
    spread = deviation(q, criterion) / math.sqrt(n_recordings)
    noise = np.random.default_rng(0).standard_normal((n_draws, len(q)))
    return float((mean + spread * noise).max(axis=1).mean() - mean.max())


def deviation(segment_length: Floats, criterion: float, *, n_phases: int = 400) -> Floats:
    """The standard deviation of a recording's mean accuracy over the phase of its one 1 s event."""
    phase = (np.arange(n_phases) + 0.5) / n_phases
    found = []
    for width in segment_length:
        edges = (np.arange(int(np.ceil(1 / width)) + 2) - phase[:, None]) * width  # from before the event on
        held = np.clip(np.minimum(edges[:, 1:], 1.0) - np.maximum(edges[:, :-1], 0.0), 0.0, None)
        right = np.where(held >= criterion, held, width - held) / width
        meets = held > 0
        found.append(((right * meets).sum(axis=1) / meets.sum(axis=1)).std())
    return np.asarray(found)


def protocol_figure(protocol: Protocol, rng: Any) -> Picture:
    """Three panels: another quantity, a maximum of noisy means, a coarse grid."""
    figure, (left, middle, right) = panels(1, 3, size=(11.4, 4.2))
    values: dict[str, Any] = {}
    with plot.style():
        values |= _estimator(left, protocol, rng)
        values |= _selection(middle)
        values |= _grid(right)
        for ax, letter in zip((left, middle, right), "abc"):
            ax.set_title(f"({letter})", loc="left", fontsize=10)
    caption = (
        "Where the paper's simulation parts from its theory. (a) One 1 s event, gamma = 0.5: Theorem 1 is right "
        "time over all time; the simulation averages each recording first, which is another curve with another "
        "maximum, at 1.0 s instead of 0.81 s (E12). Points: the protocol's own means. (b) The largest of 200 "
        "noisy means is too high, the more so the fewer the recordings (E13). (c) 50 events of 1 s, gamma = "
        "0.01: the segment lengths of the paper step over the peak (E14)."
    )
    title = "What the simulation protocol does"
    return Picture("protocol", "beside Figures 6 to 12", title, caption, figure, values=values)


def _estimator(ax: Any, protocol: Protocol, rng: Any) -> dict[str, Any]:
    q = np.linspace(0.3, 2.5, 800)
    setting: dict[str, Any] = {"event_length": 1.0, "segment_length": q, "presence_criterion": 0.5}
    pooled, mean = overlap_accuracy(**setting), overlap_accuracy_per_recording(**setting)
    nominal = protocol.segment_lengths(shortest=1.0, longest=1.0)
    nominal = nominal[(nominal > q[0]) & (nominal < q[-1])]
    half = Protocol(protocol.n_recordings, 3, len(nominal), protocol.n_drawn)  # criteria 0.01, 0.5, 0.99
    points, _ = follow_protocol(Case("1 s", Lengths.fixed(1.0)), n_events=1, widths=nominal, protocol=half, rng=rng)
    ax.plot(q, pooled, color="black", label="Theorem 1")
    ax.plot(q, mean, color=plot.COLOURS[0], ls=":", lw=2, zorder=5, label="mean per recording")
    ax.plot(nominal, points[:, 1], "o", mfc="none", ms=4, color=plot.COLOURS[1], label="the paper's protocol")
    tops = {}
    for name, curve in (("theorem_1", pooled), ("mean_per_recording", mean)):
        k = int(np.argmax(curve))
        tops[name] = {"segment_length": float(q[k]), "accuracy": float(curve[k])}
        ax.plot([q[k]], [curve[k]], "k*", ms=9)
    ax.set(xlabel=SYMBOLS["segment_length"].label, ylabel="accuracy given overlap", ylim=(0.2, 0.85))
    ax.legend(loc="lower right", fontsize=9)
    return {"maxima": tops}


def _selection(ax: Any) -> dict[str, Any]:
    counts = [10, 30, 100, 300, 1000, 3000, 10_000]
    bias = [selection_bias(n_recordings=count) for count in counts]
    ax.plot(counts, bias, "o-")
    ax.annotate(
        f"1000 recordings: +{bias[4]:.4f}", (1000, bias[4]), (60, bias[4] + 0.03), arrowprops={"arrowstyle": "->"}
    )
    ax.set(xscale="log", xlabel="recordings per segment length", ylabel=r"bias of the maximum, $\gamma$ = 0.5")
    ax.set_ylim(bottom=0)
    return {"selection_bias": dict(zip(map(str, counts), bias))}


def _grid(ax: Any) -> dict[str, Any]:
    fine = np.geomspace(0.01, 1.3, 150)
    grid = PAPER.segment_lengths(shortest=1.0, longest=7.5)[:8]
    curve = dense_model(n_events=50, segment_length=fine, presence_criterion=0.01).overlap_accuracy
    seen = dense_model(n_events=50, segment_length=grid, presence_criterion=0.01).overlap_accuracy
    best = dense_optimum(n_events=50, criteria=0.01)
    ax.plot(fine, curve, color="black", label="exact")
    ax.plot(grid, seen, "o", mfc="none", color=plot.COLOURS[1], label="the paper's segment lengths")
    ax.plot(best.segment_length, best.accuracy, "k*", ms=9, label=f"maximum {best.accuracy[0]:.3f}")
    ax.set(xlabel=SYMBOLS["segment_length"].label, ylabel="accuracy given overlap", xlim=(-0.03, 1.35))
    ax.legend(loc="lower center", fontsize=9)
    return {"grid": {"maximum": float(best.accuracy[0]), "maximum_on_grid": float(np.max(seen))}}
