"""The bundled example: a small synthetic pilot, made here with a fixed seed, as if somebody had annotated it.

Two classes of bird sound in forty one-minute recordings: short calls that come in bouts, and longer songs. Some
recordings hold neither. ``python -m weakly.studies.example`` writes the file again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..model.answers import Answers
    from ..model.events import Events

#: The file, in DCASE strong format; it does not say how long the recordings are.
PILOT = Path(__file__).parents[1] / "data" / "pilot.tsv"
RECORDING_LENGTH = 60.0
_N_RECORDINGS = 40


def pilot() -> Events:
    """The bundled pilot annotations.

    >>> pilot().labels
    ['call', 'song']
    """
    from ..io.reading import read

    return read(PILOT, recording_length=RECORDING_LENGTH)


def clips(seed: int = 7) -> Answers:
    """What an annotator who hears an event from 40 % of it on, and slips now and then, says of its three-second clips.

    >>> len(clips())
    1600
    """
    from ..model.answers import Answers
    from .evaluate.clips import clip_labels

    frame = clip_labels(pilot(), segment_length=3.0, presence_criterion=0.4).to_frame()
    slips = np.random.default_rng(seed).random(len(frame)) < 0.03
    return Answers.from_frame(frame.assign(present=np.where(slips, 1 - frame["present"], frame["present"])))


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
    """The example as a DCASE strong list."""
    lines = ["filename\tonset\toffset\tevent_label"]
    for name, onset, offset, label in rows(seed):
        lines.append(f"{name}\t{onset:.3f}\t{offset:.3f}\t{label}" if label else f"{name}\t\t\t")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PILOT.write_text(text(), encoding="utf-8")
