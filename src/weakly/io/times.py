"""What the times of a table mean: seconds, other units, samples, dates, clocks; epochs, starts alone, and points.

A start without an end is a point, or lasts until the next start, or as long as all others: nobody can tell but who
made the file, so it is asked. Units that no name tells are suspected by what the numbers are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.results import counted
from .source import Source, quoted
from .table import ColumnTable, TextRows, rate_of, scaled
from .vocabulary import ASIDE, UNITS, kind_of, normal, suited, texts

_SPAN = re.compile(r"^(\d+(?:\.\d+)?|\.\d+)\s*([a-zµ]*)$", re.IGNORECASE)
NEXT, IN_NAME, NONE = "@next", "@name", "@none"
_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d{2})-?(\d{2})-?(\d{2})[_T\- ]?(\d{2})[-:.]?(\d{2})[-:.]?(\d{2})(?!\d)")


@dataclass
class Roles:
    """Which column plays which part; ``None`` recording means the file's own name."""

    table: ColumnTable
    names: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)  # the columns that together name a recording
    melted: list[str] = field(default_factory=list)  # columns that are a class each, or a person
    into: str = "label"  # what the names of these are: "label" or "annotator"
    exact: bool = False  # the table of a tool, or ours: what stands in a cell is meant so
    named: str = ""  # the class that the column of answers is called after
    asked: list[str] = field(default_factory=list)  # columns that hold answers and may be something else
    sided: bool = False  # they go with the class, and are probably something else

    def unit(self, role: str) -> str:
        """The unit that the name of the role's column tells."""
        return normal(self.names[role])[1] if role in self.names else ""


def span_of(text: str) -> float | None:
    """The seconds of a length that is the same for all rows (``10s``, ``500ms``, ``0.5 min``), None for a name.

    >>> span_of("10s"), span_of("500ms"), span_of("dur")
    (10.0, 0.5, None)
    """
    match = _SPAN.match(text.strip())
    scale = UNITS.get(match[2].lower(), np.nan) if match and match[2] else 1.0
    return float(match[1]) * scale if match and scale == scale and float(match[1]) > 0 else None


def are_even(length: Any) -> bool:
    """Whether segments are all as long, but for a few (the last ones of recordings)."""
    rounded = np.round(length, 6)
    return bool((rounded == np.median(rounded)).mean() > 0.9)


def is_counted(unit: str) -> bool:
    """Whether a unit is samples or frames, of which a second has nobody knows how many."""
    return UNITS.get(unit, 1.0) != UNITS.get(unit, 1.0)


def special(role: str, value: str) -> bool:
    """Whether what was said of a role is no column's name: ``@file``, a rate, a length."""
    known = {"rate": rate_of, "length": span_of}.get(role)
    return value.startswith("@") or (known is not None and known(value) is not None)


def time_columns(found: Roles, free: list[str], kinds: dict[str, str], given: dict[str, str]) -> None:
    """Take the columns of starts, ends and lengths out of the free ones."""

    def choose(role: str) -> str | None:
        names = suited(free, role)
        if is_counted(found.unit("onset")):  # of a start in samples the end is in samples
            names.sort(key=lambda name: not is_counted(normal(name)[1]))
        return next((n for n in names if kinds[n] in ("number", "clock", "date", "") or len(names) == 1), None)

    def take(role: str, name: str | None) -> None:
        if name is not None:
            found.names[role] = name
            free.remove(name)

    if "onset" not in found.names:
        name = choose("onset")
        _refuse_parts(found, free, name)
        if name is None and "offset" not in found.names and choose("length") is not None:
            name = choose("offset")  # OFFSET and DURATION: the offset into the file
        take("onset", name)
    if "onset" in found.names and "offset" not in found.names and "length" not in given:
        take("offset", choose("offset"))
    length = choose("length") if "length" not in found.names else None
    if "offset" not in found.names:
        take("length", length)
    elif length is not None and {found.names.get("onset"), found.names["offset"]} <= found.table.columns.keys():
        _whose_length(found, length, free)


