"""The files that paths stand for, each read by its format, and what they hold together: columns, sentences, the sum."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InvalidInput
from ..parallel import progress_bar
from ..results import counted
from ..symbols import choice
from . import labelstudio
from .registry import Format, detect, named
from .source import KINDS, Source, quoted
from .table import Rows

ON_ERROR = ("raise", "skip", "clip", "skip,clip")
FATES = ("events", "empty", "skipped", "merged")
LEFT_OUT = "; the file is left out"

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def files_of(paths: Paths) -> tuple[list[Path], list[str]]:
    """The files that paths, folders and patterns stand for, sorted; and notes on those passed over in folders."""
    items = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not items:
        raise InvalidInput("no files were given")
    found: list[Path] = []
    notes: list[str] = []
    for item in items:
        path = Path(item)
        if path.is_dir():
            inside = _inside(path)
            sounds = {p for p in inside if _is_other(p)}
            if sounds:
                notes.append(f"{path}: {counted(len(sounds), 'file')} left out: sound, pictures, archives")
            inside = [p for p in inside if p not in sounds]
            if not inside:
                raise InvalidInput(f"{path}: the folder holds no annotation files")
            found += inside
        elif path.exists():
            found.append(path)
        elif re.match(r"[a-z][a-z0-9+]+:/", str(item)):
            raise InvalidInput(
                f"{item}: an address is read by weakly evaluate (evaluate_dataset), chunk by chunk; here all rows are "
                "needed at once, so copy the recordings of a few hours to this machine and give those"
            )
        elif any(sign in str(item) for sign in "*?["):
            matches = sorted(Path(match) for match in glob.glob(str(item), recursive=True))
            if not matches:
                raise InvalidInput(f"{item}: no file matches this pattern")
            found += [p for p in matches if p.is_file()]
        else:
            raise InvalidInput(f"{item}: there is no such file")
    return list(dict.fromkeys(found)), notes


def _inside(folder: Path) -> list[Path]:
    """All files of a folder and of those in it, also through links; one that cannot be opened is an error."""

    def refuse(error: OSError) -> None:
        raise InvalidInput(f"{error.filename}: the folder cannot be opened: {error.strerror}")

    found: list[Path] = []
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True, onerror=refuse):
        real = os.path.realpath(place)
        if real in seen:  # a link that leads back
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(place) / name for name in names if not name.startswith(".") and (Path(place) / name).is_file()]
    return sorted(found)


def _is_other(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            start = file.read(16)
    except OSError:
        return False
    return any(start.startswith(magic) for magic, _ in KINDS)


def parse(
    paths: Paths,
    *,
    format: str | None,
    label: str | None,
    columns: Mapping[str, str] | None = None,
    on_error: str = "raise",
    progress: bool = False,
    answers: bool = False,
) -> tuple[list[Rows], list[str], int]:
    """What each file holds, what was noted, and how many broken rows were left out."""
    choice("on_error", on_error, ON_ERROR)
    chosen = named(format) if format is not None else None
    items = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files, notes = files_of(items)
    asked, many = {Path(item) for item in items}, len(files) > 1
    skipped = 0
    told, by_file = told_columns(columns)
    found: list[Rows] = []
    total = sum(path.stat().st_size for path in files)
    with progress_bar("reading", total, show=progress) as advance:
        for path in files:
            source = Source(path, on_error=on_error, columns=dict(told), label=label, advance=advance)
            try:
                kind = chosen or detect(source)
                found.append(read_one(kind, source, answers=answers))
                if by_file:
                    found[-1].data["annotator"] = [source.stem()] * len(found[-1])
            except InvalidInput as error:
                if "skip" not in on_error and many and chosen is None and path not in asked:
                    raise InvalidInput(f"{error}; on_error='skip' (--on-error skip) leaves the file out") from error
                if "skip" not in on_error or not many:
                    raise
                notes.append(f"{error}{LEFT_OUT}")
                skipped += 1
                continue
            sums = found[-1].account
            skipped += sums["skipped"]
            lost = sums["rows"] - sum(sums[name] for name in FATES)
            if lost:
                notes.append(f"{source.name}: {counted(lost, 'row')} of {sums['rows']} not accounted for")
    notes += _noted(found)
    _tell_apart(found, notes)
    _annotated_twice(found, notes)
    if not found:
        raise InvalidInput(f"none of the {len(files)} files could be read; the first: {notes[0] if notes else ''}")
    return found, notes, skipped


def told_columns(columns: Mapping[str, str] | None) -> tuple[dict[str, str], bool]:
    """The columns that files are read by, and whether each file is an annotator's (``annotator=@file``)."""
    told = dict(columns or {})
    return told, told.get("annotator") == "@file" and bool(told.pop("annotator"))


