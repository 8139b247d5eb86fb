"""The exact posterior against enumeration of every timeline, and the reference numbers."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weakly import Annotator, InvalidInput, Lengths, PresenceRule, infer
from weakly.model.answer_model import AnswerModels
from weakly.posterior.chain import Contradiction, prepare
from weakly.posterior.class_answers import check
from weakly.posterior.detector import FrameScores, log_answers_given_scores
from weakly.posterior.fitting import AnswerPattern
from weakly.posterior.renewal import Bouts, Renewal, Uncertain

JITTER = (-0.25, 0.25)


def timelines(n, p, lam, *, cut, shifts):
    """Every timeline of n steps as (weight, [(first step, steps, shift)]), by following the process; no recursion
    weights, no survival function: a cut event is one of a definite length of which a part is heard."""
    mean = sum(l * share for l, share in enumerate(p, 1))
    begin = 1 / (1 - lam + lam * mean) if cut else 1.0

    def go(at, weight, events):
        if at == n:
            yield weight, events
            return
        yield from go(at + 1, weight * (1 - lam), events)
        for l, share in enumerate(p, 1):
            if at + l > n and not cut:
                continue
            heard = min(l, n - at)
            for shift in shifts:
                yield from go(at + heard, weight * lam * share / len(shifts), [*events, (at, heard, shift)])

    yield from go(0, begin, [])
    if cut:
        for l, share in enumerate(p, 1):
            for before in range(1, l):  # the event began this long before the recording
                heard = min(l - before, n)
                for shift in shifts:
                    yield from go(heard, begin * lam * share / len(shifts), [(0, heard, shift)])


def bout_timelines(n, p, lam, share, leave, stages, at_once=0.0, *, shifts):
    """The same with gaps of two kinds and cut ends, from the chances of whole gaps: no stages, no rows."""
    many = np.arange(1000)
    # the chance of a short gap of g steps (negative binomial), and of a long one
    ways = np.array([math.comb(g + stages - 1, g) for g in many.tolist()], dtype=float)
    short = (1 - at_once) * ways * leave**stages * (1 - leave) ** many + at_once * (many == 0)
    gaps = share * short + (1 - share) * lam * (1 - lam) ** many
    tail = np.append(np.cumsum(gaps[::-1])[::-1], 0.0)  # P(gap >= g)
    mean = sum(l * each for l, each in enumerate(p, 1))
    cycle = share * (1 - at_once) * stages * (1 - leave) / leave + (1 - share) * (1 - lam) / lam + mean

    def gap(at, weight, events):
        yield weight * tail[n - at], events
        for g in range(n - at):
            yield from event(at + g, weight * gaps[g], events)

    def event(at, weight, events):
        for l, each in enumerate(p, 1):
            heard = min(l, n - at)
            for shift in shifts:
                row = [*events, (at, heard, shift)]
                if at + heard == n:
                    yield weight * each / len(shifts), row
                else:
                    yield from gap(at + heard, weight * each / len(shifts), row)

    yield tail[n:].sum() / cycle, []
    for first in range(n):
        yield from event(first, tail[first] / cycle, [])
    for l, each in enumerate(p, 1):
        for before in range(1, l):
            heard = min(l - before, n)
            for shift in shifts:
                row, weight = [(0, heard, shift)], each / cycle / len(shifts)
                yield from [(weight, row)] if heard == n else gap(heard, weight, row)


@cache  # many timelines hold the same events
def is_met(rule, event, query, n):
    """Whether an event satisfies a rule in a query, from the words of the rule."""
    at, l, shift = event
    a, b = max(0.0, at + shift), min(float(n), at + l + shift)
    kind, value = rule
    width = query[1] - query[0]
    need = {"fraction": value * l, "seconds": value, "coverage": value * width, "any": 0.0}[kind]
    if need > min(l, width) + 1e-9:
        return False
    shared = min(b - query[0], query[1] - a)
    return shared > 1e-9 and shared >= need - 1e-9


def share_met(rules, events, query, n):
    """Of the rules, the share that some event satisfies in a query."""
    return sum(any(is_met(rule, event, query, n) for event in events) for rule in rules) / len(rules)


def enumerated(
    n, p, lam, queries, answers, owners, people, *, cut=True, jitter=True, bouts=None, evidence=None, per_answer=False,
    further=(),
):  # fmt: skip
    """Log-likelihood, events, P(active), P(satisfied) of further queries (of person 0), and the means of the squares of
    events and active steps, from all timelines.

    ``people``: [rules, guess, lapse] with one of several equally likely rules for each person, or for each answer.
    """
    total = events_sum = 0.0
    squares = np.zeros(2)
    active, met_further = np.zeros(n), np.zeros(len(further))
    shifts = JITTER if jitter else (0.0,)
    every = timelines(n, p, lam, cut=cut, shifts=shifts) if bouts is None else ()
    every = list(every if bouts is None else bout_timelines(n, p, lam, *bouts, shifts=shifts))
    if evidence is not None:
        told = [sum(sum(evidence[at : at + l]) for at, l, _ in events) for _, events in every]
        every = [(weight * math.exp(each), events) for (weight, events), each in zip(every, told)]
    kept = [[rules] if per_answer else [(rule,) for rule in rules] for rules, _, _ in people]
    choices = list(itertools.product(*kept))
    for choice in choices:
        for prior, events in every:
            weight = prior / len(choices)
            for query, said, who in zip(queries, answers, owners):
                if said is None:
                    continue
                _, guess, lapse = people[who]
                met = share_met(choice[who], events, query, n)
                chance = guess + (1 - lapse - guess) * met
                weight *= chance if said else 1 - chance
            total += weight
            events_sum += weight * len(events)
            squares += weight * np.square([len(events), sum(l for _, l, _ in events)])
            for at, l, _ in events:
                active[at : at + l] += weight
            for k, query in enumerate(further):
                met_further[k] += weight * share_met(choice[0], events, query, n)
    if total == 0:
        return None
    return math.log(total), events_sum / total, active / total, met_further / total, squares / total


def rule_of(rule):
    kind, value = rule
    return PresenceRule.any() if kind == "any" else getattr(PresenceRule, kind)(value)


def going_by(rules, guess_rate, lapse_rate, per_answer=False):
    """Somebody who goes by one of the rules, each as likely, and slips."""
    return replace(AnswerModels.of(rule=list(rules)), per_answer=per_answer).with_noise(guess_rate, lapse_rate)


def posterior(segments, present, *, renewal, **how):
    """The exact posterior of one recording's timeline, given queries and their answers."""
    return prepare(segments, present, renewal=renewal, **how).posterior(renewal)


