"""Claims of sections 4.5 and 4.6: the accuracy of a whole recording, class noise, and the form in delta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...annotator import Annotator
from ...lengths import Lengths
from ...theory import optimal_segment_length, overlap_accuracy, recording_accuracy
from .claim import FAILS, HOLDS, Claims, Finding, equal

CLAIMS = Claims()
claim = CLAIMS.add


@claim(
    "theorem-5",
    where="Theorem 5",
    says="The expected accuracy of a recording, one formula for every event length.",
    printed="1 - (M/T) E[2 gamma^2 d_e^2 / d_q - 2 gamma d_e + d_q]",
    verdict=FAILS,
    erratum="E6",
)
def _theorem_5() -> Finding:
    setting = {"event_length": 1.0, "n_events": 10, "recording_length": 100}
    printed = printed_theorem_5(1.0, 0.5, 0.9, 10, 100)
    right = recording_accuracy(segment_length=0.5, presence_criterion=0.9, **setting)
    fine = recording_accuracy(segment_length=0.8, presence_criterion=0.5, **setting)
    words = (
        f"right where d_q >= gamma d_e ({fine:.4f} for gamma = 0.5, d_q = 0.8 s), but for gamma = 0.9, d_q = 0.5 "
        f"s it gives {printed:.3f} instead of {right:.3f}"
    )
    return equal(printed, right, words)


def printed_theorem_5(d: float, q: float, g: float, n_events: int, total: float) -> float:
    """Theorem 5 as printed, without its second branch."""
    return 1 - n_events / total * (2 * g * g * d * d / q - 2 * g * d + q)


@claim(
    "recording-optimum",
    where="Authors' code, maximum of Theorem 5",
    says="Theorem 5 is largest at d_q* of Theorem 2.",
    printed="0.9957295 (gamma = 0.5, M = 1, T = 100)",
    verdict=FAILS,
    erratum="E7",
)
def _recording_optimum() -> Finding:
    def at(q: float) -> float:
        return float(
            recording_accuracy(
                event_length=1.0, segment_length=q, presence_criterion=0.5, n_events=1, recording_length=100
            )
        )

    code = at(optimal_segment_length(event_length=1.0, presence_criterion=0.5))
    best_q = optimal_segment_length(event_length=1.0, presence_criterion=0.5, objective="recording")
    best = at(best_q)
    words = f"{code:.7f} at d_q*, but {best:.7f} at d_q = sqrt(2) gamma d_e = {best_q:.4f} s"
    return equal(code, best, words)


@claim(
    "class-noise",
    where="Section 4.5",
    says="Labels that are flipped with probability rho scale the accuracy by 1 - rho.",
    printed="(1 - rho) F",
    verdict=FAILS,
    erratum="E8",
)
def _noise() -> Finding:
    setting: dict[str, Any] = {"event_length": 1.0, "segment_length": 0.8}
    clean = overlap_accuracy(presence_criterion=0.5, **setting)
    noisy = overlap_accuracy(annotator=Annotator(presence_criterion=0.5, flip_rate=0.1), **setting)
    words = f"rho = 0.1, F = {clean:.4f}: printed {0.9 * clean:.4f}, true (1 - rho) F + rho (1 - F) = {noisy:.4f}"
    return equal(0.9 * clean, noisy, words)


@claim(
    "long-recordings",
    where="Section 4.5",
    says="The accuracy of a recording tends to 1 as T grows.",
    printed="1",
    verdict=HOLDS,
)
def _long() -> Finding:
    setting = {"event_length": 1.0, "segment_length": 0.8, "presence_criterion": 0.5, "n_events": 1}
    value = recording_accuracy(recording_length=1e9, **setting)
    return equal(value, 1.0, f"{value:.10f} for T = 10^9 s", tolerance=1e-8)


@claim(
    "delta-form",
    where="Section 4.6",
    says="f as a function of delta = d_q / d_e has the denominator gamma (1 + gamma).",
    printed="((2 gamma + 1) delta - 2 gamma^2) / (gamma (1 + gamma))",
    verdict=FAILS,
    erratum="E1",
)
def _delta_form() -> Finding:
    delta, g = 0.8, 0.5
    printed = ((2 * g + 1) * delta - 2 * g * g) / (g * (1 + g))
    right = overlap_accuracy(event_length=1.0, segment_length=delta, presence_criterion=g)
    words = f"at delta = 0.8, gamma = 0.5 it gives {printed:.4f}, more than 1; with delta (1 + delta) it is {right:.4f}"
    return equal(printed, right, words)


@claim(
    "delta-optimum",
    where="Section 4.6",
    says="The best ratio delta* has the root sqrt(2 gamma^2 + 2 gamma + 1).",
    printed="0.6453 (gamma = 0.5)",
    verdict=FAILS,
    erratum="E2",
)
def _delta_optimum() -> Finding:
    g = 0.5
    printed = g * (2 * g + math.sqrt(2 * g * g + 2 * g + 1)) / (2 * g + 1)
    right = optimal_segment_length(event_length=1.0, presence_criterion=g)
    lost = overlap_accuracy(event_length=1.0, segment_length=printed, presence_criterion=g)
    words = f"printed {printed:.4f} (accuracy {lost:.4f}), true {right:.4f} (accuracy 0.7639)"
    return equal(printed, right, words)


@claim(
    "delta-theorem-5",
    where="Section 4.6",
    says="Theorem 5 as an expectation over delta, with a length d outside of it.",
    printed="E[(M d delta (2 gamma - delta) - 2 M d gamma^2 + T delta) / (T delta)]",
    verdict=FAILS,
    erratum="E3",
)
def _delta_theorem_5() -> Finding:
    d, q, g, count, total = np.array([0.5, 1.0, 1.5]), 0.9, 0.5, 4, 50.0
    right = recording_accuracy(
        event_length=Lengths.sample(d), segment_length=q, presence_criterion=g, n_events=count, recording_length=total
    )
    delta, mean = q / d, d.mean()
    printed = float(
        np.mean((count * mean * delta * (2 * g - delta) - 2 * count * mean * g * g + total * delta) / (total * delta))
    )
    words = (
        f"d is not defined; as the mean length it gives {printed:.5f} where the truth is {right:.5f}: d is random too"
    )
    return equal(printed, right, words)
