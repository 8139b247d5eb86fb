"""Presence rules and annotators: definitions, ties, integrals, votes."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from weakly import Annotator, InvalidInput, PresenceRule
from weakly import theory as th
from weakly.model.annotator import PRESETS, segment_accuracy
from weakly.model.answer_model import AnswerModel, AnswerModels


def test_the_example_of_the_paper():
    event, segment = (0, 2), (1, 4)
    assert segment_accuracy(event=event, segment=segment, presence_criterion=0.5) == pytest.approx(1 / 3)
    assert segment_accuracy(event=event, segment=segment, presence_criterion=0.51) == pytest.approx(2 / 3)


def test_ties_are_present():
    assert PresenceRule.fraction(0.5).is_present(event=(0.1, 0.4), segment=(0.1, 0.25))
    assert segment_accuracy(event=(0.1, 0.4), segment=(0.1, 0.25), presence_criterion=0.5) == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    start = rng.uniform(0, 1e4, 2000)
    whole = PresenceRule.fraction(1.0).is_present(
        event=np.column_stack((start, start + 0.3)), segment=np.column_stack((start - 0.1, start + 0.3))
    )
    assert whole.all()


@given(
    start=st.floats(-5, 5), d=st.floats(0.05, 5), q=st.floats(0.05, 5), low=st.floats(0.01, 1), high=st.floats(0.01, 1)
)
def test_presence_falls_as_the_criterion_rises(start, d, q, low, high):
    low, high = min(low, high), max(low, high)
    strict, lax = (PresenceRule.fraction(g).is_present(event=(0, d), segment=(start, start + q)) for g in (high, low))
    assert lax or not strict


@pytest.mark.parametrize(
    ("rule", "event", "segment", "present"),
    [
        (PresenceRule.seconds(0.25), (0, 1), (0.75, 3), True),
        (PresenceRule.seconds(0.25), (0, 0.2), (-1, 3), False),
        (PresenceRule.any(), (0, 1), (0.999, 3), True),
        (PresenceRule.any(), (0, 1), (1, 3), False),
        (PresenceRule.coverage(0.5), (0, 1), (-1, 1), True),
        (PresenceRule.coverage(0.5), (0, 1), (-1, 1.1), False),
        (PresenceRule.shorter(1.0), (0, 5), (1, 2), True),
        (PresenceRule.shorter(1.0), (0, 5), (4.5, 5.5), False),
        (PresenceRule.margin(0.5), (1.4, 1.6), (0, 3), True),
        (PresenceRule.margin(0.5), (0.1, 0.4), (0, 3), False),
        (PresenceRule.preset("fsd-mix-sed"), (0, 4), (3.4, 6), True),
        (PresenceRule.preset("fsd-mix-sed"), (0, 0.4), (0.2, 6), True),
    ],
)
def test_rules(rule, event, segment, present):
    assert bool(rule.is_present(event=event, segment=segment)) is present


def test_a_margin_is_out_of_reach_where_event_and_segment_together_are_too_short():
    rule = PresenceRule.margin(1.0)
    found = rule.required_overlap(event_length=[0.5, 0.5, 1.5], segment_length=[1.2, 1.6, 0.5])
    assert found.tolist() == [np.inf, 1.0, 1.0]


def test_presets_have_names_and_typos_are_answered():
    assert {"opensoundscape", "birdnet", "koogu", "hoplite"} <= set(PRESETS)
    with pytest.raises(InvalidInput, match="did you mean 'birdnet'"):
        PresenceRule.preset("birdnett")
    assert PresenceRule.parse("0.5").criterion == 0.5
    assert PresenceRule.parse("seconds:0.25|fraction:0.5").criterion is None
    with pytest.raises(InvalidInput, match="a percentage"):
        PresenceRule.parse("50")


@pytest.mark.parametrize(
    "who",
    [
        Annotator(presence_criterion=0.4, guess_rate=0.1, lapse_rate=0.2),
        Annotator(presence_criterion=0.4, guess_rate=0.1, votes=(2, 3)),
        Annotator.beta(2, 3),
        Annotator.beta(0.3, 0.6, guess_rate=0.05, lapse_rate=0.1, flip_rate=0.02),
        Annotator.logistic(0.3, 0.05),
        Annotator.logistic(0.3, 0.0005),
        Annotator.logistic(0.9, 0.2, flip_rate=0.1),
        Annotator.logistic(0.0, 1.9, guess_rate=0.1),
        Annotator.logistic(1.0, 50.0),
        Annotator(presence_criterion=stats.uniform(0.2, 0.5)),
        Annotator(presence_criterion=stats.truncnorm(-2, 2, loc=0.5, scale=0.2), votes=(2, 3), lapse_rate=0.1),
        Annotator(presence_criterion=stats.beta(2, 3), votes=(3, 5)),
    ],
)
@pytest.mark.parametrize("h", [0.0, 0.13, 0.4, 0.77, 1.0])
def test_integrals_are_quadrature(who, h):
    criterion = who.presence_criterion
    special = (
        [criterion]
        if isinstance(criterion, float)
        else list(criterion.ppf([0, 0.001, 0.05, 0.3, 0.5, 0.7, 0.95, 0.999, 1]))
    )
    special += [0.0, h, *np.geomspace(1e-12, 1e-2, 6)]
    cuts = np.unique([x for x in special if 0 <= x <= h])
    area = moment = 0.0
    for a, b in itertools.pairwise(cuts):
        area += integrate.quad(who.probability, a, b, epsabs=1e-14)[0]
        moment += integrate.quad(lambda u: u * who.probability(u), a, b, epsabs=1e-14)[0]
    ours = who.integrals(h)
    assert ours[0] == pytest.approx(area, abs=3e-10)
    assert ours[1] == pytest.approx(moment, abs=3e-10)


@given(
    middle=st.floats(0, 1), log_spread=st.floats(-7, 3), guess=st.floats(0, 0.4), lapse=st.floats(0, 0.4),
    h=st.floats(0, 1),
)  # fmt: skip
def test_a_logistic_curve_ends_at_the_guess_rate_and_the_lapse_rate(middle, log_spread, guess, lapse, h):
    spread = float(np.exp(log_spread))
    who = Annotator.logistic(middle, spread, guess_rate=guess, lapse_rate=lapse)
    assert who.probability([0.0, 1.0]).tolist() == [guess, guess + (1 - guess - lapse)]
    whole = stats.logistic(middle, spread)
    low, high = whole.cdf([0.0, 1.0])
    rise = (whole.cdf(h) - low) / (high - low)
    assert who.criterion_cdf(h) == pytest.approx(rise, abs=1e-15 / (high - low))
    assert who.presence_criterion.ppf(who.criterion_cdf(h)) == pytest.approx(h, abs=1e-6) or rise in (0, 1)
    assert AnswerModel.of(annotator=who).low == guess


@given(a=st.floats(0.4, 8), b=st.floats(0.4, 8), delta=st.floats(0.1, 4))
def test_beta_closed_form(a, b, delta):
    from scipy.special import betainc

    m1, m2 = a / (a + b), a * (a + 1) / ((a + b) * (a + b + 1))
    x = min(delta, 1.0)
    p, m1, m2 = betainc(a, b, x), m1 * betainc(a + 1, b, x), m2 * betainc(a + 2, b, x)
    closed = ((p + 2 * m1) * delta - 2 * m2) / (delta * (1 + delta)) + (1 - p) * delta / (1 + delta)
    ours = th.overlap_accuracy(event_length=2, segment_length=2 * delta, annotator=Annotator.beta(a, b))
    assert ours == pytest.approx(closed, abs=1e-11)


@given(g=st.floats(0.05, 1), delta=st.floats(0.1, 4), guess=st.floats(0, 0.4), lapse=st.floats(0, 0.4))
def test_guesses_and_lapses_mix(g, delta, guess, lapse):
    plain = th.overlap_accuracy(event_length=1, segment_length=delta, presence_criterion=g)
    who = Annotator(presence_criterion=g, guess_rate=guess, lapse_rate=lapse)
    mixed = (1 - guess - lapse) * plain + (guess + lapse * delta) / (1 + delta)
    assert th.overlap_accuracy(event_length=1, segment_length=delta, annotator=who) == pytest.approx(mixed, abs=1e-12)


@pytest.mark.parametrize(
    "who",
    [Annotator.beta(3, 3), Annotator.beta(2, 5, lapse_rate=0.3), Annotator.beta(2, 3, votes=(2, 3))],
    ids=["beta", "lapses", "votes"],
)
@pytest.mark.parametrize("delta", [0.23, 0.8, 1.7])
def test_event_recall_of_random_annotators(who, delta):
    rng = np.random.default_rng(11)
    n = 200_000
    k = 1 if who.votes is None else who.votes[1]
    j = 1 if who.votes is None else who.votes[0]
    criteria = np.sort(who.presence_criterion.rvs((n, k), random_state=rng), axis=1)[:, j - 1]
    phase = rng.uniform(0, delta, n)
    noticed = np.zeros(n, bool)
    for i in range(int(1 / delta) + 3):
        share = np.clip(np.minimum((i + 1) * delta, phase + 1) - np.maximum(i * delta, phase), 0, None)
        noticed |= (share >= criteria) & (rng.random(n) >= who.lapse_rate)
    ours = th.event_recall(event_length=1, segment_length=delta, annotator=who)
    assert ours == pytest.approx(noticed.mean(), abs=4 * 0.5 / np.sqrt(n) + 1e-9)


def test_certain_annotators_are_criteria():
    assert th.recall(event_length=1, segment_length=1, annotator=Annotator(presence_criterion=0.3)) == th.recall(
        event_length=1, segment_length=1, presence_criterion=0.3
    )
    crowd = Annotator(presence_criterion=0.3, votes=(2, 3))
    assert th.recall(event_length=1, segment_length=1, annotator=crowd) == pytest.approx(1 - 0.09, abs=1e-14)


def test_guesses_outside_events_count_for_the_recording():
    who = Annotator(presence_criterion=0.5, guess_rate=0.1)
    ask = {"event_length": 1, "segment_length": 1, "n_events": 0, "recording_length": 10}
    assert th.recording_accuracy(annotator=who, **ask) == pytest.approx(0.9)
    flips = Annotator(presence_criterion=0.5, flip_rate=0.1)
    ask = {**ask, "n_events": 2}
    assert th.recording_accuracy(annotator=flips, **ask) == pytest.approx(
        th.recording_accuracy(presence_criterion=0.5, flip_rate=0.1, **ask), abs=1e-14
    )


def test_bad_annotators():
    with pytest.raises(InvalidInput, match=r"votes must be \(j, k\)"):
        Annotator(votes=(3, 2))
    with pytest.raises(InvalidInput, match="guess_rate"):
        Annotator(guess_rate=0.7, lapse_rate=0.7)
    with pytest.raises(InvalidInput, match="presence_criterion must be in"):
        Annotator(presence_criterion=30)
    with pytest.raises(InvalidInput, match=r"^a must be a number > 0, got -1$"):
        Annotator.beta(-1, 2)


@pytest.mark.parametrize("given", [{"presence_criterion": 0.3}, {"presence_criterion": [0.2, 0.6]},
                                   {"annotator": "beta:2,3"}, {"rule": "seconds:1"}])  # fmt: skip
def test_the_parts_of_whoever_answers_weigh_one(given):
    who = AnswerModel.of(**given)
    parts = who.parts()
    assert sum(part.weight for part in parts) == pytest.approx(1)
    if who.rule is None:
        assert sum(part.weight * part.rule.criterion for part in parts) == pytest.approx(who.middle, abs=2e-3)


@pytest.mark.parametrize("name", ["presence_criterion", "rule", "annotator"])
@pytest.mark.parametrize(("value", "words"), [([], "at least one number"), ([[0.1, 0.2]], r"got shape \(1, 2\)")])
def test_nobody_and_tables_of_criteria_are_refused_at_every_door(name, value, words):
    with pytest.raises(InvalidInput, match=f"{name} must .*{words}"):
        AnswerModels.of(**{name: value})
