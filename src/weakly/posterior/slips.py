r"""What segments that one person answered more than once tell of that person: guesses, lapses, stickiness, drift;
and what others' answers tell of how often somebody is right.

A segment satisfies the person's criterion (with chance p) or not; the answer is present with chance :math:`1 - \ell` or
:math:`g`, moved by a drift on the logit from the first answer to the last, or it is the answer before with chance s.
Two answers hardly tell guesses from lapses, three do: so a segment that is repeated is asked three times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit, logsumexp
from scipy.stats import chi2

from ..base.results import counted, percent, with_ends
from .law import cells

_SHARES = expit(np.linspace(-5.0, 2.5, 16))  # of the segments that satisfy the criterion
_RATES = np.array([0.002, 0.01, 0.03, 0.06, 0.1, 0.15, 0.21, 0.28, 0.36, 0.45])  # of guesses, and of lapses
_STICKY = np.array([0.0, 0.05, 0.12, 0.22, 0.35, 0.5])
_IF_STICKY = np.array([0.6, 0.12, 0.1, 0.08, 0.06, 0.04])  # how likely each is beforehand
_DRIFT = np.array([-2.0, -1.0, -0.4, 0.0, 0.4, 1.0, 2.0])
_KNOWN = 40  # repeated answers that tell lapses; were it how wide their interval is, low rates alone would be known
_ALIKE = 10  # the Bayes factor from which on answers to one segment are more alike than those of a coin
_LEAST = 10  # segments that somebody answered with others before they may be called odd
_ODD = 0.02  # how often, by chance, anybody of a team is
NAMES = ("guess_rate", "lapse_rate", "stickiness", "drift")


@dataclass(frozen=True)
class Slips:
    """How somebody slips: the expected rate and the 95 % interval (middle, low, high) of each of :data:`NAMES`;
    ``is_noise``: known, and nothing shows that answers to one segment are more alike than a coin's."""

    numbers: dict[str, tuple[float, float, float]]
    n_repeats: int = 0
    n_alike: int = 0
    is_noise: bool = False

    @property
    def is_known(self) -> bool:
        """Whether there were enough repeats for the rate of lapses to be used."""
        return self.n_repeats >= _KNOWN

    def to_dict(self) -> dict[str, Any]:
        """The numbers with their ends, as columns."""
        return with_ends(self.numbers) | {name: getattr(self, name) for name in ("n_repeats", "n_alike", "is_noise")}


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
    share = _SHARES[:, None, None, None, None]

    def likely(places: list[int]) -> Any:  # the logarithm of the chance of these answers about one segment
        met, unmet = (np.prod([p[k] if y[k] else 1 - p[k] for k in places], axis=0) for p in chances)
        return np.log(share * met[None, None] + (1 - share) * unmet[None, :, None])

    log: Any = sum(map(likely, given.values()))
    apart: Any = sum(likely([k]) for places in again for k in places) - sum(map(likely, again))  # each about its own
    rare = np.diff(np.append(cells(_RATES)[:, 0], 0.5)) * (1 - _RATES) ** 2
    log += np.log(rare)[:, None, None, None] + np.log(rare)[:, None, None]
    log += np.log(_IF_STICKY)[:, None] - (_DRIFT / 1.2) ** 2 / 2
    gain = -logsumexp(apart, b=np.exp(log - logsumexp(log)))
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
    said = np.bincount(y[[k for places in again for k in places]].astype(int), minlength=2)
    is_noise = bool(said.min() >= _LEAST and len(pairs) >= _KNOWN and gain < np.log(_ALIKE))
    return Slips(numbers, len(pairs), sum(map(bool, pairs)), is_noise)


def slip_words(row: dict[str, Any]) -> str:
    """The numbers of :meth:`Slips.to_dict` in words; of stickiness and drift only where there is some.

    >>> row = {f"{name}{end}": x for name in NAMES for end, x in (("", 0.1), ("_low", 0.0), ("_high", 0.2))}
    >>> slip_words(row | {"is_noise": False})
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
    if row["is_noise"]:
        text += "; answers to the same segment agree little more than a coin's, so they tell nothing of the events"
    return text


def agreement_with_others(sure: pd.DataFrame) -> pd.DataFrame:
    """By annotator: how many segments others answered too, and the mean share of these who said the same."""
    votes = sure.groupby("query")["present"].agg(["size", "sum"]).loc[sure["query"]].to_numpy(float).T
    share = (np.where(sure["present"] == 1, votes[1], votes[0] - votes[1]) - 1) / np.maximum(votes[0] - 1, 1)
    shared = sure.assign(share=share)[votes[0] > 1]
    found: pd.DataFrame = shared.groupby("annotator")["share"].agg(["size", "mean"])
    return found


def odd_ones(sure: pd.DataFrame) -> dict[str, str]:
    """Who is right less often than the middle one of the team, beyond chance, and how much they agree with the others.

    One after the other, the oddest first and without those before, so that nobody is blamed for whom they were paired
    with. Two people who differ are not told apart.
    """
    odd: list[str] = []
    while (name := _oddest(sure[~sure["annotator"].isin(odd)])) is not None:
        odd.append(name)
    others = agreement_with_others(sure[~sure["annotator"].isin(odd)])
    usually = percent((others["size"] * others["mean"]).sum() / max(1, others["size"].sum()))
    found = {}
    for name in odd:
        mine = agreement_with_others(sure[~sure["annotator"].isin(set(odd) - {name})]).reindex([name]).iloc[0]
        alike = (
            "none" if not mine["size"] > 0 else f"{percent(mine['mean'])} of {counted(int(mine['size']), 'segment')}"
        )
        found[name] = f"{name} agrees with the others on {alike}, these among each other on {usually}"
    return found


def _oddest(sure: pd.DataFrame) -> str | None:
    """Who is most surely right less often than the middle one; None: nobody.

    How often everybody is right and what the truth is follow from each other (Dawid and Skene's model with one rate per
    person, by expectation maximisation); a person's answers are compared with what those of the others make likely.
    """
    shared = sure[sure.groupby("query")["present"].transform("size") > 1]
    shared = shared[shared.groupby("annotator")["present"].transform("size") >= _LEAST]
    query, person = (pd.factorize(shared[word])[0] for word in ("query", "annotator"))
    names = shared["annotator"].unique()
    if len(names) < 3:
        return None
    said, start = 2 * shared["present"].to_numpy() - 1, logit(np.clip(shared["present"].mean(), 0.02, 0.98))
    right = np.full(len(names), 0.8)
    for _ in range(50):
        weight = logit(right)[person] * said
        truth = (start + np.bincount(query, weight))[query]
        hits = np.bincount(person, expit(said * truth))
        right = np.clip((hits + 1.6) / (np.bincount(person) + 2), 0.02, 0.98)
    others = expit(said * (truth - weight))
    rates = np.linspace(0.02, 0.98, 97)
    likely = np.log(np.outer(rates, others) + np.outer(1 - rates, 1 - others))
    fit = np.array([np.bincount(person, row) for row in likely])  # by rate and person
    usual = int(np.argmin(np.abs(rates - np.median(right))))
    gain = np.where(fit.argmax(axis=0) < usual, fit.max(axis=0) - fit[usual], 0.0)
    worst = int(np.argmax(gain))
    return str(names[worst]) if chi2.sf(2 * gain[worst], 1) < _ODD / len(names) else None
