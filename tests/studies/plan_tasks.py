"""Random planning tasks, extremes included, and what must hold of the plan of every one of them."""

import math
import re
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import weakly as wk
from weakly.base.results import Condition, hours, percent, seconds
from weakly.engine.tally import of_labels
from weakly.methods import Screening
from weakly.methods import tally as tally_of
from weakly.methods.base import Recording, SimulatedAnnotator, run, size
from weakly.model.intervals import EventArrays
from weakly.studies.plan.decision import SENSES, PilotVariation

#: What the answer says of the recommended way: wrong time, events found, accuracy near events, queries, listening.
NUMBERS = (
    r": (\d\S*(?: s| hours?)) of wrong time.*?, (all|\S+ % of) events found, (\S+ %) accuracy near events; "
    r"(\S+) clips? to play, (.*?) to review"
)
SHARES = ("overlap_accuracy", "event_recall", "precision", "recall", "recording_accuracy")


ASKING = "fixed,windows,bisection,passes,oracle"


def asking(given, **kw):
    """A plan of the ways to ask, in the paper's units."""
    return wk.plan(given, **{"methods": ASKING, "cost": wk.Cost(query_cost_share=0.5), **kw})


def pilot(rng, n_classes=1):
    """Recordings of one or of several lengths with events of one to many classes; some are silent, classes are rare."""
    n = int(rng.integers(3, 25))
    length = np.full(n, float(rng.uniform(5, 120))) if rng.random() < 0.6 else rng.uniform(5, 200, n)
    centre, spread = np.exp(rng.uniform(-2, 2)), rng.uniform(0.1, 1.5)
    rows = []
    for c in range(n_classes):
        rate = rng.uniform(0.2, 6) if c % 3 == 0 else rng.uniform(0.02, 0.3)
        for k in range(n):
            for onset in rng.uniform(0, length[k], rng.poisson(rate)):
                end = min(onset + rng.lognormal(np.log(centre), spread), length[k])
                if end > onset + 1e-3:
                    rows.append((f"r{k}", onset, end, f"class {c}"))
    if not rows:
        rows = [("r0", 1.0, 2.0, "class 0")]
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    return wk.Events.from_frame(frame, recording_length={f"r{k}": float(length[k]) for k in range(n)})


def task(seed):
    """Event lengths or a pilot, and the arguments of a plan."""
    rng = np.random.default_rng(seed)
    kw = {}
    kind = rng.choice(["fixed", "sample", "law", "pilot", "classes"], p=[0.25, 0.2, 0.15, 0.25, 0.15])
    if kind in ("pilot", "classes"):
        given = pilot(rng, 1 if kind == "pilot" else int(rng.choice([2, 3, 8, 30, 110], p=[0.3, 0.3, 0.2, 0.1, 0.1])))
    else:
        d = float(np.exp(rng.uniform(-3, 3)))
        if kind == "fixed":
            given, longest = d, d
        elif kind == "sample":
            given = d * np.exp(rng.uniform(0, np.log(100), int(rng.integers(2, 8))))
            longest = float(np.max(given))
        else:
            given, longest = f"lognorm:s={rng.uniform(0.1, 1.2):.3f},scale={d:.5f}", 3 * d
        kw["recording_length"] = longest * float(np.exp(rng.uniform(0.02, 6)))
        if rng.random() < 0.05:  # some events, or all, are longer than the recording
            kw["recording_length"] = longest * float(rng.uniform(0.3, 0.99))
        if rng.random() < 0.5:
            kw["n_events"] = float(rng.choice([0.3, 1, 1, 2, 5, 20]))
        elif rng.random() < 0.3:
            kw["event_rate"] = float(rng.uniform(0.2, 5)) / kw["recording_length"]
        if rng.random() < 0.2:
            kw["total_hours"] = float(np.exp(rng.uniform(0, 4)))
    gamma = float(np.exp(rng.uniform(np.log(0.001), 0))) if rng.random() < 0.4 else float(rng.uniform(0.1, 1))
    who = rng.choice(["gamma", "several", "noise", "law", "rule", "unknown"], p=[0.4, 0.1, 0.25, 0.05, 0.1, 0.1])
    if who == "gamma":
        kw["presence_criterion"] = gamma
    elif who == "several":
        kw["presence_criterion"] = [0.2, 0.6]
    elif who == "noise":
        guess, lapse = float(rng.choice([0, 0.02, 0.1])), float(rng.choice([0, 0.05, 0.3]))
        kw["annotator"] = wk.Annotator(presence_criterion=gamma, guess_rate=guess, lapse_rate=lapse)
    elif who == "law":
        kw["presence_criterion"] = stats.beta(2, 3)
    elif who == "rule":
        kw["rule"] = str(rng.choice(["seconds:0.3", "coverage:0.5", "any", "birdnet"]))
    aim = rng.random()
    if aim < 0.2:
        kw["budget"] = float(np.exp(rng.uniform(-2, 9)))
    elif aim < 0.4:
        kw["target"] = str(
            rng.choice([
                "wrong_time<=0.5", "overlap_accuracy>=0.7", "event_recall>=0.95", "recall>=0.8,precision>=0.6",
                "overlap_accuracy>=0.999", "wrong_time<=0.0001",
            ])
        )  # fmt: skip
    if rng.random() < 0.15:
        kw["objective"] = "overlap"
    return given, kw


