r"""How sure a pilot makes a plan: what its recordings tell apart, what new ones will give, how many more to hear.

The way that looks best on a pilot looks better there than it is. Recordings are resampled, the choice is made again on
each resample, and the mean of what the choice looks like there minus what it is on the pilot is the optimism (Efron's
bootstrap); it is taken off. The band around what is left is Student's, from the recordings' own spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .decision import EQUAL, FOUND
from .model import B, Floats, OneEvent, R, Recordings
from .rows import Design, Row, percent, seconds
from .task import Task, in_recordings, wrong_seconds

_REPLICATES = 400
_MANY = 20_000  # recordings beyond which there is nothing left to correct
_WAYS = 48  # ways that are compared on every resample
_WRONG, _RIGHT, _OVERLAP, _FOUND, _EVENTS = range(5)


@dataclass(frozen=True)
class Spread:
    """What each recording (or event) of a pilot contributes to each of a few ways: (units, ways, 5)."""

    parts: Floats
    ways: tuple[Row, ...]
    unit: str

    @classmethod
    def of(cls, task: Task, rows: list[Row]) -> Spread | None:
        """From the pilot's recordings, or from an observed sample of event lengths; None where neither is."""
        model = task.model
        ways = contenders(rows)
        if isinstance(model, Recordings) and not model.drawn and 2 < len(model.unit) <= _MANY:
            parts = [in_recordings(task, labels_of(row)) for row in ways]
            return cls(np.stack(parts, axis=1), tuple(ways), "recording") if parts else None
        values = model.lengths.values if isinstance(model, OneEvent) else None
        if values is not None and values.size > 2:
            parts = [_per_event(task, row) for row in ways]
            return cls(np.stack(parts, axis=1), tuple(ways), "event") if parts else None
        return None

    def including(self, task: Task, row: Row) -> tuple[Spread, int]:
        """The same with this way among the others, and where it stands."""
        if row in self.ways:
            return self, self.ways.index(row)
        part = in_recordings(task, labels_of(row)) if self.unit == "recording" else _per_event(task, row)
        return Spread(np.concatenate((self.parts, part[:, None]), axis=1), (*self.ways, row), self.unit), len(self.ways)

    @cached_property
    def noise(self) -> Floats:
        """The standard error of the difference in mean wrong time between every two ways."""
        wrong = self.parts[:, :, _WRONG]
        both = np.cov(wrong, rowvar=False).reshape(wrong.shape[1], -1)
        own = np.diag(both)
        return np.asarray(np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * both, 0.0) / len(wrong)))

    def margin(self, rows: list[Row], least: Row) -> Floats:
        """By how much each row's wrong time may differ from the least by chance alone; 0 where that is not known."""
        where = {row: k for k, row in enumerate(self.ways)}
        if least not in where or self.unit != "recording":
            return np.zeros(len(rows))
        return np.array([self.noise[where[least], where[row]] if row in where else 0.0 for row in rows])


def labels_of(row: Row) -> Design:
    """The design that gives the same labels at once: halving without wrong answers gives those of its leaves."""
    return Design("fixed", row.segment_length) if row.method == "bisection" else row.design


def _per_event(task: Task, row: Row) -> Floats:
    """The same from the lengths of an observed sample: each event alone in a recording."""
    model = task.model
    assert isinstance(model, OneEvent)
    part = OneEvent(model.lengths, model.longest).measure(labels_of(row), task.criteria)
    times = np.round(part.weight * model.lengths.notes.get("n", len(part.weight))).astype(int).clip(1)
    raw, base = part.raw, part.base
    right = raw[:, R["tp"]] + base[:, B["overlap_time"]] - base[:, B["cover_time"]] - raw[:, R["fp"]]
    columns = wrong_seconds(raw, base), right, base[:, B["overlap_time"]], raw[:, R["n_found"]], base[:, B["n_events"]]
    return np.repeat(np.column_stack(columns), times, axis=0)


