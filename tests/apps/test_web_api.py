"""The page's server: the objects of the command line, errors beside their field, no file of the server in reach."""

import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import weakly as wk
from weakly.apps.serving import POLICY, host_name
from weakly.apps.web import Limits, calls, create_app, timelines
from weakly.apps.web.jobs import Cancelled, Job, TooLong, Workers
from weakly.apps.web.uploads import Files, Shelf, Upload, safe_name
from weakly.base.errors import InvalidInput, MissingExtra
from weakly.model.intervals import as_intervals, duration

HERE = "http://127.0.0.1:8765"
PLAIN = {"event_length": "1", "presence_criterion": 0.5, "recording_length": 100, "n_events": 1}
STRONG = "filename\tonset\toffset\tevent_label\na.wav\t1\t2\tdog\na.wav\t4\t7\tdog\nb.wav\t3\t5\tcat\n"
WEAK = "file,start_time,end_time,dog\na.wav,0,5,1\na.wav,5,10,0\nb.wav,0,5,0\n"


def client(**limits):
    return TestClient(create_app(limits=Limits(**limits), warm=False), base_url=HERE)


@pytest.fixture(scope="module")
def web():
    with client() as made:
        yield made


def send(web, text=STRONG, name="pilot.tsv", **fields):
    data = {"recording_length": "10", **fields}
    return web.post("/api/upload", files={"file": (name, text)}, data=data)


@pytest.fixture(scope="module")
def key(web):
    return send(web).json()["key"]


def as_json(result):
    return json.loads(json.dumps(result.to_dict(), allow_nan=False))


# --- the same objects as everywhere ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "call"),
    [
        (PLAIN, {}),
        ({**PLAIN, "presence_criterion": [0.2, 0.6], "budget": 90}, {"presence_criterion": [0.2, 0.6], "budget": 90}),
        ({**PLAIN, "target": "overlap_accuracy>=0.6"}, {"target": "overlap_accuracy>=0.6"}),
        ({**PLAIN, "query_cost_share": 0.2}, {"cost": wk.Cost(query_cost_share=0.2)}),
        (
            {**PLAIN, "per_query": 0.1, "per_second": 0.02, "currency": "USD", "annotators": 3, "total_hours": 5},
            {"cost": wk.Cost(per_query=0.1, per_second=0.02, currency="USD", annotators=3), "total_hours": 5},
        ),
    ],
)
def test_plan_is_the_object_of_the_house(web, question, call):
    answer = web.post("/api/plan", json=question)
    assert answer.status_code == 200
    expected = wk.plan(1.0, **{"presence_criterion": 0.5, "recording_length": 100, "n_events": 1, **call})
    assert answer.json() == as_json(expected)


def test_plan_is_what_the_command_line_prints(web, capsys):
    from weakly.cli import main

    with pytest.raises(SystemExit):
        main(
            [
                "plan",
                "--event-length",
                "1",
                "--presence-criterion",
                "0.5",
                "--recording-length",
                "100",
                "--events",
                "1",
                "--json",
            ]
        )
    assert web.post("/api/plan", json=PLAIN).json() == json.loads(capsys.readouterr().out)


def test_the_same_question_gets_the_same_bytes(web):
    first, second = (web.post("/api/plan", json={**PLAIN, "event_length": "1.7"}) for _ in range(2))
    assert first.content == second.content


def test_pilot_evaluation_and_simulation_are_the_objects_of_the_house(web, key):
    import pandas as pd

    rows = [line.split("\t") for line in STRONG.splitlines()[1:]]
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
    events = wk.Events.from_frame(frame.astype({"onset": float, "offset": float}), recording_length=10.0)
    found = web.post("/api/evaluate", json={"file": key, "segment_length": [1, 3], "presence_criterion": [0.2, 0.5]})
    assert found.json() == as_json(wk.evaluate(events, segment_length=[1, 3], presence_criterion=[0.2, 0.5]))
    found = web.post("/api/evaluate", json={"file": key, "segment_length": 2, "rule": "seconds:0.25", "phase": 0})
    rule = wk.PresenceRule.seconds(0.25)
    assert found.json() == as_json(wk.evaluate(events, segment_length=[2.0], rule=rule, phase=0.0))
    found = web.post("/api/simulate", json={"n_recordings": 50, "seed": 7, "segment_length": 0.8})
    same = wk.simulate(
        1.0, n_events=1, recording_length=100, segment_length=0.8, presence_criterion=0.5, n_recordings=50, rng=7
    )
    assert found.json() == as_json(same)
    plan = web.post("/api/plan", json={"pilot": key, "label": "dog", "presence_criterion": 0.5})
    assert plan.json() == as_json(wk.plan(events, presence_criterion=0.5, label="dog"))


