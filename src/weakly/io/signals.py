"""Samples from WAV, FLAC, OGG, MP3 files, from EDF, BDF, WFDB, CSV and npy signals: block by block in flat memory."""

from __future__ import annotations

import io
import os
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.errors import AssumptionWarning, InvalidInput, optional
from ..base.results import write_file
from ..base.symbols import plausible_length
from .source import refused

_UNREADABLE = "not readable as a signal"
VIDEOS = (".mp4", ".m4v", ".mov", ".webm", ".mkv")
_ENTERED = {0x18538067, 0x1549A966, 0x1F43B675, 0xA0}  # Segment, Info, Cluster, BlockGroup
_SCALE, _DURATION, _CLUSTER_TIME, _BLOCKS = 0x2AD7B1, 0x4489, 0xE7, (0xA3, 0xA1)


def video_seconds(path: Path) -> float:
    """The length of a video in seconds."""
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
        size = int.from_bytes(file.read(8), "big") if size == 1 else size or end - at
        start = file.tell()
        if kind == b"mvhd":
            long = file.read(4)[0] == 1  # the version
            file.seek(start + (20 if long else 12))
            scale, length = struct.unpack(">IQ" if long else ">II", file.read(12 if long else 8))
            return float(length / scale) if scale else 0.0
        if size < 8:
            break
        at, end = (start, at + size) if kind == b"moov" else (at + size, end)
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


Samples = NDArray[np.float32]
PathLike = str | os.PathLike[str]

SOUNDS = (".wav", ".flac", ".ogg", ".mp3", ".aiff", ".aif", ".w64", ".opus")
MEASURED = (".edf", ".bdf", ".hea")  # signals of several channels that carry their sample rate
SIGNALS = (".npy", ".csv", ".tsv", ".txt", *MEASURED)
#: What is looked for in a folder; signals without a sample rate are given by name.
RECORDINGS = (*SOUNDS, *MEASURED, *VIDEOS)


@contextmanager
def _opened(path: Path, words: Callable[[], str]) -> Iterator[Any]:
    """A sound file, open; what soundfile says of a broken one becomes one line, with these words."""
    if path.suffix.lower() in VIDEOS:
        raise InvalidInput(f"{path}: the sound of a video is not read; take it out into a WAV file first")
    sf = optional("soundfile", extra="audio")
    try:
        with sf.SoundFile(str(path)) as file:
            yield file
    except (sf.SoundFileError, RuntimeError) as error:
        told = str(error).rpartition(": ")[2].strip().rstrip(".") or type(error).__name__
        raise InvalidInput(f"{path}: {words()}: {told}") from error


@dataclass(frozen=True)
class SignalHeader:
    """What the header of a recording says: samples per second, number of samples, channels."""

    path: Path
    sample_rate: float
    n_samples: int
    channels: int

    @property
    def seconds(self) -> float:
        """The length of the recording."""
        return self.n_samples / self.sample_rate


@dataclass(frozen=True)
class RecordingListing:
    """The lengths of recordings in seconds by path, and why others were skipped."""

    seconds: dict[Path, float]
    skipped: dict[Path, str]

    def names(self) -> dict[str, Path]:
        """A short name for each recording: its file name, with as many folders as it takes to tell them apart."""
        for depth in count(1):
            names = {"/".join(path.resolve().parts[-depth:]): path for path in self.seconds}
            if len(names) == len(self.seconds):
                break
        return names


