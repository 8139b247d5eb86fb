"""What is written is read back exactly, unless the writer says what it could not hold."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from weakly import AssumptionWarning, InvalidInput
from weakly.io import FORMATS, read, read_answers, read_lengths, write
from weakly.io.formats import inexact
from weakly.io.times import duration, ending
from weakly.model.answers import Answers
from weakly.model.events import Events

pytestmark = pytest.mark.filterwarnings("ignore::weakly.base.errors.AssumptionWarning")
# Shrinking a failure would write thousands of files.
FILES = settings(max_examples=15, phases=(Phase.explicit, Phase.generate))

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
NASTY = st.sampled_from(
    ["NA", "nan", "None", "=1+1", "<script>alert(1)</script>", 'a "b"', "a,b", "a\tb", "a\nb", "#NAME?", "'", "é", "1"]
)
LABEL = TEXT | NASTY
NAME = LABEL.filter(bool)
SAFE = st.text("abcXYZ019_- ", min_size=1, max_size=8).map(lambda s: f"r{s}.wav")
SECONDS = st.floats(0, 1e6, allow_nan=False)


@st.composite
def events(draw, name=NAME, label=LABEL, seconds=SECONDS, lengths=True, annotator=False):
    """Events with awkward names and times, with recordings that are empty."""
    rows = draw(st.lists(st.tuples(name, seconds, seconds, label, st.sampled_from(["", "3", "ann"])), max_size=6))
    rows = [(r, min(a, b), max(a, b), c, who) for r, a, b, c, who in rows if a != b]
    frame = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label", "annotator"])
    if not annotator:
        frame = frame.drop(columns="annotator")
    empty = draw(st.lists(name, max_size=2))
    known = {
        r: 2e6 + draw(st.floats(0, 10))
        for r in draw(st.sets(st.sampled_from(sorted({*frame["recording"], *empty, "x"}))))
    }
    return Events.from_frame(frame, recordings=empty, recording_length=known if lengths else None)


def rows_of(found):
    frame = found.to_frame()
    columns = ["recording", "onset", "offset", "label"] + (["annotator"] if "annotator" in frame else [])
    return sorted(map(tuple, frame[columns].to_numpy(dtype=object).tolist()))


def listed(found):
    return {
        name: (None if length != length else length, bool(done)) for name, length, done in found.recordings.itertuples()
    }


def back(folder: Path, found, name, file):
    path = folder / file
    lost = write(found, path, name)
    return lost, read(path, name)


def fresh(tmp_path_factory):
    return Path(tempfile.mkdtemp(dir=tmp_path_factory.getbasetemp()))


@pytest.mark.parametrize(("name", "file"), [("csv", "a.csv"), ("tsv", "a.tsv"), ("parquet", "a.parquet")])
@FILES
@given(data=st.data())
def test_our_own_tables_hold_everything(tmp_path_factory, name, file, data):
    made = data.draw(events(annotator=True))
    made = Events.from_frame(
        made.to_frame(),
        recording_length=made.recordings["length"].dropna().to_dict(),
        recordings=made.recordings.index,
        unannotated=["never heard"],
    )
    lost, found = back(fresh(tmp_path_factory), made, name, file)
    assert lost == []
    assert rows_of(found) == rows_of(made)
    assert listed(found) == listed(made)
    assert listed(found)["never heard"][1] is False or "never heard" in set(made.to_frame()["recording"])


@pytest.mark.parametrize("name", ["dcase", "labelstudio"])
@FILES
@given(data=st.data())
def test_formats_with_empty_recordings(tmp_path_factory, name, data):
    made = data.draw(events(lengths=False, name=NAME.map(str.strip).filter(bool)))
    lost, found = back(fresh(tmp_path_factory), made, name, "a.x")
    assert lost == []
    assert [row[:4] for row in rows_of(found)] == rows_of(made)
    assert set(found.recordings.index) == set(made.recordings.index)


@pytest.mark.parametrize("name", ["birdnet", "rttm", "raven"])
@FILES
@given(data=st.data())
def test_other_tables_are_exact_or_say_what_is_lost(tmp_path_factory, name, data):
    made = data.draw(events(lengths=False))
    lost, found = back(fresh(tmp_path_factory), made, name, "a.x")
    silent = len(made.recordings) - made.to_frame()["recording"].nunique()
    assert any("without events" in words for words in lost) == bool(silent)
    if all("without events" in words for words in lost):
        assert rows_of(found) == rows_of(made)
        if len(made):
            assert set(found.recordings.index) == set(made.to_frame()["recording"])


@pytest.mark.parametrize("name", ["raven", "audacity"])
@FILES
@given(data=st.data())
def test_folders_with_one_file_per_recording(tmp_path_factory, name, data):
    made = data.draw(events(lengths=False, name=SAFE))
    lost, found = back(fresh(tmp_path_factory), made, name, "folder") if len(made.recordings) else ([], made)
    assert not any("name" in words for words in lost)
    if not lost:
        assert [row[:4] for row in rows_of(found)] == rows_of(made)
        assert set(found.recordings.index) == set(made.recordings.index)


@st.composite
def answers(draw, label=LABEL, name=NAME):
    segment = st.sampled_from([(0.0, 3.0), (3.0, 6.0), (np.nan, np.nan), (0.1, 1 / 3)])
    present = st.sampled_from([1.0, 0.0, np.nan])
    row = st.tuples(
        name, segment, label, present, st.sampled_from(["", "7", "ann"]), st.sampled_from([np.nan, 4.5]), TEXT
    )
    rows = draw(st.lists(row, max_size=6, unique_by=lambda r: (r[0], str(r[1]), r[2], r[4], r[6])))
    flat = [(r, a, b, c, p, who, s, q) for r, (a, b), c, p, who, s, q in rows]
    return Answers.from_frame(
        pd.DataFrame(flat, columns=list(Answers.COLUMNS)), recordings=draw(st.lists(name, max_size=1))
    )


def test_a_byte_order_mark_within_a_line_is_part_of_a_name(tmp_path):
    rows = [("\ufeffa", 0.0, 3.0, "\ufeff", 1.0, "", np.nan, ""), ("b", 0.0, 3.0, "x\ufeff", 0.0, "", np.nan, "")]
    made = Answers.from_frame(pd.DataFrame(rows, columns=list(Answers.COLUMNS)))
    assert write(made, tmp_path / "a.csv", "clips") == []
    assert said(read_answers(tmp_path / "a.csv")) == said(made)


def said(found):
    rows = found.to_frame()[list(Answers.COLUMNS)].to_numpy(dtype=object).tolist()
    return sorted(tuple("" if v != v else str(v) for v in row) for row in rows)


@pytest.mark.parametrize("name", ["clips", "parquet", "labelstudio"])
@FILES
@given(data=st.data())
def test_answers_come_back(tmp_path_factory, name, data):
    made = data.draw(answers())
    path = fresh(tmp_path_factory) / "a.x"
    assert write(made, path, name) == []
    if name == "labelstudio" and not len(made):
        return  # an export without one answer does not say that questions were asked
    found = read_answers(path, name)
    assert said(found) == said(made)
    assert set(found.recordings.index) == set(made.recordings.index)


def test_answers_in_smaller_formats_say_what_is_lost(tmp_path):
    frame = pd.DataFrame(
        {"recording": ["a", "a", "b"], "onset": [0.0, 3.0, 0.0], "offset": [3.0, 6.0, 3.0], "label": ["dog"] * 3,
         "present": [1.0, 0.0, 0.0], "annotator": ["ann"] * 3}
    )  # fmt: skip
    made = Answers.from_frame(frame)
    with pytest.warns(AssumptionWarning, match="annotator"):
        write(made, tmp_path / "a.x", "dcase-weak")
    found = read_answers(tmp_path / "a.x", "dcase-weak")
    assert found.to_frame()["recording"].tolist() == ["a_0.0_3.0"]
    assert len(found.recordings) == 3


def test_a_file_of_lengths_is_read_to_its_end(tmp_path):
    path = tmp_path / "lengths.csv"
    path.write_text("filename,duration\n" + "".join(f"{k}.wav,10\n" for k in range(998)) + "last.wav,?\n")
    with pytest.raises(InvalidInput, match=r"lengths.csv, line 1000, column 'duration': '\?' is not a length"):
        read_lengths(path)


def test_weak_labels_keep_commas_in_labels(tmp_path):
    frame = pd.DataFrame({"recording": ["a"] * 2, "label": ["Male speech, man speaking", "Dog"], "present": [1, 1]})
    made = Answers.from_frame(frame, recordings=["silent"])
    assert write(made, tmp_path / "a.tsv") == []
    found = read_answers(tmp_path / "a.tsv")
    assert found.labels == ["Dog", "Male speech, man speaking"]
    assert set(found.recordings.index) == {"a", "silent"}


def test_strong_events_as_weak_labels_lose_their_times(tmp_path):
    made = Events.from_frame(
        pd.DataFrame({"recording": ["a", "a"], "onset": [1, 3], "offset": [2, 4], "label": ["dog", "dog"]}),
        recordings=["b"],
    )
    with pytest.warns(AssumptionWarning, match="onsets and offsets of 2 events"):
        write(made, tmp_path / "w.tsv", "dcase-weak")
    found = read_answers(tmp_path / "w.tsv")
    assert len(found) == 1
    assert set(found.recordings.index) == {"a", "b"}


def test_lengths_and_columns_that_do_not_fit_are_named(tmp_path):
    frame = pd.DataFrame({"recording": ["a"], "onset": [1.0], "offset": [2.0], "label": ["x"], "mood": ["good"]})
    made = Events.from_frame(frame, recording_length={"a": 10, "b": 10}, unannotated=["c"])
    with pytest.warns(AssumptionWarning, match="does not hold") as caught:
        lost = write(made, tmp_path / "a.rttm")
    assert lost == [
        "1 recording without events (first 'b')",
        "1 recording that were not annotated",
        "the lengths of 2 recordings",
        "the column mood",
    ]
    assert all(words in str(caught[0].message) for words in lost)


def test_names_cannot_leave_the_folder(tmp_path):
    frame = pd.DataFrame(
        {"recording": ["../../evil", "/etc/x", "..", "a" * 500], "onset": 0.0, "offset": 1.0, "label": "x"}
    )
    with pytest.warns(AssumptionWarning, match="evil"):
        lost = write(Events.from_frame(frame), tmp_path / "out", "audacity")
    assert sum("the recording name" in words for words in lost) == 4
    assert {path.parent for path in tmp_path.rglob("*.txt")} == {tmp_path / "out"}
    assert len(read(tmp_path / "out")) == 4


def test_one_file_cannot_hold_two_recordings(tmp_path):
    frame = pd.DataFrame({"recording": ["a", "b"], "onset": 0.0, "offset": 1.0, "label": "x"})
    with pytest.raises(InvalidInput, match="one recording per file and there are 2; give a folder"):
        write(Events.from_frame(frame), tmp_path / "a.txt", "audacity")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    frame = pd.DataFrame({"recording": ["a"], "onset": [0.0], "offset": [1.0], "label": ["x"]})
    made = Events.from_frame(frame)
    made._frame["label"] = pd.Series(["\ud800"], dtype=object)
    with pytest.raises(InvalidInput, match="half a character"):
        write(made, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_name_tells_the_format(tmp_path):
    made = Events.from_frame(pd.DataFrame({"recording": ["a"], "onset": [0.0], "offset": [1.0], "label": ["x"]}))
    firsts = {"a.tsv": "filename\tonset", "a.csv": "recording,onset", "a.selections.txt": "Selection\tView"}
    for file, first in (firsts | {"a.rttm": "SPEAKER a 1", "a.json": "["}).items():
        write(made, tmp_path / file)
        assert (tmp_path / file).read_text().startswith(first)
    with pytest.raises(InvalidInput, match="does not tell the format; give one of"):
        write(made, tmp_path / "a.xyz")
    with pytest.raises(InvalidInput, match="did you mean 'raven'"):
        write(made, tmp_path / "a.xyz", "ravn")
    with pytest.raises(InvalidInput, match="sonyc can be read and not written"):
        write(made, tmp_path / "a.xyz", "sonyc")
    with pytest.raises(InvalidInput, match="jams can be read and not written"):
        write(made, tmp_path / "a.jams", "jams")
    with pytest.raises(InvalidInput, match="there is no folder"):
        write(made, tmp_path / "no" / "a.csv")


@given(a=SECONDS, b=SECONDS)
def test_durations_give_back_the_offsets(a, b):
    onset, offset = min(a, b), max(a, b)
    found = float(ending(onset, duration([onset], [offset]))[0])
    assert found == offset or inexact([onset], [offset])
    assert abs(found - offset) <= np.spacing(offset)


def test_durations_of_plain_decimals_are_exact():
    rng = np.random.default_rng(1)
    onset = np.round(rng.uniform(0, 1000, 20_000), 3)
    offset = np.round(onset + rng.uniform(0.001, 10, 20_000), 3)
    assert inexact(onset, offset) == []
    assert (ending(onset, duration(onset, offset)) == offset).all()


def test_every_format_is_described():
    assert all(item.words for item in FORMATS.values())
    assert len({item.words for item in FORMATS.values()}) == len(FORMATS)


@pytest.mark.parametrize("name", [item.name for item in FORMATS.values() if item.write is not None])
@FILES
@given(data=st.data())
def test_any_format_is_exact_or_says_what_is_lost(tmp_path_factory, name, data):
    made = data.draw(events(name=SAFE, lengths=data.draw(st.booleans()), annotator=data.draw(st.booleans())))
    if not len(made.recordings):
        return
    path = fresh(tmp_path_factory) / ("folder" if name == "audacity" else "a.x")
    try:
        lost = write(made, path, name)
        found = read(path, name)
    except InvalidInput:  # a label or a segment that the format has no place for: said, and nothing is written
        return
    if lost:
        return
    assert [row[:4] for row in rows_of(found)] == [row[:4] for row in rows_of(made)]
    assert set(found.recordings.index) == set(made.recordings.index)
    for recording, length in made.recordings["length"].dropna().items():
        assert found.recordings["length"][recording] == length
    if "annotator" in made.to_frame() and any(made.to_frame()["annotator"]):
        assert rows_of(found) == rows_of(made)


@pytest.mark.parametrize("format", ["rttm", "raven", "audacity"])
def test_one_text_that_a_format_changes_is_one(tmp_path, format):
    frame = pd.DataFrame({"recording": ["a"], "onset": [1.0], "offset": [2.0], "label": ["two\twords"]})
    with pytest.warns(AssumptionWarning):
        assert any("in 1 label (first" in each for each in write(Events.from_frame(frame), tmp_path / "a.txt", format))
