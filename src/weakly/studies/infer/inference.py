"""What an inference found: per step, recording, class and overall; its words, picture and page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...base.report import Report, Result
from ...base.results import percent, plain
from ...base.symbols import check, choice
from ...model.events import Events
from ...model.intervals import duration, merge
from ...posterior.chain import Posterior, prepare
from ...posterior.fitting import ProcessFit
from ...posterior.hearing import slip_interval
from ...posterior.renewal import Array, Mixed, Renewal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .training import Training

#: The criteria that stand for an unknown one.
CRITERIA = (0.3, 0.5, 0.7)
_WORDS = ("n_events", "event_seconds", "event_rate")
#: Words of a result's tables as people read them: totals of recordings, and rates of what is heard or starts.
_COLUMNS = {"n_recordings": "recordings", "n_events": "events", "event_rate": "events_per_second"}
_QUANTITIES = {
    "event_rate": "events that start per second",
    "mean_length": "mean length (s)",
    "median_length": "median length (s)",
    "rate_variation": "variation of rates (sd / mean)",
    "presence_criterion": "presence criterion",
}
_SURE = 2.5  # an estimate is identified if the ends of its interval differ by less than this factor


@dataclass(frozen=True, eq=False)
class RecordingPosterior:
    """One recording of one class: its answers, P(active) per step, expected and drawn numbers and seconds of events."""

    recording: str
    length: float
    segments: Array
    present: Array
    annotators: tuple[str, ...]
    active: Array
    n_events: float
    event_seconds: float
    n_events_draws: Array
    event_seconds_draws: Array

    @property
    def painted(self) -> Array:
        """The time that present answers paint, as intervals."""
        return merge(self.segments[self.present == 1])

    def edges(self, step: float) -> Array:
        """The ends of the steps in seconds."""
        ends: Array = np.round(step * np.arange(len(self.active) + 1, dtype=np.float64), 9)
        ends[-1] = self.length
        return ends


@dataclass(frozen=True, eq=False)
class ClassPosterior:
    """One class: the process of its events, given or estimated, and its recordings."""

    label: str
    renewal: Renewal | Mixed
    annotator: Any
    fit: ProcessFit | None
    heard: tuple[RecordingPosterior, ...]
    log_likelihood: float
    slips: Mapping[str, Array] = field(default_factory=dict)  # of everybody whose slips were estimated, their counts

    @property
    def seconds(self) -> float:
        """The seconds of all recordings."""
        return sum(one.length for one in self.heard)

    @property
    def segment_lengths(self) -> Array:
        """The different lengths of the segments that were answered, without 5 % (cut ones) at either end."""
        widths = np.concatenate([one.segments[:, 1] - one.segments[:, 0] for one in self.heard])
        values, counts = np.unique(np.round(widths, 6), return_counts=True)
        upto = np.cumsum(counts) / counts.sum()
        kept = (upto >= 0.05 - 1e-9) & (upto - counts / counts.sum() <= 0.95 + 1e-9)
        return np.asarray(values[kept], dtype=np.float64)

    @property
    def overall(self) -> dict[str, Any]:
        """Events, their seconds and rate over all recordings, each with its interval."""
        events = np.sum([one.n_events_draws for one in self.heard], axis=0)
        seconds = np.sum([one.event_seconds_draws for one in self.heard], axis=0)
        found = _row(
            sum(one.n_events for one in self.heard), sum(one.event_seconds for one in self.heard),
            events, seconds, self.seconds,
        )  # fmt: skip
        painted = sum(duration(one.painted) for one in self.heard)
        return {
            "label": self.label,
            "n_recordings": len(self.heard),
            "recording_seconds": self.seconds,
            **found,
            "painted_seconds": painted,
            "log_likelihood": self.log_likelihood,
        }


def _row(n_events: float, seconds: float, events: Array, times: Array, length: float) -> dict[str, Any]:
    """Events, seconds and rate, each with its interval."""
    return _rows(np.array([n_events]), np.array([seconds]), events[None], times[None], np.array([length]))[0]


def _rows(n_events: Array, seconds: Array, events: Array, times: Array, length: Array) -> list[dict[str, Any]]:
    """The same for many recordings: what is expected, and what was drawn as (recordings, draws)."""
    found = {"n_events": n_events, "event_seconds": seconds, "event_rate": n_events / length}
    ends = {}
    for word, drawn in (("n_events", events), ("event_seconds", times)):
        low, high = np.quantile(drawn, [0.025, 0.975], axis=1, method="weibull")  # of few events, all may be none
        ends[word] = np.minimum(low, found[word]), np.maximum(high, found[word])
    ends["event_rate"] = ends["n_events"][0] / length, ends["n_events"][1] / length
    return [
        {
            name: value
            for word in _WORDS
            for name, value in (
                (word, float(found[word][k])),
                (f"{word}_ci", (float(ends[word][0][k]), float(ends[word][1][k]))),
            )
        }
        for k in range(len(length))
    ]


@dataclass(frozen=True, eq=False)
class Inference(Result):
    """What the events were, given the answers; made by :func:`weakly.infer`.

    ``summary`` and ``overall`` hold expected events, event seconds and rate (events that can be heard, cut ones
    included, per second), with 95 % intervals in columns that end with _ci.
    """

    parts: dict[str, ClassPosterior]
    settings: dict[str, Any]
    presence_criterion: float | None = None  # the one gone by, where it was left out
    criterion_weights: Mapping[float, float] | None = None
    alternatives: Mapping[float, Mapping[str, ClassPosterior]] | None = None
    criterion_ci: tuple[float, float] | None = None  # where the criterion was estimated
    notes: tuple[str, ...] = ()
    of_shorter: bool = False  # whether the criterion that was left out is a share of the shorter of event and segment

    @property
    def criterion_known(self) -> bool:
        """Whether the criterion was given, or the answers tell it from the others."""
        return not self.criterion_weights or self.criterion_ci is not None

    @property
    def log_likelihood(self) -> float:
        """The logarithm of the chance of all answers."""
        return sum(part.log_likelihood for part in self.parts.values())

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row per recording and class: expected events, event seconds and rate, with intervals."""
        rows = []
        for part in self.parts.values():
            columns = zip(
                *((one.n_events, one.event_seconds, one.n_events_draws, one.event_seconds_draws, one.length)
                  for one in part.heard)
            )  # fmt: skip
            for one, found in zip(part.heard, _rows(*(np.array(column) for column in columns))):
                painted = duration(one.painted)
                rows.append({"recording": one.recording, "label": part.label, **found, "painted_seconds": painted})
        return pd.DataFrame(rows)

    @cached_property
    def overall(self) -> pd.DataFrame:
        """One row per class: the same over all recordings; an unknown criterion widens the intervals."""
        rows = []
        for label, part in self.parts.items():
            row = part.overall
            if not self.criterion_known and self.alternatives:
                others = [parts[label].overall for parts in self.alternatives.values()]
                for word in _WORDS:
                    ends = [other[f"{word}_ci"] for other in others]
                    row[f"{word}_ci"] = (min(e[0] for e in ends), max(e[1] for e in ends))
            rows.append(row)
        return pd.DataFrame(rows)

    def to_frame(self) -> pd.DataFrame:
        """One row per recording and class, as :attr:`summary`."""
        return self.summary.copy()

    @cached_property
    def active(self) -> pd.DataFrame:
        """P(an event is under way) per step: recording, label, onset, offset, active."""
        tables = []
        for part in self.parts.values():
            for one in part.heard:
                edges = one.edges(part.renewal.step)
                columns = {"recording": one.recording, "label": part.label, "onset": edges[:-1], "offset": edges[1:]}
                tables.append(pd.DataFrame({**columns, "active": one.active}))
        return pd.concat(tables, ignore_index=True)

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """What was given or estimated of each class, with its interval and whether the answers identify it."""
        rows = []
        for label, part in self.parts.items():
            law = part.renewal.lengths
            known = part.fit is None or part.fit.family.lengths is not None

            def row(
                name: str, value: Any, given: bool, function: Any, *,
                label: str = label, part: ClassPosterior = part, known: bool = known,
            ) -> None:  # fmt: skip
                low, high = (np.nan, np.nan) if given or part.fit is None else part.fit.interval(function)
                enough = known or part.segment_lengths[-1] >= 1.5 * part.segment_lengths[0]
                sure = given or bool(high < _SURE * low and enough)
                how = "given" if given else "estimated"
                rows.append(
                    {
                        "label": label,
                        "quantity": name,
                        "value": value,
                        "ci": (low, high),
                        "how": how,
                        "identified": sure,
                    }
                )

            row("event_rate", part.renewal.event_rate, part.fit is None, lambda r: r.event_rate)
            row("mean_length", law.mean, known, lambda r: r.lengths.mean)
            row("median_length", law.quantile(0.5), known, lambda r: r.lengths.quantile(0.5))
            if part.fit is not None and part.fit.family.hazards is not None:
                spread = float(np.exp(part.fit.theta[-1]))
                low, high = (
                    float(x) for x in np.exp(np.quantile(part.fit.theta[-1] + part.fit.moves[:, -1], [0.025, 0.975]))
                )
                rows.append(
                    {"label": label, "quantity": "rate_variation", "value": spread, "ci": (low, high),
                     "how": "estimated", "identified": high < _SURE * low}
                )  # fmt: skip
        for label in self.parts if self.criterion_weights else ():
            ends = self.criterion_ci or (min(CRITERIA), max(CRITERIA))
            rows.append(
                {"label": label, "quantity": "presence_criterion", "value": self.presence_criterion, "ci": ends,
                 "how": "estimated" if self.criterion_known else "assumed", "identified": self.criterion_known}
            )  # fmt: skip
        for label, part in self.parts.items():
            for name, counts in part.slips.items():
                who = part.annotator[name]
                for word, value, (wrong, n) in (
                    ("guess_rate", who.low, counts[:2]), ("lapse_rate", 1 - who.high, counts[2:]),
                ):  # fmt: skip
                    ends = slip_interval(float(wrong), float(n))
                    rows.append(
                        {"label": label, "quantity": word if len(part.slips) == 1 else f"{word} of {name}",
                         "value": value, "ci": (min(ends[0], value), max(ends[1], value)), "how": "estimated",
                         "identified": ends[1] - ends[0] < 0.1}
                    )  # fmt: skip
        return pd.DataFrame(rows)

    def sentences(self) -> list[str]:
        """The answer in words, per class, and what these answers can and cannot tell."""
        said = []
        for row in self.overall.to_dict("records"):
            part = self.parts[row["label"]]
            per = 60 / row["recording_seconds"]
            widths = part.segment_lengths
            clips = f"{widths[0]:g} s" if len(widths) == 1 else f"{widths[0]:g} to {widths[-1]:g} s"
            low, high = (per * end for end in row["event_seconds_ci"])
            few, many = (per * end for end in row["n_events_ci"])
            said.append(
                f"{row['label']}: {clips} clips say {per * row['painted_seconds']:.3g} s per minute; the events "
                f"themselves take {per * row['event_seconds']:.3g} s ({low:.3g} to {high:.3g}), "
                f"{per * row['n_events']:.3g} events ({few:.3g} to {many:.3g})"
            )
        return said + self.caveats() + list(self.notes)

    def caveats(self) -> list[str]:
        """What these answers cannot tell."""
        said, alone = [], []
        for label, part in self.parts.items():
            if part.fit is not None and part.fit.family.lengths is None:
                rows = self.estimates[(self.estimates["label"] == label)].set_index("quantity")
                mean, ends = (rows[name].to_dict()["mean_length"] for name in ("value", "ci"))
                low, high = ends
                found = f"{label}: the mean event length was estimated, {mean:.3g} s ({low:.3g} to {high:.3g})"
                if bool(rows.loc["mean_length", "identified"]):
                    said.append(found)
                else:
                    said.append(
                        f"{found}, and these answers hardly tell it: one segment length tells the rate given the law "
                        "of lengths; give lengths, or ask some segments of another length"
                    )
            if part.fit is not None and part.fit.family.hazards is not None:
                spread = float(np.exp(part.fit.theta[-1]))
                said.append(f"{label}: recordings differ in their rate, by {spread:.2g} times its mean (gamma law)")
            elif part.fit is not None and len(part.heard) > 1 and np.mean([_apart(one) for one in part.heard]) < 1.5:
                alone.append(label)
            for name in sorted(part.slips)[:5]:
                one, whose = part.annotator[name], f" of {name}" if len(part.slips) > 1 else ""
                said.append(
                    f"{label}: slips{whose} were estimated: present in {percent(one.low)} of the segments without "
                    f"cause, absent in {percent(1 - one.high)} of those with"
                )
        if alone:
            said.append(
                f"{', '.join(alone)}: with one segment per recording nothing tells whether recordings differ in their "
                "rate; if they do, those that are present hold more events than is said here"
            )
        if self.criterion_weights:
            of_what = " of the shorter of event and segment" if self.of_shorter else ""
            if self.criterion_ci is not None:
                low, high = self.criterion_ci
                said.append(
                    f"the presence criterion was left out and estimated: {self.presence_criterion:.2g} "
                    f"({low:.2g} to {high:.2g}){of_what}, if everybody goes by one criterion and slips are rare"
                )
            else:
                said.append(
                    f"the presence criterion was left out and these answers do not tell it: .5{of_what} is assumed, "
                    "and the intervals overall hold for .3 to .7"
                )
        return said

    def events(self, threshold: float = 0.5, *, draws: int = 400, rng: Any = None) -> Events:
        """The time above a threshold as events: the labels with the least expected wrong time at .5.

        Columns beside the usual: confidence (mean P(active)), and onset_low, onset_high, offset_low, offset_high: 95 %
        intervals of both ends of the event that is under way where P(active) is highest, from timelines drawn.
        Segments much longer than events leave no step above .5.
        """
        cut, generator = float(check("event_fraction", threshold, called="threshold")), np.random.default_rng(rng)
        rows, lengths = [], {}
        for part in self.parts.values():
            for one in part.heard:
                lengths[one.recording] = one.length
                above = np.concatenate(([False], one.active > cut, [False]))
                starts, stops = np.flatnonzero(above[1:] & ~above[:-1]), np.flatnonzero(above[:-1] & ~above[1:])
                if len(starts):
                    edges, drawn = one.edges(part.renewal.step), self._posterior(part, one).draw(draws, generator)[1:]
                    for a, b in zip(starts.tolist(), stops.tolist()):
                        found = event_at(one.active, edges, a, b, *drawn)
                        rows.append({"recording": one.recording, "label": part.label, **found})
        frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "confidence", *ENDS])
        return Events.from_frame(frame, recording_length=lengths, recordings=list(lengths))

    def _posterior(self, part: ClassPosterior, one: RecordingPosterior) -> Posterior:
        ready = prepare(
            one.segments, one.present, renewal=part.renewal, recording_length=one.length,
            annotator=part.annotator, annotators=one.annotators,
        )  # fmt: skip
        return ready.posterior(part.renewal)

    def sample(self, n: int = 1, *, rng: Any = None) -> pd.DataFrame:
        """n whole timelines of every recording: recording, label, sample, onset, offset."""
        generator = np.random.default_rng(rng)
        tables = []
        for part in self.parts.values():
            for one in part.heard:
                drawn = self._posterior(part, one).sample(n, rng=generator)
                drawn.insert(0, "recording", one.recording)
                drawn.insert(1, "label", part.label)
                tables.append(drawn)
        return pd.concat(tables, ignore_index=True)

    def training(self) -> Training:
        """The training kit: label noise per class and segment length, and a table of frames."""
        from .training import training

        return training(self)

    def to_dict(self) -> dict[str, Any]:
        """Settings, words, overall numbers, estimates and one row per recording, in plain numbers."""
        settings = {**self.settings, "annotator": repr(self.settings.get("annotator"))}
        tables = {"overall": self.overall, "estimates": self.estimates, "rows": self.summary}
        return dict(plain({"settings": settings, "sentences": self.sentences(), **tables}))

    def find(self, recording: str | None = None, label: str | None = None) -> tuple[ClassPosterior, RecordingPosterior]:
        """One recording of one class; left out, the first class, and the recording in which most answers differ."""
        name = next(iter(self.parts)) if label is None else choice("label", label, tuple(self.parts))
        part = self.parts[name]
        if recording is None:
            return part, max(part.heard, key=lambda one: (min(_said(one)), _said(one)[0]))
        found = [one for one in part.heard if one.recording == recording]
        if not found:
            raise InvalidInput(f"there are no answers about {name} in recording {recording!r}")
        return part, found[0]

    def plot(
        self, ax: Axes | None = None, *, recording: str | None = None, label: str | None = None, truth: Any = None
    ) -> Axes:
        """A timeline: answers, the painted label, P(active), and true events where they are known."""
        from ...base import plot

        part, one = self.find(recording, label)
        colours = [plot.PRESENT if said == 1 else plot.ABSENT if said == 0 else "#FFFFFF" for said in one.present]
        rows: dict[str, Any] = {}
        if isinstance(truth, Events):
            lines = truth.to_frame()
            mine = lines[(lines["recording"] == one.recording) & (lines["label"] == part.label)]
            rows["true events"] = (mine[["onset", "offset"]].to_numpy(), plot.EVENT)
        elif truth is not None:
            rows["true events"] = (np.asarray(truth, dtype=np.float64), plot.EVENT)
        for k, layer in enumerate(_layers(one.segments)):
            rows["answers" if k == 0 else f"answers {k + 1}"] = (one.segments[layer], [colours[j] for j in layer])
        rows["painted"] = (one.painted, plot.PRESENT)
        rows["P(active), 0 to 1"] = (np.empty((0, 2)), plot.EVENT)
        ax = plot.timeline(rows, recording_length=one.length, ax=ax)
        edges = one.edges(part.renewal.step)
        ax.fill_between(
            edges, np.append(one.active, one.active[-1]) * 0.8 - 0.4, -0.4, step="post", color=plot.COLOURS[0]
        )
        ax.set_title(f"{part.label} in {one.recording}: {one.n_events:.1f} events, {one.event_seconds:.1f} s expected")
        return ax

    @property
    def answer(self) -> str:
        """What the events were, in a few sentences."""
        return ". ".join(self.sentences()) + "."

    def brief(self) -> pd.DataFrame:
        """One row per recording and class, with intervals as columns."""
        return worded(self.summary)

    def page(self) -> Report:
        """The answer in words, estimates, a timeline, every recording."""
        page = Report("From answers back to events")
        for k, text in enumerate(self.sentences()):
            page = page.answer(text) if k < len(self.parts) else page.text(text)
        page.heading("Overall").table(worded(self.overall)).heading("Given and estimated")
        page.table(flat(self.estimates).replace({"quantity": _QUANTITIES}))
        page.heading("A timeline" if len(self.parts) == 1 else "Timelines")
        for label in self.parts:
            ax = self.plot(label=label)
            page.figure(
                ax.figure, f"{label}: answers (coloured: present, grey: absent), what they paint, and P(active)"
            )
        page.heading("Recordings, those with the most event seconds first")
        rows = self.summary.sort_values("event_seconds", ascending=False, kind="stable")
        return page.table(worded(rows), most=500)


