"""`weakly queries`: the segments to ask, in the format of the annotator's tool."""

from __future__ import annotations

from glob import glob
from pathlib import Path
from typing import Any

import typer

from ..base.errors import InvalidInput
from ..base.results import counted, hours, seconds
from .common import Outlet, command, numbers, option, print_json, print_table, say, wrote

_ANSWERS_HELP = """Read answers from Label Studio, Raven, Audacity or a table, by query id, and make labels of them.

Partial, double, contradictory and unknown answers are counted and named. Answers are kept in the campaign's folder
(campaign.db, and answers.csv to read), so they can come in pieces and from several people at once; running the command
twice changes nothing.

Examples:

  weakly answers export.json --queries tasks/queries.csv --out labels/

  weakly answers export.json --queries tasks/queries.csv --strong strong.tsv --json
"""
_ANSWERS_OUT = option("Where the labels go: DCASE, Raven, Audacity.", None, "--out", metavar="DIR")


@command("answers", _ANSWERS_HELP, leaving="json out", out=_ANSWERS_OUT)
def answers(
    exports: list[Path] = typer.Argument(..., metavar="EXPORT", help="Files or folders that the tool exported."),
    queries: Path = option("The campaign: its folder, or queries.csv in it.", ...),
    strong: Path = option("Strong labels of the same recordings: the criterion from them."),
    *,
    outlet: Outlet,
) -> None:
    """Take the answers and make labels of them."""
    from ..studies.queries.campaign import Campaign

    campaign = Campaign.open(queries)
    found = campaign.take(exports)
    result: dict[str, Any] = {
        **found.to_dict(),
        "presence_criterion": [] if strong is None else _criteria(found, strong),
        "slips": found.slips(),
    }
    following = campaign.next_round(found)
    result["n_next"] = following
    events = campaign.labels(found)
    result["n_events"] = len(events)
    if outlet.out is not None:
        wrote(*campaign.write_labels(events, found, outlet.out))
    (print_json if outlet.json else _say_answers)(result)


def _criteria(found: Any, strong: Path) -> list[dict[str, Any]]:
    """The presence criterion of every annotator, from strong labels."""
    from ..io.reading import read
    from ..posterior.criterion import estimate_criterion
    from ..studies.audit.observations import pair

    both, rows = pair(read(strong), found.answers), []
    for label in both.labels:
        for who, part in both.observed(label, unlisted="unknown").groupby("annotator"):
            estimate = estimate_criterion(part["event_fraction"].to_numpy(), present=part["present"].to_numpy())
            told = {n: getattr(estimate, n) for n in ("presence_criterion", "presence_criterion_ci", "n")}
            rows.append({"annotator": who, "from": f"strong labels of {label}", **told, "note": estimate.reason})
    return rows


