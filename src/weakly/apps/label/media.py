"""What an annotator hears and sees of one segment: its sound as WAV, its spectrogram as PNG, its traces as SVG.

Everything is made from the one stretch of the recording, when it is asked for, in a few milliseconds; the page draws
the axes. How bright and how loud it is depends on its recording, not on the stretch: see :class:`Scale`. A video is
served as the file that it is. Recordings are read only from the folders that were given.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import rfft
from scipy.signal import resample_poly

from ...base.errors import InvalidInput
from ...io.signals import SIGNALS, VIDEOS, audible_clip, channels, header, read_clip, sound_bytes

WIDTH, HEIGHT = 900, 256  # pixels of a spectrogram
BELOW, ABOVE = 5.0, 35.0  # dB around a recording's noise that are seen at least: noise alone is dark
LOOKS = 24  # stretches of a second from which a recording's level is told
LEAST_RATE = 8000  # samples per second that every browser plays
MOST_TRACES = 24
LONG = 120.0  # seconds from which on a spectrogram is made of looks into its stretch, not of all of it
COLUMNS, LOOK = 450, 0.1  # how many such looks, and how many seconds each of them lasts


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


class Scale(NamedTuple):
    """How loud a recording is: decibels of its noise and of its loudest pixels, and the peak of its samples."""

    noise: float
    loudest: float
    peak: float


def _looks(path: Path, sample_rate: float | None = None) -> Iterator[tuple[NDArray[np.float32], float]]:
    """The samples of some stretches of a second all over a recording, and their rate."""
    seconds = header(path, sample_rate=sample_rate).seconds
    for start in np.linspace(0.0, max(0.0, seconds - 1.0), min(LOOKS, max(1, round(seconds)))).tolist():
        with suppress(InvalidInput):  # a stretch that cannot be read says so when it is asked about
            yield read_clip(path, onset=start, offset=min(start + 1.0, seconds), fade=0.0, sample_rate=sample_rate)


@lru_cache(maxsize=4096)
def swing_of(path: Path, sample_rate: float | None = None) -> NDArray[np.float64]:
    """The smallest and the largest value of every channel of a recording, (2, channels), but for rare ones."""
    samples = [samples for samples, _ in _looks(path, sample_rate) if len(samples)]
    ends = np.quantile(np.concatenate(samples), (0.005, 0.995), axis=0) if samples else np.zeros((2, MOST_TRACES))
    return np.where(np.isfinite(ends), ends, 0.0)


@lru_cache(maxsize=4096)
def scale_of(path: Path) -> Scale:
    """The scale of a recording, from stretches all over it."""
    levels, peak = [], 1e-6
    for samples, rate in _looks(path):
        levels.append(decibels(samples.mean(axis=1), rate).ravel())
        peak = max(peak, float(np.quantile(np.abs(samples), 0.999))) if samples.size else peak
    if not levels:
        return Scale(-60.0, 0.0, 1.0)  # nothing of it can be read
    noise, loudest = np.quantile(np.concatenate(levels), (0.5, 0.9995)).tolist()
    return Scale(noise, loudest, peak)


@lru_cache(maxsize=4096)
def about(path: Path, sample_rate: float | None = None) -> dict[str, Any]:
    """How a recording is shown: its kind; of sound the top of its picture in kHz and its peak; of a signal its first
    channels with their units and the smallest and largest values that are drawn, and how many there are."""
    kind = kind_of(path)
    top, peak = (header(path).sample_rate / 2000, scale_of(path).peak) if kind == "sound" else (None, None)
    names = channels(path) if kind == "traces" else []
    ends = swing_of(path, sample_rate).T.tolist() if names else []
    drawn = [{"name": name, "unit": unit, "low": low, "high": high} for (name, unit), (low, high) in zip(names, ends)]
    return {"kind": kind, "top": top, "peak": peak, "channels": drawn[:MOST_TRACES], "n_channels": len(names)}


def sound(path: Path, *, onset: float, offset: float, speed: float = 1.0) -> bytes:
    """The stretch as the bytes of a WAV file, mono or stereo, as loud as it was recorded.

    A ``speed`` below 1 says a lower sample rate, so that all of it is heard slower and deeper: 80 kHz as 8 at 0.1.
    """
    samples, rate = audible_clip(path, onset=onset, offset=offset)
    if samples.shape[1] > 2:
        samples = samples.mean(axis=1, keepdims=True)
    times = 1 if speed == 1 else int(np.ceil(LEAST_RATE / (rate * speed)))
    if times > 1:
        samples = resample_poly(samples, times, 1, axis=0)
    return sound_bytes(samples, round(times * rate * speed), format="WAV", subtype="PCM_16")


def picture(
    path: Path, *, onset: float, offset: float, sample_rate: float | None = None, **how: Any
) -> tuple[bytes, str]:
    """The picture of the stretch and its media type: a spectrogram for sound, traces for every other signal."""

    def read(start: float, end: float) -> tuple[NDArray[np.float32], float]:
        return read_clip(path, onset=start, offset=end, fade=0.0, sample_rate=sample_rate)

    if kind_of(path) == "traces":
        return traces(read(onset, offset)[0], swing_of(path, sample_rate)), "image/svg+xml"
    part = how.pop("part", 1.0)
    if offset - onset <= LONG:
        samples, rate = read(onset, offset)
        levels = decibels(samples.mean(axis=1), rate, part)
    else:
        looks = (read(start, start + LOOK) for start in np.linspace(onset, offset - LOOK, COLUMNS).tolist())
        levels = np.array([decibels(samples.mean(axis=1), rate, part).max(axis=0) for samples, rate in looks])
    return spectrogram(levels, scale_of(path), **how), "image/png"


def spectrogram(levels: NDArray[np.float32], scale: Scale, *, shift: float = 0.0, span: float = 0.0) -> bytes:
    """The levels of a spectrogram's pixels as a PNG file: time to the right, frequencies upwards.

    The darkest colour is a little below the recording's noise (``shift`` dB further up), the brightest ``span`` dB
    above it (0: as loud as the recording becomes).
    """
    low, high = scale.noise - BELOW, max(scale.loudest, scale.noise + ABOVE)
    grey = np.clip((levels - low - shift) * (255 / (span or high - low)), 0, 255).astype(np.uint8)
    return png(np.ascontiguousarray(grey.T[::-1]))


def decibels(samples: NDArray[np.float32], rate: float, part: float = 1.0) -> NDArray[np.float32]:
    """The levels of a spectrogram's pixels: columns by time, each from 0 to ``part`` of rate / 2, the loudest in dB."""
    n = int(np.clip(2 ** round(np.log2(max(2.0, rate * 0.023))), 64, 4096))
    hop = n // 2 if len(samples) > WIDTH * n // 2 else max(1, (len(samples) - n) // WIDTH + 1)
    padded = np.pad(samples, (0, max(0, n - len(samples))))
    frames = np.lib.stride_tricks.sliding_window_view(padded, n)[::hop]
    window = np.hanning(n).astype(np.float32)
    power = np.abs(rfft(frames * window, axis=1)[:, 1 : 1 + max(8, round(part * (n // 2)))])
    return np.asarray(20 * np.log10(_largest(_largest(power, WIDTH, axis=0), HEIGHT, axis=1) + 1e-9))


def _largest(values: NDArray[Any], most: int, *, axis: int) -> NDArray[Any]:
    """The largest of each of at most so many equal shares along the axis."""
    count = values.shape[axis]
    if count <= most:
        return values
    starts = (np.arange(most) * count) // most
    return np.asarray(np.maximum.reduceat(values, starts, axis=axis))


def png(levels: NDArray[np.uint8]) -> bytes:
    """Levels from 0 to 255 as a PNG file in the colours of magma."""
    from PIL import Image  # which comes with matplotlib

    image, target = Image.fromarray(levels), io.BytesIO()
    image.putpalette(_palette())
    image.save(target, "PNG", compress_level=3)
    return target.getvalue()


@cache
def _palette() -> bytes:
    from matplotlib import colormaps

    return (np.asarray(colormaps["magma"](np.arange(256)))[:, :3] * 255).round().astype(np.uint8).tobytes()


def traces(samples: NDArray[np.float32], swing: NDArray[np.float64]) -> bytes:
    """The channels above each other as an SVG file, between the smallest and the largest value of every pixel.

    A channel is drawn on the same scale all over its recording: ``swing`` fills the middle 0.8 of its band.
    """
    shown = samples[:, :MOST_TRACES]
    band = HEIGHT / shown.shape[1]
    paths = []
    for k, (channel, (least, most)) in enumerate(zip(shown.T, swing.T)):
        low, high = -_largest(-channel, WIDTH, axis=0), _largest(channel, WIDTH, axis=0)
        x = np.linspace(0, WIDTH, len(low))
        points = np.concatenate((np.column_stack((x, high)), np.column_stack((x, low))[::-1]))
        points[:, 1] = (k + 0.9) * band - (points[:, 1] - least) * 0.8 * band / max(1e-12, most - least)
        paths.append("M" + "L".join(f"{a:.1f} {b:.2f}" for a, b in points.tolist()) + "Z")
    drawn = "".join(f'<path d="{path}" vector-effect="non-scaling-stroke"/>' for path in paths)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'preserveAspectRatio="none"><g fill="#2a8fd0" stroke="#2a8fd0" stroke-width="1">{drawn}</g></svg>'
    ).encode()