def present(found, spans):
    """P(the answer will be present), of further segments."""
    person = found.people[0]
    return person.low + (person.high - person.low) * found.satisfied(spans)


def computed(
    n, p, lam, queries, answers, owners, people, *, cut=True, jitter=True, bouts=None, evidence=None, per_answer=False
):
    lengths = Lengths.sample(np.arange(1, len(p) + 1), weights=p)
    gap, runs = (1 - lam) / lam, None
    if bouts is not None:
        share, leave, stages, at_once = (*bouts, 0.0)[:4]
        runs = Bouts(share, (1 - at_once) * stages * (1 - leave) / leave, stages, at_once)
        gap = share * runs.gap + (1 - share) * gap
    rate = 1 / (gap + float(np.arange(1, len(p) + 1) @ np.asarray(p)))
    who = {str(k): going_by(map(rule_of, rules), g, l, per_answer) for k, (rules, g, l) in enumerate(people)}
    return posterior(
        queries,
        [np.nan if said is None else said for said in answers],
        renewal=Renewal(lengths, rate, 1.0, cut=cut, jitter=jitter, bouts=runs),
        recording_length=n,
        annotator=who,
        annotators=[str(k) for k in owners],
        evidence=None if evidence is None else np.array(evidence),
    )


fractions = st.tuples(st.just("fraction"), st.sampled_from([0.1, 0.3, 0.5, 0.7, 1.0]))
rules = st.one_of(
    fractions,
    st.tuples(st.just("seconds"), st.sampled_from([0.5, 1.0, 2.0, 2.4])),
    st.tuples(st.just("coverage"), st.sampled_from([0.3, 1.0])),
    st.just(("any", 0.0)),
)
rates = st.sampled_from([0.0, 0.05, 0.3])


