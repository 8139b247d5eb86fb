"""Noises of the field, synthesised after their spectra and modulation: none is a recording of somebody's."""

import numpy as np

NOISES = ("coloured", "gusts", "rain", "wind", "sea", "crickets")


def _slow(rng, size, rate, hz):
    """Gaussian noise of power 1 that moves no faster than this."""
    spectrum = rng.normal(size=size // 2 + 1) + 1j * rng.normal(size=size // 2 + 1)
    f = np.fft.rfftfreq(size, 1 / rate)
    spectrum[(f > hz) | (f == 0)] = 0
    found = np.fft.irfft(spectrum, size)
    return found / found.std()


def _shaped(rng, size, rate, gain):
    """Noise whose amplitude over frequency is this function of Hz."""
    f = np.fft.rfftfreq(size, 1 / rate)
    found = np.fft.irfft(np.fft.rfft(rng.normal(size=size)) * gain(np.maximum(f, 20.0)), size)
    return found / found.std()


def noise(kind, seconds, *, rate=16000, rng=None):
    """Samples of power about 1."""
    rng = np.random.default_rng(rng)
    size = round(seconds * rate)
    t = np.arange(size) / rate
    if kind == "coloured":
        return _shaped(rng, size, rate, lambda f: f**-0.5)
    if kind == "gusts":  # broad low noise, swelling by 10 dB within a second or two
        return _shaped(rng, size, rate, lambda f: f**-0.9) * np.exp(0.9 * _slow(rng, size, rate, 0.6))
    if kind == "wind":  # below 500 Hz, buffeting at several hertz
        rumble = _shaped(rng, size, rate, lambda f: 1 / (1 + (f / 250) ** 2))
        leaves = 0.1 * _shaped(rng, size, rate, lambda f: 1 / (1 + (2000 / f) ** 2))
        return rumble * np.exp(0.7 * _slow(rng, size, rate, 4)) + leaves * np.exp(0.7 * _slow(rng, size, rate, 1))
    if kind == "sea":  # waves of seven seconds with hissing crests
        swell = 0.5 + 0.5 * np.sin(2 * np.pi * t / 7 + 1.5 * _slow(rng, size, rate, 0.08))
        hiss = _shaped(rng, size, rate, lambda f: 1 / (1 + (1000 / f)))
        return 0.3 * _shaped(rng, size, rate, lambda f: f**-0.5) + hiss * swell**3
    if kind == "rain":  # a hiss, and drops of every size
        drops = np.zeros(size)
        for at in rng.integers(0, size, rng.poisson(40 * seconds)):
            n = min(size - at, round(rate * 0.02))
            tone = np.sin(2 * np.pi * rng.uniform(1500, 6000) * t[:n]) * np.exp(-t[:n] / rng.uniform(0.001, 0.005))
            drops[at : at + n] += rng.lognormal(0, 1) * tone
        hiss = _shaped(rng, size, rate, lambda f: 1 / (1 + (1500 / f)))
        return hiss * np.exp(0.2 * _slow(rng, size, rate, 0.5)) + 2 * drops
    chirps = np.zeros(size)  # crickets: pulses of 4 to 5.5 kHz, thirty a second, in groups
    for _ in range(3):
        pulses = np.clip(np.sin(2 * np.pi * rng.uniform(25, 40) * t + rng.uniform(0, 6)), 0, 1)
        groups = np.sin(2 * np.pi * rng.uniform(1, 3) * t + _slow(rng, size, rate, 0.5)) > rng.uniform(-0.5, 0.5)
        chirps += rng.lognormal(0, 0.5) * pulses * groups * np.sin(2 * np.pi * rng.uniform(4000, 5500) * t)
    return chirps + 0.15 * _shaped(rng, size, rate, lambda f: f**-0.5)
