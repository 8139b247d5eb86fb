"""`weakly infer` on worlds whose truth is known: simulated ones, and wrong assumptions.

    python -m benchmarks.inference_worlds recover [runs] [seed] [table.pkl]
    python -m benchmarks.inference_worlds bouts table.csv [datasets] [given|slips|law|none] [first] [world:clips ...]
    python -m benchmarks.inference_worlds detector [recordings]
    python -m benchmarks.inference_worlds windows [recordings]
    python -m benchmarks.inference_worlds scores [repeats]
    python -m benchmarks.inference_worlds hours [hours] [events per second]
    python -m benchmarks.inference_worlds damage [datasets] [seed]

``recover``: a run asks about 30 minutes of each of the twenty worlds, its rate drawn anew within a fifth, and infers
the rate back; do 95 % intervals hold the truth, are frames calibrated? ``bouts``: the same where events bunch, in clips
of 3 s, 10 s and both (or in cells such as hawkes:3+10), told the law and the noise, or left to find slips, the law, or
both; does the check see that gaps of one kind would not do? ``detector``: seconds wrong, true and stated, with the
scores of a detector whose errors are white or go on. ``windows``: the same of a detector that scores windows of .1 to
3 s by their highest half second, and of what is above 2 as a second annotator's answers. ``scores``: CPU seconds of an
hour with and without them. ``hours``: CPU seconds and peak memory of very many minutes. ``damage``: what a wrong law of
lengths, criterion or noise does.
"""

from __future__ import annotations

import itertools
import math
import resource
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import weakly as wk
from weakly.model.intervals import merge
from weakly.posterior.class_answers import check

LAWS = {
    "lognormal, mean 1 s": stats.lognorm(0.6, scale=math.exp(-0.18)),
    "gamma, mean .5 s": stats.gamma(2, scale=0.25),
    "exponential, mean 2 s": stats.expon(scale=2.0),
    "wide lognormal, mean 1.5 s": stats.lognorm(1.0, scale=1.5 * math.exp(-0.5)),
}
#: Law, events per second, criterion, segment length, guesses and lapses.
WORLDS = [
    (law, rate, criterion, width, noise)
    for (law, rate), (criterion, width, noise) in zip(
        [(law, rate) for rate in (0.03, 0.08, 0.1, 0.15, 0.2) for law in LAWS],
        [(0.1, 1, 0), (0.5, 3, 0.05), (0.9, 10, 0), (0.5, 5, 0.05), (0.3, 10, 0.05), (0.7, 1, 0.05), (0.5, 3, 0)] * 3,
    )
]
# 10 s clips of this one would nearly all be present, which tells no upper limit of the rate.
WORLDS[18] = (*WORLDS[18][:3], 5, WORLDS[18][4])
KINDS = {"n_events": "events", "event_seconds": "event seconds", "rate": "event rate"}


def timelines(rng: np.random.Generator, law: Any, rate: float, *, length: float, n: int) -> list[Any]:
    """Recordings of an alternating renewal process in continuous time that began long before them."""
    gap = 1 / rate - float(law.mean())
    made = []
    for _ in range(n):
        many = int(6 * (length + 200) * rate + 60)
        steps = np.column_stack((rng.exponential(gap, many), law.rvs(size=many, random_state=rng)))
        events = np.cumsum(steps.ravel()).reshape(-1, 2) - 200
        events = events[(events[:, 1] > 0) & (events[:, 0] < length)]
        made.append(np.clip(events, 0, length))
    return made


def ask(
    rng: np.random.Generator, recordings: Any, *, length: Any, width: float, criterion: Any, noise: float = 0.0
) -> pd.DataFrame:
    """Answers about segments of one width, by the definition of the criterion, which may differ between recordings."""
    rows, many = [], len(recordings)
    lengths, criteria = np.broadcast_to(length, many), np.broadcast_to(criterion, many)
    for r, (events, end, criterion) in enumerate(zip(recordings, lengths, criteria)):
        starts = np.arange(0, end - 1e-9, width)
        ends = np.minimum(starts + width, end)
        shared = np.minimum(events[:, 1], ends[:, None]) - np.maximum(events[:, 0], starts[:, None])
        met = ((shared > 0) & (shared >= criterion * (events[:, 1] - events[:, 0]) - 1e-9)).any(axis=1)
        said = np.where(rng.random(len(starts)) < noise, ~met, met)
        rows.append(
            pd.DataFrame({"recording": f"r{r}", "onset": starts, "offset": ends, "present": said.astype(float)})
        )
    return pd.concat(rows, ignore_index=True).assign(label="event")


