"""The result of an audit: tables, sentences, a picture, a page, and the checks that a build can ask for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...base import plot
from ...base.errors import InvalidInput
from ...base.report import Report, Result
from ...base.results import METRICS, Condition, Finding, safe_label, to_jsonable
from ...base.symbols import choice
from ...model.annotator import Annotator
from ...posterior.criterion import NUMBERS, CriterionEstimate
from .agreement import Agreement, DawidSkene
from .cards import label_card, save_card
from .findings import elsewhere, metric_words, ranked
from .quality import Ceiling, Quality
from .responses import Effort, LackOfFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The columns of the table of criteria.
CRITERIA = (
    *("label", "annotator", "method", "scale", *(f"{name}{end}" for name in NUMBERS for end in ("", "_low", "_high"))),
    *("n", "aic", "design_effect", "identifiable", "identified", "reason"),
)
_SPENT = ("seconds_per_query", "query_cost_share", "idle_share")
_SHOWN = 200  # rows of a table on a page
_EXAMPLES = 10  # of labels that are wrong
#: Columns for a terminal of 80 signs, with both kinds of labels, with answers alone, with annotations alone.
_TERMINAL = (
    ("n_present", "n_phantom", "n_missed", "precision", "event_recall", "presence_criterion"),
    ("alpha", "agreement", "n_annotators", "units", "unanimous", "split"),
    ("n_events", "n_recordings", "mean_length", "median_length", "coverage"),
)
_MOST = 25  # classes in one picture


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """What is known about a labelled data set; parts that the input does not allow are None or empty.

    ``criteria``: one row per class, annotator ("" for all together) and method, with presence_criterion, its interval
    (_low, _high), spread, guess and lapse rates with theirs, ``aic`` to compare fits, whether it is ``identifiable``
    and, if not, the ``reason``; the law comes first. ``estimates`` holds the same objects by (class, annotator);
    ``curves`` P(present) over event seconds and event fraction; ``rules`` the clip rules that fit; ``votes`` how right
    labels become with more votes. ``quality``, ``ceiling``, ``agreement`` (answers), ``annotation_agreement`` (strong
    annotations), ``aggregated`` (Dawid-Skene), ``effort`` and ``strong`` (a summary) are the other parts;
    ``detectors`` tells how well each explains the answers, where scores were given; ``fit`` says whether
    the answers look like the law at all. ``findings`` says it in words.
    """

    settings: dict[str, Any]
    notes: tuple[str, ...] = ()
    criteria: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(CRITERIA)))
    estimates: dict[tuple[str, str], CriterionEstimate] = field(default_factory=dict)
    curves: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["label", "scale"]))
    rules: pd.DataFrame = field(default_factory=pd.DataFrame)
    quality: Quality | None = None
    ceiling: Ceiling | None = None
    agreement: Agreement | None = None
    annotation_agreement: Agreement | None = None
    aggregated: DawidSkene | None = None
    votes: pd.DataFrame | None = None
    effort: Effort | None = None
    strong: pd.DataFrame | None = None
    fit: LackOfFit | None = None
    detectors: pd.DataFrame | None = None

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, in words, the most important first."""
        return ranked(self)

    @cached_property
    def metrics(self) -> dict[str, dict[str, float]]:
        """Every number that a check can name, by class; "all" holds the pooled ones."""
        known: dict[str, dict[str, float]] = {"all": {}}
        tables: list[tuple[Any, Any]] = [(self.headline, NUMBERS)]
        if self.quality is not None:
            tables.append((self.quality.table, None))
        if self.agreement is not None:
            tables.append((self.agreement.by_label, ("alpha", "agreement", "unanimous", "unanimous_present", "split")))
        if self.annotation_agreement is not None and len(self.annotation_agreement.by_label):
            alpha = self.annotation_agreement.by_label[["label", "alpha"]]
            tables.append((alpha.rename(columns={"alpha": "time_alpha"}), None))
        if self.strong is not None:
            tables.append((self.strong, ("mean_length", "median_length", "length_share")))
        if self.ceiling is not None:
            scores = self.ceiling.table[self.ceiling.table["label"] != "mean"]
            wide = scores.pivot(index="label", columns="metric", values="perfect").add_prefix("ceiling_")
            tables.append((wide.reset_index(), None))
        if self.effort is not None:
            tables.append((pd.DataFrame([{"label": "all", **asdict(self.effort)}]), _SPENT))
        for table, names in tables:
            for row in table.to_dict("records"):
                mine = known.setdefault(str(row.pop("label")), {})
                mine |= {str(name): float("nan") if row[name] is None else float(row[name]) for name in names or row}
        return known

    @property
    def annotator(self) -> Annotator:
        """Who gave these labels, all together, for plan, evaluate, simulate and infer."""
        if not self.estimates:
            raise InvalidInput("an annotator needs strong annotations and labels or answers about the same segments")
        return self.estimates.get(("all", ""), next(iter(self.estimates.values()))).annotator

    def holds(self, condition: str) -> bool:
        """Whether a condition such as ``event_recall<0.9`` or ``Dog.precision<=0.5`` holds of :attr:`metrics`."""
        return Condition.parse(condition).holds(self.metrics)

    @cached_property
    def headline(self) -> pd.DataFrame:
        """The rows of ``criteria`` that speak for all annotators of a class: the first of each."""
        if self.criteria.empty:
            return self.criteria
        pooled = self.criteria[(self.criteria["annotator"] == "") & (self.criteria["scale"] == "event")]
        return pooled.drop_duplicates("label")

    def card(self) -> dict[str, Any]:
        """The label card: what whoever uses these labels should know, in few numbers and sentences."""
        return label_card(self)

    def write_card(self, path: str | Path) -> Path:
        """The card as a file: .md, .html or .json."""
        return save_card(self, Path(path))

    def to_frame(self) -> pd.DataFrame:
        """One row per class: label quality and the presence criterion; agreement or counts where there are no both."""
        if self.quality is not None and len(self.quality.table):
            kept = [*METRICS, "insertion_rate", "deletion_rate", "asked_share"]
            counts = [name for name in map(str, self.quality.table) if name.startswith("n_")]
            counts = [name for name in counts if name not in ("n_recordings", "n_queries")]
            table = self.quality.table[["label", *kept, *counts, "coverage", "event_seconds"]]
            if len(self.headline):
                names = ["label", "presence_criterion", "presence_criterion_low", "presence_criterion_high", "spread"]
                table = table.merge(self.headline[names], on="label", how="left")
            return table
        for each in (self.agreement, self.annotation_agreement):
            if each is not None:
                return each.by_label.copy()
        return pd.DataFrame() if self.strong is None else self.strong.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table that is not empty, by name."""
        return {name: table for name, _, table, _ in _parts(self) if table is not None and len(table)}

    def to_dict(self) -> dict[str, Any]:
        names = ("settings", "findings", "notes", "criteria", "curves", "rules", "votes", "quality", "ceiling",
                 "agreement", "annotation_agreement", "effort", "strong", "detectors")  # fmt: skip
        curve = _drawn(self)["detection"]  # which of the curves shows what decides
        return {
            **{name: to_jsonable(getattr(self, name)) for name in names},
            "card": to_jsonable(self.card()),
            "detection": {name: str(curve[name].iloc[0]) for name in ("label", "scale")} if len(curve) else None,
            "annotators": None if self.aggregated is None else to_jsonable(self.aggregated.annotators),
            "prevalence": None if self.aggregated is None else to_jsonable(self.aggregated.prevalence),
            "fit": None if self.fit is None else {**to_jsonable(self.fit), "sentence": self.fit.sentence},
        }

    @property
    def kinds(self) -> list[str]:
        """The kinds of picture that this audit has."""
        return [name for name, rows in _drawn(self).items() if len(rows)]

    def plot(self, ax: Axes | None = None, *, kind: str | None = None) -> Axes:
        """A picture: "detection" curve, the same over "seconds", "criterion" and "quality" per class, "votes",
        "agreement" or "lengths"."""
        able = self.kinds
        if kind is not None:
            choice("kind", kind, tuple(_PICTURES))
        if not able or (kind is not None and kind not in able):
            has = ", ".join(able) or "none"
            raise InvalidInput(f"this audit has nothing to draw of kind {kind or 'any'}; it has {has}")
        kind = kind or able[0]
        rows = _drawn(self)[kind]
        listed = kind not in ("detection", "seconds", "votes")
        ax = plot.axes(ax, size=(7.2, 1.4 + 0.3 * min(len(rows), _MOST)) if listed else (6.4, 4.0))
        _PICTURES[kind][0](rows, ax, self)
        if listed:
            whose = rows["annotator"] if "annotator" in rows else [""] * len(rows)
            names = [f"{label}, {who}" if who else str(label) for label, who in zip(rows["label"], whose)]
            short = [name.replace("$", r"\$") for name in names]  # dollar signs would be read as formulas
            ax.set_yticks(range(len(short)), [name if len(name) < 40 else name[:37] + "..." for name in short])
            ax.set_ylim(len(short) - 0.4, -0.6)
            ax.grid(visible=False, axis="y")
        return ax

    @property
    def answer(self) -> str:
        """The findings, the most important first."""
        return " ".join(finding.text for finding in self.findings) or "There is nothing to report."

    def sentences(self) -> list[str]:
        """The findings, one line each."""
        return [f"- {finding.text}" for finding in self.findings]

    def shown(self) -> dict[str, pd.DataFrame]:
        """One row per class, of few columns; none where there is nothing to show."""
        table = self.to_frame()
        if not len(table):
            return {}
        table = table[table["label"] != "all"] if len(table) == 2 else table  # one class is all
        names = next((group for group in _TERMINAL if group[0] in table), ())
        kept = table[["label", *(name for name in names if name in table and table[name].notna().any())]]
        return {"": kept.assign(label=[safe_label(name, most=24) for name in kept["label"]])}

    def figures(self) -> dict[str, Figure]:
        """Every kind of picture that this audit has."""
        return {kind: self.plot(kind=kind).figure for kind in self.kinds}  # type: ignore[misc]

    def page(self) -> Report:
        """The findings first, then the pictures, then the tables."""
        page = Report("Audit of weak labels" if self.quality is not None else "Audit of labels")
        page.sentences([self.findings[0].text if self.findings else "There is nothing to report."])
        if len(self.findings) > 1:
            page.items([finding.text for finding in self.findings[1:]])
        for kind in self.kinds:
            if not (kind == "lengths" and self.quality is not None):
                page.figure(self.plot(kind=kind).figure, _PICTURES[kind][1], name=kind)
        for name, title, table, shown in _parts(self):
            rows = table if shown is None else shown
            if title and rows is not None and len(rows):
                page.heading(title)
                if name == "ceiling":
                    page.text(_TWO_MODELS)
                most = {"audit": None, "ceiling": None, "missed": _EXAMPLES, "phantom": _EXAMPLES}.get(name, _SHOWN)
                page.table(rows, heads=_HEADS, most=most)
        return page


def _parts(audit: Audit) -> list[tuple[str, str, Any, Any]]:
    """Every table: its name, its title on the page (or none), all of it, and what the page shows of it (or all)."""

    def columns(table: Any, names: tuple[str, ...]) -> Any:
        return table[[name for name in names if name in table]]

    whole, quality, ceiling = audit.to_frame(), audit.quality, audit.ceiling
    has_quality = quality is not None and len(quality.table) > 0
    known = audit.criteria[audit.criteria["identifiable"]] if len(audit.criteria) else audit.criteria
    rules = audit.rules.drop(columns=["scale", "log_likelihood"], errors="ignore")
    parts: list[tuple[str, str, Any, Any]] = [
        ("audit", "Quality of the labels" if has_quality else "", whole, columns(whole, _READ)),
        ("criteria", "Presence criterion", audit.criteria, columns(known, _FITTED)),
        ("rules", "Clip rules that fit", audit.rules, rules),
        ("curves", "", audit.curves, None),
    ]
    if ceiling is not None:
        scores = ceiling.table[ceiling.table["label"].isin(["all", "mean"])]
        scores = scores.assign(metric=[metric_words(name) for name in scores["metric"]])
        parts.insert(1, ("ceiling", "What a perfect model scores on these labels", ceiling.table, scores))
    for name, title in (("agreement", "Agreement"), ("annotation_agreement", "Agreement in time")):
        if (result := getattr(audit, name)) is not None:
            parts.append((name, title, result.by_label, None))
            parts.append((f"{name}_pairs", f"{title}, pairs", result.by_pair, None))
    parts.append(("votes", "How many votes are enough", audit.votes, None))
    if audit.aggregated is not None:
        parts.append(("annotators", "Annotators", audit.aggregated.annotators, None))
        parts.append(("aggregated", "", audit.aggregated.labels, None))
    parts.append(("detectors", "Detectors, by how well they explain the answers", audit.detectors, None))
    parts.append(("strong", "Strong annotations", audit.strong, None))
    if quality is not None:
        missed, phantom = columns(quality.missed, _PLACE), columns(quality.phantom, _PLACE[:-1])
        parts.append(("missed", "Labelled absent, but an event is there", quality.missed, missed))
        parts.append(("phantom", "Labelled present, but no event is there", quality.phantom, phantom))
    return parts


def _drawn(audit: Audit) -> dict[str, Any]:
    """What each kind of picture shows."""
    quality: Any = [] if audit.quality is None else audit.quality.table
    if len(quality):
        quality = quality[quality["label"] != "all"].nlargest(_MOST, "n_events").sort_values("overlap_accuracy")
    criteria: Any = audit.criteria
    if len(criteria):
        kept = criteria["identifiable"] & (criteria["scale"] == "event") & criteria["method"].str.startswith("law")
        criteria = criteria[kept & (criteria["label"] != "all")].head(_MOST)
    curves = seconds = audit.curves
    if len(curves):
        label = "all" if (curves["label"] == "all").any() else curves["label"].iloc[0]
        scale = _scale(audit, label)
        curves = curves[curves["label"] == label]
        seconds = curves[(curves["scale"] == "event_seconds") & (scale != "event_seconds")]
        curves = curves[curves["scale"] == scale]
    agreement: Any = next((a.by_label for a in (audit.agreement, audit.annotation_agreement) if a is not None), [])
    agreement = agreement[agreement["alpha"].notna()].sort_values("alpha") if len(agreement) else agreement
    lengths: Any = [] if audit.strong is None else audit.strong.sort_values("n_events", ascending=False).head(_MOST)
    votes: Any = [] if audit.votes is None else audit.votes
    shown = (curves, seconds, criteria, quality, votes, agreement[:_MOST], lengths)
    return dict(zip(_PICTURES, shown))


def _scale(audit: Audit, label: str) -> str:
    """What decides: the rule's scale if it beats the share of the event; else that share, if parts were asked about."""
    instead = elsewhere(audit)
    if instead is not None:
        return instead[2]
    rows = audit.curves[(audit.curves["label"] == label) & (audit.curves["scale"] == "event_fraction")]
    return "event_fraction" if (rows["low"].between(1e-9, 0.5)).any() and len(rows) > 3 else "event_seconds"


