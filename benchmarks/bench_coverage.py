"""Whether the bands of a plan hold what they promise: pilots from a known population, planned, and checked on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

import weakly as wk
from weakly.model.intervals import EventArrays

#: (what is counted, how many recordings): about 20, 50, 150 and 200 events, and 8, 20, 60 and 80 recordings.
SIZES = (
    ("20 events, 8 recordings", 8),
    ("50 events, 20 recordings", 20),
    ("150 events, 60 recordings", 60),
    ("200 events, 80 recordings", 80),
)


@dataclass(frozen=True)
class World:
    """Recordings whose number and length of events differ from one to the next, as real ones do."""

    presence_criterion: float
    recording_length: float
    n_events: float
    event_length: float  # the median
    spread: float  # of log lengths within a recording
    uneven: float  # shape of the gamma law of how many events a recording holds: the smaller, the more uneven
    between: float  # spread of log lengths between recordings

    def draw(self, n: int, rng: np.random.Generator) -> list[Any]:
        """The events of n recordings."""
        made = []
        for _ in range(n):
            count = rng.poisson(self.n_events * rng.gamma(self.uneven, 1 / self.uneven))
            scale = self.event_length * np.exp(self.between * rng.standard_normal())
            d = np.minimum(rng.lognormal(0.0, self.spread, count) * scale, self.recording_length)
            onset = rng.random(count) * (self.recording_length - d)
            made.append(np.column_stack((onset, onset + d)))
        return made

    @cached_property
    def population(self) -> EventArrays:
        """So many recordings that they are the truth."""
        return EventArrays.of(self.draw(4000, np.random.default_rng(1)), self.recording_length)


#: The bands were shaped on the first; the second is what they had not seen.
WORLDS = {
    "first": World(0.4, 60.0, 2.5, 1.0, 0.5, 2.0, 0.3),
    "second": World(0.6, 30.0, 2.5, 0.7, 0.8, 1.0, 0.2),
    "plain": World(0.5, 60.0, 2.5, 1.0, 0.4, 1e6, 0.0),
    "bouts": World(0.5, 60.0, 2.5, 1.0, 0.4, 0.3, 0.0),  # many in few recordings
    "differing": World(0.5, 60.0, 2.5, 1.0, 0.4, 2.0, 0.8),
    "heavy-tailed": World(0.5, 60.0, 2.5, 0.6, 1.3, 2.0, 0.0),
}


@lru_cache(maxsize=4096)
def _truth(world: str, width: float) -> dict[str, float]:
    one = WORLDS[world]
    found = wk.evaluate(one.population, segment_length=width, presence_criterion=one.presence_criterion, phase=0)
    return {word: float(getattr(found, word)) for word in ("overlap_accuracy", "wrong_time", "event_recall")}


def coverage(n: int, pilots: int, world: str = "first", seed: int = 0) -> dict[str, Any]:
    """Of so many pilots of n recordings: how often each 90 % band holds the truth, and how far off the promise is."""
    rng, one = np.random.default_rng([seed, n]), WORLDS[world]
    held: dict[str, list[bool]] = {"overlap_accuracy": [], "wrong_time": [], "event_recall": []}
    off: dict[str, list[float]] = {word: [] for word in held}
    shown: list[float] = []
    for _ in range(pilots):
        rows = [(f"r{k}", a, b, "x") for k, each in enumerate(one.draw(n, rng)) for a, b in each]
        if len(rows) < 3:
            continue
        frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
        events = wk.Events.from_frame(frame, recording_length={f"r{k}": one.recording_length for k in range(n)})
        made = wk.plan(events, presence_criterion=one.presence_criterion, methods="fixed")
        if made.segment_length is None or any(f"{word}_ci" not in (made.uncertainty or {}) for word in held):
            continue
        truth = _truth(world, made.segment_length)
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
    for world, (name, n) in product(WORLDS, SIZES):
        found = coverage(n, pilots, world)
        held, off = found["overlap_accuracy_held"], found["overlap_accuracy_off"]
        made.append(
            {
                "what": f"bands of a plan, {name}, {world} population",
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

    for world, (name, n) in product(WORLDS, SIZES):
        print(world, name, coverage(n, int(sys.argv[1]) if len(sys.argv) > 1 else 200, world), flush=True)
