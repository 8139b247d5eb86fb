"""Campaigns asked as a whole, by strangers' listeners: what is stated against what is true, and ways at equal work.

python -m benchmarks.campaigns OUT.jsonl ways:2 sounds:1 target:4 scenes:2 batches:6 classes:1 waits:1

Each part is run for so many campaigns (of every listener, where there are several), in this order; every campaign is a
line of the file at once, and one that is there is not run again, so that a run that was stopped goes on. Without parts
the tables of what the file holds are printed. Campaigns are numbered from 0; ``FIRST=100`` in the environment begins
elsewhere. ``DATA`` is the folder of the real recordings, ../shared/data.
"""

import json
import os
import resource
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.adaptive_study import real_recordings
from benchmarks.outcomes import score
from weakly.methods import Bisection, Fixed, Outcome, Recording, run
from weakly.methods.base import AnswerHistory
from weakly.methods.change_point import ChangePoint
from weakly.methods.information import Information, asked_together
from weakly.model.cost import Cost
from weakly.model.intervals import Features

_EMPTY = np.empty((0, 2))
PRICE = Cost()
AT = (0, 5, 10, 20, 30, 40, 50, 60, 80, 100)  # answers per recording at which ways are compared
WIDTHS = (0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)  # seconds of fixed segments; the first are those that halving ends at
CLASSES = 10
DATA = Path(os.environ.get("DATA", "../shared/data"))
SOUNDS_AT = (0, 5, 10, 20, 30, 40, 50, 60)
#: Real recordings: how many are a campaign, the widths of fixed segments, and the shortest segment of information.
SOUNDS = {"audio_spinetail": (1, WIDTHS, 0.1), "audio_finch": (3, (0.03, 0.05, 0.1, 0.2, 0.5), 0.05)}


def work(heard, answers, ticks=0):
    """Seconds of work by weakly's own prices."""
    return heard + PRICE.seconds_per_answer * answers + PRICE.seconds_per_tick * ticks


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


def mixed(k, n=2, length=30.0):
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


WORLDS = {"mixed lengths": (mixed, 120), "150 s in 5 minutes": (long_event, 90), "an empty minute": (empty, 60),
          "20 recordings, 2 hold all": (few_hold_all, 60), "200 events in an hour": (busy_hour, 100)}  # fmt: skip


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


def asked_whole(recordings, listener, method, most, seen=lambda n, known: None):
    """The histories of a campaign in the order of its queue, until nothing is asked or so many answers are given; what
    ``seen`` is told after each round."""
    known = {one.name: (one, AnswerHistory()) for one in recordings}
    n = 0
    seen(n, known)
    while n < most:
        step = next(iter(method.among(dict(known)).queue(known, 1)), None)
        if step is None:
            break
        one, segments = step
        known[one.name] = (one, known[one.name][1].add(segments, listener(one.events, segments)))
        n += len(segments)
        seen(n, known)
    return known


def measured(known, method):
    """Answers, seconds heard, true and stated wrong seconds of each recording, share of events found."""
    method = method.among(known)
    outcomes = [Outcome(one, method.labels(one, asked), asked) for one, asked in known.values()]
    states = [
        [method.state(one, asked, part) for part in method.stretches(one, asked)] for one, asked in known.values()
    ]
    row = score(outcomes, presence_criterion=0.5)
    return {"answers": row["n_queries"], "heard": row["listened"], "found": row["event_recall"],
            "wrong": [score([outcome])["wrong_time"] for outcome in outcomes],
            "stated": [sum(now["wrong_time"] for now in each) for each in states],
            "touched": sum(len(asked) > 0 for _, asked in known.values())}  # fmt: skip


def ways(who, k):
    """Information after so many answers, and every other way, in recordings of mixed lengths without sound."""
    return {"rows": beside(mixed(k), who, k, AT, WIDTHS, {"signal": False})}


