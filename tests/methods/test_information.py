"""The querier by information: its particles against definitions, its belief against weighted timelines."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks.outcomes import score

import weakly as wk
from weakly.methods import AnswerHistory, Recording, Session, SimulatedAnnotator, information, run
from weakly.methods.change_point import signal_of
from weakly.methods.information import Information, Stretch
from weakly.model.intervals import Features, unlike
from weakly.posterior import expected, particles
from weakly.posterior import particle_kernels as kernels
from weakly.posterior.expected import ParameterPrior
from weakly.posterior.particles import NO_SIGNAL, particle_posterior
from weakly.studies.queries.campaign import Campaign

NONE = np.empty((0, 2))


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Few particles, where they need not be exact."""
    monkeypatch.setattr(particles, "PARTICLES", 300)
    particles._kept.clear()
    information._summaries.clear()
    yield
    particles._kept.clear()
    information._summaries.clear()


def logit(p):
    return np.log(p / (1 - p))


def known(**values):
    """Numbers that are as good as certain."""
    scale = {"presence_criterion": logit, "guess_rate": lambda p: logit(2 * p), "lapse_rate": lambda p: logit(2 * p)}
    given = {name: (float(scale.get(name, np.log)(value)), 0.01) for name, value in values.items()}
    return ParameterPrior.broad(given, doubt=1e-9)


CERTAIN = known(
    presence_criterion=0.5, spread=0.002, guess_rate=0.05, lapse_rate=0.05, event_rate=0.1, event_length=1.0,
    length_spread=0.4, seconds=1e3,
)  # fmt: skip


def reference(n, segments, present, *, length=10.0, rng=0):
    """P(active) on 200 steps and the mean number of events by importance: a process that has gone on for a minute when
    the recording begins, of which as much as the recording holds is weighted by the answers."""
    rng = np.random.default_rng(rng)
    total, active, events = 0.0, np.zeros(200), 0.0
    at = (np.arange(200) + 0.5) * length / 200
    for _ in range(n):
        timeline, t = [], -60.0
        while t < length:
            t += rng.exponential(10.0)
            begun, t = t, t + np.exp(0.4 * rng.normal())
            if t > 0 and begun < length:
                timeline.append((max(begun, 0.0), min(t, length)))
        weight = 1.0
        for (s, e), said in zip(segments, present):
            h = max((max(0.0, min(b, e) - max(a, s)) / (b - a) for a, b in timeline), default=0.0)
            p = 0.95 if h >= 0.5 else 0.05
            weight *= p if said else 1 - p
        total += weight
        events += weight * len(timeline)
        for a, b in timeline:
            active[(at >= a) & (at < b)] += weight
    return active / total, events / total


@pytest.mark.parametrize(
    ("segments", "present"),
    [
        (NONE, []),
        ([(0.0, 5.0), (5.0, 10.0), (1.0, 3.0)], [1, 0, 1]),
        ([(2.0, 4.0), (2.0, 4.0), (3.0, 9.0), (0.0, 10.0)], [1, 0, 0, 1]),
    ],
)
def test_particles_are_the_posterior(segments, present, monkeypatch):
    """Against weighted timelines of the prior: P(active) and the number of events."""
    monkeypatch.setattr(particles, "PARTICLES", 4000)
    found = particle_posterior(
        np.array(segments).reshape(-1, 2), np.array(present, float), recording_length=10.0, expected=CERTAIN
    )
    active, events = reference(8000, segments, present)
    mine = found.active.reshape(200, -1).mean(axis=1)
    assert np.abs(mine - active).mean() < 0.025
    assert found.count.mean() == pytest.approx(events, abs=0.06)


def test_moves_leave_the_prior_as_it_is(monkeypatch):
    """Moved without an answer, particles keep the law that they were drawn from."""
    monkeypatch.setattr(particles, "PARTICLES", 3000)
    first = particle_posterior(NONE, np.empty(0), recording_length=20.0, expected=CERTAIN)
    unsure = np.array([1e-12])  # an answer that counts for nothing
    starts, ends, own = (np.pad(x, ((0, 0), (0, 5))) for x in (first.starts, first.ends, first.own))
    count, numbers = first.count.copy(), first.numbers.copy()
    before = count.mean(), (ends - starts).sum(axis=1).mean()
    given = np.array([[4.0, 6.0]]), np.array([1.0]), unsure, np.array([0])
    how = *given, 0.0, 20.0, 20.0, CERTAIN.prior, NO_SIGNAL, np.full(10, 0.01), 20.0
    particles.moved(np.random.default_rng(1), starts, ends, own, count, numbers, *how)
    within = np.arange(starts.shape[1]) < count[:, None]
    busy = np.where(within, ends - starts, 0.0)
    assert count.mean() == pytest.approx(before[0], abs=0.06)
    assert busy.sum(axis=1).mean() == pytest.approx(before[1], abs=0.1)
    assert np.median(busy[within]) == pytest.approx(1.0, abs=0.05)
    late = (starts + ends)[within] / 2 > 10  # the law is its own mirror image
    assert late.mean() == pytest.approx(0.5, abs=0.03)
    gaps = starts[:, 1:] - ends[:, :-1]
    assert (gaps[within[:, 1:]] >= 0).all()


