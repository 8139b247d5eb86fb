"""What an evaluation or a simulation found: rows by name, the inputs that made them, their picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base.errors import InvalidInput
from ...base.report import Report, Result
from ...base.results import METRICS, WORDS, counted, percent, plain, seconds, word
from ...base.symbols import choice, plain_name
from ...engine.tally import Tally
from ...model.answer_model import AnswerModels
from ...model.events import Events

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SUMS = ("n_queries", "listened", "n_recordings", "n_events")
_KEYS = ("label", "segment_length", "presence_criterion", "rule", "annotator")
#: What a posterior makes of the same answers, in seconds per recording, beside what they paint and what is true.
POSTERIOR = ("posterior_wrong_time", "painted_wrong_time", "event_seconds", "painted_seconds", "posterior_seconds")
_MORE = ("overlap_accuracy_per_segment", "overlap_accuracy_bound", "n_overlapping", "n_present")


def rows(tally: Tally, who: AnswerModels, **first: Any) -> pd.DataFrame:
    """One row per (segment length, column) of a tally, with the house's words."""
    s, c = len(tally.segment_length), len(tally.columns)
    table: dict[str, Any] = {name: [value] * (s * c) for name, value in first.items()}
    table["segment_length"] = np.repeat(tally.segment_length, c)
    table |= {name: values * s for name, values in who.frame().items()}
    metrics = tally.metrics()
    found = {name: metrics[name] for name in METRICS}
    found |= {"n_queries": tally.n_segments, "listened": tally.listened}
    found |= {"n_recordings": tally.n_recordings, "n_events": tally.n_events}
    found |= {name: getattr(tally, name) for name in _MORE}
    found |= {f"{name}_se": metrics[f"{name}_se"] for name in METRICS}
    table |= {name: np.broadcast_to(value, (s, c)).ravel() for name, value in found.items()}
    return pd.DataFrame(table)


def brief(table: pd.DataFrame) -> pd.DataFrame:
    """The columns that people read first."""
    keys = [name for name in _KEYS if name in table and not ("rule" in table and name == "presence_criterion")]
    first = ("overlap_accuracy", "overlap_accuracy_se", "event_recall", "wrong_time", *POSTERIOR, "n_queries")
    words = (*first, *(name for name in WORDS if name not in first))
    return table[[*keys, *(name for name in words if name in table)]]


class ScoreRows(Result):
    """Results by name: every column of the table is an attribute, an array with one value per row or one number."""

    def brief(self) -> pd.DataFrame:
        """The columns that people read first."""
        return brief(self.to_frame())

    def __getattr__(self, name: str) -> Any:
        known = (*METRICS, *_SUMS, *_MORE, *_KEYS, *POSTERIOR)
        if name.removesuffix("_se") in known and name in self.to_frame():
            values = self.to_frame()[name].to_numpy()
            return values if len(values) != 1 else values[0].item() if hasattr(values[0], "item") else values[0]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@dataclass(frozen=True)
