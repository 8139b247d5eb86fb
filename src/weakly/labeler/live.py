"""How good the labels are by now: what the answers so far say of the events, against the target."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..adaptive.base import Recording
from ..annotator import Annotator
from ..errors import AssumptionWarning
from ..events import Answers
from ..lengths import Lengths
from .session import Session

if TYPE_CHECKING:
    from ..inference import Inference


@dataclass
class Live:
    """The world that the answers are read in: a law of event lengths, how people hear, and a rate where it is known."""

    recordings: dict[str, Recording]
    lengths: Lengths
    event_rate: float | None = None
    annotator: Annotator = field(default_factory=lambda: Annotator(guess_rate=0.02, lapse_rate=0.02))
    target: tuple[str, float] | None = None  # such as ("wrong_time", 1.0), seconds per recording
    _last: tuple[int, Inference | None] = (-1, None)

    def inference(self, session: Session) -> Inference | None:
        """What :func:`weakly.infer` makes of the answers; None while none of them is sure."""
        from ..inference import infer

        given = answers_of(session)
        mark = hash(tuple(given["answer"]))
        if self._last[0] != mark:
            found = None
            if given["present"].notna().any():
                lengths = {name: one.length for name, one in self.recordings.items()}
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", AssumptionWarning)
                    found = infer(
                        Answers.from_frame(given.drop(columns="answer")), lengths=self.lengths,
                        annotator=self.annotator, event_rate=self.event_rate, recording_length=lengths, draws=20, rng=0,
                    )  # fmt: skip
            self._last = (mark, found)
        return self._last[1]

    def state(self, session: Session) -> dict[str, Any] | None:
        """Expected wrong time per recording, events and their seconds, and whether the target is met.

        A recording without an answer counts with the share of event time that the others make likely.
        """
        found = self.inference(session)
        if found is None:
            return None
        active, overall = found.active, found.overall
        p = active["active"].to_numpy()
        wrong = float((np.minimum(p, 1 - p) * (active["offset"] - active["onset"]).to_numpy()).sum())
        labels = active["label"].nunique()
        share = float(overall["event_seconds"].sum() / overall["recording_seconds"].sum())
        unheard = [one.length for name, one in self.recordings.items() if name not in set(active["recording"])]
        wrong += min(share, 1 - share) * sum(unheard) * labels
        mean = wrong / len(self.recordings)
        return {
            "wrong_time": mean, "n_events": float(overall["n_events"].sum()),
            "event_seconds": float(overall["event_seconds"].sum()),
            "target": None if self.target is None else f"{self.target[0]} <= {self.target[1]:g} s",
            "met": None if self.target is None else mean <= self.target[1],
        }  # fmt: skip


def answers_of(session: Session) -> pd.DataFrame:
    """The answers that count, one row each; items of known events are not among them."""
    rows = [
        (
            item.recording,
            item.onset,
            item.offset,
            item.label,
            one.present,
            one.annotator,
            one.seconds,
            one.query,
            one.id,
        )
        for one in session.all_answers()
        if (item := session.items.get(one.query)) is not None and not item.calibration
    ]
    return pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "present", "annotator", "seconds",
                                       "query", "answer"])  # fmt: skip