def test_noise_of_annotators_reaches_the_simulation(web):
    question = {"n_recordings": 50, "seed": 7, "presence_criterion": [0.3, 0.5]}
    plain, noisy = (web.post("/api/simulate", json={**question, **more}).json() for more in ({}, {"flip_rate": 0.2}))
    assert len(noisy["rows"]) == len(plain["rows"]) == 2
    assert all(n["recording_accuracy"] < p["recording_accuracy"] for n, p in zip(noisy["rows"], plain["rows"]))


def test_audit_of_two_files(web, key):
    weak = send(web, WEAK, "weak.csv", kind="answers").json()
    assert weak["kind"] == "answers"
    found = web.post("/api/audit", json={"strong": key, "weak": weak["key"], "label": "dog"})
    assert found.status_code == 200, found.text
    assert found.json()["findings"]
    swapped = web.post("/api/audit", json={"strong": weak["key"], "weak": key})
    assert swapped.status_code == 422
    assert swapped.json()["field"] == "strong"
    page = web.post("/api/report/audit", json={"strong": key, "weak": weak["key"], "label": "dog"})
    assert page.text.startswith("<!doctype html>")


# --- the timeline --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("segment_length", [0.4, 0.8, 2.0, 7.3])
def test_labels_follow_the_definition(web, segment_length):
    found = web.post("/api/labels", json={**PLAIN, "segment_length": segment_length}).json()
    strip = found["timeline"]
    events, total = strip["events"], strip["recording_length"]
    row = next(each for each in strip["rows"] if each["name"] == f"{segment_length:g} s segments")
    assert [a for a, _ in row["segments"]] == pytest.approx(
        [k * segment_length for k in range(math.ceil(total / segment_length - 1e-9))]
    )
    wrong = 0.0
    for (a, b), present in zip(row["segments"], row["present"]):
        inside = [max(0.0, min(b, y) - max(a, x)) for x, y in events]
        assert present == any(part >= 0.5 * (y - x) for part, (x, y) in zip(inside, events))
        wrong += (b - a - sum(inside)) if present else sum(inside)
    assert duration(as_intervals(row["wrong"])) == pytest.approx(wrong, abs=1e-9)
    expected = wk.overlap_accuracy(event_length=1, segment_length=segment_length, presence_criterion=0.5)
    assert found["row"]["overlap_accuracy"] == pytest.approx(float(expected), abs=5e-3)  # the last segment is cut
    recall = wk.event_recall(event_length=1, segment_length=segment_length, presence_criterion=0.5)
    assert found["row"]["event_recall"] == pytest.approx(float(recall), abs=1e-12)


def test_the_planned_length_has_the_numbers_of_the_plan(web, key):
    question = {"pilot": key, "label": "dog"}
    plan = web.post("/api/plan", json=question).json()
    best = next(row for row in plan["rows"] if row["method"] == "fixed")
    length = float(f"{best['segment_length']:.4g}")  # as the page shows it
    found = web.post("/api/labels", json={**question, "segment_length": length}).json()
    assert found["row"] == best
    assert [row["name"] for row in found["timeline"]["rows"]].count(best["name"]) == 1


def test_a_plan_is_shown_round_by_round(web):
    """Every choice of the plan in time: what is asked in each round, the labels at the end, the lost events."""
    asked = {"event_length": "0.3", "n_events": 6, "recording_length": 60, "presence_criterion": [0.6]}
    strip = web.post("/api/labels", json={**asked, "segment_length": 0.4}).json()["timeline"]
    rows = {row["name"]: row for row in strip["rows"]}
    marked = rows["marking by hand"]
    assert [len(round_["segments"]) for round_ in marked["rounds"]] == [1, len(strip["events"])]
    assert marked["lost"] == []
    for row in strip["rows"]:
        if row is marked:
            continue
        heard = [span for each in row["rounds"] for span, yes in zip(each["segments"], each["present"]) if yes]
        kept = [
            event
            for event in strip["events"]
            if any(min(event[1], b) - max(event[0], a) >= 0.6 * (event[1] - event[0]) - 1e-9 for a, b in heard)
        ]
        assert [event for event in strip["events"] if event not in kept] == row["lost"], row["name"]


