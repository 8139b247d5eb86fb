"""The public list: every name loads, type checkers see what it is, and nothing else is promised."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import weakly as wk


def test_every_public_name_loads_and_is_listed():
    for name in wk.__all__:
        assert getattr(wk, name) is not None
    assert set(wk.__all__) <= set(dir(wk))


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(wk.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in block.body for alias in node.names}
    assert seen == set(wk.__all__)


def test_importing_the_package_is_quick():
    code = "import sys, weakly; print(sorted({'numba', 'scipy', 'pandas', 'numpy'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_no_bound_leads_pip_to_a_version_that_cannot_be_built():
    """jams 0.3.4 has no wheel and imports ``imp``, which Python 3.12 has not; ``make resolve`` tries what users get."""
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    assert [one for one in project["dependency-groups"]["test"] if one.startswith("jams")] == ["jams>=0.3.5"]
    assert "jams" not in project["project"]["optional-dependencies"]  # JAMS is read without it
    assert "matrix: resolve" in (root / "Makefile").read_text()
    lowest = subprocess.run([sys.executable, root / ".ci" / "lowest.py"], capture_output=True, text=True, check=True)
    assert {"pympi-ling==1.70.2", "pyarrow==14"} <= set(lowest.stdout.splitlines())


def test_the_reference_lists_every_result():
    """Whatever a public function gives back that has a page, a table and a dictionary."""
    page = (Path(__file__).parents[1] / "docs" / "reference" / "api.md").read_text().split()
    results = [kind for kind in (getattr(wk, name) for name in wk.__all__) if hasattr(kind, "report")]
    assert len(results) > 3
    assert {f"{kind.__module__}.{kind.__name__}" for kind in results} <= set(page)