def sound(made, kw):
    """What must hold of every plan, whatever was asked."""
    row, rows = made.recommended, made.rows
    for each in (*rows, *made.pool):
        for word in SHARES:
            value = getattr(each, word)
            assert math.isnan(value) or -1e-9 <= value <= 1 + 1e-9, (each.name, word, value)
        assert each.wrong_time >= -1e-9
        assert each.n_queries >= 0
    pool = [each for each in made.pool if each.attainable]
    if "budget" in kw and made.reachable:
        pool = [each for each in pool if each.cost <= kw["budget"] * (1 + 1e-9)]
        assert row.cost <= kw["budget"] * (1 + 1e-9)
    wanted = Condition.targets(kw.get("target"), SENSES)
    if made.reachable:
        for each in wanted:
            assert each.met(row), (each.text, row)
        pool = [each for each in pool if all(one.met(each) for one in wanted)]
    if made.objective == "wrong_time" and made.reachable:
        better = [each.name for each in pool if each.method != "nothing" and each.is_practical and each.dominates(row)]
        assert not better, (row.name, better)
    free = [each.name for each in made.pool if each.design.is_trivial and each.dominates(row)]
    if row.asks and free:  # what costs nothing and is as good is said before anything is recommended
        assert re.search(r"no better than none", made.details.split(row.design.words().instruction)[0]), made.details
    if made.uncertainty:
        promises(made, wanted)
    if made.settings["pilot"] is None:
        first = made.details.split(". ")[0]
        longer = 1 - float(made.task.lengths.partial_moments(kw["recording_length"] * (1 + 1e-9))[0])
        assert (longer >= 0.0005) == ("longer than a recording of" in first), (longer, first)
    assert not false_sentences(made, kw), made.details
    if row in rows:
        assert rows[rows.index(row)] == row
    assert row in (*rows, *made.pool)
    if row.segment_length is not None:
        low, high = made.equal_range
        assert low <= row.segment_length <= high
    says(made)


def promises(made, wanted):
    """Every band has a width, that of wrong time holds what the pilot shows, and "settle" is said of nothing else."""
    sure, row = made.uncertainty, made.recommended
    bands = {word: sure[f"{word}_ci"] for word in (*SHARES, "wrong_time") if f"{word}_ci" in sure}
    assert all(low < high for low, high in bands.values()), bands
    # The band is of the way that is recommended; a choice by anything else may suit just this pilot's grid.
    if "wrong_time" in bands and made.objective == "wrong_time" and not wanted:
        low, high = bands["wrong_time"]
        assert low - 1e-9 <= row.wrong_time <= high + 1e-9, (row.name, low, high)
    assert sure["settled"] == bool(re.search(r"pilot events settle the choice\.", made.details))
    if sure["settled"]:
        assert sure.get("n_recordings", sure["n_events"]) >= 10
        limits = wanted
        if made.objective == "wrong_time" and "event_recall" not in [each.word for each in wanted]:
            limits = (*wanted, *Condition.targets("event_recall>=0.9", SENSES))
        for each in limits:
            low, high = bands[each.word]
            assert not low < each.value - 1e-9 < each.value + 1e-9 < high, (each, low, high)


def says(made):
    """The answer's numbers are those of the recommended row, as the table shows them; no length is called 0 s."""
    row = made.recommended
    assert not re.search(r"(?<![\d.])0 s (segments|windows)", made.details), made.details
    assert row in made.rows or not row.asks
    for own in [each[1] for each in row.passes[:3]] or [row.design]:
        if getattr(own, "segment_length", None) is not None and len(row.passes) < 4:
            assert size(own.segment_length) in made.details, made.details
    if row.asks:
        wrong, found, near, queries, heard = re.search(NUMBERS, made.details).groups()
        assert wrong == seconds(row.wrong_time)
        assert found == ("all" if row.event_recall >= 1 - 1e-9 else f"{percent(row.event_recall)} of")
        assert (near, queries) == (percent(row.overlap_accuracy), f"{row.n_queries:,.0f}")
        assert heard == hours(row.listened)


