"""A claim of the paper: where it stands, what is printed, how we measure it, and the verdict on record."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

HOLDS, ABOUT, FAILS = "holds", "holds approximately", "does not hold"
VERDICTS = (HOLDS, ABOUT, FAILS)


@dataclass(frozen=True)
class Finding:
    """What was measured: a number, the same in words, and the verdict that follows from it."""

    value: float
    words: str
    verdict: str


@dataclass(frozen=True)
class Claim:
    """One quantitative claim; ``verdict`` is the one on record, and a run that finds another is a regression in us."""

    name: str
    where: str
    says: str
    printed: str
    verdict: str
    erratum: str
    measure: Callable[[], Finding]

    def check(self) -> Checked:
        """The claim with what was measured now."""
        return Checked(self, self.measure())


@dataclass(frozen=True)
class Checked:
    """A claim and what a run found."""

    claim: Claim
    finding: Finding

    @property
    def changed(self) -> bool:
        """Whether the verdict differs from the one on record."""
        return self.finding.verdict != self.claim.verdict

    def to_dict(self) -> dict[str, Any]:
        """The row of ``claims.json``."""
        claim, finding = self.claim, self.finding
        return {
            "name": claim.name,
            "where": claim.where,
            "says": claim.says,
            "printed": claim.printed,
            "measured": finding.words,
            "value": finding.value if math.isfinite(finding.value) else None,
            "verdict": finding.verdict,
            "recorded_verdict": claim.verdict,
            "erratum": claim.erratum,
        }


class Claims(list[Claim]):
    """Claims in the order of the paper; :meth:`add` registers a measuring function under its claim."""

    def add(
        self, name: str, *, where: str, says: str, printed: str, verdict: str, erratum: str = ""
    ) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
        """Register the decorated function as the measure of this claim."""

        def register(measure: Callable[[], Finding]) -> Callable[[], Finding]:
            self.append(Claim(name, where, says, printed, verdict, erratum, measure))
            return measure

        return register


def rounded(value: float, printed: float, digits: int, words: str | None = None) -> Finding:
    """Holds if the value rounds to what is printed, approximately if it is within 5 %.

    >>> rounded(0.7639, 0.76, 2).verdict, rounded(0.2361, 0.34, 2).verdict
    ('holds', 'does not hold')
    """
    value = float(value)
    if round(value, digits) == printed:
        verdict = HOLDS
    else:
        verdict = ABOUT if abs(value - printed) <= 0.05 * abs(printed) else FAILS
    return Finding(value, words or f"{value:.10g}", verdict)


def equal(value: float, truth: float, words: str, *, tolerance: float = 1e-9) -> Finding:
    """Holds if value and truth agree to the tolerance; there is no nearly for a formula."""
    return Finding(float(value), words, HOLDS if abs(value - truth) <= tolerance * max(1.0, abs(truth)) else FAILS)


def decided(value: float, words: str, *, holds: bool, about: bool = False) -> Finding:
    """A finding whose verdict is decided by the caller's tests."""
    return Finding(float(value), words, HOLDS if holds else ABOUT if about else FAILS)
