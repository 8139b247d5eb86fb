"""Work in fixed chunks: on this thread, on any executor, or on a cluster; with a progress bar; always in order."""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from .errors import InvalidInput, WeaklyError, optional

T = TypeVar("T")
LOST_AFTER = 30.0  # seconds without a scheduler
#: Whether to show a bar, or a function that is told (done, total) after every chunk.
Progress = bool | Callable[[int, int | None], None]


@contextmanager
def progress_bar(label: str, total: int | None, *, show: Progress) -> Iterator[Callable[[int], None]]:
    """A function that advances a bar on stderr; the bar appears after one second, and only on a terminal.

    If ``show`` is a function, it is told (done, total) instead, and ends the work if it raises.
    """
    if callable(show):
        done = 0

        def tell(steps: int) -> None:
            nonlocal done
            done += steps
            show(done, total)

        yield tell
        return
    if not (show and sys.stderr.isatty()):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    bar = Bar(console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total)
    started, running = time.monotonic(), False

    def advance(steps: int) -> None:
        nonlocal running
        bar.advance(task, steps)
        if not running and time.monotonic() - started > 1.0:
            running = True
            bar.start()

    try:
        yield advance
    finally:
        if running:
            bar.stop()


def in_order(
    function: Callable[..., T],
    chunks: Iterable[tuple[Any, ...]],
    *,
    total: int | None = None,
    executor: Executor | None = None,
    progress: Progress = False,
    label: str = "working",
) -> Iterator[T]:
    """The results of ``function(*chunk)``, in the order of the chunks, whoever computes them.

    A few chunks per worker are under way at once and no more, so memory stays flat however many there are; ``chunks``
    may be a generator, with ``total`` for the bar. When the caller stops (an error, Ctrl-C), what has not begun is
    cancelled. If a process pool loses a worker, the chunks that it had not done are done here; a Dask cluster gives
    the work of a lost worker to another by itself.

    >>> list(in_order(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    count = getattr(chunks, "__len__", lambda: total)()
    with progress_bar(label, count, show=progress) as advance:
        if executor is None:
            for chunk in chunks:
                yield function(*chunk)
                advance(1)
            return
        pending: deque[tuple[Any, tuple[Any, ...]]] = deque()
        limit = 3 * worker_count(executor) + 2
        try:
            for chunk in chunks:
                future = None
                with suppress(BrokenExecutor):
                    future = executor.submit(function, *chunk)
                pending.append((future, chunk))
                if len(pending) >= limit:
                    yield _take(executor, function, pending)
                    advance(1)
            while pending:
                yield _take(executor, function, pending)
                advance(1)
        finally:
            for future, _ in pending:
                if future is not None:
                    future.cancel()


def _take(executor: Executor, function: Callable[..., T], pending: deque[tuple[Any, tuple[Any, ...]]]) -> T:
    future, chunk = pending[0]
    for attempt in range(4):
        try:
            if future is None:
                raise BrokenExecutor
            result = _result(executor, future)
            break
        except BrokenExecutor:
            warnings.warn("a worker process died; its work goes on in this process", RuntimeWarning, stacklevel=3)
            result = function(*chunk)
            break
        except Exception as error:
            # Dask gives a chunk up when several workers died while they had it; it may not have been the chunk's fault.
            if type(error).__name__ != "KilledWorker" or attempt == 3:
                raise
            future = executor.submit(function, *chunk)
    pending.popleft()
    answer: T = result
    return answer


def _result(executor: Executor, future: Any) -> Any:
    """The result of a future; a Dask scheduler that is gone for half a minute is an error and no wait for ever."""
    client = getattr(executor, "_client", None)
    if client is None:
        return future.result()
    seen = time.monotonic()
    while True:
        try:
            return future.result(timeout=2.0)
        except TimeoutError:
            if future.done():  # it is the work's own
                raise
        except CancelledError as error:
            raise _lost(client) from error
        if client.status == "running":
            seen = time.monotonic()
        elif client.status == "closed" or time.monotonic() - seen > LOST_AFTER:
            raise _lost(client)


def _lost(client: Any) -> WeaklyError:
    return WeaklyError(
        f"the Dask scheduler at {client.scheduler.address} was lost; run the command again once it is back"
    )


def worker_count(executor: Executor) -> int:
    """How many chunks the executor can work on at once, as far as it tells."""
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "nthreads"):  # Dask
        return max(1, int(sum(client.nthreads().values())))
    return int(getattr(executor, "_max_workers", 0)) or cpu_count()


def cpu_count() -> int:
    """The processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


@contextmanager
def threads(executor: Executor | None = None) -> Iterator[Executor]:
    """The given executor, or one thread per processor for the duration of the block."""
    pool = ThreadPoolExecutor(cpu_count()) if executor is None else executor
    try:
        yield pool
    finally:
        if executor is None:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def open_executor(*, workers: int | None = None, scheduler: str | None = None) -> Iterator[Executor | None]:
    """The executor that a command line asks for: threads, a Dask cluster by its address, or None for the default.

    The scheduler ``local`` starts a cluster of processes on this machine.
    """
    if scheduler is not None:
        if workers is not None:
            raise InvalidInput("give --workers or --scheduler, not both: a cluster has its own workers")
        distributed = optional("distributed", extra="dask")
        for name in ("distributed", "tornado", "asyncio"):  # their tracebacks; what matters is raised
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = distributed.Client(None if scheduler == "local" else scheduler, timeout=20)
        except (OSError, ValueError, TimeoutError) as error:
            raise InvalidInput(f"--scheduler: no scheduler answers at {scheduler!r}: {error}") from error
        executor = client.get_executor()
        try:
            yield executor
        finally:  # neither may wait for a scheduler that is gone
            running = client.status == "running"
            executor.shutdown(wait=running)
            client.close(timeout=None if running else 1)
    elif workers is not None:
        if workers < 1:
            raise InvalidInput(f"--workers must be at least 1, got {workers}")
        with threads(ThreadPoolExecutor(workers)) as pool, pool:
            yield pool
    else:
        yield None
