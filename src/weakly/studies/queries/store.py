"""The store of a campaign: one database that owns its settings, recordings, queries and answers.

By default one SQLite file, ``campaign.db`` in the campaign's folder; any address that SQLAlchemy knows serves as well.
Answers are only ever added, in one transaction under the store's lock, each with an id that makes bringing it twice the
same as bringing it once. What comes next is a function of what is here, so whatever was interrupted is simply run
again. Files for tools and people are exports of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sqlalchemy as sa
from sqlalchemy import Column, Float, Integer, String, Table, select
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from ...base.errors import InvalidInput, WeaklyError, optional

NAME = "campaign.db"
VERSION = 2

_META = sa.MetaData()
SETTINGS = Table("settings", _META, Column("name", String, primary_key=True), Column("value", String, nullable=False))
RECORDINGS = Table(
    "recordings", _META,
    Column("recording", String, primary_key=True), Column("seconds", Float, nullable=False),
    Column("path", String), Column("relative", String),
)  # fmt: skip
QUERIES = Table(
    "queries", _META,
    Column("number", Integer, primary_key=True, autoincrement=False), Column("query", String, unique=True),
    Column("recording", String, nullable=False), Column("onset", Float, nullable=False),
    Column("offset", Float, nullable=False), Column("label", String, nullable=False),
    Column("method", String, nullable=False), Column("round", Integer, nullable=False),
    Column("repeat", Integer, nullable=False), Column("calibration", sa.Boolean, nullable=False),
    Column("event_fraction", Float), Column("recording_length", Float, nullable=False),
)  # fmt: skip
ANSWERS = Table(
    "answers", _META,
    Column("number", Integer, primary_key=True, autoincrement=False), Column("answer", String, unique=True),
    Column("query", String, nullable=False, index=True), Column("present", Float), Column("annotator", String),
    Column("seconds", Float), Column("answered", String), Column("source", String),
)  # fmt: skip
#: What annotators did besides answering: undo (of the answer in ``detail``), bookmark (with a note), context, speed;
#: and whom the owner has paused.
ACTIONS = Table(
    "actions", _META,
    Column("number", Integer, primary_key=True, autoincrement=False), Column("action", String, unique=True),
    Column("query", String, nullable=False), Column("annotator", String, nullable=False),
    Column("kind", String, nullable=False), Column("detail", String), Column("acted", String),
)  # fmt: skip
#: The fingerprints of files that were written from here: what has another one was changed by somebody.
EXPORTS = Table("exports", _META, Column("file", String, primary_key=True), Column("sha256", String, primary_key=True))

#: What settings are, where they are there; ``database`` is the address of the store that holds everything else.
_KINDS: dict[str, Any] = {
    "method": str, "parameters": dict, "signal": (dict, type(None)), "tool": dict, "label": dict, "campaign": str,
    "database": str, "secret": str,
}  # fmt: skip

_UNDONE = select(ACTIONS.c.detail).where(ACTIONS.c.kind == "undo", ACTIONS.c.detail.is_not(None))
_STANDING = select(ANSWERS).where(ANSWERS.c.answer.not_in(_UNDONE)).order_by(ANSWERS.c.number)


class StoreTrouble(WeaklyError, OSError):
    """The store cannot be read or written now; whatever was to be stored may be brought again later."""


@dataclass(frozen=True)
class Answer:
    """One answer: 1 present, 0 absent or NaN unsure, by whom, how long it took, when, and where it was read."""

    query: str
    present: float
    annotator: str = ""
    seconds: float = np.nan
    answered: str = ""  # the tool's clock, where it has one
    source: str = ""
    id: str = ""  # given by whoever asks one at a time; else it follows from the rest

    def __post_init__(self) -> None:
        if not (self.present in (0.0, 1.0) or np.isnan(self.present)):
            raise InvalidInput(f"an answer must be 1 (present), 0 (absent) or NaN, got {self.present!r}")

    @classmethod
    def of(cls, row: Any) -> Answer:
        """The answer of a row of the store."""
        words = (str(word or "") for word in (row.answered, row.source, row.answer))
        return cls(str(row.query), _float(row.present), str(row.annotator or ""), _float(row.seconds), *words)


@dataclass(frozen=True)
class CampaignState:
    """All that a store holds at one moment."""

    settings: dict[str, Any]
    recordings: dict[str, dict[str, Any]]
    queries: pd.DataFrame
    answers: list[Answer]


class Store:
    """The database of one campaign."""

    def __init__(self, place: str | Path) -> None:
        url = _address(str(place)) if "://" in str(place) else None
        self.file = Path(place) if url is None else None
        #: The address without its password, to be remembered; and what messages call the store.
        self.address = None if url is None else _without_secrets(url)
        self.name = str(self.file) if url is None else _without_secrets(url.set(query={}))
        self._is_made = False  # once it was seen to be there, a store that has gone is not made anew
        self.is_new = False  # whether this object made it
        self.made: list[Path] = []  # files and folders that were made for it
        #: Whether many small transactions come. SQLite then empties its journal instead of deleting the file: as safe,
        #: and on a busy disk fifty times faster; the empty file goes with the next transaction of somebody else.
        self.is_busy = False
        if url is None:
            self._engine = sa.create_engine("sqlite://", creator=self._open, poolclass=NullPool, hide_parameters=True)
        else:
            patience = {"connect_timeout": "10", "tcp_user_timeout": "30000"} if "psycopg" in url.drivername else {}
            try:
                self._engine = sa.create_engine(url.set(query={**patience, **url.query}), hide_parameters=True)
            except (SQLAlchemyError, ImportError) as error:
                raise InvalidInput(f"{self.name}: no such database can be opened: {error}") from error
            weakref.finalize(self, self._engine.dispose)  # the connections that it keeps open
        if self._engine.dialect.name == "sqlite":
            _sqlite(self._engine, self)

    def close(self) -> None:
        """Let go of connections that are kept open."""
        self._engine.dispose()

    def _open(self) -> sqlite3.Connection:
        """A connection to the file, which is made only if it was never there: else its answers would seem to be gone.

        Whoever brings files waits long for others to end; a server says that it is busy, and is asked again.
        """
        assert self.file is not None
        mode, patience = "rw" if self._is_made else "rwc", 10.0 if self.is_busy else 120.0
        return sqlite3.connect(f"{self.file.absolute().as_uri()}?mode={mode}", uri=True, timeout=patience)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Trouble of the database in one line."""
        try:
            yield
        except (DataError, IntegrityError) as error:  # of this one change: it will not be taken later either
            raise InvalidInput(f"{self.name}: the database refuses this: {_reason(error)}") from error
        except (SQLAlchemyError, UnicodeDecodeError) as error:
            reason = _reason(error)
            if "password" in reason:
                reason += "; a password comes from PGPASSWORD, from ~/.pgpass or with --database"
            raise StoreTrouble(f"{self.name}: the campaign's store cannot be read or written: {reason}") from error

    @contextmanager
    def or_nothing(self) -> Iterator[None]:
        """If the block raises, a store that this object made goes again, with what was made for it."""
        try:
            yield
        except BaseException:
            if self.is_new and self.file is None:
                with suppress(SQLAlchemyError):
                    _META.drop_all(self._engine)
            elif self.file is not None and (self.is_new or (self.file.is_file() and not self.file.stat().st_size)):
                self.made[:0] = [self.file, self.file.with_name(f"{self.file.name}-journal")]
            for path in self.made:
                with suppress(OSError):  # a folder stays if somebody put something into it
                    path.rmdir() if path.is_dir() else path.unlink()
            self.close()
            raise

    def _keep_private(self) -> None:
        """Nobody else reads the file, nor the journal, which takes its mode; a group that may write it keeps it."""
        if self.file is not None and not self._is_made:
            with suppress(OSError):  # somebody else's file; of a folder that is not there SQLite tells
                if not self.file.exists():
                    self.file.touch(0o600)
                if not self.file.stat().st_mode & 0o020:
                    os.chmod(self.file, 0o600)

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """One transaction under the lock of the store: all of it happens, or nothing."""
        self._keep_private()
        with self._told(), self._engine.begin() as connection:
            is_new = self._ready(connection)
            yield connection
        if self.file is not None and not self.file.exists():  # then the commit went into a file that nobody can open
            raise StoreTrouble(f"{self.name}: the campaign's store is gone")
        self._is_made, self.is_new = True, self.is_new or is_new

    def _ready(self, connection: Connection) -> bool:
        """Make the tables if there are none, and whether that was so; refuse those of another version."""
        is_new = not self._is_made and not sa.inspect(connection).has_table("settings")
        if is_new:
            _META.create_all(connection)
            connection.execute(SETTINGS.insert().values(name="schema_version", value=str(VERSION)))
        # On a server this row is the lock; SQLite is locked as a whole by now, and knows no FOR UPDATE.
        lock = select(SETTINGS.c.value).where(SETTINGS.c.name == "schema_version").with_for_update()
        found = connection.execute(lock).scalar()
        if found != str(VERSION):
            raise StoreTrouble(f"{self.name}: a store of version {found}, and this weakly knows version {VERSION}")
        return is_new

    def state(self, connection: Connection | None = None) -> CampaignState:
        """Everything, as it is at this moment."""
        if connection is None:
            with self.begin() as own:
                return self.state(own)
        try:
            return self._state(connection)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise StoreTrouble(f"{self.name}: the campaign's store is damaged: {error}; nothing was changed") from error

    def _state(self, connection: Connection) -> CampaignState:
        if self._engine.dialect.name == "sqlite":
            report = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
            if report != "ok":
                raise ValueError(report)
        settings = {row.name: json.loads(row.value) for row in connection.execute(select(SETTINGS))}
        for name, kind in _KINDS.items():
            if name in settings and not isinstance(settings[name], kind):
                raise ValueError(f"the setting {name} is {shortened(settings[name])}")
        recordings = {
            str(row.recording): {"seconds": float(row.seconds), "path": row.path, "relative": row.relative}
            for row in connection.execute(select(RECORDINGS))
        }
        for name, one in recordings.items():
            if not 0 < one["seconds"] < 1e12:  # 30,000 years
                raise ValueError(f"recording {shortened(name)} has {one['seconds']} s")
            for place in (one["path"], one["relative"]):
                if place is not None and (not isinstance(place, str) or "\0" in place):
                    raise ValueError(f"recording {shortened(name)} has the path {shortened(place)}")
        rows = connection.execute(select(QUERIES).order_by(QUERIES.c.number)).mappings().all()
        frame = pd.DataFrame(rows, columns=[column.name for column in QUERIES.columns]).drop(columns="number")
        numbers = ("onset", "offset", "event_fraction", "recording_length")
        frame = frame.astype({**dict.fromkeys(numbers, float), "round": int, "repeat": int, "calibration": bool})
        for column in ("query", "recording", "label", "method"):
            if wrong := [value for value in frame[column] if not isinstance(value, str)]:
                raise ValueError(f"a query has the {column} {shortened(wrong[0])}")
        for query, name, onset, offset in frame[["query", "recording", "onset", "offset"]].itertuples(index=False):
            end = recordings[name]["seconds"] if name in recordings else 1e300
            if not 0 <= onset < offset <= end * (1 + 1e-6):
                raise ValueError(f"query {shortened(query)} lies from {onset} to {offset} s")
        given = connection.execute(_STANDING).all()
        for what, told in (("answer", given), ("action", connection.execute(select(ACTIONS)).all())):
            if odd := [value for row in told for value in row if isinstance(value, bytes)]:  # SQLite holds any kind
                raise ValueError(f"an {what} holds {shortened(odd[0])}")
        return CampaignState(settings, recordings, frame, list(map(Answer.of, given)))

    def add(
        self, settings: Mapping[str, Any], recordings: Mapping[str, Mapping[str, Any]], queries: pd.DataFrame
    ) -> CampaignState:
        """Take in the settings, if there are none yet, and the recordings and queries that are new; the state after.

        Other settings than those that are there are refused: a store belongs to one campaign.
        """
        with self.begin() as connection:
            before = self.state(connection)
            self.check(before, settings, recordings)
            held = set(before.settings)
            if "tool" in held and settings.get("tool") not in (None, before.settings["tool"]):
                connection.execute(SETTINGS.delete().where(SETTINGS.c.name == "tool"))  # the latest one is used
                held.remove("tool")
            said = [{"name": name, "value": json.dumps(value)} for name, value in settings.items() if name not in held]
            known = [
                {"recording": name, **{each: one[each] for each in ("seconds", "path", "relative")}}
                for name, one in recordings.items()
                if name not in before.recordings
            ]
            for table, rows in ((SETTINGS, said), (RECORDINGS, known)):
                if rows:
                    connection.execute(table.insert(), rows)
            new = queries[~queries["query"].isin(set(before.queries["query"]))].drop_duplicates("query")
            self.ask(new.to_dict("records"), connection)
            return self.state(connection)

    def ask(self, rows: Iterable[Mapping[Any, Any]], connection: Connection) -> None:
        """Add queries that are not there yet, in their order."""
        named = ({str(name): _plain(value) for name, value in row.items()} for row in rows)
        if numbered := [{"number": number, **row} for number, row in enumerate(named, _next(connection, QUERIES))]:
            connection.execute(QUERIES.insert(), numbered)

    def act(self, connection: Connection, **action: Any) -> None:
        """Add what an annotator did: action (its id), query, annotator, kind, detail, acted."""
        connection.execute(ACTIONS.insert().values(number=_next(connection, ACTIONS), **action))

    def news(self, after: Mapping[str, int], connection: Connection | None = None) -> dict[str, list[Any]]:
        """The rows of these tables (queries, answers, actions) above these numbers, in order; nothing stays locked."""
        if connection is None:
            with self._told(), self._engine.connect() as own:
                return self.news(after, own)
        found = {}
        # The other way round than they are written, so that whatever a row names is among the rows.
        for table in (table for table in (ACTIONS, ANSWERS, QUERIES) if table.name in after):
            newer = select(table).where(table.c.number > after[table.name]).order_by(table.c.number)
            found[table.name] = list(connection.execute(newer))
        return found

    def setting(self, name: str, value: Any = None, *, anew: bool = False) -> Any:
        """The setting of this name: what is there, else this value, which is kept; ``anew``: this value in any case.

        Without a value nothing is changed, and None says that there is none.
        """
        with self.begin() as connection:
            if anew:
                connection.execute(SETTINGS.delete().where(SETTINGS.c.name == name))
            found = connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.name == name)).scalar()
            if found is not None:
                try:
                    return json.loads(found)
                except (TypeError, ValueError, RecursionError) as error:
                    raise StoreTrouble(f"{self.name}: the campaign's store is damaged: setting {name}") from error
            if value is not None:
                connection.execute(SETTINGS.insert().values(name=name, value=json.dumps(value)))
            return value

    def check(self, before: CampaignState, settings: Mapping[str, Any], recordings: Mapping[str, Any]) -> None:
        """Refuse other settings than those of the state, naming both."""
        for group, given in settings.items():
            old = before.settings.get(group, given)
            pairs = [(group, old, given)]
            if isinstance(given, Mapping):
                if not isinstance(old, Mapping):
                    what = f"the campaign's settings hold the {group} {shortened(old)}"
                    raise InvalidInput(f"{self.name}: {what}: damaged?")
                pairs = [(name, old[name], value) for name, value in given.items() if name in old]
            differing = [(name, first, second) for name, first, second in pairs if not _agree(first, second)]
            if differing and group != "tool":
                here = ", ".join(f"{name} {_words(first)}" for name, first, _ in differing)
                asked = ", ".join(f"{name} {_words(second)}" for name, _, second in differing)
                why = "was asked for, and a folder holds one campaign: give another folder"
                raise InvalidInput(f"{self.name} belongs to a campaign with {here}; {asked} {why}")
        for name, one in recordings.items():
            seconds = before.recordings.get(name, one)["seconds"]
            if abs(seconds - one["seconds"]) > 1e-6:
                lengths = f"{seconds:g} s in this campaign, and {one['seconds']:g} s now"
                raise InvalidInput(f"{self.name}: recording {name!r} has {lengths}")

    def tell(self, answers: Iterable[Answer], connection: Connection | None = None) -> int:
        """Add the answers that are new; how many.

        An answer with a clock (or an id of its own) is new if it is not there yet. One without is new unless the same
        file said so last or, in a file that is read for the first time, that annotator: a file is a state, no diary.
        """
        if connection is None:
            with self.begin() as own:
                return self.tell(answers, own)
        # Of a file without clocks, the last word on a query counts.
        final = {(one.query, one.annotator, one.source, one.id or one.answered, one.present if one.answered else 0): one
                 for one in answers}  # fmt: skip
        answers = list(final.values())
        held: set[str] = set()
        latest: dict[tuple[str, ...], float] = {}
        number = _next(connection, ANSWERS) - 1
        earlier = select(ANSWERS).order_by(ANSWERS.c.number)
        if all(one.id for one in answers):  # what has a name of its own is known by it
            earlier = earlier.where(ANSWERS.c.answer.in_([one.id for one in answers]))
        elif len(answers) < 500:
            earlier = earlier.where(ANSWERS.c.query.in_([one.query for one in answers]))
        for row in connection.execute(earlier):
            held.add(row.answer)
            for place in ((row.query, row.annotator), (row.query, row.annotator, row.source)):
                latest[place] = _float(row.present)
        rows = []
        for one in answers:
            places = ((one.query, one.annotator), (one.query, one.annotator, one.source))
            before = latest.get(places[1], latest.get(places[0]))
            if not (one.id or one.answered) and before is not None and same(before, one.present):
                continue
            number += 1
            text = f"{one.query}|{one.annotator}|{one.present}|{one.answered or f'{one.source}|{number}'}"
            name = one.id or hashlib.sha256(text.encode()).hexdigest()[:20]
            if name in held:
                continue
            held.add(name)
            for place in places:
                latest[place] = one.present
            said = {name: _plain(value) for name, value in asdict(one).items() if name != "id"}
            rows.append({"number": number, "answer": name, **said})
        if rows:
            connection.execute(ANSWERS.insert(), rows)
        return len(rows)

    def written(self, file: str, data: bytes | None = None, *, on: Connection | None = None) -> set[str]:
        """The fingerprints of what was written to this file, with that of new data, which is remembered."""
        if on is None:
            with self.begin() as own:
                return self.written(file, data, on=own)
        known = {str(row.sha256) for row in on.execute(select(EXPORTS.c.sha256).where(EXPORTS.c.file == file))}
        if data is not None and (mark := fingerprint(data)) not in known:
            on.execute(EXPORTS.insert().values(file=file, sha256=mark))
            known.add(mark)
        return known


