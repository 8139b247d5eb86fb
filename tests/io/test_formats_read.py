"""Every format reads what its tool writes, and says what it could not know."""

import contextlib
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from weakly import AssumptionWarning, InvalidInput
from weakly.io import FORMATS, Format, check, detect, read, read_answers, read_examined, read_lengths, register
from weakly.io.source import Source
from weakly.io.table import TextRows

DATA = Path(__file__).parent / "data"
quiet = pytest.mark.filterwarnings("ignore::weakly.base.errors.AssumptionWarning")

#: file, format, events (recording, onset, offset, label), recordings with their lengths
STRONG = [
    ("dcase.tsv", "dcase", [("a.wav", 0.5, 1.25, "Dog"), ("a.wav", 3, 4.5, "NA")], {"a.wav": None, "b.wav": None}),
    ("dcase_weak.tsv", "dcase-weak", [("a_0.000_10.000.wav", 0, 10, "Dog"), ("a_0.000_10.000.wav", 0, 10, "Speech")],
     {"a_0.000_10.000.wav": 10, "b_5.000_9.500.wav": 4.5}),
    ("dcase_clips.csv", "dcase-clips", [("a_30.000_40.000.wav", 0, 10, "Dog"), ("b_0.000_9.000.wav", 0, 9, "Cat")],
     {"a_30.000_40.000.wav": 10, "b_0.000_9.000.wav": 9}),
    ("dcase_2017.csv", "sed_eval", [("a_30.000_40.000.wav", 0.5, 2, "Dog")],
     {"a_30.000_40.000.wav": None, "b_0.000_9.000.wav": None}),
    ("sed_eval.ann", "sed_eval", [("street/a.wav", 0.5, 1.5, "car"), ("street/b.wav", 2, 3, "people walking")],
     {"street/a.wav": None, "street/b.wav": None}),
    ("fewshot.csv", "fewshot", [("a.wav", 0.5, 1.5, "Q")], {"a.wav": None, "b.wav": None}),
    ("audioset.tsv", "audioset", [("abc_30000", 0.5, 1.5, "/m/0jbk"), ("abc_30000", 2, 10, "/m/09x0r")],
     {"abc_30000": None}),
    ("audioset_reordered.tsv", "dcase", [("abc_30000", 0.5, 1.5, "/m/0jbk")], {"abc_30000": None}),
    ("audioset_framed.tsv", "audioset", [("abc_30000", 0, 0.96, "/m/0jbk")], {"abc_30000": None}),
    ("audioset_weak.csv", "audioset-weak",
     [("--abc_0", 0, 10, "/m/068hy"), ("--abc_0", 0, 10, "/m/0jbk"), ("d_f_30000", 0, 6.5, "/m/09x0r")],
     {"--abc_0": 10, "d_f_30000": 6.5}),
    ("r1.Table.1.selections.txt", "raven", [("r1", 0.5, 1.5, "EATO"), ("r1", 2, 2.5, '"NOCA"?')], {"r1": None}),
    ("r2.Table.1.selections.txt", "raven", [], {"r2": None}),
    ("sequence.selections.txt", "raven", [("x.wav", 1.5, 2.5, "owl"), ("y.wav", 1.25, 2, "owl")],
     {"x.wav": None, "y.wav": None}),
    ("a.BirdNET.selection.table.txt", "raven", [("a.wav", 0, 3, "Eurasian Blackbird")], {"a.wav": None}),
    ("audacity.txt", "audacity", [("audacity", 0.5, 1.25, "dog"), ("audacity", 3, 4, "cat <b>&</b>")],
     {"audacity": None}),
    ("birdnet.csv", "birdnet", [("/rec/a.wav", 0, 3, "Eurasian Blackbird"), ("/rec/a.wav", 3, 6, "Eurasian Blackbird")],
     {"/rec/a.wav": None}),
    ("kaleidoscope.csv", "kaleidoscope", [("a.wav", 0.5, 3, "Owl")], {"a.wav": None, "b.wav": None}),
    ("labelstudio.json", "labelstudio", [("a.wav", 1.5, 2.75, "dog"), ("a.wav", 1.25, 3, "dog")],
     {"a.wav": 60, "b.wav": None, "c.wav": None}),
    ("labelstudio_choices.json", "labelstudio", [("a.wav", 0, 3, "dog")], {"a.wav": None}),
    ("clips.csv", "clips", [("a.wav", 0, 3, "event")], {"a.wav": None}),
    ("clips_wide.csv", "clips-wide", [("a.wav", 0, 3, "dog")], {"a.wav": None}),
    ("dog/x.wav.txt", "nigens", [("x.wav", 0.5, 1.25, "dog"), ("x.wav", 3, 4, "dog")], {"x.wav": None}),
    ("turns.rttm", "rttm", [("rec1", 0.5, 1.75, "spk00"), ("rec1", 3, 4, "spk01")], {"rec1": None}),
    ("start_length.csv", "csv", [("a.wav", 0.5, 0.75, "Parmaj_song")], {"a.wav": None}),
    ("plain.csv", "csv", [("a", 0.5, 1.5, "dog, big")], {"a": 10, "b": 20}),
    ("wide.csv", "wide", [("abc", 0.5, 1.5, "event"), ("abc", 2, 3, "event"), ("#NAME? (line 3)", 1, 2, "event")],
     {"abc": 10, "#NAME? (line 3)": 10, "#NAME? (line 4)": 10, "def": 9.5}),
    ("boundaries.csv", "boundaries", [("2", 0, 0.5, "Silence"), ("2", 0.5, 9, "Solo")], {"2": None}),
    ("stead.csv", "stead", [("A_EV", 7, 28.96, "earthquake_local")], {"A_EV": 60}),
    ("grid.TextGrid", "textgrid", [("grid", 1.5, 2.25, "dog")], {"grid": 10}),
    ("elan.eaf", "elan", [("elan", 1.5, 2.25, "dog")], {"elan": None}),
    ("scene.jams", "jams", [("scene", 0.5, 1.25, "dog"), ("scene", 3, 4, "cat")], {"scene": 10}),
]  # fmt: skip


