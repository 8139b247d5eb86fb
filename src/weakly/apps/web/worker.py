"""The process in which questions are worked out: it can be stopped at any moment, and its memory has an end."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

# All that questions need is loaded here, once: new processes are copies of one that has it already.
import scipy.stats  # noqa: F401

from ...base.errors import AssumptionWarning, WeaklyError
from ...base.parallel import watched
from ...studies.audit import auditor  # noqa: F401
from ..limits import Limits
from . import calls
from .jobs import Cancelled, TooMuch
from .uploads import Files


@dataclass
class WorkerTask:
    """What a process is sent: a function of this package, what it is asked, and what the answer is kept under."""

    work: Callable[..., Any]
    question: Any
    key: str = ""


@dataclass
class Progress:
    """How the work tells how far it is, and hears that it should end."""

    pipe: Connection

    def check(self) -> None:
        """Ends the work from inside if the server says so."""
        if self.pipe.poll():
            raise Cancelled("cancelled")

    def advance(self, done: int, total: int | None) -> None:
        """What the work calls after each chunk."""
        self.pipe.send(("progress", (done, total)))
        self.check()


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
    """The memory that a process shares with no other; 0 where the system does not tell."""
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


def main(pipe: Connection, limits: Limits, folder: Path, own: str) -> None:
    """Answer tasks until the other end of the pipe closes; what is written on the way goes with the process."""
    tempfile.tempdir = own
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's
    threading.Thread(target=_follow_parent, daemon=True).start()
    confine(limits.memory_mb)
    state = calls.PageState(limits, Files(folder))
    pipe.send(("ready", None))
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        if task is not None:  # a word to stop that came after the end
            pipe.send(_worked(task, state, Progress(pipe)))


def _worked(task: WorkerTask, state: calls.PageState, progress: Progress) -> tuple[str, Any]:
    with warnings.catch_warnings(record=True) as heard, watched(progress.check):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", AssumptionWarning)
        try:
            found = task.work(task.question, state, progress)
            body = found if isinstance(found, bytes) else calls.to_bytes(found)
        except WeaklyError as error:
            return "refused", error
        except MemoryError:
            return "refused", TooMuch("memory")
        except BaseException:
            return "broken", "".join(traceback.format_exception(*sys.exc_info()))
    return "done", (body, list(dict.fromkeys(str(each.message) for each in heard))[:20])
