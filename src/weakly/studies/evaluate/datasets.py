"""Tables of any size -> an evaluation, in constant memory: partitioned Parquet or CSV, on disk or behind an address.

Recordings are scored in chunks of about a million rows, wherever these lie (``formats.dataset``), and the sums of each
chunk are kept, so that a run that was ended goes on. Sums are added in the order of the chunks: any executor, and any
number of interruptions, give the same bits.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...base.compiled import sources_digest
from ...base.errors import AssumptionWarning, InvalidInput
from ...base.parallel import Progress, in_order, threads
from ...base.results import atomic_write, counted, write_file
from ...base.symbols import choice
from ...engine.scoring import ClassRecordings, ClassTallies, score_units
from ...engine.tally import Tally
from ...io.dataset import Dataset, look, placed
from ...io.reading import asked_length
from ...model.answer_model import UNKNOWN, AnswerLike, AnswerModels
from ...model.intervals import Ints, Placement, segment_lengths
from .evaluation import LAST_EVENT, Evaluation
from .evaluator import AssumptionCounts, evaluation_of

#: Rows of a chunk, about: what a worker holds at once.
CHUNK_ROWS = 1_000_000


@dataclass(frozen=True)
class DatasetPart:
    """What one chunk adds: its sums, what the checks of assumptions count, and what became of its rows."""

    scored: ClassTallies
    counts: AssumptionCounts
    account: dict[str, int]

    def save(self, path: Path) -> None:
        """Write it, whole or not at all."""
        tallies = (*self.scored.tallies.values(), self.scored.pooled)
        arrays: dict[str, Any] = {f"sums{k}": np.stack([tally.parts[k] for tally in tallies]) for k in range(4)}
        meta = {"labels": list(self.scored.tallies), "account": self.account}
        arrays |= {f"count_{name}": values for name, values in vars(self.counts).items() if name != "labels"}
        with atomic_write(path, "wb") as file:
            np.savez(file, meta=np.array(json.dumps(meta)), **arrays)

    @classmethod
    def load(cls, path: Path, lengths: Any, who: AnswerModels) -> DatasetPart:
        """Read it back, to the last bit."""
        with np.load(path, allow_pickle=False) as kept:
            meta = json.loads(str(kept["meta"]))
            sums = zip(*(kept[f"sums{k}"] for k in range(4)))
            counts = {name[6:]: kept[name] for name in kept.files if name.startswith("count_")}
        *tallies, pooled = (Tally(lengths, who.labels, *parts) for parts in sums)
        scored = ClassTallies(dict(zip(meta["labels"], tallies)), pooled)
        return cls(scored, AssumptionCounts(tuple(meta["labels"]), **counts), meta["account"])


@dataclass(frozen=True)
class Chunk:
    """Some recordings and the row groups (file, group) in which their rows lie."""

    names: list[str]
    pieces: list[tuple[int, int]]


def chunks_of(looks: Sequence[list[tuple[int, list[str], list[int]]]], more: Sequence[str], rows: int) -> list[Chunk]:
    """The recordings in order of appearance, then those that have no row, in chunks of about so many rows."""
    place: dict[str, int] = {}
    total: list[int] = []
    pieces: list[tuple[int, int, Ints]] = []
    for file, groups in enumerate(looks):
        for group, names, counts in groups:
            for name, count in zip(names, counts):
                if place.setdefault(name, len(place)) == len(total):
                    total.append(0)
                total[place[name]] += count
            pieces.append((file, group, np.array([place[name] for name in names], dtype=np.int64)))
    for name in more:
        if place.setdefault(name, len(place)) == len(total):
            total.append(1)
    turn = (np.cumsum(total) - total) // rows
    chunk = np.searchsorted(np.unique(turn), turn)  # a recording of many rows leaves numbers out
    names, cuts = list(place), np.searchsorted(chunk, np.arange(chunk[-1] + 2 if len(chunk) else 1))
    chunks = [Chunk(names[i:j], []) for i, j in itertools.pairwise(cuts.tolist())]
    for file, group, owners in pieces:
        for k in np.unique(chunk[owners]).tolist():
            chunks[k].pieces.append((file, group))
    return chunks


def work(
    dataset: Dataset, chunk: Chunk, reading: Mapping[str, Any], lengths: Any, who: AnswerModels, how: Any
) -> DatasetPart:
    """Read and score one chunk."""
    place = {name: k for k, name in enumerate(chunk.names)}
    known = reading["recording_length"]
    extent = np.array([known.get(name, np.nan) for name in chunk.names]) if isinstance(known, Mapping) else np.full(
        len(place), np.nan if known is None else float(known))  # fmt: skip
    labels: dict[str, int] = {}
    rows: list[tuple[Any, ...]] = []
    account = dict.fromkeys(("rows", "empty", "skipped", "clipped", "unknown"), 0)
    roles = [role for role, _ in dataset.columns]
    scale = dataset.scales
    stated, idle = np.full(len(place), np.nan), np.zeros(len(place), dtype=bool)
    for file, group in chunk.pieces:
        for batch in dataset.batches(file, group, roles):
            names, spelled = batch["recording"]
            recording = placed(names, spelled, place)
            codes, texts = batch.get("label", (np.zeros(len(recording), np.int64), [reading["label"] or "event"]))
            label = placed(codes, texts, _numbered(texts, reading, labels))
            mine = recording >= 0
            onset = batch["onset"] * scale["onset"]
            end = batch["offset"] * scale["offset"] if "offset" in batch else onset + batch["length"] * scale["length"]
            if "recording_length" in batch:
                np.fmax.at(stated, recording[mine], batch["recording_length"][mine] * scale["recording_length"])
            if "annotated" in batch:
                idle[recording[mine & batch["annotated"]]] = True
            silent = np.isnan(onset) & np.isnan(end)
            account["rows"] += int(mine.sum())
            account["empty"] += int((mine & silent).sum())
            mine &= ~silent & (label != _OTHER)
            bad = mine & ~((onset >= 0) & (end > onset) & np.isfinite(end) & (label >= 0))
            if bad.any():
                if reading["on_error"] != "skip":
                    k = int(np.flatnonzero(bad)[0])
                    words = f"({onset[k]:g}, {end[k]:g}) must have a label and end after it starts, from 0 on"
                    raise InvalidInput(
                        f"{dataset.files[file]}: recording {chunk.names[recording[k]]!r}: event {words}; "
                        "on_error='skip' (--on-error skip) leaves such rows out"
                    )
                account["skipped"] += int(bad.sum())
                mine &= ~bad
            rows.append((recording[mine], label[mine], onset[mine], end[mine]))
    none = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))
    recording, label, onset, offset = (np.concatenate(parts) for parts in zip(none, *rows))
    del rows
    extent = np.where(np.isnan(extent), stated, extent)
    last = np.zeros(len(place))
    np.maximum.at(last, recording, offset)
    account["unknown"] = int(np.isnan(extent).sum())
    extent = np.where(np.isnan(extent), last, extent)
    late = offset > extent[recording] * (1 + 1e-9)
    if late.any():
        if reading["on_error"] == "raise":
            k = int(np.flatnonzero(late)[0])
            raise InvalidInput(
                f"recording {chunk.names[recording[k]]!r}: an event ends at {offset[k]:g} s, after the recording's "
                f"{extent[recording[k]]:g} s; on_error='clip' (--on-error clip) cuts it there, 'skip' leaves it out"
            )
        gone = late if reading["on_error"] == "skip" else onset >= extent[recording]
        account["skipped"] += int(gone.sum())
        account["clipped"] += int((late & ~gone).sum())
        recording, label, onset, offset = (values[~gone] for values in (recording, label, onset, offset))
    idle[recording] = False  # something was found there
    heard = (extent > 0) & ~idle
    order = sorted(labels)
    rank = {name: k for k, name in enumerate(order)}
    label = np.array([rank[name] for name in labels] or [0], dtype=np.int64)[label]
    recording = (np.cumsum(heard) - 1)[recording]
    units = ClassRecordings.of(order or ["event"], recording, label, onset, offset, lengths=extent[heard])
    if not order:
        units = replace(units, group=np.full(len(units), -1))
    return DatasetPart(score_units(units, lengths, who, how), AssumptionCounts.of(units, lengths), account)


_OTHER = -2


def _numbered(texts: Sequence[str], reading: Mapping[str, Any], labels: dict[str, int]) -> dict[str, int]:
    """The number of each label: a new one for a new class, none for classes that were not asked for."""
    into, wanted = reading["merge"], reading["label"]
    numbers = {}
    for text in texts:
        name = into.get(text, text)
        numbers[text] = labels.setdefault(name, len(labels)) if wanted in (None, name) else _OTHER
    return numbers


def evaluate_dataset(
    dataset: Any,
    *,
    segment_length: Any,
    presence_criterion: AnswerLike | None = None,
    rule: AnswerLike | None = None,
    annotator: AnswerLike | None = None,
    phase: Any = "random",
    edge: str = "truncate",
    hop: float | None = None,
    votes: int | None = None,
    label: str | None = None,
    merge: Mapping[str, Sequence[str]] | None = None,
    columns: Mapping[str, str] | None = None,
    recording_length: Any = None,
    on_error: str = "raise",
    per_recording: bool = True,
    chunk_rows: int = CHUNK_ROWS,
    resume: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    progress: Progress = False,
) -> Evaluation:
    """The evaluation of a table of any size, in constant memory; ``evaluation.settings`` has the account of its rows.

    Parameters
    ----------
    dataset : a :class:`Dataset`, or files, folders or addresses (``s3://...``, ``gs://...``, ``https://...``) of
        Parquet or CSV files with one row per event.
    resume : a folder for the sums of finished chunks; a run that was ended goes on from them, with the same result.
    chunk_rows : about how many rows are in memory at once, per worker.
    executor : any ``concurrent.futures.Executor``, also that of a Dask cluster whose workers can read the addresses.

    The others are those of :func:`weakly.read` and :func:`weakly.evaluate`.
    """
    choice("on_error", on_error, ("raise", "skip", "clip"))
    told = {"presence_criterion": presence_criterion, "rule": rule, "annotator": annotator}
    who = AnswerModels.of(**told, unknown=UNKNOWN[1])
    lengths = segment_lengths(segment_length)
    how = Placement.of(phase=phase, edge=edge, hop=hop, votes=votes, segment_length=lengths)
    how = replace(how, means=per_recording)
    data = dataset if isinstance(dataset, Dataset) else Dataset.of(dataset, columns=columns)
    known = asked_length(recording_length, on_error)
    into = {str(old): str(new) for new, olds in (merge or {}).items() for old in olds}
    reading = {"label": label, "merge": into, "on_error": on_error, "recording_length": known}
    asked = repr([sources_digest(), data, lengths.tolist(), who, how, reading, chunk_rows])
    store = None if resume is None else _store(Path(resume), hashlib.sha256(asked.encode()).hexdigest(), data)
    if any(model.low > 0 for model in who):
        raise InvalidInput("annotator: one that guesses needs all annotations at once; read them with weakly.read")
    with threads(executor) as workers:
        looks = list(_looks(data, store, workers, progress))
        more = list(known) if isinstance(known, Mapping) else []
        chunks = chunks_of(looks, more, chunk_rows)
        del looks
        if isinstance(known, Mapping):
            shares: Any = (
                {**reading, "recording_length": {n: known[n] for n in c.names if n in known}} for c in chunks
            )
        else:
            shares = itertools.repeat(reading)
        paths = [None if store is None else store / f"chunk-{k:06d}.npz" for k in range(len(chunks))]
        todo = [path is None or not path.exists() for path in paths]
        jobs = ((data, chunk, mine, lengths, who, how) for chunk, mine, new in zip(chunks, shares, todo) if new)
        done = in_order(work, jobs, total=sum(todo), executor=workers, progress=progress, label="evaluating chunks")
        total, counts, account = ClassTallies.empty(lengths, who), None, Counter[str]()
        for path, new in zip(paths, todo):
            chunk_sums = next(done) if new or path is None else DatasetPart.load(path, lengths, who)
            if new and path is not None:
                chunk_sums.save(path)
            total.add(slice(None), chunk_sums.scored)
            counts = chunk_sums.counts if counts is None else counts + chunk_sums.counts
            account.update(chunk_sums.account)
    if counts is None or not total.tallies:
        raise InvalidInput("the data set holds no event of the class asked for")
    settings = {"phase": phase, "edge": edge, "hop": hop, "votes": how.votes, "files": len(data.files)}
    settings |= {"chunks": len(chunks), "account": dict(account)}
    evaluation = evaluation_of(total, who, settings, counts.assumptions(known=account["unknown"] == 0))
    if account["unknown"]:
        text = f"the length of {counted(account['unknown'], 'recording')} is unknown: {LAST_EVENT}"
        warnings.warn(text, AssumptionWarning, stacklevel=2)
    for name, words in (("skipped", "left out"), ("clipped", "cut at the end of the recording")):
        if account[name]:
            warnings.warn(f"{counted(account[name], 'row')} {words}", AssumptionWarning, stacklevel=2)
    return evaluation


def _looks(data: Dataset, store: Path | None, workers: Executor, progress: Progress) -> Iterator[Any]:
    """Where the recordings lie, file by file; kept, if there is a store."""
    path = None if store is None else store / "recordings.json"
    if path is not None and path.exists():
        yield from json.loads(path.read_text())
        return
    jobs = [(data, file) for file in range(len(data.files))]
    places = list(in_order(look, jobs, executor=workers, progress=progress, label="looking for recordings"))
    if path is not None:
        write_file(path, json.dumps(places))
    yield from places


def _store(folder: Path, key: str, data: Dataset) -> Path:
    """The folder of one run; refused if another run's sums are in it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run.json"
    if path.exists():
        try:
            other = json.loads(path.read_text())["run"]
        except (ValueError, KeyError, OSError) as error:
            raise InvalidInput(f"{path}: does not tell which run it is of: {error}") from error
        if other != key:
            raise InvalidInput(
                f"{folder}: holds the sums of another run (other files, options or version); give another folder"
            )
    elif any(folder.iterdir()):
        raise InvalidInput(f"{folder}: is not empty and holds no run; give another folder")
    else:
        about = {"run": key, "files": len(data.files), "columns": dict(data.columns)}
        write_file(path, json.dumps(about, indent=1) + "\n")
    return folder
