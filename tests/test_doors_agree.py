"""One world, every door: whoever can answer a question gives the same number for every word.

A door takes a :class:`World` and gives its words, or None where it cannot answer. To add one, write a function and put
it into ``DOORS``; it is compared with the slow definitions of ``reference.py``, which borrow nothing from the package.
"""

import inspect
import itertools
import json
import warnings
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import reference
import weakly as wk
from weakly import theory
from weakly.base.report import Report, Result
from weakly.base.results import format_value, percent
from weakly.cli import main
from weakly.engine.tally import of_labels
from weakly.methods import Fixed, Windows
from weakly.methods.base import Recording, SimulatedAnnotator, run
from weakly.methods.information import Information
from weakly.model.annotator import Annotator, PresenceRule
from weakly.model.intervals import EventArrays, window_counts, window_starts
from weakly.studies.evaluate.clips import clip_labels
from weakly.studies.plan.pilot import Pilot
from weakly.studies.simulate import PILOT

WORDS = ("overlap_accuracy", "recording_accuracy", "precision", "recall", "event_recall", "wrong_time")
COUNTS = ("n_queries", "listened", "n_events", "n_recordings")
LAWS = {"beta": stats.beta}


@dataclass(frozen=True)
class World:
    """Recordings as (events, length), and how they are asked about; ``who`` in the plain data of ``reference.py``."""

    recordings: tuple[Any, ...]
    width: float
    who: Any
    phase: Any = "random"
    edge: str = "truncate"
    hop: float | None = None
    votes: int | None = None

    @property
    def asked(self) -> dict[str, Any]:
        placed = {"phase": self.phase, "edge": self.edge, "hop": self.hop, "votes": self.votes}
        return {"segment_length": self.width, **placed, **answering(self.who)}

    @property
    def is_hard(self) -> bool:
        return not isinstance(self.who, dict)


def rule_of(rule):
    kind, *values = rule
    if kind == "either":
        return PresenceRule.either(*map(rule_of, values))
    return getattr(PresenceRule, kind)(*values)


def answering(who):
    """The arguments of a public function for who answers."""
    if isinstance(who, (int, float)):
        return {"presence_criterion": who}
    if isinstance(who, tuple):
        return {"rule": rule_of(who)}
    law = who.get("law")
    rates = {f"{name}_rate": who.get(name, 0.0) for name in ("guess", "lapse", "flip")}
    criterion = who["criterion"] if law is None else LAWS[law[0]](*law[1:])
    return {"annotator": Annotator(presence_criterion=criterion, votes=who.get("votes"), **rates)}


def people(law=None, criterion=0.5, **rates):
    frozen = None if law is None else LAWS[law[0]](*law[1:])
    return {"criterion": criterion if law is None else frozen.cdf, **({} if law is None else {"law": law}), **rates}


def words_of(sums):
    """The words of results from sums over recordings, as their definitions say."""
    tp, fp, elsewhere = sums["tp"], sums["fp"], sums["fp_outside"]
    said = tp + fp + elsewhere
    wrong = said + sums["event_time"] - 2 * tp
    n = sums["n_recordings"]

    def ratio(above, below):
        return above / below if below > 0 else np.nan

    return {
        "overlap_accuracy": ratio(sums["overlap_time"] - sums["event_time_seen"] - fp + tp, sums["overlap_time"]),
        "recording_accuracy": 1 - wrong / sums["time"],
        "precision": ratio(tp, said),
        "recall": ratio(tp, sums["event_time"]),
        "event_recall": ratio(sums["n_found"], sums["n_events"]),
        "wrong_time": wrong / n,
        "n_queries": sums["n_segments"],
        "listened": sums["listened"],
        "n_events": sums["n_events"],
        "n_recordings": n,
    }


def by_definition(world):
    total = {"n_recordings": float(len(world.recordings))}
    for events, length in world.recordings:
        how = {"edge": world.edge, "hop": world.hop, "votes": world.votes}
        if world.phase == "random":
            nodes = 7 if isinstance(world.who, dict) and "law" in world.who else 2  # the rest is linear in between
            one = reference.expected(events, length, world.width, world.who, nodes=nodes, **how)
        else:
            one = reference.score(events, length, world.width, world.who, phase=world.phase, **how)
        for name, value in one.items():
            total[name] = total.get(name, 0.0) + value
    return words_of(total)


def by_evaluate(world):
    timelines = EventArrays.of([events for events, _ in world.recordings], [length for _, length in world.recordings])
    found = wk.evaluate(timelines, **world.asked)
    return {name: getattr(found, name) for name in (*WORDS, *COUNTS)}


def by_theory(world):
    """Closed forms: one event, far from the recording's ends, under a random phase."""
    (events, length), *more = world.recordings
    if more or len(events) != 1 or world.phase != "random" or world.edge != "truncate":
        return None
    (a, b), w = events[0], world.width
    if min(a, length - b) <= 2 * w:
        return None
    one = {"event_length": b - a, "segment_length": w, **answering(world.who)}
    if world.hop is not None:
        if "annotator" in one:
            return None
        one |= {"hop": world.hop, "votes": world.votes}
        return {
            "wrong_time": theory.overlapping_wrong_time(**one),
            "overlap_accuracy": theory.overlapping_cell_accuracy(**one),
        }
    found = {name: getattr(theory, name)(**one) for name in ("overlap_accuracy", "recall", "event_recall")}
    found["recording_accuracy"] = theory.recording_accuracy(**one, n_events=1, recording_length=length)
    if world.is_hard or not (world.who.get("guess") or world.who.get("flip")):  # it knows of no guess elsewhere
        found |= {"precision": theory.precision(**one), "wrong_time": theory.wrong_time(**one)}
    return found