def _address(text: str) -> URL:
    """The parts of a database's address; what cannot be understood is not repeated, for it may hold a password."""
    kind, _, rest = text.partition("://")
    if kind in ("postgresql", "postgres"):
        optional("psycopg", extra="postgres")
        kind = "postgresql+psycopg"
    try:
        url = make_url(f"{kind}://{rest}")
    except (SQLAlchemyError, ValueError):
        url = None
    if url is None or rest.count("@") > 1:
        raise InvalidInput(
            "database must be an address such as postgresql://user:password@host:5432/name, and this one is none; "
            "signs such as @ : / within the password are written as %40 %3A %2F"
        ) from None
    if url.get_backend_name() == "sqlite" and url.database:
        url = url.set(database=str(Path(url.database).absolute()))
    return url


def _without_secrets(url: URL) -> str:
    secrets = [name for name in url.query if "password" in name or "secret" in name]
    bare = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)
    return str(bare.difference_update_query(secrets)).replace("+psycopg:", ":", 1)


def _reason(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).partition("\n")[0]


def _sqlite(engine: Engine, store: Store) -> None:
    """Every transaction takes the lock when it begins, and is on the disk when it ends."""

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver must not begin transactions of its own
        connection.execute("PRAGMA synchronous=FULL")
        if store.is_busy:
            connection.execute("PRAGMA journal_mode=TRUNCATE")

    @sa.event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def fingerprint(data: bytes) -> str:
    """What tells two files apart."""
    return hashlib.sha256(data).hexdigest()


def _next(connection: Connection, table: Table) -> int:
    """The number of the next row."""
    most = connection.execute(select(sa.func.max(table.c.number))).scalar()
    return 0 if most is None else int(most) + 1


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and np.isnan(value) else value


def _float(value: Any) -> float:
    return float("nan") if value is None else float(value)


def same(a: float, b: float) -> bool:
    """Whether two answers say the same."""
    return a == b or bool(np.isnan(a) and np.isnan(b))


def _agree(a: Any, b: Any) -> bool:
    """Whether two settings are the same; places are if they are the same from anywhere or from the folder."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return any(a.get(name) == b.get(name) for name in ("path", "relative"))
    return bool(a == b)


def shortened(value: Any) -> str:
    """A value for a message, which may come from a damaged file."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("path"))
    return "none" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
