"""What is probably wrong with annotation files: found, counted and named by file and line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..base.results import Condition, to_jsonable
from ..model.answers import several
from .dataset import Paths
from .gather import match_lengths, name_key, read_files
from .reading import Options, asked_of, beside, lengths_in, looked_at, read_examined, touching_frames
from .source import PARQUET, Source, grouped, quoted
from .table import TextRows
from .times import suspected_unit
from .tool_tables import clip_length
from .vocabulary import MEDIA, is_lengths

_ERRORS = re.compile(r"^#(NAME\?|REF!|VALUE!|DIV/0!|N/A|NUM!|NULL!|SPILL!)")
_MONTH = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_DATES = re.compile(rf"^(\d{{1,2}}-({_MONTH})|({_MONTH})-\d{{1,2}}|\d{{1,2}}/\d{{1,2}}/\d{{2,4}})$", re.IGNORECASE)
_ROUNDED = re.compile(r"^\d(\.\d+)?E\+\d{2}$")
_FORMULA = re.compile(r"^[=@]|^[+-]\w+\(")

#: What a finding may be about; conditions such as ``past_the_end>0`` name them with underscores.
FINDINGS = (
    "unreadable", "end before start", "zero length", "negative time", "not a number", "broken row", "milliseconds",
    "past the end", "duplicate", "overlap", "touching", "points", "several annotators", "several channels",
    "boxes and whole files",
    "unused column", "unknown columns", "columns", "encoding", "cumulative times", "spreadsheet damage", "formula",
    "cut short", "almost the same", "missing recording", "missing annotation", "not examined", "not annotated",
    "absence",
)  # fmt: skip


@dataclass(frozen=True)
class FileFinding:
    """One kind of trouble in one file: where it first occurs, how often, and what it probably is."""

    file: str
    line: int | str | None
    kind: str
    n: int
    message: str

    def __str__(self) -> str:
        at, times = "" if self.line is None else f":{self.line}", "" if self.n == 1 else f" [{self.n} times]"
        return f"{self.file}{at}: {self.kind}{times}: {' '.join(self.message.split())}"


@dataclass(frozen=True)
class Check:
    """The findings of :func:`check`, with what was looked at."""

    files: tuple[str, ...]
    n_events: int
    n_recordings: int
    findings: tuple[FileFinding, ...]
    readings: tuple[tuple[str, str], ...] = ()  # file and what was taken as what
    account: Mapping[str, int] = field(default_factory=dict)  # rows = events + empty + skipped + merged, all in rows
    merged: Mapping[str, int] = field(default_factory=dict)  # why rows say nothing of their own: how many
    sample: Mapping[str, int] | None = None  # of a large table: recordings and rows, of how many
    what: str = "event"  # what n_events counts: "answer" where segments were asked about

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def holds(self, condition: str) -> bool:
        """Whether a condition holds of the counts: ``findings>0``, ``skipped>=10``, ``past_the_end>0``."""
        counts = {"findings": len(self.findings), "recordings": self.n_recordings, **self.account}
        counts["events"] = self.n_events  # a row may hold several
        kinds = dict.fromkeys((kind.replace(" ", "_") for kind in FINDINGS), 0)
        for item in self.findings:
            kinds[item.kind.replace(" ", "_")] += item.n
        return Condition.parse(condition).holds({"all": {name: float(n) for name, n in (counts | kinds).items()}})

    def to_frame(self) -> pd.DataFrame:
        """One row per finding."""
        return pd.DataFrame(list(self.findings), columns=["file", "line", "kind", "n", "message"])

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        return {
            "files": list(self.files),
            "n_events": self.n_events,
            "n_recordings": self.n_recordings,
            "readings": [list(pair) for pair in self.readings],
            "account": dict(self.account),
            **({} if self.sample is None else {"sample": dict(self.sample)}),
            "findings": [to_jsonable(item) for item in self.findings],
        }


def check(
    path: Paths,
    *,
    format: str | None = None,
    label: str | None = None,
    examined: str | Path | None = None,
    recordings: str | Path | None = None,
    **options: Unpack[Options],
) -> Check:
    """The findings of a linter for annotation files: broken rows, wrong units, duplicates, missing recordings, ...

    The parameters are those of :func:`weakly.read`, but broken rows are findings whatever ``on_error`` says; a file
    among ``path`` that lists lengths is used so.
    Of tables (Parquet, CSV) with more than 5 million rows a sample of recordings is looked at, which ``sample`` tells.
    ``recordings`` is a folder with the sounds: names without a sound, and sounds without annotations, are findings.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.tsv"
    ...     _ = path.write_text("filename\\tonset\\toffset\\tevent_label\\na.wav\\t2\\t1\\tDog\\n")
    ...     [(found.line, found.kind) for found in check(path).findings]
    [(2, 'end before start')]
    """
    options.setdefault("sample", "auto")
    asked, how = asked_of(options)
    lengths = dict(asked.lengths) if isinstance(asked.lengths, Mapping) else {}

    def lists_lengths(source: Source) -> bool:
        try:
            listed = not source.data.startswith(PARQUET) and is_lengths(source)
        except InvalidInput:  # what it is instead, detection says
            return False
        if listed:
            given = Source(source.path, called=source.called)
            lengths.update(lengths_in(given))
            source.signs += given.signs
        return listed

    columns = options.get("columns") or {}
    how["columns"] = {role: name for role, name in columns.items() if (role, name) != ("annotator", "@file")}
    how["on_error"] = "collect"
    reads = read_files(path, format=format, label=label, aside=lists_lengths, asked=asked, **how)
    looked = str(examined)[6:] if str(examined).startswith("label=") else None
    if looked is not None:
        looked_at(reads, looked)
    tables, files = reads.files, [source.name for source in reads.sources]

    def noted(source: Source, kind: str, words: str) -> FileFinding:
        words = words.removeprefix(f"{source.name}: ").removeprefix(f"{source.name}, ")
        return FileFinding(source.name, None, kind, 1, words)

    found = [noted(source, "unreadable", str(error)) for source, error in reads.refused]
    found += [item for source in reads.sources for item in _broken(source)]
    found += [noted(source, kind, words) for source in reads.sources for kind, words in source.signs]
    for rows in tables:
        _choose(rows, label, options)
    everyone = asked.lengths if isinstance(asked.lengths, float) else 0.0
    names = list(dict.fromkeys(name for rows in tables for name in [*rows.data["recording"], *rows.empty]))
    try:
        known = match_lengths(lengths, names, []) if lengths else {}
    except InvalidInput as error:
        known = {}
        found.append(FileFinding(files[0], None, "missing recording", len(lengths), str(error)))
    names_ = ("onset", "offset", "annotator", "low_frequency", "high_frequency", "channel", "tier", "present")
    for rows in tables:
        columns_ = {n: pd.Categorical(rows.data[n]) for n in ("recording", "label")}  # compared by number
        frame = pd.DataFrame(columns_ | {n: rows.data[n] for n in names_ if n in rows.data})
        found += [*_times(rows, frame, known, everyone), *_words(rows), *_kinds(rows, frame)]
    found += [FileFinding(files[0], None, "absence", 1, words) for words in reads.doubts]
    if examined is not None and looked is None:
        known_, there = set(names), list(dict.fromkeys(read_examined(examined)["recording"]))
        gone, more = [n for n in there if n not in known_], [n for n in names if n not in set(there)]
        found += _only_here(str(examined), "missing recording", gone, "examined recordings that no file annotates")
        found += _only_here(str(examined), "not examined", more, "annotated recordings that were not examined")
    found += _names(tables, lengths)
    if recordings is not None:
        found += _sounds(names, Path(recordings))
    # A file's findings stand together, in the order of the files.
    order = {file: i for i, file in enumerate(files)}
    found.sort(key=lambda item: order.get(item.file, len(order)))
    readings = tuple((rows.source.name, rows.reading) for rows in tables if rows.reading)
    what = "answer" if tables and all(rows.weak for rows in tables) else "event"
    merged = Counter(why for rows in tables for why, places in rows.merged.items() for _ in places)
    counts = sum(map(len, tables)), len(names)
    sample = None if reads.sample is None else reads.sample.counts
    return Check(tuple(files), *counts, tuple(found), readings, reads.account, merged, sample, what)


def _choose(rows: TextRows, label: str | None, options: Options) -> None:
    """Only the rows of the selection, with the same rules as for events; the others say nothing here."""
    known, merge, annotator = set(rows.data["label"]), options.get("merge") or {}, options.get("annotator")
    into = {str(old): str(new) for new, olds in merge.items() for old in (known if list(olds) == ["*"] else olds)}
    rows.data["label"] = [into.get(value, value) for value in rows.data["label"]]
    wanted = {name: [value] for name, value in (options.get("where") or {}).items()}
    wanted |= {"annotator": several(annotator)} if annotator else {}
    wanted |= {"label": [label]} if label is not None and label in rows.data["label"] else {}
    for name, values in wanted.items():
        name = name if name in rows.data else rows.aliases.get(name, name)
        if name in rows.data:
            rows.keep(np.array([str(own) in values for own in rows.data[name]], dtype=bool), why="not selected")


def _kinds(rows: TextRows, frame: pd.DataFrame) -> list[FileFinding]:
    """Rows of several kinds in one file: boxes beside whole files, several annotators, frames that touch."""
    found: list[FileFinding] = []
    name, weak = rows.source.name, rows.data.get("weak")
    if weak is not None and weak.any() and not weak.all():
        words = "rows about whole files among boxes; --where is_box=1 (or is_box=0) takes one kind"
        found.append(FileFinding(name, rows.places[weak.argmax()], "boxes and whole files", int(weak.sum()), words))
    if rows.weak or not len(rows):
        return found
    found += [FileFinding(name, None, f"several {column.lower()}s", n, words) for column, n, words in beside(frame)]
    touching_frames(frame, notes := list[str]())
    return found + [FileFinding(name, None, "touching", 1, words) for words in notes]


def _only_here(
    file: str, kind: str, names: Sequence[str], words: str, place: int | str | None = None
) -> list[FileFinding]:
    """The finding that one side alone knows these names, if there are any."""
    told = f"{words} (first: {quoted(names[0], most=60)})" if names else ""
    return [FileFinding(file, place, kind, len(names), told)] if names else []


def _broken(source: Source) -> list[FileFinding]:
    """The rows that could not be read, one finding per kind; a row that is broken twice counts once."""
    kinds = {
        "ends before it starts": ("end before start", "onset and offset swapped?"),
        "has no length": ("zero length", "a point label? points cannot be evaluated"),
        "starts before 0": ("negative time", ""),
        "is not a number": ("not a number", ""),
    }
    first = {problem[0]: problem for problem in reversed(source.problems)}
    every = (problem for problem in source.problems if first[problem[0]] is problem)
    usual, found = ("broken row", ""), []
    groups = grouped((next((kinds[part] for part in kinds if part in each[2]), usual), each) for each in every)
    for (kind, guess), items in groups.items():
        place, column, words = items[0]
        words = (f"column {quoted(column)}: " if column else "") + words + (f"; {guess}" if guess else "")
        found.append(FileFinding(source.name, place, kind, len(items), words))
    return found


def _times(rows: TextRows, frame: pd.DataFrame, lengths: Mapping[str, float], everyone: float) -> list[FileFinding]:
    file, places = rows.source.name, rows.places
    frame = frame[np.isfinite(frame["offset"])] if rows.weak else frame
    if not len(frame):
        return []
    found: list[FileFinding] = []

    def add(mask: Any, kind: str, words: str) -> None:
        where = np.flatnonzero(np.asarray(mask))
        if len(where):
            first = int(where[0])
            row = frame.iloc[first]
            event = f"{row['onset']:g}-{row['offset']:g} s {quoted(row['label'])}"
            event += f" in {quoted(row['recording'], most=60)}"
            found.append(FileFinding(file, places[frame.index[first]], kind, len(where), f"{words} (first: {event})"))

    onset, offset = frame["onset"].to_numpy(), frame["offset"].to_numpy()
    unit = suspected_unit(rows.source, onset, offset)
    owners = rows.data["recording"] if len(frame) == len(rows) else frame["recording"].tolist()
    known = {n: float(lengths.get(n) or everyone or rows.lengths.get(n) or clip_length(n)) for n in set(owners)}
    limit = np.fromiter((known[name] for name in owners), np.float64, len(owners))
    late = offset > limit * (1 + 1e-9)
    if unit or (late.any() and np.nanmedian(offset[late] / limit[late]) > 100):
        words = "probably milliseconds (or sample numbers) taken for seconds; --columns rate=1000 (or the sample rate)"
        add(np.ones(len(frame), bool) if unit else late, "milliseconds", unit or words)
    else:
        add(late, "past the end", "events end after their recording does")
    same = frame.duplicated(keep="first")
    add(same, "duplicate", "rows that repeat an earlier one")
    if not rows.weak:
        add(_overlaps(frame, same.to_numpy()), "overlap", "events that overlap an earlier one of the same class")
    return found


def _overlaps(frame: pd.DataFrame, same: Any) -> Any:
    """Which rows begin before an earlier row of the same recording, class and annotator has ended."""
    keys = [name for name in ("recording", "label", "annotator", "channel", "tier") if name in frame]
    code = frame.groupby(keys, sort=False, dropna=False, observed=True).ngroup().to_numpy()
    onset, offset = frame["onset"].to_numpy(), frame["offset"].to_numpy()
    order = np.lexsort((offset, onset, code))
    order = order[~same[order]]
    reach = pd.Series(offset[order]).groupby(code[order]).cummax().to_numpy()
    late = np.zeros(len(frame), dtype=bool)
    late[order[1:]] = (np.diff(code[order]) == 0) & (onset[order][1:] < reach[:-1] - 1e-9)
    return late


def _words(rows: TextRows) -> list[FileFinding]:
    """What spreadsheets did to names and labels, and what they would do."""
    found: list[FileFinding] = []
    tests = (
        (_ERRORS, "spreadsheet damage", "a spreadsheet's error stands in place of a {}"),
        (_DATES, "spreadsheet damage", "a spreadsheet has probably made dates of {}s"),
        (_ROUNDED, "spreadsheet damage", "a spreadsheet has probably rounded long {}s"),
        (_FORMULA, "formula", "a spreadsheet would take {}s for formulas"),
    )
    for column in ("recording", "label"):
        own, word = column == "recording", "recording's name" if column == "recording" else "label"
        values = list(rows.data[column]) + (rows.empty if own else [])
        unique = set(values)
        for pattern, kind, words in tests:
            hits = {value for value in unique if pattern.search(value)}
            where = [i for i, value in enumerate(values) if value in hits] if hits else []
            if where:
                place = rows.places[where[0]] if where[0] < len(rows) else None
                told = f"{words.format(word)} (first: {quoted(values[where[0]])})"
                found.append(FileFinding(rows.source.name, place, kind, len(hits if own else where), told))
    return found


def _names(tables: Iterable[TextRows], lengths: Mapping[str, float]) -> list[FileFinding]:
    """Names that are almost the same, and recordings that only one side knows."""
    found: list[FileFinding] = []
    known: dict[str, tuple[str, int | str | None]] = {}
    labels: dict[str, tuple[str, int | str | None]] = {}
    for rows in tables:
        for column, where in (("recording", known), ("label", labels)):
            first = dict(zip(reversed(rows.data[column]), reversed(rows.places)))
            for name in dict.fromkeys(rows.data[column]):
                where.setdefault(name, (rows.source.name, first[name]))
        for name in rows.empty:
            known.setdefault(name, (rows.source.name, None))
    place: int | str | None
    for what, names, where, key in (
        ("recordings", [*known, *(name for name in lengths if name not in known)], known, name_key),
        ("labels", list(labels), labels, lambda text: re.sub(r"[\s_-]+", "_", text.strip()).lower()),
    ):
        close = [group for group in grouped((key(name), name) for name in names).values() if len(group) > 1]
        if close:
            file, place = next((where[name] for name in close[0] if name in where), ("recording_length", None))
            pair = " and ".join(quoted(name, most=60) for name in close[0][:2])
            words = f"{what} whose names are almost the same, probably one and the same (first: {pair})"
            found.append(FileFinding(file, place, "almost the same", len(close), words))
    if lengths and known:
        try:
            matched = match_lengths(lengths, known, [])
        except InvalidInput:  # no name fits, which is said already
            return found
        # A list of lengths speaks for the files of which it knows at least one recording.
        files = {where[0] for name, where in known.items() if name in matched}
        without = [name for name, where in known.items() if name not in matched and where[0] in files]
        unused = [name for name in matched if name not in known]
        file, place = known[without[0]] if without else ("", None)
        found += _only_here(file, "missing recording", without, "annotated recordings without a length", place)
        words = "recordings with a length that no file annotates"
        found += _only_here(min(files), "missing recording", unused, words) if files else []
    return found


def _sounds(names: list[str], folder: Path) -> list[FileFinding]:
    if not folder.is_dir():
        raise InvalidInput(f"recordings must be a folder with sound files, got {str(folder)!r}")
    there = {name_key(p.name): p.name for p in sorted(folder.rglob("*")) if MEDIA.search(p.name)}
    keys = {name_key(name): name for name in names}
    gone = [name for key, name in keys.items() if key not in there]
    found = _only_here(str(folder), "missing recording", gone, "annotated recordings without a sound file")
    more = [name for key, name in there.items() if key not in keys]
    words = "sound files without annotations; empty ones deserve a row too"
    return found + _only_here(str(folder), "missing annotation", more, words)
