"""What a user writes, checked by ``tests/test_typing.py`` with mypy --strict and never run."""

from typing import reveal_type

import numpy as np
import pandas as pd
from scipy import stats

import weakly as wk

frame = pd.DataFrame({"recording": ["a"], "onset": [1.0], "offset": [2.0], "label": ["dog"]})
events = wk.Events.from_frame(frame, recording_length=10.0)
evaluation = wk.evaluate(events, segment_length=[1.0, 3.0], presence_criterion=0.5, phase="random")
reveal_type(evaluation)
reveal_type(evaluation.event_recall)
reveal_type(evaluation.settings)
reveal_type(evaluation.findings)
wk.evaluate([[(1.0, 2.0)]], recording_length=10, segment_length=1, rule="seconds:0.25", phase=0.5, edge="inside")
rules: list[wk.PresenceRule | str] = [wk.PresenceRule.any(), "birdnet"]
wk.evaluate(events, segment_length=np.array([1.0]), rule=rules)
wk.evaluate(events, segment_length=1, presence_criterion=stats.beta(2, 3))

simulation = wk.simulate(
    stats.gamma(0.8, loc=0.5), n_events=3, recording_length=100, segment_length=1.0,
    annotator=wk.Annotator(presence_criterion=0.5), rng=1,
)  # fmt: skip
reveal_type(simulation)
reveal_type(simulation.best())
wk.simulate([0.5, 1.0], n_events=stats.poisson(3), recording_length=100, segment_length=[1], presence_criterion=0.5)

inference = wk.infer(
    frame.assign(present=1.0), event_length=stats.lognorm(0.5), presence_criterion=0.5, event_rate=0.1, rng=0
)
reveal_type(inference)
reveal_type(inference.active)
wk.infer(frame, event_length={"dog": 1.0}, annotator={"ann": wk.Annotator(guess_rate=0.1)}, unlisted="absent")
wk.infer(frame, event_length=events, rule="seconds:0.5", recording_length={"a": 10.0}, step=0.1)

audit = wk.audit(strong=events, answers="answers.csv", examined="all", unlisted="absent")
reveal_type(audit)
reveal_type(audit.holds("event_recall<90%"))
reveal_type(audit.report("audit.html", command="weakly audit"))

reveal_type(wk.plan(1.0, presence_criterion=0.5, recording_length=60.0))
reveal_type(wk.Lengths.fixed(1.0))

# Each of these is a slip, and mypy says so.
wk.infer(frame, unlisted="missing")  # type: ignore[arg-type]
wk.infer(frame, event_rate="0.1")  # type: ignore[arg-type]
wk.evaluate(events, segment_length=1, presence_criterion=0.5, edge="truncated")  # type: ignore[arg-type]
wk.evaluate(events, segment_length=1, presence_criterion=0.5, phase="0.5")  # type: ignore[arg-type]
wk.evaluate(frame, segment_length=1, presence_criterion=0.5)  # type: ignore[arg-type]
wk.simulate(1.0, n_events="3", recording_length=9, segment_length=1, presence_criterion=0.5)  # type: ignore[arg-type]
wk.audit(strong=events, weak=events)  # type: ignore[arg-type]
wk.audit(strong=events, unlisted="missing")  # type: ignore[arg-type]
