"""The whole reproduction against the paper's procedure: its loops, timed on a few recordings and extrapolated."""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import reference
from weakly.apps.paper import reproduce
from weakly.apps.paper.facts import gather
from weakly.apps.paper.simulations import PAPER, RECORDING_LENGTH, SCENARIOS, merged_lengths, scenario
from weakly.studies.simulate import World

SAMPLE = 3  # recordings that are timed


def plain_loops(events, segments, criterion):
    """The mean accuracy of the segments that meet an event: the leanest loops that follow the paper's text."""
    total, n = 0.0, 0
    for a, b in segments:
        met = [(x, y) for x, y in events if x < b and y > a]
        if met:
            held = [min(y, b) - max(x, a) for x, y in met]
            present = any(h >= criterion * (y - x) for h, (x, y) in zip(held, met))
            share = sum(held) / (b - a)
            total += share if present else 1 - share
            n += 1
    return total / n


def _slow(events, width):
    reference.score(events, RECORDING_LENGTH, width, 0.5)


def _seconds(function, *arguments):
    started = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - started


def paper_seconds():
    """The estimated time of all simulation figures, with the slow reference and with the leanest loops.

    Both take a time per segment that does not depend on its length; the paper draws new recordings for every segment
    length and criterion.
    """
    rng, data = np.random.default_rng(0), gather()
    slow = lean = 0.0
    for name in SCENARIOS:
        made = scenario(name, data)
        for case in made.cases:
            lengths = merged_lengths(case, n_events=made.n_events, n_recordings=1000, rng=rng)
            nominal = PAPER.segment_lengths(shortest=float(lengths.min()), longest=float(lengths.max()))
            counts = np.floor(RECORDING_LENGTH / nominal)
            width = RECORDING_LENGTH / 200
            asked = [(k * width, (k + 1) * width) for k in range(200)]
            timelines, _ = World(case.lengths, made.n_events, RECORDING_LENGTH, "uniform", 0.0).draw(SAMPLE, rng)
            recordings = [[tuple(event) for event in bounds.tolist()] for bounds, _ in timelines]
            total = counts.sum() / 200 * PAPER.n_recordings * PAPER.n_criteria
            for events in recordings:
                slow += total / SAMPLE * _seconds(_slow, events, width)
                lean += total / SAMPLE * _seconds(plain_loops, events, asked, 0.5)
    return slow, lean


def run():
    """Rows of what was timed: ours and theirs in seconds, their ratio, and the ratio to reach."""
    with tempfile.TemporaryDirectory() as folder:
        reproduce(only=["single_event"], quick=True)  # compile first
        started = time.perf_counter()
        reproduce(only=list(SCENARIOS))
        simulations = time.perf_counter() - started
        started = time.perf_counter()
        reproduce(out=folder)
        whole = time.perf_counter() - started
    slow, lean = paper_seconds()
    rows = (
        ("reproduce, all of it, against the paper's procedure in our slow reference", whole, slow, 1000),
        ("reproduce, simulation figures, against the same", simulations, slow, 1000),
        ("reproduce, simulation figures, against the leanest plain Python loops", simulations, lean, None),
    )
    return [
        {"what": what, "ours": ours, "theirs": theirs, "ratio": theirs / ours, "target": target}
        for what, ours, theirs, target in rows
    ]


if __name__ == "__main__":
    for row in run():
        print(f"{row['what']}: {row['ours']:.1f} s against {row['theirs'] / 3600:.1f} h, ratio {row['ratio']:,.0f}")
