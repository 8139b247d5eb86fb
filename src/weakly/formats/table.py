"""Columns of text with line numbers, and what every reader hands over: rows, empty recordings, lengths, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from .source import Source, column_of, quoted

#: Names that mean something in a table of events or answers.
OURS = frozenset(("recording", "onset", "offset", "label", "present", "weak", "seconds"))


@dataclass
class Rows:
    """What a reader found in one file.

    ``data`` holds equally long columns: recording and label (text), onset and offset (float64, seconds), present
    (float64, only in formats of answers) and whatever else the format knows. ``places`` are their lines.
    """

    source: Source
    data: dict[str, Any]
    places: Sequence[int | str]
    empty: list[str] = field(default_factory=list)  # annotated, nothing present
    unannotated: list[str] = field(default_factory=list)
    lengths: dict[str, float] = field(default_factory=dict)
    bounds: bool = False  # answers whose present rows are events with their own bounds, not segments

    def __len__(self) -> int:
        return len(self.places)

    @property
    def weak(self) -> bool:
        """Whether the rows are answers about segments."""
        return "present" in self.data

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Only the rows of the mask stay."""
        if mask.all():
            return
        kept = np.flatnonzero(mask).tolist()
        for name, values in self.data.items():
            self.data[name] = values[mask] if isinstance(values, np.ndarray) else [values[i] for i in kept]
        self.places = [self.places[i] for i in kept]

    def checked(self) -> Rows:
        """The rows with usable times; the others are dealt with as the caller asked."""
        onset, offset = self.data["onset"], self.data["offset"]
        if self.weak:
            wrong = (~(np.isnan(onset) & np.isnan(offset))) & ~(np.isfinite(onset) & np.isfinite(offset))
        else:
            wrong = ~(np.isfinite(onset) & np.isfinite(offset))
        problems = (
            (wrong, "onset", "has a time that is not a number"),
            (~wrong & (onset < 0), "onset", "starts before 0"),
            (~wrong & (offset < onset), "offset", "ends before it starts"),
            (~wrong & (offset == onset), "offset", "has no length (a point?)"),
        )
        bad = np.zeros(len(onset), dtype=bool)
        for mask, column, words in problems:
            for i in np.flatnonzero(mask & ~bad).tolist():
                times = f"onset {onset[i]:g}, offset {offset[i]:g}"
                self.source.fail(self.places[i], column, f"the event {words}: {times}")
            bad |= mask
        if bad.any():
            # The recording was listened to even if its row is broken.
            self.empty += [name for name, out in zip(self.data["recording"], bad) if out]
            self.keep(~bad)
        return self


class Table:
    """A delimited file as columns of text, each row with its line."""

    def __init__(self, source: Source, names: list[str], columns: Sequence[list[str]], lines: Sequence[int]) -> None:
        self.source = source
        self.names = names
        self.lines = lines
        self.columns: dict[str, list[str]] = {}
        for name, values in zip(names, columns):
            self.columns.setdefault(name, values)

    @classmethod
    def read(
        cls, source: Source, *, names: list[str] | None = None, delimiter: str | None = None, quotes: bool = True
    ) -> Table:
        """The table of a file; its first row names the columns unless the names are given."""
        delimiter = delimiter or source.delimiter
        whole = source.columns_at_once(delimiter)
        if whole is not None and (names is None or len(whole) == len(names)):
            if names is not None:
                return cls(source, names, whole, range(1, len(whole[0]) + 1))
            first = [column[0].strip() for column in whole]
            return cls(source, first, [column[1:] for column in whole], range(2, len(whole[0]) + 1))
        columns: list[list[str]] | None = [[] for _ in names] if names is not None else None
        lines: list[int] = []
        for rows, places in source.chunks(delimiter, quotes=quotes):
            if names is None or columns is None:
                if not rows:
                    break
                names, rows, places = [name.strip() for name in rows[0]], rows[1:], places[1:]
                columns = [[] for _ in names]
            if not set(map(len, rows)) <= {len(names)}:
                rows, places = _even(source, rows, places, len(names))
            lines += places
            for column, values in zip(columns, zip(*rows)):
                column.extend(values)
        if names is None or columns is None:
            raise InvalidInput(f"{source.name}: is empty; a table needs a line that names its columns")
        return cls(source, names, columns, lines)

    def __len__(self) -> int:
        return len(self.lines)

    def find(self, *wanted: str) -> str | None:
        """The first of the wanted columns that the table has."""
        return column_of(self.names, *wanted)

    def need(self, *wanted: str) -> str:
        """The first of the wanted columns, or an error that lists the columns."""
        name = self.find(*wanted)
        if name is None:
            raise InvalidInput(
                f"{self.source.name}: no column {quoted(wanted[0])}; there are {', '.join(self.names[:30])}; "
                "say which it is with columns, for example onset=start"
            )
        return name

    def numbers(self, name: str, *, scale: float = 1.0) -> NDArray[np.float64]:
        """A column as float64; empty fields are NaN; what is not a number is a broken row (and NaN)."""
        return numbers(self.source, self.columns[name], self.lines, name, scale=scale)

    def nothing(self, onset: Any, offset: Any, label: str | None) -> NDArray[np.bool_]:
        """Which rows hold neither times nor a label: recordings that were annotated and are empty."""
        none = np.isnan(onset) & np.isnan(offset)
        if label is not None:
            for i in np.flatnonzero(none).tolist():
                none[i] = not self.columns[label][i].strip()
        return none

    def others(self, *used: str | None) -> dict[str, Any]:
        """The columns that nobody asked for, as text; one that is called like a column of ours gets another name."""
        found: dict[str, Any] = {}
        for name, values in self.columns.items():
            if name in used or not name:
                continue
            if name == "confidence":
                found[name] = self.numbers(name)
            else:
                found[f"{name}_column" if name in OURS else name] = values
        return found