def words_of(given, kw, row, rng, n=1500):
    """The recommended row again: by evaluate or simulate, or by running halving with the actual annotator.

    Back come (word -> (value, error)); an error of 0 says that it must agree exactly.
    """
    asked = {name: kw[name] for name in ("presence_criterion", "annotator") if name in kw}
    if "rule" in kw:
        asked = {"rule": wk.PresenceRule.parse(kw["rule"])}
    if not asked:
        if row.method != "fixed":  # slips are assumed then, and no evaluation has them beside a rule
            return {}
        asked = {"rule": "seconds:1|fraction:0.5"}
    if hasattr(asked.get("presence_criterion"), "cdf"):
        asked = {"annotator": wk.Annotator(presence_criterion=asked["presence_criterion"])}
    if row.method == "passes":
        return by_class(given, asked, row)
    if row.method == "bisection":
        return asked_live(given, kw, row, asked, rng)
    how = {"segment_length": row.segment_length, "phase": 0.0, **asked}
    if row.method == "windows":
        how |= {"hop": row.hop, "votes": row.votes}
    if isinstance(given, wk.Events):
        found = wk.evaluate(given, **how)
        found = found.overall if len(given.labels) > 1 else found
        exact = True
    else:
        if not isinstance(given, str):  # a longer event fills the recording
            given = np.minimum(given, kw["recording_length"])
        lengths = wk.Lengths.parse(given) if isinstance(given, str) else wk.Lengths.of(given)
        count, placement = kw.get("n_events", 1), "uniform"
        if "event_rate" in kw:
            count, placement = kw["event_rate"] * kw["recording_length"], "poisson"
        elif count < 1:
            count = stats.bernoulli(count)
        found = wk.simulate(
            lengths, n_events=count, recording_length=kw["recording_length"], n_recordings=n, placement=placement,
            rng=rng, **how,
        )  # fmt: skip
        exact = False
    made = {}
    for word in ("wrong_time", "event_recall", "n_queries"):
        value = np.mean(np.atleast_1d(getattr(found, word)))
        error = 0.0
        if not exact and word != "n_queries":  # where nothing was lost in so many draws, little may be
            error = float(np.mean(np.atleast_1d(getattr(found, f"{word}_se")))) + (word == "event_recall") / n
        made[word] = (float(value) * (1.0 if exact else 1 / n) if word == "n_queries" else float(value), error)
    return made


def by_class(given, asked, row):
    """Several passes of fixed segments: every class by evaluate."""
    wrong, found, events, queries = 0.0, 0.0, 0.0, 0.0
    for labels, own in row.passes:
        for label in labels:
            done = wk.evaluate(given, segment_length=own.segment_length, label=label, phase=0.0, **asked)
            wrong += float(np.mean(np.atleast_1d(done.wrong_time)))
            found += float(np.mean(np.atleast_1d(done.event_recall) * np.atleast_1d(done.n_events)))
            events += float(np.mean(np.atleast_1d(done.n_events)))
        queries += float(np.mean(np.atleast_1d(done.n_queries)))  # the classes of a pass are ticked at once
    return {"wrong_time": (wrong, 0.0), "event_recall": (found / events, 0.0), "n_queries": (queries, 0.0)}


def live(design, events, total, who, rule, rng):
    """One recording asked by the method's own code: wrong seconds, queries, events found."""
    done = run(design, Recording("a", total, events=events), SimulatedAnnotator(who, rule=rule, rng=rng))
    if rule is None:
        gamma = who.presence_criterion if isinstance(who, wk.Annotator) else who
        rule = wk.PresenceRule.fraction(gamma) if isinstance(gamma, float) else None
    tally = of_labels(EventArrays.of([events], total), [done.labels.segments], [done.labels.present], rule=rule)
    found = math.nan if rule is None else float(tally.n_found.item())
    return float(tally.wrong_seconds.item()), float(done.n_queries), found


def asked_live(given, kw, row, asked, rng, n=150):
    """Halving as it is done: the method's own code, asked of simulated annotators."""
    people = np.atleast_1d(asked.get("annotator", asked.get("presence_criterion", 0.5))).tolist()
    noisy = isinstance(people[0], wk.Annotator) and (people[0].is_noisy or hasattr(people[0].presence_criterion, "cdf"))
    known = isinstance(given, wk.Events)
    if known:
        units = [(row.design.of_class(label), *each) for label, lines in given.by_label().items() for each in lines]
        repeats, count = (8 if noisy else 1), len(given.recordings)
        if len(units) * repeats * len(people) > 4_000:
            return {}
    else:
        lengths = wk.Lengths.parse(given) if isinstance(given, str) else wk.Lengths.of(given)
        total, units, repeats = kw["recording_length"], [], 1
        count = n
        for _ in range(count):
            some = int(kw.get("n_events", 1)) if kw.get("n_events", 1) >= 1 else rng.random() < kw["n_events"]
            if "event_rate" in kw:
                some = rng.poisson(kw["event_rate"] * total)
            d = np.minimum(lengths.draw(int(some), rng), total)
            onset = rng.random(int(some)) * (total - d)
            line = EventArrays.of([np.column_stack((onset, onset + d))], total) if some else None
            units.append((row.design, line.bounds if line else np.empty((0, 2)), total))
    seen = np.array([  # (people, units, repeats, words)
        [[live(*unit, who, asked.get("rule"), rng) for _ in range(repeats)] for unit in units] for who in people
    ])  # fmt: skip
    events = np.array([len(unit[1]) for unit in units], dtype=float)
    wrong, queries, found = seen.mean(axis=2).sum(axis=1).mean(axis=0)
    if known:  # only the answers vary
        error = (
            np.sqrt(seen.var(axis=2, ddof=1).sum(axis=1).sum(axis=0) / repeats) / len(people) if noisy else [0.0] * 3
        )
    else:
        error = seen.mean(axis=(0, 2)).std(axis=0) * np.sqrt(count)
        error[2] = (seen[..., 2].mean(axis=(0, 2)) - found / max(events.sum(), 1) * events).std() * np.sqrt(count)
    made = {"wrong_time": (wrong / count, error[0] / count)}
    made["n_queries"] = (queries, error[1]) if known else (queries / count, error[1] / count)
    if found == found and events.sum():  # where none was lost in so many runs, one may be
        one = 1 / repeats if noisy or not known else 0
        made["event_recall"] = (found / events.sum(), (error[2] + one) / events.sum())
    return made