def test_bits_and_gains_are_their_definitions():
    """Against loops over particles that share no line with the kernels."""
    varied = known(presence_criterion=0.5, spread=0.3, guess_rate=0.05, lapse_rate=0.05, event_rate=0.3,
                   event_length=1.0, length_spread=0.8, seconds=0.6)  # fmt: skip
    now = particle_posterior(np.array([[0.0, 4.0]]), np.ones(1), recording_length=8.0, expected=varied)
    part = slice(0, 60)
    data = now.starts[part], now.ends[part], now.own[part], now.count[part], now.numbers[part]
    onsets, offsets = np.array([0.0, 1.0, 3.0]), np.array([2.0, 3.5, 8.0])
    told = kernels.bits(*data, onsets, offsets, 8.0)
    segments = np.array([(1.0, 3.5), (3.0, 8.0)])
    starts, ends, own, count, numbers = data
    sixty = replace(now, starts=starts, ends=ends, own=own, count=count, numbers=numbers)
    gain = sixty.gain(segments, start=0.0, end=8.0, share=1.0)

    def entropy(p):
        return 0.0 if p in (0, 1) else -(p * np.log2(p) + (1 - p) * np.log2(1 - p))

    def says(i, s, e):
        x = now.numbers[i]
        gamma, guess, lapse = 1 / (1 + np.exp(-x[0])), 0.5 / (1 + np.exp(-x[2])), 0.5 / (1 + np.exp(-x[3]))
        each = (one[i, : now.count[i]] for one in (*now.heard, now.own))

        def need(length, u):  # from 10 on, a share of its own; else that of all, or so many seconds
            return (
                max(u - 10, 0.02) * length
                if u >= 10
                else min(np.clip(gamma + np.exp(x[1]) * u, 0.02, 1) * length, np.exp(x[7]))
            )

        met = any(min(b, e) - max(a, s) >= need(b - a, u) for a, b, u in zip(*each))
        return 1 - lapse if met else guess

    for j, s in enumerate(onsets):
        for k, e in enumerate(offsets):
            if e > s:
                p = [says(i, s, e) for i in range(60)]
                assert told[j, k] == pytest.approx(entropy(np.mean(p)) - np.mean([entropy(x) for x in p]), abs=1e-9)
    t = (np.arange(400) + 0.5) * 0.02
    each = [list(zip(now.starts[i, : now.count[i]], now.ends[i, : now.count[i]])) for i in range(60)]
    on = np.array([[any(a <= x < b for a, b in events) for x in t] for events in each])
    for (s, e), found in zip(segments, gain):
        p = np.array([says(i, s, e) for i in range(60)])
        yes, no = p @ on / p.sum(), (1 - p) @ on / (1 - p).sum()
        assert found == pytest.approx(p.mean() * (1 - p.mean()) * ((yes - no) ** 2).sum() * 0.02, rel=0.05)


def test_the_prior_is_the_mixture_that_is_drawn_from():
    """Against scipy's normal laws: the weight of a mixture that learned and doubts, and the draws of either part."""
    from scipy.stats import multivariate_normal

    heard = particle_posterior(
        np.array([[0.0, 5.0]]), np.ones(1), recording_length=10.0, expected=ParameterPrior.broad()
    )
    taught = ParameterPrior.broad().taught([heard.learned()])
    apart = np.outer(expected.SPREAD, expected.SPREAD)
    alike = np.eye(10)
    alike[2, 3] = alike[3, 2] = 0.9
    far = multivariate_normal(expected.MEDIAN, apart * alike)
    near = multivariate_normal(taught.mean, taught.covariance)
    x = taught.draw(200, np.random.default_rng(0))
    mine = np.array([kernels.expected_numbers(row, taught.prior, 20.0) for row in x])
    mine += [np.log1p(kernels.busy(row, taught.doubt, 20.0)) for row in x]
    theirs = np.log((1 - expected.DOUBT) * near.pdf(x) + expected.DOUBT * far.pdf(x))
    assert np.ptp(mine - theirs) < 1e-6  # but for a constant
    drawn = ParameterPrior.broad(doubt=1e-9).draw(4000, np.random.default_rng(1))
    assert np.corrcoef(drawn[:, 2], drawn[:, 3])[0, 1] == pytest.approx(0.9, abs=0.02)
    assert drawn.std(axis=0) == pytest.approx(expected.SPREAD, rel=0.05)
    told = ParameterPrior.broad({"guess_rate": (-3.0, 0.5)})
    assert told.covariance[2, 3] == 0  # what is told of guesses says nothing of lapses


