"""The plan: what it recommends, with budgets, targets, pilots and several classes; verified by brute force."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import weakly as wk
from weakly.planning.pilot import kaplan_meier
from weakly.planning.targets import targets
from weakly.theory import longest_segment_length

PAPER = {"presence_criterion": 0.5, "recording_length": 100, "n_events": 1}
LEAN = {"methods": "fixed,bisection,oracle"}


def row(plan, name):
    return next(made for made in plan.rows if made["name"].startswith(name))


@pytest.fixture(scope="module")
def paper():
    return wk.plan(1.0, **PAPER)


@pytest.fixture(scope="module")
def pilot():
    rng = np.random.default_rng(3)
    rows = []
    for k in range(30):
        for label, length in (("call", 0.4), ("song", 3.0), ("drum", 1.0)):
            for onset in np.sort(rng.uniform(0, 60, rng.poisson(2.0))):
                end = min(onset + rng.lognormal(np.log(length), 0.3), 60.0)
                rows.append((f"r{k}", onset, end, label))
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    return wk.Events.from_frame(frame, recording_length={f"r{k}": 60.0 for k in range(32)})


class TestClosedForm:
    def test_the_paper(self, paper):
        """Theorems 2 to 4 for a unit event; numbers of the reference table."""
        assert paper.segment_length == pytest.approx(0.8090169944, abs=1e-9)
        assert paper.overlap_accuracy == pytest.approx(0.7639320225, abs=1e-9)
        assert paper.n_queries == np.ceil(123.6067977500)
        assert paper.event_recall == 1
        assert row(paper, "oracle, s = 8")["n_queries"] == 24  # s (2 M + 1), E16

    def test_the_whole_recording_has_another_optimum(self):  # E7
        made = wk.plan(1.0, objective="recording", **PAPER)
        assert made.segment_length == pytest.approx(0.7071067812, abs=1e-9)
        assert made.recording_accuracy == pytest.approx(0.9958578644, abs=1e-9)

    def test_bisection_starts_where_it_is_cheapest(self):
        """Reference: T = 102.4, l = 0.8, r = 0.5, M = 1: from 16 segments 22 queries, 1.11 T, cost 67.8."""
        from weakly.planning.methods import bisection

        task = wk.plan(1.0, presence_criterion=0.5, recording_length=102.4, n_events=1).task
        made = bisection(task, [0.8])[0]
        assert made["settings"]["start_length"] == pytest.approx(6.4)
        assert made["n_queries"] == pytest.approx(22, abs=0.1)
        assert made["listened"] / 102.4 == pytest.approx(1.11, abs=0.005)
        assert made["cost"] == pytest.approx(67.8, abs=0.1)

    def test_bisection_gives_the_labels_of_fixed_segments(self, paper):
        fixed, halved = row(paper, "fixed"), row(paper, "bisection")
        for word in ("overlap_accuracy", "event_recall", "wrong_time", "precision"):
            assert halved[word] == fixed[word]
        assert halved["cost"] < fixed["cost"]

    def test_windows_use_the_threshold_that_is_best(self, paper):
        made = row(paper, "windows")
        hop, votes = made["settings"]["hop"], made["settings"]["votes_needed"]
        from weakly.theory.windows import overlapping_wrong_time

        kw = {"event_length": 1.0, "presence_criterion": 0.5}
        grid = [
            overlapping_wrong_time(segment_length=2 * each, hop=each, votes=k, **kw)
            for each in np.geomspace(0.05, 3, 400)
            for k in (1, 2)
        ]
        assert made["wrong_time"] <= min(grid) + 1e-4
        assert made["wrong_time"] == pytest.approx(
            overlapping_wrong_time(segment_length=2 * hop, hop=hop, votes=votes, **kw), abs=1e-9
        )

    def test_notes_say_where_a_method_stops(self):
        made = wk.plan([0.5, 8.0], presence_criterion=0.8, recording_length=1000)
        assert "no segment holds enough" in row(made, "fixed 1 s")["note"]
        assert "can lose it" in row(made, "bisection")["note"]
        assert "true boundaries" in row(made, "oracle")["note"]
        assert "modelled as the oracle" in row(made, "change points")["note"]
        assert any("never labelled present" in each for each in made.warnings)

    @given(length=st.floats(0.05, 20), gamma=st.floats(0.05, 1), factor=st.floats(0.1, 100))
    @settings(max_examples=10)
    def test_time_has_no_unit(self, length, gamma, factor):
        """All lengths times a factor: the same accuracies, the same queries, the length times the factor."""
        one, other = (
            wk.plan(x * length, presence_criterion=gamma, recording_length=x * 60 * length, methods="fixed")
            for x in (1.0, factor)
        )
        assert other.segment_length == pytest.approx(factor * one.segment_length)
        assert other.overlap_accuracy == pytest.approx(one.overlap_accuracy)
        assert other.n_queries == one.n_queries

    def test_laws_of_lengths_and_of_criteria(self):
        made = wk.plan("gamma:0.8,loc=0.5", presence_criterion=stats.beta(2, 3), recording_length=1000)
        best = [
            wk.overlap_accuracy(
                event_length=wk.Lengths.parse("gamma:0.8,loc=0.5"),
                segment_length=q,
                annotator=wk.Annotator(presence_criterion=stats.beta(2, 3)),
                weighting="segment",
            )
            for q in made.segment_length * np.array([0.9, 1.0, 1.1])
        ]
        assert made.overlap_accuracy == pytest.approx(best[1], abs=2e-3)
        assert best[1] >= max(best) - 1e-4
        assert "overlap_accuracy_low" in made.curve[0]


class TestBudgetsAndTargets:
    def test_budget(self):
        """Reference table: at a cost of 80 the best accuracy is 0.6375, with 60 queries."""
        made = wk.plan(1.0, budget=80, methods="fixed", **PAPER)
        assert made.reachable
        assert made.overlap_accuracy == pytest.approx(0.6375, abs=2e-4)
        assert made.n_queries == 60
        assert made.cost == 80

    @given(
        budget=st.floats(52, 400), gamma=st.floats(0.1, 1), lengths=st.lists(st.floats(0.3, 4), min_size=1, max_size=3)
    )
    @settings(max_examples=15)
    def test_nothing_affordable_is_better(self, budget, gamma, lengths):
        kw = {"presence_criterion": gamma, "recording_length": 100.0}
        made = wk.plan(lengths, budget=budget, methods="fixed", **kw)
        grid = np.unique(np.r_[np.geomspace(0.02, 100, 2000), 100 / np.arange(1, 701)])
        cost = 50 + 0.5 * np.ceil(100 / grid - 1e-9)
        accuracy = wk.overlap_accuracy(
            event_length=wk.Lengths.sample(lengths),
            segment_length=grid[cost <= budget],
            presence_criterion=gamma,
            weighting="segment",
        )
        assert made.cost <= budget
        assert made.overlap_accuracy >= accuracy.max() - 2e-3

    def test_target(self):
        made = wk.plan(1.0, target="overlap_accuracy>=0.7", methods="fixed", **PAPER)
        longest = longest_segment_length(event_length=1, presence_criterion=0.5, overlap_accuracy=0.7)
        assert made.overlap_accuracy >= 0.7 - 1e-9
        assert made.segment_length == pytest.approx(longest, rel=1e-3)
        assert made.cost == pytest.approx(88.0741759643, abs=0.5)  # reference table; a query more is 0.5

    def test_halving_is_the_cheaper_way_to_a_target(self):
        made = wk.plan(1.0, target={"overlap_accuracy": 0.7}, **PAPER)
        assert made.method == "bisection"
        assert made.cost < 68

    def test_overlapping_windows_reach_what_fixed_segments_cannot(self):
        made = wk.plan(1.0, target="wrong_time<=0.2", **PAPER)
        assert made.method == "windows"
        assert made.wrong_time <= 0.2
        alone = wk.plan(1.0, target="wrong_time<=0.2", methods="fixed", **PAPER)
        assert not alone.reachable
        assert alone.wrong_time == pytest.approx(2 * (np.sqrt(2) - 1) * 0.5, abs=1e-4)  # E7

    def test_what_cannot_be_had_is_said(self):
        made = wk.plan(1.0, target="overlap_accuracy>=0.9", **PAPER)
        assert not made.reachable
        assert made.answer.startswith("Not reachable: overlap_accuracy>=0.9. The best is overlap_accuracy 76 %.")
        broke = wk.plan(1.0, budget=10, **PAPER)
        assert not broke.reachable
        assert "nothing can be labelled" in broke.answer
        both = wk.plan(1.0, target="overlap_accuracy>=0.76", budget=60, **PAPER)
        assert not both.reachable
        assert "within 60 cost units" in both.answer

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("accuracy>=0.7", "target must be one of"),
            ("overlap_accuracy<=0.7", "at least"),
            ("wrong_time>=1", "at most"),
            ("overlap_accuracy>=70", "percentage"),
            ("nonsense", "must look like"),
        ],
    )
    def test_targets_are_checked(self, text, message):
        with pytest.raises(wk.InvalidInput, match=message):
            targets(text)

    def test_frontier(self, paper):
        table = paper.frontier()
        front = table[table["on_frontier"]]
        assert (np.diff(front["cost"]) > 0).all()
        assert (np.diff(front["overlap_accuracy"]) > 0).all()
        best = table[(table["method"] != "windows")].groupby("cost")["overlap_accuracy"].max().cummax()
        for cost, value in best.items():
            assert front[front["cost"] <= cost]["overlap_accuracy"].max() == pytest.approx(value)

    def test_money_and_hours(self):
        cost = wk.Cost(per_second=0.01, per_query=0.1, currency="EUR", annotators=2)
        made = wk.plan(1.0, cost=cost, total_hours=10, **PAPER)
        assert made.n_queries == 124 * 360
        assert made.listened == 36_000
        assert made.cost == pytest.approx(2 * (360 + 4464))
        assert "EUR" in made.answer
        assert "10 hours" in made.answer


class TestDoor:
    @pytest.mark.parametrize(
        ("kw", "message"),
        [
            ({"presence_criterion": 0.5}, "recording_length must be given"),
            ({**PAPER, "presence_criterion": 50}, "percentage"),
            ({**PAPER, "event_rate": 0.1}, "not both"),
            ({**PAPER, "n_events": 0}, "nothing to find"),
            ({**PAPER, "recording_length": 0.5}, "longer than an event"),
            ({**PAPER, "recording_length": np.inf}, "got inf"),
            ({**PAPER, "methods": "orcale"}, "did you mean 'oracle'"),
            ({**PAPER, "methods": "oracle"}, "one of fixed, windows or bisection"),
            ({**PAPER, "objective": "all"}, "objective must be one of"),
            ({**PAPER, "label": "dog"}, "label needs pilot"),
            ({**PAPER, "family": "lognorm"}, "family needs pilot"),
            ({**PAPER, "cost": 5}, "cost must be a Cost"),
            ({**PAPER, "budget": -1}, "budget must be >= 0"),
        ],
    )
    def test_refusals(self, kw, message):
        with pytest.raises(wk.InvalidInput, match=message):
            wk.plan(1.0, **kw)

    def test_same_seed_same_plan(self):
        one, other = (wk.plan([0.5, 1, 4.0], **PAPER, rng=5).to_dict() for _ in range(2))
        assert one == other
        json.dumps(one, allow_nan=False)

    def test_dictionary(self, paper):
        made = paper.to_dict()
        assert set(made) == {
            "answer", "recommended", "reachable", "objective", "rows", "curve", "frontier", "sensitivity",
            "uncertainty", "classes", "example", "assumptions", "warnings", "inputs",
        }  # fmt: skip
        assert made["recommended"]["event_recall"] == 1
        for each in (*made["rows"], *made["curve"], *made["frontier"], *made["sensitivity"]):
            assert "event_recall" in each  # accuracy given overlap never stands alone

    def test_frame(self, paper):
        table = paper.to_frame()
        assert len(table) == len(paper.rows)
        assert list(table.columns)[3:5] == ["overlap_accuracy", "event_recall"]


class TestUncertainty:
    def test_regret_is_nothing_where_the_criterion_is_right(self, paper):
        for each in paper.sensitivity:
            assert each["regret"] >= 0
            if each["presence_criterion"] == 0.5:
                assert each["regret"] == pytest.approx(0, abs=1e-9)
        far = paper.sensitivity[0]
        best = wk.best_overlap_accuracy(presence_criterion=0.05)
        there = wk.overlap_accuracy(event_length=1, segment_length=paper.segment_length, presence_criterion=0.05)
        assert far["regret"] == pytest.approx(best - there, abs=1e-9)

    def test_more_events_narrow_the_bands(self):
        rng = np.random.default_rng(1)
        widths = []
        for n in (100, 10_000):
            made = wk.plan(rng.lognormal(0, 0.5, n), presence_criterion=0.4, recording_length=1000, methods="fixed")
            low, high = made.uncertainty["segment_length_ci"]
            assert low <= made.segment_length <= high
            worse, better = made.uncertainty["overlap_accuracy_ci"]
            assert worse <= made.overlap_accuracy
            widths.append(better - worse)
        assert widths[1] < widths[0] / 3

    def test_bands_cover_the_truth(self):
        """The accuracy at the chosen length, in the whole population, lies in about 90 % of the bands."""
        rng = np.random.default_rng(2)
        law = wk.Lengths.law(stats.lognorm(s=0.5))
        covered = 0
        for k in range(40):
            made = wk.plan(law.draw(60, rng), presence_criterion=0.4, recording_length=1000, methods="fixed", rng=k)
            low, high = made.uncertainty["overlap_accuracy_ci"]
            truth = wk.overlap_accuracy(
                event_length=law, segment_length=made.segment_length, presence_criterion=0.4, weighting="segment"
            )
            covered += low <= truth <= high
        assert 29 <= covered <= 40

    def test_how_many_pilot_events_are_enough(self):
        narrow, wide = (
            wk.plan(f"lognorm:s={s},scale=1", presence_criterion=0.5, recording_length=1000, methods="fixed")
            for s in (0.1, 1.2)
        )
        assert narrow.uncertainty["enough"] < (wide.uncertainty["enough"] or 10_000)
        losses = [each["mean_loss"] for each in wide.uncertainty["by_size"]]
        assert losses[0] > losses[-1] >= 0
        assert wk.plan(1.0, **PAPER).uncertainty is None


def partitions(items):
    """Every way to put items into groups."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for k in range(len(smaller)):
            yield [*smaller[:k], [first, *smaller[k]], *smaller[k + 1 :]]


