"""`wk.theory` is a documented namespace: every name on its page, with words and an example that the site can show."""

import inspect
import re
import runpy
from pathlib import Path

import pytest

import weakly as wk

ROOT = Path(__file__).parents[2]
NAMES = [name for name in wk.theory.__all__ if not inspect.isclass(getattr(wk.theory, name))]


def test_every_closed_form_is_on_the_page_and_nothing_else():
    page = (ROOT / "docs" / "reference" / "theory.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: weakly\.theory\.(\w+)$", page, re.M)) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_closed_form_has_words_and_an_example(name):
    function = getattr(wk.theory, name)
    assert ">>> " in function.__doc__
    keywords = [p.kind for p in inspect.signature(function).parameters.values()]
    assert keywords.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) <= 1


def test_the_site_reads_every_docstring():
    griffe = pytest.importorskip("griffe")
    convert = runpy.run_path(str(ROOT / "docs" / "docstrings.py"))["markdown"]
    for name in NAMES:
        text = convert(inspect.getdoc(getattr(wk.theory, name)))
        assert not re.search(r":(math|class|func|mod|meth|data):`|\.\. math::|\[\d+\]_", text), name
        for section in griffe.Docstring(text).parse("numpy", warnings=False):
            if section.kind is griffe.DocstringSectionKind.parameters:
                assert all(parameter.description for parameter in section.value), name
                assert not any(parameter.annotation for parameter in section.value), name


def test_formulas_and_roles_become_markdown():
    pytest.importorskip("griffe")
    convert = runpy.run_path(str(ROOT / "docs" / "docstrings.py"))["markdown"]
    text = convert(
        "It is.\n\n.. math::\n    a \\\\\n    + b\n\nwith :math:`c`, a :class:`~weakly.Lengths`, "
        ":func:`the plan <plan>` [1]_.\n\n"
        "Parameters\n----------\nx : words\n    and more\n\nNotes\n-----\ny : z\n"
    )
    assert "$$\na \\\\\n+ b\n$$" in text
    assert "with $c$, a `Lengths`, `the plan`." in text
    assert "x\n    words\n    and more" in text
    assert "y : z" in text  # only parameters are rewritten
