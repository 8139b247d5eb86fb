"""To the annotator's tool and back: stable ids, every tool, partial and contradictory answers, crashes."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import weakly as wk
from weakly.base.errors import InvalidInput
from weakly.io.soundscape import soundscape
from weakly.methods import Bisection
from weakly.methods.base import Recording, SimulatedAnnotator, run
from weakly.studies.queries.campaign import Campaign
from weakly.studies.queries.exchange import _in_folders, collect
from weakly.studies.queries.query_set import query_id
from weakly.studies.queries.store import Answer

EVENTS = {"a.wav": np.array([[2.0, 4.5]]), "b.wav": np.empty((0, 2))}


@pytest.fixture
def folder(tmp_path):
    for k, name in enumerate(EVENTS):
        soundscape(10, n_events=2, rng=k).write(tmp_path / "sound" / name)
    return tmp_path


def made(folder, **options):
    return wk.queries(sorted((folder / "sound").glob("*.wav")), **{"method": "fixed", "segment_length": 2.5, **options})


def said(row):
    """What an annotator with a criterion of 0.4 says, as the tool's word."""
    answer = SimulatedAnnotator(0.4)(EVENTS[row["recording"]], np.array([[row["onset"], row["offset"]]]))
    return "present" if answer[0] else "absent"


def answered(folder, tool):
    """Fill in the tool's files as a person would, and return the export."""
    state = Campaign.open(folder).queries.set_index("query")
    if tool == "labelstudio":
        tasks = json.loads((folder / "tasks.json").read_text())
        for k, task in enumerate(tasks):
            choice = {"type": "choices", "from_name": "answer", "to_name": "audio",
                      "value": {"choices": [said(state.loc[task["data"]["query"]])]}}  # fmt: skip
            region = task["predictions"][0]["result"]
            task |= {"id": k, "annotations": [{"id": k, "completed_by": 1, "lead_time": 4.0, "was_cancelled": False,
                     "created_at": "2026-01-01T00:00:00Z", "result": [*region, choice]}]}  # fmt: skip
        path = folder / "export.json"
        path.write_text(json.dumps(tasks))
        return [path]
    if tool in ("csv", "clips"):
        table = pd.read_csv(folder / "clips.csv")
        table["annotation"] = [{"present": "yes", "absent": "no"}[said(state.loc[q])] for q in table["query"]]
        if tool == "clips":
            table = table.drop(columns="query")  # the file's name is the id
        path = folder / "export.csv"
        table.to_csv(path, index=False)
        return [path]
    paths = []
    if tool == "raven":
        for path in (folder / "raven").iterdir():
            table = pd.read_csv(path, sep="\t")
            table["Answer"] = [said(state.loc[q]) for q in table["Query"]]
            table.to_csv(path, sep="\t", index=False)
            paths.append(path)
    else:
        for path in (folder / "audacity").iterdir():
            lines = path.read_text().splitlines()
            path.write_text("".join(f"{line} {said(state.loc[line.split()[2]])}\n" for line in lines))
            paths.append(path)
    return paths


@pytest.mark.parametrize("tool", ["labelstudio", "raven", "audacity", "csv", "clips"])
def test_labels_come_back_from_every_tool(folder, tool):
    out = folder / "tasks"
    paths = made(folder).write(out, to=tool)
    assert all(path.exists() for path in paths)
    campaign = Campaign.open(out / "queries.csv")
    found = campaign.take(answered(out, tool))
    assert found.n_answered == 8
    assert found.pending == found.unknown == found.unreadable == found.contradictions == []
    labels = campaign.labels(found)
    assert labels.to_frame()[["recording", "onset", "offset"]].to_numpy().tolist() == [["a.wav", 2.5, 5.0]]
    assert list(labels.recordings.index) == ["a.wav", "b.wav"]
    assert labels.recordings["annotated"].all()
    campaign.write_labels(labels, found, folder / "labels")
    again = wk.read(folder / "labels" / "events.csv")
    assert len(again) == 1
    strong = wk.read(folder / "labels" / "strong.tsv")
    assert strong.to_frame()[["onset", "offset"]].to_numpy().tolist() == [[2.5, 5.0]]
    assert len(wk.read(folder / "labels" / "audacity" / "a.wav.txt")) == 1