@quiet
@pytest.mark.parametrize(("file", "kind", "events", "recordings"), STRONG, ids=[row[0] for row in STRONG])
def test_each_format_is_found_and_read(file, kind, events, recordings):
    assert detect(Source(DATA / file)).name == kind
    found = read(DATA / file)
    rows = found.to_frame()[["recording", "onset", "offset", "label"]].to_numpy(dtype=object).tolist()
    assert [tuple(row) for row in rows] == events
    assert {n: None if v != v else v for n, v in found.recordings["length"].items()} == recordings


def test_weak_files_are_marked_and_strong_ones_are_not():
    with pytest.warns(AssumptionWarning, match="taken from their names"):
        assert read(DATA / "dcase_weak.tsv").to_frame()["weak"].all()
    assert "weak" not in read(DATA / "dcase.tsv").to_frame()
    with pytest.warns(AssumptionWarning, match="1 rows are unsure"):
        assert "weak" not in read(DATA / "fewshot.csv").to_frame()


@quiet
def test_answers_are_present_absent_or_unsure():
    def present(file, **kwargs):
        return read_answers(DATA / file, **kwargs).to_frame()["present"].fillna(-1).tolist()

    assert present("fewshot.csv") == [1, -1, 0]
    assert present("clips.csv") == [1, 0, -1]
    assert present("clips_wide.csv") == [1, 0, 0, -1]
    assert present("audioset_framed.tsv") == [1, 0]
    assert present("dcase_weak.tsv") == [1, 1]
    assert present("sonyc.csv") == [1, 0, 0]
    assert read_answers(DATA / "clips.csv", label="owl").labels == ["owl"]
    assert set(read_answers(DATA / "dcase_weak.tsv").recordings.index) == {"a_0.000_10.000.wav", "b_5.000_9.500.wav"}


def test_choices_keep_annotator_seconds_and_query():
    frame = read_answers(DATA / "labelstudio_choices.json").to_frame()
    assert frame["annotator"].tolist() == ["1", "1", "2"]
    assert frame["seconds"].tolist() == [4.5, 3.5, 6.0]
    assert frame["query"].tolist() == ["q1", "q2", "q2"]
    assert frame["present"].fillna(-1).tolist() == [1, 0, -1]
    assert frame[["onset", "offset"]].to_numpy().tolist() == [[0, 3], [3, 6], [3, 6]]


def test_regions_beside_a_question_only_show_where_to_listen(tmp_path):
    import json

    region = {"type": "labels", "from_name": "segment", "value": {"start": 3, "end": 6, "labels": ["segment"]}}
    said = {"type": "choices", "from_name": "answer", "value": {"choices": ["present"]}}
    data = {"audio": "x/a.wav", "recording": "a.wav", "query": "q", "label": "dog", "onset": 3.0, "offset": 6.0}
    tasks = [
        {"id": 1, "data": data, "annotations": [{"id": 1, "completed_by": 2, "lead_time": 5, "result": [region, said]}]}
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(tasks))
    row = read_answers(path).to_frame().iloc[0]
    assert row.tolist()[:8] == ["a.wav", 3.0, 6.0, "dog", 1.0, "2", 5.0, "q"]


def test_regions_as_answers_about_the_whole_task():
    with pytest.warns(AssumptionWarning, match="read as absent"):
        frame = read_answers(DATA / "labelstudio.json").to_frame()
    assert frame[["recording", "annotator", "present", "seconds"]].to_numpy(dtype=object).tolist() == [
        ["a.wav", "3", 1.0, 12.5],
        ["a.wav", "ann@example.org", 1.0, 8.0],
        ["b.wav", "3", 0.0, 2.0],
    ]


def test_a_cancelled_task_was_not_annotated_and_an_empty_one_was():
    with pytest.warns(AssumptionWarning, match="several of 2 annotators, taken together; --annotator 3 takes one"):
        done = read(DATA / "labelstudio.json").recordings["annotated"]
    assert done.to_dict() == {"a.wav": True, "b.wav": True, "c.wav": False}


