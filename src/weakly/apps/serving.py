"""How a page is served: its parts, its errors, and the process that listens; what ``web`` and ``label`` share."""

from __future__ import annotations

import hashlib
import html
import logging
import re
import signal
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..base.errors import InvalidInput, MissingExtra, WeaklyError, optional

optional("fastapi", extra="web")

from fastapi import FastAPI, Request  # noqa: E402
from fastapi.exceptions import RequestValidationError  # noqa: E402
from fastapi.responses import JSONResponse, Response  # noqa: E402
from starlette.exceptions import HTTPException  # noqa: E402

STATIC = Path(__file__).parent / "static"  # what all pages share
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_log = logging.getLogger("weakly.apps")


def field_of(message: str, fields: Iterable[str]) -> str | None:
    """The field that an error message is about: the one it names first.

    >>> field_of("presence_criterion must be in (0, 1], got 50", ["recording_length", "presence_criterion"])
    'presence_criterion'
    """
    known = set(fields)
    return next((word for word in re.findall(r"[a-z_]+", message) if word in known), None)


def problem(error: Exception, fields: Iterable[str] = ()) -> tuple[int, dict[str, Any]]:
    """The status and body that tell of an error; what is not ours is logged and not shown."""
    if isinstance(status := getattr(error, "status", None), int):  # of the queue: too much at once, stopped
        return status, {"field": None, "message": str(error)}
    if isinstance(error, (WeaklyError, MissingExtra)):
        return 422, {"field": field_of(str(error), fields), "message": str(error)}
    _log.error("a question failed", exc_info=error)
    return 500, {"field": None, "message": "something went wrong on the server; this is a bug in weakly"}


def _vagueness(error: Any) -> int:
    """Where a field takes several kinds of values, each complains: ours say most, a wrong type the least."""
    kind = str(error["type"])
    return 0 if kind == "value_error" else 2 if kind.endswith(("_type", "_parsing")) else 1


def handle_errors(app: FastAPI) -> None:
    """Every error as {field, message}: the field it is about, and one sentence."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        found = error.errors()
        first = min(found, key=_vagueness)
        place = [str(part) for part in first["loc"] if part not in ("body", "query")]
        message = re.sub(r"^(Value error|Assertion failed), ", "", str(first["msg"]))
        field = place[0] if place else None
        if field is not None and field not in message:
            message = f"{field}: {message[:1].lower()}{message[1:]}"
        return JSONResponse({"field": field, "message": message[:2000]}, 422)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"field": None, "message": str(error.detail)}, error.status_code, headers=error.headers)

    @app.exception_handler(Exception)
    async def bug(request: Request, error: Exception) -> JSONResponse:
        status, words = problem(error)
        return JSONResponse(words, status)

    @app.exception_handler(WeaklyError)
    async def ours(request: Request, error: WeaklyError) -> JSONResponse:
        status, words = problem(error, ("file", "kind"))
        return JSONResponse(words, status)


def static_parts(folder: Path, *names: str) -> dict[str, tuple[bytes, str]]:
    """The files of a folder (those of these names) by their address, with their media types."""
    paths = sorted(folder.iterdir()) if not names else [folder / name for name in names]
    return {f"/static/{path.name}": (path.read_bytes(), _TYPES[path.suffix]) for path in paths}


def add_parts(app: FastAPI, parts: dict[str, tuple[bytes, str]]) -> None:
    """Serve the parts of a page, which are read once, at the start: no request is ever turned into a path."""
    import gzip

    def add(path: str, body: bytes, kind: str) -> None:
        tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
        packed = gzip.compress(body, 6) if len(body) < 1e6 else None

        async def part(request: Request) -> Response:
            headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
            if request.headers.get("if-none-match") == tag:
                return Response(status_code=304, headers=headers)
            if packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
                return Response(packed, media_type=kind, headers={**headers, "Content-Encoding": "gzip"})
            return Response(body, media_type=kind, headers=headers)

        app.add_api_route(path, part, methods=["GET"], include_in_schema=False)

    for path, (body, kind) in parts.items():
        add(path, body, kind)


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
