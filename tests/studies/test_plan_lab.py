"""The plan for a lab: hours of work, marking by hand, a verdict, three lines, and commands that run."""

import json
import shlex
from html import escape

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_tasks import choices_agree, parts_of, recordings_of, screened
from typer.testing import CliRunner

import weakly as wk
from weakly.base.results import percent
from weakly.cli import app
from weakly.methods import ByHand, Fixed, MethodOutcome, Nothing, Screening
from weakly.methods.base import AnswerHistory, Recording, SimulatedAnnotator
from weakly.methods.model import R
from weakly.model.intervals import fixed_segments
from weakly.model.lengths import Lengths
from weakly.studies.plan.decision import choose

OWLS = {"recording_length": 60, "total_hours": 200, "cost": wk.Cost(per_hour=20)}


@pytest.fixture(scope="module")
def owls():
    return wk.plan("2-20", segment_length=10, **OWLS)


def events(rng, n=40, length=60.0):
    """Recordings with events of two classes, some silent."""
    rows = []
    for k in range(n):
        for label, mean in (("call", 0.8), ("song", 6.0)):
            for onset in np.sort(rng.uniform(0, length, rng.poisson(1.5))):
                end = min(onset + rng.lognormal(np.log(mean), 0.5), length)
                rows.append((f"r{k}", onset, end, label))
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    return wk.Events.from_frame(frame, recording_length={f"r{k}": length for k in range(n)})


class TestWork:
    def test_the_numbers_of_the_paper_are_still_to_be_had(self):
        assert wk.Cost(query_cost_share=0.5).of(listened=100, n_queries=124) == 112
        assert wk.Cost(per_second=2, per_query=1).of(listened=3, n_queries=4) == 10

    def test_work_is_hearing_answering_ticking_and_marking(self):
        cost = wk.Cost(per_hour=20, per_hour_marking=40, speed=8, speed_marking=2, seconds_per_tick=2)
        work = {"listened": 800.0, "n_queries": 10, "n_ticks": 5, "reviewed": 100.0, "n_marks": 4}
        assert cost.hours(**work) == pytest.approx((100 + 30 + 10 + 50 + 60) / 3600)
        assert cost.of(**work) == pytest.approx((20 * 140 + 40 * 110) / 3600)
        assert wk.Cost().of(**work) == wk.Cost().hours(**work)

    def test_two_calls_in_ten_minutes(self):
        """The worked example: 600 s with two calls take 630 s by hand, 1,200 s with 3 s segments, 780 s with 10 s."""
        made = wk.plan("0.5-2", recording_length=600, n_events=2, presence_criterion=0.5, segment_length=[3, 10])
        hand = next(each for each in made.choices if each.role == "by_hand")
        assert 3600 * hand.hours == pytest.approx(630, rel=2e-3)  # two that overlap are one
        assert hand.wrong_time == pytest.approx(0.319, abs=2e-3)
        assert [3600 * each.hours for each in made.choices if each.role == "yours"] == pytest.approx([1200, 780])
        assert made.recommended.method == "by_hand"
        assert made.verdict == "good"

    @pytest.mark.parametrize(
        "slip", [{"per_hour": -1}, {"speed": 0}, {"per_hour": 5, "per_second": 1}, {"per_hour": 0}]
    )
    def test_slips_are_refused(self, slip):
        with pytest.raises(wk.InvalidInput):
            wk.Cost(**slip)

    def test_classes_are_ticked_at_once(self):
        pilot = events(np.random.default_rng(1))
        made = wk.plan(pilot, presence_criterion=0.5, segment_length=3.0, methods="fixed")
        row = next(each.row for each in made.choices if each.role == "yours")
        assert row.n_queries == 40 * 20
        ticks = 0
        for _, part in pilot.to_frame().groupby(["recording", "label"]):
            segments = fixed_segments(recording_length=60.0, segment_length=3.0)
            ticks += SimulatedAnnotator(0.5)(_merged(part), segments).sum()
        assert row.n_ticks == pytest.approx(ticks)
        assert row.hours == pytest.approx((2400 + 3 * 800 + ticks) / 3600)

    def test_free_answers_are_said_in_the_first_line(self):
        made = wk.plan(1.0, presence_criterion=0.5, recording_length=60, cost=wk.Cost(per_second=0.01))
        assert "if answers are free" in made.answer.splitlines()[0]