@st.composite
def worlds(draw):
    n = draw(st.integers(1, 6))
    p = np.array(draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0]), min_size=1, max_size=4)))
    p = p + (p.sum() == 0)
    grid = [k / 4 for k in range(4 * n + 1)]
    spans = st.tuples(st.sampled_from(grid), st.sampled_from(grid)).filter(lambda x: x[0] != x[1])
    queries = [tuple(sorted(span)) for span in draw(st.lists(spans, min_size=1, max_size=5))]
    if draw(st.booleans()):
        queries = [(float(math.floor(a)), float(math.ceil(b))) for a, b in queries]
    # one person with a law of rules, or several people with one rule each, or with criteria for every answer
    alone, per_answer = draw(st.booleans()), draw(st.booleans())
    many = 1 if alone else draw(st.integers(1, 2))
    kind = fractions if per_answer else draw(st.sampled_from([rules, fractions]))  # a law of any rules, or of criteria
    most = 3 if alone or per_answer else 1
    people = [(draw(st.lists(kind, min_size=1, max_size=most)), draw(rates), draw(rates)) for _ in range(many)]
    answers = draw(st.lists(st.sampled_from([1, 0, 1, 0, None]), min_size=len(queries), max_size=len(queries)))
    owners = draw(st.lists(st.integers(0, many - 1), min_size=len(queries), max_size=len(queries)))
    how = {"cut": draw(st.booleans()), "jitter": draw(st.booleans()), "per_answer": per_answer}
    if draw(st.booleans()):
        shares, leaves = st.sampled_from([0.2, 0.7, 0.95]), st.sampled_from([0.1, 0.4, 0.9])
        how |= {
            "cut": True,
            "bouts": (draw(shares), draw(leaves), draw(st.integers(1, 3)), draw(st.sampled_from([0.0, 0.4]))),
        }
    if draw(st.booleans()):
        how["evidence"] = draw(st.lists(st.sampled_from([0.0, 1.0, -3.0, 8.0]), min_size=n, max_size=n))
    lam = draw(st.sampled_from([0.05, 0.3, 0.8]))
    return (n, list(p / p.sum()), lam, queries, answers, owners, people), how, tuple(sorted(draw(spans)))


@settings(max_examples=40, deadline=None)
@given(worlds())
def test_enumeration_of_every_timeline(world):
    given_, how, span = world
    n, queries = given_[0], given_[3]
    further = [span, queries[0], (0.0, float(n))]
    wanted = enumerated(*given_, **how, further=further)
    if wanted is None:
        with pytest.raises(Contradiction):
            computed(*given_, **how)
        return
    found = computed(*given_, **how)
    assert found.log_likelihood == pytest.approx(wanted[0], abs=1e-10)
    assert found.n_events == pytest.approx(wanted[1], abs=1e-10)
    np.testing.assert_allclose(found.active, wanted[2], atol=1e-10)
    if 0 in given_[5]:  # people are in the order of their answers
        person = list(dict.fromkeys(given_[5])).index(0)
        np.testing.assert_allclose(found.satisfied(further, who=person), wanted[3], atol=1e-10)


#: Steps, p, lam, queries, answers, rule, lapse, guess, log-likelihood, events, P(active): ends cut nothing there.
REFERENCE = [
    ((0.1, 0.4, 0.3, 0.2), 0.15, [(0, 4), (4, 8), (8, 12)], [0, 1, 0], ("fraction", 0.5), 0.0, 0.0,
     -2.1362381108, 1.0544104282,
     [0, 0, 0, 0.175634, 0.484242, 0.743504, 0.743504, 0.484242, 0.175634, 0, 0, 0]),
    ((0.1, 0.4, 0.3, 0.2), 0.15, [(0, 4), (4, 8), (8, 12)], [0, 1, 1], ("fraction", 0.5), 0.1, 0.1,
     -2.2991866919, 1.7673985002,
     [0.027516, 0.046992, 0.056612, 0.194084, 0.409646, 0.551807, 0.560139, 0.598864, 0.633976, 0.589394, 0.489991,
      0.288345]),
    ((0.2, 0.5, 0.3), 0.1, [(0, 12), (0, 6), (3, 6), (6, 12)], [1, 1, 0, 0], ("fraction", 0.5), 0.03, 0.03,
     -2.5873786913, 1.0515591566,
     [0.446187, 0.798600, 0.598987, 0.173816, 0.036573, 0.026002, 0.013801, 0.011537, 0.011146, 0.011303, 0.010077,
      0.005859]),
    ((0.1, 0.4, 0.3, 0.2), 0.15, [(0, 4), (4, 8), (8, 12)], [1, None, 0], ("seconds", 2.0), 0.1, 0.05,
     -1.6962837459, 1.5572470314,
     [0.358807, 0.654186, 0.777774, 0.595529, 0.393896, 0.322352, 0.298354, 0.271681, 0.177705, 0.062885, 0.055391,
      0.037745]),
]  # fmt: skip


@pytest.mark.parametrize("row", REFERENCE)
def test_reference_numbers(row):
    p, lam, queries, answers, rule, lapse, guess, log_likelihood, n_events, active = row
    person = [([rule], guess, lapse)]
    found = computed(12, p, lam, queries, answers, [0] * len(queries), person, cut=False, jitter=False)
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-10)
    assert found.n_events == pytest.approx(n_events, abs=1e-10)
    np.testing.assert_allclose(found.active, active, atol=6e-7)