def agrees(made, given, kw, rng):
    """The recommended row, done again by another door, gives the same: exactly, or within 4 standard errors."""
    row = made.recommended
    if not row.asks:
        return
    scale = 1.0 if isinstance(given, wk.Events) else made.task.n_recordings
    for word, (value, error) in words_of(given, kw, row, rng).items():
        mine = getattr(row, word) / (scale if word == "n_queries" else 1.0)
        spread = math.hypot(error, row.wrong_time_se if word == "wrong_time" else 0.0)
        if word == "event_recall" and row.wrong_time_se:
            spread = math.hypot(spread, 0.005)
        if error and word == "wrong_time":  # events that are lost are rare and long: few draws hold one
            lost = max(0.0, 1 - row.event_recall) * row.event_recall / 1500
            spread = math.hypot(spread, math.sqrt(lost) * float(made.task.lengths.quantile(0.999)))
        limit = 4 * spread + 1e-9 * max(1.0, abs(value)) + (2e-3 * abs(value) if error else 0.0)
        assert abs(mine - value) <= limit, (word, mine, value, error, row)


def check(seed, spent=None):
    """The plan of one random task, with all that must hold; None where the work itself is refused, and has to be."""
    given, kw = task(seed)
    start = time.process_time()
    if not isinstance(given, wk.Events):
        lengths = wk.Lengths.parse(given) if isinstance(given, str) else wk.Lengths.of(given)
        if lengths.mean > kw["recording_length"]:
            with pytest.raises(wk.InvalidInput, match="longer than an event"):
                asking(given, **kw)
            return None
    made = asking(given, **kw)
    if spent is not None:
        spent["cpu"] = time.process_time() - start
    sound(made, kw)
    agrees(made, given, kw, np.random.default_rng(seed))
    if seed % 10 == 1:
        assert asking(given, **kw).recommended.to_dict() == made.recommended.to_dict()
    return made


def aimed(seed):
    """A task of :func:`task` with another aim: targets and budgets of its own size, prices, methods."""
    given, kw = task(seed)
    rng = np.random.default_rng([seed, 1])
    kw = {name: value for name, value in kw.items() if name not in ("budget", "target")}
    if isinstance(given, wk.Events):
        given = pilot(rng, int(rng.choice([1, 1, 2, 3])))
        event_time = given.to_frame().eval("offset - onset").sum() / len(given.recordings)
        total = float(given.recordings["length"].sum())
    else:
        law = wk.Lengths.parse(given) if isinstance(given, str) else wk.Lengths.of(given)
        count = kw.get("n_events", kw.get("event_rate", 0.0) * kw["recording_length"] or 1.0)
        event_time, total = law.mean * count, 3600 * kw.get("total_hours", kw["recording_length"] / 3600)
    words = {
        "wrong_time": event_time * np.exp(rng.uniform(-3, 0.7)), "event_recall": rng.choice([0.5, 0.8, 0.9, 0.95, 1.0]),
        "overlap_accuracy": rng.uniform(0.4, 0.95), "recall": rng.uniform(0.3, 0.95),
        "precision": rng.uniform(0.2, 0.9), "recording_accuracy": 1 - np.exp(rng.uniform(-6, -1)),
    }  # fmt: skip
    if rng.random() < 0.45:
        chosen = rng.choice(list(words), int(rng.choice([1, 1, 1, 2])), replace=False)
        kw["target"] = {str(word): round(float(words[word]), 4) for word in chosen}
    if rng.random() < 0.25:
        kw["cost"] = wk.Cost(**[{"query_cost_share": 0.0}, {"query_cost_share": 1.0}, {"query_cost_share": 0.9},
                                {"per_second": 0.01, "per_query": 0.05}][int(rng.integers(4))])  # fmt: skip
    if rng.random() < 0.3:
        price = kw.get("cost", wk.Cost(query_cost_share=0.5))
        kw["budget"] = float(price.of(listened=total, n_queries=total / event_time) * np.exp(rng.uniform(-1, 1.5)))
    if rng.random() < 0.3:
        kw["methods"] = str(rng.choice(["fixed", "fixed,bisection", "windows", "bisection", "fixed,windows,oracle"]))
    return given, kw


def _length(text):
    """Seconds from a length as people say it."""
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "")) * (3600 if unit.startswith("hour") else 1)


