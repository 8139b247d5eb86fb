"""What answers depend on: how much there was to hear, a clip rule, a law of criteria; and what they cost.

Detection curves and rules are read off strong and weak labels side by side, whether or not the presence criterion can
be known. Whether answers look like a law of criteria with guesses and lapses is told by p-values of the posterior
predictive: laws are drawn from their posterior, answers from these laws; what is odd about the real answers beside the
drawn ones is a p-value by name. Whether a criterion varies from answer to answer, event to event, recording to
recording or person to person is no part of the model, so the answers are drawn in each of these ways and the largest
p-value counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...base.results import percent
from ...engine.tally import largest, meetings
from ...model.annotator import PRESETS, PresenceRule
from ...model.answers import Answers
from ...model.intervals import Bools, Floats, Ints
from ...posterior import law
from ...posterior.criterion import NUMBERS, CriterionPosterior, codes_of
from ...posterior.law import log_likelihood, step_profile
from .observations import Pairing, where

#: Over what a detection curve runs.
SCALES = ("event_seconds", "event_fraction", "coverage")
_BINS = 8
_RULES = {rule.name: rule for rule in (PresenceRule.any(), *PRESETS.values(), PresenceRule.fraction(0.5))}


def detection_curve(event: Floats, present: Floats, recordings: Any) -> pd.DataFrame:
    """P(present) in bins of how much there was to hear, with 95 % bands: low, high, middle, present, its band, n.

    The first row is of segments without an event. The others hold about equally many answers each. The band is
    Wilson's for as many answers as the recordings are worth: answers of one recording are alike.

    >>> rows = detection_curve(np.array([0.0, 1.0, 1.0, 3.0]), np.array([0.0, 0.0, 1.0, 1.0]), list("abcd"))
    >>> rows["present"].tolist(), rows["middle"].tolist()
    ([0.0, 0.5, 1.0], [0.0, 1.0, 3.0])
    """
    known = ~np.isnan(present)
    x, y, code = event[known], present[known], codes_of(np.asarray(recordings)[known])
    met = x > 0
    uppers = np.empty(0)
    if met.any():
        values, counts = np.unique(x[met], return_counts=True)
        often = np.flatnonzero(counts * _BINS >= counts.sum())  # such a value is a bin by itself
        uppers = np.quantile(x[met], np.linspace(0, 1, _BINS + 1)[1:], method="inverted_cdf")
        uppers = np.unique(np.concatenate((uppers, values[often], values[often[often > 0] - 1])))
        below = np.searchsorted(np.sort(x[met]), uppers, side="right")
        few = np.diff(below, prepend=0) * 4 * _BINS < counts.sum()  # too few for a bin: they go with the next
        uppers = values if len(values) <= _BINS else uppers[~few | (uppers == uppers[-1])]
    place = np.where(met, np.searchsorted(uppers, x) + 1, 0)
    rows = []
    for k in np.unique(place):
        here = place == k
        n, share = int(here.sum()), float(y[here].mean())
        low, high = wilson(share, n / clustered(y[here] - share, code[here]))
        ends = float(x[here].min()), float(x[here].max())
        rows.append((*ends, float(x[here].mean()), share, low, high, n))
    return pd.DataFrame(rows, columns=["low", "high", "middle", "present", "present_low", "present_high", "n"])


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of n."""
    z2 = 3.841458820694124
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def clustered(rest: Floats, code: Ints) -> float:
    """The design effect of a mean: how much larger clusters make its variance; at least 1."""
    plain, sums = float((rest**2).sum()), np.bincount(code, weights=rest)
    return max(1.0, float((sums**2).sum()) / plain) if plain > 0 else 1.0


