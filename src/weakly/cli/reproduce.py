"""`weakly reproduce`: every figure, table and claim of the paper, with a verdict."""

from __future__ import annotations

from pathlib import Path

import typer

from . import app
from .common import FORCE, JSON, command_line, fresh, print_json, print_rows, print_table, say, wrote

_HELP = """Reproduce the paper: every figure, both tables, and a verdict on every claim.

Ends with exit code 1 if a verdict differs from the one on record. Figures need no data: summary statistics of NIGENS
and AudioSet are part of the package.

Examples:

  weakly reproduce --quick --out paper

  weakly reproduce --only single_event --only claims --seed 3
"""
_OUT = typer.Option(
    None, "--out", metavar="DIR", callback=fresh, help="Folder for index.html, claims.json and the figures."
)
_ONLY = typer.Option(None, "--only", metavar="NAME", help="A figure by name, tables, claims or adaptive; repeatable.")
_NIGENS = typer.Option(None, "--nigens", metavar="DIR", help="NIGENS corpus, or its event lengths as .npy.")
_AUDIOSET = typer.Option(None, "--audioset", metavar="PATH", help="AudioSet strong labels: file or folder.")
_ANNOTATIONS = typer.Option(None, "--annotations", metavar="FILE", help="Strong annotations, for the offsets (A.4).")
_AUDIO = typer.Option(None, "--audio", metavar="DIR", help="Recordings with annotations, for adaptive; repeatable.")
_DCASE = typer.Option(None, "--dcase2017", metavar="DIR", help="Weak and strong labels of DCASE 2017 task 4.")


@app.command("reproduce", help=_HELP)
def reproduce(
    out: Path = _OUT,
    only: list[str] = _ONLY,
    quick: bool = typer.Option(False, "--quick", help="Small simulations: seconds instead of a minute."),
    seed: int = typer.Option(1, "--seed", min=0, help="Of everything random."),
    nigens: Path = _NIGENS,
    audioset: Path = _AUDIOSET,
    annotations: list[Path] = _ANNOTATIONS,
    dcase2017: Path = _DCASE,
    audio: list[Path] = _AUDIO,
    workers: int = typer.Option(1, "--workers", min=1, help="Processes for the simulations."),
    verbose: bool = typer.Option(False, "--verbose", help="Every claim, with what was measured."),
    force: bool = FORCE,
    json: bool = JSON,
) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from contextlib import nullcontext

    from ..paper import reproduce as run

    with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as executor:
        found = run(
            out=out,
            only=only or None,
            quick=quick,
            seed=seed,
            nigens=nigens,
            audioset=audioset,
            annotations=annotations or None,
            dcase2017=dcase2017,
            audio=audio or (),
            executor=executor,
            progress=not json,
            command=command_line(),
        )
    if json:
        print_json(found)
    else:
        if found.claims:
            say(f"{found.summary}\n")
            rows = [(name, *row.values()) for name, row in found.counts.items()]
            print_rows(["claims", *found.counts["all"]], rows)
            frame = found.to_frame()
            listed = frame if verbose else frame[frame["verdict"] != "holds"]
            say()
            print_table(listed[["name", "verdict", "erratum", *(["measured"] if verbose else [])]])
            say()
        shown = f"{len(found.pictures)} figures, {len(found.tables)} tables in {found.seconds:.1f} s"
        say(shown if out is not None else f"{shown}; --out DIR writes them, --verbose shows more")
        if out is not None:
            wrote(out / "index.html")
    if found.changed:
        names = ", ".join(row.claim.name for row in found.changed)
        typer.echo(f"weakly: verdicts differ from the record: {names}", err=True)
        raise typer.Exit(1)
