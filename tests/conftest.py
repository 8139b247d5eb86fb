"""What all tests share: where the real data is, and that nothing is skipped quietly in CI."""

import os
import shutil
from pathlib import Path

import hypothesis
import matplotlib
import pytest

matplotlib.use("Agg")

hypothesis.settings.register_profile("weakly", deadline=None, max_examples=50, derandomize=True)
hypothesis.settings.load_profile("weakly")

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,1000"
)
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A real browser, started as people start it, that can reach this machine only."""
    from selenium import webdriver

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs a browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    downloads = tmp_path_factory.mktemp("downloads")
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    # Whatever the page would load from elsewhere could not be found.
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    made.downloads = downloads
    yield made
    made.quit()
