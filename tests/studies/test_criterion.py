"""The presence criterion: recovered where it can be, refused with a reason where it cannot."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weakly as wk
from weakly.apps.paper.appendix import recipe_criterion
from weakly.model.annotator import Annotator
from weakly.posterior import law
from weakly.posterior.criterion import CUTOFF, CriterionPosterior, estimate_criterion
from weakly.theory import present_share


def answers(rng, *, n, criterion, lapse=0.05, guess=0.05):
    """Event fractions and the answers of a threshold annotator who lapses and guesses."""
    h = rng.uniform(0, 1, n)
    p = np.where(h >= criterion, 1 - lapse, guess)
    return h, (rng.random(n) < p).astype(float)


def profile(h, y, criterion):
    """The log likelihood at one criterion, straight from the definition."""
    below, above = y[h < criterion], y[h >= criterion]

    def best(part):
        k, n = part.sum(), len(part)
        return 0.0 if k in (0, n) else k * math.log(k / n) + (n - k) * math.log(1 - k / n)

    if len(below) and len(above) and above.mean() > below.mean():
        return best(below) + best(above)
    return best(y)


@pytest.mark.parametrize("criterion", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_threshold_intervals_cover(criterion):
    rng = np.random.default_rng(int(criterion * 100))
    runs, inside, estimates = 150, 0, []
    for _ in range(runs):
        h, y = answers(rng, n=200, criterion=criterion)
        found = estimate_criterion(h, present=y, method="threshold")
        low, high = found.presence_criterion_ci
        inside += low <= criterion <= high
        estimates.append(found.presence_criterion)
    assert inside / runs >= 0.895  # 95 % nominal, less three standard errors
    assert abs(np.mean(estimates) - criterion) < 0.004
    assert np.std(estimates) < 0.02


def test_the_rates_of_guesses_and_lapses_are_recovered():
    h, y = answers(np.random.default_rng(1), n=20_000, criterion=0.4, lapse=0.12, guess=0.03)
    found = estimate_criterion(h, present=y)
    assert found.presence_criterion == pytest.approx(0.4, abs=0.002)
    assert found.guess_rate == pytest.approx(0.03, abs=0.006)
    assert found.lapse_rate == pytest.approx(0.12, abs=0.01)


@given(st.integers(0, 10_000), st.integers(8, 60))
def test_the_interval_is_where_the_likelihood_falls_by_less_than_the_cutoff(seed, n):
    rng = np.random.default_rng(seed)
    h, y = answers(rng, n=n, criterion=rng.uniform(0.1, 0.9))
    h = np.round(h, 2)  # ties
    found = estimate_criterion(h, present=y, method="threshold")
    grid = np.arange(1, 1001) / 1000 - 0.0005  # between the hundredths
    values = np.array([profile(h, y, g) for g in grid])
    flat = profile(h, y, 2.0)
    inside = grid[2 * (values.max() - values) <= CUTOFF]
    if not found.identifiable:
        one_sided = 2 * (values.max() - flat) <= CUTOFF or len(np.unique(y)) == 1 or len(np.unique(h)) == 1
        assert one_sided or (inside.min() < 0.001 and inside.max() > 0.999)
        return
    low, high = found.presence_criterion_ci
    assert low == pytest.approx(inside.min(), abs=0.0011)
    assert high == pytest.approx(inside.max(), abs=0.0011)
    assert low <= found.presence_criterion <= high
    best = grid[values >= values.max() - 1e-9]
    assert best.min() - 0.0011 <= found.presence_criterion <= best.max() + 0.0011


def test_estimates_do_not_depend_on_the_order_or_on_doubt():
    rng = np.random.default_rng(7)
    h, y = answers(rng, n=300, criterion=0.35)
    order = rng.permutation(300)
    one = estimate_criterion(h, present=y)
    other = estimate_criterion(np.append(h[order], 0.5), present=np.append(y[order], np.nan))
    assert one == other


@pytest.mark.parametrize(
    ("h", "y", "reason"),
    [
        ([0.2, 0.5, 1.0], [1, 1, 1], "presences only"),
        ([0.2, 0.5, 1.0], [0, 0, 0], "every answer is absent"),
        ([0.5] * 40, [0, 1] * 20, "the same share"),
        ([0.0] * 20 + [1.0] * 20, [0] * 20 + [1] * 20, "wholly inside"),
        ([0.0] * 20 + [1.0] * 20, [0] * 19 + [1] + [1] * 18 + [0, 0], "wholly inside"),
        ([0.0, 0.0], [0, 1], "no segment meets"),
        ([], [], "no answers"),
        (np.linspace(0.01, 1, 40), [0, 1] * 20, "do not depend"),
        (np.linspace(0.01, 1, 40), [1] * 20 + [0] * 20, "do not depend"),
    ],
)
def test_no_number_where_the_answers_are_silent(h, y, reason):
    found = estimate_criterion(h, present=y)
    assert not found.identifiable
    assert reason in found.reason
    assert np.isnan(found.presence_criterion)
    assert np.isnan(found.presence_criterion_ci).all()
    assert reason in str(found)


def test_presences_alone_still_bound_an_annotator_who_never_guesses():
    assert "at most 0.2" in estimate_criterion([0.2, 0.5, 1.0], present=[1, 1, 1]).reason


def test_a_share_outside_the_domain_is_refused():
    with pytest.raises(wk.InvalidInput, match=r"event_fraction must be in \[0, 1\], got 20.*percentage"):
        estimate_criterion([20.0], present=[1])
    with pytest.raises(wk.InvalidInput, match="one answer for each"):
        estimate_criterion([0.5], present=[1, 0])
    with pytest.raises(wk.InvalidInput, match="present must be 1, 0 or NaN, got 2"):
        estimate_criterion([0.5], present=[2])
    with pytest.raises(wk.InvalidInput, match="did you mean 'logistic'"):
        estimate_criterion([0.5], present=[1], method="logit")


@pytest.mark.parametrize(("n", "most"), [(50, 0.09), (600, 0.03)])
def test_the_logistic_curve_is_recovered_with_coverage(n, most):
    rng = np.random.default_rng(n)
    inside, errors, known = 0, [], 0
    for _ in range(60):
        h = rng.uniform(0.001, 1, n)
        y = (rng.random(n) < 1 / (1 + np.exp(-(h - 0.45) / 0.08))).astype(float)
        found = estimate_criterion(h, present=y, method="logistic")
        if not found.identifiable:
            continue
        known += 1
        low, high = found.presence_criterion_ci
        inside += low <= 0.45 <= high
        errors.append(found.presence_criterion - 0.45)
    assert known >= 59
    assert inside / known >= 0.88
    assert abs(np.mean(errors)) < 0.01
    assert np.std(errors) < most


def test_clean_answers_are_never_refused():
    """Answers without one error: every fit gives a number, and the law's interval is what the gap leaves."""
    rng = np.random.default_rng(4)
    inside = 0
    for run in range(40):
        n = (50, 200, 1000)[run % 3]
        h = np.where(rng.random(n) < 0.3, 0.0, rng.uniform(0, 1, n))
        y = (h >= 0.5).astype(float)
        fits = {method: estimate_criterion(h, present=y, method=method) for method in ("law", "threshold", "logistic")}
        assert all(fit.identifiable for fit in fits.values())
        low, high = fits["law"].presence_criterion_ci
        inside += low <= 0.5 <= high
        assert low <= h[h >= 0.5].min()
        assert high >= h[h < 0.5].max()
        assert high - low < 40 / n
    assert inside >= 34


