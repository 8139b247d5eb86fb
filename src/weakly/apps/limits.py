"""Who may ask, and how much: the Host check, the size of a body, the headers of every answer."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: Scripts and requests only from this server. Plotly sets styles from its script, hence the one relaxation.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "media-src 'self' blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
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
