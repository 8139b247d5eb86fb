"""Labeling in a real browser: a segment sounds, a key answers, and what was pressed is what the store holds."""

import base64
import contextlib
import json
import re
import resource
import sqlite3
from pathlib import Path

import axe_core_python
import pandas as pd
import pytest
from selenium.common.exceptions import ElementClickInterceptedException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from weakly.io.soundscape import soundscape

from .conftest import next_line

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
#: Whether the page takes a key: a segment is shown, for long enough, and has begun to play or waits for a first touch.
READY = """const done = arguments[0], seen = (id) => document.getElementById(id).checkVisibility();
    import('/static/state.js').then(({ now }) => done(seen('question') && !now.busy && now.shown > 0
        && performance.now() - now.shown > 100 && !document.querySelector('.screen.loading, [aria-busy=true]')
        && (['sound', 'film'].some((id) => document.getElementById(id).currentTime > 0) || seen('start'))),
        () => done(false))"""
NASTY = "<img src=x onerror=document.title='owned'>"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    for k in range(2):
        soundscape(4.5, n_events=1, event_length=0.8, rng=k).write(folder / f"night_{k}.wav")
    return folder


@pytest.fixture(scope="module")
def stopped():
    """Servers that were told to stop, which nobody waits for until all tests have run."""
    servers = []
    yield servers
    for words, process in servers:
        assert "Traceback" not in process.stderr.read(), words
        process.wait()
        process.stderr.close()


@pytest.fixture
def label(recordings, tmp_path, running, stopped):
    """Starts `weakly label` in the test's folder; what it prints at the start, line by line."""
    started = []

    def start(*arguments, lines=1, port="0", before=""):
        words = ["label", *arguments, "--out", str(tmp_path / "c"), "--port", port, "--no-open"]
        started.append(running(*words, before=before))
        return [next_line(started[-1].stderr).strip() for _ in range(lines)]

    start.running = started
    yield start
    for process in started:
        process.terminate()
        stopped.append((tmp_path.name, process))


@pytest.fixture
def desk(browser, tmp_path):
    """The person in front of the browser; afterwards the console is clean and nothing was asked of anybody else."""
    browser.get_log("browser")
    browser.get_log("performance")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    desk = Desk(browser, tmp_path / "c" / "campaign.db")
    yield desk
    if desk.calmed:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", desk.calmed)
    first = browser.window_handles[0]
    for handle in browser.window_handles[1:]:
        browser.switch_to.window(handle)
        browser.close()
    browser.switch_to.window(first)
    complaints = [line["message"] for line in browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
    assert [each for each in complaints if " 401 " not in each and " 403 " not in each] == []
    events = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    asked = [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]
    assert [
        url
        for url in asked
        if not url.startswith(
            ("http://127.0.0.1:", "blob:http://127.0.0.1:", "data:", "about:", "chrome:", "chrome-untrusted:")
        )
    ] == []
    browser.get("about:blank")


class Desk:
    """What a person does and sees."""

    def __init__(self, browser, store):
        self.browser, self.store, self.calmed = browser, store, None

    def open(self, address, new_tab=False):
        if new_tab:
            self.browser.switch_to.new_window("tab")
        self.browser.get(address)
        return self.browser.current_window_handle

    def until(self, condition, seconds=120):
        try:
            return WebDriverWait(self.browser, seconds, 0.05).until(lambda _: condition())
        except Exception as error:
            raise AssertionError(
                f"{self.text('problem')!r}, {self.text('progress')!r}, {self.text('written')!r}"
            ) from error

    def calm(self):
        """Pages that are opened from now on draw ten frames a second: as long a wait, with little work."""
        script = "const draw = requestAnimationFrame; window.requestAnimationFrame = (f) => setTimeout(draw, 100, f)"
        self.calmed = self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})

    def text(self, id):
        return self.browser.find_element(By.ID, id).get_attribute("textContent")

    def shows(self, id):
        return self.browser.find_element(By.ID, id).is_displayed()

    def sound(self):
        script = """const s = document.getElementById('sound');
            return [s.duration || 0, s.currentTime, s.webkitAudioDecodedByteCount, s.src]"""
        return self.browser.execute_script(script)

    def quiet(self):
        """Seconds since the segment was heard to its end; 0 before that."""
        script = """const s = document.getElementById('sound');
            if (!(s.duration > 0 && s.currentTime >= s.duration - 0.05)) window.ended = null;
            else if (window.ended?.src !== s.src) window.ended = { src: s.src, at: performance.now() };
            return window.ended ? (performance.now() - window.ended.at) / 1000 : 0"""
        return self.browser.execute_script(script)

    def press(self, key):
        ActionChains(self.browser).send_keys(key).perform()

    def click(self, id):
        """Click it, once what is still loading above it no longer pushes it away."""

        def clicked():
            with contextlib.suppress(ElementClickInterceptedException):
                self.browser.find_element(By.ID, id).click()
                return True

        self.until(clicked)

    def tap(self, id):
        """A finger on the middle of it."""
        box = self.browser.find_element(By.ID, id).rect
        scrolled = self.browser.execute_script("return [scrollX, scrollY]")
        at = {"x": box["x"] + box["width"] / 2 - scrolled[0], "y": box["y"] + box["height"] / 2 - scrolled[1]}
        for kind, points in (("touchStart", [at]), ("touchEnd", [])):
            self.browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def drag(self, id, start, end):
        """Press at one place of it and let go at another, both in shares of its width and height; or a click."""
        box = self.browser.find_element(By.ID, id)
        size, hand = box.size, ActionChains(self.browser, duration=50)
        at = [(round((x - 0.5) * size["width"]), round((y - 0.5) * size["height"])) for x, y in (start, end)]
        hand.move_to_element_with_offset(box, *at[0]).click_and_hold()
        if start != end:
            hand.move_to_element_with_offset(box, *at[1])
        hand.release().perform()

    def graph(self):
        """What the filters and the gain are set to."""
        script = "const done = arguments[0]; import('/static/ear.js').then((ear) => done(ear.heard()))"
        return self.browser.execute_async_script(script)

    def choose(self, id, value):
        script = """const node = document.getElementById(arguments[0]);
            node.value = arguments[1]; node.dispatchEvent(new Event('change'))"""
        self.browser.execute_script(script, id, value)

    def telephone(self, scheme):
        """The window becomes that of a telephone, light or dark."""
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        )
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def accessible(self):
        """What axe-core complains of on the page as it stands."""
        self.browser.execute_script(AXE)
        found = self.browser.execute_async_script("axe.run().then(arguments[0])")
        return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found["violations"]]

    def fetched(self, path):
        """The status and the body of an answer of the server to this page."""
        script = """const [path, done] = arguments;
            const headers = { Authorization: `Bearer ${sessionStorage.getItem('token')}` };
            fetch(`api/1/${path}`, { headers }).then(async (said) => done([said.status, await said.json()]));"""
        return self.browser.execute_async_script(script, path)

    def saved(self):
        return self.text("saved") == "saved"

    def waits(self):
        self.until(lambda: self.text("saved") == "not saved yet, trying again…")

    def answered(self):
        found = re.match(r"\d+", self.text("progress"))  # nothing while the page is loading
        return None if found is None else int(found[0])

    def ready(self):
        """A segment that has just begun to play, or waits for a first touch; keys that come sooner are not taken."""
        self.until(lambda: self.browser.execute_async_script(READY))

    def answer(self, key):
        self.ready()
        before, source = self.answered(), self.sound()[3]
        self.press(key)
        self.until(lambda: self.shows("finished") or (self.answered() == before + 1 and self.sound()[3] != source))

    def held(self, table="answers"):
        with contextlib.closing(sqlite3.connect(self.store)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(f"select * from {table} order by number")]