def sounds(place, count, widths, shortest, who, k):
    """The same in real recordings: with their own sound, and at the end without it; at equal work."""
    recordings = real_recordings(place)[k * count :][:count]
    rows = beside(recordings, who, k, SOUNDS_AT, widths, {"shortest": shortest})
    without = beside(recordings, who, k, SOUNDS_AT, (), {"shortest": shortest, "signal": False})
    return {"rows": rows + [("information without the sound", *row[1:]) for row in without if row[0] == "information"]}


def beside(recordings, who, k, at, widths, how):
    """Rows of information after so many answers per recording and of every other way: work and wrong seconds per
    recording, events found."""
    method, n, rows = Information(**how), len(recordings), []

    def seen(answers, known):
        if answers in [n * number for number in at]:
            row = measured(known, method)
            rows.append(("information", work(row["heard"], row["answers"]) / n, np.mean(row["wrong"]), row["found"]))

    asked_whole(recordings, Listener([35, k], **LISTENERS[who]), method, n * at[-1], seen)
    slips = {"guess_rate": 0.05, "lapse_rate": 0.05}
    others = {f"fixed {w:g} s": Fixed(w) for w in widths}
    others |= {f"halving to {w:g} s": Bisection(segment_length=w, start=1) for w in widths[:3]}
    others |= {f"halving to {w:g} s, told of slips": Bisection(segment_length=w, start=1, **slips) for w in widths[1:3]}
    jumps = {"clean": 6.0, "in noise": 0.5} if recordings[0].features is None else {"their own sound": None}
    others |= {f"{count} change points, {kind}": (ChangePoint(n_queries=count), jump)
               for count in (7, 15) for kind, jump in jumps.items()}  # fmt: skip
    for name, other in others.items() if widths else ():
        other, jump = other if isinstance(other, tuple) else (other, None)
        listener = Listener([36, k], **LISTENERS[who])
        held = (
            recordings if jump is None else [with_features(one, jump, [39, k, i]) for i, one in enumerate(recordings)]
        )
        row = score([run(other, one, listener) for one in held], presence_criterion=0.5)
        rows.append((name, work(row["listened"], row["n_queries"]) / n, row["wrong_time"], row["event_recall"]))
    rows.append(("by hand", *drawn(recordings, LISTENERS[who].get("slips", 0.0), [37, k])))
    return rows


def with_features(one, jump, seed):
    """The recording with eight features that are noise, and louder by so many standard deviations in an event."""
    at, rng = np.arange(0, one.length, 0.05) + 0.025, np.random.default_rng(seed)
    active = ((at[:, None] > one.events[:, 0]) & (at[:, None] < one.events[:, 1])).any(axis=1)
    values = rng.normal(size=(len(at), 8)) + jump * active[:, None]
    return Recording(one.name, one.length, events=one.events, features=Features(at, values.astype(np.float32)))


def drawn(recordings, missed, seed):
    """Work and wrong seconds per recording by hand, and events found: edges off by a tenth of a second, some missed."""
    rng, rows = np.random.default_rng(seed), []
    for one in recordings:
        length = np.diff(one.events).ravel()
        seen = rng.random(len(length)) >= missed
        off = np.abs(rng.normal(size=(2, len(length)))).sum(axis=0) * np.minimum(0.1, 0.2 * length)
        rows.append((one.length + PRICE.seconds_per_event * seen.sum(), np.where(seen, off, length).sum(),
                     seen.sum(), len(seen)))  # fmt: skip
    rows = np.array(rows, dtype=float)
    return rows[:, 0].mean(), rows[:, 1].mean(), rows[:, 2].sum() / max(1.0, rows[:, 3].sum())


def target(who, k):
    """A campaign that may stop at one wrong second per recording."""
    method = Information(signal=False, wrong_time=1.0)
    known = asked_whole(mixed(1000 + k), Listener([40, k], **LISTENERS[who]), method, 600)
    return measured(known, method)


def scene(make, most, who, k):
    """A campaign of a named world."""
    method = Information(signal=False)
    return measured(asked_whole(make(k), Listener([41, k], **LISTENERS[who]), method, most), method)


