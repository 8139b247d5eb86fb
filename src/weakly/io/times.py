"""Texts as seconds: plain numbers, hh:mm:ss, dates, sample numbers, milliseconds; and lengths that add up exactly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .source import Source, quoted

#: What stands in tables where nothing is known.
MISSING = frozenset(("", "n/a", "na", "nan", "null", "none", "-", "--", "nat", "<na>", "#n/a", "n.a.", "."))
#: Units that a column's name may end with, as seconds; samples and frames need a rate.
UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanoseconds"), 1e-9),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600.0),
    **dict.fromkeys(("sample", "samples", "samp", "frame", "frames"), np.nan),
}
_CLOCK = re.compile(r"^(?:(\d+):)?(\d{1,3}):(\d{1,2}(?:[.,]\d+)?)$")
_DATE = re.compile(r"^\d{4}[-/]\d{1,2}[-/]\d{1,2}[T ]\d{1,2}:\d{2}")
_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d{2})-?(\d{2})-?(\d{2})[_T\- ]?(\d{2})[-:.]?(\d{2})[-:.]?(\d{2})(?!\d)")


def is_number(text: str) -> bool:
    """Whether a field holds a finite number."""
    try:
        return bool(np.isfinite(float(text))) and "_" not in text
    except (ValueError, OverflowError):
        return False


def kind_of(values: Sequence[Any]) -> str:
    """What a column holds: "number", "clock", "date", "text", or "" where there is nothing in it."""
    if isinstance(values, np.ndarray):
        return {"M": "date", "m": "clock"}.get(values.dtype.kind, "number")
    kinds: dict[str, int] = {}
    for value in values[:2000] if len(values) > 2000 else values:
        text = value.strip()
        if text.lower() in MISSING:
            continue
        kind = "number" if is_number(text) or is_number(text.replace(",", ".")) else "text"
        if kind == "text":
            kind = "clock" if _CLOCK.match(text) else "date" if _DATE.match(text) else "text"
        kinds[kind] = kinds.get(kind, 0) + 1
    return max(kinds, key=lambda kind: kinds[kind]) if kinds else ""


def _clock(text: str) -> float:
    match = _CLOCK.match(text)
    if match is None:
        raise ValueError
    hours, minutes, seconds = match.groups()
    return int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))


def dates(values: Sequence[Any]) -> NDArray[np.float64]:
    """Dates as seconds since 1970, NaN where there is none; a time zone is taken into account where it is written."""
    found = pd.to_datetime(pd.Series(values), errors="coerce", utc=True, format="ISO8601")
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


def numbers(
    source: Source, values: Sequence[Any], places: Sequence[int | str], column: str, *, scale: float = 1.0
) -> NDArray[np.float64]:
    """Texts as float64 seconds; empty is NaN; hh:mm:ss is read as such; what is no number is a broken row.

    Rows that hold no number become infinite, so that the check of the times, which knows NaN as "empty", drops them.
    """
    if isinstance(values, np.ndarray):
        found = values.astype(np.float64) if values.dtype.kind != "m" else values / np.timedelta64(1, "s")
        return found * scale if scale != 1.0 else found
    found = _quick(values)
    if found is not None:
        return found * scale if scale != 1.0 else found
    comma = source.delimiter == ";" and kind_of(values) == "number"  # 1,5 in a table that semicolons separate
    found = np.empty(len(values))
    clocks = 0
    for i, value in enumerate(values):
        text = value.strip()
        try:
            if text.lower() in MISSING:
                found[i] = np.nan
                continue
            if "_" in text:
                raise ValueError
            if ":" in text:
                found[i], clocks = _clock(text) / scale, clocks + 1
            else:
                found[i] = float(text.replace(",", ".") if comma else text)
            broken = not np.isfinite(found[i])
        except (ValueError, OverflowError):
            broken = True
        if broken:
            source.fail(places[i], column, f"{quoted(value)} is not a number{_slip(text)}")
            found[i] = np.inf
    if clocks:
        source.clocks.add(column)
    return found * scale if scale != 1.0 else found


def _quick(values: Sequence[str]) -> NDArray[np.float64] | None:
    """The numbers of a column of nothing but numbers and empty fields, all at once; None for any other."""
    together = "".join(values)
    # Python's own float takes "1_0", "nan" and "infinity"; a file's author hardly means them.
    if any(sign in together for sign in "_nN:"):
        return None
    try:
        found = np.array([value or "nan" for value in values] if "" in values else values, dtype=object)
        found = found.astype(np.float64)
    except ValueError:
        return None
    return None if np.isinf(found).any() else found


def _slip(text: str) -> str:
    if text.count(",") == 1 and text.replace(",", "").isdigit():
        return "; a decimal comma?"
    if ":" in text:
        return "; a time of day? times are seconds or hh:mm:ss"
    if text.startswith("#"):
        return "; a spreadsheet error?"
    return ""


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
    found: NDArray[np.float64] = length
    return found
