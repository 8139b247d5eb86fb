"""Claims of sections 2 to 4: definitions, ORC, FIX, Theorems 1 to 4, several events."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ...annotator import segment_accuracy
from ...intervals import oracle_segments
from ...lengths import Lengths
from ...theory import (
    best_overlap_accuracy,
    event_recall,
    optimal_query_count,
    optimal_segment_length,
    overlap_accuracy,
    overlap_accuracy_profile,
    precision,
)
from ..proofs import CASES, INFEASIBLE, states
from .claim import FAILS, HOLDS, Claims, Finding, decided, equal, rounded

CLAIMS = Claims()
claim = CLAIMS.add
CRITERIA = np.linspace(0.01, 1.0, 100)


@claim(
    "accuracy-example",
    where="Section 2.3",
    says="A 3 s segment that holds 1 s of a 2 s event has accuracy 1/3 if called present (gamma <= 0.5), else 2/3.",
    printed="1/3, 2/3",
    verdict=HOLDS,
)
def _example() -> Finding:
    low, high = (
        float(segment_accuracy(event=(0, 2), segment=(1, 4), presence_criterion=g))
        for g in (0.5, math.nextafter(0.5, 1) + 1e-6)
    )
    return decided(low, f"{low:.4f}, {high:.4f}", holds=abs(low - 1 / 3) < 1e-12 and abs(high - 2 / 3) < 1e-12)


@claim(
    "orc-accuracy",
    where="Section 3",
    says="ORC labels have accuracy 1.",
    printed="1",
    verdict=HOLDS,
)
def _orc_accuracy() -> Finding:
    events = np.array([(1.0, 2.5), (4.0, 4.2), (8.0, 10.0)])
    segments = oracle_segments(events, recording_length=10.0)
    worst = 1.0
    for segment in segments:
        share = [float(segment_accuracy(event=event, segment=segment, presence_criterion=1.0)) for event in events]
        worst = min(worst, max(share) if any(np.allclose(segment, event) for event in events) else min(share))
    return equal(worst, 1.0, f"{worst:g} for every segment")


@claim(
    "orc-count",
    where="Section 3",
    says="ORC needs 2M - 1 or 2M + 1 segments.",
    printed="{2M-1, 2M+1}",
    verdict=FAILS,
    erratum="E15",
)
def _orc_count() -> Finding:
    layouts = ([(0, 1), (4, 5)], [(0, 1), (3, 4)], [(1, 2), (3, 4)])
    found = sorted({len(oracle_segments(events, recording_length=5.0)) - 2 * len(events) for events in layouts})
    words = ", ".join(f"2M{k:+d}" if k else "2M" for k in found)
    return decided(len(found), f"{words}: an event at one end only gives 2M", holds=found == [-1, 1])


@claim(
    "theorem-1",
    where="Theorem 1",
    says="The expected accuracy given overlap, with a branch for d_q >= gamma d_e and one for d_q < gamma d_e.",
    printed="f(d_q)",
    verdict=HOLDS,
)
def _theorem_1() -> Finding:
    worst = 0.0
    for d, q, g in ((1.0, 0.8, 0.5), (1.0, 0.3, 0.5), (0.5, 3.0, 0.7), (2.0, 1.9, 0.9), *CASES.values(), INFEASIBLE):
        formula = overlap_accuracy(event_length=d, segment_length=q, presence_criterion=g)
        worst = max(worst, abs(formula - _integral(d, q, g)))
    return equal(worst, 0.0, f"differs from the integral of F by at most {worst:.1g}")


def _integral(d: float, q: float, g: float) -> float:
    """The mean of F over t in (0, d_e + d_q), from the definition: F is linear between the states."""
    knots = np.unique(np.clip([0.0, g * d, min(d, q), max(d, q), d + q - g * d, d + q], 0, d + q))
    total = 0.0
    for start, end in pairwise(knots):
        t = start + (end - start) * np.array([0.25, 0.75])
        f = segment_accuracy(event=np.stack((t - d, t), axis=-1), segment=(0.0, q), presence_criterion=g)
        total += float(f.mean()) * (end - start)
    return total / (d + q)


@claim(
    "theorem-2",
    where="Theorem 2",
    says="The segment length that maximises the accuracy given overlap.",
    printed="d_q*",
    verdict=HOLDS,
)
def _theorem_2() -> Finding:
    from scipy.optimize import minimize_scalar

    worst = 0.0
    for g in (0.05, 0.3, 0.5, 0.8, 1.0):
        formula = optimal_segment_length(event_length=1.0, presence_criterion=g)

        def loss(q: float, g: float = g) -> float:
            return -float(overlap_accuracy(event_length=1.0, segment_length=q, presence_criterion=g))

        found = minimize_scalar(loss, bounds=(g, 4.0), method="bounded", options={"xatol": 1e-10})
        worst = max(worst, abs(found.x - formula))
    return decided(worst, f"a numerical search finds the same length within {worst:.1g} s", holds=worst < 1e-6)


@claim(
    "theorem-3",
    where="Theorem 3",
    says="The largest accuracy given overlap.",
    printed="f*(gamma) = 2 gamma (2 gamma + 1 - sqrt(4 gamma^2 + 4 gamma + 2)) + 1",
    verdict=HOLDS,
)
def _theorem_3() -> Finding:
    g = CRITERIA
    printed = 2 * g * (2 * g + 1 - np.sqrt(4 * g * g + 4 * g + 2)) + 1
    best = optimal_segment_length(event_length=1.0, presence_criterion=g)
    direct = overlap_accuracy(event_length=1.0, segment_length=best, presence_criterion=g)
    worst = float(np.max(np.abs(printed - direct)))
    return equal(worst, 0.0, f"equals f(d_q*) within {worst:.1g} for 100 criteria")


@claim(
    "independent-of-length",
    where="Section 4.2",
    says="f* does not depend on the event length.",
    printed="a function of gamma only",
    verdict=HOLDS,
)
def _independent() -> Finding:
    d = np.array([0.01, 0.5, 1.0, 30.0])
    q = optimal_segment_length(event_length=d, presence_criterion=0.5)
    spread = float(np.ptp(overlap_accuracy(event_length=d, segment_length=q, presence_criterion=0.5)))
    return equal(spread, 0.0, f"0.01 s to 30 s differ by {spread:.1g}")


@claim(
    "theorem-4",
    where="Theorem 4",
    says="B* = T / d_q* queries reach the maximum, for d_e = 1.",
    printed="T / d_q*",
    verdict=HOLDS,
    erratum="E29",
)
def _theorem_4() -> Finding:
    one = optimal_query_count(recording_length=100, event_length=1.0, presence_criterion=0.5)
    other = optimal_query_count(recording_length=100, event_length=0.4, presence_criterion=0.5) * 0.4
    words = f"{one:.4f} for T = 100 s and gamma = 0.5; true for every d_e, and not a whole number"
    return decided(one, words, holds=abs(one - other) < 1e-9)


@claim(
    "bound-any-distribution",
    where="Section 4.2, repeated in 6 and 8",
    says="f* bounds the accuracy for any audio distribution.",
    printed="f*(0.5) = 0.7639 is an upper bound",
    verdict=FAILS,
    erratum="E23",
)
def _bound() -> Finding:
    value = pair_accuracy(gap=0.1, segment_length=1.1, presence_criterion=0.5)
    limit = best_overlap_accuracy(presence_criterion=0.5)
    words = f"two 1 s events 0.1 s apart reach {value:.4f} > {limit:.4f} with d_q = 1.1 s"
    return decided(value, words, holds=value <= limit)


def pair_accuracy(*, gap: float, segment_length: float, presence_criterion: float) -> float:
    """The exact accuracy given overlap of two 1 s events this far apart, over every phase of the grid."""
    import pandas as pd

    from ...evaluation import evaluate
    from ...events import Events

    frame = pd.DataFrame(
        {"recording": "a", "onset": [49.0, 50.0 + gap], "offset": [50.0, 51.0 + gap], "label": "event"}
    )
    events = Events.from_frame(frame, recording_length=100.0)
    found = evaluate(events, segment_length=segment_length, presence_criterion=presence_criterion, phase="random")
    return float(found.overlap_accuracy)


@claim(
    "bound-length-law",
    where="Sections 4.2 and 8",
    says="Variable event lengths lower the accuracy (far apart events); a proof is left open.",
    printed="f* >= E f",
    verdict=HOLDS,
    erratum="E23",
)
def _bound_lengths() -> Finding:
    from ..facts import shipped

    laws = [shipped("nigens_dog").lengths, shipped("nigens_baby").lengths, Lengths.sample([0.1, 1.0, 10.0])]
    criteria = np.array([0.1, 0.5, 0.9])
    limit, least = best_overlap_accuracy(presence_criterion=criteria), math.inf
    for law in laws:
        grid = np.geomspace(0.003, 6.0, 200) * law.mean
        for weighting in ("event", "segment"):
            table = overlap_accuracy_profile(law, segment_length=grid, presence_criterion=criteria, weighting=weighting)
            least = min(least, float(np.min(limit - table)))
    words = f"below f* by {least:.4f} or more for 3 laws, 3 criteria, 200 segment lengths; and it can be proved"
    return decided(least, words, holds=least >= 0)


@claim(
    "presence-accuracy",
    where="Section 4, outline",
    says="The expectation over overlapping segments can be viewed as the accuracy of presence labels.",
    printed="f*(0.5) = 0.76",
    verdict=FAILS,
    erratum="E32",
)
def _presence() -> Finding:
    best = optimal_segment_length(event_length=1.0, presence_criterion=[0.5, 0.9])
    right = precision(event_length=1.0, segment_length=best, presence_criterion=[0.5, 0.9])
    lost = 1 - event_recall(event_length=1.0, segment_length=best, presence_criterion=[0.5, 0.9])
    words = (
        f"at d_q* presence labels are right for {right[0]:.3f} (gamma = 0.5) and {right[1]:.3f} (0.9) of their time, "
        f"and {lost[1]:.1%} of events are never called present at 0.9"
    )
    return rounded(right[0], 0.76, 2, words)


@claim(
    "spacing",
    where="Section 4.4",
    says="At d_q* events must be 1.72 d_e apart for gamma = 1, 0.81 d_e for 0.5, 0 for gamma -> 0.",
    printed="1.72, 0.81, 0",
    verdict=HOLDS,
)
def _spacing() -> Finding:
    q = optimal_segment_length(event_length=1.0, presence_criterion=[1.0, 0.5, 1e-9])
    words = f"{q[0]:.4f}, {q[1]:.4f}, {q[2]:.1g}; (2 + sqrt(10)) / 3 = {(2 + math.sqrt(10)) / 3:.4f}"
    fits = round(q[0], 2) == 1.72 and round(q[1], 2) == 0.81 and q[2] < 1e-6
    return decided(q[0], words, holds=fits)


@claim(
    "far-apart-events",
    where="Section 4.4",
    says="Several events at least d_q apart have the accuracy of one.",
    printed="2A / 2(d_e + d_q) = f(d_q)",
    verdict=HOLDS,
    erratum="E28",
)
def _far_apart() -> Finding:
    one = overlap_accuracy(event_length=1.0, segment_length=0.8, presence_criterion=0.5)
    two = pair_accuracy(gap=0.8, segment_length=0.8, presence_criterion=0.5)
    return equal(two, one, f"two events 0.8 s apart: {two:.10f}, one: {one:.10f} (d_q = 0.8 s)")


@claim(
    "figure-5-range",
    where="Figure 5, caption",
    says="The segment (t - d_q, t) is inside the recording for t in [0, T - d_q].",
    printed="[0, T - d_q]",
    verdict=FAILS,
    erratum="E27",
)
def _range() -> Finding:
    d_q = 0.8
    return decided(-d_q, f"at t = 0 it would start at {-d_q:g} s; inside means t in [d_q, T]", holds=0.0 - d_q >= 0)


@claim(
    "table-2",
    where="Table 2",
    says="The states t_0 ... t_3 of cases (i) and (ii) and the accuracy F at each.",
    printed="16 expressions",
    verdict=HOLDS,
)
def _table_2() -> Finding:
    worst = 0.0
    for d, q, g in CASES.values():
        for t, before, after in states(event_length=d, segment_length=q, presence_criterion=g):
            for shift, expected in ((-1e-9, before), (1e-9, after)):
                if 0 <= t + shift <= d + q:
                    f = segment_accuracy(event=(t + shift - d, t + shift), segment=(0.0, q), presence_criterion=g)
                    worst = max(worst, abs(float(f) - expected))
    return decided(worst, f"the definition gives the same within {worst:.1g}", holds=worst < 1e-6)
