"""`weakly label`: the page that plays segments and takes answers by key."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import typer

from ..base.errors import InvalidInput, optional
from .common import command, option, say, wrote
from .queries import is_given, matching

_HELP = """Hear or see a segment, press a key: label recordings in the browser, alone or in a team; measure people.

The page plays one segment after the other and keeps every answer in DIR/campaign.db at once: stop when you like, run
the same command again (or weakly label DIR), and it continues where it was. The owner's button, or --export, writes
strong and weak labels, answers and the audit into DIR/labels. The link that opens holds a token, without which nobody
is answered; --annotators gives everybody a link. Recordings are played from the folders that you name, and no others.

Examples:

  weakly label recordings/ --label owl

  weakly label recordings/ --label owl --target 'wrong_time<=1'

  weakly label recordings/ --label owl --segment-length 3

  weakly label recordings/ --label owl,fox,rain --together --segment-length 3

  weakly label recordings/ --label owl --mark --minutes 30

  weakly label recordings/ --plan plan/plan.json --choice best

  weakly label recordings/ --label owl --segment-length 3 --annotators ana,ben --votes 2 --host 0.0.0.0

  weakly label recordings/ --label owl --method bisection --segment-length 0.8 --event-length 1.2

  weakly label owls/ --label owl --segment-length 3 --event-length 1 --repeats 0.1 --target 'event_recall>=0.9'

  weakly label --measure --annotators ana,ben

  weakly label tasks/ recordings/

  weakly label tasks/ --export
