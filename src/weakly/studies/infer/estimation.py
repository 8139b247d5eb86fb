"""Answers of many recordings and classes in; what the events were, with everything that was left out estimated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...base.errors import AssumptionWarning, InvalidInput
from ...base.parallel import Progress, threads
from ...base.results import counted
from ...base.symbols import Seed, check, choice
from ...io.gather import matched, scores_of
from ...model.annotator import PresenceRule
from ...model.answer_model import AnswerLike, AnswerModels
from ...model.answers import Answers
from ...model.events import Events
from ...model.intervals import complement
from ...model.lengths import LengthLike, Lengths
from ...posterior.chain import Contradiction
from ...posterior.class_answers import ClassAnswers
from ...posterior.class_posterior import CRITERIA, ClassPosterior
from ...posterior.detector import Calibration, FrameScores, frames_by_class
from ...posterior.fitting import SLIP, AnswerPattern, choose_step
from ...posterior.renewal import Array, length_variation, lengths_of_truncated_events
from .inference import Inference, Unasked, total

_UNASKED = 0.05  # of the time: what more than this might hold is bounded
_WORTH_BOUNDING = 50  # draws, below which nobody asks for intervals


def infer(
    answers: Answers | pd.DataFrame | None,
    *,
    event_length: LengthLike | Mapping[str, LengthLike] | None = None,
    annotator: AnswerLike | Mapping[str, AnswerLike] | None = None,
    presence_criterion: AnswerLike | None = None,
    rule: AnswerLike | None = None,
    criterion_per: Literal["recording", "answer"] = "recording",
    event_rate: float | None = None,
    bouts: bool | None = None,
    scores: pd.DataFrame | None = None,
    calibrate: bool = True,
    like: Inference | None = None,
    recording_length: float | Mapping[str, float] | None = None,
    step: float | None = None,
    label: str | None = None,
    unlisted: Literal["unknown", "absent"] = "unknown",
    draws: int = 200,
    rng: Seed = None,
    executor: Executor | None = None,
    progress: Progress = False,
) -> Inference:
    """What the events were, given what annotators said of segments: when, how many, how long, and how sure.

    Parameters
    ----------
    answers : present, absent or unsure for segments of any length, overlapping, nested, repeated, by several people.
    event_length : the law of event lengths, or what makes one (a number, a sample, a scipy law); strong annotations of
        some recordings (:class:`Events`) or a dictionary give each class its own. Left out, the law is estimated.
    annotator : who answered, or one for each name in the column annotator; ``presence_criterion`` or ``rule``, written
        as in :func:`evaluate`, are short for one without noise, and of several each is as likely. A rule takes the
        place of the annotator's criterion; where the answers contradict each other under it, guesses and lapses of
        everybody are estimated, and ``notes`` say so. All left out: these are estimated, and so is the criterion where
        the answers allow it, else it is .5, and intervals hold for .3 to .7; it is a share of the event, or of the
        shorter of event and segment where that explains the answers better.
    criterion_per : of a law of criteria, or several, everybody keeps one throughout a ``recording``, or draws one for
        every ``answer``.
    event_rate : events that start per second; left out, it is estimated.
    bouts : whether events come in bouts (gaps of two kinds, short and long). Left out, both are tried, and intervals
        hold for events that come independently too, unless the evidence excludes it; False: events do not bunch.
    scores : a detector's, a row per frame: recording, onset, offset, score, and label where there are several classes.
        Probabilities, or scores on any scale: s = a z + b is fitted by the likelihood of the answers given the scores,
        and is evidence beside the answers. ``estimates`` hold a, b and that likelihood.
    calibrate : False where scores are log-likelihood ratios, log p(frame | event) - log p(frame | none), as they are.
    like : an inference from other recordings; ``infer(None, scores=scores, like=inference)`` decodes recordings that
        nobody answered for by its process and its calibration.
    recording_length : seconds, or by name, where the answers do not say.
    step : seconds; left out, it resolves the shortest of segment, event and rule.
    label : one class; left out, every class by itself.
    unlisted : a class that a segment's answers do not list is ``unknown`` there, or was looked for and ``absent``.
    draws : timelines and estimates drawn for the intervals.

    Examples
    --------
    >>> frame = pd.DataFrame({"recording": "a", "onset": [0, 3, 6, 9], "offset": [3, 6, 9, 12], "label": "owl"})
    >>> said = Answers.from_frame(frame.assign(present=[0, 1, 0, 0]))
    >>> found = infer(said, event_length=1.0, presence_criterion=0.5, event_rate=0.1, rng=0)
    >>> found.overall[["n_events", "event_seconds"]].round(2).values.tolist()
    [[1.08, 1.08]]
    """
    if answers is None or like is not None:
        return _warned(_decoded(answers, scores, like, recording_length, draws, rng, executor, progress))
    given = answers if isinstance(answers, Answers) else Answers.from_frame(answers)
    choice("unlisted", unlisted, ("unknown", "absent"))
    if event_rate is not None:
        check("event_rate", event_rate)
        if event_length is None:
            raise InvalidInput("event_rate without event_length: give the law of event lengths too, or leave both out")
    choice("criterion_per", criterion_per, ("recording", "answer"))
    who = _answering(annotator, presence_criterion, rule, criterion_per == "answer")
    generator = np.random.default_rng(rng)
    frames = {} if scores is None else frames_by_class(scores)
    patterns, known, notes = _patterns(given, label, unlisted, recording_length, frames)
    as_it_is = None if calibrate else Calibration(1.0, 0.0)
    every = _whole(patterns.values())
    laws = {name: _law(event_length, name, known) for name in patterns}
    varies = {name: length_variation(event_length.timelines(name)) if isinstance(event_length, Events) else 0.0
              for name in patterns}  # fmt: skip
    seconds = _seconds(who)
    if step is None:
        step = min(choose_step(every, law, seconds) for law in laws.values())
    step = float(check("event_length", step, called="step"))
    for law in laws.values():
        _check_step(step, every, law, seconds)
    order = {str(recording): k for k, recording in enumerate(given.recordings.index)}
    at_criterion: dict[float | None, dict[str, ClassPosterior]] = {}
    kind = PresenceRule.fraction
    with threads(executor) as pool:
        tasks = {
            name: ClassAnswers(name, patterns[name], order, step, pool, law, event_rate, bouts, varies[name], as_it_is,
                               progress=progress)
            for name, law in laws.items()
        }  # fmt: skip
        how: Any = {"draws": draws, "rng": generator}

        def at(criterion: float) -> dict[str, ClassPosterior]:
            human = AnswerModels.of(rule=kind(criterion)).with_noise(SLIP, SLIP)
            return {k: task.posterior(human, draws=2, rng=generator, integrated=False) for k, task in tasks.items()}

        best: float | None = None
        weights: dict[float, float] = {}
        interval: tuple[float, float] | None = None
        if who is None:
            least = {name: min(np.diff(p.segments, axis=1).min() for p in each) for name, each in patterns.items()}
            if any(law is None or law.longest > least[name] for name, law in laws.items()):
                plain, kind = at(0.5), PresenceRule.shorter
                either = at(0.5)
                if total(either) <= total(plain) + 1:
                    kind, either = PresenceRule.fraction, plain
                at_criterion[0.5] = either
            best, weights, interval = _estimate_criterion(at, at_criterion)
            for criterion in {best, *(CRITERIA if interval is None else ())}:
                human, is_best = AnswerModels.of(rule=kind(criterion)).with_noise(SLIP, SLIP), criterion == best
                at_criterion[criterion] = {k: task.posterior(human, slips=is_best, **how) for k, task in tasks.items()}
        else:
            at_criterion[None] = {}
            for name, task in tasks.items():
                try:
                    at_criterion[None][name] = task.posterior(who, **how)
                except Contradiction as error:
                    if annotator is not None or isinstance(who, dict) or who.per_answer:
                        raise InvalidInput(f"{error}; left out, both are estimated") from error
                    at_criterion[None][name] = task.posterior(who.with_noise(SLIP, SLIP), slips=True, **how)
                    notes.append(f"{error.plain}: guesses and lapses are allowed for and estimated")
        unasked = {}
        for name, part in at_criterion[best].items():
            share, gaps = _unasked(part)
            if share > _UNASKED and draws >= _WORTH_BOUNDING:
                ends = [
                    replace(tasks[name], patterns=_as_if(part, gaps, said)).posterior(part.annotator, **how).overall
                    for said in (0.0, 1.0)
                ]
                unasked[name] = Unasked(share, _left_out(given, name), *ends)
    names = None if event_length is None else {name: law.name for name, law in laws.items() if law is not None}
    settings: dict[str, Any] = {"event_length": names, "annotator": who, "event_rate": event_rate, "bouts": bouts}
    settings |= {"criterion_per": criterion_per, "scores": scores is not None, "step": step, "unlisted": unlisted}
    settings |= {"label": label, "draws": draws}
    others = {c: parts for c, parts in at_criterion.items() if interval is None and c in CRITERIA}
    told = best, weights, others, interval, tuple(notes), kind == PresenceRule.shorter, unasked
    return _warned(Inference(at_criterion[best], settings, *told))


def _warned(result: Inference) -> Inference:
    for text in result.caveats():
        warnings.warn(text, AssumptionWarning, stacklevel=3)
    return result


def _decoded(
    answers: Any, scores: pd.DataFrame | None, like: Inference | None, recording_length: Any, draws: int, rng: Seed,
    executor: Executor | None, progress: Progress,
) -> Inference:  # fmt: skip
    """Recordings that nobody answered for, by the process and the calibration of other ones."""
    if answers is not None or scores is None or like is None:
        raise InvalidInput("without answers give scores= and like=, an inference with scores; with them leave like out")
    found, generator, parts = frames_by_class(scores), np.random.default_rng(rng), {}
    for name, part in like.parts.items():
        frames = found.get(name, found.get(None))
        if part.calibration is None or frames is None:
            why = "was made without scores" if part.calibration is None else "needs scores of it"
            raise InvalidInput(f"like: the inference of {name!r} {why}")
        lengths = {recording: float(each.spans[:, 1].max()) for recording, each in frames.items()}
        if isinstance(recording_length, Mapping):
            known = {str(name): float(value) for name, value in recording_length.items()}
            lengths |= {name: known[there] for name, there in matched(lengths, known).items()}
        elif recording_length is not None:
            lengths = dict.fromkeys(lengths, float(check("recording_length", recording_length)))
        rows = [(recording, np.empty((0, 2)), np.empty(0), (), lengths[recording]) for recording in frames]
        order = {recording: k for k, recording in enumerate(frames)}
        with threads(executor) as pool:
            task = ClassAnswers(
                name, AnswerPattern.grouped(rows, frames), order, part.renewal.step, pool, part.renewal.lengths,
                calibration=part.calibration, process=part.renewal, progress=progress,
            )  # fmt: skip
            parts[name] = task.posterior(part.annotator, draws=draws, rng=generator)
    return Inference(parts, {**like.settings, "like": True, "draws": draws}, like.presence_criterion)


def _unasked(part: ClassPosterior) -> tuple[float, dict[str, Array]]:
    """The share of time without an answer, and by recording segments that fill it: those that were left unanswered,
    and others of the usual length."""
    usual, gaps, missing = float(np.median(part.segment_lengths)), {}, 0.0
    for one in part.recordings:
        rows = [np.empty((0, 2))]
        for a, b in complement(one.segments, 0.0, one.length):
            if b - a > 1e-6:
                cuts = np.linspace(a, b, max(1, round((b - a) / usual)) + 1)
                rows.append(np.column_stack((cuts[:-1], cuts[1:])))
                missing += b - a
        gaps[one.recording] = np.concatenate(rows)
    return missing / part.seconds, gaps


def _as_if(part: ClassPosterior, gaps: Mapping[str, Array], said: float) -> list[AnswerPattern]:
    """The answers with one about each gap."""
    rows = []
    for one in part.recordings:
        more = gaps[one.recording]
        segments = np.concatenate((one.segments, more))
        order = np.lexsort((segments[:, 1], segments[:, 0]))
        present = np.concatenate((one.present, np.full(len(more), said)))[order]
        people = np.array([*one.annotators, *[one.annotators[0]] * len(more)], dtype=object)[order]
        rows.append((one.recording, segments[order], present, tuple(people), one.length))
    return AnswerPattern.grouped(rows)


def _left_out(answers: Answers, label: str) -> bool:
    """Whether segments next to present ones were left unanswered more or less often than those next to absent ones."""
    from scipy.stats import fisher_exact

    frame = answers.to_frame()
    frame = frame[frame["label"] == label].sort_values(["recording", "onset", "offset"])
    table = np.zeros((2, 2))
    said, name = frame["present"].to_numpy(np.float64), frame["recording"].to_numpy(object)
    near = (name[1:] == name[:-1]) & (np.abs(frame["onset"].to_numpy()[1:] - frame["offset"].to_numpy()[:-1]) < 1e-6)
    for one, other in ((said[1:], said[:-1]), (said[:-1], said[1:])):
        for present in (0, 1):
            beside = one[near & (other == present)]
            table[present] += (np.isnan(beside).sum(), (~np.isnan(beside)).sum())
    return bool(fisher_exact(table)[1] < 0.01)


def _law(event_length: Any, label: str, known: Mapping[str, float]) -> Lengths | None:
    """The law of one class; ``known`` are lengths of recordings, for strong annotations that do not tell them."""
    if isinstance(event_length, Events):
        lines, names = event_length.timelines(label), event_length.known_extents.index
        ends = event_length.recordings["length"][names].fillna(names.to_series().map(known)).to_numpy(np.float64)
        told = ~np.isnan(ends)
        return lengths_of_truncated_events(replace(lines, lengths=np.where(told, ends, lines.lengths)), ends_known=told)
    if isinstance(event_length, Mapping):
        if label not in event_length:
            there = ", ".join(map(str, event_length))
            raise InvalidInput(f"event_length has no entry for {label!r}; there are {there}")
        event_length = event_length[label]
    return None if event_length is None else Lengths.of(event_length)


def _answering(
    annotator: Any, presence_criterion: Any, rule: Any, per_answer: bool
) -> AnswerModels | dict[str, AnswerModels] | None:
    """Who answers, or each by name; None where nothing is told. A rule may replace the criterion of an annotator."""
    if isinstance(annotator, Mapping):
        people = {name: _answering(each, presence_criterion, rule, per_answer) for name, each in annotator.items()}
        return {name: one for name, one in people.items() if isinstance(one, AnswerModels)}
    if annotator is None and presence_criterion is None and rule is None:
        return None
    if annotator is not None and rule is not None:
        noise = AnswerModels.of(annotator=annotator)
        models = AnswerModels.of(presence_criterion=presence_criterion, rule=rule).with_noise(noise.low, 1 - noise.high)
    else:
        models = AnswerModels.of(presence_criterion=presence_criterion, rule=rule, annotator=annotator)
    return replace(models, per_answer=per_answer)


def _seconds(who: AnswerModels | Mapping[str, AnswerModels] | None) -> float | None:
    """The shortest overlap in seconds that a rule asks for."""
    people = [] if who is None else who.values() if isinstance(who, Mapping) else [who]
    return min((one.seconds for one in people if one.seconds is not None), default=None)


def _whole(parts: Iterable[Sequence[AnswerPattern]]) -> Array:
    """All segments but slivers: those that an end of the recording cuts to less than half of the usual length."""
    patterns = [p for part in parts for p in part]
    every = np.concatenate([p.segments for p in patterns])
    ends = np.repeat([p.length for p in patterns], [len(p.segments) for p in patterns])
    widths = every[:, 1] - every[:, 0]
    outer = (every[:, 0] <= 1e-6) | (every[:, 1] >= ends - 1e-6)
    return np.asarray(every[~(outer & (widths < np.median(widths) / 2))])


def _check_step(step: float, segments: Array, law: Lengths | None, seconds: float | None) -> None:
    """Refuse a step that is longer than a segment; warn of a coarse one."""
    shortest = float((segments[:, 1] - segments[:, 0]).min())
    if step > shortest * (1 + 1e-9):
        raise InvalidInput(f"step must be at most the shortest segment, {shortest:g} s, better a fifth; got {step:g} s")
    limits = [("segment", shortest / 2)]
    if law is not None:
        limits.append(("event (the shorter half)", float(law.quantile(0.5)) / 2))
    if seconds is not None:
        limits.append(("overlap that the rule asks for", seconds))
    word, limit = min(limits, key=lambda pair: pair[1])
    if step > limit * (1 + 1e-9):
        text = f"step of {step:g} s is coarse for the shortest {word}; at most {limit:g} s is advised"
        warnings.warn(f"{text}, a fifth is better", AssumptionWarning, stacklevel=3)


def _patterns(
    answers: Answers, label: str | None, unlisted: str, recording_length: Any, scores: Any
) -> tuple[dict[str, list[AnswerPattern]], dict[str, float], list[str]]:
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
    scored = names if None in scores or not any(name in scores for name in names) else [*scores]
    without = ", ".join(name for name in names if name not in scored)
    if without:
        notes.append(f"scores: there are none of {without}; these are inferred from the answers alone")
    patterns: dict[str, list[AnswerPattern]] = {}
    only: list[str] = []  # classes without an absent answer
    for name in names:
        rows = frame[(frame["label"] == name) & frame["present"].notna()]
        if len(rows) and (rows["present"] == 1).all():
            only.append(name)
        patterns[name] = groups = _alike(rows, lengths, name, scores if name in scored else {})
        if not groups:
            raise InvalidInput(f"{name}: there is no answer to infer events from: all are unsure")
    if only:
        words = only[0] if len(only) == 1 else f"{len(only)} classes ({', '.join(only[:3])}, ...)"
        text = f"{words}: every answer is present; if files list only what is present, say unlisted='absent' "
        warnings.warn(text + "(--unlisted absent)", AssumptionWarning, stacklevel=3)
    return patterns, known, notes


def _alike(
    rows: pd.DataFrame, lengths: Mapping[str, float], label: str, scores: Mapping[Any, Mapping[str, FrameScores]]
) -> list[AnswerPattern]:
    """The answers of one class by recording, those with the same answers together."""
    codes, names = pd.factorize(rows["recording"])
    spans, said = rows[["onset", "offset"]].to_numpy(np.float64), rows["present"].to_numpy(np.float64)
    people = rows["annotator"].to_numpy(object)
    order = np.lexsort((pd.factorize(people, sort=True)[0], spans[:, 1], spans[:, 0], codes))
    spans, said, people = spans[order], said[order], people[order]
    ends = np.searchsorted(codes[order], np.arange(len(names) + 1)).tolist()
    cuts = ((str(name), slice(a, b)) for name, a, b in zip(names, ends, ends[1:]))
    rows_of = ((name, spans[c], said[c], tuple(people[c]), lengths[name]) for name, c in cuts)
    return AnswerPattern.grouped(rows_of, scores_of(scores, label, [*map(str, names)]) if scores else None)


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
        many = f"{counted(int(guessed.sum()), 'recording')} last{'s' if guessed.sum() == 1 else ''}"
        notes.append(f"nobody says how long {many}: the last segment is taken as the end")
    every = known.where(~guessed, last.reindex(known.index))
    said = {str(name): float(value) for name, value in known.dropna().items()}
    return {str(name): float(value) for name, value in every.items()}, said, notes


def _fill(frame: pd.DataFrame, answers: Answers, lengths: Mapping[str, float]) -> pd.DataFrame:
    """The same with an absent answer wherever a segment was heard and a class is not listed."""
    keys = ["recording", "onset", "offset", "annotator"]
    heard = frame[keys].drop_duplicates()
    named = set(frame["recording"])
    known = [name for name in answers.recordings.index if name not in named and math.isfinite(lengths[name])]
    more = pd.DataFrame({"recording": known, "onset": 0.0, "offset": [lengths[n] for n in known], "annotator": ""})
    heard = pd.concat([heard, more], ignore_index=True) if len(more) else heard
    every = heard.merge(pd.DataFrame({"label": sorted(frame["label"].unique())}), how="cross")
    filled = every.merge(frame[[*keys, "label", "present"]], how="left", on=[*keys, "label"], indicator=True)
    filled.loc[filled["_merge"] == "left_only", "present"] = 0.0
    return filled.drop(columns="_merge")


def _estimate_criterion(
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