def address_of(line):
    return re.search(r"http://\S+", line)[0]


def test_a_whole_campaign_by_keyboard(label, recordings, desk):
    (line,) = label(str(recordings), "--label", "owl", "--segment-length", "1.5")
    here = address_of(line)
    one = desk.open(here)
    desk.ready()
    desk.press(" ")  # the first touch, without which browsers stay silent
    desk.until(lambda: desk.sound()[1] > 0.3)
    duration, _, decoded, _ = desk.sound()
    assert duration == pytest.approx(1.5, abs=0.01)
    assert decoded > 0
    desk.until(lambda: desk.sound()[1] > 1.4)  # to its end
    assert desk.browser.execute_script(
        "const i = document.getElementById('picture'); return i.complete && i.naturalWidth > 100"
    )
    marks = desk.browser.execute_script("return [...document.querySelectorAll('.axis span')].map((s) => s.textContent)")
    assert "kHz" in marks
    assert any(mark.endswith(" s") for mark in marks)

    desk.answer("p")
    assert desk.sound()[1] < 1.4  # the next one plays by itself
    desk.answer("a")
    desk.answer("u")
    desk.ready()
    desk.press("z")
    desk.until(lambda: desk.answered() == 2)
    desk.ready()
    desk.press("c")
    desk.until(lambda: desk.sound()[0] > 2)
    desk.press("s")
    desk.press("b")
    desk.until(lambda: desk.shows("note"))
    desk.browser.find_element(By.ID, "note").send_keys(f"a {NASTY}", Keys.ENTER)  # letters that are keys elsewhere
    desk.until(lambda: not desk.shows("note"))
    desk.answer("1")
    assert desk.answered() == 3

    desk.browser.refresh()  # in the middle: the same state, and the same segment
    desk.ready()
    assert desk.answered() == 3
    question = desk.text("question")
    desk.press("z")  # what was answered before the page was loaded is taken back as well
    desk.until(lambda: desk.answered() == 2)
    desk.answer("a")
    assert desk.text("question") == question

    two = desk.open(here, new_tab=True)
    desk.ready()
    assert desk.text("question") == question
    desk.answer("0")
    desk.browser.switch_to.window(one)
    desk.press("p")  # the same segment, in the tab that does not know yet
    desk.until(lambda: "already" in desk.text("toast"))
    desk.until(lambda: desk.answered() == 4)
    desk.browser.switch_to.window(two)
    desk.answer("p")
    desk.ready()
    desk.browser.find_element(By.ID, "present").click()
    desk.until(lambda: desk.shows("finished"))
    assert "Everything is answered" in desk.text("thanks")

    rows = desk.held()
    taken_back = rows[2]
    assert [row["present"] for row in rows] == [1, 0, None, 1, 0, 0, 1, 1]
    assert rows[3]["query"] == rows[4]["query"] == taken_back["query"]
    assert len({row["query"] for row in rows}) == 6
    assert all(0 < row["seconds"] < 60 for row in rows)
    acts = {(row["kind"], row["detail"]) for row in desk.held("actions")}
    assert {("undo", taken_back["answer"]), ("bookmark", f"a {NASTY}"), ("context", "shown"), ("speed", "1.5")} <= acts

    desk.until(lambda: desk.shows("export"))
    desk.click("export")
    desk.until(lambda: "strong.tsv" in desk.text("written"))
    assert desk.browser.title != "owned"


