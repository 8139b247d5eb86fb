"""A plan

Methods on one frontier: what each costs, and how many seconds it gets wrong.
"""

import weakly as wk

plan = wk.plan(1.0, presence_criterion=0.5, recording_length=600.0, n_events=20)
print(plan.answer)
figure = plan.figures()["frontier"]