def false_sentences(made, kw):
    """The sentences of the answer that the rows of the plan contradict; none, in a plan that is true."""
    row, said, found = made.recommended, made.details, []
    unique = {each.design: each for each in (*made.rows, *made.pool)}
    asked = [each for each in unique.values() if each.asks]
    unasked = {each.method: each for each in unique.values() if each.method in ("nothing", "everything")}
    budget, wanted = kw.get("budget", math.inf), Condition.targets(kw.get("target"), SENSES)
    paid = [each for each in asked if each.cost <= budget * (1 + 1e-9)]
    meeting = [each for each in paid if all(one.met(each) for one in wanted)]
    least = min(each.wrong_time for each in unasked.values()) * (1 - 1e-9)

    def false(name, is_false):
        found.extend([name] if is_false else [])

    def less(a, b):
        return a < b * (1 - 1e-6) - 1e-12

    def as_good(wrong):
        """Up to how much wrong time is practically as good."""
        return wrong + max(0.05 * wrong, 0.02 * unasked["nothing"].wrong_time)

    def short(each):
        return max(max(one.shortfall(each), 0.0) / max(abs(one.value), 1e-9) for one in wanted)

    # Targets: the cheapest of those that meet them, practical and better than asking nobody where there are such.
    if wanted and made.reachable:
        worth = [each for each in meeting if each.wrong_time < least]
        enough = [each for each in unasked.values() if all(one.met(each) for one in wanted)]
        worth = worth or [
            each for each in meeting if any(each.wrong_time < one.wrong_time * (1 - 1e-9) for one in enough)
        ]
        false("paid for in vain", row.asks and not worth)
        good = [each for each in worth if each.is_practical] or worth
        false("cheapest", row.asks and any(less(each.cost, row.cost) for each in good))
        if row.asks:
            words = re.search(r"cheapest way compared that meets .*?(?:\. |$)", said)[0]
            of = [each for each in worth if "asking nobody" not in words or each.wrong_time < least]
            of = [each for each in of if "at most 5 times" not in words or each.is_practical]
            false("cheapest of those", row not in of or any(less(each.cost, row.cost) for each in of))
    if wanted and not made.reachable and paid and not row.asks:
        false("reachable", not meeting or any(each.wrong_time < least for each in meeting))
    if wanted and not made.reachable and paid and row.asks:
        false("reachable", bool(meeting))
        false("nearest", any(short(each) < short(row) - 1e-9 for each in paid))
        values = re.findall(r" (\S+) (s|hours?|%)(?=,|\.)", re.search(r"The nearest has(.*?\.) [A-Z]", said)[1])
        values = [float(value) * {"s": 1, "%": 0.01}.get(unit, 3600) for value, unit in values]
        misses = [replace(row, **{one.word: value}) for one, value in zip(wanted, values, strict=True)]
        false("the nearest meets it", all(one.met(each) for one, each in zip(wanted, misses)))
    if not paid:
        false("cannot be paid", made.reachable and row.asks)
    false("in part", (row.cost > budget * (1 + 1e-9)) != ("The budget of" in said and row.asks))
    if part := re.search(r"pays for (\S+ %) of this", said):
        false("share paid", part[1] != percent(budget / row.cost))
    if made.objective == "wrong_time" and not wanted:  # the best within the budget, in part or as a whole
        nobody = min(each.wrong_time for each in unasked.values())
        left = nobody - min(1.0, budget / max(row.cost, 1e-300)) * (nobody - row.wrong_time)
        false("less than asking nobody", left > nobody * (1 + 1e-9))
    if most := re.search(r"(?:costs? at most|within|budget of) ([\d.,]+) (?:cost units|EUR)", said):
        rounded = float(most[1].rstrip(".").replace(",", ""))
        false("budget, rounded", any(budget * (1 + 1e-9) < each.cost <= rounded * (1 - 1e-9) for each in asked))
    # What is said of other lengths.
    if equal := re.search(r"(\w+) from (\S+(?: hours?)?) to (\S+ (?:s|hours?)) are practically equal", said):
        low, high = _length(equal[2]), _length(equal[3])
        false("range of one length", equal[2] == equal[3].removesuffix(" s") or not low < high)
        low, high = made.equal_range
        false("range printed", not (math.isclose(_length(equal[2]), low, rel_tol=0.06)
                                    and math.isclose(_length(equal[3]), high, rel_tol=0.06)))  # fmt: skip
        same = [each for each in asked if each.method == row.method and low <= each.segment_length <= high
                and each.design.is_like(row.design)]  # fmt: skip
        times = [each.wrong_time for each in same]
        false("practically equal", max(times) > as_good(min(times)) * (1 + 1e-9) + 1e-9)
        false("equal, events lost", row.event_recall >= 0.9 > min(each.event_recall for each in same) + 1e-9)
        false("equal, votes", len({each.votes for each in same}) > 1)
        if "needs the fewest clips" in said:
            false("fewest", any(less(each.n_queries, row.n_queries) for each in same))
        if "needs the least cost" in said:
            false("least cost", any(less(each.cost, row.cost) for each in same))
    if "fewest clips" in said or "least cost" in said:  # a row of the table that is better, and asks for less
        beside = [each for each in made.rows if each.asks and each.method == row.method and each.is_practical]
        beside = [each for each in beside if each in meeting and each.event_recall >= row.event_recall - 1e-9]
        false("fewest in the table", any(
            less(each.n_queries, row.n_queries) and each.wrong_time <= row.wrong_time for each in beside
        ))  # fmt: skip
    # Better than nothing, or it is said.
    worse = row.asks and row.wrong_time >= unasked["nothing"].wrong_time * (1 - 1e-9)
    false("worse than nothing, not said", worse and "no better than none" not in said)
    false("worse than nothing, paid for", worse and made.reachable and made.objective == "wrong_time" and not wanted)
    false("no better than none", "no better than none" in said and row.wrong_time < least)
    if "Asking does not pay" in said:
        scope = paid if "no way to ask has" in said else [
            each for each in paid if each.event_recall >= 0.9 - 1e-9 and each.is_practical
        ]  # fmt: skip
        scope = meeting if " meets " in said else scope
        false("does not pay", any(each.wrong_time < row.wrong_time * (1 - 1e-9) for each in scope))
    for each in made.by_criterion:
        vain = each["wrong_time"] >= unasked["nothing"].wrong_time * (1 - 1e-9)
        told = re.search(re.escape(f"{each['name']}, {seconds(each['wrong_time'])} wrong") + r"[^.;]*nothing", said)
        false("other criterion, worse than nothing", vain != bool(told))
    # The choice among those that can be done.
    is_practical = [each for each in meeting if each.is_practical]
    if made.reachable and made.objective == "wrong_time" and row.asks:
        false("dominated", any(each.dominates(row) for each in is_practical))
    if made.reachable and made.objective == "wrong_time" and not wanted:
        finding = [each for each in is_practical if each.event_recall >= 0.9 - 1e-9]
        best = min((each.wrong_time for each in finding), default=math.inf)
        unsure = made.uncertainty and not made.uncertainty["settled"]  # then the pilot cannot tell them apart
        false("a better one refused", not unsure and row.wrong_time > as_good(best) + 1e-9)
    if no_way := re.search(r"No way (.*?)finds 90 % of events", said):
        scope = paid if "budget" in kw and "costs at most" in no_way[1] else asked
        false("no way finds 90 %", any(each.event_recall >= 0.9 - 1e-9 and each.wrong_time < least for each in scope))
    # What a pilot settles.
    if "settle the choice." in said:
        low, high = made.uncertainty.get("event_recall_ci", (1.0, 1.0))
        false("settled, finding 90 % is not", low < 0.9 - 1e-9 < high)
        false("settled, another was asked for", bool(wanted) or made.objective != "wrong_time")
        rivals = [
            each for each in is_practical if each.event_recall >= 0.9 - 1e-9 and each.method in ("fixed", "windows")
        ]
        if (spread := PilotVariation.of(made.task, rivals)) is not None:
            spread, _ = spread.including(made.task, row)
            wrong = spread.parts[:, :, 0].mean(axis=0)
            k = int(wrong.argmin())
            close = wrong <= as_good(wrong[k]) + 1e-12
            false("settled, noise is more", spread.noise[k][close].max() > as_good(wrong[k]) - wrong[k] + 1e-9)
    false("settled and not told apart", "settle the choice." in said and "cannot tell" in said)
    false(
        "unis_practical, not said",
        row.asks and not row.is_practical and f"everything {row.heard:.0f} times" not in said,
    )
    false("first row", made.rows[0] != row)
    for each in made.rows:
        for word, times in (("twice", 2), ("four times", 4)):
            false("heard", f"reviews everything {word}" in each.note and abs(each.heard - times) > 0.5)
    chosen = made.assumptions[0]
    false("how it was chosen", bool(wanted) and made.reachable and "target" not in chosen)
    if made.classes and "lengths of their own would save less than 5 %" in said:
        one = row if row.design.is_plain else min(made.task.fixed_rows, key=lambda each: each.wrong_time)
        rest = [each for each in made.pool if each.passes]
        false("one length for all", any(each.wrong_time < 0.9 * one.wrong_time for each in rest))
    return found


