"""Every example in a docstring of the package prints what it says, module by module.

``--doctest-modules`` would import all modules, and collect every test a second time, to find them.
"""

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

import weakly

SOURCE = Path(weakly.__file__).parents[1]
EXAMPLE = re.compile(r"^\s*>>> ", re.M)


def _modules():
    for path in sorted(SOURCE.glob("weakly/**/*.py")):
        if EXAMPLE.search(path.read_text(encoding="utf-8")):
            yield ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", list(_modules()))
def test_examples(name):
    module = importlib.import_module(name)
    text = Path(module.__file__).read_text(encoding="utf-8")
    runner, said = doctest.DocTestRunner(), []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words, where = ast.get_docstring(node) or "", getattr(node, "name", name)
            line = node.body[0].lineno - 1 if words else 0
            runner.run(
                doctest.DocTestParser().get_doctest(words, {**vars(module)}, where, module.__file__, line),
                out=said.append,
            )
    assert not said, "".join(said)
    assert runner.tries == len(EXAMPLE.findall(text))