def test_the_law_is_the_maximum_of_its_likelihood():
    """The fit's log likelihood against a search that borrows nothing: scipy's Beta law and its optimiser."""
    from scipy.optimize import minimize
    from scipy.stats import beta

    rng = np.random.default_rng(5)
    h = rng.uniform(0.01, 1, 1500)
    chance = 0.06 + (1 - 0.06 - 0.08) * beta(4, 6).cdf(h)
    y = (rng.random(1500) < chance).astype(float)

    def loss(v):
        a, b = np.exp(v[:2])
        guess, lapse = (0.5 / (1 + np.exp(-x)) for x in v[2:])
        p = np.clip(guess + (1 - guess - lapse) * beta(a, b).cdf(h), 1e-12, 1 - 1e-12)
        return -(y * np.log(p) + (1 - y) * np.log1p(-p)).sum()

    theirs = minimize(loss, [1.4, 1.8, -2.0, -2.0], method="Nelder-Mead", options={"maxiter": 4000, "maxfev": 4000})
    found = estimate_criterion(h, present=y)
    ours = 4 - found.aic / 2
    assert ours == pytest.approx(-theirs.fun, abs=0.05)  # a little prior on the rates
    a, b = np.exp(theirs.x[:2])
    low, high = found.presence_criterion_ci
    assert low < a / (a + b) < high