def test_what_one_recording_teaches_is_used_in_the_others():
    """After 4 and 16 answers, whichever recording comes first; a campaign narrows nothing below its floor."""
    asked = AnswerHistory(np.tile([[2.0, 5.0], [6.0, 9.0], [0.0, 3.0]], (7, 1)), np.tile([1.0, 0.0, 0.0], 7))
    others = np.arange(10) != 4  # all but the rate

    def taught(n, names="b"):
        given = {name: (Recording(name, 12.0), AnswerHistory(asked.segments[:n], asked.present[:n])) for name in names}
        return Information().among(given).prior(Recording("a", 12.0), 0.0, AnswerHistory())

    def heard(n):
        base = ParameterPrior.broad()
        known = particle_posterior(asked.segments[:n], asked.present[:n], recording_length=12.0, expected=base)
        return base.taught([known.learned()]).mean[others]

    assert np.array_equal(taught(21).mean[others], heard(16))
    assert np.array_equal(taught(16).mean[others], heard(16))
    assert np.array_equal(taught(7).mean[others], heard(4))
    assert np.array_equal(taught(3).mean[others], ParameterPrior.broad().mean[others])
    many = taught(16, [f"r{k}" for k in range(40)])
    spread = np.sqrt(np.diag(many.covariance)) / expected.SPREAD
    assert (spread[[4, 5, 6]] >= 0.35 - 1e-9).all()
    assert (spread >= 0.1).all()
    assert spread[5] < 0.95  # something was learned
    assert many.doubt == expected.DOUBT


def test_one_answer_about_each_of_many_recordings_tells_their_rate(monkeypatch):
    """18 of 20 in which nothing was found: hardly any is expected of another, and more may be in a few."""
    monkeypatch.setattr(particles, "PARTICLES", 2500)
    clicks = known(event_length=0.01, length_spread=0.1, guess_rate=1e-4, lapse_rate=1e-4, seconds=1e3)
    free = replace(clicks, mean=clicks.mean.copy(), covariance=clicks.covariance.copy())
    silent = particle_posterior(np.array([[0.0, 8.0]]), np.zeros(1), recording_length=8.0, expected=free)
    mine, theirs = silent.likely_laws(), free.likely_laws(-8 * np.exp(expected.RATES))  # none of a Poisson process
    apart = (mine - mine[0]) - (theirs - theirs[0])
    assert np.abs(apart[theirs > theirs[0] - 3]).max() < 0.1

    def prior(found):
        given = {}
        for k in range(20):
            said = np.array([float(k < found), 0.0])
            given[str(k)] = (Recording(str(k), 30.0), AnswerHistory(np.array([[20.0, 24.0], [2.0, 9.0]]), said))
        return Information().among(given).prior(Recording("a", 30.0), 0.0, AnswerHistory())

    base, few, most = ParameterPrior.broad(), prior(2), prior(16)
    assert few.mean[4] < base.mean[4] - 1.0
    assert most.mean[4] > few.mean[4] + 1.0
    assert 0.05 <= few.others < base.others
    assert few.doubt == base.doubt


def test_the_next_query_follows_from_the_answers_alone():
    """A process that starts again with the same answers asks the same; so does one that undid some."""
    truth = Recording("a", 12.0, events=np.array([[3.0, 4.2], [8.0, 8.6]]))
    method, annotator = Information(), SimulatedAnnotator(0.5, rng=1)
    other = Recording("b", 12.0)
    method = method.among({"b": (other, AnswerHistory(np.array([[0.0, 6.0]] * 16), np.zeros(16)))})
    session = Session(method, truth)
    asked = []
    for _ in range(6):
        asked.append(session.next())
        session.answer(annotator(truth.events, asked[-1]), segments=asked[-1])
    following = session.next()
    particles._kept.clear()
    assert np.array_equal(method.next(truth, session.asked), following)
    shorter = AnswerHistory(session.asked.segments[:4], session.asked.present[:4])
    assert np.array_equal(method.next(truth, shorter), asked[4])


def test_nothing_needs_to_be_known():
    """Criterion, rates and lengths unknown, 5 % of the answers wrong: found all the same, and it stops by itself."""
    earlier = []
    annotator = SimulatedAnnotator(wk.Annotator(presence_criterion=0.5, flip_rate=0.05), rng=3)
    events = [np.array([[4.0, 5.2], [13.0, 13.8]]), np.array([[9.0, 10.0]]), np.array([[2.5, 3.4], [15.0, 16.3]])]
    for k, mine in enumerate(events):
        one = Recording(str(k), 20.0, events=mine)
        earlier.append(run(Information(query_cost_share=1.0), one, annotator, earlier=earlier, most_queries=120))
    row = score(earlier, presence_criterion=0.5)
    assert row["n_queries"] < 200
    assert row["wrong_time"] < 0.5
    assert row["event_recall"] == 1
    last = Information().among({x.recording.name: (x.recording, x.asked) for x in earlier[:2]})
    heard = last.posterior(earlier[2].recording, earlier[2].asked).value("presence_criterion")
    assert heard.mean() == pytest.approx(0.5, abs=0.1)


