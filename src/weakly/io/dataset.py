"""What paths stand for, and tables of any size: files, folders, patterns and addresses (s3://..., gs://..., https://...),
of which there are copies for as long as they are read; partitioned Parquet or CSV is read in chunks of recordings.

Chunks depend on the data alone. A file whose rows belong to many is read once for each, so keep recordings together.
"""

from __future__ import annotations

import glob
import hashlib
import io
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.errors import InvalidInput, optional
from ..base.parallel import in_order, threads
from ..base.results import counted
from .columns import roles_of
from .source import GZIP, KINDS, ZIP, Source, refused
from .table import ColumnTable
from .vocabulary import UNITS, normal

#: Bytes behind addresses that are copied to this machine to be read at once.
MOST_BYTES = 2 * 2**30
_PACKAGES = {"s3": ("s3fs", "s3"), "gs": ("gcsfs", "gs"), "gcs": ("gcsfs", "gs"), "http": ("aiohttp", "http"),
             "https": ("aiohttp", "http")}  # fmt: skip
#: Files beside annotations that are not worth their bytes.
_OTHERS = (".wav", ".flac", ".mp3", ".ogg", ".aif", ".aiff", ".m4a", ".mp4", ".png", ".jpg", ".pdf", ".zip", ".gz")
_ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv"}
_MUCH_TEXT = 2**26  # bytes: less cannot hold many rows
#: How much of a file is in memory at once.
_LITTLE = {"batch_size": 1 << 17, "use_threads": False, "batch_readahead": 2}

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def scheme_of(address: str) -> str:
    """What stands before ``://``; "" for a path on this machine's disks."""
    return address.partition("://")[0] if "://" in address else ""


def address_of(name: str, scheme: str) -> str:
    """The address of a file that its system calls so; without a scheme the name is one.

    >>> address_of("bucket/a.csv", "s3"), address_of("/a.csv", "")
    ('s3://bucket/a.csv', '/a.csv')
    """
    if not scheme or scheme_of(name):
        return name
    return f"{scheme}://{name if scheme == 'file' else name.lstrip('/')}"


@lru_cache(maxsize=8)
def system(scheme: str) -> Any:
    """The file system of a scheme, or a MissingExtra that says how to install it."""
    fsspec = optional("fsspec", extra="parquet")
    if scheme in _PACKAGES:
        package, extra = _PACKAGES[scheme]
        optional(package, extra=extra)
    try:
        return fsspec.filesystem(scheme or "file")
    except (ValueError, ImportError) as error:
        raise InvalidInput(f"{scheme}://: {error}") from error


def _listed(address: str) -> dict[str, Any]:
    """The files that an address, a folder or a pattern stands for, with what the system tells of each."""
    scheme = scheme_of(address)
    files = system(scheme)
    with refused(address):
        # A question mark in a web address begins what is asked for.
        if any(sign in address for sign in ("*" if scheme in ("http", "https") else "*?[")):
            found = files.glob(address, detail=True)
        else:
            info = {} if files.isdir(address) else files.info(address)
            found = {info["name"]: info} if info else files.find(address, detail=True)
        return {name: info for name, info in found.items() if info.get("type") != "directory"}


@dataclass(frozen=True)
class AddressListing:
    """The files behind one address that are worth reading: their names there and their bytes."""

    address: str
    sizes: Mapping[str, int | None]  # None where the system does not tell
    n_others: int  # sound, pictures, archives
    several: bool  # a folder or a pattern

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> AddressListing:
        """What lies behind an address; one that went through ``Path`` has lost a stroke."""
        address = re.sub(r"^([^:/]+):/+", r"\1://", os.fspath(path)) if isinstance(path, os.PathLike) else path
        found = _listed(address)
        several = list(found) != [system(scheme_of(address))._strip_protocol(address)]
        hidden = {name for name in found if several and name.rpartition("/")[2].startswith(".")}
        others = {name for name in found if several and name.lower().endswith(_OTHERS) and not table_kind(name)}
        names = [name for name in found if name not in hidden | others and not name.endswith("/")]
        if not names:
            raise InvalidInput(f"{address}: there are no annotation files")
        return cls(address, {name: found[name].get("size") for name in names}, len(others), several)

    @property
    def n_bytes(self) -> int:
        """The bytes of all files, as far as they are known."""
        return sum(size or 0 for size in self.sizes.values())


