r"""One label out of several annotators' answers, and what an answer costs in seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base.errors import InvalidInput
from ...base.results import plain
from ...model.answers import Answers

_SEGMENT = ["recording", "onset", "offset", "label"]
_TINY = 1e-10


def majority(answers: Answers) -> pd.DataFrame:
    """One row per segment and class: the share of present answers, how many there were, and what most of them say.

    ``present`` is NaN for a tie; unsure answers do not vote.

    Examples
    --------
    >>> frame = pd.DataFrame({"recording": "x", "label": "dog", "present": [1, 1, 0], "annotator": list("abc")})
    >>> majority(Answers.from_frame(frame))[["present", "n_answers"]].values.tolist()
    [[1.0, 3.0]]
    """
    frame = answers.to_frame()
    frame = frame[frame["present"].notna()]
    groups = frame.groupby(_SEGMENT, dropna=False, sort=False)["present"]
    table = groups.agg(["mean", "size"]).reset_index().rename(columns={"mean": "share_present", "size": "n_answers"})
    share = table["share_present"]
    table["present"] = np.where(share == 0.5, np.nan, (share > 0.5).astype(np.float64))
    return table


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
    iterations: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "prevalence": plain(self.prevalence),
            "iterations": self.iterations,
            "annotators": plain(self.annotators),
            "labels": plain(self.labels),
        }


def dawid_skene(answers: Answers, *, max_iterations: int = 100, tolerance: float = 1e-5) -> DawidSkene:
    """The most likely labels if every annotator has their own rates of error, by expectation and maximisation.

    Parameters
    ----------
    answers : several annotators' answers about the same segments; each class is fitted by itself.
    max_iterations, tolerance : stop after so many steps, or when the evidence bound per answer rises by less.

    Notes
    -----
    Dawid and Skene (1979), started from the majority.

    Examples
    --------
    >>> frame = pd.DataFrame({"recording": list("xxxyyy"), "label": "dog", "present": [1, 1, 0, 0, 0, 0],
    ...                       "annotator": list("abcabc")})
    >>> dawid_skene(Answers.from_frame(frame)).labels["present"].tolist()
    [1.0, 0.0]
    """
    frame = answers.to_frame()
    frame = frame[frame["present"].notna()]
    if frame["annotator"].nunique() < 2:
        raise InvalidInput("dawid_skene needs answers of two annotators or more in the column 'annotator'")
    labels, annotators = [], []
    prevalence: dict[str, float] = {}
    iterations: dict[str, int] = {}
    for name, part in frame.groupby("label"):
        groups = part.groupby(_SEGMENT, dropna=False, sort=False)
        task: Any = groups.ngroup().to_numpy()
        worker, who = pd.factorize(part["annotator"])
        fit = _expectation_maximisation(
            task,
            np.asarray(worker, dtype=np.int64),
            part["present"].to_numpy().astype(np.int64),
            max_iterations,
            tolerance,
        )
        rows = groups.size().reset_index(name="n_answers")
        rows["probability"] = fit.probability
        rows["present"] = (fit.probability > 0.5).astype(np.float64)
        labels.append(rows)
        annotators.append(
            pd.DataFrame(
                {
                    "label": name,
                    "annotator": np.asarray(who, dtype=object),
                    "sensitivity": fit.errors[:, 1, 1],
                    "specificity": fit.errors[:, 0, 0],
                    "n_answers": np.bincount(worker),
                }
            )
        )
        prevalence[str(name)] = float(fit.prior[1])
        iterations[str(name)] = fit.iterations
    return DawidSkene(
        pd.concat(labels, ignore_index=True), pd.concat(annotators, ignore_index=True), prevalence, iterations
    )


def votes_needed(found: DawidSkene, *, most: int = 7, seconds: float = math.nan, draws: int = 20_000) -> pd.DataFrame:
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
    for name, part in found.annotators.groupby("label", sort=False):
        weight = part["n_answers"].to_numpy(np.float64)
        present = found.prevalence[str(name)]
        truth = rng.random(draws) < present
        who = rng.choice(len(part), size=(draws, most), p=weight / weight.sum())
        # A rate of exactly 0 or 1 comes from few answers; half an answer is held back.
        hit, right = ((part[c].to_numpy() * weight + 0.5) / (weight + 1) for c in ("sensitivity", "specificity"))
        said = rng.random((draws, most)) < np.where(truth[:, None], hit[who], 1 - right[who])
        odds = np.where(said, np.log(hit / (1 - right))[who], np.log((1 - hit) / right)[who])
        prior = math.log(max(present, _TINY) / max(1 - present, _TINY))
        before = math.nan
        for votes in range(1, most + 1):
            lead = np.sign(said[:, :votes].sum(axis=1) - votes / 2) * np.where(truth, 1, -1)
            weighted = float(((prior + odds[:, :votes].sum(axis=1) > 0) == truth).mean())
            gain = weighted - before
            cost = seconds / gain if gain > 0 else math.nan
            rows.append((name, votes, float((lead.mean() + 1) / 2), weighted, gain, cost))
            before = weighted
    columns = ["label", "votes", "majority_accuracy", "weighted_accuracy", "gain", "seconds_per_gain"]
    return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True)
class _Fit:
    probability: NDArray[np.float64]
    errors: NDArray[np.float64]  # annotator, said, true
    prior: NDArray[np.float64]
    iterations: int


def _expectation_maximisation(
    task: NDArray[np.int64], worker: NDArray[np.int64], said: NDArray[np.int64], most: int, tolerance: float
) -> _Fit:
    from scipy.special import entr, expit

    n_tasks, n_workers = int(task.max()) + 1, int(worker.max()) + 1
    cell = 2 * worker + said
    counts = np.bincount(cell, minlength=2 * n_workers).astype(np.float64)
    observed = (counts > 0).reshape(n_workers, 2, 1)

    def maximise(present: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How often each annotator said what where the truth is absent and present; and their rates."""
        yes = np.bincount(cell, weights=present[task], minlength=2 * n_workers)
        sums: NDArray[np.float64] = np.stack((counts - yes, yes), axis=-1, dtype=np.float64)
        # An answer that an annotator never gave stays impossible for them; the rest is kept off zero.
        errors = np.where(observed, np.maximum(sums.reshape(n_workers, 2, 2), _TINY), 0.0)
        found: NDArray[np.float64] = errors / errors.sum(axis=1, keepdims=True)
        return sums, found

    present = np.bincount(task, weights=said, minlength=n_tasks) / np.bincount(task, minlength=n_tasks)
    _, errors = maximise(present)
    prior = np.array([1 - present.mean(), present.mean()])
    bound, steps = -math.inf, 0
    while steps < most:
        steps += 1
        log = np.log(np.where(errors > 0, errors, 1.0)).reshape(-1, 2)
        odds = np.bincount(task, weights=(log[:, 1] - log[:, 0])[cell], minlength=n_tasks)
        odds += np.log(max(prior[1], _TINY)) - np.log(max(prior[0], _TINY))
        present = expit(odds)
        sums, errors = maximise(present)
        prior = np.array([1 - present.mean(), present.mean()])
        log = np.log(np.where(errors > 0, errors, 1.0)).reshape(-1, 2) + np.log(np.maximum(prior, _TINY))
        entropy = float((entr(present) + entr(1 - present)).sum())
        new = (float((sums * log).sum()) + entropy) / len(task)
        if new - bound < tolerance:
            break
        bound = new
    return _Fit(present, errors, prior, steps)


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

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


