"""A way to label as a typed row: what is asked, how good the labels become, what it costs; and how people say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..results import WORDS, plain
from ..results import digits as digits
from ..results import percent as percent
from ..results import seconds as seconds

METHODS = ("fixed", "windows", "bisection", "oracle")
#: Ways that ask nobody anything: what every way of asking must beat.
UNASKED = ("nothing", "everything")


@dataclass(frozen=True)
class Design:
    """What is asked: fixed segments; windows every ``hop``, of which ``votes`` make a moment present; halving from
    ``start_length`` down to ``segment_length``; or nothing at all."""

    method: str
    segment_length: float | None = None
    hop: float | None = None
    votes: int | None = None
    start_length: float | None = None

    @property
    def windows_per_cell(self) -> int:
        """How many windows cover a moment."""
        return 1 if self.hop is None or self.segment_length is None else round(self.segment_length / self.hop)

    @property
    def halves(self) -> bool:
        """Whether segments are halved at all."""
        return self.start_length is not None and self.start_length > 1.5 * (self.segment_length or 0.0)

    @property
    def name(self) -> str:
        """A few words that tell it from the others."""
        width, hop = seconds(self.segment_length or 0.0), seconds(self.hop or 0.0)
        if self.method == "windows":
            return f"windows {width} every {hop}, {self.votes} of {self.windows_per_cell}"
        if self.method == "bisection":
            return f"bisection {seconds(self.start_length or 0.0)} to {width}"
        return {
            "fixed": f"fixed {width}",
            "nothing": "label nothing",
            "everything": "label everything",
            "oracle": "oracle (a limit)",
        }[self.method]


@dataclass(frozen=True)
class Row:
    """One way to label. ``wrong_time`` is in seconds per recording, all classes together; ``n_queries``, ``listened``
    (seconds) and ``cost`` are for the whole work. ``wrong_time_se`` is 0 where the expectation is exact."""

    name: str
    method: str
    segment_length: float | None
    hop: float | None
    votes: int | None
    start_length: float | None
    overlap_accuracy: float
    event_recall: float
    precision: float
    recall: float
    recording_accuracy: float
    wrong_time: float
    n_queries: float
    listened: float
    cost: float
    attainable: bool = True
    wrong_time_se: float = 0.0
    note: str = ""

    @property
    def design(self) -> Design:
        """What is asked."""
        return Design(self.method, self.segment_length, self.hop, self.votes, self.start_length)

    @property
    def asks(self) -> bool:
        """Whether anybody is asked, and can be."""
        return self.attainable and self.method not in UNASKED

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}

    def dominates(self, other: Row) -> bool:
        """Whether it is at least as good in wrong time, events found and cost, and better in one of them."""
        ahead = (
            other.wrong_time - self.wrong_time,
            self.event_recall - other.event_recall,
            other.cost - self.cost,
        )
        slack = 1e-9 * max(other.wrong_time, 1e-9), 1e-9, 1e-9 * max(other.cost, 1e-9)
        return all(a >= -s for a, s in zip(ahead, slack)) and any(a > s for a, s in zip(ahead, slack))


#: The columns of tables, in the order of reading.
COLUMNS = ("name", "method", "segment_length", *WORDS, "n_queries", "listened", "cost", "note")