def _refuse_parts(found: Roles, free: list[str], onset: str | None) -> None:
    """Refuse minutes and seconds in columns of their own, and print how they add up."""
    ways = []
    for role, name in (("onset", onset), ("offset", next(iter(suited(free, "offset")), None))):
        same = [each for each in suited(free, role) if name and normal(each)[0] == normal(name)[0]]
        scales = [UNITS.get(normal(each)[1], np.nan) for each in same]
        if len(same) == 2 and max(scales) >= 60 > min(scales):
            values = [onsets_of(found, name=each) for each in same]
            first, second = (np.nan if v is None else v * scale for v, scale in zip(values, scales))
            if not np.allclose(first, second, atol=0.6):  # else one time in two units
                ways.append(f"{role}={'+'.join(same)}")
    if ways:
        raise found.table.source.error(f"minutes and seconds stand apart: --columns {','.join(ways)} adds them up")


def _whose_length(found: Roles, name: str, free: list[str]) -> None:
    """A duration beside an onset and an offset is the event's, which says nothing new, or the recording's."""
    table, (onset, offset) = found.table, (found.names["onset"], found.names["offset"])
    try:
        a, b, d = (np.array(table.columns[n][:2000], dtype=np.float64) for n in (onset, offset, name))
    except ValueError:
        return
    free.remove(name)
    own = not len(d) or np.allclose(b - a, d, atol=1e-3, equal_nan=True)
    if not own and "recording_length" not in found.names and (d >= b - 1e-6).all():
        found.names["recording_length"] = name


_OPEN = ("inf", "infinity", "open", "ongoing", "eof", "end")  # what stands in place of an end that is not known


def times_of(table: ColumnTable, roles: Roles, recording: list[str], *, mne: bool = False) -> tuple[Any, Any, str]:
    """Onsets and offsets in seconds (of ``mne`` from the first date), NaN where none is; and what they are in."""
    source, names = table.source, roles.names
    nothing = np.full(len(table), np.nan)
    fixed = span_of(names["length"]) if "length" in names and names["length"] not in table.columns else None
    if "onset" not in names:
        if "offset" in names and fixed is not None:  # of windows that are all as long, the end
            offset = table.numbers(names["offset"])
            source.unit_known = True
            return np.round(offset - fixed, 9), offset, f"{fixed:g} s that end at {names['offset']}"
        if "epoch" not in names or fixed is None:
            return nothing, nothing.copy(), ""
        onset = table.numbers(names["epoch"])
        first = 0.0 if (onset == 0).any() else 1.0
        source.unit_known = True
        source.note(f"{quoted(names['epoch'])} {first:g} begins at 0 s and each lasts {fixed:g} s")
        onset = scaled(onset - first, fixed)
        return onset, ending(onset, np.full(len(onset), fixed)), "epochs"
    end = next((role for role in ("offset", "length") if role in names), "")
    end = end if names.get(end) in table.columns else ""
    columns = ("onset", end) if end else ("onset",)
    ends = table.columns[names[end]] if end else []
    if not isinstance(ends, np.ndarray) and any(value.strip().lower() in _OPEN for value in set(ends)):
        table.columns[names[end]] = ["" if value.strip().lower() in _OPEN else value for value in ends]
    kinds = {role: kind_of(table.columns[names[role]]) for role in columns}
    units = {role: roles.unit(role) for role in columns}
    source.unit_known = bool(any(units.values()) or "rate" in source.columns or {"date", "clock"} & {*kinds.values()})
    if "date" in kinds.values():
        onset, offset = _dated(table, roles, recording, end, kinds, mne=mne)
        unit = "dates"
    else:
        told = "rate" in source.columns  # whatever the names say
        rate = _rate(table, roles) if told or any(map(is_counted, units.values())) else 1.0
        scale = {role: 1 / rate if told or is_counted(unit) else UNITS.get(unit, 1.0) for role, unit in units.items()}
        onset = scaled(table.numbers(names["onset"]), scale["onset"])
        offset = scaled(table.numbers(names[end]), scale[end]) if end else nothing
        offset = ending(onset, offset) if end == "length" else offset
        unit = next((u for u in units.values() if u and UNITS[u] != 1.0), "seconds")
        if told:
            unit = f"1/{names['rate']} s" if names["rate"] not in table.columns else "samples"
        elif unit in ("ms", "msec", "millis", "millisecond", "milliseconds"):
            source.note(f"{quoted(names['onset'])} says milliseconds; read as such")
        elif source.clocks & {names[role] for role in columns}:
            onset, offset, unit = _of_day(source, onset, offset, recording)
            alone = "onset" not in source.columns and len({*recording}) == len(recording) > 1
            if alone and normal(names["onset"])[0] == "time" and end == "length":
                words = f"{quoted(names['onset'])}, one for each recording, may be the time of day"
                source.note(f"{words}: --columns onset=@none if so, --columns onset={names['onset']} if not")
    if fixed is not None:
        offset = ending(onset, np.full(len(onset), fixed))
    elif names.get("offset") == NEXT:
        beside = [n for n in table.names if n == names.get("annotator") or n.lower() in ("level", "tier", "channel")]
        offset = next_starts(onset, [*zip(recording, *(table.columns[n] for n in beside))])
    return onset, offset, unit


