"""What plans and evaluations say of a posterior, against `infer` on answers that are made here, in other recordings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from test_infer import LAW, answers, recordings
from typer.testing import CliRunner

import weakly as wk
from weakly import InvalidInput
from weakly.cli import app
from weakly.model.intervals import EventArrays
from weakly.posterior.class_answers import _painted, expected_posterior_error, halving, windows

LENGTH = 40.0


def reached(found, made):
    """Wrong seconds of the likelier label and expected event seconds, per recording: means and standard errors."""
    rows = []
    active = dict(list(found.active.groupby("recording", sort=False)))
    for r, events in enumerate(made):
        frame = active[f"r{r}"]
        a, b, p = (frame[name].to_numpy() for name in ("onset", "offset", "active"))
        true = sum(np.clip(np.minimum(b, off) - np.maximum(a, on), 0, None) for on, off in events) + 0 * a
        rows.append((np.where(p > 0.5, b - a - true, true).sum(), (p * (b - a)).sum(), true.sum()))
    table = np.array(rows)
    return table.mean(axis=0), table.std(axis=0, ddof=1) / len(table) ** 0.5


@pytest.mark.parametrize(("width", "noise"), [(0.5, 0.0), (2.0, 0.05)])
def test_a_row_is_what_infer_reaches(width, noise):
    """An evaluation's row on one half of a world, and `infer` on answers about the other half: within 4 errors."""
    rng = np.random.default_rng(12)
    made = recordings(rng, rate=0.12, length=LENGTH, n=120)
    who = wk.Annotator(presence_criterion=0.5, guess_rate=noise, lapse_rate=noise)
    events = EventArrays.of(made[:60], LENGTH)
    row = wk.evaluate(events, segment_length=width, annotator=who, phase=0.0, posterior=True).to_frame().iloc[0]
    said = answers(rng, made[60:], widths=(width,), length=LENGTH, noise=noise)
    law = np.concatenate([np.ptp(each, axis=1) for each in made[:60]])
    mean, error = reached(wk.infer(said, event_length=law, annotator=who, rng=0, draws=5), made[60:])
    both = np.hypot(error[:2], [row["posterior_wrong_time_se"], row["posterior_seconds_se"]])
    assert abs(row["posterior_wrong_time"] - mean[0]) < 4 * both[0]
    assert abs(row["posterior_seconds"] - mean[1]) < 4 * both[1]
    assert both[0] < 0.2 * mean[0]  # the comparison tells something
    assert row["painted_wrong_time"] == pytest.approx(row["wrong_time"], rel=0.02 if noise == 0 else 0.2)
    assert row["posterior_wrong_time"] < row["painted_wrong_time"]
    assert row["posterior_seconds"] == pytest.approx(row["event_seconds"], rel=0.2)
    assert row["event_seconds"] == pytest.approx(sum(np.ptp(each, axis=1).sum() for each in made[:60]) / 60)


def test_plan_rows():
    """The recommended way of a plan, against `infer` on recordings and answers that are drawn here."""
    asked = {"presence_criterion": 0.5, "recording_length": LENGTH, "n_events": 4, "methods": "fixed"}
    made = wk.plan(wk.Lengths.law(LAW), **asked, posterior=True)
    assert wk.plan(wk.Lengths.law(LAW), **asked).posterior == ()
    row = made.posterior[0]
    assert row["name"] == made.recommended.name
    assert row["wrong_time"] == made.recommended.wrong_time
    rng = np.random.default_rng(3)
    drawn = []
    for _ in range(40):
        d = LAW.rvs(4, random_state=rng)
        start = rng.uniform(0, LENGTH - d)
        drawn.append(np.array(EventArrays.of([np.column_stack((start, start + d))], LENGTH).bounds))
    said = answers(rng, drawn, widths=(made.segment_length,), length=LENGTH)
    law = np.concatenate([np.ptp(each, axis=1) for each in drawn])
    who = wk.Annotator(guess_rate=0.001, lapse_rate=0.001)
    mean, error = reached(wk.infer(said, event_length=law, annotator=who, rng=0, draws=5), drawn)
    assert abs(row["posterior_wrong_time"] - mean[0]) < 4 * np.hypot(error[0], row["posterior_wrong_time_se"])
    assert abs(row["posterior_seconds"] - mean[1]) < 4 * np.hypot(error[1], row["posterior_seconds_se"])
    assert made.to_dict()["posterior"][0]["name"] == row["name"]
    assert row["posterior_wrong_time"] < row["painted_wrong_time"]


