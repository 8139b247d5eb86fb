"""Tables of any size in pieces: partitioned Parquet or CSV, on disk or behind an address, in chunks of recordings.

A first look finds which recordings lie where (their column alone is read); chunks depend on the data alone. A file
whose rows belong to many chunks is read once for each of them, so keep recordings together.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.errors import InvalidInput, optional
from .addresses import address_of, listed, refused, scheme_of, system, table_kind
from .binary import column_values
from .columns import roles_of
from .durations import match_lengths
from .source import Source
from .table import ColumnTable, TextRows
from .vocabulary import UNITS, normal

if TYPE_CHECKING:
    from .gather import SampleRequest

#: How much of a file is in memory at once.
_LITTLE = {"batch_size": 1 << 17, "use_threads": False, "batch_readahead": 2}


@dataclass(frozen=True)
class Dataset:
    """Files of one kind that are one table, and which of their columns is which; made by :meth:`of`."""

    files: tuple[str, ...]
    scheme: str  # "" on this machine's disks
    kind: str
    columns: tuple[tuple[str, str], ...]  # role, name
    stamp: str  # changes with the files

    @classmethod
    def of(
        cls, addresses: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, columns: Any = None
    ) -> Dataset:
        """The data set of files, folders or addresses (``s3://bucket/folder``); columns are found as by ``read``."""
        optional("pyarrow", extra="parquet")
        many = [addresses] if isinstance(addresses, (str, os.PathLike)) else list(addresses)
        texts = [os.fspath(each) for each in many]
        scheme = _scheme(texts)
        found = [each for text in texts for each in _files(system(scheme), text if scheme else os.path.abspath(text))]
        kinds = {table_kind(name) for name, _ in found}
        if len(kinds) != 1:
            names = ", ".join(sorted(kinds)) or "no .parquet, .csv or .tsv file"
            raise InvalidInput(f"{texts[0]}: a data set is files of one kind, got {names}")
        stamp = hashlib.sha256(repr([(name, _version(info)) for name, info in found]).encode()).hexdigest()
        bare = cls(tuple(name for name, _ in found), scheme, kinds.pop(), (), stamp)
        return replace(bare, columns=tuple(_roles(bare, texts[0], columns or {}).items()))

    @property
    def scales(self) -> dict[str, float]:
        """The seconds in a unit of each column, which its name may tell."""
        return {role: UNITS.get(normal(name)[1], 1.0) for role, name in self.columns}

    @property
    def addresses(self) -> list[str]:
        """The files as messages call them."""
        return [address_of(name, self.scheme) for name in self.files]

    def name(self, role: str) -> str | None:
        """The column that plays a role."""
        return dict(self.columns).get(role)

    def batches(self, file: int, group: int, roles: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The rows of a row group (-1: of the whole file), some at a time: by role, texts as (codes, texts)."""
        table, fragments = _opened(self)
        piece = fragments[file] if group < 0 else fragments[file].subset(row_group_ids=[group])
        names = {role: name for role, name in self.columns if role in roles}
        wanted = list(dict.fromkeys(names.values()))
        with refused(self.files[file]):
            for batch in piece.to_batches(schema=table.schema, columns=wanted, **_LITTLE):
                yield {role: _column(batch.column(name), role) for role, name in names.items()}

    def part(self, file: int, groups: Sequence[int], names: Collection[str]) -> bytes:
        """A file of the same kind with those rows of a file that are of these recordings: all columns, as they are."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table, fragments = _opened(self) if self.kind == "parquet" else _opened(self, as_text=True)
        fragment = fragments[file]
        name, own = self.name("recording"), [n for n in fragment.physical_schema.names if n in table.schema.names]
        places = dict.fromkeys(names, 0)
        kept = []
        with refused(self.files[file]):
            for group in groups:
                piece = fragment if group < 0 else fragment.subset(row_group_ids=[group])
                for batch in piece.to_batches(schema=table.schema, **_LITTLE):
                    codes, texts = _column(batch.column(name), "recording")
                    kept.append(batch.filter(pa.array(placed(codes, texts, places) == 0)).select(own))
        rows = pa.Table.from_batches(kept, pa.schema([table.schema.field(each) for each in own], table.schema.metadata))
        if self.kind != "parquet":
            sign = "\t" if self.kind == "tsv" else ","
            return str(rows.to_pandas().to_csv(sep=sign, index=False)).encode()
        buffer = io.BytesIO()
        pq.write_table(rows, buffer)
        return buffer.getvalue()


def _scheme(texts: Sequence[str]) -> str:
    schemes = {scheme_of(text) for text in texts}
    if len(schemes) != 1:
        raise InvalidInput("addresses of one data set must all be of one kind, got " + ", ".join(sorted(schemes)))
    return schemes.pop()


def _files(files: Any, address: str) -> list[tuple[str, Any]]:
    """The files under an address, with what the system tells of them, sorted."""
    found, hidden = listed(files, address), ("/.", "/_")
    kept = {name: info for name, info in found.items() if table_kind(name) and not any(sign in name for sign in hidden)}
    if not kept:
        raise InvalidInput(f"{address}: there is no .parquet, .csv or .tsv file")
    return sorted(kept.items())


def _version(info: Mapping[str, Any]) -> list[str]:
    return [str(info.get(key)) for key in ("size", "mtime", "ETag", "LastModified", "updated")]


@lru_cache(maxsize=4)
def _opened(dataset: Dataset, *, as_text: bool = False) -> tuple[Any, list[Any]]:
    """pyarrow's view of the data set, and its files in their order; texts as dictionaries, times as numbers.

    With ``as_text`` all columns of a CSV file are what is written there.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset as ds
    from pyarrow.fs import FSSpecHandler, LocalFileSystem, PyFileSystem

    texts = [name for role, name in dataset.columns if role in ("recording", "label")]
    if dataset.kind == "parquet":
        form: Any = ds.ParquetFileFormat(read_options={"dictionary_columns": texts})
    else:
        types = {
            name: pa.string() if role in ("recording", "label") else pa.float64() for role, name in dataset.columns
        }
        if as_text:
            types = dict.fromkeys(_opened(dataset)[0].schema.names, pa.string())
        convert = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=not as_text)
        delimiter = "\t" if dataset.kind == "tsv" else ","
        form = ds.CsvFileFormat(pa.csv.ParseOptions(delimiter=delimiter), convert_options=convert)
    files = PyFileSystem(FSSpecHandler(system(dataset.scheme))) if dataset.scheme else LocalFileSystem()
    with refused(dataset.files[0]):
        table = ds.dataset(list(dataset.files), format=form, filesystem=files, partitioning="hive")
        return table, list(table.get_fragments())


def _roles(dataset: Dataset, address: str, columns: Mapping[str, str]) -> dict[str, str]:
    """Which column is which, from the names and the first rows."""
    import pyarrow as pa

    table, _ = _opened(dataset)
    with refused(dataset.files[0]):
        # Without readahead: it would hold several files for the sake of a few rows.
        few = {"batch_size": 1000, "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
        frame = table.head(1000, **few).to_pandas()
    source = Source(Path(dataset.files[0]), columns=dict(columns))
    cells = [column_values(frame.iloc[:, k]) for k in range(frame.shape[1])]
    found = roles_of(ColumnTable(source, [str(name) for name in frame.columns], cells, range(1, len(frame) + 1)))
    names = dict(found.names)
    if "recording" not in names or names["recording"] not in frame or found.parts:
        raise InvalidInput(f"{address}: a data set needs one column of recordings; --columns recording=NAME says which")
    if "present" in names or found.melted:
        raise InvalidInput(f"{address}: holds answers and no events; a data set in chunks is one of events")
    if "onset" not in names or not {"offset", "length"} & names.keys():
        raise InvalidInput(
            f"{address}: no columns for onset and offset among {', '.join(map(str, frame.columns[:30]))}"
        )
    for role in ("onset", "offset", "length", "recording_length"):
        if role in names:
            scale = UNITS.get(normal(names[role])[1], 1.0)
            number = pa.types.is_floating(table.schema.field(names[role]).type) or pa.types.is_integer(
                table.schema.field(names[role]).type
            )
            if not number or scale != scale:
                raise InvalidInput(f"{address}: column {names[role]!r} of a data set must hold numbers, in seconds")
    kept = ("recording", "onset", "offset", "length", "label", "recording_length", "annotated")
    return {role: names[role] for role in kept if role in names and not (role == "length" and "offset" in names)}


def _column(values: Any, role: str) -> Any:
    """A column of a batch: float64 seconds; (codes, texts), -1 where there is none; or whether it says no."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if role in ("recording", "label"):
        if not pa.types.is_dictionary(values.type):
            values = pc.dictionary_encode(values.cast(pa.string()))
        codes = values.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return codes, [str(text) for text in values.dictionary.to_pylist()]
    if role == "annotated":
        return pc.is_in(pc.utf8_lower(values.cast(pa.string())), pa.array(["false", "0", "no"])).to_numpy(
            zero_copy_only=False
        )
    return values.cast(pa.float64()).to_numpy(zero_copy_only=False)


def placed(codes: NDArray[np.int64], texts: Sequence[str], places: Mapping[str, int]) -> NDArray[np.int64]:
    """The place of each row's text; -1 for those without one."""
    table = np.array([places.get(text, -1) for text in texts] + [-1], dtype=np.int64)
    return table[codes]


def look(dataset: Dataset, file: int) -> list[tuple[int, list[str], list[int]]]:
    """Per row group of a file: its number, the recordings in it in their order, and how many rows each has."""
    _, fragments = _opened(dataset)
    groups = range(fragments[file].num_row_groups) if dataset.kind == "parquet" else [-1]
    found = []
    for group in groups:
        rows: dict[str, int] = {}
        for batch in dataset.batches(file, group, ("recording",)):
            codes, texts = batch["recording"]
            if (codes < 0).any():
                raise InvalidInput(f"{dataset.files[file]}: a row names no recording")
            count = np.bincount(codes, minlength=len(texts))
            for code in pd.unique(codes).tolist():
                rows[texts[code]] = rows.get(texts[code], 0) + int(count[code])
        found.append((group, list(rows), list(rows.values())))
    return found


#: Rows of tables beyond which "auto" is a sample, those of such a sample, and those that are read at once (5 GiB).
LARGE, SAMPLED, MOST_ROWS = 5_000_000, 200_000, 20_000_000


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

    def keep(self, rows: TextRows) -> None:
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


def sample_rows(found: Sequence[TextRows], asked: SampleRequest, notes: list[str]) -> RecordingSample:
    """The sample of what was read; the rest is dropped."""
    count = Counter(name for rows in found for name in rows.data["recording"])
    for rows in found:
        count.update(dict.fromkeys([*rows.empty, *rows.unannotated, *rows.lengths], 0))
    made = RecordingSample.of(count, asked, notes)
    for rows in found:
        made.keep(rows)
    return made


def sample_tables(
    dataset: Dataset, asked: SampleRequest, notes: list[str]
) -> tuple[RecordingSample, dict[Path, bytes]]:
    """The sample of a data set, and the files that have rows of it, as if they held nothing else."""
    count: Counter[str] = Counter()
    looks = []
    for file in range(len(dataset.files)):
        looks.append(look(dataset, file))
        for _, names, rows in looks[-1]:
            count.update(dict(zip(names, rows)))
    made = RecordingSample.of(count, asked, notes)
    wanted = [[group for group, names, _ in groups if not made.names.isdisjoint(names)] for groups in looks]
    del looks, count
    full = [file for file, groups in enumerate(wanted) if groups] or [0]  # without rows there are still columns
    return made, {Path(dataset.files[file]): dataset.part(file, wanted[file], made.names) for file in full}


def beyond(rows: int) -> str:
    """That these are too many rows, and what to do."""
    return (
        f"{rows:,} rows are more than the {MOST_ROWS:,} that are read at once; give some of the files; or "
        "sample=1000 (--sample 1000 of plan, audit, infer, convert) for so many recordings of a table; weakly evaluate "
        "reads all of them in chunks"
    )
