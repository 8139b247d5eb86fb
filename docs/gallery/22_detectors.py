"""Which detector is better, told by clip answers alone

Seven detectors on 200 answered clips of 3 s: the bits per clip by which the scores of each explain the answers, against
the bits per frame by which they tell events from silence, for which the true events are needed.
"""

import numpy as np
import pandas as pd
from scipy import signal, stats

import weakly as wk
from weakly.base.plot import axes

rng = np.random.default_rng(3)
law, onsets, active, answers = stats.lognorm(0.5, scale=0.88), np.arange(300) / 10, {}, []
for k in range(20):  # recordings of 30 s, an event about every 10 s
    ends = np.cumsum(np.column_stack((rng.exponential(9.0, 20), law.rvs(20, random_state=rng))).ravel()).reshape(-1, 2)
    ends = np.minimum(ends[ends[:, 0] < 30], 30.0)
    active[f"r{k}"] = ((onsets + 0.05 > ends[:, :1]) & (onsets + 0.05 < ends[:, 1:])).any(axis=0)
    for start in np.arange(0.0, 30.0, 3.0):
        heard = np.minimum(ends[:, 1], start + 3) - np.maximum(ends[:, 0], start)
        answers.append((f"r{k}", start, start + 3, "owl", float((heard >= 0.5 * (ends[:, 1] - ends[:, 0])).any())))
table = pd.DataFrame(answers, columns=["recording", "onset", "offset", "label", "present"])

detectors, truth = {}, {}
for apart in (0.0, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0):  # standard deviations from silence to event
    frames, bits = [], []
    for name, on in active.items():
        noise = signal.lfilter([np.sqrt(0.19)], [1, -0.9], rng.normal(size=400))[100:]  # errors that go on
        score = apart * on + noise
        frames.append(pd.DataFrame({"recording": name, "onset": onsets, "offset": onsets + 0.1, "score": score}))
        event, none = stats.norm.pdf(score, apart), stats.norm.pdf(score)
        share = np.mean(list(active.values()))
        bits.append(np.log2(np.where(on, event, none) / (share * event + (1 - share) * none)))
    detectors[f"{apart:g}"], truth[f"{apart:g}"] = pd.concat(frames, ignore_index=True), float(np.mean(bits))

rows = wk.audit(answers=wk.Answers.from_frame(table), scores=detectors).detectors
ax = axes()
for row in rows.itertuples():
    ax.plot([truth[row.detector]] * 2, [row.bits_per_clip_low, row.bits_per_clip_high], color="C0", lw=1)
    ax.plot(truth[row.detector], row.bits_per_clip, "o", color="C0")
    ax.annotate(f" {row.detector} sd", (truth[row.detector], row.bits_per_clip), va="top", fontsize=9)
ax.set(xlabel="bits per frame about the true events", ylabel="bits per clip about the answers, 95 %")
figure = ax.figure
