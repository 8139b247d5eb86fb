"""Features over time, as methods that follow the signal take them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InvalidInput


@dataclass(frozen=True)
class Features:
    """A matrix of features over time: row i describes the recording around ``times[i]`` seconds."""

    times: NDArray[np.float64]  # (n,), increasing, seconds, the middle of each frame
    values: NDArray[np.float32]  # (n, dimensions)
    kind: str = "embedding"  # or "log-mel", whose numbers say how loud each band is

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != len(self.times):
            raise InvalidInput(
                f"features must be a matrix with one row per time, got {self.values.shape} for {len(self.times)} times"
            )
        if len(self.times) < 2 or not (np.diff(self.times) > 0).all():
            raise InvalidInput("feature times must be at least two increasing numbers of seconds")
        if not np.isfinite(self.values).all():
            raise InvalidInput("features must be finite numbers")

    def __len__(self) -> int:
        return len(self.times)

    @property
    def step(self) -> float:
        """The usual time from one row to the next, in seconds."""
        return float(np.median(np.diff(self.times)))
