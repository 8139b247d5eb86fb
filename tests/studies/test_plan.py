"""The plan: what it recommends and why, with budgets, targets, pilots and several classes."""

import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from plan_tasks import asking, says
from scipy import stats

import weakly as wk
from weakly.base.results import Condition
from weakly.methods import Bisection, Everything, Fixed, MethodOutcome, Nothing, Windows
from weakly.methods.passes import from_to, group
from weakly.studies.plan.decision import SENSES, PilotVariation, choose, how_sure
from weakly.studies.plan.pilot import Pilot, within
from weakly.studies.plan.planner import _range

PAPER = {"presence_criterion": 0.5, "recording_length": 100, "n_events": 1}
WORDS = ("overlap_accuracy", "event_recall", "precision", "recall", "recording_accuracy", "wrong_time")


def row(plan, method):
    return next(made for made in plan.rows if made.method == method)


@pytest.fixture(scope="module")
def paper():
    return asking(1.0, **PAPER)


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


def cut_from_long_timelines(law, hazard, rng, *, n=400, width=10.0, total=20_000.0):
    """Annotations of n short recordings of timelines in which events follow each other with exponential gaps."""
    gap, length = (
        rng.exponential(1 / hazard, int(3 * total * hazard)),
        law.rvs(int(3 * total * hazard), random_state=rng),
    )
    offset = np.cumsum(gap + length)
    onset, rows = offset - length, []
    for k, start in enumerate(rng.uniform(0, total - width, n)):
        heard = (offset > start) & (onset < start + width)
        rows += [(f"r{k}", max(a - start, 0), min(b - start, width), "x") for a, b in zip(onset[heard], offset[heard])]
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    return wk.Events.from_frame(frame, recording_length={f"r{k}": width for k in range(n)})


class TestDecision:
    def test_practically_equal_lengths_and_the_fewest_queries(self):
        made = asking(1.0, methods="fixed", **PAPER)
        low, high = made.equal_range
        assert made.segment_length == high  # the longest asks least
        assert low < np.sqrt(0.5) < high  # E7
        least = min(each.wrong_time for each in made.pool if each.asks)
        assert made.wrong_time <= 1.05 * least
        assert f"from {low:g} to {high:g} s are practically equal" in made.details

    def test_the_paper_stays_a_named_row_and_an_objective(self, paper):
        named = next(each for each in paper.rows if "Theorem 2" in each.note)
        assert named.segment_length == pytest.approx(0.8090169944, abs=1e-9)
        made = asking(1.0, objective="overlap", **PAPER)
        assert made.recommended.segment_length == pytest.approx(0.8090169944, abs=1e-9)
        assert made.overlap_accuracy == pytest.approx(0.7639320225, abs=1e-3)  # the last segment is cut
        assert made.n_queries == 124

    def test_any_method_may_be_the_answer(self, paper):
        assert paper.method == "windows"
        assert paper.wrong_time < 0.1 < row(paper, "fixed").wrong_time
        assert asking(1.0, methods="fixed,windows", **PAPER).method == "windows"
        assert asking(1.0, methods="fixed,bisection", **PAPER).method == "bisection"

    def test_labelling_nothing_and_everything_are_rows(self, paper):
        nothing, everything = row(paper, "nothing"), row(paper, "everything")
        assert (nothing.wrong_time, nothing.event_recall, nothing.cost) == (1, 0, 0)
        assert (everything.wrong_time, everything.event_recall, everything.cost) == (99, 1, 0)

    def test_where_events_fill_the_time_nobody_is_asked(self):
        made = asking(9.9, presence_criterion=1.0, recording_length=10.0, methods="fixed")
        assert made.method == made.rows[0].method == "everything"
        assert made.details.startswith("Asking does not pay here")
        assert not any(each.asks and each.wrong_time < made.wrong_time for each in made.pool)

    def test_ninety_percent_out_of_reach_is_said_first(self):
        who = wk.Annotator(presence_criterion=0.9, lapse_rate=0.5)
        made = asking(5.0, annotator=who, recording_length=20.0, methods="fixed")
        assert made.event_recall < 0.9
        assert made.details.startswith("No way that was compared finds 90 % of events")
        assert "strong labels" in made.details

    def test_nothing_dominated_is_chosen(self):
        one = MethodOutcome(Fixed(1.0), 0.5, 0.95, 0.5, 0.5, 0.9, 1.0, 10, 10, 10.0)
        cheap = MethodOutcome(Fixed(2.0), 0.5, 0.97, 0.5, 0.5, 0.9, 1.0, 5, 10, 5.0)
        nothing = MethodOutcome(Nothing(), 0.5, 0.0, 0.5, 0.5, 0.9, 3.0, 0, 0, 0.0)
        assert cheap.dominates(one)
        assert not one.dominates(cheap)
        assert choose([one, cheap, nothing], objective="wrong_time", wanted=(), budget=None).row is cheap

    def test_what_nobody_bears_is_named_and_not_recommended(self):
        """A pass for each of many classes takes hearing everything again and again: then mark them by hand."""
        rng = np.random.default_rng(1)
        kinds = [(0.1 * 2**c, 128 >> c) for c in range(8)]  # the longer, the fewer
        rows = [(f"r{k}", x, x + d, f"{d:g} s") for k in range(4) for d, n in kinds for x in rng.uniform(0, 47, n)]
        frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
        crowd = wk.Events.from_frame(frame, recording_length=60.0)
        made = asking(crowd, methods="fixed,passes", presence_criterion=0.3)
        many = min(made.rows[1:], key=lambda each: each.wrong_time)
        assert many.heard > 5 >= made.recommended.heard
        assert many.wrong_time < 0.9 * made.wrong_time
        assert "reviews everything" in many.note

    def test_what_nobody_bears_strikes_nothing_out(self):
        """Half the wrong time that can be had was refused, because a way that nobody takes is better still."""

        def made(length, wrong, cost, heard):
            return MethodOutcome(Fixed(length), 0.5, 0.95, 0.5, 0.5, 0.9, wrong, 9, 9, cost, heard=heard)

        hard, dear, plain = made(1.0, 1.0, 5.0, 9.0), made(2.0, 2.0, 6.0, 4.0), made(3.0, 3.0, 2.0, 1.0)
        nothing = MethodOutcome(Nothing(), 0.5, 0.0, 0.5, 0.5, 0.9, 9.0, 0, 0, 0.0)
        assert choose([hard, dear, plain, nothing], objective="wrong_time", wanted=(), budget=None).row is dear
        assert choose([hard, nothing], objective="wrong_time", wanted=(), budget=None).row is hard


