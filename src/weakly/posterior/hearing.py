"""How somebody answers about the timeline of a particle, compiled: what is enough of an event, and the chances."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.compiled import leaf

LEAST_CRITERION = 0.02  # of any event
ANY = 10.0  # what is added to the criterion of an event that follows no other's


@leaf
def logistic(x: float) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


@leaf
def enough(d: float, own: float, who: Any) -> Any:
    """Seconds of an event of this length that are noticed; ``own`` says how its criterion differs from the others', or
    (from ANY on) what it is."""
    if own >= ANY:
        return max(LEAST_CRITERION, own - ANY) * d * (1 - 1e-9)
    return min(min(1.0, max(LEAST_CRITERION, who[0] + who[1] * own)) * d, who[2]) * (1 - 1e-9)


@leaf
def satisfied(starts: Any, ends: Any, own: Any, many: int, s: float, e: float, length: float, who: Any) -> Any:
    """Whether a segment holds enough of one event, as far as that is heard."""
    for k in range(many):
        if ends[k] <= s:
            continue
        if starts[k] >= e:
            break
        a, b = max(starts[k], 0.0), min(ends[k], length)
        both = min(b, e) - max(a, s)
        if both > 0 and both >= enough(b - a, own[k], who):
            return True
    return False


@leaf
def hearing(x: Any) -> Any:
    """How somebody answers: criterion, its spread over events, seconds that are enough, guesses, lapses, and the
    logarithms of 1 - lapses, lapses, guesses and 1 - guesses."""
    guess, lapse = 0.5 * logistic(x[2]), 0.5 * logistic(x[3])
    logs = np.log(1 - lapse), np.log(max(1e-300, lapse)), np.log(max(1e-300, guess)), np.log(1 - guess)
    return logistic(x[0]), np.exp(x[1]), np.exp(x[7]), guess, lapse, *logs


@leaf
def answer(is_met: bool, present: float, who: Any) -> Any:
    """The logarithm of the chance of an answer."""
    if is_met:
        return who[5] if present > 0.5 else who[6]
    return who[7] if present > 0.5 else who[8]