"""
_DATABASE = "Another store, postgresql://...; the folder remembers it but for the password (PGPASSWORD, ~/.pgpass)."
#: What a campaign remembers, so that its folder alone goes on with it.
_KEPT: dict[str, Any] = {
    "annotator": str, "annotators": str, "votes": int, "in_order": bool, "event_length": str,
    "event_rate": (int, float), "presence_criterion": (int, float), "target": str, "events": str,
    "repeats": (int, float), "instructions": str, "samples": str, "together": bool, "minutes": (int, float),
}  # fmt: skip
#: Options that are settings of the campaign.
_SETTINGS = (
    *("method", "segment_length", "hop", "queries_per_recording", "shortest"),
    *("sample_rate", "features", "scores", "feature_hop"),
)
_PATHS = ("events", "samples")
PAGE = 30.0  # seconds that are marked at a time
MOST_INSTRUCTIONS = 50_000


@command(
    "label",
    _HELP,
    leaving="",
    panels={
        "What is asked": "name method plan choice segment_length hop queries_per_recording shortest repeats together "
        "in_order mark minutes measure items events",
        "What is known": "event_length event_rate presence_criterion features scores feature_hop sample_rate",
        "Who answers": "annotator annotators votes instructions samples",
        "When to stop": "target",
        "The campaign and its server": "out database export new_tokens withdraw host port browser names",
    },
)
def label(
    context: typer.Context,
    recordings: list[Path] = typer.Argument(
        None, metavar="RECORDINGS", help="Audio files or folders, after a campaign's folder or without."
    ),
    name: str = option("The class that is asked for; several: dog,cat.", "event", "--label"),
    method: str = option(
        "information (asks what tells most; the default without --segment-length), fixed, windows (overlapping), "
        "change-point (for clean recordings only) or bisection."
    ),
    plan: Path = option("plan.json of weakly plan --out: its method, lengths and label.", metavar="FILE"),
    choice: str = option("Of the plan: plain, best or yours; else the recommended one."),
    segment_length: float = option("Seconds."),
    hop: float = option("Seconds from window to window (windows)."),
    queries_per_recording: int = option("Segments of each recording."),
    shortest: float = option("Seconds; information (else 0.1) and change points (else 0.3) ask no shorter."),
    features: Path = option("Information: a folder with embeddings, one npy, npz or parquet each."),
    scores: Path = option("Information: a detector's scores as evidence, a table of frames, .npy files or a folder."),
    feature_hop: float = option("Seconds per row, where these files hold no times."),
    sample_rate: float = option("Of signals in npy or CSV files."),
    events: Path = option("Known events, for --measure and for the audit of --export; any format weakly reads."),
    repeats: float = option("Ask this share again, unannounced, to measure how often you slip.", 0.0, min=0.0, max=0.5),
    mark: bool = option(
        "Mark where events begin and end, page by page (--segment-length, else 30 s).", False, "--mark"
    ),
    minutes: float = option("After this many minutes of work, say that you may stop: a pilot.", min=0.1),
    together: bool = option("Ask about all classes of a segment at once: tick what is there.", False, "--together"),
    in_order: bool = option("Ask in the order of time instead of at random.", False, "--in-order"),
    measure: bool = option(
        "Measure how much of an event you need, and nothing else: five minutes.", False, "--measure"
    ),
    items: int = option("How many segments --measure asks about.", 50, min=10, max=500),
    annotator: str = option("Your name, where you work alone.", "annotator"),
    annotators: str = option("A team: ana,ben. Each gets a link with a token."),
    votes: int = option("How many of the team answer each segment.", 1, min=1),
    event_length: str = option("Seconds, or a law (lognorm:s=0.5,scale=1): shows how good the labels are."),
    event_rate: float = option("Events per second; by default estimated from the answers."),
    presence_criterion: float = option("Share of an event that you need to notice it, where you know; else 0.5."),
    target: str = option(
        "When to stop: wrong_time<=1 (seconds per recording), event_recall>=0.9 (with --repeats); or a budget: "
        "n_queries<=300, minutes<=30, listened<=900."
    ),
    instructions: Path = option("A text for annotators (Markdown), shown beside every question.", metavar="FILE"),
    samples: Path = option("Sample sounds for annotators: FOLDER/CLASS/any.wav.", metavar="FOLDER"),
    out: Path = option("The campaign's folder.", Path("campaign"), metavar="DIR"),
    database: str = option(_DATABASE, metavar="URL"),
    export: bool = option("Write labels and answers, and end.", False, "--export"),
    new_tokens: bool = option("Give everybody a new link; the old ones end.", False, "--new-tokens"),
    withdraw: str = option("End this annotator's link, at once.", metavar="NAME"),
    host: str = option("Address to listen on; others need --annotators.", "127.0.0.1"),
    port: int = option("Port to listen on; 0 takes any free one.", 8765, min=0, max=65535),
    browser: bool = option("Open the page in a browser.", True, "--open/--no-open"),
    names: list[str] = option("A further name by which the server may be called.", [], "--allow-host", metavar="NAME"),
) -> None:
    """Parse, call, serve."""
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
    if isinstance(told.instructions, Path):  # the text is kept, and no path, which somebody else could have set
        told.instructions = _text(told.instructions)
    common: dict[str, Any] = {
        "out": out, "database": database, "events": None if told.events is None else read(told.events),
        "annotators": [told.annotator] if told.annotators is None else told.annotators.split(","),
        "team": told.annotators is not None,
    }  # fmt: skip
    if measure:
        made = open_measurement(given, label=name, segment_length=segment_length, n_items=items,
                                sample_rate=sample_rate, **common)  # fmt: skip
    elif not given:
        raise InvalidInput("give recordings: audio files or folders, or a campaign's folder; or --measure")
    else:
        if sys.stderr.isatty():
            print("weakly: preparing the first questions; the first time this takes a moment", file=sys.stderr)
        shown = {"instructions": told.instructions or "", "samples": told.samples,
                 "places": [samples] if is_given(context, "samples") else []}  # fmt: skip
        made = _opened(given, told, {**common, **shown, "plays": not export})
    with made.session.store.or_nothing():
        if not measure:
            kept = {word: getattr(told, word) for word in _KEPT}
            kept |= {word: (path := getattr(told, word)) and str(path.resolve()) for word in _PATHS}
            made.session.store.setting("label", kept, anew=True)
        if export:
            wrote(*made.export())
        else:
            serve(made, host=host, port=port, open_browser=browser, names=names, new_tokens=new_tokens)


def _remembered(context: typer.Context, folder: Path) -> dict[str, Any]:
    """What the campaign of this folder was labelled with, but for what is said anew; other settings are refused."""
    from ..studies.queries.campaign import Campaign
    from ..studies.queries.store import shortened

    campaign = Campaign.open(folder, database=context.params["database"])
    said = {word: value for word, value in context.params.items() if is_given(context, word)}
    asked = {word: said[word] for word in _SETTINGS if word in said}
    campaign.check(asked | ({"label": _labels(said["name"])} if "name" in said else {}))
    held = campaign.store.setting("label", {}).items()
    kept = {word: value for word, value in held if word not in said}
    for word, value in kept.items():
        if word not in _KEPT or not isinstance(value, (_KEPT[word], type(context.params[word]))):
            raise InvalidInput(
                f"{folder}: remembers {word} {shortened(value)}: damaged? say --{word.replace('_', '-')}"
            )
    return kept | {word: Path(kept[word]) for word in _PATHS if kept.get(word) is not None}


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"instructions: {path} cannot be read as text ({error})") from error
    if len(text) > MOST_INSTRUCTIONS:
        raise InvalidInput(f"instructions: {path} has {len(text)} signs; annotators read at most {MOST_INSTRUCTIONS}")
    return text


def _opened(given: list[Path], told: SimpleNamespace, common: dict[str, Any]) -> Any:
    """The campaign; without a length or a method, what tells most is asked."""
    from ..apps.label.launch import open_campaign
    from ..apps.label.live import targets
    from ..model.lengths import Lengths

    goals = targets(told.target)
    if told.minutes is not None:
        goals += targets(f"minutes<={told.minutes:g}")
    if told.mark:
        if told.method not in (None, "by_hand"):
            raise InvalidInput(f"mark is the method by_hand: leave out --method {told.method}")
        told.method, told.segment_length = "by_hand", PAGE if told.segment_length is None else told.segment_length
    plain = "windows" if told.hop is not None else "fixed"
    lengthless = told.segment_length is None and told.queries_per_recording is None
    method = told.method or ("information" if lengthless else plain)
    how = {word: getattr(told, word) for word in _SETTINGS} | {"method": method}
    if told.shortest is None:
        how["shortest"] = 0.1 if method == "information" else 0.3
    if method == "information":
        known = {word: getattr(told, word) for word in ("event_length", "event_rate", "presence_criterion")}
        how |= {word: value for word, value in known.items() if value is not None}
    if told.plan is not None:
        from ..studies.queries.query_set import from_plan

        chosen = from_plan(told.plan, told.choice)
        if chosen["method"] == "screening":
            raise InvalidInput(
                f"choice {chosen['role']!r} of the plan is {chosen['name']}: screen with --method fixed, then --mark"
            )
        if (told.method is not None or not lengthless) and not told.mark:
            raise InvalidInput("the plan says the method and its lengths: give --plan or these, not both")
        if chosen["method"] == "by_hand":
            how |= {"method": "by_hand", "segment_length": told.segment_length or PAGE}
        elif told.mark:
            raise InvalidInput(f"choice {chosen['role']!r} of the plan is {chosen['name']}, and --mark marks by hand")
        else:
            how = {"plan": told.plan, "choice": told.choice, "sample_rate": told.sample_rate}
        told.name = told.name if told.name != "event" else chosen["label"] or "event"
    live = {
        "lengths": None if told.event_length is None else Lengths.parse(told.event_length),
        "event_rate": told.event_rate, "goals": goals,
        "presence_criterion": 0.5 if told.presence_criterion is None else told.presence_criterion,
    }  # fmt: skip
    label = _labels(told.name) if isinstance(told.name, str) else told.name
    same = {word: getattr(told, word) for word in ("votes", "repeats", "in_order", "together")}
    return open_campaign(given, label=label, live=live, **same, **common, **how)


def _labels(name: str) -> Any:
    return [word.strip() for word in name.split(",")] if "," in name else name