def header(path: PathLike, *, sample_rate: float | None = None) -> SignalHeader:
    """What the file's header says, without reading the samples; truncated files raise InvalidInput.

    Signals in npy or CSV files (one column per channel) carry no sample rate: give it.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind in SIGNALS and kind not in MEASURED and sample_rate is None:
        raise InvalidInput(f"{path}: this kind of file carries no sample rate; give sample_rate in samples per second")
    if sample_rate is not None and not sample_rate > 0:
        raise InvalidInput(f"sample_rate must be > 0, got {sample_rate:g}")
    if not path.is_file():
        raise InvalidInput(f"{path}: no such file")
    if kind in VIDEOS:
        return SignalHeader(path, 1000.0, round(1000 * video_seconds(path)), 0)
    if kind in MEASURED:
        with refused(path, _UNREADABLE, quiet=True):
            if kind == ".hea":
                head = optional("wfdb", extra="signals").rdheader(str(path.with_suffix("")))
                return SignalHeader(path, float(head.fs), int(head.sig_len or 0), int(head.n_sig))
            signals, seconds = _edf(path)
            rate = float(signals[0].sampling_frequency)
            return SignalHeader(path, rate, round(rate * seconds), len(signals))
    if kind in SIGNALS:
        return SignalHeader(path, float(sample_rate or 0), *_signal_values(path).shape)
    with _opened(path, lambda: "not readable as audio") as info:
        if info.frames <= 0 or info.samplerate <= 0:
            raise InvalidInput(f"{path}: the recording is empty")
        reason = _truncated(path, info)
    if reason:
        raise InvalidInput(f"{path}: truncated: {reason}")
    return SignalHeader(path, float(info.samplerate), int(info.frames), int(info.channels))


def _truncated(path: Path, info: Any) -> str:
    """Why the file is shorter than it says, or "". libsndfile shortens a cut file silently, so we look ourselves."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        start = file.read(12)
        while start[:4] == b"RIFF" and start[8:] == b"WAVE":
            chunk = file.read(8)
            length, there = int.from_bytes(chunk[4:], "little"), size - file.tell()
            if len(chunk) < 8:
                return "no samples"
            if chunk[:4] == b"data":
                # Recorders that stream write 0 or the largest number, and fill in nothing afterwards.
                streamed = length in (0, 0xFFFFFFFF, 0x7FFFFFFF)
                return "" if streamed or there >= length else f"{there} of {length} bytes of samples are there"
            file.seek(length + length % 2, os.SEEK_CUR)
        if start[:4] == b"OggS":
            file.seek(max(0, size - 65536))
            page = file.read().rpartition(b"OggS")  # the last one carries the end-of-stream flag
            return "" if page[1] and page[2][1] & 4 else "the last page of the stream is missing"
    if info.format in ("FLAC", "MP3"):
        told = "the last sample cannot be read"
        with _opened(path, lambda: f"truncated: {told}") as file:
            file.seek(info.frames - 1)
            return "" if len(file.read(1)) else told
    return ""


def durations(paths: Iterable[PathLike], *, sample_rate: float | None = None) -> RecordingListing:
    """The lengths of recordings; what is corrupt or truncated is skipped, named and counted in one warning."""
    seconds: dict[Path, float] = {}
    skipped: dict[Path, str] = {}
    for path in map(Path, paths):
        try:
            if "\0" not in str(path):  # of which whoever opens it tells
                os.path.realpath(path).encode()  # readers, tables and databases take no bytes that are no UTF-8
            seconds[path] = header(path, sample_rate=sample_rate).seconds
        except UnicodeEncodeError:
            skipped[Path(os.fsencode(path).decode("utf-8", "backslashreplace"))] = "its path is not UTF-8; rename it"
        except InvalidInput as error:
            skipped[path] = str(error).partition(f"{path}: ")[2] or str(error)
    if skipped:
        named = "; ".join(f"{path}: {reason}" for path, reason in list(skipped.items())[:5])
        more = f"; and {len(skipped) - 5} more" if len(skipped) > 5 else ""
        message = f"skipped {len(skipped)} of {len(seconds) + len(skipped)} recordings: {named}{more}"
        warnings.warn(message, AssumptionWarning, stacklevel=2)
    return RecordingListing(seconds, skipped)


def blocks(path: PathLike, *, seconds: float = 30.0, sample_rate: float | None = None) -> Iterator[Samples]:
    """The recording as consecutive blocks (samples, channels), at most this many seconds each.

    A file that ends before its header says raises InvalidInput with the time it reached.
    """
    signal = header(path, sample_rate=sample_rate)
    step = max(1, round(seconds * signal.sample_rate))
    if signal.path.suffix.lower() in SIGNALS:
        for first in range(0, signal.n_samples, step):
            yield np.asarray(_stretch(signal, first, min(first + step, signal.n_samples)), dtype=np.float32)
        return
    done, rate = 0, signal.sample_rate
    with _opened(signal.path, lambda: f"corrupt after {done / rate:.3g} s") as file:
        while len(block := file.read(step, dtype="float32", always_2d=True)):
            done += len(block)
            yield block
    if done < signal.n_samples * 0.999:
        got, want = done / signal.sample_rate, signal.seconds
        raise InvalidInput(f"{signal.path}: truncated: {got:.3g} of {want:.3g} s are there")


def _signal_values(path: Path) -> NDArray[Any]:
    array = path.suffix.lower() == ".npy"
    try:
        if array:
            values: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        else:
            table = pd.read_csv(path, sep=None, engine="python", header=None)
            if not all(kind.kind in "fiu" for kind in table.dtypes):
                table = pd.read_csv(path, sep=None, engine="python")
            values = table.to_numpy(dtype=np.float32)
    except (ValueError, OSError, EOFError, pd.errors.ParserError) as error:
        told = "not readable as an array" if array else "a signal must hold numbers, one column per channel"
        raise InvalidInput(f"{path}: {told}: {error}") from error
    values = values[:, None] if values.ndim == 1 else values
    if array and values.ndim == 2 and values.shape[0] < values.shape[1]:
        values = values.T  # channels x time, as MNE and others write: no recording has fewer samples than channels
    if values.ndim != 2 or values.shape[0] < 1 or values.dtype.kind not in "fiu":
        told = "a signal must be numbers of shape (samples,), (samples, channels) or its transpose"
        raise InvalidInput(f"{path}: {told}")
    return values


