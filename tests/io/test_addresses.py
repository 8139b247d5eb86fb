"""Files behind addresses are worth the same files here: names, folders, numbers and errors; and nothing is left."""

import contextlib
import functools
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pytest

import weakly as wk
from weakly import io
from weakly.cli import main
from weakly.io import dataset, gather

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore:.*with the same class in several files")


def table(seed=1, n=400, recordings=20):
    rng = np.random.default_rng(seed)
    onset = np.round(rng.random(n) * 50, 3)
    names = [f"r{k}.wav" for k in np.sort(rng.integers(0, recordings, n))]
    length = np.round(rng.random(n) * 3 + 0.05, 3)
    label = rng.choice(["dog", "owl"], n)
    return pd.DataFrame({"recording": names, "onset": onset, "offset": onset + length, "label": label})


@pytest.fixture
def season(tmp_path):
    """A folder with partitions, files in several folders with the same name, clip labels, and what is none of these."""
    top = tmp_path / "season"
    rows = table().assign(site=np.tile(["a", "b"], 200))
    rows.to_parquet(top / "hive", partition_cols=["label", "site"], index=False)
    for site in ("north", "south"):
        (top / "audacity" / site).mkdir(parents=True)
        (top / "audacity" / site / "dawn 1.txt").write_text("1.0\t2.5\towl\n3\t4\towl\n")
    (top / "audacity" / "dawn.wav").write_bytes(b"RIFF" + bytes(100))
    (top / "audacity" / ".hidden.txt").write_text("nothing to see")
    (top / "csv").mkdir()
    rows.drop(columns="site").iloc[:200].to_csv(top / "csv" / "a.csv", index=False)
    rows.drop(columns="site").iloc[200:].to_csv(top / "csv" / "b.csv", index=False)
    clips = [(f"r{k}.wav", 10 * j, 10 * j + 10, "owl", int((k + j) % 3 > 0)) for k in range(20) for j in range(5)]
    names = ["recording", "onset", "offset", "label", "present"]
    pd.DataFrame(clips, columns=names).to_csv(top / "clips.csv", index=False)
    pd.DataFrame({"filename": [*rows["recording"].unique(), "more.wav"], "duration": 60.0}).to_csv(
        top / "lengths.csv", index=False
    )
    return top


@pytest.fixture
def memory(season):
    """The same folder behind an address that needs no server."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    files.put(str(season), "/bucket/season", recursive=True)
    yield "memory://bucket/season"
    files.store.clear()


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    """No temporary folder survives a test, whatever happened in it."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    yield
    assert list((tmp_path / "temporary").iterdir()) == []


def same(found, here):
    pd.testing.assert_frame_equal(found.to_frame(), here.to_frame())
    pd.testing.assert_frame_equal(found.recordings, here.recordings)
    assert found.account == here.account


@pytest.mark.parametrize("what", ["hive", "audacity", "csv", "csv/a.csv", "csv/*.csv", "hive/label=owl/*/*.parquet"])
def test_an_address_is_read_like_the_folder(season, memory, what):
    with pytest.warns() if what == "audacity" else _quiet():
        found = wk.read(f"{memory}/{what}")
    with pytest.warns() if what == "audacity" else _quiet():
        here = wk.read(str(season / what))
    same(found, here)
    assert [note.replace(memory, str(season)) for note in found.notes] == list(here.notes)
    assert not any("weakly-" in note for note in found.notes)


class _quiet:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def test_folders_name_classes_and_places(season, memory):
    for place in (season / "hive", f"{memory}/hive"):
        events = wk.read(place)
        assert events.labels == ["dog", "owl"]
        assert len(wk.read(place, where={"site": "a"})) == 200


@pytest.mark.filterwarnings("ignore::weakly.AssumptionWarning")
def test_lengths_clips_and_what_was_examined_may_be_behind_addresses(season, memory):
    how = {"recording_length": f"{memory}/lengths.csv", "examined": f"{memory}/lengths.csv"}
    here = dict.fromkeys(how, season / "lengths.csv")
    same(wk.read(f"{memory}/csv", **how), wk.read(season / "csv", **here))
    same(wk.read_answers(f"{memory}/clips.csv"), wk.read_answers(season / "clips.csv"))
    both = wk.read([f"{memory}/csv/a.csv", season / "csv" / "b.csv"])
    same(both, wk.read(season / "csv"))
    same(wk.read(Path(f"{memory}/csv")), wk.read(season / "csv"))  # Path takes a stroke away
    with pytest.raises(wk.InvalidInput, match="must be one file"):
        wk.read(season / "csv", recording_length=f"{memory}/csv")


