"""Answers about many recordings of one class: the process of its events, everybody's slips, and each recording.

:func:`class_posterior` prepares the answers, estimates the process where it is not given (:mod:`.fitting`), in turn
with how often people guess and lapse where that is asked for, and draws timelines of every recording.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.parallel import Progress, in_order
from ..model.answer_model import AnswerModels
from ..model.intervals import duration, merge
from ..model.lengths import Lengths
from .chain import Contradiction, Posterior, Prepared, prepare
from .fitting import Family, Pass, ProcessFit, fit, run_all
from .renewal import Array, Mixed, Renewal

#: The criteria that stand for an unknown one.
CRITERIA = (0.3, 0.5, 0.7)
#: What is said of recordings and classes, each with an interval.
WORDS = ("n_events", "event_seconds", "event_rate")
_SURE = 2.5  # an estimate is identified if the ends of its interval differ by less than this factor
_MOST_STEPS = 4000  # of an event whose law is left out
_TURNS = 5  # of estimates of slips and of the process in turn
#: How often people guess, or lapse, before they answer, known as if from so many answers; and the most that is taken.
SLIP, _WORTH, _MOST_SLIPS = 0.02, 50.0, 0.4


def _slipping(who: AnswerModels, counts: Array) -> AnswerModels:
    """The same with rates from guesses, answers where one can guess, lapses and answers where one can lapse."""
    guess, lapse = (float((wrong + SLIP * _WORTH) / (n + _WORTH)) for wrong, n in (counts[:2], counts[2:]))
    return who.with_noise(min(guess, _MOST_SLIPS), min(lapse, _MOST_SLIPS))


def _slip_interval(wrong: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a rate of slips."""
    from scipy.special import betaincinv

    low, high = betaincinv(wrong + SLIP * _WORTH, n - wrong + (1 - SLIP) * _WORTH, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True, eq=False)
class AnswerPattern:
    """Answers that one or more recordings share."""

    segments: Array
    present: Array
    annotators: tuple[str, ...]
    length: float
    recordings: tuple[str, ...]

    @classmethod
    def grouped(cls, answers: Iterable[tuple[str, Array, Array, tuple[str, ...], float]]) -> list[AnswerPattern]:
        """Recordings by name with segments, answers, annotators and length; those with the same answers together."""
        groups: dict[Any, list[str]] = {}
        first: dict[Any, tuple[Array, Array]] = {}
        for name, segments, present, annotators, length in answers:
            key = (segments.tobytes(), present.tobytes(), annotators, length)
            groups.setdefault(key, []).append(name)
            first.setdefault(key, (segments, present))
        return [cls(*first[key], key[2], key[3], tuple(names)) for key, names in groups.items()]

    def prepared(self, renewal: Renewal | Mixed, annotator: Any) -> Prepared:
        """The answers ready for any process on the steps of this one."""
        return prepare(self.segments, self.present, renewal=renewal, recording_length=self.length, annotator=annotator,
                       annotators=self.annotators)  # fmt: skip


@dataclass(frozen=True, eq=False)
class RecordingPosterior(AnswerPattern):
    """One recording of one class: its answers, P(active) per step, expected and drawn numbers and seconds of events."""

    step: float
    active: Array
    n_events: float
    event_seconds: float
    n_events_draws: Array
    event_seconds_draws: Array

    @property
    def recording(self) -> str:
        """Its name."""
        return self.recordings[0]

    @property
    def painted(self) -> Array:
        """The time that present answers paint, as intervals."""
        return merge(self.segments[self.present == 1])

    @property
    def edges(self) -> Array:
        """The ends of the steps in seconds."""
        ends: Array = np.round(self.step * np.arange(len(self.active) + 1, dtype=np.float64), 9)
        ends[-1] = self.length
        return ends