def _stretch(signal: SignalHeader, first: int, last: int) -> Samples:
    """Samples of a signal, (n, channels); what is missing in a file counts as nothing."""
    if signal.path.suffix.lower() not in MEASURED:
        return np.array(_signal_values(signal.path)[first:last], dtype=np.float32)
    with refused(signal.path, _UNREADABLE, quiet=True):
        if signal.path.suffix.lower() == ".hea":
            name = str(signal.path.with_suffix(""))
            held = optional("wfdb", extra="signals").rdrecord(name, sampfrom=first, sampto=last).p_signal
        else:
            ends = (first / signal.sample_rate, last / signal.sample_rate)
            held = np.column_stack([channel.get_data_slice(*ends) for channel in _edf(signal.path)[0]])
    return np.asarray(np.nan_to_num(held), dtype=np.float32)


def _edf(path: Path) -> tuple[list[Any], float]:
    """The channels of an EDF or BDF file that have the highest sample rate, and the seconds of the recording."""
    edfio = optional("edfio", extra="signals")
    held = (edfio.read_bdf if path.suffix.lower() == ".bdf" else edfio.read_edf)(path, lazy_load_data=True)
    with open(path, "rb") as file:
        told = int(file.read(244)[236:])  # edfio puts the number that is there in its place
    if told > held.num_data_records:
        raise InvalidInput(f"{path}: truncated: it holds {held.num_data_records} of its {told} data records")
    most = max(channel.sampling_frequency for channel in held.signals)
    seconds = plausible_length(str(path), float(held.duration))
    return [channel for channel in held.signals if channel.sampling_frequency == most], seconds


def channels(path: PathLike) -> list[tuple[str, str]]:
    """What the channels of a signal are called (numbers where its file does not say), and their units ("" likewise).

    Of an EDF or BDF file these are the channels with the highest sample rate, which are the ones that are read.
    """
    path = Path(path)
    with refused(path, _UNREADABLE, quiet=True):
        if path.suffix.lower() == ".hea":
            head = optional("wfdb", extra="signals").rdheader(str(path.with_suffix("")))
            return list(zip(head.sig_name or (), head.units or ()))
        if path.suffix.lower() in MEASURED:
            return [(str(each.label), str(each.physical_dimension)) for each in _edf(path)[0]]
        return [(str(k + 1), "") for k in range(_signal_values(path).shape[1])]


def read_clip(
    path: PathLike, *, onset: float, offset: float, fade: float = 0.005, sample_rate: float | None = None
) -> tuple[Samples, float]:
    """The samples of one stretch of a recording, (n, channels), and their rate; only the stretch is read.

    Short fades keep the cut from clicking.
    """
    signal = header(path, sample_rate=sample_rate)
    rate = signal.sample_rate
    first, last = round(onset * rate), min(round(offset * rate), signal.n_samples)
    if signal.path.suffix.lower() in SIGNALS:
        clip = _stretch(signal, first, last)
    else:
        with _opened(signal.path, lambda: f"corrupt at {onset:.3g} s") as file:
            file.seek(first)
            clip = file.read(last - first, dtype="float32", always_2d=True)
    n = min(round(fade * rate), len(clip) // 2)
    if n > 0:
        ramp = (np.arange(1, n + 1, dtype=np.float32) / (n + 1))[:, None]
        clip[:n] *= ramp
        clip[-n:] *= ramp[::-1]
    return clip, rate


def audible_clip(path: PathLike, **stretch: Any) -> tuple[Samples, float]:
    """The samples of :func:`read_clip`; those of signals other than sound get a peak of one."""
    clip, rate = read_clip(path, **stretch)
    if Path(path).suffix.lower() in SIGNALS:
        clip = clip / max(1e-12, float(np.abs(clip).max(initial=0.0)))
    return clip, rate


def write_clip(path: PathLike, target: PathLike, **stretch: Any) -> Path:
    """The WAV file of one stretch of a recording, as :func:`audible_clip` reads it, whole or not at all."""
    clip, rate = audible_clip(path, **stretch)
    return write_file(target, sound_bytes(clip, round(rate), format="WAV", subtype="PCM_16"))


def sound_bytes(samples: Samples, rate: int, **form: str) -> bytes:
    """The bytes of the sound file of these samples."""
    target = io.BytesIO()
    optional("soundfile", extra="audio").write(target, samples, rate, **form)
    return target.getvalue()
