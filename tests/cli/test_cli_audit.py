"""`weakly audit`: findings, checks and exit codes."""

import json
import warnings

import pandas as pd
import pytest

import weakly as wk
from weakly.cli import main


@pytest.fixture(autouse=True)
def _notes_are_no_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("always", wk.AssumptionWarning)
        yield


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


@pytest.fixture
def files(tmp_path):
    """A strong list, a weak list and answers of two annotators about ten-second clips."""
    strong = tmp_path / "strong.tsv"
    strong.write_text(
        "filename\tonset\toffset\tevent_label\n"
        "a_0.000_10.000.wav\t1.0\t3.0\tDog\nb_0.000_10.000.wav\t2.0\t7.0\tCat\nc_0.000_10.000.wav\t\t\t\n"
    )
    weak = tmp_path / "weak.tsv"
    weak.write_text(
        "filename\tevent_labels\na_0.000_10.000.wav\tDog\nb_0.000_10.000.wav\tDog,Cat\nc_0.000_10.000.wav\tCat\n"
    )
    rows = [
        (f"{clip}_0.000_10.000.wav", 0.0, 10.0, said, "Dog", who, seconds)
        for who, answers in (("anna", "yes no no"), ("ben", "yes yes no"))
        for clip, said, seconds in zip("abc", answers.split(), (12.0, 14.0, 13.0))
    ]
    answers = tmp_path / "answers.csv"
    pd.DataFrame(
        rows, columns=["file", "start_time", "end_time", "annotation", "label", "annotator", "seconds"]
    ).to_csv(answers, index=False)
    return strong, weak, answers


def test_strong_against_weak(capsys, files):
    strong, weak, _ = files
    code, out, _ = run(capsys, "audit", "--strong", strong, "--weak", weak, "--recording-length", "10", "--json")
    document = json.loads(out)
    rows = {row["label"]: row for row in document["quality"]["scores"]}
    assert code == 0
    assert rows["all"]["n_phantom"] == 2
    assert rows["Dog"]["precision"] == pytest.approx(0.1)
    assert rows["Cat"]["precision"] == pytest.approx(0.25)
    assert rows["all"]["event_recall"] == 1
    assert [row["recording"][0] for row in document["quality"]["phantom"]] in (["b", "c"], ["c", "b"])
    perfect = {row["metric"]: row["perfect"] for row in document["ceiling"]["scores"] if row["label"] == "all"}
    # strong: 2 + 5 one-second segments, all labelled; labels: 4 clips of 10
    assert perfect["segment_f1_1s"] == pytest.approx(2 * 7 / (7 + 40))
    assert any("presences only" in finding["text"] for finding in document["findings"])


def test_the_table_leaves_out_what_nobody_knows(capsys, files, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # in a pipe a head is one line
    strong, weak, _ = files
    code, out, _ = run(capsys, "audit", "--strong", strong, "--weak", weak, "--recording-length", "10")
    header = next(line for line in out.splitlines() if line.startswith("class"))
    assert code == 0
    assert "labelled time that is right" in header
    assert "events found" in header
    assert "_" not in header  # code names stay in JSON
    assert "presence criterion" not in header  # these labels cannot tell it
    assert "--unlisted absent" in out


def test_no_event_is_said(capsys, tmp_path):
    path = tmp_path / "none.tsv"
    path.write_text("filename\tonset\toffset\tevent_label\na.wav\t\t\t\n")
    code, out, _ = run(capsys, "audit", "--strong", path)
    assert code == 0
    assert "hold no event in 1 recording." in out


def test_answers_alone(capsys, files):
    code, out, _ = run(capsys, "audit", "--answers", files[2])
    assert code == 0
    assert "2 annotators agree" in out
    assert "A query takes 13 s" in out
    assert "r = 0.75" in out  # three seconds more than hearing: 3 / (3 + 1)


def test_answers_against_strong(capsys, files):
    code, out, _ = run(capsys, "audit", "--strong", files[0], "--answers", files[2], "--label", "Dog", "--json")
    assert code == 0
    assert {row["annotator"] for row in json.loads(out)["annotators"]} == {"anna", "ben"}


def test_a_condition_that_holds_fails_the_build(capsys, files):
    strong, weak, _ = files
    asked = ["audit", "--strong", strong, "--weak", weak, "--recording-length", "10"]
    code, out, err = run(capsys, *asked, "--fail-on", "precision<0.9", "--fail-on", "event_recall<0.9")
    assert code == 1
    assert "precision<0.9 holds" in err
    assert "event_recall<0.9 holds" not in err
    assert "present labels" in out
    assert run(capsys, *asked, "--fail-on", "event_recall<0.9")[0] == 0
    assert run(capsys, *asked, "--fail-on", "Dog.precision<0.05")[0] == 0
    assert run(capsys, *asked, "--fail-on", "Dog.precision<0.15")[0] == 1
    code, out, _ = run(capsys, *asked, "--fail-on", "precision<0.9", "--json")
    assert code == 1
    assert json.loads(out)["findings"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give --strong, --weak or --answers"),
        (["--strong", "STRONG", "--weak", "WEAK", "--fail-on", "recall"], "a condition must look like"),
        (["--strong", "STRONG", "--weak", "WEAK", "--fail-on", "recal<1"], "did you mean 'recall'"),
        (["--strong", "STRONG", "--fail-on", "recall<1"], "needs strong annotations and weak labels"),
        (["--strong", "nowhere.tsv"], "nowhere.tsv"),
        (["--strong", "STRONG", "--label", "Dgo"], "did you mean 'Dog'"),
        (["--answers", "ANSWERS", "--where", "split"], "--where must be like"),
        (["--answers", "ANSWERS", "--where", "split=train"], "no row has 'train'"),
        (["--strong", "STRONG", "--weak", "WEAK", "--unlisted", "gone"], "unlisted must be one of"),
        (["--strong", "STRONG", "--weak", "WEAK", "--collar", "0"], "collar must be > 0"),
        (["--strong", "STRONG", "--weak", "WEAK", "--resolution", "0"], "resolutions must be > 0"),
    ],
)
def test_bad_input_is_one_line(capsys, files, arguments, words):
    places = dict(zip(("STRONG", "WEAK", "ANSWERS"), map(str, files)))
    code, out, err = run(capsys, "audit", *(places.get(argument, argument) for argument in arguments))
    assert code == 2
    assert out == ""
    assert words in err.splitlines()[-1]


