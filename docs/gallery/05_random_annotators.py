"""Annotators who differ

The spread of the criterion costs accuracy even where its mean is the same.
"""

import numpy as np
from scipy import stats

import weakly as wk
from weakly.base.plot import axes, label

segment_length = np.linspace(0.1, 3, 120)
ax = axes()
for name, annotator in (
    ("everybody 0.5", wk.Annotator(presence_criterion=0.5)),
    ("Beta(8, 8)", wk.Annotator(presence_criterion=stats.beta(8, 8))),
    ("Beta(2, 2)", wk.Annotator(presence_criterion=stats.beta(2, 2))),
    ("Beta(2, 2), 10 % flips", wk.Annotator(presence_criterion=stats.beta(2, 2), flip_rate=0.1)),
):
    values = [wk.overlap_accuracy(event_length=1.0, segment_length=q, annotator=annotator) for q in segment_length]
    ax.plot(segment_length, values, label=name)
ax.set(xlabel=label("segment_length") + ", $d_e$ = 1 s", ylabel=label("overlap_accuracy"))
ax.legend()
figure = ax.figure
