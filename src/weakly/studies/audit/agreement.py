r"""How far annotators agree, by exact durations, so that no bin length decides the answer; and the one label that their
answers make.

For annotations in time every instant is a unit: Cohen's kappa and Krippendorff's alpha become ratios of durations, the
limit of the binned coefficients as the bins shrink. For answers about clips every clip is a unit, and the coefficients
are the ordinary ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...model.answers import Answers
from ...model.events import Events
from ...model.intervals import Floats, Ints, contains, merge
from .observations import Examined

_SEGMENT = ["recording", "onset", "offset", "label"]
_TINY = 1e-10
_STEPS, _TOLERANCE = 100, 1e-5  # of the fit: the most steps, and how much the evidence bound per answer must rise

#: For every annotator the recordings that they looked at, and the stretches of each (None: the whole of it).
Worked = dict[str, dict[str, Floats | None]]


@dataclass(frozen=True)
class Agreement:
    """Agreement of annotators: per class (``by_label``) and per pair of annotators (``by_pair``).

    ``by_label``: label, alpha (Krippendorff), agreement (share of pairs that agree), n_annotators, units, and what the
    units are: seconds for annotations in time, clips for answers. For clips also unanimous, unanimous_present, split,
    counted over clips with at least two answers. ``by_pair``: label, first, second, kappa (Cohen), agreement, units.
    ``assumed`` says who was taken to have looked at what, where nobody told; then ``by_label`` has both extremes:
    alpha_if_all (everybody looked at every recording) and alpha_if_marked (only at those in which they marked one).
    """

    by_label: pd.DataFrame
    by_pair: pd.DataFrame
    unit: str
    assumed: str = ""


def cohen_kappa(table: Floats) -> float:
    """Cohen's kappa of a square table of what two annotators said together, in counts or seconds.

    NaN where both say the same one thing throughout: then chance alone agrees perfectly.

    >>> round(cohen_kappa(np.array([[40.0, 10.0], [10.0, 40.0]])), 6)
    0.6
    """
    total = float(table.sum())
    if total <= 0:
        return math.nan
    observed = float(np.trace(table)) / total
    expected = float((table.sum(axis=0) * table.sum(axis=1)).sum()) / total**2
    return (observed - expected) / (1 - expected) if expected < 1 - 1e-15 else math.nan


def krippendorff_alpha(present: Floats, answers: Floats, *, weight: Floats | None = None) -> float:
    r"""Krippendorff's alpha for present/absent, from how many of each unit's answers say present.

    .. math:: \alpha = 1 - D_o/D_e, \quad D_o = \sum_u w_u \frac{2 k_u (m_u - k_u)}{m_u - 1}, \quad
              D_e = \frac{2 n_0 n_1}{n - 1}

    with :math:`k_u` present of the :math:`m_u` answers of a unit; units with fewer than two are left out. Given the
    seconds of every unit as ``weight``, time is a continuum and :math:`D_e = 2 n_0 n_1 / n`. Nominal data, missing
    answers allowed; NaN where all answers are the same.

    >>> round(krippendorff_alpha(np.array([3.0, 0.0, 1.0]), np.array([3.0, 3.0, 3.0])), 6)
    0.6
    """
    several = answers >= 2
    k, m = present[several], answers[several]
    w = np.ones_like(m) if weight is None else weight[several]
    total, ones = float((w * m).sum()), float((w * k).sum())
    zeros = total - ones
    if ones <= 0 or zeros <= 0:
        return math.nan
    observed = float((w * 2 * k * (m - k) / (m - 1)).sum())
    expected = 2 * zeros * ones / (total - 1 if weight is None else total)
    return 1 - observed / expected


def annotation_agreement(events: Events, *, examined: Any = None, label: str | None = None) -> Agreement:
    """Agreement of several annotators' events in time, class by class, by exact durations.

    Recordings end at their length, or at the last offset if it is unknown. A recording that somebody heard and left
    empty cannot be told from one never heard: without ``examined`` (as of :func:`weakly.audit`) everybody
    is taken to have heard every recording if any two annotators share at least half of theirs, else only those in which
    they marked an event; the result has both.

    >>> frame = pd.DataFrame({"recording": "r", "onset": [0.0, 1.0], "offset": [2.0, 3.0], "annotator": ["a", "b"]})
    >>> pair = annotation_agreement(Events.from_frame(frame, recording_length=4.0)).by_pair
    >>> float(pair["agreement"][0]), float(pair["kappa"][0])
    (0.5, 0.0)
    """
    frame = events.select(label).to_frame()
    whole = events.to_frame()
    people = sorted(set(whole["annotator"].astype(str))) if "annotator" in whole else []
    if len(people) < 2:
        raise InvalidInput("agreement needs a column 'annotator' with two annotators or more")
    frame["annotator"] = frame["annotator"].astype(str)
    told, assumed, extents = Examined.of(examined), "all", events.extents
    ways: dict[str, Worked] = {"all": {name: dict.fromkeys(map(str, events.recordings.index)) for name in people}}
    if told is None:
        parts = whole.groupby(whole["annotator"].astype(str))["recording"]
        ways["marked"] = {str(name): dict.fromkeys(rows.unique()) for name, rows in parts}
        sets = [set(names) for names in ways["marked"].values()]
        shared = any(2 * len(a & b) >= max(1, min(len(a), len(b))) for a, b in combinations(sets, 2))
        assumed = "all" if shared else "marked"
    elif not told.everything:
        ways["all"] = {name: told.of_annotator(name) for name in people}
        more = sorted({r for names in ways["all"].values() for r in names} - set(map(str, extents.index)))
        if more:
            raise InvalidInput(f"examined names a recording of unknown length that is not in the events: {more[0]!r}")
    labels, pairs = [], []
    for name, rows in frame.groupby("label"):
        units = {way: _instants(rows, worked, extents) for way, worked in ways.items()}
        row = {"label": name, **_of_units(units[assumed], unit="seconds")}
        if told is None:
            row |= {f"alpha_if_{way}": _of_units(units[way], unit="seconds")["alpha"] for way in ways}
        labels.append(row)
        pairs += [{"label": name, **row} for row in _of_pairs(units[assumed])]
    words = {"all": "everybody examined every recording", "marked": "only recordings with their mark were examined"}
    return Agreement(pd.DataFrame(labels), pd.DataFrame(pairs), "seconds", words[assumed] if told is None else "")


def answer_agreement(answers: Answers) -> Agreement:
    """Agreement of several annotators' answers about segments; every segment is a unit.

    >>> frame = pd.DataFrame({"recording": ["x", "x", "y", "y"], "label": "dog", "present": [1, 1, 0, 1],
    ...                       "annotator": ["a", "b", "a", "b"]})
    >>> row = answer_agreement(Answers.from_frame(frame)).by_label.iloc[0]
    >>> int(row["unanimous"]), int(row["split"])
    (1, 1)
    """
    labels, pairs = [], []
    frame = _of_several(answers, "agreement")
    for name, rows in frame.groupby("label"):
        unit: Any = rows.groupby(["recording", "onset", "offset"], dropna=False, sort=False).ngroup().to_numpy()
        codes, names = pd.factorize(rows["annotator"])
        who = np.asarray(codes, dtype=np.int64)
        units = _Units(np.ones(int(unit.max()) + 1), unit, who, list(names), rows["present"].to_numpy())
        labels.append({"label": name, **_of_units(units, unit="clips")})
        if len(names) <= 50:  # crowds: thousands of pairs that share few clips tell nothing
            pairs += [{"label": name, **row} for row in _of_pairs(units)]
    columns = ["label", "first", "second", "kappa", "agreement", "units"]
    return Agreement(pd.DataFrame(labels), pd.DataFrame(pairs, columns=columns), "clips")


def _of_several(answers: Answers, what: str) -> pd.DataFrame:
    """The sure answers, which must be of two people or more."""
    frame = answers.to_frame()
    frame = frame[frame["present"].notna()]
    if frame["annotator"].nunique() < 2:
        raise InvalidInput(f"{what} needs answers of two annotators or more in the column 'annotator'")
    return frame


@dataclass(frozen=True)
class _Units:
    """Answers in long form: answer i says ``value[i]`` about ``unit[i]``, which weighs ``weight[unit]``."""

    weight: Floats
    unit: Ints
    annotator: Ints
    names: list[str]
    value: Floats


def _instants(part: pd.DataFrame, worked: Worked, extents: pd.Series) -> _Units:
    """Every stretch of time on which no annotator changes their mind is one unit, as heavy as it is long."""
    names = sorted(worked)
    weights, values, offset = [np.empty(0)], [np.empty(0)], 0
    units, who = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    shared = [r for r in extents.index if sum(r in worked[name] for name in names) >= 2 and extents[r] > 0]
    marks = {key: rows[["onset", "offset"]].to_numpy() for key, rows in part.groupby(["recording", "annotator"])}
    for recording in shared:
        end = float(extents[recording])
        here = {k: worked[name][recording] for k, name in enumerate(names) if recording in worked[name]}
        mine = {k: merge(marks.get((recording, names[k]), np.empty((0, 2)))) for k in here}
        cuts = [m.ravel() for m in (*mine.values(), *(cut for cut in here.values() if cut is not None))]
        edges = np.unique(np.clip(np.concatenate([[0.0, end], *cuts]), 0.0, end))
        middle = (edges[1:] + edges[:-1]) / 2
        weights.append(np.diff(edges))
        for k, intervals in mine.items():
            cut = here[k]
            heard = np.ones(len(middle), dtype=bool) if cut is None else contains(cut, middle)
            units.append((np.arange(len(middle)) + offset)[heard])
            who.append(np.full(int(heard.sum()), k))
            values.append(contains(intervals, middle[heard]).astype(np.float64))
        offset += len(middle)
    return _Units(np.concatenate(weights), np.concatenate(units), np.concatenate(who), names, np.concatenate(values))


def _of_units(units: _Units, *, unit: str) -> dict[str, Any]:
    m = np.bincount(units.unit, minlength=len(units.weight)).astype(np.float64)
    k = np.bincount(units.unit, weights=units.value, minlength=len(units.weight)).astype(np.float64)
    several = m >= 2
    w, k, m = units.weight[several], k[several], m[several]
    pairs = m * (m - 1) / 2
    agree = (k * (k - 1) + (m - k) * (m - k - 1)) / 2
    total = float((w * pairs).sum())
    agreement = float((w * agree).sum()) / total if total > 0 else math.nan
    row = {"alpha": krippendorff_alpha(k, m, weight=w if unit == "seconds" else None), "agreement": agreement}
    row |= {"n_annotators": len(np.unique(units.annotator)), "units": float(w.sum())}
    if unit == "clips":
        same = (k == 0) | (k == m)
        row |= {"unanimous": int(same.sum()), "unanimous_present": int((k == m).sum()), "split": int((~same).sum())}
    return row


def _of_pairs(units: _Units) -> list[dict[str, Any]]:
    """Every two annotators, from the pairs of answers about one unit; who answers twice is taken at the last word."""
    order = np.lexsort((units.annotator, units.unit))
    key = units.unit[order] * len(units.names) + units.annotator[order]
    order = order[np.append(key[1:] != key[:-1], True)] if len(key) else order
    unit, who, value = units.unit[order], units.annotator[order], units.value[order].astype(np.int64)
    many = len(units.names)
    tables = np.zeros(many * many * 4)
    for step in range(1, many):  # an annotator answers once about a unit, so that pairs lie at most so far apart
        same = np.flatnonzero(unit[step:] == unit[:-step])
        if len(same) == 0:
            break
        cell = ((who[same] * many + who[same + step]) * 2 + value[same]) * 2 + value[same + step]
        tables += np.bincount(cell, weights=units.weight[unit[same]], minlength=len(tables))
    rows = []
    for i, j in combinations(range(many), 2):
        table = tables.reshape(many, many, 2, 2)[i, j]
        if (total := table.sum()) > 0:
            shares = {"agreement": float(np.trace(table) / total), "units": float(total)}
            rows.append({"first": units.names[i], "second": units.names[j], "kappa": cohen_kappa(table), **shares})
    return rows


@dataclass(frozen=True)
class DawidSkene:
    """What Dawid and Skene's model makes of the answers.

    ``labels``: one row per segment and class with ``probability`` that it is present, and ``present``. ``annotators``:
    one row per class and annotator with ``sensitivity`` = P(says present | present), ``specificity`` =
    P(says absent | absent) and ``n_answers``. ``prevalence``: the share of present segments of each class.
    """

    labels: pd.DataFrame
    annotators: pd.DataFrame
    prevalence: dict[str, float]


def dawid_skene(answers: Answers) -> DawidSkene:
    """The most likely labels if every annotator has their own rates of error, by expectation and maximisation (Dawid
    and Skene, 1979), started from the majority; each class is fitted by itself.

    >>> frame = pd.DataFrame({"recording": list("xxxyyy"), "label": "dog", "present": [1, 1, 0, 0, 0, 0],
    ...                       "annotator": list("abcabc")})
    >>> dawid_skene(Answers.from_frame(frame)).labels["present"].tolist()
    [1.0, 0.0]
    """
    frame = _of_several(answers, "dawid_skene")
    labels, annotators = [], []
    prevalence: dict[str, float] = {}
    for name, own in frame.groupby("label"):
        groups = own.groupby(_SEGMENT, dropna=False, sort=False)
        worker, who = pd.factorize(own["annotator"])
        task: Any = groups.ngroup().to_numpy()
        present = own["present"].to_numpy().astype(np.int64)
        probability, errors, prior = _expectation_maximisation(task, np.asarray(worker), present)
        rows = groups.size().reset_index(name="n_answers")
        labels.append(rows.assign(probability=probability, present=(probability > 0.5).astype(np.float64)))
        rates = {"sensitivity": errors[:, 1, 1], "specificity": errors[:, 0, 0], "n_answers": np.bincount(worker)}
        annotators.append(pd.DataFrame({"label": name, "annotator": np.asarray(who, dtype=object), **rates}))
        prevalence[str(name)] = float(prior[1])
    whole, people = (pd.concat(each, ignore_index=True) for each in (labels, annotators))
    return DawidSkene(whole, people, prevalence)


def votes_needed(fitted: DawidSkene, *, most: int = 7, seconds: float = math.nan, draws: int = 20_000) -> pd.DataFrame:
    """How right labels become with more votes per segment: one row per class and number of votes.

    ``majority_accuracy``: most votes win, a tie is a coin; ``weighted_accuracy``: votes weigh as the fitted rates say;
    ``gain``: what the last vote added to that; ``seconds_per_gain``: what one more right label cost by it, where the
    answers carry their time.

    Notes
    -----
    From the rates and the prevalence that the answers at hand give, annotators drawn as often as they answered and
    erring independently given the truth: where they share a blind spot, more votes help less than this says.
    """
    rng = np.random.default_rng(0)
    rows = []
    for name, people in fitted.annotators.groupby("label", sort=False):
        weight = people["n_answers"].to_numpy(np.float64)
        present = fitted.prevalence[str(name)]
        truth = rng.random(draws) < present
        who = rng.choice(len(people), size=(draws, most), p=weight / weight.sum())
        # A rate of exactly 0 or 1 comes from few answers; half an answer is held back.
        hit, right = ((people[c].to_numpy() * weight + 0.5) / (weight + 1) for c in ("sensitivity", "specificity"))
        present_votes = rng.random((draws, most)) < np.where(truth[:, None], hit[who], 1 - right[who])
        odds = np.where(present_votes, np.log(hit / (1 - right))[who], np.log((1 - hit) / right)[who])
        prior = math.log(max(present, _TINY) / max(1 - present, _TINY))
        before = math.nan
        for votes in range(1, most + 1):
            lead = np.sign(present_votes[:, :votes].sum(axis=1) - votes / 2) * np.where(truth, 1, -1)
            weighted = float(((prior + odds[:, :votes].sum(axis=1) > 0) == truth).mean())
            gain = weighted - before
            cost = seconds / gain if gain > 0 else math.nan
            rows.append((name, votes, float((lead.mean() + 1) / 2), weighted, gain, cost))
            before = weighted
    columns = ["label", "votes", "majority_accuracy", "weighted_accuracy", "gain", "seconds_per_gain"]
    return pd.DataFrame(rows, columns=columns)


def _expectation_maximisation(task: Ints, worker: Ints, said: Ints) -> tuple[Floats, Floats, Floats]:
    """How likely each task is present, the rates of error (annotator, said, true), and the prior."""
    from scipy.special import entr, expit

    n_tasks, n_workers = int(task.max()) + 1, int(worker.max()) + 1
    cell = 2 * worker + said
    counts = np.bincount(cell, minlength=2 * n_workers).astype(np.float64)
    observed = (counts > 0).reshape(n_workers, 2, 1)

    def maximise(present: Floats) -> tuple[Floats, Floats]:
        """How often each annotator said what where the truth is absent and present; and their rates."""
        yes = np.bincount(cell, weights=present[task], minlength=2 * n_workers)
        sums: Floats = np.stack((counts - yes, yes), axis=-1, dtype=np.float64)
        # An answer that an annotator never gave stays impossible for them; the rest is kept off zero.
        errors = np.where(observed, np.maximum(sums.reshape(n_workers, 2, 2), _TINY), 0.0)
        rates: Floats = errors / errors.sum(axis=1, keepdims=True)
        return sums, rates

    present = np.bincount(task, weights=said, minlength=n_tasks) / np.bincount(task, minlength=n_tasks)
    _, errors = maximise(present)
    prior = np.array([1 - present.mean(), present.mean()])
    bound = -math.inf
    for _ in range(_STEPS):
        log = np.log(np.where(errors > 0, errors, 1.0)).reshape(-1, 2)
        odds = np.bincount(task, weights=(log[:, 1] - log[:, 0])[cell], minlength=n_tasks)
        odds += np.log(max(prior[1], _TINY)) - np.log(max(prior[0], _TINY))
        present = expit(odds)
        sums, errors = maximise(present)
        prior = np.array([1 - present.mean(), present.mean()])
        log = np.log(np.where(errors > 0, errors, 1.0)).reshape(-1, 2) + np.log(np.maximum(prior, _TINY))
        entropy = float((entr(present) + entr(1 - present)).sum())
        new = (float((sums * log).sum()) + entropy) / len(task)
        if new - bound < _TOLERANCE:
            break
        bound = new
    return present, errors, prior
