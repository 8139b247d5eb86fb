"""The suite in several processes that are copies of one: what it imports and collects is there once.

``pytest --copies 4`` collects, then forks; a copy runs one group of tests after the other. What it reports is told as
if this process had run it; where one dies, the test that it ran fails.
"""

import contextlib
import mmap
import os
import pickle
import selectors
import signal
import socket
import struct
from itertools import groupby

import pytest

_HEAD = struct.Struct("<I")
#: Files of half a minute or more, each with what it shares in one copy; they begin first, the longest before all. The
#: two of the page share a server and a browser.
LONG = ("test_web_looks.py", "test_web_browser.py", "test_labeler_browser.py", "test_web_abuse.py", "test_docs.py",
        "test_labeler.py", "test_compiled.py", "test_adaptive_campaign.py", "test_doors_agree.py",
        "test_cli_reproduce.py")  # fmt: skip
#: Files whose tests share nothing that is dear: any copy takes any of them, at the end.
APART = ("test_infer.py", "test_plan.py", "test_audit.py", "test_docstrings.py",
         "test_formats_real.py", "test_formats_fuzz.py", "test_zoo.py", "test_information.py",
         "test_inference.py")  # fmt: skip


def pytest_collection_modifyitems(items):
    """Their order: what is long begins."""
    order = {name: k for k, name in enumerate(LONG)} | dict.fromkeys(APART, len(LONG) + 1)
    items.sort(key=lambda item: order.get(item.path.name, len(LONG)))


def _group(item):
    """What stays in one copy: a file, or a single test."""
    name = item.path.name
    return item.nodeid if name in APART else str(item.path).replace("test_web_looks", "test_web_browser")


def pytest_addoption(parser):
    parser.addoption("--copies", type=int, default=1, metavar="N", help="run the tests in N copies of this process")


def _send(pipe, *what):
    data = pickle.dumps(what)
    pipe.sendall(_HEAD.pack(len(data)) + data)


def _receive(pipe):
    """What the other end said; nothing once it has gone."""
    head = pipe.recv(_HEAD.size, socket.MSG_WAITALL)
    if len(head) < _HEAD.size:
        return None
    (size,) = _HEAD.unpack(head)
    return pickle.loads(pipe.recv(size, socket.MSG_WAITALL))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Hand out the groups; the next one goes to a copy while it runs the last test of the one before."""
    copies = session.config.option.copies
    if copies < 2 or session.config.option.collectonly or not hasattr(os, "fork"):
        return None
    groups = [list(places) for _, places in groupby(range(len(session.items)), key=lambda k: _group(session.items[k]))]
    session.config._tmp_path_factory.getbasetemp()  # one for all: its folders are made under names that are free
    waiting, running, selector = list(reversed(groups)), {}, selectors.DefaultSelector()
    over = mmap.mmap(-1, 1)  # which all copies see: whether to stop

    def begin():
        here, there = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            here.close()
            for each in running.values():
                each[0].close()
            _work(session, there, over)
        there.close()
        running[pid] = [here, None, []]  # where it is told, the place of the test that it runs, and those to come
        selector.register(here, selectors.EVENT_READ, pid)

    def end(pid):
        pipe, place, left = running.pop(pid)
        selector.unregister(pipe)
        pipe.close()
        _, status = os.waitpid(pid, 0)
        if place is not None:  # it died of it
            item = session.items[place]
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", f"ended with status {status}", "call")
            session.config.hook.pytest_runtest_logreport(report=report)
        if left:
            waiting.append(left)
        if waiting and not over[0]:
            begin()

    try:
        for _ in range(min(copies, len(groups))):
            begin()
        while running:
            for key, _ in selector.select():
                pid, pipe = key.data, key.fileobj
                said = _receive(pipe)
                if said is None:
                    end(pid)
                elif said[0] == "next":
                    places = [] if over[0] or not waiting else waiting.pop()
                    running[pid][2] += places
                    with contextlib.suppress(OSError):
                        _send(pipe, places)
                elif said[0] == "runs":
                    running[pid][1] = said[1]
                    running[pid][2].remove(said[1])
                elif said[0] == "done":
                    running[pid][1] = None
                elif said[0] == "report":
                    report = session.config.hook.pytest_report_from_serializable(config=session.config, data=said[1])
                    session.config.hook.pytest_runtest_logreport(report=report)
                    over[0] = bool(session.shouldfail or session.shouldstop)
                else:
                    session.config.hook.pytest_warning_recorded.call_historic(kwargs=said[1])
    finally:
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


class _Teller:
    """What a copy learns goes to the process that it was copied from."""

    def __init__(self, config, pipe):
        self.config, self.pipe = config, pipe

    def pytest_runtest_logreport(self, report):
        _send(self.pipe, "report", self.config.hook.pytest_report_to_serializable(config=self.config, report=report))

    def pytest_warning_recorded(self, warning_message, when, nodeid, location):
        with contextlib.suppress(pickle.PicklingError, TypeError, AttributeError):  # of a class that no other knows
            told = {"warning_message": warning_message, "when": when, "nodeid": nodeid, "location": location}
            _send(self.pipe, "warning", told)


def _work(session, pipe, over):
    """Run what is given until there is no more, or it is over; the process ends here."""
    config = session.config
    code = 1
    try:
        capture = config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()  # whose files are shared with the other copies
        capture.start_global_capturing()
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(_Teller(config, pipe), "teller")

        def more():
            _send(pipe, "next")
            return _receive(pipe)[0]

        places = more()
        while places and not (over[0] or session.shouldfail):
            place = places.pop(0)
            places = places or more()
            _send(pipe, "runs", place)
            item, after = session.items[place], session.items[places[0]] if places else None
            config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            _send(pipe, "done")
        session._setupstate.teardown_exact(None)
        code = 0
    finally:
        with contextlib.suppress(OSError):
            pipe.close()
        os._exit(code)
