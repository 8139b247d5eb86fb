"""A way to label as a typed row: what is asked, how good the labels become, what it costs; and how people say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..base.results import WORDS, plain
from ..base.results import digits as digits
from ..base.results import percent as percent
from ..base.results import seconds as seconds

METHODS = ("fixed", "windows", "bisection", "boundary", "passes", "oracle")
#: Ways that can be recommended; passes come with several classes.
WAYS = ("fixed", "windows", "bisection", "boundary", "passes")
#: As people call them.
WAY_NAMES = {
    "fixed": "segments",
    "windows": "windows",
    "bisection": "halving",
    "boundary": "edge search",
    "passes": "several passes",
}
PATIENCE = 5  # times that people hear a recording
#: Ways that ask nobody anything: what every way of asking must beat.
UNASKED = ("nothing", "everything")


def size(length: float | None) -> str:
    """A length as it stands before a noun.

    >>> size(0.8), size(14400.0)
    ('0.8 s', '4 hour')
    """
    return seconds(length or 0.0).removesuffix("s") if (length or 0.0) >= 3600 else seconds(length or 0.0)


@dataclass(frozen=True)
class LabelingDesign:
    """What is asked: fixed segments; windows every ``hop``, of which ``votes`` make a moment present; halving from
    ``start_length`` down to ``segment_length``; a search of the edges to ``tolerance`` after segments; classes in
    ``passes``, each (labels, its design); or nothing at all."""

    method: str
    segment_length: float | None = None
    hop: float | None = None
    votes: int | None = None
    start_length: float | None = None
    tolerance: float | None = None
    passes: tuple[tuple[tuple[str, ...], LabelingDesign], ...] = ()

    def of_class(self, label: str) -> LabelingDesign:
        """What is asked about one class."""
        return next((own for labels, own in self.passes if label in labels), self)

    @property
    def same_labels(self) -> LabelingDesign:
        """What gives the same labels at once: halving without wrong answers gives those of its leaves."""
        if self.passes:
            return LabelingDesign("passes", passes=tuple((labels, own.same_labels) for labels, own in self.passes))
        return LabelingDesign("fixed", self.segment_length) if self.method == "bisection" else self

    @property
    def windows_per_cell(self) -> int:
        """How many windows cover a moment."""
        return 1 if self.hop is None or self.segment_length is None else round(self.segment_length / self.hop)

    @property
    def name(self) -> str:
        """A few words that tell it from the others, the same wherever people read of it."""
        width, hop = size(self.segment_length), seconds(self.hop or 0.0)
        if self.method == "windows":
            return f"{width} windows every {hop} ({self.votes} of {self.windows_per_cell})"
        if self.method == "bisection":
            return f"halving {seconds(self.start_length or 0.0)} to {width}"
        if self.method == "boundary":
            return f"{width} segments, edges to {seconds(self.tolerance or 0.0)}"
        if self.method == "passes":
            widths = [seconds(own.segment_length or 0.0) for _, own in self.passes]
            said = ", ".join(widths) if len(widths) < 4 else f"{widths[0]} to {widths[-1]}"
            halves = self.passes[0][1].method == "bisection"
            return f"{len(widths)} passes, {'halving to ' if halves else ''}{said}{'' if halves else ' segments'}"
        return {
            "fixed": f"{width} segments",
            "nothing": "label nothing",
            "everything": "label everything",
            "oracle": "oracle (a limit)",
        }[self.method]


@dataclass(frozen=True)
class MethodOutcome:
    """One way to label. ``wrong_time`` is in seconds per recording, all classes together; ``n_queries``, ``listened``
    (seconds) and ``cost`` are for the whole work; ``heard`` is how often a moment is heard on average.
    ``wrong_time_se`` is 0 where the expectation is exact."""

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
    tolerance: float | None = None
    passes: tuple[tuple[tuple[str, ...], LabelingDesign], ...] = ()
    heard: float = 1.0

    @property
    def design(self) -> LabelingDesign:
        """What is asked."""
        return LabelingDesign(**{name: getattr(self, name) for name in LabelingDesign.__dataclass_fields__})

    @property
    def asks(self) -> bool:
        """Whether anybody is asked, and can be."""
        return self.attainable and self.method not in UNASKED

    @property
    def doable(self) -> bool:
        """Whether people bear it: who hears everything more often would mark the events by hand in less time."""
        return self.heard <= PATIENCE * (1 + 1e-9)

    def alike(self, other: MethodOutcome) -> bool:
        """Whether only lengths tell it from the other."""
        return (self.method, self.design.windows_per_cell) == (other.method, other.design.windows_per_cell)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}

    def dominates(self, other: MethodOutcome) -> bool:
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
