"""Laws of event lengths: making, reading, fitting, drawing, expectations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from weakly import AssumptionWarning, InvalidInput, Lengths

LAWS = [
    stats.expon(),
    stats.gamma(0.2, loc=0.5),
    stats.lognorm(1.5, scale=2),
    stats.uniform(0.5, 2),
    stats.beta(0.3, 0.2),
    stats.weibull_min(0.5),
    stats.pareto(2.5),
    stats.rv_histogram(np.histogram([1, 2, 3, 3, 3, 4.0], bins=7)),
]


@pytest.mark.parametrize("law", LAWS)
def test_a_law_has_its_own_moments_and_distribution(law):
    lengths = Lengths.law(law)
    assert lengths.mean == pytest.approx(law.mean(), rel=1e-11)
    assert lengths.std == pytest.approx(law.std(), rel=1e-9)
    limits = law.ppf([0.01, 0.3, 0.9, 0.999])
    p0, m1, m2 = lengths.partial_moments(limits)
    assert p0 == pytest.approx(law.cdf(limits), abs=1e-11)
    assert (m1 <= limits * p0 + 1e-12).all()
    assert (m2 <= limits * m1 + 1e-12).all()
    assert lengths.expect(lambda d: (d <= limits[1]).astype(float), [limits[1]]) == pytest.approx(0.3, abs=1e-11)
    assert lengths.quantile(0.9) == pytest.approx(law.ppf(0.9))
    assert lengths.draw(5, rng=1).tolist() == lengths.draw(5, rng=1).tolist()


def test_gamma_partial_moments_have_a_closed_form():
    from scipy.special import gammainc

    a, x = 0.8, np.array([0.3, 1.0, 4.0])
    p0, m1, m2 = Lengths.law(stats.gamma(a)).partial_moments(x)
    assert p0 == pytest.approx(gammainc(a, x), abs=1e-13)
    assert m1 == pytest.approx(a * gammainc(a + 1, x), abs=1e-13)
    assert m2 == pytest.approx(a * (a + 1) * gammainc(a + 2, x), abs=1e-12)


@given(values=hnp.arrays(float, st.integers(1, 30), elements=st.sampled_from([0.1, 0.3, 0.5, 1.0, 2.5])))
def test_a_sample_counts(values):
    law = Lengths.sample(values)
    assert law.mean == pytest.approx(values.mean())
    assert law.std == pytest.approx(values.std(), abs=1e-12)
    assert law.longest == values.max()
    for limit in (0.2, 0.3, 1.7):
        below = values[values <= limit]
        p0, m1, m2 = (float(m) for m in law.partial_moments(limit))
        assert (p0, m1, m2) == pytest.approx(
            (below.size / values.size, below.sum() / values.size, (below**2).sum() / values.size)
        )
    for p in (0.1, 0.5, 1.0):
        assert law.quantile(p) == np.quantile(values, p, method="inverted_cdf")
    assert set(law.draw(20, rng=0)) <= set(values)


def test_weights_are_repeats():
    weighted, repeated = Lengths.sample([1, 3], weights=[1, 2]), Lengths.sample([1, 3, 3])
    assert weighted.mean == pytest.approx(repeated.mean)
    assert weighted.weights == pytest.approx(repeated.weights)


def test_a_discrete_law_is_a_sample():
    law = Lengths.law(stats.binom(3, 0.5))
    assert law.values.tolist() == [1, 2, 3]
    assert law.mean == pytest.approx(1.5 / (1 - 1 / 8))


@pytest.mark.parametrize(
    ("text", "name", "mean"),
    [
        ("1", "1 s", 1.0),
        ("0.5,1,4", "sample of 3", 5.5 / 3),
        ("gamma:0.8,loc=0.5", "gamma(0.8, loc=0.5)", 1.3),
        ("lognorm:s=0.5,scale=1", "lognorm(s=0.5, scale=1)", np.exp(0.125)),
        ("norm:3,0.5", "norm(3, 0.5)", 3.0),
    ],
)
def test_text(text, name, mean):
    law = Lengths.parse(text)
    assert law.name == name
    assert law.mean == pytest.approx(mean, abs=1e-8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("long", "event_length must be a length in seconds"),
        ("gama:1", "continuous scipy law such as lognorm"),
        ("gamma:a=x", "event_length must be a length in seconds"),
        ("gamma:1,2,3,4", "wrong parameters for the law gamma"),
        ("gamma:-1", "outside the domain of the law gamma"),
        ("-1", "event_length must be > 0, got -1"),
        ("1,0", "values must be > 0, got 0 at position 1"),
    ],
)
def test_bad_text(text, message):
    with pytest.raises(InvalidInput, match=message):
        Lengths.parse(text)


@pytest.mark.parametrize("scale", [1e-90, 1e-9, 1.0, 1e9, 1e90])
def test_moments_do_not_depend_on_the_unit(scale):
    """Squares of very long or short lengths stay inside floating point."""
    law = Lengths.law(stats.rayleigh(scale=scale))
    assert law.mean / scale == pytest.approx(np.sqrt(np.pi / 2), rel=1e-9)


def test_bad_laws():
    with pytest.raises(InvalidInput, match="finite mean"):
        Lengths.law(stats.pareto(0.9))
    with pytest.raises(InvalidInput, match="median between"):
        Lengths.law(stats.rayleigh(scale=1e300))
    with pytest.raises(InvalidInput, match="more than one length"):
        Lengths.law(stats.uniform(1e20, 1))
    with pytest.raises(InvalidInput, match="positive lengths"):
        Lengths.law(stats.uniform(-2, 1))
    with pytest.raises(InvalidInput, match="frozen scipy law"):
        Lengths.law("gamma")
    with pytest.raises(InvalidInput, match="at least one"):
        Lengths.sample([])
    with pytest.raises(InvalidInput, match="one number"):
        Lengths.fixed([1, 2])
    with pytest.warns(AssumptionWarning, match=r"puts 0\.16 of its mass below zero"):
        law = Lengths.law(stats.norm(1, 1))
    assert law.mean == pytest.approx(stats.truncnorm(-1, np.inf, loc=1).mean(), rel=1e-10)
    assert (law.draw(100, rng=0) > 0).all()


def test_fit_recovers_a_law_from_censored_lengths():
    rng = np.random.default_rng(2)
    true = rng.lognormal(0.2, 0.6, 4000)
    cut = rng.uniform(0.3, 5, 4000)
    seen, censored = np.minimum(true, cut), true > cut
    naive, honest = Lengths.fit(seen), Lengths.fit(seen, censored=censored)
    target = np.exp(0.2 + 0.18)
    assert abs(honest.mean - target) < 0.05 < abs(naive.mean - target)
    assert honest.notes["n_censored"] == censored.sum()
    assert Lengths.fit(rng.gamma(2, 1, 3000), family="best").notes["family"] in {"gamma", "weibull_min"}
    with pytest.raises(InvalidInput, match="two different"):
        Lengths.fit([1.0, 1.0])
    with pytest.raises(InvalidInput, match="one flag for each"):
        Lengths.fit([1.0, 2.0], censored=[True])


def test_a_fit_counts_the_parameters_that_were_free():
    values = np.array([0.5, 1.0, 4.5])
    notes = Lengths.fit(values, family="expon").notes  # one scale, the mean; the start is fixed at 0
    assert notes["log_likelihood"] == pytest.approx(-3 * (np.log(2) + 1))
    assert notes["aic"] == pytest.approx(2 - 2 * notes["log_likelihood"])


def test_of_takes_what_people_have():
    class Annotated:
        lengths = np.array([1.0, 2.0])

    assert Lengths.of(Annotated()).mean == 1.5
    assert Lengths.of(2).longest == 2
    assert Lengths.of([1, 2]).mean == 1.5
    assert Lengths.of(stats.expon()).longest == np.inf
    law = Lengths.fixed(1)
    assert Lengths.of(law) is law
    assert law.to_dict()["quartiles"] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("shape", "scale"), [(0.1, 3.0), (0.6, 1.0), (2.0, 0.2)])
def test_partial_moments_of_a_lognormal_law_are_the_integrals(shape, scale):
    law = Lengths.law(stats.lognorm(shape, scale=scale))
    limits = np.append(0.0, law.quantile(np.array([0.001, 0.2, 0.5, 0.9, 0.999])))
    for k, moment in enumerate(law.partial_moments(limits)):
        assert moment == pytest.approx(law.partial(lambda d, k=k: d**k, limits), rel=1e-9, abs=1e-12)
