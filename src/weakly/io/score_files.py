"""Scores that a detector wrote: tables of frames (CSV, TSV, Parquet, BirdNET's results) or arrays with a hop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput, optional

#: What detectors call the columns of a table of frames, in lower case.
_NAMES = {
    "recording": ("recording", "file", "filename", "begin path", "begin file", "filepath", "audio"),
    "onset": ("onset", "start", "start (s)", "start_time", "begin time (s)", "begin"),
    "offset": ("offset", "end", "end (s)", "end_time", "end time (s)", "stop"),
    "score": ("score", "confidence", "probability", "logit", "prob"),
    "label": ("label", "event_label", "common name", "species", "class"),
}
_TABLES = (".csv", ".tsv", ".txt", ".parquet")


def read_scores(path: str | Path, *, hop: float | None = None) -> pd.DataFrame:
    """Scores of frames: recording, onset, offset, score, and label where the files tell it.

    Parameters
    ----------
    path : a table of frames, a ``.npy`` file with one score per frame, or a folder of either; a file that names no
        recording is one, named as the file.
    hop : seconds from one frame of a ``.npy`` file to the next.
    """
    where = Path(path)
    if not where.exists():
        raise InvalidInput(f"{where}: there is no such file or folder of scores")
    files = sorted(p for p in where.iterdir() if p.suffix.lower() in (*_TABLES, ".npy")) if where.is_dir() else [where]
    if not files:
        raise InvalidInput(f"{where}: there are no scores (.csv, .tsv, .parquet or .npy) in this folder")
    return pd.concat([_one(file, hop) for file in files], ignore_index=True)


def _one(file: Path, hop: float | None) -> pd.DataFrame:
    if file.suffix.lower() == ".npy":
        values = np.load(file, allow_pickle=False)
        if values.ndim != 1:
            raise InvalidInput(f"{file}: one score per frame is needed, got an array of shape {values.shape}")
        if hop is None or not hop > 0:
            raise InvalidInput(f"{file}: give the seconds from one frame to the next (hop, --hop), got {hop}")
        times = hop * np.arange(len(values) + 1)
        return pd.DataFrame({"recording": file.stem, "onset": times[:-1], "offset": times[1:], "score": values})
    if file.suffix.lower() == ".parquet":
        optional("pyarrow", extra="parquet")
        table = pd.read_parquet(file)
    else:
        table = pd.read_csv(file, sep="," if file.suffix.lower() == ".csv" else "\t")
    known = {str(name).strip().lower(): name for name in table}
    found = {word: known[name] for word, names in _NAMES.items() for name in reversed(names) if name in known}
    missing = [word for word in ("onset", "offset", "score") if word not in found]
    if missing:
        raise InvalidInput(
            f"{file}: no column says the {missing[0]} of a frame; there are {', '.join(map(str, table))}"
        )
    frame = pd.DataFrame({word: table[name] for word, name in found.items()})
    return frame.assign(recording=file.stem if "recording" not in frame else frame["recording"].astype(str))
