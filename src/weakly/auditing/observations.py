"""Weak labels beside strong ones: for every answer the largest event fraction and the coverage of its segment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..compiled import kernel
from ..errors import InvalidInput
from ..events import Answers, Events, Timelines
from ..symbols import choice

UNLISTED = ("absent", "unknown")
_SEGMENT = ["recording", "onset", "offset", "annotator"]


@kernel
def _fill(bounds: Any, starts: Any, recording: Any, onset: Any, offset: Any, fraction: Any, seconds: Any) -> None:
    for k in range(len(recording)):
        low, high = starts[recording[k]], starts[recording[k] + 1]
        end = high
        while low < high:  # the first event that ends after the segment begins
            middle = (low + high) // 2
            if bounds[middle, 1] > onset[k]:
                high = middle
            else:
                low = middle + 1
        while low < end and bounds[low, 0] < offset[k]:
            shared = min(bounds[low, 1], offset[k]) - max(bounds[low, 0], onset[k])
            seconds[k] += shared
            fraction[k] = max(fraction[k], min(1.0, shared / (bounds[low, 1] - bounds[low, 0])))
            low += 1


def fractions(
    timelines: Timelines, recording: NDArray[np.int64], onset: NDArray[np.float64], offset: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For every segment the largest share of an event that it holds, and the share of the segment that events cover.

    >>> h, c = fractions(Timelines.of([[(1, 3), (8, 9)]], 10), np.array([0]), np.array([2.0]), np.array([4.0]))
    >>> float(h[0]), float(c[0])
    (0.5, 0.5)
    """
    fraction, seconds = np.zeros(len(onset)), np.zeros(len(onset))
    _fill(timelines.bounds, timelines.starts, recording, onset, offset, fraction, seconds)
    return fraction, np.minimum(1.0, seconds / (offset - onset))


@dataclass(frozen=True)
class Pairing:
    """Strong annotations and answers about the same recordings, in the same names and times.

    ``strong`` holds the recordings that both know, each with a length. ``answers`` is one row per answer with its times
    filled in, ``asked`` one row per segment that an annotator was asked about, silent ones too.
    ``notes`` says what had to be left out or assumed.
    """

    strong: Events
    answers: pd.DataFrame
    asked: pd.DataFrame
    labels: list[str]
    presence_only: bool
    notes: list[str]

    def observed(self, label: str, *, unlisted: str) -> pd.DataFrame:
        """One row per answer about this class, with event_fraction, coverage and listed.

        With ``unlisted="absent"`` every segment of an annotator that does not mention the class counts as absent.
        """
        choice("unlisted", unlisted, UNLISTED)
        said = self._weak.get(label, self.answers.iloc[:0].assign(listed=True))
        if unlisted == "absent":
            said = self.asked.merge(said, on=_SEGMENT, how="left")
            said["listed"] = said["listed"].notna()
            said.loc[~said["listed"], "present"] = 0.0
            said["label"] = label
        else:
            said = said.reset_index(drop=True)
        timelines = self.timelines(label)
        recording = self.code.reindex(said["recording"]).to_numpy().astype(np.int64)
        onset, offset = said["onset"].to_numpy(np.float64), said["offset"].to_numpy(np.float64)
        said["event_fraction"], said["coverage"] = fractions(timelines, recording, onset, offset)
        return said

    def timelines(self, label: str) -> Timelines:
        """The events of the class; none, if the strong annotations do not know it."""
        if label in self._strong:
            return Events(self._strong[label], self.strong.recordings).timelines()
        lengths = self.strong.recordings["length"].to_numpy(np.float64)
        return Timelines(np.empty((0, 2)), np.zeros(len(lengths) + 1, np.int64), lengths)

    @cached_property
    def _strong(self) -> dict[str, pd.DataFrame]:
        parts = self.strong.to_frame().groupby("label")
        return {str(label): part.reset_index(drop=True) for label, part in parts}

    @cached_property
    def _weak(self) -> dict[str, pd.DataFrame]:
        return {str(label): part.assign(listed=True) for label, part in self.answers.groupby("label")}

    @cached_property
    def code(self) -> pd.Series:
        """The place of every recording, by name."""
        return pd.Series(np.arange(len(self.strong.recordings)), index=self.strong.recordings.index)

    @property
    def strong_labels(self) -> set[str]:
        """The classes of the strong annotations."""
        return set(self._strong)

    @property
    def weak_labels(self) -> set[str]:
        """The classes of the answers."""
        return set(self._weak)


