"""Campaigns asked as a whole, by strangers' listeners: what is stated against what is true, and ways at equal work.

python -m benchmarks.campaigns target 100         wrong_time<=1: how often the truth is above the target
python -m benchmarks.campaigns scenes 10          every scene by every listener: stated over true, recall, answers
python -m benchmarks.campaigns ways 6             information, fixed, bisection and by hand, by work
python -m benchmarks.campaigns batches 10         rounds of 1, 5 and 20 queries at 60 answers
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from weakly.methods import Bisection, Fixed, Outcome, Recording, run, score
from weakly.methods.base import AnswerHistory
from weakly.methods.information import Information

_EMPTY = np.empty((0, 2))
SECONDS_PER_ANSWER = 3.0


def mixed_lengths(rng, n):
    """Half of .3 to 1 s, a fifth of 3 to 10 s, the others between."""
    kind = rng.choice(3, n, p=(0.5, 0.3, 0.2))
    return np.exp(rng.uniform(np.log([0.3, 1.0, 3.0])[kind], np.log([1.0, 3.0, 10.0])[kind]))


def timeline(rng, name, length, lengths, gap=0.3):
    """A recording with events of these lengths at random, at least a gap apart; as many as fit."""
    while (lengths + gap).sum() > 0.8 * length:
        lengths = lengths[:-1]
    free = length - (lengths + gap).sum()
    starts = np.sort(rng.uniform(0, free, len(lengths))) + np.concatenate(([0.0], np.cumsum(lengths + gap)[:-1]))
    return Recording(name, length, events=np.column_stack((starts, starts + lengths))[: len(lengths)])


def mixed(k, n=3, length=30.0):
    """A few recordings of half a minute with lengths that mix."""
    rng = np.random.default_rng([31, k])
    return [timeline(rng, f"m{i}", length, mixed_lengths(rng, rng.poisson(3))) for i in range(n)]


def long_event(k):
    """Two and a half minutes in five."""
    start = np.random.default_rng([32, k]).uniform(5, 145)
    return [Recording("long", 300.0, events=np.array([[start, start + 150.0]]))]


def empty(k):
    """A minute without an event."""
    return [Recording("empty", 60.0, events=_EMPTY)]


def few_hold_all(k, n=20):
    """Twenty half minutes, of which two hold all events."""
    rng = np.random.default_rng([33, k])
    full = set(rng.choice(n, 2, replace=False).tolist())
    return [timeline(rng, f"f{i}", 30.0, mixed_lengths(rng, 6 if i in full else 0)) for i in range(n)]


def busy_hour(k):
    """An hour with two hundred events."""
    rng = np.random.default_rng([34, k])
    return [timeline(rng, "hour", 3600.0, mixed_lengths(rng, 200))]


SCENES = {"mixed": (mixed, 180), "long": (long_event, 120), "empty": (empty, 60), "few": (few_hold_all, 200)}


class Listener:
    """Somebody who answers by the true events: a criterion (one, or one per event), slips that may grow, or seconds."""

    def __init__(self, rng, *, criterion=0.5, per_event=False, slips=0.0, tiring=0.0, seconds=None):
        self.rng, self.criterion, self.per_event = np.random.default_rng(rng), criterion, per_event
        self.slips, self.tiring, self.seconds, self.n = slips, tiring, seconds, 0

    def __call__(self, events, segments):
        heard = np.minimum(events[:, 1], segments[:, 1:]) - np.maximum(events[:, 0], segments[:, :1])
        length = events[:, 1] - events[:, 0]
        if self.seconds is not None:
            need = np.minimum(self.seconds, 0.999 * length)
        elif self.per_event:  # the same event is always as hard
            need = length * (0.1 + 0.8 * (np.sin(events[:, 0] * 997.0) * 0.5 + 0.5))
        else:
            need = length * self.criterion
        present = (heard >= need - 1e-9).any(axis=1) if len(events) else np.zeros(len(segments), dtype=bool)
        chance = np.minimum(0.3, self.slips + self.tiring * (self.n + np.arange(len(segments))))
        self.n += len(segments)
        return (present ^ (self.rng.random(len(segments)) < chance)).astype(float)


LISTENERS = {
    "half, never errs": {},
    "criterion by event, 5 % slips": {"per_event": True, "slips": 0.05},
    "tiring to 15 %": {"slips": 0.01, "tiring": 0.001},
    "hears .3 s": {"seconds": 0.3},
    "half, 3 % slips": {"slips": 0.03},
}


def asked_whole(recordings, listener, method, most):
    """The histories of a campaign in the order of its queue, until nothing is asked or so many answers are given."""
    known = {one.name: (one, AnswerHistory()) for one in recordings}
    n = 0
    while n < most:
        step = next(iter(method.among(dict(known)).queue(known, 1)), None)
        if step is None:
            break
        one, segments = step
        known[one.name] = (one, known[one.name][1].add(segments, listener(one.events, segments)))
        n += len(segments)
    return known


def measured(known, method):
    """Answers, seconds heard, true and stated wrong seconds of all, events found, and recordings that were asked."""
    method = method.among(known)
    outcomes = [Outcome(one, method.labels(one, asked), asked) for one, asked in known.values()]
    stated = [method.outlook(one, asked)["wrong_time"] for one, asked in known.values()]
    row = score(outcomes, presence_criterion=0.5)
    each = [score([outcome])["wrong_time"] for outcome in outcomes]
    return {"answers": row["n_queries"], "heard": row["listened"], "wrong": sum(each), "stated": sum(stated),
            "found": row["event_recall"], "touched": sum(len(asked) > 0 for _, asked in known.values()),
            "each": list(zip(each, stated))}  # fmt: skip


def campaign(scene, who, k, most=None, **how):
    """One campaign, measured."""
    make, usual = SCENES[scene]
    method = Information(signal=False, **how)
    known = asked_whole(make(k), Listener([35, k], **LISTENERS[who]), method, most or usual)
    return measured(known, method)


def _target(k):
    who = list(LISTENERS)[k % len(LISTENERS)]
    return who, campaign("mixed", who, k, most=600, wrong_time=1.0)


def target(n, pool):
    """How often the truth of a recording, and of a campaign on average, is above the target of one second."""
    rows = list(pool.map(_target, range(n)))
    for who in LISTENERS:
        mine = [row for name, row in rows if name == who]
        wrong = np.array([row["wrong"] / len(row["each"]) for row in mine])
        single = np.array([true for row in mine for true, _ in row["each"]])
        print(f"{who}: {len(mine)} campaigns, {np.mean([row['answers'] for row in mine]):.0f} answers, mean wrong "
              f"{wrong.mean():.2f} s, above 1 s: {(wrong > 1).mean():.0%} of campaigns, {(single > 1).mean():.0%} of "
              f"recordings; stated {np.mean([row['stated'] / len(row['each']) for row in mine]):.2f}")  # fmt: skip
    every = np.array([row["wrong"] / len(row["each"]) for _, row in rows])
    print(f"all: above the target {(every > 1).mean():.0%} of {n}")


def scenes(n, pool):
    """Stated over true by scene and listener."""
    for scene in SCENES:
        for who in LISTENERS:
            rows = list(pool.map(partial(campaign, scene, who), range(n)))
            true, stated = (np.mean([row[word] for row in rows]) for word in ("wrong", "stated"))
            pairs = np.array([pair for row in rows for pair in row["each"]])
            low = (pairs[:, 1] < 0.5 * pairs[:, 0]) & (pairs[:, 0] > 0.2)
            print(f"{scene}, {who}: answers {np.mean([row['answers'] for row in rows]):.0f}, heard "
                  f"{np.mean([row['heard'] for row in rows]):.0f} s, wrong {true:.2f} s, stated {stated:.2f}, found "
                  f"{np.nanmean([row['found'] for row in rows]) if scene != 'empty' else 1:.0%}, stated below half of "
                  f"true in {low.mean():.0%} of recordings, recordings asked "
                  f"{np.mean([row['touched'] for row in rows]):.1f}", flush=True)  # fmt: skip


def ways(n, pool):
    """Wrong seconds per recording at about the work of information, by way and listener."""
    for who in LISTENERS:
        lines = [row for rows in pool.map(partial(_ways, who), range(n)) for row in rows]
        for name in dict.fromkeys(name for name, *_ in lines):
            work, wrong, found = np.mean([row for each, *row in lines if each == name], axis=0)
            print(f"{who}: {name}: work {work:.0f} s per recording, wrong {wrong:.2f} s, found {found:.0%}", flush=True)


def _ways(who, k):
    recordings = mixed(k)
    n = len(recordings)
    rows = []
    for share in (40, 90, 180):
        row = campaign("mixed", who, k, most=share)
        work = (row["heard"] + SECONDS_PER_ANSWER * row["answers"]) / n
        rows.append((f"information, {share} answers", work, row["wrong"] / n, row["found"]))
    others = {f"fixed {w:g} s": Fixed(w) for w in (0.3, 0.5, 1.0, 2.0, 3.0)}
    others |= {f"halving to {w:g} s": Bisection(segment_length=w, start=1) for w in (0.3, 0.5, 1.0)}
    slips = {"guess_rate": 0.05, "lapse_rate": 0.05}
    others |= {f"halving to {w:g} s, told of slips": Bisection(segment_length=w, start=1, **slips) for w in (0.5, 1.0)}
    for name, method in others.items():
        listener = Listener([36, k], **LISTENERS[who])
        row = score([run(method, one, listener) for one in recordings], presence_criterion=0.5)
        work = (row["listened"] + SECONDS_PER_ANSWER * row["n_queries"]) / n
        rows.append((name, work, row["wrong_time"], row["event_recall"]))
    rng = np.random.default_rng([37, k])
    wrong = np.mean([2 * np.abs(rng.normal(0, 0.1, len(one.events))).sum() for one in recordings])
    rows.append(("by hand (15 s an event, marks off by .1 s)",
                 np.mean([one.length + 15 * len(one.events) for one in recordings]), wrong, 1.0))  # fmt: skip
    return rows


def batches(n, pool):
    """Wrong seconds after 60 answers about one recording, in rounds."""
    for size in (1, 5, 20):
        rows = list(pool.map(partial(_batch, size), range(n)))
        print(f"rounds of {size}: wrong {np.mean(rows):.2f} s (se {np.std(rows) / np.sqrt(n):.2f})", flush=True)


def _batch(size, k):
    one, method, asked = mixed(k, 1)[0], Information(signal=False, batch=size), AnswerHistory()
    listener = Listener([38, k], slips=0.03)
    while len(asked) < 60 and len(segments := method.next(one, asked)):
        asked = asked.add(segments, listener(one.events, segments))
    return score([Outcome(one, method.labels(one, asked), asked)])["wrong_time"]


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as processes:
        {"target": target, "scenes": scenes, "ways": ways, "batches": batches}[sys.argv[1]](int(sys.argv[2]), processes)
