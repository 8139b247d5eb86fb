"""How sure the plan is: bands from a pilot, how many pilot events are enough, the price of a wrong criterion."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lengths import Lengths
from .criteria import Criteria, probes
from .methods import seconds
from .sparse import nodes
from .start import Start
from .task import Floats, Row, Task

SIZES = (3, 10, 30, 100, 300, 1000)
ENOUGH = 0.01  # a pilot is enough if 9 of 10 such pilots lose less accuracy than this
_REPLICATES = 200


class Resampled:
    """Scores of fixed segments over a grid of lengths, for many reweighted samples of event lengths at once."""

    def __init__(self, lengths: Lengths, criteria: Criteria, grid: Floats) -> None:
        self.values, self.shares = nodes(lengths, 400)
        self.criteria, self.grid = criteria, grid
        limits = grid[None, :] / criteria.values[:, None] * (1 + 1e-9)
        self.index = np.searchsorted(self.values, limits, side="right")

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """The shares of the lengths in pilots of n events, one pilot per row."""
        return rng.multinomial(n, self.shares / self.shares.sum(), size=_REPLICATES) / n

    def scores(self, weights: Floats, objective: str) -> Floats:
        """The score at every length of the grid, for each row of weights."""
        d, q, g = self.values, self.grid, self.criteria
        zero = np.zeros((weights.shape[0], 1))
        p0, m1, m2 = (np.concatenate((zero, np.cumsum(weights * d**k, axis=1)), axis=1) for k in range(3))
        mean = m1[:, -1:]
        wrong = np.zeros((weights.shape[0], q.size))
        for gamma, weight, index in zip(g.values, g.weights, self.index):
            true = m1[:, index] - gamma**2 * m2[:, index] / q
            present = (1 - 2 * gamma) * m1[:, index] + q * p0[:, index]
            wrong += weight * (present + mean - 2 * true)
        wrong += g.always * q + g.never * mean
        return -wrong / mean if objective == "recording" else 1 - wrong / (mean + q)


def pilot_sizes(task: Task, rng: np.random.Generator) -> dict[str, Any]:
    """What pilots of so many events would lose: they choose a length, and the whole law says how good it is."""
    grid = task.optimum * np.geomspace(0.1, 10, 81)
    tool = Resampled(task.lengths, task.criteria.few(), grid)
    truth = tool.scores(tool.shares[None, :], task.objective)[0]
    rows: list[Row] = []
    for n in SIZES:
        chosen = np.argmax(tool.scores(tool.draw(n, rng), task.objective), axis=1)
        loss = truth.max() - truth[chosen]
        low, high = np.quantile(grid[chosen], (0.05, 0.95))
        rows.append(
            {
                "n_events": n,
                "mean_loss": float(loss.mean()),
                "loss_in_9_of_10": float(np.quantile(loss, 0.9)),
                "segment_length_ci": [float(low), float(high)],
            }
        )
    enough = next((each["n_events"] for each in rows if each["loss_in_9_of_10"] < ENOUGH), None)
    return {"enough": enough, "by_size": rows}


def bands_from_lengths(task: Task, n: int, rng: np.random.Generator, width: float) -> dict[str, Any]:
    """90 % bands on the best segment length and its accuracy, from resampling a pilot of n events."""
    grid = np.append(task.optimum * np.geomspace(0.2, 5, 121), width)
    tool = Resampled(task.lengths, task.criteria.few(), grid)
    drawn = tool.draw(n, rng)
    accuracy = tool.scores(drawn, "overlap")
    score = accuracy if task.objective == "overlap" else tool.scores(drawn, "recording")
    here = tool.scores(tool.shares[None, :], "overlap")[0]
    best = np.argmax(score[:, :-1], axis=1)
    return {
        "how": f"bootstrap over {n:,} event lengths",
        "n_events": n,
        "segment_length_ci": _band(grid[best]),
        "overlap_accuracy_ci": _band(accuracy[:, -1] - _optimism(accuracy, here, best)),
    }


def _optimism(accuracy: Floats, here: Floats, best: Any) -> float:
    """By how much a length looks better on the pilot that chose it than on another one."""
    return float(np.mean(accuracy[np.arange(len(best)), best] - here[best]))


def _band(values: Floats) -> list[float]:
    low, high = np.nanquantile(values, (0.05, 0.95))
    return [float(low), float(high)]


def bands_from_recordings(start: Start, n: int, rng: np.random.Generator, width: float) -> dict[str, Any]:
    """90 % bands from resampling whole recordings, whose events belong together, with the exact sums of each."""
    task, model = start.task, start.task.model
    grid = np.append(task.optimum * np.geomspace(0.3, 3.3, 25), width)
    inside, overlap, wrong = model.per_recording(grid, task.criteria)  # type: ignore[attr-defined]
    count = inside.shape[0]
    drawn = rng.multinomial(count, np.full(count, 1 / count), size=_REPLICATES).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = 1 - (drawn @ inside) / (drawn @ overlap)
        here = 1 - inside.sum(axis=0) / overlap.sum(axis=0)
    score = accuracy if task.objective == "overlap" else -(drawn @ wrong)
    usable = np.isfinite(score).all(axis=1)
    best = np.argmax(score[usable][:, :-1], axis=1)
    optimism = _optimism(accuracy[usable], here, best) * start.shrink**2
    return {
        "how": f"bootstrap over {start.shown.model.n_recordings:,} recordings",  # type: ignore[attr-defined]
        "n_events": n,
        # All recordings pin the values down better than those that were searched.
        "segment_length_ci": _band(task.optimum * (grid[best] / task.optimum) ** start.shrink),
        "overlap_accuracy_ci": _band(_closer(accuracy[usable][:, -1], start.shrink) - optimism),
    }


def _closer(values: Floats, factor: float) -> Floats:
    middle = np.median(values)
    return middle + factor * (values - middle)


def sensitivity(task: Task, width: float) -> list[Row]:
    """What the chosen length gives if the criterion is another one, and what the right length would have given."""
    low, high = task.criteria.plausible
    rows = []
    for value in probes(task.criteria):
        criteria = task.criteria.only(float(value))
        best = task.quick_length(criteria)
        sums = task.model.fixed([width, best], criteria)
        words, scores = sums.words(), task.score(sums)
        rows.append(
            {
                "presence_criterion": float(value),
                "overlap_accuracy": float(words["overlap_accuracy"][0]),
                "event_recall": float(words["event_recall"][0]),
                "wrong_time": float(words["wrong_time"][0]),
                "best_segment_length": best,
                "best_overlap_accuracy": float(words["overlap_accuracy"][1]),
                "best_event_recall": float(words["event_recall"][1]),
                "best_wrong_time": float(words["wrong_time"][1]),
                "regret": float(max(scores[1] - scores[0], 0.0)),
                "plausible": bool(low - 1e-9 <= value <= high + 1e-9),
            }
        )
    return rows


def how_sure(start: Start, given: Any, rng: np.random.Generator, width: float) -> dict[str, Any] | None:
    """Bands from the pilot and how many pilot events would be enough; None for one known event length."""
    task, pilot = start.task, start.pilot
    if task.lengths.values is not None and task.lengths.values.size == 1 and pilot is None:
        return None
    made: dict[str, Any] = {}
    if pilot is not None and start.models and len(pilot.extents) >= 8:
        made = bands_from_recordings(start, pilot.n_events, rng, width)
    elif pilot is not None or np.ndim(given) == 1:
        n = pilot.n_events if pilot is not None else int(np.size(given))
        if n > 1:
            made = bands_from_lengths(task, n, rng, width)
    made |= pilot_sizes(task, rng)
    enough = made["enough"]
    made["words"] = (
        f"{enough:,} pilot events are enough: nine of ten pilots of that size choose a length that loses less than a "
        "hundredth of the score."
        if enough is not None
        else "Even 1,000 pilot events would not settle the segment length to within a hundredth of the score."
    )
    return made


def advice(sure: dict[str, Any] | None, several: dict[str, Any] | None) -> list[str]:
    """What the answer should add: that the pilot is too small, what several classes need."""
    said = []
    if sure and "segment_length_ci" in sure and (sure["enough"] is None or sure["n_events"] < sure["enough"]):
        low, high = sure["segment_length_ci"]
        more = f"; {sure['enough']:,} would be enough" if sure["enough"] is not None else ""
        said.append(
            f"The {sure['n_events']:,} pilot events leave the best length between {seconds(low)} and {seconds(high)}"
            f"{more}."
        )
    if several:
        said.append(several["words"])
    return said
