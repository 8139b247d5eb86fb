"""Work in processes, a bounded amount of it: it tells how far it is, and is stopped when nobody waits any more, when it
takes too long or too much memory. Short questions never wait for long ones."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from ...base.errors import AssumptionWarning, WeaklyError
from ..serving import Limits
from . import calls
from .uploads import Files, server_folder

PATIENCE = 0.3  # seconds after which an answer turns into a stream of progress
SHORT = 2.0  # seconds after which a question counts as a long one
SLOW = 5.0  # seconds after which it leaves the processors to others
SPARE = 2  # processes beyond those for long questions


class Cancelled(WeaklyError):
    """Nobody waits for this work any more."""

    status = 400


class TooLong(WeaklyError):
    """The work was stopped because it took more time than the server gives one request."""


class TooMuch(WeaklyError):
    """The work was stopped because it took more memory than the server gives."""


class Busy(WeaklyError):
    """More work is waiting than the server will queue."""

    status = 429


@dataclass
class Job:
    """One piece of work, as the thread that follows it and the request that waits for it see it."""

    seconds: float
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    total: int | None = None
    notes: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Ask for the work to end."""
        self._stop.set()

    def check(self) -> None:
        """Raises if nobody waits, or if the work takes too long."""
        if self._stop.is_set():
            raise Cancelled("cancelled")
        if time.monotonic() - self.began > self.seconds:
            raise TooLong(f"this took more than {self.seconds:g} seconds and was stopped; ask for less at once")


@dataclass
class WorkerTask:
    """What a process is sent: a function of this package, what it is asked, and what the answer is kept under."""

    work: Callable[..., Any]
    question: Any
    key: str = ""