@pytest.mark.filterwarnings("ignore:.*called with the folder")
def test_messages_and_columns_name_the_address(season, memory):
    files = fsspec.filesystem("memory")
    files.pipe_file("/bucket/season/csv/b.csv", b"recording,onset,offset,label\nr1.wav,5,4,owl\n")
    with pytest.raises(
        wk.InvalidInput, match=r"^memory://bucket/season/csv/b.csv, line 2, column 'offset': the event ends before"
    ):
        wk.read(f"{memory}/csv")
    found = io.check(f"{memory}/csv")
    assert found.files == tuple(f"{memory}/csv/{name}.csv" for name in "ab")
    assert [(item.file, item.line, item.kind) for item in found.findings][-1] == (
        f"{memory}/csv/b.csv", 2, "end before start")  # fmt: skip
    with pytest.warns(wk.AssumptionWarning, match="1 file left out: sound"):
        people = wk.read(f"{memory}/audacity", columns={"annotator": "@file"})
    assert set(people.to_frame()["annotator"]) == {"dawn 1"}
    assert set(people.recordings.index) == {"north/dawn 1", "south/dawn 1"}


def test_what_is_not_there_says_so(memory):
    for what in ("nothing.csv", "empty/*.csv"):
        with pytest.raises(wk.InvalidInput, match=f"memory://bucket/season/{what.replace('*', '.')}"):
            wk.read(f"{memory}/{what}")
    with pytest.raises(wk.InvalidInput, match="nosuch://"):
        wk.read("nosuch://a")


def test_a_missing_extra_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    dataset.system.cache_clear()
    for call in (wk.read, wk.read_answers, io.check):
        with pytest.raises(wk.MissingExtra, match=r"weakly\[s3\]"):
            call("s3://a/b.csv")


def test_limits_are_seen_before_anything_is_fetched(memory, monkeypatch):
    monkeypatch.setattr(dataset, "MOST_BYTES", 1000)
    monkeypatch.setattr(dataset, "_copy", lambda *_: pytest.fail("fetched"))
    with pytest.raises(wk.InvalidInput, match=r"GiB are more than .*--sample 1000.* weakly evaluate"):
        wk.read(f"{memory}/csv")


def test_a_size_that_is_unknown_or_not_true_is_limited_too(memory, monkeypatch):
    monkeypatch.setattr(dataset, "MOST_BYTES", 1000)
    monkeypatch.setattr(dataset.AddressListing, "n_bytes", 0)
    with pytest.raises(wk.InvalidInput, match=r"a.csv: holds more than the"):
        wk.read(f"{memory}/csv/a.csv")


def test_too_many_rows_are_refused_before_they_are_read(season, memory, monkeypatch):
    monkeypatch.setattr(gather, "MOST_ROWS", 399)
    monkeypatch.setattr(gather, "detect", lambda *_: pytest.fail("read"))
    for place in (season / "hive", f"{memory}/hive"):
        for call in (wk.read, wk.read_answers, io.check):
            with pytest.raises(wk.InvalidInput, match=r"parquet \.\.\.: 400 rows are more than .*--sample"):
                call(place)
    monkeypatch.setattr(dataset, "_MUCH_TEXT", 0)
    with pytest.raises(wk.InvalidInput, match=r"40\d rows are more than"):
        wk.read(f"{memory}/csv")


@pytest.mark.parametrize("key", ["../../up.csv", "a/../../up.csv", "./here.csv"])
def test_no_name_leads_out_of_the_folder(memory, key, monkeypatch):
    info = {"name": f"/bucket/season/{key}", "size": 10, "type": "file"}
    monkeypatch.setattr(dataset, "_listed", lambda address: {info["name"]: info})
    with pytest.raises(wk.InvalidInput, match="cannot have this name"):
        wk.read(memory)


def test_a_failed_or_interrupted_fetch_leaves_nothing(memory, monkeypatch):
    real = dataset._copy

    def fails(files, name, address, target, ended):
        real(files, name, address, target, ended)
        if name.endswith("b.csv"):
            raise failure

    monkeypatch.setattr(dataset, "_copy", fails)
    for failure in (wk.InvalidInput("gone"), KeyboardInterrupt()):
        with pytest.raises(type(failure)):
            wk.read(f"{memory}/csv")


@pytest.mark.skipif(not hasattr(signal, "SIGTERM"), reason="no signals here")
def test_a_command_that_is_ended_leaves_nothing(season, tmp_path):
    code = (
        "import time, weakly.io.dataset as a; from weakly.cli import main; real = a._copy\n"
        "def slow(*job): real(*job); print('here', flush=True); time.sleep(0.5)\n"
        f"a._copy = slow; main(['convert', 'file://{season}/csv', 'out.csv'])"
    )
    folder = tmp_path / "temporary"
    how = {"env": {**os.environ, "TMPDIR": str(folder)}, "cwd": tmp_path, "stdout": subprocess.PIPE}
    child = subprocess.Popen([sys.executable, "-c", code], **how)
    assert child.stdout.read(4) == b"here"
    assert list(folder.iterdir())
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 143
    child.stdout.close()
    assert not (tmp_path / "out.csv").exists()


@pytest.fixture
def site(season):
    pytest.importorskip("aiohttp", reason="pip install 'weakly[http]'")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=season))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_single_files_of_the_web(season, site):
    same(wk.read(f"{site}/csv/a.csv"), wk.read(season / "csv" / "a.csv"))
    same(wk.read(f"{site}/csv/a.csv?download=1"), wk.read(season / "csv" / "a.csv"))
    found = wk.read(f"{site}/audacity/north/dawn%201.txt?token=1", format="audacity")
    assert list(found.recordings.index) == ["dawn 1"]
    with pytest.raises(wk.InvalidInput, match=r"nothing.csv: there is no such file"):
        wk.read(f"{site}/nothing.csv")