class TestWrongAnswersOfThePast:
    """Each was given once, by name."""

    def test_no_seed_chooses_the_length(self, pilot):
        made = [asking(pilot, presence_criterion=0.3, label="song").recommended for _ in range(3)]
        assert made[0] == made[1] == made[2]

    def test_a_rare_class_does_not_crash(self):
        rng = np.random.default_rng(0)
        rows = [(f"r{k % 40}", float(x), float(x) + 1.0, "common") for k, x in enumerate(rng.uniform(0, 50, 400))]
        rows += [(f"r{k}", 5.0, 6.0, f"rare {k}") for k in range(12)]
        frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
        events = wk.Events.from_frame(frame, recording_length={f"r{k}": 60.0 for k in range(60)})
        made = asking(events, presence_criterion=0.3, methods="fixed")
        assert len(made.classes["per_class"]) == 13

    def test_the_demo_beats_labelling_nothing(self):
        from weakly.studies.simulate import pilot

        made = asking(pilot(), presence_criterion=0.4, total_hours=20)
        assert made.wrong_time < 0.9 * made.task.event_time
        assert made.event_recall >= 0.9

    def test_bisection_knows_lapses(self):
        """recall .70 and event recall .85 were promised where running it gives .37 and .54."""
        who = wk.Annotator(presence_criterion=0.3, lapse_rate=0.15)
        made = asking(1.0, presence_criterion=who, recording_length=600, n_events=3, methods="bisection")
        halves = Bisection(0.5, start_length=16.0).expected(made.task)
        assert 0.3 < halves.recall < 0.45
        assert 0.45 < halves.event_recall < 0.62

    def test_two_votes_need_two_windows(self):
        work = {"presence_criterion": 0.5, "recording_length": 10, "n_events": 1, "target": "wrong_time<=2.6"}
        made = asking(5.0, **work)
        windows = [each for each in made.pool if each.method == "windows"]
        assert windows
        assert all(each.n_queries >= each.votes for each in windows)
        assert made.wrong_time <= 2.6

    def test_accuracy_stays_a_share(self):
        made = asking(1.0, presence_criterion=0.3, recording_length=3600, n_events=3, budget=1801)
        assert all(0 <= each.recording_accuracy <= 1 for each in (*made.rows, *made.pool))

    def test_a_target_is_met_by_the_number_shown(self):
        made = asking(1.0, presence_criterion=0.5, recording_length=100, n_events=20, target="wrong_time<=5")
        assert made.reachable
        assert made.wrong_time <= 5
        assert not Condition("wrong_time", "<=", 5.0).met(
            MethodOutcome(**{**vars(made.recommended), "wrong_time": 5.013})
        )

    def test_finding_events_alone_is_no_aim(self):
        """One segment for all finds every event and says nothing; the frontier shows what more would cost."""
        made = asking(1.0, target="event_recall>=0.95", **PAPER)
        assert made.event_recall >= 0.95
        assert made.wrong_time < made.task.event_time
        front = made.frontier().query("on_frontier")
        assert front["wrong_time"].min() == pytest.approx(0.071, abs=1e-3)
        assert asking(1.0, target="event_recall>=0.95", methods="fixed", **PAPER).segment_length < 2

    def test_a_target_takes_the_cheapest_way(self):
        """884 were taken where halving, in the same table, meets it for 376."""
        work = {"presence_criterion": 0.3, "recording_length": 600, "n_events": 3, "target": "event_recall>=0.9"}
        made = asking(1.0, **work)
        nothing = row(made, "nothing").wrong_time
        good = [each for each in made.rows if each.asks and each.event_recall >= 0.9 and each.wrong_time < nothing]
        assert made.cost == min(each.cost for each in good) < 376.4
        assert "cheapest way compared" in made.details
        assert "less wrong time than asking nobody" in made.details  # 10 s segments cost less, and are worth nothing

    @pytest.mark.parametrize("objective", ["wrong_time", "overlap"])
    def test_a_target_is_the_aim_whatever_the_objective(self, objective):
        made = asking(1.0, target="recall>=0.6", objective=objective, **PAPER)
        good = [each for each in made.pool if each.asks and each.recall >= 0.6 and each.wrong_time < 1.0]
        assert made.cost == min(each.cost for each in good)
        assert made.assumptions[0].startswith("Chosen: the cheapest way that meets the targets")

    def test_what_asking_nobody_meets_is_not_called_out_of_reach(self):
        made = asking(9.9, presence_criterion=1.0, recording_length=10.0, methods="fixed", target="wrong_time<=0.1")
        assert made.reachable
        assert made.method == "everything"

    @pytest.mark.parametrize(
        ("length", "work", "first"),
        [
            (1.0, {"annotator": wk.Annotator(presence_criterion=0.3, lapse_rate=0.15), "recording_length": 600,
                   "n_events": 3, "budget": 360}, "The budget of 360 cost units pays for"),
            (0.5, {"rule": "seconds:1", "recording_length": 60, "n_events": 2}, "Asking does not pay here"),
            (1.0, {**PAPER, "budget": 50.6}, "The budget of 50.60 cost units pays for 45 % of this"),
            (9.0, {"presence_criterion": 1.0, "recording_length": 10, "target": "overlap_accuracy>=0.1", "methods":
                   "fixed"}, "Not reachable: accuracy near events at least 10 %. Asking does not pay here"),
            (1.0, {**PAPER, "budget": 1}, "The budget of 1 cost units pays for"),
            (1.0, {**PAPER, "target": "precision>=0.5", "budget": 51}, "Not reachable: labelled time that is right"),
            (9.0, {"presence_criterion": 1.0, "recording_length": 10, "objective": "overlap"},
             "These labels are no better than none: calling everything present"),
        ],
    )  # fmt: skip
    def test_worse_than_nothing_is_said_beside_any_other_limit(self, length, work, first):
        made = asking(length, **work)
        least = min(row(made, "nothing").wrong_time, row(made, "everything").wrong_time)
        assert made.details.startswith(first)
        worse = made.recommended.asks and made.wrong_time >= least * (1 - 1e-9)
        assert ("no better than none" in made.details) == worse
        assert made.recommended.asks != ("Asking does not pay" in first)  # never paid for
        if made.method != "everything" and "budget of" not in first:  # which is good where events fill the time
            assert made.verdict == ("worse than nothing" if made.wrong_time >= least * (1 - 1e-9) else "poor")

    def test_a_row_of_the_table_is_not_better_in_all(self):
        """The paper's optimum, whose length is not round, left less wrong time for fewer queries than the pick."""
        one = MethodOutcome(Fixed(4.2), 0.5, 0.95, 0.5, 0.5, 0.9, 7.5, 20, 10, 20.0)
        best = MethodOutcome(Fixed(4.49), 0.5, 0.95, 0.5, 0.5, 0.9, 7.41, 19, 10, 19.0)
        late = MethodOutcome(Fixed(4.49), 0.5, 0.95, 0.5, 0.5, 0.9, 7.6, 19, 10, 19.0)
        nothing = MethodOutcome(Nothing(), 0.5, 0.0, 0.5, 0.5, 0.9, 9.0, 0, 0, 0.0)
        asked = {"objective": "wrong_time", "wanted": (), "budget": None}
        assert choose([one, best, nothing], spare=best, **asked).row is best
        assert choose([one, late, nothing], spare=late, **asked).row is one  # as good, and round

    def test_ranges_are_told_in_one_unit_and_hold_throughout(self):
        assert from_to(0.6, 0.8) == "from 0.6 to 0.8 s"
        assert from_to(1800, 5400) == "from 1,800 s to 1.5 hours"
        rows = [MethodOutcome(Fixed(w), 0.5, 0.95, 0.5, 0.5, 0.9, wrong, 60 / w, 60, 60 / w)
                for w, wrong in ((1.0, 1.0), (1.5, 1.02), (2.0, 1.3), (3.0, 1.04))]  # fmt: skip
        picked = choose(rows, objective="wrong_time", wanted=(), budget=None)
        assert picked.row.segment_length == 3.0
        assert _range(picked, rows, rows[0]) == (3.0, 3.0)  # 2 s, between, is not as good

    def test_windows_alone_for_long_events(self, monkeypatch):
        """The shortest windows would take too long to work out: then longer ones are looked at, not none."""
        work = {"recording_length": 17_500.0, "n_events": 2, "rule": "seconds:1", "methods": "windows"}
        made = asking([570.0, 67.0], **work)
        assert made.method == "windows"
        assert "Plain segments" not in asking([570.0, 67.0], **{**work, "rule": None}).details
        assert asking([570.0, 67.0], **{**work, "rule": "fraction:0.9"}).other_rule["method"] == "windows"
        monkeypatch.setattr(Windows, "candidates", classmethod(lambda cls, problem: []))
        with pytest.raises(wk.InvalidInput, match="methods windows leave no way"):
            asking([570.0, 67.0], **work)

    def test_fewer_events_found_are_not_hidden(self):
        """Windows with less wrong time that lose most events are no answer, and what the answer loses it says."""
        nothing = MethodOutcome(Nothing(), 0.5, 0.0, 0.5, 0.5, 0.9, 9.0, 0, 0, 0.0)
        lossy = MethodOutcome(Windows(2.0, 1.0), 0.5, 0.5, 0.5, 0.5, 0.9, 2.0, 9, 9, 9.0)
        finding = MethodOutcome(Fixed(2.0), 0.5, 0.95, 0.5, 0.5, 0.9, 3.0, 9, 9, 9.0)
        asked = {"objective": "wrong_time", "wanted": (), "budget": None}
        assert choose([nothing, lossy, finding], **asked).row is finding
        worse = replace(finding, wrong_time=9.0)  # no better than nothing: then the one that loses events, said so
        assert (found := choose([nothing, lossy, worse], **asked)).row is lossy
        assert (found.limit, found.reachable) == ("found", True)
        assert choose([nothing, worse], **asked).row is nothing
        lossy = asking([0.5, 8.0], rule="seconds:1", recording_length=60)
        assert lossy.event_recall == pytest.approx(0.5)
        assert lossy.details.startswith("No way that was compared finds 90 % of events; this one finds 50 %")
        assert "50 % of events are shorter than 1 s and never noticed" in lossy.details
        says(lossy)

    def test_long_events_get_a_rule_in_seconds(self):
        made = asking(60.0, presence_criterion=0.5, recording_length=600.0, methods="fixed")
        assert "If a second of an event is enough: " in made.answer
        assert "(--rule 'seconds:1|fraction:0.5')" in made.answer
        assert made.other_rule["segment_length"] < made.segment_length / 4
        told = asking(60.0, rule="seconds:1", recording_length=600.0, methods="fixed")
        assert told.segment_length == made.other_rule["segment_length"]

    def test_touching_frames_are_counted_and_said(self):
        rows = [("a", float(k), k + 1.0, "x") for k in range(20)] + [("a", 30.0, 31.0, "x")]
        events = wk.Events.from_frame(
            pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"]), recording_length=60.0
        )
        made = asking(events, presence_criterion=0.5, methods="fixed")
        assert any("19 of 21 events overlap or touch" in each and "19 begin" in each for each in made.warnings)
        assert any("--rule seconds:1" in each for each in made.warnings)
        assert "If a second of an event is enough: " in made.answer
        told = asking(events, rule="seconds:1", methods="fixed").recommended
        assert {name: made.other_rule[name] for name in ("segment_length", "wrong_time")} == {
            "segment_length": told.segment_length, "wrong_time": told.wrong_time
        }  # fmt: skip

    def test_only_what_was_examined_is_work(self, pilot):
        part = {f"r{k}": [(0.0, 20.0), (30.0, 40.0)] for k in range(5)}
        made = asking(pilot, presence_criterion=0.3, methods="fixed", examined=part)
        assert made.listened == 150
        with pytest.raises(wk.InvalidInput, match="no recording 'nobody'"):
            asking(pilot, presence_criterion=0.3, examined={"nobody": [(0, 1)]})

    def test_change_points_are_not_promised(self, paper):
        known = {"fixed", "windows", "bisection", "nothing", "everything", "oracle"}
        assert {each.method for each in paper.rows} <= known
        assert sum(each.method == "oracle" for each in paper.rows) == 1
        with pytest.raises(wk.InvalidInput, match="methods must be one of"):
            asking(1.0, methods="fixed,change-point", **PAPER)

    def test_an_unknown_criterion_is_planned_for(self):
        made = asking(1.0, recording_length=100, methods="fixed")
        assert [each["rule"] for each in made.by_criterion] == ["seconds:0.5|fraction:0.3", "seconds:2|fraction:0.7"]
        known = asking(1.0, recording_length=100, methods="fixed", presence_criterion=0.7)
        assert made.by_criterion[1]["segment_length"] == known.segment_length
        half = asking(1.0, recording_length=100, methods="fixed", presence_criterion=0.5)
        assert made.recommended.wrong_time == pytest.approx(half.recommended.wrong_time, abs=1e-12)
        assert "weakly audit" in made.details

    def test_no_segment_is_called_zero_seconds(self):
        made = asking(0.1, presence_criterion=0.001, recording_length=20, methods="fixed")
        assert re.match(r"Label 0\.0*[1-9]\d* s segments", made.details)


