"""What paths stand for: files, folders, patterns, and addresses (s3://..., gs://..., https://...), of which there are
copies for as long as they are read."""

from __future__ import annotations

import glob
import os
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import unquote

from ..base.errors import InvalidInput, WeaklyError, optional
from ..base.parallel import in_order, threads
from ..base.results import counted
from .source import GZIP, KINDS, ZIP

#: Bytes behind addresses that are copied to this machine to be read at once.
MOST_BYTES = 2 * 2**30
_PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "http": "aiohttp", "https": "aiohttp"}
#: Files beside annotations that are not worth their bytes.
_OTHERS = (".wav", ".flac", ".mp3", ".ogg", ".aif", ".aiff", ".m4a", ".mp4", ".png", ".jpg", ".pdf", ".zip", ".gz")

_ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv"}
_MUCH_TEXT = 2**26  # bytes: less cannot hold many rows

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether a path is an address; a letter before the colon is a drive.

    >>> is_address("s3://bucket/a.csv"), is_address("C:/a.csv"), is_address("a.csv")
    (True, False, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", os.fspath(path)) is not None


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
        optional(_PACKAGES[scheme], extra={"s3": "s3", "gs": "gs", "gcs": "gs"}.get(scheme, "http"))
    try:
        return fsspec.filesystem(scheme or "file")
    except (ValueError, ImportError) as error:
        raise InvalidInput(f"{scheme}://: {error}") from error


@contextmanager
def refused(name: object, told: str = "cannot be read", *, quiet: bool = False) -> Iterator[None]:
    """Whatever one of many libraries raises (no bucket, no rights, a broken file) as one line that names the file.

    ``quiet`` keeps its warnings down, which is for one thread only.
    """
    try:
        with warnings.catch_warnings() if quiet else nullcontext():
            if quiet:
                warnings.simplefilter("ignore")
            yield
    except (WeaklyError, ImportError):
        raise
    except FileNotFoundError as error:
        raise InvalidInput(f"{name}: there is no such file or folder") from error
    except Exception as error:
        words = " ".join(str(error).split()).rpartition("Invalid: ")[2][:200] or type(error).__name__
        raise InvalidInput(f"{name}: {told}: {words}") from error


def listed(files: Any, address: str) -> dict[str, Any]:
    """The files that an address, a folder or a pattern stands for, with what the system tells of each."""
    with refused(address):
        # A question mark in a web address begins what is asked for.
        if any(sign in address for sign in ("*" if scheme_of(address) in ("http", "https") else "*?[")):
            found = files.glob(address, detail=True)
        elif files.isdir(address):
            found = files.find(address, detail=True)
        else:
            info = files.info(address)
            found = {info["name"]: info}
        return {name: info for name, info in found.items() if info.get("type") != "directory"}


@dataclass(frozen=True)
class AddressListing:
    """The files behind one address that are worth reading: their names there, what messages call them, their bytes."""

    address: str
    names: tuple[str, ...]
    called: tuple[str, ...]
    sizes: tuple[int | None, ...]  # None where the system does not tell
    n_others: int  # sound, pictures, archives
    several: bool  # a folder or a pattern

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> AddressListing:
        """What lies behind an address; one that went through ``Path`` has lost a stroke."""
        address = re.sub(r"^([^:/]+):/+", r"\1://", os.fspath(path)) if isinstance(path, os.PathLike) else path
        files = system(scheme_of(address))
        found = listed(files, address)
        several = list(found) != [files._strip_protocol(address)]
        hidden = [name for name in found if several and name.rpartition("/")[2].startswith(".")]
        others = [name for name in found if several and name.lower().endswith(_OTHERS) and not table_kind(name)]
        names = [name for name in found if name not in {*hidden, *others} and not name.endswith("/")]
        if not names:
            raise InvalidInput(f"{address}: there are no annotation files")
        called = [address_of(name, scheme_of(address)) for name in names]
        sizes = [found[name].get("size") for name in names]
        return cls(address, tuple(names), tuple(called), tuple(sizes), len(others), several)

    @property
    def n_bytes(self) -> int:
        """The bytes of all files, as far as they are known."""
        return sum(size or 0 for size in self.sizes)


def listings(paths: Sequence[str | os.PathLike[str]]) -> dict[str, AddressListing]:
    """What lies behind those of the paths that are addresses and no files here."""
    return {os.fspath(path): AddressListing.of(path) for path in paths if is_address(path) and not os.path.exists(path)}


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
        jobs, copies = [], []
        for each in found:
            places = [_place(Path(folder), call) for call in each.called]
            for path, name, call in zip(places, each.names, each.called):
                if path not in called:
                    jobs.append((system(scheme_of(each.address)), name, call, path))
                if called.setdefault(path, call) != call:
                    raise InvalidInput(f"{call}: a copy would have the name of that of {called[path]}; give one only")
            copies.append({path: called[path] for path in sorted(places)})
        ended = Event()
        with threads() as workers:
            try:
                todo = [(*job, ended) for job in jobs]
                for _ in in_order(_copy, todo, executor=workers, progress=progress, label="fetching"):
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
    return (
        f"{size} than the {MOST_BYTES / 2**30:g} GiB that are copied here to be read at once; of tables (Parquet, CSV) "
        "sample=1000 (--sample 1000) reads so many recordings where they lie, and weakly evaluate all of them in chunks"
    )


@contextmanager
def files_of(paths: Paths, *, progress: bool = False) -> Iterator[tuple[dict[Path, str], list[str]]]:
    """The files that paths, folders, patterns and addresses stand for, each with what messages call it; and notes.

    Of addresses these are copies, which are there as long as the block lasts.
    """
    items = listed_paths(paths)
    found: dict[Path, str] = {}
    notes: list[str] = []
    away = listings(items)
    with fetched(list(away.values()), progress=progress) as copies:
        behind = dict(zip(away, copies))
        for item in items:
            path, address = Path(item), away.get(os.fspath(item))
            if address is not None and not address.several:
                found |= behind[os.fspath(item)]
            elif address is not None or path.is_dir():
                inside = behind[os.fspath(item)] if address is not None else {each: str(each) for each in _inside(path)}
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
        real = os.path.realpath(place)
        if real in seen:  # a link that leads back
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(place) / name for name in names if not name.startswith(".") and (Path(place) / name).is_file()]
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
    """The rows of tables; of small text files nobody asks."""
    tables = {path: path.stat().st_size for path in files if table_kind(path.name)}
    text = sum(size for path, size in tables.items() if table_kind(path.name) != "parquet") > _MUCH_TEXT
    total = 0
    for path, size in tables.items():
        if text or table_kind(path.name) == "parquet":
            with open(path, "rb") as file:
                total += count_rows(file, path.name, size)
    return total


def count_rows(file: Any, name: str, size: int) -> int:
    """The rows of an open table: as Parquet says, of text about as many as its first MiB tells; 0 of another file."""
    kind = table_kind(name)
    if kind == "parquet":
        pq = optional("pyarrow.parquet", extra="parquet")
        try:
            return int(pq.ParquetFile(file).metadata.num_rows)
        except Exception:  # whatever is wrong with it, its reader says
            return 0
    head = file.read(1 << 20) if kind else b""
    return round(head.count(b"\n") * size / len(head)) if head else 0
