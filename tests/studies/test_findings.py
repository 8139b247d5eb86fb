"""When an audit says that something else than a share of the event decided."""

from types import SimpleNamespace

import pandas as pd
import pytest

from weakly.studies.audit import findings


@pytest.mark.parametrize(("aic", "said"), [(105.0, False), (99.0, False), (97.0, True)])
def test_another_rule_decided_only_if_its_aic_is_lower_by_more_than_two(monkeypatch, aic, said):
    monkeypatch.setattr(findings, "explains", lambda row: True)
    rules = pd.DataFrame({"rule": ["seconds:0.5", "fraction:0.5"], "scale": ["seconds", "event"],
                          "aic": [aic, 120.0], "n": 50})  # fmt: skip
    fits = pd.DataFrame({"annotator": "", "label": "all", "scale": ["event"], "aic": [100.0], "n": 50})
    found = findings.elsewhere(SimpleNamespace(rules=rules, criteria=fits))
    assert (found is not None) == said
    assert found is None or found[1:] == (pytest.approx(3.0), "event_seconds")