@pytest.mark.parametrize(("segment_length", "criterion"), [(0.3, [0.5]), (0.5, [0.5]), (2.0, [0.5]), (0.5, None)])
def test_lost_events_are_those_of_the_evaluation(web, key, segment_length, criterion):
    """Looked at one by one, against every segment of the grid."""
    question = {"file": key, "segment_length": [segment_length], "presence_criterion": criterion, "phase": 0}
    found = web.post("/api/lost", json=question).json()
    scores = web.post("/api/evaluate", json=question).json()
    recall = scores["overall"][0]["event_recall"]
    assert found["n_lost"] == round((1 - recall) * found["n_events"])
    assert len(found["rows"]) == min(10, found["n_lost"])
    lengths = [row["event"][1] - row["event"][0] for row in found["rows"]]
    assert lengths == sorted(lengths, reverse=True)
    for row in found["rows"]:
        a, b = row["event"]
        assert row["segments"][0][0] <= a < b <= row["segments"][-1][1] + 1e-9
        assert all(min(b, end) - max(a, start) < 0.5 * (b - a) for start, end in row["segments"])


def test_one_recording_of_a_simulation(web):
    question = {"event_length": "1", "n_events": 4, "recording_length": 50, "segment_length": 1.5, "seed": 3}
    strip = web.post("/api/recording", json=question).json()["timeline"]
    assert strip == web.post("/api/recording", json={**question, "segment_length": [1.5, 9]}).json()["timeline"]
    assert 1 <= len(strip["events"]) <= 4
    assert [len(row["segments"]) for row in strip["rows"]] == [34]


def test_a_strip_of_very_short_segments_is_left_out(web):
    found = web.post("/api/labels", json={**PLAIN, "segment_length": 0.001}).json()
    assert "0.001 s segments" not in [row["name"] for row in found["timeline"]["rows"]]
    assert found["row"]["n_queries"] == 100_000


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "change", "field", "words"),
    [
        ("plan", {"presence_criterion": 50}, "presence_criterion", "a percentage?"),
        ("plan", {"presence_criterion": [0.2, -1]}, "presence_criterion", r"in \(0, 1\], got -1"),
        ("plan", {"presence_criterion": []}, "presence_criterion", "at least 1"),
        ("plan", {"presence_criterion": "beta:x"}, "presence_criterion", "beta:x"),
        ("plan", {"event_length": "gamma:oops"}, "event_length", "gamma:oops"),
        ("plan", {"event_length": "studentized_range:3,10"}, "event_length", "not known here"),
        ("plan", {"event_length": "-1"}, "event_length", "> 0"),
        ("plan", {"event_length": "x" * 3000}, "event_length", "2000 characters"),
        ("plan", {"recording_length": 0}, "recording_length", "> 0, got 0"),
        ("plan", {"recording_length": 1e9}, "recording_length", "at most 1e\\+06"),
        ("plan", {"recording_length": None}, "recording_length", "must be given"),
        ("plan", {"budget": -1}, "budget", ">= 0, got -1"),
        ("plan", {"target": "beauty>=1"}, "target", "beauty"),
        ("plan", {"query_cost_share": 2}, "query_cost_share", "in \\[0, 1\\]"),
        ("plan", {"annotators": 0}, "annotators", "greater than or equal to 1"),
        ("plan", {"pilot": "x"}, "event_length", "not both"),
        ("plan", {"event_length": None, "pilot": "x"}, "pilot", "send it again"),
        ("plan", {"gamma": 0.5}, "gamma", "not permitted"),
        ("labels", {"segment_length": 0}, "segment_length", "> 0"),
        ("simulate", {"placement": "corner"}, "placement", "uniform"),
        ("simulate", {"n_recordings": 100_000, "n_events": 10_000}, "n_recordings", "at most"),
        ("evaluate", {"file": "x", "segment_length": 1, "rule": "any"}, "file", "send it again"),
        ("audit", {}, "strong", "must be given"),
    ],
)
def test_errors_name_their_field(web, path, change, field, words):
    question = {**PLAIN, **change} if path in ("plan", "labels") else change
    answer = web.post(f"/api/{path}", json=question)
    assert answer.status_code == 422
    body = answer.json()
    assert set(body) == {"field", "message"}
    assert body["field"] == field
    with pytest.raises(InvalidInput, match=words):
        raise InvalidInput(body["message"])


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", '"1; import os"', "{}", "true"])
def test_what_is_no_number_is_refused(web, number):
    body = f'{{"event_length": "1", "recording_length": {number}, "presence_criterion": 0.5}}'
    answer = web.post("/api/plan", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["field"] == "recording_length"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"[" * 5000])