def batches(size, k):
    """Wrong seconds after 60 answers about one recording, in rounds of so many."""
    one, method, asked = mixed(2000 + k, 1)[0], Information(signal=False, batch=int(size)), AnswerHistory()
    listener = Listener([38, k], slips=0.03)
    while len(asked) < 60 and len(segments := method.next(one, asked)):
        asked = asked.add(segments, listener(one.events, segments))
    return {"wrong": score([Outcome(one, method.labels(one, asked), asked)])["wrong_time"], "answers": len(asked)}


def classes(count, k):
    """Work and wrong seconds per class of classes that are ticked together, over answers."""
    sounding = [mixed(3000 + 100 * k + c, 1)[0] for c in range(int(count))]
    listener, method = Listener([42, k], slips=0.03), Information(signal=False)
    each = {c: {"a": (Recording("a", 30.0, events=one.events), AnswerHistory())} for c, one in enumerate(sounding)}
    rows, heard, ticks = [], 0.0, 0
    for n in range(1, 91):
        how = {c: method.among(campaign) for c, campaign in each.items()}
        places = asked_together(how, each, 1)
        if not places:
            break
        segment = np.array([places[0][1:]])
        heard += float(segment[0, 1] - segment[0, 0])
        for c, campaign in each.items():
            one, asked = campaign["a"]
            answer = listener(one.events, segment)
            ticks += int(answer.sum()) if len(each) > 1 else 0
            each[c] = {"a": (one, asked.add(segment, answer))}
        if n % 10 == 0:
            wrong = [sum(measured(campaign, method)["wrong"]) for campaign in each.values()]
            rows.append((n, work(heard, n, ticks), float(np.mean(wrong))))
    return {"rows": rows}


