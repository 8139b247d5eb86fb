"""Where the segments lie, and the tally of recordings on them: the work of evaluations and simulations in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import exact, grid
from ..errors import InvalidInput
from ..events import Timelines
from ..exact.columns import Columns
from ..grid import windows
from ..symbols import check, choice
from ..tally import Tally


def segment_lengths(value: Any) -> Any:
    """The segment lengths as a float64 array with one axis, in the order given."""
    lengths = np.atleast_1d(check("segment_length", value))
    if lengths.ndim != 1 or len(lengths) == 0:
        raise InvalidInput(f"segment_length must be one number or a list, got shape {lengths.shape}")
    if lengths.min() < 1e-6:  # as fine as times are told apart
        raise InvalidInput(f"segment_length must be at least 1e-6 s, got {lengths.min():g}")
    return lengths


def placement(*, phase: Any, edge: str, hop: Any, votes: Any, lengths: Any) -> dict[str, Any]:
    """Where the segments lie, checked: the phase in seconds or None if it is random, the edge rule, hop and votes."""
    random = isinstance(phase, str)
    if random:
        choice("phase", phase, ("random",))
    else:
        phase = float(check("listened", phase, called="phase"))
    choice("edge", edge, windows.EDGES if hop is not None else exact.EDGES if random else grid.EDGES)
    if hop is None:
        if votes is not None:
            raise InvalidInput(f"votes needs a hop: windows that overlap, got votes {votes!r} without one")
    else:
        hop, votes = windows.checked(lengths, hop, votes)
    return {"phase": None if random else phase, "edge": edge, "hop": hop, "votes": votes}


def measure(part: Timelines, width: float, columns: Columns, how: dict[str, Any]) -> tuple[Any, Any]:
    """The measures of some recordings for one segment length."""
    if how["hop"] is not None:
        placed = {name: how[name] for name in ("hop", "votes", "phase", "edge")}
        return windows.measure(part, width, columns, **placed)
    if how["phase"] is None:
        return exact.measure(part, width, columns, edge=how["edge"], means=how.get("means", True))
    return grid.measure(part, width, columns, phase=how["phase"], edge=how["edge"])


def score(timelines: Timelines, lengths: Any, columns: Columns, how: dict[str, Any]) -> Tally:
    """The tally of some recordings: measured in blocks whose measures fit into the processor's cache."""
    tally = Tally.empty(lengths, columns.labels)
    step = max(64, 16_384 // len(columns))
    for first in range(0, len(timelines), step):
        block = timelines.part(first, min(first + step, len(timelines)))
        for k, width in enumerate(lengths):
            tally.fold(k, *measure(block, width, columns, how))
    return tally


def chunked(timelines: Timelines, lengths: Any) -> list[tuple[int, int, int, int]]:
    """Blocks of recordings times blocks of segment lengths; they depend on the data alone, never on the workers."""
    blocks, first = [], 0
    for r in range(len(timelines)):
        if timelines.starts[r + 1] - timelines.starts[first] >= 20_000 or r + 1 - first >= 2_000:
            blocks.append((first, r + 1))
            first = r + 1
    if first < len(timelines):
        blocks.append((first, len(timelines)))
    step = 16
    return [(i, j, k, min(k + step, len(lengths))) for i, j in blocks for k in range(0, len(lengths), step)]


def joined(lengths: Any, columns: Columns, chunks: list[tuple[int, int, int, int]], parts: Any) -> Tally:
    total = Tally.empty(lengths, columns.labels)
    for (_, _, k, m), part in zip(chunks, parts):
        total.add(slice(k, m), part)
    return total
