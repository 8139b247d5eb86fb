"""What a campaign comes to: strong labels from answers or marks, with what somebody corrected, as strips to look at.

A strip is a recording with its events, how sure they are, and how likely one is at each moment; the doubtful come
first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...methods.base import Recording
from ...model.events import Events
from ...model.intervals import clip, complement, intersect, merge
from ...studies.queries.store import Answer
from .live import QualityMonitor, answers_of
from .session import MOST_NOTE, Item, LabelingSession

AT_ONCE = 40  # strips that a page is told of
BINS = 300  # moments of a strip at which it is told how likely an event is
Spans = dict[tuple[str, str], Any]  # events by recording and label, (n, 2)


class Correction(NamedTuple):
    """What somebody said of a stretch at the end: 1 an event is there, 0 none is, None what the answers say."""

    recording: str
    label: str
    onset: float
    offset: float
    present: int | None
    annotator: str = ""


@dataclass
class Ending:
    """The strips of a campaign; ``strong`` are the events that its answers or marks make."""

    session: LabelingSession
    live: QualityMonitor
    recordings: dict[str, Recording]
    strong: Callable[[], Events]

    @property
    def labels(self) -> list[str]:
        """The classes that the campaign asks about."""
        return list(dict.fromkeys(item.label for item in self.session.items.values()))

    def place(self, name: str) -> Item:
        """A stretch of a recording as a segment, by its name: @NUMBER:ONSET:OFFSET, with the number of its strip."""
        try:
            number, onset, offset = (kind(part) for kind, part in zip((int, float, float), name[1:].split(":")))
            one = list(self.recordings.values())[number if number >= 0 else len(self.recordings)]
        except (ValueError, IndexError) as error:
            raise InvalidInput(f"query: there is no strip of the name {name!r}") from error
        if not 0 <= onset < offset <= one.length + 1e-6:
            raise InvalidInput(f"query: a stretch must lie in its recording, from 0 to {one.length:g} s; got {name!r}")
        return Item(number, name, one.name, onset, min(offset, one.length), "", False, None, "")

    @property
    def has_come(self) -> bool:
        """Whether nobody has anything to answer."""
        return not any(self.session.ask(name, most=1, refresh=False) for name in self.session.annotators)

    @property
    def corrections(self) -> list[Correction]:
        """What was corrected, in the order of arrival: the last word on a moment counts."""
        told, labels = [], self.labels
        for row in self.session.acts("correct"):
            with suppress(ValueError, TypeError):  # damaged
                each = Correction._make([*json.loads(row.detail), row.annotator])
                is_known = each.recording in self.recordings and each.label in labels
                if is_known and 0 <= each.onset < each.offset < math.inf and each.present in (0, 1, None):
                    told.append(each)
        return told

    def answered(self) -> Events:
        """What the answers make, worked out anew when they have changed."""
        return self.live.once("strong", answers_of(self.session), self.strong)

    def events(self) -> Events:
        """The strong labels: what the answers make, with what was corrected."""
        before = self.answered()
        spans, answered = spans_of(before), spans_of(before)
        for each in self.corrections:
            place = each.recording, each.label
            now, then = (held.get(place, np.empty((0, 2))) for held in (spans, answered))
            spans[place] = corrected(now, then, each, self.recordings[each.recording].length)
        return events_of(spans, before.recordings)

    def strips(self, first: int) -> list[tuple[Item, dict[str, Any]]]:
        """The strips from this one on, as many as are shown at once: a recording, and what is known of it."""
        known, spans = self.live.known(self.session), spans_of(self.events())
        annotated = self.answered().recordings["annotated"].to_dict()
        active = {} if known is None else dict(iter(known[1].groupby(["recording", "label"])))
        doubts = dict.fromkeys(self.recordings, 0.0)
        for (name, _), rows in active.items():
            unsure = np.minimum(rows["active"], 1 - rows["active"])
            doubts[str(name)] += float((unsure * (rows["offset"] - rows["onset"])).sum())
        numbers = {name: number for number, name in enumerate(self.recordings)}
        shown = []
        for name in sorted(numbers, key=lambda name: -doubts[name])[first : first + AT_ONCE]:
            length, places = self.recordings[name].length, [(name, label) for label in self.labels]
            shown.append((self.place(f"@{numbers[name]}:0:{length!r}"), {
                "doubt": doubts[name], "is_answered": bool(annotated.get(name, False)),
                "events": [
                    {"label": place[1], "onset": a, "offset": b}
                    for place in places for a, b in spans.get(place, np.empty((0, 2))).tolist()
                ],
                "active": {place[1]: binned(active[place], length) for place in places if place in active},
                "corrected": [each._asdict() for each in self.corrections if each.recording == name],
            }))  # fmt: skip
        return shown

    def correct(self, place: Item, label: str, present: int | None, who: str, *, id: str) -> None:
        """Take what somebody says of a stretch: 1 an event is there, 0 none is, None what the answers say."""
        if not self.answered().recordings["annotated"].to_dict().get(place.recording, False):
            raise InvalidInput(f"query: nothing was answered about {place.recording}, so there is nothing to correct")
        if label not in self.labels:
            raise InvalidInput(f"label: this campaign asks nothing about {label!r}")
        note = json.dumps([place.recording, label, place.onset, place.offset, present])
        if len(note) > MOST_NOTE:
            raise InvalidInput(f"label: with the recording's name it has {len(note)} signs, too many to be kept")
        self.session.remark(who, query="", kind="correct", note=note, id=id)


def spans_of(events: Events) -> Spans:
    """The events by recording and label, as (n, 2) arrays."""
    groups = events.to_frame().groupby(["recording", "label"], sort=False, observed=True)
    return {(str(name), str(label)): rows[["onset", "offset"]].to_numpy(float) for (name, label), rows in groups}


def events_of(spans: Spans, recordings: pd.DataFrame) -> Events:
    """Events of these spans, in recordings with these lengths, which were annotated or not."""
    rows = [(name, a, b, label) for (name, label), mine in spans.items() for a, b in mine.tolist()]
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    frame = frame.astype({"onset": float, "offset": float})
    events = Events.from_frame(frame, recording_length=dict(recordings["length"]), recordings=list(recordings.index))
    events.recordings["annotated"] = recordings["annotated"]
    return events


def marked_events(session: LabelingSession, recordings: Mapping[str, Recording]) -> Events:
    """The events that were marked: moments that more than half of those say so who were sure about their segment.

    A recording is annotated if all of it was.
    """
    spans: Spans = {}
    annotated = {item.recording: True for item in session.items.values()}
    for item in session.items.values():
        given = _sure(session, item)
        annotated[item.recording] &= bool(given)
        marks = np.array([mark for one in given for mark in session.marks(one)]).reshape(-1, 2)
        edges = np.unique(marks)
        middle = (edges[1:] + edges[:-1]) / 2
        said = ((marks[:, :1] <= middle) & (middle < marks[:, 1:])).sum(axis=0)
        agreed = np.column_stack((edges[:-1], edges[1:]))[2 * said > len(given)]
        place = item.recording, item.label
        spans[place] = merge(np.concatenate((spans.get(place, np.empty((0, 2))), agreed)))
    lengths = [recordings[name].length for name in annotated]
    return events_of(spans, pd.DataFrame({"length": lengths, "annotated": annotated.values()}, index=list(annotated)))


def pilot_of(session: LabelingSession, strong: Events) -> Events:
    """Every page that was marked as a recording of its own, which a plan needs where only some are."""
    spans, pages, lengths = spans_of(strong), {}, {}
    for item in session.items.values():
        if _sure(session, item):
            name = f"{item.recording} {item.onset:g}-{item.offset:g} s"
            mine = clip(spans.get((item.recording, item.label), np.empty((0, 2))), item.onset, item.offset)
            pages[(name, item.label)], lengths[name] = mine - item.onset, item.offset - item.onset
    return events_of(pages, pd.DataFrame({"length": lengths, "annotated": True}))


def _sure(session: LabelingSession, item: Item) -> list[Answer]:
    return [one for one in session.answers(item.query) if not math.isnan(one.present)]


def corrected(now: Any, answered: Any, stroke: Correction, length: float) -> Any:
    """Events with one correction painted over them; None of it brings back what was answered.

    >>> now = answered = np.array([[1.0, 3.0], [5.0, 6.0]])
    >>> for said in ((0.0, 2.0, 0), (6.0, 7.0, 1), (0.0, 1.5, None)):
    ...     now = corrected(now, answered, Correction("a", "owl", *said), 9.0)
    >>> now.tolist()
    [[1.0, 1.5], [2.0, 3.0], [5.0, 7.0]]
    """
    span = np.array([[stroke.onset, stroke.offset]])
    inside = intersect(answered, span) if stroke.present is None else span[: stroke.present]
    return merge(np.concatenate((intersect(now, complement(span, 0.0, length)), inside)))


def binned(active: pd.DataFrame, length: float) -> list[float | None]:
    """How likely an event is at most in each of equal shares of a recording; None where nothing was asked."""
    starts = np.linspace(0.0, length, BINS + 1)
    p, onset, offset = (active[name].to_numpy(float) for name in ("active", "onset", "offset"))
    first = np.searchsorted(offset, starts[:-1], side="right")
    last = np.searchsorted(onset, starts[1:], side="left")
    return [round(float(p[a:b].max()), 6) if a < b else None for a, b in zip(first.tolist(), last.tolist())]
