"""One campaign, one store: nothing that a person typed is lost, whatever is run twice, at once, killed or damaged."""

import contextlib
import os
import runpy
import shutil
import signal
import sqlite3
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weakly as wk
from weakly.base.errors import InvalidInput
from weakly.io.soundscape import soundscape
from weakly.methods.base import Method
from weakly.studies.queries import store
from weakly.studies.queries.campaign import Campaign
from weakly.studies.queries.exchange import collect
from weakly.studies.queries.query_set import make_method
from weakly.studies.queries.store import Answer, Store, StoreTrouble

ABUSE = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "bench_campaign.py"))
command = ABUSE["command"]
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sounds")
    return [soundscape(20, n_events=3, rng=k).write(folder / f"r{k}.wav") for k in range(2)]


def done(*arguments):
    code, notes, trace = command(*arguments)
    assert (code, trace) == (0, ""), notes + trace
    return notes


def refused(*arguments):
    code, notes, trace = command(*arguments)
    assert (code, trace) == (2, "")
    (line,) = [line for line in notes.splitlines() if "note:" not in line]
    return line


def answered(tasks, tool):
    """Type answers into the tool's files, with a note where there is room, and say what was typed."""
    queries = Campaign.open(tasks).queries["query"].tolist()
    paths = {
        "csv": ["clips.csv"],
        "raven": ["raven/r0.wav.Table.1.selections.txt"],
        "audacity": ["audacity/r0.wav.txt"],
    }
    (path,) = (tasks / name for name in paths[tool])
    lines = path.read_text().splitlines()
    for k, line in enumerate(lines):
        if queries[0] in line or queries[2] in line:
            word = "yes" if queries[0] in line else "no"
            lines[k] = line.replace(",,,dog", f',{word},"far, but clear",dog') if tool == "csv" else f"{line} {word}"
    path.write_text("\n".join(lines) + "\n")
    return path, {queries[0]: 1.0, queries[2]: 0.0}


def kept(tasks):
    return {one.query: one.present for one in Campaign.open(tasks).answers}


@pytest.mark.parametrize("tool", ["csv", "raven", "audacity"])
def test_typed_answers_survive_the_same_command_and_resume(tmp_path, sounds, tool):
    tasks = tmp_path / "tasks"
    ask = ("queries", sounds[0], "--segment-length", 5, "--label", "dog", "--to", tool, "--out", tasks)
    done(*ask)
    path, typed = answered(tasks, tool)
    text = path.read_bytes()
    done(*ask)
    assert path.read_bytes() == text
    assert kept(tasks) == typed
    done("queries", "--resume", tasks)
    done(*ask[:2], sounds[1], *ask[2:])  # another recording is added behind what is there
    assert path.read_bytes().startswith(text)
    assert kept(tasks) == typed
    assert len(Campaign.open(tasks).queries) == 8
    done("answers", path, "--queries", tasks)
    assert kept(tasks) == typed
    assert [one.source for one in Campaign.open(tasks).answers] == [str(path.relative_to(tasks))] * 2


def test_rows_are_added_in_the_manner_of_the_file(tmp_path):
    """A spreadsheet saved the table with semicolons, Windows line ends and a column of its own."""
    tasks = tmp_path / "t"
    wk.queries({"a": 10.0}, segment_length=5, label="dog").write(tasks)
    text = (tasks / "clips.csv").read_text().replace(",", ";").replace("\n", ";\r\n").replace("query;", "query;mine", 1)
    text = text.replace(";;;dog", ";nein;;dog", 1)
    (tasks / "clips.csv").write_bytes(text.encode())
    wk.queries({"a": 10.0, "b": 5.0}, segment_length=5, label="dog").write(tasks)
    now = (tasks / "clips.csv").read_bytes().decode()
    assert now.startswith(text)
    (row,) = now[len(text) :].split("\r\n")[:-1]
    assert row.startswith("b;0.0;5.0;;;dog;")
    assert row.count(";") == text.splitlines()[0].count(";")
    assert sorted(kept(tasks).values()) == [0.0]


