"""How long recordings are: what files say, what the caller says, and whose names are almost the same."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..results import counted
from ..symbols import check
from .registry import is_lengths, is_number
from .source import Source, quoted
from .table import Rows


def read_lengths(path: str | Path) -> dict[str, float]:
    """The lengths in seconds of the recordings that a two-column table lists.

    With or without a line of names; tabs or commas.
    """
    source = Source(Path(path))
    if not is_lengths(source):
        raise InvalidInput(
            f"{source.name}: recording_length must be seconds, or a file with the columns filename and duration"
        )
    found: dict[str, float] = {}
    for line, text in source.lines():
        name, _, value = text.replace("\t", ",").partition(",")
        if not is_number(value) and not found:
            continue
        if not is_number(value) or not float(value) > 0:
            raise InvalidInput(
                f"{source.name}, line {line}, column 'duration': {quoted(value)} is not a length in seconds"
            )
        found[name.strip()] = float(value)
    return found


def agreed_lengths(found: Sequence[Rows], notes: list[str]) -> dict[str, float]:
    """What the files say of lengths; where they disagree, nothing is sure."""
    lengths: dict[str, float] = {}
    clash: set[str] = set()
    for rows in found:
        for name, length in rows.lengths.items():
            if name in lengths and abs(lengths[name] - length) > 1e-6 * length:
                clash.add(name)
            lengths.setdefault(name, length)
    if clash:
        notes.append(
            f"files disagree on the length of {len(clash)} recordings (first {quoted(min(clash))}); "
            "it is taken as unknown"
        )
    return {name: length for name, length in lengths.items() if name not in clash}


def name_key(name: str) -> str:
    """What stays of a recording's name without its folder, ending and the difference of space and underscore."""
    base = re.split(r"[/\\]", name)[-1]
    return (
        re.sub(r"\.(wav|flac|mp3|ogg|csv|txt|aif|aiff|m4a)$", "", base, flags=re.IGNORECASE)
        .replace(" ", "_")
        .strip("_")
    )


def match_lengths(given: Mapping[str, float], names: Iterable[str], notes: list[str]) -> dict[str, float]:
    """The given lengths under the names of the recordings, also where these differ by folder, ending, space or a Y."""
    given = {str(name): float(length) for name, length in given.items()}
    keys: dict[str, list[str]] = {}
    for name in given:
        keys.setdefault(name_key(name), []).append(name)
    taken: dict[str, float] = {}
    used: set[str] = set()
    near: list[str] = []
    for name in names:
        if name in given:
            taken[name] = given[name]
            used.add(name)
            continue
        key = name_key(name)
        options = keys.get(key) or keys.get("Y" + key) or keys.get(key.removeprefix("Y")) or []
        if len(options) == 1 and options[0] not in used:
            taken[name] = given[options[0]]
            used.add(options[0])
            near.append(name)
    if near:
        notes.append(
            f"{counted(len(near), 'recording')} called almost as in recording_length "
            f"(first {quoted(near[0], most=60)}); taken for the same"
        )
    taken.update({name: length for name, length in given.items() if name not in used})
    return taken


def asked_length(value: Any) -> float | Mapping[str, float] | None:
    if value is None or isinstance(value, Mapping):
        return value
    if isinstance(value, (str, os.PathLike)):
        try:
            return float(check("recording_length", float(os.fspath(value))))
        except ValueError as error:
            if isinstance(error, InvalidInput):
                raise
            return read_lengths(os.fspath(value))
    return float(check("recording_length", value))
