"""The page in a real browser: it shows what the functions return, complains beside the field, talks to nobody else."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import pandas as pd
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import weakly as wk
from lexicon import COMMAND
from weakly.base.results import format_value, percent
from weakly.io.soundscape import soundscape

from .conftest import next_line

NASTY = "<img src=x onerror=document.title='owned'>"


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    path = tmp_path_factory.mktemp("pilot") / "pilot.csv"
    rows = [(f"r{k}", k % 7 + 0.5, k % 7 + 0.5 + 0.4 * (1 + k % 3), ("dog", NASTY)[k % 2]) for k in range(12)]
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    frame["recording_length"] = 10.0
    frame.to_csv(path, index=False)
    return path


def told(plan):
    """A plan as the page says it: the command of each choice is left to the terminal."""
    assumed = re.sub(r" \(--[^)]*\)", "", plan.assumed)  # and the names of options
    return " ".join((*(COMMAND.sub(".", line) for line in plan.answer.splitlines()), assumed))


def test_the_answer_follows_the_slider_and_is_that_of_the_function(page):
    known = {"recording_length": 100, "n_events": 1}
    first = wk.plan(1.0, **known)
    page.until(lambda: page.words() == told(first))
    slider = page.find("[data-field=presence_criterion] input[type=range]")
    slider.send_keys(*[Keys.ARROW_LEFT] * 12)
    criterion = float(page.box("presence_criterion").get_property("value"))
    assert 0.3 < criterion < 0.45
    expected = wk.plan(1.0, presence_criterion=criterion, **known)
    page.until(lambda: page.words() == told(expected))
    cells = [cell.text for cell in page.browser.find_elements(By.CSS_SELECTOR, "tr.chosen td")]
    names = ("name", "event_recall", "overlap_accuracy", "n_queries")
    wrong = float(cells.pop(1).partition(" ±")[0])  # as many decimals as its column has
    assert wrong == pytest.approx(expected.recommended.wrong_time, abs=0.005)
    assert cells[:4] == [format_value(name, getattr(expected.recommended, name)) for name in names]


def test_the_timeline_follows_the_segment_length(page):
    slider = page.find(".drag input[type=range]")
    before = page.find("[data-word=overlap_accuracy] b").text
    slider.send_keys(*[Keys.ARROW_RIGHT] * 8)
    length = float(page.browser.find_element(By.ID, "try-length").get_property("value"))
    kw = {"event_length": 1, "segment_length": length, "presence_criterion": 0.5}
    expected = format_value("overlap_accuracy", float(wk.overlap_accuracy(**kw)))
    assert expected != before
    page.until(lambda: page.find("[data-word=overlap_accuracy] b").text == expected)
    assert page.find("[data-word=event_recall] b").text == format_value("event_recall", float(wk.event_recall(**kw)))
    # one rectangle per segment of the strip, and the line in the figure stands at the length
    segments = page.browser.execute_script("return document.querySelectorAll('.timeline .edge').length")
    plan = wk.plan(1.0, recording_length=100, n_events=1)
    shown = plan.example
    marks = len(shown["events"]) if any(each.row.design.is_strong for each in plan.choices) else 0
    planned = sum(len(row["segments"]) for row in shown["rows"][1:])
    assert segments == marks + planned + -(-shown["recording_length"] // length)
    shapes = "const s = document.querySelector('.plot').layout.shapes; return s[s.length - 1].x0"
    page.until(lambda: page.browser.execute_script(shapes) == pytest.approx(length))
    page.find(".drag button").click()
    page.until(lambda: page.find("[data-word=overlap_accuracy] b").text == before)


def test_a_pilot_is_planned_and_its_labels_stay_text(page, pilot):
    page.send("pilot", pilot)
    events = wk.read(pilot)
    both, dog = wk.plan(events), wk.plan(events, label="dog")
    page.until(lambda: page.words() == told(both))
    assert NASTY in [option.text for option in Select(page.find("[data-field=label] select")).options]
    Select(page.find("[data-field=label] select")).select_by_value("dog")
    page.until(lambda: page.words() == told(dog))
    page.tab("evaluate")
    page.send("file", pilot)
    found = wk.evaluate(events, segment_length=[0.5, 1, 2, 3, 5, 10])
    page.until(lambda: page.words() == found.answer)
    assert NASTY in page.find(".results").text
    rows = page.browser.find_elements(By.CSS_SELECTOR, "section:not([hidden]) .tabled tbody tr")
    first = [cell.text for cell in rows[0].find_elements(By.TAG_NAME, "td")]
    assert first[0] == "all classes"  # not the first of them in the alphabet
    best = found.overall.to_frame()["overlap_accuracy"].max()
    assert first[2].startswith(percent(best))
    assert page.browser.find_elements(By.TAG_NAME, "img") == []
    assert "owned" not in page.browser.title


def test_a_busy_server_is_asked_again(page, pilot):
    # Once at the door of each address, and once in the middle of an answer.
    page.browser.execute_script("""const real = window.fetch, asked = {}, busy = {message: "try again in a moment"};
    window.fetch = (path, how) => {
      asked[path] = (asked[path] ?? 0) + 1;
      if (asked[path] === 1) return Promise.resolve(new Response(JSON.stringify(busy), {status: 429}));
      const headers = {"Content-Type": "application/x-ndjson"}, line = JSON.stringify({error: busy, status: 429});
      if (asked[path] === 2 && path === "api/plan") return Promise.resolve(new Response(`${line}\n`, {headers}));
      return real(path, how);
    };""")
    page.send("pilot", pilot)
    assert page.words() == told(wk.plan(wk.read(pilot)))


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
    page.until(lambda: page.words() == told(expected))


def test_a_bad_file_is_refused_beside_its_field(page, tmp_path):
    (tmp_path / "bad.txt").write_text("nothing of the kind\n")
    page.find("[data-field=pilot] input[type=file]").send_keys(str(tmp_path / "bad.txt"))
    page.until(lambda: "bad.txt" in page.error("pilot"))


def test_a_link_carries_the_settings(page, address):
    page.type("event_length", "2.5")
    page.type("presence_criterion", "0.3")
    expected = wk.plan(2.5, presence_criterion=0.3, recording_length=100, n_events=1)
    page.until(lambda: page.words() == told(expected) and "2.5" in page.browser.current_url)
    link = page.browser.current_url
    again = page.reopen(link)
    again.until(lambda: again.words() == told(expected))
    assert again.box("event_length").get_property("value") == "2.5"


def test_long_work_shows_progress_and_can_be_cancelled(page):
    page.browser.find_element(By.ID, "tab-plan").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.until(lambda: page.browser.switch_to.active_element.get_attribute("id") == "tab-simulate")
    page.type("segment_length", ",".join(f"{0.01 * k:.2f}" for k in range(1, 200)))
    page.type("n_recordings", "100000")
    page.type("n_events", "90")
    page.until(lambda: page.find(".working").is_displayed())
    page.until(lambda: " of " in page.find(".working").text)
    page.find(".working button").click()
    page.until(lambda: not page.find(".working").is_displayed())
    assert page.state == "cancelled"
    assert "no answer" in page.answer
    assert not page.shown(".results")
    page.type("segment_length", "1")
    page.type("n_recordings", "100")
    page.type("n_events", "1")
    page.type("event_length", "1")
    same = {"recording_length": 100, "segment_length": 1, "presence_criterion": 0.5, "n_recordings": 100}
    found = wk.simulate(1.0, n_events=1, rng=1, **same)
    page.until(lambda: format_value("overlap_accuracy", found.overlap_accuracy) in page.find("tbody").text)


def test_downloads(page):
    folder = page.browser.downloads
    for text, name in (
        ("Download JSON", "plan.json"),
        ("Download report", "plan.html"),
        ("Clips to play as CSV (zip)", "queries.zip"),
    ):
        page.browser.find_element(By.XPATH, f"//button[text()='{text}']").click()
        page.until(lambda name=name: (folder / name).exists())
    expected = wk.plan(1.0, recording_length=100, n_events=1)
    assert json.loads((folder / "plan.json").read_text())["answer"] == expected.answer
    assert "weakly plan" not in (folder / "plan.html").read_text()  # the page speaks of no commands


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
        page.until(lambda: page.browser.execute_script("return innerWidth") == 360)
        page.until(lambda: page.browser.execute_script("return document.documentElement.scrollWidth") <= 360, 20)
    finally:
        cdp("Emulation.clearDeviceMetricsOverride", {})
        cdp("Emulation.setEmulatedMedia", {"features": []})


def test_every_control_has_a_name(page):
    unnamed = page.browser.execute_script(
        """return [...document.querySelectorAll('input, select, button, [role=img], [role=region]')].filter((node) =>
        !(node.labels?.length || node.getAttribute('aria-label') || node.textContent.trim())).map((n) => n.outerHTML)"""
    )
    assert unnamed == []


# --- an answer belongs to the question beside it -------------------------------------------------------------------


@contextlib.contextmanager
def slow(browser, milliseconds=2500):
    """Within this block every request takes its time."""
    browser.execute_cdp_cmd("Network.enable", {})
    far = {"offline": False, "latency": milliseconds, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", far)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**far, "latency": 0})


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    path = tmp_path_factory.mktemp("other") / f"{'a very long name of a file of another project ' * 2}.csv"
    rows = [(f"s{k}", 1.0, 4.0, "owl") for k in range(5)]
    pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"]).assign(recording_length=10.0).to_csv(
        path, index=False
    )
    return path


def answer_of(path):
    return wk.evaluate(wk.read(path), segment_length=[0.5, 1, 2, 3, 5, 10]).answer


def test_a_second_file_dims_the_answer_about_the_first(page, pilot, other):
    page.tab("evaluate")
    page.send("file", pilot)
    page.until(lambda: page.words() == answer_of(pilot))
    assert page.shown(".answer")
    page.browser.execute_script("""const real = window.fetch; window.underway = 0;
        window.fetch = (...how) => { window.underway++; return real(...how).finally(() => window.underway--) }""")
    with slow(page.browser):
        page.find("[data-field=file] input[type=file]").send_keys(str(other))
        assert page.state == "waiting"
        page.until(lambda: not page.shown(".answer") and not page.shown(".results table"))
        assert page.browser.execute_script("return document.querySelector('#panel-evaluate .output').inert")
        page.until(lambda: page.find(".working").is_displayed())
        page.find(".working button").click()  # cancelled while the file is on its way
        assert page.state == "cancelled"
        assert not page.shown(".results")
    page.until(lambda: page.browser.execute_script("return window.underway") == 0)
    assert page.state == "cancelled"  # what comes late is not shown
    page.send("file", other)
    page.until(lambda: page.words() == answer_of(other))
    assert page.shown(".results table")


def test_an_error_stands_where_the_answer_stood(page, tmp_path, pilot):
    assert page.shown(".results table")
    page.type("presence_criterion", "7")
    page.until(lambda: page.state == "problem")
    assert "presence criterion must be in (0, 1], got 7" in page.answer
    assert not page.shown(".results")
    page.type("presence_criterion", "0.5")
    page.until(lambda: page.state == "answered" and page.shown(".results table"))
    (tmp_path / "bad.txt").write_text("nothing of the kind\n")
    page.find("[data-field=pilot] input[type=file]").send_keys(str(tmp_path / "bad.txt"))
    page.until(lambda: page.state == "problem" and "bad.txt" in page.answer)
    assert not page.shown(".results")
    page.type("n_events", "2")  # another setting does not make the refused file a question
    page.settled()
    assert page.state == "problem"
    page.browser.find_element(By.XPATH, "//section[not(@hidden)]//button[text()='Remove file']").click()
    expected = wk.plan(1.0, presence_criterion=0.5, recording_length=100, n_events=2)
    page.until(lambda: page.words() == told(expected) and page.state == "answered")


def test_a_server_that_is_away_leaves_no_old_answer(page):
    page.browser.execute_cdp_cmd("Network.enable", {})
    away = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", away)
    try:
        page.type("presence_criterion", "0.35")
        page.until(lambda: page.state == "problem" and "does not answer" in page.answer)
        assert not page.shown(".results")
    finally:
        page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**away, "offline": False})
        page.browser.get_log("browser")  # it reports that the network was off
    page.type("presence_criterion", "0.3")
    page.until(lambda: page.state == "answered")


def test_back_and_reload_restore_question_and_answer(page, address):
    answers = {}
    for length in ("2", "3"):
        page.type("event_length", length)
        answers[length] = told(wk.plan(float(length), recording_length=100, n_events=1))
        page.until(lambda length=length: page.words() == answers[length] and page.state == "answered")
        page.until(lambda length=length: f"event_length={length}" in page.browser.current_url)
    box = page.find(".drag input[type=number]")
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys("1.7")
    page.until(lambda: "try=1.7" in page.browser.current_url)
    page.tab("simulate")
    page.until(lambda: "#simulate" in page.browser.current_url and page.state == "answered")
    page.browser.refresh()
    page = type(page)(page.browser)
    page.until(lambda: page.state == "answered")
    page.tab("plan")
    page.until(lambda: page.words() == answers["3"])
    assert page.find(".drag input[type=number]").get_property("value") == "1.7"
    page.browser.back()
    page.until(lambda: "#simulate" in page.browser.current_url)
    for _ in range(2):  # before the tab was changed, before the length was tried
        page.browser.back()
    page.until(lambda: page.words() == answers["3"] and "try" not in page.browser.current_url)
    with slow(page.browser, 3000):
        page.browser.back()
        page.until(lambda: page.box("event_length").get_property("value") == "2")
        assert page.state == "waiting"  # the answer about 3 s is still there, and is seen to be old
        page.until(lambda: not page.shown(".answer"))
        page.until(lambda: page.words() == answers["2"] and page.shown(".answer"))


def test_the_example_in_every_tab_and_a_file_that_is_dropped(page, other):
    from weakly.studies.simulate import clips
    from weakly.studies.simulate import pilot as bundled

    click = "document.querySelector('section:not([hidden]) .example').click()"
    page.until(lambda: page.state == "answered")
    before = page.words()
    page.browser.execute_script(click)
    page.until(lambda: page.state == "answered" and page.words() != before)
    page.browser.find_element(By.XPATH, "//button[text()='Clips to play as CSV (zip)']").click()
    page.until(lambda: (page.browser.downloads / "queries.zip").exists())
    for tab in ("evaluate", "simulate", "audit"):
        page.tab(tab)
        page.until(lambda: page.state in ("empty", "answered"))
        before = page.words()
        page.browser.execute_script(click)
        page.until(lambda before=before: page.state == "answered" and page.words() != before)
        assert page.shown(".results table")
    findings = " ".join(each.text for each in wk.audit(strong=bundled(), weak=clips(), rng=0).findings)
    findings = findings.replace("fraction:0.402", "“40.2 % of the event”")  # a page says rules in words
    verdict, _, rest = page.words().partition(". ")
    assert (verdict.partition(":")[0], rest) == ("Fair labels", findings)
    page.tab("evaluate")
    drop = """const data = new DataTransfer();
    data.items.add(new File([arguments[0]], "dropped.csv"));
    const what = {dataTransfer: data, bubbles: true, cancelable: true};
    document.querySelector("#panel-evaluate .output").dispatchEvent(new DragEvent("drop", what))"""
    page.browser.execute_script(drop, other.read_text())
    page.until(lambda: page.words() == answer_of(other))


def test_the_page_says_shares_as_the_command_line_does(page):
    near = [10.0**-k for k in range(1, 9)]
    values = [0.0, 1.0, 0.5, 0.765, 0.0996, 0.125, 1.5, 12.345, *near, *(1 - each for each in near), 0.9996, 0.996]
    script = """const [values, done] = arguments;
    import("/static/dom.js").then(({ percent, show }) => done(
      values.map((each) => [percent(each), percent(each, true), show("event_recall", each)])))"""
    found = page.browser.execute_async_script(script, values)
    assert found == [[percent(each), percent(each, exact=True), format_value("event_recall", each)] for each in values]
    numbers = [
        [name, each] for name in ("n_events", "wrong_time", "mimic", "f1") for each in (1, 4.15, 20.6, 0.98765, 1298.5)
    ]
    script = """const [numbers, done] = arguments;
    import("/static/dom.js").then(({ show }) => done(numbers.map((each) => show(...each))))"""
    assert page.browser.execute_async_script(script, numbers) == [format_value(*each) for each in numbers]
    said = {
        "If we go by seconds:0.5|fraction:0.3, run weakly audit, or weakly label --measure.": "If we go by “0.5 s of "
        "event or 30 % of the event”, use the tab Audit, or the command weakly label.",
        "They are left out; --recording-length gives it.": "They are left out.",
        "A segment that meets the rule by the rule any, or fraction:0.5.": "A segment that meets the rule by the rule "
        "“any overlap”, or “50 % of the event”.",
    }
    script = """const [texts, done] = arguments;
    import("/static/dom.js").then(({ spoken }) => done(texts.map(spoken)))"""
    assert page.browser.execute_async_script(script, list(said)) == list(said.values())


@pytest.mark.parametrize("command", ["serve", "label"])
def test_the_page_that_is_opened_just_works_and_shows_its_token_to_nobody(browser, tmp_path, command):
    """What a browser is started with is listed by `ps` for every account of the machine."""
    script, told = tmp_path / "browser", tmp_path / "told"
    script.write_text(f'#!/bin/sh\necho "$@" > {told}.new; mv {told}.new {told}\n')
    script.chmod(0o700)
    soundscape(3, n_events=1, event_length=0.8, rng=0).write(tmp_path / "a.wav")
    words = {"serve": [], "label": [str(tmp_path / "a.wav"), "--segment-length", "3", "--out", str(tmp_path / "c")]}
    whole = [sys.executable, "-m", "weakly", command, *words[command], "--port", "0"]
    env = {**os.environ, "BROWSER": f"{script} %s"}
    with subprocess.Popen(whole, stderr=subprocess.PIPE, text=True, env=env) as server:
        try:
            link = re.search(r"http://\S+", next_line(server.stderr))[0]
            until = time.monotonic() + 60
            while not told.exists():
                assert time.monotonic() < until
                time.sleep(0.05)
            opened = told.read_text().strip()
            token = link.partition("#token=")[2]
            assert token
            assert token not in opened
            assert Path(urllib.parse.urlparse(opened).path).parent.stat().st_mode & 0o777 == 0o700
            browser.get(opened)
            shown = {"serve": ".answer", "label": "#question"}[command]
            text = lambda: browser.execute_script(  # noqa: E731
                "return document.querySelector(arguments[0])?.textContent ?? ''", shown
            )
            WebDriverWait(browser, 120).until(lambda _: text() not in ("", "…"))
            assert browser.current_url.startswith(link.partition("#")[0])
            assert "token" not in browser.current_url
        finally:
            server.terminate()
    browser.get("about:blank")
    browser.get_log("browser")


def test_a_page_without_its_token_says_so(browser, link, address):
    browser.get("about:blank")
    browser.get(address)
    browser.execute_script("localStorage.clear()")
    browser.get("about:blank")
    browser.get(address)
    WebDriverWait(browser, 60).until(lambda _: "open the link" in browser.find_element(By.ID, "panels").text)
    browser.get(link)  # in the same tab
    WebDriverWait(browser, 120).until(lambda _: browser.find_elements(By.ID, "tab-plan"))
    browser.get_log("browser")


#: What the page never says: options and names of the code, assignments, a library's own words.
FORBIDDEN = r"--[a-z]|\b[a-z]+_[a-z_]+\b|='|should be a valid|weakly [a-z]+ [\w./-]+\.(tsv|csv)|\bread_answers\b"


def said(page):
    """All that can be read on the open tab, but names that come from somebody's file or are a tool's own."""
    text = page.browser.execute_script("return document.querySelector('section:not([hidden])').innerText")
    text = re.sub(r"recording = .*", "", text)  # which column of the file is which
    return text.replace("sed_eval", "")


def test_the_page_speaks_no_code(page):
    for tab in ("plan", "evaluate", "simulate", "audit"):
        page.tab(tab)
        page.browser.execute_script("document.querySelector('section:not([hidden]) .example').click()")
        seen = "Seed" if tab == "simulate" else "The example:"
        page.until(lambda seen=seen: page.state == "answered" and seen in said(page))
        assert re.findall(f".{{0,30}}(?:{FORBIDDEN}).{{0,30}}", said(page)) == [], tab


def test_a_file_for_another_tab_is_offered_to_it_and_outlives_a_reload(page, tmp_path):
    path = tmp_path / "weak.csv"
    path.write_text("filename,event_labels\na.wav,owl\nb.wav,\n", encoding="utf-8")
    page.tab("evaluate")
    page.find("[data-field=file] input[type=file]").send_keys(str(path))
    offered = (By.XPATH, "//button[contains(., 'tab Audit')]")
    button = page.until(lambda: next(iter(page.browser.find_elements(*offered)), None))
    page.until(button.is_displayed)
    assert re.findall(FORBIDDEN, page.error("file")) == []
    button.click()
    page.until(lambda: "recordings" in page.find("[data-field=weak]").text)
    page.settled()
    page.browser.refresh()
    again = type(page)(page.browser)
    again.until(lambda: "weak.csv: " in again.find("[data-field=weak]").text)
    again.settled()


def test_codes_of_classes_get_names_from_a_table_and_labels_of_clips_are_offered_to_audit(page, tmp_path):
    path, table = tmp_path / "coded.csv", tmp_path / "names.csv"
    path.write_text("filename,onset,offset,event_label\na.wav,1,2,/m/01\na.wav,4,5,/m/02\nb.wav,1,3,/m/03\n", "utf-8")
    table.write_text('index,mid,display_name\n0,/m/01,"Owl, hoot"\n1,/m/02,Fox\n2,/m/03,Fox\n', "utf-8")
    page.tab("evaluate")
    page.send("file", path)
    assert "/m/01" in page.words()
    page.browser.find_elements("css selector", "#panel-evaluate [type=file]")[1].send_keys(str(table))
    page.until(lambda: page.state == "answered" and "Owl, hoot" in said(page))
    assert "/m/01" not in page.words()
    options = [
        each.text for each in page.browser.find_elements("css selector", "#panel-evaluate [data-field=label] option")
    ]
    assert options[1:] == ["Owl, hoot", "Fox", "Fox (/m/03)"]
    rows = '# YTID, start_seconds, end_seconds, positive_labels\n--4gqARaEJE, 0.000, 10.000, "/m/01,/m/02"\n'
    (tmp_path / "clips.csv").write_text(rows, encoding="utf-8")
    page.send("file", tmp_path / "clips.csv")
    offer = page.until(lambda: page.find("[data-field=file] .help + button"))
    page.until(lambda: offer.is_displayed() and "whole clips" in offer.text)