class TestBudgetsAndTargets:
    def test_budget(self):
        made = asking(1.0, budget=80, methods="fixed", objective="overlap", **PAPER)
        assert made.reachable
        assert made.overlap_accuracy == pytest.approx(0.6375, abs=3e-3)  # reference table, without the cut segment
        assert made.n_queries == 60
        assert made.cost == 80

    def test_target(self):
        made = asking(1.0, target="overlap_accuracy>=0.7", methods="fixed", **PAPER)
        assert made.overlap_accuracy >= 0.7
        assert made.cost == pytest.approx(88.0741759643, abs=1.0)  # reference table

    def test_halving_is_the_cheaper_way_to_a_target(self):
        made = asking(1.0, target={"overlap_accuracy": 0.7}, **PAPER)
        assert made.method == "bisection"
        assert made.cost < 68

    def test_windows_reach_what_fixed_segments_cannot(self):
        made = asking(1.0, target="wrong_time<=0.2", methods="fixed,windows", **PAPER)
        assert made.method == "windows"
        assert not asking(1.0, target="wrong_time<=0.02", **PAPER).reachable
        alone = asking(1.0, target="wrong_time<=0.2", methods="fixed", **PAPER)
        assert not alone.reachable
        assert alone.wrong_time == pytest.approx(2 * (np.sqrt(2) - 1) * 0.5, abs=5e-3)  # E7

    def test_what_cannot_be_had_is_said(self):
        made = asking(1.0, target="overlap_accuracy>=0.99", methods="fixed", **PAPER)
        assert not made.reachable
        assert made.details.startswith("Not reachable: accuracy near events at least 99 %")
        broke = asking(1.0, budget=10, **PAPER)
        assert not broke.reachable
        assert "pays for 8.9 % of this" in broke.details

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
            Condition.targets(text, SENSES)

    def test_of_two_that_fail_the_nearer_and_of_two_as_near_the_cheaper(self):
        def made(length, wrong, cost):
            return MethodOutcome(Fixed(length), 0.5, 0.95, 0.5, 0.5, 0.9, wrong, 10, 10, cost)

        rows = [made(1.0, 4.0, 1.0), made(2.0, 2.0, 9.0), made(3.0, 2.0, 5.0)]  # far, near, near and cheap
        rows.append(MethodOutcome(Nothing(), 0.5, 0.0, 0.5, 0.5, 0.9, 9.0, 0, 0, 0.0))
        found = choose(rows, objective="wrong_time", wanted=Condition.targets("wrong_time<=1", SENSES), budget=None)
        assert (found.row.segment_length, found.reachable, found.limit) == (3.0, False, "target")

    def test_a_target_that_asking_nobody_meets_is_not_paid_for(self):
        """Segments of 111 s were recommended, although calling everything present is as good and costs nothing."""
        nothing = MethodOutcome(Nothing(), 0.5, 0.0, 0.5, 0.5, 0.9, 1.0, 0, 0, 0.0)
        everything = MethodOutcome(Everything(), 0.5, 1.0, 0.5, 0.5, 0.9, 5.0, 0, 0, 0.0)
        vain = MethodOutcome(Fixed(111.0), 0.5, 1.0, 0.5, 0.5, 0.9, 5.0, 9, 9, 9.0)
        better = MethodOutcome(Fixed(10.0), 0.5, 1.0, 0.5, 0.5, 0.9, 3.0, 12, 12, 12.0)
        asked = {"objective": "wrong_time", "wanted": Condition.targets("event_recall>=0.95", SENSES), "budget": None}
        found = choose([nothing, everything, vain], **asked)
        assert (found.row, found.limit, found.reachable) == (everything, "everything", True)
        found = choose([nothing, everything, vain, better], **asked)
        assert (found.row, found.reachable) == (better, True)  # better than what else meets it
        found = choose([nothing, better], **asked)
        assert (found.row, found.limit, found.reachable) == (nothing, "nothing", False)  # no better than nothing

    def test_where_nothing_can_be_paid_it_is_as_without_a_budget(self):
        rows = [MethodOutcome(Fixed(length), 0.5, 0.95, 0.5, 0.5, 0.9, 1.0, 10, 10, cost)
                for length, cost in ((1.0, 9.0), (2.0, 5.0), (3.0, 12.0))]  # fmt: skip
        nothing = MethodOutcome(Nothing(), 0.5, 0.0, 0.5, 0.5, 0.9, 3.0, 0, 0, 0.0)
        found = choose([*rows, nothing], objective="wrong_time", wanted=(), budget=1.0)
        assert (found.row.segment_length, found.reachable, found.limit) == (2.0, False, "budget")

    def test_frontier(self, paper):
        table = paper.frontier()
        front = table[table["on_frontier"]]
        assert (np.diff(front["cost"]) > 0).all()
        assert (np.diff(front["wrong_time"]) < 0).all()
        shown = paper.to_frame().set_index("name")["wrong_time"]
        same = table[table["name"].isin(shown.index)].groupby("name")["wrong_time"].first()
        assert same.to_dict() == {name: shown[name] for name in same.index}  # one number for one row

    def test_money_and_hours(self):
        cost = wk.Cost(per_second=0.01, per_query=0.1, currency="EUR", annotators=2)
        made = asking(1.0, cost=cost, total_hours=10, methods="fixed", **PAPER)
        assert made.n_queries == pytest.approx(125 * 360)
        assert made.listened == pytest.approx(36_000)
        assert made.cost == pytest.approx(2 * (360 + 4500))
        assert "EUR" in made.details
        assert "10 hours" in made.details