class TestPilot:
    def test_is_the_exact_evaluation(self, pilot):
        made = wk.plan(pilot, presence_criterion=0.3, label="song", **LEAN)
        found = wk.evaluate(pilot, segment_length=made.segment_length, presence_criterion=0.3, label="song")
        for word in ("overlap_accuracy", "event_recall", "precision", "recall", "recording_accuracy", "wrong_time"):
            assert made.recommended[word] == pytest.approx(getattr(found, word), abs=1e-9)
        assert made.n_queries == found.n_queries
        assert made.listened == pytest.approx(32 * 60)

    def test_no_other_length_is_better(self, pilot):
        made = wk.plan(pilot, presence_criterion=0.3, label="drum", **LEAN)
        widths = np.geomspace(0.05, 60, 400)
        found = wk.evaluate(pilot, segment_length=widths, presence_criterion=0.3, label="drum")
        assert made.overlap_accuracy >= found.overlap_accuracy.max() - 2e-3

    def test_more_hours_of_the_same(self, pilot):
        one, more = (wk.plan(pilot, presence_criterion=0.3, label="song", total_hours=h, **LEAN) for h in (None, 160))
        assert more.n_queries == pytest.approx(300 * one.n_queries)
        assert more.overlap_accuracy == one.overlap_accuracy

    def test_classes_together_are_pooled(self, pilot):
        made = wk.plan(pilot, presence_criterion=0.3, **LEAN)
        found = wk.evaluate(pilot, segment_length=made.segment_length, presence_criterion=0.3).overall
        assert made.overlap_accuracy == pytest.approx(found.overlap_accuracy, abs=1e-9)
        assert made.event_recall == pytest.approx(found.event_recall, abs=1e-9)
        assert made.n_queries == found.n_queries

    @pytest.mark.parametrize("objective", ["overlap", "recording"])
    def test_passes_are_the_best_grouping(self, pilot, objective):
        made = wk.plan(pilot, presence_criterion=0.3, objective=objective, **LEAN)
        rows = {each["n_passes"]: each for each in made.classes["passes"]}
        assert rows[1]["cost"] < rows[3]["cost"]
        widths = np.geomspace(0.1, 12, 26)
        found = {
            label: wk.evaluate(pilot, segment_length=widths, presence_criterion=0.3, label=label)
            for label in pilot.labels
        }
        tallies = {label: each.tallies[label] for label, each in found.items()}
        best = {}
        for groups in partitions(pilot.labels):
            for picks in itertools.product(range(len(widths)), repeat=len(groups)) if len(groups) < 3 else []:
                chosen = [(tallies[label], k) for group, k in zip(groups, picks) for label in group]
                if objective == "overlap":
                    right, near = (
                        sum(getattr(t, n)[k].item() for t, k in chosen) for n in ("right_time", "overlap_time")
                    )
                    score = right / near
                else:
                    score = -sum(t.wrong_seconds[k].item() for t, k in chosen) / 32
                best[len(groups)] = max(best.get(len(groups), -np.inf), score)
        for n, score in best.items():
            mine = rows[n]["overlap_accuracy"] if objective == "overlap" else -rows[n]["wrong_time"]
            assert mine >= score - 0.004 * abs(score)

    def test_cut_events_count_as_longer(self):
        rng = np.random.default_rng(4)
        rows = []
        for k in range(400):
            start, length = rng.uniform(-6, 10), rng.exponential(4.0)
            if start + length > 0:
                rows.append((f"r{k}", max(start, 0), min(start + length, 10), "a"))
        frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
        events = wk.Events.from_frame(frame, recording_length=10.0)
        made = wk.plan(events, presence_criterion=0.3, **LEAN)
        assert made.inputs["pilot"]["n_censored"] > 100
        assert any("cut by the ends" in each for each in made.warnings)
        seen = float((frame["offset"] - frame["onset"]).mean())
        assert made.inputs["event_length_mean"] > seen + 0.5

    def test_kaplan_meier(self):
        """Against scipy's estimate."""
        rng = np.random.default_rng(5)
        values, cut = rng.exponential(size=200), rng.random(200) < 0.3
        weights = kaplan_meier(values, cut)
        ecdf = stats.ecdf(stats.CensoredData.right_censored(values, cut))
        for x in (0.1, 0.5, 1.0, 2.0):
            assert weights[values <= x].sum() == pytest.approx(float(ecdf.cdf.evaluate(x)), abs=1e-9)

    def test_other_recordings_than_the_pilots(self, pilot):
        made = wk.plan(pilot, presence_criterion=0.3, label="song", recording_length=600, family="lognorm", **LEAN)
        assert made.inputs["recording_length"] == 600
        assert made.inputs["model"] == "exact"  # about 20 songs in each: too dense for the sparse rule
        rate = len(pilot.timelines("song").bounds) / (32 * 60)
        assert made.inputs["n_events_placed"] == pytest.approx(rate * 600)
        assert made.inputs["n_events"] < rate * 600  # some overlap

    def test_unknown_lengths(self):
        frame = pd.DataFrame({"recording": ["a", "b"], "onset": [1.0, 2.0], "offset": [2.0, 4.0], "label": "x"})
        events = wk.Events.from_frame(frame)
        assert any("unknown" in each for each in wk.plan(events, presence_criterion=0.3, **LEAN).warnings)
        told = wk.plan(events, presence_criterion=0.3, recording_length=30, **LEAN)
        assert told.warnings == ()
        assert told.listened == 60
        with pytest.raises(wk.InvalidInput, match="must reach the last event"):
            wk.plan(events, presence_criterion=0.3, recording_length=3)

    def test_a_large_pilot_is_searched_in_part_and_shown_in_full(self):
        rng = np.random.default_rng(6)
        n = 12_000
        onset = rng.uniform(0, 55, n)
        frame = pd.DataFrame({"recording": rng.integers(0, 3000, n).astype(str), "onset": onset, "label": "x"})
        frame["offset"] = onset + rng.lognormal(0, 0.4, n)
        events = wk.Events.from_frame(frame, recording_length=60.0)
        made = wk.plan(events, presence_criterion=0.3, **LEAN)
        found = wk.evaluate(events, segment_length=made.segment_length, presence_criterion=0.3)
        assert made.overlap_accuracy == pytest.approx(found.overlap_accuracy, abs=1e-9)
        low, high = made.uncertainty["overlap_accuracy_ci"]
        assert high - low < 0.03
        assert made.task.n_recordings == len(events.recordings)


