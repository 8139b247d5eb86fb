"""The notebooks run from top to bottom, and every result in them shows itself: words, a picture, rows."""

import ast
import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.filterwarnings("ignore::weakly.AssumptionWarning")


def shown(notebook):
    """What each code cell of a notebook shows: the value of its last line."""
    names, values = {}, []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, notebook.name, "exec"), names)
            values += [] if last is None else [eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)]
    return values


def test_there_is_one_for_each_reader():
    assert [each.stem for each in NOTEBOOKS] == ["clip-owner", "eeg-manager", "owl-survey"]
    for each in NOTEBOOKS:  # outputs are made by whoever runs it
        assert all(not cell.get("outputs") for cell in json.loads(each.read_text(encoding="utf-8"))["cells"])


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_results(notebook):
    results = [value for value in shown(notebook) if type(value).__module__.startswith("weakly")]
    assert len(results) >= 2
    for value in results:
        html = value._repr_html_()
        assert html.count("<svg") == 1
        assert "<table" in html
        if hasattr(value, "answer"):
            headline = re.search(r'<p class="answer[^"]*">(.*?)</p>', html)[1]
            assert len(headline.split()) > 4, headline  # a sentence, not only a verdict
        assert 20 < len(repr(value)) < 200