def test_two_annotators_and_the_owner(label, recordings, desk, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for path, name in zip(sorted(recordings.glob("*.wav")), (f"{NASTY}.wav", "night.wav")):
        (folder / name).write_bytes(path.read_bytes())
    lines = label(
        str(folder), "--label", NASTY, "--segment-length", "2.5", "--annotators", "ana,ben", "--votes", "2", lines=3
    )
    links = {line.partition(":")[0]: address_of(line) for line in lines}
    assert set(links) == {"ana", "ben", "owner"}
    for name, keys in (("ana", "papa"), ("ben", "ppaa")):
        desk.open(links[name], new_tab=True)
        desk.ready()
        assert "token" not in desk.browser.current_url
        assert NASTY in desk.text("question")
        desk.press(" ")
        for key in keys:
            desk.answer(key)
        desk.until(lambda: desk.shows("finished"))
        assert not desk.shows("export")
    rows = desk.held()
    assert [(row["annotator"], row["present"]) for row in rows] == [
        *(("ana", x) for x in (1, 0, 1, 0)), *(("ben", x) for x in (1, 1, 0, 0)),
    ]  # fmt: skip
    desk.open(links["owner"], new_tab=True)
    desk.until(lambda: "agree" in desk.text("agreement"))
    assert "50 %" in desk.text("agreement")
    assert "ana" in desk.text("team")
    desk.open(links["owner"].partition("#")[0], new_tab=True)
    desk.until(lambda: "token" in desk.text("problem"))
    assert desk.browser.title != "owned"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone(label, recordings, desk, scheme):
    (line,) = label(str(recordings), "--label", "owl", "--segment-length", "2.5")
    desk.telephone(scheme)
    desk.open(address_of(line))
    desk.ready()
    assert desk.browser.execute_script("return document.documentElement.scrollWidth <= 390")
    script = """return [...document.querySelectorAll('button')].filter((b) => b.offsetParent)
        .map((b) => [b.offsetHeight, b.textContent.trim() || b.getAttribute('aria-label')])"""
    sizes = desk.browser.execute_script(script)
    assert all(height >= 40 and name for height, name in sizes)
    back = desk.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", back)[:3])) < 200) == (scheme == "dark")
    desk.tap("start")
    desk.until(lambda: desk.sound()[1] > 0.2)
    desk.tap("absent")
    desk.until(lambda: desk.answered() == 1)
    desk.press("m")
    desk.until(lambda: "1 answer" in desk.text("numbers"))
    assert desk.browser.execute_script("return document.documentElement.scrollWidth <= 390")


def test_screen_readers_and_the_tab_key(label, recordings, desk):
    """What the browser tells a screen reader: names of everything that can be used, and what has just happened."""
    (line,) = label(str(recordings), "--label", "owl", "--segment-length", "1.5", "--target", "n_queries<=5")
    desk.open(address_of(line))
    desk.ready()
    said = """window.said = []; for (const node of document.querySelectorAll('[aria-live]')) new MutationObserver(
        () => node.textContent && window.said.push(node.textContent)).observe(node, { childList: true })"""
    desk.browser.execute_script(said)
    desk.press(" ")
    reached = set()
    for _ in range(20):
        desk.press(Keys.TAB)
        reached.add(desk.browser.execute_script("return document.activeElement.id || document.activeElement.tagName"))
    buttons = desk.browser.find_elements(By.CSS_SELECTOR, "#labeling button, #help")
    usable = {each.get_attribute("id") for each in buttons if each.is_displayed() and each.is_enabled()}
    assert {"present", "absent", "unsure", "replay", "context", "help"} <= usable <= reached
    assert "SUMMARY" in reached
    for k, key in enumerate("paupa"):
        desk.ready()
        desk.press(key)
        desk.until(lambda k=k: desk.answered() == k + 1)
    words = desk.browser.execute_script("return window.said")
    assert [word for word in words if word.startswith(("present", "absent", "unsure"))] == [
        f"{word}, saved. Segment {k + 2}, 1.5 seconds. Is owl present?"
        for k, word in enumerate(("present", "absent", "unsure", "present", "absent"))
    ]
    desk.until(lambda: desk.shows("enough"))  # five answers are what was paid for
    desk.until(lambda: "You may stop now." in desk.browser.execute_script("return window.said"))
    desk.press("m")
    desk.until(lambda: "Budget n_queries <= 5 answers: used up" in desk.text("numbers"))
    tree = desk.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "textbox", "image", "img", "progressbar", "heading", "group", "main", "DisclosureTriangle"}
    named = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree
             if not node["ignored"] and node["role"]["value"] in roles}  # fmt: skip
    assert not [role for role, name in named if not name and role not in ("main", "group")]
    assert any(role in ("image", "img") and name.startswith("Spectrogram 1.5") for role, name in named)


def test_answers_wait_for_a_server_that_is_away(label, recordings, desk, tmp_path):
    (line,) = label(str(recordings), "--label", "owl", "--segment-length", "1.5")
    here = address_of(line)
    desk.open(here)
    desk.ready()
    desk.press(" ")
    desk.answer("p")
    desk.ready()
    desk.browser.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    desk.browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    desk.press("a")
    desk.until(lambda: "not saved" in desk.text("saved"))
    desk.browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**offline, "offline": False})
    desk.until(lambda: desk.answered() == 2)
    assert [row["present"] for row in desk.held()] == [1, 0]
    desk.browser.get_log("browser")  # the browser tells of requests that found nobody


def test_postgresql_stops_and_starts_again_while_answers_are_pressed(label, recordings, desk, postgres):
    """What is said to be saved is in the database, whatever happens to it; a reload changes nothing."""
    (line,) = label(
        str(recordings), "--label", "owl", "--segment-length", "1.5", "--in-order", "--database", postgres.address
    )
    held = lambda: [row[0] for row in postgres.rows("select present from answers order by number")]  # noqa: E731
    desk.open(address_of(line))
    desk.ready()
    desk.press(" ")
    desk.answer("p")
    for k, key in enumerate("aup"):
        desk.ready()
        postgres.stop()
        desk.press(key)
        desk.waits()
        assert "cannot be read or written" in desk.text("problem")
        assert postgres.PASSWORD not in desk.browser.page_source
        if k > 0:
            desk.browser.refresh()
            desk.waits()
        if k > 1:  # and another tab, which sends the same answer
            desk.open(address_of(line), new_tab=True)
            desk.waits()
        postgres.start()
        desk.until(desk.saved)
        assert held() == [1, 0, None, 1][: k + 2]
        desk.until(lambda k=k: desk.answered() == k + 2)
        assert not desk.shows("problem")
    desk.browser.switch_to.window(desk.browser.window_handles[0])
    desk.until(desk.saved)
    assert desk.browser.execute_script("return localStorage.length") == 0
    assert len(held()) == 4
    desk.browser.get_log("browser")  # the browser tells of answers with status 503


