"""The files that paths stand for, each read by its format, and what they hold together: columns, sentences, the sum."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..base.parallel import progress_bar
from ..base.results import counted
from ..base.symbols import choice, plausible_length
from . import labelstudio
from .addresses import MOST_BYTES, fetched, listings
from .dataset import (
    ALL,
    LARGE,
    MOST_ROWS,
    Dataset,
    RecordingSample,
    SampleRequest,
    beyond,
    count_rows,
    sample_rows,
    sample_tables,
    table_kind,
)
from .registry import Format, detect, named
from .source import KINDS, Source, quoted
from .table import TextRows
from .vocabulary import suited

ON_ERROR = ("raise", "skip", "clip", "skip,clip")
FATES = ("events", "empty", "skipped", "merged")
LEFT_OUT = "; the file is left out"
_MUCH_TEXT = 2**26  # bytes: less cannot hold many rows

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@contextmanager
def files_of(paths: Paths, *, progress: bool = False) -> Iterator[tuple[dict[Path, str], list[str]]]:
    """The files that paths, folders, patterns and addresses stand for, each with what messages call it; and notes.

    Of addresses these are copies, which are there as long as the block lasts.
    """
    items = listed_paths(paths)
    found: dict[Path, str] = {}
    notes: list[str] = []
    away = listings(items)
    with fetched(list(away.values()), progress=progress) as copies:
        behind = dict(zip(away, copies))
        for item in items:
            path, address = Path(item), away.get(os.fspath(item))
            if address is not None and not address.several:
                found |= behind[os.fspath(item)]
            elif address is not None or path.is_dir():
                inside = behind[os.fspath(item)] if address is not None else {each: str(each) for each in _inside(path)}
                worth = {each: name for each, name in inside.items() if not _is_other(each)}
                sounds = len(inside) - len(worth) + (address.n_others if address is not None else 0)
                if sounds:
                    notes.append(f"{item}: {counted(sounds, 'file')} left out: sound, pictures, archives")
                if not worth:
                    raise InvalidInput(f"{item}: the folder holds no annotation files")
                found |= worth
            elif path.exists():
                found[path] = str(path)
            elif any(sign in str(item) for sign in "*?["):
                matches = sorted(Path(match) for match in glob.glob(str(item), recursive=True))
                if not matches:
                    raise InvalidInput(f"{item}: no file matches this pattern")
                found |= {each: str(each) for each in matches if each.is_file()}
            else:
                raise InvalidInput(f"{item}: there is no such file")
        yield found, notes


def listed_paths(paths: Paths) -> list[str | os.PathLike[str]]:
    """The paths, one or many."""
    items = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not items:
        raise InvalidInput("no files were given")
    return items


def rows_in(files: Iterable[Path]) -> int:
    """The rows of tables; of small text files nobody asks."""
    tables = {path: path.stat().st_size for path in files if table_kind(path.name)}
    text = sum(size for path, size in tables.items() if table_kind(path.name) != "parquet") > _MUCH_TEXT
    total = 0
    for path, size in tables.items():
        if text or table_kind(path.name) == "parquet":
            with open(path, "rb") as file:
                total += count_rows(file, path.name, size)
    return total


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


class Gathered(NamedTuple):
    """What each file holds, what was noted, how many broken rows were left out, and the sample if one was asked for."""

    found: list[TextRows]
    notes: list[str]
    skipped: int
    sample: RecordingSample | None


def parse(paths: Paths, *, format: str | None, label: str | None, **how: Any) -> tuple[list[TextRows], list[str], int]:
    """What each file holds, what was noted, and how many broken rows were left out."""
    return gathered(paths, format=format, label=label, **how)[:3]


def gathered(
    paths: Paths,
    *,
    format: str | None,
    label: str | None,
    columns: Mapping[str, str] | None = None,
    on_error: str = "raise",
    progress: bool = False,
    answers: bool = False,
    asked: SampleRequest = ALL,
) -> Gathered:
    """All that files hold, or a sample of their recordings."""
    choice("on_error", on_error, ON_ERROR)
    chosen = named(format) if format is not None else None
    items = listed_paths(paths)
    told, by_file = told_columns(columns)
    given, skipped = {each for item in items for each in (os.fspath(item), str(Path(item)))}, 0
    found: list[TextRows] = []
    with opened(items, told, asked, progress=progress) as (sources, notes, sample):
        many, total = len(sources) > 1, sum(map(_size, sources))
        with progress_bar("reading", total, show=progress) as advance:
            for source in sources:
                source.on_error, source.label, source.advance = on_error, label, advance
                try:
                    kind = chosen or detect(source)
                    found.append(read_one(kind, source, answers=answers))
                    if by_file:
                        found[-1].data["annotator"] = [source.stem()] * len(found[-1])
                except InvalidInput as error:
                    if "skip" not in on_error and many and chosen is None and source.name not in given:
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
        raise InvalidInput(f"none of the {len(sources)} files could be read; the first: {notes[0] if notes else ''}")
    if isinstance(asked.sample, int) and sample is None:
        sample = sample_rows(found, asked, notes)
    return Gathered(found, notes, skipped, sample)


@contextmanager
def opened(
    items: Sequence[str | os.PathLike[str]], told: dict[str, str], asked: SampleRequest = ALL, *, progress: bool = False
) -> Iterator[tuple[list[Source], list[str], RecordingSample | None]]:
    """The files to be read, whole or with the rows of a sample only; and notes."""
    if asked.sample is not None and sum(each.n_bytes for each in listings(items).values()) > MOST_BYTES:
        dataset = Dataset.of(items, columns=told)  # read where it lies
        notes: list[str] = []
        sample: RecordingSample | None
        sources, sample = _parts(dataset, dict(zip(dataset.files, dataset.addresses)), asked, told, notes)
        yield sources, notes, sample
        return
    with files_of(items, progress=progress) as (files, notes):
        rows = rows_in(files)
        table, sample = None, None
        if isinstance(asked.sample, int) or (asked.sample == "auto" and rows > LARGE):
            table = _table(files, told, must=rows > MOST_ROWS)
        if table is not None:
            named = {os.path.abspath(path): name for path, name in files.items()}
            sources, sample = _parts(table, named, asked, told, notes)
        elif rows > MOST_ROWS:
            raise InvalidInput(f"{next(iter(files.values()))}{' ...' if len(files) > 1 else ''}: {beyond(rows)}")
        else:
            sources = [Source(path, columns=dict(told), called=name) for path, name in files.items()]
        yield sources, notes, sample


def _table(files: Mapping[Path, str], told: dict[str, str], *, must: bool) -> Dataset | None:
    """The files as one table, of which rows can be read; None where they are of another format."""
    if not all(table_kind(path.name) for path in files):
        return None
    try:
        return Dataset.of(list(files), columns=told)
    except InvalidInput:
        if must:
            raise
        return None


def _parts(
    dataset: Dataset, names: Mapping[str, str], asked: SampleRequest, told: dict[str, str], notes: list[str]
) -> tuple[list[Source], RecordingSample]:
    """The files of a data set with the rows of a sample only."""
    sample, parts = sample_tables(dataset, asked, notes)
    recording = str(dataset.name("recording"))
    # A few rows may not tell what many told.
    columns = told if suited([recording], "recording") else {"recording": recording, **told}
    sources = []
    for path in sorted(parts):
        sources.append(Source(path, columns=dict(columns), called=f"{names[str(path)]} (sample)"))
        sources[-1].data = parts[path]
    return sources, sample


def _size(source: Source) -> int:
    return len(source.data) if "data" in vars(source) else source.path.stat().st_size


def told_columns(columns: Mapping[str, str] | None) -> tuple[dict[str, str], bool]:
    """The columns that files are read by, and whether each file is an annotator's (``annotator=@file``)."""
    told = dict(columns or {})
    return told, told.get("annotator") == "@file" and bool(told.pop("annotator"))


