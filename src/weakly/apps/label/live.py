"""How good the labels are by now, what they cost, and whether that is enough: what the answers say, against targets."""

from __future__ import annotations

import statistics
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base.errors import AssumptionWarning, InvalidInput
from ...base.results import Condition, counted, hours, percent, seconds
from ...methods.base import AnswerHistory, Recording, verdict
from ...methods.information import Information, Stretch
from ...model.annotator import Annotator
from ...model.answers import Answers
from ...model.cost import Cost
from ...model.events import Events
from ...model.lengths import Lengths
from ...posterior.criterion import CriterionPosterior
from ...posterior.particle_kernels import NAMES
from ...posterior.particles import ParticlePosterior, scaled
from ...posterior.renewal import ENDS, events_above
from ...studies.audit.agreement import krippendorff_alpha
from .follow_up import AdaptiveFollowUp
from .session import LabelingSession

if TYPE_CHECKING:
    from ...studies.infer.inference import Inference

#: Criteria that the answers alone are asked to tell from each other.
CRITERIA = np.linspace(0.05, 0.95, 10)
SLIP = 0.02  # how often people guess, and lapse, while nobody knows
#: What a target may be about: which way is good, whether it is a budget, and what the number counts.
WORDS = {
    "wrong_time": ("<=", False, "s per recording"), "event_recall": (">=", False, "of the events"),
    "presence_criterion_width": ("<=", False, "of an event"), "n_queries": ("<=", True, "answers"),
    "listened": ("<=", True, "s heard"), "minutes": ("<=", True, "min of work"), "cost": ("<=", True, ""),
}  # fmt: skip
_COLUMNS = ("recording", "onset", "offset", "label", "present", "annotator", "seconds", "query", "answer")


def targets(text: str | None) -> tuple[Condition, ...]:
    """Qualities to reach, or budgets (answers, seconds heard, minutes of work, cost) to stay within.

    >>> [goal_words(each) for each in targets("event_recall>=90%, minutes<=30")]
    ['event_recall >= 0.9 of the events', 'minutes <= 30 min of work']
    """
    return Condition.targets(text, {word: sense for word, (sense, _, _) in WORDS.items()})


def goal_words(goal: Condition) -> str:
    """A target with its unit."""
    return f"{goal.word} {goal.sense} {goal.value:g} {WORDS[goal.word][2]}".strip()


def _is_reached(goal: Condition, now: float | None) -> bool:
    """Whether the quality is there, or the budget is used up."""
    return now is not None and (now >= goal.value if WORDS[goal.word][1] else goal.met(now))


_HEARS = ("presence_criterion", "spread", "guess_rate", "lapse_rate")


@dataclass(frozen=True)
class _StretchBelief:
    """One stretch of which something was asked."""

    known: ParticlePosterior
    edges: NDArray[np.float64]
    active: NDArray[np.float64]
    drawn: tuple[NDArray[np.float64], NDArray[np.float64]]  # onsets and offsets of the events of all particles
    wrong_time: float
    found: float
    asked: AnswerHistory
    answers_left: float

    @property
    def n_events(self) -> float:
        """How many events a particle has there."""
        return len(self.drawn[0]) / len(self.known.count)

    @property
    def seconds(self) -> float:
        """How long it is."""
        return float(self.edges[-1] - self.edges[0])


