"""The simulation figures: theory, numerical expectation, the paper's protocol and the exact value, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import plot
from ..lengths import Lengths
from ..simulation import World, simulate
from ..symbols import SYMBOLS
from ..theory import best_overlap_accuracy, event_recall, optimal_segment_length, overlap_accuracy
from .dense import dense_optimum
from .estimators import best_numerical, peak, per_recording_profile
from .picture import COMPUTED, Picture, panels
from .scenarios import PAPER, RECORDING_LENGTH, Case, Protocol, Scenario

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """For every presence criterion the best accuracy given overlap, and the segment length that reaches it."""

    segment_length: Floats
    accuracy: Floats


@dataclass(frozen=True)
class Run:
    """Everything that a simulation figure shows for one law of event lengths."""

    label: str
    origin: str
    n_events: int
    criteria: Floats
    lengths: Floats  # event lengths after merging, for the histogram
    mean: float
    theory: Curve
    swapped: Floats  # d_q* as the authors' plotting code computes it, arguments swapped (E9)
    numerical: Curve
    protocol: Curve
    protocol_se: Floats
    per_recording: Curve
    exact: Curve
    event_recall: Floats  # at the exact optimum
    rule_accuracy: Floats  # exact accuracy at the rule's d_q*
    fixed_grid: dict[str, float]  # dense recordings: simulated pooled accuracy on one grid, with its standard error

    def to_dict(self) -> dict[str, Any]:
        """The numbers without the histogram."""
        words = [name for name in self.__dataclass_fields__ if name != "lengths"]
        found = {name: getattr(self, name) for name in words}
        return {
            name: {"segment_length": value.segment_length, "accuracy": value.accuracy}
            if isinstance(value, Curve)
            else value
            for name, value in found.items()
        }


def swapped_length(*, mean: float, criteria: Floats) -> Floats:
    """Theorem 2 with event length and criterion exchanged, as the authors' plotting code calls it (E9)."""
    return criteria * mean * (2 * mean + np.sqrt(4 * mean**2 + 4 * mean + 2)) / (2 * mean + 1)


def merged_lengths(case: Case, *, n_events: int, n_recordings: int, rng: Any) -> Floats:
    """Event lengths after merging, in recordings drawn as the paper draws them."""
    if n_events == 1:
        return case.lengths.draw(n_recordings, rng)
    world = World(case.lengths, n_events, RECORDING_LENGTH, "uniform", 0.0)
    bounds = world.draw(n_recordings, np.random.default_rng(rng))[0].bounds
    return bounds[:, 1] - bounds[:, 0]


