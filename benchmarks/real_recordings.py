"""Spinetail and finch: asked by information with the recordings' own sound, beside FIX with as many segments.

``python -m benchmarks.real_recordings ../shared/data`` (folders audio_spinetail and audio_finch).
"""

import sys
from pathlib import Path

from benchmarks.adaptive_study import real_recordings
from benchmarks.outcomes import score
from weakly.methods import Fixed, SimulatedAnnotator, run
from weakly.methods.information import Information


def rows(folder, *, most, files=None, criteria=(0.1, 0.5, 0.9)):
    """For each criterion: answers per recording, wrong seconds by information and by the best FIX of up to as many."""
    recordings = real_recordings(folder)[:files]
    for criterion in criteria:
        done = []
        for k, one in enumerate(recordings):
            method = Information(query_cost_share=1.0, shortest=0.05)
            done.append(run(method, one, SimulatedAnnotator(criterion, rng=k), most_queries=most, earlier=done))
        mine = score(done, presence_criterion=criterion)
        n = round(mine["n_queries"] / len(done))
        fixed = {}
        for count in sorted({max(2, n // 4), max(2, n // 2), 3 * n // 4, n}):
            outcomes = [run(Fixed(n_queries=count), one, SimulatedAnnotator(criterion)) for one in recordings]
            fixed[count] = score(outcomes, presence_criterion=criterion)["wrong_time"]
        seconds = sum((one.events[:, 1] - one.events[:, 0]).sum() for one in recordings) / len(recordings)
        yield {"folder": Path(folder).name, "presence_criterion": criterion, "answers": n, "event_seconds": seconds,
               "information": mine["wrong_time"], "event_recall": mine["event_recall"], "fixed": fixed[n],
               "best_fixed": min(fixed.values())}  # fmt: skip


if __name__ == "__main__":
    for name, most, files in (("audio_spinetail", 100, None), ("audio_finch", 60, 3)):
        for row in rows(Path(sys.argv[1]) / name, most=most, files=files):
            print({key: round(x, 3) if isinstance(x, float) else x for key, x in row.items()}, flush=True)
