"""Weak labels beside strong ones: for every answer the largest event fraction and the coverage of its segment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ...base.errors import InvalidInput
from ...base.symbols import choice
from ...engine.tally import largest, meetings
from ...io.gather import matched
from ...io.tool_tables import CLIP
from ...model.answers import Answers
from ...model.events import Events
from ...model.intervals import Bools, EventArrays, Floats, Ints, as_intervals, merge

UNLISTED = ("absent", "unknown")
_SEGMENT = ["recording", "onset", "offset", "annotator"]


def fractions(timelines: EventArrays, recording: Ints, segments: Floats) -> tuple[Floats, Floats]:
    """For every segment the largest share of an event that it holds, and the share of the segment that events cover.

    >>> h, c = fractions(EventArrays.of([[(1, 3), (8, 9)]], 10), np.array([0]), np.array([[2.0, 4.0]]))
    >>> float(h[0]), float(c[0])
    (0.5, 0.5)
    """
    segment, event, shared = meetings(timelines, recording, segments)
    length = timelines.bounds[event, 1] - timelines.bounds[event, 0]
    fraction = largest(segment, np.minimum(1.0, shared / length), len(segments))
    seconds = np.bincount(segment, weights=shared, minlength=len(segments))
    return fraction, np.minimum(1.0, seconds / (segments[:, 1] - segments[:, 0]))


@dataclass(frozen=True)
class Examined:
    """Which recordings, or stretches of them, somebody looked at: what tells "nothing there" from "never heard".

    ``by`` maps an annotator ("" for everybody) to recordings, and these to (n, 2) stretches in seconds or None for the
    whole of it. ``everything``: everybody looked at every recording that any file names.
    """

    by: dict[str, dict[str, Floats | None]]
    everything: bool = False

    @classmethod
    def of(cls, value: Any) -> Examined | None:
        """From "all", {recording: stretches}, {(annotator, recording): stretches}, pairs, or a list of recordings.

        A data frame has a column recording and may have annotator ("": everybody), onset and offset (NaN: all of it).

        >>> sorted(Examined.of([("ann", "a"), ("ben", "b")]).by)
        ['ann', 'ben']
        """
        if value is None or isinstance(value, cls):
            return value
        if isinstance(value, str):
            choice("examined", value, ("all",))
            return cls({}, True)
        if isinstance(value, pd.DataFrame):
            value = _stretches(value)
        items = value.items() if isinstance(value, Mapping) else ((key, None) for key in value)
        by: dict[str, dict[str, Floats | None]] = {}
        for key, stretches in items:
            annotator, recording = key if isinstance(key, tuple) else ("", key)
            whole = stretches is None or (isinstance(stretches, str) and stretches == "all")
            cut = None if whole else merge(as_intervals(stretches, name=f"examined of {recording!r}"))
            by.setdefault(str(annotator), {})[str(recording)] = cut
        return cls(by)

    def of_annotator(self, annotator: str) -> dict[str, Floats | None]:
        """What this annotator looked at, and what everybody did."""
        return {**self.by.get("", {}), **self.by.get(annotator, {})}

    def renamed(self, known: Sequence[str]) -> Examined:
        """The same under these names, where they are those of the same recordings."""
        other = matched({name for recordings in self.by.values() for name in recordings}, known)
        by = {who: {other.get(name, name): cut for name, cut in each.items()} for who, each in self.by.items()}
        return Examined(by, self.everything)


#: What public functions take as ``examined``.
_Who = str | tuple[str, str]
ExaminedLike = Examined | Literal["all"] | pd.DataFrame | Mapping[_Who, ArrayLike | None] | Iterable[_Who]


def _stretches(frame: pd.DataFrame) -> dict[tuple[str, str], Any]:
    if "recording" not in frame:
        raise InvalidInput(f"examined needs a column 'recording'; there are {', '.join(map(str, frame.columns))}")
    frame = frame.reindex(columns=["annotator", "recording", "onset", "offset"])
    people = frame["annotator"].astype(object).where(frame["annotator"].notna(), "")
    groups = frame.groupby([people, "recording"])[["onset", "offset"]]
    return {
        (str(who), str(name)): None if rows.isna().any(axis=None) else rows.to_numpy(np.float64)
        for (who, name), rows in groups
    }


@dataclass(frozen=True)
class Pairing:
    """Strong annotations and answers about the same recordings, in the same names and times.

    ``strong`` holds the recordings that both know, each with a length. ``answers`` is one row per answer with its times
    filled in, ``asked`` one row per segment that an annotator was asked about, silent ones too; both have
    the place of the recording in ``strong`` and the number of the segment.
    ``notes`` says what had to be left out or assumed; ``orphans`` counts, by class, the present labels in recordings
    that the strong annotations do not name.
    """

    strong: Events
    answers: pd.DataFrame
    asked: pd.DataFrame
    labels: list[str]
    presence_only: bool
    notes: list[str]
    orphans: dict[str, int]

    def observed(self, label: str, *, unlisted: str) -> pd.DataFrame:
        """One row per answer about this class, with event_fraction, coverage, listed, and the place of its recording.

        With ``unlisted="absent"`` every segment of an annotator that does not mention the class counts as absent.
        """
        choice("unlisted", unlisted, UNLISTED)
        rows = self._weak.get(label, self.answers.iloc[:0].assign(listed=True))
        if unlisted == "absent":
            rows = self.asked.merge(rows.drop(columns=[*_SEGMENT, "place"]), on="segment", how="left")
            rows["listed"] = rows["listed"].notna()
            rows.loc[~rows["listed"], "present"] = 0.0
            rows["label"] = label
        else:
            rows = rows.reset_index(drop=True)
        rows["event_fraction"], rows["coverage"] = fractions(self.timelines(label), *where(rows))
        return rows

    def timelines(self, label: str) -> EventArrays:
        """The events of the class; none, if the strong annotations do not know it."""
        if label not in self._timelines:
            lengths = self.strong.recordings["length"].to_numpy(np.float64)
            none = EventArrays(np.empty((0, 2)), np.zeros(len(lengths) + 1, np.int64), lengths)
            self._timelines[label] = self.strong.timelines(label) if label in self.strong_labels else none
        return self._timelines[label]

    @cached_property
    def _timelines(self) -> dict[str, EventArrays]:
        return {}

    @cached_property
    def _weak(self) -> dict[str, pd.DataFrame]:
        return {str(label): rows.assign(listed=True) for label, rows in self.answers.groupby("label")}

    @cached_property
    def strong_labels(self) -> set[str]:
        """The classes of the strong annotations."""
        return set(self.strong.labels)

    @property
    def weak_labels(self) -> set[str]:
        """The classes of the answers."""
        return set(self._weak)


def where(seen: pd.DataFrame) -> tuple[Ints, Floats]:
    """The place of the recording of every row, and its segment (onset, offset)."""
    return seen["place"].to_numpy(np.int64), seen[["onset", "offset"]].to_numpy(np.float64)


def pair(
    strong: Events, answers: Answers, *, recording_length: float | None = None, examined: Examined | None = None
) -> Pairing:
    """The strong annotations and the answers, brought to the same recordings and times.

    Recordings are matched name by name: by the same name, else by the one name that is the same without folder and
    ending, if that is one on both sides. An answer without times is about the whole recording; so is one whose times
    are those in the recording's name (``abc_30.000_40.000.wav`` asked about 30 to 40 s), which is a clip of ``abc`` if
    only that is known. A recording whose length is unknown ends where ``recording_length`` says, else at its last
    offset in either file. ``examined`` adds the recordings in which nothing was found, on either side, and leaves out
    segments that do not lie in an examined stretch.
    """
    notes: list[str] = []
    listing = strong.recordings[strong.recordings["annotated"]]
    answers = _under_known_names(answers, listing.index, notes)
    ours, theirs = set(listing.index), set(answers.recordings.index)
    if examined is not None:
        examined = examined.renamed([*listing.index, *sorted(theirs - ours)])
        held = strong.to_frame()
        who = set(held["annotator"].astype(str)) if "annotator" in held else set()
        looked = {name for each in {"", *who} for name in examined.by.get(each, {})}
        more = sorted((theirs if examined.everything else looked) - ours)
        quiet = pd.DataFrame({"length": np.nan, "annotated": True}, index=pd.Index(more, dtype=object))
        listing = pd.concat([listing, quiet]) if more else listing
        strong = Events(held, listing)
    frame = silent_rows(answers, examined, strong.recordings.index)
    known = frame["recording"].isin(listing.index)
    lost = frame.loc[~known]
    orphans = {str(name): int((rows["present"] == 1).sum()) for name, rows in lost.groupby("label")}
    frame = frame[known].reset_index(drop=True)
    kept = listing.index[listing.index.isin(set(frame["recording"]))]
    for names, words in (
        (set(lost["recording"]), "recordings of the weak labels have no strong annotation"),
        (set(listing.index) - set(kept), "recordings of the strong annotations have no weak label"),
        (set(kept) - ours, "recordings that the strong annotations do not name count as examined, without an event"),
        (set(kept) - theirs, "recordings that the weak labels do not name count as examined, without a label"),
    ):
        examples = ", ".join(map(repr, sorted(names)[:3]))
        _count(notes, len(names), f"{words}, such as {examples}")
    _whole_clips(frame)
    lengths = _lengths(strong, kept, frame, answers.recordings["length"], recording_length, notes)
    whole = frame["onset"].isna() | frame["offset"].isna()
    frame.loc[whole, "onset"] = 0.0
    frame.loc[whole, "offset"] = lengths.reindex(frame.loc[whole, "recording"]).to_numpy()
    past = frame["offset"].to_numpy() > lengths.reindex(frame["recording"]).to_numpy() * (1 + 1e-9)
    if past.any():
        row = frame[past].iloc[0]
        which, end = f"{row['onset']:g} to {row['offset']:g} s of {row['recording']!r}", lengths[row["recording"]]
        raise InvalidInput(f"the segment {which} ends after the recording's {end:g} s; times of a longer file?")
    empty = frame["offset"] <= frame["onset"]
    _count(notes, int(empty.sum()), "answers are about recordings of unknown length without events and are left out")
    frame = frame[~empty]
    if examined is not None and any(cut is not None for cut in examined.of_annotator("").values()):
        inside = _inside(frame, examined.of_annotator(""))
        outside = "answers are about segments outside the examined stretches and are left out"
        _count(notes, int((~inside).sum()), outside)
        frame = frame[inside]
    recordings = pd.DataFrame({"length": lengths[lengths > 0], "annotated": True})
    place = pd.Series(np.arange(len(recordings)), index=recordings.index).reindex(frame["recording"]).to_numpy()
    frame = frame.assign(place=place, segment=frame.groupby(_SEGMENT, sort=False).ngroup())
    asked = frame[[*_SEGMENT, "place", "segment"]].drop_duplicates("segment").reset_index(drop=True)
    frame = frame[frame["label"].notna()].reset_index(drop=True)
    events = strong.to_frame()
    events = events[events["recording"].isin(recordings.index)].reset_index(drop=True)
    shared = Events(events, recordings)
    labels = sorted({*shared.labels, *frame["label"]})
    for mine, other, words in (
        (shared.labels, set(frame["label"]), "classes are only in the strong annotations"),
        (frame["label"].unique(), set(shared.labels), "classes are only in the weak labels"),
    ):
        _count(notes, len(set(mine) - other), words)
    only = bool((frame["present"].dropna() == 1).all())
    return Pairing(shared, frame, asked, labels, only, notes, orphans)


def silent_rows(answers: Answers, examined: Examined | None, known: Iterable[Any]) -> pd.DataFrame:
    """The answers, and a row without a label for whatever was looked at without an answer.

    That is every recording of the answers without one, and what ``examined`` says of an annotator: there with the
    segments that others were asked about, or the whole recording.
    """
    frame = answers.to_frame()
    had = set(zip(frame["annotator"], frame["recording"]))
    named = set(frame["recording"])
    silent = {("", str(name)) for name in answers.recordings.index if name not in named}
    if examined is not None:
        people = sorted(set(frame["annotator"])) or [""]
        for who in people:
            names = set(answers.recordings.index) | set(known) if examined.everything else examined.of_annotator(who)
            silent |= {(who, str(name)) for name in names if (who, str(name)) not in had}
        if people != [""]:
            heard = {name for who, name in silent if who}
            silent = {(who, name) for who, name in silent if who or name not in heard}
    if not silent:
        return frame
    rows = pd.DataFrame(sorted(silent), columns=["annotator", "recording"])
    cuts = frame[["recording", "onset", "offset"]].drop_duplicates()
    rows = rows.merge(cuts, on="recording", how="left").assign(label=None, query="", present=np.nan, seconds=np.nan)
    return pd.concat([frame, rows], ignore_index=True)


def completed(answers: Answers, examined: Examined) -> Answers:
    """The answers with an absent one wherever somebody looked and did not list a class: the full table."""
    frame = silent_rows(answers, examined, ())
    key = ["annotator", "recording", "onset", "offset"]
    full = frame[key].drop_duplicates().merge(pd.DataFrame({"label": answers.labels}), how="cross")
    full = full.merge(frame[frame["label"].notna()], on=[*key, "label"], how="left", indicator=True)
    full.loc[full["_merge"] == "left_only", "present"] = 0.0
    full["query"] = full["query"].fillna("")
    return Answers(full.drop(columns="_merge")[list(frame)], answers.recordings)


def _inside(frame: pd.DataFrame, stretches: Mapping[str, Floats | None]) -> Bools:
    """Which segments lie in one examined stretch."""
    good = np.zeros(len(frame), dtype=bool)
    onset, offset = frame["onset"].to_numpy(), frame["offset"].to_numpy()
    for name, rows in frame.groupby("recording").indices.items():
        cut = stretches.get(str(name), np.empty((0, 2)))
        if cut is None:
            good[rows] = True
        elif len(cut):
            at = np.clip(np.searchsorted(cut[:, 0], onset[rows] + 1e-6) - 1, 0, None)
            good[rows] = (cut[at, 0] <= onset[rows] + 1e-6) & (cut[at, 1] >= offset[rows] - 1e-6)
    return good


_ONE = {"recordings": "recording", "answers": "answer", "classes": "class"}
_ONE_VERB = {"have": "has", "are": "is", "were": "was", "count": "counts", "end": "ends", "their": "its"}


def _count(notes: list[str], n: int, words: str) -> None:
    """Note how many; of one the noun, which comes first, and its verbs are singular."""
    noun, *rest = words.split(" ")
    if n == 1:
        noun, rest = _ONE[noun], [_ONE_VERB.get(word, word) for word in rest]
    if n:
        notes.append(" ".join((f"{n:,}", noun, *rest)))


def _under_known_names(answers: Answers, known: pd.Index, notes: list[str]) -> Answers:
    """The answers under the names that the strong annotations use; no name in common is an error."""
    listing, frame = answers.recordings, answers.to_frame()
    other = matched(listing.index, known)
    if other:
        near = sum(name != match for name, match in other.items())
        _count(notes, near, "recordings were matched by file name without folder and ending")
        frame["recording"] = frame["recording"].map(lambda name: other.get(name, name))
        return Answers(frame, listing.rename(index=other))
    frame = silent_rows(answers, None, ())
    if not _clips_of(frame, known):
        ours, theirs = known[:1].tolist(), listing.index[:1].tolist()
        raise InvalidInput(f"no recording is in both files: strong has {ours}, weak has {theirs}, for example")
    notes.append("the weak labels are of clips whose names tell where in a recording they lie")
    return Answers(frame)


def _clips_of(frame: pd.DataFrame, known: pd.Index) -> bool:
    """Make recordings and times of clips' names (``day_30.0_40.0.wav`` of ``day``), if these recordings are known."""
    parts = frame["recording"].astype(str).str.extract(CLIP)
    base = pd.Series([CLIP.sub("", str(name)) for name in frame["recording"]], index=frame.index, dtype=object)
    other = matched(base, known)
    if parts.isna().any(axis=None) or not other:
        return False
    frame["recording"] = base.map(lambda name: other.get(name, name))
    frame[["onset", "offset"]] = parts.astype(np.float64).to_numpy()
    return True


