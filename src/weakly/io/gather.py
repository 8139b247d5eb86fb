"""The one loop behind read, read_answers and check: files, each read by its format into rows, and what all say."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..base.errors import AssumptionWarning, InvalidInput
from ..base.parallel import progress_bar
from ..base.results import counted
from ..base.symbols import choice, plausible_length
from ..model.answers import Reading
from .dataset import MOST_BYTES, Dataset, Paths, address_of, files_of, listed_paths, listings, look, rows_in, table_kind
from .formats import detect, named
from .source import Source, grouped, quoted
from .table import TextRows
from .times import suspected_unit
from .vocabulary import doubtful, suited

ON_ERROR = ("raise", "skip", "clip", "skip,clip")
FATES = ("events", "empty", "skipped", "merged")
LEFT_OUT = "; the file is left out"
LAYERS = ("tier", "namespace")  # annotations of one recording that stand beside each other
_ENDINGS = "wav|flac|mp3|ogg|opus|aiff?|m4a|mp4|mkv|avi|mov|webm|edf|bdf|mseed|csv|tsv|txt|json|jams|textgrid"

#: How many recordings; "auto" is all of them, or of a large table as many as hold about 200,000 rows.
HowMany = int | Literal["auto"] | None
#: Rows of tables beyond which "auto" is a sample, those of such a sample, and those that are read at once (5 GiB).
LARGE, SAMPLED, MOST_ROWS = 5_000_000, 200_000, 20_000_000


def name_key(name: str) -> str:
    """What stays of a recording's name without its folder, ending and the difference of space and underscore."""
    base = re.split(r"[/\\]", name)[-1]
    return re.sub(rf"\.({_ENDINGS})$", "", base, flags=re.IGNORECASE).replace(" ", "_").strip("_")


def matched(names: Iterable[Any], known: Iterable[Any]) -> dict[str, str]:
    """The known name of each name: the same one, else the one that is the same without folder and ending.

    A name without either is left out, and so is one that shares what is left of it with another on its own side.

    >>> matched(["a.wav", "x/b.flac", "c"], ["a.wav", "b.wav", "c.wav", "y/c.wav"])
    {'a.wav': 'a.wav', 'x/b.flac': 'b.wav'}
    """
    mine, theirs = ({str(name): name_key(str(name)).lower() for name in side} for side in (names, known))
    alone = {key: name for name, key in theirs.items()}
    counts = [Counter(side.values()) for side in (mine, theirs)]
    known_as = {name: name if name in theirs else alone.get(key) for name, key in mine.items()}
    once = {name for name, key in mine.items() if name in theirs or all(count[key] == 1 for count in counts)}
    return {name: other for name, other in known_as.items() if other is not None and name in once}


def scores_of(
    by_class: Mapping[str | None, Mapping[str, Any]], label: str, names: Sequence[str], whose: str = "scores"
) -> dict[str, Any]:
    """The scores of a class (or of any) in these recordings, under their names; ``whose``, for errors."""
    table = {**by_class.get(None, {}), **by_class.get(label, {})}
    if not table:
        there = ", ".join(map(str, list(by_class)[:5]))
        raise InvalidInput(f"{whose}: there are none of {label!r}, only of {there}; name the classes alike")
    other = matched(names, table)
    if names and not other:
        which = f"answers are of {names[0]!r}, scores of {next(iter(table))!r}"
        raise InvalidInput(f"{whose}: no recording with answers has any; {which}")
    return {name: table[match] for name, match in other.items()}


def match_lengths(given: Mapping[str, float], names: Iterable[str], notes: list[str]) -> dict[str, float]:
    """The given lengths under the names of the recordings, also where these differ by folder, ending, space or a Y.

    Names that only the lengths know are recordings without events, which is said; if none is known, that is an error.
    """
    given = {str(name).strip(): float(length) for name, length in given.items()}
    keys = grouped((name_key(name), name) for name in given)
    names, of, used = list(names), dict[str, str](), set[str]()  # recording: what the lengths call it
    for name in names:
        key = name_key(name)
        options = keys.get(key) or keys.get("Y" + key) or keys.get(key.removeprefix("Y")) or []
        if name in given or (len(options) == 1 and options[0] not in used):
            of[name] = name if name in given else options[0]
            used.add(of[name])
    near = [name for name, told in of.items() if name != told]
    if near:
        told = f"{counted(len(near), 'recording')} called almost as in recording_length"
        notes.append(f"{told} (first {quoted(near[0], most=60)}); taken for the same")
    more = {name: length for name, length in given.items() if name not in used}
    if names and more and not used:
        first, own = (quoted(each, most=60) for each in (next(iter(given)), names[0]))
        told = f"none of its {len(given)} names is that of a recording (first {first}; the first recording is {own})"
        raise InvalidInput(f"recording_length: {told}")
    if more:
        told = f"{counted(len(more), 'recording')} only in recording_length (first {quoted(next(iter(more)), most=60)})"
        notes.append(f"{told}: taken as annotated, nothing there")
    return {**{name: given[told] for name, told in of.items()}, **more}