def _of_day(source: Source, onset: Any, offset: Any, recording: list[str]) -> tuple[Any, Any, str]:
    """Clock times as they are, or from the time of day that the recordings' names tell; asked, if they may be."""
    told = source.columns.get("origin", "")
    known = {name: date_in(name) % 86400 for name in set(recording)} if told != NONE else {}
    began = np.array([known.get(name, np.nan) for name in recording])
    with np.errstate(invalid="ignore"):
        after = bool(len(began)) and bool(((onset - began) % 86400 < 86400 / 2).all() and (onset >= began).mean() > 0.5)
    if told == IN_NAME:
        return (onset - began) % 86400, (offset - began) % 86400, "times of day from the recordings' names"
    if after and began.max() > 0:
        words = f"times such as {onset[0] // 3600:02.0f}:{onset[0] // 60 % 60:02.0f} may be times of day, for names "
        way = f"--columns origin={IN_NAME} if so, --columns origin={NONE} if not"
        source.note(f"{words}tell when recordings began: {way}")
    return onset, offset, "hh:mm:ss"


def whole_recordings(table: ColumnTable, roles: Roles) -> bool:
    """Whether the rows are about whole recordings: labels without times, all present; refuse what says no times."""
    source, names = table.source, roles.names
    asked, ended = "present" in names, bool({"offset", "length"} & names.keys())
    if "onset" in names and not ended and (asked or source.point_length is None) and len(table):
        what = "segments end: " if asked or roles.melted else f"events end: {POINTS_OR_NEXT}; "
        even = f"--columns length={_step(table.numbers(names['onset'])):g}s if all are as long"
        raise source.error(f"no column says where {what}{even}")
    if "epoch" in names and "length" not in names:
        usual = 60 if normal(names["epoch"])[0].startswith("minute") else 30
        words = f"{quoted(names['epoch'])} counts epochs; say how long one is, such as"
        raise source.error(f"{words} --columns length={usual}s")
    if "onset" in names or "epoch" in names or {"offset", "length"} <= names.keys():
        return False
    if "length" in names and names["length"] in table.columns and "recording_length" not in names:
        names["recording_length"] = names.pop("length")
        _refuse_lengths(table, roles)
    spare = [name for name in table.names if name not in {*names.values(), *roles.parts} and _may_be_start(table, name)]
    if spare and len(table):
        words = "no column is known to say when, so labels are of whole recordings"
        way = "+".join(spare) if all(normal(name)[0] in UNITS for name in spare) else spare[0]
        step = _step(table.numbers(way)) if kind_of(table.columns.get(way, [])) == "number" else 1.0
        way += "" if ended or "recording_length" in names else f",length={step:g}s"
        source.note(f"{words}; {quoted(spare[0])} could: --columns onset={way} if so", kind="unknown columns")
    if asked or not len(table):
        return True
    label, told = names.get("label"), "label" in source.columns
    if "recording" in names or roles.parts:
        if label is not None and (told or suited([label], "label")):
            names["present"] = "@present"
            return True
        others = [n for n in table.names if n not in names.values() and kind_of(table.columns[n]) == "text"]
        if label is not None or others:
            could = label or others[0]
            raise source.error(f"no columns with times, and none is known to name labels of whole "
                               f"recordings; {quoted(could)} could: --columns label={could}")  # fmt: skip
    there = ", ".join(f"{word}={name}" for word, name in names.items())
    raise source.error(f"no column for onset among {', '.join(table.names[:30])} ({there})")


