"""Queries that follow the signal or the answers."""

from .bisection import Bisection, best_start, expected_listened, expected_queries
from .contract import Asked, Labels, Method, Recording, Session
from .simulated import Outcome, SimulatedAnnotator, event_fractions, run
from .windows import Fixed, Oracle, Overlapping
from .changepoint import ChangePoint, change_score
from .boundary import Boundary, Found
from .learning import Prototypes, active_learning
from .scoring import score
