"""Read and read_answers: files in, events or answers out."""

from __future__ import annotations

import os
import re
import shlex
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import compress, islice
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.errors import AssumptionWarning, InvalidInput
from ..base.results import counted
from ..base.symbols import LONGEST, check, plausible_length
from ..model.answers import Answers
from ..model.events import Events, late_words
from .columns import roles_of
from .dataset import Paths, at_hand
from .gather import FATES, FileRows, HowMany, SampleRequest, gathered, merged_columns
from .source import Source, quoted
from .table import OURS, ColumnTable, TextRows
from .times import times_of
from .tracks import read_uem, sniff_uem
from .vocabulary import is_answers, is_number, length_columns, numbers, opposites, suited


def _lengths_of(names: Any, lengths: Any) -> NDArray[np.float64]:
    """How long each of the recordings is; NaN where that is not known."""
    if isinstance(lengths, Mapping) and lengths:
        return np.array([lengths.get(name, np.nan) for name in names], dtype=np.float64)
    return np.full(len(names), lengths or np.nan, dtype=np.float64)


def _late(table: pd.DataFrame, lengths: Any, on_error: str, found: FileRows) -> tuple[pd.DataFrame, dict[str, int]]:
    """The rows within their recordings: those past the end raise, are left out (skip) or are cut there (clip)."""
    onset, offset = table["onset"].to_numpy(), table["offset"].to_numpy()
    limit = _lengths_of(table["recording"], lengths)
    late = offset > limit * (1 + 1e-9)
    if not late.any():
        return table, {}
    notes, words = found.notes, late_words(offset[late], limit[late])
    if on_error == "raise":
        row = int(np.flatnonzero(late)[0])
        if not words.endswith("?"):
            words += "; a longer recording_length holds them, on_error='clip' (--on-error clip) cuts them at the end"
            words += ", 'skip' (--on-error skip) leaves them out"
        told = f"the event in {quoted(table['recording'][row])} ends at {offset[row]:g} s, after the recording's"
        where = next(islice((rows.source.at(place) for rows in found.files for place in rows.places), row, None))
        raise InvalidInput(f"{where}: {told} {limit[row]:g} s{words}")
    skip = on_error == "skip"
    gone = late if skip else late & (onset >= limit)
    cut = late & ~gone
    if cut.any():
        notes.append(f"{counted(int(cut.sum()), 'event')} cut at the end of the recording{words}")
    if gone.any():
        told = f"past the end of the recording left out{words}"
        told = told if skip else "left out that begin after the end of the recording"
        notes.append(f"{counted(int(gone.sum()), 'event')} {told}")
    table = table.assign(offset=np.where(cut, limit, offset))[~gone].reset_index(drop=True)
    return table, {"late": int(gone.sum())} if skip else {"clipped": int(cut.sum()), "late": int(gone.sum())}


PARSING = ("columns", "on_error", "point_length", "open_end", "absent", "sheet", "where", "progress")
_Rows = TypeVar("_Rows", Events, Answers)


