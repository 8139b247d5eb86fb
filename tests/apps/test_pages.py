"""Pictures, pages and plain numbers: what is drawn is what was given, and nothing from outside is taken as markup."""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from weakly.base import plot
from weakly.base.report import Report
from weakly.base.results import to_jsonable

MARKUP = '<b>"x"</b>'


def test_a_timeline_draws_each_interval_from_its_start_to_its_end():
    spans = np.array([[1.0, 3.0], [6.0, 6.5]])
    ax = plot.timeline({"above": (spans, "red"), "below": (spans[:1], "blue")}, recording_length=10)
    below, above = ([path.get_extents() for path in bars.get_paths()] for bars in ax.collections)
    assert [(box.x0, box.x1) for box in above] == [(1.0, 3.0), (6.0, 6.5)]
    assert [(box.x0, box.x1) for box in below] == [(1.0, 3.0)]
    assert above[0].y0 > below[0].y1
    assert [text.get_text() for text in ax.get_yticklabels()] == ["below", "above"]
    assert ax.get_xlim() == (0, 10)


def test_saved_pictures_carry_no_date(tmp_path, monkeypatch):
    for name, epoch in (("a", "1"), ("b", "100000000")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
        figure = Figure(figsize=(1, 1))
        figure.subplots().plot([0, 1])
        png, svg = plot.save(figure, tmp_path / "made" / f"{name}.v1")
        assert (png.name, svg.name) == (f"{name}.v1.png", f"{name}.v1.svg")
    assert b"<dc:date>" not in svg.read_bytes()
    for end in ("png", "svg"):
        assert (tmp_path / f"made/a.v1.{end}").read_bytes() == (tmp_path / f"made/b.v1.{end}").read_bytes()


@pytest.mark.parametrize(
    "put",
    [
        lambda page: page.heading(MARKUP),
        lambda page: page.sentences([MARKUP]),
        lambda page: page.text(MARKUP),
        lambda page: page.code(MARKUP),
        lambda page: page.items(["first", MARKUP]),
        lambda page: page.table(pd.DataFrame({"label": [MARKUP]})),
        lambda page: page.table(pd.DataFrame({MARKUP: [1.0]})),
        lambda page: page.figure(Figure(figsize=(1, 1)), MARKUP, name=MARKUP),
    ],
)
def test_every_part_of_a_page_is_escaped(put):
    page = put(Report("title")).html()
    assert "<b>" not in page
    assert "&lt;b&gt;&quot;x&quot;&lt;/b&gt;" in page


def test_every_section_can_be_folded_and_keeps_what_is_in_it():
    page = Report("title").text("first").heading("one").text("inside").raw('<h2 id="two">two</h2>').text("last").html()
    folded = re.findall(r"<details open><summary><h2[^>]*>(\w+)</h2></summary><p>(\w+)</p></details>", page)
    assert folded == [("one", "inside"), ("two", "last")]
    assert page.index("first") < page.index("<details")


def test_the_title_is_escaped_in_the_head_and_on_the_page():
    assert Report(MARKUP).html().count("&lt;b&gt;&quot;x&quot;&lt;/b&gt;") == 2


def test_plain_values_are_json_whatever_they_were():
    @dataclasses.dataclass
    class Pair:
        left: float
        right: object

    class Half(float):
        """A float that is not quite one."""

    found = to_jsonable(
        {
            1: Pair(np.nan, (np.float32(0.5), np.int64(3), np.bool_(True))),
            "far": [np.inf, np.float64("-inf"), Half("nan"), Half(0.5)],
            "table": np.array([[1.0, np.nan]]),
            "kind": Pair,
        }
    )
    assert found["1"] == {"left": None, "right": [0.5, 3, True]}
    assert found["far"] == [None, None, None, 0.5]
    assert found["table"] == [[1.0, None]]
    assert isinstance(found["kind"], str)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
