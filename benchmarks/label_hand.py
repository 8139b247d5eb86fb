"""Two hundred segments by one hand in a real browser: seconds per segment, and whether all ended where it should.

    python benchmarks/label_hand.py [segments]

The arrow keys answer; every tenth segment is stopped and goes on, every twentieth is looped by a drag, some are put off
until later, one answer of fifty is corrected from the list, and those that were unsure are heard again at the end.
"""

import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from benchmarks.label_spinetail import browser
from weakly.io.soundscape import soundscape

LENGTH = 0.5  # seconds of a segment
KEYS = (Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_DOWN)


class Hand:
    """A person who works with the page."""

    def __init__(self, link):
        self.screen = browser()
        self.screen.get(link)
        self.until(lambda: "answered" in self.text("progress"))

    def text(self, name):
        return self.screen.find_element(By.ID, name).get_attribute("textContent")

    def shows(self, name):
        return self.screen.find_element(By.ID, name).is_displayed()

    def until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"{self.text('problem')}; {self.text('progress')}")
            time.sleep(0.01)

    def press(self, key):
        ActionChains(self.screen, duration=0).send_keys(key).perform()

    def ready(self):
        script = """return !document.querySelector('.screen.loading, [aria-busy=true]')
            && document.getElementById('sound').currentTime > 0.1"""
        self.until(lambda: self.shows("finished") or self.screen.execute_script(script))
        time.sleep(0.1)

    def answered(self):
        return int(self.text("progress").split()[0])

    def answer(self, key):
        before = self.answered()
        self.press(key)
        self.until(lambda: self.answered() > before)

    def loop(self):
        picture = self.screen.find_element(By.ID, "screen")
        hand = ActionChains(self.screen, duration=20).move_to_element_with_offset(picture, -100, 0).click_and_hold()
        hand.move_to_element_with_offset(picture, 100, 0).release().perform()
        self.until(lambda: self.shows("looped"))


def main(segments=200):
    folder = Path(tempfile.mkdtemp())
    (folder / "in").mkdir()
    soundscape(segments * LENGTH, n_events=segments // 8, event_length=(0.4, 1.2), least_gap=1, rng=0).write(
        folder / "in" / "night.wav"
    )
    words = ["label", str(folder / "in"), "--label", "owl", "--segment-length", str(LENGTH), "--out", str(folder / "c"),
             "--port", "0", "--no-open"]  # fmt: skip
    server = subprocess.Popen([sys.executable, "-m", "weakly", *words], stderr=subprocess.PIPE, text=True)
    hand = Hand(re.search(r"http://\S+", server.stderr.readline())[0])
    hand.screen.execute_script("""const set = document.getElementById('set');
        set.value = 'right hand: arrows'; set.dispatchEvent(new Event('change'))""")
    hand.press(Keys.ARROW_UP)
    took, later, corrected = [], 0, 0
    while not hand.shows("finished"):
        hand.ready()
        count, began = hand.answered(), time.monotonic()
        if count % 40 == 7 and later <= count // 40:
            later += 1
            hand.press(Keys.PAGE_DOWN)
            continue
        if count % 10 == 3:
            hand.press(Keys.ARROW_UP)
            hand.press(Keys.ARROW_UP)
        if count % 20 == 5:
            hand.loop()
            hand.press(Keys.ESCAPE)
        hand.answer(KEYS[count % len(KEYS)])
        took.append(time.monotonic() - began)
        if count % 50 == 30:
            if not hand.shows("answers"):
                hand.screen.find_element(By.CSS_SELECTOR, "#last summary").click()
            hand.until(lambda: hand.screen.find_elements(By.CSS_SELECTOR, "#answers button"))
            hand.until(lambda: not hand.screen.find_elements(By.CSS_SELECTOR, "[aria-busy=true]"))
            hand.screen.execute_script(
                "document.querySelectorAll('#answers button')[1].click()"
            )  # the list is made anew
            hand.until(lambda: hand.shows("before-said"))
            hand.ready()
            hand.press(Keys.ARROW_RIGHT)
            hand.until(lambda: not hand.shows("before-said"))
            corrected += 1
    hand.until(lambda: hand.shows("second-end"))
    unsure = int(re.search(r"\d+", hand.text("second-end"))[0])
    hand.screen.find_element(By.ID, "second-end").click()
    hand.until(lambda: hand.shows("before-said"))
    while not hand.shows("finished"):
        hand.ready()
        words = hand.text("before-words")
        hand.press(Keys.ARROW_LEFT)
        hand.until(lambda words=words: hand.shows("finished") or hand.text("before-words") != words)
    with sqlite3.connect(folder / "c" / "campaign.db") as db:
        held = db.execute("""select count(distinct query), sum(present is null) from answers
            where answer not in (select detail from actions where kind = 'undo')""").fetchone()
    print({"segments": segments, "answered": held[0], "unsure_left": held[1], "second_pass": unsure, "later": later,
           "corrected": corrected, "median_seconds": round(float(np.median(took)), 2)}, flush=True)  # fmt: skip
    hand.screen.quit()
    server.terminate()
    server.wait()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