def recover(
    runs: int, *, worlds: Any = None, n: int = 30, seed: int = 0, drawn: float = 0.2, save: Any = None
) -> pd.DataFrame:
    """Per run of each world: truth, estimate and whether the intervals hold it; and frames by their posterior.

    The rate is drawn within ``drawn`` of the world's (in its logarithm). With rates at twenty points exactly, frames
    whose P(active) is the highest that a world reaches are those of runs that estimated its rate too high.
    """
    length, rows = 60.0, []
    for run in range(runs):
        for number, (law, middle, criterion, width, noise) in enumerate(WORLDS if worlds is None else worlds):
            rng = np.random.default_rng([seed, number, run])
            rate = middle * math.exp(rng.uniform(-drawn, drawn))
            recordings = timelines(rng, LAWS[law], rate, length=length, n=n)
            answers = ask(rng, recordings, length=length, width=width, criterion=criterion, noise=noise)
            who = wk.Annotator(presence_criterion=criterion, guess_rate=noise, lapse_rate=noise)
            found = wk.infer(answers, event_length=LAWS[law], annotator=who, recording_length=length, rng=rng)
            row, world = found.overall.iloc[0], found.estimates.iloc[0]
            true = {
                "n_events": sum(map(len, recordings)),
                "event_seconds": sum(np.ptp(e, axis=1).sum() for e in recordings),
            }
            inside = {name: row[f"{name}_ci"][0] - 1e-9 <= true[name] <= row[f"{name}_ci"][1] + 1e-9 for name in true}
            inside["rate"] = world["ci"][0] <= rate <= world["ci"][1]
            frames = np.zeros((10, 2))
            for one, events in zip(found.parts["event"].recordings, recordings):
                middles = one.edges[:-1] + found.settings["step"] / 2
                truth = ((middles > events[:, :1]) & (middles < events[:, 1:])).any(axis=0)
                place = np.minimum((one.active * 10).astype(int), 9)
                frames[:, 0] += np.bincount(place, minlength=10)
                frames[:, 1] += np.bincount(place, weights=truth - one.active, minlength=10)
            rows.append(
                {"world": number, "law": law, "criterion": criterion, "segment": width, "noise": noise, "rate": rate}
                | {f"true_{k}": v for k, v in true.items()}
                | {k: row[k] for k in true}
                | {"painted": row["painted_seconds"], "event_rate": world["value"]}
                | {f"{k}_inside": v for k, v in inside.items()}
                | {"frames": frames}
            )
        if save is not None:
            pd.DataFrame(rows).to_pickle(save)
    return pd.DataFrame(rows)


LAW = LAWS["lognormal, mean 1 s"]
SLIPS = {"guess_rate": 0.03, "lapse_rate": 0.05}
#: Worlds of half an hour; in all but two, calls of 1 s on average.
BUNCHED = (
    "plain", "bouts", "hawkes", "regular", "rates", "two lengths", "lengths alike", "two callers", "soft", "unanswered"
)  # fmt: skip


def bunched(kind: str, rng: np.random.Generator, *, n: int = 30, length: float = 60.0) -> list[Any]:
    """Recordings of calls that do not overlap."""
    if kind == "two callers":
        pairs = [[bunched("plain", rng, n=1, length=length)[0] for _ in range(2)] for _ in range(n)]
        return [merge(np.concatenate(pair)) for pair in pairs]
    made = []
    for _ in range(n):
        scale = float(rng.lognormal(-0.18, 0.6)) if kind == "lengths alike" else 1.0
        if kind in ("bouts", "regular"):
            every, more = (45.0, 3) if kind == "bouts" else (60.0, 6)
            starts = []
            for at in rng.uniform(-60, length, rng.poisson((length + 60) / every)):
                gaps = rng.exponential(1.5, 40) if kind == "bouts" else rng.gamma(4, 0.75, 40)
                starts.append((at + np.cumsum(1 + gaps) - 1 - gaps[0])[: 1 + rng.poisson(more)])
            starts = np.concatenate([*starts, np.empty(0)])
        elif kind == "hawkes":
            line = rng.uniform(-60, length, rng.poisson(0.05 * (length + 60))).tolist()
            for at in line:  # it grows as we go
                line += [c for c in at + rng.exponential(4.0, rng.poisson(0.55)) if c < length]
            starts = np.array(line)
        elif kind == "rates":
            starts = rng.uniform(-20, length, rng.poisson(0.1 * rng.gamma(1.0) * (length + 20)))
        else:
            starts = np.cumsum(1 + rng.exponential(9.5, int(length / 5 + 40))) - 50
        events, end = [], -np.inf
        for at in np.sort(starts):
            d = scale * float(LAW.rvs(random_state=rng))
            d *= rng.choice([0.5, 2.5]) if kind == "two lengths" else 1.0
            at, end = max(at, end), max(at, end) + d
            if end > 0 and at < length:
                events.append((max(at, 0.0), min(end, length)))
        made.append(np.array(events).reshape(-1, 2))
    return made


