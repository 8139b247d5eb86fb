"""The best segment length depends on the metric

Accuracy near events asks for longer segments than wrong seconds in the whole recording.
"""

import numpy as np

import weakly as wk
from weakly.base.plot import axes, label

criterion = np.linspace(0.01, 1, 200)
ax = axes()
for objective, name in (("overlap", "accuracy near events"), ("recording", "time labelled right")):
    best = wk.optimal_segment_length(event_length=1.0, presence_criterion=criterion, objective=objective)
    ax.plot(criterion, best, label=f"best for {name}")
ax.set(xlabel=label("presence_criterion"), ylabel=label("segment_length") + ", $d_e$ = 1 s")
ax.legend()
figure = ax.figure
