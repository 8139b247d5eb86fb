r"""Whether answers look like those that the fitted process would bring: a posterior predictive check.

Timelines are drawn from the process, without the answers, and asked about in the same segments by the same people. Each
statistic of the true answers is held against those of the drawn ones:

``neighbours``
    neighbouring segments that are both present, over what their share would bring: events that bunch.
``recordings``
    the variance of present answers per recording over its binomial value: recordings that differ.
``order``
    the difference of shares between the first and the second half of the recordings, as they are given: times that
    differ.

A p-value is the share of drawn data sets whose statistic is at least as large. Few answers, and segments that are much
longer than gaps, tell little: no alarm proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.answer_model import NODES, AnswerModels
from .chain import Posterior, prepare
from .class_posterior import AnswerPattern
from .renewal import Array, Renewal

CHECKS = ("neighbours", "recordings", "order")
#: Data sets that are drawn.
DRAWS = 200
_MOST = 400  # recordings that are asked again


def check(
    patterns: Sequence[AnswerPattern],
    annotator: Any,
    processes: Sequence[Renewal],
    order: Mapping[str, int],
    *,
    rng: np.random.Generator,
) -> dict[str, float]:
    """The p-value of each statistic; fewer where the answers do not tell it."""
    every = sorted(((name, p) for p in patterns for name in p.recordings), key=lambda pair: order[pair[0]])
    every = [every[k] for k in np.unique(np.linspace(0, len(every) - 1, _MOST).astype(int))]
    priors: dict[float, list[Posterior]] = {}
    seen, drawn = [], []
    for _, pattern in every:
        if pattern.length not in priors:
            blank: Any = {"renewal": processes[0], "recording_length": pattern.length}
            ready = prepare(np.empty((0, 2)), [], **blank)
            priors[pattern.length] = [ready.posterior(process) for process in processes]
        said = _asked_again(pattern, annotator, priors[pattern.length], rng)
        side_by_side = np.abs(pattern.segments[1:, 0] - pattern.segments[:-1, 1]) < 1e-6
        seen.append(_counts(pattern.present[None] == 1, side_by_side))
        drawn.append(_counts(said, side_by_side))
    true, others = _statistics(np.array(seen))[:, 0], _statistics(np.array(drawn))
    told = {"neighbours": sum(row[0, 1] for row in seen) > 0, "recordings": len(every) > 1, "order": len(every) > 1}
    return {
        name: float((1 + (other >= value * (1 - 1e-9)).sum()) / (1 + DRAWS))
        for name, value, other in zip(CHECKS, true, others)
        if told[name] and np.isfinite(value)
    }


def _asked_again(
    pattern: AnswerPattern, annotator: Any, priors: Sequence[Posterior], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """(draws, segments): answers about timelines that are drawn from the processes in turn."""
    met = np.zeros((DRAWS, len(pattern.segments)), np.bool_)
    chance = np.zeros((2, len(pattern.segments)))
    people = dict.fromkeys(pattern.annotators)
    rules: dict[str, Any] = {}
    for name in people:
        parts = AnswerModels.of(annotator=annotator[name] if isinstance(annotator, Mapping) else annotator).parts(NODES)
        part = parts[rng.integers(len(parts))]
        rules[name] = part.rule
        chance[:, [k for k, each in enumerate(pattern.annotators) if each == name]] = [[part.low], [part.high]]
    starts, widest = pattern.segments[:, 0], float(np.diff(pattern.segments, axis=1).max())
    sizes = np.diff(np.linspace(0, DRAWS, len(priors) + 1).astype(int))
    first = 0
    for prior, size in zip(priors, sizes.tolist()):
        sample, onset, offset = prior.draw(size, rng)
        there = offset > onset  # one that begins with the last part of a step may have no length
        sample, onset, offset = sample[there], onset[there], offset[there]
        low, high = np.searchsorted(starts, onset - widest), np.searchsorted(starts, offset)
        event = np.repeat(np.arange(len(onset)), high - low)
        segment = np.arange(len(event)) - np.repeat(np.cumsum(high - low) - (high - low), high - low) + low[event]
        for name, rule in rules.items():
            mine = np.array([each == name for each in pattern.annotators])[segment]
            e, q = event[mine], segment[mine]
            hit = rule.is_present(event=np.column_stack((onset[e], offset[e])), segment=pattern.segments[q])
            met[first + sample[e[hit]], q[hit]] = True
        first += size
    return np.asarray(rng.random(met.shape) < np.where(met, chance[1], chance[0]))


def _counts(said: NDArray[np.bool_], side_by_side: NDArray[np.bool_]) -> Array:
    """(data sets, 4): pairs that are both present, pairs, present answers, answers."""
    both = (said[:, 1:] & said[:, :-1] & side_by_side).sum(axis=1)
    whole = np.ones(len(said))
    return np.column_stack((both, whole * side_by_side.sum(), said.sum(axis=1), whole * said.shape[1]))


def _statistics(counts: Array) -> Array:
    """(statistics, data sets) from (recordings, data sets, 4)."""
    both, pairs, present, asked = np.moveaxis(counts, 2, 0)
    share = present.sum(axis=0) / asked.sum(axis=0)
    half = len(counts) // 2
    with np.errstate(divide="ignore", invalid="ignore"):
        neighbours = both.sum(axis=0) / (pairs.sum(axis=0) * share**2)
        spread = ((present - asked * share) ** 2).sum(axis=0) / (asked.sum(axis=0) * share * (1 - share))
        sides = [part[0].sum(axis=0) / part[1].sum(axis=0) for part in
                 ((present[:half], asked[:half]), (present[half:], asked[half:]))]  # fmt: skip
    return np.stack((neighbours, spread, np.abs(sides[0] - sides[1])))