def _refuse_lengths(table: ColumnTable, roles: Roles) -> None:
    """Refuse lengths of which a recording has several: they are those of events that begin nobody knows when."""
    length, own = roles.names["recording_length"], roles.names.get("recording")
    if own is None or len({*zip(table.columns[own], table.columns[length])}) == len({*table.columns[own]}):
        return
    used = {*roles.names.values(), *roles.parts}
    could = [n for n in table.names if n not in used and kind_of(table.columns[n]) in ("number", "clock", "date")]
    told = f"{quoted(length)} says several lengths of one recording, so of events, and no column is known to say when"
    units = [name for name in could if normal(name)[0] in UNITS]  # minutes and seconds
    way = f"; {quoted(could[0])} could: --columns onset={'+'.join(units or could[:1])}" if could else ""
    raise table.source.error(told + way)


def _may_be_start(table: ColumnTable, name: str) -> bool:
    """Whether a column that nobody knows may say when: dates with a time, an offset, minutes beside seconds."""
    base, kind = normal(name)[0], kind_of(table.columns[name])
    beside = {normal(each)[0] for each in table.names}
    told = base in UNITS and bool(beside & {"s", "sec", "second", "seconds"}) and UNITS[base] == UNITS[base]
    return (kind == "date" and base not in ASIDE) or (kind == "number" and (told or bool(suited([name], "offset"))))


def numbered(values: Sequence[Any]) -> np.ndarray:
    """Which of the different values each is, by number."""
    place: dict[Any, int] = {}
    return np.fromiter((place.setdefault(value, len(place)) for value in values), np.int64, len(values))


def next_starts(onset: Any, keys: list[Any]) -> Any:
    """For each start the next one of the same key; NaN for the last, and for those that are repeated at one time."""
    group = numbered(keys)
    order = np.lexsort((np.arange(len(onset)), onset, group))
    here, after = order[:-1], order[1:]
    inside = (group[here] == group[after]) & (onset[here] < onset[after])
    offset = np.full(len(onset), np.nan)
    offset[here[inside]] = onset[after[inside]]
    return offset


def _step(onset: Any) -> float:
    """The seconds from one start to the next, where these are always as many; else 1."""
    steps = np.diff(onset)[np.diff(onset) > 0]
    return float(steps[0]) if len(steps) and np.allclose(steps, steps[0], rtol=1e-6) else 1.0


#: What times without ends may be, and the options that say so.
POINTS_OR_NEXT = (
    "--point-length 0.2 if they are points, each an event of 0.2 s around it; "
    "--columns offset=@next if each lasts until the next begins"
)


def _rate(table: ColumnTable, roles: Roles) -> Any:
    """Samples (or frames) per second, of every row."""
    name = roles.names.get("rate")
    if name is None:
        unit = roles.unit("onset") or roles.unit("offset") or roles.unit("length")
        told = f"{quoted(roles.names['onset'])} counts samples or frames; say how many a second has"
        usual = 25 if unit.startswith("frame") else 16000
        raise table.source.error(f"{told}: --columns rate={usual}, or the name of a column that says it")
    if name not in table.columns:
        return rate_of(name)
    rate = table.numbers(name)
    if not (rate > 0).all():
        i = int(np.flatnonzero(~(rate > 0))[0])
        raise InvalidInput(f"{table.source.at(table.lines[i])}, column {quoted(name)}: a rate must be > 0")
    return rate


