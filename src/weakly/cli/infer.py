"""`weakly infer`: answers about segments -> what the events were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ..base.errors import InvalidInput
from . import app, selection
from .common import FORCE, JSON, OUT, REPORT, command_line, fresh, print_json, print_table, save, say, wrote
from .common import columns as line_width

_HELP = """From answers back to events: when, how many and how long they were, and how sure that is.

Answers are present/absent labels of segments of any length, overlapping, nested, repeated, by one or several people.
What is left out (rate, law of event lengths, criterion) is estimated from them, as far as they tell.

Examples:

  weakly infer clips.csv --event-length lognorm:s=0.6,scale=0.8 --presence-criterion 0.5

  weakly infer clips.csv --pilot pilot.tsv --presence-criterion 0.5 --training train/ --report infer.html

  weakly infer clips.csv --rule seconds:0.25 --guess-rate 0.05 --lapse-rate 0.05 --event-length 1

  weakly infer answers.csv --annotator ann --merge 'bird=robin,wren' --recording-length lengths.csv
"""
_ANSWERS = typer.Argument(..., metavar="ANSWERS...", help="Files with answers, or clip labels; or addresses.")
_PILOT = typer.Option(None, "--pilot", help="Strong annotations of some recordings: each class's law of lengths.")
_TRAINING = typer.Option(
    None,
    "--training",
    metavar="DIR",
    callback=fresh,
    help="Write the training kit: noise rates, frames, events with confidence.",
)
_MOST = 40  # rows on a terminal


@app.command("infer", help=_HELP)
def infer(
    answers: list[str] = _ANSWERS,
    event_length: str = typer.Option(
        None, "--event-length", help="Law of event lengths: 1, 0.5,1,4 or gamma:0.8,loc=0.5; left out, estimated."
    ),
    pilot: list[str] = _PILOT,
    presence_criterion: float = typer.Option(
        None, "--presence-criterion", help="Share of an event that is noticed; left out, estimated or .3 to .7."
    ),
    rule: str = typer.Option(None, "--rule", help="A presence rule instead: seconds:0.25, any, birdnet."),
    guess_rate: float = typer.Option(0.0, "--guess-rate", help="Chance of present where the rule says absent."),
    lapse_rate: float = typer.Option(0.0, "--lapse-rate", help="Chance of absent where the rule says present."),
    event_rate: float = typer.Option(None, "--event-rate", help="Events that start per second; left out, estimated."),
    recording_length: str = selection.RECORDING_LENGTH,
    step: float = typer.Option(None, "--step", help="Steps of time in seconds; left out, chosen."),
    label: str = selection.LABEL,
    where: list[str] = selection.WHERE,
    annotator: list[str] = selection.ANNOTATOR,
    merge: list[str] = selection.MERGE,
    sample: int = selection.SAMPLE,
    columns: str = selection.COLUMNS,
    unlisted: str = typer.Option(
        "unknown", "--unlisted", help="A class that a segment does not list: unknown, or absent (looked for)."
    ),
    threshold: float = typer.Option(0.5, "--threshold", help="P(active) above which --out writes events."),
    training: Path = _TRAINING,
    format: str = selection.FORMAT,
    on_error: str = selection.ON_ERROR,
    seed: int = typer.Option(0, "--seed", min=0, help="For the intervals."),
    json: bool = JSON,
    out: Path = OUT,
    report: Path = REPORT,
    force: bool = FORCE,
) -> None:
    """Infer and print."""
    from ..base.symbols import check
    from ..io.reading import read, read_answers
    from ..model.annotator import Annotator
    from ..model.lengths import Lengths
    from ..studies.infer.estimation import infer as make
    from ..studies.infer.inference import flat, worded

    check("event_fraction", threshold, called="threshold")
    if event_length is not None and pilot:
        raise InvalidInput("give --event-length or --pilot, not both")
    # Seconds stand in where the answers give no length; a file's lengths are the recordings' own.
    seconds = None if recording_length is None else selection.seconds_of(recording_length)
    how = selection.reading(
        format=format, columns=columns, where=where, annotator=annotator, merge=merge, on_error=on_error,
        recording_length=None if seconds is not None else recording_length, sample=sample,
    )  # fmt: skip
    alike = {"merge": how["merge"], "on_error": on_error}
    lengths = (
        selection.say(read(pilot, **alike), quiet=json)
        if pilot
        else None
        if event_length is None
        else Lengths.parse(event_length)
    )
    noisy: Any = None
    if guess_rate or lapse_rate:
        if presence_criterion is None and rule is None:
            raise InvalidInput("--guess-rate and --lapse-rate need --presence-criterion or --rule")
        criterion = 0.5 if presence_criterion is None else presence_criterion
        noisy = Annotator(presence_criterion=criterion, guess_rate=guess_rate, lapse_rate=lapse_rate)
        presence_criterion = None  # type: ignore[assignment]
    made = make(
        selection.say(read_answers(answers, label=label, progress=True, **how), quiet=json),
        lengths=lengths,
        annotator=noisy,
        presence_criterion=presence_criterion,
        rule=rule,
        event_rate=event_rate,
        recording_length=seconds,
        step=step,
        label=label,
        unlisted=unlisted,
        rng=seed,
        progress=True,
    )
    if json:
        print_json(made)
    else:
        for text in made.sentences():
            say(text)
        say("")
        words = flat if line_width() is None else worded
        print_table(words(made.overall).drop(columns="log_likelihood", errors="ignore").head(_MOST))
        if len(made.summary) > len(made.overall):
            say("\nThe recordings with the most event seconds (all of them in --out, --json or --report):")
            print_table(words(made.summary).nlargest(10, "event_seconds"))
    if training is not None:
        wrote(*made.training().write(training))
    if out is not None:
        _save(made, out, threshold, seed)
    if report is not None:
        wrote(made.report(report, command=command_line()))


def _save(made: Any, out: Path, threshold: float, seed: int) -> None:
    from ..base import plot
    from ..base.files import atomic_write
    from ..studies.infer.inference import flat

    out.mkdir(parents=True, exist_ok=True)
    paths = plot.save(made.plot().figure, out / "timeline")
    tables = {"recordings": flat(made.summary), "overall": flat(made.overall), "estimates": flat(made.estimates)}
    for name, table in (("active", made.active), ("events", made.events(threshold, rng=seed).to_frame())):
        with atomic_write(out / f"{name}.csv") as file:  # data to be read again: names as they are
            file.write(table.to_csv(index=False))
        paths.append(out / f"{name}.csv")
    save(out, "infer", made, tables, paths)
