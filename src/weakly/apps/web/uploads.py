"""Annotation files that people send: read from a folder of their own under a neutral name, then kept as objects.

A file's name as the sender gave it is shown back in messages and is never part of a path.
"""

from __future__ import annotations

import os
import pickle
import re
import secrets
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ...base.errors import InvalidInput, WeaklyError, optional
from ...base.results import write_file
from ..serving import Limits, Recent

#: The endings by which formats are told apart; any other becomes .txt and is recognised by its content.
ENDINGS = frozenset(
    (".ann", ".csv", ".eaf", ".jams", ".json", ".lab", ".parquet", ".rttm", ".textgrid", ".tsv", ".txt")
)


EXAMPLE = "/"  # no file is called so: the name of the bundled example


@dataclass(frozen=True)
class Upload:
    """A file that was read: events or answers, with the sender's name of it for people to read."""

    kind: str
    name: str
    content: Any
    notes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()  # what `check` found


@dataclass(frozen=True)
class Sent:
    """A file as it came, under its key in the folder of files, and how to read it."""

    key: str
    name: str | None
    kind: str
    options: dict[str, Any]


_PREFIX, _LOCK = "weakly-serve-", "lock"


def server_folder() -> tuple[Path, int]:
    """A folder for what people send, and the lock that says that its server lives; those of dead servers are removed.

    The system lets go of a lock when its process ends, however that ended.
    """
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    lock = os.open(folder / "new", os.O_CREAT | os.O_RDWR, 0o600)
    if _is_free(lock):
        os.rename(folder / "new", folder / _LOCK)  # nobody sees it before it is locked
    for other in folder.parent.glob(f"{_PREFIX}*/{_LOCK}"):
        try:
            theirs = os.open(other, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        except OSError:  # another user's, or gone by now
            continue
        if _is_free(theirs) and os.fstat(theirs).st_uid == os.getuid():
            shutil.rmtree(other.parent, ignore_errors=True)
        os.close(theirs)
    return folder, lock


def _is_free(lock: int) -> bool:
    """Whether the file is locked by nobody else; from now on it is, by us. False where the system has no such locks."""
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


class Shelf:
    """The uploads of everybody, each under a key that only its sender knows; the oldest make room for new ones."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self._sizes: OrderedDict[str, int] = OrderedDict()

    def put(self, data: bytes) -> str:
        """The key under which the bytes are found for a while."""
        key = secrets.token_urlsafe(18)
        (self.folder / key).write_bytes(data)
        self._sizes[key] = len(data)
        while len(self._sizes) > 1 and (
            len(self._sizes) > self.limits.uploads or sum(self._sizes.values()) > self.limits.uploads_mb * 1e6
        ):
            self.drop(next(iter(self._sizes)))
        return key

    def touch(self, keys: Iterable[Any]) -> None:
        """These are in use: others go first."""
        for key in keys:
            if isinstance(key, str) and key in self._sizes:
                self._sizes.move_to_end(key)

    def drop(self, key: str) -> None:
        """Forget a file."""
        self._sizes.pop(key, None)
        for path in (self.folder / key, self.folder / f"{key}.read"):
            path.unlink(missing_ok=True)


class Files:
    """The files that were read, as one process sees them: by key, the last few held in memory."""

    def __init__(self, folder: Path, most: int = 4) -> None:
        self.folder = folder
        self._kept: Recent[Upload] = Recent(most)

    def put(self, key: str, upload: Upload) -> None:
        """Keep what was read for every process; written whole or not at all."""
        write_file(self.folder / f"{key}.read", pickle.dumps(upload, pickle.HIGHEST_PROTOCOL))

    def get(self, key: str, *, kind: str, field: str) -> Any:
        """The events or answers behind a key."""
        path = self.folder / f"{key}.read"
        if not re.fullmatch(r"[\w-]+", key) or not path.exists():
            raise InvalidInput(f"{field}: the file is no longer on the server; send it again")
        upload = self._kept.get(key) or self._kept.put(key, pickle.loads(path.read_bytes()))
        if upload.kind != kind:
            raise InvalidInput(f"{field} must be a file of {kind}, got one of {upload.kind}")
        return upload.content


def shown_name(name: str | None) -> str:
    r"""The sender's file name, for people to read: its last part, printable, short.

    >>> shown_name("../../etc/pass\x00wd.csv"), shown_name(None)
    ('passwd.csv', 'file')
    """
    last = PurePosixPath((name or "").replace("\\", "/")).name
    name = "".join(char for char in last if char.isprintable()) or "file"
    return name if len(name) <= 80 else f"{name[:60]}…{name[-19:]}"


def safe_name(shown: str) -> str:
    """A name for the file in its own folder: the recording that it stands for, and an ending that we know.

    >>> safe_name(".. *?.sh"), safe_name("dawn chorus 1.Table.1.selections.txt")
    ('_.txt', 'dawn chorus 1.Table.1.selections.txt')
    """
    path = PurePosixPath(re.sub(r"[^\w. -]", "_", shown))
    ending = path.suffix.lower()
    stem = path.name if not path.suffix else path.name[: -len(path.suffix)]
    return (stem.strip("._ ")[:60] or "_") + (ending if ending in ENDINGS else ".txt")


def parse(data: bytes, *, name: str | None, kind: str, limits: Limits, options: dict[str, Any]) -> Upload:
    """The upload, read; its rows are counted before they are read."""
    from ... import io

    shown = shown_name(name)
    if not data:
        raise InvalidInput(f"file {shown!r} is empty")
    with tempfile.TemporaryDirectory(prefix="weakly-") as folder:
        path = Path(folder) / safe_name(shown)
        path.write_bytes(data)
        rows = _parquet_rows(path) if data[:4] == b"PAR1" else data.count(b"\n")
        if rows > limits.rows:
            raise InvalidInput(f"file {shown!r} has {rows:,} rows; at most {limits.rows:,} are read here")
        read = io.read_answers if kind == "answers" else io.read
        try:
            how = {key: value for key, value in options.items() if value is not None}
            content: Any = read(path, **how)
            how.pop("on_error", None)
            findings = tuple(map(str, io.check(path, **how).findings))
        except WeaklyError as error:
            raise InvalidInput(f"file: {_public(str(error), folder, path, shown)}") from error
    if len(content) > limits.rows:
        raise InvalidInput(f"file {shown!r} has {len(content):,} rows; at most {limits.rows:,} are read here")
    told = [tuple(_public(text, folder, path, shown) for text in each) for each in (content.notes, findings)]
    return Upload(kind, shown, content, *told)


def _public(message: str, folder: str, path: Path, shown: str) -> str:
    """The message with the sender's name of the file in place of ours."""
    return message.replace(str(path), shown).replace(folder, "").replace(path.name, shown)


def _parquet_rows(path: Path) -> int:
    try:
        return int(optional("pyarrow.parquet", extra="parquet").ParquetFile(path).metadata.num_rows)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"file is not a readable Parquet file: {error}") from error
