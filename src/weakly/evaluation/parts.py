"""Evaluate a data set file by file: each worker reads a part and returns its sums, so that no one holds all of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..events import Timelines
from ..formats import read
from ..parallel import in_order
from ..tally import Tally
from .evaluate import evaluate
from .result import Evaluation


def evaluate_files(
    files: Sequence[str | Path],
    *,
    reading: dict[str, Any] | None = None,
    label: str | None = None,
    executor: Executor | None = None,
    progress: bool = False,
    **asked: Any,
) -> Evaluation:
    """The evaluation of many files, each read and scored by itself, as if they had been read together.

    Parameters
    ----------
    files : annotation files, such as the parts of a Parquet data set; every recording lies in one of them.
    reading : what :func:`weakly.read` is told: format, columns, recording_length, on_error.
    label : one class; left out, every class.
    executor : any ``concurrent.futures.Executor``; also that of a Dask cluster whose workers see the files.
    asked : what :func:`weakly.evaluate` is told.

    Notes
    -----
    A class that does not occur in a file counts there as absent from its recordings, as it would in one big file.
    """
    if not files:
        raise InvalidInput("no files were given")
    chunks = [(str(file), reading or {}, label, asked) for file in files]
    tallies: dict[str, list[Tally | None]] = {}
    rests: list[Tally] = []
    seen: dict[str, str] = {}
    first: Evaluation | None = None
    results = in_order(_part, chunks, executor=executor, progress=progress, label="evaluating files")
    for k, (file, (found, rest, names, notes)) in enumerate(zip(files, results)):
        for name in names:
            if name in seen:
                raise InvalidInput(
                    f"recording {name!r} is in {seen[name]} and in {file}; a recording must lie in one part"
                )
            seen[name] = str(file)
        for note in notes:
            warnings.warn(note[0], note[1], stacklevel=2)
        first = first or found
        rests.append(rest.tallies["event"])
        for name, tally in found.tallies.items():
            tallies.setdefault(name, [None] * len(files))[k] = tally
    if first is None or not tallies:
        raise InvalidInput("the files hold no event" + (f" of {label!r}" if label else ""))
    joined = {
        name: reduce(lambda a, b: a + b, (rest if part is None else part for part, rest in zip(tallies[name], rests)))
        for name in sorted(tallies)
    }
    return Evaluation(first.columns, joined, {**first.settings, "labels": list(joined), "files": len(files)})


def _part(
    file: str, reading: dict[str, Any], label: str | None, asked: dict[str, Any]
) -> tuple[Evaluation, Evaluation, list[str], list[tuple[str, type[Warning]]]]:
    """The sums of one file, those of its recordings without any event, its recordings, and what was noted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        events = read(file, **reading)
        kept = events.known_extents.to_numpy(np.float64)
        empty = Timelines(np.empty((0, 2)), np.zeros(len(kept) + 1, np.int64), kept)
        rest = evaluate(empty, **asked)
        names = events.labels if label is None else [name for name in events.labels if name == label]
        found = Evaluation(rest.columns, {}, rest.settings)
        if names:
            found = evaluate(events, label=label, **asked)
    notes = list(dict.fromkeys((str(note.message), note.category) for note in caught))
    return found, rest, [str(name) for name in events.recordings.index], notes