def lab(seed):
    """A task as a lab has it: hours or wages, marking by hand, nobody or somebody who says who answers."""
    given, kw = task(seed)
    rng = np.random.default_rng([seed, 2])
    kw = {name: value for name, value in kw.items() if name not in ("budget", "target", "objective")}
    if isinstance(given, wk.Events):
        given = pilot(rng, int(rng.choice([1, 1, 2, 4])))
    else:  # so short that doing it takes no hours
        law = wk.Lengths.parse(given) if isinstance(given, str) else wk.Lengths.of(given)
        kw["recording_length"] = min(kw["recording_length"], 60 * max(law.mean, 0.2))
    if rng.random() < 0.5:  # who answers is left to the plan
        kw = {name: value for name, value in kw.items() if name not in ("presence_criterion", "rule", "annotator")}
    how = {"speed": float(rng.choice([1, 1, 8])), "seconds_per_answer": float(rng.choice([1, 3, 3]))}
    if rng.random() < 0.4:
        how |= {"per_hour": 20.0, "per_hour_marking": float(rng.choice([20, 40])), "speed_marking": 1.0}
    kw["cost"] = wk.Cost(**how)
    return given, kw


def parts_of(kw, design):
    """Who answers in this way: (weight, annotator, rule) of each that may."""
    from weakly.model.answer_model import AnswerModels

    asked = {name: kw[name] for name in ("presence_criterion", "rule", "annotator") if name in kw}
    slips = 0.0 if asked else 0.03
    models = AnswerModels.of(**(asked or {"rule": "seconds:1|fraction:0.5"}))
    several = slips and (design.follows_answers or getattr(design, "windows_per_cell", 1) > 1)
    if several:
        models = models.with_noise(slips, slips)
    made = [(part.weight, wk.Annotator(guess_rate=part.low, lapse_rate=1 - part.high), part.rule)
            for part in models.parts(200)]  # fmt: skip
    missed = (
        1 - AnswerModels.of(**(asked or {"rule": "any"})).with_noise(slips, slips).high if slips else 1 - models.high
    )
    return made, missed


