"""Methods that ask all their segments at once: fixed segments, the oracle's segments, overlapping windows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import InvalidInput
from ..intervals import Intervals, fixed_segments, oracle_segments
from ..windows import checked_votes, windows_per_cell
from .base import Asked, AtOnce, Labels, Recording, lookup


@dataclass(frozen=True)
class Fixed(AtOnce):
    """FIX: segments of one length from 0 to the end, or this many equally long ones in each recording.

    Examples
    --------
    >>> from weakly.adaptive import Asked, Fixed, Recording
    >>> Fixed(segment_length=2.0).next(Recording("a", 5.0), Asked()).tolist()
    [[0.0, 2.0], [2.0, 4.0], [4.0, 5.0]]
    """

    segment_length: float | None = None
    n_queries: int | None = None
    name: ClassVar[str] = "fixed"

    def segments(self, recording: Recording) -> Intervals:
        """All segments of the recording."""
        if self.segment_length is None:
            edges = np.linspace(0.0, recording.length, (self.n_queries or 1) + 1)
            return np.column_stack((edges[:-1], edges[1:]))
        return fixed_segments(recording_length=recording.length, segment_length=self.segment_length)


@dataclass(frozen=True)
class Oracle(AtOnce):
    """ORC: the true events and the gaps between them; needs strong labels, so it serves as the bound."""

    name: ClassVar[str] = "oracle"

    def segments(self, recording: Recording) -> Intervals:
        """All segments of the recording."""
        if recording.events is None:
            raise InvalidInput(f"recording {recording.name!r}: the oracle needs strong labels; give events")
        return oracle_segments(recording.events, recording_length=recording.length)


@dataclass(frozen=True)
class Overlapping(AtOnce):
    r"""Windows of one length every ``hop`` seconds; a cell of one hop is present if enough of its windows are.

    Parameters
    ----------
    segment_length, hop : seconds; the length is a whole number K of hops.
    votes : how many of the K windows that cover a cell must be present. Left out, the threshold is
        :math:`k = K + 1/2 - x / \eta` rounded, if ``required_overlap`` x (the seconds of an event that are noticed,
        :math:`\gamma d_e`) is given, else the majority. Cells near an end are covered by fewer windows and need the
        same share of them.

    Notes
    -----
    With the right threshold the expected error is half a hop per event, for every segment length; the majority is
    right only where the segment is twice as long as the required overlap.
    """

    segment_length: float
    hop: float
    votes: int | None = None
    required_overlap: float | None = None
    name: ClassVar[str] = "overlapping"

    def __post_init__(self) -> None:
        windows = self.windows_per_cell
        if self.votes is not None:
            checked_votes(self.votes, windows=windows)

    @property
    def windows_per_cell(self) -> int:
        """K."""
        return windows_per_cell(segment_length=self.segment_length, hop=self.hop)

    @property
    def threshold(self) -> int:
        """k: how many of the K windows must be present."""
        k = self.windows_per_cell
        if self.votes is not None:
            return self.votes
        if self.required_overlap is None:
            return k // 2 + 1
        return min(k, max(1, math.floor(k + 1 - self.required_overlap / self.hop)))

    def _cells(self, recording: Recording) -> Intervals:
        return fixed_segments(recording_length=recording.length, segment_length=self.hop)

    def segments(self, recording: Recording) -> Intervals:
        """All windows of the recording; the first that reaches its end is the last."""
        cells = self._cells(recording)
        last = max(0, len(cells) - self.windows_per_cell)
        starts = cells[: last + 1, 0]
        return np.column_stack((starts, np.minimum(starts + self.segment_length, recording.length)))

    def labels(self, recording: Recording, asked: Asked) -> Labels:
        """The cells, each present if enough of the windows that cover it are."""
        cells, windows, k = self._cells(recording), self.segments(recording), self.windows_per_cell
        said = lookup(asked, windows)
        i = np.arange(len(cells))
        first, last = np.maximum(0, i - k + 1), np.minimum(len(windows) - 1, i)
        yes = np.concatenate(([0.0], np.cumsum(said == 1)))
        no = np.concatenate(([0.0], np.cumsum(said == 0)))
        n = last - first + 1
        need = np.ceil(self.threshold * n / k - 1e-9)
        ayes, noes = yes[last + 1] - yes[first], no[last + 1] - no[first]
        present = np.where(ayes >= need, 1.0, np.where(noes > n - need, 0.0, np.nan))
        return Labels(cells, present, windows[said == 1])