def detection_curves(observed: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The curve of every class and of all together: over the seconds of event in the segment, the share of the event
    that it holds (event_fraction) and its own share that is event (coverage)."""
    parts = dict(observed)
    if len(observed) > 1:
        columns = ["place", "onset", "offset", "coverage", "event_fraction", "present"]
        parts["all"] = pd.concat([seen[columns] for seen in observed.values()], ignore_index=True)
    tables = []
    for label, seen in parts.items():
        if not seen["present"].notna().any() or not (seen["coverage"] > 0).any():
            continue
        seconds = seen["coverage"] * (seen["offset"] - seen["onset"])
        code = codes_of(seen["place"])
        for scale, x in zip(SCALES, (seconds, seen["event_fraction"], seen["coverage"])):
            curve = detection_curve(x.to_numpy(np.float64), seen["present"].to_numpy(np.float64), code)
            tables.append(curve.assign(label=label, scale=scale))
    if not tables:
        return pd.DataFrame(columns=["label", "scale"])
    table = pd.concat(tables, ignore_index=True)
    return table[["label", "scale", *[name for name in table if name not in ("label", "scale")]]]


def likely_rules(pairing: Pairing, observed: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Which clip rule may have made these labels: presets of tools, and the best threshold on each scale.

    One row per rule, the best fit first: ``rule`` (as :meth:`PresenceRule.parse` reads it), ``tools`` that have it,
    ``scale`` (event: it asks for a share of the event or for any part of it; other: seconds or a share of the segment),
    ``agreement`` (share of segments whose label is the rule's), ``present_if_met`` and ``present_if_not`` (shares of
    the segments that satisfy it and of the others that are labelled present), ``log_likelihood`` of the labels given
    the rule with a guess and a lapse rate, ``aic`` and ``n``.
    """
    fitted = ("fraction", "seconds", "coverage")
    marks: dict[str, list[Floats]] = {name: [] for name in (*_RULES, *fitted)}
    presents = []
    for label, seen in observed.items():
        seen = seen[seen["present"].notna()]
        timelines = pairing.timelines(label)
        places, segments = where(seen)
        segment, event, shared = meetings(timelines, places, segments)
        bounds, cuts = timelines.bounds[event], segments[segment]
        n, width = len(seen), cuts[:, 1] - cuts[:, 0]
        for name, rule in _RULES.items():
            met = rule.is_present(event=bounds, segment=cuts) if len(event) else np.zeros(0, dtype=bool)
            marks[name].append(largest(segment, met.astype(np.float64), n))
        marks["fraction"].append(largest(segment, np.minimum(1.0, shared / (bounds[:, 1] - bounds[:, 0])), n))
        marks["seconds"].append(largest(segment, shared, n))
        marks["coverage"].append(largest(segment, shared / width, n))
        presents.append(seen["present"].to_numpy(np.float64))
    y = np.concatenate(presents) if presents else np.empty(0)
    columns = ["rule", "tools", "scale", "agreement", "present_if_met", "present_if_not", "log_likelihood", "aic", "n"]
    if len(y) == 0 or y.min() == y.max():
        return pd.DataFrame(columns=columns)
    rows = []
    for name, parts in marks.items():
        x = np.concatenate(parts)
        limit = step_profile(x, y, most=max(1.0, float(x.max()))).best if name in fitted else 0.5
        met = x >= limit
        tools = ", ".join(tool for tool, rule in PRESETS.items() if rule == _RULES.get(name))
        split = np.array([[y[met].sum(), met.sum()], [y[~met].sum(), (~met).sum()]], dtype=np.float64)
        value = float(log_likelihood(split[:, 0], split[:, 1]).sum())
        agreement = float((met == (y > 0.5)).mean())
        text = f"{name}:{limit:.3g}" if name in fitted else name
        scale = "event" if set(re.split(r":[^|]*\|?|\|", text)) <= {"fraction", "any", ""} else "other"
        hits = [float(yes / n) if n else np.nan for yes, n in split]
        rows.append((text, tools, scale, agreement, *hits, value, 2 * (2 + (name in fitted)) - 2 * value, len(y)))
    table: pd.DataFrame = pd.DataFrame(rows, columns=columns).sort_values("aic", kind="stable").drop_duplicates("rule")
    simple = (table["rule"] == "any") & (table["aic"] <= table["aic"].min() + 2)
    order = np.argsort(~simple.to_numpy(), kind="stable")  # of equals the simplest first
    return table.iloc[order].reset_index(drop=True)


def explains(rule: Any) -> bool:
    """Whether most segments that satisfy a rule of :func:`likely_rules` are labelled present, and few of the others."""
    return bool(rule["present_if_met"] >= 0.5 > rule["present_if_not"])


_SAID = {
    "seconds": "it holds {0:g} s of an event",
    "coverage": "one event fills {1} of it",
    "fraction": "{1} of an event lies in it",
    "shorter": "it shares {1} of the shorter of event and segment",
    "margin": "an event reaches {0:g} s into it",
    "any": "any part of an event lies in it",
}


def rule_words(rule: str) -> str:
    """When a segment is present, after "once".

    >>> rule_words("seconds:0.25|fraction:0.5")
    'it holds 0.25 s of an event or 50 % of an event lies in it'
    """
    parts = [form.partition(":")[::2] for form in rule.split("|")]
    return " or ".join(_SAID[kind].format(float(v or 0), percent(float(v or 0), exact=True)) for kind, v in parts)


LEVEL = 0.05
_LAWS, _EACH = 20, 30  # laws that are drawn, and sets of answers of each
_MOST = 4000  # answers that are looked at; of more, whole recordings are drawn
_GROUPS, _PEOPLE = 4, 200
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
            return f"these answers agree with the fitted model (p = {self.p_value:.2g})"
        odd = [_ODD[name] for name, p in self.p_values.items() if p * len(self.p_values) < LEVEL]
        sentences = [f"these answers do not agree with the fitted model (p = {self.p_value:.2g})"]
        sentences += [f"{each[0].upper()}{each[1:]}" for each in odd]
        if self.inaudible_share > 0:
            sentences.append(f"About {percent(self.inaudible_share)} of the events seem to be noticed by nobody")
            sentences.append(f"Then {percent(self.lapse_rate)} of the answers are lapses")
        return ". ".join([*sentences, "The intervals need not hold"])


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
            said = generator.random(gamma.shape) < np.where((h > 0) & (h >= gamma), hit, guess)
            above[j] += (checks.values(said.astype(np.float64), p, rise, more - less) >= real).sum(axis=0)
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
    segment, event, shared = meetings(timelines, *where(seen))
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

    def __init__(self, seen: pd.DataFrame, units: Mapping[str, Ints]) -> None:
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
        codes = {name: pd.qcut(x, _GROUPS, labels=False, duplicates="drop").to_numpy() for name, x in bins.items()}
        self.groups = {
            name: (code[:, None] == np.unique(code)).astype(np.float64)
            for name, code in {"person": units["annotator"], **codes}.items() if 1 < len(np.unique(code)) <= _PEOPLE
        }  # fmt: skip
        has = {"whole events": len(self.pairs) >= _FEW, "runs": len(self.turn) >= _FEW, "event length": self.long.any()}
        self.names = [*(name for name, enough in has.items() if enough), *self.groups]

    def values(self, y: Any, p: Any, rise: Any, slope: Any) -> Floats:
        """One row per set, one column per name; large is odd."""
        rest, statistics = y - p, {}
        i, j = self.pairs.T
        statistics["whole events"] = ((rise[i] * rise[j]) ** 4 * rest[:, i] * rest[:, j]).sum(axis=1)
        now, last, first = self.turn.T
        statistics["runs"] = np.abs((rest[:, now] * (y[:, last] - y[:, first])).sum(axis=1))
        # The score of a law of the share times a power of the event's length: the power is 1 if seconds count.
        statistics["event length"] = np.abs(rest @ (slope * self.long / (p * (1 - p) + 0.02)))
        for name, of in self.groups.items():
            statistics[name] = ((rest @ of) ** 2 / (p * (1 - p) @ of)).sum(axis=1)
        return np.column_stack([statistics[name] for name in self.names])

    def inaudible(self, y: Any, rise: Any) -> tuple[float, float]:
        """The share of events that nobody could notice, and the rate of lapses at the others, from pairs of answers
        about one event: of absent ones a = q + (1 - q) l, of two absent ones b = q + (1 - q) l^2."""
        i, j = self.pairs.T
        weight = (rise[i] * rise[j]) ** 4
        absent = float((weight * (2 - y[i] - y[j])).sum() / (2 * weight.sum()))
        both = float((weight * (1 - y[i]) * (1 - y[j])).sum() / weight.sum())
        heard = min(1.0, (1 - absent) ** 2 / max(1 - 2 * absent + both, 1e-9))
        return 1 - heard, max(0.0, 1 - (1 - absent) / max(heard, 1e-9))


@dataclass(frozen=True)
class Effort:
    """What answers cost: seconds per query, and the paper's cost share r of a query.

    ``seconds_per_query`` is the mean after idle time is left out, ``idle_share`` the share of queries left out as idle,
    ``query_seconds`` the part that does not depend on the segment's length, ``seconds_per_second`` the part that does,
    and ``query_cost_share`` = query_seconds / (query_seconds + seconds_per_second).
    """

    seconds_per_query: float
    seconds_per_query_se: float
    idle_share: float
    idle_seconds: float
    query_seconds: float
    seconds_per_second: float
    query_cost_share: float
    n_queries: int
    note: str = ""


def effort(answers: Answers, *, recording_length: float | None = None) -> Effort:
    """Seconds per query from the time stamps of a tool, robust to idle time, and the cost share r that follows.

    A tool's clock runs from load to submit, also while the annotator is away: idle time only ever adds. On a log
    scale, answers that took longer than the median by more than three robust standard deviations are left out, again
    until nothing changes. Where segments have several lengths, the time is split by a robust line into a part per query
    and a part per second heard; with one length, hearing a second is taken to cost a second. One query that asks for
    several classes counts once; ``recording_length`` is for segments that are whole recordings of unknown length.

    >>> frame = pd.DataFrame({"recording": list("abcdefgh"), "onset": 0, "offset": 2, "label": "dog", "present": 1,
    ...                       "seconds": [4.0, 4.1, 3.9, 4.0, 4.2, 3.8, 4.0, 900.0]})
    >>> spent = effort(Answers.from_frame(frame))
    >>> round(spent.seconds_per_query, 3), round(spent.query_cost_share, 3)
    (4.0, 0.667)
    """
    frame = answers.to_frame()
    frame = frame[frame["seconds"].notna() & (frame["seconds"] > 0)]
    frame = frame.drop_duplicates(["recording", "onset", "offset", "annotator", "query", "seconds"])
    if len(frame) == 0:
        raise InvalidInput("the answers carry no time spent: the column 'seconds' is empty")
    seconds = frame["seconds"].to_numpy(np.float64)
    width = (frame["offset"] - frame["onset"]).to_numpy(np.float64)
    if recording_length is not None:
        width = np.where(np.isnan(width), recording_length, width)
    if "reviewed_seconds" in frame:  # what was really played or shown
        width = frame["reviewed_seconds"].fillna(pd.Series(width, index=frame.index)).to_numpy(np.float64)
    busy = _not_idle(seconds)
    kept, heard = seconds[busy], width[busy]
    mean = float(kept.mean())
    error = float(kept.std(ddof=1) / math.sqrt(len(kept))) if len(kept) > 1 else math.nan
    per_query, per_second, note = _split(kept, heard)
    share = per_query / (per_query + per_second) if not math.isnan(per_query) else math.nan
    idle = float(1 - busy.mean()), float(seconds[~busy].sum())
    return Effort(mean, error, *idle, per_query, per_second, share, len(seconds), note)


def _not_idle(seconds: Floats) -> Bools:
    log = np.log(seconds)
    kept = np.ones(len(log), dtype=bool)
    for _ in range(50):
        middle = float(np.median(log[kept]))
        spread = 1.4826 * float(np.median(np.abs(log[kept] - middle)))
        # Times that are all alike still vary by a few per cent.
        now = log <= middle + 3 * max(spread, 0.05)
        if (now == kept).all():
            break
        kept = now
    return kept


def _split(seconds: Floats, width: Floats) -> tuple[float, float, str]:
    """Seconds per query, seconds per second heard, and how that is known."""
    known = ~np.isnan(width)
    if not known.any():
        return math.nan, math.nan, "the lengths of the segments are unknown, and with them the cost share"
    seconds, width = seconds[known], width[known]
    if len(np.unique(width)) >= 3 and width.max() > 1.5 * width.min():
        from scipy.stats import theilslopes

        take = np.linspace(0, len(width) - 1, min(len(width), 2000)).astype(int)  # the slopes of all pairs
        slope = float(theilslopes(seconds[take], width[take])[0])
        intercept = float(np.median(seconds - slope * width))
        if slope > 0 and intercept >= 0:
            return intercept, slope, "split by the lengths of the segments"
    over = float(np.mean(seconds) - np.mean(width))
    if over < 0:
        return 0.0, 1.0, "the annotators answered before the segment had ended: reviewing is all the cost"
    return over, 1.0, "reviewing a second is taken to cost a second"