def test_a_wrong_prior_is_given_up():
    """Told events of 0.2 s where there is one of 6 s: found all the same."""
    truth = Recording("a", 30.0, events=np.array([[11.0, 17.0]]))
    method = Information(event_length="0.2", query_cost_share=1.0)
    done = run(method, truth, SimulatedAnnotator(0.3, rng=0), most_queries=60)
    assert score([done], presence_criterion=0.3)["wrong_time"] < 0.8


def mixed(seed):
    """Three barks of less than a second and one of 4 s."""
    rng = np.random.default_rng([7, seed])
    d = np.append(rng.uniform(0.7, 0.9, 3), 4.0)[rng.permutation(4)]
    ends = np.cumsum(np.diff(np.concatenate(([0.0], np.sort(rng.uniform(0, 28 - d.sum(), 4))))) + 0.4 + d)
    return Recording(f"mixed {seed}", 30.0, events=np.column_stack((ends - d, ends)))


def test_a_long_event_among_short_ones_is_found(monkeypatch):
    """Three short barks in each recording do not rule out the fourth; what is stated is about what is true."""
    monkeypatch.setattr(particles, "PARTICLES", 700)
    done = []
    for seed in range(2):
        done.append(run(Information(), mixed(seed), SimulatedAnnotator(0.5), earlier=done, most_queries=60))
    row = score(done, presence_criterion=0.5)
    assert row["event_recall"] == 1
    assert row["wrong_time"] < 1.2
    for k, one in enumerate(done):
        earlier = {x.recording.name: (x.recording, x.asked) for x in done[:k]}
        stated = Information().among(earlier).state(one.recording, one.asked)["wrong_time"]
        assert stated > 0.4 * score([one], presence_criterion=0.5)["wrong_time"]


def test_an_event_of_minutes_is_found(monkeypatch):
    """150 s in five minutes, heard by half of it: each minute is absent, all of them together are not."""
    monkeypatch.setattr(particles, "PARTICLES", 1000)
    one = Recording("a", 300.0, events=np.array([[83.0, 233.0]]))
    done = run(Information(), one, SimulatedAnnotator(0.5), most_queries=60)
    assert score([done], presence_criterion=0.5)["wrong_time"] < 20
    assert len(Information().stretches(one)) == 5
    assert len(Information().stretches(one, done.asked)) == 1


def test_an_empty_minute_is_closed_soon(monkeypatch):
    """After at most eight answers, by somebody who never errs and by somebody with 3 % slips that do not show."""
    monkeypatch.setattr(particles, "PARTICLES", 2000)
    one = Recording("a", 60.0, events=NONE)
    for flip in (0.0, 0.03):
        who = SimulatedAnnotator(wk.Annotator(presence_criterion=0.5, flip_rate=flip), rng=[3, 4])
        done = run(Information(), one, who, most_queries=60)
        assert not done.asked.present.any()
        assert done.n_queries <= 8
        assert done.listened < 240
        assert score([done])["wrong_time"] == 0


def test_who_hears_a_second_of_anything_is_believed():
    """Of an event of 20 s a second is enough, a twentieth; of one of .8 s half."""
    one = Recording("a", 60.0, events=np.array([[10.0, 10.8], [25.0, 45.0]]))
    who = SimulatedAnnotator(rule="seconds:1|fraction:0.5")
    done = run(Information(), one, who, most_queries=60)
    assert score([done])["wrong_time"] < 2.5
    assert np.median(Information().posterior(one, done.asked).value("seconds")) < 4.0


def test_one_answer_in_ten_audits_the_belief():
    """The tenth is about the longest time where nothing is expected; what it finds there raises the stated error."""
    one, method = Recording("a", 30.0), Information(wrong_time=1e-3)
    segments = np.tile([[6.0, 18.0], [17.0, 29.9], [0.0, 3.6], [3.5, 5.5]], (5, 1))[:19]
    done = AnswerHistory(segments, np.tile([0.0, 0.0, 0.0, 1.0], 5)[:19])
    (audit,) = method.next(one, done)
    assert audit[0] == pytest.approx(5.5, abs=0.6)
    assert audit[1] == pytest.approx(30, abs=0.1)
    known = method.posterior(one, done)
    assert known.chance(audit) < particles.EXPECTED
    assert known.update(audit, 1.0).wrong_factor > 1.5
    assert known.update(audit, 0.0).wrong_factor == 1


