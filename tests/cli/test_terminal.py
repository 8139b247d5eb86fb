"""What every command prints on terminals of 80 and 120 columns: the answer first, nothing wider than a line, no number
broken in two; in a pipe, plain text."""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import wave
from itertools import pairwise

import pandas as pd
import pytest

import weakly as wk
from weakly.cli import main
from weakly.cli.common import print_table, shown
from weakly.studies.simulate import PILOT, clips

pytestmark = pytest.mark.filterwarnings("ignore::weakly.AssumptionWarning")
LONG = "Vehicle horn, car horn, honking of a very long name (Inside, large room or hall)"
SECONDS = ("--recording-length", "60")


class Terminal(io.StringIO):
    """Text that is shown to somebody."""

    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example, with a class of a very long name, and what was said of its clips; a campaign of queries."""
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "pilot.tsv").write_text(PILOT.read_text().replace("\tsong", f"\t{LONG}"))
    wk.write(clips(), folder / "clips.csv", format="clips")
    few = clips().to_frame()  # inference takes its time
    few = few[few["recording"].isin(few["recording"].unique()[:8])]
    wk.write(wk.Answers.from_frame(few), folder / "few.csv", format="clips")
    for k in range(2):
        with wave.open(str(folder / f"r{k}.wav"), "wb") as file:
            file.setparams((1, 2, 1000, 0, "NONE", ""))
            file.writeframes(bytes(2 * 60_000))
    return folder


def run(monkeypatch, folder, stream, columns, *arguments):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(columns))
    if columns is None:
        monkeypatch.delenv("COLUMNS")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.argv", ["weakly", *arguments])
    said = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 0, said.getvalue()
    return stream.getvalue()


def words(line):
    """The words of a command."""
    return line.split()


COMMANDS = {
    "plan": (["plan", "pilot.tsv", *SECONDS, "--presence-criterion", "0.4"], r"^Good. By hand: "),
    "plan of the front page": (
        words("plan --event-length 1 --presence-criterion 0.5 --recording-length 100 --events 1"),
        r"^Good. By hand: ",
    ),
    "plan, all of it": (["plan", "--event-length", "1", "--recording-length", "60", "--verbose"], r"^Good. By hand: "),
    "evaluate": (
        ["evaluate", "pilot.tsv", *SECONDS, "--segment-length", "1,3,10", "--presence-criterion", "0.1,0.5"],
        r"^With criterion 0.1, 1 s is the best of 3 lengths",
    ),
    "evaluate, rules": (
        ["evaluate", "pilot.tsv", *SECONDS, "--segment-length", "3", "--compare-rules"],
        r"^With the rule \S+, segments of 3 s are used",
    ),
    "simulate": (
        [*words("simulate --event-length 1 --events 3 --recording-length 60"),
         *words("--recordings 40 --segment-length 0.5,1,2 --seed 1")],
        r"^\S+ s is the best of 3 lengths",
    ),
    "audit": (["audit", "--strong", "pilot.tsv", "--weak", "clips.csv"], r"^- \S+.*%"),
    "check": (["check", "pilot.tsv"], r"^240 events in 40 recordings, 1 file: 1 finding"),
    "convert": (["convert", "pilot.tsv", "out.csv", "--force"], r"^240 events, 40 recordings"),
    "queries": (
        ["queries", "r0.wav", "r1.wav", "--method", "fixed", "--segment-length", "3", "--out", "tasks"],
        r"^fixed, round 1: 40 queries in 2 recordings",
    ),
    "answers": (["answers", "tasks/said.csv", "--queries", "tasks/queries.csv"], r"^2 of 40 queries answered"),
    "infer": (
        [*words("infer few.csv --label call --presence-criterion 0.4"), "--event-length", "lognorm:s=0.4,scale=0.4"],
        r"^call: events take .* s per minute",
    ),
    "demo": (["demo", "--out", "demo", "--force"], r"^Good. By hand: "),
    **{f"{name} --help": ([name, "--help"], None) for name in ("plan", "audit", "label", "reproduce", "serve")},
}  # fmt: skip


def prepare(monkeypatch, folder, name):
    """A campaign with two answers, for the command that reads them."""
    if name == "answers" and not (folder / "tasks").exists():
        run(monkeypatch, folder, io.StringIO(), 80, *COMMANDS["queries"][0])
    if name == "answers":
        first = [line.split(",")[0] for line in (folder / "tasks" / "queries.csv").read_text().splitlines()[1:3]]
        (folder / "tasks" / "said.csv").write_text("query,answer\n" + "".join(f"{each},yes\n" for each in first))
    if name == "queries":
        shutil.rmtree(folder / "tasks", ignore_errors=True)


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_on_a_terminal(monkeypatch, folder, name, columns):
    arguments, first = COMMANDS[name]
    prepare(monkeypatch, folder, name)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", run(monkeypatch, folder, Terminal(), columns, *arguments))
    lines = shown.splitlines()
    assert [line for line in lines if len(line) > columns and not line.startswith("The report: ")] == []
    if first is None:  # a help, whose paragraphs are folded once: each line holds all the words that fit
        words = shown[: shown.index("╭")].splitlines()
        pairs = [(one, two) for one, two in pairwise(words) if one.strip() and two.strip()]
        assert "weakly " + arguments[0] in shown[shown.index("Examples") :]
        assert "…" not in shown or arguments[0] == "label"  # its long names need 90 columns
        assert [one for one, two in pairs if len(one.rstrip()) + 1 + len(two.split()[0]) < columns - 1] == []
        return
    assert re.search(first, lines[0])
    # A number and its unit or its thousands are never on two lines, and no cell is folded into the next line.
    unit = re.compile(r"\s*(%|s|h|hours?|EUR|queries)\b")
    assert [two for two in pairwise(lines) if re.search(r"\d$", two[0]) and unit.match(two[1])] == []
    assert [line for line in lines if re.fullmatch(r"\s*(s|%|h|[\d.,]{1,3})\s*", line)] == []


def test_a_narrow_table_keeps_what_tells_its_rows_apart(capsys, monkeypatch):
    """What all rows share goes first, and no cell is cut; messages name an option once."""
    monkeypatch.setenv("COLUMNS", "30")
    rule, share = "seconds:1|fraction:0.5", [0.5, 0.25]
    print_table(pd.DataFrame({"label": ["call", "song"], "rule": rule, "overlap_accuracy": share}))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line[:4] in ("call", "song")] == [
        ["call", "50", "%"],
        ["song", "25", "%"],
    ]
    assert lines[-1].endswith("rule.")
    assert shown("x; on_error='skip' (--on-error skip) leaves it out") == "x; --on-error skip leaves it out"
    assert shown("say which with columns (--columns onset=A)") == "say which with --columns onset=A"


@pytest.mark.parametrize("name", ["plan", "evaluate", "audit", "infer", "check"])
def test_in_a_pipe(monkeypatch, folder, name):
    shown = run(monkeypatch, folder, io.StringIO(), None, *COMMANDS[name][0])
    if name in ("plan", "evaluate"):  # COLUMNS is obeyed
        narrow = run(monkeypatch, folder, io.StringIO(), 80, *COMMANDS[name][0])
        assert max(map(len, narrow.splitlines())) <= 80
        assert "overlap_accuracy" not in narrow
    assert "overlap_accuracy" not in shown
    assert "\x1b" not in shown
    assert "…" not in shown
    assert re.search(COMMANDS[name][1], shown.splitlines()[0])
    assert max(map(len, shown.splitlines())) > 80  # a sentence or a row is one line, however long


def shell(folder, command, **environment):
    made = subprocess.run(
        f"exec {sys.executable} -m weakly {command}", shell=True, cwd=folder, env={**os.environ, **environment},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    told = [line for line in made.stderr.splitlines(True) if not line.startswith("weakly: compiling")]  # a new machine
    return made.returncode, made.stdout, "".join(told)


@pytest.fixture
def accented(tmp_path):
    rows = "filename\tonset\toffset\tevent_label\nná.wav\t0\t1\tüle\nb.wav\t3\t4\tüle\n"
    (tmp_path / "strong.tsv").write_text(rows, encoding="utf-8")
    return tmp_path


def test_a_closed_stream_takes_nothing_and_stops_nothing(accented):
    for ends in (">&-", "2>&-", "<&- >&- 2>&-"):
        code, out, err = shell(accented, f"check missing.tsv {ends}")
        assert (code, out) == (2, ""), ends  # what belongs to stderr does not go to stdout instead
        assert err in ("", "weakly: missing.tsv: there is no such file\n")
    assert shell(accented, "convert strong.tsv out.csv >&- 2>&-")[0] == 0
    written = (accented / "out.csv").read_text(encoding="utf-8")
    assert written == "recording,onset,offset,label\nná.wav,0.0,1.0,üle\nb.wav,3.0,4.0,üle\n"


def test_letters_that_a_stream_does_not_know(accented):
    ascii_ = {"PYTHONIOENCODING": "ascii"}
    code, out, err = shell(accented, "check strong.tsv --recordings . --json", **ascii_)
    assert (code, err) == (0, "")
    assert "'ná.wav'" in json.loads(out)["findings"][0]["message"]
    code, out, err = shell(accented, "plan --event-length 3 --recording-length 60 --event-rate 0.05", **ascii_)
    assert (code, err, "\\u2013" in out) == (0, "", True)


def test_an_environment_that_numba_refuses_is_one_line(accented):
    command = "simulate --event-length 1 --events 30 --recording-length 100 --recordings 20000 --segment-length 1"
    code, out, err = shell(accented, f"{command} --presence-criterion 0.5", NUMBA_NUM_THREADS="0")  # too large
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "NUMBA_NUM_THREADS=0" in err
