"""What an evaluation or a simulation found: rows by name, the inputs that made them, their picture."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...base.report import Number, Report, Result
from ...base.results import METRICS, WORDS, Finding, counted, percent, safe_label, seconds, to_jsonable
from ...base.symbols import choice, plain_name
from ...engine.tally import Tally
from ...model.annotator import PRESETS
from ...model.answer_model import UNKNOWN, AnswerModels
from ...model.events import Events
from ...model.intervals import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KEYS = ("label", "segment_length", "presence_criterion", "rule", "annotator")
_MORE = ("overlap_accuracy_per_segment", "overlap_accuracy_bound", "n_overlapping", "n_present")


def rows(tally: Tally, who: AnswerModels, **first: Any) -> pd.DataFrame:
    """One row per (segment length, column) of a tally, with the house's words."""
    s, c = len(tally.segment_length), len(tally.columns)
    table: dict[str, Any] = {name: [value] * (s * c) for name, value in first.items()}
    table["segment_length"] = np.repeat(tally.segment_length, c)
    table |= {name: values * s for name, values in who.frame().items()}
    metrics = tally.metrics()
    columns = {name: metrics[name] for name in METRICS}
    columns |= {"n_queries": tally.n_segments, "listened": tally.listened}
    columns |= {"n_recordings": tally.n_recordings, "n_events": tally.n_events}
    columns |= {name: getattr(tally, name) for name in _MORE}
    columns |= {f"{name}_se": metrics[f"{name}_se"] for name in METRICS}
    table |= {name: np.broadcast_to(value, (s, c)).ravel() for name, value in columns.items()}
    for name in ("n_queries", "n_recordings", "n_events", "n_overlapping", "n_present"):  # some are expected numbers
        counts = np.asarray(table[name])
        table[name] = counts.astype(np.int64) if (counts == np.round(counts)).all() else counts
    return pd.DataFrame(table)


def brief(table: pd.DataFrame) -> pd.DataFrame:
    """The columns that people read first."""
    keys = [name for name in _KEYS if name in table and not ("rule" in table and name == "presence_criterion")]
    first = ("overlap_accuracy", "overlap_accuracy_se", "event_recall", "wrong_time", "n_queries")
    words = (*first, *(name for name in WORDS if name not in first))
    return table[[*keys, *(name for name in words if name in table)]]


#: One value per row, or a number if there is one row.
Column = Number[float | Floats]


class ScoreRows(Result):
    """Results by name: the columns of the table are attributes, an array with one value per row or one number."""

    segment_length, presence_criterion = Column(), Column()
    label: ClassVar[Any] = Number[Any]()
    rule: ClassVar[Any] = Number[Any]()
    annotator: ClassVar[Any] = Number[Any]()
    overlap_accuracy, overlap_accuracy_se = Column(), Column()
    overlap_accuracy_per_recording, overlap_accuracy_per_recording_se = Column(), Column()
    overlap_accuracy_per_segment, overlap_accuracy_bound = Column(), Column()
    recording_accuracy, recording_accuracy_se = Column(), Column()
    precision, precision_se = Column(), Column()
    recall, recall_se = Column(), Column()
    event_recall, event_recall_se = Column(), Column()
    wrong_time, wrong_time_se = Column(), Column()
    n_queries, listened, n_recordings, n_events = Column(), Column(), Column(), Column()
    n_overlapping, n_present = Column(), Column()

    @cached_property
    @abstractmethod
    def _frame(self) -> pd.DataFrame:
        """The rows of the table."""

    def to_frame(self) -> pd.DataFrame:
        """One row per (label, segment length, criterion, rule or annotator), with standard errors in _se columns."""
        return self._frame.copy()

    @property
    def answer(self) -> str:
        """What was found, in a few sentences."""
        return " ".join(self.sentences())

    def brief(self) -> pd.DataFrame:
        return brief(self._frame)


