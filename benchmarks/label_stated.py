"""What the labeling page says of the labels and of the listener, against the truth.

    python benchmarks/label_stated.py [worlds] [first seed] [information | fixed] [misses] [repeats] [minutes]

A world is two recordings with about five events of 0.5 to 1.5 s a minute at 0, 6 or 12 dB, and a listener with one
criterion (0.3 to 0.7; one half for fixed segments, as the page expects) who presses the wrong key once in fifty and
misses so many (a share) of the segments that satisfy it. ``repeats`` is the share of segments that are asked again.
`covers_` is whether the stated interval holds the truth, `told` the share of worlds in which the page states the share
of events found, not "if you missed none".
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import weakly as wk
from weakly.apps.label.launch import open_campaign
from weakly.io.soundscape import soundscape
from weakly.studies.queries.query_set import REPEAT

EARLY = (10, 20, 40)  # answers after which the page is asked as well
FIXED = {"segment_length": 1.0, "live": {"lengths": wk.Lengths.parse("uniform:loc=0.5,scale=1")}}


def inside(spans, minutes):
    """Whether each moment is in one of the spans."""
    at = np.arange(0, 60 * minutes, 0.005)
    return ((at[:, None] >= spans[:, 0]) & (at[:, None] < spans[:, 1])).any(axis=1)


def shares(events, marks):
    """The share of each event that one of the marks holds at most."""
    shared = np.minimum(events[:, 1:], marks[:, 1]) - np.maximum(events[:, :1], marks[:, 0])
    return np.maximum(shared, 0).max(axis=1, initial=0.0) / (events[:, 1] - events[:, 0])


def spans(made, events):
    """The likely events by recording."""
    likely = made.live.known(made.session)[0].to_frame()
    return {name: likely.loc[likely["recording"] == name, ["onset", "offset"]].to_numpy(float) for name in events}


def stated(made, events, met, criterion):
    """What the page states now, and the true share of events found: by answers (``met``), or (None) by likely ones."""
    labels = made.live.labels(made.session)
    if met is None:
        marks = spans(made, events)
        met = {name: shares(mine, marks[name]) >= criterion for name, mine in events.items()}
    true = np.concatenate(list(met.values())).mean()
    ends = [labels.get(f"event_recall_{end}") for end in ("low", "high")]
    return {
        "told": labels["lapse_rate"] is not None, "wrong_time": labels["wrong_time"], "n_events": labels["n_events"],
        "found": labels["event_recall"], "true_found": true,
        "covers_found": np.nan if None in ends else ends[0] - 1e-9 <= true <= ends[1] + 1e-9,
    }  # fmt: skip


def world(seed, method="fixed", misses=0.0, repeats=0.0, minutes=1):
    """What was stated and what was true in one world."""
    rng, folder = np.random.default_rng(seed), Path(tempfile.mkdtemp())
    criterion = rng.uniform(0.3, 0.7) if method == "information" else 0.5
    events = {}
    for name in ("a.wav", "b.wav"):
        n, snr = 1 + int(rng.poisson(5 * minutes)), float(rng.choice([0, 6, 12]))
        scene = soundscape(60 * minutes, n_events=n, event_length=(0.5, 1.5), least_gap=0.3, sample_rate=16000,
                           snr=snr, rng=int(rng.integers(2**30)))  # fmt: skip
        scene.write(folder / name)
        events[name] = scene.events
    how = FIXED if method == "fixed" else {"shortest": 0.1}
    places = [folder / name for name in events]
    made = open_campaign(places, out=folder / "c", label="owl", method=method, repeats=repeats, **how)
    answers, told, met = 0, {}, {name: np.zeros(len(mine), dtype=bool) for name, mine in events.items()}
    while items := made.session.ask("annotator"):
        item = items[0]
        mine = events[item.recording]
        is_met = shares(mine, np.array([[item.onset, item.offset]])) >= criterion
        present = rng.random() >= max(misses, 0.02) if is_met.any() else rng.random() < 0.02
        if present and not item.calibration:
            met[item.recording] |= is_met
        made.session.tell("annotator", query=item.query, present=float(present), id=f"answer-{answers}", seconds=1.0)
        answers += 1
        if answers in EARLY:
            more = stated(made, events, met if method == "fixed" else None, criterion)
            told |= {f"{word} at {answers}": more[word] for word in ("told", "found", "true_found", "covers_found")}
    marks = spans(made, events)
    heard = made.live.criterion(made.session)
    wrong = [0.005 * (inside(events[name], minutes) != inside(marks[name], minutes)).sum() for name in events]
    true = {"wrong_time": np.mean(wrong), "n_events": sum(map(len, events.values()))}
    labels = made.live.labels(made.session)
    return {
        "answers": answers, **{f"true_{word}": value for word, value in true.items()},
        **{f"covers_{word}": labels[f"{word}_low"] <= value <= labels[f"{word}_high"]
           for word, value in true.items() if f"{word}_low" in labels},
        **stated(made, events, met if method == "fixed" else None, criterion), **told,
        "repeats": sum(item.method.startswith(REPEAT) for item in made.session.items.values()),
        **({} if heard is None else {
            "covers": heard["presence_criterion_low"] <= criterion <= heard["presence_criterion_high"],
            "width": heard["presence_criterion_high"] - heard["presence_criterion_low"], "lapses": heard["lapse_rate"],
            "covers_lapses": heard["lapse_rate_low"] <= max(misses, 0.02) <= heard["lapse_rate_high"],
        }),
    }  # fmt: skip


def main(worlds=20, first=0, method="information", misses=0.0, repeats=0.0, minutes=1):
    rows = []
    for seed in range(first, first + worlds):
        rows.append(world(seed, method, misses, repeats, minutes))
        print(seed, {name: round(float(value), 2) for name, value in rows[-1].items()}, flush=True)
    table = pd.DataFrame(rows).astype(float)
    mean = table.mean()
    print(mean.round(3).to_dict())
    told = table[table["told"] == 1]
    ratio = told["found"].mean() / told["true_found"].mean() if len(told) else float("nan")
    print(f"stated in {mean['told']:.2f} of the worlds; stated over true events found there {ratio:.3f}")


if __name__ == "__main__":
    kinds = (int, int, str, float, float, int)
    main(*(kind(value) for kind, value in zip(kinds, sys.argv[1:])))
