"""Every code block of the README and the documentation runs, page by page, in an empty folder."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILD = runpy.run_path(str(ROOT / "docs" / "build.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if re.search(r"^```(python|bash)", page.read_text(encoding="utf-8"), re.M)]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page):
    BUILD["run_blocks"](page.read_text(encoding="utf-8"))


def test_what_blocks_print_is_shown_and_failures_are_loud():
    page = "```bash\necho one\n```\n\n```python\nx = 2\nprint(x)\n```\n\n```python\nprint(x + 1)\n```\n"
    assert BUILD["run_blocks"](page) == ["one\n", "2\n", "3\n"]
    with pytest.raises(RuntimeError, match="no such"):
        BUILD["run_blocks"]("```bash\nweakly check no-such-file.tsv\n```\n")


def test_gallery_has_a_dozen_examples_with_words():
    scripts = sorted((ROOT / "docs" / "gallery").glob("*.py"))
    assert len(scripts) >= 12
    assert all(script.read_text(encoding="utf-8").startswith('"""') for script in scripts)
