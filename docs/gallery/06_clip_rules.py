"""What tools make of the same events

Events of 0.05 to 3 s in 3 s clips: the share that each tool's clip rule notices at all.
"""

import numpy as np

import weakly as wk
from weakly.base.plot import axes, label

event_length = np.geomspace(0.05, 3, 200)
ax = axes()
for name in ("hoplite", "opensoundscape", "birdnet", "koogu", "fsd-mix-sed"):
    found = wk.event_recall(event_length=event_length, segment_length=3.0, rule=wk.PresenceRule.preset(name))
    ax.semilogx(event_length, found, label=f"{name}: {wk.PresenceRule.preset(name).name}")
ax.set(xlabel=label("event_length"), ylabel=label("event_recall"))
ax.legend()
figure = ax.figure