def _merged(part):
    from weakly.model.intervals import merge

    return merge(part[["onset", "offset"]].to_numpy(float))


def marked(bounds, length, rng, *, spread=0.1, missed=0.0):
    """Wrong seconds of one recording that somebody marks by hand, and how many were marked."""
    wrong, count = 0.0, 0
    for a, b in bounds:
        if rng.random() < missed:
            wrong += b - a
            continue
        first, last = np.array([a, b]) + rng.normal(0, min(spread, 0.2 * (b - a)), 2)
        wrong += abs(first - a) + abs(last - b)
        count += 1
    return wrong, count


class TestByHand:
    @pytest.mark.parametrize("missed", [0.0, 0.2])
    def test_marking_is_what_a_simulation_gives(self, missed):
        pilot = events(np.random.default_rng(2))
        who = wk.Annotator(presence_criterion=0.5, lapse_rate=missed)
        row = ByHand().expected(wk.plan(pilot, annotator=who, methods="fixed").task)
        rng = np.random.default_rng(5)
        parts = [_merged(part) for _, part in pilot.to_frame().groupby(["recording", "label"])]
        runs = [[marked(each, 60.0, rng, missed=missed) for each in parts] for _ in range(200)]
        wrong = np.array([sum(one[0] for one in each) for each in runs]) / 40
        marks = np.array([sum(one[1] for one in each) for each in runs])
        assert abs(row.wrong_time - wrong.mean()) < 4 * wrong.std() / np.sqrt(200)
        assert abs(row.n_marks - marks.mean()) < 4 * max(marks.std(), 1e-9) / np.sqrt(200) + 1e-9
        assert row.event_recall == pytest.approx(1 - missed)
        assert row.hours == pytest.approx((2400 + 15 * row.n_marks) / 3600)

    @pytest.mark.parametrize(
        ("given", "who", "recording_length", "n_events", "width"),
        [
            ("0.5-4", {"rule": "seconds:2.5"}, 60.0, 1, 4.0),  # long recordings, one event
            ("0.5-4", {}, 50.0, 14, 4.0),  # runs meet, the last segment is cut, who answers slips
            (3.0, {"annotator": wk.Annotator(presence_criterion=0.5, guess_rate=0.2)}, 31.0, 0.5, 2.0),
            ("2-20", {"presence_criterion": [0.2, 0.6]}, 30.0, 1, 30.0),  # a segment as long as the recording
            ("classes", {"annotator": wk.Annotator(guess_rate=0.1, lapse_rate=0.2)}, 60.0, None, 7.0),
        ],
    )  # fmt: skip
    def test_screening_is_what_a_simulation_gives(self, given, who, recording_length, n_events, width):
        """Answers by a loop that shares nothing: present segments and those beside them are heard again, once."""
        kw = {**who, "recording_length": recording_length, "n_events": n_events}
        if given == "classes":
            given, kw = events(np.random.default_rng(3), n=25), who
        task = wk.plan(given, methods="fixed", **kw).task
        way, rng, known = Screening(segment_length=width), np.random.default_rng(8), n_events is None
        units = recordings_of(given, kw, rng, 800) * (30 if known else 1)
        people, missed = parts_of(kw, way)
        seen = np.array([
            sum(weight * np.array(screened(width, *unit, rule, person, missed, rng)) for weight, person, rule in people)
            for unit in units
        ])  # fmt: skip
        if known:  # only the answers vary
            seen = seen.reshape(30, -1, seen.shape[1]).mean(axis=1)
        mean, error = seen.mean(axis=0), seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
        row, made = way.expected(task), way.sums(task)
        work = (made.heard, made.answers, made.ticks, made.reviewed, made.marks)
        ours = np.array([row.wrong_time * task.model.count, float(made.raw[:, R["n_found"]].sum()), *work])
        assert (np.abs(ours / task.model.count - mean) <= 4 * error + 1e-9 * mean).all(), (
            ours / task.model.count,
            mean,
        )

    def test_screening_pays_only_where_screeners_are_cheaper(self):
        same = wk.plan(1.0, recording_length=600, methods="fixed,by_hand,screening", cost=wk.Cost(per_hour=20))
        least = min(row.hours for row in same.pool if row.method == "screening")
        assert least > next(row.hours for row in same.pool if row.method == "by_hand")
        other = wk.plan(
            1.0, recording_length=600, cost=wk.Cost(per_hour=1, per_hour_marking=40, speed_marking=1.0), n_events=1
        )
        assert "screening" in {row.method for row in other.pool}


