"""A sample is of whole recordings, the same wherever their rows lie, and worth those recordings read by themselves."""

import json
import warnings

import fsspec
import numpy as np
import pandas as pd
import pytest

import weakly as wk
from weakly.cli import main
from weakly.io import dataset, gather

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore::weakly.AssumptionWarning")


def table(seed=1, n=900, recordings=30):
    rng = np.random.default_rng(seed)
    onset = np.round(rng.random(n) * 50, 3)
    return pd.DataFrame({
        "recording": [f"r{k}.wav" for k in rng.integers(0, recordings, n)],  # every file has rows of most of them
        "onset": onset,
        "offset": onset + np.round(rng.random(n) * 3 + 0.05, 3),
        "label": rng.choice(["001", "owl", "NA"], n),
        "who": rng.choice(["ann", "bob"], n),
    })  # fmt: skip


def spread(rows, folder, ending, pieces):
    folder.mkdir()
    for k, part in enumerate(np.array_split(np.arange(len(rows)), pieces)):
        path, piece = folder / f"part{k}.{ending}", rows.iloc[part]
        if ending == "parquet":
            piece.to_parquet(path, index=False, row_group_size=40)
        else:
            piece.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    return folder


def rows_of(events):
    frame = events.to_frame()
    return frame.sort_values(list(frame.columns)).reset_index(drop=True)


def chosen(events, names):
    """The same recordings of all that was read."""
    frame, listing = events.to_frame(), events.recordings.loc[sorted(names)]
    known = listing["length"].dropna().to_dict()
    kept = frame[frame["recording"].isin(names)]
    return wk.Events.from_frame(kept, recordings=sorted(names), recording_length=known)


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv"])
def test_a_sample_is_whole_recordings_wherever_they_lie(tmp_path, ending):
    rows, seen = table(), []
    shuffled = rows.sample(frac=1, random_state=3)
    for k, (each, pieces) in enumerate([(rows, 1), (rows, 4), (shuffled, 7), (rows.iloc[::-1], 2)]):
        events = wk.read(spread(each, tmp_path / f"{k}", ending, pieces), sample=8)
        assert len(events.recordings) == 8
        seen.append(events)
    whole = wk.read(tmp_path / "0")
    names = set(seen[0].recordings.index)
    for events in seen:
        assert set(events.recordings.index) == names
        pd.testing.assert_frame_equal(rows_of(events), rows_of(chosen(whole, names)))
        counts = {"recordings": 8, "of_recordings": 30, "rows": len(events), "of_rows": 900}
        assert events.source.sample == counts
        assert "a sample of 8 of 30 recordings, " in events.notes[0]
    assert set(seen[0].labels) <= {"001", "owl", "NA"}  # texts are what is written there


def test_more_recordings_only_add(tmp_path):
    folder = spread(table(), tmp_path / "set", "parquet", 3)
    few, more = (set(wk.read(folder, sample=n).recordings.index) for n in (5, 12))
    assert few < more
    everything = wk.read(folder, sample=10**9)
    pd.testing.assert_frame_equal(rows_of(everything), rows_of(wk.read(folder)))


def test_other_formats_are_sampled_alike(tmp_path):
    folder = spread(table(), tmp_path / "set", "parquet", 3)
    wk.write(wk.read(folder), tmp_path / "raven", "raven")
    found, other = wk.read(folder, sample=6), wk.read(tmp_path / "raven", sample=6)
    assert set(found.recordings.index) == set(other.recordings.index)
    assert other.source.sample == found.source.sample
    assert len(other) == len(found)


def test_silent_recordings_are_sampled_like_the_others(tmp_path):
    rows = table(recordings=10)
    folder = spread(rows, tmp_path / "set", "parquet", 3)
    lengths = {f"r{k}.wav": 60.0 + k for k in range(10)} | {f"silent{k}.wav": 30.0 for k in range(90)}
    found = wk.read(folder, sample=20, recording_length=lengths)
    assert found.source.sample["of_recordings"] == 100
    assert len(found.recordings) == 20
    assert found.recordings["length"].to_dict() == {name: lengths[name] for name in found.recordings.index}
    assert len(found.silent) > 10
    one = wk.read(folder, sample=1, recording_length=lengths)  # may be a silent one
    assert len(one.recordings) == 1
    stretches = pd.DataFrame({"recording": list(lengths), "onset": 0.0, "offset": 20.0})
    part = wk.read(folder, sample=20, examined=stretches)
    assert set(part.examined["recording"]) == set(found.recordings.index)
    assert len(part.within().recordings) == 20


def test_a_sample_without_events(tmp_path):
    rows = table(n=20, recordings=1)
    lengths = {"r0.wav": 60.0} | {f"silent{k}.wav": 30.0 for k in range(400)}
    for ending in ("parquet", "csv"):
        folder = spread(rows, tmp_path / ending, ending, 2)
        found = wk.read(folder, sample=2, recording_length=lengths)
        assert (len(found), len(found.silent)) == (0, 2)
    for wrong in (0, -1, 1.5, True, "all"):
        with pytest.raises(wk.InvalidInput, match="sample must be a number of recordings"):
            wk.read(folder, sample=wrong)


