"""The labels of one segment length on a plan's example events, for the strip that follows the slider."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..intervals import complement, fixed_segments, intersect, merge
from ..planning.methods import fixed, seconds
from ..planning.result import Plan
from ..planning.stretch import labels
from ..results import plain, show

MOST = 2000  # segments that a strip can show


def at_length(plan: Plan, segment_length: float) -> dict[str, Any]:
    """Everything the plan's model says of fixed segments of this length, and their labels on the plan's example."""
    shown = plan.example
    total, events = shown["recording_length"], np.asarray(shown["events"], dtype=np.float64).reshape(-1, 2)
    rows = [_strip(row["name"], row["segments"], row["present"], events, total) for row in shown["rows"][:1]]
    if total <= MOST * segment_length:
        segments = fixed_segments(recording_length=total, segment_length=segment_length)
        present = labels(segments, events, shown["presence_criterion"])
        rows.append(_strip(f"fixed {seconds(segment_length)}", segments, present, events, total))
    # The comparison is made on all of a pilot; other lengths are answered at once from the part that is searched.
    near = show("segment_length", segment_length)
    known = (
        row for row in plan.rows if row["method"] == "fixed" and show("segment_length", row["segment_length"]) == near
    )
    made = next(known, None) or fixed(plan.task, [segment_length])[0]
    strip = {"recording_length": total, "events": events, "rows": rows}
    return dict(plain({"segment_length": segment_length, "row": made, "timeline": strip}))


def _strip(name: str, segments: Any, present: Any, events: Any, total: float) -> dict[str, Any]:
    pieces, flags = np.asarray(segments, dtype=np.float64).reshape(-1, 2), np.asarray(present, dtype=bool)
    said = merge(pieces[flags])
    missed = intersect(complement(said, 0.0, total), events)
    phantom = intersect(said, complement(events, 0.0, total))
    wrong = np.concatenate((missed, phantom))
    return {"name": name, "segments": pieces, "present": flags, "wrong": wrong[np.argsort(wrong[:, 0])]}
