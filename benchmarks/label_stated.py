"""What the labeling page says of the labels and of the listener, against the truth.

    python benchmarks/label_stated.py [worlds] [first seed] [information | fixed]

A world is two recordings of a minute with a few events of 0.5 to 1.5 s at 0, 6 or 12 dB, and a listener with one
criterion (0.3 to 0.7; one half for fixed segments, as the page expects) who presses the wrong key once in fifty.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import weakly as wk
from weakly.apps.label.launch import open_campaign
from weakly.io.soundscape import soundscape

AT = np.arange(0, 60, 0.005)
FIXED = {"segment_length": 1.0, "live": {"lengths": wk.Lengths.parse("uniform:loc=0.5,scale=1")}}


def inside(spans):
    """Whether each moment is in one of the spans."""
    return ((AT[:, None] >= spans[:, 0]) & (AT[:, None] < spans[:, 1])).any(axis=1)


def world(seed, method):
    """What was stated and what was true in one world."""
    rng, folder = np.random.default_rng(seed), Path(tempfile.mkdtemp())
    criterion = rng.uniform(0.3, 0.7) if method == "information" else 0.5
    events = {}
    for name in ("a.wav", "b.wav"):
        n, snr, start = 1 + int(rng.poisson(5)), float(rng.choice([0, 6, 12])), int(rng.integers(2**30))
        scene = soundscape(
            60, n_events=n, event_length=(0.5, 1.5), least_gap=0.3, sample_rate=16000, snr=snr, rng=start
        )
        scene.write(folder / name)
        events[name] = scene.events
    how = FIXED if method == "fixed" else {"shortest": 0.1}
    made = open_campaign([folder / name for name in events], out=folder / "c", label="owl", method=method, **how)
    answers = 0
    while items := made.session.ask("annotator"):
        item = items[0]
        mine = events[item.recording]
        shared = np.minimum(mine[:, 1], item.offset) - np.maximum(mine[:, 0], item.onset)
        present = (shared >= criterion * (mine[:, 1] - mine[:, 0])).any() != (rng.random() < 0.02)
        made.session.tell("annotator", query=item.query, present=float(present), id=f"answer-{answers}", seconds=1.0)
        answers += 1
    state, likely = made.live.state(made.session, "annotator"), made.live.known(made.session)[0].to_frame()
    found = {name: likely.loc[likely["recording"] == name, ["onset", "offset"]].to_numpy(float) for name in events}
    heard = state["criterion"]
    return {
        "answers": answers, "wrong_time": state["labels"]["wrong_time"],
        "true_wrong_time": np.mean([0.005 * (inside(events[name]) != inside(found[name])).sum() for name in events]),
        "n_events": state["labels"]["n_events"], "true_n_events": sum(map(len, events.values())),
        "covers": heard["presence_criterion_low"] <= criterion <= heard["presence_criterion_high"],
        "width": heard["presence_criterion_high"] - heard["presence_criterion_low"],
    }  # fmt: skip


def main(worlds=20, first=0, method="information"):
    table = pd.DataFrame([world(seed, method) for seed in range(first, first + worlds)])
    print(table.round(2).to_string())
    print(table.astype(float).mean().round(3).to_dict())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:4])
