"""Work on threads, a bounded amount of it: it tells how far it is, hears that nobody waits any more, and keeps time."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ..errors import AssumptionWarning, WeaklyError
from ..parallel import watched
from .limits import Limits

PATIENCE = 0.3  # seconds after which an answer turns into a stream of progress
_notes: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("notes", default=None)


class Cancelled(WeaklyError):
    """Nobody waits for this work any more."""


class TooLong(WeaklyError):
    """The work was stopped because it took more time than the server gives one request."""


class Busy(WeaklyError):
    """More work is waiting than the server will queue."""


@dataclass
class Job:
    """One piece of work, as the thread that does it and the request that waits for it see it."""

    seconds: float
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    total: int | None = None
    notes: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Ask the work to end at its next step."""
        self._stop.set()

    def check(self) -> None:
        """Ends the work from inside if nobody waits, or if it takes too long."""
        if self._stop.is_set():
            raise Cancelled("cancelled")
        if time.monotonic() - self.began > self.seconds:
            raise TooLong(f"this took more than {self.seconds:g} seconds and was stopped; ask for less at once")

    def advance(self, done: int, total: int | None) -> None:
        """What the work calls after each chunk."""
        self.done, self.total = done, total
        self.check()

    def state(self) -> dict[str, Any]:
        """How far the work is."""
        return {"done": self.done, "total": self.total, "seconds": round(time.monotonic() - self.began, 2)}


def _hear(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    notes = _notes.get()
    if notes is None or not issubclass(category, AssumptionWarning):
        return
    if str(message) not in notes and len(notes) < 20:
        notes.append(str(message))


def _listen() -> None:
    # A filter of one thread is a filter of all, so the messages are told apart by context instead.
    warnings.simplefilter("always", AssumptionWarning)
    warnings.showwarning = _hear


class Workers:
    """A few threads and a queue with an end."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._pool: ThreadPoolExecutor | None = None
        self._waiting = 0

    def close(self) -> None:
        """Let go of the threads; what has not begun never will."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None

    def start(self, work: Callable[[Job], bytes]) -> tuple[Job, asyncio.Future[bytes]]:
        """The job and the future of its answer, or Busy."""
        if self._waiting >= self.limits.waiting:
            raise Busy("too many questions at once; try again in a moment")
        job = Job(self.limits.seconds)
        context = contextvars.copy_context()
        context.run(_notes.set, job.notes)

        def run() -> bytes:
            job.began = time.monotonic()
            job.check()
            _listen()
            with watched(job.check):
                return work(job)

        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.limits.workers, thread_name_prefix="weakly")
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, context.run, run)
        future.add_done_callback(self._ended)
        return job, future

    def _ended(self, future: asyncio.Future[bytes]) -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # it is looked at here, even if nobody waits any more


async def within(future: asyncio.Future[bytes], seconds: float) -> bool:
    """Whether the work has ended after so many seconds."""
    done, _ = await asyncio.wait({future}, timeout=seconds)
    return bool(done)


async def finish(job: Job, future: asyncio.Future[bytes], gone: Callable[[], Any]) -> bytes:
    """The answer, waited for as long as somebody listens."""
    try:
        while not await within(future, PATIENCE):
            if await gone():
                raise Cancelled("cancelled")
        return future.result()
    finally:
        job.cancel()


async def stream(
    job: Job, future: asyncio.Future[bytes], problem: Callable[[Exception], tuple[int, dict[str, Any]]]
) -> AsyncIterator[bytes]:
    """Lines of JSON: progress while the work goes on, then the result or what went wrong."""
    try:
        while True:
            yield _line({"progress": job.state()})
            if await within(future, PATIENCE):
                break
        try:
            result = future.result()
        except Exception as error:
            status, words = problem(error)
            yield _line({"error": words, "status": status})
        else:
            yield b'{"notes": ' + json.dumps(job.notes).encode() + b', "result": ' + result + b"}\n"
    finally:
        job.cancel()


def _line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"
