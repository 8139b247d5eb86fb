"""Other people's files read with the counts that their makers and the index of the data state."""

import numpy as np
import pytest

from weakly import InvalidInput
from weakly.io import check, read, read_answers

pytestmark = pytest.mark.filterwarnings("ignore::weakly.base.errors.AssumptionWarning")

#: path, events, recordings, labels (None: not stated)
COUNTS = [
    ("audioset_strong/audioset_strong_eval_top110classes_downloaded.tsv", 103_207, 15_646, 110),
    ("audioset_strong/eval_segments.csv", 51_804, 20_371, 527),
    ("audioset_strong/byclass_raw_pos/baby_cry_*_eval_strong.tsv", 201, None, None),
    ("audioset_strong/byclass_raw_pos/baby_cry_*_train_strong.tsv", 1767, None, None),
    ("audioset_strong/byclass_raw_pos/gun_*_eval_strong.tsv", 655, None, None),
    ("audioset_strong/byclass_raw_pos/gun_*_train_strong.tsv", 5376, None, None),
    ("audioset_strong/byclass_raw_pos/snore_*_eval_strong.tsv", 207, None, None),
    ("audioset_strong/byclass_raw_pos/snore_*_train_strong.tsv", 1319, None, None),
    ("dcase2017_task4/groundtruth_strong_label_testing_set.csv", 652, 488, 17),
    ("dcase2017_task4/groundtruth_strong_label_evaluation_set.csv", 1556, 1103, 17),
    ("dcase2017_task4/groundtruth_weak_label_testing_set.csv", 606, 488, 17),
    ("dcase2017_task4/groundtruth_weak_label_evaluation_set.csv", 1350, 1103, 17),
    ("desed/validation.tsv", 4224, 1168, 10),
    ("desed/public.tsv", 2765, 692, 10),
    ("desed/synthetic_dcase2019.tsv", 6032, 2045, 10),
    ("desed/weak.tsv", None, 1578, 10),
    ("laughter_audioset/clean_laughter_annotations.csv", 1526, None, 1),
    ("laughter_audioset/clean_2nd_annotator_annotations.csv", None, 101, 1),
    ("laughter_audioset/clean_distractor_annotations.csv", 0, 1000, 0),
    ("dcase_fewshot_bioacoustic/subset_gt.csv", 292 + 710 + 73, None, 3),
    ("nips4bplus", 5481, 563, 87),
    ("powdermill_raven", 6125, 36, 25),
    ("canary_audacity/canary_audacity_all.csv", 23_308, 459, None),
    ("canary_audacity/originals", 77 + 48 + 59 + 19 + 52, 5, None),
    ("voxconverse/dev.rttm", 8268, None, None),
    ("labelstudio_coffee/project-1-at-2025-10-18-20-44-9bc9cd1d.json", 87, 4, None),
    ("labelstudio_coffee/project-1-at-2025-10-19-19-05-dcfa78d3.json", 298, 9, None),
    ("labelstudio_coffee/project-1-at-2026-04-12-19-41-e5863e6e.json", 18, 18, None),
    ("stead_sample/100samples.csv", 100, 100, 1),
    ("sed_eval_tut/office_snr0_high_v2.txt", 68, 1, None),
    ("audio_finch/birdsongrec_Bird0_Annotation.csv", None, 135, None),
    ("audio_spinetail/spinetail.txt", 18, 1, 2),
]


@pytest.mark.parametrize(("path", "events", "recordings", "labels"), COUNTS, ids=[row[0] for row in COUNTS])
def test_counts_of_the_index(real_data, path, events, recordings, labels):
    found = read(str(real_data / path))
    assert events is None or len(found) == events
    assert recordings is None or len(found.recordings) == recordings
    assert labels is None or len(found.labels) == labels


def test_every_file_reads_or_is_refused_for_a_true_reason(real_data):
    refused = {}
    for path in sorted(p for p in real_data.rglob("*") if p.is_file() and p.parent.name != "powdermill_raven"):
        try:
            read(path, recording_length=None, on_error="skip")
        except InvalidInput as error:
            refused[str(path.relative_to(real_data))] = str(error)
    reasons = {
        "INDEX.md": "of no known format",
        "PROVENANCE.csv": "does not say how long the recording",
        "audioset_strong/class_labels_indices.csv": "no columns with onsets and offsets",
        "audioset_strong/mid_to_display_name.tsv": "no columns with onsets and offsets",
        "dcase2017_task4/duration_of_files_in_testing_set.csv": "lists the lengths of recordings",
        "dcase_fewshot_bioacoustic/subset_meta.csv": "lists the lengths of recordings",
        "nigens/baby_event_lengths.npy": "numpy array: numbers without onsets",
        "nigens/dog_event_lengths.npy": "numpy array: numbers without onsets",
        "sonyc_ust_v1/annotations.csv": "does not say how long the recording",
        "sonyc_ust_v1/dcase-ust-taxonomy.yaml": "of no known format",
    }
    sounds = {name for name in refused if name.endswith(".wav")}
    assert all("is sound" in refused[name] for name in sounds)
    assert set(refused) - sounds == set(reasons)
    assert all(words in refused[name] for name, words in reasons.items())


