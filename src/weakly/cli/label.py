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

  weakly label --measure

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
    presence_criterion: float = typer.Option(0.5, "--presence-criterion", help="For the expected wrong time."),
    target: str = typer.Option(None, "--target", help="Such as 'wrong_time<=1': seconds per recording."),
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
    from ..formats import read
    from ..labeler.campaign import open_campaign, open_measurement, serve

    strong = None if events is None else read(events)
    common: dict[str, Any] = {"out": out, "database": database, "events": strong}
    given = matching(recordings or [])
    if measure:
        if annotators is not None:
            raise InvalidInput("--measure measures one person at a time: give --annotator, and another --out for each")
        made = open_measurement(given, label=name, annotator=annotator, segment_length=segment_length, n_items=items,
                                **common)  # fmt: skip
    elif not given:
        raise InvalidInput("give recordings: audio files or folders, or a campaign's folder; or --measure")
    else:
        team = [annotator] if annotators is None else annotators.split(",")
        how: dict[str, Any] = {
            "method": "overlapping" if method == "windows" else method, "segment_length": segment_length, "hop": hop,
            "queries_per_recording": queries_per_recording, "shortest": shortest, "tolerance": tolerance,
            "sample_rate": sample_rate,
        }  # fmt: skip
        world = _world(event_length, event_rate, presence_criterion, target)
        if method == "information":
            if world is None or target is None or event_rate is None:
                raise InvalidInput("method information needs --event-length, --event-rate and --target 'wrong_time<=1'")
            how |= {"event_length": event_length, "event_rate": event_rate, "wrong_time": world.target[1],
                    "presence_criterion": presence_criterion}  # fmt: skip
        labels: Any = [word.strip() for word in name.split(",")] if "," in name else name
        made = open_campaign(given, label=labels, annotators=team, tokens=annotators is not None, votes=votes,
                             calibrate=calibrate or None, seed=seed, world=world, in_order=in_order, **common,
                             **how)  # fmt: skip
    if export:
        assert made.export is not None
        wrote(*made.export())
    else:
        serve(made, host=host, port=port, open_browser=browser, names=names)


def _world(event_length: str | None, event_rate: float | None, criterion: float, target: str | None) -> Any:
    import re

    from ..annotator import Annotator
    from ..labeler.campaign import World
    from ..lengths import Lengths

    goal = re.fullmatch(r"\s*wrong_time\s*<=\s*([0-9.eE+-]+)\s*", target or "")
    if target is not None and goal is None:
        raise InvalidInput(f"target must be such as 'wrong_time<=1' (seconds per recording), got {target!r}")
    if event_length is None:
        if target is not None:
            raise InvalidInput("a target needs the law of event lengths: give --event-length")
        return None
    who = Annotator(presence_criterion=criterion, guess_rate=0.02, lapse_rate=0.02)
    return World(Lengths.parse(event_length), event_rate, who, goal and ("wrong_time", float(goal[1])))