def test_reference_numbers_of_bouts():
    """9 steps, three clips, fraction .6; P(active) from enumeration."""
    rows = [
        ((0.7, 0.6, 1), -2.3424613857, 2.5812335897,
         [0.078038, 0.081288, 0.310777, 0.633068, 0.868919, 0.753123, 0.710012, 0.781435, 0.755425]),
        ((0.7, 0.8, 3), -2.3558463439, 2.5214128942,
         [0.079729, 0.081777, 0.311274, 0.635715, 0.860726, 0.712180, 0.665722, 0.759028, 0.743804]),
        ((0.7, 0.1, 1), -3.0547858140, 1.9391592045, None),
        (None, -3.0547858140, 1.9391592045, None),
    ]  # fmt: skip
    clips, person = [(0, 3), (3, 6), (6, 9)], [([("fraction", 0.6)], 0.03, 0.05)]
    for bouts, log_likelihood, n_events, active in rows:
        world, how = (9, [0.2, 0.5, 0.3], 0.1, clips, [0, 1, 1], [0] * 3, person), {"jitter": False, "bouts": bouts}
        found = computed(*world, **how)
        assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-10)
        assert found.n_events == pytest.approx(n_events, abs=1e-10)
        if active is not None:
            np.testing.assert_allclose(found.active, active, atol=6e-7)
        sample, onset, offset = found.draw(20_000, np.random.default_rng(1))
        drawn = np.stack([np.bincount(sample, each, 20_000) for each in (np.ones(len(sample)), offset - onset)]) ** 2
        error = drawn.std(axis=1) / math.sqrt(20_000)
        assert (np.abs(drawn.mean(axis=1) - enumerated(*world, **how)[4]) < 4 * error).all()


SCORES = [0, 0, 0, 1, 2, 2, -1, -2, 0, 1, 1, -1]
#: Answers, criteria (of several, every answer draws one), lapse, guess, log Z(answers, scores), events, P(active).
SCORED = [
    ([0, 1, 1], [0.5], 0.1, 0.1, 1.7108592799, 2.0645749160,
     [0.030000, 0.048461, 0.091341, 0.700285, 0.975339, 0.975450, 0.243287, 0.069243, 0.499123, 0.873287, 0.795306,
      0.219403]),
    ([0, 1, 0], [0.5], 0.0, 0.0, 1.0967740444, 1.0155126436,
     [0, 0, 0, 0.674594, 0.979877, 0.992911, 0.252963, 0.018630, 0.004027, 0, 0, 0]),
    ([None, 1, 0], [0.5], 0.1, 0.05, 1.9258119560, 1.5311890073,
     [0.139675, 0.224326, 0.422703, 0.806022, 0.979547, 0.938962, 0.213379, 0.033035, 0.101083, 0.167303, 0.152355,
      0.042043]),
    ([None, None, None], [0.5], 0.0, 0.0, 3.1104868528, 2.0002531017,
     [0.137230, 0.241021, 0.452290, 0.799284, 0.944904, 0.855086, 0.194185, 0.056064, 0.358329, 0.624013, 0.568342,
      0.156801]),
    ([0, 1, 1], [0.25, 0.5], 0.1, 0.1, 1.4148950968, 2.0869288075,
     [0.040885, 0.068959, 0.130813, 0.595511, 0.965435, 0.958094, 0.245355, 0.074567, 0.500321, 0.872463, 0.794364,
      0.219000]),
]  # fmt: skip


@pytest.mark.parametrize("row", SCORED)
def test_reference_numbers_of_scores(row):
    answers, criteria, lapse, guess, log_likelihood, n_events, active = row
    p, clips = (0.1, 0.4, 0.3, 0.2), [(0, 4), (4, 8), (8, 12)]
    person = [([("fraction", each) for each in criteria], guess, lapse)]
    how = {"cut": False, "jitter": False, "per_answer": True, "evidence": [float(s) for s in SCORES]}
    found = computed(12, p, 0.15, clips, answers, [0] * 3, person, **how)
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-10)
    assert found.n_events == pytest.approx(n_events, abs=1e-10)
    np.testing.assert_allclose(found.active, active, atol=6e-7)