class TestDense:
    def test_the_sparse_rule_is_not_used(self):
        """Thirty unit events in 100 s: reference 0.711772 with 88 segments; the sparse rule promises 0.764 (E24)."""
        made = wk.plan(1.0, presence_criterion=0.5, recording_length=100, n_events=30, **LEAN)
        assert made.inputs["model"] == "exact"
        assert made.overlap_accuracy == pytest.approx(0.7118, abs=0.004)
        assert 0.95 < made.segment_length < 1.25

    def test_the_boolean_model(self):
        from weakly.theory.dense import dense_recordings

        made = wk.plan(1.0, presence_criterion=0.5, recording_length=400, event_rate=0.3, **LEAN)
        expected = dense_recordings(
            event_length=1, event_rate=0.3, segment_length=made.segment_length, presence_criterion=0.5
        )
        for word in ("overlap_accuracy", "event_recall", "precision", "recall", "recording_accuracy"):
            assert made.recommended[word] == pytest.approx(getattr(expected, word), abs=0.01)


SETTINGS = [
    (gamma, m, total, law)
    for (gamma, m), (total, law) in zip(
        itertools.product((0.2, 0.5, 0.7, 0.95), (1, 2, 8, 20, 40)),
        itertools.cycle(
            [(100.0, "1"), (200.0, "0.5,1,4"), (150.0, "gamma:0.8,loc=0.5"), (120.0, "lognorm:s=0.4,scale=2")]
        ),
    )
]


