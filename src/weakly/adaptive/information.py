r"""Ask what tells most: the segment whose answer carries the most information about the timeline for its cost.

The posterior of a recording's events follows from the answers so far (:mod:`weakly.inference`). For a further segment
with P(satisfied) p, the answer tells :math:`I = H_2(P) - p\,H_2(1-l) - (1-p)\,H_2(g)` bits,
:math:`P = g + (1-g-l)\,p`; asked is the segment with the largest :math:`I / ((1-r)\,d_q + r)`, until the expected wrong
time, the sum of min(P(active), 1 - P(active)), meets the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..annotator import Annotator
from ..errors import InvalidInput
from ..intervals import Intervals
from ..lengths import Lengths
from ..symbols import check
from .base import Asked, Labels, Method, Recording

if TYPE_CHECKING:
    from ..inference import Posterior

_NONE = np.empty((0, 2))
_HOPS = 4  # places of a segment within its own length
MOST = 1000  # queries of one recording


@dataclass(frozen=True)
class Information(Method):
    """The segments that tell most about where events are.

    Parameters
    ----------
    event_length : the law of lengths as text: ``1``, ``0.5,1,4``, ``lognorm:s=0.5,scale=1``.
    event_rate : events that start per second.
    wrong_time : seconds of expected wrong label in a recording at which to stop.
    presence_criterion, guess_rate, lapse_rate : how the annotator answers.
    query_cost_share : r, the cost of a query that does not grow with its length.
    shortest : seconds of the shortest segment that is asked.

    Notes
    -----
    Segments halve each other (``shortest`` times 1, 2, 4, ... from the recording's start), so that answers nest and the
    posterior stays exact and small. A segment may be asked again.

    Examples
    --------
    >>> method = Information(event_length="1", event_rate=0.05, wrong_time=0.5)
    >>> method.next(Recording("a.wav", 16.0), Asked()).shape
    (1, 2)
    """

    event_length: str
    event_rate: float
    wrong_time: float
    presence_criterion: float = 0.5
    guess_rate: float = 0.02
    lapse_rate: float = 0.02
    query_cost_share: float = 0.5
    shortest: float = 0.3

    name: ClassVar[str] = "information"
    follows_answers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check("event_rate", self.event_rate)
        check("presence_criterion", self.presence_criterion)
        if not self.wrong_time > 0 or not self.shortest > 0:
            raise InvalidInput(
                f"wrong_time and shortest must be > 0 seconds, got {self.wrong_time:g} and {self.shortest:g}"
            )

    @cached_property
    def _lengths(self) -> Lengths:
        return Lengths.parse(self.event_length)

    @cached_property
    def _least(self) -> float:
        """The shortest segment that can tell anything: short events would be noticed in it."""
        return max(self.shortest, self.presence_criterion * float(self._lengths.quantile(0.5)))

    @cached_property
    def _annotator(self) -> Annotator:
        return Annotator(
            presence_criterion=self.presence_criterion, guess_rate=self.guess_rate, lapse_rate=self.lapse_rate
        )

    def posterior(self, recording: Recording, asked: Asked) -> Posterior:
        """What the answers say of the recording's timeline."""
        from ..inference import Renewal, posterior

        step = min(self._least / _HOPS, float(self._lengths.quantile(0.5)) / 8)
        sure = ~np.isnan(asked.present)
        return posterior(
            asked.segments[sure], asked.present[sure], renewal=Renewal(self._lengths, self.event_rate, step),
            recording_length=recording.length, annotator=self._annotator,
        )  # fmt: skip

    def candidates(self, recording: Recording) -> Intervals:
        """The segments that may be asked: each length twice the one before, at every quarter of its length."""
        found: list[Intervals] = []
        length = self._least
        while not found or length < 2 * recording.length:
            count = max(1, int(np.ceil((recording.length - length) / (length / _HOPS) - 1e-9)) + 1)
            onsets = np.arange(count) * (length / _HOPS)
            onsets = np.minimum(onsets, max(0.0, recording.length - length))
            found.append(np.column_stack((onsets, np.minimum(onsets + length, recording.length))))
            length *= 2
        return np.asarray(np.round(np.concatenate(found), 6), dtype=np.float64)

    def next(self, recording: Recording, asked: Asked) -> Intervals:
        """The one segment that tells most for its cost; none when the target is met."""
        known = self.posterior(recording, asked)
        if known.wrong_time <= self.wrong_time or len(asked) >= MOST:
            return _NONE
        segments = self.candidates(recording)
        r = self.query_cost_share
        worth = known.information(segments) / ((1 - r) * (segments[:, 1] - segments[:, 0]) + r)
        unsure = asked.segments[np.isnan(asked.present)]  # asking again what could not be told tells nothing
        worth[(segments[:, None] == unsure[None]).all(axis=2).any(axis=1)] = 0.0
        best = int(np.argmax(worth))
        return segments[best : best + 1] if worth[best] > 1e-6 else _NONE

    def labels(self, recording: Recording, asked: Asked) -> Labels:
        """The likelier label of every moment."""
        known = self.posterior(recording, asked)
        cuts = np.column_stack((known.edges[:-1], known.edges[1:]))
        return Labels(cuts, (known.active > 0.5).astype(np.float64))

    def rounds(self, recording: Recording, asked: Asked) -> int:
        """One question at a time."""
        return len(asked)