class Evaluation(ScoreRows):
    """What weak labels make of strong annotations, per class, segment length and criterion.

    Attributes named like the columns of :meth:`to_frame` hold one value per row, or a number if there is one row.
    ``settings`` are the inputs; ``tallies`` the sums per class, ``pooled`` those of all classes.
    """

    who: AnswerModels
    tallies: dict[str, Tally]
    pooled: Tally
    settings: dict[str, Any]
    assumptions: tuple[Any, ...] = ()  # of the closed forms, where they were checked
    inferred: pd.DataFrame | None = None  # what a posterior makes of the answers of each row, where it was asked for

    @cached_property
    def _frame(self) -> pd.DataFrame:
        tallies = list(self.tallies.values())
        parts: Any = (np.concatenate([tally.parts[k] for tally in tallies]) for k in range(4))
        lengths = np.concatenate([tally.segment_length for tally in tallies])
        table = rows(replace(Tally(lengths, tallies[0].columns, *parts), n_classes=tallies[0].n_classes), self.who)
        table.insert(0, "label", np.repeat(list(self.tallies), len(table) // len(tallies)).astype(object))
        return table if self.inferred is None else pd.concat([table, self.inferred], axis=1)

    def to_frame(self) -> pd.DataFrame:
        """One row per (label, segment_length, presence_criterion or rule), with standard errors in _se columns."""
        return self._frame.copy()

    @cached_property
    def overall(self) -> Evaluation:
        """The classes pooled, one row per (segment_length, criterion): wrong time is that of all classes of a recording
        together, recordings, queries and seconds heard count once, and standard errors come from each recording's sums
        over classes. Recording accuracy is the share of (class, second) pairs that is right."""
        return Evaluation(self.who, {"all": self.pooled}, self.pooled, {**self.settings, "label": "all"})

    @property
    def several(self) -> bool:
        """Whether there is more than one class."""
        return len(self.tallies) > 1

    @property
    def answer(self) -> str:
        """What the numbers say, in a few sentences: all classes first, then where classes differ."""
        return " ".join(sentences(self))

    def to_dict(self) -> dict[str, Any]:
        """Inputs, the answer in words and rows in plain numbers, for JSON."""
        found: dict[str, Any] = {"settings": self.settings, "answer": self.answer, "rows": self._frame}
        if self.several:
            found["overall"] = self.overall.to_frame()
        if len(self.settings["segment_length"]) > 1:
            found["best"] = best_of_all(self)
        return dict(plain(found))

    def plot(self, ax: Axes | None = None, *, metric: str = "overlap_accuracy") -> Axes:
        """The metric over the segment length, one line per criterion (of the first class), event recall dashed."""
        return plot_rows(self._frame, ax=ax, metric=metric, who=self.who)

    def page(self, *, objective: str = "overlap_accuracy") -> Report:
        """The answer in words, pictures over several segment lengths, the best of each class, and all rows."""
        from .assumptions import sentences as broken

        page = Report("What weak labels make of these annotations").sentences(sentences(self, objective=objective))
        if said := broken(self.assumptions):
            page.heading("Mind").items([f"{text[0].upper()}{text[1:]}." for text in said])
        for name, (figure, caption) in pictures(self).items():
            page.figure(figure, caption, name=name)
        if len(self.settings["segment_length"]) > 1:
            page.heading(f"Best segment length of each class, by {plain_name(objective)}")
            page.table(brief(best_of_all(self, objective=objective)))
        if self.several:
            page.heading("All classes together").table(brief(self.overall.to_frame()))
        return page.heading("Every class, every length").table(self.brief(), most=2000)


def pictures(evaluation: Evaluation) -> dict[str, tuple[Any, str]]:
    """The pictures of an evaluation at several segment lengths, with captions that say what they show."""
    if len(evaluation.settings["segment_length"]) < 2:
        return {}
    whole = evaluation.overall if evaluation.several else evaluation
    which = f"all {len(evaluation.tallies):,} classes together" if evaluation.several else "the class asked for"
    captions = {
        "overlap_accuracy": "Accuracy near events (solid) and events found (dashed) over the segment length",
        "recording_accuracy": "Share of all time that is labelled right over the segment length",
    }
    return {
        name: (whole.plot(metric=name).figure, f"{caption}, {which}; bands: two standard errors.")
        for name, caption in captions.items()
    }


def best_of_all(evaluation: Evaluation, *, objective: str = "overlap_accuracy") -> pd.DataFrame:
    """The best segment length of all classes together, then of each."""
    parts = [evaluation.overall, evaluation] if evaluation.several else [evaluation]
    return pd.concat([best(part, objective=objective) for part in parts], ignore_index=True)


def sentences(evaluation: Evaluation, *, objective: str = "overlap_accuracy") -> list[str]:
    """What an evaluation found: all classes together first, one sentence per observer, then where classes differ."""
    whole = evaluation.overall if evaluation.several else evaluation
    found, tried = best(whole, objective=objective), len(evaluation.settings["segment_length"])
    if not len(found):
        return ["There are no events to label here."]
    of = f" for {len(evaluation.tallies):,} classes together" if evaluation.several else ""
    said = told(found, tried=tried, of=of)
    return [*said, *_classes(evaluation, found.iloc[0], list(evaluation.who.frame()), objective)]


_FEW = 4  # observers that get a sentence


def told(found: pd.DataFrame, *, tried: int, of: str = "", queries: bool = True) -> list[str]:
    """One sentence per observer, each from the row of its best length; accuracy is never told without events found."""
    said = []
    for row in found.head(_FEW).to_dict(orient="records"):
        width = seconds(row["segment_length"])
        start = f"of {tried} lengths tried {width} is best" if tried > 1 else f"{width} segments"
        who = f"{observer_name(row)}: " if len(found) > 1 else ""
        text = (
            f"{who}{start}{of}: {percent(row['overlap_accuracy'])} accuracy near events, "
            f"{percent(row['event_recall'])} of events found, {seconds(row['wrong_time'])} of wrong time per recording"
            + (f", {counted(round(row['n_queries']), 'query')}." if queries else ".")
        )
        said.append(text[0].upper() + text[1:])
    return [*said, f"These are {_FEW} of {len(found)} criteria or rules."] if len(found) > _FEW else said


def observer_name(row: Any) -> str:
    """Who answers in a row: a rule, an annotator or a criterion."""
    return str(row.get("rule") or row.get("annotator") or f"criterion {row['presence_criterion']:g}")


def _named(labels: Any) -> str:
    """Classes by their names if they are few, else how many."""
    return " and ".join(map(word, labels)) if len(labels) < 3 else f"{len(labels):,} classes"


def _classes(evaluation: Evaluation, chosen: Any, keys: list[str], objective: str) -> list[str]:
    """Where classes differ from all of them together, for the first observer."""
    if not evaluation.several:
        return []
    frame, n, said = evaluation.to_frame(), len(evaluation.tallies), []
    same = np.logical_and.reduce([frame[key].isna() | (frame[key] == chosen[key]) for key in keys])
    own = best(evaluation, objective=objective).merge(pd.DataFrame([chosen[keys]]), on=keys)
    lengths, who = own["segment_length"], own["label"]
    if lengths.nunique() > 1:
        share = ", ".join(f"{seconds(width)} for {_named(who[lengths == width])}" for width in sorted(set(lengths)))
        if lengths.nunique() > 8:
            low, middle, high = (seconds(float(lengths.quantile(q))) for q in (0.0, 0.5, 1.0))
            share = f"from {low} to {high}, in the middle {middle}"
        said.append(f"The best length differs by class: {share}.")
    at = frame[same & (frame["segment_length"] == chosen["segment_length"])].dropna(subset=["event_recall"])
    if len(at):
        lost, least = int((at["event_recall"] < 0.5).sum()), at.loc[at["event_recall"].idxmin()]
        where = f"At {seconds(chosen['segment_length'])}"
        if lost:
            said.append(
                f"{where} {lost:,} of {n:,} classes lose more than half of their events, "
                f"most of all {word(least['label'])} ({percent(least['event_recall'])} found)."
            )
        else:
            worst = at.loc[at["overlap_accuracy"].idxmin()]
            fewest = f"most of its events ({word(least['label'])} the fewest, {percent(least['event_recall'])})"
            said.append(
                f"{where} every class keeps {fewest if least['event_recall'] < 1 - 1e-9 else 'all of its events'}; "
                f"accuracy near events is lowest for {word(worst['label'])} ({percent(worst['overlap_accuracy'])})."
            )
    return said


def plot_rows(
    frame: pd.DataFrame, *, ax: Axes | None, metric: str, who: AnswerModels, found: pd.DataFrame | None = None
) -> Axes:
    """Lines of a metric over the segment length, with event recall dashed beside accuracy given overlap.

    The title is about the best of ``found``, the rows that the answer speaks of; left out, of all rows.
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
            ax.plot(
                part["segment_length"], part["event_recall"], "--", color=colour, lw=1, marker=dot, fillstyle="none"
            )
        ax.plot([], [], "--", color="#666666", lw=1, label=plain_name("event_recall"))
        ax.legend(frameon=False)
    if metric in OBJECTIVES and kept["segment_length"].nunique() > 1 and kept[metric].notna().any():
        plot.log_lengths(ax)
        rows = kept if found is None else found
        top = rows.iloc[int(np.nanargmax(rows[metric].to_numpy(np.float64)))]
        whose = f" ({observer_name(top)})" if len(who) > 1 else ""
        finding = f"{seconds(top['segment_length'])} segments are best{whose}: {percent(top[metric])}"
        ax.set_title(f"{finding} {plain_name(metric)}", fontsize=10, loc="left")
    return ax


OBJECTIVES = tuple(name for name in METRICS if name != "wrong_time")


def lengths_to_try(events: Events, *, label: str | None = None, n: int = 60) -> NDArray[np.float64]:
    """Segment lengths in seconds, evenly spaced on a log scale, from a tenth of a short event to past a long one.

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
    return np.geomspace(min(max(float(low) / 10, float(high) / 1000), end / 10), end, n)


def best(evaluation: Evaluation, *, objective: str = "overlap_accuracy") -> pd.DataFrame:
    """For each class and criterion (or rule) the row of the segment length at which the objective is largest.

    Where several do equally well, the longest: it asks for the fewest queries. ``at_edge`` tells that the best is the
    first or last length tried, so that a better one may lie beyond.

    Examples
    --------
    >>> from weakly import evaluate
    >>> found = evaluate([[(10.0, 11.0)]], recording_length=100, segment_length=[0.6, 0.8, 1.2], presence_criterion=0.5)
    >>> best(found)["segment_length"].tolist()
    [0.8]
    """
    choice("objective", objective, OBJECTIVES)
    frame = evaluation.to_frame()
    keys = ["label", *evaluation.who.frame()]
    ends = frame["segment_length"].min(), frame["segment_length"].max()
    most = frame.groupby(keys, sort=False, dropna=False)[objective].transform("max")
    top = frame[frame[objective] >= most - 1e-12]
    chosen = top.groupby(keys, sort=False, dropna=False)["segment_length"].idxmax()
    table = frame.loc[chosen.to_numpy()].reset_index(drop=True)
    table["at_edge"] = table["segment_length"].isin(ends) if ends[0] < ends[1] else False
    return table
