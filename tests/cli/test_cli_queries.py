"""`weakly queries` and `weakly answers` at the command line."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from weakly.io.soundscape import soundscape
from weakly.methods.base import SimulatedAnnotator


def weakly(capsys, *arguments):
    """The exit code and what was printed."""
    from weakly.cli import main

    with pytest.raises(SystemExit) as done:
        main([str(argument) for argument in arguments])
    out = capsys.readouterr()
    return done.value.code, out.out, out.err


@pytest.fixture
def sounds(tmp_path):
    return [soundscape(20, n_events=3, rng=k).write(tmp_path / f"{k}.wav") for k in range(2)]


def test_the_plan_is_printed_and_the_files_are_written(capsys, tmp_path, sounds):
    out = tmp_path / "tasks"
    code, text, notes = weakly(capsys, "queries", *sounds, "--method", "change-point", "--queries-per-recording", 7,
                               "--to", "labelstudio", "--out", out)  # fmt: skip
    assert code == 0
    assert "14 queries in 2 recordings" in text
    assert "minutes of work" in text
    assert "wrote" in notes
    assert sorted(path.name for path in out.iterdir()) == [
        "campaign.db", "labeling_config.xml", "queries.csv", "tasks.json"
    ]  # fmt: skip


def test_quoted_patterns_are_spelled_out(capsys, tmp_path, sounds):
    code, text, _ = weakly(capsys, "queries", tmp_path / "*.wav", "--segment-length", 4)
    assert code == 0
    assert "10 queries in 2 recordings" in text
    code, text, _ = weakly(capsys, "queries", tmp_path / "[1].wav", "--segment-length", 20)
    assert code == 0
    assert "1 query in 1 recording," in text


def test_json_is_one_document(capsys, sounds):
    code, text, _ = weakly(capsys, "queries", sounds[0], "--segment-length", 4, "--json")
    assert code == 0
    data = json.loads(text)
    assert data["n_queries"] == 5
    assert {"query", "recording", "onset", "offset", "method", "round"} <= set(data["queries"][0])


def test_strong_labels_tell_the_criterion_too(capsys, tmp_path):
    scene = soundscape(120, n_events=30, event_length=(1.0, 2.0), rng=4)
    path = scene.write(tmp_path / "a.wav")
    known = pd.DataFrame(scene.events, columns=["onset", "offset"])
    known.assign(recording="a.wav", label="event").to_csv(tmp_path / "strong.csv", index=False)
    out = tmp_path / "tasks"
    weakly(capsys, "queries", path, "--segment-length", 1, "--out", out)
    state = pd.read_csv(out / "queries.csv")
    said = SimulatedAnnotator(0.5)(scene.events, state[["onset", "offset"]].to_numpy())
    pd.DataFrame({"query": state["query"], "answer": np.where(said == 1, "yes", "no")}).to_csv(
        tmp_path / "e.csv", index=False
    )
    code, text, _ = weakly(capsys, "answers", tmp_path / "e.csv", "--queries", out / "queries.csv",
                           "--strong", tmp_path / "strong.csv", "--out", tmp_path / "labels", "--json")  # fmt: skip
    assert code == 0
    (row,) = json.loads(text)["presence_criterion"]
    assert row["presence_criterion"] == pytest.approx(0.5, abs=0.06)
    assert (tmp_path / "labels" / "strong.tsv").is_file()


def test_bisection_resumes(capsys, tmp_path, sounds):
    out = tmp_path / "tasks"
    weakly(capsys, "queries", sounds[0], "--method", "bisection", "--segment-length", 1, "--out", out)
    state = pd.read_csv(out / "queries.csv")
    pd.DataFrame({"query": state["query"], "answer": "yes"}).to_csv(tmp_path / "e.csv", index=False)
    code, text, _ = weakly(capsys, "answers", tmp_path / "e.csv", "--queries", out / "queries.csv")
    assert code == 0
    assert "more queries next" in text
    code, text, _ = weakly(capsys, "queries", "--resume", out)
    assert "round 2" in text
    more = pd.read_csv(out / "queries.csv")
    assert len(more) > len(state)
    assert more["round"].max() == 2
    before = (out / "queries.csv").read_bytes()
    weakly(capsys, "queries", "--resume", out)
    assert (out / "queries.csv").read_bytes() == before


def test_damaged_recordings_are_skipped_with_a_note(capsys, tmp_path, sounds):
    bad = tmp_path / "bad.wav"
    bad.write_bytes(b"RIFF....")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, text, notes = weakly(capsys, "queries", *sounds, bad, "--segment-length", 5, "--json")
    assert "weakly: note: skipped 1 of 3" in notes
    assert code == 0
    assert json.loads(text)["n_skipped"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["queries"], "give recordings"),
        (["queries", "nowhere.wav", "--segment-length", "1"], "none of the 1 recordings can be read"),
        (["queries", "nowhere*.wav", "--segment-length", "1"], "nowhere*.wav: no recording matches this pattern"),
        (["queries", "a.wav", "--segment-length", "1", "--repeats", "-1"], "'--repeats'"),
        (["answers", "nowhere.json", "--queries", "nowhere.csv"], "no such file"),
        (["queries", "--resume", "nowhere"], "no such file"),
        (["queries", "a.wav", "--resume", "nowhere"], "give --resume DIR alone"),
        (["queries", "a.wav", "--windows", "wide", "--segment-length", "1"], "--windows must be numbers"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, words, recwarn):
    code, text, notes = weakly(capsys, *arguments)
    assert code == 2
    assert text == ""
    assert words in notes.splitlines()[-1]


def test_help_ends_with_examples_that_exist():
    done = subprocess.run([sys.executable, "-m", "weakly", "queries", "--help"], capture_output=True, text=True)
    assert "weakly queries *.wav --method change-point" in " ".join(done.stdout.split())


def test_a_method_has_one_name_at_every_door(capsys, tmp_path, sounds):
    """Made by queries, labelled by label, gone on with by its folder; and every name makes the method of that name."""
    from weakly.methods import METHODS
    from weakly.studies.queries.campaign import Campaign
    from weakly.studies.queries.query_set import make_method

    names = [name for name, kind in METHODS.items() if kind.by_name]
    assert [make_method(name, {"segment_length": 2.0}, []).name for name in names] == names
    out, how = tmp_path / "tasks", ["--method", "windows", "--segment-length", 4, "--hop", 2]
    assert weakly(capsys, "queries", *sounds, *how, "--out", out)[0] == 0
    assert set(pd.read_csv(out / "queries.csv")["method"]) == {"windows"}
    for given in ([*sounds, *how, "--out", out], [out, "--method", "windows"]):
        code, _, said = weakly(capsys, "label", *given, "--export")
        assert code == 0, said
    assert Campaign.open(out).state.settings["method"] == "windows"
    code, _, said = weakly(capsys, "queries", *sounds, "--method", "overlapping", "--segment-length", 4)
    assert (code, "method must be" in said) == (2, True)
