"""A data set read in chunks is worth the whole: wherever rows lie, whoever works, whatever is killed."""

import signal
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest

import weakly as wk
from weakly.io.dataset import Dataset
from weakly.studies.evaluate import datasets
from weakly.studies.evaluate.datasets import evaluate_dataset
from weakly.studies.evaluate.evaluator import check_assumptions

pytest.importorskip("pyarrow")
# Files may be of several annotators: reading them whole says so, and here they are parts of one table.
pytestmark = pytest.mark.filterwarnings("ignore:.*with the same class in several files")
HOW = {"segment_length": [1.0, 4.0], "presence_criterion": [0.3, 0.6]}


def rows(seed=1, n=600, recordings=25, labels=("cat", "dog", "owl")):
    rng = np.random.default_rng(seed)
    onset = np.round(rng.random(n) * 50, 3)
    frame = pd.DataFrame({
        "filename": [f"r{k}.wav" for k in np.sort(rng.integers(0, recordings, n))],
        "onset": onset,
        "offset": onset + np.round(rng.random(n) * 3 + 0.01, 3),
        "event_label": rng.choice(labels, n),
        "recording_length": 60.0,
        "note": "read by nobody",
    })  # fmt: skip
    silent = pd.DataFrame({"filename": ["silent.wav"], "recording_length": [60.0]})
    return pd.concat([frame, silent], ignore_index=True)


@pytest.fixture
def folder(tmp_path):
    """Three files; recordings that lie in two of them; several row groups."""
    table = rows()
    for k, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[part].to_parquet(tmp_path / f"part{k}.parquet", row_group_size=70, index=False)
    return tmp_path


def same(found, whole, *, bits=False):
    how = {"check_exact": True} if bits else {"rtol": 1e-9}
    pd.testing.assert_frame_equal(found.to_frame(), whole.to_frame(), **how)
    pd.testing.assert_frame_equal(found.overall.to_frame(), whole.overall.to_frame(), **how)


def test_chunks_are_worth_the_whole(folder):
    whole = wk.evaluate(wk.read(folder), **HOW)
    for size in (40, 170, 10**6):
        found = evaluate_dataset(folder, chunk_rows=size, **HOW)
        same(found, whole)
        assert found.settings["account"] == {"rows": 601, "empty": 1, "skipped": 0, "clipped": 0, "unknown": 0}
    one = evaluate_dataset(folder, label="cat", chunk_rows=40, **HOW)
    same(one, wk.evaluate(wk.read(folder), label="cat", **HOW))
    joined = evaluate_dataset(folder, merge={"pet": ["cat", "dog"]}, chunk_rows=40, **HOW)
    same(joined, wk.evaluate(wk.read(folder, merge={"pet": ["cat", "dog"]}), **HOW))


@pytest.mark.parametrize("who", [{"rule": [wk.PresenceRule.seconds(0.25)]}, {"presence_criterion": 0.5, "phase": 0.0}])
def test_other_questions_go_the_same_way(folder, who):
    same(evaluate_dataset(folder, segment_length=2.0, chunk_rows=100, **who),
         wk.evaluate(wk.read(folder), segment_length=2.0, **who))  # fmt: skip


def test_text_and_partitions(tmp_path):
    table = rows()
    for ending, sign in (("csv", ","), ("tsv", "\t")):
        (tmp_path / ending).mkdir()
        for k, part in enumerate(np.array_split(np.arange(len(table)), 2)):
            table.iloc[part].to_csv(tmp_path / ending / f"{k}.{ending}", sep=sign, index=False)
    whole = wk.evaluate(wk.read(tmp_path / "csv"), **HOW)
    same(evaluate_dataset(tmp_path / "csv", chunk_rows=90, **HOW), whole)
    same(evaluate_dataset(tmp_path / "tsv", chunk_rows=90, **HOW), whole)
    table[table["onset"].notna()].to_parquet(tmp_path / "hive", partition_cols=["event_label"])
    loud = wk.evaluate(wk.Events.from_frame(table[table["onset"].notna()].rename(
        columns={"filename": "recording", "event_label": "label"}), recording_length=60.0), **HOW)  # fmt: skip
    same(evaluate_dataset(tmp_path / "hive", chunk_rows=90, **HOW), loud)


def test_units_and_lengths_are_those_that_are_told(tmp_path):
    table = rows()
    table["start_ms"], table["duration_ms"] = table["onset"] * 1e3, (table["offset"] - table["onset"]) * 1e3
    table.drop(columns=["onset", "offset", "recording_length"]).to_parquet(tmp_path / "a.parquet")
    lengths = dict.fromkeys(table["filename"], 60.0) | {"more.wav": 90.0}
    found = evaluate_dataset(tmp_path / "a.parquet", recording_length=lengths, chunk_rows=100, **HOW)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(found, wk.evaluate(wk.read(tmp_path / "a.parquet", recording_length=lengths), **HOW))
    with pytest.warns(wk.AssumptionWarning, match="length of 26 recordings is unknown"):
        evaluate_dataset(tmp_path / "a.parquet", **HOW)


def test_recordings_that_were_not_annotated_are_left_out(tmp_path):
    frame = pd.DataFrame({"recording": ["a"], "onset": [1.0], "offset": [2.0], "label": ["dog"]})
    events = wk.Events.from_frame(frame, recording_length={"a": 9.0, "b": 9.0, "c": 9.0}, unannotated=["c"])
    wk.write(events, tmp_path / "a.parquet")
    found = evaluate_dataset(tmp_path / "a.parquet", segment_length=1.0, presence_criterion=0.5)
    assert found.n_recordings == 2
    same(found, wk.evaluate(events, segment_length=1.0, presence_criterion=0.5))


