"""Annotations of many recordings, column-wise, with every recording's length and whether it was annotated.

A recording without events is data: it is kept, counted and written like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Reading:
    """Where events or answers come from: what was taken as what, what was noted, and what became of every row.

    ``rows = events + empty + skipped + merged``: each row of the files became an event (or an answer), says that its
    recording is empty, was skipped as broken, or says nothing of its own. Of the events, ``clipped`` were cut at
    the end of their recordings; ``late`` ones (among the skipped) lie behind it.
    """

    sentences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: int = 0
    account: Mapping[str, int] | None = None


class _Table:
    """What events and answers share: a frame of rows, a list of recordings, and where they come from."""

    _frame: pd.DataFrame
    recordings: pd.DataFrame
    source: Reading

    @property
    def skipped(self) -> int:
        """Broken rows of the files, left out because the reader was told to."""
        return self.source.skipped

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader understood that the files do not say outright."""
        return self.source.notes

    @property
    def reading(self) -> str:
        """One line (per kind of file) that says what was taken as what; "" for tables made in Python."""
        return "\n".join(self.source.sentences)

    @property
    def account(self) -> dict[str, int]:
        """What became of every row: rows = events + empty + skipped + merged; and how many events were clipped."""
        made = {"rows": len(self), "events": len(self), "empty": 0, "skipped": 0, "merged": 0, "clipped": 0, "late": 0}
        return {**made, **dict(self.source.account or {})}

    def to_frame(self) -> pd.DataFrame:
        """One row per event or answer, with whatever else is known of it."""
        return self._frame.copy()

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def labels(self) -> list[str]:
        """The classes, sorted."""
        return sorted(self._frame["label"].unique())

    @property
    def silent(self) -> list[str]:
        """The recordings that were annotated (or looked at) and of which no row tells, in their order."""
        filled = set(self._frame["recording"])
        return [n for n, yes in zip(self.recordings.index, self.recordings["annotated"]) if yes and n not in filled]

    def _chosen(
        self,
        label: str | Sequence[str] | None,
        annotator: str | Sequence[str] | None,
        where: Mapping[str, str] | None,
        merge: Mapping[str, Sequence[str]] | None,
    ) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
        """The rows and recordings of a selection, and what there is to say of it."""
        frame, listing, notes = self._frame, self.recordings, self.source.notes
        if merge:
            into = {str(old): str(new) for new, olds in merge.items() for old in olds}
            for old in into:
                _known("merge", old, self.labels)
            frame = frame.assign(label=frame["label"].map(lambda value: into.get(value, value)).astype(object))
        keep = np.ones(len(frame), dtype=bool)
        for name, value in (where or {}).items():
            if name not in frame.columns:
                _known("where", name, [str(column) for column in frame.columns])
            own = _texts(frame[name])
            _known(f"where {name}", str(value), sorted(set(own)))
            hit = np.array([text == str(value) for text in own], dtype=bool)
            if (
                name not in ("label", "annotator", "present")
                and frame.groupby("recording")[name].nunique(dropna=False).max() == 1
            ):
                gone = set(frame["recording"][~hit])
                listing = listing[[str(each) not in gone for each in listing.index]]
                if gone:
                    notes += (f"{len(gone)} recordings with another {name} than {value!r} are left out",)
            keep &= hit
        for role, wanted in (("annotator", annotator), ("label", label)):
            if wanted is None:
                continue
            if role not in frame.columns:
                raise InvalidInput(f"{role}: the rows do not say whose they are; there is no column {role}")
            many = [wanted] if isinstance(wanted, str) else [str(each) for each in wanted]
            own = _texts(frame[role])
            for each in many:
                _known(role, each, sorted(set(own)))
            keep &= np.array([text in many for text in own], dtype=bool)
        return frame[keep].reset_index(drop=True), listing, notes


def _texts(column: pd.Series) -> list[str]:
    return ["" if value is None or value != value else str(value) for value in column.tolist()]


