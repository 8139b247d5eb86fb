"""Queries that follow the signal or the answers, and the way to the annotator's tool and back."""

from .base import Asked, Labels, Method, Recording, Session
from .boundary import Boundary, Found
from .calibration import Design, design, place
from .changepoint import ChangePoint, Prototypes, active_learning, change_score
from .information import Information
from .query_sets import METHODS, Queries, make_method, queries, query_id
from .segments import Bisection, Fixed, Oracle, Overlapping, best_start
from .simulated import Outcome, SimulatedAnnotator, event_fractions, run, score, tally

__all__ = [
    "METHODS",
    "Asked",
    "Bisection",
    "Boundary",
    "ChangePoint",
    "Design",
    "Fixed",
    "Found",
    "Information",
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
    "design",
    "event_fractions",
    "make_method",
    "place",
    "queries",
    "query_id",
    "run",
    "score",
    "tally",
]
