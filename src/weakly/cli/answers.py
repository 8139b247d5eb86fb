"""`weakly answers`: what the tool sent back -> labels, seconds per query, the criterion of each annotator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from . import app
from .common import JSON, print_json, print_table, say, wrote

_HELP = """Read answers back from Label Studio, Raven, Audacity or a table, by query id, and make labels of them.

Partial, double, contradictory and unknown answers are counted and named. Answers are kept in the campaign's folder
(campaign.db, and answers.csv to read), so they can come in pieces and from several people at once; running the command
twice changes nothing.

Examples:

  weakly answers export.json --queries tasks/queries.csv --out labels/

  weakly answers export.json --queries tasks/queries.csv --strong strong.tsv --json
"""
_EXPORTS = typer.Argument(..., metavar="EXPORT...", help="Files or folders that the tool exported.")
_QUERIES = typer.Option(..., "--queries", help="The campaign: its folder, or queries.csv in it.")
_STRONG = typer.Option(None, "--strong", help="Strong labels of the same recordings: the criterion from them.")
_OUT = typer.Option(None, "--out", metavar="DIR", help="Where the labels go: DCASE, Raven, Audacity.")


@app.command("answers", help=_HELP)
def answers(
    exports: list[Path] = _EXPORTS,
    queries: Path = _QUERIES,
    strong: Path = _STRONG,
    out: Path = _OUT,
    json: bool = JSON,
) -> None:
    """Parse, call, print."""
    from ..adaptive.campaign import Campaign

    campaign = Campaign.open(queries)
    found = campaign.take(exports)
    result: dict[str, Any] = {**found.to_dict(), "presence_criterion": _criteria(found, strong)}
    following = campaign.next_round(found)
    result["n_next"] = following
    events = campaign.labels(found)
    result["n_events"] = len(events)
    if out is not None:
        wrote(*campaign.write_labels(events, found, out))
    if json:
        print_json(result)
        return
    _say(result)


def _criteria(found: Any, strong: Path | None) -> list[dict[str, Any]]:
    """The presence criterion of every annotator: from calibration items, and from strong labels."""
    rows = []
    items = found.calibration()
    for who, part in items.groupby("annotator"):
        rows.append(_row(who, "calibration", part))
    if strong is not None:
        from ..auditing import pair
        from ..formats import read

        both = pair(read(strong), found.answers)
        for label in both.labels:
            for who, part in both.observed(label, unlisted="unknown").groupby("annotator"):
                rows.append(_row(who, f"strong labels of {label}", part))
    return rows


def _row(who: Any, source: str, part: Any) -> dict[str, Any]:
    from ..auditing import estimate_criterion

    estimate = estimate_criterion(part["event_fraction"].to_numpy(), present=part["present"].to_numpy())
    return {
        "annotator": who,
        "from": source,
        "presence_criterion": estimate.presence_criterion,
        "presence_criterion_ci": estimate.presence_criterion_ci,
        "n": estimate.n,
        "note": estimate.reason,
    }


def _say(result: dict[str, Any]) -> None:
    say(
        f"{result['n_answered']} of {result['n_queries']} queries answered: {result['n_present']} present, "
        f"{result['n_absent']} absent, {result['n_unsure']} unsure; {result['n_events']} events"
    )
    for word, what in (
        ("duplicates", "answered twice by the same person"),
        ("contradictions", "with answers that differ"),
        ("unknown", "about no query of this campaign"),
        ("unreadable", "that are no answer"),
    ):
        if result[f"n_{word}"]:
            first = ", ".join(str(item) for item in result[word][:3])
            say(f"{result[f'n_{word}']} {what}: {first}{', ...' if result[f'n_{word}'] > 3 else ''}")
    pace = result["seconds_per_query"]
    if pace["n"]:
        say(
            f"{pace['median']:.1f} s per query (median), {pace['winsorised']:.1f} s without breaks, "
            f"{pace['mean']:.1f} s by the tool's clock ({pace['n_idle']} breaks)"
        )
    if result["presence_criterion"]:
        import pandas as pd

        print_table(pd.DataFrame(result["presence_criterion"]), title="presence criterion")
    if result["n_next"]:
        say(f"the method asks {result['n_next']} more queries next: weakly queries --resume DIR")
