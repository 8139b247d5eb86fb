"""The score of any method, by the same tally as FIX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..annotator import PresenceRule
from ..cost import Cost
from ..events import Timelines
from ..results import METRICS
from ..tally import RAW, Tally, of_labels
from .base import Labels
from .simulated import Outcome

_FOUND = RAW.index("n_found")


def tally(labels: Sequence[Labels], timelines: Timelines, *, rule: PresenceRule | None = None) -> Tally:
    """The tally of labels against the true events; time without an answer counts as absent.

    An event is found if a present segment *that was heard* satisfies the rule on it, also where the labels are cut
    more finely than the segments (overlapping windows).
    """
    sure = [~np.isnan(one.present) for one in labels]
    result = of_labels(
        timelines,
        [one.segments[known] for one, known in zip(labels, sure)],
        [one.present[known] for one, known in zip(labels, sure)],
        rule=rule,
    )
    if all(one.noticed is None for one in labels):
        return result
    heard = [one.segments[one.present == 1] if one.noticed is None else one.noticed for one in labels]
    found = of_labels(timelines, heard, [np.ones(len(one)) for one in heard], rule=rule)
    result.sums[..., _FOUND] = found.sums[..., _FOUND]
    result.products[..., -2:] = found.products[..., -2:]  # the squares that go with it
    return result


def score(
    outcomes: Sequence[Outcome],
    *,
    presence_criterion: float | None = None,
    rule: PresenceRule | None = None,
    cost: Any = None,
) -> dict[str, float]:
    """The words of results for the outcomes of one method: accuracies, recalls, wrong time, queries, seconds, cost.

    Examples
    --------
    >>> from weakly.adaptive import Oracle, Recording, SimulatedAnnotator, run
    >>> one = Recording("a", 10.0, events=np.array([[2.0, 3.0]]))
    >>> row = score([run(Oracle(), one, SimulatedAnnotator(0.5))], presence_criterion=0.5)
    >>> row["wrong_time"], row["event_recall"], row["n_queries"]
    (0.0, 1.0, 3)
    """
    if rule is None and presence_criterion is not None:
        rule = PresenceRule.fraction(presence_criterion)
    timelines = Timelines.of([one.recording.events for one in outcomes], [one.recording.length for one in outcomes])
    result = tally([one.labels for one in outcomes], timelines, rule=rule)
    values = result.metrics()
    row: dict[str, float] = {}
    for name in METRICS:
        row[name] = float(values[name].item())
        row[f"{name}_se"] = float(values[f"{name}_se"].item())
    row["n_queries"] = sum(one.n_queries for one in outcomes)
    row["listened"] = sum(one.listened for one in outcomes)
    row["cost"] = float((cost or Cost()).of(listened=row["listened"], n_queries=row["n_queries"]))
    row["n_recordings"] = len(outcomes)
    row["n_events"] = float(result.n_events.item())
    return row
