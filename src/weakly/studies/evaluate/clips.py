r"""Strong annotations -> the clip labels that a rule makes of them; and what other rules would have made.

Every tool that turns events into clip labels has its own rule. A clip [s, s + w] is present because of the event [a, b]
if it meets it and :math:`s \in [a - w + x_0, b - x_0]`, where :math:`x_0` is the rule's required overlap. A clip that
the end of a recording cuts short is judged as if silence filled it up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ...base.errors import InvalidInput
from ...base.report import Report
from ...base.results import METRICS, Finding, counted, percent, to_jsonable
from ...base.symbols import check, choice, positive
from ...engine.tally import Tally
from ...model.annotator import PRESETS, TIE, PresenceRule
from ...model.answer_model import AnswerModels
from ...model.answers import Answers
from ...model.events import Events
from ...model.intervals import Bools, EventArrays, Floats, Ints, first_start, segment_lengths, window_counts
from .evaluation import Assumption, Evaluation, ScoreRows, brief, broken
from .evaluator import evaluate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EDGES = ("truncate", "inside")
_TOUCH = 1e-9  # an overlap shorter than this share of a clip is none, as everywhere
_ROUND = 1e-10  # of a hop: what rounding may move


@dataclass(frozen=True)
class Clips:
    """Where the clips of many recordings lie: clip i is (onset[i], offset[i]) of recording[i], cut at its ends."""

    recording: Ints
    onset: Floats
    offset: Floats
    first: Ints  # (recordings + 1,): the first clip of each recording
    begin: float  # where clip 0 of a recording begins, which may be before the recording
    hop: float
    width: float

    @classmethod
    def of(cls, lengths: Floats, *, width: float, phase: float, hop: float | None, edge: str) -> Clips:
        """The clips of recordings of these lengths: the windows of :mod:`weakly.model.intervals`."""
        step = width if hop is None else hop
        begin = first_start(phase, step)
        if begin < 0 and edge == "inside":
            begin += step
        count = window_counts(lengths, segment_length=width, hop=hop, phase=phase, edge=edge)[0].astype(np.int64)
        first = np.concatenate(([0], np.cumsum(count))).astype(np.int64)
        recording = np.repeat(np.arange(len(lengths)), count)
        start = begin + step * (np.arange(first[-1]) - first[recording])
        onset, offset = np.maximum(start, 0.0), np.minimum(start + width, lengths[recording])
        return cls(recording, onset, offset, first, begin, step, width)

    def spans(self, timelines: EventArrays, rule: PresenceRule) -> tuple[Ints, Ints]:
        """The first and last clip (among all) that each event makes present; last < first where there is none."""
        a, b = timelines.bounds[:, 0], timelines.bounds[:, 1]
        need = rule.required_overlap(event_length=b - a, segment_length=self.width) * (1 - TIE)
        need = np.maximum(need, _TOUCH * self.width)
        owner = timelines.owner
        never = np.isinf(need)
        need = np.where(never, 0.0, need)
        low = np.ceil((a - self.width + need - self.begin) / self.hop - _ROUND)
        high = np.floor((b - need - self.begin) / self.hop + _ROUND)
        low = self.first[owner] + np.maximum(low, 0).astype(np.int64)
        high = np.minimum(self.first[owner] + high.astype(np.int64), self.first[owner + 1] - 1)
        return low, np.where(never, low - 1, high)

    def present(self, timelines: EventArrays, rule: PresenceRule) -> Bools:
        """Which clips the rule calls present."""
        low, high = self.spans(timelines, rule)
        some = high >= low
        n = len(self.onset)
        change = np.bincount(low[some], minlength=n + 1) - np.bincount(high[some] + 1, minlength=n + 1)
        return np.cumsum(change)[:n] > 0


def _clips(events: Events, segment_length: float, phase: float, hop: float | None, edge: str) -> Clips:
    width = float(check("segment_length", segment_length))
    start = positive("phase", phase, zero=True)
    step = None if hop is None else float(check("hop", hop))
    choice("edge", edge, EDGES)
    lengths = events.known_extents.to_numpy(np.float64)
    return Clips.of(lengths, width=width, phase=start, hop=step, edge=edge)


def clip_labels(
    events: Events,
    *,
    segment_length: float,
    rule: PresenceRule | str | None = None,
    presence_criterion: float | str | None = None,
    phase: float = 0.0,
    hop: float | None = None,
    edge: str = "truncate",
    label: str | None = None,
) -> Answers:
    """The clip labels that a rule makes of strong annotations: one row per clip and class, present 1 or 0.

    Parameters
    ----------
    segment_length : w in seconds, > 0.
    rule, presence_criterion : exactly one of them.
    phase : where the first full clip begins, in seconds.
    hop : from one clip's start to the next, in seconds; left out, clips follow each other.
    edge : ``truncate`` cuts clips at the recording's ends, ``inside`` leaves cut ones out.
    label : one class; left out, every class.

    Examples
    --------
    >>> frame = pd.DataFrame({"recording": ["a"], "onset": [2.9], "offset": [3.3], "label": ["dog"]})
    >>> events = Events.from_frame(frame, recording_length=9.0)
    >>> clip_labels(events, segment_length=3, rule="fraction:0.5").to_frame()["present"].tolist()
    [0.0, 1.0, 0.0]
    """
    chosen = AnswerModels.of(presence_criterion=presence_criterion, rule=rule).as_rule
    clips = _clips(events, segment_length, phase, hop, edge)
    names = [str(name) for name in events.known_extents.index]
    recording = np.asarray(names, dtype=object)[clips.recording]
    place = pd.DataFrame({"recording": recording, "onset": clips.onset, "offset": clips.offset})
    tables = [
        place.assign(label=name, present=clips.present(timelines, chosen).astype(np.float64))
        for name, timelines in events.by_label(label).items()
    ]
    table = pd.concat(tables or [place.head(0).assign(label="", present=0.0)], ignore_index=True)
    known = {str(name): float(length) for name, length in events.recordings["length"].items() if length == length}
    return Answers.from_frame(table, recording_length=known, recordings=names)


@dataclass(frozen=True, repr=False)
class RuleComparison(ScoreRows):
    """What several rules make of the same events, at one or several segment lengths.

    ``table``: one row per segment length, class and rule (and one per rule for all classes, label "all"): the words of
    an evaluation, n_present (clips), n_vanished (events that no clip notices) and n_flipped (clips that differ from the
    first rule). ``flipped``: the clips on which rules disagree, with ``present_by`` and ``absent_by``. ``vanished``:
    the events that at least one rule loses, with ``lost_by``.
    """

    table: pd.DataFrame
    flipped: pd.DataFrame
    vanished: pd.DataFrame
    settings: dict[str, Any]  # segment_length (several), phase, rules (what each name stands for)
    assumptions: tuple[Assumption, ...] = ()  # of the closed forms, where they were checked

    def parts(self) -> list[RuleComparison]:
        """The same, one for each segment length."""
        parts = []
        for width in self.settings["segment_length"]:
            table, flipped, vanished = (each[each["segment_length"] == width] for each in self.tables().values())
            parts.append(RuleComparison(table, flipped, vanished, {**self.settings, "segment_length": [width]}))
        return parts

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return self.table

    def tables(self) -> dict[str, pd.DataFrame]:
        return {"rules": self.table, "flipped": self.flipped, "vanished": self.vanished}

    def to_dict(self) -> dict[str, Any]:
        told = []
        for each in self.parts():
            tables = {"rows": each.table, "flipped": each.flipped, "vanished": each.vanished}
            told.append({**each.settings, "segment_length": each.settings["segment_length"][0], **tables})
        return dict(to_jsonable({"answer": self.answer, "assumptions": self.assumptions, "comparisons": told}))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Accuracy given overlap against event recall, one point per rule, all classes; of the first length."""
        from ...base import plot

        ax, first = plot.axes(ax), self.settings["segment_length"][0]
        rows = self.table[(self.table["label"] == "all") & (self.table["segment_length"] == first)]
        points = zip(rows["event_recall"].tolist(), rows["overlap_accuracy"].tolist(), rows["rule"].tolist())
        for k, (recall, accuracy, rule) in enumerate(points):
            ax.plot(recall, accuracy, "o", color=plot.COLOURS[k % 7], label=rule, ms=8)
        ax.set(xlabel=plot.label("event_recall"), ylabel=plot.label("overlap_accuracy"), xlim=(0, 1.02), ylim=(0, 1.02))
        ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
        return ax

    def figures(self) -> dict[str, Figure]:
        return {"rules": self.plot().figure}  # type: ignore[dict-item]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return broken(self.assumptions)

    def sentences(self) -> list[str]:
        sentences = []
        for each in self.parts():
            recall = each.table.loc[each.table["label"] == "all", "event_recall"]
            sentences.append(
                f"By the rules of the tools {each.settings['segment_length'][0]:g} s clips have "
                f"{percent(recall.min())} to {percent(recall.max())} of events found. The rule decides "
                f"{counted(len(each.flipped), 'clip label')} and whether {counted(len(each.vanished), 'event')} "
                f"{'is' if len(each.vanished) == 1 else 'are'} found at all."
            )
        return sentences

    def shown(self) -> dict[str, pd.DataFrame]:
        rules = self.table[self.table["label"] == "all"]
        counts = rules[["n_present", "n_flipped", "n_vanished"]]
        shown = {f"Rules of the tools, clips from {self.settings['phase']:g} s": brief(rules).join(counts)}
        titles = {"Clip labels that depend on the rule": self.flipped, "Events that vanish": self.vanished}
        return shown | {title: table.head(10) for title, table in titles.items() if len(table)}

    def page(self) -> Report:
        pages = []
        for each in self.parts():
            width = each.settings["segment_length"][0]
            page = Report(f"Rules of the tools, clips of {width:g} s from {self.settings['phase']:g} s")
            page.answer(each.answer)
            page.figure(each.plot().figure, f"Rules of the tools at {width:g} s.", name=f"rules-{width:g}")
            page.table(each.table, most=2000)
            page.heading("Labels that depend on the rule").table(each.flipped, most=200)
            page.heading("Events that vanish under some rule").table(each.vanished, most=200)
            pages.append(page)
        for page in pages[1:]:
            pages[0].add(page)
        return pages[0]