def _even(source: Source, rows: list[list[str]], lines: list[int], width: int) -> tuple[list[list[str]], list[int]]:
    """Rows of one width: missing fields at the end are empty, too many are a broken row."""
    even, kept = [], []
    for row, line in zip(rows, lines):
        if len(row) > width and any(item.strip() for item in row[width:]):
            source.fail(line, "", f"has {len(row)} fields where there are {width} columns")
            continue
        even.append((row + [""] * width)[:width])
        kept.append(line)
    return even, kept


def numbers(
    source: Source, values: Sequence[str], places: Sequence[int | str], column: str, *, scale: float = 1.0
) -> NDArray[np.float64]:
    """Texts as float64; empty is NaN; the first that is not a number stops the reading or is kept count of.

    Rows that hold no number become infinite, so that the check of the times, which knows NaN as "empty", drops them.
    """
    together = "".join(values)
    # Python's own float takes "1_0", "nan" and "infinity"; a file's author hardly means them.
    if not any(sign in together for sign in "_nN"):
        try:
            filled = [value or "nan" for value in values] if "" in values else values
            found = np.array(filled, dtype=object).astype(np.float64)
            if np.isfinite(found).all() or "" in values:
                return found * scale if scale != 1.0 else found
        except ValueError:
            pass
    found = np.empty(len(values))
    for i, value in enumerate(values):
        text = value.strip()
        try:
            if "_" in text:
                raise ValueError
            found[i] = float(text) if text else np.nan
            broken = bool(text) and not np.isfinite(found[i])
        except ValueError:
            broken = True
        if broken:
            source.fail(places[i], column, f"{quoted(value)} is not a number{_slip(text)}")
            found[i] = np.inf
    return found * scale if scale != 1.0 else found


def ending(onset: Any, length: Any) -> NDArray[np.float64]:
    """Onset + length; to nine decimals where both have no more, so that 0.1 + 0.2 ends at 0.3."""
    onset, length = np.asarray(onset, np.float64), np.asarray(length, np.float64)
    total = onset + length
    short = (np.round(onset, 9) == onset) & (np.round(length, 9) == length) & (total < 1e6)
    return np.where(short, np.round(total, 9), total)


def _slip(text: str) -> str:
    if text.count(",") == 1 and text.replace(",", "").isdigit():
        return "; a decimal comma?"
    if ":" in text:
        return "; times are plain seconds"
    if text.startswith("#"):
        return "; a spreadsheet error?"
    return ""


def lengths_agree(rows: Rows, lengths: Mapping[str, float]) -> None:
    """Take over the lengths that a file states, except where its own events go past them: then neither is sure."""
    last: dict[str, float] = {}
    for name, offset in zip(rows.data["recording"], rows.data["offset"].tolist()):
        if offset > last.get(name, 0.0):
            last[name] = offset
    wrong = [name for name, length in lengths.items() if not length > 0 or last.get(name, 0.0) > length * (1 + 1e-9)]
    rows.lengths.update({name: length for name, length in lengths.items() if name not in wrong})
    if wrong:
        first = quoted(wrong[0], most=60)
        rows.source.note(
            f"{rows.source.name}: the stated length of {len(wrong)} recordings (first {first}) ends before their last "
            "event; it is taken as unknown",
            kind="past the end",
        )
