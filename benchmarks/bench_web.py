"""The page's server on loopback: how long a slider move takes, a large pilot, and fifty people at once."""

from __future__ import annotations

import asyncio
import io
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

USERS, MOVES, LIMIT = 50, 6, 60.0  # people, slider moves of each, seconds for all of it


@contextmanager
def server() -> Iterator[dict[str, Any]]:
    """How a server that runs as people run it is reached, warmed up."""
    command = [sys.executable, "-m", "weakly", "serve", "--port", "0", "--no-open"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = re.search(r"(http://\S+/)#token=(\w+)", process.stderr.readline())
            assert found is not None
            yield {"base_url": found[1], "headers": {"Authorization": f"Bearer {found[2]}"}}
        finally:
            process.terminate()


def _question(k: int) -> dict[str, Any]:
    criterion = round(0.05 + 0.9 * (k * 0.618034 % 1), 4)  # all different, so that no answer comes from memory
    return {"event_length": "1", "presence_criterion": criterion, "recording_length": 100.0 + k, "n_events": 1}


def _spent(response: Any) -> float:
    assert response.status_code == 200, response.text
    return float(response.headers["server-timing"].partition("dur=")[2])


def _pilot(n: int) -> bytes:
    rng = np.random.default_rng(0)
    onset, length = 100 * rng.random(n), 0.05 + rng.gamma(2.0, 0.5, n)
    text = io.StringIO()
    text.write("filename\tonset\toffset\tevent_label\n")
    text.writelines(f"r{k // 10}.wav\t{a:.4f}\t{a + d:.4f}\tx\n" for k, (a, d) in enumerate(zip(onset, length)))
    return text.getvalue().encode()


async def _users(reached: dict[str, Any]) -> tuple[list[float], int]:
    """Fifty people who each move a slider a few times, a moment apart; the times they wait, and how many errors."""
    import httpx

    waits: list[float] = []
    errors = 0

    async def person(web: Any, who: int) -> None:
        nonlocal errors
        rng = np.random.default_rng(who)
        for move in range(MOVES):
            await asyncio.sleep(float(rng.uniform(0.5, 3.0)))
            question = _question(1000 + who * MOVES + move)
            began = time.perf_counter()
            try:
                plan = await web.post("/api/plan", json=question)
                labels = await web.post("/api/labels", json={**question, "segment_length": 1.0})
                errors += plan.status_code != 200 or labels.status_code != 200
            except httpx.HTTPError:
                errors += 1
            waits.append(time.perf_counter() - began)

    limits = httpx.Limits(max_connections=USERS, max_keepalive_connections=USERS)
    async with httpx.AsyncClient(**reached, limits=limits, timeout=LIMIT) as web:
        await asyncio.wait_for(asyncio.gather(*(person(web, who) for who in range(USERS))), LIMIT)
    return waits, errors


def run() -> list[dict[str, Any]]:
    """Rows for the table of all benchmarks."""
    import httpx

    with server() as reached, httpx.Client(**reached, timeout=LIMIT) as web:
        for k in range(5):
            web.post("/api/plan", json=_question(k))
        moves = [_spent(web.post("/api/plan", json=_question(10 + k))) for k in range(30)]
        drags = [
            _spent(web.post("/api/labels", json={**_question(10), "segment_length": 1 + k / 50})) for k in range(30)
        ]
        again = [_spent(web.post("/api/plan", json=_question(10))) for _ in range(30)]
        sent = web.post("/api/upload", files={"file": ("p.tsv", _pilot(100_000))}, data={"recording_length": "120"})
        pilot = {"pilot": sent.json()["key"]}
        large = [_spent(web.post("/api/plan", json={**pilot, "presence_criterion": g})) for g in (0.4, 0.5, 0.6)]
        waits, errors = asyncio.run(_users(reached))
    slider, drag, known, p95 = (*map(statistics.median, (moves, drags, again)), float(np.quantile(waits, 0.95)))
    large_one = statistics.median(large) / 1000
    return [
        _row("a slider move, closed form", slider, 100.0, "ms", "server time, median of 30 different questions"),
        _row("a move of the segment length", drag, 100.0, "ms", "server time: labels on the timeline, all words"),
        _row("the same question again", known, slider, "ms", "from memory, against a new question"),
        _row("a pilot of 100,000 events", large_one, 2.0, "s", "server time of a plan, the file already sent"),
        _row(f"{USERS} people at once, p95", p95, 5.0, "s", f"plan and labels, {len(waits)} moves, 0.5-3 s apart"),
        _row(f"{USERS} people at once, errors", errors, 0.0, "", f"of {2 * len(waits)} questions"),
    ]


def _row(what: str, value: float, most: float, unit: str, how: str) -> dict[str, Any]:
    ratio = value / most if most else float(value)
    shown = {"measured": f"{value:.3g} {unit}".strip(), "target": f"<= {most:.3g} {unit}".strip(), "met": value <= most}
    return {"what": what, "ours": value, "theirs": most, "ratio": ratio, **shown, "how": how}


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
