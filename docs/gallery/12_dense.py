"""Where the sparse rule fails

Accuracy at the paper's length and at the true optimum, as recordings get denser.
"""

import numpy as np

import weakly as wk
from weakly.base.plot import axes, label

counts = [1, 5, 10, 20, 30, 40, 50, 60]
lengths = np.r_[wk.optimal_segment_length(event_length=1.0, presence_criterion=0.5), np.linspace(0.5, 3, 26)]
rule, best = [], []
for n_events in counts:
    frame = wk.simulate(
        1.0, n_events=n_events, recording_length=100.0, segment_length=lengths, presence_criterion=0.5,
        n_recordings=2000, rng=1,
    ).to_frame()  # fmt: skip
    rule.append(frame["overlap_accuracy"][0])
    best.append(frame["overlap_accuracy"].max())
ax = axes()
ax.plot(counts, best, "o-", label="best segment length")
ax.plot(counts, rule, "s--", label="$d_q^*$ of Theorem 2")
ax.axhline(wk.best_overlap_accuracy(presence_criterion=0.5), color="k", ls=":", label="$f^*$")
ax.set(xlabel=label("n_events") + " in 100 s", ylabel=label("overlap_accuracy"))
ax.legend()
figure = ax.figure
