"""Names in files hold orders to terminals and spreadsheets, options have twenty digits: neither gets through."""

import csv
import json
import re

import pandas as pd
import pytest

from weakly import cli

pytestmark = pytest.mark.filterwarnings("default")
ORDERS = "\x1b]0;owned\x07\x1b[31m", "\x9b31m", "\u202egnp.exe"
FORMULA = "=cmd|' /C calc'!A0"
CROWD = ["--event-length", "1", "--events", "9" * 20, "--recording-length", "1e21", "--presence-criterion", "1"]
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main([str(each) for each in arguments])
    return ended.value.code, *capsys.readouterr()


@pytest.fixture
def files(tmp_path):
    """Annotations and answers whose recordings, labels and further columns are hostile."""
    names = [f"rec{order}{k}.wav" for k, order in enumerate(ORDERS)]
    rows = [
        (name, 10.0 * k, 10 * k + 2.0, f"owl{ORDERS[k % 3]}" if k % 2 else FORMULA, 60.0)
        for name in names
        for k in range(5)
    ]
    columns = ["recording", "onset", "offset", "label", "recording_length"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "a.csv", index=False)
    bad = pd.DataFrame([*rows, (names[0], 5.0, 1.0, ORDERS[0], 60.0)], columns=columns)
    bad.to_csv(tmp_path / f"b{ORDERS[0].replace('/', '')}.csv", index=False)
    clips = [(name, 3.0 * k, 3.0 * k + 3, FORMULA, k % 3 == 0) for name in names for k in range(20)]
    pd.DataFrame(clips, columns=["recording", "onset", "offset", "label", "present"]).to_csv(
        tmp_path / "c.csv", index=False
    )
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "a.csv", "--segment-length", "3", "--presence-criterion", "0.5"],
        ["plan", "a.csv", "--presence-criterion", "0.5", "--verbose"],
        ["audit", "--strong", "a.csv", "--weak", "c.csv"],
        ["infer", "c.csv", "--event-length", "1", "--presence-criterion", "0.5"],
        ["check", "a.csv"],
        ["check", "c.csv"],
        ["evaluate", "b\x1b]0;owned\x07\x1b[31m.csv", "--segment-length", "3", "--presence-criterion", "0.5"],
        ["check", "b\x1b]0;owned\x07\x1b[31m.csv"],
        ["plan", "a.csv", "--presence-criterion", "0.5", "--label", "x\x9bm"],
        ["evaluate", "no\x9b31m.csv", "--segment-length", "3", "--presence-criterion", "0.5"],
    ],
)
def test_names_give_no_orders(words, files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    code, out, err = run(capsys, *words, *(["--out", "out"] if words[0] != "check" else []))
    assert code in (0, 1, 2)
    assert "Traceback" not in err
    assert not UNSAFE.search(out), repr(out)
    assert not UNSAFE.search(err), repr(err)
    for path in files.glob("out/*.csv"):
        if path.stem in ("active", "events"):  # data, read again
            continue
        with path.open(newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert [cell for cell in cells if cell.startswith(("=", "@"))] == [], path
    if code == 0 and words[0] in ("evaluate", "audit", "infer"):
        assert any("'=cmd" in path.read_text() for path in files.glob("out/*.csv"))


def test_json_keeps_names_and_gives_no_orders(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    code, out, err = run(capsys, "evaluate", "a.csv", "--segment-length", "3", "--presence-criterion", "0.5", "--json")
    assert code == 0, err
    assert not UNSAFE.search(out)
    assert f"owl{ORDERS[1]}" in {row["label"] for row in json.loads(out)["rows"]}


@pytest.mark.parametrize(
    "words",
    [
        ["infer", "c.csv", "--event-length", "9" * 20, "--presence-criterion", "0.5"],
        ["infer", "c.csv", "--event-length", "1", "--presence-criterion", "0.5", "--recording-length", "9" * 20],
        *(
            [command, "--event-length", "1", "--events", "9" * 20, "--recording-length", "1e21",
             "--presence-criterion", "1"]
            for command in ("simulate", "plan")
        ),
    ],
)  # fmt: skip
def test_options_of_twenty_digits_are_refused(words, files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert re.fullmatch(
        r"(weakly: read:.*\n)?weakly: (n_events|event_length|recording_length) must be at most .*\n", err
    ), err
