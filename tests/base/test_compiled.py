"""Compiled code: no number may depend on what ran before, on who filled the cache, or on the order of questions."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import weakly
from weakly.base import compiled
from weakly.base.compiled import _Files, _same_in_python, code_digest, count_up_to, kernel, leaf, sort_together

HOUSE = Path(weakly.__file__).parent
#: What a kernel may call of NumPy: what numba writes out in place, or as one function that is the same everywhere.
PLAIN = {
    *("empty", "empty_like", "zeros", "zeros_like", "inf", "nan", "int64", "float64", "bool_", "uint8"),
    *("floor", "ceil", "isfinite", "isnan", "isinf", "abs", "sqrt", "exp", "log", "log1p", "expm1", "minimum"),
    *("maximum", "int32", "uint64", "pi", "round", "uint32", "nextafter"),
}


MARKS = {"kernel", "leaf", "njit", "jit", "vectorize", "guvectorize", "overload", "cfunc", "stencil"}
MAKES = {"empty", "empty_like", "zeros", "zeros_like", "ones", "full", "copy", "reshape"}
CALLS = {"sorted", "prange", "map", "filter", "sort", "argsort", "searchsorted", "sum", "mean", "any", "all"}


@cache
def kernels():
    """Every function of the package that is compiled, with its file."""
    return list(_kernels())


def _kernels():
    for path in sorted(HOUSE.rglob("*.py")):
        text = path.read_text()
        typed = {"overload"} if re.search(r"from typing import .*\boverload\b", text) else set()  # not numba's
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                parts = [part for mark in node.decorator_list for part in ast.walk(mark)]
                marks = {getattr(part, "id", getattr(part, "attr", "")) for part in parts} & MARKS - typed
                if marks:
                    yield path.relative_to(HOUSE).as_posix(), node, marks


def refused(node):
    """What a kernel's source must not hold: closures, parallel regions, and what numba builds as closures."""
    for part in ast.walk(node):
        if isinstance(part, ast.Lambda) or (isinstance(part, ast.FunctionDef) and part is not node):
            yield f"line {part.lineno}: a closure"
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in ("np", "numpy"):
            if part.attr not in PLAIN:
                yield f"line {part.lineno}: np.{part.attr}"
        elif isinstance(part, ast.Call) and getattr(part.func, "id", getattr(part.func, "attr", "")) in CALLS:
            yield f"line {part.lineno}: a sort, a search or a reduction"


def test_no_kernel_calls_what_numba_builds_as_a_closure():
    found = kernels()
    assert len(found) > 20, "the walk no longer finds the kernels"
    wrong = [f"{file} {node.name}: {why}" for file, node, _ in found for why in refused(node)]
    assert not wrong, "sort before the kernel, or with weakly.base.compiled.sort_together: " + "; ".join(wrong)
    alien = [file for file, _, marks in found if not marks & {"kernel", "leaf"}]
    assert not alien, "every compiled function is a weakly kernel"


LEAVES = """
import gc, json, pickle
import numpy as np
from weakly.base.compiled import Kernel
from weakly.methods.base import AnswerHistory, Recording
from weakly.methods.information import Information
from weakly.model.intervals import Features
heard = Features(0.1 * np.arange(200.0), np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32))
Information().next(Recording("a", 20.0, features=heard), AnswerHistory(np.array([[0.0, 2.0], [3.0, 9.0]]), np.ones(2)))
print(json.dumps([
    (one.__name__, str(pickle.loads(kept.read_bytes()[32:])[3].return_type))
    for one in gc.get_objects() if isinstance(one, Kernel) and one.options
    for kept in one._files.kept()
]))
"""


