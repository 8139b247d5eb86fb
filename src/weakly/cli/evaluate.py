"""`weakly evaluate`: what weak labels would make of strong annotations; `weakly simulate`: of random recordings;
`weakly audit`: what they made of them, how sensitive the annotators were, what score the labels allow; `weakly infer`:
from answers about segments back to what the events were."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..base.errors import AssumptionWarning, InvalidInput
from ..base.results import atomic_write, counted, printable
from ..base.symbols import check, choice
from . import common
from .common import Outlet, ReadingOptions, command, deliver, fresh, numbers, option, wrote

if TYPE_CHECKING:
    from ..model.events import Events
    from ..studies.evaluate.evaluation import Evaluation

_HELP = """Evaluate segment lengths and presence rules exactly on strong annotations.

Files are annotations in any format that weakly reads, folders or patterns. Numbers are per class and over all. Tables
of any size (Parquet or CSV, one row per event, on disk or behind an address) are read in chunks of recordings.

Examples:

  weakly evaluate validation.tsv --segment-length 1,3,10 --presence-criterion 0.1,0.5

  weakly evaluate validation.tsv --segment-length 3 --rule birdnet --compare-rules --labels clips.csv

  weakly evaluate s3://bucket/detections/ --segment-length 3 --presence-criterion 0.5 --resume sums/