def test_ids_follow_from_what_is_asked_and_twice_changes_nothing(folder):
    first, second = made(folder), made(folder)
    assert first.frame.equals(second.frame)
    assert first.frame["query"].is_unique
    row = first.frame.iloc[0]
    assert row["query"] == query_id(row["recording"], row["onset"], row["offset"], row["label"])
    out = folder / "tasks"
    first.write(out, to="labelstudio")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.rglob("*") if path.is_file()}
    second.write(out, to="labelstudio")
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.rglob("*") if path.is_file()} == before
    assert query_id("a", 0, 1, "dog") != query_id("a", 0, 1, "cat") != query_id("a", 0, 1, "cat", 1)


def test_label_studio_tasks_fit_their_configuration(folder):
    out = folder / "tasks"
    made(folder, label="dog & cat").write(out, to="labelstudio")
    root = ET.fromstring((out / "labeling_config.xml").read_text())
    audio, choices = root.find("Audio"), root.find("Choices")
    assert choices.get("toName") == audio.get("name")
    assert [one.get("value") for one in choices.findall("Choice")] == ["present", "absent", "unsure"]
    tasks = json.loads((out / "tasks.json").read_text())
    fields = {value[1:] for tag in root.iter() for value in tag.attrib.values() if value.startswith("$")}
    for task in tasks:
        assert fields <= set(task["data"])
        region = task["predictions"][0]["result"][0]
        assert (region["value"]["start"], region["value"]["end"]) == (task["data"]["onset"], task["data"]["offset"])
        assert region["from_name"] in {tag.get("name") for tag in root.iter()}
    assert tasks[0]["data"]["audio"].startswith("/data/local-files/?d=")
    made(folder).write(folder / "cut", to="labelstudio", cut=True, url_prefix="http://here/")
    task = json.loads((folder / "cut" / "tasks.json").read_text())[0]
    assert "predictions" not in task
    assert (folder / "cut" / "clips" / f"{task['data']['query']}.wav").is_file()


def test_clips_for_birdnet_come_back_from_its_review(folder):
    """A folder per label, times in the names; its review moves clips into Positive and Negative."""
    out = folder / "tasks"
    asked = made(folder, label="dog & cat")
    asked.write(out, to="birdnet")
    clips = sorted((out / "birdnet" / "dog & cat").iterdir())
    frame = asked.frame
    assert {clip.name for clip in clips} == {
        f"{Path(name).stem}_{a:.2f}s_{b:.2f}s.wav" for name, a, b in frame[["recording", "onset", "offset"]].values
    }
    for k, clip in enumerate(clips[:-1]):  # the last is not answered yet
        moved = clip.parent / ("Negative" if k % 2 else "Positive") / clip.name
        moved.parent.mkdir(exist_ok=True)
        clip.rename(moved)
    (out / "birdnet" / "dog & cat" / "Positive" / "other_0.00s_3.00s.wav").write_bytes(b"")
    found = Campaign.open(out).take([out / "birdnet"])
    said = found.to_frame()
    assert len(said) == len(clips) - 1
    assert len(found.unknown) == 1
    before = sorted(out.rglob("*.wav"))
    made(folder, label="dog & cat").write(out, to="birdnet")  # what was moved is not cut again
    assert sorted(out.rglob("*.wav")) == before
    times = said.merge(frame[["query", "recording"]], on="query", suffixes=("", "_asked"))
    for row in times.itertuples():
        name = f"{Path(row.recording_asked).stem}_{row.onset:.2f}s_{row.offset:.2f}s.wav"
        assert row.present == 1 - [clip.name for clip in clips].index(name) % 2