def test_an_event_that_fills_the_recording_is_found():
    """It began before and goes on after; the ends of a recording end no event."""
    truth = Recording("a", 30.0, events=np.array([[0.0, 30.0]]))
    done = run(Information(query_cost_share=1.0), truth, SimulatedAnnotator(0.5, rng=0), most_queries=30)
    assert score([done], presence_criterion=0.5)["wrong_time"] < 0.2


def test_unsure_answers_are_not_asked_again():
    """What could not be told is left alone; the rest goes on."""
    one, asked = Recording("a", 10.0), AnswerHistory()
    for _ in range(4):
        segment = Information().next(one, asked)
        for before in asked.segments:
            both = min(segment[0, 1], before[1]) - max(segment[0, 0], before[0])
            assert both < 0.7 * (max(segment[0, 1], before[1]) - min(segment[0, 0], before[0]))
        asked = asked.add(segment, [np.nan])


def test_a_round_of_several_segments_asks_different_things():
    """No segment of a batch is another one's double, and all are long enough to hear."""
    found = Information(batch=5, shortest=0.5).next(Recording("a", 20.0), AnswerHistory())
    assert found.shape == (5, 2)
    assert (found[:, 1] - found[:, 0] >= 0.499).all()
    assert len({tuple(x) for x in found.tolist()}) == 5


def test_a_round_is_chosen_together():
    """Each segment adds most, for its cost, to what a line through all answers of the round explains of the labels."""
    now = particle_posterior(np.array([[0.0, 9.0]]), np.ones(1), recording_length=20.0, expected=ParameterPrior.broad())
    how = {"start": 0.0, "end": 20.0, "share": 0.75}
    chosen, _ = now.best(4, **how, shortest=0.3, refused=NONE)
    every = now.candidates(0.75, 0.3)
    chances, variance, shared = now._told(every, 0.0, 20.0)
    together = np.cov(chances, bias=True)
    np.fill_diagonal(together, variance)

    def explained(some):
        return (shared[some] * np.linalg.solve(together[np.ix_(some, some)], shared[some])).sum()

    taken = []
    for segment in chosen:
        cost = 0.25 * (every[:, 1] - every[:, 0]) + 0.75
        before = explained(taken) if taken else 0.0
        gain = [0.0 if k in taken else (explained([*taken, k]) - before) / cost[k] for k in range(len(every))]
        taken.append(int(np.argmax(gain)))
        assert np.array_equal(every[taken[-1]], segment)


def test_classes_are_asked_what_tells_most_of_all_of_them():
    """More than what any of them would ask by itself tells; what could not be told of one is not asked again."""
    one, method = Recording("a", 20.0), Information()
    campaigns = {
        k: {"a": (one, AnswerHistory(np.array([[4.0 * k, 4.0 * k + 3.0], [0.0, 20.0]]), np.ones(2)))} for k in range(5)
    }
    methods = {label: method.among(campaign) for label, campaign in campaigns.items()}

    def told(segment):
        segments = np.array([segment])
        return sum(methods[label].gain(*each["a"], 0.0, segments)[0] for label, each in campaigns.items())

    places = information.asked_together(methods, campaigns, 2)
    assert len(places) == 2
    assert len(unlike(np.array([places[0][1:]]), np.array([places[1][1:]]))) == 1
    own = [told(methods[label].next(*each["a"])[0]) for label, each in campaigns.items()]
    assert told(places[0][1:]) > 1.02 * max(own)
    bad = campaigns[0]["a"][1].add(np.array([places[0][1:]]), np.array([np.nan]))
    again = information.asked_together(methods, campaigns | {0: {"a": (one, bad)}}, 1)
    assert len(unlike(np.array([again[0][1:]]), np.array([places[0][1:]]))) == 1


def test_long_recordings_are_asked_in_stretches():
    """The stretches tile the recording; labels cover it; answers about one leave the next one's questions open."""
    one = Recording("a", 200.0, events=np.array([[30.0, 31.0]]))
    method = Information()
    parts = method.stretches(one)
    assert [p.start for p in parts[1:]] == [p.end for p in parts[:-1]]
    assert (parts[0].start, parts[-1].end) == (0.0, 200.0)
    labels = method.labels(one, AnswerHistory(np.array([[0.0, 60.0]]), np.zeros(1)))
    assert labels.segments[0, 0] == 0
    assert labels.segments[-1, 1] == 200
    assert np.allclose(labels.segments[1:, 0], labels.segments[:-1, 1])
    longer = Information(event_length="40").stretches(Recording("a", 1200.0))
    assert [p.start for p in longer] == [0, 400, 800]
    assert [p.start - p.low for p in longer] == pytest.approx([0, 400 / 6, 400 / 6])