"""
_LABEL = option("One class only.", None, "--label")
_WORKERS = option("Threads; left out, one per processor.")


@command(
    "evaluate",
    _HELP,
    reading="label recording_length format columns where annotator merge examined on_error",
    label=_LABEL,
)
def evaluate(
    files: list[str] = typer.Argument(..., metavar="FILE", help="Annotation files, folders or patterns."),
    segment_length: str = option("Seconds: 3; several 1,3,10; a range 0.5:10:20. Left out, 60 that suit the events."),
    presence_criterion: str = option(
        "Share of an event that is noticed: 0.5; several 0.1,0.5; 0.1:1:10. Left out: half of it, or a second."
    ),
    rule: str = option("Instead: any, seconds:0.25, coverage:0.5, shorter:1, birdnet, ...; several a,b; either a|b."),
    phase: str = option("Where the grid starts: random (the expectation) or seconds.", "random"),
    edge: str = option("Segments at a recording's ends: truncate, inside, infinite, circular.", "truncate"),
    hop: float = option("Seconds between the starts of overlapping segments."),
    votes: int = option("Overlapping segments that must agree, with --hop."),
    compare_rules: bool = option(
        "Evaluate the rules of common tools too, and list events that some lose.", False, "--compare-rules"
    ),
    labels: Path = option("Write clip labels: .csv (clips), .tsv (DCASE) or a folder.", metavar="OUT", callback=fresh),
    best: bool = option("Only the best segment length of each class.", False, "--best"),
    objective: str = option("What is best: overlap_accuracy, recording_accuracy.", "overlap_accuracy"),
    workers: int = _WORKERS,
    scheduler: str = option(
        "Address of a Dask scheduler, or 'local'; the workers of a cluster read the chunks of data sets.",
        metavar="ADDRESS",
    ),
    resume: Path = option("Keep the sums of finished chunks here; an interrupted run continues.", metavar="FOLDER"),
    *,
    reading: ReadingOptions,
    outlet: Outlet,
) -> None:
    """Evaluate, and compare rules where that is asked for."""
    from ..base.parallel import open_executor
    from ..model.annotator import PRESETS
    from ..model.answer_model import UNKNOWN, AnswerModels
    from ..studies.evaluate.evaluation import OBJECTIVES

    choice("objective", objective, OBJECTIVES)
    card, reading = reading.card()
    given = {"presence_criterion": presence_criterion, "rule": rule, "annotator": card}
    who = AnswerModels.of(**given, unknown=UNKNOWN[1])
    if labels is not None and who.is_unknown:
        raise InvalidInput("--labels needs --presence-criterion or --rule")
    if labels is not None and edge not in ("truncate", "inside"):
        raise InvalidInput(f"--labels needs --edge truncate or inside, got {edge}: clips end with their recording")
    start = 0.0 if compare_rules and phase == "random" else _phase(phase)  # which events vanish depends on it
    asked: dict[str, Any] = {"phase": start, "edge": edge, "hop": hop, "votes": votes, "presence_criterion": who}
    if compare_rules:
        told = [each for each in given.values() if each is not None]
        asked["presence_criterion"] = AnswerModels.of(rule=[*told, *PRESETS.values()]).distinct
    if segment_length is not None:
        asked["segment_length"] = numbers(segment_length, name="--segment-length")
    alone: dict[str, Any] = {"--where": reading.where, "--annotator": reading.annotator, "--examined": reading.examined}
    alone |= {"--point-length": reading.point_length, "--open-end": reading.open_end, "--absent": reading.absent}
    alone |= {"--labels": labels, "--compare-rules": compare_rules}
    needed = [name for name, value in alone.items() if value]
    with open_executor(workers=workers, scheduler=scheduler) as executor:
        how = {"executor": executor, "progress": True}
        if _is_dataset(files, resume, reading.format, can=not needed and segment_length is not None):
            if needed or segment_length is None:
                what = f"{needed[0]} needs" if needed else "without --segment-length, a length is chosen from"
                why = "not for data sets behind addresses nor with --resume"
                raise InvalidInput(f"{what} all annotations at once: {why}")
            result: Any = _in_chunks(files, reading, resume=resume, **asked, **how)
        else:
            events = replace(reading, label=None).events(files)
            if reading.label is not None and reading.label not in events.labels:  # files that name no class
                events = reading.events(files)
            result = _at_once(events, asked, reading.label, compare_rules, how)
            if labels is not None:
                wrote(*_write_labels(events, asked | {"presence_criterion": who}, reading.label, labels))
    for finding in result.findings:
        warnings.warn(finding.text, AssumptionWarning, stacklevel=1)
    if objective != "overlap_accuracy" or best:
        result = replace(result, objective=objective, only_best=best)
    deliver(result, outlet, name="evaluation", most=24)


def _phase(text: str) -> Any:
    return text if text == "random" else numbers(text, name="--phase")[0]


def _at_once(events: Events, asked: dict[str, Any], label: str | None, rules: bool, how: dict[str, Any]) -> Evaluation:
    """Evaluate what was read whole; assumptions are checked, and lost events looked for, on the way."""
    from ..studies.evaluate.clips import vanished_events
    from ..studies.evaluate.evaluation import lengths_to_try
    from ..studies.evaluate.evaluator import check_assumptions
    from ..studies.evaluate.evaluator import evaluate as make

    lengths = asked.setdefault("segment_length", None)
    if lengths is None:
        lengths = asked["segment_length"] = lengths_to_try(events, label=label)
    evaluation = make(events, label=label, **how, **asked)
    assumptions, vanished = tuple(check_assumptions(events, segment_length=lengths, label=label)), None
    if rules:
        certain = [each.rule for each in asked["presence_criterion"] if each.rule is not None and each.is_noiseless]
        where = {name: asked[name] for name in ("phase", "hop", "edge")}
        vanished = vanished_events(events, segment_length=lengths, rules=certain, label=label, **where)
    return replace(evaluation, assumptions=assumptions, vanished=vanished)


#: Bytes of Parquet and of text from which on tables are read in chunks.
_LARGE = {".parquet": 2**26, ".pq": 2**26, ".csv": 2**28, ".tsv": 2**28}


def _is_dataset(files: list[str], resume: Path | None, format: str | None, *, can: bool) -> bool:
    """Whether tables are read in chunks: behind an address, with --resume, or large and nothing needs all at once."""
    if resume is not None or any("://" in file for file in files):
        return True
    if not can or format is not None:
        return False
    paths = [path for file in files for path in ([Path(file)] if Path(file).is_file() else Path(file).rglob("*.*"))]
    if not paths or {path.suffix.lower() for path in paths} - _LARGE.keys():
        return False
    return sum(path.stat().st_size / _LARGE[path.suffix.lower()] for path in paths) > 1


def _in_chunks(files: list[str], reading: ReadingOptions, **how: Any) -> Evaluation:
    """Read and evaluate a data set chunk by chunk."""
    from ..io.dataset import Dataset
    from ..studies.evaluate.datasets import evaluate_dataset

    data = Dataset.of(files, columns=reading.columns)
    roles = ", ".join(f"{role} = {name}" for role, name in data.columns)
    typer.echo(printable(f"weakly: read: a data set of {len(data.files)} files, {roles}"), err=True)
    return evaluate_dataset(data, **reading.arguments("label", "merge", "on_error", "recording_length"), **how)


def _write_labels(events: Events, asked: dict[str, Any], label: str | None, target: Path) -> list[Path]:
    """Write the clip labels that the one rule makes of the events, in one or two formats."""
    from ..io.formats import write
    from ..studies.evaluate.clips import clip_labels

    lengths = list(asked["segment_length"])
    who = asked["presence_criterion"] or ()
    if len(lengths) != 1 or len(who) != 1:
        got = f"{len(lengths)} and {len(who)}"
        raise InvalidInput(f"--labels needs one --segment-length and one rule or criterion, got {got}")
    start = 0.0 if asked["phase"] == "random" else asked["phase"]
    how = {"presence_criterion": who, "phase": start, "hop": asked["hop"], "edge": asked["edge"]}
    answers = clip_labels(events, segment_length=lengths[0], label=label, **how)
    alone = target.suffix.lower() in (".csv", ".tsv")
    targets = [target] if alone else [target / "labels.csv", target / "labels.tsv"]  # clips, DCASE's weak list
    for path in targets:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(answers, path)
    return targets


_SIMULATE_HELP = """Simulate recordings and their weak labels: accuracy near events, events found, the best length.

