"""Work in fixed chunks: on this thread, on any executor, or on a cluster; with a progress bar; always in order."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
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
    chunks: Sequence[tuple[Any, ...]],
    *,
    executor: Executor | None = None,
    progress: Progress = False,
    label: str = "working",
) -> Iterable[T]:
    """The results of ``function(*chunk)``, in the order of the chunks, whoever computes them.

    At most a few chunks per worker are under way at once, so memory stays flat however many there are. When the
    caller stops (an error, Ctrl-C), what has not begun is cancelled.
    """
    from collections import deque

    with progress_bar(label, len(chunks), show=progress) as advance:
        if executor is None:
            for chunk in chunks:
                yield function(*chunk)
                advance(1)
            return
        pending: deque[Any] = deque()
        waiting = iter(chunks)
        try:
            for chunk in waiting:
                pending.append(executor.submit(function, *chunk))
                if len(pending) >= 64:
                    yield pending.popleft().result()
                    advance(1)
            while pending:
                yield pending.popleft().result()
                advance(1)
        finally:
            for future in pending:
                future.cancel()


def kernel(function: Callable[..., Any]) -> Any:
    """The function compiled by numba, without the GIL and kept between runs; where no folder takes it, without keeping."""
    import numba

    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no place to keep compiled code in
        return numba.njit(nogil=True)(function)