class TestTheAnswer:
    def test_three_lines_with_hours_money_and_commands(self, owls):
        lines = owls.answer.splitlines()
        assert owls.verdict == "good"
        told = "248 hours (4,970 EUR), 0.48 s of 11 s wrong, 97 % of events found. Run: weakly queries"
        assert lines[0].startswith(f"Good. By hand: {told}")
        assert [each.role for each in owls.choices] == ["by_hand", "plain", "yours"]
        assert lines[1].startswith("Yours (poor): 10 s segments")
        assert lines[2].startswith("Plain: 2 s segments, 500 hours")
        assert "2 s segments, 500 hours" in lines[2]
        assert "all found (faster from 6 events on). weakly queries" in lines[2]
        assert all(len(line) <= 160 for line in lines)
        assert "a second or half of an event" in owls.assumed
        assert "one event per recording" in owls.assumed
        assert owls.to_dict()["choices"][0]["command"] == owls.choices[0].command

    def test_one_event_is_one_event(self):
        one = wk.plan(wk.Lengths.parse("2-20"), recording_length=60, presence_criterion=0.5, n_events=1)
        said = one.page().html()
        assert "1 event marked" in said

    def test_the_report_says_the_same(self, owls, tmp_path):
        page = owls.report(tmp_path / "plan.html").read_text()
        assert '<p class="answer good">' in page
        for line in (*owls.answer.splitlines(), owls.assumed):
            assert escape(line) in page
        assert "seconds:0.5|fraction:0.3" in page

    def test_who_answers_if_nobody_says(self, owls):
        """A second of a long event, half of a short one; slips only where a label rests on several answers."""
        assert owls.settings["rule"] == "seconds:1|fraction:0.5"
        fixed = wk.plan("2-20", rule="seconds:1|fraction:0.5", **OWLS)
        mine, other = (next(row for row in made.rows if row.design == Fixed(10.0)) for made in (owls, fixed))
        assert mine.wrong_time == pytest.approx(other.wrong_time, abs=1e-12)
        halved, exact = (
            min(row.wrong_time for row in made.pool if row.method == "bisection") for made in (owls, fixed)
        )
        assert halved > 1.2 * exact

    @settings(max_examples=8)
    @given(
        d=st.floats(0.05, 30), room=st.floats(1.5, 60), n=st.sampled_from([0.5, 1, 3]), wage=st.floats(1, 100),
        gamma=st.sampled_from([None, 0.2, 0.5, 0.9]),
    )  # fmt: skip
    def test_whatever_is_asked(self, d, room, n, wage, gamma):
        """Lines are short, the verdict is that of its thresholds, no choice dominates the recommended one, a wage
        changes no order, and more money is never worse."""
        how = {"presence_criterion": gamma, "recording_length": d * room, "n_events": n}
        made = wk.plan(d, **how)
        assert all(len(line) <= 160 for line in made.answer.splitlines())
        row = made.recommended
        others = [each.row for each in made.choices if each.role != "yours"]
        assert row in others
        share = row.wrong_time / made.task.event_time
        free = min(each.wrong_time for each in made.pool if each.design.is_trivial)
        word = (
            "good"
            if share <= 0.25 and row.event_recall >= 0.9 - 1e-9
            else "fair"
            if (share <= 0.5 and row.event_recall >= 0.75 - 1e-9)
            else "poor"
        )
        assert made.verdict == ("worse than nothing" if row.wrong_time >= free * (1 - 1e-9) else word)
        for each in others:
            if each.event_recall >= 0.9 or row.event_recall < 0.9:
                assert not (each.cost < row.cost * (1 - 1e-9) and each.wrong_time < row.wrong_time * (1 - 1e-9))
        if able := [each for each in others if each.event_recall >= 0.9 and each.wrong_time < free * (1 - 1e-9)]:
            word = {id(each.row): each.verdict for each in made.choices}
            able = [each for each in able if each.cost <= 3 * min(each.cost for each in able)]
            best = min((word[id(each)] for each in able), key=["good", "fair", "poor"].index)
            able = [each for each in able if word[id(each)] == best]
            cheap = [each for each in able if each.cost <= 1.5 * min(each.cost for each in able)]
            assert row.wrong_time == min(each.wrong_time for each in cheap)
        paid = wk.plan(d, cost=wk.Cost(per_hour=wage), **how)
        assert [each.row.design for each in paid.choices] == [each.row.design for each in made.choices]
        assert paid.recommended.cost == pytest.approx(wage * made.recommended.cost)

    def test_what_was_asked_about_comes_before_the_others(self):
        """At most three lines, however many lengths somebody asks about; all are choices."""
        made = wk.plan("2-20", segment_length=[3, 5, 10], **OWLS)
        lines = made.answer.splitlines()
        assert [line.partition(":")[0] for line in lines[1:]] == ["Yours (good)", "Yours (fair)"]
        assert lines[0].startswith("Good. By hand")
        assert [each.role for each in made.choices] == ["by_hand", "plain", "yours", "yours", "yours"]

    @pytest.mark.parametrize(
        ("given", "work"),
        [
            (1.0, {"presence_criterion": 0.5, "recording_length": 100}),
            ("2-20", {"recording_length": 60, "total_hours": 200}),
            (0.3, {"recording_length": 20, "n_events": 8, "methods": "fixed"}),
        ],
    )
    def test_more_budget_is_never_worse(self, given, work):
        """What is spent on as many recordings as it pays for leaves less wrong time with every hour, without a jump:
        below marking by hand everything was left unlabelled, and clips were taken that are no better."""
        free = wk.plan(given, **work)
        nobody = min(row.wrong_time for row in free.pool if row.design.is_trivial)
        left = [nobody]
        for share in (0.01, 0.5, 0.999, 1.001, 3.0):
            made = wk.plan(given, budget=share * free.cost, **work)
            row, done = made.recommended, min(1.0, share * free.cost / max(made.recommended.cost, 1e-12))
            assert row.asks
            assert made.reachable == (done == 1)
            assert (f"the budget pays for {percent(done)}" in made.answer.splitlines()[0]) == (done < 1)
            left.append(nobody - done * (nobody - row.wrong_time))
            assert left[-1] <= nobody - min(share, 1.0) * (nobody - free.wrong_time) + 1e-9
        assert left == sorted(left, reverse=True)

    def test_a_command_that_is_too_long_is_taken_from_the_plan(self):
        made = wk.plan(1.0, presence_criterion=0.5, recording_length=30, cost=wk.Cost(per_hour=1, per_hour_marking=60))
        best = made.answer.splitlines()[-1]
        assert best.startswith("Best: windows, ")
        assert best.endswith(". With --out plan/: weakly queries recordings/ --plan plan/ --choice best --out tasks/")

    def test_a_share_of_long_events_shows_both(self):
        """Half of a minute is obeyed, and what a second would change stands in the first lines."""
        made = wk.plan(60.0, presence_criterion=0.5, recording_length=600, segment_length=10)
        yours, other = made.answer.splitlines()[1:]
        assert "Yours (worse than nothing): 10 s segments" in yours
        assert "0 % of events found" in yours
        assert other.startswith("If a second of an event is enough: ")
        assert other.endswith("(--rule 'seconds:1|fraction:0.5').")
        assert made.other_rule["wrong_time"] < 4
        assert wk.plan(3.0, presence_criterion=0.5, recording_length=600).other_rule is None

    def test_the_plain_length_weighs_work(self):
        """Seconds that are slight beside the events do not pay for twice the hours; more do."""
        rows = [MethodOutcome(Fixed(q), 0.9, 1.0, 0.9, 0.9, 0.9, wrong, 9, 9, cost)
                for q, wrong, cost in ((1.4, 2.5, 57.0), (3.8, 6.9, 22.0), (5.0, 10.0, 17.0))]  # fmt: skip
        nothing = MethodOutcome(Nothing(), 0.5, 0.0, 0.5, 0.5, 0.9, 224.0, 0, 0, 0.0)
        asked = {"objective": "wrong_time", "wanted": (), "budget": None}
        assert choose([*rows, nothing], **asked).row.segment_length == 3.8
        made = wk.plan("30-120", recording_length=3600, methods="fixed")
        assert made.task.grid[0] < 1.0  # a rule in seconds: far shorter than the events
        assert made.segment_length in made.task.grid

    def test_your_own_length_and_tools(self):
        made = wk.plan(
            1.0, presence_criterion=0.5, recording_length=600, n_events=2, segment_length=[3], tools="birdnet"
        )
        assert made.recommended.method == "fixed"
        assert [each.row.segment_length for each in made.choices if each.role == "yours"] == [3.0]
        with pytest.raises(wk.InvalidInput, match="at most the longest recording"):
            wk.plan(1.0, recording_length=60, segment_length=61)
        with pytest.raises(wk.InvalidInput, match="tools must be one of"):
            wk.plan(1.0, recording_length=60, tools="pen")


