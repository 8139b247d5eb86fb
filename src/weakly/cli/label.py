"""`weakly label`: the page that plays segments and takes answers by key."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import typer

from ..base.errors import InvalidInput
from . import app
from .common import say, wrote
from .queries import is_given, matching

_HELP = """Hear a segment, press a key: label recordings in the browser, alone or in a team; measure how people hear.

The page plays one segment after the other and keeps every answer in DIR/campaign.db at once: stop when you like, run
the same command again (or weakly label DIR), and it goes on where it was. The owner's button, or --export, writes
strong and weak labels, answers and cards into DIR/labels. The link that opens holds a token, without which nobody is
answered; --annotators gives everybody a link. Recordings are played from the folders that you name, and no others.

Examples:

  weakly label recordings/ --label owl

  weakly label recordings/ --label owl --target 'wrong_time<=1'

  weakly label recordings/ --label owl --segment-length 3

  weakly label recordings/ --label owl --segment-length 3 --annotators ana,ben --votes 2 --host 0.0.0.0

  weakly label recordings/ --label owl --method bisection --segment-length 0.8 --event-length 1.2

  weakly label recordings/ --label owl --segment-length 3 --events known.tsv --calibrate 30

  weakly label owls/ --label owl --segment-length 3 --event-length 1 --target 'event_recall>=0.9,minutes<=30'

  weakly label --measure --annotators ana,ben

  weakly label tasks/ recordings/

  weakly label tasks/ --export
