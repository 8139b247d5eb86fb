"""`weakly label`: the page that plays segments and takes answers by key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ..errors import InvalidInput
from . import app
from .common import wrote
from .queries import matching

_HELP = """Hear a segment, press a key: label recordings in the browser, alone or in a team; measure how people hear.

The page plays one segment after the other and keeps every answer in DIR/campaign.db at once: stop when you like, run
the same command again, and it goes on where it was. The owner's button, or --export, writes strong and weak labels,
answers and cards into DIR/labels. Only this machine can open the page, unless --annotators gives everybody a link.

Examples:

  weakly label recordings/ --label owl --segment-length 3

  weakly label recordings/ --label owl --segment-length 3 --annotators ana,ben --votes 2 --host 0.0.0.0

  weakly label recordings/ --label owl --method bisection --segment-length 0.8 --event-length 1.2

  weakly label recordings/ --label owl --segment-length 3 --events known.tsv --calibrate 30

  weakly label owls/ --label owl --method information --event-length 1 --event-rate 0.05 --target 'wrong_time<=1'

  weakly label owls/ --label owl --segment-length 3 --event-length 1 --target 'event_recall>=0.9,minutes<=30'

  weakly label --measure --annotators ana,ben

  weakly label tasks/ --export
"""
_RECORDINGS = typer.Argument(None, metavar="[RECORDINGS]...", help="Audio files, folders, or a campaign's folder.")
_EVENTS = typer.Option(None, "--events", help="Known events, for --calibrate and --measure; any format weakly reads.")
_OUT = typer.Option(Path("campaign"), "--out", metavar="DIR", help="The campaign's folder.")
_NAMES = typer.Option([], "--allow-host", metavar="NAME", help="A further name by which the server may be called.")


@app.command("label", help=_HELP)
def label(
    recordings: list[Path] = _RECORDINGS,
    name: str = typer.Option("event", "--label", help="The class that is asked for; several: dog,cat."),
    method: str = typer.Option(
        "fixed", "--method", help="fixed, windows (overlapping), change-point, bisection, boundary or information."
    ),
    segment_length: float = typer.Option(None, "--segment-length", help="Seconds."),
    hop: float = typer.Option(None, "--hop", help="Seconds from window to window (windows)."),
    queries_per_recording: int = typer.Option(None, "--queries-per-recording", help="Segments of each recording."),
    shortest: float = typer.Option(0.3, "--shortest", help="Seconds; change points and boundary ask nothing shorter."),
    tolerance: float = typer.Option(0.05, "--tolerance", help="Seconds; boundary search."),
    sample_rate: float = typer.Option(None, "--sample-rate", help="Of signals in npy or CSV files."),
    events: Path = _EVENTS,
    calibrate: int = typer.Option(0, "--calibrate", metavar="N", min=0, help="Mix in N pieces of known events."),
    in_order: bool = typer.Option(False, "--in-order", help="Ask in the order of time, not shuffled."),
    seed: int = typer.Option(0, "--seed", min=0, help="For the calibration items."),
    measure: bool = typer.Option(False, "--measure", help="Measure how you hear, and nothing else: five minutes."),
    items: int = typer.Option(50, "--items", min=10, max=500, help="How many segments --measure asks about."),
    annotator: str = typer.Option("annotator", "--annotator", help="Your name, where you work alone."),
    annotators: str = typer.Option(None, "--annotators", help="A team: ana,ben. Each gets a link with a token."),
    votes: int = typer.Option(1, "--votes", min=1, help="How many of the team answer each segment."),
    event_length: str = typer.Option(
        None, "--event-length", help="Seconds, or a law (lognorm:s=0.5,scale=1): shows how good the labels are."
    ),
    event_rate: float = typer.Option(None, "--event-rate", help="Events per second; left out, the answers tell."),
    presence_criterion: float = typer.Option(
        None, "--presence-criterion", help="Share of an event that you need to notice it, where you know; else 0.5."
    ),
    target: str = typer.Option(
        None,
        "--target",
        help="When to stop: wrong_time<=1 (seconds per recording), event_recall>=0.9, "
        "presence_criterion_width<=0.2; or a budget: n_queries<=300, minutes<=30, listened<=900, cost<=50.",
    ),
    per_second: float = typer.Option(None, "--per-second", help="Price of a second heard."),
    per_query: float = typer.Option(None, "--per-query", help="Price of an answer."),
    currency: str = typer.Option("EUR", "--currency", help="Of these prices; s for seconds of work."),
    out: Path = _OUT,
    database: str = typer.Option(None, "--database", metavar="URL", help="Another store, postgresql://..."),
    export: bool = typer.Option(False, "--export", help="Write labels, answers and cards, and end."),
    host: str = typer.Option("127.0.0.1", "--host", help="Address to listen on; others need --annotators."),
    port: int = typer.Option(8765, "--port", min=0, max=65535, help="Port to listen on; 0 takes any free one."),
    browser: bool = typer.Option(True, "--open/--no-open", help="Open the page in a browser."),
    names: list[str] = _NAMES,
) -> None:
    """Parse, call, serve."""
    from ..errors import optional

    for module in ("fastapi", "uvicorn", "plotly", "python_multipart", "soundfile"):
        optional(module, extra="label")
    from ..annotator import Annotator
    from ..cost import Cost
    from ..formats import read
    from ..labeler.campaign import open_campaign, open_measurement, serve
    from ..labeler.live import Goal
    from ..lengths import Lengths

    strong = None if events is None else read(events)
    team = [annotator] if annotators is None else annotators.split(",")
    common: dict[str, Any] = {
        "out": out, "database": database, "events": strong, "annotators": team, "tokens": annotators is not None,
    }  # fmt: skip
    given = matching(recordings or [])
    if measure:
        made = open_measurement(given, label=name, segment_length=segment_length, n_items=items, **common)
    elif not given:
        raise InvalidInput("give recordings: audio files or folders, or a campaign's folder; or --measure")
    else:
        goals = Goal.parse(target)
        how: dict[str, Any] = {
            "method": "overlapping" if method == "windows" else method, "segment_length": segment_length, "hop": hop,
            "queries_per_recording": queries_per_recording, "shortest": shortest, "tolerance": tolerance,
            "sample_rate": sample_rate,
        }  # fmt: skip
        if method == "information":
            wrong = [goal.value for goal in goals if goal.word == "wrong_time"]
            told = {"event_length": event_length, "event_rate": event_rate, "wrong_time": wrong[0] if wrong else None,
                    "presence_criterion": presence_criterion}  # fmt: skip
            how |= {name: value for name, value in told.items() if value is not None}
        hears = 0.5 if presence_criterion is None else presence_criterion
        priced = per_second is not None or per_query is not None
        live = {
            "lengths": None if event_length is None else Lengths.parse(event_length), "event_rate": event_rate,
            "annotator": Annotator(presence_criterion=hears, guess_rate=0.02, lapse_rate=0.02),
            "goals": goals, "learns": method == "information",
            "cost": Cost(per_second=per_second, per_query=per_query, currency=currency) if priced else None,
        }  # fmt: skip
        labels: Any = [word.strip() for word in name.split(",")] if "," in name else name
        made = open_campaign(given, label=labels, votes=votes, calibrate=calibrate or None, seed=seed, live=live,
                             in_order=in_order, **common, **how)  # fmt: skip
    if export:
        assert made.export is not None
        wrote(*made.export())
    else:
        serve(made, host=host, port=port, open_browser=browser, names=names)