@pytest.mark.parametrize(
    ("text", "low", "high", "mean", "std"),
    [
        ("2-20", 2, 20, 11, 18 / 12**0.5),
        (" 2 – 20 s", 2, 20, 11, 18 / 12**0.5),
        ("uniform:2,20", 2, 20, 11, 18 / 12**0.5),
        ("uniform:loc=2,scale=18", 2, 20, 11, 18 / 12**0.5),
        ("3±1", 0, np.inf, 3, 1),
        ("3 +- 1", 0, np.inf, 3, 1),
        ("about 3", 0, np.inf, 3, 1),
        ("1e-3", 1e-3, 1e-3, 1e-3, 0),
    ],
)
def test_lengths_as_people_say_them(text, low, high, mean, std):
    law = Lengths.parse(text)
    assert (law.shortest, law.longest) == pytest.approx((low, high))
    assert (law.mean, law.std) == pytest.approx((mean, std), rel=1e-6)


@pytest.mark.parametrize("text", ["20-2", "3±0", "-3", "0±1", "2-20-30"])
def test_lengths_that_nobody_means(text):
    with pytest.raises(wk.InvalidInput, match="event_length"):
        Lengths.parse(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A plan on disk, and recordings to ask about."""
    import soundfile

    folder = tmp_path_factory.mktemp("lab")
    (folder / "recordings").mkdir()
    for k in range(2):
        soundfile.write(folder / "recordings" / f"{k}.wav", np.zeros(30 * 100, dtype=np.float32), 100)
    done = CliRunner().invoke(
        app, ["plan", "--event-length", "1", "--presence-criterion", "0.5", "--recording-length", "30", "--events",
              "2", "--segment-length", "3", "--out", str(folder / "plan")]
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize("seed", [2, 5, 7, 9])
def test_every_number_of_every_choice_is_what_doing_it_gives(seed):
    """The way, the annotator with slips, the work: ``python plan_tasks.py choices`` does hundreds of tasks."""
    count, off = choices_agree(seed)
    assert count > 0
    assert not off


class TestFromPlanToWork:
    def test_work_as_a_campaign_measured_it(self, tmp_path):
        rows = [f"a.wav,{k},{k + d},call,1,{d / 2 + 1.5}" for k, d in enumerate([1, 2, 3, 4] * 5)]
        (tmp_path / "answers.csv").write_text("recording,onset,offset,label,present,seconds\n" + "\n".join(rows))
        work = ["plan", "--event-length", "1", "--recording-length", "30", "--work", str(tmp_path)]
        done = CliRunner().invoke(app, [*work, "--json"])
        assert done.exit_code == 0, done.output
        cost = json.loads(done.stdout)["settings"]["cost"]
        assert (cost["seconds_per_answer"], cost["speed"]) == pytest.approx((1.5, 2.0))
        twice = CliRunner().invoke(app, [*work, "--speed", "8"])
        assert isinstance(twice.exception, wk.InvalidInput) or twice.exit_code == 2

    def test_the_commands_run_as_printed_and_make_those_segments(self, folder, monkeypatch):
        monkeypatch.chdir(folder)
        made = json.loads((folder / "plan" / "plan.json").read_text())
        assert {each["role"] for each in made["choices"]} >= {"plain", "by_hand", "yours"}
        for each in made["choices"]:
            words = shlex.split(each["command"])
            assert words[0] == "weakly"
            out = folder / each["role"]
            done = CliRunner().invoke(app, [*words[1:-1], str(out)])
            assert done.exit_code == 0, done.output
            told = CliRunner().invoke(
                app, ["queries", "recordings/", "--plan", "plan", "--choice", each["role"], "--json", "--dry-run"]
            )
            assert told.exit_code == 0, told.output
            mine = pd.read_csv(out / "queries.csv")
            theirs = pd.DataFrame(json.loads(told.stdout)["queries"])
            assert mine["query"].tolist() == theirs["query"].tolist()
            if each["method"] == "fixed":
                assert len(mine) == 2 * np.ceil(30 / each["segment_length"] - 1e-9)

    @pytest.mark.parametrize("seed", range(6))
    def test_the_commands_of_random_plans_make_the_segments_that_were_planned(self, seed, folder, monkeypatch):
        """Typed as printed, whatever the lengths and methods: the first round is that of the row."""
        rng = np.random.default_rng(seed)
        monkeypatch.chdir(folder)
        cost = wk.Cost(**({"per_hour": 1.0, "per_hour_marking": 60.0} if seed % 2 else {}))
        made = wk.plan(
            float(np.exp(rng.uniform(-1.5, 2))), presence_criterion=float(rng.uniform(0.1, 0.9)), recording_length=30.0,
            n_events=float(rng.choice([0.5, 1, 3])), segment_length=float(rng.uniform(0.7, 30)), cost=cost,
            **({} if seed % 3 else {"methods": "fixed,bisection,screening"}),
        )  # fmt: skip
        assert len(made.choices) >= 2
        for each in made.choices:
            out = folder / f"random{seed}{each.role}"
            *words, last = shlex.split(each.command)
            assert (words[:2], last) == (["weakly", "queries"], "tasks/")
            done = CliRunner().invoke(app, [*words[1:], str(out)])
            assert done.exit_code == 0, done.output
            asked = pd.read_csv(out / "queries.csv")
            expected = each.row.design.next(Recording("0.wav", 30.0), AnswerHistory())
            for _, rows in asked.groupby("recording"):
                assert rows[["onset", "offset"]].to_numpy() == pytest.approx(expected, abs=1e-6), each.command

    def test_in_python(self, folder):
        made = wk.plan(1.0, presence_criterion=0.5, recording_length=30, n_events=2)
        asked = wk.queries({"a": 30.0}, plan=made, choice="plain").to_frame()
        width = next(each.segment_length for each in made.choices if each.role == "plain")
        assert (asked["offset"] - asked["onset"]).max() == pytest.approx(width)
        assert len(wk.queries({"a": 30.0}, plan=made).to_frame()) == 1  # the recommended one: marking by hand

    @pytest.mark.parametrize(
        ("how", "text"),
        [
            ({"plan": "nowhere.json"}, "is no plan.json"),
            ({"plan": {}}, "must hold choices"),
            ({"choice": "plain"}, "needs a plan"),
        ],
    )
    def test_slips(self, how, text):
        with pytest.raises(wk.InvalidInput, match=text):
            wk.queries({"a": 30.0}, **how)

    def test_a_plan_and_a_length_are_one_too_many(self, folder):
        with pytest.raises(wk.InvalidInput, match="give plan, or segment_length, not both"):
            wk.queries({"a": 30.0}, plan=folder / "plan", choice="plain", segment_length=3)
        with pytest.raises(wk.InvalidInput, match="choice must be one of"):
            wk.queries({"a": 30.0}, plan=folder / "plan", choice="cheapest")
