"""The server process: a free socket, the warm-up, and uvicorn."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InvalidInput, optional
from .limits import Limits, is_loopback


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    open_browser: bool = True,
    names: Sequence[str] = (),
    limits: Limits | None = None,
) -> None:
    """Run the page until it is interrupted; port 0 takes any free one."""
    from .app import create_app

    def at(address: str) -> Any:
        print(f"weakly is at {address} (stop with Ctrl-C)", file=sys.stderr, flush=True)
        if not is_loopback(host):
            print("weakly: note: other machines can reach this page, and it asks for no password", file=sys.stderr)
        return create_app(limits=limits, host=host, names=names), address

    listen(at, host=host, port=port, open_browser=open_browser)


def listen(at: Callable[[str], tuple[Any, str]], *, host: str, port: int, open_browser: bool) -> None:
    """Run an application until it is interrupted. ``at`` is told the address, and gives it and the page to open."""
    uvicorn = optional("uvicorn", extra="web")
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"cannot listen on host {host}, port {port}: {error}; try another --port") from error
    with listener:
        # Small answers must not wait for an acknowledgement that the other side delays.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        shown = f"[{host}]" if ":" in host else host
        app, page = at(f"http://{shown}:{listener.getsockname()[1]}/")
        if open_browser:
            threading.Timer(0.8, webbrowser.open, (page,)).start()
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="on")
        uvicorn.Server(config).run(sockets=[listener])