def _draw_detection(rows: Any, ax: Axes, audit: Audit) -> None:
    label, scale = str(rows["label"].iloc[0]), str(rows["scale"].iloc[0])
    met = rows[rows["middle"] > 0]
    x = met["middle"].to_numpy()
    ax.fill_between(x, met["present_low"], met["present_high"], color=plot.COLOURS[0], alpha=0.2, lw=0)
    ax.plot(x, met["present"], "o-", color=plot.COLOURS[0], label="labelled present, 95 % band")
    none = rows[rows["middle"] == 0]
    if len(none):
        middle = none["present"].to_numpy()
        spread = np.abs(none[["present_low", "present_high"]].to_numpy().T - middle)
        name = "no event in the segment"
        ax.errorbar([0.0], middle, yerr=spread, fmt="s", color=plot.COLOURS[1], capsize=3, label=name)
    estimate = audit.estimates.get((label, ""))
    if scale == "event_fraction" and estimate is not None and estimate.identifiable and estimate.scale == "event":
        h = np.linspace(1e-3, float(met["high"].max()), 300)
        name = f"law of criteria, mean {estimate.presence_criterion:.2f}"
        ax.plot(h, estimate.annotator.probability(h), "--", color=plot.COLOURS[2], label=name)
    best = "" if len(audit.rules) == 0 or elsewhere(audit) is None else str(audit.rules["rule"].iloc[0])
    kind, _, limit = best.partition(":")
    if limit and "|" not in limit and {"seconds": "event_seconds", "coverage": "coverage"}.get(kind) == scale:
        ax.axvline(float(limit), ls="--", color=plot.COLOURS[2], label=f"rule that fits best, {best}")
    words = {"event_seconds": "seconds of event in the segment", "coverage": "share of the segment that is event"}
    ax.set(ylim=(-0.02, 1.04), xlabel=words.get(scale, plot.label("event_fraction")), ylabel="labelled present")
    plot.shares(ax.yaxis)
    if scale == "event_seconds" and len(x) > 2 and x.max() > 30 * max(x.min(), 1e-9):
        least = float(x[x > 0].min())
        ax.set_xscale("symlog", linthresh=least)
        ax.set_xlim(-0.2 * least, 1.3 * float(x.max()))
        steps = 10.0 ** np.arange(np.ceil(np.log10(least)), np.floor(np.log10(x.max())) + 1)
        ax.set_xticks([0.0, *steps], [f"{step:g}" for step in (0, *steps)])
    name = label.replace("$", r"\$")
    ax.set_title("all classes" if label == "all" else name if len(name) < 50 else name[:47] + "...", fontsize=10)
    low = len(met) > 0 and float(met["present"].iloc[-1]) < 0.5
    ax.legend(loc="upper left" if low else "lower right", fontsize=8)


