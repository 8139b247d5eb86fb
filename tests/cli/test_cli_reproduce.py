"""`weakly reproduce`: everything in one quick run, and its doors."""

import contextlib
import io
import itertools
import json
import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from weakly.apps import paper
from weakly.apps.paper import measures
from weakly.apps.paper.claims import CATEGORIES, all_claims
from weakly.apps.paper.simulations import Protocol
from weakly.cli import main


def reproduce(*arguments):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", *map(str, arguments)])
    return stop.value.code


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """One quick run of all of it, on a machine that has none of the data; the numbers are tested elsewhere. Figures are
    drawn once each, as SVG, and each fourth as PNG too, which takes as long again."""
    out = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        kept, run = [], paper.reproduce
        patch.setattr(paper, "reproduce", lambda *a, **k: kept.append(run(*a, **k)) or kept[-1])
        patch.setattr(paper, "QUICK", Protocol(n_recordings=20, n_criteria=3, n_segment_lengths=8, n_drawn=200))
        png, some = FigureCanvasAgg.print_png, itertools.cycle((True, False, False, False))

        def each_fourth(canvas, file, **saved):
            if not saved or next(some):  # without metadata it is asked for what measures text
                png(canvas, file, **saved)

        patch.setattr(FigureCanvasAgg, "print_png", each_fourth)
        code = reproduce("--quick", "--out", out)
        everything_found.extend(kept)
        return out, code


everything_found = []


@pytest.mark.parametrize("columns", [80, 120])
def test_on_a_terminal(everything, monkeypatch, columns):
    """The count first, nothing wider than the terminal, no number alone on a line."""
    shown = io.StringIO()
    shown.isatty = lambda: True
    monkeypatch.setattr(paper, "reproduce", lambda *_, **__: everything_found[0])
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with contextlib.redirect_stdout(shown):
        assert reproduce() == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue()).splitlines()
    assert " ".join(lines).startswith(everything_found[0].summary)
    assert [line for line in lines if len(line) > columns or re.fullmatch(r"\s*[\d.,]+\s*", line)] == []


def test_a_quick_run_ends_well(everything):
    out, code = everything
    assert code == 0
    claims = json.loads((out / "claims.json").read_text())
    assert len(claims) == len(all_claims())
    assert all(row["verdict"] == row["recorded_verdict"] for row in claims)
    told = {"name", "category", "where", "sentence", "printed", "measured", "value", "tolerance", "verdict", "erratum"}
    assert all(set(row) == told | {"recorded_verdict"} for row in claims)
    assert {row["category"] for row in claims} == set(CATEGORIES)


def test_every_figure_is_there_twice_and_shows_something(everything):
    from matplotlib.image import imread

    out, _ = everything
    assert {file.stem for file in (out / "figures").glob("*.png")} == set(paper.FIGURES)
    for name in paper.FIGURES:
        assert (out / "figures" / f"{name}.svg").read_text().startswith("<?xml")
    for name in paper.FIGURES[::4]:
        image = imread(out / "figures" / f"{name}.png")[..., :3]
        assert image.shape[0] >= 200
        assert image.shape[1] >= 700
        assert 0.02 < np.mean(image.min(axis=-1) < 0.9) < 0.9  # neither empty nor full


def test_the_page_holds_it_all_in_order(everything):
    out, _ = everything
    page_text = (out / "index.html").read_text()
    places = [page_text.index(f'<figure id="{name}">') for name in paper.FIGURES]
    assert places == sorted(places)
    assert "http" not in page_text.replace("http://www.w3.org", "").replace("https://matplotlib.org", "")
    for word in ("Table 1", "Table 2", "facts shipped with weakly", "A quick run", "CC BY 4.0"):
        assert word in page_text
    for erratum in paper.errata():
        assert f'id="{erratum}"' in page_text
    for claim in all_claims():
        assert f'id="{claim.name}"' in page_text
        assert not claim.erratum or f'href="#{claim.erratum}"' in page_text
    assert (out / "tables" / "datasets.csv").read_text().count("\n") == 5


def test_one_json_document_and_nothing_else(capfd):
    assert reproduce("--quick", "--only", "cost_events", "--only", "tables", "--json") == 0
    found = json.loads(capfd.readouterr().out)
    assert [figure["name"] for figure in found["figures"]] == ["cost_events"]
    assert found["figures"][0]["values"]["break_even_n_events"]["s = 2"] == pytest.approx(30.4016994375)
    assert [table["number"] for table in found["tables"]] == ["Table 1", "Table 2"]
    assert found["claims"] == []


def test_a_wrong_name_is_told_the_right_ones(capfd):
    assert reproduce("--only", "single_evnt") == 2
    error = capfd.readouterr().err
    assert "did you mean 'single_event'" in error
    assert "uniform_50" in error
    assert error.count("\n") == 1


def test_missing_data_is_one_line(capfd, tmp_path):
    assert reproduce("--only", "nigens", "--nigens", tmp_path / "none") == 2
    assert capfd.readouterr().err.startswith("weakly: nigens must be the corpus folder")


def test_a_changed_verdict_ends_with_one(capfd, monkeypatch):
    few = [each for each in all_claims() if each.name in ("f-star-half", "orc-count")]
    monkeypatch.setattr(measures.theory, "best_overlap_accuracy", lambda *, presence_criterion: 0.66)
    monkeypatch.setattr(paper, "all_claims", lambda: few)
    assert reproduce("--only", "claims") == 1
    out = capfd.readouterr()
    assert "verdicts differ from the record: f-star-half" in out.err
    assert out.out.startswith("Of 2 claims, 0 hold")  # the answer first
    assert max(map(len, out.out.splitlines()[1:])) <= 80


def test_real_lengths_are_used_and_named(real_data, capfd):
    assert reproduce("--quick", "--only", "nigens", "--nigens", real_data / "nigens", "--json") == 0
    figure = json.loads(capfd.readouterr().out)["figures"][0]
    assert "dog_event_lengths.npy" in figure["data"]
    assert "shipped" not in figure["data"]
    exact = figure["values"]["dog, n = 900"]["exact"]
    # Reference table: 0.6055 at 0.306 s for dogs at criterion 0.5.
    assert exact["accuracy"][2] == pytest.approx(0.6055, abs=5e-5)
    assert exact["segment_length"][2] == pytest.approx(0.306, abs=5e-4)


def test_the_result_object(monkeypatch, tmp_path):
    few = all_claims()[:8]
    monkeypatch.setattr(paper, "all_claims", lambda: few)
    found = paper.reproduce(only=["orc", "claims"])
    assert found.to_frame()["name"].tolist() == [each.name for each in few]
    assert found.changed == ()
    assert found.settings["only"] == ("orc", "claims")
    assert sum(found.counts["all"].values()) == 7  # one of the eight is a remark
    assert found.to_dict()["counts"] == found.counts
    assert found.report(tmp_path / "again").read_text().count("<article") == 8
    with pytest.raises(ValueError, match="only must be a list of names"):
        paper.reproduce(only="orc")
