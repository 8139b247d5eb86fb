"""What answers tell about the criterion

Simulated annotators with 5 % guesses and lapses: the estimate and its 95 % interval, over the number of answers.
"""

import numpy as np

from weakly.base.plot import axes, label
from weakly.posterior.criterion import estimate_criterion

rng = np.random.default_rng(1)
ax = axes()
for shift, truth in enumerate((0.2, 0.5, 0.8)):
    for n in (30, 100, 300, 1000):
        fraction = rng.uniform(0, 1, n)
        present = (fraction >= truth) ^ (rng.uniform(size=n) < 0.05)
        found = estimate_criterion(fraction, present=present)
        low, high = found.presence_criterion_ci
        middle = found.presence_criterion
        ax.errorbar(n * 1.05**shift, middle, [[middle - low], [high - middle]], fmt="o", color=f"C{shift}", capsize=3)
    ax.axhline(truth, color=f"C{shift}", ls=":")
ax.set(xscale="log", xlabel="answers", ylabel=label("presence_criterion"), ylim=(0, 1))
figure = ax.figure
