"""Queries for the annotator's tool (Label Studio, Raven, Audacity, clip tables, cut clips), and the answers from it.

A file in which somebody may have typed is never written over: its answers are taken into the store, its text stays as
it is, and only rows that it lacks are added behind it. Every file appears whole or not at all.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...base.results import private_files, to_jsonable, write_file
from ...base.symbols import choice
from ...io.gather import gathered
from ...io.labelstudio import CHOICES, REGION, labeling_config, query_task
from ...io.signals import write_clip
from ...io.source import grouped
from ...io.table import TextRows
from ...io.vocabulary import UNREADABLE, answer_of
from ...model.answers import Answers
from ...posterior.slips import slips_of
from .store import Answer, fingerprint, same

if TYPE_CHECKING:
    from ...methods.base import Recording
    from .campaign import Campaign
    from .query_set import Queries

TOOLS = ("labelstudio", "raven", "audacity", "csv", "clips", "birdnet", "zooniverse")
_REVIEWED = {"Positive": 1.0, "Negative": 0.0}  # where BirdNET's review moves the clips of a label
_ID = re.compile(r"\b[0-9a-f]{12}\b")
_CLIP = re.compile(r"(?:^|/)([0-9a-f]{12})\.\w+$")  # a cut clip is called by its query
_CLOCKS = ("answered", "updated_at", "when", "created_at")  # what tells when an answer was given


def table(frame: pd.DataFrame, sep: str = ",") -> str:
    """The table as text: no index, Unix line ends."""
    buffer = io.StringIO()
    frame.to_csv(buffer, index=False, sep=sep, lineterminator="\n")
    return buffer.getvalue()


def text_of(path: Path) -> str:
    """The text of a file; "" where there is none."""
    try:
        return path.read_bytes().decode("utf-8") if path.is_file() else ""
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not text ({error.reason}); move it away, it is left as it is") from error


class Exporter:
    """Writes the files of one campaign into its folder, and remembers what it wrote."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign, self.folder, self.store = campaign, campaign.folder, campaign.store
        self.paths: list[Path] = []

    def place(self, path: Path, text: str) -> None:
        """The file with this text; untouched if it has it already. What somebody changed must not get here."""
        data = text.encode("utf-8")
        if not (path.is_file() and path.read_bytes() == data):
            # Remembered first: after a crash the file is ours, whichever of the two it is.
            self.store.written(self._name(path), data)
            write_file(path, data)
        self.paths.append(path)

    def _name(self, path: Path) -> str:
        return os.path.relpath(path, self.folder)

    def changed(self, path: Path) -> bool:
        """Whether somebody changed the file since it was written."""
        return path.is_file() and fingerprint(path.read_bytes()) not in self.store.written(self._name(path))

    def rows(self, path: Path, frame: pd.DataFrame, *, key: str, sep: str = ",") -> None:
        """A table with these rows: where one is there, only the rows that it lacks are added behind its own text."""
        text = text_of(path)
        if not text.strip():
            return self.place(path, table(frame, sep))
        first = text.partition("\n")[0].rstrip("\r")
        sep = max((sep, "\t", ";", ","), key=first.count)
        try:
            found = list(csv.reader(io.StringIO(text), delimiter=sep))
        except csv.Error as error:
            why = f"is not a table any more ({error}); move it away, it is left as it is"
            raise InvalidInput(f"{path}: {why}") from error
        names = [name.strip().strip("\ufeff") for name in found[0]]
        if key not in names:
            why = "is not rewritten, for somebody may have typed in it; move it away and run the command again"
            raise InvalidInput(f"{path}: has no column {key!r} and {why}")
        at = names.index(key)
        known = {row[at].strip() for row in found[1:] if len(row) > at}
        new = frame[~frame[key].isin(known)]
        if new.empty:
            self.paths.append(path)
            return None
        more = table(new.reindex(columns=names), sep).partition("\n")[2]
        end = "\r\n" if first != text.partition("\n")[0] else "\n"
        return self.place(path, text + ("" if text.endswith("\n") else end) + more.replace("\n", end))

    def lines(self, path: Path, lines: dict[str, str]) -> None:
        """Lines by query: those that the file lacks are added behind its own."""
        text = text_of(path)
        known = set(_ID.findall(text))
        more = "".join(line for query, line in lines.items() if query not in known)
        self.place(path, text + ("" if not text or text.endswith("\n") else "\n") + more if more or not text else text)

    def whole(self, path: Path, text: str, *, theirs: bool = False) -> None:
        """A file that is ours; one that somebody changed stays (``theirs``), or stops us if it lacks something."""
        if not self.changed(path) or text_of(path) == text:
            return self.place(path, text)
        if not theirs and not set(_ID.findall(text)) <= set(_ID.findall(text_of(path))):
            how = "its answers are in the campaign; move it away and run the command again"
            raise InvalidInput(f"{path}: was changed since it was written and lacks new queries; {how}")
        self.paths.append(path)
        return None