def run(case: Case, *, n_events: int, protocol: Protocol, seed: Any) -> Run:
    """The numbers of one law of event lengths."""
    criteria = protocol.criteria
    streams = np.random.default_rng(seed).spawn(4)
    drawn = protocol.n_drawn if n_events == 1 else protocol.n_recordings
    lengths = merged_lengths(case, n_events=n_events, n_recordings=drawn, rng=streams[0])
    sample = case.lengths.is_sample and n_events == 1
    ends = case.lengths.values if sample and case.lengths.values is not None else lengths
    widths = protocol.segment_lengths(shortest=float(ends.min()), longest=float(ends.max()))
    mean = case.lengths.mean if n_events == 1 else float(lengths.mean())
    rule = Curve(
        np.asarray(optimal_segment_length(event_length=case.lengths.mean, presence_criterion=criteria)),
        np.asarray(best_overlap_accuracy(presence_criterion=criteria)),
    )
    simulated, spread = follow_protocol(case, n_events=n_events, widths=widths, protocol=protocol, rng=streams[1])
    best = simulated.argmax(axis=0)
    column = np.arange(len(criteria))
    fine = 100 + protocol.n_segment_lengths
    if n_events == 1:
        exact = _exact(case.lengths, criteria)
        numerical = Curve(*best_numerical(case.lengths, criteria, n=fine))
        found = event_recall(
            event_length=case.lengths, segment_length=exact.segment_length, presence_criterion=criteria
        )
        at_rule = overlap_accuracy(
            event_length=case.lengths,
            segment_length=rule.segment_length,
            presence_criterion=criteria,
            weighting="segment",
        )
        step = np.log(2000.0) / fine
        grid = mean * np.exp(
            step * np.arange(np.floor(np.log(0.003) / step), np.log(6.0) / step)
        )  # has the kink d_q = d_e
        table = per_recording_profile(case.lengths, segment_length=grid, presence_criterion=criteria)
    else:
        dense = dense_optimum(n_events=n_events, criteria=criteria)
        exact, found, at_rule = Curve(dense.segment_length, dense.accuracy), dense.event_recall, dense.rule_accuracy
        numerical = Curve(*best_numerical(Lengths.sample(lengths), criteria, n=fine))
        grid = np.geomspace(0.02, 8.0, 20 + protocol.n_segment_lengths // 2)
        table = _means(case, n_events, grid, criteria, 3 * protocol.n_recordings, streams[2])
    return Run(
        label=case.label,
        origin=case.origin,
        n_events=n_events,
        criteria=criteria,
        lengths=lengths,
        mean=mean,
        theory=rule,
        swapped=swapped_length(mean=case.lengths.mean, criteria=criteria),
        numerical=numerical,
        protocol=Curve(widths[best], simulated[best, column]),
        protocol_se=spread[best, column],
        per_recording=Curve(*peak(grid, table)),
        exact=exact,
        event_recall=np.asarray(found),
        rule_accuracy=np.asarray(at_rule),
        fixed_grid=_fixed_grid(case, n_events, 10 * protocol.n_recordings, streams[3]),
    )


def follow_protocol(
    case: Case, *, n_events: int, widths: Floats, protocol: Protocol, rng: Any
) -> tuple[Floats, Floats]:
    """The paper's simulation: for every nominal segment length fresh recordings, cut into equal segments (E11).

    One set of recordings serves all criteria of a segment length. The paper draws new ones for each; as the maximum is
    taken over segment lengths, the law of every point is the same.
    """
    cut = protocol.cut(np.minimum(widths, RECORDING_LENGTH))
    mean, error = (np.empty((len(widths), protocol.n_criteria)) for _ in range(2))
    for i, stream in enumerate(np.random.default_rng(rng).spawn(len(widths))):
        found = simulate(
            case.lengths,
            n_events=n_events,
            recording_length=RECORDING_LENGTH,
            segment_length=cut[i],
            presence_criterion=protocol.criteria,
            n_recordings=protocol.n_recordings,
            rng=stream,
        ).tally.metrics()
        mean[i], error[i] = (np.ravel(found[f"overlap_accuracy_per_recording{suffix}"]) for suffix in ("", "_se"))
    return mean, error


def _exact(lengths: Lengths, criteria: Floats) -> Curve:
    length = np.asarray(optimal_segment_length(event_length=lengths, presence_criterion=criteria, weighting="segment"))
    accuracy = overlap_accuracy(
        event_length=lengths, segment_length=length, presence_criterion=criteria, weighting="segment"
    )
    return Curve(length, np.asarray(accuracy))


def _means(case: Case, n_events: int, widths: Floats, criteria: Floats, n: int, rng: Any) -> Floats:
    """The mean over recordings of each one's mean accuracy, on a fine grid and the same recordings throughout."""
    found = simulate(
        case.lengths,
        n_events=n_events,
        recording_length=RECORDING_LENGTH,
        segment_length=widths,
        presence_criterion=criteria,
        n_recordings=n,
        rng=rng,
    ).tally.metrics()["overlap_accuracy_per_recording"]
    return np.asarray(found).reshape(len(widths), len(criteria))


#: Segments per recording at which the accuracy with so many events is known exactly, at gamma = 0.5.
GRIDS = {30: 88, 50: 71}


def _fixed_grid(case: Case, n_events: int, n: int, rng: Any) -> dict[str, float]:
    if n_events not in GRIDS:
        return {}
    found = simulate(
        case.lengths,
        n_events=n_events,
        recording_length=RECORDING_LENGTH,
        segment_length=RECORDING_LENGTH / GRIDS[n_events],
        presence_criterion=0.5,
        n_recordings=n,
        rng=rng,
    )
    return {
        "n_queries": GRIDS[n_events],
        "overlap_accuracy": found.overlap_accuracy,
        "overlap_accuracy_se": found.overlap_accuracy_se,
        "overlap_accuracy_per_recording": found.overlap_accuracy_per_recording,
        "overlap_accuracy_per_recording_se": found.overlap_accuracy_per_recording_se,
    }


_THEORY: dict[str, Any] = {"color": "#BBBBBB", "lw": 5, "solid_capstyle": "butt", "zorder": 1}
_STYLES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("numerical (eq. 13)", {"ls": "-", "lw": 1.4}),
    ("exact", {"ls": "--", "lw": 1.6}),
    ("mean per recording, no noise or grid", {"ls": ":", "lw": 1.8}),
    ("the paper's protocol", {"ls": "none", "marker": "o", "mfc": "none", "ms": 5}),
)