def _known(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in set(allowed):
        from .symbols import choice

        choice(name, value, tuple(allowed[:50]))


def _inside(onset: Any, offset: Any, length: Any, *, recording: Any) -> None:
    bad = (onset < 0) | (offset > length * (1 + 1e-12))
    if np.any(bad):
        k = int(np.flatnonzero(bad)[0])
        event = f"event {k} ({onset[k]:g}, {offset[k]:g})"
        raise InvalidInput(f"recording {recording!r}: {event} must lie inside (0, {float(length):g})")


class Events(_Table):
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
        self,
        frame: pd.DataFrame,
        recordings: pd.DataFrame,
        *,
        source: Reading | None = None,
        examined: pd.DataFrame | None = None,
    ) -> None:
        self._frame = frame
        self.recordings = recordings
        self.source = source or Reading()
        #: The stretches that were annotated: recording, onset, offset, annotator; None where everything was.
        self.examined = examined

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

    def __repr__(self) -> str:
        return f"<Events: {len(self)} events, {len(self.labels)} labels, {len(self.recordings)} recordings>"

    def select(
        self,
        label: str | Sequence[str] | None = None,
        *,
        annotator: str | Sequence[str] | None = None,
        where: Mapping[str, str] | None = None,
        merge: Mapping[str, Sequence[str]] | None = None,
    ) -> Events:
        """The events of some classes, some annotators, with some values in other columns; classes may be merged first.

        Every recording stays, with two exceptions: where a column of ``where`` belongs to recordings (one value in
        each, such as a split), those with another value go; and where ``examined`` says what an annotator examined, the
        other recordings count as not annotated.

        >>> import pandas as pd
        >>> rows = pd.DataFrame({"recording": "a", "onset": [0, 2], "offset": [1, 3], "label": ["robin", "wren"]})
        >>> Events.from_frame(rows).select("bird", merge={"bird": ["robin", "wren"]})
        <Events: 2 events, 1 labels, 1 recordings>
        """
        frame, listing, notes = self._chosen(label, annotator, where, merge)
        examined = self.examined
        if annotator is not None and examined is not None and (examined["annotator"] != "").any():
            many = [annotator] if isinstance(annotator, str) else list(annotator)
            examined = examined[examined["annotator"].isin(["", *many])].reset_index(drop=True)
            listing = listing.assign(annotated=listing["annotated"] & listing.index.isin(set(examined["recording"])))
        return Events(frame, listing, source=replace(self.source, notes=notes), examined=examined)

    def within(self, examined: pd.DataFrame | None = None) -> Events:
        """The events inside the examined stretches, each of which is a recording of its own, counted from its start.

        ``examined`` has the columns recording, onset and offset (both NaN: the whole recording), and is that of the
        events unless it is given. Recordings that it does not name were not annotated, those that only it names are
        empty; a stretch that is not the whole recording is called ``name [onset-offset]``.

        >>> import pandas as pd
        >>> rows = pd.DataFrame({"recording": "a", "onset": [1.0, 8.0], "offset": [2.0, 12.0], "label": "x"})
        >>> part = Events.from_frame(rows).within(pd.DataFrame({"recording": ["a"], "onset": [0.0], "offset": [10.0]}))
        >>> part.to_frame()["offset"].tolist(), part.recordings["length"].tolist()
        ([2.0, 10.0], [10.0])
        """
        from .intervals import merge

        examined = self.examined if examined is None else examined
        if examined is None:
            return self
        pieces, names, lengths = [], [], []
        events = self._frame.groupby("recording", sort=False).indices
        known: dict[Any, float] = self.recordings["length"].to_dict()
        more = [name for name in dict.fromkeys(examined["recording"]) if name not in known]
        if len(more) and not (set(examined["recording"]) & known.keys()):
            raise InvalidInput(f"examined: there is no recording {more[0]!r} among {len(known)} annotated ones")
        for name, part in examined.groupby("recording", sort=False):
            name = str(name)
            length = known.get(name, np.nan)
            whole = part["onset"].isna().any()
            stretches = np.array([[0.0, length if length == length else np.inf]]) if whole else (
                merge(part[["onset", "offset"]].to_numpy(np.float64)))  # fmt: skip
            stretches = np.minimum(stretches, length) if length == length else stretches
            stretches = stretches[stretches[:, 1] > stretches[:, 0]]
            titles = [
                name if a == 0 and (len(stretches) == 1 or b == length) else f"{name} [{a:g}-{b:g}]"
                for a, b in stretches.tolist()
            ]
            names += titles
            lengths += [np.nan if np.isinf(b) else b - a for a, b in stretches.tolist()]
            rows = self._frame.iloc[events.get(name, np.empty(0, np.int64))]
            onset, offset = rows["onset"].to_numpy(), rows["offset"].to_numpy()
            first = np.searchsorted(stretches[:, 1], onset, side="right")
            last = np.searchsorted(stretches[:, 0], offset, side="left")
            times = np.maximum(last - first, 0)
            row = np.repeat(np.arange(len(rows)), times)
            stretch = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times) + first[row]
            inside = rows.iloc[row].copy()
            start, end = stretches[stretch, 0], stretches[stretch, 1]
            inside["onset"] = np.maximum(onset[row], start) - start
            inside["offset"] = np.minimum(offset[row], end) - start
            inside["recording"] = np.array(titles, dtype=object)[stretch]
            pieces.append(inside)
        frame = pd.concat(pieces, ignore_index=True) if pieces else self._frame.iloc[:0]
        idle = [n for n in self.recordings.index if n not in set(examined["recording"])]
        listing = pd.DataFrame(
            {
                "length": [*lengths, *self.recordings["length"].loc[idle]],
                "annotated": [True] * len(names) + [False] * len(idle),
            },
            index=pd.Index([*names, *idle], name="recording", dtype=object),
        )
        told = f"{len(more)} examined recordings (first {more[0]!r}) hold no event" if more else ""
        notes = (*self.notes, told) if told else self.notes
        return Events(frame, listing, source=replace(self.source, notes=notes))

    @property
    def n_merged(self) -> int:
        """How many rows overlap or touch an earlier one of their class and recording: computations join them to it."""
        return len(self) - sum(len(lines.bounds) for lines in self.by_label().values()) if len(self) else 0

    @classmethod
    def from_mne(cls, annotations: Any, *, recording: str = "recording") -> Events:
        """The events of an ``mne.Annotations``, or of a ``Raw`` with them, whose length is then the recording's.

        Annotations without a duration are points and left out, with a note.
        """
        length, start = None, 0.0
        if hasattr(annotations, "annotations"):
            raw, annotations = annotations, annotations.annotations
            length = raw.n_times / raw.info["sfreq"]
            start = float(raw.first_time) if annotations.orig_time is not None else 0.0
        onset = np.asarray(annotations.onset, np.float64) - start
        texts = [str(text) for text in annotations.description]
        offset = onset + np.asarray(annotations.duration)
        table = pd.DataFrame({"recording": recording, "onset": onset, "offset": offset, "label": texts})
        return _without_points(cls, table, {recording: length} if length else None, [recording])

    @classmethod
    def from_pyannote(cls, annotations: Any) -> Events:
        """The events of a ``pyannote.core.Annotation``, or of several by recording (a dictionary or a list)."""
        if isinstance(annotations, Mapping):
            items = [(str(name), one) for name, one in annotations.items()]
        else:
            many = [annotations] if hasattr(annotations, "itertracks") else list(annotations)
            items = [(str(one.uri or f"recording {k + 1}" if len(many) > 1 else one.uri or "recording"), one)
                     for k, one in enumerate(many)]  # fmt: skip
        rows = [(name, part.start, part.end, str(label)) for name, one in items
                for part, _, label in one.itertracks(yield_label=True)]  # fmt: skip
        table = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
        return cls.from_frame(table, recordings=[name for name, _ in items], source="pyannote")

    @classmethod
    def from_crowsetta(cls, annotations: Any) -> Events:
        """The events of ``crowsetta.Annotation`` objects: their sequences or bounding boxes, by the notated path."""
        many = [annotations] if hasattr(annotations, "annot_path") else list(annotations)
        rows, names = [], []
        for one in many:
            name = str(one.notated_path if one.notated_path is not None else one.annot_path)
            names.append(name)
            boxes = getattr(one, "bboxes", None)
            if boxes:
                rows += [(name, float(box.onset), float(box.offset), str(box.label)) for box in boxes]
                continue
            for part in one.seq if isinstance(one.seq, list) else [one.seq]:
                rows += [
                    (name, float(a), float(b), str(c)) for a, b, c in zip(part.onsets_s, part.offsets_s, part.labels)
                ]
        table = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
        return cls.from_frame(table, recordings=names, source="crowsetta")

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
        found: NDArray[np.float64] = self._frame["offset"].to_numpy(np.float64) - self._frame["onset"].to_numpy(
            np.float64
        )
        return found