@dataclass(frozen=True)
class Assumption:
    """One assumption on one class: ``share`` of its events break it; for offsets Kuiper's V and its ``p_value``."""

    name: str
    label: str
    segment_length: float
    n_events: int
    share: float
    p_value: float
    broken: bool


@dataclass(frozen=True, repr=False)
class Evaluation(ScoreRows):
    """What weak labels make of strong annotations, per class, segment length and criterion.

    Attributes named like the columns of :meth:`to_frame` hold one value per row, or a number if there is one row.
    ``settings`` are the inputs; ``tallies`` the sums per class, ``pooled`` those of all classes.
    """

    who: AnswerModels
    tallies: dict[str, Tally]
    pooled: Tally
    settings: dict[str, Any]
    assumptions: tuple[Assumption, ...] = ()  # of the closed forms, where they were checked
    vanished: pd.DataFrame | None = None  # events that some rules lose, where the rules of the tools were asked for
    objective: str = "overlap_accuracy"  # what the best segment length has most of
    only_best: bool = False  # whether the rows of other segment lengths are left out of what is told

    @cached_property
    def _frame(self) -> pd.DataFrame:
        tallies = list(self.tallies.values())
        parts: Any = (np.concatenate([tally.parts[k] for tally in tallies]) for k in range(4))
        lengths = np.concatenate([tally.segment_length for tally in tallies])
        table = rows(replace(Tally(lengths, tallies[0].columns, *parts), n_classes=tallies[0].n_classes), self.who)
        table.insert(0, "label", np.repeat(list(self.tallies), len(table) // len(tallies)).astype(object))
        return table

    @cached_property
    def overall(self) -> Evaluation:
        """The classes pooled, one row per (segment_length, criterion): wrong time is that of all classes of a recording
        together, recordings, queries and seconds heard count once, and standard errors come from each recording's sums
        over classes. Recording accuracy is the share of (class, second) pairs that is right."""
        settings = {**self.settings, "label": "all"}
        return Evaluation(self.who, {"all": self.pooled}, self.pooled, settings, objective=self.objective)

    @property
    def several(self) -> bool:
        """Whether there is more than one class."""
        return len(self.tallies) > 1

    @property
    def findings(self) -> tuple[Finding, ...]:
        return broken(self.assumptions)

    def sentences(self) -> list[str]:
        """All classes together first, one sentence per observer, then where classes differ, and what rules decide."""
        best = (self.overall if self.several else self).best()
        if not len(best):
            return ["There are no events to label here."]
        of = f" for {len(self.tallies):,} classes together" if self.several else ""
        lengths = self.settings["segment_length"].tolist()
        sentences = told(best, tried=len(lengths), of=of)
        sentences += _classes(self, best.iloc[0], list(self.who.frame()))
        sentences += [ASSUMED] if self.who.is_unknown else []
        if self.vanished is not None:
            counts = {width: int((self.vanished["segment_length"] == width).sum()) for width in lengths}
            most = max(lengths, key=lambda width: counts[width])
            lost = f"{counted(counts[most], 'event')} {'is' if counts[most] == 1 else 'are'}"
            sentences.append(f"At {seconds(most)} the rule decides whether {lost} found at all.")
            tools = ", ".join(f"{rule.name} of {tool}" for tool, rule in PRESETS.items())
            sentences.append(f"Rules of tools: {tools}.")
        return sentences

    def best(self) -> pd.DataFrame:
        """For each class and criterion (or rule) the row of the segment length at which the objective is largest.

        Where several do equally well, the longest: it asks for the fewest queries. ``at_edge`` tells that the best is
        the first or last length tried, so that a better one may lie beyond.

        Examples
        --------
        >>> from weakly import evaluate
        >>> found = evaluate([[(10.0, 11.0)]], recording_length=100, segment_length=[0.6, 0.8], presence_criterion=0.5)
        >>> found.best()["segment_length"].tolist()
        [0.8]
        """
        frame, objective = self.to_frame(), choice("objective", self.objective, OBJECTIVES)
        keys = ["label", *self.who.frame()]
        ends = frame["segment_length"].min(), frame["segment_length"].max()
        most = frame.groupby(keys, sort=False, dropna=False)[objective].transform("max")
        top = frame[frame[objective] >= most - 1e-12]
        chosen = top.groupby(keys, sort=False, dropna=False)["segment_length"].idxmax()
        table = frame.loc[chosen.to_numpy()].reset_index(drop=True)
        table["at_edge"] = table["segment_length"].isin(ends) if ends[0] < ends[1] else False
        return table

    def tables(self) -> dict[str, pd.DataFrame]:
        """The best segment length of all classes together and of each, all classes together, every row; lost events."""
        tables = {}
        if len(self.settings["segment_length"]) > 1:
            both = [self.overall, self] if self.several else [self]
            tables["best"] = pd.concat([each.best() for each in both], ignore_index=True)
        if self.several:
            tables["overall"] = self.overall.to_frame()
        tables["evaluation"] = self.to_frame()
        return tables | ({} if self.vanished is None else {"vanished": self.vanished})

    def shown(self) -> dict[str, pd.DataFrame]:
        tables = self.tables()
        titles = {"best": f"Best segment length, by {plain_name(self.objective)}"}
        if not (self.only_best and "best" in tables):
            titles |= {"overall": "All classes together", "evaluation": "Per class"}
        own = {title: brief(tables[name]) for name, title in titles.items() if name in tables}
        return own | ({} if self.vanished is None else {"Events that vanish": self.vanished.head(10)})

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {"settings": self.settings, "answer": self.answer}
        document |= {name: table for name, table in self.tables().items() if name != "evaluation"}
        if not (self.only_best and "best" in document):
            document["rows"] = self._frame
        document |= {"assumptions": self.assumptions} if self.assumptions else {}
        return dict(to_jsonable(document))

    def plot(self, ax: Axes | None = None, *, metric: str = "overlap_accuracy") -> Axes:
        """The metric over the segment length, one line per criterion, of all classes together; events found dashed."""
        frame = self.overall._frame if self.several else self._frame
        return plot_rows(frame, ax=ax, metric=metric, who=self.who)

    def figures(self) -> dict[str, Figure]:
        """Accuracy near events and that of all time over several segment lengths, of all classes together."""
        names = CAPTIONS if len(self.settings["segment_length"]) > 1 else ()
        return {name: self.plot(metric=name).figure for name in names}  # type: ignore[misc]

    def page(self) -> Report:
        page, tables = Report("What weak labels make of these annotations").sentences(self.sentences()), self.tables()
        which = f"{len(self.tallies):,} classes together" if self.several else "the class asked for"
        for name, figure in self.figures().items():
            page.figure(figure, f"{CAPTIONS[name]}, {which}; bands: two standard errors.", name=name)
        if self.findings:
            page.heading("Caveats").items([f"{each.text[0].upper()}{each.text[1:]}." for each in self.findings])
        if "best" in tables:
            page.heading(f"Best segment length of each class, by {plain_name(self.objective)}")
            page.table(brief(tables["best"]))
        if self.several:
            page.heading("All classes together").table(brief(tables["overall"]))
        page.heading("Every class, every length").table(self.brief(), most=2000)
        if self.vanished is not None:
            page.heading("Events that vanish under some rule").table(self.vanished, most=200)
        return page


def broken(assumptions: Sequence[Assumption]) -> tuple[Finding, ...]:
    """One finding per assumption that is broken, about the class that breaks it most."""
    findings = []
    words = {
        "close": "events of {classes} lie closer together than a segment is long ({share} of {label} at {width}): "
        "formulas for a single event do not hold; the numbers of this evaluation do",
        "offsets": "onsets of {classes} are not spread evenly over the segments ({label} at {width}: Kuiper's "
        "p = {p:.2g}): it matters where the grid starts, and formulas assume that it does not",
        "censored": "events of {classes} are cut by the start or end of a recording ({share} of {label}): their "
        "true lengths are not known",
    }
    for name, text in words.items():
        breaking = [each for each in assumptions if each.name == name and each.broken]
        if not breaking:
            continue
        worst = max(breaking, key=lambda each: -each.p_value if name == "offsets" else each.share)
        labels = sorted({each.label for each in breaking})
        total = len({each.label for each in assumptions if each.name == name})
        classes = safe_label(labels[0]) if total == 1 else f"{len(labels)} of {total} classes"
        told = {"classes": classes, "share": percent(worst.share), "label": safe_label(worst.label)}
        sentence = text.format(**told, width=seconds(worst.segment_length), p=worst.p_value)
        findings.append(Finding(worst.share, name, sentence))
    return tuple(findings)


CAPTIONS = {
    "overlap_accuracy": "Accuracy near events (solid) and events found (dashed) over the segment length",
    "recording_accuracy": "Share of all time that is labelled right over the segment length",
}
_FEW = 4  # observers that get a sentence
LAST_EVENT = "a recording is taken to end with its last event, and what follows is left out"
ASSUMED = "Assumed: half of an event, or a second of it, is noticed."


def told(best: pd.DataFrame, *, tried: int, of: str = "", queries: bool = True) -> list[str]:
    """One sentence per observer, each from the row of its best length; accuracy is never told without events found."""
    sentences = []
    for row in best.head(_FEW).to_dict(orient="records"):
        width = seconds(row["segment_length"])
        start = f"{width} is the best of {tried} lengths{of}" if tried > 1 else f"segments of {width} are used{of}"
        clips = f", with {counted(round(row['n_queries']), 'clip')} to play" if queries else ""
        text = (f"with {observer_name(row)}, " if len(best) > 1 else "") + start
        accuracy, recall = percent(row["overlap_accuracy"]), percent(row["event_recall"])
        sentences.append(
            f"{text[0].upper()}{text[1:]}{clips}. This gives {accuracy} accuracy near events, {recall} of events found "
            f"and {seconds(row['wrong_time'])} of wrong time per recording."
        )
        if row["event_recall"] == 0 and (share := row.get("presence_criterion") or 0) > 0:
            sentences.append(
                f"No segment holds {percent(share)} of an event. Annotators usually answer after about a second of it: "
                f"--rule '{UNKNOWN[1]}'."
            )
    return [*sentences, f"These are {_FEW} of {len(best)} criteria or rules."] if len(best) > _FEW else sentences


def observer_name(row: Any) -> str:
    """Who answers in a row: a rule, an annotator or a criterion."""
    if row.get("rule"):
        return f"the rule {row['rule']}"
    return str(row.get("annotator") or f"criterion {row['presence_criterion']:g}")


def _named(labels: Any) -> str:
    """Classes by their names if they are few, else how many."""
    return " and ".join(map(safe_label, labels)) if len(labels) < 3 else f"{len(labels):,} classes"


def _classes(evaluation: Evaluation, chosen: Any, keys: list[str]) -> list[str]:
    """Where classes differ from all of them together, for the first observer."""
    if not evaluation.several:
        return []
    frame, n, sentences = evaluation.to_frame(), len(evaluation.tallies), []
    same = np.logical_and.reduce([frame[key].isna() | (frame[key] == chosen[key]) for key in keys])
    own = evaluation.best().merge(pd.DataFrame([chosen[keys]]), on=keys)
    lengths, who = own["segment_length"], own["label"]
    if lengths.nunique() > 1:
        share = ", ".join(f"{seconds(width)} for {_named(who[lengths == width])}" for width in sorted(set(lengths)))
        if lengths.nunique() > 3:
            low, middle, high = (seconds(float(lengths.quantile(q))) for q in (0.0, 0.5, 1.0))
            share = f"from {low} to {high}, in the middle {middle}"
        sentences.append(f"The best length differs by class: {share}.")
    at = frame[same & (frame["segment_length"] == chosen["segment_length"])].dropna(subset=["event_recall"])
    if len(at):
        lost, least = int((at["event_recall"] < 0.5).sum()), at.loc[at["event_recall"].idxmin()]
        where = f"At {seconds(chosen['segment_length'])}"
        if lost:
            lose = "loses more than half of its events" if lost == 1 else "lose more than half of their events"
            which = f"{safe_label(least['label'])} ({percent(least['event_recall'])} found)"
            sentences.append(f"{where} {lost:,} of {n:,} classes {lose}, {'' if lost == 1 else 'most of all '}{which}.")
        else:
            worst = at.loc[at["overlap_accuracy"].idxmin()]
            name, share = safe_label(least["label"]), percent(least["event_recall"])
            fewest = f"most of its events (the fewest in {name}: {share})"
            sentences.append(
                f"{where} every class keeps {fewest if least['event_recall'] < 1 - 1e-9 else 'all of its events'}; "
                f"accuracy near events is lowest for {safe_label(worst['label'])} "
                f"({percent(worst['overlap_accuracy'])})."
            )
    return sentences


def plot_rows(
    frame: pd.DataFrame, *, ax: Axes | None, metric: str, who: AnswerModels, best: pd.DataFrame | None = None
) -> Axes:
    """Lines of a metric over the segment length, with event recall dashed beside accuracy given overlap.

    The title is about the best of ``best``, the rows that the answer speaks of; left out, of all rows.
    """
    from ...base import plot

    choice("metric", metric, (*METRICS, *_MORE))
    by = next(iter(reversed(who.frame())))
    if "label" in frame:
        frame = frame[frame["label"] == frame["label"].iloc[0]]
    kept = frame.sort_values("segment_length")
    dot = "o" if kept["segment_length"].nunique() == 1 else None  # a line of one point does not show
    ax = plot.lines(kept, x="segment_length", y=metric, by=by, ax=ax, marker=dot)
    if metric.startswith("overlap_accuracy"):
        colours = [line.get_color() for line in ax.lines[-len(who) :]]
        for colour, (_, part) in zip(colours, kept.groupby(by, sort=False)):
            look: Any = {"color": colour, "lw": 1, "marker": dot, "fillstyle": "none"}
            ax.plot(part["segment_length"], part["event_recall"], "--", **look)
        ax.plot([], [], "--", color="#666666", lw=1, label=plain_name("event_recall"))
        ax.legend(frameon=False)
    if metric in OBJECTIVES and kept["segment_length"].nunique() > 1 and kept[metric].notna().any():
        plot.log_lengths(ax)
        rows = kept if best is None else best
        top = rows.iloc[int(np.nanargmax(rows[metric].to_numpy(np.float64)))]
        whose = f" ({observer_name(top)})" if len(who) > 1 else ""
        finding = f"{seconds(top['segment_length'])} segments are best{whose}: {percent(top[metric])}"
        ax.set_title(f"{finding} {plain_name(metric)}", fontsize=10, loc="left")
    return ax


OBJECTIVES = tuple(name for name in METRICS if name != "wrong_time")


def lengths_to_try(events: Events, *, label: str | None = None) -> Floats:
    """60 segment lengths in seconds, evenly spaced on a log scale, from a tenth of a short event to past a long one.

    They end at the longest recording: no longer segment differs from it.

    >>> frame = pd.DataFrame({"recording": "a", "onset": [1.0, 5.0], "offset": [2.0, 7.0], "label": "dog"})
    >>> tried = lengths_to_try(Events.from_frame(frame, recording_length=100.0))
    >>> len(tried), round(float(tried[0]), 1), round(float(tried[-1]), 1)
    (60, 0.1, 9.8)
    """
    lengths = events.select(label).lengths
    if len(lengths) == 0:
        raise InvalidInput("there are no events to choose segment lengths from; give segment_length")
    low, high = np.quantile(lengths, [0.05, 0.95])
    longest = float(events.extents.max())
    end = min(5 * float(high), longest)
    return np.geomspace(min(max(float(low) / 10, float(high) / 1000), end / 10), end, 60)
