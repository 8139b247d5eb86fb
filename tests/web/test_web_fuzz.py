"""Questions made from the OpenAPI description, good and bad: the server never fails."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from starlette.testclient import TestClient

from weakly.web import Limits, create_app

STRONG = "filename\tonset\toffset\tevent_label\na.wav\t1\t2\tdog\na.wav\t4\t7\tdog\nb.wav\t3\t5\tcat\n"
WEAK = "file,start_time,end_time,dog\na.wav,0,5,1\na.wav,5,10,0\nb.wav,0,5,0\n"
APP = create_app(limits=Limits(seconds=12.0, events=20_000, queries=1000), names=["testserver"], warm=False)


async def running(scope, receive, send):
    """The application, which schemathesis would start and stop for each question."""
    if scope["type"] != "lifespan":
        return await APP(scope, receive, send)
    for word in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{word}.complete"})


# Reports take the questions of plan and audit, and draw pictures each time.
schema = schemathesis.openapi.from_asgi("/openapi.json", running).exclude(path_regex="/api/report/")


@pytest.fixture(scope="module")
def web():
    with TestClient(APP) as client:
        yield client


@pytest.fixture(scope="module")
def keys(web):
    """The keys of two files that the server knows; they stand in for the random ones of the questions."""
    found = {}
    for kind, text, fields in (("events", STRONG, ("file", "strong")), ("answers", WEAK, ("weak",))):
        answer = web.post("/api/upload", files={"file": ("a.csv", text)}, data={"kind": kind, "recording_length": 10})
        found.update(dict.fromkeys(fields, answer.json()["key"]))
    return found


@schema.parametrize()
@settings(max_examples=6, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_no_question_breaks_the_server(case, keys):
    if isinstance(case.body, dict):
        known = {name: key for name, key in keys.items() if isinstance(case.body.get(name), str)}
        case.body = {**case.body, **known} if "/upload" not in case.path else case.body
    response = case.call(timeout=60)
    assert response.status_code < 500, response.text
    assert str(response.status_code) in {*case.operation.responses.status_codes, "405"}, response.text
    assert response.headers["content-security-policy"]
    if response.status_code == 422:
        assert set(response.json()) == {"field", "message"}


@pytest.mark.parametrize("path", [path for path in schema.raw_schema["paths"] if path != "/api/symbols"])
@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data", "multipart/form-data; boundary=B"])
def test_a_broken_body_is_answered_as_described(path, kind, web):
    answer = web.post(path, content=b"\xff{--B", headers={"content-type": kind})
    assert str(answer.status_code) in schema.raw_schema["paths"][path]["post"]["responses"], answer.text


def test_the_description_covers_every_address():
    asked = {
        "plan",
        "labels",
        "evaluate",
        "simulate",
        "audit",
        "upload",
        "queries",
        "report/plan",
        "report/evaluate",
        "report/simulate",
        "report/audit",
        "example",
    }
    assert set(schema.raw_schema["paths"]) == {f"/api/{name}" for name in (*asked, "symbols")}