def reviewed(folder, side):
    """Every clip of BirdNET's folders, moved there, or to where ``side`` of its name says."""
    for clip in sorted((folder / "birdnet").rglob("*.wav")):
        home = folder / "birdnet" / clip.relative_to(folder / "birdnet").parts[0]
        moved = home / (side if isinstance(side, str) else side(clip)) / clip.name
        moved.parent.mkdir(exist_ok=True)
        clip.rename(moved)


@pytest.mark.parametrize("label", ["", "..", "Positive", "a/b"])
def test_clips_for_birdnet_are_as_many_as_queries(tmp_path, label):
    """Names that are the same without their endings, repeats and labels that are no folders."""
    for k, name in enumerate(("a.wav", "a.flac", "s/a.wav", "s__a.wav")):
        soundscape(5, n_events=1, rng=k, sample_rate=2000).write(tmp_path / "sound" / name)
    out = tmp_path / "tasks"
    asked = wk.queries([tmp_path / "sound"], method="fixed", segment_length=1.2345678, label=label, repeats=0.5)
    asked.write(out, to="birdnet")
    assert len(list((out / "birdnet").rglob("*.wav"))) == len(asked.frame)
    waiting = Campaign.open(out).take([out / "birdnet"])
    assert (waiting.n_answered, waiting.unknown) == (0, [])
    reviewed(out, lambda clip: "Positive" if "_0.00s_" in clip.name else "Negative")
    found = Campaign.open(out).take([out / "birdnet"])
    assert (found.pending, found.unknown, found.contradictions) == ([], [], [])
    said = found.to_frame()
    assert (said["present"] == (said["onset"] == 0)).all()


def test_clips_for_birdnet_are_called_by_all_digits_of_their_times():
    columns = ["query", "recording", "label", "onset", "offset"]
    rows = [("1", "a.b.wav", "dog", 12345.678901, 12348.0), ("2", "a.b.wav", "dog", 12345.678902, 12348.0)]
    names = ["dog/a.b_12345.678901s_12348.00s.wav", "dog/a.b_12345.678902s_12348.00s.wav"]
    assert [*_in_folders(pd.DataFrame(rows, columns=columns)).values()] == names


def test_a_clip_of_birdnet_says_what_its_folder_says_now(folder):
    out = folder / "tasks"
    made(folder).write(out, to="birdnet")
    for side, read in (("Positive", "."), ("Negative", "event"), ("Positive", "."), ("Negative", "event/Negative")):
        reviewed(out, side)
        found = Campaign.open(out).take([out / "birdnet" / read])
        assert set(found.to_frame()["present"]) == {float(side == "Positive")}
    assert all(path.is_file() for path in made(folder).write(out, to="birdnet"))


def test_tables_beside_sounds_are_read(folder):
    """A folder with sounds is BirdNET's only if clips of the campaign, or of a review, are in it."""
    out = folder / "tasks"
    made(folder).write(out, to="clips")
    table = pd.read_csv(out / "clips.csv")
    table.assign(annotation="yes").to_csv(folder / "sound" / "back.csv", index=False)
    assert Campaign.open(out).take([folder / "sound"]).n_answered == len(table)
    (folder / "sound" / "back.csv").unlink()
    with pytest.raises(InvalidInput, match="no annotation files"):
        Campaign.open(out).take([folder / "sound"])