@dataclass(frozen=True)
class SampleRequest:
    """What is to be sampled, and what else is known of recordings: their lengths, and more that are without rows."""

    sample: HowMany
    lengths: float | Mapping[str, float] | None = None
    more: tuple[str, ...] = ()

    @classmethod
    def of(cls, sample: Any, lengths: Any, more: Iterable[str] = ()) -> SampleRequest:
        """Checked."""
        whole = isinstance(sample, (int, np.integer)) and not isinstance(sample, bool)
        if not (sample is None or sample == "auto" or (whole and sample >= 1)):
            raise InvalidInput(f"sample must be a number of recordings, at least 1, or 'auto', got {sample!r}")
        return cls(int(sample) if whole else sample, lengths, tuple(dict.fromkeys(more)))


ALL = SampleRequest(None)


@dataclass(frozen=True)
class RecordingSample:
    """The recordings of a sample, their lengths as far as they were given, and how many there are of how many."""

    names: frozenset[str]
    lengths: float | Mapping[str, float] | None
    counts: Mapping[str, int]

    @classmethod
    def of(cls, rows: Mapping[str, int], asked: SampleRequest, notes: list[str]) -> RecordingSample:
        """Chosen among recordings with so many rows each, and those that are known to have none."""
        given = asked.lengths
        known = match_lengths(given, rows, notes) if isinstance(given, Mapping) else {}

        def drawn(name: str) -> tuple[bytes, str]:
            return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), name

        everyone = sorted({*rows, *known, *asked.more}, key=drawn)
        sums = np.cumsum([rows.get(name, 0) for name in everyone])
        n = int(np.searchsorted(sums, SAMPLED)) + 1 if asked.sample == "auto" else int(asked.sample or 0)
        names = frozenset(everyone[:n])
        taken, every = sum(rows.get(name, 0) for name in names), sum(rows.values())
        counts = {"recordings": len(names), "of_recordings": len(everyone), "rows": taken, "of_rows": every}
        lengths = {name: known[name] for name in known if name in names} if isinstance(given, Mapping) else given
        if taken > MOST_ROWS:
            raise InvalidInput(f"{worded(counts)}: {beyond(taken)}")
        notes.append(worded(counts))
        return cls(names, lengths, counts)

    def keep(self, rows: TextRows) -> None:
        """Only what is of the sample."""
        rows.keep(np.array([name in self.names for name in rows.data["recording"]], dtype=bool))
        rows.empty = [name for name in rows.empty if name in self.names]
        rows.unannotated = [name for name in rows.unannotated if name in self.names]
        rows.lengths = {name: length for name, length in rows.lengths.items() if name in self.names}


def worded(counts: Mapping[str, int]) -> str:
    """How much of how much a sample is, for people to read."""
    n = {name: f"{count:,}" for name, count in counts.items()}
    told = f"a sample of {n['recordings']} of {n['of_recordings']} recordings, {n['rows']} of {n['of_rows']} rows"
    return f"{told}, chosen by a hash of the recordings' names"


def beyond(rows: int) -> str:
    """That these are too many rows, and what to do."""
    told = f"{rows:,} rows are more than the {MOST_ROWS:,} that are read at once; give some of the files"
    way = "sample=1000 (--sample 1000 of plan, audit, infer, convert) for so many recordings of a table"
    return f"{told}; or {way}; weakly evaluate reads all of them in chunks"


