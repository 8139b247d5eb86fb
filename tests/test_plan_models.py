"""The models behind a plan: closed forms against the theory, the definitions and drawn recordings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import weakly as wk
from weakly import theory
from weakly.lengths import Lengths
from weakly.planning.criteria import Criteria
from weakly.planning.sparse import Sparse, nodes
from weakly.theory.windows import overlapping_cell_accuracy, overlapping_wrong_time

GAMMA = st.floats(0.05, 1.0)
SAMPLE = st.lists(st.floats(0.1, 8.0), min_size=1, max_size=6)


def sparse(lengths, *, recording_length=1000.0, n_events=1.0):
    return Sparse(Lengths.of(lengths), recording_length=recording_length, n_events=n_events)


class TestFixed:
    @given(sample=SAMPLE, gamma=GAMMA, width=st.floats(0.05, 20.0))
    def test_every_word_is_that_of_the_theory(self, sample, gamma, width):
        words = sparse(sample).fixed([width], Criteria.of(gamma)).words()
        kw = {"event_length": Lengths.sample(sample), "segment_length": width, "presence_criterion": gamma}
        assert words["overlap_accuracy"][0] == pytest.approx(
            theory.overlap_accuracy(weighting="segment", **kw), abs=1e-9
        )
        assert words["wrong_time"][0] == pytest.approx(theory.wrong_time(**kw), abs=1e-9)
        assert words["event_recall"][0] == pytest.approx(theory.event_recall(**kw), abs=1e-9)
        assert words["recall"][0] == pytest.approx(theory.recall(**kw), abs=1e-9)
        if words["recall"][0] > 1e-9:
            assert words["precision"][0] == pytest.approx(theory.precision(**kw), abs=1e-9)
        whole = theory.recording_accuracy(n_events=1, recording_length=1000, **kw)
        assert words["recording_accuracy"][0] == pytest.approx(whole, abs=1e-9)

    @pytest.mark.parametrize(
        "annotator",
        [
            wk.Annotator(presence_criterion=stats.beta(2, 3)),
            wk.Annotator(presence_criterion=0.4, guess_rate=0.05, lapse_rate=0.1),
            wk.Annotator(presence_criterion=0.4, flip_rate=0.1),
            wk.Annotator(presence_criterion=stats.beta(2, 3), votes=(2, 3)),
        ],
    )
    def test_random_annotators(self, annotator):
        widths = np.array([0.3, 0.8, 2.0])
        words = sparse(1.0).fixed(widths, Criteria.of(annotator)).words()
        expected = theory.overlap_accuracy(event_length=1.0, segment_length=widths, annotator=annotator)
        assert words["overlap_accuracy"] == pytest.approx(expected, abs=4e-4)

    def test_guesses_are_wrong_far_from_events_too(self):
        annotator = wk.Annotator(presence_criterion=0.5, guess_rate=0.1)
        words = sparse(1.0, recording_length=100).fixed([1.0], Criteria.of(annotator)).words()
        near = 2 * (1 - theory.overlap_accuracy(event_length=1, segment_length=1, annotator=annotator))
        assert words["wrong_time"][0] == pytest.approx(near + 0.1 * (100 - 2), abs=1e-9)

    def test_several_criteria_are_their_mean(self):
        model = sparse([0.5, 1, 4])
        both = model.fixed([0.9], Criteria.of([0.3, 0.7])).words()
        each = [model.fixed([0.9], Criteria.of(g)).words() for g in (0.3, 0.7)]
        for word in ("overlap_accuracy", "wrong_time", "event_recall", "recall"):
            assert both[word][0] == pytest.approx(np.mean([one[word][0] for one in each]), abs=1e-12)


def label_windows(d, g, hop, per_cell, needed, phases=4000):
    """Found, fp, fn and fp in cells that meet the event (0, d): the definitions, for evenly spaced phases."""
    width, sums = per_cell * hop, np.zeros(4)
    for phase in (np.arange(phases) + 0.5) / phases * hop:
        cells = phase + hop * np.arange(-(int(width / hop) + 4), int((d + width) / hop) + 5)
        votes = np.zeros(len(cells))
        for j in range(per_cell):
            start = cells - j * hop
            overlap = np.minimum(start + width, d) - np.maximum(start, 0.0)
            votes += overlap >= g * d * (1 - 1e-9)
        present = votes >= needed
        cover = np.clip(np.minimum(cells + hop, d) - np.maximum(cells, 0.0), 0.0, None)
        sums += (
            (present & (cover > 0)).any() or present.any(),
            (hop - cover)[present].sum(),
            cover[~present].sum(),
            (hop - cover)[present & (cover > 0)].sum(),
        )
    return sums / phases


class TestWindows:
    @pytest.mark.parametrize(
        ("d", "per_cell", "hop", "gamma", "needed", "expected"),
        [(1, 4, 0.3, 0.5, 1, 1.1), (2.3, 10, 0.2, 0.4, 5, 0.36), (1, 3, 0.5, 0.95, 1, 0.6)],
    )
    def test_reference_table(self, d, per_cell, hop, gamma, needed, expected):
        sums = sparse(d).windows([hop], per_cell, needed, Criteria.of(gamma))
        assert sums.wrong[0] == pytest.approx(expected, abs=1e-9)

    @given(
        sample=SAMPLE,
        gamma=GAMMA,
        hop=st.floats(0.05, 3.0),
        shape=st.sampled_from([(2, 1), (2, 2), (4, 1), (4, 3), (5, 5)]),
    )
    def test_wrong_time_is_that_of_the_theory(self, sample, gamma, hop, shape):
        per_cell, needed = shape
        sums = sparse(sample).windows([hop], per_cell, needed, Criteria.of(gamma))
        kw = {"segment_length": per_cell * hop, "hop": hop, "votes": needed, "presence_criterion": gamma}
        expected = overlapping_wrong_time(event_length=Lengths.sample(sample), **kw)
        assert sums.wrong[0] == pytest.approx(expected, abs=1e-7)

    @pytest.mark.parametrize(
        ("d", "gamma", "hop", "per_cell", "needed"),
        [(1, 0.5, 0.3, 4, 1), (1, 0.5, 0.3, 4, 3), (1, 0.9, 0.5, 2, 2), (2, 0.3, 0.7, 2, 1), (0.4, 0.8, 0.5, 2, 2)],
    )
    def test_definitions(self, d, gamma, hop, per_cell, needed):
        sums = sparse(d).windows([hop], per_cell, needed, Criteria.of(gamma))
        made = [sums.found[0], sums.fp[0], sums.fn[0], sums.overlap_fp[0]]
        assert made == pytest.approx(label_windows(d, gamma, hop, per_cell, needed).tolist(), abs=2e-3)

    def test_cells_that_meet_an_event(self):
        words = sparse(1.0).windows([0.4], 3, 2, Criteria.of(0.5)).words()
        expected = overlapping_cell_accuracy(
            event_length=1.0, segment_length=1.2, hop=0.4, votes=2, presence_criterion=0.5
        )
        assert words["overlap_accuracy"][0] == pytest.approx(expected, abs=1e-9)


class TestBisection:
    @pytest.mark.parametrize("gamma", [0.3, 0.5, 0.8])
    def test_present_nodes_of_one_event(self, gamma):
        widths = 0.8 * 2.0 ** np.arange(1, 8)
        met = sparse(1.0, recording_length=102.4).split(widths, Criteria.of(gamma))
        expected = theory.bisection_queries(recording_length=102.4, levels=7, event_length=1, presence_criterion=gamma)
        assert 1 + 2 * met.sum() == pytest.approx(expected, abs=1e-9)

    def test_reference_table(self):
        met = sparse(1.0, recording_length=102.4).split(0.8 * 2.0 ** np.arange(1, 8), Criteria.of(0.3))
        assert 1 + 2 * met.sum() == pytest.approx(15.9467455621, abs=1e-9)

    @pytest.mark.parametrize(("events", "queries"), [(1, 15), (2, 25), (5, 48), (10, 77), (20, 115)])
    def test_queries_of_several_events(self, events, queries):
        """The reference counts come from simulated recordings and are whole numbers."""
        model = sparse(1.0, recording_length=102.4, n_events=events)
        met = model.split(0.8 * 2.0 ** np.arange(1, 8), Criteria.of(0.5))
        assert 1 + 2 * met.sum() == pytest.approx(queries, abs=0.03 * queries + 0.5)


def test_nodes_keep_mean_and_mass():
    rng = np.random.default_rng(0)
    values = rng.lognormal(size=5000)
    d, share = nodes(Lengths.sample(values), 100)
    assert len(d) <= 100
    assert share.sum() == pytest.approx(1)
    assert share @ d == pytest.approx(values.mean())
    law = Lengths.law(stats.gamma(2.0))
    d, share = nodes(law)
    assert share @ d == pytest.approx(2.0, rel=1e-4)


def test_criteria_of_a_law_keep_its_mean():
    law = Criteria.of(stats.beta(2, 3))
    assert law.middle == pytest.approx(0.4, abs=1e-3)
    assert law.few(12).middle == pytest.approx(law.middle, abs=1e-12)
    low, high = law.plausible
    assert [low, high] == pytest.approx(stats.beta(2, 3).ppf([0.05, 0.95]).tolist(), abs=5e-3)
    assert Criteria.of([0.3, 0.7]).plausible == (0.3, 0.7)
    with pytest.raises(wk.InvalidInput, match="percentage"):
        Criteria.of(50)
    with pytest.raises(wk.InvalidInput, match="continuous scipy law"):
        Criteria.parse("nolaw:2,3")


@given(
    seed=st.integers(0, 1000),
    gamma=GAMMA,
    hop=st.floats(0.2, 2.0),
    shape=st.sampled_from([(1, 1), (2, 1), (2, 2), (4, 2), (4, 4)]),
)
@settings(max_examples=25)
def test_votes_on_known_events(seed, gamma, hop, shape):
    """The quick kernel at one phase is the evaluation of that phase."""
    from weakly.planning.dense import drawn
    from weakly.planning.votes import voted

    rng = np.random.default_rng(seed)
    lengths = Lengths.sample([0.3, 1.0, 4.0])
    timelines = drawn(lengths, recording_length=30.0, n_events=4, poisson=True, rng=rng).part(0, 5)
    per_cell, needed = shape
    phase = float(rng.random())
    found = wk.evaluate(
        timelines,
        segment_length=per_cell * hop,
        hop=hop,
        votes=needed,
        presence_criterion=gamma,
        phase=phase * hop,
    )
    tally = next(iter(found.tallies.values()))
    made = voted(timelines, hop=hop, per_cell=per_cell, needed=needed, criterion=gamma, phases=np.array([phase]))
    names = ("tp", "fp", "fp_elsewhere", "overlap_time", "n_found")
    tp, near, elsewhere, overlap, events = (getattr(tally, name).item() for name in names)
    assert made.tolist() == pytest.approx([tp, near + elsewhere, overlap, near, events], abs=1e-9)
