"""Simulation against theory

One event per recording, then thirty: the sparse theory holds for the first and not for the second.
"""

import numpy as np

import weakly as wk
from weakly.base.plot import axes, label

segment_length = np.linspace(0.1, 3, 40)
ax = axes()
theory = wk.overlap_accuracy(event_length=1.0, segment_length=segment_length, presence_criterion=0.5)
ax.plot(segment_length, theory, "k:", label="Theorem 1")
for n_events in (1, 30):
    frame = wk.simulate(
        1.0, n_events=n_events, recording_length=100.0, segment_length=segment_length, presence_criterion=0.5,
        n_recordings=2000, rng=1,
    ).to_frame()  # fmt: skip
    ax.errorbar(
        segment_length,
        frame["overlap_accuracy"],
        2 * frame["overlap_accuracy_se"],
        label=f"simulated, $M$ = {n_events}",
    )
ax.set(xlabel=label("segment_length"), ylabel=label("overlap_accuracy"))
ax.legend()
figure = ax.figure
