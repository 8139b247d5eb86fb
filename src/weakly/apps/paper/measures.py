"""How every claim of the paper is measured; names are the paper's symbols: d_e, d_q, gamma, f."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from ... import theory
from ...base.results import percent
from ...model.annotator import Annotator, segment_accuracy
from ...model.intervals import oracle_segments
from ...model.lengths import Lengths
from ...studies.evaluate.evaluator import evaluate
from . import simulations
from .appendix import AUDIOSET_LENGTH, all_offsets, recipe, recovery
from .drawings import CASES, INFEASIBLE, accuracy_of_end, states
from .facts import gather, shipped
from .figures import break_evens, relative_cost
from .simulations import PAPER, RECORDING_LENGTH, normal

#: The value, what it must meet (for ``order`` an upper limit), and what else the sentence ``measured`` tells.
Measured: TypeAlias = tuple[Any, Any, dict[str, Any]]
CRITERIA, HALF, TWO = np.linspace(0.01, 1.0, 100), np.array([0.5]), np.array([0.1, 0.5])
LENGTHS = np.array([0.01, 0.5, 1.0, 30.0])
NOISY = Annotator(presence_criterion=0.5, flip_rate=0.1)


def _f(d: Any, q: Any, g: Any) -> Any:
    """Theorem 1: the accuracy given overlap."""
    return theory.overlap_accuracy(event_length=d, segment_length=q, presence_criterion=g)


def _d_q(g: Any = 0.5, d: Any = 1.0) -> Any:
    """Theorem 2: the best segment length."""
    return theory.optimal_segment_length(event_length=d, presence_criterion=g)


def _f_star(g: Any = 0.5) -> Any:
    """Theorem 3: the accuracy given overlap at the best segment length."""
    return theory.best_overlap_accuracy(presence_criterion=g)


def _recording(q: Any, g: float, n_events: int = 1, total: float = 100.0) -> Any:
    """Theorem 5 for events of 1 s."""
    return theory.recording_accuracy(
        event_length=1.0, segment_length=q, presence_criterion=g, n_events=n_events, recording_length=total
    )


def _queries(g: float, d: Any = 1.0) -> Any:
    """Theorem 4 for a recording of the paper."""
    return theory.optimal_query_count(recording_length=RECORDING_LENGTH, event_length=d, presence_criterion=g)


def _largest(difference: Any) -> float:
    return float(np.max(np.abs(difference)))


def _orc_accuracy() -> Measured:
    events = np.array([(1.0, 2.5), (4.0, 4.2), (8.0, 10.0)])
    segments, worst = oracle_segments(events, recording_length=10.0), 1.0
    for segment in segments:
        share = [float(segment_accuracy(event=event, segment=segment, presence_criterion=1.0)) for event in events]
        worst = min(worst, max(share) if any(np.allclose(segment, event) for event in events) else min(share))
    return worst, 1.0, {}


def _orc_count() -> Measured:
    layouts = ([(0, 1), (4, 5)], [(0, 1), (3, 4)], [(1, 2), (3, 4)])
    found = sorted({len(oracle_segments(events, recording_length=5.0)) - 2 * len(events) for events in layouts})
    counts = ", ".join(f"2M{k:+d}" if k else "2M" for k in found)
    return [k in found for k in (-1, 0, 1)], (1, 0, 1), {"counts": counts}


def _theorem_1() -> Measured:
    cases = ((1.0, 0.8, 0.5), (1.0, 0.3, 0.5), (0.5, 3.0, 0.7), (2.0, 1.9, 0.9), *CASES.values(), INFEASIBLE)
    return _largest([float(_f(*case)) - _integral(*case) for case in cases]), 0.0, {}


def _integral(d: float, q: float, g: float) -> float:
    """The mean of F over t in (0, d_e + d_q), from the definition: F is linear between the states."""
    knots = np.unique(np.clip([0.0, g * d, min(d, q), max(d, q), d + q - g * d, d + q], 0, d + q))
    total = 0.0
    for start, end in pairwise(knots):
        t = start + (end - start) * np.array([0.25, 0.75])
        total += float(accuracy_of_end(t, d, q, g).mean()) * (end - start)
    return total / (d + q)


def _theorem_2() -> Measured:
    g = np.array([0.05, 0.3, 0.5, 0.8, 1.0])
    best = _d_q(g)
    near = best * np.append(np.linspace(0.2, 5.0, 20_001), [1 - 1e-4, 1 + 1e-4])[:, None]  # all must be worse
    ahead = float(np.max(_f(1.0, near, g) - _f(1.0, best, g)))
    return max(ahead, 0.0), 0.0, {"ahead": ahead}


def _bound_any_distribution() -> Measured:
    value = _pair(gap=0.1, segment_length=1.1)
    dense = theory.dense_recordings(event_length=1.0, event_rate=2.0, segment_length=200.0, presence_criterion=0.5)
    return value, _f_star(), {"dense": dense.overlap_accuracy}


def _pair(*, gap: float, segment_length: float) -> float:
    """The exact accuracy given overlap of two 1 s events this far apart, over every phase of the grid."""
    events = [[(49.0, 50.0), (50.0 + gap, 51.0 + gap)]]
    found = evaluate(events, recording_length=100.0, segment_length=segment_length, presence_criterion=0.5)
    return float(found.overlap_accuracy)


def _bound_length_law() -> Measured:
    laws = [shipped("nigens_dog").lengths, shipped("nigens_baby").lengths, Lengths.sample([0.1, 1.0, 10.0])]
    criteria, most = np.array([0.1, 0.5, 0.9]), -math.inf
    for law in laws:
        grid = np.geomspace(0.003, 6.0, 200) * law.mean
        for weighting in ("event", "segment"):
            table = theory.overlap_accuracy_profile(
                law, segment_length=grid, presence_criterion=criteria, weighting=weighting
            )
            most = max(most, float(np.max(table - _f_star(criteria))))
    return most, 0.0, {"below": -most}


def _presence_accuracy() -> Measured:
    g = [0.5, 0.9]
    setting: dict[str, Any] = {"event_length": 1.0, "segment_length": _d_q(g), "presence_criterion": g}
    right, found = np.asarray(theory.precision(**setting)), np.asarray(theory.event_recall(**setting))
    return right[0], _f_star(), {"right": right, "lost": percent(1 - found[1])}


def _table_2() -> Measured:
    off, step = [], 1e-3
    for d, q, g in CASES.values():
        for t, before, after in states(event_length=d, segment_length=q, presence_criterion=g):
            for side, expected in ((-1, before), (1, after)):
                if 0 <= t + 2 * side * step <= d + q:
                    # F is linear on either side of a state, so two points give its limit there.
                    f = accuracy_of_end(t + side * step * np.array([1.0, 2.0]), d, q, g)
                    off.append(float(2 * f[0] - f[1]) - expected)
    return _largest(off), 0.0, {}


def _printed_3(g: Any) -> Any:
    """Theorem 3 as printed."""
    return 2 * g * (2 * g + 1 - np.sqrt(4 * g * g + 4 * g + 2)) + 1


def _printed_5(q: float, g: float) -> float:
    """Theorem 5 as printed, without its second branch, for ten events of 1 s in 100 s."""
    return 1 - 10 / 100 * (2 * g * g / q - 2 * g + q)


def _printed_ratio(g: float) -> float:
    """The best ratio of segment and event length as section 4 prints it."""
    return g * (2 * g + math.sqrt(2 * g * g + 2 * g + 1)) / (2 * g + 1)


def _recording_optimum() -> Measured:
    objectives = ("overlap", "recording")
    ends = [
        float(theory.optimal_segment_length(event_length=1.0, presence_criterion=0.5, objective=o)) for o in objectives
    ]
    code, most = np.asarray(_recording(ends, 0.5))
    return code, most, {"best": ends[1]}


def _delta_theorem_5() -> Measured:
    d, q, g, count, total = np.array([0.5, 1.0, 1.5]), 0.9, 0.5, 4, 50.0
    right = theory.recording_accuracy(
        event_length=Lengths.sample(d), segment_length=q, presence_criterion=g, n_events=count, recording_length=total
    )
    delta = q / d
    above = count * d * delta * (2 * g - delta) - 2 * count * d * g * g + total * delta
    printed = float(np.mean(above / (total * delta)))
    return printed, right, {"printed": printed, "right": right}


def _proof_2c() -> Measured:
    g, root = CRITERIA, 2 * np.sqrt(4 * CRITERIA**2 + 4 * CRITERIA + 2)
    share = (4 * g * g + 6 * g + 3) / (1 + g)
    ahead = _f_star(g) - _f(1.0, g, g)
    off = _largest(ahead - g * (share - root)), _largest((share**2 - root**2) * (1 + g) ** 2 - (2 * g + 1) ** 2)
    return off, (0.0, 0.0), {"ahead": np.min(ahead), "worst": max(off)}


def _gamma_laws() -> dict[str, Lengths]:
    return {f"shape {shape:g}": Lengths.law(stats.gamma(shape, loc=0.5)) for shape in (0.8, 0.2)}


def _normals() -> dict[str, Lengths]:
    return {law.name: law for law in (normal(m, s) for m, s in ((0.5, 0.1), (5.0, 0.1), (3.0, 0.1), (3.0, 1.0)))}


def _laws() -> dict[str, Lengths]:
    return {**_normals(), **_gamma_laws(), **{name: shipped(f"nigens_{name}").lengths for name in ("dog", "baby")}}


@cache
def _simulated(g: float) -> tuple[float, float]:
    """The segment length and the value at which the simulation of one 1 s event has its maximum, without noise."""
    q = np.linspace(0.005, 3.0, 5991)
    f = theory.overlap_accuracy_per_recording(event_length=1.0, segment_length=q, presence_criterion=g)
    return float(q[int(np.argmax(f))]), float(np.max(f))


def _simulation_follows() -> Measured:
    found, theory = np.array([_simulated(float(g))[1] for g in PAPER.criteria]), _f_star(PAPER.criteria)
    gap = found - theory
    numbers = {"mean": np.mean(np.abs(gap)), "low": gap.min(), "high": gap.max(), "half": _simulated(0.5)[1]}
    return found, theory, numbers


def _simulation_length() -> Measured:
    found, theory = np.array([_simulated(float(g))[0] for g in PAPER.criteria]), np.asarray(_d_q(PAPER.criteria))
    off = np.abs(found / theory - 1)
    k = int(np.argmax(off))
    numbers = {"off": percent(off.mean()), "n": off.size, "g": PAPER.criteria[k]}
    return found, theory, numbers | {"found": found[k], "theory": theory[k]}


def _simulation_bound() -> Measured:
    law = normal(3, 0.1)
    grid = law.mean * np.linspace(0.9, 1.5, 301)
    table = simulations.per_recording_profile(law, segment_length=grid, presence_criterion=np.array([0.7]))[:, 0]
    k = int(np.argmax(table))
    return table[k], _f_star(0.7), {"law": law.name, "q": grid[k]}


def _segment_lengths() -> Measured:
    laws = (Lengths.fixed(1.0), *_laws().values())
    ends = [law.quantile([1e-3, 1 - 1e-3]) for law in laws]
    asked = np.array([PAPER.segment_lengths(shortest=float(low), longest=float(high)) for low, high in ends])
    got = PAPER.cut(asked)
    off = got / asked - 1
    shares = {"first": percent(off[0].mean()), "most": percent(off[0].max()), "mean": percent(off.mean())}
    return got.ravel(), asked.ravel(), shares | {"n": len(laws)}


def _normal_small_effect() -> Measured:
    text, code = (float(simulations.best_numerical(normal(3, deviation), HALF)[1][0]) for deviation in (1, 0.5))
    return text, _f_star(), {"gap": text - _f_star(), "code": code, "code_gap": code - _f_star()}


def _normal_length_follows() -> Measured:
    rows = {
        name: (simulations.best_numerical(law, PAPER.criteria)[0], _d_q(PAPER.criteria, law.mean))
        for name, law in _normals().items()
    }
    worst = max(rows, key=lambda name: float(np.mean(np.abs(rows[name][0] / rows[name][1] - 1))))
    off = np.abs(rows[worst][0] / rows[worst][1] - 1)
    return *rows[worst], {"law": worst, "mean": percent(off.mean()), "most": percent(off.max())}


def _gamma_effect() -> Measured:
    found = {name: float(simulations.best_numerical(law, HALF)[1][0]) for name, law in _gamma_laws().items()}
    values = ", ".join(f"{value:.4f} ({name})" for name, value in found.items())
    return max(found.values()), _f_star() - 0.01, {"values": values, "limit": _f_star()}


def _gamma_underestimates() -> Measured:
    parts, under, total = [], 0, 0
    for name, law in _gamma_laws().items():
        short = _d_q(PAPER.criteria, law.mean) < simulations.best_numerical(law, PAPER.criteria)[0]
        under, total = under + int(short.sum()), total + short.size
        parts.append(f"{name} up to γ = {PAPER.criteria[short].max():.2g}")
    return under / total, 1.0, {"under": under, "total": total, "parts": ", ".join(parts)}


def _nigens_predicts() -> Measured:
    expected, estimated, parts = [], [], []
    for name in ("dog", "baby"):
        law = shipped(f"nigens_{name}").lengths
        grid = np.geomspace(0.01 * law.mean, 5 * law.mean, 400)
        table = simulations.per_recording_profile(law, segment_length=grid, presence_criterion=PAPER.criteria, n=500)
        estimated.append(table.max(axis=0))
        length, accuracy = simulations.best_numerical(law, PAPER.criteria)
        expected.append(accuracy)
        q, k = float(_d_q(0.5, law)), len(length) // 2
        pooled = float(_f(law, q, 0.5))
        parts.append(f"{name}: {accuracy[k]:.4f} at {length[k]:.3f} s, pooled truth {pooled:.4f} at {q:.3f} s")
    gap = np.abs(np.concatenate(estimated) - np.concatenate(expected))
    numbers = {"mean": gap.mean(), "most": gap.max(), "parts": "; ".join(parts)}
    return np.concatenate(expected), np.concatenate(estimated), numbers


def _mean_is_good() -> Measured:
    losses = {
        f"{name}, γ = {g:g}": float(_f(law, _d_q(g, law), g)) - float(_f(law, _d_q(g, law.mean), g))
        for name, law in _laws().items()
        for g in (0.1, 0.5, 0.9)
    }
    worst = max(losses, key=lambda name: losses[name])
    n, dear = len(losses), sum(loss > 0.01 for loss in losses.values())
    return dear / n, 0.5, {"cheap": n - dear, "n": n, "loss": losses[worst], "worst": worst}


def _dense(n_events: int, g: float) -> dict[str, float]:
    """The best segment length of a dense recording, the accuracy there, and that at the rule's d_q*."""
    best, rule = simulations.dense_optimum(n_events=n_events, criteria=g)
    columns: Any = {"q": best.segment_length, "best": best.overlap_accuracy, "rule": rule.overlap_accuracy}
    return {name: float(column[0]) for name, column in columns.items()}


