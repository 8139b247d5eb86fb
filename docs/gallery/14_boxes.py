"""Cells and boxes in one to three dimensions

The wrong volume that cells leave, as a share of labelling nothing: in three dimensions they hardly help.
"""

import numpy as np

from weakly.base.plot import axes, label
from weakly.theory import box_wrong_volume

ratio = np.linspace(0.4, 2.5, 200)
ax = axes()
for n_dimensions in (1, 2, 3):
    cells = np.repeat(ratio[:, None], n_dimensions, axis=1)
    ax.plot(ratio, box_wrong_volume(length_ratios=cells, presence_criterion=0.5), label=f"{n_dimensions} D")
ax.axhline(1, color="k", ls=":")
ax.set(xlabel=label("length_ratio") + ", the same on every axis", ylabel="wrong volume per event volume", ylim=(0, 3))
ax.legend()
figure = ax.figure