def test_a_file_that_cannot_be_understood_stops_the_command(tmp_path):
    tasks = tmp_path / "t"
    found = wk.queries({"a": 10.0}, segment_length=5, label="dog")
    found.write(tasks)
    for bad in ("my own notes\n", "file,start_time,end_time,annotation\na,0,5,yes\n"):
        (tasks / "clips.csv").write_text(bad)
        with pytest.raises(InvalidInput, match=r"clips\.csv"):
            found.write(tasks)
        assert (tasks / "clips.csv").read_text() == bad
    (tasks / "clips.csv").unlink()
    found.write(tasks)
    text = (tasks / "clips.csv").read_text().replace(",,,dog", ",purple,,dog", 1)
    (tasks / "clips.csv").write_text(text)
    with pytest.raises(InvalidInput, match="purple"):
        found.write(tasks)
    assert (tasks / "clips.csv").read_text() == text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"--segment-length": 3}, "segment_length 5.0; segment_length 3.0"),
        ({"--label": "cat"}, "label dog; label cat"),
        ({"--method": "bisection"}, "method fixed; method bisection"),
    ],
)
def test_a_folder_belongs_to_one_campaign(tmp_path, sounds, change, words):
    tasks = tmp_path / "t"
    options = {"--segment-length": 5, "--label": "dog", "--method": "fixed"}
    flat = [word for pair in options.items() for word in pair]
    done("queries", sounds[0], *flat, "--out", tasks)
    before = {path.name: path.read_bytes() for path in tasks.iterdir()}
    other = [word for pair in (options | change).items() for word in pair]
    assert words in refused("queries", sounds[0], *other, "--out", tasks)
    (name, value), = change.items()  # fmt: skip
    assert words in refused("queries", "--resume", tasks, name, value)
    assert {path.name: path.read_bytes() for path in tasks.iterdir()} == before
    longer = soundscape(30, n_events=1, rng=1).write(tmp_path / sounds[0].name)
    assert "20 s in this campaign, and 30 s now" in refused("queries", longer, *flat, "--out", tasks)


def test_bringing_answers_again_doubles_nothing_and_a_new_mind_is_kept(tmp_path):
    tasks = tmp_path / "t"
    wk.queries({"a": 10.0}, segment_length=5).write(tasks)
    first, second = Campaign.open(tasks).queries["query"]
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"

    def bring(path, answer):
        pd.DataFrame({"query": [first], "answer": [answer]}).to_csv(path, index=False)
        return Campaign.open(tasks).take([path]).answers.to_frame()["present"].tolist()

    assert [bring(one, "yes"), bring(one, "yes"), bring(two, "yes")] == [[1.0]] * 3
    assert len(Campaign.open(tasks).answers) == 1
    assert bring(two, "no") == [0.0]
    assert bring(one, "yes") == [0.0]  # the old file says nothing new
    assert bring(one, "no") == [0.0]
    assert bring(one, "yes") == [1.0]  # but a change in it is one
    assert [answer.present for answer in Campaign.open(tasks).answers] == [1, 0, 0, 1]
    keys = [
        Answer(second, 1, "ann", id="key-1"),
        Answer(second, 0, "ann", id="key-2"),
        Answer(second, 1, "ann", id="key-1"),
    ]
    assert Campaign.open(tasks).store.tell(keys) == 2
    assert Campaign.open(tasks).store.tell(keys) == 0


@given(
    pieces=st.lists(
        st.lists(
            st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0]), st.sampled_from("ab"), st.integers(1, 9)),
            max_size=6,
        ),
        max_size=5,
    )
)
@settings(max_examples=10, deadline=None)
def test_answers_with_clocks_come_in_any_order_and_number(tmp_path_factory, pieces):
    """Exports that overlap: whatever is brought how often, the latest answer of each person counts."""
    place = tmp_path_factory.mktemp("s")
    frame = wk.queries({"a": 20.0}, segment_length=5).frame
    told = Store(place / "campaign.db")
    told.add({"method": "fixed"}, {}, frame)
    rows = [[Answer(frame["query"][q], p, who, answered=f"{when}{p}") for q, p, who, when in piece] for piece in pieces]
    for piece in [*rows, *rows[::-1]]:
        told.tell(piece)
    truth = {}
    for one in sorted((one for piece in rows for one in piece), key=lambda one: one.answered):
        truth[(one.query, one.annotator)] = one.present
    state = told.state()
    found = collect(state.queries, state.answers).answers.to_frame()
    assert {(q, who): p for q, who, p in zip(found["query"], found["annotator"], found["present"])} == truth
    assert len(state.answers) == len({(one.query, one.annotator, one.answered) for piece in rows for one in piece})
    shutil.rmtree(place)


