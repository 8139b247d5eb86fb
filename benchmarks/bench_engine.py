"""The engine against the definitions as a loop, against plain NumPy, and against itself on more of everything."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import weakly as wk
from weakly.base import compiled
from weakly.engine.scoring import score
from weakly.engine.tally import MEAN, TP, Tally
from weakly.model.answer_model import AnswerModels
from weakly.model.intervals import Edge, EventArrays, Placement
from weakly.model.lengths import Lengths
from weakly.studies.simulate import World

from .prototype import grid, random_phase

compiled.PATIENCE = (0.0, 0.0)  # machine code from the first call on, whether or not it is kept
CRITERIA = np.linspace(0.01, 0.99, 11)


def _best(function: Callable[[], Any], repeats: int = 5, clock: Callable[[], float] = time.thread_time) -> float:
    """The shortest of several times, the least disturbed one; in this thread's own time, whoever else is busy."""
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def _recordings(n: int, m: int = 50, length: float = 100.0) -> EventArrays:
    return World(Lengths.of(1.0), m, length, "uniform", 0.0).draw(n, np.random.default_rng(0))[0]


def _engine(timelines: EventArrays, widths: Any, criteria: Any, phase: float | None = 0.0, means: bool = True) -> Tally:
    how = Placement(phase, Edge.TRUNCATE, None, None, means=means)
    return score(timelines, np.asarray(widths), AnswerModels.of(presence_criterion=criteria), how)


def slow(events: list[tuple[float, float]], length: float, width: float, criterion: float) -> float:
    """Mean accuracy of the overlapping segments, as one would write it down: all segments, all events."""
    scores = []
    for k in range(int(np.ceil(length / width - 1e-9))):
        left, right = k * width, min((k + 1) * width, length)
        shared = [max(0.0, min(b, right) - max(a, left)) for a, b in events]
        covered = sum(shared)
        if covered > 0:
            present = any(x / (b - a) >= criterion for x, (a, b) in zip(shared, events))
            share = covered / (right - left)
            scores.append(share if present else 1 - share)
    return float(np.mean(scores))


def vectorised(events: Any, length: float, width: float, criteria: Any) -> Any:
    """The same in NumPy: a segments times events table of overlaps, all criteria at once."""
    left = width * np.arange(np.ceil(length / width - 1e-9))
    right = np.minimum(left + width, length)
    a, b = events[:, 0], events[:, 1]
    shared = np.maximum(0.0, np.minimum(b, right[:, None]) - np.maximum(a, left[:, None]))
    fraction, share = (shared / (b - a)).max(axis=1), shared.sum(axis=1) / (right - left)
    meets = share > 0
    present = fraction[meets, None] >= criteria
    return np.where(present, share[meets, None], 1 - share[meets, None]).mean(axis=0)


def _against_the_loop() -> list[dict[str, Any]]:
    few, many = _recordings(2), _recordings(1000)
    widths = [0.4, 0.8, 1.6]
    lists = [[tuple(event) for event in bounds] for bounds, _ in few]
    loop = _best(lambda: [slow(row, 100.0, w, g) for row in lists for w in widths for g in CRITERIA], 1)
    plain = _best(lambda: [vectorised(bounds, 100.0, w, CRITERIA) for bounds, _ in few for w in widths], 3)
    ours = _best(lambda: _engine(many, widths, CRITERIA))
    swept = _best(lambda: _engine(many, widths, CRITERIA, None), 3)
    per_loop = loop / (len(few.bounds) * len(widths) * len(CRITERIA))
    per_plain = plain / (len(few.bounds) * len(widths) * len(CRITERIA))
    per_ours = ours / (len(many.bounds) * len(widths) * len(CRITERIA))
    per_swept = swept / (len(many.bounds) * len(widths) * len(CRITERIA))
    how = f"{per_ours * 1e9:.1f} ns per (event, segment length, criterion), 11 criteria, one thread, all measures"
    return [
        _row("grid against the loop over segments and events", per_loop / per_ours, 5000, how),
        _row("grid against NumPy", per_plain / per_ours, None, f"NumPy: {per_plain * 1e9:.0f} ns"),
        _row(
            "random phase (exact, means per recording too) against the loop",
            per_loop / per_swept,
            None,
            f"{per_swept * 1e9:.1f} ns",
        ),
    ]


def _against_the_bare() -> list[dict[str, Any]]:
    """The engine over a bare loop of the same algorithm, in turn in this run; both agree."""
    rows, widths = [], [0.4, 0.8, 1.6]
    timelines = _recordings(2000)
    bounds, starts = timelines.bounds, timelines.starts
    for way, bare, phase, shape in (("grid", grid, 0.0, ()), ("random phase, pooled", random_phase, None, (3,))):
        for k in (1, 11, 100):
            criteria = np.linspace(0.0131, 0.9873, k) if k > 1 else np.array([0.5])  # no ties
            out = np.empty((len(timelines), k, *shape))
            bare(bounds, starts, 0.8, criteria, out)
            tally = _engine(timelines, [0.8], criteria, phase, phase == 0.0)
            if phase is None:
                assert np.allclose(out[:, :, 0].mean(axis=0), tally.sums[0, :, TP] / len(timelines))
            else:
                assert np.allclose(np.nanmean(out, axis=0), tally.sums[0, :, MEAN] / len(timelines))
            theirs, ours = [], []
            for _ in range(3):
                theirs.append(_best(lambda: [bare(bounds, starts, w, criteria, out) for w in widths]))  # noqa: B023
                ours.append(_best(lambda: _engine(timelines, widths, criteria, phase, phase == 0.0)))  # noqa: B023
            each = 1e9 / (len(bounds) * len(widths))
            how = f"{min(ours) * each:.0f} over {min(theirs) * each:.0f} ns per (event, segment length), 1e5 events"
            rows.append(_row(f"{way}, {k} criteria: over the bare loop", min(ours) / min(theirs), 1.5, how, most=True))
    return rows


