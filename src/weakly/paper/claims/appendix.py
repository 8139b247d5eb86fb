"""Claims of appendices A.4 and A.5: uniform offsets, and the presence criterion of AudioSet."""

from __future__ import annotations

import numpy as np

from ...theory import overlap_accuracy
from ..appendix import AUDIOSET_LENGTH, all_offsets, kuiper, recipe, recovery
from ..facts import gather, shipped
from .claim import ABOUT, FAILS, HOLDS, Claims, Finding, decided, rounded

CLAIMS = Claims()
claim = CLAIMS.add


@claim(
    "offsets-uniform",
    where="Appendix A.4",
    says="The offsets between events and overlapping segments look flat.",
    printed="flat, by eye",
    verdict=ABOUT,
    erratum="E30",
)
def _offsets() -> Finding:
    cells = [cell for row in all_offsets(gather())[0] for cell in row]
    short = [cell for cell in cells if cell.ratio <= 1]
    least = min(cell.p for cell in short)
    edge = min(cell.p for cell in cells if cell.ratio > 1)
    words = (
        f"Kuiper's test on AudioSet barks and baby cries: p >= {least:.2g} for d_q up to d_e; down to {edge:.1g} for "
        "d_q = 10 d_e, where segments are nearly as long as the clips"
    )
    return decided(least, words, holds=least > 0.01 and edge > 0.01, about=least > 0.01)


@claim(
    "offsets-long-segments",
    where="Section 4.2 and appendix A.4",
    says="Uniform offsets are not to be expected if d_q is much longer than d_e.",
    printed="not expected to hold",
    verdict=FAILS,
    erratum="E30",
)
def _long_segments() -> Finding:
    rng = np.random.default_rng(0)
    onset = rng.uniform(0.0, 1e6, 2000)  # events of 1 s anywhere in 11 days, segments of 100 s
    v, p = kuiper(np.mod(onset, 100.0) / 100.0)
    words = f"events anywhere, d_q = 100 d_e: V = {v:.3f}, p = {p:.2g}; only sparsity and edges limit d_q"
    return decided(p, words, holds=p < 0.01)


@claim(
    "audioset-criterion",
    where="Appendix A.5 and section 8",
    says="The theory meets the accuracy of AudioSet's Animal labels at gamma = 0.26.",
    printed="0.26",
    verdict=HOLDS,
    erratum="E21",
)
def _audioset() -> Finding:
    sample = shipped("audioset_animal")
    return rounded(
        recipe(sample), 0.26, 2, f"{recipe(sample):.4f} from {sample.n} event lengths (the recipe, repeated)"
    )


@claim(
    "audioset-range",
    where="Appendix A.5",
    says="The empirical accuracy falls within the range that the theory predicts for gamma in (0, 1].",
    printed="within",
    verdict=HOLDS,
    erratum="E21",
)
def _range() -> Finding:
    sample = shipped("audioset_animal")
    low, high = overlap_accuracy(
        event_length=sample.lengths, segment_length=AUDIOSET_LENGTH, presence_criterion=[1e-6, 1.0]
    )
    share = sample.mean / AUDIOSET_LENGTH
    words = f"{share:.4f} lies in ({low:.4f}, {high:.4f}); so it does for any events shorter than 0.7 d_q"
    return decided(share, words, holds=low <= share <= high)


@claim(
    "audioset-validation",
    where="Section 8",
    says="The agreement is an empirical validation of the framework.",
    printed="gamma = 0.26 models the annotators",
    verdict=FAILS,
    erratum="E21",
)
def _validation() -> Finding:
    truth = [0.1, 0.5, 0.9]
    found = recovery(criteria=truth, n=4000, rng=1)
    spread = float(np.ptp(found["recipe"]))
    shown = ", ".join(f"{value:.2f}" for value in found["recipe"])
    words = f"annotators with gamma = 0.1, 0.5, 0.9 get {shown} from the recipe: no answer of theirs enters it"
    return decided(spread, words, holds=bool(np.max(np.abs(found["recipe"] - truth)) < 0.05))
