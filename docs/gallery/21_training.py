"""Training on weak labels, with and without their noise rates

A linear classifier of frames, trained on clips of 1 to 10 s; F1 at threshold 1/2 on new recordings.
"""

import numpy as np
import pandas as pd
from scipy import optimize, stats

import weakly as wk
from weakly.base.plot import axes, label
from weakly.studies.infer.training import forward_corrected_loss

rng = np.random.default_rng(4)
law, rate, step = stats.lognorm(0.6, scale=0.835), 0.095, 0.2  # events of mean 1 s
loudness = rng.normal(size=6)
loudness *= 2.2 / np.linalg.norm(loudness)


def soundscapes(n):
    """Minutes of events, the truth of their frames, and six noisy features of each."""
    made, middles = [], np.arange(0, 60, step) + step / 2
    for _ in range(n):
        gaps, lengths = rng.exponential(1 / rate - 1, 40), law.rvs(size=40, random_state=rng)
        ends = np.cumsum(np.column_stack((gaps, lengths)).ravel()).reshape(-1, 2)
        made.append(np.minimum(ends[ends[:, 0] < 60], 60))
    truth = np.concatenate([((middles > e[:, :1]) & (middles < e[:, 1:])).any(axis=0) for e in made])
    return (
        made,
        truth,
        np.column_stack((rng.normal(size=(len(truth), 6)) + truth[:, None] * loudness, np.ones(len(truth)))),
    )


def fit(x, y, insertion_rate=0.0, deletion_rate=0.0):
    """The weights with the least corrected loss."""

    def loss(w):
        p = 1 / (1 + np.exp(-x @ w))
        return forward_corrected_loss(p, y, insertion_rate=insertion_rate, deletion_rate=deletion_rate).mean()

    return optimize.minimize(loss, np.zeros(7)).x


minutes, active, x = soundscapes(30)
_, new_active, new_x = soundscapes(30)


def f1(weights):
    """Of new recordings, at threshold 1/2."""
    said = new_x @ weights > 0
    return 2 * (said & new_active).sum() / (said.sum() + new_active.sum())


rule, lengths, scores = wk.PresenceRule.fraction(0.5), [1, 2, 5, 10], []
for w in lengths:
    spans = np.column_stack((np.arange(0, 60, w), np.arange(0, 60, w) + w))
    said = [
        rule.is_present(event=events[None], segment=spans[:, None]).any(axis=1) if len(events) else np.zeros(len(spans))
        for events in minutes
    ]
    table = pd.DataFrame(np.tile(spans, (30, 1)), columns=["onset", "offset"]).assign(label="owl")
    table = table.assign(recording=np.repeat([f"minute {k}" for k in range(30)], len(spans)))
    kit = wk.infer(
        table.assign(present=np.concatenate(said).astype(float)),
        event_length=law,
        presence_criterion=0.5,
        step=step,
        rng=0,
    ).training()
    hard, noise = kit.frames["hard"].to_numpy(), kit.rates.iloc[0]
    rates = {name: noise[name] for name in ("insertion_rate", "deletion_rate")}
    scores.append((f1(fit(x, hard)), f1(fit(x, kit.frames["posterior"].to_numpy())), f1(fit(x, hard, **rates))))
ax = axes()
for mark, name, values in zip("osD", ("hard labels", "posterior as soft labels", "corrected loss"), zip(*scores)):
    ax.plot(lengths, values, f"{mark}-", label=name)
ax.axhline(f1(fit(x, active)), color="k", ls=":", label="trained on the truth")
ax.set(xlabel=label("segment_length"), ylabel="F1 at 1/2", ylim=(0, 1))
ax.legend()
figure = ax.figure
