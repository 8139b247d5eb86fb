"""Short and long events together

One segment length cannot serve both: the accuracy of a heavy-tailed law of lengths against that of a single length.
"""

import numpy as np
from scipy import stats

import weakly as wk
from weakly.base.plot import axes, label

lengths = wk.Lengths.law(stats.lognorm(s=1.0, scale=0.6))
segment_length = np.geomspace(0.05, 20, 120)
ax = axes()
for name, law in (("log-normal lengths", lengths), ("all events of mean length", wk.Lengths.fixed(lengths.mean))):
    values = [wk.overlap_accuracy(event_length=law, segment_length=q, presence_criterion=0.5) for q in segment_length]
    ax.semilogx(segment_length, values, label=name)
ax.set(xlabel=label("segment_length"), ylabel=label("overlap_accuracy"))
ax.legend()
figure = ax.figure
