"""The accuracy cost of weakness

The best accuracy near events that fixed segments can reach, and the events that are lost on the way there.
"""

import numpy as np

import weakly as wk
from weakly.base.plot import axes, label, shares

criterion = np.linspace(0.01, 1, 200)
best = wk.optimal_segment_length(event_length=1.0, presence_criterion=criterion)
ax = axes()
ax.plot(criterion, wk.best_overlap_accuracy(presence_criterion=criterion), label="best accuracy near events $f^*$")
ax.plot(
    criterion,
    wk.event_recall(event_length=1.0, segment_length=best, presence_criterion=criterion),
    label="events found at $d_q^*$",
)
ax.set(xlabel=label("presence_criterion"), ylim=(0, 1.02))
shares(ax.yaxis)
ax.legend()
figure = ax.figure
print(wk.best_overlap_accuracy(presence_criterion=0.5))
