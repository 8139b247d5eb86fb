"""What annotators said of segments: the weak labels of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from .rows import Reading, RowTable, words_of


class Answers(RowTable):
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
            table[name] = words_of(table[name], name, source)
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
