"""Queries that follow the signal or the answers, and the way to the annotator's tool and back."""

from .answers import Collected, collect, read_returned
from .base import Asked, Labels, Method, Recording, Session
from .bisection import Bisection, best_start
from .boundary import Boundary, Found
from .calibration import Design, Items, design, place, synthetic
from .changepoint import ChangePoint, change_score
from .learning import Prototypes, active_learning
from .queries import METHODS, Queries, make_method, queries, query_id
from .scoring import score, tally
from .simulated import Outcome, SimulatedAnnotator, event_fractions, run
from .windows import Fixed, Oracle, Overlapping

__all__ = [
    "METHODS",
    "Asked",
    "Bisection",
    "Boundary",
    "ChangePoint",
    "Collected",
    "Design",
    "Fixed",
    "Found",
    "Items",
    "Labels",
    "Method",
    "Oracle",
    "Outcome",
    "Overlapping",
    "Prototypes",
    "Queries",
    "Recording",
    "Session",
    "SimulatedAnnotator",
    "active_learning",
    "best_start",
    "change_score",
    "collect",
    "design",
    "event_fractions",
    "make_method",
    "place",
    "queries",
    "query_id",
    "read_returned",
    "run",
    "score",
    "synthetic",
    "tally",
]
