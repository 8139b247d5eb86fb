"""The shipped facts: what they say of themselves, and that they describe the data they name."""

import numpy as np
import pytest

import weakly as wk
from weakly.apps.paper import appendix, facts
from weakly.base.errors import InvalidInput


@pytest.mark.parametrize("name", list(facts.fact_table()["samples"]))
def test_a_fact_table_is_consistent(name):
    sample = facts.shipped(name)
    assert len(sample.quantiles) == 101
    assert (np.diff(sample.quantiles) >= 0).all()
    assert sample.median == pytest.approx(sample.quantiles[50], abs=1e-5)
    # The means of the hundredths lie between their quantiles and average to the mean.
    assert sample.means.mean() == pytest.approx(sample.mean, rel=1e-4)
    slack = 0.02 * np.ptp(sample.quantiles)
    assert (sample.means >= sample.quantiles[:-1] - slack).all()
    assert (sample.means <= sample.quantiles[1:] + slack).all()


@pytest.mark.parametrize("name", list(facts.fact_table()["samples"]))
def test_the_spread_stands_for_the_sample(name):
    sample = facts.shipped(name)
    assert (np.diff(sample.spread) >= -1e-12).all()
    assert sample.spread.mean() == pytest.approx(sample.mean, rel=2e-3)
    assert np.quantile(sample.spread, [0.25, 0.5, 0.75]) == pytest.approx(sample.quantiles[[25, 50, 75]], abs=0.02)


def test_a_spread_made_from_facts_is_close_to_the_values():
    values = np.random.default_rng(0).lognormal(0, 1, 1000)
    known = facts.LengthSample.of("a", "b", values)
    told = facts.LengthSample("a", "b", known.n, known.mean, known.median, known.quantiles, known.means)
    assert known.spread is known.values
    assert told.spread.mean() == pytest.approx(values.mean(), rel=1e-3)
    assert np.mean(np.sqrt(told.spread)) == pytest.approx(np.mean(np.sqrt(values)), rel=1e-3)


def test_attributions_name_every_data_set():
    words = " ".join(facts.fact_table()["attributions"])
    assert all(name in words for name in ("NIGENS", "AudioSet", "DCASE 2017"))


def test_facts_describe_nigens(real_data):
    data = facts.gather(nigens=real_data / "nigens")
    for given, name in ((data.dog, "nigens_dog"), (data.baby, "nigens_baby")):
        told = facts.shipped(name)
        assert (given.n, told.n) == (900, 900)
        assert told.mean == pytest.approx(given.mean, abs=1e-6)
        assert told.quantiles == pytest.approx(given.quantiles, abs=1e-5)
        assert told.means == pytest.approx(given.means, abs=1e-5)
        assert "npy" in given.source
        assert "shipped" in told.source


def test_the_recipe_gives_what_the_paper_prints(real_data):
    data = facts.gather(audioset=real_data / "audioset_strong")
    assert data.animal.n == 1539
    assert appendix.recipe(data.animal) == pytest.approx(0.2584, abs=5e-5)
    assert appendix.recipe(facts.shipped("audioset_animal")) == pytest.approx(0.2584, abs=2e-4)
    told = facts.shipped("audioset_animal")
    assert told.quantiles == pytest.approx(data.animal.quantiles, abs=1e-5)


def pairs_of(frame):
    """The (recording, class) pairs of a table."""
    return set(zip(frame["recording"].astype(str).str.removesuffix(".wav"), frame["label"]))


@pytest.mark.filterwarnings("ignore::weakly.base.errors.AssumptionWarning")
def test_counts_describe_the_weak_labels(real_data):
    """Counted again from the data: the clips that hold an event of a class, and those of them that say so."""
    dcase, audioset = real_data / "dcase2017_task4", real_data / "audioset_strong"
    strong = next(iter(audioset.glob("*strong*.tsv")))
    files = [
        (dcase / f"groundtruth_strong_label_{part}_set.csv", dcase / f"groundtruth_weak_label_{part}_set.csv")
        for part in ("testing", "evaluation")
    ] + [(strong, next(iter(audioset.glob("*_segments.csv"))))]
    counted = []
    for row, (events, answers) in zip(appendix.answers(), files):
        said = wk.read_answers(answers).to_frame()
        held, present = pairs_of(wk.read(events).to_frame()), pairs_of(said[said["present"] == 1])
        if events == strong:
            held, present = ({pair for pair in each if pair[1] == "/m/0jbk"} for each in (held, present))
        assert (row["overlapping_pairs"], row["overlapping_present"]) == (len(held), len(held & present))
        assert not row["identifiable"]
        counted.append((len(held), len(held & present), len(present - held)))
    assert [each[2] for each in counted[:2]] == [35, 150]
    assert counted[2][:2] == (526, 198)


def test_offsets_describe_audioset(real_data):
    from weakly import read

    frame = read(real_data / "audioset_strong" / "audioset_strong_eval_top110classes_downloaded.tsv").to_frame()
    bark = frame[frame["label"] == "/m/05tny_"]
    measured = appendix.measured_offsets("bark", bark["onset"], bark["offset"] - bark["onset"])
    for ours, theirs in zip(appendix.all_offsets(facts.gather())[0][0], measured):
        assert ours.n == theirs.n
        assert ours.kuiper == pytest.approx(theirs.kuiper, abs=1e-6)
        assert ours.p == pytest.approx(theirs.p, rel=1e-3)


def test_annotations_give_the_offsets(real_data):
    data = facts.gather(annotations=real_data / "desed" / "validation.tsv")
    rows, source = appendix.all_offsets(data)
    assert source == "validation.tsv"
    assert [row[0].label for row in rows] == ["Dog", "Speech"]


def test_the_corpus_folder_is_read(tmp_path):
    for kind, lines in (("dog", "0.5\t1.0\n2.0\t2.75\n"), ("baby", "1.0\t3.0\n")):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "one.wav.txt").write_text(lines)
    data = facts.gather(nigens=tmp_path)
    assert data.dog.values.tolist() == [0.5, 0.75]
    assert data.baby.values.tolist() == [2.0]
    assert len(data.annotations) == 3


def test_bad_data_is_refused_by_name(tmp_path):
    with pytest.raises(InvalidInput, match="nigens must be the corpus folder"):
        facts.gather(nigens=tmp_path / "missing")
    with pytest.raises(InvalidInput, match=r"no file named \*strong\*.tsv"):
        facts.gather(audioset=tmp_path)
    for kind in ("dog", "baby"):
        np.save(tmp_path / f"{kind}_event_lengths.npy", np.array([-1.0, 2.0]))
    with pytest.raises(InvalidInput, match="one length > 0 per event"):
        facts.gather(nigens=tmp_path)
    with pytest.raises(InvalidInput, match="no values"):
        facts.LengthSample.of("dog", "nowhere", [])