def pair(strong: Events, answers: Answers, *, recording_length: float | None = None) -> Pairing:
    """The strong annotations and the answers, brought to the same recordings and times.

    Recordings are matched by name, and if no name is the same, by file name without folder and extension. An answer
    without times is about the whole recording; so is one whose times are those in the recording's name
    (``abc_30.000_40.000.wav`` asked about 30 to 40 s). A recording whose length is unknown ends where
    ``recording_length`` says, else at its last offset in either file.
    """
    notes: list[str] = []
    frame = _with_silent(answers)
    listing = strong.recordings[strong.recordings["annotated"]]
    frame["recording"] = _matched(frame["recording"], listing.index, notes)
    known = frame["recording"].isin(listing.index)
    if not known.any():
        ours, theirs = listing.index[:1].tolist(), frame["recording"].iloc[:1].tolist()
        raise InvalidInput(f"no recording is in both files: strong has {ours}, weak has {theirs}, for example")
    _count(notes, frame.loc[~known, "recording"].nunique(), "recordings of the weak labels have no strong annotation")
    frame = frame[known].reset_index(drop=True)
    kept = listing.index[listing.index.isin(set(frame["recording"]))]
    _count(notes, len(listing) - len(kept), "recordings of the strong annotations have no weak label")
    _whole_clips(frame)
    told = answers.recordings["length"].groupby(_matched(answers.recordings.index.to_series(), listing.index, [])).max()
    lengths = _lengths(strong, kept, frame, told, recording_length, notes)
    whole = frame["onset"].isna() | frame["offset"].isna()
    frame.loc[whole, "onset"] = 0.0
    frame.loc[whole, "offset"] = lengths.reindex(frame.loc[whole, "recording"]).to_numpy()
    past = frame["offset"].to_numpy() > lengths.reindex(frame["recording"]).to_numpy() * (1 + 1e-9)
    if past.any():
        row = frame[past].iloc[0]
        raise InvalidInput(
            f"the segment {row['onset']:g} to {row['offset']:g} s of {row['recording']!r} ends after the recording's "
            f"{lengths[row['recording']]:g} s; times of a longer file?"
        )
    empty = frame["offset"] <= frame["onset"]
    _count(notes, int(empty.sum()), "answers are about recordings of unknown length without events and are left out")
    frame = frame[~empty]
    asked = frame[_SEGMENT].drop_duplicates().reset_index(drop=True)
    frame = frame[frame["label"].notna()].reset_index(drop=True)
    recordings = pd.DataFrame({"length": lengths[lengths > 0], "annotated": True})
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
    return Pairing(shared, frame, asked, labels, only, notes)


def _with_silent(answers: Answers) -> pd.DataFrame:
    """The answers, and a row without a label for every recording that was looked at and got none."""
    frame = answers.to_frame()
    silent = answers.recordings.index[~answers.recordings.index.isin(set(frame["recording"]))]
    if len(silent) == 0:
        return frame
    rows = pd.DataFrame({"recording": silent.to_numpy(), "annotator": "", "label": None, "query": ""})
    for name in ("onset", "offset", "present", "seconds"):
        rows[name] = np.nan
    return pd.concat([frame, rows], ignore_index=True)


def _count(notes: list[str], n: int, words: str) -> None:
    if n:
        notes.append(f"{n} {words}")


def _matched(names: pd.Series, known: pd.Index, notes: list[str]) -> pd.Series:
    if names.isin(known).any():
        return names
    stems = {PurePath(str(name)).stem.lower(): name for name in known}
    if len(stems) < len(known):
        return names
    found = names.map(lambda name: stems.get(PurePath(str(name)).stem.lower()))
    if found.notna().any():
        notes.append("recordings were matched by file name without folder and extension")
    return found.fillna(names)


_TIMES = re.compile(r"_(\d+(?:\.\d+)?)_(\d+(?:\.\d+)?)(?:\.\w+)?$")


def _whole_clips(frame: pd.DataFrame) -> None:
    """Times that only repeat the recording's place in a longer file become times within the recording."""
    parts = frame["recording"].str.extract(_TIMES).astype(np.float64)
    same = (parts[0] - frame["onset"]).abs().lt(1e-3) & (parts[1] - frame["offset"]).abs().lt(1e-3)
    frame.loc[same, "offset"] -= frame.loc[same, "onset"]
    frame.loc[same, "onset"] = 0.0


def _lengths(
    strong: Events,
    kept: pd.Index,
    frame: pd.DataFrame,
    told: pd.Series,
    recording_length: float | None,
    notes: list[str],
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
