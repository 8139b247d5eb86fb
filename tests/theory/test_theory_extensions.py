"""Overlapping windows, boxes, bounds, dense and crowded recordings, bisection: against slow definitions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from weakly import InvalidInput, Lengths, PresenceRule
from weakly import theory as th
from weakly.theory.dense import Clumps


def slow_windows(d, count, hop, k, rule, phases=4000):
    """Mean wrong seconds, in all cells and in cells that meet the event, over the phase of the windows."""
    width, total, inside = count * hop, 0.0, 0.0
    for phase in (np.arange(phases) + 0.5) / phases * hop:
        starts = phase - width - 2 * hop + hop * np.arange(int(np.ceil((d + 2 * width) / hop)) + 6)
        segments = np.column_stack((starts, starts + width))
        present = rule.is_present(event=(0.0, d), segment=segments)
        votes = np.array([present[max(0, i - count + 1) : i + 1].sum() for i in range(len(starts))])
        overlap = np.clip(np.minimum(starts + hop, d) - np.maximum(starts, 0), 0, None)
        wrong = np.where(votes >= k, hop - overlap, overlap)
        total += wrong.sum()
        inside += wrong[overlap > 1e-12].sum()
    return total / phases, inside / phases


@pytest.mark.parametrize(
    ("d", "count", "hop", "k", "rule"),
    [
        (1.0, 4, 0.3, 1, PresenceRule.fraction(0.5)),
        (1.0, 4, 0.3, 3, PresenceRule.fraction(0.5)),
        (1.0, 3, 0.5, 1, PresenceRule.fraction(0.95)),
        (0.7, 2, 0.4, 2, PresenceRule.fraction(0.8)),
        (2.0, 2, 0.3, 1, PresenceRule.fraction(0.9)),
        (0.3, 3, 0.5, 1, PresenceRule.margin(0.4)),
        (1.2, 3, 0.5, 2, PresenceRule.seconds(0.4)),
        (1.0, 1, 0.8, 1, PresenceRule.fraction(0.5)),
    ],
)
def test_windows_are_the_definition(d, count, hop, k, rule):
    total, inside = slow_windows(d, count, hop, k, rule, phases=1000)
    ask = {"event_length": d, "segment_length": count * hop, "hop": hop, "votes": k, "rule": rule}
    assert th.overlapping_wrong_time(**ask) == pytest.approx(total, abs=3e-3)
    assert th.overlapping_cell_accuracy(**ask) == pytest.approx(1 - inside / (d + hop), abs=3e-3)


@given(d=st.floats(0.1, 5), q=st.floats(0.1, 5), g=st.floats(0.05, 1))
def test_one_window_per_cell_is_theorem_5(d, q, g):
    if abs(q - g * d) > 1e-6:
        ours = th.overlapping_wrong_time(event_length=d, segment_length=q, hop=q, votes=1, presence_criterion=g)
        plain = th.wrong_time(event_length=d, segment_length=q, presence_criterion=g)
        assert ours == pytest.approx(plain, abs=1e-9)


def test_the_right_vote_beats_half():
    ask = {"event_length": 5, "segment_length": 10, "hop": 1, "presence_criterion": 0.5}
    found = {k: th.overlapping_wrong_time(**ask, votes=k) for k in range(1, 11)}
    assert [found[k] for k in (1, 5, 6, 8)] == pytest.approx([14.0, 6.0, 4.0, 0.5])  # reference table
    assert th.optimal_votes(**ask) == 8 == round(10 + 0.5 - 0.5 * 5 / 1 + 1e-9)
    assert th.soft_wrong_time(**ask) == pytest.approx(6.25)
    ask = {**ask, "presence_criterion": 0.3}
    assert th.optimal_votes(**ask) == 9
    assert th.soft_wrong_time(**ask) == pytest.approx(7.45)


def test_windows_over_a_law_are_the_mean():
    ask = {"segment_length": 2, "hop": 0.5, "votes": 2, "presence_criterion": 0.4}
    values = np.array([0.3, 1.0, 4.0, 9.0])
    each = th.overlapping_wrong_time(event_length=values, **ask)
    assert th.overlapping_wrong_time(event_length=Lengths.sample(values), **ask) == pytest.approx(
        each.mean(), abs=1e-13
    )
    u = (np.arange(100_000) + 0.5) / 100_000 * 6
    law = th.overlapping_wrong_time(event_length=stats.uniform(0, 6), **ask)
    assert law == pytest.approx(th.overlapping_wrong_time(event_length=u, **ask).mean(), abs=1e-4)


@pytest.mark.parametrize("rule", ["seconds:0.5", "seconds:1|fraction:0.5", "any", "coverage:0.3", "margin:0.5"])
def test_windows_over_a_law_with_a_rule_are_the_mean(rule):
    ask = {"segment_length": 2, "hop": 0.5, "rule": PresenceRule.parse(rule)}
    values = np.array([0.3, 1.0, 4.0, 9.0])
    sample, law = Lengths.sample(values), Lengths.law(stats.gamma(2))
    fine = law.quantile((np.arange(100_000) + 0.5) / 100_000)
    each = [th.overlapping_wrong_time(event_length=values, votes=k, **ask).mean() for k in range(1, 5)]
    for k in range(1, 5):
        assert th.overlapping_wrong_time(event_length=sample, votes=k, **ask) == pytest.approx(each[k - 1], abs=1e-13)
        mean = th.overlapping_wrong_time(event_length=fine, votes=k, **ask).mean()
        assert th.overlapping_wrong_time(event_length=law, votes=k, **ask) == pytest.approx(mean, abs=1e-4)
        inside = (1 - th.overlapping_cell_accuracy(event_length=values, votes=k, **ask)) * (values + 0.5)
        cells = th.overlapping_cell_accuracy(event_length=sample, votes=k, **ask)
        assert cells == pytest.approx(1 - inside.mean() / (values.mean() + 0.5), abs=1e-13)
    assert th.optimal_votes(event_length=sample, **ask) == int(np.argmin(np.round(each, 12))) + 1
    assert 1 <= th.optimal_votes(event_length=1.0, **ask) <= 4  # a number is a law too


def test_bad_windows():
    with pytest.raises(InvalidInput, match="whole number of hops"):
        th.optimal_votes(event_length=1, segment_length=1, hop=0.3, presence_criterion=0.5)
    with pytest.raises(InvalidInput, match="votes must be a whole number from 1 to 2"):
        th.overlapping_wrong_time(event_length=1, segment_length=1, hop=0.5, votes=3, presence_criterion=0.5)


@given(delta=st.floats(0.1, 5), g=st.floats(0.05, 1))
def test_one_axis_is_theorem_1(delta, g):
    if abs(delta - g) > 1e-6:
        ours = th.box_overlap_accuracy(length_ratios=[delta], presence_criterion=g)
        plain = th.overlap_accuracy(event_length=1, segment_length=delta, presence_criterion=g)
        assert ours == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize(("ratios", "g"), [((1.3, 0.7), 0.3), ((0.9, 2.0), 0.15), ((0.6, 0.8), 0.4)])
def test_two_axes_are_quadrature(ratios, g):
    # share along one axis: uniform on (0, m) or at m; the second axis in closed form
    (a, b), (m, n) = ratios, (min(1, ratios[0]), min(1, ratios[1]))
    pa, pb = (abs(1 - x) / (1 + x) for x in ratios)

    def given_first(x):  # E[1{present}], E[share; present] over the second axis
        edge = min(g / x, n)
        present = (pb + (1 - pb) * (n - edge) / n) * (x * n >= g)
        share = x * (pb * n + (1 - pb) * (n * n - edge * edge) / (2 * n)) * (x * n >= g)
        return 2 * share / (a * b) - present

    inside = integrate.quad(given_first, 0, m, points=[g / n], epsabs=1e-12)[0] / m
    value = 1 - 1 / ((1 + a) * (1 + b)) + pa * given_first(m) + (1 - pa) * inside
    assert th.box_overlap_accuracy(length_ratios=ratios, presence_criterion=g) == pytest.approx(value, abs=1e-10)


def test_boxes_that_show_nothing_score_high_and_recall_nothing():
    flat = {"length_ratios": [1000.0, 0.01], "presence_criterion": 0.5}
    assert th.box_overlap_accuracy(**flat) > 0.98
    assert th.box_recall(**flat) == 0.0
    assert th.box_wrong_volume(**flat) == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match="one ratio per axis"):
        th.box_overlap_accuracy(length_ratios=0.5, presence_criterion=0.5)


@given(delta=st.floats(0.05, 6))
def test_the_bound_is_quadrature(delta):
    m = min(1.0, delta)
    points = [delta / 2] if delta / 2 < m else None
    inside = integrate.quad(lambda x: 2 * max(x / delta, 1 - x / delta), 0, m, points=points)[0]
    value = (inside + abs(1 - delta) * max(m / delta, 1 - m / delta)) / (1 + delta)
    assert th.overlap_accuracy_bound(event_length=1, segment_length=delta) == pytest.approx(value, abs=1e-9)


def test_short_events_in_long_segments_end_where_merged_events_do():
    assert Clumps(0.3, 0.001, 1200.0).reach < 0.02  # and not a million stretches further
    ask = {"segment_length": 60.0, "presence_criterion": 0.1}
    short = th.dense_recordings(event_length=0.001, event_rate=0.3, **ask)
    assert short.recall == pytest.approx(1 - 0.1**2 * 0.001 / 60, abs=1e-6)
    assert short.overlap_accuracy == pytest.approx(-np.expm1(-0.3 * 0.001), rel=1e-4)  # every segment is present
    assert short.event_recall == 1.0


def test_dense_recordings_tend_to_theorem_1():
    ask = {"event_length": 1, "segment_length": [0.3, 0.9, 2.0], "presence_criterion": 0.5}
    found = th.dense_recordings(**ask, event_rate=1e-7)
    assert found.overlap_accuracy == pytest.approx(th.overlap_accuracy(**ask), abs=1e-6)
    assert found.recall == pytest.approx(th.recall(**ask), abs=1e-6)
    assert found.event_recall == pytest.approx(th.event_recall(**ask), abs=1e-6)
    assert found.precision[1:] == pytest.approx(th.precision(**ask)[1:], abs=1e-6)


@pytest.mark.parametrize(("rate", "w", "g"), [(0.5, 0.9, 0.5), (1.3, 1.7, 0.35), (0.8, 1.4, 1.0)])
def test_dense_recordings_are_the_simulated_process(rate, w, g):
    rng = np.random.default_rng(8)
    total, wide = 200_000.0, 1.0
    starts = np.sort(rng.uniform(0, total, rng.poisson(rate * total)))
    new = np.flatnonzero(np.r_[True, np.diff(starts) > wide])
    a, b = starts[new], starts[np.r_[new[1:] - 1, starts.size - 1]] + wide
    edges = np.arange(50, total - 50, w)
    cover = np.zeros(edges.size - 1)
    share = np.zeros(edges.size - 1)
    first, last = (np.searchsorted(edges, x, side="right") - 1 for x in (a, b))
    noticed = np.zeros(a.size, bool)
    for i, (lo, hi, m, n) in enumerate(zip(a, b, first, last)):
        for k in range(max(m, 0), min(n + 1, cover.size)):
            x = min(hi, edges[k + 1]) - max(lo, edges[k])
            if x > 0:
                cover[k] += x
                share[k] = max(share[k], x / (hi - lo))
                noticed[i] |= x / (hi - lo) >= g - 1e-9
    met, present = cover > 0, share >= g - 1e-9
    accuracy = np.where(present, cover, w - cover)[met] / w
    found = th.dense_recordings(event_length=wide, event_rate=rate, segment_length=w, presence_criterion=g)
    assert found.overlap_accuracy == pytest.approx(accuracy.mean(), abs=6e-3)
    assert found.precision == pytest.approx(cover[present].sum() / (w * present.sum()), abs=6e-3)
    assert found.recall == pytest.approx(cover[present].sum() / cover.sum(), abs=6e-3)
    assert found.event_recall == pytest.approx(noticed.mean(), abs=6e-3)


@pytest.mark.parametrize("rate", [0.2, 0.7, 1.0])
def test_clump_law_is_the_alternating_sum(rate):
    from math import exp, factorial

    def slow(y):
        terms = (
            (-1) ** j * exp(-rate * j) * ((rate * z) ** (j + 1) / factorial(j + 1) + (rate * z) ** j / factorial(j))
            for j, z in ((j, y - j) for j in range(int(y) + 1))
        )
        return exp(-rate) * sum(terms)

    x = np.array([1.0, 1.4, 2.3, 3.9, 6.2])
    ours = th.clump_cdf(x, event_length=1, event_rate=rate)
    assert ours == pytest.approx([slow(each - 1) for each in x], abs=1e-12)
    far = th.clump_cdf([60.0, 200.0], event_length=1, event_rate=rate)  # where the alternating sum is noise
    assert (far <= 1 + 1e-12).all()
    assert far[0] <= far[1] + 1e-12
    y = (np.arange(400_000) + 0.5) / 10_000
    mean = np.sum(1 - th.clump_cdf(y, event_length=1, event_rate=rate)) / 10_000
    assert mean == pytest.approx(np.expm1(rate) / rate, rel=1e-3)


def slow_crowded(total, b, g, d=1.0, n=400):
    """Two events: the definitions on a fine grid of their starts."""
    w = total / b
    grid = (np.arange(n) + 0.5) / n * (total - d)
    right = met = 0.0
    for x, y in itertools.product(grid, grid):
        lo, hi = min(x, y), max(x, y)
        events = [(lo, hi + d)] if hi <= lo + d else [(lo, lo + d), (hi, hi + d)]
        for k in range(b):
            parts = [(max(0.0, min(e, (k + 1) * w) - max(s, k * w)), e - s) for s, e in events]
            cover = sum(part for part, _ in parts)
            if cover > 0:
                present = any(part >= g * size * (1 - 1e-12) for part, size in parts)
                met += 1
                right += (cover if present else w - cover) / w
    return right / n**2, met / n**2


def test_crowded_recordings_are_the_definition():
    right, met = slow_crowded(4, 5, 0.6, n=120)
    found = th.crowded_recordings(event_length=1, n_events=2, recording_length=4, n_queries=5, presence_criterion=0.6)
    assert found.right == pytest.approx(right, abs=4e-3)
    assert found.n_overlapping == pytest.approx(met, abs=4e-3)


def test_one_event_in_a_recording_has_a_closed_form():
    # one event on one segment: F is its own share; two halves: by symmetry and integration over the start
    found = th.crowded_recordings(event_length=1, n_events=1, recording_length=1.2, n_queries=1, presence_criterion=0.5)
    assert found.overlap_accuracy == pytest.approx(1 / 1.2, abs=1e-12)
    grid = (np.arange(200_000) + 0.5) / 200_000 * 3.0
    k = np.arange(5)[:, None]
    x = np.clip(np.minimum(grid + 1, (k + 1) * 0.8) - np.maximum(grid, k * 0.8), 0, None)
    right = np.where(x >= 0.6, x, 0.8 - x)[x > 0].sum() / 0.8 / grid.size
    found = th.crowded_recordings(event_length=1, n_events=1, recording_length=4, n_queries=5, presence_criterion=0.6)
    assert found.right == pytest.approx(right, abs=1e-5)


def test_bisection_counts_the_definition():
    total, levels, d, g = 16.0, 4, 1.3, 0.4
    starts = (np.arange(20_000) + 0.5) / 20_000 * (total - d)
    queries, heard = np.ones(starts.size), np.full(starts.size, total)
    for level in range(levels):
        width = total / 2**level
        k = np.arange(2**level)[:, None]
        x = np.minimum(starts + d, (k + 1) * width) - np.maximum(starts, k * width)
        present = (x >= g * d).sum(axis=0)
        queries += 2 * present
        heard += present * width
    ask = {"recording_length": total, "levels": levels, "event_length": d, "presence_criterion": g}
    assert th.bisection_queries(**ask) == pytest.approx(queries.mean(), abs=2e-3)
    assert th.bisection_listened(**ask) == pytest.approx(heard.mean(), abs=2e-2)
    assert th.bisection_queries(**ask, start_level=levels) == 2**levels
    with pytest.raises(InvalidInput, match="start_level must be at most levels"):
        th.bisection_queries(**ask, start_level=9)


def test_rules_over_laws_use_every_break():
    rule = PresenceRule.either(PresenceRule.seconds(0.5), PresenceRule.fraction(0.5))
    law = Lengths.law(stats.uniform(0.1, 4))
    u = 0.1 + 4 * (np.arange(400_000) + 0.5) / 400_000
    for q in (0.4, 1.1, 3.0):
        slow = th.wrong_time(event_length=u, segment_length=q, rule=rule).mean()
        assert th.wrong_time(event_length=law, segment_length=q, rule=rule) == pytest.approx(slow, abs=1e-5)