def bunched_set(kind: str, widths: tuple[float, ...], seed: int, told: str = "given") -> tuple[Any, Any, dict]:
    """True events, answers, and what ``infer`` is told: the law of lengths (of other recordings, where it is not that
    of all) and the annotator, or to find slips, the law, or both."""
    rng = np.random.default_rng([seed, 7])
    made, soft = bunched(kind, rng), kind == "soft"
    criterion = rng.beta(4, 4, len(made)) if soft else 0.5
    parts = [ask(rng, made, length=60.0, width=w, criterion=criterion) for w in widths]
    said = pd.concat([part[part["recording"].str[1:].astype(int) % len(widths) == j] for j, part in enumerate(parts)])
    yes = said["present"] == 1
    wrong = rng.random(len(said)) < np.where(yes, SLIPS["lapse_rate"], SLIPS["guess_rate"])
    said["present"] = np.where(wrong, ~yes, yes).astype(float)
    if kind == "unanswered":
        said.loc[rng.random(len(said)) < 0.3, "present"] = np.nan
    law: Any = LAW
    if kind in ("two lengths", "lengths alike"):
        rows = [(f"s{r}", a, b, "event") for r, each in enumerate(bunched(kind, rng)) for a, b in each]
        law = wk.Events.from_frame(pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"]),
                                   recording_length=60.0)  # fmt: skip
    who = wk.Annotator(presence_criterion=stats.beta(4, 4) if soft else 0.5, **SLIPS)
    how = {"given": {"event_length": law, "annotator": who}, "slips": {"event_length": law},
           "law": {"annotator": who}, "none": {}}[told]  # fmt: skip
    return made, said, how


def bunched_row(kind: str, widths: tuple[float, ...], seed: int, told: str = "given") -> dict[str, Any]:
    """One data set: whether events and seconds are covered, widths, bias, identified, gaps of one kind beside it."""
    made, said, how = bunched_set(kind, widths, seed, told)
    begun = time.process_time()
    found = wk.infer(said, recording_length=60.0, step=0.2, rng=0, **how)
    row, part = found.overall.iloc[0], found.parts["event"]
    true = {"n_events": sum(map(len, made)), "event_seconds": sum(np.ptp(e, axis=1).sum() for e in made)}
    rows: dict[str, Any] = {"world": kind, "clips": "+".join(f"{w:g}" for w in widths), "told": told, "seed": seed}
    for word, value in true.items():
        for name, (low, high) in (("", row[f"{word}_ci"]), ("one kind: ", part.family_interval(word, 0))):
            rows[f"{name}{word}"] = low - 1e-9 <= value <= high + 1e-9
            rows[f"{name}width of {word}"] = (high - low) / value
    rate = found.estimates.set_index("quantity").loc["event_rate"]
    rows |= {"bias": row["n_events"] / true["n_events"] - 1, "identified": part.identified,
             "rate identified": rate["identified"], "log B": part.bayes_factor}  # fmt: skip
    one, order = part.families[0], {each.recording: k for k, each in enumerate(part.recordings)}
    plain = check(part.recordings, part.annotator, [one.family.renewal(x) for x in one.strata(5)[0]], order,
                  np.random.default_rng(1))  # fmt: skip
    for name, p_values in (("alarm", part.check), ("alarm of one kind", plain)):
        rows |= {f"{name}, {word}": p < 0.05 for word, p in p_values.items()}
    return rows | {"CPU seconds": time.process_time() - begun}


