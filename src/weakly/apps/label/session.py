"""One campaign at work: which segment each person hears next, what they answered, and what they took back.

All of it follows from the campaign's store, where everything is only ever added: answers, and acts such as an undo.
Memory holds a copy that is brought up to date before each use, so a server that is killed at any moment, a second
server and a file that is brought by ``weakly answers`` all lead to the same next question.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import InvalidInput
from ...base.symbols import whole
from ...studies.queries.query_set import REPEAT
from ...studies.queries.store import Answer, Store, StoreTrouble, same

if TYPE_CHECKING:
    from .follow_up import FollowUp

MOST_NOTE = 2000  # characters


@dataclass(frozen=True)
class Item:
    """One segment to be answered."""

    number: int
    query: str
    recording: str
    onset: float
    offset: float
    label: str
    calibration: bool
    event_fraction: float | None
    method: str

    @property
    def place(self) -> tuple[str, float, float]:
        """The stretch of a recording that it asks about."""
        return self.recording, self.onset, self.offset


@dataclass
class _Cache:
    """The copy of the store: what is asked, and what counts now."""

    items: dict[str, Item] = field(default_factory=dict)
    by_place: dict[tuple[str, float, float], list[Item]] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)  # by their id, those too that were taken back
    by_query: dict[str, list[str]] = field(default_factory=dict)  # their ids, in the order of arrival
    undone: dict[str, int] = field(default_factory=dict)  # answers that were taken back, with the number of the undo
    given: dict[str, dict[str, str]] = field(default_factory=dict)  # query -> annotator -> the answer that counts
    by_person: dict[str, list[Answer]] = field(default_factory=dict)  # in the order of arrival, and those taken back
    actions: dict[str, Any] = field(default_factory=dict)
    reviewed: dict[str, tuple[float, float]] = field(default_factory=dict)  # by answer: seconds, and how far it came
    marks: dict[str, list[tuple[float, float]]] = field(default_factory=dict)  # by answer: where events are
    later: dict[tuple[str, str], int] = field(default_factory=dict)  # annotator and query -> number of the act
    paused: dict[str, bool] = field(default_factory=dict)  # by annotator, what the owner said last
    seen: dict[str, int] = field(default_factory=lambda: {"queries": -1, "answers": -1, "actions": -1})

    def counts(self, answer: Answer) -> bool:
        """Whether this is what the person says of the query now."""
        return self.given.get(answer.query, {}).get(answer.annotator) == answer.id


@dataclass
class _Open:
    """What one person could still answer, each part in its order; brought up to date as answers arrive."""

    again: dict[str, Item]  # what they took back, the last first
    own: dict[str, Item]  # their share
    rest: dict[str, Item]  # the others' shares, heard from the end

    def __iter__(self) -> Iterator[Item]:
        return chain(self.again.values(), self.own.values(), reversed(self.rest.values()))


@dataclass
class PendingAnswer:
    """An answer on its way into the store."""

    answer: Answer
    acts: Sequence[tuple[str, str]]
    replaces: bool = False  # an earlier answer of the same person, which is then taken back
    is_kept: bool = False
    is_done: bool = False
    error: Exception | None = None


class LabelingSession:
    """The campaign of a store, shared by its annotators.

    Parameters
    ----------
    store : the campaign's store, with its queries.
    annotators : the names of those who answer. Each has a share of the queries, and helps the others afterwards.
    votes : how many of them answer each query.
    more : what asks further questions once answers are there (a method that follows the answers, a measurement).
    in_order : ask in the order of time. Left out, the order is a shuffled one (always the same), so that a segment's
        neighbours, heard just before, do not answer for it.
    together : ask about all classes of a segment at once; each of them still has a query and an answer of its own.
    """

    def __init__(
        self, store: Store, *, annotators: Sequence[str], votes: int = 1, more: FollowUp | None = None,
        in_order: bool = False, together: bool = False,
    ) -> None:  # fmt: skip
        self.store, self.annotators, self.more = store, list(annotators), more
        self.in_order, self.together = in_order, together
        self.votes = whole("votes", votes, least=1)
        if self.votes > len(self.annotators):
            raise InvalidInput(f"votes must be at most the number of annotators, {len(self.annotators)}, got {votes}")
        store.is_busy = True
        #: A name of the campaign that no other has, for what clients keep of it.
        self.campaign = str(store.setting("campaign", secrets.token_hex(8)))
        self._cache = _Cache()
        self._is_stale = True  # the copy is read anew: what a failed transaction had seen may never have happened
        self._lock = threading.RLock()
        self._waiting: deque[PendingAnswer] = deque()
        self._places = {name: place for place, name in enumerate(self.annotators)}
        self._found: dict[str, _Open] = {}
        with self._changing():
            pass

    # What is known -----------------------------------------------------------------------------------------------

    @property
    def items(self) -> dict[str, Item]:
        """Every query that was asked so far, by its id."""
        return self._cache.items

    @property
    def people(self) -> list[str]:
        """The annotators, and whoever else has answered."""
        return list(dict.fromkeys([*self.annotators, *self._cache.by_person]))

    @property
    def paused(self) -> set[str]:
        """The annotators who are not asked for now; another server's word counts from the next refresh on."""
        return {name for name, is_paused in list(self._cache.paused.items()) if is_paused}

    def answer_of(self, annotator: str, query: str) -> Answer | None:
        """The answer of this person that counts, if there is one."""
        name = self._cache.given.get(query, {}).get(annotator)
        return None if name is None else self._cache.answers[name]

    def answers(self, query: str) -> list[Answer]:
        """The answers to a query that count, one per person."""
        with self._lock:
            return [self._cache.answers[name] for name in self._cache.given.get(query, {}).values()]

    def answers_by(self, annotator: str) -> list[Answer]:
        """The answers of this person that count, in the order of arrival."""
        return [one for one in self._cache.by_person.get(annotator, ()) if self._cache.counts(one)]

    def all_answers(self) -> list[Answer]:
        """Every answer that counts, in the order of arrival."""
        with self._lock:
            return [one for one in self._cache.answers.values() if self._cache.counts(one)]

    def reviewed_seconds(self, answer: Answer) -> float:
        """Seconds of the recording that played, or were shown, before this answer; else the segment's length."""
        item = self._cache.items[answer.query]
        return self._cache.reviewed.get(answer.id, (item.offset - item.onset,))[0]

    def reached(self, answer: Answer) -> float:
        """How many seconds into the segment it played at most; NaN where nobody tells."""
        return self._cache.reviewed.get(answer.id, (np.nan, np.nan))[1]

    def marks(self, answer: Answer) -> list[tuple[float, float]]:
        """Where this answer says that events begin and end."""
        return self._cache.marks.get(answer.id, [])

    def is_settled(self, query: str) -> bool:
        """Whether enough people have answered."""
        return len(self._cache.given.get(query, ())) >= self.votes

    def was_taken_back(self, query: str) -> bool:
        """Whether an answer to it was taken back."""
        return any(name in self._cache.undone for name in self._cache.by_query.get(query, ()))

    def acts(self, kind: str) -> list[Any]:
        """What people did of this kind besides answering, in the order of arrival: query, annotator, detail."""
        with self._lock:
            return [row for row in self._cache.actions.values() if row.kind == kind]

    # What people do -----------------------------------------------------------------------------------------------

    def ask(self, annotator: str, *, most: int = 3, refresh: bool = True) -> list[Item]:
        """What this person hears now, and what comes after it if nothing changes; nothing when all is answered.

        First what they took back last, then their own share in order, then what is left of the others', from its end.
        Together, each item stands for all of its segment.
        """
        with self._lock:
            if refresh or self._is_stale:
                self.refresh()
            waiting = iter(self._open(annotator))
            if not self.together:
                return list(islice(waiting, most))
            places: dict[Any, Item] = {}
            while len(places) < most and (item := next(waiting, None)) is not None:
                places.setdefault(item.place, item)
            return list(places.values())

    def classes(self, item: Item, annotator: str) -> list[Item]:
        """The item, or (together) all of its segment: those that this person has answered if this one is, else not."""
        if not self.together:
            return [item]
        with self._lock:
            given, is_answered = self._cache.given, annotator in self._cache.given.get(item.query, ())
            return [
                each for each in self._cache.by_place[item.place]
                if (annotator in given.get(each.query, ())) == is_answered and each.calibration == item.calibration
            ]  # fmt: skip

    def left(self, annotator: str) -> list[Item]:
        """What this person's own share holds yet."""
        with self._lock:
            still = self._open(annotator)
            return [*still.own.values(), *(one for one in still.again.values() if self._mine(annotator, one))]

    def refresh(self) -> None:
        """See what other processes have told."""
        with self._lock:
            changed = self._refresh()
            if changed and self.more is not None:
                with self._changing() as connection:
                    self._extend(connection, changed)

    def tell(self, annotator: str, **said: Any) -> bool:
        """Take an answer, as :meth:`offer` is told; whether it is kept: not if it would have to replace another."""
        return self.take(self.offer(annotator, **said))

    def offer(
        self, annotator: str, *, query: str, present: float, id: str, seconds: float = np.nan,
        acts: Sequence[tuple[str, str]] = (), replaces: bool = False,
    ) -> PendingAnswer:  # fmt: skip
        """The first half of :meth:`tell`: the answer waits, and whoever comes first takes all that wait.

        ``id`` is made by whoever asks, so that an answer whose receipt was lost is sent again without being doubled.
        ``acts``: (kind, detail) of what was done besides. Answers that wait at the same time go into one transaction.
        """
        name = f"{annotator}:{id}"
        answer = Answer(query, present, annotator, seconds, _now(), "label", name)
        self._waiting.append(told := PendingAnswer(answer, acts, replaces))
        return told

    def take(self, told: PendingAnswer) -> bool:
        """The second half of :meth:`tell`."""
        with self._lock:
            if not told.is_done:
                waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
                try:
                    self._take_all(waiting)
                finally:
                    for one in waiting:
                        one.is_done = True
        if told.error is not None:
            raise told.error
        return told.is_kept

    def _take_all(self, told: list[PendingAnswer]) -> None:
        """Take answers in one transaction; what was wrong with one of them is told to its sender alone."""
        try:
            with self._changing() as connection:
                changed: set[str] = set()
                for one in told:
                    answer, place = one.answer, (one.answer.query, one.answer.annotator)
                    before, earlier = self._cache.answers.get(answer.id), self.answer_of(place[1], place[0])
                    if answer.query not in self._cache.items:
                        one.error = InvalidInput(f"query: there is no query {answer.query!r} in this campaign")
                    elif before is not None and not (
                        before.query == answer.query and same(before.present, answer.present)
                    ):
                        one.error = _taken(answer.id)
                    elif before is None and (earlier is None or one.replaces):
                        if earlier is not None:
                            self._act(connection, f"{answer.id}:undo", place, "undo", earlier.id)
                        self.store.tell([answer], connection)
                        for k, (kind, detail) in enumerate(one.acts):
                            self._act(connection, f"{answer.id}:{k}", place, kind, detail)
                        changed |= self._refresh(connection)
                        if answer.id not in self._cache.answers:
                            raise StoreTrouble(
                                f"{self.store.name}: holds less than before; was another one put in its place?"
                            )
                    given = self.answer_of(place[1], place[0])  # as it was read back from the store
                    one.is_kept = given is not None and given.id == answer.id
                self._extend(connection, changed)
        except Exception as error:
            if len(told) > 1 and not isinstance(error, StoreTrouble):
                for one in told:
                    self._take_all([one])
            else:
                for one in told:
                    one.error = one.error or error

    def undo(self, annotator: str, *, id: str) -> Item | None:
        """Take back this person's last answer that counts; its query, which comes next, or None if there is none."""
        name = f"{annotator}:{id}"
        with self._changing() as connection:
            if self._was_done(name, kind="undo"):
                return self._cache.items[self._cache.actions[name].query]
            mine = [one for one in self.answers_by(annotator) if one.source == "label"]
            if not mine:
                return None
            item = self._cache.items[mine[-1].query]
            for k, each in enumerate(self.classes(item, annotator)):
                last = self.answer_of(annotator, each.query)
                assert last is not None
                self._act(connection, f"{name}:{k}" if k else name, (each.query, annotator), "undo", last.id)
            self._extend(connection, self._refresh(connection))
        return item

    def remark(self, annotator: str, *, query: str, kind: str, id: str, note: str = "") -> None:
        """Keep what this person did with a query (a note, or that it comes "later"), or (no query) with a recording."""
        name = f"{annotator}:{id}"
        with self._changing() as connection:
            if query and query not in self._cache.items:
                raise InvalidInput(f"query: there is no query {query!r} in this campaign")
            if not self._was_done(name, kind=kind, query=query, detail=note[:MOST_NOTE]):
                self._act(connection, name, (query, annotator), kind, note)
                self._refresh(connection)

    def _act(self, connection: Any, name: str, place: tuple[str, str], kind: str, detail: str) -> None:
        query, annotator = place
        self.store.act(connection, action=name, query=query, annotator=annotator, kind=kind,
                       detail=detail[:MOST_NOTE], acted=_now())  # fmt: skip

    def pause(self, annotator: str, is_paused: bool) -> None:
        """Whether this person is asked for now; others do what they leave."""
        self.remark(annotator, query="", kind="pause", id=secrets.token_hex(8), note=str(is_paused))

    def _was_done(self, name: str, **what: str) -> bool:
        """Whether this was done before, under this name."""
        before = self._cache.actions.get(name)
        if before is not None and any(getattr(before, word) != value for word, value in what.items()):
            raise _taken(name)
        return before is not None

    # How it stays true --------------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self) -> Iterator[Any]:
        """One transaction under the lock of the store, seen from its newest state."""
        with self._lock:
            try:
                with self.store.begin() as connection:
                    self._extend(connection, self._refresh(connection))
                    yield connection
            except BaseException:
                self._is_stale = True
                raise

    def _refresh(self, connection: Any = None) -> set[str]:
        """Take in what is new in the store; the queries whose answers have changed."""
        is_anew = self._is_stale
        kept = _Cache() if is_anew else self._cache
        news = self.store.news(kept.seen, connection)
        if is_anew:
            self._cache, self._is_stale = kept, False
            self._found.clear()
        for row in news["queries"]:
            kept.items[row.query] = item = Item(
                row.number, row.query, row.recording, row.onset, row.offset, row.label, bool(row.calibration),
                row.event_fraction, row.method,
            )  # fmt: skip
            kept.by_place.setdefault(item.place, []).append(item)
        for row in news["answers"]:
            kept.answers[row.answer] = answer = Answer.of(row)
            kept.by_query.setdefault(row.query, []).append(row.answer)
            kept.by_person.setdefault(answer.annotator, []).append(answer)
        for row in news["actions"]:
            kept.actions[row.action] = row
            if row.kind == "undo":
                kept.undone[row.detail] = row.number
            elif row.kind == "pause":
                kept.paused[row.annotator] = row.detail == str(True)
            elif row.kind == "later":
                kept.later[(row.annotator, row.query)] = row.number
            elif row.kind in ("reviewed", "mark"):
                with suppress(ValueError):  # somebody else's note
                    first, second = map(float, row.detail.split())
                    name = row.action.rpartition(":")[0]
                    if row.kind == "mark":
                        kept.marks.setdefault(name, []).append((first, second))
                    else:
                        kept.reviewed[name] = first, second
        changed = dict.fromkeys(row.query for table in ("answers", "actions") for row in news[table])
        for table, rows in news.items():
            if rows:
                kept.seen[table] = rows[-1].number
        for query in changed:
            names = [name for name in kept.by_query.get(query, ()) if name not in kept.undone]
            kept.given[query] = {kept.answers[name].annotator: name for name in names}
        is_reordered = any(row.kind in ("undo", "later") for row in news["actions"])
        if news["queries"] or is_reordered or self.more is not None:
            self._found.clear()
        for person, still in self._found.items():
            for query in changed:
                if person in kept.given[query]:
                    still.again.pop(query, None)
                if person in kept.given[query] or len(kept.given[query]) >= self.votes:
                    still.own.pop(query, None)
                    still.rest.pop(query, None)
        return set(kept.items) if is_anew else changed.keys() & kept.items.keys()

    def _extend(self, connection: Any, queries: Iterable[str]) -> None:
        """Ask what follows from new answers to these queries."""
        if self.more is None:
            return
        rows = [row for row in self.more.rows(self, queries) if row["query"] not in self._cache.items]
        if rows:
            self.store.ask(rows, connection)
            self._refresh(connection)

    def _mine(self, annotator: str, item: Item) -> bool:
        """Whether the query is in this person's share: each goes to as many people as there are votes, in turn."""
        if item.method.startswith(REPEAT):
            return True  # it is for nobody else
        first = self._cache.by_place[item.place][0] if self.together else item
        return (self._places[annotator] - first.number) % len(self._places) < self.votes

    def _open(self, annotator: str) -> _Open:
        """All that this person could still answer."""
        if annotator not in self._found:
            self._found[annotator] = self._find_open(annotator)
        return self._found[annotator]

    def _find_open(self, annotator: str) -> _Open:
        kept = self._cache
        wanted = None if self.more is None else self.more.wanted
        waiting = [
            item for item in kept.items.values()
            if annotator not in kept.given.get(item.query, ())
            and (wanted is None or item.calibration or item.query in wanted)
            and (self.more is None or self.more.is_for(item, annotator))
        ]  # fmt: skip
        if not self.in_order:  # the names of queries are digests: as good as drawn
            waiting.sort(key=attrgetter("query"))
        later = {item.query: kept.later.get((annotator, item.query), -1) for item in waiting}
        waiting.sort(key=lambda item: later[item.query])
        back = {
            one.query: number for name, number in kept.undone.items()
            if (one := kept.answers.get(name)) is not None
            and one.annotator == annotator and number > later.get(one.query, -1)
        }  # fmt: skip
        again = sorted((item for item in waiting if item.query in back), key=lambda item: -back[item.query])
        found = _Open({item.query: item for item in again}, {}, {})
        for item in waiting:
            if item.query not in back and len(kept.given.get(item.query, ())) < self.votes:
                (found.own if self._mine(annotator, item) else found.rest)[item.query] = item
        return found


def _taken(name: str) -> InvalidInput:
    given = name.partition(":")[2]
    return InvalidInput(
        f"id: {given!r} was used for something else before; every answer or note needs an id of its own"
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