class Process:
    """A process that works, its pipe, and what it did last (whose results it may still hold)."""

    def __init__(self, limits: Limits, folder: Path, warm: bool) -> None:
        methods = multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        if "forkserver" in methods:
            # All that questions need is loaded once: new processes are copies of one that has it already.
            needed = ["scipy.stats", "weakly.studies.audit.auditor", *([f"{__package__}.warm"] if warm else [])]
            context.set_forkserver_preload([__name__, *needed])
        self.pipe, theirs = context.Pipe()
        self.folder = tempfile.mkdtemp(dir=folder)  # what the work writes on the way
        self.keys: deque[str] = deque(maxlen=16)
        self.is_ready = self.is_slow = False
        self.process = context.Process(target=work, args=(theirs, limits, folder, self.folder), daemon=True)
        self.process.start()
        theirs.close()

    def slow_down(self) -> None:
        """Others first, from now on; there is no way back, so the process ends with this work."""
        self.is_slow = True
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, self.process.pid, 5)

    def kill(self) -> None:
        """Let go of it at once."""
        self.process.kill()
        self.process.join(5)
        self.pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _clear(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


class Workers:
    """A few processes and a queue with an end."""

    def __init__(self, limits: Limits, *, warm: bool = False) -> None:
        self.limits, self._warm = limits, warm
        self.folder, lock = server_folder()  # the files that were sent
        self._clear = weakref.finalize(self, _clear, self.folder, lock)  # at the end of the process at last
        self._threads: ThreadPoolExecutor | None = None
        self._waiting = 0
        self._idle: list[Process] = []
        self._all: set[Process] = set()
        self._lock = threading.Lock()
        self._long = threading.BoundedSemaphore(max(1, limits.workers))

    def close(self) -> None:
        """Let go of the processes; what has not begun never will."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        self._threads = None
        for each in list(self._all):
            each.kill()
        self._all.clear()
        self._idle.clear()
        self._clear()

    def start(self, task: WorkerTask) -> tuple[Job, asyncio.Future[bytes]]:
        """The job and the future of its answer, or Busy."""
        if self._waiting >= self.limits.waiting:
            raise Busy("too many questions at once; try again in a moment")
        job = Job(self.limits.seconds)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.limits.workers + SPARE, thread_name_prefix="weakly")
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, self._run, job, task)
        future.add_done_callback(self._ended)
        return job, future

    def prepare(self) -> None:
        """Start a process, so that it is warm when the first question comes."""
        self._put_back(self._take(""), keep=True)

    def _ended(self, future: asyncio.Future[bytes]) -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # it is looked at here, even if nobody waits any more

    def _take(self, key: str) -> Process:
        """An idle process, best the one that answered about the same before; else a new one."""
        with self._lock:
            if self._idle:
                same = [each for each in self._idle if key and key in each.keys]
                idle = same[0] if same else self._idle[-1]
                self._idle.remove(idle)
                return idle
        process = Process(self.limits, self.folder, self._warm)
        with self._lock:
            self._all.add(process)
        return process

    def _run(self, job: Job, task: WorkerTask) -> bytes:
        job.began = time.monotonic()
        job.check()
        process = self._take(task.key)
        is_long, keep = False, False
        try:
            process.pipe.send(task)
            while True:
                if process.pipe.poll(0.02):
                    kind, value = process.pipe.recv()
                    if kind == "ready":
                        process.is_ready = True
                        continue
                    if kind == "progress":
                        job.done, job.total = value
                        continue
                    keep = not process.is_slow
                    process.keys.append(task.key)
                    return self._answer(job, kind, value)
                if not process.is_ready:  # it still loads, which is not the question's time
                    job.began = time.monotonic()
                job.check()
                self._weigh(process)
                spent = time.monotonic() - job.began
                if spent > SHORT and not is_long:
                    is_long = self._long.acquire(blocking=False)
                    if not is_long:
                        raise Busy(f"{self.limits.workers} long questions are being worked on; try again in a moment")
                if spent > SLOW and not process.is_slow:
                    process.slow_down()
        except (EOFError, OSError) as error:
            job.check()
            raise self._too_much() from error
        finally:
            if is_long:
                self._long.release()
            self._put_back(process, keep)

    def _put_back(self, process: Process, keep: bool) -> None:
        with self._lock:
            if keep and process in self._all:
                self._idle.append(process)
                return
            self._all.discard(process)
        process.kill()

    def _answer(self, job: Job, kind: str, value: Any) -> bytes:
        if kind == "done":
            body, job.notes[:] = value
            return bytes(body)
        if kind == "refused":
            raise self._too_much() if isinstance(value, TooMuch) else value
        raise RuntimeError(value)

    def _too_much(self) -> TooMuch:
        return TooMuch(
            f"this needs more memory than the server gives ({self.limits.memory_mb:,.0f} MB for all questions); ask "
            "for less at once, or give the server more (--max-memory-mb)"
        )

    def _weigh(self, process: Process) -> None:
        """The largest process ends when all of them together use too much memory."""
        with self._lock:
            pids = {each: each.process.pid for each in self._all}
        most = self.limits.memory_mb * 1e6
        if sum(map(unshared_bytes, pids.values())) <= most:  # quick to read, and never less than what is private
            return
        used = {each: private_bytes(pid) for each, pid in pids.items()}
        if sum(used.values()) > most and used.get(process, 0) == max(used.values()):
            raise self._too_much()


def confine(megabytes: float) -> None:
    """No more than so much memory beyond what is in use now, where the system can say so."""
    try:
        import resource

        used = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData"))
        limit = int(used.split()[1]) * 1024 + int(megabytes * 1e6)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    except (ImportError, OSError, StopIteration, ValueError):
        return  # the server looks at what its processes use as well


def private_bytes(pid: int | None) -> int:
    """The memory that a process shares with no other, where the system tells; pages of the process that it was copied
    from are not its own before it writes to them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty"))
    except (OSError, ValueError):
        return unshared_bytes(pid)


def unshared_bytes(pid: int | None) -> int:
    """The memory of a process that no file backs; 0 where the system does not tell."""
    try:
        _, resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[:3]
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _follow_parent() -> None:
    """Ends this process with the server, however that ended."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def work(pipe: Connection, limits: Limits, folder: Path, own: str) -> None:
    """Answer tasks until the other end of the pipe closes; what is written on the way goes with the process."""
    tempfile.tempdir = own
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's
    threading.Thread(target=_follow_parent, daemon=True).start()
    confine(limits.memory_mb)
    state = calls.PageState(limits, Files(folder), lambda *done: pipe.send(("progress", done)))
    pipe.send(("ready", None))
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(_worked(task, state))


def _worked(task: WorkerTask, state: calls.PageState) -> tuple[str, Any]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", AssumptionWarning)
        try:
            found = task.work(task.question, state)
            found = found if isinstance(found, bytes | dict) else found.to_dict()
            is_file = isinstance(found, bytes)
            body = found if is_file else json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
        except WeaklyError as error:
            return "refused", error
        except MemoryError:
            return "refused", TooMuch("memory")
        except BaseException:
            return "broken", "".join(traceback.format_exception(*sys.exc_info()))
    return "done", (body, list(dict.fromkeys(str(each.message) for each in heard))[:20])


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
            spent = round(time.monotonic() - job.began, 2)
            yield json.dumps({"progress": {"done": job.done, "total": job.total, "seconds": spent}}).encode() + b"\n"
            if await within(future, PATIENCE):
                break
        try:
            result = future.result()
        except Exception as error:
            status, words = problem(error)
            yield json.dumps({"error": words, "status": status}).encode() + b"\n"
        else:
            yield b'{"notes": ' + json.dumps(job.notes).encode() + b', "result": ' + result + b"}\n"
    finally:
        job.cancel()