def _crowded(n_events: int) -> Measured:
    """The best accuracies over the figure's criteria, and how they compare with f*."""
    found = np.asarray(simulations.dense_optimum(n_events=n_events, criteria=PAPER.criteria)[0].overlap_accuracy)
    theory = _f_star(PAPER.criteria)
    numbers = {"lower": np.mean(theory - found), "limit": _f_star(), "low": _dense(n_events, 0.1)}
    return found, theory, numbers | _dense(n_events, 0.5)


def _small_criterion_drop() -> Measured:
    found = _dense(50, 0.01)
    grid = PAPER.segment_lengths(shortest=1.0, longest=7.5)[:12]
    on_grid = simulations.dense_model(n_events=50, segment_length=grid, presence_criterion=0.01).overlap_accuracy
    return found["best"], "0.885", found | {"step": grid[1] - grid[0], "on_grid": float(np.max(on_grid))}


def _cost(**setting: Any) -> float:
    """The cost of FIX over that of ORC, one event in 100 s."""
    return float(theory.cost_ratio(recording_length=100, n_events=1, **setting))


def _cost_small_criterion() -> Measured:
    short, count = 1 - float(_f_star(1e-12)), float(_queries(1e-12))
    numbers = {"half": _cost(presence_criterion=0.5), "at": _cost(presence_criterion=0.1)}
    return (short, 1 / count), (0.0, 0.0), numbers | {"finite": float(_queries(0.1)), "f": _f_star(0.1), "count": count}


