"""The work to plan: how much there is to hear, at what price, and the model that says how good labels become."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..cost import Cost
from ..lengths import Lengths
from .criteria import Criteria
from .sums import Sums

Floats = NDArray[np.float64]
Row = dict[str, Any]


class Model(Protocol):
    """What says how right labels become; every entry of a result belongs to one candidate."""

    name: str
    described: str

    def fixed(self, segment_lengths: Any, criteria: Criteria) -> Sums:
        """Fixed segments of each of these lengths."""

    def windows(self, hops: Any, per_cell: int, needed: int, criteria: Criteria) -> Sums:
        """Overlapping windows with each of these hops."""

    def split(self, widths: Any, criteria: Criteria) -> Floats:
        """Present nodes of a bisection per recording, for each of these widths."""


@dataclass(frozen=True)
class Task:
    """Everything that the methods are compared on."""

    model: Model
    lengths: Lengths
    criteria: Criteria
    cost: Cost
    objective: str
    recordings: Floats  # the different lengths of recordings, in seconds
    counts: Floats  # how many there are of each in the whole work
    n_events: float  # per recording, all classes together, what overlaps as one
    n_placed: float  # per recording, before what overlaps was joined
    labels: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """How many classes are asked for in one pass."""
        return max(1, len(self.labels))

    @property
    def n_recordings(self) -> float:
        """Recordings in the whole work."""
        return float(self.counts.sum())

    @property
    def total(self) -> float:
        """Seconds in the whole work."""
        return float(self.recordings @ self.counts)

    @property
    def recording_length(self) -> float:
        """The mean length of a recording."""
        return self.total / self.n_recordings

    @property
    def event_time(self) -> float:
        """Seconds of event per recording, all classes together."""
        return self.n_events * self.lengths.mean

    def segments(self, width: Any) -> Floats:
        """How many segments of this length the whole work has; the last of a recording may be shorter."""
        widths = np.atleast_1d(np.asarray(width, dtype=np.float64))
        return np.ceil(self.recordings / widths[:, None] * (1 - 1e-12) - 1e-9) @ self.counts

    def score(self, sums: Sums) -> Floats:
        """What the objective maximises."""
        words = sums.words()
        return words["overlap_accuracy"] if self.objective == "overlap" else words["recording_accuracy"]

    @cached_property
    def grid(self) -> Floats:
        """Segment lengths worth a look, from far too short to the longest recording; eight to the octave.

        Halving a length of the grid gives another one, so bisections share their levels with it.
        """
        low = 0.25 * float(self.criteria.values.min()) * max(self.lengths.quantile(0.02), 1e-3 * self.lengths.mean)
        high = float(self.recordings.max())
        low = min(max(low, 1e-4 * self.lengths.mean), high / 2)
        steps = min(8.0, 160 / np.log2(high / low))
        if steps == 8.0:
            return np.append(low * 2 ** (np.arange(np.floor(8 * np.log2(high / low) - 1e-6) + 1) / 8), high)
        return np.geomspace(low, high, 161)

    @cached_property
    def on_grid(self) -> Sums:
        """Fixed segments at every length of the grid."""
        return self.model.fixed(self.grid, self.criteria)

    @cached_property
    def optimum(self) -> float:
        """The segment length with the best score."""
        return self.best_length(self.criteria)

    def best_length(self, criteria: Criteria) -> float:
        """The segment length with the best score for these criteria: exact where a closed form exists."""
        if self.model.name == "closed form" and criteria.single is not None:
            from ..theory import optimal_segment_length

            exact = float(
                optimal_segment_length(
                    event_length=self.lengths, presence_criterion=criteria.single, objective=self.objective
                )
            )
            if exact <= self.recordings.max():
                return exact
        scores = self._scores(criteria)
        best = int(np.nanargmax(scores))
        low, top = self.grid[max(best - 1, 0)], self.grid[min(best + 1, self.grid.size - 1)]
        found, value = float(self.grid[best]), scores[best]
        for _ in range(3):
            fine = np.geomspace(low, top, 11)
            values = self.score(self.model.fixed(fine, criteria))
            k = int(np.nanargmax(values))
            if values[k] >= value:
                found, value = float(fine[k]), values[k]
            low, top = fine[max(k - 1, 0)], fine[min(k + 1, fine.size - 1)]
        return found

    def quick_length(self, criteria: Criteria) -> float:
        """Nearly the same from the grid alone: the top of a parabola through the best length and its neighbours."""
        if self.model.name == "closed form" and criteria.single is not None and self.lengths.values is not None:
            return self.best_length(criteria)
        scores = self._scores(criteria)
        k = int(np.nanargmax(scores))
        if not 0 < k < scores.size - 1:
            return float(self.grid[k])
        left, middle, right = scores[k - 1 : k + 2]
        bend = left - 2 * middle + right
        shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
        return float(self.grid[k] * (self.grid[k + 1] / self.grid[k]) ** shift)

    def _scores(self, criteria: Criteria) -> Floats:
        return self.score(self.on_grid if criteria is self.criteria else self.model.fixed(self.grid, criteria))
