"""Ways to label: what to ask next, the labels that answers make, and how good they are expected to be.

A way is a :class:`Method`; give one of your own to :func:`weakly.queries`.
"""

from .base import AnswerHistory, Labels, Method, Recording, Session
from .boundary import Boundary, FoundEvent
from .change_point import ChangePoint, Prototypes, active_learning, change_score
from .information import Information
from .segments import Bisection, Fixed, Oracle, Overlapping, best_start
from .simulated import Outcome, SimulatedAnnotator, event_fractions, run, score, tally

__all__ = [
    "AnswerHistory",
    "Bisection",
    "Boundary",
    "ChangePoint",
    "Fixed",
    "FoundEvent",
    "Information",
    "Labels",
    "Method",
    "Oracle",
    "Outcome",
    "Overlapping",
    "Prototypes",
    "Recording",
    "Session",
    "SimulatedAnnotator",
    "active_learning",
    "best_start",
    "change_score",
    "event_fractions",
    "run",
    "score",
    "tally",
]