def test_a_full_disk_a_moved_file_and_a_locked_one_lose_nothing(label, recordings, desk, tmp_path):
    (line,) = label(str(recordings), "--label", "owl", "--segment-length", "1.5")
    desk.open(address_of(line))
    desk.ready()
    desk.press(" ")
    desk.ready()
    server, unlimited = label.running[-1].pid, resource.RLIM_INFINITY
    resource.prlimit(server, resource.RLIMIT_FSIZE, (0, unlimited))  # the disk is full
    desk.press("p")
    desk.waits()
    desk.browser.refresh()
    desk.waits()
    assert desk.held() == []
    resource.prlimit(server, resource.RLIMIT_FSIZE, (unlimited, unlimited))
    desk.until(desk.saved)
    assert [row["present"] for row in desk.held()] == [1]

    desk.ready()
    away = desk.store.rename(tmp_path / "away.db")
    desk.press("a")
    desk.waits()
    assert not desk.store.exists()  # no new one, in which nothing would be
    assert desk.fetched("ask")[0] == 503
    away.rename(desk.store)
    desk.until(desk.saved)
    assert [row["present"] for row in desk.held()] == [1, 0]

    desk.ready()
    with contextlib.closing(sqlite3.connect(desk.store, isolation_level=None)) as other:
        other.execute("begin exclusive")
        desk.press("p")
        desk.until(lambda: desk.text("saved") == "saving…")
        assert desk.fetched("me")[0] == 200  # the server lives, and has the answer since before this question
        assert desk.text("saved") == "saving…"
        other.execute("rollback")
    desk.until(desk.saved)
    assert [row["present"] for row in desk.held()] == [1, 0, 1]
    desk.browser.get_log("browser")


#: What a server does that dies before it has stored an answer ("pressed"), or before it says so ("committed").
_DYING = """
from weakly.apps.label.session import LabelingSession
def dies(self, told, take=LabelingSession.take):
    if {moment!r} == "committed":
        take(self, told)
    os._exit(9)
LabelingSession.take = dies
"""


@pytest.mark.parametrize("moment", ["committed", "pressed"])
def test_a_server_that_dies_before_it_answers(label, recordings, desk, moment):
    """Killed before or after the commit: the tab that waits and one that is opened later store the answer once."""
    words = (str(recordings), "--label", "owl", "--segment-length", "1.5")
    (line,) = label(*words, before=_DYING.format(moment=moment))
    here = address_of(line)
    first = desk.open(here)
    desk.ready()
    desk.press("p")
    desk.waits()
    assert len(desk.held()) == (moment == "committed")
    label.running[-1].wait()
    port = re.search(r":(\d+)/", here)[1]
    label(*words, port=port)
    desk.open(here, new_tab=True)
    desk.until(lambda: desk.answered() == 1)
    desk.browser.switch_to.window(first)
    desk.until(desk.saved)
    assert [row["present"] for row in desk.held()] == [1]

    desk.ready()  # and a tab that is closed while it waits
    label.running[-1].kill()
    label.running[-1].wait()
    desk.press("a")
    desk.waits()
    desk.browser.get("about:blank")
    label(*words, port=port)
    desk.open(here, new_tab=True)
    desk.until(lambda: desk.answered() == 2)
    assert [row["present"] for row in desk.held()] == [1, 0]
    desk.browser.get_log("browser")


def test_an_answer_that_can_never_be_stored_is_said_not_to_be(label, recordings, desk):
    (line,) = label(str(recordings), "--label", "owl", "--segment-length", "1.5")
    desk.open(address_of(line))
    desk.ready()
    desk.browser.execute_script("""const real = window.fetch;
        window.fetch = (path, how) => real(path, how?.body?.includes('"present"')
            ? { ...how, body: how.body.replace(/"query":"[^"]*"/, '"query":"another"') } : how);""")
    desk.press("p")
    desk.until(lambda: desk.text("saved") == "not saved")
    desk.until(lambda: desk.shows("problem"))
    assert desk.text("problem").startswith("Not saved: query: there is no query 'another'")
    assert desk.held() == []
    assert desk.answered() == 0
    # The same from a page that was closed before it could send: what belongs to another campaign is left alone.
    me = desk.fetched("me")[1]
    mine, other = (f"weakly {json.dumps([name, me['annotator']], separators=(',', ':'))} 1 x"
                   for name in (me["campaign"], "another"))  # fmt: skip
    old = json.dumps({"path": "tell", "body": {"query": "gone", "present": 1, "id": "an-old-answer"}})
    for key in (mine, other):
        desk.browser.execute_script("localStorage.setItem(...arguments)", key, old)
    desk.browser.refresh()
    desk.until(lambda: "Not saved: query: there is no query 'gone'" in desk.text("problem"))
    assert desk.text("saved") == "not saved"
    keys = desk.browser.execute_script("return Object.keys(localStorage)")
    assert mine not in keys
    assert other in keys
    desk.answer("a")  # and the page goes on
    assert desk.saved()
    assert not desk.shows("problem")
    assert [row["present"] for row in desk.held()] == [0]
    desk.browser.execute_script("localStorage.clear()")
    desk.browser.get_log("browser")


FILM = """const done = arguments[0], canvas = document.createElement('canvas'), paint = canvas.getContext('2d');
    canvas.width = 160; canvas.height = 90;
    const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: 'video/webm' }), parts = [];
    const colour = () => { paint.fillStyle = `hsl(${performance.now() / 5},80%,50%)`; paint.fillRect(0, 0, 160, 90) };
    const draw = setInterval(colour, 40);
    recorder.ondataavailable = (event) => parts.push(event.data);
    recorder.onstop = () => { const reader = new FileReader();
        reader.onload = () => done(reader.result.split(',')[1]); reader.readAsDataURL(new Blob(parts)) };
    recorder.start(); setTimeout(() => { clearInterval(draw); recorder.stop() }, 2600);"""


