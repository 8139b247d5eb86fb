"""Annotations of many recordings, column-wise, with every recording's length and whether it was annotated.

A recording without events is data: it is kept, counted and written like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .errors import InvalidInput

COLUMNS = ("recording", "onset", "offset", "label", "annotator", "confidence")


@dataclass(frozen=True)
class Timelines:
    """The events of one class in many recordings as flat arrays, ready for compiled code.

    Events of recording i are ``bounds[starts[i]:starts[i + 1]]``: sorted, disjoint, inside (0, lengths[i]).
    """

    bounds: NDArray[np.float64]  # (n, 2)
    starts: NDArray[np.int64]  # (recordings + 1,)
    lengths: NDArray[np.float64]  # (recordings,)

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[tuple[NDArray[np.float64], float]]:
        for i, length in enumerate(self.lengths):
            yield self.bounds[self.starts[i] : self.starts[i + 1]], float(length)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many events each recording holds."""
        return np.diff(self.starts)

    @property
    def owner(self) -> NDArray[np.int64]:
        """The recording of each event, by its position."""
        return np.repeat(np.arange(len(self)), self.counts)

    def cut(self, *, ends_known: bool = True) -> NDArray[np.bool_]:
        """Which events begin with their recording or end with it, to a microsecond: their true length is not known.

        Where ends are not known, a recording ends with its last event by convention, which does not cut it.
        """
        at_start = self.bounds[:, 0] <= 1e-6
        return at_start | (self.bounds[:, 1] >= self.lengths[self.owner] - 1e-6) if ends_known else at_start

    def part(self, first: int, last: int) -> Timelines:
        """Recordings first to last (exclusive), as a view."""
        lo, hi = self.starts[first], self.starts[last]
        return Timelines(self.bounds[lo:hi], self.starts[first : last + 1] - lo, self.lengths[first:last])

    @classmethod
    def of(cls, recordings: Iterable[Any], recording_length: Any) -> Timelines:
        """Timelines from one list of (onset, offset) per recording; what overlaps or touches is merged.

        >>> Timelines.of([[(1, 2), (1.5, 3)], []], 10).bounds.tolist()
        [[1.0, 3.0]]
        """
        from .intervals import as_intervals, merge

        rows = [merge(as_intervals(row, name=f"events of recording {i}")) for i, row in enumerate(recordings)]
        lengths = np.broadcast_to(np.asarray(recording_length, dtype=np.float64), (len(rows),)).copy()
        for i, (row, length) in enumerate(zip(rows, lengths)):
            _inside(row[:, 0], row[:, 1], length, recording=i)
        starts = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
        bounds = np.concatenate([*rows, np.empty((0, 2))])
        return cls(bounds, starts, lengths)


def _inside(onset: Any, offset: Any, length: Any, *, recording: Any) -> None:
    bad = (onset < 0) | (offset > length * (1 + 1e-12))
    if np.any(bad):
        k = int(np.flatnonzero(bad)[0])
        event = f"event {k} ({onset[k]:g}, {offset[k]:g})"
        raise InvalidInput(f"recording {recording!r}: {event} must lie inside (0, {float(length):g})")


