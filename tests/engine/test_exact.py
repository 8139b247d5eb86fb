"""The expectation over a random phase agrees with the definitions, the grid and the closed forms."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import reference
import weakly as wk
from grids import ANNOTATORS, CRITERIA, EV3, agrees, measured, on_grid, recordings
from test_doors_agree import LAWFUL, RULES, answering, rule_of
from weakly.base.errors import InvalidInput
from weakly.engine import exact, voting
from weakly.model.annotator import Annotator, PresenceRule
from weakly.model.answer_model import AnswerModels
from weakly.model.intervals import Edge, EventArrays, Placement


def at_random(timelines, width, who, *, edge="truncate", means=True):
    return exact.measure(timelines, width, who, Placement(None, Edge.of(edge), None, None, means))


WIDTHS = [0.1, 0.3, 0.7, 1.3, 3.0, 15.0, 60.0]


def means_agree(found, near, again):
    """Means divide by the widths of cut segments, which few points integrate to 2e-6 unless one is cut to almost
    nothing; there four times the points are asked, and what they change is the reference's own error."""
    if any(found[name] != pytest.approx(value, rel=2e-6, abs=2e-6) for name, value in near.items()):
        finer = again()
        for name, value in near.items():
            own = abs(finer[name] - value)
            assert own < 1e-2
            assert found[name] == pytest.approx(finer[name], rel=2e-6, abs=2e-6 + own), name


@settings(max_examples=40)
@given(
    recordings(),
    st.sampled_from(WIDTHS),
    st.sampled_from(["truncate", "inside", "infinite"]),
    st.sampled_from([0.1, 0.5, 1.0]),
)
def test_exact_agrees_with_the_definitions_over_all_phases(recording, width, edge, criterion):
    events, length = recording
    timelines = EventArrays.of([events[:4]], length)
    merged = [tuple(event) for event in timelines.bounds]
    if length / width > 40:
        width *= 10
    found = measured(at_random(timelines, width, AnswerModels.of(presence_criterion=criterion), edge=edge))
    expected = partial(reference.expected, merged, length, width, criterion, edge=edge)
    wanted = expected(nodes=20)
    wanted.pop("bound_time")  # bends elsewhere
    near = {name: wanted.pop(name) for name in ("mean", "fit")}
    agrees(found, wanted, 1e-8)  # the definitions leave out segments that are cut to almost nothing: 1.5e-9 was seen
    means_agree(found, near, partial(expected, nodes=80))


def test_segments_beside_an_event_that_almost_ends_with_the_recording_are_all_counted():
    """Found where definitions were compared: there are 1 + length / width of them, whatever the events."""
    timelines = EventArrays.of([[(0.0, 0.99999)]], 1.0)
    found = measured(at_random(timelines, 60.0, AnswerModels.of(presence_criterion=0.5), edge="truncate"))
    assert found["n_segments"] == pytest.approx(1 + 1 / 60, rel=1e-14)


@pytest.mark.parametrize(
    ("events", "length", "width", "edge"),
    [
        ([(0.1, 0.2), (0.9, 1.2), (1.75, 2.1)], 2.5, 0.7, "infinite"),
        ([(1.2000000000000002, 1.3), (1.4500000000000002, 2.1)], 2.5, 0.7, "truncate"),
        ([(7.800000000000001, 8.4)], 10.0, 0.7, "inside"),
        ([(4.9, 8.8)], 10.0, 0.7, "inside"),
    ],
)
def test_an_end_on_a_whole_number_of_segments_is_counted_once(events, length, width, edge):
    """2.1 / 0.7 is not 3 in binary: the mean per recording was .59 where the definition says .44."""
    timelines = EventArrays.of([events], length)
    found = measured(at_random(timelines, width, AnswerModels.of(presence_criterion=0.5), edge=edge))["mean"]
    merged = [tuple(event) for event in timelines.bounds]
    wanted = reference.expected(merged, length, width, 0.5, edge=edge, nodes=60)["mean"]
    assert found == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("step", [0.1, 0.7, 1 / 3])
