"""Signals that are no sound: an accelerometer, an electrocardiogram, an electroencephalogram, all synthetic.

``python -m benchmarks.signals`` prints the table of the how-to: wrong seconds by fixed segments, change points and
information, with a criterion of 0.5 and no wrong answers.
"""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.outcomes import score
from weakly.io.soundscape import log_mel
from weakly.methods import Fixed, Recording, SimulatedAnnotator, run
from weakly.methods.change_point import ChangePoint
from weakly.methods.information import Information


def placed(rng, length, lengths):
    """Events of these lengths that do not touch."""
    gaps = np.sort(rng.uniform(0, length - sum(lengths), len(lengths)))
    onsets = gaps + np.concatenate(([0.0], np.cumsum(lengths)[:-1]))
    return np.column_stack((onsets, onsets + lengths))


def under_way(t, events):
    """Whether an event is under way at each time."""
    return ((t[:, None] >= events[:, 0]) & (t[:, None] < events[:, 1])).any(axis=1)


def accelerometer(rng):
    """Three axes, 50 per second, ten minutes: bouts of 15 to 60 s of walking in fidgeting."""
    t = np.arange(600 * 50) / 50
    events = placed(rng, 600.0, rng.uniform(15, 60, 5))
    step = np.sin(2 * np.pi * 1.8 * t)[:, None] * np.array([1.0, 0.5, 0.3])
    fidget = 0.3 * rng.normal(size=(len(t), 3)) * np.exp(0.5 * np.sin(2 * np.pi * t / 47))[:, None]
    return fidget + 0.8 * step * under_way(t, events)[:, None], 50, events


def electrocardiogram(rng):
    """Two leads, 125 per second, two minutes: runs of 4 to 12 s of fast, broad beats."""
    t = np.arange(120 * 125) / 125
    events, signal, at = placed(rng, 120.0, rng.uniform(4, 12, 4)), np.zeros((len(t), 2)), 0.3
    while at < 120:
        fast = under_way(np.array([at]), events)[0]
        width, height = (0.06, 1.4) if fast else (0.02, 1.0)
        signal += height * np.exp(-0.5 * ((t - at) / width) ** 2)[:, None] * np.array([1.0, 0.6])
        at += (0.36 if fast else 0.8) * rng.normal(1, 0.03)
    wander = 0.2 * np.sin(2 * np.pi * 0.25 * t)[:, None]
    return signal + wander + 0.05 * rng.normal(size=signal.shape), 125, events


def electroencephalogram(rng):
    """Four electrodes, 100 per second, one minute: spindles of 0.5 to 2 s at 13 Hz, seen by two of them."""
    t = np.arange(60 * 100) / 100
    events = placed(rng, 60.0, rng.uniform(0.5, 2.0, 6))
    f = np.fft.rfftfreq(len(t), 0.01)
    pink = np.fft.irfft(np.fft.rfft(rng.normal(size=(len(t), 4)), axis=0) / np.maximum(f, 0.5)[:, None] ** 0.5, axis=0)
    spindle = np.sin(2 * np.pi * 13 * t) * under_way(t, events)
    return pink / pink.std() + 1.2 * spindle[:, None] * np.array([1.0, 0.8, 0.0, 0.0]), 100, events


WORLDS = (
    (accelerometer, {"windows": (2.0, 5.0, 10.0)}, {"event_length": "30", "shortest": 1.0}),
    (electrocardiogram, {"windows": (1.0, 2.0, 4.0)}, {"event_length": "8"}),
    (electroencephalogram, {"windows": (0.2, 0.4, 0.8)}, {}),
)


def rows(n=1):
    """For each signal and method: answers per recording and wrong seconds, over n recordings."""
    with tempfile.TemporaryDirectory() as folder:
        for make, windows, how in WORLDS:
            recordings = []
            for k in range(n):
                signal, rate, events = make(np.random.default_rng(k))
                path = Path(folder) / f"{k}.npy"
                np.save(path, signal)
                seconds = len(signal) / rate
                recordings.append(Recording(f"{make.__name__} {k}", seconds, events=events,
                                            features=log_mel(path, sample_rate=rate)))  # fmt: skip
            event_seconds = np.mean([np.diff(one.events).sum() for one in recordings])
            found, answers = {}, 0
            for name, method in (
                ("information with the signal", Information(query_cost_share=1.0, **how)),
                ("information without it", Information(query_cost_share=1.0, signal=False, **how)),
                ("fixed segments", None),
                ("change points, default windows", ChangePoint),
                ("change points, windows of the events' order", ChangePoint),
            ):
                done = []
                for k, one in enumerate(recordings):
                    mine = method
                    if method is None:
                        mine = Fixed(n_queries=answers)
                    elif method is ChangePoint:
                        mine = ChangePoint(n_queries=answers, **(windows if "order" in name else {}))
                    done.append(run(mine, one, SimulatedAnnotator(0.5, rng=k), earlier=done, most_queries=60))
                answers = answers or round(np.mean([one.n_queries for one in done]))
                found[name] = np.mean([one.n_queries for one in done]), score(done)["wrong_time"]
            yield make.__name__, event_seconds, found


if __name__ == "__main__":
    for name, event_seconds, found in rows():
        for method, (answers, wrong) in found.items():
            print(f"| {name}, {event_seconds:.1f} s | {method} | {answers:.0f} | {wrong:.2f} |", flush=True)
