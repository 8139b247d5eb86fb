"""What an audit found, in words: how many labels are wrong, which events are missed, what a perfect model would score;
after that agreement, criterion, rules and costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.results import Finding, counted, percent, points, safe_label
from .responses import explains, rule_words

if TYPE_CHECKING:
    from .audit_result import Audit

#: The least weights of what the owner of labels asks first: which are wrong, which events are missed, the best score.
_WRONG, _LOST, _SCORE = 0.9, 0.8, 0.7
_FITS = {"law": "the law", "threshold": "the threshold", "logistic": "the logistic curve"}
_SCORES = {"event_f1": "event-based F1", "time_f1": "F1 of time", "accuracy": "accuracy of time"}
Said = Iterator[tuple[float, str, str]]


def ranked(audit: Audit) -> tuple[Finding, ...]:
    """Every finding: what the owner asks first, then the others, the heaviest first."""
    findings: list[Finding] = []
    for topic in (_wrong, _lost, _ceiling, _criterion, _people, _curve, _rules, _agreement, _votes, _effort, _strong,
                  _detectors):  # fmt: skip
        findings += [Finding(weight, name, text) for weight, name, text in topic(audit)]
    findings += [Finding(0.02, "note", f"{note[0].upper()}{note[1:]}.") for note in audit.notes]
    return tuple(sorted(findings, key=lambda finding: -finding.weight))


def _detectors(audit: Audit) -> Said:
    """Which detector explains the answers best."""
    for label, rows in () if audit.detectors is None else audit.detectors.groupby("label", sort=False):
        best, *others = rows.to_dict("records")
        wrong = ", ".join(f"{row['detector']} {row['wrong_per_minute']:.2g}" for row in (best, *others))
        text = f"{best['detector']} tells {_bits(best, 'bits_per_clip')} about the answers"
        if others:
            word = "explains the answers better than" if best["better"] else "is ahead, no more than chance allows, of"
            text = f"{best['detector']} {word} {others[0]['detector']}, by {_bits(others[0], 'behind')}"
        yield 0.6, "detectors", f"{safe_label(label)}: {text}; expected wrong seconds per minute: {wrong}."


def _bits(row: dict[Any, Any], word: str) -> str:
    low, high = row[f"{word}_low"], row[f"{word}_high"]
    return f"{row[word]:.2g} bits per clip" + (f" ({low:.2g} to {high:.2g})" if low == low else "")


def metric_words(metric: str) -> str:
    """A score of the ceiling as people call it."""
    width = metric.removeprefix("segment_f1_").removesuffix("s")
    return _SCORES.get(metric, f"segment-based F1 ({width} s)")


def _by_number(n: float, one: str, many: str) -> str:
    return one if n == 1 else many


def _worst(table: Any, above: str, below: str) -> str:
    """The class where the share is largest, among classes with enough to count."""
    rows = table[(table["label"] != "all") & (table[below] >= 5)]
    if len(rows) < 2 or not round(rows[above].max()):  # those that there are lie in classes with too few
        return "."
    worst = rows.loc[(rows[above] / rows[below]).idxmax()]
    where = "in" if round(table.loc[table["label"] != "all", above].sum()) == 1 else "most in"
    return f"; {where} {safe_label(worst['label'])} ({round(worst[above]):,} of {int(worst[below]):,})."


def scored(audit: Audit) -> tuple[Any, Any]:
    """The table of quality with the counts of wrong labels and lost events, and its row of all classes."""
    if audit.quality is None or audit.quality.table.empty:
        return None, None
    table: Any = audit.quality.table
    lost = (1 - table["event_recall"]) * table["n_events"]
    table = table.assign(n_wrong=table["n_phantom"] + table["n_missed"], n_lost=lost)
    return table, table[table["label"] == "all"].iloc[0]


def _wrong(audit: Audit) -> Said:
    """How many labels are wrong."""
    table, total = scored(audit)
    if table is None:
        return
    labels, present, meets = (int(total[name]) for name in ("n_queries", "n_present", "n_overlapping"))
    wrong, phantom, missed = (int(total[name]) for name in ("n_wrong", "n_phantom", "n_missed"))
    text = f"None of {labels:,} labels is wrong."
    if wrong:
        text = f"{wrong:,} of {labels:,} labels ({percent(wrong / labels)}) {_by_number(wrong, 'is', 'are')} wrong "
        text += "(present without an event, or absent on one)"
        text += _worst(table, "n_wrong", "n_queries")
    yield 1.0, "wrong", text
    if phantom:
        text = f"{phantom:,} of {present:,} present labels ({percent(phantom / present)}) "
        text += _by_number(phantom, "has no event under it", "have no event under them")
        yield _WRONG + 0.09 * phantom / present, "phantom", text + _worst(table, "n_phantom", "n_present")
    holding = f"of {meets:,} segments that hold an event"
    if missed:
        text = f"{missed:,} {holding} ({percent(missed / meets)}) {_by_number(missed, 'is', 'are')} labelled absent"
        yield _WRONG + 0.09 * missed / meets, "missed", text + _worst(table, "n_missed", "n_overlapping")
    for name, one, many in (
        ("n_tied", "has as many votes for as against", "have as many votes for as against"),
        ("n_unsure", "got only unsure answers", "got only unsure answers"),
    ):
        if meets and total[name]:
            share, n = total[name] / meets, int(total[name])
            text = f"{n:,} {holding} ({percent(share)}) {_by_number(n, one, many)}: neither found nor missed."
            yield 0.7 * share, name[2:], text
    orphans = audit.settings.get("n_orphans", 0)
    if orphans:
        most, now = (phantom + orphans) / (present + orphans), phantom / max(present, 1)
        text = f"{counted(orphans, 'present label')} {_by_number(orphans, 'lies', 'lie')} in recordings that the "
        text += f"strong annotations do not name, and {_by_number(orphans, 'is', 'are')} left out. If those were "
        text += "examined and found empty, "
        text += f"{percent(most)} of the present labels have no event under them, instead of {percent(now)}. "
        yield _WRONG - 0.01, "examined", text + "A list of the examined recordings (--examined) settles it."
    if present and np.isfinite(total["precision"]):
        text = f"Of the time labelled present, {percent(total['precision'])} is event time. In the segments that meet "
        text += f"an event, {percent(total['overlap_accuracy'])} of the time has the right label."
        yield 0.7 * (1 - total["precision"]), "precision", text


def _lost(audit: Audit) -> Said:
    """Which events no present label covers."""
    table, total = scored(audit)
    if table is None or not np.isfinite(total["event_recall"]):
        return
    share, lost, n = total["asked_share"], round(total["n_lost"]), int(total["n_events"])
    asked = "" if share > 1 - 1e-9 else f" that were asked about ({percent(share)} of all)"
    text = f"{n:,} events{asked}" if n > 1 else f"event{asked}"
    if total["event_recall"] > 1 - 1e-9:
        text = f"{'All ' if n > 1 else 'The '}{text} {_by_number(n, 'lies', 'lie')} under a present label."
        yield _LOST, "event recall", text
        return
    text = f"{lost:,} of {counted(n, 'event')}{asked} {_by_number(lost, 'is', 'are')} missed "
    text += f"({percent(1 - total['event_recall'])}). No present label covers {_by_number(lost, 'it', 'them')}"
    yield _LOST + 0.09 * (1 - total["event_recall"]), "event recall", text + _worst(table, "n_lost", "n_events")


def _ceiling(audit: Audit) -> Said:
    """What a perfect model would score."""
    if audit.ceiling is None:
        return
    table = audit.ceiling.table
    total = table[table["label"] == "all"].set_index("metric")["perfect"]
    segment = [name for name in total.index if name.startswith("segment_f1")]
    if not segment or not np.isfinite(total[segment[0]]):
        return
    *scores, last = (f"{total[name]:.3f} {metric_words(name)}" for name in (*segment, "event_f1", "accuracy"))
    text = f"A perfect model scores {', '.join(scores)} and {last} on these labels. One that repeats their errors "
    text += "scores 1: a score above the perfect model's rewards errors, not better events."
    yield _SCORE + 0.09 * (1 - float(total[segment[0]])), "ceiling", text


def _law(row: Any) -> str:
    """A fitted law in words: what decides, how sure that is, and how people slip."""
    of, within = ("an event", "of it is in the segment") if row["scale"] == "event" else ("a segment", "of it is event")
    low, high = (100 * row[f"presence_criterion_{end}"] for end in ("low", "high"))
    text = f"{of} is called present once {percent(row['presence_criterion'])} ({low:.0f} to {high:.0f} %) {within} "
    text += "on average"
    more = []
    if row["spread"] >= 0:
        varies = f"varies by {percent(row['spread'])} from answer to answer" if row["spread"] > 0 else "is one for all"
        more = [f"the criterion {varies}"]
    for name, noun in (("guess_rate", "guesses"), ("lapse_rate", "lapses")):
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        if np.isfinite(high):
            more.append(f"{noun} are {percent(row[name])}" if low > 0 else f"{noun} are at most {percent(high)}")
    details = ", ".join(more)
    return f"{text}. {details[0].upper()}{details[1:]} ({row['n']:,} answers, 95 % intervals)" if more else text


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


def _criterion(audit: Audit) -> Said:
    table: Any = audit.headline
    every: Any = audit.criteria
    if table.empty:
        return
    classes = table[table["label"] != "all"]
    known = classes[classes["identifiable"]].sort_values("n", ascending=False)
    whole = table[(table["label"] == "all") & table["identifiable"]]
    instead = elsewhere(audit)
    if instead is not None:
        text = f"{instead[0][0].upper()}{instead[0][1:]}. This explains the labels better than any share of an event "
        yield 0.3, "criterion", text + f"(AIC lower by {instead[1]:,.0f}): gamma, the share, did not decide."
    doubt = "" if audit.fit is None or audit.fit.is_good else f". But {audit.fit.sentence}"
    for row in (whole if len(whole) else known.head(3)).to_dict("records"):
        worse = "" if instead is None else " As a share of the event it fits worse."
        yield 0.3 if instead is None else 0.04, "criterion", f"{_who(row['label'])}: {_law(row)}{doubt}.{worse}"
    if audit.fit is not None and audit.fit.is_good:
        yield 0.06, "fit", f"{audit.fit.sentence[0].upper()}{audit.fit.sentence[1:]} by a posterior predictive check."
    if len(whole) and len(known) > 1:
        ends = [known.loc[at] for at in (known["presence_criterion"].idxmin(), known["presence_criterion"].idxmax())]
        low, high = (percent(row["presence_criterion"]) for row in ends)
        if low != high:
            low, high = (f"{share} ({safe_label(row['label'])})" for share, row in zip((low, high), ends))
            text = f"From class to class the mean criterion goes from {low} to {high} of the event."
            yield 0.2 if instead is None else 0.04, "classes", text
    for label in whole["label"] if len(whole) else known.head(1)["label"]:
        fits = every[(every["label"] == label) & (every["annotator"] == "") & every["aic"].notna()]
        fits = fits[fits["scale"] == "event"].sort_values("aic")
        if len(fits) > 1:
            (best, next_), margin = fits["method"].iloc[:2], fits["aic"].iloc[1] - fits["aic"].iloc[0]
            words = f"{_FITS[best]} fits best (AIC lower by {margin:,.0f} than the next)"
            if margin <= 2:
                words = f"{_FITS[best]} and {_FITS[next_]} fit equally well (AIC within {margin:.1f})"
            yield 0.06, "fit", f"{_who(label)}: of a law, one threshold and a logistic curve, {words}."
    silent = classes[~classes["identifiable"]]
    if len(silent):
        reasons = silent["reason"].str.partition(" (")[0] if len(silent) > 1 else silent["reason"]  # numbers: of one
        silent = silent[reasons == (reason := reasons.mode().iloc[0])]
        n = len(silent)
        some = f"{'any' if n == len(classes) else f'{n}'} of {len(classes)} classes"
        which = some if n > 1 else safe_label(silent["label"].iloc[0])
        text = f"The presence criterion of {which} cannot be known from these labels. {reason[0].upper()}{reason[1:]}."
        if silent["reason"].str.endswith("presence ends").any():  # not where every class was asked about
            text += " If unlisted classes were looked for, say so (--unlisted absent), and they count as answers."
        yield 0.25, "criterion", text


def _who(label: str) -> str:
    return "All classes together" if label == "all" else safe_label(label)


def _people(audit: Audit) -> Said:
    """The class whose annotators differ most in sensitivity, beyond their intervals."""
    every: Any = audit.criteria
    apart = []
    for label, rows in every[(every["annotator"] != "") & every["identifiable"].astype(bool)].groupby("label"):
        low, high = (rows.loc[at] for at in (rows["presence_criterion"].idxmin(), rows["presence_criterion"].idxmax()))
        if low["presence_criterion_high"] < high["presence_criterion_low"]:
            apart.append((high["presence_criterion"] - low["presence_criterion"], label, low, high))
    if apart:
        gap, label, *ends = max(apart, key=lambda each: float(each[0]))
        low, high = (f"{row['presence_criterion']:.2f} ({safe_label(row['annotator'])})" for row in ends)
        text = f"{safe_label(label)}: annotators differ in sensitivity, from {low} to {high}"
        text += f"; less so in {counted(len(apart) - 1, 'other class')}" if len(apart) > 1 else ""
        yield 0.7 * min(1.0, float(gap)), "annotators", text + "."


def _range(row: Any) -> str:
    """Seconds from the least to the most in a bin."""
    low, high = (f"{x:.0f}" if x >= 10 else f"{x:.2g}" for x in (row["low"], row["high"]))
    return f"{low} s" if low == high else f"{low} to {high} s"


def _curve(audit: Audit) -> Said:
    table: Any = audit.curves
    label = "all" if (table["label"] == "all").any() else table["label"].iloc[0] if len(table) else ""
    rows = table[(table["label"] == label) & (table["scale"] == "event_seconds")]
    rows = rows[rows["middle"] > 0] if len(rows) else rows
    if len(rows) > 1:
        low, high = rows.iloc[0], rows.iloc[-1]
        first, last = (100 * low[name] for name in ("present_low", "present_high"))
        text = "Segments" if label == "all" else f"{safe_label(label)}: segments"
        text += f" with {_range(low)} of event are labelled present in {percent(low['present'])} of the cases "
        text += f"({first:.0f} to {last:.0f} %). Of those with {_range(high)} it is {percent(high['present'])}."
        # That more of an event is noticed more often surprises nobody: other findings come first.
        yield 0.25 * float(np.clip(high["present"] - low["present"], 0.24, 1)), "detection", text


def _rules(audit: Audit) -> Said:
    table: Any = audit.rules
    if len(table) == 0 or np.isnan(table["present_if_met"].iloc[0] + table["present_if_not"].iloc[0]):
        return  # or every segment satisfies the best, or none
    best = table.iloc[0]
    like = table[table["aic"] <= best["aic"] + 2]["rule"].tolist()[1:]
    if not explains(best):
        text = f"No clip rule in use explains these labels. The likeliest is {best['rule']} "
        text += f"({rule_words(best['rule'])}): of the segments that satisfy it {percent(best['present_if_met'])} are "
        yield 0.05, "rule", text + f"labelled present, of the others {percent(best['present_if_not'])}."
        return
    tools = f" (the rule of {best['tools']})" if best["tools"] else ""
    text = f"Of the clip rules in use, {best['rule']}{tools} "
    text += f"is one of {len(like) + 1} that explain" if like else "explains"
    text += f" these labels best. A segment is present once {rule_words(best['rule'])}. "
    text += f"This agrees with {percent(best['agreement'])} of {best['n']:,} labels."
    yield 0.05, "rule", f"{text} These labels do not tell it from {', '.join(like)}." if like else text


def _votes(audit: Audit) -> Said:
    if audit.votes is None or audit.aggregated is None:
        return
    mean: Any = audit.votes.groupby("votes")[["majority_accuracy", "weighted_accuracy", "gain"]].mean()
    now = int(min(max(round(float(np.median(audit.aggregated.labels["n_answers"]))), 1), len(mean) - 1))
    here, gain = mean.loc[now], mean["gain"].loc[now + 1]
    text = f"With {counted(now, 'vote')} per segment, as here, the majority is right in "
    text += f"{percent(here['majority_accuracy'])} of the labels and weighted votes in "
    text += f"{percent(here['weighted_accuracy'])}. One more vote adds {points(max(gain, 0.0))}"
    if gain > 5e-4:
        spent = "" if audit.effort is None else f" ({audit.effort.seconds_per_query / gain:,.0f} s of work)"
        text += f", that is one label corrected per {counted(round(1 / gain), 'vote')}{spent}"
    yield 0.12, "votes", text + ", if annotators err independently."


def _agreement(audit: Audit) -> Said:
    for result in (audit.agreement, audit.annotation_agreement):
        if result is None or result.by_label.empty:
            continue
        rows: Any = result.by_label.dropna(subset=["alpha"]).sort_values("alpha")
        if rows.empty and (result.by_label["units"] == 0).all():
            text = "Several annotators are named, but no two of them examined the same recording: agreement is unknown."
            yield 0.05, "agreement", text
        if len(rows) > 3:  # a sentence for all, and the class with most to settle
            few = int((rows["alpha"] < 0.667).sum())
            text = f"Annotators agree poorly (Krippendorff's alpha below 0.667) in {few} of {len(rows)} classes. "
            low, high = (f"{_two(row.alpha)} ({safe_label(row.label)})" for row in rows.iloc[[0, -1]].itertuples())
            yield 0.69 * few / len(rows), "agreement", f"{text}Alpha goes from {low} to {high}."
            rows = rows.loc[[rows["split" if result.unit == "clips" else "units"].idxmax()]]
        for row in rows.itertuples():
            how = "well" if row.alpha >= 0.8 else "moderately" if row.alpha >= 0.667 else "poorly"
            text = f"{safe_label(row.label)}: {row.n_annotators} annotators agree {how} (Krippendorff's alpha "
            if result.unit == "clips":
                text += f"{_two(row.alpha)}). Of the clips, {row.unanimous_present:,} are unanimously present, "
                text += f"{row.unanimous - row.unanimous_present:,} unanimously absent and {row.split:,} split."
            else:
                text += f"{_two(row.alpha)}; {row.units:,.0f} s examined by several)."
                if result.assumed and row.alpha_if_all != row.alpha_if_marked:
                    text += f" This assumes that {result.assumed}: alpha is {_two(row.alpha_if_all)} if everybody "
                    text += f"examined all, {_two(row.alpha_if_marked)} if only recordings with their mark."
            yield float(np.clip(0.69 * (1 - row.alpha), 0.05, 0.69)), "agreement", text


def _two(x: float) -> str:
    """Two decimals, without a minus before nothing."""
    return f"{round(x, 2) + 0.0:.2f}"


def _effort(audit: Audit) -> Said:
    spent = audit.effort
    if spent is not None:
        text = f"A query takes {spent.seconds_per_query:.3g} s"
        if spent.idle_share > 0:
            idle = f"{percent(spent.idle_share)} of the queries look idle ({spent.idle_seconds:,.0f} s)"
            text += f"; {idle} and are left out"
        if np.isfinite(spent.query_cost_share):
            text += f". The cost share of a query is r = {spent.query_cost_share:.2f} ({spent.note})"
        yield 0.1, "effort", text + "."


def _strong(audit: Audit) -> Said:
    if audit.strong is None:
        return
    table, heard = audit.strong, counted(audit.settings["n_recordings"], "recording")
    if table.empty:
        yield 0.03, "strong", f"The strong annotations hold no event in {heard}."
        return
    kinds, empty = counted(len(table), "class"), audit.settings["n_empty"]
    text = f"The strong annotations hold {counted(int(table['n_events'].sum()), 'event')} of {kinds} in {heard}"
    yield 0.03, "strong", text + (f", {empty:,} of which hold no event." if empty else ".")
    if audit.quality is None:
        most: Any = table.iloc[int(table["n_events"].to_numpy().argmax())]
        which = ", the commonest class" if len(table) > 1 else ""
        text = f"{safe_label(most['label'])}{which}: events last {most['mean_length']:.3g} s on average (half of them "
        text += f"less than {most['median_length']:.3g} s). They cover {percent(most['coverage'])} of a recording "
        yield 0.025, "lengths", text + "that holds one."