def test_times_on_whole_numbers_of_segments_agree_with_the_definitions(step):
    """Whatever the rounding of k * step: no segment is lost or counted twice, on grids, at random, with windows."""
    rng = np.random.default_rng(round(100 * step))
    for turn in range(5):
        points = step * np.unique(rng.integers(0, 16, 7))
        points = np.append(points, step * 15) if len(points) % 2 else points
        events = [(float(a), float(b)) for a, b in zip(points[::2], points[1::2]) if b > a]
        length, width = float(max(step * 15, events[-1][1])), float(step * rng.integers(1, 4))
        timelines, criterion = EventArrays.of([events], length), float(rng.choice([0.25, 0.5, 1.0]))
        merged, who = [tuple(event) for event in timelines.bounds], AnswerModels.of(presence_criterion=criterion)
        for edge in ("inside", "infinite") if turn else ("truncate",):
            wanted = reference.expected(merged, length, width, criterion, edge=edge, nodes=2 if turn else 24)
            wanted.pop("bound_time")
            found = measured(at_random(timelines, width, who, edge=edge))
            assert found["n_found"] <= found["n_events"]
            agrees(found, wanted, 1e-9 if turn else 1e-6)
            for phase in (0.0, step):
                wanted = reference.score(merged, length, width, criterion, phase=phase, edge=edge)
                agrees(measured(on_grid(timelines, width, who, phase=phase, edge=edge)), wanted)
        how = Placement(None, Edge.TRUNCATE, step, 1)
        wanted = reference.expected(merged, length, width, criterion, hop=step, votes=1, nodes=2)
        wanted = {name: wanted[name] for name in ("tp", "fp", "fp_outside", "n_present", "n_found", "n_overlapping")}
        agrees(measured(voting.measure(timelines, width, who, how)), wanted)


def test_exact_is_the_mean_of_the_grid_on_many_recordings():
    rng = np.random.default_rng(3)
    columns = AnswerModels.of(presence_criterion=[0.2, 0.5, 1.0])
    for round_number in range(400):
        points = np.unique(rng.random(2 * rng.integers(1, 5)) * 5)
        points = np.unique(np.round(points, 1)) if round_number % 2 else points
        events = [(a, b) for a, b in zip(points[::2], points[1::2])]
        if not events:
            continue
        timelines = EventArrays.of([events], 5)
        a, b = timelines.bounds.T
        width = float(rng.choice([0.3, 0.7, 1.0, 2.0, 7.0]))
        edge = ("truncate", "inside", "infinite")[round_number % 3]
        reaches = np.multiply.outer([0.0, 0.2, 0.5, 1.0], b - a)
        points = np.concatenate(((a + reaches).ravel(), (b - reaches).ravel(), [5.0]))
        wanted = averaged(timelines, width, columns, points, edge, n=2)
        raw, _ = at_random(timelines, width, columns, edge=edge)
        assert raw[..., :5] == pytest.approx(wanted[..., :5], abs=1e-9), (events, width, edge)