def test_no_leaf_makes_or_returns_an_array():
    """Nobody counts its references, so nobody would free it; or somebody twice. What is kept of it tells its type."""
    leaves = {node.name: node for _, node, marks in kernels() if "leaf" in marks}
    for name, node in leaves.items():
        called = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
        assert not {getattr(part, "attr", "") for part in called} & MAKES, name
        assert not any(isinstance(part, ast.List | ast.ListComp) for part in ast.walk(node)), name
    run = subprocess.run([sys.executable, "-c", LEAVES], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    back = json.loads(run.stdout)
    assert {name for name, _ in back} == set(leaves), "each is compiled, and looked at"
    assert not [(name, kind) for name, kind in back if "array" in kind or "list" in kind]


def test_the_walk_sees_what_it_must_refuse():
    source = "def f(x):\n    x.sort()\n    z = sorted(x)\n    return (lambda v: v)(np.unique(z))"
    assert len(list(refused(ast.parse(source).body[0]))) == 4


DOORS = """
import json, sys
import weakly as wk
import weakly.base.compiled
weakly.base.compiled.PATIENCE = (0.0, 0.0)  # nothing is interpreted
REC = [[(1.0, 2.0), (4.0, 5.5)], [(3.0, 4.0), (6.0, 6.4), (7.0, 9.5)], [(0.1 * i, 0.1 * i + 0.05) for i in range(150)]]
def words(found):
    return [repr(float(v)) for v in found.to_frame()[["overlap_accuracy", "event_recall", "wrong_time"]].iloc[0]]
def asked(**how):
    return words(wk.evaluate(REC, recording_length=20.0, **how))
DOOR = {
    "random": lambda: asked(segment_length=1.0, presence_criterion=0.5),
    "grid": lambda: asked(segment_length=1.0, presence_criterion=0.5, phase=0.0),
    "windows": lambda: asked(segment_length=1.2, hop=0.3, votes=2, presence_criterion=0.5),
    "rule": lambda: asked(segment_length=1.0, rule=wk.PresenceRule.seconds(0.25), phase=0.0),
    "simulate": lambda: words(wk.simulate(1.0, n_events=3, recording_length=20, segment_length=1,
                                          presence_criterion=0.5, n_recordings=50, rng=1)),
}
print(json.dumps({name: DOOR[name]() for name in sys.argv[1:]}))
"""
NAMES = ("random", "grid", "windows", "rule", "simulate")


def ask(*names, cache=None, house=HOUSE.parent, code=DOORS):
    """The answers of some doors, in this order, in a process of their own, and what the code prints behind them; with
    no cache of its own it takes, and fills, that of all tests."""
    env = {**os.environ, **({"NUMBA_CACHE_DIR": str(cache)} if cache else {}), "PYTHONPATH": str(house)}
    run = subprocess.run([sys.executable, "-c", code, *names], env=env, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    said = [json.loads(line) for line in run.stdout.splitlines()]
    return said[0] if code is DOORS else said


COMPILED = (
    DOORS
    + """
import gc
from numba.core.dispatcher import Dispatcher
names = [
    (kernel.py_func.__name__, function.name)
    for kernel in gc.get_objects()
    if isinstance(kernel, Dispatcher) and kernel.py_func.__module__.startswith("weakly")
    for result in kernel.overloads.values()
    for function in result.library._final_module.functions
    if not function.is_declaration
]
print(json.dumps(names))
"""
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that two processes filled at once, in different orders; what doors answered, and which functions the
    machine code holds."""
    cache = tmp_path_factory.mktemp("cache")
    with ThreadPoolExecutor(2) as pool:
        orders = [("rule", "grid"), ("grid",)]
        (one, names), (two, others) = pool.map(lambda order: ask(*order, cache=cache, code=COMPILED), orders)
    return cache, [one, two], names + others


def test_answers_do_not_depend_on_the_cache_or_on_what_ran_before(filled):
    """Others take what these processes and other tests compiled, alone and in another order; then it is damaged."""
    cache, asked, _ = filled
    every = ask(*NAMES)
    asked += [ask("grid", cache=cache), ask(*NAMES[2:], *NAMES[:2])]
    assert len(list(cache.rglob("*.nbc"))) > 15
    damaged = [*cache.rglob("*scoring._on_grid-*.nbc"), *sorted(cache.rglob("*engine.grid.*.nbc"))[:2]]
    content = bytearray(damaged[0].read_bytes())
    content[len(content) // 2] ^= 1
    broken = bytes(content), damaged[1].read_bytes()[:2000], b""  # one byte changed, cut short, empty
    for path, bytes_ in zip(damaged, broken, strict=True):
        path.write_bytes(bytes_)
    asked.append(ask("grid", "rule", cache=cache))
    assert damaged[0].read_bytes() != broken[0], "compiled and kept again"
    for found in asked:
        assert found == {name: every[name] for name in found}
    assert len(asked[3]) == len(NAMES)


def test_machine_code_holds_no_function_that_is_not_ours(filled):
    """What a cached kernel defines is linked by name with what others define: every name must tell one function."""
    names = filled[2]
    assert len(names) > 50
    foreign = {(who, name) for who, name in names if "6weakly" not in name and not name.startswith("NRT_")}
    assert not foreign
    closures = {(who, name) for who, name in names if "3clocals" in name}
    assert not closures


#: A kernel that calls a kernel of another file, its answer, and the digests of all kernels that are loaded.
CALLER = """
from ..base.compiled import kernel
from .sweep import satisfied
@kernel
def caller(h, limits, table):
    return satisfied(h, limits, table)
"""
ASK_CALLER = """
import gc, json, numpy as np
import weakly.base.compiled as compiled, weakly.engine.scoring, weakly.methods.model
from weakly.engine.caller import caller
compiled.PATIENCE = (0.0, 0.0)
print(json.dumps(int(caller(0.6, np.array([0.1, 0.5, 0.9]), np.zeros(1025, np.int64)))))
found = [one for one in gc.get_objects() if isinstance(one, compiled.Kernel)]
print(json.dumps({f"{one.py_func.__module__}.{one.__name__}": compiled.code_digest(one) for one in found}))
"""


def test_an_edit_compiles_what_it_changes_and_nothing_else(tmp_path):
    """A comment costs no compile; a changed kernel in another file is not answered from the old cache."""
    house = tmp_path / "src"
    shutil.copytree(HOUSE, house / "weakly", ignore=shutil.ignore_patterns("__pycache__"))
    (house / "weakly/engine/caller.py").write_text(CALLER)

    def asked():
        answer, digests = ask(cache=tmp_path / "cache", house=house, code=ASK_CALLER)
        return answer, digests, {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nbc")}

    answer, digests, kept = asked()
    assert answer == 2
    assert len(digests) > 50
    assert len(kept) == 2
    for path in (house / "weakly").rglob("*.py"):
        path.write_text(path.read_text() + "\n# a comment\n")
    assert asked() == (answer, digests, kept)
    sweep = house / "weakly/engine/sweep.py"  # count one criterion less than is met
    text = sweep.read_text()
    assert text.count("    return j\n") == 1
    sweep.write_text(text.replace("    return j\n", "    return max(j - 1, 0)\n"))
    answer, now, _ = asked()
    assert answer == 1
    changed = {name.removeprefix("weakly.engine.") for name in digests if digests[name] != now[name]}
    assert changed >= {"sweep.satisfied", "caller.caller", "grid.criteria", "sweep.sweep"}
    assert not {name for name in changed if name.startswith("weakly.") or name in ("sweep._ends", "tally.accumulate")}


@pytest.mark.parametrize("change", ["callee", "constant", "array", "module constant", "fields", "option", "home"])
def test_the_digest_of_a_kernel_holds_what_its_code_depends_on(change, monkeypatch):
    from types import ModuleType

    module = ModuleType("weakly.constants")
    module.LIMIT = 3
    scope = {"kernel": kernel, "leaf": leaf, "ONE": 1.0, "ROW": np.arange(3), "module": module,
             "Pair": namedtuple("Pair", "a b")}  # fmt: skip
    source = """
@kernel
def low(x):
    return x + ONE * ROW[0] + module.LIMIT
@kernel
def high(x):
    return low(x) + Pair(1, 2).a
"""
    exec(source, scope)
    before = code_digest(scope["high"])
    exec(source, scope)
    assert code_digest(scope["high"]) == before
    if change == "callee":
        exec(source.replace("x + ONE", "x - ONE"), scope)
    elif change == "option":
        exec(source.replace("@kernel\ndef low", "@leaf\ndef low"), scope)
    elif change == "constant":
        scope["ONE"] = 2.0
    elif change == "array":
        scope["ROW"] = np.arange(1, 4)
    elif change == "module constant":
        module.LIMIT = 4
    elif change == "fields":
        scope["Pair"] = namedtuple("Pair", "b a")
    elif change == "home":  # kept machine code asks for what it calls by the name of its module
        scope["low"].py_func.__module__ = "weakly.elsewhere"
    assert code_digest(scope["high"]) != before


# --- in Python or compiled -------------------------------------------------------------------------------------------


@pytest.fixture
def patience(monkeypatch):
    """Sets how long every kernel may take in Python: not at all, or as long as it likes."""
    from weakly.engine import exact, grid, scoring, sweep, tally, voting
    from weakly.methods import bisection, model
    from weakly.model import detection, intervals

    rooms = (compiled, detection, intervals, exact, grid, scoring, sweep, tally, voting, bisection, model)
    found = {id(one): one for room in rooms for one in vars(room).values() if isinstance(one, compiled.Kernel)}

    def chosen(seconds):
        for one in found.values():
            monkeypatch.setattr(one, "_left", seconds)

    assert all(map(_same_in_python, found.values())), "what a small plan or evaluation needs is not compiled for it"
    return chosen


@pytest.mark.parametrize(
    "how",
    [
        {"presence_criterion": [0.1, 0.5, 1.0], "phase": "random"},
        {"presence_criterion": [0.1, 0.5, 1.0], "phase": 0.3, "edge": "inside"},
        {"rule": "seconds:0.5|fraction:0.5", "phase": 0.0},
        {"presence_criterion": 0.4, "hop": 0.5, "votes": 2, "phase": "random"},
        {"annotator": weakly.Annotator.beta(2, 3, guess_rate=0.1, votes=(2, 3)), "phase": "random"},
        {"annotator": weakly.Annotator.beta(2, 3, guess_rate=0.1, votes=(2, 3)), "phase": 0.0, "hop": 1.0, "votes": 1},
    ],
)
def test_python_and_machine_code_give_the_same_bits(how, patience):
    rng = np.random.default_rng(5)
    world = [[(a, a + d) for a, d in zip(np.sort(rng.uniform(0, 12, 3)), rng.gamma(1.0, 0.9, 3))] for _ in range(2)]
    found = []
    for seconds in (1e9, 0.0):
        patience(seconds)
        found.append(weakly.evaluate(world, recording_length=16.0, segment_length=[1.0, 3.0], **how).to_frame())
    for name in found[0].select_dtypes("number"):
        assert found[0][name].to_numpy().tobytes() == found[1][name].to_numpy().tobytes(), name


def test_a_small_plan_and_a_small_evaluation_load_no_numba_and_no_scipy_stats(tmp_path):
    """What a person meets first takes a second or two, not the twenty that compiling takes."""
    code = """
import sys
import weakly as wk
wk.plan("1", presence_criterion=0.5, recording_length=100.0, n_events=1).answer  # as the command line has it
wk.evaluate([[(1.0, 2.0), (4.0, 5.5)]] * 20, recording_length=20.0, segment_length=[1.0, 3.0], presence_criterion=0.5)
print({"numba", "scipy.stats", "matplotlib"} & set(sys.modules))
"""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=env, capture_output=True, text=True)
    assert run.stdout.strip() == "set()", run.stderr
    assert not run.stderr


def _add(values, n, out):
    for _ in range(n):
        for i in range(values.shape[0]):
            out[i] += values[i]


def _divide(x, y, out):
    out[0] += 1.0
    out[1] = 1.0 / float(x - y)


def _exponential(x):
    return np.exp(x)


def _power(x):
    return x**3


def test_a_long_call_is_given_up_and_done_by_machine_code(monkeypatch):
    monkeypatch.setattr(compiled, "_STEPS", 50)
    adds, values, out = kernel(_add), np.arange(4.0), np.full(4, 10.0)
    adds._left = 60.0  # whether or not an earlier test has kept its machine code
    adds(values, 3, out)
    assert out.tolist() == [10.0, 13.0, 16.0, 19.0]
    assert "compiled" not in vars(adds)
    adds(values, 20, out)  # of which Python does seven
    assert out.tolist() == [10.0, 33.0, 56.0, 79.0], "what Python had added is taken back"
    assert vars(adds)["compiled"].signatures


def test_what_python_refuses_is_done_by_machine_code():
    divides, out = kernel(_divide), np.zeros(2)
    divides._left = 60.0
    divides(1.0, 1.0, out)
    assert out.tolist() == [1.0, np.inf]


def test_large_arrays_are_not_looked_at_in_python():
    adds, values = kernel(_add), np.ones(compiled._SMALL)
    adds._left = 60.0
    adds(values, 1, np.zeros(compiled._SMALL))
    assert "_python" not in vars(adds)


@pytest.mark.parametrize("function", [_exponential, _power])
def test_what_may_round_differently_is_compiled_at_once(function):
    one = kernel(function)
    one(0.3)
    assert "_python" not in vars(one)


def test_patience_is_spent_once(monkeypatch):
    adds, out = kernel(_add), np.zeros(2)
    adds._left = 1e-9
    adds(np.ones(2), 1, out)
    adds(np.ones(2), 1, out)
    assert out.tolist() == [2.0, 2.0]
    assert vars(adds)["compiled"].signatures


COUNTS = """
import json, numpy as np, weakly.base.compiled as compiled
compiled.PATIENCE, compiled.ANNOUNCED = (0.0, 0.0), 0.01
print(json.dumps(compiled.count_up_to(np.array([1.0, 2.0, 3.0]), 2.0)))
"""


def test_a_long_compile_says_so_in_one_line(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for expected in (1, 0):  # then it is kept
        run = subprocess.run([sys.executable, "-c", COUNTS], env=env, capture_output=True, text=True, check=True)
        assert run.stderr.count("weakly: compiling") == run.stderr.count("\n") == expected, run.stderr


def _double(x):
    return 2 * x


def test_a_folder_that_takes_nothing_costs_time_and_no_answer(tmp_path, monkeypatch):
    from numba.core.caching import CacheImpl

    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    assert kernel(_double)(4) == 8
    (tmp_path / "file").write_text("not a folder")
    assert ask(cache=tmp_path / "file", code=COUNTS) == [2]


def test_a_full_disk_costs_time_and_no_answer(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_Files, "save", full)
    assert kernel(_double)(4) == 8


@given(
    arrays.arrays(np.float64, st.integers(0, 200), elements=st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, 2.0])),
)
def test_sort_together_sorts_and_keeps_ties_in_order(values):
    keys, carried = values.copy(), np.arange(len(values), dtype=np.float64)
    sort_together(keys, carried)
    order = np.argsort(values, kind="stable")
    assert keys.tolist() == values[order].tolist()
    assert carried.tolist() == order.tolist()


@given(arrays.arrays(np.float64, st.integers(0, 30), elements=st.sampled_from([0.0, 1.0, 2.0])), st.floats(-1, 3))
def test_count_up_to_counts(values, value):
    assert count_up_to(np.sort(values), value) == (values <= value).sum()


def test_sort_together_sorts_many():
    values = np.random.default_rng(1).normal(size=100_003)
    keys, carried = values.copy(), values.copy()
    sort_together(keys, carried)
    assert np.array_equal(keys, np.sort(values))
    assert np.array_equal(carried, keys)


@pytest.mark.parametrize("content", [b"", b"x" * 10, b"\0" * 64])
def test_a_damaged_file_is_a_miss(tmp_path, content):
    files = _Files(str(tmp_path), "k", lambda: "depends")
    files.save("key", {"a": 1})
    assert files.load("key") == {"a": 1}
    assert files.load("another") is None
    next(tmp_path.glob("*.nbc")).write_bytes(content)
    assert files.load("key") is None


#: Is to compile, leaves a process behind that it forked, and saves once it is told.
HOLDER = """
import os, sys, time
from weakly.base.compiled import _Files
files = _Files(sys.argv[1], "k", lambda: "depends")
assert files.load("key") is None
child = os.fork()
if child == 0:
    time.sleep(60)
print(child, flush=True)
sys.stdin.readline()
files.save("key", {"a": 1})
"""


@pytest.mark.parametrize("ends", ["saved", "killed"])
def test_one_process_compiles_and_the_others_wait_for_it(tmp_path, ends):
    files = _Files(str(tmp_path), "k", lambda: "depends")
    with (
        subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path], text=True, stdin=-1, stdout=-1) as holder,
        ThreadPoolExecutor(1) as pool,
    ):
        child = int(holder.stdout.readline())
        try:
            waits = pool.submit(files.load, "key")
            with pytest.raises(TimeoutError):
                waits.result(timeout=0.3)
            assert files.load("another") is None, "each key has its own lock"
            if ends == "saved":
                print(file=holder.stdin, flush=True)
            else:
                holder.kill()
            assert waits.result(timeout=30) == ({"a": 1} if ends == "saved" else None)
        finally:
            os.kill(child, 9)


def test_who_fails_to_compile_keeps_nobody_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path)
    adds = kernel(_add)
    adds._left = 0.0
    with pytest.raises(Exception, match="Unknown attribute 'shape'"):
        adds("text", 1, np.zeros(2))
    assert (tmp_path / "locks").exists()
    ask = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    subprocess.run([sys.executable, "-c", ask, tmp_path / "locks"], check=True)


def test_a_folder_that_cannot_be_locked_costs_time_only(tmp_path):
    (tmp_path / "locks").mkdir()
    files = _Files(str(tmp_path), "k", lambda: "depends")
    assert files.load("key") is None
    files.save("key", {"a": 1})
    assert files.load("key") == {"a": 1}


def test_machine_code_for_a_tuple_whose_class_has_moved_is_a_miss(tmp_path):
    from numba import types

    files = _Files(str(tmp_path), "k", lambda: "depends")
    here, there = (namedtuple("Chain", "n", module=home) for home in ("weakly.a", "weakly.b"))
    keys = [((types.NamedTuple([types.int64], one),), "this machine", "digest") for one in (here, there)]
    files.save(keys[0], {"a": 1})
    assert files.load(keys[0]) == {"a": 1}
    assert files.load(keys[1]) is None


AT_ONCE = """
from concurrent.futures import ThreadPoolExecutor
from weakly.base.compiled import Kernel
from weakly.posterior.kernels import forward

def ask(_):
    try:
        Kernel.compiled.func(forward)  # from Python 3.12 on, a cached property has no lock of its own
    except Exception as error:
        return type(error).__name__

with ThreadPoolExecutor(8) as pool:
    print(*pool.map(ask, range(8)))
"""


def test_what_numba_refuses_is_refused_in_every_thread():
    """Threads that import it at once would else find half of it where one of them was refused."""
    done = subprocess.run([sys.executable, "-c", AT_ONCE], env=os.environ | {"NUMBA_NUM_THREADS": "0"},
                          capture_output=True, text=True)  # fmt: skip
    assert (done.returncode, done.stdout.split()) == (0, ["InvalidInput"] * 8), done.stderr
