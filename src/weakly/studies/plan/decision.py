"""Which rows answer: of each role (plain segments, by hand, the best of the rest) the least wrong time among ways that
find nearly all events, and the cheapest that is as good; and which of these is recommended.

Under a target such as ``overlap_accuracy>=0.7`` it is the cheapest way that meets it and is better than asking nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.results import WORDS, Condition
from ...methods.base import Method
from ...methods.problem import FOUND, LabelingProblem, MethodOutcome

EQUAL = 0.05  # wrong times that differ by less than this share of them are practically the same
SLIGHT = 0.02  # and those that differ by less than this share of the event time
SAVES = 2 / 3  # of the work or the wrong time that plain segments and marking by hand take: then a third way is told
MORE = 1.5  # times the cost of the cheapest choice, for less wrong time
ROLES = ("plain", "by_hand", "best")
#: Wrong time over event time at most, and events found at least, of labels that are called so.
VERDICTS = {"good": (0.25, FOUND), "fair": (0.5, 0.75)}
Noise = Callable[[list[MethodOutcome], MethodOutcome], np.ndarray]


#: The sense of every word that a target may be about.
SENSES = {word: "<=" if word == "wrong_time" else ">=" for word in WORDS}


@dataclass(frozen=True)
class Choice:
    """The recommended row, those practically equal to it, whether all that was asked for is met, and what limits it.

    ``limit``: "" if nothing does; "budget" or "target" if it cannot be met; "found" if no way that is better than
    asking nobody finds 90 % of events; "nothing" or "everything" if that is the row, because no way of asking is
    better: labels that are no better than none are never recommended to pay for.
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
        return Choice(min(asking, key=_price), (), False, "budget")
    if not wanted and objective != "wrong_time":
        return _foremost(affordable, objective)
    if not wanted:
        return _decide(affordable, trivial, noise, spare)
    meeting = [row for row in affordable if all(each.met(row) for each in wanted)]
    worth = _better(meeting, trivial[:1])
    enough = [row for row in trivial if all(each.met(row) for each in wanted)]
    if not worth and enough:
        worth = _better(meeting, enough[:1])
    if worth:
        pool = practical(worth)
        return Choice(undominated(min(pool, key=_price), pool), (), True)
    if enough or meeting:
        free = (enough or trivial)[0]
        return Choice(free, (), bool(enough), free.method)
    return Choice(_nearest(affordable, wanted), (), False, "target")