def test_clips_for_zooniverse_come_back_from_its_export(folder):
    """Cut files and the manifest of a subject set; volunteers answer yes or no."""
    out = folder / "tasks"
    asked = made(folder, label="dog")
    asked.write(out, to="zooniverse")
    manifest = pd.read_csv(out / "clips" / "manifest.csv")
    assert manifest["filename"].tolist() == [f"{query}.wav" for query in asked.frame["query"]]
    assert all((out / "clips" / name).is_file() for name in manifest["filename"])
    assert all(name == "filename" or name.startswith("#") for name in manifest)  # people see none of it
    rows = []
    for k, row in enumerate(manifest.to_dict("records")):
        said = [{"task": "T0", "task_label": "Is there a dog?", "value": "No" if k % 2 else "Yes"}]
        about = {str(k): {"retired": None, **{name: str(value) for name, value in row.items()}}}
        rows.append({"classification_id": k, "user_name": "ann", "workflow_id": 7, "subject_ids": k,
                     "annotations": json.dumps(said), "subject_data": json.dumps(about)})  # fmt: skip
    pd.DataFrame(rows).to_csv(folder / "classifications.csv", index=False)
    found = Campaign.open(out).take([folder / "classifications.csv"]).to_frame().set_index("query")["present"]
    assert found.loc[asked.frame["query"]].tolist() == [1 - k % 2 for k in range(len(manifest))]


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ([("What do you hear?", "Dog")], [("What do you hear?", "Cat")]),
        ([("What do you hear?", ["Cat", "Dog"])], [("What do you hear?", ["Cat"])]),
        ([("", [{"choice": "DOG", "answers": {"HOWMANY": "1"}}])], [("", [{"choice": "NOTHINGHERE"}])]),
        ([("A dog?", "Yes"), ("Wind?", "No")], [("A dog?", "No"), ("Wind?", "Yes")]),
        ([("A dog?", "Yes"), ("How sure?", "Very")], [("A dog?", "No"), ("How sure?", "Somewhat")]),
    ],
)
def test_of_several_classes_or_questions_of_zooniverse_the_one_asked_counts(folder, yes, no):
    out, export = folder / "tasks", folder / "classifications.csv"
    asked = made(folder, label="dog")
    asked.write(out, to="zooniverse")

    def answer(*every):
        rows = [{"classification_id": k, "user_name": "ann", "subject_ids": k,
                 "annotations": json.dumps([{"task": f"T{i}", "task_label": task, "value": value}
                                            for i, (task, value) in enumerate(every[k % len(every)])]),
                 "subject_data": json.dumps({k: {"#query": query}})}
                for k, query in enumerate(asked.frame["query"])]  # fmt: skip
        pd.DataFrame(rows).to_csv(export, index=False)
        return Campaign.open(out).take([export])

    other = answer([("What do you hear?", "Cat")], [("What do you hear?", "Bird")])  # nobody was asked for dogs
    assert (other.n_answered, len(other.unreadable)) == (0, len(asked.frame))
    found = answer(yes, no)
    assert found.contradictions == []
    assert found.to_frame().set_index("query")["present"].loc[asked.frame["query"]].tolist() == [1, 0] * 4


@pytest.mark.parametrize("tool", ["raven", "audacity", "csv"])
def test_cut_is_refused_where_it_cannot_serve(tmp_path, tool):
    found = wk.queries({"a": 9.0}, method="fixed", segment_length=3)
    with pytest.raises(InvalidInput, match=f"{tool} opens whole recordings, and to='clips' cuts"):
        found.write(tmp_path / "c", to=tool, cut=True)
    assert not (tmp_path / "c").exists()


def frame_of(n=3):
    found = wk.queries({"a": 3.0 * n}, method="fixed", segment_length=3)
    return found.frame, found.frame["query"].tolist()


def test_the_later_answer_counts_by_the_clock_or_else_by_the_row():
    frame, (q, r, s) = frame_of()
    given = [
        Answer(q, 1, "ann", answered="2"),
        Answer(q, 0, "ann", answered="1"),  # exported out of order
        Answer(r, 1, "ann"),
        Answer(r, 0, "ann"),
        Answer(s, 0, "ann", answered="1"),
        Answer(s, 1, "ann", answered="1"),
    ]
    assert collect(frame, given).answers.to_frame()["present"].tolist() == [1, 0, 1]