@dataclass
class FileRows:
    """What files hold: the rows of each, those that are refused and why, and all that is noted and left out."""

    sources: list[Source]
    notes: list[str]
    sample: RecordingSample | None = None
    files: list[TextRows] = field(default_factory=list)
    refused: list[tuple[Source, InvalidInput]] = field(default_factory=list)
    skipped: int = 0  # broken rows, and files
    doubts: list[str] = field(default_factory=list)  # classes that may be absences

    @property
    def account(self) -> dict[str, int]:
        """What became of every row of all files."""
        accounts = [rows.account for rows in self.files]
        return {name: sum(account[name] for account in accounts) for name in ("rows", *FATES)}

    @property
    def names(self) -> str:
        """The first files, as messages call them."""
        return ", ".join(rows.source.name for rows in self.files[:3])

    def known(self, asked: SampleRequest) -> tuple[Any, list[str], list[str]]:
        """The lengths, the empty recordings and those not annotated, over all files or of the sample.

        Where files disagree on a length, nothing is sure.
        """
        empty = list(dict.fromkeys(name for rows in self.files for name in rows.empty))
        idle = list(dict.fromkeys(name for rows in self.files for name in rows.unannotated))
        lengths = asked.lengths
        if lengths is not None and not isinstance(lengths, Mapping):
            return lengths, empty, idle
        stated: dict[str, float] = {}
        told = [pair for rows in self.files for pair in rows.lengths.items()]
        clash = {name for name, length in told if abs(stated.setdefault(name, length) - length) > 1e-6 * length}
        if clash:
            words = f"files disagree on the length of {counted(len(clash), 'recording')} (first {quoted(min(clash))})"
            self.notes.append(f"{words}; it is taken as unknown")
        known = {name: length for name, length in stated.items() if name not in clash}
        if self.sample is not None and isinstance(self.sample.lengths, Mapping):
            known |= self.sample.lengths
        elif lengths is not None:
            listed = dict.fromkeys([*(n for rows in self.files for n in rows.data["recording"]), *empty, *idle])
            known |= match_lengths(lengths, listed, self.notes)
        return known, empty, idle

    def told(self, account: Mapping[str, int], skipped: int) -> Reading:
        """What was taken as what, once for files that are alike, noted, left out and sampled."""
        counts = None if self.sample is None else self.sample.counts
        readings = [rows.reading for rows in self.files if rows.reading]
        alike = grouped((re.sub(r" \(\d+\)", "", reading), reading) for reading in readings).items()
        sentences = (many[0] if len(many) == 1 else f"{len(many)} files: {words}" for words, many in alike)
        return Reading(tuple(sentences), tuple(self.notes), skipped, dict(account), counts)

    def warn(self) -> None:
        """Give each note as a warning, and say how many broken rows were left out."""
        for note in self.notes:
            warnings.warn(note, AssumptionWarning, stacklevel=4)
        broken = self.skipped - sum(note.endswith(LEFT_OUT) for note in self.notes)  # those files have their own note
        if broken:
            warnings.warn(f"{counted(broken, 'broken row')} skipped", AssumptionWarning, stacklevel=4)