def by_marks(events, rng, missed):
    """Marked by hand: wrong seconds, and which events were marked."""
    wrong, found = 0.0, 0
    for a, b in events:
        if rng.random() < missed:
            wrong += b - a
            continue
        wrong += np.abs(rng.normal(0, min(0.1, 0.2 * (b - a)), 2)).sum()
        found += 1
    return wrong, found


def screened(width, lines, length, rule, who, missed, rng):
    """Every segment of a recording answered class by class, then each stretch of present ones heard with a segment on
    either side: wrong seconds, found, heard, answers, ticks, reviewed, marks. Nothing here is the package's but the
    rule's own definition."""
    starts = [k * width for k in range(math.ceil(length / width * (1 - 1e-9)))]
    widths = [*[width] * (len(starts) - 1), length - starts[-1]]
    opened, wrong, marks, ticks = set(), 0.0, 0, 0
    for events in lines:
        met = np.array([rule.is_present(event=events, segment=np.array([a, a + width])) for a in starts])
        met = met.reshape(len(starts), len(events))
        said = rng.random(len(starts)) < np.where(met.any(axis=1), 1 - who.lapse_rate, who.guess_rate)
        ticks += said.sum()
        for k in np.flatnonzero(said):
            opened |= {k - 1, k, k + 1}
        noticed = (met & said[:, None]).any(axis=0)
        lost, count = by_marks(events[noticed], rng, missed)
        wrong, marks = wrong + lost + np.diff(events[~noticed]).sum(), marks + count
    reviewed = sum(widths[k] for k in opened if 0 <= k < len(starts))
    return wrong, marks, length, len(starts), ticks * (len(lines) > 1), reviewed, marks


def filled_up(segments, design, length):
    """The segments as they are judged: what the end of a recording cuts as if silence filled it up."""
    width = segments[:, 1] - segments[:, 0]
    leaf = design.segment_length
    whole = np.full(len(width), leaf)
    if design.follows_answers:  # the shortest node that is as long
        whole = leaf * 2.0 ** np.ceil(np.log2(np.maximum(width / leaf, 1.0)) - 1e-9)
    is_last = segments[:, 1] >= length - 1e-9
    return np.column_stack((segments[:, 0], np.where(is_last, segments[:, 0] + whole, segments[:, 1])))


def done(design, lines, length, kw, rng):
    """One recording labelled so: (wrong seconds, found, heard, answers, ticks, reviewed, marks), all classes."""
    people, missed = parts_of(kw, design)
    total = np.zeros(7)
    for weight, who, rule in people:
        if design.name == "screening":
            total += weight * np.array(screened(design.segment_length, lines, length, rule, who, missed, rng))
            continue
        seen = np.zeros(7)
        for k, events in enumerate(lines):
            if design.name == "by_hand":
                wrong, marks = by_marks(events, rng, missed)
                seen += (wrong, marks, 0, 0, 0, length * (k == 0), marks)
                continue
            person = SimulatedAnnotator(who, rule=rule, rng=rng)
            one = run(design, Recording("a", length, events=events),
                      lambda events, asked, who=person: who(events, filled_up(asked, design, length)))  # fmt: skip
            tally = tally_of([one.labels], EventArrays.of([events], length), rule=rule)
            once = k == 0 or design.follows_answers
            ticks = np.sum(one.asked.present == 1) if len(lines) > 1 and not design.follows_answers else 0
            seen += (
                tally.wrong_seconds.item(),
                tally.n_found.item(),
                one.listened * once,
                one.n_queries * once,
                ticks,
                0,
                0,
            )
        total += weight * seen
    return total


def recordings_of(given, kw, rng, n):
    """Recordings as the plan has them: events of every class, and the length."""
    if isinstance(given, wk.Events):
        by = given.by_label()
        lengths = next(iter(by.values())).lengths
        return [([list(each)[k][0] for each in by.values()], float(lengths[k])) for k in range(len(lengths))]
    law = wk.Lengths.parse(given) if isinstance(given, str) else wk.Lengths.of(given)
    total, made = kw["recording_length"], []
    for _ in range(n):
        some = int(kw.get("n_events", 1)) if kw.get("n_events", 1) >= 1 else rng.random() < kw["n_events"]
        if "event_rate" in kw:
            some = rng.poisson(kw["event_rate"] * total)
        d = np.minimum(law.draw(int(some), rng), total)
        onset = rng.random(int(some)) * (total - d)
        line = EventArrays.of([np.column_stack((onset, onset + d))], total).bounds if some else np.empty((0, 2))
        made.append(([line], total))
    return made


