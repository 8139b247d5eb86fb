"""A made season of passive monitoring as partitioned Parquet: python -m benchmarks.make_detections FOLDER ROWS FILES.

Recordings of an hour with about 5,000 detections each, twenty classes; some recordings lie in two files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PER_RECORDING, HOUR, CLASSES = 5_000, 3_600.0, 20


def part(number: int, rows: int) -> pa.Table:
    """The rows of one file; its last recording goes on in the next one."""
    rng = np.random.default_rng(number)
    onset = np.round(rng.random(rows) * (HOUR - 10), 3)
    offset = np.round(onset + rng.lognormal(-0.5, 0.6, rows).clip(0.05, 9), 3)
    recording = number * (rows // PER_RECORDING) + np.sort(rng.integers(0, rows // PER_RECORDING + 1, rows))
    label = rng.integers(0, CLASSES, rows)
    names = pa.array([f"site{k % 40:02d}/hour{k:07d}.wav" for k in range(recording.min(), recording.max() + 1)])
    texts = pa.array([f"species{k:02d}" for k in range(CLASSES)])
    columns = {
        "recording": pa.DictionaryArray.from_arrays(pa.array((recording - recording.min()).astype(np.int32)), names),
        "onset": onset,
        "offset": offset,
        "label": pa.DictionaryArray.from_arrays(pa.array(label.astype(np.int8)), texts),
        "confidence": rng.random(rows).astype(np.float32),  # read by nobody
    }
    return pa.table(columns)


def main(folder: str, rows: str, files: str) -> None:
    """Write them."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for number in range(int(files)):
        path = target / f"part-{number:04d}.parquet"
        pq.write_table(part(number, int(rows) // int(files)), path, row_group_size=250_000, compression="zstd")


if __name__ == "__main__":
    main(*sys.argv[1:])
