"""`weakly queries`: the segments to ask, in the format of the annotator's tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ..errors import InvalidInput
from . import app
from .common import JSON, print_json, wrote

_HELP = """Make the segments that annotators answer, fixed or adaptive, for Label Studio, Raven, Audacity or a table.

The plan (how many queries, how long) is printed before anything is written. DIR/queries.csv is the state of the
campaign: run the command again and nothing changes; run it with --resume after `weakly answers` and methods that follow
the answers ask their next round.

Examples:

  weakly queries *.wav --method change-point --queries-per-recording 20 --to labelstudio --out tasks/

  weakly queries recordings/ --method bisection --segment-length 0.8 --label dog --calibrate 20 --to csv --out tasks/
"""
_RECORDINGS = typer.Argument(None, metavar="[RECORDINGS]...", help="Audio files, folders or patterns.")
_EVENTS = typer.Option(None, "--events", help="Strong labels, for the oracle; any format that weakly reads.")
_FEATURES = typer.Option(None, "--features", help="Folder with embeddings: one npy, npz or parquet each.")
_RESUME = typer.Option(None, "--resume", metavar="DIR", help="The next round of the campaign in DIR.")
_OUT = typer.Option(None, "--out", metavar="DIR", help="Where queries.csv and the tool's files go.")


@app.command("queries", help=_HELP)
def queries(
    recordings: list[Path] = _RECORDINGS,
    method: str = typer.Option(
        "fixed", "--method", help="fixed, oracle, overlapping, change-point, bisection or boundary."
    ),
    label: str = typer.Option("event", "--label", help="The class that is asked for; several: dog,cat."),
    segment_length: float = typer.Option(None, "--segment-length", help="Seconds."),
    hop: float = typer.Option(None, "--hop", help="Seconds from window to window (overlapping)."),
    votes: int = typer.Option(None, "--votes", help="Windows that must be present for a cell (overlapping)."),
    queries_per_recording: int = typer.Option(None, "--queries-per-recording", help="Segments of each recording."),
    budget: int = typer.Option(None, "--budget", help="Segments of all recordings together."),
    batch: int = typer.Option(None, "--batch", help="Change points: recordings per round, learning in between."),
    events: Path = _EVENTS,
    features: Path = _FEATURES,
    feature_hop: float = typer.Option(None, "--feature-hop", help="Seconds per row, where the files hold no times."),
    search: str = typer.Option("peaks", "--search", help="Change points: peaks, kernel or pelt."),
    children: str = typer.Option("halves", "--children", help="Bisection: halves, overlapping or rescue."),
    events_per_recording: float = typer.Option(1.0, "--events-per-recording", help="Expected; bisection's start."),
    query_cost_share: float = typer.Option(0.5, "--query-cost-share", help="The paper's r; bisection's start."),
    tolerance: float = typer.Option(0.05, "--tolerance", help="Seconds; boundary search."),
    sample_rate: float = typer.Option(None, "--sample-rate", help="Of signals in npy or CSV files."),
    calibrate: int = typer.Option(0, "--calibrate", metavar="N", help="Mix in N items with a known event fraction."),
    seed: int = typer.Option(0, "--seed", min=0, help="For the calibration items."),
    to: str = typer.Option("csv", "--to", help="labelstudio, raven, audacity, csv or clips."),
    url_prefix: str = typer.Option(
        "/data/local-files/?d=", "--url-prefix", help="Before a recording's path in Label Studio."
    ),
    cut: bool = typer.Option(False, "--cut", help="Label Studio: cut clips, so that each task plays only its own."),
    seconds_per_answer: float = typer.Option(3.0, "--seconds-per-answer", help="Besides listening, for the estimate."),
    resume: Path = _RESUME,
    dry_run: bool = typer.Option(False, "--dry-run", help="Print the plan and write nothing."),
    out: Path = _OUT,
    json: bool = JSON,
) -> None:
    """Parse, call, print."""
    from ..adaptive import queries as make
    from ..formats import read

    options: dict[str, Any] = {
        "method": method,
        "label": [word.strip() for word in label.split(",")] if "," in label else label,
        "segment_length": segment_length,
        "hop": hop,
        "votes": votes,
        "queries_per_recording": queries_per_recording,
        "budget": budget,
        "batch": batch,
        "search": search,
        "children": children,
        "n_events": events_per_recording,
        "query_cost_share": query_cost_share,
        "tolerance": tolerance,
    }
    given: Any = recordings
    if resume is not None:
        from ..adaptive.campaign import resumed

        given, options, to = resumed(resume)
        out = out or resume
    elif not recordings:
        raise InvalidInput("give recordings: audio files or folders, or --resume DIR")
    options |= {"features": features, "feature_hop": feature_hop, "sample_rate": sample_rate}
    if events is not None:
        options["events"] = read(events)
    if out is None and not json:
        dry_run = True
    if calibrate:
        options["calibrate"] = _items(calibrate, out, segment_length, seed, dry_run)
    found = make(given if resume is not None else _matching(given), **options)
    if not json:
        _say(found, seconds_per_answer)
    if out is not None and not dry_run and found.n_queries:
        wrote(*_first(found.write(out, to=to, url_prefix=url_prefix, cut=cut, sample_rate=sample_rate)))
    if json:
        print_json({**found.to_dict(), "seconds_estimate": found.estimate(seconds_per_answer=seconds_per_answer)})


def _matching(given: list[Path]) -> list[Path]:
    """The recordings, with quoted patterns such as 'night/*.wav' spelled out."""
    from glob import glob

    found: list[Path] = []
    for path in given:
        pattern = not path.exists() and any(sign in str(path) for sign in "*?[")
        matches = sorted(map(Path, glob(str(path), recursive=True))) if pattern else [path]
        if not matches:
            raise InvalidInput(f"{path}: no recording matches this pattern")
        found += matches
    return found


def _items(count: int, out: Path | None, segment_length: float | None, seed: int, dry_run: bool) -> Any:
    from ..adaptive import design, synthetic

    if out is None or dry_run:
        raise InvalidInput("--calibrate writes synthetic recordings, so it needs --out")
    return synthetic(out / "calibration", design(count), segment_length=segment_length or 3.0, rng=seed)


def _first(paths: list[Path], most: int = 6) -> list[Path]:
    return paths if len(paths) <= most else [*paths[: most - 1], paths[-1]]


def _say(found: Any, seconds_per_answer: float) -> None:
    from ..results import counted

    recordings = found.frame["recording"].nunique()
    minutes = found.estimate(seconds_per_answer=seconds_per_answer) / 60
    if not found.n_queries:
        typer.echo("nothing to ask: every answer that the method needs is there")
        return
    turn = int(found.frame["round"].max())
    typer.echo(
        f"{found.method}, round {turn}: {counted(found.n_queries, 'query')} in {counted(recordings, 'recording')}, "
        f"{found.listened / 60:.1f} min to hear, about {minutes:.1f} min of work"
        f" ({seconds_per_answer:g} s per answer besides listening)"
    )
    items = int(found.frame["calibration"].sum())
    if items:
        from ..adaptive import design

        plan = design(items)
        typer.echo(
            f"{items} of them are calibration items: the presence criterion to +-{plan.half_width():.2f}; "
            f"+-0.05 takes {plan.items_for(0.05)}"
        )
    if found.method in ("bisection", "boundary") or found.parameters.get("batch"):
        typer.echo("the method follows the answers: this is its next round, not its last")
    if found.skipped:
        typer.echo(f"{len(found.skipped)} recordings were skipped")
