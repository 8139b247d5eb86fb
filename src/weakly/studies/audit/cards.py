"""The label card: what whoever uses these labels should know, for a README or a data sheet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...base.errors import InvalidInput
from ...base.report import Report
from ...base.results import format_value, to_json, write_file
from ...posterior.criterion import NUMBERS
from .findings import elsewhere, scored
from .responses import rule_words

if TYPE_CHECKING:
    from .audit_result import Audit

#: Columns of the table of quality that stand on the card, by topic.
_COUNTED = {
    "labels": ("n_queries", "n_present", "n_all_events", "n_phantom", "n_missed", "n_tied", "n_unsure"),
    "events": ("event_recall", "event_recall_se", "asked_share"),
    "frames": ("insertion_rate", "deletion_rate", "precision", "recall"),
}
_WORDS = {
    "n_recordings": "recordings",
    "present_if_met": "labelled present, of the segments that satisfy it",
    "present_if_not": "labelled present, of the others",
    "n_queries": "labels (of a segment and a class)",
    "n_present": "labelled present",
    "n_all_events": "events",
    "n_phantom": "labelled present without an event",
    "n_missed": "labelled absent despite an event",
    "n_tied": "as many votes for as against, on an event",
    "n_unsure": "only unsure answers, on an event",
    "event_recall": "events found (under a present label)",
    "event_recall_se": "its standard error",
    "asked_share": "share of events that were asked about",
    "insertion_rate": "insertion rate: P(present | no event)",
    "deletion_rate": "deletion rate: P(absent | event)",
    "precision": "labelled time that is right",
    "recall": "event time labelled",
}
_TITLES = {
    "labels": "The labels", "events": "Events found", "frames": "Errors of frames",
    "rule": "Clip rule that fits best",
    "presence_criterion": "Presence criterion (law of the share of an event that must be there)",
    "fit": "Do the answers look like this law? P-values", "votes": "How many votes are enough",
    "agreement": "Agreement of answers", "agreement_in_time": "Agreement in time",
    "ceiling": "Scores of a perfect model against these labels",
}  # fmt: skip


def label_card(audit: Audit) -> dict[str, Any]:
    """What whoever uses these labels should know: numbers by topic, and the findings."""
    card: dict[str, Any] = {}
    _, total = scored(audit)
    if total is not None:
        card = {topic: {name: total[name] for name in names} for topic, names in _COUNTED.items()}
        card["labels"] = {"n_recordings": audit.settings["n_paired"], **card["labels"]}
    if len(audit.rules):
        best = audit.rules.iloc[0]
        like = audit.rules[audit.rules["aic"] <= best["aic"] + 2]["rule"].tolist()[1:]
        card["rule"] = {"rule": best["rule"], "present_once": rule_words(best["rule"])}
        card["rule"] |= {name: best[name] for name in ("agreement", "present_if_met", "present_if_not")}
        card["rule"] |= {"fit_as_well": ", ".join(like)} if like else {}
    if len(audit.headline):
        rows: Any = audit.headline
        row = (rows[rows["label"] == "all"] if (rows["label"] == "all").any() else rows).iloc[0]
        card["presence_criterion"] = {"unknown": row["reason"]}
        if row["identifiable"]:
            ends = [f"{name}{end}" for name in NUMBERS for end in ("", "_low", "_high")]
            card["presence_criterion"] = {name: row[name] for name in ends}
        if audit.fit is not None:
            card["fit"] = {"p_value": audit.fit.p_value, **audit.fit.p_values, "verdict": audit.fit.sentence}
        if (instead := elsewhere(audit)) is not None:
            card["presence_criterion"]["but"] = f"{instead[0]}, which explains the labels better"
    if audit.votes is not None and audit.aggregated is not None:
        had = int(audit.aggregated.labels["n_answers"].median())
        mean: Any = audit.votes.groupby("votes")[["majority_accuracy", "weighted_accuracy", "gain"]].mean()
        now = min(had, len(mean) - 1)
        card["votes"] = {"votes": had, **mean.loc[now][["majority_accuracy", "weighted_accuracy"]].to_dict()}
        card["votes"]["gain_of_one_more"] = mean["gain"].loc[now + 1]
    for name, result in (("agreement", audit.agreement), ("agreement_in_time", audit.annotation_agreement)):
        alpha: Any = () if result is None or result.by_label.empty else result.by_label["alpha"].dropna()
        if len(alpha):
            card[name] = {"alpha_median": float(alpha.median()), "alpha_lowest": float(alpha.min())}
            card[name]["n_classes"] = len(alpha)
    if audit.ceiling is not None:
        scores = audit.ceiling.table[audit.ceiling.table["label"] == "all"]
        card["ceiling"] = dict(zip(scores["metric"], scores["perfect"]))
    findings = [finding.text for finding in audit.findings if finding.topic != "note"]
    return {**card, "findings": findings, "notes": list(audit.notes)}


def save_card(audit: Audit, path: Path) -> Path:
    """The card as Markdown, HTML or JSON, by the ending of the path."""
    kind, card = path.suffix.lower(), label_card(audit)
    if kind not in (".md", ".html", ".json"):
        raise InvalidInput(f"a card is a file that ends in .md, .html or .json, got {str(path)!r}")
    topics = {
        title: [(_WORDS.get(key, key.replace("_", " ")), format_value(key, value)) for key, value in card[name].items()]
        for name, title in _TITLES.items()
        if name in card
    }
    if kind == ".html":
        page = Report("Label card").items(card["findings"])
        if "detection" in audit.kinds:
            figure = audit.plot(kind="detection").figure
            page.figure(figure, "How often segments are labelled present.", name="detection")
        for title, pairs in topics.items():
            page.heading(title).items([f"{word}: {value}" for word, value in pairs])
        return page.text("; ".join(card["notes"]), small=True).write(path)
    lines = [*_front(card), "# Label card", "", *(f"- {_markdown(finding)}" for finding in card["findings"])]
    for title, pairs in topics.items():
        lines += ["", f"## {title}", "", "| | |", "|---|---|"]
        lines += [f"| {_markdown(word)} | {_markdown(value)} |" for word, value in pairs]
    lines += ["", *(f"- {_markdown(note)}" for note in card["notes"])]
    return write_file(path, (to_json(card) if kind == ".json" else "\n".join(lines).rstrip()) + "\n")


def _front(card: dict[str, Any]) -> list[str]:
    """The front matter of a dataset card, by which hubs of data sets sort and find it: what the audit knows."""
    told = ["pretty_name: Label card", "license: unknown", "task_categories: [other]"]
    told += ["tags: [weak-labels, label-quality]"]
    if n := int(card.get("labels", {}).get("n_queries") or 0):
        marks = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B")
        k = min(max(0, len(str(n)) - 3), len(marks) - 1)
        told += [f"size_categories: ['{f'{marks[k - 1]}<' if k else ''}n<{marks[k]}']"]
    return ["---", *told, "---", ""]


def _markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)