def test_what_is_no_question_is_refused(web, body):
    answer = web.post("/api/plan", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["message"]


def broken(question, state):
    raise RuntimeError("secret of the house")


def test_a_bug_says_no_more_than_that(web, monkeypatch):
    monkeypatch.setattr(timelines, "QUESTIONS", (("plan", calls.PlanQuestion, broken),))
    with client() as other:
        answer = other.post("/api/plan", json=PLAIN)
    assert answer.status_code == 500
    assert "secret" not in answer.text


# --- who may ask, and how much -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/static/page.js", "/plotly.js", "/api/symbols", "/openapi.json", "/nowhere"])
def test_every_answer_carries_the_headers(web, path):
    headers = web.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"


def test_the_policy_is_strict():
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["script-src"] == rules["connect-src"] == "'self'"


def test_the_page_names_no_other_server(web):
    page = Path(calls.__file__).parent / "static"
    for part in page.iterdir():
        text = part.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http" + "://" not in text, part
        assert "https://" not in text, part
        for danger in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style="):
            assert danger not in text, (part, danger)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "0.0.0.0", "10.0.0.1", "[::1].evil",
             "[::1].evil:8765", "[::1]evil", "[::1]:8765.evil", "[::1", "127.0.0.1:80.evil", "localhost:evil", ""]
)  # fmt: skip
def test_foreign_hosts_are_refused(web, host):
    answer = web.get("/api/symbols", headers={"host": host})
    assert answer.status_code == 421
    assert answer.json()["field"] is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:8765", "LOCALHOST:8765"])
def test_own_hosts_are_answered(web, host):
    assert web.get("/api/symbols", headers={"host": host}).status_code == 200


def test_a_server_for_others_answers_addresses_and_the_names_it_was_told():
    with TestClient(create_app(host="0.0.0.0", names=["lab.example"], warm=False), base_url=HERE) as other:
        status = {name: other.get("/api/symbols", headers={"host": name}).status_code for name in
                  ("192.168.1.7:8765", "lab.example", "evil.example")}  # fmt: skip
    assert status == {"192.168.1.7:8765": 200, "lab.example": 200, "evil.example": 421}


def test_host_names():
    assert [host_name(name) for name in ("a:1", "[::1]", "::1", " B ")] == ["a", "::1", "::1", "b"]


def test_pages_of_other_sites_may_not_ask(web):
    for origin, status in (("https://evil.example", 403), ("null", 403), (HERE, 200)):
        assert web.post("/api/plan", json=PLAIN, headers={"origin": origin}).status_code == status


def test_questions_and_files_have_a_size(web):
    long = web.post("/api/plan", content=b" " * 300_000, headers={"content-type": "application/json"})
    assert long.status_code == 413
    with client(upload_mb=0.01) as small:
        answer = send(small, "x" * 20_000)
        assert answer.status_code == 413
        assert "--max-upload-mb" in answer.json()["message"]

        def chunks():
            head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
            yield head
            for _ in range(30):
                yield b"x" * 1000

        streamed = small.post(
            "/api/upload", content=chunks(), headers={"content-type": "multipart/form-data; boundary=b"}
        )
        assert streamed.status_code == 413


def test_files_have_a_number_of_rows():
    with client(rows=2) as small:
        answer = send(small)
    assert answer.status_code == 422
    assert answer.json() == {"field": "file", "message": "file 'pilot.tsv' has 4 rows; at most 2 are read here"}


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/static/",
        "/../pyproject.toml",
        "/docs",
        "/redoc",
    ],
)
def test_no_path_leads_out_of_the_page(web, path):
    assert web.get(path).status_code == 404


SECRET = "root:x:0:0"


