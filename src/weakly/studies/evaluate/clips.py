r"""Strong annotations -> the clip labels that a rule makes of them, and the events that some rules lose.

Every tool that turns events into clip labels has its own rule. A clip that the end of a recording cuts short is judged
as if silence filled it up. An overlap shorter than 1e-9 of a clip is none, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ...base.symbols import check, choice, positive
from ...engine.tally import meetings
from ...model.annotator import TIE, PresenceRule
from ...model.answer_model import AnswerModels
from ...model.answers import Answers
from ...model.events import Events
from ...model.intervals import Bools, EventArrays, Floats, Ints, first_start, segment_lengths, window_counts

EDGES = ("truncate", "inside")


@dataclass(frozen=True)
class Clips:
    """Where the clips of many recordings lie: the windows of :mod:`weakly.model.intervals`."""

    recording: Ints
    full: Floats  # (clips, 2): where each begins and ends if nothing cuts it
    cut: Floats  # the same within its recording

    @classmethod
    def of(cls, events: Events, segment_length: float, phase: float, hop: float | None, edge: str) -> Clips:
        """The clips of the recordings that these events lie in."""
        width, start = float(check("segment_length", segment_length)), positive("phase", phase, zero=True)
        step = width if hop is None else float(check("hop", hop))
        choice("edge", edge, EDGES)
        lengths = events.known_extents.to_numpy(np.float64)
        begin = first_start(start, step)
        if begin < 0 and edge == "inside":
            begin += step
        count = window_counts(lengths, segment_length=width, hop=hop, phase=start, edge=edge)[0].astype(np.int64)
        recording = np.repeat(np.arange(len(lengths)), count)
        onset = begin + step * (np.arange(len(recording)) - np.repeat(np.cumsum(count) - count, count))
        full = np.column_stack((onset, onset + width))
        return cls(recording, full, np.clip(full, 0.0, lengths[recording, None]))

    def noticed(self, timelines: EventArrays, rules: Iterable[PresenceRule]) -> tuple[Bools, Bools]:
        """Which clips each rule calls present, (rules, clips), and which events are noticed in some clip."""
        clip, event, shared = meetings(timelines, self.recording, self.full)
        present, found = [], []
        for rule in rules:
            met = rule.is_present(event=timelines.bounds[event], segment=self.full[clip])
            met &= shared > TIE * (self.full[clip, 1] - self.full[clip, 0])
            present.append(np.bincount(clip[met], minlength=len(self.full)) > 0)
            found.append(np.bincount(event[met], minlength=len(timelines.bounds)) > 0)
        return np.array(present), np.array(found)


def clip_labels(
    events: Events,
    *,
    segment_length: float,
    rule: PresenceRule | str | None = None,
    presence_criterion: float | str | None = None,
    phase: float = 0.0,
    hop: float | None = None,
    edge: str = "truncate",
    label: str | None = None,
) -> Answers:
    """The clip labels that a rule makes of strong annotations: one row per clip and class, present 1 or 0.

    The parameters are those of :func:`weakly.evaluate`, of one rule or criterion and at one phase: where the first full
    clip begins, in seconds.

    >>> frame = pd.DataFrame({"recording": ["a"], "onset": [2.9], "offset": [3.3], "label": ["dog"]})
    >>> events = Events.from_frame(frame, recording_length=9.0)
    >>> clip_labels(events, segment_length=3, rule="fraction:0.5").to_frame()["present"].tolist()
    [0.0, 1.0, 0.0]
    """
    chosen = AnswerModels.of(presence_criterion=presence_criterion, rule=rule).as_rule
    clips = Clips.of(events, segment_length, phase, hop, edge)
    names = [str(name) for name in events.known_extents.index]
    recording = np.asarray(names, dtype=object)[clips.recording]
    place = pd.DataFrame({"recording": recording, "onset": clips.cut[:, 0], "offset": clips.cut[:, 1]})
    tables = [
        place.assign(label=name, present=clips.noticed(timelines, [chosen])[0][0].astype(np.float64))
        for name, timelines in events.by_label(label).items()
    ]
    table = pd.concat(tables or [place.head(0).assign(label="", present=0.0)], ignore_index=True)
    known = {str(name): float(length) for name, length in events.recordings["length"].items() if length == length}
    return Answers.from_frame(table, recording_length=known, recordings=names)


def vanished_events(
    events: Events, *, segment_length: ArrayLike, rules: Iterable[PresenceRule], phase: float = 0.0,
    hop: float | None = None, edge: str = "truncate", label: str | None = None,
) -> pd.DataFrame:  # fmt: skip
    """The events that some of these rules lose, in no clip that they call present, with the rules in ``lost_by``.

    >>> frame = pd.DataFrame({"recording": ["a"], "onset": [2.9], "offset": [3.1], "label": ["dog"]})
    >>> two = PresenceRule.any(), PresenceRule.seconds(0.25)
    >>> vanished_events(Events.from_frame(frame, recording_length=9.0), segment_length=3, rules=two)["lost_by"].tolist()
    ['seconds:0.25']
    """
    rules, names = list(rules), np.asarray(events.known_extents.index, dtype=object)
    tables = [pd.DataFrame(columns=["recording", "onset", "offset", "label", "lost_by", "segment_length"])]
    for width in segment_lengths(segment_length).tolist():
        clips = Clips.of(events, width, phase, hop, edge)
        for name, timelines in events.by_label(label).items():
            found = clips.noticed(timelines, rules)[1]
            at = np.flatnonzero(~found.all(axis=0))
            onset, offset = timelines.bounds[at].T
            lost = ["; ".join(rule.name for rule, seen in zip(rules, each) if not seen) for each in found[:, at].T]
            place = {"recording": names[timelines.owner[at]], "onset": onset, "offset": offset, "label": name}
            tables.append(pd.DataFrame({**place, "lost_by": lost, "segment_length": width}))
    return pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)