class TestDoor:
    @pytest.mark.parametrize(
        ("kw", "message"),
        [
            ({"presence_criterion": 0.5}, "recording_length must be given"),
            ({**PAPER, "presence_criterion": 50}, "percentage"),
            ({**PAPER, "rule": "any"}, "got presence_criterion and rule"),
            ({**PAPER, "event_rate": 0.1}, "not both"),
            ({**PAPER, "n_events": 0}, "nothing to find"),
            ({**PAPER, "recording_length": 0.5}, "longer than an event"),
            ({**PAPER, "recording_length": np.inf}, "got inf"),
            ({**PAPER, "recording_length": 1e13}, "at most 1e\\+12 s"),
            ({**PAPER, "methods": "orcale"}, "did you mean 'oracle'"),
            ({**PAPER, "methods": "oracle"}, "one of fixed, windows, bisection"),
            ({**PAPER, "objective": "all"}, "objective must be one of"),
            ({**PAPER, "label": "dog"}, "label needs pilot"),
            ({**PAPER, "family": "lognorm"}, "family needs pilot"),
            ({**PAPER, "examined": {}}, "examined needs pilot"),
            ({**PAPER, "cost": 5}, "cost must be a Cost"),
            ({**PAPER, "budget": -1}, "budget must be >= 0"),
        ],
    )
    def test_refusals(self, kw, message):
        with pytest.raises(wk.InvalidInput, match=message):
            asking(1.0, **kw)

    def test_dictionary(self, paper):
        made = paper.to_dict()
        assert made["recommended"]["event_recall"] == pytest.approx(1)
        for each in (*made["rows"], *made["curve"], *made["frontier"], *made["sensitivity"]):
            assert "event_recall" in each  # accuracy given overlap never stands alone
        json.dumps(made, allow_nan=False)
        assert made["rows"][0] == made["recommended"]

    def test_frame(self, paper):
        table = paper.to_frame()
        assert len(table) == len(paper.rows)
        assert list(table.columns)[3:5] == ["overlap_accuracy", "event_recall"]


