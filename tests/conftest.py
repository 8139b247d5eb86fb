"""What all tests share: where the real data is, and that nothing is skipped quietly in CI."""

import os
from pathlib import Path

import hypothesis
import matplotlib
import pytest

matplotlib.use("Agg")

hypothesis.settings.register_profile("weakly", deadline=None, max_examples=50, derandomize=True)
hypothesis.settings.load_profile("weakly")

REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with other people's annotations; it is not part of the project."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"needs the real annotations in {REAL_DATA.parent.name}/{REAL_DATA.name} beside the checkout")
    return REAL_DATA


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """In CI a missing extra, browser or server is a failure; only absent real data may be skipped."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") == "true" and "real_data" not in item.fixturenames:
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