def annotations(world):
    """The world's events as a person would hold them, and the recordings' lengths."""
    frame = [
        {"recording": f"r{i:02}", "onset": a, "offset": b, "label": "x"}
        for i, (events, _) in enumerate(world.recordings)
        for a, b in events
    ]
    lengths = {f"r{i:02}": length for i, (_, length) in enumerate(world.recordings)}
    return wk.Events.from_frame(pd.DataFrame(frame), recording_length=lengths), lengths


def exported(world):
    """Annotations, lengths, and the clip labels that the rule makes of them."""
    events, lengths = annotations(world)
    rule = rule_of(world.who) if isinstance(world.who, tuple) else PresenceRule.fraction(world.who)
    made = clip_labels(events, segment_length=world.width, rule=rule, phase=world.phase, edge=world.edge)
    return events, lengths, made


def by_audit(world):
    """The audit of the exported clip labels against the annotations that made them."""
    if world.phase == "random" or not world.is_hard or world.hop is not None or world.edge != "truncate":
        return None
    if not all(events for events, _ in world.recordings):
        return None
    events, _, made = exported(world)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what so few clips can tell of the criterion is another matter
        found, *_ = wk.audit(strong=events, weak=made, rng=0).quality.to_dict()["scores"]  # of the class, then of all
    # The audit finds the rule by itself, so its event recall is of the rule that it found.
    return {
        name: np.nan if found[name] is None else found[name] for name in (*WORDS, *COUNTS) if name != "event_recall"
    }


def by_clip_labels(world):
    """The exported labels of clips, scored as labels that somebody owns."""
    if world.phase == "random" or not world.is_hard or world.hop is not None or world.edge == "infinite":
        return None
    if not any(events for events, _ in world.recordings):
        return None
    _, lengths, made = exported(world)
    made = made.to_frame()
    rows = [made[made["recording"] == name] for name in lengths]
    timelines = EventArrays.of([events for events, _ in world.recordings], list(lengths.values()))
    clips = [row[["onset", "offset"]].to_numpy() for row in rows]
    tally = of_labels(timelines, clips, [row["present"].to_numpy() for row in rows])
    found = {name: tally.metrics()[name].item() for name in WORDS}
    found.pop("event_recall")  # cut clips are judged at their full length, which labels do not tell
    return found | {"n_queries": tally.n_segments.item(), "listened": tally.listened.item()}


def by_queries(world):
    """What `queries` would ask."""
    if world.phase != 0.0 or world.edge != "truncate":
        return None
    if world.hop is None:
        method = Fixed(segment_length=world.width)
    else:
        method = Windows(segment_length=world.width, hop=world.hop, votes=world.votes)
    asked = [method.segments(Recording(str(i), length)) for i, (_, length) in enumerate(world.recordings)]
    return {"n_queries": sum(map(len, asked)), "listened": sum((a[:, 1] - a[:, 0]).sum() for a in asked)}


def by_counting(world):
    """The convention itself."""
    phase = None if world.phase == "random" else world.phase
    how = {"segment_length": world.width, "hop": world.hop, "phase": phase, "edge": world.edge}
    n, heard = window_counts([length for _, length in world.recordings], **how)
    return {"n_queries": n.sum(), "listened": heard.sum()}


DOORS = (by_evaluate, by_theory, by_clip_labels, by_queries, by_counting)


def agree(world, tolerance=1e-9, doors=DOORS):
    wanted = by_definition(world)
    asked = 0
    for door in doors:
        found = door(world)
        for name, value in (found or {}).items():
            assert value == pytest.approx(wanted[name], rel=tolerance, abs=tolerance, nan_ok=True), (
                f"{door.__name__}: {name} of {world}"
            )
            asked += 1
    assert asked


@st.composite
def recordings(draw, most=3):
    length = draw(st.sampled_from([1.0, 3.0, 6.4]))
    n = draw(st.integers(0, most))
    if draw(st.booleans()):
        points = sorted(draw(st.lists(st.integers(0, 64), min_size=2 * n, max_size=2 * n, unique=True)))
        points = [length * x / 64 for x in points]
    else:
        points = sorted(draw(st.lists(st.floats(0, length), min_size=2 * n, max_size=2 * n)))
    pairs = list(zip(points[::2], points[1::2]))
    assume(all(b - a > 0.01 for a, b in pairs) and all(c - b > 0.01 for (_, b), (c, _) in itertools.pairwise(pairs)))
    return pairs, length


RULES = (
    *(("fraction", 0.5), ("seconds", 0.25), ("any",), ("coverage", 0.5), ("shorter", 0.7), ("margin", 0.4)),
    *(("margin", 2.0), ("either", ("seconds", 0.5), ("fraction", 0.5)), ("either", ("margin", 1.0), ("seconds", 0.5))),
)
CERTAIN = (*(0.05, 0.3, 0.5, 0.77, 1.0), *RULES)
NOISY = (
    people(criterion=0.4, guess=0.1, lapse=0.2),
    people(criterion=0.1, lapse=0.3),
    people(criterion=0.9, guess=0.2),
    people(criterion=0.6, flip=0.15),
    people(criterion=0.5, guess=0.2, lapse=0.3, votes=(2, 3)),
)
LAWFUL = (
    people(law=("beta", 2, 3)),
    people(law=("beta", 1, 2), guess=0.1, lapse=0.2, flip=0.05),
    people(law=("beta", 2, 2), votes=(2, 2)),
    people(law=("beta", 2, 3), guess=0.05, lapse=0.3, votes=(2, 3)),
    people(law=("beta", 1, 3), lapse=0.4, votes=(1, 2)),
)
FIXED = ({}, {"edge": "inside"}, {"edge": "infinite"})
WINDOWS = (
    *({"hop": 0.5, "votes": 1}, {"hop": 0.25, "votes": 3}, {"hop": 0.25, "votes": 2, "edge": "inside"}),
    *({"hop": 1.0, "votes": 1}, {"hop": 0.5, "votes": 2}),
)


