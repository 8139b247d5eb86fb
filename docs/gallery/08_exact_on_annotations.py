"""The exact expectation on given annotations

No simulation and no grid phase: every segment length, on these events, over all phases at once.
"""

import numpy as np
import pandas as pd

import weakly as wk
from weakly.base.plot import axes, label, shares
from weakly.base.symbols import plain_name

rows = [("a", 1.0, 2.2), ("a", 2.9, 3.3), ("a", 7.0, 9.5), ("b", 4.0, 4.4), ("b", 4.6, 5.1)]
events = wk.Events.from_frame(pd.DataFrame(rows, columns=["recording", "onset", "offset"]), recording_length=10.0)
result = wk.evaluate(events, segment_length=np.linspace(0.1, 5, 200), presence_criterion=0.45)
frame = result.to_frame()
ax = axes()
for name in ("overlap_accuracy", "event_recall", "precision", "recall"):
    ax.plot(frame["segment_length"], frame[name], label=plain_name(name))
ax.set(xlabel=label("segment_length"), ylim=(0, 1.02))
shares(ax.yaxis)
ax.legend()
figure = ax.figure
