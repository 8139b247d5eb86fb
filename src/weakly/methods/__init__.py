"""Ways to label: what to ask next, the labels that answers make, and how good they are expected to be.

A way is a :class:`Method`, one file each; :data:`METHODS` lists them by the name that every command and page uses. Give
an object of your own to :func:`weakly.queries` and :func:`weakly.plan`, or :func:`register` its class under its name.
"""

from .base import AnswerHistory, Labels, Method, Outcome, Recording, Session, SimulatedAnnotator, event_fractions, run
from .bisection import Bisection
from .by_hand import ByHand, Screening
from .change_point import ChangePoint, change_score
from .fixed import Everything, Fixed, Nothing, Oracle, Windows
from .information import Information
from .model import tally
from .passes import Passes
from .problem import LabelingProblem, MethodOutcome

#: Every way to label by its name, in the order of tables.
METHODS: dict[str, type[Method]] = {}


def register(*kinds: type[Method]) -> None:
    """Add ways to label; each is known by its ``name`` from then on."""
    METHODS.update({kind.name: kind for kind in kinds})


register(Fixed, Windows, Bisection, ByHand, Screening, ChangePoint, Information, Passes, Oracle, Nothing, Everything)

__all__ = [
    "METHODS",
    "AnswerHistory",
    "Bisection",
    "ByHand",
    "ChangePoint",
    "Everything",
    "Fixed",
    "Information",
    "LabelingProblem",
    "Labels",
    "Method",
    "MethodOutcome",
    "Nothing",
    "Oracle",
    "Outcome",
    "Passes",
    "Recording",
    "Screening",
    "Session",
    "SimulatedAnnotator",
    "Windows",
    "change_score",
    "event_fractions",
    "register",
    "run",
    "tally",
]
