"""A made season of passive monitoring, evaluated while it is killed: python -m benchmarks.season [ROWS [FILES]].

Recordings of an hour with about 5,000 detections each, twenty classes, in Parquet files; some recordings lie in two
files. It is evaluated by the command, whose process is killed (-9) twice and goes on, through a Dask cluster of which a
worker is killed, and through an S3 address (moto's server); all must give the same bits. Rows per second and core,
memory and bytes read are printed; all files are deleted at the end.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import socket
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


def command(address: object, *more: object) -> list[str]:
    """The command that is measured."""
    return [sys.executable, "-m", "weakly", "evaluate", str(address), *ASKED, *map(str, more)]


def document(child: subprocess.Popen[bytes]) -> dict[str, Any]:
    """What a command printed."""
    out, _ = child.communicate()
    assert child.returncode == 0, child.args
    found: dict[str, Any] = json.loads(out)
    return found


def done(sums: Path) -> int:
    """How many chunks are."""
    return len(list(sums.glob("chunk-*.npz")))


def killed_twice(folder: Path, sums: Path, chunks: int) -> dict[str, Any]:
    """The command's document; its process is killed after a third and after two thirds of the chunks."""
    for share in (1 / 3, 2 / 3, None):
        child = subprocess.Popen(command(folder, "--resume", sums), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while share is not None and done(sums) < share * chunks:
            time.sleep(0.05)
            assert child.poll() is None, "it ended before it could be killed"
        if share is not None:
            child.send_signal(signal.SIGKILL)
            child.wait()
            print(f"killed with {done(sums)} of {chunks} chunks done", flush=True)
    return document(child)


def through_dask(folder: Path, sums: Path, chunks: int) -> dict[str, Any]:
    """The same through a cluster of two processes, one of which is killed."""
    distributed: Any = importlib.import_module("distributed")
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with local as cluster, distributed.Client(cluster) as client:
        asked = command(folder, "--resume", sums, "--scheduler", cluster.scheduler_address)
        child = subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while done(sums) < chunks / 3 and child.poll() is None:
            time.sleep(0.05)
        process = next(iter(client.run(os.getpid).values()))
        os.kill(process, signal.SIGKILL)
        print(f"killed a worker with {done(sums)} of {chunks} chunks done", flush=True)
        found = document(child)
        print("workers' memory at most, GiB:", [round(kb / 2**20, 2) for kb in client.run(peak).values()], flush=True)
    return found


def peak() -> int:
    """The most memory that this process has held, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def through_s3(folder: Path) -> dict[str, Any]:
    """The same through an address of a local S3 server; the files are gone from the disk's folder before it is read."""
    boto3: Any = importlib.import_module("boto3")
    os.environ |= dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "testing")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    serve = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
        retries = importlib.import_module("botocore.config").Config(retries={"total_max_attempts": 12})
        store = boto3.client("s3", region_name="us-east-1", config=retries)
        store.create_bucket(Bucket="season")
        for path in sorted(folder.iterdir()):
            store.put_object(Bucket="season", Key=f"detections/{path.name}", Body=path.read_bytes())
            path.unlink()
        asked = command("s3://season/detections")
        return document(subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
    finally:
        server.terminate()
        server.wait()


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
        for how in ("Dask", "S3"):
            start = time.perf_counter()
            same = first == (through_s3(folder) if how == "S3" else through_dask(folder, Path(place) / "dask", chunks))
            print(f"through {how}: {time.perf_counter() - start:.0f} s, load {os.getloadavg()[0]:.1f}; "
                  f"the same bits: {same}", flush=True)  # fmt: skip
            assert same


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
