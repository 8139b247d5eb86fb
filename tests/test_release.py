"""What is published: the lock file, the licences of what comes along, the archives that people install."""

import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def _asked():
    """Every requirement of the package, its extras and the groups that CI installs."""
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    lists = [project["dependencies"], *project["optional-dependencies"].values(), *groups.values()]
    return [each for lines in lists for line in lines if (each := Requirement(line)).name != "weakly"]


def _name(text):
    return re.sub(r"[-_.]+", "-", text).lower()


def test_the_lock_file_holds_every_requirement_within_its_bounds():
    locked = {}
    for line in (ROOT / ".ci/lock.txt").read_text().splitlines():
        if match := re.match(r"([A-Za-z0-9._-]+)(?:\[.*?\])?==(\S+)", line):
            locked.setdefault(_name(match[1]), []).append(match[2])
    assert len(locked) > 100
    for requirement in _asked():
        assert _name(requirement.name) in locked, f"{requirement}: not in .ci/lock.txt; run `make lock`"
        for version in locked[_name(requirement.name)]:
            assert requirement.specifier.contains(version, prereleases=True), (
                f"{requirement}: {version}; run `make lock`"
            )


def test_every_locked_version_has_a_hash_and_no_address():
    text = (ROOT / ".ci/lock.txt").read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text


def _licence(name):
    """The licence that a distribution states: its expression, its classifiers, its free text, else its file's words."""
    data = importlib.metadata.metadata(name)
    classifiers = [each for each in data.get_all("Classifier") or [] if each.startswith("License ::")]
    stated = data.get("License-Expression") or "; ".join(classifiers) or (data.get("License") or "")[:200]
    if not stated:
        texts = [
            each for each in importlib.metadata.files(name) or [] if re.search(r"licen[sc]e|copying", each.name, re.I)
        ]
        stated = " ".join(each.read_text()[:400] for each in texts)
    return stated


def _installed_with(requirements):
    """The installed distributions that these requirements bring along, themselves included."""
    found, waiting = {}, [(each, "") for each in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = _name(requirement.name)
        known = found.setdefault(name, set())
        for own in {"", *requirement.extras} - known:
            known.add(own)
            lines = importlib.metadata.requires(requirement.name) or []
            waiting += [(Requirement(line), own) for line in lines]
    return sorted(found)


def test_nothing_that_comes_along_is_gpl_or_non_commercial():
    """LGPL, as of psycopg, is linked by name at run time and may stay; GPL and non-commercial terms may not."""
    project = PROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    asked = [each for lines in lists for line in lines if (each := Requirement(line)).name != "weakly"]
    names = _installed_with(asked)
    assert {"numpy", "scipy", "numba"} <= set(names)
    for name in names:
        licence = _licence(name)
        words = re.sub(r"LGPL\S*|Lesser General Public\S*|GNU Library or Lesser.*?\)", "", licence, flags=re.I)
        assert licence, f"{name} states no licence"
        assert not re.search(r"\bA?GPL|General Public|non-?commercial|CC-BY-NC", words, re.I), f"{name}: {licence}"


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The sdist, and the wheel that is built from it, as they are uploaded."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def test_the_archives_hold_the_package_and_nothing_of_the_developer(archives):
    sdist, wheel = archives
    with tarfile.open(sdist) as held:
        names = {name.partition("/")[2] for name in held.getnames()}
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src/weakly").rglob("*") if path.is_file()}
    source = {name for name in source if "__pycache__" not in name}
    assert source | {"weakly/py.typed"} <= packed
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= names
    for name in names | packed:
        assert not re.search(r"\.venv|__pycache__|\.db$|\.(mypy|ruff|pytest)_cache|(^|/)(demo|site|build)/", name), name


def test_the_wheel_answers_where_the_source_is_not(archives, tmp_path):
    into = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(into), str(archives[1])]
    subprocess.run(pip, check=True, capture_output=True)
    code = (
        "import weakly, pathlib; from weakly.cli import main; print(pathlib.Path(weakly.__file__).parents[1]);"
        "main(['evaluate', 'events.csv', '--segment-length', '1', '--presence-criterion', '0.5', '--json'])"
    )
    (tmp_path / "events.csv").write_text("recording,onset,offset,label\na.wav,1,2.5,owl\na.wav,7,8,owl\n")
    environment = {**os.environ, "PYTHONPATH": str(into)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(str(into)), ran.stdout
    assert '"overlap_accuracy"' in ran.stdout


def test_a_format_brings_along_only_what_it_reads():
    """A TextGrid needs no pyarrow; `formats` is all of them; every line that a missing package prints can be typed."""
    extras = PROJECT["project"]["optional-dependencies"]

    def brought(extra):
        asked = [Requirement(line) for line in extras[extra]]
        own = {_name(each.name) for each in asked if each.name != "weakly"}
        return own.union(*(brought(other) for each in asked if each.name == "weakly" for other in each.extras))

    assert "praatio" not in brought("all")  # TextGrids are read here
    assert brought("formats") >= {"pympi-ling", "pyarrow", "fsspec", "edfio", "wfdb"}
    home = {"pympi": "pympi-ling", "python-multipart": "python-multipart"}
    asked = [
        (match[1], match[2])
        for path in (ROOT / "src").rglob("*.py")
        for match in re.finditer(r'optional\("([\w.]+)", extra="(\w+)"\)', path.read_text())
    ]
    assert len(asked) > 10
    for module, extra in asked:
        name = _name(module.partition(".")[0])
        assert home.get(name, name) in brought(extra), f"{module} is not in weakly[{extra}]"
