"""Sounds over time: log-mel bands, embeddings that the user brings with their times, scores of a detector; and
synthetic soundscapes, chirps, pulses and noises over a coloured background, with the exact strong labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.errors import InvalidInput, optional
from ..base.results import write_file
from ..base.symbols import check, choice
from ..model.intervals import Features
from .signals import PathLike, blocks, header, sound_bytes


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
    return np.asarray(weights / weights.sum(axis=0), dtype=np.float32)


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
    if path.suffix.lower() not in (".npy", ".npz", ".parquet", ".pq"):
        raise InvalidInput(f"{path}: features must be .npy, .npz or .parquet")
    columns = _columns_in(path)
    told, timed = _named(columns), {*_NAMES["middle"], *_NAMES["onset"], *_NAMES["offset"]}
    rest = [values for name, values in columns.items() if name.lower() not in timed]
    vectors = next((np.stack(list(each)) for each in rest if each.dtype == object and len(each)), None)
    matrix = next((each for each in rest if each.ndim == 2), vectors)
    numbers = [each for each in rest if each.dtype.kind in "iuf" and each.ndim == 1]
    if matrix is None and not numbers:
        raise InvalidInput(f"{path}: no matrix of features; there are {', '.join(columns)}")
    at = {role: np.asarray(columns[told[role]], np.float64) for role in ("middle", "onset", "offset") if role in told}
    times: Any = at.get("middle", at.get("onset"))  # the middle of each row, or between its start and its end
    try:
        values = np.asarray(np.column_stack(numbers) if matrix is None else matrix, np.float32)
        if times is None:
            if hop is None:
                raise InvalidInput("no times in the file; give hop, the seconds from one row to the next")
            times = (np.arange(len(values)) + 0.5) * hop
        elif "middle" not in at and "offset" in at:
            times = (times + at["offset"]) / 2
        return Features(times, values)
    except (InvalidInput, ValueError) as error:
        raise InvalidInput(f"{path}: {error}") from error


def _columns_in(path: Path) -> dict[str, Any]:
    """The columns of a table, or the arrays of an npz file, by their names; the array of an npy file has none."""
    kind = path.suffix.lower()
    if not path.is_file():
        raise InvalidInput(f"{path}: no such file")
    if kind in (".parquet", ".pq"):
        optional("pyarrow", extra="parquet")
    try:
        if kind == ".npy":
            return {"": np.load(path, allow_pickle=False)}
        if kind == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                return dict(archive)
        is_table = kind not in (".parquet", ".pq")
        table = pd.read_csv(path, sep="," if kind == ".csv" else "\t") if is_table else pd.read_parquet(path)
    except (ValueError, EOFError, BadZipFile) as error:
        raise InvalidInput(f"{path}: cannot be read: {error}") from error
    return {str(name): table[name].to_numpy() for name in table}


#: What the columns of tables of frames are called, in lower case.
_NAMES = {
    "recording": ("recording", "file", "filename", "begin path", "begin file", "filepath", "audio"),
    "onset": ("onset", "start", "start (s)", "start_time", "begin time (s)", "begin", "start_s"),
    "offset": ("offset", "end", "end (s)", "end_time", "end time (s)", "stop", "end_s"),
    "into": ("file offset (s)",),  # where the onset runs on over several files
    "middle": ("times", "time", "timestamp", "timestamps", "seconds"),
    "score": ("score", "confidence", "probability", "logit", "prob"),
    "label": ("label", "event_label", "common name", "species", "class"),
}


def _named(columns: Iterable[Any]) -> dict[str, Any]:
    """The columns of a table by what they are."""
    known = {str(name).strip().lower(): name for name in columns}
    return {role: known[name] for role, names in _NAMES.items() for name in reversed(names) if name in known}


def read_scores(path: str | Path, *, hop: float | None = None) -> pd.DataFrame:
    """Scores of frames: recording, onset, offset, score, and label where the files tell it.

    Parameters
    ----------
    path : a table of frames, a ``.npy`` file with one score per frame, or a folder of either; a file that names no
        recording is one, named as the file.
    hop : seconds from one frame of a ``.npy`` file to the next.
    """
    where = Path(path)
    if not where.exists():
        raise InvalidInput(f"{where}: there is no such file or folder of scores")
    kinds = (".csv", ".tsv", ".txt", ".parquet", ".npy")
    files = sorted(p for p in where.iterdir() if p.suffix.lower() in kinds) if where.is_dir() else [where]
    if not files:
        raise InvalidInput(f"{where}: there are no scores (.csv, .tsv, .parquet or .npy) in this folder")
    return pd.concat([_scores_in(file, hop) for file in files], ignore_index=True)


def _scores_in(file: Path, hop: float | None) -> pd.DataFrame:
    columns = _columns_in(file)
    if file.suffix.lower() == ".npy":
        values = columns[""]
        if values.ndim != 1:
            raise InvalidInput(f"{file}: one score per frame is needed, got an array of shape {values.shape}")
        if hop is None or not hop > 0:
            raise InvalidInput(f"{file}: give the seconds from one frame to the next (hop, --hop), got {hop}")
        times = hop * np.arange(len(values) + 1)
        return pd.DataFrame({"recording": file.stem, "onset": times[:-1], "offset": times[1:], "score": values})
    names = _named(columns)
    missing = [word for word in ("onset", "offset", "score") if word not in names]
    if missing:
        raise InvalidInput(f"{file}: no column says the {missing[0]} of a frame; there are {', '.join(columns)}")
    frame = pd.DataFrame({word: columns[name] for word, name in names.items() if word != "middle"})
    if "into" in frame:
        ends = {"onset": frame["into"], "offset": frame["into"] + frame["offset"] - frame["onset"]}
        frame = frame.assign(**ends).drop(columns="into")
    name = file.stem.partition(".BirdNET.")[0]
    return frame.assign(recording=name if "recording" not in frame else frame["recording"].astype(str))


COLOURS = {"white": 0.0, "pink": 1.0, "brown": 2.0}


@dataclass(frozen=True)
class Soundscape:
    """Samples with everything that is true of them: the events, to the sample."""

    samples: NDArray[np.float32]
    sample_rate: int
    events: NDArray[np.float64]  # (n, 2), seconds, in order

    @property
    def seconds(self) -> float:
        """The length in seconds."""
        return len(self.samples) / self.sample_rate

    def write(self, path: PathLike) -> Path:
        """The soundscape as an audio file; the ending of the name says which format."""
        kind = Path(path).suffix[1:].upper()
        return write_file(path, sound_bytes(self.samples, self.sample_rate, format=kind))


def soundscape(
    length: float,
    *,
    n_events: int = 5,
    event_length: Any = (0.5, 1.5),
    snr: float = 20.0,
    kinds: tuple[str, ...] = ("chirp", "pulse", "noise"),
    background: Any = "pink",
    least_gap: float = 0.1,
    sample_rate: int = 16000,
    rng: Any = None,
) -> Soundscape:
    r"""A synthetic recording with exactly known events.

    Parameters
    ----------
    length : seconds.
    n_events : events, placed uniformly among all placements that keep ``least_gap`` seconds between them.
    event_length : seconds of every event, or (least, most) of a uniform law.
    snr : power of an event over the power of the background during it, in dB.
    kinds : of chirp (a tone that glides), pulse (a train of clicks of one pitch) and noise (a band of noise); each
        event takes one at random.
    background : white, pink or brown noise; or samples of your own, which are scaled to power 1.

    Notes
    -----
    An event's power is scaled against the background's mean power, so the SNR is that of whole events; they begin
    and end within one sample of their labels, with 5 ms ramps inside.

    Examples
    --------
    >>> scene = soundscape(10, n_events=3, rng=1)
    >>> len(scene.events), scene.seconds
    (3, 10.0)
    """
    length = float(check("recording_length", length, called="length"))
    count = int(check("n_events", n_events))
    rng = np.random.default_rng(rng)
    lo, hi = np.broadcast_to(check("event_length", event_length), (2,))
    lengths = rng.uniform(lo, hi, count)
    free = length - lengths.sum() - least_gap * (count + 1)
    if free < 0:
        need = lengths.sum() + least_gap * (count + 1)
        raise InvalidInput(f"{count} events need {need:.3g} s with their gaps, length is {length:g} s")
    gaps = np.diff(np.concatenate(([0.0], np.sort(rng.uniform(0, free, count)), [free])))[:-1] + least_gap
    onsets = np.cumsum(gaps) + np.concatenate(([0.0], np.cumsum(lengths)[:-1])) if count else np.empty(0)
    # Events start and end on a sample, so that the labels are exact.
    first = np.round(onsets * sample_rate).astype(int)
    last = np.maximum(first + 1, np.round((onsets + lengths) * sample_rate).astype(int))

    size = round(length * sample_rate)
    if isinstance(background, str):
        samples = _coloured(size, COLOURS[choice("background", background, tuple(COLOURS))], rng)
    else:
        samples = np.array(background, dtype=np.float64)
        if samples.shape != (size,) or not samples.any():
            raise InvalidInput(f"background must hold {size} samples that are not all 0, got shape {samples.shape}")
        samples /= np.sqrt(np.mean(samples**2))
    for a, b in zip(first, last):
        sound = _one_sound(str(rng.choice(kinds)), b - a, sample_rate, rng)
        sound *= np.sqrt(10 ** (snr / 10) / max(1e-12, float(np.mean(sound**2))))
        samples[a:b] += sound
    samples *= 0.5 / max(1e-9, float(np.abs(samples).max(initial=0.0)))
    return Soundscape(samples.astype(np.float32), sample_rate, np.column_stack((first, last)) / sample_rate)


def _coloured(count: int, power: float, rng: Any) -> NDArray[np.float64]:
    """Gaussian noise of power 1 whose spectrum falls as 1 / f ** power (from 20 Hz on)."""
    white = rng.standard_normal(count)
    if power == 0:
        return np.asarray(white)
    spectrum = np.fft.rfft(white)
    f = np.arange(len(spectrum)) / max(1, count)  # cycles per sample
    spectrum /= np.maximum(f, 1e-3) ** (power / 2)
    noise = np.fft.irfft(spectrum, count)
    return np.asarray(noise / noise.std())


def _one_sound(kind: str, count: int, rate: int, rng: Any) -> NDArray[np.float64]:
    t = np.arange(count) / rate
    top = rate / 2
    if kind == "chirp":
        f0, f1 = rng.uniform(0.1, 0.7, 2) * top
        wave = np.sin(2 * np.pi * (f0 * t + (f1 - f0) * t**2 / (2 * max(t[-1], 1 / rate))))
    elif kind == "pulse":
        pitch, tone = rng.uniform(15, 40), rng.uniform(0.15, 0.6) * top
        wave = np.sin(2 * np.pi * tone * t) * np.exp(-30 * ((t * pitch) % 1) / 5)
    else:
        centre = rng.uniform(0.2, 0.7) * top
        spectrum = np.fft.rfft(rng.standard_normal(count))
        f = np.fft.rfftfreq(count, 1 / rate)
        spectrum[np.abs(f - centre) > 0.15 * top] = 0
        wave = np.fft.irfft(spectrum, count)
    n = min(round(0.005 * rate), count // 2)
    if n:
        ramp = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))
        wave[:n] *= ramp
        wave[-n:] *= ramp[::-1]
    return np.asarray(wave)
