"""What clips do to the labels of frames

How often a frame without event is labelled present (insertion) and one with event absent (deletion).
"""

import numpy as np
import pandas as pd

import weakly as wk
from weakly.base.plot import axes, label

rng = np.random.default_rng(2)
lengths, rates = [1, 2, 3, 5, 10], []
for w in lengths:
    chance = 1 - np.exp(-0.1 * w)  # of a present clip: events of 1 s, criterion one half, 0.1 per second
    spans = np.arange(0, 600, w)
    frame = pd.DataFrame({"recording": "forest", "onset": spans, "offset": spans + w, "label": "owl"})
    said = frame.assign(present=(rng.random(len(spans)) < chance).astype(float))
    found = wk.infer(said, event_length=1.0, presence_criterion=0.5, event_rate=0.1, step=0.1, rng=0, draws=10)
    rates.append(found.training().rates.iloc[0])
ax = axes()
ax.plot(lengths, [row["insertion_rate"] for row in rates], "o-", label="insertion: present, but no event")
ax.plot(lengths, [row["deletion_rate"] for row in rates], "s-", label="deletion: absent, but an event")
ax.set(xlabel=label("segment_length"), ylabel="share of frames", ylim=(0, 1))
ax.legend()
figure = ax.figure
