"""Accuracy near events and events found over segment length

The curve behind the habit of 3 s segments, for 1 s events. Accuracy near events never stands without the events found.
"""

import numpy as np

import weakly as wk
from weakly.base.plot import axes, label, shares
from weakly.base.symbols import plain_name

segment_length = np.linspace(0.05, 4, 400)
ax = axes()
for name in ("overlap_accuracy", "event_recall", "precision", "recall"):
    values = getattr(wk, name)(event_length=1.0, segment_length=segment_length, presence_criterion=0.5)
    ax.plot(segment_length, values, label=plain_name(name))
ax.axvline(wk.optimal_segment_length(event_length=1.0, presence_criterion=0.5), color="k", ls=":", label="$d_q^*$")
ax.set(xlabel=label("segment_length"), ylim=(0, 1.02))
shares(ax.yaxis)
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
figure = ax.figure
