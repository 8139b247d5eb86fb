"""How fast annotation files are read, checked and written, beside the table reader that everyone uses."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from weakly.formats import check, read, write


def _seconds(function: Callable[[], Any], repeat: int = 3) -> float:
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def _list(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    onset = np.round(rng.random(n) * 100, 3)
    names = [f"rec_{i}.wav" for i in rng.integers(0, max(1, n // 20), n)]
    frame = pd.DataFrame({"filename": names, "onset": onset, "offset": np.round(onset + 1, 3)})
    frame["event_label"] = rng.choice(["dog", "cat", "speech"], n)
    frame.to_csv(path, sep="\t", index=False)


def run(n: int = 1_000_000) -> list[dict[str, Any]]:
    """One row per job: our seconds, theirs (pandas, which validates nothing), the ratio and the target."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "events.tsv"
        _list(path, n)
        events = read(path)
        theirs = _seconds(lambda: pd.read_csv(path, sep="\t", keep_default_na=False, float_precision="round_trip"))
        jobs = (
            ("read and validate a DCASE list", lambda: read(path), theirs, "a few seconds for 10^6 rows"),
            ("check it (linter)", lambda: check(path), theirs, "linear in rows"),
            ("write a DCASE list", lambda: write(events, Path(folder) / "out.tsv"), None, "linear in rows"),
            ("write Parquet", lambda: write(events, Path(folder) / "out.parquet"), None, "linear in rows"),
            ("read Parquet", lambda: read(Path(folder) / "out.parquet"), None, "a few seconds for 10^6 rows"),
        )
        for what, job, other, target in jobs:
            ours = _seconds(job, repeat=1 if what.startswith("check") else 2)
            ratio = ours / other if other else None
            rows.append(
                {"what": f"{what}, {n:,} rows", "ours": ours, "theirs": other, "ratio": ratio, "target": target}
            )
    return rows


if __name__ == "__main__":
    for row in run():
        print(row)
