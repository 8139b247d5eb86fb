"""Random bytes, cut and changed files: a clear error or a result, never anything else, from every reader."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from weakly import InvalidInput
from weakly.io import FORMATS, check, read, read_answers

DATA = Path(__file__).parent / "data"
# The zoo is mangled by the thousand in benchmarks/fuzz_formats.py.
SAMPLES = sorted(path for path in DATA.rglob("*") if path.is_file() and path.parent.name != "zoo")
# Shrinking a failure would write thousands of files.
QUICK = settings(max_examples=10, phases=(Phase.explicit, Phase.generate))
GLUE = st.sampled_from(
    [
        b"\t",
        b",",
        b"\n",
        b"\r\n",
        b'"',
        b"0",
        b"-1",
        b"1e999",
        b"nan",
        b"\\",
        b"\xff",
        b"\x00",
        b"[",
        b"{",
        b"}",
        b"null",
    ]
)


def survives(data: bytes, kind: str | None, ending: str = ".txt") -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"f{ending}"
        path.write_bytes(data)
        for reader in (read, read_answers):
            for on_error in ("raise", "skip"):
                try:
                    found = reader(path, kind, on_error=on_error)
                except InvalidInput:
                    continue
                frame = found.to_frame()
                times = frame[["onset", "offset"]].to_numpy(dtype=float)
                if reader is read:
                    assert np.isfinite(times).all()
                    assert (times[:, 1] > times[:, 0]).all()
                assert all(type(name) is str for name in frame["recording"])
                assert set(frame["recording"]) <= set(found.recordings.index)
        assert check(path, format=kind).files == (str(path),)


@pytest.mark.parametrize("kind", [None, *FORMATS])
@QUICK
@given(data=st.binary(max_size=200) | st.text("0123456789.\t\n,\"' abc-#\\{}[]:=", max_size=200).map(str.encode))
def test_random_content(kind, data):
    survives(data, kind)


@pytest.mark.parametrize("sample", SAMPLES, ids=[path.name for path in SAMPLES])
@QUICK
@given(data=st.data())
def test_changed_files(sample, data):
    content = sample.read_bytes()
    for _ in range(data.draw(st.integers(1, 3))):
        at, end = sorted((data.draw(st.integers(0, len(content))), data.draw(st.integers(0, len(content)))))
        how = data.draw(st.sampled_from(["cut", "cut line", "merge fields", "drop", "insert", "repeat"]))
        if how == "cut":
            content = content[:end]
        elif how == "cut line":
            content = content[:at] + content[max(at, content.find(b"\n", at)) :]
        elif how == "merge fields":
            signs = [k for k in range(at, end) if content[k : k + 1] in (b"\t", b",", b";", b" ")]
            content = content[: signs[0]] + content[signs[0] + 1 :] if signs else content
        elif how == "drop":
            content = content[:at] + content[at + 1 :]
        elif how == "insert":
            content = content[:at] + data.draw(GLUE) + content[at:]
        else:
            content = content[:end] + content[at:end][:50] + content[end:]
    survives(content, None, sample.suffix)


@pytest.mark.parametrize("kind", ["labelstudio", "jams", "aoef", "activitynet", "records"])
@QUICK
@given(data=st.data())
def test_json_of_the_wrong_shape(kind, data):
    import json

    leaf = st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=3)
    key = st.sampled_from(
        ["id", "data", "annotations", "result", "value", "start", "end", "labels", "choices", "type", "audio",
         "lead_time", "completed_by", "namespace", "time", "duration", "file_metadata", "original_length", "onset",
         "offset", "recordings", "clips", "sound_events", "sound_event_annotations", "tags", "uuid", "recording",
         "geometry", "coordinates", "database", "segment", "actions", "timestamps"]
    )  # fmt: skip
    tree = st.recursive(
        leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(key, inner, max_size=5), max_leaves=25
    )
    task = st.fixed_dictionaries(
        {"data": tree, "annotations": st.lists(st.fixed_dictionaries({"result": tree}) | tree, max_size=2)}
    )
    survives(json.dumps(data.draw(tree | st.lists(task, max_size=3))).encode(), kind, ".json")


def test_deep_json_is_refused():
    survives(b"[" * 100_000, "labelstudio", ".json")
    survives(b'{"annotations": ' * 50_000, "jams", ".jams")


def test_entities_in_xml_are_refused(tmp_path):
    path = tmp_path / "a.eaf"
    path.write_text('<!DOCTYPE x [<!ENTITY a "b">]><ANNOTATION_DOCUMENT>&a;</ANNOTATION_DOCUMENT>')
    with pytest.raises(InvalidInput, match="declares XML entities"):
        read(path)


def test_no_row_of_a_damaged_table_is_read_in_silence(capsys):
    """Rows that are cut, merged or joined, and names that stand twice; benchmarks/fuzz_formats.py damages thousands."""
    from benchmarks.fuzz_formats import silent

    found = silent(150, seed=1)
    assert set(found) <= {"refused", "said", "same"}, capsys.readouterr().out
    assert found["refused"] + found["said"] > 0.8 * found.total()
