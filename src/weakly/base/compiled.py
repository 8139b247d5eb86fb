"""Compiled functions: how numba compiles them, and where their machine code is kept between runs.

numba's own cache is not used as it is, for three reasons. Its key watches one file, so a kernel that calls a changed
kernel of another file would come from the old cache, and an edit beside a kernel compiles it anew: here the key holds
the kernel's code, that of every kernel that it calls, and the constants that they read. Its index is
read, changed and written by each process, so two that compile at once can give one file name to two signatures: here
each file is named after its key. And a file cut short raises for ever: here a file that does not match its own checksum
is compiled anew.

Nothing that numba builds as a closure may be called in a kernel, above all no sort of NumPy's: the machine code of a
closure is named by a number that counts within one process, so two kernels kept by two processes can carry the same
name for different code, and a third process links one to the other's. ``tests/test_compiled.py`` refuses them.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .errors import InvalidInput


@cache
def sources_digest() -> str:
    """A digest of every source file of the package, its version included: what a kept result depends on."""
    digest = hashlib.sha256()
    house = Path(__file__).parents[1]
    for path in sorted(house.rglob("*.py")):
        digest.update(path.relative_to(house).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def code_digest(kernel: Any) -> str:
    """A digest of what a kernel's machine code depends on: numba, its own code, its kernels and their constants."""
    import numba

    digest, known, waiting = hashlib.sha256(numba.__version__.encode()), {id(kernel)}, [kernel]
    while waiting:
        current = waiting.pop()
        code, names = current.py_func.__code__, current.py_func.__globals__
        depends = [sorted(current.targetoptions.items()), code.co_code, code.co_consts, code.co_names, code.co_varnames]
        modules = [names[name] for name in code.co_names if isinstance(names.get(name), ModuleType)]
        for scope in (names, *(vars(module) for module in modules if module.__name__.startswith("weakly."))):
            for name in code.co_names:
                value = scope.get(name)
                if hasattr(value, "py_func"):
                    if id(value) not in known:
                        known.add(id(value))
                        waiting.append(value)
                elif isinstance(value, int | float | str | tuple | np.generic):
                    depends.append((name, value))
                elif isinstance(value, np.ndarray):
                    depends.append((name, value.dtype.str, value.tolist()))
                elif isinstance(value, type):
                    depends.append((name, getattr(value, "_fields", None)))
        digest.update(repr(depends).encode())
    return digest.hexdigest()


class _Files:
    """Machine code under the digest of its key, behind a checksum; a file that is absent or damaged is a miss."""

    def __init__(self, folder: str, name: str, depends: Callable[[], str]) -> None:
        self._folder, self._name, self._depends = Path(folder), name, cache(depends)

    def _path(self, key: Any) -> Path:
        fields = [getattr(part, "fields", None) for part in key[0]] if isinstance(key, tuple) else None
        digest = hashlib.sha256(f"{self._depends()} {key} {fields}".encode()).hexdigest()
        return self._folder / f"{self._name}-{self._depends()[:12]}.{digest[:24]}.nbc"

    def load(self, key: Any) -> Any:
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        check, code = content[:32], content[32:]
        return pickle.loads(code) if hashlib.sha256(code).digest() == check else None

    def save(self, key: Any, data: Any) -> None:
        from numba.core.serialize import dumps

        code: bytes = dumps(data)  # type: ignore[no-untyped-call, unused-ignore]
        path = self._path(key)
        handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=path.name, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        for old in self._folder.glob(f"{self._name}-*.nbc"):
            if not old.name.startswith(f"{self._name}-{self._depends()[:12]}."):
                with suppress(OSError):
                    old.unlink()

    def flush(self) -> None:
        for path in self._folder.glob(f"{self._name}-*.nbc"):
            with suppress(OSError):
                path.unlink()


@cache
def _kept() -> Any:
    """A cache of numba's kind for one kernel, as a class; making one raises RuntimeError where no folder takes it."""
    from numba.core.caching import FunctionCache

    class Kept(FunctionCache):
        def __init__(self, compiled: Any) -> None:
            super().__init__(compiled.py_func)  # type: ignore[no-untyped-call, unused-ignore]
            depends = partial(code_digest, compiled)  # asked when all that the kernel names is there
            self._cache_file: Any = _Files(self._cache_path, self._impl.filename_base, depends)

        def save_overload(self, sig: Any, data: Any) -> None:
            with suppress(OSError):  # a full disk or a folder that was locked since costs time, not the answer
                super().save_overload(sig, data)  # type: ignore[no-untyped-call, unused-ignore]

    return Kept


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """The function compiled by numba, without the GIL, its machine code kept between runs where a folder takes it."""
    try:
        import numba
    except ValueError as error:  # before anything is compiled it looks at its environment
        told = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_")}
        words = ", ".join(f"{name}={value}" for name, value in sorted(told.items())) or "nothing"
        raise InvalidInput(f"numba does not start: {error} The environment has {words}") from error
    compiled: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)  # no check before every division
    # Without a folder to write to, or with a numba whose caches look different, every process compiles for itself.
    with suppress(RuntimeError, OSError, ImportError, AttributeError):
        compiled._cache = _kept()(compiled)
    return compiled


def leaf(function: Callable[..., Any]) -> Any:
    """A kernel that does not count references to arrays, which costs more than its own work where it is small and
    called often. It may change arrays that it is given, but neither make nor return any: nobody would free them."""
    return kernel(function, _nrt=False)


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