def read_files(
    paths: Paths,
    *,
    format: str | None = None,
    label: str | None = None,
    columns: Mapping[str, str] | None = None,
    on_error: str = "raise",
    progress: bool = False,
    answers: bool = False,
    asked: SampleRequest = ALL,
    aside: Callable[[Source], bool] | None = None,
    absent: Sequence[str] | str | None = None,
    where: Mapping[str, str] | None = None,
    **hints: Any,
) -> FileRows:
    """The rows of each file, or of a sample of their recordings; files that ``aside`` takes are no annotations.

    With ``on_error="collect"`` broken rows and files that cannot be read are kept for whoever asks (the linter).
    """
    collect = on_error == "collect"
    if not collect:
        choice("on_error", on_error, ON_ERROR)
    chosen = named(format) if format is not None else None
    items = listed_paths(paths)
    given = {each for item in items for each in (os.fspath(item), str(Path(item)))}
    told = {"present" if role == "answer" else role: str(name) for role, name in (columns or {}).items()}
    by_file = told.get("annotator") == "@file" and bool(told.pop("annotator"))  # each file is an annotator's
    hints |= {"on_error": on_error, "label": label, "recording_length": asked.lengths}
    hints["layer"] = {role: name for role, name in (where or {}).items() if role in LAYERS}
    with ExitStack() as stack:
        found = stack.enter_context(opened(items, told, asked, progress=progress))
        sizes = (len(s.data) if "data" in vars(s) else s.path.stat().st_size for s in found.sources)
        many, total = len(found.sources) > 1, sum(sizes)
        advance = stack.enter_context(progress_bar("checking" if collect else "reading", total, show=progress))
        for source in found.sources:
            vars(source).update(hints, advance=advance)
            try:
                if aside is not None and chosen is None and aside(source):
                    continue
                kind = chosen or detect(source)
                rows = (kind.read_answers if answers and kind.read_answers else kind.read)(source)
                if not kind.binary:
                    source.ended([*rows.places, *rows.blank, *set().union(*rows.merged.values())], rows.data["label"])
                for name, seconds in rows.lengths.items():
                    plausible_length(f"{source.name}: the recording {quoted(name)}", seconds)
            except InvalidInput as error:
                found.refused.append((source, error))
                if collect:
                    continue
                leave = many and chosen is None and source.name not in given
                if "skip" not in on_error or not many:
                    way = "; on_error='skip' (--on-error skip) leaves the file out" if leave else ""
                    raise InvalidInput(f"{error}{way}") from error
                found.notes.append(f"{error}{LEFT_OUT}")
                found.skipped += 1
                continue
            if told.get("recording") == "@file" and {*rows.data["recording"], *rows.empty} - {source.own}:
                rows.called(source.stem())
            if by_file:
                rows.data["annotator"] = [source.stem()] * len(rows)
            words = "" if rows.weak or collect else suspected_unit(source, rows.data["onset"], rows.data["offset"])
            source.notes[:0] = [f"{source.name}: {words}"] if words else []
            found.files.append(rows)
            account = rows.account
            found.skipped += account["skipped"]
            lost = account["rows"] - sum(account[name] for name in FATES)
            if lost:
                found.notes.append(f"{source.name}: {counted(lost, 'row')} of {account['rows']} not accounted for")
    _settle(found, label, absent)
    return found


def _settle(found: FileRows, label: str | None, absent: Sequence[str] | str | None) -> None:
    """Take classes that say "nothing there" as such, where told; else ask about those that may."""
    given = absent.split(",") if isinstance(absent, str) else list(absent or ())
    if given and given != ["none"]:
        known = {name for rows in found.files for name in set(rows.data["label"])}
        missing = [name for name in given if name not in known]
        if missing:
            some = ", ".join(map(quoted, sorted(known)[:12]))
            raise InvalidInput(f"absent: no event is called {quoted(missing[0])}; there are {some}")
        for rows in found.files:
            rows.nothing_in(np.array([name in given for name in rows.data["label"]], dtype=bool))
    elif not given and label is None:
        nothing, looked = doubtful({name for rows in found.files if not rows.weak for name in set(rows.data["label"])})
        if nothing:
            told, some = shlex.quote(",".join(nothing)), ", ".join(map(quoted, nothing[:4]))
            found.doubts.append(f"{some} may say that nothing was there: --absent {told} if so, --absent none if not")
        for name in looked:
            told = shlex.quote(f"label={name}")
            found.doubts.append(f"{quoted(name)} may say what was looked at: --examined {told} if so")


@contextmanager
def opened(
    items: Sequence[str | os.PathLike[str]], told: dict[str, str], asked: SampleRequest = ALL, *, progress: bool = False
) -> Iterator[FileRows]:
    """The files to be read, whole or with the rows of a sample only; and notes."""
    if asked.sample is not None and sum(each.n_bytes for each in listings(items).values()) > MOST_BYTES:
        away = Dataset.of(items, columns=told)  # read where it lies
        yield _sampled(away, {n: address_of(n, away.scheme) for n in away.files}, asked, told, [])
        return
    with files_of(items, progress=progress) as (files, notes):
        rows, table = rows_in(files), None
        if isinstance(asked.sample, int) or (asked.sample == "auto" and rows > LARGE):
            try:
                table = Dataset.of(list(files), columns=told) if all(table_kind(each.name) for each in files) else None
            except InvalidInput:  # of another format
                if rows > MOST_ROWS:
                    raise
        if table is not None:
            called = {os.path.abspath(path): name for path, name in files.items()}
            yield _sampled(table, called, asked, told, notes)
        elif rows > MOST_ROWS:
            first, more = next(iter(files.values())), " ..." if len(files) > 1 else ""
            raise InvalidInput(f"{first}{more}: {beyond(rows)}")
        else:
            yield FileRows([Source(path, columns=dict(told), called=name) for path, name in files.items()], notes)