class TestPilot:
    @pytest.mark.parametrize("methods", ["fixed", "windows"])
    def test_is_the_evaluation(self, pilot, methods):
        made = asking(pilot, presence_criterion=0.3, methods=methods)
        one = made.recommended
        how = {"hop": one.hop, "votes": one.votes} if methods == "windows" else {}
        found = wk.evaluate(pilot, segment_length=one.segment_length, presence_criterion=0.3, phase=0, **how).overall
        for word in WORDS:
            assert getattr(made, word) == pytest.approx(getattr(found, word), abs=1e-9), word
        assert made.n_queries == pytest.approx(found.n_queries)  # the classes of a segment are ticked at once
        assert made.listened == pytest.approx(found.listened)

    @pytest.mark.parametrize(
        ("law", "family"),
        [
            (stats.lognorm(0.6, scale=3.34), "lognorm"),
            (stats.expon(scale=4.0), "gamma"),
            (stats.gamma(2, scale=1.5), "gamma"),
            (stats.norm(4.0, 0.3), "norm"),
        ],
        ids=["lognorm", "expon", "gamma", "norm"],
    )
    def test_short_recordings_tell_the_law_of_long_timelines(self, law, family):
        """400 recordings of 10 s, cut from long timelines: long events are met more often, and cut. The mean length and
        the rate of the timelines come back; as lower limits alone they were 15 to 30 % too long."""
        found, rates = [], []
        for seed in range(4):
            pilot = Pilot.of(cut_from_long_timelines(law, 0.08, np.random.default_rng(seed)), None)
            found.append([pilot.lengths(None).mean, pilot.lengths(family).mean])
            rates.append(pilot.event_rate)
        free = 1 / (1 / 0.08 + law.mean())  # events that begin per second of timeline
        assert np.mean(found, axis=0) == pytest.approx([law.mean()] * 2, rel=0.08)
        assert np.mean(rates) == pytest.approx(free, rel=0.05)

    def test_advice_for_long_recordings_from_short_ones(self):
        """What short recordings advise for long ones is what the law itself advises, not longer segments."""
        law, rng = stats.lognorm(0.6, scale=3.34), np.random.default_rng(1)
        how = {"presence_criterion": 0.5, "recording_length": 300.0, "methods": "fixed"}
        pilot = cut_from_long_timelines(law, 0.08, rng, n=1500)
        made, true = asking(pilot, **how), asking(law, event_rate=1 / (1 / 0.08 + law.mean()), **how)
        assert made.wrong_time == pytest.approx(true.wrong_time, rel=0.1)
        low, high = true.equal_range
        assert low * 0.89 <= made.segment_length <= high * 1.11  # one step of the lengths that are looked at

    def test_segments_of_a_whole_number_are_counted_whole(self):
        """60 / 0.1 is 599.9999999999999 or 600.0000000000001 in floating point: 600 segments either way."""
        frame = pd.DataFrame({"recording": ["a"], "onset": [1.0], "offset": [2.0], "label": ["x"]})
        for total, width, count in ((60.0, 0.1, 600), (0.3 * 3, 0.3, 3), (1.1 * 7, 1.1, 7)):
            events = wk.Events.from_frame(frame.assign(offset=[0.5], onset=[0.1]), recording_length=total)
            task = asking(events, presence_criterion=0.5, methods="fixed").task
            assert Fixed(width).expected(task).n_queries == count

    def test_examined_stretches_are_recordings(self, pilot):
        cut = within(pilot, {"r0": [(5.0, 15.0), (10.0, 20.0)], "r31": [(0.0, 60.0)]})
        assert cut.recordings["length"][cut.recordings["annotated"]].tolist() == [15.0, 60.0]
        frame = pilot.to_frame()
        mine = frame[(frame["recording"] == "r0") & (frame["onset"] < 20) & (frame["offset"] > 5)]
        assert len(cut) == len(mine)

    def test_a_family_smooths_the_pilot(self, pilot):
        made = asking(pilot, presence_criterion=0.3, label="song", family="lognorm", methods="fixed")
        assert made.settings["lengths"].startswith("lognorm")
        assert made.recommended.wrong_time_se > 0  # drawn, and it says so

    def test_the_pilots_own_length_is_no_other_work(self, pilot):
        told, own = (
            asking(pilot, presence_criterion=0.3, methods="fixed", **kw) for kw in ({"recording_length": 60}, {})
        )
        assert told.recommended == own.recommended

    def test_unknown_lengths_are_said(self):
        frame = pd.DataFrame({"recording": ["a", "b"], "onset": [1.0, 2.0], "offset": [2.0, 4.0], "label": "x"})
        events = wk.Events.from_frame(frame)
        made = asking(events, presence_criterion=0.3, methods="fixed")
        assert made.details.startswith("It is not known how long the 2 recordings are")
        told = asking(events, presence_criterion=0.3, recording_length=30, methods="fixed")
        assert told.listened == 60
        with pytest.raises(wk.InvalidInput, match="must reach the last event"):
            asking(events, presence_criterion=0.3, recording_length=3)