def tool_rules() -> dict[str, PresenceRule]:
    """The rules of the tools, those that are the same rule under one name.

    >>> list(tool_rules())[0]
    'hoplite, perch, sed_eval'
    """
    tools: dict[PresenceRule, list[str]] = {PresenceRule.any(): []}
    for tool, rule in PRESETS.items():
        tools.setdefault(rule, []).append(tool)
    return {", ".join(names): rule for rule, names in tools.items()}


def compare_rules(
    events: Events,
    *,
    segment_length: ArrayLike,
    rules: Mapping[str, PresenceRule | str] | None = None,
    phase: float = 0.0,
    label: str | None = None,
) -> RuleComparison:
    """What several rules make of the same events on the same clips: a :class:`RuleComparison`.

    Parameters
    ----------
    segment_length : seconds, > 0; one or several.
    rules : by name, the first is the one that others are compared to; left out, the rules of the tools.
    phase : where the first full clip begins, in seconds.
    label : one class; left out, every class.

    Examples
    --------
    >>> frame = pd.DataFrame({"recording": ["a"], "onset": [2.9], "offset": [3.1], "label": ["dog"]})
    >>> two = {"any": PresenceRule.any(), "long": PresenceRule.seconds(0.25)}
    >>> found = compare_rules(Events.from_frame(frame, recording_length=9.0), segment_length=3, rules=two)
    >>> found.table.query("label == 'all'")[["n_present", "n_vanished"]].values.tolist()
    [[2, 0], [0, 1]]
    """
    given = tool_rules() if rules is None else rules
    named = {name: AnswerModels.of(rule=rule).as_rule for name, rule in given.items()}
    if not named:
        raise InvalidInput("rules must hold at least one rule, got none")
    widths = segment_lengths(segment_length).tolist()
    clips = [_clips(events, width, phase, None, "truncate") for width in widths]
    evaluation = evaluate(events, segment_length=widths, rule=list(named.values()), phase=phase, label=label)
    timelines = events.by_label(label)
    tables = zip(*(_compared(events, timelines, evaluation, k, clips[k], named) for k in range(len(widths))))
    settings = {"segment_length": widths, "phase": float(phase)}
    settings["rules"] = {name: each.name for name, each in named.items()}
    table, flipped, vanished = (pd.concat(each, ignore_index=True) for each in tables)
    return RuleComparison(table, flipped, vanished, settings)