def test_resumed_from_anywhere_after_a_move_with_its_features(tmp_path, monkeypatch):
    project = tmp_path / "project"
    rng = np.random.default_rng(0)
    for k in range(3):
        soundscape(20, n_events=2, rng=k).write(project / "sound" / f"{k}.wav")
        values = rng.normal(size=(40, 4))
        values[10 * (k + 1) : 10 * (k + 1) + 4] += 6
        (project / "embedded").mkdir(exist_ok=True)
        np.save(project / "embedded" / f"{k}.npy", values)
    monkeypatch.chdir(project)
    done("queries", "sound", "--method", "change-point", "--queries-per-recording", 3,
         "--features", "embedded", "--feature-hop", 0.5, "--windows", "1,2", "--out", "tasks")  # fmt: skip
    first = Campaign.open("tasks").queries
    assert first["onset"].tolist()[:6] == [0.0, 5.0, 7.0, 0.0, 10.0, 12.0]  # where the embeddings change
    ABUSE["export"](project / "e.csv", first["query"][:3], "ann", ["no", "yes", "no"])
    monkeypatch.chdir(tmp_path)
    done("answers", project / "e.csv", "--queries", project / "tasks")
    shutil.move(project, tmp_path / "elsewhere")
    monkeypatch.chdir("/")
    done("queries", "--resume", tmp_path / "elsewhere" / "tasks")
    campaign = Campaign.open(tmp_path / "elsewhere" / "tasks")
    assert campaign.queries["query"].tolist() == first["query"].tolist()
    assert campaign.next().frame["query"].tolist() == first["query"].tolist()[3:]


def test_labels_that_were_corrected_by_hand_are_not_written_over(tmp_path):
    tasks, labels = tmp_path / "t", tmp_path / "labels"
    wk.queries({"a": 10.0}, segment_length=5).write(tasks)
    queries = Campaign.open(tasks).queries["query"]
    done("answers", ABUSE["export"](tmp_path / "e.csv", queries[:1], "ann"), "--queries", tasks, "--out", labels)
    done("answers", ABUSE["export"](tmp_path / "e.csv", queries, "ann"), "--queries", tasks, "--out", labels)
    (labels / "strong.tsv").write_text("filename\tonset\toffset\tevent_label\na\t1\t2\tevent\n")
    done("answers", ABUSE["export"](tmp_path / "e.csv", queries, "bob", "no"), "--queries", tasks)
    assert "was changed since" in refused("answers", tmp_path / "e.csv", "--queries", tasks, "--out", labels)
    assert (labels / "strong.tsv").read_text().endswith("1\t2\tevent\n")
    (tmp_path / "others").mkdir()
    mine = shutil.copy(tmp_path / "e.csv", tmp_path / "others" / "events.csv")
    assert "not written over" in refused("answers", mine, "--queries", tasks, "--out", tmp_path / "others")
    done("answers", mine, "--queries", tasks, "--out", tmp_path / "free")


def test_a_method_of_ones_own_has_a_campaign_too(tmp_path):
    class Ends(Method):
        name = "ends"

        def next(self, recording, asked):
            return np.array([[0.0, 1.0], [recording.length - 1, recording.length]])[len(asked) :]

    tasks = tmp_path / "t"
    wk.queries({"a": 10.0}, method=Ends(), label="dog").write(tasks)
    with pytest.raises(InvalidInput, match="'ends' of somebody's own"):
        Campaign.open(tasks).method()
    campaign = Campaign.open(tasks, method=Ends())
    found = campaign.take([ABUSE["export"](tmp_path / "e.csv", campaign.queries["query"], "ann", ["yes", "no"])])
    assert campaign.labels(found).to_frame()[["onset", "offset"]].to_numpy().tolist() == [[0.0, 1.0]]
    assert not Campaign.open(tasks, method=Ends()).next().n_queries


def test_queries_without_their_store_are_no_campaign(tmp_path):
    wk.queries({"a": 32.0}, segment_length=2.0).write(tmp_path / "t")
    (tmp_path / "t" / "campaign.db").unlink()
    assert "campaign.db" in refused("queries", "--resume", tmp_path / "t")
    with pytest.raises(InvalidInput, match="the rest of this campaign is missing"):
        wk.queries({"a": 4.0}, segment_length=2.0).write(tmp_path / "t")


def test_versions_of_the_store(tmp_path, monkeypatch):
    wk.queries({"a": 10.0}, segment_length=5).write(tmp_path / "t")
    now = store.VERSION
    monkeypatch.setattr(store, "VERSION", now + 1)
    with pytest.raises(StoreTrouble, match=f"a store of version {now}, and this weakly knows version {now + 1}"):
        Campaign.open(tmp_path / "t")


