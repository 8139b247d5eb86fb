"""Features over time: log-mel bands by default, or any embeddings that the user brings with their times."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput, optional
from ..model.intervals import Features
from .signals import PathLike, blocks, header


def _mel(hz: Any) -> Any:
    return 2595 * np.log10(1 + np.asarray(hz) / 700)


@lru_cache(maxsize=8)
def _bands(n_bins: int, sample_rate: float, n_bands: int) -> NDArray[np.float32]:
    """Triangles that are equally wide in mel, each with at least one bin; (bins, bands)."""
    hz = np.linspace(0, sample_rate / 2, n_bins)
    edges = np.linspace(_mel(min(50.0, sample_rate / 50)), _mel(sample_rate / 2), n_bands + 2)
    at = _mel(hz)[:, None]
    rise = (at - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - at) / (edges[2:] - edges[1:-1])
    weights = np.clip(np.minimum(rise, fall), 0, None)
    empty = np.flatnonzero(weights.sum(axis=0) == 0)
    weights[np.abs(at - edges[1:-1][empty]).argmin(axis=0), empty] = 1.0
    found: NDArray[np.float32] = (weights / weights.sum(axis=0)).astype(np.float32)
    return found


def log_mel(
    path: PathLike, *, hop: float = 0.02, frame: float = 0.04, n_bands: int = 40, sample_rate: float | None = None
) -> Features:
    """Log power in mel bands over time, computed block by block.

    Parameters
    ----------
    path : an audio file, or a signal in npy or CSV with its ``sample_rate``; any rate, any number of channels, each
        with bands of its own.
    hop, frame : seconds from one frame to the next, and of each frame.
    n_bands : mel bands; fewer where the rate leaves less frequency bins.

    Notes
    -----
    An hour of audio needs about 30 MB for the features and one block of samples.
    """
    signal = header(path, sample_rate=sample_rate)
    rate = signal.sample_rate
    step = max(1, round(hop * rate))
    size = max(round(frame * rate), 2 * step, 16)
    n_fft = 1 << (size - 1).bit_length()
    weights = _bands(n_fft // 2 + 1, rate, max(1, min(n_bands, n_fft // 4)))
    window = np.hanning(size + 2)[1:-1].astype(np.float32)
    # Half a frame of reflected signal on both sides: frame i is centred on i * step.
    pad = size // 2
    rows: list[NDArray[np.float32]] = []
    rest: NDArray[np.float32] | None = None
    for block in blocks(path, sample_rate=sample_rate):
        if rest is None:
            rest = np.zeros((pad, block.shape[1]), np.float32) if len(block) <= pad else block[pad:0:-1]
        rest, done = _frames(np.concatenate((rest, block)), size, step, n_fft, window, weights)
        rows.append(done)
    if rest is None:
        raise InvalidInput(f"{path}: the recording is empty")
    rest = np.pad(rest, ((0, pad), (0, 0)), mode="reflect" if len(rest) > pad else "constant")
    rows.append(_frames(rest, size, step, n_fft, window, weights)[1])
    values = np.concatenate(rows)
    if len(values) < 2:
        raise InvalidInput(f"{path}: {signal.seconds:g} s are too short for features every {hop:g} s")
    return Features(np.arange(len(values), dtype=np.float64) * (step / rate), values, "log-mel")


def _frames(samples: Any, size: int, step: int, n_fft: int, window: Any, weights: Any) -> tuple[Any, Any]:
    """What is left of the samples, and the log bands of every whole frame in them, channel after channel."""
    count = max(0, (len(samples) - size) // step + 1)
    wide = samples.shape[1] * weights.shape[1]
    if count == 0:
        return samples, np.empty((0, wide), np.float32)
    view = np.lib.stride_tricks.sliding_window_view(samples, size, axis=0)[: count * step : step]
    done = np.empty((count, wide), np.float32)
    few = max(1, 512 // samples.shape[1])  # a few MB at a time
    for first in range(0, count, few):
        spectrum = np.fft.rfft(view[first : first + few] * window, n_fft)
        power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
        done[first : first + few] = np.log(power @ weights + 1e-10).reshape(-1, wide)
    return samples[count * step :], done


def load_features(path: PathLike, *, hop: float | None = None) -> Features:
    """Embeddings from a file: npz with ``times`` and ``values``, npy with a ``hop``, or Parquet with a time column.

    Parameters
    ----------
    path : an npz file whose arrays are called times (or time, onset, start) and values (or embeddings, features), an
        npy file of shape (rows, dimensions), or a Parquet table with a time (or onset/start_time with end) column and
        one number column per dimension, or one column of vectors.
    hop : seconds from one row to the next, where the file holds no times; row i then describes the time from
        i * hop to (i + 1) * hop.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if not path.is_file():
        raise InvalidInput(f"{path}: no such file")
    if kind == ".npy":
        return _checked(path, None, np.load(path, allow_pickle=False), hop)
    if kind == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        matrix = next((value for name, value in arrays.items() if value.ndim == 2), None)
        if matrix is None:
            raise InvalidInput(f"{path}: no matrix of features; there are {', '.join(arrays)}")
        return _checked(path, _times(arrays), matrix, hop)
    if kind in (".parquet", ".pq"):
        optional("pyarrow", extra="parquet")
        import pandas as pd

        frame = pd.read_parquet(path)
        times = _times({name: frame[name].to_numpy() for name in frame.columns})
        vectors = [name for name in frame.columns if frame[name].dtype == object and len(frame)]
        if vectors:
            return _checked(path, times, np.stack(list(frame[vectors[0]])), hop)
        numbers = frame.drop(columns=[name for name in frame.columns if _is_time(name)]).select_dtypes("number")
        return _checked(path, times, numbers.to_numpy(), hop)
    raise InvalidInput(f"{path}: features must be .npy, .npz or .parquet")


_STARTS = ("onset", "start", "start_time", "start_s", "begin")
_ENDS = ("offset", "end", "end_time", "end_s")
_MIDDLES = ("times", "time", "timestamp", "timestamps", "seconds")


def _is_time(name: Any) -> bool:
    return str(name).lower() in (*_STARTS, *_ENDS, *_MIDDLES)


def _times(columns: dict[Any, Any]) -> NDArray[np.float64] | None:
    named = {str(name).lower(): np.asarray(value) for name, value in columns.items() if _is_time(name)}
    for name in _MIDDLES:
        if name in named:
            return named[name].astype(np.float64)
    start = next((named[name] for name in _STARTS if name in named), None)
    end = next((named[name] for name in _ENDS if name in named), None)
    if start is None:
        return None
    if end is None:
        return start.astype(np.float64)
    return (start.astype(np.float64) + end.astype(np.float64)) / 2


def _checked(path: Path, times: Any, values: Any, hop: float | None) -> Features:
    if times is None:
        if hop is None:
            raise InvalidInput(f"{path}: no times in the file; give hop, the seconds from one row to the next")
        times = (np.arange(len(values)) + 0.5) * hop
    try:
        return Features(np.asarray(times, np.float64), np.asarray(values, np.float32))
    except (InvalidInput, ValueError) as error:
        raise InvalidInput(f"{path}: {error}") from error
