# ruff: noqa: E501
"""Choosing rows, cutting at the end, lengths and examined stretches, folders, binary files, and other libraries' objects."""

import json
import os
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import weakly as wk
from weakly import AssumptionWarning, InvalidInput
from weakly.base.results import to_json
from weakly.cli import main
from weakly.io import check, read, read_answers, read_examined, read_lengths, write
from weakly.model.answers import Answers
from weakly.model.events import Events

pytestmark = pytest.mark.filterwarnings("ignore::weakly.base.errors.AssumptionWarning")
HEAD = "file,start,end,species,rater,split\n"
ROWS = HEAD + "a,0,1,robin,x,train\na,2,3,wren,y,train\nb,0,2,owl,x,test\nb,3,5,robin,x,test\n"


def rows_of(found):
    return found.to_frame()[["recording", "onset", "offset", "label"]].to_numpy(dtype=object).tolist()


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(ROWS)
    return path


def test_selecting_is_the_same_when_reading_and_afterwards(table):
    chosen = {"where": {"split": "train"}, "annotator": ["x"], "merge": {"bird": ["robin", "wren"]}}
    found = read(table, label="bird", **chosen)
    assert rows_of(found) == rows_of(read(table).select("bird", **chosen)) == [["a", 0.0, 1.0, "bird"]]
    assert list(found.recordings.index) == ["a"]  # a split belongs to recordings
    assert list(read(table, where={"species": "owl"}).recordings.index) == ["a", "b"]  # a species does not
    assert "1 recording with another split" in " ".join(found.notes)
    for wrong, words in (
        ({"where": {"split": "tran"}}, "did you mean 'train'"),
        ({"where": {"spilt": "train"}}, "did you mean 'split'"),
        ({"annotator": "z"}, "annotator must be one of 'x', 'y'"),
        ({"merge": {"bird": ["Robin"]}}, "did you mean 'robin'"),
    ):
        with pytest.raises(InvalidInput, match=words):
            read(table, **wrong)


def test_merged_answers_are_present_if_one_is():
    frame = pd.DataFrame({"recording": "a", "onset": 0.0, "offset": 3.0, "label": ["robin", "wren", "owl"],
                          "present": [0.0, 1.0, np.nan]})  # fmt: skip
    made = Answers.from_frame(frame).select(merge={"bird": ["robin", "wren"], "night": ["owl"]}).to_frame()
    assert made[["label", "present"]].fillna(-1).to_numpy(dtype=object).tolist() == [["bird", 1.0], ["night", -1.0]]


def test_late_events_are_cut_and_counted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("file,onset,offset,label\na,1,2,x\na,9,10.5,x\na,11,12,x\n")
    (tmp_path / "l.csv").write_text("file,duration\na,10\n")
    found = read(path, recording_length=tmp_path / "l.csv", on_error="clip")
    assert rows_of(found) == [["a", 1.0, 2.0, "x"], ["a", 9.0, 10.0, "x"]]
    assert {name: found.account[name] for name in ("rows", "events", "skipped", "clipped", "late")} == {
        "rows": 3, "events": 2, "skipped": 1, "clipped": 1, "late": 1
    }  # fmt: skip
    assert any("1 event cut at the end of the recording" in note for note in found.notes)
    with pytest.raises(InvalidInput, match=r"--on-error clip\) cuts them at the end"):
        read(path, recording_length=10)