def clips(onset, length, **more):
    """One event per recording."""
    frame = pd.DataFrame({"onset": onset, "offset": np.asarray(onset) + length, "label": "x"})
    frame["recording"] = [f"r{k}" for k in range(len(frame))]
    return wk.Events.from_frame(frame, **more)


class TestNotKnown:
    """What nobody said of the recordings is said before anything else, and nothing is promised of it."""

    def test_events_longer_than_the_recording(self):
        made = asking([1.0, 2.0, 30.0], presence_criterion=0.5, recording_length=12, methods="fixed")
        assert made.details.startswith("33 % of events are longer than a recording of 12 s and are cut to it.")
        drawn = asking("expon:scale=4", presence_criterion=0.5, recording_length=8, n_events=3, methods="fixed")
        assert drawn.details.startswith("14 % of events are longer than a recording of 8 s")  # e^-2
        fits = asking([1.0, 2.0, 11.0], presence_criterion=0.5, recording_length=12, methods="fixed")
        assert "are cut" not in fits.details

    def test_lengths_that_nobody_says_come_first(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"onset": rng.uniform(0, 50, 80), "label": "x", "recording": np.arange(80) % 20})
        frame = frame.assign(offset=frame["onset"] + rng.lognormal(0, 0.4, 80)).astype({"recording": str})
        made = asking(wk.Events.from_frame(frame), presence_criterion=0.5, methods="fixed")
        assert made.details.startswith("It is not known how long the 20 recordings are: each is taken to end")
        assert "New recordings will have" in made.details  # most events do not end their recording
        told = wk.Events.from_frame(frame, recording_length={str(k): 60.0 for k in range(19)})
        some = asking(told, presence_criterion=0.5, methods="fixed")
        assert some.details.startswith("It is not known how long one recording is")
        known = asking(wk.Events.from_frame(frame), presence_criterion=0.5, recording_length=60, methods="fixed")
        assert "It is not known how long" not in known.details
        assert "New recordings will have" in known.details

    @pytest.mark.parametrize("case", ["begin at 0", "end their recording", "begin at 2 s", "fill their recording"])
    def test_events_in_one_place_promise_nothing(self, case):
        """154 events of one length each in its own recording, 0 s of wrong time: that was (0 s to 0 s), and settled."""
        rng = np.random.default_rng(1)
        length = np.full(154, 3.0) if case == "fill their recording" else rng.lognormal(1, 0.4, 154)
        onset = {"end their recording": rng.uniform(0, 5, 154), "begin at 2 s": np.full(154, 2.0)}
        known = {"recording_length": 60.0} if case == "begin at 2 s" else {}
        made = asking(clips(onset.get(case, np.zeros(154)), length, **known), presence_criterion=0.5)
        assert "All events begin at the same time or end their recording" in made.details
        assert made.uncertainty is None
        assert "settle" not in made.details
        assert "New recordings will" not in made.details
        assert ("It is not known how long" in made.details) == (not known)

    def test_other_work_is_not_scored_on_the_pilot(self):
        """Events that are drawn anywhere do not lie where those of the pilot lie."""
        made = asking(clips(np.full(40, 2.0), 3.0, recording_length=60.0), presence_criterion=0.5, recording_length=90)
        assert "begin at the same time" not in made.details

    def test_the_same_wrong_time_everywhere_is_no_band(self):
        """Whole seconds in 1 s segments: no wrong time in any recording, and nothing known of the next."""
        made = asking(
            clips(np.arange(40) % 7 + 1.0, 1.0, recording_length=12.0), presence_criterion=0.5, methods="fixed"
        )
        assert made.wrong_time == 0
        assert "wrong_time_ci" not in made.uncertainty
        assert (
            "The 40 recordings of the pilot are alike in wrong time: how much others will have cannot" in made.details
        )
        assert "settle" not in made.details

    @pytest.mark.parametrize("n", [3, 6, 9])
    def test_few_events_settle_nothing(self, n):
        rng = np.random.default_rng(n)
        onset, length = rng.uniform(0, 50, n), rng.lognormal(1, 0.5, n)
        for given, more in ((clips(onset, length, recording_length=60.0), {}), (length, {"recording_length": 60.0})):
            made = asking(given, presence_criterion=0.9, **more)
            assert not made.uncertainty["settled"]
            assert f"the {n} pilot events do not settle" in made.details

    def test_many_events_settle_the_choice(self):
        """The band of events found lies above 90 %, and the best lengths are told apart or as good."""
        rng = np.random.default_rng(2)
        made = asking(
            clips(rng.uniform(0, 50, 900), rng.lognormal(0, 0.3, 900), recording_length=60.0), presence_criterion=0.3,
            methods="fixed",
        )  # fmt: skip
        assert made.uncertainty["settled"]
        assert made.uncertainty["event_recall_ci"][0] >= 0.9
        assert "the 900 pilot events settle the choice." in made.details

    def test_the_band_of_a_sample_of_lengths_is_per_recording(self):
        """As the wrong time beside it: of recordings of which three in ten hold an event."""
        lengths = np.random.default_rng(3).lognormal(0, 0.4, 40)
        made = asking(lengths, presence_criterion=0.4, recording_length=200.0, n_events=0.3, methods="fixed")
        low, high = made.uncertainty["wrong_time_ci"]
        assert low <= made.wrong_time <= high
        one = asking(lengths, presence_criterion=0.4, recording_length=200.0, n_events=1.0, methods="fixed")
        assert one.segment_length == made.segment_length
        assert one.uncertainty["wrong_time_ci"] == pytest.approx([low / 0.3, high / 0.3], rel=1e-6)

    def test_the_band_of_what_nobody_chose_is_its_own(self):
        """Out of reach: the nearest is named, and the band beside it was that of other ways."""
        rng = np.random.default_rng(424)
        rows = [(f"r{k}", a, a + d) for k in range(3) for a, d in zip(rng.uniform(0, 80, 6), rng.uniform(0.2, 8, 6))]
        frame = pd.DataFrame(rows, columns=["recording", "onset", "offset"]).assign(label="x")
        made = asking(
            wk.Events.from_frame(frame, recording_length=96.0), presence_criterion=0.87, target="wrong_time<=0.1"
        )
        assert not made.reachable
        low, high = made.uncertainty["wrong_time_ci"]
        assert low < made.wrong_time < high
        assert not made.uncertainty["settled"]

    def test_a_band_across_the_target_settles_nothing(self, paper):
        """What the choice was held to is met on the pilot, and may not be met elsewhere."""
        ways = (MethodOutcome(Fixed(1.0), 0.5, 0.95, 0.5, 0.5, 0.9, 2.0, 10, 10, 10.0),)
        rng, parts = np.random.default_rng(0), np.ones((60, 1, 5))
        parts[:, 0, 0], parts[:, 0, 3] = rng.uniform(1.98, 2.02, 60), np.arange(60) % 20 != 0
        for value, told in ((0.5, True), (0.9, False), (0.96, False)):
            made = how_sure(
                paper.task,
                PilotVariation(parts, ways, "event"),
                ways[0],
                n_events=60,
                limits=(Condition("event_recall", ">=", value),),
            )
            assert made["settled"] == told, value
            assert ("do not settle whether this meets events found at least" in made["words"]) == (not told)


