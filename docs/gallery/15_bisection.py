"""Halving what is present

Queries for the labels of 0.8 s segments of a 102.4 s recording with one event, over the length that one starts at.
"""

import numpy as np

from weakly.base.plot import axes
from weakly.theory import bisection_listened, bisection_queries

levels = np.arange(8)
setting = {"recording_length": 102.4, "levels": 7, "event_length": 1.0, "presence_criterion": 0.5}
queries = np.array([bisection_queries(**setting, start_level=int(k)) for k in levels])
listened = np.array([bisection_listened(**setting, start_level=int(k)) for k in levels])
ax = axes()
ax.semilogx(102.4 / 2.0**levels, queries, "o-", label="queries")
ax.semilogx(102.4 / 2.0**levels, listened, "s--", label="seconds heard")
ax.set(xlabel="length of the first segments (s)", ylabel="queries, seconds")
ax.legend()
figure = ax.figure