def test_a_video_plays_its_segment_and_stops_at_its_end(label, desk, tmp_path):
    """The film is recorded by the browser itself, so it has no index and does not say how long it is."""
    desk.browser.set_script_timeout(120)
    (tmp_path / "films").mkdir()
    (tmp_path / "films" / "nest.webm").write_bytes(base64.b64decode(desk.browser.execute_async_script(FILM)))
    (line,) = label(str(tmp_path / "films"), "--label", "chick", "--segment-length", "0.8", "--in-order")
    desk.open(address_of(line))
    script = """const f = document.getElementById('film');
        return [f.currentTime, f.paused, f.videoWidth, f.error, window.started]"""
    film = lambda: desk.browser.execute_script(script)  # noqa: E731
    desk.until(lambda: desk.shows("start"))
    desk.browser.execute_script("""const f = document.getElementById('film'), play = f.play.bind(f);
        window.started = []; f.play = () => { window.started.push(f.currentTime); return play() }""")
    desk.press(" ")
    ends = []
    film_ends = lambda: min(3.2, desk.fetched("ask")[1]["items"][0]["recording_length"])  # noqa: E731
    for onset in (0.0, 0.8):
        desk.until(lambda onset=onset: film()[0] > onset + 0.2)
        desk.until(lambda: film()[1:3] == [True, 160])  # it stops by itself
        ends.append(film()[0])
        plays = len(film()[4])
        desk.press("r")
        desk.until(lambda plays=plays: len(film()[4]) > plays)  # once more, from its start
        assert film()[4][-1] == pytest.approx(onset, abs=0.05)
        before = desk.answered()
        desk.press("p")
        desk.until(lambda before=before: desk.answered() == before + 1)
    desk.until(lambda: film()[2:4] == [160, None])  # the third one is there
    drawn = "return [document.getElementById('stills').dataset.drawn, JSON.parse(stills.dataset.stills).slice(1)]"
    desk.until(lambda: desk.browser.execute_script(drawn)[0] == "1")
    assert desk.browser.execute_script(drawn)[1] == pytest.approx([1.6, 2.4])
    colours = """const c = document.createElement('canvas'), paint = c.getContext('2d', { willReadFrequently: true });
        Object.assign(c, { width: stills.width, height: stills.height }); paint.drawImage(stills, 0, 0);
        const at = (x) => [...paint.getImageData(x, 36, 1, 1).data].join();
        return new Set([5, c.width / 2, c.width - 9].map(at)).size"""
    assert desk.browser.execute_script(colours) == 3  # other moments, other pictures
    desk.press("c")
    desk.until(lambda: desk.browser.execute_script(drawn) == ["1", pytest.approx([0.8, film_ends()], abs=0.01)])
    inside = "const b = document.getElementById('before'); return [b.parentElement.id, parseFloat(b.style.width)]"
    assert desk.browser.execute_script(inside) == ["frames", pytest.approx(100 * 0.8 / (film_ends() - 0.8), abs=1)]
    plays = len(film()[4])
    desk.drag("frames", (0.5, 0.5), (0.5, 0.5))
    desk.until(lambda: len(film()[4]) > plays)
    assert film()[4][-1] == pytest.approx((0.8 + film_ends()) / 2, abs=0.05)
    assert desk.accessible() == []
    while not desk.shows("finished"):
        desk.ready()
        before = desk.answered()
        desk.until(lambda: film()[2:4] == [160, None])
        desk.press("a")
        desk.until(lambda before=before: desk.shows("finished") or desk.answered() == before + 1)
    desk.until(lambda: desk.shows("end"))
    desk.until(
        lambda: desk.browser.execute_script("return document.querySelector('#strips canvas').dataset.drawn === '1'")
    )
    desk.until(lambda: "viewed" in desk.text("quality"))
    assert "heard" not in desk.text("outcome") + desk.text("quality")
    assert ends == pytest.approx([0.8, 1.6], abs=0.05)
    assert [row["onset"] for row in desk.held("queries")][:2] == [0, 0.8]


STRIPS = """return [...document.querySelectorAll('.strip')].map((row) => [
    row.querySelector('h3').firstChild.textContent,
    ...[...row.querySelectorAll('.events button')].map((each) => each.textContent.split(' s')[0].trim())])"""