def test_lengths_of_numeric_names_and_of_none(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text("filename,duration\n1001,10\n1002,20\n")
    assert read_lengths(path) == {"1001": 10.0, "1002": 20.0}
    path.write_text("filename,duration\na,10\nb,N/A\n")
    with pytest.raises(InvalidInput, match="line 3, column 'duration': 'N/A' is not a length"):
        read_lengths(path)
    assert read_lengths(path, on_error="skip") == {"a": 10.0}
    path.write_text("id,scene,length\nv1,kitchen,30.5\nv2,hall,20\n")
    assert read_lengths(path) == {"v1": 30.5, "v2": 20.0}
    path.write_text("id;dur\nv1;0:01:30\n")
    assert read_lengths(path) == {"v1": 90.0}


def test_lengths_whose_names_do_not_fit_are_no_recordings(table, tmp_path):
    lengths = tmp_path / "l.csv"
    lengths.write_text("filename,duration\nx1,10\nx2,20\n")
    with pytest.raises(InvalidInput, match="none of its 2 names is that of a recording"):
        read(table, recording_length=lengths)
    lengths.write_text("filename,duration\na,10\nb,20\nc,30\n")
    with pytest.warns(AssumptionWarning, match="1 recording only in recording_length"):
        assert read(table, recording_length=lengths).silent == ["c"]


def test_examined_stretches_are_recordings_of_their_own(table, tmp_path):
    uem = tmp_path / "e.uem"
    uem.write_text("a 1 0.5 2.5\nb 1 1 4\n")
    found = read(table, examined=uem).within()
    assert rows_of(found) == [
        ["a [0.5-2.5]", 0.0, 0.5, "robin"],
        ["a [0.5-2.5]", 1.5, 2.0, "wren"],
        ["b [1-4]", 0.0, 1.0, "owl"],
        ["b [1-4]", 2.0, 3.0, "robin"],
    ]
    assert found.recordings["length"].tolist() == [2.0, 3.0]
    uem.write_text("a 1 0 1\nb 1 0 2\nb 1 3 5\n")
    whole = sum(read(table).lengths) - 1  # all but the wren
    assert sum(read(table, examined=uem).within().lengths) == whole
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("rater,file\nx,a\nx,b\ny,a\n")
    assert read_examined(pairs)["annotator"].tolist() == ["x", "x", "y"]
    mine = read(table, examined=pairs, annotator="y")
    assert mine.recordings["annotated"].to_dict() == {"a": True, "b": False}
    uem.write_text("nowhere 1 0 1\n")
    with pytest.raises(InvalidInput, match="no recording 'nowhere'"):
        read(table, examined=uem).within()


def slow_within(events, stretches):
    """Every event cut to every stretch, one by one."""
    found = []
    for name, a, b, label in rows_of(events):
        for title, start, end in stretches:
            if title == name and min(b, end) > max(a, start):
                found.append((round(max(a, start) - start, 9), round(min(b, end) - start, 9), label))
    return sorted(found)


def test_a_status_table_says_who_examined_what(tmp_path):
    """APLOSE's table of progress: a column per annotator; what is finished and holds nothing is an empty recording."""
    status, results = tmp_path / "status.csv", tmp_path / "results.csv"
    status.write_text("dataset,filename,ann,bob\nd,a.wav,FINISHED,FINISHED\nd,b.wav,FINISHED,STARTED\n")
    results.write_text(
        "filename,start_time,end_time,annotation,annotator,is_box\na.wav,1,2,x,ann,1\na.wav,1,3,x,bob,1\n"
    )
    assert read_examined(status)[["recording", "annotator"]].to_numpy().tolist() == [
        ["a.wav", "ann"], ["b.wav", "ann"], ["a.wav", "bob"],
    ]  # fmt: skip
    both = read(results, examined=status, annotator="ann").within()
    assert (len(both), both.recordings["annotated"].to_dict()) == (1, {"a.wav": True, "b.wav": True})
    assert any("hold no event" in note for note in both.notes)
    assert read(results, examined=status, annotator="bob").within().recordings.index.tolist() == ["a.wav"]


def test_rows_may_be_skipped_and_cut_at_once(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"v": {"duration": 9.0, "actions": [["c1", 1, 2], ["c1", 8, 5], ["c1", 7, 10]]}}')
    with pytest.raises(InvalidInput, match="ends before it starts"):
        read(path, on_error="clip")
    found = read(path, on_error="skip,clip")
    assert found.to_frame()["offset"].tolist() == [2.0, 9.0]
    assert found.recordings["length"].tolist() == [9.0]
    assert (found.account["skipped"], found.account["clipped"]) == (1, 1)
    assert np.isnan(read(path, on_error="skip").recordings["length"]["v"])  # neither the length nor the event is sure


def test_boxes_that_are_no_answers_are_counted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("filename,start_time,end_time,annotation,annotator,is_box\na,1,2,x,p,1\na,0,9,x,p,0\na,0,9,y,p,0\n")
    found = read_answers(path, where={"is_box": "0"})
    assert {k: found.account[k] for k in ("rows", "events", "merged")} == {"rows": 3, "events": 2, "merged": 1}
    assert any("1 row with boxes left out" in note for note in found.notes)


def test_a_list_of_lengths_may_have_other_columns(tmp_path):
    (tmp_path / "info.csv").write_text("video_id,duration,fps,resolution\nv1,10.5,50,1920x1080\nv2,8,50,1920x1080\n")
    (tmp_path / "a.csv").write_text("video_id,start,end,label\nv1,9,11,x\nv2,1,2,x\n")
    kinds = [item.kind for item in check([tmp_path / "a.csv", tmp_path / "info.csv"]).findings]
    assert kinds == ["past the end"]
    (tmp_path / "b_events.tsv").write_text("onset\tduration\n5\t1\n9\t2\n")  # two numbers that are an event
    assert check(tmp_path / "b_events.tsv").n_events == 2


def test_examined_against_a_slow_reference():
    rng = np.random.default_rng(5)
    onset = rng.uniform(0, 90, 60)
    frame = pd.DataFrame({"recording": rng.choice(["a", "b"], 60), "onset": onset, "label": "x",
                          "offset": onset + rng.uniform(0.1, 20, 60)})  # fmt: skip
    edges = np.sort(rng.uniform(0, 100, 12)).reshape(-1, 2)
    stretches = [(name, a, b) for name in "ab" for a, b in edges.tolist()]
    table = pd.DataFrame(stretches, columns=["recording", "onset", "offset"])
    made = Events.from_frame(frame).within(table).to_frame()
    told = sorted((round(a, 9), round(b, 9), c) for a, b, c in zip(made["onset"], made["offset"], made["label"]))
    assert told == slow_within(Events.from_frame(frame), stretches)


def test_the_same_name_in_two_folders_is_two_recordings(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text("0\t1\tdog\n")
    with pytest.warns(AssumptionWarning, match="1 name of files in several folders"):
        found = read(tmp_path)
    assert sorted(found.recordings.index) == ["one/x", "two/x"]


def test_linked_folders_are_entered_and_closed_ones_are_an_error(tmp_path):
    away, here = tmp_path / "away", tmp_path / "here"
    away.mkdir()
    here.mkdir()
    (away / "x.txt").write_text("0\t1\tdog\n")
    (here / "link").symlink_to(away)
    (away / "back").symlink_to(here)  # and around
    assert len(read(here)) == 1
    closed = here / "closed"
    closed.mkdir()
    (closed / "y.txt").write_text("0\t1\tdog\n")
    closed.chmod(0)
    try:
        if os.access(closed, os.R_OK):  # root may read it all the same
            assert len(read(here)) == 2
        else:
            with pytest.raises(InvalidInput, match="closed: the folder cannot be opened"):
                read(here)
    finally:
        closed.chmod(0o700)


def test_names_and_labels_that_are_no_text(tmp_path):
    if sys.platform != "linux":
        pytest.skip("file names are bytes on Linux only")
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt")
    with open(path, "wb") as file:
        file.write(b"0\t1\tdog\n")
    assert list(read(os.fsdecode(path)).recordings.index) == ["caf\\udce9"]
    odd = tmp_path / "odd.txt"
    odd.write_text("0\t1\tdog\n")
    with pytest.raises(InvalidInput):
        read(odd, columns={"recording": "x"})


@pytest.mark.parametrize(
    ("columns", "times"),
    [
        ({"start_ms": [1500, 2500], "end_ms": [2000, 3000]}, [[1.5, 2.0], [2.5, 3.0]]),
        ({"start": pd.to_timedelta([1.5, 2.5], unit="s"), "end": pd.to_timedelta([2, 3], unit="s")}, [[1.5, 2], [2.5, 3]]),
        ({"recording_start": pd.to_datetime(["2024-01-01"] * 2), "start": pd.to_datetime(["2024-01-01T00:00:01.5", "2024-01-01T00:00:02.5"]),
          "end": pd.to_datetime(["2024-01-01T00:00:02", "2024-01-01T00:00:03"])}, [[1.5, 2], [2.5, 3]]),
        ({"start_sample": [8, 16], "end_sample": [12, 20], "fs": [4, 8]}, [[2, 3], [2, 2.5]]),
    ],
    ids=["milliseconds", "timedeltas", "dates", "samples"],
)  # fmt: skip
def test_types_of_parquet_are_times(tmp_path, columns, times):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"video_id": ["v", "w"], **columns, "class": ["x", "y"]}).to_parquet(path)
    found = read(path)
    assert found.to_frame()[["onset", "offset"]].to_numpy().tolist() == times
    assert found.reading.startswith("recording = video_id (2), label = class (2)")


