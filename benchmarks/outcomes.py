"""The words of results for simulated outcomes of one method, for benchmarks and tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weakly.base.results import METRICS
from weakly.methods import Outcome, tally
from weakly.model.annotator import PresenceRule
from weakly.model.answer_model import AnswerModels
from weakly.model.cost import Cost
from weakly.model.intervals import EventArrays


def score(
    outcomes: Sequence[Outcome], *, presence_criterion: float | str | None = None,
    rule: PresenceRule | str | None = None, cost: Any = None,
) -> dict[str, float]:  # fmt: skip
    """The words of results: accuracies, recalls, wrong time, queries, seconds, cost."""
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
