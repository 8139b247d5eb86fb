"""What the tests of the page share: a server as people run it, and what a person does in a browser."""

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

#: Has everything imported and waits for commands; each line becomes a process of its own that runs one.
MOTHER = """import gc, json, os, signal, sys, tempfile, warnings
import anyio._backends._asyncio, matplotlib.mlab, PIL.Image, plotly, soundfile, sqlalchemy.dialects.sqlite
import uvicorn.lifespan.on, uvicorn.loops.asyncio, uvicorn.loops.auto, uvicorn.protocols.http.auto
import uvicorn.protocols.websockets.auto, weakly.apps.label.launch, weakly.apps.web, weakly.cli.label
import pydantic.v1, pyarrow.pandas_compat, weakly.base.compiled, weakly.studies.infer.estimation
from weakly.cli import main
weakly.base.compiled.PATIENCE = (0.5, 0.2)
gc.collect()
gc.freeze()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    words, told, environment, before = json.loads(line)
    with warnings.catch_warnings(action="ignore"):  # libraries hold threads of their own
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ.update(environment)
        tempfile.tempdir = None
        sys.stderr = open(told, "w", 1)
        os.dup2(sys.stderr.fileno(), 2)
        exec(before)
        main(words)
    print(child, flush=True)
"""


def next_line(stream):
    """What a command says next, but for the line that tells of compiling, which comes on a slow or new machine."""
    while (line := stream.readline()).startswith("weakly: compiling"):
        pass
    return line


class Running:
    """A command that runs in a process of its own, which costs no imports; used as subprocess.Popen is."""

    def __init__(self, mother, told, words, environment, before):
        os.mkfifo(told)
        mother.stdin.write(json.dumps([words, str(told), environment, before]) + "\n")
        mother.stdin.flush()
        self.stderr = told.open(errors="backslashreplace")
        self.pid = int(mother.stdout.readline())

    def terminate(self, how=signal.SIGTERM):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, how)

    def kill(self):
        self.terminate(signal.SIGKILL)

    def wait(self):
        while Path(f"/proc/{self.pid}").exists():
            time.sleep(0.001)


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    """A function that runs a command of weakly beside the test, after some code of the test's own."""
    with subprocess.Popen([sys.executable, "-c", MOTHER], text=True, stdin=-1, stdout=-1) as mother:
        folder = tmp_path_factory.mktemp("told")
        told = (folder / str(k) for k in itertools.count())
        yield lambda *words, before="", **environment: Running(mother, next(told), words, environment, before)
        mother.kill()


@pytest.fixture(scope="session")
def link(running):
    """The link of a server that runs as people run it."""
    server = running("serve", "--port", "0", "--no-open")
    try:
        first = next_line(server.stderr)
        found = re.search(r"http://127\.0\.0\.1:\d+/#token=\w+", first)
        assert found, first
        yield found[0]
    finally:
        server.terminate()
        assert "Traceback" not in server.stderr.read()
        server.stderr.close()


@pytest.fixture(scope="session")
def address(link):
    """Its address; a browser that has opened the link once needs no more."""
    return link.partition("#")[0]


@pytest.fixture
def page(browser, link, address):
    """The page, freshly opened; afterwards the console must be clean and no request may have left the machine."""
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get("about:blank")
    browser.get(link)
    yield Page(browser)
    complaints = [line["message"] for line in browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
    assert [each for each in complaints if " 422 " not in each] == []  # the browser reports refused questions, too
    events = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    asked = [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]
    assert asked
    assert [
        url
        for url in asked
        if not url.startswith((address, "data:", "blob:", "about:", "chrome:", "chrome-untrusted:"))
    ] == []


class Page:
    """What a person does on the page."""

    def __init__(self, browser):
        self.browser = browser
        self.until(lambda: self.answer not in ("", "…"))

    def until(self, condition, seconds=180):
        replaced = (StaleElementReferenceException, NoSuchElementException)
        try:
            return WebDriverWait(self.browser, seconds, 0.05, replaced).until(lambda _: condition())
        except TimeoutException as error:
            error.msg = f"the page is {self.state} and says: {self.words()}"
            raise

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, f"section:not([hidden]) {selector}")

    @property
    def answer(self):
        return self._text(".answer")

    def words(self):
        """The whole answer: its first sentence and the list below it."""
        return self._text(".answer, .more li")

    def _text(self, selector):
        # In one step, as the page may change its parts at any time.
        script = "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent).join(' ')"
        parts = (f"section:not([hidden]) {each}" for each in selector.split(", "))
        return self.browser.execute_script(script, ", ".join(parts)).replace("\xa0", " ")

    def box(self, field):
        return self.find(f"[data-field={field}] input:not([type=range])")

    def type(self, field, text):
        self.box(field).send_keys(Keys.CONTROL, "a")
        self.box(field).send_keys(text)

    def error(self, field):
        return self.find(f"[data-field={field}] .error").text

    @property
    def state(self):
        """How what is shown stands to the form: empty, waiting, answered, problem or cancelled."""
        return self.browser.execute_script("return document.querySelector('section:not([hidden])')?.dataset.state")

    def settled(self, seconds=60):
        """Once nothing is on its way any more."""
        return self.until(lambda: self.state != "waiting", seconds)

    def reopen(self, link):
        """Another visit to the same page."""
        self.browser.get("about:blank")
        self.browser.get(link)
        return Page(self.browser)

    def shown(self, selector):
        """Whether something on the open tab can be seen as it should be: not hidden, not dimmed."""
        script = """const node = document.querySelector(arguments[0]);
        if (!node?.checkVisibility()) return false;
        let clear = 1;
        for (let each = node; each; each = each.parentElement) clear *= Number(getComputedStyle(each).opacity);
        return clear > 0.9"""
        return self.browser.execute_script(script, f"section:not([hidden]) {selector}")

    def tab(self, name):
        self.browser.find_element(By.ID, f"tab-{name}").click()

    def send(self, field, path, seconds=60):
        self.find(f"[data-field={field}] input[type=file]").send_keys(str(path))
        self.until(lambda: "recordings" in self.find(f"[data-field={field}]").text, seconds)
        self.settled(seconds)