class BeliefSummary:
    """The beliefs of the method over all stretches; each is looked at again when something more was answered there."""

    def __init__(self, following: AdaptiveFollowUp, method: Information) -> None:
        self._following, self._method = following, method
        self._parts: dict[tuple[str, str, float], _StretchBelief] = {}

    def _look(self, session: LabelingSession) -> dict[tuple[str, str, float], _StretchBelief]:
        """The stretches that something was asked of, by label, recording and start."""
        found = {}
        for label in dict.fromkeys(item.label for item in session.items.values()):
            campaign = self._following.campaign(session, label)
            method = self._method.among(campaign)
            for name, (recording, asked) in campaign.items():
                for part in method.stretches(recording, asked) if len(asked) else ():
                    place, mine = (label, name, part.start), part.asked(asked)
                    held = self._parts.get(place)
                    if held is not None and _mark(held.asked) == _mark(mine):
                        found[place] = held
                    elif len(mine):
                        found[place] = _stretch_belief(method, recording, asked, part)
        self._parts = found
        return found

    def labels(self, session: LabelingSession) -> dict[str, float] | None:
        """Expected wrong time per recording, share of events found, events, their seconds, and answers left.

        Time of which nothing was asked yet counts with the share of event time, the rate and the answers per second
        of the rest. An event is found if a present segment holds enough of it, averaged over the particles.
        """
        parts = list(self._look(session).values())
        if not parts:
            return None
        labels = len(dict.fromkeys(item.label for item in session.items.values()))
        asked = sum(one.seconds for one in parts)
        recordings = self._following.recordings
        rest = max(0.0, labels * sum(one.length for one in recordings.values()) - asked)
        busy = sum(float(one.active @ np.diff(one.edges)) for one in parts)
        many = sum(one.n_events for one in parts) * (1 + rest / asked)
        wrong = sum(one.wrong_time for one in parts) + min(busy / asked, 1 - busy / asked) * rest
        left = sum(one.answers_left for one in parts)
        left += (sum(len(one.asked) for one in parts) + left) * rest / asked
        answers, price = sum(len(one.asked) for one in parts), Cost()
        heard = sum(one.asked.listened for one in parts)
        return {
            "wrong_time": wrong / len(recordings), "n_events": many, "event_seconds": busy * (1 + rest / asked),
            "event_recall": sum(one.found for one in parts) / many if many > 0 else 1.0,
            "answers_left": left, "shortest": self._method.shortest,
            "work_left": left * (heard / answers + price.seconds_per_answer),
            "by_hand": sum(one.length for one in recordings.values()) + price.seconds_per_event * many,
        }  # fmt: skip

    def hears(self, session: LabelingSession) -> dict[str, Any] | None:
        """How whoever answers hears, from the answers alone: criterion and its spread, guesses, lapses, with 95 %
        intervals.

        On the scale of the particles each stretch adds what its answers told beyond what was expected of it: precisions
        add up, :math:`1/v = 1/v_0 + \\sum_i (1/v_i - 1/v_{0i})`.
        """
        parts = list(self._look(session).values())
        if not parts:
            return None
        sure = [item for item in session.items.values() if not item.calibration and session.is_settled(item.query)]
        found: dict[str, Any] = {
            "n_items": sum(verdict([one.present for one in session.answers(item.query)]) in (0, 1) for item in sure)
        }
        expected = self._method.base_prior
        for name in _HEARS:
            k = NAMES.index(name)
            precision, weighted = 1 / expected.covariance[k, k], expected.mean[k] / expected.covariance[k, k]
            for one in parts:
                x, before = one.known.numbers[:, k], one.known.expected
                now, then = 1 / max(float(x.var()), 1e-6), 1 / before.covariance[k, k]
                if now > then:
                    precision += now - then
                    weighted += now * float(x.mean()) - then * before.mean[k]
            ends = weighted / precision + np.array([0.0, -1.96, 1.96]) / np.sqrt(precision)
            found |= {f"{name}{end}": float(scaled(name, at)) for end, at in zip(("", "_low", "_high"), ends)}
        return found

    def known(self, session: LabelingSession) -> tuple[Events, pd.DataFrame] | None:
        """The likely events with how sure they and their ends are, and P(active) over time, as in ``weakly.infer``."""
        parts = self._look(session)
        if not parts:
            return None
        tables, rows = [], []
        for label, name in dict.fromkeys(place[:2] for place in parts):
            mine = [one for place, one in parts.items() if place[:2] == (label, name)]
            each = [
                pd.DataFrame({"onset": one.edges[:-1], "offset": one.edges[1:], "active": one.active}) for one in mine
            ]
            table = pd.concat(each, ignore_index=True)
            tables.append(table.assign(recording=name, label=label)[["recording", "label", *table.columns]])
            p, edges = table["active"].to_numpy(), np.append(table["onset"], table["offset"].iloc[-1])
            drawn = [np.concatenate(ends) for ends in zip(*(one.drawn for one in mine))]
            rows += [{"recording": name, "label": label, **row} for row in events_above(0.5, p, edges, *drawn)]
        frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "confidence", *ENDS])
        lengths = {name: one.length for name, one in self._following.recordings.items()}
        events = Events.from_frame(frame, recording_length=lengths, recordings=list(lengths))
        return events, pd.concat(tables, ignore_index=True)


