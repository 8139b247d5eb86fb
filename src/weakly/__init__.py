"""weakly: know how good weak labels are before you pay for them.

Every public name is listed here and loaded when it is first used, so that ``import weakly`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names for type checkers and editors, which do not run __getattr__
    from . import theory as theory
    from .base.errors import AssumptionWarning as AssumptionWarning
    from .base.errors import InvalidInput as InvalidInput
    from .base.errors import MissingExtra as MissingExtra
    from .base.errors import WeaklyError as WeaklyError
    from .io import read as read
    from .io import read_answers as read_answers
    from .io import write as write
    from .model.annotator import Annotator as Annotator
    from .model.annotator import PresenceRule as PresenceRule
    from .model.answers import Answers as Answers
    from .model.cost import Cost as Cost
    from .model.events import Events as Events
    from .model.lengths import Lengths as Lengths
    from .studies.audit.audit_result import Audit as Audit
    from .studies.audit.auditor import audit as audit
    from .studies.evaluate.evaluation import Evaluation as Evaluation
    from .studies.evaluate.evaluator import evaluate as evaluate
    from .studies.infer.estimation import infer as infer
    from .studies.infer.inference import Inference as Inference
    from .studies.plan.plan_result import Plan as Plan
    from .studies.plan.planner import plan as plan
    from .studies.queries.query_set import Queries as Queries
    from .studies.queries.query_set import queries as queries
    from .studies.simulate import Simulation as Simulation
    from .studies.simulate import simulate as simulate
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
    "model.lengths": ("Lengths",),
    "model.annotator": ("Annotator", "PresenceRule"),
    "model.answers": ("Answers",),
    "model.events": ("Events",),
    "model.cost": ("Cost",),
    "io": ("read", "read_answers", "write"),
    "studies.evaluate.evaluator": ("evaluate",),
    "studies.evaluate.evaluation": ("Evaluation",),
    "studies.simulate": ("simulate", "Simulation"),
    "studies.infer.estimation": ("infer",),
    "studies.infer.inference": ("Inference",),
    "studies.plan.planner": ("plan",),
    "studies.plan.plan_result": ("Plan",),
    "studies.audit.auditor": ("audit",),
    "studies.audit.audit_result": ("Audit",),
    "studies.queries.query_set": ("queries", "Queries"),
    "base.errors": ("AssumptionWarning", "InvalidInput", "MissingExtra", "WeaklyError"),
}
# No room is called like a public name, except theory: importing it would hide the function behind the module.
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
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