def _dated(table: ColumnTable, roles: Roles, recording: list[str], end: str, kinds: Any, *, mne: bool) -> Any:
    """Seconds into the recording of dates: from a column with its start, its name, or (MNE) the first onset."""
    source, names = table.source, roles.names
    origin_name = None if source.columns.get("origin") in (IN_NAME, NONE) else roles.names.get("origin")
    moment = dates(texts(table.columns[names["onset"]])) if kinds["onset"] == "date" else table.numbers(names["onset"])
    if origin_name is not None:
        origin = dates(texts(table.columns[origin_name]))
    elif mne:
        first = float(np.nanmin(moment)) if len(moment) and np.isfinite(moment).any() else 0.0
        epoch = first < 366 * 86400  # without a date of its own, MNE counts from 1970
        if not epoch:
            source.note("does not say when the recording began; times count from its first event")
        origin = np.full(len(moment), 0.0 if epoch else first)
    else:
        known = {name: date_in(name) for name in set(recording)}
        origin = np.array([known[name] for name in recording])
        if np.isnan(origin).any():
            words = f"{quoted(names['onset'])} holds dates and nothing says when the recordings began"
            way = "name the column that does (--columns origin=NAME), or give times in seconds"
            raise source.error(f"{words}; {way}")
    onset = np.round(moment - origin, 6)
    if kinds.get(end) == "date":
        return onset, np.round(dates(texts(table.columns[names[end]])) - origin, 6)
    return onset, ending(onset, table.numbers(names[end])) if end else np.full(len(onset), np.nan)


def dates(values: Sequence[Any]) -> NDArray[np.float64]:
    """Dates as seconds since 1970, NaN where there is none; a time zone is taken into account where it is written."""
    # With strokes the month comes first, as in the US, unless a first number says that it is a day.
    first = [match[1] for value in values if (match := re.match(r"(\d{1,2})/\d{1,2}/\d{4}", str(value).strip()))]
    how: Any = {"format": "mixed", "dayfirst": max(map(int, first)) > 12} if first else {"format": "ISO8601"}
    found = pd.to_datetime(pd.Series(values), errors="coerce", utc=True, **how)
    seconds = found.dt.tz_localize(None).to_numpy("datetime64[ns]")
    return np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64) / 1e9)


def date_in(name: str) -> float:
    """The moment that a recording's name tells, as seconds since 1970, or NaN.

    >>> date_in("S4A_20200102_030405.wav") - date_in("S4A_20200102_030400.wav")
    5.0
    """
    match = _IN_NAME.search(name)
    if match is None:
        return float("nan")
    return float(dates(["{}-{}-{}T{}:{}:{}".format(*match.groups())])[0])


_CUT = re.compile(r"^(?:\d\.\d+_\d+_)?(.+)_(\d{1,6}(?:\.\d+)?)(s?)_(\d{1,6}(?:\.\d+)?)\3(?:\.\w+)?$")


def clip_times(names: Sequence[str]) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]] | None:
    """The recordings and times that the names of clips tell, all of them; None where they do not.

    >>> clip_times(["0.8_2_hill_12.00s_15.00s.wav"])[0], clip_times(["hill_12_15.wav", "hill_15_18.wav"])[1].tolist()
    (['hill'], [12.0, 15.0])
    """
    found = {name: _CUT.match(name.strip()) for name in set(names)}
    if not all(match and 0 < float(match[4]) - float(match[2]) <= 3600 for match in found.values()):
        return None
    # Without BirdNET's s the numbers may be part of a name; several pieces of one recording tell.
    marked, whole = all(match and match[3] for match in found.values()), {m[1] for m in found.values() if m}
    if not found or (not marked and len(whole) == len(found)):
        return None
    rows = [found[name] for name in names]
    onset, offset = (np.array([float(match[k]) for match in rows if match]) for k in (2, 4))
    return [match[1] for match in rows if match], onset, offset


def suspected_unit(source: Source, onset: Any, offset: Any) -> str:
    """What times probably are that no name tells a unit of, with the options that settle it; "" if they may be seconds.

    >>> from pathlib import Path
    >>> suspected_unit(Source(Path("a")), np.array([1200.0, 5200.0]), np.array([1900.0, 5450.0]))[:30]
    'probably milliseconds (or samp'
    """
    some = np.isfinite(onset) & np.isfinite(offset)
    onset, offset = onset[some], offset[some]
    if source.unit_known or not len(onset):
        return ""
    whole, days = bool(np.all(onset % 1 == 0) and np.all(offset % 1 == 0)), offset * 86400
    if whole and np.median(offset - onset) >= 50 and offset.max() >= 1000:
        told = "milliseconds (or sample numbers)", "rate=1000 (milliseconds), --columns rate=16000 (samples of 16 kHz)"
    elif whole and len(onset) > 2 and (onset[1:] == offset[:-1] + 1).all():
        told = "numbers of first and last frames", "rate=25 (frames of a second)"
    elif offset.max() < 1 and np.median(offset - onset) < 2e-3 and np.all(np.abs(days - np.round(days, 1)) < 0.01):
        told = "a spreadsheet's fractions of a day", "rate=1/86400 (days)"
    else:
        return ""
    return f"probably {told[0]} taken for seconds: --columns {told[1]}; --columns rate=1 if they are seconds"