def crowded_panel(world):
    """Voters with a law of criteria on several events: there the slow integral over phases is the coarse one."""
    return (
        isinstance(world.who, dict) and "law" in world.who and "votes" in world.who and len(world.recordings[0][0]) > 1
    )


QUIET = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@QUIET
@given(
    st.lists(recordings(), min_size=1, max_size=2),
    st.sampled_from([0.1, 0.3, 0.5, 1.0, 1.3, 4.0]),
    st.sampled_from((*CERTAIN, *NOISY, *LAWFUL)),
    st.sampled_from(FIXED),
    st.sampled_from([0.0, 0.123, 0.5]),
)
def test_fixed_segments_from_a_known_phase(some, width, who, how, phase):
    agree(World(tuple(some), width, who, phase=phase, **how))


@settings(QUIET, max_examples=12, phases=[Phase.explicit, Phase.generate])
@given(
    st.lists(recordings().filter(lambda one: one[0]), min_size=1, max_size=2),
    st.sampled_from([0.5, 1.0, 1.3, 4.0]),
    st.sampled_from(CERTAIN),
    st.sampled_from([0.0, 0.5]),
)
def test_an_audit_of_exported_clips_is_the_evaluation(some, width, who, phase):
    world = World(tuple(some), width, who, phase=phase)
    agree(world, doors=(by_evaluate, by_audit))


@settings(QUIET, max_examples=8, phases=[Phase.explicit, Phase.generate])
@given(
    st.lists(recordings().filter(lambda one: one[0]), min_size=1, max_size=2),
    st.sampled_from((*CERTAIN, *NOISY, LAWFUL[0], LAWFUL[1])),
)
def test_every_row_of_a_plan_is_the_evaluation_of_what_it_asks(some, who):
    world = World(tuple(some), 1.0, who, phase=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = wk.plan(annotations(world)[0], **answering(who))
    rows = [row for row in made.rows if row.method in ("fixed", "windows")]
    assert rows
    for k, row in enumerate(rows):
        asked = replace(world, width=row.segment_length, hop=row.hop, votes=row.votes)
        # The definitions are slow and hold evaluations in the tests below: of the rows some are enough.
        wanted = by_definition(asked) if k % 9 == 0 else by_evaluate(asked)
        for name in (*WORDS, "n_queries", "listened"):
            assert getattr(row, name) == pytest.approx(wanted[name], rel=1e-9, abs=1e-9, nan_ok=True), (name, row)


@settings(QUIET, max_examples=25)
@given(
    recordings(),
    st.sampled_from([0.3, 0.5, 1.0, 1.3, 4.0]),
    st.sampled_from((*CERTAIN, *NOISY, *LAWFUL)),
    st.sampled_from(FIXED),
)
def test_fixed_segments_with_a_random_phase(recording, width, who, how):
    world = World((recording,), width, who, **how)
    agree(world, 1e-4 if crowded_panel(world) else 1e-9)


@settings(QUIET, max_examples=25)
@given(
    recordings(most=2),
    st.sampled_from((*CERTAIN, *NOISY, *LAWFUL)),
    st.sampled_from(WINDOWS),
    st.sampled_from([0.0, 0.123]),
)
def test_windows_from_a_known_phase(recording, who, how, phase):
    agree(World((recording,), 1.0, who, phase=phase, **how))


@settings(QUIET, max_examples=15)
@given(recordings(most=2), st.sampled_from((*CERTAIN, *NOISY, *LAWFUL[:2])), st.sampled_from(WINDOWS))
def test_windows_with_a_random_phase(recording, who, how):
    lawful = isinstance(who, dict) and "law" in who
    agree(World((recording,), 1.0, who, **how), 1e-4 if lawful else 1e-9)


@settings(QUIET, max_examples=25)
@given(
    st.floats(0.2, 6.0),
    st.floats(0.15, 3.0),
    st.sampled_from((*CERTAIN, *NOISY, *LAWFUL)),
    st.floats(0, 1),
)
def test_one_event_far_from_the_ends_is_the_theory(d, width, who, offset):
    start = 2.5 * width + offset
    world = World(((((start, start + d),), start + d + 3.1 * width),), width, who)
    found, wanted = by_evaluate(world), by_theory(world)
    assert wanted is not None
    if wanted["recall"] < 1e-9:
        wanted.pop("precision", None)  # of nothing
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True), name