def test_broken_rows(folder):
    table = pd.read_parquet(folder / "part1.parquet")
    table.loc[3, "offset"] = table.loc[3, "onset"]
    table.loc[5, "offset"] = 61.0
    table.to_parquet(folder / "part1.parquet", index=False)
    with pytest.raises(wk.InvalidInput, match=r"part1.parquet: recording 'r.*must have a label and end after"):
        evaluate_dataset(folder, **HOW)
    with pytest.warns(wk.AssumptionWarning, match="2 rows left out"):
        found = evaluate_dataset(folder, on_error="skip", chunk_rows=100, **HOW)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(found, wk.evaluate(wk.read(folder, on_error="skip"), **HOW))
    (folder / "part2.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(wk.InvalidInput, match=r"cannot be read: .*part2.parquet"):
        evaluate_dataset(folder, **HOW)


def test_what_is_no_data_set_is_said_in_one_line(tmp_path):
    with pytest.raises(wk.InvalidInput, match="there is no such file"):
        Dataset.of(tmp_path / "nothing")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(wk.InvalidInput, match="column"):
        Dataset.of(tmp_path)
    (tmp_path / "b.parquet").write_bytes(b"")
    with pytest.raises(wk.InvalidInput, match="files of one kind"):
        Dataset.of(tmp_path)
    with pytest.raises(wk.InvalidInput, match="one kind, got"):
        Dataset.of(["s3://a/b", str(tmp_path)])
    with pytest.raises(wk.InvalidInput, match="nosuch://"):
        Dataset.of("nosuch://a")


def test_assumptions_are_checked_chunk_by_chunk(folder):
    found = {(one.name, one.label, one.segment_length): one for one in evaluate_dataset(
        folder, chunk_rows=60, **HOW).assumptions}  # fmt: skip
    exact = check_assumptions(wk.read(folder), segment_length=HOW["segment_length"])
    assert len(found) == len(exact)
    for one in exact:
        key = (one.name, one.label, one.segment_length)
        mine = found[key] if one.segment_length == one.segment_length else next(
            each for (name, label, _), each in found.items() if (name, label) == key[:2])  # fmt: skip
        assert (mine.n_events, mine.broken) == (one.n_events, one.broken)
        assert mine.share == pytest.approx(one.share, abs=0.008)


def test_any_executor_gives_the_same_bits(folder):
    alone = evaluate_dataset(folder, chunk_rows=50, **HOW)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        same(evaluate_dataset(folder, chunk_rows=50, executor=pool, **HOW), alone, bits=True)


def test_a_run_goes_on_where_it_was_ended(folder, tmp_path, monkeypatch):
    alone, store = evaluate_dataset(folder, chunk_rows=50, **HOW), tmp_path / "sums"
    real, done = datasets.work, []

    def stops(*job):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(job)
        return real(*job)

    monkeypatch.setattr(datasets, "work", stops)
    with pytest.raises(KeyboardInterrupt):
        evaluate_dataset(folder, chunk_rows=50, resume=store, **HOW)
    kept = sorted(path.name for path in store.glob("chunk-*"))
    assert kept
    monkeypatch.setattr(datasets, "work", lambda *job: done.append(job) or real(*job))
    done.clear()
    same(evaluate_dataset(folder, chunk_rows=50, resume=store, **HOW), alone, bits=True)
    assert len(done) == alone.settings["chunks"] - len(kept)
    with pytest.raises(wk.InvalidInput, match="another run"):
        evaluate_dataset(folder, chunk_rows=51, resume=store, **HOW)
    with pytest.raises(wk.InvalidInput, match="holds no run"):
        evaluate_dataset(folder, resume=folder, **HOW)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_kill_9_twice_changes_no_bit(folder, tmp_path, monkeypatch):
    alone, store = evaluate_dataset(folder, chunk_rows=25, **HOW), tmp_path / "sums"
    real = datasets.work
    monkeypatch.setattr(datasets, "work", lambda *job: time.sleep(0.05) or real(*job))
    for times in (1, 2):
        before = len(list(store.glob("chunk-*")))
        how = {"chunk_rows": 25, "resume": store, **HOW}
        child = get_context("fork").Process(target=evaluate_dataset, args=(folder,), kwargs=how)
        with warnings.catch_warnings(action="ignore"):  # libraries hold threads of their own
            child.start()
        while child.is_alive() and len(list(store.glob("chunk-*"))) < before + 2:
            time.sleep(0.01)
        child.kill()
        child.join()
        assert child.exitcode == -signal.SIGKILL, times
    monkeypatch.setattr(datasets, "work", real)
    assert len(list(store.glob("chunk-*"))) < alone.settings["chunks"]
    same(evaluate_dataset(folder, chunk_rows=25, resume=store, **HOW), alone, bits=True)


def test_s3(folder, bucket):
    address = bucket(folder, "detections")
    same(evaluate_dataset(address, chunk_rows=50, **HOW), evaluate_dataset(folder, chunk_rows=50, **HOW), bits=True)
    with pytest.raises(wk.InvalidInput, match="s3://season/other"):
        evaluate_dataset("s3://season/other", **HOW)