def test_parquet_of_lists_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"file": ["a"], "onset": [[1.0, 2.0]], "offset": [[2.0, 3.0]], "label": ["x"]}).to_parquet(path)
    with pytest.raises(InvalidInput, match="is not a number"):
        read(path)


def test_annotations_of_edf(tmp_path):
    edfio = pytest.importorskip("edfio")
    signal = edfio.EdfSignal(np.zeros(1000), sampling_frequency=100, label="EEG")
    notes = [edfio.EdfAnnotation(1.5, 2.0, "seizure"), edfio.EdfAnnotation(5, 1, "artefact")]
    edfio.Edf([signal], annotations=notes).write(tmp_path / "p1.edf")
    found = read(tmp_path / "p1.edf")
    assert rows_of(found) == [["p1", 1.5, 3.5, "seizure"], ["p1", 5.0, 6.0, "artefact"]]
    assert found.recordings["length"].to_dict() == {"p1": 10.0}
    edfio.Edf([signal], annotations=[edfio.EdfAnnotation(1.5, None, "mark")]).write(tmp_path / "p2.edf")
    with pytest.raises(InvalidInput, match="annotation 1, column 'offset': the event has no length"):
        read(tmp_path / "p2.edf")


@pytest.mark.filterwarnings("ignore")  # wfdb's own
def test_rhythms_of_wfdb(tmp_path):
    wfdb = pytest.importorskip("wfdb")
    wfdb.wrsamp(
        "r1", fs=100, units=["mV"], sig_name=["I"], p_signal=np.zeros((1000, 1)), fmt=["16"], write_dir=str(tmp_path)
    )
    wfdb.wrann("r1", "atr", np.array([50, 120, 500, 700]), symbol=["+", "N", "+", "N"],
               aux_note=["(N", "", "(AFIB", ""], write_dir=str(tmp_path))  # fmt: skip
    found = read(tmp_path / "r1.atr")
    assert rows_of(found) == [["r1", 0.5, 5.0, "N"], ["r1", 5.0, 10.0, "AFIB"]]
    assert found.account["merged"] == 2  # the beats
    assert found.recordings["length"].to_dict() == {"r1": 10.0}


