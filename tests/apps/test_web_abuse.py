"""A server that people try to exhaust goes on to answer others: heavy questions, bombs, silent connections."""

import contextlib
import http.client
import io
import json
import os
import re
import select
import socket
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest

from weakly.apps.web.jobs import unshared_bytes

from .conftest import next_line

PATIENCE = 120.0  # seconds after which a test gives up
MEMORY = 2 * 2**30
WORK = 2.5  # seconds that one question may take here
#: A server that lets go of people after two seconds without a word instead of ten.
SERVE = f"""from weakly.apps.serving import Limits
from weakly.apps.web import serve
serve(port=0, open_browser=False, limits=Limits(seconds={WORK}, pause=2.0))"""
#: A server that compiles nothing before the first question.
COLD = "import functools, weakly.apps.web as web; web.create_app = functools.partial(web.create_app, warm=False)"
HEAVY = {"n_events": 1e6, "event_length": "triang:0.5", "presence_criterion": 0.0001, "per_second": 1e-300}
CHEAP = {"event_length": "1", "presence_criterion": 0.5, "recording_length": 100, "n_events": 1}
LONG = {"event_length": "1", "presence_criterion": 0.5, "recording_length": 1e5, "n_events": 1000,
        "segment_length": [0.1 * k for k in range(1, 60)], "n_recordings": 40_000}  # fmt: skip


@dataclass
class Server:
    """A server of its own, what it logs, and the memory of all its processes over time."""

    port: int
    token: str
    pid: int
    alone: float = 0.0  # seconds that a cheap question takes while nothing else is asked
    lines: list = field(default_factory=list)
    used: list = field(default_factory=list)
    waited: list = field(default_factory=list)

    def cheap(self):
        """Seconds that another user waits for a cheap question."""
        question = {**CHEAP, "recording_length": 100 + len(self.waited) / 16}  # no answer from memory
        began, status = time.monotonic(), 429
        while status == 429 and time.monotonic() < began + PATIENCE:  # on a busy machine it may count as a long one
            status, words = asked(self, "/api/plan", question)
        assert status == 200, words
        self.waited.append(time.monotonic() - began)
        return self.waited[-1]

    def is_well(self, times=3):
        """A cheap question waits for no heavy one, each of which takes seconds, and memory is bounded."""
        waited = statistics.median(self.cheap() for _ in range(times))
        assert waited < WORK / 2 + 8 * self.alone, f"a cheap question took {waited:.2f} s, alone {self.alone:.2f} s"
        assert max(self.used) < MEMORY, f"{max(self.used) / 2**30:.2f} GiB"


@pytest.fixture(scope="module")
def server():
    with subprocess.Popen([sys.executable, "-c", SERVE], stderr=subprocess.PIPE, text=True) as process:
        port, token = re.search(r":(\d+)/#token=(\w+)", next_line(process.stderr)).groups()
        found = Server(int(port), token, process.pid)
        done = threading.Event()
        threading.Thread(target=lambda: found.lines.extend(process.stderr), daemon=True).start()

        def weigh():
            while not done.wait(0.1):
                found.used.append(memory(process.pid))

        watcher = threading.Thread(target=weigh)
        watcher.start()
        asked(found, "/api/plan", CHEAP, seconds=120)  # loaded
        found.alone = max(found.cheap() for _ in range(5))
        yield found
        done.set()
        watcher.join()
        process.terminate()
    print(f"cheap question alone {found.alone:.3f} s, then at most {max(found.waited):.3f} s, "
          f"median {statistics.median(found.waited):.3f} s; {max(found.used) / 2**30:.2f} GiB at most")  # fmt: skip


