"""What the labels look like

The paper's first figure, for given events: fixed segments of three lengths and the oracle.
"""

import numpy as np

import weakly as wk
from weakly.base.plot import ABSENT, EVENT, PRESENT, timeline
from weakly.model.intervals import fixed_segments, oracle_segments

events = np.array([(8.0, 11.0), (20.0, 22.5), (41.0, 46.0)])
rule = wk.PresenceRule.fraction(0.5)


def labelled(segments):
    present = [any(rule.is_present(event=event, segment=segment) for event in events) for segment in segments]
    return segments, [PRESENT if p else ABSENT for p in present]


rows = {"events": (events, EVENT), "oracle": labelled(oracle_segments(events, recording_length=60.0))}
for length in (8.0, 2.5, 1.0):
    rows[f"{length:g} s segments"] = labelled(fixed_segments(recording_length=60.0, segment_length=length))
figure = timeline(rows, recording_length=60.0).figure
