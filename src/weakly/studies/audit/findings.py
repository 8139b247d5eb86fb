"""What an audit found, in words, the most important first; and the label card, for a README or a data sheet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import InvalidInput
from ...base.files import atomic_write
from ...base.report import Report
from ...base.results import Finding, counted, format_value, percent, points, safe_label, to_json
from .curves import explains, rule_words

if TYPE_CHECKING:
    from .audit_result import Audit


def ranked(audit: Audit) -> tuple[Finding, ...]:
    """Every finding, the heaviest first."""
    found: list[Finding] = []
    for make in (_quality, _criterion, _curve, _rules, _ceiling, _agreement, _votes, _effort, _strong):
        found += make(audit)
    found += [Finding(0.02, "note", f"{note[0].upper()}{note[1:]}.") for note in audit.notes]
    return tuple(sorted(found, key=lambda finding: -finding.weight))


def _worst(table: Any, above: str, below: str) -> str:
    """The class where the share is largest, among classes with enough to count."""
    rows = table[(table["label"] != "all") & (table[below] >= 5)]
    if len(rows) < 2:
        return ""
    share = rows[above] / rows[below]
    worst = rows.loc[share.idxmax()]
    return f"; most in {safe_label(worst['label'])} ({int(worst[above])} of {int(worst[below])})"


def _quality(audit: Audit) -> list[Finding]:
    if audit.quality is None or audit.quality.table.empty:
        return []
    table: Any = audit.quality.table
    found = []
    total = table[table["label"] == "all"].iloc[0]
    said, meets = int(total["n_present"]), int(total["n_overlapping"])
    if said and total["n_phantom"]:
        share = total["n_phantom"] / said
        words = f"{int(total['n_phantom']):,} of {said:,} present labels ({percent(share)}) have no event under them"
        found.append(Finding(share, "phantom", words + _worst(table, "n_phantom", "n_present") + "."))
    if meets and total["n_missed"]:
        share = total["n_missed"] / meets
        words = f"{int(total['n_missed']):,} of {meets:,} segments that hold an event ({percent(share)}) are "
        words += "labelled absent"
        found.append(Finding(share, "missed", words + _worst(table, "n_missed", "n_overlapping") + "."))
    for name, what in (("n_tied", "have as many votes for as against (ties)"), ("n_unsure", "got only unsure answers")):
        if meets and total[name]:
            share = total[name] / meets
            words = f"{int(total[name]):,} of {meets:,} segments that hold an event ({percent(share)}) {what}"
            found.append(Finding(share, name[2:], words + "; they are neither found nor missed."))
    orphans = audit.settings.get("n_orphans", 0)
    if orphans:
        most = (total["n_phantom"] + orphans) / (said + orphans)
        words = f"{counted(orphans, 'present label')} lie in recordings that the strong annotations do not name, "
        words += f"and are left out. If those were examined and found empty, {percent(most)} of the present labels "
        words += f"have no event under them, instead of {percent(total['n_phantom'] / max(said, 1))}: examined "
        words += "(--examined) tells which."
        found.append(Finding(most, "examined", words))
    if said and np.isfinite(total["precision"]):
        wrong = 1 - total["precision"]
        words = f"Of the time labelled present {percent(total['precision'])} is event time; events cover "
        words += f"{percent(total['coverage'])} of a present segment on average. Of the segments that meet an event "
        words += f"{percent(total['overlap_accuracy'])} of the time has the right label."
        found.append(Finding(wrong, "precision", words))
    if np.isfinite(total["event_recall"]):
        lost = 1 - total["event_recall"]
        share = total["asked_share"]
        asked = "" if share > 1 - 1e-9 else f" that were asked about ({percent(share)} of all)"
        words = f"{percent(total['event_recall'])} of {int(total['n_events']):,} events{asked} lie under a present "
        words += "label"
        rows = table[(table["label"] != "all") & (table["n_events"] >= 5)]
        if lost > 0.005 and len(rows) > 1:
            worst = rows.loc[rows["event_recall"].idxmin()]
            words += f"; fewest in {safe_label(worst['label'])} ({percent(worst['event_recall'])})"
        found.append(Finding(max(lost, 0.05), "event recall", words + "."))
    return found


def _law(row: Any) -> str:
    """A fitted law in words."""
    of, within = ("an event", "of it is in the segment") if row["scale"] == "event" else ("a segment", "of it is event")
    text = f"{of} is called present once {percent(row['presence_criterion'])} {within} on average "
    text += f"(95 % interval {percent(row['presence_criterion_low'])} to {percent(row['presence_criterion_high'])}"
    if row["spread"] > 0:
        text += f"; from answer to answer this varies by {percent(row['spread'])}"
    elif row["spread"] == 0:
        text += "; one criterion serves for all answers"
    for name, noun in (("guess_rate", "guesses"), ("lapse_rate", "lapses")):
        high = row[f"{name}_high"]
        if np.isfinite(high):
            text += f"; {noun} {percent(row[name])}" if row[f"{name}_low"] > 0 else f"; {noun} at most {percent(high)}"
    return text + f"; {row['n']:,} answers)"


def elsewhere(audit: Audit) -> tuple[str, float, str] | None:
    """What decides instead, if a rule in seconds or shares of the segment explains the labels better than any share of
    an event, by how much (AIC), and on which scale of the curves; None if it does not, or if no rule explains them."""
    rules, fits = audit.rules, audit.criteria
    if len(rules) == 0 or rules["scale"].iloc[0] == "event" or not explains(rules.iloc[0]):
        return None
    fits = fits[(fits["annotator"] == "") & fits["aic"].notna()]
    fits = fits[fits["label"] == "all"] if (fits["label"] == "all").any() else fits
    whole = fits[fits["n"] == rules["n"].iloc[0]]
    event = min([*whole.loc[whole["scale"] == "event", "aic"], *rules.loc[rules["scale"] == "event", "aic"]])
    other: Any = whole[whole["scale"] == "segment"]
    best = rules.iloc[0]
    words = f"a segment is called present once {rule_words(best['rule'])}"
    aic, scale = float(best["aic"]), "coverage" if best["rule"].startswith("coverage") else "event_seconds"
    if len(other) and other["aic"].iloc[0] < aic - 2:
        words, aic, scale = _law(other.iloc[0]), float(other["aic"].iloc[0]), "coverage"
    return (words, event - aic, scale) if event > aic + 2 else None


def _criterion(audit: Audit) -> list[Finding]:
    table: Any = audit.headline
    found: list[Finding] = []
    if table.empty:
        return []
    classes = table[table["label"] != "all"]
    known = classes[classes["identifiable"]].sort_values("n", ascending=False)
    whole = table[(table["label"] == "all") & table["identifiable"]]
    instead = elsewhere(audit)
    lead = ""
    if instead is not None:
        text = f"{instead[0][0].upper()}{instead[0][1:]}: this explains the labels better than any share of an event"
        text += f" (AIC lower by {instead[1]:,.0f}), so that gamma, the share, is not what the annotators went by"
        found.append(Finding(0.3, "criterion", text + "."))
        lead = "read as a share of the event, which fits worse, "
    for row in (whole if len(whole) else known.head(3)).to_dict("records"):
        who = "All classes together" if row["label"] == "all" else safe_label(row["label"])
        doubt = "" if audit.fit is None or audit.fit.is_good else f". But {audit.fit.sentence}"
        found.append(Finding(0.04 if lead else 0.3, "criterion", f"{who}: {lead}{_law(row)}{doubt}."))
    if audit.fit is not None and audit.fit.is_good:
        found.append(Finding(0.06, "fit", f"By their posterior predictive {audit.fit.sentence}."))
    if len(whole) and len(known) > 1:
        low, high = known.loc[known["presence_criterion"].idxmin()], known.loc[known["presence_criterion"].idxmax()]
        ends = [f"{percent(row['presence_criterion'])} ({safe_label(row['label'])})" for row in (low, high)]
        text = f"From class to class the mean criterion goes from {ends[0]} to {ends[1]} of the event"
        found.append(Finding(0.04 if lead else 0.2, "classes", text + "."))
    every: Any = audit.criteria
    for label in whole["label"] if len(whole) else known.head(1)["label"]:
        fits = every[(every["label"] == label) & (every["annotator"] == "") & every["aic"].notna()]
        fits = fits[fits["scale"] == "event"].sort_values("aic")
        if len(fits) > 1:
            best, next_ = fits.iloc[0], fits.iloc[1]
            margin = next_["aic"] - best["aic"]
            words = f"fits best (AIC lower by {margin:,.0f} than the next)"
            words = words if margin > 2 else f"and {_FITS[next_['method']]} fit equally well (AIC within {margin:.1f})"
            who = "All classes together" if label == "all" else safe_label(label)
            text = f"{who}: of a law of criteria, one hard threshold and a logistic curve, "
            found.append(Finding(0.06, "fit", f"{text}{_FITS[best['method']]} {words}."))
    silent = classes[~classes["identifiable"]]
    if len(silent):
        reason, n = silent["reason"].mode().iloc[0], len(silent)
        which = f"{n} of {len(classes)} classes" if n > 1 else safe_label(silent["label"].iloc[0])
        words = f"The presence criterion of {which} cannot be known from these labels: {reason}."
        if "presences only" in reason:
            words += " If classes that a segment does not list were looked for, unlisted='absent' (--unlisted absent) "
            words += "takes them as answers."
        found.append(Finding(0.25, "criterion", words))
    return found + _people(every[(every["annotator"] != "") & every["identifiable"]])


_FITS = {"law": "the law", "threshold": "the threshold", "logistic": "the logistic curve"}


def _people(each: Any) -> list[Finding]:
    """The class whose annotators differ most in sensitivity, beyond their intervals."""
    apart = []
    for label, rows in each.groupby("label"):
        low, high = rows.loc[rows["presence_criterion"].idxmin()], rows.loc[rows["presence_criterion"].idxmax()]
        if low["presence_criterion_high"] < high["presence_criterion_low"]:
            apart.append((high["presence_criterion"] - low["presence_criterion"], label, low, high))
    if not apart:
        return []
    gap, label, low, high = max(apart, key=lambda one: float(one[0]))
    text = f"{safe_label(label)}: annotators differ in sensitivity, from {low['presence_criterion']:.2f} "
    text += f"({safe_label(low['annotator'])}) to {high['presence_criterion']:.2f} ({safe_label(high['annotator'])})"
    text += f"; so they do, less, in {len(apart) - 1} of the other classes" if len(apart) > 1 else ""
    return [Finding(min(1.0, float(gap)), "annotators", text + ".")]


def _range(row: Any) -> str:
    """Seconds from the least to the most in a bin."""
    low, high = (f"{x:.0f}" if x >= 10 else f"{x:.2g}" for x in (row["low"], row["high"]))
    return f"{low} s" if low == high else f"{low} to {high} s"


def _curve(audit: Audit) -> list[Finding]:
    table: Any = audit.curves
    if table.empty:
        return []
    label = "all" if (table["label"] == "all").any() else table["label"].iloc[0]
    rows = table[(table["label"] == label) & (table["scale"] == "event_seconds") & (table["middle"] > 0)]
    if len(rows) < 2:
        return []
    low, high = rows.iloc[0], rows.iloc[-1]
    who = "Segments" if label == "all" else f"{safe_label(label)}: segments"
    text = f"{who} with {_range(low)} of event are labelled present in "
    text += (
        f"{percent(low['present'])} of the cases ({percent(low['present_low'])} to {percent(low['present_high'])}), "
    )
    text += f"those with {_range(high)} in {percent(high['present'])}"
    # That more of an event is noticed more often surprises nobody: other findings come first.
    weight = 0.25 * float(np.clip(high["present"] - low["present"], 0.24, 1))
    return [Finding(weight, "detection", text + ".")]


def _rules(audit: Audit) -> list[Finding]:
    table: Any = audit.rules
    if len(table) == 0:
        return []
    best = table.iloc[0]
    if np.isnan(best["present_if_met"] + best["present_if_not"]):
        return []  # every segment satisfies it, or none
    like = table[table["aic"] <= best["aic"] + 2]["rule"].tolist()[1:]
    tools = f" (the rule of {best['tools']})" if best["tools"] else ""
    if not explains(best):
        text = f"No clip rule in use explains these labels: of the segments that satisfy the likeliest, {best['rule']} "
        text += f"({rule_words(best['rule'])}), {percent(best['present_if_met'])} are labelled present, of the others "
        return [Finding(0.05, "rule", f"{text}{percent(best['present_if_not'])}.")]
    text = f"Of the clip rules in use, {best['rule']}{tools} "
    text += f"is one of {len(like) + 1} that explain" if like else "explains"
    text += f" these labels best: present once {rule_words(best['rule'])}. It agrees with "
    text += f"{percent(best['agreement'])} of {best['n']:,} labels"
    if like:
        text += f"; nothing tells it from {', '.join(like)}"
    return [Finding(0.05, "rule", text + ".")]


def _votes(audit: Audit) -> list[Finding]:
    if audit.votes is None or audit.aggregated is None:
        return []
    mean: Any = audit.votes.groupby("votes")[["majority_accuracy", "weighted_accuracy", "gain"]].mean()
    had = float(np.median(audit.aggregated.labels["n_answers"]))
    now = int(min(max(round(had), 1), len(mean) - 1))
    here, more = mean.loc[now], mean.loc[now + 1]
    text = f"With {counted(now, 'vote')} per segment, as here, the majority is right in "
    text += f"{percent(here['majority_accuracy'])} of the labels and weighted votes in "
    text += f"{percent(here['weighted_accuracy'])}; one vote more brings "
    text += points(max(more["gain"], 0.0))
    if more["gain"] > 5e-4:
        spent = "" if audit.effort is None else f" ({audit.effort.seconds_per_query / more['gain']:,.0f} s of work)"
        text += f", one label put right for {1 / more['gain']:,.0f} more votes{spent}"
    return [Finding(0.12, "votes", text + ", if annotators err independently.")]


def _ceiling(audit: Audit) -> list[Finding]:
    if audit.ceiling is None:
        return []
    table = audit.ceiling.table
    total = table[table["label"] == "all"].set_index("metric")["perfect"]
    segment = [name for name in total.index if name.startswith("segment_f1")]
    if not segment or not np.isfinite(total[segment[0]]):
        return []
    scores = ", ".join(f"{_words(name)} {total[name]:.3f}" for name in (*segment, "event_f1", "accuracy"))
    text = f"A model that finds every event exactly scores only {scores} against these labels; a model that repeats "
    text += "their errors scores 1. A score above the exact model's rewards the labels' errors, not better events."
    return [Finding(1 - float(total[segment[0]]), "ceiling", text)]


def _words(metric: str) -> str:
    if metric.startswith("segment_f1_"):
        return f"segment-based F1 ({metric.removeprefix('segment_f1_').removesuffix('s')} s)"
    return {"event_f1": "event-based F1", "accuracy": "accuracy of time", "time_f1": "F1 of time"}[metric]


def _agreement(audit: Audit) -> list[Finding]:
    found = []
    for result in (audit.agreement, audit.annotation_agreement):
        if result is None or result.by_label.empty:
            continue
        rows: Any = result.by_label.dropna(subset=["alpha"]).sort_values("alpha")
        if rows.empty and (result.by_label["units"] == 0).all():
            text = "Several annotators are named, but no two of them examined the same recording: agreement is unknown"
            found.append(Finding(0.05, "agreement", text + "."))
        if len(rows) > 3:  # a sentence for all, and the class with most to settle
            low, high, few = rows.iloc[0], rows.iloc[-1], int((rows["alpha"] < 0.667).sum())
            text = f"Annotators agree little (Krippendorff's alpha below 0.667) in {few} of {len(rows)} classes; alpha "
            text += f"goes from {_two(low['alpha'])} ({safe_label(low['label'])}) to {_two(high['alpha'])} "
            text += f"({safe_label(high['label'])})"
            found.append(Finding(0.9 * few / len(rows), "agreement", text + "."))
            rows = rows.loc[[rows["split" if result.unit == "clips" else "units"].idxmax()]]
        for row in rows.itertuples():
            how = "agree well" if row.alpha >= 0.8 else "agree so-so" if row.alpha >= 0.667 else "agree little"
            text = (
                f"{safe_label(row.label)}: {row.n_annotators} annotators {how} (Krippendorff's alpha {_two(row.alpha)}"
            )
            if result.unit == "clips":
                text += f"; {row.unanimous_present} clips unanimously present, {row.unanimous - row.unanimous_present} "
                text += f"unanimously absent, {row.split} split"
            else:
                text += f"; {row.units:,.0f} s examined by several"
                if result.assumed and row.alpha_if_all != row.alpha_if_marked:
                    text += (
                        f"; assuming that {result.assumed}: alpha is {_two(row.alpha_if_all)} if everybody examined "
                    )
                    text += f"all, {_two(row.alpha_if_marked)} if only recordings in which they marked an event"
            found.append(Finding(float(np.clip(0.9 * (1 - row.alpha), 0.05, 0.9)), "agreement", text + ")."))
    return found


def _two(x: float) -> str:
    """Two decimals, without a minus before nothing."""
    return f"{round(x, 2) + 0.0:.2f}"


def _effort(audit: Audit) -> list[Finding]:
    spent = audit.effort
    if spent is None:
        return []
    text = f"A query takes {spent.seconds_per_query:.3g} s"
    if spent.idle_share > 0:
        text += f"; {percent(spent.idle_share)} of the queries look idle ({spent.idle_seconds:,.0f} s) and are left out"
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
    kinds = "1 class" if len(table) == 1 else f"{len(table)} classes"
    text = f"The strong annotations hold {counted(int(table['n_events'].sum()), 'event')} of {kinds} in "
    text += f"{counted(audit.settings['n_recordings'], 'recording')}, {audit.settings['n_empty']:,} of them without "
    text += "any event"
    found = [Finding(0.03, "strong", text + ".")]
    if audit.quality is None:
        most: Any = table.iloc[int(table["n_events"].to_numpy().argmax())]
        which = ", the commonest class" if len(table) > 1 else ""
        text = f"{safe_label(most['label'])}{which}: events last {most['mean_length']:.3g} s on average (half of them "
        text += f"less than {most['median_length']:.3g} s) and cover {percent(most['coverage'])} of a recording "
        found.append(Finding(0.025, "lengths", text + "that holds one."))
    for label, one in audit.recipe.items():
        low, high = one.presence_criterion_ci
        if np.isfinite(one.presence_criterion):
            row = table[table["label"] == label].iloc[0]
            text = (
                f"{safe_label(label)}: the paper's recipe gives a presence criterion of {one.presence_criterion:.4f} "
            )
            text += f"({low:.3f} to {high:.3f}) from {int(row['n_events'])} events in {int(row['n_recordings'])} "
            text += f"clips, whose mean share of a clip is {row['length_share']:.4f}. It says nothing about "
            text += f"annotators: {one.reason}. The events of a clip together cover {percent(row['coverage'])} of it."
            found.append(Finding(0.2, "recipe", text))
    return found


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
        if audit.fit is not None:
            found["fit"] = {"p_value": audit.fit.p_value, **audit.fit.p_values, "verdict": audit.fit.sentence}
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
                ends = {"alpha_median": float(alpha.median()), "alpha_lowest": float(alpha.min())}
                found[name] = {**ends, "n_classes": len(alpha)}
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
    "presence_criterion": "Presence criterion (law of the share of an event that must be there)",
    "fit": "Do the answers look like this law? P-values",
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
                page.heading(title).items(
                    [f"{_named(key)}: {format_value(key, value)}" for key, value in made[name].items()]
                )
        return page.text("; ".join(made["notes"]), small=True).write(path)
    if kind == ".json":
        text = to_json(made)
    else:
        lines = ["# Label card", "", *(f"- {_markdown(finding)}" for finding in made["findings"])]
        for name, title in _TITLES.items():
            if name in made:
                lines += ["", f"## {title}", "", "| | |", "|---|---|"]
                lines += [
                    f"| {_markdown(_named(key))} | {_markdown(format_value(key, value))} |"
                    for key, value in made[name].items()
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
