"""The lines of the plan of nine works: ``python -m benchmarks.real_plans ../shared/data``.

Owls, EEG and lists like those of CHB-MIT are described by lengths; the others are pilots that somebody annotated. What
does not say how long its recordings are has them end with their last event, as the answer says.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import weakly as wk


def seizures(rng: np.random.Generator) -> wk.Events:
    """Hours of EEG as CHB-MIT lists them: of 42 hours seven hold a seizure of 27 to 101 s."""
    rows = [(f"chb01_{k:02d}.edf", "seizure", begin := rng.uniform(0, 3500), begin + rng.uniform(27, 101))
            for k in (3, 4, 15, 16, 18, 21, 26)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["recording", "label", "onset", "offset"])
    frame["offset"] = frame["offset"].clip(upper=3600.0)
    return wk.Events.from_frame(frame, recording_length={f"chb01_{k:02d}.edf": 3600.0 for k in range(1, 43)})


def works(data: Path) -> dict[str, Callable[[], wk.Plan]]:
    """Every work by its name, and what plans it."""

    def pilot(path: str, length: float | None = None, **how: object) -> Callable[[], wk.Plan]:
        return lambda: wk.plan(wk.read(data / path, recording_length=length, on_error="clip", **how))

    return {
        "Owls": lambda: wk.plan("2-20", recording_length=60, total_hours=200, cost=wk.Cost(per_hour=20)),
        "EEG": lambda: wk.plan(
            "30-120", recording_length=86400, n_events=3, segment_length=10, cost=wk.Cost(speed=8)
        ),
        "DESED": pilot("desed/validation.tsv", 10.0),
        "AudioSet strong": pilot("audioset_strong/audioset_strong_eval_top110classes_downloaded.tsv", 10.0),
        "NIPS4Bplus": pilot("nips4bplus"),
        "VoxConverse": pilot("voxconverse/dev.rttm"),
        "Powdermill": pilot("powdermill_raven", 300.0),
        "CHB-MIT-like": lambda: wk.plan(
            seizures(np.random.default_rng(0)), segment_length=10, cost=wk.Cost(speed=8)
        ),
        "Finch": pilot("audio_finch/birdsongrec_Bird0_Annotation.csv"),
    }  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    wk.plan(1.0, recording_length=30, n_events=2)  # compiles
    for name, plan in works(Path(sys.argv[1])).items():
        start = time.process_time()
        made = plan()
        print(f"\n{name} ({made.settings['total_seconds'] / 3600:.1f} h, {time.process_time() - start:.1f} CPU s)")
        print(made.answer, flush=True)
