"""What repeated segments tell of whoever answered them."""

import numpy as np
import pytest

from weakly.posterior.slips import NAMES, slip_words, slips_of


def answers(seed, *, lapse=0.0, guess=0.0, sticky=0.0, drift=0.0, n=300, share=0.25):
    """Segments of which a quarter is satisfied; some are asked three times."""
    rng = np.random.default_rng(seed)
    met = rng.random(n) < share
    order = rng.permutation(np.concatenate((np.arange(n), np.arange(60), np.arange(60))))
    said, last = [], 0.0
    for k, segment in enumerate(order):
        chance = np.clip(1 - lapse if met[segment] else guess, 1e-3, 1 - 1e-3)
        chance = 1 / (1 + (1 - chance) / chance * np.exp(-drift * (k / len(order) - 0.5)))
        last = last if rng.random() < sticky else float(rng.random() < chance)
        said.append(last)
    return order.tolist(), said


@pytest.mark.parametrize(
    ("truth", "name", "least"),
    [
        ({"lapse": 0.35}, "lapse_rate", 0.15),
        ({"guess": 0.2}, "guess_rate", 0.12),
        ({"sticky": 0.4}, "stickiness", 0.15),
    ],
)
def test_each_kind_of_slip_is_told_from_the_others(truth, name, least):
    found = slips_of(*answers(3, **truth))
    middle, low, high = found.numbers[name]
    assert low <= next(iter(truth.values())) <= high
    assert middle > least
    assert all(found.numbers[other][1] < 0.1 for other in ("lapse_rate", "guess_rate") if other != name)
    clean = slips_of(*answers(3))
    assert clean.numbers[name][2] < 0.12
    assert clean.n_alike == clean.n_repeats == 120
    assert clean.is_known


def test_answers_that_do_not_depend_on_the_segment_are_named():
    coin = np.random.default_rng(0).random(420) < 0.5
    places = answers(3)[0]
    for said in (coin, np.arange(420) % 40 < 20):
        found = slips_of(places, np.asarray(said, dtype=float))
        assert found.is_noise
        assert "little more than a coin's" in slip_words(found.to_dict())
    assert not slips_of(places, np.zeros(420)).is_noise  # nothing may have been there
    assert not slips_of(places, np.ones(420)).is_noise  # or it was everywhere
    for much in ({}, {"lapse": 0.35}, {"guess": 0.2}, {"sticky": 0.4}):
        found = slips_of(*answers(3, **much))
        assert not found.is_noise
        assert "coin" not in slip_words(found.to_dict())


def test_drift_and_words():
    found = slips_of(*answers(1, lapse=0.3, guess=0.15, drift=4.0))
    assert found.numbers["drift"][1] > 0
    assert "present is said more often as time goes on" in slip_words(found.to_dict())
    assert "as time goes on" not in slip_words(slips_of(*answers(1)).to_dict())


def test_what_tells_nothing():
    assert slips_of(["a", "b", "c"], [1, 0, 1]) is None
    assert slips_of(["a", "a"], [1, np.nan]) is None
    assert slips_of([], []) is None
    few = slips_of(["a", "b", "a"], [1, 0, 1])
    assert set(few.numbers) == set(NAMES)
    assert not few.is_known
