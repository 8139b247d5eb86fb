"""`weakly infer` with its defaults on answers of one and three people who slip, in worlds that fit.

    python -m benchmarks.infer_people [data sets] [first seed] [table.csv]
    python -m benchmarks.infer_people fit [data sets] [first seed]

A world is 20 recordings of 60 s of an alternating renewal process with events of 1 s on average, ten a recording apart
by exponential gaps. One person or three answer about every clip of 3 s, of 10 s, or of both (half of the recordings
each) by one criterion, and press the wrong key with the chance of a slip. Nothing is told: not the law, the criterion,
the rates. Never refused; do intervals hold events and seconds; is the criterion called identified only where its
interval holds the truth and says something? ``fit``: 1,000 answers about clips of 3 s, told the law, the annotator and
that events do not bunch: how often is it said that the answers do not look so, where there are bouts and where not?
"""

from __future__ import annotations

import sys
import time
import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

import weakly as wk
from benchmarks.inference_worlds import LAW, LAWS, SLIPS, ask, bunched, timelines

CELLS = list(product((1, 3), (0.0, 0.03, 0.1), ((3.0,), (10.0,), (3.0, 10.0))))


def answers(rng: np.random.Generator, made: Any, people: int, slip: float, widths: Any, criterion: float) -> Any:
    """What so many people say of the same clips; of several lengths each recording has one."""
    parts = []
    for k, events in enumerate(made):
        width = widths[k % len(widths)]
        for who in range(people):
            said = ask(rng, [events], length=60.0, width=width, criterion=criterion, noise=slip)
            parts.append(said.assign(recording=f"r{k}", annotator=f"p{who}"))
    return pd.concat(parts, ignore_index=True)


def one(seed: int, people: int, slip: float, widths: Any, *, criterion: float = 0.5, n: int = 20) -> dict[str, Any]:
    """One data set: whether it was refused, what the intervals hold, what is called identified."""
    rng = np.random.default_rng([seed, people, int(100 * slip), len(widths), int(widths[0])])
    made = timelines(rng, LAWS["lognormal, mean 1 s"], 0.1, length=60.0, n=n)
    said = answers(rng, made, people, slip, widths, criterion)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = wk.infer(said, recording_length=60.0, rng=0)
    except wk.WeaklyError as error:
        return {"refused": str(error)}
    row, estimates = found.overall.iloc[0], found.estimates.set_index("quantity")
    true = {"n_events": sum(map(len, made)), "event_seconds": sum(np.ptp(e, axis=1).sum() for e in made)}
    told: dict[str, Any] = {"refused": "", "identified": bool(estimates.loc["event_rate", "identified"])}
    for word, value in true.items():
        low, high = row[f"{word}_ci"]
        told |= {word: low - 1e-9 <= value <= high + 1e-9, f"{word} low": low / value, f"{word} high": high / value}
    fit = estimates.loc["presence_criterion"]
    low, high = fit["ci"]
    told |= {"criterion": low <= criterion <= high, "criterion identified": bool(fit["identified"])}
    told |= {"criterion width": high - low, "lengths identified": bool(estimates.loc["mean_length", "identified"])}
    told |= {f"alarm, {name}": p < 0.05 for name, p in found.parts["event"].check.items()}
    return told | {"CPU seconds": time.process_time() - start}


def fit(datasets: int = 20, first: int = 0) -> None:
    """How often the check of neighbours, and any check, speaks (p < .05)."""
    for kind in ("plain", "bouts"):
        found = []
        for seed in range(first, first + datasets):
            rng = np.random.default_rng([seed, 23])
            said = ask(rng, bunched(kind, rng, n=50), length=60.0, width=3.0, criterion=0.5, noise=0.04)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                who = wk.Annotator(presence_criterion=0.5, **SLIPS)
                made = wk.infer(said, event_length=LAW, annotator=who, bouts=False, step=0.25, draws=20, rng=0,
                                recording_length=60.0)  # fmt: skip
            found.append({**made.fit.p_values["event"], "any": 1.0 - 0.99 * bool(made.fit.alarms)})
        told = (pd.DataFrame(found) < 0.05).mean().round(2).to_dict()
        print(f"{kind:6s} {len(said)} answers, {datasets} data sets, called odd: {told}", flush=True)


def main(datasets: int = 20, first: int = 0, save: str | None = None) -> None:
    rows = []
    for seed in range(first, first + datasets):
        for people, slip, widths in CELLS:
            cell = {"people": people, "slips": slip, "clips": "+".join(f"{w:g}" for w in widths)}
            rows.append(cell | {"seed": seed} | one(seed, people, slip, widths))
            if save is not None:
                pd.DataFrame(rows).to_csv(save, index=False)
    table = pd.DataFrame(rows).assign(refused=lambda t: t["refused"] != "")
    print(table.drop(columns="seed").groupby(["people", "slips", "clips"]).mean().round(2).to_string())


if __name__ == "__main__":
    is_fit = sys.argv[1:2] == ["fit"]
    kinds = (int, int, str)
    (fit if is_fit else main)(*(kind(value) for kind, value in zip(kinds, sys.argv[1 + is_fit :])))
