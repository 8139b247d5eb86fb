"""What is said of labels while they are made."""

from types import SimpleNamespace

import pandas as pd
import pytest

from weakly.apps.label import live


def test_a_recording_that_nobody_heard_is_wrong_for_the_rarer_of_event_and_silence(monkeypatch):
    """Three quarters of what was heard are event: an unheard recording is labelled present, and a quarter is wrong."""
    row = {"event_seconds": 7.5, "recording_seconds": 10.0, "event_rate": 0.2}
    part = SimpleNamespace(overall=row, recordings=[SimpleNamespace(recording="heard")])
    active = pd.DataFrame({"onset": [0.0, 8.0], "offset": [8.0, 10.0], "active": [0.95, 0.1]})
    overall = pd.DataFrame({"event_seconds": [7.5], "n_events": [2.0]})
    monitor = live.QualityMonitor({"heard": SimpleNamespace(length=10.0), "unheard": SimpleNamespace(length=100.0)})
    monitor.inference = lambda _: SimpleNamespace(active=active, overall=overall, parts={"owl": part})
    monitor._told = lambda *_: {}
    monkeypatch.setattr(live, "_met", lambda *_: (2.0, 2.0))
    found = monitor.labels(None)
    assert found["wrong_time"] == pytest.approx((0.05 * 8 + 0.1 * 2 + 0.25 * 100) / 2)
    assert found["event_seconds"] == pytest.approx(7.5 + 0.75 * 100)
    assert found["n_events"] == pytest.approx(2 + 0.2 * 100)
    assert found["event_recall"] == pytest.approx(2 / (2 + 20))
