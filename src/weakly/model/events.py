"""Events in time: what is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from .answers import Reading, RowTable, codes_of, words_of
from .intervals import EventArrays


class Adopted:
    """The ways of making events from what other libraries hold; ``Events`` has them."""

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
        return _without_points(table, {recording: length} if length else None, [recording])

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
        return _events(table, recordings=[name for name, _ in items], source="pyannote")

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
        return _events(table, recordings=names, source="crowsetta")


def _events(table: pd.DataFrame, **more: Any) -> Events:

    return Events.from_frame(table, **more)


def _without_points(table: pd.DataFrame, length: Any, names: list[str]) -> Events:
    points = int((table["offset"] == table["onset"]).sum())
    made = _events(table[table["offset"] != table["onset"]], recording_length=length, recordings=names)
    if points:
        account = {"rows": len(table), "events": len(made), "skipped": points}
        made.source = Reading(
            notes=(f"{points} annotations without a length are left out",), skipped=points, account=account
        )
    return made


COLUMNS = ("recording", "onset", "offset", "label", "annotator", "confidence")


class Events(RowTable, Adopted):
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
            table[name] = words_of(table[name], name, source)
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
        limit = listing["length"].to_numpy()[codes_of(owners, names)]
        past = table["offset"].to_numpy() > limit * (1 + 1e-9)
        if past.any():
            row = int(np.flatnonzero(past)[0])
            raise InvalidInput(
                f"{source}: row {row} of recording {table['recording'][row]!r} ends at {table['offset'][row]:g} s, "
                f"after the recording's {limit[row]:g} s" + late_words(table["offset"].to_numpy()[past], limit[past])
            )
        return cls(table, listing)

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
        <Events: 2 events, 1 label, 1 recording>
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

    def hours_of_all(self, seconds: float | None = None) -> float | None:
        """The hours of all recordings of which these are a sample, each as long as one of the sample on average.

        ``seconds`` are the length of recordings that do not tell theirs; None where there is no sample, or where all
        tell another length, which is then that of other recordings.
        """
        counts, known = self.source.sample, self.recordings["length"]
        other = seconds is not None and bool((known / seconds - 1).abs().gt(1e-9).any()) and bool(known.notna().all())
        if counts is None or other:
            return None
        lengths = (self.extents if seconds is None else known.fillna(seconds))[self.recordings["annotated"]]
        return float(lengths.sum()) / 3600 * counts["of_recordings"] / counts["recordings"]

    @property
    def n_merged(self) -> int:
        """How many rows overlap or touch an earlier one of their class and recording: computations join them to it."""
        return len(self) - sum(len(lines.bounds) for lines in self.by_label().values()) if len(self) else 0

    @cached_property
    def _owners(self) -> NDArray[np.int64]:
        """The position of each event's recording in ``recordings``."""
        return codes_of(self._frame["recording"].tolist(), self.recordings.index)

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

    def by_label(self, label: str | None = None) -> dict[str, EventArrays]:
        """The timelines of every class by its name, or of one class."""
        return {name: self.timelines(name) for name in (self.labels if label is None else [label])}

    def timelines(self, label: str | None = None) -> EventArrays:
        """The events of one class (all of them as one class if None) as flat arrays, merged where they overlap.

        Recordings that were not annotated, or are empty with an unknown length, are left out: nothing is known there.
        """
        if label is not None and label not in self._coded[1]:
            self.select(label)  # says which labels there are
        rec, lengths = self._placed
        known = rec >= 0
        if label is not None:
            codes, names = self._coded
            known = known & (codes == names[label])
        rec = rec[known]
        onset, offset = self._frame["onset"].to_numpy()[known], self._frame["offset"].to_numpy()[known]
        order = np.lexsort((onset, rec))
        rec, onset, offset = rec[order], onset[order], np.minimum(offset[order], lengths[rec[order]])
        if len(rec) == 0:
            return EventArrays(np.empty((0, 2)), np.zeros(len(lengths) + 1, np.int64), lengths)
        first = np.empty(len(rec), dtype=bool)
        reach = _running_reach(rec, offset)
        first[0] = True
        first[1:] = (rec[1:] != rec[:-1]) | (onset[1:] > reach[:-1])
        last = np.append(first[1:], True)
        bounds = np.column_stack((onset[first], reach[last]))
        starts = np.searchsorted(rec[first], np.arange(len(lengths) + 1)).astype(np.int64)
        return EventArrays(bounds, starts, lengths)

    @cached_property
    def _placed(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Each event's recording among those that timelines hold (-1 where it is none of them), and their lengths."""
        mask = self._heard
        return np.where(mask, np.cumsum(mask) - 1, -1)[self._owners], self.known_extents.to_numpy(dtype=np.float64)

    @cached_property
    def _coded(self) -> tuple[NDArray[np.int64], dict[str, int]]:
        """Each event's label as a number, and the number of every label."""
        codes, names = pd.factorize(self._frame["label"])
        return codes, {name: k for k, name in enumerate(names)}

    @property
    def lengths(self) -> NDArray[np.float64]:
        """The event lengths in seconds, one per row."""
        found: NDArray[np.float64] = self._frame["offset"].to_numpy(np.float64) - self._frame["onset"].to_numpy(
            np.float64
        )
        return found


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