def _without_points(cls: type[Events], table: pd.DataFrame, length: Any, names: list[str]) -> Events:
    points = int((table["offset"] == table["onset"]).sum())
    made = cls.from_frame(table[table["offset"] != table["onset"]], recording_length=length, recordings=names)
    if points:
        account = {"rows": len(table), "events": len(made), "skipped": points}
        made.source = Reading(
            notes=(f"{points} annotations without a length are left out",), skipped=points, account=account
        )
    return made


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


class Answers(_Table):
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
        source: Reading | None = None,
    ) -> None:
        self._frame = frame
        self.recordings = _listing(frame) if recordings is None else recordings
        self.source = source or Reading()

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

    def select(
        self,
        label: str | Sequence[str] | None = None,
        *,
        annotator: str | Sequence[str] | None = None,
        where: Mapping[str, str] | None = None,
        merge: Mapping[str, Sequence[str]] | None = None,
    ) -> Answers:
        """The answers about some classes, of some annotators, with some values in other columns; as for events.

        Of merged classes, one that is present makes the answer "present", and else one that is unsure "unsure".
        """
        frame, listing, notes = self._chosen(label, annotator, where, merge)
        if merge:
            keys = [name for name in ("recording", "onset", "offset", "label", "annotator", "query") if name in frame]
            order = frame["present"].map({1.0: 0, 0.0: 2}).fillna(1)
            frame = frame.assign(_order=order).sort_values("_order", kind="stable").drop_duplicates(keys)
            frame = frame.sort_index().drop(columns="_order").reset_index(drop=True)
        return Answers(frame, listing, source=replace(self.source, notes=notes))

    def __repr__(self) -> str:
        recordings = self._frame["recording"].nunique()
        return f"<Answers: {len(self)} answers, {len(self.labels)} labels, {recordings} recordings>"


def _listing(frame: pd.DataFrame, lengths: Mapping[str, float] | None = None, more: Iterable[str] = ()) -> pd.DataFrame:
    """Every recording of the answers with its length (NaN where unknown)."""
    lengths = lengths or {}
    names = list(dict.fromkeys([*pd.unique(frame["recording"]), *map(str, lengths), *map(str, more)]))
    known = np.array([float(lengths.get(name, np.nan)) for name in names], dtype=np.float64)
    index = pd.Index(names, name="recording", dtype=object)
    return pd.DataFrame({"length": known, "annotated": np.ones(len(names), dtype=bool)}, index=index)
