"""Answers about many recordings of one class: the process of its events, everybody's slips, and each recording.

Made by :meth:`.class_answers.ClassAnswers.posterior`.

**What is reported** is an envelope. Gaps of one kind (events that come independently) and of two kinds (bouts) are
always both tried, each as likely beforehand. An interval reaches from the least lower to the greatest upper end of the
95 % intervals under 1, 3 and 8 stages of short gaps, and under gaps of one kind unless the evidence excludes it: a
logarithm of the Bayes factor above EXCLUDED. Only then bouts are tried of which half of the short gaps have no length.
So with rates that differ between recordings (:mod:`.rates`). Where gaps of one kind are likelier and the number of
stages hardly matters, these are one, averaged. The value is the median of the averaged posterior. What it says of the
number of events is *identified* if its medians, over the shapes of short gaps and with these expected half or twice as
long, differ by no more than STABLE times, and the ends of the interval by no more than twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.answer_model import AnswerModels
from ..model.intervals import duration, merge
from .chain import Posterior
from .detector import Calibration
from .fitting import AnswerPattern, FittedFamily, slip_interval
from .renewal import Array, Uncertain

#: The criteria that stand for an unknown one.
CRITERIA = (0.3, 0.5, 0.7)
#: What is said of recordings and classes, each with an interval.
WORDS = ("n_events", "event_seconds", "event_rate")
SURE = 2.5  # an estimate is identified if the ends of its interval differ by less than this factor
EXCLUDED, STABLE = 3.0, 1.2  # see above
_STRATA = 8  # nodes that stand for a family


@dataclass(frozen=True, eq=False)
class RecordingPosterior(AnswerPattern):
    """One recording of one class: its answers, P(active) per step, the expected number and seconds of events, and their
    95 % intervals."""

    step: float
    active: Array
    n_events: float
    event_seconds: float
    n_events_ci: tuple[float, float]
    event_seconds_ci: tuple[float, float]

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
    renewal: Uncertain
    annotator: Any
    families: tuple[FittedFamily, ...]  # of processes, that of gaps of one kind first; none: the process was given
    recordings: tuple[RecordingPosterior, ...]
    totals: Mapping[str, Array]  # drawn numbers and seconds of events of all recordings, (families, draws)
    log_likelihood: float  # of the answers that told the process
    slips: Mapping[str, Array] = field(default_factory=dict)  # of everybody whose slips were estimated, their counts
    check: Mapping[str, float] = field(default_factory=dict)  # p-values of :func:`.class_answers.check`
    calibration: Calibration | None = None  # of a detector's scores

    def timeline(self, one: RecordingPosterior) -> Posterior:
        """The exact posterior of a recording's timeline."""
        return one.prepared(self.renewal, self.annotator, self.calibration).posterior(self.renewal)

    @property
    def bayes_factor(self) -> float | None:
        """The logarithm of the Bayes factor, bouts against gaps of one kind; None where not both were tried."""
        return bayes_factor(self.families)

    @property
    def rates_differ(self) -> float | None:
        """The logarithm of the Bayes factor, rates that differ from recording to recording against one for all."""
        return bayes_factor(self.families, "differs")

    @property
    def kept(self) -> NDArray[np.bool_]:
        """The families that intervals hold for."""
        return kept_of(self.families)

    @property
    def law_given(self) -> bool:
        """Whether the law of lengths was given."""
        return not self.families or self.families[0].family.lengths is not None

    @cached_property
    def stability(self) -> float:
        """The largest over the smallest median of the number of events: over the stages of short gaps, and with short
        gaps expected half or twice as long."""
        medians = []
        for row, each, is_kept in zip(self.totals["n_events"], self.families, self.kept):
            family = each.family
            if not family.stages or not is_kept:
                continue
            nodes, parts = each.strata(strata_of(len(row)))
            which = np.repeat(np.arange(len(nodes)), split(len(row), parts))
            for short in (0.75, 1.5, 3.0):
                logs = np.array([family.log_prior(theta, short=short) - family.log_prior(theta) for theta in nodes])
                medians.append(float(_quantiles(row, np.exp(logs - logs.max())[which], [0.5])[0]))
        return max(medians) / max(min(medians), 1e-9) if medians else 1.0

    @property
    def identified(self) -> bool:
        """Whether the answers tell the number of events."""
        low, high = self.overall["n_events_ci"]
        if self.families and (self.one_each or not self.told or self.too_long or self.full > 0.5):
            return False
        return bool(self.stability <= STABLE and high <= 2 * low)

    @property
    def one_each(self) -> bool:
        """Whether there is hardly more than one segment side by side in a recording: each tells one bit, and nothing
        of how many events there are where there is one."""
        return float(np.mean([1 + (np.sort(one.segments[:, 0])[1:] >= one.segments[:, 1].min() - 1e-9).any()
                              for one in self.recordings])) < 1.5  # fmt: skip

    @property
    def told(self) -> bool:
        """Whether some answers are present and some absent."""
        said = np.concatenate([one.present for one in self.recordings])
        return bool((said == 1).any() and (said == 0).any())

    @property
    def full(self) -> float:
        """The share of the events that is expected in recordings of which every segment is present, where such a
        segment may hold several."""
        if self.calibration is not None or 2 * self.mean_lengths[0] > self.segment_lengths.max():
            return 0.0
        many = np.array([one.n_events for one in self.recordings])
        full = np.array([bool((one.present[~np.isnan(one.present)] == 1).all()) for one in self.recordings])
        return float(many[full].sum() / max(many.sum(), 1e-9))

    @property
    def bunching_unknown(self) -> bool:
        """Whether it is the gaps within bouts that leave the number of events open."""
        if self.identified or not any(each.family.stages and kept for each, kept in zip(self.families, self.kept)):
            return False
        low, high = self.overall["n_events_ci"]
        plain = math.inf if self.bayes_factor is None else float(np.diff(self.family_interval("n_events", 0))[0])
        return self.stability > STABLE or high - low > 1.5 * plain

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the most events that the answers allow, if there were no slips, whatever the gaps: an event
        satisfies few segments that do not overlap, and events of the mean length may fill all present ones and, with
        what the rule does not notice, the ends of the others. A mean length that was estimated is taken at the end of
        its interval: the longest for the least, the shortest for the most."""
        short, long = ends = self.mean_lengths
        least, most, needs = 0.0, 0.0, {}
        for one in self.recordings:
            end = -1.0
            for (a, b), said in zip(one.segments, one.present):  # in the order of their beginnings
                if a < end - 1e-9:
                    continue
                end, width = b, b - a
                if width not in needs:
                    needs[width] = np.clip(np.min(self._needed(ends, width), axis=0), 0.0, ends).tolist()
                if said == 1:
                    least += 1 / max(1, math.floor(long / max(needs[width][1], 1e-9) + 1e-9))
                most += width / short if said == 1 else 2 * needs[width][0] / short
        return least, max(most, least)

    def _needed(self, lengths: Any, widths: Any) -> list[Array]:
        """The overlap that each rule of somebody asks for; infinite where no such event satisfies such a segment."""
        who = self.annotator.values() if isinstance(self.annotator, Mapping) else [self.annotator]
        rules = [part.rule for each in who for part in AnswerModels.of(annotator=each).parts(1)]
        return [rule.required_overlap(event_length=lengths, segment_length=widths) for rule in rules]

    @property
    def too_long(self) -> bool:
        """Whether half of the events, or more, are too long for the rule in every segment."""
        needed = self._needed(self.renewal.lengths.quantile(0.5), self.segment_lengths)
        return self.calibration is None and bool(np.isinf(needed).all())

    @cached_property
    def mean_lengths(self) -> tuple[float, float]:
        """The ends of the interval of the mean event length; both are the mean where the law was given."""
        if self.law_given:
            return (self.renewal.lengths.mean,) * 2
        kept = [each for each, is_kept in zip(self.families, self.kept) if is_kept]
        low, _, high = np.transpose([each.quantiles(lambda process: process.lengths.mean) for each in kept])
        return float(low.min()), float(high.max())

    def family_interval(self, word: str, k: int) -> tuple[float, float]:
        """The interval of the total under one family of processes."""
        low, high = np.quantile(self.totals[word][k], [0.025, 0.975], method="weibull")
        return float(low), float(high)

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
    def clip_words(self) -> str:
        """How long segments are, in words; nothing where there are none."""
        if not any(len(one.segments) for one in self.recordings):
            return ""
        low, high = self.segment_lengths[[0, -1]]
        return f"{low:g} s" if low == high else f"{low:g} to {high:g} s"

    @property
    def summary(self) -> list[dict[str, Any]]:
        """Of each recording: expected events, their seconds and rate, each with its interval, and painted seconds."""
        return [
            {"recording": one.recording, "label": self.label}
            | _row((one.n_events, one.event_seconds), (one.n_events_ci, one.event_seconds_ci), one.length)
            | {"painted_seconds": duration(one.painted)}
            for one in self.recordings
        ]

    @cached_property
    def overall(self) -> dict[str, Any]:
        """Events, their seconds and rate over all recordings, each with its interval."""
        every, values, ends = self.recordings, [], []
        for word, drawn in self.totals.items():
            values.append(float(sum(getattr(one, word) for one in every)))
            if self.families:
                weights = np.repeat(shares_of(self.families), drawn.shape[1])
                values[-1] = float(_quantiles(drawn.ravel(), weights, [0.5])[0])
            ends.append(envelope(self._told(drawn), values[-1]))
        return {
            "label": self.label,
            "n_recordings": len(every),
            "recording_seconds": self.seconds,
            **_row(values, ends, self.seconds),
            "painted_seconds": sum(duration(one.painted) for one in every),
            "log_likelihood": self.log_likelihood,
        }

    def _told(self, drawn: Array) -> Array:
        """What was drawn under the families that intervals hold for."""
        stages = np.array([each.family.stages > 0 for each in self.families] or [False])
        if not (self.kept & stages).any() or (self.bayes_factor or 0.0) >= 0 or self.stability > STABLE:
            return np.asarray(drawn[self.kept])
        many = drawn.shape[1]
        weights = np.repeat(shares_of(self.families)[stages], many)
        averaged = _quantiles(drawn[stages].ravel(), weights, (np.arange(many) + 0.5) / many)
        return np.vstack((drawn[self.kept & ~stages], averaged))

    @property
    def estimates(self) -> list[dict[str, Any]]:
        """Rate, law of lengths and bouts, given or estimated: value, interval, and whether the answers identify it."""
        law, rows = self.renewal.lengths, []
        bouts = [each for each in self.families if each.family.stages]
        kept = [each for each, is_kept in zip(self.families, self.kept) if is_kept]
        for name, value, given, function, families in (
            ("event_rate", self.renewal.event_rate, not self.families, lambda r: r.event_rate, kept),
            ("mean_length", law.mean, self.law_given, lambda r: r.lengths.mean, kept),
            ("median_length", law.quantile(0.5), self.law_given, lambda r: r.lengths.quantile(0.5), kept),
            ("bout_share", np.nan, False, lambda r: r.bouts.share, bouts),
            ("bout_gap", np.nan, False, lambda r: r.bouts.gap, bouts),
        ):
            if not given and not families:
                continue
            ends, sure = (np.nan, np.nan), given
            if not given:
                low, middle, high = np.transpose([each.quantiles(function) for each in families])
                value, ends = float(shares_of(families) @ middle), (float(low.min()), float(high.max()))
                widths = self.segment_lengths  # which tell the law of event lengths if they differ enough
                sure = bool(ends[1] < SURE * ends[0] and (self.law_given or widths[-1] >= 1.5 * widths[0]))
                sure = sure and (self.identified or not name.startswith(("event", "bout")))
            rows.append(estimate(self.label, name, value, ends, "given" if given else "estimated", sure))
        none, c = (np.nan, np.nan), self.calibration
        if c is not None:
            how = "given" if c.covariance is None else "estimated"
            numbers = {} if c.covariance is None else {"score_temper": c.temper}
            numbers |= {"log_answers_given_scores": c.log_likelihood, "log_answers_without_scores": c.uncalibrated}
            sure = c.interval(0)[0] > 0 or how == "given"
            rows.append(estimate(self.label, "score_scale", c.scale, c.interval(0), how, sure))
            rows.append(estimate(self.label, "score_offset", c.offset, c.interval(1), how, True))
            for name, value in numbers.items():
                rows.append(estimate(self.label, name, value, none, "estimated", True))
        if (factor := self.bayes_factor) is not None:
            name, sure = "bouts_log_bayes_factor", abs(factor) > EXCLUDED
            rows.append(estimate(self.label, name, factor, none, "estimated", sure))
        return rows

    @property
    def slip_estimates(self) -> list[dict[str, Any]]:
        """Guesses and lapses of everybody for whom they were estimated."""
        rows = []
        for name, counts in self.slips.items():
            who = self.annotator[name]
            rates = ("guess_rate", who.low, counts[:2]), ("lapse_rate", 1 - who.high, counts[2:])
            for word, value, (wrong, n) in rates:
                low, high = slip_interval(float(wrong), float(n))
                whose = word if len(self.slips) == 1 else f"{word} of {name}"
                ends = min(low, value), max(high, value)
                rows.append(estimate(self.label, whose, value, ends, "estimated", high - low < 0.1))
        return rows


def estimate(
    label: str, quantity: str, value: Any, ci: tuple[float, float], how: str, identified: bool
) -> dict[str, Any]:
    """A row of a table of estimates."""
    return {"label": label, "quantity": quantity, "value": value, "ci": ci, "how": how, "identified": identified}


def _row(values: Sequence[float], ends: Sequence[tuple[float, float]], seconds: float) -> dict[str, Any]:
    """Events, their seconds and their rate, each with its interval."""
    (n_events, low, high) = (values[0], *ends[0])
    values, ends = [*values, n_events / seconds], [*ends, (low / seconds, high / seconds)]
    return {key: x for word, *pair in zip(WORDS, values, ends) for key, x in zip((word, f"{word}_ci"), pair)}


def envelope(drawn: Array, value: float) -> tuple[float, float]:
    """The interval that holds the 95 % intervals of all rows of what was drawn, and what is expected."""
    low, high = np.quantile(drawn, [0.025, 0.975], axis=1, method="weibull")  # of few events, all may be none
    return float(min(low.min(), value)), float(max(high.max(), value))


def bayes_factor(families: Sequence[FittedFamily], quality: str = "bunches") -> float | None:
    """The logarithm of the Bayes factor of families that have a quality (``bunches``, ``differs``) against the others;
    None where not both were tried."""
    logs, ours = _logs_of(families), np.array([getattr(each.family, quality) for each in families], np.bool_)
    alike = np.array([each.family.stages == 0 for each in families], np.bool_)  # stages are one family
    sums = [np.logaddexp.reduce(logs[side]) - math.log((side & alike).sum() + (side & ~alike).any())
            for side in (ours, ~ours) if side.any()]  # fmt: skip
    return float(sums[0] - sums[1]) if len(sums) == 2 else None


def kept_of(families: Sequence[FittedFamily]) -> NDArray[np.bool_]:
    """The families that intervals hold for: those that the evidence does not exclude; all stages if any gaps may be
    short, since the shape of short gaps is what answers tell least."""
    logs, bouts = _logs_of(families), np.array([each.family.stages > 0 for each in families] or [False])
    logs[bouts] = np.logaddexp.reduce(logs[bouts], initial=-np.inf)
    kept = logs >= logs.max() - EXCLUDED
    staged = bouts & [not each.family.at_once for each in families] if families else bouts
    return np.asarray(kept | (staged & any(each.family.bunches for each, is_kept in zip(families, kept) if is_kept)))


def _logs_of(families: Sequence[FittedFamily]) -> Array:
    """The logarithm of how likely each family is: gaps of one kind with one rate, with rates that differ, the latter
    with some short gaps, and of two kinds are alike beforehand, and so all stages of the last."""
    many = sum(each.family.stages > 0 for each in families)
    logs = [each.log_evidence - math.log(many if each.family.stages else 1.0) for each in families]
    return np.array(logs or [0.0])


def shares_of(families: Sequence[FittedFamily]) -> Array:
    """How likely each family is."""
    logs = _logs_of(families)
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


def _quantiles(values: Array, weights: Array, q: Sequence[float]) -> Array:
    """Of values with weights."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order]) - weights[order] / 2
    return np.asarray(np.interp(np.array(q) * weights.sum(), upto, values[order]))


def strata_of(draws: int) -> int:
    """How many nodes stand for a family."""
    return max(1, min(_STRATA, draws // 5))


def split(draws: int, parts: Array) -> NDArray[np.int64]:
    """How many of the draws fall to each of some nodes with these shares."""
    ends = np.round(np.concatenate(([0.0], np.cumsum(parts))) * draws)
    return np.asarray(ends[1:] - ends[:-1], dtype=np.int64)
