"""Overlapping windows and the right vote

10 s windows every second on 5 s events: wrong time per event over the number of votes a cell needs.
"""

import pandas as pd

import weakly as wk
from weakly.base.plot import axes

event = pd.DataFrame({"recording": ["a"], "onset": [40.0], "offset": [45.0]})
events = wk.Events.from_frame(event, recording_length=100.0)
ax = axes()
for criterion in (0.3, 0.5, 0.7):
    wrong = [
        wk.evaluate(events, segment_length=10.0, hop=1.0, votes=k, presence_criterion=criterion).wrong_time
        for k in range(1, 11)
    ]
    ax.plot(range(1, 11), wrong, "o-", label=rf"$\gamma$ = {criterion}")
ax.set(xlabel="windows of 10 that must say present", ylabel=r"wrong time $\epsilon$ (s per event)")
ax.legend()
figure = ax.figure
