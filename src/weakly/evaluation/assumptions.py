r"""Do these annotations satisfy what the closed forms assume? Events a segment apart, uniform offsets, whole events."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInput
from ..events import Events, Timelines
from ..results import plain, word
from ..symbols import check

_FEW = 0.05  # a share of events below this is not worth a warning
_ALPHA = 0.01
_TESTED = 12  # segment lengths at which offsets are tested: neighbours tell nothing new


@dataclass(frozen=True)
class Assumption:
    """One assumption on one class: ``share`` of its events break it; for offsets Kuiper's V and its ``p_value``."""

    name: str
    label: str
    segment_length: float
    n_events: int
    share: float
    p_value: float
    broken: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


def kuiper(values: ArrayLike) -> tuple[float, float]:
    r"""Kuiper's statistic V of values in [0, 1) against the uniform law on the circle, and its p-value.

    .. math:: V = D^+ + D^-, \quad p = 2 \sum_j (4 j^2 \lambda^2 - 1) e^{-2 j^2 \lambda^2}, \quad
              \lambda = (\sqrt n + 0.155 + 0.24/\sqrt n) V

    It does not depend on where the circle is cut, as it must not: a grid has no first offset.

    >>> round(kuiper([0.0, 0.25, 0.5, 0.75])[0], 6)
    0.25
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    n = len(x)
    if n == 0:
        return math.nan, math.nan
    if not (x[0] >= 0 and x[-1] <= 1):
        raise InvalidInput(f"values must each be a number in [0, 1], got {x[0]:g} to {x[-1]:g}")
    rank = np.arange(1, n + 1)
    statistic = float((rank / n - x).max() + (x - (rank - 1) / n).max())
    return statistic, kuiper_p(statistic, n)


def kuiper_p(statistic: float, n: int) -> float:
    """The chance of a Kuiper statistic at least this large if the n values are uniform."""
    scaled = (math.sqrt(n) + 0.155 + 0.24 / math.sqrt(n)) * statistic
    if scaled < 0.4:  # the series needs many terms here, and its sum is 1 to six digits
        return 1.0
    j = np.arange(1, 101)
    terms = 2 * (4 * j**2 * scaled**2 - 1) * np.exp(-2 * j**2 * scaled**2)
    return float(np.clip(terms.sum(), 0.0, 1.0))


def _gaps(timelines: Timelines) -> NDArray[np.float64]:
    """The silence before and after each event within its recording, the shorter of the two; infinite if it is alone."""
    a, b = timelines.bounds[:, 0], timelines.bounds[:, 1]
    owner = timelines.owner
    gap = np.where(owner[1:] == owner[:-1], a[1:] - b[:-1], np.inf)
    return np.minimum(np.append(gap, np.inf), np.append(np.inf, gap)) if len(a) else np.empty(0)


def check_assumptions(events: Events, *, segment_length: Any, label: str | None = None) -> list[Assumption]:
    """How far every class keeps the assumptions of the closed forms, at the given segment lengths.

    ``close``: events with less than a segment between them (Theorem 1 sees one event at a time). ``offsets``: onsets
    modulo the segment length are not uniform (Kuiper's test, level 0.01 over all tests); without the events that a
    recording's start cuts, and at twelve of the lengths if there are more.
    ``censored``: events cut by a recording's start or end, whose length is not known.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"recording": "a", "onset": [0.0, 3.0], "offset": [2.5, 4.0], "label": "dog"})
    >>> events = Events.from_frame(frame, recording_length=10.0)
    >>> [(one.name, one.share) for one in check_assumptions(events, segment_length=1.0) if one.broken]
    [('close', 1.0), ('censored', 0.5)]
    """
    widths = np.unique(np.atleast_1d(check("segment_length", segment_length)))
    found = []
    classes = events.by_label(label)
    known = bool(events.recordings["length"].notna().all())
    tested = set(widths[np.unique(np.linspace(0, len(widths) - 1, _TESTED).astype(int))].tolist())
    tests = max(1, len(classes) * len(tested))
    for name, timelines in classes.items():
        a, n = timelines.bounds[:, 0], len(timelines.bounds)
        if n == 0:
            continue
        gaps = _gaps(timelines)
        for width in widths:
            close = float((gaps < width).mean())
            found.append(Assumption("close", name, float(width), n, close, math.nan, close > _FEW))
            if float(width) not in tested:
                continue
            free = a[a > 0]
            far, p = kuiper((free % width) / width) if len(free) >= 5 else (math.nan, math.nan)
            # Times rounded to a millisecond are never uniform to a million events; what matters is by how much.
            broken = p < _ALPHA / tests and far > _FEW
            found.append(Assumption("offsets", name, float(width), len(free), far, p, broken))
        share = float(timelines.cut(ends_known=known).mean())
        found.append(Assumption("censored", name, math.nan, n, share, math.nan, share > _FEW))
    return found


def sentences(found: list[Assumption]) -> list[str]:
    """One sentence per assumption that is broken, with the class that breaks it most."""
    said = []
    words = {
        "close": "events of {classes} are closer together than a segment ({share} of {label} at {width:g} s): formulas "
        "for one event at a time do not hold; the numbers of an evaluation do",
        "offsets": "onsets of {classes} are not spread evenly over the segments ({label} at {width:g} s: Kuiper's "
        "p = {p:.2g}): where the grid starts matters, formulas assume that it does not",
        "censored": "events of {classes} are cut by the start or end of a recording ({share} of {label}): their "
        "lengths are censored",
    }
    for name, text in words.items():
        broken = [one for one in found if one.name == name and one.broken]
        if not broken:
            continue
        worst = (
            min(broken, key=lambda one: one.p_value) if name == "offsets" else max(broken, key=lambda one: one.share)
        )
        labels = sorted({one.label for one in broken})
        total = len({one.label for one in found if one.name == name})
        classes = word(labels[0]) if total == 1 else f"{len(labels)} of {total} classes"
        share = f"{100 * worst.share:.0f} %" if not math.isnan(worst.share) else ""
        said.append(
            text.format(
                classes=classes, share=share, label=word(worst.label), width=worst.segment_length, p=worst.p_value
            )
        )
    return said
