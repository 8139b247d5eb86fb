"""Do the intervals of the presence criterion cover? And how fast is an audit beside the field's own tools?"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from weakly.auditing.ceiling import segment_counts
from weakly.auditing.criterion import estimate_criterion
from weakly.auditing.shares import criterion_from_share, present_share


def coverage(
    *, criterion: float, n: int, runs: int, method: str = "threshold", lapse: float = 0.05
) -> tuple[float, float]:
    """The share of runs whose interval holds the true criterion, and the standard deviation of the estimates."""
    rng = np.random.default_rng([int(1000 * criterion), n])
    inside, estimates = 0, []
    for _ in range(runs):
        h = rng.uniform(0, 1, n)
        p = np.where(h >= criterion, 1 - lapse, lapse)
        found = estimate_criterion(h, present=(rng.random(n) < p).astype(float), method=method)
        if found.identifiable:
            low, high = found.presence_criterion_ci
            inside += low <= criterion <= high
            estimates.append(found.presence_criterion)
    return inside / max(1, len(estimates)), float(np.std(estimates))


def share_coverage(*, criterion: float, n_events: int, runs: int) -> float:
    """The same for the criterion from a share of overlapping segments, events of mixed lengths."""
    rng = np.random.default_rng([int(1000 * criterion), n_events])
    lengths, width = np.array([0.2, 0.3, 0.5, 0.8]), 0.4
    inside = 0
    for _ in range(runs):
        d = rng.choice(lengths, n_events)
        first = rng.uniform(0, width, n_events)  # where the event begins in its first segment
        count = np.ceil((first + d) / width).astype(int)
        present = 0
        for k in range(count.max()):
            held = np.minimum(first + d, (k + 1) * width) - np.maximum(first, k * width)
            present += int(((held > 0) & (held >= criterion * d)).sum())
        found = criterion_from_share(
            present / count.sum(), event_length=lengths, segment_length=width, n_segments=int(count.sum())
        )
        low, high = found.presence_criterion_ci
        inside += low <= criterion <= high
    return inside / runs


def speed_of_f1() -> tuple[float, float]:
    """Seconds for the segment-based counts of one class in 20 recordings: ours, sed_eval's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import dcase_util
        import sed_eval
    rng = np.random.default_rng(0)
    reference, predicted = (
        {f"r{r}": np.sort(rng.uniform(0, 300, 80)).reshape(-1, 2) for r in range(20)} for _ in range(2)
    )
    lengths = dict.fromkeys(reference, 300.0)
    start = time.perf_counter()
    ours = segment_counts(reference, predicted, resolution=0.1, recording_length=lengths)
    middle = time.perf_counter()
    theirs = sed_eval.sound_event.SegmentBasedMetrics(["x"], time_resolution=0.1)
    for name in reference:
        lists = [
            dcase_util.containers.MetaDataContainer(
                [{"filename": name, "event_label": "x", "onset": float(a), "offset": float(b)} for a, b in marks[name]]
            )
            for marks in (reference, predicted)
        ]
        theirs.evaluate(*lists, evaluated_length_seconds=300.0)
    end = time.perf_counter()
    assert ours.tp == theirs.overall["Ntp"]
    return middle - start, end - middle


def run(*, runs: int = 2000) -> list[dict[str, Any]]:
    """Rows of what was measured: ours, the nominal or the other tool's, their ratio, and the aim."""
    rows = []
    for n in (50, 200, 1000):
        for criterion in (0.1, 0.3, 0.5, 0.7, 0.9):
            found, spread = coverage(criterion=criterion, n=n, runs=runs)
            rows.append(
                {
                    "what": f"coverage of the threshold interval, criterion {criterion:g}, {n} answers, 5 % lapses "
                    f"(sd {spread:.4f})",
                    "ours": found,
                    "theirs": 0.95,
                    "ratio": found / 0.95,
                    "measured": f"{found:.3f}",
                    "target": "0.93 to 0.99",
                    "met": 0.93 <= found <= 0.99,
                }
            )
    for criterion in (0.3, 0.6):
        found = share_coverage(criterion=criterion, n_events=200, runs=min(runs, 500))
        share = present_share(criterion, event_length=np.array([0.2, 0.3, 0.5, 0.8]), segment_length=0.4)
        rows.append(
            {
                "what": f"coverage of the interval from a share ({share:.3f}), criterion {criterion:g}, 200 events",
                "ours": found,
                "theirs": 0.95,
                "ratio": found / 0.95,
                "measured": f"{found:.3f}",
                "target": ">= 0.95 (cautious)",
                "met": found >= 0.95,
            }
        )
    rng = np.random.default_rng(1)
    h = rng.uniform(0, 1, 1_000_000)
    y = (h >= 0.4).astype(float)
    start = time.perf_counter()
    estimate_criterion(h, present=y)
    spent = time.perf_counter() - start
    start = time.perf_counter()
    np.argsort(h, kind="stable")
    sorting = time.perf_counter() - start
    rows.append(
        {"what": "criterion from 10^6 answers, beside sorting them (s)", "ours": spent, "theirs": sorting,
         "ratio": spent / sorting, "target": "< 20", "met": spent / sorting < 20}
    )  # fmt: skip
    ours, theirs = speed_of_f1()
    rows.append(
        {"what": "segment-based F1 of 20 recordings, beside sed_eval (s)", "ours": ours, "theirs": theirs,
         "ratio": theirs / ours, "target": 10}
    )  # fmt: skip
    return rows


if __name__ == "__main__":
    for row in run():
        print(f"{row['what']:<95} {row['ours']:.4g}  {row['theirs']:.4g}  {row['ratio']:.3g}  {row['target']}")
