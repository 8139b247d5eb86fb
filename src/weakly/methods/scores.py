"""The score of labels that were made, against the true events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.results import METRICS
from ..engine.tally import SCORES, Tally, of_labels
from ..model.annotator import PresenceRule
from ..model.answer_model import AnswerModels
from ..model.cost import Cost
from ..model.intervals import EventArrays
from .base import Labels, Outcome


def tally(labels: Sequence[Labels], timelines: EventArrays, *, rule: PresenceRule | None = None) -> Tally:
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
    column = SCORES.index("n_found")
    result.sums[..., column] = found.sums[..., column]
    result.products[..., -2:] = found.products[..., -2:]  # the squares that go with it
    return result


def score(
    outcomes: Sequence[Outcome], *, presence_criterion: float | str | None = None,
    rule: PresenceRule | str | None = None, cost: Any = None,
) -> dict[str, float]:  # fmt: skip
    """The words of results for the outcomes of one method: accuracies, recalls, wrong time, queries, seconds, cost.

    Examples
    --------
    >>> from weakly.methods import Oracle, Recording, SimulatedAnnotator, run
    >>> one = Recording("a", 10.0, events=np.array([[2.0, 3.0]]))
    >>> row = score([run(Oracle(), one, SimulatedAnnotator(0.5))], presence_criterion=0.5)
    >>> row["wrong_time"], row["event_recall"], row["n_queries"]
    (0.0, 1.0, 3)
    """
    given = rule is not None or presence_criterion is not None
    chosen = AnswerModels.of(presence_criterion=presence_criterion, rule=rule).as_rule if given else None
    timelines = EventArrays.of([one.recording.events for one in outcomes], [one.recording.length for one in outcomes])
    result = tally([one.labels for one in outcomes], timelines, rule=chosen)
    values = result.metrics()
    row = {word: float(values[word].item()) for name in METRICS for word in (name, f"{name}_se")}
    row["n_queries"] = sum(one.n_queries for one in outcomes)
    row["listened"] = sum(one.listened for one in outcomes)
    row["cost"] = float((cost or Cost()).of(listened=row["listened"], n_queries=row["n_queries"]))
    row["n_recordings"] = len(outcomes)
    row["n_events"] = float(result.n_events.item())
    return row
