"""Annotation files that people send: read from a folder of their own under a neutral name, then kept as objects.

A file's name as the sender gave it is shown back in messages and is never part of a path.
"""

from __future__ import annotations

import re
import secrets
import tempfile
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import InvalidInput, WeaklyError
from .limits import Limits

#: The endings by which formats are told apart; any other becomes .txt and is recognised by its content.
ENDINGS = frozenset(
    (".ann", ".csv", ".eaf", ".jams", ".json", ".lab", ".parquet", ".rttm", ".textgrid", ".tsv", ".txt")
)


@dataclass(frozen=True)
class Upload:
    """A file that was read: events or answers, with the sender's name of it for people to read."""

    kind: str
    name: str
    size: int
    content: Any
    notes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()  # what `check` found


class Shelf:
    """The uploads of everybody, each under a key that only its sender knows; the oldest make room for new ones."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._kept: OrderedDict[str, Upload] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, upload: Upload) -> str:
        """The key under which the upload is found for a while."""
        key = secrets.token_urlsafe(18)
        with self._lock:
            self._kept[key] = upload
            while len(self._kept) > 1 and (
                len(self._kept) > self.limits.uploads
                or sum(kept.size for kept in self._kept.values()) > self.limits.uploads_mb * 1e6
            ):
                self._kept.popitem(last=False)
        return key

    def get(self, key: str, *, kind: str, field: str) -> Any:
        """The events or answers behind a key."""
        with self._lock:
            upload = self._kept.get(key)
            if upload is not None:
                self._kept.move_to_end(key)
        if upload is None:
            raise InvalidInput(f"{field}: the file is no longer on the server; send it again")
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
    from .. import formats

    shown = shown_name(name)
    if not data:
        raise InvalidInput(f"file {shown!r} is empty")
    with tempfile.TemporaryDirectory(prefix="weakly-") as folder:
        path = Path(folder) / safe_name(shown)
        path.write_bytes(data)
        rows = _parquet_rows(path) if data[:4] == b"PAR1" else data.count(b"\n")
        if rows > limits.rows:
            raise InvalidInput(f"file {shown!r} has {rows:,} rows; at most {limits.rows:,} are read here")
        read = formats.read_answers if kind == "answers" else formats.read
        try:
            how = {key: value for key, value in options.items() if value is not None}
            content: Any = read(path, **how)
            how.pop("on_error", None)
            findings = tuple(map(str, formats.check(path, **how).findings))
        except WeaklyError as error:
            raise InvalidInput(f"file: {_public(str(error), folder, path, shown)}") from error
    if len(content) > limits.rows:
        raise InvalidInput(f"file {shown!r} has {len(content):,} rows; at most {limits.rows:,} are read here")
    told = [tuple(_public(text, folder, path, shown) for text in each) for each in (content.notes, findings)]
    return Upload(kind, shown, len(data), content, *told)


def _public(message: str, folder: str, path: Path, shown: str) -> str:
    """The message with the sender's name of the file in place of ours."""
    return message.replace(str(path), shown).replace(folder, "").replace(path.name, shown)


def _parquet_rows(path: Path) -> int:
    from ..errors import optional

    try:
        return int(optional("pyarrow.parquet", extra="formats").ParquetFile(path).metadata.num_rows)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"file is not a readable Parquet file: {error}") from error
