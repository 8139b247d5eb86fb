"""Claims of section 6.2: what FIX costs against ORC."""

from __future__ import annotations

import numpy as np

from ...cost import break_even_events, break_even_recording_length, cost_ratio
from ...theory import optimal_query_count, optimal_segment_length
from ..costs import ratio
from ..scenarios import OVERESTIMATION, RECORDING_LENGTH
from .claim import ABOUT, FAILS, HOLDS, Claims, Finding, decided, rounded

CLAIMS = Claims()
claim = CLAIMS.add


def _width(criterion: float = 0.5) -> float:
    return float(optimal_segment_length(event_length=1.0, presence_criterion=criterion))


def _break_even(s: float) -> float:
    return float(break_even_events(recording_length=RECORDING_LENGTH, segment_length=_width(), overestimation=s))


@claim(
    "cost-small-criterion",
    where="Section 6.2.2",
    says="As gamma tends to 0.1, FIX needs infinitely many queries.",
    printed="infinitely many",
    verdict=FAILS,
    erratum="E19",
)
def _small() -> Finding:
    count = float(optimal_query_count(recording_length=100, event_length=1.0, presence_criterion=0.1))
    high = float(cost_ratio(recording_length=100, n_events=1, presence_criterion=0.1))
    words = f"{count:.2f} queries, {high:.2f} times the cost of ORC, at gamma = 0.1; infinite only for gamma -> 0"
    return decided(count, words, holds=not np.isfinite(count))


@claim(
    "cost-large-criterion",
    where="Section 6.2.2",
    says="For higher gamma FIX becomes comparable to ORC in cost, and can match it.",
    printed="match",
    verdict=ABOUT,
)
def _large() -> Finding:
    low, half, high = (
        float(cost_ratio(recording_length=100, n_events=1, presence_criterion=g)) for g in (0.1, 0.5, 1.0)
    )
    words = f"{low:.2f}, {half:.2f}, {high:.2f} times the cost of ORC at gamma = 0.1, 0.5, 1: nearer, never equal"
    return decided(high, words, holds=high <= 1, about=high < half < low)


@claim(
    "cost-share",
    where="Section 6.2.2",
    says="The cost advantage of ORC is robust to changes in r.",
    printed="ratio > 1 for all r",
    verdict=ABOUT,
    erratum="E18",
)
def _share() -> Finding:
    r = np.linspace(0, 1, 101)
    found = np.asarray(cost_ratio(recording_length=100, n_events=1, query_cost_share=r))
    same = len(set(np.sign(found[1:] - 1))) == 1
    words = f"from {found[0]:g} at r = 0 (no advantage) to {found[-1]:.2f} at r = 1; which side of 1 cannot depend on r"
    return decided(float(found[-1]), words, holds=bool((found > 1).all()), about=same)


@claim(
    "cost-events-1",
    where="Section 6.2.3",
    says="With s = 1, ORC is cheaper when there are fewer than 60 events.",
    printed="60",
    verdict=ABOUT,
    erratum="E17",
)
def _events_1() -> Finding:
    crossing = _break_even(1)
    words = f"the costs are equal at M = {crossing:.2f}: ORC is cheaper up to {int(crossing)} events"
    return rounded(crossing, 60, 0, words)


@claim(
    "cost-events-8",
    where="Section 6.2.3",
    says="With s = 8, FIX becomes cheaper when at most 10 events are present.",
    printed="at most 10",
    verdict=FAILS,
    erratum="E17",
)
def _events_8() -> Finding:
    crossing = _break_even(8)
    few = float(ratio(as_code=False, overestimation=8, n_events=5))
    every = ", ".join(f"{_break_even(s):.4g}" for s in OVERESTIMATION)
    words = (
        f"the other way round: with 5 events FIX costs {few:.2f} times as much, and it is cheaper from "
        f"{int(crossing) + 1} events on; equal at {every} for s = 1, 2, 4, 8"
    )
    return decided(crossing, words, holds=few < 1)


@claim(
    "overestimation",
    where="Section 6.2.1 and Figures 13, 14",
    says="B_ORC = s (2M + 1), where s = 8 stands for 10 events taken for 80.",
    printed="s (2M + 1) = 168",
    verdict=FAILS,
    erratum="E16",
)
def _overestimation() -> Finding:
    s, count = 8, 10
    text, code = s * (2 * count + 1), 2 * s * count + 1
    return decided(
        code, f"80 events need {code} queries (the authors' code), the formula asks {text}", holds=text == code
    )


@claim(
    "cost-length",
    where="Section 6.2.3",
    says="In short recordings ORC loses its advantage.",
    printed="a similar trend",
    verdict=HOLDS,
)
def _length() -> Finding:
    found = [
        float(break_even_recording_length(segment_length=_width(), n_events=1, overestimation=s))
        for s in OVERESTIMATION
    ]
    words = "FIX is cheaper below " + ", ".join(f"{value:.2f}" for value in found) + " s for s = 1, 2, 4, 8 (one event)"
    return decided(found[-1], words, holds=all(0 < value < RECORDING_LENGTH for value in found))


@claim(
    "disjoint-events",
    where="Section 6.2.3",
    says="More than 60 events of 1 s that do not overlap are unlikely in 100 s.",
    printed="unlikely",
    verdict=HOLDS,
)
def _disjoint() -> Finding:
    count, d, total = 61, 1.0, RECORDING_LENGTH
    # M intervals with uniform starts in (0, T - d) are disjoint with this probability.
    chance = ((total - count * d) / (total - d)) ** count
    return decided(
        chance, f"61 uniformly placed events are all disjoint with probability {chance:.1g}", holds=chance < 0.01
    )
