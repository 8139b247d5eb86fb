"""Read, read_answers and write: files in, events or answers out, and back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from ..base.errors import AssumptionWarning, InvalidInput
from ..base.results import counted
from ..model.answers import Answers
from ..model.events import Events, late_words
from ..model.rows import Reading
from .dataset import HowMany, RecordingSample, SampleRequest
from .durations import agreed_lengths, asked_length, match_lengths, read_examined
from .gather import FATES, LEFT_OUT, Paths, account_of, gathered, merged_columns, sentences_of, starts_of
from .output import as_answers, as_events
from .registry import FORMATS, Format, named
from .source import quoted
from .table import TextRows
from .vocabulary import opposites


def _known(
    found: Sequence[TextRows], asked: SampleRequest, notes: list[str], sample: RecordingSample | None
) -> tuple[Any, list[str], list[str]]:
    """The lengths, the empty recordings and those not annotated, over all files or of the sample."""
    empty = list(dict.fromkeys(name for rows in found for name in rows.empty))
    idle = list(dict.fromkeys(name for rows in found for name in rows.unannotated))
    lengths = asked.lengths
    if sample is not None and isinstance(sample.lengths, Mapping):
        return agreed_lengths(found, notes) | dict(sample.lengths), empty, idle
    if lengths is None:
        return agreed_lengths(found, notes), empty, idle
    if isinstance(lengths, Mapping):
        names = list(dict.fromkeys([*(n for rows in found for n in rows.data["recording"]), *empty, *idle]))
        return agreed_lengths(found, notes) | match_lengths(lengths, names, notes), empty, idle
    return lengths, empty, idle


def _late(
    table: pd.DataFrame, lengths: Any, on_error: str, notes: list[str], found: Sequence[TextRows]
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
        rows, place = next((rows, rows.places[row - k]) for rows, k in starts_of(found) if row < k + len(rows))
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


def _tell(notes: Iterable[str], skipped: int) -> None:
    skipped -= sum(note.endswith(LEFT_OUT) for note in notes)  # a note of its own tells of each file
    for note in notes:
        warnings.warn(note, AssumptionWarning, stacklevel=4)
    if skipped:
        warnings.warn(f"{counted(skipped, 'broken row')} skipped", AssumptionWarning, stacklevel=4)


class Options(TypedDict, total=False):
    """What reading events and reading answers are told alike; :func:`read` says what each means."""

    columns: Mapping[str, str] | None
    recording_length: float | Mapping[str, float] | str | os.PathLike[str] | None
    on_error: str
    where: Mapping[str, str] | None
    annotator: str | Sequence[str] | None
    merge: Mapping[str, Sequence[str]] | None
    sample: HowMany
    progress: bool


def read(
    path: Paths,
    format: str | None = None,
    label: str | None = None,
    *,
    examined: pd.DataFrame | str | os.PathLike[str] | None = None,
    **options: Unpack[Options],
) -> Events:
    """The events of annotation files, whatever tool wrote them; recordings without events are kept.

    Parameters
    ----------
    path : a file, a folder (all annotation files in it), a pattern such as ``tables/*.txt``, or a list of these; also
        addresses (``s3://bucket/folder``, ``gs://...``, ``https://...``) of up to 2 GiB, of which copies are read.
    format : the name of the format, one of ``weakly.io.FORMATS``; left out, it is found by looking into each file.
    label : only the events of this class; in files that name no class, the class they are of.
    examined : the stretches that were examined (a UEM file, a table, or a frame), kept as ``events.examined``.
    **options : the rest, by name:

        - ``columns``: which column is which, for example ``{"onset": "start", "length": "duration", "label":
          "Species"}``; the recording may be two columns (``"subject+session"``) or the file's own name (``"@file"``);
          ``rate`` is a column or a number, where times are sample numbers; ``origin`` the start of the recording, where
          they are dates; ``{"annotator": "@file"}`` says that each file is an annotator's, who examined the recordings
          that it lists.
        - ``recording_length``: seconds for all recordings, or for each by name, or a file with columns filename and
          duration.
        - ``on_error``: "raise" stops at the first broken row and names its file, line and column; "skip" leaves broken
          rows out and counts them in ``events.skipped``; "clip" cuts events that end after their recordings, and
          counts them; "skip,clip" does both.
        - ``where``, ``annotator``, ``merge``: as for :meth:`Events.select`: values of other columns, whose rows,
          classes to be joined.
        - ``sample``: so many recordings only, whole, chosen by a hash of their names, the same wherever rows lie; of
          tables (Parquet, CSV) of any size only these rows are in memory. "auto": all recordings, or of tables of more
          than 5 million rows as many as hold about 200,000. ``events.source.sample`` says how many of how many.
        - ``progress``: show a bar on a terminal when it takes long.

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
    where, on_error = options.get("where"), options.get("on_error", "raise")
    if examined is not None and not isinstance(examined, pd.DataFrame):
        examined = read_examined(os.fspath(examined))
    asked = _asked(options, [] if examined is None else map(str, examined["recording"]))
    found, notes, skipped, sample = gathered(path, format=format, label=label, asked=asked, **_parsing(options))
    lengths, empty, idle = _known(found, asked, notes, sample)
    account = account_of(found)
    for rows in found:
        if rows.weak:
            _spans(rows, lengths, empty, notes)
        else:
            account["merged"] += _boxes_only(rows, where, empty, notes)
    account["events"] = sum(rows.n_places for rows in found)
    account["merged"] += account["rows"] - sum(account[name] for name in FATES)
    table = pd.DataFrame(merged_columns(found))
    if "weak" in table:
        table["weak"] = table["weak"].map(lambda value: value is True or value == "True" or value == 1).astype(bool)
    table, late = _late(table, lengths, on_error, notes, found)
    touching_frames(table, notes)
    names = ", ".join(rows.source.name for rows in found[:3]) + (", ..." if len(found) > 3 else "")
    events = Events.from_frame(table, recording_length=lengths, recordings=empty, unannotated=idle, source=names)
    account["skipped"], account["events"] = (
        account["skipped"] + late.get("late", 0),
        account["events"] - late.get("late", 0),
    )
    events.source = Reading(
        sentences_of(found), tuple(notes), skipped + late.get("late", 0), {**account, **late}, _counts(sample)
    )
    if examined is not None:
        events.examined = examined if sample is None else examined[examined["recording"].isin(sample.names)]
    elif (options.get("columns") or {}).get("annotator") == "@file":
        events.examined = _listed_by(found)
    _tell(notes, skipped)
    chosen: Events = _selected(events, label, found, options)
    return chosen


def _listed_by(found: Sequence[TextRows]) -> pd.DataFrame:
    """Who examined what, where each file is an annotator's: the recordings that it lists, empty ones too."""
    pairs = [(n, rows.source.stem()) for rows in found for n in dict.fromkeys([*rows.data["recording"], *rows.empty])]
    return pd.DataFrame(pairs, columns=["recording", "annotator"]).assign(onset=np.nan, offset=np.nan)


def _boxes_only(rows: TextRows, where: Mapping[str, str] | None, empty: list[str], notes: list[str]) -> int:
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


def _parsing(options: Options) -> dict[str, Any]:
    """What of the options files are parsed by; refused, as Python does, where there is no option of such a name."""
    unknown = next((name for name in options if name not in Options.__annotations__), None)
    if unknown is not None:
        known = ", ".join(Options.__annotations__)
        raise TypeError(f"reading got an unexpected keyword argument {unknown!r}; there are {known}")
    return {name: value for name, value in options.items() if name in ("columns", "on_error", "progress")}


def _asked(options: Options, more: Iterable[str] = ()) -> SampleRequest:
    """What is known of recordings before files are opened, and how many of them are to be read."""
    _parsing(options)
    lengths = asked_length(options.get("recording_length"), options.get("on_error", "raise"))
    return SampleRequest.of(options.get("sample"), lengths, more)


def _counts(sample: RecordingSample | None) -> Mapping[str, int] | None:
    return None if sample is None else sample.counts


def _selected(result: Any, label: str | None, found: Sequence[TextRows], options: Options) -> Any:
    """Only what was asked for; where the files name no class, all of them are of the one that was."""
    if label is not None and not len(result) and not result.labels:
        label = None
    asked = {name: options.get(name) for name in ("annotator", "where", "merge")}
    chosen: dict[str, Any] = {name: value for name, value in asked.items() if value}
    if "where" in chosen:  # by the file's own names too
        there = result.to_frame().columns
        known = {old: new for rows in found for old, new in rows.aliases.items()}
        chosen["where"] = {n if n in there else known.get(n, n): v for n, v in chosen["where"].items()}
    return result if label is None and not chosen else result.select(label, **chosen)


def _spans(rows: TextRows, lengths: Any, empty: list[str], notes: list[str]) -> None:
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
    path: Paths, format: str | None = None, label: str | None = None, **options: Unpack[Options]
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
    asked, where, length = _asked(options), options.get("where"), options.get("recording_length")
    how = _parsing(options)
    found, notes, skipped, sample = gathered(path, format=format, label=label, answers=True, asked=asked, **how)
    lengths, empty, _ = _known(found, asked, notes, sample)
    for rows in found:
        if (
            not rows.weak
            and "weak" in rows.data
            and (rows.data["weak"].all() or any(n in rows.data for n in where or {}))
        ):
            weak = rows.data.pop("weak")  # rows about whole files: present there
            if not weak.all():
                notes.append(
                    f"{rows.source.name}: {counted(int((~weak).sum()), 'row')} with boxes left out: no answers"
                )
            rows.keep(weak, why="boxes")
            rows.data["present"] = np.ones(len(rows))
        if not rows.weak:
            _opposed(rows, notes)
        if not rows.weak:
            raise InvalidInput(
                f"{rows.source.name}: holds events with bounds and no answers about segments; they are strong labels "
                "(read in Python, --strong of audit)"
            )
    merged = merged_columns(found)
    names = merged["recording"]
    onset, offset = merged["onset"], merged["offset"]
    if length is not None:
        known = [float(lengths.get(n, np.nan)) if isinstance(lengths, Mapping) else float(lengths) for n in names]
        merged["onset"] = np.where(np.isnan(offset) & ~np.isnan(known), 0.0, onset)
        merged["offset"] = np.where(np.isnan(offset), known, offset)
    if not isinstance(lengths, Mapping):
        lengths = dict.fromkeys([*names, *empty], float(lengths))
    source = ", ".join(rows.source.name for rows in found[:3])
    answers = Answers.from_frame(pd.DataFrame(merged), recording_length=lengths, recordings=empty, source=source)
    answers.source = Reading(sentences_of(found), tuple(notes), skipped, account_of(found), _counts(sample))
    _tell(notes, skipped)
    chosen: Answers = _selected(answers, label, found, options)
    return chosen


def _opposed(rows: TextRows, notes: list[str]) -> None:
    """Make answers of spans whose labels are a class and its absence (crack, no_crack)."""
    said = opposites(rows.data["label"])
    if said:
        pairs = sorted({name for name, _ in said.values()})
        which = ", ".join(quoted(label) for label, (name, _) in sorted(said.items()) if name == pairs[0])
        notes.append(f"{rows.source.name}: {which} are taken as answers about their spans: present and absent")
        rows.data["present"] = np.array([said[label][1] for label in rows.data["label"]], dtype=np.float64)
        rows.data["label"] = [said[label][0] for label in rows.data["label"]]


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