def test_the_end_is_a_picture(label, recordings, desk, tmp_path):
    """What was found is seen, heard and corrected by a click, on the way and at the end, and then exported."""
    (line,) = label(str(recordings), "--label", "owl", "--segment-length", "1.5", "--in-order")
    strips = lambda: desk.browser.execute_script(STRIPS)  # noqa: E731
    playing = """const done = arguments[0]; import('/static/strips.js').then(({ sound }) =>
        done([sound.paused, sound.duration]))"""
    desk.open(address_of(line))
    desk.ready()
    desk.press(" ")
    for key in "pap":
        desk.answer(key)
    desk.ready()
    desk.browser.find_element(By.ID, "ending").click()
    desk.until(lambda: desk.shows("end"))
    assert strips() == [["night_0.wav", "0 to 1.5", "3 to 4.5"], ["night_1.wav"]]
    assert not desk.shows("labeling")
    assert "nothing was answered here" in desk.text("strips")
    desk.press("p")  # a key that answers, elsewhere
    desk.browser.find_element(By.ID, "ending").click()
    desk.until(lambda: desk.shows("labeling"))
    assert desk.answered() == 3
    for key in "apa":
        desk.answer(key)
    desk.until(lambda: desk.shows("end"))
    assert strips() == [["night_0.wav", "0 to 1.5", "3 to 4.5"], ["night_1.wav", "1.5 to 3"]]
    pictures = "return [...document.querySelectorAll('.strip img')].every((i) => i.complete && i.naturalWidth > 100)"
    desk.until(lambda: desk.browser.execute_script(pictures))
    desk.browser.find_elements(By.CSS_SELECTOR, ".events button")[1].click()
    desk.until(lambda: desk.browser.execute_async_script(playing) == [False, pytest.approx(1.75, abs=0.01)])
    assert desk.accessible() == []
    fix = "#strips .fix:not([hidden]) button"
    none = next(each for each in desk.browser.find_elements(By.CSS_SELECTOR, fix) if each.text == "There is none")
    none.click()
    desk.until(lambda: strips()[0] == ["night_0.wav", "0 to 1.5"])
    desk.browser.execute_script("document.querySelectorAll('.strip .screen')[1].id = 'second-strip'")
    desk.drag("second-strip", (0.7, 0.5), (0.8, 0.5))
    desk.until(lambda: desk.browser.find_elements(By.CSS_SELECTOR, fix))
    desk.browser.find_element(By.XPATH, "//li[2]//button[text()='There is an event']").click()
    desk.until(lambda: len(strips()[1]) == 3)
    ends = [float(end) for end in strips()[1][2].split(" to ")]
    assert ends == pytest.approx([3.15, 3.6], abs=0.03)
    desk.browser.refresh()  # it is in the store
    desk.until(lambda: desk.shows("end") and len(strips()) == 2)
    assert strips()[0] == ["night_0.wav", "0 to 1.5"]
    desk.until(lambda: desk.shows("export"))
    desk.click("export")
    desk.until(lambda: "corrections.csv" in desk.text("written"))
    assert desk.text("written").count("answers.csv") == 1
    desk.telephone("dark")
    assert desk.browser.execute_script("return document.documentElement.scrollWidth <= 390")
    assert desk.accessible() == []
    rows = [line.split("\t") for line in (tmp_path / "c" / "labels" / "strong.tsv").read_text().splitlines()[1:]]
    assert [(name, float(a), float(b)) for name, a, b, _ in rows] == [
        ("night_0.wav", 0, 1.5), ("night_1.wav", 1.5, 3), ("night_1.wav", *(pytest.approx(x, abs=0.006) for x in ends)),
    ]  # fmt: skip


def test_a_measurement_by_ear_with_catch_trials(label, desk, tmp_path):
    """Somebody who listens, by what the store says of each segment: no picture, no context, a sample, then the card."""
    scene = soundscape(30, n_events=12, event_length=(0.1, 0.2), least_gap=0.8, rng=2)
    scene.write(tmp_path / "in" / "pond.wav")
    known = pd.DataFrame(scene.events, columns=["onset", "offset"])
    known.assign(recording="pond.wav", label="frog").to_csv(tmp_path / "known.csv", index=False)
    words = ("--label", "frog", "--segment-length", "0.4", "--events", str(tmp_path / "known.csv"))
    (line,) = label(str(tmp_path / "in"), "--measure", "--items", "20", *words)
    desk.calm()
    desk.open(address_of(line))
    desk.ready()
    assert "Listen for: frog" in desk.text("listen")
    for hidden in ("context", "speed", "picture"):
        assert not desk.shows(hidden)
    desk.browser.find_element(By.ID, "sample").click()
    desk.press("v")
    desk.until(lambda: desk.shows("picture"))
    desk.press("v")
    desk.until(lambda: not desk.shows("picture"))
    desk.press(" ")
    for count in range(20):
        desk.ready()
        desk.until(lambda: desk.quiet() > 0.2)  # nobody answers sooner after a sound, and the card knows
        with contextlib.closing(sqlite3.connect(desk.store)) as db:
            asked = "select query, event_fraction from queries order by number desc limit 1"
            _, fraction = db.execute(asked).fetchone()
        desk.press("p" if fraction >= 0.4 else "a")
        desk.until(lambda count=count: desk.answered() == count + 1 or desk.shows("finished"))
    desk.until(lambda: desk.shows("card") and "card.json" in desk.text("written"))
    assert re.match(r"You notice an event once \d+ % \(", desk.text("card"))
    assert "as likely as without listening" in desk.text("card")
    assert "picture was shown for 1 segment" in desk.text("card")
    card = json.loads((tmp_path / "c" / "card.json").read_text())
    assert card["n_items"] == 20
    with contextlib.closing(sqlite3.connect(desk.store)) as db:
        fractions = [row[0] for row in db.execute("select event_fraction from queries order by number")]
    assert fractions.count(0.0) >= 2
    assert fractions.count(1.0) >= 2


def test_keys_without_listening_make_no_card(label, desk, tmp_path):
    (line,) = label("--measure", "--items", "10")
    desk.calm()
    desk.open(address_of(line))
    desk.ready()
    assert "glide" in desk.text("listen")  # of the set that comes along
    desk.press(" ")
    for count in range(10):
        desk.answer("pa"[count % 2])
    desk.until(lambda: desk.shows("card"))
    assert desk.text("card").startswith("No card: ")
    assert not (tmp_path / "c" / "card.json").exists()


def test_what_is_heard_is_what_played(label, recordings, desk):
    """A segment that is stopped half way, one that is played twice, and one whose answer comes at its end."""
    (line,) = label(str(recordings), "--label", "owl", "--segment-length", "1.5", "--repeats", "0.1")
    desk.open(address_of(line))
    desk.ready()
    desk.press(" ")
    desk.until(lambda: desk.sound()[1] > 0.75)
    stopped = desk.sound()[1]
    desk.press("p")
    desk.until(lambda: desk.answered() == 1)
    desk.until(lambda: desk.sound()[1] >= 1.45)
    desk.press("r")
    desk.until(lambda: 0 < desk.sound()[1] < 1.2)
    desk.until(lambda: desk.sound()[1] >= 1.45)
    desk.press("a")
    desk.until(lambda: desk.answered() == 2)
    (half, *_), (twice, whole) = (
        map(float, row["detail"].split()) for row in desk.held("actions") if row["kind"] == "reviewed"
    )
    assert stopped - 0.05 <= half < 1.4
    assert 2.7 < twice <= 3.05
    assert whole == pytest.approx(1.5, abs=0.08)
    spent = desk.fetched("live")[1]["spent"]
    assert spent["listened"] == pytest.approx(half + twice, abs=0.01)
    assert spent["minutes"] * 60 >= half + twice - 0.3
    assert any(f"{half + twice:.1f}"[:2] in text and "heard" in text for text in desk.fetched("live")[1]["sentences"])


