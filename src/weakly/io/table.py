"""Columns of text with line numbers, and what every reader hands over: rows, empty recordings, lengths, notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.results import counted
from .source import Source, column_of, quoted
from .vocabulary import MISSING, is_number, normal, numbers, texts

_LEAVE = "; on_error='skip' (--on-error skip) leaves such rows out"
_POINT = "; point_length=0.2 (--point-length 0.2) makes it an event of 0.2 s around it"
#: Names that mean something in a table of events or answers.
OURS = frozenset(("recording", "onset", "offset", "label", "present", "weak", "seconds"))
NUMBERS = frozenset(("onset", "offset", "present", "seconds", "confidence", "low_frequency", "high_frequency"))


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
    n_absent: int = 0  # rows that say "absent", where events were asked for
    reading: str = ""  # one line: what was taken as what
    aliases: dict[str, str] = field(default_factory=dict)  # the file's name of a column: ours

    @classmethod
    def of(cls, source: Source, places: Sequence[int | str], *columns: Any, **more: Any) -> TextRows:
        """Rows from their recordings, onsets, offsets and labels, and more columns; one recording or label may be a
        text, which is that of all, and without rows the recording is empty."""
        data = dict(zip(("recording", "onset", "offset", "label"), columns)) | more
        empty = [columns[0]] if isinstance(columns[0], str) and not len(places) else []
        same = {name: [values] * len(places) for name, values in data.items() if isinstance(values, str)}
        return cls(source, data | same, places, empty=empty)

    @classmethod
    def start(cls, source: Source, *more: str) -> TextRows:
        """No rows yet: recording, onset, offset, label and more columns, for a reader that meets rows one by one."""
        return cls(source, {name: [] for name in ("recording", "onset", "offset", "label", *more)}, [])

    def add(self, place: int | str, *values: Any, **more: Any) -> None:
        """One row, its values in the order of the columns, ``more`` by name; what is not said is empty."""
        for k, (name, column) in enumerate(self.data.items()):
            column.append(values[k] if k < len(values) else more.get(name, np.nan if name in NUMBERS else ""))
        self.places.append(place)  # type: ignore[attr-defined]

    def finish(self) -> TextRows:
        """The rows that were added, with numbers as float64; with the broken ones they are all rows of a document."""
        if self.source.n_rows is None:
            self.source.n_rows = len({*self.places, *(place for place, _, _ in self.source.problems)})
        self.data |= {name: np.array(self.data[name], np.float64) for name in NUMBERS & self.data.keys()}
        self.data["label"] = ["" if label is None else str(label) for label in self.data["label"]]
        return self

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

    def keep(self, mask: NDArray[np.bool_], *, why: str = "") -> None:
        """Only the rows of the mask stay; ``why`` is the reason for which the others are passed over."""
        if mask.all():
            return
        if why:
            self.merged.setdefault(why, set()).update(compress(self.places, ~mask))
        for name, values in self.data.items():
            self.data[name] = values[mask] if isinstance(values, np.ndarray) else list(compress(values, mask))
        self.places = list(compress(self.places, mask))

    def called(self, name: str) -> None:
        """Give all rows one recording."""
        self.data["recording"] = [name] * len(self)
        self.empty, self.unannotated = [name] * bool(self.empty), [name] * bool(self.unannotated)
        self.lengths = {name: max(self.lengths.values())} if self.lengths else {}

    def nothing_in(self, mask: NDArray[np.bool_]) -> None:
        """The rows of the mask say that their recordings were annotated and hold nothing."""
        self.empty += compress(self.data["recording"], mask)
        self.blank |= {*compress(self.places, mask)}
        self.keep(~mask)

    def checked(self, lengths: Mapping[str, float] | None = None) -> TextRows:
        """The rows with usable times, others dealt with as the caller asked; and the lengths that the file states."""
        source = self.source
        self.lengths = self.lengths if lengths is None else dict(lengths)  # open ends ask for them
        onset, offset = (np.array(self.data[name], np.float64) for name in ("onset", "offset"))
        rate = rate_of(source.columns.get("rate", ""))
        if rate is not None and not source.unit_known:  # of a file without names
            onset, offset, source.unit_known = scaled(onset, 1 / rate), scaled(offset, 1 / rate), True
        if not self.weak:
            self._mended(onset, offset)
        self.data["onset"], self.data["offset"] = onset, offset
        wrong = ~(np.isfinite(onset) & np.isfinite(offset))
        wrong &= ~(np.isnan(onset) & np.isnan(offset)) if self.weak else True
        open_ = wrong & np.isfinite(onset) & (onset >= 0) & np.isnan(offset) & (not self.weak)
        collect = source.on_error == "collect"
        told = any(self.length_of(self.data["recording"][i]) > onset[i] for i in np.flatnonzero(open_).tolist())
        lasting = "; open_end='recording' (--open-end recording) lets it last as long as its recording" if told else ""
        ended = next((name for name, ours in self.aliases.items() if ours == "offset"), "")
        early = ended and (offset < onset).sum() > 0.5 * len(onset)
        swapped = f"; --columns length={ended} if these are lengths" if early else ""
        problems = (
            (open_, "offset", "has no end", lasting),
            (wrong & ~open_, "onset", "has a time that is not a number", ""),
            (~wrong & (onset < 0) & (offset <= 0), "offset", "ends before 0", ""),
            (~wrong & (onset < 0), "onset", "starts before 0", "; on_error='clip' (--on-error clip) cuts it there"),
            (~wrong & (offset < onset), "offset", "ends before it starts", swapped),
            (~wrong & (offset == onset), "offset", "has no length (a point?)", _POINT),
        )
        bad = np.zeros(len(onset), dtype=bool)
        for mask, column, words, way in problems:
            for i in np.flatnonzero(mask & ~bad).tolist():
                times = f"onset {onset[i]:g}" + ("" if open_[i] else f", offset {offset[i]:g}")
                source.fail(self.places[i], column, f"the event {words}: {times}{way}{'' if collect else _LEAVE}")
            bad |= mask
        if bad.any():
            # The recording was listened to even if its row is broken.
            self.empty += filter(None, compress(self.data["recording"], bad))
            self.keep(~bad)
        if "" in self.data["recording"]:
            named = np.array([bool(name.strip()) for name in self.data["recording"]], dtype=bool)
            for place in compress(self.places, ~named):
                source.fail(place, "recording", "the row names no recording")
            self.keep(named)
        if lengths is not None:
            self.lengths = {}
            self._take_lengths({n: v for n, v in lengths.items() if np.isfinite(v) and v > 0})
        return self

    def _take_lengths(self, lengths: Mapping[str, float]) -> None:
        """Take over the lengths that a file states, except where its own events go past them: then neither is sure.

        Where late events are to be cut, they are cut at the stated length.
        """
        last = dict.fromkeys(lengths, 0.0)
        for name, offset in zip(self.data["recording"], self.data["offset"].tolist()) if lengths else ():
            if offset > last.get(name, np.inf):
                last[name] = offset
        late = {n: last[n] - length for n, length in lengths.items() if last[n] > length * (1 + 1e-9)}
        clip = self.source.on_error.endswith("clip")  # the events will be cut there
        self.lengths.update({n: length for n, length in lengths.items() if clip or n not in late})
        if late and not clip:
            which = f"{counted(len(late), 'recording')} (first {quoted(next(iter(late)), most=60)})"
            told = f"the stated length of {which} ends before"
            told += f" their last event, by at most {max(late.values()):.3g} s; it is taken as unknown; "
            told += "on_error='clip' (--on-error clip) keeps it and cuts the events there"
            self.source.note(told, kind="past the end")

    def length_of(self, name: str) -> float:
        """How long a recording is, as the file or the caller says; NaN where nobody does."""
        known = self.source.recording_length
        given = known.get(name) if isinstance(known, Mapping) else known
        return float(self.lengths.get(name, np.nan) if given is None else given)

    def _mended(self, onset: NDArray[np.float64], offset: NDArray[np.float64]) -> None:
        """Make events of points, of open ends and of starts before 0, where the caller asked for it."""
        source = self.source
        points, early = np.isfinite(onset) & (offset == onset), (onset < 0) & (offset > 0)
        if source.point_length is not None and points.any():
            half = source.point_length / 2
            offset[points], onset[points] = np.round(onset[points] + half, 9), np.round(onset[points] - half, 9)
            cut = points & (onset < 0) & (offset > 0)
            onset[cut] = 0.0
            told = f", {int(cut.sum())} of them cut at 0" if cut.any() else ""
            made = f"{counted(int(points.sum()), 'point')} made events of {source.point_length:g} s around them"
            source.note(f"{made}{told}")
        ends = np.isfinite(onset) & np.isnan(offset)
        if source.open_end == "recording" and ends.any():
            offset[ends] = [self.length_of(self.data["recording"][i]) for i in np.flatnonzero(ends).tolist()]
            ends &= np.isfinite(offset)
            if ends.any():
                source.note(f"{counted(int(ends.sum()), 'event')} without an end last as long as their recordings")
        if source.on_error.endswith("clip") and early.any():
            onset[early] = 0.0
            source.note(f"{counted(int(early.sum()), 'event')} that started before 0 cut there")

    @property
    def n_recordings(self) -> int:
        """How many recordings the file names."""
        return len({*self.data["recording"], *self.empty, *self.unannotated})

    def say(self, recording: str, label: str, *more: str) -> TextRows:
        """State what was taken as what, and how many there are."""
        told = (f"recording = {recording} ({self.n_recordings})", f"label = {label} ({len(set(self.data['label']))})")
        self.reading = ", ".join((*told, *filter(None, more)))
        return self


class ColumnTable:
    """A delimited file as columns of text, each row with its line."""

    def __init__(self, source: Source, names: list[str], columns: Sequence[Any], lines: Sequence[int]) -> None:
        self.source = source
        self.lines = lines
        self.columns: dict[str, Any] = {}
        self.twice: list[str] = []  # names of columns that stand twice with different content
        for name, values in zip(names, columns):
            if name in self.columns and name and values != self.columns[name]:
                self.twice.append(name)
                source.note(f"two columns are called {quoted(name)}; the first is used", kind="columns")
            self.columns.setdefault(name, values)
        self.names = list(self.columns)

    @classmethod
    def of_frame(cls, source: Source, frame: pd.DataFrame) -> ColumnTable:
        """The table of a frame, whose types say what text would not: durations, dates, numbers."""
        columns = [_values_of(frame.iloc[:, k]) for k in range(frame.shape[1])]
        return cls(source, [str(name) for name in frame.columns], columns, range(1, len(frame) + 1))

    @classmethod
    def read(
        cls, source: Source, *, names: list[str] | None = None, delimiter: str | None = None, quotes: bool = True
    ) -> ColumnTable:
        """The table of a file; its first row names the columns unless the names are given."""
        delimiter = delimiter or source.delimiter
        whole = source.columns_at_once(delimiter, named=names is None)
        if whole is None or (names is not None and len(whole) != len(names)):
            return cls.of(source, names, source.chunks(delimiter, quotes=quotes))
        first, lines = int(names is None), range(1, len(whole[0]) + 1)
        source.n_rows = len(lines) - first
        made = cls(source, names or [c[0].strip() for c in whole], [c[first:] for c in whole], lines[first:])
        return made if names else made._without(made._named_again())

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
                names = [re.sub(r'^"(.*)"$', r"\1", name.strip()).strip() for name in rows[0]]
                rows, places = rows[1:], places[1:]
                columns = [[] for _ in names]
            total += len(rows)
            if not set(map(len, rows)) <= {len(names)}:
                rows, places = _even_rows(source, rows, places, len(names), short, len(lines))
            lines += places
            for column, values in zip(columns, zip(*rows)):
                column.extend(values)
        if names is None:
            raise source.error("is empty; a table needs a line that names its columns")
        source.n_rows = total
        broken = _short_rows(source, short, lines, columns) if short else set()
        made = cls(source, names, columns, lines)
        return made._without(broken | (made._named_again() if named else set()))

    def _named_again(self) -> set[int]:
        """The rows that repeat the names of the columns, which are broken: two files were joined."""
        odd = [name for name in self.names if is_number(name)]
        if odd and not len(self):
            raise self.source.error(f"its only line holds the number {quoted(odd[0])} among the names")
        first, values = next(iter(self.columns.items()))
        same = [i for i, value in enumerate(values) if value == first] if first in values else []
        again = [i for i in same if all(own[i].strip() == name for name, own in self.columns.items())]
        for i in again:
            self.source.fail(self.lines[i], "", "repeats the names of the columns; were two files joined here?")
        return set(again)

    def _without(self, broken: set[int]) -> ColumnTable:
        if broken:
            kept = [i for i in range(len(self)) if i not in broken]
            self.columns = {name: [values[i] for i in kept] for name, values in self.columns.items()}
            self.lines = [self.lines[i] for i in kept]
        return self

    def __len__(self) -> int:
        return len(self.lines)

    def melted(
        self, columns: Sequence[str], into: tuple[str, str], *, called: Callable[[str], str] = str
    ) -> ColumnTable:
        """The table with a row for each of some columns: what it is called and what stands in it, under two names."""
        n, every = len(self), [texts(self.columns[name]) for name in columns]
        made = self.taken(np.repeat(np.arange(n), len(columns)))
        rest = [name for name in self.names if name not in columns]
        values = [made.columns[name] for name in rest]
        own = [called(name) for name in columns]
        values += [own * n, [column[i] for i in range(n) for column in every]]
        return ColumnTable(self.source, [*rest, *into], values, made.lines)

    def taken(self, rows: NDArray[np.int64]) -> ColumnTable:
        """The table with these rows, some of them perhaps several times."""
        at = rows.tolist()
        values = [v[rows] if isinstance(v, np.ndarray) else [v[i] for i in at] for v in self.columns.values()]
        return ColumnTable(self.source, self.names, values, [self.lines[i] for i in at])

    def listed(self, name: str, cells: Sequence[Sequence[str]]) -> ColumnTable:
        """The table with a row for each of the texts that the cells of a column list."""
        table = self.taken(np.repeat(np.arange(len(self)), list(map(len, cells))))
        table.columns[name] = [text for cell in cells for text in cell]
        return table

    def find(self, *wanted: str) -> str | None:
        """The first of the wanted columns that the table has."""
        return column_of(self.names, *wanted)

    def need(self, *wanted: str) -> str:
        """The first of the wanted columns, or an error that lists the columns."""
        name = self.find(*wanted)
        if name is None:
            told = f"no column {quoted(wanted[0])}; there are {', '.join(self.names[:30])}"
            raise self.source.error(f"{told}; say which it is with columns, for example onset=start")
        return name

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column as float64; empty fields are NaN; what is not a number is a broken row (and NaN)."""
        return numbers(self.source, self.columns[name], self.lines, name)

    def nothing(self, onset: Any, offset: Any, label: str | None) -> NDArray[np.bool_]:
        """Which rows hold neither times nor a label: recordings that were annotated and are empty."""
        none = np.isnan(onset) & np.isnan(offset)
        values = [] if label is None else self.columns[label]
        for i in np.flatnonzero(none).tolist() if len(values) else ():
            none[i] = str(values[i]).strip().lower() in MISSING
        return np.asarray(none)

    def others(self, *used: str | None) -> dict[str, Any]:
        """The columns that nobody asked for, as text; one that is called like a column of ours gets another name."""
        found: dict[str, Any] = {}
        for name, values in self.columns.items():
            if name and name not in used:
                ours = f"{name}_column" if name in OURS else name
                found[ours] = self.numbers(name) if name == "confidence" else values
        return found


