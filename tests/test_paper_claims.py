"""Every claim of the paper has a verdict, and the verdict follows from what is measured."""

import dataclasses
import re

import pytest

from weakly.paper.claims import ABOUT, CLAIMS, FAILS, HOLDS, VERDICTS, claim, results
from weakly.paper.claims.claim import Claims, Finding, decided, equal, rounded

BY_NAME = {each.name: each for each in CLAIMS}


def test_every_claim_is_declared_in_full():
    assert len(BY_NAME) == len(CLAIMS) >= 50
    for each in CLAIMS:
        assert each.verdict in VERDICTS
        assert each.where
        assert each.printed
        assert each.says.endswith(".")
        assert re.fullmatch(r"(E([1-9]|[12]\d|3[0-5]))?", each.erratum), each.name
    # What does not hold is in the errata.
    assert all(each.erratum for each in CLAIMS if each.verdict == FAILS)


@pytest.mark.parametrize("each", CLAIMS, ids=lambda each: each.name)
def test_the_verdict_is_the_one_on_record(each):
    checked = each.check()
    assert not checked.changed, checked.finding
    row = checked.to_dict()
    assert row["verdict"] == row["recorded_verdict"] == each.verdict
    assert row["measured"]


@pytest.mark.parametrize(
    ("name", "value", "tolerance"),
    [  # reference table
        ("f-star-half", 0.7639320225, 1e-10),
        ("d-q-star-half", 0.8090169944, 1e-10),
        ("noise-34", 0.2360679775, 1e-10),
        ("theorem-4", 123.60679775, 1e-8),
        ("cost-events-1", 61.3033988750, 1e-9),
        ("cost-events-8", 7.2254248594, 1e-9),
        ("cost-length", 19.4164078650, 1e-9),
        ("cost-small-criterion", 681.02, 5e-3),
        ("spacing", 1.7208, 5e-5),
        ("class-noise", 0.6875, 1e-4),
        ("recording-optimum", 0.9957295, 1e-7),
        ("delta-form", 1.4667, 5e-5),
        ("delta-optimum", 0.6453, 5e-5),
        ("audioset-criterion", 0.2584, 2e-4),
        ("thirty-events", 0.7102, 5e-5),
        ("fifty-events", 0.6827, 5e-5),
        ("small-criterion-drop", 0.975, 5e-4),
        ("simulation-bound", 1.7**2 / 3.96, 1e-6),  # (1 + g)^2 / (2 + 4 g^2) at g = 0.7
        ("normal-small-effect", 0.7187 - 0.7639, 5e-4),
        ("overestimation", 161, 0),  # 2 * 80 + 1 segments around 80 events
    ],
)
def test_what_is_measured(name, value, tolerance):
    assert BY_NAME[name].measure().value == pytest.approx(value, abs=tolerance)


def test_two_close_events_beat_the_bound_by_brute_force():
    """The counterexample to the upper bound, straight from the definition, a million windows."""
    import numpy as np

    w, gap = 1.1, 0.1
    s = np.linspace(-w, 2 + gap, 1_000_001)
    first, second = (np.clip(np.minimum(b, s + w) - np.maximum(a, s), 0, None) for a, b in ((0, 1), (1 + gap, 2 + gap)))
    share, present = (first + second) / w, np.maximum(first, second) >= 0.5
    meets = share > 0
    slow = np.where(present, share, 1 - share)[meets].mean()
    assert BY_NAME["bound-any-distribution"].measure().value == pytest.approx(slow, abs=1e-5)


def test_a_broken_formula_changes_a_verdict(monkeypatch):
    monkeypatch.setattr(results, "best_overlap_accuracy", lambda *, presence_criterion: 0.66)
    assert BY_NAME["f-star-half"].check().changed
    assert BY_NAME["noise-34"].check().changed  # 34 % would then be right
    monkeypatch.undo()
    assert not BY_NAME["f-star-half"].check().changed


def test_verdicts_from_numbers():
    assert [rounded(x, 0.76, 2).verdict for x in (0.7639, 0.79, 0.9)] == [HOLDS, ABOUT, FAILS]
    assert [equal(x, 1.0, "").verdict for x in (1.0, 1 + 1e-12, 1.001)] == [HOLDS, HOLDS, FAILS]
    assert decided(0, "", holds=False, about=True).verdict == ABOUT


def test_declaring_registers_and_returns_the_measure():
    table = Claims()

    @table.add("a", where="here", says="It is.", printed="1", verdict=HOLDS)
    def measure() -> Finding:
        return equal(1.0, 1.0, "1")

    assert table[0].measure is measure
    assert not table[0].check().changed
    assert dataclasses.replace(table[0], verdict=FAILS).check().changed
    assert claim.Checked(table[0], Finding(float("nan"), "none", HOLDS)).to_dict()["value"] is None
