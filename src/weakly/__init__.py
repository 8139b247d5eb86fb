"""weakly: know how good weak labels are before you pay for them.

Every public name is listed here and loaded when it is first used, so that ``import weakly`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names for type checkers and editors, which do not run __getattr__
    from . import theory as theory
    from .adaptive import Queries as Queries
    from .adaptive import queries as queries
    from .annotator import Annotator as Annotator
    from .annotator import PresenceRule as PresenceRule
    from .auditing import Audit as Audit
    from .auditing import audit as audit
    from .cost import Cost as Cost
    from .errors import AssumptionWarning as AssumptionWarning
    from .errors import InvalidInput as InvalidInput
    from .errors import MissingExtra as MissingExtra
    from .errors import WeaklyError as WeaklyError
    from .evaluation import Evaluation as Evaluation
    from .evaluation import evaluate as evaluate
    from .events import Answers as Answers
    from .events import Events as Events
    from .formats import read as read
    from .formats import read_answers as read_answers
    from .formats import write as write
    from .inference import Inference as Inference
    from .inference import infer as infer
    from .lengths import Lengths as Lengths
    from .planning import Plan as Plan
    from .planning import plan as plan
    from .simulation import Simulation as Simulation
    from .simulation import simulate as simulate
    from .theory import best_overlap_accuracy as best_overlap_accuracy
    from .theory import event_recall as event_recall
    from .theory import optimal_query_count as optimal_query_count
    from .theory import optimal_segment_length as optimal_segment_length
    from .theory import overlap_accuracy as overlap_accuracy
    from .theory import precision as precision
    from .theory import recall as recall
    from .theory import recording_accuracy as recording_accuracy
    from .theory import wrong_time as wrong_time

__version__ = "0.2.0"

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
_ROOM = {"theory": ""} | {name: room for room, names in _HOME.items() for name in names}

__all__ = list(_ROOM)


def __getattr__(name: str) -> Any:
    if name not in _ROOM:
        raise AttributeError(f"module 'weakly' has no attribute {name!r}")
    room = import_module(f".{_ROOM[name] or name}", __name__)
    value = getattr(room, name) if _ROOM[name] else room
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *globals()]
