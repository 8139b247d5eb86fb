"""`weakly simulate`: the same numbers as the function, in words, JSON, files and a report."""

import json
import subprocess
import sys

import pytest

import weakly as wk
from weakly.cli import main

PLAIN = ["--event-length", "1", "--events", "1", "--recording-length", "100", "--recordings", "200", "--seed", "1"]


def run(capsys, *arguments, code=0):
    with pytest.raises(SystemExit) as stop:
        main(["simulate", *arguments])
    said = capsys.readouterr()
    assert stop.value.code == code, said.err
    return said


def test_json_is_the_result(capsys):
    said = run(capsys, *PLAIN, "--segment-length", "0.8,1.5", "--presence-criterion", "0.5,0.9", "--json")
    found = wk.simulate(
        1.0,
        n_events=1,
        recording_length=100,
        segment_length=[0.8, 1.5],
        presence_criterion=[0.5, 0.9],
        n_recordings=200,
        rng=1,
    )
    assert json.loads(said.out) == found.to_dict()
    assert said.err == ""


def test_the_table_shows_events_found_beside_accuracy(capsys):
    said = run(capsys, *PLAIN)
    for word in ("accuracy near events", "events found", "Best segment length"):
        assert word in said.out
    assert said.out.count("\n") > 40


def test_noise_and_rules(capsys):
    noisy = json.loads(run(capsys, *PLAIN, "--segment-length", "0.8", "--flip-rate", "0.1", "--json").out)
    assert noisy["rows"][0]["annotator"] == "criterion 0.5, flip_rate 0.1"
    ruled = json.loads(run(capsys, *PLAIN, "--segment-length", "3", "--rule", "any,birdnet", "--json").out)
    assert [row["rule"] for row in ruled["rows"]] == ["any", "margin:0.5"]
    votes = run(
        capsys, *PLAIN, "--segment-length", "1.2", "--hop", "0.3", "--votes", "2", "--phase", "random", "--json"
    )
    assert json.loads(votes.out)["settings"]["votes"] == 2


def test_rates_and_phase_reach_the_function(capsys):
    rates = ["--guess-rate", "0.05", "--lapse-rate", "0.2", "--flip-rate", "0.1"]
    said = run(capsys, *PLAIN, "--segment-length", "0.8", *rates, "--phase", "0.3", "--json")
    who = wk.Annotator(presence_criterion=0.5, guess_rate=0.05, lapse_rate=0.2, flip_rate=0.1)
    found = wk.simulate(
        1, n_events=1, recording_length=100, segment_length=0.8, annotator=who, phase=0.3, n_recordings=200, rng=1
    )
    assert json.loads(said.out) == found.to_dict()


def test_the_number_of_workers_changes_no_digit(capsys):
    arguments = [*PLAIN, "--segment-length", "0.8", "--json"]
    assert run(capsys, *arguments, "--workers", "1").out == run(capsys, *arguments, "--workers", "3").out


def test_files_and_report(capsys, tmp_path):
    said = run(
        capsys,
        *PLAIN,
        "--segment-length",
        "0.5,0.8,1.5",
        "--out",
        str(tmp_path / "o"),
        "--report",
        str(tmp_path / "r.html"),
    )
    names = sorted(path.name for path in (tmp_path / "o").iterdir())
    assert names == ["best.csv", "overlap_accuracy.png", "overlap_accuracy.svg", "simulation.csv", "simulation.json"]
    page = (tmp_path / "r.html").read_text()
    assert "notice" in page
    assert "chosen on one half" in page
    assert "r.html" in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--event-length", "x"], "event_length must be"),
        (["--event-length", "200"], "at most the recording's 100 s"),
        (["--presence-criterion", "50"], "a percentage"),
        (["--segment-length", "0"], "segment_length must be > 0"),
        (["--placement", "poison"], "did you mean 'poisson'"),
        (["--rule", "any", "--flip-rate", "0.1"], "go with a criterion, not a rule, got any"),
        (["--workers", "0"], "workers must be at least 1"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, message):
    given = dict(zip(PLAIN[::2], PLAIN[1::2])) | dict(zip(arguments[::2], arguments[1::2]))
    said = run(capsys, *(part for pair in given.items() for part in pair), code=2)
    assert message in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_digits(capsys):
    distributed = pytest.importorskip("distributed")
    arguments = [*PLAIN, "--segment-length", "0.8", "--json"]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, silence_logs=50
    ) as cluster:
        remote = run(capsys, *arguments, "--scheduler", cluster.scheduler_address).out
    assert remote == run(capsys, *arguments).out


def test_an_interruption_is_said_and_leaves_nothing_behind(tmp_path):
    asked = [
        "simulate",
        "--event-length",
        "1",
        "--events",
        "30",
        "--recording-length",
        "1000",
        "--recordings",
        "9000000",
    ]
    code = (
        "import _thread, signal, threading\nfrom weakly.cli import main\n"
        # A shell that starts its jobs in the background has them ignore the key.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "threading.Timer(1.5, _thread.interrupt_main).start()\n"
        f"main({[*asked, '--segment-length', '1', '--out', str(tmp_path / 'out')]!r})"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (made.returncode, made.stdout, made.stderr.strip()) == (130, "", "weakly: interrupted")
    assert not list(tmp_path.iterdir())