def verdict(row: MethodOutcome, task: LabelingProblem, free: MethodOutcome) -> str:
    """One word: good, fair, poor or worse than nothing (no less wrong time than asking nobody leaves)."""
    if not beats(row, free) and (row.asks or row.event_recall == 0):
        return "worse than nothing"
    for word, (wrong, found) in VERDICTS.items():
        if row.wrong_time <= wrong * task.event_time and row.event_recall >= found - 1e-9:
            return word
    return "poor"


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
    find 90 % of events, if there are such: the least wrong time, without a budget at most half as dear again as the
    cheapest.
    """
    how: dict[str, Any] = {"objective": objective, "wanted": wanted, "budget": budget, "noise": noise, "spare": spare}
    trivial = [row for row in rows if row.design.is_trivial]
    asking = [row for row in rows if row.asks]
    usable = [row for row in asking if not tools or set(tools) & set(row.design.tools)] or asking
    picks = {
        name: choose([*own, *trivial], **{**how, "objective": "wrong_time"})
        if name != "by_hand"
        else _marking(own, how)
        for name in ROLES
        if (own := [row for row in asking if role(row) == name])
    }
    if wanted or objective != "wrong_time" or "by_hand" not in picks:
        own = usable if wanted else [row for row in usable if not row.design.is_strong] or usable
        chosen = choose([*own, *trivial], **how)
    else:
        chosen = _recommended(picks, usable, trivial, budget) or choose([*usable, *trivial], **how)
    name = role(chosen.row)
    picks[name] = chosen
    others = [each.row for key, each in picks.items() if key != "best" and each.row.asks]
    if name != "best" and "best" in picks and not _saves(picks["best"].row, others):
        del picks["best"]
    return chosen, {key: each for key, each in picks.items() if each.row.asks}


def _marking(rows: list[MethodOutcome], how: dict[str, Any]) -> Choice:
    """By hand, or screening first where that saves a third of the cost and loses few events."""
    free = [row for row in rows if all(each.met(row) for each in how["wanted"])] or rows
    hand = min(free, key=lambda row: row.wrong_time)
    less = [row for row in free if row.event_recall >= FOUND - 1e-9 and row.cost <= SAVES * hand.cost]
    row = min(less, key=_price, default=hand)
    paid = how["budget"] is None or row.cost <= how["budget"] * (1 + 1e-12)
    return Choice(row, (), paid and all(each.met(row) for each in how["wanted"]), "" if paid else "budget")


def _saves(row: MethodOutcome, others: list[MethodOutcome]) -> bool:
    """Whether it saves a third of the cost or of the wrong time of all others."""
    return not others or any(
        getattr(row, word) <= SAVES * min(getattr(other, word) for other in others) for word in ("cost", "wrong_time")
    )


def _recommended(
    picks: dict[str, Choice], usable: list[MethodOutcome], trivial: list[MethodOutcome], budget: float | None
) -> Choice | None:
    """Of the choices of every role, none that another dominates: the least wrong of those that cost little more."""
    others = [each.row for name, each in picks.items() if name != "best" and each.row.asks and each.limit != "budget"]
    able = [
        each for name, each in picks.items()
        if each.row in usable and each.limit != "budget" and (name != "best" or _saves(each.row, others))
    ]  # fmt: skip
    better = [each for each in able if _better([each.row], trivial)]
    better = [each for each in better if each.row.event_recall >= FOUND - 1e-9] or better
    least = min((each.row.cost for each in better), default=0.0)
    cheap = [each for each in better if budget is not None or each.row.cost <= MORE * least]  # a budget is for spending
    return min(cheap, key=lambda each: each.row.wrong_time, default=None)


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


def _price(row: MethodOutcome) -> tuple[float, float]:
    return row.cost, row.wrong_time


def _nearest(rows: list[MethodOutcome], wanted: tuple[Condition, ...]) -> MethodOutcome:
    """The row that misses the targets by the smallest share of them; of those as near, a practical and cheap one."""

    def missing(row: MethodOutcome) -> float:
        return max(max(each.shortfall(row), 0.0) / max(abs(each.value), 1e-9) for each in wanted)

    least = min(map(missing, rows))
    near = [row for row in rows if missing(row) <= least + 1e-12]
    near = practical(near)
    return undominated(min(near, key=_price), near)


def _foremost(rows: list[MethodOutcome], objective: str) -> Choice:
    """The best accuracy near events, or the least wrong time, whatever it costs."""
    if objective == "recording":
        least = min(rows, key=lambda row: (row.wrong_time, row.cost))
        return Choice(undominated(least, rows), (least,), True)
    same = [row for row in rows if row.hop is None] or rows  # the moments of windows are other segments
    top = max(row.overlap_accuracy for row in same)
    best = [row for row in same if row.overlap_accuracy >= top - 1e-12]
    return Choice(min(best, key=lambda row: (not row.design.is_plain, row.cost)), (), True)


def _decide(
    rows: list[MethodOutcome], trivial: list[MethodOutcome], noise: Noise | None, spare: MethodOutcome | None
) -> Choice:
    """The rule of the house: find 90 % of events, bear to do it, least wrong time, the cheapest of what is as good."""
    finding = [row for row in rows if row.event_recall >= FOUND - 1e-9]
    pool, limit = practical(_better(finding, trivial[:1])), ""
    if not pool and not (trivial and trivial[0].event_recall >= FOUND):
        worth, limit = _better(rows, trivial[:1]), "found"
        most = max((row.event_recall for row in worth), default=0.0)
        pool = practical([row for row in worth if row.event_recall >= 0.95 * most])
    if not pool:
        return Choice(trivial[0], (), True, trivial[0].method)
    least = min(pool, key=lambda row: (row.wrong_time, row.cost))
    event_time = next((row.wrong_time for row in trivial if row.event_recall == 0), 0.0)
    margin = np.full(len(pool), max(EQUAL * least.wrong_time, SLIGHT * event_time))
    if noise is not None:
        margin = np.maximum(margin, noise(pool, least))
    equal = [row for row, most in zip(pool, margin) if row.wrong_time - least.wrong_time <= most + 1e-12]
    first = min([row for row in equal if row is not spare] or equal, key=_price)
    return Choice(undominated(first, pool), tuple(equal), True, limit)


def undominated(picked: MethodOutcome, rows: list[MethodOutcome]) -> MethodOutcome:
    """The row itself, or one that is at least as good in wrong time, events found and cost, and better in one."""
    while better := [row for row in rows if row.asks and row.dominates(picked)]:
        picked = min(better, key=lambda row: (row.wrong_time, row.cost))
    return picked


def on_the_edge(
    task: LabelingProblem,
    rows: list[MethodOutcome],
    *,
    wanted: tuple[Condition, ...],
    budget: float | None,
) -> list[MethodOutcome]:
    """Rows at the lengths where a target is just met or the budget just lasts, which the grid only brackets."""
    tests: list[Callable[[MethodOutcome], bool]] = [each.met for each in wanted]
    if budget is not None:
        tests.append(lambda row: row.cost <= budget * (1 + 1e-12))
    extra: list[MethodOutcome] = []
    for kind in dict.fromkeys(type(row.design) for row in rows):
        own = [row for row in rows if type(row.design) is kind and row.segment_length is not None]
        ladder = sorted(own, key=lambda row: row.segment_length or 0.0)
        for test in tests:
            flags = np.array([test(row) for row in ladder])
            for k in np.flatnonzero(flags[1:] != flags[:-1])[:6]:
                extra += _zoom(task, kind, ladder[k], ladder[k + 1], test)
    return extra


def _zoom(
    task: LabelingProblem,
    kind: type[Method],
    below: MethodOutcome,
    above: MethodOutcome,
    test: Callable[[MethodOutcome], bool],
) -> list[MethodOutcome]:
    low, high = float(below.segment_length or 0.0), float(above.segment_length or 0.0)
    passed: list[MethodOutcome] = []
    for _ in range(3):
        made = kind.at_lengths(task, np.geomspace(low, high, 8)[1:-1].tolist())
        passed += [row for row in made if test(row)]
        flags = [test(below), *(test(row) for row in made), test(above)]
        turn = next((k for k in range(len(flags) - 1) if flags[k] != flags[k + 1]), None)
        if turn is None:
            break
        every = [below, *made, above]
        below, above = every[turn], every[turn + 1]
        low, high = float(below.segment_length or 0.0), float(above.segment_length or 0.0)
    return passed
