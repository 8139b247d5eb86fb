"""What a posterior makes of the answers that each way to label asks for, beside the labels that they paint."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from ...methods.model import Model, RecordingModel, SingleEventModel
from ...methods.outcome import MethodOutcome
from ...methods.problem import LabelingProblem
from ...model.event_arrays import EventArrays
from ...model.lengths import Lengths
from ...posterior.hearing import Hearing
from ..infer.outlook import Asking, Outlook, halving, outlook, windows

_METHODS = ("fixed", "windows", "bisection")
_RECORDINGS, _MOST = 100, 1000  # drawn ones, and those of a pilot


def posterior_rows(task: LabelingProblem, rows: list[MethodOutcome]) -> tuple[dict[str, Any], ...]:
    """For each row of a kind that can be worked out: wrong time and event time, by posterior and painted, all classes.

    The law of event lengths, who answers and the answers are known to the posterior; rates it estimates.
    """
    parts = task.criteria.parts()
    who = Hearing(tuple(rule for _, rule, _, _ in parts), parts[0][2], parts[0][3])
    made = []
    for row in rows:
        if row.method not in _METHODS or not row.asks or row.segment_length is None:
            continue
        width = row.segment_length
        asking = windows(segment_length=width, hop=row.hop)
        if row.method == "bisection":
            asking = halving(segment_length=width, start_length=row.start_length or width)
        found = [asdict(_outlook(model, asking, who, width)) for model in task.models.values()]
        total = {name: sum(each[name] for each in found) for name in found[0] if not name.endswith(("_se", "_tried"))}
        errors = {name: float(np.hypot.reduce([each[name] for each in found])) for name in found[0] if "_se" in name}
        made.append({"name": row.name, "wrong_time": row.wrong_time, **total, **errors, "n_tried": found[0]["n_tried"]})
    return tuple(made)


def _outlook(model: Model, asking: Asking, who: Hearing, width: float) -> Outlook:
    timelines, law = _recordings(model)
    return outlook(timelines, asking, who=who, lengths=law, shortest=width, rng=0)


def _recordings(model: Model) -> tuple[EventArrays, Lengths | None]:
    """Recordings as the model has them, and the law of lengths where it is not that of the events in them."""
    rng = np.random.default_rng(0)
    if isinstance(model, SingleEventModel):
        d = np.minimum(model.lengths.draw(_RECORDINGS, rng), model.longest)
        some = rng.random(_RECORDINGS) < model.share
        start = rng.uniform(0.0, 1.0, _RECORDINGS) * (model.longest - d)
        rows: Any = [[(a, a + b)] if one else [] for a, b, one in zip(start, d, some)]
        return EventArrays.of(rows, model.longest), model.lengths
    assert isinstance(model, RecordingModel)
    units = np.arange(len(model.full) + len(model.silent))
    if model.drawn:
        picked = rng.choice(units, _RECORDINGS, p=model.weight / model.weight.sum())
    else:
        picked = np.repeat(units, model.weight.astype(np.int64))
        picked = picked if len(picked) <= _MOST else rng.choice(picked, _MOST, replace=False)
    events = [each for each, _ in model.full] + [np.empty((0, 2))] * len(model.silent)
    lengths = np.concatenate((model.full.lengths, model.silent.lengths))
    return EventArrays.of([events[k] for k in picked], lengths[picked]), None


def table(plan: Any) -> pd.DataFrame:
    """The posterior rows of a plan for people: wrong time painted and inferred, event time painted, inferred, true."""
    heads = {
        "way to label": "name",
        "wrong: painted": "painted_wrong_time",
        "inferred": "posterior_wrong_time",
        "+/-": "posterior_wrong_time_se",
        "event time: painted": "painted_seconds",
        "inferred ": "posterior_seconds",
        "true": "event_seconds",
    }
    return pd.DataFrame({head: [row[name] for row in plan.posterior] for head, name in heads.items()})
