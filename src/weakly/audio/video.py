"""How long a video is, from its file: MP4 and MOV boxes, WebM and Matroska elements; nothing is decoded."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import InvalidInput

VIDEOS = (".mp4", ".m4v", ".mov", ".webm", ".mkv")
_ENTERED = {0x18538067, 0x1549A966, 0x1F43B675, 0xA0}  # Segment, Info, Cluster, BlockGroup
_SCALE, _DURATION, _CLUSTER_TIME, _BLOCKS = 0x2AD7B1, 0x4489, 0xE7, (0xA3, 0xA1)


def video_seconds(path: Path) -> float:
    """The length of a video in seconds."""
    if not path.is_file():
        raise InvalidInput(f"{path}: no such file")
    try:
        with path.open("rb") as file:
            found = _matroska(file) if file.read(4) == b"\x1aE\xdf\xa3" else _mp4(file)
    except (struct.error, IndexError, OverflowError, OSError) as error:
        raise InvalidInput(f"{path}: not readable as a video: {error}") from error
    if not 0 < found < 1e7:
        raise InvalidInput(f"{path}: not readable as a video: its length is not told, or it has none")
    return found


def _mp4(file: BinaryIO) -> float:
    """The movie header's duration: box moov, in it mvhd."""
    at, end = 0, file.seek(0, 2)
    while at + 8 <= end:
        file.seek(at)
        size, kind = struct.unpack(">I4s", file.read(8))
        start = at + 8
        if size == 1:
            (size,) = struct.unpack(">Q", file.read(8))
            start += 8
        size = end - at if size == 0 else size
        if kind == b"moov":
            at, end = start, at + size
            continue
        if kind == b"mvhd":
            file.seek(start)
            version = file.read(4)[0]
            file.seek(start + (20 if version == 1 else 12))
            scale, length = struct.unpack(">IQ" if version == 1 else ">II", file.read(12 if version == 1 else 8))
            return float(length / scale) if scale else 0.0
        if size < 8:
            return 0.0
        at += size
    return 0.0


def _matroska(file: BinaryIO) -> float:
    """The duration that the file tells or, where it was recorded live, the time of its last block."""
    scale, cluster, last = 1e6, 0, 0
    for kind, data in _elements(file):
        if kind == _SCALE:
            scale = float(int.from_bytes(data, "big"))
        elif kind == _DURATION:
            return float(struct.unpack(">d" if len(data) == 8 else ">f", data)[0] * scale / 1e9)
        elif kind == _CLUSTER_TIME:
            cluster = int.from_bytes(data, "big")
        elif kind in _BLOCKS:
            after = 8 - data[0].bit_length() + 1  # the track's number
            last = max(last, cluster + struct.unpack(">h", data[after : after + 2])[0])
    return last * scale / 1e9


def _elements(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Kind and first bytes of every element that tells a time; those that hold others are entered."""
    at, end = 0, file.seek(0, 2)
    while at < end:
        file.seek(at)
        head = file.read(12)
        wide = 9 - head[0].bit_length()
        kind = int.from_bytes(head[:wide], "big")
        count = 9 - head[wide].bit_length()
        size = int.from_bytes(head[wide : wide + count], "big") & ((1 << (7 * count)) - 1)
        at += wide + count
        if kind in _ENTERED:
            continue
        if kind in (_SCALE, _DURATION, _CLUSTER_TIME, *_BLOCKS):
            file.seek(at)
            yield kind, file.read(min(size, 12))
        at += size
