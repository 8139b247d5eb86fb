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


def run(n: int = 1_000_000) -> list[dict[str, Any]]:
    """One row per job: our seconds, theirs (sed_eval's reader of the same list, per row), the ratio and the target."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "events.tsv"
        _list(path, n)
        events = read(path)
        jobs = (
            ("read and validate a DCASE list", lambda: read(path), _sed_eval(Path(folder), n), "faster than sed_eval"),
            ("check it (linter)", lambda: check(path), None, "linear in rows"),
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
