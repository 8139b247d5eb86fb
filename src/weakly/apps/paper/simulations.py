"""The paper's configurations, and what its simulation figures and claims compute from them.

Laws of event lengths, the simulation protocol and cost settings are declared once; where the paper's text and its
authors' code differ, both are here, and their labels are made from their values. Computed are theory, eq. 13, the
paper's protocol, and the exact values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ... import theory
from ...model.lengths import Lengths
from ...studies.simulate import Simulation, World, simulate
from ...theory.dense import Dense, dense_recordings
from .facts import Data, LengthSample

Floats = NDArray[np.float64]
RECORDING_LENGTH = 100.0
OVERESTIMATION = (1, 2, 4, 8)
COST_DEFAULTS: dict[str, Any] = {
    "recording_length": RECORDING_LENGTH,
    "query_cost_share": 0.5,
    "n_events": 1,
    "presence_criterion": 0.5,
}
#: How much longer than an event the segments of the offset figure are (appendix A.4).
OFFSET_RATIOS = {"tenth": 0.1, "equal": 1.0, "tenfold": 10.0}


@dataclass(frozen=True)
class Protocol:
    """How the paper simulates: for every segment length fresh recordings, the mean of their means, then the maximum."""

    n_recordings: int = 1000
    n_criteria: int = 11
    n_segment_lengths: int = 200
    n_drawn: int = 10_000  # event lengths drawn to find the shortest and the longest

    @property
    def criteria(self) -> Floats:
        """The presence criteria."""
        return np.linspace(0.01, 0.99, self.n_criteria)

    def segment_lengths(self, *, shortest: float, longest: float) -> Floats:
        """The nominal segment lengths: from a 500th of the shortest event to five times the longest."""
        return np.linspace(shortest / 500, 5 * longest, self.n_segment_lengths)

    def cut(self, segment_length: Floats) -> Floats:
        """The segment lengths that the authors' code really uses: whole numbers of segments per recording (E11)."""
        return RECORDING_LENGTH / np.floor(RECORDING_LENGTH / segment_length)


PAPER = Protocol()
QUICK = Protocol(n_recordings=200, n_criteria=5, n_segment_lengths=40, n_drawn=2000)


@dataclass(frozen=True)
class Case:
    """One law of event lengths in a figure: ``origin`` says whether the text, the scripts or both use it."""

    label: str
    lengths: Lengths
    origin: str = "text and code"
    data: str = ""


@dataclass(frozen=True)
class Scenario:
    """One simulation figure: its laws and how many events a recording holds."""

    name: str
    cases: tuple[Case, ...]
    n_events: int = 1


def normal(mean: float, deviation: float) -> Lengths:
    """A normal law of lengths, given that the length is positive."""
    name = f"normal({mean:g}, {deviation:g})"
    plain = stats.norm(mean, deviation)
    if plain.cdf(0.0) < 1e-6:
        return Lengths.law(plain, name=name)
    return Lengths.law(stats.truncnorm(-mean / deviation, np.inf, loc=mean, scale=deviation), name=name)


def _normal(mean: float, deviation: float, origin: str = "text and code") -> Case:
    law = normal(mean, deviation)
    return Case(law.name, law, origin)


def _gamma(shape: float) -> Case:
    name = f"0.5 + gamma({shape:g}, 1)"
    return Case(name, Lengths.law(stats.gamma(shape, loc=0.5), name=name))


def _observed(label: str, sample: LengthSample) -> Case:
    return Case(f"{label}, n = {sample.n}", sample.lengths, data=sample.source)


_FIXED = (Case("1 s", Lengths.fixed(1.0)),)
#: Name -> events per recording, and the laws of their lengths.
SCENARIOS: dict[str, tuple[int, Callable[[Data], tuple[Case, ...]]]] = {
    "single_event": (1, lambda _: _FIXED),
    "normal_mean": (1, lambda _: (_normal(0.5, 0.1), _normal(5.0, 0.1, "text"), _normal(4.0, 0.1, "scripts"))),
    "normal_variance": (1, lambda _: (_normal(3.0, 0.1), _normal(3.0, 1.0, "text"), _normal(3.0, 0.5, "scripts"))),
    "gamma": (1, lambda _: (_gamma(0.8), _gamma(0.2))),
    "nigens": (1, lambda data: (_observed("dog", data.dog), _observed("baby", data.baby))),
    "uniform_10": (10, lambda _: _FIXED),
    "uniform_30": (30, lambda _: _FIXED),
    "uniform_50": (50, lambda _: _FIXED),
}


def scenario(name: str, data: Data) -> Scenario:
    """The scenario of a figure, with the data at hand."""
    n_events, cases = SCENARIOS[name]
    return Scenario(name, cases(data), n_events)


EVENT_LENGTH = 1.0  # of the dense recordings


#: Everything that a simulation figure shows for one law of event lengths, by name; made by :func:`run`.
Run: TypeAlias = dict[str, Any]


