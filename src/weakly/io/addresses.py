"""Addresses (s3://..., gs://..., https://...): what lies behind them, and copies of it for as long as they are read."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import unquote

from ..base.errors import InvalidInput, WeaklyError, optional
from ..base.parallel import in_order, threads

#: Bytes behind addresses that are copied to this machine to be read at once.
MOST_BYTES = 2 * 2**30
_PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "http": "aiohttp", "https": "aiohttp"}
#: Files beside annotations that are not worth their bytes.
_OTHERS = (".wav", ".flac", ".mp3", ".ogg", ".aif", ".aiff", ".m4a", ".mp4", ".png", ".jpg", ".pdf", ".zip", ".gz")


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
    fsspec = optional("fsspec", extra="formats")
    if scheme in _PACKAGES:
        optional(_PACKAGES[scheme], extra={"s3": "s3", "gs": "gs", "gcs": "gs"}.get(scheme, "http"))
    try:
        return fsspec.filesystem(scheme or "file")
    except (ValueError, ImportError) as error:
        raise InvalidInput(f"{scheme}://: {error}") from error


@contextmanager
def refused(address: str) -> Iterator[None]:
    """Whatever one of many libraries raises (no bucket, no rights, no network) as one line that names the address."""
    try:
        yield
    except WeaklyError:
        raise
    except FileNotFoundError as error:
        raise InvalidInput(f"{address}: there is no such file or folder") from error
    except Exception as error:
        words = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidInput(f"{address}: cannot be read: {words}") from error


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
        others = [name for name in found if several and name.lower().endswith(_OTHERS)]
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