def test_the_other_options_hold_in_a_sample(tmp_path):
    rows = table()
    folder = spread(rows, tmp_path / "set", "parquet", 3)
    names = set(wk.read(folder, sample=8).recordings.index)
    for how in ({"label": "owl"}, {"where": {"who": "ann"}}, {"merge": {"x": ["owl", "NA"]}}):
        pd.testing.assert_frame_equal(
            rows_of(wk.read(folder, sample=8, **how)), rows_of(chosen(wk.read(folder, **how), names))
        )
    broken = rows.copy()
    broken.loc[broken["recording"] == min(names), "offset"] = 0.0
    folder = spread(broken, tmp_path / "broken", "parquet", 2)
    with pytest.raises(wk.InvalidInput, match=r"part0.parquet \(sample\), line"):
        wk.read(folder, sample=8)
    assert wk.read(folder, sample=8, on_error="skip").skipped > 0
    numbers = rows.assign(recording=[int(name[1:-4]) for name in rows["recording"]])
    found = wk.read(spread(numbers, tmp_path / "numbers", "parquet", 2), sample=8)
    assert len(found.recordings) == 8
    answers = rows.assign(present=1.0)
    said = wk.read_answers(spread(answers, tmp_path / "answers", "csv", 2), sample=8)
    assert set(said.to_frame()["recording"]) == names


def test_large_tables_are_sampled_by_themselves(tmp_path, monkeypatch):
    folder = spread(table(), tmp_path / "set", "parquet", 3)
    assert wk.read(folder, sample="auto").source.sample is None
    monkeypatch.setattr(gather, "LARGE", 899)
    monkeypatch.setattr(gather, "SAMPLED", 200)
    found = wk.read(folder, sample="auto")
    assert 200 <= len(found) < 300
    assert found.source.sample["of_rows"] == 900
    monkeypatch.setattr(gather, "MOST_ROWS", 100)
    with pytest.raises(wk.InvalidInput, match=r"a sample of .* rows are more than the 100 that are read at once"):
        wk.read(folder, sample="auto")


def test_more_than_is_copied_is_sampled_where_it_lies(tmp_path, monkeypatch):
    folder = spread(table(), tmp_path / "set", "parquet", 3)
    files = fsspec.filesystem("memory")
    files.put(str(folder), "/bucket/large", recursive=True)
    for module in (dataset, gather):
        monkeypatch.setattr(module, "MOST_BYTES", 1000)
    monkeypatch.setattr(dataset, "_copy", lambda *_: pytest.fail("fetched"))
    try:
        found = wk.read("memory://bucket/large", sample=8)
        with pytest.raises(wk.InvalidInput, match="GiB are more than"):
            wk.read("memory://bucket/large")
    finally:
        files.store.clear()
        dataset._opened.cache_clear()
    pd.testing.assert_frame_equal(found.to_frame(), wk.read(folder, sample=8).to_frame())


def _run(capsys, *arguments, said=""):
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--json"])
    out = capsys.readouterr()
    assert end.value.code == 0, out.err
    assert said in out.err
    return json.loads(out.out)


def test_a_plan_of_a_sample_is_that_of_its_recordings(tmp_path, monkeypatch, capsys):
    rows = table().assign(label="owl")
    folder = spread(rows, tmp_path / "set", "parquet", 3)
    how = ("--presence-criterion", "0.5", "--methods", "fixed")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        made = _run(capsys, "plan", str(folder), *how, "--recording-length", "60", "--sample", "10", said="a sample of")
    names = set(wk.read(folder, sample=10).recordings.index)
    alone = spread(rows[rows["recording"].isin(names)], tmp_path / "alone", "parquet", 1)
    same = _run(capsys, "plan", str(alone), *how, "--recording-length", "60")
    hours = _run(capsys, "plan", str(alone), *how, "--recording-length", "60", "--total-hours", "0.5")
    assert made["settings"]["sample"] == {
        "recordings": 10, "of_recordings": 30, "rows": made["settings"]["sample"]["rows"], "of_rows": 900,
        "scaled": True}  # fmt: skip
    assert made["settings"]["n_recordings"] == pytest.approx(30)
    assert made["recommended"]["n_queries"] == pytest.approx(3 * same["recommended"]["n_queries"])
    assert made["recommended"]["wrong_time"] == pytest.approx(same["recommended"]["wrong_time"])
    assert made["assumptions"][-1].startswith("Known from a sample of 10 of 30 recordings")
    assert made["rows"] == hours["rows"]
    # What is asked for beside the sample is planned as it is.
    other = _run(capsys, "plan", str(folder), *how, "--recording-length", "60", "--sample", "10", "--total-hours", "2")
    assert other["settings"]["total_hours"] == 2
    assert not other["settings"]["sample"]["scaled"]
    monkeypatch.setattr(gather, "LARGE", 899)
    monkeypatch.setattr(gather, "SAMPLED", made["settings"]["sample"]["rows"])
    assert _run(capsys, "plan", str(folder), *how, "--recording-length", "60") == made


def test_two_tables_are_not_sampled_apart(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["audit", "--strong", "a.csv", "--weak", "b.csv", "--sample", "3"])
    assert "--sample needs --strong, --weak or --answers alone" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["plan", "--event-length", "1", "--recording-length", "10", "--sample", "3"])
    assert "--sample needs pilot annotations" in capsys.readouterr().err


def test_notes_come_once(tmp_path):
    folder = spread(table(), tmp_path / "set", "parquet", 3)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        wk.read(folder, sample=3)
    assert sum("a sample of 3" in str(each.message) for each in told) == 1


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ("time,x\na.wav,0:05-0:10,owl\na.wav,1:02-1:05,owl\n", {}),
        ("start,label\na.wav,1,owl\na.wav,9,owl\n", {"length": "5s"}),
    ],
)
def test_times_that_no_column_holds_are_refused_of_a_data_set(tmp_path, times, told):
    (tmp_path / "a.csv").write_text(f"file,{times}")
    with pytest.raises(wk.InvalidInput, match="of a data set must hold numbers, in seconds"):
        dataset.Dataset.of(tmp_path / "a.csv", columns=told)
