"""What annotators said of segments: the weak labels of a data set; and what these share with events: rows, a list of
recordings, and where they come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.results import counted
from ..base.symbols import choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


class RowTable(ABC):
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
        none = dict.fromkeys(("empty", "skipped", "merged", "clipped", "late"), 0)
        return {"rows": len(self), "events": len(self), **none, **(self.source.account or {})}

    def to_frame(self) -> pd.DataFrame:
        """One row per event or answer, with whatever else is known of it."""
        return self._frame.copy()

    def __len__(self) -> int:
        return len(self._frame)

    def __repr__(self) -> str:
        kind = type(self).__name__
        recordings = counted(len(self.recordings), "recording")
        return f"<{kind}: {counted(len(self), kind.lower()[:-1])}, {counted(len(self.labels), 'label')}, {recordings}>"

    def _repr_html_(self) -> str:
        from ..base.report import Report

        drawn = Report("").figure(self.plot().figure, "The first recordings over time.").body()
        return f"<p>{escape(repr(self))}</p>{drawn}{self.to_frame().head().to_html()}"

    def plot(self, ax: Axes | None = None, *, most: int = 12) -> Axes:
        """The first recordings over time: events in the colours of their classes, answers present (orange) or absent.

        >>> rows = pd.DataFrame({"recording": "a", "onset": [0.0, 3.0], "offset": [3.0, 6.0], "present": [1, 0]})
        >>> Answers.from_frame(rows.assign(label="owl")).plot().get_yticklabels()[0].get_text()
        'a, owl'
        """
        from matplotlib.patches import Patch

        from ..base import plot

        frame = self._frame.dropna(subset=["onset", "offset"])
        answers = "present" in frame
        colours = dict(zip(self.labels, cycle(plot.COLOURS)))
        rows = {}
        for key, own in islice(frame.groupby(["recording", *(["label"] if answers else [])], sort=False), most):
            tints = np.where(own["present"] == 1, plot.PRESENT, plot.ABSENT) if answers else own["label"].map(colours)
            rows[", ".join(map(str, key))] = own[["onset", "offset"]].to_numpy(np.float64), list(tints)
        ax = plot.timeline(rows, recording_length=float(frame["offset"].max()) if rows else 1.0, ax=ax)
        named = {"present": plot.PRESENT, "absent": plot.ABSENT} if answers else dict(islice(colours.items(), 7))
        if rows:
            ax.legend(handles=[Patch(color=colour, label=name) for name, colour in named.items()], ncols=7,
                      loc="lower right", bbox_to_anchor=(1.0, 1.0))  # fmt: skip
        return ax

    @property
    def labels(self) -> list[str]:
        """The classes, sorted."""
        return sorted(self._frame["label"].unique())

    @property
    def silent(self) -> list[str]:
        """The recordings that were annotated (or looked at) and of which no row tells, in their order."""
        filled = set(self._frame["recording"])
        return [n for n, yes in zip(self.recordings.index, self.recordings["annotated"]) if yes and n not in filled]

    def select(
        self,
        label: str | Sequence[str] | None = None,
        *,
        annotator: str | Sequence[str] | None = None,
        where: Mapping[str, str] | None = None,
        merge: Mapping[str, Sequence[str]] | None = None,
    ) -> Self:
        """The rows of some classes, some annotators, with some values in other columns; classes may be merged first.

        Every recording stays, with two exceptions: where a column of ``where`` belongs to recordings (one value in
        each, such as a split), those with another value go; and where ``examined`` says what an annotator examined, the
        other recordings count as not annotated. Of answers about merged classes, one that is present makes the answer
        "present", and else one that is unsure "unsure".

        >>> rows = pd.DataFrame({"recording": "a", "onset": [0, 2], "offset": [1, 3], "label": ["robin", "wren"]})
        >>> Answers.from_frame(rows.assign(present=1)).select("bird", merge={"bird": ["robin", "wren"]})
        <Answers: 2 answers, 1 label, 1 recording>
        """
        frame, listing, notes = self._frame, self.recordings, self.source.notes
        if merge:
            everything = {new: self.labels if list(olds) == ["*"] else olds for new, olds in merge.items()}
            into = {str(old): str(new) for new, olds in everything.items() for old in olds}
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
            of_rows = name in ("label", "annotator", "present")
            if not of_rows and frame.groupby("recording")[name].nunique(dropna=False).max() == 1:
                gone = set(frame["recording"][~hit])
                listing = listing[[str(each) not in gone for each in listing.index]]
                if gone:
                    notes += (f"left out: {counted(len(gone), 'recording')} with another {name} than {value!r}",)
            keep &= hit
        for role, wanted in (("annotator", annotator), ("label", label)):
            if wanted is None:
                continue
            if role not in frame.columns:
                raise InvalidInput(f"{role}: the rows do not say whose they are; there is no column {role}")
            own = _texts(frame[role])
            for each in several(wanted):
                _known(role, each, sorted(set(own)))
            keep &= np.isin(np.asarray(own, dtype=object), several(wanted))
        source = replace(self.source, notes=notes)
        return self._selected(frame[keep].reset_index(drop=True), listing, source, annotator, bool(merge))

    @abstractmethod
    def _selected(
        self, frame: pd.DataFrame, listing: pd.DataFrame, source: Reading, annotator: Any, merged: bool
    ) -> Self:
        """The table of the rows that were selected."""


def several(names: str | Sequence[str]) -> list[str]:
    """One name or several as a list."""
    return [names] if isinstance(names, str) else [str(each) for each in names]


def _texts(column: pd.Series) -> list[str]:
    return ["" if value is None or value != value else str(value) for value in column.tolist()]


def _known(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in set(allowed):
        choice(name, value, tuple(allowed[:50]))


def typed_rows(
    frame: pd.DataFrame, source: str, needed: Sequence[str], times: Sequence[str], kind: str
) -> pd.DataFrame:
    """A copy of the table that has the needed columns, and numbers of this kind in those that hold times."""
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise InvalidInput(f"{source}: no column {missing[0]!r}; there are {', '.join(map(str, frame.columns))}")
    table = frame.reset_index(drop=True).copy()
    for name in times:
        if name not in table:
            table[name] = np.nan
        try:
            table[name] = pd.to_numeric(table[name]).astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{source}: column {name!r} must hold {kind}: {error}") from error
    return table


def ordered(table: pd.DataFrame, first: Sequence[str]) -> pd.DataFrame:
    """The table with these columns first, as far as it has them."""
    return table[[*(name for name in first if name in table), *(name for name in table if name not in first)]]


def listed(names: Any, lengths: Any, annotated: Any = True) -> pd.DataFrame:
    """A list of recordings: their lengths in seconds (NaN where unknown), and whether they were annotated."""
    index = pd.Index(names, name="recording", dtype=object)
    known = {"length": np.asarray(lengths, dtype=np.float64), "annotated": np.full(len(names), annotated, dtype=bool)}
    return pd.DataFrame(known, index=index)


def refuse_rows(table: pd.DataFrame, bad: Any, source: str, words: str) -> None:
    """An InvalidInput about the first of the bad rows, if there is one."""
    if np.any(bad):
        row = int(np.flatnonzero(bad)[0])
        raise InvalidInput(
            f"{source}: row {row} of recording {table['recording'][row]!r} {words}: "
            f"onset {table['onset'][row]:g}, offset {table['offset'][row]:g}"
        )


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
        self, frame: pd.DataFrame, recordings: pd.DataFrame | None = None, *, source: Reading | None = None
    ) -> None:
        names = pd.unique(frame["recording"])
        self._frame, self.source = frame, source or Reading()
        self.recordings = listed(names, np.full(len(names), np.nan)) if recordings is None else recordings

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
        times = ("onset", "offset", "present", "seconds")
        table = typed_rows(frame, source, ("recording", "label", "present"), times, "numbers")
        for name in ("annotator", "query"):
            table[name] = table[name].astype(object).where(table[name].notna(), "") if name in table else ""
        for name in ("recording", "label", "annotator", "query"):
            table[name] = words_of(table[name], name, source)
        wrong = ~(table["present"].isin([0.0, 1.0]) | table["present"].isna())
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise InvalidInput(f"{source}: row {row}: present must be 1, 0 or empty, got {table['present'][row]:g}")
        bad = (table["offset"] <= table["onset"]) | (table["onset"] < 0)
        refuse_rows(table, bad, source, "must end after it starts")
        lengths, more = recording_length or {}, () if recordings is None else recordings
        names = list(dict.fromkeys([*table["recording"], *map(str, lengths), *map(str, more)]))
        return cls(ordered(table, cls.COLUMNS), listed(names, [float(lengths.get(name, np.nan)) for name in names]))

    def _selected(
        self, frame: pd.DataFrame, listing: pd.DataFrame, source: Reading, annotator: Any, merged: bool
    ) -> Self:
        if merged:
            keys = [name for name in ("recording", "onset", "offset", "label", "annotator", "query") if name in frame]
            order = frame["present"].map({1.0: 0, 0.0: 2}).fillna(1)
            frame = frame.assign(_order=order).sort_values("_order", kind="stable").drop_duplicates(keys)
            frame = frame.sort_index().drop(columns="_order").reset_index(drop=True)
        return type(self)(frame, listing, source=source)