def _compared(
    events: Events, classes: Mapping[str, EventArrays], evaluation: Evaluation, k: int, clips: Clips,
    named: Mapping[str, PresenceRule],
) -> list[pd.DataFrame]:  # fmt: skip
    """The three tables of the k-th segment length."""
    names = np.asarray(events.known_extents.index, dtype=object)
    rows, flipped, vanished = [], [], []
    total = np.zeros((len(named), 3), dtype=np.int64)
    for name, timelines in classes.items():
        present = np.array([clips.present(timelines, rule) for rule in named.values()])
        gone = np.array([np.less(*clips.spans(timelines, rule)[::-1]) for rule in named.values()])
        differ = present != present[:1]
        count = np.column_stack((present.sum(axis=1), gone.sum(axis=1), differ.sum(axis=1)))
        total += count
        rows.append(_numbered(evaluation.tallies[name], k, name, named, count))
        at = np.flatnonzero(present.any(axis=0) & ~present.all(axis=0))
        place = {"recording": names[clips.recording[at]], "onset": clips.onset[at], "offset": clips.offset[at]}
        by = {"present_by": _who(present[:, at], list(named)), "absent_by": _who(~present[:, at], list(named))}
        flipped.append(pd.DataFrame({**place, "label": name, **by}))
        at = np.flatnonzero(gone.any(axis=0))
        onset, offset = timelines.bounds[at].T
        place = {"recording": names[timelines.owner[at]], "onset": onset, "offset": offset}
        vanished.append(pd.DataFrame({**place, "label": name, "lost_by": _who(gone[:, at], list(named))}))
    rows.append(_numbered(evaluation.pooled, k, "all", named, total))
    return [
        pd.concat(tables, ignore_index=True).assign(segment_length=clips.width) for tables in (rows, flipped, vanished)
    ]


def _numbered(tally: Tally, k: int, label: str, named: Mapping[str, PresenceRule], count: Ints) -> pd.DataFrame:
    """The words of results of the k-th segment length, one row per rule."""
    metrics = tally.metrics()
    table: dict[str, Any] = {"label": label, "rule": list(named), **{name: metrics[name][k] for name in METRICS}}
    table |= {"n_present": count[:, 0], "n_flipped": count[:, 2], "n_vanished": count[:, 1]}
    return pd.DataFrame({**table, "n_queries": int(tally.n_segments[k, 0]), "n_events": int(tally.n_events[k, 0])})


def _who(chosen: Bools, names: list[str]) -> list[str]:
    """For every column the names of the rows that are set; few patterns, many columns."""
    power = 1 << np.arange(len(names), dtype=np.int64)
    words = {int(code): "; ".join(n for n, p in zip(names, power) if code & p) for code in np.unique(power @ chosen)}
    return [words[int(code)] for code in power @ chosen]
