"""`weakly serve`: the page, with sliders and pictures, on this machine."""

from __future__ import annotations

import typer

from . import app

_HELP = """Open a page with sliders and pictures for plan, evaluate, simulate and audit.

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


@app.command("serve", help=_HELP)
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
    from ..errors import optional

    for module in ("fastapi", "uvicorn", "plotly", "python_multipart"):
        optional(module, extra="web")
    from ..web import Limits, serve

    limits = Limits(upload_mb=max_upload_mb, rows=max_rows, seconds=max_seconds, memory_mb=max_memory_mb)
    serve(host=host, port=port, open_browser=browser, names=names, limits=limits)