@pytest.fixture
def campaign(tmp_path):
    wk.queries({"a": 9.0}, method="fixed", segment_length=3).write(tmp_path / "tasks", to="csv")
    return Campaign.open(tmp_path / "tasks")


def test_what_does_not_fit_is_named_and_counted(campaign, tmp_path):
    q, r, s = campaign.queries["query"]
    rows = [
        (q, "present", "ann", 4.0, "1"),
        (q, "present", "ann", 5.0, "2"),  # again
        (r, "present", "ann", 4.0, "1"),
        (r, "absent", "ann", 4.0, "2"),  # changed her mind
        (s, "yes", "ann", 4.0, ""),
        (s, "no", "bob", 4.0, ""),  # they differ
        ("feedbeef0000", "present", "ann", "", ""),
        (q, "purple", "bob", "", ""),
        (s, "", "cid", "", ""),
    ]
    path = tmp_path / "x.csv"
    pd.DataFrame(rows, columns=["query", "answer", "annotator", "seconds", "answered"]).to_csv(path, index=False)
    found = campaign.take([path])
    assert found.duplicates == [q]
    assert found.contradictions == [r, s]
    assert len(found.unknown) == 1
    assert "feedbeef0000" in found.unknown[0]
    assert len(found.unreadable) == 1
    assert "purple" in found.unreadable[0]
    assert str(path) in found.unreadable[0]
    assert found.pending == []
    by = found.answers.to_frame().set_index(["query", "annotator"])["present"]
    assert by[(r, "ann")] == 0
    labels = campaign.labels(found)
    assert labels.to_frame()[["onset", "offset"]].to_numpy().tolist() == [[0.0, 3.0]]  # s is undecided, r taken back
    report = found.to_dict()
    assert (report["n_answered"], report["n_contradictions"], report["n_unknown"]) == (3, 2, 1)
    json.dumps(report, allow_nan=False)


def test_partial_answers_leave_the_rest_open(campaign):
    frame = campaign.queries
    found = collect(frame, [Answer(frame["query"][0], 1)])
    assert len(found.pending) == 2
    assert len(campaign.labels(found)) == 1
    assert not campaign.labels(collect(frame, [])).recordings["annotated"].any()


def test_seconds_per_query_survive_a_coffee_break():
    frame, _ = frame_of(40)
    times = np.random.default_rng(0).uniform(4, 8, 40)
    times[3] = 3600.0
    found = collect(frame, [Answer(q, 0, "a", t) for q, t in zip(frame["query"], times)])
    pace = found.seconds_per_query()
    assert 4 < pace["median"] < 8
    assert pace["winsorised"] < 8
    assert pace["mean"] > 90
    assert pace["n_idle"] == 1


def test_real_label_studio_exports_are_reported_as_unknown(real_data, campaign):
    """Genuine exports of another campaign: no answer is invented; those that hold events alone are refused."""
    refused = []
    for path in sorted((real_data / "labelstudio_coffee").glob("*.json")):
        try:
            found = campaign.take([path])
        except wk.InvalidInput as error:
            refused.append(str(error))
            continue
        assert len(found.answers) == 0
        assert len(found.pending) == 3
    assert refused
    assert all("holds events, and no answers to queries" in each for each in refused)
    assert len(campaign.take([]).answers) == 0


def test_a_real_export_with_query_ids_comes_back(real_data, tmp_path):
    """The structure of a genuine export, with the choice and the id that our configuration adds to it."""
    path = sorted((real_data / "labelstudio_coffee").glob("*.json"))[1]
    tasks = json.loads(path.read_text())
    wk.queries({"a": 3.0 * len(tasks)}, method="fixed", segment_length=3).write(tmp_path / "tasks", to="labelstudio")
    campaign = Campaign.open(tmp_path / "tasks")
    people = set()
    for task, query in zip(tasks, campaign.queries["query"]):
        task["data"]["query"] = query
        for annotation in task["annotations"]:
            answer = {"type": "choices", "from_name": "answer", "value": {"choices": ["present"]}}
            annotation["result"].append(answer)
            people.add(annotation["completed_by"])
    (tmp_path / "e.json").write_text(json.dumps(tasks))
    found = campaign.take([tmp_path / "e.json"])
    assert found.n_answered == len(tasks)
    assert found.seconds_per_query()["n"] == len(found.answers)
    theirs = wk.read_answers(tmp_path / "e.json").to_frame()
    assert set(found.answers.to_frame()["annotator"]) == set(theirs["annotator"])  # called the same everywhere


