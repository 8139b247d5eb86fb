"""The few-shot bioacoustics table: Audiofilename, Starttime, Endtime, a column per class (or Q) with POS, NEG, UNK."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ..events import Answers, Events
from .output import count, delimited, exact, losses, save, texts_of
from .registry import Format
from .source import Source, quoted
from .table import Rows, Table

_WORDS = {"POS": 1.0, "NEG": 0.0, "UNK": np.nan}


_FIRST = re.compile(r'"?audiofilename"?([,;\t])"?starttime"?\1"?endtime"?\1', re.IGNORECASE)


def _delimiter(source: Source) -> str | None:
    """What follows the first names: the classes, which are names of columns here, may hold any character."""
    found = _FIRST.match(source.head[0]) if source.head else None
    return found[1] if found else None


def sniff(source: Source) -> bool:
    """The three names that every such table has."""
    named = {"audiofilename", "starttime", "endtime"} <= source.names and len(source.header) > 3
    return named or _delimiter(source) is not None


def read(source: Source) -> Rows:
    """One answer per row and class: POS present, NEG absent, UNK unsure; reading events keeps the POS."""
    table = Table.read(source, delimiter=_delimiter(source))
    file, start, end = table.need("Audiofilename"), table.need("Starttime"), table.need("Endtime")
    onset, offset = table.numbers(start), table.numbers(end)
    classes = [name for name in table.names if name not in (file, start, end)]
    n, k = len(table), len(classes)
    present = np.full((n, k), np.inf)
    for j, name in enumerate(classes):
        for i, value in enumerate(table.columns[name]):
            known = _WORDS.get(value.strip().upper())
            if known is None:
                source.fail(table.lines[i], name, f"{quoted(value)} must be POS, NEG or UNK")
            else:
                present[i, j] = known
    row = np.repeat(np.arange(n), k)
    data = {
        "recording": [table.columns[file][i] for i in row],
        "onset": onset[row],
        "offset": offset[row],
        "label": classes * n,
        "present": present.ravel(),
    }
    rows = Rows(source, data, [table.lines[i] for i in row.tolist()], bounds=True)
    rows.empty = list(dict.fromkeys(table.columns[file]))
    rows.keep(~np.isinf(present.ravel()))
    return rows.checked()


def write(events: Events, path: Path) -> list[str]:
    """Each event is a row, POS for its class and NEG for the others."""
    frame = events.to_frame()
    labels = [str(label) for label in frame["label"].drop_duplicates()]
    columns = [texts_of(frame, "recording"), exact(frame["onset"]), exact(frame["offset"])]
    columns += [["POS" if value == label else "NEG" for value in frame["label"]] for label in labels]
    save(path, delimited(columns, delimiter=",", names=[*_NAMES, *labels]))
    found = losses(events, empty=False)
    if any(label != label.strip() or label in _NAMES for label in labels):
        found.append("labels that begin or end with a space, or are called like a column")
    return found


def write_answers(answers: Answers, path: Path) -> list[str]:
    """Each segment is a row; POS present, NEG absent, UNK unsure or not asked."""
    frame = answers.to_frame()
    labels = [str(label) for label in frame["label"].drop_duplicates()]
    said: dict[tuple[str, str, str], dict[str, str]] = {}
    keys = zip(texts_of(frame, "recording"), texts_of(frame, "onset"), texts_of(frame, "offset"))
    twice = 0
    for key, label, value in zip(keys, frame["label"], frame["present"]):
        row = said.setdefault(key, {})
        twice += label in row
        row[label] = "POS" if value == 1 else "NEG" if value == 0 else "UNK"
    columns = [list(column) for column in zip(*said)] if said else [[], [], []]
    columns += [[row.get(label, "UNK") for row in said.values()] for label in labels]
    save(path, delimited(columns, delimiter=",", names=[*_NAMES, *labels]))
    found = []
    if twice:
        found.append(f"{count(twice, 'answer')} about a segment and label that another annotator also answered")
    gone = [name for name in ("annotator", "seconds", "query", *frame.columns[8:]) if any(texts_of(frame, name))]
    if gone:
        found.append(f"the columns {', '.join(map(str, gone))}")
    silent = [name for name in answers.recordings.index if name not in set(frame["recording"])]
    if silent:
        found.append(f"{count(len(silent), 'recording')} without answers")
    return found


_NAMES = ("Audiofilename", "Starttime", "Endtime")

HERE = (
    Format("fewshot", "few-shot bioacoustics table (Audiofilename, Starttime, Endtime, classes with POS/NEG/UNK)",
           sniff, read, write, write_answers),
)  # fmt: skip