def draw(scenario: Scenario, runs: list[Run], protocol: Protocol) -> Picture:
    """The figure of a scenario: best accuracy, best segment length, and the event lengths."""
    figure, (left, middle, right) = panels(1, 3, size=(11.4, 4.4))
    with plot.style():
        fine = np.linspace(0.005, 1.0, 200)
        left.plot(fine, best_overlap_accuracy(presence_criterion=fine), **_THEORY)
        for colour, found in zip(plot.COLOURS, runs):
            _curves(left, middle, found, colour, fine)
            _histogram(right, found, colour, several=len(runs) > 1)
        left.set(xlabel=SYMBOLS["presence_criterion"].label, ylabel="best accuracy given overlap", ylim=(0, 1.03))
        middle.set(xlabel=SYMBOLS["presence_criterion"].label, ylabel="best segment length (s)")
        middle.set_ylim(bottom=0)
        merged = " after merging" if scenario.n_events > 1 else ""
        right.set(xlabel=f"event length{merged} (s)", ylabel="density" if right.get_yticks().size else "")
        _legend(figure, runs)
    data = "; ".join(dict.fromkeys(case.data for case in scenario.cases if case.data)) or COMPUTED
    caption = f"{scenario.words} {_explanation(scenario)} {_difference(runs)}{_quick(protocol)}"
    values = {found.label: found.to_dict() for found in runs}
    return Picture(scenario.name, scenario.number, scenario.title, caption, figure, data, values)


def _curves(left: Any, middle: Any, found: Run, colour: str, fine: Floats) -> None:
    curves = (found.numerical, found.exact, found.per_recording, found.protocol)
    for (_, style), curve in zip(_STYLES, curves):
        left.plot(found.criteria, curve.accuracy, color=colour, **style)
        middle.plot(found.criteria, curve.segment_length, color=colour, **style)
    left.plot(found.criteria, found.event_recall, color=colour, lw=0.8, marker="+", ms=5)
    scale = float(
        found.theory.segment_length[-1]
        / optimal_segment_length(event_length=1.0, presence_criterion=found.criteria[-1])
    )
    middle.plot(fine, optimal_segment_length(event_length=scale, presence_criterion=fine), **_THEORY)
    middle.plot(found.criteria, found.swapped, color="black", lw=0.8, ls="-.", zorder=1.5)


def _histogram(ax: Any, found: Run, colour: str, *, several: bool) -> None:
    if np.ptp(found.lengths) == 0:
        ax.axvline(found.lengths[0], color=colour, lw=3)
        ax.set(xlim=(0, 2), ylim=(0, 1))
        ax.text(1.06, 0.5, "every event\nis 1 s long", fontsize=9)
        ax.set(yticks=[], ylabel="")
        return
    high = np.quantile(found.lengths, 0.999)
    bins = np.linspace(min(found.lengths.min(), high), high, 50)
    ax.hist(found.lengths, bins=bins, density=True, color=colour, alpha=0.5 if several else 0.8)
    if found.n_events > 1:
        ax.set_yscale("log")


def _legend(figure: Any, runs: list[Run]) -> None:
    from matplotlib.lines import Line2D

    grey = "#555555"
    entries = [Line2D([], [], label="theory: $f^*$, $d_q^*$ of the mean", **_THEORY)]
    entries += [Line2D([], [], color=grey, label=name, **style) for name, style in _STYLES]
    entries.append(Line2D([], [], color=grey, lw=0.8, marker="+", ms=5, label="event recall at the exact optimum"))
    entries.append(Line2D([], [], color="black", lw=0.8, ls="-.", label="$d_q^*$ as plotted by the authors (E9)"))
    if len(runs) > 1 or runs[0].label != "1 s":
        for colour, found in zip(plot.COLOURS, runs):
            origin = "" if found.origin == "text and code" else f" (the paper's {found.origin})"
            entries.append(Line2D([], [], color=colour, lw=5, alpha=0.6, label=f"{found.label}{origin}"))
    figure.legend(handles=entries, loc="outside lower center", ncols=4, fontsize=8.5)


def _explanation(scenario: Scenario) -> str:
    exact = (
        "the closed form of the pooled accuracy"
        if scenario.n_events == 1
        else "the closed form for recordings this dense"
    )
    return (
        "Left, the best accuracy given overlap for each presence criterion; middle, the segment length that "
        f"reaches it; right, the event lengths. Exact is {exact}; the mean per recording is what the simulation "
        "of the paper estimates, without its noise and grid (E12)."
    )


def _quick(protocol: Protocol) -> str:
    if protocol == PAPER:
        return ""
    return (
        f" A quick run: {protocol.n_recordings} recordings and {protocol.n_segment_lengths} segment lengths for the "
        f"protocol instead of {PAPER.n_recordings} and {PAPER.n_segment_lengths}, which moves its points."
    )


def _difference(runs: list[Run]) -> str:
    parts = []
    for found in runs:
        k = int(np.argmin(np.abs(found.criteria - 0.5)))
        parts.append(
            f"{found.label} at gamma = {found.criteria[k]:.2g}: f* {found.theory.accuracy[k]:.4f}, exact "
            f"{found.exact.accuracy[k]:.4f} at {found.exact.segment_length[k]:.3f} s, protocol "
            f"{found.protocol.accuracy[k]:.4f} at {found.protocol.segment_length[k]:.3f} s, "
            f"exact at the rule's {found.theory.segment_length[k]:.3f} s {found.rule_accuracy[k]:.4f}."
        )
    return " ".join(parts)