def _draw_votes(rows: Any, ax: Axes, audit: Audit) -> None:
    mean = rows.groupby("votes")[["majority_accuracy", "weighted_accuracy"]].mean()
    ax.plot(mean.index, mean["majority_accuracy"], "o-", color=plot.COLOURS[0], label="majority")
    ax.plot(mean.index, mean["weighted_accuracy"], "s--", color=plot.COLOURS[1], label="weighted (Dawid-Skene)")
    of = ", mean of classes" if rows["label"].nunique() > 1 else ""
    ax.set(xlabel="votes per segment", ylabel=f"labels that are right{of}")
    plot.shares(ax.yaxis)
    ax.legend(fontsize=8)


def _draw_quality(rows: Any, ax: Axes, audit: Audit) -> None:
    for name, marker, colour in (("precision", "o", 0), ("recall", "s", 1), ("event_recall", "^", 2)):
        ax.plot(rows[name], np.arange(len(rows)), marker, color=plot.COLOURS[colour], label=plot.label(name))
    ax.set(xlim=(-0.02, 1.02), xlabel="share of time or of events")
    plot.shares(ax.xaxis)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8)


def _draw_criterion(rows: Any, ax: Axes, audit: Audit) -> None:
    middle, at = rows["presence_criterion"].to_numpy(), np.arange(len(rows))
    spread = np.abs(rows[["presence_criterion_low", "presence_criterion_high"]].to_numpy().T - middle)
    ax.errorbar(middle, at, xerr=spread, fmt="o", color=plot.COLOURS[0], capsize=3)
    ax.set(xlim=(0, 1), xlabel=plot.label("presence_criterion") + ", 95 % interval")