def averaged(timelines, width, columns, points, edge="truncate", n=6):
    """The grid's measures averaged over the phase, piece by piece between the given phases."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    cuts = np.unique(np.concatenate(([0.0, width], np.mod(points, width))))
    total = 0.0
    for low, high in itertools.pairwise(cuts):
        for x, weight in zip(nodes, weights):
            at = low + (high - low) * (x + 1) / 2
            raw, _ = on_grid(timelines, width, columns, phase=at, edge=edge)
            total = total + raw * weight * (high - low) / 2 / width
    return total


@settings(max_examples=12)
@given(recordings(), st.sampled_from([0.3, 0.7, 3.0, 15.0]), st.sampled_from(["truncate", "inside"]))
def test_rules_average_to_the_exact_value(recording, width, edge):
    events, length = recording
    timelines = EventArrays.of([events[:4]], length)
    a, b = timelines.bounds.T
    rules = [rule_of(rule) for rule in RULES]
    raw, _ = at_random(timelines, width, AnswerModels.of(rule=rules), edge=edge)
    for c, rule in enumerate(rules):
        need = rule.required_overlap(event_length=b - a, segment_length=width)
        need = np.where(np.isfinite(need), need, 0.0)
        points = np.concatenate((a, b, a + need, b - need, [length, 0.0]))
        wanted = averaged(timelines, width, AnswerModels.of(rule=rule), points, edge)
        assert raw[0, c, :5] == pytest.approx(wanted[0, 0, :5], abs=1e-8), rule.name
        assert raw[0, c, 5:] == pytest.approx(wanted[0, 0, 5:], rel=1e-3, abs=1e-4), rule.name


@pytest.mark.parametrize("edge", ["truncate", "inside", "infinite", "circular"])
@pytest.mark.parametrize("width", [0.5, 1.3, 3.0])
def test_a_fraction_rule_is_a_criterion(width, edge):
    timelines = EventArrays.of([EV3, [(0, 4), (9, 10)]], 10)
    left = at_random(timelines, width, AnswerModels.of(presence_criterion=CRITERIA), edge=edge)
    right = at_random(timelines, width, AnswerModels.of(rule=[PresenceRule.fraction(g) for g in CRITERIA]), edge=edge)
    certain = AnswerModels.of(annotator=[Annotator(presence_criterion=g) for g in CRITERIA])
    assert right[0] == pytest.approx(left[0], abs=1e-9)
    assert at_random(timelines, width, certain, edge=edge)[0] == pytest.approx(left[0], abs=1e-9)


@pytest.mark.parametrize("width", [0.5, 1.3, 3.0])
@pytest.mark.parametrize("edge", ["truncate", "inside"])
def test_annotators_average_to_the_exact_value(width, edge):
    timelines = EventArrays.of([EV3], 10)
    a, b = timelines.bounds.T
    raw, _ = at_random(timelines, width, AnswerModels.of(annotator=ANNOTATORS), edge=edge)
    fixed = np.concatenate([np.concatenate((a + 0.5 * (b - a), b - 0.5 * (b - a)))])
    points = np.concatenate((a, b, fixed, np.linspace(0, width, 30)))
    wanted = averaged(timelines, width, AnswerModels.of(annotator=ANNOTATORS), points, edge)
    assert raw[0, :, :5] == pytest.approx(wanted[0, :, :5], abs=1e-6)
    assert raw[0, :, 5:] == pytest.approx(wanted[0, :, 5:], abs=1e-6)


@settings(max_examples=8)
@given(recordings(), st.sampled_from([0.7, 1.3, 3.0]), st.sampled_from(LAWFUL), st.sampled_from(["truncate", "inside"]))
def test_laws_of_criteria_agree_with_the_definitions_over_all_phases(recording, width, people, edge):
    events, length = recording
    timelines = EventArrays.of([events[:1]], length)
    width *= length / 5
    merged = [tuple(event) for event in timelines.bounds]
    found = measured(at_random(timelines, width, AnswerModels.of(**answering(people)), edge=edge))
    expected = partial(reference.expected, merged, length, width, people, edge=edge)
    wanted = expected(nodes=9)
    wanted.pop("bound_time")
    near = {name: wanted.pop(name) for name in ("mean", "fit", "n_found")}
    agrees(found, wanted)
    means_agree(found, near, partial(expected, nodes=36))


def test_an_event_that_ends_with_the_recording_has_a_mean_under_a_law():
    timelines = EventArrays.of([[(0.0625, 1.0)]], 1.0)
    found = measured(at_random(timelines, 0.7 / 5, AnswerModels.of(annotator=Annotator.beta(2, 3)), edge="truncate"))
    assert found["mean"] == pytest.approx(0.14655091402955, rel=1e-9)  # by quadrature of the definition, 80 points


def test_random_annotators_are_mixtures_of_criteria():
    timelines = EventArrays.of([EV3], 10)
    law = stats.beta(2, 3)
    raw, _ = at_random(timelines, 1.3, AnswerModels.of(annotator=Annotator(presence_criterion=law)))
    n = 20_000
    criteria = law.ppf((np.arange(n) + 0.5) / n)
    each, _ = at_random(timelines, 1.3, AnswerModels.of(presence_criterion=criteria), means=False)
    assert raw[0, 0, :5] == pytest.approx(each[0, :, :5].mean(axis=0), abs=2e-5)


@pytest.mark.parametrize(
    ("annotator", "ratio", "value"),
    [  # reference table, section D: one event, accuracy given overlap
        (Annotator(presence_criterion=stats.beta(2, 3)), 1.3, 0.6488294314),
        (Annotator(presence_criterion=stats.beta(5, 5)), 0.5, 0.5517282197),
        (Annotator(presence_criterion=stats.logistic(0.3, 0.05)), 1.3, 0.6300659406),
        (Annotator(presence_criterion=stats.beta(2, 3), guess_rate=0.05, lapse_rate=0.1), 0.8, 0.6850080000),
        (Annotator(presence_criterion=stats.beta(2, 3), votes=(1, 3)), 0.8, 0.7166704723),
        (Annotator(presence_criterion=stats.uniform(0, 1)), 1.0, 0.6666666667),
        (Annotator(presence_criterion=0.5, flip_rate=0.1), 0.8, 0.7111111111),
    ],
)
def test_reference_table_section_d(annotator, ratio, value):
    found = wk.evaluate([[(50, 51)]], recording_length=100, segment_length=ratio, annotator=annotator)
    assert found.overlap_accuracy == pytest.approx(value, abs=2e-9)


@pytest.mark.parametrize(
    ("width", "criterion", "edge", "tp", "fp"),
    [  # reference table, section A
        (1.3, 0.45, "infinite", 2.9464423077, 1.3635576923),
        (1.3, 0.45, "truncate", 2.9464423077, 1.3635576923),
        (1.3, 0.45, "inside", 2.9464423077, 1.3635576923),
        (1.3, 0.45, "circular", 2.9464423077, 1.3635576923),
        (0.5, 0.45, "infinite", 0.3352, 0.2048),
        (0.5, 0.45, "truncate", 0.3352, 0.2048),
        (0.5, 0.45, "inside", 0.3352, 0.2048),
        (0.5, 0.45, "circular", 0.3352, 0.2048),
        (3.0, 0.8, "infinite", 2.596, 2.924),
        (3.0, 0.8, "truncate", 2.596, 2.7020666667),
        (3.0, 0.8, "inside", 1.8129333333, 2.1670666667),
        (3.0, 0.8, "circular", 2.6446, 2.8754),
    ],
)
def test_reference_table_section_a(width, criterion, edge, tp, fp):
    timelines = EventArrays.of([EV3], 10)
    found = measured(at_random(timelines, width, AnswerModels.of(presence_criterion=criterion), edge=edge))
    assert (found["tp"], found["fp"]) == pytest.approx((tp, fp), abs=1e-9)


def test_reference_table_section_a_ratios():
    how = {"recording_length": 10, "segment_length": 1.3, "presence_criterion": 0.45}
    found = wk.evaluate([EV3], edge="infinite", **how)
    assert (found.precision, found.recall) == pytest.approx((0.6836293057, 0.7186444653), abs=1e-9)
    assert wk.evaluate([EV3], **how).overlap_accuracy_per_segment == pytest.approx(0.6491586261, abs=1e-9)


@pytest.mark.parametrize("phase", ["random", 0.0])
@pytest.mark.parametrize("width", [9.0, 20.0, 100.0])
def test_segments_beyond_the_ends_never_make_an_accuracy_below_zero(width, phase):
    how = {"recording_length": 10, "segment_length": width, "presence_criterion": 0.5, "phase": phase}
    found = wk.evaluate([[(0, 1), (9, 10)]], edge="infinite", **how)
    assert 0 <= found.recording_accuracy <= 1
    assert found.recording_accuracy == pytest.approx(1 - found.wrong_time / found.listened, abs=1e-12)


@pytest.mark.parametrize(("ratio", "criterion", "value"), [(0.35, 0.1, 0.8503401361), (1.3, 0.7, 0.7218934911)])
def test_mean_of_ratios_of_one_event(ratio, criterion, value):
    # E12: the mean per recording is not the pooled ratio; both come from one call
    found = wk.evaluate([[(50, 51)]], recording_length=100, segment_length=ratio, presence_criterion=criterion)
    assert found.overlap_accuracy_per_recording == pytest.approx(value, abs=1e-9)
    pooled = wk.overlap_accuracy(event_length=1, segment_length=ratio, presence_criterion=criterion)
    assert found.overlap_accuracy == pytest.approx(float(pooled), abs=1e-9)


@given(st.floats(1, 4), st.floats(0.05, 1))
def test_mean_of_ratios_closed_form(ratio, criterion):
    # E12: (1 + g) / delta - (1 / 2 + g^2) / delta^2 for delta >= 1
    found = wk.evaluate([[(50, 51)]], recording_length=100, segment_length=ratio, presence_criterion=criterion)
    wanted = (1 + criterion) / ratio - (0.5 + criterion**2) / ratio**2
    assert found.overlap_accuracy_per_recording == pytest.approx(wanted, abs=1e-9)


@given(st.floats(0.05, 5), st.floats(0.01, 1))
def test_one_event_is_theorem_1(ratio, criterion):
    found = wk.evaluate([[(50, 51)]], recording_length=100, segment_length=ratio, presence_criterion=criterion)
    how = {"event_length": 1, "segment_length": ratio, "presence_criterion": criterion}
    assert found.overlap_accuracy == pytest.approx(float(wk.overlap_accuracy(**how)), abs=1e-9)
    assert found.wrong_time == pytest.approx(float(wk.wrong_time(**how)), abs=1e-9)
    assert found.event_recall == pytest.approx(float(wk.event_recall(**how)), abs=1e-9)


def test_the_bound_of_any_criterion():
    # E[max(c, 1 - c)] of one event is (2 + delta) / (2 (1 + delta)) up to delta = 2
    for ratio in (0.3, 1.0, 2.0):
        found = wk.evaluate([[(50, 51)]], recording_length=100, segment_length=ratio, presence_criterion=ratio / 2)
        assert found.overlap_accuracy_bound == pytest.approx((2 + ratio) / (2 * (1 + ratio)))
        assert found.overlap_accuracy == pytest.approx(found.overlap_accuracy_bound)


def test_two_close_events_beat_the_bound_for_sparse_ones():
    # E23: two unit events 0.1 s apart, criterion 0.5, segments of 1.1 s: 0.795 > f* = 0.7639
    found = wk.evaluate([[(50, 51), (51.1, 52.1)]], recording_length=100, segment_length=1.1, presence_criterion=0.5)
    assert found.overlap_accuracy == pytest.approx(0.795, abs=1e-3)
    assert float(wk.best_overlap_accuracy(presence_criterion=0.5)) < found.overlap_accuracy
    assert found.overlap_accuracy <= found.overlap_accuracy_bound


def test_few_and_many_criteria_take_the_same_way():
    # few criteria between two fractions are evaluated, many go through differences of polynomials
    rng = np.random.default_rng(1)
    points = np.sort(rng.random((20, 40)), axis=1) * 50
    timelines = EventArrays.of([list(zip(row[::2], row[1::2])) for row in points], 50)
    criteria = np.linspace(0.01, 1, 100)
    for width in (0.02, 0.9, 7.0):
        many, _ = at_random(timelines, width, AnswerModels.of(presence_criterion=criteria), means=False)
        for c in (0, 30, 98):
            one, _ = at_random(timelines, width, AnswerModels.of(presence_criterion=criteria[c]), means=False)
            assert many[:, c, :5] == pytest.approx(one[:, 0, :5], abs=1e-9)


def test_a_circle_has_no_seam():
    events = [(0.0, 1.0), (3.0, 3.5), (6.0, 8.0)]
    turned = [(a + 1.7, b + 1.7) for a, b in events]
    columns = AnswerModels.of(presence_criterion=CRITERIA)
    for width in (0.4, 1.3, 4.0):
        left = at_random(EventArrays.of([events], 10), width, columns, edge="circular")[0]
        right = at_random(EventArrays.of([turned], 10), width, columns, edge="circular")[0]
        assert right[..., :5] == pytest.approx(left[..., :5], abs=1e-9)
    with pytest.raises(InvalidInput, match="at most the recording's length"):
        at_random(EventArrays.of([events], 10), 12.0, columns, edge="circular")


@pytest.mark.parametrize(
    ("d", "k", "hop", "criterion", "votes", "wrong"),
    [(1.0, 4, 0.3, 0.5, 1, 1.1), (2.3, 10, 0.2, 0.4, 5, 0.36), (1.0, 3, 0.5, 0.95, 1, 0.6)],
)
def test_reference_table_section_f(d, k, hop, criterion, votes, wrong):
    found = wk.evaluate(
        [[(50, 50 + d)]],
        recording_length=100,
        segment_length=k * hop,
        hop=hop,
        votes=votes,
        presence_criterion=criterion,
    )
    assert found.wrong_time == pytest.approx(wrong, abs=1e-9)


@settings(max_examples=20)
@given(st.floats(0.2, 3), st.integers(1, 6), st.floats(0.1, 1), st.floats(0.05, 1), st.data())
def test_votes_of_windows_have_a_closed_form_for_one_event(d, k, hop, criterion, data):
    votes = data.draw(st.integers(1, k))
    width, need = k * hop, criterion * d
    wanted, span = d, d + width - 2 * need
    if need <= width * (1 - 1e-6) and span / hop > votes - 1:
        extra = (k - votes + 1) * hop - need
        if np.floor(span / hop) >= votes:
            wanted = (extra**2 + (hop - extra) ** 2) / hop if 0 <= extra <= hop else 2 * abs(extra - hop / 2)
        else:
            rest = span % hop
            area = integrate.quad(lambda u: abs(u - extra), 0, rest, points=[min(max(extra, 0), rest)])[0]
            wanted = 2 / hop * area + (1 - rest / hop) * d
    elif need <= width * (1 + 1e-6) and span / hop > votes - 1:
        return
    found = wk.evaluate(
        [[(50, 50 + d)]],
        recording_length=100,
        segment_length=width,
        hop=hop,
        votes=votes,
        presence_criterion=criterion,
    )
    assert found.wrong_time == pytest.approx(wanted, abs=1e-9)


def test_windows_that_do_not_overlap_are_segments():
    events = [EV3, [(0, 10)], []]
    for phase in (0, 0.3, "random"):
        how = {"recording_length": 10, "segment_length": 1.3, "presence_criterion": [0.3, 0.8], "phase": phase}
        left, right = wk.evaluate(events, **how).to_frame(), wk.evaluate(events, **how, hop=1.3).to_frame()
        for name in ("recall", "precision", "event_recall", "wrong_time", "overlap_accuracy", "overlap_accuracy_bound"):
            assert right[name].to_numpy() == pytest.approx(left[name].to_numpy(), abs=1e-9), name
        assert right["overlap_accuracy_per_recording"].to_numpy() == pytest.approx(
            left["overlap_accuracy_per_recording"].to_numpy(), abs=1e-6
        )