@pytest.mark.parametrize("name", ["/etc/passwd", "../../../../etc/passwd", "file:///etc/passwd", "\\\\host\\share"])
def test_no_parameter_names_a_file(web, key, name):
    tries = [
        ("plan", {**PLAIN, "event_length": name}),
        ("plan", {**PLAIN, "presence_criterion": name}),
        ("plan", {"pilot": name}),
        ("plan", {"pilot": key, "label": name}),
        ("plan", {**PLAIN, "target": name}),
        ("evaluate", {"file": name, "segment_length": 1, "presence_criterion": 0.5}),
        ("evaluate", {"file": key, "segment_length": 1, "rule": name}),
        ("simulate", {"event_length": name}),
        ("audit", {"strong": name, "weak": name}),
        ("audit", {"strong": key, "weak": name}),
    ]
    for path, question in tries:
        answer = web.post(f"/api/{path}", json=question)
        assert answer.status_code == 422, (path, question)
        assert SECRET not in answer.text
    for fields in ({"columns": name}, {"recording_length": name}, {"kind": name}, {"format": name}):
        answer = send(web, **fields)
        assert SECRET not in answer.text
        assert answer.status_code == (200 if "format" in fields else 422)


# --- uploads -------------------------------------------------------------------------------------------------------


def test_a_file_is_read_and_described(web):
    body = send(web).json()
    assert (body["n_events"], body["n_recordings"], body["labels"]) == (3, 2, ["cat", "dog"])
    assert body["event_length"] == pytest.approx(2.0)
    assert len(body["key"]) >= 20
    assert body["reading"].startswith("recording = filename (2), label = event_label (2)")
    assert body["findings"] == []


def test_a_file_is_checked_when_it_arrives(web):
    text = b"filename\tonset\toffset\tevent_label\na\t1\t3\tx\na\t2\t4\tx\na\t5\t5\tx\n"
    body = send(web, text, on_error="skip").json()
    assert [item.split(": ")[1] for item in body["findings"]] == ["zero length", "overlap"]
    assert body["findings"][0].startswith("pilot.tsv:4: zero length")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02\xff" * 50, "pilot.tsv"),
        (b"RIFF1234WAVEfmt ", "sound"),
        (b"PAR1 nothing of the kind PAR1", "Parquet"),
        (b"filename\tonset\toffset\tevent_label\na\t5\t2\tx\n", "line 2"),
    ],
)
def test_bad_files_are_refused_in_their_senders_words(web, content, words):
    answer = send(web, content)
    assert answer.status_code == 422
    body = answer.json()
    assert body["field"] == "file"
    assert words in body["message"]
    assert tempfile.gettempdir() not in body["message"]


def test_nothing_of_an_upload_stays_on_the_disk(web):
    def ours():
        return set(Path(tempfile.gettempdir()).glob("weakly-*"))

    before = ours()
    send(web, name="../../../tmp/weakly-evil.tsv")
    send(web, b"broken")
    assert ours() <= before


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../a/b.csv", "b.csv"),
        ("..", "_.txt"),
        ("x" * 500 + ".tsv", "x" * 60 + ".tsv"),
        ("evil.exe", "evil.txt"),
        ("a\x00b;rm -rf *.TSV", "ab_rm -rf.tsv"),
    ],
)
def test_names_of_files_are_tamed(name, safe):
    from weakly.apps.web.uploads import shown_name

    assert safe_name(shown_name(name)) == safe


def test_labels_stay_what_they_are_and_reports_escape_them(web):
    nasty = "<img src=x onerror=alert(1)>"
    key = send(web, STRONG.replace("dog", nasty), name=f"{nasty}.tsv").json()["key"]
    assert nasty in web.post("/api/plan", json={"pilot": key}).json()["settings"]["labels"]
    page = web.post("/api/report/plan", json={"pilot": key, "label": nasty})
    assert page.headers["content-disposition"] == 'attachment; filename="plan.html"'
    assert "<img src=x" not in page.text
    assert "&lt;img src=x" in page.text


