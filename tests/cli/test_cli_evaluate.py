"""`weakly evaluate`: the numbers of Python, on the command line."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import weakly as wk
from weakly.cli import main


def run(capsys, *arguments):
    """Exit code, stdout and stderr of one command."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


def frame_of(seed, *, recordings=12, length=30.0, labels=("cat", "dog"), first=0):
    rng = np.random.default_rng(seed)
    rows = []
    for r in range(first, first + recordings):
        for label in labels:
            cuts = np.sort(rng.uniform(0.1, length - 0.1, 2 * rng.integers(0, 5))).reshape(-1, 2)
            rows += [(f"r{r}.wav", a, b, label, length) for a, b in cuts]
    return pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "recording_length"])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "events.csv"
    frame_of(1).to_csv(path, index=False)
    return path


@pytest.fixture(autouse=True)
def _notes_are_no_errors():
    """In a command a warning becomes a line on stderr."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("always", wk.AssumptionWarning)
        yield


def test_json_holds_the_numbers_of_python(capsys, table):
    code, out, err = run(
        capsys, "evaluate", table, "--segment-length", "1,3", "--presence-criterion", "0.1,0.5", "--json"
    )
    document = json.loads(out)
    events = wk.read(table)
    expected = wk.evaluate(events, segment_length=[1, 3], presence_criterion=[0.1, 0.5])
    assert code == 0
    assert len(document["rows"]) == 2 * 2 * 2
    for row, ours in zip(document["rows"], expected.to_frame().to_dict("records")):
        for name in ("label", "segment_length", "presence_criterion", "overlap_accuracy", "event_recall", "n_queries"):
            assert row[name] == ours[name]
    assert document["overall"][0]["label"] == "all"
    assert {row["label"] for row in document["best"]} == {"cat", "dog", "all"}
    assert {one["name"] for one in document["assumptions"]} == {"close", "offsets", "censored"}
    assert "closer together than a segment" in err


def test_one_class_is_evaluated_in_whole_recordings(capsys, table):
    whole = ("evaluate", table, "--segment-length", "2", "--presence-criterion", "0.5", "--json")
    every = json.loads(run(capsys, *whole)[1])["rows"]
    one = json.loads(run(capsys, *whole, "--label", "dog")[1])["rows"]
    assert one == [row for row in every if row["label"] == "dog"]


def test_a_fixed_phase_hops_and_rules(capsys, table):
    asked = ["--segment-length", "2", "--rule", "seconds:0.25|fraction:0.5", "--phase", "0.5", "--json"]
    code, out, _ = run(capsys, "evaluate", table, *asked)
    events = wk.read(table)
    rule = wk.PresenceRule.parse("seconds:0.25|fraction:0.5")
    expected = wk.evaluate(events, segment_length=2, rule=rule, phase=0.5).to_frame()
    assert code == 0
    assert [row["recall"] for row in json.loads(out)["rows"]] == expected["recall"].tolist()
    asked = ["--segment-length", "2", "--presence-criterion", "0.5", "--hop", "0.5", "--votes", "3", "--json"]
    _, out, _ = run(capsys, "evaluate", table, *asked)
    expected = wk.evaluate(events, segment_length=2, presence_criterion=0.5, hop=0.5, votes=3).to_frame()
    assert [row["recall"] for row in json.loads(out)["rows"]] == expected["recall"].tolist()


def test_the_best_segment_length_of_every_class(capsys, table):
    code, out, _ = run(capsys, "evaluate", table, "--presence-criterion", "0.3,0.7", "--best", "--json")
    best = json.loads(out)["best"]
    assert code == 0
    assert "rows" not in json.loads(out)
    events = wk.read(table)
    for row in best:
        if row["label"] == "all":
            continue
        lengths = json.loads(out)["settings"]["segment_length"]
        curve = wk.evaluate(
            events, segment_length=lengths, presence_criterion=row["presence_criterion"], label=row["label"]
        )
        assert row["overlap_accuracy"] == pytest.approx(curve.overlap_accuracy.max(), abs=1e-12)
    assert len(json.loads(out)["settings"]["segment_length"]) == 60


def test_rules_side_by_side_and_labels_on_disk(capsys, table, tmp_path):
    out = tmp_path / "labels"
    code, text, _ = run(
        capsys, "evaluate", table, "--segment-length", "3", "--rule", "birdnet", "--compare-rules", "--labels", out
    )
    assert code == 0
    assert "shorter:1 of koogu" in text
    assert "the rule decides whether" in text
    from weakly.studies.evaluate.clips import clip_labels

    ours = clip_labels(wk.read(table), segment_length=3.0, rule="birdnet").to_frame()
    read = wk.read_answers(out / "labels.csv").to_frame()
    assert len(read) == len(ours)
    assert read["present"].sum() == ours["present"].sum() > 0
    merged = ours.merge(read, on=["recording", "onset", "offset", "label"])
    assert (merged["present_x"] == merged["present_y"]).all()
    weak = wk.read_answers(out / "labels.tsv").to_frame()
    assert len(weak) == ours["present"].sum()


def test_reports_and_tables_are_written(capsys, table, tmp_path):
    page = tmp_path / "page.html"
    code, _, err = run(
        capsys, "evaluate", table, "--segment-length", "1,3", "--presence-criterion", "0.5", "--compare-rules",
        "--report", page, "--out", tmp_path / "out",
    )  # fmt: skip
    assert code == 0
    assert "wrote" in err
    assert "Best segment length of each class" in page.read_text()
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "evaluation.csv",
        "overall.csv",
        "best.csv",
        "vanished.csv",
        "evaluation.json",
    } <= names
    written = pd.read_csv(tmp_path / "out" / "evaluation.csv")
    assert len(written) == 4 * 7  # the criterion, and the rules of the tools


def test_labels_cannot_style_the_terminal_or_the_page(capsys, tmp_path):
    label = "<script>alert(1)</script>[bold red]\x1b[31m=1+1"
    frame = pd.DataFrame(
        {"recording": ["a"], "onset": [0.0], "offset": [1.5], "label": [label], "recording_length": [9.0]}
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    page = tmp_path / "page.html"
    code, out, err = run(
        capsys,
        "evaluate",
        tmp_path / "a.csv",
        "--segment-length",
        "3",
        "--rule",
        "any",
        "--compare-rules",
        "--report",
        page,
    )
    assert code == 0
    assert "[bold red]" in out
    assert "\x1b" not in out + err
    assert "<script>" not in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--segment-length", "1", "--labels", "x.csv"], "--labels needs --presence-criterion or --rule"),
        (["--segment-length", "1", "--presence-criterion", "0.5", "--rule", "any"], "got presence_criterion and rule"),
        (["--segment-length", "1", "--presence-criterion", "50"], "percentage"),
        (["--segment-length", "0", "--presence-criterion", "0.5"], "segment_length must be > 0"),
        (["--segment-length", "x", "--presence-criterion", "0.5"], "--segment-length must be numbers"),
        (["--segment-length", "1", "--rule", "birdnett"], "got 'birdnett'"),
        (["--segment-length", "1", "--rule", "any", "--label", "dgo"], "did you mean 'dog'"),
        (["--segment-length", "1", "--rule", "any", "--votes", "2"], "votes needs a hop"),
        (["--segment-length", "1,2", "--rule", "any", "--labels", "x.csv"], "--labels needs one --segment-length"),
        (["--segment-length", "1", "--rule", "any", "--columns", "onset"], "--columns must be like"),
        (["--segment-length", "1", "--rule", "any", "--objective", "accuracy"], "objective must be one of"),
        (["--segment-length", "1", "--rule", "any", "--workers", "0"], "--workers must be at least 1"),
        (["--rule", "any", "--resume", "sums"], "without --segment-length"),
        (
            ["--segment-length", "1", "--rule", "any", "--resume", "sums", "--compare-rules"],
            "--compare-rules needs all",
        ),
    ],
)
def test_bad_input_is_one_line(capsys, table, arguments, words):
    code, out, err = run(capsys, "evaluate", table, *arguments)
    assert code == 2
    assert out == ""
    assert words in err.splitlines()[-1]


def test_workers_do_not_change_the_numbers(capsys, table):
    asked = ["evaluate", table, "--segment-length", "0.5:5:12", "--presence-criterion", "0.2,0.8", "--json"]
    assert json.loads(run(capsys, *asked)[1]) == json.loads(run(capsys, *asked, "--workers", "1")[1])


def parts_of(tmp_path):
    """A data set in three files; the last one knows one class only, and an empty recording."""
    folder = tmp_path / "parts"
    folder.mkdir()
    frames = [frame_of(1), frame_of(2, first=100), frame_of(3, first=200, labels=("dog",))]
    for k, frame in enumerate(frames):
        lengths = dict.fromkeys(frame["recording"], 30.0) | {f"empty{k}.wav": 30.0}
        events = wk.Events.from_frame(frame.drop(columns="recording_length"), recording_length=lengths)
        wk.write(events, folder / f"part{k}.parquet")
    return folder


def test_a_cluster_gives_the_same_bits_and_checks(capsys, tmp_path):
    distributed = pytest.importorskip("distributed")
    folder = parts_of(tmp_path)
    asked = ["evaluate", folder, "--segment-length", "1,4", "--presence-criterion", "0.3,0.6", "--json"]
    alone = run(capsys, *asked)
    chunks = run(capsys, *asked, "--resume", tmp_path / "alone")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
        with cluster:
            there = run(capsys, *asked, "--scheduler", cluster.scheduler_address)
            parts = run(capsys, *asked, "--scheduler", cluster.scheduler_address, "--resume", tmp_path / "there")
    assert there[:2] == alone[:2], there[2]
    assert json.loads(there[1])["assumptions"]
    assert parts[:2] == chunks[:2], parts[2]
    ours, theirs = (pd.DataFrame(json.loads(out[1])["rows"]) for out in (parts, alone))
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-9)


def test_no_scheduler_is_one_line(capsys, table, monkeypatch):
    distributed = pytest.importorskip("distributed")

    def refuse(*_, **__):
        raise OSError("nobody there")

    monkeypatch.setattr(distributed, "Client", refuse)
    code, _, err = run(
        capsys, "evaluate", table, "--segment-length", "1", "--rule", "any", "--scheduler", "tcp://localhost:1"
    )
    assert code == 2
    assert "no scheduler answers at 'tcp://localhost:1'" in err


def test_desed_empty_clips_count(capsys, real_data):
    path = real_data / "desed" / "validation.tsv"
    code, out, _ = run(capsys, "evaluate", path, "--segment-length", "1", "--presence-criterion", "0.5", "--json",
                       "--recording-length", "10.2")  # fmt: skip
    rows = json.loads(out)["rows"]
    assert code == 0
    assert all(row["n_recordings"] == 1168 for row in rows)
    assert sum(row["n_events"] for row in rows) == 4224


def test_a_range_that_would_fill_the_memory_is_refused(capsys, table):
    code, out, err = run(capsys, "evaluate", table, "--segment-length", "1:9:1000000000", "--rule", "any")
    assert (code, out) == (2, "")
    assert "--segment-length must hold at most 100,000 values" in err


def test_no_events_is_said_as_such(capsys, tmp_path):
    path = tmp_path / "none.tsv"
    path.write_text("filename\tonset\toffset\tevent_label\na.wav\t\t\t\n")
    code, _, err = run(capsys, "evaluate", path, "--segment-length", "3", "--rule", "any")
    assert code == 2
    assert "at least one event" in err.splitlines()[-1]


def test_events_past_the_end_say_what_to_do(capsys, tmp_path):
    path = tmp_path / "late.tsv"
    path.write_text("filename\tonset\toffset\tevent_label\na.wav\t1\t2\tDog\na.wav\t9.8\t10.115\tDog\n")
    asked = ["evaluate", path, "--segment-length", "3", "--rule", "any", "--recording-length", "10"]
    code, out, err = run(capsys, *asked)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "line 3" in err
    assert "by 0.115 s" in err
    assert "--on-error skip" in err
    code, out, err = run(capsys, *asked, "--on-error", "skip", "--json")
    assert code == 0
    assert json.loads(out)["rows"][0]["n_events"] == 1
    assert "1 event past the end of the recording left out" in err


def test_a_closed_pipe_ends_quietly(table):
    asked = [sys.executable, "-m", "weakly", "evaluate", table, "--segment-length", "1:5:50", "--rule", "any"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as made:
        made.stdout.close()
        said = made.stderr.read()
    assert made.returncode == 141
    assert all(line.startswith(("weakly: ", "  ")) for line in said.splitlines()), said  # notes are wrapped
