"""A recording labelled in a real browser by a scripted honest listener: wrong time, answers and seconds of each method.

    python benchmarks/label_spinetail.py RECORDING.wav ANNOTATIONS LABEL [WAY] [TARGET] [FOLDER FOR SCREENSHOTS]

The listener hears each segment to its end, knows the truth, and presses P where at least half of an event is in it.
Fixed segments are as long as the plan says is best, which uses the true lengths. `information` is told nothing, a
length that is twice too long, or the truth about lengths and rate; TARGET such as 'wrong_time<=1.5', else its own. By
hand, all of it is heard once and a key is held during each event, pressed and released with a spread of 0.1 s (a fifth
of a short event), as plans assume. A WAY is the beginning of a name of these. Beside the true wrong time stands what
the page says of it.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

import weakly as wk
from weakly.apps.label import Client
from weakly.io.signals import header
from weakly.model.intervals import merge

_HEARD = """const s = document.getElementById('sound');
    return s.src && (s.ended || s.currentTime > s.duration - 0.05) ? s.src : null"""
_HOLD = """const key = (kind) => document.dispatchEvent(new KeyboardEvent(kind, { key: 'p' }));
    const marks = arguments[0], sound = document.getElementById('sound');
    const look = () => { const at = sound.currentTime, mark = marks[0];
        if (mark && !mark.down && at >= mark.on) { mark.down = true; key('keydown') }
        if (mark && mark.down && at >= mark.off) { marks.shift(); key('keyup') }
        if (marks.length && !sound.ended) setTimeout(look, 5) };
    look();"""
MOST = 200  # answers
SPREAD = 0.1  # seconds of a mark, as plans assume
FLAGS = "--headless=new --no-sandbox --disable-gpu --no-first-run --window-size=1100,760"


def browser():
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS.split(), f"--user-data-dir={tempfile.mkdtemp()}"):
        options.add_argument(flag)
    driver = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=driver)


def labelled(recording, events, label, arguments, screen, shots=None):
    """The folder of a campaign that was labelled by key, and how many seconds it took."""
    out = tempfile.mkdtemp()
    command = [sys.executable, "-m", "weakly", "label", str(recording), "--label", label, "--out", out, "--port", "0",
               "--no-open", *arguments]  # fmt: skip
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    address = re.search(r"http://\S+", said := server.stderr.readline())
    if address is None:
        raise SystemExit(said)
    address = address[0]
    client = Client(address, timeout=120)
    screen.get(address)
    text = lambda name: screen.find_element(By.ID, name).get_attribute("textContent")  # noqa: E731
    press = lambda key: ActionChains(screen).send_keys(key).perform()  # noqa: E731
    while "answered" not in text("progress"):
        time.sleep(0.05)
    press(" ")
    before = None
    while (items := client.ask()["items"]) and int(text("progress").split()[0]) < MOST:
        item, count = items[0], int(text("progress").split()[0])
        if "--mark" in arguments:
            spread = np.minimum(SPREAD, 0.2 * np.diff(events))
            ends = events + spread * np.random.default_rng(count).standard_normal(events.shape) - item["onset"]
            screen.execute_script(_HOLD, [{"on": on, "off": off} for on, off in np.sort(ends).tolist()])
        while before == (source := screen.execute_script(_HEARD)) or source is None:  # another sound, to its end
            time.sleep(0.01)
        before = source
        time.sleep(0.1)
        if "--mark" in arguments:
            press("\ue007")
            while int(text("progress").split()[0]) == count:
                time.sleep(0.01)
            continue
        shared = np.minimum(events[:, 1], item["offset"]) - np.maximum(events[:, 0], item["onset"])
        if shots and count == 5:
            screen.save_screenshot(str(Path(shots) / "label.png"))
        press("p" if (shared >= 0.5 * (events[:, 1] - events[:, 0])).any() else "a")
        while int(text("progress").split()[0]) == count:
            time.sleep(0.01)
    if items:  # it would go on asking: enough is enough
        client._call("export", {})
    else:
        while not screen.find_element(By.ID, "export").is_displayed():
            time.sleep(0.05)
        screen.find_element(By.ID, "export").click()
        while not text("written"):
            time.sleep(0.05)
    if shots:
        screen.save_screenshot(str(Path(shots) / "done.png"))
    server.terminate()
    server.wait()
    return Path(out) / "labels"


def inside(at, spans):
    """Whether each moment is in one of the spans."""
    return ((at[:, None] >= spans[:, 0]) & (at[:, None] < spans[:, 1])).any(axis=1)


def main(recording, annotations, label, way="", target="", shots=None):
    strong = wk.read(annotations, label=label).to_frame()
    events = merge(strong[["onset", "offset"]].to_numpy(float))
    length = header(recording).seconds
    mean, rate = float((events[:, 1] - events[:, 0]).mean()), len(events) / length
    best = float(wk.optimal_segment_length(event_length=mean, presence_criterion=0.5, objective="recording"))
    print(f"{len(events)} events of {mean:.2f} s in {length:.1f} s; best fixed segments {best:.2f} s")
    law = ",".join(f"{b - a:.3f}" for a, b in events)
    ask = ["--target", target] if target else []
    ways = {
        "fixed": ["--segment-length", f"{best:.3f}", "--event-length", law],
        "by hand": ["--mark", "--segment-length", f"{np.ceil(length):.0f}"],
        "information": ask,
        "twice the length": [*ask, "--event-length", f"{2 * mean:.3f}"],
        "lengths and rate": [*ask, "--event-length", law, "--event-rate", f"{rate:.4f}"],
    }
    at, screen = np.arange(0, length, 0.001), browser()
    try:
        for name in [name for name in ways if name.startswith(way)]:
            folder = labelled(recording, events, label, ways[name], screen, shots if name == "information" else None)
            answers = wk.read_answers(folder / "answers.csv").to_frame()
            files = ("events.csv", "events.csv" if name == "by hand" else "inferred.csv")
            marked, likely = (wk.read(folder / file, label=label).to_frame()[["onset", "offset"]].to_numpy(float)
                              for file in files)  # fmt: skip
            wrong, wrong_inferred = (
                0.001 * (inside(at, events) != inside(at, each)).sum() for each in (marked, likely)
            )
            stated = json.loads((folder / "quality.json").read_text())["labels"] or {}
            stated = {word: round(value, 2) for word, value in stated.items() if value is not None}
            heard = (answers["offset"] - answers["onset"]).sum()
            hit = [((marked[:, 0] < b) & (marked[:, 1] > a)).any() for a, b in events]
            print(pd.Series({"method": name, "answers": len(answers), "listened": round(heard, 1), "active_seconds":
                             round(answers["seconds"].sum(), 1), "wrong_time": round(wrong, 2), "events_met":
                             f"{sum(hit)}/{len(hit)}", "wrong_time_inferred": round(wrong_inferred, 2),
                             "stated": stated}).to_dict(),
                  flush=True)  # fmt: skip
    finally:
        screen.quit()


if __name__ == "__main__":
    main(*sys.argv[1:])