@pytest.mark.parametrize(("gamma", "m", "total", "law"), SETTINGS)
def test_the_plan_holds_in_simulation(gamma, m, total, law):
    """Twenty settings: what the plan expects is what fresh recordings give, within their standard error."""
    rng = np.random.default_rng([m, int(100 * gamma)])
    total *= rng.uniform(0.8, 1.2)
    made = wk.plan(law, presence_criterion=gamma, recording_length=total, n_events=m, methods="fixed")
    count = max(300, 12_000 // m)
    found = wk.simulate(
        wk.Lengths.parse(law),
        n_events=m,
        recording_length=total,
        segment_length=made.segment_length,
        presence_criterion=gamma,
        n_recordings=count,
        rng=rng,
    )
    drawn = 0.0 if made.inputs["model"] == "closed form" else np.sqrt(count * m / 30_000)
    for word in ("overlap_accuracy", "event_recall", "wrong_time", "recall"):
        error = getattr(found, f"{word}_se") * np.sqrt(1 + drawn**2)
        assert abs(getattr(found, word) - made.recommended[word]) <= 3.5 * error + 1e-9, word


class TestReport:
    def test_one_file_that_needs_no_network(self, paper, tmp_path):
        path = paper.report(tmp_path / "plan.html", command="weakly plan --event-length 1")
        text = path.read_text()
        assert paper.answer in text
        assert "weakly plan --event-length 1" in text
        assert text.count("<figure") == 4
        outside = re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', text)
        assert not outside

    def test_labels_are_escaped(self, tmp_path):
        frame = pd.DataFrame(
            {
                "recording": list("abcdefghij"),
                "onset": 1.0,
                "offset": np.linspace(2, 4, 10),
                "label": "<script>x</script>",
            }
        )
        events = wk.Events.from_frame(frame, recording_length=20.0)
        made = wk.plan(events, presence_criterion=0.3, label="<script>x</script>", **LEAN)
        assert "<script>" not in made.report(tmp_path / "plan.html").read_text()

    def test_figures(self, paper):
        assert set(paper.figures()) == {"frontier", "lengths", "cost", "timeline"}
        ax = paper.plot()
        assert ax.get_xlabel().startswith("segment length")

    def test_the_timeline_labels_by_the_definition(self, paper):
        shown = paper.example
        events = shown["events"]
        for each in shown["rows"]:
            if not each["name"].startswith("fixed"):
                continue
            for (start, end), present in zip(each["segments"], each["present"]):
                overlaps = [min(end, b) - max(start, a) >= 0.5 * (b - a) * (1 - 1e-9) for a, b in events]
                assert present == any(overlaps)


def test_the_bundled_example_is_what_its_generator_writes():
    from weakly import example

    assert example.PILOT.read_text() == example.text()
    events = example.pilot()
    assert len(events.recordings) == 40
    assert (events.recordings["length"] == 60).all()


def test_windows_are_counted_until_one_reaches_the_end():
    made = wk.plan(1.0, presence_criterion=0.5, recording_length=100.0, n_events=1, methods="fixed,windows")
    rows = [row for row in made.rows if row["method"] == "windows"]
    assert rows
    for row in rows:
        hop, per_cell = row["settings"]["hop"], row["settings"]["windows_per_cell"]
        count = 1
        while (count - 1 + per_cell) * hop < 100.0 * (1 - 1e-9):
            count += 1
        assert row["n_queries"] == count
