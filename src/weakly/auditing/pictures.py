"""An audit as pictures and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plot
from ..errors import InvalidInput
from ..report import Report
from ..symbols import choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .result import Audit

_MOST = 25  # classes in one picture


def kinds(audit: Audit) -> list[str]:
    """The kinds of picture that this audit has."""
    return [name for name, rows in _rows(audit).items() if len(rows)]


def draw(audit: Audit, *, ax: Axes | None, kind: str | None) -> Axes:
    """The picture of one kind; left out, of the first kind that the audit has."""
    how = {"quality": _quality, "criterion": _criterion, "agreement": _agreement, "lengths": _lengths}
    able = kinds(audit)
    if kind is not None:
        choice("kind", kind, tuple(how))
    if not able or (kind is not None and kind not in able):
        raise InvalidInput(
            f"this audit has nothing to draw of kind {kind or 'any'}; it has {', '.join(able) or 'none'}"
        )
    kind = kind or able[0]
    rows = _rows(audit)[kind]
    ax = plot.axes(ax, size=(7.2, 1.4 + 0.3 * min(len(rows), _MOST)))
    how[kind](rows, ax)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    return ax


def _rows(audit: Audit) -> dict[str, Any]:
    quality: Any = [] if audit.quality is None else audit.quality.table
    if len(quality):
        quality = quality[quality["label"] != "all"].sort_values("n_events", ascending=False).head(_MOST)
    criteria: Any = audit.criteria
    if len(criteria):
        kept = criteria["identifiable"] & (criteria["scale"] == "event") & (criteria["method"] == "threshold")
        criteria = criteria[kept & (criteria["label"] != "all")].head(_MOST)
    agreement: Any = next((a.by_label for a in (audit.agreement, audit.annotation_agreement) if a is not None), [])
    lengths: Any = [] if audit.strong is None else audit.strong.sort_values("n_events", ascending=False).head(_MOST)
    return {"quality": quality, "criterion": criteria, "agreement": agreement[:_MOST], "lengths": lengths}


def _ticks(ax: Axes, names: Any) -> None:
    # Dollar signs would be read as formulas.
    short = [str(name).replace("$", r"\$") for name in names]
    ax.set_yticks(range(len(short)), [name if len(name) < 40 else name[:37] + "..." for name in short])


def _quality(rows: Any, ax: Axes) -> None:
    for name, marker, colour in (("precision", "o", 0), ("recall", "s", 1), ("event_recall", "^", 2)):
        ax.plot(rows[name], np.arange(len(rows)), marker, color=plot.COLOURS[colour], label=plot.label(name))
    _ticks(ax, rows["label"])
    ax.set(xlim=(-0.02, 1.02), xlabel="share")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8)


def _criterion(rows: Any, ax: Axes) -> None:
    middle, at = rows["presence_criterion"].to_numpy(), np.arange(len(rows))
    spread = np.abs(rows[["presence_criterion_low", "presence_criterion_high"]].to_numpy().T - middle)
    ax.errorbar(middle, at, xerr=spread, fmt="o", color=plot.COLOURS[0], capsize=3)
    _ticks(ax, [row.label if not row.annotator else f"{row.label}, {row.annotator}" for row in rows.itertuples()])
    ax.set(xlim=(0, 1), xlabel=plot.label("presence_criterion") + ", 95 % interval")


def _agreement(rows: Any, ax: Axes) -> None:
    ax.barh(np.arange(len(rows)), rows["alpha"], color=plot.COLOURS[0], height=0.6)
    for limit in (0.667, 0.8):
        ax.axvline(limit, color="#888888", lw=1, ls="--")
    _ticks(ax, rows["label"])
    ax.set(xlabel="Krippendorff's alpha (dashed: 0.667 and 0.8)")


def _lengths(rows: Any, ax: Axes) -> None:
    ax.barh(np.arange(len(rows)), rows["mean_length"], color=plot.COLOURS[0], height=0.6, label="mean")
    ax.plot(rows["median_length"], np.arange(len(rows)), "o", color=plot.COLOURS[1], label="median")
    _ticks(ax, rows["label"])
    ax.set(xlabel=plot.label("event_length"))
    ax.legend()


_CAPTIONS = {
    "quality": "Weak labels against strong ones: precision and recall of event time, and the share of events found.",
    "criterion": "The share of an event that must be in a segment before it is called present, with 95 % intervals.",
    "agreement": "Agreement of the annotators.",
    "lengths": "Lengths of the annotated events.",
}


def page(audit: Audit, *, command: str | None, rows: int) -> Report:
    """The page: findings first, then pictures and tables."""
    report = Report("Audit of weak labels" if audit.quality is not None else "Audit of labels")
    first = audit.findings[0].text if audit.findings else "There is nothing to report."
    report.answer(first)
    if len(audit.findings) > 1:
        report.heading("Findings").items([finding.text for finding in audit.findings[1:]])
    for kind, drawn in _rows(audit).items():
        if len(drawn) and not (kind == "lengths" and audit.quality is not None):
            report.figure(draw(audit, ax=None, kind=kind).figure, _CAPTIONS[kind], name=kind)
    if audit.quality is not None and len(audit.quality.table):
        report.heading("Quality of the labels").table(audit.to_frame())
    if audit.ceiling is not None:
        table = audit.ceiling.table
        report.heading("The ceiling").text(
            "A perfect model predicts the true events; the mimic predicts the labels. Scored against the labels "
            "(perfect, mimic) and, for the mimic, against the true events (mimic true)."
        )
        report.table(table[table["label"].isin(["all", "mean"])])
    if len(audit.criteria):
        report.heading("Presence criterion").table(audit.criteria)
    for name, result in (("Agreement", audit.agreement), ("Agreement in time", audit.annotation_agreement)):
        if result is not None:
            report.heading(name).table(result.by_label)
            if len(result.by_pair):
                report.table(result.by_pair.head(rows))
    if audit.aggregated is not None:
        report.heading("Annotators").table(audit.aggregated.annotators.head(rows))
    if audit.strong is not None:
        report.heading("Strong annotations").table(audit.strong)
    if audit.quality is not None:
        for name, table in (("Missed labels", audit.quality.missed), ("Phantom labels", audit.quality.phantom)):
            if len(table):
                report.heading(name).text(f"The first {min(rows, len(table))} of {len(table)}.")
                report.table(table.head(rows))
    if command:
        report.code(command)
    return report