def test_fifteen_empty_clips_of_desed(real_data):
    found = read(real_data / "desed/validation.tsv")
    silent = set(found.recordings.index) - set(found.to_frame()["recording"])
    assert len(silent) == 15
    assert found.recordings.loc[sorted(silent), "annotated"].all()


def test_animal_in_audioset(real_data):
    found = read(real_data / "audioset_strong/audioset_strong_eval_top110classes_downloaded.tsv", label="/m/0jbk")
    assert len(found) == 1539
    assert found.to_frame()["recording"].nunique() == 526
    assert np.mean(found.lengths / 10) == pytest.approx(0.1620, abs=5e-5)
    weak = read_answers(real_data / "audioset_strong/eval_segments.csv", label="/m/0jbk")
    both = set(found.to_frame()["recording"]) & set(weak.to_frame()["recording"])
    assert len(both) == 198


def test_mean_lengths(real_data):
    def mean(path, **kwargs):
        return float(np.mean(read(real_data / path, **kwargs).lengths))

    assert mean("stead_sample/100samples.csv") == pytest.approx(19.3, abs=0.05)
    assert mean("nips4bplus") == pytest.approx(0.20, abs=0.005)
    assert mean("powdermill_raven") == pytest.approx(1.47, abs=0.005)
    assert mean("laughter_audioset/clean_laughter_annotations.csv") == pytest.approx(2.48, abs=0.005)
    assert mean("desed/validation.tsv") == pytest.approx(2.10, abs=0.005)


def test_salami_boundaries(real_data):
    found = read(real_data / "salami/salami_functions_double_annotated.csv")
    frame = found.to_frame()
    kept = frame[frame["label"] != "Silence"]
    assert len(found.recordings) == 884
    assert len(kept) == 17_928
    assert float((kept["offset"] - kept["onset"]).mean()) == pytest.approx(26, abs=0.5)


def test_canary_without_silence(real_data):
    frame = read(real_data / "canary_audacity/canary_audacity_all.csv").to_frame()
    assert (frame["label"] != "SIL").sum() == 14_407


def test_sonyc_answers(real_data):
    found = read_answers(real_data / "sonyc_ust_v1/annotations.csv")
    frame = found.to_frame()
    assert len(found.labels) == 37
    assert len(found.recordings) == 2794
    engine = frame[(frame["label"] == "1_engine") & (frame["split"] == "train")]
    said = engine.groupby("recording")["present"].agg(["size", "sum"])
    assert len(said) == 2351
    assert (said["size"] == 3).all()
    assert (said["sum"] == 3).sum() == 149
    assert said["sum"].between(1, 2).sum() == 1120


def test_lead_times_of_label_studio(real_data):
    for file, seconds in (
        ("2025-10-18-20-44-9bc9cd1d", 3511),
        ("2025-10-19-19-05-dcfa78d3", 7466),
        ("2026-04-12-19-41-e5863e6e", 1684),
    ):
        frame = read_answers(real_data / f"labelstudio_coffee/project-1-at-{file}.json").to_frame()
        if "annotation" in frame:  # one answer an annotation and label; else its regions are the answers, and share it
            frame = frame.drop_duplicates("annotation")
        assert frame["seconds"].sum() == pytest.approx(seconds, abs=0.51)


def test_zero_length_in_the_street_reference(real_data):
    path = real_data / "sed_eval_tut/street_fold1_reference.txt"
    with pytest.raises(
        InvalidInput, match=r"street_fold1_reference\.txt, line 25, column 'offset': the event has no length"
    ):
        read(path)
    found = read(path, on_error="skip")
    assert (len(found) + found.skipped, len(found.labels)) == (142, 6)


def test_few_shot_lengths_are_matched_over_space_and_underscore(real_data):
    folder = real_data / "dcase_fewshot_bioacoustic"
    found = check([folder / "subset_gt.csv", folder / "subset_meta.csv"]).findings
    assert ("almost the same", 8) in {(item.kind, item.n) for item in found}
    events = read(folder / "subset_gt.csv", recording_length=folder / "subset_meta.csv", on_error="skip")
    assert len(events.recordings) == 18
    assert events.recordings["length"].notna().all()


def test_durations_of_dcase_2017_are_matched_over_the_y(real_data):
    folder = real_data / "dcase2017_task4"
    lengths = folder / "duration_of_files_in_testing_set.csv"
    found = read(folder / "groundtruth_strong_label_testing_set.csv", recording_length=lengths, on_error="skip")
    assert len(found.recordings) == 488
    assert found.recordings["length"].max() <= 10
    assert found.recordings["length"].min() > 0


def test_the_linter_finds_what_the_index_warns_of(real_data):
    def kinds(path):
        return {item.kind: item.n for item in check(str(real_data / path)).findings}

    assert kinds("audioset_strong/audioset_strong_eval_top110classes_downloaded.tsv")["duplicate"] == 12
    assert kinds("laughter_audioset/clean_laughter_annotations.csv")["spreadsheet damage"] == 10
    assert kinds("laughter_audioset/clean_2nd_annotator_annotations.csv")["past the end"] == 1
    assert kinds("desed/validation.tsv")["past the end"] == 4
    assert "overlap" in kinds("labelstudio_coffee/project-1-at-2025-10-18-20-44-9bc9cd1d.json")
    assert kinds("audio_spinetail/spinetail.txt") == {}
