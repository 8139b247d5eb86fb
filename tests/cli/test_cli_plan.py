"""`weakly plan` and `weakly demo` at the door."""

import json

import pytest

import weakly as wk
from weakly.cli import main

PAPER = ["plan", "--event-length", "1", "--presence-criterion", "0.5", "--recording-length", "100", "--events", "1"]

PILOT = {"n_events": 20, "n_censored": 0, "n_unknown_lengths": 0, "n_joined": 0}


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(each) for each in arguments])
    return stop.value.code


def test_answer_first(capsys):
    assert run(*PAPER) == 0
    printed = capsys.readouterr().out
    made = wk.plan(1.0, presence_criterion=0.5, recording_length=100, n_events=1)
    assert printed.startswith(made.answer)
    for word in ("events", "accuracy", "near events", "label nothing", "(paper's optimum)", "More with --verbose"):
        assert word in printed
    for word in ("overlap_accuracy", "event_recall", "n_queries", "This rests on"):
        assert word not in printed
    assert run(*PAPER, "--verbose") == 0
    printed = capsys.readouterr().out
    for word in ("This rests on", "oracle (a limit)", "10 s segments"):
        assert word in printed


def test_lines_break_between_words_and_keep_units():
    from weakly.cli.common import wrapped

    made = wk.plan(1.0, recording_length=100)
    for told in (*made.answer.splitlines(), made.assumed, made.details):
        lines = wrapped(told, 80).splitlines()
        assert max(map(len, lines)) <= 80
        assert " ".join(lines) == told
    lines = wrapped(made.details, 80).splitlines()
    assert not any(line.split()[0] in ("s", "%", "s,", "%,", "s.") for line in lines)


@pytest.mark.parametrize("width", [80, 100, None])
def test_the_table_breaks_no_number_and_fits(width, monkeypatch, capsys):
    """At 80 columns "90,49" was printed for 90,498 queries; a pipe has no width."""
    from weakly.cli import plan as door

    monkeypatch.setattr(door, "columns", lambda: width)
    monkeypatch.setenv("COLUMNS", "60")
    made = wk.plan([0.5, 1, 4], recording_length=600, total_hours=1000, methods="fixed,windows,bisection")
    door.show(made, verbose=True)
    table = capsys.readouterr().out.split("\n\n")[2]
    assert all(len(line.rstrip()) <= (width or 1000) for line in table.splitlines())
    for row in made.rows:
        assert f"{row.n_queries:,.0f}" in table
        assert f"{row.hours:,.0f}" in table or row.hours < 100
    for head in ("wrong time", "(s per rec.)", "near events", "to play", "(hours)"):
        assert head in table


