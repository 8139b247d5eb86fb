"""The linter and the two commands: each kind of trouble is found in its line, and clean files are clean."""

import json
import re
from pathlib import Path

import pytest

from weakly import InvalidInput
from weakly.cli import main
from weakly.io import check

HEAD = "filename\tonset\toffset\tevent_label\n"


def found(tmp_path: Path, text: str, name: str = "a.tsv", **kwargs):
    path = tmp_path / name
    path.write_text(text)
    return {(item.kind, item.line, item.n) for item in check(path, **kwargs).findings}


def test_a_clean_file(tmp_path):
    assert found(tmp_path, HEAD + "a\t1\t2\tx\na\t2\t3\tx\na\t2.5\t3\ty\nb\t\t\t\n") == set()


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        ("a\t1\t2\tx\na\t3\t2\tx\na\t9\t2\tx\n", ("end before start", 3, 2)),
        ("a\t1\t2\tx\na\t2\t2\tx\n", ("zero length", 3, 1)),
        ("a\t-1\t2\tx\n", ("negative time", 2, 1)),
        ("a\teins\t2\tx\na\t2\tdrei\tx\n", ("not a number", 2, 2)),
        ("a\t1\t2\tx\na\t1\t2\tx\na\t1\t2\tx\n", ("duplicate", 3, 2)),
        ("a\t1\t3\tx\na\t2\t4\tx\na\t2\t3\ty\n", ("overlap", 3, 1)),
        ("a\t1000\t2500\tx\na\t4000\t4200\tx\n", ("milliseconds", 2, 2)),
        ("a_0.000_10.000.wav\t9\t10.5\tx\n", ("past the end", 2, 1)),
        ("#NAME?\t1\t2\tx\n", ("spreadsheet damage", 2, 1)),
        ("a\t1\t2\t1-Mar\n", ("spreadsheet damage", 2, 1)),
        ("a\t1\t2\t1.2E+11\n", ("spreadsheet damage", 2, 1)),
        ("a\t1\t2\t=1+1\n", ("formula", 2, 1)),
        ("rec a.wav\t1\t2\tx\nrec_a.wav\t3\t4\tx\n", ("almost the same", 2, 1)),
        ("a\t1\t2\tBig dog\na\t3\t4\tbig_dog\n", ("almost the same", 2, 1)),
        ("a\t1\t2\tx\ty\n", ("broken row", 2, 1)),
    ],
)
def test_each_kind_of_trouble(tmp_path, rows, finding):
    assert found(tmp_path, HEAD + rows) == {finding}


def test_events_past_the_stated_end(tmp_path):
    text = HEAD + "a.wav\t1\t2\tx\na.wav\t9\t11\tx\n"
    assert found(tmp_path, text, recording_length=10) == {("past the end", 3, 1)}
    lengths = tmp_path / "lengths.csv"
    lengths.write_text("filename,duration\na.wav,10\nb.wav,10\n")
    (tmp_path / "a.tsv").write_text(text)
    kinds = {(item.kind, item.n) for item in check([tmp_path / "a.tsv", lengths]).findings}
    assert kinds == {("past the end", 1), ("missing recording", 1)}
    assert found(tmp_path, HEAD + "a.wav\t100\t9000\tx\n", recording_length=10) == {("milliseconds", 2, 1)}


def test_cumulative_raven_times(tmp_path):
    head = "Selection\tBegin Time (s)\tEnd Time (s)\tBegin File\tSpecies"
    rows = "\n1\t1\t2\ta.wav\tx\n2\t61\t62\tb.wav\tx\n"
    assert {kind for kind, _, _ in found(tmp_path, head + rows, "a.txt")} == {"cumulative times"}
    known = head + "\tFile Offset (s)\n1\t1\t2\ta.wav\tx\t1\n2\t61\t62\tb.wav\tx\t1\n"
    item = check(_written(tmp_path, known)).findings[0]
    assert item.kind == "cumulative times"
    assert "File Offset is used" in item.message


def _written(tmp_path, text):
    path = tmp_path / "known.txt"
    path.write_text(text)
    return path


def test_missing_sounds(tmp_path):
    sounds = tmp_path / "sounds"
    sounds.mkdir()
    for name in ("a.wav", "c.flac"):
        (sounds / name).write_bytes(b"RIFF")
    text = HEAD + "a\t1\t2\tx\nb.wav\t1\t2\tx\n"
    assert found(tmp_path, text, recordings=sounds) == {("missing recording", None, 1), ("missing annotation", None, 1)}
    with pytest.raises(InvalidInput, match="must be a folder"):
        found(tmp_path, text, recordings=tmp_path / "nowhere")


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path):
    assert found(tmp_path, "no format at all") == {("unreadable", None, 1)}


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return stop.value.code, said.out, said.err