def test_the_shelf_has_an_end(tmp_path):
    shelf, files = Shelf(tmp_path, Limits(uploads=3, uploads_mb=1e-3)), Files(tmp_path, most=1)

    def put(size, content):
        key = shelf.put(b"x" * size)
        files.put(key, Upload("events", "a", content))
        return key

    keys = [put(10, k) for k in range(4)]
    with pytest.raises(InvalidInput, match="send it again"):
        files.get(keys[0], kind="events", field="pilot")
    assert [files.get(key, kind="events", field="pilot") for key in keys[1:]] == [1, 2, 3]
    shelf.touch([keys[1], None, 7.0])
    put(985, 4)
    with pytest.raises(InvalidInput, match="send it again"):
        files.get(keys[2], kind="events", field="pilot")
    with pytest.raises(InvalidInput, match="send it again"):
        files.get("../../etc/passwd", kind="events", field="pilot")


# --- work that takes long ----------------------------------------------------------------------------------------


def slow(question, state):
    for k in range(4):
        state.advance(k + 1, 4)
        time.sleep(0.2)
    return {"answer": 42}


def slow_and_wrong(question, state):
    time.sleep(0.4)
    raise InvalidInput("budget is too small")


def deaf(question, state):
    time.sleep(600)


def hungry(question, state):
    held = []
    for _ in range(100):
        held.append(b"x" * 20_000_000)
        time.sleep(0.01)
    return {"held": len(held)}


def dying(question, state):
    os._exit(3)


