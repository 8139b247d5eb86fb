"""Processes of events whose rate differs from recording to recording (:func:`differing`).

A recording's rate follows a gamma law, of which a few processes stand for all rates: the chance of its answers is a
mixture of those under each, so that one pass for each of these tells the likelihood of every mean and variation. A
recording's own timeline is then a mixture too, by how likely its answers are under each (:class:`.renewal.Uncertain`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .fitting import BUSY, NONE_LEFT, Family, FittedFamily, Sheets, moments, normal
from .renewal import Array, Bouts, Renewal, Uncertain

#: Gaps of the processes (logarithm, from the typical one), and the grid of the mean gap and of the coefficient of
#: variation (logarithm), expected around .6; and short gaps (in mean lengths), and their shares.
_AWAY, _MEANS, _VARIATIONS = np.linspace(-2.4, 3.36, 13), np.linspace(-2.0, 2.0, 41), np.log(np.geomspace(0.25, 2.0, 9))
_VARIES = math.log(0.6), 0.6
_SHORTS, _SHARES = (0.25, 1.0), (0.15, 0.4, 0.65)


@dataclass(frozen=True)
class Differing(Family):
    """Rates that follow a gamma law from recording to recording: the logarithm of the mean gap at the mean rate, that
    of the law's coefficient of variation, and which of the ``kinds`` short gaps are of. Each recording follows one of a
    few processes, whose (long) gaps are spread around a typical one; the parameters say how likely each is."""

    around: float = 0.0
    kinds: tuple[Bouts | None, ...] = (None,)
    differs = True

    @property
    def bunches(self) -> bool:
        """Whether some gaps are short."""
        return self.kinds[0] is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        return ("gap", "variation", "kind")

    @cached_property
    def members(self) -> tuple[tuple[Renewal, ...], ...]:
        """The processes of each kind, the most frequent events first."""
        gaps = np.maximum(np.exp(self.around + _AWAY), BUSY * self.step).tolist()
        how: Any = {"step": self.step, "longest": self.longest}
        law: Any = self.lengths
        return tuple(tuple(Renewal.from_gaps(law, gap=gap, bouts=kind, **how) for gap in gaps) for kind in self.kinds)

    def weights(self, thetas: Array, kind: int) -> Array:
        """How likely each process of a kind is at some parameters, (parameters, processes)."""
        from scipy.special import gammainc

        rates, shape = np.array([one.event_rate for one in self.members[kind]]), np.exp(-2 * thetas[:, 1:2])
        means = 1 / (np.exp(thetas[:, :1]) + self.mean_length(thetas[0]))
        upto = gammainc(shape, shape * np.sqrt(rates[1:] * rates[:-1]) / means)
        return np.asarray(-np.diff(upto, axis=1, prepend=1.0, append=0.0))

    def renewal(self, theta: Array) -> Uncertain:  # type: ignore[override]
        """The processes that recordings follow at these parameters."""
        kind = int(theta[2])
        return Uncertain(self.members[kind], self.weights(theta[None], kind)[0], np.zeros(len(_AWAY), np.int64))


def differing(sheets: Sheets, plain: FittedFamily, *, short_gaps: bool = False) -> FittedFamily:
    """Rates that differ between recordings, at the likeliest law of lengths, with gaps of one kind, or with some short
    ones as well: on a grid, as the chance of the answers of a recording is a mixture of those under the few processes.
    What is uncertain of the law has its part in the evidence, as in that of one rate for all."""
    from scipy.special import logsumexp

    one, theta, law = plain.family, plain.theta, plain.renewal.lengths
    kinds = [Bouts(share, short * law.mean) for short in _SHORTS for share in _SHARES] if short_gaps else [None]
    family = Differing(one.step, one.longest, law, one.middle, around=float(theta[0]), kinds=tuple(kinds))
    grid = np.stack(np.meshgrid(theta[0] + _MEANS, _VARIATIONS, indexing="ij"), axis=2).reshape(-1, 2)
    prior = np.array([Family.log_prior(family, each) + normal(each[1], *_VARIES) for each in grid])
    values, thetas = [], []
    for kind, members in enumerate(family.members):
        logs = np.stack([sheets.logs(member) for member in members], axis=1)
        top = logs.max(axis=1, keepdims=True)
        values.append(prior + sheets.times @ (top + np.log(np.exp(logs - top) @ family.weights(grid, kind).T)))
        thetas.append(np.column_stack((grid, np.full(len(grid), float(kind)))))
    value, nodes = np.concatenate(values) - math.log(len(kinds)), np.concatenate(thetas)
    weights = np.exp(value - value.max())
    evidence = logsumexp(value) + math.log((_MEANS[1] - _MEANS[0]) * (_VARIATIONS[1] - _VARIATIONS[0]))
    evidence += plain.log_evidence - plain.score + one.log_prior(theta) - Family.log_prior(family, theta)
    precision = np.linalg.inv(moments(plain.nodes, plain.weights)[1])[0, 0]
    evidence -= 0.5 * math.log(2 * math.pi / float(precision))
    kept, best = weights > NONE_LEFT * weights.sum(), nodes[weights.argmax()]
    weights = weights[kept] / weights[kept].sum()
    return FittedFamily(family, best, -math.inf, nodes[kept], weights, float(evidence), best[None])