def effort(answers: Answers, *, recording_length: float | None = None) -> Effort:
    """Seconds per query from the time stamps of a tool, robust to idle time, and the cost share r that follows.

    A tool's clock runs from load to submit, also while the annotator is away: idle time only ever adds. On a log
    scale, answers that took longer than the median by more than three robust standard deviations are left out, again
    until nothing changes. Where segments have several lengths, the time is split by a robust line into a part per query
    and a part per second heard; with one length, hearing a second is taken to cost a second.

    Parameters
    ----------
    answers : with ``seconds``; one query that asks for several classes counts once.
    recording_length : seconds, for segments that are whole recordings of unknown length.

    Examples
    --------
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
    busy = _not_idle(seconds)
    kept, heard = seconds[busy], width[busy]
    mean = float(kept.mean())
    error = float(kept.std(ddof=1) / math.sqrt(len(kept))) if len(kept) > 1 else math.nan
    per_query, per_second, note = _split(kept, heard)
    share = per_query / (per_query + per_second) if not math.isnan(per_query) else math.nan
    return Effort(
        mean,
        error,
        float(1 - busy.mean()),
        float(seconds[~busy].sum()),
        per_query,
        per_second,
        share,
        len(seconds),
        note,
    )


def _not_idle(seconds: NDArray[np.float64]) -> NDArray[np.bool_]:
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


def _split(seconds: NDArray[np.float64], width: NDArray[np.float64]) -> tuple[float, float, str]:
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
        return 0.0, 1.0, "the annotators answered before the segment had ended: hearing is all the cost"
    return over, 1.0, "hearing a second is taken to cost a second"