class Options(TypedDict, total=False):
    """What reading events and reading answers are told alike; :func:`read` says what each means."""

    columns: Mapping[str, str] | None
    recording_length: float | Mapping[str, float] | str | os.PathLike[str] | None
    on_error: str
    point_length: float | None
    open_end: str | None
    absent: str | Sequence[str] | None
    sheet: str | None
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
    examined : the stretches that were examined (a UEM file, a table, or a frame), kept as ``events.examined``; or
        ``label=NAME``, where events of that class say so.
    **options : the rest, by name:

        - ``columns``: which column is which, for example ``{"onset": "start", "length": "duration", "label":
          "Species"}``; the recording may be two columns (``"subject+session"``) or the file's own name (``"@file"``), a
          time minutes and seconds (``"min+sec"``) or none (``"@none"``), an answer a count; ``rate`` is a column or a
          number, where times are sample numbers; ``origin`` the start of the recording, where they are dates;
          ``{"annotator": "@file"}`` says that each file is an annotator's, who examined the recordings that it lists.
        - ``recording_length``: seconds for all recordings, or for each by name, or a file with columns filename and
          duration.
        - ``on_error``: "raise" stops at the first broken row and names its file, line and column; "skip" leaves broken
          rows out and counts them in ``events.skipped``; "clip" cuts events that end after their recordings, and
          counts them, and those that start before 0; "skip,clip" does both.
        - ``point_length``: seconds; points become events of that length around them. ``open_end="recording"``: events
          without an end last as long as their recordings. ``absent``: classes that say that nothing was there.
          ``sheet``: of a workbook.
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
    <Events: 1 event, 1 label, 2 recordings>
    """
    where, on_error = options.get("where"), options.get("on_error", "raise")
    looked = examined[6:] if isinstance(examined, str) and examined.startswith("label=") else None
    if looked is not None:
        examined = None
    elif examined is not None and not isinstance(examined, pd.DataFrame):
        examined = read_examined(os.fspath(examined))
    asked, how = asked_of(options, [] if examined is None else map(str, examined["recording"]))
    found = gathered(path, format=format, label=label, asked=asked, **how)
    lengths, empty, idle = found.known(asked)
    if looked is not None:
        examined = looked_at(found, looked)
    account = found.account
    for rows in found.files:
        if rows.weak:
            _spans(rows, lengths, empty, found.notes)
        else:
            account["merged"] += _boxes_only(rows, where, empty, found.notes)
    account["events"] = sum(len(set(rows.places)) for rows in found.files)
    account["merged"] += account["rows"] - sum(account[name] for name in FATES)
    table = pd.DataFrame(merged_columns(found.files))
    if "weak" in table:
        table["weak"] = table["weak"].map(lambda value: value is True or value == "True" or value == 1).astype(bool)
    table, late = _late(table, lengths, on_error, found)
    touching_frames(table, found.notes)
    told = {*(where or {}), *(["annotator"] if options.get("annotator") else [])}
    found.notes += [words for _, _, words in beside(table, told)]
    names = found.names + (", ..." if len(found.files) > 3 else "")
    events = Events.from_frame(table, recording_length=lengths, recordings=empty, unannotated=idle, source=names)
    gone, absent = late.get("late", 0), sum(rows.n_absent for rows in found.files)
    late |= {"absent": absent} if absent else {}
    account |= {"skipped": account["skipped"] + gone, "events": account["events"] - gone, **late}
    events.source = found.told(account, found.skipped + gone)
    if examined is not None:
        events.examined = examined if found.sample is None else examined[examined["recording"].isin(found.sample.names)]
    elif (options.get("columns") or {}).get("annotator") == "@file":  # who examined the recordings that a file lists
        listed = {(n, each.source.stem()): None for each in found.files for n in [*each.data["recording"], *each.empty]}
        examined = pd.DataFrame([*listed], columns=["recording", "annotator"])
        events.examined = examined.assign(onset=np.nan, offset=np.nan)
    found.warn()
    return _selected(events, label, found.files, options)


def looked_at(found: FileRows, label: str) -> pd.DataFrame:
    """The stretches that events of a class say to have been examined; these are events no more."""
    parts = []
    for rows in found.files:
        mask = np.array([own == label for own in rows.data["label"]], dtype=bool)
        names = [name for name, yes in zip(rows.data["recording"], mask) if yes]
        times = {name: rows.data[name][mask] for name in ("onset", "offset")}
        parts.append(pd.DataFrame({"recording": names, **times, "annotator": ""}))
        rows.nothing_in(mask)
    examined = pd.concat(parts, ignore_index=True)
    if not len(examined):
        raise InvalidInput(f"examined: no event is called {quoted(label)}")
    found.notes[:] = [note for note in found.notes if f"--examined label={label} " not in note]
    return examined


def _boxes_only(rows: TextRows, where: Mapping[str, str] | None, empty: list[str], notes: list[str]) -> int:
    """Leave out rows about whole files that stand among boxes, unless they are chosen; how many."""
    weak = rows.data.get("weak")
    if weak is None or weak.all() or not weak.any() or any(name in rows.data for name in where or {}):
        return 0
    gone = dict(compress(zip(rows.places, rows.data["recording"]), weak))
    empty += list(dict.fromkeys(gone.values()))
    rows.keep(~rows.data.pop("weak"))
    told = f"{counted(len(gone), 'row')} about whole files among boxes left out; --where is_box=0 reads them"
    notes.append(f"{rows.source.name}: {told}")
    return len(gone)


def beside(table: pd.DataFrame, told: Collection[str] = ()) -> list[tuple[str, int, str]]:
    """What to say of annotators and of channels whose events of one class in one recording are taken together.

    ``told`` are the columns of which one value was chosen. (column, how many recordings and classes, words)
    """
    found = []
    for name in ("annotator", "channel", "Channel"):
        if name not in table or name in told or "weak" in table or not len(table) or table[name].nunique() < 2:
            continue
        several = table.groupby(["recording", "label"], sort=False, observed=True)[name].nunique() > 1
        if several.any():
            first, n = shlex.quote(str(table[name].iloc[0])), int(several.sum())
            way = f"--annotator {first}" if name == "annotator" else f"--where {name}={first}"
            words = f"{n:,} pairs of recording and class with several of {table[name].nunique()} {name.lower()}s"
            found.append((name, n, f"{words}, taken together; {way} takes one"))
    return found


def touching_frames(table: pd.DataFrame, notes: list[str]) -> None:
    """Say that equally long events that touch are taken as one: they may be frames."""
    if len(table) < 4 or "weak" in table:
        return
    length = (table["offset"] - table["onset"]).round(6)
    if length.nunique() > 2:
        return
    ordered = table.sort_values(["recording", "label", "onset"], kind="stable")
    before = ordered.groupby(["recording", "label"], observed=True)["offset"].shift()
    touch = int(((ordered["onset"] - before).abs() < 1e-6).sum())
    if touch > 0.2 * len(table):
        told = f"{touch} of {len(table)} events begin where one of the same class ends, all {length.iloc[0]:g} s long"
        notes.append(f"{told} (frames?): computations join them to one event")


def asked_of(options: Options, more: Iterable[str] = ()) -> tuple[SampleRequest, dict[str, Any]]:
    """What is known of recordings before files are opened and how many are to be read; and how files are parsed."""
    for name in options.keys() - Options.__annotations__.keys():
        known = ", ".join(Options.__annotations__)
        raise TypeError(f"reading got an unexpected keyword argument {name!r}; there are {known}")
    length, end = options.get("point_length"), options.get("open_end")
    if length is not None and not (isinstance(length, (int, float)) and 0 < length < np.inf):
        raise InvalidInput(f"point_length must be seconds > 0, got {length!r}")
    if end not in (None, "recording"):
        raise InvalidInput(f"open_end must be 'recording', got {end!r}")
    lengths = asked_length(options.get("recording_length"), options.get("on_error", "raise"))
    how = {name: value for name, value in options.items() if name in PARSING}
    return SampleRequest.of(options.get("sample"), lengths, more), how


def _selected(result: _Rows, label: str | None, found: Sequence[TextRows], options: Options) -> _Rows:
    """Only what was asked for; where the files name no class, all of them are of the one that was."""
    if label is not None and not len(result) and not result.labels:
        label = None
    chosen: dict[str, Any] = {n: options.get(n) for n in ("annotator", "where", "merge") if options.get(n)}
    if "where" in chosen:  # by the file's own names too
        there = result.to_frame().columns
        known = {old: new for rows in found for old, new in rows.aliases.items()}
        chosen["where"] = {n if n in there else known.get(n, n): v for n, v in chosen["where"].items() if v != "*"}
    return result if label is None and not chosen else result.select(label, **chosen)


def _spans(rows: TextRows, lengths: Any, empty: list[str], notes: list[str]) -> None:
    """Turn answers into events: what is present spans its segment, or its recording where no segment is given."""
    present = rows.data.pop("present")
    unsure = int(np.isnan(present).sum())
    empty += compress(rows.data["recording"], present != 1)
    rows.n_absent = len({*compress(rows.places, present == 0)} - {*compress(rows.places, present == 1)})
    rows.keep(present == 1)
    onset, offset = rows.data["onset"], rows.data["offset"]
    open_ = np.isnan(offset)
    limit = _lengths_of(rows.data["recording"], lengths)
    unknown = open_ & np.isnan(limit)
    if unknown.any():
        told = f"does not say how long the recording {quoted(rows.data['recording'][int(np.argmax(unknown))])} is"
        way = "give recording_length, or read the file with read_answers"
        raise rows.source.error(f"{told}, so its labels span nothing; {way}")
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
    asked, how = asked_of(options)
    where, length = options.get("where"), options.get("recording_length")
    found = gathered(path, format=format, label=label, answers=True, asked=asked, **how)
    lengths, empty, _ = found.known(asked)
    for rows in found.files:
        _as_answers(rows, where or {}, found.notes)
    merged = merged_columns(found.files)
    names, onset, offset = merged["recording"], merged["onset"], merged["offset"]
    if length is not None:
        known = _lengths_of(names, lengths)
        merged["onset"] = np.where(np.isnan(offset) & ~np.isnan(known), 0.0, onset)
        merged["offset"] = np.where(np.isnan(offset), known, offset)
    if not isinstance(lengths, Mapping):
        lengths = dict.fromkeys([*names, *empty], float(lengths))
    table = pd.DataFrame(merged)
    answers = Answers.from_frame(table, recording_length=lengths, recordings=empty, source=found.names)
    answers.source = found.told(found.account, found.skipped)
    found.warn()
    return _selected(answers, label, found.files, options)


def _as_answers(rows: TextRows, where: Mapping[str, str], notes: list[str]) -> None:
    """Make answers of rows about whole files, and of spans labelled with a class and its absence (crack, no_crack)."""
    name, whole = rows.source.name, rows.data.get("weak")
    if not rows.weak and whole is not None and (whole.all() or any(n in rows.data for n in where)):
        del rows.data["weak"]  # present there
        if not whole.all():
            notes.append(f"{name}: {counted(int((~whole).sum()), 'row')} with boxes left out: no answers")
        rows.keep(whole, why="boxes")
        rows.data["present"] = np.ones(len(rows))
    said = {} if rows.weak else opposites(rows.data["label"])
    if said:
        first = min(of for of, _ in said.values())
        which = ", ".join(quoted(label) for label, (of, _) in sorted(said.items()) if of == first)
        notes.append(f"{name}: {which} are taken as answers about their spans: present and absent")
        rows.data["present"] = np.array([said[label][1] for label in rows.data["label"]], dtype=np.float64)
        rows.data["label"] = [said[label][0] for label in rows.data["label"]]
    if not rows.weak:
        length = np.round(rows.data["offset"] - rows.data["onset"], 6)
        if len(length) > 1 and (length == length[0]).all():
            # Beside our own names nothing is taken for answers, but it may hold them.
            extra = [n for n, values in rows.data.items() if n not in OURS and is_answers(values)]
            way = f"; --columns {shlex.quote(f'answer={extra[0]}')} if that holds the answers" if extra else ""
            told = f"all rows are {length[0]:g} s long: taken as answers, the segments that are present"
            notes.append(f"{name}: {told}{way}")
            rows.data["present"] = np.ones(len(rows))
            return
        ways = rows.source.asked or "--columns answer=@present if they are segments, all present"
        told = "holds events with bounds and no answers about segments; they are strong labels"
        raise InvalidInput(f"{name}: {told} (read in Python, --strong of audit); {ways}")


def read_lengths(path: str | Path, *, on_error: str = "raise") -> dict[str, float]:
    """The lengths in seconds of the recordings that a table lists: two columns, or a table with such columns.

    With or without a line of names; tabs, commas or semicolons; a name may be a number. A length that is none is an
    error; with ``on_error="skip"`` its recording is left out.
    """
    with _opened(path, on_error=on_error) as source:
        return lengths_in(source)


@contextmanager
def _opened(path: str | Path, **how: Any) -> Iterator[Source]:
    """One file, or a copy of what is behind an address; what its reader notes is given as warnings."""
    with at_hand(path) as (file, address):
        source = Source(file, called=address, **how)
        yield source
    for note in source.notes:
        warnings.warn(note, AssumptionWarning, stacklevel=4)


def lengths_in(source: Source) -> dict[str, float]:
    """The lengths in an open table."""
    first, names = re.split(r"[\t,;]", source.head[0]) if source.head else [], source.header
    bare = len(first) == 2 and is_number(first[-1])
    if not bare and (len(names) < 2 or suited(names, "onset") or not all(length_columns(names))):
        told = "recording_length must be seconds, or a file with the columns filename and duration (seconds)"
        raise source.error(told)
    table = ColumnTable.read(source, names=["filename", "duration"] if bare else None)
    name_column, length = length_columns(table.names)
    found: dict[str, float] = {}
    values = numbers(Source(source.path, on_error="collect"), table.columns[length], table.lines, length)
    names = [name.strip() for name in table.columns[name_column]]
    for name, value, text, line in zip(names, values.tolist(), table.columns[length], table.lines):
        if not 0 < value <= LONGEST:
            source.fail(line, "duration", f"{quoted(text)} is not a length in seconds")
        elif name in found and abs(found[name] - value) > 1e-6 * value:
            source.fail(line, "duration", f"{quoted(name)} has another length than before")
        else:
            found[name] = value
    source.ended(table.lines)
    if source.problems:
        source.note(f"{counted(len(source.problems), 'length')} left out")
    return found


def read_examined(path: str | Path, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The stretches that were examined: recording, onset, offset (NaN: all of it) and annotator ("": everybody).

    A UEM file, or a table with recording and, if you like, onset and offset and annotator; or with a column for each
    annotator that says which recordings are FINISHED (APLOSE's status table).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.uem"
    ...     _ = path.write_text("a 1 0 10\\na 1 30 40\\n")
    ...     read_examined(path)[["onset", "offset"]].to_numpy().tolist()
    [[0.0, 10.0], [30.0, 40.0]]
    """
    with _opened(path, columns=dict(columns or {})) as source:
        return _examined_in(source)


