"""Conventions of command lines: the project file, stdin, quiet, version, completion, groups of options."""

import io
import json

import pytest

import weakly
from weakly.cli import main
from weakly.studies.simulate import PILOT


def run(capfd, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(each) for each in arguments])
    said = capfd.readouterr()
    return stop.value.code, said.out, said.err


pytestmark = pytest.mark.filterwarnings("ignore::weakly.AssumptionWarning")
EVALUATE = ("evaluate", PILOT, "--segment-length", "3", "--json")


def test_the_project_file_sets_what_the_command_line_does_not(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weakly.toml").write_text('rule = "seconds:1"\nper-hour = 20\n[evaluate]\nsegment-length = [1, 3]\n')
    code, out, err = run(capfd, "evaluate", PILOT, "--json")
    assert code == 0
    assert "weakly.toml sets rule, segment_length" in err
    assert json.loads(out)["settings"]["segment_length"] == [1.0, 3.0]
    assert {row["rule"] for row in json.loads(out)["rows"]} == {"seconds:1"}
    code, out, _ = run(capfd, *EVALUATE, "--presence-criterion", "0.5")  # who answers is replaced as a whole
    assert (code, json.loads(out)["rows"][0]["presence_criterion"]) == (0, 0.5)
    assert "rule" not in json.loads(out)["rows"][0]


@pytest.mark.parametrize(
    ("arguments", "key", "words"),
    [
        ("plan --event-length 1", "per-hour", "--per-hour must be a"),
        ("simulate --event-length 1 --events 1 --recording-length 9", "seed", "--seed must be a"),
        ("audit --strong a.tsv --weak b.csv", "sample", "--sample must be a"),
        ("queries recordings", "start_length", "--start-length must be a"),
        ("label recordings", "minutes", "--minutes must be a"),
        ("answers answers.csv", "queries", "many: no such file"),
        ("infer a.csv", "event-rate", "--event-rate must be a"),
        ("convert a.tsv b.tsv", "sample", "--sample must be a"),
        ("check a.tsv", "point-length", "--point-length must be a"),
        ("reproduce", "workers", "--workers must be a"),
        ("serve", "port", "--port must be a"),
    ],
)
def test_every_command_reads_the_project_file(capfd, tmp_path, monkeypatch, arguments, key, words):
    """A value that cannot be is refused as that of the option, for all commands and in the table of one."""
    monkeypatch.chdir(tmp_path)
    for table in ("", f"[{arguments.split()[0]}]\n"):
        (tmp_path / "weakly.toml").write_text(f"{table}{key} = 'many'\n")
        code, _, err = run(capfd, *arguments.split())
        assert (code, words in err) == (2, True), err


def test_the_project_file_knows_options_as_they_are_typed(capfd, tmp_path, monkeypatch):
    """Also those that the code calls otherwise: the class of label, the formats of convert."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weakly.toml").write_text('label = "owl"\n[convert]\nto = "rttm"\n')
    code, out, err = run(capfd, "convert", PILOT, "-", "--label", "song")
    assert (code, {line.split()[0] for line in out.splitlines()}) == (0, {"SPEAKER"})
    assert "weakly.toml sets label, to" in err
    assert "weakly.toml sets label" in run(capfd, "label", "recordings")[2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("per_huor = 3", "'per_huor' is no option that a project can set; did you mean 'per_hour'?"),
        ("force = true", "'force' is no option"),
        ("[evaluate]\nper_hour = 3", "'per_hour' is no option"),
        ("rule = ", "weakly.toml: Invalid value"),
    ],
)
def test_a_wrong_project_file_is_one_line(capfd, tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weakly.toml").write_text(text)
    code, _, err = run(capfd, *EVALUATE, "--presence-criterion", "0.5")
    assert (code, err.count("\n")) == (2, 1)
    assert words in err


def test_stdin_and_quiet(capfd, monkeypatch):
    _, expected, notes = run(capfd, *EVALUATE, "--presence-criterion", "0.5")
    assert "weakly: read: 244 rows" in notes
    stdin = io.TextIOWrapper(io.BytesIO(PILOT.read_bytes()))
    monkeypatch.setattr("sys.stdin", stdin)
    code, out, err = run(capfd, "evaluate", "-", *EVALUATE[2:], "--presence-criterion", "0.5", "-q")
    assert (code, err) == (0, "")
    assert json.loads(out)["rows"] == json.loads(expected)["rows"]
    assert run(capfd, "-q", *EVALUATE, "--presence-criterion", "0.5") == (0, expected, "")  # before the command, too
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"no table of events")))
    code, _, err = run(capfd, "check", "-", "--strict")
    assert "stdin" in err + _
    assert "/" not in err + _


def test_convert_writes_to_stdout(capfd, monkeypatch):
    """The rows of a file, or of stdin, as CSV on stdout and nothing else there."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PILOT.read_bytes())))
    for source in (PILOT, "-"):
        code, out, _ = run(capfd, "convert", source, "-")
        assert (code, len(out.splitlines())) == (0, 245)  # the names, 240 events, 4 empty recordings
        assert out.startswith("recording,")
    assert len(run(capfd, "convert", PILOT, "-", "--to", "rttm")[1].splitlines()) == 240


def test_notes_and_messages_fit_the_line(capfd, monkeypatch):
    """Notes on stderr are folded where COLUMNS says how wide a line is; an error stays one line."""
    monkeypatch.setenv("COLUMNS", "60")
    notes = run(capfd, *EVALUATE, "--presence-criterion", "0.5")[2]
    assert max(map(len, notes.splitlines())) <= 60
    assert "weakly: read: 244 rows = 240 events, 4 empty" in notes
    code, _, err = run(capfd, *EVALUATE, "--votes", "2/3")
    assert (code, err) == (2, "weakly: --votes must be a whole number (see 'weakly evaluate --help')\n")


def test_version_completion_and_groups(capfd, monkeypatch):
    assert run(capfd, "-V")[:2] == (0, f"weakly {weakly.__version__}\n")
    monkeypatch.setenv("COLUMNS", "100")
    out = run(capfd, "evaluate", "--help")[1]
    assert out.index("─ Options") < out.index("─ Reading files") < out.index("─ Output")
    assert "<" not in out.split("─ Options")[1]  # no option shows a type of Python, a flag none at all
    first = run(capfd, "-h")[1]
    assert "--install-completion" in first
    assert "<bool>" not in first
    assert first.index("│ plan ") < first.index("│ evaluate ") < first.index("│ check ")
    panels = ("─ The work", "─ Who answers", "─ Ways to label", "─ Cost", "─ Reading files", "─ Output")
    long = run(capfd, "plan", "-h")[1]
    assert sorted(panels, key=long.index) == list(panels)
    audit = run(capfd, "audit", "-h")[1]
    assert "--examined" in audit.split("─ Reading files")[1]  # declared by the command itself, and still there
    monkeypatch.setenv("_WEAKLY_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "weakly eval")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert run(capfd)[1].split() == ["evaluate"]