def _cost_large_criterion() -> Measured:
    low, half, high = (_cost(presence_criterion=g) for g in (0.1, 0.5, 1.0))
    long = RECORDING_LENGTH / 3  # three segments cost what ORC's three cost
    same, poor = _cost(segment_length=long), float(_f(1.0, long, 0.5))
    numbers = {"low": low, "half": half, "high": high, "same": same, "poor": poor}
    return (half, high, poor, same), (low, half, 1.0, 1.0), numbers


def _cost_share() -> Measured:
    r = np.linspace(0, 1, 101)
    found = np.asarray(theory.cost_ratio(recording_length=100, n_events=1, query_cost_share=r))
    return 1 - found[1:], -1e-6, {"first": found[1], "last": found[-1], "zero": found[0]}


def _cost_events_8() -> Measured:
    every = break_evens("n_events")
    crossing = every["s = 8"]
    few = np.asarray(relative_cost(as_code=False, overestimation=8, n_events=np.arange(1, 11)))
    readings = (bool((few < 1).all()), crossing <= 10)
    shown = ", ".join(f"{value:.4g}" for value in every.values())
    return sum(readings) / 2, 1.0, {"crossing": crossing, "every": shown, "most": int(crossing)}


def _cost_length() -> Measured:
    found = list(break_evens("recording_length").values())
    values = ", ".join(f"{value:.2f}" for value in found)
    return (0.0, *found), (*found, RECORDING_LENGTH), {"values": values}