def test_objects_of_mne():
    mne = pytest.importorskip("mne")
    notes = mne.Annotations([1.0, 3.0, 4.0], [0.5, 1.0, 0.0], ["spike", "seizure", "mark"])
    found = wk.Events.from_mne(notes, recording="p1")
    assert rows_of(found) == [["p1", 1.0, 1.5, "spike"], ["p1", 3.0, 4.0, "seizure"]]
    assert (found.skipped, found.account["rows"]) == (1, 3)
    raw = mne.io.RawArray(np.zeros((1, 1000)), mne.create_info(1, 100.0), verbose="error")
    raw.set_annotations(notes)
    assert wk.Events.from_mne(raw).recordings["length"].tolist() == [10.0]


def test_objects_of_pyannote():
    core = pytest.importorskip("pyannote.core")
    one = core.Annotation(uri="meeting")
    one[core.Segment(1, 2.5)] = "ann"
    one[core.Segment(2, 3)] = "bob"
    assert rows_of(wk.Events.from_pyannote(one)) == [["meeting", 1.0, 2.5, "ann"], ["meeting", 2.0, 3.0, "bob"]]
    assert list(wk.Events.from_pyannote({"a": one, "b": core.Annotation()}).recordings.index) == ["a", "b"]


def test_objects_of_crowsetta():
    crowsetta = pytest.importorskip("crowsetta")
    seq = crowsetta.Sequence.from_keyword(
        labels=["i", "a"], onsets_s=np.array([0.5, 1.0]), offsets_s=np.array([0.75, 2.0])
    )
    one = crowsetta.Annotation(annot_path="a.csv", notated_path="a.wav", seq=seq)
    assert rows_of(wk.Events.from_crowsetta([one])) == [["a.wav", 0.5, 0.75, "i"], ["a.wav", 1.0, 2.0, "a"]]


