"""How a page is served: who may ask and how much, its parts, its errors, and the process that listens.

What ``web`` and ``label`` share.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import html
import ipaddress
import json
import logging
import math
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..base.errors import InvalidInput, MissingExtra, WeaklyError, optional

optional("fastapi", extra="web")

from fastapi import FastAPI, Request  # noqa: E402
from fastapi.exceptions import RequestValidationError  # noqa: E402
from fastapi.responses import JSONResponse, Response  # noqa: E402
from starlette.exceptions import HTTPException  # noqa: E402

T = TypeVar("T")
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
    @app.exception_handler(WeaklyError)
    async def failed(request: Request, error: Exception) -> JSONResponse:
        status, words = problem(error, ("file", "kind"))
        return JSONResponse(words, status)


def static_parts(folder: Path, *names: str) -> dict[str, tuple[bytes, str]]:
    """The files of a folder (those of these names) by their address, with their media types."""
    paths = sorted(folder.iterdir()) if not names else [folder / name for name in names]
    return {f"/static/{path.name}": (path.read_bytes(), _TYPES[path.suffix]) for path in paths}


def add_parts(app: FastAPI, parts: dict[str, tuple[bytes, str]]) -> None:
    """Serve the parts of a page, which are read once, at the start: no request is ever turned into a path."""

    def add(path: str, body: bytes, kind: str) -> None:
        tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'

        async def part(request: Request) -> Response:
            headers = {"ETag": tag, "Cache-Control": "no-cache"}
            if request.headers.get("if-none-match") == tag:
                return Response(status_code=304, headers=headers)
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


#: Scripts and requests only from this server. Plotly sets styles from its script, hence the one relaxation.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
OPEN = ("/", "/plotly.js", "/openapi.json")  # what needs no token, besides /static/
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(frozen=True)
class Limits:
    """How much one request may ask for, and how much the server remembers."""

    upload_mb: float = 64.0
    rows: int = 2_000_000
    body_kb: float = 256.0  # a JSON question
    seconds: float = 120.0  # of one piece of work
    pause: float = 10.0  # seconds in which a sender must go on
    memory_mb: float = 1500.0  # of all pieces of work together
    workers: int = 4  # long pieces of work at once
    waiting: int = 256  # pieces of work in the queue
    uploads: int = 32  # parsed files kept
    uploads_mb: float = 512.0  # their size on the wire, together
    answers: int = 256  # answers kept
    events: int = 50_000_000  # that one simulation may draw
    queries: int = 200_000  # in one file

    def body(self, path: str) -> float:
        """The largest body in bytes that this address takes."""
        return self.upload_mb * 1e6 if path == "/api/upload" else self.body_kb * 1e3


class Recent(Generic[T]):
    """The last values by key: the oldest make room when there are too many, or when they are too large together."""

    def __init__(self, most: int, *, most_bytes: float = math.inf) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._kept: OrderedDict[str, tuple[T, int]] = OrderedDict()

    def get(self, key: str) -> T | None:
        """The value, if it is still here."""
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def put(self, key: str, value: T, *, size: int = 0) -> T:
        """Keep the value, unless it takes a quarter of the room alone."""
        if key not in self._kept and size <= self._most_bytes / 4:
            self._kept[key] = (value, size)
            while len(self._kept) > self._most or sum(each for _, each in self._kept.values()) > self._most_bytes:
                self._kept.popitem(last=False)
        return value


def host_name(value: str) -> str:
    """The name in a Host header, without its port and in lower case; what is no host and port stays as it is.

    >>> host_name("LocalHost:8765"), host_name("[::1]:80"), host_name("[::1].evil")
    ('localhost', '::1', '[::1].evil')
    """
    value = value.strip().lower()
    found = re.fullmatch(r"\[([0-9a-f:.]+)\](?::\d+)?|([^\[\]:]*)(?::\d+)?", value)
    return value if found is None else found[1] or found[2]


def bearer(header: str) -> str:
    """The token of an Authorization header; "" if it has none.

    >>> bearer("Bearer abc"), bearer("Basic abc")
    ('abc', '')
    """
    kind, _, token = header.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


class Guard:
    """Refuses foreign hosts, other sites' pages and bodies that are too large; signs every answer with the headers.

    With a ``token``, nothing is answered without it but the page itself, which holds nothing of anybody's.

    A page elsewhere can point its own name at 127.0.0.1 and talk to this server as if it were its own (DNS
    rebinding); its requests still carry that name in the Host header, which is not one of ours.
    """

    def __init__(
        self, app: Any, *, limits: Limits, host: str = "127.0.0.1", names: Iterable[str] = (), token: str | None = None
    ) -> None:
        self.app, self.limits, self.token = app, limits, token
        self.names = {"localhost", "127.0.0.1", "::1", host, *(name.lower() for name in names)}
        self.any_address = not is_loopback(host)  # an address is no name that could be rebound

    def _refusal(self, scope: Any, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        name = host_name(headers.get(b"host", b"").decode("latin-1"))
        if name not in self.names and not (self.any_address and _is_address(name)):
            return 421, f"this server does not answer to the host {name!r}; start it with --allow-host {name}"
        origin = headers.get(b"origin")
        if origin is not None and scope["method"] not in ("GET", "HEAD"):
            site = origin.decode("latin-1").partition("://")[2]
            if site != headers.get(b"host", b"").decode("latin-1"):
                return 403, "this server answers only its own page"
        given = bearer(headers.get(b"authorization", b"").decode("latin-1"))
        is_open = self.token is None or scope["path"] in OPEN or scope["path"].startswith("/static/")
        if not is_open and not hmac.compare_digest(given.encode(), str(self.token).encode()):
            return 401, "this page needs its token: open the link that weakly serve printed when it started"
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            return 400, "content-length must be a whole number"
        if int(length) > self.limits.body(scope["path"]):
            return 413, self._too_large(scope["path"])
        return None

    def _too_large(self, path: str) -> str:
        if path == "/api/upload":
            return f"a file may have at most {self.limits.upload_mb:g} MB; start the server with --max-upload-mb"
        return f"a question may have at most {self.limits.body_kb:g} kB"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, started = time.perf_counter(), False

        async def signed(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                spent = f"app;dur={1000 * (time.perf_counter() - began):.2f}".encode()
                extra = [*HEADERS, (b"server-timing", spent)]
                if scope["path"].startswith("/api/"):
                    extra.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        refusal = self._refusal(scope, dict(scope["headers"]))
        if refusal is not None:
            await _refuse(signed, *refusal)
            return
        left, refused, complete = self.limits.body(scope["path"]), False, False

        async def bounded() -> Any:
            nonlocal left, refused, complete
            try:  # whoever sends half a question does not keep it open
                message = await asyncio.wait_for(receive(), None if complete else self.limits.pause)
            except TimeoutError:
                message = {"type": "http.disconnect"}
                if not started:
                    refused = True
                    await _refuse(signed, 408, f"nothing more came for {self.limits.pause:g} seconds")
            complete = complete or not message.get("more_body", False)
            left -= len(message.get("body", b""))
            if left < 0 and not refused:  # whatever the Content-Length said
                refused = True
                if not started:
                    await _refuse(signed, 413, self._too_large(scope["path"]))
            return {"type": "http.disconnect"} if refused else message

        async def unless_refused(message: Any) -> None:
            if not refused:
                await signed(message)

        try:
            await self.app(scope, bounded, unless_refused)
        except Exception:
            if not refused:
                raise


async def _refuse(send: Any, status: int, message: str) -> None:
    body = json.dumps({"field": None, "message": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