Examples:

  weakly simulate --event-length 1 --events 1 --recording-length 100 --presence-criterion 0.5 --seed 1

  weakly simulate --event-length gamma:0.8,loc=0.5 --events 30 --recording-length 100 --recordings 1000 --seed 1
"""


@command("simulate", _SIMULATE_HELP)
def simulate(
    event_length: str = option("Seconds: 1; a sample 0.5,1,4; a scipy law gamma:0.8,loc=0.5 or norm:3,0.5.", ...),
    events: float = option("Events per recording (the mean with --placement poisson).", ...),
    recording_length: float = option("Seconds per recording.", ...),
    recordings: int = option("How many recordings are drawn.", 1000),
    segment_length: str = option("Seconds: 0.8, several 1,3,10 or a range 0.1:5:50. Left out, 40 about the optimum."),
    presence_criterion: str = option("Share of an event that is noticed, in (0, 1]: 0.5, 0.1,0.5 or 0.1:1:10 (0.5)."),
    rule: str = option("Instead: any, seconds:0.25, coverage:0.5, birdnet, ...; several a,b."),
    placement: str = option("uniform (the paper), poisson or spaced.", "uniform"),
    gap: float = option("Least seconds between events, with --placement spaced.", 0.0),
    phase: str = option("Where the grid starts: seconds, or random.", "0"),
    hop: float = option("Seconds between the starts of overlapping windows."),
    votes: int = option("Windows over a cell that must be present, with --hop."),
    flip_rate: float = option("Chance that a label is flipped.", 0.0),
    guess_rate: float = option("Chance of a present where the criterion is not met.", 0.0),
    lapse_rate: float = option("Chance of an absent where the criterion is met.", 0.0),
    seed: int = option("The same seed gives the same numbers, however many workers.", min=0),
    workers: int = _WORKERS,
    scheduler: str = option("Address of a Dask scheduler, or 'local' for one on this machine.", metavar="ADDRESS"),
    *,
    outlet: Outlet,
) -> None:
    """Simulate."""
    values = locals()
    from ..base.parallel import open_executor
    from ..model.answer_model import AnswerModels
    from ..model.lengths import Lengths
    from ..studies.simulate import simulate as make
    from ..studies.simulate import widths_to_try

    law = Lengths.parse(event_length)
    who = AnswerModels.of(presence_criterion=presence_criterion, rule=rule, unknown=0.5)
    who = who.with_rates(guess_rate=guess_rate, lapse_rate=lapse_rate, flip_rate=flip_rate)
    given = None if segment_length is None else numbers(segment_length, name="--segment-length")
    with open_executor(workers=workers, scheduler=scheduler) as executor:
        how = common.chosen(values, "recording_length placement gap hop votes")
        how |= {"n_events": events, "n_recordings": recordings, "phase": _phase(phase), "rng": seed}
        how |= {"segment_length": given or widths_to_try(law, [each.middle for each in who]), "presence_criterion": who}
        result = make(law, **how, executor=executor, progress=True)
    deliver(result, outlet, name="simulation", most=60)


_AUDIT_HELP = """Audit a labelled data set: wrong labels, agreement, presence criterion, and the best score they allow.