def contenders(rows: list[Row]) -> list[Row]:
    """The ways that a resampled pilot might choose: those near the best."""
    finding = [row for row in rows if row.asks and row.event_recall >= FOUND - 0.1]
    finding = sorted(finding or (row for row in rows if row.asks), key=lambda row: row.wrong_time)
    finding = [row for row in finding if row.wrong_time <= 1.6 * finding[0].wrong_time]
    return finding[:: max(1, -(-len(finding) // _WAYS))]


def _choose(wrong: Floats, found: Floats, cost: Floats, noise: Floats) -> Any:
    """The choice of the house on every resample (rows): find 90 %, least wrong time, cheapest of what is as good."""
    usable = found >= FOUND - 1e-9
    usable |= ~usable.any(axis=1, keepdims=True) & (found >= 0.95 * found.max(axis=1, keepdims=True))
    least = np.where(usable, wrong, np.inf).argmin(axis=1)
    best = np.take_along_axis(wrong, least[:, None], axis=1)
    margin = np.maximum(EQUAL * best, noise[least])
    equal = usable & (wrong - best <= margin + 1e-12)
    return np.where(equal, cost[None, :], np.inf).argmin(axis=1)


def how_sure(
    task: Task, known: Spread | None, picked: Row, *, n_events: int, rng: np.random.Generator
) -> dict[str, Any] | None:
    """What new recordings like the pilot's will give, with 90 % bands, and how many events would settle the choice."""
    if known is None or not picked.asks or (picked.method == "bisection" and not task.criteria.certain):
        return None
    spread, own = known.including(task, picked)
    ways = spread.ways
    parts = spread.parts
    n = len(parts)
    gap = spread.noise if spread.unit == "recording" else np.zeros_like(spread.noise)
    cost = np.array([row.cost for row in ways])
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=_REPLICATES).astype(np.float64)
    drawn[0] = 1.0  # the pilot itself
    sums = np.tensordot(drawn, parts, axes=1)  # (replicates, ways, 5)
    kept = (sums[:, own, _EVENTS] > 0) & (sums[:, own, _OVERLAP] > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        words = {
            "overlap_accuracy": sums[..., _RIGHT] / sums[..., _OVERLAP],
            "event_recall": sums[..., _FOUND] / sums[..., _EVENTS],
            "wrong_time": sums[..., _WRONG] / n,
        }
    chosen = _choose(words["wrong_time"], words["event_recall"], cost, gap)
    made: dict[str, Any] = {
        "how": f"{n:,} {spread.unit}s resampled, the choice made again on each",
        "n_events": n_events,
        f"n_{spread.unit}s": n,
    }
    from scipy.special import stdtrit

    tall = float(stdtrit(max(n - 1, 1), 0.95))
    for word, values in words.items():
        looks = values[np.arange(_REPLICATES), chosen]
        optimism = float(np.mean((looks - values[0][chosen])[kept]))
        here = float(values[0, own])
        error = _error(parts[:, own], word, here)
        centre = here - optimism
        low, high = centre - tall * error, centre + tall * error
        if word != "wrong_time":
            centre, low, high = (float(np.clip(each, 0.0, 1.0)) for each in (centre, low, high))
        made[word], made[f"{word}_ci"] = centre, [max(low, 0.0), high]
    lengths = [ways[k].segment_length for k in chosen[kept].tolist() if ways[k].method == picked.method]
    if lengths:
        made["segment_length_ci"] = np.quantile(np.array(lengths, dtype=np.float64), (0.05, 0.95)).tolist()
    least = int(words["wrong_time"][0].argmin())
    close = words["wrong_time"][0] <= words["wrong_time"][0, least] * (1 + EQUAL) + gap[least]
    need = float(np.max(gap[least][close], initial=0.0)) / (EQUAL * max(words["wrong_time"][0, least], 1e-300))
    enough = int(np.ceil(n_events * need**2))
    made["enough"] = max(enough, 1)
    made["more"] = max(0, enough - n_events)
    made["words"] = _said(made)
    return made


def _error(part: Floats, word: str, value: float) -> float:
    """The standard error of a word over recordings: the delta method for ratios of sums."""
    n = len(part)
    above, below = {
        "overlap_accuracy": (part[:, _RIGHT], part[:, _OVERLAP]),
        "event_recall": (part[:, _FOUND], part[:, _EVENTS]),
        "wrong_time": (part[:, _WRONG], np.ones(n)),
    }[word]
    rest = above - value * below
    return float(np.sqrt(n / max(n - 1, 1) * np.sum(rest**2)) / below.sum())


def _said(made: dict[str, Any]) -> str:
    low, high = made["wrong_time_ci"]
    worse, better = made["event_recall_ci"]
    said = (
        f"New recordings will have about {seconds(made['wrong_time'])} of wrong time each ({seconds(low)} to "
        f"{seconds(high)}), with {percent(worse)} to {percent(better)} of events found (90 % bands)"
    )
    if made["more"] <= 0:
        return f"{said}; the {made['n_events']:,} pilot events settle the choice."
    return f"{said}; about {_round(made['more']):,} more pilot events would settle the choice to within 5 %."


def _round(value: int) -> int:
    size = 10 ** max(0, len(str(value)) - 2)
    return int(-(-value // size) * size)