@settings(QUIET, max_examples=25)
@given(st.floats(0.2, 4.0), st.sampled_from(CERTAIN), st.sampled_from(WINDOWS[:2] + WINDOWS[3:]), st.floats(0, 1))
def test_windows_on_one_event_far_from_the_ends_are_the_theory(d, who, how, offset):
    start = 2.5 + offset
    world = World(((((start, start + d),), start + d + 3.1),), 1.0, who, **how)
    found, wanted = by_evaluate(world), by_theory(world)
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("who", [0.3, ("seconds", 0.25), NOISY[0], LAWFUL[1], LAWFUL[3]])
@pytest.mark.parametrize("how", [{"phase": 0.0}, {"phase": "random"}, {"phase": 0.0, "hop": 0.4, "votes": 2}])
def test_simulation_is_the_mean_of_evaluations(who, how):
    d, length, width = 1.1, 9.0, 1.2
    n = 600
    onset = (np.arange(n) + 0.5) / n * (length - d)
    every = World(tuple(([(a, a + d)], length) for a in onset), width, who, **how)
    wanted = by_evaluate(every)
    found = wk.simulate(d, n_events=1, recording_length=length, n_recordings=1500, rng=3, **every.asked)
    for name in WORDS:
        error = getattr(found, f"{name}_se")
        assert abs(getattr(found, name) - wanted[name]) <= 5 * error + 2e-4, name
    assert found.n_queries / 1500 == pytest.approx(wanted["n_queries"] / n, rel=1e-9)


def test_windows_that_notice_events_in_another_order_than_these_come():
    rule = ("either", ("margin", 1.0), ("seconds", 0.5))  # the second event is noticed before the first
    agree(World((([(3.0, 3.1), (3.2, 3.8)], 10.0),), 3.0, rule))


def test_the_contradictions_that_were():
    """Numbers that doors disagreed about, from the definitions."""
    clip = World(tuple(([(1.0 + 0.02 * i, 3.0 + 0.02 * i)], 10.0) for i in range(300)), 10.0, 0.9, phase=0.0)
    one = by_evaluate(clip)
    assert (one["n_queries"], one["event_recall"], one["wrong_time"]) == (300, 1.0, pytest.approx(8.0))
    spread = by_evaluate(replace(clip, phase="random"))  # another grid: its own recall and its own queries
    assert spread["n_queries"] == pytest.approx(600)
    assert spread["event_recall"] < 1
    lapse = people(criterion=0.1, lapse=0.3)
    world = World((([(10.0, 11.0)], 40.0),), 0.2, lapse)
    assert (
        by_evaluate(world)["event_recall"] == pytest.approx(by_theory(world)["event_recall"]) == pytest.approx(0.99757)
    )
    panel = people(law=("beta", 1, 9), lapse=0.4, votes=(2, 5))
    world = World((([(50.0, 55.0)], 100.0),), 0.5, panel)
    assert by_evaluate(world)["event_recall"] == pytest.approx(0.9194080961)
    assert by_theory(world)["event_recall"] == pytest.approx(0.9194080961)


def tables():
    """Two classes in two recordings, and what was said of their clips by two people."""
    rows = [("a", 1.0, 2.0, "dog"), ("a", 4.0, 7.0, "dog"), ("b", 3.0, 5.0, "cat"), ("b", 8.0, 9.0, "dog")]
    events = wk.Events.from_frame(
        pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"]), recording_length=10.0
    )
    said = clip_labels(events, segment_length=2.0, presence_criterion=0.5).to_frame()
    people = [
        said.assign(annotator="ana"),
        said.assign(annotator="ben", present=said["present"].shift(1, fill_value=0)),
    ]
    return events, wk.Answers.from_frame(pd.concat(people, ignore_index=True), recording_length={"a": 10.0, "b": 10.0})


SCORED = {"presence_criterion": 0.5, "segment_length": [1.0, 2.0]}
DRAWN = {"n_events": 2, "recording_length": 30.0, "n_recordings": 20, "presence_criterion": 0.5, "rng": 0}
SILENT = wk.Events.from_frame(
    pd.DataFrame({"recording": [], "onset": [], "offset": [], "label": []}),
    recording_length={"a": 9.0},
    recordings=["a"],
)
#: One of each kind of result of events and answers, with one, with several and with none of what they can hold.
RESULTS = {
    "evaluation": lambda events, answers: wk.evaluate(events, **SCORED),
    "evaluation of one": lambda events, answers: wk.evaluate(events, label="dog", **SCORED | {"segment_length": 1.0}),
    "evaluation of a rule": lambda events, answers: wk.evaluate(events, rule=PresenceRule.any(), segment_length=1.0),
    "evaluation of nothing": lambda events, answers: wk.evaluate([[]], recording_length=9.0, **SCORED),
    "simulation": lambda events, answers: wk.simulate(1.0, segment_length=[1.0, 2.0], **DRAWN),
    "simulation of one": lambda events, answers: wk.simulate(1.0, segment_length=1.0, **DRAWN),
    "simulation of nothing": lambda events, answers: wk.simulate(
        1.0, segment_length=[1.0, 2.0], **DRAWN | {"n_events": 0}
    ),
    "plan": lambda events, answers: wk.plan(1.0, presence_criterion=0.5, recording_length=60, n_events=3),
    "plan of a pilot": lambda events, answers: wk.plan(events),
    "audit": lambda events, answers: wk.audit(strong=events, weak=answers, rng=0),
    "audit of events": lambda events, answers: wk.audit(strong=events),
    "audit of people": lambda events, answers: wk.audit(answers=answers, rng=0),
    "inference": lambda events, answers: wk.infer(
        answers, annotator=Annotator(presence_criterion=0.5, guess_rate=0.05, lapse_rate=0.1), event_length=1.5
    ),
    "queries": lambda events, answers: wk.queries({"a": 10.0}, segment_length=2.0),
    "queries of nothing": lambda events, answers: wk.queries({"a": 10.0}, method="oracle", events=SILENT),
}


@cache
def result_of(kind):
    """Made once: nothing that is done with a result changes it."""
    return RESULTS[kind](*tables())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", RESULTS)