def _mark(asked: AnswerHistory) -> bytes:
    return asked.segments.tobytes() + asked.present.tobytes()


def _stretch_belief(method: Information, recording: Recording, asked: AnswerHistory, part: Stretch) -> _StretchBelief:
    known, now = method.posterior(recording, asked, part), method.state(recording, asked, part)
    edges, active = method.within(known, part)
    starts, ends = known.heard
    middle = (starts + ends) / 2
    mine = (np.arange(starts.shape[1]) < known.count[:, None]) & (middle >= part.start) & (middle < part.end)
    marks = known.segments[known.present == 1]
    shared = np.minimum(ends[..., None], marks[:, 1]) - np.maximum(starts[..., None], marks[:, 0])
    found = float(((shared.max(axis=-1, initial=-1.0) >= known.enough - 1e-9) & mine).sum() / len(known.count))
    left = 0.0 if method.is_content(now, part) else max(1.0, now["answers_left"])
    drawn = starts[mine], ends[mine]
    return _StretchBelief(known, edges, active, drawn, now["wrong_time"], found, part.asked(asked), left)


@dataclass
class QualityMonitor:
    """The world that the answers are read in: a law of event lengths, how people hear, and a rate where it is known.

    A method that learns (``learned``) says by itself what it believes. Else, without a law of lengths, answers, seconds
    and costs are counted, and nothing is said of the events.
    """

    recordings: dict[str, Recording]
    lengths: Lengths | None = None
    event_rate: float | None = None
    annotator: Annotator = field(default_factory=lambda: Annotator(guess_rate=SLIP, lapse_rate=SLIP))
    goals: tuple[Condition, ...] = ()
    cost: Cost | None = None
    learned: BeliefSummary | None = None
    _last: tuple[int, Inference | None] = (-1, None)
    _criteria: dict[str, tuple[int, dict[str, Any] | None]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)  # one works it out, the others wait for it

    def __post_init__(self) -> None:
        words = {goal.word for goal in self.goals}
        if self.lengths is None and self.learned is None and words & {"wrong_time", "event_recall"}:
            raise InvalidInput("a target of wrong_time or event_recall needs the law of event lengths: --event-length")
        if self.cost is None and "cost" in words:
            raise InvalidInput("a target of cost needs prices: give --per-query or --per-second")

    def inference(self, session: LabelingSession) -> Inference | None:
        """What :func:`weakly.infer` makes of the answers; None while none of them is sure, or without a law."""
        given = answers_of(session)
        mark = hash(tuple(given["answer"]))
        with self._lock:
            if self._last[0] != mark:
                self._last = (mark, self._infer(given, self.annotator, draws=20))
            return self._last[1]

    def known(self, session: LabelingSession) -> tuple[Events, pd.DataFrame] | None:
        """The likely events with how sure they are, and P(an event is under way) over time; None without a law."""
        if self.learned is not None:
            with self._lock:
                return self.learned.known(session)
        found = self.inference(session)
        return None if found is None else (found.events(), found.active)

    def _infer(self, given: pd.DataFrame, annotator: Annotator, *, draws: int) -> Inference | None:
        from ...studies.infer.estimation import infer

        if self.lengths is None or not given["present"].notna().any():
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            return infer(
                Answers.from_frame(given.drop(columns="answer")), event_length=self.lengths, annotator=annotator,
                event_rate=self.event_rate, draws=draws, rng=0,
                recording_length={name: one.length for name, one in self.recordings.items()},
            )  # fmt: skip

    def criterion(self, session: LabelingSession, annotator: str) -> dict[str, Any] | None:
        r"""The law of one person's criterion, from their answers alone: mean, 95 % interval, and weights by criterion.

        :math:`P(\gamma \mid \text{answers}) \propto P(\text{answers} \mid \gamma, \hat\lambda_\gamma)` on a grid, every
        criterion alike beforehand; the rate of events is given, or the likeliest one under each criterion. Segments of
        one length hardly tell a high rate from a low criterion, and then the interval is wide.
        """
        if self.learned is not None:  # it cannot tell one person from another
            with self._lock:
                return self.learned.hears(session) if len(session.people) == 1 else None
        if self.lengths is None:
            return None
        given = answers_of(session)
        given = given[given["annotator"] == annotator]
        mark = hash(tuple(given["answer"]))
        with self._lock:
            if self._criteria.get(annotator, (None,))[0] != mark:
                self._criteria[annotator] = (mark, self._criterion(given))
            return self._criteria[annotator][1]

    def _criterion(self, given: pd.DataFrame) -> dict[str, Any] | None:
        likelihoods = []
        for value in CRITERIA.tolist():
            who = Annotator(presence_criterion=value, guess_rate=SLIP, lapse_rate=SLIP)
            inference = self._infer(given, who, draws=2)
            if inference is None:
                return None
            likelihoods.append(inference.log_likelihood)
        n_items = int(given["present"].notna().sum())
        posterior = CriterionPosterior.hard(CRITERIA, np.array(likelihoods), rate=SLIP, n_items=n_items)
        low, high = posterior.interval()
        return {
            "presence_criterion": posterior.expected(), "presence_criterion_low": low, "presence_criterion_high": high,
            "n_items": n_items, "law": dict(zip(CRITERIA.round(2).tolist(), posterior.weights[:, 0].tolist())),
        }  # fmt: skip

    def labels(self, session: LabelingSession) -> dict[str, float] | None:
        """Expected wrong time per recording, share of events found, events and their seconds; None without a law.

        A recording without an answer counts with the share of event time and the rate that the others make likely. An
        event is found if a segment that most called present holds enough of it, averaged over drawn timelines.
        """
        if self.learned is not None:
            with self._lock:
                return self.learned.labels(session)
        found = self.inference(session)
        if found is None:
            return None
        active, overall = found.active, found.overall
        p = active["active"].to_numpy()
        wrong = float((np.minimum(p, 1 - p) * (active["offset"] - active["onset"]).to_numpy()).sum())
        missed, seconds = 0.0, float(overall["event_seconds"].sum())
        for part in found.parts.values():  # each class by itself
            row, heard = part.overall, {one.recording for one in part.recordings}
            unheard = sum(one.length for name, one in self.recordings.items() if name not in heard)
            share = row["event_seconds"] / row["recording_seconds"]
            missed += row["event_rate"] * unheard
            seconds += share * unheard
            wrong += min(share, 1 - share) * unheard
        met, drawn = _met(found, _mean(self.annotator))
        return {
            "wrong_time": wrong / len(self.recordings), "n_events": float(overall["n_events"].sum()) + missed,
            "event_seconds": seconds,
            "event_recall": met / (drawn + missed) if drawn + missed > 0 else 1.0,
        }  # fmt: skip

    def answers_left(self, session: LabelingSession) -> float | None:
        """How many answers may be left, where the method can tell."""
        labels = None if self.learned is None else self.labels(session)
        return None if labels is None else labels["answers_left"]

    def spent(self, session: LabelingSession) -> dict[str, Any]:
        """What the answers so far took: how many, seconds heard, minutes of work, and their price."""
        given = [(session.items.get(one.query), one.seconds) for one in session.all_answers()]
        listened = sum(item.offset - item.onset for item, _ in given if item is not None)
        cost = None if self.cost is None else float(self.cost.of(listened=listened, n_queries=len(given)))
        return {
            "n_queries": len(given), "listened": listened, "cost": cost,
            "minutes": sum(seconds for _, seconds in given if seconds >= 0) / 60,
            "price": None if cost is None or self.cost is None else self.cost.words(cost),
        }  # fmt: skip

    def state(
        self, session: LabelingSession, annotator: str | None, card: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Everything: a person's criterion from the answers alone, the labels, what was spent, and each target."""
        labels, spent = self.labels(session), self.spent(session)
        alone = None if annotator is None else self.criterion(session, annotator)
        measured = card or alone
        ends = None if measured is None else (measured["presence_criterion_low"], measured["presence_criterion_high"])
        width = None if ends is None or None in ends else ends[1] - ends[0]
        numbers = {**spent, **(labels or {}), "presence_criterion_width": width}
        is_asking = labels is not None and labels.get("answers_left", 0.0) > 0  # the method itself is not content yet
        goals = [
            {"goal": goal_words(goal), "now": numbers.get(goal.word), "is_budget": WORDS[goal.word][1],
             "is_reached": _is_reached(goal, numbers.get(goal.word)) and not (goal.word == "wrong_time" and is_asking)}
            for goal in self.goals
        ]  # fmt: skip
        aims = [goal["is_reached"] for goal in goals if not goal["is_budget"]]
        used = any(goal["is_reached"] for goal in goals if goal["is_budget"])
        return {
            "criterion": alone, "labels": labels, "spent": spent, "goals": goals,
            "may_stop": used or (bool(aims) and all(aims)),
        }  # fmt: skip


def _met(found: Inference, criterion: float, *, draws: int = 20) -> tuple[float, float]:
    """Events of a drawn timeline that a present segment holds enough of, and all of its events, on average."""
    drawn = found.sample(draws, rng=0)
    met = 0
    for label, part in found.parts.items():
        mine = drawn[drawn["label"] == label]
        for one in part.recordings:
            votes: dict[tuple[float, float], float] = {}
            for (a, b), said in zip(one.segments.tolist(), one.present.tolist()):
                votes[(a, b)] = votes.get((a, b), 0.0) + (0.0 if np.isnan(said) else 2 * said - 1)
            marks = np.array([place for place, balance in votes.items() if balance > 0]).reshape(-1, 2)
            events = mine.loc[mine["recording"] == one.recording, ["onset", "offset"]].to_numpy()
            shared = np.minimum(events[:, 1:], marks[:, 1]) - np.maximum(events[:, :1], marks[:, 0])
            least = criterion * (events[:, 1:] - events[:, :1]) - 1e-9
            met += int((shared >= least).any(axis=1).sum())
    return met / draws, len(drawn) / draws


def answers_of(session: LabelingSession) -> pd.DataFrame:
    """The answers that count, one row each; items of known events are not among them."""
    rows = [
        {"recording": item.recording, "onset": item.onset, "offset": item.offset, "label": item.label,
         "present": one.present, "annotator": one.annotator, "seconds": one.seconds, "query": one.query,
         "answer": one.id}
        for one in session.all_answers()
        if (item := session.items.get(one.query)) is not None and not item.calibration
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=_COLUMNS)


def sentences(card: dict[str, Any] | str | None, state: dict[str, Any], annotator: str | None) -> Sequence[str]:
    """What is measured so far, in words for the person at work, or (None) for the owner; ``card``: or why none."""
    said = []
    if isinstance(card, str):
        said.append(card[0].upper() + card[1:] + ".")
    elif card is not None:
        words = card["summary"]
        said.append(f"{words[0].upper()}{words[1:]}, from {card['n_items']} segments whose events are known.")
    alone, labels, spent = state["criterion"], state["labels"], state["spent"]
    if alone is not None:
        is_wide = alone["presence_criterion_high"] - alone["presence_criterion_low"] > 0.5
        if "spread" in alone:  # segments of all lengths
            rest = "; more answers will tell" if is_wide else f", {_law(alone)}"
        elif is_wide:
            rest = "; they hardly tell: segments of other lengths, or known events (--events, --calibrate), would"
        else:
            rest = ", if the law of lengths is right and both slips are rare"
        said.append(
            f"From {alone['n_items']} answers alone you notice an event once {_percent(alone)} of it is heard{rest}."
        )
    elif card is None and annotator is not None:
        said.append(
            "Your criterion is not measured: known events (--events, --calibrate) or the law of lengths "
            "(--event-length) would tell it."
        )
    if labels is not None:
        said.append(
            f"Expected wrong time of the inferred labels {seconds(labels['wrong_time'])} per recording; about "
            f"{labels['n_events']:.1f} events, {seconds(labels['event_seconds'])} of them; "
            f"{percent(labels['event_recall'])} of them found."
        )
        if labels["event_seconds"] < 1.5 * labels.get("shortest", 0.0) * labels["n_events"]:
            said.append(
                f"The events may be shorter than the shortest segment that is asked, {labels['shortest']:g} s: then "
                "their ends cannot be told, and these numbers are too good; a smaller --shortest would tell."
            )
        if labels.get("by_hand", np.inf) < labels.get("work_left", 0.0):
            hand, work = hours(labels["by_hand"]), hours(labels["work_left"])
            said.append(
                f"Drawing by hand is less work: {hand} to hear all and mark about {labels['n_events']:.0f} events, "
                f"against {work} for about {labels['answers_left']:.0f} more answers."
            )
    work = hours(60 * spent["minutes"]) + " of work" + ("" if spent["price"] is None else f", {spent['price']}")
    said.append(f"{counted(spent['n_queries'], 'answer')}, {seconds(spent['listened'])} heard, {work}.")
    for goal in state["goals"]:
        now = "" if goal["now"] is None else f" (now {goal['now']:.3g})"
        kind, end = ("Budget", "used up") if goal["is_budget"] else ("Target", "met")
        said.append(f"{kind} {goal['goal']}: {end if goal['is_reached'] else f'not {end} yet'}{now}.")
    if state["may_stop"]:
        said.append("You may stop now.")
    return said


def _percent(found: dict[str, Any]) -> str:
    middle, low, high = (found[f"presence_criterion{end}"] for end in ("", "_low", "_high"))
    return f"{percent(middle)} ({percent(low)} to {percent(high)})"


def _law(found: dict[str, Any]) -> str:
    """How the criterion differs from event to event, and both slips."""
    guess, lapse = (f"{percent(found[f'{name}_rate'])}" for name in ("guess", "lapse"))
    return f"give or take {percent(found['spread'])} from event to event; guesses {guess}, lapses {lapse}"


def _mean(annotator: Annotator) -> float:
    given = annotator.presence_criterion
    return float(given.mean()) if hasattr(given, "mean") else float(given)


def summary(session: LabelingSession) -> dict[str, Any]:
    """Answers and median seconds of each person; how often two of them agree, and Krippendorff's alpha.

    Only sure answers are compared; alpha is None where no two people answered the same query, or all said the same.
    """
    people: dict[str, list[float]] = {name: [] for name in session.annotators}
    counts: dict[str, dict[str, int]] = {}
    for one in session.all_answers():
        people.setdefault(one.annotator, []).append(one.seconds)
        word = "unsure" if np.isnan(one.present) else "present" if one.present else "absent"
        mine = counts.setdefault(one.annotator, {"present": 0, "absent": 0, "unsure": 0})
        mine[word] += 1
    asked = list(session.items)
    by_query = [[one.present for one in session.answers(query) if not np.isnan(one.present)] for query in asked]
    pairs = [a == b for given in by_query for a, b in combinations(given, 2)]
    sums = np.array([(sum(given), len(given)) for given in by_query], dtype=float).reshape(-1, 2)
    alpha = krippendorff_alpha(sums[:, 0], sums[:, 1])
    rows = [
        {"annotator": name, "answers": len(seconds), **counts.get(name, {"present": 0, "absent": 0, "unsure": 0}),
         "seconds_per_query": statistics.median(known) if (known := [s for s in seconds if s >= 0]) else None}
        for name, seconds in people.items()
    ]  # fmt: skip
    return {
        "annotators": rows, "queries": len(asked), "settled": sum(map(session.is_settled, asked)),
        "answers": sum(row["answers"] for row in rows), "agreement": float(np.mean(pairs)) if pairs else None,
        "compared": len(pairs), "alpha": alpha if np.isfinite(alpha) else None, "bookmarks": session.bookmarks(),
    }  # fmt: skip
