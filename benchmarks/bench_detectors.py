"""Which of two detectors explains answers better, without a strong label: is it the one that is better?

    python benchmarks/bench_detectors.py [worlds] [better] [worse] [first seed]

Each world: 20 recordings of 30 s, events of mean length 1 s at .1 per second, 200 answers about 3 s clips (criterion
.5, 2 % flips), two detectors with ten frames per second whose errors go on from frame to frame (correlation .9) and
whose frames tell events apart by 3 and by 1.5 standard deviations (or as told). Printed: worlds in which the better
one, the worse one and none is named; and how bits per clip go with the true likelihood of frames.
"""

import math
import sys
import warnings

import numpy as np
import pandas as pd
from scipy import stats

import weakly as wk
from weakly.posterior.detector import compare_detectors, frames_by_class

LAW = stats.lognorm(0.5, scale=math.exp(-0.125))
LENGTH, CLIP, HOP = 30.0, 3.0, 0.1
QUALITY = {"better": 3.0, "worse": 1.5}


def world(seed, recordings=20):
    """True events, answers, and scores of both detectors."""
    rng = np.random.default_rng(seed)
    lines, answers, scores = {}, [], {name: [] for name in QUALITY}
    for r in range(recordings):
        at, events = rng.exponential(9.0), []
        while at < LENGTH:
            end = at + float(LAW.rvs(random_state=rng))
            events.append((at, min(end, LENGTH)))
            at = end + rng.exponential(9.0)
        lines[f"r{r}"] = np.array(events).reshape(-1, 2)
        for a in np.arange(0, LENGTH, CLIP):
            met = any(min(a + CLIP, off) - max(a, on) >= 0.5 * (off - on) for on, off in events)
            answers.append((f"r{r}", a, a + CLIP, "owl", int(met ^ (rng.random() < 0.02))))
        onset = HOP * np.arange(round(LENGTH / HOP))
        active = np.zeros(len(onset), bool)
        for on, off in events:
            active |= (onset + HOP / 2 >= on) & (onset + HOP / 2 < off)
        for name, apart in QUALITY.items():
            noise = rng.normal(size=len(onset))
            for k in range(1, len(noise)):
                noise[k] = 0.9 * noise[k - 1] + math.sqrt(0.19) * noise[k]
            frame = {"recording": f"r{r}", "onset": onset, "offset": onset + HOP, "score": apart * active + noise}
            scores[name].append(pd.DataFrame(frame).assign(active=active))
    table = pd.DataFrame(answers, columns=["recording", "onset", "offset", "label", "present"])
    return lines, table, {name: pd.concat(each, ignore_index=True) for name, each in scores.items()}


def compared(seed):
    _, answers, scores = world(seed)
    who = wk.Annotator(guess_rate=0.02, lapse_rate=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = wk.infer(answers, event_length=LAW, annotator=who, bouts=False, step=0.2, draws=2, rng=0)
    frames = {name: frames_by_class(table)[None] for name, table in scores.items()}
    rows = compare_detectors(found.parts["owl"], frames)
    for row in rows:
        table = scores[row["detector"]]
        z, on = table["score"].to_numpy(), table["active"].to_numpy()
        event, none, share = stats.norm.pdf(z, QUALITY[row["detector"]]), stats.norm.pdf(z), on.mean()
        bits = np.log2(np.where(on, event, none) / (share * event + (1 - share) * none))
        row["true_bits_per_frame"] = float(bits.mean())
    return rows


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    QUALITY.update(zip(QUALITY, map(float, sys.argv[2:])))
    named = {"better": 0, "worse": 0, "none": 0}
    rows = []
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    for seed in range(first, first + many):
        found = compared(seed)
        named[found[0]["detector"] if found[0]["better"] else "none"] += 1
        rows += found
    table = pd.DataFrame(rows).groupby("detector")[["bits_per_clip", "wrong_per_minute", "true_bits_per_frame"]].mean()
    print(f"{many} worlds, 200 clips each: {named}")
    print(table.round(3).to_string())