def test_every_connection_is_closed(tmp_path, monkeypatch):
    """Also those of a store that is locked, damaged or gone; Python 3.13 warns of any other."""
    left, real = set(), sqlite3.connect

    class Connection(sqlite3.Connection):
        def __init__(self, *args, **how):
            super().__init__(*args, **how)
            left.add(self)

        def close(self):
            super().close()
            left.discard(self)

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, **{**k, "factory": Connection, "timeout": 0.1}))
    wk.queries({"a": 10.0}, segment_length=5).write(tmp_path / "t")
    own, path = Campaign.open(tmp_path / "t").store, tmp_path / "t" / "campaign.db"
    own.is_busy = True
    own.news({"queries": -1})
    with contextlib.closing(real(path, isolation_level=None)) as other:
        other.execute("begin exclusive")
        with pytest.raises(StoreTrouble, match="locked"):
            own.state()
    for data in (None, b"no database at all" * 500):
        path.unlink() if data is None else path.write_bytes(data)
        with pytest.raises(StoreTrouble, match="cannot be read or written"):
            own.state()
    assert left == set()


@posix
def test_eight_at_once_keep_every_answer(tmp_path):
    assert ABUSE["at_once"](tmp_path) == (160, 160)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts open files in /proc")
def test_many_answers_leave_memory_and_open_files_as_they_were(tmp_path):
    """A small part of what ``python -m benchmarks campaign`` does with 20,000 answers."""
    kept, files, memory = ABUSE["soak"](tmp_path, answers=80)
    assert (kept, files <= 0) == (80, True)
    assert memory < 6000  # bytes for each answer


@posix
def test_kill_9_at_random_moments_loses_and_doubles_nothing(tmp_path):
    wrong, died = ABUSE["killed"](tmp_path, kills=5, seed=1)
    assert wrong == 0
    assert died > 2


def test_damaged_campaigns_are_refused_in_one_line_and_nothing_is_lost(tmp_path):
    troubles, codes = ABUSE["mangled"](tmp_path, count=14, seed=2)
    assert troubles == []
    assert codes[0] > 5
    assert codes[2] > 5


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    return ABUSE["labelled"](tmp_path_factory.mktemp("labelled"))


def _parameter(name, value):
    return f"update settings set value = json_set(value, '$.{name}', json('{value}')) where name = 'parameters'"


@posix
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("l-fixed", "delete from recordings"),
        ("l-change", "delete from settings where name = 'parameters'"),
        ("l-fixed", "update settings set value = '[7]' where name in ('parameters', 'tool')"),
        ("l-fixed", "update settings set value = '7' where name = 'method'"),
        ("l-fixed", "update settings set value = json_set(value, '$.annotators', 7) where name = 'label'"),
        ("l-change", "update settings set value = json_set(value, '$.features', 'x') where name = 'signal'"),
        ("l-count", "update answers set annotator = x'fffe'"),
        ("l-count", "insert into actions values (0, 'x', 'q', x'fffe', 'undo', null, '')"),
        ("l-fixed", "update recordings set seconds = 0"),
        ("l-information", "update recordings set seconds = 1e308"),
        ("l-fixed", "update recordings set seconds = 'nan'"),
        ("l-fixed", "update recordings set path = 'a' || char(0) || 'b', relative = null"),
        ("l-fixed", f"update recordings set path = '/{'x' * 5000}', relative = null"),
        ("l-fixed", "update queries set onset = 1e9, offset = 2e9"),
        ("l-fixed", "update answers set present = 'x'"),
        ("l-fixed", "delete from queries"),
        ("l-information", "update answers set query = x'fffe'"),
        ("l-bisection", _parameter("guess_rate", '["x"]')),
        ("l-bisection", _parameter("segment_length", "1e-300")),
        ("l-windows", _parameter("hop", "1e-300")),
        ("l-count", _parameter("queries_per_recording", "1e308")),
        ("l-change", _parameter("windows", '{"x": 7}')),
        ("l-fixed", _parameter("label", "[]")),
        ("l-information", _parameter("event_length", "0.5")),
    ],
)
def test_a_changed_row_is_refused_in_one_line(labelled, tmp_path, name, damage):
    shutil.copytree(labelled[name], tmp_path / "t")
    with contextlib.closing(sqlite3.connect(tmp_path / "t" / "campaign.db")) as database, database:
        assert database.execute(damage).rowcount > 0
    said = ABUSE["contained"]("label", tmp_path / "t", "--export")
    needs_no_recording = "path = '/x" in damage  # an export reads none: the place of one may be anything
    assert (said[0], ABUSE["trouble"](*said)) == (0 if needs_no_recording else 2, None), said
    said = ABUSE["contained"]("queries", "--resume", tmp_path / "t", "--to", "csv")  # which may not need it
    assert ABUSE["trouble"](*said) is None, said