def asking(work, **limits):
    """A server whose plan is this function."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(timelines, "QUESTIONS", (("plan", calls.PlanQuestion, work),))
        return client(**limits)


def test_long_work_tells_how_far_it_is(monkeypatch):
    monkeypatch.setattr(timelines, "QUESTIONS", (("plan", calls.PlanQuestion, slow),))
    with client() as other:
        with other.stream("POST", "/api/plan", json=PLAIN, headers={"accept": "application/x-ndjson"}) as answer:
            lines = [json.loads(line) for line in answer.iter_lines()]
        assert lines[-1] == {"notes": [], "result": {"answer": 42}}
        assert lines[-2]["progress"]["total"] == 4
        again = other.post("/api/plan", json=PLAIN, headers={"accept": "application/x-ndjson"})
        assert again.headers["content-type"] == "application/json"
        assert again.json() == {"answer": 42}


def test_long_work_that_fails_says_so_at_the_end(monkeypatch):
    monkeypatch.setattr(timelines, "QUESTIONS", (("plan", calls.PlanQuestion, slow_and_wrong),))
    with client() as other:
        with other.stream("POST", "/api/plan", json=PLAIN, headers={"accept": "application/x-ndjson"}) as answer:
            last = [json.loads(line) for line in answer.iter_lines()][-1]
        assert last == {"error": {"field": "budget", "message": "budget is too small"}, "status": 422}
        plain = other.post("/api/plan", json=PLAIN)
        assert (plain.status_code, plain.json()["field"]) == (422, "budget")


def test_work_ends_when_it_is_cancelled_or_takes_too_long():
    job = Job(seconds=60)
    job.check()
    job.cancel()
    with pytest.raises(Cancelled):
        job.check()
    with pytest.raises(TooLong, match="more than 0 seconds"):
        Job(seconds=0).check()
    with client(seconds=0.0) as other:
        answer = other.post("/api/simulate", json={"n_recordings": 5000})
    assert answer.status_code == 422
    assert "more than 0 seconds" in answer.json()["message"]


def test_a_simulation_stops_between_chunks():
    seen = []

    def advance(done, total):
        seen.append(done)
        raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        wk.simulate(
            1.0, n_events=1, recording_length=100, segment_length=1, presence_criterion=0.5, n_recordings=50_000,
            rng=1, progress=advance,
        )  # fmt: skip
    assert seen == [1]


def test_work_that_goes_on_is_ended_with_its_process():
    with asking(deaf, seconds=0.5) as other:
        began = time.monotonic()
        answer = other.post("/api/plan", json=PLAIN)
        assert (answer.status_code, "more than 0.5 seconds" in answer.json()["message"]) == (422, True)
        assert time.monotonic() - began < 60


def test_work_that_takes_too_much_memory_is_ended_and_the_next_question_is_answered():
    with asking(hungry, memory_mb=400) as other:
        answer = other.post("/api/plan", json=PLAIN)
        assert (answer.status_code, "more memory than the server gives (400 MB" in answer.json()["message"]) == (
            422,
            True,
        )
        assert send(other).status_code == 200


def test_what_all_processes_share_is_no_memory_of_a_question():
    with asking(slow, memory_mb=80) as other:  # the libraries that a new process begins with take more
        assert other.post("/api/plan", json=PLAIN).json() == {"answer": 42}


def test_work_that_dies_is_said_and_the_next_question_is_answered():
    with asking(dying) as other:
        assert other.post("/api/plan", json=PLAIN).status_code == 422
        assert send(other).status_code == 200


def test_nobody_without_the_token_is_answered():
    with TestClient(create_app(host="0.0.0.0", token="s3cret", warm=False), base_url=HERE) as other:
        described = other.get("/openapi.json").json()["paths"]
        paths = [(verb, path) for path, verbs in described.items() for verb in verbs]
        assert len(paths) >= 13
        wrong = ({}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer "}, {"authorization": "Basic s3cret"},
                 {"cookie": "weakly_token=s3cret"})  # fmt: skip
        for headers in wrong:
            for verb, path in paths:
                found = other.request(verb, f"{path}?token=s3cret", headers=headers)
                assert (found.status_code, set(found.json())) == (401, {"field", "message"}), path
        with pytest.raises(WebSocketDisconnect), other.websocket_connect("/api/events"):
            pass
        for path in ("/", "/static/page.js"):  # the empty page is everybody's
            assert other.get(path).status_code == 200
        bearer = {"authorization": "Bearer s3cret"}
        assert other.get("/api/symbols", headers=bearer).status_code == 200
        assert other.post("/api/plan", json=PLAIN, headers=bearer).status_code == 200


def test_the_queue_has_an_end():
    with client(waiting=0) as other:
        answer = other.post("/api/plan", json=PLAIN)
    assert answer.status_code == 429
    assert Workers(Limits()).limits.waiting > 50


def test_notes_of_a_question_are_its_own(web):
    key = send(web, recording_length="").json()["key"]
    question = {"file": key, "segment_length": 1, "presence_criterion": 0.5}
    for _ in range(2):  # the second comes from memory
        notes = json.loads(web.post("/api/evaluate", json=question).headers["weakly-notes"])
        assert any("unknown" in note for note in notes)
    assert "weakly-notes" not in web.post("/api/plan", json={**PLAIN, "event_length": "1.3"}).headers


# --- the door -------------------------------------------------------------------------------------------------------


def test_without_the_extra_the_command_says_how_to_get_it(monkeypatch):
    from weakly.apps.web import serve

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtra, match=r"pip install 'weakly\[web\]'"):
        serve(port=0, open_browser=False)


def test_a_taken_port_is_one_line(capsys):
    import socket

    from weakly.cli import main

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as end:
        main(["serve", "--no-open", "--port", str(taken.getsockname()[1])])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("weakly: cannot listen on")
    assert said.count("\n") == 1


def test_symbols_are_those_of_the_house(web):
    body = web.get("/api/symbols").json()
    assert body["presence_criterion"]["domain"] == "(0, 1]"
    described = web.get("/openapi.json").json()["components"]["schemas"]["SimulateQuestion"]["properties"]
    assert described["flip_rate"]["maximum"] == 1
    assert (described["recording_length"]["minimum"], described["recording_length"]["maximum"]) == (1e-3, 1e6)


def test_queries_come_as_files_of_the_tool(web, key):
    import io
    import zipfile

    import pandas as pd

    question = {**PLAIN, "segment_length": 30, "total_hours": 200 / 3600}
    answer = web.post("/api/queries", json=question)
    assert answer.headers["content-disposition"] == 'attachment; filename="queries.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        frame = pd.read_csv(archive.open("queries/queries.csv"))
    expected = wk.queries({"recording 1": 100.0, "recording 2": 100.0}, segment_length=30)
    assert frame["onset"].tolist() == expected.to_frame()["onset"].tolist() == [0.0, 30.0, 60.0, 90.0] * 2
    tasks = web.post("/api/queries", json={"pilot": key, "segment_length": 5, "label": "dog", "to": "labelstudio"})
    with zipfile.ZipFile(io.BytesIO(tasks.content)) as archive:
        assert len(json.load(archive.open("queries/tasks.json"))) == 4
    many = web.post("/api/queries", json={**PLAIN, "segment_length": 1e-4})
    assert (many.status_code, many.json()["field"]) == (422, "segment_length")
