"""Synthetic soundscapes: chirps, pulses and noises over a coloured background, with the exact strong labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput
from ..base.files import atomic_write
from ..base.symbols import check, choice
from .signals import PathLike, _soundfile

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("chirp", "pulse", "noise")
COLOURS = {"white": 0.0, "pink": 1.0, "brown": 2.0}


@dataclass(frozen=True)
class Soundscape:
    """Samples with everything that is true of them: events to the sample, and how they were made."""

    samples: NDArray[np.float32]
    sample_rate: int
    onsets: NDArray[np.float64]
    offsets: NDArray[np.float64]
    labels: tuple[str, ...]
    snr: float

    @property
    def seconds(self) -> float:
        """The length in seconds."""
        return len(self.samples) / self.sample_rate

    @property
    def events(self) -> NDArray[np.float64]:
        """The events as an (n, 2) array of seconds, in order."""
        return np.column_stack((self.onsets, self.offsets))

    def to_frame(self) -> pd.DataFrame:
        """One row per event: onset, offset, label."""
        import pandas as pd

        return pd.DataFrame({"onset": self.onsets, "offset": self.offsets, "label": list(self.labels)})

    def write(self, path: PathLike) -> Path:
        """The soundscape as an audio file; the ending of the name says which format."""
        path = Path(path)
        kind = path.suffix[1:].upper()
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, "wb") as file:
            _soundfile().write(file, self.samples, self.sample_rate, format=kind)
        return path


def soundscape(
    length: float,
    *,
    n_events: int = 5,
    event_length: Any = (0.5, 1.5),
    snr: float = 20.0,
    kinds: tuple[str, ...] = KINDS,
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
        event takes one at random, and its label says which.
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
    for kind in kinds:
        choice("kinds", kind, KINDS)
    if isinstance(background, str):
        choice("background", background, tuple(COLOURS))
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
        samples = _coloured(size, COLOURS[background], rng)
    else:
        samples = np.array(background, dtype=np.float64)
        if samples.shape != (size,) or not samples.any():
            raise InvalidInput(f"background must hold {size} samples that are not all 0, got shape {samples.shape}")
        samples /= np.sqrt(np.mean(samples**2))
    labels = []
    for a, b in zip(first, last):
        kind = str(rng.choice(kinds))
        sound = _sound(kind, b - a, sample_rate, rng)
        sound *= np.sqrt(10 ** (snr / 10) / max(1e-12, float(np.mean(sound**2))))
        samples[a:b] += sound
        labels.append(kind)
    samples *= 0.5 / max(1e-9, float(np.abs(samples).max(initial=0.0)))
    return Soundscape(
        samples.astype(np.float32), sample_rate, first / sample_rate, last / sample_rate, tuple(labels), float(snr)
    )


def _coloured(count: int, power: float, rng: Any) -> NDArray[np.float64]:
    """Gaussian noise of power 1 whose spectrum falls as 1 / f ** power (from 20 Hz on)."""
    white = rng.standard_normal(count)
    if power == 0:
        return np.asarray(white)
    spectrum = np.fft.rfft(white)
    f = np.arange(len(spectrum)) / max(1, count)  # cycles per sample
    spectrum /= np.maximum(f, 1e-3) ** (power / 2)
    noise = np.fft.irfft(spectrum, count)
    found: NDArray[np.float64] = noise / noise.std()
    return found


def _sound(kind: str, count: int, rate: int, rng: Any) -> NDArray[np.float64]:
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
    found: NDArray[np.float64] = wave
    return found
