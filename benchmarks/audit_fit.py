"""Does `audit` say so when answers do not look like its model, and only then?

    python benchmarks/audit_fit.py [runs] [people] [answers] [segment seconds] [kind ...]

Worlds that fit: one criterion for all, or one per answer, event or recording (standard deviation 0.15), with 3 %
guesses and 5 % lapses: at most 5 % of them may be called odd. Worlds that do not: 30 % of the events are inaudible,
30 % of the answers repeat the one before, 0.4 s count and not a share.
"""

import sys

import numpy as np
import pandas as pd

from weakly.model.answers import Answers
from weakly.model.events import Events
from weakly.studies.audit.observations import pair
from weakly.studies.audit.responses import lack_of_fit

FITS = ("share", "answer", "event", "recording")
ODD = ("inaudible", "sticky", "seconds")
GUESS, LAPSE, CRITERION, SECONDS = 0.03, 0.05, 0.4, 30.0


def world(kind, seed, *, people=1, n=1000, width=1.0):
    """Events of about a second in half-minute recordings, and n answers about them."""
    rng, rows, events, k, last = np.random.default_rng([7, seed]), [], [], 0, {}

    def criteria(size=None):
        total = CRITERION * (1 - CRITERION) / 0.15**2 - 1
        return rng.beta(CRITERION * total, (1 - CRITERION) * total, size)

    while len(rows) < n:
        at, mine = rng.uniform(0, 3), []
        while (end := at + rng.lognormal(0.0, 0.5)) < SECONDS - 1:
            mine.append((at, end))
            at = end + rng.exponential(4) + 0.5
        bounds = np.array(mine).reshape(-1, 2)
        events += [(f"r{k}", a, b, "x") for a, b in mine]
        is_audible = rng.random(len(bounds)) >= (0.3 if kind == "inaudible" else 0.0)
        fixed = {"event": criteria(len(bounds)), "recording": criteria()}.get(kind, CRITERION)
        for onset in np.arange(0, SECONDS, width):
            shared = np.minimum(bounds[:, 1], onset + width) - np.maximum(bounds[:, 0], onset)
            h = np.clip(shared / (bounds[:, 1] - bounds[:, 0]), 0, 1)
            for who in range(people):
                needed = criteria() if kind == "answer" else fixed
                met = (shared >= 0.4 if kind == "seconds" else (h >= needed) & (h > 0)) & is_audible
                said = float(rng.random() < (1 - LAPSE if met.any() else GUESS))
                said = last[who] if kind == "sticky" and who in last and rng.random() < 0.3 else said
                last[who] = said
                rows.append((f"r{k}", onset, onset + width, "x", f"p{who}", said))
        k += 1
    columns = ["recording", "onset", "offset", "label", "annotator", "present"]
    strong = pd.DataFrame(events, columns=columns[:4])
    lengths = {f"r{j}": SECONDS for j in range(k)}
    return Events.from_frame(strong, recording_length=lengths), Answers.from_frame(
        pd.DataFrame(rows[:n], columns=columns)
    )


def main(runs=100, people=1, n=1000, width=1.0, *kinds):
    for kind in kinds or (*FITS, *ODD):
        found = []
        for seed in range(runs):
            both = pair(*world(kind, seed, people=people, n=n, width=width))
            found.append(lack_of_fit(both, {"x": both.observed("x", unlisted="unknown")}, rng=0))
        table = pd.DataFrame([one.p_values for one in found])
        named = {name: round(float((table[name] * table.shape[1] < 0.05).mean()), 2) for name in table}
        print(f"{kind:10s} called odd {np.mean([not one.is_good for one in found]):.2f}  {named}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *map(float, sys.argv[4:5]), *sys.argv[5:])