def test_halving_asks_children_of_what_is_present_and_no_others():
    events = np.array([(5.2, 5.8), (17.0, 18.0)])

    def said(spans):
        return ((spans[:, :1] < events[:, 1]) & (spans[:, 1:] > events[:, 0])).any(axis=1)

    spans, present = halving(segment_length=2.5, start_length=10.0)(18.0, said, np.random.default_rng(0))
    wanted = [(0, 10), (10, 18), (0, 5), (5, 10), (10, 15), (15, 18), (5, 7.5), (7.5, 10), (15, 17.5), (17.5, 18)]
    assert [tuple(span) for span in spans] == wanted
    assert present.tolist() == [True, True, False, True, False, True, True, False, True, True]
    edges = np.arange(0, 18.5, 0.5)
    painted = edges[:-1][_painted((edges[:-1] + edges[1:]) / 2, spans, present.astype(float))]
    assert painted.tolist() == [5.0, 5.5, 6.0, 6.5, 7.0, *np.arange(15, 18, 0.5)]


def test_closer_looks_help_the_posterior_more_than_the_paint():
    """Halving down to the same leaf leaves the painted label as it is; the posterior learns from the longer ones."""
    made = EventArrays.of(recordings(np.random.default_rng(8), rate=0.1, length=LENGTH, n=40), LENGTH)
    rule = wk.PresenceRule.fraction(0.5)
    plain = expected_posterior_error(made, windows(segment_length=2.5), who=rule, shortest=2.5, rng=0)
    halved = expected_posterior_error(
        made, halving(segment_length=2.5, start_length=10.0), who=rule, shortest=2.5, rng=0
    )
    assert halved["painted_wrong_time"] == pytest.approx(plain["painted_wrong_time"], rel=0.1)
    assert halved["posterior_wrong_time"] < plain["posterior_wrong_time"] + plain["posterior_wrong_time_se"]
    assert plain["n_tried"] == 40
    none = expected_posterior_error(EventArrays.of([[]], 9.0), windows(segment_length=3.0), who=rule, shortest=3.0)
    assert np.isnan(none["event_seconds"])


@pytest.mark.filterwarnings("ignore::weakly.AssumptionWarning")
def test_the_doors(tmp_path):
    rng = np.random.default_rng(1)
    made = recordings(rng, rate=0.1, length=LENGTH, n=12)
    rows = [(f"r{r}", a, b, "owl") for r, events in enumerate(made) for a, b in events]
    frame = pd.DataFrame(rows, columns=["filename", "onset", "offset", "event_label"])
    path = tmp_path / "owl.tsv"
    frame.to_csv(path, sep="\t", index=False)
    how = ["--recording-length", str(LENGTH), "--presence-criterion", "0.5", "--posterior"]
    run = CliRunner().invoke(app, ["evaluate", str(path), "--segment-length", "2", *how])
    assert run.exit_code == 0, run.output
    assert "posterior wrong time" in run.stdout
    wrong = CliRunner().invoke(app, ["evaluate", str(path), *how])
    assert isinstance(wrong.exception, InvalidInput)
    page = tmp_path / "plan.html"
    run = CliRunner().invoke(app, ["plan", str(path), *how, "--methods", "fixed", "--report", str(page)])
    assert run.exit_code == 0, run.output
    assert "What inference makes of the same answers" in run.stdout
    assert "What inference makes of the same answers" in page.read_text()
    with pytest.raises(InvalidInput, match="edge truncate or inside"):
        wk.evaluate(EventArrays.of(made, LENGTH), segment_length=2.0, presence_criterion=0.5, edge="infinite",
                    posterior=True)  # fmt: skip
