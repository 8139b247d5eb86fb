"""What is asked of every segment length: criteria, presence rules or annotators, one column of results for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotator import TIE, Annotator, PresenceRule
from ..compiled import kernel
from ..errors import InvalidInput
from ..results import law_name
from ..symbols import check

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """Criteria (all computed at once), or rules and annotators (one after the other)."""

    criteria: Array | None
    rules: tuple[PresenceRule, ...]
    annotators: tuple[Annotator, ...]

    @classmethod
    def of(cls, *, presence_criterion: Any = None, rule: Any = None, annotator: Any = None) -> Columns:
        """The columns from the arguments of a public function; exactly one of them must be given."""
        given = {"presence_criterion": presence_criterion, "rule": rule, "annotator": annotator}
        names = [name for name, value in given.items() if value is not None]
        if len(names) != 1:
            got = " and ".join(names) or "none"
            raise InvalidInput(f"give exactly one of presence_criterion, rule and annotator, got {got}")
        if presence_criterion is not None:
            criteria = np.atleast_1d(check("presence_criterion", presence_criterion))
            if criteria.ndim != 1 or len(criteria) == 0:
                raise InvalidInput(f"presence_criterion must be one number or a list, got shape {criteria.shape}")
            return cls(criteria, (), ())
        if rule is not None:
            return cls(None, tuple(_each("rule", rule, PresenceRule)), ())
        return cls(None, (), tuple(_each("annotator", annotator, Annotator)))

    def __len__(self) -> int:
        return len(self.criteria) if self.criteria is not None else len(self.rules) + len(self.annotators)

    @property
    def labels(self) -> tuple[Any, ...]:
        """What tells the columns apart."""
        if self.criteria is not None:
            return tuple(self.criteria.tolist())
        return tuple(rule.name for rule in self.rules) or tuple(map(describe, self.annotators))

    def frame(self) -> dict[str, list[Any]]:
        """The columns of a table that say what each result column is."""
        if self.criteria is not None:
            return {"presence_criterion": self.criteria.tolist()}
        if self.rules:
            criteria = [np.nan if rule.criterion is None else rule.criterion for rule in self.rules]
            return {"presence_criterion": criteria, "rule": [rule.name for rule in self.rules]}
        criteria = [_criterion(annotator) for annotator in self.annotators]
        return {"presence_criterion": criteria, "annotator": [describe(annotator) for annotator in self.annotators]}


def _each(name: str, value: Any, kind: type) -> Sequence[Any]:
    items = [value] if isinstance(value, kind) else list(value) if isinstance(value, (list, tuple)) else []
    if not items or not all(isinstance(item, kind) for item in items):
        raise InvalidInput(f"{name} must be a {kind.__name__} or a list of them, got {value!r}")
    return items


def _criterion(annotator: Annotator) -> float:
    law = annotator.presence_criterion
    return law if isinstance(law, float) else float(law.mean())


def describe(annotator: Annotator) -> str:
    """The annotator in a few words, for tables.

    >>> describe(Annotator(presence_criterion=0.5, flip_rate=0.1))
    'criterion 0.5, flip_rate 0.1'
    """
    law = annotator.presence_criterion
    if isinstance(law, float):
        words = [f"criterion {law:g}"]
    else:
        words = [f"criterion {law_name(law)}"]
    for rate in ("guess_rate", "lapse_rate", "flip_rate"):
        if getattr(annotator, rate):
            words.append(f"{rate} {getattr(annotator, rate):g}")
    if annotator.votes is not None:
        words.append("votes {}/{}".format(*annotator.votes))
    return ", ".join(words)


def tied(criteria: Array) -> tuple[Array, Array, NDArray[np.int64]]:
    """Sorted criteria lowered by the tolerance for ties, their first index per 1/1024, and their order.

    The table makes "how many criteria does this event fraction satisfy" a step or two, however many criteria there are.
    """
    order = np.argsort(criteria, kind="stable")
    limits = criteria[order] * (1 - TIE)
    table = np.searchsorted(limits, np.arange(1025) / 1024, side="right").astype(np.float64)
    return limits, table, order


@kernel
def satisfied(h: float, limits: Any, table: Any) -> int:
    """How many of the sorted criteria the event fraction h satisfies; arguments as from :func:`tied`."""
    j = int(table[min(int(h * 1024), 1024)])
    while j < limits.shape[0] and limits[j] <= h:
        j += 1
    return j
