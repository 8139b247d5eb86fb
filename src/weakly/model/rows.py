"""What events and answers share: rows, a list of recordings, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.errors import InvalidInput


@dataclass(frozen=True)
class Reading:
    """Where events or answers come from: what was taken as what, what was noted, and what became of every row.

    ``rows = events + empty + skipped + merged``: each row of the files became an event (or an answer), says that its
    recording is empty, was skipped as broken, or says nothing of its own. Of the events, ``clipped`` were cut at
    the end of their recordings; ``late`` ones (among the skipped) lie behind it. Of a sample, ``sample`` says how many
    recordings and rows were taken of how many.
    """

    sentences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: int = 0
    account: Mapping[str, int] | None = None
    sample: Mapping[str, int] | None = None


class RowTable:
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
        from ..base.symbols import choice

        choice(name, value, tuple(allowed[:50]))


def words_of(column: pd.Series, name: str, source: str) -> pd.Series:
    """The column as text; a missing value is an error, because nobody could tell what it belongs to."""
    values = column.tolist()
    if not set(map(type, values)) <= {str}:
        if column.isna().any():
            row = int(np.flatnonzero(column.isna())[0])
            raise InvalidInput(f"{source}: row {row} has no {name}")
        values = [str(value) for value in values]
    return pd.Series(values, index=column.index, dtype=object)


def codes_of(values: list[str], names: Iterable[str]) -> NDArray[np.int64]:
    """The position of each value in the list of names; -1 for those not in it."""
    place = {name: i for i, name in enumerate(names)}
    return np.fromiter((place.get(value, -1) for value in values), np.int64, len(values))
