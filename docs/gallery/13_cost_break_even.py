"""When is fixed labeling cheaper than the oracle?

The paper's cost ratio over the number of events, with overestimated queries; above 1 fixed segments cost more.
"""

import numpy as np

import weakly as wk
from weakly.base.plot import axes, label

recording_length, n_events = 100.0, np.arange(1, 101)
cost = wk.Cost(query_cost_share=0.5)
queries = wk.optimal_query_count(recording_length=recording_length, event_length=1.0, presence_criterion=0.5)
fixed = cost.of(listened=recording_length, n_queries=queries)
ax = axes()
for s in (1, 2, 4, 8):
    oracle = cost.of(listened=recording_length, n_queries=s * (2 * n_events + 1))
    ax.plot(n_events, fixed / oracle, label=f"$s$ = {s}")
ax.axhline(1, color="k", ls=":")
ax.set(xlabel=label("n_events"), ylabel="cost of fixed over cost of oracle")
ax.legend()
figure = ax.figure
