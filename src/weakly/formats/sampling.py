"""A sample of whole recordings: those whose names have the least hashes, wherever their rows lie.

The same names give the same sample, in any order and in any number of files. Tables are looked at first (their column
of recordings alone), so that of a data set of any size only the rows of the sample are ever in memory.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import InvalidInput
from ..events import Events
from .dataset import Dataset, look
from .lengths import match_lengths
from .table import Rows

#: How many recordings; "auto" is all of them, or of a large table as many as hold about 200,000 rows.
HowMany = int | Literal["auto"] | None
#: Rows of tables beyond which "auto" is a sample, those of such a sample, and those that are read at once (5 GiB).
LARGE, SAMPLED, MOST_ROWS = 5_000_000, 200_000, 20_000_000


@dataclass(frozen=True)
class Asked:
    """What is to be sampled, and what else is known of recordings: their lengths, and more that are without rows."""

    sample: HowMany
    lengths: float | Mapping[str, float] | None = None
    more: tuple[str, ...] = ()

    @classmethod
    def of(cls, sample: Any, lengths: Any, more: Iterable[str] = ()) -> Asked:
        """Checked."""
        whole = isinstance(sample, (int, np.integer)) and not isinstance(sample, bool)
        if not (sample is None or sample == "auto" or (whole and sample >= 1)):
            raise InvalidInput(f"sample must be a number of recordings, at least 1, or 'auto', got {sample!r}")
        return cls(int(sample) if whole else sample, lengths, tuple(dict.fromkeys(more)))


ALL = Asked(None)


@dataclass(frozen=True)
class Sample:
    """The recordings of a sample, their lengths as far as they were given, and how many there are of how many."""

    names: frozenset[str]
    lengths: float | Mapping[str, float] | None
    counts: Mapping[str, int]

    @classmethod
    def of(cls, rows: Mapping[str, int], asked: Asked, notes: list[str]) -> Sample:
        """Chosen among recordings with so many rows each, and those that are known to have none."""
        given = asked.lengths
        known = match_lengths(given, rows, notes) if isinstance(given, Mapping) else {}
        everyone = sorted({*rows, *known, *asked.more}, key=lambda name: (_hash(name), name))
        sums = np.cumsum([rows.get(name, 0) for name in everyone])
        n = int(np.searchsorted(sums, SAMPLED)) + 1 if asked.sample == "auto" else int(asked.sample or 0)
        names = frozenset(everyone[:n])
        taken = sum(rows.get(name, 0) for name in names)
        counts = {
            "recordings": len(names),
            "of_recordings": len(everyone),
            "rows": taken,
            "of_rows": sum(rows.values()),
        }
        lengths = {name: known[name] for name in known if name in names} if isinstance(given, Mapping) else given
        if taken > MOST_ROWS:
            raise InvalidInput(f"{worded(counts)}: {beyond(taken)}")
        notes.append(worded(counts))
        return cls(names, lengths, counts)

    def keep(self, rows: Rows) -> None:
        """Only what is of the sample."""
        rows.keep(np.array([name in self.names for name in rows.data["recording"]], dtype=bool))
        rows.empty = [name for name in rows.empty if name in self.names]
        rows.unannotated = [name for name in rows.unannotated if name in self.names]
        rows.lengths = {name: length for name, length in rows.lengths.items() if name in self.names}


def worded(counts: Mapping[str, int]) -> str:
    """How much of how much a sample is, for people to read."""
    n = {name: f"{count:,}" for name, count in counts.items()}
    return (
        f"a sample of {n['recordings']} of {n['of_recordings']} recordings, {n['rows']} of {n['of_rows']} rows, "
        "chosen by a hash of the recordings' names"
    )


def _hash(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def sample_rows(found: Sequence[Rows], asked: Asked, notes: list[str]) -> Sample:
    """The sample of what was read; the rest is dropped."""
    count = Counter(name for rows in found for name in rows.data["recording"])
    for rows in found:
        count.update(dict.fromkeys([*rows.empty, *rows.unannotated, *rows.lengths], 0))
    made = Sample.of(count, asked, notes)
    for rows in found:
        made.keep(rows)
    return made


def sample_tables(dataset: Dataset, asked: Asked, notes: list[str]) -> tuple[Sample, dict[Path, bytes]]:
    """The sample of a data set, and the files that have rows of it, as if they held nothing else."""
    count: Counter[str] = Counter()
    looks = []
    for file in range(len(dataset.files)):
        looks.append(look(dataset, file))
        for _, names, rows in looks[-1]:
            count.update(dict(zip(names, rows)))
    made = Sample.of(count, asked, notes)
    wanted = [[group for group, names, _ in groups if not made.names.isdisjoint(names)] for groups in looks]
    del looks, count
    full = [file for file, groups in enumerate(wanted) if groups] or [0]  # without rows there are still columns
    return made, {Path(dataset.files[file]): dataset.part(file, wanted[file], made.names) for file in full}


def hours_of_all(events: Events, seconds: float | None = None) -> float | None:
    """The hours of all recordings of which these are a sample, each as long as one of the sample on average.

    ``seconds`` are the length of recordings that do not tell theirs; None where there is no sample, or where all tell
    another length, which is then that of other recordings.
    """
    counts, known = events.source.sample, events.recordings["length"]
    other = seconds is not None and bool((known / seconds - 1).abs().gt(1e-9).any()) and bool(known.notna().all())
    if counts is None or other:
        return None
    lengths = (events.extents if seconds is None else known.fillna(seconds))[events.recordings["annotated"]]
    return float(lengths.sum()) / 3600 * counts["of_recordings"] / counts["recordings"]


def beyond(rows: int) -> str:
    """That these are too many rows, and what to do."""
    return (
        f"{rows:,} rows are more than the {MOST_ROWS:,} that are read at once; give some of the files; or "
        "sample=1000 (--sample 1000 of plan, audit, infer, convert) for so many recordings of a table; weakly evaluate "
        "reads all of them in chunks"
    )
