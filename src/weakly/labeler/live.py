"""How good the labels are by now: the posterior of every recording, against the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..adaptive.base import Recording, verdict
from ..annotator import Annotator
from ..lengths import Lengths
from .session import Session

if TYPE_CHECKING:
    from ..inference import Posterior

STEPS = 12  # per median event: what the posterior tells apart
_ROUNDS = 4  # of estimating the rate


@dataclass
class Live:
    """The world that the answers are read in: a law of event lengths, a rate per second, and how people hear."""

    recordings: dict[str, Recording]
    lengths: Lengths
    event_rate: float | None = None
    annotator: Annotator = field(default_factory=lambda: Annotator(guess_rate=0.02, lapse_rate=0.02))
    target: tuple[str, float] | None = None  # such as ("wrong_time", 1.0)
    _known: dict[tuple[str, float], tuple[Any, Posterior]] = field(default_factory=dict)

    @property
    def step(self) -> float:
        """Seconds of a step."""
        return float(np.clip(self.lengths.quantile(0.5) / STEPS, 0.01, 1.0))

    def posteriors(self, session: Session, *, event_rate: float) -> dict[str, Posterior]:
        """The posterior of each recording, made anew where answers have come."""
        from ..inference import Renewal, posterior

        renewal = Renewal(self.lengths, event_rate, self.step)
        answered: dict[str, list[tuple[float, float, float]]] = {name: [] for name in self.recordings}
        for item in session.items.values():
            given = [one.present for one in session.answers(item.query)]
            if given and not item.calibration:
                answered[item.recording].append((item.onset, item.offset, verdict(given)))
        found = {}
        for name, rows in answered.items():
            key, told = (name, event_rate), tuple(rows)
            before = self._known.get(key)
            if before is None or before[0] != told:
                table = np.array([row for row in rows if not np.isnan(row[2])], dtype=float).reshape(-1, 3)
                made = posterior(
                    table[:, :2], table[:, 2], renewal=renewal, recording_length=self.recordings[name].length,
                    annotator=self.annotator,
                )  # fmt: skip
                before = self._known[key] = (told, made)
            found[name] = before[1]
        return found

    def rate(self, session: Session) -> float:
        """Events per second: as given, else as the answers say (a few rounds of expectation and maximisation)."""
        if self.event_rate is not None:
            return self.event_rate
        total = sum(one.length for one in self.recordings.values())
        most = 0.8 / self.lengths.mean
        rate = min(most, 1 / 60)
        for _ in range(_ROUNDS):
            self._known.clear()
            expected = sum(one.n_events for one in self.posteriors(session, event_rate=rate).values())
            rate = float(np.clip(expected / total, 1e-6, most))
        return rate

    def state(self, session: Session) -> dict[str, Any]:
        """Expected wrong time per recording, events and their seconds in all, and whether the target is met."""
        rate = self.rate(session)
        found: Mapping[str, Posterior] = self.posteriors(session, event_rate=rate)
        wrong = float(np.mean([one.wrong_time for one in found.values()]))
        return {
            "wrong_time": wrong, "n_events": float(sum(one.n_events for one in found.values())),
            "event_seconds": float(sum(one.event_seconds for one in found.values())), "event_rate": rate,
            "target": None if self.target is None else f"{self.target[0]} <= {self.target[1]:g} s",
            "met": None if self.target is None else wrong <= self.target[1],
        }  # fmt: skip
