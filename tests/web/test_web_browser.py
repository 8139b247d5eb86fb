"""The page in a real browser: it shows what the functions return, complains beside the field, talks to nobody else."""

import json
import re
import subprocess
import sys
import time

import pandas as pd
import pytest
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import weakly as wk
from weakly.results import show

NASTY = "<img src=x onerror=document.title='owned'>"


@pytest.fixture(scope="module")
def address():
    """The address of a server that runs as people run it."""
    command = [sys.executable, "-m", "weakly", "serve", "--port", "0", "--no-open"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            first = server.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/", first)
            assert found, first
            yield found[0]
        finally:
            server.terminate()
            assert "Traceback" not in server.stderr.read()


@pytest.fixture
def page(browser, address):
    """The page, freshly opened; afterwards the console must be clean and no request may have left the machine."""
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get("about:blank")
    browser.get(address)
    yield Page(browser)
    complaints = [line["message"] for line in browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
    assert [each for each in complaints if " 422 " not in each] == []  # the browser reports refused questions, too
    events = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    asked = [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]
    assert asked
    assert [url for url in asked if not url.startswith((address, "data:", "blob:", "about:"))] == []


class Page:
    """What a person does on the page."""

    def __init__(self, browser):
        self.browser = browser
        self.until(lambda: self.answer not in ("", "…"))

    def until(self, condition, seconds=60):
        replaced = (StaleElementReferenceException, NoSuchElementException)
        return WebDriverWait(self.browser, seconds, 0.05, replaced).until(lambda _: condition())

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
        return self.browser.execute_script(script, ", ".join(parts))

    def box(self, field):
        return self.find(f"[data-field={field}] input:not([type=range])")

    def type(self, field, text):
        self.box(field).send_keys(Keys.CONTROL, "a")
        self.box(field).send_keys(text)

    def error(self, field):
        return self.find(f"[data-field={field}] .error").text

    def tab(self, name):
        self.browser.find_element(By.ID, f"tab-{name}").click()

    def send(self, field, path):
        self.find(f"[data-field={field}] input[type=file]").send_keys(str(path))
        self.until(lambda: "recordings" in self.find(f"[data-field={field}]").text)


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    path = tmp_path_factory.mktemp("pilot") / "pilot.csv"
    rows = [(f"r{k}", k % 7 + 0.5, k % 7 + 0.5 + 0.4 * (1 + k % 3), ("dog", NASTY)[k % 2]) for k in range(12)]
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    frame["recording_length"] = 10.0
    frame.to_csv(path, index=False)
    return path


def test_the_answer_follows_the_slider_and_is_that_of_the_function(page):
    known = {"recording_length": 100, "n_events": 1}
    first = wk.plan(1.0, presence_criterion=0.5, **known)
    page.until(lambda: page.words() == first.answer)
    slider = page.find("[data-field=presence_criterion] input[type=range]")
    slider.send_keys(*[Keys.ARROW_LEFT] * 12)
    criterion = float(page.box("presence_criterion").get_property("value"))
    assert 0.3 < criterion < 0.45
    expected = wk.plan(1.0, presence_criterion=criterion, **known)
    page.until(lambda: page.words() == expected.answer)
    cells = [cell.text for cell in page.browser.find_elements(By.CSS_SELECTOR, "tr.chosen td")]
    names = ("name", "overlap_accuracy", "event_recall", "precision", "recall", "wrong_time", "n_queries")
    assert cells[:7] == [show(name, getattr(expected.recommended, name)) for name in names]


def test_the_timeline_follows_the_segment_length(page):
    slider = page.find(".drag input[type=range]")
    before = page.find("[data-word=overlap_accuracy] b").text
    slider.send_keys(*[Keys.ARROW_RIGHT] * 8)
    length = float(page.browser.find_element(By.ID, "try-length").get_property("value"))
    kw = {"event_length": 1, "segment_length": length, "presence_criterion": 0.5}
    expected = f"{float(wk.overlap_accuracy(**kw)):.3f}"
    assert expected != before
    page.until(lambda: page.find("[data-word=overlap_accuracy] b").text == expected)
    assert page.find("[data-word=event_recall] b").text == f"{float(wk.event_recall(**kw)):.3f}"
    # one rectangle per segment of the strip, and the line in the figure stands at the length
    segments = page.browser.execute_script("return document.querySelectorAll('.timeline .edge').length")
    shown = wk.plan(1.0, presence_criterion=0.5, recording_length=100, n_events=1).example
    oracle = len(shown["rows"][0]["segments"])
    assert segments == oracle + -(-shown["recording_length"] // length)
    shapes = "const s = document.querySelector('.plot').layout.shapes; return s[s.length - 1].x0"
    page.until(lambda: page.browser.execute_script(shapes) == pytest.approx(length))
    page.find(".drag button").click()
    page.until(lambda: page.find("[data-word=overlap_accuracy] b").text == before)


def test_a_pilot_is_planned_and_its_labels_stay_text(page, pilot):
    page.send("pilot", pilot)
    events = wk.read(pilot)
    both, dog = wk.plan(events, presence_criterion=0.5), wk.plan(events, presence_criterion=0.5, label="dog")
    page.until(lambda: page.words() == both.answer)
    assert NASTY in [option.text for option in Select(page.find("[data-field=label] select")).options]
    Select(page.find("[data-field=label] select")).select_by_value("dog")
    page.until(lambda: page.words() == dog.answer)
    page.tab("evaluate")
    page.send("file", pilot)
    page.find("button.main").click()
    page.until(lambda: NASTY in page.find("table").text)
    found = wk.evaluate(events, segment_length=[0.5, 1, 2, 3, 5, 10], presence_criterion=0.5).to_frame()
    first = [cell.text for cell in page.find("tbody tr").find_elements(By.TAG_NAME, "td")]
    assert first[0] == found["label"][0]
    assert first[3].startswith(f"{found['overlap_accuracy'][0]:.3f}")
    assert page.browser.find_elements(By.TAG_NAME, "img") == []
    assert "owned" not in page.browser.title


def test_an_error_stands_beside_its_field(page):
    page.type("presence_criterion", "50")
    page.until(lambda: "a percentage?" in page.error("presence_criterion"))
    assert page.box("presence_criterion").get_attribute("aria-invalid") == "true"
    page.type("presence_criterion", "0.2")
    page.until(lambda: page.error("presence_criterion") == "")
    page.type("event_length", "gamma:oops")
    page.until(lambda: "gamma:oops" in page.error("event_length"))
    page.type("event_length", "gamma:2")
    expected = wk.plan("gamma:2", presence_criterion=0.2, recording_length=100, n_events=1)
    page.until(lambda: page.words() == expected.answer)


def test_a_bad_file_is_refused_beside_its_field(page, tmp_path):
    (tmp_path / "bad.txt").write_text("nothing of the kind\n")
    page.find("[data-field=pilot] input[type=file]").send_keys(str(tmp_path / "bad.txt"))
    page.until(lambda: "bad.txt" in page.error("pilot"))


def test_a_link_carries_the_settings(page, address):
    page.type("event_length", "2.5")
    page.type("presence_criterion", "0.3")
    expected = wk.plan(2.5, presence_criterion=0.3, recording_length=100, n_events=1)
    page.until(lambda: page.words() == expected.answer and "2.5" in page.browser.current_url)
    link = page.browser.current_url
    page.browser.get("about:blank")
    page.browser.get(link)
    again = Page(page.browser)
    again.until(lambda: again.words() == expected.answer)
    assert again.box("event_length").get_property("value") == "2.5"


def test_long_work_shows_progress_and_can_be_cancelled(page):
    page.browser.find_element(By.ID, "tab-plan").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.until(lambda: page.browser.switch_to.active_element.get_attribute("id") == "tab-simulate")
    page.type("segment_length", ",".join(f"{0.01 * k:.2f}" for k in range(1, 200)))
    page.type("n_recordings", "100000")
    page.type("n_events", "90")
    page.find("button.main").click()
    page.until(lambda: page.find(".working").is_displayed())
    page.until(lambda: " of " in page.find(".working").text)
    page.find(".working button").click()
    page.until(lambda: not page.find(".working").is_displayed())
    page.type("segment_length", "1")
    page.type("n_recordings", "100")
    page.type("n_events", "1")
    page.type("event_length", "1")
    page.find("button.main").click()
    same = {"recording_length": 100, "segment_length": 1, "presence_criterion": 0.5, "n_recordings": 100}
    found = wk.simulate(1.0, n_events=1, rng=1, **same)
    page.until(lambda: f"{found.overlap_accuracy:.3f}" in page.find("tbody").text)


def test_downloads(page):
    folder = page.browser.downloads
    for text, name in (
        ("Download JSON", "plan.json"),
        ("Download report", "plan.html"),
        ("Queries as CSV", "queries.zip"),
    ):
        page.browser.find_element(By.XPATH, f"//button[text()='{text}']").click()
        page.until(lambda name=name: (folder / name).exists())
    expected = wk.plan(1.0, presence_criterion=0.5, recording_length=100, n_events=1)
    assert json.loads((folder / "plan.json").read_text())["answer"] == expected.answer
    assert "weakly plan --event-length 1" in (folder / "plan.html").read_text()


def test_dark_and_phone(page):
    def colour():
        return page.browser.execute_script("return getComputedStyle(document.body).backgroundColor")

    def ink():
        return page.browser.execute_script("return document.querySelector('.plot').layout.font.color")

    light = (colour(), ink())
    cdp = page.browser.execute_cdp_cmd
    cdp("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    try:
        page.until(lambda: colour() != light[0] and ink() != light[1])
        cdp("Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True})
        time.sleep(0.3)
        wide = page.browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 360
    finally:
        cdp("Emulation.clearDeviceMetricsOverride", {})
        cdp("Emulation.setEmulatedMedia", {"features": []})


def test_every_control_has_a_name(page):
    unnamed = page.browser.execute_script(
        """return [...document.querySelectorAll('input, select, button, [role=img], [role=region]')].filter((node) =>
        !(node.labels?.length || node.getAttribute('aria-label') || node.textContent.trim())).map((n) => n.outerHTML)"""
    )
    assert unnamed == []
