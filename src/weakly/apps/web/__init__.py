"""The same calls over HTTP, and the page: parse, call, answer; no arithmetic, no file of the server in reach.

Here are the addresses. ``calls`` holds what may be asked, from the table of symbols, and how it is answered,
``uploads`` the annotation files that people send, ``jobs`` work that reports progress and can be cancelled.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

from ...base.errors import optional
from ...base.symbols import SYMBOLS, pairs
from ..serving import STATIC as SHARED
from ..serving import Guard, Limits, Recent, add_parts, handle_errors, is_loopback, listen, problem, static_parts
from . import calls, timelines
from .jobs import PATIENCE, Busy, Workers, WorkerTask, finish, stream, within
from .uploads import EXAMPLE, Sent, Shelf

optional("fastapi", extra="web")
optional("python_multipart", extra="web")

from fastapi import FastAPI, File, Form, Request, UploadFile  # noqa: E402
from fastapi.responses import JSONResponse, Response, StreamingResponse  # noqa: E402

__all__ = ["Limits", "create_app", "serve"]
STATIC = Path(__file__).parent / "static"


def _said(body: bytes, notes: list[str]) -> Response:
    headers = {"Weakly-Notes": json.dumps(notes)[:8000]} if notes and len(json.dumps(notes)) < 8000 else {}
    return Response(body, media_type="application/json", headers=headers)


def create_app(
    *,
    limits: Limits | None = None,
    host: str = "127.0.0.1",
    names: Iterable[str] = (),
    token: str | None = None,
    warm: bool = True,
) -> FastAPI:
    """The application, to be run by any ASGI server.

    Parameters
    ----------
    limits : how much one request may ask for.
    host, names : where the server listens, and further names by which it may be called.
    token : what every question must bring along, ``Authorization: Bearer TOKEN``; None lets everybody in.
    warm : whether to compile and load what the first question needs, in the background.
    """
    limits = limits or Limits()
    workers = Workers(limits, warm=warm)
    kept: Recent[tuple[bytes, list[str]]] = Recent(limits.answers, most_bytes=64_000_000)
    shelf = Shelf(workers.folder, limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> Any:
        if warm:
            threading.Thread(target=workers.prepare, daemon=True).start()
        yield
        workers.close()

    app = FastAPI(
        title="weakly",
        version=metadata.version("weakly"),
        description="Know how good weak labels are before you pay for them. Answers are the JSON of the command line.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.add_middleware(Guard, limits=limits, host=host, names=names, token=token)
    handle_errors(app)
    parts = static_parts(STATIC) | static_parts(SHARED)
    parts["/"] = parts.pop("/static/index.html")
    script = Path(str(optional("plotly", extra="web").__file__)).parent / "package_data" / "plotly.min.js"
    add_parts(app, parts | {"/plotly.js": (script.read_bytes(), "text/javascript")})

    def start(work: Any, question: calls.Question) -> Any:
        shelf.touch(question.model_dump().values())
        return workers.start(WorkerTask(work, question, calls.plan_key(question)))

    async def respond(name: str, request: Request, question: calls.Question, work: Any) -> Response:
        key = hashlib.sha256(f"{name} {question.model_dump_json()}".encode()).hexdigest()
        hit = kept.get(key)
        if hit is not None:
            return _said(*hit)
        job, future = start(work, question)

        def keep(done: asyncio.Future[bytes]) -> None:
            if not done.cancelled() and done.exception() is None:
                kept.put(key, (done.result(), job.notes), size=len(done.result()))

        future.add_done_callback(keep)
        if not await within(future, PATIENCE) and "application/x-ndjson" in request.headers.get("accept", ""):
            lines = stream(job, future, partial(problem, fields=type(question).model_fields))
            return StreamingResponse(lines, media_type="application/x-ndjson")
        return await waited(job, future, request, question, lambda body: _said(body, job.notes))

    async def to_file(name: str, kind: str, request: Request, question: calls.Question, work: Any) -> Response:
        # A report holds its own pictures and styles, and is for keeping: it never runs in the page's place.
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        give = partial(Response, media_type=kind, headers=headers)
        job, future = start(work, question)
        return await waited(job, future, request, question, give)

    async def waited(job: Any, future: Any, request: Request, question: calls.Question, give: Any) -> Response:
        try:
            response: Response = give(await finish(job, future, request.is_disconnected))
            return response
        except Exception as error:
            status, words = problem(error, type(question).model_fields)
            return JSONResponse(words, status)

    refused: Any = {status: {"model": calls.Problem} for status in (400, 408, 413, 422, 429)}
    asked: Any = {**refused, 200: {"content": {"application/json": {"schema": {"type": "object"}}}}}

    @app.get("/api/symbols")
    def symbols() -> dict[str, Any]:
        """Every quantity with its symbol, unit, domain and typical range."""
        shown = ("latex", "unit", "domain", "typical", "meaning")
        return {
            name: {field: getattr(each, field) for field in shown} | {"plain": each.plain or name.replace("_", " ")}
            for name, each in SYMBOLS.items()
        }

    @app.post("/api/upload", responses=refused)
    async def upload(
        request: Request,
        file: Annotated[UploadFile, File(description="annotations in any format that weakly reads")],
        kind: Annotated[Literal["events", "answers"], Form()] = "events",
        recording_length: Annotated[calls.RecordingLength | None, Form()] = None,
        columns: Annotated[str | None, Form(max_length=1000, examples=["onset=start,offset=end"])] = None,
        on_error: Annotated[Literal["raise", "skip"], Form()] = "raise",
    ) -> calls.Received:
        """Send an annotation file once; questions name it by the key that comes back."""
        data = await file.read()
        named = pairs((columns or "").strip() or None, name="columns", example="onset=start,offset=end") or None
        options = {"recording_length": recording_length, "columns": named, "on_error": on_error}
        return await kept_file(request, data, (file.filename or "file").strip("/") or "file", kind, options)

    @app.post("/api/example", responses=refused)
    async def example(request: Request, kind: Literal["events", "answers"] = "events") -> calls.Received:
        """The bundled example, kept as if it had been sent: birds in forty one-minute recordings."""
        return await kept_file(request, b"", EXAMPLE, kind, {})

    async def kept_file(request: Request, data: bytes, name: str, kind: str, options: Any) -> calls.Received:
        key = shelf.put(data)
        try:
            job, future = workers.start(WorkerTask(calls.received, Sent(key, name, kind, options)))
        except Busy:
            shelf.drop(key)
            raise
        try:
            found = await finish(job, future, request.is_disconnected)
        except BaseException:
            future.add_done_callback(lambda _: shelf.drop(key))  # not before: work that is being stopped may write yet
            raise
        return calls.Received.model_validate_json(found)

    for name, question, work in timelines.QUESTIONS:
        _add_address(app, name, question, work, partial(respond, name), asked)
    for name, question, work, filename, media in timelines.FILES:
        described = {**refused, 200: {"content": {media: {"schema": {"type": "string"}}}}}
        _add_address(app, name, question, work, partial(to_file, filename, media), described)
    return app


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    open_browser: bool = True,
    names: Sequence[str] = (),
    limits: Limits | None = None,
) -> None:
    """Run the page until it is interrupted; port 0 takes any free one."""
    token = secrets.token_hex(16)  # on this machine too, which others may have an account on

    def at(address: str) -> Any:
        page = f"{address}#token={token}"
        print(f"weakly is at {page} (stop with Ctrl-C)", file=sys.stderr, flush=True)
        if not is_loopback(host):
            print("weakly: note: other machines can reach this page; whoever has the link may ask", file=sys.stderr)
        return create_app(limits=limits, host=host, names=names, token=token), page

    listen(at, host=host, port=port, open_browser=open_browser)


def _add_address(app: FastAPI, name: str, model: Any, work: Any, respond: Any, responses: Any) -> None:
    """An address that takes a question of this model; ``respond`` answers it by what ``work`` gives."""

    async def endpoint(question: Any, request: Request) -> Response:
        response: Response = await respond(request, question, work)
        return response

    endpoint.__annotations__ = {"question": model, "request": Request, "return": Response}
    endpoint.__doc__ = getattr(work, "func", work).__doc__  # of a partial one, that of its function
    app.post(f"/api/{name}", name=name, responses=responses, response_class=Response)(endpoint)
