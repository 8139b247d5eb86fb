"""Segments that are asked again, unseen: what tells how often somebody slips."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...methods.base import Recording
from ...posterior.slips import Slips, slips_of
from ...studies.queries.query_set import AGAIN, COLUMNS, REPEAT, query_id
from .session import FollowUp, Item, LabelingSession

APART = 5  # answers that lie at least between two of one segment
PRESENT = 0.85  # of the segments that are repeated, those that were answered present: only they tell of lapses


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
            answers = session.answers_by(annotator)
            given = [session.items[one.query] for one in answers if one.query in session.items]
            if len(mine) < self.share * (len(given) - len(mine)) and len(given) > 2 * APART:
                rows += self._again(session, annotator, given, mine)
        return rows

    def _again(
        self, session: LabelingSession, annotator: str, given: list[Item], mine: list[Item]
    ) -> list[dict[str, Any]]:
        rng = np.random.default_rng([31, len(mine), *annotator.encode()])
        times: dict[Any, int] = {}
        for item in mine:
            times[_place(item)] = times.get(_place(item), 0) + 1
        late = {_place(item) for item in given[-APART:]}
        first = {_place(item): item for item in given[:-APART] if not item.calibration and _place(item) not in late}
        half = [item for place, item in first.items() if times.get(place) == 1]
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
