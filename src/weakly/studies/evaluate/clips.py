r"""Strong annotations -> the clip labels that a rule makes of them; and what other rules would have made.

Every tool that turns events into clip labels has its own rule. A clip that the end of a recording cuts short is judged
as if silence filled it up. An overlap shorter than 1e-9 of a clip is none, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from ...engine.tally import meetings
from ...model.annotator import PRESETS, TIE, PresenceRule
from ...model.answer_model import AnswerModels
from ...model.answers import Answers
from ...model.events import Events
from ...model.intervals import Bools, EventArrays, Floats, Ints, first_start, segment_lengths, window_counts
from .evaluation import Assumption, ScoreRows, brief, broken
from .evaluator import evaluate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EDGES = ("truncate", "inside")


@dataclass(frozen=True)
class Clips:
    """Where the clips of many recordings lie: the windows of :mod:`weakly.model.intervals`."""

    recording: Ints
    full: Floats  # (clips, 2): where each begins and ends if nothing cuts it
    cut: Floats  # the same within its recording

    @classmethod
    def of(cls, events: Events, segment_length: float, phase: float, hop: float | None, edge: str) -> Clips:
        """The clips of the recordings that these events lie in."""
        width, start = float(check("segment_length", segment_length)), positive("phase", phase, zero=True)
        step = width if hop is None else float(check("hop", hop))
        choice("edge", edge, EDGES)
        lengths = events.known_extents.to_numpy(np.float64)
        begin = first_start(start, step)
        if begin < 0 and edge == "inside":
            begin += step
        count = window_counts(lengths, segment_length=width, hop=hop, phase=start, edge=edge)[0].astype(np.int64)
        recording = np.repeat(np.arange(len(lengths)), count)
        onset = begin + step * (np.arange(len(recording)) - np.repeat(np.cumsum(count) - count, count))
        full = np.column_stack((onset, onset + width))
        return cls(recording, full, np.clip(full, 0.0, lengths[recording, None]))

    def noticed(self, timelines: EventArrays, rules: Iterable[PresenceRule]) -> tuple[Bools, Bools]:
        """Which clips each rule calls present, (rules, clips), and which events are noticed in some clip."""
        clip, event, shared = meetings(timelines, self.recording, self.full)
        present, found = [], []
        for rule in rules:
            met = rule.is_present(event=timelines.bounds[event], segment=self.full[clip])
            met &= shared > TIE * (self.full[clip, 1] - self.full[clip, 0])
            present.append(np.bincount(clip[met], minlength=len(self.full)) > 0)
            found.append(np.bincount(event[met], minlength=len(timelines.bounds)) > 0)
        return np.array(present), np.array(found)


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
    clips = Clips.of(events, segment_length, phase, hop, edge)
    names = [str(name) for name in events.known_extents.index]
    recording = np.asarray(names, dtype=object)[clips.recording]
    place = pd.DataFrame({"recording": recording, "onset": clips.cut[:, 0], "offset": clips.cut[:, 1]})
    tables = [
        place.assign(label=name, present=clips.noticed(timelines, [chosen])[0][0].astype(np.float64))
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
            page.sentences([each.answer])
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
    evaluation = evaluate(events, segment_length=widths, rule=list(named.values()), phase=phase, label=label)
    scores = pd.concat([evaluation.to_frame(), evaluation.overall.to_frame()], ignore_index=True)
    at = np.arange(len(scores)).reshape(-1, len(widths), len(named))
    classes = events.by_label(label)
    tables = zip(*(_compared(events, classes, scores.iloc[at[:, k].ravel()], named, phase) for k in range(len(widths))))
    settings = {"segment_length": widths, "phase": float(phase)}
    settings["rules"] = {name: each.name for name, each in named.items()}
    table, flipped, vanished = (pd.concat(each, ignore_index=True) for each in tables)
    return RuleComparison(table, flipped, vanished, settings)


def _compared(
    events: Events, classes: Mapping[str, EventArrays], scores: pd.DataFrame, named: Mapping[str, PresenceRule],
    phase: float,
) -> list[pd.DataFrame]:  # fmt: skip
    """The three tables of one segment length, given the words of results: a row per rule, by class and of all."""
    width = float(scores["segment_length"].iloc[0])
    clips = Clips.of(events, width, phase, None, "truncate")
    names = np.asarray(events.known_extents.index, dtype=object)
    counts, flipped, vanished = [], [], []
    for name, timelines in classes.items():
        present, found = clips.noticed(timelines, named.values())
        differ = present != present[:1]
        counts.append(np.column_stack((present.sum(axis=1), differ.sum(axis=1), (~found).sum(axis=1))))
        at = np.flatnonzero(present.any(axis=0) & ~present.all(axis=0))
        onset, offset = clips.cut[at].T
        place = {"recording": names[clips.recording[at]], "onset": onset, "offset": offset}
        by = {"present_by": _who(present[:, at], list(named)), "absent_by": _who(~present[:, at], list(named))}
        flipped.append(pd.DataFrame({**place, "label": name, **by}))
        at = np.flatnonzero(~found.all(axis=0))
        onset, offset = timelines.bounds[at].T
        place = {"recording": names[timelines.owner[at]], "onset": onset, "offset": offset}
        vanished.append(pd.DataFrame({**place, "label": name, "lost_by": _who(~found[:, at], list(named))}))
    table = pd.DataFrame({"label": scores["label"], "rule": list(named) * (len(counts) + 1), **scores[list(METRICS)]})
    table[["n_present", "n_flipped", "n_vanished"]] = np.concatenate([*counts, np.sum(counts, axis=0)])
    table[["n_queries", "n_events"]] = scores[["n_queries", "n_events"]].astype(np.int64)
    lists = (pd.concat(tables, ignore_index=True) for tables in (flipped, vanished))
    return [each.assign(segment_length=width) for each in (table, *lists)]


def _who(chosen: Bools, names: list[str]) -> list[str]:
    """For every column the names of the rows that are set; few patterns, many columns."""
    power = 1 << np.arange(len(names), dtype=np.int64)
    words = {int(code): "; ".join(n for n, p in zip(names, power) if code & p) for code in np.unique(power @ chosen)}
    return [words[int(code)] for code in power @ chosen]
