"""Active learning: a prototype model of the sound, taught by each answered recording, that finds the next boundaries.

After the first recordings have been answered, the question is no longer where the signal changes, but where the sound
that was asked for begins and ends. The model holds the mean features of present and of absent segments; its probability
over time is a curve of its own, and the change points of that curve are the next segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..audio import Features
from ..intervals import Intervals
from .base import Labels, Recording
from .changepoint import WINDOWS, ChangePoint, Chosen, partition, peaks, prepare
from .simulated import Outcome, run


@dataclass(frozen=True)
class Prototypes:
    """Means and variances of the rows of present and of absent segments: all that the model remembers.

    Sums are kept, so that recordings can be added one by one and in any order.
    """

    count: tuple[float, float] = (0.0, 0.0)  # absent, present
    total: Any = None  # (2, dimensions)
    square: Any = None

    def learn(self, features: Features, labels: Labels) -> Prototypes:
        """The model after one more answered recording."""
        rows = prepare(features)
        side = _side(features.times, labels)
        count = np.array(self.count)
        total = np.zeros((2, rows.shape[1])) if self.total is None else self.total.copy()
        square = np.zeros((2, rows.shape[1])) if self.square is None else self.square.copy()
        for k in (0, 1):
            mine = rows[side == k]
            count[k] += len(mine)
            total[k] += mine.sum(axis=0)
            square[k] += (mine**2).sum(axis=0)
        return replace(self, count=(float(count[0]), float(count[1])), total=total, square=square)

    @property
    def ready(self) -> bool:
        """Whether both present and absent time was heard."""
        return min(self.count) >= 10

    def probability(self, features: Features) -> NDArray[np.float64]:
        """The chance that the sound is there at each time: a linear rule between the two prototypes."""
        rows = prepare(features)
        n = np.array(self.count)[:, None]
        mean = self.total / n
        spread = (self.square - n * mean**2).sum(axis=0) / n.sum() + 0.05 * float(rows.var())
        weight = (mean[1] - mean[0]) / spread
        score = (rows - mean.mean(axis=0)) @ weight
        # The rows of a frame are not independent: their evidence is scaled to what the prototypes themselves differ by.
        gap = float((mean[1] - mean[0]) @ weight)
        return 1 / (1 + np.exp(-np.clip(6 * score / max(gap, 1e-9), -30, 30)))


def _side(times: NDArray[np.float64], labels: Labels) -> NDArray[np.int64]:
    """1 where the labels say present, 0 where they say absent, -1 elsewhere."""
    index = np.searchsorted(labels.segments[:, 0], times, side="right") - 1
    value = labels.present[np.maximum(index, 0)]
    known = (index >= 0) & ~np.isnan(value) & (times <= labels.segments[np.maximum(index, 0), 1])
    return np.where(known, np.nan_to_num(value), -1).astype(np.int64)


def learned_segments(
    model: Prototypes, recording: Recording, *, n_queries: int, windows: tuple[float, ...] = WINDOWS
) -> Intervals:
    """The segments between the most prominent changes of the model's probability."""
    features = recording.known_features()
    chance = model.probability(features)[:, None]
    times, _ = peaks(chance, features.times, windows=windows)
    inside = times[(times > 0) & (times < recording.length)]
    return partition(inside[: n_queries - 1], recording.length)


def active_learning(
    recordings: Sequence[Recording],
    annotator: Any,
    *,
    n_queries: int,
    windows: tuple[float, ...] = WINDOWS,
    rng: Any = None,
) -> list[Outcome]:
    """The outcomes of change-point queries with a model that learns from each answered recording.

    Recordings are asked in a random order; until present and absent time have both been heard, the change points are
    those of the signal. The outcomes come in the order of the recordings.
    """
    order = np.random.default_rng(rng).permutation(len(recordings))
    model = Prototypes()
    outcomes: dict[int, Outcome] = {}
    for i in order:
        recording = recordings[i]
        method: Any = ChangePoint(n_queries=n_queries, windows=windows)
        if model.ready:
            segments = learned_segments(model, recording, n_queries=n_queries, windows=windows)
            method = Chosen({recording.name: segments}, "change-point")
        outcomes[int(i)] = run(method, recording, annotator)
        model = model.learn(recording.known_features(), outcomes[int(i)].labels)
    return [outcomes[i] for i in range(len(recordings))]
