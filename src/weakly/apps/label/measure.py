"""The five-minute experiment: items of known event fraction, each chosen by what its answer tells of the criterion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import InvalidInput
from ...io.soundscape import soundscape
from ...methods.base import Recording
from ...model.intervals import merge
from ...studies.queries.calibration import CalibrationDesign, place
from ...studies.queries.query_set import COLUMNS, query_id
from .profile import FRACTIONS, AnnotatorProfile, CriterionPosterior
from .session import Item, LabelingSession

N_ITEMS = 50


@dataclass
class Measurement:
    """What is asked of each person: pieces of known events, in the recordings they come from."""

    recordings: dict[str, Recording]  # with their events
    segment_length: float
    label: str
    annotators: Sequence[str]
    n_items: int = N_ITEMS

    def __post_init__(self) -> None:
        if not any(one.events is not None and len(one.events) for one in self.recordings.values()):
            raise InvalidInput(f"measuring needs recordings with known events of {self.label!r}; give --events FILE")

    @property
    def wanted(self) -> set[str]:
        """Items are calibration items, which always wait for their answer."""
        return set()

    def is_for(self, item: Item, annotator: str) -> bool:
        """Each person has items of their own."""
        return item.method == _method(annotator)

    def rows(self, session: LabelingSession, queries: Iterable[str]) -> list[dict[str, Any]]:
        """The next item of everybody who has answered their last one; none when there are enough."""
        rows: list[dict[str, Any]] = []
        for annotator in self.annotators:
            mine = [item for item in session.items.values() if self.is_for(item, annotator)]
            given = [(item, session.answer_of(annotator, item.query)) for item in mine]
            answers = [(float(item.event_fraction or 0.0), one.present) for item, one in given if one is not None]
            if len(answers) == len(mine) < self.n_items:
                rows.append(self._next(annotator, answers, [*session.items.values()], rows))
        return rows

    def _next(
        self, annotator: str, answers: list[tuple[float, float]], items: list[Item], more: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """The item that tells most about this person."""
        gain = CriterionPosterior.of(answers).information()
        rng = np.random.default_rng([18, len(answers), *annotator.encode()])
        for fraction in FRACTIONS[np.argsort(-gain, kind="stable")]:
            # Twice, so that the event is cut on its left or on its right.
            plan = CalibrationDesign(np.array([fraction, fraction]), np.ones(1), 0.0, ())
            found = place(list(self.recordings.values()), plan, lengths=[self.segment_length], rng=rng)
            if len(found):
                row = found.iloc[int(rng.integers(len(found)))]
                break
        else:
            raise InvalidInput(
                f"no known event of {self.label!r} lets a segment of {self.segment_length:g} s hold a part of it and "
                "no other event; give recordings whose events stand further apart, or another --segment-length"
            )
        name, onset, offset = str(row["recording"]), float(row["onset"]), float(row["offset"])
        asked = [(item.recording, item.onset, item.offset) for item in items]
        asked += [(row["recording"], row["onset"], row["offset"]) for row in more]
        repeat = sum((r, round(a, 6), round(b, 6)) == (name, onset, offset) for r, a, b in asked)
        query = query_id(name, onset, offset, self.label, repeat)
        values = (query, name, onset, offset, self.label, _method(annotator), 1 + len(answers), repeat, True,
                  float(fraction), self.recordings[name].length)  # fmt: skip
        return dict(zip(COLUMNS, values))


def _method(annotator: str) -> str:
    return f"measure {annotator}"


def card_of(session: LabelingSession, annotator: str, label: str) -> AnnotatorProfile | None:
    """The card of one person from the items of known event fraction that they answered; None without such items."""
    answers, seconds = [], []
    for item in session.items.values():
        one = session.answer_of(annotator, item.query)
        if one is not None:
            seconds.append(one.seconds)
            if item.event_fraction is not None:
                answers.append((item.event_fraction, one.present))
    if not answers:
        return None
    return AnnotatorProfile.of(CriterionPosterior.of(answers), annotator=annotator, label=label, seconds=seconds)


def usual_length(recordings: Iterable[Recording]) -> float:
    """A segment length that holds nine of ten known events whole, with as much around them."""
    lengths = [float(b - a) for one in recordings if one.events is not None for a, b in one.events]
    return float(np.round(max(1.0, 2 * np.quantile(lengths, 0.9)), 1)) if lengths else 2.0


def neutral(folder: Path, *, write: bool = False) -> dict[str, Recording]:
    """The bundled set: three minutes of noise with glides, pulse trains and bands of noise; written where missing."""
    found = {}
    for k in range(3):
        scene = soundscape(60, n_events=8, event_length=(0.4, 1.2), snr=12, least_gap=2.5, rng=180 + k)
        path = folder / f"neutral_{k}.wav"
        if write and not path.is_file():
            scene.write(path)
        found[path.name] = Recording(path.name, scene.seconds, path=path, events=merge(scene.events))
    return found
