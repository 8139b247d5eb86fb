r"""Scores of a detector as evidence about a timeline, calibrated by answers.

With :math:`s_t = \log p(x_t \mid \text{event}) - \log p(x_t \mid \text{none})` per step, an event over some steps is
multiplied by the exponential of their sum, and the recursion stays as it is (:mod:`.kernels`). A detector's score z is
no such s; it becomes one as :math:`s = a z + b`, where a and b maximise

.. math:: \log P(\text{answers} \mid s) = \log Z(\text{answers}, s) - \log Z(s),

a proper likelihood of the answers given the scores, whose gradient per step is
:math:`P(\text{active} \mid \text{answers}, s) - P(\text{active} \mid s)`. No strong label is needed.

Frames that err together are many witnesses of one error, and answers about segments hardly see it: their likelihood has
several modes then, with slopes that differ tenfold. So the slope is at least the one that white errors would have, the
distance of the mean scores in both states over the variance of what the states leave of them; and where that has a
correlation :math:`\rho` between neighbouring steps, evidence is as strong as that, or the white slope times
:math:`\sqrt{(1 - \rho) / (1 + \rho)}`, each as likely.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..base.parallel import in_order
from ..base.results import percent
from ..model.intervals import Features, merge
from .chain import Prepared, prepare
from .renewal import Array, Renewal

if TYPE_CHECKING:
    from .class_posterior import ClassPosterior

_SPREAD = 3.0  # of a (scores in standard deviations) and b before the answers
_SURE = 1e-6  # probabilities are no nearer to 0 and 1
_COVERED, _BY_CHANCE = 0.95, 3.0  # of the time; what two numbers that are fitted gain where scores tell nothing
_WHITE = 0.95  # times the slope: errors that leave more of it do not go on


@dataclass(frozen=True)
class FrameScores:
    """Frames of one recording, (start, end) in seconds, and the score of each."""

    spans: Array
    values: Array

    @property
    def of_probabilities(self) -> bool:
        """Whether no score leaves 0 to 1."""
        return bool(self.values.min() >= 0 and self.values.max() <= 1)

    def per_step(self, step: float, n: int) -> tuple[Array, Array]:
        """Scores and numbers of frames in each of n steps; a frame that several steps share is shared out."""
        ends = step * np.arange(n + 1)
        width = self.spans[:, 1] - self.spans[:, 0]
        sums = []
        for weight in (self.values / width, 1 / width):
            # the integral of the frames up to each end of a step: every frame adds a ramp
            order_a, order_b = np.argsort(self.spans[:, 0]), np.argsort(self.spans[:, 1])
            upto = np.zeros(n + 1)
            for order, side, sign in ((order_a, 0, 1.0), (order_b, 1, -1.0)):
                at, w = self.spans[order, side], weight[order]
                k = np.searchsorted(at, ends)
                total, moment = (np.concatenate(([0.0], np.cumsum(x))) for x in (w, w * at))
                upto += sign * (ends * total[k] - moment[k])
            sums.append(np.diff(upto))
        return sums[0], sums[1]

    def over_time(self, length: float) -> Features:
        """The scores on an even grid, of probabilities the log odds; time without a frame has the lowest score."""
        values = log_odds(self.values) if self.of_probabilities else self.values
        n = max(2, math.ceil(length / max(0.02, float(np.median(np.diff(self.spans, axis=1))))))
        sums, many = replace(self, values=values).per_step(length / n, n)
        level = np.where(many > 1e-9, sums / np.maximum(many, 1e-9), values.min())
        return Features((np.arange(n) + 0.5) * length / n, level[:, None].astype(np.float32), "scores")


def log_odds(probability: Array) -> Array:
    """Log odds of probabilities, no nearer to 0 and 1 than a millionth."""
    p = np.clip(probability, _SURE, 1 - _SURE)
    return np.asarray(np.log(p / (1 - p)))


@dataclass(frozen=True)
class Calibration:
    """How scores become evidence: s = a z + b for z, or for its log odds; with the covariance of (a, b), and
    log P(answers | scores), where they were calibrated."""

    scale: float
    offset: float
    of_odds: bool = False
    covariance: Array | None = None
    log_likelihood: float = math.nan
    uncalibrated: float = math.nan  # log P(answers), without any scores
    strongest: tuple[float, float] | None = None  # (a, b), where what the states leave of the scores tells more
    temper: float = 1.0  # the weakest evidence over the strongest, where errors go on from frame to frame

    @property
    def beliefs(self) -> list[Calibration]:
        """The strongest evidence and, where errors go on, the weakest: each as likely."""
        a, b = self.strongest or (self.scale, self.offset)
        return [replace(self, scale=x * a, offset=x * b) for x in ((1.0, self.temper) if self.temper < 1 else (1.0,))]

    def evidence(self, frames: FrameScores, step: float, n: int) -> Array:
        """s per step."""
        if self.of_odds and not frames.of_probabilities:
            low, high = frames.values.min(), frames.values.max()
            raise InvalidInput(f"scores must be probabilities as those of like, got {low:.3g} to {high:.3g}; logits?")
        frames = replace(frames, values=log_odds(frames.values)) if self.of_odds else frames
        scores, many = frames.per_step(step, n)
        return self.scale * scores + self.offset * many

    def interval(self, k: int) -> tuple[float, float]:
        """The 95 % interval of a (0) or b (1)."""
        value = (self.scale, self.offset)[k]
        half = math.nan if self.covariance is None else 1.96 * math.sqrt(float(self.covariance[k, k]))
        return value - half, value + half


def frames_by_class(scores: pd.DataFrame) -> dict[str | None, dict[str, FrameScores]]:
    """The scores of a detector by class (None: of any) and recording."""
    missing = [name for name in ("recording", "onset", "offset", "score") if name not in scores]
    if missing:
        raise InvalidInput(f"scores must have columns recording, onset, offset and score; {missing[0]!r} is missing")
    if scores.empty:
        raise InvalidInput("scores: there is no frame in them")
    spans = scores[["onset", "offset", "score"]]
    numbers = spans.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    wrong = ~np.isfinite(numbers).all(axis=1) | (numbers[:, 1] <= numbers[:, 0])
    if wrong.any():
        k = int(wrong.argmax())
        said = ", ".join(map(str, spans.iloc[k]))
        raise InvalidInput(f"scores, row {k + 1}: ({said}) is no frame: onset < offset and a finite score")
    labels = [None if pd.isna(x) else str(x) for x in scores.get("label", [None] * len(scores))]
    rows_of: dict[tuple[str | None, str], list[int]] = {}
    for k, key in enumerate(zip(labels, scores["recording"].astype(str))):
        rows_of.setdefault(key, []).append(k)
    found: dict[str | None, dict[str, FrameScores]] = {}
    for (label, recording), rows in rows_of.items():
        mine = numbers[rows][np.argsort(numbers[rows, 0], kind="stable")]
        found.setdefault(label, {})[recording] = FrameScores(mine[:, :2], mine[:, 2])
    return found


def _log_ratio(ready: Prepared, blank: Prepared, renewal: Renewal, s: Array | None) -> float:
    """log P(answers | s) of one recording alone, in half the time that it takes with its slopes."""
    given, alone = (replace(each, evidence=s).log_likelihood(renewal) for each in (ready, blank))
    return given - alone


def _gain(
    ready: Prepared, blank: Prepared, renewal: Renewal, scores: Array, many: Array, a: float, b: float
) -> tuple[float, float, float]:
    """log P(answers | s) of one recording, and its slopes in a and b."""
    s = a * scores + b * many
    given, alone = (replace(each, evidence=s).posterior(renewal) for each in (ready, blank))
    away = given.active - alone.active
    return given.log_likelihood - alone.log_likelihood, float(away @ scores), float(away @ many)


def log_answers_given_scores(
    ready: Sequence[Prepared],
    blanks: Sequence[Prepared],
    tables: Sequence[tuple[Array, Array]],
    renewal: Renewal,
    theta: Array,
    executor: Executor | None = None,
) -> tuple[float, Array]:
    """log P(answers | s = a z + b) of all recordings, and its gradient in (a, b)."""
    jobs = [(r, blank, renewal, *table, *theta) for r, blank, table in zip(ready, blanks, tables)]
    rows = np.array(list(in_order(_gain, jobs, executor=executor)))
    return float(rows[:, 0].sum()), rows[:, 1:].sum(axis=0)


def explained(
    calibration: Calibration, ready: Sequence[Prepared], blanks: Sequence[Prepared], frames: Sequence[FrameScores],
    renewal: Renewal, executor: Executor | None = None,
) -> Calibration:  # fmt: skip
    """The same with what scores that are calibrated already say of the answers: log P(answers | scores)."""
    known = [calibration.evidence(each, one.grid.step, one.grid.n) for each, one in zip(frames, ready)]
    every: tuple[list[Any], ...] = known, [None] * len(frames)
    jobs = [[(*pair, renewal, s) for *pair, s in zip(ready, blanks, evidence)] for evidence in every]
    given, bare = (float(np.sum(list(in_order(_log_ratio, each, executor=executor)))) for each in jobs)
    return replace(calibration, log_likelihood=given, uncalibrated=bare)


def calibrate(
    ready: Sequence[Prepared],
    blanks: Sequence[Prepared],
    frames: Sequence[FrameScores],
    renewal: Renewal,
    executor: Executor | None = None,
) -> Calibration:
    """a and b by the answers; ``blanks``: the recordings without answers."""
    from scipy.optimize import minimize

    of_odds = all(each.of_probabilities for each in frames)
    if of_odds:
        frames = [replace(each, values=log_odds(each.values)) for each in frames]
    tables = [each.per_step(one.grid.step, one.grid.n) for each, one in zip(frames, ready)]
    values = np.concatenate([each.values for each in frames])
    # between both states a and b hardly depend on each other, and a search is short
    middle, unit = float(np.quantile(values, [0.01, 0.99]).mean()), float(values.std()) or 1.0
    tables = [((scores - middle * many) / unit, many) for scores, many in tables]

    def objective(theta: Array) -> tuple[float, Array]:
        value, slope = log_answers_given_scores(ready, blanks, tables, renewal, theta, executor)
        return -value + float(theta @ theta) / (2 * _SPREAD**2), -slope + theta / _SPREAD**2

    def told(at: Array) -> float:
        jobs = [(r, blank, renewal, at[0] * z + at[1] * many) for r, blank, (z, many) in zip(ready, blanks, tables)]
        return float(np.sum(list(in_order(_log_ratio, jobs, executor=executor))))

    def search(start: Any, ftol: float = 1e-5) -> Any:
        how: Any = {"method": "L-BFGS-B", "options": {"maxiter": 40, "ftol": ftol}}
        return minimize(objective, start, jac=True, **how)

    best, strongest, weakest, none = search(np.array([0.3, -0.1]), 1e-3), np.zeros(2), 0.0, told(np.zeros(2))
    if -best.fun < none:  # long events everywhere explain absent answers too
        best = search(np.zeros(2), 1e-3)
    for _ in range(3):  # from one mode to a better one, where what the states leave of the scores is better known
        strongest, weakest = _levels(ready, tables, renewal, best.x, told)
        before, best = best, min(best, search(strongest), key=lambda one: float(one.fun))
        if best.fun > before.fun - 0.1:
            break
    if told(best.x) < none + _BY_CHANCE:  # scores that tell nothing
        strongest, weakest = best.x, 0.0
    strongest = max(strongest, best.x, key=lambda theta: float(theta[0]))
    temper = weakest / float(strongest[0]) if 0 < weakest < _WHITE * strongest[0] else 1.0
    curvature = np.array([(objective(best.x + h)[1] - objective(best.x - h)[1]) / 0.04 for h in 0.02 * np.eye(2)])
    sums = np.linalg.inv((curvature + curvature.T) / 2)
    # back from standard deviations: s = a' (z - middle) / unit + b'
    turn = np.array([[1 / unit, 0.0], [-middle / unit, 1.0]])
    a, b = (turn @ best.x).tolist()
    high, offset = (turn @ strongest).tolist()
    return Calibration(a, b, of_odds, turn @ sums @ turn.T, told(best.x), none, (high, offset), temper)


def _levels(
    ready: Sequence[Prepared], tables: Sequence[tuple[Array, Array]], renewal: Renewal, theta: Array, told: Any
) -> tuple[Array, float]:
    """(a, b) if errors are white, b by the answers (``told``: log P(answers | s)); and a if they go on from step to
    step as what the states leave of the scores does."""
    from scipy.optimize import minimize_scalar

    states, scores, many, follows = [], [], [], []
    for one, (score, count) in zip(ready, tables):
        kept = count > 1e-9
        states.append(replace(one, evidence=theta[0] * score + theta[1] * count).posterior(renewal).active[kept])
        scores.append(score[kept] / count[kept])
        many.append(count[kept])
        follows.append(np.arange(kept.sum()) > 0)
    p, z, follow = np.concatenate(states), np.concatenate(scores), np.concatenate(follows)
    high, low = (float(w @ z) / max(float(w.sum()), 1e-9) for w in (p, 1 - p))
    left = z - np.where(p > 0.5, high, low)
    spread = float(left @ left) / max(len(left), 1)
    if spread <= 0 or not theta[0] > 0 or not high > low:
        return theta, 0.0
    rho = float(np.clip((left[1:] * left[:-1])[follow[1:]].mean() / spread, 0.0, 0.99))
    white = (high - low) / spread / float(np.concatenate(many).mean())
    how: Any = {"bounds": (-4 * white - 2, 2.0), "method": "bounded", "options": {"xatol": 0.05}}
    best: Any = minimize_scalar(lambda b: (white**2 + b**2) / (2 * _SPREAD**2) - told(np.array([white, b])), **how)
    return np.array([white, best.x]), white * math.sqrt((1 - rho) / (1 + rho))


def score_caveats(part: ClassPosterior) -> Iterator[str]:
    """What scores do not tell, or are perhaps not, in words."""
    scored = [(one.frames, one.length) for one in part.recordings if one.frames is not None]
    if (c := part.calibration) is None or not scored:
        return
    spans = [each.spans for each, _ in scored]
    covered = sum(float(np.ptp(merge(np.clip(each, 0, end)), axis=1).sum()) for each, (_, end) in zip(spans, scored))
    frame, event = float(np.median(np.diff(np.concatenate(spans), axis=1))), part.renewal.lengths.mean
    if covered < _COVERED * part.seconds:
        text = f"scores cover {percent(covered / part.seconds)} of the time; the rest has no evidence either way"
        yield f"{text}. If they are only those above a threshold, give those of all frames"
    if frame > event / 2 * (1 + 1e-9):
        text = f"frames of {frame:.3g} s are long for events of {event:.2g} s, whose seconds come out too many"
        yield f"{text}. Give frames of at most {event / 2:.2g} s, or detections as one more annotator's answers"
    if not c.of_odds and all(each.of_probabilities for each, _ in scored):
        yield "all scores are from 0 to 1 but are not taken as probabilities"
    if c.log_likelihood < c.uncalibrated + _BY_CHANCE * (c.covariance is not None):
        logs = f"{c.log_likelihood:.1f}, without them {c.uncalibrated:.1f}"
        yield f"the scores explain the answers no better than chance would (logarithm of their chance {logs})"
    elif c.scale < 0:
        yield f"the higher the score, the less likely an event (score_scale {c.scale:.3g})"


def compare_detectors(part: ClassPosterior, detectors: Mapping[str, Mapping[str, FrameScores]]) -> list[dict[str, Any]]:
    """How well each detector explains the answers of a class, the best first, on the recordings that all have scored.

    ``bits_per_clip``: by how much its scores, calibrated by the answers, raise the logarithm of their chance.
    ``behind``: the best one's bits less its own. Intervals (95 %, of Student's law) go by how recordings differ; NaN
    for a single one. ``wrong_per_minute``: expected wrong seconds if every moment gets the likelier label by scores and
    process, without the answers, in the eyes of both. ``better``: whether all others are surely behind it.
    """
    from scipy.special import stdtrit

    process = part.renewal.members[int(part.renewal.weights.argmax())]
    shared = [one for one in part.recordings if all(one.recording in frames for frames in detectors.values())]
    if not shared:
        raise InvalidInput(f"{part.label}: no recording with answers has scores of all of {', '.join(detectors)}")
    ready = [replace(one, frames=None).prepared(process, part.annotator) for one in shared]
    blanks = [prepare(np.empty((0, 2)), [], renewal=process, recording_length=one.length) for one in shared]
    bare = np.array([_log_ratio(one, blank, process, None) for one, blank in zip(ready, blanks)])
    clips = np.array([len(one.segments) for one in shared], dtype=np.float64)
    free = len(shared) - 1  # none: nothing tells how much recordings differ
    wide = stdtrit(free, 0.975) * math.sqrt((free + 1) / free) / clips.sum() if free else math.nan
    gains, rows = dict[str, Array](), dict[str, dict[str, Any]]()
    for name, by_recording in detectors.items():
        frames = [by_recording[one.recording] for one in shared]
        fitted = calibrate(ready, blanks, frames, process)
        told, wrong = np.zeros(len(shared)), 0.0
        for k, (one, blank, each) in enumerate(zip(ready, blanks, frames)):
            s, *evidence = (belief.evidence(each, one.grid.step, one.grid.n) for belief in (fitted, *fitted.beliefs))
            told[k] = _log_ratio(one, blank, process, s) - bare[k]
            pairs = [[replace(x, evidence=s).posterior(process) for x in (one, blank)] for s in evidence]
            given, alone = (np.mean([pair[j].active for pair in pairs], axis=0) for j in (0, 1))
            wrong += float(np.diff(pairs[0][0].edges) @ np.where(alone > 0.5, 1 - given, given))
        gains[name] = told / math.log(2)
        rows[name] = {"label": part.label, "detector": name, "n_recordings": len(shared), "n_clips": int(clips.sum()),
                      "wrong_per_minute": 60 * wrong / sum(one.length for one in shared)}  # fmt: skip
    order = sorted(gains, key=lambda name: -gains[name].sum())
    for name in order:
        for word, values in (("bits_per_clip", gains[name]), ("behind", gains[order[0]] - gains[name])):
            middle = values.sum() / clips.sum()
            half = wide * float(np.linalg.norm(values - middle * clips))
            rows[name] |= {word: middle, f"{word}_low": middle - half, f"{word}_high": middle + half}
        rows[name]["better"] = False
    others = order[1:]
    rows[order[0]]["better"] = len(shared) > 1 and bool(others) and all(rows[name]["behind_low"] > 0 for name in others)
    return [rows[name] for name in order]
