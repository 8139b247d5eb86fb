"""What is asked once answers are there, by a method that follows them, and what that method believes; segments that are
asked again, unseen, which tell how often somebody slips."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base.results import with_ends
from ...methods.base import AnswerHistory, Method, Recording, verdict
from ...methods.information import Information, Stretch, asked_together
from ...model.cost import Cost
from ...model.events import Events
from ...posterior.expected import scaled
from ...posterior.law import SLIPS
from ...posterior.particle_kernels import NAMES
from ...posterior.particles import ParticlePosterior
from ...posterior.renewal import ENDS, events_above
from ...posterior.slips import Slips, slips_of
from ...studies.queries.query_set import AGAIN, COLUMNS, REPEAT, query_id, rows_of
from .session import Item, LabelingSession

APART = 5  # answers that lie at least between two of one segment
PRESENT = 0.85  # of the segments that are repeated, those that were answered present: only they tell of lapses


class FollowUp(Protocol):
    """What asks further questions once answers are there."""

    @property
    def wanted(self) -> set[str] | None:
        """The queries that wait for an answer now; None: all of them."""

    def rows(self, session: LabelingSession, queries: Iterable[str]) -> list[dict[str, Any]]:
        """The queries that follow from new answers to these ones; called under the store's lock."""

    def is_for(self, item: Item, annotator: str) -> bool:
        """Whether this person may be asked."""


class AdaptiveFollowUp:
    """What a method asks after the answers so far: recording by recording, or in one queue."""

    def __init__(self, method: Method, recordings: dict[str, Recording]) -> None:
        self.method, self.recordings = method, recordings
        self._wanted: dict[tuple[str, str], set[str]] = {}

    @property
    def wanted(self) -> set[str]:
        """The queries that the method waits for; those that an undo made needless are not among them."""
        return set().union(*self._wanted.values())

    def is_for(self, item: Item, annotator: str) -> bool:
        """Everybody may be asked everything."""
        return True

    def rows(self, session: LabelingSession, queries: Iterable[str]) -> list[dict[str, Any]]:
        """The method's next queries: in the recordings of these ones, or wherever they tell most."""
        rows: list[dict[str, Any]] = []
        if self.method.learns:
            labels = list(dict.fromkeys(item.label for item in session.items.values()))
            new = {session.items[query].label for query in queries}
            groups = [labels] if session.together else [[label] for label in sorted(new)]
            return [row for group in groups for row in self._best(session, group)]
        places = {(session.items[query].recording, session.items[query].label) for query in queries}
        for name, label in sorted(places):
            one, found = self.campaign(session, label, [name])[name]
            segments = self.method.next(one, found)
            mine = [dict(zip(COLUMNS, row)) for row in rows_of(self.method, one, label, found, segments)]
            self._wanted[(name, label)] = {row["query"] for row in mine}
            rows += mine
        return rows

    def _best(self, session: LabelingSession, labels: list[str]) -> list[dict[str, Any]]:
        """What a method that learns asks now about these classes at once."""
        each = {label: self.campaign(session, label) for label in labels}
        how: dict[str, Any] = {label: self.method.among(each[label]) for label in labels}
        n = len(session.annotators) + 1  # and one to load meanwhile
        places = asked_together(how, each, n)
        rows = [
            dict(zip(COLUMNS, row)) for name, a, b in places for label in labels
            for row in rows_of(how[label], self.recordings[name], label, each[label][name][1], np.array([[a, b]]))
        ]  # fmt: skip
        back = {
            item.query for item in session.items.values()
            if item.label in labels and session.was_taken_back(item.query) and not session.is_settled(item.query)
        }  # fmt: skip
        self._wanted[("", labels[0])] = back | {row["query"] for row in rows}
        return rows

    def campaign(
        self, session: LabelingSession, label: str, names: Iterable[str] | None = None
    ) -> dict[str, tuple[Recording, AnswerHistory]]:
        """What was answered of every recording, or of those of these names."""
        asked: dict[str, list[Item]] = {name: [] for name in names or self.recordings}
        for item in session.items.values():
            is_mine = item.label == label and item.recording in asked and not item.calibration
            if is_mine and session.is_settled(item.query):
                asked[item.recording].append(item)
        found = {}
        for name, items in asked.items():
            segments = np.array([(item.onset, item.offset) for item in items], dtype=float).reshape(-1, 2)
            present = [verdict([one.present for one in session.answers(item.query)]) for item in items]
            found[name] = self.recordings[name], AnswerHistory(segments, np.array(present, dtype=float))
        return found