def test_a_recording_follows_one_process_of_a_group():
    """Of a group, as likely as the answers make it; of others, as all recordings together do."""
    worlds = [Renewal.from_gaps(Lengths.fixed(1.0), gap=gap, step=0.25) for gap in (1.0, 4.0, 30.0)]
    ready = prepare([(0, 3), (3, 6), (6, 9)], [1, 1, 0], renewal=worlds[0], recording_length=9.0)
    each, chances = [ready.posterior(world) for world in worlds], np.array([0.2, 0.5, 0.3])
    group = Uncertain(tuple(worlds), chances, np.zeros(3, int))
    told = chances * np.exp([one.log_likelihood for one in each])
    seen = {}
    for _ in range(2):
        found = ready.posterior(group, seen)
        assert found.log_likelihood == pytest.approx(math.log(told.sum()), abs=1e-12)
        np.testing.assert_allclose(found.active, told / told.sum() @ [one.active for one in each], atol=1e-12)
    assert len(seen) == 3
    both = ready.posterior(Uncertain.mixed([group, Uncertain.of(worlds[0])], [0.6, 0.4]))
    np.testing.assert_allclose(both.active, 0.6 * found.active + 0.4 * each[0].active, atol=1e-12)


@pytest.mark.filterwarnings("ignore::weakly.AssumptionWarning")
@pytest.mark.parametrize("row", SCORED)
def test_scores_through_the_door(row):
    """Two clips given to ``infer``, whose ends cut events and whose events begin a quarter of a step off their
    boundary, against enumeration; and the reference itself, where an answer that tells nothing and a silent step at
    either end leave neither a part."""
    said, criteria, lapse, guess = row[0][:2], row[1], row[2], row[3]
    p, lam, clips, scores = (0.1, 0.4, 0.3, 0.2), 0.15, [(0, 3), (3, 6)], np.array(SCORES[2:8], dtype=float)
    silent = said == [None] * 2
    if silent:
        clips, scores, guess, lapse = [(0, 14)], np.array([-1e3, *SCORES, -1e3]), 0.5, 0.5
    n, asked = len(scores), [1] if silent else said
    table = pd.DataFrame({"recording": "r", "onset": [a for a, _ in clips], "offset": [b for _, b in clips],
                          "label": "owl", "present": [np.nan if each is None else each for each in asked]})  # fmt: skip
    frames = pd.DataFrame({"recording": "r", "onset": np.arange(n), "offset": np.arange(n) + 1, "score": scores})
    found = infer(
        table, scores=frames, calibrate=False, event_length=Lengths.sample([1, 2, 3, 4], weights=p), bouts=False,
        event_rate=1 / ((1 - lam) / lam + 2.6), recording_length=n, step=1.0, rng=0, draws=2, criterion_per="answer",
        annotator=[Annotator(presence_criterion=each, guess_rate=guess, lapse_rate=lapse) for each in criteria],
    )  # fmt: skip
    part = found.parts["owl"]
    told = found.estimates.set_index("quantity")["value"]
    log_z, active = part.timeline(part.recordings[0]).log_likelihood, found.active["active"].to_numpy()
    if silent:
        begin = math.log((1 - lam) ** 2 / (1 - lam + lam * 2.6))
        assert log_z - math.log(0.5) - begin == pytest.approx(row[4], abs=1e-10)
        assert told["log_answers_given_scores"] == pytest.approx(math.log(0.5), abs=1e-10)
        assert found.summary["n_events"][0] == pytest.approx(row[5], abs=1e-10)
        np.testing.assert_allclose(active[1:-1], row[6], atol=6e-7)
        return
    person, how = [([("fraction", each) for each in criteria], guess, lapse)], {"per_answer": True, "evidence": scores}
    wanted = enumerated(n, p, lam, clips, said, [0, 0], person, **how)
    blank = enumerated(n, p, lam, clips, [None] * 2, [0, 0], person, **how)
    assert log_z == pytest.approx(wanted[0], abs=1e-10)
    assert told["log_answers_given_scores"] == pytest.approx(wanted[0] - blank[0], abs=1e-10)
    assert found.summary["n_events"][0] == pytest.approx(wanted[1], abs=1e-10)
    np.testing.assert_allclose(active, wanted[2], atol=1e-10)