def _whole_clips(frame: pd.DataFrame) -> None:
    """Times that only repeat the recording's place in a longer file become times within the recording."""
    code, names = pd.factorize(frame["recording"])
    parts = pd.Series(names, dtype=object).str.extract(CLIP).astype(np.float64).to_numpy()
    if np.isnan(parts).all():
        return
    times = frame[["onset", "offset"]].to_numpy(np.float64)
    same = (np.abs(parts[code] - times) < 1e-3).all(axis=1)
    frame.loc[same, "offset"] -= frame.loc[same, "onset"]
    frame.loc[same, "onset"] = 0.0


def _lengths(
    strong: Events, kept: pd.Index, frame: pd.DataFrame, told: pd.Series, recording_length: Any, notes: list[str]
) -> pd.Series:
    lengths = strong.recordings["length"].reindex(kept).fillna(told.reindex(kept))
    if recording_length is not None:
        lengths = lengths.fillna(float(recording_length))
    missing = lengths.isna()
    if missing.any():
        asked = frame.groupby("recording")["offset"].max().reindex(kept)
        last = strong.extents.reindex(kept)
        lengths = lengths.fillna(pd.concat([asked, last], axis=1).max(axis=1))
        if asked[missing].isna().any():
            _count(notes, int(missing.sum()), "recordings have no known length and end at their last event")
    return lengths
