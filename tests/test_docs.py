"""Every code block of the README and the documentation runs, page by page, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|bash)[^\n]*\n(.*?)^```", re.S | re.M)
#: Commands that a page shows but that do not end, need a cluster, or make what the tests themselves stand on.
SHOWN_ONLY = ("make ", "weakly serve", "pip ", "git ", "dask ", "--scheduler", "label-studio")


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(kind, text) for kind, text in BLOCK.findall(page.read_text(encoding="utf-8"))]


def commands(text: str) -> str:
    lines = text.replace("\\\n", " ").splitlines()
    return "\n".join(line for line in lines if not any(word in line for word in SHOWN_ONLY))


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks_run(page, tmp_path):
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "MPLBACKEND": "Agg",
        "NO_COLOR": "1",
    }
    script: list[str] = []
    for kind, text in blocks(page):
        if kind == "bash":
            script.append(f"import subprocess\nsubprocess.run(['bash', '-euc', {commands(text)!r}], check=True)")
        else:
            script.append(text)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(script)], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_gallery_has_a_dozen_examples_with_words():
    scripts = sorted((ROOT / "docs" / "gallery").glob("*.py"))
    assert len(scripts) >= 12
    assert all(s.read_text(encoding="utf-8").startswith('"""') for s in scripts)