def test_one_queue_reaches_all_recordings():
    """60 answers touch all 20, and most go where something is; the same answers ask the same, whatever is in memory."""
    full = {"r3": np.array([[4.0, 5.0], [9.0, 10.5], [20.0, 21.0]]), "r11": np.array([[2.0, 3.0], [14.0, 16.0]])}
    campaign = {f"r{k}": (Recording(f"r{k}", 30.0, events=full.get(f"r{k}", NONE)), AnswerHistory()) for k in range(20)}
    who = SimulatedAnnotator(0.5)
    for _ in range(60):
        ((one, segments),) = Information().among(campaign).queue(campaign, 1)
        recording, asked = campaign[one.name]
        campaign[one.name] = recording, asked.add(segments, who(recording.events, segments))
    counts = {name: len(asked) for name, (_, asked) in campaign.items()}
    assert min(counts.values()) >= 1
    assert max(counts["r3"], counts["r11"]) > 1.5 * np.median(list(counts.values()))
    several = list(Information().among(campaign).queue(campaign, 3))
    assert len({one.name for one, _ in several}) == 3
    particles._kept.clear()
    information._summaries.clear()
    for (one, segments), (other, again) in zip(several, Information().among(campaign).queue(campaign, 3)):
        assert one.name == other.name
        assert np.array_equal(segments, again)


def test_many_recordings_are_opened_at_once(monkeypatch):
    """Nothing is worked out of a recording before it is asked about: one belief serves all of a length."""
    begun = []
    real = particles._first
    monkeypatch.setattr(particles, "_first", lambda *given: begun.append(given) or real(*given))
    information._summaries.clear()
    found = wk.queries({f"{k}": 30.0 + 0.001 * k for k in range(400)}, method="information")
    assert found.n_queries == 100
    assert found.left["n_events"] > 400
    assert len(begun) <= 4


def test_beliefs_in_memory_are_bounded(monkeypatch):
    monkeypatch.setattr(particles, "_KEPT", 2_000_000)
    for k in range(12):
        particle_posterior(np.array([[0.0, 5.0 + k]]), np.ones(1), recording_length=30.0,
                           expected=ParameterPrior.broad())  # fmt: skip
        assert sum(one.nbytes for one in particles._kept.values()) <= 2_000_000
    assert 1 < len(particles._kept) < 12


def test_a_signal_that_tells_is_trusted_and_noise_is_not():
    """Features that jump at the events' edges raise the weight of edges; features without a word do not."""
    rng = np.random.default_rng(0)
    times = np.arange(0, 20, 0.05)
    events = np.array([[3.0, 4.5], [9.0, 10.0], [15.0, 17.0]])
    on = ((times[:, None] >= events[:, 0]) & (times[:, None] < events[:, 1])).any(axis=1)
    weights = []
    for tells in (True, False):
        values = rng.normal(size=(len(times), 3)) + 6.0 * (tells & on)[:, None]
        one = Recording("a", 20.0, events=events, features=Features(times, values.astype(np.float32)))
        assert len(signal_of(one).edge)
        method = Information(query_cost_share=1.0, wrong_time=1e-6)
        done = run(method, one, SimulatedAnnotator(0.5), most_queries=24)
        weights.append(np.log(method.posterior(one, done.asked).value("edge_weight")).mean())
    assert weights[0] > weights[1] + 0.3


def test_an_event_that_the_signal_does_not_show_stays_possible():
    """However far the signal is trusted: one that was right about all others would else hide it for ever (crickets)."""
    rng, times = np.random.default_rng(0), np.arange(0, 20, 0.02)
    values = rng.normal(size=(len(times), 8)) + 30.0 * ((times > 3) & (times < 4.5))[:, None]
    heard = signal_of(Recording("a", 20.0, features=Features(times, values.astype(np.float32), "log-mel")))
    x = np.zeros(len(kernels.NAMES))
    for trust in (0.1, 1.0, 4.0):
        x[8:] = np.log(trust)
        shown, hidden = kernels._says(3.0, 4.5, x, heard), kernels._says(12.0, 13.5, x, heard)
        assert hidden >= np.log(0.02)
        assert shown > hidden


def scored(seed):
    """Three events in 30 s, and the scores of a detector with errors that go on for a second, ten a second."""
    rng, at = np.random.default_rng(seed), np.arange(0, 30, 0.1)
    onsets = np.array([4.0, 13.0, 22.0]) + rng.uniform(0, 5, 3)
    events = np.column_stack((onsets, onsets + rng.uniform(0.5, 1.5, 3)))
    errors = rng.normal(size=300)
    for k in range(1, 300):
        errors[k] = 0.9 * errors[k - 1] + np.sqrt(0.19) * errors[k]
    active = ((at[:, None] + 0.05 > events[:, 0]) & (at[:, None] + 0.05 < events[:, 1])).any(axis=1)
    table = pd.DataFrame({"recording": "a", "onset": at, "offset": at + 0.1, "score": np.where(active, 3.0, -3.0)})
    return events, table.assign(score=table["score"] + 2 * errors)


