"""`weakly label --measure` on simulated people: coverage and width of the 95 % interval of the mean criterion.

    python benchmarks/measure_coverage.py [people] [items] [seed] [beta | logistic | one]

Each person is answered for twice: once asked by information, once at random event fractions. Their criterion follows a
Beta law, a logistic law or one value; guesses and lapses are uniform on 0 to 10 %.
"""

import sys

import numpy as np

from weakly.apps.label.profile import FRACTIONS, CriterionPosterior


def person(kind, rng):
    """P(present) of the event fractions, and the mean of the criterion."""
    mean, spread = rng.uniform(0.1, 0.9), rng.uniform(0.03, 0.2)
    guess, lapse = rng.uniform(0, 0.1, 2)
    if kind == "beta":
        spread = min(spread, 0.45 * np.sqrt(mean * (1 - mean)))
        total = mean * (1 - mean) / spread**2 - 1
        criteria = rng.beta(mean * total, (1 - mean) * total, 20000)
    elif kind == "logistic":
        criteria = np.clip(rng.logistic(mean, min(spread, mean / 3, (1 - mean) / 3) / 1.814, 20000), 0, 1)
    else:
        criteria = np.full(2, mean)
    law = (criteria[:, None] <= FRACTIONS).mean(axis=0) if kind != "one" else (mean <= FRACTIONS).astype(float)
    return guess + (1 - guess - lapse) * law, criteria.mean()


def measured(chance, items, rng, adaptive):
    """The posterior after so many items."""
    answers = []
    found = CriterionPosterior.prior()
    for _ in range(items):
        h = found.next_fraction() if adaptive else float(rng.choice(FRACTIONS))
        answers.append((h, float(rng.random() < chance[round(h * 50)])))
        found = CriterionPosterior.of(answers) if adaptive else found
    return found if adaptive else CriterionPosterior.of(answers)


def main(people=200, items=50, seed=18, *kinds):
    for kind in kinds or ("beta", "logistic", "one"):
        rng = np.random.default_rng(seed)
        inside, widths, errors = {True: [], False: []}, {True: [], False: []}, {True: [], False: []}
        for _ in range(people):
            chance, truth = person(kind, rng)
            for adaptive in (True, False):
                found = measured(chance, items, rng, adaptive)
                low, high = found.interval()
                inside[adaptive].append(low <= truth <= high)
                widths[adaptive].append(high - low)
                errors[adaptive].append(abs(found.mean - truth))
        for adaptive, how in ((True, "information"), (False, "random")):
            print(f"{kind:9s} {how:12s} covers {np.mean(inside[adaptive]):.3f} "
                  f"width {np.mean(widths[adaptive]):.4f} error {np.mean(errors[adaptive]):.4f}")  # fmt: skip
        print(f"{kind:9s} narrower by {1 - np.mean(widths[True]) / np.mean(widths[False]):.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *sys.argv[4:])
