"""The suite in copies of one process: every test runs once, whatever becomes of the others."""

import os
import re
import subprocess
import sys
from pathlib import Path

SUITE = {
    "test_dies.py": "import os\ndef test_before(): pass\ndef test_dies(): os._exit(3)\ndef test_after(): pass",
    "test_fails.py": "def test_fails(tmp_path): assert tmp_path == 1\ndef test_passes(): print('heard')",
    "test_warns.py": "import warnings\ndef test_warns(): warnings.warn('mind this')\n"
    "import pytest\n@pytest.mark.skip(reason='away')\ndef test_skipped(): pass",
}


def ran(folder, *options):
    for name, text in SUITE.items():
        (folder / name).write_text(text)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "copies",
        "-rA",
        "-c",
        os.devnull,
        "--rootdir",
        str(folder),
        *options,
    ]
    return subprocess.run([*words, str(folder)], capture_output=True, text=True, env=environment, cwd=folder)


def test_every_test_is_told_once(tmp_path):
    result = ran(tmp_path, "--copies", "2")
    told = sorted(re.findall(r"^(PASSED|FAILED|SKIPPED).*?::?(?:test_)?(\w+)", result.stdout, re.M))
    names = [("FAILED", "dies"), ("FAILED", "fails"), ("PASSED", "after"), ("PASSED", "before"), ("PASSED", "passes"),
             ("PASSED", "warns")]  # fmt: skip
    assert [each for each in told if each[0] != "SKIPPED"] == names
    assert "2 failed, 4 passed, 1 skipped, 1 warning" in result.stdout
    assert "ended with status" in result.stdout
    assert "mind this" in result.stdout
    assert result.returncode == 1


def test_the_first_failure_ends_it_where_that_is_asked(tmp_path):
    result = ran(tmp_path, "--copies", "2", "-x", "--deselect", "test_dies.py::test_dies")
    assert result.returncode == 1
    assert "stopping after 1 failures" in result.stdout
    assert "test_passes" not in result.stdout