def _noted(found: Sequence[TextRows]) -> list[str]:
    """What readers noted; what they say of several files alike stands once."""
    alike: dict[str, list[str]] = {}
    for source in (rows.source for rows in found):
        for note in source.notes:
            alike.setdefault(note.removeprefix(f"{source.name}: "), []).append(note)
    return [many[0] if len(many) == 1 else f"{counted(len(many), 'file')}, first {many[0]}" for many in alike.values()]


def _annotated_twice(found: Sequence[TextRows], notes: list[str]) -> None:
    """Say that files tell of the same class in the same recordings: two annotators, or a part that stands twice."""
    first: dict[tuple[str, str], TextRows] = {}
    twice: dict[str, tuple[TextRows, TextRows]] = {}
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


def _tell_apart(found: Sequence[TextRows], notes: list[str]) -> None:
    """Recordings that files are named after, where files in several folders have the same name, get their folder's."""
    owners: dict[str, list[TextRows]] = {}
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


def read_one(kind: Format, source: Source, *, answers: bool = False) -> TextRows:
    """The rows of one file as its format reads them; a Label Studio file as answers, if these are asked for."""
    rows = labelstudio.answers(source) if answers and kind.name == "labelstudio" else kind.read(source)
    if not kind.binary:
        lines = [*rows.places, *rows.blank, *set().union(*rows.merged.values())]
        source.ended(lines, rows.data["label"])
    for name, seconds in rows.lengths.items():
        plausible_length(f"{source.name}: the recording {quoted(name)}", seconds)
    return rows


def account_of(found: Sequence[TextRows]) -> dict[str, int]:
    """What became of every row of all files."""
    total = dict.fromkeys(("rows", *FATES), 0)
    for rows in found:
        for name, n in rows.account.items():
            total[name] += n
    return total


def sentences_of(found: Sequence[TextRows]) -> tuple[str, ...]:
    """What was taken as what, once for files that are alike."""
    groups: dict[str, list[str]] = {}
    for rows in found:
        if rows.reading:
            groups.setdefault(re.sub(r"\(\d+\)", "", rows.reading), []).append(rows.reading)
    return tuple(
        many[0] if len(many) == 1 else f"{len(many)} files: {re.sub(r' [(][0-9]+[)]', '', many[0])}"
        for many in groups.values()
    )


def merged_columns(found: Sequence[TextRows]) -> dict[str, Any]:
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


def starts_of(found: Sequence[TextRows]) -> Iterable[tuple[TextRows, int]]:
    """Each file's rows and where they begin in the table of all."""
    first = 0
    for rows in found:
        yield rows, first
        first += len(rows)