def test_segments_without_an_event_inform_guesses_only():
    rng = np.random.default_rng(6)
    h = rng.uniform(0.01, 1, 400)
    y = ((h >= 0.6) ^ (rng.random(400) < 0.05)).astype(float)
    many = np.zeros(5000)
    said = (rng.random(5000) < 0.05).astype(float)
    alone = estimate_criterion(h, present=y)
    both = estimate_criterion(np.append(h, many), present=np.append(y, said))
    assert both.presence_criterion == pytest.approx(alone.presence_criterion, abs=0.01)
    assert both.guess_rate == pytest.approx(0.05, abs=0.01)
    low, high = both.guess_rate_ci
    assert high - low < 0.02


def test_the_law_of_criteria_is_scipys_beta_law():
    from scipy.stats import beta

    from weakly.posterior.law import cdf

    rng = np.random.default_rng(1)
    h = np.sort(np.concatenate(([0.0, 1e-6, 1.0], rng.uniform(0, 1, 60))))
    mean, spread = rng.uniform(0.01, 0.99, 200), np.exp(rng.uniform(np.log(2e-3), np.log(0.6), 200))
    total = 1 / spread**2 - 1
    theirs = beta(mean[:, None] * total[:, None], (1 - mean[:, None]) * total[:, None]).cdf(h)
    assert cdf("beta", h, mean, spread) == pytest.approx(theirs, abs=1e-8)
    hard = cdf("beta", h, mean[:5], np.zeros(5))
    assert (hard == (h >= mean[:5, None])).all()


def test_recordings_inside_annotators_are_not_counted_twice():
    """Each recording has one annotator: knowing both groupings is knowing the annotators."""
    rng = np.random.default_rng(3)
    recording = np.arange(900) // 10
    annotator = recording % 15
    h = rng.uniform(0.01, 1, 900)
    y = (h >= rng.beta(6, 6, 15)[annotator]).astype(float)
    people, both, clips = (
        estimate_criterion(h, present=y, clusters=groups)
        for groups in ([annotator], [recording, annotator], [recording])
    )
    assert both.design_effect == pytest.approx(people.design_effect, rel=0.02)
    assert people.design_effect > clips.design_effect > 1


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(7)
    recording = np.arange(600) // 20
    h = rng.uniform(0.01, 1, 600)
    y = (h >= rng.beta(4, 4, 30)[recording]).astype(float)
    alone, told = (estimate_criterion(h, present=y, clusters=groups) for groups in ([], [recording]))
    assert told.design_effect > 2
    assert np.diff(told.presence_criterion_ci) > 1.3 * np.diff(alone.presence_criterion_ci)
    with pytest.raises(wk.InvalidInput, match="a group for each of the 600 answers"):
        estimate_criterion(h, present=y, clusters=[recording[:5]])


def test_the_annotator_of_a_fit_is_the_curve_that_was_fitted():
    """A wide curve and nobody who guesses: no present answer where no event is."""
    rng = np.random.default_rng(3)
    h = np.concatenate((np.zeros(400), rng.random(1200)))
    truth = Annotator.logistic(0.35, 0.2, lapse_rate=0.1)
    y = (rng.random(len(h)) < truth.probability(h)).astype(float)
    found = estimate_criterion(h, present=y, method="logistic")
    who = found.annotator
    assert who.probability(0.0) == found.guess_rate < 0.005
    assert who.probability(1.0) == pytest.approx(1 - found.lapse_rate, abs=1e-15)
    spread = found.spread * np.sqrt(3) / np.pi
    rise = law.cdf("logistic", h, np.array([found.presence_criterion]), np.array([spread]))[0]
    fitted = found.guess_rate + (1 - found.guess_rate - found.lapse_rate) * rise
    assert who.probability(h) == pytest.approx(fitted, abs=1e-12)
    grid = np.linspace(0, 1, 21)
    assert who.probability(grid) == pytest.approx(truth.probability(grid), abs=0.08)


@pytest.mark.parametrize("method", ["law", "threshold", "logistic"])
def test_the_annotator_that_is_found_answers_like_the_one_that_was(method):
    rng = np.random.default_rng(8)
    h = rng.uniform(0.01, 1, 4000)
    true = wk.Annotator(presence_criterion=0.35, guess_rate=0.04, lapse_rate=0.1)
    y = (rng.random(4000) < true.probability(h)).astype(float)
    who = estimate_criterion(h, present=y, method=method).annotator
    for share in (0.1, 0.3, 0.4, 0.9):
        assert float(who.probability(share)) == pytest.approx(float(true.probability(share)), abs=0.05)
    with pytest.raises(wk.InvalidInput, match="no annotator to take"):
        _ = estimate_criterion([0.5, 1.0], present=[1, 1], method=method).annotator