def test_an_address_that_is_none_and_a_time_that_is_huge(tmp_path):
    task = {"id": 1, "data": {"audio": "http://[::1/x"}, "annotations": [{"id": 1, "result": [
        {"type": "labels", "value": {"start": 0, "end": 1, "labels": ["dog"]}}]}]}  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps([task]))
    assert list(read(tmp_path / "a.json").recordings.index) == ["x"]
    (tmp_path / "b.csv").write_text("file,onset,length,label\na,1e308,1e308,x\n")
    with pytest.raises(InvalidInput, match="has a time that is not a number"):
        read(tmp_path / "b.csv")


def test_touching_frames_are_said(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("file,start,end,label\n" + "".join(f"a,{k},{k + 1},x\n" for k in range(10)))
    with pytest.warns(AssumptionWarning, match="9 of 10 events begin where one of the same class ends"):
        found = read(path)
    assert len(found.timelines("x").bounds) == 1
    assert {item.kind for item in check(path).findings} == {"touching"}


def test_check_says_what_to_pass(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("file,start,end,label,annotator\na,0,1,x,p\na,0.5,1.5,x,q\n")
    found = {item.kind: item.message for item in check(path).findings}
    assert "--annotator p takes one" in found["several annotators"]
    assert check(path, annotator=["p"]).clean
    path.write_text("file,start,end,label,nest_id\na,0,1000,x,n1\na,2000,3500,x,n2\n")
    found = {item.kind: item.message for item in check(path).findings}
    assert "--columns recording=nest_id" in found["unused column"]
    assert "--columns rate=1000" in found["milliseconds"]
    assert read(path, columns={"rate": "1000"}).to_frame()["offset"].tolist() == [1.0, 3.5]


def test_boxes_among_whole_files_are_found(tmp_path):
    path = tmp_path.parent / "aplose.csv"
    path.write_text("filename,start_time,end_time,annotation,annotator,is_box\na.wav,0,60,w,x,0\na.wav,5,7,w,x,1\n")
    assert {item.kind for item in check(path).findings} >= {"boxes and whole files"}
    assert rows_of(read(path)) == [["a.wav", 5.0, 7.0, "w"]]
    assert rows_of(read(path, where={"is_box": "0"})) == [["a.wav", 0.0, 60.0, "w"]]
    assert len(read_answers(path, where={"is_box": "0"})) == 1


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return stop.value.code, said.out, said.err


def test_commands_share_one_parser(capsys, table, tmp_path):
    out = tmp_path / "out.csv"
    code, _, err = run(capsys, "convert", table, out, "--where", "split=train", "--merge", "bird=robin,wren")
    assert code == 0
    assert "read: recording = file (2), label = species (3), time = start to end in seconds, annotator = rater" in err
    assert [row[3] for row in rows_of(read(out))] == ["bird", "bird"]
    code, out_text, _ = run(capsys, "check", table, "--annotator", "x")
    assert (code, "4 rows = 3 with events + 0 empty + 0 skipped + 1 merged" in out_text) == (0, True)
    lengths = tmp_path / "l.csv"
    lengths.write_text("file,duration\na,3\nb,4\n")
    evaluate = [
        "evaluate",
        table,
        "--segment-length",
        "1",
        "--presence-criterion",
        "0.5",
        "--recording-length",
        lengths,
    ]
    assert run(capsys, *evaluate)[0] == 2
    code, out_text, _ = run(capsys, *evaluate, "--on-error", "clip", "--json")
    assert code == 0
    json.loads(out_text)
    uem = tmp_path / "e.uem"
    uem.write_text("a 1 0 2.5\n")
    code, out_text, _ = run(capsys, "evaluate", table, "--segment-length", "1", "--presence-criterion", "0.5",
                            "--examined", uem, "--json")  # fmt: skip
    part = wk.evaluate(read(table, examined=uem).within(), segment_length=1.0, presence_criterion=0.5)
    assert json.loads(out_text)["rows"] == json.loads(to_json(part))["rows"]
    assert json.loads(out_text)["rows"] != json.loads(run(capsys, *evaluate[:6], "--json")[1])["rows"]
    code, _, err = run(
        capsys, "evaluate", table, "--segment-length", "1", "--presence-criterion", "0.5", "--where", "x"
    )
    assert (code, "--where must be like split=train, got 'x'" in err) == (2, True)


def test_answers_go_straight_on(tmp_path):
    """Answers in the words of each tool are the same answers, and go into events as they are."""
    frame = pd.DataFrame({"recording": "a", "onset": [0.0, 3.0, 6.0], "offset": [3.0, 6.0, 9.0], "label": "dog",
                          "present": [1.0, 0.0, np.nan], "query": ["0123456789ab", "0123456789ac", "0123456789ad"]})  # fmt: skip
    made = Answers.from_frame(frame)
    for file, kind in (("a.csv", "clips"), ("a.json", "labelstudio"), ("a.txt", "audacity"), ("a.parquet", "parquet")):
        write(made, tmp_path / file, kind)
        found = read_answers(tmp_path / file)
        assert found.to_frame()[["onset", "label", "query"]].equals(made.to_frame()[["onset", "label", "query"]])
        assert found.to_frame()["present"].fillna(-1).tolist() == [1, 0, -1]
        assert rows_of(read(tmp_path / file)) == [["a", 0.0, 3.0, "dog"]]


def test_infer_chooses_answers_as_other_commands_do(capsys, tmp_path):
    """What the options choose is what the same choice in Python infers."""
    rows = "".join(f"{name},{3 * k},{3 * k + 3},{label},{said},{who}\n" for name in "ab" for k in range(6)
                   for label in ("robin", "wren") for who, said in (("ann", "yes" if k % 3 == 0 else "no"), ("bob", "no")))  # fmt: skip
    (tmp_path / "a.csv").write_text("file,start_time,end_time,label,annotation,annotator\n" + rows)
    (tmp_path / "lengths.csv").write_text("filename,duration\na,18\nb,18\n")
    options = ["--event-length", "1", "--presence-criterion", "0.5", "--json"]
    code, out, _ = run(capsys, "infer", tmp_path / "a.csv", "--annotator", "ann", "--merge", "bird=robin,wren",
                       "--recording-length", tmp_path / "lengths.csv", *options)  # fmt: skip
    chosen = read_answers(tmp_path / "a.csv", annotator="ann", merge={"bird": ["robin", "wren"]},
                          recording_length=tmp_path / "lengths.csv")  # fmt: skip
    made = wk.infer(chosen, event_length=wk.Lengths.fixed(1.0), presence_criterion=0.5, rng=0)
    assert code == 0
    assert json.loads(out)["overall"] == json.loads(to_json(made))["overall"]
    assert set(made.summary["label"]) == {"bird"}


def region(onset, offset, label):
    value = {"start": onset, "end": offset, "labels": [label]}
    return {"id": f"{onset}", "from_name": "label", "to_name": "audio", "type": "labels", "value": value}


def test_regions_of_a_class_and_of_its_absence_are_answers(tmp_path):
    """Windows drawn in Label Studio and called crack or no_crack; beside another class they are events as ever."""
    windows = [region(0, 5, "no_crack"), region(4, 9, "no_crack"), region(9, 12, "crack")]
    task = {"id": 1, "data": {"audio": "a.wav"}, "annotations": [{"id": 1, "completed_by": 1, "result": windows}]}
    path = tmp_path / "a.json"
    path.write_text(json.dumps([task]))
    with pytest.warns(AssumptionWarning, match="'crack', 'no_crack' are taken as answers about their spans"):
        found = read_answers(path).to_frame()
    assert found[["onset", "offset", "label", "present"]].to_numpy().tolist() == [
        [0.0, 5.0, "crack", 0.0], [4.0, 9.0, "crack", 0.0], [9.0, 12.0, "crack", 1.0]
    ]  # fmt: skip
    assert read(path).labels == ["crack", "no_crack"]
    table = tmp_path / "a.tsv"
    table.write_text("filename\tonset\toffset\tevent_label\na.wav\t0\t5\tdog absent\na.wav\t5\t9\tdog\n")
    with pytest.warns(AssumptionWarning, match="present and absent"):
        assert read_answers(table).to_frame()["present"].tolist() == [0.0, 1.0]
    table.write_text("filename\tonset\toffset\tevent_label\na.wav\t0\t5\tno dog\na.wav\t5\t9\tcat\n")
    with pytest.raises(InvalidInput, match="no answers about segments"):
        read_answers(table)


def test_a_column_of_answers_where_every_row_is_of_another_class(tmp_path):
    """It goes with the class only as everything does, so it is no property of the class."""
    path = tmp_path / "a.csv"
    path.write_text("filename,start,end,species,blorp\na.wav,0,10,owl,1\na.wav,10,20,fox,0\na.wav,20,30,dog,1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        assert read_answers(path).to_frame()["present"].tolist() == [1.0, 0.0, 1.0]


def test_each_file_may_be_an_annotators(tmp_path):
    """Two files about the same recordings are pooled aloud; told so, each is an annotator who heard what it lists."""
    (tmp_path / "ann.csv").write_text("filename,onset,offset,label\na.wav,1,3,dog\nb.wav,1,2,dog\nc.wav,1,2,dog\n")
    (tmp_path / "ben.csv").write_text("filename,onset,offset,label\na.wav,1,2,dog\nb.wav,,,\n")
    paths = [tmp_path / "ann.csv", tmp_path / "ben.csv"]
    with pytest.warns(AssumptionWarning, match=r"1 recording .* in several files .*--columns annotator=@file"):
        assert len(read(paths)) == 4
    found = read(paths, columns={"annotator": "@file"}, recording_length=10.0)
    assert found.to_frame()["annotator"].tolist() == ["ann", "ann", "ann", "ben"]
    assert found.examined.groupby("annotator")["recording"].agg(list).to_dict() == {
        "ann": ["a.wav", "b.wav", "c.wav"], "ben": ["a.wav", "b.wav"]
    }  # fmt: skip
    assert wk.audit(strong=found).annotation_agreement.by_label["units"].tolist() == [20.0]
    assert check(paths, columns={"annotator": "@file"}).account["rows"] == 5


def test_an_option_that_is_none_is_refused_as_python_does(tmp_path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'colums'"):
        read(tmp_path, colums={})
