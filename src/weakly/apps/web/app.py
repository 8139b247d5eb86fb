"""The addresses: the page and its parts, one for each question, one for files; errors name the field they are about."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

from ...base.errors import MissingExtra, WeaklyError, optional
from ...base.symbols import SYMBOLS
from . import calls, models
from .jobs import PATIENCE, Busy, Cancelled, Workers, finish, stream, within
from .limits import Guard, Limits
from .uploads import EXAMPLE, Sent, Shelf

optional("fastapi", extra="web")
optional("python_multipart", extra="web")

from fastapi import FastAPI, File, Form, Request, UploadFile  # noqa: E402
from fastapi.exceptions import RequestValidationError  # noqa: E402
from fastapi.responses import JSONResponse, Response, StreamingResponse  # noqa: E402
from starlette.exceptions import HTTPException  # noqa: E402

STATIC = Path(__file__).parent / "static"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_log = logging.getLogger("weakly.apps.web")


def field_of(message: str, fields: Iterable[str]) -> str | None:
    """The field that an error message is about: the one it names first.

    >>> field_of("presence_criterion must be in (0, 1], got 50", ["recording_length", "presence_criterion"])
    'presence_criterion'
    """
    known = set(fields)
    return next((word for word in re.findall(r"[a-z_]+", message) if word in known), None)


def problem(error: Exception, fields: Iterable[str] = ()) -> tuple[int, dict[str, Any]]:
    """The status and body that tell of an error; what is not ours is logged and not shown."""
    if isinstance(error, Busy):
        return 429, {"field": None, "message": str(error)}
    if isinstance(error, Cancelled):
        return 400, {"field": None, "message": str(error)}
    if isinstance(error, (WeaklyError, MissingExtra)):
        return 422, {"field": field_of(str(error), fields), "message": str(error)}
    _log.error("a question failed", exc_info=error)
    return 500, {"field": None, "message": "something went wrong on the server; this is a bug in weakly"}


class KeptAnswers:
    """The last answers, so that the same question is not worked out twice; bounded in number and size."""

    def __init__(self, most: int, most_bytes: int = 64_000_000) -> None:
        self._most, self._most_bytes, self._bytes = most, most_bytes, 0
        self._kept: OrderedDict[str, tuple[bytes, list[str]]] = OrderedDict()

    def get(self, key: str) -> tuple[bytes, list[str]] | None:
        """The answer and its notes, if they are still here."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put_done(self, key: str, done: Any, notes: list[str]) -> None:
        """Keep the answer of work that ended well; the oldest ones go."""
        if done.cancelled() or done.exception() is not None:
            return
        body = done.result()
        if key in self._kept or len(body) > self._most_bytes // 4:
            return
        self._kept[key] = (body, notes)
        self._bytes += len(body)
        while len(self._kept) > self._most or self._bytes > self._most_bytes:
            self._bytes -= len(self._kept.popitem(last=False)[1][0])


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
    kept, workers = KeptAnswers(limits.answers), Workers(limits, warm=warm)
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
    _add_page(app)

    def start(work: Any, question: models.Question) -> Any:
        from .worker import WorkerTask

        shelf.touch(question.model_dump().values())
        return workers.start(WorkerTask(work, question, calls.plan_key(question)))

    async def respond(request: Request, name: str, question: models.Question, work: Any) -> Response:
        key = hashlib.sha256(f"{name} {question.model_dump_json()}".encode()).hexdigest()
        hit = kept.get(key)
        if hit is not None:
            return _said(*hit)
        fields = type(question).model_fields
        job, future = start(work, question)
        future.add_done_callback(lambda done: kept.put_done(key, done, job.notes))
        if not await within(future, PATIENCE) and "application/x-ndjson" in request.headers.get("accept", ""):
            lines = stream(job, future, lambda error: problem(error, fields))
            return StreamingResponse(lines, media_type="application/x-ndjson")
        try:
            return _said(await finish(job, future, request.is_disconnected), job.notes)
        except Exception as error:
            status, words = problem(error, fields)
            return JSONResponse(words, status)

    async def to_file(request: Request, question: models.Question, work: Any, name: str, kind: str) -> Response:
        job, future = start(work, question)
        try:
            body = await finish(job, future, request.is_disconnected)
        except Exception as error:
            status, words = problem(error, type(question).model_fields)
            return JSONResponse(words, status)
        # A report holds its own pictures and styles, and is for keeping: it never runs in the page's place.
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(body, media_type=kind, headers=headers)

    refused: Any = {status: {"model": models.Problem} for status in (400, 408, 413, 422, 429)}
    asked: Any = {**refused, 200: {"content": {"application/json": {"schema": {"type": "object"}}}}}

    @app.get("/api/symbols")
    def symbols() -> dict[str, Any]:
        """Every quantity with its symbol, unit, domain and typical range."""
        return {
            name: {
                "latex": each.latex,
                "unit": each.unit,
                "domain": each.domain,
                "typical": each.typical,
                "meaning": each.meaning,
                "plain": each.plain or name.replace("_", " "),
            }
            for name, each in SYMBOLS.items()
        }

    @app.post("/api/upload", responses=refused)
    async def upload(
        request: Request,
        file: Annotated[UploadFile, File(description="annotations in any format that weakly reads")],
        kind: Annotated[Literal["events", "answers"], Form()] = "events",
        recording_length: Annotated[models.RecordingLength | None, Form()] = None,
        columns: Annotated[str | None, Form(max_length=1000, examples=["onset=start,offset=end"])] = None,
        on_error: Annotated[Literal["raise", "skip"], Form()] = "raise",
    ) -> models.Received:
        """Send an annotation file once; questions name it by the key that comes back."""
        data = await file.read()
        options = {
            "recording_length": recording_length,
            "columns": models.column_names(columns),
            "on_error": on_error,
        }
        return await kept_file(request, data, (file.filename or "file").strip("/") or "file", kind, options)

    @app.post("/api/example", responses=refused)
    async def example(request: Request, kind: Literal["events", "answers"] = "events") -> models.Received:
        """The bundled example, kept as if it had been sent: birds in forty one-minute recordings."""
        return await kept_file(request, b"", EXAMPLE, kind, {})

    async def kept_file(request: Request, data: bytes, name: str, kind: str, options: Any) -> models.Received:
        from .worker import WorkerTask

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
        return models.Received.model_validate_json(found)

    for name, question, work in calls.QUESTIONS:
        _add_question(app, name, question, work, respond, asked)
    for name, question, work, filename, media in calls.FILES:
        _add_file(app, name, question, work, to_file, refused, filename, media)
    return app