GUIDE = """# Owls

A **second** is enough.

- hoots
- <script>document.title = "owned"</script> and <img src=x onerror=document.title='owned'>

1. listen
2. answer
"""


def test_the_ear(label, recordings, desk):
    """Stop and go on, seek, loop, slow down, filter; level and brightness belong to the recording."""
    (line,) = label(str(recordings), "--label", "owl", "--segment-length", "2.25", "--in-order")
    desk.open(address_of(line))
    desk.ready()
    desk.press(" ")
    desk.until(lambda: desk.sound()[1] > 0.3)
    desk.press(" ")
    paused = "return document.getElementById('sound').paused"
    desk.until(lambda: desk.browser.execute_script(paused))
    stopped = desk.sound()[1]
    assert stopped < 2
    desk.press(" ")
    desk.until(lambda: not desk.browser.execute_script(paused))
    assert desk.sound()[1] >= stopped  # it goes on from there
    desk.drag("screen", (0.7, 0.8), (0.7, 0.8))
    desk.until(lambda: 1.5 < desk.sound()[1] < 1.9)
    desk.until(lambda: desk.browser.execute_script("return document.getElementById('sound').ended"))
    desk.press(" ")
    desk.until(lambda: 0 < desk.sound()[1] < 1)  # at its end, from the start
    loudness = desk.graph()["gain"]
    assert 0.1 < loudness <= 30

    desk.browser.execute_script("window.seeks = 0; document.getElementById('sound').onseeked = () => window.seeks++")
    desk.drag("screen", (0.2, 0.5), (0.4, 0.5))
    desk.until(lambda: desk.browser.execute_script("return window.seeks") >= 3)  # the part begins again and again
    assert 0.4 < desk.sound()[1] < 1.0
    assert desk.shows("looped")
    desk.press(Keys.ESCAPE)
    desk.until(lambda: not desk.shows("looped"))

    desk.drag("kilohertz", (0.5, 0.75), (0.5, 0.5))
    top = desk.fetched("ask")[1]["items"][0]["top"]
    desk.until(lambda: desk.graph()["low"] > 0)
    assert [desk.graph()[end] for end in ("low", "high")] == pytest.approx([250 * top, 500 * top], rel=0.05)
    assert "are heard" in desk.text("heard")
    desk.drag("kilohertz", (0.5, 0.3), (0.5, 0.3))
    desk.until(lambda: desk.graph()["low"] == 0)

    source = desk.browser.execute_script("return document.getElementById('picture').src")
    desk.choose("contrast", "80")
    desk.until(lambda: desk.browser.execute_script("return document.getElementById('picture').src") != source)
    desk.choose("contrast", "0")
    for _ in range(3):
        desk.ready()
        desk.press("s")
        desk.until(lambda: not desk.browser.find_elements(By.CSS_SELECTOR, "[aria-busy=true]"))
    assert "0.1× speed" in desk.text("heard")
    assert desk.sound()[0] == pytest.approx(22.5, abs=0.1)
    desk.until(lambda: desk.sound()[1] > 1.0)
    desk.press("p")
    desk.until(lambda: desk.answered() == 1)
    (row,) = [row for row in desk.held("actions") if row["kind"] == "reviewed"]
    assert 2.5 < float(row["detail"].split()[0]) < 30  # seconds of the recording, not of the slow sound
    assert ("speed", "0.1") in {(row["kind"], row["detail"]) for row in desk.held("actions")}
    desk.ready()
    assert desk.graph()["gain"] == loudness  # the same recording, the same level
    assert desk.browser.execute_script("const c = document.getElementById('wave'); return c.width > 100 && !c.hidden")
    desk.browser.execute_script("localStorage.clear()")


def test_one_hand_with_a_guide_later_corrections_and_a_second_pass(label, recordings, desk, tmp_path):
    """Twenty segments by the arrow keys."""
    (tmp_path / "guide.md").write_text(GUIDE)
    samples = tmp_path / "samples" / "owl"
    samples.mkdir(parents=True)
    (samples / "hoot.wav").write_bytes((recordings / "night_0.wav").read_bytes())
    words = (str(recordings), "--label", "owl", "--segment-length", "0.45")
    (line,) = label(*words, "--instructions", str(tmp_path / "guide.md"), "--samples", str(tmp_path / "samples"))
    desk.calm()
    desk.open(address_of(line))
    desk.until(lambda: desk.shows("read"))
    assert desk.browser.title != "owned"
    assert "<script>" in desk.text("instructions")
    assert desk.browser.find_element(By.CSS_SELECTOR, "#instructions strong").text == "second"
    assert len(desk.browser.find_elements(By.CSS_SELECTOR, "#instructions li")) == 4
    assert "hoot" in desk.text("instructions")
    assert not desk.shows("labeling")
    desk.browser.find_element(By.ID, "read").click()
    desk.ready()
    assert desk.shows("guide")  # beside every question
    assert desk.accessible() == []
    desk.press("?")
    desk.choose("set", "right hand: arrows")
    assert desk.accessible() == []
    desk.browser.refresh()
    desk.ready()
    assert not desk.shows("read")
    assert "→" in desk.text("present")  # remembered
    desk.press(Keys.ARROW_UP)

    first = desk.fetched("ask")[1]["items"][0]["query"]
    desk.ready()
    desk.press(Keys.PAGE_DOWN)  # later
    desk.until(lambda: desk.fetched("ask")[1]["items"][0]["query"] != first)
    keys = [Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_DOWN] * 4
    for key in keys:
        desk.answer(key)
    given = [row for row in desk.held() if row["present"] is not None]
    wrong = given[-1]["query"]
    desk.browser.find_element(By.CSS_SELECTOR, "#last summary").click()
    desk.until(lambda: desk.browser.find_elements(By.CSS_SELECTOR, "#answers button"))
    desk.browser.find_elements(By.CSS_SELECTOR, "#answers button")[1].click()  # the one before the last: absent
    desk.until(lambda: desk.shows("before-said"))
    assert "You said absent" in desk.text("before-words")
    desk.ready()
    desk.press(Keys.ARROW_RIGHT)
    desk.until(lambda: not desk.shows("before-said"))
    rows = [row for row in desk.held() if row["query"] == wrong]
    assert [row["present"] for row in rows] == [0, 1]
    assert rows[0]["answer"] in {row["detail"] for row in desk.held("actions") if row["kind"] == "undo"}
    assert desk.answered() == 16
    for _ in range(4):
        desk.answer(Keys.ARROW_LEFT)
    desk.until(lambda: desk.shows("finished"))
    assert desk.held()[-1]["query"] == first  # the later one came last
    desk.until(lambda: desk.shows("second-end"))
    assert "4 unsure" in desk.text("second-end")
    desk.browser.find_element(By.ID, "second-end").click()
    for k in range(4):
        desk.until(lambda: desk.shows("before-said") and "You said unsure" in desk.text("before-words"))
        desk.ready()
        left = f"{3 - k} more" if k < 3 else "leave it."
        assert left in desk.text("before-words")
        desk.press("k" if k == 0 else Keys.ARROW_RIGHT)
        desk.until(lambda left=left: desk.shows("finished") or left not in desk.text("before-words"))
    desk.until(lambda: desk.shows("finished"))
    counts = [each["present"] for each in desk.fetched("mine")[1]["answers"]]
    assert (counts.count(1), counts.count(0), counts.count(None)) == (8, 11, 1)
    desk.browser.execute_script("localStorage.clear()")