class Repeats:
    """A share of each person's segments asked twice more, besides what ``more`` asks (None: nothing)."""

    def __init__(self, share: float, recordings: Mapping[str, Recording], more: FollowUp | None = None) -> None:
        self.share, self.recordings, self.more = share, recordings, more

    @property
    def wanted(self) -> set[str] | None:
        """What the other waits for; None: everything."""
        return None if self.more is None else self.more.wanted

    def is_for(self, item: Item, annotator: str) -> bool:
        """A repeat is for whoever answered the segment before."""
        if item.method.startswith(REPEAT):
            return item.method in (REPEAT, f"{REPEAT} {annotator}")
        return self.more is None or self.more.is_for(item, annotator)

    def rows(self, session: LabelingSession, queries: Iterable[str]) -> list[dict[str, Any]]:
        """What the other asks, and one repeat of everybody who has had too few."""
        rows = [] if self.more is None else self.more.rows(session, queries)
        for annotator in session.annotators:
            mine = [item for item in session.items.values() if item.method == f"{REPEAT} {annotator}"]
            given = [session.items[one.query] for one in session.answers_by(annotator) if one.query in session.items]
            if len(mine) < self.share * (len(given) - len(mine)) and len(given) > 2 * APART:
                rows += self._again(session, annotator, given, mine)
        return rows

    def _again(
        self, session: LabelingSession, annotator: str, given: list[Item], mine: list[Item]
    ) -> list[dict[str, Any]]:
        rng = np.random.default_rng([31, len(mine), *annotator.encode()])
        times = Counter(map(_place, mine))
        done = {item.query for item in given}
        late = {_place(item) for item in (*given[-APART:], *(item for item in mine if item.query not in done))}
        first = {_place(item): item for item in given[:-APART] if not item.calibration and _place(item) not in late}
        half = [item for place, item in first.items() if times[place] == 1]
        likes = float(rng.random() < PRESENT)
        new = [item for place, item in first.items() if place not in times]
        alike = [item for item in new if getattr(session.answer_of(annotator, item.query), "present", None) == likes]
        for pool in (half, alike, new):
            if pool:
                item = pool[int(rng.integers(len(pool)))]
                number = AGAIN + sum(_place(one) == _place(item) for one in session.items.values())
                query = query_id(item.recording, item.onset, item.offset, item.label, number)
                values = (query, item.recording, item.onset, item.offset, item.label, f"{REPEAT} {annotator}", 1,
                          number, True, np.nan, self.recordings[item.recording].length)  # fmt: skip
                return [dict(zip(COLUMNS, values))]
        return []


def _place(item: Item) -> tuple[str, float, float, str]:
    return item.recording, item.onset, item.offset, item.label


def repeated(session: LabelingSession, annotator: str) -> Slips | None:
    """What the segments that this person answered more than once tell of them."""
    answers = session.answers_by(annotator)  # a damaged campaign may hold answers to queries that are gone
    given = [(session.items[one.query], one.present) for one in answers if one.query in session.items]
    mine = [(_place(item), present) for item, present in given if item.event_fraction is None]
    return slips_of(*zip(*mine)) if mine else None


@dataclass(frozen=True)
class _StretchBelief:
    """One stretch of which something was asked."""

    known: ParticlePosterior
    edges: NDArray[np.float64]
    active: NDArray[np.float64]
    drawn: tuple[NDArray[np.float64], NDArray[np.float64]]  # onsets and offsets of the events of all particles
    wrong_time: float
    found: NDArray[np.float64]  # events of every particle of which a likely one holds enough, and all of them
    slips: NDArray[np.float64]  # of every particle: lapses, satisfied segments, guesses, other segments
    asked: AnswerHistory
    answers_left: float


