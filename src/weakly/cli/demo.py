"""`weakly demo`: the main job on the bundled example."""

from __future__ import annotations

from pathlib import Path

import typer

from . import app
from .common import FORCE, JSON, command_line, fresh, print_json, print_rows, print_table, say, wrote

_HELP = """Plan the labeling of the bundled example and write its report.

Examples:

  weakly demo

  weakly demo --out demo
"""


_FOLDER = typer.Option(
    Path("demo"), "--out", metavar="DIR", callback=fresh, help="Folder for the pilot, the report and the figures."
)


@app.command("demo", help=_HELP)
def demo(out: Path = _FOLDER, force: bool = FORCE, json: bool = JSON) -> None:
    """Run the plan on the bundled example; begins with the answer and ends with where the report is."""
    import shlex
    import shutil

    from ..model.cost import Cost
    from ..studies.example import PILOT, pilot
    from ..studies.plan.planner import plan
    from .plan import deliver

    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(PILOT, out / "pilot.tsv")
    made = plan(
        pilot(),
        presence_criterion=0.4,
        total_hours=20,
        cost=Cost(per_second=0.005, per_query=0.02, currency="EUR"),
    )
    options = "--recording-length 60 --presence-criterion 0.4 --total-hours 20 --per-second 0.005 --per-query 0.02"
    command = f"weakly plan {shlex.quote(str(out / 'pilot.tsv'))} {options}"
    deliver(made, json=json, out=out, report=out / "plan.html", command=command)
    if not json:
        typer.echo(f"\nThe report: {(out / 'plan.html').resolve()}")


_REPRODUCE_HELP = """Reproduce the paper: every figure, both tables, and a verdict on every claim.

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


@app.command("reproduce", help=_REPRODUCE_HELP)
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

    from ..apps.paper import reproduce as run

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


_SERVE_HELP = """Open a page with sliders and pictures for plan, evaluate, simulate and audit.

It listens on this machine only, unless --host says otherwise. The link that opens and is printed carries a token:
nobody without it is answered (scripts send Authorization: Bearer TOKEN). Nothing that you type or send leaves the
server.

Examples:

  weakly serve

  weakly serve --port 9000 --no-open --max-upload-mb 200
"""
_NAMES = typer.Option(
    [], "--allow-host", metavar="NAME", help="A further name by which the server may be called; repeat for more."
)


@app.command("serve", help=_SERVE_HELP)
def serve(
    host: str = typer.Option("127.0.0.1", "--host", help="Address to listen on; 0.0.0.0 lets other machines in."),
    port: int = typer.Option(8765, "--port", min=0, max=65535, help="Port to listen on; 0 takes any free one."),
    browser: bool = typer.Option(True, "--open/--no-open", help="Open the page in a browser."),
    names: list[str] = _NAMES,
    max_upload_mb: float = typer.Option(64.0, "--max-upload-mb", min=0.001, help="Largest file that may be sent."),
    max_rows: int = typer.Option(2_000_000, "--max-rows", min=1, help="Most rows that a file may have."),
    max_seconds: float = typer.Option(120.0, "--max-seconds", min=0.1, help="Longest that one question may take."),
    max_memory_mb: float = typer.Option(1500.0, "--max-memory-mb", min=100, help="Memory of all questions together."),
) -> None:
    """Run the page until it is interrupted."""
    from ..base.errors import optional

    for module in ("fastapi", "uvicorn", "plotly", "python_multipart"):
        optional(module, extra="web")
    from ..apps.limits import Limits
    from ..apps.web.server import serve

    limits = Limits(upload_mb=max_upload_mb, rows=max_rows, seconds=max_seconds, memory_mb=max_memory_mb)
    serve(host=host, port=port, open_browser=browser, names=names, limits=limits)