def bouts(save: str, datasets: int, told: str = "given", first: int = 0, cells: Sequence[str] = ()) -> Any:
    """Means per world and clips; every data set is a row of ``save`` as soon as it is done."""
    rows = []
    for seed in range(first, first + datasets):
        for cell in cells or [f"{kind}:{clips}" for kind in BUNCHED for clips in ("3", "10", "3+10")]:
            kind, clips = cell.split(":")
            rows.append(bunched_row(kind, tuple(map(float, clips.split("+"))), seed, told))
            pd.DataFrame(rows).to_csv(save, index=False)
    return pd.DataFrame(rows).drop(columns="seed").groupby(["world", "clips", "told"], sort=False).mean()


def detected(rng: np.random.Generator, made: Any, *, length: float, together: float) -> tuple[Any, Any]:
    """Scores, ten a second: 3 in events, -3 elsewhere, and noise that may go on; and the true activity."""
    onset, tables, active = np.arange(round(10 * length)) / 10, [], []
    for r, events in enumerate(made):
        noise = rng.normal(size=len(onset))
        for k in range(1, len(noise)):
            noise[k] = together * noise[k - 1] + math.sqrt(1 - together**2) * noise[k]
        active.append(((onset[:, None] + 0.05 > events[:, 0]) & (onset[:, None] + 0.05 < events[:, 1])).any(axis=1))
        score = np.where(active[-1], 3.0, -3.0) + 2 * noise
        tables.append(pd.DataFrame({"recording": f"r{r}", "onset": onset, "offset": onset + 0.1, "score": score}))
    return tables, active


def scores(repeats: int = 3) -> Any:
    """CPU seconds of an hour, whole and in minutes (3 s clips, steps of .1 s), without scores and with, medians of some
    repeats."""
    law, who = LAWS["lognormal, mean 1 s"], wk.Annotator(presence_criterion=0.5, guess_rate=0.03, lapse_rate=0.03)
    for length, is_bouts in itertools.product((60.0, 3600.0), (False, None)):
        rng = np.random.default_rng(0)
        made = timelines(rng, law, 0.1, length=length, n=round(3600 / length))
        table = pd.concat(detected(rng, made, length=length, together=0.9)[0])
        said = ask(rng, made, length=length, width=3.0, criterion=0.5, noise=0.03)
        how: Any = {"event_length": law, "annotator": who, "recording_length": length, "step": 0.1, "rng": 0}
        took: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(2 * repeats + 2):
            begun = time.process_time()
            wk.infer(said, scores=table if turn % 2 else None, bouts=is_bouts, **how)
            took[bool(turn % 2)].append(time.process_time() - begun)
        without, with_them = (float(np.median(each[1:])) for each in took.values())  # the first may compile
        yield {
            "seconds": length,
            "bouts": str(is_bouts),
            "without": without,
            "with": with_them,
            "ratio": with_them / without,
        }