def test_the_share_is_the_one_of_random_segments():
    rng = np.random.default_rng(2)
    lengths = np.array([0.4, 1.0, 3.0])
    d = rng.choice(lengths, 400_000)
    q, criterion = 0.9, 0.45
    d = rng.choice(lengths, 400_000, p=(lengths + q) / (lengths + q).sum())  # longer events meet more segments
    start = rng.uniform(-q, d)
    overlap = np.minimum(start + q, d) - np.maximum(start, 0)
    assert present_share(event_length=lengths, segment_length=q, presence_criterion=criterion) == pytest.approx(
        (overlap / d >= criterion).mean(), abs=0.003
    )


@given(st.floats(0.01, 0.7))
def test_the_papers_recipe_for_one_length(u):
    found = recipe_criterion([10 * u], segment_length=10)
    assert found == pytest.approx((1 - math.sqrt(1 - 2 * u * u)) / (2 * u), abs=1e-9)


def test_the_papers_recipe_meets_theorem_1():
    lengths = np.array([0.3, 0.8, 2.5, 4.0])
    found = recipe_criterion(lengths, segment_length=10)
    theorem = wk.overlap_accuracy(event_length=lengths, segment_length=10, presence_criterion=found)
    assert np.mean(theorem) == pytest.approx(np.mean(lengths / 10), abs=1e-12)


def test_the_recipe_refuses_lengths_longer_than_the_clip():
    with pytest.raises(wk.InvalidInput, match="part inside a clip"):
        recipe_criterion([11.0], segment_length=10)
    assert math.isnan(recipe_criterion([9.5], segment_length=10))  # the equation has no solution


def test_the_recipe_does_not_see_the_annotator():
    """E21: the same events under a sensitive and an insensitive annotator give the same number."""
    rng = np.random.default_rng(3)
    lengths = np.minimum(rng.lognormal(0, 0.8, 2000), 10)
    recipe = recipe_criterion(lengths, segment_length=10)
    start = rng.uniform(-10, lengths)
    h = (np.minimum(start + 10, lengths) - np.maximum(start, 0)) / lengths
    for criterion in (0.2, 0.8):
        found = estimate_criterion(np.clip(h, 0, 1), present=(h >= criterion).astype(float))
        assert found.presence_criterion == pytest.approx(criterion, abs=0.02)
        assert abs(recipe - criterion) > 0.05


def test_audioset_animal(real_data):
    """Appendix A.5 of the paper on the file that is here."""
    frame = pd.read_csv(real_data / "audioset_strong" / "audioset_strong_eval_top110classes_downloaded.tsv", sep="\t")
    animal = frame[frame["event_label"] == "/m/0jbk"]
    lengths = (animal["offset"] - animal["onset"]).to_numpy()
    assert len(lengths) == 1539
    assert animal["filename"].nunique() == 526
    assert np.mean(lengths / 10) == pytest.approx(0.1620, abs=5e-5)
    assert recipe_criterion(lengths, segment_length=10) == pytest.approx(0.2584, abs=5e-5)
    rng, clips = np.random.default_rng(1), [lengths[rows] for rows in animal.groupby("filename").indices.values()]
    draws = [
        recipe_criterion(np.concatenate([clips[k] for k in rng.integers(526, size=526)]), segment_length=10)
        for _ in range(300)
    ]
    assert np.quantile(draws, [0.025, 0.975]) == pytest.approx((0.233, 0.292), abs=0.008)
    roots = np.array([
        recipe_criterion(np.minimum(part["offset"] - part["onset"], 10), segment_length=10)
        for _, part in frame.groupby("event_label")
    ])  # fmt: skip
    assert np.isnan(roots).sum() == 18
    assert np.nanmedian(roots) == pytest.approx(0.15, abs=0.01)


def test_answers_at_the_ends_are_weighed_by_both_kinds_of_slips():
    """A whole event meets every criterion, nothing meets none: what is left is Bayes' rule on the two rates."""
    before = CriterionPosterior.prior()
    for h, present, chance in ((1.0, 1, 1 - before.lapse), (1.0, 0, before.lapse), (0.0, 1, before.guess)):
        expected = before.weights * chance
        assert np.allclose(before.update(h, present).weights, expected / expected.sum(), rtol=1e-9, atol=1e-15)