def ending(onset: Any, length: Any) -> NDArray[np.float64]:
    """Onset + length; to nine decimals where both have no more, so that 0.1 + 0.2 ends at 0.3."""
    onset, length = np.asarray(onset, np.float64), np.asarray(length, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        total = onset + length
        short = (total < 1e6) & (np.abs(length) < 1e6)
        a, b = np.where(short, onset, 0.0), np.where(short, length, 0.0)
        short &= (np.round(a, 9) == a) & (np.round(b, 9) == b)
        return np.where(short, np.round(np.where(short, total, 0.0), 9), total)


def duration(onset: Any, offset: Any) -> NDArray[np.float64]:
    """The lengths that, read back with their onsets, give exactly the offsets, wherever there are any.

    (Where an onset ends in half of the offset's last binary digit, every sum is rounded to an even digit.)

    >>> duration([0.1], [0.3]).tolist()
    [0.2]
    """
    onset, offset = np.asarray(onset, np.float64), np.asarray(offset, np.float64)
    short = np.round(offset - onset, 9)
    length = np.where(ending(onset, short) == offset, short, offset - onset)
    for _ in range(2):
        length = np.where(ending(onset, length) < offset, np.nextafter(length, np.inf), length)
        length = np.where(ending(onset, length) > offset, np.nextafter(length, -np.inf), length)
    return np.asarray(length)


def onsets_of(found: Roles, role: str = "onset", name: str | None = None) -> np.ndarray | None:
    """The numbers of a role's column, or of the one of that name; None where it holds something else."""
    values = found.table.columns.get(name or found.names.get(role, ""))
    try:
        if isinstance(values, np.ndarray):
            return values.astype(np.float64) if values.dtype.kind in "fiu" else None
        numbers = None if values is None else np.array([value or "nan" for value in values], dtype=object)
        return None if numbers is None else numbers.astype(np.float64)
    except ValueError:
        return None


def is_even(found: Roles) -> bool:
    """Whether the table is about segments that are all as long."""
    length = lengths_of(found)
    return "epoch" in found.names if length is None or len(length) < 2 else are_even(length)


def lengths_of(found: Roles) -> np.ndarray | None:
    onset, end = onsets_of(found), onsets_of(found, "offset" if "offset" in found.names else "length")
    with np.errstate(invalid="ignore"):  # infinite times are broken rows, of which their readers tell
        return None if onset is None or end is None else end - onset if "offset" in found.names else end


def only_end(rows: TextRows, blank: Any) -> Any:
    """Which starts only end the one before: the last of each recording, unless its length is known."""
    onset, offset = rows.data["onset"], rows.data["offset"]
    last = np.isfinite(onset) & np.isnan(offset) & ~blank
    for i in np.flatnonzero(last).tolist():
        length = rows.length_of(rows.data["recording"][i])
        if length > onset[i] and rows.data["label"][i].strip().lower() != "end":
            offset[i], last[i] = length, False
    if last.any():
        rows.empty += [name for name, out in zip(rows.data["recording"], last) if out]
        told = f"{counted(int(last.sum()), 'start')} only end the one before"
        rows.source.note(f"{told}: the last of each recording, or repeated at the same time")
    return last


def pass_points(rows: TextRows, points: Any) -> Any:
    """Leave out the rows that are points by their own words, and say so, unless they are to be events; which went."""
    if rows.source.point_length is not None:
        rows.data["offset"] = np.where(points, rows.data["onset"], rows.data["offset"])
        return np.zeros(len(points), dtype=bool)
    rows.empty += dict.fromkeys(name for name, out in zip(rows.data["recording"], points) if out)
    rows.source.note(f"{counted(int(points.sum()), 'point')} left out: they have no length; "
                     "--point-length 0.2 makes events of them", kind="points")  # fmt: skip
    rows.keep(~points, why="points")
    return points
