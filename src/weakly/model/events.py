"""Events in time: what is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.symbols import choice
from .answers import Reading, RowTable, codes_of, listed, ordered, refuse_rows, several, typed_rows, words_of
from .intervals import EventArrays, merge

COLUMNS = ("recording", "onset", "offset", "label", "annotator", "confidence")


class Events(RowTable):
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
        table = typed_rows(frame, source, ("onset", "offset"), ("onset", "offset"), "seconds")
        for name, value in (("recording", "recording"), ("label", "event")):
            if name not in table:
                table[name] = value
        empty = (table["onset"].isna() & table["offset"].isna()).to_numpy(copy=True)
        blank: list[str] = []
        if empty.any():
            label = table["label"][empty]
            nameless = label.isna() | (label.astype(object) == "")
            empty[empty] = (nameless & table["recording"][empty].notna()).to_numpy()
            blank = [str(name) for name in table["recording"][empty]]
            table = table[~empty].reset_index(drop=True)
        for name in ("recording", "label"):
            table[name] = words_of(table[name], name, source)
        table = ordered(table, COLUMNS)
        onset, offset = table["onset"].to_numpy(), table["offset"].to_numpy()
        for bad, words in (
            (~(np.isfinite(onset) & np.isfinite(offset)), "has a time that is not a number"),
            (onset < 0, "starts before 0"),
            (offset <= onset, "must end after it starts"),
        ):
            refuse_rows(table, bad, source, words)

        known: dict[str, Any] = {}
        if isinstance(recording_length, Mapping):
            known = {str(name): length for name, length in recording_length.items()}
        further = [*blank, *known, *map(str, () if recordings is None else recordings)]
        idle = dict.fromkeys(map(str, () if unannotated is None else unannotated))
        owners = table["recording"].tolist()
        names = list(dict.fromkeys([*owners, *further, *idle]))
        usual: Any = np.nan if recording_length is None or isinstance(recording_length, Mapping) else recording_length
        try:
            lengths = [float(known.get(name, usual)) for name in names]
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{source}: recording_length must be seconds, got {recording_length!r}") from error
        heard = {*owners, *blank}
        listing = listed(names, lengths, [name in heard or name not in idle for name in names])
        bad = ~(listing["length"].isna() | (listing["length"] > 0))
        if bad.any():
            raise InvalidInput(f"{source}: recording_length must be > 0, got {listing['length'][bad].iloc[0]:g}")
        if listing["length"].isna().all():
            return cls(table, listing)
        limit = listing["length"].to_numpy()[codes_of(owners, names)]
        past = offset > limit * (1 + 1e-9)
        if past.any():
            row = int(np.flatnonzero(past)[0])
            raise InvalidInput(
                f"{source}: row {row} of recording {table['recording'][row]!r} ends at {table['offset'][row]:g} s, "
                f"after the recording's {limit[row]:g} s" + late_words(offset[past], limit[past])
            )
        return cls(table, listing)

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
        points = int((offset == onset).sum())
        known = {recording: length} if length else None
        events = cls.from_frame(table[offset != onset], recording_length=known, recordings=[recording])
        if points:
            account = {"rows": len(table), "events": len(events), "skipped": points}
            notes = (f"{points} annotations without a length are left out",)
            events.source = Reading(notes=notes, skipped=points, account=account)
        return events

    @classmethod
    def from_pyannote(cls, annotations: Any) -> Events:
        """The events of a ``pyannote.core.Annotation``, or of several by recording (a dictionary or a list)."""
        if isinstance(annotations, Mapping):
            named = [(str(name), annotation) for name, annotation in annotations.items()]
        else:
            many = [annotations] if hasattr(annotations, "itertracks") else list(annotations)
            unnamed = ["recording"] if len(many) == 1 else [f"recording {k + 1}" for k in range(len(many))]
            named = [(str(each.uri or name), each) for each, name in zip(many, unnamed)]
        rows = [
            (name, segment.start, segment.end, str(label))
            for name, annotation in named
            for segment, _, label in annotation.itertracks(yield_label=True)
        ]
        names = [name for name, _ in named]
        return cls.from_frame(pd.DataFrame(rows, columns=COLUMNS[:4]), recordings=names, source="pyannote")

    @classmethod
    def from_crowsetta(cls, annotations: Any) -> Events:
        """The events of ``crowsetta.Annotation`` objects: their sequences or bounding boxes, by the notated path."""
        many = [annotations] if hasattr(annotations, "annot_path") else list(annotations)
        rows, names = [], []
        for annotation in many:
            path = annotation.annot_path if annotation.notated_path is None else annotation.notated_path
            names.append(str(path))
            times = [(box.onset, box.offset, box.label) for box in getattr(annotation, "bboxes", None) or ()]
            if not times:
                sequences = annotation.seq if isinstance(annotation.seq, list) else [annotation.seq]
                times = [row for each in sequences for row in zip(each.onsets_s, each.offsets_s, each.labels)]
            rows += [(str(path), float(onset), float(offset), str(label)) for onset, offset, label in times]
        return cls.from_frame(pd.DataFrame(rows, columns=COLUMNS[:4]), recordings=names, source="crowsetta")

    def _selected(
        self, frame: pd.DataFrame, listing: pd.DataFrame, source: Reading, annotator: Any, merged: bool
    ) -> Self:
        examined = self.examined
        if annotator is not None and examined is not None and (examined["annotator"] != "").any():
            examined = examined[examined["annotator"].isin(["", *several(annotator)])].reset_index(drop=True)
            listing = listing.assign(annotated=listing["annotated"] & listing.index.isin(set(examined["recording"])))
        return type(self)(frame, listing, source=source, examined=examined)

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
        examined = self.examined if examined is None else examined
        if examined is None:
            return self
        pieces, names, lengths = [], [], []
        events = self._frame.groupby("recording", sort=False).indices
        known: dict[Any, float] = self.recordings["length"].to_dict()
        more = [name for name in dict.fromkeys(examined["recording"]) if name not in known]
        if len(more) and not (set(examined["recording"]) & known.keys()):
            raise InvalidInput(f"examined: there is no recording {more[0]!r} among {len(known)} annotated ones")
        for key, heard in examined.groupby("recording", sort=False):
            name, length = str(key), known.get(key, np.nan)
            stretches = np.array([[0.0, np.inf]])
            if heard["onset"].notna().all():
                stretches = merge(heard[["onset", "offset"]].to_numpy(np.float64))
            stretches = np.fmin(stretches, length)
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
        rest = self.recordings["length"][~self.recordings.index.isin(set(examined["recording"]))]
        annotated = [True] * len(names) + [False] * len(rest)
        listing = listed([*names, *rest.index], [*lengths, *rest], annotated)
        told = [f"{len(more)} examined recordings (first {more[0]!r}) hold no event"] if more else []
        return Events(frame, listing, source=replace(self.source, notes=(*self.notes, *told)))

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
        recording, _, onset, offset, lengths = self._rows_of(label)
        return EventArrays.of_rows(recording, onset, offset, lengths)

    def _rows_of(self, label: str | None = None) -> tuple[Any, Any, Any, Any, NDArray[np.float64]]:
        """The events of one class, or of all: recording (among those that timelines hold), label (among the sorted
        ones), onset and offset of each; and the lengths of these recordings."""
        recording, codes, names, lengths = self._placed
        known = recording >= 0
        if label is not None:
            if label not in names:
                choice("label", label, tuple(self.labels[:50]))
            known = known & (codes == names[label])
        onset, offset = (self._frame[name].to_numpy(np.float64)[known] for name in ("onset", "offset"))
        return recording[known], codes[known], onset, offset, lengths

    @cached_property
    def _placed(self) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[str, int], NDArray[np.float64]]:
        """Each event's recording among those that timelines hold (-1 where it is none of them) and its label among the
        sorted ones; the places of these, and the lengths of the recordings."""
        heard, (codes, names) = self._heard, pd.factorize(self._frame["label"], sort=True)
        recording = np.where(heard, np.cumsum(heard) - 1, -1)[self._owners]
        places = {name: k for k, name in enumerate(names)}
        return recording, codes, places, self.known_extents.to_numpy(dtype=np.float64)

    @property
    def lengths(self) -> NDArray[np.float64]:
        """The event lengths in seconds, one per row."""
        onset, offset = (self._frame[name].to_numpy(np.float64) for name in ("onset", "offset"))
        return np.asarray(offset - onset)


def late_words(offset: NDArray[np.float64], limit: NDArray[np.float64]) -> str:
    """How many events end after their recordings, and by how much; far too late, it is the unit."""
    late = float((offset - limit).max())
    if (offset > 20 * limit).any():
        return "; milliseconds for seconds?"
    many = "" if len(offset) == 1 else f"{len(offset)} events end late, "
    return f" ({many}by {'' if len(offset) == 1 else 'at most '}{late:.3g} s)"