Strong annotations (--strong) are taken as the truth; weak labels or answers (--weak, or --answers: they are one option)
are judged. Each is files, folders, patterns or addresses.
A condition in --fail-on that holds makes the exit code 1. --examined tells who looked at what, so that "looked and
found nothing" is not taken for "never looked": all, or a table with the columns recording and, if need be, annotator,
onset, offset.

Examples:

  weakly audit --strong strong.tsv --weak weak.csv

  weakly audit --strong strong.tsv --answers answers.csv --fail-on 'event_recall<0.9' --report audit.html

  weakly audit --strong strong.tsv --weak weak.csv --examined all --unlisted absent --card card.md

  weakly audit --answers answers.csv --scores birdnet.csv,ours.csv
"""


@command(
    "audit",
    _AUDIT_HELP,
    reading="label recording_length where annotator merge columns format examined sample on_error",
    label=_LABEL,
    format=option("Format of the weak labels or answers; by default recognised by content.", None, "--format"),
    examined=option("Who looked at what: all, a table of recordings, or UEM.", None, "--examined"),
    sample=option("Only N recordings, whole, of --strong, --weak or --answers alone.", min=1, metavar="N"),
)
def audit(
    strong: list[str] = option("Annotations with boundaries; may be given several times."),
    weak: list[str] = option("Labels of clips or segments; may be given several times."),
    answers: list[str] = option("What each annotator said; may be given several times."),
    unlisted: str = option("A class that a segment does not list: absent (looked for, not found) or unknown."),
    resolution: str = option("Segment lengths of the segment-based F1, seconds: 0.1,1.", "1"),
    collar: float = option("Tolerance of the event-based F1, seconds.", 0.2),
    share_of_length: float = option("Tolerance of offsets, share of the event.", 0.2),
    scores: str = option("Detectors to compare by the answers: tables of scores of frames, or folders: a.csv,b.csv."),
    hop: float = option("Seconds from one frame of a .npy file of scores to the next."),
    fail_on: list[str] = option("Exit 1 if this holds: 'event_recall<0.9', 'Dog.precision<0.5'."),
    card: Path = option("Write the label card: a .md, .html or .json file.", callback=fresh),
    seed: int = option("For the bootstrap.", 0, min=0),
    *,
    reading: ReadingOptions,
    outlet: Outlet,
) -> None:
    """Audit."""
    values = locals()
    from ..io import read_examined
    from ..io.gather import LAYERS
    from ..io.reading import read, read_answers
    from ..studies.audit.auditor import audit as make

    given = [*(weak or ()), *(answers or ())]
    if not strong and not given:
        raise InvalidInput("give --strong, --weak or --answers")
    if reading.sample is not None and strong and given:
        raise InvalidInput("--sample needs --strong, --weak or --answers alone: two samples have other recordings")
    layer = {name: value for name, value in (reading.where or {}).items() if name in LAYERS} or None
    both = reading.arguments("on_error", "point_length", "open_end", "sheet") | {"where": layer}
    both["recording_length"] = reading.recording_length if reading.seconds is None else None
    own = both | reading.arguments("format", "columns", "annotator", "sample")  # of the labels that are judged, if any
    alone = (both if given else own) | {"absent": reading.absent}
    examined = reading.examined
    looked = examined is not None and examined.startswith("label=")
    alone |= {"examined": examined} if looked else {}
    tables = [
        common.tell_reading(take(files, progress=True, **how), quiet=outlet.json) if files else None
        for take, files, how in ((read, strong, alone), (read_answers, given, own))
    ]
    truth, labels = _alike(*_joined(tables, reading.merge or {}))
    result = make(
        strong=truth,
        weak=labels,
        label=reading.label,
        recording_length=reading.seconds,
        resolutions=numbers(resolution, name="--resolution"),
        where={name: value for name, value in (reading.where or {}).items() if name not in LAYERS} or None,
        examined=truth.examined if looked else examined if examined in (None, "all") else read_examined(examined),
        scores=None if scores is None else _named_scores([file.strip() for file in scores.split(",")], hop),
        rng=seed,
        **common.chosen(values, "unlisted collar share_of_length"),
    )
    with common.failing_if(result, fail_on):
        deliver(result, outlet, name="audit", most=25)
        if labels is not None and truth is None and not result.sentences() and not outlet.json:
            words = f"{counted(len(labels), 'label')} in {counted(len(labels.recordings), 'recording')}"
            common.say(f"{words}: no segment has two labels, so nothing can be compared; --strong gives the truth.")
        if card is not None:
            wrote(result.write_card(card))


def _named_scores(files: list[str], hop: float | None) -> dict[str, Any]:
    """Scores of each detector, by the name of its file; by all of it where two have the same."""
    from ..io.soundscape import read_scores

    stems = [Path(file).stem for file in files]
    return {file if stems.count(stem) > 1 else stem: read_scores(file, hop=hop) for file, stem in zip(files, stems)}


def _alike(truth: Any, labels: Any) -> tuple[Any, Any]:
    """The two with one class of one name, where one side has one and the other did not name its own."""
    sides: list[Any] = [None if each is None else each.labels for each in (truth, labels)]
    if None not in sides and sides[0] != sides[1] and ["event"] in sides and len(sides[0]) == len(sides[1]) == 1:
        name = sides[1][0] if sides[0] == ["event"] else sides[0][0]
        print(f"weakly: read: the class that no file names is taken as {name!r}", file=sys.stderr)
        truth, labels = (t if t.labels == [name] else t.select(merge={name: t.labels}) for t in (truth, labels))
    return truth, labels


def _joined(tables: list[Any], merge: dict[str, list[str]]) -> list[Any]:
    """The strong and the weak labels with classes joined, each with those that it has."""
    known = {label for table in tables if table is not None for label in table.labels}
    merge = {new: sorted(known) if old == ["*"] else old for new, old in merge.items()}
    gone = next((old for olds in merge.values() for old in olds if old not in known), None)
    if gone is not None:
        raise InvalidInput(f"--merge: no file has the class {gone!r}; there are {', '.join(sorted(known)[:12])}")
    mine = [{new: [o for o in old if table and o in table.labels] for new, old in merge.items()} for table in tables]
    return [
        table.select(merge={new: old for new, old in own.items() if old}) if any(own.values()) else table
        for table, own in zip(tables, mine)
    ]


_INFER_HELP = """Infer events from answers: when they were, how many and how long, each with an interval.

