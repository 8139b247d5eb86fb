"""Digests of random evaluations, plans and inferences, to compare two states of the code bit by bit.

    python benchmarks/bits.py before.json 200        in one checkout
    python benchmarks/bits.py after.json 200         in the other
    python benchmarks/bits.py --compare before.json after.json

Numbers count, words do not: strings are left out, so that a better sentence is no difference.
"""

import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import weakly as wk

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "studies"))
from plan_tasks import pilot, task


def numbers(value):
    """The numbers in nested results, strings and what only says how it was made left out."""
    if isinstance(value, dict):
        kept = {key: numbers(item) for key, item in value.items() if key not in ("version", "command", "settings")}
        return {key: item for key, item in kept.items() if item is not None}
    if isinstance(value, list | tuple):
        return [numbers(item) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return None
    return float(value).hex()


def evaluation(seed):
    rng = np.random.default_rng(seed)
    events = pilot(rng, int(rng.integers(1, 4)))
    who = [
        {"presence_criterion": float(rng.uniform(0.05, 1))},
        {"rule": "seconds:1|fraction:0.5"},
        {"annotator": wk.Annotator(presence_criterion=0.4, guess_rate=0.02, lapse_rate=0.1)},
        {"presence_criterion": [0.2, 0.5, 0.9]},
    ][int(rng.integers(4))]
    where = [{}, {"phase": 0.0}, {"edge": "infinite"}, {"hop": 0.5}][int(rng.integers(4))]
    return wk.evaluate(events, segment_length=np.round(rng.uniform(0.5, 12, 3), 3), **who, **where)


def planned(seed):
    given, kw = task(seed)
    return wk.plan(given, **kw)


def inference(seed):
    rng = np.random.default_rng(seed)
    events = pilot(rng)
    frame, width = events.to_frame(), float(np.round(rng.uniform(1, 5), 2))
    rows = []
    for name, length in list(events.extents.items())[:8]:
        of = frame[frame["recording"] == name]
        for onset in np.arange(0, length, width):
            end = min(onset + width, length)
            heard = np.minimum(of["offset"], end) - np.maximum(of["onset"], onset)
            present = bool((heard >= 0.5 * (of["offset"] - of["onset"])).any()) ^ (rng.random() < 0.02)
            rows.append((name, onset, end, "class 0", present))
    answers = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "present"])
    given = {"event_length": stats.lognorm(s=0.8, scale=1.5)} if seed % 2 else {}
    return wk.infer(answers, presence_criterion=0.5, draws=50, rng=seed, **given)


KINDS = {"evaluation": evaluation, "plan": planned, "inference": inference}


def digest(kind, seed):
    """The digest of one result, or the first line of its refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = KINDS[kind](seed).to_dict()
        except wk.WeaklyError as refusal:
            return type(refusal).__name__
    return hashlib.sha256(json.dumps(numbers(made), sort_keys=True).encode()).hexdigest()[:16]


def compare(before, after):
    before, after = (json.loads(Path(path).read_text()) for path in (before, after))
    for kind in KINDS:
        shared = before[kind].keys() & after[kind].keys()
        other = sorted((seed for seed in shared if before[kind][seed] != after[kind][seed]), key=int)
        print(f"{kind}: {len(shared)} compared, {len(other)} differ {other[:20]}")


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        compare(*sys.argv[2:4])
    else:
        path, count = Path(sys.argv[1]), int(sys.argv[2])
        made = {kind: {str(seed): digest(kind, seed) for seed in range(count)} for kind in KINDS}
        path.write_text(json.dumps(made))
