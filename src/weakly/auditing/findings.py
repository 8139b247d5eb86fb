"""What an audit found, in words, the most important first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..results import counted, word

if TYPE_CHECKING:
    from .result import Audit


@dataclass(frozen=True)
class Finding:
    """One sentence; ``weight`` in [0, 1] ranks it: about the share of the labels or of the score that it concerns."""

    weight: float
    topic: str
    text: str


def ranked(audit: Audit) -> tuple[Finding, ...]:
    """Every finding, the heaviest first."""
    found: list[Finding] = []
    for make in (_quality, _criterion, _ceiling, _agreement, _effort, _strong):
        found += make(audit)
    found += [Finding(0.02, "note", f"{note[0].upper()}{note[1:]}.") for note in audit.notes]
    return tuple(sorted(found, key=lambda finding: -finding.weight))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 or share == 0 else f"{100 * share:.1f} %"


def _worst(table: Any, above: str, below: str) -> str:
    """The class where the share is largest, among classes with enough to count."""
    rows = table[(table["label"] != "all") & (table[below] >= 5)]
    if len(rows) < 2:
        return ""
    share = rows[above] / rows[below]
    worst = rows.loc[share.idxmax()]
    return f"; most in {word(worst['label'])} ({int(worst[above])} of {int(worst[below])})"


def _quality(audit: Audit) -> list[Finding]:
    if audit.quality is None or audit.quality.table.empty:
        return []
    table: Any = audit.quality.table
    found = []
    total = table[table["label"] == "all"].iloc[0]
    said, meets = int(total["n_present"]), int(total["n_overlapping"])
    if said and total["n_phantom"]:
        share = total["n_phantom"] / said
        words = f"{int(total['n_phantom'])} of {said} present labels ({_percent(share)}) have no event under them"
        found.append(Finding(share, "phantom", words + _worst(table, "n_phantom", "n_present") + "."))
    if meets and total["n_missed"]:
        share = total["n_missed"] / meets
        words = f"{int(total['n_missed'])} of {meets} segments that hold an event ({_percent(share)}) are not labelled"
        found.append(Finding(share, "missed", words + _worst(table, "n_missed", "n_overlapping") + "."))
    if said and np.isfinite(total["precision"]):
        wrong = 1 - total["precision"]
        found.append(
            Finding(
                wrong,
                "precision",
                f"Of the time labelled present {_percent(total['precision'])} is event time; events cover "
                f"{_percent(total['coverage'])} of a present segment on average. Of the segments that meet an event "
                f"{_percent(total['overlap_accuracy'])} of the time has the right label.",
            )
        )
    if np.isfinite(total["event_recall"]):
        lost = 1 - total["event_recall"]
        words = f"{_percent(total['event_recall'])} of {int(total['n_events'])} events lie under a present label"
        rows = table[(table["label"] != "all") & (table["n_events"] >= 5)]
        if lost > 0.005 and len(rows) > 1:
            worst = rows.loc[rows["event_recall"].idxmin()]
            words += f"; fewest in {word(worst['label'])} ({_percent(worst['event_recall'])})"
        found.append(Finding(max(lost, 0.05), "event recall", words + "."))
    return found


def _criterion(audit: Audit) -> list[Finding]:
    table: Any = audit.criteria
    found: list[Finding] = []
    if table.empty:
        return []
    pooled = table[(table["annotator"] == "") & (table["method"] == "threshold") & (table["scale"] == "event")]
    known = pooled[pooled["identifiable"] & (pooled["label"] != "all")]
    for row in known.sort_values("n", ascending=False).head(5).itertuples():
        found.append(
            Finding(
                0.3,
                "criterion",
                f"{word(row.label)}: an event is called present once {_percent(row.presence_criterion)} of it is in "
                f"the segment ({_percent(row.presence_criterion_low)} to {_percent(row.presence_criterion_high)}; "
                f"{row.n} answers, guess rate {_percent(row.guess_rate)}, lapse rate {_percent(row.lapse_rate)}).",
            )
        )
    unknown = pooled[~pooled["identifiable"] & (pooled["label"] != "all")]
    if len(unknown):
        reason, n = unknown["reason"].mode().iloc[0], len(unknown)
        which = f"{n} of {len(pooled[pooled['label'] != 'all'])} classes" if n > 1 else word(unknown["label"].iloc[0])
        words = f"The presence criterion of {which} cannot be known from these labels: {reason}."
        if "presences only" in reason:
            words += " If classes that a segment does not list were looked for, unlisted='absent' (--unlisted absent) "
            words += "takes them as answers."
        found.append(Finding(0.25, "criterion", words))
    each = table[(table["annotator"] != "") & table["identifiable"] & (table["method"] == "threshold")]
    for label, rows in each.groupby("label"):
        if len(rows) > 1:
            low, high = rows.loc[rows["presence_criterion"].idxmin()], rows.loc[rows["presence_criterion"].idxmax()]
            if low["presence_criterion_high"] < high["presence_criterion_low"]:
                found.append(
                    Finding(
                        min(1.0, high["presence_criterion"] - low["presence_criterion"]),
                        "annotators",
                        f"{word(label)}: annotators differ in sensitivity, from {low['presence_criterion']:.2f} "
                        f"({word(low['annotator'])}) to {high['presence_criterion']:.2f} ({word(high['annotator'])}).",
                    )
                )
    return found


def _ceiling(audit: Audit) -> list[Finding]:
    if audit.ceiling is None:
        return []
    table = audit.ceiling.table
    total = table[table["label"] == "all"].set_index("metric")["perfect"]
    segment = [name for name in total.index if name.startswith("segment_f1")]
    if not segment or not np.isfinite(total[segment[0]]):
        return []
    scores = ", ".join(f"{_words(name)} {total[name]:.3f}" for name in (*segment, "event_f1", "accuracy"))
    return [
        Finding(
            1 - float(total[segment[0]]),
            "ceiling",
            f"A model that finds every event exactly scores only {scores} against these labels; a model that repeats "
            "their errors scores 1. Differences between good models above that line are noise.",
        )
    ]


def _words(metric: str) -> str:
    if metric.startswith("segment_f1_"):
        return f"segment-based F1 ({metric.removeprefix('segment_f1_').removesuffix('s')} s)"
    return {"event_f1": "event-based F1", "accuracy": "accuracy of time", "time_f1": "F1 of time"}[metric]


def _agreement(audit: Audit) -> list[Finding]:
    found = []
    for result in (audit.agreement, audit.annotation_agreement):
        if result is None or result.by_label.empty:
            continue
        rows: Any = result.by_label.dropna(subset=["alpha"])
        for row in rows.sort_values("alpha").head(3).itertuples():
            how = "agree well" if row.alpha >= 0.8 else "agree so-so" if row.alpha >= 0.667 else "agree little"
            text = f"{word(row.label)}: {row.n_annotators} annotators {how} (Krippendorff's alpha {row.alpha:.2f}"
            if result.unit == "clips":
                text += f"; {row.unanimous_present} clips unanimously present, {row.unanimous - row.unanimous_present} "
                text += f"unanimously absent, {row.split} split"
            else:
                text += f"; {row.units:,.0f} s heard by several"
            found.append(Finding(float(np.clip(0.9 * (1 - row.alpha), 0.05, 0.9)), "agreement", text + ")."))
    return found


def _effort(audit: Audit) -> list[Finding]:
    spent = audit.effort
    if spent is None:
        return []
    text = f"A query takes {spent.seconds_per_query:.3g} s"
    if spent.idle_share > 0:
        text += (
            f"; {_percent(spent.idle_share)} of the queries look idle ({spent.idle_seconds:,.0f} s) and are left out"
        )
    if np.isfinite(spent.query_cost_share):
        text += f"; the cost share of a query is r = {spent.query_cost_share:.2f} ({spent.note})"
    return [Finding(0.1, "effort", text + ".")]


def _strong(audit: Audit) -> list[Finding]:
    if audit.strong is None:
        return []
    table = audit.strong
    if table.empty:
        heard = counted(audit.settings["n_recordings"], "recording")
        return [Finding(0.03, "strong", f"The strong annotations hold no event in {heard}.")]
    text = f"The strong annotations hold {int(table['n_events'].sum())} events of {len(table)} classes in "
    text += f"{audit.settings['n_recordings']} recordings, {audit.settings['n_empty']} of them without any event"
    found = [Finding(0.03, "strong", text + ".")]
    for label, one in audit.recipe.items():
        low, high = one.presence_criterion_ci
        if np.isfinite(one.presence_criterion):
            row = table[table["label"] == label].iloc[0]
            found.append(
                Finding(
                    0.2,
                    "recipe",
                    f"{word(label)}: the paper's recipe gives a presence criterion of {one.presence_criterion:.4f} "
                    f"({low:.3f} to {high:.3f}) from {int(row['n_events'])} events in {int(row['n_recordings'])} "
                    f"clips, whose mean share of a clip is {row['length_share']:.4f}. It says nothing about "
                    f"annotators: {one.reason}. The events of a clip together cover {_percent(row['coverage'])} of it.",
                )
            )
    return found
