"""The server process: a free socket, the warm-up, and uvicorn."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from typing import Any

from ..limits import Limits, is_loopback


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    open_browser: bool = True,
    names: Sequence[str] = (),
    limits: Limits | None = None,
) -> None:
    """Run the page until it is interrupted; port 0 takes any free one."""
    from ..serving import listen
    from .app import create_app

    token = secrets.token_hex(16)  # on this machine too, which others may have an account on

    def at(address: str) -> Any:
        page = f"{address}#token={token}"
        print(f"weakly is at {page} (stop with Ctrl-C)", file=sys.stderr, flush=True)
        if not is_loopback(host):
            print("weakly: note: other machines can reach this page; whoever has the link may ask", file=sys.stderr)
        return create_app(limits=limits, host=host, names=names, token=token), page

    listen(at, host=host, port=port, open_browser=open_browser)
