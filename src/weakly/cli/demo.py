"""`weakly demo`: the main job on the bundled example."""

from __future__ import annotations

import shlex
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import typer

from ..base.errors import optional
from ..base.results import counted
from .common import Outlet, command, command_line, deliver, fresh, option, print_json, print_table, say, wrote

_HELP = """Plan the labeling of the bundled example and write its report.

Examples:

  weakly demo

  weakly demo --out demo
"""


_FOLDER = option(
    "Folder for the pilot, the report and the figures.", Path("demo"), "--out", metavar="DIR", callback=fresh
)


@command("demo", _HELP, leaving="json out force", out=_FOLDER)
def demo(*, outlet: Outlet) -> None:
    """Run the plan on the bundled example; begins with the answer and ends with where the report is."""
    from ..model.cost import Cost
    from ..studies.plan.planner import plan
    from ..studies.simulate import PILOT, pilot
    from .plan import show

    out = outlet.out or Path("demo")
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(PILOT, out / "pilot.tsv")
    result = plan(pilot(), presence_criterion=0.4, total_hours=20, cost=Cost(per_hour=20))
    options = "--presence-criterion 0.4 --total-hours 20 --per-hour 20"
    typed = f"weakly plan {shlex.quote(str(out / 'pilot.tsv'))} {options}"
    deliver(result, Outlet(outlet.json, out, out / "plan.html"), name="plan", show=show, command=typed)
    if not outlet.json:
        typer.echo(f"\nThe report: {(out / 'plan.html').resolve()}")


_REPRODUCE_HELP = """Reproduce the paper: every figure, both tables, and a verdict on every claim.

Ends with exit code 1 if a verdict differs from the one on record. Figures need no data: summary statistics of NIGENS
and AudioSet are part of the package.

Examples:

  weakly reproduce --quick --out paper

  weakly reproduce --only single_event --only claims --seed 3
"""
_OUT = option("Folder for index.html, claims.json and the figures.", None, "--out", metavar="DIR", callback=fresh)


@command("reproduce", _REPRODUCE_HELP, leaving="json out force", out=_OUT)
def reproduce(
    only: list[str] = option("A figure by name, tables or claims; repeatable.", metavar="NAME"),
    quick: bool = option("Small simulations: seconds instead of a minute.", False, "--quick"),
    seed: int = option("Of everything random.", 1, min=0),
    nigens: Path = option("NIGENS corpus, or its event lengths as .npy.", metavar="DIR"),
    audioset: Path = option("AudioSet strong labels: file or folder.", metavar="PATH"),
    annotations: list[Path] = option("Strong annotations, for the offsets (A.4).", metavar="FILE"),
    workers: int = option("Processes for the simulations.", 1, min=1),
    verbose: bool = option("Every claim, with what was measured.", False, "--verbose"),
    *,
    outlet: Outlet,
) -> None:
    """Draw and measure."""
    from concurrent.futures import ProcessPoolExecutor

    import pandas as pd

    from ..apps.paper import reproduce as run

    with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as executor:
        data: Any = {"nigens": nigens, "audioset": audioset, "annotations": annotations or None}
        how: Any = {"executor": executor, "progress": not outlet.json, "command": command_line()}
        found = run(out=outlet.out, only=only or None, quick=quick, seed=seed, **data, **how)
    if outlet.json:
        print_json(found)
    else:
        if found.claims:
            say(f"{found.summary}\n")
            print_table(pd.DataFrame(found.counts).T.rename_axis("claims").reset_index())
            frame = found.to_frame()
            listed = frame if verbose else frame[frame["verdict"] != "holds"]
            say()
            print_table(listed[["name", "verdict", "erratum", *(["measured"] if verbose else [])]])
            say()
        shown = (
            f"{counted(len(found.pictures), 'figure')}, {counted(len(found.tables), 'table')} in {found.seconds:.1f} s"
        )
        say(shown if outlet.out is not None else f"{shown}; --out DIR writes them, --verbose shows more")
        if outlet.out is not None:
            wrote(outlet.out / "index.html")
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


@command("serve", _SERVE_HELP, leaving="")
def serve(
    host: str = option("Address to listen on; 0.0.0.0 lets other machines in.", "127.0.0.1"),
    port: int = option("Port to listen on; 0 takes any free one.", 8765, min=0, max=65535),
    browser: bool = option("Open the page in a browser.", True, "--open/--no-open"),
    names: list[str] = option("A further name of the server; repeatable.", [], "--allow-host", metavar="NAME"),
    max_upload_mb: float = option("Largest file that may be sent.", 64.0, min=0.001),
    max_rows: int = option("Most rows that a file may have.", 2_000_000, min=1),
    max_seconds: float = option("Longest that one question may take.", 120.0, min=0.1),
    max_memory_mb: float = option("Memory of all questions together.", 1500.0, min=100),
) -> None:
    """Run the page until it is interrupted."""
    for module in ("fastapi", "uvicorn", "plotly", "python_multipart"):
        optional(module, extra="web")
    from ..apps.serving import Limits
    from ..apps.web import serve

    limits = Limits(upload_mb=max_upload_mb, rows=max_rows, seconds=max_seconds, memory_mb=max_memory_mb)
    serve(host=host, port=port, open_browser=browser, names=names, limits=limits)