"""
_RECORDINGS = typer.Argument(
    None, metavar="[RECORDINGS]...", help="Audio files or folders, after a campaign's folder or without."
)
_EVENTS = typer.Option(None, "--events", help="Known events, for --calibrate and --measure; any format weakly reads.")
_OUT = typer.Option(Path("campaign"), "--out", metavar="DIR", help="The campaign's folder.")
_NAMES = typer.Option([], "--allow-host", metavar="NAME", help="A further name by which the server may be called.")
_DATABASE = "Another store, postgresql://...; the folder remembers it but for the password (PGPASSWORD, ~/.pgpass)."
#: What a campaign remembers, so that its folder alone goes on with it.
_KEPT: dict[str, Any] = {
    "annotator": str, "annotators": str, "votes": int, "in_order": bool, "event_length": str,
    "event_rate": (int, float), "presence_criterion": (int, float), "target": str, "per_second": (int, float),
    "per_query": (int, float), "currency": str, "events": str,
}  # fmt: skip


@app.command("label", help=_HELP)
def label(
    context: typer.Context,
    recordings: list[Path] = _RECORDINGS,
    name: str = typer.Option("event", "--label", help="The class that is asked for; several: dog,cat."),
    method: str = typer.Option(
        None,
        "--method",
        help="information (asks what tells most; the default without --segment-length), fixed, windows (overlapping), "
        "change-point, bisection or boundary.",
    ),
    segment_length: float = typer.Option(None, "--segment-length", help="Seconds."),
    hop: float = typer.Option(None, "--hop", help="Seconds from window to window (windows)."),
    queries_per_recording: int = typer.Option(None, "--queries-per-recording", help="Segments of each recording."),
    shortest: float = typer.Option(
        None,
        "--shortest",
        help="Seconds; information (else 0.1), change points and boundary (else 0.3) ask no shorter.",
    ),
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
    database: str = typer.Option(None, "--database", metavar="URL", help=_DATABASE),
    export: bool = typer.Option(False, "--export", help="Write labels, answers and cards, and end."),
    new_tokens: bool = typer.Option(False, "--new-tokens", help="Give everybody a new link; the old ones end."),
    withdraw: str = typer.Option(None, "--withdraw", metavar="NAME", help="End this annotator's link, at once."),
    host: str = typer.Option("127.0.0.1", "--host", help="Address to listen on; others need --annotators."),
    port: int = typer.Option(8765, "--port", min=0, max=65535, help="Port to listen on; 0 takes any free one."),
    browser: bool = typer.Option(True, "--open/--no-open", help="Open the page in a browser."),
    names: list[str] = _NAMES,
) -> None:
    """Parse, call, serve."""
    from ..base.errors import optional

    for module in ("fastapi", "uvicorn", "plotly", "python_multipart", "soundfile"):
        optional(module, extra="label")
    from ..apps.label.access import Own
    from ..apps.label.launch import open_measurement, serve
    from ..io.reading import read

    given = matching(recordings or [])
    folder = given[0] if given and (given[0] / "campaign.db").is_file() else None
    if withdraw is not None:
        Own(folder or out).withdraw(withdraw)
        say(f"the link of {withdraw} was withdrawn")
        return
    told = SimpleNamespace(**(context.params | ({} if folder is None else _remembered(context, folder))))
    common: dict[str, Any] = {
        "out": out, "database": database, "events": None if told.events is None else read(told.events),
        "annotators": [told.annotator] if told.annotators is None else told.annotators.split(","),
        "team": told.annotators is not None,
    }  # fmt: skip
    if measure:
        made = open_measurement(given, label=name, segment_length=segment_length, n_items=items, **common)
    elif not given:
        raise InvalidInput("give recordings: audio files or folders, or a campaign's folder; or --measure")
    else:
        if sys.stderr.isatty():
            print("weakly: preparing the first questions; the first time this takes a moment", file=sys.stderr)
        made = _opened(given, told, {**common, "plays": not export})
    with made.session.store.or_nothing():
        if not measure:
            kept = {word: getattr(told, word) for word in _KEPT}
            kept["events"] = told.events and str(told.events.resolve())
            made.session.store.setting("label", kept, anew=True)
        if export:
            assert made.export is not None
            wrote(*made.export())
        else:
            serve(made, host=host, port=port, open_browser=browser, names=names, new_tokens=new_tokens)


def _remembered(context: typer.Context, folder: Path) -> dict[str, Any]:
    """What the campaign of this folder was labelled with, but for what is said anew; other settings are refused."""
    from ..studies.queries.campaign import Campaign
    from ..studies.queries.store import shortened

    campaign = Campaign.open(folder, database=context.params["database"])
    said = {word: value for word, value in context.params.items() if is_given(context, word)}
    settings = ("method", "segment_length", "hop", "queries_per_recording", "shortest", "tolerance", "sample_rate")
    campaign.check({word: said[word] for word in settings if word in said} | (
        {"label": _labels(said["name"])} if "name" in said else {}
    ))  # fmt: skip
    found = {word: value for word, value in campaign.store.setting("label", {}).items() if word not in said}
    for word, value in found.items():
        if word not in _KEPT or not isinstance(value, (_KEPT[word], type(context.params[word]))):
            raise InvalidInput(
                f"{folder}: remembers {word} {shortened(value)}: damaged? say --{word.replace('_', '-')}"
            )
    if found.get("events") is not None:
        found["events"] = Path(found["events"])
    return found


def _opened(given: list[Path], told: SimpleNamespace, common: dict[str, Any]) -> Any:
    """The campaign; without a length or a method, what tells most is asked."""
    from ..apps.label.launch import open_campaign
    from ..apps.label.live import Goal
    from ..model.annotator import Annotator
    from ..model.cost import Cost
    from ..model.lengths import Lengths

    goals = Goal.parse(told.target)
    plain = "windows" if told.hop is not None else "fixed"
    lengthless = told.segment_length is None and told.queries_per_recording is None
    method = told.method or ("information" if lengthless else plain)
    how: dict[str, Any] = {
        "method": method, "segment_length": told.segment_length, "hop": told.hop,
        "queries_per_recording": told.queries_per_recording,
        "shortest": (0.1 if method == "information" else 0.3) if told.shortest is None else told.shortest,
        "tolerance": told.tolerance, "sample_rate": told.sample_rate,
    }  # fmt: skip
    if method == "information":
        known = {"event_length": told.event_length, "event_rate": told.event_rate,
                 "presence_criterion": told.presence_criterion}  # fmt: skip
        how |= {word: value for word, value in known.items() if value is not None}
    hears = 0.5 if told.presence_criterion is None else told.presence_criterion
    priced = told.per_second is not None or told.per_query is not None
    cost = Cost(per_second=told.per_second, per_query=told.per_query, currency=told.currency) if priced else None
    live = {
        "lengths": None if told.event_length is None else Lengths.parse(told.event_length),
        "event_rate": told.event_rate, "goals": goals, "cost": cost,
        "annotator": Annotator(presence_criterion=hears, guess_rate=0.02, lapse_rate=0.02),
    }  # fmt: skip
    return open_campaign(given, label=_labels(told.name), votes=told.votes, calibrate=told.calibrate or None,
                         seed=told.seed, live=live, in_order=told.in_order, **common, **how)  # fmt: skip


def _labels(name: str) -> Any:
    return [word.strip() for word in name.split(",")] if "," in name else name
