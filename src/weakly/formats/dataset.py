"""Tables of any size in pieces: partitioned Parquet or CSV, on disk or behind an address, in chunks of recordings.

A first look finds which recordings lie where (their column alone is read); chunks depend on the data alone. A file
whose rows belong to many chunks is read once for each of them, so keep recordings together.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import InvalidInput, optional
from .addresses import address_of, listed, refused, scheme_of, system
from .binary import column_values
from .columns import roles_of
from .names import normal
from .source import Source
from .table import Table
from .times import UNITS

_ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv"}


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
        optional("pyarrow", extra="formats")
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
        import pyarrow as pa

        table, fragments = _opened(self)
        piece = fragments[file] if group < 0 else fragments[file].subset(row_group_ids=[group])
        names = {role: name for role, name in self.columns if role in roles}
        wanted = list(dict.fromkeys(names.values()))
        try:
            for batch in piece.to_batches(schema=table.schema, columns=wanted, **_LITTLE):
                yield {role: _column(batch.column(name), role) for role, name in names.items()}
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{self.files[file]}: cannot be read: {_reason(error)}") from error

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


def count_rows(file: Any, name: str, size: int) -> int:
    """The rows of an open table: as Parquet says, of text about as many as its first MiB tells; 0 of another file."""
    kind = table_kind(name)
    if kind == "parquet":
        pq = optional("pyarrow.parquet", extra="formats")
        try:
            return int(pq.ParquetFile(file).metadata.num_rows)
        except Exception:  # whatever is wrong with it, its reader says
            return 0
    head = file.read(1 << 20) if kind else b""
    return round(head.count(b"\n") * size / len(head)) if head else 0


def _reason(error: Exception) -> str:
    """What pyarrow says, without what it says around it."""
    return " ".join(str(error).split()).rpartition("Invalid: ")[2][:200]


def _scheme(texts: Sequence[str]) -> str:
    schemes = {scheme_of(text) for text in texts}
    if len(schemes) != 1:
        raise InvalidInput("addresses of one data set must all be of one kind, got " + ", ".join(sorted(schemes)))
    return schemes.pop()


def table_kind(name: str) -> str:
    """The kind of table that a file's name tells: parquet, csv, tsv, or "" for none."""
    name = re.split(r"[?#]", name)[0] if scheme_of(name) else name
    return _ENDINGS.get(Path(name.removesuffix(".gz")).suffix.lower(), "")


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
    try:
        table = ds.dataset(list(dataset.files), format=form, filesystem=files, partitioning="hive")
        return table, list(table.get_fragments())
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"{dataset.files[0]}: cannot be read: {_reason(error)}") from error


def _roles(dataset: Dataset, address: str, columns: Mapping[str, str]) -> dict[str, str]:
    """Which column is which, from the names and the first rows."""
    import pyarrow as pa

    table, _ = _opened(dataset)
    try:
        # Without readahead: it would hold several files for the sake of a few rows.
        few = {"batch_size": 1000, "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
        frame = table.head(1000, **few).to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"{dataset.files[0]}: cannot be read: {_reason(error)}") from error
    source = Source(Path(dataset.files[0]), columns=dict(columns))
    cells = [column_values(frame.iloc[:, k]) for k in range(frame.shape[1])]
    found = roles_of(Table(source, [str(name) for name in frame.columns], cells, range(1, len(frame) + 1)))
    names = dict(found.names)
    if "recording" not in names or names["recording"] not in frame or found.parts:
        raise InvalidInput(f"{address}: a data set needs one column of recordings; --columns recording=NAME says which")
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


@dataclass(frozen=True)
class Chunk:
    """Some recordings and the row groups (file, group) in which their rows lie."""

    names: list[str]
    pieces: list[tuple[int, int]]


def chunks_of(looks: Sequence[list[tuple[int, list[str], list[int]]]], more: Sequence[str], rows: int) -> list[Chunk]:
    """The recordings in order of appearance, then those that have no row, in chunks of about so many rows."""
    place: dict[str, int] = {}
    total: list[int] = []
    pieces: list[tuple[int, int, NDArray[np.int64]]] = []
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
    found = [Chunk(names[i:j], []) for i, j in itertools.pairwise(cuts.tolist())]
    for file, group, owners in pieces:
        for k in np.unique(chunk[owners]).tolist():
            found[k].pieces.append((file, group))
    return found
