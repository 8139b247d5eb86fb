"""What a method that learns believes of the events and of whoever answers, over all stretches of a campaign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...methods.base import AnswerHistory, Recording, verdict
from ...methods.information import Information, Stretch
from ...model.cost import Cost
from ...model.events import Events
from ...posterior.particle_kernels import NAMES
from ...posterior.particles import ParticlePosterior, scaled
from ...posterior.renewal import ENDS, events_above
from .follow_up import AdaptiveFollowUp
from .session import LabelingSession

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
