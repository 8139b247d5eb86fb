"""Theorems 1-5 and the per-event forms against the definitions, for every presence rule; properties; bad input."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weakly import AssumptionWarning, InvalidInput, PresenceRule
from weakly import theory as th
from weakly.model.annotator import PRESETS

LENGTH = st.floats(0.01, 50)
CRITERION = st.floats(0.01, 1)
RULES = {
    **PRESETS,
    "fraction": PresenceRule.fraction(0.37),
    "seconds": PresenceRule.seconds(0.4),
    "coverage": PresenceRule.coverage(0.7),
    "shorter": PresenceRule.shorter(0.6),
    "margin": PresenceRule.margin(0.8),
    "margin or fraction": PresenceRule.either(PresenceRule.margin(1.5), PresenceRule.fraction(0.95)),
}


def sweep(d, q, present):
    """The definitions, integrated over every phase: measure of present, right event time, F and met phases.

    ``present(s)`` says whether the segment (s, s + q) is present because of the event (0, d). Its changes are found by
    bisection; between changes everything is linear, so the midpoint rule is exact.
    """
    turns = sorted((-q, min(0.0, d - q), max(0.0, d - q), d))
    near = 0.5 ** np.arange(1, 40)
    parts = np.unique(np.concatenate(([0.0, 1.0], np.linspace(0, 1, 41), near, 1 - near)))  # fine towards both ends
    grid = np.unique(np.concatenate([lo + (hi - lo) * parts for lo, hi in itertools.pairwise(turns)]))
    middle = (grid[1:] + grid[:-1]) / 2
    state = np.array([present(s) for s in middle])
    cuts = [-q, 0.0, d - q, d]
    for left, right, a, b in zip(middle[:-1], middle[1:], state[:-1], state[1:]):
        if a != b:
            for _ in range(60):
                m = (left + right) / 2
                left, right = (m, right) if present(m) == a else (left, m)
            cuts.append(right)
    cuts = np.unique(cuts)
    s, length = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
    yes = np.array([present(value) for value in s])
    overlap = np.clip(np.minimum(s + q, d) - np.maximum(s, 0), 0, None)
    right = np.where(yes, overlap, q - overlap) / q
    starts = np.linspace(0, q, 4001)[:-1] + q / 8000  # phases of the grid
    hits = np.zeros(starts.shape, bool)
    for lo, hi in zip(cuts[:-1][yes], cuts[1:][yes]):
        k = np.ceil((lo - starts) / q)
        hits |= starts + k * q <= hi
    return {
        "present": float(length @ yes),
        "true": float(length @ (yes * overlap / q)),
        "accuracy": float(length @ right / (d + q)),
        "event_recall": float(hits.mean()),
    }


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("d", "q"), [(1.0, 0.8), (0.3, 3.0), (2.0, 0.45), (0.9, 1.3), (1.6, 1.6), (5.0, 2.0)])
def test_every_rule_is_the_definition_integrated(name, d, q):
    rule = RULES[name]
    slow = sweep(d, q, lambda s: bool(rule.is_present(event=(0, d), segment=(s, s + q))))
    ask = {"event_length": d, "segment_length": q, "rule": rule}
    assert th.overlap_accuracy(**ask) == pytest.approx(slow["accuracy"], abs=1e-8)
    assert th.expected_present_segments(**ask) == pytest.approx(slow["present"] / q, abs=1e-8)
    assert th.recall(**ask) == pytest.approx(slow["true"] / d, abs=1e-8)
    assert th.wrong_time(**ask) == pytest.approx(slow["present"] + d - 2 * slow["true"], abs=1e-8)
    assert th.event_recall(**ask) == pytest.approx(slow["event_recall"], abs=1e-3)
    if slow["present"] > 1e-6:
        assert th.precision(**ask) == pytest.approx(slow["true"] / slow["present"], abs=1e-7)


@given(d=LENGTH, q=LENGTH, g=CRITERION)
def test_theorem_1_is_the_definition_integrated(d, q, g):
    if abs(q - g * d) < 1e-6 * d:
        return
    slow = sweep(d, q, lambda s: max(0.0, min(s + q, d) - max(s, 0.0)) >= g * d * (1 - 1e-12))
    ask = {"event_length": d, "segment_length": q, "presence_criterion": g}
    assert th.overlap_accuracy(**ask) == pytest.approx(slow["accuracy"], abs=1e-9)
    assert th.wrong_time(**ask) == pytest.approx(slow["present"] + d - 2 * slow["true"], abs=1e-9 * (d + q))


@given(d=LENGTH, q=LENGTH, g=CRITERION, factor=st.floats(0.01, 100))
def test_time_has_no_scale(d, q, g, factor):
    for function in (th.overlap_accuracy, th.recall, th.event_recall, th.overlap_accuracy_per_recording):
        one = function(event_length=d, segment_length=q, presence_criterion=g)
        other = function(event_length=d * factor, segment_length=q * factor, presence_criterion=g)
        if abs(q - g * d) > 1e-8 * d and abs(d / q - round(d / q)) > 1e-8:
            assert other == pytest.approx(one, abs=1e-9)


@given(d=LENGTH, q=LENGTH, low=CRITERION, high=CRITERION)
def test_presence_only_falls_as_the_criterion_rises(d, q, low, high):
    low, high = min(low, high), max(low, high)
    for function in (th.recall, th.event_recall, th.expected_present_segments):
        more, less = (function(event_length=d, segment_length=q, presence_criterion=g) for g in (low, high))
        assert less <= more + 1e-12


@given(d=LENGTH, q=LENGTH, g=CRITERION)
def test_theorem_3_bounds_a_single_event(d, q, g):
    value = th.overlap_accuracy(event_length=d, segment_length=q, presence_criterion=g)
    assert value <= th.best_overlap_accuracy(presence_criterion=g) + 1e-12
    assert value <= th.overlap_accuracy_bound(event_length=d, segment_length=q) + 1e-12
    best = th.optimal_segment_length(event_length=d, presence_criterion=g)
    assert th.overlap_accuracy(event_length=d, segment_length=best, presence_criterion=g) == pytest.approx(
        th.best_overlap_accuracy(presence_criterion=g), abs=1e-12
    )


@given(d=LENGTH, g=CRITERION)
def test_the_jump_where_the_event_becomes_noticeable(d, g):
    edge = g * d
    below, at, above = (
        th.overlap_accuracy(event_length=d, segment_length=edge * factor, presence_criterion=g)
        for factor in (1 - 1e-7, 1.0, 1 + 1e-7)
    )
    assert below == pytest.approx(g / (1 + g), abs=1e-6)
    assert at == pytest.approx(1 / (1 + g), abs=1e-9)
    assert above == pytest.approx(at, abs=1e-6)


@given(d=LENGTH, q=LENGTH)
def test_limits_of_the_criterion(d, q):
    small = th.overlap_accuracy(event_length=d, segment_length=q, presence_criterion=1e-12)
    assert small == pytest.approx(d / (d + q), abs=1e-9)
    assert small == pytest.approx(
        th.overlap_accuracy(event_length=d, segment_length=q, rule=PresenceRule.any()), abs=1e-9
    )
    if q > d:  # at one only whole events are noticed
        assert th.recall(event_length=d, segment_length=q, presence_criterion=1) == pytest.approx(1 - d / q, abs=1e-12)


@given(d=LENGTH, q=LENGTH, g=CRITERION)
def test_best_accuracy_falls_and_criterion_suits_its_segment(d, q, g):
    ratio = q / d
    if ratio <= 2:
        ideal = th.ideal_criterion(event_length=d, segment_length=q)
        value = th.overlap_accuracy(event_length=d, segment_length=q, presence_criterion=ideal)
        assert value == pytest.approx(th.overlap_accuracy_bound(event_length=d, segment_length=q), abs=1e-9)
    assert th.best_overlap_accuracy(presence_criterion=g) >= th.best_overlap_accuracy(presence_criterion=1)


def test_arrays_broadcast_and_numbers_stay_numbers():
    table = th.overlap_accuracy(
        event_length=np.array([1.0, 2.0])[:, None], segment_length=[0.5, 1, 3], presence_criterion=0.5
    )
    assert table.shape == (2, 3)
    assert table[1, 2] == th.overlap_accuracy(event_length=2, segment_length=3, presence_criterion=0.5)
    assert isinstance(th.wrong_time(event_length=1, segment_length=1, presence_criterion=0.5), float)
    assert th.optimal_segment_length(event_length=[1, 2], presence_criterion=[0.5, 1]).shape == (2,)


def test_precision_of_nothing_is_not_a_number():
    assert np.isnan(th.precision(event_length=1, segment_length=0.2, presence_criterion=0.5))
    assert th.event_recall(event_length=1, segment_length=0.2, presence_criterion=0.5) == 0.0


def test_precision_formula():
    delta, g = 1.3, 0.4
    expected = (delta - g**2) / (delta * (1 + delta - 2 * g))
    assert th.precision(event_length=2, segment_length=2.6, presence_criterion=g) == pytest.approx(expected, abs=1e-14)


def test_the_paper_assumes_that_events_lie_apart():
    ask = {"event_length": 1, "presence_criterion": 0.5, "n_events": 30, "recording_length": 100}
    with pytest.warns(AssumptionWarning, match="one segment length apart"):
        th.recording_accuracy(segment_length=5, **ask)
    with pytest.raises(InvalidInput, match="do not fit"):
        th.recording_accuracy(segment_length=1, **{**ask, "n_events": 101})
    with pytest.raises(InvalidInput, match="at most recording_length 100 s, got 1000 s"):
        th.recording_accuracy(segment_length=1000, **{**ask, "n_events": 1})


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("event_length", 0, "event_length must be > 0, got 0"),
        ("event_length", -1, "event_length must be > 0, got -1; an offset before its onset"),
        ("event_length", float("nan"), "event_length must be > 0, got nan"),
        ("event_length", float("inf"), "event_length must be > 0, got inf"),
        ("segment_length", [1, 0], "segment_length must be > 0, got 0 at position 1"),
        ("segment_length", "3s", "segment_length must be a number > 0, got '3s'"),
        ("presence_criterion", 50, r"presence_criterion must be in \(0, 1\], got 50; a percentage"),
        ("presence_criterion", 0, r"presence_criterion must be in \(0, 1\], got 0"),
        ("presence_criterion", "half", "presence_criterion must be a number"),
        ("weighting", "events", "weighting must be one of 'event', 'segment', got 'events'; did you mean 'event'"),
    ],
)
def test_bad_input_is_named(argument, value, message):
    good = {"event_length": 1, "segment_length": 1, "presence_criterion": 0.5}
    with pytest.raises(InvalidInput, match=message):
        th.overlap_accuracy(**{**good, argument: value})


def test_exactly_one_may_answer():
    with pytest.raises(InvalidInput, match="one of presence_criterion, rule and annotator"):
        th.recall(event_length=1, segment_length=1)
    with pytest.raises(InvalidInput, match="one of presence_criterion, rule and annotator"):
        th.recall(event_length=1, segment_length=1, presence_criterion=0.5, rule=PresenceRule.any())
    with pytest.raises(InvalidInput, match="rule must be a number or one of"):
        th.recall(event_length=1, segment_length=1, rule="loud")
    with pytest.raises(InvalidInput, match="annotator must be a number, a law, a PresenceRule, an Annotator"):
        th.recall(event_length=1, segment_length=1, annotator={"criterion": 0.5})
    with pytest.raises(InvalidInput, match="rule must be one rule, law or annotator here"):
        th.recall(event_length=1, segment_length=1, rule="any,seconds:1")


def test_per_recording_mean_is_the_definition():
    rng = np.random.default_rng(3)
    for _ in range(40):
        d, q, g = rng.uniform(0.3, 3), rng.uniform(0.2, 3), rng.uniform(0.05, 1)
        cuts = np.unique(np.concatenate(([0, q], *[np.mod([x, x - d], q) for x in (0, g * d, -g * d)])))
        total = 0.0
        for lo, hi in itertools.pairwise(cuts):
            nodes, weights = np.polynomial.legendre.leggauss(3)
            for a, w in zip((lo + hi) / 2 + (hi - lo) / 2 * nodes, weights * (hi - lo) / 2):
                k = np.arange(0, int(np.ceil((a + d) / q)))
                x = np.minimum((k + 1) * q, a + d) - np.maximum(k * q, a)
                share = np.where(x >= g * d, x / q, 1 - x / q)[x > 1e-15]
                total += w * share.mean()
        ours = th.overlap_accuracy_per_recording(event_length=d, segment_length=q, presence_criterion=g)
        assert ours == pytest.approx(total / q, abs=1e-9)


def test_only_the_ratio_of_the_lengths_matters():
    for ratio in (0.3, 0.8, 2.0):
        found = [
            th.overlap_accuracy(event_length=d, segment_length=d * ratio, presence_criterion=0.5) for d in (1, 2, 9)
        ]
        assert found == pytest.approx([found[0]] * 3, abs=1e-14)