def test_every_result_offers_the_same(kind, tmp_path):
    result = result_of(kind)
    assert isinstance(result, Result)
    assert inspect.signature(type(result).report) == inspect.signature(Result.report)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert isinstance(result.to_frame(), pd.DataFrame)
    assert result.plot().figure is not None
    first = escape(result.answer.split(". ")[0])
    page = result.report(tmp_path / "page.html", command="weakly x < y").read_text()
    assert (page.count("<h1>"), page.count("<title>"), page.count("weakly x &lt; y")) == (1, 1, 1)
    assert first in page
    if kind.startswith("simulation"):  # one function writes them all
        assert "weakly x" not in result.report(tmp_path / "plain.html").read_text()
    shown = result._repr_html_()
    assert first in shown
    assert "<html" not in shown
    assert "<style" not in shown
    assert "<table>" in shown


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", RESULTS)
def test_every_result_leaves_in_the_same_ways(kind, capsys, tmp_path, monkeypatch):
    """Frozen, short in a console, with findings of one type; and one deliver prints and writes it."""
    from weakly.base.results import Finding
    from weakly.cli.common import Outlet, deliver

    result = result_of(kind)
    assert repr(result).startswith(f"<{type(result).__name__}: {result.answer[:20]}")
    assert len(repr(result)) <= 200
    assert isinstance(result.settings, dict)
    assert all(type(each) is Finding and 0 <= each.weight <= 1 and each.text for each in result.findings)
    with pytest.raises(AttributeError):
        result.settings = {}
    with pytest.raises(AttributeError):
        _ = result.no_such_word
    assert not hasattr(type(result), "__getattr__")
    deliver(result, Outlet(json=True), name="result")
    assert json.loads(capsys.readouterr().out) == result.to_dict()
    monkeypatch.setattr("sys.argv", ["weakly", "x"])
    deliver(result, Outlet(out=tmp_path / "out", report=tmp_path / "page.html"), name="result")
    assert result.sentences()[0].split("\n")[0] in capsys.readouterr().out
    assert "<code>weakly x</code>" in (tmp_path / "page.html").read_text()
    wanted = {"result.json", *(f"{name}.csv" for name in result.tables())}
    wanted |= {f"{name}{end}" for name in result.figures() for end in (".png", ".svg")}
    assert {path.name for path in (tmp_path / "out").iterdir()} == wanted


def test_a_share_reads_the_same_at_every_door():
    """What is not all is nowhere 100 %, what is not nothing nowhere 0 %: in sentences, tables and on the page."""
    from weakly.apps.label import AnnotatorProfile

    assert [percent(value) for value in (0.996, 0.9996, 0.0004, 0.004)] == ["99.6 %", "99.96 %", "0.04 %", "0.4 %"]
    for near in 10.0 ** -np.arange(2.2, 8.0, 0.37):
        for said in (percent(near), percent(1 - near), format_value("recall", near), format_value("recall", 1 - near)):
            assert float(said.removesuffix(" %")) not in (0, 1, 100)
    frame = pd.DataFrame({"event_recall": [1.0, 1.0, 0.9996]})
    assert "99.96\xa0%" in Report("x").table(frame).html()
    measured = dict.fromkeys((f for f in AnnotatorProfile.__dataclass_fields__ if "_" in f), 0.9996) | {"n_items": 9}
    assert "100 %" not in str(AnnotatorProfile(annotator="a", label="x", spread=0.1, **measured))


def test_no_other_code_turns_shares_into_words():
    """One owner: nobody else formats a percentage, in Python or on the page."""
    import re
    from pathlib import Path

    private = re.compile(r":\.?\d*%\}|100 \* [^\n]{1,60}\} ?%|%\{[xy]:[^}]*%\}|toFixed\(\d\)\} ?%")
    files = [path for end in ("py", "js") for path in Path(wk.__file__).parent.rglob(f"*.{end}")]
    told = [f"{path.name}: {line}" for path in files for line in path.read_text().splitlines() if private.search(line)]
    # Places on the screen are percentages of CSS, no words.
    assert [line for line in told if ".style." not in line] == []


@pytest.fixture(scope="module")
def page():
    from starlette.testclient import TestClient

    from weakly.apps.web import create_app

    with TestClient(create_app(names=["testserver"], warm=False)) as client:
        yield client


def test_every_download_of_the_page_is_the_report_of_the_result(page):
    """The same words in the answer that the page shows and in the file that it gives."""
    events, answers = (page.post(f"/api/example?kind={kind}").json()["key"] for kind in ("events", "answers"))
    asked = {
        "plan": {"pilot": events, "presence_criterion": 0.5},
        "evaluate": {"file": events, "segment_length": [1, 3], "presence_criterion": 0.5},
        "simulate": {"event_length": "1", "segment_length": [1, 2], "n_recordings": 50},
        "audit": {"strong": events, "weak": answers},
    }
    for name, question in asked.items():
        shown, file = (page.post(f"/api/{path}{name}", json=question) for path in ("", "report/"))
        assert (shown.status_code, file.status_code) == (200, 200), file.text
        found = shown.json()
        words = found["answer"] if "answer" in found else found["findings"][0]["text"]
        assert escape(words.split(". ")[0]) in file.text
        assert file.headers["content-disposition"] == f'attachment; filename="{name}.html"'


