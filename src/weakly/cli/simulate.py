"""`weakly simulate`: what weak labels make of random recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ..base.errors import InvalidInput
from . import app
from .common import FORCE, JSON, OUT, REPORT, command_line, numbers, print_json, print_table, save, say, wrote

_HELP = """Simulate recordings and their weak labels: accuracy, event recall and the best segment length.

Examples:

  weakly simulate --event-length 1 --events 1 --recording-length 100 --presence-criterion 0.5 --seed 1

  weakly simulate --event-length gamma:0.8,loc=0.5 --events 30 --recording-length 100 --recordings 1000 --seed 1
"""
_MOST = 60  # rows on a terminal


@app.command("simulate", help=_HELP)
def simulate(
    event_length: str = typer.Option(
        ..., "--event-length", help="Seconds: 1; a sample 0.5,1,4; a scipy law gamma:0.8,loc=0.5 or norm:3,0.5."
    ),
    events: float = typer.Option(..., "--events", help="Events per recording (the mean with --placement poisson)."),
    recording_length: float = typer.Option(..., "--recording-length", help="Seconds per recording."),
    recordings: int = typer.Option(1000, "--recordings", help="How many recordings are drawn."),
    segment_length: str = typer.Option(
        None,
        "--segment-length",
        help="Seconds: 0.8, several 1,3,10 or a range 0.1:5:50. Left out, 40 about the optimum.",
    ),
    presence_criterion: str = typer.Option(
        None,
        "--presence-criterion",
        help="Share of an event that is noticed, in (0, 1]: 0.5, 0.1,0.5 or 0.1:1:10 (0.5).",
    ),
    rule: str = typer.Option(
        None, "--rule", help="Instead: any, seconds:0.25, coverage:0.5, birdnet, ...; several a,b."
    ),
    placement: str = typer.Option("uniform", "--placement", help="uniform (the paper), poisson or spaced."),
    gap: float = typer.Option(0.0, "--gap", help="Least seconds between events, with --placement spaced."),
    phase: str = typer.Option("0", "--phase", help="Where the grid starts: seconds, or random."),
    hop: float = typer.Option(None, "--hop", help="Seconds between the starts of overlapping windows."),
    votes: int = typer.Option(None, "--votes", help="Windows over a cell that must be present, with --hop."),
    flip_rate: float = typer.Option(0.0, "--flip-rate", help="Chance that a label is flipped."),
    guess_rate: float = typer.Option(0.0, "--guess-rate", help="Chance of a present where the criterion is not met."),
    lapse_rate: float = typer.Option(0.0, "--lapse-rate", help="Chance of an absent where the criterion is met."),
    seed: int = typer.Option(None, "--seed", min=0, help="The same seed gives the same numbers, however many workers."),
    workers: int = typer.Option(None, "--workers", help="Threads; left out, one per processor."),
    scheduler: str = typer.Option(
        None, "--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler, or 'local' for one on this machine."
    ),
    json: bool = JSON,
    out: Path = OUT,
    report: Path = REPORT,
    force: bool = FORCE,
) -> None:
    """Simulate and print."""
    from ..base.parallel import open_executor
    from ..model.lengths import Lengths
    from ..studies.simulate.simulation import simulate as make

    law = Lengths.parse(event_length)
    asked = _asked(presence_criterion, rule, (guess_rate, lapse_rate, flip_rate))
    widths = _widths(segment_length, law, asked)
    with open_executor(workers=workers, scheduler=scheduler) as executor:
        found = make(
            law,
            n_events=events,
            recording_length=recording_length,
            segment_length=widths,
            n_recordings=recordings,
            placement=placement,
            gap=gap,
            phase=phase if phase == "random" else numbers(phase, name="--phase")[0],
            hop=hop,
            votes=votes,
            rng=seed,
            executor=executor,
            progress=True,
            **asked,
        )
    if json:
        print_json(found)
    else:
        _show(found)
    if out is not None:
        _save(found, out)
    if report is not None:
        wrote(found.report(report, command=command_line()))


def _asked(criterion: str | None, rule: str | None, rates: tuple[float, float, float]) -> dict[str, Any]:
    from ..model.annotator import Annotator, PresenceRule

    if rule is not None:
        if criterion is not None or any(rates):
            raise InvalidInput("--rule goes without --presence-criterion, --flip-rate, --guess-rate and --lapse-rate")
        return {"rule": [PresenceRule.parse(part) for part in rule.split(",")]}
    criteria = numbers("0.5" if criterion is None else criterion, name="--presence-criterion")
    if not any(rates):
        return {"presence_criterion": criteria}
    guess, lapse, flip = rates
    made = [Annotator(presence_criterion=g, guess_rate=guess, lapse_rate=lapse, flip_rate=flip) for g in criteria]
    return {"annotator": made}


def _widths(text: str | None, law: Any, asked: dict[str, Any]) -> list[float]:
    """The segment lengths asked for, or 40 from a quarter to four times the paper's optimum for the mean length."""
    if text is not None:
        return numbers(text, name="--segment-length")
    import numpy as np

    from ..theory.optimum import optimal_segment_length

    criteria = (
        asked.get("presence_criterion") or [one.presence_criterion for one in asked.get("annotator", ())] or [0.5]
    )
    optima = [float(optimal_segment_length(event_length=law.mean, presence_criterion=g)) for g in criteria]
    return [float(f"{value:.4g}") for value in np.geomspace(min(optima) / 4, max(optima) * 4, 40)]


def _show(found: Any) -> None:
    from ..studies.evaluate.evaluation import brief

    say("\n".join(found.sentences()) + "\n")
    if found.several:
        title = "Best segment length: chosen on one half of the recordings, reported on the other"
        best = found.best()
        naive = [name for name in best.columns if name.startswith("naive_") and not name.endswith("_se")]
        print_table(brief(best).join(best[naive]), title=title)
        say()
    table = found.to_frame()
    print_table(brief(table.head(_MOST)), title="Simulated labels")
    if len(table) > _MOST:
        say(f"... {len(table) - _MOST} more rows: --json, --out or --report hold them all")


def _save(found: Any, out: Path) -> None:
    from ..base import plot

    paths = plot.save(found.plot().figure, out / "overlap_accuracy")
    save(out, "simulation", found, {"simulation": found.to_frame(), "best": found.best()}, paths)