@posix
def test_a_setting_that_is_gone_is_refused_where_the_next_round_is_written(labelled, tmp_path):
    shutil.copytree(labelled["l-information"], tmp_path / "t")
    with contextlib.closing(sqlite3.connect(tmp_path / "t" / "campaign.db")) as database, database:
        database.execute("update settings set value = 'null' where name = 'signal'")
    code, notes, trace = ABUSE["contained"]("queries", "--resume", tmp_path / "t", "--to", "csv")
    assert (code, trace) == (2, "")
    assert "the signal None: damaged?" in notes


@posix
@pytest.mark.parametrize("kind", ["l-fixed", "l-information"])
def test_answers_whose_query_is_gone_are_refused_in_one_line(labelled, tmp_path, kind):
    """``DELETE FROM queries``, then ``label --export``: the answers are left, and what they were about is not."""
    shutil.copytree(labelled[kind], tmp_path / "t")
    with contextlib.closing(sqlite3.connect(tmp_path / "t" / "campaign.db")) as database, database:
        assert database.execute("delete from queries").rowcount > 0
        assert database.execute("select count(*) from answers").fetchone()[0] > 0
    code, notes, trace = ABUSE["contained"]("label", tmp_path / "t", "--export")
    assert (code, trace) == (2, "")
    assert "is gone and its answer is not (in all 2 of 2 answers): damaged?" in notes
    assert ABUSE["trouble"](code, notes, trace) is None


@posix
def test_mangled_rows_and_bytes_are_refused_in_one_line(labelled, tmp_path):
    """A small part of what ``python -m benchmarks campaign`` does with 3,000 campaigns."""
    troubles, codes = ABUSE["mangled_rows"](tmp_path, count=10, seed=6, made=labelled)
    assert troubles == []
    assert codes[0] > 1
    assert codes[2] > 1


def test_whole_numbers_that_a_damaged_campaign_holds_as_decimals_are_whole():
    """``batch: 1.0`` was a traceback of the next round."""
    how = make_method("information", {"batch": 1.0}, [])
    assert type(how.batch) is int


def test_a_damaged_name_of_an_option_is_refused_in_one_line(tmp_path):
    wk.queries({"a": 20.0}, method="bisection", segment_length=5.0, label="dog").write(tmp_path / "t")
    held = Store(tmp_path / "t" / "campaign.db")
    parameters = held.setting("parameters")
    held.setting("parameters", {"segment_lengNaNth": parameters.pop("segment_length"), **parameters}, anew=True)
    code, notes, trace = ABUSE["command"]("queries", "--resume", tmp_path / "t")
    assert (code, trace) == (2, "")
    assert "'segment_lengNaNth'" in notes


def killed(arguments, folder, files):
    """Start the command and kill it as soon as so many files are there."""
    real = os.replace
    with pytest.MonkeyPatch.context() as patch:  # the worst moment: the new file is complete and not yet in place
        patch.setattr(os, "replace", lambda a, b: (time.sleep(0.03), real(a, b)))
        child = ABUSE["started"](*arguments)
    end = time.monotonic() + 60
    while len(whole(folder)) < files and time.monotonic() < end:
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == -signal.SIGKILL, "the command was done before it could be killed"


def whole(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith((".", "campaign.db"))
    }


@posix
def test_kill_9_while_files_are_written(tmp_path, sounds):
    ask = ["queries", *map(str, sounds), "--segment-length", "1", "--to", "clips", "--out"]
    done(*ask, tmp_path / "good")
    good = whole(tmp_path / "good")
    for files in (5, 25):
        killed([*ask, str(tmp_path / "tasks")], tmp_path / "tasks", files)
        left = whole(tmp_path / "tasks")
        assert 5 <= len(left) < len(good)
        assert all(data == good[name] for name, data in left.items())  # whole or absent, never half
    done(*ask, tmp_path / "tasks")
    assert whole(tmp_path / "tasks") == good
    queries = Campaign.open(tmp_path / "tasks").queries["query"]
    export = ABUSE["export"](tmp_path / "e.csv", queries, "ann")
    answer = ["answers", str(export), "--queries", str(tmp_path / "tasks"), "--out"]
    killed([*answer, str(tmp_path / "labels")], tmp_path / "labels", 2)
    assert len(kept(tmp_path / "tasks")) == len(queries)
    done(*answer, tmp_path / "labels")
    done(*answer, tmp_path / "right")
    assert whole(tmp_path / "labels") == whole(tmp_path / "right")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="SIGXFSZ")
