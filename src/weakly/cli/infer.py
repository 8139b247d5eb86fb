"""`weakly infer`: answers about segments -> what the events were."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from ..base.errors import InvalidInput
from .common import Outlet, ReadingOptions, chosen, command, deliver, fresh, option, wrote

_HELP = """From answers back to events: when, how many and how long they were, and how sure that is.

Answers are present/absent labels of segments of any length, overlapping, nested, repeated, by one or several people.
What is left out (rate, law of event lengths, criterion) is estimated from them, as far as they tell.

Examples:

  weakly infer clips.csv --event-length lognorm:s=0.6,scale=0.8 --presence-criterion 0.5

  weakly infer clips.csv --pilot pilot.tsv --presence-criterion 0.5 --training train/ --report infer.html

  weakly infer clips.csv --rule seconds:0.25 --guess-rate 0.05 --lapse-rate 0.05 --event-length 1

  weakly infer clips.csv --pilot pilot.tsv --presence-criterion 0.5 --scores frames.csv

  weakly infer answers.csv --annotator ann --merge 'bird=robin,wren' --recording-length lengths.csv
"""


@command("infer", _HELP, reading="label recording_length where annotator merge sample columns format on_error")
def infer(
    answers: list[str] = typer.Argument(
        ..., metavar="ANSWERS...", help="Files with answers, or clip labels; or addresses."
    ),
    event_length: str = option("Law of event lengths: 1, 0.5,1,4 or gamma:0.8,loc=0.5; left out, estimated."),
    pilot: list[str] = option("Strong annotations of some recordings: each class's law of lengths."),
    presence_criterion: str = option("Share of an event that is noticed, or a law beta:2,3; left out, estimated."),
    rule: str = option("A presence rule instead: seconds:0.25, any, birdnet."),
    guess_rate: float = option("Chance of present where the rule says absent.", 0.0),
    lapse_rate: float = option("Chance of absent where the rule says present.", 0.0),
    event_rate: float = option("Events that start per second; left out, estimated."),
    bouts: bool = option("Events come in bouts, or do not; left out, both are tried.", None, "--bouts/--no-bouts"),
    step: float = option("Steps of time in seconds; left out, chosen."),
    unlisted: str = option("A class that a segment does not list: unknown, or absent (looked for).", "unknown"),
    scores: Path = option("A detector's scores as evidence: a table of frames, a .npy file, or a folder of them."),
    hop: float = option("Seconds from one frame of a .npy file of scores to the next."),
    calibrate: bool = option("Fit the scores' scale to the answers.", True, "--calibrate/--no-calibrate"),
    threshold: float = option("P(active) above which --out writes events.", 0.5),
    training: Path = option(
        "Write the training kit: noise rates, frames, events with confidence.", metavar="DIR", callback=fresh
    ),
    seed: int = option("For the intervals.", 0, min=0),
    *,
    reading: ReadingOptions,
    outlet: Outlet,
) -> None:
    """Infer."""
    values = locals()
    from ..base.symbols import check
    from ..io.soundscape import read_scores
    from ..model.answer_model import AnswerModels
    from ..model.lengths import Lengths
    from ..studies.infer.estimation import infer as make

    check("event_fraction", threshold, called="threshold")
    if event_length is not None and pilot:
        raise InvalidInput("give --event-length or --pilot, not both")
    lengths: Any = None if event_length is None else Lengths.parse(event_length)
    if pilot:
        lengths = ReadingOptions(merge=reading.merge, on_error=reading.on_error).events(pilot, quiet=outlet.json)
    who, reading = reading.card()
    if guess_rate or lapse_rate:
        if presence_criterion is None and rule is None:
            raise InvalidInput("--guess-rate and --lapse-rate need --presence-criterion or --rule")
        who = AnswerModels.of(presence_criterion=presence_criterion, annotator=who, unknown=0.5)
        who = who.with_rates(guess_rate=guess_rate, lapse_rate=lapse_rate)
        presence_criterion = None if rule is None else presence_criterion
    # Seconds stand in where the answers give no length; a file's lengths are the recordings' own.
    reader = reading if reading.seconds is None else replace(reading, recording_length=None)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = make(
            reader.answers(answers, quiet=outlet.json),
            event_length=lengths,
            annotator=who,
            presence_criterion=presence_criterion,
            scores=None if scores is None else read_scores(scores, hop=hop),
            recording_length=reading.seconds,
            label=reading.label,
            rng=seed,
            progress=True,
            **chosen(values, "rule event_rate bouts calibrate step unlisted"),
        )
    caveats = result.caveats()
    for each in said:
        if str(each.message) not in caveats:  # those are in the answer
            warnings.warn(each.message, each.category, stacklevel=1)
    deliver(result, outlet, name="infer")
    if training is not None:
        wrote(*result.training().write(training))
    if outlet.out is not None:
        from ..base.results import atomic_write

        for name, table in (("active", result.active), ("events", result.events(threshold, rng=seed).to_frame())):
            with atomic_write(outlet.out / f"{name}.csv") as file:  # data to be read again: names as they are
                file.write(table.to_csv(index=False))
            wrote(outlet.out / f"{name}.csv")