class Events:
    """Events in time, of one or many classes, in one or many recordings.

    Make one with :meth:`from_frame` or :func:`weakly.read`. ``events.recordings`` lists every recording, the empty
    ones too, with its ``length`` in seconds (NaN where unknown) and whether it was ``annotated``.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"recording": ["a"], "onset": [1.0], "offset": [2.0], "label": ["dog"]})
    >>> events = Events.from_frame(frame, recording_length={"a": 10.0, "b": 10.0})
    >>> len(events), len(events.recordings)
    (1, 2)
    """

    def __init__(
        self, frame: pd.DataFrame, recordings: pd.DataFrame, *, skipped: int = 0, notes: Iterable[str] = ()
    ) -> None:
        self._frame = frame
        self.recordings = recordings
        self.skipped = skipped  # broken rows of the files, left out because the reader was told to
        self.notes = tuple(notes)  # what the reader understood that the files do not say outright

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        recording_length: float | Mapping[str, float] | None = None,
        recordings: Iterable[str] | None = None,
        unannotated: Iterable[str] | None = None,
        source: str = "events",
    ) -> Events:
        """Events from a table with the columns recording, onset, offset and, if you like, label, annotator, confidence
        and any others, which are kept.

        A row with a recording and neither times nor a label says that the recording was annotated and is empty.

        Parameters
        ----------
        recording_length : seconds for all recordings, or for each by name; recordings named here exist even if no
            event is in them. Left out, a length is unknown, and computations that need one end at the last offset.
        recordings : further recordings that were annotated and hold nothing.
        unannotated : recordings that exist and were not annotated; computations leave them out.
        """
        missing = [name for name in ("onset", "offset") if name not in frame.columns]
        if missing:
            raise InvalidInput(f"{source}: no column {missing[0]!r}; there are {', '.join(map(str, frame.columns))}")
        table = frame.reset_index(drop=True).copy()
        if "recording" not in table:
            table.insert(0, "recording", "recording")
        if "label" not in table:
            table["label"] = "event"
        for name in ("onset", "offset"):
            try:
                table[name] = pd.to_numeric(table[name]).astype(np.float64)
            except (TypeError, ValueError) as error:
                raise InvalidInput(f"{source}: column {name!r} must hold seconds: {error}") from error
        empty = (table["onset"].isna() & table["offset"].isna()).to_numpy(copy=True)
        blank: list[str] = []
        if empty.any():
            empty[empty] = (_missing(table["label"][empty]) & table["recording"][empty].notna()).to_numpy()
            blank = [str(name) for name in table["recording"][empty]]
            table = table[~empty].reset_index(drop=True)
        for name in ("recording", "label"):
            table[name] = _words(table[name], name, source)
        first = [name for name in COLUMNS if name in table.columns]
        table = table[first + [name for name in table.columns if name not in first]]
        _check_rows(table, source)

        known: dict[str, Any] = {}
        if isinstance(recording_length, Mapping):
            known = {str(name): length for name, length in recording_length.items()}
        further = [*blank, *known, *map(str, () if recordings is None else recordings)]
        idle = dict.fromkeys(map(str, () if unannotated is None else unannotated))
        owners = table["recording"].tolist()
        names = list(dict.fromkeys([*dict.fromkeys(owners), *further, *idle]))
        try:
            if recording_length is None or isinstance(recording_length, Mapping):
                lengths = [float(known.get(name, np.nan)) for name in names]
            else:
                lengths = [float(recording_length)] * len(names)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{source}: recording_length must be seconds, got {recording_length!r}") from error
        listing = pd.DataFrame(
            {"length": np.asarray(lengths, dtype=np.float64), "annotated": np.ones(len(names), dtype=bool)},
            index=pd.Index(names, name="recording", dtype=object),
        )
        if idle:
            heard = {*owners, *blank}
            listing["annotated"] = [name in heard or name not in idle for name in names]
        bad = ~(listing["length"].isna() | (listing["length"] > 0))
        if bad.any():
            raise InvalidInput(f"{source}: recording_length must be > 0, got {listing['length'][bad].iloc[0]:g}")
        if listing["length"].isna().all():
            return cls(table, listing)
        limit = listing["length"].to_numpy()[_codes(owners, names)]
        past = table["offset"].to_numpy() > limit * (1 + 1e-9)
        if past.any():
            row = int(np.flatnonzero(past)[0])
            raise InvalidInput(
                f"{source}: row {row} of recording {table['recording'][row]!r} ends at {table['offset'][row]:g} s, "
                f"after the recording's {limit[row]:g} s" + late_words(table["offset"].to_numpy()[past], limit[past])
            )
        return cls(table, listing)

    def to_frame(self) -> pd.DataFrame:
        """One row per event: recording, onset, offset, label and whatever else is known."""
        return self._frame.copy()

    def __len__(self) -> int:
        return len(self._frame)

    def __repr__(self) -> str:
        return f"<Events: {len(self)} events, {len(self.labels)} labels, {len(self.recordings)} recordings>"

    @property
    def labels(self) -> list[str]:
        """The classes, sorted."""
        return sorted(self._frame["label"].unique())

    def select(self, label: str | None = None) -> Events:
        """The events of one class; every recording stays."""
        if label is None:
            return self
        if label not in set(self._frame["label"]):
            from .symbols import choice

            choice("label", label, tuple(self.labels))
        rows = self._frame[self._frame["label"] == label].reset_index(drop=True)
        return Events(rows, self.recordings, skipped=self.skipped, notes=self.notes)

    @cached_property
    def _owners(self) -> NDArray[np.int64]:
        """The position of each event's recording in ``recordings``."""
        return _codes(self._frame["recording"].tolist(), self.recordings.index)

    @property
    def extents(self) -> pd.Series:
        """The length of every recording in seconds; where it is unknown, the last offset in it (0 if it is empty)."""
        last = np.zeros(len(self.recordings))
        np.maximum.at(last, self._owners, self._frame["offset"].to_numpy())
        return self.recordings["length"].fillna(pd.Series(last, index=self.recordings.index))

    @property
    def _heard(self) -> NDArray[np.bool_]:
        return self.recordings["annotated"].to_numpy(bool) & (self.extents.to_numpy() > 0)

    @property
    def known_extents(self) -> pd.Series:
        """The extents of the recordings that timelines hold, in their order: annotated, and longer than nothing."""
        return self.extents[self._heard]

    def by_label(self, label: str | None = None) -> dict[str, Timelines]:
        """The timelines of every class by its name, or of one class."""
        return {name: self.timelines(name) for name in (self.labels if label is None else [label])}

    def timelines(self, label: str | None = None) -> Timelines:
        """The events of one class (all of them as one class if None) as flat arrays, merged where they overlap.

        Recordings that were not annotated, or are empty with an unknown length, are left out: nothing is known there.
        """
        if label is not None and label not in set(self._frame["label"]):
            self.select(label)  # says which labels there are
        mask, kept = self._heard, self.known_extents
        rec = np.where(mask, np.cumsum(mask) - 1, -1)[self._owners]
        known = rec >= 0
        if label is not None:
            known &= (self._frame["label"] == label).to_numpy()
        rec = rec[known]
        onset, offset = self._frame["onset"].to_numpy()[known], self._frame["offset"].to_numpy()[known]
        lengths = kept.to_numpy(dtype=np.float64)
        order = np.lexsort((onset, rec))
        rec, onset, offset = rec[order], onset[order], np.minimum(offset[order], lengths[rec[order]])
        if len(rec) == 0:
            return Timelines(np.empty((0, 2)), np.zeros(len(kept) + 1, np.int64), lengths)
        first = np.empty(len(rec), dtype=bool)
        reach = _running_reach(rec, offset)
        first[0] = True
        first[1:] = (rec[1:] != rec[:-1]) | (onset[1:] > reach[:-1])
        last = np.append(first[1:], True)
        bounds = np.column_stack((onset[first], reach[last]))
        starts = np.searchsorted(rec[first], np.arange(len(kept) + 1)).astype(np.int64)
        return Timelines(bounds, starts, lengths)

    @property
    def lengths(self) -> NDArray[np.float64]:
        """The event lengths in seconds, one per row."""
        return self._frame["offset"].to_numpy(np.float64) - self._frame["onset"].to_numpy(np.float64)