class TestUncertainty:
    def test_few_events_settle_nothing(self):
        """Three lengths, or six events of which the next may be lost, "settle the choice" was said of."""
        made = asking([0.5, 1.0, 2.0], presence_criterion=0.3, recording_length=60, methods="fixed")
        assert not made.uncertainty["settled"]
        assert "settle the choice." not in made.details
        frame = pd.DataFrame({"recording": list("abcdef"), "onset": [3.3, 4.1, 6.75, 9.02, 11.6, 14.37]})
        frame = frame.assign(offset=frame["onset"] + 1.0, label="x")
        made = asking(wk.Events.from_frame(frame, recording_length=20.0), presence_criterion=0.5, methods="fixed")
        assert made.uncertainty["event_recall_ci"][0] < 0.9 < made.uncertainty["event_recall_ci"][1]
        assert made.uncertainty["words"].endswith(
            "the 6 pilot events do not settle whether this meets events found at least 90 %."
        )

    def test_bands_of_events_found_are_those_of_jeffreys(self, paper):
        """All of 20 were found: the next may be lost, with the chance that Jeffreys' limit says, not the exact one."""
        way = MethodOutcome(Fixed(1.0), 0.5, 1.0, 0.5, 0.5, 0.9, 2.0, 10, 10, 10.0)
        parts = np.ones((20, 1, 5))
        parts[:, 0, 0] = np.linspace(1, 3, 20)
        parts[:, 0, 1] = np.linspace(0.4, 0.6, 20)  # right of 1 s near events
        made = how_sure(paper.task, PilotVariation(parts, (way,), "event"), way, n_events=20)
        assert made["event_recall_ci"] == pytest.approx([stats.beta(20.5, 0.5).ppf(0.05), 1.0])
        width = stats.t(20 / 3).ppf(0.95) * np.linspace(0.4, 0.6, 20).std(ddof=1) / np.sqrt(20)
        assert made["overlap_accuracy_ci"] == pytest.approx([0.5 - width, 0.5 + width])

    def test_halving_with_noise_is_not_told_by_its_leaves(self, pilot):
        who = wk.Annotator(presence_criterion=0.3, guess_rate=0.02)
        made = asking(pilot, annotator=who, label="song", methods="fixed,bisection")
        assert {each.method for each in PilotVariation.of(made.task, list(made.pool)).ways} == {"fixed"}

    def test_optimism_is_taken_off(self, pilot):
        """What looks best on few recordings is worse on others: the promise is below what the pilot shows."""
        few = within(pilot, {f"r{k}": [(0.0, 60.0)] for k in range(9)})
        made = asking(few, presence_criterion=0.3, methods="fixed")
        assert made.uncertainty["wrong_time"] > made.wrong_time
        low, high = made.uncertainty["wrong_time_ci"]
        assert low < made.uncertainty["wrong_time"] < high
        assert "New recordings will have" in made.details

    def test_the_optimism_is_that_of_the_choice(self, pilot):
        """With one way to choose from there is nothing to be optimistic about."""
        made = asking(pilot, presence_criterion=0.3, label="song", methods="fixed")
        spread = PilotVariation.of(made.task, [made.recommended])
        alone = how_sure(made.task, spread, made.recommended, n_events=60)
        phases = [made.segment_length * k / 8 for k in range(8)]
        there = [
            wk.evaluate(
                pilot, segment_length=made.segment_length, presence_criterion=0.3, label="song", phase=phase
            ).wrong_time
            for phase in phases
        ]
        assert alone["wrong_time"] == pytest.approx(np.mean(there), abs=1e-9)
        assert made.uncertainty["wrong_time"] > alone["wrong_time"] - 1e-9

    def test_each_unit_is_scored_by_the_choice_of_the_others(self, paper):
        """All together choose the first way (2 s wrong on average); without any of the first three, the second."""
        ways = [
            MethodOutcome(Fixed(width), 0.5, 1.0, 0.5, 0.5, 0.9, 2.0, 10, 10, 10.0)
            for width in (1.0, 2.0)  # first, second
        ]
        parts = np.ones((4, 2, 5))
        parts[:, 0, 0], parts[:, 1, 0] = [0, 0, 0, 8], [3, 3, 3, 0]
        made = how_sure(paper.task, PilotVariation(parts, tuple(ways), "event"), ways[0], n_events=4)
        assert made["wrong_time"] == pytest.approx((3 + 3 + 3 + 8) / 4, abs=1e-12)

    def test_the_band_is_of_the_way_that_is_recommended(self, paper):
        """What looks best but was refused (too much to hear, say) must not lend its wrong time."""
        ways = [
            MethodOutcome(Fixed(width), 0.5, 1.0, 0.5, 0.5, 0.9, 2.0, 10, 10, 10.0)
            for width in (1.0, 2.0, 3.0)  # refused, recommended, worse
        ]
        parts = np.ones((4, 3, 5))
        parts[:, :, 0] = [1, 3, 5]
        made = how_sure(paper.task, PilotVariation(parts, tuple(ways), "event"), ways[1], n_events=4)
        assert made["wrong_time"] == pytest.approx(3, abs=1e-12)

    def test_more_recordings_narrow_the_bands(self, pilot):
        widths = []
        for n in (8, 30):
            part = within(pilot, {f"r{k}": [(0.0, 60.0)] for k in range(n)})
            low, high = asking(part, presence_criterion=0.3, methods="fixed").uncertainty["wrong_time_ci"]
            widths.append(high - low)
        assert widths[1] < widths[0]

    def test_noise_is_that_of_paired_differences(self, pilot):
        made = asking(pilot, presence_criterion=0.3, label="song", methods="fixed")
        spread = PilotVariation.of(made.task, list(made.pool))
        wrong = spread.parts[:, :2, 0]
        assert spread.noise[0, 1] == pytest.approx((wrong[:, 0] - wrong[:, 1]).std(ddof=1) / np.sqrt(len(wrong)))

    def test_other_criteria(self, paper):
        at = {each["presence_criterion"]: each for each in paper.sensitivity}
        assert at[0.5]["wrong_time"] == pytest.approx(paper.wrong_time, abs=1e-9)
        assert at[0.9]["wrong_time"] > at[0.5]["wrong_time"]