_DONE = {"finished", "done"}
_STATES = {*_DONE, "created", "started", "in progress", ""}  # of an annotator's work on a recording


def _examined_in(source: Source) -> pd.DataFrame:
    if sniff_uem(source):
        rows = read_uem(source)
        source.ended(rows.places)
        return pd.DataFrame({**{name: rows.data[name] for name in ("recording", "onset", "offset")}, "annotator": ""})
    table = ColumnTable.read(source)
    source.ended(table.lines)
    said = {name: [value.strip().lower() for value in values] for name, values in table.columns.items()}
    people = [name for name, words in said.items() if _DONE & {*words} and {*words} <= _STATES]
    named = suited(table.names, "recording")
    if named and people:  # a column per annotator, as APLOSE tells how far each has come
        done = [(n, who) for who in people for n, word in zip(table.columns[named[0]], said[who]) if word in _DONE]
        frame = pd.DataFrame(done, columns=["recording", "annotator"])
        return frame.assign(onset=np.nan, offset=np.nan)[["recording", "onset", "offset", "annotator"]]
    roles = roles_of(table)
    if "recording" not in roles.names:
        told = "examined must be a UEM file or a table with a column for the recording"
        raise source.error(f"{told}; there are {', '.join(table.names[:12])}")
    names = [value.strip() for value in table.columns[roles.names["recording"]]]
    onset, offset, _ = times_of(table, roles, names)
    wrong = ~((np.isnan(onset) & np.isnan(offset)) | ((onset >= 0) & (offset > onset)))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        told = f"a stretch must end after it starts: {onset[i]:g}, {offset[i]:g}"
        raise InvalidInput(f"{source.at(table.lines[i])}: {told}")
    who = table.columns[roles.names["annotator"]] if "annotator" in roles.names else [""] * len(table)
    return pd.DataFrame({"recording": names, "onset": onset, "offset": offset, "annotator": who})


def asked_length(value: Any, on_error: str = "raise") -> float | Mapping[str, float] | None:
    """The length that the caller gave: seconds for all, by name, or read from a file."""
    if value is None or isinstance(value, Mapping):
        return value
    if isinstance(value, (str, os.PathLike)):
        try:
            value = float(os.fspath(value))
        except ValueError:
            return read_lengths(os.fspath(value), on_error="skip" if "skip" in on_error else "raise")
    return plausible_length("recording_length", float(check("recording_length", value)))
