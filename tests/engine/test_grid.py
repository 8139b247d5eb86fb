"""One concrete grid agrees with the definitions, whatever the events."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import reference
import weakly as wk
from grids import CRITERIA, EV3, agrees, measured, on_grid, recordings
from test_doors_agree import LAWFUL, NOISY, RULES, answering, rule_of
from weakly.engine import voting
from weakly.engine.tally import SCORES
from weakly.model.annotator import Annotator
from weakly.model.answer_model import AnswerModels
from weakly.model.intervals import Edge, EventArrays, Placement


@given(
    recordings(),
    st.sampled_from([0.05, 0.1, 0.25, 0.3, 0.7, 1.0, 1.3, 3.0, 40.0, 100.0]),
    st.sampled_from([0.0, 0.05, 0.123, 0.6]),
    st.sampled_from(["truncate", "inside", "infinite"]),
)
def test_grid_agrees_with_the_definitions(recording, width, phase, edge):
    events, length = recording
    timelines = EventArrays.of([events], length)
    merged = [tuple(event) for event in timelines.bounds]
    found = on_grid(timelines, width, AnswerModels.of(presence_criterion=CRITERIA), phase=phase, edge=edge)
    for c, criterion in enumerate(CRITERIA):
        wanted = reference.score(merged, length, width, criterion, phase=phase, edge=edge)
        agrees(measured(found, c=c), wanted)


def test_grid_agrees_with_the_definitions_on_thousands_of_recordings():
    rng = np.random.default_rng(2)
    criteria = [0.2, 0.5, 1.0]
    for round_number in range(40):
        width = float(rng.choice([0.25, 0.3, 0.5, 0.9, 2.0]))
        phase = 0.0 if round_number % 3 else float(rng.random() * width)
        points = np.sort(rng.random((50, 2 * rng.integers(1, 4))), axis=1) * 3
        if round_number % 2:
            points = np.round(points, 1)  # many ties, touching events and events on boundaries
        events = [[(a, b) for a, b in zip(row[::2], row[1::2]) if b > a] for row in points]
        timelines = EventArrays.of(events, 3)
        found = on_grid(timelines, width, AnswerModels.of(presence_criterion=criteria), phase=phase)
        for r, (bounds, length) in enumerate(timelines):
            merged = [tuple(event) for event in bounds]
            c = r % 3
            wanted = reference.score(merged, length, width, criteria[c], phase=phase)
            agrees(measured(found, r, c), wanted)


@given(recordings(), st.sampled_from([0.1, 0.25, 0.7, 1.3, 3.0, 100.0]), st.sampled_from([0.0, 0.123]))
def test_rules_agree_with_the_definitions(recording, width, phase):
    events, length = recording
    timelines = EventArrays.of([events], length)
    merged = [tuple(event) for event in timelines.bounds]
    found = on_grid(timelines, width, AnswerModels.of(rule=[rule_of(rule) for rule in RULES]), phase=phase)
    for c, rule in enumerate(RULES):
        agrees(measured(found, c=c), reference.score(merged, length, width, rule, phase=phase))


@settings(max_examples=40)
@given(recordings(), st.sampled_from([0.25, 0.7, 3.0]), st.sampled_from([*NOISY, *LAWFUL]))
def test_annotators_agree_with_the_definitions(recording, width, people):
    events, length = recording
    timelines = EventArrays.of([events[:2]], length)
    width *= max(1.0, length / 5)
    merged = [tuple(event) for event in timelines.bounds]
    found = on_grid(timelines, width, AnswerModels.of(**answering(people)))
    agrees(measured(found), reference.score(merged, length, width, people))


@given(recordings(), st.sampled_from([0.25, 0.7, 3.0]), st.sampled_from(CRITERIA))
def test_a_certain_annotator_is_a_criterion(recording, width, criterion):
    timelines = EventArrays.of([recording[0]], recording[1])
    left = on_grid(timelines, width, AnswerModels.of(annotator=Annotator(presence_criterion=criterion)))
    right = on_grid(timelines, width, AnswerModels.of(presence_criterion=criterion))
    agrees(measured(left), measured(right))


def test_the_chance_that_an_event_is_noticed_by_a_lapsing_annotator():
    # (0.2, 2.8) in segments of 1 s: fractions 0.8/2.6, 1/2.6 and 0.8/2.6; at 0.35 only the middle one counts.
    timelines = EventArrays.of([[(0.2, 2.8)]], 4)
    columns = AnswerModels.of(annotator=[Annotator(presence_criterion=g, lapse_rate=0.3) for g in (0.3, 0.35, 0.5)])
    raw, _ = on_grid(timelines, 1.0, columns)
    assert raw[0, :, 4] == pytest.approx([1 - 0.3**3, 0.7, 0.0])


@pytest.mark.parametrize(
    ("width", "n_overlapping", "wrong"),
    [(1.3, 6, [2.5, 2.8, 4.6]), (0.5, 10, [3.0, 4.0, 4.1]), (3, 4, [5.9, 5.9, 3.5])],
)
def test_reference_table_section_b(width, n_overlapping, wrong):
    found = wk.evaluate([EV3], recording_length=10, segment_length=width, presence_criterion=[0.3, 0.45, 0.8], phase=0)
    assert found.n_overlapping == pytest.approx([n_overlapping] * 3)
    assert found.wrong_time == pytest.approx(wrong, abs=1e-9)


def test_ties_count_as_present():
    # E35: (0.1, 0.4) in (0.1, 0.25) at 0.5, although 0.25 - 0.1 < 0.5 * (0.4 - 0.1) in floating point
    found = wk.evaluate([[(0.1, 0.4)]], recording_length=1, segment_length=0.15, presence_criterion=0.5, phase=0.1)
    assert found.n_present == 2
    assert found.recall == pytest.approx(1.0)


@pytest.mark.parametrize("width", [0.1, 0.2, 0.05])
def test_events_on_boundaries_meet_only_their_own_segments(width):
    events = [(0.3, 0.6), (0.7, 0.9)]
    found = wk.evaluate([events], recording_length=1.0, segment_length=width, presence_criterion=1e-3, phase=0)
    assert found.n_queries == round(1 / width)
    if width != 0.2:
        assert found.n_overlapping == round(0.5 / width)
        assert found.overlap_accuracy == pytest.approx(1.0)


@given(recordings(), st.sampled_from([0.1, 0.7, 3.0]), st.floats(0.1, 50))
def test_time_has_no_scale(recording, width, factor):
    events, length = recording
    left = on_grid(EventArrays.of([events], length), width, AnswerModels.of(presence_criterion=CRITERIA))[0]
    scaled = EventArrays.of([[(a * factor, b * factor) for a, b in events]], length * factor)
    right = on_grid(scaled, width * factor, AnswerModels.of(presence_criterion=CRITERIA))[0]
    times = [0, 1, 2]
    assert right[0][:, times] == pytest.approx(left[0][:, times] * factor, rel=1e-6, abs=1e-6)


@given(recordings(), st.sampled_from([0.1, 0.7, 3.0]))
def test_presence_only_falls_as_the_criterion_rises(recording, width):
    timelines = EventArrays.of([recording[0]], recording[1])
    raw, _ = on_grid(timelines, width, AnswerModels.of(presence_criterion=np.linspace(0.01, 1, 30)))
    for name in ("tp", "n_present", "n_found"):
        assert (np.diff(raw[0, :, SCORES.index(name)]) <= 1e-12).all()


@given(recordings(), st.sampled_from([0.25, 0.7, 3.0]), st.floats(0, 5))
def test_a_whole_segment_of_phase_changes_nothing(recording, width, phase):
    timelines = EventArrays.of([recording[0]], recording[1])
    columns = AnswerModels.of(presence_criterion=CRITERIA)
    left = on_grid(timelines, width, columns, phase=phase)
    right = on_grid(timelines, width, columns, phase=phase + 3 * width)
    assert right[0][..., 4] == pytest.approx(left[0][..., 4])
    assert right[0][..., :2] == pytest.approx(left[0][..., :2], abs=1e-6)


def test_criteria_may_come_in_any_order_and_twice():
    timelines = EventArrays.of([EV3], 10)
    mixed, _ = on_grid(timelines, 1.3, AnswerModels.of(presence_criterion=[0.8, 0.3, 0.8, 0.45]))
    plain, _ = on_grid(timelines, 1.3, AnswerModels.of(presence_criterion=[0.3, 0.45, 0.8]))
    assert (mixed[0, [1, 3, 0]] == plain[0]).all()
    assert (mixed[0, 0] == mixed[0, 2]).all()


@given(
    recordings(),
    st.sampled_from([(1, 1), (2, 1), (2, 2), (4, 1), (4, 3), (5, 5)]),
    st.sampled_from([0.2, 0.5]),
    st.sampled_from([0.0, 0.13]),
    st.sampled_from(["truncate", "inside"]),
    st.sampled_from([(0.0, 1.0), (0.1, 0.8)]),
)
def test_votes_of_windows_agree_with_the_definitions(recording, shape, hop, phase, edge, chances):
    events, length = recording
    hop *= max(1.0, length / 10)
    k, votes = shape
    low, high = chances
    timelines = EventArrays.of([events], length)
    merged = [tuple(event) for event in timelines.bounds]
    for criterion in (0.3, 1.0):
        people = {"criterion": criterion, "guess": low, "lapse": 1 - high}
        how = Placement(phase, Edge.of(edge), hop, votes)
        found = measured(voting.measure(timelines, k * hop, AnswerModels.of(**answering(people)), how))
        agrees(found, reference.score(merged, length, k * hop, people, phase=phase, edge=edge, hop=hop, votes=votes))


@pytest.mark.parametrize("votes", [1, 20, 70])
def test_many_windows_over_a_cell_vote_as_few_do(monkeypatch, votes):
    k, low, high = 70, 0.02, 0.9
    needed, table, tails = voting._vote_tables(k, votes, low, high)
    for i, j in ((70, 0), (70, 33), (70, 70), (41, 7), (1, 1)):
        counts = np.convolve(stats.binom.pmf(range(j + 1), j, high), stats.binom.pmf(range(i - j + 1), i - j, low))
        assert table[i, j] == pytest.approx(counts[needed[i] :].sum(), abs=1e-13)
    noticing = np.arange(64 * k + 1)
    for v in np.unique(needed):
        assert np.array_equal(tails[v], stats.binom.sf(v - 1, noticing, high))
