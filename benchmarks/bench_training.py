"""What to train on when there are answers about clips: losses and labels side by side, on frames of real sound.

    python -m benchmarks.bench_training [seeds] [folder of .wav files]

Synthetic calls (sweeps of four kinds, .3 to 2 s, -2 to 8 dB) are added to recorded background: the recordings of the
folder, with their own bird song as distractors; without a folder, coloured noise with clicks and tones of our own.
Background is split by source, and a kind of call is tested that was not trained on. Per seed 20 minutes are trained on,
10 choose how much to shrink (the best of three by average precision on strong labels, alike for all rows) and 10 are
tested on, in steps of .2 s, with 40 log band energies and their neighbours; all models are linear (logistic). Clips of
3 s and of 10 s are answered by a criterion of .5, without slips.

Rows: strong labels (the ceiling), painted labels, the posterior of ``infer`` as soft labels, pooling by noisy-or and by
linear softmax, and the last decoded by ``infer(None, scores=, like=)``. Columns: AUC, average precision, best F1, F1 of
events (frames at 1/2 after a median of three steps; both ends within .2 s), and the calibration error (ten bins). Rows
as they come, then means over seeds with standard errors, then differences from linear softmax, paired.
"""

import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import optimize, signal, stats
from scipy.io import wavfile
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

import weakly as wk
from weakly.model.intervals import EventArrays
from weakly.studies.audit.quality import event_counts

RATE, STEP, LENGTH = 16_000, 0.2, 60.0
LAW = stats.lognorm(0.5, scale=0.7)  # of calls
KINDS = ((2000, 4000), (4500, 2500), (3000, 3000), (1500, 6000))  # Hz, from and to
SHRINKING = (1e-4, 1e-3, 1e-2)
COLUMNS = ["AUC", "AP", "best F1", "event F1", "ECE"]
METHODS = ("strong", "painted", "soft posterior", "noisy-or", "linear softmax", "linear softmax, decoded")


