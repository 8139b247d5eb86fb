"""Whether the bands of a plan hold what they promise: pilots from a known population, planned, and checked on it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

import weakly as wk
from weakly.events import Timelines

GAMMA, LENGTH, RATE = 0.4, 60.0, 2.5
#: (what is counted, how many recordings): about 20, 50 and 200 events, and 8, 20 and 60 recordings.
SIZES = (
    ("20 events, 8 recordings", 8),
    ("50 events, 20 recordings", 20),
    ("150 events, 60 recordings", 60),
    ("200 events, 80 recordings", 80),
)


def _recordings(n: int, rng: np.random.Generator) -> list[Any]:
    """Recordings whose number and length of events differ from one to the next, as real ones do."""
    made = []
    for _ in range(n):
        count, scale = rng.poisson(RATE * rng.gamma(2.0, 0.5)), np.exp(0.3 * rng.standard_normal())
        d = np.minimum(rng.lognormal(0.0, 0.5, count) * scale, LENGTH)
        onset = rng.random(count) * (LENGTH - d)
        made.append(np.column_stack((onset, onset + d)))
    return made


@lru_cache(maxsize=1)
def _population() -> Timelines:
    return Timelines.of(_recordings(4000, np.random.default_rng(1)), LENGTH)


@lru_cache(maxsize=4096)
def _truth(width: float) -> dict[str, float]:
    found = wk.evaluate(_population(), segment_length=width, presence_criterion=GAMMA, phase=0)
    return {word: float(getattr(found, word)) for word in ("overlap_accuracy", "wrong_time", "event_recall")}


def coverage(n: int, pilots: int, seed: int = 0) -> dict[str, Any]:
    """Of so many pilots of n recordings: how often each 90 % band holds the truth, and how far off the promise is."""
    rng = np.random.default_rng([seed, n])
    held: dict[str, list[bool]] = {"overlap_accuracy": [], "wrong_time": [], "event_recall": []}
    off: dict[str, list[float]] = {word: [] for word in held}
    shown: list[float] = []
    for _ in range(pilots):
        lists = _recordings(n, rng)
        rows = [(f"r{k}", a, b, "x") for k, each in enumerate(lists) for a, b in each]
        if len(rows) < 3:
            continue
        frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
        events = wk.Events.from_frame(frame, recording_length={f"r{k}": LENGTH for k in range(n)})
        made = wk.plan(events, presence_criterion=GAMMA, methods="fixed")
        if made.uncertainty is None or made.segment_length is None:
            continue
        truth = _truth(made.segment_length)
        for word in held:
            low, high = made.uncertainty[f"{word}_ci"]
            held[word].append(low <= truth[word] <= high)
            off[word].append(made.uncertainty[word] - truth[word])
        shown.append(made.overlap_accuracy - truth["overlap_accuracy"])
    return {
        "pilots": len(shown),
        **{f"{word}_held": float(np.mean(each)) for word, each in held.items()},
        **{f"{word}_off": float(np.mean(each)) for word, each in off.items()},
        "shown_off": float(np.mean(shown)),
    }


def run(pilots: int = 200) -> list[dict[str, Any]]:
    """Rows of the table of `make bench`."""
    made = []
    for name, n in SIZES:
        found = coverage(n, pilots)
        held, off = found["overlap_accuracy_held"], found["overlap_accuracy_off"]
        made.append(
            {
                "what": f"bands of a plan, {name}",
                "measured": f"{held:.2f}, accuracy off by {off:+.3f}",
                "target": "0.85 to 0.95, off by < 0.01",
                "met": 0.85 <= held <= 0.95 and abs(off) < 0.01,
                "how": f"{found['pilots']} pilots; wrong time {found['wrong_time_held']:.2f}, events found "
                f"{found['event_recall_held']:.2f}",
            }
        )
    return made


if __name__ == "__main__":
    import sys

    for name, n in SIZES:
        print(name, coverage(n, int(sys.argv[1]) if len(sys.argv) > 1 else 200), flush=True)