@pytest.mark.filterwarnings("ignore:events of")
def test_page_and_command_assume_the_same_criterion_of_the_same_file(page, capsys):
    """Nobody says what an annotator notices: the answers of page, command and function are one."""
    example = page.post("/api/example?kind=events").json()["key"]
    asked = {
        "plan": ({"pilot": example}, []),
        "evaluate": ({"file": example, "segment_length": [1, 3]}, ["--segment-length", "1,3"]),
    }
    for name, (question, lengths) in asked.items():
        with pytest.raises(SystemExit) as end:
            main([name, str(PILOT), "--json", *lengths])
        assert end.value.code == 0
        shown, printed = page.post(f"/api/{name}", json=question).json(), json.loads(capsys.readouterr().out)
        assert shown["answer"] == printed["answer"]
        assert shown["rows"] == printed["rows"]
    assert "Assumed: half of an event, or a second of it, is noticed." in shown["answer"]


@given(st.integers(1, 500), st.integers(1, 5000))
def test_a_whole_number_of_segments_is_that_number_however_it_rounds(k, thousandths):
    width, length = thousandths / 1000, k * thousandths / 1000
    assert len(window_starts(length, segment_length=width)) == k
    assert window_counts(length, segment_length=width)[0] == k


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_plan_and_infer_learn_one_law_of_lengths_from_cut_events(seed):
    """Recordings cut events at both ends; what plan and infer make of the same annotations is the same law, whether the
    annotations say how long recordings are or the caller does."""
    rng, length = np.random.default_rng(seed), 12.0
    rows = []
    for name in "abcdefgh":
        at = -float(rng.exponential(2.0))
        while (at := at + float(rng.exponential(3.0))) < length:
            end = at + float(rng.lognormal(0.5, 0.8))
            if end > 0:
                rows.append((name, max(at, 0.0), min(end, length), "owl"))
            at = end
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    answers = pd.DataFrame({"recording": list("abcdefgh") * 2, "onset": [0.0] * 8 + [6.0] * 8, "label": "owl"})
    answers = answers.assign(offset=answers["onset"] + 6.0, present=[1.0, 0.0] * 8)
    told, untold = wk.Events.from_frame(frame, recording_length=length), wk.Events.from_frame(frame)
    laws = []
    for events in (told, untold):
        laws.append(Pilot.of(events, None, length).lengths(None))
        given = wk.infer(answers, event_length=events, presence_criterion=0.5, recording_length=length, draws=2, rng=0)
        laws.append(given.parts["owl"].renewal.lengths)
    assert laws[0].mean > frame["offset"].sub(frame["onset"]).mean()  # what was cut is made good
    for law in laws[1:]:
        np.testing.assert_array_equal(law.values, laws[0].values)
        np.testing.assert_array_equal(law.weights, laws[0].weights)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_information_and_infer_say_the_same_of_the_same_answers(seed):
    """Both are told the law of lengths, the rate and who answers; the one asks, the other is given its answers. What
    the method learns beside moves it a little, and so does that it holds any length and any criterion of an event to be
    possible; without these the two engines are held together in tests/posterior/test_timelines.py."""
    rng, length = np.random.default_rng(seed), 20.0
    starts = np.array([2.0, 9.0, 18.6]) + rng.uniform(-1.0, 1.0, 3)
    truth = np.minimum(np.column_stack((starts, starts + rng.lognormal(0.2, 0.3, 3))), length)  # the end may cut one
    who = Annotator(presence_criterion=0.4, guess_rate=0.03, lapse_rate=0.06)
    told = {"event_length": "lognorm:s=0.3,scale=1.2", "event_rate": 0.12}
    method = Information(presence_criterion=0.4, guess_rate=0.03, lapse_rate=0.06, **told)
    one = Recording("a", length, events=truth)
    asked = run(method, one, SimulatedAnnotator(who, rng=seed), most_queries=14).asked
    frame = pd.DataFrame({"recording": "a", "onset": asked.segments[:, 0], "offset": asked.segments[:, 1]})
    law = wk.Lengths.parse(told["event_length"])
    found = wk.infer(frame.assign(label="owl", present=asked.present), event_length=law, event_rate=0.12, annotator=who,
                     recording_length=length, step=0.1, rng=0)  # fmt: skip
    known = method.posterior(one, asked)
    mine, theirs = known.active.reshape(200, -1).mean(axis=1), found.active["active"].to_numpy()
    assert np.abs(mine - theirs).mean() < 0.07
    assert np.corrcoef(mine, theirs)[0, 1] > 0.97
    assert known.n_events == pytest.approx(float(found.overall["n_events"].iloc[0]), abs=0.4)
    labels = method.labels(one, asked)
    painted = labels.segments[labels.present == 1]
    inferred = found.events().to_frame()[["onset", "offset"]].to_numpy()
    assert np.diff(painted).sum() == pytest.approx(np.diff(inferred).sum(), abs=0.7)


@pytest.mark.parametrize(
    ("who", "apart"),
    [
        (wk.Annotator.beta(8, 10, guess_rate=0.04, lapse_rate=0.06), 0.2),
        (wk.Annotator(presence_criterion=0.37), 0.5),  # the audit settles for one hard criterion, the card does not
    ],
)
def test_the_criterion_of_an_audit_is_that_of_the_card(who, apart):
    """The same answers, as a labelled data set and as an experiment: one law, one prior, one interval."""
    from weakly.apps.label.measurement import AnnotatorProfile, posterior_of

    for seed in range(4):
        rng = np.random.default_rng(seed)
        h = rng.integers(0, 51, 120) / 50
        present = (rng.random(120) < who.probability(h)).astype(float)
        names = [f"r{k}" for k in range(120)]  # the event lasts from 10 to 20 s, and each segment holds a share of it
        strong = pd.DataFrame({"recording": names, "onset": 10.0, "offset": 20.0, "label": "owl"})
        weak = pd.DataFrame(
            {"recording": names, "onset": 0.0, "offset": 10 + 10 * h, "label": "owl", "present": present}
        )
        events = wk.Events.from_frame(strong, recording_length=30.0)
        audit = wk.audit(strong=events, answers=wk.Answers.from_frame(weak)).estimates["owl", ""]
        card = AnnotatorProfile.of(posterior_of(list(zip(h, present))), annotator="ana", label="owl")
        width = card.presence_criterion_high - card.presence_criterion_low
        low, high = audit.presence_criterion_ci
        assert audit.n == card.n_items == 120
        assert audit.presence_criterion == pytest.approx(card.presence_criterion, abs=0.12 * width)
        assert (low, high) == pytest.approx(
            (card.presence_criterion_low, card.presence_criterion_high), abs=apart * width
        )
        grid = np.linspace(0.02, 1, 50)
        assert audit.annotator.probability(grid) == pytest.approx(card.as_annotator().probability(grid), abs=0.12)


