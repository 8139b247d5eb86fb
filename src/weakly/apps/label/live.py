"""How good the labels are by now, what they took, and whether that is enough: what the answers say, against targets."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from scipy.stats import beta

from ...base.errors import AssumptionWarning, InvalidInput
from ...base.results import Condition, counted, hours, percent, seconds, with_ends
from ...methods.base import Recording
from ...model.annotator import Annotator
from ...model.answers import Answers
from ...model.events import Events
from ...model.lengths import Lengths
from ...posterior.criterion import NUMBERS
from ...posterior.slips import agreement_with_others, odd_ones, slip_words
from ...studies.audit.agreement import krippendorff_alpha
from ...studies.queries.query_set import SECONDS_PER_ANSWER, sense
from .follow_up import BeliefSummary, repeated
from .session import LabelingSession

if TYPE_CHECKING:
    from ...studies.infer.inference import Inference

T = TypeVar("T")
SLIP = 0.02  # how often people guess, and lapse, while nobody knows
#: What a target may be about: which way is good, whether it is a budget, and what the number counts.
WORDS = {
    "wrong_time": ("<=", False, "s per recording"), "event_recall": (">=", False, "of the events"),
    "n_queries": ("<=", True, "answers"),
    "listened": ("<=", True, "s reviewed"), "minutes": ("<=", True, "min of work"),
}  # fmt: skip
#: How many answers a method that follows them needs yet, as multiples of what it expects: nine times in ten between.
AHEAD = (0.5, 2.4)
_FOUND = ("event_recall_low", "event_recall_high")
_LAPSES = ("lapse_rate", "lapse_rate_low", "lapse_rate_high")
_MANY = ("n_events_low", "n_events_high", "wrong_time_low", "wrong_time_high")
MOST_SPLITS = 20  # segments in the list of those that split people
_COLUMNS = ("recording", "onset", "offset", "label", "present", "annotator", "seconds", "query", "answer")


def targets(text: str | None) -> tuple[Condition, ...]:
    """Qualities to reach, or budgets (answers, seconds heard, minutes of work) to stay within.

    >>> [goal_words(each) for each in targets("event_recall>=90%, minutes<=30")]
    ['event_recall >= 0.9 of the events', 'minutes <= 30 min of work']
    """
    return Condition.targets(text, {word: sense for word, (sense, _, _) in WORDS.items()})


def goal_words(goal: Condition) -> str:
    """A target with its unit."""
    return f"{goal.word} {goal.sense} {goal.value:g} {WORDS[goal.word][2]}".strip()


@dataclass
class QualityMonitor:
    """The world that the answers are read in: a law of event lengths, how people hear, and a rate where it is known.

    A method that learns (``learned``) says by itself what it believes. Else, without a law of lengths, answers, seconds
    and minutes are counted, and nothing is said of the events.
    """

    recordings: dict[str, Recording]
    lengths: Lengths | None = None
    event_rate: float | None = None
    presence_criterion: float = 0.5
    goals: tuple[Condition, ...] = ()
    learned: BeliefSummary | None = None
    _kept: dict[str, tuple[int, Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)  # one works it out, the others wait for it

    def __post_init__(self) -> None:
        words = {goal.word for goal in self.goals}
        if self.lengths is None and self.learned is None and words & {"wrong_time", "event_recall"}:
            raise InvalidInput("a target of wrong_time or event_recall needs the law of event lengths: --event-length")

    def inference(self, session: LabelingSession) -> Inference | None:
        """What :func:`weakly.infer` makes of the answers; None while none of them is sure, or without a law."""
        from ...studies.infer.estimation import infer

        given = answers_of(session)
        if self.lengths is None or not given["present"].notna().any():
            return None

        def work() -> Inference:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AssumptionWarning)
                return infer(
                    Answers.from_frame(given.drop(columns="answer")), event_length=self.lengths,
                    annotator=self.annotators(session), event_rate=self.event_rate, draws=20, rng=0, bouts=False,
                    recording_length={name: one.length for name, one in self.recordings.items()},
                )  # fmt: skip

        return self.once("", given, work)

    def once(self, of: str, given: pd.DataFrame, work: Callable[[], T]) -> T:
        """What the work makes of these answers (of one person, or of all), done anew when they have changed."""
        mark = hash(tuple(given["answer"]))
        with self._lock:
            if of not in self._kept or self._kept[of][0] != mark:
                self._kept[of] = mark, work()
            found: T = self._kept[of][1]
            return found

    def annotators(self, session: LabelingSession) -> dict[str, Annotator]:
        """Who answers, by name: guesses and lapses as they are known, else rare."""
        people = {}
        for name in session.people:
            slips = repeated(session, name)
            guess, lapse = (slips.numbers[word][0] if slips and slips.is_known else SLIP for word in NUMBERS[2:])
            people[name] = Annotator(presence_criterion=self.presence_criterion, guess_rate=guess, lapse_rate=lapse)
        return people

    def known(self, session: LabelingSession) -> tuple[Events, pd.DataFrame] | None:
        """The likely events with how sure they are, and P(an event is under way) over time; None without a law."""
        if self.learned is not None:
            return self.learned.known(session)
        found = self.inference(session)
        return None if found is None else (found.events(), found.active)

    def criterion(self, session: LabelingSession) -> dict[str, Any] | None:
        """The criterion of one person, from their answers alone, where the method learns it: mean and 95 % interval."""
        if self.learned is None or len(session.people) != 1:  # it cannot tell one person from another
            return None
        return self.learned.hears(session)

    def labels(self, session: LabelingSession) -> dict[str, Any] | None:
        """Expected wrong time per recording, share of events found, events and their seconds; None without a law.

        None too of people whose repeats show no care. Recordings without an answer count as the others make likely.
        An event is found if a segment that most called present holds enough of it, averaged over drawn timelines.
        """
        if self.learned is not None:
            known = self.learned.labels(session)
            return None if known is None else known | self._told(session, known)
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
        met, drawn = _met(found, self.presence_criterion)
        told = {
            "wrong_time": wrong / len(self.recordings), "n_events": float(overall["n_events"].sum()) + missed,
            "event_seconds": seconds,
            "event_recall": met / (drawn + missed) if drawn + missed > 0 else 1.0,
        }  # fmt: skip
        known = self._told(session, told)
        if known.get("lapse_rate") is not None:  # the more are missed, the more there are, and the more time is wrong
            more = (1 - known["lapse_rate"]) / (1 - np.array([known[name] for name in _LAPSES[1:]]))
            many = (np.array(overall["n_events_ci"].tolist()).sum(axis=0) + missed) * more
            rest = (many / max(told["n_events"], 1e-9) - 1) * seconds / len(self.recordings)
            known |= dict(zip(_MANY, (*many.tolist(), *np.maximum(told["wrong_time"] + rest, 0.0).tolist())))
        return None if "is_noise" in known else told | known

    def _told(self, session: LabelingSession, labels: dict[str, float]) -> dict[str, Any]:
        """How often people miss what they would notice (None: nothing tells), and with it the share of events found,
        with its interval; a method that learns asks about an event more than once, and reckons with misses itself."""
        if self.learned is not None:
            heard = self.learned.hears(session) or {}
            return {name: heard.get(name) for name in _LAPSES}
        each = [repeated(session, name) for name in session.people if session.answers_by(name)]
        slips = [one for one in each if one is not None and one.is_known]
        if not slips or len(slips) < len(each):
            return {"lapse_rate": None}
        if all(one.is_noise for one in slips):
            return {"is_noise": True}
        rates = np.mean([one.numbers["lapse_rate"] for one in slips], axis=0)
        found = np.minimum(labels["event_recall"] * (1 - rates[[0, 2, 1]]) / (1 - rates[0]), 1.0)
        return with_ends({"lapse_rate": rates.tolist(), "event_recall": found.tolist()})

    def answers_left(self, session: LabelingSession) -> float | None:
        """How many answers may be left, where the method can tell."""
        labels = None if self.learned is None else self.learned.labels(session)
        return None if labels is None else labels["answers_left"]

    def spent(self, session: LabelingSession) -> dict[str, Any]:
        """What the answers so far took: how many, seconds that were played (or shown), minutes of work."""
        given = [one for one in session.all_answers() if one.query in session.items]
        return {
            "n_queries": len(given), "listened": sum(map(session.reviewed_seconds, given)),
            "sense": sense(self.recordings.values()),
            "minutes": sum(one.seconds for one in given if one.seconds >= 0) / 60,
        }  # fmt: skip

    def state(self, session: LabelingSession, annotator: str | None) -> dict[str, Any]:
        """Everything: a person's criterion from the answers alone, the labels, what was spent, and each target."""
        labels, spent = self.labels(session), self.spent(session)
        slips = None if annotator is None else repeated(session, annotator)
        alone = None if annotator is None else self.criterion(session)
        numbers = {**spent, **(labels or {})}
        if numbers.get("lapse_rate") is None:  # then the share of events found holds if nobody missed any
            numbers["event_recall"] = None
        is_asking = labels is not None and labels.get("answers_left", 0.0) > 0  # the method itself is not content yet
        goals = []
        for goal in self.goals:
            now, is_budget = numbers.get(goal.word), WORDS[goal.word][1]
            is_reached = now is not None and (now >= goal.value if is_budget else goal.met(now))
            is_reached = is_reached and not (goal.word == "wrong_time" and is_asking)
            goals.append({"goal": goal_words(goal), "now": now, "is_budget": is_budget, "is_reached": is_reached})
        aims = [goal["is_reached"] for goal in goals if not goal["is_budget"]]
        used = any(goal["is_reached"] for goal in goals if goal["is_budget"])
        return {
            "criterion": alone, "labels": labels, "spent": spent, "goals": goals,
            "slips": None if slips is None else slips.to_dict(),
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
        rest = "; more answers will tell"
        if alone["presence_criterion_high"] - alone["presence_criterion_low"] <= 0.5:
            spread, guess, lapse = (percent(alone[word]) for word in NUMBERS[1:])
            rest = f", give or take {spread} from event to event; guesses {guess}, lapses {lapse}"
        share = "{} ({} to {})".format(*(percent(alone[f"presence_criterion{end}"]) for end in ("", "_low", "_high")))
        words = f"From {alone['n_items']} answers alone you notice an event once {share} of it is"
        said.append(f"{words} {spent['sense']}{rest}.")
    elif card is None and annotator is not None:
        said.append("Your criterion is not measured: weakly label --measure would tell it.")
    if labels is not None:
        found, wrong, many = percent(labels["event_recall"]), seconds(labels["wrong_time"]), f"{labels['n_events']:.1f}"
        if labels.get("lapse_rate") is None:
            why = "too few repeats tell" if state.get("slips") else "nothing tells"
            more = "" if state.get("slips") else ", and --repeats 0.1 would"
            found += f" of them found; all of this if you missed none: {why} how often you do{more}"
        else:
            a, b, rate, low, high = (percent(labels[name]) for name in (*_FOUND, *_LAPSES))
            found += f" ({a} to {b}) of them found, as you miss {rate} ({low} to {high}) of what you would notice"
        if "n_events_low" in labels:
            least, most, low, high = (labels[name] for name in _MANY)
            wrong, many = f"{wrong} ({seconds(low)} to {seconds(high)})", f"{many} ({least:.1f} to {most:.1f})"
        said.append(
            f"Expected wrong time of the inferred labels {wrong} per recording; about {many} events, "
            f"{seconds(labels['event_seconds'])} of them; {found}."
        )
        if labels["event_seconds"] < 1.5 * labels.get("shortest", 0.0) * labels["n_events"]:
            said.append(
                f"The events may be shorter than the shortest segment that is asked, {labels['shortest']:g} s: then "
                "their ends cannot be told, and these numbers are too good; a smaller --shortest would tell."
            )
        if labels.get("by_hand", np.inf) < labels.get("work_left", 0.0):
            hand, work = hours(labels["by_hand"]), hours(labels["work_left"])
            said.append(
                f"Drawing by hand is less work: {hand} to go through all and mark about {labels['n_events']:.0f} "
                f"events, against {work} for about {labels['answers_left']:.0f} more answers."
            )
    slips = state.get("slips")
    if slips is not None:
        alike = f"{slips['n_alike']} of {counted(slips['n_repeats'], 'repeated segment')}"
        said.append(f"{alike} you answered alike: {slip_words(slips)}.")
    work = f"{seconds(spent['listened'])} {spent['sense']}, {hours(60 * spent['minutes'])} of work"
    said.append(f"{counted(spent['n_queries'], 'answer')}, {work}.")
    for goal in state["goals"]:
        kind, end = ("Budget", "used up") if goal["is_budget"] else ("Target", "met")
        now = "not known yet" if goal["now"] is None else f"{'' if goal['is_reached'] else 'not '}{end}"
        rest = "" if goal["now"] is None else f"{'' if goal['is_reached'] else ' yet'} (now {goal['now']:.3g})"
        said.append(f"{kind} {goal['goal']}: {now}{rest}.")
    if state["may_stop"]:
        said.append("You may stop now.")
    return said


def progress(session: LabelingSession, annotator: str, *, ahead: float | None = None) -> dict[str, Any]:
    """How far this person is: answered, left, minutes left at their own pace, seconds per query.

    ``ahead``: how many answers of all people a method that follows them expects to need yet.
    """
    mine, waiting = session.answers_by(annotator), session.left(annotator)
    answered, left = len(mine), len(waiting)
    if session.together:  # segments, not rows
        items = [session.items[one.query] for one in mine if one.query in session.items]
        answered, left = (len({item.place for item in each}) for each in (items, waiting))
    seconds = [one.seconds for one in mine[-50:] if one.seconds >= 0]
    pace = float(np.median(seconds)) if seconds else None
    most = left
    if left and ahead is not None:
        left, most = (max(left, round(ahead * x * session.votes / len(session.annotators))) for x in AHEAD)
    seconds_left = (pace or SECONDS_PER_ANSWER) * left
    if pace is None:
        seconds_left += sum(item.offset - item.onset for item in waiting)
    return {
        "answered": answered, "left": left, "most_left": most, "minutes_left": seconds_left / 60,
        "seconds_per_query": pace, "is_expected": ahead is not None, "queries": len(session.items),
        "can_undo": any(one.source == "label" for one in reversed(mine)), "follows_answers": session.more is not None,
    }  # fmt: skip


def summary(session: LabelingSession) -> dict[str, Any]:
    """Answers, pace, what is left and agreement with the others of each person; who is odd, and what splits people.

    Only sure answers are compared. The agreement of a person is that with all who are not odd, with a 95 % interval;
    alpha (Krippendorff's) is None where no two people answered the same query, or all said the same.
    """
    sure = answers_of(session).dropna(subset="present")
    odd = odd_ones(sure)
    rows = []
    for name in session.people:
        mine = session.answers_by(name)
        present, took = (np.array([getattr(one, word) for one in mine]) for word in ("present", "seconds"))
        slips = repeated(session, name)
        row: dict[str, Any] = {
            "annotator": name, "answers": len(mine), "present": int((present == 1).sum()),
            "absent": int((present == 0).sum()), "unsure": int(np.isnan(present).sum()),
            "seconds_per_query": None if np.isnan(took).all() else float(np.nanmedian(took)),
            "left": progress(session, name)["left"] if name in session.annotators else None, "compared": 0,
            "lapse_rate": slips.numbers["lapse_rate"][0] if slips and slips.is_known else None, "odd": odd.get(name),
        }  # fmt: skip
        among = agreement_with_others(sure[~sure["annotator"].isin(odd.keys() - {name})])
        if name in among.index:
            n, share = int(among["size"][name]), float(among["mean"][name])
            ends = np.asarray(beta.ppf((0.025, 0.975), 0.5 + n * share, 0.5 + n * (1 - share))).tolist()
            row |= {"compared": n, **with_ends({"agreement": (share, *ends)})}
        rows.append(row)
    votes = sure.groupby("query")["present"].agg(present="sum", said="size").assign(**{
        "absent": lambda table: table["said"] - table["present"],
        "pairs": lambda table: table["said"] * (table["said"] - 1) / 2,
        "alike": lambda table: table["pairs"] - table["present"] * table["absent"],
        "split": lambda table: table[["present", "absent"]].min(axis=1),
    })  # fmt: skip
    alpha = krippendorff_alpha(votes["present"].to_numpy(float), votes["said"].to_numpy(float))
    votes = votes.join(sure.drop_duplicates("query").set_index("query")[list(_COLUMNS[:4])]).reset_index()
    splits = votes[votes["split"] > 0].sort_values("split", ascending=False, kind="stable").head(MOST_SPLITS)
    by_class = votes.groupby("label")[["pairs", "alike"]].sum()
    pairs = float(by_class["pairs"].sum())
    return {
        "annotators": rows, "queries": len(session.items), "settled": sum(map(session.is_settled, session.items)),
        "answers": sum(row["answers"] for row in rows), "compared": int(pairs),
        "agreement": float(by_class["alike"].sum()) / pairs if pairs else None,
        "alpha": alpha if np.isfinite(alpha) else None, "odd": list(odd.values()),
        "classes": [
            {"label": label, "compared": int(row["pairs"]), "agreement": row["alike"] / row["pairs"]}
            for label, row in by_class.iterrows() if row["pairs"] and len(by_class) > 1
        ],
        "splits": splits[[*_COLUMNS[:4], "present", "absent", "query"]].to_dict("records"),
        "bookmarks": [
            {word: getattr(item, word) for word in _COLUMNS[:4]}
            | {"query": row.query, "annotator": row.annotator, "note": row.detail or ""}
            for row in session.acts("bookmark") if (item := session.items.get(row.query)) is not None
        ],
    }  # fmt: skip