def _offsets_uniform() -> Measured:
    flat = [cell.p >= 0.01 for row in all_offsets(gather())[0] for cell in row]
    return sum(flat) / len(flat), 1.0, {"flat": sum(flat), "n": len(flat)}


def _offsets_long_segments() -> Measured:
    cells = [cell for row in all_offsets(gather())[0] for cell in row if cell.ratio > 1]
    shown = ", ".join(f"{cell.label} p = {cell.p:.1g}" for cell in cells)
    return sum(cell.p < 0.01 for cell in cells) / len(cells), 1.0, {"shown": shown}


def _audioset_range() -> Measured:
    sample, ends = shipped("audioset_animal"), [1e-6, 1.0]
    setting: dict[str, Any] = {"segment_length": AUDIOSET_LENGTH, "presence_criterion": ends, "weighting": "event"}
    low, high = np.asarray(theory.overlap_accuracy(event_length=sample.lengths, **setting))
    share = sample.mean / AUDIOSET_LENGTH
    return (low, share), (share, high), {"low": low, "high": high}


#: Name of a claim -> how it is measured: ``orc-count`` by ``_orc_count``, the short ones right here.
MEASURES: dict[str, Callable[[], Measured]] = {
    name[1:].replace("_", "-"): function
    for name, function in list(globals().items())
    if getattr(function, "__annotations__", {}).get("return") == "Measured" and name != "_crowded"
} | {
    "accuracy-example": lambda: (
        [float(segment_accuracy(event=(0, 2), segment=(1, 4), presence_criterion=g)) for g in (0.5, 0.500001)],
        (1 / 3, 2 / 3),
        {},
    ),
    "theorem-3": lambda: (_largest(_printed_3(CRITERIA) - _f(1.0, _d_q(CRITERIA), CRITERIA)), 0.0, {}),
    "independent-of-length": lambda: (float(np.ptp(_f(LENGTHS, _d_q(0.5, LENGTHS), 0.5))), 0.0, {}),
    "theorem-4": lambda: (_queries(0.5, np.array([1.0, 0.4])) * np.array([1.0, 0.4]), 100 / _d_q(), {}),
    "spacing": lambda: (np.asarray(_d_q([1.0, 0.5, 1e-9])), ("1.72", "0.81", "0"), {"limit": (2 + math.sqrt(10)) / 3}),
    "far-apart-events": lambda: (_pair(gap=0.8, segment_length=0.8), _f(1.0, 0.8, 0.5), {}),
    "theorem-5": lambda: (
        (_printed_5(0.8, 0.5), _printed_5(0.5, 0.9)),
        (_recording(0.8, 0.5, 10), _recording(0.5, 0.9, 10)),
        {},
    ),
    "class-noise": lambda: (
        0.9 * _f(1.0, 0.8, 0.5),
        theory.overlap_accuracy(annotator=NOISY, event_length=1.0, segment_length=0.8),
        {"clean": _f(1.0, 0.8, 0.5)},
    ),
    "long-recordings": lambda: (_recording(0.8, 0.5, total=1e10), 1.0, {}),
    "delta-form": lambda: (((2 * 0.5 + 1) * 0.8 - 2 * 0.5**2) / (0.5 * (1 + 0.5)), _f(1.0, 0.8, 0.5), {}),
    "delta-optimum": lambda: (_printed_ratio(0.5), _d_q(), {"lost": _f(1.0, _printed_ratio(0.5), 0.5)}),
    "proof-2a": lambda: (_largest(_f(1.0, CRITERIA, CRITERIA) - 1 / (1 + CRITERIA)), 0.0, {}),
    "proof-2b": lambda: (float(_f(1.0, 1e12, 0.5)), 0.0, {}),
    "proof-2f": lambda: (0.5 / (0.2 + 0.5) ** 2, float(np.diff(_f(1.0, [0.2 - 1e-6, 0.2 + 1e-6], 0.5))[0]) / 2e-6, {}),
    "ground-truth-segments": lambda: (float(_f(1.0, 0.5, 1e-12)), 1 / 1.5, {}),
    "f-star-half": lambda: (_f_star(), "0.76", {}),
    "d-q-star-half": lambda: (_d_q(), "0.81", {}),
    "noise-34": lambda: (1 - _f_star(), "0.34", {"noise": percent(1 - _f_star(), exact=True)}),
    "maximum-of-means": lambda: (
        simulations.selection_bias(n_recordings=1000),
        0.0,
        {"low": simulations.selection_bias(n_recordings=10)},
    ),
    "plotted-d-q-star": lambda: (simulations.swapped_length(mean=1.0, criteria=TWO), _d_q(TWO), {}),
    "thirty-events": lambda: _crowded(30),
    "fifty-events": lambda: _crowded(50),
    "cost-events-1": lambda: (60, break_evens("n_events")["s = 1"], {"most": int(break_evens("n_events")["s = 1"])}),
    "audioset-criterion": lambda: (recipe(shipped("audioset_animal")), "0.26", {"n": shipped("audioset_animal").n}),
    "audioset-validation": lambda: (recovery(criteria=[0.1, 0.5, 0.9], n=4000, rng=1)["recipe"], [0.1, 0.5, 0.9], {}),
}