def listings(paths: Sequence[str | os.PathLike[str]]) -> dict[str, AddressListing]:
    """What lies behind those of the paths that are addresses and no files here; a letter before a colon is a drive."""
    away = (path for path in paths if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", os.fspath(path)))
    return {os.fspath(path): AddressListing.of(path) for path in away if not os.path.exists(path)}


@contextmanager
def fetched(found: Sequence[AddressListing], *, progress: bool = False) -> Iterator[list[dict[Path, str]]]:
    """Copies of the files behind addresses, in a folder that is removed afterwards: for each, path and address.

    Names and folders stay what they are, so that a reader finds what it would find in a folder here.
    """
    total = sum(each.n_bytes for each in found)
    if total > MOST_BYTES:
        raise InvalidInput(f"{found[0].address}: {_beyond(f'{total / 2**30:,.1f} GiB are more')}")
    if not found:
        yield []
        return
    with tempfile.TemporaryDirectory(prefix="weakly-") as folder:
        called: dict[Path, str] = {}
        jobs, copies, ended = [], [], Event()
        for each in found:
            scheme, places = scheme_of(each.address), []
            for name in each.sizes:
                call = address_of(name, scheme)
                path = _place(Path(folder), call)
                places.append(path)
                jobs += [(system(scheme), name, call, path, ended)] if path not in called else []
                if called.setdefault(path, call) != call:
                    raise InvalidInput(f"{call}: a copy would have the name of that of {called[path]}; give one only")
            copies.append({path: called[path] for path in sorted(places)})
        with threads() as workers:
            try:
                for _ in in_order(_copy, jobs, executor=workers, progress=progress, label="fetching"):
                    pass
            finally:  # nobody waits for the rest of a large file
                ended.set()
        yield copies


@contextmanager
def at_hand(path: str | os.PathLike[str]) -> Iterator[tuple[Path, str | None]]:
    """One file: itself, or a copy of what is behind its address, with the address."""
    found = list(listings([path]).values())
    with fetched(found) as copies:
        if found and found[0].several:
            raise InvalidInput(f"{found[0].address}: must be one file, got a folder or a pattern")
        yield next(iter(copies[0].items())) if copies else (Path(path), None)


def _place(folder: Path, address: str) -> Path:
    """Where a copy goes: its folders and its name, without what a web address says behind them."""
    scheme, _, rest = address.partition("://")
    if scheme in ("http", "https"):
        rest = unquote(re.split(r"[?#]", rest)[0])
    parts = [part for part in rest.split("/") if part]
    path = folder.joinpath(scheme, *parts)
    if {".", ".."} & set(parts) or "\0" in rest or not path.is_relative_to(folder):
        raise InvalidInput(f"{address}: a file cannot have this name here")
    return path


def _copy(files: Any, name: str, address: str, target: Path, ended: Event) -> None:
    left = MOST_BYTES  # the size may be unknown, or not true
    with refused(address):
        target.parent.mkdir(parents=True, exist_ok=True)
        with files.open(name, "rb") as source, open(target, "wb") as file:
            while not ended.is_set() and (data := source.read(1 << 20)):
                left -= len(data)
                if left < 0:
                    raise InvalidInput(f"{address}: {_beyond('holds more')}")
                file.write(data)


def _beyond(size: str) -> str:
    told = f"{size} than the {MOST_BYTES / 2**30:g} GiB that are copied here to be read at once"
    way = "reads so many recordings where they lie, and weakly evaluate all of them in chunks"
    return f"{told}; of tables (Parquet, CSV) sample=1000 (--sample 1000) {way}"


@contextmanager
def files_of(
    items: Sequence[str | os.PathLike[str]], *, progress: bool = False
) -> Iterator[tuple[dict[Path, str], list[str]]]:
    """The files that paths, folders, patterns and addresses stand for, each with what messages call it; and notes.

    Of addresses these are copies, which are there as long as the block lasts.
    """
    found: dict[Path, str] = {}
    notes: list[str] = []
    away = listings(items)
    with fetched(list(away.values()), progress=progress) as copies:
        behind = dict(zip(away, copies))
        for item in items:
            path, address, inside = Path(item), away.get(os.fspath(item)), behind.get(os.fspath(item), {})
            if address is not None and not address.several:
                found |= inside
            elif address is not None or path.is_dir():
                inside = inside or {each: str(each) for each in _inside(path)}
                worth = {each: name for each, name in inside.items() if not _is_other(each)}
                sounds = len(inside) - len(worth) + (address.n_others if address is not None else 0)
                if sounds:
                    notes.append(f"{item}: {counted(sounds, 'file')} left out: sound, pictures, archives")
                if not worth:
                    raise InvalidInput(f"{item}: the folder holds no annotation files")
                found |= worth
            elif path.exists():
                found[path] = str(path)
            elif any(sign in str(item) for sign in "*?["):
                matches = sorted(Path(match) for match in glob.glob(str(item), recursive=True))
                if not matches:
                    raise InvalidInput(f"{item}: no file matches this pattern")
                found |= {each: str(each) for each in matches if each.is_file()}
            else:
                raise InvalidInput(f"{item}: there is no such file")
        yield found, notes


def listed_paths(paths: Paths) -> list[str | os.PathLike[str]]:
    """The paths, one or many."""
    items = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not items:
        raise InvalidInput("no files were given")
    return items


def _inside(folder: Path) -> list[Path]:
    """All files of a folder and of those in it, also through links; one that cannot be opened is an error."""

    def refuse(error: OSError) -> None:
        raise InvalidInput(f"{error.filename}: the folder cannot be opened: {error.strerror}")

    found: list[Path] = []
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True, onerror=refuse):
        back = os.path.realpath(place) in seen  # by a link
        seen.add(os.path.realpath(place))
        folders[:] = sorted(name for name in folders if not (back or name.startswith(".")))
        inside = (Path(place) / name for name in names if not (back or name.startswith(".")))
        found += [path for path in inside if path.is_file()]
    return sorted(found)