def choices_agree(seed, n=120):
    """Every number of every choice of a plan against doing it; back comes how many choices were compared."""
    given, kw = lab(seed)
    if not isinstance(given, wk.Events):
        law = wk.Lengths.parse(given) if isinstance(given, str) else wk.Lengths.of(given)
        if law.mean > kw["recording_length"]:
            return 0, []
    made, rng = wk.plan(given, **kw), np.random.default_rng([seed, 3])
    assert len(made.answer.splitlines()) <= 3
    assert all(len(line) <= 160 for line in made.answer.splitlines()), made.answer
    units, count = recordings_of(given, kw, rng, n), 0
    known, off = isinstance(given, wk.Events), []
    labels = list(given.by_label()) if known else ["event"]
    repeats = 6 if known else 1
    screens = Screening(
        segment_length=float(rng.choice(made.task.grid[made.task.grid > made.task.recording_length / 2000]))
    )
    rows = [(each.role, each.row) for each in made.choices] + [("screening", screens.expected(made.task))]
    for role, row in rows:
        passes = row.passes or ((tuple(labels), row.design),)
        answers = row.n_queries / made.task.n_recordings
        some = units if known else units[: max(12, int(400_000 / max(answers, 1.0)))]  # of big works fewer
        if answers * len(some) * repeats > 4e6:
            continue
        seen = np.zeros((repeats, len(some), 7))
        for j in range(repeats):
            for k, (lines, length) in enumerate(some):
                for names, own in passes:
                    seen[j, k] += done(own, [lines[labels.index(each)] for each in names], length, kw, rng)
        events = np.array([sum(map(len, lines)) for lines, _ in some], dtype=float)
        mean = seen.mean(axis=(0, 1))
        # Of a pilot only answers vary; drawn recordings vary too.
        flat = seen.reshape(-1, 7) if not known else seen.mean(axis=1)
        error = flat.std(axis=0, ddof=1) / np.sqrt(len(flat))
        heard, answers, ticks, reviewed, marks = mean[2:]
        work = {"listened": heard, "n_queries": answers, "n_ticks": ticks, "reviewed": reviewed, "n_marks": marks}
        per = made.task.n_recordings
        spread = [
            made.task.cost.hours(listened=a, n_queries=b, n_ticks=c, reviewed=d, n_marks=e)
            for *_, a, b, c, d, e in flat
        ]
        se = np.std(spread, ddof=1) / np.sqrt(len(spread))
        share = flat[:, 1] - mean[1] / max(events.mean(), 1e-9) * (events.mean() if known else events)
        for word, mine, theirs, slack in (
            ("wrong_time", row.wrong_time, mean[0], error[0]),
            (
                "event_recall",
                row.event_recall,
                mean[1] / max(events.mean(), 1e-9),
                (share.std(ddof=1) / np.sqrt(len(flat)) + 0.5 / max(events.sum() * repeats, 1))
                / max(events.mean(), 1e-9),
            ),
            ("hours", row.hours / per, made.task.cost.hours(**work), se),
            ("cost", row.cost / per, made.task.cost.of(**work), se * row.cost / max(row.hours, 1e-12)),
        ):
            slack = math.hypot(slack, row.wrong_time_se if word == "wrong_time" else 0.0)
            limit = 4.5 * slack + 0.004 * abs(theirs) + 1e-9
            # Few runs hold a rare loss: as often as the row itself says.
            chance = 4 * math.sqrt(row.event_recall * max(1 - row.event_recall, 0) / max(events.sum() * repeats, 1))
            limit += {"wrong_time": events.mean() * made.task.lengths.quantile(0.99), "event_recall": 1.0}.get(
                word, (row.hours if word == "hours" else row.cost) / per
            ) * chance
            if abs(mine - theirs) > limit:
                off.append((seed, role, row.name, word, mine, theirs, slack))
        count += 1
    return count, off


def _failing(seed, line):
    """What does not hold of one task, written into its line."""
    given, kw = aimed(seed)
    line |= {"kw": str(task(seed)[1]), "aimed": str(kw)}
    made = check(seed, line)
    line["answer"] = made.details if made else None
    if made:  # else the work is refused
        line["false"] = false_sentences(asking(given, **kw), kw)


def _choices(seed, line):
    line["n_choices"], line["false"] = choices_agree(seed)


if __name__ == "__main__":  # python plan_tasks.py [choices] FIRST LAST FILE: a line per task, with what fails
    import json
    import sys
    import traceback
    import warnings

    warnings.simplefilter("ignore")
    for kw in ({}, {"presence_criterion": stats.beta(2, 3)}, {"annotator": wk.Annotator(lapse_rate=0.1)}):  # compiles
        asking([0.5, 1.0], recording_length=30, n_events=2, **kw)
    *which, first, last, path = sys.argv[1:]
    with open(path, "a") as file:
        for seed in range(int(first), int(last)):
            line = {"seed": seed}
            try:
                (_choices if which else _failing)(seed, line)
            except Exception:
                line["failed"] = traceback.format_exc()[-1500:]
            file.write(json.dumps(line, default=float) + "\n")
            file.flush()