def test_twenty_answers_with_a_detector_are_better_than_either_alone():
    """A detector that knows nothing costs little. The recording's name is the same in all: nothing that was kept of
    another signal may be taken for this one."""
    wrong = []
    for seed in range(2):
        events, table = scored(seed)
        chances = table.assign(score=1 / (1 + np.exp(-table["score"])))
        noise = table.assign(score=np.random.default_rng(seed).permutation(table["score"]))
        row = []
        for given in (None, chances, noise):
            made = wk.queries({"a": 30.0}, method="information", scores=given)
            one = replace(made.recordings["a"], events=events)
            done = run(Information(wrong_time=1e-6), one, SimulatedAnnotator(0.5), most_queries=20)
            row.append(score([done])["wrong_time"])
        detected = table[table["score"] > 0]
        middle = ((detected["onset"] + detected["offset"]) / 2).to_numpy()
        hit = ((middle[:, None] > events[:, 0]) & (middle[:, None] < events[:, 1])).any(axis=1)
        total = (events[:, 1] - events[:, 0]).sum()
        wrong.append([*row, 0.1 * (~hit).sum() + max(0.0, total - 0.1 * hit.sum())])
    alone, both, useless, detector = np.mean(wrong, axis=0)
    assert both < 0.3 * min(alone, detector), wrong
    assert useless < 1.5 * alone, wrong


def test_scores_at_the_door(tmp_path):
    _, table = scored(0)
    table.to_csv(tmp_path / "scores.csv", index=False)
    made = wk.queries({"a": 30.0, "b": 20.0}, method="information", scores=tmp_path / "scores.csv", label="owl")
    assert made.recordings["a"].features.kind == "scores"
    assert made.recordings["b"].features is None
    scaled = wk.queries({"a": 30.0}, method="information", scores=table.assign(score=100 + 7 * table["score"]))
    both = (signal_of(each.recordings["a"]).level for each in (made, scaled))
    assert np.allclose(*both, atol=1e-3)
    made.write(tmp_path / "tasks")
    held = Campaign.open(tmp_path / "tasks")
    assert held.everything()["a"].features.kind == "scores"
    assert held.next().frame.equals(made.frame)
    late = table[table["onset"] > 15].assign(label="owl")  # a table may list detections only
    one = wk.queries({"a": 30.0}, method="information", scores=late, label="owl").recordings["a"].features
    assert np.allclose(one.values[one.times < 15], late["score"].min())
    for wrong, said in (({"scores": late}, "none of 'event', only of owl"),
                        ({"scores": table.drop(columns="score")}, "'score' is missing"),
                        ({"scores": table.assign(recording="x")}, "scores of 'x'"),
                        ({"scores": table, "features": tmp_path}, "not both"),
                        ({"scores": table, "method": "fixed", "segment_length": 3}, "fixed has no use")):  # fmt: skip
        with pytest.raises(wk.InvalidInput, match=said):
            wk.queries({"a": 30.0}, **{"method": "information", **wrong})


def test_the_door():
    """Without any option it asks; slips are named."""
    found = wk.queries({"a": 30.0, "b": 20.0}, method="information", label="owl")
    assert found.n_queries == 2
    assert found.left["answers_left"] > 0
    assert found.by_hand() > 50
    assert wk.queries({"a": 30.0}, method="information", queries_per_recording=4).n_queries == 4
    for wrong, said in (({"wrong_time": 0}, "wrong_time"), ({"event_rate": -1}, "event_rate"),
                        ({"presence_criterion": 50}, "percentage"), ({"event_length": "x"}, "x")):  # fmt: skip
        with pytest.raises(wk.InvalidInput, match=said):
            wk.queries({"a": 30.0}, method="information", **wrong)


def test_a_generous_target_is_not_met_by_having_found_nothing():
    """One second of events and a target of one wrong second: half of them at least must be right."""
    part = Stretch(0.0, 10.0, 0.0, 10.0)
    now = {"target": 1.0, "event_seconds": 1.0}
    assert [Information().is_content(now | {"wrong_time": x}, part) for x in (0.9, 0.51, 0.49)] == [False, False, True]