def _said(one: RecordingPosterior) -> tuple[int, int]:
    """How many answers are present and absent."""
    return int((one.present == 1).sum()), int((one.present == 0).sum())


def _apart(one: RecordingPosterior) -> int:
    """How many segments of a recording lie side by side."""
    return int((np.sort(one.segments[:, 0])[1:] >= one.segments[:, 1].min() - 1e-9).any()) + 1


ENDS = ("onset_low", "onset_high", "offset_low", "offset_high")


def event_at(active: Array, edges: Array, a: int, b: int, onset: Array, offset: Array) -> dict[str, float]:
    """One stretch above the threshold, with the ends of the drawn events that are under way at its peak."""
    peak = a + int(np.argmax(active[a:b]))
    middle = (edges[peak] + edges[peak + 1]) / 2
    there = (onset <= middle) & (offset > middle)
    ends = [np.quantile(x[there], [0.025, 0.975]) if there.any() else edges[[a, b]] for x in (onset, offset)]
    found = {"onset": edges[a], "offset": edges[b], "confidence": active[a:b].mean()}
    return {name: float(x) for name, x in (found | dict(zip(ENDS, np.concatenate(ends)))).items()}


def _layers(segments: Array) -> list[list[int]]:
    """The segments in rows in which none overlap, at most four."""
    layers: list[list[int]] = []
    for j in np.lexsort((segments[:, 1], segments[:, 0])).tolist():
        for layer in layers:
            if segments[layer[-1], 1] <= segments[j, 0] + 1e-9:
                layer.append(j)
                break
        else:
            layers.append([j])
    return layers[:4]


def worded(frame: pd.DataFrame) -> pd.DataFrame:
    """The flat table with the words that people read: these are totals, no events per recording."""
    names = {f"{a}{end}": f"{b}{end}" for a, b in _COLUMNS.items() for end in ("", "_low", "_high")}
    return flat(frame).drop(columns="log_likelihood", errors="ignore").rename(columns=names)


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with intervals as two columns, low and high, for people and files."""
    made: dict[str, Any] = {}
    for name in frame:
        if str(name).endswith("ci"):
            stem = str(name).removesuffix("ci")
            made[f"{stem}low"], made[f"{stem}high"] = zip(*frame[name]) if len(frame) else ((), ())
        else:
            made[str(name)] = frame[name].tolist()
    return pd.DataFrame(made)
