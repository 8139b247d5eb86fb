"""How fast annotation files are read, checked and written, beside the table reader that everyone uses."""

from __future__ import annotations

import gc
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from weakly.io import check, read, read_answers, write
from weakly.model.answers import Answers


def _seconds(function: Callable[[], Any], repeat: int = 3) -> float:
    """The least processor time of a few runs: other work on the machine does not count."""
    times = []
    for _ in range(repeat):
        gc.collect()
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)


def _list(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    onset = np.round(rng.random(n) * 100, 3)
    names = [f"rec_{i}.wav" for i in rng.integers(0, max(1, n // 20), n)]
    frame = pd.DataFrame({"filename": names, "onset": onset, "offset": np.round(onset + 1, 3)})
    frame["event_label"] = rng.choice(["dog", "cat", "speech"], n)
    frame.to_csv(path, sep="\t", index=False)


def _sed_eval(folder: Path, n: int, sample: int = 20_000) -> float | None:
    """Seconds that sed_eval would need for n rows, from a part of them; None where it is not installed."""
    try:
        import sed_eval
    except ImportError:
        return None
    path = folder / "part.txt"
    _list(folder / "part.tsv", sample)
    path.write_text((folder / "part.tsv").read_text().partition("\n")[2])
    return _seconds(lambda: sed_eval.io.load_event_list(str(path)), repeat=1) * n / sample


def _answers(n: int) -> Answers:
    rng = np.random.default_rng(1)
    onset = np.arange(n) % 20 * 3.0
    return Answers.from_frame(
        pd.DataFrame({
            "recording": [f"r{k // 20}" for k in range(n)], "onset": onset, "offset": onset + 3, "label": "dog",
            "present": rng.integers(0, 2, n).astype(float), "annotator": rng.choice(["ann", "bob"], n),
            "query": [f"{k:012x}" for k in range(n)],
        })
    )  # fmt: skip


#: Formats of one file that are written and read back beside the DCASE list.
OTHERS = ("csv", "rttm", "labelstudio", "parquet")


def _jobs(folder: Path, n: int) -> dict[str, Callable[[], Any]]:
    """What is timed, by name, on files of n rows."""
    path, other = folder / "events.tsv", folder / "table.csv"
    _list(path, n)
    names = {"filename": "video_id", "event_label": "class"}
    pd.read_csv(path, sep="\t").rename(columns=names).to_csv(other, index=False)
    events, said = read(path), _answers(n)
    jobs: dict[str, Callable[[], Any]] = {
        "read and validate a DCASE list": lambda: read(path),
        "read a table by evidence": lambda: read(other),
        "check it (linter)": lambda: check(path),
        "write a DCASE list": lambda: write(events, folder / "out.tsv", "dcase"),
        "convert --answers": lambda: write(read_answers(folder / "answers.csv"), folder / "again.csv", "clips"),
    }
    for name in OTHERS:
        target = folder / f"out.{name}"
        jobs[f"write {name}"] = lambda name=name, target=target: write(events, target, name)  # type: ignore[misc]
        jobs[f"read {name}"] = lambda name=name, target=target: read(target, name)  # type: ignore[misc]
    for name in ("clips", "labelstudio"):
        target = folder / f"answers.{name}"
        jobs[f"write answers as {name}"] = lambda name=name, target=target: write(said, target, name)  # type: ignore[misc]
        jobs[f"read answers as {name}"] = lambda name=name, target=target: read_answers(target, name)  # type: ignore[misc]
    write(said, folder / "answers.csv", "clips")
    return jobs


def run(
    n: int = 1_000_000, say: Callable[[dict[str, Any]], None] = lambda row: None, only: str = ""
) -> list[dict[str, Any]]:
    """One row per job: our seconds, sed_eval's for the same list, and the time per row against a tenth of the rows."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small, large = Path(folder) / "small", Path(folder) / "large"
        for place in (small, large):
            place.mkdir()
        tenth, whole = _jobs(small, n // 10), _jobs(large, n)
        for what in (name for name in whole if only in name):
            ours, part = _seconds(whole[what], repeat=1), _seconds(tenth[what], repeat=2)
            other = _sed_eval(Path(folder), n) if what.startswith("read and validate") else None
            rows.append({
                "what": f"{what}, {n:,} rows", "ours": ours, "theirs": other,
                "ratio": ours / other if other else ours / (10 * part), "per row": ours / (10 * part),
                "target": "faster than sed_eval" if other else "time per row at most 1.5 that of a tenth",
            })  # fmt: skip
            say(rows[-1])
    return rows


if __name__ == "__main__":
    run(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000,
        lambda row: print(
            f"{row['what']:55s} {row['ours']:7.2f} s, per row {row['per row']:.2f} of a tenth's", flush=True
        ),
        sys.argv[2] if len(sys.argv) > 2 else "",
    )
