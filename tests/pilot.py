"""The generator of the bundled example: two classes of bird sound in forty one-minute recordings, with a fixed seed.

Short calls come in bouts, longer songs far apart; some recordings hold neither. ``python tests/pilot.py`` writes the
file of the package again.
"""

from __future__ import annotations

import numpy as np

from weakly.studies.simulate import PILOT

_N_RECORDINGS, RECORDING_LENGTH = 40, 60.0


def rows(seed: int = 7) -> list[tuple[str, float, float, str]]:
    """The rows of the example: recording, onset, offset, label; an empty label for a recording without events."""
    rng = np.random.default_rng(seed)
    made: list[tuple[str, float, float, str]] = []
    for k in range(_N_RECORDINGS):
        name = f"forest{k:02d}.wav"
        found = [*_bouts(rng), *_songs(rng)] if k % 10 != 9 else []  # every tenth is silent
        made += [(name, onset, offset, label) for onset, offset, label in sorted(found)] or [(name, np.nan, np.nan, "")]
    return made


def _bouts(rng: np.random.Generator) -> list[tuple[float, float, str]]:
    """Calls of about 0.4 s, a few in each bout; the silence within a bout is short."""
    made = []
    for _ in range(rng.poisson(1.3)):
        time = rng.uniform(0, RECORDING_LENGTH)
        for _ in range(1 + rng.poisson(2.0)):
            length = rng.lognormal(np.log(0.4), 0.35)
            if time + length < RECORDING_LENGTH:
                made.append((round(time, 3), round(time + length, 3), "call"))
            time += length + rng.exponential(1.2) + 0.2
    return made


def _songs(rng: np.random.Generator) -> list[tuple[float, float, str]]:
    """Songs of about 2.5 s, far apart; the recording's ends may cut one."""
    made = []
    time = rng.exponential(25.0)
    while time < RECORDING_LENGTH:
        length = rng.lognormal(np.log(2.5), 0.45)
        made.append((round(time, 3), round(min(time + length, RECORDING_LENGTH), 3), "song"))
        time += length + 3.0 + rng.exponential(25.0)
    return made


def text(seed: int = 7) -> str:
    """The example as a DCASE strong list with a column for the lengths of its recordings."""
    lines = ["filename\tonset\toffset\tevent_label\trecording_duration"]
    for name, onset, offset, label in rows(seed):
        times = f"{onset:.3f}\t{offset:.3f}" if label else "\t"
        lines.append(f"{name}\t{times}\t{label}\t{RECORDING_LENGTH:g}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PILOT.write_text(text(), encoding="utf-8")