def test_reports_and_tables_are_written(capsys, files, tmp_path):
    strong, weak, _ = files
    page, folder = tmp_path / "audit.html", tmp_path / "out"
    code, _, err = run(capsys, "audit", "--strong", strong, "--weak", weak, "--report", page, "--out", folder)
    assert code == 0
    assert str(page) in err
    assert "What a perfect model scores on these labels" in page.read_text()
    names = {path.name for path in folder.iterdir()}
    assert {
        "audit.csv",
        "criteria.csv",
        "phantom.csv",
        "ceiling.csv",
        "audit.json",
        "quality.png",
        "quality.svg",
    } <= names


def test_facts_come_out_of_the_command(capsys, real_data):
    path = real_data / "audioset_strong" / "audioset_strong_eval_top110classes_downloaded.tsv"
    code, out, _ = run(capsys, "audit", "--strong", path, "--label", "/m/0jbk", "--recording-length", "10")
    assert code == 0
    for fact in ("1,539 events", "526", "1.62 s", "47 %"):
        assert fact in out
    code, out, _ = run(
        capsys, "audit", "--answers", real_data / "sonyc_ust_v1" / "annotations.csv", "--where", "split=train",
        "--label", "1_engine",
    )  # fmt: skip
    words = " ".join(out.split())
    assert "149 are unanimously present, 1,082 unanimously absent and 1,120 split" in words


def test_a_card_and_who_examined_what(capsys, files, tmp_path):
    strong, weak, _ = files
    arguments = ["audit", "--strong", strong, "--weak", weak, "--recording-length", "10"]
    code, _, err = run(capsys, *arguments, "--examined", "all", "--card", tmp_path / "card.md")
    assert (code, "card.md" in err) == (0, True)
    _, front, card = (tmp_path / "card.md").read_text().split("---\n")  # as hubs of data sets read it
    assert "tags: [weak-labels, label-quality]\nsize_categories: ['n<1K']\n" in front
    assert card.lstrip().startswith("# Label card")
    looked = tmp_path / "looked.csv"
    looked.write_text("recording\nzzz\n")
    code, _, err = run(capsys, *arguments, "--examined", tmp_path / "nothing.csv")
    assert code == 2
    assert "nothing.csv" in err
    code, _, err = run(capsys, *arguments, "--card", tmp_path / "card.doc")
    assert code == 2
    assert "a card is a file that ends in" in err


def test_a_number_stays_with_its_unit():
    from weakly.cli.common import wrapped

    text = "dog: segments with 0.13 to 0.65 s of event are present in 33 % of the cases (23 % to 45 %), 10 s"
    for width in range(25, 81):
        lines = wrapped(f"- {text}", width, "  ").splitlines()
        assert " ".join(line.strip() for line in lines) == f"- {text}"
        assert max(map(len, lines)) <= width
        assert not any(line.split()[0].startswith(("%", "s")) and line.split()[0] != "segments" for line in lines)


def test_lengths_of_recordings_may_come_from_a_file(capsys, tmp_path):
    """Two annotators of whom one found nothing in b: its silence counts for as long as b is."""
    strong, lengths = tmp_path / "two.csv", tmp_path / "lengths.csv"
    strong.write_text("recording,onset,offset,label,annotator\na,1,2,dog,x\na,1,2,dog,y\nb,1,3,dog,x\n")
    lengths.write_text("filename,duration\na,10\nb,20\n")
    code, out, _ = run(
        capsys, "audit", "--strong", strong, "--recording-length", lengths, "--examined", "all", "--json"
    )
    row = json.loads(out)["annotation_agreement"]["by_label"][0]
    assert code == 0
    assert row["units"] == pytest.approx(30)
    assert row["agreement"] == pytest.approx(28 / 30)
