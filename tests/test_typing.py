"""A program of a user's, under ``mypy --strict``: what comes back has a type, and a slip in an argument is found."""

import inspect
import re
from pathlib import Path

import pytest

import weakly

ROOT = Path(__file__).parents[1]
#: What mypy must reveal in ``typing_user.py``, in order.
REVEALED = [
    "weakly.studies.evaluate.evaluation.Evaluation",
    "float | numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.float64]]",
    "dict[str, Any]",
    "tuple[weakly.base.results.Finding, ...]",
    "weakly.studies.simulate.Simulation",
    "pandas.core.frame.DataFrame",
    "weakly.studies.infer.inference.Inference",
    "pandas.core.frame.DataFrame",
    "weakly.studies.audit.audit_result.Audit",
    "bool",
    "pathlib.Path",
    "weakly.studies.plan.plan_result.Plan",
    "weakly.model.lengths.Lengths",
]


def test_a_program_of_a_user_is_typed(monkeypatch):
    """One run, with the cache that `make lint` keeps: an unused ignore, so a slip that is not found, is an error."""
    api = pytest.importorskip("mypy.api")
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MYPYPATH", str(Path(weakly.__file__).parents[1]))
    out, err, code = api.run(["--strict", "tests/typing_user.py"])
    assert code == 0, out + err
    assert re.findall(r'Revealed type is "(.*)"', out) == REVEALED


@pytest.mark.parametrize("verb", ["evaluate", "simulate", "plan", "audit", "infer", "queries"])
def test_no_argument_takes_anything(verb):
    parameters = inspect.signature(getattr(weakly, verb)).parameters.values()
    assert not [each.name for each in parameters if "Any" in str(each.annotation)]


def test_no_argument_of_a_formula_takes_anything():
    formulas = {name: getattr(weakly.theory, name) for name in weakly.theory.__all__}
    loose = [
        f"{name}({each.name})"
        for name, formula in formulas.items()
        if inspect.isfunction(formula)
        for each in inspect.signature(formula).parameters.values()
        if "Any" in str(each.annotation)
    ]
    assert not loose
