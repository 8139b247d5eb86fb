"""Answers of many recordings and classes in; what the events were, with everything that was left out estimated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ...base.errors import AssumptionWarning, InvalidInput
from ...base.parallel import Progress, in_order, threads
from ...base.symbols import check, choice
from ...model.annotator import Annotator, PresenceRule
from ...model.answers import Answers
from ...model.event_arrays import EventArrays
from ...model.events import Events
from ...model.intervals import merge
from ...model.lengths import Lengths
from ...posterior.chain import Contradiction, Prepared, prepare
from ...posterior.fitting import Family, Pass, ProcessFit, choose_step, fit, run_all
from ...posterior.hearing import Hearing
from ...posterior.renewal import Array, Mixed, Renewal
from .inference import CRITERIA, ClassPosterior, Inference, RecordingPosterior

_MOST_STEPS = 4000  # of an event whose law is left out
_TURNS = 5  # of estimates of slips and of the process in turn


@dataclass(frozen=True)
class _Pattern:
    """Answers that one or more recordings share."""

    segments: Array
    present: Array
    annotators: tuple[str, ...]
    length: float
    recordings: tuple[str, ...]


def infer(
    answers: Answers | pd.DataFrame,
    *,
    lengths: Any = None,
    annotator: Annotator | Hearing | Mapping[str, Annotator | Hearing] | None = None,
    presence_criterion: float | None = None,
    rule: PresenceRule | str | None = None,
    event_rate: float | None = None,
    recording_length: float | Mapping[str, float] | None = None,
    step: float | None = None,
    label: str | None = None,
    unlisted: str = "unknown",
    draws: int = 200,
    rng: Any = None,
    executor: Executor | None = None,
    progress: Progress = False,
) -> Inference:
    """What the events were, given what annotators said of segments: when, how many, how long, and how sure.

    Parameters
    ----------
    answers : present, absent or unsure for segments of any length, overlapping, nested, repeated, by several people.
    lengths : the law of event lengths, or what makes one (a number, a sample, a scipy law); strong annotations of some
        recordings (:class:`Events`) or a dictionary give each class its own. Left out, the law is estimated.
    annotator : who answered, or one for each name in the column annotator; ``presence_criterion`` or ``rule`` are short
        for one without noise, and a rule takes the place of the annotator's criterion; where the answers contradict
        each other under it, guesses and lapses of everybody are estimated, and ``notes`` say so. All left out: these
        are estimated, and so is the criterion where the answers allow it, else it is .5, and intervals hold for .3 to
        .7; it is a share of the event, or of the shorter of event and segment where that explains the answers better.
    event_rate : events that start per second; left out, it is estimated.
    recording_length : seconds, or by name, where the answers do not say.
    step : seconds; left out, it resolves the shortest of segment, event and rule.
    label : one class; left out, every class by itself.
    unlisted : a class that a segment's answers do not list is ``unknown`` there, or was looked for and ``absent``.
    draws : timelines and estimates drawn for the intervals.

    Examples
    --------
    >>> frame = pd.DataFrame({"recording": "a", "onset": [0, 3, 6, 9], "offset": [3, 6, 9, 12], "label": "owl"})
    >>> said = Answers.from_frame(frame.assign(present=[0, 1, 0, 0]))
    >>> found = infer(said, lengths=1.0, presence_criterion=0.5, event_rate=0.1, rng=0)
    >>> found.overall[["n_events", "event_seconds"]].round(2).values.tolist()
    [[1.08, 1.08]]
    """
    given = answers if isinstance(answers, Answers) else Answers.from_frame(answers)
    choice("unlisted", unlisted, ("unknown", "absent"))
    if event_rate is not None:
        check("event_rate", event_rate)
        if lengths is None:
            raise InvalidInput("event_rate without lengths: give the law of event lengths too, or leave both out")
    who = _who(annotator, presence_criterion, rule)
    generator = np.random.default_rng(rng)
    patterns, known, notes = _patterns(given, label, unlisted, recording_length)
    every = _whole(patterns.values())
    laws = {name: _law(lengths, name, known) for name in patterns}
    seconds = _seconds(who)
    if step is None:
        step = min(choose_step(every, law, seconds) for law in laws.values())
    step = float(check("event_length", step, called="step"))
    for law in laws.values():
        _check_step(step, every, law, seconds)
    order = {str(recording): k for k, recording in enumerate(given.recordings.index)}
    found: dict[float | None, dict[str, ClassPosterior]] = {}
    kind = PresenceRule.fraction
    with threads(executor) as pool:

        def part_of(name: str, hearing: Any, *, slips: bool = False) -> ClassPosterior:
            how = (laws[name], event_rate, step, draws, generator, pool, progress, name, order)
            return _part(patterns[name], hearing, slips, *how)

        def at(criterion: float) -> dict[str, ClassPosterior]:
            return {name: part_of(name, Hearing.human(kind(criterion))) for name in patterns}

        best: float | None = None
        weights: dict[float, float] = {}
        interval: tuple[float, float] | None = None
        if who is None:
            if any(law is None or law.longest > _shortest(patterns[name]) for name, law in laws.items()):
                plain, kind = at(0.5), PresenceRule.shorter
                either = at(0.5)
                kind, found[0.5] = (
                    (kind, either) if _total(either) > _total(plain) + 1 else (PresenceRule.fraction, plain)
                )
            best, weights, interval = _criterion(at, found)
            found[best] = {name: part_of(name, Hearing.human(kind(best)), slips=True) for name in patterns}
        else:
            found[None] = {}
            for name in patterns:
                try:
                    found[None][name] = part_of(name, who)
                except Contradiction as error:
                    if annotator is not None:
                        raise InvalidInput(f"{error}; left out, both are estimated") from error
                    found[None][name] = part_of(name, Hearing.human(*Hearing.of(who).rules), slips=True)
                    notes.append(f"{error.plain}: guesses and lapses are allowed for and estimated")
    for name in patterns if lengths is None else ():
        widths = found[best][name].segment_lengths
        if widths[-1] < 1.5 * widths[0]:
            text = f"{name}: one segment length does not tell the law of event lengths; what is said of event seconds "
            warnings.warn(text + "hangs on a guess at it: give lengths", AssumptionWarning, stacklevel=2)
    settings = {
        "lengths": None if lengths is None else {name: law.name for name, law in laws.items() if law is not None},
        "annotator": who,
        "event_rate": event_rate,
        "step": step,
        "unlisted": unlisted,
        "label": label,
        "draws": draws,
    }
    others = {c: parts for c, parts in found.items() if c in CRITERIA}
    shorter = kind == PresenceRule.shorter
    return Inference(found[best], settings, best, weights, others, interval, tuple(notes), of_shorter=shorter)


def _total(parts: Mapping[str, ClassPosterior]) -> float:
    return sum(part.log_likelihood for part in parts.values())


def _shortest(patterns: Sequence[_Pattern]) -> float:
    return float(min(np.diff(p.segments, axis=1).min() for p in patterns))


def _law(lengths: Any, label: str, known: Mapping[str, float]) -> Lengths | None:
    """The law of one class; ``known`` are lengths of recordings, for strong annotations that do not tell them."""
    if isinstance(lengths, Events):
        lines, names = lengths.timelines(label), lengths.known_extents.index
        ends = lengths.recordings["length"][names].fillna(names.to_series().map(known)).to_numpy(np.float64)
        told = ~np.isnan(ends)
        return heard_lengths(replace(lines, lengths=np.where(told, ends, lines.lengths)), ends_known=told)
    if isinstance(lengths, Mapping):
        if label not in lengths:
            raise InvalidInput(f"lengths has no entry for {label!r}; there are {', '.join(map(str, lengths))}")
        return Lengths.of(lengths[label])
    return None if lengths is None else Lengths.of(lengths)


def heard_lengths(lines: EventArrays, *, ends_known: Any = True, family: str | None = None) -> Lengths:
    r"""The law of lengths of annotated events of which the ends of recordings cut some, by maximum likelihood.

    A recording is a window into a process that has gone on for long: an event that began before it is met in proportion
    to its length, and its heard part has the density :math:`S(l) / \mu` (Vardi 1989); one that the end cuts,
    :math:`S(l)`; one that fills a recording of w seconds, :math:`\int_w^\infty S / \mu`. With :math:`c_j` the expected
    number of events of length :math:`x_j` (the E step), n events that begin inside and m before,
    :math:`p_j \propto c_j / (n + m x_j / \mu)`. What fills a recording is taken to last half as long again at most.

    A ``family`` of scipy is fitted to the events that begin inside: long ones are not more frequent among them.
    """
    lengths = np.ptp(lines.bounds, axis=1)
    early, late = lines.cut_sides(ends_known=ends_known)
    if family is not None:
        return Lengths.fit(lengths[~early], family=family, censored=late[~early])
    if not (early | late).any() or not (~early & ~late).any():
        return Lengths.sample(lengths)
    part, through = lengths[early ^ late], lengths[early & late]
    x = np.unique(np.concatenate((lengths[~(early & late)], 1.5 * through)))
    ended = np.bincount(np.searchsorted(x, lengths[~early & ~late]), minlength=len(x))
    at, past = np.searchsorted(x, part), np.searchsorted(x, through, side="right")
    p = np.full(len(x), 1 / len(x))
    for _ in range(1000):
        tail, first = (np.cumsum(values[::-1])[::-1] for values in (p, p * x))
        counts = ended + p * np.cumsum(np.bincount(at, 1 / tail[at], minlength=len(x)))
        share = 1 / (first[past] - through * tail[past])
        sums = [np.cumsum(np.bincount(past, weights, minlength=len(x))) for weights in (share, share * through)]
        counts += p * (x * sums[0] - sums[1])
        new = counts / ((~early).sum() + early.sum() * x / first[0])
        new /= new.sum()
        moved, p = float(np.abs(new - p).sum()), new
        if moved < 1e-7:
            break
    return Lengths.sample(x[p > 0], weights=p[p > 0], name=f"sample of {len(lengths)}")


def _who(annotator: Any, presence_criterion: float | None, rule: PresenceRule | str | None) -> Any:
    """Who answers, as :func:`prepare` takes it; None where the criterion is unknown."""
    if presence_criterion is not None and (annotator is not None or rule is not None):
        raise InvalidInput("give one of presence_criterion, rule and annotator (a rule may replace its criterion)")
    if presence_criterion is not None:
        return Annotator(presence_criterion=presence_criterion)
    if rule is None:
        return annotator
    said = PresenceRule.parse(rule) if isinstance(rule, str) else rule
    if isinstance(annotator, Mapping):
        return {name: Hearing.of(one, rule=said) for name, one in annotator.items()}
    return Hearing.of(Annotator() if annotator is None else annotator, rule=said)


def _seconds(who: Any) -> float | None:
    """The shortest overlap in seconds that a rule asks for."""
    people = who.values() if isinstance(who, Mapping) else [who]
    return min((value for one in people if isinstance(one, Hearing) for value in one.seconds), default=None)


def _whole(parts: Iterable[Sequence[_Pattern]]) -> Array:
    """All segments but slivers: those that an end of the recording cuts to less than half of the usual length."""
    patterns = [p for part in parts for p in part]
    every = np.concatenate([p.segments for p in patterns])
    ends = np.repeat([p.length for p in patterns], [len(p.segments) for p in patterns])
    widths = every[:, 1] - every[:, 0]
    outer = (every[:, 0] <= 1e-6) | (every[:, 1] >= ends - 1e-6)
    kept: Array = every[~(outer & (widths < np.median(widths) / 2))]
    return kept


def _check_step(step: float, segments: Array, law: Lengths | None, seconds: float | None) -> None:
    """Refuse a step that is longer than a segment; warn of a coarse one."""
    shortest = float((segments[:, 1] - segments[:, 0]).min())
    if step > shortest * (1 + 1e-9):
        raise InvalidInput(
            f"step must be at most the shortest segment, {shortest:g} s, and better a fifth; got {step:g} s"
        )
    limits = [("segment", shortest / 2)]
    if law is not None:
        limits.append(("event (the shorter half)", float(law.quantile(0.5)) / 2))
    if seconds is not None:
        limits.append(("overlap that the rule asks for", seconds))
    word, limit = min(limits, key=lambda pair: pair[1])
    if step > limit * (1 + 1e-9):
        text = (
            f"step of {step:g} s is coarse for the shortest {word}; at most {limit:g} s is advised, a fifth is better"
        )
        warnings.warn(text, AssumptionWarning, stacklevel=3)


def _patterns(
    answers: Answers, label: str | None, unlisted: str, recording_length: Any
) -> tuple[dict[str, list[_Pattern]], dict[str, float], list[str]]:
    """The distinct sets of answers of each class, with the recordings that share them; and lengths that are known."""
    frame = answers.to_frame()
    if len(frame) == 0:
        raise InvalidInput("there is no answer to infer events from")
    names = answers.labels if label is None else answers.select(label).labels
    lengths, known, notes = _lengths(answers, frame, recording_length)
    unsaid = frame["onset"].isna() | frame["offset"].isna()
    frame.loc[unsaid, "onset"] = 0.0
    frame.loc[unsaid, "offset"] = frame.loc[unsaid, "recording"].map(lengths)
    if frame["offset"].isna().any():
        name = frame.loc[frame["offset"].isna(), "recording"].iloc[0]
        raise InvalidInput(f"recording {name!r}: the answers give no times and no length; give recording_length")
    late = frame["offset"] > frame["recording"].map(lengths) * (1 + 1e-9) + 1e-6
    if late.any():
        row = frame[late].iloc[0]
        raise InvalidInput(
            f"answer ({row['onset']:g}, {row['offset']:g}) lies outside recording {row['recording']!r} of "
            f"{lengths[row['recording']]:g} s"
        )
    if unlisted == "absent":
        frame = _fill(frame, answers, lengths)
    found: dict[str, list[_Pattern]] = {}
    only: list[str] = []  # classes without an absent answer
    for name in names:
        rows = frame[(frame["label"] == name) & frame["present"].notna()]
        if len(rows) and (rows["present"] == 1).all():
            only.append(name)
        found[name] = groups = _alike(rows, lengths)
        if not groups:
            raise InvalidInput(f"{name}: there is no answer to infer events from: all are unsure")
    if only:
        words = only[0] if len(only) == 1 else f"{len(only)} classes ({', '.join(only[:3])}, ...)"
        text = f"{words}: every answer is present; if files list only what was heard, say unlisted='absent' "
        warnings.warn(text + "(--unlisted absent)", AssumptionWarning, stacklevel=3)
    return found, known, notes


def _alike(rows: pd.DataFrame, lengths: Mapping[str, float]) -> list[_Pattern]:
    """The answers of one class by recording, those with the same answers together."""
    codes, names = pd.factorize(rows["recording"])
    spans, said = rows[["onset", "offset"]].to_numpy(np.float64), rows["present"].to_numpy(np.float64)
    people = rows["annotator"].to_numpy(object)
    order = np.lexsort((pd.factorize(people, sort=True)[0], spans[:, 1], spans[:, 0], codes))
    spans, said, people = spans[order], said[order], people[order]
    ends = np.searchsorted(codes[order], np.arange(len(names) + 1)).tolist()
    groups: dict[Any, list[str]] = {}
    place: dict[Any, slice] = {}
    for recording, a, b in zip(map(str, names), ends, ends[1:]):
        key = (spans[a:b].tobytes(), said[a:b].tobytes(), tuple(people[a:b]), lengths[recording])
        groups.setdefault(key, []).append(recording)
        place.setdefault(key, slice(a, b))
    return [_Pattern(spans[place[key]], said[place[key]], key[2], key[3], tuple(groups[key])) for key in groups]


def _lengths(
    answers: Answers, frame: pd.DataFrame, recording_length: Any
) -> tuple[dict[str, float], dict[str, float], list[str]]:
    """The length of every recording, where nobody says, its last segment ends it; those that somebody says; notes."""
    known = answers.recordings["length"].copy()
    if isinstance(recording_length, Mapping):
        for name, value in recording_length.items():
            known[str(name)] = float(check("recording_length", value))
    elif recording_length is not None:
        known = known.fillna(float(check("recording_length", recording_length)))
    last = frame.groupby("recording")["offset"].max()
    guessed = known.isna() & known.index.isin(last.dropna().index)
    notes = []
    if guessed.any():
        notes.append(
            f"{int(guessed.sum())} recordings of unknown length are taken to end with their last segment "
            "(recording_length gives it)"
        )
    every = known.where(~guessed, last.reindex(known.index))
    said = {str(name): float(value) for name, value in known.dropna().items()}
    return {str(name): float(value) for name, value in every.items()}, said, notes


def _fill(frame: pd.DataFrame, answers: Answers, lengths: Mapping[str, float]) -> pd.DataFrame:
    """The same with an absent answer wherever a segment was heard and a class is not listed."""
    keys = ["recording", "onset", "offset", "annotator"]
    heard = frame[keys].drop_duplicates()
    silent = [name for name in answers.recordings.index if name not in set(frame["recording"])]
    known = [name for name in silent if math.isfinite(lengths[name])]
    more = pd.DataFrame({"recording": known, "onset": 0.0, "offset": [lengths[n] for n in known], "annotator": ""})
    heard = pd.concat([heard, more], ignore_index=True) if len(more) else heard
    every = heard.merge(pd.DataFrame({"label": sorted(frame["label"].unique())}), how="cross")
    filled = every.merge(frame[[*keys, "label", "present"]], how="left", on=[*keys, "label"], indicator=True)
    filled.loc[filled["_merge"] == "left_only", "present"] = 0.0
    return filled.drop(columns="_merge")


def _part(
    patterns: Sequence[_Pattern],
    who: Any,
    slips: bool,
    law: Lengths | None,
    event_rate: float | None,
    step: float,
    draws: int,
    rng: np.random.Generator,
    executor: Executor,
    progress: Progress,
    name: str,
    order: Mapping[str, int],
) -> ClassPosterior:
    """One class: patterns prepared, process estimated, timelines drawn; ``slips``: and guesses and lapses of all."""
    widths = np.concatenate([p.segments[:, 1] - p.segments[:, 0] for p in patterns])
    middle = float(np.exp(np.log(widths).mean())) / 2
    if law is None:
        painted = max(float(np.ptp(merge(p.segments[p.present == 1]), axis=1).max(initial=0.0)) for p in patterns)
        top = min(max(p.length for p in patterns), max(4 * float(widths.max()), 20 * middle, 2 * painted))
        longest = min(_MOST_STEPS, math.ceil(top / step))
    else:
        longest = len(Renewal(law, 0.0, step).steps)
    family = Family(step, longest, law, middle)
    any_length = Lengths.sample(step * np.arange(1, longest + 1))
    base = Renewal.from_hazard(any_length if law is None else law, hazard=0.01 / step, step=step, longest=longest)
    times = np.array([len(p.recordings) for p in patterns], dtype=np.float64)

    def fitted(who: Any, start: Any) -> tuple[list[Prepared], ProcessFit | None, Renewal | Mixed, Pass]:
        work = [(p, base, who, name) for p in patterns]
        ready = list(in_order(_prepare, work, executor=executor, progress=progress, label=f"{name}: answers"))
        if event_rate is None:
            made = fit(ready, times, family, start=start, draws=draws, rng=rng, executor=executor)
            return ready, made, made.renewal, made.found
        assert law is not None
        renewal = Renewal(law, event_rate, step, longest=longest)
        return ready, None, renewal, run_all(ready, renewal, executor=executor)

    counts: dict[str, Array] = {}
    start: Any = _start(patterns, times)
    if slips:
        who = {name: who for p in patterns for name in p.annotators}
    for turn in range(_TURNS if slips else 1):
        ready, made, renewal, found = fitted(who, start)
        start = start if made is None else made.theta
        if not slips or turn == _TURNS - 1:
            break
        counts = _slips(patterns, times, ready, renewal, executor)
        after = {name: one.slipping(counts[name]) for name, one in who.items()}
        if all(abs(one.low - after[name].low) + abs(one.high - after[name].high) < 2e-3 for name, one in who.items()):
            break
        who = after
    seeds = rng.spawn(len(patterns))
    jobs = [(one, renewal, len(p.recordings), draws, seed) for one, p, seed in zip(ready, patterns, seeds)]
    drawn = in_order(_heard, jobs, executor=executor, progress=progress, label=f"{name}: timelines")
    heard = []
    for k, (pattern, (active, n_events, event_seconds)) in enumerate(zip(patterns, drawn)):
        for r, recording in enumerate(pattern.recordings):
            events, seconds = n_events[r], event_seconds[r]
            if made is not None:
                events = events + made.moves @ made.events_slope[k]
                seconds = seconds + made.moves @ made.seconds_slope[k]
            heard.append(
                RecordingPosterior(
                    recording, pattern.length, pattern.segments, pattern.present, pattern.annotators, active,
                    float(found.n_events[k]), float(found.event_seconds[k]),
                    np.maximum(events, 0.0), np.clip(seconds, 0.0, pattern.length),
                )
            )  # fmt: skip
    heard.sort(key=lambda one: order[one.recording])  # as the answers name them
    return ClassPosterior(name, renewal, who, made, tuple(heard), float(times @ found.log_likelihood), counts)


def _slips(
    patterns: Sequence[_Pattern], times: Array, ready: Sequence[Prepared], renewal: Renewal | Mixed, executor: Executor
) -> dict[str, Array]:
    """Of everybody: expected guesses, answers where the rule is not satisfied, lapses, answers where it is (EM)."""
    work = [(one, renewal, p.segments) for one, p in zip(ready, patterns)]
    found: dict[str, Array] = {}
    for p, many, met in zip(patterns, times, in_order(_met, work, executor=executor)):
        yes = p.present == 1
        table = np.stack(((1 - met) * yes, 1 - met, met * ~yes, met), axis=1) * many
        for name, row in zip(p.annotators, table):
            found[name] = found.get(name, 0.0) + row
    return found


def _met(ready: Prepared, renewal: Renewal | Mixed, segments: Array) -> Array:
    """P(the rule is satisfied) of the segments that were asked, given all answers."""
    return ready.posterior(renewal).satisfied(segments)


def _start(patterns: Sequence[_Pattern], times: Array) -> float:
    """A first guess at the rate: present answers per second heard."""
    present = sum(t * float((p.present == 1).sum()) for p, t in zip(patterns, times))
    heard = sum(t * float(np.diff(p.segments, axis=1).sum()) for p, t in zip(patterns, times))
    found: float = (present + 0.5) / (heard + 1e-9)
    return found


def _prepare(pattern: _Pattern, base: Renewal, who: Any, name: str) -> Prepared:
    try:
        ready = prepare(
            pattern.segments,
            pattern.present,
            renewal=base,
            recording_length=pattern.length,
            annotator=who,
            annotators=pattern.annotators,
        )
        ready.posterior(base)  # answers that no timeline explains are told by the recording's name
    except Contradiction as error:
        raise error.of(f"{name}, recording {pattern.recordings[0]!r}") from error
    return ready


def _heard(ready: Prepared, renewal: Renewal | Mixed, many: int, draws: int, rng: Any) -> tuple[Array, Array, Array]:
    """P(active), and numbers and seconds of events of sampled timelines for each recording that shares the answers."""
    made = ready.posterior(renewal)
    n_events, seconds = np.zeros((many, draws)), np.zeros((many, draws))
    for r in range(many):
        sample, onset, offset = made.draw(draws, rng)
        n_events[r] = np.bincount(sample, minlength=draws)
        seconds[r] = np.bincount(sample, weights=offset - onset, minlength=draws)
    return made.active, n_events, seconds


def _criterion(
    at: Callable[[float], dict[str, ClassPosterior]], found: dict[float | None, dict[str, ClassPosterior]]
) -> tuple[float, dict[float, float], tuple[float, float] | None]:
    """The criterion to go by, how likely each of CRITERIA is, and an interval where the answers tell it: where one of
    them is likelier than the others by far, the maximum of the likelihood over all criteria, and where it falls by 1.92
    on either side. Fills ``found`` with what was worked out."""
    totals: dict[float, float] = {}

    def look(criterion: float) -> None:
        if criterion not in found:
            found[criterion] = at(criterion)
        totals[criterion] = _total(found[criterion])

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
    blur = max(part.renewal.step / 4 / float(part.renewal.lengths.quantile(0.5)) for part in found[best].values())
    low, high = min(near_top[0], best) - blur, max(near_top[-1], best) + blur
    return best, shares, (float(max(low, 0.0)), float(min(high, 1.0)))
