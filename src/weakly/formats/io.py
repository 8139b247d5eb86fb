"""Read, read_answers and write: files in, events or answers out, and back."""

from __future__ import annotations

import glob
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import AssumptionWarning, InvalidInput
from ..events import Answers, Events, Reading, late_words
from ..parallel import progress_bar
from ..results import counted
from ..symbols import choice
from . import labelstudio
from .lengths import agreed_lengths, asked_length, match_lengths, read_examined
from .output import as_answers, as_events
from .registry import FORMATS, Format, detect, named
from .source import KINDS, Source, quoted
from .table import Rows

ON_ERROR = ("raise", "skip", "clip", "skip,clip")
FATES = ("events", "empty", "skipped", "merged")
_LEFT_OUT = "; the file is left out"

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
    columns: Mapping[str, str] | None,
    on_error: str,
    progress: bool,
    answers: bool = False,
) -> tuple[list[Rows], list[str], int]:
    """What each file holds, what was noted, and how many broken rows were left out."""
    choice("on_error", on_error, ON_ERROR)
    chosen = named(format) if format is not None else None
    items = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files, notes = files_of(items)
    asked, many = {Path(item) for item in items}, len(files) > 1
    skipped = 0
    found: list[Rows] = []
    total = sum(path.stat().st_size for path in files)
    with progress_bar("reading", total, show=progress) as advance:
        for path in files:
            source = Source(path, on_error=on_error, columns=dict(columns or {}), label=label, advance=advance)
            try:
                kind = chosen or detect(source)
                found.append(read_one(kind, source, answers=answers))
            except InvalidInput as error:
                if "skip" not in on_error and many and chosen is None and path not in asked:
                    raise InvalidInput(f"{error}; on_error='skip' (--on-error skip) leaves the file out") from error
                if "skip" not in on_error or not many:
                    raise
                notes.append(f"{error}{_LEFT_OUT}")
                skipped += 1
                continue
            sums = found[-1].account
            skipped += sums["skipped"]
            notes += source.notes
            lost = sums["rows"] - sum(sums[name] for name in FATES)
            if lost:
                notes.append(f"{source.name}: {counted(lost, 'row')} of {sums['rows']} not accounted for")
    _tell_apart(found, notes)
    if not found:
        raise InvalidInput(f"none of the {len(files)} files could be read; the first: {notes[0] if notes else ''}")
    return found, notes, skipped


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


def _account(found: Sequence[Rows], more: Mapping[str, int]) -> dict[str, int]:
    """What became of every row of all files."""
    total = dict.fromkeys(("rows", *FATES), 0)
    for rows in found:
        for name, n in rows.account.items():
            total[name] += n
    return {**total, **more}


def _sentences(found: Sequence[Rows]) -> tuple[str, ...]:
    """What was taken as what, once for files that are alike."""
    groups: dict[str, list[str]] = {}
    for rows in found:
        if rows.reading:
            groups.setdefault(re.sub(r"\(\d+\)", "", rows.reading), []).append(rows.reading)
    return tuple(
        many[0] if len(many) == 1 else f"{len(many)} files: {re.sub(r' [(][0-9]+[)]', '', many[0])}"
        for many in groups.values()
    )


def _merge(found: Sequence[Rows]) -> dict[str, Any]:
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


def _known(found: Sequence[Rows], asked: Any, notes: list[str], on_error: str) -> tuple[Any, list[str], list[str]]:
    """The lengths, the empty recordings and those not annotated, over all files."""
    empty = list(dict.fromkeys(name for rows in found for name in rows.empty))
    idle = list(dict.fromkeys(name for rows in found for name in rows.unannotated))
    asked = asked_length(asked, on_error)
    if asked is None:
        return agreed_lengths(found, notes), empty, idle
    if isinstance(asked, Mapping):
        names = list(dict.fromkeys([*(n for rows in found for n in rows.data["recording"]), *empty, *idle]))
        return agreed_lengths(found, notes) | match_lengths(asked, names, notes), empty, idle
    return asked, empty, idle