def partitions(items):
    """Every way to cut a list into stretches."""
    if not items:
        yield []
        return
    for k in range(1, len(items) + 1):
        for rest in partitions(items[k:]):
            yield [items[:k], *rest]


class TestClasses:
    def test_the_grouping_is_the_best_of_all(self):
        rng = np.random.default_rng(0)
        loss = rng.random((5, 4))
        for n in range(1, 6):
            picks, cuts = group(loss, n)
            mine = sum(loss[i:j, k].sum() for k, (i, j) in zip(picks, itertools.pairwise(cuts)))
            every = [
                sum(min(loss[part, k].sum() for k in range(4)) for part in parts)
                for parts in partitions(list(range(5)))
                if len(parts) == n
            ]
            assert mine == pytest.approx(min(every))

    def test_passes(self, pilot):
        made = asking(pilot, presence_criterion=0.3, methods="fixed,passes")
        several = max((row for row in made.pool if row.passes), key=lambda row: len(row.passes))
        assert sorted(label for labels, _ in several.passes for label in labels) == ["call", "drum", "song"]
        common = row_of_one(made)
        assert several.wrong_time < common.wrong_time
        assert several.listened == 3 * common.listened
        assert "3 passes" in made.classes["words"]
        widths = {row["label"]: row["segment_length"] for row in made.classes["per_class"]}
        assert widths["call"] < widths["drum"] < widths["song"]
        assert asking(pilot, presence_criterion=0.3, methods="fixed").classes["words"] == ""

    def test_passes_join_classes_of_a_kind_whatever_they_are_called(self):
        spans = {"a": 6.0, "b": 0.3, "c": 5.0}
        rows = [
            (f"r{k}", 7.0 + 13 * j + 0.37 * k, 7.0 + 13 * j + 0.37 * k + spans[label], label)
            for k in range(12)
            for j, label in enumerate(spans)
        ]
        frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
        events = wk.Events.from_frame(frame, recording_length=60)
        made = asking(events, presence_criterion=0.5, methods="fixed,passes")
        two = next(row for row in made.pool if len(row.passes) == 2)
        assert {frozenset(labels) for labels, _ in two.passes} == {frozenset("b"), frozenset("ac")}
        assert two.wrong_time < 0.8 * row_of_one(made).wrong_time


def row_of_one(made):
    """The fixed segments with the least wrong time, of one length for all classes."""
    return min((row for row in made.pool if row.design.is_plain), key=lambda row: row.wrong_time)


class TestDrawn:
    def test_dense_recordings(self):
        """Thirty unit events in 100 s: reference 0.711772 with 88 segments; the sparse rule promises 0.764 (E24)."""
        work = {"presence_criterion": 0.5, "recording_length": 100, "n_events": 30}
        made = asking(1.0, methods="fixed", objective="overlap", **work)
        assert made.overlap_accuracy == pytest.approx(0.7118, abs=0.005)
        assert 0.9 < made.segment_length < 1.3
        assert "drawn recordings" in " ".join(made.assumptions)

    def test_rare_events_are_drawn_where_they_are(self):
        made = asking(1.0, presence_criterion=0.5, recording_length=100, event_rate=1e-4, methods="fixed")
        assert made.task.n_events == pytest.approx(0.01, rel=0.01)
        assert made.n_queries == pytest.approx(np.ceil(100 / made.segment_length))


class TestReport:
    def test_one_file_that_needs_no_network(self, paper, tmp_path):
        path = paper.report(tmp_path / "plan.html", command="weakly plan --event-length 1")
        text = path.read_text()
        assert all(sentence.rstrip(".") in text for sentence in paper.details.split(". "))
        assert "weakly plan --event-length 1" in text
        assert text.count("<figure") == 3
        assert 'title="accuracy of the segments that meet an event">accuracy near events' in text
        assert not re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', text)

    def test_labels_are_escaped(self, tmp_path):
        frame = pd.DataFrame(
            {"recording": list("abcdefghij"), "onset": 1.0, "offset": np.linspace(2, 4, 10), "label": "<script>x"}
        )
        events = wk.Events.from_frame(frame, recording_length=20.0)
        made = asking(events, presence_criterion=0.3, label="<script>x", methods="fixed")
        assert "<script>" not in made.report(tmp_path / "plan.html").read_text()

    def test_the_frontier_says_what_its_dots_are(self, paper):
        figures = paper.figures()
        assert set(figures) == {"frontier", "lengths", "timeline"}
        axes = figures["frontier"].axes[0]
        texts = " ".join(each.get_text() for each in (*axes.texts, *axes.get_legend().get_texts()))
        assert "recommended" in texts
        assert "paper's optimum" in texts
        assert "label nothing" in texts

    def test_the_timeline_labels_by_the_definition(self, paper):
        shown = paper.example
        for each in shown["rows"]:
            if not each["name"].startswith("fixed"):
                continue
            for (start, end), present in zip(each["segments"], each["present"]):
                overlaps = [min(end, b) - max(start, a) >= 0.5 * (b - a) * (1 - 1e-9) for a, b in shown["events"]]
                assert present == any(overlaps)


def test_the_bundled_example_is_what_its_generator_writes():
    import pilot
    from weakly.studies import simulate as example

    assert example.PILOT.read_text() == pilot.text()
    assert len(example.pilot().recordings) == 40