@pytest.fixture
def bad(tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_text(HEAD + "a\t3\t2\tx\na\t1\t2\t[bold]x[/bold]\n")
    return path


def test_check_command(capsys, bad):
    code, out, _ = run(capsys, "check", bad)
    assert code == 0
    assert f"{bad}:2: end before start:" in out
    assert "1 event in 1 recording, 1 file: 1 finding" in out
    assert run(capsys, "check", bad, "--strict")[0] == 1
    code, out, _ = run(capsys, "check", bad, "--json", "--strict")
    document = json.loads(out)
    assert code == 1
    assert document["findings"][0] | {"message": ""} == {
        "file": str(bad), "line": 2, "kind": "end before start", "n": 1, "message": ""
    }  # fmt: skip
    assert run(capsys, "check", bad.parent / "none.tsv")[0] == 2


def test_a_file_that_cannot_be_read_fails_the_command(capsys, bad):
    """Nobody should take silence about a file for its being right."""
    (bad.parent / "other.csv").write_bytes(bytes(range(128, 256)))
    code, out, _ = run(capsys, "check", bad, bad.parent / "other.csv")
    assert (code, "other.csv: unreadable" in out, "1 event in 1 recording" in out) == (1, True, True)


def test_conditions_fail_a_build(capsys, bad):
    """Any count may be a condition; one that is no count is bad input; the hook's own arguments are taken."""
    assert run(capsys, "check", bad, "--fail-on", "overlap>0", "--fail-on", "end_before_start>1")[0] == 0
    code, _, err = run(capsys, "check", bad, "--fail-on", "end_before_start>=1")
    assert (code, "weakly: end_before_start>=1 holds" in err) == (1, True)
    assert run(capsys, "check", bad, "--fail-on", "skipped>0", "--json")[0] == 1
    code, _, err = run(capsys, "check", bad, "--fail-on", "overlaps>0")
    assert (code, "overlap" in err) == (2, True)
    hook = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()
    entry, args = re.search(r"entry: weakly (check)\n  args: (.*)\n", hook).groups()
    assert run(capsys, entry, *json.loads(args), bad)[0] == 1


@pytest.mark.filterwarnings("always::weakly.base.errors.AssumptionWarning")
def test_convert_command(capsys, bad, tmp_path):
    code, _, err = run(capsys, "convert", bad, tmp_path / "out.csv")
    assert code == 2
    assert "bad.tsv, line 2, column 'offset': the event ends before it starts" in err
    assert not (tmp_path / "out.csv").exists()
    code, out, err = run(capsys, "convert", bad, tmp_path / "out.csv", "--on-error", "skip", "--recording-length", "10")
    assert (code, "1 event, 1 recording, 1 row skipped" in out) == (0, True)
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == "a,1.0,2.0,[bold]x[/bold],10.0"
    code, out, err = run(capsys, "convert", tmp_path / "out.csv", tmp_path / "raven", "--to", "raven", "--json")
    document = json.loads(out)
    assert document["lost"] == ["the length of 1 recording"]
    assert "does not hold: the length of 1 recording" in err
    assert (tmp_path / "raven" / "a.selections.txt").exists()


def test_convert_columns(capsys, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("who,begin,dur,what\na,1,0.5,dog\n")
    columns = "recording=who,onset=begin,length=dur,label=what"
    assert run(capsys, "convert", path, tmp_path / "out.tsv", "--columns", columns)[0] == 0
    assert (tmp_path / "out.tsv").read_text() == HEAD + "a\t1.0\t1.5\tdog\n"
    code, _, err = run(capsys, "convert", path, tmp_path / "out.tsv", "--columns", "onset", "--force")
    assert (code, "--columns must be like onset=start" in err) == (2, True)


def test_convert_answers(capsys, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("file,start_time,end_time,annotation\na,0,3,yes\na,3,6,no\n")
    assert run(capsys, "convert", path, tmp_path / "out.json", "--answers", "--label", "dog")[0] == 0
    tasks = json.loads((tmp_path / "out.json").read_text())
    assert [task["annotations"][0]["result"][0]["value"]["choices"] for task in tasks] == [["yes"], ["no"]]


def test_events_and_rows_are_counted_as_what_they_are(tmp_path, capsys):
    """A row may hold several events, or answers that are no events: no number is given under another's name."""
    wide, asked = tmp_path / "wide.csv", tmp_path / "asked.csv"
    wide.write_text("FileID,Start,End,Start.1,End.1\na,0,1,2,3\nb,0,1,,\nc,,,,\n")
    asked.write_text("file,start_time,end_time,dog,cat\na,0,3,0,1\na,3,6,0,0\n")
    for path, first, last in (
        (wide, "3 events in 3 recordings, 1 file", "3 rows = 2 with events + 1 empty + 0 skipped + 0 merged"),
        (asked, "4 answers in 1 recording, 1 file", "2 rows = 2 with answers + 0 empty + 0 skipped + 0 merged"),
    ):
        with pytest.raises(SystemExit):
            main(["check", str(path)])
        lines = capsys.readouterr().out.splitlines()
        assert (lines[0].partition(":")[0], lines[-1]) == (first, last)
    assert check(wide).holds("events==3")
    assert check(wide).holds("rows==3")
