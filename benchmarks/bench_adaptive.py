"""Adaptive queries against fixed segments, and features by blocks against the whole file at once, side by side."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.outcomes import score
from weakly.io.soundscape import log_mel, soundscape
from weakly.methods import Bisection, Fixed, Recording, SimulatedAnnotator
from weakly.methods.base import run as labelled
from weakly.methods.change_point import ChangePoint

_MEMORY = """
import sys
import numpy, soundfile
if sys.argv[2] == "ours":
    from weakly.io.soundscape import log_mel
    log_mel(sys.argv[1])
else:  # the usual way: the whole file, all its frames, all their spectra
    samples, rate = soundfile.read(sys.argv[1], dtype="float32")
    frames = numpy.lib.stride_tricks.sliding_window_view(samples, round(0.04 * rate))[:: round(0.02 * rate)]
    numpy.log(numpy.abs(numpy.fft.rfft(frames * numpy.hanning(frames.shape[1]), 1024)) ** 2 + 1e-10)
# The highest mark since this program began; the one of getrusage would be inherited from the parent.
print(int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1024)
"""


def _memory(path, who):
    done = subprocess.run([sys.executable, "-c", _MEMORY, str(path), who], capture_output=True, text=True, check=True)
    return float(done.stdout)


def run_bisection():
    """Queries per recording for the same labels: one event of 1 s in 102.4 s, leaves of 0.8 s."""
    rng = np.random.default_rng(0)
    ours = theirs = 0
    for onset in rng.uniform(0, 101.4, 50):
        one = Recording("a", 102.4, events=np.array([[onset, onset + 1]]))
        ours += labelled(Bisection(segment_length=0.8, start=1), one, SimulatedAnnotator(0.5)).n_queries / 50
        theirs += labelled(Fixed(segment_length=0.8), one, SimulatedAnnotator(0.5)).n_queries / 50
    return ours, theirs


def run_change_points(folder):
    """Wrong seconds per recording at the same number of queries: 8 events in 60 s at 10 dB, 17 queries each."""
    recordings = []
    for k in range(6):
        scene = soundscape(60, n_events=8, snr=10, rng=k)
        path = scene.write(folder / f"{k}.wav")
        recordings.append(Recording(path.name, 60.0, events=scene.events, features=log_mel(path)))
    return tuple(
        score([labelled(method, one, SimulatedAnnotator(0.5)) for one in recordings], presence_criterion=0.5)[
            "wrong_time"
        ]
        for method in (ChangePoint(n_queries=17), Fixed(n_queries=17))
    )


def run_memory(folder):
    """Peak MiB for the features of fifteen minutes at 16 kHz."""
    path = soundscape(900, n_events=100, rng=0).write(folder / "long.wav")
    return _memory(path, "ours"), _memory(path, "theirs")


def rows():
    """The rows of :func:`run`, one by one."""
    with tempfile.TemporaryDirectory() as folder:
        for what, (ours, theirs), target in (
            ("bisection: queries per recording for the labels of FIX", run_bisection(), 8.0),
            ("change-point: wrong seconds per recording, 17 queries", run_change_points(Path(folder)), 4.0),
            ("log-mel features of 15 min: peak MiB against whole-file arrays", run_memory(Path(folder)), 2.0),
        ):
            ratio = theirs / ours
            yield {
                "what": what,
                "ours": ours,
                "theirs": theirs,
                "ratio": ratio,
                "target": target,
                "measured": f"{ratio:,.1f}",
                "met": ratio >= target,
                "how": f"{theirs:.4g} against {ours:.4g}",
            }


def run():
    """All rows."""
    return list(rows())


if __name__ == "__main__":
    for row in run():
        print(row)
