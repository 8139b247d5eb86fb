"""A way to label of somebody's own, in one class outside of the package: asked, planned and written about."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import weakly as wk
from weakly.methods import METHODS, Bisection, Fixed, Labels, Method, Passes, Windows, register
from weakly.studies.queries.query_set import make_method

WORK = {"presence_criterion": 0.5, "recording_length": 60.0, "n_events": 2}


@dataclass(frozen=True)
class EveryOther(Method):
    """Segments 0, 2, 4, ... are asked; the time between has the answer of the segment before."""

    segment_length: float
    name: ClassVar[str] = "every other segment"

    def grid(self, recording):
        return Fixed(self.segment_length).segments(recording)

    def next(self, recording, asked):
        return self.grid(recording)[::2][len(asked) :]

    def labels(self, recording, asked):
        grid = self.grid(recording)
        given = np.full(-(-len(grid) // 2), np.nan)
        given[: len(asked)] = asked.present
        return Labels(grid, np.repeat(given, 2)[: len(grid)])


@pytest.fixture(scope="module")
def planned():
    return wk.plan(1.0, methods=["fixed", EveryOther(1.0), EveryOther(3.0)], **WORK)


def test_it_is_planned_beside_others(planned):
    rows = {row.segment_length: row for row in planned.rows if row.method == EveryOther.name}
    one = rows[1.0]
    assert set(rows) == {1.0, 3.0}
    assert one.name == "every other segment, 1 s segments"
    assert "simulated on" in one.note
    assert (one.n_queries, one.listened, one.heard) == (30, 30, 0.5)
    assert one.wrong_time_se > 0
    fixed = Fixed(1.0).expected(planned.task)
    assert one.event_recall == pytest.approx(fixed.event_recall / 2, abs=0.1)
    assert fixed.wrong_time < one.wrong_time
    again = wk.plan(1.0, methods=[EveryOther(1.0)], **WORK)
    assert one in again.rows  # of a fixed seed
    assert again.method == "nothing"  # it is no better than that, and nobody is told to pay for it
    assert again.details.startswith("Asking does not pay here")
    assert wk.plan(1.0, methods=EveryOther(1.0), **WORK).recommended == again.recommended


def test_its_numbers_are_those_of_another_run():
    """On known recordings with certain answers: exact, as evaluate has it for the segments that are asked."""
    frame = pd.DataFrame(
        {"recording": ["a", "a", "b"], "onset": [0.1, 6.2, 3.0], "offset": [1.1, 7.7, 5.5], "label": "x"}
    )
    events = wk.Events.from_frame(frame, recording_length={"a": 10.0, "b": 10.0, "c": 10.0})
    made = wk.plan(events, methods=[EveryOther(2.0)], presence_criterion=0.5)
    row = next(each for each in made.rows if each.method == EveryOther.name)
    # asked of a: 0-2 present, 4-6 absent, 8-10 absent; so 0-4 is present. Of b: 4-6 holds 0.6 of the event: 4-8.
    assert row.wrong_time == pytest.approx(((4 - 1.0) + 1.5 + (4 - 1.5) + 1.0) / 3, abs=1e-12)
    assert (row.wrong_time_se, row.n_queries, row.event_recall) == (0, 9, pytest.approx(2 / 3))


def test_it_is_asked(planned):
    design = next(row.design for row in planned.rows if row.method == EveryOther.name)
    asked = wk.queries({"a": 5.0}, method=design, label="dog")
    frame = asked.to_frame()
    assert frame[["onset", "offset"]].values.tolist() == [[0, 1], [2, 3], [4, 5]]
    answers = wk.Answers.from_frame(
        frame.assign(present=[0, 1, 0])[["recording", "onset", "offset", "label", "present"]]
    )
    assert wk.queries({"a": 5.0}, method=design, label="dog", answers=answers).n_queries == 0
    from weakly.studies.queries.query_set import asked_so_far

    labels = design.labels(asked.recordings["a"], asked_so_far(answers, "a", "dog"))
    assert labels.events.tolist() == [[2.0, 4.0]]


def test_it_is_written_about(planned, tmp_path):
    written = json.loads(json.dumps(planned.to_dict()))
    assert EveryOther.name in [row["method"] for row in written["rows"]]
    assert EveryOther.name in set(planned.to_frame()["method"])
    planned.plot()
    page = planned.report(tmp_path / "plan.html").read_text()
    assert "every other segment, 1 s segments" in page
    assert "simulated on" in page


def test_it_can_be_registered():
    @dataclass(frozen=True)
    class Coarse(EveryOther):
        name: ClassVar[str] = "coarse"

        @classmethod
        def candidates(cls, problem):
            return [cls(length).expected(problem) for length in (2.0, 4.0)]

    register(Coarse)
    try:
        assert wk.queries({"a": 8.0}, method="coarse", segment_length=2.0).n_queries == 2
        with pytest.raises(wk.InvalidInput, match="method 'coarse' needs segment_length"):
            wk.queries({"a": 8.0}, method="coarse")
        assert {row.segment_length for row in wk.plan(1.0, methods="coarse", **WORK).pool if row.asks} == {2.0, 4.0}
    finally:
        del METHODS["coarse"]


def test_what_cannot_be_compared_is_refused():
    @dataclass
    class Loose(Method):
        def next(self, recording, asked):
            return np.empty((0, 2))

    with pytest.raises(wk.InvalidInput, match=r"Loose must be hashable; declare it @dataclass\(frozen=True\)"):
        wk.plan(1.0, methods=[Loose()], **WORK)


@pytest.mark.parametrize("design", [Fixed(1.0), Windows(2.0, 1.0, 1), Bisection(1.0, start_length=8.0)])
def test_formula_and_run_agree(design):
    """What a class knows by formula is what the same class gives where it is run."""
    task = wk.plan(1.0, methods="fixed", **WORK).task
    known, run = design.expected(task), task.rows_of([design], [Method.sums(design, task)])[0]
    error = np.hypot(known.wrong_time_se, run.wrong_time_se)
    assert run.wrong_time == pytest.approx(known.wrong_time, abs=4 * error)
    assert run.n_queries == pytest.approx(known.n_queries, rel=0.1)
    assert run.listened == pytest.approx(known.listened, rel=0.1)


def test_every_name_is_one_word_at_every_door():
    """Queries, plans and commands read one register."""
    assert {name: kind.name for name, kind in METHODS.items()} == {name: name for name in METHODS}
    by_name = [name for name, kind in METHODS.items() if kind.by_name]
    made = [make_method(name, {"segment_length": 2.0}, []) for name in by_name]
    assert [type(method) for method in made] == [METHODS[name] for name in by_name]
    texts = {command: command_options(command) for command in ("queries", "label", "plan")}
    for name, kind in METHODS.items():
        assert (name in texts["queries"]["--method"]) == kind.by_name
        assert (name in texts["plan"]["--methods"]) == (kind.planned != "never" and not kind.is_trivial)
        assert (name in texts["label"]["--method"]) == (kind.by_name and kind.is_attainable and not kind.is_strong)


def command_options(command):
    """The help of every option of a command."""
    import typer

    from weakly.cli import app

    found = typer.main.get_command(app).commands[command]
    return {name: each.help for each in found.params for name in each.opts if getattr(each, "help", None)}


def test_a_plan_of_passes_is_asked_class_by_class():
    design = Passes(((("a",), Fixed(2.0)), (("b", "c"), Fixed(5.0))))
    asked = wk.queries({"r": 10.0}, method=design, label=["a", "b"]).to_frame()
    assert asked.groupby("label").size().to_dict() == {"a": 5, "b": 2}
    with pytest.raises(wk.InvalidInput, match="label must be one of a, b, c"):
        wk.queries({"r": 10.0}, method=design, label="d")