def _run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--json"])
    out = capsys.readouterr()
    assert end.value.code == 0, out.err
    return json.loads(out.out)


def test_every_command_gives_the_same_through_s3(season, bucket, capsys):
    away = bucket(season, "all")
    plan = ("--presence-criterion", "0.5", "--methods", "fixed", "--recording-length", "60")
    commands = [
        ("plan", "{}/hive", *plan),
        ("plan", "{}/csv", *plan, "--sample", "7"),
        ("audit", "--strong", "{}/csv", "--weak", "{}/clips.csv", "--recording-length", "{}/lengths.csv"),
        ("audit", "--strong", "{}/hive/label=owl", "--sample", "5"),
        ("infer", "{}/clips.csv", "--event-length", "1", "--presence-criterion", "0.5", "--label", "owl"),
        ("check", "{}/csv"),
        ("convert", "{}/csv", "out.csv", "--force"),
    ]
    for command in commands:
        made = [_run(capsys, *(part.format(place) for part in command)) for place in (away, season)]
        texts = [json.dumps(each, sort_keys=True).replace(str(place), "") for each, place in zip(made, (away, season))]
        assert texts[0] == texts[1], command[0]
    Path("out.csv").unlink()


@pytest.fixture
def bad_line(bucket, monkeypatch):
    """The bucket behind a line that spoils answers as ``line.trouble(method, path)`` says: "cut", "refused" or ""."""
    import http.client
    from urllib.parse import urlparse

    there = urlparse(os.environ["AWS_ENDPOINT_URL"]).netloc

    class Line(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            trouble = self.server.trouble(self.command, self.path)
            with contextlib.closing(http.client.HTTPConnection(there)) as away:
                away.request(self.command, self.path, headers=dict(self.headers))
                answer = away.getresponse()
                data = answer.read()
            self.send_response(403 if trouble == "refused" else answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding"):
                    self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data[: len(data) // 2] if trouble == "cut" else data)
            self.close_connection = trouble == "cut"

        do_HEAD = do_GET

    line = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Line)
    threading.Thread(target=line.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{line.server_port}")
    dataset.system.cache_clear()
    dataset.system("s3").clear_instance_cache()
    dataset.system.cache_clear()
    line.put = bucket
    yield line
    line.shutdown()
    line.server_close()


def test_bodies_that_are_cut_and_listings_that_are_refused_change_no_number(season, bad_line, monkeypatch):
    """What comes half is asked for again; what never comes whole is one line that names the address."""
    here, asked = wk.read(season / "csv"), []
    bad_line.trouble = lambda *_: ""
    away = bad_line.put(season / "csv", "cut")

    def once(method, path):
        asked.append(path)
        return "cut" if path.endswith(".csv") and asked.count(path) == 1 and method == "GET" else ""

    bad_line.trouble = once
    found = wk.read(away)
    assert max(map(asked.count, asked)) > 1
    assert found.to_frame().equals(here.to_frame())
    dataset.system("s3").retries = 2
    for trouble, words in (("cut", r"s3://season/cut/[ab]\.csv: cannot be read"), ("refused", "s3://season/cut: ")):
        bad_line.trouble = lambda method, path, trouble=trouble: (
            trouble if path.endswith(".csv") == (trouble == "cut") and method == "GET" else ""
        )
        dataset.system("s3").invalidate_cache()
        with pytest.raises(wk.InvalidInput, match=words) as error:
            wk.read(away)
        assert len(str(error.value).splitlines()) == 1


def test_lengths_on_which_files_disagree_are_unknown(tmp_path):
    for name, length in (("a.csv", 10), ("b.csv", 12)):
        rows = f"r.wav,1,2,owl,{length}\ns.wav,1,2,owl,9\n"
        (tmp_path / name).write_text("recording,onset,offset,label,recording_length\n" + rows)
    with pytest.warns(wk.AssumptionWarning, match=r"disagree on the length of 1 recording \(first 'r\.wav'\)"):
        found = wk.read([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert found.recordings["length"].isna().to_dict() == {"r.wav": True, "s.wav": False}


def test_the_page_cannot_name_an_address(monkeypatch):
    pytest.importorskip("fastapi")
    from weakly.apps.serving import Limits
    from weakly.apps.web.uploads import parse

    monkeypatch.setattr(dataset, "system", lambda *_: pytest.fail("asked for an address"))
    data = b"recording,onset,offset,label\nhttps://example.org/a.wav,1,2,s3://bucket/x\n"
    for name in ("https://example.org/a.csv", "s3://bucket/a.csv", "memory:/a.csv"):
        found = parse(data, name=name, kind="events", limits=Limits(), options={"columns": {"onset": "onset"}})
        assert found.content.labels == ["s3://bucket/x"]
    with pytest.raises(wk.InvalidInput):
        parse(b"https://example.org/a.csv", name="a", kind="events", limits=Limits(), options={})
