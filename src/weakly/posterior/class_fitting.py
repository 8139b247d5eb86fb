"""How answers about many recordings of one class become a :class:`~.class_posterior.ClassPosterior`.

:func:`class_posterior` prepares the answers, estimates the process where it is not given (:mod:`.fitting`), in turn
with how often people guess and lapse where that is asked for, and draws timelines of every recording. The process is
looked for in steps twice as long where they still resolve segments and events; timelines are in steps as asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from ..base.parallel import Progress, in_order
from ..model.answer_model import AnswerModels
from ..model.intervals import merge
from ..model.lengths import Lengths
from .chain import Contradiction, Prepared, prepare
from .class_posterior import (
    CRITERIA,
    SLIP,
    WORTH,
    AnswerPattern,
    ClassPosterior,
    RecordingPosterior,
    shares_of,
    split,
    strata_of,
)
from .detector import Calibration, calibrate
from .fitting import STAGES, Explored, Family, Mode, explore, fit, run_all
from .predictive import check
from .renewal import Array, Renewal, Uncertain

_MOST_STEPS = 4000  # of an event whose law is left out
_NODES = (16, 64)  # drawn at a time, for one parameter and for several
_TURNS = 5  # of estimates of slips and of the process in turn
_MOST_SLIPS = 0.4  # that are taken


def _slipping(who: AnswerModels, counts: Array) -> AnswerModels:
    """The same with rates from guesses, answers where one can guess, lapses and answers where one can lapse."""
    guess, lapse = (float((wrong + SLIP * WORTH) / (n + WORTH)) for wrong, n in (counts[:2], counts[2:]))
    return who.with_noise(min(guess, _MOST_SLIPS), min(lapse, _MOST_SLIPS))


def class_posterior(
    label: str,
    patterns: Sequence[AnswerPattern],
    annotator: Any,
    *,
    slips: bool,
    law: Lengths | None,
    event_rate: float | None,
    step: float,
    draws: int,
    rng: np.random.Generator,
    executor: Executor,
    progress: Progress,
    order: Mapping[str, int],
    bouts: bool | None = None,
    integrated: bool = True,
    length_variation: float = 0.0,
    calibration: Calibration | None = None,
    process: Uncertain | None = None,
) -> ClassPosterior:
    """One class: answers prepared, process estimated, timelines drawn; ``slips``: guesses and lapses of all as well;
    ``order``: the place of each recording; ``bouts``: whether events come in bouts, left out, by the evidence;
    ``integrated``: over what is uncertain of the process, or at its likeliest alone; ``length_variation``: the
    coefficient of variation of mean lengths between recordings; ``calibration`` of scores, left out, by the answers;
    ``process``: the one that other recordings told."""
    widths = np.concatenate([p.segments[:, 1] - p.segments[:, 0] for p in patterns])
    middle = float(np.exp(np.log(widths).mean())) / 2 if len(widths) else 1.0
    times = np.array([len(p.recordings) for p in patterns], dtype=np.float64)
    painted = max(float(np.ptp(merge(p.segments[p.present == 1]), axis=1).max(initial=0.0)) for p in patterns)
    top = min(max(p.length for p in patterns), max(4 * float(widths.max(initial=0.0)), 20 * middle, 2 * painted))

    def family(step: float, stages: int = 0) -> Family:
        longest = min(_MOST_STEPS, math.ceil(top / step)) if law is None else len(Renewal(law, 0.0, step).steps)
        return Family(step, longest, law, middle, stages)

    def prepared(who: Any, step: float, calibration: Calibration | None = None) -> list[Prepared]:
        """The answers ready for processes in these steps."""
        longest = family(step).longest
        lengths = Lengths.sample(step * np.arange(1, longest + 1)) if law is None else law
        base = Renewal.from_gaps(lengths, gap=100 * step, step=step, longest=longest)
        base = base if process is None else process.members[0]
        work = [(p, base, who, label, calibration) for p in patterns]
        return list(in_order(_prepared, work, executor=executor, progress=progress, label=f"{label}: answers"))

    def modes(ready: Sequence[Prepared], last: Sequence[Mode]) -> list[Mode]:
        """The likeliest process with gaps of one kind, and of two; ``last``: from where to search."""
        step = ready[0].grid.step
        found = [fit(ready, times, family(step), start=last[0].theta if last else None, executor=executor)]
        for many in stages[:1]:
            begin = last[1].theta if last else family(step, many).start(found[0].theta)
            found.append(fit(ready, times, family(step, many), start=begin, executor=executor))
        return found

    stages = () if bouts is False else STAGES if law is not None else STAGES[::2]
    given = None if event_rate is None or law is None else family(step).with_rate(event_rate)
    if process is not None:
        given = process.members[int(process.weights.argmax())]
    shortest = float(np.quantile(widths, 0.05)) if len(widths) else 0.0
    fine_enough = 2 * step <= min(shortest / 4, (middle if law is None else float(law.quantile(0.5))) / 4 * (1 + 1e-9))
    rough = step if given is not None or not fine_enough else 2 * step
    counts: dict[str, Array] = {}
    who = {name: annotator for p in patterns for name in p.annotators} if slips else annotator
    found: list[Mode] = []
    for turn in range(_TURNS if slips else 1):
        try:
            ready = prepared(who, rough)
        except Contradiction:  # of long steps, perhaps
            if rough == step:
                raise
            rough = step
            ready = prepared(who, rough)
        found = [] if given is not None else modes(ready, found)
        if not slips or turn == _TURNS - 1:
            break
        counts = _slips(patterns, times, ready, given or _likeliest(found, bouts).renewal, executor)
        after = {name: _slipping(one, counts[name]) for name, one in who.items()}
        if all(abs(one.low - after[name].low) + abs(one.high - after[name].high) < 2e-3 for name, one in who.items()):
            break
        who = after
    families: tuple[Explored, ...] = ()
    if given is not None:
        log_likelihood = float(times @ run_all(ready, given, executor=executor)[0])
    elif integrated:
        how: Any = {"rng": rng, "executor": executor}
        every = [explore(ready, times, one, nodes=_NODES[len(one.theta) > 1], **how) for one in found]
        for many in stages[1:]:  # their likely processes are near those of one stage
            one = Mode(family(rough, many), every[1].mode.theta, -math.inf, -math.inf)
            every.append(explore(ready, times, one, nodes=_NODES[1], near=every[1], **how))
        families = tuple(every[1 if bouts else 0 :])
        log_likelihood = max(each.mode.log_likelihood for each in families)
    else:
        best = _likeliest(found, bouts)
        families = (Explored(best, best.theta[None], np.ones(1), best.score),)
        log_likelihood = best.log_likelihood
    if calibration is None and any(p.frames is not None for p in patterns):
        scored = [p for p in patterns if p.frames is not None]
        best_process = given or _likeliest([each.mode for each in families], None).renewal
        blank: Any = {"renewal": best_process, "annotator": annotator}
        calibration = calibrate(
            [one for one, p in zip(ready, patterns) if p.frames is not None],
            [prepare(np.empty((0, 2)), [], recording_length=p.length, **blank) for p in scored],
            [p.frames for p in scored if p.frames is not None],
            best_process,
            of_odds=all(float(p.frames.values.min()) >= 0 and float(p.frames.values.max()) <= 1
                        for p in scored if p.frames is not None),
            executor=executor,
        )  # fmt: skip
    shares = shares_of(families)
    slipping = _slip_points(who, counts) if slips and families and integrated else [(who, 0.0)]
    beliefs = [None] if calibration is None else calibration.beliefs
    readies = [prepared(others, step, belief) for belief in beliefs for others, _ in slipping]
    moved, upto = [], np.ones(1)
    if len(slipping) > 1:
        best = _likeliest([each.mode for each in families], None)
        logs = []
        for others, chance in slipping:
            again = fit(prepared(others, rough), times, best.family, start=best.theta, executor=executor)
            logs.append(chance + again.score)
            moved.append(again.theta - best.theta)
        upto = np.cumsum(np.exp(np.array(logs) - max(logs)))
    nodes = [[(given, 0, 1.0)]] if given is not None else []
    if process is not None:
        nodes = [[(node, 0, float(weight)) for node, weight in zip(process.members, process.weights)]]
    for each in families:
        kind = family(step, each.mode.family.stages)
        thetas, parts = each.strata(strata_of(draws))
        # the node of each share of a family meets one of the slips, in no order
        which = np.searchsorted(upto, np.arange(1, len(thetas) + 1) * 0.6180339887 % 1 * upto[-1])
        if moved and len(moved[0]) == thetas.shape[1]:
            thetas = thetas + np.array(moved)[which]
        elif moved:
            thetas[:, 0] += np.array(moved)[which, 0]
        nodes.append([(kind.renewal(theta), int(k), part) for theta, k, part in zip(thetas, which, parts)])
    # every node meets every belief in the scores, each as likely
    nodes = [[(node, k + j * len(slipping), part / len(beliefs)) for node, k, part in each for j in range(len(beliefs))]
             for each in nodes]  # fmt: skip
    seeds = rng.spawn(len(patterns))
    jobs = [(ones, nodes, shares, len(p.recordings), draws, seed)
            for ones, p, seed in zip(zip(*readies), patterns, seeds)]  # fmt: skip
    drawn = in_order(_drawn, jobs, executor=executor, progress=progress, label=f"{label}: timelines")
    recordings = []
    for pattern, (active, expected, n_events, event_seconds) in zip(patterns, drawn):
        for name, events, seconds in zip(pattern.recordings, n_events, event_seconds):
            if length_variation:  # lengths that are alike within a recording leave no trace in the answers
                spread = math.sqrt(math.log1p(length_variation**2))
                longer = np.exp(spread * rng.normal(size=draws) - spread**2 / 2)
                seconds = np.minimum(seconds * longer, pattern.length)
            recordings.append(
                RecordingPosterior(
                    pattern.segments, pattern.present, pattern.annotators, pattern.length, (name,), step, active,
                    *expected, events, seconds, frames=pattern.frames,
                )
            )  # fmt: skip
    recordings.sort(key=lambda one: order[one.recording])
    weighed = [(node, share * part) for nodes_of, share in zip(nodes, shares) for node, _, part in nodes_of]
    uncertain = Uncertain(tuple(node for node, _ in weighed), np.array([weight for _, weight in weighed]))
    found_by: dict[str, float] = {}
    if families and integrated:
        best_family = families[int(shares.argmax())]
        processes = [best_family.mode.family.renewal(theta) for theta in best_family.strata(5)[0]]
        found_by = check(patterns, who, processes, order, rng=rng)
    return ClassPosterior(label, uncertain, who, families, tuple(recordings), log_likelihood, counts, found_by,
                          calibration)  # fmt: skip


def _likeliest(found: Sequence[Mode], bouts: bool | None) -> Mode:
    return max(found[1 if bouts else 0 :], key=lambda one: one.score)


def _slips(
    patterns: Sequence[AnswerPattern], times: Array, ready: Sequence[Prepared], renewal: Renewal,
    executor: Executor,
) -> dict[str, Array]:  # fmt: skip
    """Of everybody: expected guesses, answers where the rule is not satisfied, lapses, answers where it is (EM)."""
    work = [(one, renewal, p.segments) for one, p in zip(ready, patterns)]
    counts: dict[str, Array] = {}
    for p, many, met in zip(patterns, times, in_order(_satisfied, work, executor=executor)):
        yes = p.present == 1
        table = np.stack(((1 - met) * yes, 1 - met, met * ~yes, met), axis=1) * many
        for name, row in zip(p.annotators, table):
            counts[name] = counts.get(name, 0.0) + row
    return counts


def _satisfied(ready: Prepared, renewal: Renewal, segments: Array) -> Array:
    """P(the rule is satisfied) of the segments that were asked, given all answers."""
    return ready.posterior(renewal).satisfied(segments)


def _prepared(pattern: AnswerPattern, base: Renewal, who: Any, label: str, calibration: Calibration | None) -> Prepared:
    try:
        ready = pattern.prepared(base, who, calibration)
        ready.posterior(base)  # answers that no timeline explains are told by the recording's name
    except Contradiction as error:
        raise error.of(f"{label}, recording {pattern.recordings[0]!r}") from error
    return ready


def _slip_points(who: Mapping[str, AnswerModels], counts: Mapping[str, Array]) -> list[tuple[dict[str, Any], float]]:
    """Everybody with more or fewer guesses or lapses, together: five points that carry what is uncertain of them (an
    unscented transform), each with the logarithm of its weight without the likelihood."""
    sums = np.sum(list(counts.values()), axis=0)
    points = []
    for guess, lapse in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
        others, chance = {}, math.log(1 / 6) + 1.5 if guess or lapse else math.log(1 / 3)
        for name, one in who.items():
            rates = []
            for rate, side, (wrong, n) in ((one.low, guess, sums[:2]), (1 - one.high, lapse, sums[2:])):
                a, b = wrong + SLIP * WORTH, n - wrong + (1 - SLIP) * WORTH
                # half as wide again: whether an answer was a slip is itself uncertain
                odds = math.log(rate / (1 - rate)) + side * math.sqrt(3) * 1.5 * math.sqrt(1 / a + 1 / b)
                rates.append(min(1 / (1 + math.exp(-odds)), _MOST_SLIPS))
                chance += WORTH * (SLIP * math.log(rates[-1]) + (1 - SLIP) * math.log1p(-rates[-1]))
            others[name] = one.with_noise(*rates)
        points.append((others, chance))
    return points


def _drawn(
    readies: Sequence[Prepared], families: Sequence[Sequence[tuple[Renewal, int, float]]], shares: Array, many: int,
    draws: int, rng: Any,
) -> tuple[Array, tuple[float, float], Array, Array]:  # fmt: skip
    """P(active), expected events and seconds; and of timelines drawn for each recording that shares the answers, the
    numbers and seconds of events, (recordings, families, draws). A node is a process, and which of the prepared answers
    it meets, and the share that it stands for."""
    ready = readies[0]
    active, n_events = np.zeros(ready.grid.n), 0.0
    events, seconds = np.zeros((2, many, len(families), draws))
    for f, (nodes, share) in enumerate(zip(families, shares)):
        first = 0
        for (node, which, part), size in zip(nodes, split(draws, np.array([each[2] for each in nodes]))):
            known = readies[which].posterior(node)
            active += share * part * known.active
            n_events += share * part * known.n_events
            for r in range(many if size else 0):
                sample, onset, offset = known.draw(int(size), rng)
                events[r, f, first : first + size] = np.bincount(sample, minlength=size)
                seconds[r, f, first : first + size] = np.bincount(sample, weights=offset - onset, minlength=size)
            first += size
    width = np.diff(np.minimum(ready.grid.step * np.arange(ready.grid.n + 1), ready.recording_length))
    return active, (n_events, float(active @ width)), events, seconds


def total(classes: Mapping[str, ClassPosterior]) -> float:
    """The logarithm of the chance of all answers."""
    return sum(each.log_likelihood for each in classes.values())


def estimate_criterion(
    at: Callable[[float], dict[str, ClassPosterior]], known: dict[float | None, dict[str, ClassPosterior]]
) -> tuple[float, dict[float, float], tuple[float, float] | None]:
    """The criterion to go by, how likely each of CRITERIA is, and an interval where the answers tell it: where one of
    them is likelier than the others by far, the maximum of the likelihood over all criteria, and where it falls by 1.92
    on either side. Fills ``known`` with what was worked out."""
    totals: dict[float, float] = {}

    def look(criterion: float) -> None:
        if criterion not in known:
            known[criterion] = at(criterion)
        totals[criterion] = total(known[criterion])

    for criterion in CRITERIA:
        look(criterion)
    top = max(totals.values())
    shares = {c: math.exp(v - top) for c, v in totals.items()}
    shares = {c: v / sum(shares.values()) for c, v in shares.items()}
    if max(shares.values()) <= 0.95:
        return 0.5, shares, None
    for criterion in (0.1, 0.2, 0.4, 0.6, 0.8, 0.9):
        look(criterion)
    for _ in range(2):  # between the best and its likelier neighbour, twice
        points = sorted(totals)
        best = max(points, key=lambda c: totals[c])
        k = points.index(best)
        near = [points[j] for j in (k - 1, k + 1) if 0 <= j < len(points)]
        if near:
            look(round((best + max(near, key=lambda c: totals[c])) / 2, 4))
    points = sorted(totals)
    values = np.array([totals[c] for c in points])
    fine = np.linspace(0.02, 1.0, 491)
    near_top = fine[np.interp(fine, points, values) > values.max() - 1.92]
    best = points[int(values.argmax())]
    # events begin a quarter of a step off their boundary: no criterion is told more closely than that
    blur = max(each.renewal.step / 4 / float(each.renewal.lengths.quantile(0.5)) for each in known[best].values())
    low, high = min(near_top[0], best) - blur, max(near_top[-1], best) + blur
    return best, shares, (float(max(low, 0.0)), float(min(high, 1.0)))
