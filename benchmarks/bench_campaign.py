"""Campaigns under abuse: killed at random moments, answered by many at once, with damaged files. Nothing may be lost.

``python -m benchmarks campaign`` runs the full numbers (50 kills, 8 at once, 20,000 answers, 3,000 damaged campaigns);
the tests run smaller ones of the same functions.
"""

import contextlib
import gc
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import weakly as wk
from weakly.cli import main
from weakly.studies.queries.campaign import Campaign


def command(*arguments):
    """The exit code, what was printed on stderr, and the traceback if there was one (or "")."""
    out, notes = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(notes), warnings.catch_warnings():
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as done:
            return int(done.code or 0), notes.getvalue(), ""
        except BaseException:
            return -1, notes.getvalue(), traceback.format_exc()
    return 0, notes.getvalue(), ""


def started(*arguments, limit=None):
    """The process id of a command that runs beside us; it dies in the first write beyond ``limit`` bytes of a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the child does nothing but this command
        child = os.fork()
    if child == 0:
        code = 1
        try:
            if limit is not None:
                import resource

                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            code = command(*arguments)[0]
        finally:
            os._exit(code % 256)
    return child


def stored(folder, mode="rw"):
    """The ids of the answers in a campaign's store, read past weakly; empty where it cannot be read."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{folder / 'campaign.db'}?mode={mode}", uri=True)) as database:
            return [row[0] for row in database.execute("SELECT answer FROM answers")]
    except (sqlite3.Error, UnicodeDecodeError):
        return []


def export(path, queries, annotator, answer="yes"):
    """A table of answers, as a tool would send it."""
    pd.DataFrame({"query": list(queries), "answer": answer, "annotator": annotator}).to_csv(path, index=False)
    return path


def at_once(folder, *, people=8, each=20):
    """How many answers there are after so many people brought theirs in the same moment, and how many were brought."""
    tasks = folder / "tasks"
    wk.queries({"a": 5.0 * each}, method="fixed", segment_length=5).write(tasks)
    queries = Campaign.open(tasks).queries["query"]
    exports = [export(folder / f"{k}.csv", queries, f"person {k}") for k in range(people)]
    children = [started("answers", path, "--queries", tasks) for path in exports]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    shown = len(wk.read_answers(tasks / "answers.csv"))
    return min(len(set(stored(tasks))), shown) if codes == [0] * people else -1, people * each


def killed(folder, *, kills=50, seed=0):
    """How many answers were lost or doubled when `answers` and `queries --resume` were killed at random moments.

    And how many died so, at most ``kills``; of the others, which were done before their moment, there may be more.
    """
    chance, truth = random.Random(seed), np.array([[3.0, 4.5], [40.0, 41.0]])
    tasks, wrong, died = folder / "tasks", 0, 0
    wk.queries({"a": 64.0}, method="bisection", segment_length=0.25, n_events=2).write(tasks)
    from weakly.methods.base import SimulatedAnnotator

    def answers():
        frame = Campaign.open(tasks).queries
        said = SimulatedAnnotator(0.3)(truth, frame[["onset", "offset"]].to_numpy(float))
        return export(folder / "e.csv", frame["query"], "ann", np.where(said == 1, "yes", "no"))

    def spans(*arguments):
        begin = time.monotonic()
        os.waitpid(started(*arguments), 0)
        return time.monotonic() - begin

    usual = max(spans("answers", answers(), "--queries", tasks), spans("queries", "--resume", tasks))
    for k in range(4 * kills):
        if died == kills:
            break
        sure = set(stored(tasks))
        if k % 2 == 0 and not Campaign.open(tasks).next().n_queries:  # the campaign is over: begin another
            shutil.rmtree(tasks)
            wk.queries({"a": 64.0}, method="bisection", segment_length=0.25, n_events=2).write(tasks)
            sure = set()
        arguments = ("answers", answers(), "--queries", tasks) if k % 2 else ("queries", "--resume", tasks)
        child = started(*arguments)
        time.sleep(chance.uniform(0, usual))
        os.kill(child, signal.SIGKILL)
        dead = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        died, usual = died + dead, usual * (1.1 if dead else 0.8)  # about as long as the command runs
        ids = stored(tasks)
        wrong += len(sure - set(ids)) + len(ids) - len(set(ids))
        code, _, _ = command(*arguments)  # run again, it does what was left to do
        wrong += code != 0
        frame = Campaign.open(tasks)
        wrong += len(frame.queries) - frame.queries["query"].nunique()
        wrong += len(frame.answers) - len({(one.query, one.annotator) for one in frame.answers})
        wrong += bool(k % 2 and {one.query for one in frame.answers} != set(frame.queries["query"]))
    return wrong, died


