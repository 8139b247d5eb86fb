"""The labels of one segment length on a plan's example events, for the strip that follows the slider."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.results import plain, seconds
from ...methods.outcome import LabelingDesign
from ...model.annotator import PresenceRule
from ...model.intervals import complement, fixed_segments, intersect, merge
from ...studies.plan.plan_result import Plan
from ...studies.plan.timeline import labels

MOST = 2000  # segments that a strip can show


def at_length(plan: Plan, segment_length: float) -> dict[str, Any]:
    """Everything the plan's model says of fixed segments of this length, and their labels on the plan's example."""
    shown = plan.example
    total, events = shown["recording_length"], np.asarray(shown["events"], dtype=np.float64).reshape(-1, 2)
    rows = []
    if plan.recommended.method == "windows":  # beside them, what the plan's own way makes of the same events
        rows += [_strip(row["name"], row["segments"], row["present"], events, total) for row in shown["rows"][1:2]]
    if total <= MOST * segment_length:
        segments = fixed_segments(recording_length=total, segment_length=segment_length)
        rule = plan.task.criteria.rule or PresenceRule.fraction(shown["presence_criterion"])
        present = labels(segments, events, rule)
        rows.append(_strip(f"fixed {seconds(segment_length)}", segments, present, events, total))
    made = plan.task.row(LabelingDesign("fixed", segment_length))
    strip = {"recording_length": total, "events": events, "rows": rows}
    return dict(plain({"segment_length": segment_length, "row": made, "timeline": strip}))


def _strip(name: str, segments: Any, present: Any, events: Any, total: float) -> dict[str, Any]:
    pieces, flags = np.asarray(segments, dtype=np.float64).reshape(-1, 2), np.asarray(present, dtype=bool)
    said = merge(pieces[flags])
    missed = intersect(complement(said, 0.0, total), events)
    phantom = intersect(said, complement(events, 0.0, total))
    wrong = np.concatenate((missed, phantom))
    return {"name": name, "segments": pieces, "present": flags, "wrong": wrong[np.argsort(wrong[:, 0])]}
