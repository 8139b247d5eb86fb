"""The report of a plan: one page for a colleague or a grant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..report import Report
from .figures import caption, draw
from .methods import percent, seconds
from .result import COLUMNS
from .words import notes

if TYPE_CHECKING:
    from .result import Plan


def page(plan: Plan, *, command: str | None = None) -> Report:
    """The report, ready to be written."""
    import pandas as pd

    figures = draw(plan)
    label = plan.inputs.get("label")
    report = Report("Labeling plan" + (f": {label}" if label else ""))
    report.answer(plan.answer)
    if plan.warnings:
        report.items(list(plan.warnings))
    report.figure(figures["timeline"], caption(plan, "timeline"), name="timeline")
    report.heading("How long a segment should be")
    report.figure(figures["lengths"], caption(plan, "lengths"), name="lengths")
    _how_sure(plan, report)
    report.heading("What more cost buys")
    report.figure(figures["frontier"], caption(plan, "frontier"), name="frontier")
    report.heading("The methods on the same work")
    report.figure(figures["cost"], caption(plan, "cost"), name="cost")
    table, work = plan.to_frame(), ["name", "n_queries", "listened", "cost"]
    report.table(table[[name for name in COLUMNS if name not in ("method", "note", *work[1:])]])
    report.text("wrong time: seconds per recording.", small=True)
    report.table(table[work])
    report.text("For the whole work; listened in seconds.", small=True)
    if said := notes(plan.rows):
        report.heading("Where a method stops making sense").items(said)
    if plan.classes:
        report.heading("Several classes")
        report.table(pd.DataFrame(plan.classes["per_class"]))
        table = pd.DataFrame(plan.classes["passes"])
        table["segment_lengths"] = [", ".join(seconds(each) for each in row) for row in table["segment_lengths"]]
        report.table(table.drop(columns="labels"))
        report.text(plan.classes["words"])
    report.heading("If the presence criterion is another").table(_sensitivity(plan))
    report.text("regret: the score that the recommended length gives away if the criterion has that value.", small=True)
    report.heading("What this rests on").items(list(plan.assumptions))
    if command:
        report.heading("The command that made it").code(command)
    return report


def _sensitivity(plan: Plan) -> object:
    import pandas as pd

    names = (
        "presence_criterion",
        "overlap_accuracy",
        "event_recall",
        "best_segment_length",
        "best_overlap_accuracy",
        "best_event_recall",
        "regret",
    )
    return pd.DataFrame([{name: row[name] for name in names} for row in plan.sensitivity])


def _how_sure(plan: Plan, report: Report) -> None:
    sure = plan.uncertainty
    if not sure:
        return
    if "segment_length_ci" in sure:
        low, high = sure["segment_length_ci"]
        worse, better = sure["overlap_accuracy_ci"]
        report.text(
            f"From {sure['n_events']:,} pilot events ({sure['how']}, 90 %): the best length lies between "
            f"{seconds(low)} and {seconds(high)}, the accuracy near events between {percent(worse)} and "
            f"{percent(better)}."
        )
    if sure.get("by_size"):
        report.text(sure["words"])