def soak(folder, *, answers=20_000):
    """How many answers a labeling server kept, and what they took: open files, and bytes of memory for each answer.

    Measured from a tenth of the answers on, when everything that is loaded once is there.
    """
    import tracemalloc

    import soundfile
    from starlette.testclient import TestClient

    from weakly.apps.label.launch import open_campaign
    from weakly.apps.label.routes import create_app

    soundfile.write(folder / "a.wav", np.zeros(100 * answers, dtype=np.float32), 1000)
    made = open_campaign([folder / "a.wav"], out=folder / "c", segment_length=0.1, annotators=["ana"])
    page = TestClient(create_app(made), base_url="http://127.0.0.1:8765")
    page.headers["Authorization"] = f"Bearer {made.access.token('ana')}"
    handles = lambda: len(os.listdir("/proc/self/fd"))  # noqa: E731
    item = page.get("/api/1/ask").json()["items"][0]
    for k in range(answers):
        if k == answers // 10:
            tracemalloc.start()
            before = handles(), tracemalloc.get_traced_memory()[0]
        page.get(f"/api/1/picture/{item['query']}")
        said = page.post("/api/1/tell", json={"query": item["query"], "present": k % 2, "id": f"answer-{k:07d}"}).json()
        item = (said["items"] or [None])[0]
    gc.collect()
    after = handles(), tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return len(stored(folder / "c")), after[0] - before[0], (after[1] - before[1]) / (0.9 * answers)


def folders(folder):
    """One campaign for each tool, with answers in the store and others typed into its files."""
    made = {}
    for tool in ("csv", "raven", "audacity", "labelstudio"):
        tasks = folder / tool
        ask = ("bisection", 2.0) if tool != "raven" else ("fixed", 4.0)
        wk.queries({"a": 32.0, "b.wav": 20.0}, method=ask[0], segment_length=ask[1], label="dog").write(tasks, to=tool)
        queries = Campaign.open(tasks).queries
        command("answers", export(folder / "e.csv", queries["query"][:3], "ann"), "--queries", tasks)
        for path in (*tasks.glob("clips.csv"), *tasks.glob("raven/*"), *tasks.glob("audacity/*")):
            lines = path.read_text().splitlines()
            first = next(k for k, line in enumerate(lines) if any(q in line for q in queries["query"]))
            lines[first] = lines[first].replace(",,,dog", ",no,a note,dog") if path.suffix == ".csv" else (
                f"{lines[first]}{'' if lines[first].endswith(chr(9)) else ' '}yes")  # fmt: skip
            path.write_text("\n".join(lines) + "\n")
        made[tool] = tasks
    return made


def damaged(data, chance):
    """The bytes with one kind of damage."""
    at, end = chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)
    low, high = min(at, end), max(at, end)
    kind = chance.randrange(8)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:low] + data[high:]
    if kind == 2:
        return data[:low] + bytes(chance.randrange(256) for _ in range(min(high - low, 64))) + data[low + 64 :]
    if kind == 3:
        return data[:high] + data[low:high] + data[high:]
    if kind == 4:
        return (
            data[:at]
            + chance.choice([b"\0", b"\xff\xfe", b'"', b"\n\n", b",;\t", b"{}[]", b"\r", b"NaN,inf"])
            + data[at:]
        )
    if kind == 5:
        return bytes(255 - byte if chance.random() < 0.01 else byte for byte in data)
    if kind == 6:
        lines = data.split(b"\n")
        chance.shuffle(lines)
        return b"\n".join(lines)
    return b"" if chance.random() < 0.2 else data.decode("latin-1").encode("utf-16")


#: What somebody, or a bad disk, might leave in a cell or in a setting.
NASTY = (
    None, 0, -1, 1, 3, 0.5, True, 1e308, 1e-300, 10**30, float("nan"), float("inf"), "", "x", "nan", "0", "\n\n",
    "a\0b", "x" * 5000, "\u202e", [], {}, ["x"], [[]], {"x": 1}, [1e308], "../../x", "postgresql://x:y@/z",
)  # fmt: skip