@private_files()
def write(
    queries: Queries,
    out: str | os.PathLike[str],
    *,
    to: str = "csv",
    url_prefix: str = "/data/local-files/?d=",
    cut: bool = False,
    fade: float = 0.005,
) -> list[Path]:
    """Take the queries into the campaign of a folder, and write the files of one tool; the paths, the store first.

    Parameters
    ----------
    queries : what :func:`weakly.queries` returned. In a folder with earlier rounds, its rows are added to theirs; a
        folder that holds another campaign is refused.
    to : "labelstudio" (tasks and a labelling configuration), "raven" and "audacity" (one file per recording), "csv" (a
        table with one row per clip: file, start_time, end_time, annotation), "clips" (that table over cut WAV files),
        "birdnet" (cut files in a folder per label, as BirdNET trains on and reviews them), "zooniverse" (cut files and
        the manifest of a subject set).
    url_prefix : what stands before a recording's path in Label Studio; the default is its local file storage.
    cut : for Label Studio, cut WAV clips and let each task play only its own; else the task holds the recording with
        the segment marked in it.
    fade : seconds of fade at both ends of a cut clip.
    """
    from .campaign import QUERIES, Campaign

    choice("to", to, TOOLS)
    if cut and to in ("raven", "audacity", "csv"):
        raise InvalidInput(f"cut is for Label Studio; {to} opens whole recordings, and to='clips' cuts for any tool")
    cuts = cut or to in ("clips", "birdnet", "zooniverse")
    if cuts:
        for name in queries.frame["recording"].unique():
            if queries.recordings[str(name)].path is None:
                raise InvalidInput(f"recording {name!r}: clips need its audio, and only its length is known")
    campaign = Campaign.start(out, queries, tool={"to": to, "url_prefix": url_prefix, "cut": cut})
    folder, frame, known = campaign.folder, campaign.queries, campaign.everything() | queries.recordings
    typed = {answer.query: CHOICES[2 if np.isnan(answer.present) else 0 if answer.present else 1]
             for answer in campaign.answers if not answer.annotator}  # fmt: skip
    frame = frame.assign(answer=[typed.get(query, "") for query in frame["query"]])
    export = Exporter(campaign)
    export.rows(folder / QUERIES, frame.drop(columns="answer"), key="query")
    names = _in_folders(frame) if to == "birdnet" else {query: f"{query}.wav" for query in frame["query"]}
    clips: list[Path] | None = None
    if cuts:
        place = folder / ("birdnet" if to == "birdnet" else "clips")
        clips = _cut(frame, known, place, names, fade=fade, sample_rate=queries.parameters["sample_rate"])
        export.paths += clips
    if to == "labelstudio":
        _labelstudio(export, frame, known, clips, url_prefix)
    elif to == "raven":
        for name, part in frame.groupby("recording", sort=False):
            export.rows(folder / "raven" / f"{_stem(name)}.Table.1.selections.txt", _raven(part), key="Query", sep="\t")
    elif to == "audacity":
        for name, part in frame.groupby("recording", sort=False):
            export.lines(folder / "audacity" / f"{_stem(name)}.txt", _audacity(part))
    elif to == "zooniverse":
        hidden = {f"#{name}": frame[name] for name in ("query", "recording", "onset", "offset", "label")}  # from people
        listing = pd.DataFrame({"filename": frame["query"].map(names), **hidden})
        export.rows(folder / "clips" / "manifest.csv", listing, key="filename")
    elif to != "birdnet":
        listing = _clips(frame, known)
        if clips is not None:
            listing["file"] = [str(path.relative_to(folder)) for path in clips]
            listing["start_time"], listing["end_time"] = 0.0, (frame["offset"] - frame["onset"]).round(6).to_numpy()
        export.rows(folder / "clips.csv", listing, key="query")
    return [*([] if campaign.store.file is None else [campaign.store.file]), *export.paths]