def late_words(offset: NDArray[np.float64], limit: NDArray[np.float64]) -> str:
    """How many events end after their recordings, and by how much; far too late, it is the unit."""
    late = float((offset - limit).max())
    if (offset > 20 * limit).any():
        return "; milliseconds for seconds?"
    many = "" if len(offset) == 1 else f"{len(offset)} events end late, "
    return f" ({many}by {'' if len(offset) == 1 else 'at most '}{late:.3g} s)"


def _running_reach(rec: NDArray[np.int64], offset: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest offset so far within each recording (rows sorted by recording)."""
    return np.asarray(pd.Series(offset).groupby(rec).cummax(), dtype=np.float64)


def _missing(column: pd.Series) -> pd.Series:
    """Where a column says nothing."""
    return column.isna() | (column.astype(object) == "")


def _words(column: pd.Series, name: str, source: str) -> pd.Series:
    """The column as text; a missing value is an error, because nobody could tell what it belongs to."""
    values = column.tolist()
    if not set(map(type, values)) <= {str}:
        if column.isna().any():
            row = int(np.flatnonzero(column.isna())[0])
            raise InvalidInput(f"{source}: row {row} has no {name}")
        values = [str(value) for value in values]
    return pd.Series(values, index=column.index, dtype=object)


def _codes(values: list[str], names: Iterable[str]) -> NDArray[np.int64]:
    """The position of each value in the list of names; -1 for those not in it."""
    place = {name: i for i, name in enumerate(names)}
    return np.fromiter((place.get(value, -1) for value in values), np.int64, len(values))


def _check_rows(table: pd.DataFrame, source: str) -> None:
    onset, offset = table["onset"].to_numpy(), table["offset"].to_numpy()
    problems = (
        (~(np.isfinite(onset) & np.isfinite(offset)), "has a time that is not a number"),
        (onset < 0, "starts before 0"),
        (offset <= onset, "must end after it starts"),
    )
    for bad, words in problems:
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise InvalidInput(
                f"{source}: row {row} of recording {table['recording'][row]!r} {words}: "
                f"onset {onset[row]:g}, offset {offset[row]:g}"
            )


class Answers:
    """What annotators said of segments: present, absent or unsure; the weak labels of a data set.

    One row per (segment, label, annotator) with the columns recording, onset, offset (the segment, in seconds; NaN
    where the file does not say), label, present (1, 0 or NaN for unsure), annotator, seconds (time spent, NaN where
    unknown) and query (a stable id, or "").

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"recording": ["a"], "onset": [0], "offset": [10], "label": ["dog"], "present": [True]})
    >>> Answers.from_frame(frame).to_frame()["present"].tolist()
    [1.0]
    """

    COLUMNS = ("recording", "onset", "offset", "label", "present", "annotator", "seconds", "query")

    def __init__(
        self,
        frame: pd.DataFrame,
        recordings: pd.DataFrame | None = None,
        *,
        skipped: int = 0,
        notes: Iterable[str] = (),
    ) -> None:
        self._frame = frame
        self.recordings = _listing(frame) if recordings is None else recordings
        self.skipped = skipped
        self.notes = tuple(notes)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        recording_length: Mapping[str, float] | None = None,
        recordings: Iterable[str] | None = None,
        source: str = "answers",
    ) -> Answers:
        """Answers from a table; recording, label and present are needed, the other columns are filled with unknowns.

        ``recordings`` names further recordings that were looked at without an answer about any label (a clip whose list
        of present labels is empty); ``recording_length`` gives lengths in seconds by name.
        """
        missing = [name for name in ("recording", "label", "present") if name not in frame.columns]
        if missing:
            raise InvalidInput(f"{source}: no column {missing[0]!r}; there are {', '.join(map(str, frame.columns))}")
        table = frame.reset_index(drop=True).copy()
        unknown: dict[str, Any] = {"onset": np.nan, "offset": np.nan, "annotator": "", "seconds": np.nan, "query": ""}
        for name, value in unknown.items():
            if name not in table:
                table[name] = value
        for name in ("onset", "offset", "present", "seconds"):
            try:
                table[name] = pd.to_numeric(table[name]).astype(np.float64)
            except (TypeError, ValueError) as error:
                raise InvalidInput(f"{source}: column {name!r} must hold numbers: {error}") from error
        for name in ("recording", "label", "annotator", "query"):
            if name in ("annotator", "query"):
                table[name] = table[name].astype(object).where(table[name].notna(), "")
            table[name] = _words(table[name], name, source)
        wrong = ~(table["present"].isin([0.0, 1.0]) | table["present"].isna())
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise InvalidInput(f"{source}: row {row}: present must be 1, 0 or empty, got {table['present'][row]:g}")
        bad = (table["offset"] <= table["onset"]) | (table["onset"] < 0)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise InvalidInput(
                f"{source}: row {row} of recording {table['recording'][row]!r} must end after it starts: "
                f"onset {table['onset'][row]:g}, offset {table['offset'][row]:g}"
            )
        table = table[[*cls.COLUMNS, *(name for name in table.columns if name not in cls.COLUMNS)]]
        return cls(table, _listing(table, recording_length, () if recordings is None else recordings))

    def select(self, label: str | None = None) -> Answers:
        """The answers about one class; every recording stays."""
        if label is None:
            return self
        if label not in set(self._frame["label"]):
            from .symbols import choice

            choice("label", label, tuple(self.labels))
        rows = self._frame[self._frame["label"] == label].reset_index(drop=True)
        return Answers(rows, self.recordings, skipped=self.skipped, notes=self.notes)

    def to_frame(self) -> pd.DataFrame:
        """One row per answer."""
        return self._frame.copy()

    def __len__(self) -> int:
        return len(self._frame)

    def __repr__(self) -> str:
        recordings = self._frame["recording"].nunique()
        return f"<Answers: {len(self)} answers, {len(self.labels)} labels, {recordings} recordings>"

    @property
    def labels(self) -> list[str]:
        """The classes that were asked for, sorted."""
        return sorted(self._frame["label"].unique())


def _listing(frame: pd.DataFrame, lengths: Mapping[str, float] | None = None, more: Iterable[str] = ()) -> pd.DataFrame:
    """Every recording of the answers with its length (NaN where unknown)."""
    lengths = lengths or {}
    names = list(dict.fromkeys([*pd.unique(frame["recording"]), *map(str, lengths), *map(str, more)]))
    known = np.array([float(lengths.get(name, np.nan)) for name in names], dtype=np.float64)
    index = pd.Index(names, name="recording", dtype=object)
    return pd.DataFrame({"length": known, "annotated": np.ones(len(names), dtype=bool)}, index=index)
