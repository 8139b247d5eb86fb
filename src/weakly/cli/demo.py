"""`weakly demo`: the main job on the bundled example."""

from __future__ import annotations

from pathlib import Path

import typer

from . import app
from .common import FORCE, JSON, fresh

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

    from ..cost import Cost
    from ..example import PILOT, pilot
    from ..planning import plan
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
