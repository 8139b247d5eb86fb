"""How the chance of a present label rises with what there was to hear, and which clip rule would have made the labels.

Both are read off strong and weak labels side by side, whether or not the presence criterion can be known.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base.results import percent
from ...model.annotator import PRESETS, PresenceRule
from ...posterior.criterion import codes_of
from ...posterior.law import log_likelihood, step_profile
from .observations import Pairing, largest, meetings

#: Over what a detection curve runs.
SCALES = ("event_seconds", "event_fraction", "coverage")
_BINS = 8
_RULES = {
    re.sub(r"\(([^)]*)\)", r":\1", rule.name).replace(" or ", "|"): rule
    for rule in (PresenceRule.any(), *PRESETS.values(), PresenceRule.fraction(0.5))
}


def detection_curve(event: NDArray[np.float64], present: NDArray[np.float64], recordings: Any) -> pd.DataFrame:
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


def clustered(rest: NDArray[np.float64], code: NDArray[np.int64]) -> float:
    """The design effect of a mean: how much larger clusters make its variance; at least 1."""
    plain, sums = float((rest**2).sum()), np.bincount(code, weights=rest)
    return max(1.0, float((sums**2).sum()) / plain) if plain > 0 else 1.0


def detection_curves(observed: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The curve of every class and of all together: over the seconds of event in the segment, the share of the event
    that it holds (event_fraction) and its own share that is event (coverage)."""
    parts = dict(observed)
    if len(observed) > 1:
        columns = ["recording", "onset", "offset", "coverage", "event_fraction", "present"]
        parts["all"] = pd.concat([seen[columns] for seen in observed.values()], ignore_index=True)
    tables = []
    for label, seen in parts.items():
        if not seen["present"].notna().any() or not (seen["coverage"] > 0).any():
            continue
        seconds = seen["coverage"] * (seen["offset"] - seen["onset"])
        code = codes_of(seen["recording"])
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
    marks: dict[str, list[NDArray[np.float64]]] = {name: [] for name in (*_RULES, *fitted)}
    said = []
    for label, seen in observed.items():
        seen = seen[seen["present"].notna()]
        timelines = pairing.timelines(label)
        recording = pairing.code.reindex(seen["recording"]).to_numpy().astype(np.int64)
        onset, offset = seen["onset"].to_numpy(np.float64), seen["offset"].to_numpy(np.float64)
        segment, event, shared = meetings(timelines, recording, onset, offset)
        bounds, cuts = timelines.bounds[event], np.column_stack((onset, offset))[segment]
        n, width = len(seen), cuts[:, 1] - cuts[:, 0]
        for name, rule in _RULES.items():
            met = rule.is_present(event=bounds, segment=cuts) if len(event) else np.zeros(0, dtype=bool)
            marks[name].append(largest(segment, met.astype(np.float64), n))
        marks["fraction"].append(largest(segment, np.minimum(1.0, shared / (bounds[:, 1] - bounds[:, 0])), n))
        marks["seconds"].append(largest(segment, shared, n))
        marks["coverage"].append(largest(segment, shared / width, n))
        said.append(seen["present"].to_numpy(np.float64))
    y = np.concatenate(said) if said else np.empty(0)
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
    parts = [part.partition(":")[::2] for part in rule.split("|")]
    return " or ".join(_SAID[kind].format(float(v or 0), percent(float(v or 0), exact=True)) for kind, v in parts)