@dataclass(frozen=True, eq=False)
class ClassPosterior:
    """One class: the process of its events, given or estimated, and its recordings."""

    label: str
    renewal: Renewal | Mixed
    annotator: Any
    fit: ProcessFit | None
    recordings: tuple[RecordingPosterior, ...]
    log_likelihood: float
    slips: Mapping[str, Array] = field(default_factory=dict)  # of everybody whose slips were estimated, their counts

    def timeline(self, one: RecordingPosterior) -> Posterior:
        """The exact posterior of a recording's timeline."""
        return one.prepared(self.renewal, self.annotator).posterior(self.renewal)

    @property
    def seconds(self) -> float:
        """The seconds of all recordings."""
        return sum(one.length for one in self.recordings)

    @property
    def segment_lengths(self) -> Array:
        """The different lengths of the segments that were answered, without 5 % (cut ones) at either end."""
        widths = np.concatenate([one.segments[:, 1] - one.segments[:, 0] for one in self.recordings])
        values, counts = np.unique(np.round(widths, 6), return_counts=True)
        upto = np.cumsum(counts) / counts.sum()
        kept = (upto >= 0.05 - 1e-9) & (upto - counts / counts.sum() <= 0.95 + 1e-9)
        return np.asarray(values[kept], dtype=np.float64)

    @property
    def tells_lengths(self) -> bool:
        """Whether segments differ enough in length to tell the law of event lengths."""
        return bool(self.segment_lengths[-1] >= 1.5 * self.segment_lengths[0])

    @property
    def rate_variation(self) -> float | None:
        """The standard deviation of the rates of recordings over their mean, where they differ."""
        return None if self.fit is None or self.fit.family.hazards is None else float(np.exp(self.fit.theta[-1]))

    @property
    def summary(self) -> list[dict[str, Any]]:
        """Of each recording: expected events, their seconds and rate, each with its interval, and painted seconds."""
        every = self.recordings
        columns = zip(*((one.n_events, one.event_seconds, one.n_events_draws, one.event_seconds_draws, one.length)
                        for one in every))  # fmt: skip
        rows = zip(every, _rows(*(np.array(column) for column in columns)))
        return [
            {"recording": one.recording, "label": self.label, **row, "painted_seconds": duration(one.painted)}
            for one, row in rows
        ]

    @property
    def overall(self) -> dict[str, Any]:
        """Events, their seconds and rate over all recordings, each with its interval."""
        every = self.recordings
        n_events, seconds = (np.array([sum(getattr(one, word) for one in every)]) for word in WORDS[:2])
        events, times = (np.sum([getattr(one, f"{word}_draws") for one in every], axis=0)[None] for word in WORDS[:2])
        return {
            "label": self.label,
            "n_recordings": len(every),
            "recording_seconds": self.seconds,
            **_rows(n_events, seconds, events, times, np.array([self.seconds]))[0],
            "painted_seconds": sum(duration(one.painted) for one in every),
            "log_likelihood": self.log_likelihood,
        }

    @property
    def estimates(self) -> list[dict[str, Any]]:
        """Rate and law of lengths, given or estimated: value, interval, and whether the answers identify it."""
        fitted, law = self.fit, self.renewal.lengths
        law_given = fitted is None or fitted.family.lengths is not None
        rows = []
        for name, value, given, function in (
            ("event_rate", self.renewal.event_rate, fitted is None, lambda r: r.event_rate),
            ("mean_length", law.mean, law_given, lambda r: r.lengths.mean),
            ("median_length", law.quantile(0.5), law_given, lambda r: r.lengths.quantile(0.5)),
        ):
            ends = (np.nan, np.nan) if given or fitted is None else fitted.interval(function)
            sure = given or bool(ends[1] < _SURE * ends[0] and (law_given or self.tells_lengths))
            rows.append(estimate(self.label, name, value, ends, "given" if given else "estimated", sure))
        if fitted is not None and self.rate_variation is not None:
            low, high = np.exp(np.quantile(fitted.theta[-1] + fitted.moves[:, -1], [0.025, 0.975])).tolist()
            name, sure = "rate_variation", high < _SURE * low
            rows.append(estimate(self.label, name, self.rate_variation, (low, high), "estimated", sure))
        return rows

    @property
    def slip_estimates(self) -> list[dict[str, Any]]:
        """Guesses and lapses of everybody for whom they were estimated."""
        rows = []
        for name, counts in self.slips.items():
            who = self.annotator[name]
            for word, value, (wrong, n) in (
                ("guess_rate", who.low, counts[:2]), ("lapse_rate", 1 - who.high, counts[2:]),
            ):  # fmt: skip
                low, high = _slip_interval(float(wrong), float(n))
                whose = word if len(self.slips) == 1 else f"{word} of {name}"
                ends = min(low, value), max(high, value)
                rows.append(estimate(self.label, whose, value, ends, "estimated", high - low < 0.1))
        return rows


def estimate(
    label: str, quantity: str, value: Any, ci: tuple[float, float], how: str, identified: bool
) -> dict[str, Any]:
    """A row of a table of estimates."""
    return {"label": label, "quantity": quantity, "value": value, "ci": ci, "how": how, "identified": identified}


