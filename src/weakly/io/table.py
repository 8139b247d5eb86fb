"""Columns of text with line numbers, and what every reader hands over: rows, empty recordings, lengths, notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.results import counted
from .source import Source, column_of, quoted
from .times import MISSING, is_number, numbers

_LEAVE = "; on_error='skip' (--on-error skip) leaves such rows out"
#: Names that mean something in a table of events or answers.
OURS = frozenset(("recording", "onset", "offset", "label", "present", "weak", "seconds"))


@dataclass
class TextRows:
    """What a reader found in one file.

    ``data`` holds equally long columns: recording and label (text), onset and offset (float64, seconds), present
    (float64, only in formats of answers) and whatever else the format knows. ``places`` are their lines.

    Every row of the file has one fate: ``rows = events + empty + skipped + merged``; ``account`` keeps that sum.
    """

    source: Source
    data: dict[str, Any]
    places: Sequence[int | str]
    empty: list[str] = field(default_factory=list)  # annotated, nothing present
    unannotated: list[str] = field(default_factory=list)
    lengths: dict[str, float] = field(default_factory=dict)
    bounds: bool = False  # answers whose present rows are events with their own bounds, not segments
    blank: set[int | str] = field(default_factory=set)  # places that say "annotated, nothing there"
    merged: dict[str, set[int | str]] = field(default_factory=dict)  # places that say nothing of their own, by reason
    reading: str = ""  # one line: what was taken as what
    aliases: dict[str, str] = field(default_factory=dict)  # the file's name of a column: ours

    def __len__(self) -> int:
        return len(self.places)

    @property
    def weak(self) -> bool:
        """Whether the rows are answers about segments."""
        return "present" in self.data

    @property
    def account(self) -> dict[str, int]:
        """How many rows the file has and what became of each."""
        if isinstance(self.places, range) and not (self.source.problems or self.blank or self.merged):
            whole = {"events": len(self.places), "empty": 0, "skipped": 0, "merged": 0}
            return {"rows": len(self.places) if self.source.n_rows is None else self.source.n_rows, **whole}
        used = set(self.places)
        skipped = {place for place, _, _ in self.source.problems} - used
        blank = self.blank - used - skipped
        merged = set().union(*self.merged.values()) - used - skipped - blank if self.merged else set()
        total = self.source.n_rows
        counts = {"events": len(used), "empty": len(blank), "skipped": len(skipped), "merged": len(merged)}
        return {"rows": sum(counts.values()) if total is None else total, **counts}

    @property
    def n_places(self) -> int:
        """How many rows of the file have become rows here."""
        return len(self.places if isinstance(self.places, range) else set(self.places))

    def keep(self, mask: NDArray[np.bool_], *, why: str = "") -> None:
        """Only the rows of the mask stay; ``why`` is the reason for which the others are passed over."""
        if mask.all():
            return
        if why:
            self.merged.setdefault(why, set()).update(self.places[i] for i in np.flatnonzero(~mask).tolist())
        kept = np.flatnonzero(mask).tolist()
        for name, values in self.data.items():
            self.data[name] = values[mask] if isinstance(values, np.ndarray) else [values[i] for i in kept]
        self.places = [self.places[i] for i in kept]

    def checked(self) -> TextRows:
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
        hint = "" if self.source.on_error == "collect" else _LEAVE
        for mask, column, words in problems:
            for i in np.flatnonzero(mask & ~bad).tolist():
                times = f"onset {onset[i]:g}, offset {offset[i]:g}"
                self.source.fail(self.places[i], column, f"the event {words}: {times}{hint}")
            bad |= mask
        if bad.any():
            # The recording was listened to even if its row is broken.
            self.empty += [name for name, out in zip(self.data["recording"], bad) if out and name]
            self.keep(~bad)
        return self._named()

    def _named(self) -> TextRows:
        """The rows that say which recording they belong to."""
        if "" in self.data["recording"]:
            names = [name.strip() for name in self.data["recording"]]
            for i, name in enumerate(names):
                if not name:
                    self.source.fail(self.places[i], "recording", "the row names no recording")
            self.keep(np.array([bool(name) for name in names], dtype=bool))
        return self

    def say(self, text: str = "") -> TextRows:
        """State what was taken as what: the text, or what a format that always means the same has to say."""
        names = dict.fromkeys([*self.data["recording"], *self.empty, *self.unannotated])
        own = names.keys() <= {self.source.own} if self.source.own else False
        told = "the file's name" if own else "as the format says"
        self.reading = (
            text or f"recording = {told} ({len(names)}), label = as the format says ({len(set(self.data['label']))})"
        )
        return self


class ColumnTable:
    """A delimited file as columns of text, each row with its line."""

    def __init__(self, source: Source, names: list[str], columns: Sequence[list[str]], lines: Sequence[int]) -> None:
        self.source = source
        self.lines = lines
        self.columns: dict[str, Any] = {}
        self.twice: list[str] = []  # names of columns that stand twice with different content
        for name, values in zip(names, columns):
            if name in self.columns and name and values != self.columns[name]:
                self.twice.append(name)
                source.note(f"{source.name}: two columns are called {quoted(name)}; the first is used", kind="columns")
            self.columns.setdefault(name, values)
        self.names = list(self.columns)

    @classmethod
    def read(
        cls, source: Source, *, names: list[str] | None = None, delimiter: str | None = None, quotes: bool = True
    ) -> ColumnTable:
        """The table of a file; its first row names the columns unless the names are given."""
        delimiter = delimiter or source.delimiter
        whole = source.columns_at_once(delimiter, named=names is None)
        if whole is not None and (names is None or len(whole) == len(names)):
            source.n_rows = len(whole[0]) - (names is None)
            if names is not None:
                return cls(source, names, whole, range(1, len(whole[0]) + 1))
            first = [column[0].strip() for column in whole]
            made = cls(source, first, [column[1:] for column in whole], range(2, len(whole[0]) + 1))
            return made._without(made._named_again())
        return cls.of(source, names, source.chunks(delimiter, quotes=quotes))

    @classmethod
    def of(
        cls, source: Source, names: list[str] | None, chunks: Iterable[tuple[list[list[str]], list[int]]]
    ) -> ColumnTable:
        """The table of rows and their lines, some at a time; its first row names the columns unless names are given."""
        columns: list[list[str]] = [[] for _ in names or ()]
        lines: list[int] = []
        named, total = names is None, 0
        short: dict[int, int] = {}  # the fields of rows that have too few, by their position
        for rows, places in chunks:
            if names is None:
                if not rows:
                    break
                names, rows, places = [_unquoted(name) for name in rows[0]], rows[1:], places[1:]
                columns = [[] for _ in names]
            total += len(rows)
            if not set(map(len, rows)) <= {len(names)}:
                rows, places = _even_rows(source, rows, places, len(names), short, len(lines))
            lines += places
            for column, values in zip(columns, zip(*rows)):
                column.extend(values)
        if names is None:
            raise InvalidInput(f"{source.name}: is empty; a table needs a line that names its columns")
        source.n_rows = total
        padded = any(not value.strip() for i, value in enumerate(columns[-1]) if i not in short) if short else False
        broken = short_rows(source, short, lines, len(names), padded=padded)
        made = cls(source, names, columns, lines)
        return made._without(broken | (made._named_again() if named else set()))

    def _named_again(self) -> set[int]:
        """The rows that repeat the names of the columns, which are broken: two files were joined."""
        columns = list(self.columns.items())
        odd = [name for name in self.names if is_number(name)]
        if odd and not len(self):
            raise InvalidInput(f"{self.source.name}: its only line holds the number {quoted(odd[0])} among the names")
        if columns[0][0] not in columns[0][1]:
            return set()
        again = {
            i for i, value in enumerate(columns[0][1])
            if value == columns[0][0] and all(values[i].strip() == name for name, values in columns)
        }  # fmt: skip
        for i in sorted(again):
            self.source.fail(self.lines[i], "", "repeats the names of the columns; were two files joined here?")
        return again

    def _without(self, broken: set[int]) -> ColumnTable:
        if broken:
            kept = [i for i in range(len(self)) if i not in broken]
            self.columns = {name: [values[i] for i in kept] for name, values in self.columns.items()}
            self.lines = [self.lines[i] for i in kept]
        return self

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
            values = self.columns[label]
            for i in np.flatnonzero(none).tolist():
                none[i] = str(values[i]).strip().lower() in MISSING
        found: NDArray[np.bool_] = none
        return found

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


def _unquoted(name: str) -> str:
    text = name.strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == '"' else text


def _even_rows(
    source: Source, rows: list[list[str]], lines: list[int], width: int, short: dict[int, int], first: int
) -> tuple[list[list[str]], list[int]]:
    """Rows of one width: missing fields at the end are empty and remembered, too many are a broken row."""
    even: list[list[str]] = []
    kept: list[int] = []
    for row, line in zip(rows, lines):
        if len(row) > width and (any(map(str.strip, row[width:])) or (width > 2 and len(row) > 2 * width - 2)):
            source.fail(line, "", f"has {len(row)} fields where there are {width} columns")  # or two rows in one line
            continue
        if len(row) < width:
            short[first + len(even)] = len(row)
        even.append((row + [""] * width)[:width])
        kept.append(line)
    return even, kept


def short_rows(
    source: Source, short: Mapping[int, int], lines: Sequence[int | str], width: int, *, padded: bool
) -> set[int]:
    """Which rows with too few fields are broken: all, unless many are so and those that are whole never end with an
    empty field (``padded``). Such a file leaves out what is empty at the end, which is said."""
    habit = len(short) > max(2, 0.1 * len(lines)) and not padded
    ended = source.text.endswith(("\n", "\r"))
    broken = {i for i, n in short.items() if not habit or n < 2 or (i == len(lines) - 1 and not ended)}
    for i in sorted(broken):
        told = f"{counted(short[i], 'field')} where there are {width} columns; an empty field keeps its separator"
        source.fail(lines[i], "", f"is cut short, or has another separator: {told}")
    rest = sorted(short.keys() - broken)
    if rest:
        words = (
            f"{counted(len(rest), 'row')} with fewer than {width} fields; those missing at the end are taken as empty"
        )
        source.note(f"{source.at(lines[rest[0]])}: the first of {words}", kind="cut short")
    return broken


def lengths_agree(rows: TextRows, lengths: Mapping[str, float]) -> None:
    """Take over the lengths that a file states, except where its own events go past them: then neither is sure.

    Where late events are to be cut, they are cut at the stated length.
    """
    if not lengths:
        return
    last: dict[str, float] = {}
    for name, offset in zip(rows.data["recording"], rows.data["offset"].tolist()):
        if offset > last.get(name, 0.0):
            last[name] = offset
    late = {n: last.get(n, 0.0) - length for n, length in lengths.items() if last.get(n, 0.0) > length * (1 + 1e-9)}
    clip = rows.source.on_error.endswith("clip")  # the events will be cut there
    rows.lengths.update({n: length for n, length in lengths.items() if length > 0 and (clip or n not in late)})
    if late and not clip:
        first = quoted(next(iter(late)), most=60)
        rows.source.note(
            f"{rows.source.name}: the stated length of {len(late)} recordings (first {first}) ends before "
            f"their last event, by at most {max(late.values()):.3g} s; it is taken as unknown; "
            "on_error='clip' (--on-error clip) keeps it and cuts the events there",
            kind="past the end",
        )
