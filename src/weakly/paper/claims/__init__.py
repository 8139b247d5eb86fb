"""Every quantitative claim of the paper, in its order, with the verdict on record."""

from . import appendix, costs, model, proof, recording, results
from .claim import ABOUT, FAILS, HOLDS, VERDICTS, Checked, Claim, Finding

CLAIMS: tuple[Claim, ...] = tuple(
    claim for part in (model, recording, results, costs, proof, appendix) for claim in part.CLAIMS
)

__all__ = ["ABOUT", "CLAIMS", "FAILS", "HOLDS", "VERDICTS", "Checked", "Claim", "Finding"]
