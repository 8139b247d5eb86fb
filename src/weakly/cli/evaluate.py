"""`weakly evaluate`: what weak labels would make of strong annotations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from ..base.errors import InvalidInput
from ..base.symbols import plain_name
from . import app, selection
from .common import FORCE, JSON, OUT, REPORT, command_line, fresh, numbers, print_json, print_table, save, say, wrote

_HELP = """Evaluate segment lengths and presence rules exactly on strong annotations.

Files are annotations in any format that weakly reads, folders or patterns. Numbers are per class and over all. Tables
of any size (Parquet or CSV, one row per event, on disk or behind an address) are read in chunks of recordings.

Examples:

  weakly evaluate validation.tsv --segment-length 1,3,10 --presence-criterion 0.1,0.5

  weakly evaluate validation.tsv --segment-length 3 --rule birdnet --compare-rules --labels clips.csv

  weakly evaluate validation.tsv --label Dog --segment-length 1,3,10 --presence-criterion 0.5 --posterior

  weakly evaluate s3://bucket/detections/ --segment-length 3 --presence-criterion 0.5 --resume sums/
"""
_SHOWN = (
    "overlap_accuracy", "event_recall", "wrong_time", "n_queries", "posterior_wrong_time", "event_seconds",
    "painted_seconds", "posterior_seconds", "precision", "recall", "recording_accuracy",
)  # fmt: skip
_FILES = typer.Argument(..., help="Annotation files, folders or patterns.")
_LABELS = typer.Option(
    None,
    "--labels",
    metavar="OUT",
    callback=fresh,
    help="Write the clip labels: .csv (clip table), .tsv (DCASE weak), or a folder.",
)
_RESUME = typer.Option(
    None, "--resume", metavar="FOLDER", help="Keep the sums of finished chunks here; a run that was ended goes on."
)
_MOST = 24  # rows on a terminal


@app.command("evaluate", help=_HELP)
def evaluate(
    files: list[str] = _FILES,
    segment_length: str = typer.Option(
        None,
        "--segment-length",
        help="Seconds: 3; several 1,3,10; a range 0.5:10:20. Left out, 60 that suit the events.",
    ),
    presence_criterion: str = typer.Option(
        None, "--presence-criterion", help="Share of an event that is noticed, in (0, 1]: 0.5 or 0.1,0.5 or 0.1:1:10."
    ),
    rule: str = typer.Option(
        None,
        "--rule",
        help="Instead: any, seconds:0.25, coverage:0.5, shorter:1, birdnet, ...; several a,b; either a|b.",
    ),
    label: str = typer.Option(None, "--label", help="One class only."),
    phase: str = typer.Option("random", "--phase", help="Where the grid starts: random (the expectation) or seconds."),
    edge: str = typer.Option(
        "truncate", "--edge", help="Segments at a recording's ends: truncate, inside, infinite, circular."
    ),
    hop: float = typer.Option(None, "--hop", help="Seconds between the starts of overlapping segments."),
    votes: int = typer.Option(None, "--votes", help="Overlapping segments that must agree, with --hop."),
    recording_length: str = selection.RECORDING_LENGTH,
    format: str = selection.FORMAT,
    columns: str = selection.COLUMNS,
    where: list[str] = selection.WHERE,
    annotator: list[str] = selection.ANNOTATOR,
    merge: list[str] = selection.MERGE,
    examined: str = selection.EXAMINED,
    on_error: str = selection.ON_ERROR,
    compare_rules: bool = typer.Option(False, "--compare-rules", help="The rules of the tools side by side."),
    posterior: bool = typer.Option(
        False, "--posterior", help="Also what weakly infer makes of the same answers: wrong time, event time."
    ),
    labels: Path = _LABELS,
    best: bool = typer.Option(False, "--best", help="Only the best segment length of each class."),
    objective: str = typer.Option(
        "overlap_accuracy", "--objective", help="What is best: overlap_accuracy, recording_accuracy."
    ),
    workers: int = typer.Option(None, "--workers", help="Threads; left out, one per processor."),
    scheduler: str = typer.Option(
        None,
        "--scheduler",
        metavar="ADDRESS",
        help="Address of a Dask scheduler, or 'local'; the workers of a cluster read the chunks of data sets.",
    ),
    resume: Path = _RESUME,
    json: bool = JSON,
    out: Path = OUT,
    report: Path = REPORT,
    force: bool = FORCE,
) -> None:
    """Evaluate and print."""
    from ..base.symbols import choice
    from ..studies.evaluate.evaluation import OBJECTIVES

    choice("objective", objective, OBJECTIVES)
    if presence_criterion is None and rule is None and not compare_rules:
        raise InvalidInput("give --presence-criterion or --rule (or --compare-rules)")
    if presence_criterion is not None and rule is not None:
        raise InvalidInput("give --presence-criterion or --rule, not both")
    if labels is not None and edge not in ("truncate", "inside"):
        raise InvalidInput(f"--labels needs --edge truncate or inside, got {edge}: clips end with their recording")
    asked = _asked(segment_length, presence_criterion, rule, phase, edge, hop, votes)
    if posterior:
        if segment_length is None or scheduler is not None or (presence_criterion is None and rule is None):
            raise InvalidInput("--posterior needs --segment-length, a criterion or rule, and no --scheduler")
        asked["posterior"] = True
    reading = selection.reading(
        format=format, columns=columns, where=where, annotator=annotator, merge=merge, on_error=on_error,
        recording_length=recording_length,
    )  # fmt: skip
    alone = {"--where": where, "--annotator": annotator, "--examined": examined, "--labels": labels}
    alone |= {"--compare-rules": compare_rules or None}
    needed = [name for name, value in alone.items() if value]
    if _is_dataset(files, resume, format, can=not needed and "segment_length" in asked):
        if needed or "segment_length" not in asked:
            what = f"{needed[0]} needs" if needed else "without --segment-length, a length is chosen from"
            raise InvalidInput(f"{what} all annotations at once: not for data sets behind addresses nor with --resume")
        found = _in_chunks(files, reading, asked, label, resume, workers, scheduler)
    else:
        reading |= {} if examined is None else {"examined": examined}
        found = _at_once(files, reading, asked, label, workers, scheduler, compare_rules)
    page = {"objective": objective, "only_best": best}
    if labels is not None:
        _write_labels(found["events"], asked, label, labels)
    if json:
        print_json(_document(found, **page))
    else:
        _show(found, **page)
    if out is not None:
        _save(found, out, **page)
    if report is not None:
        wrote(_page(found, objective).write(report, command=command_line()))


def _asked(
    lengths: str | None,
    criterion: str | None,
    rule: str | None,
    phase: str,
    edge: str,
    hop: float | None,
    votes: int | None,
) -> dict[str, Any]:
    from ..model.annotator import PresenceRule

    asked: dict[str, Any] = {"phase": phase, "edge": edge, "hop": hop, "votes": votes}
    if lengths is not None:
        asked["segment_length"] = numbers(lengths, name="--segment-length")
    if criterion is not None:
        asked["presence_criterion"] = numbers(criterion, name="--presence-criterion")
    if rule is not None:
        asked["rule"] = [PresenceRule.parse(part) for part in rule.split(",")]
    if phase != "random":
        asked["phase"] = numbers(phase, name="--phase")[0]
    return asked


def _at_once(
    files: list[str], reading: Any, asked: dict[str, Any], label: str | None, workers: Any, scheduler: Any, rules: bool
) -> dict[str, Any]:
    """Read everything, then evaluate; assumptions are checked and the rules compared on the way."""
    import warnings

    from ..base.errors import AssumptionWarning
    from ..base.parallel import open_executor
    from ..studies.evaluate.assumptions import check_assumptions, sentences
    from ..studies.evaluate.clips import compare_rules
    from ..studies.evaluate.evaluation import lengths_to_try
    from ..studies.evaluate.evaluator import evaluate as make

    examined = reading.pop("examined", None)
    events = selection.events(files, reading, examined=examined)
    if label is not None and label not in events.labels:  # files that name no class are of the class asked for
        events = selection.events(files, reading, label=label, examined=examined)
    if "segment_length" not in asked:
        asked["segment_length"] = lengths_to_try(events, label=label)
    found: dict[str, Any] = {"events": events, "evaluation": None, "comparisons": [], "label": label}
    if "presence_criterion" in asked or "rule" in asked:
        with open_executor(workers=workers, scheduler=scheduler) as executor:
            found["evaluation"] = make(events, label=label, executor=executor, progress=True, **asked)
    if rules:
        start = 0.0 if asked["phase"] == "random" else asked["phase"]
        lengths = asked["segment_length"]
        with warnings.catch_warnings():
            if found["evaluation"] is not None:  # it has said so already
                warnings.simplefilter("ignore", AssumptionWarning)
            found["comparisons"] = [compare_rules(events, segment_length=w, phase=start, label=label) for w in lengths]
    found["assumptions"] = check_assumptions(events, segment_length=asked["segment_length"], label=label)
    if found["evaluation"] is not None:
        found["evaluation"] = replace(found["evaluation"], assumptions=tuple(found["assumptions"]))
    for text in sentences(found["assumptions"]):
        warnings.warn(text, AssumptionWarning, stacklevel=1)
    return found


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


def _in_chunks(
    files: list[str], reading: Any, asked: dict[str, Any], label: str | None, resume: Any, workers: Any, scheduler: Any
) -> dict[str, Any]:
    """Read and evaluate a data set chunk by chunk."""
    import warnings

    from ..base.errors import AssumptionWarning
    from ..base.parallel import open_executor
    from ..base.results import printable
    from ..io.dataset import Dataset
    from ..studies.evaluate.assumptions import sentences
    from ..studies.evaluate.datasets import evaluate_dataset

    data = Dataset.of(files, columns=reading["columns"])
    said = ", ".join(f"{role} = {name}" for role, name in data.columns)
    typer.echo(printable(f"weakly: read: a data set of {len(data.files)} files, {said}"), err=True)
    how = {name: reading[name] for name in ("merge", "on_error", "recording_length")}
    with open_executor(workers=workers, scheduler=scheduler) as executor:
        evaluation = evaluate_dataset(
            data, label=label, resume=resume, executor=executor, progress=True, **how, **asked
        )
    assumptions = list(evaluation.assumptions)
    for text in sentences(assumptions):
        warnings.warn(text, AssumptionWarning, stacklevel=1)
    return {"events": None, "evaluation": evaluation, "comparisons": [], "assumptions": assumptions, "label": label}


def _tables(found: dict[str, Any], objective: str) -> dict[str, Any]:
    """Every table there is, by name."""
    import pandas as pd

    from ..studies.evaluate.evaluation import best_of_all

    tables: dict[str, Any] = {}
    evaluation = found["evaluation"]
    if evaluation is not None:
        if len(evaluation.settings["segment_length"]) > 1:
            tables["best"] = best_of_all(evaluation, objective=objective)
        if evaluation.several:
            tables["overall"] = evaluation.overall.to_frame()
        tables["evaluation"] = evaluation.to_frame()
    for name in ("table", "flipped", "vanished"):
        parts = [
            getattr(one, name).assign(segment_length=one.settings["segment_length"]) for one in found["comparisons"]
        ]
        if parts:
            tables["rules" if name == "table" else name] = pd.concat(parts, ignore_index=True)
    return tables


def _document(found: dict[str, Any], *, objective: str, only_best: bool) -> dict[str, Any]:
    document: dict[str, Any] = {} if found["evaluation"] is None else found["evaluation"].to_dict()
    if "best" in document:
        document["answer"] = " ".join(_answer(found, objective))
        document["best"] = _tables(found, objective)["best"]
    if only_best and "best" in document:
        document.pop("rows", None)
    document["assumptions"] = found["assumptions"]
    if found["comparisons"]:
        document["comparisons"] = found["comparisons"]
    return document


def _answer(found: dict[str, Any], objective: str) -> list[str]:
    """What was found, in sentences, the answer first."""
    from ..studies.evaluate.evaluation import sentences

    said = [] if found["evaluation"] is None else sentences(found["evaluation"], objective=objective)
    return [*said, *(one.answer for one in found["comparisons"])]


def _brief(table: Any) -> Any:
    keys = [name for name in ("label", "segment_length", "presence_criterion", "rule") if name in table]
    keys = [name for name in keys if name != "presence_criterion" or table[name].notna().any()]
    more = [name for name in ("n_present", "n_flipped", "n_vanished") if name in table and "n_flipped" in table]
    return table[[*keys, *(name for name in _SHOWN if name in table), *more]]


def _show(found: dict[str, Any], *, objective: str, only_best: bool) -> None:
    tables = _tables(found, objective)
    say("\n".join(_answer(found, objective)) + "\n")
    titles = {
        "best": f"Best segment length, by {plain_name(objective)}",
        "overall": "All classes together",
        "evaluation": "Per class",
        "rules": "Rules of the tools, clips from "
        + ("0" if not found["comparisons"] else f"{found['comparisons'][0].settings['phase']:g}")
        + " s",
    }
    for name, title in titles.items():
        if name not in tables or (only_best and "best" in tables and name in ("evaluation", "overall")):
            continue
        table = tables[name]
        if name == "rules":  # of each class: in the files
            table = table[table["label"] == "all"]
        hidden = len(table) - _MOST
        print_table(_brief(table.head(_MOST)), title=title)
        say(f"... {hidden:,} more rows: --json, --out or --report hold them all\n" if hidden > 0 else "")
    for name, words in (("flipped", "Clip labels that depend on the rule"), ("vanished", "Events that vanish")):
        if name in tables and len(tables[name]):
            print_table(tables[name].head(10), title=words)
            say()


def _figures(found: dict[str, Any]) -> dict[str, tuple[Any, str]]:
    from ..studies.evaluate.evaluation import pictures

    figures = {} if found["evaluation"] is None else pictures(found["evaluation"])
    if found["comparisons"]:
        axes = found["comparisons"][0].plot()
        figures["rules"] = (
            axes.figure,
            f"Rules of the tools at {found['comparisons'][0].settings['segment_length']:g} s.",
        )
    return figures


def _save(found: dict[str, Any], out: Path, *, objective: str, only_best: bool) -> None:
    from ..base import plot

    paths = [path for name, (figure, _) in _figures(found).items() for path in plot.save(figure, out / name)]
    document = _document(found, objective=objective, only_best=only_best)
    save(out, "evaluation", document, _tables(found, objective), paths)


def _page(found: dict[str, Any], objective: str) -> Any:
    """The report of the evaluation, then that of each comparison of rules."""
    pages = [] if found["evaluation"] is None else [found["evaluation"].page(objective=objective)]
    first, *rest = [*pages, *(one.page() for one in found["comparisons"])]
    for page in rest:
        first.add(page)
    return first


def _write_labels(events: Any, asked: dict[str, Any], label: str | None, target: Path) -> None:
    from ..io.reading import write
    from ..studies.evaluate.clips import clip_labels

    lengths = list(asked["segment_length"])
    rules = asked.get("rule") or asked.get("presence_criterion") or []
    if len(lengths) != 1 or len(rules) != 1:
        raise InvalidInput(
            f"--labels needs one --segment-length and one rule or criterion, got {len(lengths)} and {len(rules)}"
        )
    how = {"rule": rules[0]} if "rule" in asked else {"presence_criterion": rules[0]}
    start = 0.0 if asked["phase"] == "random" else asked["phase"]
    how |= {"phase": start, "hop": asked["hop"], "edge": asked["edge"]}
    made = clip_labels(events, segment_length=lengths[0], label=label, **how)
    if target.suffix.lower() in (".csv", ".tsv"):
        targets = [(target, "clips" if target.suffix.lower() == ".csv" else "dcase-weak")]
    else:
        target.mkdir(parents=True, exist_ok=True)
        targets = [(target / "labels.csv", "clips"), (target / "labels.tsv", "dcase-weak")]
    for path, kind in targets:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(made, path, format=kind)
    wrote(*(path for path, _ in targets))
