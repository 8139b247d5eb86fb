"""Do these answers look like a law of criteria with guesses and lapses? P-values of the posterior predictive.

Laws are drawn from their posterior, answers from these laws; what is odd about the real answers beside the drawn ones
is a p-value by name. Whether a criterion varies from answer to answer, event to event, recording to recording or person
to person is no part of the model, so the answers are drawn in each of these ways and the largest p-value counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base.results import percent
from ...posterior import law
from ...posterior.criterion import NUMBERS, CriterionPosterior, codes_of
from .observations import Pairing, meetings

LEVEL = 0.05
_LAWS, _EACH = 20, 30  # laws that are drawn, and sets of answers of each
_MOST = 4000  # answers that are looked at; of more, whole recordings are drawn
_BINS, _PEOPLE = 4, 200
_FEW = 20  # pairs of answers below which they are not looked at
#: What each p-value is about.
_ODD = {
    "whole events": "events are missed as a whole, more than lapses of single answers explain",
    "runs": "answers go along with the answer before them",
    "person": "people differ by more than their criterion",
    "event length": "long and short events differ, at the same share",
    "segment length": "long and short segments differ",
    "position": "answers change along a recording",
}


@dataclass(frozen=True)
class LackOfFit:
    """Whether answers look like the fitted model: ``p_value`` over all checks (Bonferroni) and ``p_values`` by name.

    ``inaudible_share`` is the share of events that nobody could notice, where whole events are missed too often, and
    ``lapse_rate`` what is left of the lapses then; NaN else.
    """

    p_value: float
    p_values: dict[str, float]
    n: int
    inaudible_share: float = np.nan
    lapse_rate: float = np.nan

    @property
    def is_good(self) -> bool:
        """Whether nothing speaks against the model."""
        return self.p_value >= LEVEL

    @property
    def sentence(self) -> str:
        """The statement in words."""
        if self.is_good:
            return f"these answers look like this model (p = {self.p_value:.2g})"
        odd = [_ODD[name] for name, p in self.p_values.items() if p * len(self.p_values) < LEVEL]
        text = f"these answers do not look like this model (p = {self.p_value:.2g}): {'; '.join(odd)}"
        if self.inaudible_share > 0:
            text += f"; about {percent(self.inaudible_share)} of the events seem to be noticed by nobody, and then "
            text += f"{percent(self.lapse_rate)} of the answers are lapses"
        return text + ". The intervals need not hold"


def lack_of_fit(pairing: Pairing, observed: Mapping[str, pd.DataFrame], *, rng: Any = None) -> LackOfFit | None:
    """What speaks against one law of criteria for these answers; None where no law can be fitted."""
    generator = np.random.default_rng(rng)
    counts = pd.concat([part["recording"] for part in observed.values()]).value_counts()
    upto = counts.iloc[generator.permutation(len(counts))].cumsum()
    kept = set(upto.index[upto <= max(_MOST, upto.iloc[0])])
    parts = {label: part[part["present"].notna() & part["recording"].isin(kept)] for label, part in observed.items()}
    seen = pd.concat([_met(pairing, label, part) for label, part in parts.items()], ignore_index=True)
    h, y = seen["event_fraction"].to_numpy(np.float64), seen["present"].to_numpy(np.float64)
    if not 0 < y.mean() < 1 or not (h > 0).any():
        return None
    units = {name: codes_of(seen[name]) for name in ("recording", "annotator", "event")}
    posterior = CriterionPosterior.fit(h, y, clusters=[units["recording"]])
    assert posterior.details is not None
    checks, numbers = _Checks(seen, units), posterior.details.numbers
    if not checks.names:
        return None
    share = posterior.weights[:, 0]
    drawn = generator.choice(len(share), _LAWS, p=share / share.sum())
    ways = [np.arange(len(y)), *units.values()] if posterior.spread[drawn].any() else [np.arange(len(y))]
    above = np.zeros((len(ways), len(checks.names)))
    for k in drawn:
        mean, spread = float(posterior.mean[k]), float(posterior.spread[k])
        guess, lapse = (_drawn_rate(generator, *numbers[name]) for name in NUMBERS[2:])
        hit = 1 - lapse
        near = np.concatenate((h / 1.3, h, np.minimum(1.3 * h, 1.0)))
        less, rise, more = law.cdf("beta", near, np.array([mean]), np.array([spread]))[0].reshape(3, -1)
        p = np.clip(guess + (hit - guess) * rise, 1e-4, 1 - 1e-4)
        real = checks.values(y[None], p, rise, more - less)
        total = 1 / max(spread, 1e-3) ** 2 - 1
        for j, of in enumerate(ways):
            gamma = generator.beta(mean * total, (1 - mean) * total, (_EACH, int(of.max()) + 1))[:, of]
            made = (generator.random(gamma.shape) < np.where((h > 0) & (h >= gamma), hit, guess)).astype(np.float64)
            above[j] += (checks.values(made, p, rise, more - less) >= real).sum(axis=0)
    values = (above.max(axis=0) + 1) / (_LAWS * _EACH + 1)
    p_values = dict(zip(checks.names, values.tolist()))
    p_value = min(1.0, len(values) * min(values.tolist()))
    inaudible = checks.inaudible(y, rise) if p_values.get("whole events", 1.0) * len(values) < LEVEL else (np.nan,) * 2
    return LackOfFit(p_value, p_values, len(y), *inaudible)


def _drawn_rate(rng: np.random.Generator, low: float, middle: float, high: float) -> float:
    """A rate of slips from its posterior: a Beta law about the middle, as wide as the interval."""
    mean = min(max(middle, 0.005), 0.5)
    n = max(mean * (1 - mean) / max((high - low) / 3.92, 1e-3) ** 2 - 1, 1.0)
    return float(min(rng.beta(mean * n + 0.5, (1 - mean) * n + 0.5), 0.49))


def _met(pairing: Pairing, label: str, seen: pd.DataFrame) -> pd.DataFrame:
    """The answers of a class with the event that each is about (its own name where there is none) and its length."""
    timelines = pairing.timelines(label)
    recording = pairing.code.reindex(seen["recording"]).to_numpy().astype(np.int64)
    segment, event, shared = meetings(timelines, recording, seen["onset"].to_numpy(), seen["offset"].to_numpy())
    length = timelines.bounds[event, 1] - timelines.bounds[event, 0]
    order = np.lexsort((shared / length, segment))
    names, lengths = -1 - np.arange(len(seen)), np.full(len(seen), np.nan)
    names[segment[order]] = event[order]  # of several the last, which has the largest share
    lengths[segment[order]] = length[order]
    end = pairing.strong.recordings["length"].reindex(seen["recording"]).to_numpy(np.float64)
    position = (seen["onset"] + seen["offset"]) / 2 / end
    events = pd.Series([(label, k) for k in names.tolist()], index=seen.index, dtype=object)
    return seen.assign(event=events, event_length=lengths, position=position)


class _Checks:
    """The statistics: of answers (sets, answers), given how likely each is to be present."""

    def __init__(self, seen: pd.DataFrame, units: Mapping[str, NDArray[np.int64]]) -> None:
        event = units["event"]
        order = np.argsort(event, kind="stable")
        steps = [np.flatnonzero(event[order][k:] == event[order][:-k]) for k in range(1, min(9, len(order)))]
        self.pairs = np.concatenate([np.column_stack((order[at], order[at + k + 1])) for k, at in enumerate(steps)])
        # the answer before, and the one before that: of the same person and recording, and about other events
        clock = pd.factorize(seen["answered"], sort=True)[0] if "answered" in seen else np.zeros(len(seen))
        turn = np.lexsort((clock, units["annotator"]))
        self.turn = np.column_stack((turn[2:], turn[1:-1], turn[:-2]))
        now, last, first = self.turn.T
        same = (units["annotator"][now] == units["annotator"][first]) & (event[now] != event[last])
        self.turn = self.turn[same & (event[now] != event[first])]
        long = np.log(seen["event_length"].to_numpy(np.float64))
        self.long = np.nan_to_num(long - np.nanmean(long)) if np.nanstd(long) > 0.05 else np.zeros(len(long))
        bins = {"segment length": (seen["offset"] - seen["onset"]).round(3), "position": seen["position"]}
        codes = {name: pd.qcut(x, _BINS, labels=False, duplicates="drop").to_numpy() for name, x in bins.items()}
        self.groups = {
            name: (code[:, None] == np.unique(code)).astype(np.float64)
            for name, code in {"person": units["annotator"], **codes}.items() if 1 < len(np.unique(code)) <= _PEOPLE
        }  # fmt: skip
        has = {
            "whole events": len(self.pairs) >= _FEW,
            "runs": len(self.turn) >= _FEW,
            "event length": np.any(self.long),
        }
        self.names = [*(name for name, enough in has.items() if enough), *self.groups]

    def values(self, y: Any, p: Any, rise: Any, slope: Any) -> NDArray[np.float64]:
        """One row per set, one column per name; large is odd."""
        rest, found = y - p, {}
        i, j = self.pairs.T
        found["whole events"] = ((rise[i] * rise[j]) ** 4 * rest[:, i] * rest[:, j]).sum(axis=1)
        now, last, first = self.turn.T
        found["runs"] = np.abs((rest[:, now] * (y[:, last] - y[:, first])).sum(axis=1))
        # The score of a law of the share times a power of the event's length: the power is 1 if seconds count.
        found["event length"] = np.abs(rest @ (slope * self.long / (p * (1 - p) + 0.02)))
        for name, of in self.groups.items():
            found[name] = ((rest @ of) ** 2 / (p * (1 - p) @ of)).sum(axis=1)
        return np.column_stack([found[name] for name in self.names])

    def inaudible(self, y: Any, rise: Any) -> tuple[float, float]:
        """The share of events that nobody could notice, and the rate of lapses at the others, from pairs of answers
        about one event: of absent ones a = q + (1 - q) l, of two absent ones b = q + (1 - q) l^2."""
        i, j = self.pairs.T
        weight = (rise[i] * rise[j]) ** 4
        absent = float((weight * (2 - y[i] - y[j])).sum() / (2 * weight.sum()))
        both = float((weight * (1 - y[i]) * (1 - y[j])).sum() / weight.sum())
        heard = min(1.0, (1 - absent) ** 2 / max(1 - 2 * absent + both, 1e-9))
        return 1 - heard, max(0.0, 1 - (1 - absent) / max(heard, 1e-9))