def _values_of(column: pd.Series) -> Any:
    """The column as tables hold it: numbers as an array, all else as texts."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "fiu":
        return column.to_numpy(dtype=np.float64, na_value=np.nan) if column.isna().any() else column.to_numpy()
    if kind == "m":
        return column.dt.total_seconds().to_numpy(dtype=np.float64)
    if kind == "M":
        return ["" if value != value else value.isoformat() for value in column]
    missing = (value is None or (isinstance(value, float) and value != value) for value in column)
    return ["" if none else str(value) for none, value in zip(missing, column.tolist())]


def _even_rows(
    source: Source, rows: list[list[str]], lines: list[int], width: int, short: dict[int, int], first: int
) -> tuple[list[list[str]], list[int]]:
    """Rows of one width: missing fields at the end are empty and remembered, too many are a broken row."""
    even: list[list[str]] = []
    kept: list[int] = []
    for row, line in zip(rows, lines):
        if any(map(str.strip, row[width:])) or (width > 2 and len(row) > 2 * width - 2):  # or two rows in one line
            source.fail(line, "", f"has {len(row)} fields where there are {width} columns")
            continue
        if len(row) < width:
            short[first + len(even)] = len(row)
        even.append((row + [""] * width)[:width])
        kept.append(line)
    return even, kept


def _short_rows(
    source: Source, short: Mapping[int, int], lines: Sequence[int], columns: Sequence[Sequence[str]]
) -> set[int]:
    """Which rows with too few fields are broken: all, unless many are so and those that are whole never end with an
    empty field. Such a file leaves out what is empty at the end, which is said."""
    width, padded = len(columns), any(not value.strip() for i, value in enumerate(columns[-1]) if i not in short)
    habit = len(short) > max(2, 0.1 * len(lines)) and not padded
    ended = source.text.endswith(("\n", "\r"))
    broken = {i for i, n in short.items() if not habit or n < 2 or (i == len(lines) - 1 and not ended)}
    for i in sorted(broken):
        told = f"{counted(short[i], 'field')} where there are {width} columns; an empty field keeps its separator"
        source.fail(lines[i], "", f"is cut short, or has another separator: {told}")
    rest = sorted(short.keys() - broken)
    if rest:
        words = f"the first of {counted(len(rest), 'row')} with fewer than {width} fields"
        source.note(f"{words}; those missing at the end are taken as empty", line=lines[rest[0]], kind="cut short")
    return broken


_LIST = re.compile(r"^(?:\{\W*\w+\W*:\s*)?\[(.*)\]\s*\}?$", re.DOTALL)  # or under a name: choices


def several_labels(values: Sequence[str], name: str) -> list[list[str]] | None:
    """The classes of each text, where some texts hold several: ``dog;cat``, ``dog|cat``, a list; None where none does.

    A comma separates in a column whose name is in the plural, or where each part stands alone elsewhere.

    >>> several_labels(["dog;cat", "dog"], "label"), several_labels(["a, b", "c"], "label")
    ([['dog', 'cat'], ['dog']], None)
    """
    known: dict[str, list[str]] = {}
    alone = {value.strip() for value in set(values) if "," not in value}
    plural = bool(re.search(r"(labels|tags|classes|categories|species_list|events|codes)$", normal(name)[0]))
    for value in set(values):
        text, parts = value.strip(), value.split(",")
        if match := _LIST.match(text):
            parts = [part.strip().strip("\"'") for part in match[1].split(",")]
        elif ";" in text or "|" in text or normal(name)[0] == "birds":  # BirdCLEF's codes are words
            parts = re.split(r"[;| ]" if normal(name)[0] == "birds" else r"[;|]", text)
        elif len(parts) < 2 or not ((plural and ", " not in text) or all(part.strip() in alone for part in parts)):
            parts = []
        known[value] = ([part.strip() for part in parts if part.strip()] or [""]) if parts else [value or ""]
    return [known[value] for value in values] if any(known[v] != [v] for v in known if v) else None


def rate_of(text: str) -> float | None:
    """What a second has of samples, as a number or a fraction (``16000``, ``1/86400`` of days), None for a name."""
    try:
        above, _, below = text.partition("/")
        found = float(above) / float(below or 1)
        return found if 0 < found < np.inf else None
    except (ValueError, ZeroDivisionError):
        return None


def scaled(values: Any, scale: Any) -> Any:
    """Times in another unit, to nine decimals."""
    if isinstance(scale, float) and scale == 1.0:
        return values
    scaled = values * scale
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(scaled) < 1e6, np.round(scaled, 9), scaled)