def test_strong_files_hold_no_answers():
    with pytest.raises(InvalidInput, match="no answers about segments; they are strong labels"):
        read_answers(DATA / "dcase.tsv")


def test_weak_labels_without_lengths_need_one():
    with pytest.raises(InvalidInput, match="give recording_length, or read the file with read_answers"):
        read(DATA / "sonyc.csv")
    with pytest.warns(AssumptionWarning, match="1 clip not answered yet"):
        found = read(DATA / "sonyc.csv", recording_length=10)
    assert found.to_frame()[["onset", "offset", "label"]].to_numpy(dtype=object).tolist() == [[0.0, 10.0, "1_engine"]]


@quiet
def test_notes_tell_what_was_understood():
    for file, words in (
        ("dcase_2017.csv", "1 row '0 0': a label was looked for and not found"),
        ("sequence.selections.txt", "File Offset is used"),
        ("wide.csv", "2 recordings lost their names to a spreadsheet"),
        ("boundaries.csv", "repeated at the same time"),
        ("clips.csv", "1 clip not answered yet and left out"),
    ):
        assert any(words in note for note in read(DATA / file).notes)


def test_extra_columns_survive():
    assert read(DATA / "plain.csv").to_frame().loc[0, ["annotator", "confidence", "comment"]].tolist() == [
        "ann",
        0.5,
        "=1+1",
    ]
    frame = read(DATA / "r1.Table.1.selections.txt").to_frame()
    assert frame["low_frequency"].tolist() == [1000, 500]
    frame = read(DATA / "audacity.txt").to_frame()
    assert frame[["low_frequency", "high_frequency"]].fillna(-1).to_numpy().tolist() == [[1000, 2000], [-1, -1]]
    assert read(DATA / "start_length.csv").to_frame()["label_column"].tolist() == ["44"]


def test_label_selects_a_class():
    found = read(DATA / "dcase.tsv", label="NA")
    assert len(found) == 1
    assert len(found.recordings) == 2
    with pytest.raises(InvalidInput, match="did you mean 'Dog'"):
        read(DATA / "dcase.tsv", label="dog")