def test_death_in_the_middle_of_a_write_leaves_the_old_state(tmp_path):
    tasks, export = tmp_path / "tasks", tmp_path / "e.csv"
    wk.queries({"a": 64.0}, method="bisection", segment_length=0.25).write(tasks, to="csv")
    done("answers", ABUSE["export"](export, Campaign.open(tasks).queries["query"], "a" * 400), "--queries", tasks)
    for arguments in (("queries", "--resume", tasks), ("answers", export, "--queries", tasks)):
        before = Campaign.open(tasks)
        for limit in (100, 600, 5000):
            dead = ABUSE["started"](*arguments, limit=limit)
            assert os.waitstatus_to_exitcode(os.waitpid(dead, 0)[1]) == -signal.SIGXFSZ
            after = Campaign.open(tasks)
            assert [one.id for one in after.answers] == [one.id for one in before.answers]
            assert after.queries.equals(before.queries)
        done(*arguments)
        after = Campaign.open(tasks)
        assert len(after.answers) + len(after.queries) > len(before.answers) + len(before.queries)
        ABUSE["export"](export, after.queries["query"], "a" * 400)


def test_repeats_of_a_campaign_tell_how_people_slip(tmp_path):
    """A tenth of the queries is asked again far from the first time; they make no labels, and tell of slips."""
    from weakly.studies.queries.campaign import Campaign

    found = wk.queries({"a": 600.0}, method="fixed", segment_length=1.0, label="owl", repeats=0.1)
    frame = found.to_frame()
    again = frame["method"] == "repeat"
    assert (~again).sum() == 600
    assert 30 < again.sum() < 90
    assert frame["query"].is_unique
    assert frame.groupby("onset").size().isin([1, 3]).all()
    assert frame[again].groupby("onset").apply(lambda rows: np.diff(rows.index).min(), include_groups=False).min() > 100
    assert len(wk.queries({"a": 600.0}, segment_length=1.0)) == 600
    found.write(tmp_path / "c", to="csv")
    rng = np.random.default_rng(0)
    clips = pd.read_csv(tmp_path / "c" / "clips.csv")
    assert "repeat" not in " ".join(map(str, clips.drop(columns="query").to_numpy().ravel()))
    met = clips["start_time"] % 4 < 1
    clips["annotation"] = np.where(met & (rng.random(len(clips)) > 0.3), "present", "absent")
    clips.to_csv(tmp_path / "c" / "clips.csv", index=False)
    campaign = Campaign.open(tmp_path / "c")
    taken = campaign.take([tmp_path / "c" / "clips.csv"])
    (row,) = taken.slips()
    assert row["lapse_rate_low"] <= 0.3 <= row["lapse_rate_high"]
    assert row["guess_rate"] < 0.05
    assert row["n_repeats"] == again.sum()
    first = set(frame.loc[~again, "query"])
    marks = clips[clips["query"].isin(first) & (clips["annotation"] == "present")]
    events = campaign.labels(taken).to_frame()
    assert (events["offset"] - events["onset"]).sum() == len(marks)


def test_a_campaign_with_another_search_of_change_points_is_refused_in_one_line(tmp_path):
    wk.queries({"a.wav": 10.0}, method="fixed", segment_length=2).write(tmp_path / "c")
    campaign = Campaign.open(tmp_path / "c")
    held = campaign.state.settings["parameters"]
    campaign.store.setting("parameters", held | {"search": "peaks", "penalty": None}, anew=True)
    assert Campaign.open(tmp_path / "c").next().n_queries == 5  # of before, and read as ever
    campaign.store.setting("parameters", held | {"search": "kernel", "penalty": 3.0}, anew=True)
    with pytest.raises(InvalidInput, match=r"searched by 'kernel', which is gone: make the campaign anew") as error:
        Campaign.open(tmp_path / "c").next()
    assert "\n" not in str(error.value)