def task(query, *choices, regions=("segment",), **more):
    """One task of Label Studio with what one annotator chose in it."""
    chosen = [{"type": "choices", "from_name": "answer", "value": {"choices": [word]}} for word in choices]
    marks = [
        {"type": "labels", "from_name": "segment", "value": {"start": 0, "end": 3, "labels": [r]}} for r in regions
    ]
    note = {"id": 1, "completed_by": {"email": "ann@x", "id": 7}, "result": marks + chosen, **more}
    return {"id": 1, "data": {"query": query, "recording": "a", "label": "event"}, "annotations": [note]}


def test_label_studio_answers_that_are_not_plain(campaign, tmp_path):
    q, r, s = campaign.queries["query"]
    path = tmp_path / "e.json"
    path.write_text(json.dumps([task(q, "present"), task(r, "purple"), task(s, "absent")]))
    found = campaign.take([path])
    by = found.answers.to_frame().set_index("query")
    assert by["present"].to_dict() == {q: 1.0, s: 0.0}
    assert set(by["annotator"]) == {"ann@x"}
    assert len(found.unreadable) == 1
    assert "purple" in found.unreadable[0]
    path.write_text(json.dumps([task(q), task(r), task(s)]))  # submitted without a choice: only the mark came back
    assert len(campaign.take([path]).answers) == 2
    times = [task(r, word, updated_at=f"2026-01-0{day}T00:00:00Z") for day, word in ((3, "absent"), (2, "present"))]
    path.write_text(json.dumps(times))
    for _ in range(2):
        again = campaign.take([path]).answers.to_frame().set_index("query")["present"]
        assert again[r] == 0.0  # the later one by the clock, though it stands first
    assert len(Campaign.open(campaign.folder).answers) == 4


def test_a_file_that_contradicts_itself_is_not_counted_again(campaign, tmp_path):
    q = campaign.queries["query"][0]
    path = tmp_path / "e.csv"
    pd.DataFrame({"query": [q, q], "answer": ["yes", "no"]}).to_csv(path, index=False)
    for _ in range(3):
        found = campaign.take([path])
        assert found.contradictions == [q]
        assert found.answers.to_frame()["present"].tolist() == [0.0]
    assert len(Campaign.open(campaign.folder).answers) == 1


def test_bisection_goes_on_round_by_round_as_in_simulation(tmp_path):
    events = np.array([[3.0, 4.5], [11.0, 11.6]])
    known = Recording("a", 16.0, events=events)
    expected = run(Bisection(segment_length=1.0, n_events=2), known, SimulatedAnnotator(0.5))
    out = tmp_path / "tasks"
    options = {"method": "bisection", "segment_length": 1.0, "n_events": 2}
    wk.queries({"a": 16.0}, **options).write(out, to="csv")
    for _ in range(10):
        state = Campaign.open(out).queries
        answers = SimulatedAnnotator(0.5)(events, state[["onset", "offset"]].to_numpy(float))
        table = pd.DataFrame({"query": state["query"], "answer": np.where(answers == 1, "yes", "no")})
        table.to_csv(tmp_path / "export.csv", index=False)
        campaign = Campaign.open(out)
        found = campaign.take([tmp_path / "export.csv"])
        if not campaign.next_round(found):
            break
        Campaign.open(out).next().write(out, to="csv")
    assert len(Campaign.open(out).queries) == expected.n_queries
    assert np.allclose(campaign.labels(found).to_frame()[["onset", "offset"]], expected.labels.events)
    assert Campaign.open(out).queries["round"].max() > 1