def _curve(segment_length: Any, accuracy: Any) -> dict[str, Any]:
    """For every presence criterion the best accuracy given overlap, and the segment length that reaches it."""
    return {"segment_length": np.asarray(segment_length), "accuracy": np.asarray(accuracy)}


def swapped_length(*, mean: float, criteria: Floats) -> Floats:
    """Theorem 2 with event length and criterion exchanged, as the authors' plotting code calls it (E9)."""
    return criteria * (mean * (2 * mean + math.sqrt(4 * mean**2 + 4 * mean + 2)) / (2 * mean + 1))


def merged_lengths(case: Case, *, n_events: int, n_recordings: int, rng: Any) -> Floats:
    """Event lengths after merging, in recordings drawn as the paper draws them."""
    if n_events == 1:
        return case.lengths.draw(n_recordings, rng)
    world = World(case.lengths, n_events, RECORDING_LENGTH, "uniform", 0.0)
    bounds = world.draw(n_recordings, np.random.default_rng(rng))[0].bounds
    return bounds[:, 1] - bounds[:, 0]


def run(case: Case, n_events: int, protocol: Protocol, seed: Any) -> Run:
    """The numbers of one law of event lengths."""
    criteria = protocol.criteria
    streams = np.random.default_rng(seed).spawn(3)
    drawn = protocol.n_drawn if n_events == 1 else protocol.n_recordings
    lengths = merged_lengths(case, n_events=n_events, n_recordings=drawn, rng=streams[0])
    sample = case.lengths.is_sample and n_events == 1
    ends = case.lengths.values if sample and case.lengths.values is not None else lengths
    widths = protocol.segment_lengths(shortest=float(ends.min()), longest=float(ends.max()))
    mean = case.lengths.mean if n_events == 1 else float(lengths.mean())
    rule: Any = theory.optimal_segment_length(event_length=case.lengths.mean, presence_criterion=criteria)
    simulated, spread = follow_protocol(case, n_events=n_events, widths=widths, protocol=protocol, rng=streams[1])
    best = simulated.argmax(axis=0)
    column = np.arange(len(criteria))
    fine = 100 + protocol.n_segment_lengths
    if n_events == 1:
        setting: dict[str, Any] = {"event_length": case.lengths, "presence_criterion": criteria}
        length = np.asarray(theory.optimal_segment_length(**setting))
        exact = _curve(length, theory.overlap_accuracy(segment_length=length, **setting))
        numerical = _curve(*best_numerical(case.lengths, criteria, n=fine))
        found = theory.event_recall(segment_length=length, **setting)
        at_rule = theory.overlap_accuracy(segment_length=rule, **setting)
        step = np.log(2000.0) / fine
        first = np.floor(np.log(0.003) / step)
        grid = mean * np.exp(step * np.arange(first, np.log(6.0) / step))  # has the kink d_q = d_e
        table = per_recording_profile(case.lengths, segment_length=grid, presence_criterion=criteria)
    else:
        dense, ruled = dense_optimum(n_events=n_events, criteria=criteria)
        exact, found = _curve(dense.segment_length, dense.overlap_accuracy), dense.event_recall
        at_rule = ruled.overlap_accuracy
        numerical = _curve(*best_numerical(Lengths.sample(lengths), criteria, n=fine))
        grid = np.geomspace(0.02, 8.0, 20 + protocol.n_segment_lengths // 2)
        # On a fine grid the same recordings serve throughout.
        means = _simulated(case, n_events, grid, criteria, 3 * protocol.n_recordings, streams[2]).tally.metrics()
        table = np.asarray(means["overlap_accuracy_per_recording"]).reshape(len(grid), len(criteria))
    return {
        "label": case.label,
        "origin": case.origin,
        "n_events": n_events,
        "criteria": criteria,
        "lengths": lengths,  # of events after merging, for the histogram
        "mean": mean,
        "rule_length": case.lengths.mean,  # what the theory's rule is asked with
        "theory": _curve(rule, theory.best_overlap_accuracy(presence_criterion=criteria)),
        "swapped": swapped_length(mean=case.lengths.mean, criteria=criteria),  # as the scripts draw d_q* (E9)
        "numerical": numerical,
        "protocol": _curve(widths[best], simulated[best, column]),
        "protocol_se": spread[best, column],
        "per_recording": _curve(*peak(grid, table)),
        "exact": exact,
        "event_recall": np.asarray(found),  # at the exact optimum
        "rule_accuracy": np.asarray(at_rule),  # exact, at the rule's d_q*
    }


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
        found = _simulated(case, n_events, cut[i], protocol.criteria, protocol.n_recordings, stream).tally.metrics()
        mean[i], error[i] = (np.ravel(found[f"overlap_accuracy_per_recording{suffix}"]) for suffix in ("", "_se"))
    return mean, error


def _simulated(case: Case, n_events: int, widths: Any, criteria: Any, n: int, rng: Any) -> Simulation:
    """Recordings of the paper: events anywhere, fixed segments of these lengths."""
    return simulate(
        case.lengths, n_events=n_events, recording_length=RECORDING_LENGTH, segment_length=widths,
        presence_criterion=criteria, n_recordings=n, rng=rng,
    )  # fmt: skip


def per_recording_profile(
    lengths: Lengths, *, segment_length: Floats, presence_criterion: Floats, n: int = 500
) -> Floats:
    """What the paper's simulation estimates with one event per recording (E12): rows are segment lengths.

    A law is stood for by n of its quantiles.
    """
    values, weights = lengths.values, lengths.weights
    if values is None or values.size > n:
        values, weights = np.asarray(lengths.quantile((np.arange(n) + 0.5) / n)), np.full(n, 1 / n)
    table = np.empty((len(segment_length), len(presence_criterion)))
    for i, width in enumerate(segment_length):
        each = theory.overlap_accuracy_per_recording(
            event_length=values[:, None], segment_length=width, presence_criterion=presence_criterion[None, :]
        )
        table[i] = np.asarray(weights) @ each
    return table


def best_numerical(lengths: Lengths, criteria: Floats, *, n: int = 300) -> tuple[Floats, Floats]:
    """The maximum of equation 13 over the segment length, for every criterion: a grid of n, then a parabola."""
    grid = np.geomspace(0.003, 6.0, n) * lengths.mean
    table = theory.overlap_accuracy_profile(
        lengths, segment_length=grid, presence_criterion=criteria, weighting="event"
    )
    return peak(grid, table)


def peak(grid: Floats, table: Floats) -> tuple[Floats, Floats]:
    """Where each column of the table is largest, and how large, by a parabola through the three highest points.

    >>> x = np.geomspace(0.1, 10, 101)
    >>> where, height = peak(x, -(np.log(x) - 0.3)[:, None] ** 2)
    >>> bool(abs(np.log(where[0]) - 0.3) < 1e-9), bool(abs(height[0]) < 1e-9)
    (True, True)
    """
    k = table.argmax(axis=0)
    inner = np.clip(k, 1, len(grid) - 2)
    column = np.arange(table.shape[1])
    low, middle, high = (table[inner + step, column] for step in (-1, 0, 1))
    bend = low - 2 * middle + high
    step = np.where(bend < 0, np.clip((low - high) / np.where(bend < 0, 2 * bend, 1.0), -0.5, 0.5), 0.0)
    ratio = np.log(grid[1] / grid[0])
    length = grid[inner] * np.exp(step * ratio)
    height = middle - (low - high) * step / 4
    jump = (k != inner) | (np.abs(bend) > 1e-2)  # at an end, or where the accuracy jumps, the grid point itself
    return np.where(jump, grid[k], length), np.where(jump, table[k, column], height)


def dense_model(*, n_events: int, segment_length: ArrayLike, presence_criterion: ArrayLike) -> Dense:
    """The Boolean model at the density of n uniformly placed 1 s events in a recording of the paper."""
    return dense_recordings(
        event_length=EVENT_LENGTH,
        event_rate=n_events / (RECORDING_LENGTH - EVENT_LENGTH),
        segment_length=segment_length,
        presence_criterion=presence_criterion,
    )


def dense_optimum(*, n_events: int, criteria: ArrayLike) -> tuple[Dense, Dense]:
    """The dense recording at the best segment length for each presence criterion, exactly, and at the rule's d_q*; at
    these densities the best lies within a few d_q*."""
    g = np.atleast_1d(np.asarray(criteria, dtype=np.float64))
    rule: Any = theory.optimal_segment_length(event_length=EVENT_LENGTH, presence_criterion=g)
    steps = np.geomspace(0.7, 5.0, 66)
    best = np.empty_like(g)
    for k, (criterion, length) in enumerate(zip(g, rule)):
        grid = length * steps
        found = dense_model(n_events=n_events, segment_length=grid, presence_criterion=criterion)
        smooth = peak(grid, np.asarray(found.overlap_accuracy)[:, None])[0]
        bends = criterion * EVENT_LENGTH * np.arange(1, 7)  # where one more whole event fits, the accuracy has a kink
        tried = np.concatenate((smooth, bends))
        again = dense_model(n_events=n_events, segment_length=tried, presence_criterion=criterion)
        best[k] = tried[int(np.argmax(again.overlap_accuracy))]
    how: dict[str, Any] = {"n_events": n_events, "presence_criterion": g}
    return dense_model(segment_length=best, **how), dense_model(segment_length=rule, **how)


def selection_bias(*, n_recordings: int, criterion: float = 0.5, n_draws: int = 2000) -> float:
    """How much higher the largest of the protocol's noisy means is than the largest of their expectations.

    One event of 1 s. The noise of a mean over n recordings is normal with the exact deviation of one recording's mean.
    """
    q = PAPER.segment_lengths(shortest=1.0, longest=1.0)
    mean = theory.overlap_accuracy_per_recording(event_length=1.0, segment_length=q, presence_criterion=criterion)
    spread = deviation(q, criterion) / math.sqrt(n_recordings)
    noise = np.random.default_rng(0).standard_normal((n_draws, len(q)))
    return float((mean + spread * noise).max(axis=1).mean() - np.max(mean))


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