WAYS = {"grid": (0.0, True), "random phase, pooled": (None, False), "random phase, means too": (None, True)}


def _scaling() -> list[dict[str, Any]]:
    rows = []
    for way, (phase, means) in WAYS.items():
        costs = {}
        for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
            timelines = _recordings(n // 50)
            repeats = 30 if n <= 10_000 else 3 if n <= 1_000_000 else 1
            spent = _best(lambda t=timelines: _engine(t, [0.8], CRITERIA, phase, means), repeats)  # noqa: B023
            costs[n] = spent / len(timelines.bounds)
        listed = ", ".join(f"{costs[n] * 1e9:.0f}" for n in costs)
        how = f"{listed} ns per (event, segment length) at 1e3 ... 1e7 events, 11 criteria, one thread"
        flat = costs[10_000_000] / costs[10_000]
        rows.append(_row(f"{way}: cost per event at 1e7 over that at 1e4 events", flat, 1.5, how, most=True))
        timelines = _recordings(1000)
        wide = {
            k: _best(lambda k=k: _engine(timelines, [0.4, 0.8], np.linspace(0.01, 1, k), phase, means))  # noqa: B023
            / (2 * len(timelines.bounds))
            for k in (1, 10, 100)
        }
        listed = ", ".join(f"{each * 1e9:.0f}" for each in wide.values())
        how = f"{listed} ns per (event, segment length) at 1, 10, 100 criteria"
        limit = 3 if way == "grid" else None
        rows.append(_row(f"{way}: 100 criteria over 1 criterion", wide[100] / wide[1], limit, how, most=True))
    return rows


def _large() -> dict[str, Any]:
    """A million events, 200 lengths, 100 criteria at a random phase, in a process of its own that tells its memory."""
    code = """
import resource, time
import numpy as np
from benchmarks.bench_engine import _engine, _recordings
_engine(_recordings(2), [0.8], np.linspace(0.01, 1, 100), None, False)
timelines, start = _recordings(20_000), time.process_time()
_engine(timelines, np.geomspace(0.1, 30, 200), np.linspace(0.01, 1, 100), None, False)
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    seconds, memory = map(float, found.split())
    how = f"seconds of processor time; {memory:.2f} GiB at most; {seconds / 1e6 / 200 * 1e9:.0f} ns per (event, length)"
    return _row("1e6 events x 200 lengths x 100 criteria at a random phase", seconds, None, how)


def _threads() -> dict[str, Any]:
    timelines, widths = _recordings(4000), np.linspace(0.3, 3, 64)
    how = {"segment_length": widths, "presence_criterion": CRITERIA, "phase": 0.0}
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        alone = _best(lambda: wk.evaluate(timelines, executor=one, **how), 7, time.perf_counter)
        both = _best(lambda: wk.evaluate(timelines, executor=two, **how), 7, time.perf_counter)
    target = 1.6 if len(os.sched_getaffinity(0)) > 1 else None
    return _row("2 threads against 1", alone / both, target, f"{len(os.sched_getaffinity(0))} processors here")


def _heaviest() -> dict[str, Any]:
    def run() -> Any:
        return wk.simulate(
            1.0,
            n_events=50,
            recording_length=100,
            segment_length=np.linspace(0.002, 40, 200),
            presence_criterion=CRITERIA,
            n_recordings=1000,
            rng=1,
        )

    run()
    seconds = _best(run, 3, time.perf_counter)
    how = "M = 50, 1000 recordings, 200 segment lengths, 11 criteria; simulation and scoring, seconds"
    return _row("the paper's heaviest configuration", seconds, 1.5, how, most=True)


def _compiling() -> dict[str, Any]:
    code = "import time; t = time.perf_counter(); import weakly as wk; wk.evaluate([[(1, 2)]], recording_length=9,"
    code += " segment_length=1, presence_criterion=0.5, phase=0); print(time.perf_counter() - t)"
    with tempfile.TemporaryDirectory() as folder:
        where = {**os.environ, "NUMBA_CACHE_DIR": folder}
        first, second = (
            float(subprocess.run([sys.executable, "-c", code], env=where, capture_output=True, check=True).stdout)
            for _ in range(2)
        )
    how = f"{first:.1f} s compiling, {second:.1f} s from the cache, imports included"
    return _row("first evaluation ever against one in a new process", first / second, None, how)


def _row(what: str, ratio: float, target: float | None, how: str, *, most: bool = False) -> dict[str, Any]:
    met = None if target is None else bool(ratio <= target if most else ratio >= target)
    words = "" if target is None else f"{'<=' if most else '>='} {target:,g}"
    return {
        "what": what,
        "measured": f"{ratio:,.3g}" if ratio < 1000 else f"{ratio:,.0f}",
        "target": words,
        "met": met,
        "how": how,
    }


def run() -> list[dict[str, Any]]:
    """One row per ratio."""
    _engine(_recordings(2), [0.8], CRITERIA)  # compile first
    return [*_against_the_loop(), *_against_the_bare(), *_scaling(), _large(), _threads(), _heaviest(), _compiling()]