def _noted(found: Sequence[Rows]) -> list[str]:
    """What readers noted; what they say of several files alike stands once."""
    alike: dict[str, list[str]] = {}
    for source in (rows.source for rows in found):
        for note in source.notes:
            alike.setdefault(note.removeprefix(f"{source.name}: "), []).append(note)
    return [many[0] if len(many) == 1 else f"{counted(len(many), 'file')}, first {many[0]}" for many in alike.values()]


def _annotated_twice(found: Sequence[Rows], notes: list[str]) -> None:
    """Say that files tell of the same class in the same recordings: two annotators, or a part that stands twice."""
    first: dict[tuple[str, str], Rows] = {}
    twice: dict[str, tuple[Rows, Rows]] = {}
    for rows in found if len(found) > 1 and not any("annotator" in rows.data or rows.weak for rows in found) else ():
        for key in dict.fromkeys(zip(rows.data["recording"], rows.data["label"])):
            if first.setdefault(key, rows) is not rows:
                twice.setdefault(key[0], (first[key], rows))
    if twice:
        name, (one, other) = next(iter(twice.items()))
        notes.append(
            f"{counted(len(twice), 'recording')} (first {quoted(name, most=60)}) with the same class in several files "
            f"(first {one.source.name} and {other.source.name}), taken together; --columns annotator=@file if each "
            "file is an annotator's"
        )


def _tell_apart(found: Sequence[Rows], notes: list[str]) -> None:
    """Recordings that files are named after, where files in several folders have the same name, get their folder's."""
    owners: dict[str, list[Rows]] = {}
    for rows in found:
        if rows.source.own and {*rows.data["recording"], *rows.empty, *rows.unannotated} == {rows.source.own}:
            owners.setdefault(rows.source.own, []).append(rows)
    twice = {name: many for name, many in owners.items() if len({rows.source.path.parent for rows in many}) > 1}
    if not twice:
        return
    top = os.path.commonpath([rows.source.path.parent.resolve() for many in twice.values() for rows in many])
    for name, many in twice.items():
        for rows in many:
            full = f"{os.path.relpath(rows.source.path.parent.resolve(), top)}/{name}".removeprefix("./")
            rows.data["recording"] = [full] * len(rows)
            rows.empty, rows.unannotated = [full] * len(rows.empty), [full] * len(rows.unannotated)
            rows.lengths = dict(zip([full], rows.lengths.values()))
    first = quoted(next(iter(twice)), most=60)
    notes.append(f"{counted(len(twice), 'name')} of files in several folders (first {first}): called with the folder")


def read_one(kind: Format, source: Source, *, answers: bool = False) -> Rows:
    """The rows of one file as its format reads them; a Label Studio file as answers, if these are asked for."""
    return labelstudio.answers(source) if answers and kind.name == "labelstudio" else kind.read(source)


def account_of(found: Sequence[Rows]) -> dict[str, int]:
    """What became of every row of all files."""
    total = dict.fromkeys(("rows", *FATES), 0)
    for rows in found:
        for name, n in rows.account.items():
            total[name] += n
    return total


def sentences_of(found: Sequence[Rows]) -> tuple[str, ...]:
    """What was taken as what, once for files that are alike."""
    groups: dict[str, list[str]] = {}
    for rows in found:
        if rows.reading:
            groups.setdefault(re.sub(r"\(\d+\)", "", rows.reading), []).append(rows.reading)
    return tuple(
        many[0] if len(many) == 1 else f"{len(many)} files: {re.sub(r' [(][0-9]+[)]', '', many[0])}"
        for many in groups.values()
    )


def merged_columns(found: Sequence[Rows]) -> dict[str, Any]:
    """The columns of many files, one below the other; a column that a file does not have is empty there."""
    names = list(dict.fromkeys(name for rows in found for name in rows.data))
    merged: dict[str, Any] = {}
    for name in names:
        parts = [rows.data.get(name) for rows in found]
        arrays = [part for part in parts if isinstance(part, np.ndarray)]
        if arrays and len(arrays) == sum(part is not None for part in parts):
            if len(arrays) == len(parts):
                merged[name] = np.concatenate(arrays)
            elif arrays[0].dtype.kind == "b":
                merged[name] = np.concatenate(
                    [np.zeros(len(r), bool) if p is None else p for p, r in zip(parts, found)]
                )
            else:
                merged[name] = np.concatenate(
                    [np.full(len(r), np.nan) if p is None else p for p, r in zip(parts, found)]
                )
        else:
            column: list[Any] = []
            for part, rows in zip(parts, found):
                column += [""] * len(rows) if part is None else list(part)
            merged[name] = pd.Series(column, dtype=object)
    return merged


def starts_of(found: Sequence[Rows]) -> Iterable[tuple[Rows, int]]:
    """Each file's rows and where they begin in the table of all."""
    first = 0
    for rows in found:
        yield rows, first
        first += len(rows)