def altered(value, chance):
    """A value of a setting with one thing in it changed, left out, renamed or doubled."""
    if isinstance(value, (dict, list)) and value and chance.random() < 0.9:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key, made = chance.choice(keys), dict(value) if isinstance(value, dict) else list(value)
        kind = chance.random()
        if kind < 0.15:
            del made[key]
        elif kind < 0.25 and isinstance(made, dict):
            made[chance.choice(["x", "own", "batch", key + "x"])] = made.pop(key)
        else:
            made[key] = altered(value[key], chance)
        return made
    return chance.choice(NASTY)


def altered_row(path, chance):
    """Change one cell, setting or row of a campaign's store past weakly; what was done."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        settings = chance.random() < 0.5
        table = "settings" if settings else chance.choice(["recordings", "queries", "answers", "actions", "exports"])
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        rows = [row[0] for row in database.execute(f"SELECT rowid FROM {table}")]
        if not rows:
            return f"{table} is empty"
        row, kind = chance.choice(rows), chance.random()
        where = f"FROM {table}" + ("" if chance.random() < 0.3 else f" WHERE rowid = {row}")
        if kind < 0.15:
            database.execute(f"DELETE {where}")
            return f"DELETE {where}"
        if settings and kind < 0.9:
            name, text = database.execute(f"SELECT name, value FROM settings WHERE rowid = {row}").fetchone()
            value = altered(json.loads(text), chance)
            text = json.dumps(value) if chance.random() < 0.95 else json.dumps(value)[:-1]
            database.execute("UPDATE settings SET value = ? WHERE name = ?", (text, name))
            return f"{name} = {text[:200]}"
        column, value = chance.choice(columns), chance.choice([*NASTY, b"\xff\xfe", b"x"])
        if isinstance(value, (list, dict)) or (isinstance(value, int) and abs(value) > 2**62):
            value = str(value)
        with contextlib.suppress(sqlite3.IntegrityError):
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = {row}", (value,))
        return f"{table}.{column} of row {row} = {value!r:.200}"


def labelled(folder):
    """Campaigns of ``weakly label`` by several methods, with answers and a measurement."""
    from weakly.io.soundscape import soundscape

    sounds = folder / "sounds"
    sounds.mkdir()
    for k in range(2):
        scene = soundscape(6, n_events=2, event_length=0.8, rng=k)
        scene.write(sounds / f"r{k}.wav")
    ways = {
        "l-fixed": ["--segment-length", "2", "--votes", "2", "--annotators", "ana,ben", "--event-length", "0.8"],
        "l-count": ["--queries-per-recording", "3"], "l-windows": ["--segment-length", "1", "--hop", "0.5"],
        "l-bisection": ["--method", "bisection", "--segment-length", "1"],
        "l-change": ["--method", "change-point", "--queries-per-recording", "3"],
        "l-information": ["--event-length", "0.8", "--presence-criterion", "0.5", "--target", "wrong_time<=1"],
    }  # fmt: skip
    made = {}
    for name, words in ways.items():
        tasks = folder / name
        code, notes, trace = command("label", sounds, "--label", "owl", *words, "--out", tasks, "--export")
        assert code == 0, notes + trace
        queries = Campaign.open(tasks).queries["query"]
        command("answers", export(folder / "e.csv", queries[:2], "ana"), "--queries", tasks)
        command("label", tasks, "--export")  # also so that what is compiled is compiled once
        made[name] = tasks
    return made


def contained(*arguments, seconds=60):
    """What :func:`command` says, from a process of its own that may neither run for ever nor take all memory."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        import resource

        signal.setitimer(signal.ITIMER_REAL, 20 * seconds)  # which ends it: nobody handles SIGALRM
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))  # a busy machine is no hang
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        with os.fdopen(writing, "w") as pipe:
            json.dump(command(*arguments), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return tuple(json.loads(said)) if said else (status, f"ended with {status}", "died" if status > -1 else "hang")


def trouble(code, notes, trace):
    """What is wrong with the end of a command, or nothing: done, or refused in one line."""
    said = [line for line in notes.splitlines() if not line.startswith("weakly: note: ")]
    if trace:
        return "hang" if trace == "hang" else "traceback"
    if code not in (0, 2):
        return f"exit {code}"
    return f"{len(said)} lines" if code == 2 and (len(said) != 1 or not said[0].startswith("weakly: ")) else None


def mangled_rows(folder, *, count=3000, seed=0, made=None):
    """The troubles that so many campaigns gave of which one row or some bytes were changed; and the exit codes."""
    chance, troubles, codes = random.Random(seed), [], {0: 0, 2: 0}
    made = made or labelled(folder)
    brought = next(iter(made.values())).parent / "e.csv"
    for k in range(count):
        tool, tasks = chance.choice(list(made)), folder / "trial"
        shutil.rmtree(tasks, ignore_errors=True)
        shutil.copytree(made[tool], tasks)
        store = tasks / "campaign.db"
        if chance.random() < 0.8:
            how = altered_row(store, chance)
        else:
            store.write_bytes(damaged(store.read_bytes(), chance))
            how = "bytes"
        arguments = chance.choice([
            ("label", tasks, "--export"), ("label", tasks, "--export"), ("queries", "--resume", tasks, "--to", "csv"),
            ("answers", brought, "--queries", tasks, "--out", tasks / "out"),
        ])  # fmt: skip
        code, notes, trace = contained(*arguments)
        codes[code] = codes.get(code, 0) + 1
        if found := trouble(code, notes, trace):
            troubles.append((k, tool, arguments[0], how, found, trace or notes))
    return troubles, codes


def mangled(folder, *, count=3000, seed=0):
    """The tracebacks and losses that so many damaged campaigns gave."""
    chance, troubles, codes = random.Random(seed), [], {0: 0, 2: 0}
    made = folders(folder)
    for k in range(count):
        tool = chance.choice(list(made))
        tasks = folder / "trial"
        shutil.rmtree(tasks, ignore_errors=True)
        shutil.copytree(made[tool], tasks)
        path = chance.choice(sorted(p for p in tasks.rglob("*") if p.is_file()))
        path.write_bytes(damaged(path.read_bytes(), chance))
        before, sure = path.read_bytes(), set(stored(tasks, "ro"))
        queries = pd.read_csv(made[tool] / "queries.csv")["query"]
        brought = export(folder / "e.csv", queries[2:4], "bob", "no")
        runs = [
            ("answers", brought, "--queries", tasks),
            ("queries", "--resume", tasks),
            ("answers", path, "--queries", tasks),
        ]
        answers = []
        for arguments in chance.sample(runs, 2):
            code, notes, trace = command(*arguments)
            answers.append(code)
            codes[code] = codes.get(code, 0) + 1
            if found := trouble(code, notes, trace):
                troubles.append((k, tool, path.name, found, trace or notes))
        typed = path.name not in ("campaign.db", "answers.csv") and path.suffix != ".json"
        if path.name == "campaign.db":
            lost = answers == [2, 2] and before != path.read_bytes() and len(before) > 0
        else:
            lost = typed and not path.read_bytes().startswith(before.rstrip(b"\n"))
        if lost or not sure <= set(stored(tasks)):
            troubles.append((k, tool, path.name, "lost", ""))
    return troubles, codes


def run():
    """All rows."""
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        kept, brought = at_once(_fresh(folder / "once"))
        yield {"what": "campaign: answers kept when 8 bring theirs at once", "ours": kept, "theirs": brought,
               "measured": f"{kept} of {brought}", "target": "all", "met": kept == brought}  # fmt: skip
        wrong, died = killed(_fresh(folder / "killed"))
        yield {"what": "campaign: answers lost or doubled in 50 kills -9 of answers and queries --resume",
               "measured": str(wrong), "target": "0", "met": wrong == 0, "how": f"{died} died"}  # fmt: skip
        kept, files, memory = soak(_fresh(folder / "soak"))
        yield {"what": "campaign: open files and bytes per answer that 20,000 answers add to a labeling server",
               "measured": f"{files} and {memory:.0f}", "target": "0, below 2,000", "met": files <= 0 and memory < 2000,
               "how": f"{kept} kept"}  # fmt: skip
        troubles, codes = mangled(_fresh(folder / "mangled"))
        for trouble in troubles[:5]:
            print(*trouble, sep=" | ", file=sys.stderr)
        yield {"what": "campaign: tracebacks or losses in 3,000 damaged campaigns", "measured": str(len(troubles)),
               "target": "0", "met": not troubles, "how": f"{codes[0]} went on, {codes[2]} refused"}  # fmt: skip
        troubles, codes = mangled_rows(_fresh(folder / "rows"))
        for found in troubles[:5]:
            print(*found, sep=" | ", file=sys.stderr)
        yield {"what": "campaign: tracebacks, hangs or several lines in 3,000 campaigns with a changed row or bytes",
               "measured": str(len(troubles)), "target": "0", "met": not troubles,
               "how": f"{codes[0]} went on, {codes[2]} refused"}  # fmt: skip


def _fresh(folder):
    folder.mkdir()
    return folder


if __name__ == "__main__":
    for row in run():
        print(row)
