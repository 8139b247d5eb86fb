"""The two engines for the posterior of a timeline, the exact chain and the particles, on the same answers."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import weakly as wk
from weakly.posterior import particles
from weakly.posterior.chain import prepare
from weakly.posterior.expected import RATES, ParameterPrior
from weakly.posterior.particle_kernels import NAMES
from weakly.posterior.particles import particle_posterior
from weakly.posterior.renewal import ENDS, Renewal, TimelinePosterior

LENGTH, PARTICLES = 20.0, 4000
SLIPS = [(0.02, 0.02), (0.05, 0.1), (0.15, 0.1), (0.001, 0.2)]


def logit(p):
    return np.log(p / (1 - p))


def posterior(segments, present, *, renewal, **how):
    """The exact one."""
    return prepare(segments, present, renewal=renewal, **how).posterior(renewal)


def certain(**values):
    """Numbers of the particles that are as good as known."""
    scale = {"presence_criterion": logit, "guess_rate": lambda p: logit(2 * p), "lapse_rate": lambda p: logit(2 * p)}
    given = {name: (float(scale.get(name, np.log)(value)), 0.01) for name, value in values.items()}
    return ParameterPrior.broad(given, doubt=1e-9)


def world(seed):
    """Segments and answers about a process that has gone on for a minute when the recording begins, and both
    posteriors of it under what made the answers."""
    rng = np.random.default_rng(seed)
    (guess, lapse), criterion = SLIPS[seed % 4], (0.5, 0.3, 0.7)[seed % 3]
    rate, median = (0.1, 0.2)[seed % 2], (1.0, 2.0)[seed // 2 % 2]
    events, t = [], -60.0
    while t < LENGTH:
        t += rng.exponential(1 / rate)
        begun, t = t, t + median * np.exp(0.4 * rng.normal())
        if t > 0 and begun < LENGTH:
            events.append((max(begun, 0.0), min(t, LENGTH)))
    starts = np.round(rng.uniform(0, LENGTH - 1, 10), 1)
    wide = np.column_stack((starts, np.minimum(starts + np.round(rng.uniform(0.5, 6.0, 10), 1), LENGTH)))
    segments = np.concatenate(([(a, a + 4.0) for a in np.arange(0.0, LENGTH, 4.0)], wide))
    share = [max((min(b, e) - max(a, s)) / (b - a) for a, b in [(-1.0, -0.5), *events]) for s, e in segments]
    chance = np.where(np.array(share) >= criterion, 1 - lapse, guess)
    present = (rng.random(len(segments)) < chance).astype(float)
    law = wk.Lengths.law(stats.lognorm(0.4, scale=median))
    who = wk.Annotator(presence_criterion=criterion, guess_rate=guess, lapse_rate=lapse)
    chance = -np.expm1(-rate * 0.05)  # that an event starts at a boundary
    exact = posterior(segments, present, renewal=Renewal.from_gaps(law, gap=0.05 * (1 - chance) / chance, step=0.05),
                      recording_length=LENGTH, annotator=who)  # fmt: skip
    known = certain(presence_criterion=criterion, spread=0.002, guess_rate=guess, lapse_rate=lapse, event_rate=rate,
                    event_length=median, length_spread=0.4, seconds=1e3)  # fmt: skip
    return exact, particle_posterior(segments, present, recording_length=LENGTH, expected=known)


@pytest.mark.parametrize("seed", [0, 1, 3, 6, 9, 10])
def test_both_engines_say_the_same(seed, monkeypatch):
    """Within the error of so many particles, at the ends of the recording as in its middle, slips included; under the
    same names."""
    monkeypatch.setattr(particles, "PARTICLES", PARTICLES)
    exact, drawn = world(seed)
    assert isinstance(exact, TimelinePosterior)
    assert isinstance(drawn, TimelinePosterior)
    mine, theirs = (np.add.reduceat(one.active, np.arange(0, len(one.active), len(one.active) // 40)) /
                    (len(one.active) // 40) for one in (drawn, exact))  # fmt: skip
    assert np.abs(mine - theirs).mean() < 0.01
    assert np.abs(mine - theirs).max() < 0.05
    assert drawn.n_events == pytest.approx(exact.n_events, abs=0.08)
    assert drawn.event_seconds == pytest.approx(exact.event_seconds, abs=0.15)
    assert drawn.wrong_time == pytest.approx(exact.wrong_time, rel=0.05, abs=0.05)
    further = np.array([(0.0, 1.0), (0.0, 20.0), (5.0, 8.0), (11.5, 12.5), (18.0, 20.0)])
    chances = [drawn.chance(segment) for segment in further]
    person = exact.people[0]
    theirs = person.low + (person.high - person.low) * exact.satisfied(further)
    np.testing.assert_allclose(chances, theirs, atol=0.03)


@pytest.mark.parametrize("seed", [1, 2, 6])
def test_samples_and_events_have_one_form(seed, monkeypatch):
    """Tables with the same columns; samples as many as asked for, whose share of time is P(active)."""
    monkeypatch.setattr(particles, "PARTICLES", PARTICLES)
    both = world(seed)
    for one in both:
        table = one.sample(3000, rng=0)
        assert list(table) == ["sample", "onset", "offset"]
        assert table["onset"].min() >= 0
        assert table["offset"].max() <= LENGTH
        assert table["sample"].max() < 3000
        assert len(table) / 3000 == pytest.approx(one.n_events, abs=0.12)
        assert (table["offset"] - table["onset"]).sum() / 3000 == pytest.approx(one.event_seconds, abs=0.25)
    exact, drawn = (one.events(0.5, rng=0) for one in both)
    assert list(exact) == list(drawn) == ["onset", "offset", "confidence", *ENDS]
    sure = exact[exact["confidence"] > 0.7]
    for row in sure.itertuples():
        near = drawn.iloc[(drawn["onset"] - row.onset).abs().argmin()]
        assert near["onset"] == pytest.approx(row.onset, abs=0.2)
        assert near["offset"] == pytest.approx(row.offset, abs=0.2)
        assert near["onset_low"] == pytest.approx(row.onset_low, abs=0.6)


def test_nothing_above_the_threshold_is_an_empty_table():
    quiet = posterior([(0, 20)], [0], renewal=Renewal(wk.Lengths.fixed(1.0), 0.01, 0.1), recording_length=LENGTH)
    assert isinstance(quiet.events(), pd.DataFrame)
    assert len(quiet.events()) == 0


def test_recordings_that_tell_nothing_of_their_rate_leave_it_as_open_as_it_was():
    """What nobody knows of the law of rates counts with its own prior; answers that prefer few events count more."""
    before = ParameterPrior.broad({"event_rate": (-3.0, 1.0)})
    k = NAMES.index("event_rate")
    silent = before.taught([], [before.likely_laws(np.zeros(len(RATES)))] * 5)
    assert silent.mean[k] == before.mean[k]
    assert np.sqrt(before.covariance[k, k]) <= np.sqrt(silent.covariance[k, k]) <= 1.6
    rare = before.taught([], [before.likely_laws(-np.exp(RATES + 5))] * 5)
    assert rare.mean[k] < before.mean[k] - 1
    others = np.delete(np.arange(len(NAMES)), k)
    assert np.array_equal(rare.mean[others], before.mean[others])
