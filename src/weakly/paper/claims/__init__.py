"""Every quantitative claim of the paper, in its order, with the verdict on record."""

from . import appendix, costs, model, proof, results
from .claim import ABOUT, FAILS, HOLDS, VERDICTS, Checked, Claim, Finding

CLAIMS: tuple[Claim, ...] = (*model.CLAIMS, *results.CLAIMS, *costs.CLAIMS, *proof.CLAIMS, *appendix.CLAIMS)

__all__ = ["ABOUT", "CLAIMS", "FAILS", "HOLDS", "VERDICTS", "Checked", "Claim", "Finding"]