Answers are present/absent labels of segments of any length, overlapping, nested, repeated, by one or several people.
What is left out (rate, law of event lengths, criterion) is estimated from them, as far as they allow.

Examples:

  weakly infer clips.csv --event-length lognorm:s=0.6,scale=0.8 --presence-criterion 0.5

  weakly infer clips.csv --pilot pilot.tsv --presence-criterion 0.5 --training train/ --report infer.html

  weakly infer clips.csv --rule seconds:0.25 --guess-rate 0.05 --lapse-rate 0.05 --event-length 1

  weakly infer clips.csv --pilot pilot.tsv --presence-criterion 0.5 --scores frames.csv

  weakly infer answers.csv --annotator ann --merge 'bird=robin,wren' --recording-length lengths.csv
"""


@command("infer", _INFER_HELP, reading="label recording_length where annotator merge sample columns format on_error")
def infer(
    answers: list[str] = typer.Argument(
        ..., metavar="ANSWERS", help="Files with answers, or clip labels; or addresses."
    ),
    event_length: str = option("Law of event lengths: 1, 0.5,1,4 or gamma:0.8,loc=0.5; left out, estimated."),
    pilot: list[str] = option("Strong annotations of some recordings: each class's law of lengths."),
    presence_criterion: str = option("Share of an event that is noticed, or a law beta:2,3; left out, estimated."),
    rule: str = option("A presence rule instead: seconds:0.25, any, birdnet."),
    criterion_per: str = option("Of a law: one criterion per recording, or per answer.", "recording"),
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
            **common.chosen(values, "rule criterion_per event_rate bouts calibrate step unlisted"),
        )
    caveats = result.caveats()
    for each in said:
        if str(each.message) not in caveats:  # those are in the answer
            warnings.warn(each.message, each.category, stacklevel=1)
    deliver(result, outlet, name="infer")
    if training is not None:
        wrote(*result.training().write(training))
    if outlet.out is not None:
        events = result.events(threshold, rng=seed).to_frame()
        for name, tables in (("active", result.frames()), ("events", (events,))):
            with atomic_write(outlet.out / f"{name}.csv") as file:  # data to be read again: names as they are
                for k, table in enumerate(tables):
                    file.write(table.to_csv(index=False, header=k == 0))
            wrote(outlet.out / f"{name}.csv")
