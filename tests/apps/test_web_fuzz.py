"""Questions made from the OpenAPI description, good and bad, to every address of the page: the server never fails."""

import zlib

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from starlette.testclient import TestClient

from weakly.apps.web import Limits, create_app

STRONG = "filename\tonset\toffset\tevent_label\na.wav\t1\t2\tdog\na.wav\t4\t7\tdog\nb.wav\t3\t5\tcat\n"
WEAK = "file,start_time,end_time,dog\na.wav,0,5,1\na.wav,5,10,0\nb.wav,0,5,0\n"
APP = create_app(limits=Limits(seconds=4.0, events=20_000, queries=1000), names=["testserver"], warm=False)


async def running(scope, receive, send):
    """The application, which schemathesis would start and stop for each question."""
    if scope["type"] != "lifespan":
        return await APP(scope, receive, send)
    for word in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{word}.complete"})


schema = schemathesis.openapi.from_dict(
    APP.openapi()
)  # without asking for it: a thread would begin while all is collected
PLAN = {"event_length": "1", "presence_criterion": 0.5, "recording_length": 100, "n_events": 1}
SCORED = {"file": "key", "segment_length": [1, 2], "presence_criterion": 0.5}
DRAWN = {"event_length": "1", "n_recordings": 20, "segment_length": [0.5, 2]}
AUDITED = {"strong": "key", "weak": "key"}
#: A question to every address that is answered, so that what random ones break is not only the first check.
GOOD = {
    **{"plan": PLAN, "evaluate": SCORED, "simulate": DRAWN, "audit": AUDITED},
    **{"report/plan": PLAN, "report/evaluate": SCORED, "report/simulate": DRAWN, "report/audit": AUDITED},
    **{"labels": PLAN | {"segment_length": 1.0}, "queries": PLAN | {"segment_length": 1.0}},
    **{"lost": SCORED, "recording": DRAWN},
}


@pytest.fixture(scope="session")  # what was stopped does not start again
def web():
    with TestClient(APP) as client:
        yield client


def sent(web):
    """The keys of two files that the server knows; they stand in for the random ones of the questions."""
    found = {}
    for kind, text, fields in (("events", STRONG, ("file", "strong")), ("answers", WEAK, ("weak",))):
        answer = web.post("/api/upload", files={"file": ("a.csv", text)}, data={"kind": kind, "recording_length": 10})
        found.update(dict.fromkeys(fields, answer.json()["key"]))
    return found


@pytest.fixture(scope="session")  # what was stopped does not start again
def keys(web):
    return sent(web)


def with_keys(question, keys):
    """The question about the files that the server knows."""
    return question | {name: key for name, key in keys.items() if isinstance(question.get(name), str)}


@schema.parametrize()
@settings(max_examples=6, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_no_question_breaks_the_server(case, keys):
    good = GOOD.get(case.path.removeprefix("/api/"))
    if isinstance(case.body, dict) and good is not None:
        chance = zlib.crc32(
            repr(sorted(case.body.items())).encode()
        )  # whole questions, and good ones with a few fields
        some = {name: case.body[name] for k, name in enumerate(sorted(case.body)) if chance >> (k + 1) & 1}
        case.body = with_keys(good | some if some and chance & 1 else case.body, keys)
    response = case.call(app=running, timeout=60)
    assert response.status_code < 500, response.text
    assert str(response.status_code) in {*case.operation.responses.status_codes, "405"}, response.text
    assert response.headers["content-security-policy"]
    if response.status_code == 422:
        assert set(response.json()) == {"field", "message"}


@pytest.mark.parametrize("path", [route.path for route in APP.routes])
@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data", "multipart/form-data; boundary=B"])
def test_a_broken_body_is_answered_as_described(path, kind, web):
    """Every route that the application has, the page and its parts too: those take no body."""
    answer = web.post(path, content=b"\xff{--B", headers={"content-type": kind})
    described = schema.raw_schema["paths"].get(path, {}).get("post", {"responses": ["405"]})
    assert str(answer.status_code) in described["responses"], answer.text


@pytest.fixture(scope="session")  # what was stopped does not start again
def patient():
    """A server that lets work take its time, and its files: the first question may have to compile."""
    with TestClient(create_app(limits=Limits(seconds=300.0), names=["testserver"], warm=False)) as client:
        yield client, sent(client)


@pytest.mark.parametrize("name", GOOD)
def test_a_good_question_to_every_address_is_answered(name, patient):
    web, keys = patient
    answer = web.post(f"/api/{name}", json=with_keys(GOOD[name], keys))
    assert answer.status_code == 200, answer.text
    kind = "text/html" if name.startswith("report/") else "application/"
    assert answer.headers["content-type"].startswith(kind)


def test_no_address_is_left_out(web):
    """Those of the description are asked above; the others are the page and its parts, which anybody may fetch."""
    described = set(schema.raw_schema["paths"])
    assert {route.path for route in APP.routes if route.path.startswith("/api/")} == described
    assert described == {f"/api/{name}" for name in (*GOOD, "upload", "example", "symbols")}
    assert {operation.ok().path for operation in schema.get_all_operations()} == described
    others = {route.path for route in APP.routes} - described
    assert {"/", "/plotly.js", "/static/tools.js"} <= others
    assert {path: web.get(path).status_code for path in others} == dict.fromkeys(others, 200)
