"""The seconds that every method leaves right and wrong, per recording, and the words of results made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sums:
    """Expected seconds and counts per recording, one entry per candidate."""

    tp: Floats  # event time labelled present
    fp: Floats  # other time labelled present
    fn: Floats  # event time labelled absent
    overlap: Floats  # time of the segments that meet an event
    overlap_fp: Floats  # fp within those
    found: Floats  # events found
    present: Floats  # segments labelled present
    n_events: float  # events per recording
    recording_length: float

    ARRAYS: ClassVar[tuple[str, ...]] = ("tp", "fp", "fn", "overlap", "overlap_fp", "found", "present")

    @classmethod
    def mix(cls, parts: Sequence[Sums], weights: Sequence[float] | Floats) -> Sums:
        """The weighted sum: expected times over a mixture of criteria, or over classes."""
        first = parts[0]
        mixed: dict[str, Any] = {
            name: sum(w * getattr(part, name) for part, w in zip(parts, weights)) for name in cls.ARRAYS
        }
        return cls(**mixed, n_events=first.n_events, recording_length=first.recording_length)

    @classmethod
    def pool(cls, parts: Sequence[Sums]) -> Sums:
        """All classes together: the sums of each; time counts once for every class."""
        mixed: dict[str, Any] = {each.name: sum(getattr(part, each.name) for part in parts) for each in fields(cls)}
        return cls(**mixed)

    @classmethod
    def table(cls, values: Floats, *, n_events: float, recording_length: float) -> Sums:
        """Sums from a table with one row per candidate and one column per name of ARRAYS."""
        columns: dict[str, Any] = dict(zip(cls.ARRAYS, np.atleast_2d(values).T))
        return cls(**columns, n_events=n_events, recording_length=recording_length)

    def at(self, k: int) -> Sums:
        """One candidate."""
        values = np.array([getattr(self, name)[k] for name in self.ARRAYS])
        return Sums.table(values, n_events=self.n_events, recording_length=self.recording_length)

    @property
    def wrong(self) -> Floats:
        """Seconds with the wrong label per recording."""
        return self.fp + self.fn

    def words(self) -> dict[str, Floats]:
        """The words of results, as arrays over the candidates."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "overlap_accuracy": 1 - (self.fn + self.overlap_fp) / self.overlap,
                "recording_accuracy": 1 - self.wrong / self.recording_length,
                "precision": self.tp / (self.tp + self.fp),
                "recall": self.tp / (self.tp + self.fn),
                "event_recall": self.found / self.n_events,
                "wrong_time": self.wrong,
            }