def test_killed_it_asks_the_same(tmp_path):
    """kill -9 in the middle of `queries --resume`, then again: the queries of a campaign that was never disturbed."""
    import os
    import signal
    import time

    from benchmarks.bench_campaign import command, export, started

    from weakly.studies.queries.campaign import Campaign

    truth = np.array([[3.0, 4.5], [12.0, 12.8]])
    for name in ("calm", "killed"):
        wk.queries({"a": 20.0}, method="information", queries_per_recording=3).write(tmp_path / name)
    for turn in range(3):
        for name in ("calm", "killed"):
            frame = Campaign.open(tmp_path / name).queries
            said = SimulatedAnnotator(0.5)(truth, frame[["onset", "offset"]].to_numpy(float))
            answers = export(tmp_path / "e.csv", frame["query"], "ann", np.where(said == 1, "yes", "no"))
            assert command("answers", answers, "--queries", tmp_path / name)[0] == 0
            if name == "killed":
                child = started("queries", "--resume", tmp_path / name)
                time.sleep(0.1 * turn)
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                particles._kept.clear()
            assert command("queries", "--resume", tmp_path / name)[0] == 0
    calm, killed = (Campaign.open(tmp_path / name).queries for name in ("calm", "killed"))
    assert len(calm) == 12
    assert calm["query"].tolist() == killed["query"].tolist()


def test_signals_in_memory_are_bounded(monkeypatch):
    from weakly.methods import change_point

    monkeypatch.setattr(change_point, "_kept", type(change_point._kept)())
    monkeypatch.setattr(change_point, "_MOST", 300_000)
    times = np.arange(0.01, 60.0, 0.02)
    for k in range(12):
        values = np.random.default_rng(k).random((len(times), 4)).astype(np.float32)
        one = Recording("a", 60.0, features=Features(times, values, "log-mel"))
        assert signal_of(one) is signal_of(one)
        assert 0 < sum(map(change_point._size, change_point._kept.values())) <= 300_000
    assert 1 < len(change_point._kept) < 12
    long = Recording("b", 600.0, features=Features(10 * times, values, "log-mel"))  # alone more than that
    assert signal_of(long) is signal_of(long)
    assert len(change_point._kept) == 1


def test_an_event_that_is_harder_to_hear_than_the_others_is_believed():
    """One event is noticed after 1.8 s, its neighbour after 5.7 s of 8: neither a share nor seconds are common."""
    events, need = np.array([[3.7, 13.4], [14.2, 22.2]]), np.array([1.8, 5.7])
    segments = np.array([(a, a + w) for w in (2.5, 3.5, 6.5, 8.0) for a in np.arange(0, 30.001 - w, w / 2)])
    both = np.minimum(events[:, 1], segments[:, 1:]) - np.maximum(events[:, 0], segments[:, :1])
    said = (both >= need).any(axis=1).astype(float)
    known = particle_posterior(segments, said, recording_length=30.0, expected=ParameterPrior.broad(), particles=500)
    middle = (known.edges[1:] + known.edges[:-1]) / 2
    assert known.active[(middle > 5) & (middle < 12)].mean() > 0.7
    assert known.active[(middle > 15) & (middle < 21)].mean() > 0.4  # 0.13 if all events follow one criterion


def test_the_wrong_seconds_of_each_particle_and_a_target_that_is_met_nine_times_in_ten():
    recording, asked = (
        Recording("a", 30.0),
        AnswerHistory(np.array([[0.0, 4.0], [2.0, 6.0], [3.0, 9.0]]), np.array([1.0, 0.0, 1.0])),
    )
    method = Information(signal=False, wrong_time=1.0)
    known, part = method.posterior(recording, asked), method.stretches(recording, asked)[0]
    each = known.wrong_seconds(3.0, 11.0)
    middle = (known.edges[1:] + known.edges[:-1]) / 2
    inside, label = (middle > 3) & (middle < 11), known.active > 0.5
    for i in range(0, len(known.count), 97):
        spans = zip(known.starts[i, : known.count[i]], known.ends[i, : known.count[i]])
        truth = np.any([(middle > a) & (middle < b) for a, b in spans], axis=0) if known.count[i] else 0 * label
        assert each[i] == pytest.approx(0.01 * (truth != label)[inside].sum(), abs=0.05)
    whole = known.wrong_seconds(0.0, 30.0)
    assert whole.mean() == pytest.approx(known.wrong_time, abs=1e-3)
    now = method.state(recording, asked)
    assert now["likely"] == pytest.approx(now["wrong_time"] + 1.28 * known.wrong_factor * whole.std(), rel=1e-6)
    near = now | {"wrong_time": 0.9, "event_seconds": 9.0}
    assert method.is_content(near | {"likely": 1.0}, part)
    assert not method.is_content(near | {"likely": 1.01}, part)
    assert Information(signal=False).is_content(near | {"likely": 2.0, "target": 1.0}, part)
    little = now | {"event_seconds": 0.16, "likely": 0.9}  # where the half of it is hard to say
    assert [method.is_content(little | {"wrong_time": x}, part) for x in (0.12, 0.26)] == [True, False]


def test_half_a_second_without_an_event_is_closed_by_few_answers():
    """A recording that is hardly longer than the shortest segment ends, and is absent."""
    done = run(Information(), Recording("a", 0.5, events=NONE), SimulatedAnnotator(0.5), most_queries=20)
    assert done.n_queries <= 4
    assert len(done.labels.events) == 0
