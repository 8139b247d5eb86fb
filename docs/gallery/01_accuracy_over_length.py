"""Accuracy and event recall over segment length

The curve behind the habit of 3 s segments, for 1 s events. Accuracy given overlap never stands without event recall.
"""

import numpy as np

import weakly as wk
from weakly.base.plot import axes, label

segment_length = np.linspace(0.05, 4, 400)
ax = axes()
for name in ("overlap_accuracy", "event_recall", "precision", "recall"):
    values = getattr(wk, name)(event_length=1.0, segment_length=segment_length, presence_criterion=0.5)
    ax.plot(segment_length, values, label=name.replace("_", " "))
ax.axvline(wk.optimal_segment_length(event_length=1.0, presence_criterion=0.5), color="k", ls=":", label="$d_q^*$")
ax.set(xlabel=label("segment_length"), ylabel="share", ylim=(0, 1.02))
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
figure = ax.figure