def family(pid):
    """The process and all that it started."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def memory(pid):
    """Bytes of a process and all that it started; what they share is counted once where that is the question."""
    every = family(pid)
    most = sum(map(unshared_bytes, every))
    if most < MEMORY:  # cheap to read, and never less than what counts every page once
        return most
    total = 0
    for each in every:
        with contextlib.suppress(OSError):
            total += 1024 * int(re.search(r"^Pss: +(\d+)", Path(f"/proc/{each}/smaps_rollup").read_text(), re.M)[1])
    return total


def worked(pid):
    """Seconds of processor time that the process and those it started have used, ended ones left out."""
    total = 0
    for each in family(pid):
        with contextlib.suppress(OSError):
            total += sum(map(int, Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def asked(server, path, question, seconds=PATIENCE):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=seconds)
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    with contextlib.closing(connection):
        headers = {"content-type": "application/json", "authorization": f"Bearer {server.token}"}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def sent(server, name, data, seconds=60.0):
    """The answer to a file."""
    head = f'--B\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=seconds)
    kind = {"content-type": "multipart/form-data; boundary=B", "authorization": f"Bearer {server.token}"}
    with contextlib.closing(connection):
        connection.request("POST", "/api/upload", head + data + b"\r\n--B--\r\n", kind)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@contextlib.contextmanager
def side_by_side(*calls):
    """Run calls beside the block; afterwards the list that comes back holds what they gave, in their order."""
    found = []
    with ThreadPoolExecutor(len(calls)) as threads:
        futures = [threads.submit(call) for call in calls]
        yield found
        found += [future.result() for future in futures]


def heavy(server, k):
    """The question that took 4 GB and was never stopped."""
    return lambda: asked(server, "/api/plan", {**HEAVY, "recording_length": 1e6 - k}, 120)


def bomb():
    """0.1 MB of Parquet that are 7.6 GB of text."""
    file = io.BytesIO()
    text = pd.Categorical.from_codes([0] * 1_900_000, ["x" * 2000])
    pd.DataFrame({"recording": text, "onset": 0.0, "offset": 1.0, "label": text}).to_parquet(file)
    return file.getvalue()


def empties():
    """60 MB of JSON objects without anything in them."""
    return b"[" + b"{}," * 20_000_000 + b"{}]"


@contextlib.contextmanager
def half_sent(server, count):
    """So many requests whose heads never end."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, count + 200)), hard))
    with contextlib.ExitStack() as held:
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(count):
            one = held.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            one.sendall(b"POST /api/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        yield


def begun(server, path, body, length=None):
    """A connection on which a question (of so many bytes in the end) was sent."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {length or len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


def at_work(server, seconds=0.3):
    """Once the server has worked for so long."""
    until, before = time.monotonic() + PATIENCE, worked(server.pid)
    while seconds > 0:
        assert time.monotonic() < until
        time.sleep(0.05)
        now = worked(server.pid)
        seconds -= max(0.0, now - before)  # less when a process has ended
        before = now


def test_five_heavy_questions_leave_room_for_a_cheap_one(server):
    with contextlib.ExitStack() as asking:  # what becomes of them is seen below, with all the rest
        for k in range(5):
            body = json.dumps({**HEAVY, "recording_length": 1e6 - k}).encode()
            asking.enter_context(begun(server, "/api/plan", body))
        at_work(server)
        server.is_well(5)
    server.is_well()


def test_a_question_ends_when_its_asker_has_left(server):
    with begun(server, "/api/simulate", json.dumps(LONG).encode()):
        at_work(server)
    until, before = time.monotonic() + PATIENCE, worked(server.pid)
    while time.sleep(0.5) or worked(server.pid) - before > 0.1:  # until nobody works on it any more
        assert time.monotonic() < until
        before = worked(server.pid)
    server.is_well()


@pytest.mark.parametrize(("name", "made"), [("a.parquet", bomb), ("a.json", empties)])
def test_bombs_are_refused(server, name, made):
    data = made()
    with side_by_side(lambda: sent(server, name, data)) as found:
        server.is_well()
    ((status, words),) = found
    assert status == 422, words
    assert re.search("memory|rows|text|larger|seconds", words), words
    server.is_well()


def test_connections_that_say_nothing_block_nobody(server):
    before = len(server.lines)
    with half_sent(server, 1100):
        server.is_well()
        with begun(server, "/api/plan", b"{", 99) as half:
            assert b"408" in half.recv(100)
    assert len(server.lines) - before < 20


def test_all_of_it_at_once(server):
    calls = [heavy(server, 10 + k) for k in range(3)]  # more than are worked on at once
    for name, data in (("b.parquet", bomb()), ("b.json", empties())):
        calls.append(lambda name=name, data=data: sent(server, name, data))
    with half_sent(server, 1100), side_by_side(*calls) as found:
        at_work(server)
        server.is_well(7)
    assert {status for status, _ in found[-2:]} <= {422, 429}, found  # bombs are never taken
    assert {status for status, _ in found} <= {200, 422, 429}, found  # a quick machine may answer what is heavy
    server.is_well()


def left(folder):
    """What is in the folder for temporary files, but for what compiled code or a browser may put there."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if "weakly" in str(path.relative_to(folder))
    )


