"""How the claims of sections 2 to 4 and of the proofs are measured: definitions, Theorems 1 to 5, several events."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...base.results import percent
from ...model.annotator import Annotator, segment_accuracy
from ...model.events import Events
from ...model.intervals import oracle_segments
from ...model.lengths import Lengths
from ...studies.evaluate.evaluator import evaluate
from ...theory.dense import dense_recordings
from ...theory.optimum import optimal_segment_length
from ...theory.single import (
    best_overlap_accuracy,
    event_recall,
    optimal_query_count,
    overlap_accuracy,
    overlap_accuracy_profile,
    precision,
    recording_accuracy,
)
from .claims import ClaimFinding
from .drawings import CASES, INFEASIBLE, accuracy_of_end, states
from .facts import shipped

CRITERIA = np.linspace(0.01, 1.0, 100)


def _largest(difference: Any) -> float:
    return float(np.max(np.abs(difference)))


def _accuracy_example() -> ClaimFinding:
    found = [float(segment_accuracy(event=(0, 2), segment=(1, 4), presence_criterion=g)) for g in (0.5, 0.500001)]
    return ClaimFinding(found, (1 / 3, 2 / 3), f"{found[0]:.4f}, {found[1]:.4f}")


def _orc_accuracy() -> ClaimFinding:
    events = np.array([(1.0, 2.5), (4.0, 4.2), (8.0, 10.0)])
    segments, worst = oracle_segments(events, recording_length=10.0), 1.0
    for segment in segments:
        share = [float(segment_accuracy(event=event, segment=segment, presence_criterion=1.0)) for event in events]
        worst = min(worst, max(share) if any(np.allclose(segment, event) for event in events) else min(share))
    return ClaimFinding(worst, 1.0, f"{worst:g} for every segment")


def _orc_count() -> ClaimFinding:
    layouts = ([(0, 1), (4, 5)], [(0, 1), (3, 4)], [(1, 2), (3, 4)])
    found = sorted({len(oracle_segments(events, recording_length=5.0)) - 2 * len(events) for events in layouts})
    words = ", ".join(f"2M{k:+d}" if k else "2M" for k in found)
    return ClaimFinding([k in found for k in (-1, 0, 1)], (1, 0, 1), f"{words}: an event at one end only gives 2M")


def _theorem_1() -> ClaimFinding:
    worst = 0.0
    for d, q, g in ((1.0, 0.8, 0.5), (1.0, 0.3, 0.5), (0.5, 3.0, 0.7), (2.0, 1.9, 0.9), *CASES.values(), INFEASIBLE):
        formula = float(overlap_accuracy(event_length=d, segment_length=q, presence_criterion=g))
        worst = max(worst, abs(formula - _integral(d, q, g)))
    return ClaimFinding(worst, 0.0, f"differs from the integral of F by at most {worst:.1g}")


def _integral(d: float, q: float, g: float) -> float:
    """The mean of F over t in (0, d_e + d_q), from the definition: F is linear between the states."""
    knots = np.unique(np.clip([0.0, g * d, min(d, q), max(d, q), d + q - g * d, d + q], 0, d + q))
    total = 0.0
    for start, end in pairwise(knots):
        t = start + (end - start) * np.array([0.25, 0.75])
        total += float(accuracy_of_end(t, d, q, g).mean()) * (end - start)
    return total / (d + q)


def _theorem_2() -> ClaimFinding:
    g = np.array([0.05, 0.3, 0.5, 0.8, 1.0])
    best = optimal_segment_length(event_length=1.0, presence_criterion=g)
    near = (
        best * np.append(np.linspace(0.2, 5.0, 20_001), [1 - 1e-4, 1 + 1e-4])[:, None]
    )  # the neighbours must be worse
    lost = overlap_accuracy(event_length=1.0, segment_length=near, presence_criterion=g)
    ahead = float(np.max(lost - overlap_accuracy(event_length=1.0, segment_length=best, presence_criterion=g)))
    return ClaimFinding(
        max(ahead, 0.0), 0.0, f"none of 20,000 other lengths for each of 5 criteria does better ({ahead:.1g})"
    )


def _theorem_3() -> ClaimFinding:
    g = CRITERIA
    printed = 2 * g * (2 * g + 1 - np.sqrt(4 * g * g + 4 * g + 2)) + 1
    best = optimal_segment_length(event_length=1.0, presence_criterion=g)
    worst = _largest(printed - overlap_accuracy(event_length=1.0, segment_length=best, presence_criterion=g))
    return ClaimFinding(worst, 0.0, f"equals f(d_q*) within {worst:.1g} for 100 criteria")


def _independent_of_length() -> ClaimFinding:
    d = np.array([0.01, 0.5, 1.0, 30.0])
    q = optimal_segment_length(event_length=d, presence_criterion=0.5)
    spread = float(np.ptp(overlap_accuracy(event_length=d, segment_length=q, presence_criterion=0.5)))
    return ClaimFinding(spread, 0.0, f"0.01 s to 30 s differ by {spread:.1g}")


def _theorem_4() -> ClaimFinding:
    lengths = np.array([1.0, 0.4])
    count = optimal_query_count(recording_length=100, event_length=lengths, presence_criterion=0.5) * lengths
    best = 100 / optimal_segment_length(event_length=1.0, presence_criterion=0.5)
    words = f"{count[0]:.4f} for T = 100 s and γ = 0.5; true for every d_e, and not a whole number"
    return ClaimFinding(count, best, words)


def _bound_any_distribution() -> ClaimFinding:
    value = pair_accuracy(gap=0.1, segment_length=1.1, presence_criterion=0.5)
    dense = dense_recordings(event_length=1.0, event_rate=2.0, segment_length=200.0, presence_criterion=0.5)
    limit = best_overlap_accuracy(presence_criterion=0.5)
    words = (
        f"two 1 s events 0.1 s apart reach {value:.4f} > {limit:.4f} with d_q = 1.1 s; two events per second, all "
        f"called present, {dense.overlap_accuracy:.4f}"
    )
    return ClaimFinding(value, limit, words)


def pair_accuracy(*, gap: float, segment_length: float, presence_criterion: float) -> float:
    """The exact accuracy given overlap of two 1 s events this far apart, over every phase of the grid."""
    frame = pd.DataFrame(
        {"recording": "a", "onset": [49.0, 50.0 + gap], "offset": [50.0, 51.0 + gap], "label": "event"}
    )
    events = Events.from_frame(frame, recording_length=100.0)
    found = evaluate(events, segment_length=segment_length, presence_criterion=presence_criterion, phase="random")
    return float(found.overlap_accuracy)


def _bound_length_law() -> ClaimFinding:
    laws = [shipped("nigens_dog").lengths, shipped("nigens_baby").lengths, Lengths.sample([0.1, 1.0, 10.0])]
    criteria = np.array([0.1, 0.5, 0.9])
    limit, most = best_overlap_accuracy(presence_criterion=criteria), -math.inf
    for law in laws:
        grid = np.geomspace(0.003, 6.0, 200) * law.mean
        for weighting in ("event", "segment"):
            table = overlap_accuracy_profile(law, segment_length=grid, presence_criterion=criteria, weighting=weighting)
            most = max(most, float(np.max(table - limit)))
    words = f"below f* by {-most:.4f} or more for 3 laws, 3 criteria, 200 segment lengths; and it can be proved"
    return ClaimFinding(most, 0.0, words)


def _presence_accuracy() -> ClaimFinding:
    best = optimal_segment_length(event_length=1.0, presence_criterion=[0.5, 0.9])
    setting: dict[str, Any] = {"event_length": 1.0, "segment_length": best, "presence_criterion": [0.5, 0.9]}
    right, found = np.asarray(precision(**setting)), np.asarray(event_recall(**setting))
    words = (
        f"at d_q* presence labels are right for {right[0]:.3f} (γ = 0.5) and {right[1]:.3f} (0.9) of their time, "
        f"and {percent(1 - found[1])} of events are never called present at 0.9. The sentence gives a name to the "
        "accuracy given overlap, whose best is 0.764 at γ = 0.5; it is not the precision of presence labels"
    )
    return ClaimFinding(right[0], best_overlap_accuracy(presence_criterion=0.5), words)


def _spacing() -> ClaimFinding:
    q = np.asarray(optimal_segment_length(event_length=1.0, presence_criterion=[1.0, 0.5, 1e-9]))
    words = f"{q[0]:.4f}, {q[1]:.4f}, {q[2]:.1g}; (2 + √10) / 3 = {(2 + math.sqrt(10)) / 3:.4f}"
    return ClaimFinding(q, ("1.72", "0.81", "0"), words)


def _far_apart_events() -> ClaimFinding:
    one = overlap_accuracy(event_length=1.0, segment_length=0.8, presence_criterion=0.5)
    two = pair_accuracy(gap=0.8, segment_length=0.8, presence_criterion=0.5)
    return ClaimFinding(two, one, f"two events 0.8 s apart: {two:.10f}, one: {one:.10f} (d_q = 0.8 s)")


def _table_2() -> ClaimFinding:
    worst, step = 0.0, 1e-3
    for d, q, g in CASES.values():
        for t, before, after in states(event_length=d, segment_length=q, presence_criterion=g):
            for side, expected in ((-1, before), (1, after)):
                if 0 <= t + 2 * side * step <= d + q:
                    # F is linear on either side of a state, so two points give its limit there.
                    f = accuracy_of_end(t + side * step * np.array([1.0, 2.0]), d, q, g)
                    worst = max(worst, abs(float(2 * f[0] - f[1]) - expected))
    return ClaimFinding(worst, 0.0, f"the definition gives the same within {worst:.1g}")


def _theorem_5() -> ClaimFinding:
    setting = {"event_length": 1.0, "n_events": 10, "recording_length": 100}
    printed = printed_theorem_5(1.0, 0.5, 0.9, 10, 100)
    right = recording_accuracy(segment_length=0.5, presence_criterion=0.9, **setting)
    fine = recording_accuracy(segment_length=0.8, presence_criterion=0.5, **setting)
    words = (
        f"right where d_q ≥ γ d_e ({fine:.4f} for γ = 0.5, d_q = 0.8 s). Shorter segments are never labelled present: "
        f"for γ = 0.9, d_q = 0.5 s it gives {printed:.3f} instead of {right:.3f}"
    )
    return ClaimFinding((printed_theorem_5(1.0, 0.8, 0.5, 10, 100), printed), (fine, right), words)


def printed_theorem_5(d: float, q: float, g: float, n_events: int, total: float) -> float:
    """Theorem 5 as printed, without its second branch."""
    return 1 - n_events / total * (2 * g * g * d * d / q - 2 * g * d + q)


def _recording_optimum() -> ClaimFinding:
    rule, best = (
        float(optimal_segment_length(event_length=1.0, presence_criterion=0.5, objective=name))
        for name in ("overlap", "recording")
    )
    code, most = np.asarray(
        recording_accuracy(
            event_length=1.0, segment_length=[rule, best], presence_criterion=0.5, n_events=1, recording_length=100
        )
    )
    words = (
        f"the scripts take Theorem 5 at d_q* for its maximum: {code:.7f}; at d_q = √2 γ d_e = {best:.4f} s it is "
        f"{most:.7f}. The sentence itself claims no maximum"
    )
    return ClaimFinding(code, most, words)


def _class_noise() -> ClaimFinding:
    setting: dict[str, Any] = {"event_length": 1.0, "segment_length": 0.8}
    clean = overlap_accuracy(presence_criterion=0.5, **setting)
    noisy = overlap_accuracy(annotator=Annotator(presence_criterion=0.5, flip_rate=0.1), **setting)
    words = f"ρ = 0.1, F = {clean:.4f}: printed {0.9 * clean:.4f}, true (1 − ρ) F + ρ (1 − F) = {noisy:.4f}"
    return ClaimFinding(0.9 * clean, noisy, words)


def _long_recordings() -> ClaimFinding:
    setting = {"event_length": 1.0, "segment_length": 0.8, "presence_criterion": 0.5, "n_events": 1}
    value = recording_accuracy(recording_length=1e10, **setting)
    return ClaimFinding(value, 1.0, f"{value:.11f} for T = 10^10 s")


def _delta_form() -> ClaimFinding:
    delta, g = 0.8, 0.5
    printed = ((2 * g + 1) * delta - 2 * g * g) / (g * (1 + g))
    right = overlap_accuracy(event_length=1.0, segment_length=delta, presence_criterion=g)
    words = f"at δ = 0.8, γ = 0.5 it gives {printed:.4f}, more than 1; with δ (1 + δ), as in A.3, it is {right:.4f}"
    return ClaimFinding(printed, right, words)


def _delta_optimum() -> ClaimFinding:
    g = 0.5
    printed = g * (2 * g + math.sqrt(2 * g * g + 2 * g + 1)) / (2 * g + 1)
    right = optimal_segment_length(event_length=1.0, presence_criterion=g)
    lost = overlap_accuracy(event_length=1.0, segment_length=printed, presence_criterion=g)
    words = f"{printed:.4f} at γ = 0.5 (accuracy {lost:.4f}); Theorem 2 has {right:.4f} (accuracy 0.7639)"
    return ClaimFinding(printed, right, words)


def _delta_theorem_5() -> ClaimFinding:
    d, q, g, count, total = np.array([0.5, 1.0, 1.5]), 0.9, 0.5, 4, 50.0
    right = recording_accuracy(
        event_length=Lengths.sample(d), segment_length=q, presence_criterion=g, n_events=count, recording_length=total
    )
    delta = q / d
    printed = float(
        np.mean((count * d * delta * (2 * g - delta) - 2 * count * d * g * g + total * delta) / (total * delta))
    )
    words = f"{printed:.5f} and {right:.5f} if d is d_e = d_q/δ, random as δ is: its index is missing"
    return ClaimFinding(printed, right, words)


def _proof_2a() -> ClaimFinding:
    found = overlap_accuracy(event_length=1.0, segment_length=CRITERIA, presence_criterion=CRITERIA)
    worst = _largest(found - 1 / (1 + CRITERIA))
    return ClaimFinding(worst, 0.0, f"within {worst:.1g} for 100 criteria")


def _proof_2b() -> ClaimFinding:
    value = float(overlap_accuracy(event_length=1.0, segment_length=1e12, presence_criterion=0.5))
    return ClaimFinding(value, 0.0, f"{value:.1g} for d_q = 10^12 d_e")


def _proof_2c() -> ClaimFinding:
    g, root = CRITERIA, 2 * np.sqrt(4 * CRITERIA**2 + 4 * CRITERIA + 2)
    share = (4 * g * g + 6 * g + 3) / (1 + g)
    ahead = best_overlap_accuracy(presence_criterion=g) - overlap_accuracy(
        event_length=1.0, segment_length=g, presence_criterion=g
    )
    off = _largest(ahead - g * (share - root)), _largest((share**2 - root**2) * (1 + g) ** 2 - (2 * g + 1) ** 2)
    words = (
        f"f* exceeds f(γ d_e) by {np.min(ahead):.2g} or more; both steps agree within {max(off):.1g}, and the squares "
        "differ by (2γ + 1)^2 / (1 + γ)^2"
    )
    return ClaimFinding(off, (0.0, 0.0), words)


def _proof_2f() -> ClaimFinding:
    d, q, g, step = 1.0, 0.2, 0.5, 1e-6
    low, high = np.asarray(overlap_accuracy(event_length=d, segment_length=[q - step, q + step], presence_criterion=g))
    slope, printed = (high - low) / (2 * step), g / (q + g) ** 2
    words = (
        f"slope {slope:.4f} = d_e / (d_q + d_e)^2 at d_q = 0.2, d_e = 1; printed {printed:.4f} for γ = 0.5. It rises "
        "either way, so the conclusion stands"
    )
    return ClaimFinding(printed, slope, words)


def _ground_truth_segments() -> ClaimFinding:
    value = float(overlap_accuracy(event_length=1.0, segment_length=0.5, presence_criterion=1e-12))
    return ClaimFinding(value, 1 / 1.5, f"{value:.10f} for d_e = 1 s, d_q = 0.5 s")