def hours(many: float = 11, rate: float = 0.005) -> Any:
    """CPU seconds and peak memory (MB, before and after) of so many hours in minutes of twenty 3 s clips, 2 % flips."""
    rng, law, starts = np.random.default_rng(0), LAWS["lognormal, mean 1 s"], np.arange(0, 60, 3.0)
    said, n = np.zeros((round(60 * many), 20), np.bool_), 0
    for row in said:
        for a, b in timelines(rng, law, rate, length=60.0, n=1)[0]:
            row |= np.minimum(b, starts + 3) - np.maximum(a, starts) >= 0.5 * (b - a)
            n += 1
    said ^= rng.random(said.shape) < 0.02
    frame = pd.DataFrame({"recording": np.repeat([f"r{k:06d}" for k in range(len(said))], 20), "label": "event",
                          "onset": np.tile(starts, len(said)), "present": said.ravel().astype(float)})  # fmt: skip
    who, begun = wk.Annotator(guess_rate=0.02, lapse_rate=0.02), time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = wk.infer(frame.assign(offset=frame["onset"] + 3), event_length=law, annotator=who, recording_length=60.0,
                     step=0.1, rng=0)  # fmt: skip
    row, after = found.overall.iloc[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield {"hours": many, "CPU seconds": time.process_time() - begun, "MB before": before, "MB after": after,
           "patterns": len(np.unique(said, axis=0)), "events": n, "found": row["n_events"],
           "low": row["n_events_ci"][0], "high": row["n_events_ci"][1]}  # fmt: skip


def detector(recordings: int = 200) -> Any:
    """Wrong seconds per recording of 30 s with three events, true and stated, by detector's errors, clips and slips."""
    law = LAWS["lognormal, mean 1 s"]
    for together, width, slip in itertools.product((0.0, 0.9), (3.0, 10.0), (0.0, 0.05)):
        rng = np.random.default_rng(0)
        made = timelines(rng, law, 0.1, length=30.0, n=recordings)
        tables, active = detected(rng, made, length=30.0, together=together)
        said = ask(rng, made, length=30.0, width=width, criterion=0.5, noise=slip)
        who = wk.Annotator(presence_criterion=0.5, guess_rate=slip, lapse_rate=slip)
        found = wk.infer(said, event_length=law, annotator=who, scores=pd.concat(tables), recording_length=30.0,
                         step=0.1, bouts=False, draws=10, rng=0)  # fmt: skip
        p = [rows["active"].to_numpy() for _, rows in found.active.groupby("recording", sort=False)]
        alone = [0.1 * ((t["score"] > 0).to_numpy() != a).sum() for t, a in zip(tables, active)]
        yield {"errors go on": together, "clips": width, "slips": slip, "detector alone": np.mean(alone),
               "wrong": np.mean([0.1 * ((x > 0.5) != a).sum() for x, a in zip(p, active)]),
               "stated": np.mean([0.1 * np.minimum(x, 1 - x).sum() for x in p])}  # fmt: skip


def windows(recordings: int = 100) -> Any:
    """Seconds of event, true and inferred, and wrong ones, of half minutes, by how long a detector's windows are."""
    law, rng = LAWS["lognormal, mean 1 s"], np.random.default_rng(1)
    made = timelines(rng, law, 0.1, length=30.0, n=recordings)
    tables, active = detected(rng, made, length=30.0, together=0.9)
    said = ask(rng, made, length=30.0, width=3.0, criterion=0.5)
    how: Any = {"event_length": law, "recording_length": 30.0, "step": 0.1, "bouts": False, "draws": 100, "rng": 0}
    true = sum(np.ptp(e, axis=1).sum() for e in made) / recordings
    for width in (0, 1, 3, 5, 10, 30, -30):  # frames of .1 s; none, and negative: as answers
        rows = []
        for r, table in enumerate(tables if width else ()):
            score, size = table["score"].to_numpy(), min(5, abs(width))
            mean = np.convolve(score, np.full(size, 1 / size), "valid")
            rows += [(f"r{r}", k / 10, (k + abs(width)) / 10, mean[k : k + abs(width) - size + 1].max())
                     for k in range(0, 300, abs(width)) if k + abs(width) <= 300]  # fmt: skip
        frames = pd.DataFrame(rows, columns=["recording", "onset", "offset", "score"])
        if width < 0:
            heard = frames.assign(present=(frames["score"] > 2).astype(float), label="event", annotator="detector")
            found = wk.infer(pd.concat([said.assign(annotator="person"), heard.drop(columns="score")]), **how)
        else:
            found = wk.infer(said, scores=frames if width else None, presence_criterion=0.5, **how)
        row = found.overall.iloc[0]
        p = [rows["active"].to_numpy() for _, rows in found.active.groupby("recording", sort=False)]
        yield {"window": abs(width) / 10, "as": ("answers" if width < 0 else "scores") if width else "none",
               "true seconds": true, "seconds": row["event_seconds"] / recordings,
               "low": row["event_seconds_ci"][0] / recordings, "high": row["event_seconds_ci"][1] / recordings,
               "wrong": np.mean([0.1 * ((x > 0.5) != a).sum() for x, a in zip(p, active)]),
               "stated": np.mean([0.1 * np.minimum(x, 1 - x).sum() for x in p])}  # fmt: skip


def coverage(found: pd.DataFrame) -> pd.DataFrame:
    """How often each kind of interval holds the truth: of all datasets, and by noise, segment, criterion and law."""
    groups = {"all": found}
    for name in ("noise", "segment", "criterion", "law"):
        groups |= {f"{name} {value}": part for value, part in found.groupby(name)}
    rows = []
    for name, part in groups.items():
        shares = {word: part[f"{kind}_inside"].mean() for kind, word in KINDS.items()}
        rows.append({"datasets": name, "n": len(part), **shares, "se": math.sqrt(0.95 * 0.05 / len(part))})
    return pd.DataFrame(rows)


def reliability(found: pd.DataFrame) -> pd.DataFrame:
    """Ten bins of P(active): the share of frames, and true minus predicted activity with its standard error."""
    frames = np.stack(found["frames"].to_list())
    total = frames.sum(axis=0)
    off = total[:, 1] / np.maximum(total[:, 0], 1)
    error = np.sqrt(((frames[..., 1] - off * frames[..., 0]) ** 2).sum(axis=0)) / np.maximum(total[:, 0], 1)
    return pd.DataFrame({"from": np.arange(10) / 10, "share": total[:, 0] / total[:, 0].sum(), "off": off, "se": error})


def damage(datasets: int = 3, *, seed: int = 0) -> pd.DataFrame:
    """Error of inferred events and event seconds in percent, by what was taken for true and the segment length."""
    law, rate, length, rows = LAWS["lognormal, mean 1 s"], 0.095, 60.0, []
    half, twice = stats.lognorm(0.6, scale=math.exp(-0.18) / 2), stats.lognorm(0.6, scale=math.exp(-0.18) * 2)
    noisy = wk.Annotator(guess_rate=0.05, lapse_rate=0.05)
    taken = {
        "right": (law, wk.Annotator(), 0.0),
        "exponential lengths, same mean": (stats.expon(), wk.Annotator(), 0.0),
        "all events 1 s": (1.0, wk.Annotator(), 0.0),
        "half the mean length": (half, wk.Annotator(), 0.0),
        "twice the mean length": (twice, wk.Annotator(), 0.0),
        "criterion .3": (law, wk.Annotator(presence_criterion=0.3), 0.0),
        "criterion .7": (law, wk.Annotator(presence_criterion=0.7), 0.0),
        "5 % guesses and lapses, known": (law, noisy, 0.05),
        "the same, unknown": (law, wk.Annotator(), 0.05),
    }
    for k in range(datasets):
        rng = np.random.default_rng([seed, k])
        recordings = timelines(rng, law, rate, length=length, n=60)
        true = np.array([sum(map(len, recordings)), sum(np.ptp(e, axis=1).sum() for e in recordings)])
        for width in (1.0, 3.0, 10.0):
            answers = {
                noise: ask(rng, recordings, length=length, width=width, criterion=0.5, noise=noise)
                for noise in (0.0, 0.05)
            }
            for name, (lengths, who, noise) in taken.items():
                row = {"taken": name, "segment": width}
                try:
                    made = wk.infer(
                        answers[noise], event_length=lengths, annotator=who, recording_length=length, draws=10, rng=0
                    )
                    found = made.overall[["n_events", "event_seconds"]].to_numpy()[0]
                    row |= dict(zip(("events", "seconds"), 100 * (found / true - 1)))
                except wk.InvalidInput as error:
                    print(name, width, error)
                rows.append(row)
    return pd.DataFrame(rows).groupby(["taken", "segment"], sort=False).mean().round(1)


def main(job: str, *rest: str) -> None:
    """The table of one job."""
    warnings.simplefilter("ignore", wk.AssumptionWarning)
    if job == "recover":
        runs, seed = (int(x) for x in (*rest[:2], *("8", "0")[len(rest[:2]) :]))
        found = recover(runs, seed=seed, save=rest[2] if len(rest) > 2 else None)
        print(coverage(found).round(3).to_string(index=False), reliability(found).round(4).to_string(), sep="\n")
    elif job == "damage":
        print(damage(*(int(x) for x in rest[:1]), seed=int(rest[1]) if len(rest) > 1 else 0).to_string())
    elif job == "bouts":
        numbers = [kind(x) for kind, x in zip((int, str, int), rest[1:4])]
        print(bouts(rest[0], *(numbers or [20]), cells=rest[4:]).round(3).T.to_string())
    elif job in ("detector", "windows", "scores", "hours"):
        for row in globals()[job](*(float(x) if job == "hours" else int(x) for x in rest[:2])):
            print({k: v if isinstance(v, str) else round(float(v), 3) for k, v in row.items()}, flush=True)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:] or ("help",))