def test_the_likelihood_of_answers_given_scores_and_its_gradient():
    """log Z(answers, s) - log Z(s) as it stands in the reference, and slopes in a and b against differences."""
    who = Annotator(guess_rate=0.1, lapse_rate=0.1)
    world = Renewal(Lengths.sample([1, 2, 3, 4], weights=[0.1, 0.4, 0.3, 0.2]), 0.15 / (0.85 + 0.15 * 2.6), 1.0,
                    cut=False, jitter=False)  # fmt: skip
    how = {"renewal": world, "recording_length": 12, "annotator": who}
    ready = [prepare([(0, 4), (4, 8), (8, 12)], [0, 1, 1], **how)]
    blank = [prepare(np.empty((0, 2)), [], **how)]
    tables = [(np.array(SCORES, dtype=float), np.ones(12))]

    def at(a, b):
        return log_answers_given_scores(ready, blank, tables, world, np.array([a, b]))

    assert at(1.0, 0.0)[0] == pytest.approx(-1.3996275728, abs=1e-10)
    slope = at(0.7, -0.3)[1]
    for k, (da, db) in enumerate(((1e-5, 0.0), (0.0, 1e-5))):
        assert slope[k] == pytest.approx((at(0.7 + da, -0.3 + db)[0] - at(0.7 - da, -0.3 - db)[0]) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("step", [0.1, 0.25, 1.0])
def test_frames_are_shared_out_over_steps(step):
    """Sums of scores and frames per step, against every pair of step and frame; frames may overlap."""
    rng = np.random.default_rng(0)
    spans = np.sort(rng.uniform(0, 6, (20, 2)), axis=1)
    frames = FrameScores(spans, rng.normal(size=20))
    n = math.ceil(6 / step)
    share = [[max(0.0, min(b, (t + 1) * step) - max(a, t * step)) / (b - a) for a, b in spans] for t in range(n)]
    scores, many = frames.per_step(step, n)
    np.testing.assert_allclose(scores, np.array(share) @ frames.values, atol=1e-9)
    np.testing.assert_allclose(many, np.sum(share, axis=1), atol=1e-9)


CALLS = Renewal(Lengths.sample([0.4, 0.8, 1.6]), 0.1, 0.1)
HEARD = Annotator(presence_criterion=0.4, guess_rate=0.05, lapse_rate=0.1)
SPANS = [(k * 2.0, k * 2.0 + 2.0) for k in range(10)] + [(3.0, 9.0), (4.5, 5.5), (4.0, 6.0)]
SAID = [0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0]


def test_samples_follow_the_posterior():
    """Frequencies of sampled timelines against the exact numbers, within five standard errors."""
    found = posterior(SPANS, SAID, renewal=CALLS, recording_length=20, annotator=HEARD)
    many = 20_000
    drawn = found.sample(many, rng=1)
    counts = np.bincount(drawn["sample"], minlength=many)
    assert abs(counts.mean() - found.n_events) < 5 * counts.std() / many**0.5
    at = np.array([0.55, 4.95, 5.05, 12.05, 19.95])
    share = [((drawn["onset"] <= t) & (drawn["offset"] > t)).sum() / many for t in at]
    # a sampled event lies a quarter of a step off its boundary: compare with the mean of the steps around
    exact = np.interp(at, found.edges[:-1] + 0.05, found.active)
    np.testing.assert_allclose(share, exact, atol=0.02)
    rule = PresenceRule.fraction(0.4)
    for span in [(4.0, 5.0), (11.0, 15.0), (0.0, 20.0)]:
        met = rule.is_present(event=drawn[["onset", "offset"]].to_numpy(), segment=span)
        chance = len(np.unique(drawn["sample"][met])) / many
        assert chance == pytest.approx(found.satisfied([span])[0], abs=0.02)


def test_chance_of_a_further_answer_is_the_ratio_of_likelihoods():
    found = posterior(SPANS, SAID, renewal=CALLS, recording_length=20, annotator=HEARD)
    for span in [(4.2, 5.3), (0.0, 20.0), (19.5, 20.0), (7.0, 7.3)]:
        more = posterior([*SPANS, span], [*SAID, 1], renewal=CALLS, recording_length=20, annotator=HEARD)
        assert present(found, [span])[0] == pytest.approx(
            math.exp(more.log_likelihood - found.log_likelihood), rel=1e-9
        )


def test_the_expected_posterior_is_the_prior():
    """Averaged over the answer, what is known afterwards is what was known before (a martingale)."""
    found = posterior(SPANS, SAID, renewal=CALLS, recording_length=20, annotator=HEARD)
    p = present(found, [(5.0, 8.0)])[0]
    after = [
        posterior([*SPANS, (5.0, 8.0)], [*SAID, said], renewal=CALLS, recording_length=20, annotator=HEARD).active
        for said in (0, 1)
    ]
    np.testing.assert_allclose((1 - p) * after[0] + p * after[1], found.active, atol=1e-10)


def test_long_recordings_stay_in_range():
    """Two hours whose likelihood is far below the smallest float, against the sum of two far-apart halves."""
    rng = np.random.default_rng(3)
    spans = np.array([(k * 2.0, k * 2.0 + 2.0) for k in range(3600)])
    said = rng.integers(0, 2, 3600).astype(float)
    silent = slice(1790, 1815)  # no answer for 50 s, many event lengths: the halves hardly know of each other
    said[silent] = np.nan
    whole = posterior(spans, said, renewal=CALLS, recording_length=7200, annotator=HEARD)
    assert whole.log_likelihood < -2000
    assert np.isfinite(whole.active).all()
    first = posterior(spans[:1800], said[:1800], renewal=CALLS, recording_length=3600, annotator=HEARD)
    second = posterior(spans[1800:] - 3600, said[1800:], renewal=CALLS, recording_length=3600, annotator=HEARD)
    assert whole.log_likelihood == pytest.approx(first.log_likelihood + second.log_likelihood, abs=1e-6)
    np.testing.assert_allclose(whole.active[:35_000], first.active[:35_000], atol=1e-9)
    assert whole.sample(3, rng=0)["offset"].max() <= 7200


def test_a_law_of_criteria_is_a_mixture_of_its_nodes():
    law = Annotator.beta(3, 4, guess_rate=0.1, lapse_rate=0.05)
    found = posterior(SPANS, SAID, renewal=CALLS, recording_length=20, annotator=law)
    nodes = [rule.criterion for (rule,) in found.people[0].choices]
    assert len(nodes) > 4
    single = [
        posterior(
            SPANS, SAID, renewal=CALLS, recording_length=20,
            annotator=Annotator(presence_criterion=g, guess_rate=0.1, lapse_rate=0.05),
        )
        for g in nodes
    ]  # fmt: skip
    weights = np.exp([run.log_likelihood for run in single])
    assert found.log_likelihood == pytest.approx(math.log(weights.mean()), abs=1e-10)
    expected = sum(w * run.active for w, run in zip(weights, single)) / weights.sum()
    np.testing.assert_allclose(found.active, expected, atol=1e-12)


def test_votes_are_a_binomial_tail():
    """Two of three noisy people, answer by answer, against the vote as one answer."""
    vote = Annotator(presence_criterion=0.5, guess_rate=0.1, lapse_rate=0.2, votes=(2, 3))
    found = posterior([(0, 2)], [1], renewal=CALLS, recording_length=6, annotator=vote)
    total = 0.0
    one = Annotator(presence_criterion=0.5, guess_rate=0.1, lapse_rate=0.2)
    for votes in itertools.product((0, 1), repeat=3):
        if sum(votes) >= 2:
            three = posterior([(0, 2)] * 3, votes, renewal=CALLS, recording_length=6, annotator=one)
            total += math.exp(three.log_likelihood)
    assert found.log_likelihood == pytest.approx(math.log(total), abs=1e-10)


def test_two_people_with_laws_share_a_lattice_of_criteria():
    """Two people with a law each: close to the full product of their nodes."""
    law = Annotator.beta(3, 4, guess_rate=0.05, lapse_rate=0.05)
    names = ["a", "b"] * 6 + ["a"]
    found = posterior(SPANS, SAID, renewal=CALLS, recording_length=20, annotator=law, annotators=names)
    rules = [rule for (rule,) in found.people[0].choices]
    values = []
    for first, second in itertools.product(rules, rules):
        pair = {"a": going_by([first], 0.05, 0.05), "b": going_by([second], 0.05, 0.05)}
        run = posterior(SPANS, SAID, renewal=CALLS, recording_length=20, annotator=pair, annotators=names)
        values.append((run.log_likelihood, run.n_events))
    weights = np.exp([v[0] for v in values])
    assert found.log_likelihood == pytest.approx(math.log(weights.mean()), abs=0.02)
    assert found.n_events == pytest.approx(weights @ [v[1] for v in values] / weights.sum(), abs=0.02)


def test_what_cannot_be():
    sure = Annotator(presence_criterion=0.5)
    with pytest.raises(Contradiction, match=r"up to 4 s .*guess_rate"):
        posterior([(0, 2), (2, 4), (2, 4)], [0, 1, 0], renewal=CALLS, recording_length=9, annotator=sure)
    with pytest.raises(InvalidInput, match=r"segment \(8, 10\) lies outside the recording of 9 s"):
        posterior([(8, 10)], [0], renewal=CALLS, recording_length=9, annotator=sure)
    with pytest.raises(InvalidInput, match="one answer per segment"):
        posterior([(8, 9)], [0, 1], renewal=CALLS, recording_length=9, annotator=sure)
    with pytest.raises(InvalidInput, match="no entry for 'b'"):
        posterior([(8, 9)], [0], renewal=CALLS, recording_length=9, annotator={"a": sure}, annotators=["b"])
    with pytest.raises(InvalidInput, match="margin must fit"):
        posterior([(0, 1)], [0], renewal=CALLS, recording_length=9, annotator=PresenceRule.margin(2.0))
    with pytest.raises(InvalidInput, match="events per minute"):
        Renewal(Lengths.fixed(1.0), 6.0, 0.1)
    many = [(k / 100, 5 + k / 77) for k in range(70)]
    with pytest.raises(InvalidInput, match="overlap"):
        posterior(many, [1] * 70, renewal=CALLS, recording_length=9, annotator=HEARD)


def test_no_answers_leave_the_prior():
    found = posterior(np.empty((0, 2)), [], renewal=CALLS, recording_length=30)
    np.testing.assert_allclose(found.active, CALLS.density, atol=1e-12)
    assert found.log_likelihood == pytest.approx(0.0, abs=1e-10)
    assert found.event_seconds == pytest.approx(30 * CALLS.density)


@pytest.mark.parametrize("step", [0.05, 0.1, 0.25, 0.5])
@pytest.mark.parametrize("criterion", [0.3, 0.5, 1.0])
def test_steps_do_not_bias_the_chance_of_presence(step, criterion):
    r"""P(satisfied) of one long-run segment, against the closed form in continuous time (rare events).

    For rare events of length d, a segment of w seconds is satisfied at rate :math:`\lambda (w + d - 2 \gamma d)`.
    """
    rate, d, w = 1e-4, 1.0, 2.0
    world = Renewal(Lengths.fixed(d), rate, step)
    prior = posterior(
        np.empty((0, 2)), [], renewal=world, recording_length=20, annotator=Annotator(presence_criterion=criterion)
    )
    found = prior.satisfied([(8.0, 8.0 + w)])[0]
    exact = rate * (w + d - 2 * criterion * d)
    assert found == pytest.approx(exact, rel=1e-3 + (0.21 * step if criterion == 0.3 else 0))


def test_wrong_time_is_below_painted_labels_and_below_the_prior():
    """Answers can only help, and no label made of the answers has less wrong time than the posterior's."""
    rng = np.random.default_rng(0)
    clips = np.array([(k * 2.0, k * 2.0 + 2.0) for k in range(10)])
    prior = posterior(np.empty((0, 2)), [], renewal=CALLS, recording_length=20)
    painted, wrong = [], []
    drawn = prior.sample(150, rng=2)
    for k in range(150):
        events = drawn[drawn["sample"] == k][["onset", "offset"]].to_numpy()
        over = [np.clip(np.minimum(events[:, 1], e) - np.maximum(events[:, 0], s), 0, None) for s, e in clips]
        met = np.array([(each >= 0.4 * np.ptp(events, axis=1) - 1e-9).any() for each in over])
        said = rng.random(len(clips)) < np.where(met, 0.9, 0.05)
        held = np.array([each.sum() for each in over])
        painted.append(np.where(said, 2.0 - held, held).sum())
        wrong.append(posterior(clips, said, renewal=CALLS, recording_length=20, annotator=HEARD).wrong_time)
    assert np.mean(wrong) < prior.wrong_time
    assert np.mean(wrong) + 3 * np.std(wrong) / 150**0.5 < np.mean(painted)


def test_the_check_holds_answers_against_those_of_the_process():
    """Recordings that end within a step, where events without length are drawn: p-values of answers of the process are
    not small, and those of answers that all stand at one end are."""
    world = Renewal(Lengths.sample([0.5, 2.0, 6.0]), 0.15, 0.25)
    rng, who = np.random.default_rng(0), AnswerModels.of(presence_criterion=0.5)
    clips = np.array([(k * 1.0, k + 1.0) for k in range(11)])
    prior = posterior(np.empty((0, 2)), [], renewal=world, recording_length=11.8)
    rows = []
    for r, drawn in prior.sample(30, rng=1).groupby("sample"):
        drawn = drawn[drawn["offset"] > drawn["onset"]]
        met = PresenceRule.fraction(0.5).is_present(event=drawn[["onset", "offset"]].to_numpy()[:, None], segment=clips)
        rows.append((f"r{r}", clips, met.any(axis=0).astype(float), ("",) * 11, 11.8))
    order = {name: k for k, (name, *_) in enumerate(rows)}
    found = check(AnswerPattern.grouped(rows), who, [world], order, rng)
    assert set(found) == {"neighbours", "recordings", "order"}
    assert min(found.values()) > 0.02
    sorted_ = [(name, clips, np.sort(said), people, length) for name, _, said, people, length in rows]
    assert check(AnswerPattern.grouped(sorted_), who, [world], order, rng)["neighbours"] < 0.01
