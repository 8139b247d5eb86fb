"""Ways to label: what to ask next, the labels that answers make, and how good they are expected to be.

A way is a :class:`Method`, one file each; :data:`METHODS` lists them by the name that every command and page uses. Give
an object of your own to :func:`weakly.queries` and :func:`weakly.plan`, or :func:`register` its class under its name.
"""

from .base import AnswerHistory as AnswerHistory
from .base import Labels as Labels
from .base import Method as Method
from .base import Outcome as Outcome
from .base import Recording as Recording
from .base import Session as Session
from .base import SimulatedAnnotator as SimulatedAnnotator
from .base import event_fractions as event_fractions
from .base import run as run
from .bisection import Bisection as Bisection
from .by_hand import ByHand as ByHand
from .by_hand import Screening as Screening
from .change_point import ChangePoint as ChangePoint
from .change_point import change_score as change_score
from .fixed import Everything as Everything
from .fixed import Fixed as Fixed
from .fixed import Nothing as Nothing
from .fixed import Oracle as Oracle
from .fixed import Windows as Windows
from .information import Information as Information
from .model import tally as tally
from .passes import Passes as Passes
from .problem import LabelingProblem as LabelingProblem
from .problem import MethodOutcome as MethodOutcome

#: Every way to label by its name, in the order of tables.
METHODS: dict[str, type[Method]] = {}


def register(*kinds: type[Method]) -> None:
    """Add ways to label; each is known by its ``name`` from then on."""
    METHODS.update({kind.name: kind for kind in kinds})


register(Fixed, Windows, Bisection, ByHand, Screening, ChangePoint, Information, Passes, Oracle, Nothing, Everything)
