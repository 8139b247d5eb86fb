"""Twenty people label at once: errors, how long the next segment takes; agreement and posterior against a batch run.

    python benchmarks/label_team.py [people] [answers each] [mean pause in seconds] [database]
    python benchmarks/label_team.py odd [seeds]

Each person answers all segments over HTTP, with a criterion of their own, without a pause unless one is given. With
`odd`, three of twenty answer 100 segments each as nobody should (a coin, asleep half of the time, always P), each
segment by two people: whom does the owner's page name?
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from itertools import combinations
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd

import weakly as wk
from weakly.apps.label import Client
from weakly.apps.label.launch import open_campaign
from weakly.apps.label.live import summary
from weakly.io.soundscape import soundscape

LAW, HEARS = "uniform:loc=0.5,scale=1", wk.Annotator(guess_rate=0.02, lapse_rate=0.02)


def _cpu(pid):
    """Seconds of processor time of a process so far: what is left of a busy machine's wall clock (Linux)."""
    place = Path(f"/proc/{pid}/stat")
    if not place.exists():
        return float("nan")
    user, system = map(int, place.read_text().rpartition(")")[2].split()[11:13])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def main(people=20, answers=500, pause=0.0, database=""):
    folder = Path(tempfile.mkdtemp())
    scene = soundscape(
        answers * 1.0, n_events=answers // 10, event_length=(0.5, 1.5), least_gap=1.0, sample_rate=8000, rng=1
    )
    (folder / "in").mkdir()
    scene.write(folder / "in" / "night.wav")
    names = [f"p{k:02d}" for k in range(people)]
    command = [sys.executable, "-m", "weakly", "label", str(folder / "in"), "--label", "owl", "--segment-length", "1",
               "--annotators", ",".join(names), "--votes", str(people), "--out", str(folder / "c"), "--port", "0",
               "--no-open", "--event-length", LAW, *(["--database", database] if database else [])]  # fmt: skip
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    links = [server.stderr.readline() for _ in range(people + 1)]
    places = {line.split(":")[0]: re.search(r"(http://[^#]+)#token=(\w+)", line).groups() for line in links}
    took, errors, table = [], [], np.full((people, answers), np.nan)
    events, lengths = scene.events, scene.events[:, 1] - scene.events[:, 0]

    def person(k):
        rng = np.random.default_rng(k)
        criterion = rng.uniform(0.2, 0.8)
        client = Client(*places[names[k]], timeout=120)
        try:
            items = client.ask()["items"]
            while items:
                item = items[0]
                shared = np.minimum(events[:, 1], item["offset"]) - np.maximum(events[:, 0], item["onset"])
                present = bool((shared >= criterion * lengths).any())
                time.sleep(pause * rng.exponential())
                began = time.perf_counter()
                said = client.tell(item["query"], present=present, seconds=1.0)
                took.append(time.perf_counter() - began)
                table[k, round(item["onset"])] = present
                assert said["kept"]
                items = said["items"]
        except Exception as error:
            errors.append(repr(error))

    crowd = [threading.Thread(target=person, args=(k,)) for k in range(people)]
    began = time.perf_counter()
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    seconds, server_cpu = time.perf_counter() - began, _cpu(server.pid)
    owner = Client(*places["owner"], timeout=120)
    team = json.loads(owner._call("team"))
    live = json.loads(Client(*places[names[0]], timeout=120)._call("live"))
    owner._call("export", {})
    server.terminate()
    server.wait()
    labels = folder / "c" / "labels"
    held = wk.read_answers(labels / "answers.csv")
    batch = wk.infer(
        held, event_length=wk.Lengths.parse(LAW), annotator=HEARS, recording_length=float(answers), draws=20, rng=0
    )
    there = pd.read_csv(labels / "active.csv")["active"].to_numpy()
    p, width = batch.active["active"].to_numpy(), (batch.active["offset"] - batch.active["onset"]).to_numpy()
    pairs = [a == b for column in table.T for a, b in combinations(column, 2)]
    print(
        {
            "errors": errors,
            "answers": len(took),
            "per_second": round(len(took) / seconds, 1),
            "median_ms": round(1000 * np.median(took)),
            "p95_ms": round(1000 * np.quantile(took, 0.95)),
            "server_cpu_ms_per_answer": round(1000 * server_cpu / len(took), 2),
            "stored": len(held.to_frame()),
            "agreement": team["agreement"],
            "agreement_batch": float(np.mean(pairs)),
            "alpha": team["alpha"],
            "alpha_batch": float(krippendorff.alpha(table, level_of_measurement="nominal")),
            "posterior_largest_difference": float(np.abs(there - p).max()),
            "n_events": (live["labels"]["n_events"], float(batch.overall["n_events"].sum()), len(events)),
            "wrong_time": (live["labels"]["wrong_time"], float((np.minimum(p, 1 - p) * width).sum())),
            "load": os.getloadavg(),
        }
    )


def odd_team(seeds=5, *, people=20, each=100, votes=2):
    """Whom the owner's page names, by seed, with the agreement of each."""
    for seed in range(seeds):
        rng, folder = np.random.default_rng(seed), Path(tempfile.mkdtemp())
        scene = soundscape(people * each / votes, n_events=people * each // (4 * votes), event_length=(0.5, 1.5),
                           least_gap=1.0, sample_rate=8000, rng=seed)  # fmt: skip
        (folder / "in").mkdir()
        scene.write(folder / "in" / "night.wav")
        names = [f"p{k:02d}" for k in range(people)]
        odd = dict(zip(rng.choice(names, 3, replace=False).tolist(), ("coin", "sleepy", "always P")))
        made = open_campaign([folder / "in"], out=folder / "c", label="owl", segment_length=1.0, annotators=names,
                             votes=votes)  # fmt: skip
        lengths = scene.events[:, 1] - scene.events[:, 0]
        for name in names:
            criterion, slip = rng.uniform(0.35, 0.65), rng.uniform(0.01, 0.06)
            for count in range(each):
                item = made.session.ask(name, most=1)[0]
                shared = np.minimum(scene.events[:, 1], item.offset) - np.maximum(scene.events[:, 0], item.onset)
                says = bool((shared >= criterion * lengths).any()) != (rng.random() < slip)
                if odd.get(name) == "coin" or (odd.get(name) == "sleepy" and rng.random() < 0.5):
                    says = bool(rng.random() < 0.5)
                says = says or odd.get(name) == "always P"
                made.session.tell(name, query=item.query, present=float(says), id=f"answer-{count:04d}", seconds=1.0)
        found = summary(made.session)
        named = {row["annotator"] for row in found["annotators"] if row["odd"]}
        missed = sorted(word for name, word in odd.items() if name not in named)
        print({"seed": seed, "named": sorted(odd.get(name, name) for name in named), "missed": missed}, flush=True)
        print("  ", *found["odd"], sep="\n  ", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["odd"]:
        odd_team(*map(int, given[1:2]))
    else:
        main(*map(int, given[:2]), *map(float, given[2:3]), *given[3:4])