def _stem(name: Any) -> str:
    return str(name).replace("/", "__").replace("\\", "__")


def _raven(part: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({
        "Selection": range(1, len(part) + 1),
        "View": "Spectrogram 1",
        "Channel": 1,
        "Begin Time (s)": part["onset"].map("{:.6f}".format),
        "End Time (s)": part["offset"].map("{:.6f}".format),
        "Low Freq (Hz)": "0.0",
        "High Freq (Hz)": "20000.0",
        "Begin File": part["recording"],
        "Query": part["query"],
        "Label": part["label"],
        "Answer": part["answer"],
    })  # fmt: skip


def _audacity(part: pd.DataFrame) -> dict[str, str]:
    columns = ["query", "onset", "offset", "label", "answer"]
    return {
        query: f"{onset:.6f}\t{offset:.6f}\t{query} {label}? {answer}".rstrip() + "\n"
        for query, onset, offset, label, answer in part[columns].itertuples(index=False)
    }


def _clips(frame: pd.DataFrame, known: dict[str, Recording]) -> pd.DataFrame:
    paths = {name: name if recording.path is None else str(recording.path) for name, recording in known.items()}
    return pd.DataFrame({
        "file": frame["recording"].map(paths),
        "start_time": frame["onset"].round(6),
        "end_time": frame["offset"].round(6),
        "annotation": frame["answer"],
        "comments": "",
        "label": frame["label"],
        "query": frame["query"],
    })  # fmt: skip


def _in_folders(queries: pd.DataFrame) -> dict[str, str]:
    """LABEL/NAME_12.00s_15.00s.wav of every query, with as many digits as its times have.

    Where an earlier query is called the same (repeats, a.wav beside a.flac), its id stands before the name.
    """
    found: dict[str, str] = {}  # the query of a name
    for query, name, label, *ends in queries[["query", "recording", "label", "onset", "offset"]].values.tolist():
        times = [f"{time:.6f}".rstrip("0").partition(".") for time in ends]
        clip = "_".join([_stem(Path(name).with_suffix("")), *(f"{a}.{b:0<2}s" for a, _, b in times)]) + ".wav"
        folder = _stem(label) if label.strip(".") else "_" * max(1, len(label))  # no folder above
        found[f"{folder}/{query}_{clip}" if f"{folder}/{clip}" in found else f"{folder}/{clip}"] = query
    return {query: name for name, query in found.items()}


def _cut(
    frame: pd.DataFrame, known: dict[str, Recording], folder: Path, names: Mapping[str, str], **how: Any
) -> list[Path]:
    paths = []
    for row in frame.to_dict("records"):
        target, source = folder / names[row["query"]], known[row["recording"]].path
        assert source is not None
        there = [target, *(target.parent / moved / target.name for moved in _REVIEWED)]
        held = next((path for path in there if path.is_file()), None)
        if held is None:  # its name says what is in it, so a clip that is there is right
            write_clip(source, target, onset=row["onset"], offset=row["offset"], **how)
        paths.append(held or target)
    return paths


def _labelstudio(
    export: Exporter, frame: pd.DataFrame, known: dict[str, Recording], clips: list[Path] | None, prefix: str
) -> None:
    rows = zip(frame.to_dict("records"), repeat(None) if clips is None else clips)
    tasks_of = ((int(row["round"]), query_task(row, clip, known[row["recording"]].path, prefix)) for row, clip in rows)
    turns = grouped(tasks_of)
    for turn, tasks in sorted(turns.items()):
        name = "tasks.json" if turn == 1 else f"tasks_{turn}.json"
        export.whole(export.folder / name, json.dumps(tasks, indent=1, ensure_ascii=False) + "\n")
    export.whole(export.folder / "labeling_config.xml", labeling_config(whole=clips is None), theirs=True)


@dataclass(frozen=True)
class Collected:
    """The answers of a campaign so far, what they lack, and what did not fit."""

    queries: pd.DataFrame
    answers: Answers
    pending: list[str]  # queries without an answer
    duplicates: list[str]  # the same annotator gave the same answer again
    contradictions: list[str]  # answers that differ: by one annotator (the last counts), or between annotators
    unknown: list[str] = field(default_factory=list)  # places of answers to no query of the campaign
    unreadable: list[str] = field(default_factory=list)  # places of words that are no answer

    @property
    def n_answered(self) -> int:
        """How many queries have an answer."""
        return len(self.queries) - len(self.pending)

    def seconds_per_query(self) -> dict[str, float]:
        """How long an answer takes: robust against breaks, because the clock of a tool runs on through them.

        ``median``; ``winsorised``: the mean after what lies beyond the median plus five times the median absolute
        deviation is set to that; ``mean``: as the clock says; ``n_idle``: how many were set.
        """
        seconds = self.answers.to_frame()["seconds"].dropna().to_numpy(float)
        if len(seconds) == 0:
            return {"n": 0, "median": np.nan, "winsorised": np.nan, "mean": np.nan, "n_idle": 0}
        middle = float(np.median(seconds))
        limit = middle + 5 * 1.4826 * max(float(np.median(np.abs(seconds - middle))), 0.1 * middle)
        robust = {"median": middle, "winsorised": float(np.minimum(seconds, limit).mean())}
        return {"n": len(seconds), **robust, "mean": float(seconds.mean()), "n_idle": int((seconds > limit).sum())}

    def to_dict(self) -> dict[str, Any]:
        """Counts, times and lists as JSON can hold them."""
        present = self.answers.to_frame()["present"]
        counts = {"queries": len(self.queries), "answered": self.n_answered, "answers": len(self.answers)}
        counts |= {"present": (present == 1).sum(), "absent": (present == 0).sum(), "unsure": present.isna().sum()}
        lists = {name: getattr(self, name) for name in ("duplicates", "contradictions", "unknown", "unreadable")}
        counts |= {"pending": len(self.pending)} | {name: len(each) for name, each in lists.items()}
        named = {f"n_{name}": count for name, count in counts.items()}
        return dict(to_jsonable({**named, **lists, "seconds_per_query": self.seconds_per_query()}))

    def to_frame(self) -> pd.DataFrame:
        """One row per answer."""
        return self.answers.to_frame()

    def slips(self) -> list[dict[str, Any]]:
        """What repeated segments tell of everybody who answered some: guesses, lapses, stickiness and drift."""
        rows = []
        for who, mine in self.answers.to_frame().sort_values("answered", kind="stable").groupby("annotator"):
            places = mine[["recording", "onset", "offset", "label"]].itertuples(index=False, name=None)
            found = slips_of(list(places), mine["present"].tolist())
            rows += [] if found is None else [{"annotator": who, **found.to_dict()}]
        return rows


def collect(
    queries: pd.DataFrame, answers: Iterable[Answer], *, unknown: Iterable[str] = (), unreadable: Iterable[str] = ()
) -> Collected:
    """Put answers and queries together, and say what is missing, double or contradictory.

    Of several answers of one annotator to one query the latest counts: by the tool's clock, else by their order.
    """
    order = {query: k for k, query in enumerate(queries["query"])}
    lost, duplicates, contradictions = list(unknown), list[str](), list[str]()
    latest: dict[tuple[str, str], Answer] = {}
    for one in answers:
        if one.query not in order:
            lost.append(f"{one.source}: {one.query}")
            continue
        before = latest.get((one.query, one.annotator))
        if before is not None:
            (duplicates if same(before.present, one.present) else contradictions).append(one.query)
            if before.answered > one.answered:
                continue
        latest[(one.query, one.annotator)] = one
    by_query: dict[str, set[float]] = {}
    for (query, _), one in latest.items():
        if not np.isnan(one.present):
            by_query.setdefault(query, set()).add(one.present)
    contradictions += [query for query, values in by_query.items() if len(values) > 1]
    ordered = sorted(latest.values(), key=lambda one: (order[one.query], one.annotator))
    rows = queries.set_index("query")[["recording", "onset", "offset", "label"]].to_dict("index")
    table = pd.DataFrame(
        [{**rows[one.query], "present": one.present, "annotator": one.annotator, "seconds": one.seconds,
          "query": one.query, "answered": one.answered} for one in ordered],
        columns=[*Answers.COLUMNS, "answered"],
    )  # fmt: skip
    pending = [query for query in queries["query"] if query not in {query for query, _ in latest}]
    return Collected(
        queries, Answers.from_frame(table), pending, list(dict.fromkeys(duplicates)),
        list(dict.fromkeys(contradictions)), lost, list(unreadable),
    )  # fmt: skip


class Returned(NamedTuple):
    """What was read: answers, the places of those about no query, and of words that are no answer."""

    answers: list[Answer]
    unknown: list[str]
    unreadable: list[str]


def read_returned(queries: pd.DataFrame, paths: Iterable[Path], folder: Path) -> Returned:
    """The answers in files of any tool to these queries: by their ids, by a clip's name, or by the segment."""
    known = dict(zip(queries["query"], queries["label"]))
    places = queries[["query", "recording", "onset", "offset"]].itertuples(index=False)
    by_time = grouped((_moment(*segment), query) for query, *segment in places)
    found = Returned([], [], [])
    paths = [path for path in paths if not (path.is_dir() and _take_reviewed(queries, path, folder, found))]
    for rows in (rows for path in paths for rows in _parsed(path)):
        file = rows.source.name
        broken = {_line(at): words for at, _, words in reversed(rows.source.problems)}
        found.unreadable.extend(f"{file}, {at}: {words}" for at, words in reversed(broken.items()))
        frame = pd.DataFrame(rows.data)
        choices = frame.groupby(["query", "annotation"])["label"].agg(list).to_dict() if "annotation" in frame else {}
        spoken: dict[int | str, dict[str, None]] = {}  # of which labels a row of the file speaks
        for at, label in zip(rows.places, frame["label"]):
            spoken.setdefault(at, {})[label] = None
        for at, row in zip(rows.places, frame.to_dict("records")):
            query, place = str(row.get("query") or ""), f"{file}, {_line(at)}"
            if query not in known and (clip := _CLIP.search(str(row["recording"]))):
                query = clip.group(1)
            if query not in known and not _ID.fullmatch(query):
                near = by_time.get(_moment(row["recording"], row["onset"], row["offset"]), [])
                query = next((one for one in near if known[one] == row["label"] or len(near) == 1), query)
            if query not in known:
                found.unknown.append(f"{place}: {query or 'no query id'}")
                continue
            present, said = float(row["present"]), list(spoken[at])
            if "annotation" not in row and len(said) > 1 and row["label"] != (meant := _meant(known[query], said)):
                if meant is None and row["label"] == said[0]:
                    words = ", ".join(map(repr, said[:3]))
                    found.unreadable.append(f"{place}: {words}: which of them is {known[query]!r}?")
                continue
            if "annotation" in row and row["label"] != known[query]:
                present, word = _choice(row["label"], present, choices.get((row["query"], row["annotation"]), []))
                if word is not None:
                    found.unreadable.extend([f"{place}: {word!r}"] if word else [])
                    continue
            clock = next((str(row[name]) for name in _CLOCKS if row.get(name)), "")
            who, seconds = str(row.get("annotator") or ""), float(row.get("seconds", np.nan))
            seconds = seconds if 0 <= seconds < np.inf else np.nan
            found.answers.append(Answer(query, present, who, seconds, clock, os.path.relpath(file, folder)))
    return found


def _take_reviewed(queries: pd.DataFrame, path: Path, folder: Path, found: Returned) -> bool:
    """Whether a folder holds clips that BirdNET reviews, whose answers are taken: moved into Positive and Negative."""
    called = {name: query for query, name in _in_folders(queries).items()}
    known = False
    for clip in sorted(path.absolute().rglob("*.wav")):
        query, waits = called.get(f"{clip.parent.parent.name}/{clip.name}"), f"{clip.parent.name}/{clip.name}" in called
        if clip.parent.name in _REVIEWED and query is not None:
            source = f"{clip.parent.parent.name}/{clip.name}"  # wherever it lies: where is what it says
            found.answers.append(Answer(query, _REVIEWED[clip.parent.name], "", np.nan, "", source))
        elif clip.parent.name in _REVIEWED and not waits:
            found.unknown.append(f"{os.path.relpath(clip, folder)}: no query id")
        known |= waits or clip.parent.name in _REVIEWED
    return known


def _moment(recording: str, onset: float, offset: float) -> tuple[str, float, float]:
    """A segment by its file's name and milliseconds, for answers that come without a query's id."""
    return Path(str(recording)).name, np.round(onset, 3), np.round(offset, 3)


def _parsed(path: Path) -> list[TextRows]:
    """What the readers of formats find in a file (or in the files of a folder), as answers."""
    kinds = {"clips.csv": "clips", "raven": "raven", "audacity": "audacity"}
    likely = kinds.get(path.name) or kinds.get(path.parent.name)
    how: dict[str, Any] = {"label": None, "columns": None, "on_error": "skip", "progress": False, "answers": True}
    found = gathered(path, format=likely, **how).files
    if all(rows.weak for rows in found):
        return found
    try:  # a table of clips in which one word is no answer is still one
        return gathered(path, format="clips", **how).files
    except InvalidInput:
        raise InvalidInput(f"{path}: holds events, and no answers to queries") from None


def _choice(label: str, present: float, offered: list[str]) -> tuple[float, str | None]:
    """The answer of a row of Label Studio that is not its query's label, or why it is none ("": it says nothing).

    Where all choices are answers, the row is the question's; where one is something else, every choice has a row.
    """
    if all(answer_of(word) in (None, UNREADABLE) for word in offered):
        return present, None if len(offered) == 1 and label != REGION else label
    word = answer_of(label)
    if present != 1:
        return np.nan, ""
    return (np.nan, label) if word is None or word == UNREADABLE else (word, None)


def _meant(label: str, said: list[str]) -> str | None:
    """Which of several labels, choices or questions is about this label: the same, or the only one that names it."""
    naming = [each for each in said if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", each, re.IGNORECASE)]
    same_word = [each for each in naming if each.casefold() == label.casefold()]
    return label if label in said else next((few[0] for few in (same_word, naming) if len(few) == 1), None)


def _line(place: int | str) -> str:
    return f"line {place}" if isinstance(place, int) else place