def waits(world, k):
    """CPU seconds of opening a campaign and of each next query, and the most memory that was used."""
    if world == "1,000 recordings":
        each = [np.random.default_rng([43, i]) for i in range(1000)]
        recordings = [timeline(rng, f"w{i}", 30.0, mixed_lengths(rng, i % 3)) for i, rng in enumerate(each)]
    else:
        recordings = busy_hour(k)
    Information(signal=False).next(Recording("first", 5.0), AnswerHistory(np.array([[0.0, 2.0]]), np.ones(1)))
    clock = [time.process_time()]
    asked_whole(recordings, Listener([44, k], slips=0.03), Information(signal=False), 100,
                lambda n, known: clock.append(time.process_time()))  # fmt: skip
    spent = np.diff(clock)[1:]  # the first is nothing yet
    return {"open": float(spent[0]), "p95": float(np.quantile(spent[1:], 0.95)), "most": float(spent[1:].max()),
            "n": len(spent), "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}  # fmt: skip


def parts():
    """Every study by name: a list of its variants and the function that makes one campaign of a variant."""
    from functools import partial

    yield "ways", {who: partial(ways, who) for who in LISTENERS}
    yield "sounds", {f"{name}, {who}": partial(sounds, DATA / name, *how, who) for name, how in SOUNDS.items()
                     for who in LISTENERS}  # fmt: skip
    yield "target", {who: partial(target, who) for who in LISTENERS}
    worlds = {f"{name}, {who}": partial(scene, make, most, who) for name, (make, most) in WORLDS.items()
              for who in ("half, never errs", "half, 3 % slips")}  # fmt: skip
    yield "scenes", worlds
    yield "batches", {str(size): partial(batches, size) for size in (1, 5, 20)}
    yield "classes", {str(count): partial(classes, count) for count in (1, CLASSES)}
    yield "waits", {world: partial(waits, world) for world in ("an hour", "1,000 recordings")}


def mean(values):
    """A mean with its standard error, as text."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.2f} ± {error:.2f}"


def at_work(rows, seconds):
    """The wrong seconds of information at this work, linear between its rows; those of the last one beyond it."""
    known = [(x, wrong) for name, x, wrong, _ in rows if name == "information"]
    return float(np.interp(seconds, *zip(*known)))


def table_of_ways(campaigns):
    """Each way beside information at the same work of the same campaign: mean difference with its standard error."""
    yield "| listener | way | work | wrong s | found | information at that work | difference |"
    yield "|---" * 7 + "|"
    for who, rows in campaigns.items():
        names = dict.fromkeys(name for one in rows for name, *_ in one["rows"] if name != "information")
        beside = {name: [(row, at_work(one["rows"], row[1])) for one in rows for row in one["rows"] if row[0] == name]
                  for name in names}  # fmt: skip
        fixed = [name for name in names if name.startswith("fixed")]
        best = min(fixed, key=lambda name: np.mean([row[2] - other for row, other in beside[name]]))
        for name in names:
            mine = beside[name]
            x, wrong, found = np.nanmean([row[1:] for row, _ in mine], axis=0)
            ours = [other for _, other in mine]
            apart = mean([row[2] - other for row, other in mine])
            shown = f"{name} (its best)" if name == best else name
            yield f"| {who} | {shown} | {x:.0f} | {wrong:.2f} | {found:.0%} | {np.mean(ours):.2f} | {apart} |"
        last = [[row for row in one["rows"] if row[0] == "information"][-1] for one in rows]
        x, wrong, found = np.nanmean([row[1:] for row in last], axis=0)
        yield f"| {who} | information, at the end ({len(rows)} campaigns) | {x:.0f} | {wrong:.2f} | {found:.0%} | | |"


def table_of_campaigns(campaigns):
    """What is stated against what is true, and what was spent."""
    heads = "world or listener", "campaigns", "answers", "work", "wrong s", "found", "stated / true", "below half"
    yield f"| {' | '.join((*heads, 'over 1 s'))} |"
    yield "|---" * 9 + "|"
    for name, rows in campaigns.items():
        true, said = (np.concatenate([one[what] for one in rows]) for what in ("wrong", "stated"))
        low = (said < 0.5 * true) & (true > 0.2)
        each = [np.mean(one["wrong"]) for one in rows]
        spent = [work(one["heard"], one["answers"]) for one in rows]
        found = [one["found"] for one in rows if one["found"] is not None and np.isfinite(one["found"])]
        over = f"{np.sum(np.array(each) > 1)} of {len(each)}"
        yield (f"| {name} | {len(rows)} | {np.mean([one['answers'] for one in rows]):.0f} | {np.mean(spent):.0f} | "
               f"{mean(each)} | {np.mean(found) if found else 1:.0%} | {said.sum() / max(true.sum(), 1e-9):.2f} | "
               f"{low.sum()} of {len(low)} | {over} |")  # fmt: skip


def tables(held):
    """All tables as lines of Markdown."""
    yield from (*table_of_ways(held["ways"]), "", *table_of_ways(held["sounds"]))
    for study in ("target", "scenes"):
        yield from ("", *table_of_campaigns(held[study]))
    yield ""
    for size, rows in held["batches"].items():
        yield f"rounds of {size}: wrong {mean([one['wrong'] for one in rows])} s ({len(rows)} recordings)"
    for count, rows in held["classes"].items():
        for k in range(min(map(len, (one["rows"] for one in rows)), default=0)):
            n, spent, wrong = np.mean([one["rows"][k] for one in rows], axis=0)
            yield f"{count} classes: {n:.0f} answers, work {spent:.0f} s, wrong {wrong:.2f} s per class ({len(rows)})"
    for world, rows in held["waits"].items():
        yield f"{world}: {rows[0]}"


def main(place, *chosen):
    """Run what is missing; without parts, print the tables."""
    place, held = Path(place), defaultdict(lambda: defaultdict(list))
    done = [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []
    counts, first = {name: int(n) for name, n in (each.split(":") for each in chosen)}, int(os.environ.get("FIRST", 0))
    studies, there = dict(parts()), {(one["study"], one["variant"], one["k"]) for one in done}
    for study, count in counts.items():
        for k in range(first, first + count):
            for variant, campaign in studies[study].items():
                if (study, variant, k) not in there:
                    begin = time.process_time()
                    row = campaign(k) | {"study": study, "variant": variant, "k": k}
                    row["cpu"] = round(time.process_time() - begin, 1)
                    with place.open("a") as file:
                        file.write(json.dumps(row) + "\n")
    if not counts:
        for one in done:
            held[one["study"]][one["variant"]].append(one)
        print(*tables(held), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