def _is_other(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            start = file.read(16)
    except OSError:
        return False
    if start.startswith((GZIP, ZIP)):  # a packed table is one of the files, an archive is not
        return not re.search(r"(\.(csv|tsv|txt|json)\.gz|\.xlsx|\.ods)$", path.name, re.IGNORECASE)
    return any(start.startswith(magic) for magic, _ in KINDS)


def table_kind(name: str) -> str:
    """The kind of table that a file's name tells: parquet, csv, tsv, or "" for none."""
    name = re.split(r"[?#]", name)[0] if scheme_of(name) else name
    return _ENDINGS.get(Path(name.removesuffix(".gz")).suffix.lower(), "")


def rows_in(files: Iterable[Path]) -> int:
    """The rows of tables: as Parquet says, of much text about as many as the first MiB tells."""
    kinds, total = {path: table_kind(path.name) for path in files}, 0
    text = sum(path.stat().st_size for path, kind in kinds.items() if kind not in ("", "parquet")) > _MUCH_TEXT
    for path, kind in kinds.items():
        if kind == "parquet":
            with suppress(Exception):  # whatever is wrong with it, its reader says
                total += int(optional("pyarrow.parquet", extra="parquet").ParquetFile(path).metadata.num_rows)
        elif kind and text:
            with open(path, "rb") as file:
                head = file.read(1 << 20)
            total += round(head.count(b"\n") * path.stat().st_size / len(head)) if head else 0
    return total


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
        texts = [os.fspath(each) for each in listed_paths(addresses)]
        schemes = {scheme_of(text) for text in texts}
        if len(schemes) != 1:
            raise InvalidInput("addresses of one data set must all be of one kind, got " + ", ".join(sorted(schemes)))
        scheme, found = schemes.pop(), []
        for text in texts:
            listed = sorted(_listed(text if scheme else os.path.abspath(text)).items())
            held = [(name, info) for name, info in listed if table_kind(name) and not re.search(r"/[._]", name)]
            if not held:
                raise InvalidInput(f"{text}: there is no .parquet, .csv or .tsv file")
            found += held
        kinds = {table_kind(name) for name, _ in found}
        if len(kinds) != 1:
            raise InvalidInput(f"{texts[0]}: a data set is files of one kind, got {', '.join(sorted(kinds))}")
        keys = ("size", "mtime", "ETag", "LastModified", "updated")
        told = [(name, [str(info.get(key)) for key in keys]) for name, info in found]
        stamp = hashlib.sha256(repr(told).encode()).hexdigest()
        bare = cls(tuple(name for name, _ in found), scheme, kinds.pop(), (), stamp)
        return replace(bare, columns=tuple(_roles(bare, texts[0], columns or {}).items()))

    @property
    def scales(self) -> dict[str, float]:
        """The seconds in a unit of each column, which its name may tell."""
        return {role: UNITS.get(normal(name)[1], 1.0) for role, name in self.columns}

    def batches(self, file: int, group: int, roles: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The rows of a row group (-1: of the whole file), some at a time: by role, texts as (codes, texts)."""
        names = {role: name for role, name in self.columns if role in roles}
        for batch in self._rows(file, group, columns=list(dict.fromkeys(names.values()))):
            yield {role: _column(batch.column(name), role) for role, name in names.items()}

    def _rows(self, file: int, group: int, *, as_text: bool = False, columns: list[str] | None = None) -> Iterator[Any]:
        table, fragments = _opened(self, as_text=as_text)
        piece = fragments[file] if group < 0 else fragments[file].subset(row_group_ids=[group])
        with refused(self.files[file]):
            yield from piece.to_batches(schema=table.schema, columns=columns, **_LITTLE)

    def part(self, file: int, groups: Sequence[int], names: Collection[str]) -> bytes:
        """A file of the same kind with those rows of a file that are of these recordings: all columns, as they are."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        text = self.kind != "parquet"
        table, fragments = _opened(self, as_text=text)
        own = [name for name in fragments[file].physical_schema.names if name in table.schema.names]
        places, kept = dict.fromkeys(names, 0), []
        for batch in (batch for group in groups for batch in self._rows(file, group, as_text=text)):
            codes, texts = _column(batch.column(dict(self.columns)["recording"]), "recording")
            kept.append(batch.filter(pa.array(placed(codes, texts, places) == 0)).select(own))
        rows = pa.Table.from_batches(kept, pa.schema([table.schema.field(each) for each in own], table.schema.metadata))
        if text:
            return str(rows.to_pandas().to_csv(sep="\t" if self.kind == "tsv" else ",", index=False)).encode()
        buffer = io.BytesIO()
        pq.write_table(rows, buffer)
        return buffer.getvalue()


@lru_cache(maxsize=4)
def _opened(dataset: Dataset, *, as_text: bool = False) -> tuple[Any, list[Any]]:
    """pyarrow's view of the data set, and its files in their order; texts as dictionaries, times as numbers.

    With ``as_text`` all columns of a CSV file are what is written there.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset as ds
    from pyarrow.fs import FSSpecHandler, LocalFileSystem, PyFileSystem

    texts = ("recording", "label")
    if dataset.kind == "parquet":
        named = [name for role, name in dataset.columns if role in texts]
        form: Any = ds.ParquetFileFormat(read_options={"dictionary_columns": named})
    else:
        types = {name: pa.string() if role in texts else pa.float64() for role, name in dataset.columns}
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
    import pyarrow.types as kinds

    table, _ = _opened(dataset)
    with refused(dataset.files[0]):
        # Without readahead: it would hold several files for the sake of a few rows.
        few = {"batch_size": 1000, "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
        frame = table.head(1000, **few).to_pandas()
    roles = roles_of(ColumnTable.of_frame(Source(Path(dataset.files[0]), columns=dict(columns)), frame))
    names, told = roles.names, ""
    if names.get("recording") not in frame or roles.parts:
        told = "a data set needs one column of recordings; --columns recording=NAME says which"
    elif "present" in names or roles.melted:
        told = "holds answers and no events; a data set in chunks is one of events"
    elif "onset" not in names or not {"offset", "length"} & names.keys():
        told = f"no columns for onset and offset among {', '.join(map(str, frame.columns[:30]))}"
    if told:
        raise InvalidInput(f"{address}: {told}")
    for role in {"onset", "offset", "length", "recording_length"} & names.keys():
        kind = table.schema.field(names[role]).type if names[role] in frame else pa.string()  # made of others, or told
        scale = UNITS.get(normal(names[role])[1], 1.0)
        if not (kinds.is_floating(kind) or kinds.is_integer(kind)) or scale != scale:
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
        values = pc.is_in(pc.utf8_lower(values.cast(pa.string())), pa.array(["false", "0", "no"]))
    return values.cast(pa.bool_() if role == "annotated" else pa.float64()).to_numpy(zero_copy_only=False)


def placed(codes: NDArray[np.int64], texts: Sequence[str], places: Mapping[str, int]) -> NDArray[np.int64]:
    """The place of each row's text; -1 for those without one."""
    return np.array([places.get(text, -1) for text in texts] + [-1], dtype=np.int64)[codes]


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
