"""weakly: know how good weak labels are before you pay for them.

Every public name is listed here and loaded when it is first used, so that ``import weakly`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "theory": (
        "overlap_accuracy",
        "optimal_segment_length",
        "best_overlap_accuracy",
        "optimal_query_count",
        "recording_accuracy",
        "precision",
        "recall",
        "event_recall",
        "wrong_time",
    ),
    "lengths": ("Lengths",),
    "annotator": ("Annotator", "PresenceRule"),
    "events": ("Answers", "Events"),
    "formats": ("read", "read_answers", "write"),
    "evaluation": ("evaluate", "Evaluation"),
    "simulation": ("simulate", "Simulation"),
    "inference": ("infer", "Inference"),
    "cost": ("Cost",),
    "planning": ("plan", "Plan"),
    "auditing": ("audit", "Audit"),
    "adaptive": ("queries", "Queries"),
    "errors": ("AssumptionWarning", "InvalidInput", "MissingExtra", "WeaklyError"),
}
# No room is called like a public name: importing a room would hide the function behind the module.
_ROOM = {name: room for room, names in _HOME.items() for name in names}

__all__ = list(_ROOM)


def __getattr__(name: str) -> Any:
    if name not in _ROOM:
        raise AttributeError(f"module 'weakly' has no attribute {name!r}")
    value = getattr(import_module(f".{_ROOM[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *globals()]
