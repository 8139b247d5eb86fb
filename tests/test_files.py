"""Files are there whole or not at all, and what a command reads it never writes over."""

import os
import shutil

import pytest

from weakly.cli import main
from weakly.errors import InvalidInput
from weakly.files import atomic_write, inputs_kept, is_input

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
    "plan": ["plan", "{in}", "--presence-criterion", "0.5", "--report", "{out}"],
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
        main(arguments)
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
