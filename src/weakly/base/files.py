"""Files that are there whole or not at all: what is written appears when it is complete, and never over an input."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from .errors import InvalidInput

_inputs: ContextVar[set[str] | None] = ContextVar("inputs", default=None)
_private = threading.RLock()


@contextmanager
def private_files() -> Iterator[None]:
    """Files and folders that are made within this block are their owner's alone; one thread at a time is in it."""
    with _private:
        mask = os.umask(0o077)  # of the whole process, hence the lock
        try:
            yield
        finally:
            os.umask(mask)


@contextmanager
def inputs_kept() -> Iterator[None]:
    """Within this block, a file that was given to be read is never written over: commands run in one."""
    token = _inputs.set(set())
    try:
        yield
    finally:
        _inputs.reset(token)


def is_input(*paths: str | os.PathLike[str]) -> None:
    """Remember that these files are read."""
    known = _inputs.get()
    if known is not None:
        known.update(os.path.realpath(path) for path in paths)


def refuse_input(path: str | os.PathLike[str]) -> None:
    """Raise if this file, under any name, was given to be read."""
    known = _inputs.get() or ()
    target = os.path.realpath(path)
    if target in known or (os.path.exists(target) and any(_same(target, each) for each in known)):
        raise InvalidInput(f"{path}: this file is read here, so it is not written over; give another name")


def _same(path: str, other: str) -> bool:
    with suppress(OSError):
        return os.path.samefile(path, other)
    return False


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w", *, encoding: str = "utf-8") -> Iterator[IO[Any]]:
    """A file open for writing that takes the place of ``path`` when the block ends, and leaves nothing if it fails.

    The text goes to a temporary file in the same folder, is flushed to the disk and then renamed, so that a reader
    sees the old file or the new one and never half of either. Line ends are written as given.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "a.txt") as file:
    ...         _ = file.write("whole")
    ...     (Path(folder) / "a.txt").read_text(), len(os.listdir(folder))
    ('whole', 1)
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode must be 'w' or 'wb', got {mode!r}")
    refuse_input(path)
    # A link keeps being a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
    text = {} if mode == "wb" else {"encoding": encoding, "newline": ""}
    try:
        with open(temporary, mode.replace("w", "x"), **text) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(temporary, target.stat().st_mode & 0o7777)
        os.replace(temporary, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