def _late(
    table: pd.DataFrame, lengths: Any, on_error: str, notes: list[str], found: Sequence[Rows]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """The rows within their recordings: those past the end raise, are left out (skip) or are cut there (clip)."""
    if lengths is None or not len(table):
        return table, {}
    known = table["recording"].map(lengths) if isinstance(lengths, Mapping) else np.full(len(table), lengths)
    onset, offset, limit = table["onset"].to_numpy(), table["offset"].to_numpy(), np.asarray(known, dtype=np.float64)
    late = offset > limit * (1 + 1e-9)
    if not late.any():
        return table, {}
    words = late_words(offset[late], limit[late])
    if on_error == "raise":
        row = int(np.flatnonzero(late)[0])
        rows, place = next((rows, rows.places[row - k]) for rows, k in _starts(found) if row < k + len(rows))
        if not words.endswith("?"):
            words += (
                "; a longer recording_length holds them, on_error='clip' (--on-error clip) cuts them at the end, "
                "'skip' (--on-error skip) leaves them out"
            )
        raise InvalidInput(
            f"{rows.source.at(place)}: the event in {quoted(table['recording'][row])} ends at {offset[row]:g} s, "
            f"after the recording's {limit[row]:g} s{words}"
        )
    if on_error == "skip":
        notes.append(f"{counted(int(late.sum()), 'event')} past the end of the recording left out{words}")
        return table[~late].reset_index(drop=True), {"late": int(late.sum())}
    behind = late & (onset >= limit)
    cut = late & ~behind
    table = table.assign(offset=np.where(cut, limit, offset))[~behind].reset_index(drop=True)
    if cut.any():
        notes.append(f"{counted(int(cut.sum()), 'event')} cut at the end of the recording{words}")
    if behind.any():
        notes.append(f"{counted(int(behind.sum()), 'event')} left out that begin after the end of the recording")
    return table, {"clipped": int(cut.sum()), "late": int(behind.sum())}


def _starts(found: Sequence[Rows]) -> Iterable[tuple[Rows, int]]:
    """Each file's rows and where they begin in the table of all."""
    first = 0
    for rows in found:
        yield rows, first
        first += len(rows)


def _tell(notes: Iterable[str], skipped: int) -> None:
    skipped -= sum(note.endswith(_LEFT_OUT) for note in notes)  # a note of its own tells of each file
    for note in notes:
        warnings.warn(note, AssumptionWarning, stacklevel=4)
    if skipped:
        warnings.warn(f"{counted(skipped, 'broken row')} skipped", AssumptionWarning, stacklevel=4)


def read(
    path: Paths,
    format: str | None = None,
    label: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    recording_length: float | Mapping[str, float] | str | os.PathLike[str] | None = None,
    on_error: str = "raise",
    where: Mapping[str, str] | None = None,
    annotator: str | Sequence[str] | None = None,
    merge: Mapping[str, Sequence[str]] | None = None,
    examined: pd.DataFrame | str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Events:
    """The events of annotation files, whatever tool wrote them; recordings without events are kept.

    Parameters
    ----------
    path : a file, a folder (all annotation files in it), a pattern such as ``tables/*.txt``, or a list of these.
    format : the name of the format, one of ``weakly.formats.FORMATS``; left out, it is found by looking into each file.
    label : only the events of this class; in files that name no class, the class they are of.
    columns : which column is which, for example ``{"onset": "start", "length": "duration", "label": "Species"}``; the
        recording may be two columns (``"subject+session"``) or the file's own name (``"@file"``); ``rate`` is a column
        or a number, where times are sample numbers; ``origin`` the start of the recording, where they are dates.
    recording_length : seconds for all recordings, or for each by name, or a file with columns filename and duration.
    on_error : "raise" stops at the first broken row and names its file, line and column; "skip" leaves broken rows out
        and counts them in ``events.skipped``; "clip" cuts events that end after their recordings, and counts them;
        "skip,clip" does both.
    where, annotator, merge : as for :meth:`Events.select`: values of other columns, whose rows, classes to be joined.
    examined : the stretches that were examined (a UEM file, a table, or a frame), kept as ``events.examined``.
    progress : show a bar on a terminal when it takes long.

    Notes
    -----
    Files of weak labels become events that span their segments, with the column ``weak`` set; what was called absent
    or unsure is in :func:`read_answers`. Events without a length (points) are broken rows. ``events.reading`` says in
    one line what was taken as what, ``events.account`` what became of every row; what the reader understood that a file
    does not say outright is in ``events.notes`` and given as an AssumptionWarning.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.tsv"
    ...     _ = path.write_text("filename\\tonset\\toffset\\tevent_label\\na.wav\\t1\\t2.5\\tDog\\nb.wav\\t\\t\\t\\n")
    ...     read(path)
    <Events: 1 events, 1 labels, 2 recordings>
    """
    found, notes, skipped = parse(
        path, format=format, label=label, columns=columns, on_error=on_error, progress=progress
    )
    lengths, empty, idle = _known(found, recording_length, notes, on_error)
    account = _account(found, {})
    for rows in found:
        if rows.weak:
            _spans(rows, lengths, empty, notes)
        else:
            account["merged"] += _boxes_only(rows, where, empty, notes)
    account["events"] = sum(len(set(rows.places)) for rows in found)
    account["merged"] += account["rows"] - sum(account[name] for name in FATES)
    table = pd.DataFrame(_merge(found))
    if "weak" in table:
        table["weak"] = table["weak"].map(lambda value: value is True or value == "True" or value == 1).astype(bool)
    table, late = _late(table, lengths, on_error, notes, found)
    touching_frames(table, notes)
    names = ", ".join(str(rows.source.path) for rows in found[:3]) + (", ..." if len(found) > 3 else "")
    events = Events.from_frame(table, recording_length=lengths, recordings=empty, unannotated=idle, source=names)
    account["skipped"], account["events"] = (
        account["skipped"] + late.get("late", 0),
        account["events"] - late.get("late", 0),
    )
    events.source = Reading(_sentences(found), tuple(notes), skipped + late.get("late", 0), {**account, **late})
    if examined is not None:
        events.examined = examined if isinstance(examined, pd.DataFrame) else read_examined(os.fspath(examined))
    _tell(notes, skipped)
    chosen: Events = _selected(events, label, found, annotator=annotator, where=where, merge=merge)
    return chosen


def _boxes_only(rows: Rows, where: Mapping[str, str] | None, empty: list[str], notes: list[str]) -> int:
    """Leave out rows about whole files that stand among boxes, unless they are chosen; how many."""
    weak = rows.data.get("weak")
    if weak is None or weak.all() or not weak.any() or any(name in rows.data for name in where or {}):
        return 0
    n = len({place for place, yes in zip(rows.places, weak) if yes})
    empty += list(dict.fromkeys(name for name, yes in zip(rows.data["recording"], weak) if yes))
    rows.keep(~weak)
    del rows.data["weak"]
    notes.append(
        f"{rows.source.name}: {counted(n, 'row')} about whole files among boxes left out; --where is_box=0 reads them"
    )
    return n


def touching_frames(table: pd.DataFrame, notes: list[str]) -> None:
    """Say that equally long events that touch are taken as one: they may be frames."""
    if len(table) < 4 or "weak" in table:
        return
    length = (table["offset"] - table["onset"]).round(6)
    if length.nunique() > 2:
        return
    ordered = table.sort_values(["recording", "label", "onset"], kind="stable")
    same = (ordered["recording"].to_numpy()[1:] == ordered["recording"].to_numpy()[:-1]) & (
        ordered["label"].to_numpy()[1:] == ordered["label"].to_numpy()[:-1]
    )
    touch = same & (np.abs(ordered["onset"].to_numpy()[1:] - ordered["offset"].to_numpy()[:-1]) < 1e-6)
    if touch.sum() > 0.2 * len(table):
        notes.append(
            f"{int(touch.sum())} of {len(table)} events begin where one of the same class ends, all "
            f"{length.iloc[0]:g} s long (frames?): computations join them to one event"
        )


def _selected(result: Any, label: str | None, found: Sequence[Rows], **more: Any) -> Any:
    """Only what was asked for; where the files name no class, all of them are of the one that was."""
    if label is not None and not len(result) and not result.labels:
        label = None
    chosen = {name: value for name, value in more.items() if value}
    if "where" in chosen:  # by the file's own names too
        there = result.to_frame().columns
        known = {old: new for rows in found for old, new in rows.aliases.items()}
        chosen["where"] = {n if n in there else known.get(n, n): v for n, v in chosen["where"].items()}
    return result if label is None and not chosen else result.select(label, **chosen)


def _spans(rows: Rows, lengths: Any, empty: list[str], notes: list[str]) -> None:
    """Turn answers into events: what is present spans its segment, or its recording where no segment is given."""
    present = rows.data.pop("present")
    unsure = int(np.isnan(present).sum())
    empty += [name for name, value in zip(rows.data["recording"], present) if value != 1]
    rows.keep(present == 1)
    onset, offset = rows.data["onset"], rows.data["offset"]
    open_ = np.isnan(offset)
    if open_.any():
        names = rows.data["recording"]
        known = (
            [float(lengths.get(n, np.nan)) for n in names] if isinstance(lengths, Mapping) else [lengths] * len(names)
        )
        limit = np.array(known, dtype=np.float64)
        if np.isnan(limit[open_]).any():
            name = names[int(np.flatnonzero(open_ & np.isnan(limit))[0])]
            raise InvalidInput(
                f"{rows.source.name}: does not say how long the recording {quoted(name)} is, so its labels span "
                "nothing; give recording_length, or read the file with read_answers"
            )
        rows.data["onset"], rows.data["offset"] = np.where(open_, 0.0, onset), np.where(open_, limit, offset)
    if not rows.bounds:
        rows.data["weak"] = np.ones(len(rows), dtype=bool)
    if unsure:
        notes.append(f"{rows.source.name}: {unsure} rows are unsure and are not events; read_answers keeps them")
    rows.data.pop("seconds", None)


def read_answers(
    path: Paths,
    format: str | None = None,
    label: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    recording_length: float | Mapping[str, float] | str | os.PathLike[str] | None = None,
    on_error: str = "raise",
    where: Mapping[str, str] | None = None,
    annotator: str | Sequence[str] | None = None,
    merge: Mapping[str, Sequence[str]] | None = None,
    progress: bool = False,
) -> Answers:
    """What annotators said of segments in weak, clip and choice files: present, absent or unsure, by whom, how fast.

    The parameters are those of :func:`read`. Formats that list present labels only say nothing of the others, so there
    is no row for these; a recording with an empty list is in ``answers.recordings``. ``seconds`` are those of the whole
    query and stand on the row of each of its labels. Files of strong events are refused: nobody was asked.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.csv"
    ...     _ = path.write_text("file,start_time,end_time,annotation\\na.wav,0,3,yes\\na.wav,3,6,uncertain\\n")
    ...     read_answers(path, label="dog").to_frame()["present"].tolist()
    [1.0, nan]
    """
    found, notes, skipped = parse(
        path, format=format, label=label, columns=columns, on_error=on_error, progress=progress, answers=True
    )
    lengths, empty, _ = _known(found, recording_length, notes, on_error)
    for rows in found:
        if (
            not rows.weak
            and "weak" in rows.data
            and (rows.data["weak"].all() or any(n in rows.data for n in where or {}))
        ):
            weak = rows.data.pop("weak")  # rows about whole files: present there
            if not weak.all():
                notes.append(f"{rows.source.name}: {counted(int((~weak).sum()), 'row')} with boxes left out: no answers")
            rows.keep(weak, why="boxes")
            rows.data["present"] = np.ones(len(rows))
        if not rows.weak:
            raise InvalidInput(
                f"{rows.source.name}: holds events with bounds and no answers about segments; they are strong labels "
                "(read in Python, --strong of audit)"
            )
    merged = _merge(found)
    names = merged["recording"]
    onset, offset = merged["onset"], merged["offset"]
    if recording_length is not None:
        known = [float(lengths.get(n, np.nan)) if isinstance(lengths, Mapping) else float(lengths) for n in names]
        merged["onset"] = np.where(np.isnan(offset) & ~np.isnan(known), 0.0, onset)
        merged["offset"] = np.where(np.isnan(offset), known, offset)
    if not isinstance(lengths, Mapping):
        lengths = dict.fromkeys([*names, *empty], float(lengths))
    source = ", ".join(str(rows.source.path) for rows in found[:3])
    answers = Answers.from_frame(pd.DataFrame(merged), recording_length=lengths, recordings=empty, source=source)
    answers.source = Reading(_sentences(found), tuple(notes), skipped, _account(found, {}))
    _tell(notes, skipped)
    chosen: Answers = _selected(answers, label, found, annotator=annotator, where=where, merge=merge)
    return chosen


def format_for(path: Path, *, answers: bool) -> Format:
    """The format that a file's name asks for."""
    name = path.name.lower()
    fits = [
        (len(ending), item)
        for item in FORMATS.values()
        for ending in item.endings
        if name.endswith(ending) and (item.write_answers if answers else item.write) is not None
    ]
    if not fits:
        raise InvalidInput(f"{path}: the name does not tell the format; give one of {', '.join(_writable(answers))}")
    longest = max(size for size, _ in fits)
    fits = [fit for fit in fits if fit[0] == longest]
    preferred = ("clips", "dcase-weak") if answers else ("dcase", "csv")
    return min((item for _, item in fits), key=lambda item: (item.name not in preferred, item.name.endswith("weak")))


def _writable(answers: bool) -> list[str]:
    return [item.name for item in FORMATS.values() if (item.write_answers if answers else item.write) is not None]


def write(events: Events | Answers, path: str | os.PathLike[str], format: str | None = None) -> list[str]:
    """Write events or answers to a file, whole or not at all; what comes back is what the format could not hold.

    The same list is given as one AssumptionWarning. Formats that hold one recording per file (Audacity, NIGENS,
    TextGrid, ELAN, JAMS) take a folder, and Raven may. The format is told by the ending of the name (.tsv DCASE, .csv
    plain, .json Label Studio, ...) unless it is given. ``csv``, ``tsv`` and ``parquet`` hold all of any events.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> frame = pd.DataFrame({"recording": ["a"], "onset": [1.0], "offset": [2.0], "label": ["dog"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Events.from_frame(frame), f"{folder}/a.rttm")
    []
    """
    target = Path(path)
    asked = isinstance(events, Answers)
    item = named(format) if format is not None else format_for(target, answers=asked)
    if asked and item.write_answers is not None:
        found = item.write_answers(events, target)  # type: ignore[arg-type]
    elif item.write is None and item.write_answers is None:
        raise InvalidInput(
            f"format: {item.name} can be read and not written; give one of {', '.join(_writable(asked))}"
        )
    elif asked:
        turned, found = as_events(events)  # type: ignore[arg-type]
        assert item.write is not None
        found = found + item.write(turned, target)
    elif item.write is None:
        turned_answers, found = as_answers(events)  # type: ignore[arg-type]
        assert item.write_answers is not None
        found = found + item.write_answers(turned_answers, target)
    else:
        found = item.write(events, target)  # type: ignore[arg-type]
    if found:
        warnings.warn(f"{target} ({item.name}) does not hold: {'; '.join(found)}", AssumptionWarning, stacklevel=2)
    return found