@pytest.fixture
def started(running, tmp_path):
    """Starts a server whose temporary files are in the test's folder."""

    @contextlib.contextmanager
    def start(*words):
        process = running("serve", "--port", "0", "--no-open", *words, before=COLD, TMPDIR=str(tmp_path))
        try:
            port, token = re.search(r":(\d+)/#token=(\w+)", next_line(process.stderr)).groups()
            yield Server(int(port), token, process.pid)
        finally:
            process.terminate()
            assert "Traceback" not in process.stderr.read()
            process.stderr.close()
            process.wait()

    return start


def test_uploads_go_with_their_question_and_with_the_server(tmp_path, started):
    data = b"filename,onset,offset,event_label\n" + b"a.wav,1.5,2.5,dog\n" * 1_500_000
    large = lambda: [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size > 1e6]  # noqa: E731
    with started("--max-seconds", "0.5", "--max-rows", "4000000") as server:
        until = time.monotonic() + PATIENCE
        while sent(server, "a.csv", data[:70], 120)[0] != 200:  # until a busy machine has loaded what it needs
            assert time.monotonic() < until
        kept = len(left(tmp_path))
        status, words = sent(server, "b.csv", data, 120)
        assert (status, bool(re.search("was stopped|memory", words))) == (422, True), words
        head = b'--B\r\nContent-Disposition: form-data; name="file"; filename="c.csv"\r\n\r\n'
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as leaving:
            body = head + data + b"\r\n--B--\r\n"
            leaving.sendall(f"POST /api/upload HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n"
                            f"Content-Type: multipart/form-data; boundary=B\r\nContent-Length: {len(body)}\r\n\r\n"
                            .encode() + body)  # fmt: skip
            until = time.monotonic() + PATIENCE
            while not large() and not select.select([leaving], [], [], 0.01)[0]:  # kept, or answered already
                assert time.monotonic() < until
        until = time.monotonic() + PATIENCE
        while large():
            assert time.monotonic() < until, large()
            time.sleep(0.05)
        assert len(left(tmp_path)) <= kept  # a stopped process goes with its folder
    assert left(tmp_path) == []


def test_a_start_clears_what_a_killed_server_left_and_nothing_else(tmp_path, started):
    (tmp_path / "weakly-serve-mine").mkdir()
    (tmp_path / "weakly-serve-mine" / "notes.txt").write_text("of somebody who likes the name")
    small = b"filename,onset,offset,event_label\na.wav,1,2,dog\n"
    with started() as living:
        with started() as dying:
            with side_by_side(*(lambda to=to: sent(to, "a.csv", small, 120) for to in (living, dying))) as found:
                pass
            assert [status for status, _ in found] == [200, 200]
            before = set(left(tmp_path))
            os.kill(dying.pid, 9)
        assert len({path.partition("/")[0] for path in left(tmp_path)}) == 3
        with started() as next_one:
            assert asked(next_one, "/api/nothing", {})[0] == 404  # it is there
            folders = {path.partition("/")[0] for path in left(tmp_path)}
            assert len(folders) == 3  # the living one's, the new one's, and that of somebody else
            (own,) = {path.partition("/")[0] for path in before} & folders - {"weakly-serve-mine"}
            assert {path for path in before if path.startswith(own)} <= set(left(tmp_path))
    assert left(tmp_path) == ["weakly-serve-mine", "weakly-serve-mine/notes.txt"]
