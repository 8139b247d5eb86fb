"""Clip length and call rates

The same 40 minutes heard in clips of 1 to 10 s: what present clips paint, and the event time inferred from them.
"""

import numpy as np
import pandas as pd
from scipy import stats

import weakly as wk
from weakly.base.plot import axes, label

rng = np.random.default_rng(1)
law = stats.lognorm(0.6, scale=0.835)  # mean 1 s
rows = []
for minute in range(40):
    at = rng.exponential(9.0)
    while at < 60:
        length = float(law.rvs(random_state=rng))
        rows.append((f"minute {minute}", at, min(at + length, 60.0), "owl"))
        at += length + rng.exponential(9.0)
events = wk.Events.from_frame(
    pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"]),
    recording_length=60.0,
    recordings=[f"minute {k}" for k in range(40)],
)
rule, lengths, table = wk.PresenceRule.fraction(0.5), [1, 2, 3, 5, 10], []
for w in lengths:
    said = []
    for name in events.recordings.index:
        mine = events.to_frame().query("recording == @name")[["onset", "offset"]].to_numpy()
        for start in np.arange(0, 60, w):
            present = len(mine) > 0 and bool(rule.is_present(event=mine, segment=(start, start + w)).any())
            said.append((name, start, start + w, "owl", float(present)))
    frame = pd.DataFrame(said, columns=["recording", "onset", "offset", "label", "present"])
    found = wk.infer(frame, event_length=law, presence_criterion=0.5, recording_length=60.0, step=0.2, rng=0)
    table.append(found.overall.iloc[0])
inferred = np.array([row["event_seconds"] for row in table]) / 40
ends = np.array([row["event_seconds_ci"] for row in table]).T / 40
ax = axes()
ax.plot(lengths, [row["painted_seconds"] / 40 for row in table], "o-", label="painted by present clips")
ax.errorbar(lengths, inferred, np.abs(ends - inferred), fmt="s", capsize=3, label="inferred, 95 %")
ax.axhline(events.lengths.sum() / 40, color="k", ls=":", label="truth")
ax.set(xlabel=label("segment_length"), ylabel="owl seconds per minute", ylim=(0, None))
ax.legend()
figure = ax.figure