def test_columns_can_be_named(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("clip_id;begin;len;what\na;1;0.5;dog\n")
    found = read(path, columns={"recording": "clip_id", "onset": "begin", "length": "len", "label": "what"}).to_frame()
    assert found.iloc[0].tolist() == ["a", 1.0, 1.5, "dog"]
    with pytest.raises(InvalidInput, match="no column 'nix'; there are clip_id"):
        read(path, format="csv", columns={"onset": "nix"})
    with pytest.raises(InvalidInput, match="'start' must be one of recording, onset"):
        read(path, format="csv", columns={"start": "begin"})


def test_milliseconds_are_read_where_the_column_says_so(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("file,onset_ms,offset_ms,label\na,1500,2500,x\n")
    with pytest.warns(AssumptionWarning, match="milliseconds"):
        assert read(path).to_frame()[["onset", "offset"]].to_numpy().tolist() == [[1.5, 2.5]]


def test_many_files_folders_and_patterns(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("0\t1\tx\n")
    (tmp_path / "a.wav").write_bytes(b"RIFF0000WAVE")
    assert len(read([tmp_path / "a.txt", tmp_path / "b.txt"])) == 2
    assert len(read(str(tmp_path / "*.txt"))) == 2
    with pytest.warns(AssumptionWarning, match="1 file left out: sound"):
        assert set(read(tmp_path).recordings.index) == {"a", "b"}
    with pytest.raises(InvalidInput, match="no such file"):
        read(tmp_path / "none.txt")
    with pytest.raises(InvalidInput, match="no file matches"):
        read(str(tmp_path / "*.xyz"))
    with pytest.raises(InvalidInput, match="no files were given"):
        read([])


def test_lengths_from_a_file_with_almost_the_same_names(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("filename\tonset\toffset\tevent_label\na.wav\t1\t2\tx\nrec_b\t1\t2\tx\n")
    with pytest.warns(AssumptionWarning, match="1 recording called almost as in recording_length"):
        found = read(path, recording_length=DATA / "lengths.csv")
    assert found.recordings["length"].to_dict() == {"a.wav": 10.5, "rec_b": 20.0}
    assert read_lengths(DATA / "lengths.csv") == {"a.wav": 10.5, "rec b.wav": 20.0}
    with pytest.raises(InvalidInput, match="filename and duration"):
        read(path, recording_length=DATA / "dcase.tsv")


@quiet
def test_one_length_is_that_of_one_recording(tmp_path):
    """Two recordings whose names differ by their folder alone are not both taken for the one whose length is given."""
    path = tmp_path / "a.tsv"
    path.write_text("filename\tonset\toffset\tevent_label\none/a.wav\t1\t2\tx\ntwo/a.wav\t1\t2\tx\n")
    lengths = read(path, recording_length={"a": 10.0}).recordings["length"].to_dict()
    assert lengths["one/a.wav"] == 10
    assert np.isnan(lengths["two/a.wav"])


@quiet
def test_boundaries_that_say_where_they_end_are_events(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text("song_id,time,end,label\n2,0.5,2.5,Solo\n2,9,11,Verse\n")
    assert read(path).to_frame()["offset"].tolist() == [2.5, 11.0]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a\t1\t2\tx\na\tzwei\t3\tx\n", r"line 3, column 'onset': 'zwei' is not a number"),
        ("a\t1,5\t2\tx\n", r"line 2, column 'onset': '1,5' is not a number; a decimal comma\?"),
        ("a\t3\t2\tx\n", "line 2, column 'offset': the event ends before it starts: onset 3, offset 2"),
        ("a\t2\t2\tx\n", r"line 2, column 'offset': the event has no length \(a point\?\)"),
        ("a\t-1\t2\tx\n", "line 2, column 'onset': the event starts before 0"),
        ("a\t1\t\tx\n", "line 2, column 'offset': the event has no end"),
        ("a\t1\tinf\tx\n", "line 2, column 'offset': the event has no end: onset 1"),
        ("a\t1\t1_0\tx\n", "line 2, column 'offset': '1_0' is not a number"),
        ("a\t1\t2\tx\ty\tz\n", "line 2: has 6 fields where there are 4 columns"),
        ('a\t1\t2\t"x\n', "line 3: a quote is not closed"),
    ],
)
def test_a_broken_row_names_file_line_and_column(tmp_path, text, where):
    path = tmp_path / "broken.tsv"
    good = "g\t0\t1\tx\n"
    path.write_text("filename\tonset\toffset\tevent_label\n" + text + good)
    with pytest.raises(InvalidInput, match=r"broken\.tsv, " + where):
        read(path)
    if "quote" in where:
        return
    with pytest.warns(AssumptionWarning, match="1 broken row skipped"):
        found = read(path, on_error="skip")
    assert found.skipped == 1
    assert "g" in found.recordings.index
    assert len(found) == text.count("\n")  # the good rows: all but the broken one, plus ours


def test_points_are_never_dropped_in_silence(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1\t1\tpoint\n")
    with pytest.raises(InvalidInput, match="line 1, column 'offset': the event has no length"):
        read(path)
    with pytest.warns(AssumptionWarning, match="skipped"):
        found = read(path, on_error="skip")
    assert (len(found), found.skipped, list(found.recordings.index)) == (0, 1, ["a"])


def test_events_past_the_end(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("filename\tonset\toffset\tevent_label\na\t1\t12\tx\na\t1\t2\tx\n")
    assert read(path).extents.tolist() == [12.0]
    with pytest.raises(
        InvalidInput, match=r"a.tsv, line 2: .*ends at 12 s, after the recording's 10 s \(by 2 s\).*skip"
    ):
        read(path, recording_length=10)
    with pytest.raises(InvalidInput, match=r"after the recording's 0.1 s; milliseconds for seconds\?"):
        read(path, recording_length=0.1)
    with pytest.warns(AssumptionWarning) as caught:
        found = read(path, recording_length=10, on_error="skip")
    assert (len(found), found.skipped) == (1, 1)
    assert [str(each.message) for each in caught] == ["1 event past the end of the recording left out (by 2 s)"]
    with pytest.raises(InvalidInput, match="recording_length must be > 0"):
        read(path, recording_length=-1)


def test_refusals_say_what_the_file_is(tmp_path):
    cases = {
        b"RIFF1234WAVEfmt ": "is sound or video",
        b"\x93NUMPY\x01": "is a numpy array: numbers without onsets",
        b"PK\x03\x04": "cannot be unpacked: File is not a zip file",
        b"\x1f\x8b\x08": "cannot be unpacked",
        b"": "is empty; if nothing was present",
        b"\xef\xbb\xbf\r\n": "is empty",  # a byte order mark alone
        b"\xff\xfe": "is empty",
        b"\x00\x01\x02\x03": "holds NUL characters; is this a text file",
        b"\xff\xfe\x00": "begins like UTF-16",
        b"index,mid,display_name\n0,/m/1,Speech\n": "no columns with onsets and offsets",
        b"a.wav\t10.0\n": "lists the lengths of recordings",
        b"fine:\n  1:\n": "its first line 'fine:' is of no known format",
        b'{"a": 1}': "is JSON of no known kind",
        b"a\xe9\x01b\n": "is not UTF-8 text; is this a text file",
    }
    for i, (data, words) in enumerate(cases.items()):
        path = tmp_path / f"{i}.txt"
        path.write_bytes(data)
        with pytest.raises(InvalidInput, match=words):
            read(path)
    with pytest.raises(InvalidInput, match="format must be one of"):
        read(tmp_path / "0.txt", format="xls")
    with pytest.raises(InvalidInput, match="on_error must be one of"):
        read(tmp_path / "0.txt", on_error="ignore")


def test_an_empty_file_is_an_empty_recording_if_the_format_is_given(tmp_path):
    (tmp_path / "a.txt").write_text("")
    for kind in ("audacity", "nigens"):
        found = read(tmp_path / "a.txt", kind)
        assert (len(found), list(found.recordings.index)) == (0, ["a"])


def test_encodings_marks_and_line_ends(tmp_path):
    text = "filename\tonset\toffset\tevent_label\na.wav\t1\t2\tMéise\n"
    for data in (
        text.encode("utf-8-sig"),
        text.encode("utf-16"),
        text.replace("\n", "\r\n").encode(),
        text.replace("\n", "\r").encode(),
    ):
        path = tmp_path / "a.tsv"
        path.write_bytes(data)
        assert read(path).to_frame().iloc[0].tolist() == ["a.wav", 1.0, 2.0, "Méise"]
    path.write_bytes(text.encode("cp1252"))
    with pytest.warns(AssumptionWarning, match="line 2: byte 0xe9 is not UTF-8 text; read as Windows-1252"):
        assert read(path).labels == ["Méise"]


def test_labels_of_any_kind(tmp_path):
    path = tmp_path / "a.tsv"
    labels = ["NA", "null", "", "=HYPERLINK(1)", "<script>", "x" * 100_000, 'say "hi"']
    rows = "".join(
        f"NA\t{i}\t{i + 1}\t" + (f'"{c.replace(chr(34), chr(34) * 2)}"') + "\n" for i, c in enumerate(labels)
    )
    path.write_text("filename\tonset\toffset\tevent_label\n" + rows)
    frame = read(path).to_frame()
    assert frame["label"].tolist() == labels
    assert set(frame["recording"]) == {"NA"}


def test_raven_needs_to_know_the_label_column(tmp_path):
    head = "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\t"
    path = tmp_path / "a.txt"
    path.write_text(head + "Call\tMood\n1\tS\t1\t0\t1\tx\ty\n")
    with pytest.raises(InvalidInput, match="could be any of the columns Call, Mood"):
        read(path)
    assert read(path, columns={"label": "Mood"}).labels == ["y"]
    path.write_text(head + "Whatever\n1\tS\t1\t0\t1\tx\n")
    assert read(path).labels == ["x"]
    path.write_text(head.strip() + "\n1\tS\t1\t0\t1\n")
    assert read(path).labels == ["event"]
    assert read(path, label="owl").labels == ["owl"]


def test_raven_views_count_once(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(
        "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tSpecies\n"
        "1\tWaveform 1\t1\t0\t1\tx\n1\tSpectrogram 1\t1\t0\t1\tx\n"
    )
    with pytest.warns(AssumptionWarning, match="waveform view repeat"):
        assert len(read(path)) == 1


def test_a_million_rows_keep_their_order(tmp_path):
    n = 20_000
    rng = np.random.default_rng(0)
    onset = rng.random(n) * 100
    path = tmp_path / "a.tsv"
    path.write_text(
        "filename\tonset\toffset\tevent_label\n"
        + "".join(f"r{i % 97}\t{a!r}\t{a + 1!r}\tc{i % 3}\n" for i, a in enumerate(onset.tolist()))
    )
    frame = read(path).to_frame()
    assert (frame["onset"].to_numpy() == onset).all()
    assert frame["label"].tolist()[:4] == ["c0", "c1", "c2", "c0"]


def test_named_columns_are_taken_in_tables_of_any_format(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("filename\tonset\toffset\tevent_label\tspecies\na\t1\t2\tx\tLarus\n")
    assert read(path, columns={"label": "species"}).labels == ["Larus"]
    with pytest.raises(InvalidInput, match="has no column 'kind'; there are filename, onset"):
        read(path, columns={"label": "kind"})
    with pytest.raises(InvalidInput, match="no column says where events end"):
        read(path, columns={"onset": "offset"})


def test_broken_json_is_called_broken(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"id": 1,')
    with pytest.raises(InvalidInput, match=r"a.json, line 1, column 11: is not JSON"):
        read(path)


def test_a_foreign_file_in_a_folder_can_be_left_out(tmp_path):
    (tmp_path / "a.tsv").write_text("filename\tonset\toffset\tevent_label\na\t1\t2\tx\n")
    (tmp_path / "lengths.csv").write_text("filename,duration\na,10\n")
    with pytest.raises(InvalidInput, match=r"lengths.csv: lists the lengths .*\(--on-error skip\) leaves the file out"):
        read(tmp_path)
    with pytest.raises(InvalidInput, match=r"give it as recording_length$"):
        read([tmp_path / "a.tsv", tmp_path / "lengths.csv"])
    with pytest.warns(AssumptionWarning, match="the file is left out"):
        assert len(read(tmp_path, on_error="skip")) == 1


NAMES = "filename\tonset\toffset\tevent_label\n"
#: name of a file, its text, and what is said of it, with the line.
WEAK, LAST = "filename\tevent_labels\n", "the last line has no end"
YOUTUBE, CLIPS = "# YTID, start_seconds, end_seconds, positive_labels\n", "file,start_time,end_time,annotation\n"
CUT = {
    "a last line that lacks a field": ("a.tsv", NAMES + "a.wav\t0\t1\towl\nb.wav\t3.723\t4.6", "line 3: is cut short"),
    "a line that lacks a field": ("a.tsv", NAMES + "a.wav\t0\t1\nb.wav\t3\t4\towl\n", "line 2: is cut short"),
    "a weak line without its label": ("a.tsv", WEAK + "a.wav\towl\nb.wav\n", "line 3: is cut short"),
    "a label that was begun": ("a.tsv", NAMES + "a.wav\t0\t1\towl\nb.wav\t3\t4\tow", f"line 3: {LAST}"),
    "a label that is gone": ("a.tsv", NAMES + "a\t0\t1\towl\nb\t3\t4\tdog\nc\t3\t4\t", f"line 4: {LAST}"),
    "fewer decimals": ("a.csv", "label,onset,offset\nx,0,1.250\ny,2,13.500\nz,4,5.2", f"line 4: {LAST}"),
    "fewer digits": ("a.csv", "label,onset,offset\nx,0,10\ny,2,20\nz,2,3", f"line 4: {LAST}"),
    "words of a label": ("a.lab", "0 1 dog bark\n1 2 dog", f"line 2: {LAST}"),
    "a line without label": ("a.txt", "0\t1\towl\n" * 70 + "2\t3\n" + "4\t5\tdog\n", "line 71: is cut short"),
    "a turn": ("a.rttm", "SPEAKER r 1 0 1 <NA> <NA> a <NA> <NA>\nSPEAKER r 1 3 1 <NA> <NA> b\n", "line 2: is cut"),
    "clips without labels": ("a.csv", f'{YOUTUBE}a, 0, 10, "/m/1"\nb, 0, 10\n', "line 3: is cut short"),
    "clips that were counted": ("a.csv", f"# num_segs=2\n{YOUTUBE}a, 0, 1, x\n", "num_segs=2 and holds 1 segment"),
    "names twice": ("a.tsv", WEAK + "a\towl\n" + WEAK + "b\towl\n", "line 3: repeats the names"),
    "a mark inside": ("a.tsv", NAMES + "a\t0\t1\towl\n\ufeffb\t0\t1\towl\n", "line 3: a byte order mark inside"),
    "two rows in a line": ("a.tsv", NAMES + "a\t0\t1\towlb\t\t\t\nc\t1\t2\towl\n", "line 2: has 7 fields"),
    "a quote over two rows": ("a.csv", 'file,start,end,label\n"a,1,2,owl\nb",1,2,owl\nc,1,2,dog\n', "line 2: a quote"),
    "only names, with a row": ("a.csv", "Start (s),End (s),Common name,Confidence,File0.0,3.0,owl,0.9,a\n",
                               "the number '3.0' among the names"),
    "an answer that is none": ("a.csv", CLIPS + "a,0,3,yes\na,3,6,no\n" * 6 + "b,0,3,yess\n",
                               "line 14: 'yess' cannot be read as an answer"),
    "a length with a comma": ("a.csv", 'file,start,end,label,recording_length\na,1,2,owl,60\nb,1,2,owl,"60,0"\n',
                              "line 3: '60,0' is not a number"),
}  # fmt: skip


@pytest.mark.parametrize("case", CUT)
@pytest.mark.parametrize("door", [read, read_answers, check])
def test_a_damaged_file_is_said_at_every_door(tmp_path, case, door):
    name, text, said = CUT[case]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    words = []
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        try:
            found = door(path)
            words += [str(note.message) for note in notes]
            words += [str(each) for each in found.findings] if door is check else []
        except InvalidInput as error:
            words.append(str(error))
    if door is read_answers and words and "holds events with bounds" in words[0]:
        return  # refused for what it is
    told = re.sub(rf"{name}:(\d+): [\w ]+: ", r"line \1: ", " ".join(words))
    assert said in re.sub(r"(line \d+)(:|,) column '\w+'", r"\1", told), words


@pytest.mark.parametrize(
    "text",
    [
        NAMES + "a.wav\t0\t1\towl\nb.wav\t3\t4\towl",  # a whole last line without an end
        NAMES + "a.wav\t0\t1\tdog\nb.wav\t3\t4\towl\nc.wav\t5\t6\thens",
        NAMES + "a.wav\t0\t1\towl\nb.wav\t\t\t",  # an empty recording
        NAMES.strip(),  # Raven and others write no end behind the names alone
        "file,start,end,label\na,1,2.5,owl\nb,3,12.25,owl\nc,,,\n",
        "label,onset,offset\nx,0,1.25\ny,2,13.5\nz,4,5.5",
        "label,onset,offset\nx,0,1\ny,2,13\nz,4,5",
        "0\t1\towl\n2\t3\towl",
        "0\t1\n2\t3\n",
        'file,start,end,label\na,1,2,"a note, of\ntwo lines"\nb,1,2,owl\n',
    ],
)
def test_a_whole_file_is_read_without_a_word(tmp_path, text):
    path = tmp_path / "a.txt"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        events = read(path, columns={"recording": "filename"} if text.startswith("filename\tonset") else None)
    assert events.skipped == 0
    assert check(path).findings == ()


def test_a_file_that_leaves_out_what_is_empty_at_the_end(tmp_path):
    """Many rows are short and none ends with an empty field: the writer's habit, which is said, and no damage."""
    rows = [f"a,{k},{k}.5,owl" + (",loud" if k % 3 == 0 else "") for k in range(12)]
    path = tmp_path / "a.csv"
    path.write_text("file,start,end,label,note\n" + "\n".join(rows) + "\n")
    with pytest.warns(AssumptionWarning, match="line 3: the first of 8 rows with fewer than 5 fields"):
        assert len(read(path)) == 12
    assert [found.kind for found in check(path).findings] == ["cut short"]
    path.write_text(
        "file,start,end,label,note\n" + "\n".join([*rows, "a,20,21,owl,"]) + "\n"
    )  # it does keep separators
    with pytest.raises(InvalidInput, match="line 3: is cut short"):
        read(path)
    with pytest.warns(AssumptionWarning, match="8 broken rows skipped"):
        account = read(path, on_error="skip").account
    assert [account[name] for name in ("rows", "events", "empty", "skipped", "merged")] == [13, 5, 0, 8, 0]


def test_lengths_and_examined_stretches_that_were_cut_are_said(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("filename,duration\na.wav,10.25\nb.wav,20.50\nc.wav,3")
    with pytest.warns(AssumptionWarning, match="line 4: the last line has no end and its last field '3' looks cut"):
        assert read_lengths(path)["c.wav"] == 3
    assert [found.kind for found in check(path).findings] == ["cut short"]
    path.write_text("filename,duration\na.wav,10.25\nb.wav\n")
    with pytest.raises(InvalidInput, match="line 3: is cut short"):
        read_lengths(path)
    path.write_text("filename,duration\na.wav,1e300\n")
    with pytest.raises(InvalidInput, match="line 2, column 'duration': '1e300' is not a length"):
        read_lengths(path)
    path = tmp_path / "a.uem"
    path.write_text("a 1 0 10.25\na 1 30 40.50\na 1 50 6")
    with pytest.raises(InvalidInput, match="line 3, column 'offset': the event ends before it starts"):
        read_examined(path)
    path.write_text("a 1 0 10.25\na 1 30 40.50\na 1 50 60")
    with pytest.warns(AssumptionWarning, match="line 3: the last line has no end"):
        read_examined(path)


@pytest.mark.parametrize("gap", ["", "\n", "\r\n"])
def test_blanks_before_a_table_do_not_hide_it(tmp_path, gap):
    path = tmp_path / "a.csv"
    path.write_bytes((" " * 70_000 + gap + "filename,onset,offset,event_label\na.wav,0,1,owl\n").encode())
    assert len(read(path)) == 1


def test_blanks_alone_are_no_table_of_any_format(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(" " * 70_000 + "\n")
    for kind in (None, *FORMATS):
        with contextlib.suppress(InvalidInput), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(path, kind)


@pytest.fixture
def edf(tmp_path):
    edfio = pytest.importorskip("edfio")
    notes = [edfio.EdfAnnotation(k, 0.5, "owl") for k in range(20)]
    edfio.Edf([edfio.EdfSignal(np.zeros(300), sampling_frequency=10)], annotations=notes).write(tmp_path / "a.edf")
    return tmp_path / "a.edf"


def test_a_record_of_1e300_seconds_is_damage(edf):
    from weakly.io.signals import header
    from weakly.model.intervals import fixed_segments

    data = edf.read_bytes()
    assert data[236:252] == b"30      1       "
    edf.write_bytes(data[:244] + b"1e300   " + data[252:])
    for door in (read, header):
        with pytest.raises(InvalidInput, match="last 3e\\+301 s, more than 1e\\+09 s"):
            door(edf)
    assert [found.kind for found in check(edf).findings] == ["unreadable"]
    with pytest.raises(InvalidInput, match="recording_length: is said to last 1e\\+300 s"):
        read(DATA / "plain.csv", recording_length=1e300)
    with pytest.raises(InvalidInput, match="cuts a recording of 1e\\+09 s into 1e\\+09 segments"):
        fixed_segments(recording_length=1e9, segment_length=1.0)


@quiet
def test_a_cut_document_is_refused(tmp_path, edf):
    """What tells its own end: JSON, XML, TextGrid, Parquet, EDF; only the blanks behind the end may be missing."""
    from weakly import write

    files = [edf, *(DATA / name for name in ("labelstudio.json", "scene.jams", "elan.eaf", "grid.TextGrid"))]
    write(read(DATA / "dcase.tsv"), tmp_path / "a.parquet")
    for whole in (*files, tmp_path / "a.parquet"):
        data = whole.read_bytes()
        path = tmp_path / f"cut{whole.suffix}"
        for k in np.unique(np.linspace(1, len(data.rstrip()) - 1, 40).astype(int)):
            path.write_bytes(data[:k])
            with pytest.raises(InvalidInput):
                read(path)


def test_a_format_is_told_by_its_columns_and_asked_only_where_its_mark_shows(tmp_path):
    asked = []

    def sniff(source):
        asked.append(source.path.name)
        return True

    def read_nothing(source):
        return TextRows.of(source, [], source.stem(), np.empty(0), np.empty(0), [])

    marked = Format("marked", "begins with %%", sniff, read_nothing, mark="^%%")
    columns = Format("by-columns", "columns zig and zag", frozenset(("zig", "zag")), read_nothing)
    register(marked, columns)
    try:
        for name, text in (("a.txt", "%% hello\n"), ("b.csv", "Zig,other,ZAG\n1,2,3\n"), ("c.csv", "zig,other\n1,2\n")):
            (tmp_path / name).write_text(text)
        assert detect(Source(tmp_path / "a.txt")) is marked
        assert detect(Source(tmp_path / "b.csv")) is columns
        with pytest.raises(InvalidInput):
            detect(Source(tmp_path / "c.csv"))
        assert asked == ["a.txt"]
        assert read(tmp_path / "a.txt").silent == ["a"]
    finally:
        del FORMATS["marked"], FORMATS["by-columns"]


def test_read_answers_and_check_of_a_small_table_walk_few_modules(tmp_path):
    """One loop: source, format, columns, rows, and nothing of formats or samples that the table does not need."""
    table, clips = tmp_path / "a.tsv", tmp_path / "clips.csv"
    table.write_text("filename\tonset\toffset\tevent_label\na.wav\t1\t2.5\tDog\nb.wav\t\t\t\n")
    clips.write_text("file,start_time,end_time,annotation\na.wav,0,3,yes\na.wav,3,6,no\n")
    house = str(Path(sys.modules["weakly.io"].__file__).parent)
    jobs = {"read": (lambda: read(table), "tool_tables"), "answers": (lambda: read_answers(clips), "plain"),
            "check": (lambda: check(table), "tool_tables")}  # fmt: skip
    core = {"columns", "dataset", "formats", "gather", "plain", "source", "table", "times", "vocabulary"}
    for name, (job, family) in jobs.items():
        job()  # what is imported late is imported
        seen = set()

        def profile(frame, event, _, seen=seen):
            if frame.f_code.co_filename.startswith(house):
                seen.add(Path(frame.f_code.co_filename).stem)

        sys.setprofile(profile)
        try:
            job()
        finally:
            sys.setprofile(None)
        assert core | {family} <= seen, name
        assert seen <= core | {family, "tool_tables", "reading"} | ({"lint"} if name == "check" else set()), name


@pytest.mark.parametrize(
    "text",
    [
        "onset_ms duration category notes\n1419 1849 dog 5,84\n3011 1136 dog 6,1\n",
        "start end label notes\n3.58 88.2 a,b 8\n11.69 4.35 a,b 9\n",
        'file "start (ms)" length\nx,y.wav 21.71 1.29\nx,z.wav 3.5 2.5\n',
        "\ufeff",
        "\ufeff\n \n",
    ],
)
def test_names_of_columns_and_nothing_are_no_title(tmp_path, text):
    """A line is a title above names only; above numbers with decimal commas it may be names itself."""
    path = tmp_path / "a.txt"
    for encoding in ("utf-8", "utf-16"):
        path.write_text(text, encoding=encoding)
        with pytest.raises(InvalidInput, match=r"no known format|is empty"):
            read(path)


@pytest.mark.parametrize("rate", [100, 100.0, "100"])
def test_a_rate_is_a_number(tmp_path, rate):
    path = tmp_path / "a.csv"
    path.write_text("filename,onset,offset,label\na.wav,100,250,dog\n")
    frame = read(path, columns={"rate": rate}).to_frame()
    assert frame[["onset", "offset"]].values.tolist() == [[1.0, 2.5]]


def test_events_without_an_end_beside_lengths_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("filename,onset,duration,label\na.wav,1,2,dog\n")
    with pytest.raises(InvalidInput, match="has no end"):
        read(path, columns={"offset": "@none"})


def test_infinite_times_are_broken_rows_and_no_warning_of_numpy(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("filename,onset,offset,label\na.wav,inf,inf,dog\na.wav,1,2,dog\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert "not a number" in {finding.kind for finding in check(path).findings}
        with pytest.raises(InvalidInput, match="line 2"):
            read(path)


def test_a_clip_table_that_nobody_has_filled_in_is_one(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("file,start_time,end_time,annotation\na.wav,0,3,\na.wav,3,6,\n")
    assert detect(Source(path)).name == "clips"
    with pytest.warns(AssumptionWarning, match="no clip is answered yet"):
        assert len(read_answers(path)) == 0
