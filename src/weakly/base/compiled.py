"""Kernels: functions that are interpreted while a task is small, and compiled by numba once it is not.

Compiling takes seconds and loading numba most of one; Python does what a small plan asks in less. So a kernel begins
in Python, within a patience of seconds that is short where its machine code is kept. A call that takes longer is given
up, what it wrote is put back, and numba does it and all that follow. Both give the same bits: a kernel that calls what
NumPy may round differently (exp, powers) is compiled at once.

numba's own cache is not used as it is, for three reasons. Its key watches one file: here it holds the kernel's code,
that of every kernel that it calls, and the constants that they read, so that a change of any of them compiles anew and
an edit beside them does not. Its index is read, changed and written by each process, so two that compile at once can
give one file name to two signatures: here each file is named after its key. And a file cut short raises for ever: here
a file that does not match its own checksum is compiled anew. And processes that miss the same code at once all compile
it: here one does, and the others wait for it.

Nothing that numba builds as a closure may be called in a kernel, above all no sort of NumPy's: the machine code of a
closure is named by a number that counts within one process, so two kernels kept by two processes can carry the same
name for different code, and a third process links one to the other's. ``tests/base/test_compiled.py`` refuses them.
"""

from __future__ import annotations

import builtins
import dis
import hashlib
import math
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, cached_property, partial
from importlib.metadata import version
from pathlib import Path
from time import monotonic, sleep, thread_time
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .errors import InvalidInput
from .results import atomic_write

_HOUSE = Path(__file__).parents[1]
#: Seconds of the processor that a kernel may take in Python: where its machine code is not kept, and where it is.
PATIENCE = (6.0, 0.2)
WAIT = 120.0  # seconds that a process waits for another one's machine code before it compiles for itself
_STARTING = threading.Lock()
ANNOUNCED = 1.0  # seconds of compiling after which a line on stderr says so
_SMALL, _STEPS = 200_000, 500_000  # numbers in the arrays of a call, and steps of its loops, that Python is asked for
#: What gives the same bits in Python and compiled: NumPy's, Python's, and what arrays are asked.
_SAME = {
    *("empty", "empty_like", "zeros", "zeros_like", "inf", "nan", "int64", "float64", "bool_", "floor", "ceil"),
    *("isfinite", "isnan", "sqrt", "range", "min", "max", "int", "float", "abs", "len", "enumerate"),
    *("shape", "reshape", "copy"),
}


