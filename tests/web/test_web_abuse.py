"""A server that people try to exhaust goes on to answer others: heavy questions, bombs, silent connections."""

import contextlib
import http.client
import io
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

PATIENCE = 10.0  # seconds for a cheap question; alone it takes a fraction of one, but tests share the processors
MEMORY = 2 * 2**30
HEAVY = {"event_length": "triang:0.5", "presence_criterion": 0.0001, "recording_length": 1e6, "per_second": 1e-300}
CHEAP = {"event_length": "1", "presence_criterion": 0.5, "recording_length": 100, "n_events": 1}


@pytest.fixture(scope="module")
def server():
    """A server of its own, with the memory of all its processes watched."""
    command = [sys.executable, "-m", "weakly", "serve", "--port", "0", "--no-open", "--max-seconds", "10"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        port = int(re.search(r":(\d+)/", process.stderr.readline())[1])
        lines, used, done = [], [0], threading.Event()
        threading.Thread(target=lambda: lines.extend(process.stderr), daemon=True).start()

        def weigh():
            while not done.wait(0.1):
                used.append(memory(process.pid))

        watcher = threading.Thread(target=weigh)
        watcher.start()
        asked(port, "/api/plan", CHEAP, seconds=120)  # loaded
        yield port, lines, used
        done.set()
        watcher.join()
        process.terminate()


def memory(pid):
    """Bytes of a process and all that it started, what they share counted once for the first."""
    children, total = [pid], 0
    while children:
        each = children.pop()
        try:
            resident, shared = map(int, Path(f"/proc/{each}/statm").read_text().split()[1:3])
            for task in Path(f"/proc/{each}/task").iterdir():
                children += map(int, (task / "children").read_text().split())
        except OSError:
            continue
        total += (resident - (shared if each != pid else 0)) * os.sysconf("SC_PAGE_SIZE")
    return total


def asked(port, path, question, seconds=PATIENCE):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    with contextlib.closing(connection):
        connection.request("POST", path, body, {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def sent(port, name, data, seconds=60.0):
    """The answer to a file."""
    head = f'--B\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    kind = {"content-type": "multipart/form-data; boundary=B"}
    with contextlib.closing(connection):
        connection.request("POST", "/api/upload", head + data + b"\r\n--B--\r\n", kind)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def cheap(port, k):
    began = time.monotonic()
    status, _ = asked(port, "/api/plan", {**CHEAP, "n_events": 1 + k / 1000})
    assert status == 200
    return time.monotonic() - began


def test_five_heavy_questions_leave_room_for_a_cheap_one(server):
    port, _, used = server
    found = []
    threads = [
        threading.Thread(target=lambda k=k: found.append(asked(port, "/api/plan", {**HEAVY, "n_events": 1e6 + k}, 90)))
        for k in range(5)
    ]
    for thread in threads:
        thread.start()
    time.sleep(1)
    assert max(cheap(port, k) for k in range(5)) < PATIENCE
    for thread in threads:
        thread.join()
    assert {status for status, _ in found} <= {200, 422, 429}, found
    assert max(used) < MEMORY


def test_a_question_ends_when_its_asker_has_left(server):
    port, _, _ = server
    connection = socket.create_connection(("127.0.0.1", port))
    body = json.dumps({**HEAVY, "n_events": 2e6}).encode()
    head = b"POST /api/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    time.sleep(0.5)
    connection.close()
    for k in range(3):
        cheap(port, 20 + k)


def test_bombs_are_refused(server):
    port, _, used = server
    bomb = io.BytesIO()
    text = pd.Categorical.from_codes([0] * 1_900_000, ["x" * 2000])
    frame = pd.DataFrame({"recording": text, "onset": 0.0, "offset": 1.0, "label": text})
    frame.to_parquet(bomb)
    assert len(bomb.getvalue()) < 2_000_000
    status, words = sent(port, "a.parquet", bomb.getvalue())
    assert status in (200, 422), words
    status, words = sent(port, "a.json", b"[" + b"{}," * 6_000_000 + b"{}]")
    assert status == 422, words
    assert max(used) < MEMORY
    cheap(port, 40)


def test_connections_that_say_nothing_block_nobody(server):
    import resource

    port, lines, _ = server
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1100
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, wanted + 200)), hard))
    before, held = len(lines), []
    try:
        for _ in range(wanted):
            one = socket.create_connection(("127.0.0.1", port), timeout=20)
            one.sendall(b"POST /api/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
            held.append(one)
        assert cheap(port, 50) < PATIENCE
        half = socket.create_connection(("127.0.0.1", port), timeout=30)
        half.sendall(
            b"POST /api/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99\r\n\r\n{"
        )
        assert b"408" in half.recv(100)
    finally:
        for one in held:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(lines) - before < 20