class BeliefSummary:
    """The beliefs of the method over all stretches; each is looked at again when something more was answered there."""

    def __init__(self, following: AdaptiveFollowUp, method: Information) -> None:
        self._following, self._method = following, method
        self._parts: dict[tuple[str, str, float], _StretchBelief] = {}
        self._lock = threading.Lock()  # one works it out, the others wait for it

    def _look(self, session: LabelingSession) -> dict[tuple[str, str, float], _StretchBelief]:
        """The stretches that something was asked of, by label, recording and start."""
        found = {}
        with self._lock:
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
        of the rest. An event is found if a likely one holds enough of it, averaged over the particles.
        """
        parts = list(self._look(session).values())
        if not parts:
            return None
        labels = len(dict.fromkeys(item.label for item in session.items.values()))
        asked = sum(float(one.edges[-1] - one.edges[0]) for one in parts)
        recordings = self._following.recordings
        rest = max(0.0, labels * sum(one.length for one in recordings.values()) - asked)
        busy = sum(float(one.active @ np.diff(one.edges)) for one in parts)
        many = sum(len(one.drawn[0]) / len(one.known.count) for one in parts) * (1 + rest / asked)
        wrong = sum(one.wrong_time for one in parts) + min(busy / asked, 1 - busy / asked) * rest
        each = sum(one.found for one in parts) * np.array([[1.0], [1 + rest / asked]])  # by particle
        ends = np.quantile(np.where(each[1] > 0, each[0] / np.maximum(each[1], 1e-9), 1.0), (0.025, 0.975)).tolist()
        found = float(each[0].mean()) / many if many > 0 else 1.0
        left = sum(one.answers_left for one in parts)
        left += (sum(len(one.asked) for one in parts) + left) * rest / asked
        answers, price = sum(len(one.asked) for one in parts), Cost()
        return {
            "wrong_time": wrong / len(recordings), "n_events": many, "event_seconds": busy * (1 + rest / asked),
            "event_recall": found, "event_recall_low": min(found, ends[0]), "event_recall_high": max(found, ends[1]),
            "answers_left": left, "shortest": self._method.shortest,
            "work_left": left * (sum(one.asked.listened for one in parts) / answers + price.seconds_per_answer),
            "by_hand": sum(one.length for one in recordings.values()) + price.seconds_per_event * many,
        }  # fmt: skip

    def hears(self, session: LabelingSession) -> dict[str, Any] | None:
        """How whoever answers hears, from the answers alone: criterion and its spread, guesses, lapses, with 95 %
        intervals.

        On the scale of the particles each stretch adds what its answers told beyond what was expected of it: precisions
        add up, :math:`1/v = 1/v_0 + \\sum_i (1/v_i - 1/v_{0i})`. Guesses and lapses are counted, with the prior of
        labels of unknown origin: that of the particles holds that who seldom guesses seldom lapses.
        """
        parts = list(self._look(session).values())
        if not parts:
            return None
        sure = [item for item in session.items.values() if not item.calibration and session.is_settled(item.query)]
        found: dict[str, Any] = {
            "n_items": sum(verdict([one.present for one in session.answers(item.query)]) in (0, 1) for item in sure)
        }
        expected = self._method.base_prior
        for name in ("presence_criterion", "spread"):
            k = NAMES.index(name)
            precision, weighted = 1 / expected.covariance[k, k], expected.mean[k] / expected.covariance[k, k]
            for one in parts:
                x, before = one.known.numbers[:, k], one.known.expected
                now, then = 1 / max(float(x.var()), 1e-6), 1 / before.covariance[k, k]
                if now > then:
                    precision += now - then
                    weighted += now * float(x.mean()) - then * before.mean[k]
            ends = weighted / precision + np.array([0.0, -1.96, 1.96]) / np.sqrt(precision)
            found |= with_ends({name: (float(scaled(name, at)) for at in ends)})
        counts, rng = np.sum([one.slips for one in parts], axis=0), np.random.default_rng(0)
        for name, (slips, many) in zip(("lapse_rate", "guess_rate"), (counts[:2], counts[2:])):
            rates = rng.beta(1 + slips, 1 + SLIPS + many - slips)
            found |= with_ends({name: (float(rates.mean()), *np.quantile(rates, (0.025, 0.975)).tolist())})
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
    turns = np.flatnonzero(np.diff(np.concatenate(([False], active > 0.5, [False]))))
    marks = edges[turns].reshape(-1, 2)
    shared = np.minimum(ends[..., None], marks[:, 1]) - np.maximum(starts[..., None], marks[:, 0])
    is_found = (shared.max(axis=-1, initial=-1.0) >= known.enough - 1e-9) & mine
    found = np.stack((is_found.sum(axis=1), mine.sum(axis=1))).astype(np.float64)
    inside = (known.segments.mean(axis=1) >= part.start) & (known.segments.mean(axis=1) < part.end)
    is_met, said = known.chances(known.segments[inside]) > 0.5, known.present[inside, None] == 1
    slips = [(is_met & ~said).sum(axis=0), is_met.sum(axis=0), (~is_met & said).sum(axis=0), (~is_met).sum(axis=0)]
    left = 0.0 if method.is_content(now, part) else max(1.0, now["answers_left"])
    drawn = starts[mine], ends[mine]
    return _StretchBelief(known, edges, active, drawn, now["wrong_time"], found, np.array(slips, dtype=np.float64),
                          part.asked(asked), left)  # fmt: skip
