"""Laws of lengths: expectations, profiles, exact optima, searches."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, stats

from weakly import Annotator, InvalidInput, Lengths, PresenceRule
from weakly import theory as th
from weakly.theory.optimum import maximise

SAMPLES = hnp.arrays(float, st.integers(1, 12), elements=st.floats(0.05, 20))
CRITERION = st.floats(0.02, 1)


def slow_mean(values, q, g):
    return np.mean(th.overlap_accuracy(event_length=np.asarray(values), segment_length=q, presence_criterion=g))


def slow_pooled(values, q, g, **who):
    who = who or {"presence_criterion": g}
    wrong = th.wrong_time(event_length=np.asarray(values), segment_length=q, **who)
    return 1 - np.mean(wrong) / np.mean(np.asarray(values) + q)


@given(values=SAMPLES, q=st.floats(0.05, 30), g=CRITERION)
def test_a_sample_is_the_mean_over_its_values(values, q, g):
    law = Lengths.sample(values)
    ask = {"event_length": law, "segment_length": q, "presence_criterion": g}
    each = {**ask, "event_length": values}
    assert th.overlap_accuracy(**ask, weighting="event") == pytest.approx(slow_mean(values, q, g), abs=1e-11)
    assert th.overlap_accuracy(**ask) == pytest.approx(slow_pooled(values, q, g), abs=1e-11)
    assert th.event_recall(**ask) == pytest.approx(np.mean(th.event_recall(**each)), abs=1e-11)
    assert th.wrong_time(**ask) == pytest.approx(np.mean(th.wrong_time(**each)), abs=1e-10)
    counts = th.expected_present_segments(**each)
    assert th.expected_present_segments(**ask) == pytest.approx(np.mean(counts), rel=1e-9, abs=1e-11)
    true = np.mean(th.recall(**each) * values)
    assert th.recall(**ask) == pytest.approx(true / values.mean(), abs=1e-11)
    if counts.any():
        assert th.precision(**ask) == pytest.approx(true / np.mean(counts * q), rel=1e-9)


@given(values=SAMPLES, g=CRITERION, objective=st.sampled_from(["overlap", "recording"]))
def test_no_segment_length_beats_the_exact_optimum(values, g, objective):
    law = Lengths.sample(values)
    best = th.optimal_segment_length(event_length=law, presence_criterion=g, objective=objective)

    def score(q):
        if objective == "overlap":
            return th.overlap_accuracy(event_length=law, segment_length=q, presence_criterion=g)
        return -th.wrong_time(event_length=law, segment_length=q, presence_criterion=g)

    grid = np.concatenate((np.geomspace(0.5 * g * values.min(), 5 * values.max(), 400), g * values))
    assert score(best) >= np.max(score(grid)) - 1e-12


@settings(max_examples=20)
@given(values=SAMPLES, g=CRITERION)
def test_no_segment_length_beats_the_event_weighted_optimum(values, g):
    law = Lengths.sample(values)
    best = th.optimal_segment_length(event_length=law, presence_criterion=g, weighting="event")
    grid = np.concatenate((np.geomspace(0.5 * g * values.min(), 5 * values.max(), 300), g * values))
    ask = {"event_length": law, "presence_criterion": g, "weighting": "event"}
    reached = th.overlap_accuracy(segment_length=best, **ask)
    assert reached >= np.max(th.overlap_accuracy(segment_length=grid, **ask)) - 1e-12
    assert reached <= th.best_overlap_accuracy(presence_criterion=g) + 1e-12


def test_root_mean_square_sets_the_recording_optimum_of_narrow_laws():
    values = np.array([1.0, 1.1, 1.25])
    best = th.optimal_segment_length(event_length=Lengths.sample(values), presence_criterion=0.5, objective="recording")
    assert best == pytest.approx(np.sqrt(2) * 0.5 * np.sqrt(np.mean(values**2)), abs=1e-14)


@pytest.mark.parametrize(
    "law", [stats.expon(), stats.uniform(0.5, 2), stats.gamma(0.8, loc=0.5), stats.lognorm(0.7), stats.weibull_min(1.5)]
)
@pytest.mark.parametrize(("q", "g"), [(0.7, 0.5), (3.0, 0.9)])
def test_a_law_is_its_integral(law, q, g):
    lengths = Lengths.law(law)
    cuts = np.unique([0.0, law.cdf(q / g), *(0.5 ** np.arange(1, 45, 3)), *(1 - 0.5 ** np.arange(1, 45, 3)), 1.0])

    def expect(function):
        # over the quantiles: what is left of the integrand is bounded or a logarithm
        return sum(
            integrate.quad(lambda u: function(law.ppf(u)), a, b, epsabs=1e-13, epsrel=1e-11)[0]
            for a, b in itertools.pairwise(cuts)
        )

    one = {"segment_length": q, "presence_criterion": g}
    accuracy = expect(lambda d: th.overlap_accuracy(event_length=d, **one))
    wrong = expect(lambda d: th.wrong_time(event_length=d, **one))
    assert th.overlap_accuracy(event_length=lengths, **one, weighting="event") == pytest.approx(accuracy, abs=1e-10)
    assert th.overlap_accuracy(event_length=lengths, **one) == pytest.approx(1 - wrong / (law.mean() + q), abs=1e-9)
    assert th.wrong_time(event_length=lengths, **one) == pytest.approx(wrong, abs=1e-9)


def test_the_exponential_law_has_a_closed_form():
    from scipy.special import exp1

    q, g = 0.7, 0.5
    kappa, x = 1 + 2 * g + 2 * g * g, q / g
    p0, m1 = 1 - np.exp(-x), 1 - np.exp(-x) * (1 + x)
    near = np.exp(q) * (exp1(q) - exp1(q + x))
    closed = kappa * p0 - 2 * g * g * m1 / q - kappa * q * near + q * np.exp(q) * exp1(q + x)
    ours = th.overlap_accuracy(event_length=stats.expon(), segment_length=q, presence_criterion=g, weighting="event")
    assert ours == pytest.approx(closed, abs=1e-13)


def test_the_optimum_of_a_law_is_a_root_of_its_slope():
    law, g = stats.gamma(2.0), 0.6
    for objective, weighting in (("recording", "segment"), ("overlap", "segment"), ("overlap", "event")):
        best = th.optimal_segment_length(
            event_length=law, presence_criterion=g, objective=objective, weighting=weighting
        )
        fine = best * (1 + np.linspace(-1e-2, 1e-2, 41))
        if objective == "recording":
            score = -th.wrong_time(event_length=law, segment_length=fine, presence_criterion=g)
        else:
            score = th.overlap_accuracy(
                event_length=law, segment_length=fine, presence_criterion=g, weighting=weighting
            )
        top = np.polyfit(fine / best - 1, score, 4)
        roots = np.roots(np.polyder(top))
        nearest = roots[np.argmin(np.abs(roots))].real
        assert nearest == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("weighting", ["event", "segment"])
def test_profile_is_the_loop(weighting):
    rng = np.random.default_rng(5)
    values = rng.lognormal(0, 1, 500)
    q, g = np.geomspace(0.05, 20, 9), np.linspace(0.05, 1, 7)
    table = th.overlap_accuracy_profile(values, segment_length=q, presence_criterion=g, weighting=weighting)
    slow = slow_mean if weighting == "event" else slow_pooled
    assert table.shape == (9, 7)
    assert table == pytest.approx(np.array([[slow(values, width, c) for c in g] for width in q]), abs=1e-12)


def test_ties_of_a_sample_count_as_present():
    law = Lengths.sample([0.1 + 0.2, 1.0])
    value = th.event_recall(event_length=law, segment_length=0.15, presence_criterion=0.5)
    assert value == pytest.approx(0.5)


@pytest.mark.parametrize("rule", [PresenceRule.seconds(0.4), PresenceRule.preset("birdnet"), PresenceRule.shorter(0.8)])
def test_rules_over_laws(rule):
    ask = {"segment_length": [0.5, 1.5], "rule": rule}
    values = np.array([0.3, 0.45, 2.0, 5.0])
    sample = th.overlap_accuracy(event_length=Lengths.sample(values), **ask, weighting="event")
    assert sample == pytest.approx(th.overlap_accuracy(event_length=values[:, None], **ask).mean(axis=0), abs=1e-13)
    law = Lengths.law(stats.uniform(0.2, 3))
    u = (np.arange(200_000) + 0.5) / 200_000 * 3 + 0.2
    for function in (partial(th.overlap_accuracy, weighting="event"), th.wrong_time, th.event_recall):
        slow = function(event_length=u[:, None], **ask).mean(axis=0)
        assert function(event_length=law, **ask) == pytest.approx(slow, abs=2e-5)


def test_optimum_of_a_rule():
    rule = PresenceRule.seconds(0.4)
    best = th.optimal_segment_length(event_length=1.0, rule=rule)
    same = th.optimal_segment_length(event_length=1.0, presence_criterion=0.4)
    assert best == pytest.approx(same, rel=1e-9)
    several = th.optimal_segment_length(event_length=Lengths.sample([0.3, 1.0, 2.0]), rule=rule)
    grid = np.geomspace(0.05, 20, 2000)
    values = [slow_pooled([0.3, 1.0, 2.0], q, None, rule=rule) for q in grid]
    assert slow_pooled([0.3, 1.0, 2.0], several, None, rule=rule) >= max(values) - 1e-12


@pytest.mark.parametrize("rule", [PresenceRule.any(), PresenceRule.coverage(0.5), PresenceRule.shorter(0.5)])
def test_some_rules_have_no_optimum(rule):
    with pytest.raises(InvalidInput, match=r"no optimal segment length for .*: shorter segments are always better"):
        th.optimal_segment_length(event_length=1.0, rule=rule)


def test_annotators_over_laws():
    who = Annotator.beta(2, 3, guess_rate=0.02)
    values = np.array([0.4, 1.0, 3.0])
    ask = {"segment_length": 0.9, "annotator": who}
    for function in (partial(th.overlap_accuracy, weighting="event"), th.wrong_time, th.event_recall):
        each = function(event_length=values, **ask)
        assert function(event_length=Lengths.sample(values), **ask) == pytest.approx(each.mean(), abs=1e-13)


def test_event_recall_of_seconds_over_a_law_bends_at_twice_the_seconds():
    b, q, low, high = 0.5, 1.1, 0.1, 4.1
    rising = ((2 * b) ** 2 - b**2) / 2 / q + (q - 2 * b) * b / q  # (d + q - 2 b) / q for d from b to 2 b
    found = th.event_recall(
        event_length=Lengths.law(stats.uniform(low, high - low)), segment_length=q, rule=PresenceRule.seconds(b)
    )
    assert found == pytest.approx((rising + high - 2 * b) / (high - low), abs=1e-12)


def test_a_lapse_may_be_flipped_back():
    who = Annotator(presence_criterion=0.5, lapse_rate=0.2, flip_rate=0.1)
    met = 0.8 * 0.9 + 0.2 * 0.1
    # An event of 1 s and segments of 2 s: half of it is always in one of them, and never in two.
    assert th.event_recall(event_length=1.0, segment_length=2.0, annotator=who) == pytest.approx(met, abs=1e-12)


@pytest.mark.parametrize("weighting", [{}, {"weighting": "event"}])
def test_the_optimum_is_the_peak_of_the_accuracy_of_the_same_name(weighting):
    """Two defaults once differed: the optimum of [0.3, 1, 8] was 4.66 s where the accuracy peaked at 0.60 s."""
    ask = {"event_length": Lengths.sample([0.3, 1.0, 8.0]), "presence_criterion": 0.5, **weighting}
    fine = np.linspace(0.05, 12, 24_001)
    peak = fine[np.argmax(th.overlap_accuracy(segment_length=fine, **ask))]
    assert th.optimal_segment_length(**ask) == pytest.approx(peak, abs=1e-3)
    assert peak == pytest.approx(0.6 if weighting else 4.66, abs=0.01)


def test_the_highest_point_of_a_grid_need_not_be_on_the_highest_hump():
    """A narrow high hump between grid points, a broad lower one on them: the search must look at both."""
    points = np.geomspace(0.1, 10.0, 385)
    between = np.sqrt(points[100] * points[101])

    def two_humps(x):
        x = np.asarray(x)
        return np.maximum(0.9 - np.abs(np.log(x / points[300])) / 5, 1.0 - 20 * np.abs(np.log(x / between)))

    assert two_humps(points[100:102]).max() < two_humps(points).max() == 0.9
    where, value = maximise(two_humps, 0.1, 10.0)
    assert where == pytest.approx(between, rel=1e-6)
    assert value == pytest.approx(1.0, abs=1e-5)
