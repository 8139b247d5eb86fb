"""Which rows answer: of each role (plain segments, by hand, the best of the rest) the least wrong time among ways that
find nearly all events, and the cheapest that is as good; and which of these is recommended.

Under a target such as ``overlap_accuracy>=0.7`` it is the cheapest way that meets it and is better than asking nobody.

How sure a pilot makes the choice: the way that looks best on a pilot looks better there than it is. So every recording
is scored by the choice that the others make (cross-fitting), and with its events elsewhere on the grid, as in new
recordings: what comes out is what the choice is worth where it had no say. The band around it is Student's, from a
jackknife over the recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from ...base.results import WORDS, Condition, percent, seconds
from ...base.symbols import plain_name
from ...methods.fixed import Placed
from ...methods.model import RecordingModel, SingleEventModel
from ...methods.problem import FOUND, LabelingProblem, MethodOutcome, contributions, in_recordings
from ...model.intervals import Floats, Ints

EQUAL = 0.05  # wrong times that differ by less than this share of them are practically the same
SLIGHT = 0.02  # and those that differ by less than this share of the event time
SAVES = 2 / 3  # of the work or the wrong time that plain segments and marking by hand take: then a third way is told
BETTER = 3.0  # times the cost of the cheapest choice, for a better verdict
MORE = 1.5  # times the cost of the cheapest choice of the same verdict, for less wrong time
ROLES = ("plain", "by_hand", "best")
#: Wrong time over event time at most, and events found at least, of labels that are called so.
VERDICTS = {"good": (0.25, FOUND), "fair": (0.5, 0.75)}
#: The sense of every word that a target may be about.
SENSES = {word: "<=" if word == "wrong_time" else ">=" for word in WORDS}
PRICE = attrgetter("cost", "wrong_time")
_MANY = 20_000  # recordings beyond which there is nothing left to correct
_MOVED = 200_000  # events times phases
_CLASS = 500  # events take as long as the fixed cost of a class
_WAYS = 48  # ways that are compared on every resample
_AROUND = 6.0  # times the best length, and shorter
_FEW = 10  # units that tell too little to settle anything, or to say how many would
_SURE = 1.645  # standard errors of a 90 % band
_NEVER = 1e4  # times the pilot: no number is named beyond
_TAILS = {"overlap_accuracy": 3}  # units that count as one degree of freedom, where not two do
_WRONG, _RIGHT, _OVERLAP, _FOUND, _EVENTS = range(5)
Noise = Callable[[list[MethodOutcome], MethodOutcome], np.ndarray]


@dataclass(frozen=True)
class Choice:
    """The recommended row, those practically equal to it, whether all that was asked for is met, and what limits it.

    ``limit``: "" if nothing does; "budget" if it pays for a part of the row, which leaves less wrong time than what it
    pays for as a whole; "target" if it cannot be met; "found" if no way that is better than asking nobody finds 90 % of
    events; "nothing" or "everything" if that is the row, because no way of asking is better: labels that are no better
    than none are never recommended to pay for.
    """

    row: MethodOutcome
    equal: tuple[MethodOutcome, ...]
    reachable: bool
    limit: str = ""


def choose(
    rows: list[MethodOutcome], *, objective: str, wanted: tuple[Condition, ...], budget: float | None,
    noise: Noise | None = None, spare: MethodOutcome | None = None,
) -> Choice:  # fmt: skip
    """The row to recommend among all that can be carried out; of those that are as good, the spare one last."""
    trivial = sorted((row for row in rows if row.design.is_trivial), key=lambda row: row.wrong_time)
    asking = [row for row in rows if row.asks]
    affordable = [row for row in asking if budget is None or row.cost <= budget * (1 + 1e-12)]
    if not affordable:
        return _in_part(choose(rows, objective=objective, wanted=wanted, budget=None, noise=noise, spare=spare))
    if not wanted and objective != "wrong_time":
        return _foremost(affordable)
    if not wanted:
        return _decide(affordable, trivial, noise, spare)
    meeting = [row for row in affordable if all(each.met(row) for each in wanted)]
    worth = _better(meeting, trivial[:1])
    enough = [row for row in trivial if all(each.met(row) for each in wanted)]
    if not worth and enough:
        worth = _better(meeting, enough[:1])
    if worth:
        pool = practical(worth)
        return Choice(undominated(min(pool, key=PRICE), pool), (), True)
    if enough or meeting:
        free = (enough or trivial)[0]
        return Choice(free, (), bool(enough), free.method)

    def missing(row: MethodOutcome) -> float:  # the largest share of a target
        return max(max(each.shortfall(row), 0.0) / max(abs(each.value), 1e-9) for each in wanted)

    least = min(map(missing, affordable))
    near = practical([row for row in affordable if missing(row) <= least + 1e-12])
    return Choice(undominated(min(near, key=PRICE), near), (), False, "target")


def verdict(row: MethodOutcome, rows: Iterable[MethodOutcome]) -> str:
    """One word: good, fair, poor or worse than nothing (no less wrong time than asking nobody leaves, by the rows)."""
    trivial = [each for each in rows if each.design.is_trivial]
    if not beats(row, free(trivial)) and (row.asks or row.event_recall == 0):
        return "worse than nothing"
    for word, (wrong, found) in VERDICTS.items():
        if row.wrong_time <= wrong * _event_time(trivial) and row.event_recall >= found - 1e-9:
            return word
    return "poor"


def _event_time(trivial: list[MethodOutcome]) -> float:
    """What labelling nothing gets wrong."""
    return next((row.wrong_time for row in trivial if row.event_recall == 0), 0.0)


def role(row: MethodOutcome) -> str:
    """What a way is among the choices of a lab."""
    return "plain" if row.design.is_plain else "by_hand" if row.design.is_strong else "best"


def decide(
    rows: list[MethodOutcome], *, objective: str, wanted: tuple[Condition, ...], budget: float | None,
    noise: Noise | None = None, spare: MethodOutcome | None = None, tools: tuple[str, ...] = (),
) -> tuple[Choice, dict[str, Choice]]:  # fmt: skip
    """The recommended choice, and the best of every role.

    Under a target it is the cheapest that meets it; under another objective than wrong time the foremost of those that
    ask; where marking by hand is not compared the least wrong time, of what is as good the cheapest. Else, of the
    choices that can be paid for, that the tools allow and that leave less wrong time than asking nobody, those that
    find 90 % of events, if there are such. With a budget, the least wrong time of them; without one, the best verdict
    that costs at most three times as much as the cheapest, and of those with this verdict the least wrong time that
    costs at most half as much again. Of the choices without a budget it is the one that it pays for
    in part, where that leaves less wrong time.
    """
    how: dict[str, Any] = {"objective": objective, "wanted": wanted, "budget": budget, "noise": noise, "spare": spare}
    trivial = [row for row in rows if row.design.is_trivial]
    asking = [row for row in rows if row.asks]
    usable = [row for row in asking if not tools or set(tools) & set(row.design.tools)] or asking
    picks = {}
    for name in ROLES:
        if own := [row for row in asking if role(row) == name]:
            picks[name] = choose([*own, *trivial], **{**how, "objective": "wrong_time"})
    if wanted or objective != "wrong_time" or "by_hand" not in picks:
        own = usable if wanted else [row for row in usable if not row.design.is_strong] or usable
        chosen = choose([*own, *trivial], **how)
    else:
        chosen = _recommended(picks, usable, trivial, budget) or choose([*usable, *trivial], **how)
    if budget is not None and objective == "wrong_time" and not wanted:
        nobody, wholes = free(trivial).wrong_time, decide(rows, **{**how, "budget": None}, tools=tools)[1].values()
        dear = [_in_part(each) for each in wholes if each.row in usable and each.row.cost > budget * (1 + 1e-12)]

        def left(choice: Choice) -> float:  # if the budget is spent on as many recordings as it pays for
            share = min(1.0, budget / max(choice.row.cost, 1e-300))
            return nobody - share * (nobody - choice.row.wrong_time)

        chosen = min([chosen, *dear], key=left)
    name = role(chosen.row)
    picks[name] = chosen
    others = [each.row for key, each in picks.items() if key != "best" and each.row.asks]
    if name != "best" and "best" in picks and not _saves(picks["best"].row, others):
        del picks["best"]
    return chosen, {key: each for key, each in picks.items() if each.row.asks}


def _in_part(choice: Choice) -> Choice:
    """The choice for as many recordings as a budget pays for; asking nobody costs nothing."""
    return replace(choice, reachable=False, limit="budget") if choice.row.asks else choice


def _saves(row: MethodOutcome, others: list[MethodOutcome]) -> bool:
    """Whether it saves a third of the cost or of the wrong time of all others."""
    return not others or any(
        getattr(row, word) <= SAVES * min(getattr(other, word) for other in others) for word in ("cost", "wrong_time")
    )


def _recommended(
    picks: dict[str, Choice], usable: list[MethodOutcome], trivial: list[MethodOutcome], budget: float | None
) -> Choice | None:
    """Of the choices of every role the one that a lab would take, none that another dominates."""
    others = [each.row for name, each in picks.items() if name != "best" and each.row.asks and each.limit != "budget"]
    able = [
        each for name, each in picks.items()
        if each.row in usable and each.limit != "budget" and (name != "best" or _saves(each.row, others))
    ]  # fmt: skip
    kept = [each for each in able if _better([each.row], trivial)]
    kept = [each for each in kept if each.row.finds] or kept
    if kept and budget is None:  # which is for spending
        kept = [each for each in kept if each.row.cost <= BETTER * min(each.row.cost for each in kept)]
        words = [verdict(each.row, trivial) for each in kept]
        best = min(words, key=[*VERDICTS, "poor"].index)
        kept = [each for each, word in zip(kept, words) if word == best]
        kept = [each for each in kept if each.row.cost <= MORE * min(each.row.cost for each in kept)]
    return min(kept, key=lambda each: each.row.wrong_time, default=None)


def _better(rows: list[MethodOutcome], trivial: list[MethodOutcome]) -> list[MethodOutcome]:
    """The rows that leave less wrong time than these ways of asking nobody."""
    return [row for row in rows if all(beats(row, free) for free in trivial)]


def free(rows: Iterable[MethodOutcome]) -> MethodOutcome:
    """The better way of asking nobody."""
    return min((row for row in rows if row.design.is_trivial), key=lambda row: row.wrong_time)


def beats(row: MethodOutcome, free: MethodOutcome) -> bool:
    """Whether it leaves less wrong time than a way of asking nobody."""
    return row.wrong_time < free.wrong_time * (1 - 1e-9)


def practical(rows: list[MethodOutcome]) -> list[MethodOutcome]:
    """Those that people bear, or all where none is."""
    return [row for row in rows if row.is_practical] or rows


def _foremost(rows: list[MethodOutcome]) -> Choice:
    """The best accuracy near events, whatever it costs."""
    same = [row for row in rows if row.hop is None] or rows  # the moments of windows are other segments
    top = max(row.overlap_accuracy for row in same)
    best = [row for row in same if row.overlap_accuracy >= top - 1e-12]
    return Choice(min(best, key=lambda row: (not row.design.is_plain, row.cost)), (), True)


def _decide(
    rows: list[MethodOutcome], trivial: list[MethodOutcome], noise: Noise | None, spare: MethodOutcome | None
) -> Choice:
    """The rule of the house: find 90 % of events, bear to do it, least wrong time, the cheapest of what is as good."""
    finding = [row for row in rows if row.finds]
    pool, limit = practical(_better(finding, trivial[:1])), ""
    if not pool and not (trivial and trivial[0].event_recall >= FOUND):
        worth, limit = _better(rows, trivial[:1]), "found"
        most = max((row.event_recall for row in worth), default=0.0)
        pool = practical([row for row in worth if row.event_recall >= 0.95 * most])
    if not pool:
        return Choice(trivial[0], (), True, trivial[0].method)
    least = min(pool, key=lambda row: (row.wrong_time, row.cost))
    margin = np.full(len(pool), max(EQUAL * least.wrong_time, SLIGHT * _event_time(trivial)))
    if noise is not None:
        margin = np.maximum(margin, noise(pool, least))
    equal = [row for row, most in zip(pool, margin) if row.wrong_time - least.wrong_time <= most + 1e-12]
    first = min([row for row in equal if row is not spare] or equal, key=PRICE)
    return Choice(undominated(first, pool), tuple(equal), True, limit)


def undominated(picked: MethodOutcome, rows: list[MethodOutcome]) -> MethodOutcome:
    """The row itself, or one that is at least as good in wrong time, events found and cost, and better in one."""
    while better := [row for row in rows if row.asks and row.dominates(picked)]:
        picked = min(better, key=lambda row: (row.wrong_time, row.cost))
    return picked


@dataclass(frozen=True)
class PilotVariation:
    """What each recording (or event) of a pilot contributes to each of a few ways: (units, ways, 5)."""

    parts: Floats
    ways: tuple[MethodOutcome, ...]
    unit: str

    @classmethod
    def of(cls, task: LabelingProblem, rows: list[MethodOutcome]) -> PilotVariation | None:
        """From the pilot's recordings, or from an observed sample of event lengths; None where neither is."""
        model = task.model
        if not task.slipping.is_monotone:  # then halving does not give the labels of its leaves
            rows = [row for row in rows if row.design.same_labels == row.design]
        ways = contenders(rows, _WAYS if task.n_events * task.model.count < _MANY else _WAYS // 4)
        is_single = isinstance(model, SingleEventModel)
        units = model.lengths.values if isinstance(model, SingleEventModel) else None if model.drawn else model.lengths
        if not ways or units is None or not 2 < len(units) <= (np.inf if is_single else _MANY):
            return None
        parts = [_contributions(task, row) for row in ways]
        return cls(np.stack(parts, axis=1), tuple(ways), "event" if is_single else "recording")

    def moved(self, task: LabelingProblem) -> Floats:
        """The parts over evenly spread phases of the grid: new events do not lie where the pilot's happen to."""
        if self.unit == "event":
            return self.parts
        count = int(np.clip(_MOVED / max(self.parts[:, 0, _EVENTS].sum(), _CLASS * task.n_classes), 1, 8))
        made = []
        for k, row in enumerate(self.ways):
            way = row.design.same_labels
            fine = row.hop is not None and row.hop < task.lengths.mean / 20  # then where it starts hardly matters
            widest = max(getattr(own, "segment_length", 0.0) for _, own in row.passes or (((), way),))
            long = task.recording_length >= 5 * widest and not fine
            shifts = [j / count for j in range(1, count)] if long else []
            total = self.parts[:, k] + sum(in_recordings(task, way, shift) for shift in shifts)
            made.append(total / (1 + len(shifts)))
        return np.stack(made, axis=1)

    def including(self, task: LabelingProblem, row: MethodOutcome) -> tuple[PilotVariation, int]:
        """The same with this way among the others, and where it stands."""
        if row in self.ways:
            return self, self.ways.index(row)
        parts = np.concatenate((self.parts, _contributions(task, row)[:, None]), axis=1)
        return PilotVariation(parts, (*self.ways, row), self.unit), len(self.ways)

    @cached_property
    def noise(self) -> Floats:
        """The standard error of the difference in mean wrong time between every two ways."""
        wrong = self.parts[:, :, _WRONG]
        both = np.cov(wrong, rowvar=False).reshape(wrong.shape[1], -1)
        own = np.diag(both)
        return np.asarray(np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * both, 0.0) / len(wrong)))

    def margin(self, rows: list[MethodOutcome], least: MethodOutcome) -> Floats:
        """By how much each row's wrong time may differ from the least by chance alone; 0 where that is not known."""
        where = {row: k for k, row in enumerate(self.ways)}
        if least not in where or self.unit != "recording":
            return np.zeros(len(rows))
        return np.array([self.noise[where[least], where[row]] if row in where else 0.0 for row in rows])