def _say_answers(result: dict[str, Any]) -> None:
    from ..posterior.slips import slip_words

    say(
        f"{result['n_answered']} of {counted(result['n_queries'], 'query')} answered: {result['n_present']} present, "
        f"{result['n_absent']} absent, {result['n_unsure']} unsure; {counted(result['n_events'], 'event')}"
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
    for row in result["slips"]:
        who = f"{row['annotator']}: " if row["annotator"] else ""
        say(f"{who}{row['n_alike']} of {row['n_repeats']} repeated segments were answered alike: {slip_words(row)}")
    if result["n_next"]:
        say(f"the method asks {result['n_next']} more queries next: weakly queries --resume DIR")


_HELP = """Make the segments that annotators answer, fixed or adaptive, for Label Studio, Raven, Audacity or as a table.

The plan (how many queries, how long) is printed before anything is written. DIR/campaign.db holds the campaign; the
other files are exports of it. Run the command again and nothing changes: answers that were typed into the files are
kept. Run it with --resume after `weakly answers`, and methods that follow the answers ask their next round. A folder
holds one campaign: other settings are refused.

Examples:

  weakly queries *.wav --method change-point --queries-per-recording 20 --to labelstudio --out tasks/

  weakly queries recordings/ --method information --label owl --queries-per-recording 5 --out tasks/

  weakly queries recordings/ --method bisection --segment-length 0.8 --label dog --to csv --out tasks/

  weakly queries recordings/ --plan plan/plan.json --choice plain --to audacity --out tasks/

  weakly queries --resume tasks/
"""
_OUT = option("The campaign's folder, with the tool's files.", None, "--out", metavar="DIR")
_SAME = """method label segment_length hop votes start_length queries_per_recording budget batch windows
threshold shortest query_cost_share guess_rate lapse_rate features scores feature_hop sample_rate wrong_time
event_length event_rate presence_criterion signal repeats"""
#: Options of the command that are options of the campaign, and what they are called there.
_SETTINGS = {**{name: name for name in _SAME.split()}, "events_per_recording": "n_events"}


@command(
    "queries",
    _HELP,
    leaving="json out",
    out=_OUT,
    panels={
        "Fixed segments, windows and bisection": "segment_length hop votes start_length events_per_recording "
        "guess_rate lapse_rate query_cost_share",
        "Information": "batch scores wrong_time event_length event_rate presence_criterion signal",
        "Change points and signals": "features feature_hop windows threshold shortest sample_rate",
        "For the tool": "to url_prefix cut",
    },
)
def queries(
    context: typer.Context,
    recordings: list[Path] = typer.Argument(None, metavar="RECORDINGS", help="Audio files, folders or patterns."),
    method: str = option(
        "fixed, windows, bisection, by_hand, screening, change-point (clean recordings), information, oracle."
    ),
    label: str = option("The class that is asked for (event); several: dog,cat."),
    plan: Path = option("plan.json of weakly plan --out: its method and lengths.", metavar="FILE"),
    choice: str = option("Of the plan: plain, by_hand, best or yours; else the recommended one."),
    segment_length: float = option("Seconds."),
    start_length: float = option("Seconds of bisection's first segments."),
    hop: float = option("Seconds from window to window (windows)."),
    votes: int = option("Windows that must be present for a cell (windows)."),
    queries_per_recording: int = option("Segments of each recording; information: in each round."),
    budget: int = option("Segments of all recordings together."),
    batch: int = option("Information: segments of a recording in each round."),
    events: Path = option("Strong labels, for the oracle; any format weakly reads."),
    features: Path = option("Folder with embeddings: one npy, npz or parquet each."),
    scores: Path = option("Information: a detector's scores as evidence, a table of frames, .npy files or a folder."),
    feature_hop: float = option("Seconds per row, where the files hold no times."),
    windows: str = option("Change points: seconds beside a change; longer for long events.", "0.1,0.2,0.4,0.8"),
    threshold: float = option("Change points: least prominence of a peak."),
    shortest: float = option("Seconds; change points and information ask nothing shorter.", 0.3),
    events_per_recording: float = option("Expected; bisection's start.", 1.0),
    query_cost_share: float = option("The paper's r: bisection's start (0.5), information's answer (0.75)."),
    guess_rate: float = option("How often a present is wrong: bisection then asks again.", 0.0),
    lapse_rate: float = option("How often an absent is wrong; information learns both.", 0.0),
    wrong_time: float = option("Information stops here: expected wrong seconds per recording; else a tenth of events."),
    event_length: str = option("Information: seconds or a law to begin with; else learned."),
    event_rate: float = option("Information: events per second; else learned."),
    presence_criterion: float = option("Information: else learned."),
    signal: bool = option("Information: take hints from the audio.", True, "--signal/--no-signal"),
    sample_rate: float = option("Of signals in npy or CSV files."),
    repeats: float = option("Ask this share again, later on: tells how often people slip.", 0.0, min=0.0, max=0.5),
    to: str = option("labelstudio, raven, audacity, csv, clips, birdnet or zooniverse.", "csv"),
    url_prefix: str = option("Before a recording's path in Label Studio.", "/data/local-files/?d="),
    cut: bool = option(
        "Label Studio: cut clips, so that each task plays only its own; birdnet and zooniverse always do.",
        False,
        "--cut",
    ),
    seconds_per_answer: float = option("Besides hearing or viewing, for the estimate.", 3.0),
    resume: Path = option("The next round of the campaign in DIR.", metavar="DIR"),
    dry_run: bool = option("Print the plan and write nothing.", False, "--dry-run"),
    *,
    outlet: Outlet,
) -> None:
    """Make the segments to ask next."""
    from ..io.reading import read
    from ..studies.queries.query_set import queries as make

    told = {_SETTINGS[name]: value for name, value in locals().items() if name in _SETTINGS}
    told["label"] = [word.strip() for word in label.split(",")] if label and "," in label else label
    told["windows"] = numbers(windows, name="--windows")
    out, tool = outlet.out, {"to": to, "url_prefix": url_prefix, "cut": cut}
    if resume is not None:
        from ..studies.queries.campaign import Campaign

        given = {name for name in (*_SETTINGS, *tool) if is_given(context, name)}
        if recordings or events is not None:
            raise InvalidInput("--resume goes on with the campaign's own recordings; give --resume DIR alone")
        if outlet.out is not None and outlet.out.resolve() != resume.resolve():
            raise InvalidInput(f"--resume {resume} goes on in its own folder, got --out {outlet.out}")
        campaign, out = Campaign.open(resume), resume
        campaign.check({_SETTINGS[name]: told[_SETTINGS[name]] for name in _SETTINGS if name in given})
        tool = {**tool, **campaign.tool, **{name: tool[name] for name in tool if name in given}}
        found = campaign.take_typed().next()
    elif not recordings:
        raise InvalidInput("give recordings: audio files or folders, or --resume DIR")
    else:
        strong = None if events is None else read(events)
        found = make(matching(recordings), **told, plan=plan, choice=choice, events=strong)
    if not outlet.json:
        _say(found, seconds_per_answer)
    if out is not None and not dry_run and found.n_queries:
        paths = found.write(out, **tool)
        wrote(*(paths if len(paths) <= 6 else [*paths[:5], paths[-1]]))
    if outlet.json:
        print_json({**found.to_dict(), "seconds_estimate": found.estimate(seconds_per_answer=seconds_per_answer)})


def is_given(context: typer.Context, name: str) -> bool:
    """Whether the option stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def matching(given: list[Path]) -> list[Path]:
    """The recordings, with quoted patterns such as 'night/*.wav' spelled out."""
    found: list[Path] = []
    for path in given:
        pattern = not path.exists() and any(sign in str(path) for sign in "*?[")
        matches = sorted(map(Path, glob(str(path), recursive=True))) if pattern else [path]
        if not matches:
            raise InvalidInput(f"{path}: no recording matches this pattern")
        found += matches
    return found


def _say(found: Any, seconds_per_answer: float) -> None:
    recordings = found.frame["recording"].nunique()
    work = found.estimate(seconds_per_answer=seconds_per_answer)
    if not found.n_queries:
        say("nothing to ask: every answer that the method needs is there")
        return
    turn = int(found.frame["round"].max())
    say(
        f"{found.method}, round {turn}: {counted(found.n_queries, 'query')} in {counted(recordings, 'recording')}, "
        f"{found.to_review}, about {hours(work)} of work ({seconds_per_answer:g} s per answer included)"
    )
    again = int(found.frame["method"].str.startswith("repeat").sum())
    if again:
        say(f"{again} of them are asked again, to see how often people slip")
    hand = found.by_hand()
    if hand is not None:
        left = found.left["answers_left"]
        each = seconds_per_answer + found.listened / found.n_queries
        typer.echo(
            f"expected: {found.left['n_events']:.0f} events and {seconds(found.left['wrong_time'])} of wrong label; "
            f"about {left:.0f} answers to the target, {hours(left * each)}"
            + (f": drawing by hand is cheaper, {hours(hand)}" if hand < left * each else "")
        )
    if found.method == "change-point":
        say("change points are for clean recordings, in which events stand out: in noise take fixed or information")
    if found.follows_answers:
        say("the method follows the answers: this is its next round, not its last")
    if found.skipped:
        say(f"skipped: {counted(len(found.skipped), 'recording')}")
