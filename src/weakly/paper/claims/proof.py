"""Claims of the proofs in appendix A.1 and A.2."""

from __future__ import annotations

import math

import numpy as np

from ...theory import best_overlap_accuracy, overlap_accuracy
from .claim import FAILS, HOLDS, Claims, Finding, decided, equal

CLAIMS = Claims()
claim = CLAIMS.add
CRITERIA = np.linspace(0.01, 1.0, 100)


@claim(
    "no-overlap",
    where="Appendix A.1, assumption 2",
    says="Without overlap a presence label is always correct.",
    printed="F = 1",
    verdict=FAILS,
    erratum="E25",
)
def _no_overlap() -> Finding:
    overlap, width = 0.0, 1.0
    present, absent = overlap / width, (width - overlap) / width
    return equal(present, 1.0, f"a presence label has F = {present:g}; it is the absence label that has F = {absent:g}")


@claim(
    "proof-2a",
    where="Appendix A.2, 2a",
    says="f(gamma d_e) = 1 / (1 + gamma).",
    printed="1 / (1 + gamma)",
    verdict=HOLDS,
)
def _2a() -> Finding:
    g = CRITERIA
    found = overlap_accuracy(event_length=1.0, segment_length=g, presence_criterion=g)
    worst = float(np.max(np.abs(found - 1 / (1 + g))))
    return equal(worst, 0.0, f"within {worst:.1g} for 100 criteria")


@claim(
    "proof-2b",
    where="Appendix A.2, 2b",
    says="f tends to 0 for long segments.",
    printed="0",
    verdict=HOLDS,
)
def _2b() -> Finding:
    value = float(overlap_accuracy(event_length=1.0, segment_length=1e12, presence_criterion=0.5))
    return equal(value, 0.0, f"{value:.1g} for d_q = 10^12 d_e")


@claim(
    "proof-2c",
    where="Appendix A.2, 2c",
    says="f* >= f(gamma d_e) is equivalent to (2 gamma + 1)^2 >= 0.",
    printed="(2 gamma + 1)^2",
    verdict=HOLDS,
)
def _2c() -> Finding:
    g = CRITERIA
    residual = (4 * g * g + 6 * g + 3) ** 2 - 4 * (4 * g * g + 4 * g + 2) * (1 + g) ** 2
    worst = float(np.max(np.abs(residual - (2 * g + 1) ** 2)))
    least = float(np.min(best_overlap_accuracy(presence_criterion=g) - 1 / (1 + g)))
    words = f"the squares differ by (2 gamma + 1)^2 within {worst:.1g}; f* exceeds 1/(1+gamma) by {least:.2g} or more"
    return decided(worst, words, holds=worst < 1e-9 and least > 0)


@claim(
    "proof-2f",
    where="Appendix A.2, 2f",
    says="Below gamma d_e the slope of f is gamma / (d_q + gamma)^2.",
    printed="gamma / (d_q + gamma)^2",
    verdict=FAILS,
    erratum="E5",
)
def _2f() -> Finding:
    d, q, g, step = 1.0, 0.2, 0.5, 1e-6
    low, high = overlap_accuracy(event_length=d, segment_length=[q - step, q + step], presence_criterion=g)
    slope, printed, right = (high - low) / (2 * step), g / (q + g) ** 2, d / (q + d) ** 2
    words = f"slope {slope:.4f} = d_e / (d_q + d_e)^2 at d_q = 0.2, d_e = 1; printed {printed:.4f} for gamma = 0.5"
    assert math.isclose(slope, right, rel_tol=1e-6)
    return equal(printed, right, words)


@claim(
    "ground-truth-segments",
    where="Section 8",
    says="For gamma -> 0 (segment-based evaluation) the accuracy is d_e / (d_e + d_q).",
    printed="d_e / (d_e + d_q)",
    verdict=HOLDS,
)
def _ground_truth() -> Finding:
    value = float(overlap_accuracy(event_length=1.0, segment_length=0.5, presence_criterion=1e-12))
    return equal(value, 1 / 1.5, f"{value:.10f} for d_e = 1 s, d_q = 0.5 s")