def _rows(n_events: Array, seconds: Array, events: Array, times: Array, length: Array) -> list[dict[str, Any]]:
    """Events, seconds and rate of many recordings, each with its interval: what is expected, and what was drawn as
    (recordings, draws)."""
    values = {"n_events": n_events, "event_seconds": seconds, "event_rate": n_events / length}
    ends = {}
    for word, drawn in (("n_events", events), ("event_seconds", times)):
        low, high = np.quantile(drawn, [0.025, 0.975], axis=1, method="weibull")  # of few events, all may be none
        ends[word] = np.minimum(low, values[word]), np.maximum(high, values[word])
    ends["event_rate"] = ends["n_events"][0] / length, ends["n_events"][1] / length
    rows: list[dict[str, Any]] = []
    for k in range(len(length)):
        rows.append({})
        for word in WORDS:
            rows[k][word] = float(values[word][k])
            rows[k][f"{word}_ci"] = (float(ends[word][0][k]), float(ends[word][1][k]))
    return rows


def class_posterior(
    label: str,
    patterns: Sequence[AnswerPattern],
    annotator: Any,
    *,
    slips: bool,
    law: Lengths | None,
    event_rate: float | None,
    step: float,
    draws: int,
    rng: np.random.Generator,
    executor: Executor,
    progress: Progress,
    order: Mapping[str, int],
) -> ClassPosterior:
    """One class: answers prepared, process estimated, timelines drawn; ``slips``: guesses and lapses of all as well;
    ``order``: the place of each recording."""
    widths = np.concatenate([p.segments[:, 1] - p.segments[:, 0] for p in patterns])
    middle = float(np.exp(np.log(widths).mean())) / 2
    if law is None:
        painted = max(float(np.ptp(merge(p.segments[p.present == 1]), axis=1).max(initial=0.0)) for p in patterns)
        top = min(max(p.length for p in patterns), max(4 * float(widths.max()), 20 * middle, 2 * painted))
        longest = min(_MOST_STEPS, math.ceil(top / step))
    else:
        longest = len(Renewal(law, 0.0, step).steps)
    family = Family(step, longest, law, middle)
    any_length = Lengths.sample(step * np.arange(1, longest + 1))
    base = Renewal.from_hazard(any_length if law is None else law, hazard=0.01 / step, step=step, longest=longest)
    times = np.array([len(p.recordings) for p in patterns], dtype=np.float64)

    def fitted(who: Any, start: Any) -> tuple[list[Prepared], ProcessFit | None, Renewal | Mixed, Pass]:
        work = [(p, base, who, label) for p in patterns]
        ready = list(in_order(_prepared, work, executor=executor, progress=progress, label=f"{label}: answers"))
        if event_rate is None:
            process = fit(ready, times, family, start=start, draws=draws, rng=rng, executor=executor)
            return ready, process, process.renewal, process.found
        assert law is not None
        renewal = Renewal(law, event_rate, step, longest=longest)
        return ready, None, renewal, run_all(ready, renewal, executor=executor)

    counts: dict[str, Array] = {}
    start: Any = _first_rate(patterns, times)
    who = {name: annotator for p in patterns for name in p.annotators} if slips else annotator
    for turn in range(_TURNS if slips else 1):
        ready, process, renewal, last = fitted(who, start)
        start = start if process is None else process.theta
        if not slips or turn == _TURNS - 1:
            break
        counts = _slips(patterns, times, ready, renewal, executor)
        after = {name: _slipping(one, counts[name]) for name, one in who.items()}
        if all(abs(one.low - after[name].low) + abs(one.high - after[name].high) < 2e-3 for name, one in who.items()):
            break
        who = after
    seeds = rng.spawn(len(patterns))
    jobs = [(one, renewal, len(p.recordings), draws, seed) for one, p, seed in zip(ready, patterns, seeds)]
    drawn = in_order(_drawn, jobs, executor=executor, progress=progress, label=f"{label}: timelines")
    recordings = []
    for k, (pattern, (active, n_events, event_seconds)) in enumerate(zip(patterns, drawn)):
        for name, events, seconds in zip(pattern.recordings, n_events, event_seconds):
            if process is not None:
                events = events + process.moves @ process.events_slope[k]
                seconds = seconds + process.moves @ process.seconds_slope[k]
            recordings.append(
                RecordingPosterior(
                    pattern.segments, pattern.present, pattern.annotators, pattern.length, (name,), step, active,
                    float(last.n_events[k]), float(last.event_seconds[k]),
                    np.maximum(events, 0.0), np.clip(seconds, 0.0, pattern.length),
                )
            )  # fmt: skip
    recordings.sort(key=lambda one: order[one.recording])
    return ClassPosterior(label, renewal, who, process, tuple(recordings), float(times @ last.log_likelihood), counts)


