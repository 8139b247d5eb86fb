"""Where f* is not a bound

Two 1 s events at a growing distance: accuracy at the best segment length, and the bound that always holds there.
"""

import numpy as np

import weakly as wk
from weakly.base.plot import axes, label

gaps = np.linspace(0.0, 2.5, 26)
lengths = np.linspace(0.5, 4, 71)
best, bound = [], []
for gap in gaps:
    pair = [[(10.0, 11.0), (11.0 + gap, 12.0 + gap)]]
    result = wk.evaluate(pair, recording_length=30.0, segment_length=lengths, presence_criterion=0.5, edge="infinite")
    k = int(np.argmax(result.overlap_accuracy))
    best.append(result.overlap_accuracy[k])
    bound.append(result.overlap_accuracy_bound[k])
ax = axes()
ax.plot(gaps, best, label="best accuracy near events")
ax.plot(gaps, bound, "--", label=r"$E[\max(c, 1-c)]$ there")
ax.axhline(wk.best_overlap_accuracy(presence_criterion=0.5), color="k", ls=":", label="$f^*$ of one event")
ax.set(xlabel="gap between the two events (s)", ylabel=label("overlap_accuracy"), ylim=(0.5, 1))
ax.legend()
figure = ax.figure
