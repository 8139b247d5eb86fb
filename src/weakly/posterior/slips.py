r"""What segments that one person answered more than once tell of that person: guesses, lapses, stickiness, drift.

A segment satisfies the person's criterion (with chance p) or not; the answer is present with chance :math:`1 - \ell` or
:math:`g`, moved by a drift on the logit from the first answer to the last, or it is the answer before with chance s.
Two answers hardly tell guesses from lapses, three do: so a segment that is repeated is asked three times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from ..base.results import percent
from .law import cells

_SHARES = expit(np.linspace(-5.0, 2.5, 16))  # of the segments that satisfy the criterion
_RATES = np.array([0.002, 0.01, 0.03, 0.06, 0.1, 0.15, 0.21, 0.28, 0.36, 0.45])  # of guesses, and of lapses
_STICKY = np.array([0.0, 0.05, 0.12, 0.22, 0.35, 0.5])
_IF_STICKY = np.array([0.6, 0.12, 0.1, 0.08, 0.06, 0.04])  # how likely each is beforehand
_DRIFT = np.array([-2.0, -1.0, -0.4, 0.0, 0.4, 1.0, 2.0])
_KNOWN = 0.35  # the widest interval of lapses that tells them
NAMES = ("guess_rate", "lapse_rate", "stickiness", "drift")


@dataclass(frozen=True)
class Slips:
    """How somebody slips: the expected rate and the 95 % interval (middle, low, high) of each of :data:`NAMES`."""

    numbers: dict[str, tuple[float, float, float]]
    n_repeats: int = 0
    n_alike: int = 0

    @property
    def is_known(self) -> bool:
        """Whether the rate of lapses is known well enough to be used."""
        _, low, high = self.numbers["lapse_rate"]
        return high - low <= _KNOWN

    def to_dict(self) -> dict[str, Any]:
        """The numbers with their ends, as columns."""
        ends = {f"{name}{end}": x for name, row in self.numbers.items() for end, x in zip(("", "_low", "_high"), row)}
        return {**ends, "n_repeats": self.n_repeats, "n_alike": self.n_alike}


def slips_of(segments: Sequence[Any], present: Sequence[float]) -> Slips | None:
    """From all answers of one person in their order, and the segment of each; None where no segment is repeated.

    Unsure answers (NaN) tell nothing.

    >>> slips_of(list("abcabc"), [1, 0, 0, 1, 0, 0]).n_alike
    3
    """
    known = ~np.isnan(np.asarray(present, dtype=np.float64))
    y = np.asarray(present, dtype=np.float64)[known]
    given: dict[Any, list[int]] = {}
    for k, segment in enumerate(one for one, sure in zip(segments, known) if sure):
        given.setdefault(segment, []).append(k)
    again = [places for places in given.values() if len(places) > 1]
    if not again:
        return None
    time = np.arange(len(y)) / max(1, len(y) - 1) - 0.5
    hit, guess = (  # (answers, rates, stickiness, drift)
        (1 - _STICKY[:, None]) * expit(logit(rates)[:, None, None] + _DRIFT * time[:, None, None, None])
        for rates in (1 - _RATES, _RATES)
    )
    before = np.concatenate(([0.5], y[:-1]))  # of a first answer the one before may be a neighbour, and alike
    before[[places[0] for places in given.values()]] = np.nan
    copied = np.where(np.isnan(before), 0.0, before)[:, None, None, None] * _STICKY[:, None]
    free = np.isnan(before)[:, None, None, None] / (1 - _STICKY[:, None])
    chances = [np.where(free > 0, p * free, p + copied) for p in (hit, guess)]
    log = np.zeros((len(_SHARES), len(_RATES), len(_RATES), len(_STICKY), len(_DRIFT)))
    share = _SHARES[:, None, None, None, None]
    for places in given.values():
        met, unmet = (np.prod([p[k] if y[k] else 1 - p[k] for k in places], axis=0) for p in chances)
        log += np.log(share * met[None, None] + (1 - share) * unmet[None, :, None])
    rare = np.diff(np.append(cells(_RATES)[:, 0], 0.5)) * (1 - _RATES) ** 2
    log += np.log(rare)[:, None, None, None] + np.log(rare)[:, None, None]
    log += np.log(_IF_STICKY)[:, None] - (_DRIFT / 1.2) ** 2 / 2
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    numbers = {}
    for axis, (name, nodes) in enumerate(zip(NAMES, (_RATES, _RATES, _STICKY, _DRIFT)), start=1):
        mass = weights.sum(axis=tuple(k for k in range(5) if k != axis))
        edges = cells(nodes)
        low, high = np.interp([0.025, 0.975], np.append(0.0, np.cumsum(mass)), np.append(edges[0, 0], edges[:, 1]))
        low = 0.0 if nodes[0] >= 0 and mass[0] > 0.025 else low
        numbers[name] = float(mass @ nodes), float(low), float(high)
    pairs = [y[places[k]] == y[places[k - 1]] for places in again for k in range(1, len(places))]
    return Slips(numbers, len(pairs), sum(map(bool, pairs)))


def slip_words(row: dict[str, Any]) -> str:
    """The numbers of :meth:`Slips.to_dict` in words; of stickiness and drift only where there is some.

    >>> row = {f"{name}{end}": x for name in NAMES for end, x in (("", 0.1), ("_low", 0.0), ("_high", 0.2))}
    >>> slip_words(row)
    'guesses 10 % (0 to 20 %), lapses 10 % (0 to 20 %)'
    """
    text = ", ".join(
        f"{noun} {percent(row[name])} ({100 * row[f'{name}_low']:.0f} to {percent(row[f'{name}_high'])})"
        for name, noun in (("guess_rate", "guesses"), ("lapse_rate", "lapses"))
    )
    if row["stickiness_low"] > 0:
        text += f"; {percent(row['stickiness'])} of the answers repeat the one before"
    if row["drift_low"] > 0 or row["drift_high"] < 0:
        text += f"; present is said {'more' if row['drift'] > 0 else 'less'} often as time goes on"
    return text
