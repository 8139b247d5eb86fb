"""A made season of passive monitoring, evaluated while it is killed: python -m benchmarks.season [ROWS [FILES]].

Recordings of an hour with about 5,000 detections each, twenty classes, in Parquet files; some recordings lie in two
files. It is evaluated by the command, whose process is killed (-9) twice and goes on, and through a Dask cluster of
which a worker is killed; both must give the same bits. Rows per second and core, memory and bytes read are printed; all
files are deleted at the end.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PER_RECORDING, HOUR, CLASSES = 5_000, 3_600.0, 20
ASKED = ["--segment-length", "3", "--presence-criterion", "0.3,0.5,0.7", "--recording-length", "3600", "--json"]


def parts(rows: int, files: int) -> Iterator[pa.Table]:
    """One table per file: the same hour drawn once, turned by another amount in each; the last recording of a file goes
    on in the next one."""
    rng = np.random.default_rng(1)
    n = rows // PER_RECORDING
    drawn, length = rng.random(rows) * HOUR, rng.lognormal(-0.5, 0.6, rows).clip(0.05, 9)
    recording = pa.array(np.sort(rng.integers(0, n + 1, rows)).astype(np.int32))
    texts = pa.array([f"species{k:02d}" for k in range(CLASSES)])
    label = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, CLASSES, rows).astype(np.int8)), texts)
    confidence = rng.random(rows).astype(np.float32)  # read by nobody
    for number in range(files):
        onset = np.round((drawn + 36.1 * number) % (HOUR - 10), 3)
        names = pa.array([f"site{k % 40:02d}/hour{k:07d}.wav" for k in range(number * n, number * n + n + 1)])
        columns = {
            "recording": pa.DictionaryArray.from_arrays(recording, names),
            "onset": onset,
            "offset": np.round(onset + length, 3),
            "label": label,
            "confidence": confidence,
        }
        yield pa.table(columns)


def make(folder: Path, rows: int, files: int) -> int:
    """Write the files; back comes how many bytes an evaluation reads of them."""
    folder.mkdir()
    read = 0
    for number, table in enumerate(parts(rows // files, files)):
        path = folder / f"part-{number:04d}.parquet"
        pq.write_table(table, path, row_group_size=250_000, compression="snappy")
        meta = pq.read_metadata(path)
        for group in range(meta.num_row_groups):
            sizes = [meta.row_group(group).column(k).total_compressed_size for k in range(4)]
            read += sum(sizes) + sizes[0]  # the recordings are looked at first
    return read


def killed_twice(folder: Path, sums: Path, chunks: int) -> dict[str, Any]:
    """The command's document; its process is killed after a third and after two thirds of the chunks."""
    command = [sys.executable, "-m", "weakly", "evaluate", str(folder), *ASKED, "--resume", str(sums)]
    for share in (1 / 3, 2 / 3, None):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while share is not None and len(list(sums.glob("chunk-*.npz"))) < share * chunks:
            time.sleep(0.05)
            assert child.poll() is None, "it ended before it could be killed"
        if share is not None:
            child.send_signal(signal.SIGKILL)
            child.wait()
            print(f"killed with {len(list(sums.glob('chunk-*.npz')))} of {chunks} chunks done", flush=True)
    out, _ = child.communicate()
    assert child.returncode == 0
    found: dict[str, Any] = json.loads(out)
    return found


def through_dask(folder: Path, sums: Path, chunks: int) -> dict[str, Any]:
    """The same through a cluster of two processes, one of which is killed."""
    distributed: Any = importlib.import_module("distributed")
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with local as cluster, distributed.Client(cluster) as client:
        command = [sys.executable, "-m", "weakly", "evaluate", str(folder), *ASKED, "--resume", str(sums)]
        child = subprocess.Popen(
            [*command, "--scheduler", cluster.scheduler_address], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        while len(list(sums.glob("chunk-*.npz"))) < chunks / 3 and child.poll() is None:
            time.sleep(0.05)
        process = next(iter(client.run(os.getpid).values()))
        os.kill(process, signal.SIGKILL)
        print(f"killed a worker with {len(list(sums.glob('chunk-*.npz')))} of {chunks} chunks done", flush=True)
        out, _ = child.communicate()
    assert child.returncode == 0
    found: dict[str, Any] = json.loads(out)
    return found


def main(rows: int = 100_000_000, files: int = 100) -> None:
    """Make, evaluate, compare, tell."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "season"
        read = make(folder, rows, files)
        size = sum(path.stat().st_size for path in folder.iterdir())
        chunks = -(-rows // 1_000_000)
        print(
            f"{rows:,} rows in {files} files, {size / 2**30:.2f} GiB, of which {read / 2**30:.2f} are read", flush=True
        )
        start = time.perf_counter()
        first = killed_twice(folder, Path(place) / "sums", chunks)
        wall = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime
        print(f"killed twice: {wall:.0f} s, {cpu:.0f} s of processors, {rows / cpu:,.0f} rows per second and core; "
              f"{used.ru_maxrss / 2**20:.2f} GiB at most", flush=True)  # fmt: skip
        start = time.perf_counter()
        second = through_dask(folder, Path(place) / "dask", chunks)
        print(f"through Dask: {time.perf_counter() - start:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
        print("the same bits:", first == second, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