def _sampled(
    tables: Dataset, names: Mapping[str, str], asked: SampleRequest, told: dict[str, str], notes: list[str]
) -> FileRows:
    """The files of a data set that have rows of a sample, as if they held nothing else; notes; and the sample."""
    looks = [look(tables, file) for file in range(len(tables.files))]
    count: Counter[str] = Counter()
    for _, own, rows in (group for groups in looks for group in groups):
        count.update(dict(zip(own, rows)))
    sample = RecordingSample.of(count, asked, notes)
    wanted = [[group for group, own, _ in groups if not sample.names.isdisjoint(own)] for groups in looks]
    del looks, count
    recording = dict(tables.columns)["recording"]
    # A few rows may not tell what many told.
    columns = told if suited([recording], "recording") else {"recording": recording, **told}
    full = [file for file, groups in enumerate(wanted) if groups] or [0]  # without rows there are still columns
    sources = []
    for file in sorted(full, key=lambda file: Path(tables.files[file])):
        path = tables.files[file]
        sources.append(Source(Path(path), columns=dict(columns), called=f"{names[path]} (sample)"))
        sources[-1].data = tables.part(file, wanted[file], sample.names)
    return FileRows(sources, notes, sample)


def gathered(paths: Paths, *, asked: SampleRequest = ALL, **how: Any) -> FileRows:
    """All that files hold together, recordings told apart by folder, or a sample of their recordings."""
    found = read_files(paths, asked=asked, **how)
    noted = ((rows.source.name, note) for rows in found.files for note in rows.source.notes)
    alike = grouped((note.removeprefix(f"{name}: "), note) for name, note in noted).values()  # of several files
    once = (many[0] if len(many) == 1 else f"{counted(len(many), 'file')}, first {many[0]}" for many in alike)
    found.notes = [*found.doubts, *found.notes, *once]
    _tell_apart(found.files, found.notes)
    _annotated_twice(found.files, found.notes)
    if not found.files:
        first = found.notes[0] if found.notes else ""
        raise InvalidInput(f"none of the {len(found.sources)} files could be read; the first: {first}")
    if isinstance(asked.sample, int) and found.sample is None:
        count = Counter(name for rows in found.files for name in rows.data["recording"])
        for rows in found.files:
            count.update(dict.fromkeys([*rows.empty, *rows.unannotated, *rows.lengths], 0))
        found.sample = RecordingSample.of(count, asked, found.notes)
        for rows in found.files:
            found.sample.keep(rows)
    return found


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
        told = f"{counted(len(twice), 'recording')} (first {quoted(name, most=60)}) with the same class in several "
        told += f"files (first {one.source.name} and {other.source.name}), taken together"
        notes.append(f"{told}; --columns annotator=@file if each file is an annotator's")


def _tell_apart(found: Sequence[TextRows], notes: list[str]) -> None:
    """Recordings that files are named after, where files in several folders have the same name, get their folder's."""
    named = (({*rows.data["recording"], *rows.empty, *rows.unannotated}, rows) for rows in found if rows.source.own)
    owners = grouped((rows.source.own, rows) for names, rows in named if names == {rows.source.own})
    twice = {name: many for name, many in owners.items() if len({rows.source.path.parent for rows in many}) > 1}
    if not twice:
        return
    top = os.path.commonpath([rows.source.path.parent.resolve() for many in twice.values() for rows in many])
    for name, many in twice.items():
        for rows in many:
            rows.called(f"{os.path.relpath(rows.source.path.parent.resolve(), top)}/{name}".removeprefix("./"))
    first = quoted(next(iter(twice)), most=60)
    notes.append(f"{counted(len(twice), 'name')} of files in several folders (first {first}): called with the folder")


def merged_columns(found: Sequence[TextRows]) -> dict[str, Any]:
    """The columns of many files, one below the other; a column that a file does not have is empty there."""
    merged: dict[str, Any] = {}
    for name in dict.fromkeys(name for rows in found for name in rows.data):
        there = [rows.data[name] for rows in found if name in rows.data]
        if all(isinstance(part, np.ndarray) for part in there):
            none = False if there[0].dtype.kind == "b" else np.nan
            merged[name] = np.concatenate([rows.data.get(name, np.full(len(rows), none)) for rows in found])
        else:
            column = [value for rows in found for value in rows.data.get(name, [""] * len(rows))]
            merged[name] = pd.Series(column, dtype=object)
    return merged
