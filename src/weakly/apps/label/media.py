"""What an annotator hears and sees of one segment: its sound as WAV, its spectrogram as PNG, its traces as SVG.

Everything is made from the one stretch of the recording, when it is asked for, in a few milliseconds; the page draws
the axes. A video is served as the file that it is. Recordings are read only from the folders that were given.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import rfft

from ...base.errors import InvalidInput, optional
from ...io.signals import SIGNALS, VIDEOS, header, read_clip

WIDTH, HEIGHT = 900, 256  # pixels of a spectrogram
FLOOR = 60.0  # dB below the loudest that are still seen
MOST_TRACES = 12


class Folders:
    """The places that may be read: the folders and the files that were given, and what lies in those folders."""

    def __init__(self, given: Iterable[str | Path]) -> None:
        self._roots = [Path(path).resolve() for path in given]

    def holds(self, path: Path) -> bool:
        """Whether the file is there and, with all links followed, in one of the places."""
        try:
            real = path.resolve()
            return real.is_file() and any(real == root or root in real.parents for root in self._roots)
        except (OSError, ValueError, RuntimeError):  # a loop of links; a name that no system takes
            return False

    def allowed(self, path: Path | None) -> Path:
        """The path with its links followed; whatever ends elsewhere is refused."""
        if path is None or not self.holds(path):
            raise InvalidInput("this recording is not in the folders that were given")
        return path.resolve()


def kind_of(path: Path) -> str:
    """How the recording is shown: "sound" (with its spectrogram), "traces" or "video".

    >>> kind_of(Path("a.WAV")), kind_of(Path("eeg.edf")), kind_of(Path("nest.mp4"))
    ('sound', 'traces', 'video')
    """
    ending = path.suffix.lower()
    return "traces" if ending in SIGNALS else "video" if ending in VIDEOS else "sound"


def sound(path: Path, *, onset: float, offset: float) -> bytes:
    """The stretch as the bytes of a WAV file, mono or stereo, as loud as it was recorded."""
    samples, rate = read_clip(path, onset=onset, offset=offset)
    if samples.shape[1] > 2:
        samples = samples.mean(axis=1, keepdims=True)
    target = io.BytesIO()
    optional("soundfile", extra="audio").write(target, samples, round(rate), format="WAV", subtype="PCM_16")
    return target.getvalue()


def top_of(path: Path, *, sample_rate: float | None = None) -> float:
    """The highest frequency of the picture in kHz: half the sample rate."""
    return header(path, sample_rate=sample_rate).sample_rate / 2000


def picture(path: Path, *, onset: float, offset: float, sample_rate: float | None = None) -> tuple[bytes, str]:
    """The picture of the stretch and its media type: a spectrogram for sound, traces for every other signal."""
    samples, rate = read_clip(path, onset=onset, offset=offset, fade=0.0, sample_rate=sample_rate)
    if kind_of(path) == "traces":
        return traces(samples), "image/svg+xml"
    return spectrogram(samples.mean(axis=1), rate), "image/png"


def spectrogram(samples: NDArray[np.float32], rate: float) -> bytes:
    """The spectrogram as a PNG file: time to the right, 0 to rate / 2 upwards, the loudest of each pixel in dB."""
    n = int(np.clip(2 ** round(np.log2(max(2.0, rate * 0.023))), 64, 4096))
    hop = n // 2 if len(samples) > WIDTH * n // 2 else max(1, (len(samples) - n) // WIDTH + 1)
    padded = np.pad(samples, (0, max(0, n - len(samples))))
    frames = np.lib.stride_tricks.sliding_window_view(padded, n)[::hop]
    window = np.hanning(n).astype(np.float32)
    power = np.abs(rfft(frames * window, axis=1)[:, 1:])
    columns = _largest(power, WIDTH, axis=0)
    rows = _largest(columns, HEIGHT, axis=1)
    level = 20 * np.log10(rows + 1e-9)
    top = float(level.max())
    grey = np.clip((level - (top - FLOOR)) * (255 / FLOOR), 0, 255).astype(np.uint8)
    return png(np.ascontiguousarray(grey.T[::-1]))


def _largest(values: NDArray[Any], most: int, *, axis: int) -> NDArray[Any]:
    """The largest of each of at most so many equal shares along the axis."""
    count = values.shape[axis]
    if count <= most:
        return values
    starts = (np.arange(most) * count) // most
    return np.asarray(np.maximum.reduceat(values, starts, axis=axis))


def png(levels: NDArray[np.uint8]) -> bytes:
    """Levels from 0 to 255 as a PNG file in the colours of magma."""
    height, width = levels.shape
    lines = np.zeros((height, width + 1), dtype=np.uint8)  # each line begins with its filter, none
    lines[:, 1:] = levels

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    start = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", _palette())
    return b"\x89PNG\r\n\x1a\n" + start + chunk(b"IDAT", zlib.compress(lines.tobytes(), 3)) + chunk(b"IEND", b"")


@cache
def _palette() -> bytes:
    from matplotlib import colormaps

    return (np.asarray(colormaps["magma"](np.arange(256)))[:, :3] * 255).round().astype(np.uint8).tobytes()


def traces(samples: NDArray[np.float32]) -> bytes:
    """The channels above each other as an SVG file, each between its smallest and largest value of every pixel."""
    shown = samples[:, :MOST_TRACES]
    band = HEIGHT / shown.shape[1]
    paths = []
    for k, channel in enumerate(shown.T):
        low, high = -_largest(-channel, WIDTH, axis=0), _largest(channel, WIDTH, axis=0)
        least, most = float(low.min()), float(high.max())
        scale = 0.9 * band / max(1e-12, most - least)
        x = np.linspace(0, WIDTH, len(low))
        points = np.concatenate((np.column_stack((x, high)), np.column_stack((x, low))[::-1]))
        points[:, 1] = (k + 0.95) * band - (points[:, 1] - least) * scale
        paths.append("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points.tolist()) + "Z")
    drawn = "".join(f'<path d="{path}"/>' for path in paths)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'preserveAspectRatio="none"><g fill="none" stroke="#2a8fd0" stroke-width="1.2">{drawn}</g></svg>'
    ).encode()