def test_a_rule_and_no_criterion(capsys):
    asked = ["plan", "--event-length", "30", "--recording-length", "600", "--methods", "fixed"]
    assert run(*asked) == 0
    assert "Assumed: a second or half of an event is noticed" in capsys.readouterr().out.replace("\n", " ")
    assert run(*asked, "--verbose") == 0
    assert "weakly audit" in capsys.readouterr().out.replace("\n", " ")
    assert run(*asked, "--rule", "seconds:1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["settings"]["rule"] == "seconds:1"


def test_json_is_the_dictionary_and_nothing_else(capsys):
    assert run(*PAPER, "--budget", "90", "--target", "event_recall>=0.9", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    made = wk.plan(1.0, presence_criterion=0.5, recording_length=100, n_events=1, budget=90, target="event_recall>=0.9")
    assert printed == made.to_dict()


def test_files(tmp_path, capsys):
    assert run(*PAPER, "--out", tmp_path / "out", "--report", tmp_path / "plan.html") == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    pictures = {f"{name}.{end}" for name in ("timeline", "lengths", "frontier") for end in ("png", "svg")}
    assert pictures | {"methods.csv", "frontier.csv", "plan.json"} == names
    assert "The command that made it" in (tmp_path / "plan.html").read_text()
    assert "wrote" in capsys.readouterr().err


def test_pilot_file(tmp_path, capsys):
    path = tmp_path / "pilot.tsv"
    rows = "".join(f"{k}.wav\t{k % 7}.5\t{k % 7 + 2}\tDog\n" for k in range(20))
    path.write_text("filename\tonset\toffset\tevent_label\n" + rows + "empty.wav\t\t\t\n")
    options = ["--label", "Dog", "--presence-criterion", "0.3", "--recording-length", "10", "--json"]
    assert run("plan", path, *options) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["settings"]["pilot"] == {**PILOT, "n_recordings": 21}
    assert printed["settings"]["total_seconds"] == 210


def test_one_class_is_planned_over_all_recordings(tmp_path, capsys):
    """A recording whose length is unknown is at least as long as the events of the other classes tell."""
    path = tmp_path / "pilot.tsv"
    rows = "".join(
        f"{k}.wav\t{k % 7}.5\t{k % 7 + 2}\t{'Dog' if k < 5 else 'Cat'}\n{k}.wav\t9\t10\tCat\n" for k in range(20)
    )
    path.write_text("filename\tonset\toffset\tevent_label\n" + rows)
    assert run("plan", path, "--label", "Dog", "--presence-criterion", "0.3", "--methods", "fixed", "--json") == 0
    inputs = json.loads(capsys.readouterr().out)["settings"]
    assert (inputs["pilot"]["n_recordings"], inputs["pilot"]["n_events"], inputs["total_seconds"]) == (20, 5, 200)


@pytest.mark.filterwarnings("ignore::weakly.AssumptionWarning")
def test_events_past_the_end_are_left_out_on_request(tmp_path, capsys):
    path = tmp_path / "pilot.tsv"
    rows = "".join(f"{k}.wav\t{k % 7}.5\t{k % 7 + 2}\tDog\n" for k in range(20))
    path.write_text("filename\tonset\toffset\tevent_label\n" + rows + "3.wav\t9.8\t10.115\tDog\n")
    asked = ["plan", path, "--presence-criterion", "0.3", "--recording-length", "10", "--methods", "fixed", "--json"]
    assert run(*asked) == 2
    assert "--on-error skip" in capsys.readouterr().err
    assert run(*asked, "--on-error", "skip") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["settings"]["pilot"] == {**PILOT, "n_recordings": 20}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--presence-criterion", "abc", "--event-length", "1"], "presence_criterion must be a number or one of"),
        (["--presence-criterion", "0.5", "--event-length", "1", "--seed", "1"], "No such option: --seed"),
        (["--presence-criterion", "50"], "percentage"),
        (["--presence-criterion", "0.5", "--event-length", "x:y"], "event_length"),
        (["--presence-criterion", "0.5"], "give pilot annotations or --event-length"),
        (["--presence-criterion", "0.5", "--event-length", "1"], "recording_length must be given"),
        (["--recording-length", "100", "--event-length", "rayleigh:scale=1e300"], "got rayleigh(scale=1e+300) with"),
        (["--recording-length", "1e305", "--event-length", "rayleigh:scale=1e99"], "recording_length must be at most"),
        (["--recording-length", "100", "--event-length", "uniform:loc=1e90,scale=1"], "more than one length"),
        (["--recording-length", "100", "--event-length", "lognorm:s=30"], "finite mean"),
    ],
)
def test_bad_input_is_one_line(options, message, capsys):
    extra = ["--event-length", "1", "--recording-length", "9"] if message == "percentage" else []
    assert run("plan", *options, *extra) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_laws_and_lists(capsys):
    options = ["--event-length", "0.5,1,4", "--presence-criterion", "beta:2,3", "--recording-length", "500"]
    assert run("plan", *options, "--methods", "fixed", "--json") == 0
    assert json.loads(capsys.readouterr().out)["settings"]["presence_criterion_name"].startswith("criterion beta(2")
    assert run("plan", *options[:3], "0.3:0.5:3", *options[4:], "--methods", "fixed", "--json") == 0
    assert json.loads(capsys.readouterr().out)["settings"]["presence_criterion"] == [0.3, 0.4, 0.5]


def test_demo_begins_with_the_answer_and_ends_with_the_report(tmp_path, capsys):
    assert run("demo", "--out", tmp_path / "demo") == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[-1] == f"The report: {(tmp_path / 'demo' / 'plan.html').resolve()}"
    assert lines[0].startswith("Good. By hand: ")
    assert (tmp_path / "demo" / "plan.html").read_text().startswith("<!doctype html>")


def test_the_demo_speaks_json(tmp_path, capsys):
    assert run("demo", "--out", tmp_path / "demo", "--json") == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "good"
    assert (tmp_path / "demo" / "plan.html").is_file()