def _contributions(task: LabelingProblem, row: MethodOutcome) -> Floats:
    """What each recording contributes; of an observed sample of lengths each event alone, in so many recordings as hold
    one."""
    model, design = task.model, row.design.same_labels
    if isinstance(model, RecordingModel):
        return in_recordings(task, design)
    assert isinstance(design, Placed)
    part = SingleEventModel(model.lengths, model.longest).measure(design, task.answers_of(design))
    times = np.round(part.weight * model.lengths.notes.get("n", len(part.weight))).astype(int).clip(1)
    return task.n_events * np.repeat(contributions(part.raw, part.base), times, axis=0)


def contenders(rows: list[MethodOutcome], most: int) -> list[MethodOutcome]:
    """The ways that a resampled pilot might choose: of every method, the lengths around its best, however they do on
    this pilot. Only the good ones would let the recordings that are held back have a say."""
    made: list[MethodOutcome] = []
    rows = [row for row in practical(rows) if row.asks and row.design.same_labels.is_placed]
    for method in dict.fromkeys(row.method for row in rows if not row.passes):
        own = sorted((row for row in rows if row.method == method), key=lambda row: row.rank)
        centre = own[0].length
        made += [row for row in own if centre / _AROUND <= row.length <= centre * _AROUND]
    made = sorted((*made, *(row for row in rows if row.passes)), key=lambda row: row.rank)
    return made[:: max(1, -(-len(made) // most))]


def _choose(sums: Floats, n: int, cost: Floats, noise: Floats, slight: float) -> Any:
    """The choice of the house on the sums of every resample of n units (rows): find 90 %, least wrong time, cheapest of
    what is as good; so many seconds are slight."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.nan_to_num(sums[..., _FOUND] / sums[..., _EVENTS])
    wrong, usable = sums[..., _WRONG] / n, found >= FOUND - 1e-9
    # where none finds 90 %, those that find nearly as many as any
    usable |= ~usable.any(axis=1, keepdims=True) & (found >= 0.95 * found.max(axis=1, keepdims=True))
    least = np.where(usable, wrong, np.inf).argmin(axis=1)
    best = np.take_along_axis(wrong, least[:, None], axis=1)
    margin = np.maximum(np.maximum(EQUAL * best, slight), noise[least])
    equal = usable & (wrong - best <= margin + 1e-12)
    return np.where(equal, cost[None, :], np.inf).argmin(axis=1)


def _not_refused(parts: Floats, own: int, cost: Floats, gap: Floats, slight: float) -> Ints:
    """The ways without those that would be chosen before the picked one but were not: they were refused for what is
    not known here (too much to hear, a budget, a target), as they would be by any other pilot."""
    kept = np.arange(len(cost))
    while True:
        total = parts[:, kept].sum(axis=0)[None]
        first = int(_choose(total, len(parts), cost[kept], gap[np.ix_(kept, kept)], slight)[0])
        if kept[first] == own:
            return kept
        kept = np.delete(kept, first)


def how_sure(
    task: LabelingProblem, known: PilotVariation, picked: MethodOutcome, *, n_events: int,
    limits: tuple[Condition, ...] = (), ruled: bool = True,
) -> dict[str, Any] | None:  # fmt: skip
    """What new recordings like the pilot's will give, with 90 % bands, and how many events would settle the choice.

    The choice is settled where the wrong times of the ways that may be best are told apart or known as alike, where it
    stays as good without any one of at least ten units, and where every band lies on the side of what the choice was
    held to (``limits``) on which it was seen; of a choice that wrong time did not rule (``ruled``) only the limits are
    judged, and no other pilot's choice is known. A word that is the same for all units has no band.
    """
    from scipy.special import betaincinv

    if not picked.asks or not picked.design.same_labels.is_placed:
        return None
    if not task.answers_of(picked.design).is_monotone and not isinstance(picked.design, Placed):
        return None
    spread, own = known.including(task, picked)
    ways = spread.ways
    gap = spread.noise if spread.unit == "recording" else np.zeros_like(spread.noise)
    slight = SLIGHT * task.event_time
    cost = np.array([row.cost for row in ways])
    kept = _not_refused(spread.parts, own, cost, gap, slight) if ruled else np.array([own])
    spread = PilotVariation(spread.parts[:, kept], tuple(ways[k] for k in kept), spread.unit)
    ways, own, gap = spread.ways, int(np.flatnonzero(kept == own)[0]), gap[np.ix_(kept, kept)]
    parts, there = spread.parts, spread.moved(task)
    n, cost = len(parts), cost[kept]
    others = parts.sum(axis=0) - parts  # (units, ways, 5): the pilot without each of its units
    chosen = _choose(others, max(n - 1, 1), cost, gap, slight)
    held = there[np.arange(n), chosen]  # what the choice of the others makes of each unit
    how = f"each of {n:,} {spread.unit}s scored by {'the choice of the others' if ruled else 'this way'}"
    made: dict[str, Any] = {"how": how, "n_events": n_events, f"n_{spread.unit}s": n}
    for word in ("overlap_accuracy", "event_recall", "wrong_time"):
        centre, error, tall = _promise(held, word)
        each = np.array([_promise(there[:, k], word)[0] for k in range(len(ways))])[chosen]
        varies = np.sqrt((n - 1) / n * np.sum((each - each.mean()) ** 2))  # the choice does too
        error = float(np.hypot(error, varies))
        low, high = centre - tall * error, centre + tall * error
        if word == "event_recall":  # where all were found, the next may still be lost: Jeffreys' limits at least
            found, lost = there[:, own, _FOUND].sum(), (there[:, own, _EVENTS] - there[:, own, _FOUND]).sum()
            low = min(low, float(betaincinv(found + 0.5, lost + 0.5, 0.05)) if found > 0 else 0.0)
            high = max(high, float(betaincinv(found + 0.5, lost + 0.5, 0.95)) if lost > 1e-9 else 1.0)
        if word != "wrong_time":
            centre, low, high = (float(np.clip(each, 0.0, 1.0)) for each in (centre, low, high))
        made[word] = centre
        if high > max(low, 0.0) + 1e-9 + 1e-6 * abs(centre):
            made[f"{word}_ci"] = [max(low, 0.0), high]
    wrong = parts[..., _WRONG].mean(axis=0)
    stable = bool((np.abs(wrong[chosen] - wrong[own]) <= max(EQUAL * wrong[own], slight)).all())
    need = _told_apart(spread, slight)
    doubts = [each for each in limits if not _on_its_side(made, each, picked)]
    made["settled"] = ruled and n >= _FEW and stable and need <= 1 and not doubts and "wrong_time_ci" in made
    made["more"] = int(np.ceil(n_events * (need - 1))) if n >= _FEW and 1 < need < _NEVER else None
    made["words"] = _said(made, spread.unit, doubts, ruled)
    return made


def _told_apart(spread: PilotVariation, slight: float) -> float:
    """How many times the pilot would tell apart the wrong times of the best ways, or know that they are as good."""
    total = spread.parts.sum(axis=0)
    wrong = total[:, _WRONG] / len(spread.parts)
    finds = total[:, _FOUND] >= (FOUND - 1e-9) * total[:, _EVENTS]
    least = int(np.where(finds | ~finds.any(), wrong, np.inf).argmin())
    noise, behind = spread.noise[least], np.maximum(np.abs(wrong - wrong[least]), 1e-300)
    close = np.minimum(noise / max(EQUAL * wrong[least], slight, 1e-300), _SURE * noise / behind)
    return float(np.max(close[finds | ~finds.any()], initial=0.0)) ** 2


def _on_its_side(made: dict[str, Any], limit: Condition, picked: MethodOutcome) -> bool:
    """Whether the whole band of a word lies on the side of the limit on which the pilot itself has it."""
    low, high = made.get(f"{limit.word}_ci", (-np.inf, np.inf))
    above = limit.met(picked) == (limit.word != "wrong_time")
    return bool(low >= limit.value - 1e-9 if above else high <= limit.value + 1e-9)


def _promise(held: Floats, word: str) -> tuple[float, float, float]:
    """A word over units, its jackknife standard error, and Student's factor. Of units that hold uneven parts of the
    events, about half as many count as their squared weights tell, and a third for the accuracy (measured:
    benchmarks/bench_coverage.py)."""
    from scipy.special import stdtrit

    n = len(held)
    above, below = {
        "overlap_accuracy": (held[:, _RIGHT], held[:, _OVERLAP]),
        "event_recall": (held[:, _FOUND], held[:, _EVENTS]),
        "wrong_time": (held[:, _WRONG], np.ones(n)),
    }[word]
    total = max(float(below.sum()), 1e-300)
    value = float(above.sum()) / total
    without = (above.sum() - above) / np.maximum(total - below, 1e-12 * total)
    error = float(np.sqrt((n - 1) / n * np.sum((without - value) ** 2)))
    weight = held[:, _OVERLAP] if held[:, _OVERLAP].any() else below
    count = float(weight.sum() ** 2 / np.sum(weight**2))
    return value, error, float(stdtrit(max(count / _TAILS.get(word, 2), 1.0), 0.95))


def _said(made: dict[str, Any], unit: str, doubts: list[Condition], ruled: bool) -> str:
    if "wrong_time_ci" not in made:
        alike = f"The {made[f'n_{unit}s']:,} {unit}s of the pilot are alike in wrong time"
        return f"{alike}: how much others will have cannot be told from them."
    low, high = made["wrong_time_ci"]
    worse, better = made.get("event_recall_ci", [made["event_recall"]] * 2)
    found = f"{percent(worse)} to {percent(better)}" if percent(worse) != percent(better) else percent(better)
    band = f" ({seconds(low)} to {seconds(high)})" if seconds(low) != seconds(high) else ""
    said = (
        f"New recordings will have about {seconds(made['wrong_time'])} of wrong time each{band}, with {found} of "
        "events found (90 % bands)"
    )
    if made["settled"]:
        return f"{said}; the {made['n_events']:,} pilot events settle the choice."
    if not ruled and not doubts:
        return f"{said}."
    if made["more"] is None or doubts:
        what = f"whether this meets {' and '.join(map(goal, doubts))}" if doubts else "the choice"
        return f"{said}; the {made['n_events']:,} pilot events do not settle {what}."
    size = 10 ** max(0, len(str(made["more"])) - 2)
    more = -(-made["more"] // size) * size
    return f"{said}; about {more:,} more pilot events would settle the choice to within 5 %."


def goal(target: Condition) -> str:
    """A target as people say it.

    >>> goal(Condition("event_recall", ">=", 0.9)), goal(Condition("wrong_time", "<=", 2.0))
    ('events found at least 90 %', 'wrong time per recording at most 2 s')
    """
    if target.word == "wrong_time":
        return f"{plain_name(target.word)} at most {target.value:g} s"
    return f"{plain_name(target.word)} at least {percent(target.value, exact=True)}"