def test_information_goes_on_query_by_query(tmp_path):
    """Ask and tell, one at a time, each step from the store alone."""
    events = np.array([[3.0, 4.5]])
    wk.queries({"a": 8.0}, method="information", wrong_time=0.3, shortest=0.1).write(tmp_path / "t")
    for _ in range(60):
        campaign = Campaign.open(tmp_path / "t")
        asked = campaign.next()
        if not asked.n_queries:
            break
        asked.write(tmp_path / "t")
        present = SimulatedAnnotator(0.5)(events, asked.frame[["onset", "offset"]].to_numpy(float))
        campaign.store.tell([Answer(q, p, id=f"key press {q}") for q, p in zip(asked.frame["query"], present)])
    found = collect(campaign.queries, campaign.answers)
    assert 5 < len(campaign.answers) == len(campaign.queries)
    labels = campaign.labels(found).to_frame()
    assert np.allclose(labels[["onset", "offset"]], events, atol=0.3)


def test_bad_files_say_so(campaign, tmp_path):
    with pytest.raises(InvalidInput, match="no such file"):
        Campaign.open(tmp_path / "nowhere")
    (tmp_path / "e.json").write_text("[{]")
    with pytest.raises(InvalidInput, match="line 1"):
        campaign.take([tmp_path / "e.json"])
    (tmp_path / "e.csv").write_text("x,y\n1,2\n")
    with pytest.raises(InvalidInput, match=r"e\.csv"):
        campaign.take([tmp_path / "e.csv"])
    with pytest.raises(InvalidInput, match="clips need its audio"):
        wk.queries({"a": 4.0}, method="fixed", segment_length=2).write(tmp_path / "o", to="clips")
    assert not (tmp_path / "o").exists()


def test_bad_input_at_the_door():
    for options, words in (
        ({"method": "fixed"}, "needs segment_length"),
        ({"method": "bisection"}, "needs segment_length"),
        ({"method": "bisect", "segment_length": 1}, "did you mean 'bisection'"),
        ({"method": "fixed", "segment_length": -1}, "segment_length must be > 0"),
        ({"method": "fixed", "queries_per_recording": 2, "budget": 3}, "not both"),
        ({"method": "fixed", "queries_per_recording": 0}, "whole number from 1"),
        ({"method": "change-point", "queries_per_recording": 3}, "need audio or features, not only its length"),
    ):
        with pytest.raises(InvalidInput, match=words):
            wk.queries({"a": 10.0}, **options)
    with pytest.raises(InvalidInput, match="no recordings"):
        wk.queries({}, method="fixed", segment_length=1)


def test_the_result_shows_itself(folder):
    found = made(folder, events=wk.Events.from_frame(
        pd.DataFrame({"recording": ["a.wav"], "onset": [2.0], "offset": [4.5]}), recording_length=10.0))  # fmt: skip
    ax = found.plot()
    assert "8 queries" in ax.get_title()
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "a.wav: events"
    data = found.to_dict()
    assert data["n_queries"] == 8
    assert data["listened"] == pytest.approx(20)
    assert found.estimate(seconds_per_answer=2) == pytest.approx(36)
    json.dumps(data, allow_nan=False)
    assert found.settings["segment_length"] == 2.5
    page = found.report(folder / "page.html").read_text()
    assert "8 queries in 2 recordings" in page
    assert "event_fraction" not in page
    orc = wk.queries({"a": 10.0}, method="oracle", events=wk.Events.from_frame(
        pd.DataFrame({"recording": ["a"], "onset": [2.0], "offset": [4.5]}), recording_length=10.0))  # fmt: skip
    assert orc.frame[["onset", "offset"]].to_numpy().tolist() == [[0, 2], [2, 4.5], [4.5, 10]]