CARD = dict.fromkeys(("spread_low", "spread_high", "guess_rate_low", "guess_rate_high"), 0.1)
CARD |= {"annotator": "a", "label": "x", "n_items": 9, "presence_criterion": 0.4, "spread": 0.2, "guess_rate": 0.05}
CARD |= {"presence_criterion_low": 0.3, "presence_criterion_high": 0.5, "lapse_rate": 0.1, "lapse_rate_low": 0.1}
CARD |= {"lapse_rate_high": 0.1, "seconds_per_query": 2.0, "version": 2}
CARD_PEOPLE = Annotator.beta(2.0, 3.0, guess_rate=0.05, lapse_rate=0.1)  # mean 0.4, spread 0.2
#: Who answers -> every way to write it; the first is the plain one. Text goes through the command line and the page.
SPELLINGS = {
    "criterion": (
        *({"presence_criterion": 0.4}, {"presence_criterion": "0.4"}, {"presence_criterion": ["0.4"]}),
        *({"rule": "0.4"}, {"rule": "fraction:0.4"}, {"rule": [PresenceRule.fraction(0.4)]}, {"rule": 0.4}),
        *({"annotator": Annotator(presence_criterion=0.4)}, {"annotator": "0.4"}, {"annotator": [0.4]}),
    ),
    "rule": (
        *({"rule": PresenceRule.seconds(0.5)}, {"rule": "seconds:0.5"}, {"rule": ["seconds:0.5"]}),
        *({"presence_criterion": "seconds:0.5"}, {"annotator": [PresenceRule.seconds(0.5)]}),
    ),
    "either": (
        {"rule": PresenceRule.either(PresenceRule.seconds(0.5), PresenceRule.fraction(0.5))},
        *({"rule": "seconds:0.5|fraction:0.5"}, {"presence_criterion": ["seconds:0.5|fraction:0.5"]}),
    ),
    "law": (
        *({"annotator": Annotator.beta(2, 3)}, {"presence_criterion": stats.beta(2, 3)}, {"rule": ["beta:2,3"]}),
        *({"presence_criterion": "beta:2,3"}, {"presence_criterion": [stats.beta(2, 3)]}, {"annotator": "beta:2,3"}),
    ),
    "card": ({"annotator": CARD_PEOPLE}, {"annotator": [CARD]}, {"annotator": CARD}),
}
SCENE = World((([(2.0, 3.1), (5.0, 5.4)], 9.0), ([(4.0, 6.0)], 9.0)), 1.3, 0.5)


def carded(how):
    """The arguments, with cards as what reads them."""
    from weakly.apps.label import AnnotatorProfile

    ((name, value),) = how.items()
    cards = {True: [AnnotatorProfile(**CARD)], False: AnnotatorProfile(**CARD)}
    return {name: cards[isinstance(value, list)]} if value in (CARD, [CARD]) else how


def several_doors(how):
    """One number of every function of Python that takes who answers."""
    events, _ = annotations(SCENE)
    answers = pd.DataFrame({"recording": "a", "onset": [0.0, 3, 6, 9], "offset": [3.0, 6, 9, 12], "label": "owl"})
    answers = answers.assign(present=[0, 1, 0, 0])
    wanted = {
        "evaluate": wk.evaluate(events, segment_length=1.3, phase=0.0, **how).wrong_time,
        "simulate": wk.simulate(
            1.0, n_events=2, recording_length=20, segment_length=1.3, n_recordings=20, rng=1, **how
        ).wrong_time,
        "plan": wk.plan(1.0, recording_length=20.0, methods="fixed", **how).wrong_time,
        "infer": wk.infer(answers, event_length=1.0, event_rate=0.1, rng=0, draws=2, **how).overall["event_seconds"][0],
        "event_recall": wk.event_recall(event_length=1.0, segment_length=1.3, **how),
        "wrong_time": theory.wrong_time(event_length=wk.Lengths.sample([0.5, 2.0]), segment_length=1.3, **how),
    }
    return wanted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SPELLINGS)
def test_who_answers_may_be_written_in_any_way_at_every_door(kind):
    first, *others = (several_doors(carded(how)) for how in SPELLINGS[kind])
    for how, found in zip(SPELLINGS[kind][1:], others):
        for door, value in first.items():
            assert found[door] == pytest.approx(value, rel=1e-9, abs=1e-9), f"{door}: {how}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SPELLINGS)
