"""The label card: what whoever uses these labels should know, for a README or a data sheet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...base.errors import InvalidInput
from ...base.files import atomic_write
from ...base.report import Report
from ...base.results import show, to_json
from .curves import rule_words
from .findings import elsewhere

if TYPE_CHECKING:
    from .audit_result import Audit


def label_card(audit: Audit) -> dict[str, Any]:
    """What whoever uses these labels should know: numbers by topic, and the findings."""
    found: dict[str, Any] = {}
    if audit.quality is not None and len(audit.quality.table):
        table: Any = audit.quality.table
        total = table[table["label"] == "all"].iloc[0]
        counts = ("n_queries", "n_present", "n_all_events", "n_phantom", "n_missed", "n_tied", "n_unsure")
        found["labels"] = {"n_recordings": audit.settings["n_paired"], **{name: total[name] for name in counts}}
        found["events"] = {name: total[name] for name in ("event_recall", "event_recall_se", "asked_share")}
        found["frames"] = {name: total[name] for name in ("insertion_rate", "deletion_rate", "precision", "recall")}
    if len(audit.rules):
        best = audit.rules.iloc[0]
        found["rule"] = {"rule": best["rule"], "present_once": rule_words(best["rule"]), "agreement": best["agreement"]}
        found["rule"] |= {name: best[name] for name in ("present_if_met", "present_if_not")}
        like: Any = audit.rules[audit.rules["aic"] <= best["aic"] + 2]["rule"].tolist()[1:]
        found["rule"] |= {"fit_as_well": ", ".join(like)} if like else {}
    if len(audit.headline):
        rows: Any = audit.headline
        rows = rows[rows["label"] == "all"] if (rows["label"] == "all").any() else rows.head(1)
        row = rows.iloc[0]
        names = ("presence_criterion", "spread", "guess_rate", "lapse_rate")
        found["presence_criterion"] = (
            {f"{name}{end}": row[f"{name}{end}"] for name in names for end in ("", "_low", "_high")}
            if row["identifiable"]
            else {"unknown": row["reason"]}
        )
        instead = elsewhere(audit)
        if instead is not None:
            found["presence_criterion"]["but"] = f"{instead[0]}, which explains the labels better"
    if audit.votes is not None and audit.aggregated is not None:
        had = int(audit.aggregated.labels["n_answers"].median())
        mean: Any = audit.votes.groupby("votes")[["majority_accuracy", "weighted_accuracy", "gain"]].mean()
        here = mean.loc[min(had, len(mean) - 1)]
        found["votes"] = {"votes": had, **here[["majority_accuracy", "weighted_accuracy"]].to_dict()}
        found["votes"]["gain_of_one_more"] = mean["gain"].loc[min(had, len(mean) - 1) + 1]
    for name, result in (("agreement", audit.agreement), ("agreement_in_time", audit.annotation_agreement)):
        if result is not None and len(result.by_label):
            alpha = result.by_label["alpha"].dropna()
            if len(alpha):
                found[name] = {
                    "alpha_median": float(alpha.median()),
                    "alpha_lowest": float(alpha.min()),
                    "n_classes": len(alpha),
                }
    if audit.ceiling is not None:
        scores = audit.ceiling.table[audit.ceiling.table["label"] == "all"]
        found["ceiling"] = {str(row.metric): row.perfect for row in scores.itertuples()}
    found["findings"] = [finding.text for finding in audit.findings if finding.topic != "note"]
    found["notes"] = list(audit.notes)
    return found


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
    "event_recall": "share of events under a present label",
    "event_recall_se": "its standard error",
    "asked_share": "share of events that were asked about",
    "insertion_rate": "insertion rate: P(present | no event)",
    "deletion_rate": "deletion rate: P(absent | event)",
    "precision": "precision of time",
    "recall": "recall of time",
}
_TITLES = {
    "labels": "The labels",
    "events": "Events found",
    "frames": "Errors of frames",
    "rule": "Clip rule that fits best",
    "presence_criterion": "Presence criterion (law of the share of an event that must be heard)",
    "votes": "How many votes are enough",
    "agreement": "Agreement of answers",
    "agreement_in_time": "Agreement in time",
    "ceiling": "Scores of a perfect model against these labels",
}


def save_card(audit: Audit, path: Path) -> Path:
    """The card as Markdown, HTML or JSON, by the ending of the path."""
    kind = path.suffix.lower()
    if kind not in (".md", ".html", ".json"):
        raise InvalidInput(f"a card is a file that ends in .md, .html or .json, got {str(path)!r}")
    made = label_card(audit)
    if kind == ".html":
        page = Report("Label card").items(made["findings"])
        if "detection" in audit.kinds:
            page.figure(
                audit.plot(kind="detection").figure, "How often segments are labelled present.", name="detection"
            )
        for name, title in _TITLES.items():
            if name in made:
                page.heading(title).items([f"{_named(key)}: {show(key, value)}" for key, value in made[name].items()])
        return page.text("; ".join(made["notes"]), small=True).write(path)
    if kind == ".json":
        text = to_json(made)
    else:
        lines = ["# Label card", "", *(f"- {_markdown(finding)}" for finding in made["findings"])]
        for name, title in _TITLES.items():
            if name in made:
                lines += ["", f"## {title}", "", "| | |", "|---|---|"]
                lines += [
                    f"| {_markdown(_named(key))} | {_markdown(show(key, value))} |" for key, value in made[name].items()
                ]
        lines += ["", *(f"- {_markdown(note)}" for note in made["notes"])]
        text = "\n".join(lines).rstrip()
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text + "\n")
    return path


def _named(key: str) -> str:
    return _WORDS.get(key, key.replace("_", " "))


def _markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    for sign in "\\`*_[]<>|#":
        text = text.replace(sign, f"\\{sign}")
    return text