def _draw_agreement(rows: Any, ax: Axes, audit: Audit) -> None:
    ax.barh(np.arange(len(rows)), rows["alpha"], color=plot.COLOURS[0], height=0.6)
    for limit in (0.667, 0.8):
        ax.axvline(limit, color="#888888", lw=1, ls="--")
    ax.set(xlabel="Krippendorff's alpha (dashed: 0.667 and 0.8)")


def _draw_lengths(rows: Any, ax: Axes, audit: Audit) -> None:
    ax.barh(np.arange(len(rows)), rows["mean_length"], color=plot.COLOURS[0], height=0.6, label="mean")
    ax.plot(rows["median_length"], np.arange(len(rows)), "o", color=plot.COLOURS[1], label="median")
    ax.set(xlabel=plot.label("event_length"))
    ax.legend()


#: How each kind is drawn, and what it shows.
_PICTURES: dict[str, Any] = {
    "detection": (_draw_detection, "How often a segment is labelled present, over how much of an event it holds."),
    "seconds": (_draw_detection, "The same over the seconds of event in the segment."),
    "criterion": (
        _draw_criterion,
        "The share of an event that must be in a segment before it is called present: mean of the law, 95 % intervals.",
    ),
    "quality": (
        _draw_quality,
        "Weak labels against strong ones, worst class first: labelled time that is right, event time labelled, events "
        "found.",
    ),
    "votes": (_draw_votes, "How right labels become with more votes per segment, if annotators err independently."),
    "agreement": (_draw_agreement, "Agreement of the annotators, worst class first."),
    "lengths": (_draw_lengths, "Lengths of the annotated events."),
}


#: What people read of the quality of labels; the rest is in the JSON.
_READ = (
    *("label", "overlap_accuracy", "event_recall", "precision", "recall", "wrong_time"),
    *("n_events", "n_present", "n_phantom", "n_missed"),
)
_FITTED = (
    *("label", "annotator", "method", "presence_criterion", "presence_criterion_low", "presence_criterion_high"),
    *("spread", "guess_rate", "lapse_rate", "n"),
)
_PLACE = ("recording", "onset", "offset", "label", "event_seconds")
_HEADS = {
    **{"metric": "score", "perfect": "perfect model", "mimic": "model that repeats the labels"},
    **{"mimic_true": "the same, against the events", "n": "answers", "event_seconds": "event in it (s)"},
    **{"n_events": "events", "n_recordings": "recordings", "mean_length": "mean length (s)"},
    **{"median_length": "median length (s)", "length_share": "share of a recording", "coverage": "share of time"},
    **{"n_present": "present", "aic": "AIC"},
}
_TWO_MODELS = (
    "What two models would score on these labels: a perfect one, which finds every event exactly, and one that repeats "
    "the labels, errors included; the latter also against the true events."
)
