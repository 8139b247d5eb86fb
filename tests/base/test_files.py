"""Files are there whole or not at all, and what a command reads it never writes over."""

import os
import shutil

import pytest

from weakly.base.errors import InvalidInput
from weakly.base.results import atomic_write, inputs_kept, is_input
from weakly.cli import main

TABLE = "filename\tonset\toffset\tevent_label\na.wav\t1\t2\tdog\nb.wav\t3\t4\tdog\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "w.tsv"
    path.write_text(TABLE)
    return path


COMMANDS = {
    "convert": ["convert", "{in}", "{out}", "--to", "dcase"],
    "labels": ["evaluate", "{in}", "--segment-length", "1", "--presence-criterion", "0.5", "--labels", "{out}"],
    "evaluate": ["evaluate", "{in}", "--segment-length", "1", "--presence-criterion", "0.5", "--report", "{out}"],
    "plan": ["plan", "{in}", "--presence-criterion", "0.5", "--methods", "fixed", "--report", "{out}"],
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("how", ["same", "link", "hard link", "other spelling"])
@pytest.mark.filterwarnings("ignore")
def test_an_output_that_is_an_input_is_refused(table, name, how, capsys):
    out = table
    if how == "link":
        out = table.with_name("link.tsv")
        out.symlink_to(table)
    elif how == "hard link":
        out = table.with_name("hard.tsv")
        os.link(table, out)
    elif how == "other spelling":
        out = table.parent / ".." / table.parent.name / table.name
    arguments = [part.format(**{"in": table, "out": out}) for part in COMMANDS[name]]
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--force"])
    assert stop.value.code == 2
    assert "this file is read here, so it is not written over" in capsys.readouterr().err
    assert table.read_text() == TABLE
    assert sorted(os.listdir(table.parent)) == sorted({table.name, out.name})


def test_another_file_is_written(table):
    arguments = [part.format(**{"in": table, "out": table.with_name("x.tsv")}) for part in COMMANDS["convert"]]
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    assert table.with_name("x.tsv").is_file()


WRITING = {
    "convert OUT": ["convert", "{in}", "{out}"],
    "evaluate --labels": [*COMMANDS["evaluate"][:-2], "--labels", "{out}"],
    "audit --card": ["audit", "--strong", "{in}", "--card", "{out}"],
    "infer --training": ["infer", "{in}", "--training", "{out}"],
    "reproduce --out": ["reproduce", "--out", "{out}"],
    "demo --out": ["demo", "--out", "{out}"],
    **{f"{name} {option}": [name, "{in}", option, "{out}"]
       for name in ("plan", "evaluate", "infer") for option in ("--out", "--report")},
    **{f"audit {option}": ["audit", "--strong", "{in}", option, "{out}"] for option in ("--out", "--report")},
    **{f"simulate {option}": ["simulate", "--event-length", "1", option, "{out}"] for option in ("--out", "--report")},
}  # fmt: skip


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_nothing_is_written_over_unasked(table, name, kind, capsys):
    """Refused before anything is read or computed, with one line that names the place; nothing is touched."""
    out = table.with_name("there")
    if kind == "folder":
        out.mkdir()
    held = out / "mine" if kind == "folder" else out
    held.write_text("mine")
    with pytest.raises(SystemExit) as stop:
        main([part.format(**{"in": table, "out": out}) for part in WRITING[name]])
    err = capsys.readouterr().err
    assert (stop.value.code, err.count("\n"), held.read_text()) == (2, 1, "mine")
    assert err.startswith(f"weakly: {out}: ")
    assert "--force" in err
    assert sorted(os.listdir(table.parent)) == ["there", "w.tsv"]


def test_every_place_to_write_to_is_looked_at():
    """An option that names one has the callback that refuses; campaigns know the files that they wrote themselves."""
    from typer.main import get_command

    from weakly.cli import app

    campaigns, looked = {"queries", "answers", "label"}, set()
    for name, command in get_command(app).commands.items():
        for one in command.params:
            writes = one.name in ("out", "report", "card", "labels", "training") or one.metavar == "OUT"
            if writes and name not in campaigns:
                assert one.callback is not None, f"{name} {one.name}"
                looked.add(f"{name} {'OUT' if one.name == 'target' else f'--{one.name}'}")
    assert looked == set(WRITING)


@pytest.mark.filterwarnings("ignore")
def test_force_writes_over_and_an_empty_folder_needs_none(table, capsys):
    out, folder = table.with_name("x.csv"), table.with_name("folder")
    folder.mkdir()
    labels = ["evaluate", str(table), "--segment-length", "1", "--presence-criterion", "0.5", "--labels"]
    for arguments, code in (
        (["convert", str(table), str(out)], 0), (["convert", str(table), str(out)], 2),
        (["convert", str(table), str(out), "--force"], 0), ([*labels, str(out)], 2),
        ([*labels, str(out), "--force"], 0), ([*labels, str(folder)], 0), ([*labels, str(folder)], 2),
    ):  # fmt: skip
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == code, arguments
    assert "annotation" in out.read_text()


def test_only_commands_keep_their_inputs(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    is_input(path)
    with atomic_write(path) as file:
        file.write("new")
    assert path.read_text() == "new"
    with inputs_kept():
        is_input(path)
        with pytest.raises(InvalidInput, match="not written over"), atomic_write(path) as file:
            file.write("lost")
    shutil.copy(path, tmp_path / "copy")
    assert path.read_text() == "new"