def _slips(
    patterns: Sequence[AnswerPattern], times: Array, ready: Sequence[Prepared], renewal: Renewal | Mixed,
    executor: Executor,
) -> dict[str, Array]:  # fmt: skip
    """Of everybody: expected guesses, answers where the rule is not satisfied, lapses, answers where it is (EM)."""
    work = [(one, renewal, p.segments) for one, p in zip(ready, patterns)]
    counts: dict[str, Array] = {}
    for p, many, met in zip(patterns, times, in_order(_satisfied, work, executor=executor)):
        yes = p.present == 1
        table = np.stack(((1 - met) * yes, 1 - met, met * ~yes, met), axis=1) * many
        for name, row in zip(p.annotators, table):
            counts[name] = counts.get(name, 0.0) + row
    return counts


def _satisfied(ready: Prepared, renewal: Renewal | Mixed, segments: Array) -> Array:
    """P(the rule is satisfied) of the segments that were asked, given all answers."""
    return ready.posterior(renewal).satisfied(segments)


def _first_rate(patterns: Sequence[AnswerPattern], times: Array) -> float:
    """A first guess at the rate: present answers per second heard."""
    present = sum(t * float((p.present == 1).sum()) for p, t in zip(patterns, times))
    heard = sum(t * float(np.diff(p.segments, axis=1).sum()) for p, t in zip(patterns, times))
    return float((present + 0.5) / (heard + 1e-9))


def _prepared(pattern: AnswerPattern, base: Renewal, who: Any, label: str) -> Prepared:
    try:
        ready = pattern.prepared(base, who)
        ready.posterior(base)  # answers that no timeline explains are told by the recording's name
    except Contradiction as error:
        raise error.of(f"{label}, recording {pattern.recordings[0]!r}") from error
    return ready


def _drawn(ready: Prepared, renewal: Renewal | Mixed, many: int, draws: int, rng: Any) -> tuple[Array, Array, Array]:
    """P(active), and numbers and seconds of events of sampled timelines for each recording that shares the answers."""
    known = ready.posterior(renewal)
    n_events, seconds = np.zeros((many, draws)), np.zeros((many, draws))
    for r in range(many):
        sample, onset, offset = known.draw(draws, rng)
        n_events[r] = np.bincount(sample, minlength=draws)
        seconds[r] = np.bincount(sample, weights=offset - onset, minlength=draws)
    return known.active, n_events, seconds


def total(classes: Mapping[str, ClassPosterior]) -> float:
    """The logarithm of the chance of all answers."""
    return sum(each.log_likelihood for each in classes.values())


def estimate_criterion(
    at: Callable[[float], dict[str, ClassPosterior]], known: dict[float | None, dict[str, ClassPosterior]]
) -> tuple[float, dict[float, float], tuple[float, float] | None]:
    """The criterion to go by, how likely each of CRITERIA is, and an interval where the answers tell it: where one of
    them is likelier than the others by far, the maximum of the likelihood over all criteria, and where it falls by 1.92
    on either side. Fills ``known`` with what was worked out."""
    totals: dict[float, float] = {}

    def look(criterion: float) -> None:
        if criterion not in known:
            known[criterion] = at(criterion)
        totals[criterion] = total(known[criterion])

    for criterion in CRITERIA:
        look(criterion)
    top = max(totals.values())
    shares = {c: math.exp(v - top) for c, v in totals.items()}
    shares = {c: v / sum(shares.values()) for c, v in shares.items()}
    if max(shares.values()) <= 0.95:
        return 0.5, shares, None
    for criterion in (0.1, 0.2, 0.4, 0.6, 0.8, 0.9):
        look(criterion)
    for _ in range(2):  # between the best and its likelier neighbour, twice
        points = sorted(totals)
        best = max(points, key=lambda c: totals[c])
        k = points.index(best)
        near = [points[j] for j in (k - 1, k + 1) if 0 <= j < len(points)]
        if near:
            look(round((best + max(near, key=lambda c: totals[c])) / 2, 4))
    points = sorted(totals)
    values = np.array([totals[c] for c in points])
    fine = np.linspace(0.02, 1.0, 491)
    near_top = fine[np.interp(fine, points, values) > values.max() - 1.92]
    best = points[int(values.argmax())]
    # events begin a quarter of a step off their boundary: no criterion is told more closely than that
    blur = max(each.renewal.step / 4 / float(each.renewal.lengths.quantile(0.5)) for each in known[best].values())
    low, high = min(near_top[0], best) - blur, max(near_top[-1], best) + blur
    return best, shares, (float(max(low, 0.0)), float(min(high, 1.0)))
