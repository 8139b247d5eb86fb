"""RTTM: ``SPEAKER file channel onset duration <NA> <NA> label <NA> <NA>``, separated by spaces."""

from __future__ import annotations

import re
from pathlib import Path

from ..events import Events
from .output import count, duration, exact, inexact, losses, save, texts_of
from .registry import Format, is_number
from .source import Source, quoted
from .table import Rows, ending, numbers

_OTHERS = {
    "SPKR-INFO",
    "LEXEME",
    "NON-LEX",
    "NON-SPEECH",
    "FILLER",
    "EDIT",
    "SU",
    "IP",
    "CB",
    "A/P",
    "NOSCORE",
    "NO_RT_METADATA",
    "SEGMENT",
}


def sniff(source: Source) -> bool:
    """Lines of at least eight words that begin with SPEAKER."""
    rows = [line.split() for line in source.head if not line.startswith(";;")]
    return bool(rows) and rows[0][0] in ("SPEAKER", "SPKR-INFO") and all(
        row[0] in _OTHERS or (row[0] == "SPEAKER" and len(row) >= 8 and is_number(row[3])) for row in rows[:20]
    )  # fmt: skip


def read(source: Source) -> Rows:
    """The turns; lines of other types hold no turns and are passed over."""
    kept = []
    for line, text in source.lines():
        fields = text.split()
        if text.startswith(";;") or fields[0] in _OTHERS:
            continue
        if fields[0] != "SPEAKER" or not 8 <= len(fields) <= 10:
            source.fail(
                line, "", f"a turn has 8 to 10 words, the first SPEAKER; got {len(fields)}, {quoted(fields[0])}"
            )
            continue
        kept.append((line, fields))
    places: list[int | str] = [line for line, _ in kept]
    onset = numbers(source, [fields[3] for _, fields in kept], places, "onset")
    length = numbers(source, [fields[4] for _, fields in kept], places, "duration")
    data = {
        "recording": [fields[1] for _, fields in kept],
        "onset": onset,
        "offset": ending(onset, length),
        "label": [fields[7] for _, fields in kept],
    }
    score = ["" if len(fields) < 9 or fields[8] == "<NA>" else fields[8] for _, fields in kept]
    if any(score):
        data["confidence"] = numbers(source, score, places, "confidence")
    return Rows(source, data, places).checked()


def _word(value: str) -> str:
    return re.sub(r"\s+", "_", value) or "<NA>"


def write(events: Events, path: Path) -> list[str]:
    """One line per event; words cannot hold spaces, so these become underscores."""
    frame = events.to_frame()
    found = losses(events, empty=False, extra=("confidence",)) + inexact(frame["onset"], frame["offset"])
    values = {*frame["recording"], *frame["label"]}
    changed = sorted(value for value in values if _word(value) != value)
    if changed:
        found.append(f"spaces in {count(len(changed), 'name')} (first {changed[0][:40]!r}), written as underscores")
    words = {value: _word(value) for value in values}
    lengths = exact(duration(frame["onset"], frame["offset"]))
    score = [text or "<NA>" for text in texts_of(frame, "confidence")]
    rows = zip(frame["recording"], exact(frame["onset"]), lengths, frame["label"], score)
    save(path, (f"SPEAKER {words[r]} 1 {a} {d} <NA> <NA> {words[c]} {s} <NA>\n" for r, a, d, c, s in rows))
    return found


HERE = (Format("rttm", "RTTM (SPEAKER file 1 onset duration ... label)", sniff, read, write, endings=(".rttm",)),)
