"""What an inference found: per step, recording, class and overall; its words, picture and page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...base.errors import InvalidInput
from ...base.report import Report, Result
from ...base.results import Finding, format_value, percent, safe_label, to_jsonable
from ...base.symbols import check, choice
from ...model.events import Events
from ...posterior.class_posterior import CRITERIA, EXCLUDED, SURE, WORDS, ClassPosterior, RecordingPosterior, estimate
from ...posterior.detector import score_caveats
from ...posterior.renewal import ENDS, Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .training import Training

_MISFITS = {
    "neighbours": "neighbouring segments are present together more often than the fitted process would bring",
    "recordings": "recordings differ more in their present answers than the fitted process would bring",
    "order": "the first and the second half of the recordings differ more than the fitted process would bring",
}
_count = partial(format_value, "n_events")  # a number of events in a sentence
#: Words of a result's tables as people read them: totals of recordings, and rates of what is heard or starts.
_COLUMNS = {"n_recordings": "recordings", "n_events": "events", "event_rate": "events_per_second"}
_QUANTITIES = {
    "event_rate": "events that start per second",
    "mean_length": "mean length (s)",
    "median_length": "median length (s)",
    "bout_share": "share of gaps within bouts",
    "bout_gap": "mean gap within bouts (s)",
    "bouts_log_bayes_factor": "log Bayes factor, bouts against independent events",
    "presence_criterion": "presence criterion",
}


@dataclass(frozen=True)
class Unasked:
    """Time without an answer: its share, whether what was left unanswered goes with the answers beside it, and
    ``overall`` as if nothing were there, and as if every segment of it were present."""

    share: float
    depends: bool
    absent: dict[str, Any]
    present: dict[str, Any]

    def sentences(self, overall: dict[str, Any]) -> list[str]:
        """What time without an answer may hold."""
        (few, many), (none, _), (_, most) = (each["n_events_ci"] for each in (overall, self.absent, self.present))
        said = [
            f"{percent(self.share)} of the time has no answer and is taken to be like the rest: "
            f"{_count(overall['n_events'])} events ({_span(overall)}); if nothing were there: "
            f"{_count(self.absent['n_events'])} ({_span(self.absent)}); whatever is there: "
            f"{_count(min(few, none))} to {_count(max(many, most))}"
        ]
        if self.depends:
            said.append("segments were left unanswered more often beside one kind of answer: not at random")
        return said


@dataclass(frozen=True)
class PredictiveCheck:
    """Whether the answers look like those that the fitted process would bring: p-values by class and name."""

    p_values: dict[str, dict[str, float]]

    @property
    def alarms(self) -> list[tuple[str, str]]:
        """Classes and names whose p-value is small, given how many there are of a class."""
        return [(label, name) for label, each in self.p_values.items() for name, p in each.items()
                if p < 0.05 / max(1, len(each))]  # fmt: skip

    @property
    def sentence(self) -> str:
        """All of it in a sentence."""
        if not self.alarms:
            return "the answers look as the fitted process would bring them"
        return "; ".join(f"{label}: {_MISFITS[name]} (p = {self.p_values[label][name]:.2g})"
                         for label, name in self.alarms)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
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
    unasked: Mapping[str, Unasked] = field(default_factory=dict)  # where much of the time has no answer

    @property
    def criterion_known(self) -> bool:
        """Whether the criterion was given, or the answers tell it from the others."""
        return not self.criterion_weights or self.criterion_ci is not None

    @property
    def log_likelihood(self) -> float:
        """The logarithm of the chance of all answers."""
        return total(self.parts)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row per recording and class: expected events, event seconds and rate, with intervals."""
        return pd.DataFrame([row for part in self.parts.values() for row in part.summary])

    @cached_property
    def overall(self) -> pd.DataFrame:
        """One row per class: the same over all recordings; an unknown criterion widens the intervals."""
        return pd.DataFrame(list(self._totals.values()))

    @cached_property
    def _totals(self) -> dict[str, dict[str, Any]]:
        rows = {label: dict(part.overall) for label, part in self.parts.items()}
        for row in rows.values() if self.alternatives and not self.criterion_known else ():
            others = [parts[row["label"]].overall for parts in (self.alternatives or {}).values()]
            for word in WORDS:
                lows, highs = zip(*(other[f"{word}_ci"] for other in others))
                row[f"{word}_ci"] = (min(lows), max(highs))
        return rows

    @cached_property
    def fit(self) -> PredictiveCheck:
        """Whether the answers look like those of the fitted process: p-values by name, and one sentence."""
        return PredictiveCheck({label: dict(part.check) for label, part in self.parts.items()})

    def to_frame(self) -> pd.DataFrame:
        """One row per recording and class, as :attr:`summary`."""
        return self.summary.copy()

    @cached_property
    def active(self) -> pd.DataFrame:
        """P(an event is under way) per step: recording, label, onset, offset, active."""
        return pd.concat(self.frames(), ignore_index=True)

    def frames(self) -> Iterator[pd.DataFrame]:
        """The same, one recording of a class after the other."""
        for part in self.parts.values():
            for one in part.recordings:
                edges = one.edges
                columns = {"recording": one.recording, "label": part.label, "onset": edges[:-1], "offset": edges[1:]}
                yield pd.DataFrame({**columns, "active": one.active})

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """What was given or estimated of each class, with its interval and whether the answers identify it: at any
        criterion that may be, if it is unknown."""
        rows = [row for part in self.parts.values() for row in part.estimates]
        if self.alternatives and not self.criterion_known:
            others = pd.DataFrame([row for parts in self.alternatives.values() for each in parts.values()
                                   for row in each.estimates])  # fmt: skip
            for row in rows:
                same = others[(others["label"] == row["label"]) & (others["quantity"] == row["quantity"])]
                low, high = np.transpose([row["ci"], *same["ci"]])
                if row["how"] == "estimated" and np.isfinite(row["ci"]).all():
                    row["ci"] = float(np.nanmin(low)), float(np.nanmax(high))
                    row["identified"] = bool(row["identified"] and row["ci"][1] < SURE * row["ci"][0])
        for label in self.parts if self.criterion_weights else ():
            ends, sure = self.criterion_ci or (min(CRITERIA), max(CRITERIA)), self.criterion_known
            how = "estimated" if sure else "assumed"
            rows.append(estimate(label, "presence_criterion", self.presence_criterion, ends, how, sure))
        return pd.DataFrame(rows + [row for part in self.parts.values() for row in part.slip_estimates])

    def sentences(self) -> list[str]:
        """The answer in words, per class, and what these answers can and cannot tell."""
        said = []
        for row in self._totals.values():
            per, clips = 60 / row["recording_seconds"], self.parts[row["label"]].clip_words
            low, high = (per * end for end in row["event_seconds_ci"])
            painted = f". The {clips} clips add up to {per * row['painted_seconds']:.3g} s" if clips else ""
            many = _count(per * row["n_events"])
            said.append(
                f"{row['label']}: events take {per * row['event_seconds']:.3g} s per minute ({low:.3g} to {high:.3g}), "
                f"in {many} event{'' if many == '1' else 's'} ({_span(row, per)}){painted}"
            )
        return [self._sentence(text) for text in (*said, *self.remarks(), *self.caveats(), *self.notes)]

    def _sentence(self, text: str) -> str:
        """The text with a capital, unless it begins with the name of a class, and a full stop."""
        capital = text if text.partition(":")[0] in self.parts else text[0].upper() + text[1:]
        return f"{capital.removesuffix('.')}."

    def remarks(self) -> list[str]:
        """What was estimated on the way, in words."""
        said = []
        for label, part in self.parts.items():
            text, told = self._mean_length(label)
            if not part.law_given and told:
                said.append(text)
            factor = part.bayes_factor
            if factor is not None and factor > EXCLUDED:
                said.append(f"{label}: events come in bouts (log Bayes factor {factor:.1f} against independent events)")
            elif factor is not None and part.kept[0]:
                (low, high), (few, many) = part.family_interval("n_events", 0), self._totals[label]["n_events_ci"]
                if high - low < 0.8 * (many - few):
                    many = f"{_count(low)} to {_count(high)} events in all"
                    said.append(f"{label}: there would be {many} if events came independently")
            if (differ := part.rates_differ) is not None and differ > EXCLUDED:
                said.append(f"{label}: recordings differ in their rate of events (log Bayes factor {differ:.1f})")
            for name in sorted(part.slips)[:5]:
                one, whose = part.annotator[name], f" of {name}" if len(part.slips) > 1 else ""
                said.append(
                    f"{label}: slips{whose} were estimated: present in {percent(one.low)} of the segments without "
                    f"cause, absent in {percent(1 - one.high)} of those with"
                )
        if self.criterion_ci is not None:
            low, high = self.criterion_ci
            said.append(
                f"the presence criterion was left out and estimated: {self.presence_criterion:.2g} "
                f"({low:.2g} to {high:.2g}){self._of_what}, if everybody goes by one criterion and slips are rare"
            )
        return said

    def caveats(self) -> list[str]:
        """What these answers cannot tell, or do not bear out; each is an :class:`AssumptionWarning` too."""
        said = []
        for label, part in self.parts.items():
            text, told = self._mean_length(label)
            if not part.law_given and not told:
                said.append(
                    f"{text}, and these answers say little about it: with one segment length, event seconds depend on "
                    "the lengths that are assumed. Give event_length, or ask some segments of another length"
                )
            if part.families and not part.told:
                always = part.recordings[0].present[0] == 1
                said.append(
                    f"{label}: every answer is {'present' if always else 'absent'}: nothing tells how "
                    f"{'many events there are' if always else 'rare events are'}, and numbers rest on what is assumed"
                )
            elif part.families and part.one_each:
                present = sum(bool((one.present == 1).any()) for one in part.recordings)
                said.append(
                    f"{label}: one segment per recording tells whether it holds an event ({present} of "
                    f"{len(part.recordings)} are present), not how many or for how long: that rests on the assumed gaps"
                )
            elif part.families and part.too_long:
                said.append(
                    f"{label}: half of the events last {part.renewal.lengths.quantile(0.5):.3g} s or longer, and no "
                    f"{part.clip_words} segment holds as much of them as the rule asks for: what is present are short "
                    "or cut events, or guesses, and numbers rest on the law of lengths. Ask longer segments"
                )
            elif part.families and part.full > 0.5:
                said.append(
                    f"{label}: {percent(part.full)} of the events are in recordings whose every segment is present: "
                    "nothing there limits how many they are. Ask shorter segments"
                )
            elif part.bunching_unknown:
                least, most = zip(*(each[label].bounds for each in (self.alternatives or {0: self.parts}).values()))
                said.append(f"{label}: {_bunching(part, self._totals[label], (min(least), max(most)))}")
            said += [f"{label}: {text}" for text in score_caveats(part)] if part.calibration is not None else []
            if label in self.unasked:
                said += [f"{label}: {text}" for text in self.unasked[label].sentences(self._totals[label])]
        if self.criterion_weights and self.criterion_ci is None:
            said.append(
                f"the presence criterion was left out and these answers do not tell it: 0.5{self._of_what} is assumed, "
                "and the intervals overall hold for 0.3 to 0.7"
            )
        return said + [self.fit.sentence] * bool(self.fit.alarms)

    @property
    def _of_what(self) -> str:
        return " of the shorter of event and segment" if self.of_shorter else ""

    def _mean_length(self, label: str) -> tuple[str, bool]:
        """The mean length in words, and whether the answers tell it."""
        rows = self.estimates[(self.estimates["label"] == label) & (self.estimates["quantity"] == "mean_length")]
        row = rows.iloc[0]
        text = f"{label}: the mean event length was estimated, {row['value']:.3g} s ({{:.3g}} to {{:.3g}})"
        return text.format(*row["ci"]), bool(row["identified"])

    def events(self, threshold: float = 0.5, *, draws: int = 400, rng: Any = None) -> Events:
        """The time above a threshold as events: the labels with the least expected wrong time at .5.

        Columns beside the usual: confidence (mean P(active)), and onset_low, onset_high, offset_low, offset_high: 95 %
        intervals of both ends of the event that is under way where P(active) is highest, from timelines drawn.
        Segments much longer than events leave no step above .5.
        """
        cut, generator = float(check("event_fraction", threshold, called="threshold")), np.random.default_rng(rng)
        rows, lengths = [], {}
        for part in self.parts.values():
            for one in part.recordings:
                lengths[one.recording] = one.length
                if (one.active > cut).any():
                    table = part.timeline(one).events(cut, draws=draws, rng=generator)
                    rows += table.assign(recording=one.recording, label=part.label).to_dict("records")
        frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "confidence", *ENDS])
        return Events.from_frame(frame, recording_length=lengths, recordings=list(lengths))

    def sample(self, n: int = 1, *, rng: Any = None) -> pd.DataFrame:
        """n whole timelines of every recording: recording, label, sample, onset, offset."""
        generator = np.random.default_rng(rng)
        tables = []
        for part in self.parts.values():
            for one in part.recordings:
                drawn = part.timeline(one).sample(n, rng=generator)
                tables.append(drawn.assign(recording=one.recording, label=part.label))
        return pd.concat(tables, ignore_index=True)[["recording", "label", "sample", "onset", "offset"]]

    def training(self) -> Training:
        """The training kit: label noise per class and segment length, and a table of frames."""
        from .training import training

        return training(self)

    def to_dict(self) -> dict[str, Any]:
        """Settings, words, overall numbers, estimates and one row per recording, in plain numbers."""
        who = self.settings.get("annotator")
        named = {person: one.name for person, one in who.items()} if isinstance(who, dict) else who and who.name
        settings = {**self.settings, "annotator": named}
        tables = {"overall": self.overall, "estimates": self.estimates, "rows": self.summary}
        fit = {"p_values": self.fit.p_values, "sentence": self.fit.sentence}
        return dict(to_jsonable({"settings": settings, "sentences": self.sentences(), "fit": fit, **tables}))

    def find(self, recording: str | None = None, label: str | None = None) -> tuple[ClassPosterior, RecordingPosterior]:
        """One recording of one class; left out, the first class, and the recording in which most answers differ."""
        name = next(iter(self.parts)) if label is None else choice("label", label, tuple(self.parts))
        part = self.parts[name]
        if recording is None:
            return part, max(part.recordings, key=lambda one: (min(_said(one)), _said(one)[0]))
        found = [one for one in part.recordings if one.recording == recording]
        if not found:
            raise InvalidInput(f"there are no answers about {name} in recording {recording!r}")
        return part, found[0]

    def plot(
        self, ax: Axes | None = None, *, recording: str | None = None, label: str | None = None, truth: Any = None
    ) -> Axes:
        """A timeline: answers, what they label present, P(active), and true events where they are known."""
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
        rows["labelled present"] = (one.painted, plot.PRESENT)
        rows["chance of an event"] = (np.empty((0, 2)), plot.EVENT)
        ax = plot.timeline(rows, recording_length=one.length, ax=ax)
        height = np.append(one.active, one.active[-1]) * 0.8 - 0.4
        ax.fill_between(one.edges, height, -0.4, step="post", color=plot.COLOURS[0])
        ax.set_title(f"{part.label} in {one.recording}: {one.n_events:.1f} events, {one.event_seconds:.1f} s expected")
        return ax

    def strips(self, label: str | None = None, *, most: int = 40) -> Axes:
        """Each recording of a class as a strip, darker where an event is likelier; those with the most first."""
        from ...base import plot

        shown = sorted(self.find(label=label)[0].recordings, key=lambda one: one.event_seconds)[-most:]
        ax = plot.axes(size=(8.0, 0.8 + 0.25 * len(shown)))
        most_likely = max(float(one.active.max()) for one in shown) or 1
        for k, one in enumerate(shown):
            rows = [k - 0.4, k + 0.4]
            ax.pcolormesh(one.edges, rows, one.active[None], rasterized=True, vmin=0, vmax=most_likely, cmap="Blues")
        ax.set(xlim=(0, max(one.length for one in shown)), ylim=(-0.6, len(shown) - 0.4), xlabel="time (s)")
        ax.set_yticks(range(len(shown)), [safe_label(one.recording) for one in shown])
        ax.grid(visible=False)
        return ax

    @property
    def answer(self) -> str:
        """What the events were, in a few sentences."""
        return " ".join(self.sentences())

    def brief(self) -> pd.DataFrame:
        """One row per recording and class, with intervals as columns."""
        return worded(self.summary)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What these answers cannot tell, and what was noted on the way."""
        caveats = [Finding(0.5, "caveat", text) for text in self.caveats()]
        return (*caveats, *(Finding(0.1, "note", text) for text in self.notes))

    def tables(self) -> dict[str, pd.DataFrame]:
        """Recordings, all of them together, and what was given or estimated."""
        return {"recordings": flat(self.summary), "overall": flat(self.overall), "estimates": flat(self.estimates)}

    def figures(self) -> dict[str, Figure]:
        """The timeline of the recording in which most answers differ, and all recordings as strips."""
        return {"timeline": self.plot().figure, "strips": self.strips().figure}  # type: ignore[dict-item]

    def shown(self) -> dict[str, pd.DataFrame]:
        """All recordings together, and those with the most event seconds."""
        shown = {"": worded(self.overall)}
        if len(self.summary) > len(self.overall):
            title = "The recordings with the most event seconds (all of them in --out, --json or --report):"
            shown[title] = worded(self.summary.nlargest(10, "event_seconds"))
        return shown

    def page(self) -> Report:
        """The answer in words, estimates, a timeline, every recording."""
        page = Report("From answers back to events")
        for k, text in enumerate(self.sentences()):
            page = page.sentences([text]) if k < len(self.parts) else page.text(text)
        page.heading("Overall").table(worded(self.overall)).heading("Given and estimated")
        estimates = flat(self.estimates)
        names = estimates["quantity"].replace(_QUANTITIES).str.replace(r"^(guess|lapse)_rate", r"\1 rate", regex=True)
        page.table(estimates.assign(quantity=names))
        page.heading("A timeline" if len(self.parts) == 1 else "Timelines")
        for label in self.parts:
            what = f"{label}: answers (coloured: present, grey: absent), their labels, chance of an event"
            page.figure(self.plot(label=label).figure, what)
            if len(self.parts[label].recordings) > 1:
                what = f"{label}: recordings, those with the most first; the stronger the colour, the likelier an event"
                page.figure(self.strips(label).figure, what, wide=True)
        page.heading("Recordings, those with the most event seconds first")
        rows = self.summary.sort_values("event_seconds", ascending=False, kind="stable")
        return page.table(worded(rows), most=500)


def total(classes: Mapping[str, ClassPosterior]) -> float:
    """The logarithm of the chance of all answers."""
    return sum(each.log_likelihood for each in classes.values())


def _span(row: Mapping[Any, Any], per: float = 1.0) -> str:
    """The interval of the number of events, in words."""
    return " to ".join(_count(per * end) for end in row["n_events_ci"])


def _bunching(part: ClassPosterior, overall: Mapping[str, Any], bounds: tuple[float, float]) -> str:
    """That the number of events in a bout is open, what would tell it, and the bounds that hold anyway."""
    short, (least, most) = part.renewal.lengths.mean, bounds
    ask = "Mark"
    if part.segment_lengths[0] > 1.5 * short:
        ask = f"Ask some recordings again in clips of about {short:.2g} to {1.5 * short:.2g} s, or mark"
    return (
        f"how many events a bout holds cannot be told from {part.clip_words} clips. The number "
        f"{_count(overall['n_events'])} ({_span(overall)}) rests on the assumed gap within bouts. {ask} the "
        f"events of a tenth of the recordings. More clips of the same length do not help. Whatever the gaps, the "
        f"answers allow {_count(least)} to {_count(most)} events"
    )


def _said(one: RecordingPosterior) -> tuple[int, int]:
    """How many answers are present and absent."""
    return int((one.present == 1).sum()), int((one.present == 0).sum())


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