def test_the_command_line_and_the_page_read_the_same_text(kind, page, tmp_path, capsys):
    from weakly.apps.label import AnnotatorProfile
    from weakly.cli import main

    wanted = several_doors(carded(SPELLINGS[kind][0]))
    events, _ = annotations(SCENE)
    wk.write(events, tmp_path / "events.csv")
    answers = pd.DataFrame({"recording": "a", "onset": [0.0, 3, 6, 9], "offset": [3.0, 6, 9, 12], "label": "owl"})
    answers.assign(present=[0, 1, 0, 0]).to_csv(tmp_path / "answers.csv", index=False)
    (tmp_path / "card.json").write_text(json.dumps(AnnotatorProfile(**CARD).to_dict()))
    texts = [how for how in SPELLINGS[kind] if isinstance(next(iter(how.values())), str) and "annotator" not in how]
    options = [(f"--{name.replace('_', '-')}", text) for how in texts for name, text in how.items()]
    options += [("--annotator", str(tmp_path / "card.json"))] if kind == "card" else []
    assert options
    for option in options:
        calls = {
            "evaluate": [str(tmp_path / "events.csv"), "--segment-length", "1.3", "--phase", "0"],
            "infer": [str(tmp_path / "answers.csv"), "--event-length", "1", "--event-rate", "0.1"],
            "plan": ["--event-length", "1", "--recording-length", "20", "--methods", "fixed"],
            "simulate": ["--event-length", "1", "--events", "2", "--recording-length", "20", "--segment-length", "1.3",
                         "--recordings", "20", "--seed", "1"],
        }  # fmt: skip
        for door, arguments in calls.items():
            if door == "simulate" and kind == "card":  # it takes the rates by themselves
                continue
            capsys.readouterr()
            with pytest.raises(SystemExit, match="0"):
                main([door, *arguments, *option, "--json"])
            out = json.loads(capsys.readouterr().out)
            name, table = ("event_seconds", "overall") if door == "infer" else ("wrong_time", "rows")
            found = (out["recommended"] if door == "plan" else out[table][-1])[name]
            assert found == pytest.approx(wanted[door], rel=1e-9, abs=1e-9), (door, option)
    with (tmp_path / "events.csv").open("rb") as file:
        key = page.post("/api/upload", files={"file": file}).json()["key"]
    drawn = {"event_length": "1", "n_events": 2, "recording_length": 20.0, "n_recordings": 20, "seed": 1}
    for how in texts:
        asked = {"event_length": "1", "recording_length": 20.0, **how}
        assert page.post("/api/plan", json=asked).status_code == 200, how
        asked = {"evaluate": {"file": key, "phase": 0.0}, "simulate": drawn}
        for door, question in asked.items():
            found = page.post(f"/api/{door}", json={**question, "segment_length": 1.3, **how}).json()
            assert found["rows"][-1]["wrong_time"] == pytest.approx(wanted[door], rel=1e-9, abs=1e-9), (door, how)


@pytest.mark.filterwarnings("ignore")
def test_lists_are_columns_or_refused():
    events, _ = annotations(SCENE)
    mixed = ["seconds:0.5", 0.4, stats.beta(2, 3)]
    found = wk.evaluate(events, segment_length=1.3, phase=0.0, rule=mixed).to_frame()["wrong_time"]
    alone = [wk.evaluate(events, segment_length=1.3, phase=0.0, rule=each).wrong_time for each in mixed]
    assert found.tolist() == pytest.approx(alone, rel=1e-9)
    text = wk.evaluate(events, segment_length=1.3, phase=0.0, rule="seconds:0.5,0.4,beta:2,3")
    assert text.to_frame()["wrong_time"].tolist() == pytest.approx(alone, rel=1e-9)
    with pytest.raises(wk.InvalidInput, match="one rule, law or annotator here"):
        wk.event_recall(event_length=1.0, segment_length=1.3, rule=mixed)
    windows = {"event_length": 1.0, "segment_length": 1.0, "hop": 0.5, "votes": 1}
    assert theory.overlapping_wrong_time(**windows, rule="seconds:0.5") == pytest.approx(
        theory.overlapping_wrong_time(**windows, presence_criterion=0.5), rel=1e-9
    )
    with pytest.raises(wk.InvalidInput, match="one criterion or rule without noise"):
        theory.overlapping_wrong_time(**windows, rule="beta:2,3")
    with pytest.raises(wk.InvalidInput, match="one rule or criterion without noise"):
        clip_labels(events, segment_length=1.3, rule=mixed)
    answers = pd.DataFrame({"recording": ["a"], "onset": 0.0, "offset": 3.0, "label": "owl", "present": 1})
    with pytest.raises(wk.InvalidInput, match="the same guesses and lapses"):
        wk.infer(answers, event_length=1.0, annotator=[0.4, Annotator(guess_rate=0.1)])


@pytest.mark.parametrize("text", ["1.5", "0.5,1,2", "0.5-2", "2±0.4", "gamma:2,scale=0.5"])
def test_event_lengths_are_read_from_text_at_every_door(text):
    """What people write of lengths on the command line is read by every function that takes a length."""
    law = wk.Lengths.parse(text)
    asked = {"segment_length": 1.3, "presence_criterion": 0.5}
    assert theory.wrong_time(event_length=text, **asked) == theory.wrong_time(event_length=law, **asked)
    best = [wk.optimal_segment_length(event_length=each, presence_criterion=0.5) for each in (text, law)]
    assert best[0] == best[1]
    drawn = [
        wk.simulate(each, n_events=1, recording_length=20, n_recordings=20, rng=1, **asked).to_frame()
        for each in (text, law)
    ]
    assert drawn[0].equals(drawn[1])
    plans = [wk.plan(each, presence_criterion=0.5, recording_length=20, methods=["fixed"]).rows for each in (text, law)]
    assert [row.wrong_time for row in plans[0]] == [row.wrong_time for row in plans[1]]
