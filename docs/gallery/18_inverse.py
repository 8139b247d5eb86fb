"""From answers back to events

True events, the answers to 3 s clips and to a few closer looks, what the answers paint, and what they say.
"""

import numpy as np
import pandas as pd

import weakly as wk

rng = np.random.default_rng(4)
events = np.array([(4.2, 5.1), (11.0, 12.6), (13.4, 14.1), (26.3, 27.0)])
spans = [(float(k), k + 3.0) for k in range(0, 30, 3)] + [(9.0, 10.5), (10.5, 12.0), (12.0, 13.5), (13.5, 15.0)]
rule = wk.PresenceRule.fraction(0.5)
said = [float(rule.is_present(event=events, segment=span).any()) for span in spans]
answers = wk.Answers.from_frame(
    pd.DataFrame(
        {
            "recording": "forest",
            "onset": [a for a, _ in spans],
            "offset": [b for _, b in spans],
            "label": "owl",
            "present": said,
        }
    )
)
found = wk.infer(answers, event_length=[0.7, 0.9, 1.6], presence_criterion=0.5, event_rate=0.1, rng=rng)
figure = found.plot(truth=events).figure