@cache
def sources_digest() -> str:
    """A digest of every source file of the package, its version included: what a kept result depends on."""
    digest = hashlib.sha256()
    for path in sorted(_HOUSE.rglob("*.py")):
        digest.update(path.relative_to(_HOUSE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _called(kernel: Any) -> Iterator[tuple[Any, list[tuple[str, Any]]]]:
    """The kernel and every kernel that it calls, each with the names that it reads and their values."""
    known, waiting = {id(kernel)}, [kernel]
    while waiting:
        current = waiting.pop()
        read, names = current.py_func.__code__.co_names, current.py_func.__globals__
        modules = [names[name] for name in read if isinstance(names.get(name), ModuleType)]
        scopes = (names, *(vars(module) for module in modules if module.__name__.startswith("weakly.")))
        values = [(name, scope[name]) for scope in scopes for name in read if name in scope]
        for _, value in values:
            if hasattr(value, "py_func") and id(value) not in known:
                known.add(id(value))
                waiting.append(value)
        yield current, values


def code_digest(kernel: Any) -> str:
    """A digest of what a kernel's machine code depends on: numba, its own code, its kernels and their constants."""
    digest = hashlib.sha256(version("numba").encode())
    for current, values in _called(kernel):
        code = current.py_func.__code__
        home = (current.py_func.__module__, current.py_func.__qualname__)  # machine code names what it calls
        depends = [home, sorted(current.options.items()), code.co_code, code.co_consts, code.co_names, code.co_varnames]
        for name, value in values:
            if isinstance(value, int | float | str | tuple | np.generic):
                depends.append((name, value))
            elif isinstance(value, np.ndarray):
                depends.append((name, value.dtype.str, value.tolist()))
            elif isinstance(value, type):
                depends.append((name, getattr(value, "_fields", None)))
        digest.update(repr(depends).encode())
    return digest.hexdigest()


def _same_in_python(kernel: Any) -> bool:
    """Whether Python gives the same bits as machine code, for the kernel and all that it calls."""
    for current, values in _called(kernel):
        code, known = current.py_func.__code__, dict(reversed(values))  # its own module comes first
        for name in code.co_names:
            plain = isinstance(known.get(name), Kernel | int | float | tuple | np.ndarray | ModuleType)
            if not plain and name not in _SAME and known.get(name) not in (math.log, math.pow):
                return False
        if any(step.opname == "BINARY_OP" and "**" in step.argrepr for step in dis.get_instructions(code)):
            return False
    return True


@cache
def _locks(folder: Path) -> int:
    """The file, kept open, whose bytes stand for what is compiled into this folder."""
    return os.open(folder / "locks", os.O_RDWR | os.O_CREAT, 0o600)


def _lock(folder: Path, byte: int = 0, length: int = 0, *, hold: bool) -> bool:
    """Whether no other process holds these bytes (from the first on, all), which are then held or let go."""
    try:
        import fcntl

        fcntl.lockf(_locks(folder), fcntl.LOCK_EX | fcntl.LOCK_NB if hold else fcntl.LOCK_UN, length, byte)
    except (ImportError, OSError) as error:
        return not isinstance(error, BlockingIOError)  # a system or a folder without locks: nobody waits
    return True


class _Files:
    """Machine code under the digest of its key, behind a checksum; a file that is absent or damaged is a miss.

    Whoever misses it holds a lock until it is compiled and saved, and others wait. The lock is the system's, on a byte
    of one file: it ends with its process, and what is forked from that does not hold it.
    """

    def __init__(self, folder: str, name: str, depends: Callable[[], str]) -> None:
        self._folder, self._name, self._depends = Path(folder), name, cache(depends)

    @cached_property
    def _stem(self) -> str:
        return f"{self._name}-{self._depends()[:12]}."

    def _path(self, key: Any) -> Path:
        # a named tuple by its fields and by the home of its class, which the kept code names
        tuples = [(getattr(part, "fields", None), getattr(part, "instance_class", None)) for part in key[0]]
        digest = hashlib.sha256(f"{self._depends()} {key} {tuples}".encode()).hexdigest()
        return self._folder / f"{self._stem}{digest[:24]}.nbc"

    def kept(self) -> Iterator[Path]:
        """The machine code that is kept, one file per signature."""
        return self._folder.glob(f"{self._stem}*.nbc")

    def _byte(self, key: Any) -> int:
        return int(self._path(key).stem[-12:], 16)

    def load(self, key: Any) -> Any:
        """What is kept, by now, under this key; None: the caller compiles and saves it."""
        until = monotonic() + WAIT
        while (data := self._read(key)) is None and monotonic() < until:
            if _lock(self._folder, self._byte(key), 1, hold=True):
                return self._read(key)
            sleep(0.05)
        return data

    def _read(self, key: Any) -> Any:
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        check, code = content[:32], content[32:]
        return pickle.loads(code) if hashlib.sha256(code).digest() == check else None

    def save(self, key: Any, data: Any) -> None:
        from numba.core.serialize import dumps

        code: bytes = dumps(data)  # type: ignore[no-untyped-call, unused-ignore]
        try:
            with atomic_write(self._path(key), "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
        finally:
            _lock(self._folder, self._byte(key), 1, hold=False)
        for old in self._folder.glob(f"{self._name}-*.nbc"):
            if not old.name.startswith(self._stem):
                with suppress(OSError):
                    old.unlink()


@cache
def _folder() -> Path | None:
    """Where machine code is kept: as the environment says, else beside the package or in the user's cache."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    for root in [told] if told else [_HOUSE / "__pycache__", home]:
        folder = Path(root, f"weakly-{hashlib.sha256(str(_HOUSE).encode()).hexdigest()[:8]}")
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return None


@cache
def _kept() -> Any:
    """A cache of numba's kind for one kernel, as a class; making one raises RuntimeError where no folder takes it."""
    from numba.core.caching import FunctionCache

    class Kept(FunctionCache):
        def __init__(self, compiled: Any, files: _Files) -> None:
            super().__init__(compiled.py_func)  # type: ignore[no-untyped-call, unused-ignore]
            self._cache_file: Any = files

        def save_overload(self, sig: Any, data: Any) -> None:
            with suppress(OSError):  # a full disk or a folder that was locked since costs time, not the answer
                super().save_overload(sig, data)  # type: ignore[no-untyped-call, unused-ignore]

    return Kept


class _Spent(Exception):
    """A call in Python takes longer than it may."""


_running = threading.local()  # `steps`: how many loops of the kernel that this thread interprets may take still


def _range(*bounds: int) -> range:
    loop = range(*bounds)
    _running.steps -= len(loop)
    if _running.steps < 0:
        raise _Spent
    return loop


def _arrays(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _arrays(value)
        elif isinstance(value, np.ndarray):
            yield value


class Kernel:
    """A function on arrays and numbers; see the head of this module."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func, self.options, self.__doc__, self.__name__ = function, options, function.__doc__, function.__name__
        self._left: float | None = None  # of its patience, in seconds

    def __call__(self, *args: Any) -> Any:
        if getattr(_running, "steps", None) is not None:
            return self._python(*args)
        if self._left is None:
            is_kept = self._files is not None and next(self._files.kept(), None) is not None
            at_once = (is_kept and "numba" in sys.modules) or not _same_in_python(self)
            self._left = 0.0 if at_once else PATIENCE[is_kept]
        if self._left > 0:
            arrays = list(_arrays(args))
            if sum(array.size for array in arrays) <= _SMALL:
                before = [(array, array.copy()) for array in arrays if array.flags.writeable]
                begun, _running.steps = thread_time(), _STEPS
                try:
                    with np.errstate(all="ignore"):
                        result = self._python(*args)
                    self._left -= thread_time() - begun
                    return result.item() if isinstance(result, np.generic) else result
                except Exception:  # it takes long, or divides by zero: machine code does it
                    for array, values in before:
                        array[...] = values
                finally:
                    _running.steps = None
            self._left = 0.0
        try:
            return self.compiled(*args)
        except BaseException:  # it may have been interrupted while it was compiled
            if self._files is not None:
                _lock(self._files._folder, hold=False)
            raise

    @cached_property
    def _files(self) -> _Files | None:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}".replace("<", "").replace(">", "")
        return None if _folder() is None else _Files(str(_folder()), name, partial(code_digest, self))

    @cached_property
    def _python(self) -> Any:
        """The function with loops that watch the time."""
        names = {**self.py_func.__globals__, "__builtins__": {**vars(builtins), "range": _range}}
        return FunctionType(self.py_func.__code__, names)

    @cached_property
    def compiled(self) -> Any:
        """The function compiled by numba, without the GIL, its machine code kept where a folder takes it."""
        with _STARTING:  # where two threads import at once and numba refuses, one of them finds half of it
            numba = _numba()
        compiled: Any = numba.njit(nogil=True, error_model="numpy", **self.options)(self.py_func)
        # Without a folder to write to, or with a numba whose caches look different, every process compiles for itself.
        if self._files is not None:
            with suppress(RuntimeError, OSError, ImportError, AttributeError):
                compiled._cache = _kept()(compiled, self._files)
        return compiled

    @property
    def _numba_type_(self) -> Any:  # as which other kernels see it
        return self.compiled._numba_type_


@cache
def _numba() -> Any:
    """numba, which says on stderr when it compiles for longer than a second."""
    try:
        import numba
        from numba.core import event
    except ValueError as error:  # before anything is compiled it looks at its environment
        told = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_")}
        words = ", ".join(f"{name}={value}" for name, value in sorted(told.items())) or "nothing"
        raise InvalidInput(f"numba does not start: {error} The environment has {words}") from error

    timers: list[threading.Timer] = []  # of a kernel, and of those that are compiled for it
    notes = ["weakly: compiling for this machine, which takes seconds; later runs find it done"]  # until they are said

    def announce() -> None:
        if notes:
            print(notes.pop(), file=sys.stderr)

    class Announced(event.Listener):
        def on_start(self, event: Any) -> None:
            timers.append(threading.Timer(ANNOUNCED, announce))
            timers[-1].daemon = True
            if len(timers) == 1 and event.data["dispatcher"].py_func.__module__.startswith("weakly."):
                timers[0].start()

        def on_end(self, event: Any) -> None:
            timers.pop().cancel()

    event.register("numba:compile", Announced())  # type: ignore[no-untyped-call]
    return numba


def kernel(function: Callable[..., Any]) -> Any:
    """The function as a kernel."""
    return Kernel(function, {})


def leaf(function: Callable[..., Any]) -> Any:
    """A kernel that does not count references to arrays, which costs more than its own work where it is small and
    called often. It may change arrays that it is given, but neither make nor return any: nobody would free them."""
    return Kernel(function, {"_nrt": False})


@kernel
def sort_together(keys: Any, carried: Any) -> None:
    """Sort ``keys`` in place, and ``carried`` along with them; ties keep their order. Merges runs of 16."""
    n = keys.shape[0]
    run = 16
    for low in range(0, n, run):
        for i in range(low + 1, min(low + run, n)):
            key, value = keys[i], carried[i]
            j = i - 1
            while j >= low and keys[j] > key:
                keys[j + 1], carried[j + 1] = keys[j], carried[j]
                j -= 1
            keys[j + 1], carried[j + 1] = key, value
    if n <= run:
        return
    other_keys, other_carried = np.empty_like(keys), np.empty_like(carried)
    while run < n:
        for low in range(0, n, 2 * run):
            middle, high = min(low + run, n), min(low + 2 * run, n)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (i < middle and keys[i] <= keys[j]):
                    other_keys[k], other_carried[k] = keys[i], carried[i]
                    i += 1
                else:
                    other_keys[k], other_carried[k] = keys[j], carried[j]
                    j += 1
        for k in range(n):
            keys[k], carried[k] = other_keys[k], other_carried[k]
        run *= 2


@kernel
def count_up_to(ordered: Any, value: float) -> int:
    """How many of the ordered numbers are at most this value."""
    low, high = 0, ordered.shape[0]
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
