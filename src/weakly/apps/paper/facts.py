"""Facts about other people's data that the figures need: counts, means and quantiles, and how to use the real thing.

NIGENS and AudioSet are not ours to pass on, so the package carries a small table of facts about them (``facts.json``:
n, mean, median, 101 quantiles and the means between them, with their origin). Given the data, the figures are drawn
from the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import InvalidInput
from ...io.reading import read
from ...model.events import Events
from ...model.lengths import Lengths

ANIMAL = ("/m/0jbk", "Animal")
LEVELS = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class LengthSample:
    """A sample of numbers, or the table of facts that stands for it."""

    name: str
    source: str  # what the figures say they were drawn from
    n: int
    mean: float
    median: float
    quantiles: NDArray[np.float64]
    means: NDArray[np.float64]  # of each hundredth of the sample
    values: NDArray[np.float64] | None = None  # None: only the facts are known

    @classmethod
    def of(cls, name: str, source: str, values: ArrayLike) -> LengthSample:
        """The facts of a sample, with the sample itself."""
        array = np.sort(np.asarray(values, dtype=np.float64))
        if array.size == 0:
            raise InvalidInput(f"{name}: no values in {source}")
        sums = np.interp(LEVELS, np.linspace(0, 1, array.size + 1), np.append(0.0, np.cumsum(array)) / array.size)
        facts = float(array.mean()), float(np.median(array)), np.quantile(array, LEVELS), 100 * np.diff(sums)
        return cls(name, source, array.size, *facts, array)

    @property
    def spread(self) -> NDArray[np.float64]:
        """The values if they are known, else 20 values for each hundredth, between its quantiles and with its mean."""
        if self.values is not None:
            return self.values
        low, width = self.quantiles[:-1], np.diff(self.quantiles)
        share = np.clip((self.means - low) / np.where(width > 0, width, 1.0), 1e-3, 1.0)
        step = np.linspace(0.0, 1.0, 21)
        # The mean of u^k between two steps, for the k that gives the hundredth its mean.
        power = np.diff(step ** (1 / share[:, None]), axis=1) * 20 * share[:, None]
        return (low[:, None] + width[:, None] * power).ravel()

    @property
    def lengths(self) -> Lengths:
        """The sample as a law of event lengths."""
        return Lengths.sample(self.spread)


@cache
def fact_table() -> dict[str, Any]:
    """All facts of the package: ``samples`` and ``counts`` by name, and ``attributions``, whose data they describe."""
    table: dict[str, Any] = json.loads(Path(__file__).with_name("facts.json").read_text(encoding="utf-8"))
    return table


def shipped(name: str) -> LengthSample:
    """A fact table of the package.

    >>> shipped("nigens_dog").n
    900
    """
    row = fact_table()["samples"][name]
    tables = {key: np.asarray(row[key]) for key in ("quantiles", "means")}
    return LengthSample(**row | tables | {"name": name, "source": f"facts shipped with weakly: {row['source']}"})


@dataclass(frozen=True)
class Data:
    """The data that the figures use: what the caller gave, else the shipped facts."""

    dog: LengthSample
    baby: LengthSample
    animal: LengthSample
    annotations: Events | None = None  # onsets for the offset figure
    annotations_source: str = ""


def gather(
    *,
    nigens: str | Path | None = None,
    audioset: str | Path | None = None,
    annotations: str | Path | Iterable[str | Path] | None = None,
) -> Data:
    """The data for the figures; every path left out is replaced by the shipped facts."""
    dog, baby, animal = shipped("nigens_dog"), shipped("nigens_baby"), shipped("audioset_animal")
    onsets, onsets_source = None, ""
    if nigens is not None:
        dog, baby, onsets = read_nigens(Path(nigens))
        onsets_source = f"NIGENS corpus in {Path(nigens).name}" if onsets is not None else ""
    if audioset is not None:
        animal = read_audioset(Path(audioset))
    if annotations is not None:
        paths = [Path(each) for each in ([annotations] if isinstance(annotations, (str, Path)) else annotations)]
        onsets = read(paths)
        onsets_source = ", ".join(path.name for path in paths)
    return Data(dog, baby, animal, onsets, onsets_source)


def read_nigens(path: Path) -> tuple[LengthSample, LengthSample, Events | None]:
    """Dog and baby event lengths from the folder of length files, or lengths and onsets from the corpus folder."""
    if not path.is_dir():
        raise InvalidInput(f"nigens must be the corpus folder, or one with dog_event_lengths.npy in it, got {path}")
    kinds, samples, events = ("dog", "baby"), [], None
    files = [path / f"{kind}_event_lengths.npy" for kind in kinds]
    if all(file.is_file() for file in files):
        samples = [(f"NIGENS lengths in {file.name}", _lengths_of(file)) for file in files]
    else:
        events = read(path, format="nigens")
        for kind in kinds:
            labels = [label for label in events.labels if kind in label.lower()]
            if not labels:
                raise InvalidInput(f"nigens: no class with {kind!r} in its name in {path}; there are {events.labels}")
            source = f"NIGENS corpus in {path.name}, class {', '.join(labels)}"
            samples.append((source, events.select(labels).lengths))
    dog, baby = (LengthSample.of(f"nigens_{kind}", *sample) for kind, sample in zip(kinds, samples))
    return dog, baby, events


def _lengths_of(file: Path) -> NDArray[np.float64]:
    try:
        values = np.load(file, allow_pickle=False)
    except ValueError as error:
        raise InvalidInput(f"nigens: {file} is not a plain .npy file of numbers: {error}") from error
    if values.ndim != 1 or not (values > 0).all():
        raise InvalidInput(f"nigens: {file} must hold one length > 0 per event, got the shape {values.shape}")
    return np.asarray(values, dtype=np.float64)


def read_audioset(path: Path) -> LengthSample:
    """Lengths of the Animal events; a folder's strong file is the largest .tsv with "strong" in its name."""
    if path.is_dir():
        candidates = sorted(path.glob("*strong*.tsv"), key=lambda file: file.stat().st_size)
        if not candidates:
            raise InvalidInput(f"audioset: no file named *strong*.tsv in {path}")
        path = candidates[-1]
    strong = read(path)
    labels = [label for label in ANIMAL if label in strong.labels]
    if not labels:
        raise InvalidInput(f"audioset: no event with the label {ANIMAL[0]} or {ANIMAL[1]} in {path}")
    return LengthSample.of("audioset_animal", f"AudioSet strong labels in {path.name}", strong.select(labels).lengths)
