"""Simulated annotators, the run of any method against one, its score by the same tally as FIX, and its plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.parallel import checkpoint
from ..base.results import METRICS
from ..engine.tally import EXPOSURE, SCORES, Tally, of_labels
from ..model.annotator import TIE, Annotator, PresenceRule
from ..model.answer_model import AnswerModels
from ..model.cost import Cost
from ..model.intervals import EventArrays, Intervals
from .base import AnswerHistory, Counted, Labels, Method, Recording, Session
from .model import B, Floats, RecordingModel, Sums, some_recordings

if TYPE_CHECKING:
    from .problem import LabelingProblem

#: Recordings on which a plan runs a method, at least and at most, and their seconds; more if it follows no answers.
_LEAST, _TRIED, _SECONDS, _MORE = 4, 12, 720.0, 16
_FOUND = SCORES.index("n_found")


def event_fractions(events: Intervals, segments: Intervals) -> NDArray[np.float64]:
    """The largest share of one event in each segment; events are sorted and disjoint.

    >>> event_fractions(np.array([[1.0, 3.0]]), np.array([[0.0, 2.0], [3.0, 4.0]])).tolist()
    [0.5, 0.0]
    """
    most = np.zeros(len(segments))
    for rows in range(0, len(segments), 4096):  # keeps the table of segments by events small
        part = segments[rows : rows + 4096]
        near = events[(events[:, 1] > part[:, 0].min()) & (events[:, 0] < part[:, 1].max())]
        if len(near):
            shared = np.minimum(near[:, 1], part[:, 1:]) - np.maximum(near[:, 0], part[:, :1])
            most[rows : rows + 4096] = (np.maximum(0.0, shared) / (near[:, 1] - near[:, 0])).max(axis=1)
    return most


class SimulatedAnnotator:
    """Somebody who answers segments by the true events: a criterion, guesses, lapses, flips, votes; or a rule.

    Parameters
    ----------
    annotator : an :class:`~weakly.Annotator`, a criterion, a law, or text of one. A law of criteria is drawn from once
        for each voter: a criterion belongs to a person, guesses and lapses to a segment.
    rule : a presence rule, or its text, instead of the annotator's criterion.
    rng : seed or generator.

    Examples
    --------
    >>> SimulatedAnnotator(0.5)(np.array([[1.0, 3.0]]), np.array([[0.0, 2.0], [2.5, 4.0]])).tolist()
    [1.0, 0.0]
    """

    def __init__(self, annotator: Any = 0.5, *, rule: PresenceRule | str | None = None, rng: Any = None) -> None:
        models = AnswerModels.of(annotator=annotator)
        if len(models) != 1:
            raise InvalidInput(f"annotator must be one person here, got {models.name}")
        self.annotator = models.members[0].annotator or Annotator()
        self.rule = models.rule if rule is None else AnswerModels.of(rule=rule).as_rule
        self._rng = np.random.default_rng(rng)
        voters = self.annotator.votes[1] if self.annotator.votes else 1
        law = self.annotator.presence_criterion
        self.criteria = (
            np.full(voters, law) if isinstance(law, float) else np.asarray(law.ppf(self._rng.random(voters)))
        )

    def __call__(self, events: Intervals, segments: Intervals) -> NDArray[np.float64]:
        """The answers to the segments of a recording with these events: 1 present, 0 absent."""
        if len(segments) == 0:
            return np.empty(0)
        who = self.annotator
        if self.rule is not None:
            met = np.repeat(self._by_rule(events, segments)[:, None], len(self.criteria), axis=1)
        else:
            h = event_fractions(events, segments)
            met = (h[:, None] > 0) & (h[:, None] >= self.criteria * (1 - TIE))
        chance = who.guess_rate + (1 - who.guess_rate - who.lapse_rate) * met
        chance = chance + who.flip_rate * (1 - 2 * chance)
        said = self._rng.random(met.shape) < chance if who.is_noisy else met
        need = who.votes[0] if who.votes else 1
        found: NDArray[np.float64] = (said.sum(axis=1) >= need).astype(np.float64)
        return found

    def _by_rule(self, events: Intervals, segments: Intervals) -> NDArray[np.bool_]:
        assert self.rule is not None
        if len(events) == 0:
            return np.zeros(len(segments), dtype=bool)
        met = self.rule.is_present(event=events[None], segment=segments[:, None])
        return np.asarray(met.any(axis=1), dtype=np.bool_)


@dataclass(frozen=True)
class Outcome(Counted):
    """What came of one recording: the labels, what was asked, and what was answered."""

    recording: Recording
    labels: Labels
    asked: AnswerHistory


def run(
    method: Method,
    recording: Recording,
    annotator: Callable[[Intervals, Intervals], NDArray[np.float64]],
    *,
    most_queries: int | None = None,
    earlier: Sequence[Outcome] = (),
) -> Outcome:
    """The outcome of a method on a recording whose events are known, with a simulated annotator.

    ``earlier`` are the outcomes of the campaign so far, from which the method may have learned.

    Examples
    --------
    >>> from weakly.methods.bisection import Bisection
    >>> from weakly.methods.base import Recording
    >>> one = Recording("a", 8.0, events=np.array([[2.2, 3.0]]))
    >>> outcome = run(Bisection(segment_length=1.0, start=1), one, SimulatedAnnotator(0.5))
    >>> outcome.n_queries, outcome.labels.events.tolist()
    (7, [[2.0, 3.0]])
    """
    if recording.events is None:
        raise InvalidInput(f"recording {recording.name!r}: a simulated annotator needs the true events")
    session = Session(method.among({one.recording.name: (one.recording, one.asked) for one in earlier}), recording)
    while len(segments := session.next()):
        if most_queries is not None and session.n_queries + len(segments) > most_queries:
            break
        session.answer(annotator(recording.events, segments), segments=segments)
    return Outcome(recording, session.labels, session.asked)


def tally(labels: Sequence[Labels], timelines: EventArrays, *, rule: PresenceRule | None = None) -> Tally:
    """The tally of labels against the true events; time without an answer counts as absent.

    An event is found if a present segment *that was heard* satisfies the rule on it, also where the labels are cut
    more finely than the segments (overlapping windows).
    """
    sure = [~np.isnan(one.present) for one in labels]
    result = of_labels(
        timelines,
        [one.segments[known] for one, known in zip(labels, sure)],
        [one.present[known] for one, known in zip(labels, sure)],
        rule=rule,
    )
    if all(one.noticed is None for one in labels):
        return result
    heard = [one.segments[one.present == 1] if one.noticed is None else one.noticed for one in labels]
    found = of_labels(timelines, heard, [np.ones(len(one)) for one in heard], rule=rule)
    result.sums[..., _FOUND] = found.sums[..., _FOUND]
    result.products[..., -2:] = found.products[..., -2:]  # the squares that go with it
    return result


def score(
    outcomes: Sequence[Outcome],
    *,
    presence_criterion: float | str | None = None,
    rule: PresenceRule | str | None = None,
    cost: Any = None,
) -> dict[str, float]:
    """The words of results for the outcomes of one method: accuracies, recalls, wrong time, queries, seconds, cost.

    Examples
    --------
    >>> from weakly.methods.fixed import Oracle
    >>> from weakly.methods.base import Recording
    >>> from weakly.methods.simulated import SimulatedAnnotator, run
    >>> one = Recording("a", 10.0, events=np.array([[2.0, 3.0]]))
    >>> row = score([run(Oracle(), one, SimulatedAnnotator(0.5))], presence_criterion=0.5)
    >>> row["wrong_time"], row["event_recall"], row["n_queries"]
    (0.0, 1.0, 3)
    """
    chosen: PresenceRule | None = None
    if rule is not None or presence_criterion is not None:
        chosen = AnswerModels.of(presence_criterion=presence_criterion, rule=rule).as_rule
    timelines = EventArrays.of([one.recording.events for one in outcomes], [one.recording.length for one in outcomes])
    result = tally([one.labels for one in outcomes], timelines, rule=chosen)
    values = result.metrics()
    row: dict[str, float] = {}
    for name in METRICS:
        row[name] = float(values[name].item())
        row[f"{name}_se"] = float(values[f"{name}_se"].item())
    row["n_queries"] = sum(one.n_queries for one in outcomes)
    row["listened"] = sum(one.listened for one in outcomes)
    row["cost"] = float((cost or Cost()).of(listened=row["listened"], n_queries=row["n_queries"]))
    row["n_recordings"] = len(outcomes)
    row["n_events"] = float(result.n_events.item())
    return row


def simulated_sums(method: Method, problem: LabelingProblem) -> Sums:
    """What a plan expects of a method: it is run on some of the recordings, with a fixed seed.

    Each of the criteria that the plan takes for possible answers every recording, with its weight. The standard error
    is 0 where all recordings are known and answers certain.
    """
    n = int(np.clip(_SECONDS / problem.recording_length, _LEAST, _TRIED)) * (1 if method.follows_answers else _MORE)
    raws, bases, errors, tried = [], [], [], 0
    for model in (problem.model.only(label) for label in problem.labels):
        lines = some_recordings(model, n, n)
        is_whole = isinstance(model, RecordingModel) and not model.drawn and len(lines) == round(model.count)
        repeats = 1 if problem.criteria.is_noiseless else -(-n // len(lines))
        units = [unit for _ in range(repeats) for unit in _tried(method, problem, lines)]
        raw, base = (np.stack(each) for each in zip(*units))
        wrong = raw[:, :3].sum(axis=1) + base[:, B["event_time"]] - 2 * raw[:, 0]  # tp, fp, fp_outside
        exact = is_whole and problem.criteria.is_noiseless
        errors.append(0.0 if exact else float(wrong.std(ddof=1) / np.sqrt(len(wrong))))
        raws.append(raw.mean(axis=0) * model.count)
        bases.append(base.mean(axis=0) * model.count)
        tried = len(lines)
    heard, answers = (
        sum(column) if method.follows_answers else column[0]
        for column in ([float(base[B[name]]) for base in bases] for name in ("listened", "n_segments"))
    )
    note = f"simulated on {tried:,} recordings"
    return Sums(np.stack(raws), np.stack(bases), heard, float(np.hypot.reduce(errors)), note, answers)


def _tried(method: Method, problem: LabelingProblem, lines: EventArrays) -> list[tuple[Floats, Floats]]:
    """The measures of every recording, averaged over who may answer."""
    rng = np.random.default_rng(0)
    total = [(np.zeros(len(SCORES)), np.zeros(len(EXPOSURE))) for _ in range(len(lines))]
    for weight, rule, low, high in problem.answers_of(method).parts():
        annotator = SimulatedAnnotator(Annotator(guess_rate=low, lapse_rate=1 - high), rule=rule, rng=rng)
        earlier: list[Outcome] = []
        for k, (events, length) in enumerate(lines):
            checkpoint()
            one = Recording(f"{k}", length, events=events)
            done = run(method, one, annotator, earlier=earlier if method.learns else ())
            earlier.append(done)
            scored = tally([done.labels], EventArrays.of([events], length), rule=rule)
            raw, base = scored.sums[0, 0], scored.base_sums[0]
            base[[B["n_segments"], B["listened"]]] = done.n_queries, done.listened
            total[k][0][:] += weight * raw
            total[k][1][:] += weight * base
    return total