def test_twelve_classes_at_once(label, recordings, desk):
    names = [f"class {k}" for k in range(1, 13)]
    (line,) = label(str(recordings), "--label", ",".join(names), "--together", "--segment-length", "1.5", "--in-order")
    desk.open(address_of(line))
    desk.ready()
    desk.press(" ")
    ticked = "return [...document.querySelectorAll('#classes [aria-pressed=true]')].map((b) => b.textContent.trim())"
    for key in "3739":
        desk.press(key)
    assert desk.browser.execute_script(ticked) == ["7 class 7", "9 class 9"]
    desk.press("/")
    desk.press("12")
    desk.press(Keys.ENTER)
    assert desk.browser.execute_script(ticked)[-1] == "class 12"
    assert desk.accessible() == []
    desk.browser.find_element(By.CSS_SELECTOR, "#classes button").click()
    desk.answer(Keys.ENTER)  # after a click, too, it goes on
    desk.ready()
    desk.press(Keys.ENTER)
    desk.until(lambda: "0 says none" in desk.text("toast"))
    desk.answer("0")
    for key in ("u", "0", "0", "0"):
        desk.answer(key)
    desk.until(lambda: desk.shows("finished"))
    held = desk.held()
    assert len(held) == 72
    heard = {name for name, row in zip(names, held) if row["present"]}
    assert heard == {"class 1", "class 7", "class 9", "class 12"}
    assert {row["present"] for row in held[12:24]} == {0.0}
    assert {row["present"] for row in held[24:36]} == {None}
    assert desk.text("second-end") == "Second pass over 1 unsure or bookmarked"
    desk.browser.find_element(By.ID, "second-end").click()
    desk.until(lambda: desk.shows("before-said"))
    desk.ready()
    desk.press("2")
    desk.press(Keys.ENTER)
    desk.until(lambda: desk.shows("finished"))
    assert desk.fetched("mine")[1]["answers"][0]["classes"][1]["present"] == 1


def test_marking_by_holding_a_key_and_by_dragging(label, recordings, desk, tmp_path):
    (line,) = label(str(recordings), "--label", "owl", "--mark", "--minutes", "30", "--in-order")
    desk.open(address_of(line))
    desk.ready()
    desk.press(" ")
    desk.until(lambda: desk.sound()[1] > 0.5)
    hand = ActionChains(desk.browser)
    hand.key_down("p").perform()
    start = desk.sound()[1]
    desk.until(lambda: desk.sound()[1] > start + 0.5)
    hand.key_up("p").perform()
    end = desk.sound()[1]
    desk.drag("screen", (0.6, 0.5), (0.7, 0.5))
    desk.drag("screen", (0.7, 0.5), (0.8, 0.5))  # its edge
    assert len(desk.browser.find_elements(By.CSS_SELECTOR, "#marked button")) == 2
    assert desk.accessible() == []
    desk.press(Keys.ENTER)
    desk.until(lambda: desk.answered() == 1)
    desk.ready()
    desk.press(Keys.ENTER)
    desk.until(lambda: "there is nothing" in desk.text("toast"))
    desk.press("a")
    desk.until(lambda: desk.shows("finished"))
    assert [row["present"] for row in desk.held()] == [1, 0]
    marks = [[*map(float, row["detail"].split())] for row in desk.held("actions") if row["kind"] == "mark"]
    assert marks[0] == pytest.approx([start, end], abs=0.25)
    assert marks[1] == pytest.approx([2.7, 3.6], abs=0.03)
    desk.press("z")
    desk.until(lambda: not desk.shows("finished"))
    desk.answer("a")
    desk.until(lambda: desk.shows("export"))
    desk.click("export")
    desk.until(lambda: "pilot.csv" in desk.text("written"))
    assert desk.text("written").count("answers.csv") == 1
    events = [line.split("\t") for line in (tmp_path / "c" / "labels" / "strong.tsv").read_text().splitlines()[1:]]
    assert [(name, float(a), float(b)) for name, a, b, _ in events if a] == [
        ("night_0.wav", *(pytest.approx(end, abs=1e-4) for end in mark)) for mark in marks
    ]
