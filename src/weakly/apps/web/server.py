"""The server process: a free socket, the warm-up, and uvicorn."""

from __future__ import annotations

import html
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...base.errors import InvalidInput, optional
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

    token = secrets.token_hex(16)  # on this machine too, which others may have an account on

    def at(address: str) -> Any:
        page = f"{address}#token={token}"
        print(f"weakly is at {page} (stop with Ctrl-C)", file=sys.stderr, flush=True)
        if not is_loopback(host):
            print("weakly: note: other machines can reach this page; whoever has the link may ask", file=sys.stderr)
        return create_app(limits=limits, host=host, names=names, token=token), page

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
            threading.Thread(target=_open, args=(page,), daemon=True).start()
        if threading.current_thread() is threading.main_thread():  # uvicorn ends by the signal, which must tidy up
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, lifespan="on", http=_impatient()
        )
        uvicorn.Server(config).run(sockets=[listener])


def _open(page: str) -> None:
    """Open a page without its token among the browser's arguments, which everybody on the machine can list."""
    time.sleep(0.8)  # until the server listens
    with tempfile.TemporaryDirectory(prefix="weakly-open-") as private:
        way = Path(private) / "open.html"
        way.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(page)}">', encoding="utf-8")
        webbrowser.open(way.as_uri())
        time.sleep(60)  # until the browser has read it


def _impatient(seconds: float = 10.0, most: int = 256) -> Any:
    """uvicorn's protocol, which lets go of whoever connects and does not ask: after a while, or when there are many."""
    base = optional("uvicorn.protocols.http.h11_impl", extra="web").H11Protocol
    silent: OrderedDict[Any, Any] = OrderedDict()  # connections in the middle of a head, with their timers

    class Impatient(base):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            is_answering = self.cycle is not None and not self.cycle.response_complete
            if is_answering:
                self._heard()
            elif self not in silent:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._heard()
            super().connection_lost(exc)

        def _wait(self) -> None:
            silent[self] = self.loop.call_later(seconds, self._drop)
            if len(silent) > most:
                next(iter(silent))._drop()

        def _heard(self) -> None:
            timer = silent.pop(self, None)
            if timer is not None:
                timer.cancel()

        def _drop(self) -> None:
            self._heard()
            if self.transport is not None and not self.transport.is_closing():
                self.transport.abort()

    return Impatient