def _add_question(app: FastAPI, name: str, model: Any, work: Any, respond: Any, responses: Any) -> None:
    async def endpoint(question: Any, request: Request) -> Response:
        found: Response = await respond(request, name, question, work)
        return found

    endpoint.__annotations__ = {"question": model, "request": Request, "return": Response}
    endpoint.__doc__ = work.__doc__
    app.post(f"/api/{name}", name=name, responses=responses, response_class=Response)(endpoint)


def _add_file(
    app: FastAPI, name: str, model: Any, work: Any, to_file: Any, responses: Any, filename: str, media: str
) -> None:
    async def endpoint(question: Any, request: Request) -> Response:
        found: Response = await to_file(request, question, work, filename, media)
        return found

    endpoint.__annotations__ = {"question": model, "request": Request, "return": Response}
    endpoint.__doc__ = work.__doc__
    described = {**responses, 200: {"content": {media: {"schema": {"type": "string"}}}}}
    app.post(f"/api/{name}", name=name, responses=described, response_class=Response)(endpoint)


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


def _add_page(app: FastAPI) -> None:
    """The page of this room, with the script that draws its figures."""
    plotly = optional("plotly", extra="web")

    parts = static_parts(STATIC)
    parts["/"] = parts.pop("/static/index.html")
    script = Path(str(plotly.__file__)).parent / "package_data" / "plotly.min.js"
    parts["/plotly.js"] = (script.read_bytes(), "text/javascript")
    add_parts(app, parts)


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