def sources(folder):
    """Stretches of background by source."""
    found = []
    for path in sorted(Path(folder).rglob("*.wav")) if folder else ():
        rate, sound = wavfile.read(path)
        sound = sound.astype(float) if sound.ndim == 1 else sound.astype(float).mean(axis=1)
        found.append(signal.resample_poly(sound, RATE, rate) / max(sound.std(), 1e-9))
    rng = np.random.default_rng(0)
    while len(found) < 6:  # noise of our own
        noise = signal.lfilter([1.0], [1.0, -rng.uniform(0.3, 0.95)], rng.normal(size=10 * RATE))
        for at in rng.integers(0, 9 * RATE, 12):
            tone = np.sin(2 * np.pi * rng.uniform(800, 7000) * np.arange(RATE // 5) / RATE)
            noise[at : at + len(tone)] += rng.uniform(0.5, 3) * noise.std() * tone
        found.append(noise / noise.std())
    return found


def minute(rng, grounds, kinds):
    """Sixty seconds of background with calls: sound and events."""
    ground, sound = grounds[rng.integers(len(grounds))], []
    while sum(map(len, sound)) < LENGTH * RATE:
        begin = rng.integers(0, max(1, len(ground) - 2 * RATE))
        sound.append(ground[begin : begin + rng.integers(RATE, 8 * RATE)] * rng.uniform(0.6, 1.4))
    sound, events = np.concatenate(sound)[: round(LENGTH * RATE)], []
    at = rng.exponential(10.0)
    while at < LENGTH - 0.4:
        d = float(np.clip(LAW.rvs(random_state=rng), 0.3, 2.0))
        d = min(d, LENGTH - at)
        low, high = np.array(kinds[rng.integers(len(kinds))]) * rng.uniform(0.85, 1.15)
        t = np.arange(round(d * RATE)) / RATE
        call = np.sin(2 * np.pi * (low * t + (high - low) * t**2 / (2 * d))) * np.hanning(len(t)) ** 0.3
        first = round(at * RATE)
        call = call[: len(sound) - first]
        sound[first : first + len(call)] += call * 10 ** (rng.uniform(-2, 8) / 20) * sound.std()
        events.append((at, at + d))
        at += d + rng.exponential(10.0)
    return sound, np.array(events).reshape(-1, 2)


def features(sound):
    """Log energies of 40 bands per step, with those of the steps beside it."""
    hop = round(STEP * RATE)
    power = np.abs(np.fft.rfft(sound[: len(sound) // hop * hop].reshape(-1, hop) * np.hanning(hop))) ** 2
    edges = np.geomspace(200, 7800, 41) / (RATE / 2) * (power.shape[1] - 1)
    bands = np.stack([power[:, int(a) : max(int(a) + 1, int(b))].mean(axis=1) for a, b in pairwise(edges)], axis=1)
    x = np.log(bands + 1e-9)
    x -= np.median(x, axis=0)
    return np.hstack((np.roll(x, 1, axis=0), x, np.roll(x, -1, axis=0)))


def frames_of(recordings):
    middle = np.arange(round(LENGTH / STEP)) * STEP + STEP / 2
    return np.concatenate([((middle > e[:, :1]) & (middle < e[:, 1:])).any(axis=0) for _, e in recordings])


def asked(recordings, width):
    rule, rows = wk.PresenceRule.fraction(0.5), []
    spans = np.column_stack((np.arange(0, LENGTH, width), np.arange(0, LENGTH, width) + width))
    for r, (_, events) in enumerate(recordings):
        said = np.zeros(len(spans), bool)
        if len(events):
            said = rule.is_present(event=events[None], segment=spans[:, None]).any(axis=1)
        rows += [(f"m{r:03d}", a, b, "call", int(y)) for (a, b), y in zip(spans, said)]
    return pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "present"])


def chosen(x, objective, x_held, held):
    """The model of the best of three strengths of shrinking, on held-out frames."""
    models = [fitted(x, objective, shrink) for shrink in SHRINKING]
    return max(models, key=lambda w: average_precision_score(held, x_held @ w))


def fitted(x, objective, shrink):
    """The logistic model with the least loss; ``objective``: chances of frames -> loss, and its slope in each."""

    def total(w):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        loss, slope = objective(p)
        return loss + shrink * w[:-1] @ w[:-1], x.T @ (slope * p * (1 - p)) + 2 * shrink * np.append(w[:-1], 0)

    start = np.append(np.zeros(x.shape[1] - 1), -2.0)
    return optimize.minimize(total, start, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x


def cross_entropy(target):
    def objective(p):
        p = np.clip(p, 1e-9, 1 - 1e-9)
        loss = -(target * np.log(p) + (1 - target) * np.log(1 - p)).mean()
        return loss, (p - target) / (p * (1 - p)) / len(p)

    return objective


def pooled(clips, pool):
    """Cross-entropy of answers with the pooled chances of their clips; all clips have the same number of frames."""
    frame = np.stack([np.arange(i, j) for i, j in zip(clips["row"], clips["row"] + clips["last"] - clips["first"])])
    present = clips["present"].to_numpy(float)

    def objective(p):
        each = np.clip(p[frame], 1e-9, 1 - 1e-9)
        if pool == "linear softmax":
            total = each.sum(axis=1)
            q = (each**2).sum(axis=1) / total
            slope = (2 * each - q[:, None]) / total[:, None]
        else:
            none = np.exp(np.log1p(-each).sum(axis=1))
            q, slope = 1 - none, none[:, None] / (1 - each)
        q = np.clip(q, 1e-6, 1 - 1e-6)
        loss = -(present * np.log(q) + (1 - present) * np.log(1 - q)).mean()
        back = np.zeros(len(p))
        np.add.at(back, frame, ((q - present) / (q * (1 - q)) / len(q))[:, None] * slope)
        return loss, back

    return objective


def events_of(p):
    """The events of each recording in a detector's chances: at 1/2, after a median of three steps."""
    lines = []
    for each in np.asarray(p).reshape(-1, round(LENGTH / STEP)):
        smooth = np.median(np.lib.stride_tricks.sliding_window_view(np.pad(each, 1, mode="edge"), 3), axis=1)
        ends = np.flatnonzero(np.diff(np.concatenate(([0], smooth > 0.5, [0])))).reshape(-1, 2)
        lines.append(ends * STEP)
    return lines


def event_f1(recordings, p):
    """F1 of events whose onset and offset are within .2 s of a true one's."""
    true, told = (EventArrays.of(lines, LENGTH) for lines in ([events for _, events in recordings], events_of(p)))
    f1 = event_counts(true, told, collar=0.2, share_of_length=0.0).f1
    return 0.0 if np.isnan(f1) else f1


def scored(recordings, p):
    """The columns of the table, of chances per step of these recordings."""
    truth = frames_of(recordings)
    precision, recall, _ = precision_recall_curve(truth, p)
    bins = np.minimum((10 * p).astype(int), 9)
    gaps = [abs(truth[bins == b].mean() - p[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins)]
    best = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
    return {"AUC": roc_auc_score(truth, p), "AP": average_precision_score(truth, p), "best F1": best.max(),
            "event F1": event_f1(recordings, p), "ECE": sum(gaps)}  # fmt: skip


def table_of(p, n):
    onset = np.tile(np.arange(round(LENGTH / STEP)) * STEP, n)
    names = np.repeat([f"m{r:03d}" for r in range(n)], round(LENGTH / STEP))
    return pd.DataFrame({"recording": names, "onset": onset, "offset": onset + STEP, "score": p})


def run(seed, width, found):
    """Scores by method."""
    rng = np.random.default_rng([seed, 3])
    order, kinds = rng.permutation(len(found)), rng.permutation(len(KINDS))
    parts = [([found[k] for k in order[i::3]], [KINDS[k] for k in kinds[j : j + 3]], n)
             for i, j, n in ((0, 0, 20), (1, 0, 10), (2, 1, 10))]  # fmt: skip
    train, held, test = ([minute(rng, grounds, calls) for _ in range(n)] for grounds, calls, n in parts)
    x, x_held, x_new = (np.concatenate([features(sound) for sound, _ in part]) for part in (train, held, test))
    middle, spread = x.mean(axis=0), x.std(axis=0)
    x, x_held, x_new = (np.column_stack(((each - middle) / spread, np.ones(len(each)))) for each in (x, x_held, x_new))
    truth, on_held = frames_of(train), (x_held, frames_of(held))
    how = {"event_length": LAW, "presence_criterion": 0.5, "step": STEP, "bouts": False, "draws": 2, "rng": 0}
    answers = asked(train, width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kit = wk.infer(answers, **how).training()
        clips = kit.clips.assign(
            row=kit.clips["first"] + kit.clips["recording"].str[1:].astype(int) * round(LENGTH / STEP)
        )
        models = {
            "strong": chosen(x, cross_entropy(truth.astype(float)), *on_held),
            "painted": chosen(x, cross_entropy(kit.frames["hard"].to_numpy()), *on_held),
            "soft posterior": chosen(x, cross_entropy(kit.frames["posterior"].to_numpy()), *on_held),
            **{pool: chosen(x, pooled(clips, pool), *on_held) for pool in ("noisy-or", "linear softmax")},
        }
        chances = {name: 1 / (1 + np.exp(-x_new @ w)) for name, w in models.items()}
        logits = [table_of(each @ models["linear softmax"], n) for each, n in ((x, 20), (x_new, 10))]
        decoded = wk.infer(None, scores=logits[1], like=wk.infer(answers, scores=logits[0], **how), draws=2, rng=0)
    chances["linear softmax, decoded"] = decoded.active["active"].to_numpy()
    return [{"seed": seed, "clips": f"{width:g} s", "present": answers["present"].mean(), "method": name,
             **scored(test, chances[name])} for name in METHODS]  # fmt: skip


if __name__ == "__main__":
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    grounds = sources(sys.argv[2] if len(sys.argv) > 2 else None)
    rows = []
    for seed in range(seeds):
        for width in (3.0, 10.0):
            rows += run(seed, width, grounds)
            print(pd.DataFrame(rows[-len(METHODS) :]).round(3).to_string(header=not rows[: -len(METHODS)]), flush=True)
    table = pd.DataFrame(rows)
    print(table.groupby("clips", sort=False)["present"].mean().round(3).to_dict())
    base = table[table["method"] == "linear softmax"].set_index(["seed", "clips"])[COLUMNS]
    apart = table.set_index(["seed", "clips", "method"])[COLUMNS].sub(base).reset_index()
    for each in (table, apart):
        groups = each.groupby(["clips", "method"], sort=False)[COLUMNS]
        print((groups.mean().round(3).astype(str) + " (" + groups.sem().round(3).astype(str) + ")").to_string())
